"""Reads class of service: classes and profiles first, then what each interface uses of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fabricc.nos.junos.read_bgp import Shared
from fabricc.nos.junos.read_cos_profiles import Congestion, Scheduler, congestion, drop_profiles, schedulers
from fabricc.nos.junos.vocabulary import ALPHA_OFFSET

if TYPE_CHECKING:
    from fabricc.nos.junos.read_device import Put
    from fabricc.nos.junos.tree import Node

    Place = tuple[int, int]


@dataclass(slots=True)
class ForwardingClass:
    """One class: its queue, and its PFC priority when nothing of it may be lost."""

    queue: Place
    no_loss: int = 0
    pfc_priority: Place | None = None


@dataclass(slots=True)
class Cos:
    """Everything that interfaces refer to by name."""

    classes: dict[str, ForwardingClass] = field(default_factory=dict)
    classifiers: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    congestion: dict[str, Congestion] = field(default_factory=dict)
    schedulers: dict[str, Scheduler] = field(default_factory=dict)
    maps: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)
    dynamic_th: Place | None = None


def read_cos(root: Node, put: Put) -> None:
    """State the facts of `class-of-service`."""
    cos = root.get("class-of-service")
    if cos is None:
        return
    found = Cos(
        classes=_classes(cos),
        classifiers=_classifiers(cos),
        congestion=congestion(cos),
        schedulers=schedulers(cos, drop_profiles(cos)),
        maps={node.word: _map(node) for node in cos.below("scheduler-maps")},
    )
    for forwarding_class in found.classes.values():
        queue, line = forwarding_class.queue
        put(f"qos/traffic_class[{queue}]/queue", queue, line)
        if forwarding_class.no_loss and forwarding_class.pfc_priority:
            put(f"qos/traffic_class[{queue}]/priority_group", *forwarding_class.pfc_priority)
    _shared_buffer(cos, found, put)
    _attachments(root, cos, found, put)


def _classes(cos: Node) -> dict[str, ForwardingClass]:
    classes: dict[str, ForwardingClass] = {}
    for node in cos.below("forwarding-classes", "class"):
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


def _classifiers(cos: Node) -> dict[str, dict[int, tuple[str, int]]]:
    found: dict[str, dict[int, tuple[str, int]]] = {}
    for node in cos.below("classifiers", "dscp"):
        points = found.setdefault(node.word, {})
        for forwarding_class in node.below("forwarding-class"):
            for point in forwarding_class.below("loss-priority", "low", "code-points"):
                if len(point.word) == 6 and not point.word.strip("01") and (line := point.take()):
                    points[int(point.word, 2)] = (forwarding_class.word, line)
    return found


def _map(node: Node) -> list[tuple[str, str, int]]:
    return [
        (forwarding_class.word, *scheduler)
        for forwarding_class in node.below("forwarding-class")
        if (scheduler := forwarding_class.value("scheduler"))
    ]


def _shared_buffer(cos: Node, found: Cos, put: Put) -> None:
    for direction in ("ingress", "egress"):
        for partition in cos.below("shared-buffer", direction, "buffer-partition"):
            if percent := partition.number("percent"):
                put(f"pool/{direction}_{partition.word.replace('-', '_')}_percent", *percent)
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
    mapped = {dscp: Shared() for dscp in range(64)}
    stopped: dict[int, Shared] = {}
    watchdog = {key: Shared() for key in ("detect_ms", "restore_ms", "poll_ms", "action")}
    for name, node in chosen:
        prefix = f"interface[{name}]/"
        points = _trust(prefix, node, found, mapped, put)
        _scheduling(prefix, node, found, put)
        profile = node.value("congestion-notification-profile")
        if profile and profile[0] in found.congestion:
            _lossless(prefix, profile[1], found.congestion[profile[0]], points, found, put)
            found.congestion[profile[0]].note(stopped, watchdog)
    for dscp, shared in mapped.items():
        shared.state(f"qos/dscp[{dscp}]/traffic_class", put)
    for priority, shared in stopped.items():
        shared.state(f"qos/pfc_priority[{priority}]/queue", put)
    for key, shared in watchdog.items():
        shared.state(f"watchdog/{key}", put)


def _trust(
    prefix: str, node: Node, found: Cos, mapped: dict[int, Shared], put: Put
) -> dict[int, tuple[ForwardingClass, int]]:
    """State the trust of an interface and note its map; the class of each code point."""
    unit = node.get("unit", "0") or node.get("unit", "*")
    name = unit.value("classifiers", "dscp") if unit else None
    if name is None or name[0] not in found.classifiers:
        return {}
    put(prefix + "trust", "dscp", name[1])
    points = {}
    for dscp, (forwarding_class, line) in found.classifiers[name[0]].items():
        if forwarding_class in found.classes:
            points[dscp] = (found.classes[forwarding_class], line)
            mapped[dscp].note(points[dscp][0].queue[0], line)
    return points


def _scheduling(prefix: str, node: Node, found: Cos, put: Put) -> None:
    name = node.value("scheduler-map")
    for forwarding_class, scheduler, _ in found.maps.get(name[0], ()) if name else ():
        if forwarding_class in found.classes and scheduler in found.schedulers:
            queue = found.classes[forwarding_class].queue[0]
            for key, value, line in found.schedulers[scheduler].stated():
                put(f"{prefix}queue[{queue}]/{key}", value, line)


def _lossless(
    prefix: str,
    line: int,
    profile: Congestion,
    points: dict[int, tuple[ForwardingClass, int]],
    found: Cos,
    put: Put,
) -> None:
    """State PFC of an interface: code points that its profile pauses and whose class may not lose anything."""
    paused: dict[int, int] = {}
    effective = []
    for dscp, at in profile.points.items():
        forwarding_class = points[dscp][0] if dscp in points else None
        if forwarding_class and forwarding_class.no_loss and forwarding_class.pfc_priority:
            paused[forwarding_class.pfc_priority[0]] = at
            effective.append(dscp)
    put(prefix + "pfc", ",".join(map(str, sorted(paused))), max(paused.values(), default=line))
    put(prefix + "pfc_dscps", ",".join(map(str, sorted(effective))), max(paused.values(), default=line))
    guards = profile.watchdog and all(priority in profile.outputs for priority in paused)
    put(prefix + "watchdog", "true" if guards else "false", profile.watchdog or line)
    for key, shared in profile.sizes.items():
        shared.state(f"{prefix}headroom/{key}", put)
    if found.dynamic_th:
        put(f"{prefix}headroom/dynamic_th", *found.dynamic_th)
