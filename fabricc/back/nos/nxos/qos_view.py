"""The quality-of-service part of the view: class maps, policies and the watchdog in NX-OS's words and order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import natural
from fabricc.back.nos.nxos.lossless import pauses, priority_level, qos_groups, roomiest, strict_queues
from fabricc.back.nos.nxos.vocabulary import (
    CLASS_MTU,
    DEFAULT_WATCHDOG_INTERVAL_MS,
    INPUT,
    NETWORK_QOS,
    OUTPUT,
    QUEUES,
    queue_name,
    ranges,
    watchdog_timers,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.nxos.lossless import Pause
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import Ecn, PortProfile, TrafficClass

CLASSIFY = "PM-CLASSIFY"
NETWORK_POLICY = "NQ-FABRIC"
LOSSY_POLICY = "PM-OUT-LOSSY"


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
    mtu: int
    pfc_cos: int | None


@dataclass(frozen=True, slots=True)
class QueueView:
    """One egress queue: a priority level, or a share of what strict queues leave."""

    name: str
    level: int | None
    percent: int
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class OutputPolicyView:
    """One egress queuing policy; all eight queues, highest first, the default queue last."""

    name: str
    queues: list[QueueView]


@dataclass(frozen=True, slots=True)
class InputQueueView:
    """One lossless ingress queue."""

    name: str
    pause: Pause


@dataclass(frozen=True, slots=True)
class InputPolicyView:
    """One ingress queuing policy."""

    name: str
    queues: list[InputQueueView]


@dataclass(frozen=True, slots=True)
class WatchdogView:
    """The global watchdog; `interval_ms` is None at its default."""

    interval_ms: int | None
    shutdown: int
    restore: int


@dataclass(frozen=True, slots=True)
class QosView:
    """Every policy of the switch; `output` is the one of ports that name none."""

    network_policy: str
    network_classes: list[NetworkClassView]
    classify: str
    classes: list[ClassView]
    input_policies: list[InputPolicyView]
    output_policies: list[OutputPolicyView]
    output: str
    watchdog: WatchdogView | None


def qos_view(switch: Switch) -> QosView:
    """The view of a switch's quality of service."""
    qos = switch.qos
    groups = qos_groups(qos.classes)
    default = roomiest(qos)
    return QosView(
        network_policy=NETWORK_POLICY,
        network_classes=_network_classes(qos.classes, groups),
        classify=CLASSIFY,
        classes=[
            ClassView(f"CM-{c.name.upper()}", ranges(c.dscps), groups[c.priority])
            for c in qos.classes
            if groups[c.priority]
        ],
        input_policies=sorted(
            (_input(pause, switch, groups) for pause in pauses(switch)), key=lambda p: natural(p.name)
        ),
        output_policies=_outputs(switch, groups),
        output=output_policy(default.name) if default else LOSSY_POLICY,
        watchdog=_watchdog(switch),
    )


def output_policy(profile: str | None) -> str:
    """The egress policy of the ports of a profile."""
    return f"PM-OUT-{profile.upper()}" if profile else LOSSY_POLICY


def input_policy(pause: Pause) -> str:
    """The ingress policy of the ports with these pause thresholds."""
    return f"PM-IN-{pause.speed_gbps}G-{pause.cable_m}M"


def _network_classes(classes: tuple[TrafficClass, ...], groups: dict[int, int]) -> list[NetworkClassView]:
    cos = {groups[c.priority]: c.priority if c.lossless else None for c in classes}
    return [
        NetworkClassView(queue_name(group, NETWORK_QOS), CLASS_MTU, cos.get(group))
        for group in sorted({0, *cos}, reverse=True)
    ]


def _input(pause: Pause, switch: Switch, groups: dict[int, int]) -> InputPolicyView:
    lossless = sorted((groups[c.priority] for c in switch.qos.lossless), reverse=True)
    return InputPolicyView(
        input_policy(pause), [InputQueueView(queue_name(group, INPUT), pause) for group in lossless]
    )


def _outputs(switch: Switch, groups: dict[int, int]) -> list[OutputPolicyView]:
    profiles: list[PortProfile | None] = list(switch.qos.profiles)
    lossy = any(p.profile is None and p.direction is not Direction.UNUSED for p in switch.ports)
    if lossy or not profiles:
        profiles.append(None)
    policies = [_output(profile, switch.qos.classes, groups) for profile in profiles]
    return sorted(policies, key=lambda policy: natural(policy.name))


def _output(
    profile: PortProfile | None, classes: tuple[TrafficClass, ...], groups: dict[int, int]
) -> OutputPolicyView:
    used = {groups[c.priority]: c for c in classes}
    strict = strict_queues(classes, groups)
    ecn = profile.ecn if profile else None
    queues = [_queue(group, used.get(group), group in strict, ecn) for group in reversed(QUEUES)]
    return OutputPolicyView(output_policy(profile.name if profile else None), queues)


def _queue(group: int, traffic_class: TrafficClass | None, strict: bool, ecn: Ecn | None) -> QueueView:
    return QueueView(
        queue_name(group, OUTPUT),
        level=priority_level(group) if strict else None,
        percent=traffic_class.weight_percent if traffic_class else 0,
        ecn=ecn if traffic_class and traffic_class.ecn else None,
    )


def _watchdog(switch: Switch) -> WatchdogView | None:
    if switch.qos.watchdog is None:
        return None
    timers = watchdog_timers(switch.qos.watchdog)
    interval = timers.interval_ms
    return WatchdogView(
        interval_ms=None if interval == DEFAULT_WATCHDOG_INTERVAL_MS else interval,
        shutdown=timers.shutdown,
        restore=timers.restore,
    )
