"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from fabricc.emit.failure import EmitError
from fabricc.emit.manifest import Manifest
from fabricc.emit.stage import Committed, Stage, Written

__all__ = ["Committed", "EmitError", "Manifest", "Stage", "Written"]
