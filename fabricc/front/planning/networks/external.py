"""Plan external links: each on a switch port that the plan does not need."""

from __future__ import annotations

from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.catalog.optics import find_reach
from fabricc.fabric import links
from fabricc.fabric.external import Exit, External, ExternalLink, ExternalParty, Split
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import Slot, SwitchId, TierName
from fabricc.front.planning.networks.overrides import unknown_switch
from fabricc.front.planning.topology.layout import find_breakout, list_cages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.topology.models import Naming
    from fabricc.front.spec.model import ClusterSpec, Tier

    Planner = Callable[[ClusterSpec], Fabric | None]
    """Return the fabric of another spec without findings, or None where there is none."""

_SHOWN = 4
_MORE = (1, 2, 4, 8)


class _Choice(NamedTuple):
    """A port that a link could have, and the use of its cage where that differs from the layout."""

    slot: Slot
    split: Split | None


def add_external(
    spec: ClusterSpec, fabric: Fabric, naming: Naming, findings: list[Diagnostic], planner: Planner
) -> Fabric:
    """Return the fabric with the spec's external links; an impossible one is a finding with a remedy from `planner`."""
    if not spec.external:
        return fabric
    findings.extend(find_shared_ends([spec]))
    wanted = {link.at for outsider in spec.external for link in outsider.links}
    switches = {name: at for at in fabric.switch_ids() if (name := fabric.name(at)) in wanted}
    exits: dict[str, dict[str, Exit]] = {}
    splits: dict[str, dict[int, Split]] = {}
    for outsider in spec.external:
        for index, link in enumerate(outsider.links):
            path: KeyPath = ("external", outsider.name, "links", index)
            if link.at not in switches:
                findings.append(unknown_switch(spec, fabric, "FAB3080", link.at, (*path, "at")))
                continue
            choice = _choose_port(
                spec,
                fabric,
                switches[link.at],
                link,
                path,
                naming,
                splits.get(link.at, {}),
                planner,
                findings,
            )
            if choice is None:
                continue
            mine = exits.setdefault(link.at, {})
            if (other := mine.get(link.port)) is not None:
                message = f"port {link.port} of {link.at} leads to {other.link.peer} already"
                help_ = "Every link needs its own port."
                findings.append(spec.error("FAB3081", message, *path, "port", help=help_))
                continue
            mine[link.port] = Exit(outsider, link)
            if choice.split is not None:
                splits.setdefault(link.at, {})[choice.slot.cage] = choice.split
            findings.extend(_reach_findings(spec, link, choice.slot, path))
    tiers = tuple(tier for tier in TierName if any(switches[name].tier is tier for name in exits))
    planned = replace(fabric, external=External(spec.external, exits, splits, tiers))
    findings.extend(_ways_out(spec, planned, switches))
    return planned


def move_external_links(
    spec: ClusterSpec, fabric: Fabric, naming: Naming
) -> tuple[ClusterSpec, dict[KeyPath, object]] | None:
    """Move each external link to a free port of the same switch in another shape; return the spec and the changed keys.

    A link keeps its port if that port is free. None if a switch does not exist, or has no free port of that speed.

    Args:
        spec: the spec of that shape.
        fabric: its plan without external links.
        naming: the interface to network operating systems.
    """
    wanted = {link.at for outsider in spec.external for link in outsider.links}
    switches = {name: at for at in fabric.switch_ids() if (name := fabric.name(at)) in wanted}
    taken: set[tuple[str, str]] = set()
    splits: dict[str, dict[int, Split]] = {}
    parties: list[ExternalParty] = []
    changed: dict[KeyPath, object] = {}
    for outsider in spec.external:
        moved = []
        for index, link in enumerate(outsider.links):
            if link.at not in switches:
                return None
            divided = splits.setdefault(link.at, {})
            choices = _list_choices(fabric, switches[link.at], link.speed_gbps, naming, divided)
            free = [port for port in choices if (link.at, port) not in taken]
            if not free:
                return None
            port = link.port if link.port in free else free[-1]
            taken.add((link.at, port))
            if (split := choices[port].split) is not None:
                divided[choices[port].slot.cage] = split
            if port != link.port:
                changed["external", outsider.name, "links", index, "port"] = port
            moved.append(replace(link, port=port))
        parties.append(replace(outsider, links=tuple(moved)))
    return replace(spec, external=tuple(parties)), changed


def find_shared_ends(specs: Iterable[ClusterSpec]) -> Iterator[Diagnostic]:
    """Report FAB3181: a port of an outside device that is the far end of two links."""
    taken: dict[tuple[str, str], str] = {}
    for spec in specs:
        for outsider in spec.external:
            for index, link in enumerate(outsider.links):
                far = link.peer, link.peer_port
                if far in taken:
                    message = f"port {link.peer_port} of {link.peer} leads to {taken[far]} already"
                    help_ = "Every link needs its own port at both ends."
                    yield spec.error(
                        "FAB3181", message, "external", outsider.name, "links", index, "peer_port", help=help_
                    )
                taken.setdefault(far, f"{link.port} of {link.at}")


def _choose_port(
    spec: ClusterSpec,
    fabric: Fabric,
    at: SwitchId,
    link: ExternalLink,
    path: KeyPath,
    naming: Naming,
    splits: Mapping[int, Split],
    planner: Planner,
    findings: list[Diagnostic],
) -> _Choice | None:
    """Return the port of a link, or None after a finding."""
    choices = _list_choices(fabric, at, link.speed_gbps, naming, splits)
    if link.port in choices:
        return choices[link.port]
    model = fabric.model(at)
    names = links.port_names(fabric, at)
    used = {names[each.slot]: each.peer for each in links.switch_links(fabric, at)}
    if not any(find_breakout(group, link.speed_gbps) for _, group in list_cages(model)):
        message = f"{model.title} has no port of {link.speed_gbps}G"
        speeds = sorted({b.speed_gbps for _, group in list_cages(model) for b in group.breakouts})
        help_ = f"It has ports of {', '.join(f'{speed}G' for speed in speeds)}."
        findings.append(spec.error("FAB3082", message, *path, "speed_gbps", help=help_))
        return None
    if link.port in used:
        why = f"leads to {used[link.port]}"
    elif link.port in names and names.index(link.port) in _reserved_slots(fabric, at):
        why = "is kept for a link of the plan, as the fabric grows"
    elif link.port in names:
        slot = links.port_layout(fabric, at).slots[names.index(link.port)]
        why = f"is a port of {slot.speed_gbps}G there, not of {link.speed_gbps}G"
    else:
        why = "does not exist"
    remedy = (
        _free_ports(link, tuple(choices))
        if choices
        else _count_reserved(spec, link.at, f"{at.tier.value}s", link.speed_gbps, naming, planner)
    )
    findings.append(spec.error("FAB3081", f"port {link.port} of {link.at} {why}", *path, "port", help=remedy))
    return None


def _free_ports(link: ExternalLink, choices: tuple[str, ...]) -> str:
    """Return a remedy with free ports: those with names like the requested one, else the last ones."""
    close = get_close_matches(link.port, choices, n=_SHOWN, cutoff=0.8) or choices[-_SHOWN:]
    return f"Of {plural(len(choices), 'port')} free for {link.speed_gbps}G there: {', '.join(close)}."


def _count_reserved(
    spec: ClusterSpec, name: str, tier: str, gbps: int, naming: Naming, planner: Planner
) -> str:
    """Return a remedy with the number of ports to reserve so that one is free on a switch."""
    requested: Tier = getattr(spec, tier)
    for more in _MORE:
        ports = requested.reserved_ports + more
        kept: dict[str, Any] = {tier: replace(requested, reserved_ports=ports)}
        fabric = planner(replace(spec, external=(), overrides={}, **kept))
        at = fabric.find(name) if fabric else None
        if fabric is None or not isinstance(at, SwitchId):
            continue
        if choices := _list_choices(fabric, at, gbps, naming, {}):
            return f"No port is free there; with `{tier}: {{reserved_ports: {ports}}}` there is {[*choices][-1]}."
    reserved = plural(requested.reserved_ports + _MORE[-1], "port")
    return f"No port is free there, nor with {reserved} reserved; take another."


def _reserved_slots(fabric: Fabric, at: SwitchId) -> set[int]:
    """Return the slots that the plan has for links, including future ones."""
    layout = links.port_layout(fabric, at)
    return {*layout.down[: len(layout.down) - layout.reserved], *layout.up}


def _list_choices(
    fabric: Fabric, at: SwitchId, speed_gbps: int, naming: Naming, splits: Mapping[int, Split]
) -> dict[str, _Choice]:
    """List the ports that an external link of a speed can have, in panel order.

    A cage that the plan uses offers its free ports of that speed. Any other cage offers the ports of a split for that
    speed, unless another external link needs a different split.
    """
    layout, kept = links.port_layout(fabric, at), _reserved_slots(fabric, at)
    names = links.port_names(fabric, at)
    busy = {layout.slots[slot].cage for slot in kept}
    found: dict[str, _Choice] = {}
    for split in splits.values():
        for slot, name in zip(split.slots, split.names, strict=True):
            if slot.speed_gbps == speed_gbps:
                found[name] = _Choice(slot, split)
    for index, slot in enumerate(layout.slots):
        if slot.cage in busy and index not in kept and slot.speed_gbps == speed_gbps:
            found[names[index]] = _Choice(slot, None)
    nos = _nos_of_switch(fabric, at)
    model = fabric.model(at)
    for cage, group in list_cages(model):
        use = find_breakout(group, speed_gbps)
        if use is None or cage in busy or cage in splits:
            continue
        slots = tuple(
            Slot(cage, child, use.children, use.lanes, speed_gbps) for child in range(1, use.children + 1)
        )
        split = Split(slots, _port_names(naming, nos, model, slots))
        found |= {name: _Choice(slot, split) for name, slot in zip(split.names, slots, strict=True)}
    order = {slot.cage: place for place, slot in enumerate(layout.slots)}
    return dict(sorted(found.items(), key=lambda each: order.get(each[1].slot.cage, len(order))))


def _port_names(naming: Naming, nos: str, model: SwitchModel, slots: tuple[Slot, ...]) -> tuple[str, ...]:
    return tuple(naming.port_name(nos, model, slot) for slot in slots)


def _nos_of_switch(fabric: Fabric, at: SwitchId) -> str:
    change = fabric.changes.get(fabric.name(at))
    return (change and change.nos) or fabric.tiers[at.tier].nos


def _reach_findings(spec: ClusterSpec, link: ExternalLink, slot: Slot, path: KeyPath) -> Iterator[Diagnostic]:
    """Report a cable longer than its medium reaches at the speed of the link."""
    most = find_reach(link.medium, Fraction(slot.speed_gbps, slot.lanes))
    if link.cable_m > most.metres:
        message = f"{link.medium} of {link.cable_m} m; at {slot.speed_gbps}G it reaches {most.metres} m ({most.source})"
        yield spec.warning("FAB3026", message, *path, "length_m", help=f"The longest is {most.metres} m.")


def _ways_out(spec: ClusterSpec, fabric: Fabric, switches: Mapping[str, SwitchId]) -> Iterator[Diagnostic]:
    """Report external connectivity lost with one switch, and planes from which a party is not reachable."""
    planes = fabric.fabrics
    for outsider in spec.external:
        at = {link.at for link in outsider.links if link.at in switches}
        if not at:
            continue
        missing = sorted(set(range(planes)) - {switches[name].plane % planes for name in at})
        if missing:
            which = ", ".join(PLANE_LETTERS[plane] for plane in missing)
            message = f"external.{outsider.name} has no link in {plural(len(missing), 'plane')} of {planes}: {which}"
            help_ = "NIC ports of that plane cannot reach it: add a link at one of its switches."
            yield spec.warning("FAB3083", message, "external", outsider.name, help=help_)
        elif len(at) <= planes:
            message = f"external.{outsider.name} is reached over {plural(len(at), 'switch')} alone" + (
                " of each plane" if planes > 1 else ""
            )
            help_ = "If it fails, the party is unreachable: add a link at a second one."
            yield spec.warning("FAB3084", message, "external", outsider.name, help=help_)
