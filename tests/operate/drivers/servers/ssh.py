"""A small SSH server: password login, commands, subsystems and terminals, each answered by a function."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

import paramiko

from tests.operate.drivers.servers.web import HOST, Drop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Handler = Callable[[paramiko.Channel, str], None]


class _Session(paramiko.ServerInterface):
    def __init__(self, allowed: Callable[[str, str], bool], handlers: Mapping[str, Handler]) -> None:
        self._allowed = allowed
        self._handlers = handlers

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.AUTH_SUCCESSFUL if self._allowed(username, password) else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_pty_request(self, *rest: Any) -> bool:
        return True

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        return self._start("exec", channel, command.decode())

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        return self._start("shell", channel, "")

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        return self._start(name, channel, name)

    def _start(self, kind: str, channel: paramiko.Channel, text: str) -> bool:
        if kind not in self._handlers:
            return False
        threading.Thread(
            target=_serve_request, args=(self._handlers[kind], channel, text), daemon=True
        ).start()
        return True


def _serve_request(handler: Handler, channel: paramiko.Channel, text: str) -> None:
    try:
        handler(channel, text)
    except Drop:
        channel.get_transport().close()
    except (OSError, EOFError, paramiko.SSHException):
        pass
    finally:
        with contextlib.suppress(OSError, EOFError):
            channel.close()


@contextlib.contextmanager
def ssh_server(
    folder: Path, allowed: Callable[[str, str], bool], handlers: Mapping[str, Handler]
) -> Iterator[tuple[int, Path]]:
    """Serve SSH; yields the port and a known_hosts file.

    Args:
        folder: for the known_hosts file.
        allowed: whether a user may log in with a password.
        handlers: `exec`, `shell`, or a subsystem's name -> what serves a channel; may raise `Drop`.
    """
    key = paramiko.ECDSAKey.generate()
    listener = socket.create_server((HOST, 0))
    port = listener.getsockname()[1]
    known = folder / "known_hosts"
    known.write_text(f"[{HOST}]:{port} {key.get_name()} {key.get_base64()}\n")
    transports: list[paramiko.Transport] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transports.append(transport)
            transport.add_server_key(key)
            with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
                transport.start_server(server=_Session(allowed, handlers), event=threading.Event())

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield port, known
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for transport in transports:
            transport.close()
