"""Record which access files the user trusts, by path and content, outside of the folder that a file came with.

An access file decides which secrets are sent to which addresses. A file from a clone or an archive was
written by somebody else. So the file of a spec is used only after `fabricc trust` has recorded it in the user's
state folder. A record holds the path, the SHA-256 of the file, and those of the files in its folder that decide which
keys are accepted (known hosts, authorities, signers). Trust ends when one of them changes or the folder is renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.foreign import files
from fabricc.base.foreign.shell import shell_path
from fabricc.operate.devices import DeviceError
from fabricc.tree import EmitError
from fabricc.tree.file import remove_file, write_file
from fabricc.tree.state import holds_state_folder, is_private, state_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FOLDER = "access"
_LARGEST = 1 << 20  # bytes of a record
_DIGITS = 32


def record_trust(path: Path, content: bytes, named: Iterable[Path]) -> None:
    """Record that the user trusts an access file as it is now.

    Args:
        path: the access file.
        content: its bytes, as they were read and shown to be valid.
        named: the files that decide which keys are accepted.

    Raises:
        DeviceError: FAB9172, it cannot be recorded.
    """
    entry = _entry_path(path)
    folder = _record_folder(entry)
    if folder is None:
        raise _trust_error(path, "there is no state folder outside of the folder that it came with")
    stated = {"path": str(entry), "digest": _digest_bytes(content), "files": _digest_files(path, named)}
    try:
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_private(each):
                raise _trust_error(path, f"{each} is not a folder that is yours alone (mode 0700)")
        write_file(folder / _record_name(entry), (json.dumps(stated) + "\n").encode())
    except EmitError as error:
        raise _trust_error(path, error.diagnostic.message) from None
    except OSError as error:
        raise _trust_error(path, f"{error.filename}: {error.strerror}") from None


def remove_trust(path: Path) -> bool:
    """Remove the record of an access file, which need not be there any more; return whether there was one.

    Raises:
        DeviceError: FAB9172, it cannot be removed.
    """
    entry = _entry_path(path)
    folder = _record_folder(entry)
    try:
        return folder is not None and folder.is_dir() and remove_file(folder / _record_name(entry))
    except EmitError as error:
        raise _trust_error(path, error.diagnostic.message) from None


def list_trusted() -> list[Path]:
    """Return the paths of all access files that have a record, sorted."""
    home = state_home()
    folder = home / "fabricc" / _FOLDER if home else None
    records: list[Path] = []
    with suppress(OSError):
        if folder and is_private(folder):
            records = list(folder.iterdir())
    return sorted(Path(str(stated.get("path"))) for record in records if (stated := _read_record(record)))


def require_trust(path: Path, content: bytes, named: Iterable[Path] | None = None) -> None:
    """Refuse an access file that the user has not trusted as it is.

    Args:
        path: the access file.
        content: its bytes; the same are parsed, so that no other file can take its place in between.
        named: the files that decide which keys are accepted; None before they are known.

    Raises:
        DeviceError: FAB9163.
    """
    if reason := _why_untrusted(path, content, named):
        command = f"fabricc trust {shell_path(path)}"
        help_ = f"Read where it sends which secrets, then run `{command}`, or name it with --access."
        raise DeviceError("FAB9163", f"{path} is not used: {reason}", help_)


def _why_untrusted(path: Path, content: bytes, named: Iterable[Path] | None) -> str:
    entry = _entry_path(path)
    folder = _record_folder(entry)
    stated: Mapping[str, Any] = {}
    with suppress(OSError):
        if folder is not None and is_private(folder.parent) and is_private(folder):
            stated = _read_record(folder / _record_name(entry))
    if stated.get("path") != str(entry):
        return "it is not trusted yet"
    if stated.get("digest") != _digest_bytes(content):
        return "it changed since it was trusted"
    if named is None:
        return ""
    known, now = stated.get("files", {}), _digest_files(path, named)
    changed = [name for name, digest in now.items() if known.get(name) != digest]
    return f"{changed[0]}, which it names, changed since it was trusted" if changed else ""


def _read_record(record: Path) -> Mapping[str, Any]:
    """Return what a record states, {} for none that can be read."""
    try:
        stated = json.loads(files.read_regular_file(record, limit=_LARGEST)[0])
    except (OSError, ValueError, RecursionError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _entry_path(path: Path) -> Path:
    """Return the path by which a file is known: its folder without links, and its own name there."""
    try:
        return Path(os.path.realpath(path.parent)) / path.name
    except (OSError, ValueError):  # no name that a folder can have
        raise _trust_error(path, "its name is not a valid file name") from None


def _record_folder(entry: Path) -> Path | None:
    """Return the folder of the records; None where what a file came with holds it, and may have brought it."""
    home = state_home()
    return (
        None
        if home is None or holds_state_folder(home, files.repository_of(entry))
        else home / "fabricc" / _FOLDER
    )


def _record_name(entry: Path) -> str:
    return hashlib.sha256(os.fsencode(entry)).hexdigest()[:_DIGITS]


def _digest_files(path: Path, named: Iterable[Path]) -> dict[str, str]:
    """Return the digests of the named files in the folder, or the repository, that an access file came with.

    Raises:
        DeviceError: FAB9101, one is behind a link that leads out.
    """
    root = files.repository_of(path)
    found = {}
    for each in named:
        place = Path(os.path.abspath(each))  # noqa: PTH100 - `Path.absolute` leaves `..`
        if place.is_relative_to(root):
            try:
                found[str(place)] = files.digest_of_file(place, root=root)
            except files.ForeignFileError as error:
                raise DeviceError("FAB9101", f"{path} names {place}: {error.strerror}") from None
            except OSError:
                found[str(place)] = ""  # not there yet: trust ends when it comes
    return found


def _digest_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _trust_error(path: Path, reason: str) -> DeviceError:
    help_ = "Set XDG_STATE_HOME to a folder of yours, or name the file with --access each time."
    return DeviceError("FAB9172", f"trust in {path} cannot be recorded: {reason}", help_)
