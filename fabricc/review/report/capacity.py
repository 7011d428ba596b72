"""What a fabric carries from one half of its hosts to the other, whole and with something lost."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.review.report.kinds import tor_kinds

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric


@dataclass(frozen=True, slots=True)
class Cell:
    """One pod in one plane.

    Attributes:
        tors: (down, up) in Gb/s of a ToR -> how many such ToRs there are; down is that of the hosts present.
        spine_up_gbps: of all spines together towards the cores; 0 in a two-tier fabric.
    """

    tors: Mapping[tuple[int, int], int]
    spine_up_gbps: int

    @property
    def leaving_gbps(self) -> int:
        """What its hosts can send beyond their ToRs."""
        return sum(min(down, up) * count for (down, up), count in self.tors.items())


@dataclass(frozen=True, slots=True)
class Capacity:
    """The cells of a fabric by (pod, plane).

    Attributes:
        units, pods: how many there are; one unit alone needs no uplinks, one pod alone no cores.
    """

    cells: Mapping[tuple[int, int], Cell]
    units: int
    pods: int

    @property
    def hosts_gbps(self) -> int:
        """What all hosts can send."""
        return sum(down * count for cell in self.cells.values() for (down, _), count in cell.tors.items())

    @property
    def carried_gbps(self) -> int:
        """What fits through the narrowest tier, each ToR and each pod by itself."""
        if self.units == 1:
            return self.hosts_gbps
        if self.pods == 1:
            return sum(cell.leaving_gbps for cell in self.cells.values())
        return sum(min(cell.leaving_gbps, cell.spine_up_gbps) for cell in self.cells.values())

    @property
    def bisection_gbps(self) -> Fraction:
        """Half of it: one half of the hosts sends, the other receives, in one direction."""
        return Fraction(self.carried_gbps, 2)

    def changed(
        self, pod: int, plane: int, tors: Mapping[tuple[int, int], int], spine_up: int = 0
    ) -> Capacity:
        """Return a cell with more or fewer ToRs of some kinds and `spine_up` Gb/s more or less towards the cores."""
        cell = self.cells[pod, plane]
        counted = dict(cell.tors)
        for kind, difference in tors.items():
            counted[kind] = counted.get(kind, 0) + difference
        return self._with_cell(pod, plane, Cell(counted, cell.spine_up_gbps + spine_up))

    def narrow_cell(self, pod: int, plane: int, tor_share: Fraction, spine_up_gbps: int) -> Capacity:
        """Reduce the uplink bandwidth of every ToR of a cell by `tor_share`, that of its spines by `spine_up_gbps`."""
        cell = self.cells[pod, plane]
        tors: dict[tuple[int, int], int] = {}
        for (down, up), count in cell.tors.items():
            kind = (down, int(up * (1 - tor_share)))
            tors[kind] = tors.get(kind, 0) + count
        return self._with_cell(pod, plane, Cell(tors, max(0, cell.spine_up_gbps - spine_up_gbps)))

    def without_planes(self, planes: Container[int]) -> Capacity:
        """Everything of some planes lost."""
        return replace(self, cells={at: cell for at, cell in self.cells.items() if at[1] not in planes})

    def _with_cell(self, pod: int, plane: int, cell: Cell) -> Capacity:
        return replace(self, cells={**self.cells, (pod, plane): cell})


def fabric_capacity(fabric: Fabric) -> Capacity:
    """Return the capacity of a planned fabric with every link up."""
    shape = fabric.shape
    tors: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
    for kind, count in tor_kinds(fabric).items():
        cell = tors.setdefault((kind.pod, kind.plane), {})
        widths = (kind.down_gbps, fabric.uplinks(kind.group) * shape.uplink_gbps)
        cell[widths] = cell.get(widths, 0) + count
    spine_up = shape.spines * shape.spine_uplinks * shape.core_link_gbps
    cells = {at: Cell(found, spine_up) for at, found in sorted(tors.items())}
    return Capacity(cells, fabric.counts()["units"], len({pod for pod, _ in cells}))


def evenly_hashed(links: Sequence[int]) -> int:
    """Return the traffic, in links, that passes if it is hashed evenly over next hops with a link.

    ECMP gives every next hop that announces a route the same share, however many links are left behind it; so the
    narrowest one sets what all can carry without loss.
    """
    left = [count for count in links if count]
    return min(left) * len(left) if left else 0
