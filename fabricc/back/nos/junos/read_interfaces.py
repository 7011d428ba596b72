"""Reads ports, split cages and the loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.naming import parent_name
from fabricc.back.nos.junos.vocabulary import LAYER_2_HEADER_BYTES, MANAGEMENT_INTERFACES, SPEED_OF

if TYPE_CHECKING:
    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.tree import Node

    Speed = tuple[int | str, int]

_NOT_PORTS = {"lo0", *MANAGEMENT_INTERFACES.values()}
_FAMILIES = ("inet", "inet6")
_DEFAULT_MTU = 1514
_FEC = {"fec91": "rs"}


def read_interfaces(root: Node, put: Put) -> None:
    """State the facts of `interfaces`, with the splits that a classic switch says under `chassis`."""
    speeds = _chassis_splits(root, put)
    for node in root.below("interfaces"):
        if sub_ports := node.number("number-of-sub-ports"):
            put(f"platform/sub_ports[{node.word}]", *sub_ports)
        if speed := node.value("speed"):
            speeds[node.word] = (SPEED_OF.get(speed[0], speed[0]), speed[1])
    for node in root.below("interfaces"):
        if node.word not in _NOT_PORTS:
            _port(root, node, speeds, put)
    for version, family in ((4, "inet"), (6, "inet6")):
        for address, line in root.values("interfaces", "lo0", "unit", "0", "family", family, "address"):
            put(f"loopback/ipv{version}", address, line)


def _chassis_splits(root: Node, put: Put) -> dict[str, Speed]:
    speeds: dict[str, Speed] = {}
    for port in root.below("chassis", "fpc", "0", "pic", "0", "port"):
        name = f"et-0/0/{port.word}"
        if sub_ports := port.number("number-of-sub-ports"):
            put(f"platform/sub_ports[{name}]", *sub_ports)
        if speed := port.value("speed"):
            speeds[name] = (SPEED_OF.get(speed[0], speed[0]), speed[1])
    return speeds


def _port(root: Node, node: Node, speeds: dict[str, Speed], put: Put) -> None:
    prefix = f"interface[{node.word}]/"
    description, disabled = node.value("description"), node.flag("disable")
    unit = node.get("unit", "0")
    if not description and not disabled and unit is None:
        return
    put(prefix + "enabled", "false" if disabled else "true", disabled or node.line)
    if description:
        put(prefix + "description", *description)
    if speed := speeds.get(node.word) or speeds.get(parent_name(node.word)):
        put(prefix + "speed_gbps", *speed)
    for container in ("ether-options", "gigether-options"):
        if fec := node.value(container, "fec"):
            put(prefix + "fec", _FEC.get(fec[0], fec[0]), fec[1])
    physical = node.number("mtu")
    if physical:
        put(prefix + "physical_mtu", *physical)
    if unit is not None:
        _unit(root, unit, prefix, physical or (_DEFAULT_MTU, node.line), put)


def _unit(root: Node, unit: Node, prefix: str, physical: tuple[int, int], put: Put) -> None:
    mtus: dict[int, int] = {}
    present = []
    for family in _FAMILIES:
        node = unit.get("family", family)
        if node is None:
            continue
        present.append(family)
        node.take()
        mtu, line = node.number("mtu") or (physical[0] - LAYER_2_HEADER_BYTES, physical[1])
        mtus[mtu] = line
    if len(mtus) == 1:
        put(prefix + "mtu", *next(iter(mtus.items())))
    elif mtus:
        odd = [line for mtu, line in mtus.items() if mtu != physical[0] - LAYER_2_HEADER_BYTES]
        put(prefix + "mtu", ",".join(str(mtu) for mtu in sorted(mtus)), max(odd))
    for version, family in ((4, "inet"), (6, "inet6")):
        if address := unit.value("family", family, "address"):
            put(f"{prefix}ipv{version}", *address)
        elif family == "inet6" and family in present:
            name = prefix.removeprefix("interface[").removesuffix("]/")
            if announced := root.get("protocols", "router-advertisement", "interface", f"{name}.0"):
                line = announced.take() or announced.line
                put(prefix + "unnumbered", "true" if "inet" in present else "inet6 only", line)
