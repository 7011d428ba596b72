"""Plan an InfiniBand spec: `compile_spec` continues here for `fabric: infiniband`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fabricc.base.values import replace
from fabricc.compiler.load.input_digests import file_digests
from fabricc.compiler.load.spec_location import input_texts
from fabricc.compiler.plan.host_facts import host_fact_findings
from fabricc.compiler.planned_spec import PlannedSpec, apply_acceptances
from fabricc.front.planning.hosts import with_host_cable
from fabricc.front.planning.infiniband.plan import find_touched, plan_infiniband
from fabricc.front.spec.lock import renew_lock, report_unnamed_network

if TYPE_CHECKING:
    from fabricc.catalog.model import Catalog
    from fabricc.compiler.plan.repinning import Repinning

P = TypeVar("P", bound=PlannedSpec)


def planned_subnets(loaded: P, catalog: Catalog, repinning: Repinning) -> P:
    """Return the spec with its subnets planned.

    Args:
        loaded: spec, lock and diagnostics so far.
        catalog: the models it may use.
        repinning: identities and strides of earlier builds, and which of them may change.
    """
    spec, folder = loaded.spec, loaded.path.parent
    if spec.infiniband is None:
        raise ValueError("not an InfiniBand spec")
    planned, repinned = repinning.run(
        lambda pinned: plan_infiniband(spec, catalog, pinned, folder),
        lambda after: find_touched(spec, catalog, repinning.lock, after.fabric),
    )
    found = [*loaded.diagnostics, *planned.diagnostics, *repinning.report_changes(repinned)]
    if planned.fabric is not None:
        found = apply_acceptances(spec, [*found, *host_fact_findings(spec, planned.fabric.wiring)])
    files = [*spec.catalog_files, *([spec.infiniband.guids] if spec.infiniband.guids else [])]
    if planned.fabric is not None:
        spec = with_host_cable(spec, planned.fabric.wiring.cable_kinds["host"])
    lock_text = renew_lock(planned.lock, spec.cluster, loaded.lock_before, spec.network_name)
    found += report_unnamed_network(
        loaded.lock_before, lock_text, str(loaded.lock_path), spec.cluster, spec.network_name
    )
    return replace(
        loaded,
        loaded=spec,
        infiniband=planned.fabric,
        lock_text=lock_text,
        diagnostics=tuple(found),
        sources={**input_texts(planned.diagnostics), **loaded.sources},
        inputs=file_digests([loaded.path, *(folder / name for name in files), loaded.lock_path]),
        repinned=repinned,
    )
