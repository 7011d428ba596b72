"""Answers that are none, or more than a process can hold, are named, and never taken for an empty configuration."""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.login import Device, Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.drivers import answers
from fabricc.operate.drivers import nxos as nxos_driver
from fabricc.operate.drivers.answers import AnswerError, parse_json
from tests.operate.drivers.servers.eos import EosSwitch, eos_switch
from tests.operate.drivers.servers.junos import JunosSwitch, junos_switch
from tests.operate.drivers.servers.linux_switch import LinuxSwitch, linux_switch
from tests.operate.drivers.servers.nxos import FRAME, NxosSwitch, nxos_switch
from tests.operate.drivers.servers.parts import replace_parts
from tests.operate.drivers.servers.web import Drop, Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WEB: dict[str, tuple[Any, Callable[[Path], Any]]] = {
    "eos": (EosSwitch, eos_switch),
    "nxos": (NxosSwitch, nxos_switch),
}
HOSTILE = {
    "moved": (
        Raw(302, b"<html>moved to another host</html>"),
        "HTTP status 302 Found with '<html>moved",
    ),
    "failed": (Raw(500, b"\x1b[2Jinternal error"), "HTTP status 500"),
    "nothing": (Raw(204, b""), "HTTP status 204 No Content with nothing"),
    "empty": (Raw(200, b""), "is empty"),
    "page": (
        Raw(200, b"<!DOCTYPE html><title>Sign in</title>"),
        "is not JSON: '<!DOCTYPE html><title>Sign in",
    ),
    "half": (Raw(200, b'{"jsonrpc": "2.0", "result": ['), "is not JSON"),
    "null": (Raw(200, b"null"), "not an "),
    "deep": (Raw(200, b"[" * 200_000), "is n"),
    "many": (Raw(200, b'{"result": [' + b"[[]]," * 900_000 + b"1]}"), "has more than 1,000,000 values"),
}


def describe_outcome(server: Any, nos: str, monkeypatch: pytest.MonkeyPatch, what: str = "running") -> str:
    """Return what a question ends with."""
    monkeypatch.setenv("LAB_PASSWORD", server.device.password)
    far = server.device
    login = Login(
        far.username, Reference("env", "LAB_PASSWORD"), address=far.host, options=far.options, timeout_s=20
    )
    with (
        pytest.raises(DeviceError) as caught,
        open_connection(Device("a", "tor", nos, "", "192.0.2.1"), Access(login)) as live,
    ):
        getattr(live, what)()
    return str(caught.value)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("nos", WEB)
def test_invalid_http_answers_are_reported(
    nos: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, expected = HOSTILE[kind]
    switch, make = WEB[nos]
    monkeypatch.setattr(answers, "AGAIN_S", 0)
    monkeypatch.setattr(switch, "answer", lambda *_: raw)
    with make(tmp_path) as server:
        output = describe_outcome(server, nos, monkeypatch)
    assert expected in output
    assert "\x1b" not in output
    assert len(output) < 600


LOST: dict[str, Any] = {
    "drop": Drop,
    "failure": Raw(503, b"<html>Service Temporarily Unavailable</html>"),
    "nothing": Raw(200, b""),
    "half": Raw(200, b'{"jsonrpc": "2.0", "result": ['),
}
_CANDIDATES = {"eos": "hostname new\nend\n", "nxos": f"{FRAME}hostname new\n"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["failure", "half", "drop", "nothing"])
@pytest.mark.parametrize("nos", WEB)
def test_a_change_survives_that_each_answer_is_lost_once(
    nos: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch acted each time before its answer was lost: no step is repeated, and none counts as failed."""
    monkeypatch.setattr(answers, "AGAIN_S", 0)
    monkeypatch.setattr(nxos_driver, "POLL_S", 0.02)
    switch, make = WEB[nos]
    usual = switch.answer
    lost: set[str] = set()

    def answer(self: Any, path: str, requested: Any) -> Any:
        found = usual(self, path, requested)
        sent = requested["params"]["cmds"] if nos == "eos" else [one["params"]["cmd"] for one in requested]
        if (words := str(sent)) in lost or "rollback clean-config" in words:  # the load of EOS fails then
            return found
        lost.add(words)
        if LOST[kind] is Drop:
            raise Drop
        return LOST[kind]

    with make(tmp_path) as server:
        old = server.running
        with server.device.connect(timeout=20) as driver:
            monkeypatch.setattr(switch, "answer", answer)
            driver.load_replace_candidate(config=_CANDIDATES[nos])
            assert driver.compare_config()
            driver.commit_config(revert_in=60)
            assert server.waiting
            driver.confirm_commit()
            assert not server.waiting
            assert server.running == server.startup
            assert "hostname new" in server.running
            driver.rollback()
            assert server.running == server.startup == old
            monkeypatch.setattr(switch, "answer", usual)
    assert len(lost) >= 6


@pytest.mark.parametrize("nos", WEB)
def test_a_login_that_comes_back_is_hidden(nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switch, make = WEB[nos]
    with make(tmp_path) as server:
        login = f"{server.device.username}:{server.device.password}"
        word = base64.b64encode(login.encode()).decode()
        data = [{"errors": [word]}] if nos == "eos" else {"msg": word}
        echoed = {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": 1, "message": f"Basic {word}", "data": data},
        }
        answers: list[Any] = [Raw(400, f"Authorization: Basic {word}".encode()), echoed]
        for answer in answers:
            monkeypatch.setattr(switch, "answer", lambda *_, answer=answer: answer)
            output = describe_outcome(server, nos, monkeypatch)
            assert word[8:20] not in output
            assert "<hidden>" in output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("*** Welcome ***\n{}", "is not JSON: '*** Welcome"),
        ('{"DEVICE_METADATA": {', "is not JSON"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" + "{}," * 600_000 + "{}]", "more than 1,000,000 values"),
    ],
)
def test_json_that_is_none_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(AnswerError, match="this answer") as caught:
        parse_json(text, "this answer")
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", ["", '{"DEVICE_METADATA": {', "*** Welcome ***\n{}", "[]"])
def test_a_configuration_of_sonic_that_is_no_json_is_no_empty_one(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with linux_switch(tmp_path, "sonic", text) as server:
        assert "config_db.json" in describe_outcome(server, "sonic", monkeypatch)


@pytest.mark.parametrize("nos", ["sonic", "cumulus"])
def test_the_text_of_a_login_script_is_no_part_of_an_answer(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = LinuxSwitch.serve

    def serve(self: LinuxSwitch, channel: Any, command: str) -> None:
        channel.sendall(b"*** Welcome. Your session is recorded ***\n")
        usual(self, channel, command)

    monkeypatch.setattr(LinuxSwitch, "serve", serve)
    text = json.dumps({"PORT": {}}) if nos == "sonic" else "- header: {}\n"
    with linux_switch(tmp_path, nos, text) as server, server.device.connect() as driver:
        assert not driver.has_pending_commit()
        assert "Welcome" not in driver.get_config()["running"]
        assert "Welcome" not in driver.get_identity()["hostname"]


@pytest.mark.parametrize("nos", ["eos", "nxos", "junos", "sonic"])
def test_a_text_that_is_cut_off_is_no_shorter_configuration(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server_that_cuts(nos, tmp_path, monkeypatch) as server:
        output = describe_outcome(server, nos, monkeypatch)
    assert "configuration is cut off" in output


@contextlib.contextmanager
def server_that_cuts(nos: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A switch whose running configuration ends in the middle of a line, or of a block."""
    if nos == "eos":
        monkeypatch.setattr(
            EosSwitch, "_text", lambda *_: "! Command: show running-config\nhostname a\nrou\n"
        )
        with eos_switch(folder) as eos:
            yield eos
    elif nos == "nxos":
        with nxos_switch(folder) as nxos:
            nxos.running = "hostname a\nrouter b"
            yield nxos
    elif nos == "junos":
        with junos_switch(folder) as junos:
            junos.history.insert(0, "system {\n    host-name a;\n")
            yield junos
    else:
        usual = LinuxSwitch.serve
        text = "Building configuration...\n\nCurrent configuration:\n!\nfrr version 10.0\nrouter\n"

        def cut(command: str) -> str | None:
            return f"printf %s {shlex.quote(text)}" if "show running-config" in command else None

        def serve(self: LinuxSwitch, channel: Any, command: str) -> None:
            usual(self, channel, replace_parts(command, cut))

        monkeypatch.setattr(LinuxSwitch, "serve", serve)
        with linux_switch(folder, "sonic", json.dumps({"PORT": {}})) as sonic:
            yield sonic


def test_a_saved_terminal_of_nxos_is_in_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with nxos_switch(tmp_path) as server:
        server.startup = "hostname a\nline console\nline vty\n"
        server.running = "hostname a\nline console\n"
        monkeypatch.setenv("LAB_PASSWORD", server.device.password)
        assert "it has no `line vty`" in describe_outcome(server, "nxos", monkeypatch, "configurations")


def test_an_empty_answer_of_junos_is_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JunosSwitch, "_get_configuration", lambda *_: "<configuration-text/>")
    with junos_switch(tmp_path) as server:
        assert "it returned an empty running configuration" in describe_outcome(server, "junos", monkeypatch)
