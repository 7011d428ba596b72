"""Class of service of Junos: forwarding classes, one set of profiles per port profile, buffers, the PFC watchdog.

Junos sizes headroom itself from cable length and frame size, splits its buffer in percent, and marks by percent of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.junos.interfaces import physical_mtu
from fabricc.back.nos.junos.words import (
    ALPHA_RANGE,
    DETECTION_RANGE,
    POLL_RANGE_MS,
    RECOVERY_RANGE_MS,
    catalog_settings,
    put_refused,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Switch

if TYPE_CHECKING:
    from fabricc.back.reading import Document
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.qos import Ecn, PortProfile, TrafficClass, Watchdog

CLASSIFIER = "DSCP"
LOSSY = "LOSSY"
# The cap of strict notifications where a model has no figure of its own: the figure of Juniper's design for AI back
# ends, in the form of its EVPN design for QFX5120, 5130, 5210, 5220 and 5230 (Juniper/jvd, 5stage_evpn_vxlan).
STRICT_SHAPING_PERCENT = 5
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
    Departure("interface[*]/queue[*]/scheduler", ROUNDED, "weighted classes share the rest of capped strict classes"),
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
    """The definitions named after a port profile: PFC of its ports, and their marking curve.

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
    """One scheduler; `percent` or `shaping_percent` caps a strict one, `profile` has the curve by which it marks."""

    name: str
    strict: bool
    percent: int | None
    shaping_percent: int | None
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
        paused: the profiles of ports with PFC.
        marks: whether a profile has a curve.
        attachments: (interface, the profile that its definitions are named after, whether it has PFC, the class of
            all that arrives, None where code points decide).
        scheduler_maps: (profile, (forwarding class, scheduler) of each class).
    """

    classifier: str
    classes: list[ClassView]
    profiles: list[ProfileView]
    paused: list[ProfileView]
    marks: bool
    shared_buffer: SharedBuffer | None
    watchdog: Detection | None
    watchdog_action: str
    attachments: list[tuple[str, str, bool, str | None]]
    scheduler_maps: list[tuple[str, list[tuple[str, str]]]]
    schedulers: list[SchedulerView]


def cos_view(switch: Switch) -> CosView:
    """Return the class of service of one switch."""
    qos = switch.qos
    used = [port for port in switch.ports if port.direction is not Direction.UNUSED]
    profiles: list[PortProfile | None] = [*qos.profiles]
    if any(port.profile is None for port in used):
        profiles.append(None)
    names = {p.name: p.name.upper() for p in qos.profiles}
    views = [profile_view(switch, p) for p in qos.profiles]
    schedulers = {(c, p): _scheduler_view(switch, c, p) for c in qos.classes for p in profiles}
    return CosView(
        classifier=CLASSIFIER,
        classes=[_class_view(c) for c in qos.classes],
        profiles=views,
        paused=views if qos.lossless else [],
        marks=any(view.levels for view in views),
        shared_buffer=shared_buffer(switch),
        watchdog=detection_timers(qos.watchdog) if qos.watchdog else None,
        watchdog_action=qos.watchdog.action if qos.watchdog else "",
        attachments=[
            (
                p.name,
                names.get(p.profile or "", LOSSY),
                p.profile is not None and bool(qos.lossless),
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
    """Return what Junos makes of a port profile."""
    headroom, ecn = profile.headroom, profile.ecn
    offset = headroom.xon_offset_bytes if headroom else None
    return ProfileView(
        profile.name.upper(),
        max((physical_mtu(port) for port in switch.ports if port.profile == profile.name), default=0),
        None if offset is None else max(1, offset // switch.model.buffers.cell_bytes),
        profile.cable_m,
        fill_levels(switch, ecn) if ecn else None,
        ecn.max_percent if ecn else 0,
    )


def buffer_monitor(switch: Switch) -> bool:
    """Return whether the switch is to count how full its buffers are: where it can, and something is lossless."""
    return bool(switch.qos.headrooms) and bool(catalog_settings(switch).get("buffer_monitor", False))


def detection_timers(watchdog: Watchdog) -> Detection:
    """Return the timers that Junos can hold: detection in whole polls, rounded up, and at least two."""
    polls = max(DETECTION_RANGE[0], -(-watchdog.detect_ms // watchdog.poll_ms))
    return Detection(watchdog.poll_ms, polls, watchdog.restore_ms)


def shared_buffer(switch: Switch) -> SharedBuffer | None:
    """Return the catalog's split; None where it has none or no class is lossless.

    The threshold applies to the whole switch, so the smallest of all port profiles is used: it pauses earliest and is
    safe for all.
    """
    split = catalog_settings(switch)
    if "lossless_percent" not in split or not switch.qos.headrooms:
        return None
    low, high = ALPHA_RANGE
    exponent = min(high, max(low, min(headroom.dynamic_th for _, headroom in switch.qos.headrooms)))
    dedicated = "dedicated_ingress_percent", "dedicated_egress_percent"
    return SharedBuffer(
        int(split["lossless_percent"]),
        int(split["headroom_percent"]),
        int(split["lossy_percent"]),
        exponent + ALPHA_OFFSET,
        (int(split[dedicated[0]]), int(split[dedicated[1]])) if dedicated[0] in split else None,
    )


def queue_bytes(switch: Switch) -> int:
    """Return what one lossless queue may hold when all of them are equally full: its share of the egress lossless pool.

    Junos measures fill levels against a queue's buffer, which is dynamic; this is what is left of it under the load for
    which the thresholds are planned. Without a lossless class it is the share of a marked queue in the packet buffer.
    """
    ports = sum(port.profile is not None for port in switch.ports)
    if not switch.qos.lossless:
        queues, whole = ports * len(switch.qos.marked), switch.model.buffers.total_bytes
    else:
        queues = ports * len(switch.qos.lossless)
        whole = switch.qos.pools.egress_lossless_bytes if switch.qos.pools else 0
    return whole // queues if queues else 0


def fill_levels(switch: Switch, ecn: Ecn) -> FillLevels | None:
    """Return the thresholds of a switch's profile in percent of a queue; None where no class is marked."""
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


def _class_shares(switch: Switch) -> dict[str, int]:
    """Percent of a port that each class is given; of strict ones at most, and then the others share the rest.

    A strict class without a cap, and one whose cap is a shaping rate, has none. All together stay within 100 %.
    """
    cap = int(catalog_settings(switch).get("cnp_percent", 0))
    capped = {c.name: cap for c in switch.qos.classes if cap and c.cnp and c.strict}
    left = 100 - sum(capped.values())
    weighted = {c.name: c.weight_percent for c in switch.qos.classes if not c.strict}
    return capped | {name: max(1, weight * left // 100) if weight else 0 for name, weight in weighted.items()}


def _class_view(traffic_class: TrafficClass) -> ClassView:
    priority = traffic_class.priority
    pfc = (priority, f"{priority:03b}") if traffic_class.lossless else None
    return ClassView(
        _class_name(traffic_class), priority, pfc, [f"{dscp:06b}" for dscp in traffic_class.dscps]
    )


def _scheduler_view(
    switch: Switch, traffic_class: TrafficClass, profile: PortProfile | None
) -> SchedulerView:
    """That of a class, one for each profile by whose curve it marks."""
    marks = profile.name.upper() if profile and traffic_class.ecn and profile.ecn else None
    name = f"S-{traffic_class.name.upper()}" + (f"-{marks}" if marks else "")
    share = _class_shares(switch).get(traffic_class.name)
    return SchedulerView(name, traffic_class.strict, share, _shaping_percent(traffic_class, share), marks)


def _shaping_percent(traffic_class: TrafficClass, share: int | None) -> int | None:
    """Return the shaping rate that caps strict notifications, in percent; None where another cap holds or none does."""
    capped = traffic_class.strict and traffic_class.cnp and share is None
    return STRICT_SHAPING_PERCENT if capped else None


def _class_name(traffic_class: TrafficClass) -> str:
    """Return the forwarding class of a traffic class; the prefix keeps clear of Junos's own names."""
    return f"FC-{traffic_class.name.upper()}"


# --- the facts of that --------------------------------------------------------------------------------


def adjust_profile(switch: Switch, quality: Facts, profile: PortProfile | None) -> None:
    """Change what ports of a profile state to what Junos holds of it."""
    for each, share in [(c, _class_shares(switch).get(c.name)) for c in switch.qos.classes]:
        if not each.strict:
            quality[f"queue[{each.priority}]/scheduler"] = f"dwrr {share}"
        elif share is not None:
            quality[f"queue[{each.priority}]/strict_percent"] = share
        if (shaping := _shaping_percent(each, share)) is not None:
            quality[f"queue[{each.priority}]/shaping_percent"] = shaping
    if profile is None:
        return
    lossless, view = switch.qos.lossless, profile_view(switch, profile)
    for queue in [f"queue[{c.priority}]" for c in switch.qos.marked if view.levels]:
        for end, percent in zip(("min", "max"), view.levels or (), strict=True):
            del quality[f"{queue}/ecn_{end}_bytes"]
            quality[f"{queue}/ecn_{end}_fill_percent"] = percent
    if not lossless:
        return
    for leaf in ("size_bytes", "xon_bytes", "xoff_bytes", "xon_offset_bytes", "dynamic_th"):
        quality.pop(f"headroom/{leaf}", None)
    quality["pfc_dscps"] = ",".join(map(str, sorted(dscp for c in lossless for dscp in c.dscps)))
    quality["headroom/mru_bytes"] = view.mru
    if view.xon_cells is not None:
        quality["headroom/xon_offset_cells"] = view.xon_cells
    if split := shared_buffer(switch):
        quality["headroom/dynamic_th"] = split.dynamic_threshold - ALPHA_OFFSET


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the whole switch to what Junos holds of them."""
    for pool in ("ingress_lossless", "headroom", "egress_lossless", "egress_lossy"):
        facts.pop(f"pool/{pool}_bytes", None)
    if switch.qos.watchdog:
        facts["watchdog/detect_ms"] = detection_timers(switch.qos.watchdog).detect_ms
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


# --- what a commit refuses ----------------------------------------------------------------------------

_BITS = 6
_ALIASES = {
    "be": 0, "ef": 46, "nc1": 48, "nc2": 56,
    **{f"cs{number}": 8 * number for number in range(1, 8)},
    **{f"af{number}{drop}": 8 * number + 2 * drop for number in range(1, 5) for drop in range(1, 4)},
}  # fmt: skip
"""Names of code points that a device has anyway (Juniper, "Default Code-Point Aliases")."""
_PERCENT = (0, 100)
_RANGES = (
    ("class", "pfc_priority", "pfc-priority", (0, 7)),
    ("scheduler", "percent", "transmit-rate", _PERCENT),
    ("scheduler", "shaping_percent", "shaping-rate", _PERCENT),
)
"""Kind of a definition, what it keeps, its word, and the range of the number (Juniper's YANG 24.4R1)."""
_OF_WATCHDOG = (
    ("poll_ms", "poll-interval", POLL_RANGE_MS),
    ("polls", "detection", DETECTION_RANGE),
    ("restore_ms", "recovery", RECOVERY_RANGE_MS),
)
_OF_BUFFER = {"dedicated": (15, 100), "lossless": _PERCENT, "lossless_headroom": _PERCENT, "lossy": _PERCENT}


def parse_bits(count: int, word: str) -> int | None:
    """Return the number that a word states in bits, None for another word."""
    return int(word, 2) if len(word) == count and not word.strip("01") else None


def parse_point(word: str) -> int | None:
    """Return the code point that a word states, in bits or by its usual name."""
    return _ALIASES.get(word, parse_bits(_BITS, word))


def put_refused_values(document: Document) -> None:
    """State numbers that a commit refuses, or that leave a queue nothing, and classes without a queue."""
    scope, facts, lines = document.scope, document.reading.facts, document.reading.lines
    for kind, leaf, word, limits in _RANGES:
        for name, each in scope.each(kind).items():
            if leaf in each.values:
                put_refused(document, f"{kind} {name} {word}", each.values[leaf], *limits)
                if each.values[leaf][0] == 0 and word == "transmit-rate":
                    why = "a queue with 0 percent drops its packets (Juniper, `transmit-rate`)"
                    document.put(f"unread[{kind} {name}]", why, each.values[leaf][1])
    for name, curve in scope.each("curve").items():
        for stored in (*curve.table("levels").values(), *curve.table("chances").values()):
            put_refused(document, f"drop-profile {name}", stored, *_PERCENT)
    for name, profile in scope.each("congestion").items():
        for watchdog in profile.each("watchdog").values():
            for leaf, word, limits in _OF_WATCHDOG:
                if leaf in watchdog.values:
                    put_refused(document, f"{name} {word}", watchdog.values[leaf], *limits)
    for way in ("ingress", "egress"):
        for part, limits in _OF_BUFFER.items():
            path = f"pool/{way}_{part}_percent"
            if path in lines:
                put_refused(document, f"{way} {part} percent", (facts[path], lines[path][1]), *limits)
    for name, each in scope.each("class").items():
        if "queue" not in each.values:
            document.put(f"unread[forwarding class {name}]", "it has no queue", each.line)
