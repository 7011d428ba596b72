"""Runs real FRR daemons for one switch inside a network namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fabricc.back.nos.frr import FRR
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabricc.fabric.model import Switch

DAEMONS = Path("/usr/lib/frr")
LIMIT_S = 20


def why_missing() -> str | None:
    """Why FRR cannot be run here; None when it can."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    absent = [tool for tool in ("ip", "vtysh", "unshare") if shutil.which(tool) is None]
    absent += [
        name
        for name in ("zebra", "staticd", "bgpd", "bfdd", "frr-reload.py")
        if not (DAEMONS / name).exists()
    ]
    if absent:
        return f"not installed: {', '.join(absent)} (packages frr and frr-pythontools)"
    probe = subprocess.run(
        ["unshare", "--net", "--uts", "true"], capture_output=True, timeout=LIMIT_S, check=False
    )
    return None if probe.returncode == 0 else "the kernel refuses network namespaces"


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Poll until true; False when the limit passes first."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


class Box:
    """One switch: a namespace, its ports, and zebra, staticd, bfdd and bgpd; `close` always removes all of it."""

    def __init__(self, switch: Switch, name: str) -> None:
        self.switch = replace(switch, release="8.4")  # the oldest, which states the most
        self.name = name
        self.folders = [Path("/etc/frr") / name, Path("/var/run/frr") / name]
        self.files = FRR.render(self.switch)
        self.children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._host(["ip", "netns", "add", self.name])
            self._sysctls()
            for folder in self.folders:
                folder.mkdir(parents=True)
                shutil.chown(folder, "frr", "frr")
            self.write("frr.conf", self.files["frr.conf"])
            self.write("vtysh.conf", "service integrated-vtysh-config\n")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def conf(self) -> Path:
        return self.folders[0] / "frr.conf"

    def write(self, file: str, text: str) -> None:
        path = self.folders[0] / file
        path.write_text(text)
        path.chmod(0o640)
        shutil.chown(path, "frr", "frr")

    def cable_rest(self, cabled: Sequence[str] = ()) -> None:
        """Give each port that has no cable a far end inside the namespace, then bring everything up."""
        lines = ["link set lo up"]
        for index, port in enumerate(self.switch.ports):
            if port.name not in cabled:
                lines.append(f"link add name {port.name} type veth peer name far{index}")
                lines.append(f"link set far{index} up")
            if port.direction is not Direction.UNUSED:
                lines.append(f"link set {port.name} mtu {port.mtu}")
            if port.enabled:
                lines.append(f"link set {port.name} up")
        lines += [f"addr add {a} dev lo" for a in self.loopbacks()]
        batch = ["ip", "-n", self.name, "-batch", "-"]
        self._host(batch, "\n".join(lines) + "\n")

    def loopbacks(self) -> list[str]:
        four, six = self.switch.loopback4, self.switch.loopback6
        return [f"{a}/{n}" for a, n in ((four, 32), (six, 128)) if a]

    def start(self) -> None:
        """Start the daemons as children of this process, each when the one before it is ready."""
        for daemon in ("zebra", "staticd", "bfdd", "bgpd"):
            command = [str(DAEMONS / daemon), "-N", self.name, "-P", "0", "--limit-fds", "1024"]
            quiet = subprocess.DEVNULL
            child = subprocess.Popen(self._inside(command), stdin=quiet, stdout=quiet, stderr=quiet)
            self.children.append(child)
            ready = self.folders[1] / f"{daemon}.vty"
            if not wait_until(ready.exists, LIMIT_S) or child.poll() is not None:
                raise RuntimeError(f"{daemon} of {self.name} did not start")

    def load(self) -> str:
        """Load `frr.conf` as at boot; return the whole output of vtysh."""
        result = self.run(["vtysh", "-N", self.name, "-b"], check=False)
        return result.stdout + result.stderr + (f"rc {result.returncode}" if result.returncode else "")

    def vtysh(self, *commands: str) -> str:
        return self.run(["vtysh", "-N", self.name, *(word for c in commands for word in ("-c", c))]).stdout

    def show(self, command: str) -> Any:
        return json.loads(self.vtysh(f"show {command} json") or "{}")

    def reload_differences(self) -> str:
        """Return what frr-reload would change of the running configuration, log lines left out."""
        script = [str(DAEMONS / "frr-reload.py"), "-N", self.name, "--test", "--stdout", str(self.conf)]
        output = self.run(script).stdout
        return "\n".join(line for line in output.splitlines() if line.strip() and " INFO: " not in line)

    def run(self, command: list[str], check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command where the switch is: its namespace, and its host name."""
        return self._host(self._inside(command), check=check)

    def _inside(self, command: list[str]) -> list[str]:
        named = ["sh", "-c", 'hostname "$0" && exec "$@"', self.switch.name, *command]
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", *named]

    def close(self) -> None:
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(LIMIT_S)
        self._host(["ip", "netns", "del", self.name], check=False)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _sysctls(self) -> None:
        """Apply `sysctl.conf`; neighbor thresholds belong to the machine and are not changed."""
        lines = [line for line in self.files["sysctl.conf"].splitlines() if "gc_thresh" not in line]
        lines += [f"net.ipv6.conf.default.{key} = 0" for key in ("accept_dad", "dad_transmits")]
        self._host(["ip", "netns", "exec", self.name, "sysctl", "-q", "-p", "-"], "\n".join(lines) + "\n")

    @staticmethod
    def _host(
        command: list[str], text: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        if check and (result.returncode or "sysctl:" in result.stderr):
            raise RuntimeError(f"{command}: rc {result.returncode}: {result.stdout}{result.stderr}")
        return result


def lay_cable(a: Box, a_port: str, b: Box, b_port: str) -> None:
    """Lay one cable between two boxes."""
    ends = [
        "link",
        "add",
        "name",
        a_port,
        "netns",
        a.name,
        "type",
        "veth",
        "peer",
        "name",
        b_port,
        "netns",
        b.name,
    ]
    subprocess.run(["ip", *ends], check=True, timeout=LIMIT_S)
