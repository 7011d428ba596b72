"""The result of a check."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        subject: the thing that was checked, such as `click` or a switch.
        state: the outcome.
        message: what was found.
        remedy: what to do about it; for `ok`, how to look yourself.
    """

    subject: str
    state: State
    message: str
    remedy: str
