"""Statements of Junos without effect on forwarding or losslessness, and commands of its modes in configuration text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import PROMPT, ExecLine, Reversal
from fabricc.back.reading import Block, Row, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SYSTEM = (
    "accounting", "allow-v4mapped-packets", "announcement", "archival", "arp", "authentication-order",
    "auto-configuration", "auto-snapshot", "autoinstallation", "backup-router", "boot-loader-authentication",
    "building", "commit", "compress-configuration-files", "configuration", "configuration-database",
    "debugger-on-break", "debugger-on-panic", "diag-port-authentication",
    "domain-name", "domain-search", "dump-device", "dump-on-panic", "encrypt-configuration-files", "extensions",
    "fips", "health-monitor", "host-name", "icmpv4-rate-limit", "icmpv6-rate-limit", "inet6-backup-router",
    "internet-options", "kernel-replication", "license", "location", "login", "management-instance",
    "master-password", "max-cli-sessions", "max-configuration-rollbacks", "max-configurations-on-flash",
    "mirror-flash-on-disk", "name-server", "name-resolution", "no-compress-configuration-files",
    "no-hidden-commands", "no-multicast-echo", "no-ping-record-route", "no-ping-time-stamp", "no-redirects",
    "no-redirects-ipv6", "no-remote-trace", "no-saved-core-context", "node", "ntp", "partition", "password",
    "ports", "processes", "proxy", "radius-options", "radius-server", "regex-additive-logic",
    "root-authentication", "saved-core-context", "saved-core-files", "scripts", "security", "services",
    "static-host-mapping", "syslog", "tacplus-options", "tacplus-server", "time-zone", "tracing",
    "use-imported-time-zones",
)  # fmt: skip
_CHASSIS = (
    "dump-on-panic", "alarm", "auto-image-upgrade", "cluster", "config-button", "craft-lockout",
    "environment-monitor", "fru-poweron-sequence", "high-availability", "lcd", "lcd-menu", "pem", "psu",
    "redundancy", "routing-engine", "satellite-management", "system-domains", "usb", "disk-partition", "power",
)  # fmt: skip
_SECTIONS = (
    "version", "snmp", "security", "event-options", "accounting-options", "applications", "access", "smtp",
    "wlan", "poe", "virtual-chassis", "jsrc", "system", "services", "diameter", "session-limit-group",
    "unified-edge", "tenants",
)  # fmt: skip
_PROTOCOLS = (
    "lldp", "lldp-med", "sflow", "dot1x", "dcbx", "oam", "ptp", "l2-learning", "clock-synchronization",
    "neighbor-discovery", "protection-group", "layer2-control", "uplink-failure-detection", "router-discovery",
    "network-isolation",
)  # fmt: skip
_FORWARDING = (
    "sampling", "port-mirroring", "analyzer", "accounting", "monitoring", "packet-capture", "next-hop-group",
)  # fmt: skip

ROWS: Sequence[Row] = (
    *(Silent(f"{word} [<below>]") for word in _SECTIONS if word != "system"),
    Block("system", "", [Silent(f"{word} [<below>]") for word in _SYSTEM]),
    Block("chassis", "", [Silent(f"{word} [<below>]") for word in _CHASSIS]),
    Block("protocols", "", [
        *(Silent(f"{word} [<below>]") for word in _PROTOCOLS),
        Silent("<word> traceoptions [<below>]"),
    ]),
    Block("forwarding-options", "", [
        Silent(f"{word} [<below>]")
        for word in _FORWARDING
    ]),
    Silent("vlans <word> description <word>"),
    Silent("routing-instances <word> vlans <word> description <word>"),
    Silent("firewall family <word> interface-specific"),
    Silent("(routing-options|policy-options) traceoptions [<below>]"),
    Block("interfaces", "", (Silent("traceoptions [<below>]"), Block("<word>", "", (
        Silent("(traps|no-traps)"), Silent("accounting-profile <word>"),
    )))),
)  # fmt: skip

TOPIC = Topic(ROWS)
COMMANDS = re.compile(
    r"(?:set |activate )?(?:groups \S+ )?(?:system )?(?:services )?"
    r"(?:event-options|scripts|extensions|event-script)\b"
)
"""Beginnings of lines and blocks by which a switch runs a command, at an event, at a time or under another name.

An application is one of `system extensions extension-service`; `system services extension-service` has servers, such as
gRPC (Juniper, JET Developer Guide).
"""


_TEXT = re.compile(r'(?P<comment>/\*[\s\S]*?(?:\*/|\Z))|#.*|(?P<quote>"(?:[^"\\]|\\(?:[\s\S]|\Z))*(?:"|\Z))')
_GOES_ON = "\x00"
"""Stands in for the rest of a line on which a quoted text begins that ends on another one."""
_FIRST = re.compile(
    r"(?:set|delete|(?:de)?activate|annotate|insert|rename|replace|(?:un)?protect|wildcard|edit|top|up|load|save"
    r"|rollback|run|request|show|clear|exit|quit|configure|copy|start|restart|test|ping|traceroute|op|ssh|telnet|file"
    r"|monitor|help|status|update)(?:[\s;].*)?"
)
"""Commands outside of all blocks. No section of a configuration has such a name."""
_UNFINISHED = re.compile(
    r"commit;|rollback(?: \d+)?;"
    r"|(?:configure|commit|rollback|exit|quit|edit|top|up|load|save|run|request|show|clear|set|delete|(?:de)?activate"
    r"|(?:un)?protect|insert|annotate|rename|wildcard|start|restart)(?: [^{};]*)?"
)
"""Commands at any depth: a statement ends with a brace or a semicolon."""
_CHANGE = re.compile(r"(?:set|delete|(?:de)?activate) (?!cli\b)[^{}]*")
"""A command that changes a configuration; `set cli` is about the terminal."""
_TAG = re.compile(r"(?:.*[{};])?\s*(?:delete|replace)\s*:.*")
"""A tag of `load`, at any depth: it removes what stands elsewhere in the file, and no switch prints it."""
_INACTIVE = re.compile(r"(?:.*[{};])?\s*(?:protect\s*:\s*)?inactive\s*:.*")
_COLLECTOR = "!"
"""Begins lines that RANCID adds, and no line of Junos."""
_BRACE = re.compile(r"[{}]")
_CUT = re.compile(r"[^\s{};]\s*\}")
"""A block that ends within a statement."""
_BANNER = re.compile(r"\[edit\b.*\]|\{(?:master|backup|linecard|primary|secondary)[^{};]*\}")
"""Line that a terminal prints above a prompt."""


def exec_lines(text: str) -> Iterator[ExecLine]:
    """Yield commands, prompts, statements without a semicolon, and comments and quoted texts that nothing ends."""
    lists, blocks, surplus, whole_lines = 0, list[ExecLine](), list[ExecLine](), True
    plain, lines = _TEXT.sub(_without_text, text).split("\n"), text.split("\n")
    braced = any(line.rstrip().endswith("{") for line in plain)
    for number, (raw, whole) in enumerate(zip(plain, lines, strict=True), 1):
        line = raw.strip()
        lists = max(0, lists + line.count("[") - line.count("]"))
        if line.startswith(_COLLECTOR):
            continue
        outside = not blocks and _FIRST.fullmatch(line)
        typed = line and PROMPT.fullmatch(whole.strip())
        if braced and (outside or not line.endswith(";")) and not lists and _CHANGE.fullmatch(line):
            yield ExecLine(number, whole.strip(), misplaced=True)
        elif outside or typed or any(one.fullmatch(line) for one in (_UNFINISHED, _BANNER, _TAG)):
            yield ExecLine(number, whole.strip())
        elif line and not lists and (_CUT.search(line) or not line.endswith(("{", "}", ";", _GOES_ON))):
            yield ExecLine(number, whole.strip(), unfinished=True)
            whole_lines = False
        for brace in _BRACE.findall(line) if not _BANNER.fullmatch(line) else ():
            if brace == "{":
                blocks.append(ExecLine(number, whole.strip(), unclosed=True))
            elif blocks:
                blocks.pop()
            else:
                surplus.append(ExecLine(number, whole.strip(), surplus=True))
    open_texts = list(_open_texts(text))
    yield from open_texts
    if (blocks or surplus) and whole_lines and not open_texts:
        yield _misplaced_brace(plain, lines) or (surplus or blocks)[0]


def _misplaced_brace(plain: Sequence[str], lines: Sequence[str]) -> ExecLine | None:
    """Return the first line whose depth is not its indentation: a brace is missing before it, or it is one too many.

    Of a text that ends within a block it is the last line. A switch prints each block on lines of its own, indented.
    """
    blocks: list[tuple[int, str]] = []
    last = 0
    for number, raw in enumerate(plain, 1):
        line = raw.strip()
        if not line or _BANNER.fullmatch(line):
            continue
        last, indent, closes = number, len(raw) - len(raw.lstrip()), line[0] == "}"
        if blocks and indent + closes <= blocks[-1][0]:
            return ExecLine(number, blocks[-1][1], unclosed=True)
        if closes and (not blocks or indent > blocks[-1][0]):
            return ExecLine(number, lines[number - 1].strip(), surplus=True)
        for brace in _BRACE.findall(line):
            if brace == "{":
                blocks.append((indent, lines[number - 1].strip()))
            elif blocks:
                blocks.pop()
    return ExecLine(last, blocks[-1][1], unclosed=True) if blocks else None


def inactive_statements(text: str) -> Iterator[Reversal]:
    """Yield the lines with the tag `inactive:`.

    `load` applies it to the statement of this name, wherever else the file has it (Juniper, CLI User Guide).
    """
    if "inactive" in text:
        plain = _TEXT.sub(_without_text, text).split("\n")
        for number, line in enumerate(plain, 1):
            if _INACTIVE.fullmatch(line):
                yield Reversal(number, line.strip())


def _open_texts(text: str) -> Iterator[ExecLine]:
    """Yield the lines that begin a comment or a quoted text that nothing ends."""
    for found in _TEXT.finditer(text):
        unclosed = found["comment"] and not found[0].endswith("*/")
        if unclosed or (found["quote"] and not _is_closed(found["quote"])):
            yield ExecLine(text.count("\n", 0, found.start()) + 1, found[0].split("\n")[0], unclosed=True)


def _without_text(found: re.Match[str]) -> str:
    breaks = "\n" * found[0].count("\n")
    if not found["quote"]:
        return breaks
    return f'"{_GOES_ON}{breaks}{found["quote"][-1:].strip()}' if breaks else '""'


def _is_closed(quote: str) -> bool:
    body = quote[1:-1]
    return len(quote) > 1 and quote.endswith('"') and (len(body) - len(body.rstrip("\\"))) % 2 == 0
