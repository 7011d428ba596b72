"""Check that a driver's answers have the types that its getters promise; an error names the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Kind = Callable[[Any, str], Any]
"""Returns a value of the type, or raises KindError with the place that it was given."""
_UNSTATED = -1
"""NAPALM's number for a value that a device does not report."""
_DIGITS = 20
_BEYOND = 10**_DIGITS
_NUMBER = re.compile(r"-?[0-9]+")
_SHOWN = 40


class KindError(ValueError):
    """A value of another type than promised; the text names the place."""


def _refuse(value: object, where: str, promised: str) -> KindError:
    return KindError(f"{where} is {repr(value)[:_SHOWN]}, not {promised}")


def number(value: Any, where: str) -> int | float:
    """Accept a finite number or its digits; None becomes NAPALM's number for a value that is not reported."""
    if value is None:
        return _UNSTATED
    if isinstance(value, int | float) and abs(value) < _BEYOND:  # no more than a counter of 64 bits; nor NaN
        return value
    if isinstance(value, str) and len(value) <= _DIGITS and _NUMBER.fullmatch(value):
        return int(value)
    raise _refuse(value, where, "a number")


def count(value: Any, where: str) -> int:
    """Accept a whole number."""
    found = number(value, where)
    if found != int(found):
        raise _refuse(value, where, "a whole number")
    return int(found)


def flag(value: Any, where: str) -> bool:
    """Accept a boolean; None becomes False."""
    if value is not None and not isinstance(value, bool):
        raise _refuse(value, where, "true or false")
    return bool(value)


def text(value: Any, where: str) -> str:
    """Accept text or a number; None becomes the empty text."""
    if isinstance(value, str | int | float) or value is None:
        return "" if value is None else str(value)
    raise _refuse(value, where, "text")


def several(of: Kind) -> Kind:
    """Accept a list of values of a type."""

    def kind(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _refuse(value, where, "a list")
        return [of(one, f"{where}[{at}]") for at, one in enumerate(value)]

    return kind


def table(of: Kind) -> Kind:
    """Accept a mapping of names to values of a type."""

    def kind(value: Any, where: str) -> dict[str, Any]:
        return {name: of(one, f"{where}.{name[:_SHOWN]}") for name, one in _named(value, where).items()}

    return kind


def record(**fields: Kind) -> Kind:
    """Accept a mapping with these fields. Each field may be absent; other fields are dropped."""

    def kind(value: Any, where: str) -> dict[str, Any]:
        found = _named(value, where)
        return {name: of(found[name], f"{where}.{name}") for name, of in fields.items() if name in found}

    return kind


def _named(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _refuse(value, where, "a table")
    return value


_PEER = record(
    is_up=flag, is_enabled=flag, remote_as=count, address_family=table(record(received_prefixes=count))
)
IDENTITY = record(hostname=text, serial_number=text)
"""The fields of `get_identity` of our drivers, which are read from `get_facts` of other drivers."""
GETTERS: Mapping[str, Kind] = {
    "get_alarms": several(text),
    "get_bgp_neighbors": table(record(peers=table(_PEER))),
    "get_ecmp_widths": table(count),
    "get_facts": record(hostname=text, vendor=text, model=text, os_version=text),
    "get_interfaces": table(record(is_enabled=flag, is_up=flag, speed=number, mtu=number)),
    "get_interfaces_counters": table(record(rx_errors=count, tx_errors=count)),
    "get_lldp_neighbors_detail": table(
        several(record(remote_port=text, remote_port_description=text, remote_system_name=text))
    ),
    "get_lossless_counters": table(table(table(count))),
}
"""Getter -> the promised type of the fields that fabricc reads.

Beyond NAPALM, a driver may have `get_ecmp_widths` (prefix -> next hops in use, for BGP routes of the default VRF),
`get_lossless_counters` (kind -> port -> priority, or `all` -> count; a kind that is not reported is absent) and
`get_alarms` (the alarms of the device itself, a line each). A getter that is missing, or that raises
NotImplementedError, means that the system does not report these values.
"""
