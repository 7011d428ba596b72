"""Keep the files of a build in memory until all are proved, instead of in a stage folder."""

from __future__ import annotations

from dataclasses import field

from fabricc.base.values import dataclass
from fabricc.tree.names import checked_path
from fabricc.tree.stage import Written


@dataclass(slots=True)
class Held:
    """Takes files as a stage does; `files`: path -> bytes and mode."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def put(self, path: str, content: bytes, *, mode: int = 0o644, sha256: str = "") -> Written:
        """Keep one file.

        Raises:
            EmitError: FAB7004, the path is not a plain one.
        """
        self.files[checked_path(path)] = content, mode
        return Written(path, sha256, changed=True, edited=False)
