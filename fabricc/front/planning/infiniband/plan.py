"""Plan an InfiniBand fabric: topology as everywhere, then identities and the engine that routes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity, worst_severity
from fabricc.base.values import dataclass, shared_attributes
from fabricc.fabric.addresses import Pool
from fabricc.fabric.design import AddressPlan, RoutingPlan, TierPlan
from fabricc.fabric.fabric import Fabric
from fabricc.fabric.infiniband import Engine, InfinibandFabric, IpoibPlan, LidPlan, spine_sets, subnet_rails
from fabricc.fabric.model import Services
from fabricc.fabric.naming import host_port_name
from fabricc.fabric.routing import BgpSettings
from fabricc.fabric.shape import Shape, Slot, SwitchId, TierName
from fabricc.front.planning.hosts import domain_groups, host_cable, rack_findings, racks_of
from fabricc.front.planning.identity.renaming import with_former_names
from fabricc.front.planning.identity.repinning import ChangedParts, as_pinned, compare_fabrics
from fabricc.front.planning.infiniband import refusals
from fabricc.front.planning.infiniband.members import partitions_of, read_guids, tenant_partitions
from fabricc.front.planning.networks.overrides import apply_overrides
from fabricc.front.planning.topology import strides as stride_plan
from fabricc.front.planning.topology.attachments import attach_groups
from fabricc.front.planning.topology.clos import with_present_planes
from fabricc.front.planning.topology.layout import Room, port_rooms
from fabricc.front.planning.topology.models import Models, UnfitError, models_of
from fabricc.front.planning.topology.pods import check_pods, count_units
from fabricc.front.planning.topology.shape import Sizing, check_joined, size_fabric
from fabricc.front.planning.topology.spread import Spread, spread_findings, spread_links, spread_pins
from fabricc.front.planning.topology.tors import REPIN
from fabricc.front.planning.topology.units import Identities, assign_identities, capacity_units, count_digits
from fabricc.front.spec.lock import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fabricc.catalog.model import Catalog, SwitchModel
    from fabricc.front.spec.model import ClusterSpec, Infiniband


LARGE = 10_240
"""Adapters beyond which ftree is not the first choice: opensm 3.3.23 took 36 s for 8,192 and its time grows with the
square; updn, which is as free of loops, needed 133 s for 16,384 (measured on ibsim, two cores)."""


def choose_engine(
    spec: ClusterSpec, section: Infiniband, wiring: Fabric, findings: list[Diagnostic]
) -> Engine:
    """Return the engines of a fabric; a requested engine that does not fit is a finding (FAB5815).

    opensm falls back to minhop, which may deadlock, when an engine rejects a fabric, and reports it only in its log.
    Hence the second name: updn takes what ftree refuses, and is free of credit loops.
    """
    fitting, reason = _choose_engine(spec, wiring)
    requested = section.routing
    if requested in ("auto", fitting):
        return Engine(_with_fallback(fitting), reason)
    if requested == "ftree":
        message = f"ftree does not fit: {reason}"
        help_ = "opensm would fall back to minhop in silence; use `auto`."
        findings.append(spec.error("FAB5815", message, "infiniband", "routing", help=help_))
    elif requested == "minhop":
        message = f"minhop may build credit loops when links fail; {fitting} does not"
        findings.append(
            spec.warning("FAB5815", message, "infiniband", "routing", help="Use `auto`, or accept it.")
        )
    return Engine(_with_fallback(requested), "requested by the spec")


def _choose_engine(spec: ClusterSpec, wiring: Fabric) -> tuple[str, str]:
    shape, counts = wiring.shape, wiring.counts()
    tors = counts["tors"] // wiring.fabrics
    if tors == 1:
        return "minhop", "one leaf: every path is inside it, so there is no loop and no choice of paths"
    if shape.peer_links:
        return "minhop", "two leaves: a path crosses one of the links between them, so there is no loop"
    above = [
        name
        for name, tier in (("spines", spec.spines), ("cores", spec.cores))
        if tier and tier.reserved_ports
    ]
    if above:
        return "updn", f"{' and '.join(above)} keep ports for other devices; ftree takes hosts on leaves only"
    if counts["host_cables"] // wiring.fabrics > LARGE:
        return "updn", f"more than {LARGE:,} adapter ports: ftree computes too long after a failure"
    tiers = "three-tier" if shape.cores else "two-tier"
    return "ftree", f"a {tiers} fat tree with hosts on leaves only: ftree balances shift patterns on it"


def _with_fallback(engine: str) -> tuple[str, ...]:
    return ("ftree", "updn") if engine == "ftree" else (engine,)


NDR_LANE_GBPS = 100
"""Speed of a lane from which released versions of the open subnet manager do not suffice.

linux-rdma/opensm issue 38: on Quantum-2 larger packets fail with it and pass with NVIDIA's. Pull request 39, which
corrects that, was merged on 2026-03-30 and is in no release; the last release is 3.3.24 of 2021.
"""


def subnet_manager_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB5623 for switches of NDR and faster."""
    layouts = [*fabric.tor_layouts, fabric.spine_layout, fabric.core_layout]
    slots = [slot for layout in layouts if layout is not None for slot in layout.slots]
    lane_gbps = max(slot.speed_gbps / slot.lanes for slot in slots)
    if lane_gbps >= NDR_LANE_GBPS:
        generation = "NDR" if lane_gbps == NDR_LANE_GBPS else "XDR"
        message = (
            f"{spec.tors.model}: no released version of the open subnet manager (opensm up to 3.3.24) runs "
            f"{generation} links correctly"
        )
        help_ = "Use NVIDIA's opensm (DOCA-OFED), UFM, or the switch's own, with the files of `subnets/`."
        yield spec.note("FAB5623", message, "tors", help=help_)


NOS = "infiniband"
"""Key of the settings of an InfiniBand switch in the catalog."""
ACCEPTABLE = ("FAB5806",)
"""Errors that a spec may accept with a reason: the fabric can be planned all the same."""
_EVERYTHING = Pool(0, 0, 4)


class PanelNames:
    """Ports as printed on the front panel: the naming interface of planning without an operating system."""

    def names(self) -> tuple[str, ...]:
        """Return nothing: no network operating system runs on the switches."""
        return ()

    def supports(self, nos: str, model: SwitchModel) -> bool:
        """Return whether the model is an InfiniBand switch."""
        return nos == NOS and NOS in model.nos

    def releases(self, nos: str) -> tuple[str, ...]:
        """Return no names: InfiniBand switches have no operating system in the spec.

        Raises:
            KeyError: always.
        """
        raise KeyError(nos)

    def release(self, nos: str, release: str | None) -> str:
        """Return no releases: InfiniBand switches have no operating system in the spec.

        Raises:
            KeyError: always.
        """
        raise KeyError(f"{nos}-{release}")

    def sets_headroom_pool(self, nos: str) -> bool:
        """Return no pools: InfiniBand has no pools of buffers.

        Raises:
            KeyError: always.
        """
        raise KeyError(nos)

    def sets_pfc(self, nos: str) -> bool:
        """Return no PFC: credits make InfiniBand lossless.

        Raises:
            KeyError: always.
        """
        raise KeyError(nos)

    def longest_cable_m(self, nos: str, model: SwitchModel) -> None:
        """Return no limit: credits make InfiniBand lossless.

        Raises:
            KeyError: always.
        """
        raise KeyError(f"{nos} of {model.name}")

    def vendor_policy(self, nos: str) -> None:
        """Return no lossless policy: credits make InfiniBand lossless.

        Raises:
            KeyError: always.
        """
        raise KeyError(nos)

    def port_name(self, nos: str, model: SwitchModel, slot: Slot) -> str:
        """Return the printed name: `7`, or `4/1` and `4/2` in a twin-port cage."""
        pattern = str(model.nos[nos]["port"]) if slot.children > 1 else "{cage}"
        return pattern.format(cage=slot.cage, child=slot.child)


@dataclass(frozen=True, slots=True)
class _Lids:
    """The LIDs of one fabric as what identifies its devices."""

    lids: LidPlan
    shape: Shape

    def switch(self, at: SwitchId) -> int:
        """Return the LID of a switch."""
        return self.lids.switch(self.shape, at)

    def host(self, unit: int, slot: int) -> int:
        """Return the first LID of a host; the others follow."""
        return self.lids.host_port(self.shape, unit, slot, 0, 0)


@dataclass(frozen=True, slots=True)
class InfinibandPlan:
    """The outcome: a fabric unless there are errors, the lock as it should be, and what was found."""

    fabric: InfinibandFabric | None
    lock: Lock
    diagnostics: tuple[Diagnostic, ...]


def plan_infiniband(spec: ClusterSpec, catalog: Catalog, lock: Lock, folder: Path) -> InfinibandPlan:
    """Plan a fabric.

    Args:
        spec: a valid spec with an InfiniBand section.
        catalog: the models it may use.
        lock: identities and strides of earlier builds; empty for a new fabric.
        folder: where the spec is, for its file of GUIDs.

    Raises:
        ValueError: the spec is of another kind of fabric.
    """
    section = spec.infiniband
    if section is None:
        raise ValueError("not an InfiniBand spec")
    findings: list[Diagnostic] = []
    try:
        models = models_of(spec, catalog)
        refusals.check_hardware(spec, models, NOS)
        refusals.refuse_single(spec, models)
        attached = attach_groups(spec, models)
        capacity = capacity_units(spec, models.hosts, attached)
        width = count_digits(spec, attached, capacity, lock.strides)
        found = assign_identities(
            spec, lock.units, lock.hosts, width, attached, lock.strides.get("units_per_pod")
        )
        check_joined(spec, models, found.places, lock.strides)
        check_pods(spec, models, catalog, found, lock)
        present = found.present
        units = count_units(spec, present, capacity, lock)
        sizing = size_fabric(spec, models, present, units, lock.strides, catalog)
        uplinks = spread_links(spec, sizing, lock)
        findings.extend(spread_findings(spec, sizing, uplinks))
        findings.extend(rack_findings(spec, found.units))
        wiring = with_present_planes(
            spec, _build_wiring(spec, found, models, sizing, uplinks, units, findings)
        )
        wiring = with_former_names(spec, apply_overrides(spec, wiring, models, PanelNames(), findings))
        lids = _plan_lids(spec, sizing, present, units, lock.strides)
        findings += refusals.check_lids(spec, models, sizing.shape, lids, units, NOS)
        findings += refusals.check_classes(spec, section, models, NOS)
        ipoib = _plan_ipoib(spec, section, lids, sizing, units, findings)
    except UnfitError as unfit:
        return InfinibandPlan(None, lock, (*findings, *unfit.diagnostics))
    names = _guid_names(wiring)
    guids: Mapping[str, int] = {}
    if section.guids is not None:
        guids, wrong = read_guids(folder / section.guids, names, spec.position("infiniband", "guids"), folder)
        findings += wrong
    findings += subnet_manager_findings(spec, wiring)
    findings += refusals.report_unnamed_ports(spec, models, guids)
    findings += refusals.report_placeholders(spec, len(names) - len(guids), len(names))
    partitions, tenants = partitions_of(spec, section, wiring, findings), dict(lock.tenants)
    if spec.tenants:
        partitions, tenants = tenant_partitions(spec, wiring, lock.tenants, findings)
    if partitions and ipoib is not None:
        findings += refusals.partition_interfaces(spec)
        findings += refusals.check_interface_names(spec, wiring, partitions)
    engine = choose_engine(spec, section, wiring, findings)
    fabric = InfinibandFabric(wiring, lids, guids, engine, section.classes, partitions, ipoib)
    pinned = sizing.pins | {"unit_digits": width.unit, "host_digits": width.host}
    pinned |= {"lid_spine": lids.spine, "lid_unit": lids.unit, "lid_slots": lids.slots}
    pinned |= {"lid_rails": lids.rails} if sizing.shape.rails_apart else {}
    pinned |= spread_pins(sizing, uplinks, lock)
    new_lock = Lock(strides=pinned, units=found.locked_units, hosts=found.locked_hosts, tenants=tenants)
    blocking = [each for each in findings if each.code not in ACCEPTABLE]
    return InfinibandPlan(
        None if worst_severity(blocking) is Severity.ERROR else fabric, new_lock, tuple(findings)
    )


def find_touched(
    spec: ClusterSpec, catalog: Catalog, lock: Lock, after: InfinibandFabric | None
) -> ChangedParts:
    """Return the parts of a fabric with the lock's pins that differ in `after`; its numbers are LIDs."""
    if after is None:
        return ChangedParts()
    before = as_pinned(spec, catalog, lock, after.wiring)
    pins = lock.strides
    if before is None or not {"lid_spine", "lid_unit", "lid_slots"} <= pins.keys():
        return compare_fabrics(None, after.wiring)
    rails = pins.get("lid_rails", before.shape.rails)
    then = LidPlan(pins["lid_spine"], pins["lid_unit"], pins["lid_slots"], rails)
    return compare_fabrics(
        before, after.wiring, _Lids(then, before.shape), _Lids(after.lids, after.wiring.shape)
    )


def list_rooms(ib: InfinibandFabric) -> tuple[Room, ...]:
    """List the room of every pin."""
    shape, lids = ib.wiring.shape, ib.lids
    cores = [Room("lid_spine", "cores, by their LIDs", shape.cores, lids.spine - 1)] if shape.cores else []
    return (
        *port_rooms(ib.wiring),
        *cores,
        Room(
            "lid_unit",
            "spines of a subnet, by their LIDs",
            shape.pods * spine_sets(shape) * shape.spines,
            lids.unit - lids.spine,
        ),
        Room("lid_slots", "hosts of a unit, by their LIDs", shape.hosts_per_unit, lids.slots),
        *(
            [Room("lid_rails", "rails of a subnet, by their LIDs", subnet_rails(shape), lids.rails)]
            if shape.rails_apart
            else []
        ),
    )


def _plan_lids(
    spec: ClusterSpec, sizing: Sizing, present: int, units: int, pins: Mapping[str, int]
) -> LidPlan:
    """Choose where LIDs begin: as pinned, else with room for every pod the cores can join, and to grow if it fits."""
    shape = sizing.shape
    pods = sizing.capacity_units // shape.units_per_pod if shape.cores else 1
    spines = spine_sets(shape) * shape.spines
    spine = pins.get("lid_spine", 1 + shape.cores)
    unit = pins.get("lid_unit", spine + pods * spines)
    exact = shape.hosts_per_unit
    apart = subnet_rails(shape)
    # Locks of earlier releases have room for all rails in the subnet of each.
    earlier = not pins.keys().isdisjoint({"lid_spine", "lid_unit", "lid_slots"})
    rails = pins.get("lid_rails", shape.rails if earlier else apart)
    roomy = LidPlan(spine, unit, stride_plan.power_of_two(exact), rails)
    slots = pins.get("lid_slots") or (roomy.slots if roomy.top(shape, units) <= 0x7FFF else exact)
    there = present if not shape.cores else -(-present // shape.units_per_pod)
    needed = {
        "lid_spine": (spine, 1 + shape.cores, "cores"),
        "lid_unit": (unit, spine + (there if shape.cores else 1) * spines, "spines"),
        "lid_slots": (slots, exact, "hosts per unit"),
        "lid_rails": (rails, apart, "rails of a subnet"),
    }
    broken = [
        spec.error(
            "FAB3020",
            f"the lock pins {name} to {pinned}, but the {what} now need {least}",
            "gpus" if name in ("lid_slots", "lid_rails") else "spines",
            help=REPIN,
        )
        for name, (pinned, least, what) in needed.items()
        if pinned < least
    ]
    if broken:
        raise UnfitError(*broken)
    return LidPlan(spine, unit, slots, rails)


def _plan_ipoib(
    spec: ClusterSpec,
    section: Infiniband,
    lids: LidPlan,
    sizing: Sizing,
    units: int,
    findings: list[Diagnostic],
) -> IpoibPlan | None:
    if section.ipoib is None:
        return None
    wanted, shape = section.ipoib, sizing.shape
    pool = Pool(int(wanted.pool.first), int(wanted.pool.prefixlen), 4)
    subnets = stride_plan.power_of_two(shape.rails * shape.nic_ports)
    plan_ = IpoibPlan(pool, subnets, stride_plan.power_of_two(lids.slots), wanted.mode, wanted.mtu)
    needed = (units * plan_.host_stride + 1).bit_length()
    if plan_.bits < needed:
        raise UnfitError(refusals.ipoib_too_small(spec, str(wanted.pool), subnets, needed))
    if wanted.mode == "connected":
        findings.append(refusals.connected_mode(spec))
    return plan_


def _guid_names(wiring: Fabric) -> set[str]:
    """List every name that may have a GUID: switches, and host ports as `host/port`."""
    ports = [
        [
            host_port_name(attached.nic_ports, rail, port, wiring.network)
            for rail in range(attached.rails)
            for port in attached.present
        ]
        for attached in wiring.attachments
    ]
    named = {wiring.name(at) for at in wiring.switch_ids()}
    named.update(
        f"{host}/{port}"
        for unit in wiring.units.values()
        for host in unit.hosts.values()
        for port in ports[unit.group]
    )
    return named


def _build_wiring(
    spec: ClusterSpec,
    found: Identities,
    models: Models,
    sizing: Sizing,
    uplinks: Spread,
    units: int,
    findings: list[Diagnostic],
) -> Fabric:
    """Build the Fabric's topology and names; it has no addresses, no BGP and no buffers."""
    shape = sizing.shape
    addresses = AddressPlan(None, _EVERYTHING, _EVERYTHING, None, None, None, numbered=False, management=())
    switches = {TierName.TOR: models.tor, TierName.SPINE: models.spine, TierName.CORE: models.core}
    layouts = [(f"tor{i}", models.tor, layout) for i, layout in enumerate(sizing.tor_layouts)]
    if models.spine:
        layouts.append(("spine", models.spine, sizing.spine_layout))
    if models.core and sizing.core_layout:
        layouts.append(("core", models.core, sizing.core_layout))
    panel = PanelNames()
    names = {
        (NOS, key): tuple(panel.port_name(NOS, model, slot) for slot in layout.slots)
        for key, model, layout in layouts
    }
    return Fabric(
        cluster=spec.cluster,
        shape=shape,
        strides=stride_plan.choose_strides(shape, units, sizing.most_uplinks, addresses, spec.routing),
        units=found.units,
        host_models=models.hosts,
        attachments=sizing.bottom.attached,
        tiers={tier: TierPlan(model, NOS, "") for tier, model in switches.items() if model},
        tor_layouts=sizing.tor_layouts,
        tor_links=uplinks.links,
        spine_layout=sizing.spine_layout,
        core_layout=sizing.core_layout,
        port_names=names,
        addresses=addresses,
        routing=RoutingPlan(
            **shared_attributes(spec.routing, BgpSettings),
            asn_base=0,
            unique_spine_asn=False,
            maximum_paths=0,
            limit_from_above=0,
            limit_from_tor=0,
            limit_from_spine=0,
        ),
        services=Services((), (), (), ()),
        cable_kinds={
            "host": host_cable(spec, models, sizing.tor_layouts, sizing.bottom.attached),
            "spine": spec.cables.spine,
            "core": spec.cables.core,
        }
        | ({"peer": spec.cables.peer} if spec.tors.peer_links else {}),
        switch_mtu=0,
        host_mtu=0,
        qos={},
        profiles={},
        host_systems=tuple(group.os for group in spec.gpus.groups),
        host_sockets=tuple(group.socket_interface for group in spec.gpus.groups),
        host_leave_outs=tuple(group.leave_out for group in spec.gpus.groups),
        racks=racks_of(spec),
        domain_groups=domain_groups(spec, models.hosts, findings),
        network=spec.network_name,
        number=spec.network.number if spec.network else 0,
        rails_elsewhere=bool(spec.network and spec.network.rails_elsewhere),
    )
