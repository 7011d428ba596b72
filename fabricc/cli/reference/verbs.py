"""Generate the page of every verb with its options from the help texts."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from fabricc.cli.entry import cli
from fabricc.cli.reference.models import render_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAD = "# Verbs and options\n\n`fabricc VERB --help` prints the same for one verb.\n"


def render_verbs() -> str:
    """Return usage, help text and options of each verb, and of the verbs below it."""
    top = click.Context(cli, info_name="fabricc")
    return "\n".join([_LEAD, *(part for name in cli.list_commands(top) for part in _render_verb(top, name))])


def _render_verb(above: click.Context, name: str) -> Iterator[str]:
    assert isinstance(above.command, click.Group)
    command = above.command.get_command(above, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"## {context.command_path}\n\n```\n{usage}\n```\n\n{_format_help(command.help or '')}"
    rows = list(_option_rows(context))
    if rows:
        yield render_table(("option", "meaning"), rows)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _render_verb(context, below)


def _option_rows(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in parameter.opts:
            yield f"`{record[0]}`", record[1]


def _format_help(text: str) -> str:
    """Return the paragraphs of a help text; one that begins with click's marker is a block of code."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        first, _, rest = paragraph.partition("\n")
        paragraphs.append(f"```\n{rest}\n```" if first == "\b" else paragraph)
    return "\n\n".join(paragraphs) + "\n"
