"""Run `fabricc verify`: read switches, compare them with the plan, and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fabricc.cli import logins, output
from fabricc.operate.push.built_tree import read_source
from fabricc.operate.verify.model import Aspect, Report
from fabricc.operate.verify.report import as_json, as_junit, as_markdown, parts
from fabricc.operate.verify.run import verify
from fabricc.operate.verify.subnets import has_subnets, verify_subnets

if TYPE_CHECKING:
    from pathlib import Path


def run_verify(tree: Path, spec: Path | None, network: str | None, format_: str, **chosen: Any) -> int:
    """Read, compare and report, with the arguments of the command; return the exit status."""
    names, aspects = chosen.pop("devices"), [Aspect(one) for one in chosen.pop("only")]
    if has_subnets(tree):
        if names:
            raise click.UsageError("--devices is for switches with a configuration; subnets are read whole.")
        with output.progress() as bar:
            report = verify_subnets(tree, aspects, bar or (lambda *_: None))
        _print_report(report, format_)
        return report.exit_status
    source = read_source(tree, spec, network=network)
    access = logins.access(source.spec, chosen.pop("access_file"))
    with output.progress() as bar:
        progress = bar or (lambda *_: None)
        report = verify(source, access, only=names, aspects=aspects, progress=progress, **chosen)
    _print_report(report, format_)
    return report.exit_status


def _print_report(report: Report, format_: str) -> None:
    if format_ == "table":
        output.print_parts(parts(report))
    elif format_ == "markdown":
        output.print_document(as_markdown(report))
    else:
        output.print_document(as_json(report) if format_ == "json" else as_junit(report))
