"""Templates of the user's own as a Git revision has them, so that each side of a change is rendered with its own."""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos import templating
from fabricc.base.foreign import files
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_objects import FOLDER, LINK, SUBMODULE, describe_entry, visible_path
from fabricc.base.foreign.git_process import GitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fabricc.base.foreign.git_objects import Entry

_LARGEST = 64 << 20
_MOST_LINKS = 40
"""Links on the way to a file, as Linux follows."""
_LONGEST = 4096
"""Bytes of the text of a link."""


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
        GitError: a link that leads out, a repository that is not here or a file that is too large is in the place of
            templates.
    """
    found: list[Path] = []
    for number, folder in enumerate(folders):
        path = _path_below(repository.top, folder)
        if path is None or _leads_out(repository, revision, path, folder):
            found.append(folder)
            continue
        content = _read_folder(_Place(repository, revision, path))
        if not content and path and not _is_tracked(repository, path):
            found.append(folder)
        elif content:
            _write_folder(content, scratch / str(number))
            found.append(scratch / str(number))
    return tuple(found)


def have_same_templates(one: tuple[Path, ...], other: tuple[Path, ...]) -> bool:
    """Return whether two lists of folders have the same templates, whatever the folders are called."""
    return [*map(_read_templates, one)] == [*map(_read_templates, other)]


class _Place(NamedTuple):
    """A folder of a revision, by its path below the top of the repository; "" for the top."""

    repository: Repository
    revision: str
    path: str


def _path_below(top: Path, folder: Path) -> str | None:
    """Return the path of a folder below the top of the repository, "" for the top; None where it is elsewhere.

    The path is the one that the user named, so that a link on the way is found in the revision too.
    """
    for place in (folder.absolute(), folder.resolve()):
        path = posixpath.normpath(place)
        if path == str(top) or path.startswith(f"{top}/"):
            return path[len(str(top)) + 1 :]
    return None


def _leads_out(repository: Repository, revision: str, path: str, folder: Path) -> bool:
    """Return whether links lead to a folder outside the repository, in the revision and in the work tree."""
    if folder.resolve().is_relative_to(repository.top):
        return False
    return _follow_links(path, lambda at: _read_link_at(_Place(repository, revision, at))) is None


def _read_folder(named: _Place) -> dict[str, bytes]:
    """Return the templates of a revision by their path below their folder; none where it has no such folder.

    Raises:
        GitError: as `extract_templates`.
    """
    place = _find_folder(named)
    if place is None:
        return {}
    names = templating.list_replaceable()
    entries = _list_entries(place, names)
    links = _read_links(entries.values())
    texts = {path: links[entry] for path, (_, entry) in entries.items() if entry in links}
    chosen: dict[str, tuple[Repository, Entry]] = {}
    for name in names:
        root = _follow_links(name, texts.get)
        if root is None:
            raise _make_link_error(name, named)
        for path in (each for each in entries if each.startswith(f"{root}/")):
            shown = name + path.removeprefix(root)
            target = _follow_links(path, texts.get)
            found = entries.get(target or "")
            if found is not None and found[1].plain:
                chosen[shown] = found
            elif target is None and shown.endswith(".j2"):
                raise _make_link_error(shown, named)
            elif found is not None:
                message = f"{visible_path(shown)} is {describe_entry(found[1])} in {named.revision[:12]}"
                raise GitError(message)
    if sum(entry.size or 0 for _, entry in chosen.values()) > _LARGEST:
        message = f"the templates in {visible_path(named.path)} are larger than {_LARGEST >> 20} MiB together"
        raise GitError(message, "Remove files that are no templates from it.")
    return _read_entries(chosen)


def _find_folder(place: _Place) -> _Place | None:
    """Return where a folder is, behind links and in other repositories; None where the revision has none.

    Raises:
        GitError: something else is in its place.
    """
    repository, revision, named = place
    path = _follow_links(named, lambda at: _read_link_at(_Place(repository, revision, at)))
    if path is None:
        raise _make_link_error(named, place)
    parts = path.split("/") if path else []
    for depth in range(1, len(parts) + 1):
        at = "/".join(parts[:depth])
        entry = repository.entry(revision, at)
        if entry is None:
            return None
        if entry.mode == SUBMODULE:
            return _find_folder(_Place(_open_other(repository, at), entry.object, "/".join(parts[depth:])))
        if entry.mode != FOLDER:
            raise GitError(f"{visible_path(at)} is no folder in {revision[:12]}")
    return _Place(repository, revision, path)


def _list_entries(place: _Place, names: Iterable[str]) -> dict[str, tuple[Repository, Entry]]:
    """Return what is below a folder, by its path there; another repository with these names is part of it."""
    repository, revision, path = place
    below = f"{path}/" if path else ""
    listed = repository.entries(revision, path) if path else repository.all_entries(revision)
    found: dict[str, tuple[Repository, Entry]] = {}
    for entry in listed:
        name = entry.path.removeprefix(below)
        if entry.mode == SUBMODULE and name in names:
            other = _open_other(repository, entry.path)
            inner = other.all_entries(entry.object)
            found |= {f"{name}/{each.path}": (other, each) for each in inner}
        else:
            found[name] = (repository, entry)
    return found


def _open_other(repository: Repository, path: str) -> Repository:
    """Open the repository in the place of a folder.

    Raises:
        GitError: it is not here.
    """
    folder = (repository.top / path).resolve()
    other = Repository.of(folder) if folder.is_dir() else repository
    if other.top != folder:
        message = f"{visible_path(path)} is another repository, which is not here"
        raise GitError(message, "Run `git submodule update --init`.")
    return other


def _read_links(entries: Iterable[tuple[Repository, Entry]]) -> dict[Entry, str]:
    """Return the text of each link."""
    return {
        entry: os.fsdecode(text)
        for repository, entry in entries
        if entry.mode == LINK and (entry.size or 0) <= _LONGEST
        for _, text in repository.blobs([entry])
    }


def _read_link_at(place: _Place) -> str | None:
    """Return the text of the link at a path of a revision; None where there is no link."""
    entry = place.repository.entry(place.revision, place.path)
    return None if entry is None else _read_links([(place.repository, entry)]).get(entry)


def _follow_links(path: str, read_link: Callable[[str], str | None]) -> str | None:
    """Return where links lead from a path; None where they lead out of the folder that all paths begin in."""
    done: list[str] = []
    left, turns = path.split("/")[::-1], 0
    while left:
        part = left.pop()
        if part == ".." and not done:
            return None
        if part == "..":
            done.pop()
        elif part not in ("", "."):
            done.append(part)
            if (target := read_link("/".join(done))) is not None:
                turns += 1
                if turns > _MOST_LINKS or target.startswith("/"):
                    return None
                done.pop()
                left += target.split("/")[::-1]
    return "/".join(done)


def _make_link_error(path: str, place: _Place) -> GitError:
    return GitError(f"{visible_path(path)} is a link that leads out in {place.revision[:12]}")


def _read_entries(chosen: dict[str, tuple[Repository, Entry]]) -> dict[str, bytes]:
    """Return the content of files by their path."""
    found: dict[str, bytes] = {}
    for repository in dict.fromkeys(each for each, _ in chosen.values()):
        own = {path: entry for path, (each, entry) in chosen.items() if each == repository}
        texts = dict(repository.blobs([*dict.fromkeys(own.values())]))
        found |= {path: texts[entry] for path, entry in own.items()}
    return found


def _write_folder(content: dict[str, bytes], folder: Path) -> None:
    """Write files below a folder.

    Raises:
        GitError: a name is none that this machine can write.
    """
    try:
        for name, text in content.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text)
    except OSError as error:
        raise GitError(f"a template of the revision cannot be written: {error.strerror}") from None


def _is_tracked(repository: Repository, path: str) -> bool:
    """Return whether the work tree has a file in or below a folder that Git does not ignore, or a link on its way."""
    return any(
        f"{each}/".startswith(f"{path}/") or path.startswith(f"{each}/")
        for each in repository.list_work_files()
    )


def _read_templates(folder: Path) -> dict[str, bytes]:
    """Return the templates below a folder by their path; what fabricc does not open is none."""
    found: dict[str, bytes] = {}
    for name in templating.list_replaceable():
        for file in sorted((folder / name).rglob("*")):
            with suppress(OSError):
                if file.is_file():
                    found[file.relative_to(folder).as_posix()] = files.read(file, root=folder, limit=_LARGEST)
    return found
