"""Faults of settings that lack a part: numbers of sessions, routed ports, ways of management, prefixes of hosts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.audit.faults.edits import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _drop_in_group(files: Files) -> Files:
    """Drop the group of BGP, as an operator overrides a row of copp_cfg.json."""
    tables = json.loads(files["config_db.json"])
    tables["COPP_GROUP"] = {
        "queue4_group1": {"trap_action": "drop", "meter_type": "packets", "mode": "sr_tcm"}
    }
    return {**files, "config_db.json": f"{json.dumps(tables, indent=4)}\n"}


_DDOS = """system {
    ddos-protection {
        protocols {
            bfd {
                aggregate {
                    bandwidth 1;
                }
            }
        }
    }
"""
_POLICER = """class-map type control-plane match-any ROUTING
  match access-group name ROUTING
policy-map type control-plane OWN
  class ROUTING
    police cir 4000 kbps bc 1000 packets conform drop violate drop
control-plane
  service-policy input OWN
ip access-list ROUTING
  10 permit tcp any any eq bgp
  20 permit udp any any eq 3784
"""

KINDS: dict[str, tuple[str, Fault]] = {
    "no AS number of a neighbor": ("all", {
        "eos": replace(r"^   neighbor \S+ remote-as \d+\n", ""),
        "nxos": replace(r"^    remote-as \d+\n", ""),
        "junos": replace(r"^ +peer-as \d+;\n", ""),
        "frr": replace(r"^ neighbor \S+ remote-as \d+\n", ""),
    }),
    "no AS number": ("all", {"junos": replace(r"^ +autonomous-system \d+;\n", "")}),
    "bridged ports": ("all", {
        "eos": replace(r"^   no switchport\n", ""),
    }),
    "gateway outside of the subnet": ("all", {
        "eos": replace(r"172\.16\.0\.1$", "172.17.0.1"), "nxos": replace(r"172\.16\.0\.1$", "172.17.0.1"),
        "junos": replace(r"next-hop 172\.16\.0\.1;", "next-hop 172.17.0.1;"),
        "sonic": replace(r'"gwaddr": "172\.16\.0\.1"', '"gwaddr": "172.17.0.1"', file="config_db.json"),
        "cumulus": replace(r"172\.16\.0\.1: \{\}", "172.17.0.1: {}"),
        "frr": replace(r"172\.16\.0\.1\b", "172.17.0.1", file="interfaces"),
    }),
    "no gateway": ("all", {
        "eos": replace(r"^ip route vrf MGMT.*\n", ""), "nxos": replace(r"^  ip route 0\.0\.0\.0/0 172.*\n", ""),
        "junos": replace(r"^ +route 0\.0\.0\.0/0 next-hop 172.*\n", ""),
    }),
    "access list without a permit": ("all", {
        "eos": replace(r"10 permit 192\.0\.2\.0/24", "10 deny 192.0.2.0/24"),
        "nxos": replace(r"10 permit ip 192\.0\.2\.0/24 any", "10 deny ip 192.0.2.0/24 any"),
    }),
    "hosts kept out of BGP": ("tor", {
        "eos": replace(r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10"),
        "nxos": replace(r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10"),
        "frr": replace(r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10"),
        "sonic": replace(r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10", file="frr.conf"),
        "junos": replace(r"^( +term AGGREGATES \{\n(?:.*\n)*?)( +)next policy;", r"\1\2reject;"),
    }),
    "no aggregate": ("tor", {
        "eos": replace(r"^   aggregate-address .*\n", ""), "nxos": replace(r"^    aggregate-address .*\n", ""),
        "frr": replace(r"^  aggregate-address .*\n", ""),
        "sonic": replace(r"^  aggregate-address .*\n", "", file="frr.conf"),
        "junos": replace(r"^ +route \S+ discard;\n", ""),
    }),
    "learned routes rejected": ("spine", {
        "junos": replace(r"^( +term BGP \{\n(?:.*\n)*?)( +)next policy;", r"\1\2reject;"),
    }),
    "one route of equal ones": ("all", {"junos": replace(r"^ +load-balance per-packet;\n", "")}),
    "feature off": ("all", {"nxos": replace(r"^feature bgp\n", "")}),
    "daemon not listed": ("all", {"frr": replace(r"^bgpd=yes\n", "", file="daemons")}),
    "kernel without forwarding": ("all", {"frr": replace(r"^net\.ipv4\.ip_forward.*\n", "", file="sysctl.conf")}),
    "kernel without hashing of ports": ("all", {
        "frr": replace(r"^net\.ipv4\.fib_multipath_hash_policy.*\n", "", file="sysctl.conf"),
    }),
    "logins of others accepted": ("all", {"frr": replace(r"^ +tcp dport \d+ drop\n", "", file="nftables.conf")}),
    "headroom of another priority": ("all", {
        "eos": replace(r"ingress priority-group 3 ", "ingress priority-group 4 "),
    }),
    "no FEC": ("all", {
        "eos": replace(r"error-correction encoding reed-solomon", "no error-correction encoding"),
        "nxos": replace(r"^  fec [kr][ps]-fec$", "  fec off"),
    }),
    "PFC of a class with losses": ("all", {
        "junos": replace(
            r"^( +)code-point 011010 \{\n((?:.*\n)*?)\1\}\n",
            r"\1code-point 011010 {\n\2\1}\n\1code-point 100010 {\n\2\1}\n",
        ),
    }),
    "PFC in one direction": ("all", {"cumulus": replace(r"^( +)rx: enable$", r"\1rx: disable")}),
    "undefined filter": ("all", {"junos": replace(r"input PROTECT;", "input PROTECT-X;")}),
    "BFD kept from the CPU": ("all", {
        "junos": replace(r"destination-port \[ 3784 3785 4784 \];", "destination-port [ 3785 4784 ];"),
    }),
    "BGP and BFD policed to nothing": ("all", {"nxos": replace(r"\Z", _POLICER)}),
    "BFD kept from the CPU by its rate": ("all", {
        "eos": replace(
            r"\Z", "policy-map type copp copp-system-policy\n   class copp-system-bfd\n      shape pps 1\n"
        ),
        "nxos": replace(r"\Z", "hardware rate-limiter bfd 1\n"),
        "junos": replace(r"^system \{\n", _DDOS),
        "cumulus": replace(r"^( +)(control-plane:\n)", r"\1\2\1  policer:\n\1    bfd:\n\1      rate: 10\n"),
    }),
    "BGP dropped before the CPU": ("all", {
        "eos": replace(
            r"\Z", "policy-map type copp copp-system-policy\n   class copp-system-bgp\n      shape kbps 0\n"
        ),
        "nxos": replace(r"\Z", _POLICER.replace("4000 kbps bc 1000 packets conform drop violate drop", "0 kbps")),
        "sonic": _drop_in_group,
    }),
    "community list that only denies": ("tor", {
        "eos": replace(r"^(ip community-list GRACEFUL-SHUTDOWN) permit", r"\1 deny"),
        "nxos": replace(r"^(ip community-list standard GRACEFUL-SHUTDOWN seq 10) permit", r"\1 deny"),
        "frr": replace(r"^(bgp community-list standard GRACEFUL-SHUTDOWN seq 5) permit", r"\1 deny"),
        "sonic": replace(
            r"^(bgp community-list standard GRACEFUL-SHUTDOWN seq 5) permit", r"\1 deny", file="frr.conf"
        ),
        "cumulus": replace(r"(GRACEFUL-SHUTDOWN:\n +rule:\n +'\d+':\n +action: )permit", r"\1deny"),
    }),
    "undefined list in front of management": ("all", {
        "nxos": replace(r"^(  ipv6 access-class \S+)( in)", r"\1-X\2"),
    }),
    "no login over SSH": ("all", {"eos": replace(r"^(   vrf MGMT\n      )no shutdown", r"\1shutdown")}),
    "ports split too narrowly": ("tor", {"nxos": replace(r"map 400g-2x", r"map 100g-4x")}),
    "ports not split": ("tor", {
        "nxos": replace(r"^interface breakout .*\n", ""),
    }),
}  # fmt: skip
