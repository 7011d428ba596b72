"""Templates of the user's own as a Git revision has them, so that each side of a change is rendered with its own."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from fabricc.back.nos import templating
from fabricc.base.foreign import files
from fabricc.base.foreign.git_objects import FOLDER, visible_path
from fabricc.base.foreign.git_process import GitError

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.base.foreign.git import Repository

_LARGEST = 64 << 20


def extract_templates(
    repository: Repository, revision: str, folders: tuple[Path, ...], scratch: Path
) -> tuple[Path, ...]:
    """Put the templates of a revision into `scratch`, and return the folders to search in place of those in use.

    A folder outside the repository, or one that Git ignores, is the same for every revision. A folder that the
    revision lacks is left out.

    Args:
        repository: the repository of the spec.
        revision: the name of a commit or tree.
        folders: the folders in use, in the work tree or elsewhere.
        scratch: an empty folder.

    Raises:
        GitError: a link, another repository or a file that is too large is in the place of templates.
    """
    found: list[Path] = []
    for number, folder in enumerate(folders):
        path = _path_below(repository.top, folder)
        content = None if path is None else _read_folder(repository, revision, path)
        if content is None or (not content and path and not _is_tracked(repository, path)):
            found.append(folder)
        elif content:
            target = scratch / str(number)
            for name, text in content.items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(text)
            found.append(target)
    return tuple(found)


def have_same_templates(one: tuple[Path, ...], other: tuple[Path, ...]) -> bool:
    """Return whether two lists of folders have the same templates, whatever the folders are called."""
    return [*map(_read_templates, one)] == [*map(_read_templates, other)]


def _path_below(top: Path, folder: Path) -> str | None:
    """Return the path of a folder below the top of the repository, "" for the top; None where it is elsewhere.

    The path is the one that the user named, so that a link on the way is found in the revision too.
    """
    for place in (folder.absolute(), folder.resolve()):
        path = posixpath.normpath(place)
        if path == str(top) or path.startswith(f"{top}/"):
            return path[len(str(top)) + 1 :]
    return None


def _read_folder(repository: Repository, revision: str, path: str) -> dict[str, bytes]:
    """Return the templates of a revision by their path below their folder.

    Raises:
        GitError: as `extract_templates`.
    """
    parts = path.split("/") if path else []
    for depth in range(1, len(parts) + 1):
        entry = repository.entry(revision, "/".join(parts[:depth]))
        if entry is None:
            return {}
        if entry.mode != FOLDER:
            raise GitError(f"{visible_path(entry.path)} is no folder in {revision[:12]}")
    below = f"{path}/" if path else ""
    names = {below + name for name in templating.list_replaceable()}
    entries = repository.entries(revision, path) if path else repository.all_entries(revision)
    chosen = [each for each in entries if each.path.startswith(tuple(f"{name}/" for name in names))]
    if any(not each.plain for each in chosen):
        raise GitError(f"{visible_path(path)} has links in {revision[:12]}")
    if sum(each.size or 0 for each in chosen) > _LARGEST:
        raise GitError(f"the templates in {visible_path(path)} are larger than {_LARGEST >> 20} MiB together")
    return {entry.path.removeprefix(below): text for entry, text in repository.blobs(chosen)}


def _is_tracked(repository: Repository, path: str) -> bool:
    """Return whether the work tree has a file below a folder that Git does not ignore."""
    return any(each.startswith(f"{path}/") for each in repository.list_work_files())


def _read_templates(folder: Path) -> dict[str, bytes]:
    """Return the templates below a folder by their path."""
    return {
        file.relative_to(folder).as_posix(): files.read(file, root=folder, limit=_LARGEST)
        for name in templating.list_replaceable()
        for file in sorted((folder / name).rglob("*"))
        if file.is_file()
    }
