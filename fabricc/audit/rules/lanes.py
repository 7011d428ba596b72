"""Lanes of an ASIC that two ports of a switch claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.audit.rules.sheet import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

SHARED = "FAB9061"


def shared_lanes(sheet: Sheet) -> Iterator[Finding]:
    """Report each port that has a lane of an earlier one, once."""
    owners: dict[str, str] = {}
    for port, says in sheet.ports.items():
        lanes = says.get("lanes")
        for lane in (
            lanes.replace(" ", "").split(",") if isinstance(lanes, str) else ()
        ):  # a count does not identify the lanes
            owner = owners.setdefault(lane, port)
            if owner != port:
                message = f"{port} of {sheet.name} has lane {lane}, which {owner} has too"
                remedy = "Remove the port that was not configured, often a stock port."
                yield told(
                    SHARED, sheet.device, f"interface[{port}]/lanes", message, "shared lane", remedy=remedy
                )
                break
