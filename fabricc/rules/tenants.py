"""Find VRFs of tenants whose routes meet, and tunnels that do not carry their packets, in fabrics without a plan.

Invariant 23 proves these for a plan. Here the intent is not known: rules report what joins two VRFs with VNIs, what no
other switch of the kind does, and what cannot work.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import partial
from ipaddress import IPv4Interface, IPv6Interface, ip_address
from typing import TYPE_CHECKING

from fabricc.back.nos import evpn_defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.fabric.evpn import VXLAN_BYTES
from fabricc.fabric.tenants import NO_VLAN
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key, path_pattern, split_list_path
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.proof.invariants.segments import LEAK, find_vrf_of_route
from fabricc.rules.findings import line_of
from fabricc.rules.next_hops import is_idle, link_ports, parse_addresses
from fabricc.rules.records import Overlay, OverlayFault, Vrf, missed_targets, sent_targets
from fabricc.rules.rule import ADDRESSES, FabricRule, Report, Switches
from fabricc.rules.segments import joined_switches, read_targets
from fabricc.rules.sessions import Sessions, is_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    Interface = IPv4Interface | IPv6Interface

JOINED, TUNNEL = "FAB9692", "FAB9693"
_VNI = path_pattern("(?:evpn|vxlan)/vrf[*]/vni")
_DERIVED = {"", "none", "auto"}  # no value of its own: the system may derive one for each VRF
_TUNNEL_LEAVES = {
    "evpn/outer_dscp": "copied", "evpn/inner_dscp": "kept", "evpn/ecn": "carried",
}  # fmt: skip
"""Statement about tunnels -> the value with which lossless classes stay lossless."""
_WHAT = {
    "evpn/outer_dscp": "outer headers do not get the code point",
    "evpn/inner_dscp": "packets leave tunnels with another code point",
    "evpn/ecn": "ECN marks do not pass into and out of tunnels",
    "mtu": "packets of hosts do not fit the links between switches inside VXLAN",
    "import": "it takes EVPN routes without a filter",
    "export": "it sends EVPN routes without a filter",
    "next_hop": "it puts itself as next hop into EVPN routes",
    "connected": "connected routes enter BGP of the underlay without a route map",
    "route_targets": "it drops EVPN routes whose route targets it imports nowhere",
}
_FILTERS = {
    "import": "it alone filters the EVPN routes that it takes",
    "export": "it alone filters the EVPN routes that it sends",
}  # fmt: skip
_FEW = 2
_UNANNOUNCED = "VRF {} does not announce its links as EVPN routes"
_ANNOUNCE = "Announce the prefixes of the VRF as EVPN routes."
_COPY = "Copy DSCP and ECN between the packets of hosts and the headers of VXLAN."
_CONNECTED = ("bgp/redistribute_connected", "bgp/redistribute[connected]", "bgp/redistribute[direct]")
"""Facts by which connected routes enter BGP of the underlay, with their route maps."""
_SOURCES = ("evpn/source", "vxlan/source")
"""Facts of the interface of VXLAN, where its settings belong."""
_NEIGHBOR = path_pattern("evpn/neighbor[_]")


def overlay_of(statement: Statement, sessions: Sessions) -> Overlay | None:
    """Return the statements of a switch about VRFs with VNIs; None without any, and without EVPN routes."""
    bridged = _list_bridged_vrfs(statement)
    vrfs = tuple(_vrfs_of(statement, bridged))
    neighbors = {match[0] for path in statement.rest if path[0] == "e" and (match := _NEIGHBOR.match(path))}
    plain = frozenset(_list_linked_vrfs(statement) - {vrf.name for vrf in vrfs} - bridged)
    targets = any(_uncarried_target(statement, name) for name in plain)
    if not (vrfs or neighbors or targets or statement.facts_below("evpn/vrf[")):
        return None
    leaves = {
        leaf
        for leaf in ("import", "export", "next_hop")
        if neighbors and all(f"{name}/{leaf}" in statement.rest for name in neighbors)
    }
    leaves |= {path for path, value in _TUNNEL_LEAVES.items() if statement.rest.get(path) == value}
    if all(_is_filtered(statement, path) for path in _CONNECTED if path in statement.rest):
        leaves.add("connected")
    if statement.rest.get("evpn/route_targets") == "all":
        leaves.add("route_targets")
    if vrfs and _fits_links(statement, {vrf.name for vrf in vrfs}):
        leaves.add("mtu")
    faults = [*_list_missing_parts(statement, vrfs, plain)]
    faults += _list_faults(statement, sessions, vrfs) if vrfs else ()
    replacing = {
        f"evpn/neighbor[{key[1]}]" for key, values in statement.sessions.items() if "next_hop_self" in values
    }
    names = tuple(sorted(neighbors or replacing))
    return Overlay(statement.device.system, vrfs, tuple(faults), frozenset(leaves), bool(vrfs), plain, names)


def _self_path(neighbor: str) -> str:
    """Return the path of the next hop that a session with EVPN replaces."""
    return session_path(("", first_key(neighbor)), "next_hop_self")


def _is_filtered(statement: Statement, path: str) -> bool:
    """Return whether the value of a fact is a route map of the switch."""
    start = f"route_map[{statement.rest[path]}]/"
    return any(each.startswith(start) for each in statement.rest if each[0] == "r")


def _fits_links(statement: Statement, vrfs: Collection[str]) -> bool:
    """Return whether the largest packet of a host fits the links between switches inside VXLAN."""
    mtus: dict[bool, list[int]] = {True: [], False: []}
    for port, values in statement.ports.items():
        far = statement.fars.get(port)
        between = far is not None and far.known and far.tier is not Tier.HOST
        if isinstance(mtu := values.get("mtu"), int) and (between or values.get("vrf") in vrfs):
            mtus[between].append(mtu)
    return bool(mtus[True] and mtus[False]) and max(mtus[False]) + VXLAN_BYTES <= min(mtus[True])


def _list_linked_vrfs(statement: Statement) -> set[str]:
    """Return the VRFs that routed ports are in."""
    return {
        str(vrf)
        for port in statement.addresses
        if statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE)
        and (vrf := statement.of(port, "vrf")) is not None
    }


def _list_bridged_vrfs(statement: Statement) -> set[str]:
    """Return the VRFs with gateways of VLANs: bridged tunnels may lead to their hosts (RFC 9135, asymmetric IRB)."""
    return {
        str(vrf)
        for port, texts in statement.addresses.items()
        if statement.parse_name(port).kind is PortKind.VIRTUAL
        and (vrf := statement.of(port, "vrf")) is not None
        and any(each.network.num_addresses > 1 for each in parse_addresses(texts))
    }


def _vrfs_of(statement: Statement, bridged: Collection[str]) -> Iterator[Vrf]:
    facts = statement.rest
    linked = _list_linked_vrfs(statement)
    aggregates, announced = _list_aggregates(statement), _list_announced_families(statement)
    subnets: dict[str, str] = {}
    for port, texts in statement.addresses.items():
        subnets.setdefault(str(statement.of(port, "vrf")), texts[0])
    for path, vni in facts.items():
        if not (path[0] in "ev" and (match := _VNI.fullmatch(path))):
            continue
        name = match[1]
        own, other = f"evpn/vrf[{name}]/", f"vrf[{name}]/"
        stated = str(facts.get(own + "route_target", ""))
        exports, imports = read_targets(stated) or (
            frozenset(f"{facts.get(other + way, '')} {_one_way(stated, way)}".replace(",", " ").split())
            for way in ("export", "import")
        )
        distinguisher = facts.get(own + "distinguisher", facts.get(other + "distinguisher", ""))
        announces = str(facts.get(own + "prefixes", "")) or announced.get(name, "")
        links = name in linked
        alone = links and name not in bridged and not any(vrf == name for vrf, _ in statement.sessions)
        yield Vrf(
            name, str(vni), str(distinguisher), exports, imports, announces, links, path, alone,
            tuple(aggregates.get(name, ())), subnets.get(name, ""), f"{other}bgp/router_id" in facts,
        )  # fmt: skip


_AGGREGATE, _ANNOUNCED = "bgp/aggregate[", "evpn/setting[advertise "


def _list_aggregates(statement: Statement) -> dict[str, list[tuple[str, str]]]:
    """Return the aggregates of each VRF that replace its links, and their paths."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, value in statement.facts_below("vrf[").items():
        name, leaf = split_list_path(path, "vrf")
        if leaf.startswith(_AGGREGATE) and "summary-only" in str(value):
            found.setdefault(name, []).append((outer_key(leaf), path))
    return found


def _list_announced_families(statement: Statement) -> dict[str, str]:
    """Return the families that VRFs announce which have more statements than those of a tenant."""
    found: dict[str, str] = {}
    for path in statement.facts_below("vrf["):
        name, leaf = split_list_path(path, "vrf")
        if leaf.startswith(_ANNOUNCED):
            found[name] = first_key(leaf).split()[1]
    return found


def _one_way(targets: str, way: str) -> str:
    """Return the route targets of one direction, where a VRF states none for the other."""
    found = re.match(r"import (?P<import>\S*) ?export (?P<export>\S*)$", targets)
    return found[way] if found else ""


def _list_missing_parts(
    statement: Statement, vrfs: tuple[Vrf, ...], plain: Collection[str]
) -> Iterator[OverlayFault]:
    """Yield what VRFs and tunnels lack, without which no EVPN route of them is used.

    Args:
        statement: the switch.
        vrfs: its VRFs with VNIs.
        plain: its VRFs with ports and without a VNI.
    """
    system, encapsulates = statement.device.system, "evpn/source" in statement.rest
    bridged = _list_bridged_vrfs(statement)
    if vrfs and not encapsulates and evpn_defaults.lacks_vtep_source(system, statement.device.files.values()):
        message = "its VNIs have no source interface of VXLAN, so no tunnel is up"
        yield OverlayFault(TUNNEL, message, vrfs[0].path, "Configure a loopback as the source of VXLAN.")
    for vrf in vrfs:
        path = f"evpn/vrf[{vrf.name}]/vlan"
        if vrf.links and vrf.name not in bridged and statement.rest.get(path) == NO_VLAN:
            message = (
                f"no VLAN interface has the VNI of VRF {vrf.name}, so none of its packets enter a tunnel"
            )
            yield OverlayFault(TUNNEL, message, path, "Put a VLAN interface with the VNI into the VRF.")
        if (
            not vrf.distinguisher
            and (vrf.exports or vrf.imports)
            and not evpn_defaults.derives_distinguishers(system, statement.rest)
        ):
            path = f"evpn/vrf[{vrf.name}]/route_target"
            message = f"VRF {vrf.name} has no route distinguisher and announces nothing"
            yield OverlayFault(TUNNEL, message, path, "Configure a route distinguisher of the VRF.")
        if vrf.alone and not vrf.announces and evpn_defaults.announces_by_statement(system):
            path = f"evpn/vrf[{vrf.name}]/distinguisher"
            yield OverlayFault(TUNNEL, _UNANNOUNCED.format(vrf.name), path, _ANNOUNCE)
    reported = {outer_key(p) for p in statement.facts_below("evpn/vrf[") if p.endswith("/route_target")}
    for name in sorted({*plain, *(reported - {vrf.name for vrf in vrfs})}):
        path = evpn_defaults.expects_vni(name, statement.rest, partial(line_of, statement.device))
        if path := path or _uncarried_target(statement, name):
            message = f"VRF {name} is for EVPN and has no VNI, so none of its packets enter a tunnel"
            yield OverlayFault(
                TUNNEL, message, path, "Configure a VNI of the VRF, or remove what is for EVPN."
            )


def _uncarried_target(statement: Statement, name: str) -> str:
    """Return the route targets of a VRF that no session carries but in EVPN; "" for those of L3VPN (RFC 4364)."""
    families = ",".join(str(values.get("families", "")) for values in statement.sessions.values())
    path = f"vrf[{name}]/import"
    whole = statement.rest.get(f"vrf[{name}]/kind") == "vrf" and path in statement.rest
    return path if whole and "evpn" in families and "vpnv" not in families else ""


def _list_faults(statement: Statement, sessions: Sessions, vrfs: tuple[Vrf, ...]) -> Iterator[OverlayFault]:
    """Yield the faults that a switch shows alone."""
    first: dict[str, str] = {}
    vlans: dict[object, str] = {}
    for vrf in vrfs:
        path = f"evpn/vrf[{vrf.name}]/vlan"
        vlan = statement.rest.get(path, NO_VLAN)
        if vlan != NO_VLAN and (other := vlans.setdefault(vlan, vrf.name)) != vrf.name:
            message = f"VRF {vrf.name} has its VNI in VLAN {vlan}, which VRF {other} has too"
            yield OverlayFault(JOINED, message, path)
        value = vrf.distinguisher
        if value not in _DERIVED and (other := first.setdefault(value, vrf.name)) != vrf.name:
            message = f"VRF {vrf.name} has the route distinguisher {value} of VRF {other}"
            paths = (f"{start}vrf[{vrf.name}]/distinguisher" for start in ("evpn/", ""))
            path = next((each for each in paths if each in statement.rest), vrf.path)
            yield OverlayFault(JOINED, message, path)
    source = str(statement.rest.get("evpn/source", ""))
    if is_address(source) and source not in sessions.addresses:
        message = f"it sends VXLAN from {source}, which is not one of its addresses"
        yield OverlayFault(
            TUNNEL, message, "evpn/source", "Configure the address, or another source of VXLAN."
        )
    if _is_lossless(statement):
        unset, disabled = (
            evpn_defaults.unset_tunnel_copies(statement.device.system),
            evpn_defaults.disabled_tunnel_copies(statement.rest),
        )
        for path, wanted in _TUNNEL_LEAVES.items():
            if path in disabled:
                yield OverlayFault(TUNNEL, _WHAT[path], disabled[path], _COPY)
            elif statement.rest.get(path, "" if path in unset else wanted) != wanted:
                yield OverlayFault(TUNNEL, _WHAT[path], path, _COPY)
    own = {port: parse_addresses(texts) for port, texts in statement.addresses.items()}
    inside: dict[str, list[Interface]] = {vrf.name: [] for vrf in vrfs}
    for port, addresses in own.items():
        owner = str(statement.of(port, "vrf"))
        if owner in inside and statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE):
            inside[owner] += addresses
    for message, path in _list_exits(statement, own, inside):
        yield OverlayFault(JOINED, message, path)
    if any(inside.values()):
        used = [ip_address(neighbor) for _, neighbor in sessions.stated if is_address(neighbor)]
        for version in (4, 6):
            for port in link_ports(statement, own, version):
                far = statement.fars.get(port)
                to_switch = far is not None and far.known and far.tier is not Tier.HOST
                igp = any(leaf.startswith(("ospf", "isis")) for leaf in statement.ports.get(port, {}))
                apart = to_switch or igp or port in inside  # a VRF's own device
                if not apart and is_idle(own[port], version, used):
                    message = f"{port} leads to a host and is in the table of the underlay"
                    yield OverlayFault(JOINED, message, f"{PORT}{port}]/ipv{version}")


def _is_lossless(statement: Statement) -> bool:
    """Return whether a port has PFC."""
    return any(values.get("pfc") not in (None, "") for values in statement.ports.values())


_UNDERLAY = re.compile(r"\b(?:nexthop-)?vrf default\b|\btable inet6?\.0\b")
"""Next hops of a VRF's route in the table of the underlay."""


def _list_exits(
    statement: Statement,
    own: Mapping[str, list[Interface]],
    inside: Mapping[str, list[Interface]],
) -> Iterator[tuple[str, str]]:
    """Yield routes by which packets leave a VRF, or reach it from the underlay."""
    ports = {port: owner for port in own if (owner := str(statement.of(port, "vrf"))) in inside}
    outside = [each for port, some in own.items() if statement.of(port, "vrf") is None for each in some]
    for path, value in statement.rest.items():
        if path.startswith(_AGGREGATE) and path.endswith("]") and (block := parse_block(outer_key(path))):
            for name, addresses in inside.items():
                met = (parse_block(str(each)) for each in addresses)
                if any(each and block.covers(each) for each in met):
                    yield f"the underlay announces {outer_key(path)}, which has links of VRF {name}", path
        elif path.startswith("vrf[") and "]/static_route[" in path:
            name = first_key(path)
            hops = [word for word in re.split(r"[ ,]+", str(value)) if is_address(word)]
            leads = any(ip_address(hop) in each.network for hop in hops for each in outside) and not any(
                ip_address(hop) in each.network for hop in hops for each in inside.get(name, ())
            )
            if name in inside and (leads or _UNDERLAY.search(str(value))):
                yield f"a static route of VRF {name} leads into the table of the underlay", path
            elif name in inside and (owner := find_vrf_of_route(str(value), inside.keys() - {name}, ports)):
                yield f"a static route of VRF {name} leads into VRF {owner}", path
        elif path.startswith("static_route["):
            if owner := find_vrf_of_route(str(value), inside.keys(), ports):
                yield f"a static route of the table of the underlay leads into VRF {owner}", path
        elif path.startswith("vrf["):
            name, rest = split_list_path(path, "vrf")
            if name in inside and LEAK.search(f"{rest} {value}"):
                yield f"VRF {name} takes routes of another table", path


def _compare_vrfs(fabric: Switches) -> Iterator[Report]:
    """Report what joins VRFs of different tenants."""
    if fabric.planned:
        return
    known = {name: each.overlay for name, each in fabric.summaries.items() if each.overlay}
    for name, overlay in known.items():
        for code, message, path, remedy in overlay.faults:
            yield _report(code, name, path, message, remedy)._replace(paths=(path, *_SOURCES))
    for names in joined_switches(fabric, known, {}):
        holders: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        every = [(name, vrf) for name in names for vrf in known[name].vrfs]
        yield from _compare_aggregates(every)
        for name, vrf in every:
            for target in vrf.exports & vrf.imports:
                holders["route target", target].setdefault(vrf.name, name)
            holders["VNI", vrf.vni].setdefault(vrf.name, name)
        spread = Counter(vrf.name for _, vrf in every)
        whole = {vrf.name for _, vrf in every if vrf.exports and vrf.imports}
        exported = {target for name, vrf in every for target in sent_targets(fabric.summaries[name], vrf)}
        for name, vrf in every:
            yield from _compare_vrf(fabric, holders, name, vrf)
            what = missed_targets(fabric.summaries[name], vrf, exported, stated=vrf.name in whole)
            if what and spread[vrf.name] > 1:
                others = plural(spread[vrf.name] - 1, "other switch")
                message = f"VRF {vrf.name} {what}: its hosts do not reach those on {others}"
                path = f"evpn/vrf[{vrf.name}]/route_target"
                remedy = "Export and import the route target of the VRF."
                paths = path, *_target_paths(vrf, "import" if vrf.imports else "export")
                yield _report(TUNNEL, name, path, message, remedy)._replace(paths=paths)


def _compare_aggregates(every: Iterable[tuple[str, Vrf]]) -> Iterator[Report]:
    """Report an aggregate that replaces the links of a VRF, in which another switch has links.

    A switch that announces its links themselves, or a longer aggregate of them, is reached by that longer prefix.
    """
    holders: defaultdict[str, list[tuple[str, list[tuple[str, str, Block]], Block]]] = defaultdict(list)
    for name, vrf in every:
        blocks = [(text, path, block) for text, path in vrf.aggregates if (block := parse_block(text))]
        if blocks and (subnet := parse_block(vrf.subnet)):
            holders[vrf.name].append((name, blocks, subnet))
    for vrf_name, some in holders.items():
        lengths = {block.length for _, blocks, _ in some for *_, block in blocks}
        hidden: defaultdict[Block, list[str]] = defaultdict(list)
        for name, blocks, subnet in some:
            longest = max(
                (block.length for *_, block in blocks if block.covers(subnet)), default=subnet.length + 1
            )
            for length in lengths:
                if longest <= length <= subnet.length:
                    hidden[subnet.shorten(length)].append(name)
        for name, blocks, _ in some:
            for text, path, block in blocks:
                if other := next((each for each in hidden.get(block, ()) if each != name), ""):
                    message = (
                        f"VRF {vrf_name} has the aggregate {text} in place of its links, and {other} has links in it: "
                        "what is for them is dropped"
                    )
                    remedy = "Leave the aggregate out, or announce the links as well."
                    yield _report(TUNNEL, name, path, message, remedy)


def _compare_vrf(
    fabric: Switches, holders: Mapping[tuple[str, str], Mapping[str, str]], name: str, vrf: Vrf
) -> Iterator[Report]:
    """Report a VRF that shares a VNI or a route target with one of another name, or has another switch's RD."""
    values = [
        ("VNI", vrf.vni),
        *(("route target", each) for each in sorted((vrf.exports & vrf.imports) - _DERIVED)),
    ]
    for kind, value in values:
        others = {other: at for other, at in holders[kind, value].items() if other != vrf.name}
        if others and next(iter(holders[kind, value])) != vrf.name:
            other, at = next(iter(others.items()))
            message = f"VRF {vrf.name} has the {kind} {value} of VRF {other} on {at}"
            paths = (vrf.path,) if kind == "VNI" else _target_paths(vrf, "import")
            yield _report(JOINED, name, vrf.path, message)._replace(paths=paths)
    peered = len(vrf.imports - vrf.exports) > _FEW  # by design: a fault adds or changes one
    for target in sorted((vrf.exports ^ vrf.imports) - _DERIVED) if not peered else ():
        others = {o: at for o, at in holders.get(("route target", target), {}).items() if o != vrf.name}
        if others:
            other, at = next(iter(others.items()))
            way = "takes routes of" if target in vrf.imports else "announces its routes to"
            message = f"VRF {vrf.name} {way} VRF {other} on {at} (route target {target})"
            paths = _target_paths(vrf, "import" if target in vrf.imports else "export")
            yield _report(JOINED, name, vrf.path, message)._replace(paths=paths)
    address = vrf.distinguisher.rpartition(":")[0]
    owners = [each for each in fabric.owners(address) if each != name] if is_address(address) else []
    shared = any(  # which `segments` reports
        vrf.distinguisher == each
        for owner in fabric.summaries.keys() & {*owners}
        for each, _ in fabric.summaries[owner].distinguishers
    )
    if owners and not shared and name not in fabric.owners(address):
        message = (
            f"the route distinguisher {vrf.distinguisher} of VRF {vrf.name} has an address of {owners[0]}"
        )
        paths = (f"evpn/vrf[{vrf.name}]/distinguisher", f"vrf[{vrf.name}]/distinguisher", vrf.path)
        yield _report(JOINED, name, vrf.path, message)._replace(paths=paths)


def _target_paths(vrf: Vrf, way: str) -> tuple[str, ...]:
    """Return the facts that may state a route target of a VRF in one direction."""
    return f"vrf[{vrf.name}]/{way}", f"evpn/vrf[{vrf.name}]/route_target", vrf.path


def _compare_tunnels(fabric: Switches) -> Iterator[Report]:
    """Report switches that lack what others of their system and place state about EVPN routes and tunnels."""
    if fabric.planned:
        return
    known = {name: each for name, each in fabric.summaries.items() if each.overlay}
    alike: defaultdict[tuple[object, ...], list[tuple[str, Overlay]]] = defaultdict(list)
    for number, names in enumerate(joined_switches(fabric, known, {})):
        for name in names:
            if overlay := known[name].overlay:
                alike[number, overlay.system, known[name].tier, overlay.sends].append((name, overlay))
    yield from _list_vrfs_without_vni({name: each.overlay for name, each in known.items() if each.overlay})
    for some in alike.values():
        usual = frozenset[str]().union(*(overlay.states for _, overlay in some))
        announced = {vrf.name for _, overlay in some for vrf in overlay.vrfs if vrf.announces}
        for name, overlay in some:
            for leaf in sorted(usual - overlay.states):
                if any(path == leaf for *_, path in overlay.faults):
                    continue
                others = [other for other, each in some if leaf in each.states]
                if len(others) == 1 < len(some) - 1 and leaf in _FILTERS:
                    continue  # the other one is odd
                message = f"{_WHAT[leaf]}, unlike {join_words(others, 2)}"
                near = (f"{path}/{leaf}" for path in overlay.neighbors)
                own = map(_self_path, overlay.neighbors if leaf == "next_hop" else ())
                inside = (*own, f"evpn/{leaf.removeprefix('evpn/')}", *_SOURCES)
                paths = _CONNECTED if leaf == "connected" else (*near, *inside)
                yield _report(TUNNEL, name, "", message)._replace(paths=paths)
            for leaf in sorted(overlay.states.intersection(_FILTERS)) if len(some) > _FEW else ():
                if not any(leaf in each.states for other, each in some if other != name):
                    message = f"{_FILTERS[leaf]}, unlike {join_words([each for each, _ in some if each != name], 2)}"
                    paths = tuple(f"{path}/{leaf}" for path in overlay.neighbors)
                    yield _report(TUNNEL, name, "", message)._replace(paths=paths)
            for vrf in overlay.vrfs:
                expected = vrf.name in announced or any(other.announces for other in overlay.vrfs)
                message = _UNANNOUNCED.format(vrf.name)
                reported = any(each.message == message for each in overlay.faults)
                if expected and not reported and (vrf.links or vrf.speaks) and not vrf.announces:
                    inside = (f"evpn/vrf[{vrf.name}]/distinguisher", vrf.path)
                    yield _report(TUNNEL, name, vrf.path, message)._replace(paths=inside)


def _list_vrfs_without_vni(overlays: Mapping[str, Overlay]) -> Iterator[Report]:
    """Report VRFs of ports without a VNI where the VRF has one on another switch: it has no way there."""
    holders = {vrf.name: name for name, each in overlays.items() for vrf in each.vrfs if vrf.links}
    for name, overlay in overlays.items():
        for vrf in sorted(overlay.without_vni & holders.keys()):
            message = f"VRF {vrf} has ports and no VNI, which it has on {holders[vrf]}"
            yield _report(TUNNEL, name, f"vrf[{vrf}]", message)


_REMEDIES = {
    JOINED: "Give each tenant a VRF, a VNI, a route target and a route distinguisher that no other has.",
    TUNNEL: "Configure the switch like the others of its kind.",
}


def _report(code: str, name: str, path: str, message: str, remedy: str = "") -> Report:
    group, remedy = remedy or "tenants", remedy or _REMEDIES[code]
    return Report(code, name, (path,), f"{name}: {message}", group, Severity.WARNING, remedy)


RULES = (
    FabricRule(JOINED, ADDRESSES, (), _compare_vrfs),
    FabricRule(TUNNEL, ADDRESSES, (), _compare_tunnels),
)
