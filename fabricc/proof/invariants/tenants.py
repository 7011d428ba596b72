"""Invariant 23, tenants: no path joins two tenants, and what a tenant sends stays lossless inside VXLAN.

On one switch: every enabled port to a host is in a VRF that exists there; a VRF imports the one route target that it
exports, so that it has its own routes alone; its route distinguisher begins with the VTEP's address, so that no two
switches have the same one; it announces its links; tunnels carry code points and marks; a packet of a host fits the
links between switches inside VXLAN; and no aggregate of the underlay covers a link of a tenant. Over all ToRs, by the
checksums that rule 22 compares: a tenant has one VNI and one route target, and no other tenant has them.
"""

from __future__ import annotations

import re
from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.fabric.evpn import VXLAN_BYTES
from fabricc.fabric.model import Direction
from fabricc.fabric.tenants import NO_VLAN
from fabricc.fabric.vocabulary import port_paths
from fabricc.proof.invariants.rules import Breach
from fabricc.proof.invariants.view import between_switches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.proof.invariants.view import LinkPort, SwitchView

_LEAK = re.compile(
    r"import vpn|(?:im|ex)port (?:vrf|map)|fallback|\bleak|^static_route\[|next_hop_table|redistribute_static"
)
"""Facts of a VRF by which routes of another table, or routes out of it, come in."""
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


def tenant_breaches(seen: SwitchView, said: Mapping[str, Mapping[str, object]]) -> Iterator[Breach]:
    """Yield breaches of invariant 23 on one switch; `said`: the statements about its VRFs, by `vrf[name]`."""
    if seen.switch.tier_index or not with_tenants(seen):
        return
    vrfs = {owner: each for owner, each in said.items() if owner.startswith("vrf[")}
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


def _ports(seen: SwitchView, vrfs: Mapping[str, object], *, tunnels: bool) -> Iterator[Breach]:
    """Yield every enabled port to a host is in a VRF, and the VRF exists on this switch."""
    for link in _host_links(seen):
        path = port_paths(link.port.name)["vrf"]
        vrf = seen.facts.get(path)
        if vrf is None and (link.ipv4 or link.ipv6 or link.unnumbered):
            message = f"{link.port.name} leads to a host and is in the routing table that switches share"
            yield Breach(23, message, link.path + "description")
        elif vrf is not None and tunnels and f"vrf[{vrf}]" not in vrfs:
            yield Breach(23, f"{link.port.name} is in the VRF {vrf}, which has no VNI here", path)
        elif vrf is not None and not tunnels and f"tenant[{vrf}]" not in seen.facts:
            yield Breach(23, f"{link.port.name} is in the VRF {vrf}, which is not isolated here", path)


def _leaks(seen: SwitchView) -> Iterator[Breach]:
    """Yield the VRF of a port to a host takes routes of no other table, and has none that leads out of it."""
    used = {
        str(seen.facts[path])
        for link in _host_links(seen)
        if (path := port_paths(link.port.name)["vrf"]) in seen.facts
    }
    for path, value in seen.facts.items() if used else ():
        vrf, inside, rest = path.removeprefix("vrf[").partition("]/")
        if inside and vrf in used and path.startswith("vrf[") and _LEAK.search(rest):
            yield Breach(23, f"vrf[{vrf}] has routes from elsewhere: {rest} {value}", path)


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
