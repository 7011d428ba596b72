"""NetworkManager keyfiles of a host, one per port: addresses, MTU and policy routing, written and read back."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from fabricc.back.hosts.netplan import rule_priority
from fabricc.back.hosts.numbers import decimal
from fabricc.back.hosts.templating import word

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, HostPort

FOLDER = "etc/NetworkManager/system-connections/"
SUFFIX = ".nmconnection"

_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "fabricc")


def identity(host: Host, port: HostPort) -> str:
    """The connection's UUID: the same in every build, another for every port of every cluster."""
    return str(uuid.uuid5(_SPACE, f"{host.cluster}/{host.name}/{port.name}"))


def files(host: Host) -> dict[str, str]:
    """The files, path below the host's root -> text; no port has a default route."""
    return {f"{FOLDER}fabricc-{word(port.name)}{SUFFIX}": _render(host, port) for port in host.ports}


def _render(host: Host, port: HostPort) -> str:
    text = (
        f"# Back-end port of {host.name}; any other interface belongs in a connection of its own.\n"
        f"[connection]\nid=fabricc-{port.name}\nuuid={identity(host, port)}\ntype=ethernet\n"
        f"autoconnect=true\ninterface-name={port.name}\n\n[ethernet]\nmtu={port.mtu}\n"
    )
    text += _family("ipv4", port.ipv4, port.gateway4, host.fabric_prefixes4, port.table)
    return text + _family("ipv6", port.ipv6, port.gateway6, host.fabric_prefixes6, port.table)


def _family(
    name: str, address: str | None, gateway: str | None, prefixes: tuple[str, ...], table: int
) -> str:
    if address is None:
        return f"\n[{name}]\nmethod=disabled\n"
    text = f"\n[{name}]\nmethod=manual\naddress1={address}\nnever-default=true\n"
    if gateway is None or not prefixes:
        return text
    for number, prefix in enumerate(prefixes, 1):
        text += f"route{number}={prefix},{gateway}\nroute{number}_options=table={table}\n"
    source = address.partition("/")[0]
    return text + f"routing-rule1=priority {rule_priority(table)} from {source} table {table}\n"


def planned(facts: Facts, host: Host) -> None:
    """Add the facts that only a keyfile states."""
    for port in host.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "connection/id"] = f"fabricc-{port.name}"
        facts[prefix + "connection/uuid"] = identity(host, port)
        facts[prefix + "connection/type"] = "ethernet"
        facts[prefix + "connection/autoconnect"] = "true"
        for family, address in (("ipv4", port.ipv4), ("ipv6", port.ipv6)):
            facts[f"{prefix}{family}_method"] = "disabled" if address is None else "manual"
            if address is not None:
                facts[f"{prefix}{family}_never_default"] = "true"


_LINE = re.compile(r"([A-Za-z0-9_-]+)=(.*)")
_ROUTE = re.compile(r"route(\d+)")
_OPTIONS = re.compile(r"route(\d+)_options")
_RULE = re.compile(r"priority (\d+) from (\S+) table (\d+)")
_CONNECTION = ("id", "uuid", "type", "autoconnect")


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of a keyfile, of this or another writer."""
    entries: list[tuple[str, str, str, int]] = []
    section = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
        elif match := _LINE.fullmatch(line):
            entries.append((section, match[1], match[2], number))
        else:
            reading.unknown.append((file, number, line))
    name = next((value for s, key, value, _ in entries if (s, key) == ("connection", "interface-name")), "")
    for section, key, value, number in entries:
        if not name or not _put(reading, f"interface[{name}]/", entries, section, key, value, file, number):
            reading.unknown.append((file, number, f"{key}={value}"))


def _put(
    reading: Reading, prefix: str, entries: list[tuple[str, str, str, int]],
    section: str, key: str, value: str, file: str, number: int,
) -> bool:  # fmt: skip
    """The fact of one entry; False when it means nothing here."""
    if section == "connection":
        if key in _CONNECTION:
            reading.put(f"{prefix}connection/{key}", value, file, number)
        return key in _CONNECTION or key == "interface-name"
    if (section, key) == ("ethernet", "mtu"):
        reading.put(prefix + "mtu", decimal(value), file, number)
        return True
    if section not in ("ipv4", "ipv6"):
        return False
    if key == "address1":
        reading.put(prefix + section, value, file, number)
    elif key in ("method", "never-default"):
        reading.put(f"{prefix}{section}_{key.replace('-', '_')}", value, file, number)
    elif match := _ROUTE.fullmatch(key):
        to, _, gateway = value.partition(",")
        options = next((v for s, k, v, _ in entries if s == section and k == f"route{match[1]}_options"), "")
        words = f"via {gateway} {options.replace('=', ' ')}".rstrip()
        reading.put(f"{prefix}route[{to}]", words, file, number)
    elif match := _RULE.fullmatch(value) if key.startswith("routing-rule") else None:
        source = match[2] if "/" in match[2] else f"{match[2]}/{128 if section == 'ipv6' else 32}"
        reading.put(f"{prefix}rule[{source}]", f"table {match[3]} priority {match[1]}", file, number)
    else:
        # The options of a route belong to its fact; those of no route mean nothing.
        found = _OPTIONS.fullmatch(key)
        return bool(found) and any(
            s == section and found and k == f"route{found[1]}" for s, k, _, _ in entries
        )
    return True
