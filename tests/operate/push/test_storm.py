"""A PFC storm on one switch, reported by the real driver of each system: the push ends with the canary."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.operate.drivers.servers.eos import USER
from tests.operate.lab import specs
from tests.operate.push.network import build_spec, run_here
from tests.operate.push.test_drivers import CHANGE, MODELS, NEW, PREFIXES, SPEC, server_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

CANARY, OTHER = "spine01a", "spine02a"


def _no_storm(_server: Any, _port: str) -> None:
    """No storm."""


class Pair:
    """Both spines of a fabric, each behind a server of its own.

    Attributes:
        servers: switch -> server; `running`: switch -> the configuration that it reports.
        strikes: called with a server once its switch runs the changed state, when its sessions are read.
    """

    def __init__(self, folder: Path, nos: str, stack: ExitStack) -> None:
        spec = specs.write(folder / "spec", SPEC.format(model=MODELS[nos], nos=nos))
        first = build_spec(spec, folder / "out")
        texts = {name: list(first.render_states(name, {4})) for name in (CANARY, OTHER)}
        spec.write_text(spec.read_text() + CHANGE)
        self.source: BuiltTree = build_spec(spec, folder / "out")
        self.folder, self.nos = folder, nos
        self.servers: dict[str, Any] = {}
        self.running: dict[str, Callable[[], str]] = {}
        self.strikes: Callable[[Any, str], None] = _no_storm
        devices = {}
        for name in (CANARY, OTHER):
            place = folder / name
            place.mkdir()
            server, running = stack.enter_context(
                server_of(place, nos, texts[name] + list(self.source.render_states(name, {4})))
            )
            self.servers[name], self.running[name] = server, running
            server.counted.ports = tuple(port.name for port in self.source.switch(name).ports if port.peer)
            server.neighbors = lambda name=name: self.sessions(name)
            (place / "password").write_text(server.device.password + "\n")
            (place / "password").chmod(0o600)
            devices[name] = {
                **server.device.login(),
                "password": {"file": str(place / "password")},
            }
        self.access = spec.parent / "fabricc-access.yaml"
        self.access.write_text(yaml.safe_dump({"timeout_s": 20, "devices": devices}))

    def new(self, name: str) -> bool:
        """Return whether a switch runs the changed state."""
        return NEW.search(self.running[name]()) is not None

    def sessions(self, name: str) -> dict[str, int]:
        """Every planned session is up, whatever else happens."""
        if name == CANARY and self.new(name):
            self.strikes(self.servers[name], self.servers[name].counted.ports[0])
        return {one.remote or one.port: PREFIXES for one in self.source.switch(name).bgp.sessions}

    def push(self, *options: str, status: int) -> str:
        """Push to both spines; return the output."""
        words = [
            "python",
            "-m",
            "fabricc",
            "push",
            str(self.source.tree),
            "--access",
            str(self.access),
            "--adopt",
            "--keep",
            "50%",
            "--drain-wait",
            "0",
        ]
        words += [
            "--settle",
            "30",
            "--confirm-within",
            "300",
            "--journal",
            str(self.folder / "journal.sqlite"),
        ]
        words += ["--only", CANARY, "--only", OTHER]
        ran = run_here([*words, "--allow-lockout", USER, *options])
        assert ran.returncode == status, (ran.stdout, ran.stderr)
        return ran.stdout + ran.stderr


@pytest.fixture(params=[nos if nos == "eos" else pytest.param(nos, marks=pytest.mark.slow) for nos in MODELS])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(tmp_path, request.param, stack)


@pytest.mark.slow
def test_a_storm_planted_on_the_canary_stops_the_push_after_it(pair: Pair) -> None:
    def strike(server: Any, port: str) -> None:
        server.counted.storms = {port: {3: 1}}
        server.counted.dropped = {port: {3: 5}}

    pair.strikes = strike
    output = pair.push(status=3)
    port = pair.servers[CANARY].counted.ports[0]
    storms = pair.nos != "junos"
    assert (f"{CANARY}: the PFC watchdog of {port} detected 1 storm" in output) == storms
    assert f"{port} dropped 5 packets of lossless classes" in output
    assert ("not stated by junos, so not watched: PFC watchdog storms (2)" in output) == (not storms)
    assert not pair.new(CANARY), "it went back"
    assert not pair.new(OTHER)
    assert "wave 2" not in output
    pair.servers[CANARY].counted.storms = {}
    pair.servers[CANARY].counted.dropped = {}
    pair.strikes = _no_storm
    pair.push(status=0)
    assert pair.new(CANARY)
    assert pair.new(OTHER)
