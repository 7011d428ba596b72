"""Settings of EOS, NX-OS and Junos by which a switch, a port, a session or a log server stays without its purpose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.fabric.facts import Value

_SWITCH = (
    (
        re.compile(r"bgp/setting\[isolate\]"),
        re.compile(r"(?!false).*"),
        "is isolated: its neighbors avoid it",
    ),
    (
        re.compile(r"bgp/distance"),
        re.compile(r"255( .*)?"),
        "gives routes of BGP the distance 255, so it uses none",
    ),
)
"""Nexus 9000 NX-OS unicast guide, `isolate`, and Arista EOS user manual, `distance bgp`."""
_LINES = ((re.compile(r"quiesce|system mode maintenance"), "is in maintenance: its neighbors avoid it"),)
"""Arista EOS user manual, "Maintenance Mode", and Nexus 9000 NX-OS system management guide, "GIR"."""
_LOOPED = ("setting[loopback]", "setting[traffic-loopback]")
DELAY = "setting[out-delay"
"""The facts of sessions that hold announcements back begin with this."""
_DELAY = re.compile(rf"{re.escape(DELAY)}(?: (\d+))?\]")
_LONGEST_DELAY_S = 30
"""A delay of announcements that exceeds every default (RFC 4271, section 10: 30 s for eBGP)."""
_QUIET = re.compile(r"no logging on|logging trap (?:emergencies|alerts|critical|[012])")
_SILENT = ("none", "emergency", "alert", "critical")
_JUNOS_LOG = re.compile(r"platform/syslog\[([^]]+)\]/any")
_NXOS_LOG = re.compile(r"\s*logging server \S+ [012](?: .*)?")


def describe_idle_switch(path: str, value: object) -> str:
    """Return how a fact keeps a switch from its traffic, "" for any other fact."""
    for form, text, effect in _SWITCH if path.startswith("bgp/") else ():
        if form.fullmatch(path) and text.fullmatch(str(value)):
            return effect
    return ""


def describe_idle_line(text: str) -> str:
    """Return how a line that no row reads keeps a switch from its traffic, "" for any other line."""
    return next((effect for form, effect in _LINES if form.fullmatch(text.strip())), "")


def is_looped(leaf: str, value: object) -> bool:
    """Return whether a port returns its packets to itself: `loopback` of Junos, `traffic-loopback` of EOS."""
    return leaf in _LOOPED and value not in ("false", "off", "none")


def announcement_delay(leaf: str, value: object) -> int | None:
    """Return for how many seconds a session holds its announcements back, if that is longer than any default."""
    match = _DELAY.fullmatch(leaf)
    seconds = match and (match[1] or str(value))
    return int(seconds) if seconds and is_number(seconds) and int(seconds) > _LONGEST_DELAY_S else None


_ARP = (
    re.compile(r"routing/setting\[arp (\S+) \S+ arpa\]"),
    re.compile(r"interface\[[^]]+\]/setting\[(?:ip )?arp (\S+?)(?: mac)?\]"),
)
"""A fixed MAC address of a neighbor: `arp` of EOS, `ip arp` of NX-OS, and `arp` below an address of Junos."""


def fixed_neighbor(path: str) -> str:
    """Return the address whose MAC address a fact fixes, "" for any other fact."""
    return next((match[1] for form in _ARP if (match := form.fullmatch(path))), "")


_BFD = re.compile(r"(\d+) (?:min-rx )?(\d+) (?:multiplier )?(\d+)")


def detection_of_port(leaf: str, value: object) -> int | None:
    """Return the milliseconds after which BFD of a port notices a failure (EOS, NX-OS)."""
    match = _BFD.fullmatch(str(value)) if leaf in ("bfd", "setting[bfd interval]") else None
    return int(match[2]) * int(match[3]) if match else None


_HIDING = ("no-advertise", "no-export")
_AGGREGATES = ("bgp/aggregate[", "bgp/setting[aggregate-address ", "routing/setting[aggregate ")


def hiding_aggregates(facts_below: Callable[[str], Mapping[str, Value]]) -> Iterator[tuple[str, str]]:
    """Yield the path of an aggregate that neighbors do not pass on, or of the map that marks it so, and the mark.

    Args:
        facts_below: returns the facts of a switch whose paths begin with a text.
    """
    for start in _AGGREGATES:
        for path, value in facts_below(start).items():
            words = str(value).split()
            if path.endswith(" community]") and words[:1] and words[0] in _HIDING:
                yield path, words[0]
            name = words[words.index("attribute-map") + 1] if "attribute-map" in words[:-1] else ""
            for clause, text in facts_below(f"route_map[{name}]/").items() if name else ():
                yield from ((clause, mark) for mark in _HIDING if f"community {mark}" in str(text))


def quiets_log(path: str, value: object, line: str) -> bool:
    """Return whether a log server gets next to nothing: no message, or those of the gravest levels alone."""
    if match := _JUNOS_LOG.fullmatch(path):
        return match[1] != "messages" and str(value) in _SILENT
    return path == "management/syslog" and bool(_NXOS_LOG.fullmatch(line))


def quiets_all_logs(text: str) -> bool:
    """Return whether a line that no row reads keeps the messages of a switch from its log server (EOS)."""
    return bool(_QUIET.fullmatch(text.strip()))
