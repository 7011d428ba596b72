# ruff: noqa: E501  (an edit is one line)
"""Faults of settings of FRR, Linux and SONiC that by themselves keep sessions, routes or the kernel from working."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import add, chain_edits, edit_tables, replace, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _edit(*edits: Callable[[Files], Files]) -> Fault:
    return {"frr": chain_edits(*edits)}


def _router(line: str) -> Fault:
    """Add a line to the process."""
    return _edit(replace(r"^ bgp router-id (\S+)$", rf"\g<0>\n {line}"))


def _group(words: str) -> Fault:
    """Add a line about the peer group."""
    return _edit(replace(r"^ neighbor (\S+-V4) peer-group$", rf"\g<0>\n neighbor \1 {words}"))


def _family(words: str) -> Fault:
    """Add a line about the peer group to the address family."""
    return _edit(replace(r"^  neighbor (\S+-V4) activate", rf"\g<0>\n  neighbor \1 {words}"))


def _import(line: str) -> Fault:
    """Add a line to the last clause of the import."""
    clause = r"^(route-map FROM-UPSTREAM permit 20\n match ip address prefix-list FABRIC-V4)"
    return _edit(replace(clause, rf"\1\n {line}"))


def _kernel(line: str) -> Fault:
    """Add a setting of the kernel."""
    return _edit(add(f"{line}\n", file="sysctl.conf"))


def _ports(before: str, inside: str) -> Fault:
    """Add lines before the first port of `interfaces`, and in it."""
    return _edit(replace(r"^auto swp1\niface swp1\n", rf"{before}\g<0>{inside}", file="interfaces"))


def _filters(pattern: str, text: str) -> Fault:
    """Replace text of the packet filter."""
    return _edit(replace(pattern, text, file="nftables.conf"))


def _tables(change: Callable[[dict[str, Any]], object]) -> Fault:
    """Change tables of SONiC."""
    return {"sonic": edit_tables(change)}


def _both(*edits: Callable[[Files], Files]) -> Fault:
    """Make the same edits of FRR's lines on Linux and SONiC."""
    return {"frr": chain_edits(*edits), "sonic": chain_edits(*edits)}


def _rename(tables: dict[str, Any], table: str, old: str, new: str) -> None:
    """Give a row another key, or where it has rows below ports, each of them another field."""
    tables[table][new] = tables[table].pop(old)


def _filter_arp(tables: dict[str, Any]) -> None:
    ports = [
        name for name, row in tables["PORT"].items() if row.get("description", "").startswith(("x0", "rack0"))
    ]
    tables["ACL_TABLE"]["F1"] = {"type": "L3", "stage": "ingress", "ports": ports}
    tables["ACL_RULE"]["F1|R1"] = {"PRIORITY": "9", "PACKET_ACTION": "DROP", "ETHER_TYPE": "0x0806"}


KINDS: dict[str, tuple[str, Fault]] = {
    "a field that nothing reads": ("all", _tables(lambda tables: [row.update(pfc_enabled=row.pop("pfc_enable")) for row in tables["PORT_QOS_MAP"].values() if "pfc_enable" in row])),
    "a table that nothing reads": ("all", _tables(lambda tables: tables.update(WRED_PROFILES=tables.pop("WRED_PROFILE")))),
    "a table twice": ("all", {"sonic": replace(r"\n\}\n\Z", r',\n    "PORT_QOS_MAP": {\n        "global": {}\n    }\n}\n', file="config_db.json")}),
    "a row of no port": ("all", _tables(lambda tables: _rename(tables, "PORT_QOS_MAP", [*tables["PORT_QOS_MAP"]][-1], "Ethernet9999"))),
    "rules of no list": ("all", _tables(lambda tables: _rename(tables, "ACL_RULE", "FABRICC_SSH|RULE_1", "FABRIC_SSH|RULE_1"))),
    "a map of no name": ("all", _tables(lambda tables: _rename(tables, "DSCP_TO_TC_MAP", "AZURE", "ROCE"))),
    "no ARP": ("all", _tables(_filter_arp)),
    "logs over the fabric": ("all", _tables(lambda tables: tables["SYSLOG_SERVER"]["192.0.2.20"].update(vrf="default"))),
    "a key of no clock": ("all", _tables(lambda tables: [tables["NTP"]["global"].update(authentication="enabled"), tables["NTP_SERVER"]["192.0.2.10"].update(key="42")])),
    "LLDP without packets": ("all", _tables(lambda tables: walk(tables, "LLDP", "GLOBAL").update(enabled="false"))),
    "one packet of BGP": ("all", _tables(lambda tables: walk(tables, "COPP_GROUP", "queue4_group1").update(cir="1", red_action="drop"))),
    "no priority": ("tor", _tables(lambda tables: [row.update(pfc_enable="") for row in tables["PORT_QOS_MAP"].values() if "pfc_enable" in row])),
    "a mask of four numbers": ("tor-", _both(replace("^router bgp", r"ip route 10.0.0.96 255.255.255.224 Null0\n\g<0>", file="frr.conf"))),
    "a tag of a drop": ("tor-", _both(replace("^router bgp", r"ip route 10.0.0.96/27 Null0 tag 7\n\g<0>", file="frr.conf"))),
    "a default of nothing": ("tor", _both(replace("^router bgp", r"ip prefix-list UNUSED seq 5 permit 0.0.0.0/0\nip route 0.0.0.0/0 Null0\n\g<0>", file="frr.conf"))),
    "management is announced": ("tor", _both(replace(r"^ address-family ipv4 unicast$", r"\g<0>\n  network 172.16.0.0/16", file="frr.conf"))),
    "own routes come back": ("all", _both(replace(r"^  neighbor (\S+-V4) activate", r"\g<0>\n  neighbor \1 allowas-in origin", file="frr.conf"))),
    "few prefixes are announced": ("tor", _family("maximum-prefix-out 1")),
    "late announcements": ("all", _group("advertisement-interval 600")),
    "sessions that open late": ("all", _group("timers connect 65535")),
    "no route after a start": ("all", _router("update-delay 3600")),
    "the worst metric": ("spine-", _router("bgp max-med administrative")),
    "a confederation of nobody": ("all", _router("bgp confederation identifier 65000")),
    "long hold times alone": ("all", _router("bgp minimum-holdtime 60")),
    "a role without an answer": ("tor", _group("local-role provider strict-mode")),
    "the own number is left out": ("tor", _family("attribute-unchanged as-path")),
    "a route server": ("spine-", _family("route-server-client")),
    "another port of BGP": ("all", _group("port 1179")),
    "both ends of BFD wait": ("all", _edit(replace(r"^ profile FABRIC\n", " profile FABRIC\n  passive-mode\n"))),
    "BFD over several hops": ("tor-", _group("ebgp-multihop 5")),
    "BFD of a neighbor is shut": ("tor", _edit(replace(r"^bfd\n((?:.*\n)*? neighbor (10\.\S+) remote-as)", r"bfd\n peer \2\n  shutdown\n exit\n !\n\1"))),
    "a distance of all neighbors": ("all", _edit(replace(r"^  maximum-paths 64$", r"\g<0>\n  distance 255 0.0.0.0/0"))),
    "next hops that are not tracked": ("all", _edit(replace(r"^router bgp", "route-map NONE deny 10\nexit\n!\nip nht bgp route-map NONE\nrouter bgp"))),
    "an undefined VRF": ("all", _edit(replace(r"^  maximum-paths 64$", r"\g<0>\n  import vrf RED"))),
    "an undefined map of an aggregate": ("tor", _edit(replace(r"summary-only$", "summary-only route-map NOPE"))),
    "an undefined large community": ("tor", _import("match large-community NOPE")),
    "routes in another table": ("tor", _import("set table 100")),
    "a peer of nobody": ("tor", _import("match peer 192.0.2.9")),
    "next hops of hosts": ("tor", _import("match ip next-hop prefix-list CONNECTED-V4")),
    "half of the routes": ("tor", _import("match probability 50")),
    "a preference of no route": ("tor", _import("match local-preference 777")),
    "a port that does not forward": ("all", _kernel("net.ipv4.conf.swp1.forwarding = 0")),
    "no answer to ARP": ("all", _kernel("net.ipv4.conf.all.arp_ignore = 8")),
    "room for few neighbors": ("all", _edit(replace(r"(ipv4.neigh.default.gc_thresh3) = .*", r"\1 = 1", file="sysctl.conf"))),
    "few open files": ("all", _edit(replace("MAX_FDS=4096", "MAX_FDS=16", file="daemons"))),
    "draining without effect": ("all", _edit(replace(r"^ set local-preference 0\n", ""))),
    "no clause for draining": ("all", _edit(replace(r"^route-map FROM-\S+ permit 10\n(?: .*\n)+(?:exit\n!\n)?", ""))),
    "all is denied first": ("tor", _edit(replace(r"^route-map FROM-UPSTREAM permit 10", r"route-map FROM-UPSTREAM deny 5\nexit\n!\n\g<0>"))),
    "a list of the other family": ("all", _edit(replace("match ip address prefix-list FABRIC-V4", "match ipv6 address prefix-list FABRIC-V4"))),
    "a loopback that is not set up": ("all", _edit(replace("^auto lo\n", "", file="interfaces"))),
    "a loopback without an address": ("all", _edit(replace(r"^(iface lo inet loopback\n) +address .*\n", r"\1", file="interfaces"))),
    "a default route of management": ("all", _edit(replace("^router bgp", r"ip route 0.0.0.0/0 172.16.0.1\n\g<0>"))),
    "a route onto a link": ("tor", _edit(replace("^router bgp", r"ip route 10.0.0.96/27 swp17\n\g<0>"))),
    "EVPN at one end": ("tor-", _edit(replace("^ exit-address-family$", r"\g<0>\n !\n address-family l2vpn evpn\n  neighbor UPSTREAM-V4 activate\n exit-address-family"))),
    "bgpd at another port": ("all", _edit(replace(r'(bgpd_options="-A 127.0.0.1)', r"\1 -p 1179", file="daemons"))),
    "spaces around a sign": ("all", _edit(replace("bgpd=yes", "bgpd = yes", file="daemons"))),
    "a daemon in capitals": ("all", _edit(replace("bfdd=yes", "BFDD=yes", file="daemons"))),
    "ports in a bridge": ("all", _ports("auto br0\niface br0\n    bridge-ports swp1 swp2\n\n", "")),
    "a port that ifupdown2 takes down": ("all", _ports("", "    link-down yes\n")),
    "a command that takes a port down": ("all", _ports("", "    up ip link set swp1 down\n")),
    "a port by another name": ("all", _edit(replace("^iface swp1$", "iface swp111", file="interfaces"))),
    "a gateway of the fabric": ("all", _edit(replace("^iface eth0$", r"\g<0>\n    gateway 172.16.0.1", file="interfaces"))),
    "slashes in the name": ("all", _kernel("net/ipv4/ip_forward = 0")),
    "a hash of fields without ports": ("all", _kernel("net.ipv4.fib_multipath_hash_fields = 3")),
    "everything else is dropped": ("all", _filters(r"policy accept;", "policy drop;")),
    "nothing is forwarded": ("all", _filters(r"^    chain input", r"    chain forward {\n        type filter hook forward priority 0; policy drop;\n    }\n\g<0>")),
    "sources of the fabric are dropped": ("all", _filters(r"^ +tcp dport 22 drop", r"        ip saddr 10.0.0.0/8 drop\n\g<0>")),
    "packets of one hop are dropped": ("all", _filters(r"^ +tcp dport 22 drop", r"        ip ttl < 2 drop\n\g<0>")),
    "BGP above a rate is dropped": ("all", _filters(r"^ +tcp dport 22 drop", r"        tcp dport 179 limit rate over 1/second drop\n\g<0>")),
    "hosts may log in": ("all", _filters(r"^ +tcp dport 22 drop", r"        tcp dport 22 accept\n\g<0>")),
    "a BFD profile of nearly the name": ("all", _edit(replace("bfd profile FABRIC$", "bfd profile FABRICS"))),
    "a map of nearly the name": ("all", _edit(replace(r"^route-map CONNECTED permit", "route-map CONNECTED-X permit"))),
    "a misspelled word": ("all", _edit(replace(r" activate$", " actvate"))),
    "a word that is too long": ("all", _edit(replace("multipath-relax$", "multipath-relaxed"))),
    "a port with a misspelled setting": ("all", _edit(replace(r"^(iface swp1\n    )mtu", r"\1mtus", file="interfaces"))),
    "a misspelled daemon": ("all", _edit(replace("^bgpd=yes", "bpgd=yes", file="daemons"))),
    "a rule that nft does not know": ("all", _filters('"lo" accept', '"lo" acccept')),
    "braces that are not closed": ("all", _filters(r"^    \}\n\}", "    }")),
    "rules that are removed again": ("all", _edit(add("flush ruleset\n", file="nftables.conf"))),
    "everything is accepted first": ("all", _filters(r"^ +iifname \"lo\" accept", "        ct state new accept")),
    "logins from everywhere": ("all", _filters(r" ip saddr \{ \S+ \}", "")),
    "RDMA in a set is dropped": ("all", _filters(r"^    chain input", r"    set rdma {\n        type inet_service; elements = { 4791 }\n    }\n    chain forward {\n        type filter hook forward priority 0;\n        udp dport @rdma drop\n    }\n\g<0>")),
    "RDMA above a rate is dropped": ("all", _filters(r"^    chain input", r"    chain forward {\n        type filter hook forward priority 0;\n        udp dport 4791 limit rate over 1000/second drop\n    }\n\g<0>")),
    "another code point": ("all", _filters(r"^    chain input", r"    chain post {\n        type filter hook postrouting priority mangle;\n        ip dscp set cs0\n    }\n\g<0>")),
    "a command that drops BGP": ("all", _ports("", "    up iptables -A INPUT -p tcp --dport 179 -j DROP\n")),
    "a command that forwards nothing": ("all", _ports("", "    post-up iptables -P FORWARD DROP\n")),
    "a command that loses packets": ("all", _ports("", "    up tc qdisc add dev swp1 root netem loss 1%\n")),
    "a command that polices packets": ("all", _ports("", "    up tc filter add dev swp1 ingress matchall action police rate 1gbit burst 64k conform-exceed drop\n")),
    "logs end before they are sent": ("all", _edit(replace(r"^\*\.\* @", r"*.* stop\n\g<0>", file="rsyslog.conf"))),
    "LLDP that only listens": ("all", _edit(add("configure lldp status rx-only\n", file="lldpd.conf"))),
    "the defaults of a profile": ("tor-", _edit(replace("^frr defaults datacenter", "frr defaults traditional"))),
    "detection by hundreds of packets": ("all", _edit(replace(r"^ profile FABRIC\n", r"\g<0>  detect-multiplier 255\n"))),
    "a buffer of zebra for nothing": ("all", _edit(replace("-s 90000000", "-s 1000", file="daemons"))),
}  # fmt: skip
