"""No push undoes what another run, or a person, did on a switch."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fabricc.operate.push import reach
from fabricc.operate.push.journal import Journal, State
from tests.operate.push import matrix
from tests.operate.push.network import DISRUPTIVE, HITLESS, Network

NAME = "spine01a"
NEW = matrix.NEW[HITLESS]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses after refused logins are not what is tested."""
    monkeypatch.setattr(reach, "REFUSED_S", 0.05)


def kill_drained(network: Network) -> None:
    """Kill a push of a disruptive change after the drain of a switch, and go on with another state of the spec."""
    network.edit(DISRUPTIVE)
    network.fault(NAME, "commit_config", 1, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", NAME, status=-9)
    network.direct = True
    assert network.interval(NAME) == "first+shut"
    network.edit(HITLESS)


def second_machine(network: Network) -> None:
    """Go on as somebody who has neither the journal nor the state folder of the first."""
    network.journal = network.folder / "elsewhere" / "journal.sqlite"
    (network.folder / "state").rename(network.folder / "state.first")


def session_names(journal: Path) -> list[str]:
    with closing(sqlite3.connect(journal)) as base:
        return [row[0] for row in base.execute("SELECT json_extract(options, '$.session') FROM run")]


def edit_by_hand(network: Network) -> None:
    """Somebody changes what a switch runs, past fabricc."""
    network.ask("drift", NAME)


@pytest.mark.slow
def test_a_guard_of_a_run_elsewhere_refuses_a_hitless_change_and_is_stopped_when_named(
    network: Network,
) -> None:
    kill_drained(network)
    second_machine(network)
    before = network.runs(NAME)
    for options in (("--adopt",), ("--adopt", "--dry-run")):
        output = network.push(*options, "--only", NAME, status=1).stderr
        assert "FAB9136" in output
        assert "restores the configuration before it, " in output
    owner = re.search(r"--take-over (fabricc-1-\S+)", " ".join(output.split()))
    assert owner is not None, output
    assert network.runs(NAME) == before
    assert network.ask("guarded", NAME)

    named = ("--adopt", "--only", NAME, "--take-over", owner[1])
    assert "FAB9137" in network.push(*named, "--dry-run", status=0).stderr
    assert network.ask("guarded", NAME), "a dry run stops nothing"
    assert "FAB9137" in network.push(*named, status=0).stderr
    assert not network.ask("guarded", NAME)
    network.ask("expire", NAME)
    assert network.interval(NAME) == NEW
    assert network.states() == {NAME: "confirmed"}


@pytest.mark.slow
def test_a_guard_of_a_run_that_this_journal_knows_is_stopped_by_adopting(network: Network) -> None:
    kill_drained(network)
    network.edit(DISRUPTIVE)
    network.ask("cut", NAME)
    network.push("--resume", status=3)
    assert network.states() == {NAME: "unknown"}
    network.ask("mend", NAME)
    network.edit(HITLESS)
    assert "FAB9136" in network.push("--only", NAME, status=1).stderr
    output = network.push("--only", NAME, "--adopt", status=0).stderr
    assert "FAB9137" in output
    network.ask("expire", NAME)
    assert network.interval(NAME) == NEW
    assert network.states() == {NAME: "confirmed"}


@pytest.mark.slow
def test_a_dead_run_that_is_ended_late_does_not_undo_what_another_one_did(network: Network) -> None:
    kill_drained(network)
    journal, state = network.journal, network.folder / "state"
    second_machine(network)
    owner = f"fabricc-1-{session_names(journal)[0]}"
    output = network.push("--adopt", "--only", NAME, "--take-over", owner, status=0).stderr
    assert f"{NAME}: it is drained, by a person or another run; the push undrains it" in output
    state.rename(network.folder / "state.second")
    (network.folder / "state.first").rename(state)
    network.journal = journal
    output = " ".join(network.push("--rollback", "1", status=3).stderr.split())
    assert "was changed by another session and keeps that change" in output
    assert network.interval(NAME) == NEW
    assert network.states() == {NAME: "unknown"}
    network.edit(DISRUPTIVE)
    network.push("--resume", status=3)
    assert network.interval(NAME) == NEW
    network.push("--rollback", "1", "--adopt", status=0)
    assert network.interval(NAME) == "first"


def test_push_is_rejected_while_another_change_runs(network: Network) -> None:
    network.edit(HITLESS)
    network.ask("update", NAME, by="`config reload`")
    for options in (("--adopt",), ("--adopt", "--dry-run"), ("--adopt", "--take-over", "`config reload`")):
        output = network.push(*options, "--only", NAME, status=1).stderr
        assert "FAB9136" in output
        assert "`config reload` is changing the configuration" in " ".join(output.split())
    network.ask("update", NAME, by="")
    network.push("--adopt", "--only", NAME, status=0)
    assert network.interval(NAME) == NEW


def test_a_drained_switch_is_not_confirmed_without_an_undrain_to_come(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that is killed right then would otherwise leave it drained, and its resume would find nothing to do."""
    record, seen = Journal.record_state, []

    def note(self: Journal, run: int, name: str, state: State, *rest: Any, **named: Any) -> None:
        record(self, run, name, state, *rest, **named)
        if state is State.CONFIRMED:
            seen.append(network.states()[NAME])

    monkeypatch.setattr(Journal, "record_state", note)
    network.edit(DISRUPTIVE)
    network.push("--adopt", "--only", NAME, status=0)
    assert seen == ["confirmed (undrain)"]


def test_two_journals_never_give_a_session_the_same_name(network: Network) -> None:
    network.push(status=0)
    first = session_names(network.journal)
    second_machine(network)
    network.push(status=0)
    assert len({*first, *session_names(network.journal)}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("hooked", [False, True])
def test_an_edit_between_drain_and_change_is_kept_and_reported(network: Network, hooked: bool) -> None:
    network.edit(DISRUPTIVE)
    options = ["--adopt", "--only", NAME]
    if hooked:
        hook = network.folder / "hook"
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
        options += ["--hook", str(hook)]
    network.fault(NAME, "commit_config", 1, "after", "drift")
    output = " ".join(network.push(*options, status=3).stderr.split())
    assert f"FAB9112: {NAME} was changed by another session while it was drained" in output
    assert "maximum_prefixes runs 99" in output
    assert "it is in service again" in output
    assert network.states() == {NAME: "unknown"}
    assert "maximum-prefix 99" in network.runs(NAME)
    assert network.interval(NAME) == "first"
    assert not network.ask("guarded", NAME)


@pytest.mark.slow
def test_an_edit_that_no_fact_describes_is_kept_too(network: Network) -> None:
    network.edit(DISRUPTIVE)
    for act in ("commit_config 1 after", "get_config 6 before"):
        address = network.source.devices[NAME].address
        method, number, when = act.split()
        place = network.folder / "faults"
        place.write_text(f"{address} {method} {when} scribble {number}\n")
        output = " ".join(network.push("--adopt", "--only", NAME, status=3).stderr.split())
        assert "was changed by another session while it was drained: + of no grammar" in output
        assert network.runs(NAME).count("of no grammar") == 1
        assert not network.interval(NAME).endswith("+shut")


@pytest.mark.slow
def test_an_edit_between_confirmation_and_undrain_is_kept_and_reported(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault(NAME, "get_config", 6, "before", "drift")
    output = " ".join(network.push("--adopt", "--only", NAME, status=3).stderr.split())
    assert f"FAB9112: {NAME} was changed by another session while it was drained" in output
    assert "maximum-prefix 99" in network.runs(NAME)
    assert network.interval(NAME) == matrix.NEW[DISRUPTIVE]
    assert network.states() == {NAME: "unknown"}


@pytest.mark.slow
def test_rollback_does_not_undo_a_foreign_commit(network: Network) -> None:
    network.edit(DISRUPTIVE)
    network.fault(NAME, "commit_config", 1, "after", "foreign")
    network.extra += ["--confirm-within", "10"]
    output = " ".join(network.push("--adopt", "--only", NAME, status=3).stderr.split())
    assert f"FAB9111: {NAME}: a commit of somebody waits for its confirmation" in output
    assert "maximum-prefix 99" in network.runs(NAME), "what they confirmed stays"
    assert network.interval(NAME) == "first", "the drain was taken back"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["load_replace_candidate 2 after", "commit_config 1 before"])
@pytest.mark.parametrize("change", [HITLESS, DISRUPTIVE])
def test_a_run_that_committed_nothing_brings_nothing_back(network: Network, where: str, change: str) -> None:
    """Another machine has committed the same tree, or the same drain, after this one read the switch."""
    network.edit(change)
    method, number, when = where.split()
    network.fault(NAME, method, int(number), when, "overtake")
    output = network.push("--adopt", "--only", NAME, status=3).stderr
    assert "session theirs has committed the same configuration" in " ".join(output.split())
    assert network.states() == {NAME: "rolled-back"}
    assert network.interval(NAME) == (NEW if change == HITLESS else "first+shut")


@pytest.mark.slow
def test_the_same_change_of_another_session_stays_where_the_change_of_a_drained_switch_fails(
    network: Network,
) -> None:
    network.edit(DISRUPTIVE)
    network.fault(NAME, "commit_config", 2, "before", "overtake")
    output = network.push("--adopt", "--only", NAME, status=3).stderr
    assert "changed by another session and keeps that change" in " ".join(output.split())
    assert network.states() == {NAME: "unknown"}
    assert network.interval(NAME) == matrix.NEW[DISRUPTIVE]


@pytest.mark.slow
def test_rejected_login_is_retried_only_a_few_times(network: Network) -> None:
    network.edit(DISRUPTIVE)
    address = network.source.devices[NAME].address
    lines = [f"{address} open before deny {count}\n" for count in range(3, 40)]
    (network.folder / "faults").write_text("".join(lines))
    output = network.push("--adopt", "--only", NAME, "--settle", "20", status=3).stderr
    assert "cannot be logged in to" in output
    left = [line.split()[4] for line in (network.folder / "faults").read_text().splitlines()]
    assert sum(count == "0" for count in left) == 3


@pytest.mark.slow
def test_a_rollback_has_the_options_of_its_run(network: Network) -> None:
    network.extra += ["--keep", "0%"]
    network.edit(DISRUPTIVE)
    network.fault("spine02a", "commit_config", 2, "after", "kill")
    network.direct = False
    network.push("--adopt", "--only", NAME, "--only", "spine02a", status=-9)
    network.direct = True
    network.extra.clear()
    network.keep = ""
    assert network.states()[NAME] == "undrained"
    network.push("--rollback", "1", status=0)
    assert {network.interval(name) for name in (NAME, "spine02a")} == {"first"}
