"""The FRR driver against real FRR, sshd and lldpd: what is committed runs, and what fails leaves no trace."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommandErrorException,
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    MergeConfigException,
    NapalmException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.drivers.bundle import pack_bundle, unpack_bundle
from fabricc.operate.drivers.frr import FrrDriver
from tests.operate.drivers.servers.frr_box import PASSWORD, box_configuration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.operate.drivers.servers.frr_box import Box

OLD = box_configuration("box1", 1, 2)
NEW = OLD.replace("  network 10.1.3.0/24\n", "").replace("to box 2", "to bóx 2")
UPDATE = Hold(HoldKind.UPDATE, "`frr-reload.py`")


@pytest.fixture
def driver(boxes: list[Box]) -> Iterator[Any]:
    with boxes[0].device.connect() as one:
        one.load_replace_candidate(config=OLD)
        if one.compare_config():
            one.commit_config()
        one.discard_config()
        yield one


def wait_for(found: Callable[[], Any]) -> Any:
    limit = time.monotonic() + 60
    while not (value := found()) and time.monotonic() < limit:
        time.sleep(0.2)
    return value


def saved_text(box: Box) -> str:
    return (box.own.parent / "etc" / "frr" / "frr.conf").read_text("utf-8")


def test_a_commit_runs_is_saved_and_can_be_undone(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    assert "-   no network 10.1.3.0/24" in driver.compare_config()
    driver.commit_config(message="läb change")
    assert "network 10.1.3.0/24" not in boxes[0].run("vtysh", "-c", "show running-config")
    assert saved_text(boxes[0]) == NEW
    driver.load_replace_candidate(config=NEW)
    assert driver.compare_config() == ""
    driver.discard_config()

    driver.rollback()
    assert "network 10.1.3.0/24" in boxes[0].run("vtysh", "-c", "show running-config")
    assert saved_text(boxes[0]) == OLD
    with pytest.raises(CommitError, match="nothing to roll back to"):
        driver.rollback()


@pytest.mark.slow
def test_daemons_have_the_name_that_the_configuration_gives_them(boxes: list[Box], driver: Any) -> None:
    before = boxes[0].run("hostname").strip()
    for name in ("other", before):
        boxes[0].run("hostname", name)
        driver.load_replace_candidate(config=f"hostname {name}\n{NEW}")
        driver.commit_config()
        assert f"hostname {name}\n" in boxes[0].run("vtysh", "-d", "bgpd", "-c", "show running-config")
        driver.load_replace_candidate(config=f"hostname {name}\n{NEW}")
        assert driver.compare_config() == ""
        driver.discard_config()


@pytest.mark.slow
def test_until_it_is_confirmed_a_commit_is_not_what_the_switch_boots_from(
    boxes: list[Box], driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    assert saved_text(boxes[0]) == OLD
    with pytest.raises(CommitConfirmException, match="pending"):
        driver.load_replace_candidate(config=OLD)
    driver.confirm_commit()
    assert not driver.has_pending_commit()
    assert saved_text(boxes[0]) == NEW
    with pytest.raises(CommitError, match="no commit waits"):
        driver.confirm_commit()


@pytest.mark.slow
def test_unconfirmed_commit_reverts_without_a_connection(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with suppress(CommitError):  # the time may be over before the driver sees that the commit waits
        driver.commit_config(revert_in=2)
    driver.close()
    assert wait_for(lambda: "network 10.1.3.0/24" in boxes[0].run("vtysh", "-c", "show running-config"))
    driver.open()
    assert wait_for(lambda: driver.commit_state()["phase"] == "reverted")
    assert driver.commit_state()["why"] == "not confirmed within 2 s"
    assert not driver.has_pending_commit()


@pytest.mark.slow
def test_a_pending_commit_is_rolled_back_at_once(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=600)
    driver.rollback()
    assert "network 10.1.3.0/24" in driver.get_config("running")["running"]


@pytest.mark.slow
def test_bfd_timers_that_frr_has_no_no_for_go_back(boxes: list[Box], driver: Any) -> None:
    profile = "bfd\n profile FABRIC\n{} exit\n !\nexit\n!\n"
    timers = "  detect-multiplier 4\n  transmit-interval 500\n  receive-interval 400\n"
    driver.load_replace_candidate(config=OLD + profile.format(timers))
    driver.commit_config()
    driver.load_replace_candidate(config=OLD + profile.format("  receive-interval 600\n"))
    driver.commit_config(revert_in=60)
    runs = boxes[0].run("vtysh", "-c", "show running-config")
    assert "receive-interval 600" in runs
    assert "transmit-interval" not in runs
    assert "detect-multiplier" not in runs
    driver.rollback()
    runs = boxes[0].run("vtysh", "-c", "show running-config")
    assert timers in runs
    driver.load_replace_candidate(config=OLD)
    driver.commit_config()
    assert "bfd" not in boxes[0].run("vtysh", "-c", "show running-config")


@pytest.mark.slow
def test_a_connection_lost_during_a_commit_leaves_a_known_state(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    started = driver._ask

    def cut(what: str, *rest: Any, **more: Any) -> Any:
        answer = started(what, *rest, **more)
        if what == "commit":
            boxes[0].run("sh", "-c", "kill $(pgrep -f '[s]shd: root')")
        return answer

    driver._ask = cut
    with pytest.raises(ConnectionClosedException):
        driver.commit_config()
    driver._ask = started
    driver.close()
    driver.open()
    assert wait_for(lambda: driver.commit_state()["phase"] == "confirmed")
    assert saved_text(boxes[0]) == NEW


@pytest.mark.slow
def test_a_commit_whose_process_is_killed_is_reverted_by_the_next_connection(
    boxes: list[Box], driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=600)
    driver.close()
    boxes[0].run("sh", "-c", "kill -9 $(pgrep -f '[n]apalm-frr')")
    driver.open()
    assert wait_for(lambda: driver.commit_state()["phase"] == "reverted")
    assert driver.commit_state()["why"] == "the process of the commit died"
    assert "network 10.1.3.0/24" in boxes[0].run("vtysh", "-c", "show running-config")


@pytest.mark.slow
def test_files_besides_frr_conf_are_compared_obeyed_and_restored(boxes: list[Box], driver: Any) -> None:
    ttl = "/proc/sys/net/ipv4/ip_default_ttl"
    before = boxes[0].run("cat", ttl)
    (boxes[0].own.parent / "etc" / "sysctl.d" / "90-fabricc.conf").write_text(
        "net.ipv4.ip_default_ttl = 64\n"
    )
    driver.load_replace_candidate(
        config=pack_bundle({"sysctl.conf": "net.ipv4.ip_default_ttl = 61\n", "frr.conf": NEW})
    )
    assert "+net.ipv4.ip_default_ttl = 61" in driver.compare_config()
    driver.commit_config()
    assert boxes[0].run("cat", ttl) == "61\n"
    assert unpack_bundle(driver.get_config("startup")["startup"], "")["sysctl.conf"].endswith("61\n")
    driver.rollback()
    assert boxes[0].run("cat", ttl) == before


@pytest.mark.slow
def test_files_that_wait_for_their_confirmation_are_reported_as_the_switch_obeys_them(
    boxes: list[Box], driver: Any
) -> None:
    place = boxes[0].own.parent / "etc" / "sysctl.d" / "90-fabricc.conf"
    place.write_text("net.ipv4.ip_default_ttl = 64\n")
    driver.load_replace_candidate(
        config=pack_bundle({"sysctl.conf": "net.ipv4.ip_default_ttl = 61\n", "frr.conf": NEW})
    )
    driver.commit_config(revert_in=60)
    reported = unpack_bundle(driver.get_config("startup")["startup"], "")
    assert place.read_text().endswith("64\n")
    assert reported["sysctl.conf"].endswith("61\n")
    assert reported["frr.conf"] == OLD
    driver.rollback()
    assert unpack_bundle(driver.get_config("startup")["startup"], "")["sysctl.conf"].endswith("64\n")


@pytest.mark.slow
def test_when_a_step_fails_everything_is_as_before(boxes: list[Box], driver: Any) -> None:
    with boxes[0].device.connect(activate={"hostname": "grep -q box1 {path}"}) as other:
        other.load_replace_candidate(config=pack_bundle({"hostname": "other\n", "frr.conf": NEW}))
        with pytest.raises(CommitError, match="reverted: sh -c ended with 1"):
            other.commit_config()
    assert boxes[0].run("cat", "/etc/hostname") == "box1\n"
    assert saved_text(boxes[0]) == OLD


@pytest.mark.slow
def test_a_folder_that_the_switch_lacks_is_made(boxes: list[Box]) -> None:
    """Debian has neither /etc/nftables.d nor /etc/systemd/timesyncd.conf.d."""
    place = "/srv/lacking/conf.d/fabricc.conf"
    quiet = {"activate": {"timesyncd.conf": ""}, "files": {"timesyncd.conf": place}}
    with boxes[0].device.connect(**quiet) as other:
        other.load_replace_candidate(config=pack_bundle({"timesyncd.conf": "[Time]\n", "frr.conf": NEW}))
        other.commit_config()
        assert boxes[0].run("cat", place) == "[Time]\n"
        other.rollback()
    assert boxes[0].run("ls", "/srv/lacking/conf.d") == ""


@pytest.mark.slow
def test_getters_that_are_read_together_need_one_request(
    driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("get_identity", "get_bgp_neighbors", "get_ecmp_widths", "get_interfaces_counters")
    apart = [getattr(driver, name)() for name in names]
    usual = FrrDriver._ask
    sent: list[str] = []

    def ask(self: FrrDriver, what: str, *rest: Any, **more: Any) -> Any:
        sent.append(what)
        return usual(self, what, *rest, **more)

    monkeypatch.setattr(FrrDriver, "_ask", ask)
    driver.read_ahead(names)
    together = [getattr(driver, name)() for name in names]
    assert (together[0], together[2], list(together[3])) == (apart[0], apart[2], list(apart[3]))
    assert together[1]["global"]["peers"].keys() == apart[1]["global"]["peers"].keys()
    assert sent == ["run"]
    assert driver.get_identity() == apart[0]
    assert sent == ["run", "run"], "an answer is used once"
    driver.read_ahead(names)
    driver.drop_ahead()
    driver.get_identity()
    assert len(sent) == 4


@pytest.mark.slow
def test_a_candidate_outside_the_grammar_is_refused_without_its_secrets(driver: Any) -> None:
    wrong = NEW.replace("description peer 2", "peer 2\n neighbor 192.0.2.2 remote-as 65002 password S3CRET")
    with pytest.raises(ReplaceConfigException, match="Unknown command") as caught:
        driver.load_replace_candidate(config=wrong)
    assert "S3CRET" not in str(caught.value)
    with pytest.raises(MergeConfigException):
        driver.load_merge_candidate(config="no such words\n")
    with pytest.raises(ReplaceConfigException, match="no place is known for passwd"):
        driver.load_replace_candidate(config=pack_bundle({"passwd": "x\n"}))
    assert driver.compare_config() == ""


def test_a_switch_that_frr_reload_refuses_is_refused_before_the_change(boxes: list[Box], driver: Any) -> None:
    """With a file for each daemon, `frr-reload.py --test` compares, and `--reload` ends with an error."""
    of_vtysh = boxes[0].own.parent / "etc/frr/vtysh.conf"
    before = of_vtysh.read_text()
    of_vtysh.write_text("no service integrated-vtysh-config\n")
    try:
        with pytest.raises(ReplaceConfigException, match="integrated-vtysh-config"):
            driver.load_replace_candidate(config=NEW)
        assert driver.get_config("running")["running"] != ""
    finally:
        of_vtysh.write_text(before)
    driver.load_replace_candidate(config=NEW)
    assert driver.compare_config()
    driver.discard_config()


@pytest.mark.slow
def test_a_merge_adds_and_takes_nothing_away(driver: Any) -> None:
    driver.load_merge_candidate(config="route-map NEW permit 10\nexit\n")
    assert driver.compare_config().splitlines()[2:] == ["+ route-map NEW permit 10"]
    driver.commit_config()
    assert "route-map NEW permit 10" in driver.get_config("running")["running"]


@pytest.mark.slow
def test_a_guard_of_a_dead_session_is_stopped_by_name_and_nothing_goes_back(
    boxes: list[Box], driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.arm_guard(60)
    with boxes[0].device.connect() as other:
        guard, candidate = other.get_holds()
        assert candidate.kind is HoldKind.CANDIDATE
        assert other.end_hold(guard)
        assert other.end_hold(candidate)
        assert other.get_holds() == []
        assert not driver.extend_guard(1), "it is gone for its own session too"
        other.load_replace_candidate(config=NEW)
        other.commit_config()
        assert saved_text(boxes[0]) == NEW


@pytest.mark.slow
def test_foreign_reload_is_a_hold_while_it_runs(boxes: list[Box], driver: Any) -> None:
    enter = ["nsenter", "-t", str(boxes[0].process), "-m", "-u", "-p", "-n"]
    wait = [*enter, "python3", "-c", "import sys; print(1, flush=True); sys.stdin.read()"]
    for words, expected in (
        (["/usr/lib/frr/frr-reload.py", "--reload", "--stdout", "/etc/frr/frr.conf"], [UPDATE]),
        (["/usr/lib/frr/frr-reload.py", "--test", "--stdout", "/etc/frr/frr.conf"], []),
    ):
        with subprocess.Popen([*wait, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            assert driver.get_holds() == expected
    assert driver.get_holds() == []


@pytest.mark.slow
def test_a_commit_that_waits_is_left_to_the_session_that_made_it(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    with boxes[0].device.connect() as other:
        commit, candidate = other.get_holds()
        assert (commit.kind, candidate.kind) == (HoldKind.COMMIT, HoldKind.CANDIDATE)
        assert (commit.owner, commit.own) == (driver._session, False)
        for act in (other.confirm_commit, other.rollback):
            with pytest.raises(SessionLockedException, match="made the commit that waits"):
                act()
    assert driver.has_pending_commit()
    driver.confirm_commit()
    assert saved_text(boxes[0]) == NEW


@pytest.mark.slow
@pytest.mark.parametrize("file", [False, True])
def test_commit_stops_when_another_session_changed_the_switch(
    boxes: list[Box], driver: Any, file: bool
) -> None:
    sysctl = boxes[0].own.parent / "etc" / "sysctl.d" / "90-fabricc.conf"
    driver.load_replace_candidate(
        config=pack_bundle({"frr.conf": NEW, "sysctl.conf": "net.ipv4.ip_forward = 1\n"})
    )
    driver.compare_config()
    if file:
        sysctl.parent.mkdir(exist_ok=True)
        sysctl.write_text("net.ipv4.ip_forward = 0\n")
    else:
        boxes[0].run("vtysh", "-c", "configure terminal", "-c", "ip route 192.0.2.0/24 blackhole")
    with pytest.raises(SessionLockedException, match="has changed since it was compared"):
        driver.commit_config(revert_in=60)
    running = boxes[0].run("vtysh", "-c", "show running-config")
    assert "network 10.1.3.0/24" in running
    assert ("ip route 192.0.2.0/24 blackhole" in running) != file
    assert not driver.has_pending_commit()
    boxes[0].run("vtysh", "-c", "configure terminal", "-c", "no ip route 192.0.2.0/24 blackhole")


@pytest.mark.slow
def test_two_sessions_do_not_meet(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with boxes[0].device.connect() as other:
        with pytest.raises(SessionLockedException, match="holds the candidate for"):
            other.load_replace_candidate(config=NEW)
        driver.discard_config()
        other.load_replace_candidate(config=NEW)


@pytest.mark.slow
def test_a_session_takes_up_its_own_lock_and_others_wait_for_it_to_expire(
    boxes: list[Box], driver: Any
) -> None:
    first = boxes[0].device.connect(session="run 7", lock_timeout=2)
    first.open()
    first.load_replace_candidate(config=NEW)
    first._shell.close()
    with boxes[0].device.connect(session="run 7", lock_timeout=2) as again:
        again.load_replace_candidate(config=NEW)
        again._shell.close()
    time.sleep(2.1)
    driver.load_replace_candidate(config=NEW)


@contextmanager
def fill_disk(box: Box, left: int = 0) -> Iterator[None]:
    """Nothing but so many bytes left in the driver's file system."""
    space = "$(df --output=avail -B1 /run | tail -n 1)"
    box.run("sh", "-c", f"head -c $(({space} - {left})) /dev/zero > /run/filler || true")
    try:
        yield
    finally:
        box.run("rm", "-f", "/run/filler")


@pytest.mark.slow
def test_a_full_disk_refuses_the_candidate_or_the_commit(boxes: list[Box], driver: Any) -> None:
    with fill_disk(boxes[0]), pytest.raises(ReplaceConfigException, match="No space left"):
        driver.load_replace_candidate(config=NEW)
    with fill_disk(boxes[0], left=500_000):
        driver.load_replace_candidate(config=NEW)
        with pytest.raises(CommitError, match="no space left for a safe commit"):
            driver.commit_config()
        driver.discard_config()
    assert "network 10.1.3.0/24" in boxes[0].run("vtysh", "-c", "show running-config")


@pytest.mark.slow
def test_started_commit_can_end_on_a_full_disk(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    with fill_disk(boxes[0]), boxes[0].device.connect(use_reserve=True) as ending:
        with pytest.raises(ReplaceConfigException, match="No space left"):
            driver.load_replace_candidate(config=OLD)
        for config in (OLD, NEW):
            ending.load_replace_candidate(config=config)
            ending.commit_config(revert_in=60)
            ending.confirm_commit()
            assert saved_text(boxes[0]) == config
        ending.rollback()
    assert saved_text(boxes[0]) == OLD


@pytest.mark.slow
def test_a_disk_that_fills_while_a_commit_waits_does_not_keep_it_from_going_back(
    boxes: list[Box], driver: Any
) -> None:
    for ends in ("asked for", "not confirmed within 4 s"):
        driver.load_replace_candidate(config=NEW)
        with suppress(CommitError):  # the time may be over before the driver sees that the commit waits
            driver.commit_config(revert_in=600 if ends == "asked for" else 4)
        with fill_disk(boxes[0]):
            if ends == "asked for":
                driver.rollback()
            assert wait_for(lambda: driver.commit_state()["phase"] == "reverted"), driver.commit_state()
        assert driver.commit_state()["why"] == ends
        assert "network 10.1.3.0/24" in boxes[0].run("vtysh", "-c", "show running-config")


@pytest.mark.slow
def test_a_commit_under_way_is_waited_for(boxes: list[Box], driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver._ask("commit", message="", revert_s=60)
    with boxes[0].device.connect() as other:
        assert other.has_pending_commit()
        assert "network 10.1.3.0/24" not in other.get_config("running")["running"]
        driver._ask("rollback")
        other.rollback()
        assert other.commit_state()["phase"] == "reverted", "going back already is no reason to refuse"


@pytest.mark.slow
def test_a_guard_takes_the_switch_back_past_confirmed_commits(boxes: list[Box], driver: Any) -> None:
    """A drained, changed and confirmed switch returns to its state before the drain, without a connection."""
    driver.load_replace_candidate(config=OLD.replace("to box 2", "drained"))
    driver.arm_guard(60)
    driver.commit_config()
    driver.load_replace_candidate(config=NEW.replace("to bóx 2", "drained"))
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert driver.extend_guard(2)
    driver.close()
    assert wait_for(lambda: saved_text(boxes[0]) == OLD)
    with boxes[0].device.connect() as other:
        assert wait_for(lambda: other.commit_state()["phase"] == "reverted")
        assert "not released within 2 s" in other.commit_state()["why"]
        assert not other.extend_guard(60)
        other.load_replace_candidate(config=OLD)
        assert other.compare_config() == ""


@pytest.mark.slow
def test_a_guard_that_is_released_does_nothing_and_others_leave_it_alone(
    boxes: list[Box], driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.arm_guard(60)
    driver.commit_config()
    with boxes[0].device.connect() as other:
        other.release_guard()
        other.load_replace_candidate(config=OLD)
        for act in (lambda: other.arm_guard(60), other.commit_config):
            with pytest.raises(SessionLockedException, match="has set a guard"):
                act()
        other.discard_config()
        (hold,) = other.get_holds()
        assert (hold.kind, hold.owner, hold.own, hold.blocks) == (
            HoldKind.GUARD,
            driver._session,
            False,
            True,
        )
        assert 0 < hold.left_s <= 60
        assert not other.end_hold(replace(hold, owner="of nobody"))
    assert driver.extend_guard(5)  # longer than it takes a busy machine to release it
    driver.release_guard()
    time.sleep(6)
    assert saved_text(boxes[0]) == NEW
    with pytest.raises(CommitError, match="the candidate is gone"):
        driver.arm_guard(5)


@pytest.mark.slow
def test_a_guard_whose_process_is_killed_stands_again_at_the_next_connection(
    boxes: list[Box], driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.arm_guard(60)
    driver.commit_config()
    guard = json.loads(boxes[0].run("cat", f"{boxes[0].device.options['private_dir']}/guard.json"))
    boxes[0].run("kill", "-9", str(guard["worker"]["pid"]))
    assert driver.extend_guard(2)
    assert wait_for(lambda: saved_text(boxes[0]) == OLD)
    assert wait_for(lambda: driver.commit_state()["phase"] == "reverted")


def test_a_wrong_login_and_an_unknown_host_are_refused(boxes: list[Box], tmp_path: Any) -> None:
    wrong = boxes[0].device.connect(password="not this S3CRET")
    with pytest.raises(ConnectAuthError) as caught:
        wrong.open()
    assert "S3CRET" not in str(caught.value)
    nobody = tmp_path / "known_hosts"
    nobody.touch()
    with pytest.raises(ConnectionException, match="not found in known_hosts") as refused:
        boxes[0].device.connect(alt_key_file=str(nobody)).open()
    assert PASSWORD not in str(refused.value)
    with boxes[0].device.connect(alt_key_file=str(nobody), ssh_strict=False) as opted_out:
        assert opted_out.is_alive() == {"is_alive": True}
    assert opted_out.is_alive() == {"is_alive": False}


@pytest.mark.slow
def test_getters_return_the_running_state(boxes: list[Box], driver: Any) -> None:
    facts = driver.get_facts()
    assert (facts["vendor"], facts["hostname"]) == ("FRRouting", "box1")
    assert facts["interface_list"] == ["lo", "swp1"]
    interface = driver.get_interfaces()["swp1"]
    assert (interface["is_up"], interface["is_enabled"], interface["mtu"]) == (True, True, 1500)
    assert interface["description"] == "to box 2"
    assert driver.get_interfaces_counters()["swp1"]["rx_octets"] > 0
    peers = wait_for(
        lambda: [p for p in [driver.get_bgp_neighbors()["global"]["peers"]["192.0.2.2"]] if p["is_up"]]
    )
    assert (peers[0]["local_as"], peers[0]["remote_as"], peers[0]["description"]) == (65001, 65002, "peer 2")
    assert wait_for(lambda: driver.get_ecmp_widths() == {f"10.2.{at}.0/24": 1 for at in range(4)})
    (route,) = driver.get_route_to("10.2.1.7")["10.2.1.0/24"]
    assert (route["protocol"], route["next_hop"], route["outgoing_interface"]) == ("BGP", "192.0.2.2", "swp1")
    assert wait_for(driver.get_lldp_neighbors) == {"swp1": [{"hostname": "box2", "port": "swp1"}]}
    assert driver.get_lldp_neighbors_detail("swp9") == {}
    assert driver.cli(["show bgp summary"])["show bgp summary"].strip()
    with pytest.raises(CommandErrorException):
        driver.cli(["show nonsense"])


def test_commands_after_disconnect_raise_not_connected(boxes: list[Box]) -> None:
    one = boxes[0].device.connect()
    with pytest.raises(NapalmException, match="not connected"):
        one.get_facts()
