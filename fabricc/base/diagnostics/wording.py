"""Format sentences, counts and ranges of numbers for people, the same in every output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def plural(count: int, noun: str) -> str:
    """`1 file`, `2,048 files`, `4 switches`."""
    ending = "" if count == 1 else "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count:,} {noun}{ending}"


def as_sentence(text: str) -> str:
    """Return a part of a sentence as a sentence; quoted text keeps its case, and an empty text stays empty."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else text


def join_words(words: Sequence[str], most: int, between: str = ", ") -> str:
    """`a, b and 7 more`: the first `most` of them."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return between.join(words[:most]) + more


def ranges(values: Iterable[int]) -> str:
    """`0-7, 9` for 0…7 and 9."""
    return ", ".join(split_ranges(values))


def split_ranges(values: Iterable[int]) -> list[str]:
    """`0-7` and `9` for 0…7 and 9."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return [str(low) if low == high else f"{low}-{high}" for low, high in runs]


def format_share(share: Fraction | float) -> str:
    """Format a share such as `93.75 %`, with at most two decimals.

    It is rounded down, so that a capacity is never overstated; a part never appears as all or nothing.
    """
    hundredths = int(share * 10_000)
    if hundredths >= 9999 and share < 1:
        return "over 99.99 %" if share * 10_000 > 9999 else "99.99 %"
    if not hundredths and share > 0:
        return "under 0.01 %"
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".") + " %"


def format_share_option(share: Fraction) -> str:
    """Format a share as an option on the command line, such as `75%`."""
    return f"{int(share * 10_000) / 100:.2f}".rstrip("0").rstrip(".") + "%"
