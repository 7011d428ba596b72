"""An answer of another kind than its request has is neither a success nor "no difference", and advice is no failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree
from napalm.base.exceptions import (
    CommitError,
    ConnectionException,
    NapalmException,
)

from fabricc.operate.drivers import nvue_views, nxos_views, sonic_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.junos_views import require_kind, skip_warnings
from fabricc.operate.drivers.nxos_replace import changing_commands
from tests.operate.drivers.servers.eos import EosSwitch, eos_switch
from tests.operate.drivers.servers.junos import JunosSwitch, junos_switch
from tests.operate.drivers.servers.linux_switch import LinuxSwitch, linux_switch
from tests.operate.drivers.servers.nxos import NxosSwitch, nxos_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NEW_NXOS = "hostname new\ninterface Ethernet1/1\n  mtu 9216\n"
OLD_JUNOS, NEW_JUNOS = "system { host-name old; }\n", "system { host-name new; }\n"
SHOWN = "<output>show ldp overview\n    Instance: master</output>"
"""The text of another command, as genieparser has it."""
WARNING = (
    "<rpc-error><error-type>protocol</error-type><error-tag>operation-failed</error-tag>"
    "<error-severity>warning</error-severity><error-message>statement not found</error-message></rpc-error>"
)


@pytest.fixture
def nxos(tmp_path: Path) -> Iterator[NxosSwitch]:
    with nxos_switch(tmp_path) as one:
        yield one


@pytest.fixture
def junos(tmp_path: Path) -> Iterator[JunosSwitch]:
    with junos_switch(tmp_path) as one:
        one.history, one.candidate = [OLD_JUNOS], OLD_JUNOS
        yield one


def answer_with(
    monkeypatch: pytest.MonkeyPatch, server: type[Any], method: str, change: Callable[..., Any]
) -> None:
    """Let a method of a server answer with `change(usual answer, its arguments)`."""
    usual = getattr(server, method)

    def answered(self: Any, *given: Any) -> Any:
        return change(lambda: usual(self, *given), *given)

    monkeypatch.setattr(server, method, answered)


# NX-OS: a refusal can be the text of an answer without an error.


@pytest.mark.parametrize(
    "text",
    [
        "Configuration update aborted: request was aborted\n",
        "Error: AAA authorization failed for command:copy running-config startup-config\n",
        "",
    ],
)
def test_a_save_of_nxos_that_is_not_reported_is_looked_up(
    nxos: NxosSwitch, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(NxosSwitch, "_save", lambda *_: text)
    with nxos.device.connect(timeout=20) as driver:
        driver.load_replace_candidate(config=NEW_NXOS)
        with pytest.raises(CommitError, match="is not saved"):
            driver.commit_config()


def test_a_save_of_nxos_in_other_words_is_a_save(nxos: NxosSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, NxosSwitch, "_save", lambda usual, *_: usual() and "100%\n")
    with nxos.device.connect(timeout=20) as driver:
        driver.load_replace_candidate(config=NEW_NXOS)
        driver.commit_config()
    assert nxos.startup == NEW_NXOS


@pytest.mark.parametrize(
    "text", ["", "Another config operation is in progress. Please try again.\n", "--More--"]
)
def test_an_answer_without_a_patch_is_not_no_difference(text: str) -> None:
    with pytest.raises(AnswerError, match="has no patch"):
        changing_commands(text)
    assert changing_commands("Generating Rollback Patch\nRollback Patch is Empty\n") == []


def test_a_refused_status_of_nxos_is_not_no_commit(nxos: NxosSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    with nxos.device.connect(timeout=20) as driver:
        monkeypatch.setattr(NxosSwitch, "_status", lambda *_: "% Permission denied for the role\n")
        with pytest.raises(ConnectionException, match="Permission denied"):
            driver.has_pending_commit()


@pytest.mark.parametrize("text", ["Timer pending for user replace\n", "<html>503</html>\n", "--More--"])
def test_a_status_of_nxos_in_unknown_words_is_not_no_commit(
    nxos: NxosSwitch, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(NxosSwitch, "_status", lambda *_: text)
    with nxos.device.connect(timeout=20) as driver:
        assert not driver.has_pending_commit(), "a new switch has no log of a replace"
        nxos._log("theirs", [], "Success")
        with pytest.raises(ConnectionException, match="unknown form"):
            driver.has_pending_commit()
        with pytest.raises(ConnectionException, match="unknown form"):
            driver.load_replace_candidate(config=NEW_NXOS)


@pytest.mark.parametrize("answers", [[], [{"jsonrpc": "2.0", "id": 1}], [{"id": 1, "result": "text"}]])
def test_fewer_answers_than_commands_are_an_error(
    nxos: NxosSwitch, monkeypatch: pytest.MonkeyPatch, answers: list[Any]
) -> None:
    with nxos.device.connect(timeout=20) as driver:
        monkeypatch.setattr(NxosSwitch, "answer", lambda *_: answers)
        for ask in (driver.has_pending_commit, lambda: driver.load_replace_candidate(config=NEW_NXOS)):
            with pytest.raises(NapalmException, match="answer"):
                ask()


# EOS.


@pytest.mark.parametrize("text", ["% Invalid input", "--More--", "session is not active"])
def test_a_text_that_is_no_difference_of_eos_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def change(usual: Callable[[], Any], command: str) -> Any:
        return {"output": text} if command.startswith("show session-config") else usual()

    with eos_switch(tmp_path) as switch, switch.device.connect(timeout=5) as driver:
        driver.load_replace_candidate(config="hostname new\n")
        answer_with(monkeypatch, EosSwitch, "_run", change)
        with pytest.raises(ConnectionException, match="no difference of a session"):
            driver.compare_config()


# Cumulus.


@pytest.mark.parametrize(
    "text", ["Error: The requested item does not exist.\n", '{"title": "Bad Request", "status": 400}\n']
)
def test_an_error_of_nvue_is_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """NVUE's client prints such texts, also where its exit status is 0."""
    usual = LinuxSwitch.serve

    def serve(self: LinuxSwitch, channel: Any, command: str) -> None:
        if "nv config show" not in command:
            return usual(self, channel, command)
        while channel.recv(65536):  # to the end of the request
            pass
        channel.sendall(f"==fabricc==\n{text}\n==fabricc ends==\n".encode())
        channel.send_exit_status(0)
        return None

    monkeypatch.setattr(LinuxSwitch, "serve", serve)
    with (
        linux_switch(tmp_path, "cumulus", "[]") as switch,
        switch.device.connect() as driver,
        pytest.raises(ConnectionException, match="is not YAML of NVUE"),
    ):
        driver.get_config("running")


# Junos.


@pytest.mark.parametrize("answer", [SHOWN, "", "<output/>"])
def test_a_load_of_junos_that_is_answered_otherwise_is_no_load(
    junos: JunosSwitch, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(JunosSwitch, "_load_configuration", lambda *_: answer)
    with (
        junos.device.connect(timeout=20) as driver,
        pytest.raises(ConnectionException, match="not an answer to load-configuration"),
    ):
        driver.load_replace_candidate(config=NEW_JUNOS)


@pytest.mark.parametrize("method", ["commit_config", "rollback"])
def test_a_commit_of_junos_that_is_answered_otherwise_is_no_commit(
    junos: JunosSwitch, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    junos.history.append(NEW_JUNOS)
    monkeypatch.setattr(JunosSwitch, "_commit_configuration", lambda *_: SHOWN)
    with junos.device.connect(timeout=20) as driver:
        if method == "commit_config":
            driver.load_replace_candidate(config=NEW_JUNOS)
        with pytest.raises(ConnectionException, match="not an answer to commit-configuration"):
            getattr(driver, method)()


def test_no_difference_of_junos_is_reported_as_such(
    junos: JunosSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(usual: Callable[[], str], _me: object, requested: Any) -> str:
        return "" if requested.get("compare") else usual()

    with junos.device.connect(timeout=20) as driver:
        driver.load_replace_candidate(config=NEW_JUNOS)
        answer_with(monkeypatch, JunosSwitch, "_get_configuration", change)
        with pytest.raises(ConnectionException, match="not an answer to get-configuration"):
            driver.compare_config()


def test_warnings_of_junos_before_any_answer_are_no_failure(
    junos: JunosSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(
        monkeypatch, JunosSwitch, "_reply", lambda usual, *_: usual().replace('">', f'">{WARNING}', 1)
    )
    with junos.device.connect(timeout=20) as driver:
        assert driver.get_config()["running"].strip() == OLD_JUNOS.strip()
        driver.load_replace_candidate(config=NEW_JUNOS)
        assert "new" in driver.compare_config()
        driver.commit_config(revert_in=60)
        assert driver.has_pending_commit()
        driver.confirm_commit()
        assert driver.get_alarms() == []
        driver.rollback()
    assert junos.running == OLD_JUNOS


def test_a_lock_that_junos_keeps_is_no_failed_commit(
    junos: JunosSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = WARNING.replace("warning", "error")
    monkeypatch.setattr(JunosSwitch, "_unlock_configuration", lambda *_: refused)
    with junos.device.connect(timeout=20) as driver:
        driver.load_replace_candidate(config=NEW_JUNOS)
        driver.commit_config(revert_in=60)
        assert driver.has_pending_commit()


def test_an_error_before_an_ok_is_an_error() -> None:
    error = WARNING.replace("warning", "error")
    (reply, ok) = etree.fromstring(f"<rpc-reply>{error}<ok/></rpc-reply>")
    with pytest.raises(AnswerError, match="statement not found"):
        skip_warnings(reply)
    assert skip_warnings(ok) is ok
    counted = etree.fromstring(
        "<load-configuration-results><load-error-count>1</load-error-count></load-configuration-results>"
    )
    with pytest.raises(AnswerError, match="not an answer to load-configuration"):
        require_kind(etree.Element("load-configuration"), counted)


@pytest.mark.parametrize("read", [nvue_views.read_alarms, sonic_views.read_alarms, nxos_views.read_alarms])
@pytest.mark.parametrize("answer", [{}, [], {"title": "Bad Request"}, {"SYSTEM_HEALTH_INFO": {"value": {}}}])
def test_an_answer_without_a_state_is_not_good_health(read: Callable[[Any], Any], answer: Any) -> None:
    with pytest.raises(NotImplementedError):
        read(answer)


def test_environments_of_eos_without_a_status_are_not_good_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(usual: Callable[[], Any], command: str) -> Any:
        return {"messages": ["x"]} if command.startswith("show system environment") else usual()

    answer_with(monkeypatch, EosSwitch, "_run", change)
    with (
        eos_switch(tmp_path) as switch,
        switch.device.connect(timeout=5) as driver,
        pytest.raises(NotImplementedError),
    ):
        driver.get_alarms()
