"""A switch that stops answering after its login gets one more request, and no other, from every reading verb."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.collect import collect
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.verify.run import verify
from tests.operate.drivers.servers import eos, junos, linux_switch, nxos
from tests.operate.drivers.servers.web import Drop
from tests.operate.push.network import build_spec
from tests.operate.verify.test_drivers import DEVICES, SPEC

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

PLACES: dict[str, tuple[type, str]] = {
    "eos": (eos.EosSwitch, "answer"),
    "nxos": (nxos.NxosSwitch, "answer"),
    "junos": (junos.JunosSwitch, "_reply"),
    "sonic": (linux_switch.LinuxSwitch, "serve"),
    "cumulus": (linux_switch.LinuxSwitch, "serve"),
}


class Silence:
    """Counts requests, and answers no more than so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, nos: str) -> None:
        self.asked, self.answered, self.over = 0, math.inf, threading.Event()
        place, name = PLACES[nos]
        usual = getattr(place, name)

        def answer(server: object, *arguments: Any) -> Any:
            self.asked += 1
            if self.asked > self.answered:
                self.over.wait(120)
                raise Drop
            return usual(server, *arguments)

        monkeypatch.setattr(place, name, answer)


@pytest.fixture(params=DEVICES)
def asking(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[BuiltTree, str, Access, Silence]]:
    """A tree, one of its switches, the way to it, and the silence that begins when its login is over."""
    nos = request.param
    model, server = DEVICES[nos]
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=model, nos=nos))
    source = build_spec(spec, tmp_path / "out")
    name = next(iter(source.devices))
    (tmp_path / "far").mkdir()
    with server(tmp_path / "far", [], monkeypatch) as far:
        monkeypatch.setenv("LAB_PASSWORD", far.password)
        reference = Reference("env", "LAB_PASSWORD")
        access = Access(Login(far.username, reference, address=far.host, options=far.options, timeout_s=2))
        silence = Silence(monkeypatch, nos)
        with open_connection(source.devices[name], access):
            login = silence.asked
        silence.asked, silence.answered = 0, login
        yield source, name, access, silence
        silence.over.set()


@pytest.mark.spread
def test_verify_tries_a_silent_switch_once(asking: tuple[BuiltTree, str, Access, Silence]) -> None:
    source, name, access, silence = asking
    report = verify(source, access, only=[name])
    assert silence.asked - silence.answered == 1
    assert [len(found) for found in report.unread.values()] == [1]
    assert report.exit_status == 3


@pytest.mark.spread
def test_collect_tries_a_silent_switch_once(
    asking: tuple[BuiltTree, str, Access, Silence], tmp_path: Path
) -> None:
    source, name, access, silence = asking
    chosen = {name: source.devices[name]}
    (fetched,) = collect(chosen, access, tmp_path / "collected", 1, lambda *_: None).values()
    assert silence.asked - silence.answered == 1
    assert len(fetched.failures) == 1
    assert fetched.files == []
