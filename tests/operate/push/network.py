"""A small fabric with simulated switches behind it, and the command run against them as a user runs it."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from fabricc.cli.entry import run
from fabricc.compiler.driver import build_tree
from fabricc.operate.devices import running
from fabricc.operate.push.built_tree import read_source
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.operate.push.built_tree import BuiltTree

HERE = Path(__file__).parent
SIMULATED = HERE / "simulated"
FABRICC = (sys.executable, "-m", "fabricc")
PASSWORD = "correct horse"
HITLESS = "routing: {bfd: {interval_ms: 500}}"
DISRUPTIVE = "routing: {hold_s: 12}"


@dataclass
class Network:
    """Switches that run the first state of a spec, and what is needed to push the next."""

    folder: Path
    source: BuiltTree
    server: subprocess.Popen[str]
    port: int
    journal: Path
    spec: Path
    more: str
    extra: list[str] = field(default_factory=list)
    direct: bool = False
    keep: str = "50%"

    @staticmethod
    def start(folder: Path, spec_text: str = "", older: Callable[[str], str] = str) -> Network:
        """Start switches that run the spec, or an older text made from it."""
        spec = specs.two_tiers(folder / "spec")
        if spec_text:
            spec.write_text(spec_text)
        source = build_spec(spec, folder / "out")
        files = folder / "switches"
        files.mkdir()
        for name, device in source.devices.items():
            (files / device.address).write_text(older(running.pack_files(source.files(name))))
        server = subprocess.Popen(
            [sys.executable, str(SIMULATED / "server.py"), str(files), PASSWORD],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        port = int(server.stdout.readline())
        (folder / "password").write_text(PASSWORD + "\n")
        (folder / "password").chmod(0o600)
        (spec.parent / "fabricc-access.yaml").write_text(
            f"username: operator\npassword: {{file: {folder / 'password'}}}\ndriver: simulated\ntimeout_s: 20\n"
            f"options: {{server_port: {port}, faults: {folder / 'faults'}}}\n"
        )
        return Network(folder, source, server, port, folder / "journal.sqlite", spec, spec.read_text())

    @property
    def access(self) -> Path:
        """Return the access file in the spec's folder."""
        return self.spec.with_name("fabricc-access.yaml")

    def stop(self) -> None:
        self.server.kill()
        self.server.wait()

    def edit(self, lines: str) -> None:
        """Another state of the spec, built."""
        self.spec.write_text(self.more + lines + "\n")
        self.source = build_spec(self.spec, self.folder / "out")

    def fault(self, device: str, method: str, count: int, when: str, fault: str) -> None:
        """Let something go wrong before or after the count-th call of a driver's method."""
        (self.folder / "faults").write_text(
            f"{self.source.devices[device].address} {method} {when} {fault} {count}\n"
        )

    def push(self, *options: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run `fabricc push`, in a process of its own unless `direct`."""
        words = [
            *FABRICC,
            "push",
            str(self.source.tree),
            "--spec",
            str(self.spec),
            "--journal",
            str(self.journal),
        ]
        if self.access.exists():
            words += ["--access", str(self.access)]
        words += [
            "--settle",
            "2",
            "--drain-wait",
            "0",
            "--confirm-within",
            "10",
            *(["--keep", self.keep] if self.keep else []),
            *self.extra,
            *options,
        ]
        state = str(self.folder / "state")
        ran = run_here(words, state) if self.direct else run_apart(words, state)
        if status is not None:
            assert ran.returncode == status, (ran.returncode, ran.stdout, ran.stderr)
        return ran

    def ask(self, act: str, name: str = "", **more: Any) -> Any:
        """Call the server itself, not through the push."""
        address = (
            self.source.devices[name].address if name else next(iter(self.source.devices.values())).address
        )
        request = {"act": act, "device": address, "password": PASSWORD, **more}
        with socket.create_connection(("127.0.0.1", self.port)) as channel, channel.makefile("rwb") as line:
            line.write(json.dumps(request).encode() + b"\n")
            line.flush()
            return json.loads(line.readline())["answer"]

    def runs(self, name: str) -> str:
        """The running configuration of a switch."""
        return str(self.ask("running", name))

    def interval(self, name: str) -> str:
        """Return which state a switch runs: the words in which the two differ."""
        text = self.runs(name)
        timers = re.search(r"(?m)^ timers bgp .*$", text)
        bfd = re.search(r"(?m)^  transmit-interval .*$", text)
        drained = "+shut" if "graceful-shutdown additive" in text else ""
        return f"{timers[0].strip() if timers else bfd[0].strip() if bfd else 'first'}{drained}"

    def states(self, run: int | None = None) -> dict[str, str]:
        """Return the journal's state of each switch in the latest run."""
        with sqlite3.connect(self.journal) as base:
            number = run or base.execute("SELECT max(id) FROM run").fetchone()[0] or 0
            rows = base.execute("SELECT name, state, intent FROM device WHERE run=?", (number,)).fetchall()
        base.close()
        return {name: state + (f" ({intent})" if intent else "") for name, state, intent in rows}

    def truthful(self, new: str, old: str = "first") -> None:
        """Check that every switch runs exactly what the journal states, and none waits for a confirmation."""
        for name, state in self.states().items():
            runs, pending = self.interval(name), self.ask("pending", name)
            wanted = new if state in ("confirmed", "undrained", "unchanged") else old
            assert (runs, pending) == (wanted, False), (name, state, runs, pending)


def run_apart(words: list[str], state: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with a state folder of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{SIMULATED}:{HERE.parents[2]}"}
    environment |= {"XDG_STATE_HOME": state} if state else {}
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=900, check=False)


def run_here(words: list[str], state: str = "") -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    if str(SIMULATED) not in sys.path:
        sys.path.append(str(SIMULATED))
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    own = {"XDG_STATE_HOME": state} if state else {}
    with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, own):
        status = run(words[3:])
    reported = out.buffer.getvalue().decode()
    return subprocess.CompletedProcess(words, status, reported, err.getvalue())


def build_spec(spec: Path, out: Path) -> BuiltTree:
    result, _ = build_tree(spec, out)
    assert result.tree is not None, result.diagnostics
    return read_source(result.tree, spec)
