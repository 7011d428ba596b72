"""`fabricc verify`: live switches against a built tree."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from fabricc.cli import options
from fabricc.cli.words import complete_switches

ASPECTS = ("cabling", "bgp", "routes", "tenants", "interfaces", "qos", "config")
FORMATS = ("table", "json", "junit", "markdown")


class CommaSeparated(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Words with commas between them."""

    name = "LIST"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self._known = known

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the words; each must be known if only some are allowed."""
        words = tuple(word.strip() for word in str(value).split(",") if word.strip())
        for word in words:
            if self._known and word not in self._known:
                self.fail(f"{word!r} is none of {', '.join(self._known)}", param, ctx)
        return words

    def shell_complete(
        self, _context: click.Context, _parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        """Return the words known, behind the last comma."""
        before, comma, last = begun.rpartition(",")
        return [CompletionItem(f"{before}{comma}{word}") for word in self._known if word.startswith(last)]


@click.command("verify")
@options.tree_argument
@click.option("--only", type=CommaSeparated(ASPECTS), default=",".join(ASPECTS), metavar="LIST",
              help=f"What to compare: {', '.join(ASPECTS)}. [default: all]")  # fmt: skip
@click.option("--devices", type=CommaSeparated(), default="", metavar="LIST", shell_complete=complete_switches,
              help="The switches to read. [default: all]")  # fmt: skip
@options.access_option
@options.spec_option
@options.network_option
@options.parallel_option
@click.option("--max-errors", "errors", type=click.IntRange(0), default=100, show_default=True,
              help="Interface errors per port up to which nothing is reported.")  # fmt: skip
@options.add_format_option(FORMATS, "Output format, on standard output.")
def command(**chosen: Any) -> int:
    """Read every switch of TREE (build/<cluster>), change nothing, and compare it with the plan.

    Exit status: 0 all is as planned, 1 something is not, 3 a switch could not be read.
    """
    from fabricc.cli.verify_run import run_verify  # loads the drivers, unlike `--help`

    return run_verify(**chosen)
