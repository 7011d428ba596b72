"""fabricc(1): the manual page, of what the verbs say of themselves."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from fabricc.cli.entry import cli
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SENTENCE = "compile a short cluster spec into every switch's and every host's configuration"
_STATUSES = (
    ("0", "Nothing is wrong."),
    ("1", "The input or the result is wrong."),
    ("2", "Bad usage; with `diff --detailed-exitcode`, something changes."),
    ("3", "A device or the environment failed."),
    ("130", "Interrupted; nothing was changed by half."),
)
_VARIABLES = (
    ("FABRICC_TEMPLATES", "Folders of your own templates, searched before the built-in ones."),
    ("FABRICC_DEBUG", "If 1, an internal error shows its traceback."),
    ("NO_COLOR", "If set, nothing is coloured."),
    ("PAGER", "What shows the pages of `fabricc docs` on a terminal."),
    ("XDG_STATE_HOME", "Where records of builds and journals of pushes are kept, by default ~/.local/state."),
)
_FILES = (
    ("cluster.yaml", "The spec."),
    ("fabricc.lock", "What is pinned, beside the spec: commit it."),
    ("fabricc-access.yaml", "How to log in to the switches, beside the spec: never committed."),
    ("fabricc-policy.yaml", "What a review lets pass."),
    ("build/CLUSTER", "The tree that a build writes; its manifest.json has the digest of every file."),
)
_ESCAPES = str.maketrans({"\\": "\\e", "-": "\\-", '"': "\\(dq", "~": "\\(ti", "^": "\\(ha"})
_WORD = re.compile(r"`([^`]+)`")


def manual() -> str:
    """The page in the language of man(7), the same bytes on every machine."""
    top = click.Context(cli, info_name="fabricc")
    lines = [
        f'.TH FABRICC 1 "" "fabricc {__version__}" "User Commands"',
        ".SH NAME", f"fabricc \\- {_text(_SENTENCE)}",
        ".SH SYNOPSIS", ".B fabricc", "[OPTIONS] VERB [ARGUMENTS]",
        ".SH DESCRIPTION", *_paragraphs((cli.help or "").partition("Exit status:")[0].strip()), *_options(top),
        ".SH VERBS", *(line for name in cli.list_commands(top) for line in _verb(top, name)),
    ]  # fmt: skip
    for title, rows in (
        ("EXIT STATUS", _STATUSES), ("ENVIRONMENT", _VARIABLES), ("FILES", _FILES),
    ):  # fmt: skip
        lines += [f".SH {title}", *(line for term, meaning in rows for line in named(term, meaning))]
    lines += [".SH SEE ALSO", *_paragraphs("`fabricc docs` lists the pages of the documentation.")]
    return "\n".join(lines) + "\n"


def _verb(above: click.Context, name: str) -> Iterator[str]:
    """A verb with its options, and those below it."""
    command = above.command.get_command(above, name)  # type: ignore[attr-defined]
    context = click.Context(command, info_name=name, parent=above)
    words = [_text(word) for word in (*context.command_path.split(), *command.collect_usage_pieces(context))]
    yield f'.SS "{" ".join(words)}"'
    yield from _paragraphs(command.help or "")
    yield from _options(context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _verb(context, below)


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in parameter.opts:
            yield from named(*record)


def named(term: str, meaning: str) -> Sequence[str]:
    """An item of a list: a term, and what it means."""
    return (".TP", f".B {_text(term)}", _line(meaning))


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that begins with a line of a backspace, as click wants it, keeps its lines."""
    for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number:
            yield ".PP"
        first, _, rest = paragraph.partition("\n")
        if first == "\b":
            yield from (".nf", *map(_line, rest.split("\n")), ".fi")
        elif paragraph:
            yield _line(" ".join(paragraph.split()))


def _line(text: str) -> str:
    """A line of running text; what is between backquotes is bold."""
    shown = _WORD.sub(r"\\fB\1\\fR", _text(text).replace("  ", " "))
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _text(text: str) -> str:
    return text.translate(_ESCAPES)
