"""Edit keys of a spec, write it to a folder that builds, compile, prove and review it."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign import files
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.front.spec.canonical import edit_text
from fabricc.review.diff.inputs import compare_specs, spec_side
from fabricc.review.diff.run import compare_sides
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.base.documents.document import KeyPath
    from fabricc.review.diff.model import Review

_LARGEST = 256 << 20


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


def review_variant(before: Compiled, after: Compiled, labels: tuple[str, str]) -> Review:
    """Review the change from one compiled spec to another as `diff` does; the labels name the two sides."""
    base, head = labels
    context = compare_specs(before, after, after.path.name)
    return compare_sides(spec_side(base, before), spec_side(head, after, before), context)


def prove_spec(compiled: Compiled) -> None:
    """Run every check of a build on a compiled spec without writing the tree.

    Raises:
        FindingsError: it does not hold.
    """
    if wrong := [one for one in compiled.proof() if one.severity is Severity.ERROR]:
        raise FindingsError.of(wrong, compiled.sources)
