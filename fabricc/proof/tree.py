"""The tree against its manifest: files changed by hand, missing, or not of the build."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.foreign.files import Folder
from fabricc.base.values import dataclass
from fabricc.proof.required_files import completeness_findings
from fabricc.tree import manifest as manifests
from fabricc.tree import state
from fabricc.tree.exclusive import is_building
from fabricc.tree.folders import folders_above

if TYPE_CHECKING:
    from pathlib import Path


_NONE: Mapping[str, Iterable[Diagnostic]] = {}
_LARGEST = 4 << 30  # bytes of all files; trees of 24,576 GPUs have less than a tenth
_ATTEMPTS = 5
_PAUSE_S = 0.2
_PIECE = 1000
"""Files that a step compares."""
_REBUILD = "Build again; edits belong in the spec."


T = TypeVar("T")
Steps = Sequence[Callable[[], list[Diagnostic]]]
"""Parts of a comparison with a manifest, in any order, each with what it finds."""


class TreeError(FindingsError):
    """There is not an output tree, or it does not match its manifest."""


def open_tree(tree: Path) -> tuple[Folder, bytes, manifests.Manifest]:
    """Return a tree's folder, to be closed, with the bytes of its manifest and what they state.

    Raises:
        TreeError: FAB6013, there is none; FAB6020, a build is moving its files; FAB6021, no build writes such
            a manifest; FAB0083, its files are larger than those of any tree.
    """
    reject_pending(tree)
    try:
        folder = Folder(tree)
        stated = folder.read(manifests.NAME, limit=manifests.LIMIT)
        manifest = manifests.Manifest.parse(stated)
        if _tree_size(tree, manifest) > _LARGEST:
            message = (
                f"the files of {tree} are larger than {_LARGEST >> 30} GiB together; no build writes so much"
            )
            raise TreeError("FAB0083", message, "Build again, or give another folder.")
        return folder, stated, manifest
    except OSError as error:
        message = f"{tree} is not an output tree: cannot read its manifest.json ({error.strerror or error})"
        below = [str(tree / each.name) for each in trees_around(tree) if each.parent == tree.absolute()]
        help_ = (
            f"Built trees in it: {', '.join(below[:3])}." if below else "Give a folder that `build` wrote."
        )
        raise TreeError("FAB6013", message, help_) from None
    except manifests.ManifestError as error:
        message = f"{tree} is not an output tree: its manifest.json was not written by a build ({error})"
        at = Position(str(tree / manifests.NAME), error.line)
        raise TreeError("FAB6021", message, "Build again, or give another folder.", at) from None


def _tree_size(tree: Path, manifest: manifests.Manifest) -> int:
    """Return the size of the files of a tree; a file without contents on the disk has one, too."""
    total = 0
    for path in manifest.files:
        with suppress(OSError):
            total += os.lstat(f"{tree}/{path}").st_size
    return total


def read_manifest(tree: Path) -> manifests.Manifest:
    """Return the tree's manifest.

    Raises:
        TreeError: as `open_tree`.
    """
    folder, _, manifest = open_tree(tree)
    folder.close()
    return manifest


def reject_pending(tree: Path) -> None:
    """Raise FAB6020 while a build moves files into a tree, and after a build that was killed while it did."""
    if state.has_pending(tree):
        message = f"a build of {tree} is moving its files into place, or was ended while it did"
        raise TreeError("FAB6020", message, "Build again, which completes it.")


def trees_around(path: Path) -> tuple[Path, ...]:
    """Return the built trees that a file or folder is in, or that are directly in the folder."""
    absolute = path.absolute()
    above = next((each for each in (absolute, *absolute.parents) if _is_tree(each)), None)
    if above is not None:
        return (above,)
    with suppress(OSError, ValueError):  # ValueError: no name that a folder can have
        return tuple(each for each in sorted(absolute.iterdir()) if _is_tree(each))
    return ()


def _is_tree(path: Path) -> bool:
    if not os.path.lexists(path / manifests.NAME):  # as in a folder of thousands of configurations
        return False
    try:
        with Folder(path) as folder:
            return manifests.is_manifest(folder.read(manifests.NAME, limit=manifests.LIMIT))
    except OSError:
        return False


def read_consistently(
    trees: Iterable[Path], read: Callable[[], T], wrong: Callable[[T], bool] | None = None
) -> T:
    """Read trees again while builds exchange their files, so that no result mixes the files of two builds.

    Args:
        trees: the folders.
        read: reads the trees.
        wrong: whether a result has faults, which count only if no build runs: it may have written the lock already. A
            result without faults holds in any case, as `read` compared every file with one manifest. None: every
            result holds if the trees are as they were.

    Raises:
        FindingsError, OSError: what `read` raises of trees that stay as they are; FAB6020, a tree changed at every
            attempt, or a build of it runs.
    """
    trees = tuple(trees)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        before = [_manifest_digest(tree) for tree in trees]
        try:
            result = read()
            if wrong is not None and not wrong(result):
                return result
            failure: Exception | None = None
        except (FindingsError, OSError) as error:
            failure = error
        if before != [_manifest_digest(tree) for tree in trees]:
            continue
        if failure is not None and not any(map(is_building, trees)):
            raise failure
        if failure is None and (wrong is None or not any(map(is_building, trees))):
            return result
    message = f"{' or '.join(map(str, trees))} changed while it was read: a build is writing it"
    raise TreeError("FAB6020", message, "Let the build end, then repeat the command.")


def _manifest_digest(tree: Path) -> str | None:
    """Return the digest of the manifest; None while there is none, or a build moves files."""
    if state.has_pending(tree):
        return None
    try:
        with Folder(tree) as folder:
            return folder.digest(manifests.NAME, limit=manifests.LIMIT)
    except OSError:
        return None


def verify_manifest(
    tree: Path,
    manifest: manifests.Manifest,
    verified: Mapping[str, Iterable[Diagnostic]] = _NONE,
    unstated: Iterable[str] | None = None,
    expected: Collection[str] | None = None,
    run: Callable[[Steps], Iterable[list[Diagnostic]]] | None = None,
) -> list[Diagnostic]:
    """Report FAB6010 for each changed file, FAB6011 for a missing one, FAB6012 for one that the manifest lacks.

    Args:
        tree: the folder.
        manifest: its content.
        verified: folders of devices passed to `DeviceFiles.read_verified`, and its findings.
        unstated: the result of `unstated_files`, if known.
        expected: as of `completeness_findings`.
        run: runs the steps, in as many processes as it has, and returns their findings; None to run them here.

    Raises:
        OSError: the tree disappeared meanwhile.
    """
    wrong = [each for found in verified.values() for each in found]
    paths = [path for path in manifest.files if _device_folder(path) not in verified]
    pieces = [paths[at : at + _PIECE] for at in range(0, len(paths), _PIECE)]
    with Folder(tree) as folder:
        steps: list[Callable[[], list[Diagnostic]]] = [
            lambda: [*completeness_findings(folder, manifest, verified, expected)],
            *(partial(_find_damage, folder, manifest, piece) for piece in pieces),
        ]
        wrong += chain.from_iterable(run(steps) if run else [step() for step in steps])
    wrong.sort(key=lambda each: each.position.file if each.position else "")
    for path in unstated_files(tree, manifest) if unstated is None else unstated:
        message = f"{path} is in the tree and not in its manifest"
        wrong.append(Diagnostic("FAB6012", Severity.WARNING, message, Position(str(tree / path), 1)))
    return wrong


def unstated_files(tree: Path, manifest: manifests.Manifest) -> list[str]:
    """Return what a tree has and its manifest lacks, by paths below it; `/` ends a folder that cannot be read."""
    found = {*_files_below(tree)} - manifest.files.keys() - {manifests.NAME}
    if any(path.endswith("/") for path in found):
        found -= {f"{folder}/" for folder in folders_above(manifest.files)}  # FAB6011 reports its files
    return sorted(found)


def _find_damage(folder: Folder, manifest: manifests.Manifest, paths: Iterable[str]) -> list[Diagnostic]:
    """Return FAB6010 or FAB6011 for each of some files that is not as stated."""
    return [each for path in paths for each in _damage_findings(folder, path, manifest.files[path])]


def _damage_findings(folder: Folder, path: str, stated: str) -> Iterator[Diagnostic]:
    """Report FAB6010 or FAB6011 if a file is not as stated."""
    try:
        if folder.digest(path) == stated:
            return
        code, message = "FAB6010", f"{path} was changed after the build wrote it"
    except OSError as error:
        code, message = "FAB6011", f"{path} is in the manifest and cannot be read: {error.strerror}"
    yield Diagnostic(code, Severity.ERROR, message, Position(str(folder.path / path), 1), _REBUILD)


@lru_cache(maxsize=128)
def _decode_file(content: bytes) -> tuple[str, str]:
    """Return a file's text and SHA-256 (hex); cached, because hosts share most files."""
    return content.decode(errors="replace"), sha256(content).hexdigest()


def _device_folder(path: str) -> str:
    """Return the folder of the device that owns a path; "" for a file of no device."""
    parts = path.split("/", 2)
    return f"{parts[0]}/{parts[1]}" if len(parts) == 3 else ""


def _files_below(tree: Path) -> Iterator[str]:
    """Yield the paths of all files below a tree; a link is a file, and so is a folder that cannot be read."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            entries = [*os.scandir(f"{tree}/{above}")]
        except OSError:
            yield from [above] if above else []
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{above}{entry.name}/")
            else:
                yield f"{above}{entry.name}"


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The files of the manifest by the device's folder, read on use."""

    tree: Path
    names: Mapping[str, tuple[str, ...]]
    sums: Mapping[str, str]
    _folder: Folder

    @staticmethod
    def of(tree: Path, manifest: manifests.Manifest) -> DeviceFiles:
        """Return the files of every device in the manifest.

        Raises:
            OSError: the tree cannot be read.
        """
        table: dict[str, list[str]] = {}
        for path in manifest.files:
            if folder := _device_folder(path):
                table.setdefault(folder, []).append(path[len(folder) + 1 :])
        names = {folder: tuple(sorted(names)) for folder, names in table.items()}
        return DeviceFiles(tree, names, manifest.files, Folder(tree))

    def __call__(self, folder: str) -> dict[str, str]:
        """Return the text of a device's files.

        Missing, linked and too large files are omitted and reported elsewhere.
        """
        return self.read_verified(folder)[0]

    def read_verified(self, folder: str) -> tuple[dict[str, str], list[Diagnostic]]:
        """Return the same, and FAB6010 or FAB6011 for each file that differs from the manifest."""
        texts: dict[str, str] = {}
        wrong: list[Diagnostic] = []
        for name in self.names.get(folder, ()):
            path = f"{folder}/{name}"
            stated, digest = self.sums[path], ""
            with suppress(OSError):
                texts[name], digest = _decode_file(self._folder.read(path))
            if digest != stated:
                wrong += _damage_findings(self._folder, path, stated)
        return texts, wrong

    def text(self, path: str) -> str:
        """Return the text of a file of no device; "" if it is missing, a link or too large."""
        with suppress(OSError):
            return self._folder.read(path).decode(errors="replace")
        return ""
