"""The user's file of real GUIDs: `name: GUID`, checked against the devices that the plan has."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.fabric.yaml_text import compose

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from yaml.nodes import Node

_PLAIN = re.compile(r"(?:0[xX])?([0-9a-fA-F]{16})")
_SEPARATED = re.compile(r"[0-9a-fA-F]{2,4}(?:[:-][0-9a-fA-F]{2,4}){3,7}")
_MULTICAST_OCTET = 0x01  # EUI-64: the first bit of the first octet marks a group
MAX_BYTES = 8 * 1024 * 1024


_FORM = "Its lines read `su001-tor1a: 0x506b4b0300a1b2c3`; names are those of plan/lids.csv."


def read_guids(
    path: Path, known: Collection[str], asked_at: Position | None = None
) -> tuple[Mapping[str, int], list[Diagnostic]]:
    """GUID by name, and everything wrong with the file (FAB5813); never raises for what it holds.

    Args:
        path: a mapping `name: GUID`; a GUID is written as ibstat prints it, or with colons as labels have it.
        known: names that the plan has: switches (`su001-tor1a`) and host ports (`su001-host01/rail0`).
        asked_at: where the spec names the file.
    """
    start = Position(str(path), 1, 1)
    try:
        root = compose(files.read(path, limit=MAX_BYTES).decode("utf-8-sig"))
    except files.TooLargeError as error:
        return {}, [_wrong(f"the file of GUIDs is {error.strerror}", start, _FORM)]
    except OSError as error:
        message = f"the file of GUIDs cannot be read: {path}: {error.strerror}"
        return {}, [_wrong(message, asked_at or start, "Its path counts from the spec's folder.")]
    except (UnicodeDecodeError, yaml.YAMLError):
        return {}, [_wrong("the file of GUIDs is not YAML", start, _FORM)]
    if root is None:
        return {}, []
    if not isinstance(root, yaml.MappingNode):
        return {}, [_wrong("the file of GUIDs is no mapping `name: GUID`", start, _FORM)]
    return _entries(root.value, str(path), known)


def _entries(
    entries: list[tuple[Node, Node]], file: str, known: Collection[str]
) -> tuple[Mapping[str, int], list[Diagnostic]]:
    found: dict[str, int] = {}
    owners: dict[int, str] = {}
    problems: list[Diagnostic] = []
    for key, value in entries:
        at = Position(file, key.start_mark.line + 1, key.start_mark.column + 1)
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        guid = _guid(value.value) if isinstance(value, yaml.ScalarNode) else None
        if name not in known:
            problems.append(_wrong(f"the plan has no device {name[:60]!r}", at, _alike(name, known)))
        elif guid is None:
            problems.append(_wrong(f"{name}: not a GUID", at, "For example: 0x506b4b0300a1b2c3."))
        elif name in found:
            problems.append(_wrong(f"{name} stands twice", at, "Remove one of the lines."))
        elif (owner := owners.setdefault(guid, name)) != name:
            problems.append(_wrong(f"{name} has the GUID of {owner}", at, "Every port has its own."))
        else:
            found[name] = guid
    return found, problems


def _guid(text: str) -> int | None:
    """The number, or None for what is no unicast EUI-64."""
    if match := _PLAIN.fullmatch(text):
        digits = match[1]
    elif _SEPARATED.fullmatch(text):
        digits = re.sub("[:-]", "", text)
    else:
        return None
    guid = int(digits, 16) if len(digits) == 16 else 0
    return guid if guid and not (guid >> 56) & _MULTICAST_OCTET else None


def _alike(name: str, known: Collection[str]) -> str:
    near = [each for each in known if each[:1] == name[:1] and abs(len(each) - len(name)) < 3][:2000]
    close = get_close_matches(name[:60], near, 1)
    return f"Did you mean {close[0]}?" if close else "Names are those of plan/lids.csv."


def _wrong(message: str, at: Position, remedy: str = "") -> Diagnostic:
    return Diagnostic("FAB5813", Severity.ERROR, message, at, remedy)
