"""A lab whose switches can be logged in to: sshd in every box, host keys known, and the push run beside them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.lab import lifecycle, observe
from fabricc.lab.blueprint import MANAGEMENT_NODE
from fabricc.lab.steady import Network
from fabricc.lab.trial import SETTLE_S
from tests.lab import specs
from tests.push.network import built

if TYPE_CHECKING:
    from fabricc.lab.running import Lab
    from fabricc.push.source import Source

LEFT_ALONE = (
    "interfaces",
    "hostname",
    "sysctl.conf",
    "daemons",
    "resolv.conf",
    "timesyncd.conf",
    "rsyslog.conf",
    "lldpd.conf",
)
"""Files outside a box's own /etc/frr: those of the machine must not change."""
SSHD = """\
ListenAddress {address}
HostKey /etc/frr/ssh/host
AuthorizedKeysFile /etc/frr/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile /run/sshd.pid
"""


@dataclass
class Live:
    """The running lab, the tree of its spec, and how to push to it."""

    folder: Path
    spec: Path
    text: str
    source: Source
    network: Network

    @property
    def lab(self) -> Lab:
        return self.network.lab

    @staticmethod
    def start(folder: Path) -> Live:
        spec = specs.two_tiers(folder / "spec")
        spec.write_text(spec.read_text().replace("nos: frr", "nos: frr-8.4"))
        source = built(spec, folder / "out")
        lab, planned = lifecycle.up(spec, folder / "lab")
        live = Live(folder, spec, spec.read_text(), source, Network.of(lab, planned.fabric))
        live.settle()
        live._open_doors()
        return live

    def settle(self) -> None:
        """Wait for every planned route in every kernel."""
        assert observe.settle(self.lab, self.network.predict(), SETTLE_S) is not None

    def _open_doors(self) -> None:
        key = self.folder / "key"
        _keygen(key)
        known = []
        for name, device in self.source.devices.items():
            place = self.lab.box(name) / "etc" / "frr" / "ssh"
            place.mkdir()
            _keygen(place / "host")
            (place / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
            (place / "sshd_config").write_text(SSHD.format(address=device.address))
            known.append(f"{device.address} {' '.join((place / 'host.pub').read_text().split()[:2])}")
            ran = self.lab.run(
                name, ["sh", "-c", "mkdir -p /run/sshd; /usr/sbin/sshd -f /etc/frr/ssh/sshd_config"]
            )
            assert ran.returncode == 0, ran.stderr
        (self.folder / "known_hosts").write_text("\n".join(known) + "\n")
        files = ", ".join(f"{name}: null" for name in LEFT_ALONE)
        (self.spec.parent / "fabricc-access.yaml").write_text(
            f"username: root\nssh_key: {key}\nknown_hosts: {self.folder / 'known_hosts'}\ntimeout_s: 20\n"
            f"options: {{system_host_keys: false, private_dir: /etc/frr/napalm, files: {{{files}}}}}\n"
        )

    def edit(self, lines: str) -> None:
        """Another state of the spec, built."""
        self.spec.write_text(self.text + lines + "\n")
        self.source = built(self.spec, self.folder / "out")

    def begin(self, *options: str) -> subprocess.Popen[str]:
        """Start `fabricc push` in the management namespace."""
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
            "--journal",
            str(self.folder / "journal.sqlite"),
            "--keep",
            "50%",
        ]
        words += ["--settle", "40", "--drain-wait", "2", "--confirm-within", "60", *options]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    def push(self, *options: str) -> tuple[int, str]:
        """Run it to its end: exit status, and what it said."""
        process = self.begin(*options)
        out, err = process.communicate(timeout=600)
        return process.returncode, out + err

    def states(self) -> dict[str, str]:
        """What the journal says of the latest run; nothing while it is being made."""
        place = f"file:{self.folder / 'journal.sqlite'}?mode=ro"
        query = "SELECT name, state FROM device WHERE run=(SELECT max(id) FROM run)"
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(place, uri=True)) as base:
            return dict(base.execute(query).fetchall())
        return {}

    def runs(self, name: str) -> str:
        """The running configuration, past the push."""
        return self.lab.run(name, ["vtysh", "-c", "show running-config"]).stdout


def _keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
