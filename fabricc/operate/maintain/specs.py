"""Write the specs of a cluster with devices drained and with them in service again, each in a folder that builds."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.compiled import compile_spec
from fabricc.front.spec.canonical import edit_text
from fabricc.front.spec.document import format_path
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.base.documents.document import KeyPath
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.capacity.outage import End, Outage
    from fabricc.fabric.capacity.wiring import Wiring

_LARGEST = 256 << 20


@dataclass(frozen=True, slots=True)
class DrainKeys:
    """Keys of the spec that must be true during maintenance: path -> current value."""

    keys: Mapping[KeyPath, bool]

    @property
    def lines(self) -> list[str]:
        """The keys as lines of a spec."""
        return [f"{format_path(path)}: true" for path in self.keys]


def find_drain_keys(target: Outage, wirings: Mapping[str, Wiring]) -> DrainKeys:
    """Return the keys that drain switches and shut down links; hosts have no such key."""
    keys: dict[KeyPath, bool] = {}
    for network, wiring in wirings.items():
        root: tuple[str, ...] = ("networks", network, "overrides") if network else ("overrides",)
        changes = wiring.fabric.changes
        for name in (each for each in wiring.switches if each in target.gone):
            keys[(*root, name, "drain")] = name in changes and changes[name].drained
        for device, port in _switch_ends(target, wiring):
            known = changes[device].ports.get(port) if device in changes else None
            keys[(*root, device, "ports", port, "shutdown")] = bool(known and known[2])
    return DrainKeys(keys)


def _switch_ends(target: Outage, wiring: Wiring) -> list[End]:
    """Return one switch end of each link; setting it there shuts down both ends."""
    found: dict[frozenset[End], End] = {}
    for end in sorted(end for end in target.ends if end[0] in wiring.switches):
        if (far := wiring.far_end(end)) is not None:
            found.setdefault(frozenset({end, far}), end)
    return list(found.values())


def edit_spec(text: str, file: str, changes: Mapping[KeyPath, object]) -> str:
    """Set and remove keys of a spec at any depth; return the text unchanged where nothing changes.

    `changes`: path -> value as written in the spec, or a mapping of such values; None removes the key.
    """
    known = parse_yaml(text, file).positions
    found: dict[KeyPath, object] = {}
    for path, value in changes.items():
        if value is None:
            if path in known:
                found[path] = None
            continue
        depth = next(
            length for length in range(len(path), 0, -1) if length == 1 or path[: length - 1] in known
        )
        for key in reversed(path[depth:]):
            value = {key: value}
        found[path[:depth]] = _merge_values(found.get(path[:depth]), value)
    return edit_text(text, file, found) if found else text


def _merge_values(one: object, other: object) -> object:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: _merge_values(one.get(key), value) for key, value in other.items()}}


def write_spec(
    compiled: Compiled, text: str, folder: Path, more: Mapping[str, str] = MappingProxyType({})
) -> Compiled:
    """Write a spec with another text to a folder, with its lock and all files that it reads, and compile it there.

    `more`: name -> text of files to write next to it.

    Raises:
        FindingsError: it does not compile.
        EmitError: the folder cannot be written.
    """
    top = _find_common_folder([*compiled.inputs, str(compiled.path.resolve())])
    spec = folder / compiled.path.resolve().relative_to(top)
    for name in compiled.inputs:
        source = Path(name)
        if source != compiled.path.resolve() and source != compiled.lock_path.resolve() and source.exists():
            place = folder / source.relative_to(top)
            make_folder(place.parent)
            write_file(place, files.read(source, limit=_LARGEST))
    make_folder(spec.parent)
    for name, content in more.items():
        make_folder((place := spec.parent / name).parent)
        write_file(place, content.encode())
    write_file(spec, text.encode())
    write_file(spec.parent / compiled.lock_path.name, compiled.lock_text.encode())
    found = compile_spec(spec)
    if not found.sound:
        raise FindingsError.of(found.diagnostics, found.sources)
    return found


def _find_common_folder(paths: Iterable[str]) -> Path:
    return Path(os.path.commonpath([str(Path(path).parent) for path in paths]))


def prove_spec(compiled: Compiled) -> None:
    """Run every check of a build on a compiled spec without writing the tree.

    Raises:
        FindingsError: it does not hold.
    """
    if wrong := [one for one in compiled.proof() if one.severity is Severity.ERROR]:
        raise FindingsError.of(wrong, compiled.sources)


def require_drain_keys(found: Compiled, wanted: DrainKeys) -> None:
    """Check that the compiled spec applies the keys: an anchor or a merge may define the same key twice.

    Raises:
        FindingsError: FAB9408, it does not have them.
    """
    parts = {"": found, **found.networks}
    for path in wanted.keys:
        network = str(path[1]) if path[0] == "networks" else ""
        rest = path[3:] if network else path[1:]
        change = parts[network].fabric.changes.get(str(rest[0]))
        ports = change.ports if change else {}
        done = change is not None and (change.drained if len(rest) == 2 else ports[str(rest[2])][2])
        if not done:
            message = "the keys that drain the devices cannot be written into this spec"
            raise FindingsError("FAB9408", message, f"Write them by hand: {', '.join(wanted.lines)}.")
