"""OpenConfig JSON to facts: every leaf is a path of names and keys, and a pattern defines its fact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import yaml

from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause
from fabricc_openconfig.write import LOOPBACK, MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Reading

_KEYS = (
    "identifier", "name", "index", "username", "address", "host", "ip", "prefix", "src-protocol",
    "neighbor-address", "afi-safi-name", "community-set-name", "ip-prefix",
)  # fmt: skip
_BGP = r"default/protocols/BGP/bgp/"
_NEIGHBOR = _BGP + r"neighbors/(.+?)/"
_STATEMENT = r"policy-definitions/(.+?)/statements/(\d+)/"
_SERVERS = {"ntp/servers": "ntp", "dns/servers": "dns", "logging/remote-servers": "syslog"}
_FACTS = {
    r"system/hostname": "system/hostname",
    r"system/aaa/authentication/users/(.+)/ssh-key": "user[{}]/ssh_key",
    r"interfaces/(.+)/(enabled|description|mtu)": "interface[{}]/{}",
    r"interfaces/(.+)/ethernet/port-speed": "interface[{}]/speed_gbps",
    _BGP + r"global/as": "bgp/asn",
    _BGP + r"global/router-id": "bgp/router_id",
    _BGP + r"global/timers/keepalive-interval": "bgp/keepalive_s",
    _BGP + r"global/timers/hold-time": "bgp/hold_s",
    _BGP + r"global/use-multiple-paths/ebgp/maximum-paths": "bgp/maximum_paths",
    _BGP + r"global/use-multiple-paths/ebgp/allow-multiple-as": "bgp/multipath_relax",
    _BGP + r"global/enable-bfd/desired-minimum-tx-interval": "bfd/interval_ms",
    _BGP + r"global/enable-bfd/detection-multiplier": "bfd/multiplier",
    _NEIGHBOR + r"peer-as": "bgp/neighbor[{}]/remote_asn",
    _NEIGHBOR + r"description": "bgp/neighbor[{}]/description",
    _NEIGHBOR + r"enable-bfd/enabled": "bgp/neighbor[{}]/bfd",
    _NEIGHBOR + r"apply-policy/import-policy": "bgp/neighbor[{}]/import",
    _NEIGHBOR + r"apply-policy/export-policy": "bgp/neighbor[{}]/export",
    r"default/table-connections/DIRECTLY_CONNECTED/import-policy": "bgp/redistribute_connected",
    r"mgmt/protocols/STATIC/static-routes/0.0.0.0/0/next-hops/0/next-hop": "management/gateway",
    r"bgp-defined-sets/community-sets/(.+)/community-member": "community_list[{}]",
}
_FACTS_COMPILED = [(re.compile(pattern), fact) for pattern, fact in _FACTS.items()]
_SILENT = re.compile(
    r".*/(index|dst-protocol|set-community/method|set-community/options)"
    r"|default/protocols/BGP/name|mgmt/protocols/STATIC/name|default/protocols/LOCAL_AGGREGATE/name"
)


class Leaf(NamedTuple):
    """One value: its path without prefixes, `config` containers and list names; keys of lists stand in it."""

    path: str
    value: str
    line: int


def read_document(text: str, file: str, reading: Reading) -> None:
    """Add the facts of the file to `reading`; text that is no JSON is one unknown line."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        reading.unknown.append((file, 1, f"not JSON: {error.__class__.__name__}"))
        return
    lists: dict[str, list[tuple[str, int]]] = {}
    clauses: dict[tuple[str, str], tuple[dict[str, str], int]] = {}
    for leaf in _each_leaf(root, ""):
        if not _state_direct(leaf, file, reading) and not _gather_part(leaf, file, reading, lists, clauses):
            reading.unknown.append((file, leaf.line, f"{leaf.path}: {leaf.value}"))
    for fact, entries in lists.items():
        reading.put(fact, ",".join(sorted(value for value, _ in entries)), file, entries[0][1])
    for (name, sequence), (parts, line) in clauses.items():
        reading.put(f"route_map[{name}]/{sequence}", _format_clause(int(sequence), parts), file, line)


def _each_leaf(node: yaml.Node | None, path: str) -> Iterator[Leaf]:
    """Every scalar below a node, and every key of a list's entry."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = key.value.rpartition(":")[2]
            if isinstance(value, yaml.SequenceNode):
                yield from _each_entry(value, path, name)
            elif name == "config" or (name in _KEYS and path.endswith(f"/{value.value}")):
                yield from _each_leaf(value, path) if name == "config" else ()
            else:
                yield from _each_leaf(value, f"{path}/{name}" if path else name)
    elif isinstance(node, yaml.ScalarNode):
        yield Leaf(_shorten_path(path), node.value, node.start_mark.line + 1)


def _each_entry(node: yaml.SequenceNode, path: str, name: str) -> Iterator[Leaf]:
    for entry in node.value:
        if isinstance(entry, yaml.MappingNode):
            keys = {key.value: value for key, value in entry.value}
            key = next((keys[known] for known in _KEYS if known in keys), None)
            below = f"{path}/{key.value}" if key is not None else path
            if key is not None:
                yield Leaf(_shorten_path(below) + "/", key.value, key.start_mark.line + 1)
            yield from _each_leaf(entry, below)
        else:
            yield Leaf(_shorten_path(f"{path}/{name}"), entry.value, entry.start_mark.line + 1)


def _shorten_path(path: str) -> str:
    return re.sub(r"^(network-instances|routing-policy(/defined-sets)?)/", "", path)


def _state_direct(leaf: Leaf, file: str, reading: Reading) -> bool:
    """State the fact of a leaf that is one by itself; whether there is one."""
    for pattern, fact in _FACTS_COMPILED:
        if match := pattern.fullmatch(leaf.path):
            path = fact.format(*match.groups())
            reading.put(path, _convert_value(path, leaf.value), file, leaf.line)
            return True
    return bool(_SILENT.fullmatch(leaf.path))


def _convert_value(path: str, text: str) -> str | int:
    if path.endswith("speed_gbps"):
        text = text.removeprefix("SPEED_").removesuffix("GB")
    if path == "bfd/interval_ms" and text.isdecimal():
        return int(text) // 1000 if int(text) % 1000 == 0 else f"{text} us"
    numeric = not path.endswith(("description", "hostname", "router_id", "ssh_key"))
    return int(text) if numeric and text.isdecimal() else text


def _gather_part(
    leaf: Leaf,
    file: str,
    reading: Reading,
    lists: dict[str, list[tuple[str, int]]],
    clauses: dict[tuple[str, str], tuple[dict[str, str], int]],
) -> bool:
    """Take in a leaf that is a part of a fact, or a key that states one; whether it is any."""
    path, value, line = leaf
    if path.endswith(("/max-prefixes", "/set-local-pref")) and not value.isdecimal():
        return False
    for servers, kind in _SERVERS.items():
        if path == f"system/{servers}/{value}/":
            lists.setdefault(f"management/{kind}", []).append((value, line))
            return True
    if match := re.fullmatch(r"interfaces/(.+)/subinterfaces/0/ipv4/addresses/(.+)/prefix-length", path):
        name = {MANAGEMENT: "management/address", LOOPBACK: "loopback/ipv4"}.get(match[1])
        reading.put(name or f"interface[{match[1]}]/ipv4", f"{match[2]}/{value}", file, line)
    elif match := re.fullmatch(r"default/protocols/LOCAL_AGGREGATE/local-aggregates/(.+)/", path):
        reading.put(f"bgp/aggregate[{match[1]}]", "summary-only", file, line)
    elif match := re.fullmatch(
        _NEIGHBOR + r"afi-safis/IPV4_UNICAST/ipv4-unicast/prefix-limit/max-prefixes", path
    ):
        reading.put(f"bgp/neighbor[{match[1]}]/maximum_prefixes", int(value), file, line)
        reading.put(f"bgp/neighbor[{match[1]}]/families", "ipv4", file, line)
    elif match := re.fullmatch(r"prefix-sets/(.+?)/prefixes/(.+)/masklength-range", path):
        index = sum(fact.startswith(f"prefix_list[{match[1]}]/") for fact in reading.facts)
        reading.put(f"prefix_list[{match[1]}]/{index}", _format_rule(match[2], value), file, line)
    elif match := re.fullmatch(_STATEMENT + r"(?:conditions|actions)/(?:.*/)?([a-z-]+)", path):
        parts, _ = clauses.setdefault((match[1], match[2]), ({}, line))
        parts[match[3]] = value
    else:
        return path.endswith("/")
    return True


def _format_rule(prefix: str, span: str) -> str:
    if span == "exact":
        return prefix
    low, _, high = span.partition("..")
    return f"{prefix} ge {low} le {high}"


def _format_clause(sequence: int, parts: dict[str, str]) -> str:
    preference = parts.get("set-local-pref")
    return clause_text(
        Clause(
            sequence,
            parts.get("policy-result") == "ACCEPT_ROUTE",
            parts.get("prefix-set"),
            None,
            parts.get("community-set"),
            None if preference is None else int(preference),
            parts.get("communities"),
        )
    )
