"""Headroom of one lossless priority group: from the platform's table, or by the formula of its ASIC.

Headroom absorbs what still arrives after a pause frame was sent: a frame being sent at either end, the bits on the
cable both ways, the peer's reaction time and the pipelines. Published figures for 400G at 40 m lie between 77,824
and 1,495,040 bytes, so it is platform data and never one constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.catalog.model import SpectrumFigures, TofinoFigures
from fabricc.fabric.qos import Headroom
from fabricc.front.qos.annex import annex_headroom
from fabricc.front.qos.floor import floor_bytes
from fabricc.front.qos.spectrum import spectrum_headroom
from fabricc.front.qos.tofino import tofino_headroom
from fabricc.front.qos.wire import pause_quanta

if TYPE_CHECKING:
    from fabricc.catalog.model import Buffers, Formula, HeadroomRow
    from fabricc.front.qos.computed import Computed

_SPECTRUM_DYNAMIC_TH = 0
"""Of a Spectrum without a table: `default_dynamic_th` in SONiC's template for Spectrum."""


def compute_headroom(
    formula: Formula, speed_gbps: int, cable_m: int, mtu: int, *, lanes: int = 4, shared_pool: bool = False
) -> Computed | None:
    """Headroom by the formula of an ASIC; None for a speed that the formula does not know.

    Args:
        formula: the ASIC's figures; their kind is the family of the formula.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu: port MTU in bytes.
        lanes: SerDes lanes of the port.
        shared_pool: whether headroom comes out of a pool that all groups share.
    """
    if isinstance(formula, TofinoFigures):
        return tofino_headroom(formula, speed_gbps, cable_m, mtu)
    if pause_quanta(speed_gbps) is None:
        return None
    if isinstance(formula, SpectrumFigures):
        return spectrum_headroom(formula, speed_gbps, cable_m, mtu, lanes=lanes, shared_pool=shared_pool)
    return annex_headroom(formula, speed_gbps, cable_m, mtu)


def find_headroom(
    buffers: Buffers,
    speed_gbps: int,
    cable_m: int,
    mtu: int,
    *,
    lanes: int = 4,
    shared_pool: bool | None = None,
) -> Headroom | None:
    """Headroom of a priority group on a port: the table's row, else the formula, else None.

    The row is that of the exact speed and the shortest listed length not below the cable's. The formula serves
    speeds and lengths that the table lacks, on ASICs that have one, and rows that lie below the physical floor. On a
    Spectrum with a shared headroom pool the
    size is xon alone, also where the row has xoff in it.

    Args:
        buffers: the platform's figures.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu: port MTU in bytes; used by the formula, while rows hold for the tables' own MTU at most.
        lanes: SerDes lanes of the port; used by the formula.
        shared_pool: whether headroom comes out of a shared pool; None takes the platform's own way.
    """
    shared = buffers.pools.headroom_bytes > 0 if shared_pool is None else shared_pool
    rows = [row for row in buffers.rows if row.speed_gbps == speed_gbps]
    row = listed_row(buffers, speed_gbps, cable_m)
    lost = row is not None and row.xoff_bytes < floor_bytes(speed_gbps, row.cable_m, mtu)
    if row is not None and not (lost and buffers.formula):
        sized_by_xon = shared and isinstance(buffers.formula, SpectrumFigures)
        return Headroom(
            cable_m=row.cable_m,
            size_bytes=row.xon_bytes if sized_by_xon else row.size_bytes,
            xon_bytes=row.xon_bytes,
            xoff_bytes=row.xoff_bytes,
            xon_offset_bytes=row.xon_offset_bytes,
            dynamic_th=row.dynamic_th,
            source=f"table, {row.speed_gbps}G {row.cable_m} m",
        )
    if buffers.formula is None:
        return None
    length = row.cable_m if row is not None else cable_m
    result = compute_headroom(buffers.formula, speed_gbps, length, mtu, lanes=lanes, shared_pool=shared)
    if result is None:
        return None
    return Headroom(
        cable_m=length,
        size_bytes=result.size_bytes,
        xon_bytes=result.xon_bytes,
        xoff_bytes=result.xoff_bytes,
        xon_offset_bytes=None,
        dynamic_th=_dynamic_th(buffers.formula, rows or list(buffers.rows)),
        source=result.name,
    )


def listed_row(buffers: Buffers, speed_gbps: int, cable_m: int) -> HeadroomRow | None:
    """The row of the exact speed and the shortest listed length not below the cable's; None without one."""
    fitting = (row for row in buffers.rows if row.speed_gbps == speed_gbps and row.cable_m >= cable_m)
    return min(fitting, key=lambda row: row.cable_m, default=None)


def longest_listed_m(buffers: Buffers, speed_gbps: int) -> int | None:
    """The longest cable that the table lists for a speed; None when it lists none."""
    return max((row.cable_m for row in buffers.rows if row.speed_gbps == speed_gbps), default=None)


def _dynamic_th(formula: Formula, rows: list[HeadroomRow]) -> int:
    """Alpha is the platform's: of its longest row, else stated with the formula, else of SONiC's Spectrum template."""
    if rows:
        return max(rows, key=lambda r: r.cable_m).dynamic_th
    return _SPECTRUM_DYNAMIC_TH if isinstance(formula, SpectrumFigures) else formula.dynamic_th
