"""Parse the switches to collect: words of a command line, or files that list them by system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Position
from fabricc.base.documents.reader import STRICT, parse_document
from fabricc.base.foreign import files
from fabricc.operate.devices.device import Device
from fabricc.operate.devices.failure import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LARGEST = 8 << 20  # bytes
_NAME = re.compile(r"[A-Za-z0-9_][\w.:-]{0,252}")
_FORM = "Write SYSTEM:ADDRESS, SYSTEM:NAME=ADDRESS, or a file of `SYSTEM: {NAME: ADDRESS}` or `SYSTEM: [ADDRESS]`."


def parse_targets(words: Iterable[str]) -> dict[str, Device]:
    """Return the switches by name, in the order given; a switch without a name is named by its address.

    Raises:
        DeviceError: FAB9520, a word or a file that is not understood; FAB9521, no such system; FAB9522, a name twice.
    """
    found: dict[str, Device] = {}
    for word in words:
        for device in _in_file(Path(word)) if Path(word).is_file() else (_parse_word(word),):
            if device.name in found:
                message = f"two targets have the name {device.name}"
                raise DeviceError("FAB9522", message, "Give each its own name.")
            found[device.name] = device
    return found


def _parse_word(word: str) -> Device:
    system, colon, rest = word.partition(":")
    if not colon or not rest:
        raise DeviceError("FAB9520", f"{word!r} is no target, and no file of that name is there", _FORM)
    name, _, address = rest.rpartition("=")
    return _make_device(system, name or address, address, word)


def _in_file(path: Path) -> Iterator[Device]:
    """Yield the targets of a file.

    Raises:
        DeviceError: FAB9520, it cannot be read or has another form.
    """
    try:
        document = parse_document(files.read(path, limit=_LARGEST).decode(), str(path), STRICT)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DeviceError("FAB9520", f"cannot read {path}: {reason}", _FORM) from None
    if document.diagnostics:
        raise DeviceError.of(document.diagnostics)
    stated = document.value
    if not isinstance(stated, dict):
        raise DeviceError("FAB9520", f"{path} is no mapping of systems", _FORM)
    for system, entries in stated.items():
        named = entries.items() if isinstance(entries, dict) else ((each, each) for each in _as_list(entries))
        for name, address in named:
            if not isinstance(address, str) or not isinstance(name, str):
                message = f"{path}: a target of {system} is no text"
                raise DeviceError("FAB9520", message, _FORM, Position(str(path), 1))
            yield _make_device(str(system), name, address, f"{path}: {name}")


def _as_list(entries: object) -> list[object]:
    return entries if isinstance(entries, list) else [entries]


def _make_device(system: str, name: str, address: str, where: str) -> Device:
    nos, _, release = system.partition("-")
    if nos not in back_ends.list_names():
        known = f"Systems: {', '.join(back_ends.list_names())}."
        raise DeviceError("FAB9521", f"{where!r}: there is no system {system!r}", known)
    if not _NAME.fullmatch(name) or not address:
        raise DeviceError("FAB9520", f"{where!r}: {name!r} is no name of a switch", _FORM)
    return Device(name, "switch", nos, release, address)
