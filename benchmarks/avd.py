"""Inputs of pyavd (Arista AVD) for the switches that fabricc compiles: the same features on every port and session."""

from __future__ import annotations

from typing import Any

from benchmarks.specs import KEY

UPLINKS, HOST_PORTS = 32, 64
HOSTS, LINKS = "400G-5M", "800G-40M"
"""The kinds of ports of a ToR; a spine has the second."""
THRESHOLDS = {HOSTS: (355_346, 1_374_140), LINKS: (687_070, 1_374_140)}
HEADROOM = {HOSTS: 612_140, LINKS: 835_406}
QUEUES = {26: 3, 48: 6}  # DSCP -> traffic class; the others 0
GROUP = "IPv4-UNDERLAY-PEERS"

# The documented programmatic use (avd.arista.com, "pyavd"), at its best: the whole fabric is validated and loaded once.
SCRIPT = """
import json, sys, time
import pyavd
from pyavd.api.schemas import AVDDesign
def compiled(inputs, folder):
    fabric = {}
    for name, stated in json.load(open(inputs)).items():
        checked = pyavd.validate_inputs(stated)
        if checked.validated_data is None:
            sys.exit(f"{name}: {[v.message for v in checked.validation_result.violations]}")
        fabric[name] = AVDDesign._from_dict(checked.validated_data)
    facts = pyavd.get_avd_facts(fabric)
    for name, design in fabric.items():
        structured = pyavd.get_device_structured_config(name, design, facts)
        with open(f"{folder}/{name}.cfg", "w") as file:
            file.write(pyavd.get_device_config(structured))
compiled("small.json", sys.argv[2])
begin = time.process_time()
compiled(sys.argv[1], sys.argv[2])
print(time.process_time() - begin)
"""


def inputs(tors: int, spines: int) -> dict[str, Any]:
    """Inputs of AVD's `eos_designs` for every switch, an l3leaf or a spine each."""
    everywhere = _everywhere(tors, spines)
    leaves = {f"l{n}": everywhere | _leaf(n) for n in range(1, tors + 1)}
    return leaves | {f"s{n}": everywhere | _spine(n) for n in range(1, spines + 1)}


def _everywhere(tors: int, spines: int) -> dict[str, Any]:
    """Return what AVD wants to know on every switch: all of them, and how they are connected."""
    per_spine = UPLINKS // spines
    return {
        "fabric_name": "bench",
        "underlay_routing_protocol": "ebgp",
        "overlay_routing_protocol": "none",
        "p2p_uplinks_mtu": 9100,
        "aaa_settings": {
            "local_users": [
                {
                    "name": "netops",
                    "privilege": 15,
                    "role": "network-admin",
                    "no_password": True,
                    "ssh_key": KEY,
                }
            ]
        },
        "management_eapi": {"enabled": True},
        "bgp_peer_groups": {"ipv4_underlay_peers": {"bfd": True}},
        "spine": {
            "defaults": {"platform": "7060X6", "loopback_ipv4_pool": "10.128.0.0/24", "bgp_as": "64999"},
            "nodes": [
                {"name": f"s{n}", "id": n, "mgmt_ip": f"172.16.1.{n}/16"} for n in range(1, spines + 1)
            ],
        },
        "l3leaf": {
            "defaults": {
                "platform": "7060X6",
                "loopback_ipv4_pool": "10.129.0.0/24",
                "vtep": False,
                "uplink_ipv4_pool": "10.64.0.0/16",
                "max_uplink_switches": spines,
                "max_parallel_uplinks": per_spine,
                "uplink_ethernet_structured_config": _settings(LINKS, "800g-8"),
                "uplink_switch_ethernet_structured_config": _settings(LINKS, "800g-8"),
            },
            "nodes": [_node(number, per_spine) for number in range(1, tors + 1)],
        },
        **_custom(
            qos={"map": {"dscp": [f"{dscp} to traffic-class {QUEUES.get(dscp, 0)}" for dscp in range(64)],
                         "traffic_class": [f"{queue} to uc-tx-queue {queue}" for queue in (0, 3, 6)]}},
            priority_flow_control={"watchdog": {"action": "drop", "timeout": "0.60", "recovery_time": "0.60",
                                                "polling_interval": "0.300"}},
            router_bfd={"interval": 300, "min_rx": 300, "multiplier": 3},
            aaa_authorization={"exec": {"default": "local"}},
            ip_community_lists=[
                {"name": "GRACEFUL-SHUTDOWN", "entries": [{"action": "permit", "communities": ["GSHUT"]}]}
            ],
        ),
    }  # fmt: skip


def _leaf(number: int) -> dict[str, Any]:
    block, loopback = f"10.0.{number}.0/25", f"10.129.0.{number}/32"
    lists = {"CONNECTED": [f"{block} eq 31", loopback], "OWN": [block, loopback]}
    aggregates = [{"prefix": block, "summary_only": True}]
    ports = [
        {
            "name": f"Ethernet{1 + index // 2}/{1 + 4 * (index % 2)}",
            "description": f"gpu{index}",
            "mtu": 9100,
            "switchport": {"enabled": False},
            "ip_address": f"10.0.{number}.{2 * index}/31",
            "shutdown": False,
            **_settings(HOSTS, "400g-4"),
        }
        for index in range(HOST_PORTS)
    ]
    return {
        "type": "l3leaf",
        **_custom(ethernet_interfaces=ports, router_bgp=_bgp(number, aggregate_addresses=aggregates)),
        **_policy(lists, "OWN"),
        **_lossless(HOSTS, LINKS),
    }


def _spine(number: int) -> dict[str, Any]:
    lists = {"CONNECTED": [f"10.128.0.{number}/32"]}
    return {
        "type": "spine",
        **_custom(router_bgp=_bgp(64999)),
        **_policy(lists, "FABRIC"),
        **_lossless(LINKS),
    }


def _node(number: int, per_spine: int) -> dict[str, Any]:
    first = (number - 1) * per_spine
    return {
        "name": f"l{number}",
        "id": number,
        "bgp_as": 65000 + number,
        "mgmt_ip": f"172.16.0.{number}/16",
        "uplink_switches": [f"s{1 + index // per_spine}" for index in range(UPLINKS)],
        "uplink_interfaces": [f"Ethernet{33 + index}/1" for index in range(UPLINKS)],
        "uplink_switch_interfaces": [
            f"Ethernet{1 + first + index % per_spine}/1" for index in range(UPLINKS)
        ],
    }


def _settings(kind: str, speed: str) -> dict[str, Any]:
    """What ports of a kind have in common; AVD has no key for a port's buffer profile, so it is given as text."""
    return {
        "speed": speed,
        "error_correction_encoding": {"reed_solomon": True},
        "service_profile": f"ROCE-{kind}",
        "eos_cli": f"platform trident mmu queue interface-profile MMU-{kind}",
    }


def _bgp(asn: int, **more: Any) -> dict[str, Any]:
    maps = {"route_map_in": "FROM-PEERS", "route_map_out": "TO-PEERS"}
    return {
        "as": str(65000 + asn if asn < 64999 else asn),
        "as_notation": "asplain",
        "timers": {"keepalive_time": 3, "hold_time": 9},
        "maximum_paths": {"paths": 64, "ecmp": 64},
        "bgp_defaults": ["bgp bestpath as-path multipath-relax"],
        "peer_groups": [{"name": GROUP, **maps}],
        **more,
    }


def _policy(lists: dict[str, list[str]], announced: str) -> dict[str, Any]:
    lists = {"FABRIC": ["10.0.0.0/10 eq 25", "10.128.0.0/12 eq 32"], **lists}
    shut = {
        "match": ["community GRACEFUL-SHUTDOWN", "ip address prefix-list FABRIC"],
        "set": ["local-preference 0"],
    }
    clauses = {
        "CONNECTED": [{"match": ["ip address prefix-list CONNECTED"]}],
        "FROM-PEERS": [shut, {"match": ["ip address prefix-list FABRIC"]}],
        "TO-PEERS": [{"match": [f"ip address prefix-list {announced}"]}],
    }
    return _custom(
        prefix_lists=[
            {"name": name, "sequence_numbers": [
                {"sequence": 10 * at, "action": f"permit {rule}"} for at, rule in enumerate(rules, 1)
            ]}
            for name, rules in lists.items()
        ],
        route_maps=[
            {"name": name, "sequence_numbers": [
                {"sequence": 10 * at, "type": "permit", **clause} for at, clause in enumerate(stated, 1)
            ]}
            for name, stated in clauses.items()
        ],
    )  # fmt: skip


def _lossless(*kinds: str) -> dict[str, Any]:
    buffers = [
        {
            "name": f"MMU-{kind}",
            "ingress": {
                "priority_groups": [{"id": 3, "threshold": "1"}],
                "headroom": {"unit": "bytes", "memory": HEADROOM[kind]},
            },
            "unicast_queues": [{"id": 3, "threshold": "8"}],
        }
        for kind in kinds
    ]
    mmu = {"queue_profiles": buffers, "active_profile": f"MMU-{LINKS}"}
    return _custom(qos_profiles=[_qos_profile(kind) for kind in kinds], platform={"trident": {"mmu": mmu}})


def _qos_profile(kind: str) -> dict[str, Any]:
    least, most = THRESHOLDS[kind]
    threshold = {"units": "bytes", "min": least, "max": most, "max_probability": 20, "weight": 0}
    return {
        "name": f"ROCE-{kind}",
        "trust": "dscp",
        "priority_flow_control": {
            "enabled": True,
            "priorities": [{"priority": 3, "no_drop": True}],
            "watchdog": {"enabled": True},
        },
        "uc_tx_queues": [
            {"id": 0, "priority": "no priority", "bandwidth_percent": 10},
            {"id": 3, "priority": "no priority", "bandwidth_percent": 90, "bandwidth_guaranteed_percent": 1,
             "random_detect": {"ecn": {"count": True, "threshold": threshold}}},
            {"id": 6, "priority": "priority strict"},
        ],
    }  # fmt: skip


def _custom(**models: Any) -> dict[str, Any]:
    """AVD's word for what it has no design of: merged into the structured configuration of a switch."""
    return {f"custom_structured_configuration_{name}": model for name, model in models.items()}
