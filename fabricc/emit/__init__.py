"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from fabricc.emit.failure import EmitError
from fabricc.emit.manifest import Manifest
from fabricc.emit.patch import Patch
from fabricc.emit.stage import Committed, Stage, Written

__all__ = ["Committed", "EmitError", "Manifest", "Patch", "Stage", "Written"]
