"""YAML scalars: what a plain word means, and what no text of a spec may hold."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import yaml

from fabricc.base.documents.document import clip

MAX_DIGITS = 18
MAX_TEXT = 4096

# Line-breaking, invisible and text-reordering characters have no place in a spec, comments included.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class RefusedError(ValueError):
    """A scalar that the file cannot hold."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.help = help


def resolve_scalar(text: str) -> Any:
    """Return the value of a plain scalar.

    Raises:
        RefusedError: not a finite number, or a number of more digits than any quantity of a spec has.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if NOT_FINITE.fullmatch(text):
        message = f"{text} is not a number that can be planned with"
        raise RefusedError("FAB0014", message, "Write a finite number.")
    if INTEGER.fullmatch(text) or FLOAT.fullmatch(text):
        digits = sum(character.isdigit() for character in text)
        number: float = math.inf
        if digits <= MAX_DIGITS:
            number = int(text) if INTEGER.fullmatch(text) else float(text)
        if math.isinf(number):
            message = f"the number {clip(text)} is beyond every quantity of a spec ({digits} digits)"
            raise RefusedError("FAB0013", message, "Check it, or put it in quotes if it is a name.")
        return number
    return text


def check_text(text: str) -> None:
    """Refuse a text that is too long or could break a line.

    Raises:
        RefusedError: it is, or it could.
    """
    if len(text) > MAX_TEXT:
        message = f"a text of {len(text):,} characters; the longest allowed has {MAX_TEXT:,}"
        raise RefusedError("FAB0020", message, "Shorten it.")
    if text.isprintable():
        return
    if (bad := re.search("[\t\n\r]", text) or FORBIDDEN.search(text)) is not None:
        what = "a line break or tab" if bad[0] in "\t\n\r" else f"the control character U+{ord(bad[0]):04X}"
        message = f"the text {clip(repr(text))} holds {what}"
        raise RefusedError("FAB0005", message, "Write the value on one line.")


def resolve_1_1(text: str, code: str) -> Any:
    """Return the value of a plain scalar by YAML 1.1, where `yes` and `off` are truth values; dates are text.

    Raises:
        RefusedError: `code`, a number that is not decimal, not finite, or of more than 18 characters.
    """
    kind = _build_resolver().resolve(yaml.ScalarNode, text, (True, False)).removeprefix("tag:yaml.org,2002:")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int":
        if not text.lstrip("+-").isdecimal() or len(text) > MAX_DIGITS:
            raise RefusedError(code, f"{text[:40]!r} is no plain decimal number", "Write plain digits.")
        return int(text)
    if kind == "float":
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RefusedError(code, f"{text[:40]!r} is no finite number", "Write a plain number.")
        return number
    return text


@cache
def _build_resolver() -> Any:
    return yaml.resolver.Resolver()
