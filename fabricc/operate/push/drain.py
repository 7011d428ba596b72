"""The drained form of any state of a switch: the planned change of its text, applied, and proved by its facts."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from fabricc.facts.paths import first_key
from fabricc.operate.devices import DeviceError, running

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.fabric.facts import Value

_CONTEXT = 4
_SESSION = "bgp/neighbor["
Change = dict[str, tuple["Value | None", "Value | None"]]


def drain_files(
    name: str, nos: str, files: Mapping[str, str], plain: Mapping[str, str], shut: Mapping[str, str]
) -> dict[str, str]:
    """Return the files with graceful shutdown (RFC 8326), and nothing else changed.

    What draining does to a switch is the difference between its two renderings. Here that difference is applied to
    the text of another state of the switch, and the reader proves that exactly the same facts change. A box without
    a session, such as a new one, has nothing to announce, and stays as it is, as does a state that is drained.

    `plain` is the switch rendered in service, `shut` the same rendered drained.

    Raises:
        DeviceError: FAB9122, the difference does not fit that text.
    """
    found, facts = dict(files), running.read_facts(nos, files).facts
    if not _name_sessions(facts):
        return found
    known = [file for file in files if file in plain]
    wanted = _compare_facts(nos, {f: plain[f] for f in known}, {f: shut[f] for f in known})
    if wanted and all(facts.get(path) == after for path, (_, after) in wanted.items()):
        return found
    for file in known:
        if plain[file] != shut[file]:
            text = patch_text(files[file], plain[file], shut[file])
            if text is None:
                raise _make_drain_error(name, f"its {file} has no such place")
            found[file] = text
    made = _compare_facts(nos, {f: files[f] for f in known}, {f: found[f] for f in known})
    now, planned = ({path: after for path, (_, after) in each.items()} for each in (made, wanted))
    if now != planned:
        raise _make_drain_error(name, "other facts would change than those of a drain")
    return found


def list_sessions(nos: str, files: Mapping[str, str]) -> frozenset[str]:
    """Return the neighbors to which some files configure sessions."""
    return _name_sessions(running.read_facts(nos, files).facts)


def _name_sessions(facts: Iterable[str]) -> frozenset[str]:
    return frozenset(first_key(path) for path in facts if path.startswith(_SESSION))


def _make_drain_error(name: str, why: str) -> DeviceError:
    remedy = "Drain it by hand and push with --no-drain, which accepts the loss of traffic."
    return DeviceError("FAB9122", f"{name} cannot be drained with its running configuration: {why}", remedy)


def _compare_facts(nos: str, before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    old, new = running.read_facts(nos, before).facts, running.read_facts(nos, after).facts
    both = ((path, old.get(path), new.get(path)) for path in old.keys() | new.keys())
    return {path: (was, now) for path, was, now in both if was != now}


def patch_text(text: str, old: str, new: str) -> str | None:
    """The text with the difference between `old` and `new` made in it; None where it has no single place for it."""
    lines = text.splitlines(keepends=True)
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    bare = [line.rstrip() for line in lines]
    edits: list[tuple[int, int, list[str]]] = []
    for start, end, replacement in _find_edits(before, after):
        place = _find_place(bare, [line.rstrip() for line in before], start, end)
        if place is None:
            return None
        edits.append((place, place + end - start, replacement))
    for start, end, replacement in sorted(edits, reverse=True, key=lambda edit: edit[0]):
        lines[start:end] = replacement
    return "".join(lines)


def _find_edits(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, list[str]]]:
    """Ranges of `before` and what replaces them; equal beginnings and ends are taken off first."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(head + i1, head + i2, list(new[j1:j2])) for tag, i1, i2, j1, j2 in steps if tag != "equal"]


def _find_place(lines: Sequence[str], before: Sequence[str], start: int, end: int) -> int | None:
    """Return where the range of `before` stands in `lines`: by as much of its surroundings as finds a single place.

    Surroundings that stand several times in both, as many times, find it by their order.
    """
    same: int | None = None
    for above in range(_CONTEXT, -1, -1):
        for below in range(_CONTEXT, -1, -1):
            if not above and not below and start == end:
                continue
            first = max(0, start - above)
            wanted = list(before[first : end + below])
            places = _find_matches(lines, wanted)
            if len(places) == 1:
                return places[0] + start - first
            if same is None and places:
                known = _find_matches(before, wanted)
                same = places[known.index(first)] + start - first if len(known) == len(places) else None
    return same


def _find_matches(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    size = len(block)
    places = (at for at in range(len(lines) - size + 1) if lines[at] == block[0])
    return [at for at in places if list(lines[at : at + size]) == block]
