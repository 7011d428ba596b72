"""Rebuild after a change: a few devices if only these can change, else the whole tree."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.incremental.partial import patch_tree
from fabricc.compiler.load.quoted_files import tree_texts
from fabricc.compiler.write.whole_tree import write_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.compiler.incremental.record import Look
    from fabricc.compiler.result import BuildResult


def rebuild_tree(
    spec_path: Path,
    out: Path,
    look: Look | None,
    *,
    jobs: int | None,
    frozen: bool,
    repin: Sequence[str] | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
    before: Callable[[Compiled], None] | None,
) -> tuple[BuildResult, dict[str, str]]:
    """Patch the tree of the last build if only the spec changed since, or write all; see `driver.build_tree`."""
    compiled = None
    if look is not None:
        compiled, done = patch_tree(look, lambda: compile_spec(spec_path), jobs, check, progress)
        if done is not None:
            return done, dict(compiled.sources) if compiled else {}
    compiled = compiled or compile_spec(spec_path, repin=repin)
    told = partial(before, compiled) if before is not None else None
    result = write_tree(compiled, out, jobs, frozen, check, progress, told)
    rejected = {} if result.tree else tree_texts(result.diagnostics, out / f".{result.cluster}.rejected")
    return result, {**compiled.sources, **rejected}
