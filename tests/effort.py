"""Effort in calls instead of seconds: the same number on every machine, whatever else runs there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable


def count_calls(function: Callable[[], Any]) -> int:
    """Return how many functions, in Python and in C, a call of `function` calls in turn."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    function()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def scale_examples(most: int) -> int:
    """So many examples of a property in `make test-all`; in the ordinary run 15 %, as by default there."""
    return most * settings().max_examples // 100
