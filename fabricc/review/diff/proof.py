"""Find what the proof of the newer side reports and that of the older side does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import templating
from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.compiled import Compiled


def new_proof_findings(before: Compiled | None, after: Compiled) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of `check` that only the newer side has.

    Only specs with text or figures of their own are proved, which are overlays, removals, templates and catalog files:
    without these, each file is what fabricc renders and proves in every build.

    Args:
        before: the older side; None where there is none.
        after: the newer side.
    """
    if not _has_own_text(after) or (before is not None and before.inputs == after.inputs):
        return ()
    found = _proof(after)
    if not found:
        return ()
    known = {(each.code, each.message) for each in _proof(before)} if before is not None else set()
    new = (each for each in found if (each.code, each.message) not in known)
    return tuple(replace(each, position=None) for each in new)  # its file is in no repository


def _has_own_text(compiled: Compiled) -> bool:
    specs = compiled.spec, *compiled.spec.networks.values()
    return templating.in_use() or any(each.overlays or each.catalog_files for each in specs)


def _proof(compiled: Compiled) -> list[Diagnostic]:
    try:
        found = compiled.proof()
    except EmitError as error:
        found = (error.diagnostic,)
    return [each for each in found if each.severity is not Severity.NOTE]
