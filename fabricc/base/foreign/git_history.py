"""Compare the histories of two commits: where they part, whether they are complete, and what a merge of them has."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign import files, git_objects
from fabricc.base.foreign.git_process import GitError, run_git, share_watch
from fabricc.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.base.foreign.git import Repository

_LARGEST = 1 << 20
"""Bytes of the list of commits at which a shallow clone ends."""
_CONFLICTS = 1
_MOST_MERGED = 16
"""Commits that a merge of branches with several bases reads."""
_MOST_ENDS = 64
"""Commits whose common ancestor is looked up."""


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
        GitError: Git cannot read the histories, or a commit has other content than its name stands for.
    """
    answer = run_git(repository.folder, "merge-base", "--all", first, second)
    if answer.status not in (0, 1):
        raise GitError(f"Git cannot compare the histories of {first[:12]} and {second[:12]}", _REPAIR)
    bases = tuple(os.fsdecode(answer.out).split())
    if bases:
        _verify_bases(repository, first, second, bases)
    return bases


def _verify_bases(repository: Repository, first: str, second: str, bases: tuple[str, ...]) -> None:
    """Prove common ancestors by commits whose content is that of their names.

    Git does not compare the two for a commit between others, so a forged one could move the base of a review.

    Raises:
        GitError: the commits lead to other common ancestors, or one has other content.
    """
    above = _read_history(repository, first, second, *(f"^{base}" for base in bases))
    common = _reach_commits(above, first) & _reach_commits(above, second)
    below = {parent for parents in above.values() for parent in parents} - above.keys()
    if older := (common | below) - {*bases}:  # commits that were merged before: each is an ancestor of a base
        # Each of their own ancestors is older than all ways from a base to them, so it is not needed.
        ends = run_git(repository.folder, "merge-base", "--octopus", *sorted(older)[:_MOST_ENDS])
        shared = [f"^{end}^@" for end in os.fsdecode(ends.out).split() if len(older) <= _MOST_ENDS]
        history = _read_history(repository, *bases, *shared)
        older -= {commit for base in bases for commit in _reach_commits(history, base)}
    if older or not common.issuperset(bases):
        message = f"the commits between {first[:12]} and {second[:12]} do not lead to the base that Git finds"
        raise GitError(message, "Run `git fsck`, and clone the repository again.")


def _read_history(repository: Repository, *commits: str) -> dict[str, tuple[str, ...]]:
    """Return the history of commits, without that of a `^commit`, with the parents that their content names."""
    answer = run_git(repository.folder, "rev-list", "--parents", *commits, "--", limit=git_objects.LARGEST)
    if answer.status:
        raise GitError("Git cannot read the history between the base and the head", _REPAIR)
    rows = [line.split(" ") for line in os.fsdecode(answer.out).splitlines()]
    history = {
        each.name: each.parents
        for each in git_objects.read_commits(repository.folder, [row[0] for row in rows])
    }
    if is_shallow(repository):
        history |= {row[0]: () for row in rows if len(row) == 1}
    return history


def _reach_commits(history: dict[str, tuple[str, ...]], commit: str) -> set[str]:
    """Return a commit and its ancestors in a history, with the parents at which the history ends."""
    found, waiting = {commit}, [commit]
    while waiting:
        new = {*history.get(waiting.pop(), ())} - found
        found |= new
        waiting += new
    return found


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


def merge_commits(
    repository: Repository, first: str, second: str, bases: tuple[str, ...], scratch: Path
) -> Merge:
    """Merge two commits in an empty folder, without the configuration, attributes and drivers of their repository.

    Git reads copies whose content is that of their names, and commits that have these folders: a repository can have
    two contents of one object, and which one Git reads depends on what it read before.

    Raises:
        GitError: an object is not here, or has other content than its name stands for.
    """
    own, lend = _empty_repository(repository, scratch)
    sides = _copy_sides(repository, own.folder / ".git" / "objects", first, second, bases)
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides)
    answer = run_git(own.folder, *words)
    tree, *conflicts = os.fsdecode(answer.out).split("\0")
    if answer.status not in (0, _CONFLICTS) or len(tree) != len(first):
        message = f"Git cannot merge {second[:12]} into {first[:12]} with the objects that are here"
        raise GitError(message, "Get them with Git itself: `git fetch --refetch --no-filter origin`.")
    lend()
    return Merge(own, tree, tuple(sorted({path for path in conflicts if path})))


def _copy_sides(
    repository: Repository, objects: Path, first: str, second: str, bases: tuple[str, ...]
) -> tuple[str, str]:
    """Copy what a merge reads, and return commits with the folders of the two sides, on copies of the bases."""
    ancestors = _find_merge_ancestors(repository, first, second, bases)
    copied: dict[str, str] = {}
    found = {
        each.name: each for each in git_objects.copy_differing_objects(repository.folder, ancestors, objects)
    }
    for name in sorted(ancestors, key=lambda each: len(ancestors[each])):
        lines = [f"tree {found[name].top}", *(f"parent {copied[each]}" for each in ancestors[name])]
        lines += [f"{role} fabricc <> {found[name].date} +0000" for role in ("author", "committer")]
        content = "\n".join([*lines, "", f"{name}\n"]).encode()
        copied[name] = git_objects.write_object(objects, "commit", content, len(first))
    return copied[first], copied[second]


def _find_merge_ancestors(
    repository: Repository, first: str, second: str, bases: tuple[str, ...]
) -> dict[str, list[str]]:
    """Return the commits that a merge reads, each with those of them that are its ancestors.

    Git merges several bases first, and for that uses the bases of each two of them, and so on.

    Raises:
        GitError: Git cannot read the histories, or there are too many bases, or two without a common ancestor.
    """
    if len(bases) == 1:
        return {first: [*bases], second: [*bases]} | {bases[0]: []}
    commits = [first, second]
    ancestors: dict[str, list[str]] = {first: [], second: []}
    for count, commit in enumerate(commits):  # which grows
        for other in commits[:count]:
            common = merge_bases(repository, other, commit)
            commits += [each for each in common if each not in commits]
            if not common or len(commits) > _MOST_MERGED:
                many = f"more than {_MOST_MERGED} bases" if common else "bases without a common commit"
                message = f"the histories of {first[:12]} and {second[:12]} have {many}"
                raise GitError(message, f"Merge {first[:12]} into the branch, and review the result.")
            for each in (other, commit):
                found = ancestors.setdefault(each, [])
                found += [base for base in common if base not in (each, *found)]
    return ancestors


_REPAIR = "Check the clone: `git fsck --connectivity-only`."


def _empty_repository(repository: Repository, scratch: Path) -> tuple[Repository, Callable[[], None]]:
    """Return an empty repository, and what lets it also read the objects of another one."""
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

    def lend() -> None:
        (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{objects}\n"))
        with suppress(FileNotFoundError):
            (own / "shallow").write_bytes(files.read_regular_file(shallow, limit=_LARGEST)[0])

    share_watch(repository.folder, scratch)
    return replace(repository, folder=scratch), lend


_CONFIG = {
    "sha1": "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n",
    "sha256": "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n",
}
