"""Write a planned spec as a tree: workers render every device, prove it, and one step puts the tree in place."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.jobs.files import job_files
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.values import dataclass, replace
from fabricc.compiler.incremental import record
from fabricc.compiler.incremental.ledger import Ledger, Ledgers, fabric_outline, store_ledgers
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.load.lock_file import lock_change, lost_lock, other_tree, write_lock
from fabricc.compiler.plan.repinning import REPINNED
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.device import TreeFiles, Work, job_count, pieces_of
from fabricc.compiler.write.outcome import Outcome, plan_texts
from fabricc.front.spec.load import apply_severities
from fabricc.proof.invariants.rules import declared_ratios, soften_breaches
from fabricc.tree import EmitError, folders
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.manifest import Manifest
from fabricc.tree.patch import complete_patch
from fabricc.tree.stage import Parts, Stage
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.compiler.planned_spec import PlannedSpec
    from fabricc.compiler.write.infiniband import InfinibandRun
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def write_tree(
    plan: PlannedSpec,
    out: Path,
    jobs: int | None,
    frozen: bool,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
    before: Callable[[], None] | None = None,
) -> BuildResult:
    """Write the tree below `out`, and record it for the next build; arguments as those of `Compiled.write`.

    `before` is called when all is sound, before anything is written.
    """
    if not plan.sound:
        return BuildResult(diagnostics=plan.diagnostics)
    spec = plan.spec
    result = BuildResult(spec.cluster, None, plan.diagnostics, plan.counts())
    if (lost := lost_lock(plan, [out])) is not None and lost.severity is Severity.ERROR:
        return replace(result, diagnostics=(*plan.diagnostics, lost))
    if (other := other_tree(plan, out)) is not None:
        return replace(result, diagnostics=(*plan.diagnostics, other))
    if frozen and plan.lock_text != plan.lock_before:
        return replace(result, diagnostics=(*plan.diagnostics, lock_change(plan)))
    if before is not None:
        before()
    try:
        result, files, ledgers = _emit_tree(plan, out, jobs, check, progress)
    except EmitError as error:
        return replace(result, diagnostics=(*plan.diagnostics, error.diagnostic))
    if result.exit_status == 0:
        inputs = dict(plan.inputs)
        inputs[str(plan.lock_path.resolve())] = hashlib.sha256(plan.lock_text.encode()).hexdigest()
        lasting = tuple(d for d in result.diagnostics if d.code not in REPINNED)
        remembered = replace(result, diagnostics=lasting)
        digest = store_ledgers(out, spec.cluster, ledgers)
        record.save_build(out, remembered, plan.path, inputs, record.build_options(check), files, digest)
    return replace(result, diagnostics=(*result.diagnostics, lost)) if lost else result


def prove_plan(plan: PlannedSpec, jobs: int | None) -> tuple[Diagnostic, ...]:
    """Render the files of a cluster, read them back and return the findings; write nothing."""
    spec, found = plan.spec, []
    if plan.infiniband is not None:
        from fabricc.compiler.write.infiniband import prove_rendered  # no fabric of Ethernet needs it

        return tuple(apply_severities(prove_rendered(plan), spec.accept))
    for part in (plan, *plan.networks.values()):
        count = job_count(part.fabric, jobs)
        outcome = Outcome(Work(part.fabric, pieces_of(part.fabric, count), None), count)
        outcome.run(None, "")
        found += outcome.diagnostics(spec.cluster, declared_ratios(part.spec))
    return tuple(apply_severities(soften_breaches(found, spec), spec.accept))


def _emit_tree(
    plan: PlannedSpec,
    out: Path,
    jobs: int | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[BuildResult, list[str], Ledgers | None]:
    """Return the result, the paths of the tree's files, and the ledgers where they can be kept."""
    spec = plan.spec
    name = spec.cluster
    with hold_lock(out / name):
        complete_patch(out / name)
        stage = Stage.open(out, name)
        try:
            run: _Run | InfinibandRun
            if plan.infiniband is not None:
                from fabricc.compiler.write.infiniband import InfinibandRun  # no fabric of Ethernet needs it

                run = InfinibandRun(spec, plan.infiniband, stage, check, progress)
            else:
                run = _Run(plan, stage, check, jobs, progress)
            run.devices()
            found = apply_severities(soften_breaches(run.found, spec), spec.accept)
            result = BuildResult(name, None, (*plan.diagnostics, *found), run.counts, links=run.links)
            if any(d.severity is Severity.ERROR for d in found):
                return _keep_rejected(result, stage, out, name), [], None
            run.plan_files()
            manifest = Manifest(name, __version__, spec_name(spec), manifest_inputs(plan), run.gathered.sums)
            changed = write_lock(plan)
            done = stage.commit(manifest, run.gathered.changed)
        except OSError as error:
            stage.abandon()
            raise EmitError.from_os(error) from None
        except BaseException:
            stage.abandon()
            raise
        with suppress(OSError):
            folders.remove_path(out / f".{name}.rejected")
    written = [*_edited_files(run.gathered.edited, stage.target), *done.diagnostics]
    result = replace(
        result,
        tree=stage.target,
        diagnostics=(*result.diagnostics, *apply_severities(written, spec.accept)),
        files=done.written + done.kept,
        written=done.written,
        removed=done.removed,
        lock_changed=changed,
        repinned=plan.repinned,
    )
    return result, [*run.gathered.sums, "manifest.json"], run.ledgers


def spec_name(spec: ClusterSpec) -> str:
    """File name of the spec, without its folder."""
    return os.path.basename(spec.file)  # noqa: PTH119 - text, not a file on this machine


@dataclass(slots=True)
class _Run:
    """One pass over all devices and what it gathers."""

    plan: PlannedSpec
    stage: Stage
    check: bool
    jobs: int | None
    progress: Callable[[str, int, int], None] | None
    gathered: TreeFiles = field(default_factory=TreeFiles)
    links: int = 0
    found: list[Diagnostic] = field(default_factory=list)
    ledgers: dict[str, Ledger] | None = field(default_factory=dict)
    _tables: list[tuple[str, Parts]] = field(default_factory=list)

    @property
    def counts(self) -> Mapping[str, int]:
        """Devices, GPUs and cables."""
        return self.plan.counts()

    def devices(self) -> None:
        """Render and write every device, prove it if requested, and write the files that follow from the plan alone."""
        for part in (self.plan, *self.plan.networks.values()):
            self._write_network(part.spec, part.fabric)

    def _write_network(self, spec: ClusterSpec, fabric: Fabric) -> None:
        def whole() -> Iterator[tuple[str, str]]:
            yield from plan_texts(spec, fabric)
            if not fabric.network:
                yield from job_files(fabric).items()

        jobs = job_count(fabric, self.jobs)
        work = Work(fabric, pieces_of(fabric, jobs), self.stage, None, self.check, whole=whole)
        outcome = Outcome(work, jobs)
        name = f" of network {fabric.network}" if fabric.network else ""
        outcome.run(self.progress, f"switches and hosts{name}")
        self.links += outcome.links.links
        self.gathered.join(outcome.written)
        self._tables += outcome.tables()
        if outcome.findings.kept:
            self.ledgers = None
        elif self.ledgers is not None:
            self.ledgers[fabric.network] = outcome.ledger(fabric_outline(fabric))
        self.found += outcome.diagnostics(str(self.stage.target), declared_ratios(spec))

    def plan_files(self) -> None:
        """Write the tables whose rows the devices brought."""
        while self._tables:  # each leaves room for the next
            self.gathered.add_staged([self.stage.put_parts(*self._tables.pop(0))])


def _keep_rejected(result: BuildResult, stage: Stage, out: Path, name: str) -> BuildResult:
    """Keep files that failed the proof next to the tree, and point the findings at them."""
    aside = out / f".{name}.rejected"
    try:
        folders.remove_path(aside)
        folders.prune_folders(stage.folder, stage.spare)
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


def _edited_files(paths: list[str], tree: Path) -> list[Diagnostic]:
    """Report FAB7006 for files that somebody changed since the last build; this build has restored them."""
    if not paths:
        return []
    message = f"edited by hand since the last build, and now overwritten: {join_words(sorted(paths), 3)}"
    help_ = f"Make such changes in the spec or an overlay; {tree} is generated."
    return [Diagnostic("FAB7006", Severity.WARNING, message, None, help_)]
