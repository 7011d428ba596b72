"""Texts of host files: templates with `{{ name }}` placeholders and nothing else to evaluate."""

from __future__ import annotations

import re
from functools import cache

from fabricc.base.installation import folder

_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*")


@cache
def template(name: str) -> str:
    """The text of `templates/hosts/<name>`."""
    return (folder("templates") / "hosts" / name).read_text(encoding="utf-8")


def fill(file: str, /, **values: str | int) -> str:
    """The template with its placeholders replaced.

    Raises:
        KeyError: the template names a value that is not given.
    """
    return fill_text(template(file), **values)


def fill_text(text: str, /, **values: str | int) -> str:
    """The text with its placeholders replaced.

    Raises:
        KeyError: it names a value that is not given.
    """
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def word(text: str) -> str:
    """The text itself, proven to need no quoting in any host file.

    Raises:
        ValueError: it has a character that some host file would take for syntax; `gaps` reports such names.
    """
    if not _WORD.fullmatch(text):
        raise ValueError(f"not usable as a name in host files: {text!r}")
    return text


def is_word(text: str) -> bool:
    """Whether `word` takes the text."""
    return _WORD.fullmatch(text) is not None
