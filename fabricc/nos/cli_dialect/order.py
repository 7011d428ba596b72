"""The orders in which command lines print names, addresses and sessions."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.model import Bgp, Session

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """Sorting key of names in which numbers count as numbers, as blocks are ordered: `5M` before `40M`."""
    return [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in _DIGITS.split(name)]


def in_address_order(addresses: Iterable[str]) -> list[str]:
    """Addresses and networks, IPv4 before IPv6 before names, each ascending."""

    def key(text: str) -> tuple[int, int, str]:
        try:
            address = ip_address(text.partition("/")[0])
        except ValueError:
            return (9, 0, text)
        return (address.version, int(address), "")

    return sorted(addresses, key=key)


def numbered_sessions(bgp: Bgp) -> list[Session]:
    """The sessions over addresses: IPv4 before IPv6, each ascending."""
    numbered = [s for s in bgp.sessions if s.remote is not None]
    numbered.sort(key=lambda s: ((a := ip_address(s.remote or "")).version, int(a)))
    return numbered


def unnumbered_sessions(bgp: Bgp) -> list[Session]:
    """The sessions over link-local addresses, in the order of the ports."""
    return [s for s in bgp.sessions if s.remote is None]
