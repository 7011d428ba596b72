"""Find the spec of a built tree, its lock, and the specs that read a set of changed files.

The record of a tree's last build names the spec in its first line. Files that findings point into are read so that
their lines can be shown, as far as they may be read alone.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign import files, git
from fabricc.base.foreign.files import Folder, read
from fabricc.base.foreign.git_index import is_above_home
from fabricc.base.foreign.git_process import GitError
from fabricc.tree.manifest import FOLDERS, NAME, is_manifest
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


_YAML = (".yaml", ".yml")
_SPEC_NAMES = ("cluster.yaml", "cluster.yml")
_KEYS = (rb"['\"]?cluster['\"]?[ \t]*:", rb"['\"]?(gpus|tors)['\"]?[ \t]*:")
_BLOCK_KEYS = tuple(re.compile(rb"(?m)^" + key) for key in _KEYS)
_FLOW_KEYS = tuple(re.compile(rb"(?m)(^|[{,])[ \t]*" + key) for key in _KEYS)


def affected_specs(changed: Iterable[Path], folder: Path) -> list[Path]:
    """Return the specs that are among changed files, and those that read one of them.

    A spec reads its lock, and every file whose name its text contains: catalogs, overlays, identities, GUIDs. Deleted
    files of the index of Git count as changed; programs such as pre-commit do not list them.

    Args:
        changed: The files.
        folder: A folder of the repository that has them; specs are found in the whole repository.

    Raises:
        FindingsError: FAB9020, Git cannot read the repository.
    """
    top = Path(os.path.realpath(files.clone_of(folder / "_") or folder))
    real = {Path(os.path.realpath(path.parent), path.name) for path in changed} | _deleted_files(top)
    names = {os.fsencode(path.name) for path in real}
    found = {path for path in real if path.name.endswith(_YAML) and path.is_file() and is_spec(path)}
    for spec, text in _find_specs(top):
        locks = {own_lock(spec), spec.parent / LOCK_NAME}
        # A name may be escaped in YAML, so that a spec with escapes is checked whatever it names.
        if spec in real or locks & real or any(name in text for name in names) or (names and b"\\" in text):
            found.add(spec)
    here = Path.cwd()
    return [spec.relative_to(here) if spec.is_relative_to(here) else spec for spec in sorted(found)]


def is_spec(path: Path) -> bool:
    """Return whether a file is a spec, also a damaged one."""
    return _is_spec(path, _read_file(path, None))


def _read_file(path: Path, root: Path | None) -> bytes:
    """Return the bytes of a file; none where it cannot be read."""
    try:
        return files.read(path, root=root, limit=MAX_BYTES)
    except OSError:
        return b""


def _is_spec(path: Path, text: bytes) -> bool:
    """Return whether a file is a spec: by its name, its own lock, or the keys that every spec has."""
    keys = _FLOW_KEYS if text.lstrip().startswith(b"{") else _BLOCK_KEYS
    return path.name in _SPEC_NAMES or own_lock(path).is_file() or all(key.search(text) for key in keys)


def _find_specs(top: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the specs of a repository and their texts; hidden folders and those of built trees contain none."""
    waiting = [top]  # `os.walk` fails in a thousand nested folders
    while waiting:
        folder = waiting.pop()
        folders, names = _list_folder(folder)
        left_out = FOLDERS if _is_tree(folder, names) else ()
        waiting += [folder / name for name in folders if name[0] != "." and name not in left_out]
        for name in names:
            path = folder / name
            if not name.endswith(_YAML):
                continue
            text = _read_file(path, top)
            if _is_spec(path, text):
                yield path, text


def _list_folder(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the folders and of the other entries in a folder; none where it cannot be read."""
    folders: list[str] = []
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
    return folders, names


def _is_tree(folder: Path, names: list[str]) -> bool:
    """Return whether a folder is a tree that fabricc built."""
    if NAME not in names:
        return False
    try:
        return is_manifest(files.read(folder / NAME))
    except OSError:
        return False


def _deleted_files(top: Path) -> set[Path]:
    """Return the files that the index of Git deletes; none where there is no repository.

    Raises:
        FindingsError: FAB9020, Git cannot read the repository.
    """
    if not os.path.lexists(top / ".git"):
        return set()
    try:
        repository = git.Repository.of(top)
        return {repository.top / path for path in repository.deleted_files()}
    except GitError as error:
        raise FindingsError(error.code, f"{error}: files of the commit are unknown", error.help) from None
