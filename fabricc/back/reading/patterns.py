"""Expand a pattern into all its forms: optional parts and choices written out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
