"""Peers compile the same leaf-spine fabric, each installed in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import avd
from benchmarks.measure import Figures, repeat_command
from benchmarks.specs import Fabric

if TYPE_CHECKING:
    from pathlib import Path

PEERS = {"pyavd": "pyavd==6.4.0", "netlab": "networklab==26.10"}
GPUS, TORS, SPINES = 4096, 64, 32
NETLAB_TORS, NETLAB_SPINES = 16, 8  # netlab takes time with the square of the number of links
HOST_PORTS = 64
SMALL = Fabric(64)
"""What each compiles first, untimed, so that neither pays for imports and compiled templates."""

# The same of fabricc: a spec read, validated and planned, its switches rendered and written; no hosts, no tables.
OURS = """
import pathlib, sys, time
from fabricc.back import nos
from fabricc.compiler.compiled import compile_spec
def compiled(spec, folder):
    fabric = compile_spec(pathlib.Path(spec)).fabric
    for place in fabric.switch_ids():
        switch = fabric.switch(place)
        for text in nos.load(switch.nos).render(switch).values():
            with open(f"{folder}/{switch.name}.cfg", "w") as file:  # as the script of pyavd does
                file.write(text)
compiled("small.yaml", sys.argv[2])
begin = time.process_time()
compiled(sys.argv[1], sys.argv[2])
print(time.process_time() - begin)
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A peer and fabricc at the same work, each a process of its own.

    Attributes:
        switches: how many were compiled; `features`: what the peer's configurations have.
        theirs_s, ours_s: CPU seconds from reading the input to the last file, in a process that has compiled a small
            fabric before; netlab's is that of its whole process.
    """

    peer: str
    switches: int
    features: str
    theirs_s: float
    ours_s: float
    theirs: Figures
    ours: Figures

    @property
    def ratio(self) -> float:
        """Return how much more CPU the peer takes."""
        return self.theirs_s / self.ours_s


def install_peer(name: str, scratch: Path) -> Path:
    """The `bin` folder of the peer's virtual environment, made at the first call."""
    folder = scratch / f"venv-{name}"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", PEERS[name]]
        subprocess.run(pip, check=True)
        (folder / "ready").touch()
    return folder / "bin"


def against_pyavd(scratch: Path, runs: int) -> Comparison:
    """The switches of 4,096 GPUs: eBGP with BFD and policy on their links, QoS and buffers on every port."""
    folder = scratch / "peer-pyavd"
    (folder / "theirs").mkdir(parents=True, exist_ok=True)
    (folder / "inputs.json").write_text(json.dumps(avd.inputs(TORS, SPINES)), encoding="utf-8")
    (folder / "small.json").write_text(json.dumps(avd.inputs(1, 1)), encoding="utf-8")
    (folder / "avd.py").write_text(avd.SCRIPT, encoding="utf-8")
    python = install_peer("pyavd", scratch) / "python"
    theirs, theirs_s = _time_command([str(python), "avd.py", "inputs.json", "theirs"], folder, runs)
    ours, ours_s = _ours(folder, runs, Fabric(GPUS))
    features = "eBGP, BFD, route policy, PFC, ECN, buffers on every port"
    return Comparison("pyavd 6.4.0", TORS + SPINES, features, theirs_s, ours_s, theirs, ours)


def against_netlab(scratch: Path, runs: int) -> Comparison:
    """The switches of 1,024 GPUs, netlab without QoS, which it has not, and without text: only its data model."""
    folder = scratch / "peer-netlab"
    (folder / "theirs").mkdir(parents=True, exist_ok=True)
    names = [*(f"l{n}" for n in range(1, NETLAB_TORS + 1)), *(f"s{n}" for n in range(1, NETLAB_SPINES + 1))]
    parallel = HOST_PORTS // 2 // NETLAB_SPINES
    topology: dict[str, Any] = {
        "defaults": {"device": "eos", "const": {"MAX_NODE_ID": 10_000}},
        "provider": "clab",
        "module": ["bgp"],
        "nodes": {
            name: {"bgp": {"as": 65000 + index if name[0] == "l" else 64999}}
            for index, name in enumerate(names, 1)
        },
        "links": [
            f"l{tor}-s{spine}"
            for tor in range(1, NETLAB_TORS + 1)
            for spine in range(1, NETLAB_SPINES + 1)
            for _ in range(parallel)
        ],
    }
    (folder / "topology.yml").write_text(json.dumps(topology), encoding="utf-8")
    netlab = install_peer("netlab", scratch) / "netlab"
    theirs = repeat_command([str(netlab), "create", "-o", "pickle", "topology.yml"], folder, runs)
    ours, ours_s = _ours(folder, runs, Fabric(1024))
    return Comparison("netlab 26.10", len(names), "eBGP, data model only", theirs.cpu_s, ours_s, theirs, ours)


def _ours(folder: Path, runs: int, fabric: Fabric) -> tuple[Figures, float]:
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "cluster.yaml").write_text(fabric.spec(), encoding="utf-8")
    (folder / "small.yaml").write_text(SMALL.spec(), encoding="utf-8")
    (folder / "ours.py").write_text(OURS, encoding="utf-8")
    return _time_command([sys.executable, "ours.py", "cluster.yaml", "ours"], folder, runs)


def _time_command(command: list[str], folder: Path, runs: int) -> tuple[Figures, float]:
    """Figures of the whole process, and the CPU seconds that the script itself printed last, the least of the runs."""
    seconds, figures = [], []
    for _ in range(runs):
        figures.append(repeat_command(command, folder, 1))
        seconds.append(float((folder / "out.log").read_text().split()[-1]))
    return Figures.of(figures), min(seconds)
