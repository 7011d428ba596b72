"""Costs of a cable, a pause frame and a buffer cell, which all formulas share."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

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
