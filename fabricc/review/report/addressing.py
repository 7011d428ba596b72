"""Report used and free addresses and numbers, room for growth, and what only InfiniBand has.

Room for growth is within the pinned strides. InfiniBand has subnets, service levels, partitions and IP over InfiniBand.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.infiniband.cabling import class_rows, partition_rows
from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.catalog.rates import generation_at
from fabricc.fabric import links
from fabricc.fabric.infiniband import MOST_LIDS, InfinibandFabric
from fabricc.fabric.management import address_owners, management_place
from fabricc.fabric.out_of_band import OtherDevices
from fabricc.fabric.shape import TierName
from fabricc.fabric.tenants import NOBODY, Tenancy
from fabricc.front.planning.topology.layout import stride_rooms
from fabricc.review.report.values import NONE, Row, Section, Table, format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

_WORDS = {
    "hosts": "links between hosts and ToRs, both ends",
    "links": "links between switches, both ends",
    "loopbacks": "loopbacks of switches",
    "management": "management ports of switches",
}
_BEYOND: dict[TierName | OtherDevices | None, str] = {
    OtherDevices.HOST: "BMCs, DPUs and own ports of hosts",
    OtherDevices.OOB: "management switches",
}
_LARGE_BITS = 40  # above this number of host bits a power of two is clearer than a count


def addressing_section(fabric: Fabric, where: str) -> Section:
    """Return the section on addresses; `where` names the file with every single address."""
    plan = fabric.addresses
    numbered = "numbered" if plan.numbered else "unnumbered (RFC 8950)"
    units = fabric.present
    lead = (
        f"Links between switches are {numbered}. Numbers are pinned for {plural(fabric.strides.unit, 'unit')}; "
        f"{units:,} of them are taken. Growth within this room changes no address that is in use."
    )
    pools = Table(
        "pools",
        "Address pools",
        ("pool", "prefix", "holds", "size", "used", "free", "used share"),
        tuple(_pool_rows(fabric)),
        codes=(0, 1),
        right=(3, 4, 5, 6),
        note=f"Loopbacks of IPv4 also serve as BGP router IDs. Every address by device and port: {where}.",
    )
    growth = Table(
        "growth",
        "Room for growth",
        ("of what", "in use", "ports for", "numbers for", "which ports"),
        tuple(growth_rows(fabric)),
        right=(2,),
        note="What would outgrow a stride is refused, with what it takes: a larger pool, or `fabricc build --repin`, "
        "which renumbers. Numbers are those of the lock's strides; of ports and numbers the smaller counts.",
    )
    asns = Table(
        "asns",
        "AS numbers",
        ("tier", "first", "last", "different", "given out"),
        tuple(_asn_rows(fabric)),
        codes=(1, 2),
        note="Private AS numbers of 32 bits (RFC 6996).",
    )
    return Section("addresses", "Addresses and AS numbers", lead, (pools, growth, asns))


def tenants_section(spec: ClusterSpec, fabric: Fabric, tenancy: Tenancy) -> Section:
    """Return the section on tenants: their hosts, ports, numbers and links outside."""
    lead = f"{plural(len(tenancy.tenants), 'tenant')}, each in a VRF of its own; "
    lead += (
        "VXLAN joins ToRs, whose links to others carry loopbacks alone."
        if tenancy.tunnels
        else "no tunnel joins ToRs."
    )
    head = ("tenant", "hosts", "ports", "reaches")
    numbers = ("VNI", "route target", "route distinguisher") if tenancy.tunnels else ()
    parts = [
        Table(
            "tenants",
            "Tenants",
            (*head, *numbers),
            tuple(_tenant_rows(spec, tenancy)),
            codes=(0,),
            right=(1, 2),
        )
    ]
    exits = tuple(
        (
            party.name,
            tenancy.tenants[at].name,
            link.at,
            link.port,
            ", ".join(rule.prefix for rule in party.accept),
        )
        for party in fabric.external.outsiders
        if (at := tenancy.exits.get(party.name)) is not None
        for link in party.links
    )
    if exits:
        columns = ("party", "tenant", "switch", "port", "static routes to")
        parts.append(Table("exits", "Links outside", columns, exits, codes=(0, 1, 2, 3)))
    return Section("tenants", "Tenants", lead, tuple(parts))


def _tenant_rows(spec: ClusterSpec, tenancy: Tenancy) -> Iterator[Row]:
    hosts: Counter[int] = Counter()
    ports: Counter[int] = Counter()
    for rails in tenancy.of_host.values():
        ports.update(at for at in rails if at != NOBODY)
        hosts.update({*rails} - {NOBODY})
    for at, (tenant, request) in enumerate(zip(tenancy.tenants, spec.tenants, strict=True)):
        row: Row = (tenant.name, hosts[at], ports[at], ", ".join(request.reach) or NONE)
        numbers = (str(tenant.vni), tenant.route_target, tenant.distinguisher("LOOPBACK"))
        yield (*row, *numbers) if tenancy.tunnels else row


def used_addresses(fabric: Fabric, kind: str) -> int:
    """Addresses of a pool that devices have."""
    counts = fabric.counts()
    switches = counts["tors"] + counts["spines"] + counts["cores"]
    if kind == "hosts":
        return 2 * counts["host_cables"]
    if kind == "links":
        cables = counts["spine_cables"] + counts["core_cables"] + counts.get("peer_cables", 0)
        return 2 * cables if fabric.addresses.numbered else 0
    return switches


def _pool_rows(fabric: Fabric) -> Iterator[Row]:
    for version in ("4", "6"):
        for kind in ("hosts", "links", "loopbacks"):
            pool: Pool | None = getattr(fabric.addresses, kind + version)
            if pool is not None:
                holds = _WORDS[kind]
                if kind == "loopbacks" and version == "4" and fabric.addresses.hosts4 is None:
                    holds = "BGP router IDs of switches"
                yield _pool_row(kind + version, holds, pool, used_addresses(fabric, kind))
    in_network = Counter(management_place(fabric, at).network.key for at in fabric.switch_ids())
    in_network += Counter(each.place.network.key for each in address_owners(fabric))
    for network in fabric.addresses.management:
        name = network.key.removesuffix(".network")
        holds = _BEYOND.get(network.tier, _WORDS["management"])
        yield _pool_row(name, holds, network.pool, in_network[network.key])


def _pool_row(name: str, holds: str, pool: Pool, used: int) -> Row:
    size = 1 << pool.bits
    shown = (f"{size:,}", f"{size - used:,}") if pool.bits <= _LARGE_BITS else (f"2^{pool.bits}", "the rest")
    return name, str(pool), holds, shown[0], f"{used:,}", shown[1], format_share(used / size)


def growth_rows(fabric: Fabric) -> Iterator[Row]:
    """Yield what there is of each coordinate, what switches have ports for, and what the lock has numbers for."""
    shape, strides = fabric.shape, fabric.strides
    units = fabric.present
    ports, bound = port_room(fabric)
    hosts = max(
        len(slots)
        for unit in fabric.places()
        for tor in fabric.tor_ids(unit.coordinate)
        for _, slots, _ in links.served_slots(fabric, tor)
    )
    yield "units", units, ports, strides.unit, bound
    yield (
        "hosts of a unit",
        hosts,
        shape.hosts_per_unit,
        strides.host,
        "of the ToRs, as the spec lays them out",
    )
    found = {room.pin: room for room in stride_rooms(fabric)}
    for pin in ("group", "rail", "nic_port", "uplink", "spine", "plane", "spine_uplink"):
        if room := found.get(pin):
            yield room.what, room.used, NONE, room.room, ""


def port_room(fabric: Fabric) -> tuple[int, str]:
    """Units that the ports of the topmost tier have room for, and which ports those are."""
    shape = fabric.shape
    if not shape.spines:
        return 1, "without spines"
    if not shape.cores or fabric.core_layout is None:
        return shape.units_per_pod, "of the spines"
    pods = len(fabric.core_layout.down) // (shape.spines_per_core_group * shape.links_per_core)
    of = f"of the cores: {plural(pods, 'pod')} of {plural(shape.units_per_pod, 'unit')}"
    return pods * shape.units_per_pod, of


def _asn_rows(fabric: Fabric) -> Iterator[Row]:
    found: dict[TierName, set[int]] = {}
    for at in fabric.switch_ids():
        found.setdefault(at.tier, set()).add(links.switch_asn(fabric, at))
    unique = fabric.routing.unique_spine_asn
    above = {
        TierName.SPINE: "one per pod and plane" if fabric.shape.cores else "one per plane",
        TierName.CORE: "one per plane",
    }
    for tier, numbers in found.items():
        given = "one per switch" if unique or tier is TierName.TOR else above[tier]
        name = "ToR" if tier is TierName.TOR else tier.value
        yield name, str(min(numbers)), str(max(numbers)), len(numbers), given
    block = fabric.routing.asns
    size = block.last - block.first + 1
    yield "reserved for the cluster", str(block.first), str(block.last), size, "by the closed form"


def subnets_section(ib: InfinibandFabric, where: str) -> Section:
    """Return the section on subnets: LIDs, rates and routing; `where` names the file with every LID and GUID."""
    wiring = ib.wiring
    top = ib.lids.top(wiring.shape, max(wiring.units) + 1)
    lids: list[Row] = [("cores", 1)] if wiring.shape.cores else []
    lids += [("spines", ib.lids.spine), ("units", ib.lids.unit)]
    lids += [("highest in use", top), ("most there can be", MOST_LIDS)]
    rates = ("port, Gb/s", "generation", "lanes", "coding", "data, Gb/s")
    engines = (", then ".join(ib.engine.names), ib.engine.reason)
    note = f"Every LID and GUID: {where}."
    parts = [
        Table("lids", "LIDs of each subnet", ("of", "from"), tuple(lids), note=note),
        Table("rates", "Rates", rates, tuple(_rate_rows(ib))),
        Table("routing", "Routing", ("engines", "why"), (engines,)),
    ]
    if ib.ipoib:
        size = f"{ib.ipoib.subnets} subnets of /{32 - ib.ipoib.bits}"
        row = (str(ib.ipoib.pool), size, ib.ipoib.mode, ib.ipoib.mtu)
        head = ("pool", "split into", "mode", "MTU")
        parts.append(Table("ipoib", "IP over InfiniBand", head, (row,), codes=(0,)))
    lead = f"{plural(ib.subnets, 'subnet')}; a subnet manager computes every route."
    return Section("subnets", "Subnets", lead, tuple(parts))


def levels_section(ib: InfinibandFabric) -> Section:
    """Return the section on service levels and partitions."""
    rows = tuple(
        (str(name), sl, lane, "strict" if strict else "by weight", weight)
        for name, sl, lane, strict, weight in class_rows(ib)
    )
    parts = [
        Table("classes", "Service levels", ("class", "SL", "VL", "served", "weight, %"), _make_rows(rows))
    ]
    if ib.partitions:
        tenants = tuple((name, key, hosts, level) for name, key, hosts, level, _ in partition_rows(ib))
        head = ("tenant", "P_Key", "hosts", "SL")
        parts.append(Table("partitions", "Partitions", head, _make_rows(tenants), codes=(1,)))
    lead = "Link credits keep every class lossless; no buffer needs thresholds."
    return Section("classes", "Service levels", lead, tuple(parts))


def _make_rows(rows: tuple[tuple[object, ...], ...]) -> tuple[Row, ...]:
    return tuple(tuple(cell if isinstance(cell, int | float) else str(cell) for cell in row) for row in rows)


def _rate_rows(ib: InfinibandFabric) -> Iterator[Row]:
    used = sorted(
        {(slot.speed_gbps, slot.lanes) for layout in ib.wiring.tor_layouts for slot in layout.slots}
    )
    for speed, lanes in used:
        if generation := generation_at(speed, lanes):
            signal = format_count(lanes, f"{float(generation.lane_signal_gbps):g} {generation.modulation}")
            coding = ", ".join(generation.encodings)
            yield speed, generation.name, signal, coding, float(round(generation.data_gbps(lanes), 2))
