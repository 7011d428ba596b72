"""Rules of the traffic policies of EOS, in the words of `packet_filters`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Value

_START = "routing/setting[traffic-policies traffic-policy "
_MATCH = re.compile(r"match (\S+) ipv4(?: (.+))?")
_PROTOCOL = re.compile(r"protocol (\S+)(?: destination port (\S+))?")
_PREFIX = re.compile(r"(source|destination) prefix (.+)")
_ACTIONS = re.compile(r"actions(?: (\S+))?")


def policy_rules(facts: Mapping[str, Value], name: str) -> list[tuple[str, str]]:
    """Return the path and the text of each rule of a traffic policy for IPv4, in order.

    A match applies to packets that meet all of its conditions; what none matches is forwarded (EOS manual, "Traffic
    Policy").
    """
    rules: dict[str, tuple[str, list[str]]] = {}
    start = f"{_START}{name} "
    for path in facts:
        match = _MATCH.fullmatch(path[len(start) : -1]) if path.startswith(start) else None
        if match is None:
            continue
        place, words = rules.get(match[1], (path, ["permit"]))
        rest = match[2] or ""
        if found := _PROTOCOL.fullmatch(rest):
            words.append(f"protocol {found[1]}" + (f" destination-port {found[2]}" if found[2] else ""))
        elif found := _PREFIX.fullmatch(rest):
            words.append(f"{found[1]}-address {found[2]}")
        elif found := _ACTIONS.fullmatch(rest):
            if found[1] == "drop":
                place, words[0] = path, "deny"
        elif rest:
            words.append("other condition")
        rules[match[1]] = place, words
    return [(place, " ".join(words)) for place, words in rules.values()]
