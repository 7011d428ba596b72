"""Invariants 22 and 23: the EVPN-VXLAN settings of segments and tenants, checked on each ToR and compared over all.

Invariant 22, segments. On one switch: a VNI is one segment's or one VRF's; its VTEP is its loopback, which `announce`
follows to every other ToR; a gateway lies in a subnet that no other segment has, in a VRF that has a VNI; every port to
a host is in a segment; a packet of a segment fits the links between switches with VXLAN around it; and each of these
carries EVPN routes, through spines that keep next hops and route targets. How far such routes get is followed like any
other announcement. Over all ToRs: each has the same settings of a segment, of a VRF and of the gateways' MAC. Each
statement of a ToR is stored as a checksum, so that a digest stays small.

Invariant 23, tenants: no path joins two tenants, and what a tenant sends stays lossless inside VXLAN. On one switch:
every enabled port to a host is in a VRF that exists there; a VRF imports the one route target that it exports, so that
it has its own routes alone; its route distinguisher begins with the VTEP's address, so that no two switches have the
same one; it announces its links; tunnels carry code points and marks; a packet of a host fits the links between
switches inside VXLAN; and no aggregate of the underlay covers a link of a tenant. Over all ToRs: a tenant has one VNI
and one route target, and no other tenant has them.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from fabricc.base.diagnostics.wording import join_words
from fabricc.fabric.evpn import VXLAN_BYTES
from fabricc.fabric.model import Direction
from fabricc.fabric.tenants import NO_VLAN
from fabricc.fabric.vocabulary import port_paths
from fabricc.facts.frame import VRF
from fabricc.facts.paths import first_word, path_pattern, split_list_path
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.proof.invariants.rules import Breach, breach_finding
from fabricc.proof.invariants.view import LinkPort, SwitchView, between_switches, in_network, leads_out

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fabricc.fabric.routing import Session
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.clos import SwitchDigest

LEAVES = ("vni", "vrf", "route_target", "ipv4", "ipv6", "mtu", "name")
_NAMES = ("VNI", "VRF", "route target", "IPv4 gateway", "IPv6 gateway", "MTU", "name")
_OWNERS = ("segment", "vrf")
_NEIGHBOR = "neighbor["
_STATED = Struct(f">{len(LEAVES)}I")
_MAC = "the anycast gateways"
_TENANT = "tenant "
"""Before the name of a VRF that only ToRs with a port of its tenant have."""

Statement = dict[str, object]


def segment_statements(seen: SwitchView) -> dict[str, Statement]:
    """Return `segment[110]` or `vrf[tenants]` -> leaf -> value, as in the files."""
    found: dict[str, Statement] = {}
    for path, value in seen.evpn.items():
        owner, _, leaf = path.rpartition("/")
        if first_word(owner) in _OWNERS:
            found.setdefault(owner, {})[leaf] = value
    return found


def packed_segments(seen: SwitchView) -> tuple[tuple[str, bytes], ...]:
    """Return the settings of each segment and VRF, and of the gateways' MAC, as checksums to compare."""
    if not seen.evpn or seen.switch.tier_index:
        return ()
    statements = [
        (
            _TENANT + owner if is_tenant(each) else owner,
            _STATED.pack(*(_checksum(each.get(leaf)) for leaf in LEAVES)),
        )
        for owner, each in segment_statements(seen).items()
    ]
    if any(owner.startswith(_TENANT) for owner, _ in statements):
        return tuple(sorted(statements))
    if not statements and seen.switch.vtep is None:
        return ()  # a ToR that no tenant has a port on, or a pair without VXLAN, whose gateways are its own
    mac = _checksum(seen.evpn.get("anycast_mac"))
    return tuple(sorted([*statements, (_MAC, _STATED.pack(mac, *[0] * (len(LEAVES) - 1)))]))


def _checksum(value: object) -> int:
    return 0 if value is None else crc32(str(value).encode()) or 1


def segment_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Invariant 22 as far as one switch shows it; nothing where neither plan nor files have segments."""
    if not seen.evpn and not seen.switch.bgp.evpn_sessions:
        yield from tenant_breaches(seen, {})
        return
    yield from _check_carried(seen)
    if seen.switch.tier_index:
        yield from _passed_on(seen)
        return
    statements = segment_statements(seen)
    yield from _check_numbers(statements)
    if with_tenants(seen):
        yield from tenant_breaches(seen, statements)
    elif statements or seen.switch.vtep:
        yield from _check_gateways(statements)
        yield from _check_ports(seen, statements)
        yield from _check_sizes(seen, statements)
    else:
        return  # a ToR that no tenant has a port on
    source, loopback = seen.evpn.get("source"), seen.facts.get("loopback/ipv4")
    if source is None or f"{source}/32" != loopback:
        message = (
            f"its VTEP is {source}, and its loopback {loopback}: no switch routes to another address of it"
        )
        yield Breach(22, message, "evpn/source")


def _check_carried(seen: SwitchView) -> Iterator[Breach]:
    """Check that every enabled link between switches carries EVPN routes, with a filter in each direction."""
    carrying: dict[str, set[str]] = {}
    for path in seen.evpn:
        name, leaf = split_list_path(path, "neighbor") if path.startswith(_NEIGHBOR) else ("", "")
        if leaf in ("import", "export") and name in seen.by_neighbor:
            carrying.setdefault(seen.by_neighbor[name].port.name, set()).add(leaf)
    if overlay := seen.switch.bgp.overlay:
        yield from _check_overlay(seen, overlay)
        return
    for link in seen.links:
        if not (link.enabled and between_switches(link)):
            continue
        missing = {"import", "export"} - carrying.get(link.port.name, set())
        if len(missing) == 2:
            message = f"{link.port.name} is up and has no EVPN routes"
            yield Breach(22, message, link.path + "description")
        elif missing:
            message = f"{link.port.name} has no filter of EVPN routes for {missing.pop()}"
            yield Breach(22, message, link.path + "description")


def _check_overlay(seen: SwitchView, overlay: Sequence[Session]) -> Iterator[Breach]:
    """Check that the session with the loopback of every neighboring switch has a filter in each direction."""
    for session in overlay:
        prefix = f"neighbor[{session.remote}]/"
        missing = [leaf for leaf in ("import", "export") if prefix + leaf not in seen.evpn]
        if len(missing) == 2:
            message = f"it has no EVPN routes with {session.peer} ({session.remote})"
            yield Breach(22, message, f"bgp/neighbor[{session.remote}]/remote_asn")
        elif missing:
            message = f"it has no filter of EVPN routes for {missing[0]} with {session.peer}"
            yield Breach(22, message, f"bgp/neighbor[{session.remote}]/families")


def _passed_on(seen: SwitchView) -> Iterator[Breach]:
    """A switch between ToRs keeps the next hop, which is the VTEP, and routes whose targets it imports nowhere."""
    names = {split_list_path(path, "neighbor")[0] for path in seen.evpn if path.startswith(_NEIGHBOR)}
    for neighbor in sorted(names):
        if seen.evpn.get(f"{_NEIGHBOR}{neighbor}]/next_hop") != "unchanged":
            message = f"it puts itself as the next hop of EVPN routes for {neighbor}, and is no VTEP"
            yield Breach(22, message, f"evpn/{_NEIGHBOR}{neighbor}]/import")
    if seen.evpn.get("route_targets") != "all":
        yield Breach(
            22, "it drops EVPN routes, as it imports none of their route targets", "evpn/route_targets"
        )


def _check_numbers(statements: dict[str, Statement]) -> Iterator[Breach]:
    """Check that a VNI has one owner, and that routes of one are not imported as another's."""
    for leaf, what in (("vni", "VNI"), ("route_target", "route target")):
        first: dict[str, str] = {}
        for owner, each in statements.items():
            value = each.get(leaf)
            if value is None:
                yield Breach(22, f"{owner} has no {what}", f"evpn/{owner}/vni")
            elif (other := first.setdefault(str(value), owner)) != owner:
                yield Breach(22, f"{owner} has {what} {value}, which {other} has too", f"evpn/{owner}/{leaf}")


def _check_gateways(statements: dict[str, Statement]) -> Iterator[Breach]:
    """Check that a gateway is in its own subnet, and in a VRF that routes between ToRs."""
    subnets: list[tuple[IPv4Network | IPv6Network, str]] = []
    for owner, each in statements.items():
        if owner.startswith("vrf"):
            continue
        if f"vrf[{each.get('vrf')}]" not in statements:
            message = (
                f"{owner} is in the VRF {each.get('vrf')}, which has no VNI, so it is not routed between ToRs"
            )
            yield Breach(22, message, f"evpn/{owner}/vrf")
        if "ipv4" not in each and "ipv6" not in each:
            yield Breach(22, f"{owner} has no gateway", f"evpn/{owner}/vni")
        for leaf in ("ipv4", "ipv6"):
            if leaf not in each:
                continue
            try:
                subnets.append((ip_interface(str(each[leaf])).network, owner))
            except ValueError:
                yield Breach(
                    22,
                    f"{owner} has the gateway {each[leaf]}, which is not an address",
                    f"evpn/{owner}/{leaf}",
                )
    before: tuple[IPv4Network | IPv6Network, str] | None = None
    for subnet in sorted(subnets, key=_subnet_order):
        mine, owner = subnet
        if before and before[0].version == mine.version and before[0].overlaps(mine):
            message = f"{owner} has {mine}, which overlaps {before[0]} of {before[1]}"
            yield Breach(22, message, f"evpn/{owner}/ipv{mine.version}")
        else:
            before = subnet


def _subnet_order(subnet: tuple[IPv4Network | IPv6Network, str]) -> tuple[int, int, int, str]:
    """Return a sort key that puts a subnet before those in it, so that each is compared with its parent."""
    network, owner = subnet
    return network.version, int(network.network_address), network.prefixlen, owner


def _check_ports(seen: SwitchView, statements: dict[str, Statement]) -> Iterator[Breach]:
    """Check that every enabled port to a host is in an existing segment."""
    for link in seen.links:
        if link.port.direction is not Direction.HOST or not link.enabled:
            continue
        vlan = seen.evpn.get(f"port[{link.port.name}]")
        if f"segment[{vlan}]" not in statements:
            message = f"{link.port.name} leads to a host and is in {f'VLAN {vlan}' if vlan else 'no VLAN'}: no segment"
            yield Breach(22, message, f"evpn/port[{link.port.name}]" if vlan else link.path + "description")


def _check_sizes(seen: SwitchView, statements: dict[str, Statement]) -> Iterator[Breach]:
    """Check that a packet of a segment with its VXLAN header fits every link between switches."""
    room = min(
        (link.mtu for link in seen.links if between_switches(link) and link.mtu is not None), default=None
    )
    for owner, each in statements.items():
        mtu = each.get("mtu")
        if room is not None and isinstance(mtu, int) and mtu + VXLAN_BYTES > room:
            message = f"{owner} has an MTU of {mtu}, and links between switches hold {room - VXLAN_BYTES} inside VXLAN"
            yield Breach(22, message, f"evpn/{owner}/mtu")


def check_agreement(switches: Sequence[SwitchDigest]) -> Iterator[Finding]:
    """Report ToRs whose settings of a segment differ from those of most others."""
    tors = [each for each in switches if each.segments]
    votes: dict[str, Counter[bytes]] = {}
    for tor in tors:
        for owner, packed in tor.segments:
            votes.setdefault(owner, Counter())[packed] += 1
    yield from _report_shared(votes, tors)
    usual = {owner: max(count, key=lambda packed: (count[packed], packed)) for owner, count in votes.items()}
    for tor in tors:
        mine = dict(tor.segments)
        for owner, wanted in usual.items():
            if owner not in mine:
                if not owner.startswith(_TENANT) and votes[owner].total() * 2 > len(tors):
                    yield breach_finding(
                        22, f"{tor.name} has no {owner}, which other ToRs have", tor.file, tor.line
                    )
            elif mine[owner] != wanted:
                pairs = zip(_STATED.unpack(mine[owner]), _STATED.unpack(wanted), _NAMES, strict=True)
                other = [
                    "MAC" if owner == _MAC else name for one, two, name in pairs if one != two and one and two
                ]
                message = (
                    f"{tor.name} states for {owner} another {join_words(other, len(other))} than other ToRs"
                )
                yield breach_finding(22, message, tor.file, tor.line)
            rare = votes[owner].total() * 2 <= len(tors) and not owner.startswith(_TENANT)
            if owner in mine and rare and owner != _MAC:
                yield breach_finding(
                    22, f"{tor.name} has {owner}, which other ToRs do not have", tor.file, tor.line
                )


def _report_shared(votes: dict[str, Counter[bytes]], tors: Sequence[SwitchDigest]) -> Iterator[Finding]:
    """Report a VNI or route target of two tenants on whatever ToRs: their routes would join them."""
    for leaf in ("vni", "route_target"):
        at, first = LEAVES.index(leaf), dict[int, str]()
        for owner, count in sorted(votes.items()):
            if not owner.startswith(_TENANT):
                continue
            for packed in count:
                value = _STATED.unpack(packed)[at]
                if value and (other := first.setdefault(value, owner)) != owner:
                    tor = next(each for each in tors if (owner, packed) in each.segments)
                    message = f"{tor.name} gives {owner} the {_NAMES[at]} of {other}"
                    yield breach_finding(23, message, tor.file, tor.line)


LEAK = re.compile(
    r"import vpn|(?:im|ex)port (?:vrf|map)|\bfrom-vrf\b|fallback|\bleak|next_hop_table|instance-import|rib-group"
)
"""Facts of a VRF by which routes of another table come in, with their values."""
_STATIC_ROUTE = path_pattern("static_route[_]")
"""Fact of a VRF by which packets can leave it."""
_TABLE = re.compile(r"\.inet6?\.\d+$")
"""What follows the name of a VRF in that of its table."""
_TARGET = re.compile(r"[^ ,]+")
_CARRIED = (
    (
        "outer_dscp",
        "copied",
        "outer headers do not get the code point, so that links between switches lose packets",
    ),
    ("inner_dscp", "kept", "packets leave tunnels with another code point than their sender gave them"),
    ("ecn", "carried", "marks do not pass into and out of tunnels, so that senders do not slow down"),
)


def is_tenant(statement: Mapping[str, object]) -> bool:
    """Return whether statements about a VRF are those of a tenant: it announces prefixes."""
    return "prefixes" in statement


def with_tenants(seen: SwitchView) -> bool:
    """Return whether a switch has VRFs of tenants, by its plan, or by files that have no segments."""
    if seen.switch.tenants is not None:
        return True
    if any(path.startswith("segment[") for path in seen.evpn):
        return False
    return any(path.startswith("vrf[") and path.endswith("]/prefixes") for path in seen.evpn)


def tenant_breaches(seen: SwitchView, values: Mapping[str, Mapping[str, object]]) -> Iterator[Breach]:
    """Yield breaches of invariant 23 on one switch; `statements`: the statements about its VRFs, by `vrf[name]`."""
    if seen.switch.tier_index or not with_tenants(seen):
        return
    vrfs = {owner: each for owner, each in values.items() if owner.startswith("vrf[")}
    tunnels = bool(vrfs) or "source" in seen.evpn
    yield from _ports(seen, vrfs, tunnels=tunnels)
    yield from _leaks(seen)
    if tunnels:
        yield from _vrfs(seen, vrfs)
        yield from _tunnels(seen)
        yield from _sizes(seen)
    yield from _underlay(seen)


def _host_links(seen: SwitchView) -> Iterator[LinkPort]:
    return (link for link in seen.links if link.port.direction is Direction.HOST and link.enabled)


def _tenant_links(seen: SwitchView) -> Iterator[LinkPort]:
    """Yield the enabled ports to hosts and to outside parties."""
    return (
        link
        for link in seen.links
        if link.enabled and (link.port.direction is Direction.HOST or leads_out(link))
    )


def _ports(seen: SwitchView, vrfs: Mapping[str, object], *, tunnels: bool) -> Iterator[Breach]:
    """Check that every enabled port to a host or out of the fabric is in a VRF that exists on this switch."""
    for link in _tenant_links(seen):
        path, vrf = port_paths(link.port.name)["vrf"], seen.vrf_of(link)
        if vrf is None and (link.ipv4 or link.ipv6 or link.unnumbered):
            where = "outside" if leads_out(link) else "to a host"
            message = f"{link.port.name} leads {where} and is in the routing table that switches share"
            yield Breach(23, message, link.path + "description")
        elif vrf is not None and tunnels and f"vrf[{vrf}]" not in vrfs:
            yield Breach(23, f"{link.port.name} is in the VRF {vrf}, which has no VNI here", path)
        elif vrf is not None and not tunnels and f"tenant[{vrf}]" not in seen.facts:
            yield Breach(23, f"{link.port.name} is in the VRF {vrf}, which is not isolated here", path)


def _leaks(seen: SwitchView) -> Iterator[Breach]:
    """Yield routes by which packets enter or leave the VRF of a port, other than to its own outside parties."""
    ports: dict[str, str] = {}
    ways: dict[str, list[IPv4Network | IPv6Network]] = {}
    for link in _tenant_links(seen):
        if (owner := seen.vrf_of(link)) is not None:
            ports[link.port.name] = owner
            if leads_out(link):
                ways.setdefault(owner, []).extend(
                    ip_interface(text).network for text in (link.ipv4, link.ipv6) if text
                )
    used = {*ports.values()}
    for vrf in ways:
        yield from _dropped_pools(seen, vrf)
    for path, value in seen.facts.items() if used else ():
        if path.startswith("static_route[") and path.endswith("]"):
            if own := find_vrf_of_route(str(value), used, ports):
                yield Breach(
                    23, f"a route of the table that switches share leads into vrf[{own}]: {path}", path
                )
        elif path.startswith(VRF):
            vrf, leaf = split_list_path(path, "vrf")
            if vrf in used and leaf and _leads_elsewhere(seen, leaf, str(value), ways.get(vrf, ())):
                yield Breach(23, f"vrf[{vrf}] has routes from elsewhere: {leaf} {value}", path)


def _leads_elsewhere(
    seen: SwitchView, leaf: str, value: str, ways: Sequence[IPv4Network | IPv6Network]
) -> bool:
    """Return whether a fact of a VRF brings in routes of another table, or that do not lead to its outside parties.

    `ways`: networks of the links of the VRF that lead out of the fabric.
    """
    if LEAK.search(f"{leaf} {value}"):
        return True
    if _STATIC_ROUTE.fullmatch(leaf):
        hops = [] if value == "discard" else value.split(",")
        return not ways or not all(any(in_network(hop, way) for way in ways) for hop in hops)
    return leaf == "bgp/redistribute_static" and (not ways or value not in seen.maps)


def _dropped_pools(seen: SwitchView, vrf: str) -> Iterator[Breach]:
    """Check that packets of a VRF for other addresses of the fabric are dropped, where a route leads them outside."""
    routes = {block: via for text, via in seen.routes_of(vrf).items() if (block := parse_block(text))}
    tenants = seen.switch.tenants
    own = [each for each in tenants.tenants if each.name == vrf] if tenants else []
    pools = (
        [route.prefix for each in own for route in tenants.routes_of(each) if not route.via]
        if tenants
        else []
    )
    for text in pools:
        pool = parse_block(text)
        around = [block for block in routes if pool and block.covers(pool)]
        if around and routes[max(around, key=lambda block: block.length)] != "discard":
            message = f"vrf[{vrf}] has a route outside and none that drops the fabric's own: what is for {pool} leaves"
            yield Breach(23, message, f"vrf[{vrf}]/static_route[{around[0]}]")


def find_vrf_of_route(hop: str, vrfs: Collection[str], ports: Mapping[str, str]) -> str:
    """Return the VRF into which a next hop of another table leads; "" for none.

    Args:
        hop: next hops as the fact of the route has them, with the names of VRFs and ports.
        vrfs: names of VRFs with ports to hosts.
        ports: port -> its VRF.
    """
    words = [_TABLE.sub("", word) for word in re.split(r"[ ,]+", hop)]
    return next((ports.get(word) or word for word in words if word in vrfs or ports.get(word) in vrfs), "")


def _vrfs(seen: SwitchView, vrfs: Mapping[str, Mapping[str, object]]) -> Iterator[Breach]:
    """A VRF takes in what it gives out and nothing else, and no other VRF has its distinguisher."""
    source = seen.evpn.get("source")
    own = {source, seen.facts.get("bgp/router_id")}
    first: dict[object, str] = {}
    vlans: dict[object, str] = {}
    for owner, each in vrfs.items():
        target, distinguisher = str(each.get("route_target", "")), each.get("distinguisher")
        if target and not _TARGET.fullmatch(target):
            message = f"{owner} has the route targets {target}: it exchanges routes with another VRF"
            yield Breach(23, message, f"evpn/{owner}/route_target")
        if distinguisher is None or str(distinguisher).rpartition(":")[0] not in own:
            message = f"{owner} has the route distinguisher {distinguisher}, and its VTEP is {source}"
            yield Breach(23, message, f"evpn/{owner}/distinguisher")
        elif (other := first.setdefault(distinguisher, owner)) != owner:
            message = f"{owner} has the route distinguisher {distinguisher}, which {other} has too"
            yield Breach(23, message, f"evpn/{owner}/distinguisher")
        vlan = each.get("vlan")
        if vlan == NO_VLAN:
            yield Breach(23, f"no VLAN interface has the VNI of {owner}", f"evpn/{owner}/vni")
        elif vlan is not None and (other := vlans.setdefault(vlan, owner)) != owner:
            message = f"{owner} has its VNI in VLAN {vlan}, which {other} has too"
            yield Breach(23, message, f"evpn/{owner}/vlan")
        if not is_tenant(each):
            yield Breach(23, f"{owner} does not announce its links as EVPN routes", f"evpn/{owner}/vni")


def _tunnels(seen: SwitchView) -> Iterator[Breach]:
    """Yield a tunnel of a lossless fabric carries code points and marks."""
    if seen.switch.tenants is None and not any(kind.pfc for kind, _ in seen.kinds()):
        return
    for leaf, wanted, message in _CARRIED:
        if seen.evpn.get(leaf) != wanted:
            yield Breach(23, message, f"evpn/{leaf}" if leaf in seen.evpn else "evpn/source")


def _sizes(seen: SwitchView) -> Iterator[Breach]:
    """Yield a packet from a host fits every link between switches inside VXLAN."""
    room = min((e.mtu for e in seen.links if between_switches(e) and e.mtu is not None), default=None)
    for link in _host_links(seen):
        if room is not None and link.mtu is not None and link.mtu + VXLAN_BYTES > room:
            message = f"{link.port.name} takes packets of {link.mtu} bytes, and links between switches hold "
            yield Breach(23, f"{message}{room - VXLAN_BYTES} inside VXLAN", link.path + "mtu")


def _underlay(seen: SwitchView) -> Iterator[Breach]:
    """No aggregate of the routing table that switches share covers a link of a tenant."""
    blocks = [ip_network(text, strict=False) for text in seen.aggregates]
    for link in _host_links(seen) if blocks else ():
        for text in filter(None, (link.ipv4, link.ipv6)):
            network = ip_interface(text).network
            for block in blocks:
                if block.version == network.version and block.overlaps(network):
                    message = f"the underlay announces {block}, which has the link {network} of a tenant"
                    yield Breach(23, message, f"bgp/aggregate[{block}]")
