"""Options that verbs share, and types of their values.

Empty values are rejected: a CI job passes them for variables that are not set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.back.nos.templating import idle_overrides, override_digests, set_template_path
from fabricc.base.diagnostics.formats import FORMATS
from fabricc.cli.output import FORMAT, err

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled


class FilePath(click.Path):
    """A path; texts that cannot be a file name are usage errors."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; an empty text, such as an unset variable of a CI job, is a usage error."""
        if value == "":
            self.fail(EMPTY_VALUE, param, ctx)
        try:
            return super().convert(value, param, ctx)
        except ValueError:
            self.fail(f"{value!a} cannot be the name of a file", param, ctx)


PATH = FilePath(path_type=Path)

spec_argument = click.argument("spec", type=PATH)


class ChangeableArgument(click.Argument):
    """Arguments that may be absent with `--changed`, because a commit may only delete files."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the operands; without `--changed` there has to be one."""
        self.required = not ctx.params.get("changed")
        return super().process_value(ctx, value)


specs_argument = click.argument(
    "specs", metavar="SPEC...", nargs=-1, required=True, type=PATH, cls=ChangeableArgument
)
changed_option = click.option(
    "--changed", is_flag=True, is_eager=True,
    help="SPEC are changed files: check every spec of the repository that reads one of them.",
)  # fmt: skip
tree_argument = click.argument("tree", type=PATH)
spec_option = click.option("--spec", type=PATH, help="The tree's spec, if it is not found automatically.")
lock_option = click.option(
    "--lock", type=PATH, metavar="FILE", help="The spec's lock, if it is not in the spec's folder."
)
network_option = click.option(
    "--network", metavar="NAME",
    help="The network, if the cluster has several: compute, or one of `networks`.",
)  # fmt: skip
access_option = click.option(
    "--access", "access_file", type=PATH, metavar="FILE",
    help="The access file. [default: fabricc-access.yaml in the spec's folder, if trusted]",
)  # fmt: skip
signature_option = click.option("--signature", type=PATH, metavar="FILE",
                                help="The signature, if it is not next to the tree.")  # fmt: skip
parallel_option = click.option("--parallel", type=click.IntRange(1, 1024), default=32, show_default=True,
                               help="Number of parallel connections.")  # fmt: skip


class Group(click.Group):
    """A verb with subcommands, each listed with its first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the subcommands with their first sentences, without cutting them."""
        rows = ((name, (command.help or "").partition("\n\n")[0]) for name, command in self.commands.items())
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text.partition(". ")[0].rstrip(".") + ".") for name, text in rows])


def add_format_option(
    names: Sequence[str], help_: str = "Format of standard output, for people or programs."
) -> Callable[[Any], Any]:
    """Add `--format` with the first name as default; errors use it, too."""

    def note_format(context: click.Context, _option: click.Parameter, format_: str) -> str:
        context.meta[FORMAT] = format_
        return format_

    return click.option(
        "--format", "format_", type=click.Choice(names), default=names[0], show_default=True, callback=note_format,
        is_eager=True, help=help_,
    )  # fmt: skip


def data_option(*help_: str) -> Callable[[Any], Any]:
    """Add `--format` to verbs that print results for people or programs."""
    return add_format_option(("text", "json"), *help_)


format_option = add_format_option(
    FORMATS, "Format of findings; all but text go to standard output, for machines."
)
jobs_option = click.option("--jobs", "-j", type=click.IntRange(1, 256),
                           help="Worker processes. [default: one per CPU]")  # fmt: skip


def _use_templates(_context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> None:
    """Search these folders before the built-in templates; FAB7013 for folders and files that replace nothing."""
    for folder in folders:
        set_template_path([folder])
        if not override_digests():
            err(
                f"warning[FAB7013]: {folder} replaces no built-in template: it has no file such as eos/bgp.j2"
            )
    set_template_path(folders)
    for name, hint in idle_overrides():
        err(f"warning[FAB7013]: {name} replaces no built-in template, so it has no effect: {hint}")


templates_option = click.option(
    "--templates",
    type=FilePath(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    envvar="FABRICC_TEMPLATES",
    metavar="DIR",
    expose_value=False,
    callback=_use_templates,
    help="Folder of your own templates, searched before the built-in ones; repeatable. [env: FABRICC_TEMPLATES]",
)


EMPTY_VALUE = "the value is empty. Set it, or leave it out."


class NonEmptyText(click.types.StringParamType):
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
            param.type = NonEmptyText()
    if isinstance(command, click.Group):
        for each in command.commands.values():
            require_values(each)


class Share(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A share of paths: `75%`, or `0.75`."""

    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Return the share, from 0 to 1."""
        text = str(value).strip()
        try:
            share = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a share such as 75%", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not between 0% and 100%", param, ctx)
        return share


LEAST = "(fewest)"
"""The value of `--repin` without a key; an empty one is a usage error."""


class RepinningCommand(click.Command):
    """A command with an optional value of `--repin`, so that the next argument is not taken for that value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments after a bare `--repin` was given its value."""
        end = args.index("--") if "--" in args else len(args)
        words = [f"--repin={LEAST}" if word == "--repin" else word for word in args[:end]]
        return super().parse_args(ctx, [*words, *args[end:]])


def _parse_keys(
    _context: click.Context, _option: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return None without the option, () for the smallest sufficient set, else the keys."""
    if not value:
        return None
    keys = tuple(key for key in value if key != LEAST)
    if keys and len(keys) < len(value):
        raise click.UsageError("Use either --repin alone, which chooses the keys, or --repin=KEY.")
    return keys


def announce_repinning(compiled: Compiled, print_line: Callable[[str], None]) -> None:
    """Report the effect of a repinning, if there is one, before anything is written."""
    if compiled.repinned is not None and compiled.repinned.pins:
        print_line(f"repinning {compiled.repinned.changes}: {compiled.repinned.touched}")


def repin_option(help_: str) -> Callable[[Any], Any]:
    """`--repin`, which chooses the fewest pins that must change, and `--repin=KEY`, repeatable, which names them."""
    return click.option("--repin", multiple=True, metavar="[=KEY]", callback=_parse_keys, help=help_)
