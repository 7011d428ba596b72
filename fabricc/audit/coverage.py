"""How much of a folder was understood, and how far that proves anything: by device, by system and by topic.

A line that no reader knows is counted at the topic of what stands around it, and listed; nothing is passed over.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import field
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Kind
from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.model import Device
    from fabricc.proof import Finding

INTERFACES, ADDRESSES, BGP, POLICY, PFC, ECN, BUFFERS, CLASSIFICATION, HOSTS, OTHER = TOPICS = (
    "interfaces", "addresses", "BGP", "policy", "PFC", "ECN", "buffers", "classification", "hosts", "other",
)  # fmt: skip
_PATHS = tuple((topic, re.compile(pattern)) for topic, pattern in (
    (PFC, r"interface\[.*/(pfc|watchdog|flow_control)|watchdog/|qos/pfc_priority|qos/traffic_class\[.*/priority_group"),
    (ECN, r".*ecn"),
    (BUFFERS, r"pool/|.*headroom|.*buffer|.*alpha"),
    (CLASSIFICATION, r"qos/|.*(dscp|scheduler|trust|service_policy|qos_setting)|trimming/"),
    (POLICY, r"(route_map|prefix_list|community_list|as_path_list|access_list)\[|.*/(import|export|prefix_list_\w+)$"),
    (ADDRESSES, r"loopback/|management/(address|gateway)"),
    (ADDRESSES, r"interface\[[^]]*\]/(ipv4|ipv6|secondary|gateway|vrf|address_from)"),
    (BGP, r"bgp/|bfd/"),
    (INTERFACES, r"interface\["),
    (OTHER, ""),
))  # fmt: skip
"""What paths of facts are about; a routing instance before them does not matter. The first that fits counts."""
_WORDS = (
    (PFC, re.compile(r"priority-flow|\bpfc|no-drop|\bpause\b|flow-control", re.IGNORECASE)),
    (ECN, re.compile(r"\becn|random-detect|\bwred\b|congestion-notif", re.IGNORECASE)),
    (BUFFERS, re.compile(r"buffer|headroom|\bxoff|\bxon\b|shared-pool|queue-limit", re.IGNORECASE)),
    (CLASSIFICATION, re.compile(r"dscp|\bqos\b|class-map|policy-map|classifier|schedul|traffic-class", re.IGNORECASE)),
    (POLICY, re.compile(r"route-map|prefix-list|community-list|policy-statement|access-list", re.IGNORECASE)),
    (BGP, re.compile(r"\bbgp\b|\bneighbor\b|\bpeer", re.IGNORECASE)),
)  # fmt: skip
"""Words of a line that nobody knows -> topic, where they tell; else it is of what stands above it."""
_NUMBER = re.compile(r"\d+")
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?\b|\b[0-9a-fA-F:]*::[0-9a-fA-F:]*(?:/\d+)?")
_LONGEST = 120
_KEYS = re.compile(r"\[[^]]*\]")
_KNOWN: dict[tuple[str, str], str] = {}
"""A path before its first and from its last bracket on -> topic."""


class State(StrEnum):
    """What is known of a topic of a device."""

    PROVED = "proved"
    UNPROVED = "unproved"
    UNKNOWN = "unknown"
    SILENT = "not stated"


class Line(NamedTuple):
    """A kind of line that nobody knows: how often it is there, on how many devices, and one place."""

    system: str
    text: str
    times: int
    devices: int
    file: str
    line: int


class Counts(NamedTuple):
    """Statements of devices, each of which is understood, aside or unknown."""

    devices: int = 0
    statements: int = 0
    understood: int = 0
    aside: int = 0
    unknown: int = 0

    @property
    def percent(self) -> float:
        """What is understood of what is not aside."""
        return 100 * self.understood / max(1, self.statements - self.aside)


@dataclass(frozen=True, slots=True)
class Covered:
    """One device: its statements, and the state of each topic."""

    system: str
    counts: Counts
    topics: Mapping[str, State]


@dataclass(frozen=True, slots=True)
class Coverage:
    """A whole folder.

    Attributes:
        devices: by name.
        frequent: lines that nobody knows, the most frequent first.
    """

    devices: Mapping[str, Covered]
    frequent: tuple[Line, ...] = ()

    def systems(self) -> Iterator[tuple[str, Counts]]:
        """The sums of each system, and of all (under `""`) where there are several."""
        sums: dict[str, Counts] = {}
        for one in self.devices.values():
            for system in (one.system, ""):
                sums[system] = Counts(*map(sum, zip(sums.get(system, Counts()), one.counts, strict=True)))
        every = sums.pop("", Counts())
        yield from sorted(sums.items())
        if len(sums) > 1:
            yield "", every

    def states(self, topic: str) -> Counter[State]:
        """How many devices are in each state of a topic."""
        return Counter(one.topics[topic] for one in self.devices.values())

    @property
    def unknown(self) -> int:
        """Lines that nobody knows."""
        return sum(one.counts.unknown for one in self.devices.values())


@dataclass(slots=True)
class _Lines:
    """Unknown lines of a kind on their way to a `Line`."""

    file: str
    line: int
    text: str
    times: int = 0
    devices: set[str] = field(default_factory=set)


def coverage_of(devices: Mapping[str, Device], findings: Iterable[Finding]) -> Coverage:
    """The coverage of devices of which these findings were made, their files below the folder."""
    wrong: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            wrong[finding.file].append((finding.code, finding.line))
    kinds: dict[tuple[str, str], _Lines] = {}
    covered = {name: _covered(device, wrong, kinds) for name, device in devices.items()}
    frequent = sorted(kinds.items(), key=lambda kind: (-kind[1].times, kind[0]))
    lines = (
        Line(system, one.text, one.times, len(one.devices), one.file, one.line)
        for (system, _), one in frequent
    )
    return Coverage(covered, tuple(lines))


def _covered(
    device: Device, wrong: Mapping[str, list[tuple[str, int]]], kinds: dict[tuple[str, str], _Lines]
) -> Covered:
    topics, places = _topics(device)
    stated = set(topics.values())
    unknown_topics: set[str] = set()
    aside: set[tuple[str, int]] = set()
    unknown: set[tuple[str, int]] = set()
    for file, line, text in device.reading.unknown:
        if (file, line) in device.aside:
            aside.add((file, line))
            continue
        unknown.add((file, line))
        alike = _alike(text)
        unknown_topics.add(
            _topic_of_line(alike, places.get(file, []), line) if device.kind is Kind.SWITCH else HOSTS
        )
        path = device.paths.get(file, file)
        kind = kinds.setdefault((device.system, alike), _Lines(path, line, text.strip()[:_LONGEST]))
        kind.times += 1
        kind.devices.add(device.name)
    refuted = _refuted(device, topics, wrong)
    if device.kind is Kind.SWITCH and device.model is None:
        refuted.add(BUFFERS)
    states = {
        topic: State.UNKNOWN if topic in unknown_topics
        else State.SILENT if topic not in stated
        else State.UNPROVED if topic in refuted
        else State.PROVED
        for topic in TOPICS
    }  # fmt: skip
    statements = max(sum(device.statements.values()), len(unknown) + len(aside))
    known = statements - len(aside) - len(unknown)
    return Covered(device.system, Counts(1, statements, known, len(aside), len(unknown)), states)


def _topics(device: Device) -> tuple[dict[tuple[str, int], str], dict[str, list[tuple[int, str]]]]:
    """The topic of each place that a fact was read from, and the same by file, in order of lines."""
    topics = {
        place: HOSTS if device.kind is Kind.HOST else _topic(path)
        for path, place in device.reading.lines.items()
    }
    by_file: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (file, line), topic in topics.items():
        by_file[file].append((line, topic))
    for places in by_file.values():
        places.sort()
    return topics, by_file


def _topic_of_line(alike: str, places: Sequence[tuple[int, str]], line: int) -> str:
    """What a line is about: by its own words, else by the nearest fact above it."""
    if topic := _topic_of_words(alike):
        return topic
    at = bisect_right(places, (line, "\uffff"))
    return places[at - 1][1] if at else OTHER


@lru_cache(1 << 16)
def _topic_of_words(text: str) -> str:
    return next((topic for topic, words in _WORDS if words.search(text)), "")


def _refuted(
    device: Device, topics: Mapping[tuple[str, int], str], wrong: Mapping[str, list[tuple[str, int]]]
) -> set[str]:
    """Topics in which something is wrong with the device."""
    found: set[str] = set()
    for file, path in device.paths.items():
        for _, line in wrong.get(path, ()):
            found.add(topics.get((file, line), OTHER))
    return found


def _topic(path: str) -> str:
    """The topic of a fact; facts whose paths differ in what is in brackets alone have the same."""
    first, last = path.find("["), path.rfind("]")
    if first < 0 or last == len(path) - 1:
        return _topic_of(_KEYS.sub("[*]", path))
    key = path[:first], path[last:]
    if (topic := _KNOWN.get(key)) is None:
        topic = _KNOWN[key] = _topic_of(path)
    return topic


@cache
def _topic_of(path: str) -> str:
    while path.startswith("vrf[") and "]/" in path:
        path = path.partition("]/")[2]
    return next(topic for topic, pattern in _PATHS if pattern.match(path))


@lru_cache(1 << 16)
def _alike(text: str) -> str:
    """A line with numbers and addresses made alike."""
    return _NUMBER.sub("#", _ADDRESS.sub("<address>", text.strip()))[:_LONGEST]
