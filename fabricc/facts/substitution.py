"""Texts with placeholders for coordinates: the substitution of `build`, `check` and `audit`.

Readers do not interpret coordinates, so a device whose files equal those of another one except for them states the same
facts with its own coordinates in their places. `compiler/prove` finds coordinates in the plan, `audit` in the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    import re

Pick = Callable[[Sequence[str]], tuple[str, ...]]
"""Takes values by their numbers."""


def item_picker(numbers: Sequence[int]) -> Pick:
    """Return a function that picks values by these numbers."""
    return itemgetter(*numbers) if len(numbers) > 1 else lambda values: tuple([values[at] for at in numbers])


@dataclass(slots=True)
class Blank:
    """A text with placeholders: the fixed parts in every second place.

    Attributes:
        letters: the number of each placeholder, in order; `pick`: picks the values by these numbers.
    """

    pieces: list[str]
    letters: list[int]
    pick: Pick = field(compare=False)

    def fill_in(self, values: Sequence[str]) -> str:
        """Return the text with values in place of the placeholders."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        pieces = self.pieces.copy()
        pieces[1::2] = self.pick(values)
        return "".join(pieces)


def find_placeholders(text: str, pattern: re.Pattern[str], numbers: Mapping[str, int]) -> Blank:
    """Return a text with those matches of a pattern, a single group, as placeholders that have a number."""
    pieces, letters = [""], []
    for piece in pattern.split(text):
        if piece in numbers:
            pieces += ("", "")
            letters.append(numbers[piece])
        else:
            pieces[-1] += piece
    return Blank(pieces, letters, item_picker(letters))


class BlankLines(NamedTuple):
    """Several such texts, a line each, and their places in a list."""

    places: list[int]
    lines: Blank

    def put(self, texts: list[Any], values: Sequence[str]) -> None:
        """Fill the texts in at their places."""
        if self.places:
            for at, text in zip(self.places, self.lines.fill_in(values).split("\n"), strict=True):
                texts[at] = text


def find_lines(texts: Sequence[object], pattern: re.Pattern[str], numbers: Mapping[str, int]) -> BlankLines:
    """Return the texts of a list that have placeholders."""
    places = [at for at, text in enumerate(texts) if isinstance(text, str) and pattern.search(text)]
    return BlankLines(
        places, find_placeholders("\n".join([str(texts[at]) for at in places]), pattern, numbers)
    )


def asn_placeholder(number: int) -> str:
    """Return an AS number that nothing uses, the larger the number."""
    return f"42949{number:05}"
