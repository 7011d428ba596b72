"""A tree as it was at one moment: every file read once, held to the manifest, and what switches get kept in memory.

What a push proves, sends, resumes and rolls back are these bytes: whatever becomes of the folder afterwards.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.proof.tree import TreeError, open_tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabricc.base.foreign.files import Folder
    from fabricc.tree.manifest import Manifest

SWITCHES = "switches/"
_LARGEST = 16 << 20
"""Bytes of one file of a switch; the largest of the published fabrics have less than a tenth of it."""
_QUICK = 1
"""Of zlib: configurations shrink to a tenth, so that those of 5,000 switches take some 15 MB."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a tree, of which those of switches can be read.

    Attributes:
        tree: where they were.
        digest: SHA-256 (hex) of the manifest, which states that of every other file: one digest of the whole tree.
        packed: switch -> file -> compressed bytes.
    """

    tree: Path
    manifest: Manifest
    digest: str
    packed: Mapping[str, Mapping[str, bytes]]

    def files(self, name: str) -> dict[str, str]:
        """Return the files of a switch, empty for one that the tree does not have."""
        return {file: zlib.decompress(held).decode() for file, held in self.packed.get(name, {}).items()}


def take_snapshot(tree: Path) -> Snapshot:
    """Read a tree once.

    Raises:
        TreeError: findings of `proof.tree.open_tree`; FAB6010 and FAB6011, files differ from the manifest.
    """
    folder, stated, manifest = open_tree(tree)
    with folder:
        packed, wrong = _read_switch_files(folder, manifest)
    if wrong:
        raise TreeError.of(wrong)
    return Snapshot(tree, manifest, hashlib.sha256(stated).hexdigest(), packed)


def _read_switch_files(
    folder: Folder, manifest: Manifest
) -> tuple[dict[str, dict[str, bytes]], list[Diagnostic]]:
    """Switch -> file -> compressed bytes, and what is wrong with any file of the manifest."""
    packed: dict[str, dict[str, bytes]] = {}
    wrong: list[Diagnostic] = []
    for path, digest in sorted(manifest.files.items()):
        at = Position(str(folder.path / path), 1)
        name, _, file = path.removeprefix(SWITCHES).partition("/")
        ours = path.startswith(SWITCHES) and bool(file)
        try:
            content = folder.read(path, limit=_LARGEST) if ours else b""
            found = hashlib.sha256(content).hexdigest() if ours else folder.digest(path)
            if ours:
                content.decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "not UTF-8 text"
            message = f"{path} is in the manifest and cannot be read: {reason}"
            wrong.append(Diagnostic("FAB6011", Severity.ERROR, message, at))
            continue
        if found != digest:
            message = f"{path} was changed after the build wrote it"
            wrong.append(Diagnostic("FAB6010", Severity.ERROR, message, at))
        elif ours:
            packed.setdefault(name, {})[file] = zlib.compress(content, _QUICK)
    return packed, wrong
