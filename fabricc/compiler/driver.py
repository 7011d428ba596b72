"""The build: plan, render in worker processes, prove, and put the tree in place in one step."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from fabricc import __version__
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.values import dataclass
from fabricc.compiler import record
from fabricc.compiler.gathered import Gathered
from fabricc.compiler.quoting import input_texts, tree_texts
from fabricc.compiler.result import BuildResult
from fabricc.tree import EmitError
from fabricc.tree.patch import pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fabricc.compiler.front import Front
    from fabricc.compiler.ledger import Ledger
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.infiniband.model import InfinibandFabric
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.tree import Stage

_INLINE_DEVICES = 48


def build(
    spec_path: Path,
    out: Path,
    *,
    jobs: int | None = None,
    frozen: bool = False,
    repin: Sequence[str] | None = None,
    check: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    before: Callable[[Front], None] | None = None,
) -> tuple[BuildResult, dict[str, str]]:
    """Build the spec's tree below `out`.

    Args:
        spec_path: the spec.
        out: folder that holds the tree, which is named after the cluster.
        jobs: worker processes; None for one per usable CPU.
        frozen: fail rather than change the lock.
        repin: pins of the lock that may change, as for `run_front`.
        check: read every file back and prove it; without, the tree is written unproved.
        progress: called with what is being done, how much of it is done, and how much there is.
        before: called with the sound front half before anything of a whole build is written.

    Returns:
        What came of it, and the text of the files that diagnostics point into, by name.
    """
    options = f"check={check}{_templates()}"
    known = None if repin is not None else record.last(out, spec_path, options)
    half = known is not None and pending(known.tree)
    front = None
    changed = known.changed_inputs() if known is not None else None
    if known is not None and changed == [] and not half and known.unedited():
        same = known.result()
        return same, input_texts(same.diagnostics)
    if known is not None and changed == [spec_path.resolve()] and known.alone and known.ledger:
        front, done = _patched(known, spec_path, jobs, check, progress)
        if done is not None:
            return done, dict(front.sources) if front else {}
    from fabricc.compiler.front import lock_change, run_front
    from fabricc.compiler.ledger import kept
    from fabricc.compiler.repinning import REPINNED

    front = front or run_front(spec_path, repin=repin, infiniband=True)
    sources = dict(front.sources)
    fabric = front.fabric or front.infiniband
    if front.spec is None or fabric is None or not front.sound:
        return BuildResult(diagnostics=front.diagnostics), sources
    result = BuildResult(front.spec.cluster, None, front.diagnostics, fabric.counts())
    if frozen and front.lock_text != front.lock_before:
        return replace(result, diagnostics=(*front.diagnostics, lock_change(front))), sources
    if before is not None:
        before(front)
    try:
        result, files, ledger = _emit(front, front.spec, fabric, out, jobs, check, progress)
    except EmitError as error:
        return replace(result, diagnostics=(*front.diagnostics, error.diagnostic)), sources
    if result.tree is None:
        sources |= tree_texts(result.diagnostics, out / f".{result.cluster}.rejected")
    if result.exit_status == 0:
        inputs = dict(front.inputs)
        inputs[str(front.lock_path.resolve())] = hashlib.sha256(front.lock_text.encode()).hexdigest()
        lasting = [d for d in result.diagnostics if d.code not in REPINNED]
        remembered = replace(result, diagnostics=tuple(lasting))
        with kept(out, front.spec.cluster, ledger) as digest:
            record.save(out, remembered, spec_path, inputs, options, files, digest)
    return result, sources


def _patched(
    known: record.Last,
    spec_path: Path,
    jobs: int | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Front | None, BuildResult | None]:
    """The plan and the result of a build that concerns few devices; what could not be had is None."""
    from fabricc.compiler.front import run_front
    from fabricc.compiler.partial import patched
    from fabricc.compiler.workers import usable_cpus
    from fabricc.tree.exclusive import exclusive
    from fabricc.tree.patch import complete

    tree = known.tree
    try:
        with exclusive(tree.with_name(f".{tree.name}.lock"), tree):
            complete(tree)
            processes = usable_cpus() if jobs is None else jobs
            return patched(known, lambda: run_front(spec_path, infiniband=True), processes, check, progress)
    except EmitError:
        return None, None  # the whole build meets it again and tells


def _templates() -> str:
    """The user's own templates as an option, "" when there are none."""
    from fabricc.back.nos.templating import override_digests

    found = override_digests()
    return f" templates={sorted(found.items())}" if found else ""


def _emit(
    front: Front,
    spec: ClusterSpec,
    fabric: Fabric | InfinibandFabric,
    out: Path,
    jobs: int | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[BuildResult, list[str], Ledger | None]:
    """The result, the paths of the tree's files, and the ledger where one can be kept."""
    from fabricc.compiler.infiniband import InfinibandRun
    from fabricc.compiler.outcome import manifest_inputs
    from fabricc.fabric.infiniband.model import InfinibandFabric
    from fabricc.front.spec.load import accepted
    from fabricc.proof.invariants.declared import softened
    from fabricc.tree import Manifest, Stage
    from fabricc.tree.exclusive import exclusive
    from fabricc.tree.patch import complete

    name = spec.cluster
    with exclusive(out / f".{name}.lock", out / name):
        complete(out / name)
        stage = Stage.open(out, name)
        try:
            run: _Run | InfinibandRun
            if isinstance(fabric, InfinibandFabric):
                run = InfinibandRun(spec, fabric, stage, check, progress)
            else:
                run = _Run(spec, fabric, stage, check, jobs, progress)
            run.devices()
            found = accepted(softened(run.found, spec), spec.accept)
            result = BuildResult(name, None, (*front.diagnostics, *found), fabric.counts(), links=run.links)
            if any(d.severity is Severity.ERROR for d in found):
                return _rejected(result, stage, out, name), [], None
            run.plan_files()
            manifest = Manifest(
                name, __version__, spec_name(spec), manifest_inputs(front, spec), run.gathered.sums
            )
            changed = write_lock(front)
            done = stage.commit(manifest, run.gathered.changed)
        except BaseException:
            stage.abandon()
            raise
        with suppress(OSError):
            _remove(out / f".{name}.rejected")
    written = [*_edited(run.gathered.edited, stage.target), *done.diagnostics]
    result = replace(
        result,
        tree=stage.target,
        diagnostics=(*result.diagnostics, *accepted(written, spec.accept)),
        files=done.written + done.kept,
        written=done.written,
        removed=done.removed,
        lock_changed=changed,
        repinned=front.repinned,
    )
    return result, [*run.gathered.sums, "manifest.json"], run.ledger if isinstance(run, _Run) else None


def spec_name(spec: ClusterSpec) -> str:
    """File name of the spec, without its folder."""
    return os.path.basename(spec.file)  # noqa: PTH119 - text, not a file on this machine


@dataclass(slots=True)
class _Run:
    """One pass over all devices and what it gathers."""

    spec: ClusterSpec
    fabric: Fabric
    stage: Stage
    check: bool
    jobs: int | None
    progress: Callable[[str, int, int], None] | None
    gathered: Gathered = field(default_factory=Gathered)
    links: int = 0
    found: list[Diagnostic] = field(default_factory=list)
    ledger: Ledger | None = None
    _tables: list[tuple[str, bytes]] = field(default_factory=list)

    def devices(self) -> None:
        """Render and write every device, prove it when asked to, and write what comes from the plan alone."""
        from fabricc.back.jobs.files import job_files
        from fabricc.compiler.device import Work, pieces_of
        from fabricc.compiler.outcome import Outcome, plan_texts
        from fabricc.fabric.altered import outline
        from fabricc.proof.invariants.declared import declared_ratios

        def whole() -> Iterator[tuple[str, str]]:
            yield from plan_texts(self.spec, self.fabric)
            yield from job_files(self.fabric).items()

        jobs = job_count(self.fabric, self.jobs)
        work = Work(self.fabric, pieces_of(self.fabric, jobs), self.stage, None, self.check, whole=whole)
        outcome = Outcome(work, jobs)
        outcome.run(self.progress, "switches and hosts")
        self.links = outcome.meeting.links
        self.gathered.take(outcome.written)
        self._tables = outcome.tables()
        self.ledger = None if outcome.findings.kept else outcome.ledger(outline(self.fabric))
        self.found = outcome.diagnostics(str(self.stage.target), declared_ratios(self.spec))

    def plan_files(self) -> None:
        """Write the tables whose rows the devices brought."""
        self.gathered.take([self.stage.put(path, content) for path, content in self._tables])


def job_count(fabric: Fabric, jobs: int | None) -> int:
    """How many processes: as asked, else one per CPU, and one for a fabric too small to share out."""
    from fabricc.compiler.workers import usable_cpus

    if jobs is not None:
        return jobs
    counts = fabric.counts()
    devices = counts["tors"] + counts["spines"] + counts["cores"] + counts["hosts"]
    return 1 if devices < _INLINE_DEVICES else usable_cpus()


def write_lock(front: Front) -> bool:
    """Write the lock when it must change, before the tree that depends on it; whether it did.

    Raises:
        EmitError: it cannot be written.
    """
    from fabricc.tree.file import write_file

    if front.lock_text == front.lock_before:
        return False
    return write_file(front.lock_path, front.lock_text.encode())


def _rejected(result: BuildResult, stage: Stage, out: Path, name: str) -> BuildResult:
    """Keep what failed the proof beside the tree, for reading, and point the findings there."""
    from fabricc.tree import folders

    aside = out / f".{name}.rejected"
    try:
        _remove(aside)
        folders.prune(stage.folder, stage.spare)
        stage.folder.rename(aside)
    except OSError as error:
        raise EmitError.from_os(error) from None
    moved = []
    for d in result.diagnostics:
        if d.position and d.position.file.startswith(f"{stage.target}/"):
            below = d.position.file.removeprefix(f"{stage.target}/")
            if (aside / below).exists():
                d = replace(d, position=replace(d.position, file=str(aside / below)))
        moved.append(d)
    return replace(result, diagnostics=tuple(moved))


def _remove(path: Path) -> None:
    from fabricc.tree import swap

    swap.remove(path)


def _edited(paths: list[str], tree: Path) -> list[Diagnostic]:
    """FAB7006: files that somebody changed since the last build; this one has put them right."""
    if not paths:
        return []
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    message = (
        f"changed by hand since the last build and now written anew: {', '.join(sorted(paths)[:3])}{more}"
    )
    help_ = f"What belongs in {tree} belongs in the spec."
    return [Diagnostic("FAB7006", Severity.WARNING, message, None, help_)]
