"""Figures of a plan that a reviewer compares: counts, oversubscription, buffers, and what one failure costs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.fabric.model import Direction
from fabricc.qos.pools import PortGroup, budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

_COUNTS = {"gpus": "GPUs", "hosts": "hosts", "tors": "ToRs", "spines": "spines", "cores": "cores"}


def count_figures(
    counts: Mapping[str, int], spines_per_plane: int, rails: int, transports: int
) -> dict[str, str]:
    """Figures that follow from counts alone.

    Args:
        counts: as `Fabric.counts` names them.
        spines_per_plane: also per pod.
        rails: rails per host.
        transports: BGP sessions per link between switches.
    """
    found = {title: f"{counts[name]:,}" for name, title in _COUNTS.items() if counts.get(name)}
    links = counts.get("spine_cables", 0) + counts.get("core_cables", 0)
    found["rails per host"] = str(rails)
    found["cables"] = f"{counts.get('host_cables', 0) + links:,}"
    found["BGP sessions"] = f"{links * transports:,}"
    if spines_per_plane:
        left = Fraction(spines_per_plane - 1, spines_per_plane)
        found["rail bandwidth left when one spine fails"] = f"{float(left * 100):.1f} %"
    return found


def fabric_figures(fabric: Fabric) -> dict[str, str]:
    """Every figure of a planned fabric, the worst switch of each tier speaking for it."""
    addresses, shape = fabric.addresses, fabric.shape
    families = (addresses.hosts4 is not None) + (addresses.hosts6 is not None)
    found = count_figures(fabric.counts(), shape.spines, shape.rails, families if addresses.numbered else 1)
    samples = [fabric.switch(switch) for switch in fabric.kinds()]
    for tier in fabric.tiers:
        of_tier = [switch for switch in samples if switch.tier is tier]
        if ratios := [ratio for switch in of_tier if (ratio := _oversubscription(switch)) is not None]:
            found[f"oversubscription, {_title(tier.value)}"] = f"{float(max(ratios)):.2f}"
    used = {switch.tier.value: _headroom_used(switch) for switch in samples if switch.qos.profiles}
    for tier_name, share in used.items():
        worst = max(
            share, *(_headroom_used(s) for s in samples if s.tier.value == tier_name and s.qos.profiles)
        )
        found[f"lossless headroom, {_title(tier_name)}"] = f"{float(worst * 100):.1f} % of the buffer"
    if marks := _lowest_marks(samples):
        found["ECN marks, earliest"] = marks
    return found


def _title(tier: str) -> str:
    return "ToR" if tier == "tor" else tier


def _oversubscription(switch: Switch) -> Fraction | None:
    speeds: Counter[str] = Counter()
    for port in switch.ports:
        if port.direction is not Direction.UNUSED:
            speeds["up" if port.direction is Direction.UP else "down"] += port.speed_gbps
    return Fraction(speeds["down"], speeds["up"]) if speeds["up"] else None


def _headroom_used(switch: Switch) -> Fraction:
    """Headroom that all lossless priority groups may take at once, over the buffer."""
    ports = Counter(port.profile for port in switch.ports if port.profile)
    lanes = {port.profile: port.lanes for port in switch.ports if port.profile}
    groups = tuple(
        PortGroup(profile.speed_gbps, ports[profile.name], lanes.get(profile.name, 8), profile.headroom)
        for profile in switch.qos.profiles
    )
    divided = budget(switch.model.buffers, groups, len(switch.qos.lossless))
    reserved = divided.pools.headroom_bytes or divided.demand_bytes
    return Fraction(reserved, divided.capacity_bytes)


def _lowest_marks(samples: Iterable[Switch]) -> str:
    marks = [
        (profile.ecn.min_bytes, profile.ecn.max_bytes, profile.ecn.max_percent)
        for switch in samples
        for profile in switch.qos.profiles
        if profile.ecn is not None
    ]
    if not marks:
        return ""
    low, high, percent = min(marks)
    return f"{low:,} to {high:,} B, {percent} %"
