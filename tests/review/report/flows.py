"""A fabric as a graph of its cables, and what it carries: an independent way to the figures of the failure table."""

from __future__ import annotations

from collections import Counter, deque
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow

SOURCE, SINK, UNBOUND = "<source>", "<sink>", 1 << 60


class Graph:
    """Devices and the bandwidth between each two of them, both ways."""

    def __init__(self, cables: Iterable[CableRow]) -> None:
        self.gbps: dict[str, Counter[str]] = {}
        for cable in cables:
            for a, b in ((cable.a_device, cable.b_device), (cable.b_device, cable.a_device)):
                self.gbps.setdefault(a, Counter())[b] += cable.speed_gbps

    def flow(self, senders: Iterable[str], receivers: Iterable[str]) -> int:
        """Gb/s that the senders can get to the receivers, however it is spread (Edmonds and Karp)."""
        left = {node: dict(ends) for node, ends in self.gbps.items()}
        left[SOURCE], left[SINK] = dict.fromkeys(senders, UNBOUND), {}
        for receiver in receivers:
            left.setdefault(receiver, {})[SINK] = UNBOUND
        total = 0
        while path := self._path(left):
            width = min(left[a][b] for a, b in path)
            for a, b in path:
                left[a][b] -= width
                back = left.setdefault(b, {})
                back[a] = back.get(a, 0) + width
            total += width
        return total

    @staticmethod
    def _path(left: dict[str, dict[str, int]]) -> list[tuple[str, str]]:
        """The shortest way from source to sink with room on it."""
        came: dict[str, str] = {SOURCE: ""}
        waiting = deque([SOURCE])
        while waiting and SINK not in came:
            node = waiting.popleft()
            for end, room in left.get(node, {}).items():
                if room and end not in came:
                    came[end] = node
                    waiting.append(end)
        path, node = [], SINK
        while SINK in came and node != SOURCE:
            path.append((came[node], node))
            node = came[node]
        return path


def find_bisection(fabric: Fabric, cables: list[CableRow]) -> int:
    """Return the least traffic that any half of the units can send to the other half; the even number of units are
    equal.
    """
    hosts = [set(unit.hosts.values()) for unit in fabric.units.values()]
    graph = Graph(cables)
    everyone = set().union(*hosts)
    flows = []
    for chosen in combinations(hosts, len(hosts) // 2):
        half = set().union(*chosen)
        flows.append(graph.flow(half, everyone - half))
    return min(flows)
