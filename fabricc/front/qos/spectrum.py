"""The Spectrum headroom formula in its versions (sonic-swss cfgmgr/buffer_headroom_mellanox.lua)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.front.qos.wire import (
    KIB,
    QUANTUM_BYTES,
    SMALLEST_FRAME_BYTES,
    Computed,
    Step,
    bytes_in,
    cable_bytes,
    cell_factor,
    pause_quanta,
    up_to_kib,
)

if TYPE_CHECKING:
    from fabricc.catalog.model import SpectrumFigures

TABLE_MTU_BYTES = 9216
"""Port MTU that the published tables are computed with (every Spectrum table reproduces with it)."""

TILE_NS = 120
"""Crossing of a tile at port speed, on Spectrum-4 and -5."""

FASTEST_GBPS = 800
"""The speed whose pause quanta differ between ASICs."""

CONSTANT_PEER_KIB = Fraction("3.8")

_ASIC = "ASIC table of the platform"


@dataclass(frozen=True, slots=True)
class FormulaVersion:
    """One of the ways in which the Spectrum formula has been computed over the years.

    Attributes:
        whole_cells: the worst-case cell factor is rounded up to a whole number.
        quanta: the peer's reaction is the IEEE pause quanta of the speed; else a constant 3.8 KiB.
        tile: the ASIC's tile crossing counts, where it has one.
        share_by_count: small packets are a share of the packets; else that share is turned into one of the bytes.
        eight_lanes_less: bytes that the xon of an 8-lane port is below twice the pipeline latency.
        compensated: adds what later versions add: the ASIC's own compensation, and 2 KiB where headroom is not shared,
            not all packets are small and the worst case would be more than that larger.
    """

    name: str
    whole_cells: bool
    quanta: bool
    tile: bool
    share_by_count: bool
    eight_lanes_less: int
    compensated: bool = False


CONSTANT_PEER = FormulaVersion("constant-peer", False, False, False, True, KIB)
"""Reproduces the shipped tables of SN2700 (15 of 15 rows), SN3700 (18 of 18) and SN4700 (21 of 21)."""

PACKET_SHARE = FormulaVersion("packet-share", False, True, True, True, KIB)
"""Reproduces xoff of SN5600-V256 (24 of 24 rows; lossless MTU 4096, 50 % small packets)."""

BYTE_SHARE = FormulaVersion("byte-share", True, True, True, False, 0)
"""buffer_headroom_mellanox.lua of the branches 202411 to 202511; reproduces SN5600 (24 of 24), SN5640-C512S2 (36 of
36) and, with 1,810 quanta at 800G, the SN6600 and SN6810 (14 of 14)."""

COMPENSATED = FormulaVersion("compensated", True, True, True, False, 0, compensated=True)
"""The same file in the branch 202605 and on master (sonic-swss pull requests 4757 and 4797)."""

REDUCED_COMPENSATION_BYTES = 2 * KIB
"""Addition of `COMPENSATED` if the share of small packets is less than all."""

VERSIONS = {version.name: version for version in (CONSTANT_PEER, PACKET_SHARE, BYTE_SHARE, COMPENSATED)}


def small_packet_share(small_percent: int, lossless_mtu_bytes: int, version: FormulaVersion) -> Fraction:
    """Return the percentage that the cell factor applies to, for `small_percent` smallest frames among full ones."""
    if version.share_by_count or small_percent == 0:
        return Fraction(small_percent)
    total = small_percent * SMALLEST_FRAME_BYTES + (100 - small_percent) * lossless_mtu_bytes
    return Fraction(100 * SMALLEST_FRAME_BYTES * 100, total)


def spectrum_headroom(
    figures: SpectrumFigures,
    speed_gbps: int,
    cable_m: int,
    mtu_bytes: int = TABLE_MTU_BYTES,
    *,
    lanes: int = 4,
    shared_pool: bool = False,
    version: FormulaVersion | None = None,
) -> Computed:
    """Headroom by the Spectrum formula, without a gearbox.

    `xoff = ceil_KiB(lossless MTU + (MTU + cable + MAC/PHY + peer + tile) * occupancy)`, and what the version
    `compensated` adds to it. An 8-lane port doubles xon and adds one MTU to the size; with a shared headroom pool the
    size is xon alone.

    Args:
        figures: the ASIC's figures; they name the version unless `version` does.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu_bytes: port MTU.
        lanes: SerDes lanes of the port.
        shared_pool: whether headroom comes out of a pool that all groups share.
        version: another version than that of the figures.

    Raises:
        ValueError: the version needs pause quanta and none are known for the speed.
    """
    version = version or VERSIONS[figures.version]
    known = figures.quanta_800g if speed_gbps == FASTEST_GBPS else pause_quanta(speed_gbps)
    quanta = known if version.quanta else None
    if version.quanta and quanta is None:
        raise ValueError(f"no pause response time is known for {speed_gbps} Gb/s")
    peer = Fraction(quanta * QUANTUM_BYTES) if quanta is not None else CONSTANT_PEER_KIB * KIB
    cable = cable_bytes(speed_gbps, cable_m)
    mac_phy = Fraction(str(figures.mac_phy_delay_kb)) * KIB
    tile = bytes_in(speed_gbps, TILE_NS) if figures.tile and version.tile else Fraction(0)
    factor = cell_factor(figures.cell_bytes, whole_cells=version.whole_cells)
    share = small_packet_share(figures.small_packet_percent, figures.lossless_mtu_bytes, version)
    occupancy = (100 - share + share * factor) / 100
    delayed = mtu_bytes + cable + mac_phy + peer + tile
    exact = figures.lossless_mtu_bytes + delayed * occupancy
    xoff = up_to_kib(exact)
    if version.compensated:
        xoff += figures.compensation_kb * KIB
        worst = up_to_kib(figures.lossless_mtu_bytes + delayed * factor)
        reduced = not shared_pool and figures.small_packet_percent != 100
        if reduced and xoff + REDUCED_COMPENSATION_BYTES < worst:
            xoff += REDUCED_COMPENSATION_BYTES
    xon = spectrum_xon_bytes(figures, lanes, version)
    size = xon if shared_pool else private_size_bytes(xon, xoff, lanes, mtu_bytes)
    steps = (
        Step("lossless packet", figures.lossless_mtu_bytes, "B", "catalog"),
        Step("MTU", mtu_bytes, "B", "a frame that is being sent when the pause is due"),
        Step("cable", cable, "B", "both ways, 198,000 km/s"),
        Step("MAC and PHY", mac_phy, "B", _ASIC),
        Step("peer", peer, "B", "quanta * 512 bit" if quanta is not None else "3.8 KiB at any speed"),
        Step("tile", tile, "B", f"speed * {TILE_NS} ns" if tile else "none in this ASIC or version"),
        Step("worst cell factor", factor, "", f"cell of {figures.cell_bytes} B / 64 B"),
        Step("small packets", share, "%", "of packets" if version.share_by_count else "of bytes"),
        Step("occupancy", occupancy, "", "cell factor by share of small packets"),
    )
    return Computed(f"Spectrum formula {version.name}", steps, exact, xoff, xon, size)


def private_size_bytes(xon_bytes: int, xoff_bytes: int, lanes: int, mtu_bytes: int) -> int:
    """Return the size of a group with private headroom in KiB: xon, xoff, an MTU on 8 lanes."""
    return up_to_kib(xoff_bytes + xon_bytes + (mtu_bytes if lanes >= 8 else 0))


def spectrum_xon_bytes(figures: SpectrumFigures, lanes: int, version: FormulaVersion = BYTE_SHARE) -> int:
    """Return what the ASIC's pipeline holds, twice that for an 8-lane port: xon, and the reserve of a lossy group."""
    whole = up_to_kib(figures.pipeline_latency_kb * KIB)
    return 2 * whole - version.eight_lanes_less if lanes >= 8 else whole
