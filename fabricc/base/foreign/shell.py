"""Write names of files and other words into commands that people paste into a shell."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from fabricc.base.foreign.text import is_shown

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = frozenset(range(0x20, 0x7F)) - {ord("'"), ord("\\")}


def shell_word(text: str) -> str:
    """Return a word for a POSIX shell that stands for this text, in characters that everybody sees.

    A word with a line feed, another control character or one that changes the direction of the line is in `$'…'`
    (POSIX.1-2024), which is one line of ASCII.
    """
    if all(map(is_shown, text)):
        return shlex.quote(text)
    raw = text.encode("utf-8", "surrogateescape" if _is_name(text) else "replace")
    return "$'" + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in raw) + "'"


def shell_path(path: Path | str) -> str:
    """Return such a word for a file or folder, which no command takes for an option."""
    text = str(path)
    return shell_word(f"./{text}" if text.startswith("-") else text)


def _is_name(text: str) -> bool:
    """Return whether a file can have this name: Python represents bytes that are no UTF-8 as some lone surrogates."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
