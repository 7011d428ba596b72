"""A lab whose switches accept logins, and the push that runs against them."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.operate.lab import growth, lifecycle, making, observe
from fabricc.operate.lab.making import management_port
from fabricc.operate.lab.node import MANAGEMENT_NODE
from fabricc.operate.lab.scenarios import SETTLE_S
from fabricc.operate.lab.steady import Network
from tests.operate.lab import specs
from tests.operate.push.network import SIMULATED, build_spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.operate.lab.running import Lab
    from fabricc.operate.push.built_tree import BuiltTree

PRIVATE = "/var/lib/napalm-frr"
"""The driver's folder: here a small file system of its own, for tests of a full disk."""
SMALL = f"mkdir -m 700 -p {PRIVATE}; mount -t tmpfs -o size=8m,mode=700 tmpfs {PRIVATE}"


@dataclass
class Live:
    """The running lab, the tree of its spec, and how to push to it."""

    folder: Path
    spec: Path
    text: str
    source: BuiltTree
    network: Network

    @property
    def lab(self) -> Lab:
        return self.network.lab

    @staticmethod
    def start(folder: Path, hosts: int = 4, gpus: str = "", tors: str = "uplinks: 2") -> Live:
        """Boot it; `gpus` in the place of that many hosts, `tors` in that of their two uplinks."""
        spec = specs.two_tiers(folder / "spec", hosts)
        text = spec.read_text().replace("nos: frr", "nos: frr-8.4").replace("uplinks: 2", tors)
        spec.write_text(re.sub("(?m)^gpus: .*$", f"gpus: {gpus}", text) if gpus else text)
        source = build_spec(spec, folder / "out")
        lab, planned = lifecycle.boot_lab(spec, folder / "lab", ssh=True)
        live = Live(folder, spec, spec.read_text(), source, Network.of(lab, planned.fabric))
        live.settle()
        live._small_disks(source.devices)
        live.access()
        return live

    def settle(self) -> None:
        """Wait for every planned route in every kernel."""
        assert observe.wait_until_settled(self.lab, self.network.predict(), SETTLE_S) is not None

    def grow(self, hosts: int) -> None:
        """More units: what is new is wired and booted, what was there before runs on as it did."""
        self.spec.write_text(re.sub("hosts: [0-9]+", f"hosts: {hosts}", self.text, count=1))
        self.source = build_spec(self.spec, self.folder / "out")
        known = set(self.lab.record.switches)
        step = growth.plan_step(self.network, self.spec, None)
        growth.add_cables(step)
        self.network = step.after
        self._small_disks(name for name in self.source.devices if name not in known)

    def _small_disks(self, names: Iterable[str]) -> None:
        for name in names:
            # From outside: a switch of a lab has no right to mount.
            words = ["nsenter", "-t", str(self.lab.process(name)), "-m", "sh", "-c", SMALL]
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr

    def doors(self, name: str) -> Path:
        """The folder of a switch's sshd, as this machine sees it."""
        return Path(f"/proc/{self.lab.process(name)}/root/etc/fabricc-lab")

    def access(self, timeout_s: int = 20, devices: dict[str, Any] | None = None) -> None:
        """Write the access file: the lab's own, with exceptions by device."""
        stated = yaml.safe_load((self.lab.folder / making.FOLDER / making.ACCESS).read_text())
        own = {
            name: {**entry, "options": {**stated["options"], **entry["options"]}}
            for name, entry in (devices or {}).items()
        }
        stated |= {"timeout_s": timeout_s, "devices": own}
        (self.spec.parent / "fabricc-access.yaml").write_text(yaml.safe_dump(stated))

    def edit(self, lines: str) -> None:
        """Another state of the spec, built."""
        self.spec.write_text(self.text + lines + "\n")
        self.source = build_spec(self.spec, self.folder / "out")

    def begin(self, *options: str, machine: str = "") -> subprocess.Popen[str]:
        """Start `fabricc push` in the management namespace; `machine` names one with a journal of its own."""
        words = [
            "ip",
            "netns",
            "exec",
            self.lab.record.namespace(MANAGEMENT_NODE),
            sys.executable,
            "-m",
            "fabricc",
        ]
        words += [
            "push",
            str(self.source.tree),
            "--access",
            str(self.spec.with_name("fabricc-access.yaml")),
            "--journal",
            str(self.folder / f"journal{machine}.sqlite"),
            "--keep",
            "50%",
        ]
        words += ["--settle", "40", "--drain-wait", "2", "--confirm-within", "60", *options]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{SIMULATED}:{SIMULATED.parents[3]}",
            "XDG_STATE_HOME": str(self.folder / f"state{machine}"),
        }
        return subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def management(self, name: str, state: str) -> None:
        """Set the link of a switch's management port `up` or `down`, at the far end."""
        bridge = self.lab.record.namespace(MANAGEMENT_NODE)
        subprocess.run(["ip", "-n", bridge, "link", "set", management_port(name), state], check=True)

    def push(self, *options: str, machine: str = "") -> tuple[int, str]:
        """Run it to its end; return the exit status and the output."""
        process = self.begin(*options, machine=machine)
        out, err = process.communicate(timeout=600)
        return process.returncode, out + err

    def states(self) -> dict[str, str]:
        """Return the journal's state of the latest run; empty while it is being created."""
        place = f"file:{self.folder / 'journal.sqlite'}?mode=ro"
        query = "SELECT name, state FROM device WHERE run=(SELECT max(id) FROM run)"
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(place, uri=True)) as base:
            return dict(base.execute(query).fetchall())
        return {}

    def runs(self, name: str) -> str:
        """The running configuration, past the push."""
        return self.lab.run(name, ["vtysh", "-c", "show running-config"]).stdout
