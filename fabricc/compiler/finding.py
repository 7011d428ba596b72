"""Where the spec of a built tree is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign import files
from fabricc.compiler.incremental import record

if TYPE_CHECKING:
    from fabricc.tree.manifest import Manifest


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
