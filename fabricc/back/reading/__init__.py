"""The reader of all back ends: it matches lines, or nodes of a tree, against rows of patterns."""

from typing import Any
from warnings import warn

from fabricc.back.reading.reader import Reader, Topic
from fabricc.back.reading.rows import (
    Block,
    Captured,
    Each,
    Entry,
    Fact,
    Keep,
    Row,
    Silent,
    Types,
    block_rows,
)
from fabricc.back.reading.scope import Document, Scope, StoredValue
from fabricc.back.reading.tree import Node, Tree

__all__ = [
    "Block",
    "Captured",
    "Document",
    "Each",
    "Entry",
    "Fact",
    "Keep",
    "Node",
    "Reader",
    "Row",
    "Scope",
    "Silent",
    "StoredValue",
    "Topic",
    "Tree",
    "Types",
    "block_rows",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a class by its former name."""
    if name == "Said":
        warn("fabricc.back.reading.Said is now StoredValue", DeprecationWarning, stacklevel=2)
        return StoredValue
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
