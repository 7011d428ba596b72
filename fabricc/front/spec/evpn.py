"""Segments of hosts with EVPN-VXLAN as typed values, and the rules that their VLANs, subnets and classes keep."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from fabricc.fabric.addresses import Pool
from fabricc.fabric.evpn import VXLAN_BYTES, Evpn, Segment, Vrf
from fabricc.front.spec.document import Findings, format_path, join_words, joins_switches
from fabricc.front.spec.model import EvpnRequest
from fabricc.front.spec.pools import network_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.base.documents.document import KeyPath

    Network = IPv4Network | IPv6Network

SECTION = "evpn"


def build_evpn(raw: Mapping[str, Any], spec: Mapping[str, Any], findings: Findings) -> EvpnRequest:
    """Return the segments by VLAN; what they cannot be is a finding.

    `spec` is the whole with its defaults, as far as it fits the schema.
    """
    base: int = raw["vni_base"]
    vrfs = tuple(Vrf(name, each["vlan"], base + each["vlan"]) for name, each in sorted(raw["vrfs"].items()))
    family = spec.get("addressing", {}).get("family", "ipv4")
    _check_fabric(spec, family, findings)
    _check_vlans(raw, findings)
    segments = [
        Segment(
            name,
            each["vlan"],
            base + each["vlan"],
            _vrf_of_segment(name, each, vrfs, findings),
            *(_read_subnet(name, key, each, family, findings) for key in ("subnet", "subnet6")),
        )
        for name, each in sorted(raw["segments"].items(), key=lambda item: (item[1]["vlan"], item[0]))
    ]
    used = {segment.vrf for segment in segments}
    for vrf in vrfs:
        if vrf.name not in used and (SECTION, "vrfs", vrf.name) in findings.document.positions:
            message, remedy = (
                f"no segment is in the VRF {vrf.name}",
                "Remove it, or name it as `vrf` of a segment.",
            )
            findings.error("FAB3306", message, SECTION, "vrfs", vrf.name, help=remedy)
    groups = {name: tuple(each["groups"]) for name, each in raw["segments"].items() if "groups" in each}
    mtu: int = spec.get("mtu", {}).get("switch", 0) - VXLAN_BYTES
    vrfs_used = tuple(vrf for vrf in vrfs if vrf.name in used)
    return EvpnRequest(tuple(segments), vrfs_used, raw["anycast_mac"].lower(), groups, mtu)


def list_subnets(request: EvpnRequest | Evpn) -> Iterator[tuple[KeyPath, Pool]]:
    """Yield the subnets, each with the path of its key."""
    for segment in request.segments:
        for key, pool in (("subnet", segment.subnet4), ("subnet6", segment.subnet6)):
            if pool is not None:
                yield (SECTION, "segments", segment.name, key), pool


def check_subnets(request: EvpnRequest, fabric_pools: Mapping[str, Network], findings: Findings) -> None:
    """FAB3305: a subnet meets another one, or a pool of the fabric; `fabric_pools` has them by the key of the spec.

    The pool of the links to hosts is no such network: with segments there are none.
    """
    taken = [
        (key, network) for key, network in fabric_pools.items() if not key.startswith("addressing.hosts")
    ]
    for path, pool in list_subnets(request):
        mine = ip_network(str(pool))
        for key, other in taken:
            if mine.version == other.version and mine.overlaps(other):
                help_ = "Use an unused network; it may be in the pool of `addressing.hosts`."
                findings.error(
                    "FAB3305", f"{format_path(path)}: {mine} overlaps {key} {other}", *path, help=help_
                )
                break
        taken.append((format_path(path), mine))


def _check_fabric(spec: Mapping[str, Any], family: str, findings: Findings) -> None:
    """Report settings of a fabric that cannot have segments."""
    lossless = [name for name, each in spec.get("priorities", {}).items() if each.get("lossless")]
    if lossless:
        findings.error(
            "FAB3300",
            f"the class {lossless[0]} is lossless, and fabricc cannot prove yet that every switch copies its code "
            "point and marks to and from the outer header of VXLAN",
            SECTION,
            help="Leave the network routed, or make the class lossy: `lossless: false`.",
        )
    if family == "ipv6":
        message = "VTEPs send VXLAN over IPv4, and the fabric is IPv6 only"
        findings.error("FAB3301", message, SECTION, help="Write `addressing: {family: dual}`, or ipv4.")
    if "external" in spec:
        message = "ways out of a VRF are not planned yet, and `external` leads out of the fabric's own routing table"
        findings.error("FAB3302", message, SECTION, help="Leave the network routed, or remove `external`.")
    if not joins_switches(spec):
        message = "segments between ToRs need spines, and the spec has none"
        help_ = "Leave the network routed, or add `spines: {model: …, nos: …}`."
        findings.error("FAB3303", message, SECTION, help=help_)
    if "mtu" in spec and (most := spec["mtu"]["switch"] - VXLAN_BYTES) < spec["mtu"]["host"]:
        switch = spec["mtu"]["host"] + VXLAN_BYTES
        message = (
            f"hosts send packets of {spec['mtu']['host']} bytes, and with {VXLAN_BYTES} of VXLAN around them switch "
            f"ports hold {most}"
        )
        wider, less = f"Write `mtu: {{switch: {switch}}}`.", f"Write `mtu: {{host: {most}}}` or less."
        findings.error("FAB3304", message, "mtu", help=wider if switch <= 9416 else less)


def _check_vlans(raw: Mapping[str, Any], findings: Findings) -> None:
    """A VLAN, and with it the VNI, is one segment's or one VRF's."""
    first: dict[int, str] = {}
    for kind in ("segments", "vrfs"):
        for name, each in sorted(raw[kind].items()):
            path = (SECTION, kind, name)
            if (other := first.setdefault(each["vlan"], format_path(path))) != format_path(path):
                used = {e["vlan"] for k in ("segments", "vrfs") for e in raw[k].values()}
                free = next(vlan for vlan in range(each["vlan"], 4095) if vlan not in used)
                message = f"{format_path(path)}: VLAN {each['vlan']} is that of {other}"
                findings.error("FAB3307", message, *path, "vlan", help=f"Free is {free}.")


def _vrf_of_segment(name: str, raw: Mapping[str, Any], vrfs: tuple[Vrf, ...], findings: Findings) -> str:
    """Return the VRF of a segment: the one it names, or the only one there is."""
    known, wanted = [vrf.name for vrf in vrfs], raw.get("vrf")
    if wanted in known:
        return str(wanted)
    if wanted is None and len(known) == 1:
        return known[0]
    path = (SECTION, "segments", name)
    message = f"{format_path(path)} does not name its VRF" if wanted is None else f"no VRF is named {wanted}"
    findings.error("FAB3306", message, *path, help=f"Write `vrf: {join_words(known)}`.")
    return known[0]


def _read_subnet(name: str, key: str, raw: Mapping[str, Any], family: str, findings: Findings) -> Pool | None:
    path = (SECTION, "segments", name, key)
    if key not in raw:
        return None
    if key == "subnet6" and family == "ipv4":
        message = f"{format_path(path)}: the fabric carries no IPv6"
        findings.error("FAB3308", message, *path, help="Remove it, or write `addressing: {family: dual}`.")
        return None
    found = network_of(raw[key], path, findings)
    return Pool(int(found.first), int(found.prefixlen), int(found.version)) if found else None
