"""The option `--repin[=KEY]` of the verbs that plan with a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.compiler.compiled import Compiled

LEAST = "(fewest)"
"""The value of `--repin` without a key; an empty one is a usage error."""


class RepinningCommand(click.Command):
    """A command whose `--repin` may stand without a value, so that the argument after it stays an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments after a bare `--repin` was given its value."""
        end = args.index("--") if "--" in args else len(args)
        told = [f"--repin={LEAST}" if word == "--repin" else word for word in args[:end]]
        return super().parse_args(ctx, [*told, *args[end:]])


def _parse_keys(
    _context: click.Context, _option: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return None without the option, () for the smallest sufficient set, else the keys."""
    if not value:
        return None
    keys = tuple(key for key in value if key != LEAST)
    if keys and len(keys) < len(value):
        raise click.UsageError("--repin alone chooses the pins: give either it or keys.")
    return keys


def announce_repinning(compiled: Compiled, say: Callable[[str], None]) -> None:
    """Report the effect of a repinning, if there is one, before anything is written."""
    if compiled.repinned is not None and compiled.repinned.pins:
        say(f"repinning {compiled.repinned.changes}: {compiled.repinned.touched}")


def repin_option(help_: str) -> Callable[[Any], Any]:
    """`--repin`, which chooses the fewest pins that must change, and `--repin=KEY`, repeatable, which names them."""
    return click.option("--repin", multiple=True, metavar="[=KEY]", callback=_parse_keys, help=help_)
