"""Compute worst-case headroom by IEEE 802.1Q, for switches without a published table or formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.front.qos.headroom_result import Computed, Step
from fabricc.front.qos.wire import QUANTUM_BYTES, bytes_in, cable_bytes, cell_factor, pause_quanta, up_to_cell

if TYPE_CHECKING:
    from fabricc.catalog.model import AnnexFigures

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
