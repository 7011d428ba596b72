"""ECN marking thresholds from link rate, base round trip and the point where PFC would act.

A queue that marks at less than the path's bandwidth-delay product (BDP) loses throughput, one that marks far above
it adds delay and lets PFC act first. So both thresholds scale with rate times round trip, and both stay below the
occupancy at which an ingress would pause (DCQCN's condition, carried over to dynamic thresholds).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.fabric.model import Ecn
from fabricc.qos.headroom import SIGNAL_SPEED_M_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

NIC_LATENCY_NS = 1000
"""Both NICs of a path, one way: sender and receiver, PCIe included. Assumed: half of a typical small-write loop."""

FLOOR_MTUS = 3
"""Marking never starts below this many full packets: a queue that short is arrival jitter, not congestion."""

ROUNDING_CELLS = 64
"""Distance kept from the pause point: Spectrum-4 rounds 150,000 up to 159,744 bytes, 13 times 64 cells of 192."""

LOW_BDP_SHARE = Fraction(1, 5)
"""UEC recommends to start marking at 0.2 BDP; less than that costs throughput."""


@dataclass(frozen=True, slots=True)
class MarkingProfile:
    """How a congestion control wants its marks.

    Attributes:
        min_bdp: Kmin as a multiple of the path's BDP.
        max_ratio: Kmax as a multiple of Kmin.
        max_percent: marking probability at Kmax.
    """

    name: str
    min_bdp: Fraction
    max_ratio: int
    max_percent: int


DCQCN = MarkingProfile("dcqcn", Fraction(1), 4, 20)
"""Kmax = 4 Kmin and 20 % as in the HPCC and SimAI configurations for DCQCN; Kmin at one BDP."""


def base_rtt_ns(
    hop_lengths_m: Sequence[int], forwarding_ns: Sequence[int], nic_ns: int = NIC_LATENCY_NS
) -> int:
    """Round trip of an unloaded path: cables at 5.05 ns/m, switches cut-through, NICs at both ends.

    Args:
        hop_lengths_m: length of every cable of the path, one way.
        forwarding_ns: port-to-port latency of every switch of the path, one way.
        nic_ns: what both NICs add, one way.
    """
    cables = Fraction(sum(hop_lengths_m) * 10**9, SIGNAL_SPEED_M_PER_S)
    return round(2 * (cables + sum(forwarding_ns) + nic_ns))


def bdp_bytes(speed_gbps: int, rtt_ns: int) -> int:
    """Bandwidth-delay product: Gb/s times ns are bits."""
    return speed_gbps * rtt_ns // 8


def pause_point_bytes(shared_bytes: int, dynamic_th: int, queues: int) -> int:
    """Occupancy at which an ingress pauses while `queues` queues hold as much each.

    The limit is alpha times the free shared buffer, alpha = 2**dynamic_th, and `queues` times that limit are
    occupied: `limit = alpha * shared / (1 + alpha * queues)`.
    """
    if dynamic_th >= 0:
        return max(0, (shared_bytes << dynamic_th) // (1 + (queues << dynamic_th)))
    return max(0, shared_bytes // ((1 << -dynamic_th) + queues))


def ceiling_bytes(pause_bytes: int, mtu: int, cell_bytes: int) -> int:
    """The highest Kmax that stays below the pause point after any rounding and one more packet."""
    return _to_cell(max(0, pause_bytes - max(mtu, ROUNDING_CELLS * cell_bytes)), cell_bytes)


def leaves_room(pause_bytes: int, mtu: int, cell_bytes: int) -> bool:
    """Whether any pair of thresholds fits below the pause point: Kmin at its floor and Kmax at twice that."""
    half = ceiling_bytes(pause_bytes, mtu, cell_bytes) // 2
    return _to_cell(half, cell_bytes) >= max(cell_bytes, _to_cell(FLOOR_MTUS * mtu, cell_bytes))


def ecn(
    speed_gbps: int,
    rtt_ns: int,
    pause_bytes: int,
    *,
    mtu: int,
    cell_bytes: int,
    profile: MarkingProfile = DCQCN,
) -> Ecn | None:
    """Thresholds of a queue, multiples of the cell; None when none fit below the pause point.

    `Kmin = max(profile.min_bdp * BDP, 3 MTU)`, `Kmax = profile.max_ratio * Kmin`; where the pause point is nearer,
    Kmax goes down to it and Kmin to half of Kmax at most.
    """
    if not leaves_room(pause_bytes, mtu, cell_bytes):
        return None
    wanted = max(int(profile.min_bdp * bdp_bytes(speed_gbps, rtt_ns)), FLOOR_MTUS * mtu, cell_bytes)
    maximum = min(
        _to_cell(profile.max_ratio * wanted, cell_bytes), ceiling_bytes(pause_bytes, mtu, cell_bytes)
    )
    minimum = min(_to_cell(wanted, cell_bytes), _to_cell(maximum // 2, cell_bytes))
    return Ecn(minimum, maximum, profile.max_percent)


def _to_cell(value: int, cell_bytes: int) -> int:
    return value // cell_bytes * cell_bytes
