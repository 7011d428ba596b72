"""The netplan file of a host: addresses, MTU and per-rail policy routing, written and read back."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts.yaml_lines import flatten

if TYPE_CHECKING:
    from fabricc.back.hosts.yaml_lines import Path, Scalar
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, HostPort

FILE = "etc/netplan/60-fabricc.yaml"

_PLAIN_KEY = re.compile(r"[a-z]{2,}[0-9]+[a-z]?")  # YAML reads none of these as anything but text
_SCALARS = {"mtu": "mtu", "accept-ra": "accept_ra", "optional": "optional"}
_LISTS = {"addresses", "link-local"}
_ROUTE_KEYS = {"to", "via", "table"}
_RULE_KEYS = {"from", "table", "priority"}


def rule_priority(table: int) -> int:
    """Priority of the policy rules that lead to a rail's table: 1000 plus the table's offset from 100."""
    return 1000 + table - 100


def files(host: Host) -> dict[str, str]:
    """The file, path below the host's root -> text."""
    return {FILE: render(host)}


def planned(facts: Facts, host: Host) -> None:
    """Add the facts that only a netplan file states."""
    facts["netplan/version"] = 2
    facts["netplan/renderer"] = "networkd"
    for port in host.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "link_local"] = "none"
        facts[prefix + "accept_ra"] = "false"
        facts[prefix + "optional"] = "true"


def render(host: Host) -> str:
    """The text; one block per back-end port and no default route on any."""
    lines = [f"# Back-end ports of {host.name}; any other interface belongs in a file of its own.\nnetwork:"]
    lines.append("  version: 2\n  renderer: networkd")
    if host.ports:
        lines.append("  ethernets:")
    prefixes4 = [_quoted(prefix) for prefix in host.fabric_prefixes4]
    prefixes6 = [_quoted(prefix) for prefix in host.fabric_prefixes6]
    lines += [_port_block(port, prefixes4, prefixes6) for port in host.ports]
    return "\n".join(lines) + "\n"


def _port_block(port: HostPort, prefixes4: list[str], prefixes6: list[str]) -> str:
    block = (
        f"    {_key(port.name)}:\n      mtu: {port.mtu}\n      link-local: []\n"
        "      accept-ra: false\n      optional: true"
    )
    addresses = routes = rules = ""
    for address, gateway, bits, prefixes in (
        (port.ipv4, port.gateway4, 32, prefixes4),
        (port.ipv6, port.gateway6, 128, prefixes6),
    ):
        if address is None:
            continue
        addresses += f"\n        - {_quoted(address)}"
        if gateway is None or not prefixes:
            continue
        via = f"\n          via: {_quoted(gateway)}\n          table: {port.table}"
        for prefix in prefixes:
            routes += f"\n        - to: {prefix}{via}"
        source = _quoted(f"{address.partition('/')[0]}/{bits}")
        rules += (
            f"\n        - from: {source}\n          table: {port.table}"
            f"\n          priority: {rule_priority(port.table)}"
        )
    if addresses:
        block += f"\n      addresses:{addresses}"
    if routes:
        block += f"\n      routes:{routes}\n      routing-policy:{rules}"
    return block


def _quoted(text: str) -> str:
    """A double-quoted YAML scalar: JSON's strings are YAML's."""
    return json.dumps(text)


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _quoted(name)


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of a netplan file, of this or any other layout."""
    entries, broken = flatten(text)
    lines = text.splitlines()
    for line in broken:
        _unknown(reading, file, line, lines)
    lists: dict[tuple[str, str], list[str]] = {}
    groups: dict[tuple[str, str, object], dict[str, Scalar]] = {}
    starts: dict[tuple[str, ...], int] = {}
    for path, value, line in entries:
        if not _collect(reading, file, path, value, line, lists, groups, starts):
            _unknown(reading, file, line, lines)
    for (name, key), items in lists.items():
        _put_list(reading, file, name, key, items, starts[name, key])
    for (name, key, index), values in groups.items():
        line = starts[name, key, str(index)]
        if not _put_group(reading, file, name, key, values, line):
            _unknown(reading, file, line, lines)


def _collect(
    reading: Reading,
    file: str,
    path: Path,
    value: Scalar,
    line: int,
    lists: dict[tuple[str, str], list[str]],
    groups: dict[tuple[str, str, object], dict[str, Scalar]],
    starts: dict[tuple[str, ...], int],
) -> bool:
    """Put a scalar's fact, or remember a list's item for later; False when the entry means nothing here."""
    if path[:2] != ("network", "ethernets"):
        known = len(path) == 2 and path[0] == "network" and path[1] in ("version", "renderer")
        if known:
            reading.put(f"netplan/{path[1]}", value, file, line)
        return known
    if len(path) < 4:
        return False
    name, key = str(path[2]), str(path[3])
    if len(path) == 4 and key in _SCALARS:
        reading.put(f"interface[{name}]/{_SCALARS[key]}", value, file, line)
        return True
    if key in _LISTS and len(path) <= 5:
        items = lists.setdefault((name, key), [])
        starts.setdefault((name, key), line)
        if len(path) == 5:
            items.append(str(value))
        return len(path) == 5 or value == ""
    wanted = _ROUTE_KEYS if key == "routes" else _RULE_KEYS if key == "routing-policy" else ()
    if len(path) == 6 and path[5] in wanted:
        groups.setdefault((name, key, path[4]), {})[str(path[5])] = value
        starts.setdefault((name, key, str(path[4])), line)
        return True
    return False


def _put_list(reading: Reading, file: str, name: str, key: str, items: list[str], line: int) -> None:
    prefix = f"interface[{name}]/"
    if key == "link-local":
        reading.put(prefix + "link_local", ",".join(sorted(items)) or "none", file, line)
        return
    for family, members in (
        ("ipv4", [item for item in items if ":" not in item]),
        ("ipv6", [item for item in items if ":" in item]),
    ):
        if members:
            reading.put(prefix + family, ",".join(sorted(members)), file, line)


def _put_group(
    reading: Reading, file: str, name: str, key: str, values: dict[str, Scalar], line: int
) -> bool:
    """A route or a rule as one fact; False when it lacks what it is named by."""
    named, rest = ("to", ("via", "table")) if key == "routes" else ("from", ("table", "priority"))
    if named not in values:
        return False
    kind = "route" if key == "routes" else "rule"
    text = " ".join(f"{word} {values[word]}" for word in rest if word in values)
    reading.put(f"interface[{name}]/{kind}[{values[named]}]", text, file, line)
    return True


def _unknown(reading: Reading, file: str, line: int, lines: list[str]) -> None:
    reading.unknown.append((file, line, lines[line - 1].strip() if line <= len(lines) else ""))
