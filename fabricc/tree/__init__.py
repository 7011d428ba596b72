"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from fabricc.tree.swap import EmitError

__all__ = ["EmitError"]
