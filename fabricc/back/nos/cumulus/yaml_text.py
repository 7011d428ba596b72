"""Nested mappings as the YAML that NVUE writes: keys in natural order, text quoted where YAML reads something else."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Tree: TypeAlias = "dict[str, Tree | tuple[str, ...] | str | int | float]"
"""A mapping of keys to mappings, lists of text, or scalars."""

_PLAIN = re.compile(r"(?:[A-Za-z0-9/._]|:(?=\S))[A-Za-z0-9/._:,+@=*^$(){}\[\]<>;!&|~\"'%?`#\\ -]*")
_OTHER_THAN_TEXT = re.compile(
    r"""(?ix) y|n|yes|no|on|off|true|false|null|none
    | [-+]?[0-9][0-9_]*(:[0-9_]+)*(\.[0-9_]*)?(e[-+]?[0-9]+)?
    | [-+]?\.[0-9_]+(e[-+]?[0-9]+)? | 0[xob][0-9a-f_]+ | [-+]?\.(inf|nan)
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(([t]|\s+)[0-9].*)?"""
)
_BREAKS_PLAIN = re.compile(r": |:$| #| $")
_DIGITS = re.compile(r"([0-9]+)")


def write(sections: Sequence[Mapping[str, Tree]]) -> str:
    """The text of a list of mappings, such as `[{"header": …}, {"set": …}]`."""
    lines: list[str] = []
    for section in sections:
        lead = "- "
        for key, tree in section.items():
            lines.append(f"{lead}{scalar(key)}:" + ("" if tree else " {}"))
            _write(tree, "    ", lines)
            lead = "  "
    return "\n".join(lines) + "\n"


def _write(tree: Tree, indent: str, lines: list[str]) -> None:
    for key in sorted(tree, key=natural) if len(tree) > 1 else tree:
        value = tree[key]
        if isinstance(value, tuple):
            lines.append(f"{indent}{scalar(key)}:")
            lines += [f"{indent}- {scalar(item)}" for item in value]
        elif not isinstance(value, dict):
            lines.append(f"{indent}{scalar(key)}: {scalar(value)}")
        elif value:
            lines.append(f"{indent}{scalar(key)}:")
            _write(value, indent + "  ", lines)
        else:
            lines.append(f"{indent}{scalar(key)}: {{}}")


@lru_cache(maxsize=16384)
def natural(key: str) -> tuple[str | int, ...]:
    """A sort key that puts `swp2` before `swp10`."""
    parts: list[str | int] = [*_DIGITS.split(key)]
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts)


def scalar(value: str | float) -> str:
    """A key or value: numbers bare, text plain where a YAML 1.1 or 1.2 loader reads the same text back, else quoted."""
    return _text(value) if isinstance(value, str) else repr(value)


@lru_cache(maxsize=16384)
def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _OTHER_THAN_TEXT.fullmatch(text) and not _BREAKS_PLAIN.search(text):
        return text
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
