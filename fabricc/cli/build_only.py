"""`fabricc build --only`: the files of the devices that are named."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.cli import output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.selected_devices import write_devices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_INSTEAD = "Build the whole tree with `fabricc build`."
"""What does the job for InfiniBand."""


def build_devices(
    spec: Path, only: Sequence[str], out: Path, frozen: bool, check: bool, format_: str, begin: float
) -> int:
    """Write the files of a few devices below `out`; the exit status."""
    compiled = compile_ethernet(spec, _INSTEAD)
    result = write_devices(compiled, frozenset(only), out, frozen=frozen, check=check)
    output.print_findings(result.diagnostics, format_, compiled.sources)
    if format_ == "text" and result.tree is None:
        output.err(f"nothing written: {output.count_findings(result.diagnostics)}")
    elif format_ == "text":
        proof = f"read back, and {plural(result.links, 'link')} among them" if check else "not checked"
        behind = f"not as the spec needs it: `fabricc lock {shell_path(spec)}` writes it"
        rows = [
            ("devices", f"{len(set(only)):,} of {result.cluster}"),
            ("files", f"{result.files:,}: {result.written:,} written, the rest untouched"),
            ("proof", proof),
            ("lock", behind if result.lock_changed else "unchanged"),
            ("findings", output.count_findings(result.diagnostics)),
            ("time", f"{time.perf_counter() - begin:.1f} s"),
        ]
        output.out(str(out), *output.align_columns(rows))
    return result.exit_status
