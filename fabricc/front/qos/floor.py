"""The physical floor of headroom: the data that arrives after a pause is due, with any equipment and whoever's table.

A port that runs out of its share sends a pause frame and goes on receiving until the pause has worked. Each term is
the least that any pair of ports has: no interface delay, no buffer cell that is filled in part.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from fabricc.front.qos.annex import PFC_FRAME_BYTES
from fabricc.front.qos.headroom_result import Step
from fabricc.front.qos.wire import QUANTUM_BYTES, cable_bytes, cell_factor, response_quanta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.catalog.model import HeadroomRow

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
