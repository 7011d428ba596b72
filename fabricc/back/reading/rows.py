"""Rows of a back end's syntax: their patterns, the types of their captures, and the effect of a row on a line.

A pattern consists of words of the text. `<integer>` captures a word of that type,
`<integer>...` one or more of them, `<rest>` the rest of the line, `<below>` the same in a tree: the words of each
statement below. `[prefer]` is optional; `(tx-queue|uc-tx-queue)` is a choice.
Captures are numbered from 0 in order, those of outer blocks first.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Value

Captured = Value | tuple[Value, ...] | None
Captures = tuple[Captured, ...]
Pairs = tuple[tuple[str, Value], ...]
Entries = tuple[tuple[str, Value, Value], ...]
States = tuple[Pairs, Pairs, Entries]
Maker = Callable[[Captures, Captures], Captured]
ValueRule = Value | Callable[..., Value | None] | None
StatementRule = str | Mapping[str, ValueRule] | Callable[..., Mapping[str, Value | None] | None]
Type = Callable[[str], Captured]
Types = Mapping[str, Type | Mapping[str, Captured]]

_LONGEST_ASN = 11
_LENGTHS4 = frozenset(map(str, range(33)))
_LENGTHS6 = frozenset(map(str, range(129)))
_MOST = 4096
"""Members of the longest list that a range stands for."""
_SPAN = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_RANGE = re.compile(r"(\d+)-(\d+)")
_PORT = re.compile(r"([A-Za-z][A-Za-z-]*)?((?:\d+/)*)(\d{1,6})(?:-((?:\d+/)*)(\d{1,6}))?")


def parse_word(text: str) -> str:
    """Accept any word."""
    return text


def parse_integer(text: str) -> int | None:
    """Parse a decimal number of up to 18 digits."""
    return int(text) if is_number(text) else None


def parse_in_range(low: int, high: int, text: str) -> int | None:
    """Parse a decimal number in a range, both ends included."""
    number = parse_integer(text)
    return number if number is not None and low <= number <= high else None


def parse_asn(text: str) -> int | None:
    """Parse an AS number in plain or dotted notation (RFC 5396)."""
    if len(text) > _LONGEST_ASN:
        return None
    high, dot, low = text.partition(".")
    first, second = parse_integer(high), parse_integer(low)
    if not dot:
        return first
    return None if first is None or second is None else first << 16 | second


def _parse_address(family: int, text: str) -> str | None:
    try:
        socket.inet_pton(family, text)
    except (OSError, ValueError):
        return None
    return text


def parse_ipv4(text: str) -> str | None:
    """Parse an IPv4 address."""
    return _parse_address(socket.AF_INET, text)


def parse_ipv6(text: str) -> str | None:
    """Parse an IPv6 address."""
    return _parse_address(socket.AF_INET6, text)


def parse_address(text: str) -> str | None:
    """Parse an IPv4 or IPv6 address."""
    return parse_ipv6(text) if ":" in text else parse_ipv4(text)


def parse_prefix4(text: str) -> str | None:
    """Parse an IPv4 address with the length of its prefix."""
    host, _, length = text.partition("/")
    return text if length in _LENGTHS4 and _parse_address(socket.AF_INET, host) else None


def parse_prefix6(text: str) -> str | None:
    """Parse an IPv6 address with the length of its prefix."""
    host, _, length = text.partition("/")
    return text if length in _LENGTHS6 and _parse_address(socket.AF_INET6, host) else None


def parse_prefix(text: str) -> str | None:
    """Parse an address with the length of its prefix."""
    return parse_prefix6(text) if ":" in text else parse_prefix4(text)


def parse_numbers(text: str) -> tuple[int, ...] | None:
    """Parse numbers and ranges: `1-4,7` is 1, 2, 3, 4, 7."""
    found: list[int] = []
    for part in text.split(","):
        span = _SPAN.fullmatch(part)
        if not span:
            return None
        first = int(span[1])
        last = int(span[2] or first)
        if not 0 <= last - first < _MOST - len(found):
            return None
        found += range(first, last + 1)
    return tuple(found)


@lru_cache(maxsize=4096)
def parse_ports(text: str) -> str | tuple[str, ...] | None:
    """Parse a port, or several: `Ethernet1/1-2,4` is `Ethernet1/1`, `Ethernet1/2`, `Ethernet1/4`."""
    if "," not in text and not _RANGE.search(text):
        return text
    found: list[str] = []
    kind = place = ""
    for part in text.split(","):
        span = _PORT.fullmatch(part)
        if not span:
            return None
        if span[1]:
            kind, place = span[1], span[2]
        elif span[2]:
            place = span[2]
        first, last = int(span[3]), int(span[5] or span[3])
        same_place = span[4] in (None, "", place)
        if not kind or not same_place or not 0 <= last - first < _MOST - len(found):
            return None
        found += [f"{kind}{place}{number}" for number in range(first, last + 1)]
    return tuple(found)


TYPES: Mapping[str, Type] = {
    "word": parse_word,
    "integer": parse_integer,
    "asn": parse_asn,
    "address": parse_address,
    "address4": parse_ipv4,
    "address6": parse_ipv6,
    "prefix": parse_prefix,
    "prefix4": parse_prefix4,
    "prefix6": parse_prefix6,
    "numbers": parse_numbers,
    "ports": parse_ports,
}
"""Types of all patterns; a back end adds others, such as a table of its words."""


def type_of(name: str, own: Types) -> Type:
    """Return the type of a capture: the back end's own, one of `TYPES`, a range `64-9214`, or a choice `in|out`.

    Raises:
        ValueError: there is no such type.
    """
    found = own.get(name) or TYPES.get(name)
    if found is not None:
        return found if callable(found) else found.get
    if span := _RANGE.fullmatch(name):
        return partial(parse_in_range, int(span[1]), int(span[2]))
    if "|" in name:
        return {choice: choice for choice in name.split("|")}.get
    raise ValueError(f"no type <{name}>")


class Fact(NamedTuple):
    """A line that states facts by itself.

    Attributes:
        pattern: the line.
        path: of the fact, with `{0}` for the first capture; or paths with the value of each; or a function of the row's
            own captures that gives paths and values, or None where it is not such a line.
        value: the fact's; without it the row's last capture, or `true` if it has none. `{0}` is a capture itself,
            `{0} {1}` text; a function makes it of the row's own captures, or None where it is not such a line.
            A capture that is missing (in brackets) states nothing.
    """

    pattern: str
    path: StatementRule
    value: ValueRule = None


class Keep(NamedTuple):
    """A line whose value waits in its block's scope under a name, until the topic's `finish` makes facts of it.

    `name` and `value` are as `path` and `value` of a `Fact`.
    """

    pattern: str
    name: StatementRule
    value: ValueRule = None


class Entry(NamedTuple):
    """A line of a table in its block's scope: the row's first capture is the key, several keys where it is several.

    `value` is as that of a `Fact`.
    """

    pattern: str
    table: str
    value: ValueRule = None


class Silent(NamedTuple):
    """A known line that states nothing, such as an explicit default of the system."""

    pattern: str


class Block(NamedTuple):
    """A line with lines below it.

    Attributes:
        pattern: the line, without brackets around captures.
        scope: name of the scope that it opens, one for each value of its last capture; "" for no scope.
        rows: the lines below, or a function that makes them at the first use of the block.
        once: whether a device states each value in it once; a line that repeats one belongs elsewhere and is listed.
    """

    pattern: str
    scope: str
    rows: Rows
    once: bool = False


class Each(NamedTuple):
    """Lines with the same beginning, whose last capture names the thing that each line describes.

    Same as `Block`, and used together with one if a system accepts both forms.
    """

    pattern: str
    scope: str
    rows: Rows
    once: bool = False


Row = Fact | Keep | Entry | Silent | Block | Each
Rows = Sequence[Row] | Callable[[], Sequence[Row]]


def words_of_rows(rows: Iterable[Row]) -> frozenset[str]:
    """Return the words that rows and the rows of their blocks read, but captures."""
    found = set[str]()
    for row in rows:
        found.update(_PLAIN_WORD.findall(_CAPTURE.sub(" ", row.pattern)))
        if isinstance(row, Block | Each):
            found |= words_of_rows(block_rows(row.rows))
    return frozenset(found)


_CAPTURE = re.compile(r"<[^>|]*>")
"""A capture of words that no row names."""
_PLAIN_WORD = re.compile(r"[A-Za-z][\w.-]*")


def word_variants(word: str) -> Iterator[str]:
    """Yield the words that differ from one by one letter, or by two neighboring letters in the other order."""
    letters = "abcdefghijklmnopqrstuvwxyz-_"
    for at in range(len(word) + 1):
        start, rest = word[:at], word[at:]
        yield from (f"{start}{letter}{rest}" for letter in letters)
        if rest:
            yield start + rest[1:]
            yield from (f"{start}{letter}{rest[1:]}" for letter in letters)
        if len(rest) > 1:
            yield f"{start}{rest[1]}{rest[0]}{rest[2:]}"


def block_rows(rows: Rows) -> Sequence[Row]:
    """Return the lines of a block."""
    return rows() if callable(rows) else rows


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
