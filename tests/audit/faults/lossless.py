"""Faults that make RDMA lossy: PFC, classification, buffers, ECN, the watchdog, and hashing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import chain_edits, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.traffic import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

CLASSIFIER = (
    r"            unit 0 \{\n                classifiers \{\n                    dscp DSCP;\n"
    r"                \}\n            \}\n"
)
"""The statement that binds Junos's classifier to a port."""


def _switch_ports(tables: dict[str, Any]) -> list[str]:
    """Return SONiC's ports between switches."""
    output = {name: row.get("description", "") for name, row in tables["PORT"].items()}
    return [name for name, text in output.items() if text.startswith("x0") or "-leaf" in text]


def _nvue_between(tree: dict[str, Any]) -> list[dict[str, Any]]:
    output = {name: str(port.get("description", "")) for name, port in tree["interface"].items()}
    return [
        tree["interface"][name] for name, text in output.items() if text.startswith("x0") or "-leaf" in text
    ]


def _no_pfc_between() -> Fault:
    return {
        "eos": chain_edits(
            replace(
                r"(qos profile ROCE-800G-40M\n(?:.*\n)*?)   priority-flow-control on\n"
                r"   priority-flow-control priority 3 no-drop\n",
                r"\1",
            ),
        ),
        "nxos": replace(
            rf"(interface Ethernet\S+\n  description {LINK}\n(?:  .*\n)*?)  priority-flow-control mode on\n",
            r"\1  priority-flow-control mode off\n",
        ),
        "junos": replace(r"^            congestion-notification-profile PFC-800G-40M;\n", ""),
        "sonic": edit_tables(
            lambda tables: [tables["PORT_QOS_MAP"][name].pop("pfc_enable") for name in _switch_ports(tables)]
        ),
        "cumulus": edit_nvue(lambda tree: [port["qos"].pop("pfc") for port in _nvue_between(tree)]),
    }


def _other_priority() -> Fault:
    return {
        "eos": replace(
            "priority-flow-control priority 3 no-drop", "priority-flow-control priority 4 no-drop"
        ),
        "nxos": replace("pause pfc-cos 3", "pause pfc-cos 4"),
        "junos": chain_edits(
            replace("code-point 011010 {", "code-point 100010 {"),
            replace("code-point 011 {", "code-point 100 {"),
            replace("flow-control-queue 3", "flow-control-queue 4"),
            replace("pfc-priority 3", "pfc-priority 4"),
        ),
        "sonic": edit_tables(
            lambda tables: [
                row.update(pfc_enable="4", pfcwd_sw_enable="4")
                for row in tables["PORT_QOS_MAP"].values()
                if "pfc_enable" in row
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                profile.update({"switch-priority": {"4": {}}})
                for profile in walk(tree, "qos", "pfc").values()
            ]
        ),
    }


def _no_pfc() -> Fault:
    return {
        "eos": replace(r"^   priority-flow-control on\n", ""),
        "nxos": replace(r"^  priority-flow-control mode on\n", ""),
        "junos": replace(r"^                    pfc;\n", ""),
        "sonic": edit_tables(
            lambda tables: [row.pop("pfc_enable", 0) for row in tables["PORT_QOS_MAP"].values()]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                port["qos"].pop("pfc") for port in tree["interface"].values() if "pfc" in port.get("qos", {})
            ]
        ),
    }


def _lossy_class() -> Fault:
    return {
        "eos": replace("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 0"),
        "nxos": replace("^  match dscp 26\n", "  match dscp 24\n"),
        "junos": replace(r"\[ 011010 \]", "[ 011001 ]"),
        "sonic": edit_tables(lambda tables: tables["DSCP_TO_TC_MAP"]["AZURE"].update({"26": "0"})),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "qos", "mapping", "default-global", "dscp", "26").update(
                {"switch-priority": 0}
            )
        ),
    }


def _unbind_classifier() -> Fault:
    return {
        "eos": replace("^   qos trust dscp", "   qos trust cos"),
        "nxos": replace("^  service-policy type qos input PM-CLASSIFY\n", ""),
        "junos": replace(
            rf"^{CLASSIFIER}",
            "",
        ),
        "sonic": edit_tables(
            lambda tables: [row.pop("dscp_to_tc_map") for row in tables["PORT_QOS_MAP"].values()]
        ),
        "cumulus": edit_nvue(lambda tree: walk(tree, "qos", "mapping", "default-global").update(trust="l2")),
    }


def _unbound_between() -> Fault:
    return {
        "nxos": replace(
            rf"(interface Ethernet\S+\n  description {LINK}\n(?:  .*\n)*?)"
            r"  service-policy type qos input PM-CLASSIFY\n",
            r"\1",
        ),
        "sonic": edit_tables(
            lambda tables: [
                tables["PORT_QOS_MAP"][name].pop("dscp_to_tc_map") for name in _switch_ports(tables)
            ]
        ),
        "eos": replace(r"(qos profile ROCE-800G-40M\n)   qos trust dscp\n", r"\1   qos trust cos\n"),
        "junos": replace(
            rf"(            scheduler-map SM-800G-40M;\n){CLASSIFIER}",
            r"\1",
        ),
    }


def _lossy_profile() -> Fault:
    return {
        "sonic": edit_tables(
            lambda tables: [
                row.update(profile="ingress_lossy_profile")
                for key, row in tables["BUFFER_PG"].items()
                if key.endswith("|3")
            ]
        ),
        "nxos": replace("^    pause pfc-cos 3\n", ""),
        "junos": replace("^            no-loss;\n", ""),
        "cumulus": edit_nvue(
            lambda tree: (
                walk(tree, "qos", "traffic-pool", "default-lossless", "switch-priority").pop("3")
                or walk(tree, "qos", "traffic-pool", "default-lossy", "switch-priority").update({"3": {}})
            )
        ),
    }


def _no_headroom() -> Fault:
    return {
        "sonic": edit_tables(
            lambda tables: [
                *[tables["BUFFER_PG"].pop(key) for key in list(tables["BUFFER_PG"]) if key.endswith("|3")],
                tables.pop("CABLE_LENGTH"),
            ]
        ),
        "eos": chain_edits(replace(r"^    ingress headroom bytes \d+\n", "    ingress headroom bytes 0\n")),
        "junos": replace(r"(lossless-headroom \{\n +percent )24", r"\g<1>0"),
        "cumulus": edit_nvue(
            lambda tree: [
                profile.update({"port-buffer": profile["xoff-threshold"]})
                for profile in walk(tree, "qos", "pfc").values()
            ]
        ),
    }


def _egress_drop() -> Fault:
    return {
        "sonic": edit_tables(
            lambda tables: [
                row.update(profile="egress_lossy_profile")
                for key, row in tables["BUFFER_QUEUE"].items()
                if key.endswith("|3")
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(
                tree, "qos", "advance-buffer-config", "default-global", "egress-lossless-buffer"
            ).update({"shared-alpha": "alpha_1"})
        ),
    }


def _ecn_off() -> Fault:
    return {
        "eos": replace(r"^      random-detect ecn minimum.*\n", ""),
        "nxos": replace(r" weight 0 ecn$", " weight 0"),
        "junos": replace("^            explicit-congestion-notification;\n", ""),
        "sonic": edit_tables(
            lambda tables: [row.update(ecn="ecn_none") for row in tables["WRED_PROFILE"].values()]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                queue.update(ecn="disable")
                for profile in walk(tree, "qos", "congestion-control").values()
                for queue in profile["traffic-class"].values()
            ]
        ),
    }


def _ecn_no_color() -> Fault:
    return {
        "sonic": edit_tables(
            lambda tables: [row.pop("wred_green_enable") for row in tables["WRED_PROFILE"].values()]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                port["qos"].pop("congestion-control")
                for port in tree["interface"].values()
                if "congestion-control" in port.get("qos", {})
            ]
        ),
    }


def _no_watchdog() -> Fault:
    return {
        "eos": replace(r"^   priority-flow-control pause watchdog\n", ""),
        "nxos": replace(r"^priority-flow-control watch-dog-interval on\n", ""),
        "junos": replace(r"^        pfc-watchdog \{\n(?:.*;\n)+        \}\n", ""),
        "sonic": edit_tables(
            lambda tables: [row.pop("pfcwd_sw_enable", 0) for row in tables["PORT_QOS_MAP"].values()]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                port["qos"].pop("pfc-watchdog")
                for port in tree["interface"].values()
                if "pfc-watchdog" in port.get("qos", {})
            ]
        ),
    }


def _one_seed() -> Fault:
    return {
        "eos": replace(r"^ip load-sharing trident \d+", "ip load-sharing trident 7"),
        "nxos": replace(r"universal-id \d+", "universal-id 77"),
        "cumulus": edit_nvue(lambda tree: walk(tree, "system", "forwarding").update({"hash-seed": 77})),
        "junos": replace(r"(hash-seed )\d+", r"\g<1>77"),
        "sonic": edit_tables(lambda tables: walk(tables, "SWITCH", "switch").update(ecmp_hash_seed="77")),
    }


KINDS: dict[str, tuple[str, Fault]] = {
    "no PFC between switches": ("tor", _no_pfc_between()),
    "no PFC": ("tor", _no_pfc()),
    "PFC of another priority": ("tor", _other_priority()),
    "RDMA in a lossy class": ("tor", _lossy_class()),
    "classification not bound": ("tor", _unbind_classifier()),
    "classification not bound between switches": ("tor", _unbound_between()),
    "lossy buffer": ("tor", _lossy_profile()),
    "no headroom": ("tor", _no_headroom()),
    "egress drops": ("tor", _egress_drop()),
    "ECN off": ("tor", _ecn_off()),
    "ECN without effect": ("tor", _ecn_no_color()),
    "no watchdog": ("tor", _no_watchdog()),
    "one hash seed": ("all", _one_seed()),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
