"""A push through the real drivers of all systems but FRR, each speaking to a local server that keeps configurations."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from ncclient.operations.rpc import RPC

from fabricc.operate.devices.running import pack_files
from tests.operate.drivers.servers.eos import DEFAULTS, USER, eos_switch
from tests.operate.drivers.servers.junos import junos_switch
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.nxos import FRAME, nxos_switch
from tests.operate.lab import specs
from tests.operate.push.network import build_spec, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.operate.push.built_tree import BuiltTree

SPEC = """\
cluster: small
gpus: {{model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}}
tors: {{model: {model}, nos: {nos}, uplinks: 2}}
spines: {{model: {model}, nos: {nos}, count: 2}}
addressing: {{family: ipv4}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  default: {{}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}}
"""
CHANGE = "routing: {hold_s: 12}\n"
MODELS = {
    "eos": "7060x6-64pe",
    "nxos": "9332d-gx2b",
    "junos": "qfx5240-64od",
    "sonic": "sn5600",
    "cumulus": "sn5600",
}
NEW = re.compile(r"timers bgp 3 12|hold-time 12|hold: 12")
NAME = "spine01a"
PREFIXES = 20
ROOT = Path(__file__).parents[3]


@dataclass
class Bench:
    """One switch behind a server, the pushed tree, and the configuration that its server reports."""

    folder: Path
    source: BuiltTree
    server: Any
    running: Callable[[], str]
    lost: bool = False
    consents: tuple[str, ...] = ("--allow-lockout", USER)

    def sessions(self) -> dict[str, int]:
        """Every planned session; none when the change that came made them go."""
        planned = self.source.switch(NAME).bgp.sessions
        return {} if self.lost and self.new else {one.remote or one.port: PREFIXES for one in planned}

    @property
    def new(self) -> bool:
        """Return whether the switch runs the changed state."""
        return NEW.search(self.running()) is not None

    def words(self, *options: str) -> list[str]:
        """The command line of a push."""
        words = [
            sys.executable,
            "-m",
            "fabricc",
            "push",
            str(self.source.tree),
            "--access",
            str(self.folder / "spec" / "fabricc-access.yaml"),
            "--only",
            NAME,
            "--keep",
            "50%",
        ]
        words += ["--journal", str(self.folder / "journal.sqlite"), "--settle", "4", "--drain-wait", "0"]
        return [*words, "--confirm-within", "60", "--adopt", *self.consents, *options]

    def begin(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a push of its own."""
        return subprocess.Popen(
            self.words(*options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
        )

    def push(self, *options: str, status: int) -> str:
        """Push to the end with this exit status; return the output."""
        ran = run_here(self.words(*options))
        assert ran.returncode == status, (ran.stdout, ran.stderr)
        return ran.stdout + ran.stderr

    def state(self) -> str:
        """Return the journal's state of the switch in the latest run, "" while there is none."""
        place = f"file:{self.folder / 'journal.sqlite'}?mode=ro"
        query = "SELECT state FROM device WHERE run=(SELECT max(id) FROM run)"
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(place, uri=True)) as base:
            return "".join(row[0] for row in base.execute(query))
        return ""


@contextmanager
def make_bench(
    folder: Path, nos: str, change: str = CHANGE, *, secrets: dict[str, str] | None = None, more: str = ""
) -> Iterator[Bench]:
    """Yield a switch and the tree for it; `more`: lines after the accounts, `secrets`: in the access file."""
    spec = specs.write(folder / "spec", SPEC.format(model=MODELS[nos], nos=nos) + more)
    texts = list(build_spec(spec, folder / "out").render_states(NAME, {4}))
    spec.write_text(spec.read_text() + change)
    source = build_spec(spec, folder / "out")
    texts += source.render_states(NAME, {4})
    with server_of(folder, nos, texts) as (server, running):
        found = Bench(folder, source, server, running)
        server.neighbors = found.sessions
        device = server.device
        (folder / "password").write_text(device.password + "\n")
        (folder / "password").chmod(0o600)
        stated = {
            "password": {"file": str(folder / "password")},
            "timeout_s": 20,
            "devices": {NAME: device.login()},
            "secrets": {name: {"file": str(folder / name)} for name in secrets or {}},
        }
        for name, secret in (secrets or {}).items():
            (folder / name).write_text(secret + "\n")
            (folder / name).chmod(0o600)
        (spec.parent / "fabricc-access.yaml").write_text(yaml.safe_dump(stated))
        yield found


@contextmanager
def server_of(folder: Path, nos: str, texts: list[dict[str, str]]) -> Iterator[tuple[Any, Callable[[], str]]]:
    """A server that runs the first of the texts, and how its configuration is seen."""
    old = texts[0]
    if nos == "eos":
        with eos_switch(folder) as eos:
            for text in (one["running-config.cfg"] for one in texts):
                shown = text.replace("end\n", f"{DEFAULTS}end\n")
                eos.printed |= dict.fromkeys((_sent_lines(text), _sent_lines(shown)), shown)
            eos.running = eos.startup = list(_sent_lines(old["running-config.cfg"]))
            yield eos, lambda: "\n".join(eos.running)
    elif nos == "nxos":
        with nxos_switch(folder) as nxos:
            nxos.running = nxos.startup = FRAME + old["running-config.cfg"]
            yield nxos, lambda: nxos.running
    elif nos == "junos":
        with junos_switch(folder) as junos:
            # Every switch prints its release there, and no plan has it.
            junos.history = [f"version 24.4R1.9-EVO;\n{old['juniper.conf']}"]
            junos.candidate = junos.running
            yield junos, lambda: junos.running
    elif nos == "cumulus":
        with linux_switch(folder, nos, old["startup.yaml"]) as cumulus:
            yield cumulus, lambda: cumulus.text("running.json")
    else:
        with linux_switch(folder, nos, old["config_db.json"], old.get("frr.conf", "")) as sonic:
            yield sonic, lambda: sonic.text("running.json") + sonic.text("frr")


def _sent_lines(text: str) -> tuple[str, ...]:
    """Lines as NAPALM sends them to EOS."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and line != "end" and not line.startswith("!"))


@pytest.fixture(
    params=[nos if nos in ("eos", "junos") else pytest.param(nos, marks=pytest.mark.slow) for nos in MODELS]
)
def switch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with make_bench(tmp_path, request.param) as found:
        yield found


@pytest.mark.slow
def test_a_push_shows_its_difference_drains_changes_and_is_then_unchanged(switch: Bench) -> None:
    assert NEW.search(switch.push("--dry-run", status=0))
    assert not switch.new
    switch.push(status=0)
    assert (switch.state(), switch.new) == ("undrained", True)
    switch.push(status=0)
    assert switch.state() == "unchanged"


@pytest.mark.slow
def test_an_account_of_cumulus_keeps_its_password_in_a_drain_and_a_rollback(tmp_path: Path) -> None:
    """NVUE prints a star in place of any hash; loaded again, the star would be a hash that no password has."""
    stored = "$6$abcdefgh$storedhash"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"
    account = f'    - {{name: ops, ssh_key: "{key}", password: {{secret: ops}}}}\n'
    with make_bench(tmp_path, "cumulus", more=account, secrets={"ops": stored}) as switch:
        switch.push(status=0)
        assert (switch.state(), switch.new) == ("undrained", True)
        switch.push("--rollback", "1", status=0)
        assert not switch.new
        loaded = [
            file.read_text() for file in (tmp_path / "switch" / "revisions").iterdir() if file.name != "1"
        ]
        assert len(loaded) > 3
        assert [text for text in loaded if f"hashed-password: {stored}" not in text] == []


MOST_REQUESTS = 30


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["sonic", "cumulus"])
def test_a_hitless_push_needs_few_requests(tmp_path: Path, nos: str) -> None:
    with make_bench(tmp_path, nos) as switch:
        switch.push("--no-drain", status=0)
        assert (switch.state(), switch.new) == ("confirmed", True)
        assert 0 < switch.server.requests <= MOST_REQUESTS


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "most"), [("eos", 25), ("nxos", 28), ("junos", 44)])
def test_a_hitless_change_needs_few_requests(nos: str, most: int, tmp_path: Path) -> None:
    with make_bench(tmp_path, nos, "routing: {bfd: {multiplier: 5}}\n") as switch:
        switch.push(status=0)
        assert switch.state() == "confirmed", "without a drain"
        assert 20 < switch.server.requests <= most


@pytest.mark.slow
def test_a_hitless_change_of_junos_needs_few_round_trips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that are sent together wait for their answers once."""
    usual: Callable[[RPC, object], object] = RPC._request
    together: list[bool] = []

    def count(self: RPC, request: object) -> object:
        together.append(self.is_async)
        return usual(self, request)

    with (
        make_bench(tmp_path, "junos", "routing: {bfd: {multiplier: 5}}\n") as switch,
        monkeypatch.context() as patch,
    ):
        patch.setattr(RPC, "_request", count)
        switch.push(status=0)
        assert switch.state() == "confirmed"
    waits, ahead = together.count(False), together.count(True)
    bursts = sum(now and not before for before, now in pairwise([False, *together]))
    assert waits == switch.server.requests, "each request is sent once, and waited for once"
    assert waits - ahead + bursts <= 22


@pytest.mark.slow
def test_a_switch_that_states_none_of_its_sessions_is_not_watched_by_them(switch: Bench) -> None:
    switch.server.neighbors = dict
    assert "BGP sessions (1)" in switch.push("--dry-run", status=0)


@pytest.mark.slow
def test_sessions_that_do_not_come_back_take_the_switch_back(switch: Bench) -> None:
    switch.lost = True
    assert "is down" in switch.push(status=3)
    assert (switch.state(), switch.new) == ("rolled-back", False)


@pytest.mark.slow
def test_a_push_that_is_killed_after_a_commit_is_ended_by_resume(switch: Bench) -> None:
    switch.lost = True
    process = switch.begin()
    until = time.monotonic() + 120
    while switch.state() != "committed-unconfirmed" and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert switch.new
    switch.lost = False
    switch.push("--resume", status=0)
    assert (switch.state(), switch.new) == ("undrained", True)


@pytest.mark.slow
@pytest.mark.parametrize("nos", MODELS)
def test_another_machine_that_pushes_the_same_tree_is_not_undone(tmp_path: Path, nos: str) -> None:
    """Neither its commit that waits, which looks like the own one, nor what it has confirmed."""
    with make_bench(tmp_path, nos) as switch:
        process = start_drained(switch, within=30)
        with switch.server.device.connect(session="fabricc-1-theirs") as theirs:
            theirs.load_replace_candidate(config=pack_files(switch.source.files(NAME)))
            theirs.commit_config(revert_in=120)
            time.sleep(12)
            assert theirs.has_pending_commit()
            theirs.confirm_commit()
        assert process.wait(180) == 3
        assert switch.new
        assert switch.state() == "unknown"


ROUTE = "ip route 203.0.113.0/24 Null0"


def start_drained(switch: Bench, within: int = 10) -> subprocess.Popen[bytes]:
    """A push whose switch is drained, and waits for traffic to leave."""
    process = switch.begin("--drain-wait", "4", "--confirm-within", str(within))
    until = time.monotonic() + 120
    while switch.state() != "drained" and time.monotonic() < until:
        time.sleep(0.05)
    assert switch.state() == "drained"
    return process


def eos_commands(switch: Bench, *commands: str) -> None:
    """Commands of a person on the switch."""
    answer = switch.server.answer("", {"id": "person", "params": {"cmds": list(commands)}})
    assert "error" not in answer, answer


@pytest.mark.slow
@pytest.mark.parametrize("how", ["edits", "commits"])
def test_manual_change_on_a_drained_switch_is_kept(tmp_path: Path, how: str) -> None:
    with make_bench(tmp_path, "eos") as switch:
        process = start_drained(switch)
        server = switch.server
        text = server.printed[tuple(server.running)]
        server.printed[(*server.running, ROUTE)] = text.removesuffix("end\n") + ROUTE + "\nend\n"
        eos_commands(switch, "configure session person", ROUTE)
        timer = " timer 00:01:00" if how == "commits" else ""
        eos_commands(switch, f"configure session person commit{timer}")
        if how == "commits":
            time.sleep(8)
            assert server.waiting is not None, "a commit of somebody else is not aborted"
            assert server.waiting[0] == "person"
            eos_commands(switch, "configure session person commit")
        assert process.wait(180) == 3
        assert ROUTE in server.running
        assert not switch.new
        assert switch.state() == "unknown"
        assert "set community GSHUT additive" not in server.running, "it is in service again"
