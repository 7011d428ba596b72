"""What `fabricc upgrade` does: the spec planned with another release, compared, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.cli import output
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.result import exit_status
from fabricc.operate.upgrade.plan import Release, Wish, prepare
from fabricc.operate.upgrade.report import as_json, parts

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path


def upgraded(
    spec: Path,
    to: str,
    since: str | None,
    only: tuple[str, ...],
    images: Path | None,
    keep: Fraction,
    most: int | None,
    write: Path | None,
    format_: str,
) -> int:
    """Plan and tell; arguments as those of the command. The exit status."""
    compiled = compile_spec(spec, ethernet_only=True)
    if not compiled.sound:
        output.tell(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    wish = Wish(Release.of(to), Release.of(since) if since else None, only, images, keep, most, write)
    with output.progress() as bars:
        found = prepare(compiled, wish, bars or (lambda *_: None))
    if format_ == "json":
        output.document(as_json(found, str(spec)))
    else:
        output.show(parts(found, str(spec)))
        output.tell(found.findings, "text", {})
    return exit_status(found.findings)
