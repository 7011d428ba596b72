"""`fabricc fmt`: format specs in one layout, so that diffs show only changes."""

from __future__ import annotations

from pathlib import Path

import click

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml, too_large
from fabricc.base.foreign import files
from fabricc.base.foreign.shell import shell_path
from fabricc.cli import options, output
from fabricc.compiler.load.affected_specs import is_spec
from fabricc.compiler.load.spec_location import POLICY_NAME
from fabricc.compiler.result import exit_status
from fabricc.front.spec.canonical import first_difference, format_spec
from fabricc.tree import EmitError
from fabricc.tree.file import write_file


@click.command("fmt")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.PATH)
@click.option("--check", is_flag=True, help="Change nothing; exit status 1 when a file would change.")
@click.option("--changed", is_flag=True, help="Skip files that are neither specs nor review policies.")
@options.format_option
def command(files: tuple[Path, ...], check: bool, changed: bool, format_: str) -> int:
    """Format FILEs (specs, policies, catalogs): indentation, spacing, blank lines.

    The order of keys, quotes and comments do not change. fabricc parses the result and compares it before writing. Exit
    status: 0 all formatted, 1 a file cannot be formatted, or would change with --check, 3 it cannot be written.
    """
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    rewritten = 0
    if changed:
        files = tuple(path for path in files if path.name == POLICY_NAME or is_spec(path))
    for path in files:
        wrong, text, laid_out = _format_file(path)
        sources[str(path)] = text
        found += wrong
        if wrong or laid_out == text:
            continue
        rewritten += 1
        if check:
            found.append(_report_unformatted(path, text, laid_out))
            continue
        try:
            write_file(path, laid_out.encode())
        except EmitError as error:
            found.append(error.diagnostic)
    output.print_findings(found, format_, sources)
    failed = any(d.severity is Severity.ERROR for d in found)
    if format_ == "text" and not failed:
        output.out(f"{plural(len(files), 'file')}: {rewritten} formatted")
    return exit_status(found)


def _format_file(path: Path) -> tuple[tuple[Diagnostic, ...], str, str]:
    """Return what is wrong with the file, its text, and its canonical text."""
    try:
        raw = files.read(path, limit=MAX_BYTES)
    except files.TooLargeError:
        return (too_large(str(path)),), "", ""
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        help_ = "Name files: specs, policies or files of the catalog, such as `inventories/*/cluster.yaml`."
        return (Diagnostic("FAB0001", Severity.ERROR, message, Position(str(path), 1), help_),), "", ""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return parse_yaml(raw, str(path)).diagnostics, "", ""
    laid_out, wrong = format_spec(text, str(path))
    return tuple(d for d in wrong if d.severity is Severity.ERROR), text, laid_out


def _report_unformatted(path: Path, text: str, laid_out: str) -> Diagnostic:
    place = Position(str(path), first_difference(text, laid_out))
    remedy = f"Run `fabricc fmt {shell_path(path)}`."
    return Diagnostic(
        "FAB0040", Severity.ERROR, "from here on the format is not that of `fabricc fmt`", place, remedy
    )
