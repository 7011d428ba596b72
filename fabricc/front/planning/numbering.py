"""Plan the numbers of a fabric: pools of addresses, strides of coordinates, ASNs and limits of BGP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace, shared_attributes
from fabricc.fabric.addresses import Pool, asn_block
from fabricc.fabric.design import AddressPlan, RoutingPlan
from fabricc.fabric.out_of_band import ManagementNetwork
from fabricc.fabric.routing import BgpSettings
from fabricc.fabric.shape import Shape, Strides
from fabricc.front.planning.identity.identities import find_given_host_bits
from fabricc.front.planning.networks.management_switches import (
    narrow_subnets,
)
from fabricc.front.planning.topology import strides as stride_plan
from fabricc.front.planning.topology.models import (
    Models,
    UnfitError,
)
from fabricc.front.planning.topology.tors import REPIN
from fabricc.front.spec.semantics import PRIVATE_ASNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netaddr import IPNetwork

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.front.planning.topology.shape import Sizing
    from fabricc.front.spec.model import ClusterSpec


def plan_addresses(spec: ClusterSpec) -> AddressPlan:
    """Return the pools of addresses that a spec states."""
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


def used_pools(plan: AddressPlan, shape: Shape) -> AddressPlan:
    """Return the pools without that of links where no switch has one to another."""
    return plan if shape.spines or shape.peer_links else replace(plan, links4=None, links6=None)


def _pool_of_network(network: IPNetwork) -> Pool:
    return Pool(int(network.first), int(network.prefixlen), int(network.version))


def plan_strides(
    spec: ClusterSpec, sizing: Sizing, units: int, addresses: AddressPlan, pins: Mapping[str, int]
) -> Strides:
    """Return the room of each coordinate, as the lock pins it or as the fabric needs it.

    Raises:
        UnfitError: a stride of the lock is too small, or a pool or the block of ASNs.
    """
    shape, rails_per_tor = sizing.shape, max(each.rails_per_tor for each in sizing.bottom.attached)
    _check_pinned(spec, pins, shape, units, rails_per_tor)
    if all(name in pins for name in stride_plan.NAMES):
        strides = Strides(**{name: pins[name] for name in stride_plan.NAMES})
    else:
        strides = stride_plan.choose_strides(
            shape,
            units,
            sizing.most_uplinks,
            addresses,
            spec.routing,
            pins,
            rails_per_tor,
            find_given_host_bits(spec),
        )
    if scarce := stride_plan.asn_shortage(strides, shape, units, spec.routing):
        raise UnfitError(_too_few_asns(spec, scarce, strides, shape, units))
    if shortage := stride_plan.find_shortage(strides, shape, used_pools(addresses, shape)):
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


def plan_routing(
    spec: ClusterSpec, sizing: Sizing, strides: Strides, models: Models, findings: list[Diagnostic]
) -> RoutingPlan:
    """Return the numbers and limits of BGP, and report those of the spec that do not fit."""
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
