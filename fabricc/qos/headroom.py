"""Headroom of one lossless priority group: from the platform's table, or by the Spectrum formula.

Headroom absorbs what still arrives after a pause frame was sent: a frame being sent at either end, the bits on the
cable both ways, the peer's reaction time and the pipelines. Published figures for 400G at 40 m lie between 77,824
and 1,495,040 bytes, so it is platform data and never one constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from fabricc.fabric.model import Headroom

if TYPE_CHECKING:
    from fabricc.catalog.model import Buffers, HeadroomRow, SpectrumFigures

SIGNAL_SPEED_M_PER_S = 198_000_000
"""Propagation speed in a cable that the published Spectrum tables are computed with: 5.05 ns/m."""

TABLE_MTU_BYTES = 9216
"""Port MTU that the published tables are computed with (every Spectrum table reproduces with it)."""

QUANTUM_BYTES = 64
"""One pause quantum: 512 bit times (IEEE 802.3 annex 31B)."""

_PAUSE_QUANTA = {1: 2, 10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}
_KIB = 1024
_SMALLEST_FRAME_BYTES = 64
_CONSTANT_PEER_KIB = Fraction("3.8")
_DEFAULT_DYNAMIC_TH = 0


@dataclass(frozen=True, slots=True)
class FormulaVersion:
    """One of the ways in which the Spectrum formula has been computed over the years.

    Attributes:
        whole_cells: the worst-case cell factor is rounded up to a whole number.
        quanta: the peer's reaction is the IEEE pause quanta of the speed; else a constant 3.8 KiB.
        tile: the ASIC's tile crossing counts, where it has one.
        share_by_count: small packets are a share of the packets; else that share is turned into one of the bytes.
    """

    name: str
    whole_cells: bool
    quanta: bool
    tile: bool
    share_by_count: bool


CONSTANT_PEER = FormulaVersion("constant-peer", False, False, False, True)
"""Reproduces the shipped tables of SN2700 (15 of 15 rows), SN3700 (18 of 18) and SN4700 (21 of 21)."""

PACKET_SHARE = FormulaVersion("packet-share", False, True, True, True)
"""Reproduces SN5600-V256 (24 of 24 rows; lossless MTU 4096, 50 % small packets)."""

BYTE_SHARE = FormulaVersion("byte-share", True, True, True, False)
"""The present buffer_headroom_mellanox.lua; reproduces SN5600 (24 of 24) and SN5640-C512S2 (36 of 36)."""


@dataclass(frozen=True, slots=True)
class SpectrumHeadroom:
    """The formula's result and every step to it, bytes unless said otherwise.

    Attributes:
        peer_quanta: the peer's reaction in pause quanta; None where a constant stands for it.
        cell_factor: buffer bytes that a stream of smallest frames takes per byte, at worst.
        occupancy: the same for the assumed mix of frames.
        xoff_exact: before rounding up to a KiB.
    """

    version: FormulaVersion
    mtu_bytes: int
    cable_bytes: Fraction
    mac_phy_bytes: Fraction
    peer_quanta: int | None
    peer_bytes: Fraction
    tile_bytes: Fraction
    cell_factor: Fraction
    occupancy: Fraction
    lossless_mtu_bytes: int
    xoff_exact: Fraction
    xoff_bytes: int
    xon_bytes: int
    size_bytes: int


def pause_quanta(speed_gbps: int) -> int | None:
    """Pause quanta in which a port of this speed must obey a pause frame (IEEE 802.3 clause 31B.3.7).

    Figures as in sonic-swss buffer_headroom_mellanox.lua; None for a speed without one.
    """
    return _PAUSE_QUANTA.get(speed_gbps)


def cable_bytes(speed_gbps: int, cable_m: int) -> Fraction:
    """Bytes on a cable of this length, there and back, at 198,000 km/s."""
    return Fraction(2 * cable_m * speed_gbps * 10**9, SIGNAL_SPEED_M_PER_S * 8)


def cell_factor(cell_bytes: int, version: FormulaVersion = BYTE_SHARE) -> Fraction:
    """Buffer bytes taken per byte received when every frame wastes as much of its last cell as it can.

    Cells above 128 bytes: a 64-byte frame fills one cell. Smaller cells: frames of one byte more than a cell.
    """
    if cell_bytes > 2 * _SMALLEST_FRAME_BYTES:
        factor = Fraction(cell_bytes, _SMALLEST_FRAME_BYTES)
    else:
        factor = Fraction(2 * cell_bytes, 1 + cell_bytes)
    return Fraction(ceil(factor)) if version.whole_cells else factor


def small_packet_share(small_percent: int, lossless_mtu_bytes: int, version: FormulaVersion) -> Fraction:
    """The percentage that the cell factor applies to, for `small_percent` smallest frames among full ones."""
    if version.share_by_count or small_percent == 0:
        return Fraction(small_percent)
    total = small_percent * _SMALLEST_FRAME_BYTES + (100 - small_percent) * lossless_mtu_bytes
    return Fraction(100 * _SMALLEST_FRAME_BYTES * 100, total)


def spectrum_headroom_bytes(
    figures: SpectrumFigures,
    speed_gbps: int,
    cable_m: int,
    mtu_bytes: int = TABLE_MTU_BYTES,
    *,
    lanes: int = 4,
    shared_pool: bool = False,
    version: FormulaVersion = BYTE_SHARE,
) -> SpectrumHeadroom:
    """Headroom by the Spectrum formula (sonic-swss cfgmgr/buffer_headroom_mellanox.lua), without a gearbox.

    `xoff = ceil_KiB(lossless MTU + (MTU + cable + MAC/PHY + peer + tile) * occupancy)`. An 8-lane port doubles
    xon and adds one MTU to the size; with a shared headroom pool the size is xon alone.

    Raises:
        ValueError: the version needs pause quanta and none are known for the speed.
    """
    quanta = pause_quanta(speed_gbps) if version.quanta else None
    if version.quanta and quanta is None:
        raise ValueError(f"no pause response time is known for {speed_gbps} Gb/s")
    peer = Fraction(quanta * QUANTUM_BYTES) if quanta is not None else _CONSTANT_PEER_KIB * _KIB
    cable = cable_bytes(speed_gbps, cable_m)
    mac_phy = Fraction(str(figures.mac_phy_delay_kb)) * _KIB
    tile = Fraction(speed_gbps * 120, 8) if figures.tile and version.tile else Fraction(0)
    factor = cell_factor(figures.cell_bytes, version)
    share = small_packet_share(figures.small_packet_percent, figures.lossless_mtu_bytes, version)
    occupancy = (100 - share + share * factor) / 100
    exact = figures.lossless_mtu_bytes + (mtu_bytes + cable + mac_phy + peer + tile) * occupancy
    xoff = _up_to_kib(exact)
    xon = xon_bytes(figures, lanes)
    size = xon if shared_pool else _up_to_kib(Fraction(xoff + xon + (mtu_bytes if lanes >= 8 else 0)))
    return SpectrumHeadroom(
        version=version,
        mtu_bytes=mtu_bytes,
        cable_bytes=cable,
        mac_phy_bytes=mac_phy,
        peer_quanta=quanta,
        peer_bytes=peer,
        tile_bytes=tile,
        cell_factor=factor,
        occupancy=occupancy,
        lossless_mtu_bytes=figures.lossless_mtu_bytes,
        xoff_exact=exact,
        xoff_bytes=xoff,
        xon_bytes=xon,
        size_bytes=size,
    )


def xon_bytes(figures: SpectrumFigures, lanes: int) -> int:
    """What the ASIC's pipeline holds, twice that for an 8-lane port: xon, and the reserve of a lossy group."""
    return _up_to_kib(Fraction(figures.pipeline_latency_kb * _KIB)) * (2 if lanes >= 8 else 1)


def headroom(buffers: Buffers, speed_gbps: int, cable_m: int, mtu: int, *, lanes: int = 4) -> Headroom | None:
    """Headroom of a priority group on a port: the table's row, else the formula, else None.

    The row is that of the exact speed and the shortest listed length not below the cable's. The formula serves
    speeds and lengths that the table lacks, on ASICs that have one.

    Args:
        buffers: the platform's figures.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu: port MTU in bytes; used by the formula, while rows hold for `TABLE_MTU_BYTES` at most.
        lanes: SerDes lanes of the port; used by the formula.
    """
    rows = [row for row in buffers.rows if row.speed_gbps == speed_gbps]
    if fitting := [row for row in rows if row.cable_m >= cable_m]:
        row = min(fitting, key=lambda r: r.cable_m)
        return Headroom(
            cable_m=row.cable_m,
            size_bytes=row.size_bytes,
            xon_bytes=row.xon_bytes,
            xoff_bytes=row.xoff_bytes,
            xon_offset_bytes=row.xon_offset_bytes,
            dynamic_th=row.dynamic_th,
            source=f"table, {row.speed_gbps}G {row.cable_m} m",
        )
    if buffers.formula is None or pause_quanta(speed_gbps) is None:
        return None
    result = spectrum_headroom_bytes(
        buffers.formula, speed_gbps, cable_m, mtu, lanes=lanes, shared_pool=buffers.pools.headroom_bytes > 0
    )
    return Headroom(
        cable_m=cable_m,
        size_bytes=result.size_bytes,
        xon_bytes=result.xon_bytes,
        xoff_bytes=result.xoff_bytes,
        xon_offset_bytes=None,
        dynamic_th=_dynamic_th(rows or list(buffers.rows)),
        source=f"Spectrum formula {result.version.name} (buffer_headroom_mellanox.lua)",
    )


def longest_listed_m(buffers: Buffers, speed_gbps: int) -> int | None:
    """The longest cable that the table lists for a speed; None when it lists none."""
    return max((row.cable_m for row in buffers.rows if row.speed_gbps == speed_gbps), default=None)


def _dynamic_th(rows: list[HeadroomRow]) -> int:
    """The exponent of the platform's longest row; 0 as SONiC's Spectrum template has it when there is no table."""
    return max(rows, key=lambda r: r.cable_m).dynamic_th if rows else _DEFAULT_DYNAMIC_TH


def _up_to_kib(value: Fraction) -> int:
    return ceil(value / _KIB) * _KIB
