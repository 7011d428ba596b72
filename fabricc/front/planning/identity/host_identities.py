"""Read addresses of host links from the table of links: each is in a block of its ToR and unique.

Check rows of the identity tables: valid ends of links, and errors about others.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip
from fabricc.fabric import links
from fabricc.fabric.given_identities import COMPUTED, Ends
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbors import Link
    from fabricc.front.spec.model import DeviceRow, LinkRow


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

    def add_row(self, row: LinkRow) -> Iterator[Diagnostic]:
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
            message = f"{' '.join(row.a)}: {pair[0]} and {pair[1]} are not in {there}, as {name} announces"
            help_ = f"Give two addresses in it, or {name} another block (column hosts{6 if six else 4} of the devices)."
            yield error_at("FAB3124", message, row, f"a_ipv{6 if six else 4}", help_)

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
                    message = f"{' '.join(row.a)}: {pair[0]} and {pair[1]} are"
                    if (other := owners.setdefault(first, slot)) != slot:
                        message = f"{message} those of line {line_of(self._rows[at, other])}"
                        yield error_at(
                            "FAB3122", message, row, column, "Give each link addresses of its own."
                        )
                    elif link := computed.get(first):
                        message = f"{message} computed for {link.peer} {link.peer_port}"
                        help_ = "Give others, or that link others as well."
                        yield error_at("FAB3123", message, row, column, help_)


def _first_address(pair: tuple[str, str]) -> int:
    return int(ip_address(pair[0])) & ~1


def ends_of(
    row: LinkRow,
    a_is_upper: bool,
    pools: tuple[Pool | None, Pool | None],
    kind: str,
    findings: list[Diagnostic],
) -> Ends:
    """Return the addresses that a row assigns to a link, upper end first.

    Args:
        row: the line.
        a_is_upper: whether its first end is the upper one.
        pools: those that such links have their addresses from, IPv4 and IPv6.
        kind: such links, in words.
        findings: gets what cannot be.
    """
    pairs: list[tuple[str, str] | None] = []
    for column, (first, second), pool in zip(("a_ipv4", "a_ipv6"), (row.ipv4, row.ipv6), pools, strict=True):
        why = ""
        if first is None and second is None:
            pairs.append(None)
            continue
        if pool is None:
            why = f"{kind} have no such addresses in this fabric"
        elif first is None or second is None or not _is_link_pair(pool, int(first), int(second)):
            why = f"the ends have no two addresses of one /{pool.link_length}"
        if why:
            two = "10.1.0.1 and 10.1.0.2" if pool and pool.wide else "10.1.0.0 and 10.1.0.1"
            help_ = f"Give both ends, such as {two}, or neither."
            findings.append(error_at("FAB3126", f"{' '.join(row.a)}: {why}", row, column, help_))
            pairs.append(None)
        else:
            texts = str(first), str(second)
            pairs.append(texts if a_is_upper else (texts[1], texts[0]))
    return Ends(*pairs)


def _is_link_pair(pool: Pool, first: int, second: int) -> bool:
    """Return whether two addresses are the ends of one link of a pool, or of a similar link."""
    return first ^ second == (3 if pool.wide else 1) and not (pool.wide and first % 4 in (0, 3))


def no_link(row: LinkRow) -> Diagnostic:
    """Report FAB3125: no link joins the ends of a row."""
    help_ = "plan/cabling.csv has the links: its rows fit this table."
    message = f"no link joins {' '.join(row.a)} and {' '.join(row.b)}"
    return error_at("FAB3125", clip(message), row, "a_device", help_)


def report_duplicate_link(row: LinkRow, first: LinkRow) -> Diagnostic:
    """Report FAB3122: two rows for one link."""
    message = f"{' '.join(row.a)} has its addresses in line {line_of(first)} already"
    return error_at("FAB3122", message, row, "a_device", "Give each link one line.")


def line_of(row: LinkRow) -> int:
    """Return the line number of a row."""
    return row.positions["a_device"].line


def error_at(code: str, message: str, row: DeviceRow | LinkRow, column: str, help: str) -> Diagnostic:
    """Return an error at a cell of a row."""
    at: Position = row.positions.get(column) or next(iter(row.positions.values()))
    return Diagnostic(code, Severity.ERROR, message, at, help)
