"""The reader of all back ends: lines, or a tree of another syntax, and rows of patterns that say what they mean."""

from fabricc.back.nos.reading.reader import Reader, Topic
from fabricc.back.nos.reading.rows import Block, Each, Entry, Fact, Keep, Row, Silent
from fabricc.back.nos.reading.scope import Document, Said, Scope
from fabricc.back.nos.reading.tree import Node, Tree
from fabricc.back.nos.reading.types import Captured, Types

__all__ = [
    "Block", "Captured", "Document", "Each", "Entry", "Fact", "Keep", "Node", "Reader", "Row", "Said", "Scope",
    "Silent", "Topic", "Tree", "Types",
]  # fmt: skip
