"""InfiniBand specs as mappings, planned and rendered without a command line."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.infiniband.sm_files import sm_files
from fabricc.catalog.load import load_catalog
from fabricc.fabric.infiniband_wiring import Subnet
from fabricc.front.planning.infiniband.plan import InfinibandPlan, plan_infiniband
from fabricc.front.spec.load import read_spec
from fabricc.front.spec.lock import EMPTY_LOCK, Lock

if TYPE_CHECKING:
    from fabricc.fabric.infiniband import InfinibandFabric

CATALOG, _ = load_catalog()
BOXES = {"dgx-a100": "qm8700", "dgx-h100": "qm9700", "dgx-b300": "q3400"}


def make_document(model: str = "dgx-h100", hosts: int = 8, per_unit: int = 4, **more: Any) -> dict[str, Any]:
    """A short spec; sections given replace the plain ones."""
    box = {"model": BOXES[model]}
    return {
        "cluster": "test",
        "fabric": "infiniband",
        "gpus": {"model": model, "hosts": hosts, "hosts_per_unit": per_unit},
        "tors": box,
        "spines": box,
        **more,
    }


def plan_spec(spec: dict[str, Any], lock: Lock = EMPTY_LOCK, folder: Path | None = None) -> InfinibandPlan:
    """The plan of a spec that must load."""
    loaded = read_spec(json.dumps(spec, indent=1).encode(), "cluster.yaml")
    assert loaded.spec is not None, [d.message for d in loaded.diagnostics]
    return plan_infiniband(loaded.spec, CATALOG, lock, folder or Path(tempfile.gettempdir()))


def plan_subnets(
    spec: dict[str, Any], lock: Lock = EMPTY_LOCK, folder: Path | None = None
) -> InfinibandFabric:
    """The fabric of a spec that must plan."""
    result = plan_spec(spec, lock, folder)
    assert result.fabric is not None, [(d.code, d.message) for d in result.diagnostics]
    return result.fabric


def find_codes(spec: dict[str, Any]) -> set[str]:
    """Return the codes of loading, or else planning, a spec, without those of placeholders."""
    loaded = read_spec(json.dumps(spec, indent=1).encode(), "cluster.yaml")
    reported = loaded.diagnostics if loaded.spec is None else plan_spec(spec).diagnostics
    return {d.code for d in reported} - {"FAB5814"}


def render_subnet(ib: InfinibandFabric, number: int = 0) -> dict[str, str]:
    """The files of a subnet."""
    return dict(sm_files(Subnet(ib, number)))


TENANTS = {
    "partitions": {
        "tenant-a": {"pkey": 16, "units": ["su001"], "priority": "rdma"},
        "tenant-b": {"pkey": 17, "units": ["su002"]},
    }
}
CLASSES = {
    "default": {"weight_percent": 20},
    "rdma": {"priority": 1},
    "control": {"priority": 2, "strict": True},
}
