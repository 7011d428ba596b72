"""Cumulus Linux without NVUE: ifupdown2's `interfaces`, FRR's files, and those of quality of service and hashing.

Sources: ifupdown2's manual ifupdown-addons-interfaces(5); NVIDIA's user guide, Quality of Service, which documents the
keys of `/etc/cumulus/datapath/qos/qos_features.conf` and `/etc/mlx/datapath/qos/qos_infra.conf`; Equal Cost Multipath,
those of `/etc/cumulus/datapath/traffic.conf`. The files refer to all ports, so `interfaces` must be present to know
them.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.foreign import port_qos
from fabricc.back.nos.cumulus.foreign.port_qos import GROUP_FACTS, STATED, Group, parse_number
from fabricc.back.nos.cumulus.startup import expand_members
from fabricc.back.nos.frr import read_daemons, read_frr_conf
from fabricc.back.nos.frr.interfaces import LINK_ROWS
from fabricc.back.nos.management import state_isolation
from fabricc.back.reading import Block, Document, Entry, Keep, Reader, Row, Scope, Topic
from fabricc.base.numbers import is_number, natural_key
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fabricc.fabric.facts import Reading, Value

INTERFACES, ROUTING = "interfaces", "frr.conf"
FEATURES, INFRA, HASHING = "qos_features.conf", "qos_infra.conf", "traffic.conf"
DAEMONS = "daemons"
_MANAGEMENT = "eth0"
_OVERHEAD = ("post-up", "pre-up", "up", "down", "pre-down", "post-down")

# --- interfaces ------------------------------------------------------------------------------------------

_SETTINGS = (
    "address-purge", "arp-accept", "bond-ad-actor-sys-prio", "bond-downdelay", "bond-lacp-bypass-allow",
    "bond-lacp-rate", "bond-min-links", "bond-num-grat-arp", "bond-updelay", "bond-use-carrier",
    "bond-xmit-hash-policy", "bond-miimon", "bridge-ageing", "bridge-allow-untagged", "bridge-arp-nd-suppress",
    "bridge-learning", "bridge-mcquerier", "bridge-mcsnoop", "bridge-portmcrouter", "bridge-vlan-protocol",
    "bridge-stp", "clagd-args", "clagd-enable", "clagd-priority", "es-df-pref", "evpn-mh-uplink", "gateway",
    "hwaddress", "ip-forward", "ip6-forward", "ipv6-addrgen", "link-duplex", "link-lanes",
    "mpls-enable", "vlan-protocol", "vrf-table", "vxlan-ageing", "vxlan-learning", "vxlan-mcastgrp",
    "vxlan-port", "vxlan-ttl", "vxlan-tos", "vxlan-vnifilter", "isolation",
)  # fmt: skip
_OF_STP = (
    "mstpctl-bpduguard", "mstpctl-portadminedge", "mstpctl-portautoedge", "mstpctl-portbpdufilter",
    "mstpctl-portnetwork", "mstpctl-portpathcost", "mstpctl-treeprio", "mstpctl-treeportprio", "mstpctl-fdelay",
    "mstpctl-hello", "mstpctl-maxage", "mstpctl-forcevers",
)  # fmt: skip
_LINES: tuple[Row, ...] = (
    Entry("address <word>", "addresses", "true"),
    Keep("address dhcp", "dhcp", "true"),
    Keep("alias <rest>", "description"),
    Keep("mtu <integer>", "mtu"),
    Keep("link-down yes", "enabled", "false"),
    Keep("link-down no", "enabled", "true"),
    Keep("vrf <word>", "vrf"),
    Keep("vlan-id <integer>", "vlan_tag"),
    Keep("vlan-raw-device <word>", "setting[vlan-raw-device]"),
    Entry("address-virtual <word> <word>...", "virtual", lambda _, addresses: ",".join(addresses)),
    Entry("(bond-slaves|bond-ports) <word>...", "slaves", "true"),
    Keep("bond-mode (802.3ad|4)", "bond mode", "active"),
    Keep("bond-mode (balance-xor|2)", "bond mode", "on"),
    Keep("clag-id <word>", "mlag"),
    Keep("es-id <word>", "ethernet_segment"),
    Keep("es-sys-mac <word>", "setting[es-sys-mac]"),
    Keep("bridge-access <integer>", "access_vlan"),
    Keep("bridge-pvid <integer>", "native_vlan"),
    Entry("bridge-vids <word>...", "vids", "true"),
    Entry("bridge-ports <word>...", "ports", "true"),
    Keep("bridge-vlan-aware <yes|no|on|off>", "vlan aware"),
    Keep("vxlan-id <integer>", "vni"),
    Keep("vxlan-local-tunnelip <word>", "source"),
    Entry("vxlan-remoteip <word>...", "peers", "true"),
    Entry("bridge-vlan-vni-map <word>...", "vlan vnis", "true"),
    Keep("clagd-peer-ip <word>", "mlag/peer"),
    Keep("clagd-backup-ip <word> [<rest>]", "mlag/backup", lambda address, _: address),
    Keep("clagd-sys-mac <word>", "mlag/mac"),
    Keep("clagd-vxlan-anycast-ip <word>", "vxlan/source_mlag"),
    *(Keep(f"{word} <rest>", f"setting[{word}]") for word in _SETTINGS),
    *(Keep(f"{word} <rest>", f"stp {word}") for word in _OF_STP),
    *LINK_ROWS,
    *(Keep(f"{word} <rest>", f"setting[{word}]") for word in _OVERHEAD),
)
"""Lines of an interface."""
_ROWS: tuple[Row, ...] = (
    Entry("(auto|allow-hotplug) <word>...", "auto", "true"),
    Keep("(source|source-directory) <rest>", "source"),
    Block("iface <word>", "iface", _LINES),
    Block("iface <word> inet (static|manual|loopback)", "iface", _LINES),
    Block("iface <word> inet6 (static|manual|loopback|auto)", "iface", _LINES),
    Keep("iface <word> (inet|inet6) dhcp", "dhcp", "true"),
    Block("iface <word> (inet|inet6) dhcp", "iface", _LINES),
)

_WORDS = frozenset(
    word for row in (*_LINES, *_ROWS) for word in row.pattern.split()[0].strip("()").split("|")
)
"""First words of lines."""


@cache
def _make_reader() -> Reader:
    return Reader((Topic(_ROWS, _finish_interfaces),), {}, leave=())


def _finish_interfaces(document: Document) -> None:
    """State interfaces, what bridges and bonds have of them, overlays and the pair."""
    scope = document.scope
    automatic = {str(name) for key in scope.table("auto") for name in expand_members(str(key))}
    interfaces = {str(name): each for name, each in scope.each("iface").items()}
    for name, each in interfaces.items():
        _finish_interface(document, name, each, name in automatic or name == "lo")
    known = {"lo", *interfaces, *(member for name in interfaces for member in expand_members(name))}
    for key, (_, line) in scope.table("auto").items() if "source" not in scope.values else ():
        for name in expand_members(str(key)):
            if name not in known and _NAME.fullmatch(name):
                document.put(f"unread[auto {name}]", "no `iface` has this name", line)
    for each in interfaces.values():
        for key, (_, line) in each.table("ports").items():
            for member in expand_members(str(key)):
                if member in interfaces and interfaces[member].table("addresses"):
                    document.put(port_paths(member)["switchport"], "trunk", line)
    vlan_of = {
        name: each.values["access_vlan"] for name, each in interfaces.items() if "access_vlan" in each.values
    }
    _finish_tunnels(document, interfaces)
    for name, each in interfaces.items():
        if "vni" in each.values and name in vlan_of:
            document.put(f"vxlan/vlan[{vlan_of[name][0]}]/vni", *each.values["vni"])
        for pair, (_, line) in each.table("vlan vnis").items():
            vlans, _, vnis = str(pair).partition("=")
            for vlan, vni in zip(expand_members(vlans), expand_members(vnis), strict=False):
                if is_number(vni):
                    document.put(f"vxlan/vlan[{vlan}]/vni", int(vni), line)
        document.put_leaves("", each.values, ("mlag/peer", "mlag/backup", "mlag/mac", "vxlan/source_mlag"))
        document.put_kept("vxlan/source", each.values, "source")
        document.put_set("vxlan/peers", each.table("peers"))
        if "mlag/peer" in each.values:
            document.put("mlag/local", name, each.line)
            document.put("mlag/peer_link", name.partition(".")[0], each.line)


def _finish_tunnels(document: Document, interfaces: Mapping[str, Scope]) -> None:
    """State the gateways' MAC address, tunnels without a source, and ports of VLANs that no bridge has."""
    joined = {
        member
        for each in interfaces.values()
        for table in ("ports", "slaves")
        for key in each.table(table)
        for member in expand_members(str(key))
    }
    bridges = [ports for each in interfaces.values() if (ports := each.table("ports"))]
    tunnels = {
        name: each for name, each in interfaces.items() if "vni" in each.values or each.table("vlan vnis")
    }
    if tunnels and not any(_SOURCES & each.values.keys() for each in interfaces.values()):
        name, line = next((name, each.line) for name, each in tunnels.items())
        document.put(f"unread[iface {name}]", "no vxlan-local-tunnelip gives it a source", line)
    for name, each in tunnels.items():
        learning, line = each.values.get("setting[bridge-learning]", ("off", 0))
        if learning in ("on", "yes"):
            document.put(f"evpn/segment[{name}]/learns_from_tunnels", "true", line)
    macs = {
        str(mac): line for each in interfaces.values() for mac, (_, line) in each.table("virtual").items()
    }
    for mac, line in macs.items() if len(macs) == 1 else ():
        document.put("evpn/anycast_mac", mac, line)
    for name, each in interfaces.items() if "glob" not in joined else ():
        if "access_vlan" in each.values and name not in joined:
            line = each.values["access_vlan"][1]
            document.put(f"unread[iface {name}]", "no bridge has it among its ports", line)
            for ports in bridges if len(bridges) == 1 else ():
                _, at = min((str(key)[:3] != name[:3], at) for key, (_, at) in ports.items())
                document.put("unread[bridge-ports]", f"{name}, which has a VLAN, is not among them", at)
    if len(bridges) == 1 and "glob" not in joined:
        _state_bridge(document, interfaces, bridges[0].keys())


def _state_bridge(document: Document, interfaces: Mapping[str, Scope], joined: Collection[Value]) -> None:
    """State VLANs, gateways and the link of a pair that have no effect, as the only bridge does not have them."""
    name, bridge = next((name, each) for name, each in interfaces.items() if each.table("ports"))
    vids = {vid for key in bridge.table("vids") for vid in expand_members(str(key))}
    if vids and bridge.values.get("vlan aware", ("",))[0] in ("no", "off"):
        document.put("unread[bridge-vids]", f"{name} is not aware of VLANs", bridge.values["vlan aware"][1])
    for upper, each in interfaces.items():
        tag, below = (str(each.values.get(key, ("",))[0]) for key in ("vlan_tag", "setting[vlan-raw-device]"))
        if vids and tag and below == name and tag not in vids:
            at = max(at for _, at in bridge.table("vids").values())
            document.put(f"unread[iface {upper}]", f"bridge-vids of {name} lacks its VLAN", at)
        link = upper.partition(".")[0] if "mlag/peer" in each.values else ""
        if link in interfaces and link not in joined:
            document.put(f"unread[iface {link}]", f"{name} has no port to the other of the pair", each.line)


_SOURCES = {"source", "vxlan/source_mlag"}


def _finish_interface(document: Document, name: str, each: Scope, automatic: bool) -> None:
    paths, values = port_paths(name), each.values
    document.put(paths["enabled"], *values.get("enabled", ("true" if automatic else "false", each.line)))
    for leaf, stored in values.items():
        if leaf in _LEAVES or leaf.startswith("setting["):
            document.put(paths[leaf], *stored)
    for key in ("setting[up]", "setting[post-up]"):
        if key in values and _TAKES_DOWN.search(str(values[key][0]).replace("$IFACE", name)):
            document.put(paths["enabled"], "false", values[key][1])
    for key in ("setting[up]", "setting[post-up]"):
        command = _ROUTE.search(str(values[key][0])) if key in values and "vrf" not in values else None
        if command and not _OTHER_TABLE.search(command.string):
            drop, prefix, hop = command.groups()
            prefix = ("::/0" if ":" in str(hop) else "0.0.0.0/0") if prefix == "default" else prefix
            if drop or hop:
                document.put(f"static_route[{prefix}]", "discard" if drop else hop, values[key][1])
    kind = next((kind for key, kind in _KINDS if key in values or each.table(key)), "")
    if kind:
        document.put(paths["kind"], kind, each.line)
    if name == _MANAGEMENT and document.reading.facts[paths["enabled"]] == "false":
        document.put("management/enabled", "false", each.line)
    if name == _MANAGEMENT:
        document.put_kept("management/gateway", values, "setting[gateway]")
    own = "loopback/" if name == "lo" else "management/" if name == _MANAGEMENT else paths.prefix
    for address, (_, line) in each.table("addresses").items():
        leaf = "address" if own == "management/" else "ipv6" if ":" in str(address) else "ipv4"
        there = own + leaf in document.reading.facts
        document.put(paths[f"secondary[{address}]"] if there else own + leaf, str(address), line)
    for addresses, line in each.table("virtual").values():
        for address in str(addresses).split(","):
            document.put(paths[f"gateway[{address}]"], address, line)
    for table in ("slaves", "ports"):
        found = {
            member: stored for key, stored in each.table(table).items() for member in expand_members(str(key))
        }
        document.put_set(paths["members"], {key: stored for key, stored in found.items() if key != "glob"})
        for member, (_, line) in found.items() if table == "slaves" else ():
            document.put(port_paths(member)["bundle"], name, line)
            document.put(port_paths(member)["bundle_mode"], *values.get("bond mode", ("active", line)))
    if (
        "access_vlan" in values
        or "native_vlan" in values
        or (each.table("vids") and "vlan aware" not in values)
    ):
        line = max(line for _, line in each.stored_values())
        document.put(paths["switchport"], "access" if "access_vlan" in values else "trunk", line)
    if vids := each.table("vids"):
        document.put(paths["vlans"], ",".join(map(str, vids)), max(line for _, line in vids.values()))
    if stp := {key.removeprefix("stp "): stored for key, stored in values.items() if key.startswith("stp ")}:
        text = ", ".join(f"{word} {value}" for word, (value, _) in stp.items())
        document.put(paths["spanning_tree"], text, max(line for _, line in stp.values()))
    if kind == "vrf":
        document.put(f"vrf[{name}]", "present", each.line)


_NAME = re.compile(r"[\w.-]+")
_TAKES_DOWN = re.compile(r"\bip link set (?:dev )?\S+ down\b|\bifconfig \S+ down\b")
"""Commands after the start of an interface that take it down again."""
_ROUTE = re.compile(
    r"\bip (?:-[46] )?route (?:add|replace|append) (?:(blackhole|unreachable|prohibit) )?"
    r"(?:to )?([\da-f.:]+/\d+|default)(?: via (\S+))?"
)
"""Commands after the start of an interface that add a route of the kernel, which zebra prefers to one of BGP."""
_OTHER_TABLE = re.compile(r"\b(?:table|vrf) \S")
_LEAVES = frozenset({
    "description", "mtu", "vrf", "vlan_tag", "mlag", "ethernet_segment", "access_vlan", "native_vlan", "vni", "dhcp",
    "autoneg", "fec", "speed_gbps",
})  # fmt: skip
_KINDS = (
    ("setting[vrf-table]", "vrf"), ("vni", "vxlan"), ("vlan vnis", "vxlan"), ("slaves", "bond"),
    ("vlan aware", "bridge"), ("ports", "bridge"), ("vlan_tag", "vlan"),
)  # fmt: skip
"""Statement of an interface -> its kind."""


# --- quality of service ----------------------------------------------------------------------------------

_WORD = re.compile(r"[^\s,\[\]]+")
_LISTED = frozenset({
    "pfc", "ecn_red", "pfc_watchdog", "egress_sched", "link_pause", "source", "remark", "shaping",
})  # fmt: skip
"""Statements about groups of ports."""
_KEPT = frozenset({
    "traffic", "ingress_service_pool", "egress_service_pool", "flow_control", "port", "priority_group", "cos_egr_queue",
    "port_group", "source", "remark", "shaping", "default_shaping", "service_pool", "egress_buffer", "ingress_buffer",
    "bulk", "pfc_watchdog", "hash_config", "mlx",
})  # fmt: skip
"""Prefixes of settings that are stated unchanged."""
_NAMES = frozenset({*_KEPT, *GROUP_FACTS, "default_ecn_red_conf", "default_egress_sched"})
_ALIKE = 0.8
"""How much of a misspelled name is right, at least."""


def _parse_assignments(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line, key and words of each assignment."""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.partition("#")[0].strip()
        key, equals, value = line.partition("=")
        if line:
            yield number, key.strip() if equals else "", _WORD.findall(value)


class _QosFiles:
    """The files of quality of service during reading.

    Attributes:
        ports: of the device, to expand `allports`.
        groups: (feature, group) -> its statements.
        named: feature -> the groups that its list names, and the line of the list; others have no effect.
    """

    def __init__(self, file: str, reading: Reading, ports: list[str]) -> None:
        self.file = file
        self.reading = reading
        self.ports = ports
        self.groups: dict[tuple[str, str], Group] = {}
        self.named: dict[str, tuple[list[str], int]] = {}

    def put(self, path: str, value: Value, line: int) -> None:
        self.reading.put(path, value, self.file, line)

    def read(self, text: str) -> None:
        """Take in each assignment; what is no such line is unknown."""
        lines = text.split("\n")
        for number, key, words in _parse_assignments(text):
            if not self._take_assignment(key.split("."), words, number):
                self.reading.unknown.append((self.file, number, lines[number - 1].strip()))
                first = key.partition(".")[0]
                if near := get_close_matches(first, _NAMES, 1, _ALIKE):
                    self.put(f"unread[{first}]", f"no program reads it, it is {near[0]}", number)

    def _take_assignment(self, parts: list[str], words: list[str], line: int) -> bool:
        match parts:
            case ["traffic", "packet_priority_source_set"]:
                trust = "dscp" if "dscp" in words else "none" if words == ["port"] else ",".join(words)
                for port in self.ports:
                    self.put(f"interface[{port}]/trust", trust, line)
                self.put("qos/setting[trust]", ",".join(words), line)
            case ["traffic", cos, "priority_source", "dscp"] if parse_number(cos) is not None:
                for dscp in words:
                    if (path := f"qos/dscp[{dscp}]/traffic_class") in self.reading.facts:
                        self.put(f"unread[{'.'.join(parts)}]", f"another line has {dscp} too", line)
                    self.put(path, parse_number(cos) or 0, line)
            case ["cos_egr_queue", cos, "uc"] if parse_number(cos) is not None and is_number(
                "".join(words[:1])
            ):
                self.put(f"qos/traffic_class[{parse_number(cos)}]/queue", int(words[0]), line)
            case [feature, "port_group_list"] if feature in _LISTED:
                self.named[feature] = words, line
                self.put(f"qos/setting[{feature}.port_group_list]", ",".join(words), line)
            case [feature, group, *rest] if feature in (*GROUP_FACTS, "ecn_red_conf") and rest:
                found = self.groups.setdefault((feature.removesuffix("_conf"), group), Group())
                found.settings[".".join(rest)] = (words, line)
            case [("default_ecn_red_conf" | "default_egress_sched") as name, *rest] if rest:
                feature = "ecn_red" if "ecn" in name else "egress_sched"
                found = self.groups.setdefault((feature, ""), Group())
                found.settings[".".join(rest)] = (words, line)
            case [first, *rest] if first in _KEPT:
                self.put(f"qos/setting[{'.'.join((first, *rest))}]", ",".join(words) or "none", line)
            case _:
                return False
        return True

    def _expand_ports(self, key: str) -> list[str]:
        """Return the ports of `swp1-swp4`, of those that there are; a single one by itself."""
        first, dash, last = key.partition("-")
        if not dash:
            return [key]
        return [port for port in self.ports if natural_key(first) <= natural_key(port) <= natural_key(last)]

    def finish(self) -> None:
        """State what groups of ports have; those of all ports first, as a port's own group goes before them."""
        own = sorted(self.groups.items(), key=lambda item: (bool(item[0][1]), natural_key(item[0][1])))
        for (feature, name), group in own:
            named, line = self.named.get(feature, ([], 0))
            if name and name not in named:
                line = line or min(place for _, place in group.settings.values())
                self.put(f"unread[{feature}.{name}]", f"{feature}.port_group_list does not name it", line)
                continue
            listed = [port for key in group.words("port_set") for port in self._expand_ports(key)]
            ports = self.ports if not name or "allports" in listed else listed
            state: Callable[[Group], Iterator[tuple[str, Value, int]]] = GROUP_FACTS[feature]
            for leaf, value, line in state(group):
                for port in ports:
                    self.put(f"interface[{port}]/{leaf}", value, line)
            places = [(self.file, line, key) for key, (_, line) in group.settings.items()]
            port_qos.state_misspelled(self.reading, places, STATED[feature])
            for key, (words, line) in group.settings.items():
                if key not in STATED[feature] and not key.startswith("egr_queue_"):
                    text = ".".join(filter(None, (feature, name, key)))
                    self.put(f"qos/setting[{text}]", ",".join(words) or "none", line)


# --- all of them -----------------------------------------------------------------------------------------


def read_files(files: Mapping[str, str], reading: Reading) -> None:
    """Add the facts of the existing files; those of quality of service describe the ports in `interfaces`."""
    if INTERFACES in files:
        _make_reader().read_file(INTERFACES, files[INTERFACES], reading)
        places = [(file, line, text.split()[0]) for file, line, text in reading.unknown if text.strip()]
        port_qos.state_misspelled(reading, places, _WORDS)
    ports = sorted({found[1] for path in reading.facts if (found := _PORT.match(path))}, key=natural_key)
    if ROUTING in files:
        read_frr_conf(_with_defaults(files[ROUTING]), ROUTING, reading)
    _state_isolation(reading)
    if DAEMONS in files:
        read_daemons(files[DAEMONS], reading)
    if HASHING in files:
        _read_hashing(files[HASHING], reading)
    quality: dict[str, _QosFiles] = {}
    for file in (INFRA, FEATURES):
        if file in files:
            quality[file] = _QosFiles(file, reading, ports)
            quality[file].read(files[file])
            quality[file].finish()
    port_qos.state_pools(reading)


def _state_isolation(reading: Reading) -> None:
    """State whether the management port is in a VRF of its own."""
    paths = port_paths(_MANAGEMENT)
    instance = str(reading.facts.get(paths["vrf"], ""))
    place = reading.lines.get(paths["vrf"], reading.lines.get(paths["enabled"]))
    if place is not None:
        state_isolation(reading, f"vrf[{instance}]" in reading.facts, place, _LEAK, instance)


_LEAK = re.compile(r"\bimport vrf\b")


def _read_hashing(text: str, reading: Reading) -> None:
    """State the seed of the hash and its fields, which count unless `hash_config.enable` is false."""
    stated = {key: (",".join(words), line) for line, key, words in _parse_assignments(text)}
    chosen = stated.get("hash_config.enable", ("", 0))[0] != "false"
    for key, (value, line) in stated.items():
        if key == "ecmp_hash_seed" and is_number(value):
            reading.put("system/hash_seed", int(value), HASHING, line)
        elif chosen or not key.startswith("hash_config."):
            reading.put(f"qos/setting[{key}]", value or "none", HASHING, line)


_PORT = re.compile(r"interface\[(swp[0-9s]+)\]/")


def _with_defaults(text: str) -> str:
    """Return a text with an explicit profile: Cumulus Linux builds FRR for data centers (user guide, FRRouting)."""
    return text if "frr defaults" in text else f"{text.rstrip()}\nfrr defaults datacenter\n"
