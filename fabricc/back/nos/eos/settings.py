"""Rows of settings that matter little: the words of a line as a key, and what is left of the line as its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Fact, Keep, Row, Silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def setting_rows(path: str, outer: int, patterns: Iterable[str], about: str = "") -> tuple[Row, ...]:
    """Each pattern as a fact `path[words]` with its `<rest>` as the value, or `true`.

    Args:
        path: of the facts; captures of the blocks around may be in it.
        outer: how many captures those are.
        patterns: words, captures of a word, and at the end `<rest>`; or `...` for what is left as a part of the key, of
            lines that there may be several of.
        about: words in front of those of the line, such as the block that it is in; captures may be in them.
    """
    return tuple(Fact(*_name_row(path, outer, pattern, about)) for pattern in patterns)


def kept_rows(name: str, outer: int, patterns: Iterable[str], about: str = "") -> tuple[Row, ...]:
    """As `settings`, of values that wait in the scope of their block under `name[words]`."""
    return tuple(Keep(*_name_row(name, outer, pattern, about)) for pattern in patterns)


def default_rows(patterns: Iterable[str]) -> tuple[Row, ...]:
    """Return rows of explicit defaults: each pattern after `no` and after `default`."""
    return tuple(Silent(f"(no|default) {pattern}") for pattern in patterns)


def _name_row(path: str, outer: int, pattern: str, about: str) -> tuple[str, str, str | None]:
    """Return the pattern, the path or name, and the value of a row."""
    several = pattern.endswith("...")
    pattern = pattern.removesuffix("...") + "<rest>" * several
    words = " ".join([*about.split(), *_key_words(pattern.split(), outer, several=several)])
    return pattern, f"{path}[{words}]", None if pattern.endswith("<rest>") and not several else "true"


def _key_words(words: Iterable[str], outer: int, *, several: bool) -> Iterator[str]:
    for word in words:
        if word == "<rest>" and not several:
            return
        if word[0] == "<":
            yield f"{{{outer}}}"
            outer += 1
        else:
            yield word
