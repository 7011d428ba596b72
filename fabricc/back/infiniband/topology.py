"""The expected topology as `ibnetdiscover` prints one: for cabling checks and the simulator, written and read."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.infiniband.model import HostPort, Switch

_NODE = re.compile(
    r'(Switch|Ca)\s+(\d{1,9}) "([SH]-[0-9a-f]{16})"\s+# "([^"]*)"(?:.* lid (\d{1,9}) lmc \d+)?'
)
_END = re.compile(
    r'\[(\d{1,9})\](?:\(([0-9a-f]+)\))?\s+"([SH]-[0-9a-f]{16})"\[(\d{1,9})\](?:\(([0-9a-f]+)\))?\s+#'
    r'(?: lid (\d{1,9}) lmc \d+)? "([^"]*)" lid (\d{1,9}) (\dx\w+)'
)
_GUID_LINE = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid)=0x[0-9a-f]+(\([0-9a-f]+\))?")


def topology_records(switches: Iterable[Switch], ports: Iterable[HostPort]) -> Iterator[str]:
    """Yield the records, switches first, with both ends of every cable and the planned LIDs."""
    for switch in switches:
        own = f"{switch.guid:016x}"
        yield f"switchguid=0x{own}({own})\n"
        yield f'Switch\t{switch.ports} "S-{own}"\t\t# "{switch.name}" enhanced port 0 lid {switch.lid} lmc 0\n'
        for end in switch.ends:
            there = f"{end.peer_guid:016x}"
            peer = f'"H-{there}"[1]({there})' if end.to_host else f'"S-{there}"[{end.peer_port}]'
            yield f'[{end.port}]\t{peer}\t\t# "{end.peer}" lid {end.peer_lid} {end.word}\n'
        yield "\n"
    for port in ports:
        own = f"{port.guid:016x}"
        yield f'caguid=0x{own}\nCa\t1 "H-{own}"\t\t# "{port.description}"\n'
        peer = f'"S-{port.switch_guid:016x}"[{port.switch_port}]'
        yield f'[1]({own})\t{peer}\t\t# lid {port.lid} lmc 0 "{port.switch}" lid {port.switch_lid} {port.word}\n\n'


@dataclass(slots=True)
class Node:
    """A node as read: `id` is `S-…` or `H-…`; `ends` maps a port to (peer's id, peer's port, link word).

    Attributes:
        lid: of the switch, or of the adapter's port; 0 when none is stated.
        line: where it stands, from 1.
        port_guids: of an adapter, its ports' GUIDs by port.
    """

    id: str
    name: str
    is_switch: bool
    ports: int
    lid: int
    line: int
    ends: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    port_guids: dict[int, int] = field(default_factory=dict)

    @property
    def guid(self) -> int:
        """The GUID in its id; of an adapter with one port, that of the port."""
        return int(self.id[2:], 16)


@dataclass(frozen=True, slots=True)
class ReadTopology:
    """The content of a text: nodes by id, and lines that were not understood."""

    nodes: Mapping[str, Node]
    unknown: tuple[tuple[int, str], ...]

    def switches(self) -> Iterator[Node]:
        """Yield the switches, in the order of the text."""
        return (node for node in self.nodes.values() if node.is_switch)

    def adapters(self) -> Iterator[Node]:
        """Yield the adapters, in the order of the text."""
        return (node for node in self.nodes.values() if not node.is_switch)


def read_topology(text: str) -> ReadTopology:
    """Read what `topology` wrote, or what `ibnetdiscover` printed."""
    nodes: dict[str, Node] = {}
    unknown: list[tuple[int, str]] = []
    current: Node | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        if match := _NODE.match(line):
            kind, ports, node_id, name, lid = match.groups()
            if node_id in nodes:
                unknown.append((number, line))
                continue
            current = Node(node_id, name, kind == "Switch", int(ports), int(lid or 0), number)
            nodes[node_id] = current
        elif current is not None and (match := _END.match(line)):
            port, port_guid, peer, peer_port, _, lid, _, _, word = match.groups()
            current.ends[int(port)] = (peer, int(peer_port), word)
            if port_guid and not current.is_switch:
                current.port_guids[int(port)] = int(port_guid, 16)
            if lid:
                current.lid = int(lid)
        elif not _GUID_LINE.fullmatch(line):
            unknown.append((number, line))
    return ReadTopology(nodes, tuple(unknown))
