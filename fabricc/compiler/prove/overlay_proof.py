"""Prove the overlays of a spec on a few switches, so that a spec is not called valid if a build refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.compiler.prove.device_proof import switch_findings
from fabricc.compiler.render.overlays import SAMPLE
from fabricc.compiler.render.switch_files import render_switch
from fabricc.front.spec.load import apply_severities
from fabricc.proof.finding_places import Text
from fabricc.proof.invariants.accepted_breaches import soften_breaches

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

_CONTRADICTION = "A build refuses this. Overlays add lines; change the plan by keys of the spec."


def find_contradictions(spec: ClusterSpec, fabric: Fabric) -> list[Diagnostic]:
    """Return the errors that a build reports for switches with overlays, found on one switch of each kind."""
    named = {name for plan in fabric.overlays for name in plan.devices[:SAMPLE]}
    kinds = set(fabric.kinds())
    found: list[Diagnostic] = []
    for at in fabric.switch_ids() if named else kinds:
        if at not in kinds and fabric.name(at) not in named:
            continue
        switch = fabric.switch(at)
        if not switch.overlays:
            continue
        files = render_switch(switch)
        text = Text(files, back_ends.load(switch.nos).read(files))
        found += [
            spec.error(each.code, each.message, "overlays", help=_CONTRADICTION)
            for each in switch_findings(switch, text, fresh=False)
            if each.severity is Severity.ERROR
        ]
    return apply_severities(soften_breaches(found, spec), spec.accept)
