"""A fault is found on one switch and on all switches; an untouched fabric has no findings."""

from __future__ import annotations

import pytest

from fabricc.base.diagnostics import Severity
from tests.audit.faults.fabric import SYSTEMS, audit_altered
from tests.audit.faults.seeds import KINDS, WITH_HOSTS, name_findings, plant

CASES = [(kind, system) for kind, (_, edits) in KINDS.items() for system in SYSTEMS if system in edits]
QUICK = [case for number, case in enumerate(CASES) if number % 5 == 0]
"""Every fifth case: each kind on about one system."""


def is_found(kind: str, system: str, scope: str) -> bool:
    """Plant a fault and return whether a warning or an error names a switch that has it."""
    planted = plant(kind, system, scope)
    if planted is None:
        return True
    return bool(name_findings(planted, audit_altered(system, planted.texts, hosts=kind in WITH_HOSTS)))


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_untouched_fabric_is_silent(system: str) -> None:
    assert [each for each in audit_altered(system, {}) if each.severity is not Severity.NOTE] == []


@pytest.mark.spread(12)
@pytest.mark.parametrize(("kind", "system"), QUICK)
def test_a_fault_on_all_switches_is_found(kind: str, system: str) -> None:
    assert is_found(kind, system, "all")


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["one", "tier", "all"])
@pytest.mark.parametrize(("kind", "system"), CASES)
def test_every_fault_is_found(kind: str, system: str, scope: str) -> None:
    if plant(kind, system, scope) is None:
        pytest.skip("a fault of several tiers")
    assert is_found(kind, system, scope)
