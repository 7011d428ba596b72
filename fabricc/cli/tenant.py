"""`fabricc tenant`: assign hosts to tenants in a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.cli import options, output
from fabricc.compiler.load.tenant_edit import edit_tenant
from fabricc.compiler.result import exit_status
from fabricc.front.spec.document import join_words
from fabricc.front.spec.tenants import AssignmentError, list_names, removed_tenants
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group(cls=options.Group)
def command() -> None:
    """Assign hosts to the tenants of a spec."""


@command.command()
@click.argument("hosts", metavar="HOST...", nargs=-1, required=True)
@click.argument("tenant", metavar="TENANT")
@click.option("--spec", type=options.PATH, default=Path("cluster.yaml"), show_default=True,
              help="The spec to edit.")  # fmt: skip
@options.format_option
def assign(hosts: tuple[str, ...], tenant: str, spec: Path, format_: str) -> int:
    """Put each HOST into TENANT and take it out of the other tenants, in the spec alone.

    Comments and everything else stay. Review the change with `fabricc diff`, then build and push it.
    """
    try:
        text, changed = edit_tenant(spec, hosts, tenant)
    except (OSError, UnicodeDecodeError) as error:
        help_ = "Name the spec with --spec."
        message = f"the spec cannot be read: {getattr(error, 'strerror', None) or error}"
        return _fail(Diagnostic("FAB0001", Severity.ERROR, message, Position(str(spec), 1), help_), format_)
    except (AssignmentError, EmitError) as error:
        return _fail(error.diagnostic, format_)
    output.print_findings([], format_, {})
    if format_ == "text":
        out = _summarize(text, changed, str(spec), hosts, tenant) if changed != text else "is as it was"
        output.out(f"{spec} {out}")
    return 0


def _summarize(text: str, changed: str, spec: str, hosts: Sequence[str], tenant: str) -> str:
    """Return the outcome in a line, with the tenants that have no host left."""
    left = removed_tenants(text, changed, spec)
    verb = "has" if len(left) == 1 else "have"
    note = f", without {join_words(left, 'and')}, which {verb} no hosts now" if left else ""
    number = plural(len(list_names(hosts) or ()), "host")
    return f"has {number} moved to {tenant}{note}: review it with `fabricc diff {shell_path(spec)}`"


def _fail(diagnostic: Diagnostic, format_: str) -> int:
    output.print_findings([diagnostic], format_, {})
    return exit_status((diagnostic,))
