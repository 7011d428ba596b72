"""Quality of service that ports of foreign designs take from profiles of their own, and what the RoCE settings leave.

The words are those of NVIDIA's user guide ("Quality of Service"): port groups, shaping, remarking, link pause, RED.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cumulus.foreign.beyond import list_statements
from fabricc.back.nos.cumulus.startup import expand_members
from fabricc.back.nos.cumulus.words import GLOBAL
from fabricc.back.reading.rows import word_variants
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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


_POOL = "qos/setting[{}_service_pool.{}.percent]"
_OF_PFC = "qos/setting[flow_control.{}_service_pool]"


def state_pools(reading: Reading) -> None:
    """State which share of the buffer the pool of PFC has, and that it has none of its own."""
    for side in ("ingress", "egress"):
        flow = _OF_PFC.format(side)
        if flow not in reading.facts:
            continue
        number, (file, line) = reading.facts[flow], reading.lines[flow]
        shares = {
            path: int(float(str(value)))
            for path, value in reading.facts.items()
            if path.startswith(_POOL.partition("{")[0] + side)
            and path.endswith(".percent]")
            and _is_share(value)
        }
        own = _POOL.format(side, number)
        if own not in shares:
            reading.put(f"unread[{flow[12:-1]}]", f"no line gives the pool {number} a share", file, line)
        elif number == "0" and len(shares) > 1:
            reading.put(f"unread[{flow[12:-1]}]", "the pool 0 is that of other traffic", file, line)
        elif side == "ingress":
            reading.put("pool/lossless_percent", shares.pop(own), *reading.lines[own])
            for path in [*shares][:1]:
                reading.put("pool/lossy_percent", sum(shares.values()), *reading.lines[path])
        elif not shares[own]:
            reading.put(
                f"unread[{flow[12:-1]}]", f"the pool {number} has 0 % of the buffer", *reading.lines[own]
            )


def _is_share(value: Value) -> bool:
    return is_number(str(value).replace(".", "", 1))


_SHORTEST = 4
"""Letters of a word that may be a misspelled one."""


def state_misspelled(reading: Reading, places: Iterable[tuple[str, int, str]], known: Iterable[str]) -> None:
    """State that no program reads words which are nearly those of a file: `places` have file, line and word."""
    words = frozenset(known)
    for file, line, word in places:
        near = words.intersection(word_variants(word)) if len(word) >= _SHORTEST and word not in words else ()
        if near:
            reading.put(f"unread[{word}]", f"no program reads it, it is {min(near)}", file, line)


# --- groups of ports in text files ---------------------------------------------------------------------

_PFC = {"cable_length": "headroom/cable_m", "port_buffer_bytes": "headroom/size_bytes"}
_MARKS = {
    "min_threshold_bytes": "ecn_min_bytes", "max_threshold_bytes": "ecn_max_bytes", "probability": "ecn_max_percent",
}  # fmt: skip


class Group:
    """A group of ports: its keys with their words and lines."""

    def __init__(self) -> None:
        self.settings: dict[str, tuple[list[str], int]] = {}

    def words(self, key: str) -> list[str]:
        """Return the words of a key."""
        return self.settings.get(key, ([], 0))[0]

    def line(self, key: str) -> int:
        """Return the line of a key, 0 without one."""
        return self.settings.get(key, ([], 0))[1]


def parse_number(text: str) -> int | None:
    """Return the number of `cos_3`."""
    digits = text.rpartition("_")[2]
    return int(digits) if is_number(digits) and len(digits) < 4 else None


def _integer_of(group: Group, key: str) -> int | None:
    words = group.words(key)
    return int(words[0]) if len(words) == 1 and is_number(words[0]) else None


def _pfc_facts(group: Group) -> Iterator[tuple[str, Value, int]]:
    """State PFC in both directions; a single direction is stated as such."""
    off = [way for way in ("tx_enable", "rx_enable") if group.words(way) == ["false"]]
    if group.words("cos_list"):
        priorities = ",".join(sorted(group.words("cos_list")))
        leaf = "qos_setting[pfc one way]" if off else "pfc"
        yield leaf, priorities, group.line(off[0] if off else "cos_list")
    for key, leaf in _PFC.items():
        if (value := _integer_of(group, key)) is not None:
            yield leaf, value, group.line(key)
    size, pause, delta = (_integer_of(group, key) for key in ("port_buffer_bytes", "xoff_size", "xon_delta"))
    if size is not None and pause is not None:
        yield "headroom/xoff_bytes", size - pause, group.line("xoff_size")
    if pause is not None and delta is not None:
        yield "headroom/xon_bytes", pause - delta, group.line("xon_delta")


def _marking_facts(group: Group) -> Iterator[tuple[str, Value, int]]:
    """Marking of queues, or dropping where it does not mark."""
    marks = group.words("ecn_enable") != ["false"]
    drops = group.words("red_enable") == ["true"]
    if not marks and not drops:
        yield "qos_setting[congestion-control]", "off", group.line("ecn_enable")
    for queue in group.words("egress_queue_list"):
        if marks and drops:
            yield f"queue[{queue}]/lossy_buffer", "with RED", group.line("red_enable")
        for key, leaf in _MARKS.items():
            if (value := _integer_of(group, key)) is not None and (marks or drops):
                yield (
                    f"queue[{queue}]/{leaf if marks else leaf.replace('ecn_', 'drop_')}",
                    value,
                    group.line(key),
                )


def _watchdog_facts(group: Group) -> Iterator[tuple[str, Value, int]]:
    yield "watchdog", "true", group.line("port_set")


def _scheduler_facts(group: Group) -> Iterator[tuple[str, Value, int]]:
    """Weights of queues; no weight is strict priority."""
    for key in group.settings:
        queue, _, what = key.partition(".")
        if what == "bw_percent" and (number := parse_number(queue)) is not None:
            weight = _integer_of(group, key)
            yield f"queue[{number}]/scheduler", f"dwrr {weight}" if weight else "strict", group.line(key)


def _pause_facts(group: Group) -> Iterator[tuple[str, Value, int]]:
    """Pause of all traffic, IEEE 802.3x."""
    ways = [
        way for way, key in (("send", "tx_enable"), ("receive", "rx_enable")) if group.words(key) != ["false"]
    ]
    yield "flow_control", "both" if len(ways) == 2 else "".join(ways) or "off", group.line("port_set")


GROUP_FACTS: Mapping[str, Callable[[Group], Iterator[tuple[str, Value, int]]]] = {
    "pfc": _pfc_facts, "ecn_red": _marking_facts, "pfc_watchdog": _watchdog_facts,
        "egress_sched": _scheduler_facts, "link_pause": _pause_facts,
}  # fmt: skip
STATED: Mapping[str, frozenset[str]] = {
    "pfc": frozenset({"port_set", "cos_list", "tx_enable", "rx_enable", "xoff_size", "xon_delta", *_PFC}),
    "ecn_red": frozenset({"port_set", "egress_queue_list", "ecn_enable", *_MARKS}),
    "pfc_watchdog": frozenset({"port_set"}),
    "egress_sched": frozenset({"port_set"}),
    "link_pause": frozenset({"port_set", "tx_enable", "rx_enable"}),
}
"""Keys of a group that its facts contain."""
