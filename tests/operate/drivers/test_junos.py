"""NAPALM's Junos code, PyEZ and ncclient over real SSH, without its traps."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from napalm.base.exceptions import (
    CommandErrorException,
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    ReplaceConfigException,
    SessionLockedException,
)
from netutils.password import encrypt_juniper_type9

from fabricc.operate.devices.running import find_differences
from fabricc.operate.drivers import HoldKind
from fabricc.operate.drivers.junos_secrets import decode_secret, read_engine
from fabricc.operate.drivers.junos_views import Commit, went_back
from tests.operate.drivers.servers.junos import USER, JunosSwitch, junos_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ITEM = "multi-routing-engine-item"
ENGINES = f"<multi-routing-engine-results><{_ITEM}>{{}}</{_ITEM}></multi-routing-engine-results>"
"""The answer of a device with several routing engines."""
OLD, NEW = "system { host-name old; }\n", "system { host-name néw; }\n"


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[JunosSwitch]:
    with junos_switch(tmp_path) as one:
        yield one


@pytest.fixture
def driver(switch: JunosSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=20) as one:
        yield one


def test_a_replace_is_compared_committed_and_rolled_back(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    assert "+system { host-name néw; }" in driver.compare_config()
    driver.commit_config(message="a chänge")
    assert (switch.running, switch.log, switch.holder) == (NEW, "a chänge", None)
    driver.load_replace_candidate(config=NEW)
    assert driver.compare_config() == ""
    driver.discard_config()
    driver.rollback()
    assert switch.running == OLD


SECRETS = """\
system {
    host-name new;
    tacplus-server 172.16.0.5 {
        routing-instance mgmt_junos;
        secret s3cret-key;
    }
}
protocols {
    bgp {
        group core {
            authentication-key another-key;
        }
    }
}
"""


@pytest.mark.slow
def test_a_switch_that_runs_the_secrets_of_its_plan_is_unchanged(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=SECRETS)
    driver.commit_config()
    assert switch.running.count("$9$") == 2
    driver.load_replace_candidate(config=SECRETS)
    assert driver.compare_config() == ""
    driver.load_replace_candidate(config=SECRETS.replace("s3cret-key", "rotated-key"))
    assert driver.compare_config().count("secret ") == 2
    driver.commit_config()
    assert "rotated-key" not in switch.running
    driver.load_replace_candidate(config=SECRETS.replace("s3cret-key", "rotated-key"))
    assert driver.compare_config() == ""


SNMP = """\
snmp {
    v3 {
        usm {
            local-engine {
                user monitor {
                    authentication-sha {
                        authentication-password password;
                    }
                    privacy-aes128 {
                        privacy-password "12345678";
                    }
                }
            }
        }
    }
}
"""


@pytest.mark.slow
def test_a_switch_with_the_snmp_users_of_its_plan_is_unchanged(switch: JunosSwitch, driver: Any) -> None:
    """The keys are published with their passwords and the engine; another password is a difference of its lines."""
    driver.load_replace_candidate(config=SNMP.replace('"12345678"', "12345678"))
    driver.commit_config()
    assert switch.running.count('-key "$9$') == 2
    driver.load_replace_candidate(config=SNMP)
    assert driver.compare_config() == ""
    driver.load_replace_candidate(config=SNMP.replace("password password", "password rotated1"))
    assert driver.compare_config().count("authentication-key ") == 2
    driver.discard_config()
    switch.engine = ""
    driver.load_replace_candidate(config=SNMP)
    assert driver.compare_config().count("-key ") >= 2


def test_the_engine_is_read_from_the_answer_of_a_router() -> None:
    answer = (
        "\nLocal engine ID: 80 00 0a 4c 01 0a 00 00 01\nEngine boots:           1\n\nEngine ID: 80 00 0a 4c\n"
    )
    assert read_engine(answer).hex() == "80000a4c010a000001"
    assert read_engine("\nEngine boots: 1\n") == b""


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=64))
def test_every_secret_that_another_program_encodes_is_decoded(clear: str) -> None:
    assert decode_secret(encrypt_juniper_type9(clear)) == clear


@pytest.mark.parametrize("text", ["", "$9$", "clear", "$9$!", "$9$vqY8\u00fc", "$6$abc", "$9$iHk", "$9$Q"])
def test_a_text_that_is_no_stored_secret_decodes_to_nothing_or_to_a_text(text: str) -> None:
    assert decode_secret(text) in (None, "")


def test_seconds_become_whole_minutes_and_another_connection_confirms(
    switch: JunosSwitch, driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=61)
    assert switch.comment == "commit confirmed, rollback in 2mins"
    driver.close()
    with switch.device.connect() as other:
        with pytest.raises(CommitConfirmException, match="waits"):
            other.load_replace_candidate(config=OLD)
        other.confirm_commit()
        assert switch.waiting is None
        with pytest.raises(CommitError, match="no commit waits"):
            other.confirm_commit()
    assert switch.running == NEW


def test_without_confirmation_junos_goes_back(switch: JunosSwitch, driver: Any) -> None:
    switch.minute = 0.2
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    time.sleep(0.4)
    assert switch.running == OLD
    assert not driver.has_pending_commit()


def test_a_commit_that_waits_is_rolled_back(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.running == OLD
    assert switch.waiting is None


def test_two_sessions_do_not_meet_and_a_lost_one_frees_the_lock(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with switch.device.connect() as other:
        with pytest.raises(SessionLockedException, match="locked by"):
            other.load_replace_candidate(config=NEW)
        driver.device._conn._session.transport.close()
        limit = time.monotonic() + 20
        while switch.holder is not None and time.monotonic() < limit:
            time.sleep(0.05)
        other.load_replace_candidate(config=NEW)


def count_commits(switch: JunosSwitch) -> int:
    """Return how many commits took effect, without the one that the switch began with."""
    return len(switch.history) - 1


@pytest.mark.parametrize("revert_in", [60, None])
def test_a_commit_whose_answer_is_lost_is_looked_up_and_not_sent_again(
    switch: JunosSwitch, driver: Any, revert_in: int | None
) -> None:
    switch.faults.drop_commit, switch.faults.drop_once = "after", True
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=revert_in)
    assert (switch.running, count_commits(switch), switch.holder) == (NEW, 1, None)
    assert driver.has_pending_commit() == (revert_in is not None)
    if revert_in is not None:
        driver.confirm_commit()
        assert (switch.running, switch.waiting) == (NEW, None)


def test_a_commit_that_did_not_arrive_is_reported(switch: JunosSwitch, driver: Any) -> None:
    switch.faults.drop_commit, switch.faults.drop_once = "before", True
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    assert (switch.running, count_commits(switch), switch.waiting) == (OLD, 0, None)
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    assert (switch.running, count_commits(switch)) == (NEW, 1)


def test_foreign_commit_is_not_mistaken_for_the_lost_commit(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch.faults.drop_commit, switch.faults.drop_once = "before", True
    driver.load_replace_candidate(config=NEW)
    connect = driver.open

    def open_after_two_commits() -> None:
        for text in ("system { host-name person; }\n", "system { host-name other; }\n"):
            switch._become(text, "", "")
            switch.candidate = text
        connect()

    monkeypatch.setattr(driver, "open", open_after_two_commits)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config()


@pytest.mark.parametrize(("when", "adds"), [("before", False), ("after", False), ("after", True)])
@pytest.mark.spread
def test_a_lost_confirmation_is_completed(switch: JunosSwitch, driver: Any, when: str, adds: bool) -> None:
    switch.checks_commit = adds
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.faults.drop_commit, switch.faults.drop_once = when, True
    driver.confirm_commit()
    assert (switch.running, switch.waiting, len(switch.history)) == (NEW, None, 3 if adds else 2)


def test_a_confirmation_that_came_too_late_is_reported(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.faults.drop_commit, switch.faults.drop_once = "before", True
    connect = driver.open

    def open_after_the_time_is_over() -> None:
        switch.waiting = time.monotonic() - 1
        connect()

    monkeypatch.setattr(driver, "open", open_after_the_time_is_over)
    with pytest.raises(CommitError, match="the switch went back"):
        driver.confirm_commit()
    assert switch.running == OLD


def test_a_switch_that_does_not_come_back_is_a_lost_connection(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    switch.faults.drop_commit = "after"
    switch.faults.refuse_login = True
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    switch.faults.refuse_login = False
    with switch.device.connect() as again:
        assert again.has_pending_commit()


def test_uncommitted_changes_of_a_person_are_not_committed_by_a_confirmation(
    switch: JunosSwitch, driver: Any
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.candidate = NEW + "snmp;\n"
    driver.confirm_commit()
    assert (switch.running, switch.waiting) == (NEW, None)
    assert switch.candidate.endswith("snmp;\n")
    with pytest.raises(SessionLockedException, match="configuration database modified"):
        driver.rollback()
    assert (switch.running, switch.candidate) == (NEW, NEW + "snmp;\n")


def test_a_commit_that_was_confirmed_by_a_check_does_not_wait(switch: JunosSwitch, driver: Any) -> None:
    """Junos keeps the comment `commit confirmed, rollback in 2mins`, whoever confirmed it."""
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=120)
    switch.waiting = None
    assert switch.comment == "commit confirmed, rollback in 2mins"
    assert not driver.has_pending_commit()
    assert driver.get_holds() == []
    driver.load_replace_candidate(config=OLD)


def test_words_of_a_commit_s_author_are_no_status(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(message="commit confirmed, rollback in 60mins")
    assert not driver.has_pending_commit()


@pytest.mark.slow
@pytest.mark.parametrize("message", ["", "session 9", "for change 7"])
def test_the_commit_of_another_machine_is_not_taken_for_the_own_one(
    switch: JunosSwitch, message: str
) -> None:
    """Both machines log in as one user; the log of a commit begins with its session."""
    with switch.device.connect(session="run-7") as ours, switch.device.connect(session="run-8") as theirs:
        theirs.load_replace_candidate(config=NEW)
        theirs.commit_config(message, revert_in=60)
        assert switch.log.endswith(message)
        assert [(hold.owner, hold.own) for hold in ours.get_holds()] == [("run-8", False)]
        assert [hold.own for hold in theirs.get_holds()] == [True]


def test_a_commit_that_began_to_wait_after_the_last_look_is_not_confirmed(
    switch: JunosSwitch, driver: Any
) -> None:
    """A commit is one more of Junos's confirmations: what waits is read under the lock, before it."""
    with switch.device.connect(session="run-8") as theirs:
        assert driver.get_holds() == []
        theirs.load_replace_candidate(config=NEW)
        theirs.commit_config(revert_in=60)
        driver.load_replace_candidate(config=OLD)
        with pytest.raises(SessionLockedException, match="of another session waits"):
            driver.commit_config()
        assert (switch.running, switch.candidate, switch.holder, count_commits(switch)) == (NEW, NEW, None, 1)
        assert theirs.has_pending_commit()


def test_a_commit_that_went_back_is_not_reported_as_confirmed(switch: JunosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert driver.get_waiting_commit().kind is HoldKind.COMMIT
    switch.waiting = time.monotonic() - 1
    with pytest.raises(CommitError, match="went back before"):
        driver.confirm_commit()
    switch.checks_commit = True
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    driver.rollback()
    assert (switch.running, driver.get_waiting_commit()) == (OLD, None)


@pytest.mark.slow
@pytest.mark.parametrize("log", ["", "session", "by session 7", "change 7"])
def test_a_commit_without_a_session_is_nobody_s(switch: JunosSwitch, log: str) -> None:
    with switch.device.connect() as one:
        one.load_replace_candidate(config=NEW)
        one.commit_config(log, revert_in=60)
        assert switch.log == log
    with switch.device.connect(session="run-7") as ours:
        assert [(hold.owner, hold.own) for hold in ours.get_holds()] == [(USER, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("marks", "release"), [(False, "21.4R3-S5.4"), (False, ""), (True, "21.4R3-S5.4")])
def test_a_release_that_is_not_known_to_mark_commits_is_judged_by_the_time(
    switch: JunosSwitch, driver: Any, marks: bool, release: str
) -> None:
    switch.marks, switch.release, switch.checks_confirm = marks, release, False
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.owner, hold.own) == (HoldKind.COMMIT, "admin", None)
    assert 0 < hold.left_s <= 60
    switch.candidate = NEW + "snmp;\n"
    with pytest.raises(SessionLockedException, match="configuration database modified"):
        driver.confirm_commit()
    switch.candidate = NEW
    driver.confirm_commit()
    assert (switch.running, switch.waiting, driver.has_pending_commit()) == (NEW, None, False)
    driver.rollback()
    assert switch.running == OLD


def test_a_comment_whose_time_is_over_waits_on_no_release(switch: JunosSwitch, driver: Any) -> None:
    switch.marks, switch.release = False, "21.4R3-S5.4"
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.waiting, switch.committed = None, switch.committed - 61
    assert not driver.has_pending_commit()


def test_an_answer_without_a_list_of_commits_is_an_error(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content in ("<ok/>", ENGINES.format("<other/>")):
        monkeypatch.setattr(type(switch), "_get_commit_information", lambda *_, found=content: found)
        with pytest.raises(ConnectionException, match="no list of commits"):
            driver.has_pending_commit()
    monkeypatch.setattr(type(switch), "_get_commit_information", lambda *_: "<commit-information/>")
    assert not driver.has_pending_commit()


@pytest.mark.slow
def test_growth_and_a_retired_port_are_replaced_and_then_unchanged(switch: JunosSwitch, driver: Any) -> None:
    plan = "system {\n    host-name tor1;\n}\ninterfaces {\n    et-0/0/0 {\n        mtu 9216;\n    }\n}\n"
    rack = "    et-0/0/34 {\n        description rack2;\n    }\n"
    grown = plan.removesuffix("}\n") + rack + "}\n"
    for text, line in (
        (plan, "+    host-name tor1;"),
        (grown, "+        description rack2;"),
        (plan, "-        description rack2;"),
    ):
        driver.load_replace_candidate(config=text)
        assert line in driver.compare_config().splitlines()
        driver.commit_config(revert_in=60)
        driver.confirm_commit()
        driver.load_replace_candidate(config=text)
        assert driver.compare_config() == ""
        driver.discard_config()
    driver.load_replace_candidate(config=grown)
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert (switch.running, switch.waiting) == (plan, None)


def test_refusals_are_napalms_without_secrets_and_free_the_lock(switch: JunosSwitch, driver: Any) -> None:
    with pytest.raises(ReplaceConfigException, match="syntax error") as refused:
        driver.load_replace_candidate(config="bogus;\n")
    assert "S3CRET" not in str(refused.value)
    assert not re.search(r"None|edit_path|[{}]", str(refused.value)), "words of Python"
    assert switch.holder is None
    for fault, output in (("fail_commit", "commit failed"), ("disk_full", "No space left")):
        setattr(switch.faults, fault, True)
        driver.load_replace_candidate(config=NEW)
        with pytest.raises(CommitError, match=output) as failed:
            driver.commit_config()
        assert "S3CRET" not in str(failed.value)
        assert not re.search(r"None|edit_path|[{}]", str(failed.value)), "words of Python"
        assert switch.holder is None
    assert switch.running == OLD


def test_login_and_host_key_are_checked(switch: JunosSwitch, tmp_path: Path) -> None:
    with pytest.raises(ConnectAuthError) as refused:
        switch.device.connect(password="wrong S3CRET").open()
    assert "S3CRET" not in str(refused.value)
    assert "refuses the login of" in str(refused.value)
    nobody = tmp_path / "nobody"
    nobody.touch()
    with pytest.raises(ConnectionException, match="its host key is unknown"):
        switch.device.connect(alt_key_file=str(nobody)).open()
    with switch.device.connect(alt_key_file=str(nobody), ssh_strict=False) as opted_out:
        assert opted_out.is_alive()["is_alive"]


def test_changes_that_a_person_has_not_committed_are_reported(switch: JunosSwitch, driver: Any) -> None:
    assert driver.get_holds() == []
    switch.candidate += "system { ntp; }\n"
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.own, hold.blocks) == (HoldKind.CANDIDATE, False, True)
    switch.candidate = switch.running
    driver.load_replace_candidate(config=NEW)
    assert driver.get_holds() == [], "the candidate is this session's own"
    driver.commit_config(revert_in=60)
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.own) == (HoldKind.COMMIT, None)
    assert 0 < hold.left_s <= 60


def test_a_warning_is_no_failure(switch: JunosSwitch, driver: Any) -> None:
    """Junos commits without a license and warns; the words of a warning do not matter, its severity does."""
    switch.faults.warning = "requires 'bgp' license; commit failed error"
    driver.load_replace_candidate(config=NEW)
    assert "+system { host-name néw; }" in driver.compare_config()
    driver.commit_config(revert_in=60)
    assert (switch.running, driver.has_pending_commit()) == (NEW, True)
    driver.confirm_commit()
    assert not driver.has_pending_commit()
    assert driver.check_candidate(OLD) == []
    assert switch.running == NEW


def test_a_warning_in_an_answer_to_a_getter_is_no_failure(switch: JunosSwitch, driver: Any) -> None:
    """PyEZ itself fails at one in an answer for a table: "'str' object has no attribute '_root'"."""
    switch.neighbors = lambda: {"192.0.2.1": 20}
    getters = (
        driver.get_bgp_neighbors, driver.get_ecmp_widths, driver.get_interfaces_counters, driver.get_alarms,
        driver.get_lldp_neighbors_detail, driver.get_config, driver.has_pending_commit,
    )  # fmt: skip
    before = [getter() for getter in getters]
    switch.faults.warning, switch.warns_getters = "requires 'bgp' license", True
    assert [getter() for getter in getters] == before
    assert list(before[0]["global"]["peers"]) == ["192.0.2.1"]


def answer_of_peers(*peers: tuple[str, str, str]) -> str:
    """The answer about peers: address, instance and state of each."""
    return "".join(
        f"<bgp-peer><peer-address>{address}+179</peer-address><peer-as>65002</peer-as><local-as>65001</local-as>"
        f"<peer-cfg-rti>{instance}</peer-cfg-rti><peer-state>{state}</peer-state><local-id>192.0.2.9</local-id></bgp-peer>"
        for address, instance, state in peers
    )


@pytest.mark.parametrize("read", [True, False])
def test_the_release_of_a_configuration_is_no_difference(
    switch: JunosSwitch, driver: Any, read: bool
) -> None:
    """Junos writes `version` above its configuration, a plan has none, and `load override` takes it away."""
    release = "version 24.4R1.9-EVO;\n"
    switch.history = [release + OLD]
    switch.candidate = switch.running
    if read:
        driver.get_config("running")
    before = switch.requests
    driver.load_replace_candidate(config=OLD)
    assert switch.requests == before + (4 if not read else 3)
    assert driver.compare_config() == ""
    driver.load_replace_candidate(config="version 23.2R1;\n" + NEW)
    assert "version" not in driver.compare_config(), "a text of before an upgrade"
    driver.commit_config()
    assert switch.running == release + NEW
    head = "## Last commit: 2026-11-29 10:00:00 UTC by admin\n"
    for wanted in (NEW, "version 23.2R1;\n" + NEW):
        assert (
            find_differences("junos", {"juniper.conf": head + release + NEW}, {"juniper.conf": wanted}) == []
        )


def test_sessions_of_all_instances_come_with_one_request(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `instance red` Junos also answers with the peers of `red2`: it takes the beginning of a name."""
    peers = answer_of_peers(
        ("10.0.0.1", "master", "Established"), ("10.0.0.1", "red", "Idle"), ("10.0.0.3", "red2", "Active"),
        ("128.0.0.1", "__juniper_private1__", "Idle"),
    )  # fmt: skip
    whole = f"<bgp-information>{peers}</bgp-information>"
    monkeypatch.setattr(JunosSwitch, "_get_bgp_neighbor_information", lambda *_: whole)
    before = switch.requests
    found = driver.get_bgp_neighbors()
    assert switch.requests == before + 1
    states = {(name, peer): row["is_up"] for name, one in found.items() for peer, row in one["peers"].items()}
    assert states == {("global", "10.0.0.1"): True, ("red", "10.0.0.1"): False, ("red2", "10.0.0.3"): False}


def test_peers_without_an_instance_are_requested_as_napalm_does(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch.neighbors = lambda: {"10.0.0.1": 20}
    peers = switch._get_bgp_neighbor_information(None, None).replace(
        "<peer-cfg-rti>master</peer-cfg-rti>", ""
    )
    monkeypatch.setattr(JunosSwitch, "_get_bgp_neighbor_information", lambda *_: peers)
    before = switch.requests
    assert driver.get_bgp_neighbors()["global"]["peers"]["10.0.0.1"]["uptime"] == 9
    assert switch.requests == before + 4


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("<output>show ldp overview</output>", True),
        ("<output>BGP is not running</output>", False),
        ("", False),
    ],
)
def test_another_answer_is_not_no_session(
    driver: Any, monkeypatch: pytest.MonkeyPatch, answer: str, wrong: bool
) -> None:
    monkeypatch.setattr(JunosSwitch, "_get_bgp_neighbor_information", lambda *_: answer)
    if wrong:
        with pytest.raises(ConnectionException, match="show ldp overview"):
            driver.get_bgp_neighbors()
    else:
        assert driver.get_bgp_neighbors() == {}


@pytest.mark.slow
@pytest.mark.parametrize("content", ["", ENGINES.format("<other/>"), "<output>\nerror: timeout\n</output>"])
def test_an_empty_answer_is_not_nothing(
    switch: JunosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """Junos sends the element of an answer also without an alarm, a route or a port in it."""
    for getter, request in (
        ("get_alarms", "get_alarm_information"),
        ("get_alarms", "get_system_alarm_information"),
        ("get_ecmp_widths", "get_route_information"),
        ("get_identity", "get_system_information"),
        ("get_interfaces_counters", "get_interface_information"),
        ("get_lossless_counters", "get_interface_information"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(JunosSwitch, f"_{request}", lambda *_: content, raising=False)
            with pytest.raises(ConnectionException, match="not an answer to"):
                getattr(driver, getter)()
    engines = ENGINES.format("<alarm-information/>")
    monkeypatch.setattr(JunosSwitch, "_get_alarm_information", lambda *_: engines)
    assert driver.get_alarms() == []


def test_refused_neighbors_of_lldp_are_an_error(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """NAPALM returns no neighbor, which says that nothing is connected."""
    assert driver.get_lldp_neighbors_detail() == {}
    monkeypatch.setattr(JunosSwitch, "_get_lldp_neighbors_information", JunosSwitch._unknown)
    with pytest.raises(CommandErrorException, match="syntax error"):
        driver.get_lldp_neighbors_detail()


def test_an_error_next_to_a_warning_is_a_failure(switch: JunosSwitch, driver: Any) -> None:
    switch.faults.warning = "requires 'bgp' license"
    driver.load_replace_candidate(config=NEW)
    switch.faults.fail_commit = True
    with pytest.raises(CommitError, match="commit failed"):
        driver.commit_config()
    assert switch.running == OLD
    with pytest.raises(ReplaceConfigException, match="syntax error"):
        driver.load_replace_candidate(config="bogus\n")


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ((), False),
        (("netconf",), False),
        (("other",), True),
        (("cli", "other"), True),
        (None, True),
    ],
)
def test_junos_went_back_even_if_somebody_commits_after_it(
    later: tuple[str, ...] | None, expected: bool
) -> None:
    before = [Commit("ops", marked=True, until_s=None, made="2", client="netconf")]
    before.append(Commit("root", marked=False, until_s=None, made="1", client="other"))
    after = [
        Commit("any", marked=False, until_s=None, made=f"3.{at}", client=client)
        for at, client in enumerate(later or ())
    ]
    assert went_back(before, [] if later is None else [*after, *before]) == expected
