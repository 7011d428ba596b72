"""List the findings of `check` on the tree of a spec, without the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import templating
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.write.fabric_rules import find_plan_findings
from fabricc.front.spec.load import apply_severities
from fabricc.proof.invariants.rules import soften_breaches
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.compiler.compiled import Compiled
    from fabricc.proof.compare import Finding


def has_own_text(compiled: Compiled) -> bool:
    """Return whether a spec has text or figures of the user's own: overlays, removals, templates and catalog files."""
    specs = compiled.spec, *compiled.spec.networks.values()
    return templating.in_use() or any(each.overlays or each.catalog_files for each in specs)


def list_proof_findings(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of `check` on the tree of a spec, without the tree.

    The files are rendered and proved where the spec has text of its own; else the rules run on the planned facts.
    """
    if not has_own_text(compiled):
        return group_findings(compiled, find_plan_findings(compiled))
    try:
        found = compiled.proof()
    except EmitError as error:
        found = (error.diagnostic,)
    return tuple(each for each in found if each.severity is not Severity.NOTE)


def group_findings(compiled: Compiled, found: Iterable[Finding]) -> tuple[Diagnostic, ...]:
    """Return findings as `check` reports them: in groups, and with what the spec accepts."""
    grouped, spec = FindingGroups(), compiled.spec
    grouped.add(found)
    new = apply_severities(soften_breaches(grouped.diagnostics(spec.cluster), spec), spec.accept)
    return tuple(each for each in new if each.severity is not Severity.NOTE)
