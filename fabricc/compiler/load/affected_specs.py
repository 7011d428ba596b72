"""Find the specs of a repository that read a set of changed files, such as those of one commit."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign import files, git
from fabricc.base.foreign.git_process import GitError
from fabricc.compiler.load.spec_location import LOCK_NAME, own_lock
from fabricc.tree.manifest import FOLDERS, NAME, is_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
