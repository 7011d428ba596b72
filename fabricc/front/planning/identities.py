"""Identities from outside: given names, ASNs and addresses in the place of computed ones, none of which two have."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import clip
from fabricc.catalog.names import did_you_mean
from fabricc.fabric import links
from fabricc.fabric.given import Ends, Given, Identities
from fabricc.fabric.management import management_place
from fabricc.fabric.model import TierName
from fabricc.fabric.naming import computed_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from ipaddress import IPv4Address, IPv6Address

    from fabricc.base.diagnostics import Position
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.links import End
    from fabricc.fabric.shape import SwitchId
    from fabricc.front.spec.model import ClusterSpec, DeviceRow, LinkRow

    Address = IPv4Address | IPv6Address
    Pairs = dict[int, tuple[str, str]]

KINDS = {
    "name": "name",
    "asn": "ASN",
    "loopback4": "IPv4 loopback",
    "loopback6": "IPv6 loopback",
    "management": "management address",
}


def given_devices(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """The fabric whose switches have what the table of devices gives them; collisions are findings."""
    if not spec.given_devices:
        return fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    rows: dict[SwitchId, DeviceRow] = {}
    found: dict[SwitchId, Given] = {}
    for row in spec.given_devices:
        if (at := switches.get(row.device)) is None:
            told = f"no switch has the computed name {clip(row.device)!r}"
            findings.append(_error("FAB3121", told, row, "device", _near(fabric, row.device, switches)))
            continue
        rows[at], found[at] = row, _given(fabric, at, row, findings)
    changed = replace(fabric, given=Identities(found))
    for kind in KINDS:
        if any(getattr(each, kind) is not None for each in found.values()):
            findings += _collisions(changed, kind, rows)
    return changed


def _near(fabric: Fabric, name: str, switches: Mapping[str, SwitchId]) -> str:
    if any(name in unit.hosts.values() for unit in fabric.units.values()):
        return "It is a host: `gpus.host_names` names hosts, and their addresses are those of their ToRs' blocks."
    return did_you_mean(name, switches) or f"Switches are named like {next(iter(switches))}."


def _given(fabric: Fabric, at: SwitchId, row: DeviceRow, findings: list[Diagnostic]) -> Given:
    """What a line gives; addresses as offsets in their pools, which hold them."""
    addresses, out_of_band = fabric.addresses, management_place(fabric, at).network
    offsets: dict[str, int | None] = {}
    for kind, key, pool in (
        ("loopback4", "addressing.loopbacks", addresses.loopbacks4),
        ("loopback6", "addressing.loopbacks6", addresses.loopbacks6),
        ("management", out_of_band.key, out_of_band.pool),
    ):
        address: Address | None = getattr(row, kind)
        offsets[kind] = None if address is None else _offset(pool, address)
        within = (offsets[kind] or 0) % out_of_band.size
        unusable = kind == "management" and within in (0, out_of_band.size - 1)
        if address is not None and (offsets[kind] is None or unusable):
            why = (
                f"is no address for a device in {key} {pool}"
                if pool
                else "has no meaning: there is no such pool"
            )
            inside = "Filters and gateways go by that block: widen it, or give an address in it."
            help_ = inside if pool else "Leave it empty, or let `addressing.family` have both."
            findings.append(
                _error("FAB3124", f"{KINDS[kind]} {address} of {row.device} {why}", row, kind, help_)
            )
            offsets[kind] = None
    return Given(row.name, row.asn, **offsets)


def _offset(pool: Pool | None, address: Address) -> int | None:
    if pool is None or pool.version != address.version:
        return None
    offset = int(address) - pool.first
    return offset if 0 <= offset < 1 << pool.bits else None


def _collisions(fabric: Fabric, kind: str, rows: Mapping[SwitchId, DeviceRow]) -> Iterator[Diagnostic]:
    """Two owners of one value; those that share an ASN by the closed form are one owner."""
    value, text = _values(fabric)[kind], _texts(fabric)[kind]
    given = {at: row for at, row in rows.items() if getattr(row, kind) is not None}
    owners: dict[object, SwitchId | None] = {}
    told_of: set[str] = set()
    if kind == "name":
        owners = {host: None for unit in fabric.units.values() for host in unit.hosts.values()}
    for at in fabric.switch_ids():
        other = owners.setdefault(own := value(at), at)
        shared = kind == "asn" and other is not None and _shared(fabric, at) == _shared(fabric, other)
        if shared or other == at or not {at, other} & given.keys():
            continue
        row, two = (given[at], other) if at in given or other is None else (given[other], at)
        if row.device in told_of:
            continue
        told_of.add(row.device)
        told = f"{KINDS[kind]} {text(own)} of {row.device} is that of"
        if two is None:
            yield _error("FAB3123", f"{told} a host", row, kind, "Give another.")
        elif two in given:
            theirs = f"{given[two].device}, in line {given[two].positions['device'].line}"
            yield _error("FAB3122", f"{told} {theirs}", row, kind, "Give each one of its own.")
        else:
            name = computed_name(fabric, two)
            help_ = f"Give another, or {name} one as well."
            yield _error("FAB3123", f"{told} {name}, computed", row, kind, help_)


def _values(fabric: Fabric) -> dict[str, Callable[[SwitchId], object]]:
    loopbacks6 = fabric.addresses.loopbacks6
    return {
        "name": fabric.name,
        "asn": lambda at: links.asn(fabric, at),
        "loopback4": lambda at: links.loopback_offset(fabric, at, fabric.addresses.loopbacks4),
        "loopback6": lambda at: loopbacks6 and links.loopback_offset(fabric, at, loopbacks6),
        "management": lambda at: management_place(fabric, at).address,
    }


def _texts(fabric: Fabric) -> dict[str, Callable[[object], str]]:
    def address(pool: Pool | None) -> Callable[[object], str]:
        return lambda offset: pool.address(offset) if pool and isinstance(offset, int) else ""

    pools = fabric.addresses
    return {
        "name": str,
        "asn": str,
        "loopback4": address(pools.loopbacks4),
        "loopback6": address(pools.loopbacks6),
        "management": str,
    }


def _shared(fabric: Fabric, at: SwitchId) -> tuple[object, ...]:
    """What switches that may share an ASN have in common."""
    if at.tier is TierName.TOR or fabric.routing.unique_spine_asn:
        return (at,)
    return at.tier, at.pod, at.plane


def given_links(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """The fabric whose links between switches have the addresses that the table of links gives them."""
    if not spec.given_links:
        return fabric
    switches = {computed_name(fabric, at): at for at in fabric.switch_ids()}
    switches |= {fabric.name(at): at for at in switches.values()}
    seen: dict[SwitchId, dict[str, End]] = {}
    found: dict[int, Ends] = {}
    rows: dict[int, LinkRow] = {}
    for row in spec.given_links:
        end = _end(fabric, row, switches, seen)
        if end is None:
            (a, b), help_ = (row.a, row.b), "plan/cabling.csv has the links: its rows fit this table."
            told = f"no link joins {' '.join(a)} and {' '.join(b)}"
            findings.append(_error("FAB3125", clip(told), row, "a_device", help_))
        elif end.offset in rows:
            told = f"{' '.join(row.a)} has its addresses in line {_line(rows[end.offset])} already"
            findings.append(_error("FAB3122", told, row, "a_device", "Give each link one line."))
        else:
            upper = switches[row.a[0]] == end.peer
            ends = _pairs(fabric, row, upper, findings)
            rows[end.offset], found[end.offset] = row, ends
    findings += _overlaps(spec, fabric, found, rows)
    return replace(fabric, given=replace(fabric.given, links=found))


def _end(
    fabric: Fabric, row: LinkRow, switches: Mapping[str, SwitchId], seen: dict[SwitchId, dict[str, End]]
) -> End | None:
    """The link as its lower switch has it, `switches` by name; `seen` keeps what was asked for."""
    for (device, port), (far, far_port) in ((row.a, row.b), (row.b, row.a)):
        at, peer = switches.get(device), switches.get(far)
        if at is None or peer is None:
            return None
        if at not in seen:
            names = links.port_names(fabric, at)
            seen[at] = {names[end.slot]: end for end in links.upward(fabric, at)}
        end = seen[at].get(port)
        if end and end.peer == peer and links.port_names(fabric, peer)[end.peer_slot] == far_port:
            return end
    return None


def _pairs(fabric: Fabric, row: LinkRow, a_is_upper: bool, findings: list[Diagnostic]) -> Ends:
    pairs: list[tuple[str, str] | None] = []
    for column, ends, pool in (
        ("a_ipv4", row.ipv4, fabric.addresses.links4),
        ("a_ipv6", row.ipv6, fabric.addresses.links6),
    ):
        first, second = ends
        why = ""
        if first is None and second is None:
            pairs.append(None)
            continue
        if not fabric.addresses.numbered or pool is None:
            why = "links between switches have no such addresses in this fabric"
        elif first is None or second is None or int(first) ^ int(second) != 1:
            why = f"the ends have no two addresses of one {'/31' if column == 'a_ipv4' else '/127'}"
        if why:
            help_ = "Give both ends, such as 10.1.0.0 and 10.1.0.1, or neither."
            findings.append(_error("FAB3126", f"{' '.join(row.a)}: {why}", row, column, help_))
            pairs.append(None)
        else:
            texts = str(first), str(second)
            pairs.append(texts if a_is_upper else (texts[1], texts[0]))
    return Ends(*pairs)


def _overlaps(
    spec: ClusterSpec, fabric: Fabric, found: Mapping[int, Ends], rows: Mapping[int, LinkRow]
) -> Iterator[Diagnostic]:
    """Given links among each other, with links that are computed, with pools and with ways out."""
    taken = _Computed(fabric)
    for family, (version, links_pool) in enumerate(
        ((4, fabric.addresses.links4), (6, fabric.addresses.links6))
    ):
        blocks = _blocks(spec, fabric, version)
        owners: dict[int, int] = {}
        column = f"a_ipv{version}"
        for offset, ends in found.items():
            if (pair := ends[family]) is None or links_pool is None:
                continue
            first = min(int(ip_interface(each).ip) for each in pair)
            where = first - links_pool.first
            name = f"{' '.join(rows[offset].a)}: {ip_interface(f'{pair[0]}/{31 if version == 4 else 127}').network}"
            if (other := owners.setdefault(first, offset)) != offset:
                told = f"{name} is that of line {_line(rows[other])}"
                yield _error("FAB3122", told, rows[offset], column, "Give each link a block of its own.")
            elif (owner := taken.at(where)) and not (found.get(where) or Ends(None, None))[family]:
                help_ = "Give another, or the other link one as well."
                yield _error("FAB3123", f"{name} is computed for {owner}", rows[offset], column, help_)
            elif block := next((key for key, low, high in blocks if low <= first <= high), None):
                help_ = "Give a block in `addressing.links`, or outside of all others."
                yield _error("FAB3123", f"{name} lies in {block}", rows[offset], column, help_)


def _blocks(spec: ClusterSpec, fabric: Fabric, version: int) -> Sequence[tuple[str, int, int]]:
    """Everything else that has addresses: key, first and last."""
    addresses = fabric.addresses
    pools = {
        "addressing.hosts" + "6" * (version == 6): fabric.pool("hosts", version),
        "addressing.loopbacks" + "6" * (version == 6): fabric.pool("loopbacks", version),
    }
    pools |= {each.key: each.pool for each in addresses.management if each.pool.version == version}
    blocks = [(key, pool.first, pool.first + (1 << pool.bits) - 1) for key, pool in pools.items() if pool]
    for outsider in spec.external:
        for link in outsider.links:
            if own := link.ipv4 if version == 4 else link.ipv6:
                network = ip_interface(own).network
                last = int(network.broadcast_address)
                blocks.append((f"external.{outsider.name}", int(network.network_address), last))
    return blocks


class _Computed:
    """Which offsets of the links pool the closed form gives to links that exist."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.switches = {
            (at.tier, links.number(fabric, at)): at
            for at in fabric.switch_ids()
            if at.tier is not TierName.CORE
        }
        pool = fabric.addresses.links4 or fabric.addresses.links6
        self.size = 1 << pool.bits if pool else 0

    def at(self, offset: int) -> str:
        """The switch below the link at an offset; "" where there is none."""
        if not 0 <= offset < self.size:
            return ""
        upper, offset = divmod(offset, self.size // 2)
        stride = self.fabric.strides.spine_uplink if upper else self.fabric.strides.uplink
        at = self.switches.get((TierName.SPINE if upper else TierName.TOR, offset // 2 // stride))
        if at is None:
            return ""
        taken = any(end.offset == offset + upper * self.size // 2 for end in links.upward(self.fabric, at))
        return self.fabric.name(at) if taken else ""


def _line(row: LinkRow) -> int:
    return row.positions["a_device"].line


def _error(code: str, message: str, row: DeviceRow | LinkRow, column: str, help: str) -> Diagnostic:
    at: Position = row.positions.get(column) or next(iter(row.positions.values()))
    return Diagnostic(code, Severity.ERROR, message, at, help)
