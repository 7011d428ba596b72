"""openconfig-interfaces with openconfig-if-ethernet and openconfig-if-ip: ports and the loopback.

Each entry of a list has its keys, and a `config` that repeats them.
"""

from __future__ import annotations

from typing import Any

from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Facts, format_boolean
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import port_paths

TOP = "openconfig-interfaces:interfaces"
LOOPBACK = "Loopback0"
"""The models have no name for it; that of the systems that follow them closest."""
_ETHERNET, _LOOPBACK = "iana-if-type:ethernetCsmacd", "iana-if-type:softwareLoopback"
_CONTAINER, _SPEED = "openconfig-if-ethernet:ethernet", "openconfig-if-ethernet:SPEED_{}GB"
_SPEEDS = frozenset((1, 10, 25, 40, 50, 100, 200, 400, 600, 800, 1600))
_FAMILIES = ("ipv4", "ipv6")


def render(switch: Switch) -> dict[str, Any]:
    """Return the interfaces of a switch."""
    ports = [_port_entry(port) for port in switch.ports]
    own = {
        "ipv4": f"{switch.loopback4}/32" if switch.loopback4 else None,
        "ipv6": f"{switch.loopback6}/128" if switch.loopback6 else None,
    }
    config = {"name": LOOPBACK, "type": _LOOPBACK, "enabled": True}
    loopback = list_entry(("name",), config, subinterfaces=_subinterface(own, None))
    return {TOP: {"interface": [*ports, loopback]}}


def read(document: dict[str, Any]) -> Facts:
    """Return the facts of interfaces."""
    facts: Facts = {}
    for interface in document[TOP]["interface"]:
        config = interface["config"]
        families = dict(_address_families(interface))
        if config["type"] == _LOOPBACK:
            facts |= {f"loopback/{family}": _format_address(families[family]) for family in families}
            continue
        paths = port_paths(config["name"])
        facts[paths["enabled"]] = format_boolean(config["enabled"])
        facts[paths["description"]] = config["description"]
        if speed := interface.get(_CONTAINER, {}).get("config", {}).get("port-speed"):
            facts[paths["speed_gbps"]] = int("".join(filter(is_number, speed)))
        for family, content in families.items():
            facts[paths["mtu"]] = content["config"]["mtu"]
            facts[paths[family]] = _format_address(content)
    return facts


def _port_entry(port: Port) -> dict[str, Any]:
    config = {
        "name": port.name, "type": _ETHERNET, "enabled": port.enabled, "description": port.description,
    }  # fmt: skip
    found = list_entry(("name",), config)
    if port.speed_gbps in _SPEEDS:
        found[_CONTAINER] = {"config": {"port-speed": _SPEED.format(port.speed_gbps)}}
    addresses = {"ipv4": port.ipv4, "ipv6": port.ipv6}
    if port.direction is not Direction.UNUSED and any(addresses.values()):
        found["subinterfaces"] = _subinterface(addresses, port.mtu)
    return found


def _subinterface(addresses: dict[str, str | None], mtu: int | None) -> dict[str, Any]:
    """Return subinterface 0 with an address of each family; `mtu` is the IP MTU in bytes."""
    families = {}
    for family, address in addresses.items():
        if address is not None:
            ip, _, length = address.partition("/")
            entry = list_entry(("ip",), {"ip": ip, "prefix-length": int(length)})
            families[f"openconfig-if-ip:{family}"] = {
                "addresses": {"address": [entry]},
                "config": {"enabled": True, **({"mtu": mtu} if mtu is not None else {})},
            }
    return {"subinterface": [{**list_entry(("index",), {"index": 0, "enabled": True}), **families}]}


def _address_families(interface: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the families that have an address, each with its container."""
    inner = interface.get("subinterfaces", {"subinterface": [{}]})["subinterface"][0]
    named = ((family, inner.get(f"openconfig-if-ip:{family}")) for family in _FAMILIES)
    return [(family, content) for family, content in named if content]


def _format_address(content: dict[str, Any]) -> str:
    (found,) = content["addresses"]["address"]
    return f"{found['ip']}/{found['config']['prefix-length']}"


def list_entry(keys: tuple[str, ...], config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an entry of a list.

    Args:
        keys: names of its keys.
        config: its configuration, keys included; None values are left out.
        more: sibling containers, with dashes for underscores; empty ones are left out.
    """
    values = {name: value for name, value in config.items() if value is not None}
    beside = {name.replace("_", "-"): content for name, content in more.items() if content}
    return {**{key: values[key] for key in keys}, "config": values, **beside}
