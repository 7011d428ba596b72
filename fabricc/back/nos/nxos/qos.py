"""Quality of service on NX-OS: qos-groups, classification, queuing and pause policies, PFC with its watchdog."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.departures import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.nxos.switching import OWN
from fabricc.back.nos.nxos.words import (
    DEFAULT_PAUSE_M,
    INPUT,
    MAXIMUM_RESTORE,
    MAXIMUM_SHUTDOWN,
    NETWORK_QOS,
    OUTPUT,
    QUEUES,
    WATCHDOG_INTERVAL_RANGE_MS,
    define,
    interface_blocks,
    part,
    queue_name,
    queues,
    ranges,
    settings,
    state_part,
)
from fabricc.back.reading import Block, Entry, Fact, Keep, Scope, Silent, Topic, types
from fabricc.base.order import natural
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean
from fabricc.fabric.model import Direction
from fabricc.fabric.paths import alike, port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Row, Said, Types
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.paths import Alike
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
    """The qos-group, which is the queue, of each priority: the same number wherever NX-OS allows it.

    NX-OS takes strict priority only on the highest queues, next to each other (Nexus 9000 QoS guide 10.5, queuing),
    and the default queue is for what may drop. Where a weighted class lies above a strict one, or a strict one is 0,
    strict classes get 7, 6, … in the order of their priorities. A class whose number is taken, and a lossless
    class on the default queue, gets the highest free one.
    """
    ordered = sorted(classes, key=lambda c: -c.priority)
    strict = [c.priority for c in ordered if c.strict]
    weighted = [c for c in ordered if not c.strict]
    apart = not strict or (strict[-1] > 0 and all(c.priority < strict[-1] for c in weighted))
    groups = {p: p if apart else QUEUES[-1] - index for index, p in enumerate(strict)}
    free = set(QUEUES) - set(groups.values())
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
    lowest = min((groups[c.priority] for c in classes if c.strict), default=QUEUES.stop)
    return set(range(lowest, QUEUES.stop))


def priority_level(queue: int) -> int:
    """The priority level of a strict queue, 1 for the highest."""
    return QUEUES.stop - queue


def shares(classes: Iterable[TrafficClass], groups: dict[int, int]) -> dict[int, str]:
    """What each queue is given: a priority level, or a share of what strict queues leave; nothing where it is idle."""
    weights = {groups[c.priority]: c.weight_percent for c in classes}
    levels = {queue: f"level {priority_level(queue)}" for queue in strict_queues(classes, groups)}
    return {queue: levels.get(queue, f"percent {weights.get(queue, 0)}") for queue in QUEUES}


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
    """Whether the platform's own buffers of a lossless class do not hold for the port's cable."""
    return port.profile is not None and (port.cable_m or 0) > DEFAULT_PAUSE_M


def pause_of(switch: Switch, port: Port) -> Pause | None:
    """The catalog's figures for a long cable: of its speed and the shortest length that covers it.

    None where the platform's own buffers hold, and where the catalog has no figures.
    """
    if not is_long(port) or not switch.qos.lossless:
        return None
    rows = (Pause(**row) for row in settings(switch).get("pause", ()))
    fitting = (r for r in rows if r.speed_gbps == port.speed_gbps and r.cable_m >= (port.cable_m or 0))
    return min(fitting, key=lambda row: row.cable_m, default=None)


def pauses(switch: Switch) -> list[Pause]:
    """The figures in use, each once, by speed and length."""
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
        """Whether a device does not print the interval, which is its default."""
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
    """The nearest timers NX-OS has, none shorter than asked.

    The interval is the one asked, from 100 ms to 1 s, and longer where the largest multiples are not enough.
    """
    low, high = WATCHDOG_INTERVAL_RANGE_MS
    interval = max(
        low,
        watchdog.poll_ms,
        -(-watchdog.detect_ms // MAXIMUM_SHUTDOWN),
        -(-watchdog.restore_ms // MAXIMUM_RESTORE),
    )
    interval = min(high, interval)
    return Timers(
        interval, max(1, -(-watchdog.detect_ms // interval)), max(1, -(-watchdog.restore_ms // interval))
    )


def class_map(traffic_class: TrafficClass) -> str:
    """The class map of a class; one in qos-group 0 has none, and is what no class map takes."""
    return f"CM-{traffic_class.name.upper()}"


def output_policy(profile: str | None) -> str:
    """The egress policy of the ports of a profile."""
    return f"PM-OUT-{profile.upper()}" if profile else LOSSY_POLICY


def input_policy(pause: Pause) -> str:
    """The ingress policy of the ports with these pause thresholds."""
    return f"PM-IN-{pause.speed_gbps}G-{pause.cable_m}M"


def system_output(qos: SwitchQos) -> str:
    """The egress policy of ports that name none: that of the profile with the most headroom."""
    roomiest = max(qos.profiles, key=lambda profile: profile.headroom.xoff_bytes, default=None)
    return output_policy(roomiest.name if roomiest else None)


def profiles(switch: Switch) -> list[PortProfile | None]:
    """The port profiles that have egress policies, None for ports without a lossless class."""
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
    """One ingress queuing policy, alike for all its lossless queues."""

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
    """The view of a switch's quality of service."""
    qos = switch.qos
    groups = qos_groups(qos.classes)
    pausing = sorted((groups[c.priority] for c in qos.lossless), reverse=True)
    cos = {groups[c.priority]: c.priority if c.lossless else None for c in qos.classes}
    return QosView(
        network_classes=[
            NetworkClassView(queue_name(group, NETWORK_QOS), cos.get(group))
            for group in sorted({0, *cos}, reverse=True)
        ],
        classes=[
            ClassView(class_map(c), ranges(c.dscps), groups[c.priority])
            for c in qos.classes
            if groups[c.priority]
        ],
        input_policies=[
            InputPolicyView(input_policy(pause), [queue_name(group, INPUT) for group in pausing], pause)
            for pause in sorted(pauses(switch), key=lambda pause: natural(input_policy(pause).lower()))
        ],
        output_policies=sorted(
            (_output(profile, qos.classes, groups) for profile in profiles(switch)),
            key=lambda policy: natural(policy.name.lower()),
        ),
        output=system_output(qos),
        watchdog=watchdog_timers(qos.watchdog) if qos.watchdog else None,
        untrusted=None
        if all(port.trusted for port in switch.ports)
        else UntrustedView(UNTRUSTED, groups[qos.default.priority], qos.default.data_dscp),
    )


def input_of(port: Port) -> str:
    """The policy by which a port that is used classifies."""
    return CLASSIFY if port.trusted else UNTRUSTED


def _output(
    profile: PortProfile | None, classes: tuple[TrafficClass, ...], groups: dict[int, int]
) -> OutputPolicyView:
    marked = {groups[c.priority] for c in classes if c.ecn}
    strict = strict_queues(classes, groups)
    ecn = profile.ecn if profile else None
    queues = [
        QueueView(queue_name(queue, OUTPUT), queue in strict, share, ecn if queue in marked else None)
        for queue, share in reversed(shares(classes, groups).items())
    ]
    return OutputPolicyView(output_policy(profile.name if profile else None), queues)


# --- the facts of that --------------------------------------------------------------------------------


def express(switch: Switch, alike: Facts, _profile: PortProfile | None) -> None:
    """What ports of a profile state alike, as NX-OS holds it: queues by qos-group, buffers the platform's own."""
    groups = qos_groups(switch.qos.classes)
    held = {
        _grouped(_QUEUE, leaf, groups): value
        for leaf, value in alike.items()
        if not leaf.startswith("headroom/")
    }
    for group in strict_queues(switch.qos.classes, groups):
        held[f"queue[{group}]/scheduler"] = "strict"
        held[f"queue[{group}]/level"] = priority_level(group)
    alike.clear()
    alike.update(held)


def state(facts: Facts, switch: Switch) -> None:
    """What NX-OS holds of the policy in place of the neutral facts, and what it states beyond them.

    NX-OS sizes its pools itself, and the buffers of lossless classes but over long cables.
    """
    qos = switch.qos
    groups = qos_groups(qos.classes)
    _regroup(facts, qos, groups)
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
            facts[paths["headroom/default_to_m"]] = DEFAULT_PAUSE_M
            continue
        facts[path + "queuing input"] = input_policy(pause)
        facts[paths["headroom/queues"]] = lossless
        facts[paths["headroom/xoff_bytes"]] = pause.buffer_bytes - pause.pause_bytes
        facts[paths["headroom/pause_bytes"]] = pause.pause_bytes
        facts[paths["headroom/xon_bytes"]] = pause.resume_bytes
    _state_policies(facts, switch, groups)


def _grouped(pattern: re.Pattern[str], path: str, groups: dict[int, int]) -> str:
    return pattern.sub(lambda found: str(groups[int(found[0])]), path)


def _regroup(facts: Facts, qos: SwitchQos, groups: dict[int, int]) -> None:
    """Put qos-groups in the place of priorities wherever these stand for a class or a queue; leave pools out."""
    neutral = {path: facts.pop(path) for path in list(facts) if path.startswith(("qos/", "pool/"))}
    for path, value in neutral.items():
        if path.startswith("qos/"):
            facts[_grouped(_CLASS, path, groups)] = groups[int(value)]
    for priority in (c.priority for c in qos.lossless):
        facts[f"qos/pfc_priority[{priority}]/priority_group"] = groups[priority]


def _state_policies(facts: Facts, switch: Switch, groups: dict[int, int]) -> None:
    """State which maps and policies there are, and what each class of theirs says."""
    classes = switch.qos.classes
    facts["structure/system_qos/queuing output"] = system_output(switch.qos)
    facts["structure/system_qos/network-qos"] = NETWORK_POLICY
    define(facts, f"policy_map[qos {CLASSIFY}]")
    if not all(port.trusted for port in switch.ports):
        define(facts, f"policy_map[qos {UNTRUSTED}]")
    network = f"policy_map[network-qos {NETWORK_POLICY}]"
    define(facts, network)
    for group in {0, *groups.values()}:
        define(facts, f"{network}/{queue_name(group, NETWORK_QOS)}", {"mtu": CLASS_MTU})
    for c in classes:
        if groups[c.priority]:
            define(facts, f"class_map[{class_map(c)}]", {"dscps": ranges(c.dscps)})
        if c.lossless:
            facts[f"structure/{network}/{queue_name(groups[c.priority], NETWORK_QOS)}/pfc-cos"] = str(
                c.priority
            )
    for pause in pauses(switch):
        policy = f"policy_map[queuing {input_policy(pause)}]"
        define(facts, policy)
        for group in (groups[c.priority] for c in switch.qos.lossless):
            figures = f"{pause.buffer_bytes} {pause.pause_bytes} {pause.resume_bytes}"
            define(facts, f"{policy}/{queue_name(group, INPUT)}", {"pause": figures})
    given = shares(classes, groups)
    for name in {output_policy(profile.name if profile else None) for profile in profiles(switch)}:
        define(facts, f"policy_map[queuing {name}]")
        facts[f"platform/queuing[{name}]/idle"] = _idle(given)
        for queue, share in given.items():
            define(facts, f"policy_map[queuing {name}]/{queue_name(queue, OUTPUT)}", {"share": share})


def _idle(given: Mapping[int, Value]) -> str:
    """The queues that are given nothing, by the share of each."""
    return ",".join(str(queue) for queue in sorted(given) if given[queue] == "percent 0")


# --- and back -----------------------------------------------------------------------------------------

_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_DSCPS = {
    "default": 0, "ef": 46, **{f"cs{n}": 8 * n for n in range(1, 8)},
    **{f"af{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
}  # fmt: skip
_PRECEDENCES = {
    name: number
    for number, name in enumerate(
        ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
    )
}
_DEFAULT_CLASS = "class-default"
_SAID = "said of "


def _listed(count: int, names: Mapping[str, int], text: str) -> tuple[int, ...] | None:
    """Numbers from 0 on, of which there are so many, ranges and names of them."""
    found = types.numbers(",".join(str(names.get(each, each)) for each in text.split(",")))
    return found if found and max(found) < count else None


def _weighted(
    low: int, low_unit: int, high: int, high_unit: int, percent: int, weight: int
) -> Mapping[str, Value]:
    return {**_marking(low, low_unit, high, high_unit, percent), f"{_SAID}weight": weight}


def _marked(rest: str) -> Mapping[str, Value]:
    """Marking by what the platform has for a word, or by packets or time."""
    return {"ecn" if "ecn" in rest.split() else f"{_SAID}random-detect": " ".join(rest.split())}


def _marking(low: int, low_unit: int, high: int, high_unit: int, percent: int) -> Mapping[str, Value]:
    return {"ecn_min_bytes": low * low_unit, "ecn_max_bytes": high * high_unit, "ecn_max_percent": percent}


_FOUR_QUEUES = {
    f"{prefix}{group or '-default'}": group for prefix in ("c-out-q", "c-nq") for group in range(4)
}  # fmt: skip
"""The classes of switches with four queues."""
TYPES: Types = {
    "code points": partial(_listed, 64, _DSCPS),
    "priorities": partial(_listed, 8, {}),
    "precedences": partial(_listed, 8, _PRECEDENCES),
    "network class": queues(NETWORK_QOS),
    "egress class": queues(OUTPUT),
    "ingress class": queues(INPUT),
    "bytes": _BYTES,
}
_PFC = "priority-flow-control"
_HARDWARE = {
    "hardware profile": ("tcam", "portmode", "front", "svi-and-si", "unicast", "route", "ipv6", "lpm", "module",
    "dlb-port", "latency", "mode"),
    "hardware access-list": ("tcam", "update", "resource", "lou", "allow", "team"),
    "hardware": ("tcam", "rate-limiter", "capacity", "module", "vxlan", "multicast", "flow-table", "led"),
    "system": ("nve", "vlan reserve", "acl", "interface", "login", "memory-thresholds", "module"),
}  # fmt: skip
"""Settings of ports and tables: what says nothing of a buffer."""
_CLASS_ROWS: Sequence[Row] = (
    Entry("match [ip|ipv6] dscp <code points>", "dscps"),
    Entry("match cos <priorities>", "priorities"),
    Entry("match [ip|ipv6] precedence <precedences>", "precedences"),
    Entry(
        "match <access-group|protocol|packet|mpls|ip|source-address|destination-address|any|vlan> <rest>",
        "others",
        "{1} {2}",
    ),
    Silent("description <rest>"),
)
_GROUPED: Sequence[Row] = (
    Keep("match qos-group <0-7>", "group"),
    Entry("match cos <priorities>", "priorities"),
    Entry("match <protocol|queue> <rest>", "others", "{1} {2}"),
    Silent("description <rest>"),
)
_MARKED: Sequence[Row] = (
    Keep("set qos-group <0-7>", "group"),
    Keep("set dscp <0-63>", "dscp"),
    Keep("set dscp <code points>", "dscp", lambda points: points[0] if len(points) == 1 else None),
    *(
        Keep(f"{head} <rest>", f"{_SAID}{head}")
        for head in (
            "police",
            "set cos",
            "set precedence",
            "set discard-class",
            "set vlan",
            "set ip",
            "dpp",
            "trust",
        )
    ),
    Silent("description <rest>"),
)
_SHARED: Sequence[Row] = (
    Keep("priority level <integer>", "share", "level {2}"),
    Keep("priority", "share", "level 1"),
    Keep("bandwidth remaining percent <0-100>", "share", "percent {2}"),
    Keep("bandwidth percent <0-100>", "share", "bandwidth {2}"),
    Keep(
        "random-detect minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
        " drop-probability <integer> weight 0 ecn",
        _marking,
    ),
    Keep(
        "random-detect minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
        " drop-probability <integer> weight <1-15> ecn",
        _weighted,
    ),
    Keep("random-detect <rest>", _marked),
    *(
        Keep(f"{head} <rest>", f"{_SAID}{head}")
        for head in (
            "queue-limit", "shape", "bandwidth", "congestion-control", "afd", "set", "police", "fabric-bandwidth",
        )
    ),
    Silent("no (priority|bandwidth|random-detect|queue-limit|shape|afd|pause) [<rest>]"),
)  # fmt: skip
_PAUSED: Sequence[Row] = (
    Keep(
        "pause buffer-size <integer> pause-threshold <integer> resume-threshold <integer>",
        "pause",
        "{2} {3} {4}",
    ),
    Keep("pause buffer-size <integer>", "said of pause buffer-size"),
    Keep("pause <priority-group|pfc-cos> <rest>", "said of pause", "{2} {3}"),
)
_NETWORK: Sequence[Row] = (
    Keep("mtu <integer>", "mtu"),
    Entry("pause [no-drop] pfc-cos <priorities>", "pauses"),
    Entry("pause pfc-cos <priorities> receive", "pauses"),
    Keep("pause no-drop", "no-drop"),
    Keep("pause drop", "said of pause", "drop"),
    *(Keep(f"{head} <rest>", f"{_SAID}{head}") for head in ("pause buffer-size", "congestion-control",
        "queue-limit", "set", "dpp", "match")),
    Keep("multicast-optimize", "said of multicast-optimize"),
    Silent("no (pause|congestion-control|multicast-optimize|queue-limit|set) [<rest>]"),
)  # fmt: skip
_STATISTICS = "[no-stats]"
_PORT: Sequence[Row] = (
    *(Keep(f"service-policy {kind}<word> {_STATISTICS}", OWN + f"service_policy[{name}]", "{1}") for kind, name in (
        ("type qos output ", "qos output"), ("output ", "qos output"), ("type pbr input ", "pbr input"))),
    Keep("service-policy input <word> [no-stats]", "qos input", "{1}"),
    Keep("service-policy type qos input <word> no-stats", "qos input", "{1}"),
    *(Keep(f"service-policy type queuing {way} <word> no-stats", f"queuing {way}", "{1}") for way in ("input",
        "output")),
    Keep(f"{_PFC} mode on send-tlv", {"pfc": "on", OWN + "qos_setting[send PFC TLV]": "on"}),
    Keep(f"{_PFC} mode auto send-tlv", {"pfc": "auto", OWN + "qos_setting[send PFC TLV]": "on"}),
    Silent(f"no {_PFC} [<rest>]"),
    *(Keep(f"{_PFC} watch-dog-interval {word}", "watchdog", "off") for word in ("off",)),
    Keep(f"{_PFC} watch-dog-interval on interface-multiplier <integer>",
         {"watchdog": "on", OWN + "qos_setting[watchdog multiplier]": "{1}"}),
    *(
        Keep(f"{head} <rest>", OWN + f"qos_setting[{head}]", "{1}")
        for head in ("congestion-control", "queue-limit", "qos", "dcbx", "lldp dcbx", "untagged",
            "hardware qos", "random-detect", "ecn")
    ),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *(row for kind in ("", "(match-any|match-all) ") for form in ("", "type qos ")
      for row in part(f"class-map {form}{kind}<word>", "class map", _CLASS_ROWS)),
    *(Block(f"class-map type {kind} {match}<word>", f"{kind} map", _GROUPED)
      for kind in ("queuing", "network-qos") for match in ("", "(match-any|match-all) ")),
    *(row for form in ("", "type qos ", "type qos match-first ") for row in part(f"policy-map {form}<word>", "qos", (
        *part("class <word>", "class", _MARKED, once=True),
        *part("class type qos <word>", "class", _MARKED, once=True),
        Silent("description <rest>"),
    ))),
    *part("policy-map type network-qos [match-any] <word>", "network-qos", (
        *part("class type network-qos <network class>", "class", _NETWORK, once=True),
        *part("class type network-qos <word>", "named class", _NETWORK, once=True),
        Silent("description <rest>"),
    )),
    *part("policy-map type queuing [match-any] <word>", "queuing", (
        *part("class type queuing <egress class>", "egress", _SHARED, once=True),
        *part("class type queuing <ingress class>", "ingress", _PAUSED, once=True),
        *part("class type queuing <word>", "named class", (*_SHARED, *_PAUSED), once=True),
        Silent("description <rest>"),
    )),
    Block("system qos", "system qos", (
        Keep(f"service-policy type network-qos <word> {_STATISTICS}", "network-qos"),
        Keep(f"service-policy type queuing input <word> {_STATISTICS}", "queuing input"),
        Keep(f"service-policy type queuing output <word> {_STATISTICS}", "queuing output"),
        Keep(f"service-policy [type qos] input <word> {_STATISTICS}", "qos input"),
        Silent("[no] (fex|statistics|shutdown) <rest>"),
    )),
    *interface_blocks(_PORT),
    Fact("copp profile <word>", "platform/copp"),
    Keep(f"{_PFC} watch-dog-interval on", "watchdog"),
    Silent(f"[no] {_PFC} watch-dog-interval off"),
    Keep(f"{_PFC} watch-dog interval <integer>", "watchdog interval"),
    Keep(f"{_PFC} watch-dog shutdown-multiplier <integer>", "watchdog shutdown"),
    Keep(f"{_PFC} auto-restore multiplier <integer>", "watchdog restore"),
    *(
        Fact(f"{head} <rest>", f"qos/setting[{head}]", "{0}")
        for head in (f"{_PFC} fixed-restore", f"{_PFC} override-interface", f"{_PFC} recover",
            "congestion-control", "random-detect")
    ),
    *(
        Fact(f"{head} <word> <rest>", f"qos/setting[{head} {{0}}]", "{1}")
        for head in ("hardware qos", "hardware profile pfc", "hardware profile buffer", "hardware profile qos",
            "hardware buffer", "qos", "hardware random-detect",
                     "hardware queue-limit", "wrr-queue")
    ),
    *(
        row
        for head in ("hardware profile", "hardware access-list", "hardware", "system")
        for name in _HARDWARE[head]
        for row in (
            Fact(f"{head} {name} <rest>", f"platform/setting[{name} {{0}}]", "on"),
            Silent(f"no {head} {name} [<rest>]"),
        )
    ),
)  # fmt: skip


class Copied(NamedTuple):
    """What policies state of every interface that uses them, and where it stands."""

    facts: Alike[Value]
    lines: Sequence[tuple[str, int]]


class Policies:
    """What the policies of a document state of its interfaces, made once for each pair of policies."""

    def __init__(self, document: Document) -> None:
        self._file = document.file
        self._queuing = document.scope.each("queuing")
        self._classify = document.scope.each("qos")
        self._classification = _classification(document)
        self._system = _system(document)
        self._pauses = ",".join(map(str, sorted(_pauses(document))))
        self._watches = "watchdog" in document.scope.values
        self._kinds = {name: _kinds(document, policy) for name, policy in self._classify.items()}
        self._own_buffers = not any(
            "called" in block.values
            for policy in document.scope.each("network-qos").values()
            for block in policy.each("class").values()
        )
        self._mtu = _bridged_mtu(document)
        self._ecn = list(_marked_by_class(document))
        self._copied: dict[tuple[Value, Value], Copied] = {}

    def of_port(self, port: str, values: Mapping[str, Said]) -> list[Stated]:
        """(leaf, value, line) of what an interface with these values classifies by, and pauses."""
        stated: list[Stated] = []
        classify, _ = values.get("qos input", _NONE)
        if not classify and "qos input" in self._system and port.startswith(_PHYSICAL):
            classify = self._system["qos input"]
        if classify == UNTRUSTED and classify in self._classify:
            stated += self._untrusted(values["defined"][1])
        elif classify in self._classify:
            kinds = self._kinds[classify]
            trust = kinds if classify == self._classification else f"{kinds} {classify}"
            stated.append(("trust", trust, values["defined"][1]))
        if self._mtu and "mtu" not in values and not values.keys().isdisjoint(_BRIDGED):
            stated.append(("layer2_mtu", *self._mtu))
        mode, line = values.get("pfc", _NONE)
        if mode != "on":
            return [*stated, ("qos_setting[priority-flow-control]", mode, line)] if mode else stated
        watched, at = values.get("watchdog", ("off", line))
        stated.append(("watchdog", boolean(watched == "on" and self._watches), at))
        if not self._pauses:
            stated.append(("qos_setting[priority-flow-control]", mode, line))
        else:
            stated.append(("pfc", self._pauses, line))
            copied = self.applied(port, values)
            if self._own_buffers and copied and "headroom/queues" not in copied.facts.leaves:
                stated.append(("headroom/default_to_m", DEFAULT_PAUSE_M, line))
        return stated

    def _untrusted(self, line: int) -> list[Stated]:
        """What a port has of the policy that gives all packets one group and code point: the default class's."""
        own, usual = (
            self._classify.get(name, Scope(0)).each("class").get(_DEFAULT_CLASS, Scope(0)).values
            for name in (UNTRUSTED, self._classification)
        )
        same = own.get("group", _NONE)[0] == usual.get("group", (0, 0))[0]
        return [
            ("trust", "none" if same else "something", line),
            *([("set_dscp", *own["dscp"])] if "dscp" in own else []),
        ]

    def applied(self, port: str, values: Mapping[str, Said]) -> Copied | None:
        """What its queuing policies give an interface with these values, those of the system where it has none."""
        if values.keys().isdisjoint(_APPLIED) or port.startswith(_VIRTUAL):
            return None
        egress, ingress = [values.get(kind, (self._system.get(kind, ""), 0))[0] for kind in _QUEUING]
        copied = self._copied.get((egress, ingress))
        if copied is None:
            none = Scope(0)
            stated = [*_egress(self._queuing.get(egress, none)), *_ingress(self._queuing.get(ingress, none))]
            stated += self._ecn
            facts = alike(tuple([leaf for leaf, _, _ in stated]), tuple([value for _, value, _ in stated]))
            copied = Copied(facts, [(self._file, line) for _, _, line in stated])
            self._copied[egress, ingress] = copied
        return copied


_QUEUING = ("queuing output", "queuing input")
_VIRTUAL = ("Vlan", "loopback", "nve", "tunnel")
_PHYSICAL = ("Ethernet", "port-channel")
_BRIDGED = frozenset({"switchport", OWN + "switchport", OWN + "access_vlan"})
_APPLIED = ("qos input", *_QUEUING, "ipv4", "ipv6", "unnumbered", "pfc", OWN + "switchport")
"""What an interface has one of, at least, for the policies of the system to hold there."""


def _bridged_mtu(document: Document) -> Said | None:
    """The MTU of ports that bridge and say none: that of the default class, where classes have names of their own.

    Switches with such classes have it by class and not by interface (Nexus 5000 QoS guide 5.1(3)N2(1), MTU).
    """
    policy = document.scope.each("network-qos").get(_system(document).get("network-qos"), Scope(0))
    default = policy.each("class").get(0, Scope(0)).values
    return default.get("mtu") if "called" in default else None


def _marked_by_class(document: Document) -> Iterator[Stated]:
    """Queues whose packets the network-qos policy in force marks, where no queuing policy says by how much."""
    policy = document.scope.each("network-qos").get(_system(document).get("network-qos"), Scope(0))
    for group, scope in policy.each("class").items():
        control, line = scope.values.get(f"{_SAID}congestion-control", _NONE)
        if "ecn" in str(control).split():
            yield f"queue[{group}]/ecn", control, line


def _system(document: Document) -> Mapping[str, Value]:
    """The policies in force on all ports."""
    said = document.scope.each("system qos").get("", Scope(0)).values
    return {kind: name for kind, (name, _) in said.items()}


def _pauses(document: Document) -> dict[Value, tuple[int, int]]:
    """Priority -> (qos-group, line) of what the network-qos policy in force pauses."""
    policy = document.scope.each("network-qos").get(_system(document).get("network-qos"), Scope(0))
    return {
        int(str(priority)): (int(str(group)), line)
        for group, scope in policy.each("class").items()
        for priority, line in _paused(document, group, scope)
    }


def _paused(document: Document, group: Captured, scope: Scope) -> Iterator[tuple[Value, int]]:
    """Priorities that a class of a network-qos policy pauses: those said, else those by which frames get into it."""
    said = scope.table("pauses")
    for priority, (_, line) in said.items():
        yield priority, line
    if said or "no-drop" not in scope.values:
        return
    maps = document.scope.each("class map")
    for policy in document.scope.each("qos").values():
        for name, block in policy.each("class").items():
            if block.values.get("group", _NONE)[0] == group and name in maps:
                for priority in maps[name].table("priorities"):
                    yield priority, scope.values["no-drop"][1]


def _kinds(document: Document, policy: Scope) -> str:
    """What the classes of a policy follow from, comma-joined; code points where nothing is said."""
    maps = document.scope.each("class map")
    used = [maps[name] for name in policy.each("class") if name in maps]
    points = any(each.table("dscps") or each.table("precedences") for each in used)
    found = [
        kind
        for kind, there in (
            ("dscp", points),
            ("cos", any(each.table("priorities") for each in used)),
            ("rules", any(each.table("others") for each in used)),
        )
        if there
    ]
    return ",".join(found) or "dscp"


def _classification(document: Document) -> Value:
    used = [block.values.get("qos input", ("", 0))[0] for block in document.scope.each("interface").values()]
    used.append(_system(document).get("qos input", ""))
    known = document.scope.each("qos").keys() - {UNTRUSTED}
    return next((name for name in used if name in known), "")


def _egress(policy: Scope) -> Iterator[Stated]:
    """(rest of the path, value, line) of what it gives an interface as output policy."""
    for queue, scope in policy.each("egress").items():
        values, prefix = scope.values, f"queue[{queue}]/"
        share, line = values.get("share", _NONE)
        kind, _, figure = str(share).partition(" ")
        if kind == "level":
            yield prefix + "scheduler", "strict", line
            yield prefix + "level", int(figure), line
        elif kind and figure != "0":
            yield prefix + "scheduler", f"dwrr {figure}", line
        for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent", "ecn"):
            if leaf in values:
                yield prefix + leaf, *values[leaf]


_NONE = ("", 0)


def _ingress(policy: Scope) -> Iterator[Stated]:
    """(rest of the path, value, line) of what it gives an interface as input policy.

    The figures of several lossless queues are one fact when they agree, and a list when they do not.
    """
    said = {
        int(str(group)): scope.values.get("pause", _NONE) for group, scope in policy.each("ingress").items()
    }
    paused = {
        group: [int(each) for each in str(said[group][0]).split()] for group in sorted(said) if said[group][1]
    }
    if not paused:
        return
    _, line = said[max(paused)]

    def agreed(values: list[int]) -> Value:
        return values[0] if len(set(values)) == 1 else ",".join(map(str, values))

    yield "headroom/queues", ",".join(map(str, paused)), line
    yield "headroom/xoff_bytes", agreed([size - stop for size, stop, _ in paused.values()]), line
    yield "headroom/pause_bytes", agreed([stop for _, stop, _ in paused.values()]), line
    yield "headroom/xon_bytes", agreed([resume for _, _, resume in paused.values()]), line


def finish(document: Document) -> None:
    """State what the policies in force say of the switch, the watchdog, and which policies there are."""
    _name_groups(document)
    put, maps = document.put, document.scope.each("class map")
    policy = document.scope.each("qos").get(_classification(document))
    if policy is not None:
        said = {name: scope.values.get("group") for name, scope in policy.each("class").items()}
        groups = {name: group for name, group in said.items() if group}
        default = groups.get(_DEFAULT_CLASS, (0, policy.line))
        found = dict.fromkeys(range(64) if "dscp" in _kinds(document, policy) else (), default)
        for name, (group, _) in reversed(groups.items()):
            if name in maps:
                found |= {int(dscp): (group, line) for dscp, (_, line) in _points(maps[name]).items()}
                for priority, (_, line) in maps[name].table("priorities").items():
                    put(f"qos/priority[{priority}]/traffic_class", group, line)
        first = dict(groups.values())
        for dscp, (group, line) in found.items():
            put(f"qos/dscp[{dscp}]/traffic_class", group, line)
            put(f"qos/traffic_class[{group}]/queue", group, first.get(group, line))
    for priority, paused in _pauses(document).items():
        put(f"qos/pfc_priority[{priority}]/queue", *paused)
        put(f"qos/pfc_priority[{priority}]/priority_group", *paused)
        put(f"qos/traffic_class[{paused[0]}]/priority_group", *paused)
    _state_watchdog(document)
    _state_parts(document)


def _points(listed: Scope) -> Mapping[Value, Said]:
    """The code points of a class map; a precedence is eight of them."""
    wide: dict[Value, Said] = {
        8 * int(precedence) + low: said
        for precedence, said in listed.table("precedences").items()
        for low in range(8)
    }
    return {**wide, **listed.table("dscps")}


def _name_groups(document: Document) -> None:
    """Put classes by other names than those of eight queues among the others, by their groups."""
    for kind in ("network-qos", "queuing"):
        maps = document.scope.each(f"{kind} map")
        for policy in document.scope.each(kind).values():
            for name, block in policy.each("named class").items():
                known = 0 if name == _DEFAULT_CLASS else _FOUR_QUEUES.get(str(name))
                said = maps[name].values.get("group") if name in maps else None
                group = known if said is None else int(said[0])
                if group is None:
                    document.reject(block.line)
                    continue
                block.values["called"] = (str(name), block.line)
                place = (
                    "class" if kind == "network-qos" else "ingress" if "pause" in block.values else "egress"
                )
                policy.scopes.setdefault(place, {}).setdefault(group, block)


def _state_watchdog(document: Document) -> None:
    """State the timers in milliseconds, figures that a device hides at their defaults; nothing where it is off."""
    values = document.scope.values
    if "watchdog" not in values:
        return
    _, on = values["watchdog"]
    interval, line = values.get("watchdog interval", (DEFAULT_WATCHDOG_INTERVAL_MS, on))
    document.put("watchdog/poll_ms", interval, line)
    for leaf, name, default in (
        ("detect", "shutdown", DEFAULT_SHUTDOWN),
        ("restore", "restore", DEFAULT_RESTORE),
    ):
        multiple, line = values.get(f"watchdog {name}", (default, on))
        document.put(f"watchdog/{leaf}_ms", int(interval) * int(multiple), line)
    document.put("watchdog/action", "drop", on)


def _state_parts(document: Document) -> None:
    """State which maps and policies there are, and what each class of theirs says."""
    put, scope = document.put, document.scope
    for kind, said in scope.each("system qos").get("", Scope(0)).values.items():
        put(
            "qos/setting[service-policy input]" if kind == "qos input" else f"structure/system_qos/{kind}",
            *said,
        )
    for name, listed in scope.each("class map").items():
        state_part(document, f"class_map[{name}]", listed)
        if dscps := listed.table("dscps"):
            line = max(line for _, line in dscps.values())
            put(f"structure/class_map[{name}]/dscps", ranges(map(int, dscps)), line)
        for value, line in listed.table("others").values():
            put(f"qos/setting[class {name}]", value, line)
    for name, policy in scope.each("qos").items():
        state_part(document, f"policy_map[qos {name}]", policy)
        for used, block in policy.each("class").items():
            if used not in scope.each("class map") and used != _DEFAULT_CLASS:
                document.reject(block.line)
            _state_settings(document, f"{name} {used}", block)
    for kind, classes, prefix in (
        ("network-qos", "class", NETWORK_QOS),
        ("queuing", "egress", OUTPUT),
        ("queuing", "ingress", INPUT),
    ):
        for name, policy in scope.each(kind).items():
            state_part(document, f"policy_map[{kind} {name}]", policy)
            for group, block in policy.each(classes).items():
                called, _ = block.values.get("called", (queue_name(int(str(group)), prefix), 0))
                path = f"policy_map[{kind} {name}]/{called}"
                _state_settings(document, f"{name} {called}", block)
                state_part(document, path, block, "mtu", "share", "pause")
                document.put_set(f"structure/{path}/pfc-cos", block.table("pauses"))
    for name, policy in scope.each("queuing").items():
        if queues_ := policy.each("egress"):
            given = {int(str(queue)): block.values.get("share", _NONE)[0] for queue, block in queues_.items()}
            put(f"platform/queuing[{name}]/idle", _idle(given), policy.line)


def _state_settings(document: Document, name: str, block: Scope) -> None:
    """State what else is said of a class of a policy."""
    for leaf, said in block.values.items():
        if leaf.startswith(_SAID):
            document.put(f"qos/setting[{name} {leaf.removeprefix(_SAID)}]", *said)


TOPIC = Topic(ROWS, finish)
