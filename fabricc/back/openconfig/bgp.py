"""openconfig-network-instance with openconfig-bgp: the process, its groups and neighbors, and what is redistributed.

The models name a neighbor by its address alone: sessions on unnumbered links are not carried, nor is a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.openconfig.interfaces import list_entry
from fabricc.fabric.facts import Facts, format_boolean
from fabricc.fabric.routing import Bgp, PeerGroup, Session, Transport

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

TOP = "openconfig-network-instance:network-instances"
_TYPES = "openconfig-policy-types:"
_AFI = {"ipv4": "openconfig-bgp-types:IPV4_UNICAST", "ipv6": "openconfig-bgp-types:IPV6_UNICAST"}
_FAMILY = {"ipv4": "openconfig-types:IPV4", "ipv6": "openconfig-types:IPV6"}
_REDISTRIBUTED = {"DIRECTLY_CONNECTED": "bgp/redistribute_connected", "STATIC": "bgp/redistribute_static"}


def render(switch: Switch) -> dict[str, Any]:
    """Return BGP in the default network instance of a switch."""
    bgp = switch.bgp
    maps = {"DIRECTLY_CONNECTED": bgp.redistribute_map, "STATIC": bgp.static_map}
    sources = {name: policy for name, policy in maps.items() if policy}
    instance = list_entry(
        ("name",),
        {"name": "DEFAULT", "type": "openconfig-network-instance-types:DEFAULT_INSTANCE"},
        tables={
            "table": [
                _table_connection_source(name, family)
                for name in ("BGP", *sources)
                for family in bgp.families
            ]
        },
        table_connections={
            "table-connection": [
                _table_connection(name, family, policy)
                for name, policy in sources.items()
                for family in bgp.families
            ]
        },
        protocols={
            "protocol": [*map(_protocol_entry, sources), {**_protocol_entry("BGP"), "bgp": _bgp_process(bgp)}]
        },
    )
    return {TOP: {"network-instance": [instance]}}


def read(document: dict[str, Any]) -> Facts:
    """Return the facts of BGP."""
    (instance,) = document[TOP]["network-instance"]
    process = next(each["bgp"] for each in instance["protocols"]["protocol"] if "bgp" in each)
    paths = process["global"]["use-multiple-paths"]["ebgp"]["config"]
    facts: Facts = {
        "bgp/asn": process["global"]["config"]["as"],
        "bgp/router_id": process["global"]["config"]["router-id"],
        "bgp/maximum_paths": paths["maximum-paths"],
        "bgp/multipath_relax": format_boolean(paths["allow-multiple-as"]),
    }
    for each in instance["table-connections"]["table-connection"]:
        source = each["src-protocol"].removeprefix(_TYPES)
        (facts[_REDISTRIBUTED[source]],) = each["config"]["import-policy"]
    groups = {each["peer-group-name"]: each for each in process["peer-groups"]["peer-group"]}
    for group in groups.values():
        timers = group["timers"]["config"]
        facts["bgp/keepalive_s"], facts["bgp/hold_s"] = timers["keepalive-interval"], timers["hold-time"]
        if bfd := group.get("enable-bfd"):
            facts["bfd/interval_ms"] = bfd["config"]["desired-minimum-tx-interval"] // 1000
            facts["bfd/multiplier"] = bfd["config"]["detection-multiplier"]
    for each in process.get("neighbors", {}).get("neighbor", ()):
        facts |= _neighbor_facts(each, groups[each["config"]["peer-group"]])
    return facts


def _table_connection_source(protocol: str, family: str) -> dict[str, Any]:
    config = {"protocol": f"{_TYPES}{protocol}", "address-family": _FAMILY[family]}
    return list_entry(("protocol", "address-family"), config)


def _table_connection(protocol: str, family: str, policy: str) -> dict[str, Any]:
    config = {
        "src-protocol": f"{_TYPES}{protocol}",
        "dst-protocol": f"{_TYPES}BGP",
        "address-family": _FAMILY[family],
        "import-policy": [policy],
        "default-import-policy": "REJECT_ROUTE",
    }
    return list_entry(("src-protocol", "dst-protocol", "address-family"), config)


def _protocol_entry(name: str) -> dict[str, Any]:
    return list_entry(
        ("identifier", "name"), {"identifier": f"{_TYPES}{name}", "name": name, "enabled": True}
    )


def _bgp_process(bgp: Bgp) -> dict[str, Any]:
    ways = {"allow-multiple-as": bgp.multipath_relax, "maximum-paths": bgp.maximum_paths}
    found: dict[str, Any] = {
        "global": {
            "config": {"as": bgp.asn, "router-id": bgp.router_id},
            "use-multiple-paths": {"config": {"enabled": bgp.maximum_paths > 1}, "ebgp": {"config": ways}},
            "afi-safis": {"afi-safi": [_address_family(family) for family in bgp.families]},
        },
        "peer-groups": {"peer-group": [_peer_group(bgp, group) for group in bgp.groups]},
    }
    groups = {group.name: group for group in bgp.groups}
    numbered = [session for session in bgp.sessions if session.transport is not Transport.UNNUMBERED]
    if numbered:
        neighbors = [_neighbor_entry(session, groups[session.group]) for session in numbered]
        found["neighbors"] = {"neighbor": neighbors}
    return found


def _address_family(family: str, maximum_prefixes: int | None = None) -> dict[str, Any]:
    found = list_entry(("afi-safi-name",), {"afi-safi-name": _AFI[family], "enabled": True})
    if maximum_prefixes is not None:
        limit = {"prefix-limit": {"config": {"max-prefixes": maximum_prefixes}}}
        found[f"{family}-unicast"] = limit
    return found


def _peer_group(bgp: Bgp, group: PeerGroup) -> dict[str, Any]:
    detection: dict[str, Any] = {}
    if bgp.bfd_interval_ms is not None:
        microseconds = bgp.bfd_interval_ms * 1000
        detection["config"] = {
            "enabled": True,
            "desired-minimum-tx-interval": microseconds,
            "required-minimum-receive": microseconds,
            "detection-multiplier": bgp.bfd_multiplier,
        }
    return list_entry(
        ("peer-group-name",),
        {"peer-group-name": group.name, "send-community-type": ["STANDARD"]},
        timers={"config": {"hold-time": bgp.hold_s, "keepalive-interval": bgp.keepalive_s}},
        apply_policy={
            "config": {
                "import-policy": [group.import_map],
                "export-policy": [group.export_map],
                "default-import-policy": "REJECT_ROUTE",
                "default-export-policy": "REJECT_ROUTE",
            }
        },
        enable_bfd=detection,
    )


def _neighbor_entry(session: Session, group: PeerGroup) -> dict[str, Any]:
    config = {
        "neighbor-address": session.remote,
        "peer-group": session.group,
        "peer-as": session.remote_asn,
        "description": session.peer,
        "enabled": True,
    }
    families = [_address_family(session.transport.value, group.maximum_prefixes)]
    transport = {"config": {"local-address": session.local}} if session.local else {}
    return list_entry(("neighbor-address",), config, transport=transport, afi_safis={"afi-safi": families})


def _neighbor_facts(neighbor: dict[str, Any], group: dict[str, Any]) -> Facts:
    prefix = f"bgp/neighbor[{neighbor['neighbor-address']}]/"
    policy = group["apply-policy"]["config"]
    (family,) = neighbor["afi-safis"]["afi-safi"]
    name = next(name for name, afi in _AFI.items() if afi == family["afi-safi-name"])
    return {
        prefix + "remote_asn": neighbor["config"]["peer-as"],
        prefix + "description": neighbor["config"]["description"],
        prefix + "bfd": format_boolean("enable-bfd" in group),
        prefix + "import": policy["import-policy"][0],
        prefix + "export": policy["export-policy"][0],
        prefix + "maximum_prefixes": family[f"{name}-unicast"]["prefix-limit"]["config"]["max-prefixes"],
        prefix + "families": name,
    }
