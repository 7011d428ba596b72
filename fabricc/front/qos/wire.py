"""Costs of a cable, a pause frame and a buffer cell, and the physical floor of headroom that they set.

A port that runs out of its share sends a pause frame and goes on receiving until the pause has worked. Each term of
the floor is the least that any pair of ports has: no interface delay, no buffer cell that is filled in part.
Worst-case headroom by IEEE 802.1Q is for switches without a published table or formula.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.catalog.model import AnnexFigures, HeadroomRow


class Step(NamedTuple):
    """One intermediate result; `source` is the rule, or the origin of the figure."""

    label: str
    value: Fraction | int
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Computed:
    """Headroom by a formula, bytes.

    Attributes:
        name: family and version, for the worksheet.
        steps: the terms in the order of the formula.
        xoff_exact: before rounding.
    """

    name: str
    steps: tuple[Step, ...]
    xoff_exact: Fraction
    xoff_bytes: int
    xon_bytes: int
    size_bytes: int

    def step(self, label: str) -> Fraction | int:
        """Return the value of a step.

        Raises:
            KeyError: the formula has no such step.
        """
        for found in self.steps:
            if found.label == label:
                return found.value
        raise KeyError(label)


WIDEST_STEP = Fraction(13, 10)
"""Allowed deviation of a figure from its neighbor, or from its sibling in another table."""


def floor_steps(speed_gbps: int, cable_m: int, mtu_bytes: int) -> tuple[Step, ...]:
    """Return the terms of the floor, bytes.

    Args:
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu_bytes: port MTU; the largest frame that either end may just have begun.
    """
    answer = ceil(response_quanta(speed_gbps) * QUANTUM_BYTES)
    return (
        Step("answer of the peer", answer, "B", "IEEE 802.3 31B.3.7, quanta * 512 bit"),
        Step("frame begun here", mtu_bytes, "B", "one MTU, before the pause frame can leave"),
        Step("frame begun there", mtu_bytes, "B", "one MTU, which the peer finishes"),
        Step("cable", cable_bytes(speed_gbps, cable_m), "B", "both ways, 198,000 km/s"),
        Step("pause frame", PFC_FRAME_BYTES, "B", "its own time on the wire"),
    )


def floor_bytes(speed_gbps: int, cable_m: int, mtu_bytes: int) -> int:
    """Return the least headroom that loses nothing, up to a byte; see `floor_steps`."""
    return ceil(sum(step.value for step in floor_steps(speed_gbps, cable_m, mtu_bytes)))


def is_steep(row: HeadroomRow, other: HeadroomRow, cell_bytes: int) -> bool:
    """Return whether the cable's length cannot explain how two published rows of one speed differ.

    A byte more on the cable takes one byte of buffer at least and, in cells, the worst cell factor at most. The longer
    cable's figure is a step where it is more than `WIDEST_STEP` outside that range; of one length, the figures of two
    tables where they differ by that much.
    """
    near, far = sorted((row, other), key=lambda r: (r.cable_m, r.xoff_bytes))
    more = cable_bytes(far.speed_gbps, far.cable_m) - cable_bytes(near.speed_gbps, near.cable_m)
    least, most = near.xoff_bytes + more, near.xoff_bytes + more * cell_factor(cell_bytes)
    return not least <= far.xoff_bytes * WIDEST_STEP or far.xoff_bytes > most * WIDEST_STEP


def adjacent_rows(row: HeadroomRow, rows: Sequence[HeadroomRow]) -> list[HeadroomRow]:
    """Return the rows of the same speed for the next shorter and the next longer cable."""
    same = [r for r in rows if r.speed_gbps == row.speed_gbps]
    shorter = max((r for r in same if r.cable_m < row.cable_m), key=lambda r: r.cable_m, default=None)
    longer = min((r for r in same if r.cable_m > row.cable_m), key=lambda r: r.cable_m, default=None)
    return [r for r in (shorter, longer) if r is not None]


FRAME_OVERHEAD_BYTES = 42
"""Around an MTU: tagged header 18, FCS 4, preamble 8, gap 12 (IEEE 802.3 clauses 3 and 4)."""

PFC_FRAME_BYTES = 64 + 20
"""A pause frame is of the smallest size; preamble and gap come on top."""


def annex_headroom(figures: AnnexFigures, speed_gbps: int, cable_m: int, mtu_bytes: int) -> Computed:
    """Headroom by the delay value of the PFC annex, every byte in the cells it takes at worst.

    `DV = 2 max frames + PFC frame + 2 cable + interface delays of both ends, both ways + response of the peer`:
    a frame has just begun at either end, the pause crosses, and what is on the cable arrives. The response is that
    of IEEE 802.3 31B.3.7. The terms follow the PFC annex of IEEE 802.1Q (first in 802.1Qbb) from second-hand
    accounts, so they are assumed; the annex gives no interface delay, the catalog does.

    Raises:
        ValueError: no pause response time is known for the speed.
    """
    quanta = pause_quanta(speed_gbps)
    if quanta is None:
        raise ValueError(f"no pause response time is known for {speed_gbps} Gb/s")
    frames = 2 * (mtu_bytes + FRAME_OVERHEAD_BYTES)
    cable = cable_bytes(speed_gbps, cable_m)
    delay_ns = figures.interface_delay_ns
    interfaces = 4 * bytes_in(speed_gbps, delay_ns)
    response = quanta * QUANTUM_BYTES
    factor = cell_factor(figures.cell_bytes)
    exact = (frames + PFC_FRAME_BYTES + cable + interfaces + response) * factor
    xoff = up_to_cell(exact, figures.cell_bytes)
    steps = (
        Step("two frames", frames, "B", f"2 * (MTU + {FRAME_OVERHEAD_BYTES}), one begun at either end"),
        Step("PFC frame", PFC_FRAME_BYTES, "B", "smallest frame, preamble and gap"),
        Step("cable", cable, "B", "both ways, 198,000 km/s"),
        Step("interfaces", interfaces, "B", f"send and receive at both ends, {delay_ns} ns each"),
        Step("peer", response, "B", "quanta * 512 bit"),
        Step("worst cell factor", factor, "", f"cell of {figures.cell_bytes} B / 64 B"),
    )
    size = xoff + figures.xon_bytes
    return Computed(f"IEEE 802.1Q worst case {figures.version}", steps, exact, xoff, figures.xon_bytes, size)


SIGNAL_SPEED_M_PER_S = 198_000_000
"""Propagation speed in a cable that the published Spectrum tables are computed with: 5.05 ns/m."""

QUANTUM_BYTES = 64
"""One pause quantum: 512 bit times (IEEE 802.3 annex 31B)."""

SMALLEST_FRAME_BYTES = 64
KIB = 1024

_PAUSE_QUANTA = {1: 2, 10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}


def pause_quanta(speed_gbps: int) -> int | None:
    """Pause quanta in which a port of this speed must obey a pause frame (IEEE 802.3 clause 31B.3.7).

    Figures as in sonic-swss buffer_headroom_mellanox.lua; None for a speed without one.
    """
    return _PAUSE_QUANTA.get(speed_gbps)


def response_quanta(speed_gbps: int) -> Fraction:
    """Pause quanta in which a port of any speed must obey: of a speed without one, the time of the next slower speed.

    The standard's times do not grow with speed from 100G on, so the next slower one never undercuts it by more than
    the step between them. Below the slowest the time of that one counts.
    """
    known = max((s for s in _PAUSE_QUANTA if s <= speed_gbps), default=min(_PAUSE_QUANTA))
    return Fraction(_PAUSE_QUANTA[known] * speed_gbps, known)


def cable_bytes(speed_gbps: int, cable_m: int) -> Fraction:
    """Return bytes on a cable of this length, there and back, at 198,000 km/s."""
    return Fraction(2 * cable_m * speed_gbps * 10**9, SIGNAL_SPEED_M_PER_S * 8)


def bytes_in(speed_gbps: int, time_ns: int) -> Fraction:
    """Return the bytes that a port of this speed sends in a time: Gb/s times ns are bits."""
    return Fraction(speed_gbps * time_ns, 8)


def cell_factor(cell_bytes: int, *, whole_cells: bool = True) -> Fraction:
    """Buffer bytes taken per byte received when every frame wastes as much of its last cell as it can.

    Cells above 128 bytes: a 64-byte frame fills one cell. Smaller cells: frames of one byte more than a cell.
    """
    if cell_bytes > 2 * SMALLEST_FRAME_BYTES:
        factor = Fraction(cell_bytes, SMALLEST_FRAME_BYTES)
    else:
        factor = Fraction(2 * cell_bytes, 1 + cell_bytes)
    return Fraction(ceil(factor)) if whole_cells else factor


def up_to_kib(value: Fraction | int) -> int:
    """Return the next whole KiB, in bytes."""
    return ceil(Fraction(value) / KIB) * KIB


def up_to_cell(value: Fraction | int, cell_bytes: int) -> int:
    """Return the next whole cell, in bytes."""
    return ceil(Fraction(value) / cell_bytes) * cell_bytes


def down_to_cell(value: int, cell_bytes: int) -> int:
    """Return the last whole cell, in bytes."""
    return value // cell_bytes * cell_bytes
