"""The lossless policy read back: global classification, profiles, and which port is bound to which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import TRIMMING, has
from fabricc.back.nos.cumulus.qos import EGRESS_ALPHA, GLOBAL, LOSSLESS_POOL, LOSSY_POOL
from fabricc.back.nos.cumulus.source import members, number
from fabricc.back.nos.cumulus.words import ALPHAS
from fabricc.fabric.facts import boolean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cumulus.source import Source
    from fabricc.back.nos.cumulus.yaml_nodes import Node

_EXPONENTS = {word: exponent for exponent, word in ALPHAS.items()}
_TRUST = {"l3": "dscp"}
_POOLS = {LOSSLESS_POOL: "lossless", LOSSY_POOL: "lossy"}
_THRESHOLDS = {
    "min-threshold": "ecn_min_bytes",
    "max-threshold": "ecn_max_bytes",
    "probability": "ecn_max_percent",
}


_TABLES = {
    f"qos/mapped[{GLOBAL}]/priority": ("egress-queue-mapping", "switch-priority"),
    f"qos/scheduled[{GLOBAL}]/queue": ("egress-scheduler", "traffic-class"),
    f"qos/marking[{GLOBAL}]/queue": ("congestion-control", "traffic-class"),
}
"""What the facts of a table's rows begin with -> feature and table."""


def read_qos(source: Source) -> None:
    """Classification, queues, pools and the watchdog; ports are read by `read_port_qos`."""
    qos = source.root.get("qos")
    if qos is None:
        source.lacks(source.root, "qos is missing")
        return
    mapping = qos.get("mapping", GLOBAL)
    for dscp, node in _numbered(mapping, "dscp"):
        source.scalar(f"qos/dscp[{dscp}]/traffic_class", node, "switch-priority")
    source.scalar("qos/untagged/traffic_class", qos, "mapping", GLOBAL, "port-default-sp")
    for kind, (*keys, last) in _TABLES.items():
        source.expect(qos, (*keys, GLOBAL, last), kind)
    for priority, node in _numbered(qos.get("egress-queue-mapping", GLOBAL), "switch-priority"):
        source.put(f"qos/mapped[{GLOBAL}]/priority[{priority}]", "true", node)
        source.scalar(f"qos/traffic_class[{priority}]/queue", node, "traffic-class")
    for queue, node in _numbered(qos.get("egress-scheduler", GLOBAL), "traffic-class"):
        source.put(f"qos/scheduled[{GLOBAL}]/queue[{queue}]", "true", node)
    for priority, node in _numbered(qos.get("congestion-control", GLOBAL), "traffic-class"):
        source.scalar(f"qos/queue[{priority}]/ecn", node, "ecn")
    for name, kind in _POOLS.items():
        pool = qos.get("traffic-pool", name)
        source.scalar(f"pool/{kind}_percent", qos, "traffic-pool", name, "memory-percent")
        source.expect(qos, ("traffic-pool", name), f"pool/{kind}_priorities")
        inside = [(priority, node) for priority, node in _numbered(pool, "switch-priority")]
        for priority, node in inside:
            source.put(f"pool[{kind}]/priority[{priority}]", "true", node)
        if inside:
            source.put(f"pool/{kind}_priorities", _joined(inside), inside[0][1])
    _read_lossless(source, qos)
    _read_trimming(source)
    source.expect(qos, ("pfc-watchdog",), "watchdog/poll_ms", "watchdog/detect_ms", "watchdog/action")
    watchdog = qos.get("pfc-watchdog")
    if watchdog:
        polling, polls = watchdog.get("polling-interval"), watchdog.get("robustness")
        poll_ms = number(polling.value or "") if polling else ""
        count = number(polls.value or "") if polls else ""
        if polling and polls and isinstance(poll_ms, int) and isinstance(count, int):
            source.put("watchdog/poll_ms", poll_ms, polling)
            source.put("watchdog/detect_ms", poll_ms * count, polls)
            source.put("watchdog/action", "drop", watchdog)
        else:
            source.lacks(watchdog, "polling-interval or robustness is missing")


def _read_trimming(source: Source) -> None:
    trims = has(source.release.name, TRIMMING)
    trim = source.root.get("system", "forwarding", "packet-trim") if trims else None
    source.expect(source.root, ("system", "forwarding"), "trimming/size_bytes")
    if trim is None:
        return
    source.expect(trim, (), "trimming/queue")
    source.require(trim, "state", "enabled")
    source.scalar("trimming/size_bytes", trim, "size")
    source.scalar("trimming/dscp", trim, "remark", "dscp")
    if priority := trim.get("switch-priority"):
        source.put("trimming/queue", _queue(source, priority.value or ""), priority)


def _read_lossless(source: Source, qos: Node) -> None:
    """What the lossless classes have in common, whichever port they come in by."""
    buffers = qos.get("advance-buffer-config", GLOBAL)
    if buffers:
        source.require_tree(buffers, {"egress-lossless-buffer": {"shared-alpha": EGRESS_ALPHA}})
        alpha = buffers.get("ingress-lossless-buffer", "shared-alpha")
        if alpha and alpha.value not in _EXPONENTS:
            alpha.seen = False
    for name, profile in _profiles(qos, "pfc"):
        source.require(profile, "rx", "enable")
        source.require(profile, "tx", "enable")
        if name == GLOBAL:
            source.lacks(profile, "PFC on every port, the unused ones too")
        for priority, node in _numbered(profile, "switch-priority"):
            source.put(f"qos/traffic_class[{priority}]/priority_group", number(priority), node)
            source.put(f"qos/pfc_priority[{priority}]/queue", _queue(source, priority), node)
    for name, profile in _profiles(qos, "congestion-control"):
        source.expect(profile, ("traffic-class",), f"qos/marking[{name}]/queue")
        for queue, node in _numbered(profile, "traffic-class"):
            source.put(f"qos/marking[{name}]/queue[{queue}]", "stated", node)
            if name != GLOBAL:
                source.require(node, "ecn", "enable")
                source.require(node, "red", "disable")


def _queue(source: Source, priority: str) -> str | int:
    """The queue of a switch priority, its own number where nothing else is said."""
    return source.reading.facts.get(f"qos/traffic_class[{priority}]/queue", number(priority))


def _profiles(qos: Node, feature: str) -> Iterator[tuple[str, Node]]:
    """The profiles of a feature that ports are bound to; others are nobody's and stay unseen."""
    above = qos.get(feature)
    for name, profile in above.children.items() if above else ():
        if profile.seen:
            yield name, profile


def _numbered(parent: Node | None, key: str) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping by number, ranges written out."""
    above = parent.get(key) if parent else None
    for written, node in above.children.items() if above else ():
        names = members(written)
        if all(isinstance(number(name), int) for name in names):
            node.seen = True
            yield from ((name, node) for name in names)


def _joined(entries: list[tuple[str, Node]]) -> str:
    return ",".join(sorted({name for name, _ in entries}, key=int))


def read_port_qos(source: Source, prefix: str, port: Node) -> None:
    """The policy of one port: what it is bound to, else what is global."""
    trimmed = list(_numbered(port.get("packet-trim", "egress-eligibility"), "traffic-class"))
    for queue, node in trimmed:
        source.put(f"{prefix}trimmed/queue[{queue}]", "true", node)
    if trimmed:
        source.agree("trimming/queues", _joined(trimmed), trimmed[0][1])
    qos = source.root.get("qos")
    if qos is None:
        return
    mapping = qos.get("mapping", GLOBAL, "trust")
    source.expect(qos, ("mapping", GLOBAL), prefix + "trust")
    if mapping and mapping.value:
        source.put(prefix + "trust", _TRUST.get(mapping.value, mapping.value), mapping)
    for queue, node in _numbered(qos.get("egress-scheduler", GLOBAL), "traffic-class"):
        _read_scheduler(source, f"{prefix}queue[{queue}]/scheduler", node)
    pfc = _bound(source, qos, port, "pfc")
    if pfc:
        _read_headroom(source, prefix, qos, pfc)
        state = port.get("qos", "pfc-watchdog", "state")
        known = state is not None and state.value in ("enable", "disable")
        if state and not known:
            state.seen = False
        source.put(
            prefix + "watchdog",
            boolean(known and state is not None and state.value == "enable"),
            state or port.children.get("qos", port),
        )
    marking = _bound(source, qos, port, "congestion-control")
    if pfc and marking is None:
        for queue, _ in _numbered(qos.get("egress-scheduler", GLOBAL), "traffic-class"):
            facts = (f"{prefix}queue[{queue}]/{fact}" for fact in _THRESHOLDS.values())
            source.expect(port, ("qos",), *facts)
    for queue, node in _numbered(marking, "traffic-class"):
        for key, fact in _THRESHOLDS.items():
            source.scalar(f"{prefix}queue[{queue}]/{fact}", node, key)


def _bound(source: Source, qos: Node, port: Node, feature: str) -> Node | None:
    """The profile that a port names; one that is not defined leaves the port's line unseen."""
    node = port.get("qos", feature, "profile")
    if node is None:
        return None
    profile = qos.get(feature, node.value or "")
    node.seen = profile is not None
    if profile is None:
        source.lacks(qos.children.get(feature, qos), f"{feature} profile {node.value} is missing")
    return profile


def _read_scheduler(source: Source, path: str, node: Node) -> None:
    source.expect(node, (), path)
    mode, share = node.children.get("mode"), node.children.get("bw-percent")
    if mode and mode.value == "strict":
        mode.seen = True
        source.put(path, "strict", mode)
    elif mode and share and mode.value == "dwrr":
        mode.seen = share.seen = True
        source.put(path, f"dwrr {share.value}", share)


def _read_headroom(source: Source, prefix: str, qos: Node, pfc: Node) -> None:
    priorities = list(_numbered(pfc, "switch-priority"))
    if priorities:
        source.put(prefix + "pfc", _joined(priorities), priorities[0][1])
    source.scalar(prefix + "headroom/cable_m", pfc, "cable-length")
    source.scalar(prefix + "headroom/size_bytes", pfc, "port-buffer")
    source.scalar(prefix + "headroom/resume_distance_bytes", pfc, "xon-threshold")
    source.expect(pfc, (), prefix + "pfc", prefix + "headroom/xoff_bytes")
    shared = ("advance-buffer-config", GLOBAL, "ingress-lossless-buffer")
    source.expect(qos, shared, prefix + "headroom/dynamic_th")
    size, pause = pfc.get("port-buffer"), pfc.get("xoff-threshold")
    if size and pause:
        whole, below = number(size.value or ""), number(pause.value or "")
        if isinstance(whole, int) and isinstance(below, int):
            source.put(prefix + "headroom/xoff_bytes", whole - below, pause)
    alpha = qos.get(*shared, "shared-alpha")
    if alpha and alpha.value in _EXPONENTS:
        source.put(prefix + "headroom/dynamic_th", _EXPONENTS[alpha.value], alpha)
