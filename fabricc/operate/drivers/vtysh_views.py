"""Convert FRR's JSON answers to NAPALM's dictionaries; FRR routes on SONiC and Cumulus too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

SUMMARY = "show bgp vrf all summary json"
NEIGHBORS = "show bgp vrf all neighbors json"
ROUTES = ("show ip route json", "show ipv6 route json")
ROUTER_MACS = "show evpn rmac vni all json"
_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "l2vpn"}
_DEFAULT = "default"


def bgp_neighbors(summary: Mapping[str, Any], neighbors: Mapping[str, Any]) -> dict[str, Any]:
    """NAPALM's `get_bgp_neighbors` from `show bgp vrf all summary json` and `… neighbors json`.

    An unnumbered neighbor is named after its interface. The uptime is in seconds, -1 when the session is down.
    """
    tables: dict[str, Any] = {"global": {"router_id": "", "peers": {}}}
    for vrf, families in summary.items():
        known = neighbors.get(vrf, {})
        table = tables.setdefault("global" if vrf == _DEFAULT else vrf, {"router_id": "", "peers": {}})
        for family, found in families.items():
            if family not in _FAMILIES or not isinstance(found, dict):
                continue
            table["router_id"] = found.get("routerId", table["router_id"])
            for name, peer in found.get("peers", {}).items():
                more = known.get(name, {})
                entry = table["peers"].setdefault(name, _peer_entry(found, peer, more))
                counts = more.get("addressFamilyInfo", {}).get(family, {})
                entry["address_family"][_FAMILIES[family]] = {
                    "received_prefixes": int(peer.get("pfxRcd", -1)),
                    "accepted_prefixes": int(counts.get("acceptedPrefixCounter", -1)),
                    "sent_prefixes": int(peer.get("pfxSnt", -1)),
                }
    return tables


def _peer_entry(found: Mapping[str, Any], peer: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    up = peer.get("state") == "Established"
    return {
        "local_as": int(peer.get("localAs", found.get("as", 0))),
        "remote_as": int(peer.get("remoteAs", 0)),
        "remote_id": str(more.get("remoteRouterId", "")),
        "is_up": up,
        "is_enabled": "Admin" not in str(peer.get("state", "")),
        "description": str(more.get("nbrDesc") or peer.get("desc") or ""),
        "uptime": int(peer.get("peerUptimeMsec", 0)) // 1000 if up else -1,
        "address_family": {},
    }


def routes_to(tables: list[Mapping[str, Any]], wanted: str, protocol: str, longer: bool) -> dict[str, Any]:
    """NAPALM's `get_route_to` from `show ip route … json` of one or more families.

    Args:
        tables: prefix -> routes, of the default VRF.
        wanted: an address or a prefix; an address, or a prefix without an exact route, finds the longest match.
        protocol: as FRR names it (`bgp`, `connected`); empty for all.
        longer: prefixes inside `wanted` too.
    """
    target = ip_network(wanted, strict=False)
    answer: dict[str, Any] = {}
    covering = -1
    for table in tables:
        for prefix, routes in table.items():
            network: Any = ip_network(prefix)
            chosen = [one for one in routes if not protocol or one.get("protocol") == protocol.lower()]
            if network.version != target.version or not chosen:
                continue
            if longer:
                if network.subnet_of(target):
                    answer[prefix] = _route_entries(chosen)
            elif target.subnet_of(network) and network.prefixlen > covering:
                covering = network.prefixlen
                answer = {prefix: _route_entries(chosen)}
    return answer


def _route_entries(routes: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "protocol": str(route.get("protocol", "")).upper(),
            "current_active": bool(route.get("selected", False)),
            "last_active": bool(route.get("selected", False)),
            "age": _parse_duration(str(route.get("uptime", ""))),
            "next_hop": str(hop.get("ip", "")),
            "outgoing_interface": str(hop.get("interfaceName", "")),
            "selected_next_hop": bool(hop.get("fib", False)),
            "preference": int(route.get("distance", 0)),
            "inactive_reason": "",
            "routing_table": str(route.get("vrfName", _DEFAULT)),
            "protocol_attributes": {"metric": int(route.get("metric", 0))},
        }
        for route in routes
        for hop in route.get("nexthops", [])
        if not hop.get("recursive")
    ]


def _parse_duration(text: str) -> int:
    """FRR's `01:02:03`, `1d02h03m` or `3w2d04h` in seconds; -1 when it is none of them."""
    if match := re.fullmatch(r"(\d+):(\d+):(\d+)", text):
        hours, minutes, seconds = (int(part) for part in match.groups())
        return 3600 * hours + 60 * minutes + seconds
    units = {"y": 31_536_000, "w": 604_800, "d": 86_400, "h": 3600, "m": 60}
    parts = re.findall(r"(\d+)([ywdhm])", text)
    return sum(int(count) * units[unit] for count, unit in parts) if parts else -1


def router_macs(told: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return VNI -> VTEP -> router MAC from `show evpn rmac vni all json`; a count stands among the MAC addresses."""
    return {
        vni: {str(one["vtepIp"]): str(one["routerMac"]) for one in macs.values() if isinstance(one, dict)}
        for vni, macs in told.items()
        if isinstance(macs, dict)
    }


def ecmp_widths(tables: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return prefix -> number of next hops that FRR has put into the kernel, for routes learned by BGP."""
    widths = {}
    for table in tables:
        for prefix, routes in table.items():
            for route in routes:
                if route.get("selected") and route.get("protocol") == "bgp":
                    hops = route.get("nexthops", [])
                    widths[prefix] = sum(1 for hop in hops if hop.get("fib") and not hop.get("recursive"))
    return widths
