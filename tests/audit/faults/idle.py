# ruff: noqa: E501  (a fault is one line)
"""Faults of settings that name nothing, are not in force, drop traffic by its addresses, or keep a part idle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, chain_edits, replace
from tests.audit.faults.misfits import HOST, LINK, change_ports

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

_END = r"(?=\Z)"


def _filter(denied: str, term: str) -> Fault:
    """Filter what links carry: a rule of EOS and NX-OS, and the conditions of a term of Junos."""
    rules = (denied, "permit ip any any")
    eos = "".join(f"   {10 * at} {rule}\n" for at, rule in enumerate(rules, 1))
    nxos = eos.replace("   ", "  ")
    junos = (
        f"firewall {{\n    family inet {{\n        filter RULES {{\n            term 1 {{\n                from {{\n"
        f"                    {term}\n                }}\n                then {{\n                    discard;\n"
        "                }\n            }\n            term 2 {\n                then {\n                    accept;\n"
        "                }\n            }\n        }\n"
    )
    bound = r"\g<0>\1    filter {\n\1        input RULES;\n\1    }\n"
    return {
        "eos": chain_edits(
            add(f"ip access-list RULES\n{eos}!\n", before=r"^router bfd"),
            change_ports("eos", LINK, _END, "   ip access-group RULES in\n"),
        ),
        "nxos": chain_edits(
            add(f"ip access-list RULES\n{nxos}", before=r"^class-map type qos"),
            change_ports("nxos", LINK, _END, "  ip access-group RULES in\n"),
        ),
        "junos": chain_edits(
            replace(r"^firewall \{\n    family inet \{\n", junos),
            change_ports("junos", LINK, r"^( +)family inet \{\n", bound),
        ),
    }


def _inactive(pattern: str) -> Fault:
    """Deactivate the statements whose first lines an expression matches."""
    return {"junos": replace(rf"^( +){pattern}", lambda match: f"{match[1]}inactive: {match[0].lstrip()}")}


_CONTROL_PLANE = "system control-plane\n   ip access-group CP in\n!\n"
_BEFORE = {"eos": r"^router bfd", "nxos": r"^vrf context management"}

_NETCONF = r"^(        netconf \{\n)"


def _import(terms: str, chain: str = "NARROW") -> Callable[[Files], Files]:
    """Define a policy of Junos, and use it for what is received."""
    return chain_edits(
        replace(
            r"^policy-options \{\n", f"policy-options {{\n    policy-statement NARROW {{\n{terms}    }}\n"
        ),
        replace(r"^( +)import (\S+);", lambda match: f"{match[1]}import {chain.format(match[2])};"),
    )


KINDS: dict[str, tuple[str, Fault]] = {
    "filter on sources of the fabric": (
        "tor", _filter("deny ip 10.0.0.0/10 any", "source-address {\n 10.0.0.0/10;\n }")
    ),
    "filter on addresses of links": ("tor", _filter(
        "deny tcp 10.64.0.0/16 any eq 179", "source-address {\n 10.64.0.0/16;\n }\n protocol tcp;\n port bgp;"
    )),
    "filter on the code point of RDMA": ("tor", _filter("deny ip any any dscp 26", "dscp af31;")),
    "traffic policy on RoCE": ("tor", {"eos": chain_edits(
        add(
            "traffic-policies\n   traffic-policy TP\n      match ROCE ipv4\n"
            "         protocol udp destination port 4791\n         !\n         actions\n            drop\n!\n",
            before=_BEFORE["eos"],
        ),
        change_ports("eos", LINK, _END, "   traffic-policy input TP\n"),
    )}),
    "undefined traffic policy": ("tor", {
        "eos": change_ports("eos", LINK, _END, "   traffic-policy input NOBODY\n"),
    }),
    "links kept from the CPU": ("tor", {
        "eos": chain_edits(
            add("ip access-list CP\n   10 deny ip 10.64.0.0/16 any\n   20 permit ip any any\n!\n",
                before=_BEFORE["eos"]),
            add(_CONTROL_PLANE, before=_BEFORE["eos"]),
        ),
        "junos": replace(
            r"(filter PROTECT \{\n)",
            r"\1            term LINKS {\n                from {\n                    source-address {\n"
            r"                        10.64.0.0/16;\n                    }\n                }\n"
            r"                then {\n                    discard;\n                }\n            }\n",
        ),
    }),
    "uplinks in loopback": ("tor", {
        "eos": change_ports("eos", LINK, _END, "   traffic-loopback source system device mac\n"),
        "junos": change_ports("junos", LINK, r"^        mtu 9114;\n",
                              r"\g<0>        ether-options {\n            loopback;\n        }\n"),
    }),
    "left in maintenance": ("tor", {
        "eos": add("maintenance\n   unit System\n      quiesce\n!\n", before=_BEFORE["eos"]),
        "nxos": add("system mode maintenance\n", before=_BEFORE["nxos"]),
    }),
    "BGP isolated": ("tor", {"nxos": replace(r"^(router bgp \d+\n)", r"\1  isolate\n")}),
    "routes wait for minutes": ("tor", {
        "eos": replace(r"^(   neighbor (\w+) bfd\n)", r"\1   neighbor \2 out-delay 300\n"),
        "junos": replace(r"^(            type external;\n)", r"\1            out-delay 300;\n"),
    }),
    "routes that are never used": ("tor", {
        "eos": replace(r"^(   timers bgp 3 9\n)", r"\1   distance bgp 255 255 255\n"),
        "nxos": replace(r"^(  address-family ipv4 unicast\n)(    redis)", r"\1    distance 255 255 255\n\2"),
    }),
    "a log of emergencies": ("tor", {
        "eos": add("logging trap emergencies\n", before=r"^logging vrf"),
        "nxos": replace(r"(logging server 192\.0\.2\.20) 6", r"\1 0"),
        "junos": replace(r"(host 192\.0\.2\.20 \{\n +any )notice", r"\1emergency"),
    }),
    "root without a password": ("tor", {"eos": add("aaa root nopassword\n!\n", before=r"^aaa authorization")}),
    "SNMP without authentication": ("tor", {
        "eos": add("snmp-server group MON v3 noauth read ALL\n!\n", before=_BEFORE["eos"]),
    }),
    "commands in the clear": ("tor", {"junos": replace(r"^(        netconf \{\n)", r"        xnm-clear-text;\n\1")}),
    "hash without layer 4": ("tor", {"junos": replace(
        r"^(    enhanced-hash-key \{\n)",
        r"\1        inet {\n            no-l4-source-port;\n            no-l4-destination-port;\n        }\n",
    )}),
    "undefined classifier": ("tor", {"junos": replace(r"dscp DSCP;", "dscp DSPC;")}),
    "undefined drop profile": ("tor", {"junos": replace(r"drop-profile ECN-(\S+);", r"drop-profile ENC-\1;")}),
    "undefined class": ("tor", {
        "nxos": replace(r"^  class CM-RDMA\n", "  class CM-RDMAX\n"),
        "junos": replace(r"^            forwarding-class FC-RDMA \{\n( +loss)",
                         r"            forwarding-class FC-RMDA {\n\1"),
    }),
    "class of an undefined list": ("tor", {
        "nxos": replace(r"^  match dscp 26\n", "  match access-group name NOBODY\n"),
    }),
    "undefined group": ("all", {"junos": replace(r"^system \{", "apply-groups NOBODY;\nsystem {")}),
    "undefined import function": ("tor", {
        "eos": replace(r"neighbor (\w+) route-map FROM-\w+ in", r"neighbor \1 rcf in NOBODY()"),
    }),
    "undefined list of AS paths": ("tor", {
        "eos": replace(r"^(route-map FROM-\w+ permit 20\n)", r"\1   match as-path NOBODY\n"),
        "nxos": replace(r"^(route-map FROM-\w+ permit 20\n)", r"\1  match as-path NOBODY\n"),
    }),
    "shut hosts": ("tor", {
        "eos": change_ports("eos", HOST, _END, "   shutdown\n"),
        "nxos": change_ports("nxos", HOST, r"^  no shutdown", "  shutdown"),
        "junos": change_ports("junos", HOST, r"^        mtu 9114", "        disable;\n        mtu 9114"),
    }),
    "hosts without a subnet": ("tor", {
        system: change_ports(system, HOST, "/31", "/32") for system in ("eos", "nxos", "junos")
    }),
    "loopback in a VRF": ("tor", {
        "eos": replace(r"^(interface Loopback0\n)", r"\1   vrf RED\n"),
        "nxos": replace(r"^(interface loopback0\n)", r"\1  vrf member RED\n"),
        "junos": replace(r"^routing-instances \{\n", (
            "routing-instances {\n    RED {\n        instance-type virtual-router;\n        interface lo0.0;\n    }\n"
        )),
    }),
    "fixed MAC address of a neighbor": ("tor-", {
        "eos": replace(r"^router bgp \d+\n(?:.*\n)*?   neighbor (10\.64\.\d+\.\d+) remote",
                       lambda match: f"arp {match[1]} 00:00:de:ad:be:ef arpa\n!\n{match[0]}"),
    }),
    "slow BFD of a port": ("tor", {
        "eos": change_ports("eos", LINK, _END, "   bfd interval 10000 min-rx 10000 multiplier 50\n", 1),
        "nxos": change_ports("nxos", LINK, _END, "  bfd interval 999 min_rx 999 multiplier 50\n", 1),
    }),
    "an aggregate that stays with the spines": ("tor", {
        "junos": replace(r"(        route 10\.0\.0\.\d+/27) discard;",
                         r"\1 {\n            community no-advertise;\n            discard;\n        }"),
        "nxos": chain_edits(
            add("route-map QUIET permit 10\n  set community no-advertise\n", before=_BEFORE["nxos"]),
            replace(r"(aggregate-address \S+ summary-only)", r"\1 attribute-map QUIET"),
        ),
    }),
    "next hops of spines stay": ("spine", {
        "eos": replace(r"^(   neighbor (\w+) bfd\n)", r"\1   neighbor \2 next-hop-unchanged\n"),
        "junos": replace(r"^(            type external;\n)",
                         r"\1            multihop {\n                no-nexthop-change;\n            }\n"),
    }),
    "a limit of three prefixes": ("tor", {
        "eos": replace(r"maximum-routes \d+", "maximum-routes 3"),
        "nxos": replace(r"maximum-prefix \d+", "maximum-prefix 3"),
        "junos": replace(r"maximum \d+;", "maximum 3;"),
    }),
    "small egress share": ("tor", {
        "eos": replace(r"egress unicast queue 3 threshold 8", "egress unicast queue 3 threshold 1/64"),
    }),
    "PFC priority drops": ("tor", {
        "eos": replace(r"priority-flow-control priority 3 no-drop", "priority-flow-control priority 3 drop"),
    }),
    "the own list at the import": ("tor", {
        "eos": replace(r"^(route-map FROM-UPSTREAM permit 20\n.*prefix-list )FABRIC-V4", r"\1OWN-V4"),
        "nxos": replace(r"^(route-map FROM-UPSTREAM permit 20\n.*prefix-list )FABRIC-V4", r"\1OWN-V4"),
    }),
    "swapped policies": ("tor", {"junos": replace(r"import FROM-UPSTREAM;", "import TO-UPSTREAM;")}),
    "an entry of the list rejects": ("tor", {
        "junos": replace(r"prefix-length-range /27-/27;", "prefix-length-range /27-/27 reject;"),
    }),
    "no path of the neighbors": ("tor", {
        "nxos": chain_edits(
            add('ip as-path access-list NOTHING seq 5 deny ".*"\n', before=r"^ip prefix-list OWN"),
            replace(r"^(      route-map FROM-\w+ in\n)", r"      filter-list NOTHING in\n\1"),
        ),
    }),
    "everything accepted first": ("tor", {
        "junos": replace(r"(filter PROTECT \{\n)",
                         r"\1            term FIRST {\n                then {\n                    accept;\n"
                         r"                }\n            }\n"),
        "nxos": replace(r"^(ip access-list FABRICC-ACCESS\n)", r"\1  5 permit ip any any\n"),
    }),
    "ports shut by default": ("tor", {
        "eos": add("interface defaults\n   ethernet\n      shutdown\n!\n", before=_BEFORE["eos"]),
    }),
    "import function without routes": ("tor", {
        "eos": chain_edits(
            add("router general\n   control-functions\n      code unit IMPORT\n         function IN() {\n"
                "            return false;\n         }\n         EOF\n!\n", before=_BEFORE["eos"]),
            replace(r"neighbor (\w+) route-map FROM-\w+ in", r"neighbor \1 rcf in IN()"),
        ),
    }),
    "a host by way of an uplink": ("tor-", {
        "nxos": replace(
            r"^(interface Ethernet1/1/1\n(?:.*\n)*?  ip address 10\.0\.0\.)(\d+)((?:.*\n)*?  neighbor (10\.64\S+))",
            lambda match: f"ip route 10.0.0.{int(match[2]) + 1}/32 {match[4]}\n{match[0]}",
        ),
    }),
    "RDMA with notifications": ("tor", {
        "eos": replace(r"dscp 26 to traffic-class 3", "dscp 26 to traffic-class 6"),
        "nxos": chain_edits(
            replace(r"^  match dscp 26\n", ""), replace(r"^  match dscp 48\n", "  match dscp 26,48\n")
        ),
    }),
    "classes by tags": ("tor", {
        "nxos": replace(r"^  match dscp 26\n", "  match cos 3\n"),
        "junos": replace(r"(classifiers \{\n +)dscp DSCP;", r"\1ieee-802.1 default;"),
    }),
    "small packets of a class": ("tor", {"nxos": replace(r"(c-8q-nq3\n    mtu )9216", r"\g<1>1500")}),
    "extended communities alone": ("tor", {
        "eos": replace(r"send-community$", "send-community extended"),
        "nxos": replace(r"^      send-community$", "      send-community extended"),
    }),
    "shaped uplinks": ("tor", {
        "junos": replace(r"^(            scheduler-map SM-800G-40M;\n)", r"\1            shaping-rate 10g;\n"),
    }),
    "one path of the forwarding table": ("tor", {
        "junos": replace(r"^ +load-balance per-packet;\n", "            accept;\n"),
    }),
    "inactive uplink": ("tor-", _inactive(r"et-0/0/8 \{\n        desc")),
    "inactive LLDP": ("tor", _inactive(r"lldp \{")),
    "inactive policy": ("all", _inactive(r"policy-statement FROM-")),
    "inactive split ports": ("tor", _inactive("number-of-sub-ports")),
    "inactive time server": ("tor", _inactive(r"server 192")),
    "inactive loopback": ("tor", _inactive(r"lo0 \{")),
    "inactive number of neighbors": ("all", _inactive("peer-as")),
    "Telnet with a limit": ("tor", {"junos": replace(_NETCONF, r"        telnet {\n            connection-limit 5;\n        }\n\1")}),
    "gRPC in the clear": ("tor", {"junos": replace(_NETCONF, r"        extension-service {\n            request-response {\n                grpc {\n                    clear-text {\n                        port 50051;\n                    }\n                }\n            }\n        }\n\1")}),
    "an empty password": ("all", {"junos": replace(r"^(        user netops \{\n)", '        user evil {\n            class super-user;\n            authentication {\n                encrypted-password "";\n            }\n        }\n\\1')}),
    "headroom of one percent": ("all", {"junos": replace(r"(lossless-headroom \{\n +percent )24", r"\g<1>1")}),
    "more than the whole buffer": ("all", {"junos": replace(r"(partition lossy \{\n +percent )10", r"\g<1>70")}),
    "less buffer at the egress": ("all", {"junos": replace(r"(egress \{\n +buffer-partition lossless \{\n +percent )66", r"\g<1>6")}),
    "marking of TCP alone": ("all", {"junos": replace("any protocol any drop-profile", "any protocol tcp drop-profile")}),
    "a misspelled session": ("all", {"junos": replace(r"^( +)neighbor (?=10)", r"\1neigbor ")}),
    "a misspelled AS number": ("all", {"junos": replace("peer-as", "peer_as")}),
    "a misspelled section": ("all", {"junos": replace(r"^protocols \{", "protocol {")}),
    "import by the next term": ("all", {"junos": _import("        term 1 {\n            from protocol bgp;\n            then next term;\n        }\n        then reject;\n")}),
    "import of another family": ("all", {"junos": _import("        term 1 {\n            from family inet6;\n            then accept;\n        }\n        then reject;\n")}),
    "import of strange prefixes": ("tor", {"junos": _import("        term 1 {\n            from {\n                route-filter 192.0.2.0/24 orlonger;\n            }\n            then accept;\n        }\n        then reject;\n")}),
    "a chain that begins with nothing": ("all", {"junos": _import("        then reject;\n", "[ NARROW {} ]")}),
    "an expression with nothing": ("all", {"junos": _import("        then reject;\n", "( NARROW && {} )")}),
    "packets to the switch itself": ("tor", {"junos": replace(r"^(    aggregate \{\n)", r"    static {\n        route 10.136.0.0/32 receive;\n    }\n\1")}),
    "an own address as the next hop": ("tor", {"junos": lambda files: replace(r"^(    aggregate \{\n)", "    static {\n        route 198.51.100.0/24 next-hop "
        + re.findall(r"address (10\.64\.[\d.]+)/31", files["juniper.conf"])[0] + ";\n    }\n\\1")(files)}),
}  # fmt: skip
