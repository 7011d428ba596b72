"""Findings about an input or a result, rendered for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import total_ordering
from pathlib import Path
from typing import Self

from fabricc.base.values import dataclass

__all__ = ["Diagnostic", "FindingsError", "Position", "Severity", "worst_severity"]


class Severity(StrEnum):
    """The severity: an error stops the build, a warning does not, a note only informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@total_ordering
@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text file; lines and columns count from 1 and a column counts characters."""

    file: str
    line: int
    column: int = 1

    def __lt__(self, other: Position) -> bool:
        """By file, line and column."""
        return (self.file, self.line, self.column) < (other.file, other.line, other.column)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: stable identifier, `FAB` and four digits; never reused for another meaning.
        severity: error, warning or note.
        message: what is wrong, one sentence, naming the values concerned.
        position: where in a file, or None when the finding concerns no file.
        help: the remedy, one sentence or two, and on a line of its own the source, if one is cited; empty when the
            message is remedy enough.
    """

    code: str
    severity: Severity
    message: str
    position: Position | None = None
    help: str = ""


class FindingsError(Exception):
    """An operation cannot continue; the findings explain why and what to do. Each package has its own subclass.

    Attributes:
        sources: file -> text, of the files that the findings point into.
    """

    def __init__(self, code: str, message: str, remedy: str = "", position: Position | None = None) -> None:
        super().__init__(message)
        self.code = code
        found = Diagnostic(code, Severity.ERROR, message, position, remedy)
        self.diagnostics: tuple[Diagnostic, ...] = (found,)
        self.sources: Mapping[str, str] = {}

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> Self:
        """Return one for these findings, at least one; its text is the first one's."""
        found = tuple(diagnostics)
        error = cls(found[0].code, found[0].message)
        error.diagnostics, error.sources = found, sources or {}
        return error

    @property
    def diagnostic(self) -> Diagnostic:
        """The only finding, or the first."""
        return self.diagnostics[0]

    @property
    def status(self) -> int | None:
        """Return the exit status of the verb; None if the codes decide it."""
        return None


def worst_severity(diagnostics: Iterable[Diagnostic]) -> Severity | None:
    """Return the gravest severity among the findings; None when there are none."""
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    present = {d.severity for d in diagnostics}
    return next((severity for severity in order if severity in present), None)


_TABLE = Path(__file__).with_name("codes.txt")
TITLES = dict(line.split(" ", 1) for line in _TABLE.read_text("utf-8").splitlines())
"""Code -> its title, in order of the codes."""

RULE_CODES = ("FAB96", "FAB9060", "FAB9061")
"""The codes of rules that need no plan begin so; a spec may accept them with a reason, errors too."""
