"""Read a spec as a Git revision has it, and choose what a review compares: the base and the result of the merge.

Objects are read into a folder of our own, the work tree and the index stay untouched.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.foreign import git, git_history, git_objects
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.base.values import dataclass, replace
from fabricc.compiler.load.spec_location import LOCK_NAME, own_lock
from fabricc.front.spec.load import read_spec

if TYPE_CHECKING:
    from collections.abc import Iterator


_LARGEST = 256 << 20


def revision_finding(error: GitError) -> Diagnostic:
    """Return the finding for a revision, or a file of it, that cannot be read."""
    return Diagnostic(error.code, Severity.ERROR, str(error), None, error.help)


@dataclass(frozen=True, slots=True)
class SpecHistory:
    """A spec's folder in the repository that has it.

    Attributes:
        repository: its `prefix` is the spec's folder, which the work tree need not have.
        top: the top folder of the work tree.
    """

    repository: git.Repository
    top: Path

    @staticmethod
    def of(spec: Path) -> SpecHistory:
        """Return the history of the spec's folder.

        The spec and its folder may be missing from the work tree; a link in place of the spec is not followed.

        Raises:
            GitError: there is no repository, or no git.
        """
        folder = spec.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        repository = git.Repository.of(folder)
        depth = repository.prefix.count("/")
        top = repository.folder.parents[depth - 1] if depth else repository.folder
        missing = [f"{part}/" for part in spec.parent.parts[len(folder.parts) :]]
        return SpecHistory(replace(repository, prefix="".join((repository.prefix, *missing))), top)

    def in_folder_of(self, path: str) -> SpecHistory:
        """Return the history of the folder of another file, whose path is below the top of the repository."""
        folder = path.rpartition("/")[0]
        return replace(self, repository=replace(self.repository, prefix=f"{folder}/" if folder else ""))

    @property
    def prefix(self) -> str:
        """The spec's folder below the top of the repository, "" or ending in `/`."""
        return self.repository.prefix

    def commit(self, revision: str) -> str:
        """Return the commit of a revision.

        Raises:
            GitError: there is no such commit here.
        """
        return self.repository.commit(revision)

    def file(self, commit: str, name: str) -> bytes | None:
        """Return the bytes of a file in the spec's folder of a commit; None if the commit lacks it.

        Raises:
            GitError: it is a link or a folder, is too large, or is in another repository.
        """
        entry = self.repository.entry(commit, f"{self.prefix}{posixpath.normpath(name)}")
        return self.repository.blob(entry) if entry else None

    def inputs(self, commit: str, name: str) -> frozenset[str]:
        """Return the paths below the top of the repository of everything that a compilation of a spec reads.

        Raises:
            GitError: as `file`.
        """
        text = self.file(commit, name)
        names = (name, *_input_names(text or b"", Path(name)))
        return frozenset(f"{self.prefix}{posixpath.normpath(each)}" for each in names)

    def extract(self, commit: str, spec: Path, folder: Path) -> Path | None:
        """Put the spec of a commit, its lock and its catalog files into `folder`; None where it has no such spec.

        Raises:
            GitError: a file is no regular one, or too large, or all are too large together.
        """
        text = self.file(commit, spec.name)
        if text is None:
            return None
        target = folder / spec.name
        target.write_bytes(text)
        room = _LARGEST
        for name in _input_names(text, spec):
            if (content := self.file(commit, name)) is not None:
                room -= len(content)
                if room < 0:
                    raise GitError(f"the files of {spec.name} are larger than {_LARGEST >> 20} MiB together")
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        return target


def _input_names(text: bytes, spec: Path) -> Iterator[str]:
    """Yield the names of files in the spec's folder that a compilation reads, each once."""
    return iter(dict.fromkeys((LOCK_NAME, own_lock(spec).name, *_named_files(text))))


def _named_files(text: bytes) -> Iterator[str]:
    """Catalog files, overlays and GUIDs that the spec names, all of them below its folder."""
    spec = read_spec(text, "base").spec
    if spec is None:
        return iter(())
    guids = spec.infiniband and spec.infiniband.guids
    overlays = (entry.file for each in (spec, *spec.networks.values()) for entry in each.overlays)
    names = (*spec.catalog_files, *overlays, *spec.identity_files, *((guids,) if guids else ()))
    return (name for name in names if _below_folder(name))


def _below_folder(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/") and posixpath.normpath(name) != "."


_SHOWN = 3
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs/(?:heads|tags|remotes)/")


class BaseError(FindingsError):
    """No revision to compare with exists, or several are possible."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides of a comparison.

    Attributes:
        base: the commit of the older side; `base_label`: the same for people.
        head: the commit or merged tree of the newer side, in `head_history`; None for the files of the work tree.
        tip: the commit of the base revision, whose policy counts.
        findings: remarks about this choice for the reviewer.
    """

    base: str
    base_label: str
    head: str | None
    head_label: str
    head_history: SpecHistory
    tip: str
    findings: tuple[Diagnostic, ...] = ()


def choose_comparison(
    history: SpecHistory, spec: Path, base: str, head: str | None, scratch: Path
) -> Comparison:
    """Find the base of a change.

    Two revisions are compared as a merge leaves them: the base as it is now with the result of merging the head into
    it. Files of the work tree are compared with the commit where their branch left the base.

    Args:
        history: the history of the spec's folder.
        spec: the path of the spec.
        base: the revision that the change is for.
        head: the revision of the change; None for the files of the work tree.
        scratch: an empty folder for the merge.

    Raises:
        GitError: a revision or an object is not here.
        BaseError: FAB9030, the clone does not have the common history; FAB9031, there is nothing to merge.
    """
    shown, repository, wanted = str(spec), history.repository, head or "HEAD"
    tip, newest = history.commit(base), history.commit(wanted)
    bases = git_history.merge_bases(repository, tip, newest)
    if not bases or (
        git_history.is_shallow(repository) and git_history.ends_between(repository, (tip, newest), bases)
    ):
        raise _no_common_history(history, base, wanted)
    at_tip = _label_commit(base, tip)
    if head is None:
        label = f"{shown} as it is here"
        if len(bases) == 1:
            return Comparison(bases[0], _label_commit(base, bases[0]), None, label, history, tip)
        return Comparison(
            tip, at_tip, None, label, history, tip, (_several_bases(base, wanted, "it is now"),)
        )
    if newest in bases:
        raise _nothing_to_merge(base, head, shown, same=tip == newest)
    label = _label_commit(head, newest)
    if bases == (tip,):
        return Comparison(tip, at_tip, newest, label, history, tip)
    merge = git_history.merge_commits(repository, tip, newest, bases, scratch)
    several = (_several_bases(base, head, "the merge leaves it"),) if len(bases) > 1 else ()
    merged = replace(history, repository=merge.repository)
    known = merged.inputs(merge.tree, spec.name).isdisjoint(merge.conflicts)
    severity = Severity.WARNING if known else Severity.ERROR
    conflict = (_merge_conflicts(base, head, merge, severity),) if merge.conflicts else ()
    if known:
        merged_label = f"{label} merged into {_shorten_ref(base)}"
        return Comparison(tip, at_tip, merge.tree, merged_label, merged, tip, several + conflict)
    if several:
        found = (_several_bases(base, head, "it is now"), *conflict)
        return Comparison(tip, at_tip, newest, label, history, tip, found)
    return Comparison(bases[0], _label_commit(base, bases[0]), newest, label, history, tip, conflict)


def _shorten_ref(revision: str) -> str:
    """Return a revision as people know it: a branch or tag without `refs/…/`, a commit by 12 digits."""
    if _COMMIT.fullmatch(revision):
        return revision[:12]
    return _REF.sub("", revision)


def _label_commit(revision: str, commit: str) -> str:
    """Return the label of a revision that is this commit, or left the other side there."""
    short = _shorten_ref(revision)
    return short if commit.startswith(short) else f"{short} ({commit[:12]})"


def _no_common_history(history: SpecHistory, base: str, head: str) -> BaseError:
    if git_history.is_shallow(history.repository):
        message = f"this shallow clone does not have the commits at which {head} left {base}"
        remedy = (
            "Run `git fetch --unshallow origin`; in CI, check out with `fetch-depth: 0` or `GIT_DEPTH: 0`."
        )
        return BaseError("FAB9030", message, remedy)
    message = f"{base} and {head} have no common commit, so there is no base to compare with"
    remedy = (
        f"Run `git worktree add ../base {shell_word(base)}`, then `fabricc diff OLD NEW` with both specs."
    )
    return BaseError("FAB9030", message, remedy)


def _nothing_to_merge(base: str, head: str, shown: str, *, same: bool) -> BaseError:
    remedy = "Name the branch that the change is for as --base, and the change as --head."
    if same:
        return BaseError(
            "FAB9031", f"{base} and {head} are the same commit: there is nothing to compare", remedy
        )
    message = f"{base} already contains {head}, so a merge changes nothing"
    reverse = f"fabricc diff {shell_path(shown)} --base {shell_word(head)} --head {shell_word(base)}"
    return BaseError("FAB9031", message, f"{remedy} `{reverse}` is the reverse.")


def _several_bases(base: str, head: str, how: str) -> Diagnostic:
    message = f"{base} and {head} merged each other before, so they have several bases: compared with {base} as {how}"
    return Diagnostic("FAB9032", Severity.WARNING, message)


def _merge_conflicts(base: str, head: str, merge: git_history.Merge, severity: Severity) -> Diagnostic:
    """FAB9033: an error where files of the spec conflict, as the merged spec is then unknown."""
    rest = len(merge.conflicts) - _SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    message = (
        f"a merge of {head} into {base} conflicts in "
        f"{', '.join(map(git_objects.visible_path, merge.conflicts[:_SHOWN]))}{more}"
    )
    remedy = f"Merge {base} into the branch, and review the result."
    return Diagnostic("FAB9033", severity, message, None, remedy)
