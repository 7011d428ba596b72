"""Find the spec of a built tree, the lock of a spec, and the text of the files that findings point into.

The first line of the record of a tree's last build names the spec that this user built it from.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.foreign import files
from fabricc.base.foreign.files import Folder, read
from fabricc.base.foreign.git_index import is_above_home
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics import Diagnostic
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
    if clone is None or is_above_home(clone):
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


FORMAT = 4


def find_recorded_spec(tree: Path) -> Path | None:
    """Find the spec that this user last built the tree from; None when it is not on record."""
    real = Path(os.path.realpath(tree))
    state = state_of(real.parent)
    try:
        if state is None:
            return None
        with (state / f"{real.name}.record").open("rb") as file:
            stated = parse_head(file.readline())
    except OSError:
        return None
    return Path(stated["spec"]) if stated and isinstance(stated.get("spec"), str) else None


def parse_head(line: bytes) -> dict[str, Any] | None:
    """Parse the first line of a record; None for a line of another format."""
    try:
        stated = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return stated if isinstance(stated, dict) and stated.get("format") == FORMAT else None


_LARGEST = 4 << 20  # bytes
_LARGEST_IN_TREE = 1 << 20  # bytes
_FILES = 256


def input_texts(diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
    """Return the text of inputs, such as specs and catalog files, that diagnostics point into, by name."""
    texts = {}
    for name in sorted({d.position.file for d in diagnostics if d.position})[:_FILES]:
        with suppress(OSError):
            texts[name] = read(Path(name), limit=_LARGEST).decode(errors="replace")
    return texts


def tree_texts(diagnostics: Iterable[Diagnostic], tree: Path) -> dict[str, str]:
    """Return the text of files in a tree that diagnostics point into, by name: of as many as anybody reads about."""
    below = f"{tree}/"
    named = {d.position.file for d in diagnostics if d.position and d.position.file.startswith(below)}
    texts = {}
    with suppress(OSError), Folder(tree) as folder:
        for name in sorted(named)[:_FILES]:
            with suppress(OSError):
                text = folder.read(name.removeprefix(below), limit=_LARGEST_IN_TREE)
                texts[name] = text.decode(errors="replace")
    return texts
