"""Speaks to an FRR daemon over its vty socket, as vtysh does: a command, its text, a status."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

_TIMEOUT_S = 20.0
_END = b"\0\0\0"  # then one byte of status (FRR lib/vty.c, vtysh protocol)


def ask(path: Path, command: str) -> str:
    """What a daemon answers to one command.

    Raises:
        OSError: the daemon does not listen, or closed the connection.
        ValueError: the daemon does not know the command.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(_TIMEOUT_S)
        channel.connect(str(path))
        _exchange(channel, "enable")
        status, text = _exchange(channel, command)
    if status:
        raise ValueError(f"{path.stem}: status {status} for {command!r}: {text.strip()[:200]}")
    return text


def ask_json(path: Path, command: str) -> dict[str, Any]:
    """The same for a command that answers in JSON; an empty answer is an empty object."""
    found: dict[str, Any] = json.loads(ask(path, command).strip() or "{}")
    return found


def _exchange(channel: socket.socket, command: str) -> tuple[int, str]:
    channel.sendall(command.encode() + b"\0")
    answer = b""
    while not (len(answer) >= 4 and answer[-4:-1] == _END):
        block = channel.recv(65536)
        if not block:
            raise ConnectionError("the daemon closed its socket")
        answer += block
    return answer[-1], answer[:-4].decode("utf-8", "replace")
