"""Interface statements that our own fabrics never use: further addresses, speeds, filters, settings."""

from __future__ import annotations

import re
from ipaddress import IPv4Interface
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.foreign import igp, qos, switching
from fabricc.back.nos.eos.words import SPEED_OF, default_rows, stored_rows
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, Silent, Types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Value

_SPEED = re.compile(r"(\d{1,4})g(?:full)?")
_MEGABITS = re.compile(r"(\d{1,3})000(?:full|half)?")
_SPANS = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*")


def _parse_speed(text: str) -> tuple[int, ...] | None:
    """Return gigabits per second, and lanes if the text states them."""
    if text in SPEED_OF:
        return SPEED_OF[text]
    found = _SPEED.fullmatch(text) or _MEGABITS.fullmatch(text)
    return (int(found[1]),) if found and text.isascii() else None


def _parse_spans(text: str) -> str | None:
    """Numbers and ranges of them, as they stand."""
    return text if _SPANS.fullmatch(text) and text.isascii() else None


TYPES: Types = {"speed": _parse_speed, "spans": _parse_spans}


def speed_facts(speed: tuple[int, ...]) -> dict[str, Value]:
    """Return the facts of a speed."""
    return dict(zip(("speed_gbps", "lanes"), speed, strict=False))


def _apply_mask(address: str, mask: str) -> str | None:
    """Return an address with the length of its mask."""
    try:
        return str(IPv4Interface(f"{address}/{mask}"))
    except ValueError:
        return None


_ALONE = (
    "switchport phone", "ip proxy-arp", "ip local-proxy-arp", "ip attached-host route export", "ip attached-routes",
    "ipv6 attached-host route export", "ipv6 attached-routes", "ip directed-broadcast", "arp gratuitous accept",
    "bfd echo", "mpls ip", "mpls ldp interface", "mpls ldp igp sync", "multicast ipv4 static",
    "multicast ipv6 static", "pim ipv4 sparse-mode", "pim ipv6 sparse-mode", "pim ipv4 bidirectional",
    "pim ipv4 border-router", "pim ipv4 bfd", "pim ipv6 bfd", "pim bsr ipv4 border", "ip pim sparse-mode",
    "ip pim bidirectional", "ip pim border-router", "ip igmp", "mld", "no autostate", "no lldp transmit",
    "no lldp receive", "dhcp client accept default-route", "dhcp server ipv4", "dhcp server ipv6", "l2 rewrite",
    "mac security profile", "ip dhcp relay all-subnets", "ip dhcp relay information option", "link-debounce",
    "ip security", "no ip redirects", "ip redirects", "no ipv6 redirects", "ip icmp redirect", "no ip icmp redirect",
    "nat", "ipv6 nd ra disabled", "ipv6 nd managed-config-flag", "ipv6 nd other-config-flag", "unidirectional",
)  # fmt: skip
_VALUED = (
    "bfd interval <rest>", "bfd authentication <rest>", "bfd static neighbor <rest>", "ip verify unicast <rest>",
    "ipv6 verify unicast <rest>", "ip igmp ...", "mld ...", "igmp ...", "ip pim ...", "pim ipv4 ...", "pim ipv6 ...",
    "multicast ipv4 ...", "multicast ipv6 ...", "mfib <word> <rest>", "ip attached-host route export <rest>",
    "ipv6 attached-host route export <rest>", "ip nat ...", "arp aging timeout <rest>", "ipv6 nd ...",
    "tcp mss ceiling <rest>", "ip tcp adjust-mss <rest>", "speed <rest>", "service-policy type <word> <rest>",
    "vrrp <integer> <rest>", "vrrp <integer> <word> <rest>", "no vrrp <integer> preempt", "mac-address <rest>",
    "mac address virtual-router",
    "link-debounce <rest>", "encapsulation <rest>", "encapsulation dot1q vlan <integer> inner <integer>",
    "bandwidth <rest>", "delay <rest>", "duplex <rest>", "tunnel ...", "mpls <word> <rest>", "node-segment <rest>",
    "flow tracker <word> <rest>", "transceiver frequency <rest>", "transceiver <word> <rest>", "phy media ...",
    "dot1x ...", "address locking ...", "poe ...", "mac timestamp <rest>", "ip ospf <word> <word> <rest>",
    "l2 mru <rest>", "ip dhcp relay ...", "ipv6 dhcp relay ...", "dhcp server ...", "mac security profile <rest>",
    "phone ...", "unidirectional <rest>", "ip address virtual source-nat <rest>", "profile <rest>",
    "lldp <word> <rest>", "flow-spec <rest>", "error-correction <rest>", "error-correction encoding <word> <rest>",
    "hardware <rest>", "ipv6 address <word> <rest>", "ip virtual-router <rest>", "pvlan <rest>", "rip <rest>",
    "stun ...", "channel-group <rest>", "dps <rest>", "bgp <rest>", "tap <rest>", "monitor <rest>",
    "ipv6 ospf <rest>", "ospfv3 <rest>", "ipv6 enable <rest>", "ip arp <rest>", "ipv6 rip <rest>", "ip rip <rest>",
    "ip multicast <rest>", "ipv6 pim <rest>",
)  # fmt: skip
_OFF = (
    "mac access-list <rest>", "phy <rest>", "flow tracker <rest>", "bfd", "bfd <rest>", "description",
    "encapsulation <rest>", "ip <rest>", "ipv6 <rest>", "mac-address", "mac <rest>", "arp <rest>", "mld",
    "mld <rest>", "msrp", "mvrp", "multicast <rest>", "mfib <rest>", "pim <rest>", "rip <rest>", "mtu", "l2 mtu",
    "l2 mru", "load-interval", "logging event <rest>", "tcp mss <rest>", "flow-spec <rest>", "unidirectional",
    "igmp <rest>", "snmp trap <rest>", "sflow <rest>", "speed", "duplex", "isis <rest>", "mpls <rest>", "qos <rest>",
    "service-policy <rest>", "service-profile", "transceiver <rest>", "error-correction <rest>", "dot1x <rest>",
    "ptp <rest>", "vrf", "vrf forwarding", "dhcp <rest>", "bandwidth", "delay",
)  # fmt: skip


ROWS: Sequence[Row] = (
    Keep("shut", "enabled", "false"),
    Keep("vrf forwarding <word>", "vrf"),
    Keep("l2 mtu <integer>", "layer2_mtu"),
    Keep("speed forced <speed>", speed_facts),
    Keep("speed auto", "autoneg"),
    Keep("speed auto <speed>", lambda speed: {**speed_facts(speed), "autoneg": "true"}),
    Keep("error-correction encoding fire-code", "fec", "fc"),
    Keep("media <rest>", "media"),
    Keep("transceiver media override <word>", "media"),
    Entry("ip address <prefix4> secondary", "secondary"),
    Entry("ip address virtual <prefix4> secondary", "gateway"),
    Entry("(ip|ipv6) virtual-router address <address>", "gateway"),
    Entry("vrrp <integer> (ip|ipv4|ipv6) <address>", "vrrp", "{2}"),
    Keep("ip address <address4> <address4>", "ipv4", _apply_mask),
    Keep("ip address dhcp", "dhcp"),
    Keep("ip address unnumbered <word>", "address_from"),
    Entry("(ip|ipv6) helper-address <address> [vrf <word>] [source-interface <word>]", "dhcp_relay", "relay"),
    Entry("ipv6 dhcp relay destination <address> [vrf <word>] [(source-interface|local-interface) <word>]",
        "dhcp_relay", "relay"),
    Entry("ipv6 dhcp relay destination <address> [vrf <word>] [local-interface <word>] link-address <word>",
        "dhcp_relay", "relay"),
    Entry("(ip|ipv6|mac) access-group <word> in", "access_list_in", "true"),
    Entry("(ip|ipv6|mac) access-group <word> out", "access_list_out", "true"),
    Keep("encapsulation dot1q vlan <integer>", "vlan_tag"),
    Keep("vlan id <integer>", "vlan_tag"),
    Block("encapsulation vlan", "", stored_rows("setting", 1, ("client ...",))),
    Keep("traffic-policy input <word>", "service_policy[traffic-policy input]"),
    Keep("traffic-policy output <word>", "service_policy[traffic-policy output]"),
    Keep("service-policy type pbr input <word>", "service_policy[pbr input]"),
    Keep("service-policy type qos output <word>", "service_policy[qos output]"),
    Keep("service-policy <input|output> <word>", "service_policy[{1}]", "{2}"),
    *stored_rows("setting", 1, (*_ALONE, *_VALUED)), *default_rows(_OFF),
    Silent("lldp (transmit|receive)"),
    *default_rows(("lldp med <rest>", "lldp tlv <rest>", "link-debounce")),
    Silent("autostate"),
    Silent("default autostate"),
    *switching.PORT_ROWS, *igp.PORT_ROWS, *qos.PORT_ROWS,
)  # fmt: skip
"""Of an interface."""

_SETS = ("dhcp_relay", "access_list_in", "access_list_out")


def finish(document: Document, paths: Mapping[str, str], block: Scope) -> None:
    """State the values of tables about an interface."""
    for leaf in _SETS:
        document.put_set(paths[leaf], block.table(leaf))
    if pause := block.table("flow_control"):
        both = "both" if len(pause) > 1 else str(next(iter(pause)))
        document.put(paths["flow_control"], both, max(line for _, line in pause.values()))
    if vlans := switching.trunk_vlans(block):
        document.put(paths["vlans"], *vlans)
    elif block.values.get("switchport", ("", 0))[0] == "trunk":
        document.put(paths["vlans"], "all", block.values["switchport"][1])
    if tree := block.table("spanning_tree"):
        document.put(
            paths["spanning_tree"], "; ".join(map(str, tree)), max(line for _, line in tree.values())
        )
    for leaf in ("secondary", "gateway"):
        for address, stored in block.table(leaf).items():
            document.put(paths[f"{leaf}[{address}]"], *stored)
    for address, line in block.table("vrrp").values():
        document.put(paths[f"gateway[{address}]"], address, line)
