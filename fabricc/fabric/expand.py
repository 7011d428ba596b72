"""Compute one switch of a fabric, or its cables, from coordinates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.base.values import replace, shared_attributes
from fabricc.fabric import links, routing
from fabricc.fabric.evpn import Vtep
from fabricc.fabric.expand_bgp import GROUPS, expand_bgp, loopback_address
from fabricc.fabric.external import Exit, static_routes
from fabricc.fabric.management import management_place
from fabricc.fabric.model import CableRow, Direction, Management, Peer, Port, Services, Switch
from fabricc.fabric.naming import host_port_name, switch_name
from fabricc.fabric.shape import PortLayout, SwitchId, TierName
from fabricc.fabric.tenants import TenantVrfs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.design import Design, DeviceChange
    from fabricc.fabric.neighbors import Values
    from fabricc.fabric.qos import SwitchQos

_IPV4, _IPV6, _UNNUMBERED = (
    routing.Transport.IPV4,
    routing.Transport.IPV6,
    routing.Transport.UNNUMBERED,
)  # as `links.HOST`
_HOST, _UNUSED = links.HOST, Direction.UNUSED


def expand_switch(fabric: Design, at: SwitchId) -> Switch:
    """Return one switch, everything decided."""
    tier = fabric.tiers[at.tier]
    name = switch_name(fabric, at)
    change = fabric.changes.get(name)
    drained = change.drained if change else False
    exits = fabric.external.at(name)
    ports, sessions = _fabric_ports(fabric, at)
    if exits:
        ports, outward = _external_ports(fabric, at, exits, ports)
        sessions += outward
    addresses = fabric.addresses
    nos = (change and change.nos) or tier.nos
    return Switch(
        name=name,
        cluster=fabric.cluster,
        tier=at.tier,
        plane=at.plane,
        pod=at.pod if fabric.shape.cores and at.tier is not TierName.CORE else None,
        unit=at.unit if at.tier is TierName.TOR else None,
        model=fabric.model(at),
        nos=nos,
        release=change.release if change and change.release is not None else tier.release,
        loopback4=loopback_address(fabric, at, addresses.loopbacks4) if addresses.hosts4 else None,
        loopback6=loopback_address(fabric, at, addresses.loopbacks6) if addresses.loopbacks6 else None,
        drained=drained,
        management=_expand_management(fabric, at),
        ports=ports,
        bgp=expand_bgp(fabric, at, sessions, drained, exits),
        qos=_expand_qos(fabric, at, ports),
        load_balancing=_balance_ports(fabric.load_balancing, ports),
        overlays=tuple(each.overlay for each in fabric.overlays if each.covers(name, at.tier, nos)),
        static_routes=_drop_pools(fabric, exits) if exits and not fabric.tenancy else (),
        vtep=_expand_vtep(fabric, at) if fabric.evpn and at.tier is TierName.TOR else None,
        tenants=_expand_tenants(fabric, at, ports, exits)
        if fabric.tenancy and at.tier is TierName.TOR
        else None,
    )


def _balance_ports(requested: routing.LoadBalancing, ports: Sequence[Port]) -> routing.LoadBalancing:
    """Return the load balancing of a switch: only between hosts and uplinks are flows of a cluster dealt out."""
    if requested.mode is not routing.Spreading.CLUSTER:
        return requested
    kinds = {port.direction for port in ports}
    return (
        requested
        if {Direction.HOST, Direction.UP} <= kinds
        else replace(requested, mode=routing.Spreading.HASH)
    )


def _expand_vtep(fabric: Design, at: SwitchId) -> Vtep:
    plan = fabric.evpn
    assert plan is not None
    source = loopback_address(fabric, at, fabric.addresses.loopbacks4)
    return Vtep(source, plan.segments, plan.vrfs, plan.anycast_mac, plan.mtu)


def _drop_pools(fabric: Design, exits: Mapping[str, Exit]) -> tuple[routing.StaticRoute, ...]:
    """Return the static routes of a routing table with ways out."""
    bits = 0 if fabric.tenancy else fabric.aggregate_bits()  # a VRF has links to hosts, and no aggregate
    return static_routes(exits, fabric.addresses.whole_pools(bits))


def _expand_tenants(
    fabric: Design, at: SwitchId, ports: Sequence[Port], exits: Mapping[str, Exit]
) -> TenantVrfs | None:
    """Return the VRFs of a ToR: those that a port of it is in."""
    plan = fabric.tenancy
    assert plan is not None
    used = {port.vrf for port in ports}
    own = sorted((each for each in plan.tenants if each.vrf in used), key=lambda each: each.number)
    local = tuple(replace(each, name=each.vrf) for each in own)
    if not local:
        return None
    source = loopback_address(fabric, at, fabric.addresses.loopbacks4) if plan.tunnels else None
    families = ("ipv4" if fabric.addresses.hosts4 else "", "ipv6" if fabric.addresses.hosts6 else "")
    ways: dict[int, dict[str, Exit]] = {}
    for port, way in exits.items():
        if (index := plan.exits.get(way.outsider.name)) is not None:
            ways.setdefault(plan.tenants[index].number, {})[port] = way
    routes = {number: _drop_pools(fabric, some) for number, some in ways.items()}
    return TenantVrfs(source, local, tuple(filter(None, families)), plan.mtu, routes)


def _external_ports(
    fabric: Design, at: SwitchId, exits: Mapping[str, Exit], planned: tuple[Port, ...]
) -> tuple[tuple[Port, ...], tuple[routing.Session, ...]]:
    """Return the ports of a switch with those that lead outside, and the sessions there.

    Every port keeps its place; what a cage has more of, as external links split it, comes last.
    """
    name, key = switch_name(fabric, at), links.layout_key(fabric, at)
    change = fabric.changes.get(name)
    splits = fabric.external.splits.get(name, {})
    ports, more = list(planned), []
    for index, port in enumerate(planned):
        split = splits.get(port.cage)
        if split is None:
            own = [port]
        elif port.child > 1:
            continue
        else:
            own = [
                Port(each, *slot, Direction.UNUSED, False, port.mtu)
                for slot, each in zip(split.slots, split.names, strict=True)
            ]
        own = [
            _external_port(fabric, key, each, exits[each.name], change) if each.name in exits else each
            for each in own
        ]
        ports[index] = own[0]
        more += own[1:]
    order = {port.name: port for port in (*ports, *more)}
    sessions: list[routing.Session] = []
    for port_name in order:
        if port_name in exits and exits[port_name].outsider.asn is not None:
            sessions += _outer_sessions(port_name, exits[port_name])
    return (*ports, *more), tuple(sessions)


def _external_port(fabric: Design, key: str, port: Port, way: Exit, change: DeviceChange | None) -> Port:
    """Return an external port; it is lossless and trusts the DSCP of received packets only if the spec sets so."""
    outsider, link = way
    lossless = outsider.lossless and fabric.profiles
    own = change.ports.get(port.name) if change else None
    tenancy = fabric.tenancy
    index = tenancy.exits.get(outsider.name) if tenancy else None
    return replace(
        port, direction=Direction.EXTERNAL, enabled=not (own and own[2]), mtu=outsider.mtu,
        peer=Peer(link.peer, link.peer_port), cable_m=link.cable_m, medium=link.medium, ipv4=link.ipv4, ipv6=link.ipv6,
        profile=fabric.profiles[key, port.speed_gbps, link.cable_m].name if lossless else None,
        reserved=False, trusted=outsider.trusted,
        vrf=tenancy.tenants[index].vrf if tenancy and index is not None else "",
    )  # fmt: skip


def _outer_sessions(port: str, way: Exit) -> Iterator[routing.Session]:
    outsider, link = way
    for transport, own, remote in (
        (routing.Transport.IPV4, link.ipv4, link.remote4), (routing.Transport.IPV6, link.ipv6, link.remote6),
    ):  # fmt: skip
        if own and remote and outsider.asn is not None:
            local = own.partition("/")[0]
            yield routing.Session(outsider.group, transport, port, link.peer, outsider.asn, local, remote)


def _fabric_ports(fabric: Design, at: SwitchId) -> tuple[tuple[Port, ...], tuple[routing.Session, ...]]:
    layout, own_name, key = (
        links.port_layout(fabric, at),
        switch_name(fabric, at),
        links.layout_key(fabric, at),
    )
    used: list[Values | None] = [None] * len(layout.slots)
    for found in links.link_values(fabric, at):
        used[found[0]] = found
    names = links.port_names(fabric, at)
    reserved = set(layout.down[len(layout.down) - layout.reserved :]) if layout.reserved else set()
    mtu, profiles, evpn = fabric.switch_mtu, fabric.profiles, fabric.evpn
    tenancy, rails = fabric.tenancy, _host_rails(fabric, at) if fabric.tenancy else {}
    groups = _host_groups(fabric, at) if evpn else {}
    to_hosts, to_switches, of_sessions = (
        partial(_format_label, words, own_name) if words else None
        for words in (fabric.descriptions.host, fabric.descriptions.fabric, fabric.descriptions.session)
    )
    length4 = f"/{fabric.addresses.links4.link_length}" if fabric.addresses.links4 else ""
    silent = _uncabled_ports(fabric, own_name, layout, names, used) if fabric.unused_silent else ()
    ports: list[Port] = []
    sessions: list[routing.Session] = []
    for index, (slot, name, link) in enumerate(zip(layout.slots, names, used, strict=True)):
        cage, child, children, lanes, speed = slot
        if link is None:
            kept = index in reserved
            if kept or cage not in silent:
                port = Port(name, cage, child, children, lanes, speed, _UNUSED, False, mtu, reserved=kept)
                ports.append(port)
            continue
        _, way, _, peer, far, asn, cable_m, medium, shut, local4, remote4, local6, remote6, unnumbered = link
        profile = profiles[key, speed, cable_m].name if profiles else None
        if way is _HOST:
            words, length = to_hosts, "/31"
        else:
            words, length = to_switches, length4
        label = words(name, peer, far) if words else ""
        if evpn and way is _HOST:
            vlan = evpn.segment(groups[peer]).vlan
            ports.append(
                Port(
                    name, cage, child, children, lanes, speed, way, not shut, evpn.mtu, Peer(peer, far), cable_m,
                    medium, profile=profile, segment=vlan, label=label,
                )
            )  # fmt: skip
            continue
        vrf, own_mtu = "", mtu
        if tenancy and way is _HOST:
            tenant = tenancy.find_tenant(peer, rails[peer, far])
            vrf, own_mtu, shut = tenant.vrf if tenant else "", tenancy.mtu, shut or tenant is None
        ports.append(
            Port(
                name, cage, child, children, lanes, speed, way, not shut, own_mtu, Peer(peer, far), cable_m, medium,
                local4 and local4 + length, local6 and local6 + "/127", unnumbered, profile, False, True, None,
                label, vrf,
            )
        )  # fmt: skip
        if way is _HOST:
            continue
        group, label = GROUPS[way], of_sessions(name, peer, far) if of_sessions else ""
        if unnumbered:
            sessions.append(routing.Session(group, _UNNUMBERED, name, peer, asn, None, None, label))
            continue
        if remote4:
            sessions.append(routing.Session(group, _IPV4, name, peer, asn, local4, remote4, label))
        if remote6:
            sessions.append(routing.Session(group, _IPV6, name, peer, asn, local6, remote6, label))
    return tuple(ports), tuple(sessions)


def _uncabled_ports(
    fabric: Design, name: str, layout: PortLayout, names: Sequence[str], used: Sequence[Values | None]
) -> set[int]:
    """Return the cages without cables, which the switch does not configure."""
    exits = fabric.external.at(name)
    taken = {
        slot.cage
        for slot, port, link in zip(layout.slots, names, used, strict=True)
        if link is not None or port in exits
    }
    return {slot.cage for slot in layout.slots} - taken - fabric.external.splits.get(name, {}).keys()


def _host_groups(fabric: Design, at: SwitchId) -> dict[str, int]:
    """Hosts of a ToR -> their groups."""
    if at.tier is not TierName.TOR:
        return {}
    return {
        unit.hosts[slot]: unit.group for unit, slots, _ in links.served_slots(fabric, at) for slot in slots
    }


def _host_rails(fabric: Design, at: SwitchId) -> dict[tuple[str, str], int]:
    """Return host of a ToR and name of its port -> rail."""
    if at.tier is not TierName.TOR:
        return {}
    found: dict[tuple[str, str], int] = {}
    for unit, slots, rails in links.served_slots(fabric, at):
        nic_ports = fabric.attachments[unit.group].nic_ports
        for rail in rails:
            port = host_port_name(nic_ports, rail, at.nic_port, fabric.network)
            found |= {(unit.hosts[slot], port): rail for slot in slots}
    return found


def _format_label(words: str, device: str, port: str, peer: str, peer_port: str) -> str:
    """Return what a port or session is described by, in the words of the spec."""
    return words.format(device=device, port=port, peer=peer, peer_port=peer_port)


def _expand_qos(fabric: Design, at: SwitchId, ports: tuple[Port, ...]) -> SwitchQos:
    qos = fabric.qos.get(switch_name(fabric, at)) or fabric.qos[links.layout_key(fabric, at)]
    used = {port.profile for port in ports}
    profiles = tuple(profile for profile in qos.profiles if profile.name in used)
    if len(profiles) == len(qos.profiles):
        return qos
    return replace(qos, profiles=profiles)


def _expand_management(fabric: Design, at: SwitchId) -> Management:
    place = management_place(fabric, at)
    return Management(
        **shared_attributes(fabric.services, Services),
        address=f"{place.address}/{place.network.length}",
        gateway=place.network.gateway_of(place.offset),
    )


def tor_cables(fabric: Design, tor: SwitchId) -> Iterator[CableRow]:
    """Cables of a ToR: to its hosts, then to its spines or the other ToR; the host or (first) ToR is the lower end."""
    yield from links.cable_rows(fabric, tor, (Direction.HOST, Direction.UP, Direction.PEER))


def spine_cables(fabric: Design, spine: SwitchId) -> Iterator[CableRow]:
    """Cables of a spine to its cores."""
    yield from links.cable_rows(fabric, spine, (Direction.UP,))
