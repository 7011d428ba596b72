"""Faults of maps and policies: queues that PFC does not stop, announced defaults, open peers, checks of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.traffic import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _other_queue() -> Fault:
    """Send RDMA's class to a queue that PFC does not stop."""
    return {
        "eos": replace(
            "qos map traffic-class 3 to uc-tx-queue 3", "qos map traffic-class 3 to uc-tx-queue 0"
        ),
        "sonic": edit_tables(lambda tables: tables["TC_TO_QUEUE_MAP"]["AZURE"].update({"3": "0"})),
        "junos": replace(
            r"(class FC-RDMA \{\n            pfc-priority 3;\n            no-loss;\n            queue-num )3",
            r"\g<1>4",
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(
                tree, "qos", "egress-queue-mapping", "default-global", "switch-priority", "3"
            ).update({"traffic-class": 0})
        ),
    }


def _other_group() -> Fault:
    """Put RDMA's class into the priority group of lossy traffic."""
    return {
        "sonic": edit_tables(lambda tables: tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"].update({"3": "0"}))
    }


def _pause_of_another_queue() -> Fault:
    return {
        "sonic": edit_tables(lambda tables: tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"].update({"3": "4"}))
    }


def _default_announced() -> Fault:
    """Announce a default route to the upper switches."""
    return {
        "eos": replace(
            r"^(   neighbor UPSTREAM peer group\n)", r"\1   neighbor UPSTREAM default-originate always\n"
        ),
        "frr": add("  neighbor UPSTREAM-V4 default-originate\n", after="neighbor UPSTREAM-V4 activate"),
        "sonic": add("  neighbor UPSTREAM-V4 default-originate\n", after="neighbor UPSTREAM-V4 activate"),
        "nxos": replace(
            r"^(  template peer UPSTREAM\n(?:.*\n)*?    address-family ipv4 unicast\n)",
            r"\1      default-originate\n",
        ),
    }


def _open_peers() -> Fault:
    """Accept sessions from everywhere."""
    return {
        "eos": add(
            "   bgp listen range 0.0.0.0/0 peer-group UPSTREAM remote-as 65010\n", after="^   router-id"
        ),
        "frr": add(" bgp listen range 0.0.0.0/0 peer-group UPSTREAM-V4\n", after="^ bgp router-id"),
        "sonic": add(" bgp listen range 0.0.0.0/0 peer-group UPSTREAM-V4\n", after="^ bgp router-id"),
        "nxos": add(
            "  neighbor 0.0.0.0/0\n    inherit peer UPSTREAM\n    remote-as 65010\n", before="^  neighbor 10"
        ),
    }


def _source_check() -> Fault:
    """Check sources by the route back to them, which drops packets while routes converge."""
    return {
        "eos": replace(
            rf"(interface Ethernet\S+\n   description {LINK}\n)",
            r"\1   ip verify unicast source reachable-via rx\n",
        ),
        "nxos": replace(
            rf"(interface Ethernet\S+\n  description {LINK}\n)",
            r"\1  ip verify unicast source reachable-via rx\n",
        ),
        "frr": replace(r"(rp_filter) = 0", r"\1 = 1", file="sysctl.conf"),
        "junos": replace(
            rf'(description "?{LINK}"?;\n(?:.*\n)*?            family inet \{{\n)',
            r"\1                rpf-check;\n",
        ),
    }


def _no_hold() -> Fault:
    """Keep sessions without keepalives."""
    return {
        "eos": replace(r"timers bgp 3 9", "timers bgp 0 0"),
        "nxos": replace(r"timers bgp 3 9", "timers bgp 60 30"),
        "frr": add(" timers bgp 60 30\n", after="^ bgp router-id"),
        "sonic": add(" timers bgp 60 30\n", after="^ bgp router-id"),
    }


def _short_prefixes() -> Fault:
    """Accept prefixes that nobody announces."""
    return {
        "eos": replace(r"(seq \d+ permit 10\.0\.0\.0/10 )eq 27", r"\1eq 26"),
        "nxos": replace(r"(seq 10 permit 10\.0\.0\.0/10 )eq 27", r"\1eq 26"),
        "frr": replace(r"(permit 10\.0\.0\.0/10 )ge 27 le 27", r"\1ge 24 le 26"),
        "sonic": replace(r"(permit 10\.0\.0\.0/10 )ge 27 le 27", r"\1ge 24 le 26"),
        "junos": replace(
            r"10\.0\.0\.0/10 prefix-length-range /27-/27", "10.0.0.0/10 prefix-length-range /24-/26"
        ),
    }


def _taken_address() -> Fault:
    """Give a port to a host the address of a port of another ToR."""
    line = replace(r"(address )10\.0\.0\.\d+/31", r"\g<1>10.0.0.66/31", count=1)
    return {"eos": line, "nxos": line, "junos": line, "frr": line}


def _tiny_thresholds() -> Fault:
    """Mark nearly every packet."""
    line = replace(
        r"minimum-threshold \d+ bytes maximum-threshold \d+", "minimum-threshold 1 bytes maximum-threshold 2"
    )
    return {
        "eos": line,
        "nxos": line,
        "sonic": edit_tables(
            lambda tables: [
                row.update(green_min_threshold="1", green_max_threshold="2")
                for row in tables["WRED_PROFILE"].values()
            ]
        ),
    }


def _condition(text: str) -> Fault:
    """Add a condition to the import of the routes of the fabric."""
    return {
        "eos": replace(r"^(route-map FROM-\S+ permit 20\n)", rf"\1   match {text}\n"),
        "nxos": replace(r"^(route-map FROM-\S+ permit 20\n)", rf"\1  match {text.lower()}\n"),
    }


KINDS: dict[str, tuple[str, Fault]] = {
    "a metric that nobody sets": ("tor", _condition("metric 4711")),
    "an undefined list of next hops": ("tor", _condition("ip next-hop prefix-list nobody")),
    "an interface that nobody has": ("tor", _condition("interface Loopback77")),
    "RDMA in a queue without PFC": ("tor", _other_queue()),
    "RDMA in the group of lossy traffic": ("tor", _other_group()),
    "pauses stop another queue": ("tor", _pause_of_another_queue()),
    "default route announced": ("tor", _default_announced()),
    "sessions from everywhere": ("tor", _open_peers()),
    "sources are checked": ("tor", _source_check()),
    "sessions that do not notice failures": ("tor", _no_hold()),
    "accepts prefixes that nobody has": ("tor", _short_prefixes()),
    "the address of another ToR": ("tor*", _taken_address()),
    "marks every packet": ("tor", _tiny_thresholds()),
}
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
