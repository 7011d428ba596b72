"""Reject empty values on the command line: a CI job passes them for variables that are not set."""

from __future__ import annotations

from typing import Any

import click

EMPTY_VALUE = "the value is empty. Set it, or leave it out."


class FilledText(click.types.StringParamType):
    """A text that is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text; an empty one is a usage error."""
        if value == "":
            self.fail(EMPTY_VALUE, param, ctx)
        return super().convert(value, param, ctx)


def require_values(command: click.Command) -> None:
    """Reject empty values of the text options and arguments of a command, except options that are empty by default."""
    for param in command.params:
        if type(param.type) is click.types.StringParamType and param.default != "":
            param.type = FilledText()
    if isinstance(command, click.Group):
        for each in command.commands.values():
            require_values(each)
