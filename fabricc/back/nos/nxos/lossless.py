"""The lossless policy in NX-OS's terms: which qos-group a class gets, and pause thresholds where cables are long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.vocabulary import DEFAULT_PAUSE_M, QUEUES, settings
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import PortProfile, SwitchQos, TrafficClass


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
        groups[priority] = max(free - strict_queues(classes, groups), default=priority)
        free.discard(groups[priority])
    return groups


def strict_queues(classes: Iterable[TrafficClass], groups: dict[int, int]) -> set[int]:
    """The queues with strict priority: those of strict classes, and idle ones above, so that none is in between."""
    lowest = min((groups[c.priority] for c in classes if c.strict), default=QUEUES.stop)
    return set(range(lowest, QUEUES.stop))


def priority_level(queue: int) -> int:
    """The priority level of a strict queue, 1 for the highest."""
    return QUEUES.stop - queue


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


def roomiest(qos: SwitchQos) -> PortProfile | None:
    """The port profile with the most headroom; None without a lossless class."""
    return max(qos.profiles, key=lambda profile: profile.headroom.xoff_bytes, default=None)
