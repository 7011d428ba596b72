"""Describe the changes of a group of devices for a network engineer: a line per theme, the gravest first.

Long lists of device names are shortened: `su001…su004-tor1a`, `spine01a…spine16a`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import group_pairs, is_number
from fabricc.facts.paths import last_key, path_pattern
from fabricc.review.diff.fact_impact import row_of, vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.review.diff.model import Group, Impact, Line

_ROLES = {
    "host": "host port", "up": "uplink", "down": "downlink", "rail": "rail", "unused": "unused port",
    "external": "external port", "other": "session", "peer": "peer link",
}  # fmt: skip
_MOST = 4
_PLACE = re.compile(r"(interface|link|session)\[(\w+)\]")
_INDEXED = path_pattern("(queue|class)[#]")

_DRAIN = "add_community 65535:0"


class Phrase(NamedTuple):
    """One theme of a group."""

    theme: str
    text: str
    impact: Impact


def theme_phrases(group: Group) -> list[Phrase]:
    """Return a line per theme, gravest first."""
    rows = [(line, row_of(line.statement.subject, group.nos)) for line in group.lines]
    themes = group_pairs(
        (row.theme, (line, _label_text(row.words, line.statement.subject))) for line, row in rows
    )
    found = [_theme_phrase(theme, members) for theme, members in themes.items()]
    order = vocabulary_of(group.nos).themes.index
    return sorted(found, key=lambda phrase: (-phrase.impact, order(phrase.theme)))


def _label_text(words: str, subject: str) -> str:
    """Return the words of a row with the parts of the subject in place of {names}."""
    if "{" not in words:
        return words
    names = {
        "key": last_key(subject) or subject,
        "rest": subject.partition("/")[2],
        "path": subject,
    }
    return words.format_map({name: text.replace("_", " ") for name, text in names.items()})


def _name_detail(subject: str) -> str:
    """Return words for a fact whose row names none; the numbers of its ports and sessions follow."""
    _, _, rest = subject.partition("/")
    return (rest if rest and _PLACE.match(subject) else subject).replace("_", " ")


def _theme_phrase(theme: str, members: Sequence[tuple[Line, str]]) -> Phrase:
    impact = max(line.verdict.impact for line, _ in members)
    lines = [line for line, _ in members]
    if theme == "device" or theme == "routing policy":
        if any(_DRAIN in (line.statement.after or "") for line in lines):
            return Phrase(theme, "drains: everything is announced with GRACEFUL_SHUTDOWN", impact)
        if any(_DRAIN in (line.statement.before or "") for line in lines):
            return Phrase(theme, "takes traffic again: GRACEFUL_SHUTDOWN is no longer announced", impact)
    shown = list(_merge_lines([(line, label) for line, label in members if label]))
    if not shown:
        shown = list(_merge_lines([(line, _name_detail(line.statement.subject)) for line in lines]))
    text = "; ".join(shown[:_MOST])
    rest = len(shown) - _MOST
    return Phrase(theme, f"{text}; and {rest} more" if rest > 0 else text, impact)


def _merge_lines(members: Sequence[tuple[Line, str]]) -> Iterator[str]:
    """Yield texts of labeled lines: the same change on several kinds of port appears once, and so does a swap."""
    swaps = _find_swaps([line for line, _ in members])
    merged: dict[tuple[object, ...], list[tuple[Line, str]]] = {}
    for line, label in members:
        s = line.statement
        if (other := swaps.get(s.subject + s.op)) is not None:
            if s.op == "-":
                noun, own = _INDEXED.search(s.subject).groups()  # type: ignore[union-attr]
                key: tuple[object, ...] = ("moves", noun, own, other)
                merged.setdefault(key, []).append((line, f"moves from {noun} {own} to {other}"))
            continue
        own = s.before is None and s.after is None
        merged.setdefault((label, "" if own else s.op, s.before, s.after), []).append((line, label))
    for found in merged.values():
        yield _change_text(found)


def _find_swaps(lines: Sequence[Line]) -> dict[str, str]:
    """Find values that leave one queue or class and join another: subject and op -> the other number."""
    gone: dict[tuple[str, str | None], str] = {}
    for line in lines:
        if line.statement.op == "-" and (match := _INDEXED.search(line.statement.subject)):
            gone[line.statement.subject.replace(match[0], ""), line.statement.before] = match[2]
    found: dict[str, str] = {}
    for line in lines:
        match = _INDEXED.search(line.statement.subject)
        if line.statement.op != "+" or not match:
            continue
        bare = line.statement.subject.replace(match[0], "")
        if (old := gone.get((bare, line.statement.after))) is not None:
            found[line.statement.subject + "+"] = old
            found[line.statement.subject.replace(match[0], f"{match[1]}[{old}]") + "-"] = match[2]
    return found


def _change_text(found: Sequence[tuple[Line, str]]) -> str:
    line, label = found[0]
    s = line.statement
    where = _count_places([member for member, _ in found])
    if s.subject.startswith("link["):
        verb, peers = ("gone", s.before) if s.op == "-" else ("new", s.after)
        return f"{where} {verb}, to {peers}"
    if label.startswith("moves "):
        return f"{label}{_on_places(where)}"
    if s.before is None and s.after is None:
        example = f", for example {line.example}" if line.example else ""
        return f"{label}{_on_places(where)}{example}"
    name, _, unit = label.partition("~")
    change = {"~": f"{s.before} → {s.after}", "+": f"{s.after}, new", "-": f"{s.before}, gone"}[s.op]
    return f"{name} {change}{' ' if unit else ''}{unit}{_on_places(where)}"


def _count_places(lines: Sequence[Line]) -> str:
    """Return the number of ports or sessions: `1,024 uplinks and 1,024 host ports`."""
    counts: dict[str, int] = {}
    for line in lines:
        if match := _PLACE.match(line.statement.subject):
            noun = "session" if match[1] == "session" else _ROLES.get(match[2], match[2])
            counts[noun] = max(counts.get(noun, 0), line.count)
    return " and ".join(plural(count, noun) for noun, count in counts.items())


def _on_places(where: str) -> str:
    return f" on {where}" if where else ""


_DIGITS = re.compile(r"(\d+)")
_SHOWN = 8


def fold_names(names: Sequence[str], shown: int = _SHOWN) -> str:
    """Return names with consecutive numbers folded, at most `shown` parts, then the number of other names.

    Runs over one number are found first, then runs of whole patterns over another: 4 units of 8 ToRs become
    `su[001-004]-tor[1-8]a`.
    """
    patterns: dict[tuple[str, ...], int] = {tuple(_DIGITS.split(name)): 1 for name in names}
    width = max((len(pattern) for pattern in patterns), default=1)
    for column in range(width - 2 if width > 1 else -1, -1, -2):
        patterns = _join_patterns(patterns, column)
    texts = [("".join(pattern), count) for pattern, count in patterns.items()]
    if len(texts) <= shown:
        return ", ".join(text for text, _ in texts)
    rest = sum(count for _, count in texts[shown:])
    return ", ".join(text for text, _ in texts[:shown]) + f" and {rest:,} more"


def _join_patterns(patterns: dict[tuple[str, ...], int], column: int) -> dict[tuple[str, ...], int]:
    """Join patterns that differ in one consecutive number only."""
    families: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for pattern, count in patterns.items():
        if column < len(pattern):
            key = (*pattern[:column], "", *pattern[column + 1 :])
            families.setdefault(key, []).append((pattern[column], count))
        else:
            families[pattern] = [("", count)]
    joined: dict[tuple[str, ...], int] = {}
    for key, members in families.items():
        for text, count in _consecutive_runs(members):
            parts = (*key[:column], text, *key[column + 1 :]) if column < len(key) else key
            joined[parts] = joined.get(parts, 0) + count
    return joined


def _consecutive_runs(members: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    runs: list[list[str]] = []
    counts: list[int] = []
    for text, count in members:
        last = runs[-1][1] if runs else ""
        if is_number(text) and is_number(last) and int(text) == int(last) + 1:
            runs[-1][1] = text
            counts[-1] += count
        else:
            runs.append([text, text])
            counts.append(count)
    return [
        (first if first == last else f"[{first}-{last}]", count)
        for (first, last), count in zip(runs, counts, strict=True)
    ]
