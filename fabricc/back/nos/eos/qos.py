"""Quality of service on EOS: classes, scheduling, marking, PFC with its watchdog, buffers.

Where the catalog says so EOS marks by delay: a packet that waited longer than one threshold is marked, whatever its
queue (Arista's description of ECN by latency, July 2024; michaely-cb/cluster-cp writes the line on interfaces). There
is no ramp and no probability, so the threshold is Kmax: where the policy marks every packet too.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.departures import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.eos import classes
from fabricc.back.nos.eos.words import (
    ALPHA_OF,
    ALPHAS,
    QUEUE_KEYWORD,
    alpha_exponent,
    family,
    is_trident,
    settings,
)
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Said, Scope, Silent, Topic
from fabricc.base.order import natural
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean
from fabricc.fabric.model import Direction
from fabricc.fabric.qos import Ecn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile, SwitchQos, TrafficClass, Watchdog

    Stated = tuple[str, Value, int]

LOSSY_PROFILE = "LOSSY"
UNTRUSTED_PROFILE = "UNTRUSTED"
"""The QoS profile, and the policy map, of ports whose packets all go to the default class."""
EGRESS_LOSSLESS_EXPONENT = 3  # the largest: PFC, not the egress limit, is to hold a lossless queue back
# What a watched queue is given of the link before all scheduling: the watchdog asks for some, and as it may go
# before strict queues too (assumed), it is the least there is.
GUARANTEED_PERCENT = 1
WATCHDOG_ACTIONS = {"drop": "drop", "forward": "notify-only"}
ALL_GROUPS = "all"
"""Priority groups, where a threshold names none."""
UNUSED = Direction.UNUSED  # looking a member up costs more than what is done with it

DEPARTURES = (
    Departure("pool/*", LEFT_OUT, "EOS sizes its pools, all but the headroom pool of the trident family"),
    Departure("interface[*]/headroom/size_bytes", LEFT_OUT, "EOS takes headroom and a threshold, no size"),
    Departure("interface[*]/headroom/xon_offset_bytes", LEFT_OUT, "EOS takes one figure to resume at"),
    Departure("interface[*]/headroom/cable_m", LEFT_OUT, "EOS takes no length"),
    Departure(
        "interface[*]/headroom/xoff_bytes", LEFT_OUT, "the sand family has no `platform trident` (FAB5107)"
    ),
    Departure("interface[*]/headroom/xon_bytes", LEFT_OUT, "there neither, and 0 is EOS's own"),
    Departure("interface[*]/headroom/dynamic_th", LEFT_OUT, "there neither"),
    Departure(
        "interface[*]/headroom/dynamic_th", ROUNDED, "alphas are the powers of two from 1/128 to 8 (FAB5108)"
    ),
    Departure(
        "interface[*]/queue[*]/ecn_*", ROUNDED, "one threshold in time for all queues of a port (FAB5674)"
    ),
    Departure("interface[*]/watchdog", ROUNDED, "a strict queue cannot be watched (FAB5113)"),
    Departure("qos/traffic_class[*]/priority_group", LEFT_OUT, "EOS ties priority, group and queue together"),
    Departure("qos/pfc_priority[*]/queue", LEFT_OUT, "EOS ties priority, group and queue together"),
    Departure(
        "watchdog/*_ms", ROUNDED, "steps of 10 ms, and polling at most half of the shorter timer (FAB5111)"
    ),
    Departure("watchdog/action", ROUNDED, "EOS's word for forwarding is `notify-only`"),
    Departure("trimming/*", LEFT_OUT, "no public commands (FAB5120)"),
    Departure("link_retry", LEFT_OUT, "no public commands (FAB5120)"),
)


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueView:
    """One transmit queue of a QoS profile; `percent` is None for a strict queue, a guarantee where there is none."""

    number: int
    percent: int | None
    guaranteed_percent: int | None
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class QosProfileView:
    """One `qos profile`; `no_drop` are its PFC priorities, `trusted` whether code points decide the class."""

    name: str
    no_drop: list[int]
    watchdog: bool
    queues: list[QueueView]
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class MmuProfileView:
    """One `platform trident mmu queue profile`; thresholds are EOS words, sizes bytes, 0 to resume where EOS does."""

    name: str
    threshold: str
    headroom_bytes: int
    resume_bytes: int
    no_drop: list[int]
    egress_threshold: str


@dataclass(frozen=True, slots=True)
class Timers:
    """Watchdog timers in milliseconds as EOS can hold them."""

    timeout_ms: int
    recovery_ms: int
    polling_ms: int


@dataclass(frozen=True, slots=True)
class WatchdogView:
    """The watchdog's timers, as EOS spells them in seconds, and its action."""

    timers: Timers
    timeout: str
    recovery: str
    polling: str
    action: str


@dataclass(frozen=True, slots=True)
class QosView:
    """What a switch does for its classes.

    Attributes:
        queue: EOS's word for a transmit queue; `queues`: their numbers.
        traffic_classes: traffic class of each DSCP, as (dscp, traffic class), ascending.
        mmu_default: the buffer profile of ports that apply none, the one with the most headroom.
        headroom_pool_bytes: None where the platform keeps no shared headroom pool or EOS cannot set one.
        untrusted: policy map, code point and traffic class of what arrives at ports that trust none; None without.
    """

    queue: str
    traffic_classes: list[tuple[int, int]]
    queues: list[int]
    profiles: list[QosProfileView]
    mmu_profiles: list[MmuProfileView]
    mmu_default: str | None
    headroom_pool_bytes: int | None
    watchdog: WatchdogView | None
    untrusted: tuple[str, int, int] | None


def qos_view(switch: Switch) -> QosView:
    """What EOS makes of a switch's policy."""
    qos, trident = switch.qos, is_trident(switch)
    default = _roomiest(qos) if trident else None
    return QosView(
        queue=QUEUE_KEYWORD[family(switch)],
        traffic_classes=sorted((dscp, c.priority) for c in qos.classes for dscp in c.dscps),
        queues=[c.priority for c in qos.classes],
        profiles=_profiles(switch),
        mmu_profiles=_mmu_profiles(switch) if trident else [],
        mmu_default=mmu_name(default.name) if default else None,
        headroom_pool_bytes=_headroom_pool(switch),
        watchdog=_watchdog(qos.watchdog),
        untrusted=_untrusted(switch),
    )


def _untrusted(switch: Switch) -> tuple[str, int, int] | None:
    """Ports that are not trusted set code point and class of all that arrives (EOS, ACL-based QoS)."""
    if all(port.trusted for port in switch.ports):
        return None
    default = switch.qos.default
    return UNTRUSTED_PROFILE, default.data_dscp, default.priority


@lru_cache(maxsize=4096)
def profile_name(profile: str | None, trusted: bool = True) -> str:
    """The QoS profile of ports that have this port profile."""
    if not trusted:
        return UNTRUSTED_PROFILE
    return f"ROCE-{profile.upper()}" if profile else LOSSY_PROFILE


def mmu_name(profile: str) -> str:
    """The buffer profile of ports that have this port profile."""
    return f"MMU-{profile.upper()}"


def _profiles(switch: Switch) -> list[QosProfileView]:
    qos = switch.qos
    watchdog = qos.watchdog is not None
    by_bytes = step_us(switch) is None
    profiles = [
        QosProfileView(
            name=profile_name(profile.name),
            no_drop=[c.priority for c in qos.lossless],
            watchdog=watchdog,
            queues=[_queue(c, profile, watchdog, by_bytes) for c in qos.classes],
        )
        for profile in qos.profiles
    ]
    lossy = {port.trusted for port in switch.ports if port.profile is None and port.direction is not UNUSED}
    queues = [_queue(c, None, watchdog, by_bytes) for c in qos.classes]
    for trusted in sorted(lossy):
        name = profile_name(None, trusted)
        profiles.append(QosProfileView(name, [], watchdog=False, queues=queues, trusted=trusted))
    return sorted(profiles, key=lambda profile: natural(profile.name.lower()))


def _queue(
    traffic_class: TrafficClass, profile: PortProfile | None, watchdog: bool, by_bytes: bool
) -> QueueView:
    return QueueView(
        number=traffic_class.priority,
        percent=None if traffic_class.strict else traffic_class.weight_percent,
        guaranteed_percent=GUARANTEED_PERCENT if profile and watchdog and traffic_class.lossless else None,
        ecn=profile.ecn if profile and traffic_class.ecn and by_bytes else None,
    )


def _mmu_profiles(switch: Switch) -> list[MmuProfileView]:
    priorities = [c.priority for c in switch.qos.lossless]
    profiles = [_mmu_profile(profile, priorities) for profile in switch.qos.profiles]
    return sorted(profiles, key=lambda profile: natural(profile.name.lower()))


def _mmu_profile(profile: PortProfile, priorities: list[int]) -> MmuProfileView:
    headroom = profile.headroom
    return MmuProfileView(
        name=mmu_name(profile.name),
        threshold=ALPHAS[alpha_exponent(headroom.dynamic_th)],
        headroom_bytes=headroom.xoff_bytes,
        resume_bytes=headroom.xon_bytes,
        no_drop=priorities,
        egress_threshold=ALPHAS[EGRESS_LOSSLESS_EXPONENT],
    )


def _roomiest(qos: SwitchQos) -> PortProfile | None:
    """The port profile with the most headroom: safe for a port of any cable; None without a lossless class."""
    return max(qos.profiles, key=lambda profile: profile.headroom.xoff_bytes, default=None)


def _headroom_pool(switch: Switch) -> int | None:
    pools = switch.qos.pools
    return (pools.headroom_bytes or None) if pools and is_trident(switch) else None


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """The nearest timers that EOS accepts.

    Timeout and recovery have steps of 10 ms (rounded up); polling may take at most half of the shorter one.
    """
    timeout = -(-watchdog.detect_ms // 10) * 10
    recovery = -(-watchdog.restore_ms // 10) * 10
    return Timers(timeout, recovery, min(watchdog.poll_ms, min(timeout, recovery) // 2))


def _watchdog(watchdog: Watchdog | None) -> WatchdogView | None:
    if watchdog is None:
        return None
    timers = watchdog_timers(watchdog)
    return WatchdogView(
        timers,
        timeout=f"{timers.timeout_ms / 1000:.2f}",
        recovery=f"{timers.recovery_ms / 1000:.2f}",
        polling=f"{timers.polling_ms / 1000:.3f}",
        action=WATCHDOG_ACTIONS[watchdog.action],
    )


def _watchdog_guards(switch: Switch) -> bool:
    """Whether the PFC watchdog can act: it watches queues with guaranteed bandwidth, which strict ones lack."""
    return switch.qos.watchdog is not None and not any(c.strict for c in switch.qos.lossless)


# --- marking by delay ---------------------------------------------------------------------------------

UNITS_US = {"milliseconds": 1000, "microseconds": 1}
"""Units of the threshold, the largest first; only milliseconds are in a public text of this line."""


def step_us(switch: Switch) -> int | None:
    """Step of the threshold in microseconds; None where EOS marks by the bytes of a queue."""
    by_delay = settings(switch).get("ecn_delay")
    return int(by_delay["step_us"]) if by_delay else None


def delay_us(switch: Switch, profile: PortProfile | None) -> int | None:
    """The threshold of the profile's ports: the time in which the port sends Kmax, down to a step, one at least."""
    step = step_us(switch)
    if step is None or profile is None or profile.ecn is None:
        return None
    if not any(c.ecn for c in switch.qos.classes):
        return None
    whole_us = profile.ecn.max_bytes * 8 // (profile.speed_gbps * 1000)
    return max(step, whole_us // step * step)


def delays(switch: Switch) -> dict[str, int]:
    """Port profile -> threshold of its ports in microseconds, of those that have one."""
    return {p.name: us for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None}


def thresholds(threshold_us: int, speed_gbps: int) -> Ecn:
    """What the delay is in bytes of a queue that has the port to itself: none are marked up to it, all above.

    A queue that shares the port is shorter when its packets have waited so long: it is marked earlier.
    """
    waited = threshold_us * speed_gbps * 1000 // 8
    return Ecn(waited, waited + 1, 100)


def waits(*, strict: bool, stopped: bool) -> bool:
    """Whether packets of a queue can wait that long: all but those that are sent before all others and never paused."""
    return stopped or not strict


def delay_words(threshold_us: int) -> str:
    """The threshold as EOS spells it, in the largest unit that holds it whole."""
    unit = next(unit for unit, us in UNITS_US.items() if threshold_us % us == 0)
    return f"{threshold_us // UNITS_US[unit]} {unit}"


def queue_facts(threshold_us: int, speed_gbps: int) -> dict[str, Value]:
    """What the delay states of each queue of a port that can wait."""
    held = thresholds(threshold_us, speed_gbps)
    return {
        "ecn_min_bytes": held.min_bytes,
        "ecn_max_bytes": held.max_bytes,
        "ecn_max_percent": held.max_percent,
    }


# --- the facts of that --------------------------------------------------------------------------------


def express(switch: Switch, alike: Facts, profile: PortProfile | None) -> None:
    """Change what ports of a profile state to what EOS holds of it."""
    lossless = switch.qos.lossless
    if profile is None or not lossless:
        return
    alike["watchdog"] = boolean(_watchdog_guards(switch))
    for traffic_class in lossless:
        if switch.qos.watchdog and not traffic_class.strict:
            alike[f"queue[{traffic_class.priority}]/guaranteed"] = f"{GUARANTEED_PERCENT} percent"
    for traffic_class in switch.qos.classes:
        if not profile.ecn or not traffic_class.ecn:
            continue
        queue = f"queue[{traffic_class.priority}]/"
        if step_us(switch) is None:
            alike[queue + "ecn_count"] = "true"
            continue
        for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent"):
            del alike[queue + leaf]
    trident = is_trident(switch)
    held = (
        ("xoff_bytes", "dynamic_th", *(("xon_bytes",) if profile.headroom.xon_bytes else ()))
        if trident
        else ()
    )
    for leaf in ("size_bytes", "xon_offset_bytes", "cable_m", "xoff_bytes", "xon_bytes", "dynamic_th"):
        if leaf not in held:
            alike.pop(f"headroom/{leaf}", None)
    if not trident:
        return
    alike["headroom/dynamic_th"] = alpha_exponent(profile.headroom.dynamic_th)
    alike["headroom/priority_groups"] = ",".join(sorted(str(c.priority) for c in lossless))
    for traffic_class in lossless:
        alike[f"queue[{traffic_class.priority}]/egress_dynamic_th"] = EGRESS_LOSSLESS_EXPONENT


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the whole switch to what EOS holds of them."""
    for pool in ("ingress_lossless_bytes", "headroom_bytes", "egress_lossless_bytes", "egress_lossy_bytes"):
        facts.pop(f"pool/{pool}", None)
    for traffic_class in switch.qos.lossless:
        del facts[f"qos/traffic_class[{traffic_class.priority}]/priority_group"]
        del facts[f"qos/pfc_priority[{traffic_class.priority}]/queue"]
    if pool_bytes := _headroom_pool(switch):
        facts["pool/headroom_bytes"] = pool_bytes
    default = _roomiest(switch.qos)
    if default and is_trident(switch):
        facts["platform/default_headroom_bytes"] = default.headroom.xoff_bytes
    if (watchdog := _watchdog(switch.qos.watchdog)) is not None:
        facts["watchdog/detect_ms"] = watchdog.timers.timeout_ms
        facts["watchdog/restore_ms"] = watchdog.timers.recovery_ms
        facts["watchdog/poll_ms"] = watchdog.timers.polling_ms
        facts["watchdog/action"] = watchdog.action


# --- and back -----------------------------------------------------------------------------------------

_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_SECONDS = re.compile(r"\d{1,5}(?:\.\d{1,3})?")
_AMOUNT = re.compile(r"[1-9][0-9]{0,8}")
_WATCHDOG = "priority-flow-control pause watchdog"


def _milliseconds(seconds: str) -> int | None:
    return int(Decimal(seconds) * 1000) if _SECONDS.fullmatch(seconds) and seconds.isascii() else None


def microseconds(amount: str, unit: str) -> int | None:
    """The threshold in microseconds; None where it is not one."""
    return int(amount) * UNITS_US[unit] if unit in UNITS_US and _AMOUNT.fullmatch(amount) else None


def _marking(low: int, low_unit: int, high: int, high_unit: int, percent: int) -> Mapping[str, Value]:
    return {"ecn_min_bytes": low * low_unit, "ecn_max_bytes": high * high_unit, "ecn_max_percent": percent}


TYPES: Mapping[str, Mapping[str, int] | Mapping[str, str]] = {
    "alpha": ALPHA_OF,
    "bytes": _BYTES,
    "delay unit": {unit: unit for unit in UNITS_US},
}

DELAY_ROWS = (
    Keep("random-detect ecn delay threshold <word> <delay unit>", "ecn_delay_us", microseconds),
    Keep("random-detect ecn count", "ecn_count"),
)
"""Of an interface: what marks all its queues, and what counts that."""

QUEUE = (
    Keep("priority strict", "strict", "true"),
    Keep("no priority", "strict", "false"),
    Keep("bandwidth percent <1-100>", "percent"),
    Keep("bandwidth guaranteed percent <1-100>", "guaranteed", "{2} percent"),
    Keep("bandwidth guaranteed <integer>", "guaranteed", "{2} kbps"),
    Keep("bandwidth guaranteed <integer> <kbps|mbps|gbps>", "guaranteed", "{2} {3}"),
    Keep(
        "random-detect ecn minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
        " max-mark-probability <integer> [weight 0]",
        _marking,
    ),
    Keep("random-detect ecn count", "ecn_count"),
    Silent("no (bandwidth percent|bandwidth guaranteed|shape rate)"),
    Silent("no random-detect (drop|ecn count|ecn minimum-threshold)"),
    Silent("no priority-flow-control priority <0-7>"),
)

ROWS: Sequence[Row] = (
    Block("qos profile <word>", "qos profile", (
        Keep("qos trust dscp", "trust", "dscp"),
        Keep("no qos trust", "trust", "none"),
        Keep("priority-flow-control on", "pfc"),
        Keep("priority-flow-control pause watchdog", "watchdog"),
        Entry("priority-flow-control priority <0-7> no-drop", "no_drop"),
        Block("(tx-queue|uc-tx-queue) <integer>", "queue", (*QUEUE, *classes.QUEUE)),
        *classes.PROFILE,
    )),
    Block("policy-map type quality-of-service <word>", "policy map", (
        Block("class class-default", "", (Keep("set dscp <0-63>", "dscp"), Keep("set traffic-class <0-7>", "class"))),
        Block("class class-default", "", classes.DEFAULT),
        *classes.POLICY,
    )),
    Block("platform trident mmu queue profile <word>", "mmu profile", (
        Keep("ingress headroom [bytes] <integer>", "headroom/xoff_bytes"),
        Keep("ingress resume <integer>", "headroom/xon_bytes"),
        Entry("ingress priority-group <0-7> threshold <alpha>", "thresholds"),
        Keep("ingress threshold <alpha>", "threshold"),
        Keep("egress unicast queue <0-7> threshold <alpha>", "queue[{1}]/egress_dynamic_th"),
        *classes.BUFFERS,
    )),
    Keep("platform trident mmu queue profile <word> apply", "mmu profile"),
    Fact("platform trident mmu headroom-pool limit bytes <integer>", "pool/headroom_bytes"),
    Entry("qos map dscp <0-63>... to traffic-class <0-7>", "traffic classes"),
    Entry(
        "qos map dscp <0-63>... to traffic-class <0-7> drop-precedence <0-2>",
        "traffic classes",
        lambda _dscp, traffic_class, _precedence: traffic_class,
    ),
    Entry("qos map traffic-class <0-7>... to (tx-queue|uc-tx-queue) <0-7>", "queues"),
    Fact(f"{_WATCHDOG} default timeout <word>", "watchdog/detect_ms", _milliseconds),
    Fact(f"{_WATCHDOG} default recovery-time <word>", "watchdog/restore_ms", _milliseconds),
    Fact(f"{_WATCHDOG} default polling-interval <word>", "watchdog/poll_ms", _milliseconds),
    Fact(f"{_WATCHDOG} action <drop|errdisable|notify-only>", "watchdog/action"),
    *classes.ROWS,
)  # fmt: skip


class Profiles(NamedTuple):
    """What the QoS profile and the buffer profile of an interface state of it.

    Attributes:
        stated: rest of the path, value, line.
        waiting: queues that marking by delay concerns.
    """

    stated: tuple[Stated, ...]
    waiting: tuple[int, ...]


def profiles_of(document: Document, qos: Value | None, mmu: Value | None) -> Profiles:
    """What an interface gets of the profiles that it names; where PFC is on, the default buffer profile if of none."""
    stated: list[Stated] = []
    waiting: tuple[int, ...] = ()
    profile = document.scope.each("qos profile").get(qos)
    if profile is not None:
        stated += _of_profile(profile)
        stopped = profile.table("no_drop") if "pfc" in profile.values else {}
        if mmu is None and stopped:
            mmu = default_mmu(document)
        waiting = tuple(
            [
                number
                for number, queue in profile.each("queue").items()
                if isinstance(number, int) and waits(strict=_strict(queue), stopped=number in stopped)
            ]
        )
    buffers = document.scope.each("mmu profile").get(mmu)
    return Profiles((*stated, *(_of_buffers(buffers) if buffers is not None else ())), waiting)


def marked(document: Document, policy: Said) -> Said | None:
    """The code point that a policy map gives all that arrives; None where it does not put it into the default class."""
    found = document.scope.each("policy map").get(policy[0])
    values = found.values if found is not None else {}
    classes = Counter(value for value, _ in document.scope.table("traffic classes").values())
    usual = classes.most_common(1)[0][0] if classes else None
    if values.get("class", (None, 0))[0] != usual or "dscp" not in values:
        return None
    return values["dscp"]


OF_PORTS = frozenset({"pfc", "watchdog"})
"""What a port says of pausing by itself; the priorities that it pauses are a table."""


def of_port(port: Scope) -> Iterator[Stated]:
    """What a port says of pausing without a profile."""
    no_drop, values = port.table("no_drop"), port.values
    if "pfc" in values and no_drop:
        line = max(line for _, line in no_drop.values())
        yield "pfc", ",".join(map(str, sorted(no_drop))), line
        yield "watchdog", boolean("watchdog" in values), values.get("watchdog", values["pfc"])[1]
    for number, queue in port.each("queue").items():
        yield from _of_queue(number, queue, told=True)


def default_mmu(document: Document) -> str | None:
    """The buffer profile of interfaces that name none."""
    said = document.scope.values.get("mmu profile")
    return str(said[0]) if said else None


def _strict(queue: Scope) -> bool:
    """Whether a queue is strict, which is EOS's default."""
    return queue.values.get("strict", ("true", 0))[0] == "true"


def _of_profile(profile: Scope) -> list[Stated]:
    values, no_drop, queues = profile.values, profile.table("no_drop"), profile.each("queue")
    stated: list[Stated] = [("trust", *values["trust"])] if "trust" in values else []
    if "pfc" in values and no_drop:
        priorities = sorted(no_drop)
        guards = "watchdog" in values and all(
            p in queues and "guaranteed" in queues[p].values for p in priorities
        )
        stated.append(("pfc", ",".join(map(str, priorities)), no_drop[priorities[-1]][1]))
        stated.append(("watchdog", boolean(guards), values.get("watchdog", values["pfc"])[1]))
    for number, queue in queues.items():
        stated += _of_queue(number, queue)
    stated += [(name, *said) for name, said in values.items() if name.startswith(classes.TELLS)]
    return stated


def _of_queue(number: object, queue: Scope, *, told: bool = False) -> Iterator[Stated]:
    """What a queue states of its port; if `told`, its scheduler only where a line says one."""
    said = [queue.values[name][1] for name in ("strict", "percent") if name in queue.values]
    weight = queue.values.get("percent", (0, 0))[0]
    if not told or "percent" in queue.values or queue.values.get("strict", ("", 0))[0] == "true":
        scheduler = "strict" if _strict(queue) else f"dwrr {weight}"
        yield f"queue[{number}]/scheduler", scheduler, max(said, default=queue.line)
    for name, (value, line) in queue.values.items():
        if name not in ("strict", "percent"):
            yield classes.of_queue(number, name), value, line


def _of_buffers(profile: Scope) -> list[Stated]:
    stated: list[Stated] = [
        (name, value, line) for name, (value, line) in profile.values.items() if name != "threshold"
    ]
    groups = _thresholds(profile)
    if groups:
        first, *_ = groups.values()
        stated.append(("headroom/dynamic_th", *first))
        names = ",".join(sorted(map(str, groups)))
        stated.append(("headroom/priority_groups", names, max(line for _, line in groups.values())))
    return stated


def _thresholds(profile: Scope) -> Mapping[Value, Said]:
    """Ingress thresholds by priority group, in the order of their lines."""
    groups = dict(profile.table("thresholds"))
    if "threshold" in profile.values:
        groups[ALL_GROUPS] = profile.values["threshold"]
    return dict(sorted(groups.items(), key=lambda group: group[1][1]))


def default_traffic_class(dscp: int) -> int:
    """The traffic class EOS gives a code point that no `qos map` names: its class selector, 0 and 1 swapped."""
    selector = dscp >> 3
    return 1 - selector if selector < 2 else selector


def finish(document: Document) -> None:
    """State the maps in full, what no line says being EOS's default, and list thresholds that contradict others."""
    classes: dict[Value, Said] = {dscp: (default_traffic_class(dscp), 0) for dscp in range(64)}
    classes |= document.scope.table("traffic classes")
    for dscp, said in classes.items():
        document.put(f"qos/dscp[{dscp}]/traffic_class", *said)
    queues: dict[Value, Said] = {traffic_class: (traffic_class, 0) for traffic_class, _ in classes.values()}
    for traffic_class, said in (queues | document.scope.table("queues")).items():
        document.put(f"qos/traffic_class[{traffic_class}]/queue", *said)
    for profile in document.scope.each("mmu profile").values():
        groups = list(_thresholds(profile).values())
        for value, line in groups[1:]:
            if value != groups[0][0]:
                document.reject(line)
    said_default = document.scope.values.get("mmu profile")
    default = document.scope.each("mmu profile").get(said_default[0]) if said_default else None
    if said_default and default is not None and "headroom/xoff_bytes" in default.values:
        value, _ = default.values["headroom/xoff_bytes"]
        document.put("platform/default_headroom_bytes", value, said_default[1])


TOPIC = Topic(ROWS, finish)
