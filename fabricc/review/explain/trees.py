"""A line named by its file in a built tree: the tree, its spec, and the device whose file it is."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos.templating import override_digests
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.files import Folder
from fabricc.compiler.load.input_digests import TEMPLATES, manifest_inputs
from fabricc.compiler.load.spec_location import find_spec
from fabricc.compiler.render.switch_files import overlay_lines, render_switch
from fabricc.fabric.model import Host
from fabricc.proof.tree import DeviceFiles, read_manifest
from fabricc.review.explain.lines import Place, Texts
from fabricc.review.explain.model import SubjectError
from fabricc.tree import EmitError
from fabricc.tree import manifest as manifests

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fabricc.compiler.compiled import Compiled
    from fabricc.review.explain.subject import Subject
    from fabricc.tree.manifest import Manifest

_LINE = re.compile(r"(.+?):([0-9]{1,9})(?::[0-9]+)?")
_NEAR = 3


class TreeLine(NamedTuple):
    """A line of a device's file.

    Attributes:
        tree: the folder with the manifest.
        spec: the tree's spec.
        folder: of the device, `switches/NAME` or `hosts/NAME`.
        place: the file below that folder, and the line.
    """

    tree: Path
    manifest: Manifest
    spec: Path
    folder: str
    place: Place

    @property
    def path(self) -> str:
        """The file below the tree."""
        return f"{self.folder}/{self.place.file}"


def line_named(text: str) -> tuple[Path, int] | None:
    """File and line of `FILE:LINE`, as editors and `grep -n` write it; None for anything else."""
    found = _LINE.fullmatch(text)
    return (Path(found[1]), int(found[2])) if found else None


def find_line(file: Path, line: int, spec: Path | None = None) -> TreeLine:
    """Return the tree, the spec and the device of a line.

    Args:
        file: the file.
        line: the line in it, from 1.
        spec: the tree's spec; None to look for it.

    Raises:
        SubjectError: FAB9271, no built tree has the line; FAB9272, the file is of no device; FAB6015, no spec.
    """
    absolute = file.absolute()  # links are not followed: a file in a link's place is none of the build's
    above = tree_above(absolute)
    if above is None:
        why = "there is no such file" if not file.is_file() else "no folder above it has a manifest.json"
        raise _refuse_line(f"{file} is not in a built tree: {why}", "Name a file below build/<cluster>.")
    tree = _from_here(above)
    manifest = read_manifest(tree)
    path = absolute.relative_to(above).as_posix()
    if path not in manifest.files:
        raise _refuse_line(f"the manifest of {tree} has no file {path}", _similar_paths(path, manifest.files))
    kind, _, rest = path.partition("/")
    name, _, inner = rest.partition("/")
    if kind not in ("switches", "hosts") or not inner:
        help_ = "Name a device, a port, an address or an ASN of it: `fabricc explain SPEC NAME`."
        message = f"{path} belongs to no device: its lines are tables and settings of the whole"
        raise SubjectError("FAB9272", message, help_)
    try:
        with Folder(tree) as folder:
            count = len(folder.read(path).decode(errors="replace").splitlines())
    except OSError:
        raise _refuse_line(f"{file} is in the manifest and not in the tree", "Build again.") from None
    if not 1 <= line <= count:
        raise _refuse_line(f"{file} has {count:,} lines, and so no line {line:,}", "Lines count from 1.")
    return TreeLine(tree, manifest, spec or spec_of(tree, manifest), f"{kind}/{name}", Place(inner, line))


def tree_above(path: Path) -> Path | None:
    """Return the nearest folder above a file that has a manifest; the path is an absolute one."""
    return next((folder for folder in path.parents if (folder / manifests.NAME).is_file()), None)


def _from_here(path: Path) -> Path:
    """Return the path as seen from the working folder, where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def spec_of(tree: Path, manifest: Manifest) -> Path:
    """Return the spec that a tree was built from.

    Raises:
        SubjectError: FAB6015, it is neither where it was nor above the tree.
    """
    spec = find_spec(tree, manifest)
    if spec is None:
        message = f"the spec {manifest.spec} of {tree} is not where it was, nor above the tree"
        raise SubjectError("FAB6015", message, "Name it: `--spec PATH`.")
    return _from_here(spec)


def report_stale(line: TreeLine, compiled: Compiled) -> list[Diagnostic]:
    """Report FAB6014 if the tree is of another state of the spec, FAB6010 if the file was changed after the build."""
    found = []
    now = manifest_inputs(compiled)
    then = line.manifest.inputs
    if now.items() - _template_inputs(now).items() != then.items() - _template_inputs(then).items():
        message = f"{line.tree} was built from another state of {line.spec}, its lock or its catalog"
        help_ = "What follows is explained by the spec as it is now; build again."
        found.append(Diagnostic("FAB6014", Severity.WARNING, message, None, help_))
    file = line.tree / line.path
    with Folder(line.tree) as folder:
        changed = folder.digest(line.path) != line.manifest.files[line.path]
    if changed:
        message = f"{line.path} was changed after the build wrote it"
        at, help_ = Position(str(file), line.place.line), "Build again; edits belong in the spec."
        found.append(Diagnostic("FAB6010", Severity.WARNING, message, at, help_))
    return found


def texts_of(line: TreeLine, subject: Subject) -> Texts:
    """Return the files of the line's device, as they are and as a build now writes them."""
    found = DeviceFiles.of(line.tree, line.manifest)(line.folder)
    if isinstance(subject.device, Host):
        part = host_files.of_part(found, subject.device)
        return Texts(part, host_files.render(subject.device), host_files.read)
    fresh: Mapping[str, str] = {}
    overlaid: Collection[tuple[str, int]] = ()
    if _template_inputs(line.manifest.inputs) == _own_templates():
        with suppress(EmitError):  # a template or an overlay that no longer fits: then it is unknown
            fresh = render_switch(subject.device)
    if subject.device.overlays:
        overlaid = overlay_lines(subject.device, found)[1]
    return Texts(found, fresh, back_ends.load(subject.device.nos).read, overlaid)


def _own_templates() -> dict[str, str]:
    """Return the templates of the user's own that are in use, as a manifest has them."""
    return {TEMPLATES + name: digest for name, digest in override_digests().items()}


def _template_inputs(inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in inputs.items() if name.startswith(TEMPLATES)}


def _refuse_line(message: str, help: str) -> SubjectError:
    return SubjectError("FAB9271", message, help)


def _similar_paths(path: str, files: Mapping[str, str]) -> str:
    folder = path.rpartition("/")[0]
    same = [name for name in files if name.startswith(f"{folder}/")]
    near = get_close_matches(path, same or list(files)[:5000], _NEAR, 0.5)
    return f"It has, for example: {', '.join(near)}." if near else "Name a file below switches/ or hosts/."
