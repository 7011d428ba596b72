"""Check that a driver's answers have the types that NAPALM documents for its getters; an error names the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Kind = Callable[[Any, str], Any]
"""A function that returns a value of the type, or raises KindError with the place of the value."""
_UNSTATED = -1
"""NAPALM's number for a value that a device does not report."""
_DIGITS = 20
_BEYOND = 10**_DIGITS
_NUMBER = re.compile(r"-?[0-9]+")
_SHOWN = 40


class KindError(ValueError):
    """A value does not have the documented type; the text names its place."""


def _kind_error(value: object, where: str, promised: str) -> KindError:
    return KindError(f"{where} is {repr(value)[:_SHOWN]}, not {promised}")


def accept_number(value: Any, where: str) -> int | float:
    """Accept a finite number or its digits; None becomes NAPALM's number for a value that is not reported."""
    if value is None:
        return _UNSTATED
    if isinstance(value, int | float) and abs(value) < _BEYOND:  # no more than a counter of 64 bits; nor NaN
        return value
    if isinstance(value, str) and len(value) <= _DIGITS and _NUMBER.fullmatch(value):
        return int(value)
    raise _kind_error(value, where, "a number")


def accept_count(value: Any, where: str) -> int:
    """Accept a whole number."""
    found = accept_number(value, where)
    if found != int(found):
        raise _kind_error(value, where, "a whole number")
    return int(found)


def accept_flag(value: Any, where: str) -> bool:
    """Accept a boolean; None becomes False."""
    if value is not None and not isinstance(value, bool):
        raise _kind_error(value, where, "true or false")
    return bool(value)


def accept_text(value: Any, where: str) -> str:
    """Accept text or a number; None becomes the empty text."""
    if isinstance(value, str | int | float) or value is None:
        return "" if value is None else str(value)
    raise _kind_error(value, where, "text")


def list_of(of: Kind) -> Kind:
    """Accept a list of values of a type."""

    def kind(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _kind_error(value, where, "a list")
        return [of(one, f"{where}[{at}]") for at, one in enumerate(value)]

    return kind


def table_of(of: Kind) -> Kind:
    """Accept a mapping of names to values of a type."""

    def kind(value: Any, where: str) -> dict[str, Any]:
        return {
            name: of(one, f"{where}.{name[:_SHOWN]}") for name, one in _require_table(value, where).items()
        }

    return kind


def record_of(**fields: Kind) -> Kind:
    """Accept a mapping with these fields. Each field may be absent; other fields are dropped."""

    def kind(value: Any, where: str) -> dict[str, Any]:
        found = _require_table(value, where)
        return {name: of(found[name], f"{where}.{name}") for name, of in fields.items() if name in found}

    return kind


def _require_table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _kind_error(value, where, "a table")
    return value


_PEER = record_of(
    is_up=accept_flag,
    is_enabled=accept_flag,
    remote_as=accept_count,
    address_family=table_of(record_of(received_prefixes=accept_count, sent_prefixes=accept_count)),
)
IDENTITY = record_of(hostname=accept_text, serial_number=accept_text)
"""The fields of `get_identity` of our drivers, which are read from `get_facts` of other drivers."""
GETTERS: Mapping[str, Kind] = {
    "get_alarms": list_of(accept_text),
    "get_bgp_neighbors": table_of(record_of(peers=table_of(_PEER))),
    "get_clock": accept_number,
    "get_ecmp_widths": table_of(accept_count),
    "get_facts": record_of(
        hostname=accept_text, vendor=accept_text, model=accept_text, os_version=accept_text
    ),
    "get_interfaces": table_of(
        record_of(is_enabled=accept_flag, is_up=accept_flag, speed=accept_number, mtu=accept_number)
    ),
    "get_interfaces_counters": table_of(record_of(rx_errors=accept_count, tx_errors=accept_count)),
    "get_lldp_neighbors_detail": table_of(
        list_of(
            record_of(
                remote_port=accept_text, remote_port_description=accept_text, remote_system_name=accept_text
            )
        )
    ),
    "get_lossless_counters": table_of(table_of(table_of(accept_count))),
    "get_router_macs": table_of(table_of(accept_text)),
}
"""Getter -> the promised type of the fields that fabricc reads.

Beyond NAPALM, a driver may have `get_ecmp_widths` (prefix -> next hops in use, for BGP routes of the default VRF),
`get_lossless_counters` (kind -> port -> priority, or `all` -> count; a kind that is not reported is absent),
`get_alarms` (the alarms of the device itself, a line each), `get_clock` (seconds since 1970) and `get_router_macs` (VNI
of a VRF -> VTEP -> the MAC address that packets to it are routed to). A getter that is missing, or that raises
NotImplementedError, means that the system does not report these values.
"""
