"""Check a generated spec: it must plan as a new fabric, and every system must be able to express it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.compiler.plan.acceptances import apply_acceptances
from fabricc.compiler.plan.naming import Naming
from fabricc.compiler.render.overlays import add_overlays
from fabricc.front.planning import plan_fabric
from fabricc.front.spec.lock import EMPTY_LOCK

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.catalog.model import Catalog
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def plan_buildable(spec: ClusterSpec, folder: Path, catalog: Catalog) -> Fabric | None:
    """Return the fabric of a spec, or None on an error; overlays are searched from `folder`."""
    planned = plan_fabric(spec, catalog, EMPTY_LOCK, Naming())
    fabric, unfit = add_overlays(spec, folder, planned.fabric, {}, gaps=True)
    found = apply_acceptances(spec, [*planned.diagnostics, *unfit])
    return None if any(each.severity is Severity.ERROR for each in found) else fabric
