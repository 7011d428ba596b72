"""Lines of EOS without effect on forwarding or losslessness: accounts, clocks, logs, counters, banners, scripts."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import VerbatimText, exec_lines, exec_pattern
from fabricc.back.reading import Block, Row, Topic
from fabricc.fabric.facts import join_banner

if TYPE_CHECKING:
    from collections.abc import Iterable

END = "EOF"
_COMMENT = "comment"
_LOGIN = "banner login"
BEGINS = re.compile(r"\s*(?:banner (?:motd|login|exec)|comment|action bash|code(?: unit \S+)?)\s*")


def blank_texts(text: str) -> str:
    """Return the text with such lines as comments, up to the word that ends them; their numbers stay.

    The text of a login banner follows on its line, since a fact has it.
    """
    if END not in text:
        return text
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    after = 0
    for end in ends:
        begins = next((at for at in range(after, end) if BEGINS.fullmatch(lines[at])), end)
        if lines[begins].strip() == _LOGIN:
            lines[begins] = " ".join([_LOGIN, join_banner("\n".join(lines[begins + 1 : end]))])
        # Comments state nothing; the existence of another banner is reported.
        begins += lines[begins].strip() != _COMMENT
        lines[begins : end + 1] = ["!"] * (end + 1 - begins)
        after = end + 1
    return "\n".join(lines)


_DEPTH = 4
"""Blocks within blocks below such a line."""


def _whole_blocks(beginnings: Iterable[str]) -> list[Row]:
    """Return lines that begin so, with all that is below them."""
    below = _any_below(_DEPTH)
    return [
        Block(f"{word}{beginning}{end}", "", below)
        for beginning in beginnings
        for word in ("", "no ", "default ")
        for end in ("", " <rest>")
    ]


def _any_below(depth: int) -> tuple[Row, ...]:
    return (Block("<rest>", "", _any_below(depth - 1)),) if depth else ()


_SYSTEM = (
    "aaa", "alias", "banner", "boot", "clock", "command-alias", "config", "daemon", "dhcp server", "dns domain",
    "email", "enable", "end", "event-handler", "event-monitor", "exit", "flow tracking", "flow cache",
    "hardware counter", "hostname", "interface profile", "ip dhcp server", "ip domain", "ip domain-list",
    "ip domain-lookup", "ip domain-name", "ip ftp", "ip host", "ip http", "ip name-server", "ip radius", "ip ssh",
    "ip tacacs", "ip tftp", "ipv6 host", "ipv6 ssh", "kernel", "key chain", "key config-key", "lacp audit", "license",
    "lldp", "locator-led", "logging", "maintenance", "management", "match-list", "monitor", "ntp", "onie", "prompt",
    "ptp", "queue-monitor", "radius", "radius-server", "role", "schedule", "service configuration",
    "service unsupported-transceiver", "sflow", "show", "snmp", "snmp-server", "sysname", "tacacs-server",
    "tap aggregation", "telnet", "terminal", "terminattr", "upgrade", "username", "user-account", "version",
    "virtual-service", "vmtracer", "watchdog", "xmpp", "zerotouch", "dot1x captive-portal", "sync-e", "ip telnet",
    "arp monitor", "mac security", "ip user", "copy", "configure", "session", "login", "exec-timeout", "idle-timeout",
    "environment", "led", "power", "switch", "ip community-list version", "group", "mgmt", "trace", "comment",
    "hardware pmbus", "platform fap",
)  # fmt: skip
_PORT = (
    "sync-e", "ptp", "ntp", "queue-monitor", "sflow", "snmp trap", "logging event", "load-interval", "comment",
    "mac timestamp", "vmtracer", "monitor", "flow tracker", "lldp", "profile", "phone", "locator-led", "tap",
    "switchport tap", "switchport tool", "poe", "logging", "snmp", "phy",
)  # fmt: skip

TOPIC = Topic([*_whole_blocks(_SYSTEM), Block("interface <word>", "", _whole_blocks(_PORT))])
_TYPED = exec_pattern(
    "rel~oad wr~ite cop~y sh~ow conf~igure del~ete er~ase cle~ar roll~back abo~rt logo~ut bash do who pwd cd dir"
    " pin~g tracer~oute rena~me mkd~ir rmd~ir undel~ete insta~ll tcpd~ump pyth~on-shell more watch commit",
    "en~able dis~able end comm~it",
    r"exi?t? .+|(?:format \S+:|zerotouch (?:cancel|disable)|term\w* (?:len|wid|mon|no\b)) ?.*",
)
"""Commands that a person types at a prompt. A configuration session runs them as well.

A published session shows `show` commands inside a session, below an interface, and `commit` there ("A look at Arista's
configuration session"); Arista's manual, "Configure Session", has `show session-config diffs`, `commit` and `abort` at
the prompt of the session.
"""
EXEC_LINES = partial(exec_lines, words=_TYPED, verbatim_texts=(VerbatimText(BEGINS, END),))
COMMANDS = re.compile(r"(?:event-handler|event-monitor|daemon|schedule|alias|command-alias|bash)\b")
"""Beginnings of lines and blocks by which a switch runs a command, at an event, at a time or under another name."""
