"""Addresses that tables give to host links and to links that leave the fabric: each is in its block and unique."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import clip
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.given_identities import COMPUTED, Ends
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.planning.topology.models import UnfitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.external import ExternalLink, ExternalParty
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbors import Link
    from fabricc.front.spec.device_model import DeviceRow, LinkRow
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


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


class _Given(NamedTuple):
    """Numbers, both included, whose addresses a link of the spec has by itself, and its place there."""

    first: int
    last: int
    place: int


def numbered_outside(spec: ClusterSpec, lock: Lock) -> tuple[ClusterSpec, dict[str, int]]:
    """Return the spec whose external links all have addresses, and the numbers of links as the lock is to pin them.

    Link n of a party has the addresses 2n, at the switch, and 2n + 1 of the party's networks. A link is known by its
    party, switch and port; its number is nobody else's, also after it left.

    Raises:
        UnfitError: a network does not hold the links, or one has addresses of another.
    """
    pinned = dict(lock.links)
    wrong: list[Diagnostic] = []
    parties = [_number_links(spec, outsider, pinned, wrong) for outsider in spec.external]
    if wrong:
        raise UnfitError(*wrong)
    return (replace(spec, external=tuple(parties)) if parties else spec), pinned


def _number_links(
    spec: ClusterSpec, outsider: ExternalParty, pinned: dict[str, int], wrong: list[Diagnostic]
) -> ExternalParty:
    """Return a party with addresses for each of its links; numbers that are new join `pinned`."""
    if not outsider.networks:
        return outsider
    own = {key: number for key, number in pinned.items() if key.startswith(f"{outsider.name}/")}
    given = list(_given_numbers(outsider))
    free = _free_numbers({*own.values()}, given)
    links, numbers = [], {}
    for link in outsider.links:
        if outsider.numbers(link):
            key = f"{outsider.name}/{link.at}/{link.port}".lower()
            numbers[key] = number = own[key] if key in own else next(free)
            wrong += [
                _report_duplicate(spec, outsider, link, each)
                for each in given
                if each.first <= number <= each.last
            ]
            link = _address_link(link, outsider, number)
        links.append(link)
    needed = max((*numbers.values(), -1)) + 1
    if needed > outsider.room:
        wrong.append(_too_small(spec, outsider, needed, len(own.keys() - numbers.keys())))
    pinned |= numbers
    return replace(outsider, links=tuple(links))


def _given_numbers(outsider: ExternalParty) -> Iterator[_Given]:
    """Yield the numbers of links whose own addresses lie in the party's networks."""
    for index, link in enumerate(outsider.links):
        for family, network in outsider.networks:
            address = link.ipv6 if family == 6 else link.ipv4
            if address and (subnet := ip_interface(address).network).overlaps(base := ip_network(network)):
                first = int(subnet.network_address) - int(base.network_address)
                yield _Given(first // 2, (first + subnet.num_addresses - 1) // 2, index)


def _free_numbers(used_numbers: set[int], stated_ranges: Sequence[_Given]) -> Iterator[int]:
    """Numbers that nobody has or had, ascending."""
    number = 0
    while True:
        over = max((each.last for each in stated_ranges if each.first <= number <= each.last), default=None)
        if over is None and number not in used_numbers:
            yield number
        number = (number if over is None else over) + 1


def _address_link(link: ExternalLink, outsider: ExternalParty, number: int) -> ExternalLink:
    """A link with the addresses of its number, in each family that the party has a network of and the link none."""
    for family, text in outsider.networks:
        if getattr(link, f"ipv{family}") is None:
            network = ip_network(text)
            here, there = (network.network_address + 2 * number + end for end in (0, 1))
            ends: dict[str, Any] = {
                f"ipv{family}": f"{here}/{network.max_prefixlen - 1}",
                f"remote{family}": str(there),
            }
            link = replace(link, **ends)
    return link


def _report_duplicate(
    spec: ClusterSpec, outsider: ExternalParty, link: ExternalLink, stated: _Given
) -> Diagnostic:
    message = (
        f"external.{outsider.name}.links[{stated.place}] has addresses of the link at {link.port} of {link.at}, which "
        "the lock pins"
    )
    help_ = "Omit its addresses so that fabricc assigns free ones, or use another network."
    return spec.error("FAB3251", message, "external", outsider.name, "links", stated.place, help=help_)


def _too_small(spec: ClusterSpec, outsider: ExternalParty, needed: int, departed: int) -> Diagnostic:
    """FAB3250, with the length that holds all links where such a network begins at the same address."""
    family, text = min(outsider.networks, key=lambda each: ip_network(each[1]).num_addresses)
    network = ip_network(text)
    wider = network.supernet(
        new_prefix=network.max_prefixlen - needed.bit_length() - (needed.bit_count() > 1)
    )
    gone = f", with {plural(departed, 'number')} of links that left" if departed else ""
    ways = [
        f"Take {wider}."
        if wider.network_address == network.network_address
        else "Give further links addresses of another network by `local`; no wider network begins at that address."
    ]
    if departed:
        ways.append("Or delete the lines of links that left from the lock: their addresses are free then.")
    return spec.error(
        "FAB3250",
        f"{text} holds {plural(outsider.room, 'link')}, and external.{outsider.name} needs {needed}{gone}",
        "external",
        outsider.name,
        "network6" if family == 6 else "network",
        help=" ".join(ways),
    )
