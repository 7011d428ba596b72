"""Congestion controls and their marking: profiles that scale with the path, and published thresholds."""

from __future__ import annotations

from fractions import Fraction

from fabricc.base.values import dataclass


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
