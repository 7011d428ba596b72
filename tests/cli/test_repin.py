"""`--repin` on the command line: the smallest set automatically, keys exactly, and the effect before the write."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

SPEC = """\
cluster: lab
gpus: {hosts: 8, model: dgx-b200, wiring: rail, hosts_per_unit: 4}
tors: {model: sn5400, nos: frr}
spines: {model: sn5400, nos: frr}
priorities: {rdma: {dscp: 26}, default: {}}
"""
RACKS = """\
cluster: lab
gpus: {{model: dgx-b200, wiring: rack, racks: 3, hosts_per_rack: 2}}
tors: {{model: sn5400, nos: frr, uplinks: 8}}
spines: {{model: sn5400, nos: frr, count: {count}}}
priorities: {{rdma: {{dscp: 26}}, default: {{}}}}
"""


@pytest.fixture
def grown(repo: Path, fabricc: Fabricc) -> Path:
    """A deployed cluster whose spines the spec has outgrown."""
    spec = repo / "cluster.yaml"
    spec.write_text(SPEC)
    assert fabricc("lock", "cluster.yaml").status == 0
    spec.write_text(SPEC.replace("hosts: 8", "hosts: 32"))
    return repo


def read_pins(folder: Path) -> dict[str, str]:
    lines = (folder / "fabricc.lock").read_text().splitlines()
    return dict(line.split()[1:3] for line in lines if line.startswith("stride "))


def test_build_repin_lists_affected_devices_before_it_changes_one_pin(grown: Path, fabricc: Fabricc) -> None:
    before = read_pins(grown)
    ran = fabricc("build", "--repin", "cluster.yaml")
    assert ran.status == 0, ran.err
    after = read_pins(grown)
    assert {name for name in before if after[name] != before[name]} == {"links_per_spine"}
    reported = "links_per_spine from 4 to 1: 64 GPUs, 17 switches, 63 cables moved"
    assert ran.err.startswith(f"repinning {reported}\n")
    assert f"repinned  {reported}" in ran.out
    assert f"note FAB3037: --repin changes {reported}" in ran.err
    again = fabricc("build", "cluster.yaml")
    assert (again.status, "FAB3037" in again.err, "up to date" in again.out) == (0, False, True)


def test_the_plan_shows_it_and_writes_nothing(grown: Path, fabricc: Fabricc) -> None:
    lock = (grown / "fabricc.lock").read_bytes()
    refused = fabricc("plan", "cluster.yaml")
    assert (refused.status, "fabricc build --repin" in refused.err) == (1, True)
    ran = fabricc("plan", "--repin", "cluster.yaml", "--format", "json")
    assert ran.status == 0
    reported = json.loads(ran.out)
    assert reported["repinned"] == {
        "pins": {"links_per_spine": [4, 1]},
        "touched": {"gpus": 64, "switches": 17, "hosts": 0, "cables": 63, "links": 0},
    }
    assert (grown / "fabricc.lock").read_bytes() == lock


def test_a_key_changes_that_pin_alone_or_is_refused(grown: Path, fabricc: Fabricc) -> None:
    lock = (grown / "fabricc.lock").read_bytes()
    for key, code, output in (
        ("unit", "FAB3035", "required: links_per_spine from 4 to 1"),
        ("unti", "FAB3036", "the lock has no pin 'unti'"),
    ):
        for verb in ("build", "lock"):
            ran = fabricc(verb, f"--repin={key}", "cluster.yaml")
            assert (ran.status, code in ran.err, output in ran.err) == (1, True, True), ran.err
            assert (grown / "fabricc.lock").read_bytes() == lock
    before = read_pins(grown)
    ran = fabricc("lock", "--repin=stride links_per_spine", "cluster.yaml")
    assert ran.status == 0, ran.err
    assert read_pins(grown) == before | {"links_per_spine": "1"}


def test_build_repin_changes_nothing_when_nothing_is_outgrown(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(SPEC)
    assert fabricc("lock", "cluster.yaml").status == 0
    lock = (repo / "fabricc.lock").read_bytes()
    ran = fabricc("build", "cluster.yaml", "--repin")
    assert (ran.status, "FAB3038" in ran.err) == (0, True)
    assert "repinned  nothing" in ran.out
    assert (repo / "fabricc.lock").read_bytes() == lock


def test_alone_and_with_a_key_exclude_each_other(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("build", "--repin", "--repin=unit", "cluster.yaml")
    assert (ran.status, "Use either" in ran.err) == (2, True)


@pytest.mark.parametrize(("spines", "more"), [(2, 4), (2, 8), (4, 8)])
@pytest.mark.spread
def test_the_cables_that_move_are_those_that_the_tables_list(
    repo: Path, fabricc: Fabricc, spines: int, more: int
) -> None:
    """A spine count that the pins do not take is newer than they are."""
    spec, cables = repo / "cluster.yaml", []
    for count, words in ((spines, ()), (more, ("--repin",))):
        spec.write_text(RACKS.format(count=count))
        ran = fabricc("build", "cluster.yaml", *words)
        assert ran.status == 0, ran.err
        (table,) = repo.glob("build/*/plan/cabling.csv")
        cables.append({tuple(row[1:5]) for row in csv.reader(table.open())})
    gone = len(cables[0] - cables[1])
    assert gone
    assert f"{gone} cables moved" in ran.err
