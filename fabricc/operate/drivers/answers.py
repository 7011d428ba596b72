"""Parse the answers of devices, and refuse those that are too large for this process."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from typing import Any

VALUES = 1_000_000
"""JSON values of one answer: counters of 512 ports have some 100,000. Our judgment; one takes up to 250 bytes."""
ROUTE_VALUES = 4_000_000
"""The same of tables of routes: 10,000 prefixes with 64 next hops each have 2,500,000."""
_LARGE = 100_000
_ONE_AT_A_TIME = threading.Lock()
"""Held while a large answer is parsed, so that many of them do not come at once."""
_SHOWN = 1000


class AnswerError(ValueError):
    """An answer that is not of the requested form; its text describes it."""


def parse_json(content: str | bytes, what: str = "an answer", most: int = VALUES) -> Any:
    """Return the values of JSON.

    Values are counted before they are made: five bytes of text can become a hundred of memory.

    Args:
        content: the text; in bytes it is UTF-8.
        what: names it in the error.
        most: values that it may have.

    Raises:
        AnswerError: it is empty, no JSON, nested too deeply, or has too many values.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    if not text.strip():
        raise AnswerError(f"{what} is empty")
    size = text.count(",") + text.count("[") + text.count("{")
    if size > most:
        raise AnswerError(f"{what} has more than {most:,} values")
    try:
        if size <= _LARGE:
            return json.loads(text)
        with _ONE_AT_A_TIME:
            return json.loads(text)
    except RecursionError:
        raise AnswerError(f"{what} is nested too deeply") from None
    except ValueError:
        raise AnswerError(f"{what} is not JSON: {quote_words(text)}") from None


def require_answer(status: int, reason: str, content: bytes) -> None:
    """Refuse an HTTP answer that does not come from the requested service.

    Raises:
        AnswerError: another status than 200, or nothing in it; its text has the status and the first words.
    """
    if status != HTTPStatus.OK:
        words = quote_words(content.decode("utf-8", "replace")) if content.strip() else "nothing"
        raise AnswerError(f"HTTP status {status} {reason}".strip() + f" with {words}")
    if not content.strip():
        raise AnswerError("an answer is empty")


def quote_words(text: str) -> str:
    """Return the first words of a text in quotation marks, without control characters."""
    words = " ".join(text[: _SHOWN * 4].split())
    return repr(f"{words[:_SHOWN]}…" if len(words) > _SHOWN else words)
