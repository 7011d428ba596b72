"""A switch as OpenConfig JSON: models openconfig-system, -interfaces, -network-instance and -routing-policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.routing import Bgp, Clause, PrefixRule, Session

MANAGEMENT = "Management0"
LOOPBACK = "Loopback0"


def make_document(switch: Switch) -> str:
    """The file's text."""
    tree = {
        "openconfig-system:system": _render_system(switch),
        "openconfig-interfaces:interfaces": {"interface": _render_interfaces(switch)},
        "openconfig-network-instance:network-instances": {"network-instance": _render_instances(switch)},
        "openconfig-routing-policy:routing-policy": _render_policy(switch.bgp),
    }
    return json.dumps(tree, indent=2) + "\n"


def _render_system(switch: Switch) -> dict[str, Any]:
    management = switch.management
    users = [{"username": user.name, "config": {"ssh-key": user.ssh_key}} for user in management.users]
    return {
        "config": {"hostname": switch.name},
        "ntp": {"servers": {"server": [{"address": server} for server in management.ntp]}},
        "dns": {"servers": {"server": [{"address": server} for server in management.dns]}},
        "logging": {"remote-servers": {"remote-server": [{"host": server} for server in management.syslog]}},
        "aaa": {"authentication": {"users": {"user": users}}},
    }


def _render_interfaces(switch: Switch) -> list[dict[str, Any]]:
    found = [{"name": MANAGEMENT, **_render_address(switch.management.address)}]
    if switch.loopback4:
        found.append({"name": LOOPBACK, **_render_address(f"{switch.loopback4}/32")})
    return [*found, *map(_render_interface, switch.ports)]


def _render_interface(port: Port) -> dict[str, Any]:
    config: dict[str, Any] = {"enabled": port.enabled, "description": port.description}
    if port.peer:
        config["mtu"] = port.mtu
    speed = {"openconfig-if-ethernet:ethernet": {"config": {"port-speed": f"SPEED_{port.speed_gbps}GB"}}}
    return {"name": port.name, "config": config, **speed, **(_render_address(port.ipv4) if port.ipv4 else {})}


def _render_address(prefix: str) -> dict[str, Any]:
    address, _, length = prefix.partition("/")
    entry = {"ip": address, "config": {"prefix-length": int(length)}}
    family = {"openconfig-if-ip:ipv4": {"addresses": {"address": [entry]}}}
    return {"subinterfaces": {"subinterface": [{"index": 0, **family}]}}


def _render_instances(switch: Switch) -> list[dict[str, Any]]:
    hop = {"index": "0", "config": {"next-hop": switch.management.gateway}}
    static = {"prefix": "0.0.0.0/0", "next-hops": {"next-hop": [hop]}}
    routes = {"identifier": "STATIC", "name": "static", "static-routes": {"static": [static]}}
    summaries = [{"prefix": aggregate} for aggregate in switch.bgp.aggregates]
    aggregates = {
        "identifier": "LOCAL_AGGREGATE", "name": "aggregates", "local-aggregates": {"aggregate": summaries}
    }  # fmt: skip
    connected = {
        "src-protocol": "DIRECTLY_CONNECTED",
        "dst-protocol": "BGP",
        "config": {"import-policy": [switch.bgp.redistribute_map]},
    }
    return [
        {"name": "mgmt", "protocols": {"protocol": [routes]}},
        {
            "name": "default",
            "table-connections": {"table-connection": [connected]},
            "protocols": {"protocol": [aggregates, _render_bgp(switch.bgp)]},
        },
    ]


def _render_bgp(bgp: Bgp) -> dict[str, Any]:
    multipath = {"config": {"maximum-paths": bgp.maximum_paths, "allow-multiple-as": bgp.multipath_relax}}
    head: dict[str, Any] = {
        "config": {"as": bgp.asn, "router-id": bgp.router_id},
        "timers": {"config": {"keepalive-interval": bgp.keepalive_s, "hold-time": bgp.hold_s}},
        "use-multiple-paths": {"ebgp": multipath},
    }
    if bgp.bfd_interval_ms is not None:
        head["enable-bfd"] = {
            "config": {
                "desired-minimum-tx-interval": bgp.bfd_interval_ms * 1000,
                "detection-multiplier": bgp.bfd_multiplier,
            }
        }
    neighbors = [_render_neighbor(bgp, session) for session in bgp.sessions]
    return {
        "identifier": "BGP",
        "name": "BGP",
        "bgp": {"global": head, "neighbors": {"neighbor": neighbors}},
    }


def _render_neighbor(bgp: Bgp, session: Session) -> dict[str, Any]:
    group = next(group for group in bgp.groups if group.name == session.group)
    policy = {"import-policy": [group.import_map], "export-policy": [group.export_map]}
    limit = {"prefix-limit": {"config": {"max-prefixes": group.maximum_prefixes}}}
    return {
        "neighbor-address": session.remote,
        "config": {"peer-as": session.remote_asn, "description": session.peer},
        "enable-bfd": {"config": {"enabled": bgp.bfd_interval_ms is not None}},
        "apply-policy": {"config": policy},
        "afi-safis": {"afi-safi": [{"afi-safi-name": "IPV4_UNICAST", "ipv4-unicast": limit}]},
    }


def _render_policy(bgp: Bgp) -> dict[str, Any]:
    prefixes = [
        {"name": each.name, "prefixes": {"prefix": [_render_prefix(rule) for rule in each.rules]}}
        for each in bgp.prefix_lists
    ]
    communities = [
        {"community-set-name": each.name, "config": {"community-member": [each.community]}}
        for each in bgp.community_lists
    ]
    definitions = [
        {
            "name": each.name,
            "statements": {"statement": [_render_statement(clause) for clause in each.clauses]},
        }
        for each in bgp.route_maps
    ]
    return {
        "defined-sets": {
            "prefix-sets": {"prefix-set": prefixes},
            "openconfig-bgp-policy:bgp-defined-sets": {"community-sets": {"community-set": communities}},
        },
        "policy-definitions": {"policy-definition": definitions},
    }


def _render_prefix(rule: PrefixRule) -> dict[str, str]:
    length = rule.prefix.partition("/")[2]
    exact = rule.ge is None and rule.le is None
    span = "exact" if exact else f"{rule.ge or length}..{rule.le or 32}"
    return {"ip-prefix": rule.prefix, "masklength-range": span}


def _render_statement(clause: Clause) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    if clause.prefix_list:
        conditions["match-prefix-set"] = {"config": {"prefix-set": clause.prefix_list}}
    if clause.community_list:
        conditions["openconfig-bgp-policy:bgp-conditions"] = {
            "match-community-set": {"config": {"community-set": clause.community_list}}
        }
    actions: dict[str, Any] = {
        "config": {"policy-result": "ACCEPT_ROUTE" if clause.permit else "REJECT_ROUTE"}
    }
    changes: dict[str, Any] = {}
    if clause.local_preference is not None:
        changes["config"] = {"set-local-pref": clause.local_preference}
    if clause.add_community:
        inline = {"config": {"communities": [clause.add_community]}}
        changes["set-community"] = {"config": {"method": "INLINE", "options": "ADD"}, "inline": inline}
    if changes:
        actions["openconfig-bgp-policy:bgp-actions"] = changes
    return {"name": str(clause.sequence), "conditions": conditions, "actions": actions}
