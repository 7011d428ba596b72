"""Choose what a review compares: the base as a merge would find it, and the result of that merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.foreign import git, git_history
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.base.values import dataclass, replace

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.base.foreign.git_history import Merge
    from fabricc.compiler.load.revision import SpecHistory

_SHOWN = 3


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
    at_tip = f"{base} ({tip[:12]})"
    if head is None:
        label = f"{shown} as it is here"
        if len(bases) == 1:
            return Comparison(bases[0], f"{base} ({bases[0][:12]})", None, label, history, tip)
        return Comparison(
            tip, at_tip, None, label, history, tip, (_several_bases(base, wanted, "it is now"),)
        )
    if newest in bases:
        raise _nothing_to_merge(base, head, shown, same=tip == newest)
    label = f"{head} ({newest[:12]})"
    if bases == (tip,):
        return Comparison(tip, at_tip, newest, label, history, tip)
    merge = git_history.merge_commits(repository, tip, newest, scratch)
    several = (_several_bases(base, head, "the merge leaves it"),) if len(bases) > 1 else ()
    merged = replace(history, repository=merge.repository)
    known = merged.inputs(merge.tree, spec.name).isdisjoint(merge.conflicts)
    severity = Severity.WARNING if known else Severity.ERROR
    conflict = (_merge_conflicts(base, head, merge, severity),) if merge.conflicts else ()
    if known:
        merged_label = f"{label} merged into {base}"
        return Comparison(tip, at_tip, merge.tree, merged_label, merged, tip, several + conflict)
    if several:
        found = (_several_bases(base, head, "it is now"), *conflict)
        return Comparison(tip, at_tip, newest, label, history, tip, found)
    return Comparison(bases[0], f"{base} ({bases[0][:12]})", newest, label, history, tip, conflict)


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


def _merge_conflicts(base: str, head: str, merge: Merge, severity: Severity) -> Diagnostic:
    """FAB9033: an error where files of the spec conflict, as the merged spec is then unknown."""
    rest = len(merge.conflicts) - _SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    message = (
        f"a merge of {head} into {base} conflicts in "
        f"{', '.join(map(git.visible_path, merge.conflicts[:_SHOWN]))}{more}"
    )
    remedy = f"Merge {base} into the branch, and review the result."
    return Diagnostic("FAB9033", severity, message, None, remedy)
