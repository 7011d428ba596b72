"""Convert YAML text to a `Document`, with findings where decoding or parsing fails; load YAML files of the package."""

from __future__ import annotations

import re

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import (
    FORBIDDEN,
    Composer,
    Rules,
    StopReadingError,
    check_text,
    resolve_scalar,
)
from fabricc.base.documents.document import Document, clip, conflict_in

try:
    from yaml import CLoader as EventLoader
except ImportError:
    from yaml import Loader as EventLoader  # type: ignore[assignment]

MAX_BYTES = 16 * 1024 * 1024


LINE_BREAK = re.compile(r"\r\n|\r|\n")

# (part of the parser's context, part of its problem) -> (message, remedy); the first row that fits is taken.
WORDING: tuple[tuple[str, str, str, str], ...] = (
    ("quoted scalar", "end of stream", "the quote opened here is never closed", "Close it on the same line."),
    ("quoted scalar", "document",
     "the quote opened here is never closed before the next document begins", "Close it on the same line."),
    ("", "unknown escape",
     "unknown escape sequence in a double-quoted text", "Write a backslash as \\\\ or use single quotes."),
    ("", "mapping values are not allowed",
     "a `:` where no key can be", "Quote a value that holds `: `, or indent this line like its neighbors."),
    ("", "could not find expected ':'", "a key without `:`", "Write `key: value`, or `- item` in a list."),
    ("", "block sequence entries are not allowed",
     "a list item (`- `) where none can be", "Start the list on the line after its key."),
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
    ("directive", "", "a directive (`%`) that cannot be read", "Remove the line; a spec does not need it."),
    ("block scalar", "", "a block text (`|` or `>`) that cannot be read", "Write the value on one line."),
    ("", "node content", "a value is missing here", "Write a value, or {} for an empty mapping."),
    ("", "document start",
     "the text before this place is complete; nothing can follow it",
     "A spec is one mapping: check the indentation here."),
)  # fmt: skip

OPENERS = ("quoted scalar", "flow sequence", "flow mapping", "simple key")
_GLUED = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*):(\S.*)")


def _not_yaml(error: Exception, text: str, file: str) -> Diagnostic:
    if isinstance(error, yaml.MarkedYAMLError):
        return syntax_diagnostic(error, text, file)
    message = f"not valid YAML: {clip(str(error), 100)}"
    return Diagnostic("FAB0007", Severity.ERROR, message, Position(file, 1, 1))


_WORDS = {
    "empty": ("FAB0006", "the file holds no value", "`fabricc init` writes a spec to start from."),
    "twice": ("FAB0009", "duplicate key '{shown}': first at {first}", "Keep one of the two."),
    "key": ("FAB0010", "the key {shown} is not text", 'Put it in quotes: "{shown}".'),
    "collection as key": ("FAB0010", "a list or mapping cannot be a key", "Keys are names: quote odd ones."),
    "alias as key": ("FAB0010", "an alias cannot be a key", "Write the key out."),
    "too deep": ("FAB0011", "nested deeper than {most} levels", "A spec needs six levels at most."),
    "too many": ("FAB0012", "more than {most:,} values in one file", "Count hosts, do not list them."),
    "tag": ("FAB0015", "tags are not understood: {shown}", "Remove it; quote a value to make it text."),
    "second document": ("FAB0016", "a second document begins here", "A spec is one document: one cluster per file."),
    "no anchor": ("FAB0017", "no anchor &{shown} before this alias", "Write the value out."),
    "own anchor": ("FAB0017", "the alias *{shown} is inside its own anchor", "Write the value out."),
    "aliases": ("FAB0018", "aliases expand to more than {most:,} values or {depth} levels",
                "Write the values out, or count hosts instead of listing them."),
    "merge": ("FAB0019", "merge keys (`<<`) are not understood",
              "Write the entries out, or share a whole value with an anchor and an alias."),
}  # fmt: skip
STRICT = Rules(
    words=_WORDS,
    plain=resolve_scalar,
    check=check_text,
    syntax=_not_yaml,
    longest_key=None,
    max_depth=64,
    max_nodes=500_000,
    max_aliased_nodes=10_000,
    max_problems=100,
)
"""Specs, policies and ledgers."""


def parse_yaml(source: bytes | str, file: str) -> Document:
    """Read one YAML document by the rules of specs.

    Never raises: whatever is wrong is among the diagnostics. Scalars follow the YAML 1.2 core schema,
    narrowed: `null`, `~`, `true` and `false` in lower case, decimal numbers without leading zeros, finite
    floats; the rest is text. Aliases are shared values and may expand to 10,000 values at most.
    """
    text = _decode_text(source, file)
    if isinstance(text, Diagnostic):
        return Document(file, None, diagnostics=(text,), usable=False)
    return parse_document(text, file, STRICT)


def parse_document(text: str, file: str, rules: Rules) -> Document:
    """Read one YAML document by fabricc's rules; never raises for its content."""
    if (conflict := conflict_in(text, file)) is not None:
        return Document(file, None, diagnostics=(conflict,), usable=False)
    composer = Composer(file, rules)
    usable = True
    try:
        for event in yaml.parse(text, Loader=EventLoader):
            composer.feed(event)
        if not composer.seen and "empty" in rules.words:
            composer.stop("empty", Position(file, 1, 1))
    except StopReadingError:
        usable = False
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if (place := _find_excessive_depth(error, text, file, rules.max_depth)) is not None:
            composer.note("too deep", place, most=rules.max_depth)
        else:
            composer.diagnostics.append(rules.syntax(error, text, file))
        usable = False
    return Document(
        file, composer.root, composer.positions, composer.value_positions, frozenset(composer.broken),
        tuple(composer.diagnostics), usable,
    )  # fmt: skip


_BRACKET = re.compile(r"[\[\]{}]")


def _find_excessive_depth(error: Exception, text: str, file: str, most: int) -> Position | None:
    """Return the place of the bracket that nests deeper than `most` levels before a syntax error, or None.

    libyaml has a limit of its own for nested brackets. It reports it before the first event, with a message that
    differs between releases. The count ignores quotes and comments: the text is refused either way.
    """
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None or text[mark.index : mark.index + 1] not in ("[", "{"):
        return None
    depth = 0
    for bracket in _BRACKET.finditer(text, 0, mark.index + 1):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > most:
            before = text[: bracket.start()]
            line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
            return Position(
                file, len(re.findall(r"\r\n|\r|\n", before)) + 1, bracket.start() - line_start + 1
            )
    return None


def too_large(file: str) -> Diagnostic:
    """Return the finding for a file of more than `MAX_BYTES`."""
    message = f"the file is larger than {MAX_BYTES // 1024 // 1024} MiB"
    help_ = "A spec of the largest clusters fits in a few kilobytes: count hosts instead of listing them."
    return Diagnostic("FAB0003", Severity.ERROR, message, Position(file, 1, 1), help_)


def decode_error(source: bytes, error: UnicodeDecodeError, file: str) -> Diagnostic:
    """Return the finding for bytes that are not UTF-8, at the line and column of the first bad one."""
    if source[:2] in (b"\xff\xfe", b"\xfe\xff"):
        message, start = "the file is UTF-16, not UTF-8", Position(file, 1, 1)
        return Diagnostic("FAB0004", Severity.ERROR, message, start, "Save it as UTF-8.")
    before = source[: error.start]
    line_start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    line = len(re.findall(rb"\r\n|\r|\n", before)) + 1
    column = len(before[line_start:].decode("utf-8")) + 1
    message = f"byte 0x{source[error.start]:02x} is not UTF-8"
    help_ = "Save the file as UTF-8 (it looks like Latin-1 or Windows-1252)."
    return Diagnostic("FAB0004", Severity.ERROR, message, Position(file, line, column), help_)


def _decode_text(source: bytes | str, file: str) -> str | Diagnostic:
    if len(source) > MAX_BYTES:
        return too_large(file)
    if isinstance(source, bytes):
        try:
            text = source.decode("utf-8")
        except UnicodeDecodeError as error:
            return decode_error(source, error, file)
    else:
        text = source
    text = text.removeprefix("\ufeff")
    if (bad := FORBIDDEN.search(text)) is not None:
        before = text[: bad.start()]
        line = len(re.findall(r"\r\n|\r|\n", before)) + 1
        column = bad.start() - max(before.rfind("\n"), before.rfind("\r"))
        message = f"an invisible or control character, U+{ord(bad[0]):04X}"
        return Diagnostic("FAB0005", Severity.ERROR, message, Position(file, line, column), "Delete it.")
    return text


def syntax_diagnostic(error: yaml.MarkedYAMLError, text: str, file: str) -> Diagnostic:
    """Return the parser's complaint with its place and a remedy."""
    context, problem = error.context or "", error.problem or "the text cannot be read as YAML"
    mark = error.problem_mark or error.context_mark
    if error.context_mark and any(word in context for word in OPENERS) and "escape" not in problem:
        mark = error.context_mark
    lines = LINE_BREAK.split(text)
    line = min(mark.line, len(lines) - 1) if mark else 0
    column = min(mark.column, len(lines[line])) if mark else 0
    here = lines[line]
    if "\t" in here[: len(here) - len(here.lstrip())] and "quoted" not in context:
        place, help_ = Position(file, line + 1, here.index("\t") + 1), "YAML indents with spaces only."
        return Diagnostic("FAB0008", Severity.ERROR, "a tab in the indentation", place, help_)
    message, remedy = _word_problem(context, problem, here[column : column + 1])
    # A value glued to the first key of a mapping is a text that goes on until the next line's colon.
    at = line - 1 if "mapping values" in problem and line else line
    glued = _GLUED.fullmatch(lines[at].replace("\u00a0", ""))
    if glued and (at < line or "expected ':'" in problem):
        indent = len(lines[at]) - len(lines[at].lstrip())
        place = Position(file, at + 1, indent + 1)
        remedy = f"Add a space after the colon: `{glued[1]}: {clip(glued[2])}`."
        return Diagnostic("FAB0007", Severity.ERROR, "a key without `:`", place, remedy)
    return Diagnostic("FAB0007", Severity.ERROR, message, Position(file, line + 1, column + 1), remedy)


def _word_problem(context: str, problem: str, character: str) -> tuple[str, str]:
    if "cannot start any token" in problem:
        return f"a value cannot begin with `{character}`", "Put the value in quotes."
    for in_context, in_problem, message, remedy in WORDING:
        if in_context in context and in_problem in problem:
            return message, remedy
    return f"not valid YAML: {problem}", ""
