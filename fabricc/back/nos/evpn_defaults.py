"""What EVPN and pairs of switches of a system do, or need, where a configuration states nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping


def sends_route_targets(system: str, stated: Iterable[str]) -> bool:
    """Return whether a session sends extended communities; `stated`: its settings about communities, as text.

    FRR and Junos send them (FRR user guide, `neighbor PEER send-community`). EOS sends all with `send-community`, NX-OS
    standard ones (EOS and NX-OS command references).
    """
    if system not in ("eos", "nxos"):
        return True
    texts = [*stated]
    # EOS also states that some communities are sent, without their kind.
    kinds = [each for each in texts if "send-community" in each]
    return any("extended" in each or "both" in each for each in texts) or (
        system == "eos" and bool(texts) and not any("standard" in each for each in kinds)
    )


_STATED_DISTINGUISHERS = frozenset({"eos", "nxos", "junos"})


_DERIVES_DISTINGUISHERS = re.compile(r"routing/setting\[route-distinguisher-id(-use-router-id)?\]")


def derives_distinguishers(system: str, facts: Iterable[str]) -> bool:
    """Return whether a VRF without a route distinguisher gets one.

    FRR derives it (FRR user guide, "EVPN"). EOS and NX-OS announce nothing of a VRF without `rd` (their EVPN
    configuration guides), and Junos rejects a `vrf` instance without `route-distinguisher`, unless
    `route-distinguisher-id` has it derive one (Junos CLI reference).
    """
    return system not in _STATED_DISTINGUISHERS or any(map(_DERIVES_DISTINGUISHERS.fullmatch, facts))


_VTEP_SOURCES = {
    "eos": re.compile(r"^\s*vxlan source-interface \S", re.M),
    "nxos": re.compile(
        r"^interface nve\d+\n(?:[ \t]+.*\n)*?[ \t]+source-interface (?!hold-down-time)\S", re.M
    ),
}


def lacks_vtep_source(system: str, texts: Iterable[str]) -> bool:
    """Return whether the files of a system with VNIs name no source of VXLAN, without which no tunnel is up.

    EOS and NX-OS need `source-interface` (their VXLAN configuration guides).
    """
    wanted = _VTEP_SOURCES.get(system)
    return wanted is not None and not any(map(wanted.search, texts))


def announces_by_statement(system: str) -> bool:
    """Return whether a VRF announces prefixes as EVPN routes only by a statement that its facts show.

    FRR needs `advertise ipv4 unicast` (FRR user guide, "EVPN type-5 routes"), so SONiC does too.
    """
    return system in ("frr", "sonic")


_FOR_EVPN = (
    "evpn/vrf[{}]/route_target", "vrf[{}]/evpn/setting[ip-prefix-routes encapsulation]",
    "vrf[{}]/bgp/setting[route-export]", "vrf[{}]/bgp/setting[ipv4 route-export]",
)  # fmt: skip


_TARGETS, _TUNNEL_SOURCES = ("vrf[{}]/import", "vrf[{}]/export"), ("evpn/source", "vxlan/source")


def expects_vni(vrf: str, facts: Mapping[str, object], line_of: Callable[[str], str]) -> str:
    """Return the fact by which a VRF without a VNI is meant to be in EVPN; "" without one.

    Route targets of a switch that also has MPLS may be those of L3VPN (RFC 4364). Of NX-OS, those whose line has no
    `evpn` join VRFs of one switch or are of L3VPN (Nexus 9000 NX-OS VXLAN guide, centralized VRF route leaking).

    Args:
        vrf: its name.
        facts: of the switch.
        line_of: returns the line that states a fact.
    """
    own = next((path for path in (each.format(vrf) for each in _FOR_EVPN) if path in facts), "")
    if own and (own[0] == "v" or any(each in facts for each in _TUNNEL_SOURCES)):
        return own if "route-export" not in own or "to-evpn" in str(facts[own]) else ""
    if not any(each in facts for each in _TUNNEL_SOURCES) or any("mpls" in path for path in facts):
        return ""
    targets = (path for path in (each.format(vrf) for each in _TARGETS) if path in facts)
    return next((path for path in targets if "evpn" in line_of(path).split()), "")


def needs_targets(system: str) -> bool:
    """Return whether VLANs with a VNI need route distinguishers and targets (EOS and NX-OS guides of EVPN)."""
    return system in ("eos", "nxos")


def states_segments(system: str) -> bool:
    """Return whether the EVPN routes of a VLAN need their own statements: `vlan` below `router bgp` of EOS."""
    return system == "eos"


_LEARNING = "vxlan/setting[host-reachability]"
_UNMET = {
    _LEARNING: "its VXLAN interface does not learn hosts by BGP",
    "vxlan/source": "its VXLAN interface has no source",
}  # fmt: skip


def unmet_parts(
    system: str,
    facts: Mapping[str, object],
    ports: Mapping[str, Mapping[str, object]],
    texts: Iterable[str] = (),
    *,
    carries: bool,
) -> Iterator[tuple[str, str]]:
    """Yield a fact, or the name of a port, and what VLANs and VRFs with a VNI lack without it.

    Sources: Nexus 9000 NX-OS VXLAN guide, "Configuring VXLAN BGP EVPN"; Arista EOS user manual, "EVPN": `interface
    Vxlan1` has the VNIs of EVPN instances that are not of MPLS.

    Args:
        system: of the switch.
        facts: all of it but for those of ports.
        ports: these by port.
        texts: of its files, for forms of the VXLAN interface that no fact shows.
        carries: whether a session has EVPN.
    """
    if system == "eos" and ports and carries and lacks_vtep_source(system, texts):
        targets = [path for path in facts if _TARGET.fullmatch(path)]
        if targets and not any("mpls" in f"{path} {value}" for path, value in facts.items()):
            yield targets[0], "it has EVPN instances and no VXLAN interface"
        return
    if system == "frr":
        yield from _unmet_bridge(facts)
        return
    segments = {str(vni) for path, vni in facts.items() if _SEGMENT.fullmatch(path)}
    tunnels = [port for port in ports if port.startswith("nve")] or [
        path for path in _TUNNEL_SOURCES if path in facts
    ]
    routed = any(path.startswith("evpn/vrf[") for path in facts)
    if system != "nxos" or not (segments or routed) or not tunnels:
        return
    for path, words in _UNMET.items():
        if path not in facts and (carries or path != _LEARNING):
            yield tunnels[0], words
    if ports.get(tunnels[0], {}).get("enabled") == "false":
        yield tunnels[0], "its VXLAN interface is shut"
    yield from _unmet_segments(facts, segments)


def _unmet_bridge(facts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what VNIs of a Linux switch lack, where its file of interfaces has any (FRR user guide, "EVPN").

    VNIs and ports meet in one bridge, and a VNI that FRR announces is one of an interface.
    """
    segments = [path for path in facts if _SEGMENT.fullmatch(path)]
    if not segments or not any(path.startswith("structure/vni[") for path in facts):
        return
    if "structure/bridge/ports" not in facts:
        yield segments[0], "no bridge joins its VNIs and its ports"
    if "evpn/source" not in facts:
        yield segments[0], "its VXLAN interfaces have no local address"
    for match in filter(None, map(_ORPHAN.fullmatch, facts)):
        yield match[0], f"no VXLAN interface in a VLAN has the VNI {match[1]}"
    for match in filter(None, map(_ROUTED.fullmatch, facts)):
        if f"structure/vrf[{match[1]}]/table" not in facts:
            yield match[0], f"no device is the VRF {match[1]}"


def _unmet_segments(facts: Mapping[str, object], segments: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the same of single VNIs."""
    for vni in sorted(segments):
        if f"vxlan/vni[{vni}]/replication" not in facts:
            path = next(
                each for each, value in facts.items() if str(value) == vni and _SEGMENT.fullmatch(each)
            )
            yield path, f"no replication is stated for VNI {vni}, so it floods nothing"
    for match in filter(None, map(_ORPHAN.fullmatch, facts)):
        yield match[0], f"no VLAN has the VNI {match[1]}"


_TARGET = re.compile(r"evpn/(?:segment|vrf)\[.+\]/route_target")
_SEGMENT = re.compile(r"evpn/segment\[.+\]/vni")
_ROUTED = re.compile(r"evpn/vrf\[(.+)\]/vni")
_ORPHAN = re.compile(r"evpn/vni\[(.+)\]/distinguisher")


_PAIRS = {
    "eos": {
        "mlag/domain": "domain", "mlag/local": "local interface", "mlag/peer": "peer address",
        "mlag/peer_link": "peer link",
    },
    "nxos": {"mlag/domain": "domain", "mlag/backup": "peer keepalive", "mlag/peer_link": "peer link"},
    "cumulus": {"mlag/peer": "peer address", "mlag/backup": "backup address", "mlag/mac": "system MAC"},
}  # fmt: skip


def parts_of_pair(system: str) -> Mapping[str, str]:
    """Return the facts without which a pair of switches is not up, and what they are.

    Sources: Arista EOS user manual, "MLAG"; Nexus 9000 NX-OS interfaces guide, "Configuring vPCs"; NVIDIA's user guide
    of Cumulus Linux, "Multi-Chassis Link Aggregation".
    """
    return _PAIRS.get(system, {})


def routes_to_peer(system: str) -> bool:
    """Return whether the stated address of a pair's other switch may be a routed one.

    That of `virtual peer-link destination` of NX-OS is a loopback (Nexus 9000 NX-OS VXLAN guide, "vPC Fabric Peering").
    """
    return system == "nxos"


def shares_vtep(system: str) -> bool:
    """Return whether the source of VXLAN of both switches of a pair has one address (Arista EOS manual, "VXLAN")."""
    return system == "eos"


def states_source(system: str, file: str) -> bool:
    """Return whether a file with VNIs names the source of VXLAN too.

    Files of FRR's daemons alone do not, and routing instances of Junos have sources of their own. NVUE takes the first
    address of the loopback (its object model: "If 'auto' ... This is the default"), ifupdown2 takes none.
    """
    if system == "cumulus":
        return file == "interfaces"
    return system in ("eos", "nxos", "sonic") and not file.endswith("frr.conf")


def stays_unrouted(system: str, vrf: Collection[str]) -> bool:
    """Return whether a VRF with these facts routes nothing: EOS needs `ip routing vrf` (its manual, "VRF")."""
    return system == "eos" and "routed" not in vrf


def needs_gateway_mac(system: str, texts: Iterable[str]) -> bool:
    """Return whether virtual addresses of gateways need a stated MAC address, which all switches share.

    These are `ip virtual-router mac-address` of EOS and `fabric forwarding anycast-gateway-mac` of NX-OS (their guides
    of VXLAN and, for EOS, VARP); HSRP has one of its own.
    """
    anycast = "fabric forwarding mode anycast-gateway"
    return system == "eos" or (system == "nxos" and any(anycast in text for text in texts))


def unset_tunnel_copies(system: str) -> tuple[str, ...]:
    """Return the facts about headers of VXLAN that hold only where they are stated.

    EOS derives the outer code point from the traffic class and clears ECN (Arista user manual, "VXLAN DSCP Mapping").
    """
    return ("evpn/outer_dscp", "evpn/ecn") if system == "eos" else ()


_NO_COPY = "routing/setting[vxlan-disable-copy-tos-encap]"


def disabled_tunnel_copies(facts: Collection[str]) -> Mapping[str, str]:
    """Return what a switch does not copy into the outer header of VXLAN -> the fact that states it (Junos)."""
    return {"evpn/outer_dscp": _NO_COPY, "evpn/ecn": _NO_COPY} if _NO_COPY in facts else {}


def derives_targets(system: str) -> bool:
    """Return whether a system derives the route target of a VRF from AS and VNI where none is stated (FRR guide)."""
    return system in ("frr", "cumulus", "sonic")


def takes_none(wanted: Collection[str], sent: Collection[str]) -> bool:
    """Return whether a VRF imports none of the route targets that others send; `ANY` of NVUE stands for every AS."""
    numbers = {each.rpartition(":")[2] for each in sent}
    return bool(wanted) and all(
        ":" in each and (each[4:] not in numbers if each.startswith("ANY:") else each not in sent)
        for each in wanted
    )


def drops_unimported_targets(system: str, facts: Mapping[str, object]) -> bool:
    """Return whether a switch drops EVPN routes whose route targets none of its VRFs imports.

    NX-OS does without `retain route-target all` (Nexus 9000 NX-OS VXLAN guide, "Configuring VXLAN BGP EVPN", eBGP).
    """
    return system == "nxos" and facts.get("evpn/route_targets") != "all"
