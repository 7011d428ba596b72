"""Check that a driver's answers have the types that its getters promise; an error names the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Kind = Callable[[Any, str], Any]
"""Gives a value of the kind, or raises KindError with the place that it was given."""
_UNSTATED = -1
"""NAPALM's number for what a device does not state."""
_DIGITS = 20
_BEYOND = 10**_DIGITS
_NUMBER = re.compile(r"-?[0-9]+")
_SHOWN = 40


class KindError(ValueError):
    """A value of another kind than promised; the text says where."""


def _refuse(value: object, where: str, promised: str) -> KindError:
    return KindError(f"{where} is {repr(value)[:_SHOWN]}, not {promised}")


def number(value: Any, where: str) -> int | float:
    """Accept a finite number or its digits; None becomes NAPALM's number for what is not stated."""
    if value is None:
        return _UNSTATED
    if isinstance(value, int | float) and abs(value) < _BEYOND:  # no more than a counter of 64 bits; nor NaN
        return value
    if isinstance(value, str) and len(value) <= _DIGITS and _NUMBER.fullmatch(value):
        return int(value)
    raise _refuse(value, where, "a number")


def count(value: Any, where: str) -> int:
    """A whole number."""
    found = number(value, where)
    if found != int(found):
        raise _refuse(value, where, "a whole number")
    return int(found)


def flag(value: Any, where: str) -> bool:
    """Yes or no; nothing is no."""
    if value is not None and not isinstance(value, bool):
        raise _refuse(value, where, "true or false")
    return bool(value)


def text(value: Any, where: str) -> str:
    """Text; a number is one, and nothing is empty."""
    if isinstance(value, str | int | float) or value is None:
        return "" if value is None else str(value)
    raise _refuse(value, where, "text")


def several(of: Kind) -> Kind:
    """A list."""

    def kind(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _refuse(value, where, "a list")
        return [of(one, f"{where}[{at}]") for at, one in enumerate(value)]

    return kind


def table(of: Kind) -> Kind:
    """A mapping of names."""

    def kind(value: Any, where: str) -> dict[str, Any]:
        return {name: of(one, f"{where}.{name[:_SHOWN]}") for name, one in _named(value, where).items()}

    return kind


def record(**fields: Kind) -> Kind:
    """A mapping with these fields, each of which may be absent, and others that nobody reads."""

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
"""What `get_identity` of our drivers promises, and of `get_facts` of others is read."""
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
"""Getter -> what it promises, in so far as anything reads it.

Beyond NAPALM, a driver may tell `get_ecmp_widths` (prefix -> next hops in use, for BGP routes of the default VRF),
`get_lossless_counters` (kind -> port -> priority, or `all` -> count; a kind that is not stated is absent) and
`get_alarms` (what the device itself says is not well, a line each). One that it lacks, or that raises
NotImplementedError, is what its system does not state.
"""
