"""An explanation as plain values, for JSON."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricc.review.explain.model import Explanation


def plain(explanation: Explanation) -> dict[str, Any]:
    """The explanation as mappings, lists, texts and numbers, by the names of its fields."""
    found: dict[str, Any] = _plain(explanation)
    return found


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        return (
            {name: _plain(getattr(value, name)) for name in names}
            if names
            else [_plain(item) for item in value]
        )
    return value
