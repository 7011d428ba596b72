"""What NVUE says of designs of others: bridges, bonds, VLANs, MLAG, VXLAN, VRFs, access lists, all of BGP and OSPF.

The rows of this module read a configuration of which the rows of a plan left something unknown, a statement a line:
each with the words on the way there, ranges of names spelled out. What they state counts where it comes from a line
that was unknown. Names are those of NVIDIA's NVUE reference (docs.nvidia.com/networking-ethernet-software, NVUE).
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import startup
from fabricc.back.nos.frr import bgp as frr_bgp
from fabricc.back.nos.frr import igp, sessions
from fabricc.back.reading import Each, Entry, Fact, Keep, Node, Reader, Scope, Silent, Topic, Tree
from fabricc.fabric.facts import Reading, Unplanned, clause_text, static_text
from fabricc.fabric.paths import port_paths
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.reading import Document, Row, Types

MULTIPATH_LIMIT = 128
"""Next hops that Cumulus Linux installs where nothing is said (NVIDIA's user guide, Equal Cost Multipath)."""
_SWITCH: Mapping[str, str] = {
    "on": "true", "off": "false", "enable": "true", "disable": "false", "enabled": "true", "disabled": "false",
    "yes": "true", "no": "false",
}  # fmt: skip
_ENABLE = "(enable|state)"
_FAMILIES = {
    "ipv4-unicast": "ipv4", "ipv6-unicast": "ipv6", "l2vpn-evpn": "evpn", "ipv4-labeled-unicast":
    "ipv4 labeled-unicast", "ipv6-labeled-unicast": "ipv6 labeled-unicast",
}  # fmt: skip
TYPES: Types = {"switch": _SWITCH, "family": _FAMILIES, "lower": str.lower, **igp.TYPES}


def _settings(*beginnings: str, under: str = "setting", before: str = "") -> tuple[Row, ...]:
    """Statements that begin with these words: what follows is an entry of the table `setting[words]`."""
    return tuple(
        Entry(f"{before}{words} [<rest>]", f"{under}[{words}]", lambda _: "true")
        for words in dict.fromkeys(beginnings)
    )


def _line(word: str, rest: str) -> dict[str, str]:
    """A line of a clause, kept as it stands."""
    return {f"{word} {rest}": "true"}


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
    *_settings("link speed", "link lanes", "link duplex", "link breakout", "link protodown-delay",
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
    *_settings("ip vrr mac-address", "ip vrr mac-id", "ip vrrp virtual-router", "ip ipv4 forward", "ip ipv6 forward",
               "ipv4 forward", "ipv6 forward", "ip arp", "ip neighbor-discovery", "neighbor-discovery", "ip igmp",
               "ip neighbor", "ipv4 vrr mac-address", "ipv6 vrr mac-address"),
    Silent(f"(ip|ipv4|ipv6) vrr {_ENABLE} [<rest>]"),
    Silent("ip ipv6 enable [<rest>]"),
    Silent("ipv6 (enable|state) [<rest>]"),
    Entry("bond member <word>", "bond members", "true"),
    Keep("bond mode (lacp|802.3ad)", "mode", "active"),
    Keep("bond mode static", "mode", "on"),
    Keep("bond mlag id <word>", "mlag"),
    Silent(f"bond mlag {_ENABLE} [<rest>]"),
    *_settings("bond lacp-bypass", "bond lacp-rate", "bond down-delay", "bond up-delay", "bond min-links",
               "bond mlag lacp-conflict"),
    Keep("evpn multihoming segment local-id <word>", "ethernet_segment"),
    Keep("evpn multihoming segment identifier <word>", "ethernet_segment"),
    Silent(f"evpn multihoming segment {_ENABLE} [<rest>]"),
    *_settings("evpn multihoming segment mac-address", "evpn multihoming segment df-preference",
               "evpn multihoming uplink"),
    Each("bridge domain <word>", "domain", (
        Keep("access <integer>", "access"),
        Keep("untagged <word>", "untagged"),
        Entry("vlan <word>", "vlans", "true"),
        *_settings("learning", "type", "ports-isolated"),
        Entry("stp <rest>", "stp", "true"),
    )),
    Silent("bridge domain <word>"),
    Keep("vlan <integer>", "vlan"),
    Keep("base-interface <word>", "setting[base-interface]"),
    Entry("acl <word> inbound [<rest>]", "inbound", lambda *_: "true"),
    Entry("acl <word> outbound [<rest>]", "outbound", lambda *_: "true"),
    *_settings("buffer", "egress-queue-mapping", "egress-scheduler", "egress-shaper", "mapping", "remark", "roce",
               "storm-control", "link-pause", under="qos", before="qos "),
    Keep("qos congestion-control <rest>", "qos[congestion-control]"),
    Keep("qos pfc <rest>", "qos[pfc]"),
    Keep("qos pfc-watchdog <rest>", "qos[pfc-watchdog]"),
    Keep("storm-control <rest>", "setting[storm-control]"),
    Keep("router ospf area <area>", "ospf_area"),
    Keep("router ospf cost <integer>", "ospf_cost"),
    Keep("router ospf network-type <word>", "ospf_network"),
    Silent(f"router ospf {_ENABLE} [<rest>]"),
    *_settings("authentication", "bfd", "mtu-ignore", "passive", "priority", "timers", under="ospf_setting",
               before="router ospf "),
    *_settings("router adaptive-routing", "router pbr", "router pim"),
    *_settings("tunnel", "port-security", "acl"),
    *(
        Silent(f"{words} [<rest>]")
        for words in ("aggregate-ethernet", "dot1x", "lldp", "ptp", "sflow", "synce", "telemetry")
    ),
)  # fmt: skip

_SESSION: tuple[Row, ...] = (
    Keep("remote-as <asn>", "remote_asn"),
    Keep("remote-as <external|internal>", "remote_kind"),
    Keep("remote-as auto", "setting[remote-as]", "auto"),
    Silent("type <word>"),
    Keep("peer-group <word>", "group"),
    Keep("description <rest>", "description"),
    Keep("password <rest>", "password", lambda _: "set"),
    Keep(f"{_ENABLE} <switch>", "enabled"),
    Keep("shutdown on", "enabled", "false"),
    Keep("multihop-ttl <integer>", "multihop"),
    Keep("update-source <word>", "update_source"),
    Keep("local-as asn <asn>", "local_asn"),
    Silent(f"local-as {_ENABLE} [<rest>]"),
    Keep("timers keepalive <integer>", "keepalive_s"),
    Keep("timers hold <integer>", "hold_s"),
    Keep("capabilities extended-nexthop <switch>", "extended_next_hop"),
    Keep(f"bfd {_ENABLE} on", "bfd_on", "true"),
    Keep(f"bfd {_ENABLE} enabled", "bfd_on", "true"),
    Keep("bfd profile <word>", "bfd_profile"),
    Silent("bfd enable off"),
    Keep("ttl-security hops <integer>", "ttl_security_hops"),
    *_settings("bfd detect-multiplier", "bfd min-rx-interval", "bfd min-tx-interval", "timers connection-retry",
               "timers route-advertisement", "nexthop-connected-check", "passive-mode", "enforce-first-as",
               "graceful-restart mode", "graceful-shutdown", "local-as prepend", "local-as replace",
               "capabilities source-address", "ttl-security", "v6only"),
    Each("address-family <family>", "family", (
        Keep(f"{_ENABLE} <switch>", "active"),
        Keep("policy inbound route-map <word>", "import"),
        Keep("policy outbound route-map <word>", "export"),
        Keep("policy inbound prefix-list <word>", "prefix_list_in"),
        Keep("policy outbound prefix-list <word>", "prefix_list_out"),
        Keep("policy inbound aspath-list <word>", "filter_in", "as_path_list {0}".format),
        Keep("policy outbound aspath-list <word>", "filter_out", "as_path_list {0}".format),
        Keep("prefix-limits inbound maximum <integer>", "maximum_prefixes"),
        Keep("aspath allow-my-asn (enable|state) <on|enabled>", "allowed", "true"),
        Keep("aspath allow-my-asn occurrences <integer>", "allow_as_in"),
        Keep("aspath private-as remove", "remove_private", "true"),
        Keep("aspath private-as replace", "remove_private", "replace"),
        Keep("route-reflector-client <on|enabled>", "reflector_client", "true"),
        Keep("attribute-mod nexthop <on|enabled>", "next_hop_unchanged", "true"),
        Keep("nexthop-setting self [<rest>]", "next_hop_self", lambda _: "true"),
        Keep("default-route-origination (enable|state) <on|enabled>", "originated", "true"),
        Keep("default-route-origination policy <word>", "default_originate"),
        *_settings("add-path-tx", "aspath", "attribute-mod", "community-advertise", "conditional-advertise",
                   "default-route-origination", "nexthop-setting", "policy outbound unsuppress-map",
                   "prefix-limits", "route-reflector-client", "route-server-client", "soft-reconfiguration", "weight",
                   "soo"),
    )),
    Silent("address-family <family>"),
)  # fmt: skip
_BGP: tuple[Row, ...] = (
    Keep("autonomous-system <asn>", "asn"),
    Keep("router-id <address4>", "router_id"),
    Silent(f"{_ENABLE} [<rest>]"),
    Keep("timers keepalive <integer>", "keepalive_s"),
    Keep("timers hold <integer>", "hold_s"),
    Keep("path-selection multipath aspath-ignore <switch>", "multipath_relax"),
    Keep("confederation id <integer>", "confederation", str),
    Keep("confederation member-as <rest>", "confederation peers"),
    Keep("route-reflection cluster-id <word>", "cluster_id"),
    Entry("dynamic-neighbor listen-range <prefix> peer-group <word>", "listen", lambda _, group: group),
    *_settings("confederation", "convergence-wait", "dynamic-neighbor", "graceful-restart", "graceful-shutdown",
               "maintenance-mode", "path-selection", "rd", "route-export", "route-import", "route-reflection",
               "soft-reconfiguration", "timers", "dynamic-peer", "nexthop-tracking", "wait-for-install",
               "wait-for-install-time", "default-as-set", "l2vpn-evpn"),
    Each("address-family <family>", "family", (
        Keep(f"{_ENABLE} <switch>", "on"),
        Entry("network <prefix>", "networks", "all"),
        Entry("network <prefix> route-map <word>", "networks", lambda _, name: name),
        Entry("aggregate-route <prefix> [<rest>]", "aggregates",
              lambda _, rest: "summary-only" if (rest or "") in ("summary-only on", "summary-only enabled") else
              rest or "with its more specifics"),
        Keep("redistribute <word> (enable|state) <on|enabled>", lambda kind, _: {f"redistribute[{kind}]": "true"}),
        Keep("redistribute <word> route-map <word>", lambda kind, name: {f"map[{kind}]": name}),
        Keep("multipaths ebgp <integer>", "paths"),
        Keep("multipaths ibgp <integer>", "ibgp paths"),
        *_settings("add-path-rx", "admin-distance", "convergence", "label", "multipaths", "nexthop-tracking",
                   "redistribute", "rib-filter", "route-export", "route-import", "soft-reconfiguration", "advertise",
                   "advertise-default-gw", "advertise-svi-ip"),
    )),
    Silent("address-family <family>"),
    Each("neighbor <word>", "neighbor", _SESSION),
    Silent("neighbor <word>"),
    Each("peer-group <word>", "peer group", _SESSION),
    Silent("peer-group <word>"),
)  # fmt: skip
_OSPF: tuple[Row, ...] = (
    Keep("router-id <address4>", "router_id"),
    Silent(f"{_ENABLE} [<rest>]"),
    Keep("area <area> network <prefix4>", lambda area, network: {f"network[{network}]": area}),
    Keep("area <word> type <rest>", lambda area, kind: {f"area[{area}]": kind}),
    *_settings("area", "default-originate", "distance", "log", "max-metric", "reference-bandwidth", "timers",
               "default-route"),
    Keep("redistribute <word> <rest>", lambda kind, rest: {f"redistribute[{kind}]": rest}),
)  # fmt: skip
_VRF: tuple[Row, ...] = (
    Each("router bgp", "bgp", _BGP),
    Each("router ospf", "ospf", _OSPF),
    Each("router static <prefix>", "static", (
        Silent("address-family <word>"),
        Entry("via <word>", "via", "true"),
        Entry("via <word> type <word>", "via", "true"),
        Entry("via <word> interface <word>", "via", lambda _, interface: interface),
        Entry("distance <integer> via <word> [<rest>]", "distant", lambda number, hop, _: f"{hop} distance {number}"),
        *_settings("via", "distance", "tag"),
    )),
    Silent("router static <prefix>"),
    Keep("evpn vni <integer> [<rest>]", "vni", lambda vni, _: vni),
    Silent(f"evpn {_ENABLE} [<rest>]"),
    Entry("loopback ip address <prefix>", "addresses", "true"),
    *_settings("evpn", "router nexthop-tracking", "router rib", "router pim", "router pbr", "table"),
    *(Silent(f"{words} [<rest>]") for words in ("ptp", "ssh-server")),
)  # fmt: skip
_LIST_RULE: tuple[Row, ...] = (
    Keep("action <word>", "action"),
    Entry("match <word>", "matches", "true"),
    Each("match <word>", "bounds", (
        Keep("min-prefix-len <integer>", "ge"), Keep("max-prefix-len <integer>", "le"),
    )),
    Entry("(community|large-community|rt|soo) <word>", "matches", "true"),
    Entry("aspath-exp <rest>", "matches", "true"),
)  # fmt: skip
_LISTS = ("prefix-list", "community-list", "large-community-list", "ext-community-list", "as-path-list")
_ASIDE = (
    "system aaa", "system api", "system banner", "system cli", "system config", "system control-plane",
    "system cpu", "system date-time", "system debug", "system dhcp-server", "system dns", "system docker",
    "system eventd", "system events", "system gnmi-server", "system grpc-tunnel", "system health", "system history",
    "system image", "system lldp", "system log", "system maintenance", "system message", "system ntp",
    "system packages", "system packet-capture", "system password", "system profile", "system ptp", "system reboot",
    "system schedule", "system security", "system snmp-server", "system snmp-server", "system ssh-server",
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
        *_settings("vlan", "stp", "untagged", "type", "encap", "mac-address", "multicast", "ageing", "svi-force-up",
                   "vlan-vni-offset", "port-vni", "svi-vni-offset"),
    )),
    Fact("mlag mac-address <word>", "mlag/mac"),
    Fact("mlag peer-ip <word>", "mlag/peer"),
    Fact("mlag backup <word> [<rest>]", lambda address, _: {"mlag/backup": address}),
    Fact(f"mlag {_ENABLE} <on|enabled>", "mlag/domain", "mlag"),
    *_settings("init-delay", "priority", "debug", "lacp-conflict", "anycast-ip", under="mlag", before="mlag "),
    Fact("nve vxlan source address <address>", "vxlan/source"),
    Fact("nve vxlan mlag shared-address <address>", "vxlan/source_mlag"),
    Fact("nve vxlan port <integer>", "vxlan/port"),
    Entry("nve vxlan flooding head-end-replication <address>", "vteps", "true"),
    *_settings("arp-nd-suppress", "decapsulation", "encapsulation", "enable", "state", "flooding", "mac-learning",
               "mtu", "source", "port", under="vxlan", before="nve vxlan "),
    *_settings("enable", "state", "dad", "evi", "multihoming", "route-advertise", "vni", "mlag", under="evpn",
               before="evpn "),
    Each("acl <word>", "acl", (
        Keep("type <word>", "type"),
        Each("rule <word>", "rule", (
            Silent("remark <rest>"),
            Entry("action <rest>", "actions", "true"),
            Entry("match <rest>", "matches", "true"),
            *_settings("hw-offload"),
        )),
    )),
    Each("router policy route-map <word>", "route-map", (
        Each("rule <word>", "clause", (
            *(Keep(f"action {action}", "action", action) for action in ("permit", "deny")),
            *(Keep(f"{word} <rest>", partial(_line, word)) for word in ("match", "set", "exit-policy", "continue")),
            Silent("description <rest>"),
        )),
    )),
    *(Each(f"router policy {kind} <word>", kind, (
        Keep("type <ipv4|ipv6>", "type"), Each("rule <word>", "rule", _LIST_RULE), Silent("description <rest>"),
    )) for kind in _LISTS),
    Each("router bgp", "global bgp", _BGP),
    Each("router ospf", "global ospf", _OSPF),
    *_settings("router adaptive-routing", "router vrr", "router vrrp", "router pbr", "router pim", "router igmp",
               "router nexthop", "router nexthop-tracking", "router bfd", "router policy", "router vrf",
               "router graceful-restart", "router static", under="routing"),
    *_settings("advance-buffer-config", "buffer", "congestion-control", "egress-queue-mapping", "egress-scheduler",
               "egress-shaper", "link-pause", "mapping", "pfc", "pfc-watchdog", "remark", "roce", "traffic-pool",
               "hash", under="qos", before="qos "),
    *_settings(*_SYSTEM, under="system", before="system "),
    Fact("system hostname <word>", "system/hostname"),
    *(Silent(f"{words} [<rest>]") for words in dict.fromkeys(_ASIDE)),
)  # fmt: skip


# --- a second reading ------------------------------------------------------------------------------------


@cache
def reader() -> Reader:
    """The reader of statements; it is made when there is something to read."""
    return Reader((Topic(ROWS),), TYPES, lambda text: Tree(tuple(statements(text))))


def read(text: str, file: str, reading: Reading) -> None:
    """Add what the rows of this module know of lines that a reading left unknown.

    A line that they know, with all that is below it, is no longer plainly unknown; of one that they know in part, what
    is left is listed statement by statement.
    """
    told = [each for each in reading.unknown if not isinstance(each, Unplanned) and each[0] == file]
    if not told:
        return
    found = Reading()
    heads = {line for _, line, _ in told}
    commands = startup.is_commands(text)
    below = {line: [line] for line in heads} if commands else _below(startup.parsed(text).nodes, heads)
    unknown = frozenset(line for lines in below.values() for line in lines)
    finish(reader().read_file(file, text, found), unknown)
    left: dict[int, list[tuple[str, int, str]]] = {}
    raw = text.split("\n")
    for line in dict.fromkeys(line for _, line, _ in found.unknown):
        left[line] = [(file, line, raw[line - 1].strip())]
    for each in told:
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
"""Ends of paths that say which list filters a port: those of a plan filter the control plane alone."""
_ROUTES = "static_route["
_WHOLE = ("route_map[", "prefix_list[", "community_list[", _ROUTES, "bgp/")
"""Beginnings of paths whose values are made of several lines, of which some were unknown."""


def statements(text: str) -> Iterator[Node]:
    """Each end of the tree with the words on the way there, for each of the interfaces or neighbours of a range."""
    stack: list[tuple[Node, tuple[str, ...]]] = [
        (node, ()) for node in reversed(startup.parsed(text).nodes) if node.key == ("set",)
    ]
    while stack:
        node, above = stack.pop()
        for words in _spelled(above, node.key) if above else (node.key,):
            if node.children is None:
                yield Node(words[1:], node.line)
            else:
                stack += [(child, words) for child in reversed(node.children)]


def _spelled(above: tuple[str, ...], key: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words on the way to a node, ranges spelled out where names of interfaces stand."""
    if above[-1] in ("interface", "neighbor", "member") and key:
        for name in startup.members(key[0]):
            yield (*above, name, *key[1:])
    else:
        yield (*above, *key)


def _below(nodes: Sequence[Node], heads: set[int]) -> dict[int, list[int]]:
    """Lines of each of the nodes that stand on some lines, and of all below it."""
    found: dict[int, list[int]] = {}
    stack = [(node, 0) for node in nodes]
    while stack:
        node, head = stack.pop()
        head = head or (node.line if node.line in heads else 0)
        if head:
            found.setdefault(head, []).append(node.line)
        stack += [(child, head) for child in node.children or ()]
    return found


_IN_CLAUSES = {
    "match ip-prefix-list": "prefix_list", "match community-list": "community_list",
    "set local-preference": "local_preference", "set community": "add_community",
}  # fmt: skip
"""Lines of clauses that a plan has -> what `Clause` calls them."""
_APART = (["match", "type"], ["set", "ipv6-nexthop-prefer-global"])
"""Lines that say nothing of which routes pass, or have a fact of their own."""
_WELL_KNOWN = {"graceful-shutdown": "65535:0"}


# --- what the statements say -----------------------------------------------------------------------------


def finish(document: Document, unknown: frozenset[int]) -> None:
    """State interfaces, bridges, overlays, policy, routing instances and access lists.

    What is made of several lines stands at the first of those that are unknown.
    """
    scope = document.scope
    scope.values["datacenter"] = ("true", 0)
    members: dict[str, tuple[str, str, int]] = {}
    for name, interface in scope.each("interface").items():
        for member, (_, line) in interface.table("bond members").items():
            members[str(member)] = (str(name), str(interface.values.get("mode", ("active", 0))[0]), line)
        _finish_interface(document, str(name), interface)
    for member, (bond, mode, line) in members.items():
        document.put(port_paths(member)["bundle"], bond, line)
        document.put(port_paths(member)["bundle_mode"], mode, line)
    _finish_bridges(document)
    _finish_policy(document, unknown)
    for name, acl in scope.each("acl").items():
        document.put_kept(f"access_list[{name}]/setting[type]", acl.values, "type")
        for number, rule in acl.each("rule").items():
            texts = [*rule.table("actions"), *rule.table("matches")]
            if texts:
                document.put(
                    f"access_list[{name}]/{number}", " ".join(map(str, texts)), _place(rule, unknown)
                )
    process = next(iter(scope.each("global bgp").values()), None)
    for name, vrf in scope.each("vrf").items():
        _finish_vrf(document, str(name), vrf, process)
    if process:
        document.put_leaves("bgp/", process.values, ("asn", "router_id"))
    for under, prefix in (
        ("routing", "routing/"),
        ("qos", "qos/"),
        ("system", "system/"),
        ("vxlan", "vxlan/"),
        ("evpn", "evpn/"),
        ("mlag", "mlag/"),
    ):
        _put_settings(document, prefix, scope, under)
    document.put_set("vxlan/peers", scope.table("vteps"))


def _place(scope: Scope, unknown: frozenset[int]) -> int:
    """The first unknown line of what a scope says, else its own."""
    return min((line for _, line in scope.said() if line in unknown), default=scope.line)


def _gathered(scope: Scope, under: str = "setting") -> dict[str, tuple[str, int]]:
    """Settings of a scope: what follows their words, joined."""
    found = {
        name: (str(value), line)
        for name, (value, line) in scope.values.items()
        if name.startswith(under + "[")
    }
    for name, table in scope.tables.items():
        if name.startswith(under + "["):
            texts = ["true" if text is None else str(text) for text in table]
            found[name] = (", ".join(texts), max(line for _, line in table.values()))
    return found


def _put_settings(
    document: Document, prefix: str, scope: Scope, under: str = "setting", leaf: str = "setting"
) -> None:
    for name, said in _gathered(scope, under).items():
        document.put(f"{prefix}{leaf}{name[len(under) :]}", *said)


_OF_INTERFACE = (
    "kind", "description", "mtu", "autoneg", "fec", "enabled", "dhcp", "vrf", "mlag", "ethernet_segment", "ospf_area",
    "ospf_cost", "ospf_network",
)  # fmt: skip
"""What is kept of an interface under the names of its facts."""


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
    _put_settings(document, prefix, interface)
    _put_settings(document, prefix, interface, "ospf_setting", "ospf_setting")
    _put_settings(document, prefix, interface, "qos", "qos_setting")
    for domain in interface.each("domain").values():
        _finish_domain(document, name, domain)


def _put_addresses(document: Document, prefix: str, own: str, scope: Scope) -> None:
    """State addresses: the first of a family, and what is beside it."""
    met: set[str] = set()
    for address, (_, line) in scope.table("addresses").items():
        family = "ipv6" if ":" in str(address) else "ipv4"
        document.put(f"{prefix}secondary[{address}]" if family in met else own + family, str(address), line)
        met.add(family)


def _finish_domain(document: Document, name: str, domain: Scope) -> None:
    """State how a port is in a bridge."""
    paths = port_paths(name)
    line = domain.line
    document.put(paths["switchport"], "access" if "access" in domain.values else "trunk", line)
    if "access" in domain.values:
        document.put(paths["access_vlan"], *domain.values["access"])
    else:
        untagged, at = domain.values.get("untagged", ("1", 0))
        if at and str(untagged).isdecimal():
            document.put(paths["native_vlan"], int(untagged), at)
        vlans = ",".join(map(str, domain.table("vlans")))
        document.put(
            paths["vlans"],
            vlans or "all",
            max((at for _, at in domain.table("vlans").values()), default=line),
        )
    if stp := domain.table("stp"):
        document.put(paths["spanning_tree"], ", ".join(map(str, stp)), max(at for _, at in stp.values()))
    _put_settings(document, paths.prefix, domain)


def _finish_bridges(document: Document) -> None:
    for name, bridge in document.scope.each("bridge").items():
        document.put_kept("spanning_tree/mode", bridge.values, "stp mode")
        for key, (_, line) in bridge.table("vlans").items():
            for each in startup.members(str(key)):
                document.put(f"vlan[{each}]/enabled", "true", line)
        for vlan, (vni, line) in bridge.table("vnis").items():
            document.put(f"vlan[{vlan}]/enabled", "true", line)
            document.put(f"vxlan/vlan[{vlan}]/vni", vni, line)
        _put_settings(document, f"interface[{name}]/", bridge)


def _finish_policy(document: Document, unknown: frozenset[int]) -> None:
    scope = document.scope
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            action, _ = clause.values.get("action", ("permit", 0))
            document.put(
                f"route_map[{name}]/{sequence}", _clause(str(action), clause), _place(clause, unknown)
            )
    for kind in _LISTS:
        for name, each in scope.each(kind).items():
            rules = [
                _rule(kind, str(each.values.get("type", ("ipv4", 0))[0]), rule, unknown)
                for _, rule in sorted(
                    each.each("rule").items(), key=lambda item: startup.natural(str(item[0]))
                )
            ]
            texts = [(text, line) for text, line in rules if text]
            if kind == "prefix-list" or kind == "as-path-list":
                document.put_places(f"{kind.replace('-', '_')}[{name}]", texts)
            elif texts:
                before = {"large-community-list": "large ", "ext-community-list": "extended "}.get(kind, "")
                document.put(
                    f"community_list[{before}{name}]", ", ".join(text for text, _ in texts), texts[0][1]
                )


def _clause(action: str, clause: Scope) -> str:
    """A clause as its fact's value; lines that a plan has none of stand as they are."""
    said: dict[str, str] = {}
    communities: list[str] = []
    further: list[str] = []
    for text in (name for name in clause.values if name != "action"):
        words = text.split()
        key = _IN_CLAUSES.get(" ".join(words[:2]), "")
        if key == "add_community" and words[2:] not in ([], ["none"]):
            communities.append(_WELL_KNOWN.get(words[2], words[2]))
        elif key and key != "add_community" and len(words) == 3:
            said[key] = words[2]
        elif words[:2] not in _APART:
            further.append(text)
    planned = Clause(
        0,
        action == "permit",
        prefix_list=said.get("prefix_list"),
        community_list=said.get("community_list"),
        local_preference=int(said["local_preference"])
        if said.get("local_preference", "").isdecimal()
        else None,
        add_community=" ".join(sorted(communities)) or None,
    )
    return " ".join([clause_text(planned), *further])


def _rule(kind: str, family: str, rule: Scope, unknown: frozenset[int]) -> tuple[str, int]:
    """A rule of a list as its fact's value; prefixes of one rule are one after the other."""
    action = str(rule.values.get("action", ("permit", 0))[0])
    matches = {str(text): line for text, (_, line) in rule.table("matches").items()}
    texts: list[str] = []
    for text in dict.fromkeys([*matches, *map(str, rule.each("bounds"))]):
        bounds = rule.each("bounds").get(text)
        said = [
            f"{word} {bounds.values[word][0]}" for word in ("ge", "le") if bounds and word in bounds.values
        ]
        prefix = (
            {"ipv4": "0.0.0.0/0 le 32", "ipv6": "::/0 le 128"}.get(family, text) if text == "any" else text
        )
        texts.append(" ".join([prefix, *said]))
    if kind == "as-path-list":
        return f"{action} {' '.join(texts)}".rstrip(), _place(rule, unknown)
    text = " or ".join(texts) if kind == "prefix-list" else " ".join(texts)
    return (text if action == "permit" else f"deny {text}") if texts else "", _place(rule, unknown)


def _finish_vrf(document: Document, name: str, vrf: Scope, above: Scope | None) -> None:
    """State a routing instance: its addresses, static routes, and what its processes say."""
    prefix = "" if name == "default" else f"vrf[{name}]/"
    if prefix:
        document.put(f"vrf[{name}]", "present", vrf.line)
    _put_addresses(document, f"interface[{name}]/", "loopback/" if not prefix else f"interface[{name}]/", vrf)
    document.put_kept(f"vxlan/vrf[{name}]/vni", vrf.values, "vni")
    for route, scope in vrf.each("static").items():
        hops = {str(hop): str(hop) for hop in scope.table("via")}
        for hop, (value, _) in scope.table("via").items():
            if (
                value != "true"
                and not str(value).endswith("address")
                and value not in ("interface", "blackhole")
            ):
                hops[str(hop)] = f"{hop} {value}"
        texts = [text for hop, text in hops.items() if hop not in ("blackhole", "reject")]
        texts += [str(text) for text, _ in scope.table("distant").values()]
        document.put(f"{prefix}static_route[{route}]", static_text(texts), scope.line)
    _put_settings(document, f"{prefix}routing/", vrf)
    for process in vrf.each("bgp").values():
        if above and prefix:
            process.values = {**above.values, **process.values}
        document.put_leaves(f"{prefix}bgp/", process.values, ("asn", "router_id"))
        _finish_bgp(document, process, prefix)
    for process in vrf.each("ospf").values():
        document.put_leaves(f"{prefix}ospf[default]/", process.values, ("router_id",))
        for key, said in process.values.items():
            if key.startswith(("redistribute[", "area[", "network[")):
                document.put(f"{prefix}ospf[default]/{key}", *said)
        _put_settings(document, f"{prefix}ospf[default]/", process)


def _finish_bgp(document: Document, process: Scope, prefix: str) -> None:
    """State a process and its sessions as those of FRR, which is what runs."""
    bgp = Scope(process.line)
    bgp.values = {**process.values, **_gathered(process)}
    bgp.tables = {"listen": process.tables.get("listen", {})}
    for family, scope in process.each("family").items():
        name = str(family)
        if scope.values.get("on", ("true", 0))[0] == "true" and name in sessions.FAMILIES:
            bgp.values[name] = ("true", scope.line)
        for key in ("paths", "ibgp paths"):
            if key in scope.values:
                bgp.values[f"{name} {key}"] = scope.values[key]
        for table in ("networks", "aggregates"):
            bgp.tables.setdefault(table, {}).update(scope.table(table))
        for key, (_, line) in scope.values.items():
            if key.startswith("redistribute["):
                kind = key[len("redistribute[") : -1]
                own = kind in ("connected", "static")
                value, at = scope.values.get(f"map[{kind}]", ("unfiltered" if own else "all", line))
                bgp.values[f"{name} {kind}" if own else f"{name} {key}"] = (value, at)
        bgp.values |= {f"{name} {key}": said for key, said in _gathered(scope).items()}
    speakers = bgp.scopes.setdefault("neighbor", {})
    for kind in ("neighbor", "peer group"):
        for speaker, session in process.each(kind).items():
            speakers[speaker] = _session(session, group=kind == "peer group")
    frr_bgp.finish_process(document, bgp, MULTIPATH_LIMIT, prefix)
    sessions.finish(document, bgp, prefix)


def _session(session: Scope, *, group: bool) -> Scope:
    """A neighbour or a group under the names that FRR's own lines are kept under."""
    found = Scope(session.line)
    found.values = {**session.values, **_gathered(session)}
    if group:
        found.values["is a group"] = ("true", session.line)
    for family, scope in session.each("family").items():
        said = dict(scope.values)
        if "originated" in said:
            said.setdefault("default_originate", ("all", said.pop("originated")[1]))
        if "allowed" in said:
            said.setdefault("allow_as_in", (sessions.ALLOWED_AS, said.pop("allowed")[1]))
        found.values |= {f"{family} {leaf}": value for leaf, value in {**said, **_gathered(scope)}.items()}
    return found
