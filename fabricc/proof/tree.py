"""The tree against its manifest: files changed by hand, missing, or not of the build."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.foreign.files import Folder
from fabricc.base.values import dataclass
from fabricc.tree import manifest as manifests
from fabricc.tree import patch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fabricc.tree.manifest import Manifest

_REBUILD = "Build again; edits belong in the spec."


class TreeError(FindingsError):
    """No output tree to read, or one that is not what its manifest says."""


def open_tree(tree: Path) -> tuple[Folder, bytes, Manifest]:
    """A tree's folder, to be closed, with the bytes of its manifest and what they state.

    Raises:
        TreeError: FAB6013, there is none; FAB6020, a build is moving its files; FAB6021, no build writes such
            a manifest.
    """
    if patch.pending(tree):
        message = f"a build of {tree} is moving its files into place, or was ended while it did"
        raise TreeError("FAB6020", message, "Build again, which completes it.")
    try:
        folder = Folder(tree)
        stated = folder.read(manifests.NAME, limit=manifests.LIMIT)
        return folder, stated, manifests.Manifest.parse(stated)
    except OSError as error:
        message = f"{tree} is no output tree: cannot read its manifest.json ({error.strerror or error})"
        raise TreeError("FAB6013", message, "Give a folder that `build` wrote.") from None
    except manifests.ManifestError as error:
        message = f"{tree} is no output tree: its manifest.json is none that a build writes ({error})"
        at = Position(str(tree / manifests.NAME), error.line)
        raise TreeError("FAB6021", message, "Build again, or give another folder.", at) from None


def read_manifest(tree: Path) -> Manifest:
    """The tree's manifest.

    Raises:
        TreeError: as `open_tree`.
    """
    folder, _, manifest = open_tree(tree)
    folder.close()
    return manifest


def verify_manifest(tree: Path, manifest: Manifest) -> list[Diagnostic]:
    """FAB6010 for each changed file, FAB6011 for a missing one, FAB6012 for one that the manifest lacks.

    Raises:
        OSError: the tree went meanwhile.
    """
    wrong = []
    with Folder(tree) as folder:
        for path, stated in sorted(manifest.files.items()):
            at = Position(str(tree / path), 1)
            try:
                if folder.digest(path) != stated:
                    message = f"{path} was changed after the build wrote it"
                    wrong.append(Diagnostic("FAB6010", Severity.ERROR, message, at, _REBUILD))
            except OSError as error:
                message = f"{path} is in the manifest and cannot be read: {error.strerror}"
                wrong.append(Diagnostic("FAB6011", Severity.ERROR, message, at, _REBUILD))
    for path in sorted({*_below(tree)} - manifest.files.keys() - {manifests.NAME}):
        message = f"{path} is in the tree and not in its manifest"
        wrong.append(Diagnostic("FAB6012", Severity.WARNING, message, Position(str(tree / path), 1)))
    return wrong


def _below(tree: Path) -> Iterator[str]:
    """Every file of a tree, by its path below it; a link is a file, and what cannot be looked into has none."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with suppress(OSError), os.scandir(f"{tree}/{above}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{above}{entry.name}/")
                else:
                    yield f"{above}{entry.name}"


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The files of the manifest by the device's folder, read when asked for."""

    tree: Path
    names: Mapping[str, tuple[str, ...]]
    _folder: Folder

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
        return DeviceFiles(tree, names, Folder(tree))

    def __call__(self, folder: str) -> dict[str, str]:
        """The text of a device's files; what is missing, a link or too large is left out, the manifest tells."""
        texts = {}
        for name in self.names.get(folder, ()):
            with suppress(OSError):
                texts[name] = self._folder.read(f"{folder}/{name}").decode(errors="replace")
        return texts

    def text(self, path: str) -> str:
        """The text of a file of no device; "" for what is missing, a link or too large."""
        with suppress(OSError):
            return self._folder.read(path).decode(errors="replace")
        return ""
