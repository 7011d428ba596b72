"""Routes walked through the forwarding tables that are installed: they arrive, and once down never go up again."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.proof.infiniband.subnets import adapter_distances

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.back.infiniband.topology import ReadTopology

_SWITCH = re.compile(r"Unicast lids .*guid 0x([0-9a-f]{16})")
_ENTRY = re.compile(r"0x([0-9a-f]{4}) (\d{3}) [:#]")
_NO_PORT = 255
_SHOWN = 5

Tables = dict[str, "array[int]"]
"""Switch id -> output port by LID; 255 where there is none."""


def read_tables(lines: Iterable[str], top: int) -> Tables:
    """Forwarding tables from the lines that `dump_lfts` or opensm itself wrote, up to LID `top`."""
    tables: Tables = {}
    current = array("B")
    for line in lines:
        if line.startswith("0x"):
            if (match := _ENTRY.match(line)) and (lid := int(match[1], 16)) <= top:
                current[lid] = min(_NO_PORT, int(match[2]))
        elif match := _SWITCH.match(line):
            current = tables.setdefault(f"S-{match[1]}", array("B", [_NO_PORT]) * (top + 1))
    return tables


@dataclass(slots=True)
class Walk:
    """What came of walking every route from every leaf to every adapter.

    Attributes:
        routes: how many were walked.
        lost: routes that do not arrive, a few of them in words; `lost_count`: how many there are.
        turns: places where a route that went down goes up again, which is how credit loops begin.
        loads: uplink (leaf, port) -> routes that leave a leaf by it.
    """

    routes: int = 0
    lost: list[str] = field(default_factory=list)
    lost_count: int = 0
    turns: list[str] = field(default_factory=list)
    loads: Counter[tuple[str, int]] = field(default_factory=Counter)

    def record_lost(self, what: str) -> None:
        """Record a route that does not arrive."""
        self.lost_count += 1
        if len(self.lost) < _SHOWN:
            self.lost.append(what)


def walk_routes(
    topology: ReadTopology, tables: Tables, cut: frozenset[tuple[str, int]] = frozenset()
) -> Walk:
    """Walk every route; `cut` are the ends (node id, port) of unplugged links."""
    rank, found = adapter_distances(topology), Walk()
    links = {
        node.id: {port: peer for port, (peer, _, _) in node.ends.items() if (node.id, port) not in cut}
        for node in topology.switches()
    }
    leaves = sorted(node_id for node_id, level in rank.items() if level == 1)
    for adapter in topology.adapters():
        _walk_to(adapter.id, adapter.lid, topology, tables, links, rank, leaves, found)
    return found


def _walk_to(
    target: str,
    lid: int,
    topology: ReadTopology,
    tables: Tables,
    links: Mapping[str, Mapping[int, str]],
    rank: Mapping[str, int],
    leaves: list[str],
    found: Walk,
) -> None:
    """Walk from every leaf to one adapter; a switch that was passed once is not passed again."""
    arrives: dict[str, bool] = {}
    for leaf in leaves:
        found.routes += 1
        passed: list[str] = []
        at, came_down, done = leaf, False, False
        while True:
            if at in arrives and not came_down:
                done = arrives[at]
                break
            if at in passed:  # a circle: whoever is come down to again went up from here
                if came_down:
                    _record_turn(found, topology, at, target)
                break
            passed.append(at)
            port = tables[at][lid] if at in tables else _NO_PORT
            following = links[at].get(port)
            if at == leaf and following is not None and following != target:
                found.loads[leaf, port] += 1
            if following is None or following == target:
                done = following == target
                break
            if not following.startswith("S-"):
                break
            down = rank[following] < rank[at]
            if came_down and not down:
                _record_turn(found, topology, at, target)
            at, came_down = following, down
        arrives |= dict.fromkeys(passed, done)
        if not done:
            found.record_lost(f"from {topology.nodes[leaf].name} to {topology.nodes[target].name}")


def _record_turn(found: Walk, topology: ReadTopology, at: str, target: str) -> None:
    if len(found.turns) < _SHOWN:
        found.turns.append(f"at {topology.nodes[at].name} towards {topology.nodes[target].name}")
