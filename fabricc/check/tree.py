"""The tree against its manifest: files changed by hand, missing, or not of the build."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.diagnostics import Diagnostic, Position, Severity
from fabricc.emit import EmitError, patch
from fabricc.emit import manifest as manifests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.emit.manifest import Manifest

_REBUILD = "Build again; edits belong in the spec."


def read_manifest(tree: Path) -> tuple[Manifest | None, Diagnostic | None]:
    """The tree's manifest, or FAB6013 saying why there is none."""
    path = tree / manifests.NAME
    try:
        patch.settle(tree)
        return manifests.Manifest.parse(path.read_bytes()), None
    except EmitError as error:
        return None, error.diagnostic
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
        place = f"{tree}/{path}"
        try:
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            at = Position(str(tree / path), 1)
            message = f"{path} is in the manifest and cannot be read: {error.strerror}"
            wrong.append(Diagnostic("FAB6011", Severity.ERROR, message, at, _REBUILD))
            continue
        with os.fdopen(handle, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != stated:
                message, at = f"{path} was changed after the build wrote it", Position(str(tree / path), 1)
                wrong.append(Diagnostic("FAB6010", Severity.ERROR, message, at, _REBUILD))
    for path in sorted({*_below(str(tree))} - manifest.files.keys() - {manifests.NAME}):
        message = f"{path} is in the tree and not in its manifest"
        wrong.append(Diagnostic("FAB6012", Severity.WARNING, message, Position(str(tree / path), 1)))
    return wrong


def _below(folder: str, above: str = "") -> Iterator[str]:
    """Every file of a folder, by its path below it; a link is a file."""
    with suppress(PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, f"{above}{entry.name}/")
            else:
                yield f"{above}{entry.name}"
