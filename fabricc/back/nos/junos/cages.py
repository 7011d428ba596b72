"""Cages of Junos switches: how they are split, and which statement sets the speed of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.junos import words
from fabricc.back.reading import Captured, Document, Keep, Row, Scope, StoredValue
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, format_boolean
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# `channel-speed` of classic QFX switches, and how many ports a cage then has (Juniper, "Port Settings", table 1;
# Juniper YANG 24.4R1, qfx). Faster ports are split by `number-of-sub-ports`.
CHANNEL_SPEEDS = {"10g": 4, "25g": 4, "50g": 2}
GROUP_SPEED = "25g"
"""The speed that the first port of a group of four SFP28 cages sets for all of them; without it they are 10G ports."""
GROUP_SIZE = 4


_SLOW, SLOW_GBPS = "xe-", 10
"""Ports of this name have this speed without a statement."""


class ChassisPort(NamedTuple):
    """`chassis fpc 0 pic 0 port N` of a classic switch."""

    number: int
    speed: str | None = None
    channel_speed: str | None = None
    sub_ports: int | None = None


def split_cages(switch: Switch) -> dict[str, Port]:
    """Return the name of each split cage -> its first child; all children have one speed."""
    found: dict[str, Port] = {}
    for port in switch.ports:
        if port.children > 1:
            found.setdefault(words.cage_name(port.name), port)
    return found


def chassis_ports(switch: Switch) -> list[ChassisPort]:
    """Return the ports whose speed a classic switch sets below `chassis`; none on Evolved."""
    if words.junos_flavor(switch) == words.EVOLVED:
        return []
    found = [_split_port(name, port) for name, port in split_cages(switch).items()]
    groups = _speed_groups(switch)
    grouped = {port.name for group in groups.values() for port in group}
    found += [
        ChassisPort(words.cage_number(port.name), f"{port.speed_gbps}g")
        for port in switch.ports
        if port.children == 1 and port.name not in grouped
    ]
    found += [
        ChassisPort(first, GROUP_SPEED)
        for first, group in groups.items()
        if f"{_group_speed(group)}g" == GROUP_SPEED
    ]
    return sorted(found)


def mixed_groups(switch: Switch) -> Iterator[str]:
    """Yield the groups of cages that must have one speed, and whose ports with links have several."""
    for first, group in _speed_groups(switch).items():
        speeds = sorted({port.speed_gbps for port in group if port.direction is not Direction.UNUSED})
        if len(speeds) > 1:
            wanted = " and ".join(f"{speed}G" for speed in speeds)
            yield f"{wanted} in cages {first} to {first + GROUP_SIZE - 1}"


def other_names(switch: Switch) -> dict[str, str]:
    """Return unused port -> the name that it has because of the speed of its group; both names are shut."""
    return {
        port.name: name
        for group in _speed_groups(switch).values()
        for port in group
        if port.direction is Direction.UNUSED
        and (name := words.name_at_speed(switch.model, port.name, _group_speed(group))) != port.name
    }


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of split cages, and of ports that are shut under another name."""
    for name, port in split_cages(switch).items():
        facts[f"platform/sub_ports[{name}]"] = port.children
    for port_name, name in other_names(switch).items():
        facts[port_paths(name)["enabled"]] = format_boolean(False)
        if name.startswith(_SLOW):
            facts[port_paths(name)["speed_gbps"]] = SLOW_GBPS
            facts.pop(port_paths(port_name)["speed_gbps"], None)


def _split_port(name: str, port: Port) -> ChassisPort:
    number, speed = words.cage_number(name), f"{port.speed_gbps}g"
    if CHANNEL_SPEEDS.get(speed) == port.children:
        return ChassisPort(number, channel_speed=speed)
    return ChassisPort(number, speed, sub_ports=port.children)


def _speed_groups(switch: Switch) -> Mapping[int, list[Port]]:
    """Return the number of the first cage of each group -> the ports of the group."""
    if not words.catalog_settings(switch).get("speed_groups"):
        return {}
    single = {cage for group in switch.model.cages if group.lanes == 1 for cage in group.numbers}
    found: dict[int, list[Port]] = {}
    for port in switch.ports:
        number = words.cage_number(port.name)
        if number in single:
            found.setdefault(number - number % GROUP_SIZE, []).append(port)
    return found


def _group_speed(group: Sequence[Port]) -> int:
    """Return the speed of the ports with links, or that of any port in a group without links."""
    return next(
        (port.speed_gbps for port in group if port.direction is not Direction.UNUSED), group[0].speed_gbps
    )


_PORT = "chassis fpc <integer> pic <integer> port <integer>"


def _channels(
    fpc: Captured, pic: Captured, port: Captured, speed: Captured
) -> dict[str, str | int | None] | None:
    """Return speed and number of the ports of a cage with a channel speed, or None for another word."""
    place, children = f"{fpc}/{pic}/{port}", CHANNEL_SPEEDS.get(f"{speed}g")
    return {f"speed {place}": int(str(speed)), f"split {place}": children} if children else None


ROWS: Sequence[Row] = (
    Keep(f"{_PORT} number-of-sub-ports <integer>", lambda fpc, pic, port, many: {f"split {fpc}/{pic}/{port}": many}),
    Keep(f"{_PORT} speed <speed>", lambda fpc, pic, port, speed: {f"speed {fpc}/{pic}/{port}": speed}),
    Keep(f"{_PORT} channel-speed <speed>", _channels),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpeedStatements:
    """Speeds that a configuration sets below `chassis`, by the numbers of ports, and below the ports themselves."""

    own: Mapping[str, StoredValue]
    chassis: Mapping[str, StoredValue]
    groups: Mapping[str, StoredValue]
    named: frozenset[str]

    @classmethod
    def from_scope(cls, scope: Scope, interfaces: Mapping[Captured, Scope]) -> SpeedStatements:
        """Return the statements of a configuration with the given interfaces."""
        chassis = _by_port(scope, "speed ")
        groups: dict[str, StoredValue] = {}
        for numbers, stored in chassis.items():
            parent, _, first = numbers.rpartition("/")
            if f"{stored[0]}g" == GROUP_SPEED and f"split {numbers}" not in scope.values:
                groups |= {f"{parent}/{int(first) + more}": stored for more in range(1, GROUP_SIZE)}
        named = frozenset(words.port_numbers(words.parent_name(str(name))) for name in interfaces)
        own = {
            words.port_numbers(str(name)): block.values["speed_gbps"]
            for name, block in interfaces.items()
            if "speed_gbps" in block.values
        }
        return cls(own, chassis, groups, named)

    def find(self, port: str, block: Scope) -> StoredValue | None:
        """Return the speed of an interface, or None where neither a statement nor the name has it."""
        numbers = words.port_numbers(port)
        whole = words.port_numbers(words.parent_name(port))
        if own := self.own.get(numbers) or self.own.get(whole):
            return own
        if port.startswith(_SLOW):
            return SLOW_GBPS, block.line
        return self.chassis.get(numbers) or self.chassis.get(whole) or self.groups.get(numbers)

    def unnamed(self) -> Iterator[tuple[str, StoredValue]]:
        """Yield the ports, with their speeds, that have no interface."""
        for numbers, stored in self.chassis.items():
            if numbers not in self.named:
                yield f"et-{numbers}", stored


def put_splits(document: Document) -> None:
    """State into how many ports `chassis` splits cages."""
    for numbers, stored in _by_port(document.scope, "split ").items():
        document.put(f"platform/sub_ports[et-{numbers}]", *stored)


def _by_port(scope: Scope, statement: str) -> dict[str, StoredValue]:
    return {
        name.removeprefix(statement): stored
        for name, stored in scope.values.items()
        if name.startswith(statement)
    }
