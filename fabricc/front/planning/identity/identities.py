"""Apply given names, ASNs and addresses in place of computed ones, and check that they are unique."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface
from typing import TYPE_CHECKING

from fabricc.base.documents.document import clip
from fabricc.base.values import replace
from fabricc.catalog.library import did_you_mean
from fabricc.fabric import links
from fabricc.fabric.given_identities import Ends, GivenIdentity, Identities
from fabricc.fabric.management import management_place
from fabricc.fabric.naming import computed_name
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.planning.identity import link_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.device_model import DeviceRow, LinkRow
    from fabricc.front.spec.model import ClusterSpec

    Address = IPv4Address | IPv6Address
    Pairs = dict[int, tuple[str, str]]

KINDS = {
    "name": "name",
    "asn": "ASN",
    "loopback4": "IPv4 loopback",
    "loopback6": "IPv6 loopback",
    "management": "management address",
    "hosts4": "IPv4 host block",
    "hosts6": "IPv6 host block",
}
_MOST_BITS = 16
"""Host bits of a block that strides are chosen by: 32,768 links are more than any ToR has."""


def find_given_host_bits(spec: ClusterSpec) -> int:
    """Return the host bits of most host blocks in the table of devices; 0 where it has none.

    A new fabric has aggregates of that length, if the hosts of a unit fit into it.
    """
    blocks = [block for row in spec.given_devices for block in (row.hosts4, row.hosts6) if block]
    bits = Counter(block.max_prefixlen - block.prefixlen for block in blocks)
    return max((each for each in bits if each <= _MOST_BITS), key=lambda each: (bits[each], each), default=0)


def apply_device_table(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """Return the fabric with the values from the table of devices; collisions are findings."""
    if not spec.given_devices:
        return fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    rows: dict[SwitchId, DeviceRow] = {}
    found: dict[SwitchId, GivenIdentity] = {}
    for row in spec.given_devices:
        if (at := switches.get(row.device)) is None:
            message = f"no switch has the computed name {clip(row.device)!r}"
            findings.append(
                link_addresses.error_at(
                    "FAB3121", message, row, "device", _suggest_switch(fabric, row.device, switches)
                )
            )
            continue
        rows[at], found[at] = row, _values_of_row(fabric, at, row, findings)
    changed = replace(fabric, given=Identities(found))
    for kind in KINDS:
        if any(getattr(each, kind) is not None for each in found.values()):
            findings += _find_collisions(changed, kind, rows)
    return changed


def _suggest_switch(fabric: Fabric, name: str, switches: Mapping[str, SwitchId]) -> str:
    if any(name in unit.hosts.values() for unit in fabric.units.values()):
        return "It is a host: `gpus.host_names` names hosts, and their addresses are those of their ToRs' blocks."
    return did_you_mean(name, switches) or f"Switches are named like {next(iter(switches))}."


def _values_of_row(fabric: Fabric, at: SwitchId, row: DeviceRow, findings: list[Diagnostic]) -> GivenIdentity:
    """Return the values of a row; addresses are offsets in their pools."""
    addresses, out_of_band = fabric.addresses, management_place(fabric, at).network
    offsets: dict[str, int | None] = {}
    for kind, key, pool in (
        ("loopback4", "addressing.loopbacks", addresses.loopbacks4),
        ("loopback6", "addressing.loopbacks6", addresses.loopbacks6),
        ("management", out_of_band.key, out_of_band.pool),
    ):
        address: Address | None = getattr(row, kind)
        offsets[kind] = None if address is None else _offset_in_pool(pool, address)
        within = (offsets[kind] or 0) % out_of_band.size
        unusable = kind == "management" and within in (0, out_of_band.size - 1)
        if address is not None and (offsets[kind] is None or unusable):
            why = (
                f"is not an address for a device in {key} {pool}"
                if pool
                else "has no meaning: there is no such pool"
            )
            inside = "Filters and gateways use that block: widen it, or give an address in it."
            help_ = inside if pool else "Leave it empty, or let `addressing.family` have both."
            findings.append(
                link_addresses.error_at(
                    "FAB3124", f"{KINDS[kind]} {address} of {row.device} {why}", row, kind, help_
                )
            )
            offsets[kind] = None
    for kind in ("hosts4", "hosts6"):
        if getattr(row, kind) is not None:
            offsets[kind] = _block_offset(fabric, at, row, kind, findings)
    return GivenIdentity(row.name, row.asn, **offsets)


def _block_offset(
    fabric: Fabric, at: SwitchId, row: DeviceRow, kind: str, findings: list[Diagnostic]
) -> int | None:
    """Return the offset in its pool of the block that a row assigns to a ToR; None where that is impossible."""
    block: IPv4Network | IPv6Network = getattr(row, kind)
    pool, length = fabric.pool("hosts", block.version), block.max_prefixlen - fabric.aggregate_bits()
    what = f"{KINDS[kind]} {block} of {row.device}"
    if at.tier is not TierName.TOR or fabric.units[at.unit].border is not None:
        message = f"{what} has no meaning: it has no links to hosts"
        findings.append(
            link_addresses.error_at("FAB3272", message, row, kind, "Give it to the ToR of the hosts.")
        )
    elif block.prefixlen != length:
        message = f"{what} is no /{length}, as long as the aggregate of every ToR of this fabric"
        findings.append(
            link_addresses.error_at(
                "FAB3273", message, row, kind, f"Give every ToR a block of /{length}, or none."
            )
        )
    elif pool is None or (offset := _offset_in_pool(pool, block.network_address)) is None:
        why = (
            f"lies outside addressing.hosts{'6' if block.version == 6 else ''} {pool}"
            if pool
            else "has no pool"
        )
        help_ = "Filters of routes use that pool: widen it, or give a block in it."
        findings.append(link_addresses.error_at("FAB3124", f"{what} {why}", row, kind, help_))
    else:
        return offset
    return None


def _offset_in_pool(pool: Pool | None, address: Address) -> int | None:
    if pool is None or pool.version != address.version:
        return None
    offset = int(address) - pool.first
    return offset if 0 <= offset < 1 << pool.bits else None


def _find_collisions(fabric: Fabric, kind: str, rows: Mapping[SwitchId, DeviceRow]) -> Iterator[Diagnostic]:
    """Report values with two owners; switches that share an ASN by the closed form are one owner."""
    value, text = _value_getters(fabric)[kind], _value_formatters(fabric)[kind]
    given = {at: row for at, row in rows.items() if getattr(row, kind) is not None}
    others = _reserved_values(fabric, kind)
    owners: dict[object, SwitchId | None] = dict.fromkeys(others)
    reported: set[str] = set()
    for at in fabric.switch_ids():
        other = owners.setdefault(own := value(at), at)
        shared = (
            kind == "asn"
            and other is not None
            and _shared_asn_key(fabric, at) == _shared_asn_key(fabric, other)
        )
        if shared or other == at or not {at, other} & given.keys():
            continue
        row, two = (given[at], other) if at in given or other is None else (given[other], at)
        if row.device in reported:
            continue
        reported.add(row.device)
        message = f"{KINDS[kind]} {text(own)} of {row.device} is that of"
        if two is None:
            yield link_addresses.error_at("FAB3123", f"{message} {others[own]}", row, kind, "Give another.")
        elif two in given:
            theirs = f"{given[two].device}, in line {given[two].positions['device'].line}"
            yield link_addresses.error_at(
                "FAB3122", f"{message} {theirs}", row, kind, "Assign a different one to each."
            )
        else:
            name = computed_name(fabric, two)
            help_ = f"Give another, or {name} one as well."
            yield link_addresses.error_at("FAB3123", f"{message} {name}, computed", row, kind, help_)


def _reserved_values(fabric: Fabric, kind: str) -> dict[object, str]:
    """Return the values that no row can assign to another device: value -> its owner."""
    if kind == "name":
        return {host: "a host" for unit in fabric.units.values() for host in unit.hosts.values()}
    if kind not in ("hosts4", "hosts6"):
        return {}
    beside = ((at, unit) for at in fabric.switch_ids() if at.tier is TierName.TOR
              for unit, _, _ in links.served_slots(fabric, at) if unit.beside is not None)  # fmt: skip
    return {links.host_blocks(fabric, at, unit.coordinate)[kind == "hosts6"]: f"the hosts of {unit.name} behind "
            f"{fabric.name(at)}" for at, unit in beside}  # fmt: skip


def _value_getters(fabric: Fabric) -> dict[str, Callable[[SwitchId], object]]:
    def block(six: bool) -> Callable[[SwitchId], object]:
        return lambda at: links.host_blocks(fabric, at, at.unit)[six] if at.tier is TierName.TOR else at

    loopbacks6 = fabric.addresses.loopbacks6
    return {
        "name": fabric.name,
        "asn": lambda at: links.switch_asn(fabric, at),
        "loopback4": lambda at: links.loopback_offset(fabric, at, fabric.addresses.loopbacks4),
        "loopback6": lambda at: loopbacks6 and links.loopback_offset(fabric, at, loopbacks6),
        "management": lambda at: management_place(fabric, at).address,
        "hosts4": block(False),
        "hosts6": block(True),
    }


def _value_formatters(fabric: Fabric) -> dict[str, Callable[[object], str]]:
    def address(pool: Pool | None) -> Callable[[object], str]:
        return lambda offset: pool.address(offset) if pool and isinstance(offset, int) else ""

    def block(pool: Pool | None) -> Callable[[object], str]:
        bits = fabric.aggregate_bits()
        return lambda offset: pool.prefix(offset, bits) if pool and isinstance(offset, int) else ""

    pools = fabric.addresses
    return {
        "name": str,
        "asn": str,
        "loopback4": address(pools.loopbacks4),
        "loopback6": address(pools.loopbacks6),
        "management": str,
        "hosts4": block(pools.hosts4),
        "hosts6": block(pools.hosts6),
    }


def _shared_asn_key(fabric: Fabric, at: SwitchId) -> tuple[object, ...]:
    """Return a key that is equal for switches that may share an ASN."""
    if at.tier is TierName.TOR or fabric.routing.unique_spine_asn:
        return (at,)
    return at.tier, at.pod, at.plane


def apply_link_table(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """Return the fabric with the link addresses from the table of links."""
    if not spec.given_links:
        return fabric
    switches = {computed_name(fabric, at): at for at in fabric.switch_ids()}
    switches |= {fabric.name(at): at for at in switches.values()}
    seen: dict[SwitchId, dict[str, links.End]] = {}
    found: dict[int, Ends] = {}
    rows: dict[int, LinkRow] = {}
    to_hosts = link_addresses.HostLinks(fabric, switches)
    for row in spec.given_links:
        if row.a[0] not in switches or row.b[0] not in switches:
            findings += to_hosts.add_row(row)
            continue
        end = _find_link(fabric, row, switches, seen)
        if end is None:
            findings.append(link_addresses.no_link(row))
        elif end.offset in rows:
            findings.append(link_addresses.report_duplicate_link(row, rows[end.offset]))
        else:
            upper = switches[row.a[0]] == end.peer
            ends = _address_pairs(fabric, row, upper, findings)
            rows[end.offset], found[end.offset] = row, ends
    findings += _find_overlaps(spec, fabric, found, rows)
    findings += to_hosts.overlaps()
    return replace(fabric, given=replace(fabric.given, links=found, hosts=to_hosts.found))


def _find_link(
    fabric: Fabric, row: LinkRow, switches: Mapping[str, SwitchId], seen: dict[SwitchId, dict[str, links.End]]
) -> links.End | None:
    """Return the link as seen from its lower switch; `switches` are by name, `seen` caches links."""
    for (device, port), (far, far_port) in ((row.a, row.b), (row.b, row.a)):
        at, peer = switches.get(device), switches.get(far)
        if at is None or peer is None:
            return None
        if at not in seen:
            names = links.port_names(fabric, at)
            seen[at] = {names[end.slot]: end for end in links.upward_links(fabric, at)}
        end = seen[at].get(port)
        if end and end.peer == peer and links.port_names(fabric, peer)[end.peer_slot] == far_port:
            return end
    return None


def _address_pairs(fabric: Fabric, row: LinkRow, a_is_upper: bool, findings: list[Diagnostic]) -> Ends:
    addresses = fabric.addresses
    pools = (addresses.links4, addresses.links6) if addresses.numbered else (None, None)
    return link_addresses.ends_of(row, a_is_upper, pools, "links between switches", findings)


def _find_overlaps(
    spec: ClusterSpec, fabric: Fabric, found: Mapping[int, Ends], rows: Mapping[int, LinkRow]
) -> Iterator[Diagnostic]:
    """Report given links that overlap each other, computed links, pools or external links."""
    taken = _Computed(fabric)
    for family, (version, links_pool) in enumerate(
        ((4, fabric.addresses.links4), (6, fabric.addresses.links6))
    ):
        blocks = _list_blocks(spec, fabric, version)
        owners: dict[int, int] = {}
        column = f"a_ipv{version}"
        for offset, ends in found.items():
            if (pair := ends[family]) is None or links_pool is None:
                continue
            subnet = ip_interface(f"{pair[0]}/{links_pool.link_length}").network
            first = min(int(ip_interface(each).ip) for each in pair)
            where = -1 if (end := links_pool.end(first)) is None else end
            name = f"{' '.join(rows[offset].a)}: {subnet}"
            if (other := owners.setdefault(first, offset)) != offset:
                message = f"{name} is that of line {link_addresses.line_of(rows[other])}"
                yield link_addresses.error_at(
                    "FAB3122", message, rows[offset], column, "Give each link a block of its own."
                )
            elif (owner := taken.at(where)) and not (found.get(where) or Ends(None, None))[family]:
                help_ = "Give another, or the other link one as well."
                yield link_addresses.error_at(
                    "FAB3123", f"{name} is computed for {owner}", rows[offset], column, help_
                )
            elif block := next((key for key, low, high in blocks if low <= first <= high), None):
                help_ = "Give a block in `addressing.links`, or outside of all others."
                yield link_addresses.error_at(
                    "FAB3123", f"{name} lies in {block}", rows[offset], column, help_
                )


def _list_blocks(spec: ClusterSpec, fabric: Fabric, version: int) -> Sequence[tuple[str, int, int]]:
    """List all other address blocks: key, first and last."""
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
    """The offsets of the links pool that the closed form assigns to existing links."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.switches = {
            (at.tier, links.tier_number(fabric, at)): at
            for at in fabric.switch_ids()
            if at.tier is not TierName.CORE
        }
        pool = fabric.addresses.links4 or fabric.addresses.links6
        self.size = 1 << pool.end_bits if pool else 0

    def at(self, offset: int) -> str:
        """Return the switch below the link at an offset; "" where there is none."""
        if not 0 <= offset < self.size:
            return ""
        upper, offset = divmod(offset, self.size // 2)
        stride = self.fabric.strides.spine_uplink if upper else self.fabric.strides.uplink
        at = self.switches.get((TierName.SPINE if upper else TierName.TOR, offset // 2 // stride))
        if at is None:
            return ""
        taken = any(
            end.offset == offset + upper * self.size // 2 for end in links.upward_links(self.fabric, at)
        )
        return self.fabric.name(at) if taken else ""
