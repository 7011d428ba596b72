"""ECN marking: congestion controls, published thresholds, and thresholds from rate, round trip and pause point.

A queue that marks at less than the path's bandwidth-delay product (BDP) loses throughput, one that marks far above
it adds delay and lets PFC act first. So both thresholds scale with rate times round trip, and both stay below the
occupancy at which an ingress would pause (DCQCN's condition, carried over to dynamic thresholds).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.qos import Ecn
from fabricc.front.qos.wire import SIGNAL_SPEED_M_PER_S, down_to_cell

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class MarkingProfile:
    """Thresholds in proportion to the path's bandwidth-delay product (BDP).

    Attributes:
        min_bdp: Kmin as a multiple of the BDP.
        max_ratio: Kmax as a multiple of Kmin; 1 marks by a step, one cell wide.
        max_percent: marking probability at Kmax.
        source: where the figures come from.
    """

    name: str
    min_bdp: Fraction
    max_ratio: int
    max_percent: int
    source: str


@dataclass(frozen=True, slots=True)
class FixedMarking:
    """Thresholds in bytes, whatever the path.

    Attributes:
        min_bytes, max_bytes: thresholds; of one Gb/s of the port's speed where `per_gbps`.
        stated: the spec's own numbers, which are kept or refused, never changed.
        makers: the makers of switches that publish these thresholds for their own switches.
        of_system: thresholds that the system has without a setting, which nothing changes.
    """

    name: str
    min_bytes: int
    max_bytes: int
    max_percent: int
    source: str
    per_gbps: bool = False
    stated: bool = False
    makers: tuple[str, ...] = ()
    of_system: bool = False

    def at(self, speed_gbps: int) -> tuple[int, int]:
        """Both thresholds on a port of this speed, bytes."""
        scale = speed_gbps if self.per_gbps else 1
        return self.min_bytes * scale, self.max_bytes * scale


Marking = MarkingProfile | FixedMarking

DCQCN = MarkingProfile(
    "dcqcn", Fraction(1), 4, 20, "Kmin at one BDP; ratio and probability of the HPCC and SimAI configurations"
)
DCTCP = MarkingProfile(
    "dctcp", Fraction(1, 7), 1, 100, "a step at BDP / 7 (DCTCP, SIGCOMM 2010, section 3.4), assumed"
)
UEC = MarkingProfile(
    "uec", Fraction(1, 5), 4, 100, "0.2 and 0.8 BDP as UEC 1.0 recommends; the probability is assumed"
)

PROFILES = {profile.name: profile for profile in (DCQCN, DCTCP, UEC)}
"""Congestion controls that mark, by the spec's name for them."""

_SONIC = "sonic-net/sonic-buildimage"
_KB = 1000


def _presets_by_name(*found: FixedMarking) -> dict[str, FixedMarking]:
    return {preset.name: preset for preset in found}


PRESETS = _presets_by_name(
    FixedMarking("hpcc", 4 * _KB, 16 * _KB, 20, "HPCC simulation config.txt: 100/400 KB at 25G", per_gbps=True),
    FixedMarking("simai-200g", 300 * _KB, 1200 * _KB, 80, "SimAI.conf, 200G ports"),
    FixedMarking("simai-400g", 800 * _KB, 3200 * _KB, 20, "SimAI.conf, 400G ports"),
    FixedMarking("sonic-default", 1_048_576, 2_097_152, 5, f"{_SONIC} qos_config.j2, AZURE_LOSSLESS", makers=("dell",)),
    FixedMarking("sonic-th", 250_000, 2_097_152, 5, f"{_SONIC} common/profiles/th"),
    FixedMarking("sonic-sn4600c", 2_000_000, 10_000_000, 5, f"{_SONIC} SN4600C-C64 and NH-5010"),
    FixedMarking("sonic-7060x6", 131_072, 262_144, 5, f"{_SONIC} 7060X6-64PE-O128S2, back-end queues 3 and 4"),
    FixedMarking("sonic-sn5640-tor", 166_912, 282_624, 5, f"{_SONIC} SN5640-C512S2, ToR (lossy with trimming)"),
    FixedMarking("sonic-sn5640-leaf", 166_912, 239_616, 5, f"{_SONIC} SN5640-C512S2, leaf (lossy with trimming)"),
    FixedMarking(
        "cumulus-lossless", 150_000, 1_500_000, 100, "Cumulus Linux 5.15 RoCE, lossless mode", makers=("nvidia",)
    ),
    FixedMarking("cumulus-lossy-multi-tc", 163 * _KB, 234 * _KB, 5, "Cumulus Linux 5.15 RoCE, lossy-multi-tc"),
    FixedMarking("cisco", 150 * _KB, 3000 * _KB, 7, "Cisco AI/ML configuration examples", makers=("cisco",)),
    FixedMarking("arista", 500 * _KB, 1500 * _KB, 20, "Arista example, second-hand"),
    FixedMarking(
        "dell-enterprise", 2048 * _KB, 12480 * _KB, 15,
        "AMD, RoCE network configuration: `roce enable` of Dell Enterprise SONiC on Z9664F-O64", makers=("dell",),
    ),
    FixedMarking("azure-lab", 1_000_000, 2_000_000, 5, "Azure storage over RDMA, NSDI 2023, appendix B"),
    FixedMarking("dcqcn-paper-40g", 5 * _KB, 200 * _KB, 1, "DCQCN, SIGCOMM 2015, 40G ports, assumed"),
)  # fmt: skip
"""Published thresholds by the spec's name for them; KB and MB are powers of ten."""


def published_by(vendor: str, marking: FixedMarking) -> str:
    """Return the source of thresholds that a maker publishes for its own switches; empty where it publishes others."""
    figures = marking.min_bytes, marking.max_bytes, marking.max_percent
    for preset in PRESETS.values():
        rounded = _rounded_kb(preset.min_bytes), _rounded_kb(preset.max_bytes), preset.max_percent
        if vendor in preset.makers and figures in (
            (preset.min_bytes, preset.max_bytes, preset.max_percent),
            rounded,
        ):
            return preset.source
    return ""


def _rounded_kb(count: int) -> int:
    """Return bytes as a spec states them, in whole KB."""
    return count // _KB * _KB


NIC_LATENCY_NS = 1000
"""Both NICs of a path, one way: sender and receiver, PCIe included. Assumed: half of a typical small-write loop."""

FLOOR_MTUS = 3
"""Marking never starts below this many full packets: a queue that short is arrival jitter, not congestion."""

ROUNDING_CELLS = 64
"""Distance kept from the pause point: Spectrum-4 rounds 150,000 up to 159,744 bytes, 13 times 64 cells of 192."""

LOW_BDP_SHARE = Fraction(1, 5)
"""UEC recommends to start marking at 0.2 BDP; less than that costs throughput."""


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


def pause_point_bytes(shared_bytes: int, dynamic_th: int, queues: int, lossy_alpha: int | None = None) -> int:
    """Occupancy at which an ingress pauses while `queues` queues hold as much each.

    The limit is alpha times the free shared buffer, alpha = 2**dynamic_th, and `queues` times that limit are occupied,
    besides what one congested lossy queue takes of the same buffer up to its own alpha, 2**lossy_alpha:
    `limit = alpha * shared / (1 + alpha * queues + lossy alpha)`.
    """
    alpha = Fraction(2) ** dynamic_th
    lossy = Fraction(0) if lossy_alpha is None else Fraction(2) ** lossy_alpha
    return max(0, int(alpha * shared_bytes / (1 + alpha * queues + lossy)))


def most_lossy_queues(
    high_bytes: int, shared_bytes: int, dynamic_th: int, queues: int, lossy_alpha: int
) -> int:
    """Return how many congested lossy queues leave the pause point at or above a marking threshold.

    The limit of `pause_point_bytes` with N lossy queues is `alpha * shared / (1 + alpha * queues + N * lossy alpha)`.
    """
    alpha = Fraction(2) ** dynamic_th
    left = alpha * shared_bytes / high_bytes - 1 - alpha * queues
    return max(0, int(left / Fraction(2) ** lossy_alpha))


def ceiling_bytes(pause_bytes: int, mtu: int, cell_bytes: int) -> int:
    """Return the highest Kmax that stays below the pause point after any rounding and one more packet."""
    return down_to_cell(max(0, pause_bytes - max(mtu, ROUNDING_CELLS * cell_bytes)), cell_bytes)


def leaves_room(pause_bytes: int, mtu: int, cell_bytes: int) -> bool:
    """Return whether any pair of thresholds fits below the pause point: Kmin at its floor and Kmax at twice that."""
    half = ceiling_bytes(pause_bytes, mtu, cell_bytes) // 2
    return down_to_cell(half, cell_bytes) >= max(cell_bytes, down_to_cell(FLOOR_MTUS * mtu, cell_bytes))


def wanted_thresholds(
    marking: Marking, speed_gbps: int, rtt_ns: int, *, mtu: int, cell_bytes: int
) -> tuple[int, int]:
    """Return Kmin and Kmax of the congestion control in whole cells, before PFC limits them.

    A profile's Kmin is `max(min_bdp * BDP, 3 MTU)`, its Kmax `max_ratio` times that and a cell above it at least;
    fixed thresholds are rounded down to a cell, except those of the system.
    """
    if isinstance(marking, FixedMarking) and marking.of_system:
        return marking.min_bytes, marking.max_bytes
    if isinstance(marking, FixedMarking):
        low, high = (max(cell_bytes, down_to_cell(value, cell_bytes)) for value in marking.at(speed_gbps))
        return low, max(high, low + cell_bytes)
    least = max(int(marking.min_bdp * bdp_bytes(speed_gbps, rtt_ns)), FLOOR_MTUS * mtu, cell_bytes)
    low = down_to_cell(least, cell_bytes)
    return low, max(down_to_cell(marking.max_ratio * least, cell_bytes), low + cell_bytes)


def ecn_thresholds(
    speed_gbps: int,
    rtt_ns: int,
    pause_bytes: int,
    *,
    mtu: int,
    cell_bytes: int,
    marking: Marking = DCQCN,
    keep: bool = False,
) -> Ecn | None:
    """Thresholds of a queue, multiples of the cell; None when none fit below the pause point.

    Where the pause point is nearer than the Kmax wanted, Kmax goes down to it and Kmin to half of Kmax at most, unless
    `keep` leaves both as the marking states them. Thresholds of the system are never changed.
    """
    if isinstance(marking, FixedMarking) and marking.of_system:
        above = marking.max_bytes > ceiling_bytes(pause_bytes, mtu, cell_bytes)
        return Ecn(marking.min_bytes, marking.max_bytes, marking.max_percent, above_pause=above)
    if not leaves_room(pause_bytes, mtu, cell_bytes):
        return None
    low, high = wanted_thresholds(marking, speed_gbps, rtt_ns, mtu=mtu, cell_bytes=cell_bytes)
    highest = ceiling_bytes(pause_bytes, mtu, cell_bytes)
    if high > highest and keep:
        return Ecn(low, high, marking.max_percent, above_pause=True)
    if high > highest:
        high = highest
        low = min(low, down_to_cell(highest // 2, cell_bytes))
    return Ecn(low, high, marking.max_percent)
