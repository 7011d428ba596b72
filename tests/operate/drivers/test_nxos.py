"""NAPALM's NX-OS code with the device's own replace, over real HTTPS, SSH and SCP."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionException,
    MergeConfigException,
    ReplaceConfigException,
    SessionLockedException,
)
from napalm.nxapi_plumbing import NXAPIConnectionError

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.connection import Connection
from fabricc.operate.devices.running import find_differences
from fabricc.operate.drivers import HoldKind, nxos, nxos_replace, nxos_views
from fabricc.operate.drivers.nxos_candidate import digest_statements, split_blocks
from fabricc.operate.drivers.single import NothingCommittedError
from tests.operate.drivers.servers.nxos import NxosSwitch, nxos_switch
from tests.operate.drivers.servers.web import Drop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTORY = """version 10.4(3) Bios:version 05.51
hostname old
vdc old id 1
  limit-resource vlan minimum 16 maximum 4094

feature scp-server
username admin password 5 $5$ADMIN  role network-admin
username ops password 5 $5$OPS  role network-operator
username bob password 5 !  role network-admin
username bob sshkey ssh-ed25519 AAAA
username carol passphrase  lifetime 99999
username dan password 5 $5$DAN  role network-admin
username dan sshkey ssh-ed25519 CCCC
banner motd ^
username mallory password 5 $5$EVIL  role network-admin
^
clock timezone CET 1 0
ssh key rsa 2048
crypto ca trustpoint device
nxapi certificate trustpoint device
nxapi certificate enable
nxapi sandbox
grpc certificate device
snmp-server user admin network-admin auth md5 0x1 priv aes-128 0x2 localizedV2key
snmp-server user bob network-admin auth md5 0x1 priv aes-128 0x2 localizedV2key
rmon event 1 log trap public description FATAL(1) owner PMON@FATAL
vlan 1,20
interface Ethernet1/1
  switchport access vlan 20
interface Ethernet1/33
interface Ethernet1/35
  description of somebody
line console
line vty
boot nxos bootflash:/nxos64-cs.10.4.3.F.bin
boot poap enable
"""
PLAN = """hostname new
feature scp-server
username carol password 5 !  role network-admin
username carol sshkey ssh-ed25519 BBBB
tacacs-server host 192.0.2.9 key 0 "s3cret-key"
radius-server host 192.0.2.8 key 0 "s3cret-key" authentication accounting
ntp authentication-key 1 md5 s3cret-ntp 0
snmp-server user monitor network-operator auth sha s3cret-auth priv aes-128 s3cret-privacy
snmp-server user monitor use-ipv4acl FABRICC-ACCESS
interface Ethernet1/1
  no switchport
interface Ethernet1/33/1
  ipv6 address use-link-local-only
  no ipv6 nd suppress-ra
line vty
"""
NEW = "hostname new\ninterface Ethernet1/1\n  mtu 9216\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the log of a replace more often than at a real switch."""
    monkeypatch.setattr(nxos, "POLL_S", 0.1)


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
    (candidate,) = switch.files.values()
    assert candidate.endswith(f"\n\n{NEW}")
    assert driver.compare_config().splitlines()[:2] == ["no hostname old", "hostname new"]
    driver.commit_config(message="a change")
    assert switch.running == switch.startup == NEW
    assert [*switch.files] == ["rollback_config.txt"]
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


@pytest.mark.slow
@pytest.mark.parametrize("form", ["", "Commit timer : {left:.0f} s\n", "Commit-timeout: running\n"])
def test_a_timer_in_an_unknown_form_is_confirmed_by_the_log(
    switch: NxosSwitch, driver: Any, form: str
) -> None:
    switch.timer = form
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.close()
    with switch.device.connect() as other:
        other.confirm_commit()
        assert (switch.waiting, switch.startup) == (None, NEW)
        with pytest.raises(CommitError, match="no commit waits"):
            other.confirm_commit()
        other.confirm_unseen_commit()


def test_a_switch_that_was_never_saved_is_confirmed_by_the_log(switch: NxosSwitch, driver: Any) -> None:
    """A new switch has no startup configuration, and refuses to show it."""
    switch.timer, switch.startup = "", None
    assert driver.get_config()["startup"] == ""
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert (switch.waiting, switch.startup) == (None, NEW)


def test_the_replace_of_another_user_is_not_confirmed(switch: NxosSwitch, driver: Any) -> None:
    switch.timer = ""
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.executed = switch.executed.replace("By  : admin", "By  : other")
    driver.confirm_unseen_commit()
    with pytest.raises(CommitError, match="no commit waits"):
        driver.confirm_commit()
    assert switch.startup == "hostname saved\n"


def test_refused_sessions_are_an_error_where_bgp_runs(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NxosSwitch, "_table", lambda *_: None)
    assert driver.get_bgp_neighbors() == {}, "a switch without the feature has no session"
    switch.running += "feature bgp\nrouter bgp 65001\n"
    with pytest.raises(CommandErrorException, match="Invalid"):
        driver.get_bgp_neighbors()
    monkeypatch.setattr(NxosSwitch, "_run", lambda switch, text: switch.running if "running" in text else "%")
    with pytest.raises(CommandErrorException, match="no answer"):
        driver.get_bgp_neighbors()


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["confirm_commit", "rollback"])
def test_the_replace_of_another_user_that_waits_is_left_alone(
    switch: NxosSwitch, driver: Any, verb: str
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    switch.waiting, switch.running = (switch.running, time.monotonic() + 300), "hostname theirs\n"
    switch.executed = switch.executed.replace("By  : admin", "By  : other")
    with pytest.raises(SessionLockedException, match="other made the commit that waits"):
        getattr(driver, verb)()
    assert switch.waiting is not None
    assert switch.running == "hostname theirs\n"


def test_the_commit_of_another_machine_is_not_taken_for_the_own_one(switch: NxosSwitch) -> None:
    """Both machines log in as one user and push one tree; the log of NX-OS has the user alone."""
    with switch.device.connect(session="run 7") as ours, switch.device.connect(session="run 8") as theirs:
        for one in (ours, theirs):
            one.load_replace_candidate(config=NEW)
        theirs.commit_config(revert_in=60)
        with pytest.raises(SessionLockedException, match="has changed since"):
            ours.commit_config(revert_in=60)
        for act in (ours.rollback, ours.confirm_commit):
            with pytest.raises(SessionLockedException, match="run 8 made the commit that waits"):
                act()
        assert [(hold.owner, hold.own) for hold in ours.get_holds()] == [("run 8", False)]
        assert [(hold.owner, hold.own) for hold in theirs.get_holds()] == [("run 8", None)]
    with switch.device.connect(session="run 8") as again:
        again.confirm_commit()
    assert switch.waiting is None
    assert switch.startup == switch.running


def test_a_note_that_another_machine_overwrote_is_written_again(
    switch: NxosSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write a note before their replace; NX-OS refuses the one that comes second."""
    begin = NxosSwitch._replace

    def replace(self: NxosSwitch, match: re.Match[str]) -> str:
        if match[3]:
            self.files[nxos.OWNER_FILE] = '{"session": "run 7", "after": null}'
        return begin(self, match)

    monkeypatch.setattr(NxosSwitch, "_replace", replace)
    with switch.device.connect(session="run 8") as theirs:
        theirs.load_replace_candidate(config=NEW)
        theirs.commit_config(revert_in=60)
        assert [(hold.owner, hold.own) for hold in theirs.get_holds()] == [("run 8", None)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("note", "known"),
    [
        ("", ("", None)),
        ("{", ("", None)),
        ("[]", ("", None)),
        ('{"session": "a\\u001bb", "after": null}', ("", None)),
        ('{"session": "run 7", "after": [".replace_tmp_13527", "Thu, 05:53:19 19 Jul 2018"]}', ("", False)),
        ('{"session": "run 9", "after": [".replace_tmp_13527", "Thu, 05:53:19 19 Jul 2018"]}', ("", None)),
    ],
)
def test_a_note_of_another_replace_decides_nothing(
    switch: NxosSwitch, note: str, known: tuple[str, bool | None]
) -> None:
    """A note lies on the switch, where others write; that of a replace that did not begin is out of date."""
    with switch.device.connect(session="run 8") as theirs:
        theirs.load_replace_candidate(config=NEW)
        theirs.commit_config(revert_in=60)
    switch.files[nxos.OWNER_FILE] = note
    with switch.device.connect(session="run 7") as ours:
        assert [(hold.owner, hold.own) for hold in ours.get_holds()] == [known]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commits", "log"), [("a person", "refused"), ("another machine", "empty"), ("this run", "refused")]
)
def test_without_a_log_the_digest_in_the_note_proves_whose_commit_waits(
    switch: NxosSwitch, monkeypatch: pytest.MonkeyPatch, commits: str, log: str
) -> None:
    """A run that died before its replace leaves a note; the commit that waits is then that of somebody else."""
    usual = NxosSwitch._run

    def run(self: NxosSwitch, text: str) -> str | None:
        return (None if log == "refused" else "") if text == nxos._LOG else usual(self, text)

    monkeypatch.setattr(NxosSwitch, "_run", run)
    with switch.device.connect(session="run 7") as ours:
        ours.load_replace_candidate(config=NEW)
        if commits == "this run":
            ours.commit_config(revert_in=60)
        else:
            ours._note_owner(None)
    if commits == "another machine":
        stale = switch.files[nxos.OWNER_FILE]
        with switch.device.connect(session="run 8") as theirs:
            theirs.load_replace_candidate(config=NEW.replace("new", "theirs"))
            theirs.commit_config(revert_in=60)
        switch.files[nxos.OWNER_FILE] = stale
    elif commits == "a person":
        switch.waiting, switch.running = (switch.running, time.monotonic() + 300), "hostname theirs\n"
    runs = switch.running
    with switch.device.connect(session="run 7") as again:
        if commits == "this run":
            assert [(hold.owner, hold.own) for hold in again.get_holds()] == [("run 7", None)]
            again.confirm_commit()
            assert (switch.waiting, switch.startup) == (None, NEW)
            return
        assert [(hold.owner, hold.own) for hold in again.get_holds()] == [("", False)]
        for act in (again.rollback, again.confirm_commit):
            with pytest.raises(SessionLockedException, match="nothing proves whose commit waits"):
                act()
    assert switch.waiting is not None
    assert (switch.running, switch.startup) == (runs, "hostname saved\n")


def test_the_digest_of_a_candidate_ignores_order_and_keys_that_the_switch_encrypts() -> None:
    printed = PLAN.replace('key 0 "s3cret-key"', 'key 7 "fewhg123"').replace("md5 s3cret-ntp 0", "md5 zxcv 7")
    printed = printed.replace(
        "sha s3cret-auth priv aes-128 s3cret-privacy", "sha 0x1 priv aes-128 0x2 localizedV2key"
    )
    blocks = [one.lines for one in split_blocks(printed)]
    assert printed != PLAN
    turned = "\n".join(line for lines in reversed(blocks) for line in lines)
    assert digest_statements(turned) == digest_statements(PLAN)
    assert digest_statements(PLAN.replace("use-link", "of-link")) != digest_statements(PLAN)
    assert digest_statements(f"{PLAN}username \ud800\n") != digest_statements(PLAN)  # half a surrogate pair


def test_a_time_that_does_not_get_shorter_is_no_running_timer(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.kept_timer = "Last commit timer: time remaining 41 seconds\n"
    driver.confirm_commit()
    assert switch.startup == NEW


def test_without_confirmation_the_switch_goes_back(switch: NxosSwitch, driver: Any) -> None:
    switch.second = 0.01
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=30)
    time.sleep(0.4)
    assert not driver.has_pending_commit()
    assert switch.running == "hostname old\n"


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
def test_a_lost_confirmation_that_came_too_late_is_reported(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    send = driver.device.show_list

    def lose_answer(commands: list[str], raw_text: bool = False) -> Any:
        if "configure replace commit" not in commands:
            return send(commands, raw_text=raw_text)
        if late and switch.waiting:
            switch.waiting = (switch.waiting[0], 0.0)
        send(commands, raw_text=raw_text)
        raise NXAPIConnectionError("closed")

    monkeypatch.setattr(driver.device, "show_list", lose_answer)
    if not late:
        driver.confirm_commit()
        assert switch.startup == NEW
        return
    with pytest.raises(CommitError, match="went back before"):
        driver.confirm_commit()
    assert switch.startup == "hostname saved\n"


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


def test_a_timer_that_a_release_refuses_commits_nothing(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The range of seconds is that of the Nexus 7000's guide: another one is refused by the switch itself."""
    usual = NxosSwitch._run
    monkeypatch.setattr(
        NxosSwitch, "_run", lambda self, text: None if "commit-timeout" in text else usual(self, text)
    )
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(NothingCommittedError, match="Invalid"):
        driver.commit_config(revert_in=60)
    assert (switch.running, switch.waiting) == ("hostname old\n", None)


def test_a_replace_whose_answer_is_lost_is_judged_by_the_log(switch: NxosSwitch, driver: Any) -> None:
    switch.faults.drop_commit = "after"
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    assert switch.running == NEW


def test_a_lost_answer_to_a_command_that_changes_nothing_is_requested_again(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: set[str] = set()
    usual = NxosSwitch.answer
    reads = re.compile(
        r"show|dir|(?:no )?terminal|delete candidate|configure replace .*(?:verify-only|show-patch)"
    )

    def answer(self: NxosSwitch, path: str, requested: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = usual(self, path, requested)
        commands = [one["params"]["cmd"] for one in requested]
        if all(map(reads.match, commands)) and str(commands) not in lost:
            lost.add(str(commands))
            raise Drop
        return found

    monkeypatch.setattr(NxosSwitch, "answer", answer)
    driver.load_replace_candidate(config=NEW)
    assert "hostname new" in driver.compare_config()
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    assert switch.running == switch.startup == NEW
    assert [*switch.files] == ["rollback_config.txt"]
    assert len(lost) > 6
    assert any("delete" in commands for commands in lost)


def test_a_replace_that_never_arrived_committed_nothing(switch: NxosSwitch, driver: Any) -> None:
    switch.faults.drop_commit = "before"
    driver.load_replace_candidate(config=NEW)
    with pytest.raises(NothingCommittedError):
        driver.commit_config(revert_in=60)
    assert not driver.has_pending_commit()


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_replace_that_takes_long_is_polled_until_it_has_ended(
    switch: NxosSwitch, driver: Any, fails: bool
) -> None:
    switch.slow_s, switch.faults.fail_commit = 0.6, fails
    driver.load_replace_candidate(config=NEW)
    if fails:
        with pytest.raises(CommitError, match="Failed"):
            driver.commit_config(revert_in=60)
    else:
        driver.commit_config(revert_in=60)
    assert (switch.running == NEW) != fails


def test_a_replace_that_runs_is_a_hold(switch: NxosSwitch, driver: Any) -> None:
    switch.executed = "running\n"
    (hold,) = driver.get_holds()
    assert (hold.kind, hold.left_s) == (HoldKind.COMMIT, None)


def test_a_replace_without_an_outcome_ends_in_time(switch: NxosSwitch, tmp_path: Path) -> None:
    switch.slow_s = 30
    with switch.device.connect(commit_timeout=0.3) as driver:
        driver.load_replace_candidate(config=NEW)
        with pytest.raises(CommandTimeoutException, match=r"no outcome .* 0.3 s"):
            driver.commit_config(revert_in=60)


def test_a_login_that_is_refused_during_a_replace_is_tried_once(
    switch: NxosSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is looked at every two seconds for ten minutes, and servers lock an account after 3 to 10 failures."""

    def refuse(self: NxosSwitch, *_: Any) -> str:
        self.faults.refuse_login = True
        raise Drop

    with switch.device.connect() as driver:
        driver.load_replace_candidate(config=NEW)
        monkeypatch.setattr(NxosSwitch, "_finish", refuse)
        with pytest.raises(ConnectAuthError, match="refused"):
            driver.commit_config(revert_in=60)
    assert switch.faults.refusals == 1


def test_a_log_that_reports_a_failure_outweighs_the_words_of_the_answer(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.load_replace_candidate(config=NEW)
    log = "Start Time : now\nEnd Time : now\nRollback Status : Failed\n"
    monkeypatch.setattr(driver, "_find_logged_operation", lambda _: nxos_replace.read_log(log))
    with pytest.raises(CommitError, match="Failed"):
        driver.commit_config()


@pytest.mark.parametrize("takes_effect", [True, False])
def test_words_of_success_without_a_log_need_a_changed_configuration(
    switch: NxosSwitch, driver: Any, monkeypatch: pytest.MonkeyPatch, takes_effect: bool
) -> None:
    usual = NxosSwitch._finish

    def finish(self: NxosSwitch, match: Any, wanted: str, *rest: Any) -> str:
        return usual(self, match, wanted if takes_effect else self.running, *rest)

    monkeypatch.setattr(NxosSwitch, "_log", lambda *_: None)
    monkeypatch.setattr(NxosSwitch, "_finish", finish)
    driver.load_replace_candidate(config=NEW)
    if takes_effect:
        driver.commit_config(revert_in=60)
        return
    with pytest.raises(CommitError, match="nothing changed"):
        driver.commit_config(revert_in=60)


def test_a_replace_of_another_user_is_not_taken_for_the_own_one(switch: NxosSwitch, driver: Any) -> None:
    """The other one began after the comparison, so NX-OS refuses this one, and its log reports the other."""
    driver.load_replace_candidate(config=NEW)
    switch.overtaken = "other"
    with pytest.raises(NothingCommittedError, match="in progress"):
        driver.commit_config(revert_in=60)
    assert switch.running == "hostname theirs\n"


def test_the_candidate_keeps_what_belongs_to_the_switch(switch: NxosSwitch, driver: Any) -> None:
    switch.running = FACTORY
    driver.load_replace_candidate(config=PLAN)
    driver.commit_config(revert_in=60)
    driver.confirm_commit()
    for kept in (
        "version 10.4(3) Bios:version 05.51",
        "vdc new id 1\n  limit-resource vlan minimum 16 maximum 4094",
        "boot nxos bootflash:/nxos64-cs.10.4.3.F.bin",
        "username admin password 5 $5$ADMIN  role network-admin",
        "username ops password 5 $5$OPS  role network-operator",
        "snmp-server user admin network-admin auth md5 0x1 priv aes-128 0x2 localizedV2key",
        "username carol passphrase  lifetime 99999",
        "rmon event 1 log trap public description FATAL(1) owner PMON@FATAL",
        "interface Ethernet1/35\n",
        "ssh key rsa 2048",
        "crypto ca trustpoint device\nnxapi certificate trustpoint device\nnxapi certificate enable\n",
        "grpc certificate device",
    ):
        assert kept in switch.running, kept
    for gone in (
        "boot poap",
        "bob",
        "dan",
        "mallory",
        "vlan 20",
        "switchport access vlan",
        "of somebody",
        "interface Ethernet1/33\n",
        "clock timezone",
        "nxapi sandbox",
        "banner",
    ):
        assert gone not in switch.running, gone
    assert switch.startup == switch.running


@pytest.mark.slow
def test_what_every_new_switch_prints_is_no_difference_of_a_push(switch: NxosSwitch, driver: Any) -> None:
    name = "running-config.cfg"
    for vlans in ("vlan 1\n", "vlan 1,20,30-31\nvlan 20\n  name site\n"):
        switch.running = FACTORY.replace("vlan 1,20\n", vlans)
        driver.load_replace_candidate(config=PLAN)
        driver.commit_config()
        assert "vlan 1\n" in switch.running, "it cannot be removed"
        assert "vlan 20" not in switch.running
        assert find_differences("nxos", {name: driver.get_config()["running"]}, {name: PLAN}) == []
        driver.load_replace_candidate(config=PLAN)
        assert driver.compare_config() == ""
        driver.discard_config()
    added = {name: switch.running + "vlan 40\n"}
    assert [one.path for one in find_differences("nxos", added, {name: PLAN})] == ["vlan[40]/enabled"]


def test_an_account_that_stays_is_no_difference_of_a_push(switch: NxosSwitch, driver: Any) -> None:
    switch.running = FACTORY
    driver.load_replace_candidate(config=PLAN)
    driver.commit_config()
    name = "running-config.cfg"
    assert find_differences("nxos", {name: driver.get_config()["running"]}, {name: PLAN}) == []
    added = switch.running + "username eve password 5 !  role network-admin\n"
    (extra,) = find_differences("nxos", {name: added}, {name: PLAN})
    assert extra.path == "user[eve]/role"


def test_getters_read_ahead_share_a_request(switch: NxosSwitch, driver: Any) -> None:
    getters = ("get_bgp_neighbors", "get_ecmp_widths", "get_alarms", "get_lossless_counters")
    switch.running, switch.neighbors = FACTORY, lambda: {"192.0.2.7": 5}
    switch.counted.ports = ("Ethernet1/1",)
    apart = [getattr(driver, name)() for name in getters]
    assert apart[0]["global"]["peers"]
    assert apart[3]
    before = switch.requests
    driver.read_ahead(getters)
    assert [getattr(driver, name)() for name in getters] == apart
    assert switch.requests - before == 1
    switch.counted.refused = (nxos_views.QUEUES,)
    apart = [getattr(driver, name)() for name in getters]
    before = switch.requests
    driver.read_ahead(getters)
    assert [getattr(driver, name)() for name in getters] == apart
    assert switch.requests - before == 2, "the two commands after the refused one once more"
    driver.get_alarms()
    assert switch.requests - before == 3, "an answer is used once"


@pytest.mark.slow
def test_unchanged_switch_gets_few_requests(switch: NxosSwitch, driver: Any) -> None:
    switch.running = FACTORY
    driver.load_replace_candidate(config=PLAN)
    driver.commit_config()
    assert 'tacacs-server host 192.0.2.9 key 7 "' in switch.running
    assert re.search(r'radius-server host 192\.0\.2\.8 key 7 ".+" authentication accounting', switch.running)
    assert "ntp authentication-key 1 md5 PTN-TERC3S 7" in switch.running
    driver.load_replace_candidate(config=PLAN)
    assert driver.compare_config() == ""
    assert {*switch.files} == {"rollback_config.txt", "fabricc_forms.json"}
    assert driver.check_candidate(PLAN) == []
    assert "s3cret" not in "".join(switch.files.values())


@pytest.mark.slow
def test_the_account_that_a_switch_makes_of_an_snmp_user_stays_as_long_as_the_user(
    switch: NxosSwitch, driver: Any
) -> None:
    switch.running = FACTORY
    driver.load_replace_candidate(config=PLAN)
    driver.commit_config()
    switch.running += "username monitor password 5 $5$MADE  role network-operator\n"
    driver.load_replace_candidate(config=PLAN)
    assert driver.compare_config() == ""
    without = "".join(line for line in PLAN.splitlines(keepends=True) if "monitor" not in line)
    driver.load_replace_candidate(config=without)
    driver.commit_config()
    assert "monitor" not in switch.running


@pytest.mark.slow
def test_a_key_that_was_changed_is_set_again(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=PLAN)
    driver.commit_config()
    driver.load_replace_candidate(config=PLAN.replace("s3cret-key", "another-key"))
    assert "tacacs-server host 192.0.2.9" in driver.compare_config()
    assert "ntp authentication-key" not in driver.compare_config()
    driver.commit_config()
    assert switch.running.count("tacacs-server host") == 1
    driver.load_replace_candidate(config=PLAN.replace("s3cret-key", "another-key"))
    assert driver.compare_config() == ""


def test_a_line_that_no_switch_prints_is_typed_next_to_the_replace(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=PLAN)
    assert "suppress-ra" not in "".join(switch.files.values())
    driver.commit_config()
    assert switch.typed == ["interface Ethernet1/33/1", "no ipv6 nd suppress-ra"]


@pytest.mark.slow
def test_growth_and_a_retired_port_are_replaced_and_then_unchanged(switch: NxosSwitch, driver: Any) -> None:
    switch.running = FACTORY
    grown = PLAN + "interface Ethernet1/34\n  description new rack\n  no shutdown\n"
    for plan, command in (
        (PLAN, "hostname new"),
        (grown, "description new rack"),
        (PLAN, "no description new rack"),
    ):
        driver.load_replace_candidate(config=plan)
        assert command in driver.compare_config().splitlines()
        driver.commit_config(revert_in=60)
        driver.confirm_commit()
        driver.load_replace_candidate(config=plan)
        assert driver.compare_config() == ""
        driver.discard_config()
    assert switch.running.count("interface Ethernet1/34\n") == 1


def test_an_empty_answer_is_no_configuration(switch: NxosSwitch, driver: Any) -> None:
    switch.running = ""
    with pytest.raises(ReplaceConfigException, match="shows no configuration"):
        driver.load_replace_candidate(config=NEW)


def test_commit_stops_when_another_session_changed_the_switch(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    switch.running += "vlan 7\n"
    with pytest.raises(SessionLockedException, match="has changed since"):
        driver.commit_config(revert_in=60)
    assert "vlan 7" in switch.running


def test_lines_that_verify_only_cannot_parse_are_reported_and_do_not_stop_a_push(
    switch: NxosSwitch, driver: Any
) -> None:
    switch.doubted = ("mtu 9216",)
    (refusal,) = driver.check_candidate(NEW)
    assert refusal.text == "mtu 9216: Syntax error while parsing 'mtu 9216'"
    assert (refusal.file, refusal.line) == ("running-config.cfg", 3)
    driver.load_replace_candidate(config=NEW)
    driver.commit_config()
    assert switch.running == NEW


def test_a_rollback_that_fails_leaves_the_timer_running(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    driver.commit_config(revert_in=60)
    switch.faults.fail_commit = True
    with pytest.raises(CommitError, match="Rolling back"):
        driver.rollback()
    assert switch.waiting is not None
    assert switch.startup == "hostname saved\n"


def test_a_checkpoint_that_was_not_written_stops_the_commit(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    switch.faults.disk_full = True
    with pytest.raises(CommitError, match="checkpoint") as stopped:
        driver.commit_config()
    assert stopped.value.nothing_committed, "a push looks for no commit to take back"
    assert switch.running == "hostname old\n"


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
    with switch.device.connect(alt_key_file=str(nobody)) as stranger, pytest.raises(DeviceError) as unknown:
        Connection("leaf1", stranger, str).call(
            "FAB9113", "the candidate", "load_replace_candidate", config=NEW
        )
    assert "`known_hosts`" in str(unknown.value.diagnostic.help)
    assert switch.files == {}


def test_two_sessions_have_candidates_of_their_own(switch: NxosSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=NEW)
    with switch.device.connect(timeout=20) as other:
        other.load_replace_candidate(config="hostname third\n")
        driver.commit_config(revert_in=60)
        assert switch.running == NEW
        (hold,) = other.get_holds()
        assert (hold.kind, hold.own) == (HoldKind.COMMIT, None)
        assert 0 < hold.left_s <= 60
