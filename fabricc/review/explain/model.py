"""Explanations: values with their rule, their formula in numbers, and the place of each input."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import FindingsError, Position
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.front.qos.worksheet import Row


Details = tuple[tuple[str, str], ...]
"""Short fields, in the order shown: label and value."""


class Source(StrEnum):
    """The source of a value."""

    SPEC = "spec"
    DEFAULT = "default"
    COMPUTED = "computed"
    LOCK = "lock"
    CATALOG = "catalog"
    FIXED = "fixed"


class Origin(NamedTuple):
    """The origin of an input of a value.

    Attributes:
        source: the kind of the origin.
        key: the key of the spec, the item of the lock or the figure of the catalog.
        value: its value, as text; "" if `snippet` shows it.
        position: the place in the spec or the lock; None outside of files.
        snippet: the line there.
        note: the meaning of the key, or the source of the figure.
    """

    source: Source
    key: str
    value: str = ""
    position: Position | None = None
    snippet: str = ""
    note: str = ""


class Formula(NamedTuple):
    """One step of the closed form: `name` is `symbols`, which in numbers is `numbers`, which gives `value`."""

    name: str
    symbols: str
    numbers: str
    value: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One explained value.

    Attributes:
        name: the name of the value: a field in words, or the path of a fact.
        value: as the fabric or the file has it.
        rule: the rule, one or two sentences.
        formulas: the closed form, the last one giving the value.
        steps: lines of the worksheet behind it, with units and sources.
        origins: the inputs.
        planned: the planned value if the file has another one; None if they agree.
        waist: the value of the fabric if the operating system stores another form; None if they agree.
        also: other paths that the same line states with the same value.
        docs: the page of the documentation.
    """

    name: str
    value: str
    rule: str = ""
    formulas: tuple[Formula, ...] = ()
    steps: tuple[Row, ...] = ()
    origins: tuple[Origin, ...] = ()
    planned: str | None = None
    waist: str | None = None
    also: tuple[str, ...] = ()
    docs: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question.

    Attributes:
        kind: `address`, `prefix`, `asn`, `device`, `port`, `fact`, `party`, `unit`, `rack`, `tenant`, `class`,
            `line` or `code`.
        subject: the subject, in canonical form.
        title: what it is, in a few words.
        statements: the explained values, the most useful first.
    """

    kind: str
    subject: str
    title: str
    details: tuple[tuple[str, str], ...] = ()
    statements: tuple[Statement, ...] = ()


def single_explanation(
    kind: str, subject: str, title: str, details: Details, rule: str, origins: tuple[Origin, ...],
    steps: tuple[Formula, ...] = (), *, name: str = "", value: str = "", docs: str = "",
) -> Explanation:  # fmt: skip
    """Return an explanation with one statement; `name` and `value` default to kind and subject."""
    statement = Statement(name or kind, value or subject, rule, steps, (), origins, docs=docs)
    return Explanation(kind, subject, title, details, (statement,))


class SubjectError(FindingsError):
    """The subject does not exist; the findings list similar names."""
