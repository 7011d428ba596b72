"""The SONiC driver, its shell commands and its revert script really run against stand-ins of SONiC's programs."""

from __future__ import annotations

import fcntl
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionException,
    MergeConfigException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.drivers.bundle import pack_bundle, unpack_bundle
from tests.operate.drivers.servers.linux_switch import LinuxSwitch, linux_switch, lose_once, run_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HERE = {
    "hostname": "old",
    "hwsku": "ACS-SN5600",
    "mac": "1c:34:da:00:00:01",
    "platform": "x86_64-nvidia_sn5600-r0",
    "docker_routing_config_mode": "split-unified",
}
IMAGE = {"FEATURE": {"bgp": {"state": "enabled"}}, "CRM": {"Config": {"polling_interval": "300"}}}
OLD = {**IMAGE, "DEVICE_METADATA": {"localhost": HERE}, "PORT": {"Ethernet0": {"admin_status": "down"}}}
CANDIDATE = {
    "DEVICE_METADATA": {
        "localhost": {name: HERE[name] for name in HERE if name != "mac"} | {"hostname": "néw"}
    }
}
NEW = {**IMAGE, "DEVICE_METADATA": {"localhost": {**HERE, "hostname": "néw"}}}
BUNDLE = pack_bundle({"config_db.json": json.dumps(CANDIDATE), "frr.conf": "hostname new\n"})


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[LinuxSwitch]:
    with linux_switch(tmp_path, "sonic", json.dumps(OLD), "hostname old\n") as one:
        yield one


@pytest.fixture
def driver(switch: LinuxSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=10, session="run-1") as one:
        yield one


def is_running(switch: LinuxSwitch, tables: Any, frr: str) -> bool:
    return json.loads(switch.text("running.json")) == tables and switch.text("frr") == frr


def test_a_confirmation_time_below_a_second_is_refused(switch: LinuxSwitch, driver: Any) -> None:
    """It would otherwise be a commit that nobody needs to confirm."""
    driver.load_replace_candidate(config=BUNDLE)
    with pytest.raises(CommitConfirmException, match="at least one second"):
        driver.commit_config(revert_in=0)
    assert json.loads(switch.text("running.json")) == OLD


def test_a_text_in_place_of_the_last_plan_is_an_error(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    folder = next(switch.root.rglob("napalm-sonic"))
    (folder / "plan.json").write_text("Warning: Running config is not saved\n")
    with pytest.raises(ConnectionException, match="is not JSON"):
        driver.commit_config()
    assert json.loads(switch.text("running.json")) == OLD


def wait_for(found: Callable[[], Any]) -> Any:
    limit = time.monotonic() + 30
    while not (value := found()) and time.monotonic() < limit:
        time.sleep(0.1)
    return value


@pytest.mark.slow
def test_a_replace_is_compared_committed_saved_and_rolled_back(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    difference = driver.compare_config()
    assert '+   "hostname": "n\\u00e9w"' in difference
    assert "+ hostname new" in difference
    driver.commit_config()
    assert is_running(switch, NEW, "hostname new\n")
    assert json.loads(switch.text("etc/sonic/config_db.json")) == NEW
    assert switch.text("etc/sonic/frr/frr.conf") == "hostname new\n"
    driver.rollback()
    assert is_running(switch, OLD, "hostname old\n")
    with pytest.raises(CommitError, match="nothing to roll back to"):
        driver.rollback()


@pytest.mark.slow
def test_nothing_is_saved_before_the_confirmation(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    assert is_running(switch, NEW, "hostname new\n")
    assert switch.text("etc/sonic/frr/frr.conf") == "hostname old\n"
    with pytest.raises(CommitConfirmException):
        driver.load_replace_candidate(config=BUNDLE)
    with switch.device.connect() as other:
        (hold,) = other.get_holds()
        assert (hold.kind, hold.owner, hold.own) == (HoldKind.COMMIT, "run-1", False)
        assert 0 < hold.left_s <= 60
        for act in (other.confirm_commit, other.rollback):
            with pytest.raises(CommitError, match="run-1 made the commit that waits"):
                act()
    with switch.device.connect(session="run-1") as again:
        again.confirm_commit()
        assert again.get_holds() == []
    assert switch.text("etc/sonic/frr/frr.conf") == "hostname new\n"


@pytest.mark.slow
def test_without_confirmation_the_switch_goes_back_by_itself(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config(revert_in=1)
    driver.close()
    assert wait_for(lambda: is_running(switch, OLD, "hostname old\n"))
    driver.open()
    assert wait_for(lambda: driver.commit_state()["phase"] == "reverted")
    with pytest.raises(CommitError):
        driver.confirm_commit()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_that_breaks_during_a_commit_is_opened_again(
    switch: LinuxSwitch, driver: Any, when: str
) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    switch.faults.drop_commit = when
    driver.commit_config()
    assert driver.commit_state()["phase"] == "confirmed"
    assert is_running(switch, NEW, "hostname new\n")


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_answer_to_the_save_is_requested_again(
    switch: LinuxSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config(revert_in=60)
    drops = lose_once(monkeypatch, "config save", when)
    with switch.device.connect(session="run-1") as again:
        again.confirm_commit()
    assert not drops
    assert json.loads(switch.text("etc/sonic/config_db.json")) == NEW


@pytest.mark.slow
def test_a_switch_that_refuses_the_login_during_a_commit_goes_back_by_itself(switch: LinuxSwitch) -> None:
    with switch.device.connect(commit_timeout=3) as driver:
        driver.load_replace_candidate(config=BUNDLE)
        driver._plan["rows"] = 0  # the time of a commit grows with them
        switch.faults.drop_commit, switch.faults.refuse_login = "before", True
        with pytest.raises(ConnectionException):
            driver.commit_config()
    assert wait_for(lambda: (switch.root / "lib/napalm-sonic/phase").read_text() == "reverted\n")
    assert is_running(switch, OLD, "hostname old\n")


@pytest.mark.slow
def test_a_commit_that_fails_goes_back(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.fail_commit = True
    driver.load_replace_candidate(config=BUNDLE)
    with pytest.raises(CommitError, match=r"services did not restart.*reverted"):
        driver.commit_config()
    assert is_running(switch, OLD, "hostname old\n")
    switch.faults.fail_commit = False
    driver.load_replace_candidate(config=pack_bundle({"frr.conf": "refuse me\n"}))
    with pytest.raises(CommitError, match="reverted") as failed:
        driver.commit_config()
    assert "S3CRET" not in str(failed.value)
    assert is_running(switch, OLD, "hostname old\n")


@pytest.mark.slow
def test_bfd_timers_that_frr_has_no_no_for_are_set_to_their_defaults(
    switch: LinuxSwitch, driver: Any
) -> None:
    switch.faults.old_frr = True
    with_timer = "bfd\n profile FABRIC\n  transmit-interval 500\n exit\nexit\n"
    without = with_timer.replace("  transmit-interval 500\n", "")
    for wanted in (with_timer, without):
        driver.load_replace_candidate(config=pack_bundle({"frr.conf": wanted}))
        driver.commit_config()
        assert switch.text("frr") == wanted
    driver.rollback()
    assert switch.text("frr") == with_timer
    driver.load_replace_candidate(config=pack_bundle({"frr.conf": without}))
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.text("frr") == with_timer, "the way back is the same"


@pytest.mark.slow
def test_nothing_is_left_of_a_candidate(switch: LinuxSwitch, driver: Any) -> None:
    before = sorted(path.name for path in (switch.root / "etc/sonic/frr").iterdir())
    driver.load_replace_candidate(config=BUNDLE)
    driver.discard_config()
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config()
    assert sorted(path.name for path in (switch.root / "etc/sonic/frr").iterdir()) == before


def test_a_full_disk_fails_before_anything_changes(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.disk_full = True
    driver.load_replace_candidate(config=BUNDLE)
    with pytest.raises(CommitError, match="No space left"):
        driver.commit_config()
    assert is_running(switch, OLD, "hostname old\n")


@pytest.mark.parametrize(
    ("candidate", "output"),
    [
        ('{"PORT": {}}', "empty tables: PORT"),
        ('{"BOGUS": {"a": {}}}', "not valid"),
        ("not json", "Expecting value"),
        (pack_bundle({"frr.conf": "bogus\n"}), "Unknown command"),
        (pack_bundle({"passwd": "x\n"}), "no place is known for passwd"),
    ],
)
def test_a_wrong_candidate_is_refused(switch: LinuxSwitch, driver: Any, candidate: str, output: str) -> None:
    with pytest.raises(ReplaceConfigException, match=output) as refused:
        driver.load_replace_candidate(config=candidate)
    assert "S3CRET" not in str(refused.value)
    assert driver.compare_config() == ""
    with pytest.raises(MergeConfigException):
        driver.load_merge_candidate(config=candidate)


@pytest.mark.slow
def test_rejected_updates_reload_only_with_permission(switch: LinuxSwitch) -> None:
    switch.faults.reject = True
    with switch.device.connect(reload=True) as driver:
        driver.load_replace_candidate(config=json.dumps(NEW))
        driver.commit_config()
    assert is_running(switch, NEW, "hostname old\n")


@pytest.mark.parametrize(
    ("words", "update"),
    [
        (("/usr/local/bin/config", "reload", "-y"), "reload"),
        (("sudo", "config", "apply-patch", "/tmp/patch.json"), "apply-patch"),
        (("/usr/local/bin/config", "load_minigraph"), "load_minigraph"),
        (("/usr/bin/python3", "-u", "/usr/lib/ztp/ztp-engine.py"), ""),
    ],
)
@pytest.mark.spread
def test_foreign_update_is_a_hold_while_it_runs(
    switch: LinuxSwitch, driver: Any, words: tuple[str, ...], update: str
) -> None:
    with run_process(switch, *words):
        owner = f"`config {update}`" if update else "ZTP, which `sudo ztp disable -y` ends,"
        assert driver.get_holds() == [Hold(HoldKind.UPDATE, owner)]
    assert driver.get_holds() == []
    for harmless in (
        ("config", "save", "-y"),
        ("vim", "config-reload.txt"),
        ("show", "config", "replace.md"),
    ):
        with run_process(switch, *harmless):
            assert driver.get_holds() == []


@pytest.mark.slow
def test_a_restart_ends_a_commit_that_waits(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config(revert_in=600)
    folder = switch.root / "lib/napalm-sonic"
    (folder / "boot").write_text("another start\n")
    (switch.root / "running.json").write_text(json.dumps(OLD))
    with switch.device.connect(session="run-2") as other:
        assert other.get_holds() == []
        assert other.commit_state() == {
            "phase": "reverted",
            "why": "the switch restarted before the confirmation",
        }
        for act in (other.confirm_commit, other.rollback):
            with pytest.raises(CommitError):
                act()
        other.load_replace_candidate(config=BUNDLE)


@pytest.mark.slow
def test_a_commit_that_the_guard_undoes_is_a_hold(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    driver.commit_config(revert_in=600)
    folder = switch.root / "lib/napalm-sonic"
    (folder / "pending").rename(folder / "claimed")
    with (folder / "updater.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (hold,) = driver.get_holds()
        assert hold.kind is HoldKind.COMMIT
        with pytest.raises(CommitConfirmException):
            driver.load_replace_candidate(config=BUNDLE)
    assert driver.get_holds() == [], "the process that undid it is gone"


def test_two_sessions_do_not_meet(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    with switch.device.connect() as other:
        with pytest.raises(SessionLockedException):
            other.load_replace_candidate(config=BUNDLE)
        driver.discard_config()
        other.load_replace_candidate(config=BUNDLE)


def test_login_is_checked_and_getters_answer(switch: LinuxSwitch, driver: Any) -> None:
    with pytest.raises(ConnectAuthError):
        switch.device.connect(password="wrong").open()
    assert unpack_bundle(driver.get_config("running")["running"], "")["frr.conf"].startswith("frr version")
    peers = {"peers": {"192.0.2.1": {"localAs": 1, "remoteAs": 2, "state": "Established", "pfxRcd": 3}}}
    (switch.root / "vtysh").mkdir()
    for name, answer in (
        ("show_bgp_vrf_all_summary_json", {"default": {"ipv4Unicast": {"routerId": "203.0.113.1", **peers}}}),
        ("show_bgp_vrf_all_neighbors_json", {"default": {"192.0.2.1": {"nbrDesc": "spine01"}}}),
    ):
        (switch.root / "vtysh" / name).write_text(json.dumps(answer))
    found = driver.get_bgp_neighbors()["global"]
    assert found["router_id"] == "203.0.113.1"
    assert found["peers"]["192.0.2.1"]["is_up"]
    assert found["peers"]["192.0.2.1"]["description"] == "spine01"


def test_a_switch_without_frr_conf_of_its_own_is_read(switch: LinuxSwitch, driver: Any) -> None:
    """A new switch has its routing in CONFIG_DB, and no frr.conf on disk."""
    (switch.root / "etc/sonic/frr/frr.conf").unlink()
    found = driver.get_config()
    assert [*unpack_bundle(found["startup"], "")] == ["config_db.json"]
    assert {*unpack_bundle(found["running"], "")} == {"config_db.json", "frr.conf"}


@pytest.mark.slow
def test_a_clock_that_is_set_moves_neither_the_way_back_nor_a_lock(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=BUNDLE)
    set_clock(switch, "10 days ago")
    driver.commit_config(revert_in=600)
    assert driver.has_pending_commit()
    (left,) = [one.left_s for one in driver.get_holds() if one.kind is HoldKind.COMMIT]
    assert 500 < left <= 600
    driver.confirm_commit()
    assert is_running(switch, NEW, "hostname new\n")
    driver.load_replace_candidate(config=BUNDLE)
    set_clock(switch, "5000 days ago")
    with switch.device.connect(timeout=10, session="run-2") as other:
        other.load_replace_candidate(config=BUNDLE)  # the lock is of a time that has not come yet


def set_clock(switch: LinuxSwitch, when: str) -> None:
    """Let the switch's `date` return another time."""
    program = switch.root / "bin" / "date"
    program.write_text(f"#!/bin/sh\nexec /bin/date -d '{when}' \"$@\"\n")
    program.chmod(0o755)
