"""The reader of all back ends: it matches lines, or nodes of a tree, against rows of patterns."""

from fabricc.back.reading.reader import Reader, Topic
from fabricc.back.reading.rows import Block, Each, Entry, Fact, Keep, Row, Silent, block_rows
from fabricc.back.reading.scope import Document, Said, Scope
from fabricc.back.reading.tree import Node, Tree
from fabricc.back.reading.types import Captured, Types

__all__ = [
    "Block", "Captured", "Document", "Each", "Entry", "Fact", "Keep", "Node", "Reader", "Row", "Said", "Scope",
    "Silent", "Topic", "Tree", "Types", "block_rows",
]  # fmt: skip
