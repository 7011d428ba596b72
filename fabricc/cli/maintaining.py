"""What `fabricc maintain` does: the spec planned, the maintenance prepared, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.cli import output
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.result import exit_status
from fabricc.operate.maintain.prepare import Wish, prepare
from fabricc.operate.maintain.report import as_json, parts

if TYPE_CHECKING:
    from datetime import datetime
    from fractions import Fraction
    from pathlib import Path


def maintained(
    devices: tuple[str, ...],
    spec: Path,
    window: int,
    start: datetime | None,
    down: tuple[str, ...],
    verified: Path | None,
    network: str | None,
    keep: Fraction | None,
    write: Path | None,
    format_: str,
) -> int:
    """Prepare and tell; arguments as those of the command. The exit status."""
    compiled = compile_spec(spec, ethernet_only=True)
    if not compiled.sound:
        output.tell(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    wish = Wish(devices, window, start, down, verified, network, keep, write)
    with output.progress() as bars:
        found = prepare(compiled, wish, bars or (lambda *_: None))
    if format_ == "json":
        output.document(as_json(found))
    else:
        output.show(parts(found))
        output.tell(found.findings, "text", compiled.sources)
    return exit_status(found.findings)
