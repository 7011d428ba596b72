"""A fault in one line of one device is reported at that line; a sound fabric has no findings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fabricc.audit.rules import find_all, invariant_progress
from fabricc.base.diagnostics import Severity
from fabricc.proof.invariants.rules import RULES
from tests.audit import ours
from tests.audit.seeds import KINDS, SHAPES, TO_HOSTS, named, shaped, tried

LEAST = {"eos": 16, "nxos": 15, "junos": 13, "sonic": 15, "cumulus": 15, "frr": 8}
"""The least number of kinds of fault that a system can have."""

REACHED = 96
"""Per cent of the faults tried here, or all but one; of 489 tried with six of each kind 488 were named."""


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", ours.MODELS)
@pytest.mark.spread(6)
def test_faults_are_named_at_their_line(system: str, times: int) -> None:
    found: Counter[bool] = Counter()
    kinds = set()
    missed = []
    for planted, told in tried(system, times):
        kinds.add(planted.kind)
        hit = named(planted, told)
        found[hit] += 1
        if not hit:
            missed.append((planted.kind, planted.file, sorted(planted.lines)))
    assert len(kinds) >= LEAST[system], sorted(KINDS.keys() - kinds)
    assert len(missed) <= max(1, found.total() * (100 - REACHED) // 100), missed


@pytest.mark.slow
@pytest.mark.parametrize(("system", "shape"), [
    ("eos", "unnumbered"), ("eos", "dual stack"), ("eos", "racks"), ("nxos", "dual stack"), ("junos", "racks"),
    ("sonic", "unnumbered"), ("cumulus", "dual stack"),
])  # fmt: skip
def test_faults_are_named_in_fabrics_of_other_shapes(system: str, shape: str) -> None:
    assert shape in SHAPES
    kinds = ("MTU", "PFC off", "remote AS", f"MTU{TO_HOSTS}", f"PFC off{TO_HOSTS}")
    faults = list(tried(system, 1, kinds=kinds, text=shaped(system, shape)))
    assert len(faults) >= 4
    assert [(each.kind, each.file) for each, told in faults if not named(each, told)] == []


@pytest.mark.spread(4)
@pytest.mark.parametrize("system", ours.MODELS)
@pytest.mark.parametrize("hosts", [False, True])
def test_a_sound_fabric_is_reported_as_sound(system: str, hosts: bool, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ours.spec_of(system))
    told = find_all(ours.found_in(spec, hosts=hosts) if hosts else ours.foreign(spec))
    assert [each for each in told if each.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("name", [
    "lab-smallest", "storage-zone", "tenant-front-end",
    *(pytest.param(name, marks=pytest.mark.slow)
      for name in ("gb200-nvl72-su", "rack-zone-512", "superpod-b200-4su", "whole-cluster-256")),
])  # fmt: skip
@pytest.mark.spread(3)
def test_inventories_are_sound(name: str) -> None:
    spec = Path(__file__).parents[2] / "inventories" / name / "cluster.yaml"
    for found in (ours.found_in(spec, hosts=True), ours.foreign(spec)):
        told = find_all(found)
        assert [each for each in told if each.severity is not Severity.NOTE] == []


def test_evaluated_rules_are_counted(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ours.spec_of("sonic"))
    rows = {row.number: row for row in invariant_progress(ours.found_in(spec))}
    assert rows.keys() == RULES.keys()
    assert rows[12].proved == 18
    assert rows[3].not_applicable == 18
    assert "plan" in rows[3].why
    bare = ours.spec_of("frr")
    spec.write_text(bare)
    ours.switches_of.cache_clear()
    rows = {row.number: row for row in invariant_progress(ours.found_in(spec))}
    assert rows[13].proved == 0
    assert rows[13].not_applicable == 18
    assert rows[10].proved == 18
