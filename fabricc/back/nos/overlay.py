"""Overlays: content of the user's own merged into a switch's rendered files, and known again when they are read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.overlay_text import OverlayError, compile_starred, merge_text, strip_text, trace_overlay
from fabricc.base.documents.composer import FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.model import Overlay

__all__ = ["OverlayError", "check_text", "merge_overlay", "stated_lines", "strip_overlay", "target_file"]

_YAML = (".yaml", ".yml")
_TRAILING = re.compile(r"(?<=[^,]),$|(?<=[{\[])[}\]],?$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""Control characters, line separators, and blanks that no switch takes for one."""


_ESCAPED = re.compile(
    r"\\u(?:00(?:[01][0-9a-f]|7f|[89][0-9a-f])|200[bef]|202[89a-e]|206[0-9]|fef[fF]|d[89a-f]..)|\\x(?:[01].|7f|[89].)|\\U000e....",
    re.IGNORECASE,
)
"""Escapes of JSON and YAML for characters that a text of a spec may not have."""


def target_file(files: Iterable[str], into: str) -> str:
    """Return the file that an overlay goes into.

    Raises:
        OverlayError: there is no such file, or there are several and none is named.
    """
    known = sorted(files)
    if into in known:
        return into
    if not into and len(known) == 1:
        return known[0]
    if into:
        raise OverlayError(1, f"these switches have no file {into!r}", f"They have: {', '.join(known)}.")
    message = "these switches have several files, and `into` is missing"
    raise OverlayError(1, message, f"They have: {', '.join(known)}.")


def check_text(into: str, text: str) -> None:
    """Refuse what no file of that name can hold.

    Raises:
        OverlayError: control characters, also bidirectional or escaped ones, tabs, or not the JSON or YAML of the file.
    """
    if found := _CONTROL.search(text) or FORBIDDEN.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise OverlayError(line, f"the character {found[0]!r} is not allowed", "Indent with spaces.")
    if found := _ESCAPED.search(text) if into.endswith((".json", *_YAML)) else None:
        line = text.count("\n", 0, found.start()) + 1
        raise OverlayError(line, f"the escaped character {found[0]} is not allowed", "Write printable text.")
    if into.endswith(".json"):
        _load_json(text)
    elif into.endswith(_YAML):
        _check_yaml(text)


def _check_yaml(text: str) -> None:
    import yaml

    try:
        yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise OverlayError(line, f"this is not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise OverlayError(1, f"this is not YAML: {error}") from None
    except RecursionError:
        raise OverlayError(1, "this is nested too deeply") from None
    except (ValueError, AttributeError) as error:  # a number or a date that is none, such as 2026-13-01
        raise OverlayError(1, f"a value has an unexpected type: {error}") from None


def _load_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise OverlayError(error.lineno, f"this is not JSON: {error.msg}") from None
    except RecursionError:
        raise OverlayError(1, "this is nested too deeply") from None
    if not isinstance(value, dict):
        raise OverlayError(1, "this is no JSON object")
    return value


def merge_overlay(files: Mapping[str, str], overlay: Overlay) -> dict[str, str]:
    """Return the files with the overlay in one of them, or without what it takes away.

    Raises:
        OverlayError: it does not fit.
    """
    if overlay.removes:
        return strip_overlay(files, overlay)[0]
    into = target_file(files, overlay.into)
    check_text(into, overlay.text)
    if into.endswith(".json"):
        text = _merge_json(files[into], overlay.text)
    else:
        text = merge_text(files[into], overlay.text, keyed=into.endswith(_YAML))
    return {**files, into: text}


def strip_overlay(files: Mapping[str, str], overlay: Overlay) -> tuple[dict[str, str], list[int]]:
    """The files without what the overlay takes away from one of them, and its own lines that find nothing to take.

    Raises:
        OverlayError: it does not fit.
    """
    into = target_file(files, overlay.into)
    check_text(into, overlay.text)
    if into.endswith(".json"):
        value = _load_json(files[into])
        idle = [_line_of(overlay.text, key) for key in _take_away([value], _load_json(overlay.text))]
        return {**files, into: _dump_json(value, files[into])}, idle
    text, idle = strip_text(files[into], overlay.text, keyed=into.endswith(_YAML))
    return {**files, into: text}, idle


def _take_away(values: Sequence[dict[str, Any]], less: Mapping[str, Any]) -> Iterator[str]:
    """Take away keys that are null there, items of lists and equal values; yield keys that find nothing to take."""
    for key, part in less.items():
        found = [
            (value, name)
            for value in values
            for name in _matching_keys(value, key)
            if _has_part(value[name], part)
        ]
        if not found:
            yield key
        elif isinstance(part, dict):
            yield from _take_away([value[name] for value, name in found], part)
        for value, name in found:
            if isinstance(part, list):
                value[name] = [item for item in value[name] if item not in part]
            elif not isinstance(part, dict):
                del value[name]


def _matching_keys(value: Mapping[str, Any], key: str) -> list[str]:
    """Return the keys that a key of an overlay matches; `*` matches anything."""
    if "*" not in key:
        return [key] if key in value else []
    shape = compile_starred(key, ".")
    return [known for known in value if shape.fullmatch(known)]


def _has_part(value: Any, part: Any) -> bool:
    """Return whether something is there to be taken away."""
    if isinstance(part, list):
        return isinstance(value, list) and any(item in value for item in part)
    return part is None or value == part or (isinstance(part, dict) and isinstance(value, dict))


def _merge_json(text: str, overlay: str) -> str:
    """Return the object with what the overlay adds; laid out as it was, keys in order of their first appearance."""
    value = _load_json(text)
    _add_values(value, _load_json(overlay), overlay)
    return _dump_json(value, text)


def _dump_json(value: dict[str, Any], text: str) -> str:
    """Return the object, indented as the text is that it was."""
    second = text.split("\n", 2)[1] if "\n" in text else ""
    indent = len(second) - len(second.lstrip()) or 4
    return json.dumps(value, indent=indent) + "\n"


def _add_values(value: dict[str, Any], more: Mapping[str, Any], text: str) -> None:
    for key, part in more.items():
        if "*" in key and isinstance(part, dict):
            if not (chosen := _matching_keys(value, key)):
                raise _misfit_error(text, key, "no key of the file matches it")
        else:
            chosen = [key]
        for name in chosen:
            known = value.setdefault(
                name, {} if isinstance(part, dict) else [] if isinstance(part, list) else part
            )
            if isinstance(known, dict) and isinstance(part, dict):
                _add_values(known, part, text)
            elif isinstance(known, list) and isinstance(part, list):
                known += [item for item in part if item not in known]
            elif known != part or type(known) is not type(part):
                raise _misfit_error(text, key, f"the file has {json.dumps(known)[:60]} there")


def _misfit_error(text: str, key: str, why: str) -> OverlayError:
    remedy = "An overlay only adds lines. Change planned values in the spec."
    return OverlayError(_line_of(text, key), f"{key!r} cannot be merged: {why}", remedy)


def _line_of(text: str, key: str) -> int:
    return text.count("\n", 0, max(text.find(json.dumps(key)), 0)) + 1


def stated_lines(files: Mapping[str, str], overlay: Overlay) -> tuple[str, set[int], list[tuple[int, str]]]:
    """Return the file that an overlay is in, the lines that it states there, and what the file lacks of it.

    Raises:
        OverlayError: the overlay itself cannot be read, or there is no such file.
    """
    into = target_file(files, overlay.into)
    text, wanted = files[into], overlay.text
    if into.endswith(".json"):
        wanted = _TRAILING.sub("", json.dumps(_load_json(wanted), indent=4))
        text = _TRAILING.sub("", text)
    return into, *trace_overlay(text, wanted)
