"""A Linux switch behind SSH: the driver's shell commands really run, in a folder, with stand-ins for its programs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.operate.drivers.servers.counted import Counted
from tests.operate.drivers.servers.device import Device
from tests.operate.drivers.servers.faults import Faults
from tests.operate.drivers.servers.ssh import ssh_server
from tests.operate.drivers.servers.web import HOST, Drop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import paramiko
    import pytest

USER, PASSWORD = "admin", "linux pässword"
_PROGRAMS = (
    "config",
    "show",
    "docker",
    "vtysh",
    "nv",
    "redis-dump",
    "sonic-cfggen",
    "systemctl",
    "sudo",
    "id",
    "ps",
)


@dataclass(slots=True)
class LinuxSwitch:
    """A running switch.

    Attributes:
        root: its folder; `running.json` and `frr` are what it runs, `startup` and `etc/sonic` what it boots from.
        neighbors: returns the established sessions, neighbor -> received prefixes; None where a test writes answers.
        counted: its counters and alarms.
        requests: how many commands it has run.
        silence: where it is set, no command is answered until the event.
    """

    device: Device
    root: Path
    faults: Faults = field(default_factory=Faults)
    neighbors: Callable[[], dict[str, int]] | None = None
    counted: Counted = field(default_factory=Counted)
    requests: int = 0
    silence: threading.Event | None = None

    def text(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def serve(self, channel: paramiko.Channel, command: str) -> None:
        """Run a command as sshd would, with the switch's own folders in place of the machine's."""
        if self.silence:
            self.silence.wait()
            raise Drop
        self.requests += 1
        commits = ("sonic_agent.py apply ", "nv config apply -y")
        drop = ""
        if any(one in command for one in commits):
            drop, self.faults.drop_commit = self.faults.drop_commit, ""
        given = bytearray()
        while part := channel.recv(65536):
            given += part
        if drop == "before":
            raise Drop
        if self.faults.banner:
            channel.sendall(self.faults.banner.encode())
        words = [
            name for name in ("reject", "fail_commit", "disk_full", "old_frr") if getattr(self.faults, name)
        ]
        faults = self.root / f"faults.{threading.get_ident()}"
        faults.write_text(" ".join([*words, *self.faults.updater, *self.faults.nvue]))
        faults.replace(self.root / "faults")
        (self.root / "planted").write_text("\n".join(self.faults.planted))
        (self.root / "counted.json").write_text(json.dumps(asdict(self.counted)))
        if self.neighbors and "summary json" in command:
            self.tell()
        here, kept = os.fsencode(self.root / "etc/sonic"), os.fsencode(f"{self.root}/lib/")
        environment = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "SWITCH_ROOT": str(self.root),
            "HOME": str(self.root / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.root / "lib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            ["sh", "-c", command.encode().replace(b"/etc/sonic", here).replace(b"/var/lib/", kept)],
            input=bytes(given).replace(b"/etc/sonic", here),
            capture_output=True,
            env=environment,
            check=False,
        )
        if drop == "after":
            raise Drop
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        channel.send_exit_status(done.returncode)

    def tell(self) -> None:
        """Write what FRR answers of sessions and routes."""
        neighbors = self.neighbors() if self.neighbors else {}
        peers = {
            name: {"state": "Established", "remoteAs": 65002, "pfxRcd": count, "pfxSnt": 0}
            for name, count in neighbors.items()
        }
        reported = {"default": {"ipv4Unicast": {"routerId": "192.0.2.1", "as": 65001, "peers": peers}}}
        folder = self.root / "vtysh"
        folder.mkdir(exist_ok=True)
        (folder / "show_bgp_vrf_all_summary_json").write_text(json.dumps(reported))
        hop = {"ip": "192.0.2.1", "fib": True, "active": True}
        routes = {
            prefix: [{"prefix": prefix, "protocol": "bgp", "selected": True, "nexthops": [hop] * hops}]
            for prefix, hops in self.counted.routes.items()
        }
        for name, reported in (
            ("bgp_vrf_all_neighbors", {"default": {}}),
            ("ip_route", routes),
            ("ipv6_route", {}),
        ):
            (folder / f"show_{name}_json").write_text(json.dumps(reported))


def lose_once(patch: pytest.MonkeyPatch, words: str, when: str) -> list[str]:
    """Break the connection `before` or `after` the next command with these words; return a list, empty once it did."""
    usual, drops = LinuxSwitch.serve, [when]

    def serve(switch: LinuxSwitch, channel: paramiko.Channel, command: str) -> None:
        if words in command and drops:
            switch.faults.drop_commit = drops.pop()
            command = f": nv config apply -y; {command}"
        usual(switch, channel, command)

    patch.setattr(LinuxSwitch, "serve", serve)
    return drops


@contextlib.contextmanager
def linux_switch(folder: Path, driver: str, running: str, frr: str = "") -> Iterator[LinuxSwitch]:
    """Start a switch of the driver `sonic` or `cumulus` that runs a configuration."""
    root = folder / "switch"
    (root / "etc/sonic/frr").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "home").mkdir()
    for name in _PROGRAMS:
        script = root / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$0.py" "$@"\n')
        script.chmod(0o755)
        module = "nvue_tools" if name == "nv" else "linux_tools"
        function = f"run_{name.replace('-', '_')}"
        # The module is compiled once; a copy of it would be compiled by each command.
        Path(f"{script}.py").write_text(
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            f"from {module} import {function}\n{function}(sys.argv[1:])\n"
        )
    updater = root / "lib/generic_config_updater"
    updater.mkdir(parents=True)
    (updater / "__init__.py").write_text("")
    (updater / "gu_common.py").write_text(Path(__file__).with_name("sonic_updater.py").read_text())
    for name, text in (
        ("running.json", running),
        ("frr", frr),
        ("etc/sonic/frr/frr.conf", frr),
        ("startup", running),
        ("etc/sonic/config_db.json", running),
    ):
        (root / name).write_text(text)
    (root / "revisions").mkdir()
    (root / "revisions" / "1").write_text(running)
    switches: list[LinuxSwitch] = []

    def allowed(user: str, password: str) -> bool:
        return (user, password) == (USER, PASSWORD) and not switches[0].faults.refuse_login

    with ssh_server(folder, allowed, {"exec": lambda *rest: switches[0].serve(*rest)}) as (port, known):
        options = {"port": port, "alt_key_file": str(known), "system_host_keys": False, "sudo": False}
        switches.append(LinuxSwitch(Device(driver, HOST, USER, PASSWORD, options), root))
        yield switches[0]


@contextlib.contextmanager
def run_process(switch: LinuxSwitch, *words: str) -> Iterator[None]:
    """Run a process of the switch with these words at the end of its command line."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", *words]
    environment = os.environ | {"SWITCH_ROOT": str(switch.root)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as running:
        yield
        assert running.poll() is None
