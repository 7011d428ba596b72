"""A line of a built tree, of a spec or of its lock: the facts that it states or the keys that it has, explained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.front.spec.document import format_path
from fabricc.review.explain.devices import group_paths
from fabricc.review.explain.groups import group_names
from fabricc.review.explain.model import Explanation, Statement, SubjectError
from fabricc.review.explain.origins import PlanSources, key_description, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.fabric.facts import Facts, Reading, Value

    Reader = Callable[[Mapping[str, str]], Reading]
    FactExplainer = Callable[[str, Value, tuple[str, ...]], Statement]


_CLOSING = re.compile(r"[\s\]})>,;]*")
_COMMENT = re.compile(r"\s*(?:[!#].*|/\*.*\*/\s*)?")
_LONGEST = 100
_ABOVE = 4
_NAMED = 3
_EXPLAINED = 6
"""Facts of different kinds, at most, that a line which is a part of them is explained by."""


class Place(NamedTuple):
    """A line of one of a device's files, counted from 1."""

    file: str
    line: int


class Texts(NamedTuple):
    """The files of a device as they are, and as a build of the plan would write them.

    Attributes:
        found: file -> text; `fresh` the same of a build now, empty when it cannot be rendered.
        reader: reads such files.
        overlaid: lines of the user's overlays; `overlays`: the names of these files.
    """

    found: Mapping[str, str]
    fresh: Mapping[str, str]
    reader: Reader
    overlaid: Collection[tuple[str, int]] = ()
    overlays: tuple[str, ...] = ()


def explain_line(
    device: str, texts: Texts, place: Place, shown: str, explain_fact: FactExplainer
) -> Explanation:
    """Explain one line.

    Args:
        device: the name of the device whose file has the line.
        texts: the device's files.
        place: the line.
        shown: the line as the user named it.
        explain_fact: explains a fact: its path, its value in the file, and other paths with that value.
    """
    lines = texts.found[place.file].splitlines()
    reading = texts.reader(texts.found)
    stated = {
        path: reading.facts[path]
        for path, where in reading.lines.items()
        if where == (place.file, place.line) and path in reading.facts
    }
    details = [
        ("line", clip(lines[place.line - 1].strip(), _LONGEST) or "(empty)"),
        ("device", device),
    ]
    if above := list(_parent_lines(lines, place.line - 1)):
        details.append(("within", " > ".join(map(_opening_words, above))))
    if place in texts.overlaid:
        details.append(("overlay", f"from {', '.join(texts.overlays)}: the user's own"))
    elif not _is_written(texts, place):
        details.append(("build", "a build of the spec as it is now does not write this line"))
    title = f"states {plural(len(stated), 'fact')}"
    if not stated:
        title = "states no fact of its own"
        found, part_of = _read_without(texts, place, reading)
        if 0 < len(list(group_paths(part_of))) <= _EXPLAINED:
            title, stated = f"is part of the lines that state {plural(len(part_of), 'fact')}", part_of
            found = [("meaning", "without it these facts are missing or different")]
        details += found
    statements = tuple(
        explain_fact(first, stated[first], others) for first, others in group_paths(_stated_facts(stated))
    )
    return Explanation("line", shown, title, tuple(details), statements)


def _stated_facts(stated: Facts) -> Facts:
    """Return the facts, those about parts of the text last."""
    parts = {path: value for path, value in stated.items() if path.startswith(STRUCTURE)}
    return {**{path: value for path, value in stated.items() if path not in parts}, **parts}


def _parent_lines(lines: Sequence[str], index: int) -> Iterator[str]:
    """Yield the parents of a line by indentation, outermost first; for a closing line its opening one."""
    found: list[str] = []
    text = lines[index]
    indent = _indent_of(text)
    if text.strip() and _CLOSING.fullmatch(text):
        indent += 1
    for line in reversed(lines[:index]):
        if _indent_of(line) < indent and not _COMMENT.fullmatch(line) and not _CLOSING.fullmatch(line):
            if line.strip(" {[("):
                found.append(line)
            indent = _indent_of(line)
        if not indent:
            break
    yield from reversed(found[:_ABOVE])


def _opening_words(line: str) -> str:
    """Return the opening line of a block without its bracket and without quotes around it all."""
    text = clip(line.strip(), _LONGEST).rstrip(" {[(:")
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_without(texts: Texts, place: Place, reading: Reading) -> tuple[list[tuple[str, str]], Facts]:
    """Explain a line that states nothing by reading the files without it; also return facts that need it."""
    lines = texts.found[place.file].splitlines()
    text = lines[place.line - 1]
    if any(known[:2] == (place.file, place.line) for known in reading.unknown):
        return [("meaning", "the line is unknown, so `check` refuses it")], {}
    if _COMMENT.fullmatch(text):
        return [("meaning", "none for the device: a comment or a separator")], {}
    changed = {} if _CLOSING.fullmatch(text) else _changed_facts(texts, place, reading)
    of_file = sum(where[0] == place.file for where in reading.lines.values())
    if _CLOSING.fullmatch(text) or len(changed) > of_file // 2 > 1:
        block = _of_block(lines, place, reading)
        details = [("meaning", "part of the file's structure: without it the file is not read as it is")]
        return [*details, *([("its block", f"states {_describe_several(block)}")] if block else [])], {}
    if not changed:
        return [("meaning", "fixed text of the back end: no fact of the device depends on it")], {}
    return [("meaning", f"without it these facts go or change: {_describe_several(list(changed))}")], changed


def _describe_several(paths: Sequence[str]) -> str:
    named, more = ", ".join(paths[:_NAMED]), len(paths) - _NAMED
    return named + (f" and {more:,} more" if more > 0 else "")


def _of_block(lines: Sequence[str], place: Place, reading: Reading) -> list[str]:
    """Facts that are stated in the block that a line opens, or else is in."""
    index = place.line - 1
    after = next((line for line in lines[index + 1 :] if line.strip()), "")
    while index > 0 and _indent_of(after) <= _indent_of(lines[index]):
        after = lines[index]
        index -= 1
    inner = _indent_of(lines[index])
    rest = enumerate(lines[index + 1 :], index + 2)
    end = next(
        (number for number, line in rest if line.strip() and _indent_of(line) <= inner), len(lines) + 1
    )
    return [
        path for path, where in reading.lines.items() if where[0] == place.file and index < where[1] < end
    ]


def _changed_facts(texts: Texts, place: Place, reading: Reading) -> Facts:
    """Return facts that a file without the line lacks or states differently."""
    lines = texts.found[place.file].splitlines(keepends=True)
    del lines[place.line - 1]
    other = texts.reader({**texts.found, place.file: "".join(lines)})
    return {path: value for path, value in reading.facts.items() if other.facts.get(path) != value}


def _is_written(texts: Texts, place: Place) -> bool:
    """Return whether a build writes such a line to that file; True if unknown."""
    fresh = texts.fresh.get(place.file)
    line = texts.found[place.file].splitlines()[place.line - 1]
    return fresh is None or line in fresh.splitlines()


_LONGEST_VALUE = 90
_LOCK_RULES = {
    "unit": "The coordinate of a unit, from which addresses, ASNs and names of its devices follow.",
    "host": "The coordinate of the unit and the slot of a host, from which its ports and addresses follow.",
    "stride": "The room of a coordinate in addresses, ASNs and LIDs, or the first LID of a tier. "
    "Growth beyond it needs `fabricc build --repin`.",
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
    pairs = [(kind, words[0])] if kind != "stride" else []
    details = (("line", text), *_questions(plan, spec, pairs))
    return Explanation("line", f"{plan.lock_file}:{line}", "a line of the lock", details, (statement,))


def _explain_key(plan: PlanSources, path: KeyPath) -> Statement:
    at = plan.spec.positions[path]
    value = parse_yaml(plan.sources[at.file].encode(), at.file).value
    for part in path:
        value = value[part]
    text = plural(len(value), "key") if isinstance(value, dict) else clip(text_of(value), _LONGEST_VALUE)
    rule = key_description(path) or "An entry of the list or table above it."
    return Statement(format_path(path), text, rule)


def _questions(plan: PlanSources, spec: Path, paths: Sequence[KeyPath]) -> tuple[tuple[str, str], ...]:
    """Return the commands that explain what the last part of a path names, each once."""
    known = {*group_names(plan.fabric)}
    names = [str(path[-1]) for path in paths if len(path) > 1]
    found = [name for name in dict.fromkeys(names) if name in known or plan.fabric.find(name) is not None]
    return tuple(("more", f"fabricc explain {shell_path(spec)} {shell_word(name)}") for name in found)
