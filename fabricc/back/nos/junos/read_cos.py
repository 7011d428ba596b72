"""Reads class of service: classes and profiles first, then what each interface uses of them."""

from __future__ import annotations

from dataclasses import field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.read_bgp import Shared
from fabricc.back.nos.junos.read_cos_profiles import Congestion, Scheduler, congestion, schedulers
from fabricc.back.nos.junos.vocabulary import ALPHA_OFFSET
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.tree import Node
    from fabricc.fabric.facts import Value

    Place = tuple[int, int]


@dataclass(slots=True)
class ForwardingClass:
    """One class: its queue, and its PFC priority when nothing of it may be lost."""

    queue: Place
    no_loss: int = 0
    pfc_priority: Place | None = None


@dataclass(slots=True)
class Cos:
    """Everything that interfaces refer to by name; of a map the rest of each fact's path, the value and its line."""

    classes: dict[str, ForwardingClass] = field(default_factory=dict)
    classifiers: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    congestion: dict[str, Congestion] = field(default_factory=dict)
    maps: dict[str, list[tuple[str, Value, int]]] = field(default_factory=dict)
    dynamic_th: Place | None = None


Stated = list[tuple[str, "Value", int]]
"""The rest of each fact's path, its value, and its line, 0 for that of whoever refers to it."""
Points = dict[int, tuple[ForwardingClass, int]]
"""Code point -> its class, and the line that says so."""


_UNTRUSTED: Points = {}


def read_cos(root: Node, put: Put) -> None:
    """State the facts of `class-of-service`."""
    cos = root.get("class-of-service")
    if cos is None:
        return
    found = _definitions(cos)
    _shared_buffer(cos, found, put)
    _attachments(root, cos, found, put)
    for forwarding_class in found.classes.values():
        queue, line = forwarding_class.queue
        put(f"qos/traffic_class[{queue}]/queue", queue, line)
        if forwarding_class.no_loss and forwarding_class.pfc_priority:
            put(f"qos/traffic_class[{queue}]/priority_group", *forwarding_class.pfc_priority)


def _definitions(cos: Node) -> Cos:
    """Everything that some interface uses, itself or by way of another definition; the rest stays unread."""
    interfaces = list(cos.below("interfaces"))
    maps = _used(cos.below("scheduler-maps"), interfaces, "scheduler-map")
    classifiers = _used(
        cos.below("classifiers", "dscp"),
        [u for i in interfaces for u in i.below("unit")],
        "classifiers",
        "dscp",
    )
    referring = [entry for node in (*maps, *classifiers) for entry in node.below("forwarding-class")]
    classes = _classes(cos, {entry.word for entry in referring})
    defined = schedulers(cos, {name.word for entry in referring for name in entry.below("scheduler")})
    return Cos(
        classes=classes,
        classifiers={node.word: _classifier(node, classes) for node in classifiers},
        congestion={
            node.word: congestion(node)
            for node in _used(
                cos.below("congestion-notification-profile"), interfaces, "congestion-notification-profile"
            )
        },
        maps={node.word: _map(node, classes, defined) for node in maps},
    )


def _used(definitions: Iterable[Node], users: Iterable[Node], *words: str) -> list[Node]:
    """The definitions that the users name after these words."""
    names = {name.word for user in users for name in user.below(*words)}
    return [node for node in definitions if node.word in names]


def _classes(cos: Node, used: Container[str]) -> dict[str, ForwardingClass]:
    classes: dict[str, ForwardingClass] = {}
    for node in cos.below("forwarding-classes", "class"):
        if node.word not in used:
            continue
        queue = next((n for n in node.below("queue-num") if n.word.isdecimal() and len(n.word) < 4), None)
        if queue is None:
            continue
        queue.take()
        found = ForwardingClass((int(queue.word), queue.line))
        # On one line a device puts the other attributes behind the queue.
        for at in (node, queue):
            if flag := at.get("no-loss"):
                found.no_loss = flag.take() or flag.line
                found.pfc_priority = flag.number("pfc-priority") or found.pfc_priority
            found.pfc_priority = at.number("pfc-priority") or found.pfc_priority
        classes[node.word] = found
    return classes


def _classifier(node: Node, classes: Container[str]) -> dict[int, tuple[str, int]]:
    points: dict[int, tuple[str, int]] = {}
    for forwarding_class in node.below("forwarding-class"):
        if forwarding_class.word not in classes:
            continue
        for point in forwarding_class.below("loss-priority", "low", "code-points"):
            if len(point.word) == 6 and not point.word.strip("01") and (line := point.take()):
                points[int(point.word, 2)] = (forwarding_class.word, line)
    return points


def _map(
    node: Node, classes: dict[str, ForwardingClass], defined: dict[str, Scheduler]
) -> list[tuple[str, Value, int]]:
    return [
        (f"queue[{classes[forwarding_class.word].queue[0]}]/{key}", value, line)
        for forwarding_class in node.below("forwarding-class")
        if forwarding_class.word in classes
        and (scheduler := forwarding_class.reference(defined, "scheduler"))
        for key, value, line in defined[scheduler[0]].stated()
    ]


def _shared_buffer(cos: Node, found: Cos, put: Put) -> None:
    for direction in ("ingress", "egress"):
        for partition in cos.below("shared-buffer", direction, "buffer-partition"):
            if percent := partition.number("percent"):
                put(f"pool/{direction}_{partition.word.replace('-', '_')}_percent", *percent)
        if percent := cos.number("dedicated-buffer", direction, "percent"):
            put(f"pool/{direction}_dedicated_percent", *percent)
    if threshold := cos.number(
        "shared-buffer", "ingress", "buffer-partition", "lossless", "dynamic-threshold"
    ):
        found.dynamic_th = (threshold[0] - ALPHA_OFFSET, threshold[1])


def _attachments(root: Node, cos: Node, found: Cos, put: Put) -> None:
    """State what every interface has; a pattern such as `et-*` stands for all that are in use and not named."""
    nodes = {node.word: node for node in cos.below("interfaces")}
    patterns = [node for name, node in nodes.items() if "*" in name]
    chosen = [(name, node) for name, node in nodes.items() if "*" not in name]
    for interface in root.below("interfaces") if patterns else ():
        if interface.word not in nodes and interface.get("unit"):
            for node in patterns:
                if fnmatchcase(interface.word, node.word):
                    chosen.append((interface.word, node))
                    break
    trusted: dict[str, Points] = {}
    lossless: dict[tuple[str, int], Stated] = {}
    stopped: dict[int, Shared] = {}
    watchdog = {key: Shared() for key in ("detect_ms", "restore_ms", "poll_ms", "action")}
    for name, node in chosen:
        prefix = f"interface[{name}]/"
        points = _trust(prefix, node, found, trusted, put)
        _scheduling(prefix, node, found, put)
        profile = node.reference(found.congestion, "congestion-notification-profile")
        if profile:
            pair = (profile[0], id(points))
            if pair not in lossless:
                lossless[pair] = _lossless(found.congestion[profile[0]], points, found)
                found.congestion[profile[0]].note(stopped, watchdog)
            for rest, value, line in lossless[pair]:
                put(prefix + rest, value, line or profile[1])
    mapped: dict[int, Shared] = {}
    for points in trusted.values():
        for dscp, (forwarding_class, line) in points.items():
            mapped.setdefault(dscp, Shared()).note(forwarding_class.queue[0], line)
    for dscp, shared in mapped.items():
        shared.state(f"qos/dscp[{dscp}]/traffic_class", put)
    for priority, shared in stopped.items():
        shared.state(f"qos/pfc_priority[{priority}]/queue", put)
    for key, shared in watchdog.items():
        shared.state(f"watchdog/{key}", put)


def _trust(prefix: str, node: Node, found: Cos, trusted: dict[str, Points], put: Put) -> Points:
    """State the trust of an interface; the class of each code point, kept in `trusted` per classifier."""
    unit = node.get("unit", "0") or node.get("unit", "*")
    name = unit.reference(found.classifiers, "classifiers", "dscp") if unit else None
    if name is None:
        return _UNTRUSTED
    put(prefix + "trust", "dscp", name[1])
    if name[0] not in trusted:
        trusted[name[0]] = {
            dscp: (found.classes[forwarding_class], line)
            for dscp, (forwarding_class, line) in found.classifiers[name[0]].items()
        }
    return trusted[name[0]]


def _scheduling(prefix: str, node: Node, found: Cos, put: Put) -> None:
    name = node.reference(found.maps, "scheduler-map")
    for rest, value, line in found.maps[name[0]] if name else ():
        put(prefix + rest, value, line)


def _lossless(profile: Congestion, points: Points, found: Cos) -> Stated:
    """PFC of an interface: code points that its profile pauses and whose class may not lose anything."""
    paused: dict[int, int] = {}
    effective = []
    for dscp, pfc in profile.points.items():
        forwarding_class = points[dscp][0] if dscp in points else None
        if forwarding_class and forwarding_class.no_loss and forwarding_class.pfc_priority:
            paused[forwarding_class.pfc_priority[0]] = pfc.take()
            effective.append(dscp)
    at = max(paused.values(), default=0)
    guards = profile.watchdog and all(priority in profile.outputs for priority in paused)
    stated: Stated = [
        ("pfc", ",".join(map(str, sorted(paused))), at),
        ("pfc_dscps", ",".join(map(str, sorted(effective))), at),
        ("watchdog", "true" if guards else "false", profile.watchdog),
    ]
    for key, shared in profile.sizes.items():
        shared.state(f"headroom/{key}", lambda *fact: stated.append(fact))
    if found.dynamic_th:
        stated.append(("headroom/dynamic_th", *found.dynamic_th))
    return stated
