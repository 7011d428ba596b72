"""Measure how much of a folder was understood and what that proves: by device, by system and by topic.

A line that no reader knows is counted at the topic of what stands around it, and listed; nothing is passed over.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.facts.frame import KEPT, Frame, Parts, Places, parts_of
from fabricc.facts.paths import list_leaf, path_pattern, replace_keys
from fabricc.facts.statement import HOST, Device, Kind
from fabricc.rules.rule import (
    ADDRESSES,
    BGP,
    BUFFERS,
    CLASSIFICATION,
    ECN,
    HOSTS,
    INTERFACES,
    OTHER,
    PFC,
    POLICY,
    TOPICS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.proof import Finding

_PATHS = tuple((topic, path_pattern(pattern)) for topic, pattern in (
    (PFC, r"interface\[.*/(pfc|watchdog|flow_control)|watchdog/|qos/pfc_priority|qos/traffic_class\[.*/priority_group"),
    (ECN, r".*ecn"),
    (BUFFERS, r"pool/|.*headroom|.*buffer|.*alpha"),
    (CLASSIFICATION, r"qos/|.*(dscp|scheduler|trust|service_policy|qos_setting)|trimming/"),
    (POLICY, r"(route_map|prefix_list|community_list|as_path_list|access_list)\[|.*/(import|export|prefix_list_\w+)$"),
    (ADDRESSES, r"loopback/|management/(address|gateway)"),
    (ADDRESSES, r"interface[_]/(ipv4|ipv6|secondary|gateway|vrf|address_from)"),
    (BGP, r"bgp/|bfd/"),
    (INTERFACES, r"interface\["),
    (OTHER, ""),
))  # fmt: skip
"""Topic of a path of facts, without its routing instance. The first match counts."""
_WORDS = (
    (PFC, re.compile(r"priority-flow|\bpfc|no-drop|\bpause\b|flow-control", re.IGNORECASE)),
    (ECN, re.compile(r"\becn|random-detect|\bwred\b|congestion-notif", re.IGNORECASE)),
    (BUFFERS, re.compile(r"buffer|headroom|\bxoff|\bxon\b|shared-pool|queue-limit", re.IGNORECASE)),
    (CLASSIFICATION, re.compile(r"dscp|\bqos\b|class-map|policy-map|classifier|schedul|traffic-class", re.IGNORECASE)),
    (POLICY, re.compile(r"route-map|prefix-list|community-list|policy-statement|access-list", re.IGNORECASE)),
    (BGP, re.compile(r"\bbgp\b|\bneighbor\b|\bpeer", re.IGNORECASE)),
)  # fmt: skip
"""Words of an unknown line -> topic, where they show it; other lines belong to the topic of the line above."""
_NUMBER = re.compile(r"\d+")
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?\b|\b[0-9a-fA-F:]*::[0-9a-fA-F:]*(?:/\d+)?")
_LONGEST, _COMPARED = 120, 1000


class State(StrEnum):
    """The state of a topic on a device."""

    PROVED = "proved"
    UNPROVED = "unproved"
    UNKNOWN = "unknown"
    SILENT = "not stated"


class Line(NamedTuple):
    """A kind of unknown line: how often it occurs, on how many devices, and one place."""

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
    def share(self) -> Fraction:
        """The understood part of the statements that are not aside."""
        return Fraction(self.understood, max(1, self.statements - self.aside))


@dataclass(frozen=True, slots=True)
class DeviceCoverage:
    """One device: its statements, the state of each topic, and the missing inputs of topics that are not checked."""

    system: str
    counts: Counts
    topics: Mapping[str, State]
    unchecked: Mapping[str, str]

    def shown_state(self, topic: str) -> str:
        """Return the state of a topic, with the input that rules about it lack."""
        why = self.unchecked.get(topic) if self.topics[topic] is State.UNPROVED else None
        return f"not checked: {why}" if why else self.topics[topic].value


@dataclass(frozen=True, slots=True)
class Coverage:
    """A whole folder.

    Attributes:
        devices: by name.
        frequent: lines that nobody knows, the most frequent first.
    """

    devices: Mapping[str, DeviceCoverage]
    frequent: tuple[Line, ...] = ()

    def systems(self) -> Iterator[tuple[str, Counts]]:
        """Yield the sums of each system, and of all (under `""`) if there are several."""
        sums: dict[str, Counts] = {}
        for one in self.devices.values():
            for system in (one.system, ""):
                sums[system] = Counts(*map(sum, zip(sums.get(system, Counts()), one.counts, strict=True)))
        every = sums.pop("", Counts())
        yield from sorted(sums.items())
        if len(sums) > 1:
            yield "", every

    def states(self, topic: str) -> Counter[State]:
        """Return how many devices are in each state of a topic."""
        return Counter(one.topics[topic] for one in self.devices.values())

    @property
    def unknown(self) -> int:
        """Unknown lines."""
        return sum(one.counts.unknown for one in self.devices.values())


class UnknownLines(NamedTuple):
    """Unknown lines of a kind, of one device or of all: their common form, the first line, and their number."""

    pattern: str
    file: str
    line: int
    text: str
    times: int
    devices: int = 1


class UnderstoodLines(NamedTuple):
    """The understood part of one device, by the reader of its files.

    Attributes:
        statements: how many there are; of these `aside` and `unknown` ones.
        stated: topics that something was understood of; `unclear`: those of unknown lines.
        strange: unknown lines, those of a kind together, in order of the first of each.
    """

    statements: int
    aside: int
    unknown: int
    stated: frozenset[str]
    unclear: frozenset[str]
    strange: tuple[UnknownLines, ...]


def measure_understood(
    system: str,
    parts: Parts,
    unknown_lines: Sequence[tuple[str, int, str]],
    aside: frozenset[tuple[str, int]],
    statements: int,
) -> UnderstoodLines:
    """Return the coverage of a device: its facts, unknown lines, ignored ones among them, and all statements."""
    topics = _topics_of(system, parts.frame, parts.places)
    unknown = [each for each in unknown_lines if each[:2] not in aside]
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    if unknown:
        for (file, line), topic in topics.items():
            places[file].append((line, topic))
        for each in places.values():
            each.sort()
    unclear: set[str] = set()
    strange: dict[str, UnknownLines] = {}
    for file, line, text in unknown:
        pattern = _generalize_line(text)
        unclear.add(HOSTS if system == HOST else _topic_of_line(pattern, places.get(file, []), line))
        known = strange.get(pattern) or UnknownLines(pattern, file, line, text.strip()[:_LONGEST], 0)
        strange[pattern] = known._replace(times=known.times + 1)
    lines = len({each[:2] for each in unknown})
    beside = len({each[:2] for each in unknown_lines}) - lines
    return UnderstoodLines(
        max(statements, lines + beside), beside, lines, frozenset(topics.values()), frozenset(unclear),
        tuple(strange.values()),
    )  # fmt: skip


def coverage_of(
    devices: Mapping[str, Device],
    understood: Mapping[str, UnderstoodLines],
    findings: Iterable[Finding],
    unchecked: Mapping[str, Sequence[tuple[str, str]]],
) -> Coverage:
    """Return the coverage of devices of which these findings were made, their files below the folder."""
    wrong: dict[str, set[int]] = defaultdict(set)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            wrong[finding.file].add(finding.line)
    kinds: dict[tuple[str, str], UnknownLines] = {}
    covered: dict[str, DeviceCoverage] = {}
    for name, device in devices.items():
        covered[name] = _cover_device(device, understood[name], wrong, dict(unchecked.get(name, ())))
        for one in understood[name].strange:
            kind = device.system, one.pattern
            if (first := kinds.get(kind)) is None:
                kinds[kind] = one._replace(file=device.paths.get(one.file, one.file))
            else:
                kinds[kind] = first._replace(times=first.times + one.times, devices=first.devices + 1)
    frequent = sorted(kinds.items(), key=lambda kind: (-kind[1].times, kind[0]))
    lines = (
        Line(system, one.text, one.times, one.devices, one.file, one.line) for (system, _), one in frequent
    )
    return Coverage(covered, tuple(lines))


def _cover_device(
    device: Device,
    understood: UnderstoodLines,
    wrong: Mapping[str, Collection[int]],
    unchecked: Mapping[str, str],
) -> DeviceCoverage:
    refuted = _topics_with_findings(device, wrong)
    if device.kind is Kind.SWITCH and device.model is None:
        refuted.add(BUFFERS)
    states = {
        topic: State.UNKNOWN if topic in understood.unclear
        else State.SILENT if topic not in understood.stated
        else State.UNPROVED if topic in refuted or topic in unchecked
        else State.PROVED
        for topic in TOPICS
    }  # fmt: skip
    left = understood.statements - understood.aside - understood.unknown
    reasons = {topic: why for topic, why in unchecked.items() if topic not in refuted}
    return DeviceCoverage(
        device.system,
        Counts(1, understood.statements, left, understood.aside, understood.unknown),
        states,
        reasons,
    )


@lru_cache(maxsize=KEPT)
def _topics_of(system: str, frame: Frame, places: Places) -> dict[tuple[str, int], str]:
    """Return the topic of each place that a fact was read from."""
    of_host = system == HOST
    return {
        place: HOSTS if of_host else topic_of(path)
        for path, place in zip(frame.paths, places, strict=True)
        if place
    }


def _topic_of_line(pattern: str, places: Sequence[tuple[int, str]], line: int) -> str:
    """Return what a line is about: by its own words, else by the nearest fact above it."""
    if topic := _topic_of_words(pattern):
        return topic
    at = bisect_right(places, (line, "\uffff"))
    return places[at - 1][1] if at else OTHER


@lru_cache(1 << 16)
def _topic_of_words(text: str) -> str:
    return next((topic for topic, words in _WORDS if words.search(text)), "")


def _topics_with_findings(device: Device, wrong: Mapping[str, Collection[int]]) -> set[str]:
    """Return topics in which the device has a finding."""
    places = {(file, line) for file, path in device.paths.items() for line in wrong.get(path, ())}
    if not places:
        return set()
    parts = parts_of(device.held)
    topics = _topics_of(device.system, parts.frame, parts.places)
    return {topics.get(place, OTHER) for place in places}


@lru_cache(1 << 15)
def topic_of(path: str) -> str:
    """Return the topic of a fact; facts whose paths differ in what is in brackets alone have the same."""
    while path.startswith("vrf[") and "]/" in path:
        path = list_leaf(path)
    return _topic_of(replace_keys(path, "[*]"))


@lru_cache(1 << 12)
def _topic_of(path: str) -> str:
    return next(topic for topic, pattern in _PATHS if pattern.match(path))


@lru_cache(1 << 16)
def _generalize_line(text: str) -> str:
    """Return a line with placeholders for numbers and addresses."""
    return _NUMBER.sub("#", _ADDRESS.sub("<address>", text.strip()[:_COMPARED]))[:_LONGEST]
