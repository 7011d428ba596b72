"""A push as an operator sees it, against simulated switches over real sockets."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.push import gates
from tests.operate.push import matrix
from tests.operate.push.network import DISRUPTIVE, HITLESS, PASSWORD, Network, run_here

if TYPE_CHECKING:
    from pathlib import Path

NEW = matrix.NEW[HITLESS]


def test_a_push_goes_in_waves_and_back_again(network: Network) -> None:
    network.extra += ["--confirm-within", "60"]
    assert "FAB9113" not in network.push(status=0).stderr, "switches that run the tree need no journal"
    network.edit(DISRUPTIVE)
    preview = network.push("--dry-run", status=0).stdout
    assert "+ timers bgp 3 12" in preview
    assert "keeps 50 % of plane a spines" in preview
    assert {network.interval(name) for name in network.source.devices} == {"first"}

    ran = network.push(status=0)
    assert "wave 1 of 5 (canary): spine01a" in ran.stderr
    assert set(network.states().values()) == {"undrained"}
    network.truthful(matrix.NEW[DISRUPTIVE])

    network.push("--rollback", "2", status=0)
    assert {network.interval(name) for name in network.source.devices} == {"first"}
    assert "rollback of 2" in network.push("--status", status=0).stdout


@pytest.mark.slow
def test_push_json_contains_changes_and_outcome(network: Network) -> None:
    network.edit(HITLESS)
    before = network.runs("spine01a")
    dry = json.loads(network.push("--dry-run", "--adopt", "--format", "json", status=0).stdout)
    assert network.runs("spine01a") == before
    assert dry["switches"].keys() == network.source.devices.keys()
    assert "+  transmit-interval 500" in dry["switches"]["spine01a"]["diff"]
    assert sum(map(len, dry["waves"])) == len(dry["switches"])
    ended = json.loads(network.push("--adopt", "--format", "json", status=0).stdout)
    assert (ended["states"], ended["exit_status"]) == ({"confirmed": len(network.source.devices)}, 0)
    assert ended["tree_sha256"] == dry["tree_sha256"]
    again = json.loads(network.push("--format", "json", status=0).stdout)
    assert again["states"] == {"unchanged": len(network.source.devices)}
    runs = json.loads(network.push("--status", "--format", "json", status=0).stdout)["runs"]
    assert [run["outcome"] for run in runs] == ["done", "done"]
    assert {each["state"] for each in runs[1]["switches"].values()} == {"confirmed"}
    assert runs[0]["begun"].endswith("Z")
    network.push("--inventory-out", "hosts", "--format", "json", status=2)


def test_a_push_does_not_start_on_what_it_does_not_know(network: Network) -> None:
    network.edit(HITLESS)
    assert "FAB9113" in network.push(status=1).stderr
    network.push("--adopt", "--only", "spine01a", status=0)
    drifted = network.runs("spine01a").replace("maximum-prefix 16", "maximum-prefix 99")
    network.ask("load", "spine01a", text=drifted)
    network.ask("commit", "spine01a", revert_in=None)
    output = network.push("--only", "spine01a", status=1).stderr
    assert "FAB9112" in output
    assert "maximum_prefixes runs 99, wanted 16" in output
    assert "FAB9121" in network.push("--adopt", "--plan", "--keep", "75%", status=1).stderr
    path = network.source.tree / "switches" / "spine01a" / "hostname"
    path.write_text("other\n")
    assert "FAB9120" in network.push(status=1).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        matrix.Case("committed", "commit_config", 1, "after", "kill"),
        matrix.Case("candidate", "load_replace_candidate", 2, "before", "reject"),
        matrix.Case("committed", "commit_config", 1, "after", "sick"),
    ],
)
def test_a_fault_leaves_a_whole_fabric_and_a_true_journal(case: matrix.Case, tmp_path: Path) -> None:
    row = matrix.play(case, tmp_path / "case")
    assert row.wrong == ""
    assert row.status == (-9 if case.fault == "kill" else 3)
    assert row.after.startswith("rolled-back" if case.fault != "kill" else "candidate")


@pytest.mark.slow
def test_every_fault_at_every_step_leaves_a_whole_fabric_and_a_true_journal(tmp_path: Path) -> None:
    rows = list(matrix.run(matrix.all_cases(), tmp_path))
    assert [matrix.line(row) for row in rows if row.wrong] == []


@pytest.mark.slow
def test_resume_undrains_blocked_switches_and_reads_unknown_ones_again(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault("spine01a", "commit_config", 1, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", "spine01a", "--only", "su001-tor1a", status=-9)
    assert network.interval("spine01a") == "first+shut"
    network.direct = True
    network.ask("cut", "su001-tor1a")
    assert "--resume" in network.push("--resume", status=3).stderr
    assert network.states() == {"spine01a": "planned", "su001-tor1a": "unknown"}
    network.truthful(matrix.NEW[DISRUPTIVE])

    network.ask("mend", "su001-tor1a")
    network.push("--resume", status=0)
    assert network.states() == {"spine01a": "undrained", "su001-tor1a": "undrained"}
    network.truthful(matrix.NEW[DISRUPTIVE])


def test_a_defect_in_the_midst_of_a_wave_takes_its_switches_back(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> list[str]:
        raise RuntimeError("a defect")

    network.edit(HITLESS)
    with monkeypatch.context() as patch:
        patch.setattr(gates, "find_regressions", broken)
        ran = network.push("--adopt", "--only", "spine01a", "--only", "spine02a")
    assert "This is a defect of fabricc" in ran.stderr
    assert network.states() == {"spine01a": "rolled-back", "spine02a": "planned"}
    network.truthful(NEW)
    assert "FAB9128" in network.push("--adopt", status=1).stderr, "the run is not over"
    ended = network.push("--resume", status=3)
    assert "FAB9135" in ended.stderr, "a resumed run has not done what it left"
    assert network.states() == {"spine01a": "rolled-back", "spine02a": "confirmed"}
    network.truthful(NEW)
    network.push("--rollback", "1", status=0)
    network.push("--adopt", "--only", "spine01a", status=0)
    network.truthful(NEW)


def test_a_switch_that_takes_no_candidate_but_runs_what_it_ran_needs_none(network: Network) -> None:
    network.edit(HITLESS)
    address = network.source.devices["spine01a"].address
    lines = [f"{address} load_replace_candidate before reject {count}\n" for count in range(2, 90)]
    (network.folder / "faults").write_text("".join(lines))
    network.push("--adopt", "--only", "spine01a", status=3)
    assert network.states() == {"spine01a": "rolled-back"}
    network.truthful(NEW)


def test_switches_that_cannot_go_back_by_themselves_are_reported_before_the_start(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.edit(HITLESS)
    network.push("--adopt", "--plan")
    monkeypatch.setattr(sys.modules["napalm_simulated"].SimulatedDriver, "CONFIRM_STEP", 0)
    network.fault("spine01a", "commit_config", 1, "after", "sick")
    output = network.push("--adopt", "--only", "spine01a", status=3).stderr
    assert -1 < output.find("FAB9126") < output.find("wave 1 of 1")
    assert network.states() == {"spine01a": "rolled-back"}
    network.truthful(NEW)


@pytest.mark.slow
def test_a_canary_that_announces_nothing_is_rolled_back_before_its_change_is_confirmed(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbors keep their sessions, and it receives what it received before."""
    network.edit(DISRUPTIVE)
    network.push("--adopt", "--plan")
    monkeypatch.setattr(
        sys.modules["napalm_simulated"].SimulatedDriver, "ANNOUNCES_AFTER_S", 0.5, raising=False
    )
    network.fault("su001-tor1a", "commit_config", 2, "after", "mute")
    output = network.push("--adopt", "--only", "su001-tor1a", "--settle", "0", status=3).stderr
    assert "FAB9116" in output
    assert "su001-tor1a: it announces no IPv4 prefix to spine01a, spine02a any more" in output
    assert network.states() == {"su001-tor1a": "rolled-back"}
    network.truthful(matrix.NEW[DISRUPTIVE])


def test_no_secret_is_printed(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine01a", "load_replace_candidate", 1, "before", "reject")
    ran = network.push("--adopt", "--only", "spine01a", status=1)
    assert "FAB9114" in ran.stderr
    assert "hunter2" not in ran.stderr
    (network.folder / "password").chmod(0o644)
    assert "FAB9102" in network.push("--adopt", status=1).stderr
    ran = network.push("--inventory-out", str(network.folder / "inventory"), status=0)
    written = [path.read_text() for path in (network.folder / "inventory").iterdir()]
    assert len(written) == 3
    assert not any(PASSWORD in text for text in [*written, ran.stdout])


@pytest.mark.slow
def test_a_resumed_run_has_the_options_that_it_began_with(network: Network) -> None:
    """Half of the spines may change at once, by an option; resumed without it, the run is not refused."""
    network.edit(DISRUPTIVE)
    network.fault("spine01a", "confirm_commit", 1, "before", "kill")
    network.direct = False
    network.push("--adopt", status=-9)
    network.direct = True
    bare = [
        "python",
        "-m",
        "fabricc",
        "push",
        str(network.source.tree),
        "--spec",
        str(network.spec),
        "--access",
        str(network.access),
        "--journal",
        str(network.journal),
    ]
    ran = run_here([*bare, "--resume"])
    assert ran.returncode == 0, ran.stderr
    assert set(network.states().values()) == {"undrained"}
    network.truthful(matrix.NEW[DISRUPTIVE])


@pytest.mark.slow
def test_an_option_named_with_resume_counts_more_than_that_of_the_run(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault("spine01a", "commit_config", 1, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", "spine01a", status=-9)
    network.direct = True
    assert "FAB9121" in network.push("--resume", "--keep", "90%", status=1).stderr
    network.push("--resume", status=0)


@pytest.mark.slow
def test_a_good_rollback_of_a_killed_run_is_a_success(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault("spine01a", "commit_config", 1, "after", "kill")
    network.direct = False
    network.push("--adopt", status=-9)
    network.direct = True
    assert network.interval("spine01a") == "first+shut"
    ran = network.push("--rollback", "1", status=0)
    assert "FAB" not in ran.stderr
    assert "rolled back: " in network.push("--status", status=0).stdout
    network.truthful(matrix.NEW[DISRUPTIVE])


@pytest.mark.slow
def test_resumed_rollback_covers_unread_switches(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.push("--adopt", "--only", "spine01a", status=0)
    network.fault("spine01a", "get_config", 1, "before", "kill")
    network.direct = False
    network.push("--rollback", "1", status=-9)
    network.direct = True
    assert network.states() == {"spine01a": "planned"}
    network.push("--resume", status=0)
    assert network.states() == {"spine01a": "undrained"}
    assert network.interval("spine01a") == "first"


@pytest.mark.slow
def test_resume_is_suggested_only_when_possible(network: Network) -> None:
    network.edit(HITLESS)
    network.fault("spine01a", "commit_config", 1, "after", "interrupt")
    network.direct = False
    output = network.push("--adopt", "--only", "spine01a", status=130).stderr
    assert network.states() == {"spine01a": "rolled-back"}
    assert "FAB9135" not in output
    network.direct = True
    network.truthful(NEW)


def guarded_switches(network: Network) -> set[str]:
    return {name for name in network.source.devices if network.ask("guarded", name)}


@pytest.mark.slow
@pytest.mark.parametrize(("count", "what"), [(1, "drained"), (2, "changed"), (3, "confirmed")])
def test_a_switch_that_a_killed_push_leaves_drained_goes_back_in_service_by_itself(
    network: Network, count: int, what: str
) -> None:
    network.edit(DISRUPTIVE)
    act = ("commit_config", count) if count < 3 else ("confirm_commit", 1)
    network.fault("spine01a", *act, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", "spine01a", status=-9)
    network.direct = True
    assert network.interval("spine01a").endswith("+shut"), what
    assert guarded_switches(network) == {"spine01a"}
    if network.ask("pending", "spine01a"):
        network.ask("revert", "spine01a")
    network.ask("expire", "spine01a")
    assert network.interval("spine01a") == "first"
    network.push("--resume", status=0)
    assert guarded_switches(network) == set()
    network.truthful(matrix.NEW[DISRUPTIVE])


@pytest.mark.slow
def test_no_guard_stays_behind_whichever_way_a_push_ends(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault("spine01a", "commit_config", 2, "after", "sick")
    network.push("--adopt", "--only", "spine01a", status=3)
    assert guarded_switches(network) == set()
    network.push("--adopt", status=0)
    assert guarded_switches(network) == set()
    network.push("--rollback", "2", status=0)
    assert guarded_switches(network) == set()


@pytest.mark.slow
def test_dry_run_reports_drained_switches(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network.edit(DISRUPTIVE)
    output = network.push("--adopt", "--dry-run", status=0).stdout
    assert "6 switches with frr drained" in output
    assert "goes back in service by itself within 24 s" in output
    monkeypatch.delattr(sys.modules["napalm_simulated"].SimulatedDriver, "arm_guard")
    for mode in ("--dry-run", "--plan"):
        assert "stays so until --resume or --rollback" in network.push("--adopt", mode, status=0).stdout


def test_waves_are_shown_without_an_access_file_and_nothing_else_starts(network: Network) -> None:
    access = network.spec.parent / "fabricc-access.yaml"
    with_access = network.push("--adopt", "--plan", status=0)
    access.rename(access.with_suffix(".away"))
    without = network.push("--adopt", "--plan", status=0)
    assert without.stdout == with_access.stdout != ""
    assert "FAB3252" in without.stderr
    assert "FAB3252" not in with_access.stderr
    for other in (("--adopt",), ("--adopt", "--dry-run")):
        assert "FAB9101" in network.push(*other, status=1).stderr
    assert "FAB9101" in network.push("--plan", "--access", "/nowhere", status=1).stderr


def test_push_of_one_switch_tolerates_unread_neighbors(network: Network) -> None:
    network.edit("addressing: {family: dual}")
    output = network.push("--adopt", "--only", "spine01a", status=0).stderr
    assert (
        output.count(
            "warning: spine01a: 4 new sessions down, such as to su001-tor1a, which was not contacted"
        )
        == 1
    )
