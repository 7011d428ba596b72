"""The Cumulus driver over real SSH against a stand-in of NVUE's command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.operate.devices.running import find_differences
from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.verify.drift import compare_drift
from fabricc.operate.verify.model import Aspect
from tests.back.nos.cumulus.variants import VARIANTS
from tests.operate.drivers.servers.device import Device
from tests.operate.drivers.servers.linux_switch import (
    PASSWORD,
    USER,
    LinuxSwitch,
    linux_switch,
    lose_once,
    run_process,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "startup.yaml"
OLD, NEW = "- set: {system: {hostname: old}}\n", "- set: {system: {hostname: néw}}\n"


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[LinuxSwitch]:
    with linux_switch(tmp_path, "cumulus", OLD) as one:
        yield one


@pytest.fixture
def driver(switch: LinuxSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=10, session="run-1") as one:
        yield one


@pytest.mark.slow
def test_a_replace_is_compared_committed_saved_and_rolled_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    assert driver.compare_config().splitlines()[0] == f"nv set {NEW.strip()}"
    driver.commit_config(message="it's a change")
    assert switch.text("running.json") == switch.text("startup") == NEW
    assert driver.get_config("running") == {"running": NEW, "startup": "", "candidate": ""}
    driver.rollback()
    assert switch.text("running.json") == switch.text("startup") == OLD
    with pytest.raises(CommitError, match="nothing to roll back to"):
        driver.rollback()


@pytest.mark.slow
def test_secrets_that_nvue_prints_in_its_own_forms_are_no_difference(
    switch: LinuxSwitch, driver: Any
) -> None:
    """A transcript of `nv config diff` has `hashed-password: '*'` for a password that was set ."""
    planned = CUMULUS.render(VARIANTS["settings"])[FILE]
    assert "hashed-password: FABRICC-SECRET-hash" in planned
    driver.load_replace_candidate(config=planned.replace("FABRICC-SECRET-hash", "$6$abcdefgh$stored"))
    driver.commit_config()
    assert "$6$abcdefgh$stored" in switch.text("startup")
    running = driver.get_config("running")["running"]
    assert "FABRICC-SECRET-hash" not in running
    assert "$6$" not in running
    assert "$nvsec$" in running
    assert find_differences("cumulus", {FILE: running}, {FILE: planned}) == []
    drift = compare_drift("tor", "cumulus", Path(), {FILE: planned}, {FILE: running}, [Aspect.CONFIG])
    assert drift.found == []
    locked = running.replace("hashed-password: '*'", "hashed-password: ''")
    assert find_differences("cumulus", {FILE: locked}, {FILE: planned}), "an account without a password"


def test_provisioning_that_runs_holds_the_switch(switch: LinuxSwitch, driver: Any) -> None:
    with run_process(switch, "/usr/bin/python3", "/usr/lib/cumulus/ztp", "-b"):
        assert driver.get_holds() == [Hold(HoldKind.UPDATE, "ZTP, which `sudo ztp -d` ends,")]
    assert driver.get_holds() == []


def test_a_pending_revision_of_a_person_is_neither_loaded_over_nor_dropped(
    switch: LinuxSwitch, driver: Any
) -> None:
    driver.cli(["echo '- set: {system: {hostname: person}}' > ~/person.yaml; nv config patch ~/person.yaml"])
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.owner, hold.own) == (HoldKind.CANDIDATE, "admin", False)
    with pytest.raises(SessionLockedException, match="pending revision"):
        driver.load_replace_candidate(config=NEW)
    driver.discard_config()
    assert "person" in driver.cli(["nv config diff"])["nv config diff"]


@pytest.mark.parametrize("how", ["expires", "is removed"])
@pytest.mark.slow
def test_a_revision_of_a_dead_session_does_not_block_after_its_lock(
    switch: LinuxSwitch, driver: Any, how: str
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver._shell.close()  # the session dies
    with switch.device.connect(session="run-2") as other:
        (hold,) = other.get_holds()
        assert (hold.kind, hold.owner) == (HoldKind.CANDIDATE, "run-1")
        if how == "is removed":
            other.end_hold(hold)
        else:
            other.cli(["printf 'run-1\\n1\\n' > ~/.napalm-cumulus/lock"])
        assert other.get_holds() == []
        other.load_replace_candidate(config=NEW)
        other.commit_config()
    assert switch.text("running.json") == NEW


def test_an_expired_lock_hides_no_pending_revision_of_a_person(switch: LinuxSwitch, driver: Any) -> None:
    driver.cli(["mkdir -p ~/.napalm-cumulus; printf 'run-0\\n1\\n' > ~/.napalm-cumulus/lock"])
    driver.cli(["echo '- set: {system: {hostname: person}}' > ~/person.yaml; nv config patch ~/person.yaml"])
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.owner, hold.own) == (HoldKind.CANDIDATE, "admin", False)
    with pytest.raises(SessionLockedException, match="pending revision"):
        driver.load_replace_candidate(config=NEW)


def test_a_commit_waits_for_its_confirmation_and_is_saved_then(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert switch.text("running.json") == NEW
    assert switch.text("startup") == OLD
    with switch.device.connect() as other:
        with pytest.raises(CommitConfirmException):
            other.load_replace_candidate(config=NEW)
        for act in (other.confirm_commit, other.rollback):
            with pytest.raises(CommitError, match="run-1 made the commit that waits"):
                act()
    with switch.device.connect(session="run-1") as again:
        again.confirm_commit()
    assert switch.text("startup") == NEW


@pytest.mark.slow
@pytest.mark.parametrize("saved", [None, "{}\n", "[]\n"])
def test_a_switch_that_was_never_saved_takes_its_first_commit(
    switch: LinuxSwitch, driver: Any, saved: str | None
) -> None:
    (switch.root / "startup").unlink()
    if saved is not None:
        (switch.root / "startup").write_text(saved)
    assert driver.get_config()["startup"].strip() in ("{}", "[]")
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert switch.text("running.json") == switch.text("startup") == NEW


@pytest.mark.slow
def test_a_commit_that_waits_is_rolled_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.text("running.json") == OLD


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "time_argument"), [(1, "1m"), (60, "1m"), (61, "2m"), (600, "10m")])
def test_the_confirmation_time_is_in_whole_minutes(
    switch: LinuxSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, seconds: int, time_argument: str
) -> None:
    """NVIDIA's guide of 5.14 and 5.16 writes `--confirm 60m` for an hour, and states no shorter unit."""
    usual, commands = LinuxSwitch.serve, []

    def serve(self: LinuxSwitch, channel: Any, command: str) -> None:
        commands.append(command)
        usual(self, channel, command)

    monkeypatch.setattr(LinuxSwitch, "serve", serve)
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=seconds)
    assert [one for one in commands if f"nv config apply -y --confirm {time_argument}" in one]
    assert driver.has_pending_commit()


def test_a_confirmation_time_below_a_second_is_refused(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitConfirmException, match="at least one second"):
        driver.commit_config(revert_in=0)
    assert switch.text("running.json") == OLD


@pytest.mark.slow
def test_without_confirmation_nvue_goes_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    state = json.loads(switch.text("nvue.json"))
    state["waiting"]["until"] = 0
    (switch.root / "nvue.json").write_text(json.dumps(state))
    assert not driver.has_pending_commit()
    assert switch.text("running.json") == OLD
    with pytest.raises(CommitError, match="no commit waits"):
        driver.confirm_commit()


@pytest.mark.slow
def test_a_commit_whose_answer_is_lost_is_requested_again(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.drop_commit = "after"
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    assert switch.text("running.json") == NEW


@pytest.mark.slow
def test_a_commit_that_did_not_arrive_is_reported(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.drop_commit = "before"
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    assert not driver.has_pending_commit()
    assert switch.text("running.json") == OLD


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("method", "text"), [("confirm_commit", NEW), ("rollback", OLD)])
def test_a_lost_confirmation_is_completed(
    switch: LinuxSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, when: str, method: str, text: str
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    drops = lose_once(monkeypatch, "--confirm-", when)
    getattr(driver, method)()
    assert not drops
    assert not driver.has_pending_commit()
    assert switch.text("running.json") == switch.text("startup") == text


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.slow
def test_a_lost_answer_to_the_save_is_requested_again(
    switch: LinuxSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    drops = lose_once(monkeypatch, "nv config save", when)
    driver.confirm_commit()
    assert not drops
    assert switch.text("running.json") == switch.text("startup") == NEW


@pytest.mark.spread
@pytest.mark.parametrize("method", ["confirm_commit", "rollback"])
def test_a_confirmation_names_its_revision_and_is_waited_for(
    switch: LinuxSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Others saw the state `confirm` for seconds after the confirmation, and need the revision in the command."""
    usual, commands = LinuxSwitch.serve, []

    def serve(self: LinuxSwitch, channel: Any, command: str) -> None:
        commands.append(command)
        usual(self, channel, command)

    monkeypatch.setattr(LinuxSwitch, "serve", serve)
    switch.faults.nvue = ("late",)
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    getattr(driver, method)()
    word = "yes" if method == "confirm_commit" else "no"
    assert [one for one in commands if f"nv config apply 2 --confirm-{word}" in one]
    assert not driver.has_pending_commit()
    assert switch.text("startup") == (NEW if method == "confirm_commit" else OLD)


@pytest.mark.slow
def test_words_of_the_configuration_and_of_old_messages_are_no_outcome(
    switch: LinuxSwitch, driver: Any
) -> None:
    severe = (
        "- set:\n    system:\n      syslog: {severity error: {}, description: invalid failed apply_fail}\n"
    )
    driver.load_replace_candidate(config=severe)
    assert "severity error" in driver.compare_config()
    driver.commit_config(message="error: fix what failed", revert_in=60)
    driver.confirm_commit()
    assert driver.check_candidate(NEW) == []
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    driver.rollback()
    assert switch.text("running.json") == switch.text("startup") == severe


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [None, 60])
def test_the_state_of_the_revision_decides_with_exit_status_0(
    switch: LinuxSwitch, driver: Any, seconds: int | None
) -> None:
    switch.faults.nvue = ("apply_fail",)
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="state apply_fail; switchd did not restart"):
        driver.commit_config(revert_in=seconds)
    assert switch.text("running.json") == switch.text("startup") == OLD


def test_an_unparsable_answer_is_an_error(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.nvue = ("not_json",)
    for ask in (driver.has_pending_commit, lambda: driver.load_replace_candidate(config=NEW)):
        with pytest.raises(ConnectionException, match="nv config revision"):
            ask()


@pytest.mark.slow
def test_automatic_saving_before_the_confirmation_is_undone(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.nvue = ("saves_early",)
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="auto-save state disabled"):
        driver.commit_config(revert_in=60)
    assert switch.text("running.json") == switch.text("startup") == OLD
    assert not driver.has_pending_commit()


@pytest.mark.slow
def test_changes_of_another_account_are_left_alone(switch: LinuxSwitch, driver: Any) -> None:
    theirs = "- set: {system: {hostname: theirs}}"

    def run(words: str) -> None:
        driver.cli([f"export NVUE_USER=other; echo '{theirs}' > ~/their.yaml; {words}"])

    driver.load_replace_candidate(config=NEW)
    run("nv config replace ~/their.yaml && nv config apply -y --confirm 1m")
    for act in (driver.commit_config, driver.confirm_commit):
        with pytest.raises(CommitError, match="somebody else made the commit that waits"):
            act()
    run("nv config apply --confirm-yes")
    with pytest.raises(CommitError, match="applied by another session"):
        driver.commit_config()
    driver.discard_config()
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    run("nv config replace ~/their.yaml && nv config apply -y")
    with pytest.raises(CommitError, match="it is left alone"):
        driver.rollback()
    assert switch.text("running.json").strip() == theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sudo", "allowed"),
    [
        ((), True, True),
        (("sudo_password",), True, True),
        (("vtysh_denied",), True, True),
        (("vtysh_denied", "sudo_password"), True, False),
        (("vtysh_denied",), False, False),
    ],
)
def test_sudo_is_used_where_needed_and_missing_rights_are_refused_before_the_change(
    switch: LinuxSwitch, words: tuple[str, ...], sudo: bool, allowed: bool
) -> None:
    switch.faults.nvue = words
    options = {**switch.device.options, "sudo": sudo}
    with Device("cumulus", switch.device.host, USER, PASSWORD, options).connect() as one:
        if not allowed:
            with pytest.raises(ReplaceConfigException, match="usermod -aG frrvty"):
                one.load_replace_candidate(config=NEW)
            assert switch.text("running.json") == OLD
            return
        one.load_replace_candidate(config=NEW)
        one.commit_config(revert_in=60)
        one.confirm_commit()
        switch.neighbors = dict
        assert one.get_bgp_neighbors()["global"]["router_id"] == "192.0.2.1"
        assert one.get_identity()["hostname"]
    assert switch.text("startup") == NEW


@pytest.mark.slow
def test_refusals_are_napalms_and_without_secrets(switch: LinuxSwitch, driver: Any) -> None:
    with pytest.raises(ReplaceConfigException, match="invalid value") as refused:
        driver.load_replace_candidate(config="bogus\n")
    assert "S3CRET" not in str(refused.value)
    switch.faults.fail_commit = True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="No space left"):
        driver.commit_config()
    assert switch.text("running.json") == OLD


@pytest.mark.slow
def test_two_sessions_do_not_meet(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with switch.device.connect() as other, pytest.raises(SessionLockedException):
        other.load_replace_candidate(config=NEW)
