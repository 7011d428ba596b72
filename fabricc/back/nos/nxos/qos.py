"""Quality of service on NX-OS: qos-groups, classification, queuing and pause policies, PFC with its watchdog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.nxos import words
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction, Port, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.qos import Ecn, PortProfile, SwitchQos, TrafficClass, Watchdog

    Stated = tuple[str, Value, int]

CLASSIFY = "PM-CLASSIFY"
UNTRUSTED = "PM-UNTRUSTED"
"""The policy of ports that put all that arrives into the default class, and mark it so."""
NETWORK_POLICY = "NQ-FABRIC"
LOSSY_POLICY = "PM-OUT-LOSSY"
COPP_PROFILE = "strict"
CLASS_MTU = 9216  # of `network-qos`: the largest, so that the interface's own MTU alone decides
DEFAULT_WATCHDOG_INTERVAL_MS = 100
DEFAULT_SHUTDOWN = 1
DEFAULT_RESTORE = 10

DEPARTURES = (
    Departure("pool/*", LEFT_OUT, "NX-OS sizes its pools"),
    Departure(
        "interface[*]/headroom/*", LEFT_OUT, "the platform's own up to 100 m, no such words beyond (FAB5685)"
    ),
    Departure("interface[*]/headroom/x*_bytes", ROUNDED, "over long cables the catalog's figures for NX-OS"),
    Departure("interface[*]/queue[*]/*", LEFT_OUT, "a class has the queue of its qos-group"),
    Departure("qos/dscp[*]/traffic_class", ROUNDED, "a class is known by its qos-group"),
    Departure("qos/*", LEFT_OUT, "a class is known by its qos-group"),
    Departure("qos/*/queue", ROUNDED, "a class is known by its qos-group"),
    Departure("watchdog/*_ms", ROUNDED, "an interval from 100 ms to 1 s, and multiples of it (FAB5411)"),
    Departure("watchdog/action", ROUNDED, "NX-OS drops (FAB5412)"),
    Departure("trimming/*", LEFT_OUT, "no public commands"),
    Departure("link_retry", LEFT_OUT, "no public commands"),
)
_QUEUE = re.compile(r"(?<=queue\[)\d+(?=\])")
_CLASS = re.compile(r"(?<=traffic_class\[)\d+(?=\])")


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


def qos_groups(classes: Iterable[TrafficClass]) -> dict[int, int]:
    """Return the qos-group, which is the queue, of each priority: the same number wherever NX-OS allows it.

    NX-OS takes strict priority only on the highest queues, next to each other (Nexus 9000 QoS guide 10.5, queuing),
    and the default queue is for what may drop. Where a weighted class lies above a strict one, or a strict one is 0,
    strict classes get 7, 6, … in the order of their priorities. A class whose number is taken, and a lossless
    class on the default queue, gets the highest free one.
    """
    ordered = sorted(classes, key=lambda c: -c.priority)
    strict = [c.priority for c in ordered if c.strict]
    weighted = [c for c in ordered if not c.strict]
    apart = not strict or (strict[-1] > 0 and all(c.priority < strict[-1] for c in weighted))
    groups = {p: p if apart else words.QUEUES[-1] - index for index, p in enumerate(strict)}
    free = set(words.QUEUES) - set(groups.values())
    displaced = []
    for c in weighted:
        if c.priority in free and not (c.lossless and c.priority == 0):
            groups[c.priority] = c.priority
            free.remove(c.priority)
        else:
            displaced.append(c.priority)
    for priority in displaced:
        groups[priority] = max(free - strict_queues(ordered, groups), default=priority)
        free.discard(groups[priority])
    return groups


def strict_queues(classes: Iterable[TrafficClass], groups: dict[int, int]) -> set[int]:
    """The queues with strict priority: those of strict classes, and idle ones above, so that none is in between."""
    lowest = min((groups[c.priority] for c in classes if c.strict), default=words.QUEUES.stop)
    return set(range(lowest, words.QUEUES.stop))


def priority_level(queue: int) -> int:
    """Return the priority level of a strict queue, 1 for the highest."""
    return words.QUEUES.stop - queue


def queue_shares(classes: Iterable[TrafficClass], groups: dict[int, int]) -> dict[int, str]:
    """Return the scheduling of each queue: a priority level, or a share of the bandwidth below strict queues."""
    weights = {groups[c.priority]: c.weight_percent for c in classes}
    levels = {queue: f"level {priority_level(queue)}" for queue in strict_queues(classes, groups)}
    return {queue: levels.get(queue, f"percent {weights.get(queue, 0)}") for queue in words.QUEUES}


@dataclass(frozen=True, slots=True)
class Pause:
    """Ingress buffer of one lossless class of a port: full size, where pausing starts, where it ends; bytes.

    `speed_gbps` and `cable_m` are the speed of the port and the longest cable for which the figures hold.
    """

    speed_gbps: int
    cable_m: int
    buffer_bytes: int
    pause_bytes: int
    resume_bytes: int


def is_long(port: Port) -> bool:
    """Return whether the platform's own buffers of a lossless class do not hold for the port's cable."""
    return port.profile is not None and (port.cable_m or 0) > words.DEFAULT_PAUSE_M


def pause_of(switch: Switch, port: Port) -> Pause | None:
    """Return the catalog's figures for a long cable: of its speed and the shortest length that covers it.

    None where the platform's own buffers hold, and where the catalog has no figures.
    """
    if not is_long(port) or not switch.qos.lossless:
        return None
    rows = (Pause(**row) for row in words.catalog_settings(switch).get("pause", ()))
    fitting = (r for r in rows if r.speed_gbps == port.speed_gbps and r.cable_m >= (port.cable_m or 0))
    return min(fitting, key=lambda row: row.cable_m, default=None)


def pause_figures(switch: Switch) -> list[Pause]:
    """Return the figures in use, each once, by speed and length."""
    found = {pause for port in switch.ports if (pause := pause_of(switch, port))}
    return sorted(found, key=lambda pause: (pause.speed_gbps, pause.cable_m))


@dataclass(frozen=True, slots=True)
class Timers:
    """Watchdog timers as NX-OS holds them: a poll interval in milliseconds and two multiples of it."""

    interval_ms: int
    shutdown: int
    restore: int

    @property
    def hidden(self) -> bool:
        """Return whether a device does not print the interval, which is its default."""
        return self.interval_ms == DEFAULT_WATCHDOG_INTERVAL_MS

    @property
    def detect_ms(self) -> int:
        """Time until a stuck queue is shut."""
        return self.interval_ms * self.shutdown

    @property
    def restore_ms(self) -> int:
        """Time without pause frames until a shut queue is restored."""
        return self.interval_ms * self.restore


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """Return the nearest timers of NX-OS, none shorter than requested.

    The interval is the requested one, from 100 ms to 1 s, and longer if the largest multiples are not enough.
    """
    low, high = words.WATCHDOG_INTERVAL_RANGE_MS
    interval = max(
        low,
        watchdog.poll_ms,
        -(-watchdog.detect_ms // words.MAXIMUM_SHUTDOWN),
        -(-watchdog.restore_ms // words.MAXIMUM_RESTORE),
    )
    interval = min(high, interval)
    return Timers(
        interval, max(1, -(-watchdog.detect_ms // interval)), max(1, -(-watchdog.restore_ms // interval))
    )


def class_map(traffic_class: TrafficClass) -> str:
    """Return the class map of a class; one in qos-group 0 has none, and is what no class map takes."""
    return f"CM-{traffic_class.name.upper()}"


def output_policy(profile: str | None) -> str:
    """Return the egress policy of the ports of a profile."""
    return f"PM-OUT-{profile.upper()}" if profile else LOSSY_POLICY


def input_policy(pause: Pause) -> str:
    """Return the ingress policy of the ports with these pause thresholds."""
    return f"PM-IN-{pause.speed_gbps}G-{pause.cable_m}M"


def system_output(qos: SwitchQos) -> str:
    """Return the egress policy of ports that name none: of the profile with the most headroom, or the fastest ports."""
    roomiest = max(qos.headrooms, key=lambda each: each[1].xoff_bytes, default=None)
    fastest = max(qos.profiles, key=lambda profile: profile.speed_gbps, default=None)
    profile = roomiest[0] if roomiest else fastest
    return output_policy(profile.name if profile else None)


def egress_profiles(switch: Switch) -> list[PortProfile | None]:
    """Return the port profiles that have egress policies, None for ports without a lossless class."""
    lossy = any(p.profile is None and p.direction is not Direction.UNUSED for p in switch.ports)
    return [*switch.qos.profiles, *([None] if lossy or not switch.qos.profiles else [])]


@dataclass(frozen=True, slots=True)
class ClassView:
    """One class map of the classification policy; `dscps` is a list of ranges."""

    name: str
    dscps: str
    group: int


@dataclass(frozen=True, slots=True)
class NetworkClassView:
    """One class of the network-qos policy; `pfc_cos` is None for a class that may drop."""

    name: str
    pfc_cos: int | None
    mtu: int = CLASS_MTU


@dataclass(frozen=True, slots=True)
class QueueView:
    """One egress queue and its share."""

    name: str
    strict: bool
    share: str
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class OutputPolicyView:
    """One egress queuing policy; all eight queues, highest first, the default queue last."""

    name: str
    queues: list[QueueView]


@dataclass(frozen=True, slots=True)
class InputPolicyView:
    """An ingress queuing policy, the same for all its lossless queues."""

    name: str
    queues: list[str]
    pause: Pause


@dataclass(frozen=True, slots=True)
class UntrustedView:
    """Group and code point of all that arrives at ports that trust nothing."""

    policy: str
    group: int
    dscp: int


@dataclass(frozen=True, slots=True)
class QosView:
    """Every policy of the switch; `output` is the one of ports that name none, `untrusted` None where all trust."""

    network_classes: list[NetworkClassView]
    classes: list[ClassView]
    input_policies: list[InputPolicyView]
    output_policies: list[OutputPolicyView]
    output: str
    watchdog: Timers | None
    untrusted: UntrustedView | None
    network_policy: str = NETWORK_POLICY
    classify: str = CLASSIFY
    copp_profile: str = COPP_PROFILE


def qos_view(switch: Switch) -> QosView:
    """Return the view of a switch's quality of service."""
    qos = switch.qos
    groups = qos_groups(qos.classes)
    pausing = sorted((groups[c.priority] for c in qos.lossless), reverse=True)
    cos = {groups[c.priority]: c.priority if c.lossless else None for c in qos.classes}
    return QosView(
        network_classes=[
            NetworkClassView(words.queue_name(group, words.NETWORK_QOS), cos.get(group))
            for group in sorted({0, *cos}, reverse=True)
        ],
        classes=[
            ClassView(class_map(c), words.format_ranges(c.dscps), groups[c.priority])
            for c in qos.classes
            if groups[c.priority]
        ],
        input_policies=[
            InputPolicyView(
                input_policy(pause), [words.queue_name(group, words.INPUT) for group in pausing], pause
            )
            for pause in sorted(
                pause_figures(switch), key=lambda pause: natural_key(input_policy(pause).lower())
            )
        ],
        output_policies=sorted(
            (_output_policy(profile, qos.classes, groups) for profile in egress_profiles(switch)),
            key=lambda policy: natural_key(policy.name.lower()),
        ),
        output=system_output(qos),
        watchdog=watchdog_timers(qos.watchdog) if qos.watchdog else None,
        untrusted=None
        if all(port.trusted for port in switch.ports)
        else UntrustedView(UNTRUSTED, groups[qos.default.priority], qos.default.data_dscp),
    )


def input_of(port: Port) -> str:
    """Return the policy by which a port that is used classifies."""
    return CLASSIFY if port.trusted else UNTRUSTED


def _output_policy(
    profile: PortProfile | None, classes: tuple[TrafficClass, ...], groups: dict[int, int]
) -> OutputPolicyView:
    marked = {groups[c.priority] for c in classes if c.ecn}
    strict = strict_queues(classes, groups)
    ecn = profile.ecn if profile else None
    queues = [
        QueueView(
            words.queue_name(queue, words.OUTPUT), queue in strict, share, ecn if queue in marked else None
        )
        for queue, share in reversed(queue_shares(classes, groups).items())
    ]
    return OutputPolicyView(output_policy(profile.name if profile else None), queues)


# --- the facts of that --------------------------------------------------------------------------------


def adjust_profile(switch: Switch, shared: Facts, _profile: PortProfile | None) -> None:
    """Change the shared values of a profile's ports to those of NX-OS: queues by qos-group, platform buffers."""
    groups = qos_groups(switch.qos.classes)
    held = {
        _group_path(_QUEUE, leaf, groups): value
        for leaf, value in shared.items()
        if not leaf.startswith("headroom/")
    }
    for group in strict_queues(switch.qos.classes, groups):
        held[f"queue[{group}]/scheduler"] = "strict"
        held[f"queue[{group}]/level"] = priority_level(group)
    shared.clear()
    shared.update(held)


def state(facts: Facts, switch: Switch) -> None:
    """State the policy in NX-OS's terms in place of the neutral facts, and its further facts.

    NX-OS sizes its pools itself, and the buffers of lossless classes but over long cables.
    """
    qos = switch.qos
    groups = qos_groups(qos.classes)
    _use_groups(facts, qos, groups)
    if qos.watchdog:
        timers = watchdog_timers(qos.watchdog)
        facts["watchdog/detect_ms"] = timers.detect_ms
        facts["watchdog/restore_ms"] = timers.restore_ms
        facts["watchdog/poll_ms"] = timers.interval_ms
        facts["watchdog/action"] = "drop"
    facts["platform/copp"] = COPP_PROFILE
    lossless = ",".join(str(group) for group in sorted(groups[c.priority] for c in qos.lossless))
    for port in switch.ports:
        if port.direction is Direction.UNUSED:
            continue
        path = f"structure/port[{port.name}]/"
        facts[path + "qos input"] = input_of(port)
        facts[path + "queuing output"] = output_policy(port.profile)
        if port.profile is None or not lossless:
            continue
        paths = port_paths(port.name)
        pause = pause_of(switch, port)
        if pause is None:
            facts[paths["headroom/default_to_m"]] = words.DEFAULT_PAUSE_M
            continue
        facts[path + "queuing input"] = input_policy(pause)
        facts[paths["headroom/queues"]] = lossless
        facts[paths["headroom/xoff_bytes"]] = pause.buffer_bytes - pause.pause_bytes
        facts[paths["headroom/pause_bytes"]] = pause.pause_bytes
        facts[paths["headroom/xon_bytes"]] = pause.resume_bytes
    _state_policies(facts, switch, groups)


def _group_path(pattern: re.Pattern[str], path: str, groups: dict[int, int]) -> str:
    return pattern.sub(lambda found: str(groups[int(found[0])]), path)


def _use_groups(facts: Facts, qos: SwitchQos, groups: dict[int, int]) -> None:
    """Put qos-groups in the place of priorities wherever these stand for a class or a queue; leave pools out."""
    neutral = {path: facts.pop(path) for path in list(facts) if path.startswith(("qos/", "pool/"))}
    for path, value in neutral.items():
        if path.startswith("qos/"):
            facts[_group_path(_CLASS, path, groups)] = groups[int(value)]
    for priority in (c.priority for c in qos.lossless):
        facts[f"qos/pfc_priority[{priority}]/priority_group"] = groups[priority]


def _state_policies(facts: Facts, switch: Switch, groups: dict[int, int]) -> None:
    """State the existing maps and policies, and the statements of each of their classes."""
    classes = switch.qos.classes
    facts["structure/system_qos/queuing output"] = system_output(switch.qos)
    facts["structure/system_qos/network-qos"] = NETWORK_POLICY
    words.state_defined(facts, f"policy_map[qos {CLASSIFY}]")
    if not all(port.trusted for port in switch.ports):
        words.state_defined(facts, f"policy_map[qos {UNTRUSTED}]")
    network = f"policy_map[network-qos {NETWORK_POLICY}]"
    words.state_defined(facts, network)
    for group in {0, *groups.values()}:
        words.state_defined(
            facts, f"{network}/{words.queue_name(group, words.NETWORK_QOS)}", {"mtu": CLASS_MTU}
        )
    for c in classes:
        if groups[c.priority]:
            words.state_defined(facts, f"class_map[{class_map(c)}]", {"dscps": words.format_ranges(c.dscps)})
        if c.lossless:
            facts[
                f"structure/{network}/{words.queue_name(groups[c.priority], words.NETWORK_QOS)}/pfc-cos"
            ] = str(c.priority)
    for pause in pause_figures(switch):
        policy = f"policy_map[queuing {input_policy(pause)}]"
        words.state_defined(facts, policy)
        for group in (groups[c.priority] for c in switch.qos.lossless):
            figures = f"{pause.buffer_bytes} {pause.pause_bytes} {pause.resume_bytes}"
            words.state_defined(facts, f"{policy}/{words.queue_name(group, words.INPUT)}", {"pause": figures})
    given = queue_shares(classes, groups)
    for name in {output_policy(profile.name if profile else None) for profile in egress_profiles(switch)}:
        words.state_defined(facts, f"policy_map[queuing {name}]")
        facts[f"platform/queuing[{name}]/idle"] = idle_queues(given)
        for queue, share in given.items():
            words.state_defined(
                facts, f"policy_map[queuing {name}]/{words.queue_name(queue, words.OUTPUT)}", {"share": share}
            )


def idle_queues(shares: Mapping[int, Value]) -> str:
    """The queues that are given nothing, by the share of each."""
    return ",".join(str(queue) for queue in sorted(shares) if shares[queue] == "percent 0")
