"""A fault in one line of one device is reported at that line; a sound fabric has no findings."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from fabricc.audit.rules import find_all, invariant_progress
from fabricc.base.diagnostics import Severity
from fabricc.proof.invariants.rules import RULES
from tests.audit import fabrics, ours
from tests.audit.seeds import KINDS, SHAPES, TO_HOSTS, is_reported, spec_of_shape, try_seeds

LEAST = {"eos": 16, "nxos": 15, "junos": 13, "sonic": 15, "cumulus": 15, "frr": 8}
"""The least number of kinds of fault that a system can have."""

REACHED = 96
"""Per cent of the faults tried here, or all but one; of 489 tried with six of each kind 488 were named."""

WITHOUT_BFD = "rack-zone-512"
"""An inventory with spines that run BFD above ToRs whose release does not."""


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", ours.MODELS)
@pytest.mark.spread
def test_faults_are_named_at_their_line(system: str, times: int) -> None:
    found: Counter[bool] = Counter()
    kinds = set()
    missed = []
    for planted, reported in try_seeds(system, times):
        kinds.add(planted.kind)
        hit = is_reported(planted, reported)
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
    faults = list(try_seeds(system, 1, kinds=kinds, text=spec_of_shape(system, shape)))
    assert len(faults) >= 4
    assert [(each.kind, each.file) for each, reported in faults if not is_reported(each, reported)] == []


@pytest.mark.spread
@pytest.mark.parametrize("system", ours.MODELS)
@pytest.mark.parametrize("hosts", [False, True])
def test_a_sound_fabric_is_reported_as_sound(system: str, hosts: bool, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ours.spec_of(system))
    reported = find_all(ours.found_in(spec, hosts=hosts) if hosts else ours.disguise_spec(spec))
    assert [each for each in reported if each.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("name", [
    "lab-smallest", "storage-zone", "tenant-front-end",
    *(pytest.param(name, marks=pytest.mark.slow)
      for name in ("gb200-nvl72-su", "rack-zone-512", "superpod-b200-4su", "whole-cluster-256")),
])  # fmt: skip
@pytest.mark.spread
def test_inventories_are_sound(name: str) -> None:
    spec = Path(__file__).parents[2] / "inventories" / name / "cluster.yaml"
    for found in (ours.found_in(spec, hosts=True), ours.disguise_spec(spec)):
        reported = find_all(found)
        odd = {each.code for each in reported if each.severity is not Severity.NOTE}
        assert odd == ({"FAB9665"} if name == WITHOUT_BFD else set())


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [True, False])
@pytest.mark.parametrize("name", ["8 hosts of whole-cluster-256", "superpod-four-networks"])
def test_networks_of_one_folder_are_apart(name: str, hosts: bool) -> None:
    found = fabrics.found_of(fabrics.collect_devices(fabrics.compile_inventory(name), hosts=hosts))
    assert [each for each in find_all(found) if each.severity is not Severity.NOTE] == []


def test_one_path_between_two_tors_is_reported(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    text = ours.spec_of("junos").replace("uplinks: 4", "peer_links: 4")
    text = re.sub(r"^spines:.*\n", "", text, flags=re.M)
    spec.write_text(
        text.replace("hosts: 8, hosts_per_unit: 4", "hosts: 4, hosts_per_unit: 4, rails_per_tor: 4")
    )
    devices = ours.disguise_spec(spec).devices
    assert find_all(ours.infer_fabric(devices)) == []
    device = devices["p001-r1"]
    path = next(iter(device.files))
    bare = re.sub(r" +multipath \{\n.*\n +\}\n", "", device.files[path])
    altered = ours.switch_device(device.name, device.system, {path: bare}, device.model)
    reported = find_all(ours.infer_fabric({**devices, device.name: altered}))
    assert ("FAB6209", f"p001-r1/{path}") in {(each.code, each.file) for each in reported}


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
