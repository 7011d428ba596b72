"""Attach the hosts of each group: spread their ports over planes, rails and the ToRs of a unit.

Hosts with GPUs decide what a unit is: how many ToRs it has, and for which NIC ports. A port of a host without GPUs, or
of a further network, belongs to no GPU, so such ports are spread over the existing ToRs: two ports form one rail on the
pair of ToRs of a dual-ToR fabric, or one rail over two planes, and two rails elsewhere.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.fabric.shape import Attachment
from fabricc.front.planning.topology import clos
from fabricc.front.planning.topology.models import Models, UnfitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import HostModel
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


def attach_groups(spec: ClusterSpec, models: Models) -> tuple[Attachment, ...]:
    """Return host group index -> how its hosts are attached.

    Raises:
        UnfitError: no unit of this fabric can connect the hosts of a group.
    """
    hosts, groups = models.hosts, spec.gpus.groups
    leading = find_leading_group(hosts, range(len(groups)))
    _reject_mixed_hosts(spec, hosts)
    lead = _rail_by_rail(spec, leading, hosts[leading])
    measure = hosts[leading].rails, hosts[leading].ports_per_nic
    found = [
        _rail_by_rail(spec, index, model)
        if index == leading
        or (model.gpus and (spec.network is None or (model.rails, model.ports_per_nic) == measure))
        else _spread_ports(spec, index, model, lead)
        for index, model in enumerate(hosts)
    ]
    homes = [_find_home_group(spec, index, leading) for index in range(len(groups))]
    wrong = [
        _too_many_tors(spec, index, own, found[home])
        for index, (own, home) in enumerate(zip(found, homes, strict=True))
        if own.tors > found[home].tors or own.nic_ports > found[home].nic_ports
    ]
    if wrong:
        raise UnfitError(*wrong)
    placed = [_in_sets(spec, index, own, found[homes[index]]) for index, own in enumerate(found)]
    return tuple(_number_tor_ports(index, own, placed) for index, own in enumerate(placed))


def find_leading_group(hosts: Sequence[HostModel], groups: Iterable[int]) -> int:
    """Return the group that determines the layout of a unit: the first with GPUs, else the first."""
    first, *others = groups
    return next((index for index in (first, *others) if hosts[index].gpus), first)


def refuse_renumbering(spec: ClusterSpec, models: Models, lock: Lock, found: Sequence[Attachment]) -> None:
    """Reject a group whose units differ from those that the lock has numbers for.

    Raises:
        UnfitError: FAB3071.
    """
    groups = spec.gpus.groups
    known = [i for i, group in enumerate(groups) if any(k.startswith(f"{group.name}/") for k in lock.units)]
    if not lock.strides:
        return
    before, now = (
        find_leading_group(models.hosts, known or [0]),
        find_leading_group(models.hosts, range(len(groups))),
    )
    was, becomes = found[before], found[now]
    if (was.tors, was.nic_ports) != (becomes.tors, becomes.nic_ports):
        raise UnfitError(
            spec.error(
                "FAB3071",
                f"with {groups[now].name} a unit has {_describe_tors(becomes)}; the lock has numbers for units of "
                f"{groups[before].name} with {_describe_tors(was)}",
                *groups[now].path,
                help=f"List new groups after the old ones, or give {groups[now].name} its own spec and lock. Deleting "
                "the lock renumbers everything.",
            )
        )


def reject_partial_rails(
    spec: ClusterSpec, found: Sequence[Attachment], lead: Attachment, planes: clos.Planes
) -> None:
    """Reject hosts on some rails of a fabric whose rails are not joined.

    Raises:
        UnfitError: FAB3076.
    """
    if planes.by_rail == 1 or spec.cores is not None:
        return
    wrong = [
        spec.error(
            "FAB3076",
            f"a host of {group.name} is on {own.tors} of the {lead.tors} ToRs of a unit for a NIC port, and nothing "
            "joins the rails: it reaches those alone",
            *group.path,
            help="Give these hosts a spec of their own, or join the rails: `wiring: rail` without `spines.rails`.",
        )
        for group, own in zip(spec.gpus.groups, found, strict=True)
        if own.tors < lead.tors
    ]
    if wrong:
        raise UnfitError(*wrong)


def _describe_tors(unit: Attachment) -> str:
    return plural(unit.tors * unit.nic_ports, "ToR") + f" ({unit.tors} for each NIC port)"


def _reject_mixed_hosts(spec: ClusterSpec, hosts: Sequence[HostModel]) -> None:
    """Reject hosts with GPUs that differ in the number of rails, or of ports on each."""
    alike = [model for model in hosts if model.gpus and spec.network is None]
    if len({model.rails for model in alike}) > 1:
        names = ", ".join(f"{m.name} {m.rails}" for m in alike)
        message = f"host models with GPUs differ in their number of rails: {names}"
        help_ = "Plan models of different rail counts as separate fabrics."
        raise UnfitError(spec.error("FAB3001", message, "gpus", help=help_))
    if len({_ports_per_nic(spec, model) for model in alike}) > 1:
        message = "host models with GPUs differ in their number of ports per NIC"
        raise UnfitError(spec.error("FAB3003", message, "gpus", help="Plan them as separate fabrics."))


def _ports_per_nic(spec: ClusterSpec, model: HostModel) -> int:
    """Return the number of cabled ports of one NIC, after splitting, which the planes divide."""
    options = list_port_splits(model)
    fitting = [count for count in options if count % spec.planes == 0]
    if not fitting:
        raise UnfitError(_report_uneven_planes(spec, model, options))
    return model.ports_per_nic if model.ports_per_nic in fitting else min(fitting)


def _report_uneven_planes(spec: ClusterSpec, model: HostModel, counts: Iterable[int]) -> Diagnostic:
    possible = ", ".join(str(n) for n in sorted({d for count in counts for d in clos.list_divisors(count)}))
    message = f"{model.title} cannot be spread over {spec.planes} planes"
    return spec.error("FAB3002", message, "planes", help=f"Its NICs allow {possible}.")


def list_port_splits(model: HostModel) -> dict[int, int]:
    """Return the number of ports of one NIC -> speed of each, unsplit and split."""
    options = {model.ports_per_nic: model.port_gbps}
    for split in model.nic.port_splits:
        if split.children * split.speed_gbps == model.port_gbps:
            options[model.ports_per_nic * split.children] = split.speed_gbps
    return options


def _rail_by_rail(spec: ClusterSpec, index: int, model: HostModel) -> Attachment:
    """Return one rail for each NIC."""
    each = _ports_per_nic(spec, model)
    requested = _requested_rails(spec, index) or model.rails
    return _attachment_in_set(
        spec, index, (model.rails, each, requested), list_port_splits(model)[each], each
    )


def _spread_ports(spec: ClusterSpec, index: int, model: HostModel, lead: Attachment) -> Attachment:
    """Spread ports of hosts without GPUs over rails and NIC ports of the ToRs."""
    options = list_port_splits(model)
    for each in sorted(options, key=lambda count: (count != model.ports_per_nic, count)):
        ports = model.rails * each
        of_rail = gcd(ports, lead.nic_ports)
        if of_rail % spec.planes == 0:
            rails, own = ports // of_rail, spec.gpus.groups[index].rails_per_tor
            requested = _requested_rails(spec, index) or rails
            per_tor = requested if own is not None else gcd(requested, rails)
            return _attachment_in_set(spec, index, (rails, of_rail, per_tor), options[each], each)
    raise UnfitError(
        _report_uneven_planes(spec, model, [gcd(model.rails * each, lead.nic_ports) for each in options])
    )


def _requested_rails(spec: ClusterSpec, index: int) -> int:
    """Return the number of rails that share a ToR; 0 for all."""
    own = spec.gpus.groups[index].rails_per_tor
    return spec.gpus.rails_per_tor if own is None else own


def _attachment_in_set(
    spec: ClusterSpec, index: int, wiring: tuple[int, int, int], gbps: int, ports_per_nic: int
) -> Attachment:
    """Return an attachment in one set; `wiring`: rails, NIC ports, rails that share a ToR."""
    rails, nic_ports, per_tor = wiring
    group = spec.gpus.groups[index]
    if rails % per_tor:
        fitting = ", ".join(str(d) for d in clos.list_divisors(rails))
        raise UnfitError(
            spec.error(
                "FAB3004",
                f"{rails} rails cannot be shared out {per_tor} to a ToR",
                *(("gpus",) if group.rails_per_tor is None else group.path),
                "rails_per_tor",
                help=f"Use one of {fitting}.",
            )
        )
    slots = group.hosts_per_unit
    return Attachment(rails, nic_ports, per_tor, gbps, ports_per_nic, slots, slots)


def _find_home_group(spec: ClusterSpec, index: int, leading: int) -> int:
    """Return the group whose units provide the ToRs: the one that its `beside` key names, else the leading group."""
    names = [group.name for group in spec.gpus.groups]
    beside = spec.gpus.groups[index].beside
    return leading if beside is None else names.index(beside)


def _too_many_tors(spec: ClusterSpec, index: int, own: Attachment, home: Attachment) -> Diagnostic:
    group = spec.gpus.groups[index]
    fewest = -(-own.rails // home.tors)
    share = next(n for n in clos.list_divisors(own.rails) if n >= fewest)
    return spec.error(
        "FAB3070",
        f"a host of {group.name} would be on {own.tors * own.nic_ports} ToRs, a unit has {_describe_tors(home)}",
        *group.path,
        help=f"Write `rails_per_tor: {share}` in that group: so many of its rails then share a ToR.",
    )


def _in_sets(spec: ClusterSpec, index: int, own: Attachment, home: Attachment) -> Attachment:
    """Return the attachment with the number of sets of ToRs that a unit has for the group; a rack is one set."""
    names = [group.name for group in spec.gpus.groups]
    beside = spec.gpus.groups[index].beside
    if beside is not None:
        sets = home.tors // own.tors
        return replace(own, sets=sets, hosts=-(-own.slots // sets), beside=names.index(beside))
    sets = 1 if spec.gpus.wiring == "rack" else home.tors // own.tors
    return replace(own, sets=sets, slots=own.hosts * sets)


def _number_tor_ports(index: int, own: Attachment, every: Sequence[Attachment]) -> Attachment:
    """Return the attachment with its first port on a ToR: after the ports of the unit's hosts and of earlier groups."""
    if own.beside is None:
        return own
    earlier = [every[own.beside], *(each for each in every[:index] if each.beside == own.beside)]
    return replace(own, first_port=sum(each.ports for each in earlier))
