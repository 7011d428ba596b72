"""Decimal numbers in the files of a host, told from what only looks like one."""

from __future__ import annotations

_DIGITS = 18
"""The most that a number of these files has; longer ones stay text, as do digits of other scripts."""


def decimal(text: str) -> str | int:
    """The decimal integer that a text is, or the text itself when it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else text
