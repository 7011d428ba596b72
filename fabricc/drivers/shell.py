"""Commands on a device over SSH, one channel each: no prompt is ever scraped."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricc.drivers.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paramiko

_KEEPALIVE_S = 15


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended.

    Attributes:
        status: its exit status; -1 when a signal ended it.
    """

    status: int
    out: str
    err: str


class _AnyKey:
    """Accepts an unknown key for this connection alone: paramiko's own policy writes it to the file of known hosts."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Nothing is refused, and nothing kept."""


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
        import paramiko
        from napalm.base.exceptions import ConnectAuthError, ConnectionException

        options = self._options
        client = paramiko.SSHClient()
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
            )
        except paramiko.AuthenticationException:
            client.close()
            raise ConnectAuthError(f"{self.hostname} refuses the login of {self._username}") from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            client.close()
            raise ConnectionException(f"{self.hostname}: {self._clean(error)}") from None
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
        """Whether the connection stands, as far as this end knows."""
        transport = self._client.get_transport() if self._client is not None else None
        return bool(transport and transport.is_active())

    def run(self, command: str, given: bytes = b"", limit_s: float | None = None) -> Ran:
        """Run a command and wait for its end.

        Args:
            command: for the device's shell; holds no secret, for it shows in the device's process list.
            given: its standard input.
            limit_s: seconds to wait; None for the connection's timeout.

        Raises:
            ConnectionClosedException: there is no connection, or it broke.
            CommandTimeoutException: the command did not end in time; it may still run.
        """
        import paramiko
        from napalm.base.exceptions import CommandTimeoutException, ConnectionClosedException

        transport = self._client.get_transport() if self._client is not None else None
        if transport is None or not transport.is_active():
            raise ConnectionClosedException(f"{self.hostname}: not connected")
        limit = self._timeout if limit_s is None else limit_s
        try:
            channel = transport.open_session(timeout=self._timeout)
            try:
                channel.settimeout(limit)
                channel.exec_command(command)
                channel.sendall(given)
                channel.shutdown_write()
                return self._collect(channel, time.monotonic() + limit)
            finally:
                channel.close()
        except TimeoutError:
            raise CommandTimeoutException(f"{self.hostname}: no answer within {limit:g} s") from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise ConnectionClosedException(f"{self.hostname}: {self._clean(error)}") from None

    def _collect(self, channel: paramiko.Channel, until: float) -> Ran:
        texts = []
        for receive in (channel.recv, channel.recv_stderr):
            text = bytearray()
            while part := receive(65536):
                text += part
                if time.monotonic() > until:
                    raise TimeoutError
            texts.append(text.decode("utf-8", "replace"))
        if not channel.status_event.wait(max(0.0, until - time.monotonic())):
            raise TimeoutError
        if not channel.exit_status_ready() or channel.get_transport() is None:
            raise EOFError("the connection broke while a command ran")
        status = channel.recv_exit_status()
        if status == -1 and not self.alive:
            raise EOFError("the connection broke while a command ran")
        return Ran(status, texts[0], texts[1])

    def _clean(self, error: BaseException) -> str:
        return redacted(str(error) or type(error).__name__, self._password)
