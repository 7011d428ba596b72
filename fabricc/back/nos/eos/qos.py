"""Quality of service on EOS: classes, scheduling, marking, PFC with its watchdog, buffers.

If the catalog specifies it, EOS marks by delay: a packet that waited longer than one threshold is marked, whatever its
queue (Arista's description of ECN by latency, July 2024; michaely-cb/cluster-cp writes the line on interfaces). There
is no ramp and no probability, so the threshold is Kmax: where the policy marks every packet too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.eos import words
from fabricc.back.nos.eos.words import asic_family
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, format_boolean
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.qos import Ecn, Headroom, PortProfile, SwitchQos, TrafficClass, Watchdog

if TYPE_CHECKING:
    from collections.abc import Sequence

    Stated = tuple[str, Value, int]

LOSSY_PROFILE = "LOSSY"
UNTRUSTED_PROFILE = "UNTRUSTED"
"""The QoS profile, and the policy map, of ports whose packets all go to the default class."""
EGRESS_LOSSLESS_EXPONENT = 3  # the largest: PFC, not the egress limit, is to hold a lossless queue back
# The link share of a watched queue before all scheduling: the watchdog requires some, and since it may go before strict
# queues too (assumed), it is the minimum.
GUARANTEED_PERCENT = 1
WATCHDOG_ACTIONS = {"drop": "drop", "forward": "notify-only"}
ALL_GROUPS = "all"
"""Priority groups, where a threshold names none."""
UNUSED = Direction.UNUSED  # looking a member up costs more than what is done with it

DEPARTURES = (
    Departure("pool/*", LEFT_OUT, "EOS sizes its pools, except the headroom pool of the trident family"),
    Departure("interface[*]/headroom/size_bytes", LEFT_OUT, "EOS takes headroom and a threshold, no size"),
    Departure("interface[*]/headroom/xon_offset_bytes", LEFT_OUT, "EOS takes one figure to resume at"),
    Departure("interface[*]/headroom/cable_m", LEFT_OUT, "EOS takes no length"),
    Departure("interface[*]/headroom/xoff_bytes", LEFT_OUT,
        "the sand family has no `platform trident` (FAB5107)"),
    Departure("interface[*]/headroom/xon_bytes", LEFT_OUT, "the sand family has no such line, and 0 is EOS's own"),
    Departure("interface[*]/headroom/dynamic_th", LEFT_OUT, "the sand family has no such line"),
    Departure("interface[*]/headroom/dynamic_th", ROUNDED,
        "alphas are the powers of two from 1/128 to 8 (FAB5108)"),
    Departure("interface[*]/queue[*]/ecn_*", ROUNDED,
        "one threshold in time for all queues of a port (FAB5674)"),
    Departure("interface[*]/watchdog", ROUNDED, "a strict queue cannot be watched (FAB5113)"),
    Departure("qos/traffic_class[*]/priority_group", LEFT_OUT, "EOS ties priority, group and queue together"),
    Departure("qos/pfc_priority[*]/queue", LEFT_OUT, "EOS ties priority, group and queue together"),
    Departure("watchdog/*_ms", ROUNDED,
        "steps of 10 ms, and polling at most half of the shorter timer (FAB5111)"),
    Departure("watchdog/action", ROUNDED, "EOS forwards with `notify-only`"),
    Departure("trimming/*", LEFT_OUT, "no public commands (FAB5120)"),
    Departure("link_retry", LEFT_OUT, "no public commands (FAB5120)"),
)  # fmt: skip


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
    """The settings of a switch for its classes.

    Attributes:
        queue: EOS's word for a transmit queue; `queues`: their numbers.
        traffic_classes: traffic class of each DSCP, as (dscp, traffic class), ascending.
        mmu_default: the buffer profile of ports that apply none, the one with the most headroom.
        headroom_pool_bytes: None where the platform keeps no shared headroom pool or EOS cannot set one.
        untrusted: policy map, code point and traffic class of what arrives at ports that trust none; None without.
        counts_in_profiles: whether profiles count marks; needs_ecn_counters: whether the hardware counts none before
            this is configured, as on the sand family.
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
    counts_in_profiles: bool
    needs_ecn_counters: bool


def qos_view(switch: Switch) -> QosView:
    """Return what EOS makes of a switch's policy."""
    ports = switch.ports
    lossy = {port.trusted for port in ports if port.profile is None and port.direction is not UNUSED}
    untrusted = False in [port.trusted for port in ports]
    by_bytes = step_us(switch) is None
    in_profiles = words.counts_in_profiles(switch)
    return _qos_view(
        switch.qos, asic_family(switch), by_bytes, untrusted, False in lossy, True in lossy, in_profiles
    )


def _qos_view(
    qos: SwitchQos,
    family: str,
    by_bytes: bool,
    untrusted: bool,
    lossy_untrusted: bool,
    lossy: bool,
    counts_in_profiles: bool,
) -> QosView:
    """That of all switches with this policy, whose ports are some of them untrusted, or without a profile."""
    trident = family == words.TRIDENT
    default = _largest_headroom(qos) if trident else None
    return QosView(
        queue=words.QUEUE_KEYWORD[family],
        traffic_classes=sorted((dscp, c.priority) for c in qos.classes for dscp in c.dscps),
        queues=[c.priority for c in qos.classes],
        profiles=_profile_views(qos, by_bytes, [False] * lossy_untrusted + [True] * lossy),
        mmu_profiles=_mmu_profiles(qos) if trident else [],
        mmu_default=mmu_name(default[0].name) if default else None,
        headroom_pool_bytes=_headroom_pool(qos, trident),
        watchdog=_watchdog_view(qos.watchdog),
        untrusted=(UNTRUSTED_PROFILE, qos.default.data_dscp, qos.default.priority) if untrusted else None,
        counts_in_profiles=counts_in_profiles,
        needs_ecn_counters=not trident and _has_marking(qos),
    )


def _has_marking(qos: SwitchQos) -> bool:
    """Return whether some port marks packets of some class."""
    return any(profile.ecn for profile in qos.profiles) and any(c.ecn for c in qos.classes)


@lru_cache(maxsize=4096)
def profile_name(profile: str | None, trusted: bool = True) -> str:
    """Return the QoS profile of ports that have this port profile."""
    if not trusted:
        return UNTRUSTED_PROFILE
    return f"ROCE-{profile.upper()}" if profile else LOSSY_PROFILE


def mmu_name(profile: str) -> str:
    """Return the buffer profile of ports that have this port profile."""
    return f"MMU-{profile.upper()}"


def _profile_views(qos: SwitchQos, by_bytes: bool, lossy: Sequence[bool]) -> list[QosProfileView]:
    """Return the profiles of ports; `lossy` has the other ports in use, and whether they are trusted."""
    watchdog = qos.watchdog is not None
    profiles = [
        QosProfileView(
            name=profile_name(profile.name),
            no_drop=[c.priority for c in qos.lossless],
            watchdog=watchdog,
            queues=[_queue_view(c, profile, watchdog, by_bytes) for c in qos.classes],
        )
        for profile in qos.profiles
    ]
    queues = [_queue_view(c, None, watchdog, by_bytes) for c in qos.classes]
    for trusted in lossy:
        name = profile_name(None, trusted)
        profiles.append(QosProfileView(name, [], watchdog=False, queues=queues, trusted=trusted))
    return sorted(profiles, key=lambda profile: natural_key(profile.name.lower()))


def _queue_view(
    traffic_class: TrafficClass, profile: PortProfile | None, watchdog: bool, by_bytes: bool
) -> QueueView:
    return QueueView(
        number=traffic_class.priority,
        percent=None if traffic_class.strict else traffic_class.weight_percent,
        guaranteed_percent=GUARANTEED_PERCENT if profile and watchdog and traffic_class.lossless else None,
        ecn=profile.ecn if profile and traffic_class.ecn and by_bytes else None,
    )


def _mmu_profiles(qos: SwitchQos) -> list[MmuProfileView]:
    priorities = [c.priority for c in qos.lossless]
    profiles = [_mmu_profile(profile.name, headroom, priorities) for profile, headroom in qos.headrooms]
    return sorted(profiles, key=lambda profile: natural_key(profile.name.lower()))


def _mmu_profile(profile: str, headroom: Headroom, priorities: list[int]) -> MmuProfileView:
    return MmuProfileView(
        name=mmu_name(profile),
        threshold=words.ALPHAS[words.alpha_exponent(headroom.dynamic_th)],
        headroom_bytes=headroom.xoff_bytes,
        resume_bytes=headroom.xon_bytes,
        no_drop=priorities,
        egress_threshold=words.ALPHAS[EGRESS_LOSSLESS_EXPONENT],
    )


def _largest_headroom(qos: SwitchQos) -> tuple[PortProfile, Headroom] | None:
    """Return the port profile with the most headroom: safe for any cable; None without a lossless class."""
    return max(qos.headrooms, key=lambda each: each[1].xoff_bytes, default=None)


def _headroom_pool(qos: SwitchQos, trident: bool) -> int | None:
    return (qos.pools.headroom_bytes or None) if qos.pools and trident else None


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """Return the nearest timers that EOS accepts.

    Timeout and recovery have steps of 10 ms (rounded up); polling may take at most half of the shorter one.
    """
    timeout = -(-watchdog.detect_ms // 10) * 10
    recovery = -(-watchdog.restore_ms // 10) * 10
    return Timers(timeout, recovery, min(watchdog.poll_ms, min(timeout, recovery) // 2))


def _watchdog_view(watchdog: Watchdog | None) -> WatchdogView | None:
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
    """Return whether the PFC watchdog can act: it watches queues with guaranteed bandwidth, which strict ones lack."""
    return switch.qos.watchdog is not None and not any(c.strict for c in switch.qos.lossless)


# --- marking by delay ---------------------------------------------------------------------------------

UNITS_US = {"milliseconds": 1000, "microseconds": 1}
"""Units of the threshold, the largest first; only milliseconds are in a public text of this line."""


def step_us(switch: Switch) -> int | None:
    """Step of the threshold in microseconds; None where EOS marks by the bytes of a queue."""
    by_delay = words.catalog_settings(switch).get("ecn_delay")
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


def delays_by_profile(switch: Switch) -> dict[str, int]:
    """Port profile -> threshold of its ports in microseconds, of those that have one."""
    return {p.name: us for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None}


def counted_on_ports(switch: Switch) -> dict[str, tuple[int, ...]]:
    """Return port profile -> queues whose marks the port counts, if a QoS profile cannot configure this."""
    if words.counts_in_profiles(switch) or step_us(switch) is not None:
        return {}
    queues = tuple(c.priority for c in switch.qos.marked)
    return {profile.name: queues for profile in switch.qos.profiles if profile.ecn}


def delay_thresholds(threshold_us: int, speed_gbps: int) -> Ecn:
    """Return what the delay is in bytes of a queue that has the port to itself: none are marked up to it, all above.

    A queue that shares the port is shorter when its packets have waited so long: it is marked earlier.
    """
    waited = threshold_us * speed_gbps * 1000 // 8
    return Ecn(waited, waited + 1, 100)


def can_wait(*, strict: bool, stopped: bool) -> bool:
    """Return whether packets of a queue can wait that long: all but queues that are sent first and never paused."""
    return stopped or not strict


def delay_words(threshold_us: int) -> str:
    """Return the threshold as EOS spells it, in the largest unit that holds it whole."""
    unit = next(unit for unit, us in UNITS_US.items() if threshold_us % us == 0)
    return f"{threshold_us // UNITS_US[unit]} {unit}"


def queue_facts(threshold_us: int, speed_gbps: int) -> dict[str, Value]:
    """Return what the delay states of each queue of a port that can wait."""
    held = delay_thresholds(threshold_us, speed_gbps)
    return {
        "ecn_min_bytes": held.min_bytes,
        "ecn_max_bytes": held.max_bytes,
        "ecn_max_percent": held.max_percent,
    }


# --- the facts of that --------------------------------------------------------------------------------


def adjust_profile(switch: Switch, shared: Facts, profile: PortProfile | None) -> None:
    """Change what ports of a profile state to what EOS holds of it."""
    if profile is None:
        return
    for traffic_class in switch.qos.marked if profile.ecn else ():
        queue = f"queue[{traffic_class.priority}]/"
        if step_us(switch) is None:
            shared[queue + "ecn_count"] = "true"
            continue
        for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent"):
            del shared[queue + leaf]
    lossless, headroom = switch.qos.lossless, profile.headroom
    if not lossless or headroom is None:
        return
    shared["watchdog"] = format_boolean(_watchdog_guards(switch))
    for traffic_class in lossless:
        if switch.qos.watchdog and not traffic_class.strict:
            shared[f"queue[{traffic_class.priority}]/guaranteed"] = f"{GUARANTEED_PERCENT} percent"
    trident = words.is_trident(switch)
    held = ("xoff_bytes", "dynamic_th", *(("xon_bytes",) if headroom.xon_bytes else ())) if trident else ()
    for leaf in ("size_bytes", "xon_offset_bytes", "cable_m", "xoff_bytes", "xon_bytes", "dynamic_th"):
        if leaf not in held:
            shared.pop(f"headroom/{leaf}", None)
    if not trident:
        return
    shared["headroom/dynamic_th"] = words.alpha_exponent(headroom.dynamic_th)
    shared["headroom/priority_groups"] = ",".join(sorted(str(c.priority) for c in lossless))
    for traffic_class in lossless:
        shared[f"queue[{traffic_class.priority}]/egress_dynamic_th"] = EGRESS_LOSSLESS_EXPONENT


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the whole switch to what EOS holds of them."""
    for pool in ("ingress_lossless_bytes", "headroom_bytes", "egress_lossless_bytes", "egress_lossy_bytes"):
        facts.pop(f"pool/{pool}", None)
    for traffic_class in switch.qos.lossless:
        del facts[f"qos/traffic_class[{traffic_class.priority}]/priority_group"]
        del facts[f"qos/pfc_priority[{traffic_class.priority}]/queue"]
    if not words.is_trident(switch) and _has_marking(switch.qos):
        facts["platform/ecn_counters"] = "true"
    if pool_bytes := _headroom_pool(switch.qos, words.is_trident(switch)):
        facts["pool/headroom_bytes"] = pool_bytes
    default = _largest_headroom(switch.qos)
    if default and words.is_trident(switch):
        facts["platform/default_headroom_bytes"] = default[1].xoff_bytes
    if (watchdog := _watchdog_view(switch.qos.watchdog)) is not None:
        facts["watchdog/detect_ms"] = watchdog.timers.timeout_ms
        facts["watchdog/restore_ms"] = watchdog.timers.recovery_ms
        facts["watchdog/poll_ms"] = watchdog.timers.polling_ms
        facts["watchdog/action"] = watchdog.action
