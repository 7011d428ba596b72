"""The type of a capture: a word -> its value, or None if the word does not have this type."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Value

Captured = Value | tuple[Value, ...] | None
Type = Callable[[str], Captured]
Types = Mapping[str, Type | Mapping[str, Captured]]

_LONGEST_ASN = 11
_LENGTHS4 = frozenset(map(str, range(33)))
_LENGTHS6 = frozenset(map(str, range(129)))
_MOST = 4096
"""Members of the longest list that a range stands for."""
_SPAN = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_RANGE = re.compile(r"(\d+)-(\d+)")
_PORT = re.compile(r"([A-Za-z][A-Za-z-]*)?((?:\d+/)*)(\d{1,6})(?:-((?:\d+/)*)(\d{1,6}))?")


def parse_word(text: str) -> str:
    """Accept any word."""
    return text


def parse_integer(text: str) -> int | None:
    """Parse a decimal number of up to 18 digits."""
    return int(text) if is_number(text) else None


def parse_in_range(low: int, high: int, text: str) -> int | None:
    """Parse a decimal number in a range, both ends included."""
    number = parse_integer(text)
    return number if number is not None and low <= number <= high else None


def parse_asn(text: str) -> int | None:
    """Parse an AS number in plain or dotted notation (RFC 5396)."""
    if len(text) > _LONGEST_ASN:
        return None
    high, dot, low = text.partition(".")
    first, second = parse_integer(high), parse_integer(low)
    if not dot:
        return first
    return None if first is None or second is None else first << 16 | second


def _parse_address(family: int, text: str) -> str | None:
    try:
        socket.inet_pton(family, text)
    except (OSError, ValueError):
        return None
    return text


def parse_ipv4(text: str) -> str | None:
    """Parse an IPv4 address."""
    return _parse_address(socket.AF_INET, text)


def parse_ipv6(text: str) -> str | None:
    """Parse an IPv6 address."""
    return _parse_address(socket.AF_INET6, text)


def parse_address(text: str) -> str | None:
    """Parse an IPv4 or IPv6 address."""
    return parse_ipv6(text) if ":" in text else parse_ipv4(text)


def parse_prefix4(text: str) -> str | None:
    """Parse an IPv4 address with the length of its prefix."""
    host, _, length = text.partition("/")
    return text if length in _LENGTHS4 and _parse_address(socket.AF_INET, host) else None


def parse_prefix6(text: str) -> str | None:
    """Parse an IPv6 address with the length of its prefix."""
    host, _, length = text.partition("/")
    return text if length in _LENGTHS6 and _parse_address(socket.AF_INET6, host) else None


def parse_prefix(text: str) -> str | None:
    """Parse an address with the length of its prefix."""
    return parse_prefix6(text) if ":" in text else parse_prefix4(text)


def parse_numbers(text: str) -> tuple[int, ...] | None:
    """Parse numbers and ranges: `1-4,7` is 1, 2, 3, 4, 7."""
    found: list[int] = []
    for part in text.split(","):
        span = _SPAN.fullmatch(part)
        if not span:
            return None
        first = int(span[1])
        last = int(span[2] or first)
        if not 0 <= last - first < _MOST - len(found):
            return None
        found += range(first, last + 1)
    return tuple(found)


@lru_cache(maxsize=4096)
def parse_ports(text: str) -> str | tuple[str, ...] | None:
    """Parse a port, or several: `Ethernet1/1-2,4` is `Ethernet1/1`, `Ethernet1/2`, `Ethernet1/4`."""
    if "," not in text and not _RANGE.search(text):
        return text
    found: list[str] = []
    kind = place = ""
    for part in text.split(","):
        span = _PORT.fullmatch(part)
        if not span:
            return None
        if span[1]:
            kind, place = span[1], span[2]
        elif span[2]:
            place = span[2]
        first, last = int(span[3]), int(span[5] or span[3])
        same_place = span[4] in (None, "", place)
        if not kind or not same_place or not 0 <= last - first < _MOST - len(found):
            return None
        found += [f"{kind}{place}{number}" for number in range(first, last + 1)]
    return tuple(found)


TYPES: Mapping[str, Type] = {
    "word": parse_word,
    "integer": parse_integer,
    "asn": parse_asn,
    "address": parse_address,
    "address4": parse_ipv4,
    "address6": parse_ipv6,
    "prefix": parse_prefix,
    "prefix4": parse_prefix4,
    "prefix6": parse_prefix6,
    "numbers": parse_numbers,
    "ports": parse_ports,
}
"""Types of all patterns; a back end adds others, such as a table of its words."""


def type_of(name: str, own: Types) -> Type:
    """Return the type of a capture: the back end's own, one of `TYPES`, a range `64-9214`, or a choice `in|out`.

    Raises:
        ValueError: there is no such type.
    """
    found = own.get(name) or TYPES.get(name)
    if found is not None:
        return found if callable(found) else found.get
    if span := _RANGE.fullmatch(name):
        return partial(parse_in_range, int(span[1]), int(span[2]))
    if "|" in name:
        return {choice: choice for choice in name.split("|")}.get
    raise ValueError(f"no type <{name}>")
