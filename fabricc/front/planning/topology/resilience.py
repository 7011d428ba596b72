"""Check the bandwidth that is left: with the pinned uplinks, with one switch lost, and without drained switches.

Where a few more uplinks would improve a count in three tiers, that is only advised, as pods change with them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import format_share, join_words, plural
from fabricc.base.values import replace
from fabricc.fabric.capacity.remainder import Remainder, share_without
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.shape import PortLayout, Shape, TierName
from fabricc.front.planning.topology import clos
from fabricc.front.planning.topology.layout import ports_at
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.planning.topology.shape import Sizing, size_fabric
from fabricc.front.planning.topology.units import capacity_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


def ratio_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report FAB3027 for a tier whose requested number of uplinks exceeds the ratio that it declares.

    The proof would report it for every switch (FAB6204); this reports it once, at its place. Who accepts one accepts
    the other.
    """
    shape, spines = fabric.shape, spec.spines
    if spines is None or any(entry.code == "FAB6204" for entry in spec.accept):
        return
    down = max(_down_gbps(layout) for layout in fabric.tor_layouts)
    tiers = [("tors", spec.tors, "ToR", down, shape.uplinks, shape.uplink_gbps)]
    if shape.cores:
        down = _down_gbps(fabric.spine_layout)
        tiers.append(("spines", spines, "spine", down, shape.spine_uplinks, shape.core_link_gbps))
    for key, tier, switch, down, uplinks, speed in tiers:
        ratio = tier.oversubscription
        if not tier.uplinks or ratio is None or (key, "oversubscription") not in spec.positions:
            continue
        if down > clos.exact_ratio(ratio) * uplinks * speed:
            yield spec.error(
                "FAB3027",
                f"a {switch} has {down:,} Gb/s down and {uplinks * speed:,} up with {uplinks} uplinks; "
                f"declared is {ratio:g}:1",
                key,
                "uplinks",
                help=f"It takes `uplinks: {clos.uplinks_needed(down, ratio, speed)}`, or declare "
                f"`oversubscription: {_least_ratio(down, uplinks * speed)}`.",
            )


def _least_ratio(down: int, up: int) -> str:
    """Return the ratio of two bandwidths, rounded up to three places."""
    return f"{-(-1000 * down // up) / 1000:g}"


def spine_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3028 for a sole spine, FAB3029 (a note) where uplinks were added because they need fewer spines."""
    shape, spines = fabric.shape, spec.spines
    if spines is None:
        return
    if shape.spines == 1 and shape.port_planes == 1:
        more = shape.pods * shape.planes
        yield spec.warning(
            "FAB3028",
            "one spine joins all ToRs: a single point of failure"
            if more == 1
            else f"one spine joins all ToRs of each of {more} sets: a single point of failure",
            "spines",
            *(("count",) if spines.count else ()),
            help=f"`spines.count: 2` takes {_format_count(more)} {fabric.tiers[TierName.SPINE].model.title} more.",
        )
    ratio = spec.tors.oversubscription
    if shape.cores or spec.tors.uplinks or spines.count or ratio is None:
        return
    needed = clos.uplinks_needed(max(map(_down_gbps, fabric.tor_layouts)), ratio, shape.uplink_gbps)
    if shape.uplinks > needed:
        message = (
            f"{ratio:g}:1 takes {needed} uplinks to a ToR; it gets {shape.uplinks}, which spread evenly over "
            f"{plural(shape.spines, 'spine')}"
        )
        help_ = f"`tors.uplinks: {needed}` keeps to {needed}, with as many spines as divide them."
        yield spec.note("FAB3029", message, "tors", "oversubscription", help=help_)


def _format_count(number: int) -> str:
    return "one" if number == 1 else f"{number}"


def resilience_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3024 for a tier with `n_minus_1` whose bandwidth up is too small once a switch above it is lost.

    A link is lost with its switch, so the loss of a single link is no worse.
    """
    shape = fabric.shape
    if spec.tors.n_minus_1:
        down = max(_down_gbps(layout) for layout in fabric.tor_layouts)
        left = int(share_without(shape.spines) * shape.uplinks) * shape.uplink_gbps
        limit = clos.exact_ratio(spec.tors.oversubscription or 1.0)
        if down > limit * left:
            lost = f"with one of {shape.spines} spines lost a ToR has {down:,} Gb/s down and {left:,} up"
            yield _oversubscription_error(
                spec, "tors", lost, limit, _enough_uplinks(spec, fabric, Fraction(down) / limit)
            )
    if spec.spines is not None and spec.spines.n_minus_1 and shape.cores:
        down = _down_gbps(fabric.spine_layout)
        left = int(share_without(shape.cores_per_group) * shape.spine_uplinks) * shape.core_link_gbps
        limit = clos.exact_ratio(spec.spines.oversubscription or 1.0)
        if down > limit * left:
            cores = shape.cores_per_group
            lost = f"with one of its {cores} cores lost a spine has {down:,} Gb/s down and {left:,} up"
            yield _oversubscription_error(spec, "spines", lost, limit, "Give it more `spines.uplinks`.")


def drain_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3031 where drained switches together leave less than one of them does, or nothing.

    Drained switches carry traffic while nothing else is left, but they are drained in order to be taken out. A ToR is
    left out, since a drain does not move the traffic of its hosts.
    """
    if not any(change.drained for change in fabric.changes.values()):
        return
    wiring = Wiring(fabric)
    drained = [name for name in wiring.shut.drained if name not in wiring.tors or not wiring.nics(name)]
    sets = {(wiring.switches[name].tier, wiring.switches[name].plane): name for name in sorted(drained)}
    if not drained:
        return
    share, at = _share_without(wiring, drained)
    alone = min(_share_without(wiring, [name])[0] for name in sets.values())
    if share and share >= alone:
        return
    names = [name for name in spec.overrides if name in drained]
    remedy = f"Drain fewer at once: one alone leaves {format_share(alone)}."
    yield spec.warning(
        "FAB3031",
        f"{join_words(names, 4)} drained: {format_share(share)} of {at} is left when they are taken out",
        "overrides",
        names[-1],
        "drain",
        help=remedy if alone else "Nothing else leads there: its traffic stops when the switch is taken out.",
    )


def _share_without(wiring: Wiring, names: Iterable[str]) -> tuple[Fraction, str]:
    """Return the least share of a network without some switches, and where it is."""
    return Remainder(wiring, Outage(gone=frozenset(names), ends=wiring.shut.ends)).least_share()


def _oversubscription_error(
    spec: ClusterSpec, key: str, lost: str, limit: Fraction, remedy: str
) -> Diagnostic:
    message = f"{lost}; declared is {float(limit):g}:1 also then"
    help_ = f"{remedy} Or declare a higher `{key}.oversubscription`."
    return spec.error("FAB3024", message, key, "n_minus_1", help=help_)


def _down_gbps(layout: PortLayout) -> int:
    """Bandwidth of the ports down of a switch without those kept free, Gb/s."""
    speeds = [layout.slots[index].speed_gbps for index in layout.down]
    return sum(speeds[: len(speeds) - layout.reserved])


def _enough_uplinks(spec: ClusterSpec, fabric: Fabric, needed_gbps: Fraction) -> str:
    """The fewest uplinks of a ToR that leave `needed_gbps` with a spine lost, given the spines they would lead to."""
    shape, speed = fabric.shape, fabric.shape.uplink_gbps
    units = max(fabric.present, capacity_units(spec, fabric.host_models, fabric.attachments))
    tors = (shape.units_per_pod if shape.cores else units) * shape.tors_per_unit_plane
    tor, spine = (fabric.tiers[tier].model for tier in (TierName.TOR, TierName.SPINE))
    taken = max(_count_taken_ports(tor, layout, speed) for layout in fabric.tor_layouts)
    for uplinks in range(shape.uplinks + 1, ports_at(tor, speed) - taken + 1):
        layer = clos.spine_layer(tors, uplinks, ports_at(spine, speed))
        left = share_without(layer.count) * uplinks * speed if layer else 0
        if layer and left >= needed_gbps:
            return f"`tors.uplinks: {uplinks}` to {layer.count} spines does it."
    return "No number of uplinks of this ToR does it: attach fewer hosts to each."


def _count_taken_ports(model: SwitchModel, layout: PortLayout, speed_gbps: int) -> int:
    """Return how many ports at `speed_gbps` the ports down of a switch cost it; border leaves have none."""
    if not layout.down:
        return 0
    at_own_speed = ports_at(model, layout.slots[layout.down[0]].speed_gbps)
    return -(-len(layout.down) * ports_at(model, speed_gbps) // at_own_speed)


_MOST_LINKS = 8
"""Maximum number of parallel links from a ToR to a spine to try: our judgment."""


def count_findings(
    spec: ClusterSpec, models: Models, catalog: Catalog, sizing: Sizing, present: int, units: int, lock: Lock
) -> Iterator[Diagnostic]:
    """Report FAB3060 (a note) where a few more uplinks of a ToR divide better and take fewer switches above it."""
    shape, spines = sizing.shape, spec.spines
    if (
        not shape.cores
        or spines is None
        or spec.tors.uplinks
        or spines.count
        or "links_per_spine" in lock.strides
    ):
        return
    fewest, raised = count_upper_switches(shape), 0
    for links in range(shape.links_per_spine + 1, _MOST_LINKS + 1):
        uplinks = -(-shape.uplinks // links) * links
        if not shape.uplinks < uplinks <= sizing.most_uplinks:
            continue
        wanted = replace(spec, tors=replace(spec.tors, uplinks=uplinks))
        try:
            other = count_upper_switches(
                size_fabric(wanted, models, present, units, lock.strides, catalog).shape
            )
        except UnfitError:
            continue
        if other < fewest:
            fewest, raised = other, uplinks
    if raised:
        message = (
            f"{plural(shape.uplinks, 'uplink')} of a ToR spread over "
            f"{plural(shape.spines, 'spine')} of a plane and pod"
        )
        help_ = (
            f"`tors.uplinks: {raised}` takes {plural(count_upper_switches(shape) - fewest, 'switch')} less."
        )
        yield spec.note("FAB3060", message, "tors", "oversubscription", help=help_)


def count_upper_switches(shape: Shape) -> int:
    """Return the number of spines and cores."""
    return shape.pods * shape.planes * shape.spines + shape.port_planes * shape.cores
