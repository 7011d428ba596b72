"""Find switches that lack a service which others have, or which a complete configuration states."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.rules.access import OPEN
from fabricc.rules.rule import OTHER, FabricRule, Report
from fabricc.rules.summary import ACCESS, SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.rules.rule import Switches
    from fabricc.rules.summary import Summary

MISSING = "FAB9674"
_FIRST = ("management/ntp",)
"""Services that a switch needs which has another one: without them the times in its log are wrong."""


def _missing_services(fabric: Switches) -> Iterator[Report]:
    """Report a service that most switches have and some lack, or that none has although others are configured.

    Management without a list is a note where no switch has one, but for a switch with a list that no port uses.
    """
    switches = fabric.summaries
    counts = Counter(path for summary in switches.values() for path in summary.services)
    for path, service in SERVICES.items():
        if counts[path] == len(switches):
            continue
        most = counts[path] * 2 > len(switches)
        for name, summary in switches.items():
            expected = most or (not fabric.planned and _is_expected(summary, path))
            if path in summary.services or not expected:
                continue
            others = f", which {counts[path]:,} of {len(switches):,} switches have" if most else ""
            unbound = [summary.unbound] if path == ACCESS and summary.unbound else []
            around = (*summary.services, *summary.beside, "management/address", "system/hostname")
            code = OPEN if path == ACCESS else MISSING
            severity = Severity.NOTE if path == ACCESS and not (most or unbound) else Severity.WARNING
            message, remedy = f"{name} has no {service}{others}", f"Configure the {service}."
            yield Report(code, name, (path, *unbound, *around), message, f"no {service}", severity, remedy)


def _is_expected(summary: Summary, path: str) -> bool:
    """Return whether a switch states what a complete configuration states with a service."""
    if path == ACCESS:
        return bool(summary.services)
    return bool(summary.beside) or (bool(summary.services) and path in _FIRST)


RULES = (FabricRule(MISSING, OTHER, (), _missing_services),)
