"""Read the user's file of real GUIDs (`name: GUID`) and check it against the planned devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import Rules
from fabricc.base.documents.reader import parse_document
from fabricc.base.foreign import files
from fabricc.catalog.library import suggestion_remedy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from fabricc.base.documents.document import Document

_PLAIN = re.compile(r"(?:0[xX])?([0-9a-fA-F]{16})")
_SEPARATED = re.compile(r"[0-9a-fA-F]{2,4}(?:[:-][0-9a-fA-F]{2,4}){3,7}")
_MULTICAST_OCTET = 0x01  # EUI-64: the first bit of the first octet marks a group
MAX_BYTES = 8 * 1024 * 1024


_FORM = "Its lines read `su001-tor1a: 0x506b4b0300a1b2c3`; names are those of plan/lids.csv."


def read_guids(
    path: Path, known: Collection[str], named_at: Position | None = None, folder: Path | None = None
) -> tuple[Mapping[str, int], list[Diagnostic]]:
    """Return GUID by name, and every problem in the file (FAB5813); never raise for its content.

    Args:
        path: a mapping `name: GUID`; a GUID is written as ibstat prints it, or with colons as labels have it.
        known: names that the plan has: switches (`su001-tor1a`) and host ports (`su001-host01/rail0`).
        named_at: where the spec names the file.
        folder: that of the spec, out of which no link may lead; None for that of the file.
    """
    start = Position(str(path), 1, 1)
    try:
        document = parse_document(
            files.read(path, root=folder and files.root_below(folder, path), limit=MAX_BYTES).decode(
                "utf-8-sig"
            ),
            str(path),
            _RULES,
        )
    except files.TooLargeError as error:
        return {}, [_guid_error(f"the file of GUIDs is {error.strerror}", start, _FORM)]
    except OSError as error:
        message = f"the file of GUIDs cannot be read: {path}: {error.strerror}"
        return {}, [_guid_error(message, named_at or start, "Its path counts from the spec's folder.")]
    except UnicodeDecodeError:
        return {}, [_not_yaml(None, "", str(path))]
    if not document.usable or document.value is None:
        return {}, list(document.diagnostics)
    if not isinstance(document.value, dict):
        return {}, [_guid_error("the file of GUIDs is no mapping `name: GUID`", start, _FORM)]
    found, problems = _read_entries(document, known)
    return found, sorted([*document.diagnostics, *problems], key=lambda each: each.position or start)


def _read_entries(document: Document, known: Collection[str]) -> tuple[Mapping[str, int], list[Diagnostic]]:
    found: dict[str, int] = {}
    owners: dict[int, str] = {}
    problems: list[Diagnostic] = []
    for name, value in document.value.items():
        at = document.key_position((name,))
        guid = _parse_guid(value) if isinstance(value, str) else None
        if name not in known:
            problems.append(
                _guid_error(f"the plan has no device {name[:60]!r}", at, _suggest_device(name, known))
            )
        elif guid is None:
            problems.append(_guid_error(f"{name}: not a GUID", at, "For example: 0x506b4b0300a1b2c3."))
        elif (owner := owners.setdefault(guid, name)) != name:
            problems.append(_guid_error(f"{name} has the GUID of {owner}", at, "Every port has its own."))
        else:
            found[name] = guid
    return found, problems


def _parse_guid(text: str) -> int | None:
    """Return the number, or None for text that is not a unicast EUI-64."""
    if match := _PLAIN.fullmatch(text):
        digits = match[1]
    elif _SEPARATED.fullmatch(text):
        digits = re.sub("[:-]", "", text)
    else:
        return None
    guid = int(digits, 16) if len(digits) == 16 else 0
    return guid if guid and not (guid >> 56) & _MULTICAST_OCTET else None


def _suggest_device(name: str, known: Collection[str]) -> str:
    near = [each for each in known if each[:1] == name[:1] and abs(len(each) - len(name)) < 3][:2000]
    return suggestion_remedy(name[:60], near, "Names are those of plan/lids.csv.", 1)


def _guid_error(message: str, at: Position, remedy: str = "") -> Diagnostic:
    return Diagnostic("FAB5813", Severity.ERROR, message, at, remedy)


def _not_yaml(_: Exception | None, __: str, file: str) -> Diagnostic:
    return _guid_error("the file of GUIDs is not YAML", Position(file, 1, 1), _FORM)


_NOT_YAML = ("FAB5813", "the file of GUIDs is not YAML", _FORM)
_KEY = ("FAB5813", "the plan has no device {shown!r}", "Names are those of plan/lids.csv.")
_RULES = Rules(
    words={
        "twice": ("FAB5813", "{shown} appears twice", "Remove one of the lines."),
        "key": _KEY,
        "collection as key": ("FAB5813", "the plan has no device ''", "Names are those of plan/lids.csv."),
    }
    | dict.fromkeys(("too deep", "too many", "tag", "second document", "alias"), _NOT_YAML),
    plain=str,
    check=lambda _: None,
    syntax=_not_yaml,
    longest_key=128,
    max_depth=32,
    max_nodes=1_000_000,
    max_aliased_nodes=0,
    max_problems=100,
)
"""Everything is text: `50600000000000e5` is a GUID and no number."""
