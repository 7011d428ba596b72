"""What a push of a hitless change to many switches takes: requests, time and memory, through the real EOS driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.measure import fabricc, run
from benchmarks.specs import KEY
from fabricc.compiler.driver import build_tree
from fabricc.operate.push.built_tree import read_source
from tests.operate.drivers.servers.eos import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

SILENT_PERCENT = 5
TIMEOUT_S = 5
"""Seconds for a question: what a silent switch costs is a multiple of it."""
_SPINES = 4
_CHANGE = "routing: {bfd: {interval_ms: 500}}\n"


@dataclass(frozen=True, slots=True)
class Push:
    """One measured push.

    Attributes:
        switches: all of them; `silent`: those that take a connection and answer nothing.
        requests: per switch that answers.
        exit_status: 3 when a switch was silent and left out.
    """

    switches: int
    silent: int
    requests: float
    wall_s: float
    cpu_s: float
    peak_mib: float
    exit_status: int

    def line(self) -> str:
        """The measurement as a line of the report."""
        return (
            f"push of {self.switches} EOS switches, {self.silent} silent: exit {self.exit_status}, "
            f"{self.requests:.1f} requests a switch, {self.wall_s:.0f} s, {self.cpu_s:.0f} s CPU, "
            f"{self.peak_mib:.0f} MiB"
        )


def measure_push(folder: Path, count: int, silent: int = 0) -> Push:
    """Push a change of BFD's interval to local EOS switches and measure the command.

    Args:
        folder: to work in, new.
        count: switches, rounded up to what units of eight ToRs make.
        silent: of them those that do not answer.

    Raises:
        RuntimeError: the push ended in another way than is expected.
    """
    folder.mkdir(parents=True)
    spec = folder / "cluster.yaml"
    text = _spec(-(-max(count - _SPINES, 8) // 8))
    spec.write_text(text, encoding="utf-8")
    old = _built(spec, folder / "build")
    names = list(old.devices)
    olds = {name: old.files(name)["running-config.cfg"] for name in names}
    spec.write_text(text + _CHANGE, encoding="utf-8")
    source = _built(spec, folder / "build")
    sessions = {name: [one.remote or one.port for one in source.switch(name).bgp.sessions] for name in names}
    quiet = names[:: max(1, len(names) // silent)][:silent] if silent else []
    asked = {
        "old": olds,
        "new": {name: source.files(name)["running-config.cfg"] for name in names},
        "sessions": sessions,
        "silent": quiet,
    }
    with _serve_folder(folder / "switches", asked) as (server, places):
        access = _access(folder, places)
        # A state folder of its own: journals of former measurements are no concern of this one.
        command = ["/usr/bin/env", f"XDG_STATE_HOME={folder / 'state'}"]
        command += fabricc(
            "push", str(source.tree), "--access", str(access), "--journal", str(folder / "j.sqlite")
        )
        command += ["--skip-unreachable"] if silent else []
        command += ["--adopt", "--keep", "50%", "--settle", "20", "--allow-lockout", USER]
        ran = run(command, folder, status=3 if silent else 0)
        requests = _count(server)
    answering = len(names) - len(quiet)
    return Push(
        len(names), len(quiet), requests / answering, ran.wall_s, ran.cpu_s, ran.peak_mib, 3 if silent else 0
    )


def _spec(units: int) -> str:
    return f"""\
cluster: push
gpus: {{model: dgx-h100, hosts: {4 * units}, hosts_per_unit: 4}}
tors: {{model: 7060x6-64pe, nos: eos, uplinks: {_SPINES}}}
spines: {{model: 7808r4, nos: eos, count: {_SPINES}}}
addressing: {{family: ipv4}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  default: {{}}
management:
  users: [{{name: netops, ssh_key: "{KEY}"}}]
"""


def _built(spec: Path, out: Path) -> BuiltTree:
    result, _ = build_tree(spec, out)
    if result.tree is None:
        raise RuntimeError("\n".join(one.message for one in result.diagnostics))
    return read_source(result.tree, spec)


@contextmanager
def _serve_folder(
    folder: Path, asked: object
) -> Iterator[tuple[subprocess.Popen[str], dict[str, list[object]]]]:
    folder.mkdir()
    file = folder / "asked.json"
    file.write_text(json.dumps(asked), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.switches", str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield server, json.loads(server.stdout.readline())
        finally:
            server.stdin.close()


def _count(server: subprocess.Popen[str]) -> int:
    assert server.stdin
    assert server.stdout
    server.stdin.write("\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def _access(folder: Path, places: dict[str, list[object]]) -> Path:
    password = folder / "password"
    password.touch(0o600)
    password.write_text(PASSWORD + "\n", encoding="utf-8")
    devices = {
        name: {"address": "127.0.0.1", "port": port, "ca_file": certificate}
        for name, (port, certificate) in places.items()
    }
    stated = {
        "username": USER,
        "password": {"file": os.fspath(password)},
        "timeout_s": TIMEOUT_S,
        "devices": devices,
    }
    access = folder / "access.yaml"
    access.write_text(json.dumps(stated), encoding="utf-8")
    return access
