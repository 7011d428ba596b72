"""Read addresses of host links from the table of links: each is in a block of its ToR and unique."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric import links
from fabricc.fabric.given_identities import COMPUTED
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.front.planning.identity.identity_rows import (
    ends_of,
    error_at,
    line_of,
    no_link,
    report_duplicate_link,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.given_identities import Ends
    from fabricc.fabric.neighbors import Link
    from fabricc.fabric.shape import SwitchId
    from fabricc.front.spec.model import LinkRow


class _Ports(NamedTuple):
    """The ports of a ToR to hosts: link by name of the port, and first and last address of its blocks by family."""

    links: Mapping[str, Link]
    blocks: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


class HostLinks:
    """The rows of host links, processed ToR by ToR: other ToRs cost nothing.

    Attributes:
        found: as `Identities.hosts`.
    """

    def __init__(self, fabric: Fabric, switches: Mapping[str, SwitchId]) -> None:
        self.found: dict[SwitchId, dict[int, Ends]] = {}
        self._fabric, self._switches = fabric, switches
        self._ports: dict[SwitchId, _Ports] = {}
        self._rows: dict[tuple[SwitchId, int], LinkRow] = {}

    def take(self, row: LinkRow) -> Iterator[Diagnostic]:
        """Add a row with one end that is no switch; an invalid row is a finding."""
        a_is_upper = row.a[0] in self._switches
        (tor, port), far = (row.a, row.b) if a_is_upper else (row.b, row.a)
        at = self._switches.get(tor)
        link = self._of(at).links.get(port) if at and at.tier is TierName.TOR else None
        if at is None or link is None or (link.peer, link.peer_port) != far:
            yield no_link(row)
        elif first := self._rows.get((at, link.slot)):
            yield report_duplicate_link(row, first)
        else:
            findings: list[Diagnostic] = []
            pools = self._fabric.addresses.hosts4, self._fabric.addresses.hosts6
            ends = ends_of(row, a_is_upper, pools, "links to hosts", findings)
            self._rows[at, link.slot] = row
            self.found.setdefault(at, {})[link.slot] = ends
            yield from findings
            yield from self._outside(at, row, ends)

    def _of(self, at: SwitchId) -> _Ports:
        if at not in self._ports:
            fabric, names, size = (
                self._fabric,
                links.port_names(self._fabric, at),
                1 << self._fabric.aggregate_bits(),
            )
            own = {
                names[each.slot]: each
                for each in links.switch_links(fabric, at)
                if each.direction is Direction.HOST
            }
            blocks: list[tuple[tuple[int, int], ...]] = []
            for six, pool in enumerate((fabric.addresses.hosts4, fabric.addresses.hosts6)):
                offsets = [
                    links.host_blocks(fabric, at, unit.coordinate)[six]
                    for unit, _, _ in links.served_slots(fabric, at)
                ]
                blocks.append(
                    tuple((pool.first + each, pool.first + each + size - 1) for each in offsets)
                    if pool
                    else ()
                )
            self._ports[at] = _Ports(own, (blocks[0], blocks[1]))
        return self._ports[at]

    def _outside(self, at: SwitchId, row: LinkRow, ends: Ends) -> Iterator[Diagnostic]:
        """Report addresses that the ToR does not advertise."""
        for six, pair in enumerate(ends):
            pool, blocks = self._fabric.pool("hosts", 6 if six else 4), self._of(at).blocks[six]
            if (
                pair is None
                or pool is None
                or any(low <= _first_address(pair) <= high for low, high in blocks)
            ):
                continue
            name, bits = self._fabric.name(at), self._fabric.aggregate_bits()
            there = ", ".join(pool.prefix(low - pool.first, bits) for low, _ in blocks)
            told = f"{' '.join(row.a)}: {pair[0]} and {pair[1]} are not in {there}, as {name} announces"
            help_ = f"Give two addresses in it, or {name} another block (column hosts{6 if six else 4} of the devices)."
            yield error_at("FAB3124", told, row, f"a_ipv{6 if six else 4}", help_)

    def overlaps(self) -> Iterator[Diagnostic]:
        """Report addresses of two links of a ToR; those of different ToRs are in different blocks."""
        for at, given in self.found.items():
            for six, version in enumerate((4, 6)):
                column = f"a_ipv{version}"
                computed = {
                    int(ip_address(own)) & ~1: link
                    for link in self._of(at).links.values()
                    if (own := link.local6 if six else link.local4)
                    and given.get(link.slot, COMPUTED)[six] is None
                }
                owners: dict[int, int] = {}
                for slot, ends in given.items():
                    if (pair := ends[six]) is None:
                        continue
                    row, first = self._rows[at, slot], _first_address(pair)
                    told = f"{' '.join(row.a)}: {pair[0]} and {pair[1]} are"
                    if (other := owners.setdefault(first, slot)) != slot:
                        told = f"{told} those of line {line_of(self._rows[at, other])}"
                        yield error_at("FAB3122", told, row, column, "Give each link addresses of its own.")
                    elif link := computed.get(first):
                        told = f"{told} computed for {link.peer} {link.peer_port}"
                        help_ = "Give others, or that link others as well."
                        yield error_at("FAB3123", told, row, column, help_)


def _first_address(pair: tuple[str, str]) -> int:
    return int(ip_address(pair[0])) & ~1
