"""Check what makes a class lossless on one device, without any plan: PFC, marking, watchdog, map, other pauses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts import network_of
from fabricc.back.nos.defaults import only_reports
from fabricc.back.nos.qos_defaults import (
    RDMA_DSCP,
    class_of_unlisted,
    class_statement,
    drops_in_queue,
    heading_of_queue,
    states_dropping,
    unmarks_queue,
)
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Expectation
from fabricc.proof.invariants.view import CODE_POINTS, as_int, parse_priorities
from fabricc.rules import classes as traffic_classes
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import CLASSIFICATION, HOSTS, INTERFACES, PFC, HostRule, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

UNGUARDED, CLASSED, PAUSED = "FAB9606", "FAB9607", "FAB9608"
RDMA_POINTS = {"qos/rdma_dscp": "RDMA of connections", "nccl/dscp": "RDMA of NCCL"}
"""Where a host states the code point of RDMA."""
_OFF = ("off", "none", "false", "0")
_ACTION = "watchdog/action"
_BOUND = "qos_setting[congestion-control]"
"""Leaf of a port that names a profile of marking which has no thresholds."""
_MARKS = ("ecn_min_bytes", "drop_min_bytes", "ecn_min_fill_percent", "ecn")
"""Facts of a queue at whose place marking belongs; one that drops instead states that it does."""


_THRESHOLDS = ("]/ecn_min_bytes", "]/ecn_min_fill_percent")


def _unguarded_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with PFC that have no watchdog, no marking, or marking that ends before it begins."""
    lossless = traffic_classes.lossless_ports(statement)
    expected = statement.expected
    left = [port for port in lossless if statement.ports[port].get("watchdog", "false") == "false"]
    if left and not expected.unguarded:
        text = f"{_join_ports(left)}: PFC without a watchdog: one stuck receiver can stop the fabric"
        remedy = "Turn the PFC watchdog on for every port with PFC."
        leaves = ("watchdog", "pfc")
        yield _finding(statement, UNGUARDED, left[0], leaves, text, "no watchdog", Severity.WARNING, remedy)
    action = str(statement.rest.get(_ACTION, ""))
    if lossless and only_reports(action):
        text = f"the PFC watchdog has the action {action}: one stuck receiver can stop the fabric although it is seen"
        at = finding_at(UNGUARDED, statement.device, _ACTION, f"{statement.name}: {text}", "quiet watchdog",
                        Severity.WARNING, "Let it drop or forward the packets of the queue.")  # fmt: skip
        yield at
    unmarked: dict[int, list[str]] = {}
    odd: dict[int, int] = {}
    for port, found in lossless.items():
        for priority in found:
            queue = traffic_classes.queue_of(statement, priority)
            if priority not in expected.unmarked and not traffic_classes.marks_packets(
                statement, port, queue
            ):
                unmarked.setdefault(queue, []).append(port)
                if any(
                    traffic_classes.marks_packets(statement, port, traffic_classes.queue_of(statement, each))
                    for each in found
                ):
                    odd[queue] = priority
    for queue, ports in sorted(unmarked.items()):
        text = f"{_join_ports(ports)}: PFC and no ECN on queue {queue}: senders slow down only when they are paused"
        remedy = "Mark the queue from below the point at which the port pauses."
        dropping = [path for path in statement.facts_below("qos/") if states_dropping(path)]
        marks = (_BOUND, *(f"queue[{queue}]/{leaf}" for leaf in _MARKS), "pfc")
        first = statement.ports[ports[0]]
        early = [leaf for leaf in first if drops_in_queue(leaf, queue) or unmarks_queue(leaf, queue)]
        own = [f"{PORT}{ports[0]}]/{leaf}" for leaf in (*early, *marks)]
        profiles = [
            path for path in statement.facts_below("qos/marking[") if path.endswith(f"]/queue[{queue}]")
        ]
        paths, word = (*own[:3], *dropping, *profiles, *own[3:]), "ecn" if profiles else ""
        others = [leaf for leaf in statement.ports[ports[0]] if leaf.endswith(_THRESHOLDS)]
        if others and not profiles:  # it marks another queue
            cause = _misplaced_marking(statement, ports[0], queue, others[0])
            paths = (cause, *own[:3], *dropping, f"{PORT}{ports[0]}]/{others[0]}", *own[3:])
            word = heading_of_queue(statement.device.system) if "/queue[" in cause else ""
        if (
            queue in odd and own[len(early) + 1] not in statement.device.reading.lines
        ):  # PFC is of one priority too many
            paths = f"{_PAUSED}{odd[queue]}]/queue", f"{PORT}{ports[0]}]/pfc"
            word = str(odd[queue])
        message = f"{statement.name} {text}"
        yield finding_at(
            UNGUARDED, statement.device, paths, message, "no ECN", Severity.WARNING, remedy, word=word
        )
    yield from _fill_levels(statement, lossless)
    yield from _early_drops(statement, lossless)


def _early_drops(statement: Statement, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report lossless queues that mark packets, and drop some of them before they are full."""
    found: dict[str, list[str]] = {}
    for port, priorities in lossless.items():
        for queue in (traffic_classes.queue_of(statement, each) for each in priorities):
            if traffic_classes.marks_packets(statement, port, queue):
                for leaf in statement.ports[port]:
                    if drops_in_queue(leaf, queue):
                        found.setdefault(leaf, []).append(port)
    for leaf, ports in found.items():
        message = f"{statement.name} {_join_ports(ports)}: a queue with PFC drops packets before it is full"
        remedy, path = "Mark packets of the queue, and drop none.", f"{PORT}{ports[0]}]/{leaf}"
        yield finding_at(UNGUARDED, statement.device, path, message, "early drops", Severity.WARNING, remedy)


def _misplaced_marking(statement: Statement, port: str, queue: int, marked: str) -> str:
    """Return the fact at fault where another queue than that of PFC marks: its marking, or the map of a class.

    The map is at fault if no class leads to the queue that marks, and PFC if RDMA is there, or a point of its number.
    """
    other, points = first_key(marked), traffic_classes.classes_of(statement)
    own = int(other) if is_number(other) and points.get(int(other)) != points.get(0) else RDMA_DSCP
    rdma = {dscp: points[dscp] for dscp in (RDMA_DSCP, own) if dscp in points}
    if other in map(str, traffic_classes.queues_of(statement, rdma)):
        return f"{PORT}{port}]/pfc"
    maps = {
        path: value
        for path, value in statement.facts_below("qos/traffic_class[").items()
        if path.endswith("]/queue")
    }
    if maps and not any(str(value) == other for value in maps.values()):
        # a default has no line, and a class with the number of its queue is as usual
        stated = (path for path in maps if path in statement.lines and first_key(path) != str(queue))
        if found := next((path for path in stated if maps[path] == queue), ""):
            return found
    return f"{PORT}{port}]/queue[{other}]/ecn"


def _global_pause(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with PFC that pause all traffic as well."""
    ports = traffic_classes.lossless_ports(statement)
    if both := [port for port in ports if str(statement.ports[port].get("flow_control", "off")) not in _OFF]:
        text = f"{_join_ports(both)}: global pause (IEEE 802.3x) together with PFC: one link can use only one"
        leaves = ("flow_control",)
        yield _finding(statement, PAUSED, both[0], leaves, text, "802.3x", Severity.WARNING, "Turn it off.")


def _pause_instead(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a watchdog of PFC that pause all traffic in place of one priority."""
    if "flow_control" not in statement.port_leaves:
        return
    ports = traffic_classes.lossless_ports(statement)
    instead = [
        port
        for port, values in statement.ports.items()
        if port not in ports
        and str(values.get("flow_control", "off")) not in _OFF
        and any(_WATCHED.search(leaf) for leaf in values)
    ]
    if instead:
        text = f"{_join_ports(instead)}: a PFC watchdog and global pause (IEEE 802.3x), no PFC: every class stops"
        remedy = "Turn PFC on for the priority of RDMA, and the global pause off."
        leaves = ("flow_control",)
        yield _finding(statement, PAUSED, instead[0], leaves, text, "802.3x", Severity.WARNING, remedy)


_WATCHED = re.compile(r"\bwatchdog\b")


def _fill_levels(statement: Statement, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Marking that ends before it begins, where its thresholds are shares of the buffer."""
    wrong: dict[tuple[int, int, int], list[str]] = {}
    for port, found in lossless.items():
        for queue in {traffic_classes.queue_of(statement, priority) for priority in found}:
            path = f"queue[{queue}]/ecn_{{}}_fill_percent"
            low, high = (as_int(statement.ports[port].get(path.format(end))) for end in ("min", "max"))
            if low is not None and high is not None and low >= high:
                wrong.setdefault((queue, low, high), []).append(port)
    for (queue, low, high), ports in wrong.items():
        text = f"{_join_ports(ports)}: queue {queue} marks from {low} % of its buffer to {high} %, which is no more"
        leaves = (f"queue[{queue}]/ecn_min_fill_percent",)
        yield _finding(
            statement, UNGUARDED, ports[0], leaves, text, "marking", Severity.ERROR, "Swap the two."
        )


def _host_findings(statement: Statement) -> Iterator[Finding]:
    """Report RDMA of a host whose code point its own map leads to a priority without PFC, while others have it.

    Each network of a host has a map of its own.
    """
    paused = [found for each in statement.ports.values() if (found := parse_priorities(each.get("pfc")))]
    points = [point for path in RDMA_POINTS if (point := as_int(statement.rest.get(path))) is not None]
    agree = len(points) > 1 and len(set(points)) == 1  # then the map is the odd one
    for path, what in RDMA_POINTS.items():
        dscp = as_int(statement.rest.get(path))
        mapped = f"qos/dscp[{dscp}]/priority"
        priority = as_int(statement.rest.get(mapped))
        if priority is None or not paused or any(priority in each for each in paused):
            continue
        networks = {network_of(statement.lines.get(each, ("", 0))[0]) for each in (path, mapped)}
        if len(networks) > 1:
            continue
        text = (
            f"{statement.name}: {what} (DSCP {dscp}) is in priority {priority}, sent without PFC: RDMA drops"
        )
        remedy = "Use a code point that the map leads to the priority with PFC, or correct the map."
        paths = (mapped, path) if agree else (path,)
        yield finding_at(CLASSED, statement.device, paths, text, "host's RDMA", Severity.ERROR, remedy)


def _unused_priorities(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report priorities with PFC into which no code point leads."""
    lossless, classes = traffic_classes.lossless_ports(statement), traffic_classes.classes_of(statement)
    if not classes:
        return
    groups = {traffic_classes.group_of(statement, each) for each in set(classes.values())}
    for priority in sorted({each for found in lossless.values() for each in found}):
        queue = traffic_classes.queue_of(statement, priority)
        if traffic_classes.priority_group(
            statement, priority
        ) in groups or queue in traffic_classes.queues_of(statement, classes):
            continue
        port = next(port for port, found in lossless.items() if priority in found)
        text = (
            f"PFC for priority {priority}, to which no code point is mapped, so its traffic is not protected"
        )
        remedy = "Map the code points of the lossless traffic to this class, or turn its PFC off."
        own = f"qos/priority[{priority}]/traffic_class"  # classified by the tag of frames
        moved, word = moved_point(statement, classes, priority)
        paths = (own, *moved, f"{PORT}{port}]/pfc", *(f"qos/dscp[{dscp}]/traffic_class" for dscp in classes))
        yield finding_at(
            CLASSED, statement.device, paths, f"{statement.name}: {text}", "PFC of no class",
            Severity.WARNING, remedy, word=word,
        )  # fmt: skip


def moved_point(
    statement: Statement, classes: Mapping[int, int], priority: int
) -> tuple[tuple[str, ...], str]:
    """Return the fact of the code point that belongs to a priority and is in another class, and words of its line.

    NICs send code points of 8 times the priority and more with the priority; one with a line of its own was meant.
    """
    lines = {dscp: statement.lines.get(f"qos/dscp[{dscp}]/traffic_class") for dscp in classes}
    if (usual := _usual_point(statement, classes, priority)) in classes and len(
        {*lines.values()}
    ) == CODE_POINTS:
        return (f"qos/dscp[{usual}]/traffic_class",), ""
    mine = [dscp for dscp in classes if dscp >> 3 == priority and lines[dscp] is not None]
    lone = [dscp for dscp in mine if list(lines.values()).count(lines[dscp]) < _REST]
    odd = [dscp for dscp in lone if classes[dscp] != classes.get(0)]
    for dscp in (*odd, *(lone if len(lone) <= _BLOCK else ())):
        alone = list(lines.values()).count(lines[dscp]) == 1
        return (f"qos/dscp[{dscp}]/traffic_class",), class_statement(classes[dscp]) if alone else ""
    return (), ""


def _usual_point(statement: Statement, classes: Mapping[int, int], priority: int) -> int:
    """Return the code point by which RDMA is known in a priority, for a map that lists every code point.

    It is the one of the same number where another priority with PFC has that (SONiC's qos_config.j2), else the first
    of its assured forwarding (26 for priority 3, RoCEv2 of NICs).
    """
    others = {each for found in traffic_classes.lossless_ports(statement).values() for each in found} - {
        priority
    }
    return priority if any(classes.get(each) == each for each in others) else priority * _BLOCK + 2


_BLOCK = 8
"""Code points of one priority, by the default of NICs."""


def _unusual_priorities(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report priorities with PFC to which NICs by default map none of the code points of their class.

    NICs that trust DSCP derive the priority `dscp >> 3` (mlnx_qos, "dscp2prio"), and send and honor pauses for it.
    Code points below 8 need a map of their own on every NIC, so such a fabric has one.
    """
    if statement.expected.nics_mapped:
        return
    points: dict[int, list[int]] = {}
    for dscp, each in traffic_classes.classes_of(statement).items():
        points.setdefault(traffic_classes.group_of(statement, each), []).append(dscp)
    lossless = traffic_classes.lossless_ports(statement)
    for priority in sorted({each for found in lossless.values() for each in found}):
        mine = points.get(traffic_classes.priority_group(statement, priority), [])
        if not mine or max(mine) < _MAPPED_BY_ALL or any(dscp >> 3 == priority for dscp in mine):
            continue
        port = next(port for port, found in lossless.items() if priority in found)
        usual = sorted({dscp >> 3 for dscp in mine})
        text = (
            f"PFC for priority {priority} protects DSCP {join_words(list(map(str, mine)), 2)}, which NICs by default "
            f"put into priority {join_words(list(map(str, usual)), 2)}: they do not stop for its pauses"
        )
        remedy = "Use PFC for the priority that the NICs derive, or map the code point on every NIC."
        paths = (f"qos/pfc_priority[{priority}]/queue", f"{PORT}{port}]/pfc")
        yield finding_at(
            CLASSED, statement.device, paths, f"{statement.name}: {text}", "PFC of another priority",
            Severity.WARNING, remedy,
        )  # fmt: skip


_MAPPED_BY_ALL = 8
"""The first code point that NICs put into another priority than 0."""


def rdma_findings(statement: Statement, dscp: int, place_statements: str) -> Iterator[Finding]:
    """RDMA's code point leads into a class with PFC on every port to another device that has any PFC."""
    stated = traffic_classes.classes_of(statement)
    usual = class_of_unlisted(statement.device.system) if stated else None
    classes = stated if usual is None else {dscp: usual, **stated}
    if dscp not in classes:
        return
    group, queue = (
        traffic_classes.group_of(statement, classes[dscp]),
        traffic_classes.queues_of(statement, {dscp: classes[dscp]}),
    )
    bare = []
    for port, values in statement.ports.items():
        found = parse_priorities(values.get("pfc"))
        if (found or (values.get("pfc") == "" and dscp not in stated)) and not any(
            traffic_classes.priority_group(statement, each) == group
            or traffic_classes.queue_of(statement, each) in queue
            for each in found
        ):
            bare.append(port)
    if bare:
        message = (
            f"{statement.name}: DSCP {dscp}, RDMA's ({place_statements}), is in class {classes[dscp]}, "
            f"which {_join_ports(bare)} "
            f"{'does' if len(bare) == 1 else 'do'} not protect by PFC: RDMA drops there"
        )
        remedy = "Map it to the class that has PFC, on every device."
        paths = _class_paths(statement, dscp)
        yield finding_at(CLASSED, statement.device, paths, message, "RDMA lossy", Severity.ERROR, remedy)


_REST = 32
"""Code points that one line maps if it is the line of those that no other line names."""


def _class_paths(statement: Statement, dscp: int) -> list[str]:
    """Return where a code point should be mapped: its own line, else where lossless classes have theirs."""
    own = f"qos/dscp[{dscp}]/traffic_class"
    places = {each: statement.lines.get(f"qos/dscp[{each}]/traffic_class") for each in range(CODE_POINTS)}
    if places[dscp] is not None and list(places.values()).count(places[dscp]) < _REST:
        return [own]
    lossless = traffic_classes.lossless_ports(statement).values()
    paused = {traffic_classes.priority_group(statement, each) for found in lossless for each in found}
    paused |= {int(first_key(path)) for path in statement.facts_below(_PAUSED)}
    pausing = {
        path
        for path in (f"qos/dscp[{each}]/traffic_class" for each in range(CODE_POINTS))
        for number in str(statement.rest.get(path, "")).split(",")  # several where two lines map it
        if is_number(number) and traffic_classes.group_of(statement, int(number)) in paused
    }
    return [*sorted(pausing), own]


_PAUSED = "qos/pfc_priority["


def protected_code_points(statement: Statement) -> frozenset[int] | None:
    """Return the code points that PFC protects on every port of the device that states it; None without such ports."""
    return statement.once(protected_code_points, lambda: _compute_protected(statement))


def _compute_protected(statement: Statement) -> frozenset[int] | None:
    kinds = {found for values in statement.ports.values() if (found := parse_priorities(values.get("pfc")))}
    if not kinds:
        prepared = any(values.get("pfc") == "" for values in statement.ports.values())
        return frozenset() if prepared else None
    classes = traffic_classes.classes_of(statement)
    groups = [{traffic_classes.priority_group(statement, each) for each in kind} for kind in kinds]
    return frozenset(
        d
        for d, each in classes.items()
        if all(traffic_classes.group_of(statement, each) in kind for kind in groups)
    )


class HostPriorities(NamedTuple):
    """What the NICs of a host state about priorities.

    Attributes:
        paused: priorities with PFC on ports that state their congestion control; `controlled`: those that have it.
        unmapped: whether NICs with PFC keep their default map of code points.
    """

    paused: frozenset[int] = frozenset()
    controlled: frozenset[int] = frozenset()
    unmapped: bool = False


def host_priorities(statement: Statement) -> HostPriorities:
    """Return what the NICs of a host state about priorities."""
    stated = [values for values in statement.ports.values() if parse_priorities(values.get("pfc"))]
    controlled = frozenset(p for values in stated for p in parse_priorities(values.get("ecn")))
    paused = (p for values in stated if "ecn" in values for p in parse_priorities(values["pfc"]))
    mapped = bool(statement.facts_below("qos/dscp["))
    return HostPriorities(frozenset(paused), controlled, bool(stated) and not mapped)


def expect_of_hosts(hosts: Iterable[HostPriorities]) -> Expectation:
    """Return what the hosts of a folder show about the design of its switches."""
    found = set(hosts)
    paused = frozenset(p for each in found for p in each.paused)
    controlled = frozenset(p for each in found for p in each.controlled)
    mapped = bool(paused or controlled) and not any(each.unmapped for each in found)
    return Expectation(unmarked=paused - controlled, nics_mapped=mapped)


def _join_ports(ports: list[str]) -> str:
    return join_words(ports, 2)


def _finding(
    statement: Statement,
    code: str,
    port: str,
    leaves: tuple[str, ...],
    text: str,
    group: str,
    severity: Severity,
    remedy: str,
) -> Finding:
    paths = tuple(f"{PORT}{port}]/{leaf}" for leaf in leaves)
    return finding_at(code, statement.device, paths, f"{statement.name} {text}", group, severity, remedy)


RULES = (
    SwitchRule(UNGUARDED, PFC, (Input.PFC,), _unguarded_ports, shared=True),
    SwitchRule(PAUSED, PFC, (Input.PFC,), _global_pause, shared=True),
    SwitchRule(PAUSED, INTERFACES, (), _pause_instead, shared=True),
    SwitchRule(CLASSED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _unused_priorities, shared=True),
    SwitchRule(CLASSED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _unusual_priorities, shared=True),
    HostRule(CLASSED, HOSTS, _host_findings),
)
