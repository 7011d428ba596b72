"""Read the subnets of a switch's ports, and decide whether they are all that it has."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos.ports import PortKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from fabricc.facts.statement import Statement

_OTHER_ADDRESSES = ("unnumbered", "dhcp", "address")
"""Parts of facts and unread lines of ports with addresses that are not known."""


def parse_addresses(texts: Iterable[str]) -> list[IPv4Interface | IPv6Interface]:
    """Return the addresses with prefix lengths among texts."""
    found = []
    for text in texts:
        try:
            found.append(ip_interface(text))
        except ValueError:
            continue
    return found


def states_all_addresses(
    statement: Statement, own: Mapping[str, list[IPv4Interface | IPv6Interface]]
) -> bool:
    """Return whether no port of a switch may have an address that is not among its `own`, by port."""
    for port, says in statement.ports.items():
        if any(part in leaf for leaf in says for part in _OTHER_ADDRESSES):
            return False
        borrowed = [each for each in own.get(port, ()) if each.network.prefixlen == each.max_prefixlen]
        if borrowed and statement.parsed(port).kind in (PortKind.PORT, PortKind.BUNDLE):
            return False
    return not any(
        part in text for _, _, text in statement.device.reading.unknown for part in _OTHER_ADDRESSES
    )
