"""Figures of a plan that a reviewer compares: counts, oversubscription, buffers, and what one failure costs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.numbers import group_pairs
from fabricc.fabric.capacity.hosts import find_narrowest_uplinks
from fabricc.fabric.capacity.remainder import Remainder, share_without
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.model import Direction, Switch
from fabricc.front.qos.pools import PortGroup, divide_buffer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.fabric import Fabric

_COUNTS = {
    "gpus": "GPUs", "hosts": "hosts", "hosts_without_gpus": "hosts without GPUs", "tors": "ToRs", "spines": "spines",
    "cores": "cores",
}  # fmt: skip
_SPINE_FAILS = "uplinks left when one spine fails"


def count_cabled_ports(shape: Mapping[str, int]) -> int:
    """Return the cabled ports of a NIC on one rail, without those of planes that do not exist yet."""
    planned = shape["planes"] // shape.get("rail_planes", 1)
    return shape["nic_ports"] * shape.get("planes_present", planned) // planned


def count_figures(
    counts: Mapping[str, int], shape: Mapping[str, int], transports: int | None
) -> dict[str, str]:
    """Figures that follow from counts alone.

    Args:
        counts: as `Fabric.counts` names them.
        shape: the fields of `Shape`.
        transports: BGP sessions per link between switches; None without BGP.
    """
    rails, spines = shape["rails"], shape["spines"]
    found = {title: f"{counts[name]:,}" for name, title in _COUNTS.items() if counts.get(name)}
    links = sum(counts.get(f"{kind}_cables", 0) for kind in ("spine", "core", "peer"))
    found["rails per host"] = str(rails)
    found["cables"] = f"{counts.get('host_cables', 0) + links:,}"
    if transports is not None:
        found["BGP sessions"] = f"{links * transports:,}"
    if spines:
        found[_SPINE_FAILS] = format_share(share_without(spines))
    with_gpus = counts["hosts"] - counts.get("hosts_without_gpus", 0)
    per_rail = Fraction(counts["gpus"], max(1, with_gpus * rails))
    kept = format_share(share_without(count_cabled_ports(shape)))
    hosts = min(shape["hosts_per_unit"], with_gpus)
    behind_tor = -(-hosts * shape["rails_per_tor"] * per_rail // 1)
    found["worst single switch"] = f"ToR, {plural(behind_tor, 'GPU')} keep {kept} of their bandwidth"
    behind_link = -(-per_rail // 1)
    verb, whose = ("keeps", "its") if behind_link == 1 else ("keep", "their")
    worst = f"host to ToR, {plural(behind_link, 'GPU')} {verb} {kept} of {whose} bandwidth"
    found["worst single link"] = worst
    return found


def fabric_figures(fabric: Fabric) -> dict[str, str]:
    """Return every figure of a planned fabric, the worst switch of each tier speaking for it."""
    addresses, shape = fabric.addresses, fabric.shape
    families = (addresses.hosts4 is not None) + (addresses.hosts6 is not None)
    fields = {name: getattr(shape, name) for name in shape.__slots__}
    if fabric.planes_present:
        fields["planes_present"] = fabric.planes_present
    found = count_figures(fabric.counts(), fields, families if addresses.numbered else 1)
    if _SPINE_FAILS in found and fabric.changes and (shut := (wiring := Wiring(fabric)).shut) != Outage():
        tors = wiring.tors.keys() & wiring.uplinks.keys()
        *_, share = find_narrowest_uplinks(Remainder(wiring, shut), sorted(tors))
        found[_SPINE_FAILS] = format_share(share)
    samples = [fabric.switch(switch) for switch in fabric.kinds()]
    for tier in fabric.tiers:
        of_tier = [switch for switch in samples if switch.tier is tier]
        if ratios := [ratio for switch in of_tier if (ratio := _switch_ratio(switch)) is not None]:
            found[f"oversubscription, {_tier_title(tier.value)}"] = f"{float(max(ratios)):.2f}"
    used = group_pairs((s.tier.value, _headroom_used(s)) for s in samples if s.qos.headrooms)
    for tier_name, shares in used.items():
        found[f"headroom used, {_tier_title(tier_name)}"] = f"{format_share(max(shares))} of the buffer"
    if marks := _lowest_marks(samples):
        found["ECN marks, earliest"] = marks
    return found


def _tier_title(tier: str) -> str:
    return "ToR" if tier == "tor" else tier


def _switch_ratio(switch: Switch) -> Fraction | None:
    speeds: Counter[str] = Counter()
    for port in switch.ports:
        if port.direction not in (Direction.UNUSED, Direction.EXTERNAL, Direction.PEER):
            speeds["up" if port.direction is Direction.UP else "down"] += port.speed_gbps
    return Fraction(speeds["down"], speeds["up"]) if speeds["up"] else None


def _headroom_used(switch: Switch) -> Fraction:
    """Headroom that all lossless priority groups may take at once, over the buffer."""
    ports = Counter(port.profile for port in switch.ports if port.profile)
    lanes = {port.profile: port.lanes for port in switch.ports if port.profile}
    groups = tuple(
        PortGroup(profile.speed_gbps, ports[profile.name], lanes.get(profile.name, 8), headroom)
        for profile, headroom in switch.qos.headrooms
    )
    divided = divide_buffer(switch.model.buffers, groups, len(switch.qos.lossless))
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
