"""FRR's bfdd at both ends of a cable between two network namespaces, one of which has the packet filter of a switch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.back.nos.frr.namespaces import DAEMONS, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_S = 20
CONFIGURATION = """bfd
 peer {far} local-address {own} interface {port}
  no shutdown
 exit
exit
"""


def why_missing() -> str | None:
    """Why such a link cannot be made here; None when it can."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    absent = [tool for tool in ("ip", "vtysh", "iptables", "ip6tables") if shutil.which(tool) is None]
    absent += [name for name in ("zebra", "bfdd") if not (DAEMONS / name).exists()]
    return f"not installed: {', '.join(absent)} (packages frr and iptables)" if absent else None


class BfdLink:
    """A cable with bfdd at both ends; `close` always removes all of it.

    Args:
        port: name of the port of the switch.
        own, far: addresses with prefix length of the switch and of its neighbor.
        filters: commands of iptables and ip6tables that the switch has run before bfdd starts.
    """

    def __init__(self, port: str, own: str, far: str, filters: Sequence[str]) -> None:
        self.names = (f"fabricc-bfd-a{os.getpid()}", f"fabricc-bfd-b{os.getpid()}")
        self.port, self.addresses, self.filters = port, (own, far), filters
        self.children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            for name in self.names:
                self._run("ip", "netns", "add", name)
                self._run("ip", "-n", name, "link", "set", "lo", "up")
            peer = ("peer", "name", self.port, "netns", self.names[1])
            self._run("ip", "-n", self.names[0], "link", "add", self.port, "type", "veth", *peer)
            for name, address in zip(self.names, self.addresses, strict=True):
                self._run("ip", "-n", name, "address", "add", address, "dev", self.port)
                self._run("ip", "-n", name, "link", "set", self.port, "up")
            script = "\n".join(self.filters)
            self._run("ip", "netns", "exec", self.names[0], "sh", "-e", "-c", script)
            for name, own, far in zip(self.names, self.addresses, reversed(self.addresses), strict=True):
                self._start(name, own.partition("/")[0], far.partition("/")[0])
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the daemons and remove namespaces and files."""
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(LIMIT_S)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=LIMIT_S, check=False)
            for folder in (Path("/etc/frr") / name, Path("/var/run/frr") / name):
                shutil.rmtree(folder, ignore_errors=True)

    def comes_up(self) -> bool:
        """Return whether the session is up at both ends before a limit, or before the filter has dropped packets."""
        wait_until(lambda: self._is_up() or self.dropped() >= 5, LIMIT_S)
        return self._is_up()

    def dropped(self) -> int:
        """Return the packets that the filter of the switch has dropped."""
        listed = "".join(
            self._run("ip", "netns", "exec", self.names[0], program, "-nvxL", "INPUT")
            for program in ("iptables", "ip6tables")
        )
        rows = [line.split() for line in listed.splitlines()]
        return sum(int(row[0]) for row in rows if len(row) > 2 and row[2] == "DROP")

    def _is_up(self) -> bool:
        states = []
        for name in self.names:
            command = ["vtysh", "-N", name, "-d", "bfdd", "-c", "show bfd peers json"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            try:
                states += [peer.get("status") for peer in json.loads(done.stdout)]
            except ValueError:  # the daemon has no socket yet
                return False
        return states == ["up", "up"]

    def _start(self, name: str, own: str, far: str) -> None:
        etc, run = Path("/etc/frr") / name, Path("/var/run/frr") / name
        for folder in (etc, run):
            folder.mkdir(parents=True)
            shutil.chown(folder, "frr", "frr")
        (etc / "vtysh.conf").write_text("")
        (etc / "zebra.conf").write_text("")
        (etc / "bfdd.conf").write_text(CONFIGURATION.format(own=own, far=far, port=self.port))
        for daemon in ("zebra", "bfdd"):
            words = [str(DAEMONS / daemon), "-N", name, "-A", "127.0.0.1", "-f", str(etc / f"{daemon}.conf")]
            child = subprocess.Popen(
                ["ip", "netns", "exec", name, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self.children.append(child)
            wait_until((run / f"{daemon}.vty").exists, LIMIT_S)

    @staticmethod
    def _run(*words: str) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, f"{' '.join(words)[:300]}: {done.stderr}"
        return done.stdout
