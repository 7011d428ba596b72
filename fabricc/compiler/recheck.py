"""The check of a tree on disk: its bytes against its manifest, its meaning against a fresh plan."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler import record
from fabricc.compiler.quoting import tree_texts
from fabricc.compiler.result import BuildResult
from fabricc.proof.tree import read_manifest, verify_manifest
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabricc.tree import Manifest


def check_tree(
    tree: Path,
    spec_path: Path | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    simulate: bool = False,
) -> tuple[BuildResult, dict[str, str]]:
    """Prove the tree's files against the plan of its spec.

    Args:
        tree: what `build` wrote, `build/<cluster>`.
        spec_path: its spec; None to look for it where the last build or the tree's parents have it.
        jobs: worker processes; None for one per usable CPU.
        progress: called as `build` does.
        simulate: also run the subnet manager on simulated switches (InfiniBand only).

    Returns:
        What was found, and the text of the files that diagnostics point into, by name.
    """
    result, sources = _checked(tree, spec_path, jobs, progress, simulate=simulate)
    return result, {**tree_texts(result.diagnostics, tree), **sources}


def _checked(
    tree: Path,
    spec_path: Path | None,
    jobs: int | None,
    progress: Callable[[str, int, int], None] | None,
    *,
    simulate: bool,
) -> tuple[BuildResult, Mapping[str, str]]:
    manifest, missing = read_manifest(tree)
    if manifest is None:
        return BuildResult(diagnostics=(missing,) if missing else ()), {}
    spec_path = spec_path or find_spec(tree, manifest)
    if spec_path is None:
        message = f"the spec {manifest.spec} of {tree} is not where it was, nor above the tree"
        remedy = f"Name it: `fabricc check {tree} --spec PATH`."
        return BuildResult(diagnostics=(Diagnostic("FAB6015", Severity.ERROR, message, None, remedy),)), {}
    from fabricc.compiler.device import Work, pieces_of
    from fabricc.compiler.driver import job_count
    from fabricc.compiler.front import run_front
    from fabricc.compiler.outcome import Outcome, manifest_inputs
    from fabricc.front.spec.load import accepted
    from fabricc.proof.invariants.declared import declared_ratios, softened

    front = run_front(spec_path, gaps=False, infiniband=True)
    sources = front.sources
    if front.infiniband is not None and front.sound:
        from fabricc.compiler.infiniband import check_infiniband

        return check_infiniband(front, tree, manifest, progress, simulate=simulate), sources
    if front.spec is None or front.fabric is None or not front.sound:
        return BuildResult(diagnostics=front.diagnostics), sources
    if simulate:
        message = "`--sim` runs a subnet manager, which only an InfiniBand fabric has"
        help_ = "`fabricc lab` boots a fabric of Ethernet."
        return BuildResult(
            diagnostics=(Diagnostic("FAB6016", Severity.ERROR, message, None, help_),)
        ), sources
    found = list(front.diagnostics)
    bytes_ = verify_manifest(tree, manifest)
    inputs = manifest_inputs(front, front.spec)
    if not _same_inputs(inputs, manifest.inputs):
        message = f"{tree} was built from another state of {spec_path}, its lock or its catalog"
        found.append(Diagnostic("FAB6014", Severity.WARNING, message, None, "Build again."))
    workers = job_count(front.fabric, jobs)
    altered = _altered(tree, bytes_) if inputs == manifest.inputs else frozenset()
    work = Work(
        front.fabric, pieces_of(front.fabric, workers), None, DeviceFiles.of(tree, manifest), altered=altered
    )
    outcome = Outcome(work, workers)
    try:
        outcome.run(progress, "devices read back")
        found += outcome.diagnostics(str(tree), declared_ratios(front.spec))
    except EmitError as error:
        found.append(error.diagnostic)
    found = accepted(softened([*found, *bytes_], front.spec), front.spec.accept)
    counts, total = front.fabric.counts(), len(manifest.files) + 1
    result = BuildResult(front.spec.cluster, tree, tuple(found), counts, total, links=outcome.meeting.links)
    return result, sources


def _altered(tree: Path, bytes_: Iterable[Diagnostic]) -> frozenset[str]:
    """Folders of the devices that a file of was changed (FAB6010) or is missing (FAB6011)."""
    paths = (Path(each.position.file).relative_to(tree) for each in bytes_ if each.position)
    return frozenset("/".join(path.parts[:2]) for path in paths)


def _same_inputs(now: Mapping[str, str], then: Mapping[str, str]) -> bool:
    """Whether the inputs are the same; templates of the user's own, which a check does not need, only if it has any."""
    from fabricc.compiler.outcome import TEMPLATES

    if not any(name.startswith(TEMPLATES) for name in now):
        then = {name: digest for name, digest in then.items() if not name.startswith(TEMPLATES)}
    return now == then


def find_spec(tree: Path, manifest: Manifest) -> Path | None:
    """The spec of the tree: on this user's record, or of its name above the tree and inside its repository."""
    recorded = record.spec_of(tree)
    if recorded is not None and recorded.is_file():
        return recorded
    if manifest.spec.startswith("."):
        return None
    real = Path(os.path.realpath(tree))
    clone = files.clone_of(real)
    above = [folder for folder in real.parents if folder.is_relative_to(clone)] if clone else real.parents[:2]
    return next((path for folder in above if (path := folder / manifest.spec).is_file()), None)


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The files of the manifest by the device's folder, read when asked for."""

    tree: Path
    names: Mapping[str, tuple[str, ...]]
    _folder: files.Folder

    @staticmethod
    def of(tree: Path, manifest: Manifest) -> DeviceFiles:
        """The files of every device in the manifest.

        Raises:
            OSError: the tree cannot be read.
        """
        table: dict[str, list[str]] = {}
        for path in manifest.files:
            parts = path.split("/", 2)
            if len(parts) == 3:
                table.setdefault(f"{parts[0]}/{parts[1]}", []).append(parts[2])
        names = {folder: tuple(sorted(names)) for folder, names in table.items()}
        return DeviceFiles(tree, names, files.Folder(tree))

    def __call__(self, folder: str) -> dict[str, str]:
        """The text of a device's files; what is missing, a link or too large is left out, the manifest tells."""
        texts = {}
        for name in self.names.get(folder, ()):
            with suppress(OSError):
                texts[name] = self._folder.read(f"{folder}/{name}").decode(errors="replace")
        return texts
