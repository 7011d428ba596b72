"""What `fabricc verify` does: switches asked, compared with the plan, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.cli import logins, output
from fabricc.operate.push.built_tree import read_source
from fabricc.operate.verify.model import Aspect
from fabricc.operate.verify.report import as_json, as_junit, as_markdown, parts
from fabricc.operate.verify.run import verify

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.verify.model import Report


def verified(
    tree: Path,
    only: tuple[str, ...],
    devices: tuple[str, ...],
    access_file: Path | None,
    spec: Path | None,
    network: str | None,
    parallel: int,
    max_errors: int,
    format_: str,
) -> int:
    """Ask, compare and tell; arguments as those of the command. The exit status."""
    source = read_source(tree, spec, network=network)
    access = logins.access(source.spec, access_file)
    with output.progress() as bar:
        report = verify(
            source, access, only=devices, aspects=[Aspect(one) for one in only],
            parallel=parallel, errors=max_errors, progress=bar or (lambda *_: None),
        )  # fmt: skip
    _show(report, format_)
    return report.exit_status


def _show(report: Report, format_: str) -> None:
    if format_ == "table":
        output.show(parts(report))
    elif format_ == "markdown":
        output.document(as_markdown(report))
    else:
        output.document(as_json(report) if format_ == "json" else as_junit(report))
