"""The state that fabricc keeps about trees in a folder of the user; nothing from a repository gets there.

Records, ledgers and patches decide what a build leaves alone and which files it moves, so they are trusted only where
nobody else can write: `$XDG_STATE_HOME/fabricc`, by default `~/.local/state/fabricc`, with access for its owner only.
Without such a folder everything works, but each build is a whole build.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from fabricc.base.foreign import files
from fabricc.base.foreign.git_index import is_above_home

_OUT = "out"


def state_of(out: Path, *, make: bool = False) -> Path | None:
    """The folder with what is remembered of the trees in `out`; None where there is none, or none to be trusted.

    Args:
        out: the folder of the trees, by which it goes once links are resolved.
        make: make it where it is missing, and drop what is remembered of folders that are gone.
    """
    if (home := state_home()) is None:
        return None
    trees = home / "fabricc" / "trees"
    try:
        if holds_state_folder(home, files.clone_of(out / _OUT) or out):
            return None
        real = os.path.realpath(out)
        folder = trees / hashlib.sha256(os.fsencode(real)).hexdigest()[:32]
        if make and not folder.is_dir():
            for each in (trees.parent, trees, folder):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / _OUT).write_bytes(os.fsencode(real))
            _remove_stale_states(trees)
        return folder if all(is_private(each) for each in (trees.parent, trees, folder)) else None
    except (OSError, ValueError):  # no name that a folder can have
        return None


def state_home() -> Path | None:
    """Return where programs keep state by the XDG Base Directory Specification, which ignores relative paths."""
    folder = os.environ.get("XDG_STATE_HOME", "")
    home = folder if os.path.isabs(folder) else os.path.expanduser("~/.local/state")  # noqa: PTH111, PTH117
    return Path(home) if os.path.isabs(home) else None  # noqa: PTH117


def holds_state_folder(home: Path, root: Path) -> bool:
    """Return whether a folder or repository holds the state's folder and may have brought it.

    A repository of the user's home holds it as well, and did not bring it.
    """
    return not is_above_home(root) and Path(os.path.realpath(home)).is_relative_to(os.path.realpath(root))


def is_private(folder: Path) -> bool:
    """Return whether a path is a folder of this user's, no link, that nobody else may open.

    Raises:
        OSError: it is not there.
    """
    entry = folder.lstat()
    return S_ISDIR(entry.st_mode) and entry.st_uid == os.geteuid() and not entry.st_mode & 0o077


def patch_of(target: Path, *, make: bool = False) -> Path | None:
    """Return the record of a tree's patch, see `patch`; None where there can be none."""
    state = state_of(target.parent, make=make)
    return state / f"{target.name}.patch" if state and target.name else None


def has_pending(target: Path) -> bool:
    """Return whether a build of this user is moving files into the tree, or ended while it did."""
    try:
        record = patch_of(Path(os.path.realpath(target)))
        return record is not None and record.is_file()
    except (OSError, ValueError):  # no name that a folder can have
        return False


def _remove_stale_states(trees: Path) -> None:
    import shutil  # a build that finds nothing to do needs none

    with os.scandir(trees) as entries:
        for entry in entries:
            with suppress(OSError):
                if not os.path.lexists((Path(entry.path) / _OUT).read_bytes()):
                    shutil.rmtree(entry.path)
