"""Writing the output tree: deterministic, atomic, incremental, one build at a time."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabricc.base.diagnostics import FindingsError

__all__ = ["EmitError"]


REMEDIES = {
    errno.ENOSPC: "Free some space; the last good tree is untouched.",
    errno.EDQUOT: "The disk quota is used up; the last good tree is untouched.",
    errno.EFBIG: "The file is larger than this account may write; the last good tree is untouched.",
    errno.EACCES: "Give this account write permission there, or choose another folder with `-o`.",
    errno.EPERM: "Give this account write permission there, or choose another folder with `-o`.",
    errno.EROFS: "That file system is mounted read-only; choose another folder with `-o`.",
    errno.ENOTDIR: "A file is where a folder is needed; move it away or choose another folder with `-o`.",
}


class EmitError(FindingsError):
    """The tree cannot be written."""

    @classmethod
    def from_os(cls, error: OSError, what: str = "write") -> EmitError:
        """Return the error of a system call as FAB7001."""
        place = f" {error.filename!s}" if error.filename else ""
        reason = error.strerror or str(error)
        remedy = REMEDIES.get(error.errno or 0, "The last good tree is untouched.")
        return cls("FAB7001", f"cannot {what}{place}: {reason}", remedy)


@contextmanager
def name_failures(path: str | Path) -> Iterator[None]:
    """Add a file to errors that name none: the kernel reports a full disk while writing by a number alone.

    Raises:
        OSError: as it was, with the name of a file.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
