"""Lines of EOS that say nothing about forwarding or losslessness: accounts, clocks, logs, the system itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block

if TYPE_CHECKING:
    from fabricc.back.nos.reading.rows import Row

_DEPTH = 4
"""Blocks within blocks below such a line."""


def _whole(pattern: str, depth: int = _DEPTH) -> Row:
    """Lines that begin so, with all that is below them."""
    return Block(pattern, "", (_whole("<rest>", depth - 1),) if depth else ())


_BEGINNINGS = (
    "aaa", "alias", "banner", "boot", "clock", "daemon", "dns domain", "email", "enable", "event-handler",
    "event-monitor", "hardware access-list", "ip domain-name", "ip ftp", "ip http", "ip name-server", "ip ssh",
    "ip tftp", "logging", "management", "ntp", "prompt", "radius-server", "role", "schedule", "sflow", "snmp-server",
    "tacacs-server", "terminal", "username",
)  # fmt: skip

TOPIC = Topic([_whole(f"[no] {beginning} <rest>") for beginning in _BEGINNINGS])
