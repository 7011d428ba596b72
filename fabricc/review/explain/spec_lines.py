"""A line of a spec or of its lock: its keys, their meaning, and what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.front.spec.document import format_path
from fabricc.review.explain.groups import group_names
from fabricc.review.explain.model import Explanation, Statement, SubjectError
from fabricc.review.explain.origins import PlanSources, key_description, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_LONGEST = 90
_LOCK_RULES = {
    "unit": "The coordinate of a unit, from which addresses, ASNs and names of its devices follow.",
    "host": "The coordinate of the unit and the slot of a host, from which its ports and addresses follow.",
    "stride": "The room of a coordinate in addresses and ASNs. Growth beyond it needs `fabricc build --repin`.",
    "tenant": "The number of a tenant, from which VNI and route target follow.",
}
_LOCK_RULE = "A value that the first build chose. It stays, so that no later build renumbers devices."
_LOCK_DOCS = "fabricc docs identity"


def explain_spec_line(plan: PlanSources, spec: Path, line: int) -> Explanation:
    """Explain the keys that begin in a line of the spec.

    Raises:
        SubjectError: FAB9271, no key begins there.
    """
    positions = {path: at for path, at in plan.spec.positions.items() if path and at.file == str(spec)}
    here = [path for path, at in positions.items() if at.line == line]
    if not here:
        near = max((at.line for at in positions.values() if at.line < line), default=1)
        message = f"no key of {spec} begins in line {line:,}"
        raise SubjectError("FAB9271", message, f"The nearest line above with a key is {near:,}.")
    named = [path for path in here if not isinstance(path[-1], int)] or here
    statements = tuple(_explain_key(plan, path) for path in named)
    details = (("line", plan.snippet(positions[here[0]])), *_questions(plan, spec, named))
    return Explanation("line", f"{spec}:{line}", "a line of the spec", details, statements)


def explain_lock_line(plan: PlanSources, spec: Path, line: int) -> Explanation:
    """Explain a line of the lock.

    Raises:
        SubjectError: FAB9271, the lock has no such line, or it is a comment.
    """
    lines = plan.sources.get(plan.lock_file, "").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    kind, *words = text.split() or [""]
    if not words or kind.startswith("#"):
        message = f"line {line:,} of {plan.lock_file} has no pinned value"
        raise SubjectError(
            "FAB9271", message, f"The lock has {len(lines):,} lines, the first ones are comments."
        )
    name = text.rpartition(" ")[0]
    origin = plan.lock_origin(name, words[-1])
    statement = Statement(
        name, words[-1], _LOCK_RULES.get(kind, _LOCK_RULE), origins=(origin,), docs=_LOCK_DOCS
    )
    asked = [(kind, words[0])] if kind != "stride" else []
    details = (("line", text), *_questions(plan, spec, asked))
    return Explanation("line", f"{plan.lock_file}:{line}", "a line of the lock", details, (statement,))


def _explain_key(plan: PlanSources, path: KeyPath) -> Statement:
    at = plan.spec.positions[path]
    value = parse_yaml(plan.sources[at.file].encode(), at.file).value
    for part in path:
        value = value[part]
    text = plural(len(value), "key") if isinstance(value, dict) else clip(text_of(value), _LONGEST)
    rule = key_description(path) or "An entry of the list or table above it."
    return Statement(format_path(path), text, rule)


def _questions(plan: PlanSources, spec: Path, paths: Sequence[KeyPath]) -> tuple[tuple[str, str], ...]:
    """Return the commands that explain what the last part of a path names, each once."""
    known = {*group_names(plan.fabric)}
    names = [str(path[-1]) for path in paths if len(path) > 1]
    found = [name for name in dict.fromkeys(names) if name in known or plan.fabric.find(name) is not None]
    return tuple(("more", f"fabricc explain {shell_path(spec)} {shell_word(name)}") for name in found)
