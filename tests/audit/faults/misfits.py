"""Faults of settings that are there and do not fit: inactive ones, other routes, classes, ports, lists, logins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.audit.faults.edits import MAIN, UnchangedError, add, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

HOST = r'description "?rack\d+-host'
LINK = r'description "?(?:x0\d|rack\d+-leaf) '
_BLOCKS = {
    "eos": re.compile(r"^interface \S+\n(?:   .*\n)*", re.M),
    "nxos": re.compile(r"^interface \S+\n(?:  .*\n)*", re.M),
    "junos": re.compile(r"^    et\S* \{\n(?:.*\n)*?    \}\n", re.M),
}


def change_ports(
    system: str, wanted: str, pattern: str, text: str, count: int = 0
) -> Callable[[Files], Files]:
    """Replace what an expression matches in the blocks of the first `count` ports whose description matches."""

    def change(files: Files) -> Files:
        left = [count or len(files[MAIN[system]])]

        def edited(block: re.Match[str]) -> str:
            if not left[0] or not re.search(wanted, block[0]):
                return block[0]
            left[0] -= 1
            return re.sub(pattern, text, block[0], flags=re.M)

        old = files[MAIN[system]]
        new = _BLOCKS[system].sub(edited, old)
        if new == old:
            raise UnchangedError(wanted)
        return {**files, MAIN[system]: new}

    return change


def _statics(
    system: str, prefixes: tuple[str, str], hops: tuple[str, str] | None = None
) -> Callable[[Files], Files]:
    """Add static routes for the first prefix that is not the switch's own, by way of its first host."""

    def change(files: Files) -> Files:
        text = files[MAIN[system]]
        first = re.search(r"address (10\.0\.\d+\.)(\d+)/31", text)
        if first is None:
            raise UnchangedError(system)
        host = f"{first[1]}{int(first[2]) + 1}"
        prefix = next(each for each in prefixes if f" {each}" not in text)
        rows = [(prefix, hops[0]), (hops[1], host)] if hops else [(prefix, host)]
        if system == "junos":
            inner = "".join(
                f"        route {each} {{\n            next-hop {via};\n        }}\n" for each, via in rows
            )
            return replace(r"^routing-options \{\n", f"routing-options {{\n    static {{\n{inner}    }}\n")(
                files
            )
        lines = "".join(f"ip route {each} {via}\n" for each, via in rows)
        return add(lines, before="^router bfd" if system == "eos" else "^vrf context management")(files)

    return change


_SYSTEMS = ("eos", "nxos", "junos")
_RACKS, _LOOPBACKS = ("10.0.0.96/27", "10.0.0.0/27"), ("10.128.0.4/32", "10.128.0.8/32")
_FAR = ("203.0.113.9", "203.0.113.9/32")

KINDS: dict[str, tuple[str, Fault]] = {
    "routes that lead back": ("all*", {
        "eos": replace(r"^(router bgp (?:.*\n)*?   neighbor (10\.64\.\S+) peer group)",
                       r"ip route 198.18.0.0/24 \2\n!\n\1", count=1),
        "nxos": replace(r"^(router bgp (?:.*\n)*?  neighbor (10\.64\.\S+)\n)",
                        r"ip route 198.18.0.0/24 \2\n\1", count=1)}),
    "queues that are never full": ("tor", {
        "eos": replace(r"maximum-threshold \d+ bytes", "maximum-threshold 900000000 bytes"),
        "nxos": replace(r"maximum-threshold \d+ bytes", "maximum-threshold 900000000 bytes")}),
    "a slow queue in a profile": ("tor", {
        "eos": replace(r"^(   uc-tx-queue 3\n)", r"\1      shape rate 1000000\n")}),
    "static route by way of another one": ("tor-", {s: _statics(s, _RACKS, _FAR) for s in _SYSTEMS}),
    "loopback of a switch by way of a host": ("tor-", {s: _statics(s, _LOOPBACKS) for s in _SYSTEMS}),
    "wide mask of the loopback": ("all", {
        "eos": replace(r"10\.128\.0\.(\d+)/32$", r"10.128.0.\1/24"),
        "nxos": replace(r"^  ip address 10\.128\.0\.(\d+)/32$", r"  ip address 10.128.0.\1/24"),
        "junos": replace(r"address 10\.128\.0\.(\d+)/32;", r"address 10.128.0.\1/24;"),
    }),
    "a smaller aggregate": ("tor", {
        "eos": replace(r"(aggregate-address \S+)/27", r"\1/28"),
        "nxos": replace(r"(aggregate-address \S+)/27", r"\1/28"),
        "junos": replace(r"(aggregate \{\n +route \S+)/27", r"\1/28"),
    }),
    "imports every prefix": ("all", {
        "eos": replace(r"(FABRIC-V4\n +seq 10 permit )\S+ eq 27", r"\g<1>0.0.0.0/0 le 32"),
        "nxos": replace(r"(FABRIC-V4 seq 10 permit )\S+ eq 27", r"\g<1>0.0.0.0/0 le 32"),
        "junos": replace(r"10\.0\.0\.0/10 prefix-length-range /27-/27", "0.0.0.0/0 orlonger"),
    }),
    "undefined template": ("tor", {"nxos": replace(r"inherit peer UPSTREAM", "inherit peer UPSTREEM")}),
    "internal group": ("tor", {"junos": replace(r"type external;", "type internal;")}),
    "a host port in a VRF": ("tor", {
        "eos": change_ports("eos", HOST, r"^   no switchport\n", "   no switchport\n   vrf RED\n", 1),
        "nxos": change_ports("nxos", HOST, r"^  ip address", "  vrf member RED\n  ip address", 1),
    }),
    "host ports without addresses": ("tor", {
        "eos": change_ports("eos", HOST, r"^   ip address.*\n", ""),
        "nxos": change_ports("nxos", HOST, r"^  ip address.*\n", ""),
        "junos": change_ports("junos", HOST, r"^ +address.*\n", ""),
    }),
    "two uplinks in a bundle": ("tor-", {
        "eos": change_ports("eos", LINK, r"\Z", "   channel-group 1 mode active\n", 2),
        "nxos": change_ports("nxos", LINK, r"\Z", "  channel-group 1 mode active\n", 2),
        "junos": change_ports("junos", LINK, r"^        unit 0 \{\n(?:.*\n)*?        \}\n",
                        "        ether-options {\n            802.3ad ae0;\n        }\n", 2),
    }),
    "no LLDP on one link": ("tor", {
        "eos": change_ports("eos", LINK, r"\Z", "   no lldp transmit\n", 1),
        "nxos": change_ports("nxos", LINK, r"\Z", "  no lldp transmit\n", 1),
        "junos": replace(r"^        interface all;\n",
                         "        interface all;\n        interface et-0/0/8 {\n            disable;\n        }\n"),
    }),
    "RDMA with strict priority": ("all", {
        "eos": replace(r"(uc-tx-queue 3\n)      no priority\n", r"\1      priority strict\n"),
        "nxos": replace(r"(c-out-8q-q3\n    )bandwidth remaining percent \d+", r"\1priority level 3"),
    }),
    "RDMA leaves with another code point": ("all", {
        "eos": add("qos map traffic-class 3 to dscp 0\nqos rewrite dscp\n", before=r"^qos map traffic-class 0 to uc"),
        "nxos": replace(r"^(    set qos-group 3\n)", r"\1    set dscp 0\n"),
    }),
    "RDMA is policed": ("all", {
        "nxos": replace(r"^(    set qos-group 3\n)", r"\1    police cir 1 gbps conform transmit violate drop\n"),
    }),
    "RDMA with high loss priority": ("all", {"junos": replace(r"(FC-RDMA \{\n +loss-priority )low", r"\1high")}),
    "notifications in the default class": ("all", {
        "eos": replace(r"dscp 48 to traffic-class 6", "dscp 48 to traffic-class 0"),
    }),
    "watchdog after a minute": ("all", {
        "eos": replace(r"default timeout 0\.40", "default timeout 60"),
        "junos": replace(r"detection 2;", "detection 100;"),
    }),
    "headroom for small frames": ("all", {"junos": replace(r"mru 9114", "mru 1514")}),
    "a small pool of headroom": ("all", {
        "eos": replace(r"headroom-pool limit bytes \d+", "headroom-pool limit bytes 65536"),
    }),
    "undefined profile of ports": ("all", {
        "eos": replace(r"^   service-profile ROCE-", "   service-profile ROSE-"),
        "nxos": replace(r"^  service-policy type queuing output PM-OUT-(?=\d+G-\d+M$)(.*)\n  no ip",
                        r"  service-policy type queuing output PM-OUTER-\1\n  no ip"),
    }),
    "time server of the fabric": ("all", {
        "eos": replace(r"ntp server vrf MGMT ", "ntp server "),
        "nxos": replace(r"(ntp server \S+) use-vrf management", r"\1"),
        "junos": replace(r"(server 192.0.2.10) routing-instance mgmt_junos", r"\1"),
    }),
    "log server of the fabric": ("all", {
        "eos": replace(r"logging vrf MGMT host", "logging host"),
        "junos": replace(r"^ +routing-instance mgmt_junos;\n", ""),
    }),
    "notifications without priority": ("all", {
        "eos": replace(r"(uc-tx-queue 6\n)      priority strict\n", r"\1      no priority\n"),
        "nxos": replace(r"(c-out-8q-q[67]\n    )priority level \d", r"\1bandwidth remaining percent 0"),
    }),
    "logins without authentication": ("all", {
        "eos": add("aaa authentication login default none\n", before=r"^aaa authorization"),
        "nxos": add("aaa authentication login default none\n", before=r"^copp profile"),
    }),
    "inactive sessions": ("all", {
        "junos": replace(r"^        group (UP|DOWN)STREAM \{", r"        inactive: group \1STREAM {"),
    }),
    "inactive neighbor": ("tor-", {
        "junos": replace(r"^            neighbor 10.64.(\d+).0 \{", r"            inactive: neighbor 10.64.\1.0 {"),
    }),
    "inactive class of service": ("all", {"junos": replace(r"^class-of-service \{", "inactive: class-of-service {")}),
    "link in the VRF of management": ("tor", {
        "junos": replace(r"^    mgmt_junos \{\n", r"\g<0>        interface et-0/0/8.0;\n"),
    }),
    "more paths than a commit takes": ("all", {"junos": replace(r"maximum-ecmp \d+", "maximum-ecmp 1024")}),
    "session without equal paths": ("all", {
        "junos": replace(r"^            neighbor 10\.64\.\S+ \{\n", r"\g<0>                multipath disable;\n"),
    }),
    "login filter of one port": ("all", {
        "junos": replace(r"^(    lo0 \{\n.*\n.*\n) +filter \{\n.*\n +\}\n", r"\1"),
    }),
    "management network in a term": ("all", {
        "junos": add("        term MGMT {\n            from {\n                route-filter 172.16.0.0/16 orlonger;\n"
                     "            }\n            then accept;\n        }\n", after=r"policy-statement CONNECTED \{"),
    }),
    "inactive classifiers": ("all", {
        "junos": replace(r"^( +)classifiers \{\n( +)dscp DSCP;", r"\1inactive: classifiers {\n\2dscp DSCP;"),
    }),
    "undefined load balancing": ("all", {"junos": replace(r"^( +)export PFE-LB;", r"\1export PFE-BL;")}),
    "inactive BFD": ("all", {
        "junos": replace(r"^            bfd-liveness-detection \{", "            inactive: bfd-liveness-detection {"),
    }),
    "inactive load balancing": ("all", {"junos": replace(r"^( +)export PFE-LB;", r"\1inactive: export PFE-LB;")}),
    "inactive addresses": ("all", {
        "junos": change_ports("junos", LINK, r"^( +)address", r"\1inactive: address"),
    }),
}  # fmt: skip
