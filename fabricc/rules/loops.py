"""Find switches that accept routes with their own AS number in the path, so that loops are not detected."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.device import Tier
from fabricc.facts.statement import session_path
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import POLICY, FabricRule, Report, SwitchRule
from fabricc.rules.sessions import UPPER, external_sessions
from fabricc.rules.summary import OWN_AS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.rule import Switches
    from fabricc.rules.sessions import Key, Sessions

LOOPS = "FAB9663"


def _upper_loops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report that a spine or core accepts routes which have its own AS number in their path already."""
    if statement.place.tier not in UPPER:
        return
    open_ = [
        key
        for key, says in external_sessions(statement)
        if says.get("allow_as_in") not in (None, 0, "0") and _leads_down(statement, sessions, key)
    ]
    paths = [session_path(key, "allow_as_in") for key in open_] or [OWN_AS]
    if not open_ and OWN_AS not in statement.rest:
        return
    message = (
        f"{statement.name} accepts routes with its own AS number in the path: a route that came down from this tier "
        "goes up again, and loops are not detected"
    )
    remedy = "Remove it from the sessions of spines and cores; only ToRs that share one AS number need it."
    yield finding_at(LOOPS, statement.device, paths[0], message, "own AS accepted", Severity.WARNING, remedy)


def _leads_down(statement: Statement, sessions: Sessions, key: Key) -> bool:
    far = statement.fars.get(sessions.near.get(key, ""))
    return far is not None and far.tier in (Tier.TOR, Tier.SPINE)


def _tor_loops(fabric: Switches) -> Iterator[Report]:
    """Report ToRs that accept their own AS number, which no other ToR has."""
    numbers = Counter(summary.asn for summary in fabric.summaries.values() if summary.tier is Tier.TOR)
    for name, summary in fabric.summaries.items():
        if (
            summary.tier is Tier.TOR
            and summary.loops
            and summary.asn is not None
            and numbers[summary.asn] == 1
            and len(numbers) > 1
        ):
            message = (
                f"{name} accepts routes with AS {summary.asn} in the path, which no other ToR has: a loop"
            )
            remedy = "Remove it; only switches that share an AS number need it."
            yield Report(LOOPS, name, (summary.loops,), message, "own AS accepted", Severity.WARNING, remedy)


RULES = (
    SwitchRule(LOOPS, POLICY, (Input.TIER,), _upper_loops),
    FabricRule(LOOPS, POLICY, (Input.TIER,), _tor_loops),
)
