"""Interfaces of Junos: ports of the fabric, split cages, the loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.junos.words import (
    EVOLVED,
    FAMILIES,
    LAYER_2_HEADER_BYTES,
    MANAGEMENT_INTERFACES,
    SPEED_OF,
    flavour,
    parent_name,
    quoted,
)
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Entry, Fact, Keep
from fabricc.fabric.model import Direction
from fabricc.fabric.paths import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.nos.departures import Departure
    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said, Scope
    from fabricc.back.nos.reading.types import Types
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Port, Switch

DEFAULT_MTU = 1514
LOOPBACK = "lo0"

DEPARTURES: tuple[Departure, ...] = ()


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class FamilyView(NamedTuple):
    """`family inet` or `inet6` of a unit; `filter` is that of what reaches the switch itself."""

    name: str
    mtu: int | None = None
    address: str | None = None
    filter: str | None = None


class InterfaceView(NamedTuple):
    """One et- interface, or a split cage, which has nothing but its split."""

    name: str
    description: str | None
    disable: bool
    sub_ports: int | None
    speed: str | None
    mtu: int | None
    fec: str | None
    families: list[FamilyView]


def interface_views(switch: Switch) -> list[InterfaceView]:
    """The ports; on Evolved each split cage before its first child."""
    splits = _splits(switch) if flavour(switch) == EVOLVED else {}
    found = []
    for port in switch.ports:
        if split := splits.pop(parent_name(port.name), None):
            found.append(_split_view(split))
        found.append(_interface(port))
    return found


def chassis_ports(switch: Switch) -> list[tuple[str, int, str]]:
    """(N, children, their speed) of the split cages of a classic switch, `chassis fpc 0 pic 0 port N`."""
    if flavour(switch) == EVOLVED:
        return []
    return [
        (name.rpartition("/")[2], port.children, f"{port.speed_gbps}g")
        for name, port in _splits(switch).items()
    ]


def loopback_views(switch: Switch, filters: Mapping[str, str]) -> list[FamilyView]:
    """The families of `lo0`, by the filters that it has."""
    addresses = {
        "inet": f"{switch.loopback4}/32" if switch.loopback4 else None,
        "inet6": f"{switch.loopback6}/128" if switch.loopback6 else None,
    }
    return [
        FamilyView(family, address=address, filter=filters.get(family))
        for family, address in addresses.items()
        if address or family in filters
    ]


def physical_mtu(port: Port) -> int:
    """The MTU of the physical interface in bytes, which counts the Ethernet header."""
    return port.mtu + LAYER_2_HEADER_BYTES


def _splits(switch: Switch) -> dict[str, Port]:
    """Split cage -> its first child, which all have one speed."""
    found: dict[str, Port] = {}
    for port in switch.ports:
        if port.children > 1:
            found.setdefault(parent_name(port.name), port)
    return found


def _split_view(port: Port) -> InterfaceView:
    parent, speed = parent_name(port.name), f"{port.speed_gbps}g"
    return InterfaceView(parent, None, False, port.children, speed, None, None, [])


def _interface(port: Port) -> InterfaceView:
    whole = f"{port.speed_gbps}g" if port.children == 1 else None
    described, shut = quoted(port.description), not port.enabled
    if port.direction is Direction.UNUSED:
        return InterfaceView(port.name, described, shut, None, whole, None, None, [])
    families = []
    if port.ipv4 or port.unnumbered:
        families.append(FamilyView("inet", port.mtu, port.ipv4))
    if port.ipv6 or port.unnumbered:
        families.append(FamilyView("inet6", port.mtu, port.ipv6))
    fec = "fec91" if _fec(port) else None
    return InterfaceView(port.name, described, shut, None, whole, physical_mtu(port), fec, families)


def _fec(port: Port) -> str | None:
    """`rs` for 25 Gb/s lanes, where IEEE 802.3 clause 91 is a choice; faster lanes have RS-544 anyway."""
    choice = port.lanes > 1 and port.speed_gbps == 25 * port.lanes
    return "rs" if choice and port.direction is not Direction.UNUSED else None


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add what Junos says of ports beyond the Fabric: splits, the physical MTU, FEC."""
    for name, port in _splits(switch).items():
        facts[f"platform/sub_ports[{name}]"] = port.children
    for port in switch.ports:
        if port.direction is not Direction.UNUSED:
            facts[port_paths(port.name)["physical_mtu"]] = physical_mtu(port)
            if encoding := _fec(port):
                facts[port_paths(port.name)["fec"]] = encoding


# --- and back -----------------------------------------------------------------------------------------

_NOT_PORTS = {LOOPBACK, *MANAGEMENT_INTERFACES.values()}
_FEC = {"fec91": "rs"}
TYPES: Types = {
    "port": lambda word: None if word in _NOT_PORTS else word,
    "speed": lambda word: SPEED_OF.get(word, word),
    "fec": lambda word: _FEC.get(word, word),
}

ROWS: Sequence[Row] = (
    Fact("chassis fpc 0 pic 0 port <word> number-of-sub-ports <integer>", "platform/sub_ports[et-0/0/{0}]"),
    Entry("chassis fpc 0 pic 0 port <word> speed <speed>", "cage speeds", lambda _port, speed: speed),
    Block("interfaces <port>", "interface", (
        Keep("description <word>", "description"),
        Keep("disable", "enabled", "false"),
        Fact("number-of-sub-ports <integer>", "platform/sub_ports[{0}]"),
        Keep("speed <speed>", "speed_gbps"),
        Keep("mtu <integer>", "physical_mtu"),
        Keep("(ether-options|gigether-options) fec <fec>", "fec"),
        Block("unit 0", "unit", [
            Block(f"family {family}", family, (Keep("mtu <integer>", "mtu"), Keep("address <word>", "address")))
            for family in FAMILIES
        ]),
    )),
    *(Fact(f"interfaces {LOOPBACK} unit 0 family {family} address <word>", f"loopback/{version}")
      for family, version in FAMILIES.items()),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the facts of all ports: a child has the speed of its cage, a family the MTU that the port's leaves."""
    interfaces, announced = document.scope.each("interface"), document.scope.each("announced")
    speeds = {f"et-0/0/{number}": said for number, said in document.scope.table("cage speeds").items()}
    speeds |= {
        str(name): block.values["speed_gbps"]
        for name, block in interfaces.items()
        if "speed_gbps" in block.values
    }
    for name, block in interfaces.items():
        port, values, unit = str(name), block.values, block.each("unit").get("")
        if unit is None and not values.keys() & {"description", "enabled"}:
            for leaf in ("physical_mtu", "fec"):  # of a port that does nothing
                if leaf in values:
                    document.reject(values[leaf][1])
            continue
        paths = port_paths(port)
        document.put(paths["enabled"], *values.get("enabled", ("true", block.line)))
        for leaf in ("description", "fec", "physical_mtu"):
            if leaf in values:
                document.put(paths[leaf], *values[leaf])
        if speed := speeds.get(port) or speeds.get(parent_name(port)):
            document.put(paths["speed_gbps"], *speed)
        if unit is not None:
            physical, line = values.get("physical_mtu", (DEFAULT_MTU, block.line))
            _unit(document, paths, unit, (int(physical) - LAYER_2_HEADER_BYTES, line), announced.get(name))


def _unit(
    document: Document, paths: Mapping[str, str], unit: Scope, left: Said, announced: Scope | None
) -> None:
    """State MTU and addresses of a unit, `left` being the MTU that the port leaves to a family."""
    families = {family: scopes[""].values for family in FAMILIES if (scopes := unit.each(family))}
    mtus = dict([values.get("mtu", left) for values in families.values()])
    if len(mtus) == 1:
        document.put(paths["mtu"], *next(iter(mtus.items())))
    elif mtus:
        odd = max(line for mtu, line in mtus.items() if mtu != left[0])
        document.put(paths["mtu"], ",".join(map(str, sorted(mtus))), odd)
    for family, values in families.items():
        if "address" in values:
            document.put(paths[FAMILIES[family]], *values["address"])
        elif family == "inet6" and announced is not None:
            document.put(paths["unnumbered"], "true" if "inet" in families else "inet6 only", announced.line)


TOPIC = Topic(ROWS, finish)
