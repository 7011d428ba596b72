"""A device that speaks Cisco's NX-API (JSON-RPC over HTTPS), with SCP and a terminal over SSH.

Answers to `configure replace` have the form of a published transcript of 9.3(1), the log that of Cisco's NX-API CLI
reference, the status that of "Performing Configuration Replace". Assumed are the line of the commit timer, the status
of a replace that runs, and the words after a failure.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.operate.drivers.servers import nxos_patch, nxos_shows
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
FRAME = """\
version 10.4(3) Bios:version 05.51
vdc spine01a id 1
  limit-resource vlan minimum 16 maximum 4094
username admin password 5 $5$ADMIN  role network-admin
snmp-server user admin network-admin auth md5 0x1 priv aes-128 0x2 localizedV2key
rmon event 1 log trap public description FATAL(1) owner PMON@FATAL
vlan 1
boot nxos bootflash:/nxos64-cs.10.4.3.F.bin
"""
"""Lines that every switch prints of itself, as in published running configurations of 9.3 to 10.4."""
_REPLACE = re.compile(r"configure replace bootflash:(\S+)(?: (verify-only|show-patch|commit-timeout (\d+)))?")


_HEADER = "!Command: show running-config\n!Time: Fri May 16 09:05:38 2025\n\n"
_RULE = "=" * 56 + "\n"
_CHECKED = "Version match between user file and running configuration.\nPre-check for User config PASSED\n"
_COLLECTED = "Collecting Running-Config\nConverting to checkpoint file\nGenerating Rollback Patch\n"
_ADVISORY = (
    "ADVISORY: Config Replace operation started...\nModifying running configuration from another VSH terminal in "
    "parallel\nis not recommended, as this may lead to Config Replace failure.\n\nCollecting Running-Config\n"
    "Generating Rollback patch for switch profile\nRollback Patch is Empty\nCollecting Running-Config\n"
)
_EXECUTED = (
    "Generating Rollback Patch\nExecuting Rollback Patch\nDuring CR operation,will retain L3 configuration\nwhen vrf "
    "member change on interface\nGenerating Running-config for verification\nGenerating Rollback Patch\n\n"
)
_RESTORED = "Verification failed, Rolling back to previous configuration\n"
_SEE_LOG = (
    " Use 'show config-replace log verify' or 'show config-replace log exec' to see reasons for failure\n"
)
_SPACE = "  1000 bytes used\n  90000000 bytes free\n  90001000 bytes total\n"


@dataclass(slots=True)
class NxosSwitch:
    """Running and startup configuration, files of bootflash.

    Attributes:
        startup: what was saved; None on a new switch, which refuses to show it.
        second: how long a second of `commit-timeout` lasts here, in seconds.
        waiting: what ran before a commit that waits for confirmation, and when its time is over.
        doubted: commands that `verify-only` cannot parse, though the replace takes them.
        timer: how the status prints the commit timer; `kept_timer`: what it prints without one.
        kept_timer: see `timer`.
        overtaken: a user whose replace runs first; the next one is refused.
        slow_s: seconds that a replace takes; its answer is then lost.
        executed: the log of the last replace; `operations`: how many there were.
        operations: see `executed`.
        undone: the log of the last rollback.
        typed: configuration commands that were typed outside of a replace.
        neighbors: returns the established sessions, neighbor -> received prefixes.
        counted: its counters and alarms.
        requests: how many it has answered over NX-API.
        silence: where it is set, no request is answered until the event.
    """

    device: Device
    running: str = "hostname old\n"
    startup: str | None = "hostname saved\n"
    files: dict[str, str] = field(default_factory=dict)
    waiting: tuple[str, float] | None = None
    second: float = 1.0
    doubted: tuple[str, ...] = ()
    timer: str = "Commit timer: time remaining {left:.0f} seconds\n"
    kept_timer: str = ""
    overtaken: str = ""
    slow_s: float = 0.0
    executed: str = ""
    undone: str = ""
    operations: int = 0
    typed: list[str] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    neighbors: Callable[[], dict[str, int]] = dict
    counted: Counted = field(default_factory=Counted)
    requests: int = 0
    silence: threading.Event | None = None
    _turn: threading.RLock = field(default_factory=threading.RLock)

    def answer(self, path: str, requested: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One request of NX-API: a list of commands."""
        if self.silence:
            self.silence.wait()
            raise Drop
        answers = []
        with self._turn:
            self.requests += 1
            if self.waiting and time.monotonic() > self.waiting[1]:
                self.running, self.waiting = self.waiting[0], None
            for one in requested:
                command = one["params"]["cmd"]
                if (body := self._table(command)) is not None:
                    answers.append({"jsonrpc": "2.0", "id": one["id"], "result": {"body": body}})
                    continue
                output = self._run(command)
                answer: dict[str, Any] = {"jsonrpc": "2.0", "id": one["id"]}
                if output is None:
                    error = {
                        "code": -32602,
                        "message": "Invalid params",
                        "data": {"msg": "% Invalid command\n"},
                    }
                    answers.append({**answer, "error": error})
                    break
                answers.append({**answer, "result": {"msg": output} if output else None})
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
        verbs: list[tuple[str, Callable[[str], str | None]]] = [
            ("terminal dont-ask", lambda _: ""),
            ("no terminal dont-ask", lambda _: ""),
            ("show hostname", lambda _: "switch"),
            ("show running-config", lambda _: f"{_HEADER}{self.running}"),
            ("show startup-config", lambda _: self._show_startup()),
            ("show config-replace status", self._status),
            ("show config-replace log exec", lambda _: self.executed),
            ("show rollback log exec", lambda _: self.undone),
            ("show file bootflash:", lambda name: self.files.get(name)),
            ("configure terminal", lambda _: ""),
            ("interface ", lambda name: self._type(f"interface {name}")),
            ("no ipv6 nd suppress-ra", lambda _: self._type("no ipv6 nd suppress-ra")),
            ("configure replace commit", self._confirm),
            ("checkpoint file ", self._checkpoint),
            ("rollback running-config file ", self._rollback),
            ("delete ", lambda name: self.files.pop(name, "") and ""),
            ("dir ", lambda name: name if name in self.files else "No such file or directory"),
            ("copy running-config startup-config", self._save),
        ]
        for verb, serve in verbs:
            if text.startswith(verb):
                return serve(text[len(verb) :])
        return None

    def _show_startup(self) -> str | None:
        return None if self.startup is None else f"!Command: show startup-config\n{self.startup}"

    def _type(self, command: str) -> str:
        self.typed.append(command)
        return ""

    def _replace(self, match: re.Match[str]) -> str:
        wanted = self.files[match[1]]
        commands = nxos_patch.make_patch(self.running, nxos_patch.print_running(wanted))
        if match[2] == "verify-only":
            return self._verified(commands, wanted)
        if match[2] == "show-patch":
            listed = "".join(f"`{one}`\n" for one in commands) or "Rollback Patch is Empty\n"
            return f"{_CHECKED}{_COLLECTED}{listed}"
        if self.faults.drop_commit == "before":
            raise Drop
        if self.overtaken:
            self.running = "hostname theirs\n"
            self._log("theirs", [], "Success")
            self.executed = self.executed.replace(f"By  : {USER}", f"By  : {self.overtaken}")
            return "Another configure replace operation is in progress\n"
        if self.waiting:
            return "Configure replace failed: the commit timer is running\n"
        reason = nxos_patch.find_refusal(self.running, wanted) or (
            "a command failed" if self.faults.fail_commit else ""
        )
        if self.slow_s:
            self._log(match[1], commands, "")
            threading.Timer(self.slow_s, self._finish_late, (match, wanted, commands, reason)).start()
            raise Drop
        return self._finish(match, wanted, commands, reason)

    def _finish_late(self, *arguments: Any) -> None:
        with self._turn:
            self._finish(*arguments)

    def _finish(self, match: re.Match[str], wanted: str, commands: list[str], reason: str) -> str:
        self._log(match[1], commands, "Failed" if reason else "Success")
        if reason:
            return f"{_CHECKED}{_ADVISORY}{_RESTORED}Configure replace failed. password S3CRET: {reason}.{_SEE_LOG}"
        before, self.running = self.running, nxos_patch.print_running(wanted)
        if match[3]:
            self.waiting = (before, time.monotonic() + int(match[3]) * self.second)
        if self.faults.drop_commit == "after":
            raise Drop
        return (
            f"{_CHECKED}{_ADVISORY}{_EXECUTED}Configure replace completed successfully. Please run 'show "
            "config-replace log exec' to see if there is any configuration that requires reload to take effect.\n"
        )

    def _verified(self, commands: list[str], wanted: str) -> str:
        """Return the answer to `verify-only`: the switch's response after each command."""
        lines = [*map(str.strip, wanted.splitlines())]
        planted = [one for one in self.faults.planted if one in lines and one not in commands]
        reported, refused = "", bool(planted)
        for command in (*commands, *planted):
            reported += f"`{command}`\n"
            if command in self.faults.planted or "bogus" in command or self.faults.reject:
                reported += "% Invalid command: neighbor 192.0.2.1 password S3CRET\n"
                refused = True
            elif command in self.doubted:
                reported += f"Syntax error while parsing '{command}'\n\n"
            elif command == "exit":
                reported += "Skip non dme command for CR validation\n"
        verdict = "Patch validation failed" if refused else "Patch validation completed successful"
        return f"{_CHECKED}{_COLLECTED}Validating Patch\n{_RULE}{reported}{_RULE}{verdict}\n"

    def _log(self, name: str, commands: list[str], status: str) -> None:
        self.operations += not self.executed.endswith("running\n")
        ended = f"End Time             : Thu, 05:53:22 19 Jul 2018\nRollback Status      : {status}\n"
        listed = "".join(f"`{one}`\n" for one in commands)
        self.executed = (
            f"Operation            : Config-replace to user config\n"
            f"Checkpoint file name : .replace_tmp_{13526 + self.operations}\n"
            f"Scheme               : tmp\nCfg-replace done By  : {USER}\nCfg-replace mode     : atomic\n"
            f"Verbose              : disabled\nStart Time           : Thu, 05:53:19 19 Jul 2018\n"
            + (f"{ended}\nExecuting Patch:\n----------------\n{listed}" if status else "running\n")
        )

    def _status(self, rest: str) -> str:
        left = self.timer.format(left=self.waiting[1] - time.monotonic()) if self.waiting else self.kept_timer
        began = "  Start Time: Wed Jan 06 19:39:34 2016\n"
        ended = "  End Time: Wed Jan 06 19:39:47 2016\n  Operation Status: Success\n"
        ran = began + ("" if self.executed.endswith("running\n") else ended)
        return (
            "Last operation : Rollback to file\nDetails:\n  Rollback type: atomic replace_tmp_28081\n"
            f"{ran}{left}"
        )

    def _confirm(self, rest: str) -> str:
        self.waiting = None
        return ""

    def _checkpoint(self, name: str) -> str:
        if self.faults.disk_full:
            return "ERROR: No space left on device"
        self.files[name] = self.running
        return "Done"

    def _rollback(self, name: str) -> str:
        if self.faults.fail_commit:
            return "Executing Rollback Patch\nVerification failed, Rolling back to previous configuration\n"
        self.running = self.files[name]
        self.undone = (
            f"Operation            : Rollback to Checkpoint\nCheckpoint name      : {name}\n"
            f"Rollback done By     : {USER}\nStart Time           : {time.monotonic()}\n"
            "End Time             : Thu, 05:53:22 19 Jul 2018\nRollback Status      : Success\n"
        )
        return (
            "Note: Applying config parallelly may fail Rollback verification\nCollecting Running-Config\n"
            "#Generating Rollback Patch\nExecuting Rollback Patch\nRollback completed successfully.\n"
        )

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
                output = self._typed(line.decode().strip())
                channel.sendall(line + b"\r\n" + output.replace("\n", "\r\n").encode() + b"switch# ")
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
        return (user, password) == (USER, PASSWORD) and not running[0].faults.refuses_login()

    handlers = {
        "exec": lambda *rest: running[0].copy_in(*rest),
        "shell": lambda *rest: running[0].terminal(*rest),
    }
    with (
        web_server(folder, allowed, lambda path, requested: running[0].answer(path, requested)) as (
            port,
            certificate,
        ),
        ssh_server(folder, allowed, handlers) as (ssh_port, known),
    ):
        options = {"port": port, "ssl_verify": str(certificate), "ssh_port": ssh_port}
        options |= {"alt_key_file": str(known), "system_host_keys": False}
        running.append(NxosSwitch(Device("fabricc_nxos", HOST, USER, PASSWORD, options)))
        yield running[0]
