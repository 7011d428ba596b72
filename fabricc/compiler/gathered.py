"""What a build has staged so far, file by file."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.jobs.files import executable
from fabricc.base.values import dataclass
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.compiler.apart import Held
    from fabricc.tree.patch import Patch
    from fabricc.tree.stage import Stage, Written


@dataclass(slots=True)
class Gathered:
    """Files of the tree to be.

    Attributes:
        sums: path -> SHA-256 (hex).
        edited: paths that somebody changed by hand since the last build.
        changed: how many differ from the present tree.
    """

    sums: dict[str, str] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    changed: int = 0

    def take(self, written: Iterable[Written]) -> None:
        """Take in what was staged.

        Raises:
            EmitError: FAB7004, a path that is there already.
        """
        for path, digest, changed, edited in written:
            if path in self.sums:
                raise EmitError("FAB7004", f"two files of one build have the name {path}")
            self.sums[path] = digest
            self.changed += changed
            if edited:
                self.edited.append(path)


def put_text(stage: Stage | Patch | Held, path: str, text: str) -> Written:
    """Stage a file that belongs to no device."""
    return stage.put(path, text.encode(), mode=0o755 if executable(path, text) else 0o644)
