"""The netplan file of a host: addresses, MTU and per-rail policy routing, written and read back."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts import words
from fabricc.back.reading.tree import is_broken, leaf_paths
from fabricc.back.reading.yaml_lines import yaml_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.reading import Node
    from fabricc.fabric.facts import Facts, Reading, Value
    from fabricc.fabric.model import Host, HostPort

FILE = "etc/netplan/60-fabricc.yaml"
ACTIVATION = "apply-netplan.sh"

_PLAIN_KEY = re.compile(r"[a-z]{2,}[0-9]+[a-z]?")  # YAML reads none of these as anything but text
_RENDERER = "networkd"
_SCALARS = {
    "renderer": "renderer", "mtu": "mtu", "accept-ra": "accept_ra", "optional": "optional",
    "ignore-carrier": "ignore_carrier", "dhcp4": "dhcp4", "dhcp6": "dhcp6",
}  # fmt: skip
_TRUTHS = dict.fromkeys(("true", "yes", "on", "y"), "true") | dict.fromkeys(
    ("false", "no", "off", "n"), "false"
)
_LISTS = {"addresses", "link-local"}
_GROUPS = {
    "routes": ("route", "to", "via", "scope", "table", "metric"),
    "routing-policy": ("rule", "from", "table", "priority"),
}
"""Key -> kind of the fact for an item of its list, the item's name and its value."""


def render(host: Host) -> dict[str, str]:
    """Return the file, path below the host's root -> text."""
    return {words.network_path(FILE, host): render_text(host)}


def render_text(host: Host) -> str:
    """Return the text: one block per back-end port, and no default route on any.

    DHCP is off by name, as netplan joins the entries of all files, such as those of cloud-init's installer file. Each
    port has its own `renderer`: one for the file would count for the interfaces of all files, and take them away
    from NetworkManager on hosts where that configures them (Ubuntu's `01-network-manager-all.yaml`).
    """
    whose = words.ports_of(host.network)
    lines = [f"# {whose} ports of {host.name}; any other interface belongs in a file of its own.\nnetwork:"]
    lines.append("  version: 2")
    if host.ports:
        lines.append("  ethernets:")
    prefixes4 = [(prefix, f'"{prefix}"') for prefix in (*host.fabric_prefixes4, *host.outside4)]
    prefixes6 = [(prefix, f'"{prefix}"') for prefix in (*host.fabric_prefixes6, *host.outside6)]
    lines += [_port_block(port, prefixes4, prefixes6) for port in host.ports]
    return "\n".join(lines) + "\n"


def _port_block(port: HostPort, prefixes4: list[tuple[str, str]], prefixes6: list[tuple[str, str]]) -> str:
    """Return the block of a port; `prefixes4` and `prefixes6` are what is reached through it, also quoted.

    Addresses are quoted as they are: none has a character that would need more.
    """
    addresses = routes = rules = ""
    table = f"\n          table: {port.table}"
    for address, gateway, bits, prefixes in (
        (port.ipv4, port.gateway4, 32, prefixes4),
        (port.ipv6, port.gateway6, 128, prefixes6),
    ):
        if address is None:
            continue
        addresses += f'\n        - "{address}"'
        if gateway is None or not prefixes:
            continue
        via = f'\n          via: "{gateway}"'
        for plain, prefix in prefixes:
            if words.on_link(address, plain):
                routes += f"\n        - to: {prefix}\n          scope: link{table}"
                continue
            routes += f"\n        - to: {prefix}{via}{table}"
            if port.metric is not None:
                routes += f"\n        - to: {prefix}{via}\n          metric: {port.metric}"
        source = address.partition("/")[0]
        rules += f'\n        - from: "{source}/{bits}"{table}\n          priority: {words.rule_priority(port.table)}'
    block = _port_head(port.name, port.mtu, words.ignores_carrier(port))
    if addresses:
        block += f"\n      addresses:{addresses}"
    if routes:
        block += f"\n      routes:{routes}\n      routing-policy:{rules}"
    return block


@lru_cache(maxsize=256)
def _port_head(name: str, mtu: int, ignore_carrier: bool) -> str:
    """Return the lines of a port that are the same on every host."""
    key = name if _PLAIN_KEY.fullmatch(name) else json.dumps(name)  # whose strings are YAML's
    carrier = "\n      ignore-carrier: true" if ignore_carrier else ""
    return (
        f"    {key}:\n      renderer: {_RENDERER}\n      mtu: {mtu}\n      dhcp4: false\n      dhcp6: false\n"
        f"      link-local: []\n      accept-ra: false\n      optional: true{carrier}"
    )


def state(facts: Facts, host: Host) -> None:
    """Add the facts that only a netplan file states."""
    facts["netplan/version"] = 2
    for port in host.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "renderer"] = _RENDERER
        facts[prefix + "link_local"] = "none"
        facts[prefix + "accept_ra"] = "false"
        facts[prefix + "dhcp4"] = facts[prefix + "dhcp6"] = "false"
        facts[prefix + "optional"] = "true"
        if words.ignores_carrier(port):
            facts[prefix + "ignore_carrier"] = "true"


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of a netplan file, of this or any other layout."""
    tree = yaml_tree(text)
    reading.unknown += [(file, line, words) for line, words in tree.faults if is_broken(words)]
    unknown = [line for line, words in tree.faults if not is_broken(words)]
    ports: list[str] = []
    common: tuple[Value, str, int] | tuple[()] = ()
    for top in tree.nodes:
        if top.key != ("network",):
            unknown += [top.line, *_node_lines(top)]
            continue
        for node in top.children or ():
            if node.key == ("ethernets",):
                ports += [port.key[0] for port in node.children or () if port.key]
                unknown += [line for port in node.children or () for line in _read_port(reading, file, port)]
            elif len(node.key) == 2 and node.key[0] == "version":
                reading.put("netplan/version", _parse_scalar(node.key[1]), file, node.line)
            elif len(node.key) == 2 and node.key[0] == "renderer":
                common = (_parse_scalar(node.key[1]), file, node.line)
            else:
                unknown += [node.line, *_node_lines(node)]
    for path in [f"interface[{port}]/renderer" for port in ports] if common else ():
        if path not in reading.facts:
            reading.put(path, *common)
    lines = text.splitlines()
    reading.unknown += [
        (file, n, lines[n - 1].strip() if n <= len(lines) else "") for n in dict.fromkeys(unknown)
    ]


def _read_port(reading: Reading, file: str, port: Node) -> Iterator[int]:
    """Add the facts of a port; yield the lines without meaning here."""
    prefix = f"interface[{port.key[0] if port.key else ''}]/"
    for node in port.children or ():
        key, *values = node.key or ("",)
        items = node.children or ()
        if key in _SCALARS and values:
            reading.put(prefix + _SCALARS[key], _parse_scalar(values[0]), file, node.line)
        elif key in _LISTS and not values and all(item.children is None for item in items):
            line = items[0].line if items else node.line
            _put_list(reading, (file, line), prefix, key, [word for item in items for word in item.key])
        elif key in _GROUPS and not values:
            for item in items:
                yield from _read_item(reading, file, prefix, key, item)
        else:
            yield from (node.line, *_node_lines(node))
    if port.children is None:
        yield port.line


def _read_item(reading: Reading, file: str, prefix: str, key: str, item: Node) -> Iterator[int]:
    """State a route or a rule; the lines of it that mean nothing here."""
    kind, named, *rest = known = _GROUPS[key]
    values = {}
    other = []
    for part in item.children or (item,):
        if len(part.key) == 2 and part.key[0] in known[1:] and part.children is None:
            values[part.key[0]] = part.key[1]
        else:
            other += _node_lines(part)
    yield from other
    if named in values or (values and not other):
        kind = "main_route" if "metric" in values else kind
        text = " ".join([f"{each} {values[each]}" for each in rest if each in values])
        reading.put(f"{prefix}{kind}[{values.get(named, '')}]", text, file, item.line)
    elif values:
        yield item.line


def _node_lines(node: Node) -> list[int]:
    """Return the lines of a node and everything below it."""
    return [line for line, _ in leaf_paths((node,))]


@lru_cache(maxsize=1024)
def _parse_scalar(text: str) -> Value:
    return _TRUTHS.get(text.lower(), words.parse_decimal(text))


def _put_list(reading: Reading, at: tuple[str, int], prefix: str, key: str, items: list[str]) -> None:
    if key == "link-local":
        reading.put(prefix + "link_local", ",".join(sorted(items)) or "none", *at)
        return
    for family, sign in (("ipv4", False), ("ipv6", True)):
        if members := [item for item in items if (":" in item) is sign]:
            reading.put(prefix + family, ",".join(sorted(members)), *at)


READERS: Mapping[str, words.Reader] = {"etc/netplan/*": read}
