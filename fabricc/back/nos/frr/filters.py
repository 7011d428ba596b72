"""Filters of FRR on Linux: what chains of nftables and commands at boot drop, and what keeps chains from effect."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.frr.words import MANAGEMENT_INTERFACE
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.reading import Document

_CHAIN, _COMMANDS, _INTERFACES = "input", "commands", "interfaces"
_SSH_PORT = 22
_VERDICTS = {"drop": "drop", "reject": "drop", "accept": "accept"}
_QUIET = ("counter", "log", "continue")
_LABELS = ("prefix", "comment", "packets", "bytes", "level", "group")
"""Words of statements that decide nothing, each before a value."""
_ONE_HOP = ("1", "2")
_RDMA, _PORT_NUMBER = "4791", re.compile(r"\d+")
_FEW_PACKETS = re.compile(r"\d{1,2}/(?:second|minute|hour|day)")
"""A rate below that of the packets of any session with BFD."""
_TOKEN = re.compile(r'"[^"]*"|\{[^{}]*\}|[^\s{}";]+')


class _FilterRule(NamedTuple):
    """A rule of a chain: the names of ports that it applies to, as patterns, and the entry of a list that it makes."""

    ports: tuple[str, ...]
    text: str


def _parse_filter_rule(line: str) -> _FilterRule | None:
    """Return the rule that a line of nftables states, None for one without a verdict or about logging in alone."""
    tokens = _TOKEN.findall(_without_rare_limit(line))
    verdict = next((at for at, token in enumerate(tokens) if token in _VERDICTS), None)
    if verdict is None or "hook" in tokens or (len(tokens) > 1 and tokens[:1] == ["policy"]):
        return None
    ports, matches = ("*",), list[str]()
    words = iter(tokens[:verdict])
    for word in words:
        if word in ("iifname", "iif"):
            found = next(words, "")
            if found in ("!=", "=="):
                matches += ["unless"] if found == "!=" else []
                found = next(words, "")
            ports = tuple(re.findall(r"[^\s,{}\"]+", found))
        elif word in ("tcp", "udp", "th"):
            matches += [] if word == "th" else [f"protocol {word}"]
            if next(words, "") != "dport":
                matches += ["other", next(words, "")]
                continue
            value = next(words, "")
            if value in ("!=", "==", "<=", ">=", "<", ">"):
                matches.append(_compared_ports(value, next(words, "")))
            else:
                matches.append(f"destination-port {_set_words(value)}")
        elif word in ("ip", "ip6", "meta"):
            field = next(words, "")
            value = _set_words(next(words, ""))
            if field == "saddr" and "/" in value and "," not in value:
                matches.append(f"source-ip {value}")
                continue
            if field == "ttl" and value in (
                "<",
                "<=",
                *_ONE_HOP,
            ):  # sessions with another AS send packets with 1
                limit = next(words, "") if value in ("<", "<=") else value
                matches.append("protocol tcp destination-port 179" if limit in _ONE_HOP else "other")
                continue
            matches.append(
                f"protocol {value}" if field in ("protocol", "nexthdr", "l4proto") else f"other {value}"
            )
        elif word in _LABELS:
            next(words, "")
        elif word not in _QUIET:
            matches.append("other")
    if f"destination-port {_SSH_PORT}" in matches:
        return None
    return _FilterRule(ports, " ".join((_VERDICTS[tokens[verdict]], *filter(None, matches))))


def _without_rare_limit(line: str) -> str:
    """Return a rule without a limit above which it drops nearly all packets of a service, or any of RDMA."""
    words = line.split()
    at = words.index("over") if words.count("over") == 1 else 0
    rare = at > 1 and words[at - 2 : at] == ["limit", "rate"] and (
        _FEW_PACKETS.fullmatch(words[at + 1]) or _RDMA in _PORT_NUMBER.findall(line)
    )  # fmt: skip
    return " ".join([*words[: at - 2], *words[at + 2 :]]) if rare else line


def _set_words(text: str) -> str:
    """Return the members of a set, or a value, separated by commas."""
    return ",".join(re.findall(r"[^\s,{}]+", text))


def _compared_ports(operator: str, number: str) -> str:
    """Return the ports of a comparison as an entry states them."""
    if not is_number(number):
        return "other"
    value = int(number)
    spans = {
        ">=": f"{value}-65535", ">": f"{value + 1}-65535", "<=": f"0-{value}", "<": f"0-{value - 1}",
        "!=": f"0-{value - 1},{value + 1}-65535", "==": number,
    }  # fmt: skip
    return f"destination-port {spans[operator]}"


def state_filters(document: Document) -> None:
    """State what the chain drops besides logins, as lists that filter what arrives at ports."""
    facts = document.reading.facts
    known = dict.fromkeys(
        path[len("interface[") :].partition("]")[0] for path in facts if path.startswith("interface[")
    )
    rules = [
        (number, rule) for number, text in _rule_lines(document) if (rule := _parse_filter_rule(text.strip()))
    ]
    rules += _closed_chains(document.text)
    lists: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for port in known:
        mine = tuple(
            (number, text)
            for number, (ports, text) in rules
            if any(fnmatchcase(port, each) for each in ports)
        )
        if any(text.startswith("drop") for _, text in mine) and port != MANAGEMENT_INTERFACE:
            lists.setdefault(mine, []).append(port)
    for at, (mine, ports) in enumerate(lists.items(), 1):
        chain = _COMMANDS if document.file == _INTERFACES else _CHAIN
        name = chain if at == 1 else f"{chain}-{at}"
        for place, (number, text) in enumerate(mine):
            document.put(f"access_list[{name}]/{place}", text, number)
        for port in ports:
            if (path := port_paths(port)["access_list_in"]) not in facts:
                document.put(path, name, mine[0][0])


_SET = re.compile(r"\bset (\w+) *\{[^{}]*\belements *= *\{([^{}]*)\}")
_DEFINE = re.compile(r"^ *define (\w+) *= *\{?([^{}\n]*)\}?", re.MULTILINE)
_USE = re.compile(r"[@$](\w+)")
_MARK = re.compile(r"\bip6? dscp set (\S+)|--set-dscp(?:-class)? (\S+)")
_COMMAND = re.compile(r"\s*(?:pre-|post-)?up (.*)")


def _rule_lines(document: Document) -> Iterator[tuple[int, str]]:
    """Yield number and rule of each line, with the members of named sets, and commands of iptables as rules."""
    text, commands = document.text, document.file == _INTERFACES
    members = {match[1]: match[2] for form in (_SET, _DEFINE) for match in form.finditer(text)}
    first, appended, closing = (list[tuple[int, str]]() for _ in range(3))
    for number, line in enumerate(text.split("\n"), 1):
        command = _COMMAND.match(line) if commands else None
        if mark := _MARK.search(line) if command or not commands else None:
            document.put("routing/setting[dscp set]", mark[1] or mark[2], number)
        if command:
            words = command[1].split()
            made = [(number, rule) for rule in _of_command(words)]
            if "-I" in words:
                first = made + first
            elif "-P" in words:
                closing += made
            else:
                appended += made
        elif not commands:
            yield (
                number,
                _USE.sub(lambda use: f"{{ {members[use[1]]} }}" if use[1] in members else use[0], line),
            )
    yield from (*first, *appended, *closing)


_TARGETS = {"DROP": "drop", "REJECT": "reject", "ACCEPT": "accept"}
_TABLES = ("iptables", "ip6tables", "/sbin/iptables", "/usr/sbin/iptables")


_PLAIN = frozenset({"-A", "-I", "-i", "-s", "-p", "-j", "--dport", "--dports", "--reject-with", "--comment"})
"""Options that `_of_command` reads, or that choose no packets; `-m` is one of them before `_MATCHES`."""
_MATCHES = ("tcp", "udp", "multiport", "comment")
_DROPPED_BY_ALL = {
    "INPUT": (
        "tcp dport { 0-65535 } drop",
        f"udp dport {{ 0-{int(_RDMA) - 1},{int(_RDMA) + 1}-65535 }} drop",
    ),
    "FORWARD": (f"udp dport {_RDMA} drop",),
}
"""Chain -> what a rule or a policy that drops everything in it drops: RDMA is forwarded, sessions end here."""


def _of_command(words: list[str]) -> tuple[str, ...]:
    """Return the rules of nftables that a command of iptables makes, () for any other command."""
    if words[:1] == [] or words[0] not in _TABLES:
        return ()
    given = dict(pairwise(words[1:]))
    if "-P" in given:
        if words[-1] != "DROP":
            return ()
        return _DROPPED_BY_ALL.get(given["-P"], ())
    chain = given.get("-A") or given.get("-I") or ""
    verdict = _TARGETS.get(given.get("-j", ""), "")
    if chain not in ("INPUT", "FORWARD", "PREROUTING") or not verdict:
        return ()
    options = {word for word in words[1:] if word.startswith("-")} - _PLAIN
    loaded = {after for word, after in pairwise(words) if word == "-m"}
    other = "!" in words or options - {"-m"} or not loaded.issubset(_MATCHES)
    port = given.get("--dport") or given.get("--dports")
    protocol = given.get("-p", "all")
    parts = [f'iifname "{given["-i"].replace("+", "*")}"'] if "-i" in given and not other else []
    parts += ["other"] if other else [f"ip saddr {given['-s']}"] if "-s" in given else []
    if not (other or port) and protocol == "all" and chain in _DROPPED_BY_ALL and verdict != "accept":
        return tuple(" ".join((*parts, each)) for each in _DROPPED_BY_ALL[chain])
    if port:
        parts.append(f"{protocol} dport {{ {port.replace(':', '-')} }}")
    elif protocol != "all":
        parts.append(f"meta l4proto {protocol}")
    return (" ".join((*parts, verdict)),)


_CLOSED = re.compile(r"type filter hook (input|forward|prerouting|output|postrouting) .*policy drop;")
_BEYOND = re.compile(r"\b(?:jump|goto|vmap|set)\b|\$|@")


def _closed_chains(text: str) -> list[tuple[int, _FilterRule]]:
    """Return line and last rule of each chain that drops the rest; none where rules are in other places too.

    What is forwarded is RDMA of hosts, and no packet of a session.
    """
    if _BEYOND.search(text):
        return []
    found = [(number, _CLOSED.fullmatch(line.strip())) for number, line in enumerate(text.split("\n"), 1)]
    rdma = "drop protocol udp destination-port 4791"
    return [
        (number, _FilterRule(("*",), rdma if match[1] in ("forward", "postrouting") else "drop"))
        for number, match in found
        if match
    ]


_LOGIN_DROP = re.compile(r"\s*tcp dport 22 (?:counter )?(?:drop|reject)")
_ALL_ACCEPTED = re.compile(r"\s*(?:ct state (?=[\w, {}]*\bnew\b)[\w, {}]* )?(?:counter )?accept")
_REMOVED = re.compile(r"\s*(?:flush ruleset|(?:flush|delete) table .+)")
_WORD = re.compile(r"[a-z]{3,}")
_POLICY = re.compile(r"(?:^|;)\s*policy (?!accept\b|drop\b)(\w+)")
_TO_THE_SWITCH = re.compile(r"\bhook\s+(?:input|ingress|prerouting)\b|^\s*include\b")
"""Chains through which packets to the switch go, and files that may have them."""
_LIST = re.compile(r"(?:=|port|addr|name|type|state|protocol|vmap) *\{")
"""The beginning of members, which may stand on lines of their own."""
_STATEMENTS = re.compile(
    r"\b(?:accept|add|auto-merge|chain|comment|continue|counter|ct|define|delete|devices?|drop|dscp|dup|elements|fib|flags"
    r"|flowtable|flush|fwd|goto|hook|include|interval|jump|limit|log|map|mark|masquerade|meta|meter|notrack|policy|priority"
    r"|queue|quota|redirect|reject|return|set|size|snat|dnat|synproxy|table|timeout|tproxy|type|typeof|update|vmap)\b"
)
"""Words of which every line of a ruleset has one (nft(8)), but for members of sets."""


def state_refusal(document: Document) -> None:
    """State what keeps the list of logins from effect: a text that nft refuses, and lines before and behind it."""
    lines = [line.partition("#")[0].rstrip() for line in document.text.split("\n")]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    drop = next((number for number, line in numbered if _LOGIN_DROP.match(line)), 0)
    tables = [number for number, line in numbered if line.startswith("table ") and line.endswith("{")]
    hooks = [number for number, line in numbered if " hook " in line]
    if drop and tables and not any(map(_TO_THE_SWITCH.search, lines)):
        why = "no chain of it is for packets to the switch (`hook input`)"
        document.put("unread[the list of logins]", why, [*hooks, drop][0])
    within = False
    for number, line in numbered:
        known = _STATEMENTS.search(line) or not _WORD.search(line) or line.endswith("\\")
        if not known and not within and "{" not in line.partition("}")[0]:
            _refuse(
                document, number, "nft knows none of its words as a statement, and refuses the whole file"
            )
        elif match := _POLICY.search(line):
            _refuse(
                document, number, f"a chain cannot {match[1]} by its policy, and nft refuses the whole file"
            )
        elif number < drop and _ALL_ACCEPTED.fullmatch(line):
            document.put("unread[the list of logins]", f"line {number} accepts everything before it", number)
        elif tables and number > tables[-1] and _REMOVED.fullmatch(line):
            document.put("unread[the list of logins]", f"line {number} removes it again", number)
        within = "}" not in line and (within or _LIST.search(line) is not None or line.endswith("\\"))
    if numbered and "".join(lines).count("{") != "".join(lines).count("}"):
        _refuse(document, numbered[-1][0], "its braces are not balanced, and nft refuses the whole file")


def _refuse(document: Document, number: int, why: str) -> None:
    document.put(f"unread[{document.file} line {number}]", why, number)
