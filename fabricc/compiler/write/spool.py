"""Text that comes in pieces, in any order, and is wanted in theirs: in memory while there is little, else in a file.

The rows of a table of 1,048,576 GPUs are as many bytes as all else that a build of it holds.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from fabricc.tree.swap import name_failures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_IN_MEMORY = 64 << 20  # bytes


class Spool:
    """The pieces of one text; `folder` is where its nameless file is made, None for the usual place of such."""

    def __init__(self, folder: Path | None) -> None:
        place = None if folder is None else str(folder)
        self._folder = place or tempfile.gettempdir()
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=place)  # noqa: SIM115 - closed with the spool
        self._places: dict[int, tuple[int, int]] = {}
        self._end = 0

    def put(self, number: int, text: str) -> None:
        """Store one piece.

        Raises:
            OSError: there is no room for it.
        """
        content = text.encode()
        with name_failures(self._folder):
            self._file.write(content)
        self._places[number] = self._end, len(content)
        self._end += len(content)

    def parts(self) -> Iterator[bytes]:
        """Yield the pieces in order of their numbers; no more are stored after this.

        Raises:
            OSError: they cannot be read.
        """
        for _, (at, size) in sorted(self._places.items()):
            self._file.seek(at)
            yield self._file.read(size)
