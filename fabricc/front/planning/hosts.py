"""Plan the ends that hosts have: cables with a medium that is sold for their cages, NICs, racks and NVLink domains.

What a plan needs of NICs and the catalog does not state is reported: port speeds, and tolerance of reordering.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.catalog import optics
from fabricc.catalog.model import Breakout, HostModel, SwitchModel
from fabricc.fabric.routing import Spreading
from fabricc.fabric.shape import Attachment, PortLayout, TierName, Unit
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.planning.topology.units import largest_rack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from fractions import Fraction

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableKind
    from fabricc.front.spec.model import ClusterSpec, HostGroup


def refuse_plane_split(spec: ClusterSpec, fabric: Fabric) -> None:
    """Reject NICs that are not known to split planes as the spec requires.

    Raises:
        UnfitError: FAB3352.
    """
    if spec.plane_split in ("", "none") or spec.infiniband is not None:
        return
    for group, model in zip(spec.gpus.groups, fabric.host_models, strict=False):
        if not model.gpus or spec.plane_split in model.nic.plane_splits:
            continue
        message = f"no source states that {model.nic.title} splits planes in {spec.plane_split}"
        known = [f"`plane_split: {split}`" for split in model.nic.plane_splits]
        help_ = f"Write {' or '.join([*known, '`plane_split: none`'])}, or take another NIC with `gpus.nic`."
        raise UnfitError(spec.error("FAB3352", message, *group.path, "model", help=help_))


def _unread_split(model: HostModel, attached: Attachment) -> str:
    """Return why the split of a NIC's port is assumed; "" for a port that is not split, or a split with a source."""
    source = model.nic.sources.get("ports", "")
    split = attached.nic_ports > model.ports_per_nic
    return f"{source[0].upper()}{source[1:]}" if split and source.startswith("assumed") else ""


def _lacks_flow_control(spec: ClusterSpec, group: HostGroup, model: HostModel) -> bool:
    """Return whether the class of the group's RDMA is lossy: its `class`, else the first lossless one if there is any.

    Without either, GPU hosts alone are known to use RDMA, and on the network of the rails.
    """
    if not group.rdma_class and (spec.network is not None or not model.gpus):
        return False
    return not any(each.lossless and each.name == (group.rdma_class or each.name) for each in spec.priorities)


def nic_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3350 for faster ports than the NIC's, FAB3351 for reordering, FAB3353 for splits, FAB3355 for missing PFC."""
    if spec.infiniband is not None:
        return
    for group, model, attached in zip(spec.gpus.groups, fabric.host_models, fabric.attachments, strict=False):
        most = model.nic.ethernet_gbps
        if most is not None and attached.gbps > most:
            yield spec.warning(
                "FAB3350",
                f"{model.nic.title} has no Ethernet port of {attached.gbps}G, but of {most}G at the most",
                *group.path,
                "model",
                help="Spread the ports of each NIC over `planes`, or take a host model with more and slower ports.",
            )
        if unread := _unread_split(model, attached):
            message = (
                f"no source shows {model.nic.title} split into {attached.nic_ports} ports of {attached.gbps}G"
            )
            help_ = f"Ask the maker, then state `ports` of the NIC in a catalog file. {unread}."
            yield spec.note("FAB3353", message, *group.path, "model", help=help_)
        if model.nic.needs_flow_control and _lacks_flow_control(spec, group, model):
            help_ = "Set `lossless: true` of its class, or state `needs_flow_control` of the NIC in a catalog file."
            message = f"RDMA has no PFC, which {model.nic.title} needs for its speed"
            yield spec.warning("FAB3355", message, *group.path, "model", help=help_)
        if not model.gpus or model.nic.out_of_order:
            continue
        help_ = "state `out_of_order` of the NIC in a catalog file."
        unknown = f"no source states that {model.nic.title} takes packets out of order"
        if spec.load_balancing.mode is Spreading.PACKET:
            message = f"switches spread packets, and {unknown}"
            remedy = f"Use `mode: flowlet` or `hash`, or {help_}"
            yield spec.warning("FAB3351", message, "load_balancing", "mode", help=remedy)
        elif spec.load_balancing.reassignment is not None:
            message = f"flows move without a pause, and {unknown}"
            remedy = f"Remove `reassignment`, or {help_}"
            yield spec.warning("FAB3351", message, "load_balancing", "reassignment", help=remedy)


def lane_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3354 where ports of hosts and ToRs have lanes of different speeds, and no part in the catalog joins them."""
    tor = fabric.tiers[TierName.TOR].model
    metres = fabric.cable_kinds["host"].length_m
    hosts = zip(spec.gpus.groups, fabric.host_models, fabric.tor_layouts, fabric.attachments, strict=False)
    for group, model, layout, attached in hosts:
        near = {
            optics.lane_gbps(end.use)
            for end in optics.host_ends(model, attached.ports_per_nic, attached.gbps)
        }
        far = {optics.lane_gbps(end.use) for end in _tor_ends(tor, layout, attached)}
        if (
            not near
            or near & far
            or any(
                _has_cable(model, tor, layout, medium, metres, attached) for medium in optics.load_reaches()
            )
        ):
            continue
        ours, theirs = (" and ".join(f"{float(speed):g}G" for speed in sorted(each)) for each in (near, far))
        message = f"ports of {attached.gbps}G have lanes of {ours}, those of {tor.title} {theirs}: no part joins them"
        help_ = f"Name ToRs with lanes of {ours}, or accept this with a maker's part; `plan --bom` lists the links."
        if uses := _list_uses_with_lanes(tor, attached.gbps, near):
            help_ = (
                f"A model of your own that `extends: {tor.name}` with `{uses[0]}` as its only {attached.gbps}G "
                "breakout fits (`fabricc docs catalog`); or accept this with a maker's part."
            )
        yield spec.warning("FAB3354", message, *group.path, "model", help=help_)


def _list_uses_with_lanes(tor: SwitchModel, gbps: int, lanes: Collection[Fraction]) -> list[str]:
    """Return the uses of cages that have ports of a speed on lanes of some speeds, most ports first."""
    uses = {use for group in tor.cages for use in group.breakouts if use.speed_gbps == gbps}
    ordered = sorted(uses, key=lambda use: -use.children)
    return [
        f"{use.children}x{use.speed_gbps}/{use.lanes}" for use in ordered if optics.lane_gbps(use) in lanes
    ]


MEDIUM = ("cables", "host", "medium")
MEDIA = ("aec", "mmf", "smf")
"""Media of host cables where the spec names none: the default of the schema, then those that join two cages that are
both split, as of a DGX, where no copper cable does; in order of their price. Of the latter, one comes first of which
the makers of both ends have numbers."""


def host_cable(
    spec: ClusterSpec, models: Models, layouts: Sequence[PortLayout], attached: Sequence[Attachment]
) -> CableKind:
    """Return the spec's cable between hosts and ToRs, of another medium where only the default one cannot be bought.

    Args:
        spec: whose cables.
        models: of hosts and ToRs.
        layouts: host group index -> port layout of its ToRs.
        attached: host group index -> how its hosts are attached.
    """
    cable = spec.cables.host
    if MEDIUM in spec.positions:
        return cable

    def joins_all(medium: str, *, sold: bool) -> bool:
        groups = zip(models.hosts, layouts, attached, strict=False)
        return all(
            _has_cable(host, models.tor, layout, medium, cable.length_m, each, sold=sold)
            for host, layout, each in groups
        )

    if joins_all(MEDIA[0], sold=False):
        return replace(cable, medium=MEDIA[0])
    joining = [medium for medium in MEDIA[1:] if joins_all(medium, sold=False)]
    bought = [medium for medium in joining if joins_all(medium, sold=True)]
    return replace(cable, medium=[*bought, *joining, cable.medium][0])


def with_host_cable(spec: ClusterSpec, planned: CableKind) -> ClusterSpec:
    """Return the spec with the medium of the planned host cable as the default that was taken."""
    if planned.medium == spec.cables.host.medium:
        return spec
    return replace(
        spec,
        cables=replace(spec.cables, host=planned),
        assumptions={**spec.assumptions, ".".join(MEDIUM): planned.medium},
    )


def _has_cable(
    host: HostModel, tor: SwitchModel, layout: PortLayout, medium: str, metres: int, attached: Attachment,
    *, sold: bool = False,
) -> bool:  # fmt: skip
    """Return whether a product in the catalog connects each host port, as its cage is split, to a cage of the host.

    `sold`: whether the makers of both ends must have numbers for it.
    """
    whole = attached.nic_ports == 1 and not host.cages  # one cable can carry all ports of a cage of the host
    near = optics.host_ends(host, attached.ports_per_nic, attached.gbps)
    ends = _tor_ends(tor, layout, attached)
    return not near or all(
        any(_has_reach(one, far, medium, metres, whole, sold) for one in near) for far in ends
    )


def _tor_ends(tor: SwitchModel, layout: PortLayout, attached: Attachment) -> set[optics.End]:
    """Return the kinds of ToR ports that hosts of a group use."""
    used = (layout.slots[index] for index in layout.down[: len(layout.down) - layout.reserved])
    ports = {(slot.cage, slot.children, slot.lanes) for slot in used if slot.speed_gbps == attached.gbps}
    forms = {
        cage: form for group in tor.cages for form in [optics.cage_form(group)] for cage in group.numbers
    }
    return {
        optics.End(form, Breakout(children, attached.gbps, lanes), tor.vendor)
        for form, children, lanes in {(forms[cage], children, lanes) for cage, children, lanes in ports}
    }


def _has_reach(near: optics.End, far: optics.End, medium: str, metres: int, whole: bool, sold: bool) -> bool:
    alone = near.use.children == 1 or whole
    fits = optics.find_fits(near, far, medium, alone=alone)
    return any(
        optics.is_sold(fit, metres, near, far) if sold else optics.reach_of(fit) >= metres for fit in fits
    )


def racks_of(spec: ClusterSpec) -> dict[str, str]:
    """Return host -> rack, of the hosts that rail wiring places in racks."""
    return {host: rack for group in spec.gpus.groups for host, rack in group.rack_of.items()}


def rack_findings(spec: ClusterSpec, units: Mapping[int, Unit]) -> Iterator[Diagnostic]:
    """FAB3057 where hosts of one rack belong to several units, so that their cables lead to other ToRs."""
    racks = racks_of(spec)
    seats: dict[str, set[int]] = {}
    for unit in units.values():
        for host in unit.hosts.values():
            if host in racks:
                seats.setdefault(racks[host], set()).add(unit.coordinate)
    split = [rack for rack, at in seats.items() if len(at) > 1]
    if split:
        names = (
            f"{split[0]} stands"
            if len(split) == 1
            else f"{split[0]} and {plural(len(split) - 1, 'other')} stand"
        )
        message = f"rack {names} in several units: {len(seats[split[0]])} for the hosts of {split[0]}"
        largest = max(map(largest_rack, spec.gpus.groups))
        help_ = f"Let `hosts_per_unit` be a multiple of {largest}, the hosts of the largest rack."
        yield spec.warning("FAB3057", message, "gpus", help=help_)


def domain_groups(
    spec: ClusterSpec, models: Sequence[HostModel], findings: list[Diagnostic]
) -> frozenset[int]:
    """Return host groups each rack of which is one NVLink domain of several hosts; `models`: by group.

    FAB3170 where nothing defines which hosts share NVLink, FAB3171 where a rack holds more of them than do.
    """
    found = set()
    for index, (group, model) in enumerate(zip(spec.gpus.groups, models, strict=True)):
        most = model.domain_hosts
        if spec.network or most == 1:
            continue
        with_tors = spec.gpus.wiring == "rack"
        rack, hosts = max(Counter(group.rack_of.values()).items(), key=lambda item: item[1], default=("", 0))
        if 0 < (group.hosts_per_unit if with_tors and group.beside is None else hosts) <= most:
            found.add(index)
        elif hosts:
            message = f"rack {rack} holds {hosts} hosts of {model.name}, and NVLink joins {most}"
            help_ = f"Give every NVLink domain a rack of its own, of {plural(most, 'host')} at most."
            findings.append(spec.error("FAB3171", message, *group.path, "racks", help=help_))
        else:
            message = (
                f"it is unknown which hosts of {group.name} share NVLink: {most} of {model.name} in a rack do"
            )
            help_ = (
                f"Write `hosts_per_rack: {most}`, a ToR for each rack."
                if with_tors
                else f"Name the racks instead of `hosts`: `racks: [a01, a02]` with `hosts_per_rack: {most}`."
            )
            findings.append(spec.warning("FAB3170", message, *group.path, help=help_))
    return frozenset(found)
