"""Interior routing on NX-OS, which designs of others have: OSPF, IS-IS, EIGRP, and what is of routing as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.foreign.switching import OWN, own_line, setting_rows
from fabricc.back.nos.nxos.words import interface_blocks, split_beginnings
from fabricc.back.reading import Block, Fact, Keep, Row, Silent, Topic, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.reading import Document


_SOURCES = ("direct", "static", "amt", "lisp", *(f"{protocol} <word>" for protocol in
            ("bgp", "ospf", "ospfv3", "isis", "eigrp", "rip", "hmm", "icmpv6", "am", "nat")))  # fmt: skip
_TIMERS = split_beginnings("""
    timers throttle spf, timers throttle lsa, timers lsa-arrival, timers lsa-group-pacing, timers active-time,
    timers nsf, graceful-restart, graceful-restart-helper, log-adjacency-changes, isolate, nsf, shutdown
""")


def _redistribution_rows(path: str, before: int) -> tuple[Row, ...]:
    """Rows of routes that enter, by the protocol that they come from; `before` captures are the blocks' around."""
    rows: list[Row] = []
    for source in _SOURCES:
        protocol, tag = source.partition(" ")[::2]
        key = f"{protocol} {{{before}}}" if tag else protocol
        at = before + bool(tag)
        rows.append(
            Fact(f"redistribute {source} route-map <word>", f"{path}/redistribute[{key}]", f"{{{at}}}")
        )
        rows.append(Fact(f"redistribute {source}", f"{path}/redistribute[{key}]", "all"))
        rows.append(Silent(f"no redistribute {source} [route-map <word>]"))
    return (*rows, *setting_rows(("redistribute maximum-prefix",), f"{path}/setting", before))


def _ospf_rows(path: str, before: int) -> tuple[Row, ...]:
    area = f"{{{before}}}"
    more = f"{{{before + 1}}}"
    return (
        Fact("router-id <word>", f"{path}/router_id"),
        Fact("passive-interface default", f"{path}/passive", "default"),
        Fact("network <prefix> area <word>", f"{path}/network[{area}]", more),
        Fact("network <address4> <address4> area <word>", f"{path}/network[{area} {more}]", f"{{{before + 2}}}"),
        Fact("maximum-paths <integer>", f"{path}/maximum_paths"),
        Fact("bfd", f"{path}/bfd", "true"),
        *(
            Fact(f"area <word> {kind}{rest}", f"{path}/area[{area}]", kind + (f" {more}" if rest else ""))
            for kind in ("stub", "nssa") for rest in ("", " <rest>")
        ),
        *(
            Fact(f"area <word> {leaf}{rest}", f"{path}/setting[area {area} {leaf}{key}]", value)
            for leaf in ("range", "authentication", "default-cost", "filter-list", "virtual-link", "sham-link")
            for rest, key, value in (("", "", "on"), (" <rest>", f" {more}", "on"))
        ),
        Block("area <word> virtual-link <word>", "", (
            *setting_rows(split_beginnings("""
                authentication, authentication-key, hello-interval, dead-interval, retransmit-interval,
                transmit-delay, message-digest-key
            """), f"{path}/setting", before + 2),
        )),
        *_redistribution_rows(path, before),
        *setting_rows(
            (*_TIMERS, "auto-cost", "default-information originate", "default-metric", "distance", "max-metric",
                "summary-address", "name-lookup",
             "table-map", "discard-route", "rfc1583compatibility", "capability", "down-bit-ignore", "domain-id",
             "domain-tag",
             "max-lsa", "mpls", "segment-routing", "flush-routes", "fast-reroute", "multi-area"),
            f"{path}/setting", before,
        ),
    )  # fmt: skip


def _isis_rows(path: str, before: int) -> tuple[Row, ...]:
    common = (
        *_redistribution_rows(path, before),
        *setting_rows(
            split_beginnings("""
                distance, maximum-paths, default-information originate, summary-address, multi-topology,
                set-attached-bit, adjacency-check, distribute, bfd, fast-reroute, router-id, table-map,
                segment-routing, advertise
            """),
            f"{path}/setting", before,
        ),
    )  # fmt: skip
    return (
        Fact("net <word>", f"{path}/net"),
        Fact("is-type <word>", f"{path}/level"),
        *(Fact(f"address-family {family} unicast", f"{path}/family[{family}]", "true") for family in ("ipv4", "ipv6")),
        *(Block(f"address-family {family} unicast", "", (
            *common,
            Block("segment-routing srv6", "", (Fact("locator <word>", f"{path}/setting[locator]"),)),
        )) for family in ("ipv4", "ipv6")),
        *common,
        *setting_rows(
            (*_TIMERS, "authentication-check", "authentication-type", "hostname", "lsp-gen-interval", "lsp-mtu",
                "max-lsp-lifetime",
             "metric-style", "passive-interface", "reference-bandwidth", "set-overload-bit", "spf-interval",
             "lsp-refresh-interval",
             "queue-limit", "mesh-group", "flush-routes"),
            f"{path}/setting", before,
        ),
    )  # fmt: skip


def _eigrp_rows(path: str, before: int) -> tuple[Row, ...]:
    common = (
        Fact("router-id <word>", f"{path}/router_id"),
        *_redistribution_rows(path, before),
        *(Fact(f"network <prefix{rest}", f"{path}/setting[network {{{before}}}]", "on") for rest in (">",)),
        *setting_rows(
            (*_TIMERS, "autonomous-system", "default-information originate", "default-metric", "distance",
                "maximum-paths", "metric",
             "stub", "bfd", "eigrp", "table-map", "passive-interface", "log-neighbor-warnings",
             "log-neighbor-changes", "flush-routes", "variance",
             "authentication", "summary-address"),
            f"{path}/setting", before,
        ),
    )  # fmt: skip
    return (*common, *(Block(f"address-family {family} unicast", "", common) for family in ("ipv4", "ipv6")))


def _process_rows(protocol: str, path: str) -> tuple[Row, ...]:
    """Return rows of a process, which are those of its routing instances too."""
    rows = {"ospf": _ospf_rows, "ospfv3": _ospf_rows, "isis": _isis_rows, "eigrp": _eigrp_rows}[protocol]
    key = path.format("{0}")
    family = Block("address-family ipv6 unicast", "", rows(key, 1)) if protocol == "ospfv3" else None
    return (
        Block(f"router {protocol} <word>", "", (
            *rows(key, 1),
            *((family,) if family else ()),
            Block("vrf <word>", "", rows(f"vrf[{{1}}]/{key}", 2)),
        )),
    )  # fmt: skip


_PORT: Sequence[Row] = (
    Keep("ip router ospf <word> area <word> [secondaries none]", {OWN + "ospf_process": "{1}",
        OWN + "ospf_area": "{2}"}),
    *(
        Keep(f"{line} multi-area <word>", OWN + f"ospf_setting[multi-area {{{at}}}]", "on")
        for line, at in (
            ("ip router ospf", 1), ("ip router ospf <word>", 2),
            ("ipv6 router ospfv3", 1), ("ipv6 router ospfv3 <word>", 2),
        )
    ),
    own_line("ip ospf cost <integer>", "ospf_cost"),
    own_line("ip ospf network <word>", "ospf_network"),
    Keep("ipv6 router ospfv3 <word> area <word>", {OWN + "ospfv3_area": "{2}", OWN + "ospf_setting[ospfv3]": "{1}"}),
    own_line("ospfv3 cost <integer>", "ospfv3_cost"),
    own_line("ospfv3 network <word>", "ospf_setting[ospfv3 network]"),
    *setting_rows(
        tuple(f"{version} {leaf}" for version in ("ip ospf", "ospfv3") for leaf in split_beginnings("""
            passive-interface, bfd, hello-interval, dead-interval, priority, mtu-ignore, retransmit-interval,
            transmit-delay, shutdown, advertise-subnet, mpls, fast-reroute
        """)),
        OWN + "ospf_setting"
    ),
    Silent("no ip ospf (cost|network) [<rest>]"),
    Silent("[no] ip ospf (authentication|authentication-key|message-digest-key) [<rest>]"),
    Silent("[no] ospfv3 (authentication|encryption) [<rest>]"),
    *(
        Keep(f"{family} router isis <word>", {OWN + "isis": "{1}", f"{OWN}isis_setting[{family}]": "true"})
        for family in ("ip", "ipv6")
    ),
    *(own_line(f"isis {leaf} <word>", f"isis_setting[{leaf}]") for leaf in ("circuit-type", "network")),
    own_line("isis metric <integer> [<word>]", "isis_metric", "{1}"),
    *setting_rows(
        tuple(f"isis {leaf}" for leaf in split_beginnings("""
            passive-interface, passive, hello-interval, hello-multiplier, hello-padding, priority, bfd,
            csnp-interval, lsp-interval, mesh-group, retransmit-interval, shutdown, mtu-check,
            prefix-attributes, ipv6, ipv4, tag, suppress, link-group, authentication-check
        """)),
        OWN + "isis_setting"
    ),
    Silent("[no] isis authentication <rest>"),
    Silent("isis authentication-type <rest>"),
    *(own_line(f"{family} router eigrp <word>", "eigrp") for family in ("ip", "ipv6")),
    *(
        row
        for family in ("ip", "ipv6") for leaf in split_beginnings("""
            passive-interface, hello-interval, hold-time, bandwidth, bandwidth-percent, delay, summary-address,
            distribute-list, offset-list, next-hop-self, split-horizon, mtu
        """)
        for row in (
            Keep(f"{family} {leaf} eigrp <word> <rest>", f"{OWN}eigrp_setting[{leaf}]", "{2}"),
            Keep(f"{family} {leaf} eigrp <word>", f"{OWN}eigrp_setting[{leaf}]", "on"),
            Keep(f"no {family} {leaf} eigrp <word>", f"{OWN}eigrp_setting[{leaf}]", "off"),
        )
    ),
    *setting_rows(("ip eigrp", "ipv6 eigrp"), OWN + "eigrp_setting"),
    Silent("(ip|ipv6) authentication (mode|key-chain) eigrp <rest>"),
    *setting_rows(("ip router rip", "ip rip"), OWN + "setting"),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *(
        row
        for protocol, path in (
            ("ospf", "ospf[{}]"), ("ospfv3", "ospf[ospfv3 {}]"), ("isis", "isis[{}]"), ("eigrp", "eigrp[{}]"),
        )
        for row in _process_rows(protocol, path)
    ),
    *interface_blocks(_PORT),
    *setting_rows(
        split_beginnings("""
            ip pim, ipv6 pim, ip multicast, ipv6 multicast, ip mroute, ip igmp, ipv6 mld, ip msdp, ip dhcp, ipv6
            dhcp, service dhcp, ip load-sharing per-packet, ip adjacency, ip arp, ipv6 nd, ipv6 neighbor, ip
            nat, ip verify, ip icmp, system routing, system urpf, ip wccp, ip sticky-arp, hardware profile ecmp,
            hardware ecmp, hardware forwarding, hardware ip, hardware profile forwarding-mode, hardware profile
            urpf, hardware profile multicast, ip route static bfd, ipv6 route static bfd, bfd
            echo-interface, bfd slow-timer, bfd echo-rx-interval, bfd fabricpath, bfd startup-timer, bfd echo,
            bfd ipv4, bfd ipv6, bfd multihop, bfd interface, hsrp timers, ip tcp, segment-routing, mpls, install
            feature-set, feature-set, router rip, ip proxy-arp, ip directed-broadcast, ip gratuitous-arp, ip
            local, ip auto-discard, ip internal, nat
        """),
        "routing/setting"
    ),
    Fact("track <integer> <rest>", "routing/setting[track {0}]", "{1}"),
    Block("track <integer> <rest>", "", (
        Silent("(delay|object|threshold) <rest>"),
        Silent("vrf member <word>"),
    )),
)  # fmt: skip
_USERS = {
    feature: re.compile(use)
    for feature, use in (
        ("bgp", r"(?:vrf\[[^]]+\]/)?bgp/asn .*"), ("bfd", r"bgp/neighbor\[[^]]+\]/bfd true"),
        ("ospf", r"interface\[[^]]+\]/ospf_(?:area|process) .*"), ("eigrp", r"eigrp\[[^]]+\]/.*"),
        ("interface-vlan", r"interface\[Vlan\d+\]/ipv[46] .*"), ("lacp", r"interface\[[^]]+\]/bundle_mode active"),
        ("vpc", r"mlag/domain .*"), ("tacacs+", r"management/aaa/.*\btacacs\b.*"),
        ("nv overlay", r"vxlan/source .*"), ("vn-segment-vlan-based", r"(?:evpn/segment|vxlan/vlan)\[\d+\]/vni .*"),
        ("nv overlay evpn", r"bgp/(?:family\[evpn\]|neighbor\[[^]]+\]/families) .*(?:true|evpn)"),
    )
}  # fmt: skip
"""Feature -> the facts that have no effect without it (Nexus 9000 NX-OS configuration guides)."""


_WORDS = {"nv overlay evpn": "EVPN"}
"""Feature -> what has no effect without it, if that is not its name."""
_BESIDE, _WHOLE = ("interface-vlan", "lacp", "vpc"), 4
"""Features that excerpts leave out, and how many others a whole configuration has."""


def finish(document: Document) -> None:
    """State that nothing reads what belongs to a feature that is off, where others are on, or the file is whole."""
    facts, lines = document.reading.facts, document.reading.lines
    on = sum(path.startswith("system/feature[") for path in facts)
    shown = "version" in document.scope.values
    whole = shown or ("system/hostname" in facts and any(map(_ADDRESS.fullmatch, facts)))
    if not on and not whole:
        return
    for feature, use in _USERS.items() if on or shown else [("bgp", _USERS["bgp"])]:
        beside = on < _WHOLE and (feature in _BESIDE or (feature == "eigrp" and not shown))
        if beside or f"system/feature[{feature}]" in facts:
            continue
        path = next((path for path, value in facts.items() if use.fullmatch(f"{path} {value}")), "")
        if path in lines:
            command = feature if feature.endswith("evpn") else f"feature {feature}"
            off = document.scope.table("features off").get(feature)
            wrong = next((lines[each] for each in facts if _is_variant(each, feature)), off or lines[path])
            document.put(f"unread[{_WORDS.get(feature, feature)}]", f"{command} is not stated", wrong[1])


_ADDRESS = re.compile(r"interface\[.+\]/ipv4")
_FEATURE = re.compile(r"system/feature\[(.+)\]")


def _is_variant(path: str, feature: str) -> bool:
    """Return whether a path is of a feature whose name is nearly that of another one."""
    match = _FEATURE.fullmatch(path)
    return match is not None and feature in rows.word_variants(match[1])


TOPIC = Topic(ROWS, finish)
