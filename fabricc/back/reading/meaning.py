"""The meaning of the row at the end of a line, as a function of the line's captures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.reading.types import Entry, Fact, Keep

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.reading.types import Captured, Row, ValueRule
    from fabricc.fabric.facts import Value

    Captures = tuple[Captured, ...]
    Pairs = tuple[tuple[str, Value], ...]
    Entries = tuple[tuple[str, Value, Value], ...]
    States = tuple[Pairs, Pairs, Entries]
    Maker = Callable[[Captures, Captures], Captured]

_NUMBER = re.compile(r"\{(\d+)\}")


class Meaning(NamedTuple):
    """The meaning of a row.

    Attributes:
        outer: number of captures of the outer blocks before its own.
        slots: place of each capture of the pattern among those of the line, None in an omitted part.
        plain: whether all places are unchanged.
        first: number of the first capture that it needs.
        alone: the name of the only value that it keeps, its last capture; None for any other row.
        states: (own captures, all captures) -> facts, kept values and entries; None if the line does not fit.
    """

    row: Row
    outer: int
    slots: tuple[int | None, ...]
    plain: bool
    first: int
    alone: str | None
    states: Callable[[Captures, Captures], States | None]

    def capture(self, captures: Captures) -> States | None:
        """Return facts, kept values and entries of a line from all captures of it and of the outer blocks."""
        if self.plain:
            return self.states(captures[self.outer :], captures)
        own = tuple([None if at is None else captures[self.outer + at] for at in self.slots])
        return self.states(own, captures[: self.outer] + own)


def meaning_of(row: Row, outer: int, slots: tuple[int | None, ...]) -> Meaning:
    """Return the meaning of a row behind `outer` captures of outer blocks, with its own at `slots`."""
    plain = slots == tuple(range(len(slots)))
    if isinstance(row, Fact | Keep):
        states, texts = _compile_pairs(row, len(slots)), _fact_texts(row)
    elif isinstance(row, Entry):
        states, texts = _compile_entries(row, len(slots)), [row.value]
    else:
        states, texts = _state_nothing, []
    named = [int(number) for text in texts if isinstance(text, str) for number in _NUMBER.findall(text)]
    alone = row[1] if isinstance(row, Keep) and row.value is None and plain and slots else None
    alone = alone if isinstance(alone, str) and "{" not in alone else None
    return Meaning(row, outer, slots, plain, min([outer, *named]), alone, states)


def _fact_texts(row: Fact | Keep) -> list[ValueRule]:
    if callable(row[1]):
        return []
    return [row[1], row.value] if isinstance(row[1], str) else [*row[1], *row[1].values()]


def _state_nothing(_own: Captures, _whole: Captures) -> States:
    return (), (), ()


def _compile_pairs(row: Fact | Keep, count: int) -> Callable[[Captures, Captures], States | None]:
    stated = row[1]
    fact = isinstance(row, Fact)
    if callable(stated):
        function = stated

        def make_states(own: Captures, _whole: Captures) -> States | None:
            found = function(*own)
            if found is None:
                return None
            pairs = tuple([(name, value) for name, value in found.items() if value is not None])
            return (pairs, (), ()) if fact else ((), pairs, ())

        return make_states
    requested = {stated: row.value} if isinstance(stated, str) else stated
    makers = [
        (_compile_text(name), _compile_value(value, count), callable(value))
        for name, value in requested.items()
    ]

    def fill_states(own: Captures, whole: Captures) -> States | None:
        pairs = []
        for name, maker, strict in makers:
            value = maker(own, whole)
            if value is not None:
                pairs.append((name if isinstance(name, str) else str(name(own, whole)), value))
            elif strict:
                return None
        found: Pairs = tuple(pairs)  # type: ignore[arg-type]
        return (found, (), ()) if fact else ((), found, ())

    return fill_states


def _compile_entries(row: Entry, count: int) -> Callable[[Captures, Captures], States | None]:
    maker, table = _compile_value(row.value, count), row.table

    def fill_entries(own: Captures, whole: Captures) -> States | None:
        value = maker(own, whole)
        if value is None:
            return None
        keys = own[0] if isinstance(own[0], tuple) else own[:1]
        return (), (), tuple([(table, key, value) for key in keys])  # type: ignore[misc]

    return fill_entries


def _compile_text(template: str) -> str | Maker:
    """Return a text, or a function that fills it in."""
    return _compile_value(template, 0) if "{" in template else template


def _compile_value(rule: ValueRule, count: int) -> Maker:
    """Return a function that computes a value from the `count` own captures of the row, or from all captures."""
    if rule is None:
        return (lambda own, _: own[-1]) if count else (lambda _own, _: "true")
    if callable(rule):
        return lambda own, _: rule(*own)
    if isinstance(rule, int) or "{" not in rule:
        return lambda _own, _: rule
    if alone := _NUMBER.fullmatch(rule):
        at = int(alone[1])
        return lambda _, whole: whole[at]
    return lambda _, whole: _NUMBER.sub(lambda number: str(whole[int(number[1])]), rule)
