"""Compare the histories of two commits: where they part, whether they are complete, and what a merge of them has."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import GitError, run_git
from fabricc.base.values import dataclass, replace

if TYPE_CHECKING:
    from fabricc.base.foreign.git import Repository

_LARGEST = 1 << 20
"""Bytes of the list of commits at which a shallow clone ends."""
_CONFLICTS = 1


@dataclass(frozen=True, slots=True)
class Merge:
    """The result of a merge.

    Attributes:
        repository: a repository of its own that has the merged tree.
        tree: the name of that tree; with conflicts, files with markers in it.
        conflicts: paths that Git could not merge.
    """

    repository: Repository
    tree: str
    conflicts: tuple[str, ...]


def merge_bases(repository: Repository, first: str, second: str) -> tuple[str, ...]:
    """Return the best common ancestors of two commits: none, one, or several where the branches merged each other.

    Raises:
        GitError: Git cannot read the histories.
    """
    answer = run_git(repository.folder, "merge-base", "--all", first, second)
    if answer.status not in (0, 1):
        raise GitError(f"Git cannot compare the histories of {first[:12]} and {second[:12]}", _REPAIR)
    return tuple(os.fsdecode(answer.out).split())


def is_shallow(repository: Repository) -> bool:
    """Return whether the clone has only the last commits of its history."""
    return run_git(repository.folder, "rev-parse", "--is-shallow-repository").out.strip() == b"true"


def ends_between(repository: Repository, commits: tuple[str, ...], bases: tuple[str, ...]) -> bool:
    """Return whether a history ends between two commits and their common ancestors.

    In a shallow clone such an end hides commits, and among them perhaps a better common ancestor.

    Raises:
        GitError: Git cannot read the histories.
    """
    excluded = [f"^{base}" for base in bases]
    words = ("rev-list", "--max-parents=0", "--max-count=1", *commits, *excluded, "--")
    answer = run_git(repository.folder, *words)
    if answer.status:
        raise GitError("Git cannot read the history between the base and the head", _REPAIR)
    return bool(answer.out)


def merge_commits(repository: Repository, first: str, second: str, scratch: Path) -> Merge:
    """Merge two commits in an empty folder, without the configuration, attributes and drivers of their repository.

    Raises:
        GitError: an object is not here.
    """
    own = _borrow_objects(repository, scratch)
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", first, second)
    answer = run_git(own.folder, *words)
    tree, *conflicts = os.fsdecode(answer.out).split("\0")
    if answer.status not in (0, _CONFLICTS) or len(tree) != len(first):
        message = f"Git cannot merge {second[:12]} into {first[:12]} with the objects that are here"
        raise GitError(message, "Get them with Git itself: `git fetch --refetch --no-filter origin`.")
    return Merge(own, tree, tuple(sorted({path for path in conflicts if path})))


_REPAIR = "Check the clone: `git fsck --connectivity-only`."


def _borrow_objects(repository: Repository, scratch: Path) -> Repository:
    """Return an empty repository that reads the objects of another one."""
    places = run_git(
        repository.folder, "rev-parse", "--path-format=absolute", "--git-path", "objects", "--git-path", "shallow",
        "--show-object-format",
    )  # fmt: skip
    objects, shallow, hash_, *rest = os.fsdecode(places.out).split("\n")
    if places.status or rest != [""]:
        raise GitError(f"Git cannot locate the objects of {repository.folder}", _REPAIR)
    own = scratch / ".git"
    for folder in (own / "refs", own / "objects" / "info"):
        folder.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (own / "config").write_text(_CONFIG[hash_], "utf-8")
    (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{objects}\n"))
    with suppress(FileNotFoundError):
        (own / "shallow").write_bytes(files.read_regular_file(shallow, limit=_LARGEST)[0])
    return replace(repository, folder=scratch)


_CONFIG = {
    "sha1": "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n",
    "sha256": "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n",
}
