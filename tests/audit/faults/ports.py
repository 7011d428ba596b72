"""Faults of ports and queues: shut, without FEC or addresses, in a VRF, starved, marking that never begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import edit_nvue, edit_tables, replace, walk
from tests.audit.faults.traffic import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

HOST = r"rack\d+-host.*"


def _nvue_ports(word: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """Change the ports of NVUE to switches (`x0`, `leaf`) or to hosts."""
    return edit_nvue(
        lambda tree: [
            change(port)
            for port in tree["interface"].values()
            if _leads_to(word, str(port.get("description", "")))
        ]
    )


def _sonic_ports(word: str, change: Callable[[dict[str, Any], str], object]) -> Callable[[Files], Files]:
    return edit_tables(
        lambda tables: [
            change(tables, name)
            for name, row in list(tables["PORT"].items())
            if _leads_to(word, row.get("description", ""))
        ]
    )


def _leads_to(word: str, text: str) -> bool:
    return ("-host" in text) if word == "host" else text.startswith("x0") or "-leaf" in text


def _shut_uplink() -> Fault:
    return {
        "eos": replace(rf"^(interface Ethernet\S+\n   description {LINK}\n)", r"\1   shutdown\n"),
        "nxos": replace(
            rf"^(interface Ethernet\S+\n  description {LINK}\n(?:  .*\n)*?)  no shutdown\n", r"\1  shutdown\n"
        ),
        "junos": replace(rf'^(        description "?{LINK}"?;\n)', r"\1        disable;\n"),
        "sonic": _sonic_ports(
            "switch", lambda tables, name: tables["PORT"][name].update(admin_status="down")
        ),
        "cumulus": _nvue_ports("switch", lambda port: port["link"].update(state={"down": {}})),
        "frr": replace(rf"^(interface \S+\n description {LINK}\n)", r"\1 shutdown\n"),
    }


def _no_pfc_to_hosts() -> Fault:
    return {
        "nxos": replace(
            rf"^(interface Ethernet\S+\n  description {HOST}\n(?:  .*\n)*?)  priority-flow-control mode on\n",
            r"\1  priority-flow-control mode off\n",
        ),
        "eos": replace(
            r"(qos profile ROCE-400G-5M\n(?:.*\n)*?)   priority-flow-control on\n"
            r"   priority-flow-control priority 3 no-drop\n",
            r"\1",
        ),
        "junos": replace(r"^            congestion-notification-profile PFC-400G-5M;\n", ""),
        "sonic": _sonic_ports("host", lambda tables, name: tables["PORT_QOS_MAP"][name].pop("pfc_enable")),
        "cumulus": _nvue_ports("host", lambda port: port["qos"].pop("pfc")),
    }


def _swapped_thresholds() -> Fault:
    return {
        "eos": replace(
            r"minimum-threshold (\d+) bytes maximum-threshold (\d+)",
            r"minimum-threshold \2 bytes maximum-threshold \1",
        ),
        "nxos": replace(
            r"minimum-threshold (\d+) bytes maximum-threshold (\d+)",
            r"minimum-threshold \2 bytes maximum-threshold \1",
        ),
        "junos": replace(r"fill-level \[ (\d+) (\d+) \]", r"fill-level [ \2 \1 ]"),
        "sonic": edit_tables(
            lambda tables: [
                row.update(
                    green_min_threshold=row["green_max_threshold"],
                    green_max_threshold=row["green_min_threshold"],
                )
                for row in tables["WRED_PROFILE"].values()
            ]
        ),
        "cumulus": edit_nvue(_swap_all),
    }


def _marked_queues(tree: dict[str, Any]) -> list[dict[str, Any]]:
    profiles = walk(tree, "qos", "congestion-control").values()
    return [
        queue
        for profile in profiles
        for queue in profile["traffic-class"].values()
        if "max-threshold" in queue
    ]


def _swap_all(tree: dict[str, Any]) -> None:
    for queue in _marked_queues(tree):
        queue["min-threshold"], queue["max-threshold"] = queue["max-threshold"], queue["min-threshold"]


def _late_marking() -> Fault:
    """Let marking begin at 60 MB, long after a port pauses."""
    low, high = "60000000", "90000000"
    line = replace(
        r"minimum-threshold \d+ bytes maximum-threshold \d+",
        f"minimum-threshold {low} bytes maximum-threshold {high}",
    )
    return {
        "eos": line,
        "nxos": line,
        "sonic": edit_tables(
            lambda tables: [
                row.update(green_min_threshold=low, green_max_threshold=high)
                for row in tables["WRED_PROFILE"].values()
            ]
        ),
        "cumulus": edit_nvue(
            lambda tree: [
                queue.update({"min-threshold": int(low), "max-threshold": int(high)})
                for queue in _marked_queues(tree)
            ]
        ),
        "junos": replace(r"fill-level \[ \d+ \d+ \]", "fill-level [ 90 95 ]"),
    }


def _never_marked() -> Fault:
    return {
        "eos": replace(r"max-mark-probability \d+", "max-mark-probability 0"),
        "nxos": replace(r"drop-probability \d+", "drop-probability 0"),
        "junos": replace(r"drop-probability \[ 0 \d+ \]", "drop-probability [ 0 0 ]"),
        "sonic": edit_tables(
            lambda tables: [row.update(green_drop_probability="0") for row in tables["WRED_PROFILE"].values()]
        ),
        "cumulus": edit_nvue(lambda tree: [queue.update(probability=0) for queue in _marked_queues(tree)]),
    }


def _starve_rdma() -> Fault:
    """Give RDMA a hundredth of the link."""
    return {
        "eos": replace(r"bandwidth percent 90", "bandwidth percent 1"),
        "nxos": replace(r"bandwidth remaining percent 90", "bandwidth remaining percent 1"),
        "junos": replace(r"transmit-rate percent 85;", "transmit-rate percent 1;"),
        "sonic": edit_tables(lambda tables: tables["SCHEDULER"]["rdma"].update(weight="1")),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "qos", "egress-scheduler", "default-global", "traffic-class", "3").update(
                {"bw-percent": 1}
            )
        ),
    }


def _hash_of_addresses() -> Fault:
    """Leave the ports out of the hash, so that all flows between two NICs take one path."""
    return {
        "nxos": replace(
            r"ip load-sharing address source-destination port source-destination",
            "ip load-sharing address source-destination",
        ),
        "sonic": edit_tables(
            lambda tables: tables["SWITCH_HASH"]["GLOBAL"].update(
                ecmp_hash=["SRC_IP", "DST_IP", "IP_PROTOCOL"]
            )
        ),
        "frr": replace(r"(fib_multipath_hash_policy) = 1", r"\1 = 0", file="sysctl.conf"),
    }


def _wrong_mask() -> Fault:
    return {
        "eos": replace(r"(ip address 10\.64\.\S+)/31", r"\1/30"),
        "nxos": replace(r"(ip address 10\.64\.\S+)/31", r"\1/30"),
        "junos": replace(r"(address 10\.64\.\S+)/31", r"\1/30"),
        "frr": replace(r"(ip address 10\.64\.\S+)/31", r"\1/30"),
        "cumulus": replace(r"(10\.64\.\S+)/31", r"\1/30", file="startup.yaml"),
        "sonic": edit_tables(
            lambda tables: [
                tables["INTERFACE"].update({key.replace("/31", "/30"): tables["INTERFACE"].pop(key)})
                for key in list(tables["INTERFACE"])
                if "|10.64." in key
            ]
        ),
    }


def _other_speed() -> Fault:
    return {
        "eos": replace(rf"(description {LINK}\n(?:   .*\n)*?   speed )\S+", r"\g<1>400g-4"),
        "nxos": replace(rf"(description {LINK}\n(?:  .*\n)*?  speed )\d+", r"\g<1>400000"),
        "junos": replace(rf'(description "?{LINK}"?;\n        speed )800g', r"\g<1>400g"),
        "sonic": _sonic_ports("switch", lambda tables, name: tables["PORT"][name].update(speed="400000")),
        "cumulus": _nvue_ports("switch", lambda port: port["link"].update(speed="400G")),
    }


def _no_fec() -> Fault:
    return {
        "sonic": _sonic_ports("switch", lambda tables, name: tables["PORT"][name].update(fec="none")),
        "cumulus": _nvue_ports("switch", lambda port: port["link"].update(fec="off")),
    }


def _on_links(eos: str, nxos: str) -> Fault:
    """Add a line to the ports between switches."""
    port = rf"^(interface Ethernet\S+\n +description {LINK}\n)"
    edits = {"eos": replace(port, rf"\1   {eos}\n"), "nxos": replace(port, rf"\1  {nxos}\n")}
    return {system: edit for system, edit in edits.items() if {"eos": eos, "nxos": nxos}[system]}


KINDS: dict[str, tuple[str, Fault]] = {
    "a tag on one side": ("tor-", _on_links("encapsulation dot1q vlan 100", "encapsulation dot1q 100")),
    "MACsec on one side": ("tor-", _on_links("mac security profile P1", "macsec keychain K1 policy P1")),
    "BFD authentication on one side": (
        "tor-",
        _on_links("", "bfd authentication Keyed-SHA1 key-id 1 key cisco123"),
    ),
    "links between switches are shut": ("tor", _shut_uplink()),
    "no PFC to hosts": ("tor", _no_pfc_to_hosts()),
    "marking ends before it begins": ("tor", _swapped_thresholds()),
    "marking begins too late": ("tor", _late_marking()),
    "marking never happens": ("tor", _never_marked()),
    "RDMA is starved": ("tor", _starve_rdma()),
    "hash without ports": ("tor", _hash_of_addresses()),
    "wrong mask on one side": ("tor-", _wrong_mask()),
    "another speed on one side": ("tor-", _other_speed()),
    "FEC off": ("tor", _no_fec()),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system; see `sessions`."""
