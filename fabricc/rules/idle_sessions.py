"""Find sessions with other switches whose policy or family permits no route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.paths import split_list_path
from fabricc.rules.announcements import POINTLESS
from fabricc.rules.findings import finding_at
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import POLICY, Input, SwitchRule
from fabricc.rules.sessions import sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions

_FAMILY = "bgp/family["


def _families_off(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report address families that BGP has off as a whole, and that sessions carry."""
    for path, value in statement.facts_below(_FAMILY).items():
        family, leaf = split_list_path(path, "bgp/family")
        carrying = [
            neighbor
            for (vrf, neighbor), values in statement.sessions.items()
            if not vrf and family in str(values.get("families", "")).split(",")
        ]
        if value in _OFF and carrying and not leaf:
            message = f"{statement.name}: {family} is off in BGP, and {len(carrying)} sessions carry it"
            remedy = "Enable the address family."
            yield finding_at(
                POINTLESS, statement.device, path, message, "family off", Severity.WARNING, remedy
            )


_OFF = ("off", "disabled")


def _empty_maps(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches that have no clause: they permit no route."""
    found: dict[str, list[Key]] = {}
    for key, values in sessions_to_switches(statement, sessions):
        for leaf in ("import", "export"):
            if statement.rest.get(f"route_map[{values.get(leaf)}]/rules") == 0:
                found.setdefault(str(values[leaf]), []).append(key)
    for name, keys in found.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = f"{statement.name}: the policy {name} of the sessions with {who} has no clause, and permits nothing"
        remedy = "Add the clause that permits the prefixes of the fabric."
        path = f"route_map[{name}]/rules"
        yield finding_at(REFUSED, statement.device, path, message, "empty policy", Severity.WARNING, remedy)


RULES = (
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _families_off),
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _empty_maps),
)
