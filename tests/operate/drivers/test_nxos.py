"""NAPALM's NX-OS code with the device's own replace, over real HTTPS, SSH and SCP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    MergeConfigException,
    NapalmException,
    ReplaceConfigException,
)

from fabricc.operate.drivers.holds import Claim
from tests.operate.drivers.servers.nxos import NxosSwitch, nxos_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = "hostname new\ninterface Ethernet1/1\n  mtu 9216\n"


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[NxosSwitch]:
    with nxos_switch(tmp_path) as one:
        yield one


@pytest.fixture
def driver(switch: NxosSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=20) as one:
        yield one


def test_a_replace_is_copied_verified_compared_committed_and_rolled_back(
    switch: NxosSwitch, driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    assert [*switch.files.values()] == [NEW]
    assert driver.compare_config().splitlines()[:2] == ["no hostname old", "hostname new"]
    driver.commit_config(message="a change")
    assert switch.running == switch.startup == NEW
    driver.rollback()
    assert switch.running == switch.startup == "hostname old\n"


def test_a_commit_waits_for_its_confirmation_and_is_saved_then(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert (switch.running, switch.startup) == (NEW, "hostname saved\n")
    driver.close()
    with switch.device.connect() as other:
        with pytest.raises(CommitConfirmException):
            other.load_replace_candidate(config=NEW)
        other.confirm_commit()
        with pytest.raises(CommitError, match="no commit waits"):
            other.confirm_commit()
    assert switch.startup == NEW


def test_without_confirmation_the_switch_goes_back(switch: NxosSwitch, driver: Any) -> None:
    switch.second = 0.01
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=30)
    time.sleep(0.4)
    assert not driver.has_pending_commit()
    assert switch.running == "hostname old\n"


def test_a_commit_that_waits_is_rolled_back_and_its_timer_stopped(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.running == "hostname old\n"
    assert switch.waiting is None


@pytest.mark.parametrize("seconds", [29, 3601])
def test_the_timer_has_limits(switch: NxosSwitch, driver: Any, seconds: int) -> None:
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitConfirmException, match="30 to 3600"):
        driver.commit_config(revert_in=seconds)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_lost_at_the_commit_is_said(switch: NxosSwitch, driver: Any, when: str) -> None:
    switch.faults.drop_commit = when
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    assert driver.has_pending_commit() == (when == "after")


def test_refusals_are_napalms_and_without_secrets(switch: NxosSwitch, driver: Any) -> None:
    with pytest.raises(ReplaceConfigException, match="Invalid command") as refused:
        driver.load_replace_candidate(config="bogus\n")
    assert "S3CRET" not in str(refused.value)
    assert switch.files == {}
    switch.faults.fail_commit = True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(CommitError, match="failed") as failed:
        driver.commit_config()
    assert "S3CRET" not in str(failed.value)
    assert switch.running == "hostname old\n"
    with pytest.raises(MergeConfigException):
        driver.load_merge_candidate(config="hostname x\n")


def test_a_full_disk_refuses_the_copy(switch: NxosSwitch, driver: Any) -> None:
    switch.faults.disk_full = True
    with pytest.raises(ReplaceConfigException, match="No space left"):
        driver.load_replace_candidate(config=NEW)


def test_login_certificate_and_host_key_are_checked(switch: NxosSwitch, tmp_path: Path) -> None:
    with pytest.raises(ConnectAuthError) as refused:
        switch.device.connect(password="wrong S3CRET").open()
    assert "S3CRET" not in str(refused.value)
    with pytest.raises(ConnectionException, match=r"(?i)certificate"):
        switch.device.connect(ssl_verify=True).open()
    nobody = tmp_path / "nobody"
    nobody.touch()
    with switch.device.connect(alt_key_file=str(nobody)) as stranger, pytest.raises(NapalmException):
        stranger.load_replace_candidate(config=NEW)
    assert switch.files == {}


def test_two_sessions_have_candidates_of_their_own(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with switch.device.connect(timeout=20) as other:
        other.load_replace_candidate(config="hostname third\n")
        driver.commit_config(revert_in=60)
        assert switch.running == NEW
        (hold,) = other.get_holds()
        assert (hold.claim, hold.own) == (Claim.COMMIT, None)
        assert 0 < hold.left_s <= 60
