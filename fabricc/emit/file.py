"""Writing one file by itself: whole or not at all, and not when it says the same already."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.emit.failure import EmitError

if TYPE_CHECKING:
    from pathlib import Path

_NOTHING_LOST = "What stood there before is untouched."


def write_file(path: Path, content: bytes) -> bool:
    """Put `content` into a file in one step; whether that changed it. A symbolic link stays one, its target changes.

    Raises:
        EmitError: it cannot be written; what stood there before still does.
    """
    draft: Path | None = None
    try:
        target = path.resolve()
        if target.is_file() and target.read_bytes() == content:
            return False
        draft = target.with_name(f".{target.name}.{os.getpid()}.new")
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except OSError as error:
        if draft is not None:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise EmitError("FAB7001", f"cannot write {path}: {reason}", _NOTHING_LOST) from None
    return True
