"""A device that speaks Arista's eAPI (JSON-RPC over HTTPS) and has configuration sessions."""

from __future__ import annotations

import contextlib
import difflib
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.operate.drivers.servers import eos_shows
from tests.operate.drivers.servers.counted import Counted
from tests.operate.drivers.servers.device import Device
from tests.operate.drivers.servers.faults import Faults
from tests.operate.drivers.servers.web import HOST, Drop, web_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

USER, PASSWORD = "admin", "eos pässword"
DEFAULTS = """\
no aaa root
!
no service interface inactive port-id allocation disabled
!
transceiver qsfp default-mode 4x10G
!
spanning-tree mode mstp
!
system l1
   unsupported speed action error
   unsupported error-correction action error
!
router multicast
   ipv4
      software-forwarding kernel
   !
   ipv6
      software-forwarding kernel
!
"""
"""Published output of switches of 4.30 to 4.36, none of which configured these lines."""
_DEFAULT_BLOCKS = [
    [line.strip() for line in block.splitlines() if line.strip(" !")]
    for block in re.split(r"(?m)^!$", DEFAULTS)
    if block.strip()
]
_BOOTED = time.time() - time.monotonic()
_ACTION = re.compile(r"configure session (\S+) (abort|commit)(?: timer (\d+):(\d+):(\d+))?")


class Refused(Exception):  # noqa: N818 - an answer of the device
    """A command that EOS does not take: 1002 is an invalid one, 1000 one that it could not run."""

    def __init__(self, text: str, code: int = 1002) -> None:
        super().__init__(text)
        self.code = code


def drop_defaults(lines: list[str]) -> list[str]:
    """Return lines as EOS keeps them: what it prints without being configured is the same when it is loaded."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        block = next((one for one in _DEFAULT_BLOCKS if lines[at : at + len(one)] == one), [])
        kept += [] if block else lines[at : at + 1]
        at += len(block) or 1
    return kept


@dataclass(slots=True)
class EosSwitch:
    """Running, startup and session configurations, as lists of lines.

    Attributes:
        sessions: name -> lines, of those that are not committed.
        release: of EOS, which decides how a commit that waits is reported (napalm issue 2166).
        done: sessions that were committed.
        silence: where it is set, no request is answered until the event.
        requests: how many were answered.
        waiting: the session that waits for confirmation, what ran before, and when its time is over.
        printed: lines -> the text as which EOS prints them, where that is not the lines themselves.
        neighbors: returns the established sessions, neighbor -> received prefixes.
        counted: its counters and alarms.
        zerotouch: `mode` of zero touch provisioning; "" where the role of the login may not read it.
    """

    device: Device
    release: str = "4.32"
    running: list[str] = field(default_factory=lambda: ["hostname old"])
    startup: list[str] | None = field(default_factory=lambda: ["hostname saved"])
    files: dict[str, list[str]] = field(default_factory=dict)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    waiting: tuple[str, list[str], float] | None = None
    faults: Faults = field(default_factory=Faults)
    printed: dict[tuple[str, ...], str] = field(default_factory=dict)
    neighbors: Callable[[], dict[str, int]] = dict
    counted: Counted = field(default_factory=Counted)
    zerotouch: str = "disabled"
    silence: threading.Event | None = None
    done: set[str] = field(default_factory=set)
    requests: int = 0
    _timer: threading.Timer | None = None
    _turn: threading.RLock = field(default_factory=threading.RLock)
    _mode: str | None = None

    def answer(self, path: str, requested: dict[str, Any]) -> dict[str, Any]:
        """One JSON-RPC request."""
        if self.silence:
            self.silence.wait()
            raise Drop
        results: list[Any] = []
        commands = requested["params"]["cmds"]
        with self._turn:
            self.requests += 1
            if self.faults.drop_answers:
                self.faults.drop_answers -= 1
                raise Drop
            self._mode = None
            for at, command in enumerate(commands, 1):
                text = command["cmd"] if isinstance(command, dict) else command
                try:
                    results.append(self._advised(self._run(text)))
                except Refused as error:
                    output = f"CLI command {at} of {len(commands)} '{text}' failed: {error}"
                    data = [*results, {"errors": [str(error)]}]
                    return {
                        "jsonrpc": "2.0",
                        "id": requested["id"],
                        "error": {"code": error.code, "message": output, "data": data},
                    }
        return {"jsonrpc": "2.0", "id": requested["id"], "result": results}

    def _advised(self, result: dict[str, Any]) -> dict[str, Any]:
        """Add the advice of EOS to an answer: `messages` of eAPI, and the output of a command without any."""
        if not self.faults.warning:
            return result
        output = {"output": f"{self.faults.warning}\n"} if not result else {}
        return {**result, **output, "messages": [self.faults.warning]}

    def _run(self, text: str) -> dict[str, Any]:
        if match := _ACTION.fullmatch(text):
            return self._act(match)
        if text.startswith("configure session "):
            self._mode = text.split()[2]
            self.sessions.setdefault(self._mode, list(self.running))
            return {}
        if self._mode is not None:
            return self._line(text)
        if text.startswith("show session-config named "):
            name = text.split()[3]
            if name not in self.sessions:
                raise Refused("invalid command", 1000)
            old, new = drop_defaults(self.running), drop_defaults(self.sessions[name])
            names = ("system:/running-config", f"session:/{name}-session-config")
            return {"output": "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))}
        if text in eos_shows.SHOWS and not self.counted.refuses(text):
            return eos_shows.SHOWS[text](self.counted)
        simple = {
            "enable": dict,
            "show version": lambda: {
                "version": f"{self.release}.1F",
                "uptime": time.monotonic(),
                "bootupTimestamp": _BOOTED,
            },
            "show configuration sessions": self._sessions,
            "show configuration sessions detail": self._sessions,
            **({"show zerotouch": lambda: {"mode": self.zerotouch}} if self.zerotouch else {}),
            "show running-config": lambda: {"output": self._text(self.running)},
            "show startup-config": self._show_startup,
            "show ip bgp summary vrf all": self._summary,
            "show ipv6 bgp summary vrf all": lambda: {
                "vrfs": {"default": {"routerId": "192.0.2.1", "peers": {}}}
            },
            "show ip bgp neighbors vrf all": self._peers,
            "show ipv6 bgp peers vrf all": lambda: {"vrfs": {}},
            "show interfaces": lambda: {"interfaces": {}},
            "copy startup-config flash:rollback-0": lambda: self._copy(
                "flash:rollback-0", self.startup or []
            ),
            "copy running-config flash:rollback-0": lambda: self._copy("flash:rollback-0", self.running),
            "write memory": self._save,
            "configure replace flash:rollback-0": self._replace,
        }
        if text not in simple:
            raise Refused("invalid command")
        return simple[text]()

    def _text(self, lines: list[str]) -> str:
        return self.printed.get(tuple(lines), "\n".join(lines) + "\n")

    def _show_startup(self) -> dict[str, Any]:
        """Return what was saved; Arista's rbeapi has the answer of a switch without a startup configuration."""
        if self.startup is None:
            raise Refused("could not run command", 1000)
        return {"output": self._text(self.startup)}

    def _summary(self) -> dict[str, Any]:
        peers = {name: {"prefixAccepted": count} for name, count in self.neighbors().items()}
        return {"vrfs": {"default": {"routerId": "192.0.2.1", "peers": peers}}}

    def _peers(self) -> dict[str, Any]:
        zero = {"prefixesSent": 0, "v6PrefixesReceived": 0, "v6PrefixesSent": 0}
        known = {"localAsn": "65001", "asn": "65002", "routerId": "192.0.2.2", "state": "Established"}
        peers = [
            {"peerAddress": name, "prefixesReceived": count, **known, **zero}
            for name, count in self.neighbors().items()
        ]
        return {"vrfs": {"default": {"peerList": peers}}}

    def _line(self, text: str) -> dict[str, Any]:
        assert self._mode is not None
        if text == "rollback clean-config":
            self.sessions[self._mode] = []
        elif text == "end":
            self._mode = None
        elif text.startswith("bogus") or self.faults.reject:
            raise Refused("invalid command")
        elif text in self.faults.planted:
            # The words of napalm-automation/napalm-base issue 254 and aristanetworks/avd issue 7025.
            raise Refused(f"invalid command [Invalid input (at token 0: '{text.split()[0]}')]")
        elif text:
            self.sessions[self._mode].append(text)
        return {}

    def _sessions(self) -> dict[str, Any]:
        late = tuple(map(int, self.release.split("."))) >= (4, 32)
        found: dict[str, Any] = {name: {"state": "pending"} for name in self.sessions}
        for name in self.done - set(found):
            found[name] = {"state": "committed" if late else "completed"}
        more: dict[str, Any] = {}
        if self.waiting and late:
            more = {
                "commitTimerSessionName": self.waiting[0],
                "commitTimerExpireTime": _BOOTED + self.waiting[2],
            }
        elif self.waiting:
            found[self.waiting[0]] = {"state": "pendingCommitTimer", "commitBy": _BOOTED + self.waiting[2]}
        return {"sessions": found, "maxSavedSessions": 1, "maxOpenSessions": 5, **more}

    def _copy(self, name: str, lines: list[str]) -> dict[str, Any]:
        if self.faults.disk_full:
            raise Refused("No space left on device")
        self.files[name] = list(lines)
        return {}

    def _save(self) -> dict[str, Any]:
        if self.zerotouch == "active":
            raise Refused("cannot copy to startup-config when ZeroTouch is enabled", 1000)
        self.startup = list(self.running)
        return {}

    def _replace(self) -> dict[str, Any]:
        self.running = list(self.files["flash:rollback-0"])
        return {}

    def _act(self, match: re.Match[str]) -> dict[str, Any]:
        name, action = match[1], match[2]
        if action == "abort":
            if self.waiting and self.waiting[0] == name:
                self._give_up()
            self.done.discard(name)
            self.sessions.pop(name, None)
        elif self.waiting and self.waiting[0] == name:
            self._stop()
        else:
            self._commit(name, match)
        return {}

    def _commit(self, name: str, match: re.Match[str]) -> None:
        if self.faults.fail_commit:
            raise Refused("commit failed: neighbor 192.0.2.1 password S3CRET is not allowed")
        if self.faults.drop_commit == "before":
            raise Drop
        before, self.running = self.running, drop_defaults(self.sessions.pop(name))
        self.done.add(name)
        if match[3]:
            seconds = 3600 * int(match[3]) + 60 * int(match[4]) + int(match[5])
            self.waiting = (name, before, time.monotonic() + seconds)
            self._timer = threading.Timer(seconds, self._give_up)
            self._timer.daemon = True
            self._timer.start()
        if self.faults.drop_commit == "after":
            raise Drop

    def _give_up(self) -> None:
        with self._turn:
            if self.waiting:
                self.running = self.waiting[1]
            self._stop()

    def _stop(self) -> None:
        self.waiting = None
        if self._timer:
            self._timer.cancel()
            self._timer = None


@contextlib.contextmanager
def eos_switch(folder: Path, release: str = "4.32") -> Iterator[EosSwitch]:
    """Start a switch; its configuration and faults can be read and set while it runs."""
    running: list[EosSwitch] = []

    def allowed(user: str, password: str) -> bool:
        return (user, password) == (USER, PASSWORD) and not running[0].faults.refuses_login()

    with web_server(folder, allowed, lambda path, requested: running[0].answer(path, requested)) as (
        port,
        certificate,
    ):
        device = Device("fabricc_eos", HOST, USER, PASSWORD, {"port": port, "ssl_verify": str(certificate)})
        running.append(EosSwitch(device, release))
        yield running[0]
