"""NetworkManager keyfiles of a host, one per port: addresses, MTU and policy routing, written and read back."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from fabricc.back.hosts import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, HostPort

FOLDER = "etc/NetworkManager/system-connections/"
DEVICES = "etc/NetworkManager/conf.d/90-fabricc.conf"
ACTIVATION = "apply-networkmanager.sh"

FIRST = 999
"""The highest autoconnect-priority (nm-settings-keyfile(5)): no other connection takes the port at boot."""

_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "fabricc")


def connection_id(host: Host, port: HostPort) -> str:
    """Return the connection's UUID: the same in every build, different for every port of every cluster."""
    return connection_uuid(host.cluster, host.name, port.name)


def connection_uuid(cluster: str, host: str, interface: str) -> str:
    """Return the UUID of the connection of an interface of a host."""
    return str(uuid.uuid5(_SPACE, f"{cluster}/{host}/{interface}"))


def render(host: Host) -> dict[str, str]:
    """Return the files, path below the host's root -> text; no port has a default route."""
    files = {
        f"{FOLDER}fabricc-{words.check_word(port.name)}.nmconnection": _keyfile_text(host, port)
        for port in host.ports
    }
    if host.ports:
        files[words.network_path(DEVICES, host)] = _device_settings(host)
    return files


def _device_settings(host: Host) -> str:
    """Return the file of what NetworkManager does with the ports, which a connection cannot state.

    `managed` counts before rules of udev and before files that are read earlier (NetworkManager.conf(5)).
    """
    names = ",".join([f"interface-name:={words.check_word(port.name)}" for port in host.ports])
    stay = all(words.ignores_carrier(port) for port in host.ports)
    return (
        "# A connection cannot state this: NetworkManager has these ports"
        f"{', which keep their addresses, rules and routes while a link is down' if stay else ''}.\n"
        f"[device-{_unit_name(host.network)}]\nmatch-device={names}\nmanaged=1\n"
        f"{'ignore-carrier=yes' + chr(10) if stay else ''}"
    )


def _unit_name(network: str) -> str:
    return f"fabricc-{network}" if network else "fabricc"


def _keyfile_text(host: Host, port: HostPort) -> str:
    whose = words.ports_of(host.network)
    text = (
        f"# {whose} port of {host.name}; any other interface belongs in a connection of its own.\n"
        f"[connection]\nid=fabricc-{port.name}\nuuid={connection_id(host, port)}\ntype=ethernet\n"
        f"autoconnect=true\nautoconnect-priority={FIRST}\ninterface-name={port.name}\n\n[ethernet]\nmtu={port.mtu}\n"
    )
    text += _family_section("ipv4", port.ipv4, port.gateway4, (*host.fabric_prefixes4, *host.outside4), port)
    return text + _family_section(
        "ipv6", port.ipv6, port.gateway6, (*host.fabric_prefixes6, *host.outside6), port
    )


def _family_section(
    name: str, address: str | None, gateway: str | None, prefixes: tuple[str, ...], port: HostPort
) -> str:
    if address is None:
        return f"\n[{name}]\nmethod=disabled\n"
    text = f"\n[{name}]\nmethod=manual\naddress1={address}\nnever-default=true\n"
    if gateway is None or not prefixes:
        return text
    for number, prefix in enumerate(prefixes, 1):
        via = "" if words.on_link(address, prefix) else f",{gateway}"
        text += f"route{number}={prefix}{via}\nroute{number}_options=table={port.table}\n"
    if port.metric is not None:
        far = [prefix for prefix in prefixes if not words.on_link(address, prefix)]
        for number, prefix in enumerate(far, len(prefixes) + 1):
            text += f"route{number}={prefix},{gateway},{port.metric}\n"
    source = address.partition("/")[0]
    return (
        text + f"routing-rule1=priority {words.rule_priority(port.table)} from {source} table {port.table}\n"
    )


def state(facts: Facts, host: Host) -> None:
    """Add the facts that only a keyfile states."""
    for port in host.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "connection/id"] = f"fabricc-{port.name}"
        facts[prefix + "connection/uuid"] = connection_id(host, port)
        facts[prefix + "connection/type"] = "ethernet"
        facts[prefix + "connection/autoconnect"] = "true"
        facts[prefix + "connection/autoconnect_priority"] = FIRST
        facts[prefix + "managed"] = "true"
        if words.ignores_carrier(port):
            facts[prefix + "ignore_carrier"] = "true"
        for family, address in (("ipv4", port.ipv4), ("ipv6", port.ipv6)):
            facts[f"{prefix}{family}_method"] = "disabled" if address is None else "manual"
            if address is not None:
                facts[f"{prefix}{family}_never_default"] = "true"


_LEAVES = {
    **{f"connection.{key}": f"connection/{key}" for key in ("id", "uuid", "type", "autoconnect")},
    "connection.autoconnect-priority": "connection/autoconnect_priority",
    "ethernet.mtu": "mtu",
    **{f"{family}.{key}": f"{family}{leaf}" for family in ("ipv4", "ipv6")
       for key, leaf in (("address1", ""), ("method", "_method"), ("never-default", "_never_default"))},
}  # fmt: skip
_NAME = "connection.interface-name"
_ROUTE = re.compile(r"ipv[46]\.route\d+")
_RULES = re.compile(r"(ipv[46])\.routing-rule[A-Za-z0-9_-]*")
_RULE = re.compile(r"priority (\d+) from (\S+) table (\d+)")
_OPTIONS = "_options"


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of a keyfile, of this or another writer."""
    lines = list(words.setting_lines(text))
    stated = {key: value for _, key, value, _ in lines}
    name = stated.get(_NAME)
    routes = {key for key in stated if _ROUTE.fullmatch(key)}
    silent = {_NAME, *(key + _OPTIONS for key in routes)}  # they are part of other lines' facts
    for number, key, value, line in lines:
        if name and (leaf := _LEAVES.get(key)):
            reading.put(f"interface[{name}]/{leaf}", words.parse_decimal(value), file, number)
        elif name and key in routes:
            to, _, gateway = value.partition(",")
            gateway, _, metric = gateway.partition(",")
            options = f"metric {metric}" if metric else stated.get(key + _OPTIONS, "").replace("=", " ")
            path = f"interface[{name}]/{'main_route' if metric else 'route'}[{to}]"
            reading.put(
                path, f"{f'via {gateway}' if gateway else 'scope link'} {options}".rstrip(), file, number
            )
        elif name and (rules := _RULES.fullmatch(key)) and (rule := _RULE.fullmatch(value)):
            priority, source, table = rule.groups()
            source = source if "/" in source else f"{source}/{128 if rules[1] == 'ipv6' else 32}"
            reading.put(
                f"interface[{name}]/rule[{source}]", f"table {table} priority {priority}", file, number
            )
        elif not name or key not in silent:
            reading.unknown.append((file, number, line))


_DEVICE_SECTION = re.compile(r"device[A-Za-z0-9_-]*\.([a-z-]+)")
_NAMED_DEVICE = re.compile(r"interface-name:=?([^*?]+)")


_DEVICE_SETTINGS = {"ignore-carrier": "ignore_carrier", "managed": "managed"}
"""Key of a section of devices -> leaf of the fact of each port."""


def read_device_settings(reading: Reading, file: str, text: str) -> None:
    """Add what a file in NetworkManager's conf.d sets for ports that it names."""
    names: list[str] = []
    for number, key, value, line in words.setting_lines(text):
        section = _DEVICE_SECTION.fullmatch(key)
        devices = [_NAMED_DEVICE.fullmatch(each) for each in value.split(",")]
        if section and section[1] == "match-device" and all(devices):
            names = [device[1] for device in devices if device]
        elif section and section[1] in _DEVICE_SETTINGS and names:
            is_set = "true" if value in ("yes", "true", "on", "1") else "false"
            for name in names:
                reading.put(f"interface[{name}]/{_DEVICE_SETTINGS[section[1]]}", is_set, file, number)
        else:
            reading.unknown.append((file, number, line))


READERS: Mapping[str, words.Reader] = {f"{FOLDER}*": read}
DEVICE_READERS: Mapping[str, words.Reader] = {words.mark_path(DEVICES, "*"): read_device_settings}
