"""Read the subnets of a switch's ports, and decide whether they are all that it has."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos.ports import PortKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface

    from fabricc.facts.statement import Statement

_BORROWED = ("unnumbered", "address_from")
_OTHER_ADDRESS = re.compile(r"dhcp|setting\[(?:ip|ipv6) address .*")
"""Facts of ports with addresses that are not known."""
_SMALL = 2
"""Bits of the addresses in the subnet of a link between two switches."""
_UNREAD_ADDRESS = re.compile(
    r"(?:no )?(?:ip |ipv6 )?(?:address|unnumbered|dhcp client)\b|type: unnumbered"
    r"|(?:logical-systems \S+ )?interfaces? .*\b(?:address|dhcp)\b"
)
"""The beginning of a line that no row reads and that gives a port an address."""


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
    statement: Statement, own: Mapping[str, list[IPv4Interface | IPv6Interface]], *, borrowing: bool = False
) -> bool:
    """Return whether no port of a switch may have an address that is not known.

    Args:
        statement: the switch.
        own: port -> its known addresses.
        borrowing: whether ports may borrow addresses, which gives the switch no further subnet.
    """
    for port, says in statement.ports.items():
        if any(_OTHER_ADDRESS.fullmatch(leaf) for leaf in says):
            return False
        if borrowing:
            continue
        if any(leaf in says for leaf in _BORROWED):
            return False
        borrowed = [each for each in own.get(port, ()) if each.network.prefixlen == each.max_prefixlen]
        if borrowed and statement.parsed(port).kind in (PortKind.PORT, PortKind.BUNDLE):
            return False
    return not any(_UNREAD_ADDRESS.match(text.strip()) for _, _, text in statement.device.reading.unknown)


def link_ports(
    statement: Statement, own: Mapping[str, list[IPv4Interface | IPv6Interface]], version: int
) -> list[str]:
    """Return the ports with addresses of a version that may lead to switches of the default routing instance."""
    return [
        port
        for port, addresses in own.items()
        if statement.parsed(port).kind in (PortKind.PORT, PortKind.BUNDLE)
        and statement.of(port, "vrf") is None
        and any(each.version == version for each in addresses)
    ]


def is_idle(
    addresses: list[IPv4Interface | IPv6Interface], version: int, used: Iterable[IPv4Address | IPv6Address]
) -> bool:
    """Return whether a port has the subnet of a link, and none of the addresses in use is in it."""
    nets = [each.network for each in addresses if each.version == version]
    small = [net for net in nets if net.max_prefixlen - net.prefixlen <= _SMALL]
    return bool(small) and not any(each in net for each in used for net in nets)
