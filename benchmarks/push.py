"""What a push of a hitless change to many switches takes: requests, time and memory, through the real drivers."""

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
from tests.operate.drivers.servers import eos, junos, linux_switch, nxos

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fabricc.operate.push.built_tree import BuiltTree

SILENT_PERCENT = 5
TIMEOUT_S = 5
"""Seconds for a question: what a silent switch costs is a multiple of it."""
_SLOW_TIMEOUT_S = 30
"""The same for slow systems, whose local switches share the cores with the push."""
_SPINES = 4
_TORS = 8
"""Of a unit and plane."""
_MOST = 124
"""Switches of a plane, so that each spine reaches all ToRs."""
_CHANGE = "routing: {bfd: {multiplier: 5}}\n"
_PEERS = (
    ("eos", eos), ("nxos", nxos), ("junos", junos), ("cumulus", linux_switch), ("sonic", linux_switch)
)  # fmt: skip
_LOGINS = {one: (peer.USER, peer.PASSWORD) for one, peer in _PEERS}
_MODELS = {
    "eos": ("7060x6-64pe", "7808r4", ""),
    "nxos": ("9364d-gx2a", "9364e-sg2", ""),
    "junos": ("qfx5240-64od", "qfx5240-64od", ", uplink_gbps: 400"),
    "cumulus": ("sn5600", "sn5600", ""),
    "sonic": ("sn5600", "sn5600", ""),
}
"""System -> models of ToRs and spines, and what the uplinks need to reach a spine with 100 ToRs."""
SYSTEMS = tuple(_MODELS)
_SLOW, _SHARE = ("cumulus", "sonic"), 20
"""Systems whose local switches run a program for each request, and of how many switches one is pushed to."""


@dataclass(frozen=True, slots=True)
class Push:
    """One measured push.

    Attributes:
        nos: the system of the switches.
        switches: all of them; `silent`: those that take a connection and answer nothing.
        silent: see `switches`.
        requests: per switch that answers.
        exit_status: 3 when a switch was silent and left out.
    """

    nos: str
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
            f"push of {self.switches} {self.nos} switches, {self.silent} silent: exit {self.exit_status}, "
            f"{self.requests:.1f} requests a switch, {self.wall_s:.0f} s, {self.cpu_s:.0f} s CPU, "
            f"{self.peak_mib:.0f} MiB"
        )


def measure_push(folder: Path, count: int, silent: int = 0, nos: str = "eos") -> Push:
    """Push a change of BFD's multiplier to local switches and measure the command.

    Args:
        folder: to work in, new.
        count: switches, of slow systems a twentieth, rounded up to what units of eight ToRs and the spines make, in one
            plane or two.
        silent: of them those that do not answer.
        nos: the system of all switches.

    Raises:
        RuntimeError: the push ended in another way than is expected.
    """
    folder.mkdir(parents=True)
    if nos in _SLOW:
        count, silent = -(-count // _SHARE), -(-silent // _SHARE)
    spec = folder / "cluster.yaml"
    text = _spec(nos, count)
    spec.write_text(text, encoding="utf-8")
    old = _built(spec, folder / "build")
    names = list(old.devices)
    olds = {name: old.files(name) for name in names}
    spec.write_text(text + _CHANGE, encoding="utf-8")
    source = _built(spec, folder / "build")
    sessions = {name: [one.remote or one.port for one in source.switch(name).bgp.sessions] for name in names}
    quiet = names[:: max(1, len(names) // silent)][:silent] if silent else []
    user, password = _LOGINS[nos]
    asked = {
        "nos": nos,
        "old": olds,
        "new": {name: source.files(name) for name in names},
        "sessions": sessions,
        "silent": quiet,
    }
    with _serve_folder(folder / "switches", asked) as (server, places):
        access = _access(folder, password, places, _SLOW_TIMEOUT_S if nos in _SLOW else TIMEOUT_S)
        # A state folder of its own: journals of former measurements are no concern of this one.
        command = ["/usr/bin/env", f"XDG_STATE_HOME={folder / 'state'}"]
        command += fabricc(
            "push", str(source.tree), "--access", str(access), "--journal", str(folder / "j.sqlite")
        )
        command += ["--skip-unreachable"] if silent else []
        command += ["--adopt", "--keep", "50%", "--settle", "20", "--allow-lockout", user]
        ran = run(command, folder, status=3 if silent else 0)
        requests = _count(server)
    answering = len(names) - len(quiet)
    status = 3 if silent else 0
    return Push(
        nos, len(names), len(quiet), requests / answering, ran.wall_s, ran.cpu_s, ran.peak_mib, status
    )


def _spec(nos: str, count: int) -> str:
    planes = 1 if count <= _MOST else 2
    units = -(-max(count // planes - _SPINES, _TORS) // _TORS)
    tor, spine, uplink = _MODELS[nos]
    gpus, key = ("dgx-h100", "") if planes == 1 else ("hgx-2x200", "planes: 2\n")
    return f"""\
cluster: push
gpus: {{model: {gpus}, hosts: {4 * units}, hosts_per_unit: 4}}
{key}tors: {{model: {tor}, nos: {nos}, uplinks: {_SPINES}{uplink}}}
spines: {{model: {spine}, nos: {nos}, count: {_SPINES}}}
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
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Mapping[str, object]]]]:
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


def _access(folder: Path, secret: str, places: Mapping[str, Mapping[str, object]], timeout_s: int) -> Path:
    password = folder / "password"
    password.touch(0o600)
    password.write_text(secret + "\n", encoding="utf-8")
    stated = {"password": {"file": os.fspath(password)}, "timeout_s": timeout_s, "devices": places}
    access = folder / "access.yaml"
    access.write_text(json.dumps(stated), encoding="utf-8")
    return access
