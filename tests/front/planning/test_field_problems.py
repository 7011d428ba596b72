"""Known field problems are data, and a plan that meets one has a warning with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.catalog.support import CONDITIONS, load_field_problems
from fabricc.compiler.compiled import compile_spec
from tests import tenanted

SPEC = """\
cluster: th5one
gpus: {{model: dgx-h100, hosts: 8, hosts_per_unit: 8}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
{more}  cnp: {{dscp: 48, strict: true}}
  default: {{}}
"""
IDLE = "  idle: {dscp: 34, priority: 4, lossless: true}\n"
UNMARKED = "  idle: {dscp: 34, priority: 4, lossless: true, ecn: false}\n"


def find_warnings(folder: Path, model: str, nos: str, more: str = "") -> list[str]:
    spec = folder / "cluster.yaml"
    host = "lab-host" if model == "7280cr3-32d4" else "dgx-h100"  # its ports are of 100G
    spec.write_text(SPEC.replace("dgx-h100", host).format(model=model, nos=nos, more=more))
    found = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3091"]
    assert all(each.severity is Severity.WARNING and "Source: " in each.help for each in found)
    assert all(len(each.message) < 160 for each in found)
    return [each.message for each in found]


def test_every_problem_names_systems_and_asics_that_exist() -> None:
    switches = load_catalog()[0].switches
    families = {switches[name].asic_family for name in switches}
    for problem in load_field_problems():
        assert set(problem.systems) <= set(back_ends.list_names())
        assert set(problem.asics) <= families
        assert problem.when in CONDITIONS
        assert all((problem.problem, problem.way_out, problem.source))


@pytest.mark.parametrize(
    ("model", "nos", "more", "word"),
    [
        ("z9864f", "sonic-202605", "", "watchdog flaps"),
        ("nh-4010", "sonic-202511", "", "watchdog flaps"),
        ("z9664f", "sonic", "", "watchdog flaps"),
        ("z9864f", "sonic-202605", IDLE, "without ECT"),
        ("sn5600", "sonic", IDLE, "without ECT"),
        ("9364d-gx2a", "nxos", IDLE, "without ECT"),
        ("9364e-sg2", "nxos", "", "CVE-2026-20212"),
    ],
)
def test_a_plan_that_meets_a_problem_has_a_warning(
    tmp_path: Path, model: str, nos: str, more: str, word: str
) -> None:
    (message,) = find_warnings(tmp_path, model, nos, more)  # two tiers of one model: once
    assert word in message


@pytest.mark.parametrize(
    ("model", "nos", "words"),
    [
        ("7220-h6-128", "sonic-202605", ["watchdog flaps", "warm reboot aborts", "ECN marked stay absent"]),
        ("7280cr3-32d4", "sonic-202405", ["does not drop"]),
        ("7280cr3-32d4", "sonic-202411", []),
    ],
)
def test_a_plan_can_meet_several_problems(tmp_path: Path, model: str, nos: str, words: list[str]) -> None:
    found = find_warnings(tmp_path, model, nos)
    assert len(found) == len(words)
    assert all(word in message for word, message in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("model", "nos", "more"),
    [
        ("sn5600", "sonic", ""),
        ("7060x6-64pe", "eos", ""),
        ("7280cr3-32d4", "eos", ""),
        ("z9864f", "sonic-202605", UNMARKED),
        ("sn5600", "cumulus", IDLE),
    ],
)
def test_other_systems_asics_and_the_way_out_have_none(
    tmp_path: Path, model: str, nos: str, more: str
) -> None:
    assert find_warnings(tmp_path, model, nos, more) == []


@pytest.mark.parametrize(
    ("release", "spines", "warned"),
    [("8.4", 2, True), ("9.1", 2, False), ("10.0", 2, False), ("8.4", 1, False)],
)
def test_tenants_over_several_spines_need_a_release_that_keeps_router_macs(
    tmp_path: Path, release: str, spines: int, warned: bool
) -> None:
    spec = tmp_path / "cluster.yaml"
    text = tenanted.spec_text("frr").replace("nos: frr", f"nos: frr-{release}")
    spec.write_text(text.replace("count: 2", f"count: {spines}"))
    found = [each.message for each in compile_spec(spec).diagnostics if each.code == "FAB3091"]
    assert any("router MAC" in message for message in found) is warned
