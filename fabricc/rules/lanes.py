"""Lanes of an ASIC that two ports of a switch claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.rules.findings import finding_at
from fabricc.rules.rule import INTERFACES, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

SHARED = "FAB9061"


def _shared_lanes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report each port that has a lane of an earlier one, once."""
    owners: dict[str, str] = {}
    for port, says in statement.ports.items():
        lanes = says.get("lanes")
        for lane in (
            lanes.replace(" ", "").split(",") if isinstance(lanes, str) else ()
        ):  # a count does not identify the lanes
            owner = owners.setdefault(lane, port)
            if owner != port:
                message = f"{port} of {statement.name} has lane {lane}, which {owner} has too"
                remedy = "Remove the port that was not configured, often a stock port."
                yield finding_at(
                    SHARED,
                    statement.device,
                    f"interface[{port}]/lanes",
                    message,
                    "shared lane",
                    remedy=remedy,
                )
                break


RULES = (SwitchRule(SHARED, INTERFACES, (), _shared_lanes),)
