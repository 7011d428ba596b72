"""The Tofino headroom formula (sonic-swss cfgmgr/buffer_headroom_barefoot.lua)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.front.qos.headroom_result import Computed, Step
from fabricc.front.qos.wire import KIB, QUANTUM_BYTES, cable_bytes, cell_factor, pause_quanta, up_to_kib

if TYPE_CHECKING:
    from fabricc.catalog.model import TofinoFigures

FASTEST_WITH_QUANTA = 400
"""The formula knows pause quanta up to this speed; above, the ASIC's own response time counts."""

DOUBLED_GBPS = 400
"""At this speed the peer's response counts twice."""

_MIXED_UNITS = Fraction(1000, 1024)
"""The formula divides bits by 8 * 1024, not 8 * 1000: cable and gearbox come out 2.3 % short of the physics."""


def tofino_headroom(figures: TofinoFigures, speed_gbps: int, cable_m: int, mtu_bytes: int) -> Computed:
    """Headroom by the Tofino formula; the size is xon alone, as headroom always comes out of a shared pool.

    `xoff = ceil_KiB(lossless MTU + (MTU + cable + 2 gearboxes + MAC/PHY + peer) * occupancy)`, small packets
    counted by number and the cell factor not rounded. Figures of Tofino-2: cell 176 B, pipeline 68 KiB, MAC and
    PHY 0.8 KiB, response 9 KiB, gearbox 365 ns (sonic-buildimage platform/barefoot asic_table.j2 and
    peripheral_table.j2).
    """
    quanta = pause_quanta(speed_gbps) if speed_gbps <= FASTEST_WITH_QUANTA else None
    peer = Fraction(quanta * QUANTUM_BYTES if quanta is not None else figures.peer_response_kb * KIB)
    if speed_gbps == DOUBLED_GBPS:
        peer *= 2
    cable = cable_bytes(speed_gbps, cable_m) * _MIXED_UNITS
    gearboxes = 2 * Fraction(speed_gbps * 1000 * figures.gearbox_delay_ns, 8 * 1024)
    mac_phy = Fraction(str(figures.mac_phy_delay_kb)) * KIB
    factor = cell_factor(figures.cell_bytes, whole_cells=False)
    share = figures.small_packet_percent
    occupancy = (100 - share + share * factor) / 100
    exact = figures.lossless_mtu_bytes + (mtu_bytes + cable + gearboxes + mac_phy + peer) * occupancy
    xon = up_to_kib(figures.pipeline_latency_kb * KIB)
    steps = (
        Step("lossless packet", figures.lossless_mtu_bytes, "B", "catalog"),
        Step("MTU", mtu_bytes, "B", "a frame that is being sent when the pause is due"),
        Step("cable", cable, "B", "both ways, 198,000 km/s, by the formula's 8 * 1024"),
        Step("gearboxes", gearboxes, "B", f"two of {figures.gearbox_delay_ns} ns, by the formula's 8 * 1024"),
        Step("MAC and PHY", mac_phy, "B", "ASIC table of the platform"),
        Step("peer", peer, "B", "quanta * 512 bit" if quanta is not None else "ASIC table of the platform"),
        Step("worst cell factor", factor, "", f"cell of {figures.cell_bytes} B / 64 B"),
        Step("small packets", share, "%", "of packets"),
        Step("occupancy", occupancy, "", "cell factor by share of small packets"),
    )
    return Computed(f"Tofino formula {figures.version}", steps, exact, up_to_kib(exact), xon, xon)
