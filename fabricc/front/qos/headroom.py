"""Headroom of one lossless priority group: from the platform's table, or by the formula of its ASIC.

Headroom absorbs what still arrives after a pause frame was sent: a frame being sent at either end, the bits on the
cable both ways, the peer's reaction time and the pipelines. Published figures for 400G at 40 m lie between 77,824
and 1,495,040 bytes, so it is platform data and never one constant. The formulas are those of sonic-swss: Spectrum's
from cfgmgr/buffer_headroom_mellanox.lua in its versions, Tofino's from cfgmgr/buffer_headroom_barefoot.lua.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass, replace
from fabricc.catalog import model
from fabricc.fabric.qos import Headroom
from fabricc.front.qos import wire

if TYPE_CHECKING:
    from collections.abc import Sequence


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


CONSTANT_PEER = FormulaVersion("constant-peer", False, False, False, True, wire.KIB)
"""Reproduces the shipped tables of SN2700 (15 of 15 rows), SN3700 (18 of 18) and SN4700 (21 of 21)."""

PACKET_SHARE = FormulaVersion("packet-share", False, True, True, True, wire.KIB)
"""Reproduces xoff of SN5600-V256 (24 of 24 rows; lossless MTU 4096, 50 % small packets)."""

BYTE_SHARE = FormulaVersion("byte-share", True, True, True, False, 0)
"""buffer_headroom_mellanox.lua of the branches 202411 to 202511; reproduces SN5600 (24 of 24), SN5640-C512S2 (36 of
36) and, with 1,810 quanta at 800G, the SN6600 and SN6810 (14 of 14)."""

COMPENSATED = FormulaVersion("compensated", True, True, True, False, 0, compensated=True)
"""The same file in the branch 202605 and on master (sonic-swss pull requests 4757 and 4797)."""

REDUCED_COMPENSATION_BYTES = 2 * wire.KIB
"""Addition of `COMPENSATED` if the share of small packets is less than all."""

VERSIONS = {version.name: version for version in (CONSTANT_PEER, PACKET_SHARE, BYTE_SHARE, COMPENSATED)}


def small_packet_share(small_percent: int, lossless_mtu_bytes: int, version: FormulaVersion) -> Fraction:
    """Return the percentage that the cell factor applies to, for `small_percent` smallest frames among full ones."""
    if version.share_by_count or small_percent == 0:
        return Fraction(small_percent)
    total = small_percent * wire.SMALLEST_FRAME_BYTES + (100 - small_percent) * lossless_mtu_bytes
    return Fraction(100 * wire.SMALLEST_FRAME_BYTES * 100, total)


def spectrum_headroom(
    figures: model.SpectrumFigures,
    speed_gbps: int,
    cable_m: int,
    mtu_bytes: int = model.TABLE_MTU_BYTES,
    *,
    lanes: int = 4,
    shared_pool: bool = False,
    version: FormulaVersion | None = None,
) -> wire.Computed:
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
    known = figures.quanta_800g if speed_gbps == FASTEST_GBPS else wire.pause_quanta(speed_gbps)
    quanta = known if version.quanta else None
    if version.quanta and quanta is None:
        raise ValueError(f"no pause response time is known for {speed_gbps} Gb/s")
    peer = Fraction(quanta * wire.QUANTUM_BYTES) if quanta is not None else CONSTANT_PEER_KIB * wire.KIB
    cable = wire.cable_bytes(speed_gbps, cable_m)
    mac_phy = Fraction(str(figures.mac_phy_delay_kb)) * wire.KIB
    tile = wire.bytes_in(speed_gbps, TILE_NS) if figures.tile and version.tile else Fraction(0)
    factor = wire.cell_factor(figures.cell_bytes, whole_cells=version.whole_cells)
    share = small_packet_share(figures.small_packet_percent, figures.lossless_mtu_bytes, version)
    occupancy = (100 - share + share * factor) / 100
    delayed = mtu_bytes + cable + mac_phy + peer + tile
    exact = figures.lossless_mtu_bytes + delayed * occupancy
    xoff = wire.up_to_kib(exact)
    if version.compensated:
        xoff += figures.compensation_kb * wire.KIB
        worst = wire.up_to_kib(figures.lossless_mtu_bytes + delayed * factor)
        reduced = not shared_pool and figures.small_packet_percent != 100
        if reduced and xoff + REDUCED_COMPENSATION_BYTES < worst:
            xoff += REDUCED_COMPENSATION_BYTES
    xon = spectrum_xon_bytes(figures, lanes, version)
    size = xon if shared_pool else private_size_bytes(xon, xoff, lanes, mtu_bytes)
    steps = (
        wire.Step("lossless packet", figures.lossless_mtu_bytes, "B", "catalog"),
        wire.Step("MTU", mtu_bytes, "B", "a frame that is being sent when the pause is due"),
        wire.Step("cable", cable, "B", "both ways, 198,000 km/s"),
        wire.Step("MAC and PHY", mac_phy, "B", _ASIC),
        wire.Step("peer", peer, "B", "quanta * 512 bit" if quanta is not None else "3.8 KiB at any speed"),
        wire.Step("tile", tile, "B", f"speed * {TILE_NS} ns" if tile else "none in this ASIC or version"),
        wire.Step("worst cell factor", factor, "", f"cell of {figures.cell_bytes} B / 64 B"),
        wire.Step("small packets", share, "%", "of packets" if version.share_by_count else "of bytes"),
        wire.Step("occupancy", occupancy, "", "cell factor by share of small packets"),
    )
    return wire.Computed(f"Spectrum formula {version.name}", steps, exact, xoff, xon, size)


def private_size_bytes(xon_bytes: int, xoff_bytes: int, lanes: int, mtu_bytes: int) -> int:
    """Return the size of a group with private headroom in KiB: xon, xoff, an MTU on 8 lanes."""
    return wire.up_to_kib(xoff_bytes + xon_bytes + (mtu_bytes if lanes >= 8 else 0))


def spectrum_xon_bytes(
    figures: model.SpectrumFigures, lanes: int, version: FormulaVersion = BYTE_SHARE
) -> int:
    """Return what the ASIC's pipeline holds, twice that for an 8-lane port: xon, and the reserve of a lossy group."""
    whole = wire.up_to_kib(figures.pipeline_latency_kb * wire.KIB)
    return 2 * whole - version.eight_lanes_less if lanes >= 8 else whole


_SPECTRUM_DYNAMIC_TH = 0
"""Of a Spectrum without a table: `default_dynamic_th` in SONiC's template for Spectrum."""


def compute_headroom(
    formula: model.Formula,
    speed_gbps: int,
    cable_m: int,
    mtu: int,
    *,
    lanes: int = 4,
    shared_pool: bool = False,
) -> wire.Computed | None:
    """Headroom by the formula of an ASIC; None for a speed that the formula does not know.

    Args:
        formula: the ASIC's figures; their kind is the family of the formula.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu: port MTU in bytes.
        lanes: SerDes lanes of the port.
        shared_pool: whether headroom comes out of a pool that all groups share.
    """
    if isinstance(formula, model.TofinoFigures):
        return tofino_headroom(formula, speed_gbps, cable_m, mtu)
    if wire.pause_quanta(speed_gbps) is None:
        return None
    if isinstance(formula, model.SpectrumFigures):
        return spectrum_headroom(formula, speed_gbps, cable_m, mtu, lanes=lanes, shared_pool=shared_pool)
    return wire.annex_headroom(formula, speed_gbps, cable_m, mtu)


def find_headroom(
    buffers: model.Buffers,
    speed_gbps: int,
    cable_m: int,
    mtu: int,
    *,
    lanes: int = 4,
    shared_pool: bool | None = None,
) -> Headroom | None:
    """Headroom of a priority group on a port: the table's row, else the formula, else None.

    The row is that of the exact speed and the shortest listed length not below the cable's. The formula serves
    speeds and lengths that the table lacks, on ASICs that have one. It also serves a row where the table has a figure
    for the same speed, up to that length, that lies below the physical floor or decreases with the length. The largest
    figure up to the length counts, so headroom never decreases with it. On a Spectrum with a shared headroom pool the
    size is xon alone, also where the row has xoff in it; without such a pool the size includes xoff, also where the row
    is for a shared pool.

    Args:
        buffers: the platform's figures.
        speed_gbps: speed of the port.
        cable_m: length of the cable in metres.
        mtu: port MTU in bytes; used by the formula, while rows hold for the tables' own MTU at most.
        lanes: SerDes lanes of the port; used by the formula.
        shared_pool: whether headroom comes out of a shared pool; None takes the platform's own way.
    """
    port = _Port(
        speed_gbps, mtu, lanes, buffers.pools.headroom_bytes > 0 if shared_pool is None else shared_pool
    )
    row = listed_row(buffers, speed_gbps, cable_m)
    length = row.cable_m if row else cable_m
    shorter = [each for each in buffers.rows if each.speed_gbps == speed_gbps and each.cable_m <= length]
    found = [_headroom_of_row(buffers, port, each) for each in shorter]
    if row is None or any(_below_floor(each, mtu) for each in shorter) or _decreases(shorter):
        computed = _headroom_by_formula(buffers, port, length)
        if computed is None and row is None:
            return None
        found += [computed] if computed else []
    return replace(max(found, key=_order), cable_m=length)


def _order(figures: Headroom) -> tuple[int, int]:
    """Order by headroom, and by length where it is equal: the longest row stands for shorter ones."""
    return figures.xoff_bytes, figures.cable_m


def _below_floor(row: model.HeadroomRow, mtu: int) -> bool:
    return row.xoff_bytes < wire.floor_bytes(row.speed_gbps, row.cable_m, mtu)


def _decreases(rows: Sequence[model.HeadroomRow]) -> bool:
    """Return whether a longer cable has less headroom than a shorter one."""
    xoff = [row.xoff_bytes for row in sorted(rows, key=lambda each: each.cable_m)]
    return xoff != sorted(xoff)


class _Port(NamedTuple):
    """Inputs of the headroom of a port in addition to its cable; see `find_headroom`."""

    speed_gbps: int
    mtu: int
    lanes: int
    shared_pool: bool


def _headroom_of_row(buffers: model.Buffers, port: _Port, row: model.HeadroomRow) -> Headroom:
    size = row.size_bytes
    if isinstance(buffers.formula, model.SpectrumFigures):
        if port.shared_pool:
            size = row.xon_bytes
        elif row.size_bytes == row.xon_bytes:
            size = private_size_bytes(row.xon_bytes, row.xoff_bytes, port.lanes, port.mtu)
    return Headroom(
        cable_m=row.cable_m,
        size_bytes=size,
        xon_bytes=row.xon_bytes,
        xoff_bytes=row.xoff_bytes,
        xon_offset_bytes=row.xon_offset_bytes,
        dynamic_th=row.dynamic_th,
        source=f"table, {row.speed_gbps}G {row.cable_m} m",
    )


def _headroom_by_formula(buffers: model.Buffers, port: _Port, cable_m: int) -> Headroom | None:
    if buffers.formula is None:
        return None
    result = compute_headroom(
        buffers.formula, port.speed_gbps, cable_m, port.mtu, lanes=port.lanes, shared_pool=port.shared_pool
    )
    if result is None:
        return None
    rows = [row for row in buffers.rows if row.speed_gbps == port.speed_gbps]
    return Headroom(
        cable_m=cable_m,
        size_bytes=result.size_bytes,
        xon_bytes=result.xon_bytes,
        xoff_bytes=result.xoff_bytes,
        xon_offset_bytes=None,
        dynamic_th=_dynamic_th(buffers.formula, rows or list(buffers.rows)),
        source=result.name,
    )


def listed_row(buffers: model.Buffers, speed_gbps: int, cable_m: int) -> model.HeadroomRow | None:
    """Return the row of the exact speed and the shortest listed length not below the cable's; None without one."""
    fitting = (row for row in buffers.rows if row.speed_gbps == speed_gbps and row.cable_m >= cable_m)
    return min(fitting, key=lambda row: row.cable_m, default=None)


def longest_listed_m(buffers: model.Buffers, speed_gbps: int) -> int | None:
    """Return the longest cable that the table lists for a speed; None when it lists none."""
    return max((row.cable_m for row in buffers.rows if row.speed_gbps == speed_gbps), default=None)


def _dynamic_th(formula: model.Formula, rows: list[model.HeadroomRow]) -> int:
    """Alpha is the platform's: of its longest row, else stated with the formula, else of SONiC's Spectrum template."""
    if rows:
        return max(rows, key=lambda r: r.cable_m).dynamic_th
    return _SPECTRUM_DYNAMIC_TH if isinstance(formula, model.SpectrumFigures) else formula.dynamic_th


FASTEST_WITH_QUANTA = 400
"""Highest speed for which the formula has pause quanta; above, the ASIC's own response time counts."""

DOUBLED_GBPS = 400
"""At this speed the peer's response counts twice."""

_MIXED_UNITS = Fraction(1000, 1024)
"""The formula divides bits by 8 * 1024, not 8 * 1000: cable and gearbox come out 2.3 % short of the physics."""


def tofino_headroom(
    figures: model.TofinoFigures, speed_gbps: int, cable_m: int, mtu_bytes: int
) -> wire.Computed:
    """Headroom by the Tofino formula; the size is xon alone, as headroom always comes out of a shared pool.

    `xoff = ceil_KiB(lossless MTU + (MTU + cable + 2 gearboxes + MAC/PHY + peer) * occupancy)`, small packets
    counted by number and the cell factor not rounded. Figures of Tofino-2: cell 176 B, pipeline 68 KiB, MAC and
    PHY 0.8 KiB, response 9 KiB, gearbox 365 ns (sonic-buildimage platform/barefoot asic_table.j2 and
    peripheral_table.j2).
    """
    quanta = wire.pause_quanta(speed_gbps) if speed_gbps <= FASTEST_WITH_QUANTA else None
    peer = Fraction(
        quanta * wire.QUANTUM_BYTES if quanta is not None else figures.peer_response_kb * wire.KIB
    )
    if speed_gbps == DOUBLED_GBPS:
        peer *= 2
    cable = wire.cable_bytes(speed_gbps, cable_m) * _MIXED_UNITS
    gearboxes = 2 * Fraction(speed_gbps * 1000 * figures.gearbox_delay_ns, 8 * 1024)
    mac_phy = Fraction(str(figures.mac_phy_delay_kb)) * wire.KIB
    factor = wire.cell_factor(figures.cell_bytes, whole_cells=False)
    share = figures.small_packet_percent
    occupancy = (100 - share + share * factor) / 100
    exact = figures.lossless_mtu_bytes + (mtu_bytes + cable + gearboxes + mac_phy + peer) * occupancy
    xon = wire.up_to_kib(figures.pipeline_latency_kb * wire.KIB)
    steps = (
        wire.Step("lossless packet", figures.lossless_mtu_bytes, "B", "catalog"),
        wire.Step("MTU", mtu_bytes, "B", "a frame that is being sent when the pause is due"),
        wire.Step("cable", cable, "B", "both ways, 198,000 km/s, by the formula's 8 * 1024"),
        wire.Step(
            "gearboxes", gearboxes, "B", f"two of {figures.gearbox_delay_ns} ns, by the formula's 8 * 1024"
        ),
        wire.Step("MAC and PHY", mac_phy, "B", "ASIC table of the platform"),
        wire.Step(
            "peer", peer, "B", "quanta * 512 bit" if quanta is not None else "ASIC table of the platform"
        ),
        wire.Step("worst cell factor", factor, "", f"cell of {figures.cell_bytes} B / 64 B"),
        wire.Step("small packets", share, "%", "of packets"),
        wire.Step("occupancy", occupancy, "", "cell factor by share of small packets"),
    )
    return wire.Computed(f"Tofino formula {figures.version}", steps, exact, wire.up_to_kib(exact), xon, xon)


def headroom_source(switch: model.SwitchModel, speed_gbps: int, figures: Headroom) -> str:
    """Return the source of headroom: a table with the source of its row, or the formula."""
    path = f"buffers.rows.{speed_gbps}.{figures.cable_m}"
    cited = switch.sources.get(path if figures.source.startswith("table") else "buffers.formula")
    return f"{figures.source}: {cited}" if cited else figures.source
