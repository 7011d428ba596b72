"""Write an exported topology as an output tree: whole or not at all, replacing only an earlier export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab.export.containerlab import render_containerlab
from fabricc.operate.lab.export.devices import Topology, build_topology
from fabricc.operate.lab.export.netlab import render_netlab
from fabricc.operate.lab.lab_fabric import plan_fabric
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.manifest import Manifest
from fabricc.tree.stage import Stage
from fabricc.version import __version__

if TYPE_CHECKING:
    from pathlib import Path


FORMATS = {"containerlab": render_containerlab, "netlab": render_netlab}


@dataclass(frozen=True, slots=True)
class ExportedTopology:
    """The written topology: its file, its size, and remarks, a sentence each."""

    topology: Path
    nodes: int
    links: int
    notes: tuple[str, ...]


def export_topology(
    spec: Path,
    format_: str,
    out: Path,
    *,
    units: int | None = None,
    sample: bool = False,
    network: str | None = None,
) -> ExportedTopology:
    """Write the topology of a spec below `out`, in a tree named after the cluster and the format.

    Raises:
        UnsoundError: the spec does not plan.
        LabError: FAB8011, no such number of units; FAB8018, a NOS without an emulation.
        EmitError: it cannot be written.
    """
    fabric, differences = plan_fabric(spec, units, sample=sample, network=network)
    found = build_topology(fabric)
    files = FORMATS[format_](found)
    name = f"{fabric.cluster}-{format_}"
    with hold_lock(out / name):
        stage = Stage.open(out, name)
        try:
            written = [stage.put(path, text.encode()) for path, text in files.items()]
            sums = {file.path: file.sha256 for file in written}
            stage.commit(
                Manifest(name, __version__, spec.name, {}, sums), sum(file.changed for file in written)
            )
        except BaseException:
            stage.abandon()
            raise
    notes = (*differences, *(_list_assumptions(found) if format_ == "containerlab" else ()))
    nodes = len(found.switches) + len(found.hosts)
    return ExportedTopology(out / name / next(iter(files)), nodes, len(found.cables), notes)


def _list_assumptions(found: Topology) -> tuple[str, ...]:
    return tuple(f"assumed: {sentence}" for sentence in found.unverified())
