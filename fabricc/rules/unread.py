"""Settings that no daemon reads, or that cannot take effect, as the back end states them: facts `unread[...]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import OTHER, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

UNREAD = "FAB9060"
_FACT = "unread["


def _unread_settings(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report each of them with its reason, at the line that states it."""
    for path, why in statement.rest.items():
        if path.startswith(_FACT):
            subject = path.removeprefix(_FACT).rpartition("]")[0]
            message = f"{statement.name}: {subject} has no effect: {why}"
            remedy = "Fulfill the condition, or remove the setting."
            yield finding_at(
                UNREAD, statement.device, path, message, f"no effect: {subject}", Severity.WARNING, remedy
            )


RULES = (SwitchRule(UNREAD, OTHER, (), _unread_settings),)
