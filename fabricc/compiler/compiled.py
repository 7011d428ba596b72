"""The compiler's entry: from a spec's path to its result, for Python users and all verbs.

A generated spec is checked here too: it must plan as a new fabric, and every system must be able to express it.
"""

from __future__ import annotations

from dataclasses import field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import hosts as host_files
from fabricc.back.nos.templating import use_template_path
from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.documents.document import clip
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import dataclass, replace
from fabricc.catalog.library import suggestion_remedy
from fabricc.catalog.load import load_catalog
from fabricc.compiler.load.input_digests import file_digests
from fabricc.compiler.load.lock_file import read_lock
from fabricc.compiler.load.spec_location import input_texts, lock_of
from fabricc.compiler.plan.further_networks import Network, with_networks
from fabricc.compiler.plan.host_facts import host_fact_findings
from fabricc.compiler.plan.naming import Naming
from fabricc.compiler.plan.repinning import Repinning
from fabricc.compiler.planned_spec import PlannedSpec, apply_acceptances, infiniband_unsupported
from fabricc.compiler.render.overlays import GapKey, add_overlays
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.model import Host, Switch
from fabricc.front.planning import plan_fabric
from fabricc.front.planning.hosts import with_host_cable
from fabricc.front.planning.identity.lock_renames import carry_lock, with_switches_called
from fabricc.front.planning.identity.renaming import report_unknown_names
from fabricc.front.planning.identity.repinning import find_touched
from fabricc.front.planning.networks.endpoints import has_endpoints, with_out_of_band
from fabricc.front.planning.networks.tenants import reach_findings
from fabricc.front.spec import lock as spec_lock
from fabricc.front.spec.document import join_words
from fabricc.front.spec.identities import with_identities
from fabricc.front.spec.load import load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.catalog.model import Catalog
    from fabricc.compiler.result import BuildResult
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

COMPUTE = "compute"
"""The name of the network that the top level of a spec describes."""
_COMPARED = 10_000
"""Names of a network that a mistyped one is compared with: a second of work."""


@dataclass(frozen=True, slots=True)
class Compiled(PlannedSpec):
    """A planned spec with its results; files and the proof are computed on first use.

    Attributes:
        networks: name -> further network of the same hosts, compiled; its findings are among those of the whole.
    """

    networks: Mapping[str, Compiled] = field(default_factory=dict)

    def of_network(self, name: str | None) -> Compiled:
        """Return one network of the cluster: `compute`, which the top level of the spec describes, or a further one.

        Args:
            name: the network's; None for the only one there is.

        Raises:
            FindingsError: FAB3110, there are several, or none of that name.
        """
        if name == COMPUTE or (name is None and not self.networks):
            return self
        if name is not None and name in self.networks:
            return self.networks[name]
        known = join_words([COMPUTE, *self.networks], "and")
        message = f"{self.spec.cluster} has no network '{clip(name)}'" if name else "this takes one network"
        remedy = f"Name one with `--network`: {self.spec.cluster} has {known}."
        raise FindingsError("FAB3110", message, remedy)

    def switches(self) -> Iterator[Switch]:
        """Yield every switch of this network, computed one by one: ToRs, then spines, then cores.

        Raises:
            CompileError: as `fabric`.
        """
        return map(self.fabric.switch, self.fabric.switch_ids())

    def hosts(self) -> Iterator[Host]:
        """Yield every host with its ports in this network, computed one by one.

        Raises:
            CompileError: as `fabric`.
        """
        return map(self.fabric.host, self.fabric.host_ids())

    def device(self, name: str) -> Switch | Host:
        """Return the switch or host of that name, also from a further network.

        Raises:
            CompileError: as `fabric`.
            FindingsError: FAB3195, no device has this name.
        """
        for fabric in (self.fabric, *self.fabric.networks):
            if (at := fabric.find(name)) is not None:
                return fabric.host(at) if isinstance(at, tuple) else fabric.switch(at)
        raise FindingsError.of([unknown_device_error(self, name)])

    def files(self, device: Switch | Host) -> dict[str, str]:
        """Return the files of a device as in the tree: path below its folder -> text; for a host, of all networks.

        Raises:
            EmitError: FAB7012, a template of the user's own is at fault.
        """
        if isinstance(device, Switch):
            with use_template_path(self.templates):
                return render_switch(device)
        others = [each for each in self.fabric.networks if each.network in device.beside]
        parts = [device, *(each.host(each.guests[device.name]) for each in others)]
        return {path: text for part in parts for path, text in host_files.render(part).items()}

    def proof(self, *, jobs: int | None = None) -> tuple[Diagnostic, ...]:
        """Read the files of the whole fabric back, compare them with the plan, and return the findings; write nothing.

        Args:
            jobs: worker processes; None for one per usable CPU.

        Raises:
            CompileError: as `fabric`.
        """
        from fabricc.compiler.write.whole_tree import (
            prove_plan,  # readers and rules: half as long to import as `validate` takes
        )

        with use_template_path(self.templates):
            return prove_plan(self, jobs)

    def write(
        self,
        out: Path | str,
        *,
        jobs: int | None = None,
        frozen: bool = False,
        check: bool = True,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> BuildResult:
        """Write the tree below `out` and the lock next to the spec, as `fabricc build` does.

        Args:
            out: folder that holds the tree, which is named after the cluster.
            jobs: worker processes; None for one per usable CPU.
            frozen: fail rather than change the lock.
            check: read every file back and prove it; otherwise the tree is written without a proof.
            progress: called with the current phase, the number done and the total.
        """
        from fabricc.compiler.write.whole_tree import write_tree  # as for `proof`

        with use_template_path(self.templates):
            return write_tree(self, Path(out), jobs, frozen, check, progress)


def compile_spec(
    path: Path | str,
    *,
    repin: Sequence[str] | None = None,
    gaps: bool = True,
    ethernet_only: bool = False,
    lock_path: Path | None = None,
) -> Compiled:
    """Read and plan a spec; problems are diagnostics of the result, never exceptions.

    Args:
        path: the spec; its lock, catalog files and overlays are found from there.
        repin: pins of the lock to choose afresh, so that addresses and ports may change, () for the least that
            suffices; None keeps all. Identities stay.
        gaps: also report the settings that a back end in use cannot express.
        ethernet_only: refuse a spec of InfiniBand (FAB5817).
        lock_path: the lock; by default that of `lock_of`.
    """
    path = Path(path)
    inputs = _load_inputs(path, lock_path or lock_of(path))
    if isinstance(inputs, Compiled):
        return inputs
    spec = inputs.spec
    repinning = Repinning(inputs.lock, inputs.lock_path, inputs.lock_before or "", repin)
    inputs.diagnostics += repinning.list_unknown()
    known = Compiled(
        path, spec, None, inputs.lock_path, "", inputs.lock_before, tuple(inputs.diagnostics), inputs.sources
    )
    if any(d.severity is Severity.ERROR for d in inputs.diagnostics):
        return known
    if spec.infiniband is None:
        return _compile_ethernet(inputs, known, repinning, gaps=gaps)
    if ethernet_only:
        return replace(known, diagnostics=(*known.diagnostics, infiniband_unsupported(spec)))
    from fabricc.compiler.plan.infiniband import planned_subnets  # no fabric of Ethernet needs it

    return planned_subnets(known, inputs.catalog, repinning)


@dataclass(slots=True)
class _Inputs:
    """The inputs of a compilation.

    Attributes:
        spec: with the names and numbers of its tables.
        files: catalog files that it names; `tables`: tables of identities.
        lock: as it stands in `lock_before`, with the moves of the spec.
        sources: path -> text of the files that findings point into.
        diagnostics: findings about all of these.
    """

    path: Path
    spec: ClusterSpec
    files: list[Path]
    tables: list[Path]
    catalog: Catalog
    lock_path: Path
    lock_before: str | None
    lock: spec_lock.Lock
    sources: dict[str, str]
    diagnostics: list[Diagnostic]


def _load_inputs(path: Path, lock_path: Path) -> _Inputs | Compiled:
    """Read a spec, its tables, catalog files and lock; return the result instead if the spec cannot be read."""
    lock_before, unread = read_lock(lock_path)
    read = load_spec(path, spec_lock.parse_lock(lock_before or "", str(lock_path))[0].numbers)
    sources = {str(path): read.text} if read.text else {}
    diagnostics = list(read.diagnostics)
    if read.spec is None:
        return Compiled(path, None, None, lock_path, "", None, tuple(diagnostics), sources)
    spec, unfit, tables = with_identities(read.spec, path.parent)
    diagnostics += unfit
    sources |= tables
    files = [path.parent / name for name in spec.catalog_files]
    named_at = [spec.position("catalog", index) for index in range(len(files))]
    catalog, found = load_catalog(files, named_at, path.parent)
    diagnostics += found
    sources |= input_texts(found)
    diagnostics += unread
    lock = spec_lock.EMPTY_LOCK
    if lock_before is not None:
        lock, found = spec_lock.parse_lock(lock_before, str(lock_path), spec.cluster, spec.network_name)
        diagnostics += found
        if not any(each.code == "FAB2070" for each in found):
            diagnostics += spec_lock.report_other_kind(
                lock, str(lock_path), infiniband=spec.infiniband is not None
            )
        sources[str(lock_path)] = lock_before
    lock, unfit = carry_lock(spec, lock)
    diagnostics += unfit
    named = [*map(Path, tables)]
    return _Inputs(path, spec, files, named, catalog, lock_path, lock_before, lock, sources, diagnostics)


def _compile_ethernet(inputs: _Inputs, compiled: Compiled, repinning: Repinning, *, gaps: bool) -> Compiled:
    """Plan the rails' fabric and its further networks, and return the result with all findings."""
    spec, catalog, sources = inputs.spec, inputs.catalog, inputs.sources
    planned, repinned = repinning.run(
        lambda pinned: plan_fabric(spec, catalog, pinned, Naming()),
        lambda after: find_touched(spec, catalog, inputs.lock, after.fabric),
    )
    diagnostics = [*inputs.diagnostics, *planned.diagnostics, *repinning.report_changes(repinned)]
    reported: set[GapKey] = set()
    fabric, unfit = add_overlays(spec, inputs.path.parent, planned.fabric, sources, reported, gaps=gaps)
    diagnostics += unfit
    lock = replace(planned.lock, networks=inputs.lock.networks, switches=inputs.lock.switches)
    networks: Mapping[str, Network] = {}
    if fabric is not None:
        whole = _add_networks(inputs, fabric, lock, repinning, reported, gaps=gaps)
        fabric, networks, lock = whole.fabric, whole.networks, whole.lock
        diagnostics += whole.diagnostics
    diagnostics = apply_acceptances(spec, diagnostics, gaps=gaps, planned=fabric is not None)
    overlays = [
        inputs.path.parent / entry.file for each in (spec, *spec.networks.values()) for entry in each.overlays
    ]
    lock_text = spec_lock.renew_lock(lock, spec.cluster, inputs.lock_before, spec.network_name)
    if fabric is not None:
        diagnostics += spec_lock.report_unnamed_network(
            inputs.lock_before, lock_text, str(inputs.lock_path), spec.cluster, spec.network_name
        )
    compiled = replace(
        compiled,
        loaded=spec if fabric is None else with_host_cable(spec, fabric.cable_kinds["host"]),
        sources=sources,
        lock_text=lock_text,
        inputs=file_digests([inputs.path, *inputs.files, *overlays, *inputs.tables, inputs.lock_path]),
    )
    return replace(
        compiled,
        planned=fabric,
        networks={
            name: replace(
                compiled,
                loaded=each.spec,
                planned=each.fabric,
                draft=each.draft,
                repinned=each.repinned,
                diagnostics=tuple(d for d in diagnostics if d.message.startswith(f"{name}: ")),
            )
            for name, each in networks.items()
        },
        diagnostics=tuple(diagnostics),
        draft=planned.draft,
        repinned=repinned,
    )


class _Whole(NamedTuple):
    """A planned fabric with the further networks of its hosts, the numbers of all, and the findings about them."""

    fabric: Fabric | None
    networks: Mapping[str, Network]
    lock: spec_lock.Lock
    diagnostics: list[Diagnostic]


def _add_networks(
    inputs: _Inputs,
    fabric: Fabric,
    lock: spec_lock.Lock,
    repinning: Repinning,
    reported: set[GapKey],
    *,
    gaps: bool,
) -> _Whole:
    """Plan further networks and out-of-band networks, and check what concerns all of them."""
    spec, diagnostics = inputs.spec, list[Diagnostic]()
    networks: Mapping[str, Network] = {}
    joined: Fabric | None = fabric
    if spec.networks:
        further = with_networks(
            spec, inputs.path.parent, fabric, inputs.catalog, repinning, inputs.sources, reported, gaps=gaps
        )
        joined, networks, lock = further.fabric, further.networks, replace(lock, networks=further.locks)
        diagnostics += further.diagnostics
    if joined is not None and has_endpoints(spec, *spec.networks.values()):
        specs = [spec, *(each.spec for each in networks.values())]
        numbers = with_switches_called(lock.switches, joined.moves.units)
        out_of_band = with_out_of_band(specs, joined, inputs.catalog, numbers, Naming())
        joined, lock = out_of_band.fabric, replace(lock, switches=out_of_band.numbers)
        diagnostics += out_of_band.diagnostics
    if joined is not None:
        planned = [(each.spec, each.fabric) for each in networks.values() if each.fabric]
        diagnostics += [
            *report_unknown_names(spec, (joined, *joined.networks), lock),
            *host_fact_findings(spec, joined, planned),
            *reach_findings(spec, joined),
        ]
    return _Whole(joined, networks, lock, diagnostics)


def unknown_device_error(compiled: Compiled, name: str) -> Diagnostic:
    """FAB3195: no device is called so, and which are called nearly so."""
    known: list[str] = []
    for fabric in (compiled.fabric, *compiled.fabric.networks):
        names = chain(map(fabric.name, fabric.switch_ids()), fabric.own_hosts())
        known += islice(names, _COMPARED)
    shown = f"`fabricc plan {shell_path(compiled.path)}` shows how devices are named."
    remedy = suggestion_remedy(clip(name), known, shown)
    return Diagnostic("FAB3195", Severity.ERROR, f"the fabric has no device {clip(name)!r}", None, remedy)


def plan_buildable(spec: ClusterSpec, folder: Path, catalog: Catalog) -> Fabric | None:
    """Return the fabric of a spec, or None on an error; overlays are searched from `folder`."""
    planned = plan_fabric(spec, catalog, spec_lock.EMPTY_LOCK, Naming())
    fabric, unfit = add_overlays(spec, folder, planned.fabric, {}, set(), gaps=True)
    found = apply_acceptances(spec, [*planned.diagnostics, *unfit])
    return None if any(each.severity is Severity.ERROR for each in found) else fabric


def compile_ethernet(
    path: Path | str, instead: str, *, gaps: bool = True, lock_path: Path | None = None
) -> Compiled:
    """Read and plan a spec for a verb without meaning for InfiniBand (FAB5817); `instead` names what does its job."""
    compiled = compile_spec(path, gaps=gaps, ethernet_only=True, lock_path=lock_path)
    found = (replace(each, help=instead) if each.code == "FAB5817" else each for each in compiled.diagnostics)
    return replace(compiled, diagnostics=tuple(found))
