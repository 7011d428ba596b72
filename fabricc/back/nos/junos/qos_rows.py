"""Read back class of service of Junos: rows, and the statements of interfaces by their references."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.junos import qos
from fabricc.back.nos.junos.foreign.qos import (
    is_lossless,
    limits_of,
    lost_pfc,
    put_contradictions,
    put_unused_curves,
    put_unused_points,
)
from fabricc.back.nos.junos.words import SETTING, put_settings, verbatim_rows
from fabricc.back.nos.ports import SPELLINGS, PortKind
from fabricc.back.reading import Block, Captured, Document, Entry, Fact, Keep, Row, StoredValue, Topic, Types
from fabricc.back.reading.scope import Scope, agreed_facts
from fabricc.fabric.facts import Value, format_boolean
from fabricc.fabric.vocabulary import UniformPorts, port_paths, shared_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


TYPES: Types = {
    "point": qos.parse_point,
    "priority": partial(qos.parse_bits, 3),
    "partition": lambda word: word.replace("-", "_"),
    "no-loss": {"no-loss": "true"},
}


QOS = "qos"
DEFAULT_CLASSES = {"best-effort": (0, False), "fcoe": (3, True), "no-loss": (4, True), "mcast": (8, False)}
"""Queue of classes that QFX switches have anyway, and whether nothing of them is lost (Juniper, "Understanding Default
CoS Settings"); that of `network-control` is another one on routers."""
_LOSS_PRIORITIES = ("low", "medium-low", "medium-high", "high")
USUAL = "low"
_OF_UNIT = (
    "rewrite-rules|classifiers|scheduler-map|shaping-rate|output-traffic-control-profile|forwarding-class"
    "|input-traffic-control-profile|input-scheduler-map|loss-priority-maps|loss-priority-rewrites|policy-map"
    "|output-traffic-control-profile-remaining|virtual-channel-group|translation-table|irb"
)


def _loss_priority(loss_priority: str, _point: int) -> str:
    return loss_priority


def _of_unit(number: Value, word: str, below: str) -> Mapping[str, Value]:
    """Return what a unit refers to: of unit 0 and of all units, the interface does."""
    place = "" if number in ("0", "*") else f"unit {number} "
    return {f"{SETTING} {place}{word} {below}": "true"}


def _partition_threshold(direction: str, partition: str, threshold: int) -> Mapping[str, Value | None]:
    if (direction, partition) == ("ingress", "lossless"):
        return {"dynamic_th": threshold - qos.ALPHA_OFFSET}
    return {
        f"{QOS} shared-buffer {direction} buffer-partition {partition} dynamic-threshold {threshold}": "true"
    }


ROWS: Sequence[Row] = (
    Fact("chassis fpc <integer> traffic-manager buffer-monitor-enable", "platform/buffer_monitor",
         lambda fpc: "true" if fpc == 0 else None),
    Block("class-of-service", "", (
        Block("forwarding-classes class <word>", "class", (
            Keep("queue-num <0-999> [<no-loss>] [pfc-priority <integer>]",
             {"queue": "{1}", "no_loss": "{2}", "pfc_priority": "{3}"}),
            Keep("<no-loss>", "no_loss"),
            Keep("[no-loss] pfc-priority <integer>", "pfc_priority"),
            *verbatim_rows("priority policing-priority queue-num+"),
        )),
        Entry("forwarding-classes queue <integer> <word> [<below>]", "queues", lambda _queue, name, _below: name),
        Block("classifiers dscp <word>", "classifier", (
            Block("forwarding-class <word>", "class", [
                Entry(f"loss-priority {priority} code-points <point>", "points", partial(_loss_priority, priority))
                for priority in _LOSS_PRIORITIES
            ]),
            *verbatim_rows("import"),
        )),
        Block("drop-profiles <word>", "curve", (
            Entry("interpolate fill-level <integer>", "levels"),
            Entry("interpolate drop-probability <integer>", "chances"),
            Entry("fill-level <integer> drop-probability <integer>", "steps", lambda _level, chance: chance),
        )),
        Fact("shared-buffer <ingress|egress> buffer-partition <partition> percent <integer>", "pool/{0}_{1}_percent"),
        Keep("shared-buffer <ingress|egress> buffer-partition <partition> dynamic-threshold <integer>",
            _partition_threshold),
        Keep("shared-buffer <ingress|egress> percent <integer>",
             lambda direction, percent: {f"{QOS} shared-buffer {direction} percent {percent}": "true"}),
        Fact("dedicated-buffer <ingress|egress> percent <integer>", "pool/{0}_dedicated_percent"),
        Block("congestion-notification-profile <word>", "congestion", (
            Block("pfc-watchdog", "watchdog", (
                Keep("poll-interval <integer>", "poll_ms"),
                Keep("detection <integer>", "polls"),
                Keep("recovery <integer>", "restore_ms"),
                Keep("watchdog-action <word>", "action"),
            )),
            Keep("input cable-length <integer>", "cable_m"),
            Block("input dscp code-point <point>", "point", (
                Keep("pfc", "pfc"),
                Keep("mru <integer>", "mru_bytes"),
                Keep("xon <integer>", "xon_offset_cells"),
                *verbatim_rows("xoff"),
            )),
            Block("input ieee-802.1 code-point <priority>", "paused", (
                Keep("pfc", "pfc"),
                Keep("mru <integer>", "mru_bytes"),
                Keep("xon <integer>", "xon_offset_cells"),
                *verbatim_rows("xoff"),
            )),
            Entry("output ieee-802.1 code-point <priority> flow-control-queue <integer>", "stopped",
                  lambda _priority, queue: queue),
            *verbatim_rows("input output"),
        )),
        Block("traffic-control-profiles <word>", "shaper", (
            Keep("scheduler-map <word>", "map"),
            *verbatim_rows("adjust-minimum delay-buffer-rate excess-rate excess-rate-high excess-rate-low "
                      "guaranteed-rate max-burst-size overhead-accounting peak-rate shaping-rate "
                      "shaping-rate-excess-high shaping-rate-priority-high sustained-rate atm-service "
                      "excess-rate-medium-high excess-rate-medium-low shaping-rate-excess-low "
                      "shaping-rate-excess-medium-high shaping-rate-excess-medium-low shaping-rate-priority-low "
                      "shaping-rate-priority-medium shaping-rate-priority-medium-low "
                      "shaping-rate-priority-strict-high strict-priority-scheduler"),
        )),
        Block("interfaces <word>", "attachment", (
            Keep("congestion-notification-profile <word>", "congestion"),
            Keep("scheduler-map <word>", "map"),
            Keep("[unit <0|*>] classifiers dscp <word>", "classifier"),
            Keep("[unit <0|*>] forwarding-class <word>", "fixed"),
            Keep("[unit <0|*>] output-traffic-control-profile <word>", "shaper"),
            *verbatim_rows("classifiers dedicated-buffer-profile exclude-queue-overhead-bytes forwarding-class-set "
                      "input-excess-bandwidth-share input-scheduler-map input-shaping-rate "
                      "input-traffic-control-profile irb member-link-scheduler output-forwarding-class-map "
                      "output-traffic-control-profile-remaining rewrite-rules scheduler-map-chassis shaping-rate "
                      "multi-destination telemetry decn-profile excess-bandwidth-share "
                      "input-traffic-control-profile-remaining logical-interface-aggregate-statistics "
                      "monitoring-profile rewrite-value scheduler-map-forwarding-class-set slice traffic-class-map"),
            *(Keep(f"unit {number} <{_OF_UNIT}> <below>", _of_unit) for number in ("<0|*>", "<integer>")),
            Keep("unit <0|*> classifiers <below>", lambda number, below: _of_unit(number, "classifiers", below)),
        )),
        Block("scheduler-maps <word>", "map", (
            Entry("forwarding-class <word> scheduler <word>", "schedulers", lambda _class, scheduler: scheduler),
        )),
        Block("schedulers <word>", "scheduler", (
            Keep("transmit-rate percent <integer>", "percent"),
            Keep("shaping-rate percent <integer>", "shaping_percent"),
            Keep("priority strict-high", "strict"),
            Keep("drop-profile-map loss-priority any protocol any drop-profile <word>", "curve"),
            Keep("drop-profile-map loss-priority low protocol any drop-profile <word>", "curve of most"),
            Keep("explicit-congestion-notification", "ecn"),
            *verbatim_rows("adjust-minimum adjust-percent buffer-dynamic-threshold buffer-size drop-profile-map "
                      "excess-priority excess-rate shaping-rate shared-buffer transmit-rate priority "
                      "buffer-partition burst-size buffer-rate drop-profile-map-set ecn-enhanced "
                      "ecn-rtlog-rate-limit queue-monitoring"),
        )),
        *verbatim_rows("adjustment-control-profiles application-traffic-control code-point-aliases copy-plp-all "
                  "dedicated-buffer+ dedicated-buffer-profile fabric forwarding-class-map forwarding-class-sets "
                  "forwarding-policy fragmentation-maps host-outbound-traffic interface-set loss-priority-maps "
                  "loss-priority-rewrites multi-destination policy-map restricted-queues rewrite-rules "
                  "routing-instances shared-buffer+ system-defaults tri-color virtual-channel-groups "
                  "virtual-channels translation-table non-strict-priority-scheduling adaptive-shapers decn-profile "
                  "dynamic-class-of-service-options monitoring-profile options scheduler-map-forwarding-class-sets "
                  "traffic-class-map",
                  kind=QOS),
        *(row for word in ("dscp-ipv6", "exp", "ieee-802.1", "ieee-802.1ad", "inet-precedence")
          for row in verbatim_rows(word, "classifiers", QOS, "classifiers")),
    )),
)  # fmt: skip

Stated = list[tuple[str, "Value", int]]
"""The rest of each fact's path, its value, and its line."""
_ALL = "all"
_KINDS = ("map", "classifier", "congestion")
"""References of an interface."""


class _Attached(NamedTuple):
    """Statements of interfaces with the same references, and their places; `unstated` is at the reference itself."""

    facts: UniformPorts[Value]
    lines: UniformPorts[tuple[str, int]]
    unstated: list[str]


def finish(document: Document) -> None:
    """State what every interface has of what it refers to by name.

    A name of nothing, and a definition that no interface uses, itself or by way of another, are listed.
    """
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    attached: dict[tuple[Scope | None, ...], _Attached] = {}
    ineffective: list[tuple[str, Scope, Scope, Scope | None]] = []
    for queue, (class_name, line) in document.scope.table("queues").items():
        known = document.scope.scopes.setdefault("class", {}).setdefault(class_name, Scope(line))
        known.values.setdefault("queue", (queue, line))
    attachments = list(_find_attachments(document))
    ports = document.scope.each("interface")
    for name, each in attachments:
        _put_rest(document, name, each)
        if ports and name not in ports and SPELLINGS["junos"].parse_name(name).kind is PortKind.PORT:
            why = "`interfaces` has no such port"
            document.put(f"unread[class-of-service interfaces {name}]", why, each.line)
        stored = [each.values.get(kind) for kind in _KINDS]
        used = tuple(
            [
                document.resolve_reference(kind, *to) if to else None
                for kind, to in zip(_KINDS, stored, strict=True)
            ]
        )
        if used not in attached:
            stated, marks = _interface_facts(document, *used)
            leaves = tuple([leaf for leaf, _, _ in stated])
            attached[used] = _Attached(
                shared_facts(leaves, tuple([value for _, value, _ in stated])),
                shared_facts(
                    (*leaves, *marks),
                    tuple([(file, line) for line in (*(e[2] for e in stated), *marks.values())]),
                ),
                [leaf for leaf, _, line in stated if not line],
            )
        values, places, unstated = attached[used]
        facts.update(values[name])
        lines.update(places[name])
        references = {leaf: stored[1] if leaf == "trust" else stored[2] for leaf in unstated}
        if "pfc" in references and used[2]:
            ineffective.append((name, each, used[2], used[1]))
        for leaf, reference in references.items():
            lines[port_paths(name)[leaf]] = (file, reference[1] if reference else 0)
    for name, each, profile, classifier in ineffective:
        if at := lost_pfc(document, each, profile, classifier):
            lines |= {port_paths(name)[leaf]: (file, at) for leaf in ("pfc", "pfc_dscps")}
    document.put_agreed()
    _finish_fixed(document, attachments)
    for each in document.scope.each("class").values():
        if each.used and "queue" in each.values:
            queue, line = each.values["queue"]
            document.put(f"qos/traffic_class[{queue}]/queue", queue, line)
            if pausing := _paused_priority(each):
                priority, at = pausing
                # The queue that a pause stops shows which of the two numbers of the class is the odd one.
                odd = priority != queue and facts.get(f"qos/pfc_priority[{priority}]/queue") == priority
                document.put(f"qos/traffic_class[{queue}]/priority_group", priority, line if odd else at)
    for kind in (*_KINDS, "class", "scheduler", "curve", "shaper"):
        for defined, scope in document.scope.each(kind).items():
            if not scope.used:
                document.put(f"qos/setting[unused {kind} {defined}]", "true", scope.line)
            put_settings(document, "qos/", scope, lead=f"{kind} {defined} ")
            if kind == "scheduler" and scope.used:
                put_unused_curves(document, scope)
    put_settings(document, "qos/", document.scope, QOS)
    put_contradictions(document, attachments)
    qos.put_refused_values(document)
    put_unused_points(document)


def _put_rest(document: Document, name: str, each: Scope) -> None:
    """State what else an interface refers to, and take the scheduler map of its shaper for its own."""
    put_settings(document, port_paths(name).prefix, each, leaf="qos_setting")
    if "shaper" in each.values:
        shaper = document.resolve_reference("shaper", *each.values["shaper"])
        document.put(port_paths(name)["qos_setting[output-traffic-control-profile]"], *each.values["shaper"])
        if shaper and "map" in shaper.values:
            each.values.setdefault("map", shaper.values["map"])


def _finish_fixed(document: Document, attachments: Sequence[tuple[str, Scope]]) -> None:
    """State interfaces all of whose packets are of one class: the default one, to which most code points belong."""
    facts = document.reading.facts
    every = Counter(facts.get(f"qos/dscp[{dscp}]/traffic_class") for dscp in range(64))
    usual = every.most_common(1)[0][0]
    for name, each in attachments:
        if "fixed" not in each.values:
            continue
        forwarding_class = _class_of(document, *each.values["fixed"])
        same = forwarding_class is not None and forwarding_class.values["queue"][0] == usual
        document.put(port_paths(name)["trust"], "none" if same else "something", each.values["fixed"][1])


def _find_attachments(document: Document) -> Iterator[tuple[str, Scope]]:
    """Yield what every interface has: its own entry, completed by the patterns that cover it, and by `all` at last.

    A pattern such as `et-*` stands for all that are in use.
    """
    entries = {str(name): each for name, each in document.scope.each("attachment").items()}
    patterns = [name for name in entries if "*" in name] + [name for name in entries if name == _ALL]
    own = {name: each for name, each in entries.items() if name not in patterns}
    names = dict.fromkeys(own)
    for port, interface in document.scope.each("interface").items() if patterns else ():
        if interface.each("unit"):
            names.setdefault(str(port))
    for name in names:
        found = [own[name]] if name in own else []
        found += [entries[pattern] for pattern in patterns if _covers(pattern, name)]
        if found:
            yield name, found[0] if len(found) == 1 else _complete_attachment(found)


def _covers(pattern: str, name: str) -> bool:
    """Return whether an entry for several interfaces is also one for an interface; `all` is for ports and bundles."""
    if pattern == _ALL:
        return SPELLINGS["junos"].parse_name(name).kind in (PortKind.PORT, PortKind.BUNDLE)
    return fnmatchcase(name, pattern)


def _complete_attachment(entries: Sequence[Scope]) -> Scope:
    """Return one entry of several, of which the first that states something counts."""
    merged = Scope(entries[0].line)
    for each in reversed(entries):
        merged.values |= each.values
        for name, table in each.tables.items():
            merged.tables[name] = merged.table(name) | table
    return merged


def _interface_facts(
    document: Document, scheduler_map: Scope | None, classifier: Scope | None, profile: Scope | None
) -> tuple[Stated, dict[str, int]]:
    """Return the statements of an interface through its references, at line 0 if only the reference states them.

    Also returned are the lines of queues whose marking is hardly meant so: of a shared scheduler, and of a strict one.
    """
    stated: Stated = []
    marks: dict[str, int] = {}
    shared = (
        Counter(value for value, _ in scheduler_map.table("schedulers").values()) if scheduler_map else {}
    )
    for name, (scheduler, line) in scheduler_map.table("schedulers").items() if scheduler_map else ():
        forwarding_class = _class_of(document, name, line)
        used = document.resolve_reference("scheduler", scheduler, line)
        if forwarding_class and used:
            prefix = f"queue[{forwarding_class.values['queue'][0]}]/"
            if shared[scheduler] > 1:  # one of its classes may have been meant to have another one
                marks[f"{prefix}ecn"] = line
            elif {"ecn", "strict"} <= used.values.keys():
                marks[f"{prefix}ecn"] = used.values["ecn"][1]
            stated += [(prefix + leaf, value, at) for leaf, value, at in _scheduler_facts(document, used)]
    points: dict[Captured, Scope] = {}
    for class_name, named in classifier.each("class").items() if classifier else ():
        forwarding_class = _class_of(document, str(class_name), named.line)
        if forwarding_class is None:
            document.reject_all(named)
            continue
        for dscp, (priority, line) in named.table("points").items():
            points[dscp] = forwarding_class
            if priority != USUAL:
                document.agree(f"qos/setting[dscp {dscp} loss-priority]", priority, line)
            document.agree(f"qos/dscp[{dscp}]/traffic_class", forwarding_class.values["queue"][0], line)
    if classifier:
        stated.append(("trust", "dscp", 0))
    return [*stated, *(_lossless_points(document, profile, points) if profile else ())], marks


def _class_of(document: Document, name: Value, line: int) -> Scope | None:
    """Return the forwarding class of a name, if it has a queue; some are there without being defined."""
    classes = document.scope.scopes.setdefault("class", {})
    if name not in classes and name in DEFAULT_CLASSES:
        queue, lossless = DEFAULT_CLASSES[str(name)]
        classes[name] = Scope(0)
        classes[name].values["queue"] = (queue, 0)
        if lossless:
            classes[name].values |= {"no_loss": ("true", 0), "pfc_priority": (queue, 0)}
    found = document.resolve_reference("class", name, line)
    if found and "queue" not in found.values:
        document.reject(line)
        document.reject_all(found)
        return None
    return found


def _paused_priority(forwarding_class: Scope) -> StoredValue | None:
    """Return the PFC priority of a class of which nothing may be lost."""
    return forwarding_class.values["pfc_priority"] if is_lossless(forwarding_class) else None


def _scheduler_facts(document: Document, scheduler: Scope) -> Stated:
    """Return what a scheduler states of a queue; a curve counts only where congestion is notified instead of dropped.

    A curve that does not rise from 0 between two fill levels is listed.
    """
    values = scheduler.values
    stated: Stated = []
    if "strict" in values:
        stated.append(("scheduler", "strict", values["strict"][1]))
        if "percent" in values:
            stated.append(("strict_percent", *values["percent"]))
    elif "percent" in values:
        stated.append(("scheduler", f"dwrr {values['percent'][0]}", values["percent"][1]))
    if "shaping_percent" in values:
        stated.append(("shaping_percent", *values["shaping_percent"]))
    stated += limits_of(scheduler)
    referred = values.get("curve") or values.get("curve of most")
    curve = document.resolve_reference("curve", *referred) if referred else None
    if curve is None or referred is None:
        return stated
    steps = curve.table("steps")
    levels = [*curve.table("levels").values()] or [(level, line) for level, (_, line) in steps.items()]
    chances = [*curve.table("chances").values()] or [*steps.values()]
    if len(levels) != 2 or len(chances) != 2 or chances[0][0] != 0 or steps:
        for words, points in (("fill-level", levels), ("drop-probability", chances)):
            for number, (value, line) in enumerate(points):
                document.put(f"qos/setting[drop-profile {referred[0]} {words} {number}]", value, line)
    elif "ecn" in values:
        leaves = ("ecn_min_fill_percent", "ecn_max_fill_percent", "ecn_max_percent")
        stated += [(leaf, *stored) for leaf, stored in zip(leaves, (*levels, chances[1]), strict=True)]
    return stated


def _lossless_points(
    document: Document, profile: Scope, points: Mapping[Captured, Scope]
) -> Iterator[tuple[str, Value, int]]:
    """PFC of an interface: code points that its profile pauses and whose class may not lose anything."""
    effective = {
        dscp: (paused, point)
        for dscp, point in profile.each("point").items()
        if dscp in points and (paused := _paused_priority(points[dscp])) and "pfc" in point.values
    }
    priorities = {priority: point.values["pfc"][1] for (priority, _), point in effective.values()}
    tagged = {priority: point for priority, point in profile.each("paused").items() if "pfc" in point.values}
    priorities |= {int(str(priority)): point.values["pfc"][1] for priority, point in tagged.items()}
    at = max(priorities.values(), default=0)
    yield "pfc", ",".join(map(str, sorted(priorities))), at
    if effective or not tagged:
        yield "pfc_dscps", ",".join(map(str, sorted(int(str(dscp)) for dscp in effective))), at
    watchdog = profile.each("watchdog").get("")
    guards = watchdog is not None and priorities.keys() <= profile.table("stopped").keys()
    polled = 0
    for timer, value, line in _watchdog_facts(watchdog) if watchdog else ():
        document.agree(f"watchdog/{timer}", value, line)
        polled = polled or line
    if watchdog is not None and not guards:
        polled = next((line for _, line in profile.table("stopped").values()), polled)
    yield "watchdog", format_boolean(guards), polled
    for priority, (queue, line) in profile.table("stopped").items():
        document.agree(f"qos/pfc_priority[{priority}]/queue", queue, line)
    for leaf in ("cable_m", "mru_bytes", "xon_offset_cells"):
        blocks = (profile, *[point for _, point in effective.values()], *tagged.values())
        sizes = dict([block.values[leaf] for block in blocks if leaf in block.values])
        yield from agreed_facts(f"headroom/{leaf}", sizes)
    if "dynamic_th" in document.scope.values:
        yield "headroom/dynamic_th", *document.scope.values["dynamic_th"]
    for _, point in effective.values():
        point.used = True


def _watchdog_facts(watchdog: Scope) -> Stated:
    """Timers of a profile; what it leaves out is at Junos's default."""
    values, line = watchdog.values, watchdog.line
    poll_ms, polled = values.get("poll_ms", (qos.DEFAULT_POLL_MS, line))
    polls, counted = values.get("polls", (qos.DEFAULT_POLLS, line))
    return [
        ("poll_ms", poll_ms, polled),
        ("detect_ms", int(poll_ms) * int(polls), counted),
        ("restore_ms", *values.get("restore_ms", (qos.DEFAULT_RECOVERY_MS, line))),
        ("action", *values.get("action", (qos.DEFAULT_ACTION, line))),
    ]


TOPIC = Topic(ROWS, finish)
