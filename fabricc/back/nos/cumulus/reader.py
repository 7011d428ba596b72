"""Reads `startup.yaml`, or what `nv config show -o yaml` prints, back into facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.consumers import read_consumers
from fabricc.back.nos.cumulus.document import HASH_FIELDS, factory
from fabricc.back.nos.cumulus.limits import RELEASES, Release, release_of
from fabricc.back.nos.cumulus.ports import LOOPBACK, MANAGEMENT, MANAGEMENT_VRF
from fabricc.back.nos.cumulus.qos_reader import read_port_qos, read_qos
from fabricc.back.nos.cumulus.routing_reader import read_port_balancing, read_routing
from fabricc.back.nos.cumulus.services_reader import read_services
from fabricc.back.nos.cumulus.source import Source, members, number
from fabricc.back.nos.cumulus.words import OWN_ACCOUNT
from fabricc.back.nos.cumulus.yaml_nodes import Node, parse
from fabricc.back.nos.isolation import state_isolation
from fabricc.fabric.facts import boolean

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading

_VERSION = re.compile(r"Cumulus Linux ([0-9]{1,4}\.[0-9]{1,4})(\..*)?")
_CHILD = re.compile(r"(swp[0-9]+)s[0-9]+")
_LEAK = re.compile(r"^(route-import|from-vrf)\b")
_SPEED = re.compile(r"([0-9]+)G")
_TYPES = {MANAGEMENT: "eth", LOOPBACK: "loopback"}


def read_startup(text: str, file: str, reading: Reading) -> None:
    """Add the facts of a file; what is not understood goes to `reading.unknown`, and nothing is fatal."""
    root, broken = parse(text)
    header, tree = root.get("header"), root.get("set")
    if tree is None:
        tree = root
    release = _header(header, tree, file, reading)
    source = Source(file, tree, release, reading)
    _read_system(source)
    read_services(source)
    _read_interfaces(source)
    read_qos(source)
    read_routing(source)
    lines = text.split("\n")
    numbers = {node.line for node in root.leftovers()}
    for line in sorted(numbers.union(broken)):
        reading.unknown.append((file, line, lines[line - 1].strip() if line <= len(lines) else ""))
    reading.unknown += [(file, line, what) for line, what in source.lacking]
    _isolation(source)
    read_consumers(source)


def _header(header: Node | None, tree: Node, file: str, reading: Reading) -> Release:
    """The release whose words the rest is read in: the header's, else the one that the tree looks like."""
    if header is None:
        return _guess(tree)
    for key, path in (("model", "system/model"), ("nvue-api-version", "system/api_version")):
        node = header.get(key)
        if node and node.value:
            reading.put(path, node.value.lower(), file, node.line)
    header.get("rev-id")
    node = header.children.get("version")
    found = _VERSION.fullmatch(node.value or "") if node else None
    if node is None or found is None:
        return _guess(tree)
    node.seen = True
    reading.put("system/release", found[1], file, node.line)
    return _nearest(found[1])


def _nearest(name: str) -> Release:
    """The release of that name, or the newest known one before it."""
    wanted = [int(part) for part in name.split(".")]
    older = [known for known in RELEASES if [int(part) for part in known.split(".")] <= wanted]
    return RELEASES[older[-1]] if older else next(iter(RELEASES.values()))


def _guess(tree: Node) -> Release:
    """The newest release that has things where a headerless tree has them."""

    def there(*path: str) -> bool:
        node: Node | None = tree
        for key in path:
            node = node.children.get(key) if node else None
        return node is not None

    if there("router", "bgp", "state"):
        return release_of("5.15")
    if there("service", "syslog") and not there("service", "dns"):
        return release_of("5.11" if there("system", "aaa", "tacacs", "enable") else "5.12")
    if there("service", "syslog"):
        return release_of("5.10")
    if there("service", "dns"):
        return release_of("5.10")
    return release_of("")


def _read_system(source: Source) -> None:
    system = source.root.get("system")
    if system is None:
        source.lacks(source.root, "system is missing")
        return
    source.require_tree(system, factory(source.release))
    source.scalar("system/hostname", system, "hostname")
    forwarding = system.get("forwarding")
    if forwarding is None:
        source.lacks(system, "forwarding is missing")
    else:
        source.scalar("system/hash_seed", forwarding, "hash-seed")
        source.require_tree(forwarding, {"ecmp-hash": dict.fromkeys(HASH_FIELDS, source.release.on)})
    users = dict(system.items("aaa", "user"))
    if OWN_ACCOUNT not in users:
        source.lacks(system.children.get("aaa", system), f"user {OWN_ACCOUNT} is missing")
    for name, user in users.items():
        prefix = f"user[{name}]/"
        source.put(f"user[{name}]/configured", "true", user)
        source.scalar(prefix + "role", user, "role")
        user.get("full-name")
        if password := user.get("hashed-password"):
            source.put(prefix + "password", "stated", password)
        for _, key in user.items("ssh", "authorized-key"):
            kind, material = key.get("type"), key.get("key")
            if kind and material and prefix + "ssh_key" not in source.reading.facts:
                source.put(prefix + "ssh_key", f"{kind.value} {material.value}", material)
                source.scalar(prefix + "ssh_key_type", key, "type")
            else:
                source.lacks(key, "a key without its other half, or a second one")


def _read_interfaces(source: Source) -> None:
    above = source.root.get("interface")
    for name in _TYPES:
        if above is None or name not in above.children:
            source.lacks(above or source.root, f"interface {name} is missing")
    split: set[str] = set()
    for key, node in source.root.items("interface"):
        for name in members(key):
            source.require(node, "type", _TYPES.get(name, "swp"))
            if name == MANAGEMENT:
                _read_management(source, node)
            elif name == LOOPBACK:
                source.expect(node, ("ip",), "loopback/ipv4", "loopback/ipv6")
                _read_addresses(source, node, "loopback/")
            elif (modes := node.get("link", "breakout")) is not None:
                source.put(f"breakout[{name}]/configured", "true", node)
                _read_breakout(source, name, modes)
            else:
                _read_port(source, name, node)
                if found := _CHILD.fullmatch(name):
                    split.add(found[1])
    for cage in sorted(split):
        if f"breakout[{cage}]" not in source.reading.facts:
            source.lacks(above or source.root, f"breakout of {cage} is missing")


def _read_management(source: Source, node: Node) -> None:
    _read_addresses(source, node, "management/")
    parents = ("ipv4", "ipv6") if source.release.family_addresses else ("ip",)
    source.expect(node, parents[:1], "management/address", "management/gateway")
    for parent in parents:
        for gateway, child in node.items(parent, "gateway"):
            source.put("management/gateway", gateway, child)
    above = node if source.release.family_addresses else node.get("ip")
    source.require(above or node, "vrf", MANAGEMENT_VRF)


def _isolation(source: Source) -> None:
    """The management port is in a VRF of its own, and nothing imports its routes into another."""
    port = source.root.children.get("interface")
    port = port.children.get(MANAGEMENT) if port else None
    if port is None or "management/address" not in source.reading.facts:
        return
    above = port if source.release.family_addresses else port.children.get("ip", port)
    vrf = above.children.get("vrf")
    apart = vrf is not None and vrf.value == MANAGEMENT_VRF
    state_isolation(source.reading, apart, (source.file, (vrf or above).line), _LEAK)


def _read_addresses(source: Source, node: Node, prefix: str) -> None:
    """State an interface's addresses; a second one of the same family is no plan's and stays unseen."""
    parents = ("ipv4", "ipv6") if source.release.family_addresses else ("ip",)
    for parent in parents:
        above = node.get(parent, "address")
        for address, child in above.children.items() if above else ():
            family = "ipv6" if ":" in address else "ipv4"
            path = prefix + ("address" if prefix == "management/" else family)
            if path not in source.reading.facts and parent in ("ip", family):
                child.seen = True
                source.put(path, address, child)


def _read_breakout(source: Source, name: str, modes: Node) -> None:
    for mode, child in modes.items():
        lanes = child.get("lanes-per-port")
        if lanes and lanes.value and f"breakout[{name}]" not in source.reading.facts:
            source.put(f"breakout[{name}]", mode, child)
            source.put(f"breakout[{name}]/lanes", number(lanes.value), lanes)
        else:
            source.lacks(child, "lanes-per-port is missing, or a second breakout")


def _read_port(source: Source, name: str, node: Node) -> None:
    prefix = f"interface[{name}]/"
    source.put(f"interface[{name}]/configured", "true", node)
    link = node.get("link")
    source.scalar(prefix + "description", node, "description")
    source.scalar(prefix + "fec", node, "link", "fec")
    source.scalar(prefix + "mtu", node, "link", "mtu")
    speed = link.get("speed") if link else None
    if speed and speed.value:
        found = _SPEED.fullmatch(speed.value)
        source.put(prefix + "speed_gbps", number(found[1]) if found else speed.value, speed)
    state = link.children.get("state") if link else None
    words = list(state.children) if state else []
    if state:
        state.seen = True
    if state and words in (["up"], ["down"]):
        state.children[words[0]].seen = True
        source.put(prefix + "enabled", boolean(words == ["up"]), state.children[words[0]])
    elif not words:  # a port that is configured and not told to be down is up
        source.put(prefix + "enabled", "true", node)
    _read_addresses(source, node, prefix)
    read_port_balancing(source, prefix, node)
    read_port_qos(source, prefix, node)
