"""The build: plan, render in worker processes, prove, and put the tree in place in one step."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fabricc import __version__
from fabricc.build import record
from fabricc.build.result import BuildResult
from fabricc.diagnostics import Diagnostic, Severity
from fabricc.emit import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from fabricc.build.front import Front
    from fabricc.check.invariants.declared import Ratio
    from fabricc.emit import Stage, Written
    from fabricc.fabric.fabric import Fabric
    from fabricc.infiniband.model import InfinibandFabric
    from fabricc.spec.model import ClusterSpec

_INLINE_DEVICES = 48


def build(
    spec_path: Path,
    out: Path,
    *,
    jobs: int | None = None,
    frozen: bool = False,
    repin: bool = False,
    check: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[BuildResult, dict[str, str]]:
    """Build the spec's tree below `out`.

    Args:
        spec_path: the spec.
        out: folder that holds the tree, which is named after the cluster.
        jobs: worker processes; None for one per usable CPU.
        frozen: fail rather than change the lock.
        repin: choose the strides of the lock afresh: addresses, names and ports may change.
        check: read every file back and prove it; without, the tree is written unproved.
        progress: called with what is being done, how much of it is done, and how much there is.

    Returns:
        What came of it, and the text of the files that diagnostics point into, by name.
    """
    options = f"check={check}{_templates()}"
    if not repin and (done := record.up_to_date(out, spec_path, options)) is not None:
        return done, {}
    from fabricc.build.front import lock_change, run_front

    front = run_front(spec_path, repin=repin, infiniband=True)
    sources = dict(front.sources)
    fabric = front.fabric or front.infiniband
    if front.spec is None or fabric is None or not front.sound:
        return BuildResult(diagnostics=front.diagnostics), sources
    result = BuildResult(front.spec.cluster, None, front.diagnostics, fabric.counts())
    if frozen and front.lock_text != front.lock_before:
        return replace(result, diagnostics=(*front.diagnostics, lock_change(front))), sources
    try:
        result, files = _emit(front, front.spec, fabric, out, jobs, check, progress)
    except EmitError as error:
        return replace(result, diagnostics=(*front.diagnostics, error.diagnostic)), sources
    if result.exit_status == 0:
        inputs = dict(front.inputs)
        inputs[str(front.lock_path.resolve())] = hashlib.sha256(front.lock_text.encode()).hexdigest()
        record.save(out, result, spec_path, inputs, options, files)
    return result, sources


def _templates() -> str:
    """The user's own templates as an option, "" when there are none."""
    from fabricc.nos.templating import override_digests

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
) -> tuple[BuildResult, list[str]]:
    """The result, and the paths of the tree's files."""
    from fabricc.build.infiniband import InfinibandRun
    from fabricc.build.outcome import manifest_inputs
    from fabricc.check.invariants.declared import declared_ratios, softened
    from fabricc.emit import Manifest, Stage
    from fabricc.emit.exclusive import exclusive
    from fabricc.infiniband.model import InfinibandFabric
    from fabricc.spec.load import accepted

    name = spec.cluster
    with exclusive(out / f".{name}.lock", out / name):
        stage = Stage.open(out, name)
        try:
            run: _Run | InfinibandRun
            if isinstance(fabric, InfinibandFabric):
                run = InfinibandRun(fabric, stage, check, progress)
            else:
                run = _Run(fabric, stage, check, jobs, progress)
            run.devices(declared_ratios(spec))
            found = accepted(softened(run.found, spec), spec.accept)
            result = BuildResult(name, None, (*front.diagnostics, *found), fabric.counts(), links=run.links)
            if any(d.severity is Severity.ERROR for d in found):
                return _rejected(result, stage, out, name), []
            run.plan_files(spec)
            run.job_files()
            manifest = Manifest(name, __version__, spec_name(spec), manifest_inputs(front, spec), run.sums)
            changed = write_lock(front)
            done = stage.commit(manifest, run.changed)
        except BaseException:
            stage.abandon()
            raise
        with suppress(OSError):
            _remove(out / f".{name}.rejected")
    written = [*_edited(run.edited, stage.target), *done.diagnostics]
    result = replace(
        result,
        tree=stage.target,
        diagnostics=(*result.diagnostics, *accepted(written, spec.accept)),
        files=done.written + done.kept,
        written=done.written,
        removed=done.removed,
        lock_changed=changed,
    )
    return result, [*run.sums, "manifest.json"]


def spec_name(spec: ClusterSpec) -> str:
    """File name of the spec, without its folder."""
    return os.path.basename(spec.file)  # noqa: PTH119 - text, not a file on this machine


@dataclass(slots=True)
class _Run:
    """One pass over all devices and what it gathers."""

    fabric: Fabric
    stage: Stage
    check: bool
    jobs: int | None
    progress: Callable[[str, int, int], None] | None
    sums: dict[str, str] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    changed: int = 0
    links: int = 0
    found: list[Diagnostic] = field(default_factory=list)
    _tables: list[tuple[str, bytes]] = field(default_factory=list)

    def devices(self, declared: Mapping[int, Ratio]) -> None:
        """Render and write every device, and prove it when asked to; `declared`: oversubscription by tier."""
        from fabricc.build.device import Work, pieces_of
        from fabricc.build.outcome import Outcome

        jobs = job_count(self.fabric, self.jobs)
        work = Work(self.fabric, pieces_of(self.fabric, jobs), self.stage, None, self.check)
        outcome = Outcome(work, jobs)
        outcome.run(self.progress, "switches and hosts")
        self.links = outcome.meeting.links
        self._take(outcome.written)
        self._tables = outcome.tables()
        self.found = outcome.diagnostics(str(self.stage.target), declared)

    def plan_files(self, spec: ClusterSpec) -> None:
        """Write the plan's tables and summary."""
        from fabricc.build import tables
        from fabricc.planning.quality import worksheets

        summary = tables.json_text(tables.fabric_summary(self.fabric, spec.assumptions))
        self._put("plan/fabric.json", summary.encode())
        sheets = worksheets(spec, self.fabric)
        steps = [tables.WORKSHEET, *tables.worksheet_rows(sheets)]
        self._put("plan/worksheet.csv", tables.csv_text(steps).encode())
        self._put("plan/worksheet.json", tables.json_text(tables.worksheet_summary(sheets)).encode())
        for path, content in self._tables:
            self._put(path, content)

    def job_files(self) -> None:
        """Write what schedulers, launchers and collective libraries read, and the acceptance test."""
        from fabricc.jobs.files import executable, job_files

        for path, text in job_files(self.fabric).items():
            self._put(path, text.encode(), mode=0o755 if executable(path, text) else 0o644)

    def _put(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        self._take([self.stage.put(path, content, mode=mode)])

    def _take(self, written: Iterable[Written]) -> None:
        for path, digest, changed, edited in written:
            if path in self.sums:
                raise EmitError("FAB7004", f"two files of one build have the name {path}")
            self.sums[path] = digest
            self.changed += changed
            if edited:
                self.edited.append(path)


def job_count(fabric: Fabric, jobs: int | None) -> int:
    """How many processes: as asked, else one per CPU, and one for a fabric too small to share out."""
    from fabricc.build.workers import usable_cpus

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
    if front.lock_text == front.lock_before:
        return False
    draft = front.lock_path.with_name(f".{front.lock_path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        with draft.open("x", encoding="utf-8", newline="") as file:
            file.write(front.lock_text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(front.lock_path)
    except OSError as error:
        raise EmitError.from_os(error) from None
    return True


def _rejected(result: BuildResult, stage: Stage, out: Path, name: str) -> BuildResult:
    """Keep what failed the proof beside the tree, for reading, and point the findings there."""
    from fabricc.emit import folders

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
    from fabricc.emit import swap

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
