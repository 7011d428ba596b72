"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from fabricc.tree.errors import EmitError

__all__ = ["EmitError"]
