"""Class of service of Junos: forwarding classes, one set of profiles per port profile, buffers, the PFC watchdog.

Junos sizes headroom itself from cable length and frame size, splits its buffer in percent, and marks by percent of it.
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.departures import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.junos.interfaces import physical_mtu
from fabricc.back.nos.junos.settings import SETTING, put_settings, verbatim
from fabricc.back.nos.junos.words import ALPHA_RANGE, DETECTION_RANGE, settings
from fabricc.back.reading import Block, Captured, Document, Entry, Fact, Keep, Row, Said, Topic, Types
from fabricc.back.reading.scope import Scope, agreed
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean
from fabricc.fabric.model import Direction
from fabricc.fabric.paths import alike, port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.paths import Alike
    from fabricc.fabric.qos import Ecn, PortProfile, TrafficClass, Watchdog

CLASSIFIER = "DSCP"
LOSSY = "LOSSY"
# `dynamic-threshold` 0 to 10 stands for alpha 1/128 to 8, so 7 is alpha 1 (Juniper, QFX shared buffers).
ALPHA_OFFSET = 7
# Defaults of `pfc-watchdog` (Juniper, PFC watchdog).
DEFAULT_POLL_MS, DEFAULT_POLLS, DEFAULT_RECOVERY_MS, DEFAULT_ACTION = 100, 2, 200, "drop"

DEPARTURES = (
    Departure("interface[*]/set_dscp", LEFT_OUT, "what arrives keeps its code point (FAB5725)"),
    Departure("pool/*_bytes", LEFT_OUT, "Junos splits its buffer in percent (FAB5507, FAB5508)"),
    *(Departure(f"interface[*]/headroom/{leaf}", LEFT_OUT, "Junos sizes headroom itself (FAB5507)")
      for leaf in ("size_bytes", "xon_bytes", "xoff_bytes", "xon_offset_bytes")),
    Departure("interface[*]/headroom/dynamic_th", LEFT_OUT, "a model without a split keeps Junos's own (FAB5508)"),
    Departure("interface[*]/headroom/dynamic_th", ROUNDED, "one for the switch, from 2^-7 to 2^3 (FAB5509)"),
    Departure("interface[*]/queue[*]/ecn_min_bytes", LEFT_OUT, "in percent of a queue's buffer (FAB5505)"),
    Departure("interface[*]/queue[*]/ecn_max_bytes", LEFT_OUT, "in percent of a queue's buffer (FAB5505)"),
    Departure("interface[*]/queue[*]/scheduler", ROUNDED, "weighted classes share what capped strict ones leave"),
    Departure("watchdog/detect_ms", ROUNDED, "detection takes whole polls (FAB5512)"),
    Departure("trimming/*", LEFT_OUT, "no statement"),
    Departure("link_retry", LEFT_OUT, "no statement"),
)  # fmt: skip


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class ClassView(NamedTuple):
    """One forwarding class and the code points classified into it.

    `pfc` is (PFC priority, its code point of 3 bits), None where packets may be dropped.
    """

    name: str
    queue: int
    pfc: tuple[int, str] | None
    code_points: list[str]


class FillLevels(NamedTuple):
    """Marking thresholds in whole percent of the queue's buffer."""

    low: int
    high: int


class ProfileView(NamedTuple):
    """What definitions named after a port profile say: PFC of its ports, and the curve by which they mark.

    Attributes:
        mru: the largest frame received in bytes, for which Junos sizes headroom.
        xon_cells: distance of xon in buffer cells, as Junos counts it; None where the platform table has none.
        levels: where marking begins, at 0 %, and where it reaches `percent`; None where nothing is marked.
    """

    name: str
    mru: int
    xon_cells: int | None
    cable_m: int
    levels: FillLevels | None
    percent: int


class SchedulerView(NamedTuple):
    """One scheduler; `percent` is None for strict priority without a cap, `profile` has the curve by which it marks."""

    name: str
    strict: bool
    percent: int | None
    profile: str | None


class Detection(NamedTuple):
    """Watchdog timers as Junos holds them: detection counts polls."""

    poll_ms: int
    polls: int
    recovery_ms: int

    @property
    def detect_ms(self) -> int:
        """Time to detection, milliseconds."""
        return self.poll_ms * self.polls


class SharedBuffer(NamedTuple):
    """Split of the shared buffer in percent, and the threshold of its lossless part.

    `dedicated` is what is used of the dedicated buffer at (ingress, egress), in percent; None where Junos's own stays.
    """

    lossless: int
    headroom: int
    lossy: int
    dynamic_threshold: int
    dedicated: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class CosView:
    """Everything of `class-of-service`.

    Attributes:
        marks: whether a profile has a curve.
        attachments: (interface, the profile that its definitions are named after, whether it has PFC, the class of
            all that arrives, None where code points decide).
        scheduler_maps: (profile, (forwarding class, scheduler) of each class).
    """

    classifier: str
    classes: list[ClassView]
    profiles: list[ProfileView]
    marks: bool
    shared_buffer: SharedBuffer | None
    watchdog: Detection | None
    watchdog_action: str
    attachments: list[tuple[str, str, bool, str | None]]
    scheduler_maps: list[tuple[str, list[tuple[str, str]]]]
    schedulers: list[SchedulerView]


def cos_view(switch: Switch) -> CosView:
    """The class of service of one switch."""
    qos = switch.qos
    used = [port for port in switch.ports if port.direction is not Direction.UNUSED]
    profiles: list[PortProfile | None] = [*qos.profiles]
    if any(port.profile is None for port in used):
        profiles.append(None)
    names = {p.name: p.name.upper() for p in qos.profiles}
    views = [profile_view(switch, p) for p in qos.profiles]
    schedulers = {(c, p): _scheduler(switch, c, p) for c in qos.classes for p in profiles}
    return CosView(
        classifier=CLASSIFIER,
        classes=[_class(c) for c in qos.classes],
        profiles=views,
        marks=any(view.levels for view in views),
        shared_buffer=shared_buffer(switch),
        watchdog=detection(qos.watchdog) if qos.watchdog else None,
        watchdog_action=qos.watchdog.action if qos.watchdog else "",
        attachments=[
            (
                p.name,
                names.get(p.profile or "", LOSSY),
                p.profile is not None,
                None if p.trusted else _class_name(qos.default),
            )
            for p in used
        ],
        scheduler_maps=[
            (p.name.upper() if p else LOSSY, [(_class_name(c), schedulers[c, p].name) for c in qos.classes])
            for p in profiles
        ],
        schedulers=list(dict.fromkeys(schedulers.values())),
    )


def profile_view(switch: Switch, profile: PortProfile) -> ProfileView:
    """What Junos makes of a port profile."""
    headroom, ecn = profile.headroom, profile.ecn
    offset = headroom.xon_offset_bytes
    return ProfileView(
        profile.name.upper(),
        max((physical_mtu(port) for port in switch.ports if port.profile == profile.name), default=0),
        None if offset is None else max(1, offset // switch.model.buffers.cell_bytes),
        headroom.cable_m,
        fill_levels(switch, ecn) if ecn else None,
        ecn.max_percent if ecn else 0,
    )


def buffer_monitor(switch: Switch) -> bool:
    """Whether the switch is to count how full its buffers are: where it can, and something is lossless."""
    return bool(switch.qos.profiles) and bool(settings(switch).get("buffer_monitor", False))


def detection(watchdog: Watchdog) -> Detection:
    """The timers that Junos can hold: detection in whole polls, rounded up, and at least two."""
    polls = max(DETECTION_RANGE[0], -(-watchdog.detect_ms // watchdog.poll_ms))
    return Detection(watchdog.poll_ms, polls, watchdog.restore_ms)


def shared_buffer(switch: Switch) -> SharedBuffer | None:
    """The catalog's split; None where it has none or no class is lossless.

    The threshold belongs to the whole switch, so the smallest that any port profile asks for is taken: it pauses
    earliest and is safe for all.
    """
    split = settings(switch)
    if "lossless_percent" not in split or not switch.qos.profiles:
        return None
    low, high = ALPHA_RANGE
    exponent = min(high, max(low, min(p.headroom.dynamic_th for p in switch.qos.profiles)))
    dedicated = "dedicated_ingress_percent", "dedicated_egress_percent"
    return SharedBuffer(
        int(split["lossless_percent"]),
        int(split["headroom_percent"]),
        int(split["lossy_percent"]),
        exponent + ALPHA_OFFSET,
        (int(split[dedicated[0]]), int(split[dedicated[1]])) if dedicated[0] in split else None,
    )


def queue_bytes(switch: Switch) -> int:
    """What one lossless queue may hold when all of them are equally full: its share of the egress lossless pool.

    Junos measures fill levels against a queue's buffer, which is dynamic; this is what is left of it under the load for
    which the thresholds are planned.
    """
    queues = sum(port.profile is not None for port in switch.ports) * len(switch.qos.lossless)
    return switch.qos.pools.egress_lossless_bytes // queues if switch.qos.pools and queues else 0


def fill_levels(switch: Switch, ecn: Ecn) -> FillLevels | None:
    """The thresholds of a switch's profile in percent of a queue; None where no class is marked."""
    return percent_of(ecn, queue_bytes(switch)) if any(c.ecn for c in switch.qos.classes) else None


def percent_of(ecn: Ecn, whole_bytes: int) -> FillLevels:
    """ECN thresholds as `fill-level` percentages of a queue that may hold `whole_bytes`.

    The upper one is rounded down, so that marking still comes before pause, the lower one to the nearest. The lower
    one is at least 1, because 0 would mark from the first packet, and the upper one is larger than it.
    """
    whole = max(1, whole_bytes)
    low = min(max(1, (200 * ecn.min_bytes + whole) // (2 * whole)), 99)
    high = min(100 * ecn.max_bytes // whole, 100)
    return FillLevels(min(low, max(1, high - 1)), max(high, 2))


def _shares(switch: Switch) -> dict[str, int]:
    """Percent of a port that each class is given; of strict ones at most, and then the others share the rest.

    A strict class without a cap has none. All together stay within 100 %.
    """
    cap = int(settings(switch).get("cnp_percent", 0))
    capped = {c.name: cap for c in switch.qos.classes if cap and c.cnp and c.strict}
    left = 100 - sum(capped.values())
    weighted = {c.name: c.weight_percent for c in switch.qos.classes if not c.strict}
    return capped | {name: max(1, weight * left // 100) if weight else 0 for name, weight in weighted.items()}


def _class(traffic_class: TrafficClass) -> ClassView:
    priority = traffic_class.priority
    pfc = (priority, f"{priority:03b}") if traffic_class.lossless else None
    return ClassView(
        _class_name(traffic_class), priority, pfc, [f"{dscp:06b}" for dscp in traffic_class.dscps]
    )


def _scheduler(switch: Switch, traffic_class: TrafficClass, profile: PortProfile | None) -> SchedulerView:
    """That of a class, one for each profile by whose curve it marks."""
    marks = profile.name.upper() if profile and traffic_class.ecn and profile.ecn else None
    name = f"S-{traffic_class.name.upper()}" + (f"-{marks}" if marks else "")
    return SchedulerView(name, traffic_class.strict, _shares(switch).get(traffic_class.name), marks)


def _class_name(traffic_class: TrafficClass) -> str:
    """The forwarding class of a traffic class; the prefix keeps clear of Junos's own names."""
    return f"FC-{traffic_class.name.upper()}"


# --- the facts of that --------------------------------------------------------------------------------


def express(switch: Switch, quality: Facts, profile: PortProfile | None) -> None:
    """Change what ports of a profile state to what Junos holds of it."""
    for each, share in [(c, _shares(switch).get(c.name)) for c in switch.qos.classes]:
        if not each.strict:
            quality[f"queue[{each.priority}]/scheduler"] = f"dwrr {share}"
        elif share is not None:
            quality[f"queue[{each.priority}]/strict_percent"] = share
    lossless = switch.qos.lossless
    if profile is None or not lossless:
        return
    for leaf in ("size_bytes", "xon_bytes", "xoff_bytes", "xon_offset_bytes", "dynamic_th"):
        quality.pop(f"headroom/{leaf}", None)
    quality["pfc_dscps"] = ",".join(map(str, sorted(dscp for c in lossless for dscp in c.dscps)))
    view = profile_view(switch, profile)
    quality["headroom/mru_bytes"] = view.mru
    if view.xon_cells is not None:
        quality["headroom/xon_offset_cells"] = view.xon_cells
    if split := shared_buffer(switch):
        quality["headroom/dynamic_th"] = split.dynamic_threshold - ALPHA_OFFSET
    for queue in [f"queue[{c.priority}]" for c in switch.qos.classes if c.ecn and view.levels]:
        for end, percent in zip(("min", "max"), view.levels or (), strict=True):
            del quality[f"{queue}/ecn_{end}_bytes"]
            quality[f"{queue}/ecn_{end}_fill_percent"] = percent


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the whole switch to what Junos holds of them."""
    for pool in ("ingress_lossless", "headroom", "egress_lossless", "egress_lossy"):
        facts.pop(f"pool/{pool}_bytes", None)
    if switch.qos.watchdog:
        facts["watchdog/detect_ms"] = detection(switch.qos.watchdog).detect_ms
    if buffer_monitor(switch):
        facts["platform/buffer_monitor"] = "true"
    if split := shared_buffer(switch):
        facts["pool/ingress_lossless_percent"] = split.lossless
        facts["pool/ingress_lossless_headroom_percent"] = split.headroom
        facts["pool/ingress_lossy_percent"] = split.lossy
        facts["pool/egress_lossless_percent"] = split.lossless
        facts["pool/egress_lossy_percent"] = split.lossy
        if split.dedicated:
            facts["pool/ingress_dedicated_percent"], facts["pool/egress_dedicated_percent"] = split.dedicated


# --- and back -----------------------------------------------------------------------------------------


def _bits(count: int, word: str) -> int | None:
    return int(word, 2) if len(word) == count and not word.strip("01") else None


_ALIASES = {
    "be": 0, "ef": 46, "nc1": 48, "nc2": 56,
    **{f"cs{number}": 8 * number for number in range(1, 8)},
    **{f"af{number}{drop}": 8 * number + 2 * drop for number in range(1, 5) for drop in range(1, 4)},
}  # fmt: skip
"""Names of code points that a device has anyway (Juniper, "Default Code-Point Aliases")."""
TYPES: Types = {
    "point": lambda word: _ALIASES.get(word, _bits(6, word)),
    "priority": lambda word: _bits(3, word),
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


def _priority(loss_priority: str, _point: int) -> str:
    return loss_priority


def _of_unit(number: Value, word: str, below: str) -> Mapping[str, Value]:
    """What a unit refers to: of unit 0 and of all units, the interface does."""
    place = "" if number in ("0", "*") else f"unit {number} "
    return {f"{SETTING} {place}{word} {below}": "true"}


def _attributes(queue: int, no_loss: str | None, priority: int | None) -> Mapping[str, Value | None]:
    """Of a class: on one line a device puts the other attributes behind the queue."""
    return {"queue": queue, "no_loss": no_loss, "pfc_priority": priority}


def _threshold(direction: str, partition: str, threshold: int) -> Mapping[str, Value | None]:
    if (direction, partition) == ("ingress", "lossless"):
        return {"dynamic_th": threshold - ALPHA_OFFSET}
    return {
        f"{QOS} shared-buffer {direction} buffer-partition {partition} dynamic-threshold {threshold}": "true"
    }


ROWS: Sequence[Row] = (
    Fact("chassis fpc <integer> traffic-manager buffer-monitor-enable", "platform/buffer_monitor",
         lambda fpc: "true" if fpc == 0 else None),
    Block("class-of-service", "", (
        Block("forwarding-classes class <word>", "class", (
            Keep("queue-num <0-999> [<no-loss>] [pfc-priority <integer>]", _attributes),
            Keep("<no-loss>", "no_loss"),
            Keep("[no-loss] pfc-priority <integer>", "pfc_priority"),
            *verbatim("priority policing-priority queue-num+"),
        )),
        Entry("forwarding-classes queue <integer> <word> [<below>]", "queues", lambda _queue, name, _below: name),
        Block("classifiers dscp <word>", "classifier", (
            Block("forwarding-class <word>", "class", [
                Entry(f"loss-priority {priority} code-points <point>", "points", partial(_priority, priority))
                for priority in _LOSS_PRIORITIES
            ]),
            *verbatim("import"),
        )),
        Block("drop-profiles <word>", "curve", (
            Entry("interpolate fill-level <integer>", "levels"),
            Entry("interpolate drop-probability <integer>", "chances"),
            Entry("fill-level <integer> drop-probability <integer>", "steps", lambda _level, chance: chance),
        )),
        Fact("shared-buffer <ingress|egress> buffer-partition <partition> percent <integer>", "pool/{0}_{1}_percent"),
        Keep("shared-buffer <ingress|egress> buffer-partition <partition> dynamic-threshold <integer>", _threshold),
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
                *verbatim("xoff"),
            )),
            Block("input ieee-802.1 code-point <priority>", "paused", (
                Keep("pfc", "pfc"),
                Keep("mru <integer>", "mru_bytes"),
                Keep("xon <integer>", "xon_offset_cells"),
                *verbatim("xoff"),
            )),
            Entry("output ieee-802.1 code-point <priority> flow-control-queue <integer>", "stopped",
                  lambda _priority, queue: queue),
            *verbatim("input output"),
        )),
        Block("traffic-control-profiles <word>", "shaper", (
            Keep("scheduler-map <word>", "map"),
            *verbatim("adjust-minimum delay-buffer-rate excess-rate excess-rate-high excess-rate-low "
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
            *verbatim("classifiers dedicated-buffer-profile exclude-queue-overhead-bytes forwarding-class-set "
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
            Keep("priority strict-high", "strict"),
            Keep("drop-profile-map loss-priority any protocol any drop-profile <word>", "curve"),
            Keep("drop-profile-map loss-priority low protocol any drop-profile <word>", "curve of most"),
            Keep("explicit-congestion-notification", "ecn"),
            *verbatim("adjust-minimum adjust-percent buffer-dynamic-threshold buffer-size drop-profile-map "
                      "excess-priority excess-rate shaping-rate shared-buffer transmit-rate priority "
                      "buffer-partition burst-size buffer-rate drop-profile-map-set ecn-enhanced "
                      "ecn-rtlog-rate-limit queue-monitoring"),
        )),
        *verbatim("adjustment-control-profiles application-traffic-control code-point-aliases copy-plp-all "
                  "dedicated-buffer+ dedicated-buffer-profile fabric forwarding-class-map forwarding-class-sets "
                  "forwarding-policy fragmentation-maps host-outbound-traffic interface-set loss-priority-maps "
                  "loss-priority-rewrites multi-destination policy-map restricted-queues rewrite-rules "
                  "routing-instances shared-buffer+ system-defaults tri-color virtual-channel-groups "
                  "virtual-channels translation-table non-strict-priority-scheduling adaptive-shapers decn-profile "
                  "dynamic-class-of-service-options monitoring-profile options scheduler-map-forwarding-class-sets "
                  "traffic-class-map",
                  kind=QOS),
        *(row for word in ("dscp-ipv6", "exp", "ieee-802.1", "ieee-802.1ad", "inet-precedence")
          for row in verbatim(word, "classifiers", QOS, "classifiers")),
    )),
)  # fmt: skip

Stated = list[tuple[str, "Value", int]]
"""The rest of each fact's path, its value, and its line."""
_KINDS = ("map", "classifier", "congestion")
"""What an interface refers to."""


class _Attached(NamedTuple):
    """What interfaces state that refer to the same, and where; `unsaid` is at the reference itself."""

    facts: Alike[Value]
    lines: Alike[tuple[str, int]]
    unsaid: list[str]


def finish(document: Document) -> None:
    """State what every interface has of what it refers to by name.

    A name of nothing, and a definition that no interface uses, itself or by way of another, are listed.
    """
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    attached: dict[tuple[Scope | None, ...], _Attached] = {}
    for queue, (class_name, line) in document.scope.table("queues").items():
        known = document.scope.scopes.setdefault("class", {}).setdefault(class_name, Scope(line))
        known.values.setdefault("queue", (queue, line))
    for name, each in _attachments(document):
        _put_rest(document, name, each)
        said = [each.values.get(kind) for kind in _KINDS]
        used = tuple(
            [document.refer(kind, *to) if to else None for kind, to in zip(_KINDS, said, strict=True)]
        )
        if used not in attached:
            stated = _stated(document, *used)
            leaves = tuple([leaf for leaf, _, _ in stated])
            attached[used] = _Attached(
                alike(leaves, tuple([value for _, value, _ in stated])),
                alike(leaves, tuple([(file, line) for _, _, line in stated])),
                [leaf for leaf, _, line in stated if not line],
            )
        values, places, unsaid = attached[used]
        facts.update(values[name])
        lines.update(places[name])
        for leaf in unsaid:
            reference = said[1] if leaf == "trust" else said[2]
            lines[port_paths(name)[leaf]] = (file, reference[1] if reference else 0)
    document.put_agreed()
    _finish_fixed(document)
    for each in document.scope.each("class").values():
        if each.used and "queue" in each.values:
            queue, line = each.values["queue"]
            document.put(f"qos/traffic_class[{queue}]/queue", queue, line)
            if paused := _paused(each):
                document.put(f"qos/traffic_class[{queue}]/priority_group", *paused)
    for kind in (*_KINDS, "class", "scheduler", "curve", "shaper"):
        for defined, scope in document.scope.each(kind).items():
            if not scope.used:
                document.put(f"qos/setting[unused {kind} {defined}]", "true", scope.line)
            put_settings(document, "qos/", scope, lead=f"{kind} {defined} ")
    put_settings(document, "qos/", document.scope, QOS)
    for profile in document.scope.each("congestion").values():
        for point in profile.each("point").values():
            if not point.used:
                document.reject_all(point)


def _put_rest(document: Document, name: str, each: Scope) -> None:
    """State what else an interface refers to, and take the scheduler map of its shaper for its own."""
    put_settings(document, port_paths(name).prefix, each, leaf="qos_setting")
    if "shaper" in each.values:
        shaper = document.refer("shaper", *each.values["shaper"])
        document.put(port_paths(name)["qos_setting[output-traffic-control-profile]"], *each.values["shaper"])
        if shaper and "map" in shaper.values:
            each.values.setdefault("map", shaper.values["map"])


def _finish_fixed(document: Document) -> None:
    """State interfaces all of whose packets are of one class: the default one, to which most code points belong."""
    facts = document.reading.facts
    every = Counter(facts.get(f"qos/dscp[{dscp}]/traffic_class") for dscp in range(64))
    usual = every.most_common(1)[0][0]
    for name, each in document.scope.each("attachment").items():
        if "fixed" not in each.values:
            continue
        forwarding_class = _class_of(document, *each.values["fixed"])
        same = forwarding_class is not None and forwarding_class.values["queue"][0] == usual
        document.put(port_paths(str(name))["trust"], "none" if same else "something", each.values["fixed"][1])


def _attachments(document: Document) -> Iterator[tuple[str, Scope]]:
    """What every interface has; a pattern such as `et-*` stands for all that are in use and not named."""
    named = {str(name): each for name, each in document.scope.each("attachment").items()}
    patterns = [name for name in named if "*" in name]
    yield from [(name, each) for name, each in named.items() if "*" not in name]
    for port, interface in document.scope.each("interface").items() if patterns else ():
        pattern = next((pattern for pattern in patterns if fnmatchcase(str(port), pattern)), None)
        if pattern and port not in named and interface.each("unit"):
            yield str(port), named[pattern]


def _stated(
    document: Document, scheduler_map: Scope | None, classifier: Scope | None, profile: Scope | None
) -> Stated:
    """What an interface states by what it refers to, at line 0 where the reference is all that says so."""
    stated: Stated = []
    for name, (scheduler, line) in scheduler_map.table("schedulers").items() if scheduler_map else ():
        forwarding_class = _class_of(document, name, line)
        used = document.refer("scheduler", scheduler, line)
        if forwarding_class and used:
            prefix = f"queue[{forwarding_class.values['queue'][0]}]/"
            stated += [(prefix + leaf, value, at) for leaf, value, at in _scheduling(document, used)]
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
    return [*stated, *(_lossless(document, profile, points) if profile else ())]


def _class_of(document: Document, name: Value, line: int) -> Scope | None:
    """The forwarding class of a name, if it has a queue; some are there without being defined."""
    classes = document.scope.scopes.setdefault("class", {})
    if name not in classes and name in DEFAULT_CLASSES:
        queue, lossless = DEFAULT_CLASSES[str(name)]
        classes[name] = Scope(0)
        classes[name].values["queue"] = (queue, 0)
        if lossless:
            classes[name].values |= {"no_loss": ("true", 0), "pfc_priority": (queue, 0)}
    found = document.refer("class", name, line)
    if found and "queue" not in found.values:
        document.reject(line)
        document.reject_all(found)
        return None
    return found


def _paused(forwarding_class: Scope) -> Said | None:
    """The PFC priority of a class of which nothing may be lost."""
    values = forwarding_class.values
    return values.get("pfc_priority") if "no_loss" in values else None


def _scheduling(document: Document, scheduler: Scope) -> Stated:
    """What a scheduler states of a queue; a curve counts only where congestion is notified instead of dropped.

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
    referred = values.get("curve") or values.get("curve of most")
    curve = document.refer("curve", *referred) if referred else None
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
        stated += [(leaf, *said) for leaf, said in zip(leaves, (*levels, chances[1]), strict=True)]
    return stated


def _lossless(
    document: Document, profile: Scope, points: Mapping[Captured, Scope]
) -> Iterator[tuple[str, Value, int]]:
    """PFC of an interface: code points that its profile pauses and whose class may not lose anything."""
    effective = {
        dscp: (paused, point)
        for dscp, point in profile.each("point").items()
        if dscp in points and (paused := _paused(points[dscp])) and "pfc" in point.values
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
    for timer, value, line in _timers(watchdog) if watchdog else ():
        document.agree(f"watchdog/{timer}", value, line)
        polled = polled or line
    yield "watchdog", boolean(guards), polled
    for priority, (queue, line) in profile.table("stopped").items():
        document.agree(f"qos/pfc_priority[{priority}]/queue", queue, line)
    for leaf in ("cable_m", "mru_bytes", "xon_offset_cells"):
        blocks = (profile, *[point for _, point in effective.values()], *tagged.values())
        sizes = dict([block.values[leaf] for block in blocks if leaf in block.values])
        yield from agreed(f"headroom/{leaf}", sizes)
    if "dynamic_th" in document.scope.values:
        yield "headroom/dynamic_th", *document.scope.values["dynamic_th"]
    for _, point in effective.values():
        point.used = True


def _timers(watchdog: Scope) -> Stated:
    """Timers of a profile; what it leaves out is at Junos's default."""
    values, line = watchdog.values, watchdog.line
    poll_ms, polled = values.get("poll_ms", (DEFAULT_POLL_MS, line))
    polls, counted = values.get("polls", (DEFAULT_POLLS, line))
    return [
        ("poll_ms", poll_ms, polled),
        ("detect_ms", int(poll_ms) * int(polls), counted),
        ("restore_ms", *values.get("restore_ms", (DEFAULT_RECOVERY_MS, line))),
        ("action", *values.get("action", (DEFAULT_ACTION, line))),
    ]


TOPIC = Topic(ROWS, finish)
