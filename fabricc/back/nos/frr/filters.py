"""Read the rules of nftables that drop packets on the ports of a switch with FRR."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.frr.words import MANAGEMENT_INTERFACE
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from fabricc.back.reading import Document

_CHAIN = "input"
_SSH_PORT = 22
_VERDICTS = {"drop": "drop", "reject": "drop", "accept": "accept"}
_QUIET = ("counter", "log", "continue")
_LABELS = ("prefix", "comment", "packets", "bytes", "level", "group")
"""Words of statements that decide nothing, each before a value."""
_TOKEN = re.compile(r'"[^"]*"|\{[^{}]*\}|[^\s{}";]+')


class _FilterRule(NamedTuple):
    """A rule of a chain: the names of ports that it applies to, as patterns, and the entry of a list that it makes."""

    ports: tuple[str, ...]
    text: str


def _parse_filter_rule(line: str) -> _FilterRule | None:
    """Return the rule that a line of nftables states, None for one without a verdict or about logging in alone."""
    tokens = _TOKEN.findall(line)
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
        (number, rule)
        for number, text in enumerate(document.text.split("\n"), 1)
        if (rule := _parse_filter_rule(text.strip()))
    ]
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
        name = _CHAIN if at == 1 else f"{_CHAIN}-{at}"
        for place, (number, text) in enumerate(mine):
            document.put(f"access_list[{name}]/{place}", text, number)
        for port in ports:
            if (path := port_paths(port)["access_list_in"]) not in facts:
                document.put(path, name, mine[0][0])
