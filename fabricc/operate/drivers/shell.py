"""Run commands on a device over SSH, each in a channel of its own, so that no prompt needs to be parsed."""

from __future__ import annotations

import logging
import select
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import paramiko
from napalm.base import exceptions

from fabricc.operate.drivers import answers
from fabricc.operate.drivers.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KEEPALIVE_S = 15
_PART = 1 << 16
_LOOK_S = 0.2
"""Seconds until both streams are looked at without a signal: paramiko may lose one when both get data at once."""
_LOG = "fabricc.operate.drivers.ssh"
logging.getLogger(_LOG).setLevel(logging.CRITICAL + 1)  # paramiko logs texts of devices as they come
_GRACE_S = 2
"""Seconds after the limit of a command; paramiko itself waits forever for a device that accepts it and is silent."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    Attributes:
        status: its exit status; -1 when a signal ended it.
    """

    status: int
    out: str
    err: str


class _AnyKey(paramiko.MissingHostKeyPolicy):
    """Accepts an unknown key for this connection alone: paramiko's own policy writes it to the file of known hosts."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Accept the key, and store nothing."""


class Shell:
    """An SSH connection; optional arguments are named as netmiko names them.

    * `port` (22); `key_file`, `passphrase`, `use_keys` (False: look for keys in ~/.ssh), `allow_agent` (False).
    * `ssh_strict` (True): refuse a host whose key is not known; False accepts one, an explicit opt-out, and keeps
      nothing of it.
    * `system_host_keys` (True): know the hosts of ~/.ssh/known_hosts; `alt_key_file`: a known_hosts file besides.
    """

    def __init__(
        self, hostname: str, username: str, password: str, timeout: float, options: Mapping[str, Any]
    ) -> None:
        self.hostname = hostname
        self._username = username
        self._password = password
        self._timeout = timeout
        self._options = options
        self._client: paramiko.SSHClient | None = None

    def open(self) -> None:
        """Connect and log in.

        Raises:
            ConnectAuthError: the login is refused.
            ConnectionException: no connection, or the host's key is unknown or another one.
        """
        options = self._options
        answers.silence_libraries()
        client = paramiko.SSHClient()
        client.set_log_channel(_LOG)
        if options.get("system_host_keys", True):
            client.load_system_host_keys()
        try:
            if known := options.get("alt_key_file"):
                client.load_host_keys(str(known))
            strict = options.get("ssh_strict", True)
            client.set_missing_host_key_policy(paramiko.RejectPolicy() if strict else _AnyKey())
            client.connect(
                self.hostname,
                port=int(options.get("port", 22)),
                username=self._username,
                password=self._password or None,
                key_filename=options.get("key_file"),
                passphrase=options.get("passphrase"),
                look_for_keys=bool(options.get("use_keys", False)),
                allow_agent=bool(options.get("allow_agent", False)),
                timeout=self._timeout,
                banner_timeout=self._timeout,
                auth_timeout=self._timeout,
                transport_factory=answers.BoundedTransport,
            )
        except paramiko.AuthenticationException:
            client.close()
            raise exceptions.ConnectAuthError(
                f"{self.hostname} refuses the login of {self._username}"
            ) from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            client.close()
            raise exceptions.ConnectionException(f"{self.hostname}: {self._clean(error)}") from None
        self._client = client
        if transport := client.get_transport():
            transport.set_keepalive(_KEEPALIVE_S)

    def close(self) -> None:
        """Disconnect; nothing happens when there is no connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def alive(self) -> bool:
        """Return whether the connection is open, as far as this side can determine."""
        transport = self._client.get_transport() if self._client is not None else None
        return bool(transport and transport.is_active())

    def run(self, command: str, given: bytes = b"", limit_s: float | None = None) -> CommandResult:
        """Run a command and wait for its end.

        Args:
            command: for the device's shell; holds no secret, for it shows in the device's process list.
            given: its standard input.
            limit_s: seconds to wait; None for the connection's timeout.

        Raises:
            ConnectionClosedException: there is no connection, or it broke.
            CommandTimeoutException: the command did not end in time; it may still run.
            CommandErrorException: its output is too large.
        """
        transport = self._client.get_transport() if self._client is not None else None
        if transport is None or not transport.is_active():
            raise exceptions.ConnectionClosedException(f"{self.hostname}: not connected")
        limit = self._timeout if limit_s is None else limit_s
        late = TimeoutError()
        try:
            with answers.cut_after(limit + _GRACE_S, transport.close) as cut:
                channel = transport.open_session(timeout=self._timeout)
                try:
                    return _run_on_channel(channel, command, given, time.monotonic() + limit)
                except (paramiko.SSHException, OSError, EOFError):
                    if cut.is_set():
                        raise late from None
                    raise
                finally:
                    channel.close()
        except answers.AnswerTooLargeError as error:
            raise exceptions.CommandErrorException(f"{self.hostname}: {error}") from None
        except TimeoutError:
            raise exceptions.CommandTimeoutException(
                f"{self.hostname}: no answer within {limit:g} s"
            ) from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise exceptions.ConnectionClosedException(f"{self.hostname}: {self._clean(error)}") from None

    def _clean(self, error: BaseException) -> str:
        return redact_text(str(error) or type(error).__name__, self._password)


def _run_on_channel(channel: paramiko.Channel, command: str, given: bytes, until: float) -> CommandResult:
    """Run a command on a channel, within the time and the size that an answer may have.

    Raises:
        TimeoutError: the answer is incomplete at that time.
        AnswerTooLargeError: it is too large.
        EOFError, SSHException, OSError: the connection broke.
    """

    def wait() -> float:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        channel.settimeout(left)
        return left

    answers.bound_channel(channel)
    channel.exec_command(command)
    rest = memoryview(given)
    while rest:
        wait()
        rest = rest[channel.send(bytes(rest[:_PART])) :]
    channel.shutdown_write()
    texts = _read_streams(channel, wait)
    if not channel.status_event.wait(max(0.0, until - time.monotonic())):
        raise TimeoutError
    transport = channel.get_transport()
    if not channel.exit_status_ready() or transport is None:
        raise EOFError("the connection broke while a command ran")
    status = channel.recv_exit_status()
    if status == -1 and not transport.is_active():
        raise EOFError("the connection broke while a command ran")
    out, err = (text.decode("utf-8", "replace") for text in texts)
    return CommandResult(status, out, err)


def _read_streams(channel: paramiko.Channel, wait: Callable[[], float]) -> tuple[bytearray, bytearray]:
    """Read both streams of a command as they come, until both end: a device may fill the window by either.

    Raises:
        TimeoutError: they have not ended in time.
        AnswerTooLargeError: they are too large.
    """
    out, err = bytearray(), bytearray()
    ready = select.poll()
    ready.register(channel, select.POLLIN)
    while True:
        ended = channel.eof_received or channel.closed
        while channel.recv_ready():
            out += channel.recv(_PART)
            _require_bounded(out, err)
        while channel.recv_stderr_ready():
            err += channel.recv_stderr(_PART)
            _require_bounded(out, err)
        if ended:
            return out, err
        ready.poll(min(wait(), _LOOK_S) * 1000)


def _require_bounded(*texts: bytearray) -> None:
    if sum(map(len, texts)) > answers.ANSWER_BYTES:
        raise answers.AnswerTooLargeError
