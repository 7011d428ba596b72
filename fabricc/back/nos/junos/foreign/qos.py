"""Class of service of Junos that contradicts itself: PFC without effect, pauses of another queue, tiny buffers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos import qos
from fabricc.back.nos.junos.words import FROM, THEN, kept_statements
from fabricc.back.nos.qos_defaults import RDMA_DSCP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Scope
    from fabricc.fabric.facts import Value

_PRIORITIES = 8
_CLASSIFIES = re.compile(r"(?:unit \S+ )?(?:classifiers|forwarding-class) .+")
_OF_UNIT = re.compile(r"unit (\d+) .+")
_REWRITES = re.compile(r"(?:unit \S+ )?rewrite-rules dscp (\S+)")
_RULE = re.compile(r"rewrite-rules dscp (\S+) forwarding-class (\S+) loss-priority low code-points? (\S+)")
_EXACT = re.compile(r"transmit-rate (?:percent (\d+) |(\d+[kmg]) )?exact")
_SHAPE = re.compile(r"shaping-rate (\d+[kmg])")
_TINY = re.compile(r"buffer-size percent 0|buffer-dynamic-threshold [01]")
"""No buffer of its own, or at most 1/64 of what is free (Juniper, `buffer-size` and `buffer-dynamic-threshold`)."""


def is_lossless(forwarding_class: Scope) -> bool:
    """Return whether a class has a PFC priority, and nothing of it may be lost."""
    return {"no_loss", "pfc_priority"} <= forwarding_class.values.keys()


def _points_of(document: Document, classifier: Scope) -> dict[Value, tuple[Scope, int]]:
    """Return code point -> its class and the line of the classifier."""
    classes = document.scope.each("class")
    return {
        dscp: (classes[name], line)
        for name, named in classifier.each("class").items()
        if name in classes
        for dscp, (_, line) in named.table("points").items()
    }


def lost_pfc(document: Document, each: Scope, profile: Scope, classifier: Scope | None) -> int:
    """Return the line because of which PFC of an interface has no effect, 0 if none of them is the odd one.

    Args:
        document: the file.
        each: what the interface refers to.
        profile: its notification profile.
        classifier: its classifier of code points.
    """
    if classifier is None:
        others = [line for words, line in kept_statements(each) if _CLASSIFIES.fullmatch(words)]
        stored = each.values.get("classifier") or each.values.get("fixed")
        return stored[1] if stored else max(others, default=0)
    paused = {dscp: point for dscp, point in profile.each("point").items() if "pfc" in point.values}
    points = _points_of(document, classifier)
    lines = [line for owner, line in points.values() if is_lossless(owner)]
    if lines and paused and RDMA_DSCP not in paused:
        return next(iter(paused.values())).line
    protected = any(map(is_lossless, document.scope.each("class").values()))
    for dscp in paused:
        if dscp in points:
            owner, line = points[dscp]
            heads = {
                _line_above(document, at, "forwarding-class") for each, at in points.values() if each is owner
            }
            if len(heads) > 1:  # another block of the classifier has the name of its class
                line = _line_above(document, line, "forwarding-class")
            return line if protected or "queue" not in owner.values else owner.values["queue"][1]
    if lines and paused:
        return max(lines)
    if any(point.used for point in paused.values()) and "classifier" in each.values:
        return each.values["classifier"][1]
    return next((point.line for point in paused.values()), 0)


def _line_above(document: Document, line: int, word: str) -> int:
    """Return the line of the block that begins with a word, at a line or at most two above; else the line."""
    return next((at for at in range(line, max(line - _DEPTH, 0), -1) if word in document.lines[at - 1]), line)


_DEPTH = 3


def put_contradictions(document: Document, attachments: Sequence[tuple[str, Scope]]) -> None:
    """State what interfaces refer to without effect, pauses of another queue, and code points of two classes."""
    bound: dict[int, Scope] = {}
    classifiers: dict[int, Scope] = {}
    rewrites = set[str]()
    ports = document.scope.each("interface")
    for name, each in attachments:
        for kind, found in (("congestion", bound), ("classifier", classifiers)):
            defined = (
                document.scope.each(kind).get(str(each.values[kind][0])) if kind in each.values else None
            )
            if defined:
                found[id(defined)] = defined
        tagged = any(words.startswith("unit ") or "ieee-802.1" in words for words, _ in kept_statements(each))
        if "classifier" in each.values and "congestion" in each.values and not tagged:
            _put_tagged_pauses(document, name, each)
        for words, line in kept_statements(each):
            if match := _REWRITES.fullmatch(words):
                rewrites.add(match[1])
            number = _OF_UNIT.fullmatch(words)
            if number and name in ports and number[1] not in map(str, ports[name].each("unit")):
                place = f"class-of-service interfaces {name} unit {number[1]}"
                at = _line_above(document, line, f"unit {number[1]}")
                document.put(f"unread[{place}]", "`interfaces` has no such unit", at)
    for unused, profile in document.scope.each("congestion").items() if not bound else ():
        points = [*profile.each("point").values(), *profile.each("paused").values()]
        if lines := [point.values["pfc"][1] for point in points if "pfc" in point.values]:
            document.put(f"qos/setting[unused PFC of {unused}]", "true", lines[0])
    for pattern, each in document.scope.each("attachment").items() if not attachments else ():
        document.put(
            f"unread[class-of-service interfaces {pattern}]", "`interfaces` has no such port", each.line
        )
    classes = {str(name): each for name, each in document.scope.each("class").items() if each.used}
    for profile in bound.values():
        for each in classes.values():
            _put_other_queue(document, profile, each, classes.values(), classifiers.values())
    _put_shared_queues(document, classes)
    lossless = {name: each for name, each in classes.items() if is_lossless(each)}
    _put_filters(document, lossless, _lossless_points(document, classifiers.values()))
    for each in classifiers.values():
        _put_repeated_points(document, each)
    for words, line in kept_statements(document.scope, "qos") if rewrites else ():
        match = _RULE.fullmatch(words)
        if match and match[1] in rewrites and match[2] in classes:
            point, queue = qos.parse_point(match[3]), classes[match[2]].values.get("queue")
            if point is not None and queue:
                document.put(f"qos/setting[set dscp of qos-group {queue[0]}]", point, line)


def _put_tagged_pauses(document: Document, name: str, each: Scope) -> None:
    """State that an interface with an address, whose packets have no VLAN tag, pauses by the priority of the tag."""
    profile = document.scope.each("congestion").get(str(each.values["congestion"][0]))
    routed = any(f"interface[{name}]/{family}" in document.reading.facts for family in ("ipv4", "ipv6"))
    if profile and routed and not profile.each("point"):
        for priority, point in profile.each("paused").items():
            if "pfc" in point.values:
                why = "packets between routed ports have no VLAN tag: pause by `dscp`"
                document.put(f"unread[PFC of ieee-802.1 priority {priority}]", why, point.line)


def _put_other_queue(
    document: Document, profile: Scope, each: Scope, classes: Iterable[Scope], classifiers: Iterable[Scope]
) -> None:
    """State that a pause for the priority of a lossless class stops another queue than that of the class.

    Which of the numbers is the odd one, other classes and the code points of the class show.
    """
    stopped = profile.table("stopped")
    if not stopped or not is_lossless(each) or "queue" not in each.values:
        return
    (priority, at), (queue, defined) = each.values["pfc_priority"], each.values["queue"]
    if priority not in range(_PRIORITIES):  # a commit refuses it
        return
    if priority in stopped:
        other, line = stopped[priority]
        taken = {cls.values["queue"][0] for cls in classes if cls is not each and "queue" in cls.values} | {0}
        if other != queue:
            odd = line if other in taken else defined
            why = f"the class without loss of PFC priority {priority} has queue {queue}"
            document.put(f"unread[flow-control-queue {other} of priority {priority}]", why, odd)
        return
    for number, (other, line) in stopped.items():
        if other == queue:
            points = {
                int(str(dscp)) >> 3
                for classifier in classifiers
                for dscp, (owner, _) in _points_of(document, classifier).items()
                if owner is each
            }
            odd = (
                at
                if number in points and priority not in points
                else _line_above(document, line, "code-point")
            )
            why = f"the class of its queue {queue} has PFC priority {priority}"
            document.put(f"unread[output code-point of priority {number}]", why, odd)


def _lossless_points(document: Document, classifiers: Iterable[Scope]) -> set[Value]:
    """Return the code points that classifiers lead into a class that may not lose packets."""
    points = (_points_of(document, each).items() for each in classifiers)
    return {dscp for of in points for dscp, (owner, _) in of if is_lossless(owner)}


def _put_filters(document: Document, lossless: Mapping[str, Scope], points: Collection[Value]) -> None:
    """State terms of filters that lead packets of RDMA, or all packets, to a lossy class, or drop most.

    A term gets what the terms before it left: none of RDMA after one that takes all of it.
    """
    slow = {
        match[1]
        for words, _ in kept_statements(document.scope, "qos")
        if (match := _POLICER.fullmatch(words)) and int(match[2]) * _UNITS[match[3]] < _SLOW_KBPS
    } & {
        match[1]
        for words, _ in kept_statements(document.scope, "qos")
        if (match := _DISCARDS.fullmatch(words))
    }
    for name, each in (
        pair for family in document.scope.each("filters").values() for pair in family.each("filter").items()
    ):
        for term in each.each("term").values():
            matched = [*term.tables, *(words.partition(" ")[0] for words, _ in kept_statements(term, FROM))]
            ports = {*map(str, term.table("destination-port"))}
            if "4791" not in ports and not set(matched) <= {"protocol"}:
                continue
            if (protocols := {*map(str, term.table("protocol"))}) and protocols.isdisjoint(_UDP):
                continue
            for words, line in kept_statements(term, THEN):
                word, _, value = words.partition(" ")
                other = word == "dscp" and bool(points) and qos.parse_point(value) not in (None, *points)
                if lossless and (other or (word == "forwarding-class" and value not in lossless)):
                    document.put(f"qos/setting[lossy by filter {name}]", words, line)
                elif word == "policer" and value in slow:
                    document.put(f"qos/setting[policed by filter {name}]", value, line)
            if term.values.get("action", ("", 0))[0] != "next term":
                break


_UDP = ("udp", "17")
_POLICER = re.compile(r"policer (\S+) if-exceeding bandwidth-limit (\d+)([kmg])")
_DISCARDS = re.compile(r"policer (\S+) then discard")
_UNITS = {"k": 1, "m": 1000, "g": 1_000_000}
_SLOW_KBPS = 500_000
"""Half of the slowest port of a data center."""


def _put_shared_queues(document: Document, classes: Mapping[str, Scope]) -> None:
    """State classes that may lose packets, and share the queue of a class that may not."""
    stated = [(name, each, each.values["queue"]) for name, each in classes.items() if "queue" in each.values]
    lossless = {queue: name for name, each, (queue, _) in stated if is_lossless(each)}
    for name, each, (queue, line) in stated:
        if queue in lossless and not is_lossless(each) and line:
            why = f"its queue {queue} is that of {lossless[queue]}, which PFC stops"
            document.put(f"unread[forwarding class {name}]", why, line)


def _put_repeated_points(document: Document, classifier: Scope) -> None:
    """State code points that a classifier leads into two classes, at the one which may lose packets."""
    seen: dict[Value, tuple[Captured, int]] = {}
    classes = document.scope.each("class")
    for name, named in classifier.each("class").items():
        for dscp, (_, line) in named.table("points").items():
            other, first = seen.setdefault(dscp, (name, line))
            if other != name:
                mine = name in classes and is_lossless(classes[name])
                why = f"the classifier leads it to {other if not mine else name} too"
                document.put(f"unread[code point {dscp} of {name if not mine else other}]", why,
                             first if mine else line)  # fmt: skip


def limits_of(scheduler: Scope) -> Iterator[tuple[str, Value, int]]:
    """Yield what a scheduler takes from its queue: a rate that it may not exceed, and a tiny buffer."""
    for words, line in kept_statements(scheduler):
        if match := _SHAPE.fullmatch(words):
            yield "setting[shape rate]", match[1], line
        elif match := _EXACT.fullmatch(words):
            percent = match[1] or str(scheduler.values.get("percent", ("", 0))[0])
            if match[1] and "strict" not in scheduler.values:
                yield "scheduler", f"dwrr {percent}", line
            if percent:
                yield "shaping_percent", int(percent), line
            elif match[2]:
                yield "setting[shape rate]", match[2], line
        elif _TINY.fullmatch(words):
            yield "setting[tiny buffer]", words, line


def put_unused_curves(document: Document, scheduler: Scope) -> None:
    """State curves for TCP alone, since RoCEv2 is UDP (Juniper, `drop-profile-map`)."""
    for words, line in kept_statements(scheduler):
        if words.startswith("drop-profile-map ") and " protocol tcp " in words:
            document.put(f"unread[{words}]", "packets of RDMA are UDP", line)


def put_unused_points(document: Document) -> None:
    """Reject code points of notification profiles that no interface pauses; state them if the profile pauses others."""
    for profile in document.scope.each("congestion").values():
        points = profile.each("point")
        bound = any(point.used for point in points.values())
        for dscp, point in points.items():
            if not point.used:
                document.reject_all(point)
                if bound and "pfc" in point.values:
                    why = "no forwarding class without loss has this code point"
                    document.put(f"unread[PFC of code point {dscp}]", why, point.values["pfc"][1])
