"""Recognize whole numbers in text that others wrote.

`str.isdigit` accepts `²`, which `int` rejects, and digits of other scripts; `int` rejects more than 4,300 digits.
"""

from __future__ import annotations

MOST_DIGITS = 18
"""Digits of the longest number that a file, a device or a name states; each one fits into 64 bits."""


def is_number(text: str) -> bool:
    """Return whether a text is a whole number of ASCII digits that `int` takes."""
    return text.isdigit() and text.isascii() and len(text) <= MOST_DIGITS


def whole_number(text: str) -> int | None:
    """Return the number that a text is; None where it is none, or has more than 18 digits."""
    return int(text) if is_number(text) else None
