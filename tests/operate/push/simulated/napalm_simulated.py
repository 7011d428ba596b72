"""A NAPALM driver that speaks to `server.py`: real sockets, no device behind them.

`napalm.get_network_driver("simulated")` finds it when its folder is on the path; it takes the first driver of a
module by name, so NAPALM's own base class must not be among its names. What must go wrong, and when, is read
from the file of the option `faults`.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import socket
import ssl
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, quote_plus

from napalm.base import base
from napalm.base.exceptions import (
    CommitError,
    ConnectAuthError,
    ConnectionException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.operate.drivers import Hold, HoldKind
from tests.operate.push.striking import due_fault


def login_forms(username: str, password: str) -> list[str]:
    """A login in the forms in which devices and proxies echo one."""
    login = f"{username}:{password}".encode()
    raw = password.encode()
    return [
        password, base64.b64encode(login).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex(), raw.hex(":"),
        base64.b32encode(raw).decode(), quote(password), quote_plus(password), quote(quote(password)),
        "".join(f"&#{byte};" for byte in raw), "".join(f"&#x{byte:x};" for byte in raw),
        "".join(f"\\u{byte:04x}" for byte in raw), "".join(f"\\x{byte:02x}" for byte in raw), str(list(raw)),
        base64.b64encode(password.encode("utf-16-le")).decode(), base64.b85encode(raw).decode(), password[::-1],
        base64.b64encode(gzip.compress(login)).decode(),
    ]  # fmt: skip


class SimulatedDriver(base.NetworkDriver):  # type: ignore[misc]
    CONFIRM_STEP = 1
    ACCESS_OPTIONS: ClassVar = {"server_port": int, "faults": str, "fill": str}
    VERIFIES = True  # it speaks to this machine alone

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Any = None
    ) -> None:
        self.hostname, self.username, self.password, self.timeout = hostname, username, password, timeout
        self.options = optional_args or {}
        self.loaded = False

    def _fault(self, method: str, when: str) -> None:
        """Inject a fault once, if the file of faults requests it."""
        if fault := due_fault(self.options.get("faults"), self.hostname, method, when):
            self._strike(fault)

    def _strike(self, fault: str) -> None:
        if fault == "drop":
            self.line.close()
            raise ConnectionException("connection lost")
        if fault == "refuse":
            raise ConnectionException("login refused")
        if fault == "deny":
            raise ConnectAuthError("login refused")
        if fault == "impostor":
            raise ConnectionException("TLS failed") from ssl.SSLCertVerificationError("another certificate")
        if fault == "reject":
            raise ReplaceConfigException("line 3: invalid input; password hunter2")
        if fault == "fill":
            with Path(self.options["fill"]).open("wb", 0) as file, contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            return
        if fault == "echo":
            raise CommitError(" | ".join(login_forms(self.username, self.password)))
        if fault == "full":
            raise CommitError("No space left on device")
        self._ask(fault)

    def _ask(self, act: str, **more: Any) -> Any:
        session = self.options.get("session", "somebody")
        request = {
            "act": act, "device": self.hostname, "password": self.password, "session": session, **more,
        }  # fmt: skip
        self.line.write(json.dumps(request).encode() + b"\n")
        self.line.flush()
        answer = json.loads(self.line.readline() or b'{"error": "connection closed"}')
        if "error" in answer:
            locked = answer["error"].startswith("session ")
            raise (SessionLockedException if locked else CommitError)(answer["error"])
        return answer["answer"]

    def open(self) -> None:
        self._fault("open", "before")
        try:
            channel = socket.create_connection(("127.0.0.1", self.options["server_port"]), self.timeout)
        except OSError as error:
            raise ConnectionException(str(error)) from None
        self.line = channel.makefile("rwb")
        channel.close()
        try:
            self._ask("login")
        except CommitError as error:
            self.line.close()
            raise ConnectionException(str(error)) from None
        self._fault("open", "after")

    def close(self) -> None:
        self.line.close()

    def _act(self, method: str, act: str, **more: Any) -> Any:
        self._fault(method, "before")
        answer = self._ask(act, **more)
        self._fault(method, "after")
        return answer

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        self._act("load_replace_candidate", "load", text=config)

    def compare_config(self) -> str:
        diff = str(self._act("compare_config", "compare"))
        lines = {"long": 5000, "huge": 3_000_000}.get(
            due_fault(self.options.get("faults"), self.hostname, "compare_config", "instead"), 0
        )
        return diff + "\n+x" * lines

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        self._act("commit_config", "commit", revert_in=revert_in)

    def confirm_commit(self) -> None:
        self._act("confirm_commit", "confirm")

    def has_pending_commit(self) -> bool:
        return bool(self._ask("pending"))

    def arm_guard(self, seconds: int) -> None:
        self._ask("arm", seconds=seconds)

    def extend_guard(self, seconds: int) -> bool:
        return bool(self._ask("extend", seconds=seconds))

    def release_guard(self) -> None:
        self._ask("release")

    def get_holds(self) -> list[Hold]:
        return [
            Hold(HoldKind(claim), owner, left, own=owner == self.options.get("session"))
            for claim, owner, left in self._ask("holds")
        ]

    def end_hold(self, hold: Hold) -> bool:
        return bool(self._ask("end", owner=hold.owner))

    def discard_config(self) -> None:
        self._ask("discard")

    def rollback(self) -> None:
        self._act("rollback", "rollback")

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        running = self._act("get_config", "running")
        return {"running": running, "startup": running, "candidate": ""}

    def get_bgp_neighbors(self) -> dict[str, Any]:
        return dict(self._act("get_bgp_neighbors", "neighbors"))

    def get_lossless_counters(self) -> dict[str, Any]:
        return dict(self._ask("lossless"))

    def get_alarms(self) -> list[str]:
        return list(self._ask("alarms"))

    def get_interfaces_counters(self) -> dict[str, Any]:
        return dict(self._ask("counters"))
