"""NVUE statements of foreign designs: bridges, bonds, VLANs, MLAG, VXLAN, VRFs, access lists, static routes and OSPF.

BGP and its policy are rows of `peering` and `policy`. `read_again` reads the lines that the rows of fabricc's own
configuration do not cover: one statement a line, with all words of its path and with ranges of names expanded. The
names are those of NVIDIA's NVUE reference (docs.nvidia.com/networking-ethernet-software, NVUE).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import startup
from fabricc.back.nos.cumulus.foreign import peering
from fabricc.back.nos.cumulus.words import ENABLE, place_of, put_settings, setting_rows
from fabricc.back.nos.frr.foreign import igp
from fabricc.back.reading import (
    Document,
    Each,
    Entry,
    Fact,
    Keep,
    Node,
    Reader,
    Row,
    Scope,
    Silent,
    Topic,
    Tree,
    Types,
)
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Reading, Unplanned, static_text
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_SWITCH: Mapping[str, str] = {
    "on": "true", "off": "false", "enable": "true", "disable": "false", "enabled": "true", "disabled": "false",
    "yes": "true", "no": "false",
}  # fmt: skip
_FAMILIES = {
    "ipv4-unicast": "ipv4", "ipv6-unicast": "ipv6", "l2vpn-evpn": "evpn", "ipv4-labeled-unicast":
    "ipv4 labeled-unicast", "ipv6-labeled-unicast": "ipv6 labeled-unicast",
}  # fmt: skip
TYPES: Types = {"switch": _SWITCH, "family": _FAMILIES, "lower": str.lower, **igp.TYPES}


# --- rows ------------------------------------------------------------------------------------------------

_KINDS = {
    "svi": "vlan", "bond": "bond", "peerlink": "bond", "bridge": "bridge", "sub": "sub", "vxlan": "vxlan",
    "tunnel": "tunnel", "vrf": "vrf",
}  # fmt: skip
_PLAIN_KINDS = ("dummy", "eth", "fabric", "ipmi", "loopback", "swp")
_INTERFACE: tuple[Row, ...] = (
    *(Keep(f"type {word}", "kind", kind) for word, kind in _KINDS.items()),
    *(Silent(f"type {word}") for word in _PLAIN_KINDS),
    Keep("description <rest>", "description"),
    Keep("link mtu <integer>", "mtu"),
    Keep("link auto-negotiate <switch>", "autoneg"),
    Keep("link fec <word>", "fec"),
    Keep("link state up", "enabled", "true"),
    Keep("link state down", "enabled", "false"),
    Keep("link (admin-state|admin-status) up", "enabled", "true"),
    Keep("link (admin-state|admin-status) down", "enabled", "false"),
    Silent("link (state|speed auto|duplex full|lanes auto)"),
    *setting_rows("link speed", "link lanes", "link duplex", "link breakout", "link protodown-delay",
               "link link-training", "link flap-protection", "link loopback", "link force-down"),
    *(
        Entry(f"{family} address <prefix>", "addresses", "true")
        for family in ("ip", "ipv4", "ipv6", "loopback ip")
    ),
    Keep("(ip|ipv4|ipv6) address dhcp", "dhcp", "true"),
    Keep("(ip|ipv4|ipv6) gateway <word>", "setting[gateway]"),
    Keep("[ip] vrf <word>", "vrf"),
    Entry("(ip|ipv4|ipv6) vrr address <prefix>", "gateways", "true"),
    Entry("ip vrrp virtual-router <word> address <address>", "gateways", "true"),
    *setting_rows("ip vrr mac-address", "ip vrr mac-id", "ip vrrp virtual-router", "ip ipv4 forward", "ip ipv6 forward",
               "ipv4 forward", "ipv6 forward", "ip arp", "ip neighbor-discovery", "neighbor-discovery", "ip igmp",
               "ip neighbor", "ipv4 vrr mac-address", "ipv6 vrr mac-address"),
    Silent(f"(ip|ipv4|ipv6) vrr {ENABLE} [<rest>]"),
    Silent("ip ipv6 enable [<rest>]"),
    Silent("ipv6 (enable|state) [<rest>]"),
    Entry("bond member <word>", "bond members", "true"),
    Keep("bond mode (lacp|802.3ad)", "mode", "active"),
    Keep("bond mode static", "mode", "on"),
    Keep("bond mlag id <word>", "mlag"),
    Silent(f"bond mlag {ENABLE} [<rest>]"),
    *setting_rows("bond lacp-bypass", "bond lacp-rate", "bond down-delay", "bond up-delay", "bond min-links",
               "bond mlag lacp-conflict"),
    Keep("evpn multihoming segment (local-id|identifier) <word>", "ethernet_segment"),
    Silent(f"evpn multihoming segment {ENABLE} [<rest>]"),
    *setting_rows("evpn multihoming segment mac-address", "evpn multihoming segment df-preference",
               "evpn multihoming uplink"),
    Each("bridge domain <word>", "domain", (
        Keep("access <integer>", "access"),
        Keep("untagged <word>", "untagged"),
        Entry("vlan <word>", "vlans", "true"),
        *setting_rows("learning", "type", "ports-isolated"),
        Entry("stp <rest>", "stp", "true"),
    )),
    Silent("bridge domain <word>"),
    Keep("vlan <integer>", "vlan"),
    Keep("base-interface <word>", "setting[base-interface]"),
    Entry("acl <word> inbound [<rest>]", "inbound", lambda *_: "true"),
    Entry("acl <word> outbound [<rest>]", "outbound", lambda *_: "true"),
    *setting_rows("buffer", "egress-queue-mapping", "egress-scheduler", "egress-shaper", "mapping", "remark", "roce",
               "storm-control", "link-pause", under="qos", before="qos "),
    Keep("qos congestion-control <rest>", "qos[congestion-control]"),
    Keep("qos pfc <rest>", "qos[pfc]"),
    Keep("qos pfc-watchdog <rest>", "qos[pfc-watchdog]"),
    Keep("storm-control <rest>", "setting[storm-control]"),
    Keep("router ospf area <area>", "ospf_area"),
    Keep("router ospf cost <integer>", "ospf_cost"),
    Keep("router ospf network-type <word>", "ospf_network"),
    Silent(f"router ospf {ENABLE} [<rest>]"),
    *setting_rows("authentication", "bfd", "mtu-ignore", "passive", "priority", "timers", under="ospf_setting",
               before="router ospf "),
    *setting_rows("router adaptive-routing", "router pbr", "router pim"),
    *setting_rows("tunnel", "port-security", "acl"),
    *(
        Silent(f"{words} [<rest>]")
        for words in ("aggregate-ethernet", "dot1x", "lldp", "ptp", "sflow", "synce", "telemetry")
    ),
)  # fmt: skip

_OSPF: tuple[Row, ...] = (
    Keep("router-id <address4>", "router_id"),
    Silent(f"{ENABLE} [<rest>]"),
    Keep("area <area> network <prefix4>", lambda area, network: {f"network[{network}]": area}),
    Keep("area <word> type <rest>", lambda area, kind: {f"area[{area}]": kind}),
    *setting_rows("area", "default-originate", "distance", "log", "max-metric", "reference-bandwidth", "timers",
               "default-route"),
    Keep("redistribute <word> <rest>", lambda kind, rest: {f"redistribute[{kind}]": rest}),
)  # fmt: skip
_VRF: tuple[Row, ...] = (
    Each("router bgp", "bgp", peering.PROCESS),
    Each("router ospf", "ospf", _OSPF),
    Each("router static <prefix>", "static", (
        Silent("address-family <word>"),
        Entry("via <word>", "via", "true"),
        Entry("via <word> type <word>", "via", "true"),
        Entry("via <word> interface <word>", "via", lambda _, interface: interface),
        Entry("distance <integer> via <word> [<rest>]", "distant", lambda number, hop, _: f"{hop} distance {number}"),
        *setting_rows("via", "distance", "tag"),
    )),
    Silent("router static <prefix>"),
    Keep("evpn vni <integer> [<rest>]", "vni", lambda vni, _: vni),
    Silent(f"evpn {ENABLE} [<rest>]"),
    Entry("loopback ip address <prefix>", "addresses", "true"),
    Keep("router rib <ipv4|ipv6> protocol bgp fib-filter <word>", "fib filter", lambda _, name: name),
    *setting_rows("evpn", "router nexthop-tracking", "router rib", "router pim", "router pbr", "table"),
    *(Silent(f"{words} [<rest>]") for words in ("ptp", "ssh-server")),
)  # fmt: skip
_IGNORED_WORDS = (
    "system aaa", "system api", "system banner", "system cli", "system config", "system control-plane",
    "system cpu", "system date-time", "system debug", "system dhcp-server", "system dns", "system docker",
    "system eventd", "system events", "system gnmi-server", "system grpc-tunnel", "system health", "system history",
    "system image", "system lldp", "system log", "system maintenance", "system message", "system ntp",
    "system packages", "system packet-capture", "system password", "system profile", "system ptp", "system reboot",
    "system schedule", "system security", "system snmp-server", "system ssh-server",
    "system ssh-client", "system syslog", "system telemetry", "system timezone", "system ztp", "system wjh",
    "system port-mirror", "system tpm", "system version", "system watchdog", "system factory-default",
    "service", "platform", "cluster", "maintenance", "header", "system usb", "system sflow", "system node-exporter",
    "system reflexive-acl", "system acl", "system counter",
)  # fmt: skip
_SYSTEM = (
    "adaptive-routing", "decap", "forwarding", "global", "hash", "link", "nat", "port-security", "snippet", "spf",
    "stateful", "tc",
)  # fmt: skip

ROWS: tuple[Row, ...] = (
    Each("interface <word>", "interface", _INTERFACE),
    Silent("interface <word>"),
    Each("vrf <word>", "vrf", _VRF),
    Silent("vrf <word>"),
    Each("bridge domain <word>", "bridge", (
        Entry("vlan <word>", "vlans", "true"),
        Entry("vlan <integer> vni <integer>", "vnis", lambda _, vni: vni),
        Keep("stp mode <word>", "stp mode"),
        Keep("stp state <down|disabled>", "stp mode", "none"),
        *setting_rows("vlan", "stp", "untagged", "type", "encap", "mac-address", "multicast", "ageing", "svi-force-up",
                   "vlan-vni-offset", "port-vni", "svi-vni-offset"),
    )),
    Fact("mlag mac-address <word>", "mlag/mac"),
    Fact("mlag peer-ip <word>", "mlag/peer"),
    Fact("mlag backup <word> [<rest>]", lambda address, _: {"mlag/backup": address}),
    Fact(f"mlag {ENABLE} <on|enabled>", "mlag/domain", "mlag"),
    *setting_rows("init-delay", "priority", "debug", "lacp-conflict", "anycast-ip", under="mlag", before="mlag "),
    Fact("nve vxlan source address <address>", "vxlan/source"),
    Fact("nve vxlan mlag shared-address <address>", "vxlan/source_mlag"),
    Fact("nve vxlan port <integer>", "vxlan/port"),
    Entry("nve vxlan flooding head-end-replication <address>", "vteps", "true"),
    *setting_rows("arp-nd-suppress", "decapsulation", "encapsulation", "enable", "state", "flooding", "mac-learning",
               "mtu", "source", "port", under="vxlan", before="nve vxlan "),
    *setting_rows("enable", "state", "dad", "evi", "multihoming", "route-advertise", "vni", "mlag", under="evpn",
               before="evpn "),
    Each("acl <word>", "acl", (
        Keep("type <word>", "type"),
        Each("rule <word>", "rule", (
            Silent("remark <rest>"),
            Entry("action <rest>", "actions", "true"),
            Entry("match <rest>", "matches", "true"),
            *setting_rows("hw-offload"),
        )),
    )),
    Fact("(service|system) snmp-server (readonly-community|readwrite-community) <word> [<rest>]", lambda name, _: {
        "snmp/community/secret": name,
    }),
    *peering.ROWS,
    Each("router bgp", "global bgp", peering.PROCESS),
    Each("router ospf", "global ospf", _OSPF),
    *setting_rows("router adaptive-routing", "router vrr", "router vrrp", "router pbr", "router pim", "router igmp",
               "router nexthop", "router nexthop-tracking", "router bfd", "router policy", "router vrf",
               "router graceful-restart", "router static", under="routing"),
    *setting_rows("advance-buffer-config", "buffer", "congestion-control", "egress-queue-mapping", "egress-scheduler",
               "egress-shaper", "link-pause", "mapping", "pfc", "pfc-watchdog", "remark", "roce", "traffic-pool",
               "hash", under="qos", before="qos "),
    *setting_rows(*_SYSTEM, under="system", before="system "),
    Fact("system hostname <word>", "system/hostname"),
    Fact("system control-plane policer <word> <rate|burst|state> <word>", "platform/setting[policer {0} {1}]"),
    *(Silent(f"{words} [<rest>]") for words in _IGNORED_WORDS),
)  # fmt: skip


# --- content of the statements ---------------------------------------------------------------------------


def finish(document: Document, unknown: frozenset[int]) -> None:
    """State interfaces, bridges, overlays, policy, routing instances and access lists.

    What is made of several lines stands at the first of those that are unknown.
    """
    scope = document.scope
    scope.values["datacenter"] = ("true", 0)
    members: dict[str, tuple[str, int]] = {}
    for name, interface in scope.each("interface").items():
        for member, (_, line) in interface.table("bond members").items():
            mode, at = interface.values.get("mode", ("active", line))
            members[str(member)] = (str(name), line)
            document.put(port_paths(str(member))["bundle_mode"], mode, at)
        _finish_interface(document, str(name), interface)
        if name == "peerlink":
            document.put("mlag/peer_link", "peerlink", interface.line)
    for member, (bond, line) in members.items():
        document.put(port_paths(member)["bundle"], bond, line)
    _finish_bridges(document)
    peering.finish_policy(document, unknown)
    for name, acl in scope.each("acl").items():
        document.put_kept(f"access_list[{name}]/setting[type]", acl.values, "type")
        for number, rule in acl.each("rule").items():
            if text := " ".join(map(str, [*rule.table("actions"), *rule.table("matches")])):
                document.put(f"access_list[{name}]/{number}", text, place_of(rule, unknown))
    process = next(iter(scope.each("global bgp").values()), None)
    for name, vrf in scope.each("vrf").items():
        _finish_vrf(document, str(name), vrf, process)
    if process:
        own = [vrf.each("bgp") for name, vrf in scope.each("vrf").items() if name == "default"]
        stated = {leaf for each in own for one in each.values() for leaf in one.values}
        document.put_leaves("bgp/", process.values, tuple({"asn", "router_id"} - stated))
    for under in ("routing", "qos", "system", "vxlan", "evpn", "mlag"):
        put_settings(document, f"{under}/", scope, under)
    document.put_set("vxlan/peers", scope.table("vteps"))


_OF_INTERFACE = (
    "kind", "description", "mtu", "autoneg", "fec", "enabled", "dhcp", "vrf", "mlag", "ethernet_segment", "ospf_area",
    "ospf_cost", "ospf_network",
)  # fmt: skip
"""Values of an interface that are stored under the names of its facts."""


def _finish_interface(document: Document, name: str, interface: Scope) -> None:
    paths = port_paths(name)
    prefix = paths.prefix
    document.put_leaves(prefix, interface.values, _OF_INTERFACE)
    _put_addresses(document, prefix, "loopback/" if name == "lo" else prefix, interface)
    for address, (_, line) in interface.table("gateways").items():
        document.put(paths[f"gateway[{address}]"], str(address), line)
    document.put_set(paths["members"], interface.table("bond members"))
    document.put_kept(paths["vlan_tag"], interface.values, "vlan")
    for way, table in (("in", "inbound"), ("out", "outbound")):
        document.put_set(paths[f"access_list_{way}"], interface.table(table))
    put_settings(document, prefix, interface)
    put_settings(document, prefix, interface, "ospf_setting", "ospf_setting")
    put_settings(document, prefix, interface, "qos", "qos_setting")
    for domain in interface.each("domain").values():
        _finish_domain(document, name, domain)


def _put_addresses(document: Document, prefix: str, own: str, scope: Scope) -> None:
    """State addresses: the first of a family, and further ones."""
    met: set[str] = set()
    for address, (_, line) in scope.table("addresses").items():
        family = "ipv6" if ":" in str(address) else "ipv4"
        document.put(f"{prefix}secondary[{address}]" if family in met else own + family, str(address), line)
        met.add(family)


def _finish_domain(document: Document, name: str, domain: Scope) -> None:
    """State how a port is in a bridge."""
    paths = port_paths(name)
    document.put(paths["switchport"], "access" if "access" in domain.values else "trunk", domain.line)
    if "access" in domain.values:
        document.put(paths["access_vlan"], *domain.values["access"])
    else:
        untagged, at = domain.values.get("untagged", ("1", 0))
        if at and is_number(str(untagged)):
            document.put(paths["native_vlan"], int(untagged), at)
        vlans = domain.table("vlans")
        last = max((at for _, at in vlans.values()), default=domain.line)
        document.put(paths["vlans"], ",".join(map(str, vlans)) or "all", last)
    if stp := domain.table("stp"):
        document.put(paths["spanning_tree"], ", ".join(map(str, stp)), max(at for _, at in stp.values()))
    put_settings(document, paths.prefix, domain)


def _finish_bridges(document: Document) -> None:
    for name, bridge in document.scope.each("bridge").items():
        document.put_kept("spanning_tree/mode", bridge.values, "stp mode")
        for key, (_, line) in bridge.table("vlans").items():
            for each in startup.expand_members(str(key)):
                document.put(f"vlan[{each}]/enabled", "true", line)
        for vlan, (vni, line) in bridge.table("vnis").items():
            document.put(f"vlan[{vlan}]/enabled", "true", line)
            document.put(f"vxlan/vlan[{vlan}]/vni", vni, line)
        put_settings(document, f"interface[{name}]/", bridge)


_KINDS_OF_HOP = ("true", "interface", "blackhole")


def _finish_vrf(document: Document, name: str, vrf: Scope, above: Scope | None) -> None:
    """State a routing instance: its addresses, static routes, and the content of its processes."""
    prefix = "" if name == "default" else f"vrf[{name}]/"
    if prefix:
        document.put(f"vrf[{name}]", "present", vrf.line)
    _put_addresses(document, f"interface[{name}]/", "loopback/" if not prefix else f"interface[{name}]/", vrf)
    document.put_kept(f"vxlan/vrf[{name}]/vni", vrf.values, "vni")
    for route, scope in vrf.each("static").items():
        texts = [
            str(hop) if kind in _KINDS_OF_HOP or str(kind).endswith("address") else f"{hop} {kind}"
            for hop, (kind, _) in scope.table("via").items()
            if hop not in ("blackhole", "reject", "Null0")
        ]
        texts += [str(text) for text, _ in scope.table("distant").values()]
        document.put(f"{prefix}static_route[{route}]", static_text(texts), scope.line)
    put_settings(document, f"{prefix}routing/", vrf)
    document.put_kept(f"{prefix}bgp/setting[ip protocol route-map]", vrf.values, "fib filter")
    for process in vrf.each("bgp").values():
        if above and prefix:
            process.values = {**above.values, **process.values}
        document.put_leaves(f"{prefix}bgp/", process.values, ("asn", "router_id"))
        peering.finish(document, process, prefix)
    for process in vrf.each("ospf").values():
        document.put_leaves(f"{prefix}ospf[default]/", process.values, ("router_id",))
        for key, stored in process.values.items():
            if key.startswith(("redistribute[", "area[", "network[")):
                document.put(f"{prefix}ospf[default]/{key}", *stored)
        put_settings(document, f"{prefix}ospf[default]/", process)


@cache
def reader() -> Reader:
    """Return the reader of statements; it is made when there is something to read."""
    return Reader((Topic(ROWS),), TYPES, lambda text: Tree(tuple(list_statements(text))))


def read_again(text: str, file: str, reading: Reading) -> None:
    """Read the unknown lines of a reading again, with the rows of foreign designs, and add the facts.

    A line that the rows cover with everything below it is removed from the unknown lines. A line that they cover in
    part is replaced by the statements that remain unknown.
    """
    odd = [each for each in reading.unknown if each[0] == file]
    if not odd:
        return
    unread = [each for each in odd if not isinstance(each, Unplanned)]
    found = Reading()
    heads = {line for _, line, _ in unread}
    read = {line for _, line in reading.lines.values()} | heads if startup.is_commands(text) else set[int]()
    below = _lines_below(startup.parse_startup(text).nodes, heads, read)
    unknown = frozenset(line for lines in below.values() for line in lines)
    finish(reader().read_file(file, text, found), unknown)
    left: dict[int, list[tuple[str, int, str]]] = {}
    raw = text.split("\n")
    for line in dict.fromkeys(line for _, line, _ in found.unknown):
        left[line] = [(file, line, raw[line - 1].strip())]
    for each in unread:
        lines = below.get(each[1], ())
        rest = [one for line in lines for one in left.get(line, ())]
        if not lines or (rest and len(lines) == 1):
            continue
        reading.unknown[reading.unknown.index(each)] = Unplanned(*each)
        reading.unknown += rest
    for path, place in found.lines.items():
        value, known = found.facts[path], reading.facts.get(path)
        restated = (
            known != value and path.startswith(_WHOLE) and (known is not None or path.startswith(_ROUTES))
        )
        if place[1] in unknown or restated:
            reading.put(path, value, *place)
    bound = {
        name
        for path, value in found.facts.items()
        if path.endswith(_BINDINGS)
        for name in str(value).split(",")
    }
    for path, value in found.facts.items():
        if path.startswith(_LIST) and path[len(_LIST) :].partition("]")[0] in bound:
            reading.put(path, value, *found.lines[path])
    reading.unknown.sort(key=lambda each: each[1])


_LIST = "access_list["
_BINDINGS = ("]/access_list_in", "]/access_list_out")
"""Ends of paths that name the filter list of a port; those of a plan filter the control plane only."""
_ROUTES = "static_route["
_WHOLE = ("route_map[", "prefix_list[", "community_list[", _ROUTES, "bgp/")
"""Beginnings of paths whose values are made of several lines, of which some were unknown."""


def list_statements(text: str) -> Iterator[Node]:
    """Yield each leaf of the tree with all words of its path, once for each interface or neighbor of a range."""
    stack: list[tuple[Node, tuple[str, ...]]] = [
        (node, ()) for node in reversed(startup.parse_startup(text).nodes) if node.key == ("set",)
    ]
    while stack:
        node, above = stack.pop()
        for words in _expand_ranges(above, node.key) if above else (node.key,):
            if node.children is None:
                yield Node(words[1:], node.line)
            else:
                stack += [(child, words) for child in reversed(node.children)]


def _expand_ranges(above: tuple[str, ...], key: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words on the way to a node, ranges spelled out where names of interfaces stand."""
    if above[-1] in ("interface", "neighbor", "member") and key:
        for name in startup.expand_members(key[0]):
            yield (*above, name, *key[1:])
    else:
        yield (*above, *key)


def _lines_below(nodes: Sequence[Node], heads: set[int], known: set[int]) -> dict[int, list[int]]:
    """Return lines of each node that stands on some lines, with no other `known` line below it, and of all below it."""
    found: dict[int, list[int]] = {}
    stack = [(node, 0) for node in nodes]
    while stack:
        node, head = stack.pop()
        if not head and node.line in heads:
            alone = not known or not startup.stands_below(node, known - {node.line})
            head = node.line if alone else 0
        if head:
            found.setdefault(head, []).append(node.line)
        stack += [(child, head) for child in node.children or ()]
    return {head: [*dict.fromkeys(lines)] for head, lines in found.items()}
