"""The Cumulus driver over real SSH against a stand-in of NVUE's command."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.operate.drivers.holds import Claim
from tests.operate.drivers.servers.linux_switch import LinuxSwitch, linux_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLD, NEW = "- set: {system: {hostname: old}}\n", "- set: {system: {hostname: néw}}\n"


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[LinuxSwitch]:
    with linux_switch(tmp_path, "cumulus", OLD) as one:
        yield one


@pytest.fixture
def driver(switch: LinuxSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=10, session="run-1") as one:
        yield one


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


def test_a_pending_revision_of_a_person_is_neither_loaded_over_nor_dropped(
    switch: LinuxSwitch, driver: Any
) -> None:
    (switch.root / "pending").write_text("- set: {system: {hostname: person}}\n")
    (hold,) = driver.get_holds()
    assert (hold.claim, hold.owner, hold.own) == (Claim.CANDIDATE, "admin", False)
    with pytest.raises(SessionLockedException, match="pending revision"):
        driver.load_replace_candidate(config=NEW)
    driver.discard_config()
    assert "person" in switch.text("pending")


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


def test_a_commit_that_waits_is_rolled_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.text("running.json") == OLD


@pytest.mark.slow
def test_without_confirmation_nvue_goes_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=1)
    time.sleep(1.1)
    assert not driver.has_pending_commit()
    assert switch.text("running.json") == OLD
    with pytest.raises(CommitError, match="no commit waits"):
        driver.confirm_commit()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_lost_at_the_commit_is_said(switch: LinuxSwitch, driver: Any, when: str) -> None:
    switch.faults.drop_commit = when
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    driver.open()
    assert driver.has_pending_commit() == (when == "after")


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


def test_two_sessions_do_not_meet(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with switch.device.connect() as other, pytest.raises(SessionLockedException):
        other.load_replace_candidate(config=NEW)
