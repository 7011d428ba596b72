"""The syntax of a back end: rows of patterns, in the order of a manual.

A pattern consists of words of the text. `<integer>` captures a word of that type (`types.py`),
`<integer>...` one or more of them, `<rest>` the rest of the line, `<below>` the same in a tree: the words of each
statement below. `[prefer]` is optional; `(tx-queue|uc-tx-queue)` is a choice.
Captures are numbered from 0 in order, those of outer blocks first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value

    ValueRule = Value | Callable[..., Value | None] | None
    StatementRule = str | Mapping[str, ValueRule] | Callable[..., Mapping[str, Value | None] | None]


class Fact(NamedTuple):
    """A line that states facts by itself.

    Attributes:
        pattern: the line.
        path: of the fact, with `{0}` for the first capture; or paths with the value of each; or a function of the row's
            own captures that gives paths and values, or None where it is not such a line.
        value: the fact's; without it the row's last capture, or `true` if it has none. `{0}` is a capture itself,
            `{0} {1}` text; a function makes it of the row's own captures, or None where it is not such a line.
            A capture that is missing (in brackets) states nothing.
    """

    pattern: str
    path: StatementRule
    value: ValueRule = None


class Keep(NamedTuple):
    """A line whose value waits in its block's scope under a name, until the topic's `finish` makes facts of it.

    `name` and `value` are as `path` and `value` of a `Fact`.
    """

    pattern: str
    name: StatementRule
    value: ValueRule = None


class Entry(NamedTuple):
    """A line of a table in its block's scope: the row's first capture is the key, several keys where it is several.

    `value` is as that of a `Fact`.
    """

    pattern: str
    table: str
    value: ValueRule = None


class Silent(NamedTuple):
    """A known line that states nothing, such as an explicit default of the system."""

    pattern: str


class Block(NamedTuple):
    """A line with lines below it.

    Attributes:
        pattern: the line, without brackets around captures.
        scope: name of the scope that it opens, one for each value of its last capture; "" for no scope.
        rows: the lines below, or a function that makes them at the first use of the block.
        once: whether a device states each value in it once; a line that repeats one belongs elsewhere and is listed.
    """

    pattern: str
    scope: str
    rows: Rows
    once: bool = False


class Each(NamedTuple):
    """Lines with the same beginning, whose last capture names the thing that each line describes.

    Same as `Block`, and used together with one if a system accepts both forms.
    """

    pattern: str
    scope: str
    rows: Rows
    once: bool = False


Row = Fact | Keep | Entry | Silent | Block | Each
Rows = Sequence[Row] | Callable[[], Sequence[Row]]


def block_rows(rows: Rows) -> Sequence[Row]:
    """Return the lines of a block."""
    return rows() if callable(rows) else rows
