"""The journal whatever happens: its disk fills up, its rows are damaged, its path leads elsewhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.journal import Journal, State
from fabricc.operate.push.ownership import get_default_path
from tests.operate.push import matrix
from tests.operate.push.network import DISRUPTIVE, FABRICC, HERE, HITLESS, SIMULATED, Network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = matrix.NEW[DISRUPTIVE]


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    found.direct = True
    yield found
    found.stop()


def test_the_journal_is_where_the_pages_and_the_help_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert get_default_path("zone-a") == tmp_path / "fabricc/push/zone-a.sqlite"
    root = HERE.parents[2]
    for file in ("docs/security.md", "docs/push-failures.md", "fabricc/cli/push.py"):
        assert "fabricc/push/<cluster>.sqlite`" in (root / file).read_text("utf-8").replace(
            "sqlite]", "sqlite`"
        ), file


@pytest.mark.parametrize("space", ["again", "never"])
@pytest.mark.slow
def test_unwritable_journal_stops_the_push_without_drained_switches(
    network: Network, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.edit(DISRUPTIVE)
    begun: list[str] = []
    written, intend = Journal._run_transaction, Journal.record_intent

    def full(base: sqlite3.Connection, act: Any) -> Any:
        if begun and base.execute("PRAGMA database_list").fetchone()[2]:
            raise sqlite3.OperationalError("database or disk is full")
        return written(base, act)

    def begin(journal: Journal, run: int, name: str, act: str) -> None:
        if act == "change":
            begun.append(name)
        intend(journal, run, name, act)

    monkeypatch.setattr(Journal, "_run_transaction", staticmethod(full))
    monkeypatch.setattr(Journal, "record_intent", begin)
    if space == "never":
        monkeypatch.setattr(Journal, "is_complete", lambda _: False)
    ran = network.push("--adopt", status=3)
    assert "FAB9151" in ran.stderr
    assert "FAB7999" not in ran.stderr
    assert ("rolled-back: spine01a" in ran.stderr) == (space == "never")
    assert {network.interval(name) for name in network.source.devices} == {"first"}, "nothing is drained"
    monkeypatch.undo()
    if space == "never":
        assert "--rollback 1" in ran.stderr
        assert network.states()["spine01a"] == "drained", "what nobody could write over"
        network.push("--rollback", "1", status=0)
    network.truthful(NEW)
    network.push("--adopt", status=0)
    network.truthful(NEW)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["drain", "change"])
def test_a_disk_that_fills_up_leaves_a_true_journal_in_its_reserve(network: Network, before: str) -> None:
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("a file system of its own needs root and unshare")
    network.edit(DISRUPTIVE)
    small = network.folder / "small"
    small.mkdir()
    access = network.spec.parent / "fabricc-access.yaml"
    access.write_text(access.read_text().replace("options: {", f"options: {{fill: {small / 'filler'}, "))
    network.fault("spine01a", "commit_config", 1 if before == "drain" else 2, "before", "fill")
    words = [
        *FABRICC,
        "push",
        str(network.source.tree),
        "--spec",
        str(network.spec),
        "--access",
        str(network.access),
        "--journal",
        str(small / "journal.sqlite"),
        "--adopt",
    ]
    words += [
        "--keep",
        "50%",
        "--settle",
        "2",
        "--drain-wait",
        "0",
        "--confirm-within",
        "10",
    ]
    kept = network.journal
    script = 'mount -t tmpfs -o size=12m tmpfs "$0"; "$@"; s=$?; rm "$0/filler"; cp "$0"/journal.* "$0/.."; exit $s'
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(small), *words],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": f"{SIMULATED}:{HERE.parents[2]}", "XDG_STATE_HOME": str(small)},
    )  # fmt: skip
    assert ran.returncode == 3, (ran.stdout, ran.stderr)
    assert "FAB9151" in ran.stderr
    assert "FAB7999" not in ran.stderr
    assert "does not say" not in ran.stderr, "the space set aside was enough"
    assert kept.exists()
    assert network.states()["spine01a"] == "rolled-back"
    network.truthful(NEW)


def test_a_push_does_not_begin_without_space_for_its_journal(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    network.edit(HITLESS)
    monkeypatch.setattr(os, "posix_fallocate", full)
    output = network.push("--adopt", status=1).stderr
    assert "FAB9124" in output
    assert "No space left" in output


DAMAGES = {
    "state": "UPDATE device SET state='nowhere'",
    "state of another kind": "UPDATE device SET state=x'ff'",
    "wave": "UPDATE device SET wave='first'",
    "detail": "UPDATE device SET detail=NULL",
    "configuration": "UPDATE device SET before=x'00', after=x'00'",
    "configuration of another kind": "UPDATE device SET before='text', after=7",
    "baseline": "UPDATE device SET baseline='['",
    "nested": f"UPDATE device SET baseline='{'[' * 5000}'",
    "options": "UPDATE run SET options='[]', ended=NULL",
    "option": 'UPDATE run SET options=\'{"keep": "1/0"}\', ended=NULL',
    "time": "UPDATE run SET begun=9e99",
    "digest": "UPDATE run SET digest=x'07'",
    "trigger": "CREATE TRIGGER more AFTER UPDATE ON run BEGIN DELETE FROM device; END",
    "table": "DROP TABLE step",
    "version": "PRAGMA user_version=99",
}


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    network = Network.start(tmp_path_factory.mktemp("pushed"))
    network.direct = True
    network.edit(HITLESS)
    network.push("--adopt", status=0)
    network.journal.rename(network.folder / "good.sqlite")
    yield network
    network.stop()


@pytest.mark.spread
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_journal_is_a_finding_without_a_traceback(pushed: Network, damage: str) -> None:
    shutil.copy(pushed.folder / "good.sqlite", pushed.journal)
    with closing(sqlite3.connect(pushed.journal)) as base:
        base.execute(DAMAGES[damage])
        base.commit()
    reported = ""
    for words in (("--status",), ("--status", "--run", "1"), ("--plan",), ("--resume",), ("--rollback", "1")):
        ran = pushed.push(*words)
        assert "FAB7999" not in ran.stderr, (words, ran.stderr)
        reported += ran.stderr
    assert "FAB9124" in reported


def test_switches_have_one_journal(network: Network) -> None:
    network.edit(HITLESS)
    network.push("--adopt", "--only", "spine01a", status=0)
    other = network.folder / "other.sqlite"
    for mode in ((), ("--dry-run",)):
        output = network.push("--adopt", *mode, "--journal", str(other), status=1).stderr
        assert "FAB9152" in output
        assert str(network.journal) in output
    network.journal.unlink()
    network.push("--adopt", "--journal", str(other), status=0)
    assert "FAB9152" not in network.push("--journal", str(other), "--dry-run", status=0).stderr


def test_two_pushes_with_journals_of_their_own_do_not_meet(network: Network) -> None:
    from fabricc.operate.push.ownership import hold_switches

    address = next(iter(network.source.devices.values())).address
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(network.folder / "state"))
        with hold_switches(network.folder / "first.sqlite", "small", address):
            assert "FAB9123" in network.push("--adopt", status=1).stderr
        with hold_switches(network.folder / "first.sqlite", "small", "192.0.2.250"):
            network.push("--adopt", status=0)


@pytest.mark.parametrize("what", ["text", "link", "folder", "fifo", "writable by others"])
def test_a_journal_is_a_file_of_ones_own(pushed: Network, what: str) -> None:
    path = pushed.folder / f"{what}.sqlite"
    if what == "text":
        path.write_text("a letter\n" * 2000)
    elif what == "link":
        shutil.copy(pushed.folder / "good.sqlite", pushed.folder / "elsewhere.sqlite")
        path.symlink_to(pushed.folder / "elsewhere.sqlite")
    elif what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    else:
        shutil.copy(pushed.folder / "good.sqlite", path)
        path.chmod(0o666)
    ran = pushed.push("--status", "--journal", str(path), status=1)
    assert "FAB9124" in ran.stderr


@pytest.mark.slow
def test_a_configuration_that_unpacks_without_end_is_damage(tmp_path: Path) -> None:
    import zlib

    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        run = journal.begin("push", "tree", "", {}, iter(["spine"]))
        journal.record_state(run, "spine", State.CONFIRMED)
        bomb = zlib.compress(bytes(200 << 20), 9)
        journal._base.execute("UPDATE device SET before=?, after=?", (bomb, bomb))
        with pytest.raises(PushRefusedError, match="too large"):
            journal.entry(run, "spine")


def test_a_tree_whose_path_is_not_utf_8_has_a_run(tmp_path: Path) -> None:
    tree = str(tmp_path / "p\udcff" / "build")
    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        number = journal.begin("push", tree, "0" * 64, {}, iter(["spine01a"]))
        assert [(run.id, run.tree) for run in journal.runs()] == [(number, tree)]


@pytest.mark.slow
def test_a_journal_that_is_removed_while_a_push_runs_is_written_again(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.edit(DISRUPTIVE)
    intend = Journal.record_intent

    def remove(journal: Journal, run: int, name: str, act: str) -> None:
        if (name, act) == ("spine01a", "change"):
            for path in network.folder.glob("journal.sqlite*"):
                path.unlink()
        intend(journal, run, name, act)

    monkeypatch.setattr(Journal, "record_intent", remove)
    output = network.push("--adopt", "--only", "spine01a", status=0).stderr
    assert "FAB9139" in output
    assert "was removed while the push ran" in output
    assert network.states() == {"spine01a": "undrained"}
    network.truthful(NEW)
    network.push("--rollback", "1", status=0)
    assert network.interval("spine01a") == "first"


def test_a_journal_that_is_replaced_while_a_push_runs_is_reported_and_left_alone(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.push("--only", "spine01a", status=0)
    older = network.folder / "older"
    shutil.copy(network.journal, older)
    network.edit(DISRUPTIVE)
    intend = Journal.record_intent

    def exchange(journal: Journal, run: int, name: str, act: str) -> None:
        if (name, act) == ("spine01a", "change"):
            older.replace(network.journal)
        intend(journal, run, name, act)

    monkeypatch.setattr(Journal, "record_intent", exchange)
    output = network.push("--only", "spine01a", status=3).stderr
    assert "FAB9139" in output
    assert "was replaced while the push ran" in output
    assert network.interval("spine01a") == NEW
