"""Compare the lines of two sides that fabricc does not interpret: text without a statement has an unknown effect.

Services and protections that a change ends are reported, and lines whose effect is unknown or vouched for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import group_pairs
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.facts import Unplanned
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.facts.paths import first_key, replace_keys
from fabricc.review.diff.fact_impact import UNUSED, read_files, row_of, vocabulary_of
from fabricc.review.diff.model import ControlFile, Group, SpecChange, Statement, VouchedLine
from fabricc.review.diff.view import mask_secrets
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.facts import Reading

TEXT, VOUCHED, HARMLESS, ENDED = "text", "text/vouched", "text/harmless", "text/ended["
"""Subjects of lines: with an unknown effect, vouched for by the spec, without an effect, ending a safeguard."""
_SHOWN, _LONGEST = 8, 160
_NOTHING = re.compile(r"\s*([#!].*)?$")
_QUOTED = re.compile(r'(?<=: )"([^"\\\n\']*)"$', re.MULTILINE)
"""A value of YAML in double quotes that means the same in single ones."""
_COLLECTED = ("setting[", "table[", STRUCTURE)
"""Facts that keep a line of any meaning."""
REORDERED = "the same lines in another order"


class TextChange(NamedTuple):
    """Lines of one kind that go and come on a device, as one text each; None for no lines."""

    subject: str
    before: str | None
    after: str | None


def unread_lines(
    nos: str, files: Mapping[str, str], reading: Reading, *, ignored: bool = True
) -> tuple[str, ...]:
    """Return each line without a statement, with the lines that it is below: `interface swp1 / shape 1`.

    Lines are in order, after those of JSON, whose keys have none. A line that states a fact which has its own effect
    does not count, although no plan has it.

    Args:
        nos: the operating system, `host` for hosts.
        files: file -> text.
        reading: what the reader of the system found in them.
        ignored: with lines that the reader passes over, such as tables that a device has by itself.
    """
    passed = back_ends.skipped_lines(nos, files) if ignored and nos in back_ends.list_names() else []
    paths = {
        file: _line_paths(nos, files[file]) for file in {each[0] for each in reading.unknown} if file in files
    }
    found: list[str] = []
    keys: list[str] = []
    stated = {place for path, place in reading.lines.items() if not any(kind in path for kind in _COLLECTED)}
    for file, line, text in (
        *(each for each in reading.unknown if not isinstance(each, Unplanned) or each[:2] not in stated),
        *passed,
    ):
        known = paths.get(file, {})
        if file in paths and line not in known and line:
            continue  # in a comment or a banner
        path = "" if file.endswith(".json") else known.get(line, "")  # text of JSON has its keys
        shows = path.rpartition(" / ")[2].startswith(text.strip().split(" ")[0])
        shown = (path if shows else text.strip()).replace("; ", ";")
        (keys if file.endswith(".json") else found).append(shown)
    return (*sorted(keys), *found)


def _line_paths(nos: str, text: str) -> dict[int, str]:
    """Return number of each line that is no comment -> the line with its parent lines."""
    comments = vocabulary_of(nos).comments
    if comments:
        text = comments.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: dict[int, str] = {}
    blocks: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if _NOTHING.match(line):
            continue
        indent = len(line) - len(line.lstrip())
        while blocks and blocks[-1][0] >= indent:
            blocks.pop()
        path = " / ".join((*(above for _, above in blocks), line.strip().rstrip(",")))
        blocks.append((indent, line.strip().rstrip(",")))
        found[number] = path
    return found


def changed_text(
    nos: str, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the lines that go and come between texts with the same statements.

    Comments, layout, the order of lines, and lines that state a fact do not count: facts are compared by themselves.
    A line that both sides have is no change, although it states a fact on one side only.
    """
    before, after = _with_one_layout(before), _with_one_layout(after)
    readings = read_files(nos, before), read_files(nos, after)
    facts = readings[0].facts, readings[1].facts
    structure = {path for path, value in facts[0].items() if facts[1].get(path) == value}
    (old, old_lines), (new, new_lines) = (
        (Counter(_unstated_lines(nos, files, {
            place
            for path, place in reading.lines.items()
            if path in structure or not path.startswith(STRUCTURE)
        })), Counter(_unstated_lines(nos, files, ())))
        for files, reading in zip((before, after), readings, strict=True)
    )  # fmt: skip
    return list((old - new_lines).elements()), list((new - old_lines).elements())


def _with_one_layout(files: Mapping[str, str]) -> dict[str, str]:
    """Return files with the same quotes in YAML, and JSON with a line for each key."""
    found = {}
    for name, text in files.items():
        if name.endswith((".yaml", ".yml")):
            text = _QUOTED.sub(r"'\1'", text)
        elif name.endswith(".json"):
            with suppress(ValueError):  # not JSON, or with a key twice: compared as it is
                text = json.dumps(json.loads(text, object_pairs_hook=_unique_keys), indent=4)
        found[name] = text
    return found


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _unstated_lines(nos: str, files: Mapping[str, str], stated: Collection[tuple[str, int]]) -> Iterator[str]:
    for file in sorted(files):
        paths = _line_paths(nos, files[file])
        left = (path for line, path in paths.items() if (file, line) not in stated and _has_words(path))
        yield from map(_row_path, left) if file.endswith(".json") else left
        if not paths:
            yield f"{file} is empty"


def _row_path(path: str) -> str:
    """Return a line of JSON as SONiC's reader writes it: `TABLE|row field: value`."""
    *above, line = path.split(" / ")
    keys = [part.partition('": ')[0].strip('"') for part in above if part != "{"]
    key, colon, value = line.partition('": ')
    name, stated = key.strip('"'), value.strip('"')
    return f"{'|'.join(keys)} {name}{': ' if colon else ''}{stated}".strip()


def _has_words(path: str) -> bool:
    """Return whether the last line of a path has words, not only brackets."""
    return any(letter.isalnum() for letter in path.rpartition(" / ")[2])


def text_changes(
    nos: str,
    before: Collection[str],
    after: Collection[str],
    vouched_lines: Collection[str] = (),
) -> list[TextChange]:
    """Return the changes between two sequences of lines without a statement, those of one kind as one change.

    Args:
        nos: the operating system, `host` for hosts.
        before: the lines of the older side, in order.
        after: the lines of the newer side, in order.
        vouched_lines: lines, with `*` for any text, that the spec vouches for.
    """
    old, new = Counter(before), Counter(after)
    gone, come = list((old - new).elements()), list((new - old).elements())
    if not gone and not come:
        return [TextChange(TEXT, None, REORDERED)] if _by_block(before) != _by_block(after) else []
    found: dict[str, tuple[list[str], list[str]]] = {}
    for side, lines in enumerate((gone, come)):
        for line in lines:
            found.setdefault(_line_kind(nos, line, vouched_lines), ([], []))[side].append(line)
    return [TextChange(subject, *map(_join_lines, sides)) for subject, sides in found.items()]


def _by_block(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return lines by their block, single ones by their first word: only there does their order count."""
    blocks = (
        (line.partition(" / ") if " / " in line else line.removeprefix("no ").partition(" "), line)
        for line in lines
    )
    return group_pairs((words[0], line) for words, line in blocks)


def _line_kind(nos: str, line: str, vouched_lines: Collection[str]) -> str:
    ended = (name for pattern, name in vocabulary_of(nos).ends.items() if pattern.fullmatch(line))
    if name := next(ended, ""):
        return f"{ENDED}{name}]"
    if any(pattern.fullmatch(line) for pattern in vocabulary_of(nos).harmless):
        return HARMLESS
    return VOUCHED if find_vouching_entry(line, vouched_lines) else TEXT


def list_unread_text(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return a note about lines of overlays of unknown effect, which no share of paths or capacity counts."""
    if compiled.infiniband is not None:
        return ()  # its switches have no configuration
    vouched_lines = [each.line for each in compiled.spec.accept if each.line]
    found: dict[str, str] = {}
    for part in (compiled, *compiled.networks.values()):
        named = {plan.devices[0] for plan in part.fabric.overlays if plan.devices}
        for at in part.fabric.switch_ids() if named else ():
            if (name := part.fabric.name(at)) not in named:
                continue
            switch = part.fabric.switch(at)
            with suppress(EmitError):  # an overlay that does not fit, which the proof reports
                files = render_switch(switch)
                lines = unread_lines(switch.nos, files, read_files(switch.nos, files))
                unknown = (each for each in lines if _line_kind(switch.nos, each, vouched_lines) == TEXT)
                found |= dict.fromkeys((each for each in unknown if each not in found), name)
    if not found:
        return ()
    line, name = next(iter(found.items()))
    message = (
        f"{plural(len(found), 'line')} of overlays that fabricc does not interpret, such as "
        f"{mask_secrets(line)[:_LONGEST]!r} on {name}: no share counts the effect"
    )
    return (Diagnostic("FAB9065", Severity.NOTE, message, None, "Read them, or accept them in the spec."),)


def find_vouching_entry(line: str, vouched_lines: Collection[str]) -> str:
    """Return the entry that vouches for a line, whole or without the lines that it is below; "" for none."""
    own = line.rpartition(" / ")[2]
    for entry in vouched_lines:
        pattern = re.compile(".*".join(map(re.escape, entry.split("*"))))
        if pattern.fullmatch(line) or pattern.fullmatch(own):
            return entry
    return ""


def _join_lines(lines: list[str]) -> str | None:
    """Return lines as one text without secrets; a digest distinguishes the omitted lines from others."""
    if not lines:
        return None
    shown = [mask_secrets(line)[:_LONGEST] for line in lines[:_SHOWN]]
    if rest := lines[_SHOWN:]:
        digest = hashlib.sha256("\n".join(rest).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        shown.append(f"{len(rest)} more lines ({digest})")
    return "; ".join(shown)


_WEAKER = ("less", "far")


def safeguards_lost(groups: Sequence[Group]) -> dict[str, int]:
    """Return the services and protections that end or become weaker -> how many devices lose them."""
    found: dict[str, int] = {}
    for group in groups:
        for concern in list_weakened([line.statement for line in group.lines], group.nos):
            found[concern] = found.get(concern, 0) + len(group.devices)
    return found


def list_weakened(statements: Collection[Statement], nos: str) -> list[str]:
    """Return the services and protections that statements end or weaken."""
    return sorted(
        {_safeguard_name(each, nos) for each in statements if _is_weakened(each, statements)} - {""}
    )


def _is_weakened(statement: Statement, others: Iterable[Statement]) -> bool:
    """Return whether something becomes weaker, or a new line ends it."""
    if statement.subject.startswith(ENDED) or "/setting[no " in statement.subject:
        return statement.op == "+"
    idle = statement.subject.startswith(UNUSED)  # as when its cable goes
    return statement.direction in _WEAKER and not idle and not _is_moved(statement, others)


def _safeguard_name(statement: Statement, nos: str) -> str:
    """Return the name of a safeguard, "" for anything else."""
    if statement.subject.startswith(ENDED):
        return first_key(statement.subject)
    row = row_of(statement.subject, nos)
    return row.concern if "safeguard" in row.tags else ""


def _is_moved(statement: Statement, others: Iterable[Statement]) -> bool:
    """Return whether a removed value appears again under another key, such as another queue."""
    bare = replace_keys(statement.subject, "")
    return statement.op == "-" and any(
        each.op == "+" and each.after == statement.before and replace_keys(each.subject, "") == bare
        for each in others
    )


def unknown_lines(groups: Sequence[Group]) -> dict[str, int]:
    """Return the changed lines whose effect is unknown, with `+` or `-` -> how many devices have them."""
    found: dict[str, int] = {}
    for group in groups:
        for line in group.lines:
            if line.statement.subject == TEXT:
                for sign, text in (("-", line.statement.before), ("+", line.statement.after)):
                    for each in (text or "").split("; ") if text else ():
                        found[f"{sign}{each}"] = found.get(f"{sign}{each}", 0) + len(group.devices)
    return found


def find_vouched_lines(
    groups: Sequence[Group], before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[VouchedLine, ...]:
    """Return the entries of the spec that vouch for changed lines.

    Args:
        groups: devices on which the same changes.
        before: the entries of the older side -> the reason.
        after: the entries of the newer side -> the reason.
    """
    counts: dict[str, int] = {}
    for group in groups:
        texts = [
            text
            for line in group.lines
            if line.statement.subject == VOUCHED
            for text in (line.statement.before, line.statement.after)
            if text
        ]
        for entry in {find_vouching_entry(each, after) for text in texts for each in text.split("; ")} - {""}:
            counts[entry] = counts.get(entry, 0) + len(group.devices)
    return tuple(
        VouchedLine(entry, after[entry], count, new=entry not in before) for entry, count in counts.items()
    )


_STEERING = (
    (re.compile(r"policy\..*|policy"), "review policy of the spec"),
    (re.compile(r"accept\[.*\]\.(code|line)"), "findings that the spec accepts"),
)
"""Keys of a spec that decide what later builds and reviews report, and what they decide."""


def steering_keys(changes: Iterable[SpecChange]) -> tuple[ControlFile, ...]:
    """Return the changed keys of a spec that decide what later builds and reviews report."""
    found = []
    for change in changes:
        role = next((role for pattern, role in _STEERING if pattern.fullmatch(change.path)), "")
        if role:
            what = "added" if change.before is None else "removed" if change.after is None else "changed"
            found.append(ControlFile(change.path, role, what))
    return tuple(found)
