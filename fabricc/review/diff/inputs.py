"""From what the user named to two sides: specs, trees, or a spec and revisions of it."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign.git import GitError
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.revision import SpecHistory, unreadable
from fabricc.front.spec.load import read_spec
from fabricc.review.diff.causes import spec_changes
from fabricc.review.diff.networks import spec_side
from fabricc.review.diff.review_policy import NAME as POLICY_NAME
from fabricc.review.diff.review_policy import spec_policy
from fabricc.review.diff.run import Context
from fabricc.review.diff.sides import Cluster, Side
from fabricc.review.diff.trees import tree_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Position
    from fabricc.base.documents.document import Document
    from fabricc.compiler.compiled import Compiled
    from fabricc.review.diff.review_policy import Policy


class InputError(FindingsError):
    """The sides cannot be had."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Both sides, and what else a review tells.

    A change is not held to a policy that it brings itself, as long as the older side has one.

    Attributes:
        policy: bytes of the policy file that the base revision has now, or None.
        spec_policy: the policy in the spec that the base revision has now, else of the older side, else of the newer.
    """

    base: Side
    head: Side
    context: Context
    policy: bytes | None = None
    spec_policy: Policy | None = None


@contextmanager
def inputs(first: Path, second: Path | None, base: str | None, head: str | None) -> Iterator[Inputs]:
    """The sides for `diff FIRST SECOND` or `diff SPEC --base REVISION [--head REVISION]`.

    Raises:
        TreeError: a folder is no tree.
        InputError: something named cannot be read, or does not compile.
    """
    with TemporaryDirectory(prefix="fabricc-diff-") as scratch:
        if second is not None:
            yield _two(first, second)
            return
        try:
            yield _revisions(first, base or "HEAD", head, Path(scratch))
        except GitError as error:
            raise InputError.of([unreadable(error)]) from None


def _two(first: Path, second: Path) -> Inputs:
    if not first.is_dir() and not second.is_dir():
        return _specs(_compiled(first, str(first)), _compiled(second, str(second)), str(first), str(second))
    specs = {path: _compiled(path, str(path)) for path in (first, second) if not path.is_dir()}
    sides = [
        spec_side(str(path), specs[path]) if path in specs else tree_side(path) for path in (first, second)
    ]
    return Inputs(sides[0], sides[1], Context(), None, _stated_policy(*map(_document, specs.values())))


def _revisions(spec: Path, base: str, head: str | None, scratch: Path) -> Inputs:
    history = SpecHistory.of(spec)
    if head is None:
        new, label = _compiled(spec, str(spec)), f"{spec} as it is here"
    else:
        label = f"{head} ({history.commit(head)[:12]})"
        path = _extracted(history, history.commit(head), spec, scratch / "head")
        if path is None:
            raise GitError(f"{head} has no {spec.name} in this folder")
        new = _compiled(path, str(spec), f"{head}:{history.prefix}{spec.name}")
    commit = history.merge_base(base, head or "HEAD")
    base_label = f"{base} ({commit[:12]})"
    path = _extracted(history, commit, spec, scratch / "base")
    held = partial(_held, history=history, tip=history.commit(base), spec=spec)
    if path is None:
        return held(_specs(None, new, f"{base_label}, which has no such spec", label, str(spec)))
    shown = f"{base}:{history.prefix}{spec.name}"
    return held(_specs(_compiled(path, shown, shown), new, base_label, label, str(spec)))


def _held(sides: Inputs, history: SpecHistory, tip: str, spec: Path) -> Inputs:
    """The sides under the policies that the base has now: a branch that is older than a policy is held to it too."""
    policy, text = history.file(tip, POLICY_NAME), history.file(tip, spec.name)
    if text is None or read_spec(text, spec.name).spec is None:
        return replace(sides, policy=policy)
    stated = spec_policy(parse_yaml(text, spec.name)) or sides.spec_policy
    return replace(sides, policy=policy, spec_policy=stated)


def _extracted(history: SpecHistory, commit: str, spec: Path, folder: Path) -> Path | None:
    folder.mkdir()
    return history.extract(commit, spec, folder)


def _compiled(path: Path, shown: str, where: str = "") -> Compiled:
    """The planned spec, which diagnostics call `shown`.

    Raises:
        InputError: it does not compile.
    """
    compiled = compile_spec(path, ethernet_only=True)
    if where:
        compiled = _renamed(compiled, path.parent, shown)
    if compiled.sound:
        return compiled
    found = compiled.diagnostics
    if where:
        remedy = f"`git show {shlex.quote(where)}` is what was compiled; repair the newer side against it."
        found += (Diagnostic("FAB9022", Severity.ERROR, f"{where} does not compile", None, remedy),)
    raise InputError.of(found, compiled.sources)


def _renamed(compiled: Compiled, folder: Path, shown: str) -> Compiled:
    """What was compiled, with the scratch folder's name replaced by the user's wherever it shows."""
    parent = shown.rpartition("/")[0]

    def name(text: str) -> str:
        return text.replace(f"{folder}/", f"{parent}/" if parent else "")

    def moved(position: Position | None) -> Position | None:
        return position and replace(position, file=name(position.file))

    known = compiled.diagnostics
    found = tuple(replace(d, message=name(d.message), position=moved(d.position)) for d in known)
    sources = {name(file): text for file, text in compiled.sources.items()}
    return replace(compiled, diagnostics=found, sources=sources)


def _specs(before: Compiled | None, after: Compiled, base: str, head: str, spec: str = "") -> Inputs:
    spec = spec or head
    documents = _document(before) if before else None, _document(after, spec)
    changes = spec_changes(*documents) if before else ()
    rules = _stated_policy(*documents)
    lock = lock_lines(before.lock_text if before else "", after.lock_text)
    stale = after.lock_before != after.lock_text
    known = {(d.code, d.message) for d in before.diagnostics} if before else set()
    new = tuple(d for d in after.diagnostics if (d.code, d.message) not in known)
    context = Context(spec, changes, lock, stale, after.lock_path.name, new)
    if before is None:
        return Inputs(Side(base, Cluster(), {}), spec_side(head, after), context, None, rules)
    return Inputs(spec_side(base, before), spec_side(head, after, before), context, None, rules)


def _stated_policy(*documents: Document | None) -> Policy | None:
    """The policy of the first spec that states one."""
    found = (spec_policy(document) for document in documents if document is not None)
    return next((policy for policy in found if policy is not None), None)


def _document(compiled: Compiled, name: str = "") -> Document:
    file, text = next(iter(compiled.sources.items()))
    return parse_yaml(text, name or file)


def lock_lines(before: str, after: str) -> tuple[str, ...]:
    """Numbers that leave (`-`) and join (`+`) the lock."""
    old, new = (
        {line for line in text.splitlines() if not line.startswith(("#", "version ", "cluster "))}
        for text in (before, after)
    )
    return (*(f"-{line}" for line in sorted(old - new)), *(f"+{line}" for line in sorted(new - old)))
