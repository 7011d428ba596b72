"""Plan further networks of a cluster's hosts, each as a separate fabric, and join them with the rails' fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import replace
from fabricc.compiler.plan.naming import Naming
from fabricc.compiler.render.overlays import GapKey, add_overlays
from fabricc.front.planning import plan_fabric
from fabricc.front.planning.hosts import with_host_cable
from fabricc.front.planning.identity.lock_renames import with_hosts_called
from fabricc.front.planning.identity.repinning import RepinResult, find_touched
from fabricc.front.planning.networks import further_networks
from fabricc.front.spec.lock import EMPTY_LOCK, Lock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import Catalog
    from fabricc.compiler.plan.repinning import Repinning
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.plan import Plan
    from fabricc.front.spec.model import ClusterSpec


class Network(NamedTuple):
    """A further network, planned: its spec and its fabric; see `PlannedSpec` for `draft` and `repinned`."""

    spec: ClusterSpec
    fabric: Fabric | None
    draft: Fabric | None
    repinned: RepinResult | None


class FurtherPlans(NamedTuple):
    """The result of planning the further networks.

    Attributes:
        fabric: that of the rails with the others, None where one of them cannot be.
        networks: name -> the network, in the order of their numbers.
        locks: name -> its part of the lock; those of removed networks are unchanged.
    """

    fabric: Fabric | None
    networks: dict[str, Network]
    locks: Mapping[str, Lock]
    diagnostics: list[Diagnostic]


def with_networks(
    spec: ClusterSpec,
    folder: Path,
    rails: Fabric,
    catalog: Catalog,
    repinning: Repinning,
    sources: dict[str, str],
    reported: set[GapKey],
    *,
    gaps: bool,
) -> FurtherPlans:
    """Plan the further networks of a spec whose rails have the given fabric; arguments as those of `compile_spec`."""
    locks = dict(repinning.lock.networks)
    replaced = {name: box.name for name, box in rails.moves.replaced.items()}
    former = {**rails.moves.units, **rails.moves.renamed, **replaced}
    networks: dict[str, Network] = {}
    diagnostics = list(further_networks.shared_ports(spec.networks.values(), catalog))
    if diagnostics:
        return FurtherPlans(None, networks, locks, diagnostics)
    for name, stated in spec.networks.items():
        filled, findings = further_networks.with_hosts(stated, rails, catalog)
        found = list(findings)
        if filled is not None and stated.network is not None:
            own = repinning.of_network(name, with_hosts_called(locks.get(name, EMPTY_LOCK), former))
            planned, repinned = _plan_network(filled, catalog, own)
            fabric, unfit = add_overlays(filled, folder, planned.fabric, sources, reported, gaps=gaps)
            found += [*planned.diagnostics, *own.report_changes(repinned), *unfit]
            locks[name] = replace(planned.lock, number=stated.network.number)
            filled = filled if fabric is None else with_host_cable(filled, fabric.cable_kinds["host"])
            networks[name] = Network(filled, fabric, planned.draft, repinned)
        diagnostics += [replace(each, message=f"{name}: {each.message}") for each in found]
    fabrics = [each.fabric for each in networks.values() if each.fabric is not None]
    if len(fabrics) < len(spec.networks):
        return FurtherPlans(None, networks, locks, diagnostics)
    whole = further_networks.with_front_end(
        further_networks.join_networks(spec, rails, fabrics), spec.networks
    )
    networks = {each.network: networks[each.network]._replace(fabric=each) for each in whole.networks}
    specs = [spec, *(each.spec for each in networks.values())]
    return FurtherPlans(
        whole,
        networks,
        locks,
        [*diagnostics, *further_networks.check_networks(specs, [whole, *whole.networks])],
    )


def _plan_network(
    spec: ClusterSpec, catalog: Catalog, repinning: Repinning
) -> tuple[Plan, RepinResult | None]:
    return repinning.run(
        lambda pinned: plan_fabric(spec, catalog, pinned, Naming()),
        lambda after: find_touched(spec, catalog, repinning.lock, after.fabric),
    )
