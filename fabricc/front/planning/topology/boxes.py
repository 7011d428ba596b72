"""Plan one switch of another model than its tier's: with its own cages and the same links."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.given_identities import SingleModel
from fabricc.fabric.shape import PortLayout, Slot, SwitchId, TierName
from fabricc.front.planning.topology import layout as topology_layout
from fabricc.front.spec.document import join_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Breakout, CageGroup, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

_RS_544, _RS_528 = "RS(544,514)", "RS(528,514)"


def fec_code(port: Slot | Breakout) -> str:
    """Return the FEC code of a port by lane speed: IEEE 802.3 clauses 119 and 134 from 50G, clause 91 from 25G on."""
    lane = Fraction(port.speed_gbps, port.lanes)
    return _RS_544 if lane >= 50 else _RS_528 if lane >= 25 else "none"


def box_of(
    spec: ClusterSpec, fabric: Fabric, at: SwitchId, model: SwitchModel, findings: list[Diagnostic]
) -> SingleModel | None:
    """Return the switch as a box of that model, or None after a finding.

    Its first cages carry the links down, its last ones those up, or the other way round as in its tier, with room for
    as many up as the strides of the lock foresee: what grows moves no port.
    """
    tier, name = links.port_layout(fabric, at), fabric.name(at)
    path = ("overrides", name, "model")
    if at.tier is TierName.TOR and fabric.units[at.unit].guests:
        usual = fabric.tiers[at.tier].model.title
        message = f"{name} serves hosts other than those of its unit, whose ports are those of {usual}"
        help_ = "Give such a ToR the model of its tier."
        findings.append(spec.error("FAB3413", message, *path, help=help_))
        return None
    far_ports = _far_end_ports(fabric, at, tier)
    compatible = replace(model, cages=tuple(_compatible_cages(group, far_ports) for group in model.cages))
    wrong = list(_report_unfit_model(spec, fabric, at, model, compatible, far_ports))
    layout = None if wrong else _lay_out_box(fabric, at, compatible, tier)
    if layout is None and not wrong:
        wrong.append(_too_small(spec, fabric, at, compatible, tier))
    findings += wrong
    return None if layout is None else SingleModel(model, layout, f"{links.layout_key(fabric, at)}/{name}")


def _far_end_ports(fabric: Fabric, at: SwitchId, tier: PortLayout) -> dict[int, tuple[Slot, bool]]:
    """Return speed -> a port as the far ends need it, and whether a copper cable fixes its lanes."""
    down = "host" if at.tier is TierName.TOR else "spine" if at.tier is TierName.SPINE else "core"
    up = "core" if at.tier is TierName.SPINE else "peer" if fabric.shape.peer_links else "spine"
    found: dict[int, tuple[Slot, bool]] = {}
    for kind, ports in ((down, tier.down), (up, tier.up)):
        if ports:
            slot, copper = tier.slots[ports[0]], fabric.cable_kinds[kind].medium == "dac"
            found[slot.speed_gbps] = slot, copper or found.get(slot.speed_gbps, (slot, False))[1]
    return found


def _compatible_cages(group: CageGroup, named_ports: Mapping[int, tuple[Slot, bool]]) -> CageGroup:
    """Return the cages with only those uses of the relevant speeds whose lanes fit the far ends."""
    uses: list[Breakout] = []
    for use in group.breakouts:
        if use.speed_gbps not in named_ports:
            uses.append(use)
            continue
        usual, copper = named_ports[use.speed_gbps]
        alike = [
            each
            for each in group.breakouts
            if each.speed_gbps == use.speed_gbps and each.lanes == usual.lanes
        ]
        if use in alike or (not alike and not copper and fec_code(use) == fec_code(usual)):
            uses.append(use)
    return replace(group, breakouts=tuple(uses)) if uses else replace(group, fabric=False)


def _port_speed(layout: PortLayout, ports: Sequence[int]) -> int:
    return layout.slots[ports[0]].speed_gbps if ports else 0


def _needed_downlinks(fabric: Fabric, at: SwitchId, layout: PortLayout) -> int:
    """Return the number of downlinks up to the last used one; on a ToR all of them, with the reserved ports."""
    if at.tier is TierName.TOR:
        return len(layout.down)
    used = {link.slot for link in links.switch_links(fabric, at)}
    return max((number for number, slot in enumerate(layout.down, 1) if slot in used), default=0)


def _lay_out_box(fabric: Fabric, at: SwitchId, model: SwitchModel, tier: PortLayout) -> PortLayout | None:
    """Fit the tier's layout on the box: as many downlinks as it has cages for, and all uplinks."""
    down_gbps, up_gbps = _port_speed(tier, tier.down), _port_speed(tier, tier.up)
    strides = fabric.strides
    most = strides.uplink if at.tier is TierName.TOR else strides.spine_uplink
    for down in range(len(tier.down), _needed_downlinks(fabric, at, tier) - 1, -1):
        own = topology_layout.Block(down_gbps, down)
        end = topology_layout.cages_for(model, own)
        if end is None:
            continue
        if not tier.up:
            return topology_layout.arrange_ports(model, own, topology_layout.Block(0, 0), None, tier.reserved)
        up, first = (
            topology_layout.Block(up_gbps, len(tier.up)),
            bool(tier.down) and tier.up[0] < tier.down[0],
        )
        for room in range(max(most, len(tier.up)), len(tier.up) - 1, -1):
            start = (_rotated_position if first else _last_position)(
                model, topology_layout.Block(up_gbps, room), end
            )
            layout = (
                None
                if start is None
                else topology_layout.arrange_ports(model, own, up, start, tier.reserved, uplinks_first=first)
            )
            if layout is not None:
                return layout
    return None


def _last_position(model: SwitchModel, block: topology_layout.Block, end: int) -> int | None:
    """Return the last cage position, from `end` on, at which a block fits."""
    positions = range(sum(1 for _ in topology_layout.list_cages(model)) - 1, end - 1, -1)
    return next(
        (start for start in positions if topology_layout.cages_for(model, block, start) is not None), None
    )


def _rotated_position(model: SwitchModel, block: topology_layout.Block, end: int) -> int | None:
    """Return the cage position, counted from `end`, of a block that has the first cages."""
    before = topology_layout.cages_for(model, block)
    return None if before is None or (start := topology_layout.cage_count(model) - before) < end else start


def _report_unfit_model(
    spec: ClusterSpec,
    fabric: Fabric,
    at: SwitchId,
    model: SwitchModel,
    compatible: SwitchModel,
    named_ports: Mapping[int, tuple[Slot, bool]],
) -> Iterator[Diagnostic]:
    """Report FAB3411 for a speed that the model lacks or has in other lanes, FAB3412 for too few paths."""
    name, path = fabric.name(at), ("overrides", fabric.name(at), "model")
    for speed in sorted(named_ports.keys() - topology_layout.port_speeds(compatible)):
        usual, copper = named_ports[speed]
        offered = ", ".join(f"{each}G" for each in sorted(topology_layout.port_speeds(model)))
        message = f"links of {name} run at {speed}G, and {model.title} has ports of {offered}"
        if speed in topology_layout.port_speeds(model):
            lanes = sorted(
                {use.lanes for each in model.cages for use in each.breakouts if use.speed_gbps == speed}
            )
            how = "over copper" if copper else f"with FEC {fec_code(usual)}"
            message = (
                f"links of {name} run at {speed}G over {usual.lanes} lanes {how}, and ports of {model.title} have "
                f"{join_words([str(each) for each in lanes])}"
            )
        help_ = "Both ends of a link need the same speed and FEC, and over copper as many lanes: use a model that fits."
        yield spec.error("FAB3411", message, *path, help=help_)
    if model.ecmp_max_paths < fabric.routing.maximum_paths:
        message = (
            f"{fabric.routing.maximum_paths} equal-cost paths are planned, and {model.title}, the model of {name}, "
            f"supports {model.ecmp_max_paths}"
        )
        yield spec.error("FAB3412", message, *path, help="Use a model that supports as many.")


def _too_small(
    spec: ClusterSpec, fabric: Fabric, at: SwitchId, model: SwitchModel, tier: PortLayout
) -> Diagnostic:
    down, up = _needed_downlinks(fabric, at, tier), len(tier.up)
    wanted = [f"{plural(down, 'port')} at {_port_speed(tier, tier.down)}G down"] if down else []
    wanted += [f"{plural(up, 'port')} at {_port_speed(tier, tier.up)}G up"] if up else []
    has = [
        f"{topology_layout.ports_at(model, speed)} at {speed}G"
        for speed in sorted({_port_speed(tier, tier.down), _port_speed(tier, tier.up)} - {0})
    ]
    name = fabric.name(at)
    together = " when every cage serves one speed" if len(has) > 1 else ""
    message = f"{name} has {' and '.join(wanted)}, and {model.title} has {' or '.join(has)}{together}"
    help_ = "Use a model with as many, or the model of the tier."
    return spec.error("FAB3410", message, "overrides", name, "model", help=help_)
