"""The build: nothing when nothing changed, few devices when few are concerned, else the whole tree."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from fabricc.compiler.incremental import record
from fabricc.compiler.load.spec_location import input_texts
from fabricc.tree.state import has_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.compiler.result import BuildResult


def build_tree(
    spec_path: Path,
    out: Path,
    *,
    jobs: int | None = None,
    frozen: bool = False,
    repin: Sequence[str] | None = None,
    check: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    before: Callable[[Compiled], None] | None = None,
) -> tuple[BuildResult, dict[str, str]]:
    """Build the spec's tree below `out`.

    Args:
        spec_path: the spec.
        out: folder that holds the tree, which is named after the cluster.
        jobs: worker processes; None for one per usable CPU.
        frozen: fail rather than change the lock.
        repin: pins of the lock that may change, as for `compile_spec`.
        check: read every file back and prove it; without, the tree is written unproved.
        progress: called with the current phase, the number done and the total.
        before: called with the sound plan before a whole build writes anything.

    Returns:
        The result, and the text of the files that diagnostics point into, by name.
    """
    known = None if repin is not None else record.last_build(out, spec_path, record.build_options(check))
    with ExitStack() as looking:
        look: record.LastCheck | None = None
        if known is not None:
            look = looking.enter_context(known.check_in_background(jobs))
            changed = known.changed_inputs()
            if changed == [] and not has_pending(known.tree) and look.unedited():
                result = known.result()
                return result, input_texts(result.diagnostics)
            if changed != [spec_path.resolve()] or not known.alone or not known.ledger:
                looking.close()
                look = None
        # Imported when there is something to do: to find that there is nothing takes half the time without.
        from fabricc.compiler.incremental.partial import rebuild_tree

        return rebuild_tree(
            spec_path, out, look,
            jobs=jobs, frozen=frozen, repin=repin, check=check, progress=progress, before=before,
        )  # fmt: skip
