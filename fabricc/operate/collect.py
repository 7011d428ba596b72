"""Collect the files that an audit reads from live switches, read-only, through the drivers of push and verify.

Switches are words of a command line, or files that list them by system.
"""

from __future__ import annotations

import re
import threading
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.reader import STRICT, parse_document
from fabricc.base.foreign import files
from fabricc.base.foreign.formats import json_document
from fabricc.base.values import dataclass
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.connection import Connection, open_connection
from fabricc.operate.devices.fanout import PATIENCE_S, for_each
from fabricc.operate.devices.identity import LOOK, Identity, identity_of
from fabricc.operate.devices.login import Device
from fabricc.operate.drivers.bundle import unpack_bundle
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.operate.devices.access import Access


GETTERS = {"lldp.json": "get_lldp_neighbors_detail", "facts.json": "get_facts"}
"""File -> the getter whose answer it has."""
_OWNER = 0o700


@dataclass(slots=True)
class CollectedSwitch:
    """The files and failures of one switch.

    Attributes:
        files: written below its folder.
        failures: why nothing could be read; `lacks`: why single files could not be read.
    """

    files: list[str] = field(default_factory=list)
    failures: list[Diagnostic] = field(default_factory=list)
    lacks: list[Diagnostic] = field(default_factory=list)


def collect(
    devices: Mapping[str, Device],
    access: Access,
    folder: Path,
    parallel: int,
    progress: Callable[[str, int, int], None],
) -> dict[str, CollectedSwitch]:
    """Collect each switch into a folder of its name; earlier files there are replaced one by one.

    Configurations contain everything that the switch prints, such as hashes of passwords. A new folder is therefore
    private to its owner.

    Raises:
        EmitError: the folder cannot be written.
    """
    claims = Claims(devices)
    if not folder.exists():
        make_folder(folder)
        folder.chmod(_OWNER)
    return for_each(
        devices,
        lambda name: _fetch_switch(devices[name], access, folder / name, claims),
        parallel,
        partial(progress, "asking"),
        patience_s=PATIENCE_S,
    )


class Claims:
    """The device at the address of each target, so that no device is collected under two names."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names of all targets."""
        self._names = frozenset(names)
        self._known: dict[str, Identity] = {}
        self._turn = threading.Lock()

    def require(self, name: str, identity: Identity) -> None:
        """Refuse a device that is another target.

        Raises:
            DeviceError: FAB9106, it has another target's name; FAB9107, it was collected under another one.
        """
        if other := identity.matching_name(self._names - {name}, name):
            message = f"{name}: another switch answers at its address: it is {other} ({identity.words})"
            raise DeviceError("FAB9106", message, LOOK)
        with self._turn:
            for other, known in self._known.items():
                if known.same_device(identity):
                    message = f"the addresses of {other} and {name} lead to one device ({identity.words})"
                    raise DeviceError("FAB9107", message, LOOK)
            self._known[name] = identity


def _fetch_switch(device: Device, access: Access, folder: Path, claims: Claims) -> CollectedSwitch:
    fetched = CollectedSwitch()
    try:
        with open_connection(device, access) as live:
            texts = dict(_read_configurations(device, live))
            facts = back_ends.load(device.nos).read(texts).facts
            claims.require(device.name, identity_of(live.stated_identity(), facts))
            for file, getter in GETTERS.items():
                try:
                    if (answer := live.getter(getter)) is not None:
                        texts[file] = json_document(answer)
                except DeviceError as error:
                    found = error.diagnostic
                    finding = Diagnostic(found.code, Severity.WARNING, found.message, None, found.help)
                    fetched.lacks.append(finding)
                if live.silent:
                    break
        make_folder(folder)
        for file, text in texts.items():
            write_file(folder / file, text.encode("utf-8", "surrogateescape"))
            fetched.files.append(file)
    except (DeviceError, EmitError) as error:
        fetched.failures.append(error.diagnostic)
    return fetched


def _read_configurations(device: Device, live: Connection) -> dict[str, str]:
    """Return the running configuration by file, with other saved files that the driver returns.

    Raises:
        DeviceError: FAB9105, it cannot be read; FAB9523, it is no configuration of one switch.
    """
    alone = getattr(getattr(back_ends.load(device.nos), "found", None), "FILE", "running-config.txt")
    found = live.configurations()
    try:
        beside = unpack_bundle(found.get("startup") or "", alone)
        return {
            **{name: text for name, text in beside.items() if text},
            **unpack_bundle(found["running"], alone),
        }
    except ValueError as error:
        raise DeviceError(
            "FAB9523", f"{device.name}: its configuration looks like several files: {error}"
        ) from None


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
        raise DeviceError("FAB9520", f"{word!r} is not a target, and there is no file of that name", _FORM)
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
        raise DeviceError("FAB9520", f"{path} is not a mapping of systems", _FORM)
    for system, entries in stated.items():
        named = entries.items() if isinstance(entries, dict) else ((each, each) for each in _as_list(entries))
        for name, address in named:
            if not isinstance(address, str) or not isinstance(name, str):
                message = f"{path}: a target of {system} is not text"
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
        raise DeviceError("FAB9520", f"{where!r}: {name!r} is not a name of a switch", _FORM)
    return Device(name, "switch", nos, release, address)
