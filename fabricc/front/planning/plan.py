"""Plan a fabric from a spec, the catalog and the lock: every decision is made here and none later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity, worst_severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace, shared_attributes
from fabricc.fabric.addresses import Pool, asn_block
from fabricc.fabric.design import AddressPlan, RoutingPlan, TierPlan
from fabricc.fabric.fabric import Fabric
from fabricc.fabric.out_of_band import ManagementNetwork
from fabricc.fabric.routing import BgpSettings
from fabricc.fabric.shape import Shape, Strides, TierName
from fabricc.front.planning.field_problems import field_problem_findings
from fabricc.front.planning.hosts import (
    domain_groups,
    host_cable,
    nic_findings,
    rack_findings,
    racks_of,
    refuse_plane_split,
)
from fabricc.front.planning.identity.identities import given_bits, given_devices, given_links
from fabricc.front.planning.identity.link_addresses import numbered_outside
from fabricc.front.planning.identity.renaming import apply_names, with_moves
from fabricc.front.planning.networks.evpn import with_segments
from fabricc.front.planning.networks.external import add_external
from fabricc.front.planning.networks.management_switches import (
    narrow_subnets,
    out_of_band_findings,
    refuse_unmanaged,
)
from fabricc.front.planning.networks.overrides import apply_overrides
from fabricc.front.planning.networks.tenants import with_tenants
from fabricc.front.planning.quality import plan_quality
from fabricc.front.planning.topology import strides as stride_plan
from fabricc.front.planning.topology.attachments import attach_groups, refuse_renumbering
from fabricc.front.planning.topology.border import border_findings, with_border, with_leaves
from fabricc.front.planning.topology.clos import refuse_unpaired, with_present_planes
from fabricc.front.planning.topology.models import (
    Models,
    Naming,
    UnfitError,
    media_findings,
    models_at_releases,
    models_of,
    tiers_of,
)
from fabricc.front.planning.topology.pods import check_pods, count_units, pod_findings
from fabricc.front.planning.topology.resilience import (
    count_findings,
    drain_findings,
    ratio_findings,
    resilience_findings,
    spine_findings,
)
from fabricc.front.planning.topology.shape import Sizing, check_joined, size_fabric
from fabricc.front.planning.topology.shared_tors import refuse_unplaced, shared_tor_pins
from fabricc.front.planning.topology.spread import Spread, spread_findings, spread_links, spread_pins
from fabricc.front.planning.topology.tors import REPIN
from fabricc.front.planning.topology.units import (
    Identities,
    assign_identities,
    border_units,
    capacity_units,
    count_digits,
)
from fabricc.front.spec.classes import default_network_class, default_rdma_class
from fabricc.front.spec.load import soften_errors
from fabricc.front.spec.lock import Lock
from fabricc.front.spec.semantics import PRIVATE_ASNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netaddr import IPNetwork

    from fabricc.catalog.model import Catalog
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


def plan_fabric(spec: ClusterSpec, catalog: Catalog, lock: Lock, naming: Naming) -> Plan:
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
        models = models_of(spec, catalog)
        tiers = tiers_of(spec, models, catalog, naming, findings)
        if worst_severity(soften_errors(findings, spec.accept)) is Severity.ERROR:
            return Plan(None, lock, tuple(findings))
        models = models_at_releases(models, tiers)
        attached = attach_groups(spec, models)
        refuse_renumbering(spec, models, lock, attached)
        capacity = capacity_units(spec, models.hosts, attached)
        width = count_digits(spec, attached, capacity, lock.strides)
        leaves, per_pod = border_units(spec, models.hosts, attached), lock.strides.get("units_per_pod")
        found, names = apply_names(
            spec,
            lock.names,
            lambda each: assign_identities(
                spec, lock.units, lock.hosts, width, attached, per_pod, leaves, each
            ),
        )
        refuse_unplaced(spec, attached, found.units.values())
        check_joined(spec, models, found.places, lock.strides)
        check_pods(spec, models, catalog, found, lock)
        units = count_units(spec, found.present, capacity, lock)
        sizing = size_fabric(spec, models, found.present, units, lock.strides, catalog)
        findings.extend(pod_findings(spec, models, catalog, sizing, units, lock))
        findings.extend(count_findings(spec, models, catalog, sizing, found.present, units, lock))
        addresses = _plan_addresses(spec)
        strides = _plan_strides(spec, sizing, units + found.guests, addresses, lock.strides)
        routing = _plan_routing(spec, sizing, strides, models, findings)
        uplinks = spread_links(spec, sizing, lock)
        findings.extend(spread_findings(spec, sizing, uplinks))
        used = _in_use(addresses, sizing.shape)
        sizing = with_border(spec, models, sizing)
        fabric, names, tenants = _assemble_fabric(
            spec, found, models, tiers, sizing, uplinks, strides, used, routing, naming, names, lock.tenants, findings,
            lambda other: plan_fabric(other, catalog, lock, naming).fabric,
        )  # fmt: skip
    except UnfitError as unfit:
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


def _plan_addresses(spec: ClusterSpec) -> AddressPlan:
    wanted = spec.addressing
    v4, v6 = wanted.family != "ipv6", wanted.family != "ipv4"
    return AddressPlan(
        hosts4=_pool_of_network(wanted.hosts) if v4 else None,
        links4=replace(_pool_of_network(wanted.links), wide=wanted.link_prefix_length == 30) if v4 else None,
        loopbacks4=_pool_of_network(wanted.loopbacks),
        hosts6=_pool_of_network(wanted.hosts6) if v6 and wanted.hosts6 else None,
        links6=_pool_of_network(wanted.links6) if v6 and wanted.links6 else None,
        loopbacks6=_pool_of_network(wanted.loopbacks6) if v6 and wanted.loopbacks6 else None,
        numbered=wanted.fabric_links == "numbered",
        management=_management_networks(spec),
    )


def _management_networks(spec: ClusterSpec) -> tuple[ManagementNetwork, ...]:
    """Return the networks of some switches, and last that of all others where the spec has one."""
    management = spec.management
    if management.network is None or management.gateway is None:
        return management.networks
    pool = _pool_of_network(management.network)
    gateway = int(management.gateway) - pool.first
    return (*management.networks, ManagementNetwork("management.network", pool, pool.length, gateway))


def _in_use(plan: AddressPlan, shape: Shape) -> AddressPlan:
    """Return the pools without that of links where no switch has one to another."""
    return plan if shape.spines or shape.peer_links else replace(plan, links4=None, links6=None)


def _pool_of_network(network: IPNetwork) -> Pool:
    return Pool(int(network.first), int(network.prefixlen), int(network.version))


def _plan_strides(
    spec: ClusterSpec, sizing: Sizing, units: int, addresses: AddressPlan, pins: Mapping[str, int]
) -> Strides:
    shape, rails_per_tor = sizing.shape, max(each.rails_per_tor for each in sizing.bottom.attached)
    _check_pinned(spec, pins, shape, units, rails_per_tor)
    if all(name in pins for name in stride_plan.NAMES):
        strides = Strides(**{name: pins[name] for name in stride_plan.NAMES})
    else:
        strides = stride_plan.choose_strides(
            shape, units, sizing.most_uplinks, addresses, spec.routing, pins, rails_per_tor, given_bits(spec)
        )
    if scarce := stride_plan.asn_shortage(strides, shape, units, spec.routing):
        raise UnfitError(_too_few_asns(spec, scarce, strides, shape, units))
    if shortage := stride_plan.find_shortage(strides, shape, _in_use(addresses, shape)):
        full = 128 if shortage.pool.endswith("6") else 32
        message = (
            f"{shortage.pool}: {units} units need 2^{shortage.needs_bits} numbers, "
            f"there are 2^{shortage.has_bits}"
        )
        help_ = f"Use a pool of /{full - shortage.needs_bits} or larger."
        raise UnfitError(spec.error("FAB3017", message, "addressing", shortage.pool, help=help_))
    if narrow := stride_plan.management_shortage(strides, shape, units, addresses.management):
        everything = f"{units * shape.tors_per_unit} ToRs and {_describe_upper_switches(shape)}"
        raise UnfitError(narrow_subnets(spec, narrow, everything))
    return strides


def _too_few_asns(
    spec: ClusterSpec, scarce: stride_plan.Shortage, strides: Strides, shape: Shape, units: int
) -> Diagnostic:
    """FAB3120: the block of ASNs is too small, as one from a 16-bit base soon is."""
    block, wide = asn_block(spec.routing.asn_base), replace(spec.routing, asn_base=PRIVATE_ASNS[0])
    suffices = stride_plan.asn_shortage(strides, shape, units, wide) is None
    message = (
        f"AS {block.first} to {block.last} are too few for {plural(units, 'unit')} of "
        f"{plural(shape.tors_per_unit, 'ToR')} and {_describe_upper_switches(shape)}: "
        f"{scarce.pool} need 2^{scarce.needs_bits} by the strides of the plan and have 2^{scarce.has_bits}"
    )
    help_ = f"Write `asn_base: {PRIVATE_ASNS[0]}`: 4-byte ASNs (RFC 6793) suffice." if suffices else REPIN
    return spec.error("FAB3120", message, "routing", "asn_base", help=help_)


def _describe_upper_switches(shape: Shape) -> str:
    """Return the switches above the ToRs, counted."""
    spines = plural(shape.pods * shape.spines * shape.planes, "spine")
    return f"{spines}, {plural(shape.cores * shape.port_planes, 'core')}" if shape.cores else spines


def _check_pinned(
    spec: ClusterSpec, pins: Mapping[str, int], shape: Shape, units: int, rails_per_tor: int
) -> None:
    needs = {
        "host": (shape.hosts_per_unit, "hosts per unit"),
        "rail": (rails_per_tor, "rails per ToR"),
        "nic_port": (shape.nic_ports, "ports per NIC"),
        "group": (shape.groups, "ToRs per unit"),
        "unit": (units, "units"),
        "uplink": (shape.uplinks or shape.peer_links, "uplinks of a ToR"),
        "spine": (shape.spines, "spines"),
        "plane": (shape.planes, "planes"),
        "spine_uplink": (max(1, shape.spine_uplinks), "uplinks of a spine"),
    }
    broken = [
        spec.error(
            "FAB3020",
            f"the lock pins the stride {name} to {pins[name]}, but there are now {needed} {what}",
            "gpus" if name in ("host", "rail", "unit") else "spines",
            help=REPIN,
        )
        for name, (needed, what) in needs.items()
        if name in pins and needed > pins[name]
    ]
    if broken:
        raise UnfitError(*broken)


def _plan_routing(
    spec: ClusterSpec, sizing: Sizing, strides: Strides, models: Models, findings: list[Diagnostic]
) -> RoutingPlan:
    shape = sizing.shape
    paths = max(shape.uplinks, shape.spine_uplinks, shape.links_per_spine, shape.peer_links)
    switches = {m.name: m for m in (models.tor, models.spine, models.core) if m}.values()
    findings.extend(
        spec.error(
            "FAB3019",
            f"{paths} equal-cost paths are planned; {model.title} holds {model.ecmp_max_paths}",
            "spines",
            help="Use fewer, faster uplinks.",
        )
        for model in switches
        if paths > model.ecmp_max_paths
    )
    most = min(model.ecmp_max_paths for model in switches)
    tors = sizing.capacity_units * shape.tors_per_unit_plane
    everything = 2 * tors + shape.pods * shape.spines + shape.cores
    pod = 2 * shape.units_per_pod * shape.tors_per_unit_plane + shape.spines
    routing = spec.routing
    given = routing.maximum_paths
    if given is not None and not paths <= given <= most:
        message = f"routing.maximum_paths is {given}; {paths} equal-cost paths are planned, and switches hold {most}"
        findings.append(
            spec.error("FAB3019", message, "routing", "maximum_paths", help=f"Give {paths} to {most}.")
        )
    if routing.maximum_prefixes is not None and routing.maximum_prefixes < everything:
        message = (
            f"routing.maximum_prefixes is {routing.maximum_prefixes}, and a neighbor may send {everything}"
        )
        help_ = f"Give {everything} at least, or leave it out."
        findings.append(spec.error("FAB9750", message, "routing", "maximum_prefixes", help=help_))
    return RoutingPlan(
        **shared_attributes(routing, BgpSettings),
        asn_base=routing.asn_base,
        unique_spine_asn=routing.spine_asn == "unique",
        maximum_paths=routing.maximum_paths
        or min(most, max(64, stride_plan.power_of_two(paths), strides.uplink)),
        limit_from_above=max(128, stride_plan.power_of_two(2 * everything)),
        limit_from_tor=16,
        limit_from_spine=max(128, stride_plan.power_of_two(2 * pod)),
        maximum_prefixes=routing.maximum_prefixes,
    )


def _default_class(spec: ClusterSpec) -> str:
    """Return the class of RDMA of hosts that name none; "" for the first lossless one, or none."""
    if any(each.lossless for each in spec.priorities):
        return ""
    return (default_rdma_class if spec.network is None else default_network_class)(spec.priorities)


def _assemble_fabric(
    spec: ClusterSpec,
    found: Identities,
    models: Models,
    tiers: dict[TierName, TierPlan],
    sizing: Sizing,
    uplinks: Spread,
    strides: Strides,
    addresses: AddressPlan,
    routing: RoutingPlan,
    naming: Naming,
    names: dict[str, str],
    tenants: Mapping[str, int],
    findings: list[Diagnostic],
    planner: Planner,
) -> tuple[Fabric, dict[str, str], dict[str, int]]:
    hosts_alone = Fabric(
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
            "host": host_cable(spec, models, sizing.tor_layouts, sizing.bottom.attached),
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
        racks=racks_of(spec),
        domain_groups=domain_groups(spec, models.hosts, findings),
    )
    fabric = with_present_planes(spec, with_leaves(spec, models, hosts_alone))
    refuse_unpaired(spec, fabric)
    refuse_plane_split(spec, fabric)
    refuse_unmanaged(spec, fabric)
    findings.extend(_name_clashes(spec, fabric))
    fabric, names = with_moves(spec, given_devices(spec, fabric, findings), names, findings)
    findings.extend(rack_findings(spec, found.units))
    findings.extend(out_of_band_findings(spec, fabric))
    findings.extend(media_findings(spec, fabric))
    findings.extend(nic_findings(spec, fabric))
    findings.extend(spine_findings(spec, fabric))
    findings.extend(border_findings(spec, fabric))
    findings.extend(ratio_findings(spec, fabric))
    findings.extend(resilience_findings(spec, fabric))
    changed = given_links(spec, apply_overrides(spec, fabric, models, naming, findings), findings)
    routed = add_external(spec, changed, naming, findings, planner)
    divided, numbers = with_tenants(spec, with_segments(spec, routed, findings), tenants, findings)
    complete = plan_quality(spec, divided, naming, findings)
    findings.extend(field_problem_findings(spec, complete))
    findings.extend(drain_findings(spec, complete))
    return complete, names, numbers


def _port_names(
    spec: ClusterSpec, sizing: Sizing, tiers: dict[TierName, TierPlan], models: Models, naming: Naming
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
                raise UnfitError(
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
