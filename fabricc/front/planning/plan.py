"""Plan a fabric from a spec, the catalog and the lock: every decision is made here and none later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity, worst_severity
from fabricc.base.values import dataclass, shared_attributes
from fabricc.catalog import support
from fabricc.fabric.fabric import Fabric
from fabricc.fabric.shape import Strides, TierName
from fabricc.front.planning import hosts
from fabricc.front.planning.identity.identities import apply_device_table, apply_link_table
from fabricc.front.planning.identity.link_addresses import numbered_outside
from fabricc.front.planning.identity.renaming import apply_names, with_moves
from fabricc.front.planning.networks.evpn import with_segments
from fabricc.front.planning.networks.external import add_external
from fabricc.front.planning.networks.management_switches import out_of_band_findings, refuse_unmanaged
from fabricc.front.planning.networks.overrides import apply_overrides
from fabricc.front.planning.networks.tenants import with_tenants
from fabricc.front.planning.numbering import plan_addresses, plan_routing, plan_strides, used_pools
from fabricc.front.planning.quality import plan_quality
from fabricc.front.planning.topology import models as hardware_models
from fabricc.front.planning.topology import resilience, units
from fabricc.front.planning.topology.attachments import attach_groups, refuse_renumbering
from fabricc.front.planning.topology.border import border_findings, with_border, with_leaves
from fabricc.front.planning.topology.clos import refuse_unpaired, with_present_planes
from fabricc.front.planning.topology.pods import check_pods, count_units, pod_findings
from fabricc.front.planning.topology.shape import Sizing, check_joined, size_fabric
from fabricc.front.planning.topology.shared_tors import refuse_unplaced, shared_tor_pins
from fabricc.front.planning.topology.spread import Spread, spread_findings, spread_links, spread_pins
from fabricc.front.spec.load import soften_errors
from fabricc.front.spec.lock import Lock
from fabricc.front.spec.priorities import default_network_class, default_rdma_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import Catalog
    from fabricc.fabric.design import AddressPlan, RoutingPlan, TierPlan
    from fabricc.fabric.qos import SwitchQos
    from fabricc.front.planning.networks.external import Planner
    from fabricc.front.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """The outcome: a Fabric unless there are errors, the lock as it should be, and what was found.

    Attributes:
        draft: the fabric with its errors, for the worksheet that explains them; None where none took shape.
    """

    fabric: Fabric | None
    lock: Lock
    diagnostics: tuple[Diagnostic, ...]
    draft: Fabric | None = None


def plan_fabric(spec: ClusterSpec, catalog: Catalog, lock: Lock, naming: hardware_models.Naming) -> Plan:
    """Plan a fabric.

    Args:
        spec: a valid spec.
        catalog: the models it may use.
        lock: identities and strides of earlier builds; empty for a new fabric.
        naming: what is to be known of network operating systems.
    """
    findings: list[Diagnostic] = []
    try:
        spec, outside = numbered_outside(spec, lock)
        models = hardware_models.models_of(spec, catalog)
        tiers = hardware_models.tiers_of(spec, models, catalog, naming, findings)
        if worst_severity(soften_errors(findings, spec.accept)) is Severity.ERROR:
            return Plan(None, lock, tuple(findings))
        models = hardware_models.models_at_releases(models, tiers)
        attached = attach_groups(spec, models)
        refuse_renumbering(spec, models, lock, attached)
        capacity = units.capacity_units(spec, models.hosts, attached)
        width = units.count_digits(spec, attached, capacity, lock.strides)
        leaves, per_pod = units.border_units(spec, models.hosts, attached), lock.strides.get("units_per_pod")
        found, names = apply_names(
            spec,
            lock.names,
            lambda each: units.assign_identities(
                spec, lock.units, lock.hosts, width, attached, per_pod, leaves, each
            ),
        )
        refuse_unplaced(spec, attached, found.units.values())
        check_joined(spec, models, found.places, lock.strides)
        check_pods(spec, models, catalog, found, lock)
        unit_count = count_units(spec, found.present, capacity, lock)
        sizing = size_fabric(spec, models, found.present, unit_count, lock.strides, catalog)
        findings.extend(pod_findings(spec, models, catalog, sizing, unit_count, lock))
        findings.extend(
            resilience.count_findings(spec, models, catalog, sizing, found.present, unit_count, lock)
        )
        addresses = plan_addresses(spec)
        strides = plan_strides(spec, sizing, unit_count + found.guests, addresses, lock.strides)
        routing = plan_routing(spec, sizing, strides, models, findings)
        uplinks = spread_links(spec, sizing, lock)
        findings.extend(spread_findings(spec, sizing, uplinks))
        used = used_pools(addresses, sizing.shape)
        sizing = with_border(spec, models, sizing)
        fabric, names, tenants = _complete_fabric(
            spec, found, models,
            _assemble_fabric(spec, found, models, tiers, sizing, uplinks, strides, used, routing, naming, findings),
            naming, names, lock.tenants, findings,
            lambda other: plan_fabric(other, catalog, lock, naming).fabric,
        )  # fmt: skip
    except hardware_models.UnfitError as unfit:
        return Plan(None, lock, (*findings, *unfit.diagnostics))
    pinned = (
        sizing.pins
        | shared_attributes(strides, Strides)
        | {"unit_digits": width.unit, "host_digits": width.host}
    )
    pinned |= spread_pins(sizing, uplinks, lock)
    pinned |= shared_tor_pins(spec, sizing.bottom.attached, sizing.bottom.beside)
    new_lock = Lock(
        strides=pinned,
        units=found.locked_units,
        hosts=found.locked_hosts,
        links=outside,
        names=names,
        tenants=tenants,
    )
    failed = worst_severity(soften_errors(findings, spec.accept)) is Severity.ERROR
    return Plan(None if failed else fabric, new_lock, tuple(findings), fabric)


def _default_class(spec: ClusterSpec) -> str:
    """Return the class of RDMA of hosts that name none; "" for the first lossless one, or none."""
    if any(each.lossless for each in spec.priorities):
        return ""
    return (default_rdma_class if spec.network is None else default_network_class)(spec.priorities)


def _assemble_fabric(
    spec: ClusterSpec,
    found: units.Identities,
    models: hardware_models.Models,
    tiers: dict[TierName, TierPlan],
    sizing: Sizing,
    uplinks: Spread,
    strides: Strides,
    addresses: AddressPlan,
    routing: RoutingPlan,
    naming: hardware_models.Naming,
    findings: list[Diagnostic],
) -> Fabric:
    """Return a fabric with its devices, before names, overrides and further networks of the spec."""
    return Fabric(
        cluster=spec.cluster,
        shape=sizing.shape,
        strides=strides,
        units=found.units,
        host_models=models.hosts,
        attachments=sizing.bottom.attached,
        host_systems=tuple(group.os for group in spec.gpus.groups),
        host_classes=tuple(group.rdma_class or _default_class(spec) for group in spec.gpus.groups),
        host_sockets=tuple(group.socket_interface for group in spec.gpus.groups),
        host_leave_outs=tuple(group.leave_out for group in spec.gpus.groups),
        tiers=tiers,
        tor_layouts=sizing.tor_layouts,
        tor_links=uplinks.links,
        spine_layout=sizing.spine_layout,
        core_layout=sizing.core_layout,
        port_names=_port_names(spec, sizing, tiers, models, naming),
        addresses=addresses,
        routing=routing,
        services=spec.management.services,
        load_balancing=spec.load_balancing,
        cable_kinds={
            "host": hosts.host_cable(spec, models, sizing.tor_layouts, sizing.bottom.attached),
            "spine": spec.cables.spine,
            "core": spec.cables.core,
        }
        | ({"peer": spec.cables.peer} if spec.tors.peer_links else {}),
        switch_mtu=spec.switch_mtu,
        unused_silent=spec.unused_silent,
        descriptions=spec.descriptions,
        host_mtu=spec.host_mtu,
        qos={},
        profiles={},
        network=spec.network_name,
        number=spec.network.number if spec.network else 0,
        plane_split=spec.plane_split,
        rails_elsewhere=bool(spec.network and spec.network.rails_elsewhere),
        racks=hosts.racks_of(spec),
        domain_groups=hosts.domain_groups(spec, models.hosts, findings),
    )


def _complete_fabric(
    spec: ClusterSpec,
    found: units.Identities,
    models: hardware_models.Models,
    fabric: Fabric,
    naming: hardware_models.Naming,
    names: dict[str, str],
    tenants: Mapping[str, int],
    findings: list[Diagnostic],
    planner: Planner,
) -> tuple[Fabric, dict[str, str], dict[str, int]]:
    """Return a fabric with all that the spec states, the names and the numbers of tenants for the lock."""
    fabric = with_present_planes(spec, with_leaves(spec, models, fabric))
    refuse_unpaired(spec, fabric)
    hosts.refuse_plane_split(spec, fabric)
    refuse_unmanaged(spec, fabric)
    findings.extend(_name_clashes(spec, fabric))
    fabric, names = with_moves(spec, apply_device_table(spec, fabric, findings), names, findings)
    findings.extend(hosts.rack_findings(spec, found.units))
    findings.extend(out_of_band_findings(spec, fabric))
    findings.extend(hardware_models.media_findings(spec, fabric))
    findings.extend(hosts.nic_findings(spec, fabric))
    findings.extend(hosts.lane_findings(spec, fabric))
    findings.extend(resilience.spine_findings(spec, fabric))
    findings.extend(border_findings(spec, fabric))
    findings.extend(resilience.ratio_findings(spec, fabric))
    findings.extend(resilience.resilience_findings(spec, fabric))
    changed = apply_link_table(spec, apply_overrides(spec, fabric, models, naming, findings), findings)
    routed = add_external(spec, changed, naming, findings, planner)
    divided, numbers = with_tenants(spec, with_segments(spec, routed, findings), tenants, findings)
    complete = plan_quality(spec, divided, naming, findings)
    findings.extend(field_problem_findings(spec, complete))
    findings.extend(resilience.drain_findings(spec, complete))
    return complete, names, numbers


def _port_names(
    spec: ClusterSpec,
    sizing: Sizing,
    tiers: dict[TierName, TierPlan],
    models: hardware_models.Models,
    naming: hardware_models.Naming,
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Names of all slots, for each tier's NOS and for every NOS that an override brings to it."""
    layouts = [(f"tor{i}", models.tor, layout, TierName.TOR) for i, layout in enumerate(sizing.tor_layouts)]
    if models.spine:
        layouts.append(("spine", models.spine, sizing.spine_layout, TierName.SPINE))
    if models.core and sizing.core_layout:
        layouts.append(("core", models.core, sizing.core_layout, TierName.CORE))
    others = {change.nos.name for change in spec.overrides.values() if change.nos}
    if others:
        others &= set(naming.names())
    names = {}
    for key, model, layout, tier in layouts:
        for nos in sorted({tiers[tier].nos, *(nos for nos in others if naming.supports(nos, model))}):
            try:
                names[nos, key] = tuple(naming.port_name(nos, model, slot) for slot in layout.slots)
            except LookupError as error:
                message = f"the catalog's {model.name} names ports of {nos} by {error}, which no port has"
                help_ = "Use `{cage}` and the other placeholders that the schema lists for that system."
                raise hardware_models.UnfitError(
                    spec.error("FAB6041", message, f"{tier.value}s", "model", help=help_)
                ) from None
    return names


def _name_clashes(spec: ClusterSpec, fabric: Fabric) -> list[Diagnostic]:
    """Two devices of one name: only names that the user gave can clash with generated ones."""
    named = any(group.racks or group.host_names for group in spec.gpus.groups)
    if not named:
        return []
    seen: set[str] = set()
    clashing: dict[str, None] = {}
    for name in (
        *(fabric.name(switch) for switch in fabric.switch_ids()),
        *(host for unit in fabric.units.values() for host in unit.hosts.values()),
    ):
        if name in seen:
            clashing[name] = None
        seen.add(name)
    return [
        spec.error("FAB3021", f"two devices would be named {name!r}", "gpus", help="Rename the host or rack.")
        for name in clashing
    ]


def field_problem_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3091 for each known problem that the switches of a tier meet under this plan, once a system and model."""
    policy = next(iter(fabric.qos.values()), None)
    conditions = {
        support.LOSSLESS_CLASSES: policy is not None and len(policy.lossless) > 0,
        support.ONE_LOSSLESS_CLASS: policy is not None
        and len(policy.lossless) == 1
        and policy.watchdog is not None,
        support.MARKED_LOSSLESS_CLASS: policy is not None and any(each.ecn for each in policy.lossless),
        support.MARKED_LOSSLESS_CLASSES: policy is not None and _marks_lossless_classes(policy),
        support.WATCHDOG: policy is not None and len(policy.lossless) > 0 and policy.watchdog is not None,
        support.ROUTED_TUNNELS: _has_routed_tunnels(fabric),
        support.ANY_FABRIC: True,
    }
    reported = set()
    for tier, plan in fabric.tiers.items():
        for problem in support.load_field_problems():
            key = problem.name, plan.nos, plan.model.name
            if problem.when == support.ROUTED_TUNNELS and tier is not TierName.TOR:
                continue
            if key in reported or not (
                conditions[problem.when] and problem.affects(plan.nos, plan.release, plan.model.asic_family)
            ):
                continue
            reported.add(key)
            message = f"{plan.nos} on {plan.model.title}: {problem.problem}"
            help_ = f"{problem.way_out[0].upper()}{problem.way_out[1:]}. Source: {problem.source}."
            yield spec.warning("FAB3091", message, f"{tier.value}s", "model", help=help_)


def _has_routed_tunnels(fabric: Fabric) -> bool:
    """Return whether ToRs have VRFs that meet over more than one spine."""
    routed = bool(fabric.tenancy and fabric.tenancy.tunnels) or bool(fabric.evpn and fabric.evpn.vrfs)
    return routed and fabric.shape.spines > 1


def _marks_lossless_classes(policy: SwitchQos) -> bool:
    return len(policy.lossless) > 1 and sum(each.ecn for each in policy.lossless) > 1
