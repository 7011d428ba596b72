"""Find the file and line of a statement of a device, or the place where a missing one belongs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.nos.lost_lines import lost_activation
from fabricc.base.diagnostics import Severity
from fabricc.facts.paths import last_key, last_leaf, list_leaf
from fabricc.proof.compare import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.facts.statement import Device

_FIRST = ("ipv4", "mtu", "description", "enabled", "remote_asn", "switchport", "pfc", "speed_gbps")


def place_of(device: Device, *paths: str, like: str = "", word: str = "") -> tuple[str, int]:
    """Return file below the folder and line of the first of these facts that exists, or of the closest statement.

    Args:
        device: whose files.
        paths: of facts, the exact one first.
        like: the line by which another device states the missing fact: a line with the same beginning and another or
            unknown meaning takes its place.
        word: a word of the exact line, if several lines make the fact.
    """
    found = _nearest_line(device, paths)
    if found is None:
        first = next(iter(device.paths.values()), "")
        return first, 1 if first else 0
    file, line = found
    leaf = last_leaf(paths[0]) if paths else ""
    if like and (other := _similar_line(device, file, line, like, leaf)):
        file, line = other
    elif word:
        named = re.compile(rf"(?<![\w./]){re.escape(word)}(?![\w./])")
        block = sorted(
            range(max(line - _BLOCK, 1), line + _BLOCK), key=lambda at: (abs(at - line), at < line)
        )
        near = (at for at in block if named.search(_line_text(device, file, at)))
        line = next(near, 0) or _line_apart(device, file, named, paths[0]) or line
    return device.paths.get(file, file), line


def _line_apart(device: Device, file: str, named: re.Pattern[str], path: str) -> int:
    """Return the line, anywhere in a file, that has a word and the item of a path in brackets; 0 without one."""
    item = last_key(path)
    lines = enumerate(_text_lines(device.files.get(file, "")), 1)
    return next((at for at, text in lines if item and item in text and named.search(text)), 0)


def line_with(device: Device, file: str, line: int, words: Iterable[str]) -> int:
    """Return the line next to a line that has the first of some words that is nearby, else the line itself."""
    near = sorted(range(max(line - _NEAR, 1), line + _NEAR + 1), key=lambda at: (abs(at - line), at))
    found = (at for word in words for at in near if re.search(rf"\b{word}\b", _line_text(device, file, at)))
    return next(found, line)


_NEAR = 8
"""Lines to either side of a clause of a policy, at most."""
_BLOCK = 12
"""Lines of one block, as far as one is looked through."""


def _nearest_line(device: Device, paths: Iterable[str]) -> tuple[str, int] | None:
    lines = device.reading.lines
    for path in paths:
        if place := lines.get(path):
            return place
    for path in paths:
        above = path
        while above := above.rpartition("/")[0]:
            beside = (lines.get(f"{above}/{leaf}") for leaf in _FIRST)
            if place := next((each for each in beside if each), None):
                return place
            if "[" in above or "/" in above:
                inside = f"{above}/"
                if place := next((each for known, each in lines.items() if known.startswith(inside)), None):
                    return place
    for path in paths:
        section = path.partition("/")[0] + "/"
        inside_it = [each for known, each in lines.items() if known.startswith(section)]
        if "/" in path and inside_it:
            return min(inside_it, key=lambda each: each[1])
    return None


def nearest_shared_fact(device: Device, path: str, other: Device, wanted: str) -> str:
    """Return the fact of a port or session of `other` closest to a fact that this device has too.

    Args:
        device: the device whose fact is searched.
        path: where facts of the port or session begin.
        other: a device of the same system, or the same.
        wanted: the fact of a port or session there.
    """
    place = other.reading.lines.get(wanted)
    start = wanted.removesuffix(list_leaf(wanted))
    if place is None:
        return path
    known = device.reading.lines
    near = sorted(
        (abs(line - place[1]), each[len(start) :])
        for each, (file, line) in other.reading.lines.items()
        if each.startswith(start) and file == place[0]
    )
    return next((path + leaf for _, leaf in near if path + leaf in known), path)


def fact_beside(device: Device, other: Device, missing: str) -> tuple[str, ...]:
    """Return the fact of a device next to which `other` states one that the device lacks; none where it is unknown."""
    place = other.reading.lines.get(missing)
    if place is None:
        return ()
    file, at = place
    known = device.reading.lines
    near = (
        (abs(line - at) + (line > at) / 2, path)
        for path, (own, line) in other.reading.lines.items()
        if own == file and path in known and known[path][0] == file
    )
    return tuple(path for _, path in [min(near, default=(0, ""))] if path)


def line_of(device: Device, path: str) -> str:
    """Return the text of the line that states a fact; "" where none does."""
    place = device.reading.lines.get(path)
    return _line_text(device, *place) if place else ""


def _line_text(device: Device, file: str, line: int) -> str:
    lines = _text_lines(device.files.get(file, ""))
    return lines[line - 1] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=2)
def _text_lines(text: str) -> list[str]:
    """Return the lines of a text; cached, because a device has many findings."""
    return text.split("\n")


def _similar_line(device: Device, file: str, line: int, like: str, leaf: str) -> tuple[str, int] | None:
    """Return a line near a place, or an unknown one, that begins like `like` and states the same of nothing else."""
    wanted = _line_beginning(like)
    if not wanted:
        return None
    suffix = f"]/{leaf}"
    stating = {place for path, place in device.reading.lines.items() if path.endswith(suffix)}
    near = sorted(range(max(line - _BLOCK, 1), line + _BLOCK), key=lambda at: abs(at - line))
    if file.endswith(".json"):  # rows of other tables have the same fields
        near = [at for at in near if _same_object(device, file, line, at)]
    for at in near:
        if (file, at) not in stating and _line_beginning(_line_text(device, file, at)) == wanted:
            return file, at
    unknown = [(other, at) for other, at, text in device.unknown if _line_beginning(text) == wanted]
    return unknown[0] if unknown else None


def _same_object(device: Device, file: str, line: int, other: int) -> bool:
    """Return whether no line between two lines of JSON is indented less than the first: they are in one object."""
    texts = [_line_text(device, file, at) for at in range(min(line, other), max(line, other) + 1)]
    indents = [len(text) - len(text.lstrip()) for text in texts]
    return min(indents) >= indents[0 if line <= other else -1]


def _line_beginning(text: str) -> tuple[str, ...]:
    """Return the beginning of a line without its value: all words but the last, at most two."""
    words = text.split()
    return tuple(words[: min(2, max(1, len(words) - 1))])


def line_in_block(device: Device, found: Finding, words: re.Pattern[str], name: str = "") -> Finding:
    """Return a finding at the line with some words in its block, or else with a name and the words, if there is one.

    That is the line by which the fault came about: one that is commented out, or misspelled.
    """
    file = next((each for each, path in device.paths.items() if path == found.file), found.file)
    lines = _text_lines(device.files.get(file, ""))
    if not 0 < found.line <= len(lines):
        return found
    depth, start = _depth_of(lines[found.line - 1]), found.line
    if not name and depth and not lines[start - 1].rstrip().endswith("{"):  # inside of the block
        start = next((at for at in range(start - 1, 0, -1) if _depth_of(lines[at - 1]) < depth), start)
        depth = _depth_of(lines[start - 1])
    for at, text in enumerate(lines[start:], start + 1):
        if text.strip() and _depth_of(text) <= depth and text.strip()[0] not in "!#":
            break
        if words.search(text):
            return found._replace(line=at)
    own = re.compile(rf"(?<![\w.:]){re.escape(name)}(?![\w.:])")
    at = next((at for at, text in enumerate(lines, 1) if name and own.search(text) and words.search(text)), 0)
    return found._replace(line=at or found.line)


def at_lost_activation(device: Device, found: Finding, neighbor: str, family: str) -> Finding:
    """Return a finding at the line that takes a family from a session or its group, if there is one."""
    for file, path in device.paths.items():
        if path == found.file and (at := lost_activation(device.files.get(file, ""), neighbor, family)):
            return found._replace(line=at)
    return found


def _depth_of(text: str) -> int:
    return len(text) - len(text.lstrip())


_REPEATED = {
    ("FAB9601", "session shut"): ("FAB9675", "shut session"),
    ("FAB9601", "session timers"): ("FAB9694", "session timers"),
    ("FAB9675", "harmful maximum_prefixes"): ("FAB9677", "limit of prefixes"),
    ("FAB9675", "reserved address"): ("FAB9602", "link addresses"),
    ("FAB9669", "small MTU of a port"): ("FAB9600", "link mtu"),
    ("FAB9675", "shut link"): ("FAB9600", "link shut"),
    ("FAB9675", "contradiction: up"): ("FAB9600", "link shut"),
    ("FAB9681", "overlap"): ("FAB9602", "link addresses"),
}
"""Code and group of a finding -> those of a finding that describes the same cause better, if both are at one line."""
_REPEATED_IN_FILE = {
    ("FAB9601", "session BFD"): ("FAB9665", "BFD on no session"),
    ("FAB9606", "no watchdog"): ("FAB6218", "watchdog"),
}
"""The same, if both are in one file."""


def without_repeats(findings: Iterable[Finding], others: Iterable[Finding] = ()) -> list[Finding]:
    """Return findings without those of a cause that another error or warning, here or among others, shows better."""
    every = list(findings)
    placed = [each for each in (*every, *others) if each.file and each.severity is not Severity.NOTE]
    known = {(each.code, each.group, each.file, line) for each in placed for line in (each.line, 0)}
    return [
        each
        for each in every
        if (*_REPEATED.get((each.code, each.group), ("", "")), each.file, each.line) not in known
        and (*_REPEATED_IN_FILE.get((each.code, each.group), ("", "")), each.file, 0) not in known
    ]


def finding_at(
    code: str,
    device: Device,
    paths: str | Iterable[str],
    message: str,
    group: str,
    severity: Severity = Severity.ERROR,
    remedy: str = "",
    *,
    like: str = "",
    word: str = "",
) -> Finding:
    """Return a finding at the first of the paths that the device states, its file below the folder; see `place_of`."""
    wanted = (paths,) if isinstance(paths, str) else tuple(paths)
    return Finding(code, message, *place_of(device, *wanted, like=like, word=word), group, severity, remedy)
