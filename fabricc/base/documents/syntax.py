"""What a YAML syntax error means, said for the person who made it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip

if TYPE_CHECKING:
    import yaml

LINE_BREAK = re.compile(r"\r\n|\r|\n")

# (part of the parser's context, part of its problem) -> (message, remedy); the first row that fits is taken.
WORDING: tuple[tuple[str, str, str, str], ...] = (
    ("quoted scalar", "end of stream", "the quote opened here is never closed", "Close it on the same line."),
    ("quoted scalar", "document",
     "the quote opened here is never closed before the next document begins", "Close it on the same line."),
    ("", "unknown escape",
     "unknown escape sequence in a double-quoted text", "Write a backslash as \\\\ or use single quotes."),
    ("", "mapping values are not allowed",
     "a `:` where no key can stand", "Quote a value that holds `: `, or indent this line like its neighbours."),
    ("", "could not find expected ':'", "a key without `:`", "Write `key: value`, or `- item` in a list."),
    ("", "block sequence entries are not allowed",
     "a list item (`- `) where none can stand", "Start the list on the line after its key."),
    ("flow sequence", "",
     "the list opened with `[` is not closed, or a `,` is missing",
     "Separate the items with `,` and close the list with `]`."),
    ("flow mapping", "",
     "the mapping opened with `{` is not closed, or a `,` is missing",
     "Separate the entries with `,` and close the mapping with `}`."),
    ("block mapping", "",
     "this line does not continue the mapping above it: its indentation fits none",
     "Indent it exactly like the other keys of its mapping."),
    ("block collection", "",
     "this line does not continue the list above it: its indentation fits none",
     "Indent it exactly like the other items of its list."),
    ("anchor", "", "a name is expected after `&`", "Quote a value that begins with `&`."),
    ("alias", "", "a name is expected after `*`", "Quote a value that begins with `*`."),
    ("tag", "", "a tag (`!`) that cannot be read", "Quote a value that begins with `!`."),
    ("directive", "", "a directive (`%`) that cannot be read", "Remove the line; a spec needs none."),
    ("block scalar", "", "a block text (`|` or `>`) that cannot be read", "Write the value on one line."),
    ("", "node content", "a value is missing here", "Write a value, or {} for an empty mapping."),
    ("", "document start",
     "the text before this place is complete; nothing can follow it",
     "A spec is one mapping: check the indentation here."),
)  # fmt: skip

OPENERS = ("quoted scalar", "flow sequence", "flow mapping", "simple key")
_GLUED = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*):(\S.*)")


def syntax_diagnostic(error: yaml.MarkedYAMLError, text: str, file: str) -> Diagnostic:
    """The parser's complaint with its place and a remedy."""
    context, problem = error.context or "", error.problem or "the text cannot be read as YAML"
    mark = error.problem_mark or error.context_mark
    if error.context_mark and any(word in context for word in OPENERS) and "escape" not in problem:
        mark = error.context_mark
    lines = LINE_BREAK.split(text)
    line = min(mark.line, len(lines) - 1) if mark else 0
    column = min(mark.column, len(lines[line])) if mark else 0
    here = lines[line]
    if "\t" in here[: len(here) - len(here.lstrip())] and "quoted" not in context:
        place = Position(file, line + 1, here.index("\t") + 1)
        return Diagnostic(
            "FAB0008", Severity.ERROR, "a tab in the indentation", place, "YAML indents with spaces only."
        )
    message, remedy = _worded(context, problem, here[column : column + 1])
    # A value glued to the first key of a mapping is a text that goes on until the next line's colon.
    at = line - 1 if "mapping values" in problem and line else line
    glued = _GLUED.fullmatch(lines[at].replace("\u00a0", ""))
    if glued and (at < line or "expected ':'" in problem):
        indent = len(lines[at]) - len(lines[at].lstrip())
        place = Position(file, at + 1, indent + 1)
        remedy = f"Put a blank after the colon: `{glued[1]}: {clip(glued[2])}`."
        return Diagnostic("FAB0007", Severity.ERROR, "a key without `:`", place, remedy)
    return Diagnostic("FAB0007", Severity.ERROR, message, Position(file, line + 1, column + 1), remedy)


def _worded(context: str, problem: str, character: str) -> tuple[str, str]:
    if "cannot start any token" in problem:
        return f"a value cannot begin with `{character}`", "Put the value in quotes."
    for in_context, in_problem, message, remedy in WORDING:
        if in_context in context and in_problem in problem:
            return message, remedy
    return f"not valid YAML: {problem}", ""
