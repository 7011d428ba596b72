"""An address or a prefix: whose it is, which pool it comes from, and the closed form that gives it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING

from fabricc.fabric import links
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, unit_number
from fabricc.fabric.evpn import RESERVED, Segment
from fabricc.fabric.links import host_links
from fabricc.fabric.management import Owner, address_owners, host_block, unit_place
from fabricc.fabric.model import Direction, Host, HostPort
from fabricc.fabric.out_of_band import ManagementNetwork, OtherDevices, management_endpoints
from fabricc.fabric.out_of_band_cables import management_cables
from fabricc.fabric.shape import HostId, TierName
from fabricc.review.explain import coordinates, formulas, groups, pools
from fabricc.review.explain import origins as value_origins
from fabricc.review.explain.formulas import address_formula
from fabricc.review.explain.model import Details, Explanation, Formula, Origin, Source, single_explanation

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

    Address = IPv4Address | IPv6Address
    from collections.abc import Iterator

    from fabricc.fabric.neighbors import Link

    Formulas = tuple[Formula, ...]
    Origins = tuple[Origin, ...]


def explain_address(plan: value_origins.PlanSources, text: str) -> Explanation:
    """Return the owner of the address.

    Raises:
        ValueError: it is none.
    """
    address = ip_address(text)
    fabric = plan.fabric
    if (own := value_origins.given_address(plan, address)) is not None:
        return own
    if (segment := segment_address(plan, address)) is not None:
        return segment
    found = next(
        (each for each in pools.list_pools(fabric) if pools.offset_in(each.pool, address) is not None), None
    )
    named = tuple(_named_servers(plan, address))
    if found is None:
        return _explain_external(plan, address) or _explain_outside(plan, address, named)
    offset = int(address) - found.pool.first
    size = 1 << found.pool.bits
    shown = f"{offset:,}" if offset < 10**15 else f"{offset:#x}"
    shown += f" of {size:,}" if size < 10**15 else ""
    where = ("pool", f"{found.name} {found.pool}, address {shown}")
    if found.name == "management":
        return _explain_management(plan, address, found, where, named)
    ways = {"hosts": _host_address, "links": _link_address, "loopbacks": _explain_loopback}
    return ways[found.name](plan, address, found, where)


def _explain_external(plan: value_origins.PlanSources, address: Address) -> Explanation | None:
    """Explain an end of an external link; None for another address."""
    for end in groups.link_ends(plan.fabric):
        if end.address == address:
            details = (
                ("device", end.near[0]),
                ("port", end.near[1]),
                ("far end", " ".join(end.far)),
                ("prefix", str(end.own.network)),
            )
            title = f"link to {end.party}, outside the fabric"
            return _make_answer(
                address, title, details, groups.PARTY_RULE, plan.all_of([f"external.{end.party}"])
            )
    return None


def _make_answer(
    address: Address, title: str, details: Details, rule: str, origins: Origins, steps: Formulas = ()
) -> Explanation:
    return single_explanation("address", str(address), title, details, rule, origins, steps, docs=pools.DOCS)


def _explain_unassigned(
    plan: value_origins.PlanSources,
    address: Address,
    found: pools.ContainingPool,
    place: coordinates.Place,
    details: Details,
    rule: str,
) -> Explanation:
    """Explain an address in a pool, at coordinates without a device."""
    would = (
        ("would be", f"{value_origins.tier_text(place)}: {value_origins.coordinates_text(place)}"),
        ("nobody's", place.missing),
    )
    return _make_answer(address, "not assigned", (*details, *would), rule, plan.all_of([found.key]))


def _host_address(
    plan: value_origins.PlanSources, address: Address, found: pools.ContainingPool, where: tuple[str, str]
) -> Explanation:
    fabric, offset = plan.fabric, int(address) - found.pool.first
    place = coordinates.host_address(fabric, offset, address.version)
    if place.missing:
        return _explain_unassigned(plan, address, found, place, (where,), pools.HOST_RULE)
    tor, unit = place.switch, fabric.units[place.host_unit]
    attached = fabric.attachments[unit.group]
    rail = attached.served(tor.index, tor.nic_port)[1][place.rail]
    (link,) = host_links(fabric, tor, unit, (place.slot,), (rail,))
    name, port = fabric.name(tor), links.port_names(fabric, tor)[link.slot]
    near, far = (f"{name} {port}", f"{link.peer} {link.peer_port}")
    lower = place.end == 1
    number = attached.seat(place.slot)[1]
    at = (unit.coordinate, number, place.rail, place.end)
    steps = formulas.host_link_formulas(fabric, tor, *at, found.pool)
    block = int(steps[0].value)
    other = found.pool.address(offset ^ 1)
    details = (
        ("device", link.peer if lower else name),
        ("port", link.peer_port if lower else port),
        ("far end", f"{near if lower else far}, {other}"),
        ("prefix", found.pool.prefix(offset & ~1, 1)),
        ("aggregate", f"{found.pool.prefix(block, fabric.aggregate_bits())} of {name}"),
        where,
        ("coordinates", f"{value_origins.coordinates_text(place)}, end {place.end}"),
    )
    given = formulas.given_block(fabric, tor, unit.coordinate, address.version)
    origins = (
        *plan.all_of([found.key]),
        *(value_origins.given_origins(plan, tor, f"hosts{address.version}") if given else ()),
        *value_origins.stride_origins(plan, "host", "rail", "unit", "nic_port"),
        *value_origins.identity_origins(plan, unit.coordinate, place.slot),
    )
    title = f"link of {far} to {near}" if lower else f"link of {near} to {far}"
    return _make_answer(
        address, title, details, pools.HOST_RULE, origins, (*steps, address_formula(found.pool, offset))
    )


def uplink_of(fabric: Fabric, place: coordinates.Place) -> Link:
    """Return the link that the coordinates of an uplink stand for, from its lower switch."""
    at, number = place.switch, place.uplink
    if at.tier is TierName.TOR:
        parallel = fabric.shape.links_per_spine
        if parallel:
            number = number // parallel * fabric.tor_links[fabric.units[at.unit].group] + number % parallel
    ways = (Direction.UP, Direction.PEER)
    up = (link for link in links.switch_links(fabric, at) if link.direction in ways)
    return next(islice(up, number, None))


def _link_address(
    plan: value_origins.PlanSources, address: Address, found: pools.ContainingPool, where: tuple[str, str]
) -> Explanation:
    fabric, offset = plan.fabric, found.pool.end(int(address))
    if not fabric.addresses.numbered:
        why = "links between switches are unnumbered: they run on IPv6 link-local addresses (RFC 8950)"
        origins = plan.all_of(["addressing.fabric_links", found.key])
        return _make_answer(address, "not assigned", (where,), why, origins)
    if offset is None:
        why = f"{address} is not the address of an end: links have the two inner addresses of a /30"
        return _make_answer(address, "not assigned", (where,), why, plan.all_of([found.key]))
    place = coordinates.fabric_link(fabric, offset)
    given = fabric.given.links.get(offset & ~1)
    if not place.missing and given and given[found.pool.version == 6]:
        place = place._replace(missing="its link is given others")
    if place.missing:
        return _explain_unassigned(plan, address, found, place, (where,), pools.LINK_RULE)
    lower, link = place.switch, uplink_of(fabric, place)
    name, port = fabric.name(lower), links.port_names(fabric, lower)[link.slot]
    ends = (f"{link.peer} {link.peer_port}", f"{name} {port}")
    steps = formulas.uplink_formulas(fabric, lower, place.uplink, place.end)
    details = (
        ("device", name if place.end else link.peer),
        ("port", port if place.end else link.peer_port),
        ("far end", f"{ends[1 - place.end]}, {found.pool.pair(offset & ~1)[1 - place.end]}"),
        ("prefix", str(ip_interface(f"{address}/{found.pool.link_length}").network)),
        where,
        ("coordinates", f"{value_origins.coordinates_text(place)}, end {place.end}"),
    )
    stride = "uplink" if lower.tier is TierName.TOR else "spine_uplink"
    origins = (
        *plan.all_of([found.key]),
        *value_origins.stride_origins(plan, *formulas.NUMBER_STRIDES[lower.tier], stride),
        *value_origins.identity_origins(plan, lower.unit),
    )
    title = f"link of {ends[place.end]} to {ends[1 - place.end]}"
    return _make_answer(
        address, title, details, pools.LINK_RULE, origins, (*steps, address_formula(found.pool, offset))
    )


def _explain_loopback(
    plan: value_origins.PlanSources, address: Address, found: pools.ContainingPool, where: tuple[str, str]
) -> Explanation:
    fabric, offset = plan.fabric, int(address) - found.pool.first
    place = coordinates.loopback_place(fabric, found.pool, offset)
    if place.missing:
        return _explain_unassigned(plan, address, found, place, (where,), pools.LOOPBACK_RULE)
    at = place.switch
    used = "router ID" if found.pool.version == 4 and fabric.addresses.hosts4 is None else "loopback"
    also = "; also its BGP router ID" if used == "loopback" and found.pool.version == 4 else ""
    steps = formulas.loopback_formulas(fabric, at, found.pool)
    details = (
        ("device", fabric.name(at)),
        ("use", used + also),
        where,
        ("coordinates", value_origins.coordinates_text(place)),
    )
    origins = (
        *plan.all_of([found.key]),
        *value_origins.stride_origins(plan, *formulas.NUMBER_STRIDES[at.tier]),
        *value_origins.identity_origins(plan, at.unit),
    )
    title, last = f"{used} of {fabric.name(at)}", address_formula(found.pool, offset)
    return _make_answer(address, title, details, pools.LOOPBACK_RULE, origins, (*steps, last))


def _explain_management(
    plan: value_origins.PlanSources,
    address: Address,
    found: pools.ContainingPool,
    where: tuple[str, str],
    named: Details,
) -> Explanation:
    fabric, offset = plan.fabric, int(address) - found.pool.first
    network = next(each for each in fabric.addresses.management if each.key == found.key)
    if isinstance(network.tier, OtherDevices):
        return explain_endpoint(plan, address, found, network, named, (where,))
    rule = pools.management_rule(fabric, found)
    place = coordinates.place_of_management(fabric, network, offset)
    if place is None or named:
        title = ", ".join(use for use, _ in named) or "left free for gateways and servers"
        return _make_answer(
            address, title, (where,), rule, plan.all_of([found.key, *(key for _, key in named)])
        )
    if place.missing:
        return _explain_unassigned(plan, address, found, place, (where,), rule)
    at = place.switch
    steps = formulas.management_formulas(fabric, at, network)
    details = (
        ("device", fabric.name(at)),
        ("prefix", f"{address}/{network.length}"),
        where,
        ("coordinates", value_origins.coordinates_text(place)),
    )
    names = () if at.tier is TierName.TOR else formulas.NUMBER_STRIDES[at.tier]
    origins = (
        *plan.all_of([found.key]),
        *value_origins.stride_origins(plan, *names),
        *value_origins.identity_origins(plan, at.unit),
    )
    title = f"management address of {fabric.name(at)}"
    return _make_answer(address, title, details, rule, origins, (*steps, address_formula(found.pool, offset)))


def _named_servers(plan: value_origins.PlanSources, address: Address) -> Iterator[tuple[str, str]]:
    """Yield servers of the spec with the address: their kind, and the key that names them."""
    management, text = plan.spec.management, str(address)
    for network in plan.fabric.addresses.management:
        offset = pools.offset_in(network.pool, address)
        if offset is not None and offset % network.size == network.gateway:
            key = f"{network.key.removesuffix('.network')}.gateway"
            yield "default gateway of the management network", key
    services = management.services
    for title, kind in (("NTP server", "ntp"), ("DNS server", "dns"), ("syslog server", "syslog")):
        if text in getattr(services, kind):
            yield title, f"management.{kind}"
    for title, kind, requested in (
        ("TACACS+", "tacacs", services.tacacs),
        ("RADIUS", "radius", services.radius),
    ):
        if requested and text in requested.servers:
            yield f"{title} server", f"management.{kind}.servers"


def _explain_outside(plan: value_origins.PlanSources, address: Address, named: Details) -> Explanation:
    every = [each for each in pools.list_pools(plan.fabric) if each.pool.version == address.version]
    if named:
        title, origins = ", ".join(use for use, _ in named), plan.all_of([key for _, key in named])
        return single_explanation("address", str(address), title, (), "The spec names it.", origins)

    def distance(each: pools.ContainingPool) -> int:
        last = each.pool.first + (1 << each.pool.bits) - 1
        return max(each.pool.first - int(address), int(address) - last)

    near = sorted(every, key=distance)
    labels = chain(["nearest pool"], repeat("pool"))
    details = tuple((label, f"{each.name} {each.pool}") for each, label in zip(near, labels, strict=False))
    details = details or (("pools", f"this fabric has no IPv{address.version} pool"),)
    origins = plan.all_of([each.key for each in near[:1]] or ["addressing.family"])
    title, rule = "in no pool of the plan: not assigned", "Every address of the plan is in one of its pools."
    return single_explanation("address", str(address), title, details, rule, origins)


SEGMENT_DOCS = "fabricc docs evpn"
GATEWAY_RULE = "The first address of a segment's subnet is that of its gateway, the same on every ToR."
SEGMENT_RULE = (
    "Hosts of a segment are numbered by unit, ToR, rail and host, from the 17th address of its subnet on: "
    "growth moves none."
)


def segment_address(plan: value_origins.PlanSources, address: Address) -> Explanation | None:
    """Return the owner of the address that lies in the subnet of a segment; None for another."""
    fabric = plan.fabric
    for segment in fabric.evpn.segments if fabric.evpn else ():
        subnet = segment.subnet4 if address.version == 4 else segment.subnet6
        offset = pools.offset_in(subnet, address) if subnet else None
        if subnet is None or offset is None:
            continue
        key = f"evpn.segments.{segment.name}.{'subnet' if address.version == 4 else 'subnet6'}"
        where = (
            ("segment", f"{segment.name}, VLAN {segment.vlan}, VNI {segment.vni}"),
            ("subnet", str(subnet)),
        )
        if offset == 1:
            return _explain_segment(plan, address, f"gateway of {segment.name}", where, GATEWAY_RULE, key)
        for host, port in _segment_ports(fabric, segment, offset):
            if address in (ip_interface(own).ip for own in (port.ipv4, port.ipv6) if own):
                details = (
                    ("device", host.name),
                    ("port", port.name),
                    ("far end", f"{port.peer.device} {port.peer.port}"),
                )
                return _explain_segment(
                    plan, address, f"{host.name} {port.name}", (*details, *where), SEGMENT_RULE, key
                )
        return _explain_segment(plan, address, "not assigned", where, SEGMENT_RULE, key)
    return None


def _explain_segment(
    plan: value_origins.PlanSources, address: Address, title: str, details: Details, rule: str, key: str
) -> Explanation:
    return single_explanation(
        "address", str(address), title, details, rule, plan.all_of([key]), docs=SEGMENT_DOCS
    )


def _segment_ports(fabric: Fabric, segment: Segment, offset: int) -> Iterator[tuple[Host, HostPort]]:
    """Yield the host ports of the unit of an offset."""
    strides, evpn = fabric.strides, fabric.evpn
    if evpn is None or offset < RESERVED:
        return
    number = (offset - RESERVED) // (strides.rail * strides.host * strides.nic_port * strides.group)
    for coordinate, unit in fabric.units.items():
        if unit_number(strides, coordinate) == number and evpn.segment(unit.group) is segment:
            for slot in unit.hosts:
                host = fabric.host(HostId(coordinate, slot))
                yield from ((host, port) for port in host.ports)


def explain_endpoint(
    plan: value_origins.PlanSources,
    address: Address,
    found: pools.ContainingPool,
    network: ManagementNetwork,
    named: Details,
    where: Details,
) -> Explanation:
    """Return the owner of the address in a network of hosts or of management switches."""
    text, offset = str(address), int(address) - network.pool.first
    rule = pools.management_rule(plan.fabric, found)
    of_network = (each for each in address_owners(plan.fabric) if each.place.network is network)
    owner = next((each for each in of_network if each.place.offset == offset), None)
    if owner is None:
        free = offset % network.size < MANAGEMENT_RESERVED
        nobody = "left free for gateways and servers" if free else "not assigned"
        title = ", ".join(use for use, _ in named) or nobody
        origins = plan.all_of([found.key, *(key for _, key in named)])
        return single_explanation("address", text, title, where, rule, origins, docs=pools.DOCS)
    details = [("device", owner.device), ("port", owner.endpoint)]
    if cable := _cable_target(plan.fabric, owner):
        details.append(("cable", cable))
    details += (("prefix", f"{text}/{network.length}"), *where)
    kind = f"{owner.endpoint} of" if network.tier is OtherDevices.HOST else "management switch"
    title = f"{kind} {owner.device}"
    if owner.given:
        given = _table_cell(plan, owner)
        return single_explanation(
            "address", text, title, tuple(details), value_origins.RULE, given, docs="fabricc docs identity"
        )
    at = plan.fabric.find(owner.device)
    steps: tuple[Formula, ...]
    if isinstance(at, HostId):
        steps = (_host_formula(plan.fabric, network, at, owner),)
        pins = (
            *value_origins.stride_origins(plan, "host"),
            *value_origins.identity_origins(plan, at.unit, at.slot),
        )
        origins = (*plan.all_of([found.key]), *pins)
    else:
        switches = plan.fabric.out_of_band.switches
        number = switches.numbers.get(owner.device) if switches else None
        pins = () if number is None else (plan.lock_origin(f"switch {owner.device}", number),)
        steps, origins = (), (*plan.all_of([found.key, "management.switches"]), *pins)
    steps = (*steps, formulas.address_formula(network.pool, offset))
    return single_explanation("address", text, title, tuple(details), rule, origins, steps, docs=pools.DOCS)


def _cable_target(fabric: Fabric, owner: Owner) -> str:
    """Return the far end of its port's cable, in words; "" if none is planned."""
    port, at = owner.endpoint, fabric.find(owner.device)
    if isinstance(at, HostId):
        found = management_endpoints(fabric.host_models[fabric.units[at.unit].group])
        port = next(each.port for each in found if each.name == owner.endpoint)
    rows = (
        row for row, _, _ in management_cables(fabric) if (row.a_device, row.a_port) == (owner.device, port)
    )
    return next((f"{port} to {row.b_device} {row.b_port}" for row in rows), "")


def _host_formula(fabric: Fabric, network: ManagementNetwork, at: HostId, owner: Owner) -> Formula:
    """Return offset of a host's endpoint in its network."""
    unit = fabric.units[at.unit]
    subnet, block = unit_place(fabric, network, unit)
    found = management_endpoints(fabric.host_models[unit.group])
    number = next(each.number for each in found if each.name == owner.endpoint)
    numbers: formulas.Numbers = {
        "subnet": subnet, "size": network.size, "reserved": MANAGEMENT_RESERVED, "block": block,
        "addresses": host_block(fabric, network), "slot": at.slot, "per_host": network.per_host, "number": number,
    }  # fmt: skip
    symbols = "subnet * size + reserved + block * addresses + slot * per_host + number"
    return formulas.make_formula("offset", symbols, numbers, owner.place.offset)


def _table_cell(plan: value_origins.PlanSources, owner: Owner) -> tuple[Origin, ...]:
    """Return the cell of the table that contains an address."""
    rows = plan.spec.given_management
    row = next(each for each in rows if (each.device, each.port) == (owner.device, owner.endpoint))
    position = row.positions["address"]
    key = f"{value_origins.TABLES}management {row.device} {row.port}"
    return (Origin(Source.SPEC, key, "", position, plan.snippet(position)),)
