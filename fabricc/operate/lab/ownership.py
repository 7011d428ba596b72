"""Record which folders are state folders of labs, outside of them: a file inside can come from anybody."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.operate.lab import state
from fabricc.operate.lab.failure import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWNED = ".owned"
"""Below the default folder: a file for each state folder that `lab up` took, gone after a reboot like the labs."""
_FORMAT = 1
_OTHERS_MAY_WRITE = 0o022
_FRESH = "Name a folder that does not exist yet: `fabricc lab up` creates it."


def claim(folder: Path) -> None:
    """Take a new or an empty folder as the state folder of a lab, and record that.

    Raises:
        LabError: FAB0086, the folder is a link, holds other files, or another user can write in it.
    """
    if is_own(folder) and os.path.lexists(folder / state.RECORD):
        return
    made = not os.path.lexists(folder)
    if made:
        folder.mkdir(mode=0o755, parents=True)
    else:
        _require_empty(folder)
    found = folder.lstat()
    record = _record(folder)
    record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.write_json(record, {"format": _FORMAT, "folder": [found.st_dev, found.st_ino], "made": made})


def _require_empty(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise LabError("FAB0086", f"the state folder {folder} is a link or a file", _FRESH)
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
        raise LabError("FAB0086", f"another user can write in the state folder {folder}", _FRESH)
    if names := sorted({path.name for path in folder.iterdir()} - {state.LOCK}):
        message = f"the state folder {folder} is not empty: it holds {', '.join(names[:3])}"
        raise LabError("FAB0086", message, _FRESH)


def is_own(folder: Path) -> bool:
    """Return whether `lab up` recorded this very folder."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _read(folder).get("folder") == [found.st_dev, found.st_ino]


def require_own(folder: Path) -> None:
    """Reject a state folder that `lab up` did not record since this machine started.

    Raises:
        LabError: FAB0086, somebody else wrote the folder; FAB8006, there is none.
    """
    if not os.path.lexists(folder / state.RECORD):
        raise LabError("FAB8006", f"no lab in {folder}", "Boot one with `fabricc lab up SPEC`.")
    if not is_own(folder):
        message = f"`lab up` of this machine did not make the lab in {folder}, or the machine has restarted"
        raise LabError("FAB0086", message, "Remove the folder yourself, and boot the lab again.")


def release(folder: Path) -> None:
    """Remove what the lab wrote to its folder, and the folder if `lab up` made it and nothing else is in it."""
    made = _read(folder).get("made") is True
    for path in _entries(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if made:
        with suppress(OSError):
            folder.rmdir()
    _record(folder).unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield the entries of a state folder that a lab writes; its record and its lock are last."""
    for name in (*state.FOLDERS, state.FAULTS, state.SUPERVISOR, state.SUPERVISOR_LOG, state.RECORD):
        yield state.draft(folder / name)
        yield folder / name
    yield folder / state.LOCK


def _record(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:32]
    return state.DEFAULT / _OWNED / f"{name}.json"


def _read(folder: Path) -> dict[str, object]:
    try:
        found = json.loads(_record(folder).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
