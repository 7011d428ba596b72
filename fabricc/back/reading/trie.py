"""Compile rows into a trie of words, with all forms of their patterns and the remembered effects of lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.reading.rows import (
    TYPES,
    Block,
    Captured,
    Each,
    Row,
    Rows,
    Type,
    Types,
    block_rows,
    meaning_of,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.back.reading.rows import Captures, Entries, Meaning, Pairs

    Key = str | tuple[str, ...]
    """A line, see `Node`."""
    from collections.abc import Iterator


_PIECE = re.compile(r"\[|\]|\(|\)|\||<[^>]*>(?:\.\.\.)?|[^\s\[\]()|<]+")


def pattern_forms(pattern: str) -> Iterator[list[tuple[str, int | None]]]:
    """Yield every form of a pattern: (word, None), (capture, its number), and ("", number) for an omitted capture."""
    pieces = _PIECE.findall(pattern)
    number = 0
    tokens: list[tuple[str, int | None]] = []
    for piece in pieces:
        capture = piece[0] == "<"
        tokens.append((piece, number if capture else None))
        number += capture
    if "[" in pieces or "(" in pieces:
        yield from _expand_tokens(tokens)
    else:
        yield tokens


def _expand_tokens(tokens: list[tuple[str, int | None]]) -> list[list[tuple[str, int | None]]]:
    ways: list[list[tuple[str, int | None]]] = [[]]
    at = 0
    while at < len(tokens):
        text = tokens[at][0]
        if text not in ("[", "("):
            ways = [[*way, tokens[at]] for way in ways]
            at += 1
            continue
        end, choices = _expand_group(tokens, at)
        options = [way for choice in choices for way in _expand_tokens(choice)]
        if text == "[":
            options.append([])
        numbers = [token for token in tokens[at:end] if token[1] is not None]
        options = [[*option, *(("", n) for t, n in numbers if (t, n) not in option)] for option in options]
        ways = [[*way, *option] for way in ways for option in options]
        at = end
    return ways


def _expand_group(
    tokens: list[tuple[str, int | None]], at: int
) -> tuple[int, list[list[tuple[str, int | None]]]]:
    """Return the end of the group that opens at a token, and its choices."""
    depth, choices = 0, [[]]  # type: tuple[int, list[list[tuple[str, int | None]]]]
    for end in range(at, len(tokens)):
        text = tokens[end][0]
        if text in ("[", "("):
            depth += 1
        elif text in ("]", ")"):
            depth -= 1
        if depth == 0:
            return end + 1, choices
        if text == "|" and depth == 1:
            choices.append([])
        elif end > at:
            choices[-1].append(tokens[end])
    raise ValueError("a bracket is not closed")


REST = "rest"
BELOW = "below"
_CAPTURE = re.compile(r"<([^>]*)>(\.\.\.)?")
_FIRST = re.compile(r"(?:([^\s\[\]()|<]+)|\(([^\s\[\]()<]+)\))(?!\S)")
"""A word, or a choice of words, with which a pattern begins."""


class State:
    """The state of matching a line after some words.

    Attributes:
        words: next word -> state; `later`: first word -> rows that begin with it, compiled at their first use, because
            most texts use few of them.
        captures: types of a next word -> state, in the order of the rows, None for any.
        rest: state after the rest of the line; `whole`: whether this includes the statements below in a tree.
        repeats: the type whose words may repeat here, as one capture.
        meaning: meaning of a line that ends here; `inner`: the block that it opens.
        each: first word of lines with the same beginning and one free word -> the thing that they describe.
        memo: lines seen here with their column, so that repeated lines are matched at most twice.
        leading: nodes seen here that lead to others, as `memo`.
        seen: lines seen here once; most never come again and are not worth remembering.
    """

    __slots__ = (
        "captures", "each", "inner", "later", "leading", "meaning", "memo", "repeats", "rest", "seen", "whole", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.words: dict[str, State] = {}
        self.later: dict[str, list[tuple[Row, Types, int]]] = {}
        self.captures: dict[str, tuple[Type | None, State]] = {}
        self.rest: State | None = None
        self.whole = False
        self.repeats: Type | None = None
        self.meaning: Meaning | None = None
        self.inner: InnerBlock | None = None
        self.each: dict[str, InnerBlock] = {}
        self.memo: dict[Key, tuple[int, Effect]] = {}
        self.leading: dict[Key, tuple[int, Effect]] = {}
        self.seen: set[Key] = set()

    def open_block(self, word: str) -> State | None:
        """Return the state after a first word; concurrent threads may each compile it, but none sees a partial state.

        Raises:
            ValueError: as of `compiled`.
        """
        rows = self.later.get(word)
        if rows is None:
            return self.words.get(word)
        fresh = State()
        for row, types, outer in rows:
            for way in pattern_forms(row.pattern):
                if _first_token(way) == (word, None):
                    _add_row(fresh, row, way, types, outer)
        following = fresh.words[word]
        if word in fresh.each and _takes_any(following):
            self.each = {**self.each, word: fresh.each[word]}
        self.words[word] = following
        self.later.pop(word, None)
        return following


class InnerBlock:
    """A block: the state in which the lines below begin, and their scope.

    Its rows are compiled at the first use.

    Attributes:
        scope: "" for that of the line itself; `key`: number of the capture that names the scope, -1 for none.
        once: whether each value in it occurs once.
        below, inline: whether the lines are below, or the rest of the same line, or either.
    """

    __slots__ = ("_rows", "_state", "below", "inline", "key", "once", "scope")

    def __init__(self, block: Block | Each, key: int) -> None:
        self._state: State | None = None
        self._rows: list[tuple[Rows, Types, int]] = []
        self.scope = block.scope
        self.key = key
        self.once = block.once
        self.below = self.inline = False

    def add(self, rows: Rows, types: Types, captures: int) -> None:
        """Add rows of the lines below, behind so many captures."""
        self._rows.append((rows, types, captures))

    @property
    def state(self) -> State:
        """Return the state in which the lines below begin; concurrent threads may each compile it, none sees a part.

        Raises:
            ValueError: as of `compiled`.
        """
        if self._state is None:
            state = State()
            for rows, types, captures in self._rows:
                _add_all(state, block_rows(rows), types, captures)
            self._state = state
        return self._state


class Match(NamedTuple):
    """A line that a row matches.

    Attributes:
        state: final state; `captures`: its own.
        inners: the blocks that it is in or opens, from the outermost.
        meaning: its further meaning.
    """

    state: State
    captures: Captures
    inners: tuple[InnerBlock, ...]
    meaning: Meaning | None = None


class Effect(NamedTuple):
    """The effect of a line, its captures filled in.

    Attributes:
        match: None for a line that no row matches.
        opens: the scopes that it is in or opens: (name, key, whether each value in it occurs once).
        facts, keeps: (path or name, value); `entries`: (table, key, value).
        late: whether captures of outer blocks are used, so that each such line must be evaluated.
        plain: whether it only keeps values in its own scope, as most lines do.
    """

    match: Match | None
    opens: tuple[tuple[str, Captured, bool], ...] = ()
    facts: Pairs = ()
    keeps: Pairs = ()
    entries: Entries = ()
    late: bool = False
    plain: bool = False


def compile_rows(rows: Sequence[Row], types: Types) -> State:
    """Return the state in which a text begins.

    Raises:
        ValueError: a pattern is invalid, has an unknown type, or equals another; patterns that begin with a word or are
            in a block are checked at their first use.
    """
    root = State()
    _add_all(root, rows, types, 0)
    return root


def _add_all(root: State, rows: Sequence[Row], types: Types, outer: int) -> None:
    for row in rows:
        found = _FIRST.match(row.pattern)
        words = dict.fromkeys((found[1] or found[2]).split("|") if found else ())
        if not found:
            for way in pattern_forms(row.pattern):
                text, number = _first_token(way)
                if number is None:
                    words[text] = None
                else:
                    _add_row(root, row, way, types, outer)
        for word in words:
            root.later.setdefault(word, []).append((row, types, outer))


def _first_token(way: Sequence[tuple[str, int | None]]) -> tuple[str, int | None]:
    """Return the first word or capture of a line in a form of `alternatives`."""
    return next(token for token in way if token[0])


def _add_row(
    root: State, row: Row, tokens: Sequence[tuple[str, int | None]], types: Types, outer: int
) -> None:
    state, slots = _make_path(root, tokens, types)
    if isinstance(row, Block | Each):
        _open_block(state, row, types, outer + len(slots))
        first, *others = [text for text, _ in tokens]
        if state.inner and row.scope and first in root.words and others == ["<word>"]:
            root.each[first] = state.inner
    elif state.meaning is None:
        state.meaning = meaning_of(row, outer, slots)
    elif state.meaning.row is not row:
        raise ValueError(f"two rows have {row.pattern!r}")


def _takes_any(state: State) -> bool:
    """Return whether a next word is never one that a row names or that has a type."""
    return not state.words and len(state.captures) == 1 and state.rest is None


def _open_block(state: State, block: Block | Each, types: Types, captures: int) -> None:
    below = isinstance(block, Block)
    inner = state.inner
    if inner is None:
        inner = state.inner = InnerBlock(block, captures - 1 if "<" in block.pattern else -1)
    elif inner.scope != block.scope:
        raise ValueError(f"two blocks {block.pattern!r}")
    inner.below, inner.inline = inner.below or below, inner.inline or not below
    inner.add(block.rows, types, captures)


def _make_path(
    root: State, tokens: Sequence[tuple[str, int | None]], types: Types
) -> tuple[State, tuple[int | None, ...]]:
    """Return the state at the end of a pattern, which is created if missing, and the places of its captures."""
    state = root
    slots: dict[int, int | None] = {}
    for text, number in tokens:
        if number is None:
            following = state.words.get(text)
            if following is None:
                following = state.words[text] = State()
            state = following
        elif text:
            slots[number] = sum(at is not None for at in slots.values())
            state = _capture_state(state, text, types)
        else:
            slots[number] = None
    return state, tuple([slots[number] for number in sorted(slots)])


def _capture_state(state: State, text: str, types: Types) -> State:
    found = _CAPTURE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a capture")
    name, several = found.groups()
    if name in (REST, BELOW):
        state.rest = state.rest or State()
        state.rest.whole = state.rest.whole or name == BELOW
        return state.rest
    if text not in state.captures:
        kind = type_of(name, types)
        following = State()
        following.repeats = kind if several else None
        state.captures[text] = None if kind is TYPES["word"] and not several else kind, following
    return state.captures[text][1]
