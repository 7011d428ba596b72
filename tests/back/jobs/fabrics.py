"""Small fabrics of every wiring, and their job files written to a folder as a build does."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fabricc.back.jobs.files import is_executable, job_files
from fabricc.base.foreign.formats import csv_text
from fabricc.paperwork import plan_tables as tables
from tests.front.planning.support import make_document, planned

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

SPECS: dict[str, dict[str, Any]] = {
    "rails": {"gpus": {"hosts": 32, "hosts_per_unit": 8}},
    "one-unit": {"gpus": {"hosts": 4, "hosts_per_unit": 4}},
    "racks": {
        "gpus": {
            "model": "grand-teton", "hosts": None, "hosts_per_unit": None, "racks": 6, "hosts_per_rack": 2,
            "wiring": "rack",
        },
    },
    "pods": {
        "gpus": {
            "model": "grand-teton", "hosts": None, "hosts_per_unit": None, "racks": 8, "hosts_per_rack": 2,
            "wiring": "rack",
        },
        "spines": {"count": 2, "oversubscription": 2, "units_per_pod": 4},
        "cores": {"model": "sn5400", "nos": "frr", "count": 2},
    },
    "two-ports": {"gpus": {"model": "hgx-2x200", "hosts": 16, "hosts_per_unit": 4}},
    "no-spines": {"gpus": {"hosts": 4, "hosts_per_unit": 4, "rails_per_tor": 0}, "spines": None},
    "rail-only": {"gpus": {"hosts": 16, "hosts_per_unit": 4, "wiring": "rail-only"}},
    "rail-only-unit": {"gpus": {"hosts": 4, "hosts_per_unit": 4, "wiring": "rail-only"}, "spines": None},
    "rail-sets": {
        "gpus": {"hosts": 32, "hosts_per_unit": 4},
        "spines": {"rails": 4, "units_per_pod": 4, "oversubscription": 2},
        "cores": {"model": "sn5400", "nos": "frr"},
    },
    "nvl72": {
        "gpus": {
            "model": "gb200-nvl72", "hosts": None, "hosts_per_unit": 8, "racks": ["a1", "a2", "a3", "a4"],
            "hosts_per_rack": 4,
        },
    },
    "nvl72-racks": {
        "gpus": {
            "model": "gb200-nvl72", "hosts": None, "hosts_per_unit": None, "racks": 4, "hosts_per_rack": 2,
            "wiring": "rack",
        },
    },
    "nvl72-in-part": {
        "gpus": {
            "model": None, "hosts": None, "hosts_per_unit": None,
            "groups": [
                {"name": "nvl", "model": "gb200-nvl72", "racks": {"a1": 4, "a2": 3, "b1": 8}, "hosts_per_unit": 8},
                {"name": "unplaced", "model": "gb200-nvl72", "hosts": 8, "hosts_per_unit": 8},
            ],
        },
    },
    "ipv6": {"gpus": {"hosts": 8, "hosts_per_unit": 4}, "addressing": {"family": "ipv6"}},
    "lossy": {"gpus": {"hosts": 8, "hosts_per_unit": 4}, "priorities": {"rdma": None, "cnp": None}},
}  # fmt: skip


@cache
def fabric(name: str) -> Fabric:
    """The fabric of one of the specs."""
    plan = planned(make_document(**SPECS[name]))
    assert plan.fabric is not None, [d.message for d in plan.diagnostics]
    return plan.fabric


@cache
def files(name: str) -> dict[str, str]:
    """Return its job and acceptance files."""
    return job_files(fabric(name))


def write_tree(name: str, folder: Path) -> Path:
    """The files on disk, with the cabling table that the judge reads."""
    for path, text in files(name).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755 if is_executable(path, text) else 0o644)
    (folder / "plan").mkdir()
    rows = [tables.CABLING, *tables.cabling_rows(fabric(name))]
    (folder / "plan/cabling.csv").write_text(csv_text(rows))
    return folder


def import_script(tree: Path, name: str) -> Any:
    """A module of `acceptance/`, as the emitted file is; imported anew, since other trees have files of its name."""
    folder = str(tree / "acceptance")
    sys.path.insert(0, folder)
    try:
        for known in ("pairs", "run", "judge"):
            sys.modules.pop(known, None)
        return import_module(name)
    finally:
        sys.path.remove(folder)
