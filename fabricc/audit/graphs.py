"""Graphs of names, and sets of what belongs together."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.order import natural_key
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable

Graph = dict[str, set[str]]
"""Name -> the names that links join it with."""


def in_order(name: str) -> tuple[object, ...]:
    """A key for sorting names by the numbers in them; of those that differ in zeros alone, one is first too."""
    return natural_key(name), name


@dataclass(slots=True)
class Sets:
    """Disjoint sets that are joined one after the other."""

    above: dict[Hashable, Hashable] = field(default_factory=dict)

    def root(self, item: Hashable) -> Hashable:
        """Return the representative of an item's set."""
        while (up := self.above.setdefault(item, item)) != item:
            self.above[item] = self.above[up] = self.above.setdefault(up, up)
            item = self.above[item]
        return item

    def join(self, one: Hashable, two: Hashable) -> None:
        """Merge the sets of two items."""
        self.above[self.root(one)] = self.root(two)


def connected_parts(graph: Graph) -> list[set[str]]:
    """Return the sets of switches that links connect."""
    found: list[set[str]] = []
    known: set[str] = set()
    for name in graph:
        if name not in known:
            part = {name}
            queue = [name]
            for each in queue:
                queue += graph[each] - part
                part |= graph[each]
            known |= part
            found.append(part)
    return found
