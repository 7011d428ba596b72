"""Find switches that announce a default route to the switches above them and have none themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import session_path
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import POLICY, SwitchRule
from fabricc.rules.sessions import UPPER, external_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

NOWHERE = "FAB9683"
_DEFAULTS = ("static_route[0.0.0.0/0]", "static_route[::/0]")


def _default_to_nowhere(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a default route for upper switches where no way out of the fabric is known."""
    fars = [(key, statement.fars.get(sessions.near.get(key, ""))) for key, _ in external_sessions(statement)]
    if any(path in statement.rest for path in _DEFAULTS) or any(
        far is None or not far.known for _, far in fars
    ):
        return
    for key, far in fars:
        if (
            far
            and far.tier in UPPER
            and statement.sessions[key].get("default_originate") not in (None, "off")
        ):
            message = (
                f"{statement.name} announces a default route upwards and has none, so it drops that traffic"
            )
            remedy = "Remove the default route, or announce it on the switches that lead out of the fabric."
            path = session_path(key, "default_originate")
            yield finding_at(
                NOWHERE, statement.device, path, message, "default route", Severity.WARNING, remedy
            )
            return


RULES = (SwitchRule(NOWHERE, POLICY, (Input.BGP, Input.LINKS), _default_to_nowhere),)
