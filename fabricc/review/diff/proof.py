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
    if not _has_own_text(after):
        return _new_rule_findings(before, after)
    found = _prove_side(after)
    if not found:
        return ()
    known = {_count_less(each) for each in _prove_side(before)} if before is not None else set()
    new = (each for each in found if _count_less(each) not in known)
    return tuple(replace(each, position=None) for each in new)  # its file is in no repository


def _new_rule_findings(before: Compiled | None, after: Compiled) -> tuple[Diagnostic, ...]:
    """Return what the rules find on the newer side alone; the older side also judges the switches that they name."""
    found = list(find_plan_findings(after))
    if not found:
        return ()
    known: set[tuple[str, str]] = set()
    if before is not None:
        names = {word.strip(":,") for each in found for word in each.message.split()}
        known = {(each.code, each.message) for each in find_plan_findings(before, sorted(names))}
    grouped = Grouped()
    grouped.add(each for each in found if (each.code, each.message) not in known)
    spec = after.spec
    new = apply_severities(soften_breaches(grouped.diagnostics(spec.cluster), spec), spec.accept)
    return tuple(replace(each, position=None) for each in new if each.severity is not Severity.NOTE)


def _count_less(finding: Diagnostic) -> tuple[str, str]:
    """Return code and message of a finding without the number of others like it."""
    return finding.code, finding.message.partition(" (and ")[0]


def _has_own_text(compiled: Compiled) -> bool:
    specs = compiled.spec, *compiled.spec.networks.values()
    return templating.in_use() or any(each.overlays or each.catalog_files for each in specs)


def _prove_side(compiled: Compiled) -> list[Diagnostic]:
    try:
        found = compiled.proof()
    except EmitError as error:
        found = (error.diagnostic,)
    return [each for each in found if each.severity is not Severity.NOTE]
