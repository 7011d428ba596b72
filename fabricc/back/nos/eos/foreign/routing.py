"""Routing of EOS beyond its protocols: static routes of others, multicast, labels, what the hardware is set to."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.words import default_rows, setting_rows
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Scope, Silent, Topic
from fabricc.fabric.facts import Value, static_text

if TYPE_CHECKING:
    from collections.abc import Sequence


_DEPTH = 4
"""Blocks within blocks of a part that is not looked into."""
_FAMILIES = (("ip", 4), ("ipv6", 6))
_INTERFACE = re.compile(r"[A-Z][A-Za-z-]*\d[\d/.]*")


def _interface_name(text: str) -> str | None:
    """Return an interface by its whole name."""
    return text if _INTERFACE.fullmatch(text) and not text.startswith("Null") else None


TYPES = {"interface": _interface_name}


def _static_rows(family: int) -> tuple[Row, ...]:
    """Return rows of a static route after its prefix, other than a lone address or nothing."""
    return (
        Entry(f"<address{family}> <rest>", "via", lambda _via, options: options),
        Entry("<interface>", "via"),
        Entry("<interface> <rest>", "via", lambda _via, options: options),
        Keep("Null0 <rest>", "discard options"),
        Entry("egress-vrf <word> <rest>", "elsewhere", lambda vrf, rest: f"egress-vrf {vrf} {rest}"),
        Entry("vrf <word> <rest>", "elsewhere", lambda vrf, rest: f"vrf {vrf} {rest}"),
        Entry("nexthop-group <word>", "via"),
        Entry("nexthop-group <word> <rest>", "via", lambda _via, options: options),
        Entry("Nexthop-Group <word>", "via"),
    )


def _masked_route(address: str, mask: str, via: str, options: str | None = None) -> dict[str, Value] | None:
    try:
        return {f"static {IPv4Network(f'{address}/{mask}', strict=False)}": f"{via} {options or ''}"}
    except ValueError:
        return None


def _verbatim_section(pattern: str) -> tuple[Row, ...]:
    """Return rows of a section that is reported verbatim and not interpreted."""
    outer = pattern.count("<")
    words = " ".join(word for word in pattern.split() if word[0] != "<")
    key = f"routing/setting[{words}" + "".join(f" {{{place}}}" for place in range(outer))
    return Fact(pattern, f"{key}]", "true"), Block(pattern, "", _rows_within(key, outer, _DEPTH))


def _rows_within(key: str, outer: int, depth: int) -> tuple[Row, ...]:
    key += f" {{{outer}}}"
    below = (Block("<rest>", "", _rows_within(key, outer + 1, depth - 1)),) if depth else ()
    return Fact("<rest>", f"{key}]", "true"), *below


_SECTIONS = (
    "hardware tcam", "platform tfa", "platform sfe", "dynamic prefix-list <word>", "mcs client", "redundancy", "poe",
    "dot1x", "l2-protocol", "router pim sparse-mode", "router pim bidirectional",
    "router pim bsr", "router igmp", "router mld", "router msdp", "router rip", "router rip vrf <word>",
    "router traffic-engineering", "router segment-security", "router path-selection",
    "router adaptive-virtual-topology", "router internet-exit", "router service-insertion", "router kernel",
    "router l2-vpn", "router bmp", "router openflow", "mpls ldp", "mpls rsvp", "mpls ping", "mpls static <rest>",
    "ip security", "application traffic recognition", "patch panel", "traffic-policies", "stun", "dps", "cvx",
    "ip nat pool <rest>", "nexthop-group <rest>", "ip nat profile <rest>", "address locking", "router bgp-monitoring",
    "ip nat synchronization", "track <rest>", "monitor loop-protection", "monitor link-flap", "route-policy <rest>",
    "router eigrp <word>",
)  # fmt: skip
_LINES = (
    "ip igmp snooping", "ip igmp snooping ...", "no ip igmp snooping", "no ip igmp snooping ...", "ip multicast ...",
    "ip multicast-routing", "ip multicast-routing ...", "ip pim ...", "ip dhcp relay ...", "ip dhcp snooping",
    "ip dhcp snooping ...", "ipv6 dhcp relay ...", "ipv6 dhcp snooping ...", "arp ...",
    "arp vrf <word> <address4> ...", "ip arp inspection ...", "mpls ip", "mpls ...", "ip nat ...", "ip hardware ...",
    "ipv6 hardware ...", "ip icmp ...", "ip verify ...", "ip virtual-router mac-address ...",
    "ip address virtual source-nat vrf <word> address ...", "ipv6 address virtual source-nat vrf <word> address ...",
    "ip load-sharing ...", "ipv6 nd ...", "ipv6 neighbor ...", "ip local-proxy-arp", "ip redirects",
    "no ip redirects", "no ip icmp redirect", "ip source-route", "ip as-path regex-mode ...",
    "ip community-list regex-mode ...", "no ip routing delete static routes", "ip routing ipv6 interfaces vrf <word>",
    "ip routing vrf ...", "ip route ...", "ip mfib ...", "ip mroute ...", "ip rib ...", "rib ...", "ip fib ...",
    "routing ...", "router-id ...", "mac ...", "l2-protocol forwarding profile ...", "dynamic prefix-list ...",
    "ipv6 route ...", "ip hardware fib ...", "arp aging ...", "arp persistent", "arp persistent ...",
    "ip extcommunity-list regexp ...", "ip address locking ...", "router-id ipv4 ...", "dot1x ...", "ip sticky-arp",
    "ip host-routes ...", "ip routing protocols ...", "ip bgp-community ...", "ip prefix-list ...",
    "ip community-list ...",
)  # fmt: skip
_SYSTEM = (
    "platform ...", "hardware ...", "system ...", "transceiver ...", "service ...", "agent ...",
    "fabric ...", "module ...", "poe ...", "redundancy ...", "l1 ...", "environment ...", "ethernet ...", "power ...",
    "port ...", "no service ...", "default hardware ...", "no platform ...", "no hardware ...",
    "default transceiver ...", "no transceiver ...", "default platform ...", "default service ...", "no system ...",
    "lldp ...", "no lldp ...", "lldp run", "no lldp run", "dcbx ...", "tcp mss ceiling ...", "hostname",
)  # fmt: skip

# Lines that EOS 4.30 to 4.36 print of switches that nobody gave them to, as published running configurations have them.
_DEFAULTS: Sequence[Row] = (
    Silent("no service interface inactive port-id allocation disabled"),
    Block("system l1", "", (
        Silent("unsupported (speed|error-correction) action error"),
        *setting_rows("platform/setting", 0, ("unsupported <word> <rest>",), "l1"),
    )),
    Block("router multicast", "", (
        *(Block(family, "", (
            Silent("software-forwarding kernel"),
            *_rows_within(f"routing/setting[router multicast {family}", 0, _DEPTH - 1),
        )) for family in ("ipv4", "ipv6")),
        *_rows_within("routing/setting[router multicast", 0, _DEPTH),
    )),
)  # fmt: skip
_GENERAL = (
    Block("vrf <word>", "", (
        Keep("leak routes <rest>", {"leak {0} {1}": "{1}"}),
        *setting_rows("vrf[{0}]/setting", 1, ("route <rest>", "leak <rest>", "address-family <rest>",
            "router-id <rest>")),
    )),
    *setting_rows("routing/setting", 0, (
        "router-id <word> <rest>", "route <rest>", "hardware <rest>", "software-forwarding <rest>",
        "next-hops <rest>", "control-functions", "rib <rest>", "<rest>",
    ), "router general"),
    Block("control-functions", "", ()),
)  # fmt: skip

ROWS: Sequence[Row] = (
    Keep("no ip routing", "routed", "false"),
    Fact("no ipv6 unicast-routing", "routing/enabled[ipv6]", "false"),
    Silent("no ip routing ipv6 interfaces"),
    *(Each(f"{word} route <prefix{family}>", "static route", _static_rows(family)) for word, family in _FAMILIES),
    *(
        Each(f"{word} route vrf <word>", "static vrf", (
            Each(f"<prefix{family}>", "static route", (
                Entry(f"<address{family}>", "via"), Keep("Null0", "discard"), *_static_rows(family),
            )),
        ))
        for word, family in _FAMILIES
    ),
    Keep("ip route <address4> <address4> <word>", _masked_route),
    Keep("ip route <address4> <address4> <word> <rest>", _masked_route),
    Block("router general", "", _GENERAL),
    Block("management api netconf", "", (
        Block("transport ssh <word>", "netconf", (Keep("vrf <word>", "vrf"), Keep("shutdown", "shut"))),
    )),
    *(row for pattern in _SECTIONS for row in _verbatim_section(pattern)),
    *_DEFAULTS,
    *setting_rows("routing/setting", 0, _LINES),
    *setting_rows("platform/setting", 0, _SYSTEM),
    Silent("default ip igmp snooping <rest>"),
    *default_rows((
        "router-id <rest>", "mac access-list <rest>", "monitoring <rest>", "ip dhcp <rest>", "arp <rest>",
        "ip icmp <rest>", "ip virtual-router <rest>", "mpls <rest>", "poe <rest>",
    )),
)  # fmt: skip


_LEAK = "leak "


def first_leak(document: Document, instance: str) -> int | None:
    """Return the first line by which routes of a routing instance serve another one, or the reverse; None without one.

    Args:
        document: the file.
        instance: name of the routing instance; leaks between two other ones do not count.
    """
    scope = document.scope
    lines = [
        line
        for name, vrf in [("", scope), *scope.each("static vrf").items()]
        for route in vrf.each("static route").values()
        for value, line in route.table("elsewhere").values()
        if instance in (name, *str(value).split())
    ]
    leaks = (each for each in scope.values.items() if each[0].startswith(_LEAK))
    lines += [line for name, (value, line) in leaks if instance in (name.split()[1], *str(value).split())]
    return min(lines, default=None)


def finish(document: Document) -> None:
    """State static routes of routing instances, options of next hops, and what leads from one instance to another."""
    scope = document.scope
    _put_options(document, "", scope)
    for name, vrf in scope.each("static vrf").items():
        at = "" if name == "default" else f"vrf[{name}]/"
        for prefix, route in vrf.each("static route").items():
            via = [
                *map(str, route.table("via")),
                *(str(value) for value, _ in route.table("elsewhere").values()),
            ]
            document.put(f"{at}static_route[{prefix}]", static_text(via), route.line)
        _put_options(document, at, vrf)
    for name, (value, line) in scope.values.items():
        if name.startswith("static "):
            hop, _, stored = str(value).partition(" ")
            prefix = name.removeprefix("static ")
            document.put(f"static_route[{prefix}]", "discard" if hop == "Null0" else hop, line)
            if stored:
                document.put(f"static_route[{prefix}]/setting[{hop}]", stored, line)
        elif name.startswith(_LEAK):
            source, _, stored = str(value).partition(" subscribe-policy ")
            document.put(f"vrf[{name.split()[1]}]/setting[leak routes {source}]", stored or "all", line)
    again = document.reading.lines.get("platform/routing", ("", 0))[1]
    if "routed" in scope.values and scope.values["routed"][1] > again:  # the last line counts
        document.put("routing/enabled[ipv4]", *scope.values["routed"])
    for transport in scope.each("netconf").values():
        if transport.values.keys().isdisjoint(("vrf", "shut")):
            document.put("management/open[netconf]", "default", transport.line)
    _put_lost_instances(document)


def _put_lost_instances(document: Document) -> None:
    """State the routing instances that ports, services and routes name and that no line defines."""
    scope, facts = document.scope, document.reading.facts
    defined = {"default", *scope.table("defined"), facts.get("platform/management_vrf", "default")}
    used = [port.values["vrf"] for port in scope.each("interface").values() if "vrf" in port.values]
    used += [(name, line) for name, (_, line) in scope.table("vrfs of services").items()]
    used += [(str(name), vrf.line) for name, vrf in scope.each("static vrf").items()]
    for name, line in used if len(defined) > 1 else ():
        if name not in defined and f"unread[vrf {name}]" not in facts:
            document.put(f"unread[vrf {name}]", "no VRF has this name", line)


def _put_options(document: Document, at: str, scope: Scope) -> None:
    """State distance, tag and the like of next hops."""
    for prefix, route in scope.each("static route").items():
        for hop, (options, line) in route.table("via").items():
            if options != hop:
                document.put(f"{at}static_route[{prefix}]/setting[{hop}]", options, line)
        if "discard options" in route.values:
            document.put(f"{at}static_route[{prefix}]/setting[discard]", *route.values["discard options"])
        if not at and (beyond := route.table("elsewhere")):
            via = [*map(str, route.table("via")), *(str(value) for value, _ in beyond.values())]
            document.put(f"static_route[{prefix}]", static_text(via), route.line)


TOPIC = Topic(ROWS, finish)
