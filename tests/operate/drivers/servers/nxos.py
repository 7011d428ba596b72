"""A device that speaks Cisco's NX-API (JSON-RPC over HTTPS), with SCP and a terminal over SSH."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.operate.drivers.servers import nxos_shows
from tests.operate.drivers.servers.counted import Counted
from tests.operate.drivers.servers.device import Device
from tests.operate.drivers.servers.faults import Faults
from tests.operate.drivers.servers.ssh import ssh_server
from tests.operate.drivers.servers.web import HOST, Drop, web_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import paramiko

USER, PASSWORD = "admin", "nxos pässword"
_REPLACE = re.compile(r"configure replace bootflash:(\S+)(?: (verify-only|show-patch|commit-timeout (\d+)))?")


_SPACE = "  1000 bytes used\n  90000000 bytes free\n  90001000 bytes total\n"


@dataclass(slots=True)
class NxosSwitch:
    """Running and startup configuration, files of bootflash.

    Attributes:
        second: how long a second of `commit-timeout` lasts here, in seconds.
        waiting: what ran before a commit that waits for confirmation, and when its time is over.
        neighbors: tells the sessions that are up, neighbour -> prefixes received.
        counted: what it counts and complains of.
    """

    device: Device
    running: str = "hostname old\n"
    startup: str = "hostname saved\n"
    files: dict[str, str] = field(default_factory=dict)
    waiting: tuple[str, float] | None = None
    second: float = 1.0
    faults: Faults = field(default_factory=Faults)
    neighbors: Callable[[], dict[str, int]] = dict
    counted: Counted = field(default_factory=Counted)
    _turn: threading.RLock = field(default_factory=threading.RLock)

    def answer(self, path: str, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One request of NX-API: a list of commands."""
        answers = []
        with self._turn:
            if self.waiting and time.monotonic() > self.waiting[1]:
                self.running, self.waiting = self.waiting[0], None
            for one in asked:
                command = one["params"]["cmd"]
                if (body := self._table(command)) is not None:
                    answers.append({"jsonrpc": "2.0", "id": one["id"], "result": {"body": body}})
                    continue
                said = self._run(command)
                answer: dict[str, Any] = {"jsonrpc": "2.0", "id": one["id"]}
                if said is None:
                    error = {
                        "code": -32602,
                        "message": "Invalid params",
                        "data": {"msg": "% Invalid command\n"},
                    }
                    answers.append({**answer, "error": error})
                    break
                answers.append({**answer, "result": {"msg": said} if said else None})
        return answers

    def _table(self, command: str) -> dict[str, Any] | None:
        """The JSON of a command that has any."""
        if command == "show bgp all summary vrf all":
            return self._summary()
        show = nxos_shows.SHOWS.get(command)
        return show(self.counted) if show and not self.counted.refuses(command) else None

    def _summary(self) -> dict[str, Any]:
        peers = [
            {"neighborid": name, "neighboras": "65002", "state": "Established", "prefixreceived": str(count)}
            for name, count in self.neighbors().items()
        ]
        saf = {"ROW_saf": {"safi": "1", "TABLE_neighbor": {"ROW_neighbor": peers}}}
        vrf = {"vrf-name-out": "default", "vrf-router-id": "192.0.2.1", "vrf-local-as": "65001"}
        family = {"ROW_af": {"af-id": "1", "TABLE_saf": saf}}
        return {"TABLE_vrf": {"ROW_vrf": {**vrf, "TABLE_af": family}}}

    def _run(self, text: str) -> str | None:
        if match := _REPLACE.fullmatch(text):
            return self._replace(match)
        verbs: list[tuple[str, Callable[[str], str]]] = [
            ("terminal dont-ask", lambda _: ""),
            ("no terminal dont-ask", lambda _: ""),
            ("show hostname", lambda _: "switch"),
            ("show running-config", lambda _: f"!Command: show running-config\n{self.running}"),
            ("show startup-config", lambda _: f"!Command: show startup-config\n{self.startup}"),
            ("show config-replace status", self._status),
            ("configure replace commit", self._confirm),
            ("checkpoint file ", self._checkpoint),
            ("rollback running-config file ", self._rollback),
            ("delete ", lambda name: self.files.pop(name, "") and ""),
            ("dir ", lambda name: name if name in self.files else "No such file or directory"),
            ("copy run startup-config", self._save),
        ]
        for verb, serve in verbs:
            if text.startswith(verb):
                return serve(text[len(verb) :])
        return None

    def _replace(self, match: re.Match[str]) -> str:
        wanted = self.files[match[1]]
        if match[2] == "verify-only":
            bad = "bogus" in wanted or self.faults.reject
            planted = [one for one in self.faults.planted if one in map(str.strip, wanted.splitlines())]
            if planted:
                lines = "".join(f"{one}\n% Invalid command at '^' marker.\n" for one in planted)
                return f"Verification patch contains the following commands:\n!\n{lines}Patch validation failed\n"
            said = "failed: % Invalid command: neighbor 192.0.2.1 password S3CRET" if bad else "successful"
            return (
                f"Verification patch contains the following commands:\n!\nPatch validation completed {said}\n"
            )
        if match[2] == "show-patch":
            old, new = self.running.splitlines(), wanted.splitlines()
            lines = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
            patch = [f"no {line[2:]}" if line[0] == "-" else line[2:] for line in lines]
            return "\n".join(
                ["Collecting Running-Config", "Converting to checkpoint file", "!!", *patch, "!"]
            )
        if self.faults.drop_commit == "before":
            raise Drop
        if self.faults.fail_commit:
            return "Configure replace failed: password S3CRET. The original configuration is restored\n"
        before, self.running = self.running, wanted
        if match[3]:
            self.waiting = (before, time.monotonic() + int(match[3]) * self.second)
        if self.faults.drop_commit == "after":
            raise Drop
        return "Configure replace completed successfully. Please run 'show config-replace log exec' to see details\n"

    def _status(self, rest: str) -> str:
        left = (
            f"Commit timer: time remaining {self.waiting[1] - time.monotonic():.0f} seconds\n"
            if self.waiting
            else ""
        )
        return f"Last operation : Rollback to file\nOperation Status: Success\n{left}"

    def _confirm(self, rest: str) -> str:
        self.waiting = None
        return ""

    def _checkpoint(self, name: str) -> str:
        if self.faults.disk_full:
            return "ERROR: No space left on device"
        self.files[name] = self.running
        return "Done"

    def _rollback(self, name: str) -> str:
        self.running = self.files[name]
        return "Rollback completed successfully."

    def _save(self, rest: str) -> str:
        self.startup = self.running
        return "Copy complete."

    def copy_in(self, channel: paramiko.Channel, command: str) -> None:
        """The far end of `scp -t`."""
        channel.sendall(b"\0")
        header = b""
        while not header.endswith(b"\n"):
            header += channel.recv(1)
        size, name = int(header.split()[1]), command.split(":")[-1].strip("'\"/")
        channel.sendall(b"\0")
        content = b""
        while len(content) < size + 1:
            content += channel.recv(size + 1 - len(content))
        if self.faults.disk_full:
            channel.sendall(b"\x02scp: No space left on device\n")
        else:
            self.files[name] = content[:-1].decode()
            channel.sendall(b"\0")
        channel.send_exit_status(0)

    def terminal(self, channel: paramiko.Channel, command: str) -> None:
        """A terminal that echoes, answers, and shows its prompt."""
        channel.sendall(b"\r\nswitch# ")
        line = b""
        while byte := channel.recv(1):
            if byte not in b"\r\n":
                line += byte
            elif byte == b"\n":
                said = self._typed(line.decode().strip())
                channel.sendall(line + b"\r\n" + said.replace("\n", "\r\n").encode() + b"switch# ")
                line = b""

    def _typed(self, text: str) -> str:
        words = text.replace("bootflash:", "").strip("/").split()
        if words[:1] == ["dir"]:
            name = words[1].strip("/") if len(words) > 1 else ""
            if name and name not in self.files:
                return "No such file or directory\n"
            shown = "".join(
                f"  {len(body.encode())}    Jan 01 00:00:00 2026  {file}\n"
                for file, body in self.files.items()
            )
            return f"{shown}\nUsage for bootflash://sup-local\n{_SPACE}"
        if words[:2] == ["show", "file"]:
            return hashlib.md5(self.files[words[2]].encode()).hexdigest() + "\n"
        return ""


@contextlib.contextmanager
def nxos_switch(folder: Path) -> Iterator[NxosSwitch]:
    """Start a switch; its configuration and faults can be read and set while it runs."""
    running: list[NxosSwitch] = []

    def allowed(user: str, password: str) -> bool:
        return (user, password) == (USER, PASSWORD) and not running[0].faults.refuse_login

    handlers = {
        "exec": lambda *rest: running[0].copy_in(*rest),
        "shell": lambda *rest: running[0].terminal(*rest),
    }
    with (
        web_server(folder, allowed, lambda path, asked: running[0].answer(path, asked)) as (
            port,
            certificate,
        ),
        ssh_server(folder, allowed, handlers) as (ssh_port, known),
    ):
        options = {"port": port, "ssl_verify": str(certificate), "ssh_port": ssh_port}
        options |= {"alt_key_file": str(known), "system_host_keys": False}
        running.append(NxosSwitch(Device("fabricc_nxos", HOST, USER, PASSWORD, options)))
        yield running[0]
