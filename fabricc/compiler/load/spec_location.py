"""Find the spec of a built tree, and the lock of a spec."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign import files
from fabricc.base.foreign.git_index import holds_home
from fabricc.compiler.load.record_head import find_recorded_spec

if TYPE_CHECKING:
    from fabricc.tree.manifest import Manifest

LOCK_NAME = "fabricc.lock"
"""Name of the lock of specs without their own."""


POLICY_NAME = "fabricc-policy.yaml"
"""The file name of the review policy in the folder of the specs."""


def find_spec(tree: Path, manifest: Manifest) -> Path | None:
    """Return the spec of a tree: on this user's record, or of its name above the tree and inside its repository.

    A repository of the user's home is not searched: a tree below it may have come with an archive.
    """
    recorded = find_recorded_spec(tree)
    if recorded is not None and recorded.is_file():
        return recorded
    if manifest.spec.startswith("."):
        return None
    real = Path(os.path.realpath(tree))
    clone = files.clone_of(real)
    if clone is None or holds_home(clone):
        above = real.parents[:2]
    else:
        above = [folder for folder in real.parents if folder.is_relative_to(clone)]
    return next((path for folder in above if (path := folder / manifest.spec).is_file()), None)


def own_lock(spec_path: Path) -> Path:
    """Return the path of a spec's own lock: `zone-b.lock` for `zone-b.yaml`."""
    return spec_path.parent / f"{spec_path.stem}.lock"


def lock_of(spec_path: Path) -> Path:
    """Return the lock of a spec: its own if it exists, else that of its folder."""
    own = own_lock(spec_path)
    return own if os.path.lexists(own) else spec_path.parent / LOCK_NAME
