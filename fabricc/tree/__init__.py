"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from fabricc.tree.failure import EmitError
from fabricc.tree.manifest import Manifest
from fabricc.tree.patch import Patch
from fabricc.tree.stage import Committed, Stage, Written

__all__ = ["Committed", "EmitError", "Manifest", "Patch", "Stage", "Written"]
