"""NAPALM's EOS code, over real sockets, without its traps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from napalm.base.exceptions import (
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    ReplaceConfigException,
    SessionLockedException,
)
from netutils.password import encrypt_type7

from fabricc.operate.devices.running import find_differences
from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.drivers.eos_views import decode_key
from fabricc.operate.drivers.single import NothingCommittedError
from tests.operate.drivers.servers.eos import DEFAULTS, PASSWORD, EosSwitch, eos_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = "hostname néw\ninterface Ethernet1\n   mtu 9214\n"
LINES = ["hostname néw", "interface Ethernet1", "mtu 9214"]


@pytest.fixture(params=["4.31", "4.32"])
def switch(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[EosSwitch]:
    """A switch of either release form: 4.32 reports a commit that waits in other words than 4.31."""
    with eos_switch(tmp_path, request.param) as one:
        yield one


@pytest.fixture
def driver(switch: EosSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=5, session="run-1") as one:
        yield one


def test_a_replace_is_compared_committed_and_saved(switch: EosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    assert "-hostname old" in driver.compare_config()
    driver.commit_config(message="a change")
    assert switch.running == switch.startup == LINES


@pytest.mark.slow
@pytest.mark.parametrize(
    "owner",
    [
        "tacacs-server host 172.16.0.5 vrf MGMT key",
        "radius-server host 172.16.0.5 vrf MGMT key",
        "ntp authentication-key 1 sha1",
    ],
)
def test_a_switch_that_runs_the_keys_of_its_plan_is_unchanged(
    switch: EosSwitch, driver: Any, owner: str
) -> None:
    switch.running = ["hostname old", f"{owner} 7 {encrypt_type7('s3cret-key')}"]
    driver.load_replace_candidate(config=f"hostname old\n{owner} 0 s3cret-key\n")
    assert driver.compare_config() == ""
    driver.discard_config()
    driver.load_replace_candidate(config=f"hostname old\n{owner} 0 rotated-key\n")
    assert f"+{owner}" in driver.compare_config()
    driver.commit_config()
    assert switch.running == ["hostname old", f"{owner} 0 rotated-key"]


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=25))
def test_every_key_that_another_program_encodes_is_decoded(clear: str) -> None:
    assert decode_key(encrypt_type7(clear)) == clear


@pytest.mark.parametrize("text", ["", "07", "clear", "99AA", "0", "07A", "\u0660\u0661AA"])
def test_a_text_that_is_no_stored_key_decodes_to_nothing(text: str) -> None:
    assert decode_key(text) is None


def test_a_rollback_goes_to_what_ran_and_not_to_what_was_saved(switch: EosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    driver.rollback()
    assert switch.running == ["hostname old"]


def test_closing_and_reopening_between_commit_and_confirmation(switch: EosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.close()
    assert switch.running == LINES, "closing does not abort a commit that waits"
    with switch.device.connect() as other:
        assert other.has_pending_commit()
        with pytest.raises(CommitConfirmException):
            other.load_replace_candidate(config="hostname third\n")
        for act in (other.confirm_commit, other.rollback):
            with pytest.raises(SessionLockedException, match="napalm_run-1 made the commit that waits"):
                act()
    with switch.device.connect(session="run-1") as again:
        again.confirm_commit()
        assert not again.has_pending_commit()
    assert switch.startup == LINES


def test_a_commit_that_waits_is_rolled_back_by_another_connection(switch: EosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.sessions["a person's"] = []
    with switch.device.connect() as other:
        commit, candidate = other.get_holds()
        assert (commit.kind, commit.owner, commit.own) == (HoldKind.COMMIT, "run-1", False)
        assert (candidate.owner, candidate.blocks) == ("a person's", False)
    with switch.device.connect(session="run-1") as again:
        assert again.get_holds()[0].own
        again.rollback()
    assert switch.running == ["hostname old"]
    assert switch.waiting is None
    assert "a person's" in switch.sessions


@pytest.mark.parametrize("mode", ["active", "Active", "enabled", "disabled", ""])
def test_zero_touch_provisioning_that_runs_holds_the_switch(tmp_path: Path, mode: str) -> None:
    with eos_switch(tmp_path, "4.32") as switch, switch.device.connect() as driver:
        switch.zerotouch, before = mode, switch.requests
        held = [Hold(HoldKind.UPDATE, "ZTP, which `zerotouch cancel` ends,")]
        assert driver.get_holds() == (held if mode.lower() == "active" else [])
        assert switch.requests == before + 1


@pytest.mark.slow
def test_without_confirmation_the_switch_goes_back(switch: EosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=1)
    limit = time.monotonic() + 10
    while driver.has_pending_commit() and time.monotonic() < limit:
        time.sleep(0.1)
    assert switch.running == ["hostname old"]
    with pytest.raises(CommitError, match="No pending"):
        driver.confirm_commit()


@pytest.mark.parametrize("late", [False, True])
def test_a_lost_confirmation_that_came_too_late_is_reported(
    switch: EosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=1 if late else 60)
    run = driver._run_commands

    def lose_answer(commands: list[Any], **named: Any) -> Any:
        if not str(commands[0]).endswith(" commit"):
            return run(commands, **named)
        while late and switch.waiting:
            time.sleep(0.05)
        if not late:
            run(commands, **named)
        raise ConnectionClosedException("lost")

    monkeypatch.setattr(driver, "_run_commands", lose_answer)
    saved = switch.startup
    if late:
        with pytest.raises(ConnectionClosedException):
            driver.confirm_commit()
        assert switch.startup == saved
    else:
        driver.confirm_commit()
        assert switch.startup == switch.running != ["hostname old"]


def test_a_session_left_behind_is_taken_over_by_its_namesake_only(switch: EosSwitch) -> None:
    lost = switch.device.connect(session="run 7")
    lost.open()
    lost.load_replace_candidate(config=NEW)
    lost.config_session = None
    with switch.device.connect(session="run 7") as again:
        again.load_replace_candidate(config="hostname again\n")
        assert list(switch.sessions.values()) == [["hostname again"]]
    switch.sessions["napalm_other"] = []
    with switch.device.connect(take_over=True) as taker:
        taker.load_replace_candidate(config=NEW)
        assert "napalm_other" not in switch.sessions


@pytest.mark.slow
def test_a_persons_session_is_never_taken(switch: EosSwitch) -> None:
    switch.sessions["by-hand"] = []
    with switch.device.connect(timeout=5) as driver, pytest.raises(SessionLockedException):
        driver.load_replace_candidate(config=NEW)
    assert "by-hand" in switch.sessions


def test_a_named_session_does_not_wait_for_open_sessions_of_others(switch: EosSwitch) -> None:
    switch.sessions |= {"by-hand": [], "napalm_fabricc-1-dead": []}
    with switch.device.connect(session="fabricc-2-mine") as driver:
        assert {(hold.owner, hold.blocks) for hold in driver.get_holds()} == {
            ("by-hand", False),
            ("fabricc-1-dead", False),
        }
        driver.load_replace_candidate(config=NEW)
        driver.compare_config()
        switch.running = ["hostname other"]
        with pytest.raises(SessionLockedException, match="has changed since it was compared"):
            driver.commit_config()
    assert {"by-hand", "napalm_fabricc-1-dead"} <= switch.sessions.keys()


@pytest.mark.parametrize("revert_in", [None, 60])
def test_a_commit_whose_answer_is_lost_is_looked_up(
    switch: EosSwitch, driver: Any, revert_in: int | None
) -> None:
    switch.faults.drop_commit = "after"
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=revert_in)
    assert switch.running == LINES
    assert (switch.startup == LINES) is (revert_in is None)
    assert driver.has_pending_commit() is (revert_in is not None)


@pytest.mark.parametrize("revert_in", [None, 60])
def test_a_commit_that_did_not_arrive_is_reported(
    switch: EosSwitch, driver: Any, revert_in: int | None
) -> None:
    switch.faults.drop_commit = "before"
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(NothingCommittedError, match="nothing was committed"):
        driver.commit_config(revert_in=revert_in)
    assert switch.running == ["hostname old"]
    assert not switch.sessions, "the session is aborted, so it is never committed later"


def test_a_commit_that_eos_refuses_committed_nothing(switch: EosSwitch, driver: Any) -> None:
    switch.faults.fail_commit = True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(NothingCommittedError, match="is not allowed"):
        driver.commit_config(revert_in=60)
    assert not switch.sessions


def test_a_commit_that_the_switch_does_not_report_as_waiting_fails(
    switch: EosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third form of the answer must not pass for a commit that waits: nobody would confirm it."""
    monkeypatch.setattr(EosSwitch, "_sessions", lambda _: {"sessions": {}})
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="does not report the commit"):
        driver.commit_config(revert_in=60)


@pytest.mark.parametrize("answer", [{}, {"sessions": []}, {"sessions": {"a": {}}}, {"sessions": {"a": None}}])
def test_sessions_that_cannot_be_read_are_no_free_switch(
    switch: EosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(EosSwitch, "_sessions", lambda _: answer)
    with pytest.raises(ConnectionException, match="show configuration sessions detail"):
        driver.load_replace_candidate(config=NEW)
    with pytest.raises(ConnectionException, match="show configuration sessions detail"):
        driver.has_pending_commit()
    assert switch.sessions == {}


def test_pending_commit_of_another_session_is_not_touched(switch: EosSwitch) -> None:
    with switch.device.connect(session="run 7") as ours, switch.device.connect(session="run 8") as theirs:
        theirs.load_replace_candidate(config=NEW)
        theirs.commit_config(revert_in=60)
        for act in (ours.rollback, ours.confirm_commit):
            with pytest.raises(SessionLockedException, match="made the commit that waits"):
                act()
        assert switch.running == LINES
        assert ours.has_pending_commit(), "it is seen all the same"
        assert 0 < ours.get_holds()[0].left_s <= 60


def test_commit_stops_when_another_session_changed_the_switch(switch: EosSwitch, driver: Any) -> None:
    """A session replaces the whole configuration, so it would take back what came after the comparison."""
    driver.load_replace_candidate(config=NEW)
    driver.compare_config()
    switch.running.append("ntp server 192.0.2.1")
    with pytest.raises(SessionLockedException, match="has changed since it was compared"):
        driver.commit_config(revert_in=60)
    assert "ntp server 192.0.2.1" in switch.running
    assert switch.waiting is None
    driver.discard_config()
    driver.load_replace_candidate(config=NEW)
    driver.compare_config()
    driver.commit_config()
    assert "ntp server 192.0.2.1" not in switch.running


def test_request_is_repeated_after_a_lost_answer(switch: EosSwitch, driver: Any) -> None:
    switch.faults.drop_answers = 1
    assert driver.get_config("running")["running"] == "hostname old\n"
    switch.faults.drop_answers = 2
    with pytest.raises(ConnectionClosedException):
        driver.get_config("running")


def test_a_switch_that_was_never_saved_has_an_empty_startup_configuration(
    switch: EosSwitch, driver: Any
) -> None:
    switch.startup = None
    found = driver.get_config()
    assert (found["running"], found["startup"]) == ("hostname old\n", "")
    assert driver.get_config("startup")["startup"] == ""
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert driver.get_config()["startup"] == driver.get_config()["running"] != ""


def test_what_every_switch_prints_is_no_difference_of_a_push() -> None:
    name, plan = "running-config.cfg", "hostname new\n!\nend\n"
    printed = plan.replace("end\n", f"{DEFAULTS}end\n")
    assert find_differences("eos", {name: printed}, {name: plan}) == []
    for default, other in (
        ("speed action error", "speed action warn"),
        ("no service interface", "service interface"),
        ("      software-forwarding kernel\n   !\n", "      routing\n   !\n"),
    ):
        changed = {name: printed.replace(default, other, 1)}
        assert find_differences("eos", changed, {name: plan}), other


def test_several_getters_share_one_request(switch: EosSwitch, driver: Any) -> None:
    switch.counted.ports = ("Ethernet1",)
    getters = ("get_alarms", "get_interfaces_counters", "get_lossless_counters", "get_bgp_neighbors")
    apart = [getattr(driver, name)() for name in getters]
    before = switch.requests
    driver.read_ahead(getters)
    together = [getattr(driver, name)() for name in getters]
    assert (together, switch.requests - before) == (apart, 1)


def test_a_refused_question_costs_its_own_answer_alone(switch: EosSwitch, driver: Any) -> None:
    switch.counted.ports = ("Ethernet1",)
    switch.counted.refused = ("show priority-flow-control", "show system environment power")
    getters = ("get_alarms", "get_lossless_counters")
    apart = [getattr(driver, name)() for name in getters]
    before = switch.requests
    driver.read_ahead(getters)
    assert [getattr(driver, name)() for name in getters] == apart
    assert switch.requests - before == 4, "one request more for each refused command"
    driver.get_alarms()
    assert switch.requests - before > 4, "an answer is used once"


def test_refusals_are_napalms_and_without_secrets(switch: EosSwitch, driver: Any) -> None:
    with pytest.raises(ReplaceConfigException, match="invalid command") as refused:
        driver.load_replace_candidate(config="bogus neighbor password S3CRET\n")
    assert "S3CRET" not in str(refused.value)
    assert switch.sessions == {}
    switch.faults.fail_commit = True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="commit failed") as failed:
        driver.commit_config()
    assert "S3CRET" not in str(failed.value)
    switch.faults.fail_commit, switch.faults.disk_full = False, True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="No space left"):
        driver.commit_config()
    assert switch.running == ["hostname old"]


def test_login_and_certificate_are_checked(switch: EosSwitch) -> None:
    with pytest.raises(ConnectAuthError) as refused:
        switch.device.connect(password="wrong S3CRET").open()
    assert "S3CRET" not in str(refused.value)
    with pytest.raises(ConnectionClosedException, match=r"(?i)certificate"):
        switch.device.connect(ssl_verify=True).open()
    with switch.device.connect(ssl_verify=False) as opted_out:
        assert opted_out.get_config("running")["running"] == "hostname old\n"
    assert PASSWORD not in repr(switch.device.connect())


def test_warning_text_is_no_commit_failure(switch: EosSwitch, driver: Any) -> None:
    switch.faults.warning = (
        "! Warning: commit failed error: invalid, the change will take effect after a reload"
    )
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    driver.confirm_commit()
    assert switch.running == switch.startup == LINES
    driver.load_replace_candidate(config=NEW)
    assert driver.compare_config() == ""
    driver.discard_config()
    driver.rollback()
    assert switch.running == ["hostname old"]
