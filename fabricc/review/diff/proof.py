"""Find what the proof and the rules report of the newer side, and not of the older side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import templating
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.values import replace
from fabricc.compiler.prove.finding_groups import Grouped
from fabricc.compiler.write.fabric_rules import find_plan_findings
from fabricc.front.spec.load import apply_severities
from fabricc.proof.invariants.accepted_breaches import soften_breaches
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled


def new_proof_findings(before: Compiled | None, after: Compiled) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of `check` that only the newer side has.

    Only specs with text or figures of their own are proved, which are overlays, removals, templates and catalog files.
    Without these, each file is what fabricc renders and proves in every build; the rules run on the planned facts.

    Args:
        before: the older side; None where there is none.
        after: the newer side.
    """
    if before is not None and before.inputs == after.inputs:
        return ()
    report = _prove_side if _has_own_text(after) else _rules
    found = report(after)
    if not found:
        return ()
    known = {(each.code, each.message) for each in report(before)} if before is not None else set()
    new = (each for each in found if (each.code, each.message) not in known)
    return tuple(replace(each, position=None) for each in new)  # its file is in no repository


def _has_own_text(compiled: Compiled) -> bool:
    specs = compiled.spec, *compiled.spec.networks.values()
    return templating.in_use() or any(each.overlays or each.catalog_files for each in specs)


def _prove_side(compiled: Compiled) -> list[Diagnostic]:
    try:
        found = compiled.proof()
    except EmitError as error:
        found = (error.diagnostic,)
    return [each for each in found if each.severity is not Severity.NOTE]


def _rules(compiled: Compiled) -> list[Diagnostic]:
    spec, grouped = compiled.spec, Grouped()
    grouped.add(find_plan_findings(compiled))
    found = apply_severities(soften_breaches(grouped.diagnostics(spec.cluster), spec), spec.accept)
    return [each for each in found if each.severity is not Severity.NOTE]
