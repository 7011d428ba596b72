"""Quality of service that ports of foreign designs take from profiles of their own, and what the RoCE settings leave.

The words are those of NVIDIA's user guide ("Quality of Service"): port groups, shaping, remarking, link pause, RED.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cumulus.foreign.beyond import list_statements
from fabricc.back.nos.cumulus.startup import expand_members
from fabricc.back.nos.cumulus.words import GLOBAL
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Reading, Value


class _Setting(NamedTuple):
    """The words below a profile, and the line."""

    words: tuple[str, ...]
    line: int


_PROFILES = ("egress-scheduler", "egress-shaper", "link-pause", "remark")
_UNPLANNED = re.compile(
    r"egress-shaper|link-pause|remark\b|ingress-lossy-buffer|alpha_0\b|egress-scheduler:?\s+profile|red:? ['\"]?enable"
)
"""Words of which no plan has any."""
_SHARE = "shared-alpha"
_NO_SHARE = "alpha_0"


def expand_profiles(text: str, file: str, reading: Reading) -> None:
    """Add what ports take from profiles that no plan has, and what changes the classes and pools of all ports."""
    if not _UNPLANNED.search(text):
        return
    profiles: dict[tuple[str, str], list[_Setting]] = {}
    bound: list[tuple[str, str, str, int]] = []
    for node in list_statements(text):
        match node.key:
            case ("qos", kind, name, *words):
                profiles.setdefault((kind, name), []).append(_Setting(tuple(words), node.line))
            case ("interface", port, "qos", kind, "profile", name) if kind in _PROFILES:
                bound.append((port, kind, name, node.line))

    def put(path: str, value: Value, line: int) -> None:
        reading.put(path, value, file, line)

    for port, kind, name, line in bound:
        settings = profiles.get((kind, name), [] if name == GLOBAL else None)
        if settings is None and (path := f"unread[qos {kind} profile {name}]") not in reading.facts:
            put(path, "no profile has this name", line)
        for leaf, value, at in _port_facts(kind, settings or [], line):
            put(port_paths(port)[leaf], value, at)
    for name in sorted({name for _, kind, name, _ in bound if kind == "remark"} | {GLOBAL}):
        for setting in profiles.get(("remark", name), ()):
            match setting.words:
                case ("switch-priority", numbers, "dscp", dscp) if is_number(dscp):
                    for priority in expand_members(numbers):
                        put(f"qos/remark[{priority}]", int(dscp), setting.line)
    for setting in profiles.get(("advance-buffer-config", GLOBAL), ()):
        match setting.words:
            case ("ingress-lossy-buffer", "priority-group", _, "switch-priority", numbers, *_):
                for priority in expand_members(numbers):
                    put(f"pool[lossy]/group[{priority}]", "true", setting.line)
            case ("ingress-lossless-buffer", word, value) if (word, value) == (_SHARE, _NO_SHARE):
                put("pool/lossless_share", 0, setting.line)


def _port_facts(kind: str, settings: list[_Setting], line: int) -> Iterator[tuple[str, Value, int]]:
    """Yield leaf, value and line of what a port takes from its profile of a kind."""
    if kind == "link-pause" and settings:
        yield "flow_control", "on", line
    elif kind == "egress-scheduler":
        weights: dict[str, tuple[str, int]] = {}
        modes: dict[str, str] = {}
        for words, at in settings:
            match words:
                case ("traffic-class", numbers, "bw-percent", value):
                    weights |= dict.fromkeys(expand_members(numbers), (value, at))
                case ("traffic-class", numbers, "mode", value):
                    for queue in expand_members(numbers):
                        modes[queue] = value
                        weights.setdefault(queue, ("", at))
        for queue, (percent, at) in weights.items():
            weighted = modes.get(queue) == "dwrr" and percent not in ("", "0")  # a share of 0 is strict
            yield f"queue[{queue}]/scheduler", f"dwrr {percent}" if weighted else "strict", at
    elif kind == "egress-shaper":
        for setting in settings:
            at = setting.line
            match setting.words:
                case ("port-max-rate", rate):
                    yield "qos_setting[shape rate]", f"{rate} kbps", at
                case ("traffic-class", numbers, "max-rate", rate):
                    for queue in expand_members(numbers):
                        yield f"queue[{queue}]/qos_setting[shape rate]", f"{rate} kbps", at
