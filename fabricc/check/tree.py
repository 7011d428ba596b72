"""The tree against its manifest: files changed by hand, missing, or not of the build."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from fabricc.diagnostics import Diagnostic, Position, Severity
from fabricc.emit import manifest as manifests

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.emit.manifest import Manifest

_REBUILD = "Build again; edits belong in the spec."


def read_manifest(tree: Path) -> tuple[Manifest | None, Diagnostic | None]:
    """The tree's manifest, or FAB6013 saying why there is none."""
    path = tree / manifests.NAME
    try:
        return manifests.Manifest.parse(path.read_bytes()), None
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    message = f"{tree} is no output tree: cannot read its manifest.json ({reason})"
    return None, Diagnostic("FAB6013", Severity.ERROR, message, None, "Give a folder that `build` wrote.")


def verify_manifest(tree: Path, manifest: Manifest) -> list[Diagnostic]:
    """FAB6010 for each changed file, FAB6011 for a missing one, FAB6012 for one that the manifest lacks."""
    wrong = []
    for path, stated in sorted(manifest.files.items()):
        at = Position(str(tree / path), 1)
        try:
            handle = os.open(tree / path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            message = f"{path} is in the manifest and cannot be read: {error.strerror}"
            wrong.append(Diagnostic("FAB6011", Severity.ERROR, message, at, _REBUILD))
            continue
        with os.fdopen(handle, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != stated:
                message = f"{path} was changed after the build wrote it"
                wrong.append(Diagnostic("FAB6010", Severity.ERROR, message, at, _REBUILD))
    known = {*manifest.files, manifests.NAME}
    found = (str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_symlink() or not p.is_dir())
    for path in sorted(set(found) - known):
        message = f"{path} is in the tree and not in its manifest"
        wrong.append(Diagnostic("FAB6012", Severity.WARNING, message, Position(str(tree / path), 1)))
    return wrong
