"""Drivers of Linux switches: an answer that is none of the command's is an error, whatever its exit status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from napalm import get_network_driver
from napalm.base.exceptions import CommandErrorException, CommitError, NapalmException

from fabricc.operate.drivers import frr_agent, linux, linux_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.frr import require_reply
from fabricc.operate.drivers.shell import CommandResult
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.parts import frame_answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BEGINS, ENDS = "==fabricc==\n", "\n==fabricc ends==\n"
OTHER = {
    "empty": "",
    "an empty object": "{}\n",
    "a list": "[]\n",
    "a page": "<html><body>503 Service Unavailable</body></html>\n",
    "a prompt": "admin@sonic:~$ ",
    "a question of sudo": "[sudo] password for admin: ",
    "an error": "Error: Permission denied\n",
    "a pager": "--More--\n",
    "other types": '{"PORT": ["up"], "default": [], "ok": "yes", "saved": "yes", "way": 1, "1": {"state": 5}}\n',
}


def driver_that_hears(name: str, answer: Callable[[str], str]) -> Any:
    """A driver whose switch answers every command with `answer(the command)` and exit status 0."""
    driver = get_network_driver(name)("192.0.2.1", "admin", "secret", optional_args={"commit_timeout": 0})
    driver._shell.run = lambda command, *_: CommandResult(0, answer(command), "")
    driver._reconnect = lambda: None
    return driver


CALLS: dict[str, Callable[[Any], Any]] = {
    "pending": lambda driver: driver.has_pending_commit(),
    "running": lambda driver: driver.get_config("running"),
    "sessions": lambda driver: driver.get_bgp_neighbors(),
    "next hops": lambda driver: driver.get_ecmp_widths(),
    "counters": lambda driver: driver.get_interfaces_counters(),
    "LLDP": lambda driver: driver.get_lldp_neighbors(),
    "hostname": lambda driver: driver.get_identity(),
    "confirmation": lambda driver: driver.confirm_commit(),
    "rollback": lambda driver: driver.rollback(),
}
NOTHING = {("an empty object", call) for call in ("next hops", "sessions", "counters")}
"""FRR prints `{}` itself without a route and without an instance of BGP, and redis-dump for an empty database."""


@pytest.mark.parametrize("name", ["sonic", "cumulus"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("other", OTHER)
def test_another_text_is_no_answer(name: str, call: str, other: str) -> None:
    bare = driver_that_hears(name, lambda _: OTHER[other])
    with pytest.raises(NapalmException):
        CALLS[call](bare)
    framed = driver_that_hears(name, lambda request: frame_answers(request, OTHER[other]))
    if (other, call) in NOTHING and (name, call) != ("cumulus", "counters"):
        assert CALLS[call](framed) in ({}, {"global": {"router_id": "", "peers": {}}})
        return
    with pytest.raises(NapalmException):
        CALLS[call](framed)


@pytest.mark.parametrize("name", ["sonic", "cumulus"])
@pytest.mark.parametrize(
    "change",
    [lambda text: text[: len(text) // 2], lambda text: text * 2, lambda text: f"{text}logout\n"],
    ids=["half", "twice", "with more"],
)
def test_a_part_of_an_answer_and_two_are_none(name: str, change: Callable[[str], str]) -> None:
    whole = f"{BEGINS}spine01a{ENDS}"
    assert driver_that_hears(name, lambda _: whole)._run("hostname") == "spine01a"
    assert driver_that_hears(name, lambda _: f"*** Welcome ***\n{whole}")._run("hostname") == "spine01a"
    with pytest.raises(NapalmException, match="not whole"):
        driver_that_hears(name, lambda _: change(whole))._run("hostname")


PARTS = "\n==fabricc 0 begins==\na\n==fabricc 0 ends with 0==\n==fabricc 1 begins==\nb\n==fabricc 1 ends with 0==\n"
PARTS += "==fabricc ends==\n"


@pytest.mark.parametrize("name", ["sonic", "cumulus"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text * 2,
        lambda text: f"{text}logout\n",
        lambda text: text.replace("1 begins", "0 begins"),
        lambda text: text.replace("a\n", "a\n==fabricc 1 begins==\n"),
        lambda text: text.replace("==fabricc 1", "more\n==fabricc 1", 1),
        lambda text: "".join(text.partition("==fabricc 1")[:1]) + "==fabricc ends==\n",
        lambda _: f"{BEGINS}a{ENDS}",
    ],
    ids=[
        "half",
        "twice",
        "with more",
        "renumbered",
        "with a mark",
        "with more between",
        "one",
        "of one command",
    ],
)
def test_an_answer_to_several_commands_has_a_part_for_each(name: str, change: Callable[[str], str]) -> None:
    whole = driver_that_hears(name, lambda _: f"*** Welcome ***\n{PARTS}")
    with whole._in_one_request("first", "second"):
        assert [whole._run(one) for one in ("first", "second")] == ["a", "b"]
    for stops in (False, True):
        driver = driver_that_hears(name, lambda _: change(PARTS))
        with (
            pytest.raises(NapalmException, match="not whole"),
            driver._in_one_request("first", "second", stops=stops),
        ):
            pass
        assert not driver._ahead


def test_a_failure_is_one_of_its_own_command_and_no_answer_is_used_twice(tmp_path: Path) -> None:
    with (
        linux_switch(tmp_path, "sonic", json.dumps({"PORT": {}})) as switch,
        switch.device.connect() as driver,
    ):
        mark = tmp_path / "changed"
        commands = ("echo a", "echo b >&2; exit 3", f"touch {mark}")
        with driver._in_one_request(*commands):
            assert driver._run("echo a") == "a\n"
            with pytest.raises(CommandErrorException, match=r"exit status 3: b$"):
                driver._run(commands[1])
            assert driver._run(commands[2]) == ""
        mark.unlink()
        with driver._in_one_request(*commands, stops=True):
            assert driver._run("echo a") == "a\n"
        assert not mark.exists()
        before = switch.requests
        with driver._in_one_request("cat /proc/uptime", "cat"):
            first = driver._run("cat /proc/uptime")
            assert driver._run("cat /proc/uptime") >= first
        assert switch.requests == before + 2, "the second reads anew"
        driver.read_ahead(("get_bgp_neighbors",))
        driver.drop_ahead()
        assert not driver._ahead


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize(
    "what", ["stage", "compare", "commit", "status", "holds", "confirm", "read", "run", "guard"]
)
def test_another_text_is_no_answer_of_the_agent(what: str, other: str) -> None:
    for begins in ("", BEGINS):
        driver = driver_that_hears("frr", lambda _, begins=begins: f"{begins}{OTHER[other]}")
        with pytest.raises(NapalmException, match=r"not JSON|is empty|not that of the agent"):
            driver._ask(what)


def test_values_of_the_agent_are_checked() -> None:
    status = {"did": "status", "phase": "idle", "why": "", "left_s": -1, "wish": None}
    require_reply("status", status)
    for wrong in ({"phase": 1}, {"phase": "done"}, {"left_s": "soon"}, {"did": "commit"}):
        with pytest.raises(AnswerError):
            require_reply("status", {**status, **wrong})
    driver = driver_that_hears("frr", lambda _: f"*** Welcome ***\n{BEGINS}{json.dumps(status)}\n")
    assert driver.commit_state()["phase"] == "idle", "a login script may print before the answer"


LOG = (
    "2026-03-01 12:00:00,123  INFO: Loading Config object from file /etc/frr/a\n"
    "2026-03-01 12:00:00,456  INFO: Loading Config object from vtysh show running\n"
)


@pytest.mark.parametrize(
    "text", [*OTHER.values(), LOG[: len(LOG) // 2], LOG * 2, "Lines To Add\n====\nrouter bgp 1\n"]
)
def test_a_comparison_of_frr_that_did_not_run_finds_no_equality(text: str) -> None:
    with pytest.raises(frr_agent.Refusal, match="did not compare"):
        frr_agent.differences(text)
    assert frr_agent.differences(LOG) == []
    assert frr_agent.differences(f"{LOG}\nLines To Add\n============\nrouter bgp 1\n") == ["+ router bgp 1"]


FRR = "Building configuration...\n\nCurrent configuration:\n!\nfrr version 8.4.4\nhostname a\n!\nend\n"


@pytest.mark.parametrize("text", [*OTHER.values(), FRR[:70], FRR * 2, "Error: no\nend\n"])
def test_a_text_that_is_no_configuration_of_frr_has_a_defect(text: str) -> None:
    assert frr_agent.find_defect(text)
    assert not frr_agent.find_defect(FRR)


@pytest.mark.parametrize("after", ["idle", "committing"])
def test_a_commit_that_ends_while_it_is_looked_for_is_not_reverted(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = frr_agent.Box({"session": "a", "table": {}, "folder": str(tmp_path / "box"), "do": "status"})
    box.enter("committing", worker={"pid": 1, "started": "earlier"})
    reverted: list[str] = []

    def note(phase: str, *_: object) -> None:
        reverted.append(phase)

    def end(_: int) -> None:
        box.enter(after)

    monkeypatch.setattr(box, "detach", note)
    monkeypatch.setattr(frr_agent, "process_start", end)
    box.recover()
    assert reverted == ([] if after == "idle" else ["reverting"])


@pytest.mark.parametrize(
    "read",
    [
        lambda: linux.bgp_neighbors({"warning": "no BGP"}, {}),
        lambda: linux.bgp_neighbors({"default": {"ipv4Unicast": []}}, {"default": {}}),
        lambda: linux.ecmp_widths([{"10.0.0.0/8": "none"}]),
        lambda: linux_views.require_links([]),
        lambda: linux_views.lldp_detail({}),
    ],
)
def test_json_of_another_kind_is_an_error(read: Callable[[], Any]) -> None:
    with pytest.raises((AnswerError, KeyError, TypeError, AttributeError)):
        read()


AUTO_SAVE_OFF = (
    "- set:\n    system:\n      config:\n        auto-save:\n          state: disabled\n      hostname: a\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["sonic", "cumulus"])
def test_a_save_that_does_not_save_is_an_error(nos: str, tmp_path: Path) -> None:
    """With exit status 0, as `config save` and `nv config save` have it where a hook of theirs fails."""
    old = json.dumps({"PORT": {"Ethernet0": {"mtu": "9100"}}}) if nos == "sonic" else AUTO_SAVE_OFF
    new = old.replace("9100", "9216").replace("hostname: a", "hostname: b")
    with linux_switch(tmp_path, nos, old) as switch, switch.device.connect() as driver:
        program = switch.root / "bin" / ("config" if nos == "sonic" else "nv")
        usual, verb = program.read_text(), "$1" if nos == "sonic" else "$2"
        program.write_text(usual.replace("exec", f'[ "{verb}" = save ] && exit 0\nexec', 1))
        driver.load_replace_candidate(config=new)
        with pytest.raises(CommitError, match="did not save"):
            driver.commit_config()
        assert driver.commit_state()["phase"] != "confirmed" if nos == "sonic" else True
