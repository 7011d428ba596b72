"""The lossless policy in NX-OS's terms: which qos-group a class gets, and static pause thresholds in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.nxos.vocabulary import QUEUES
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import Headroom, PortProfile, SwitchQos, TrafficClass


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
    """Ingress buffer of one lossless class of a port, bytes: full size, where pausing starts, where it ends."""

    buffer_bytes: int
    pause_bytes: int
    resume_bytes: int


def pauses(switch: Switch) -> dict[str, Pause]:
    """The pause figures of each port profile.

    NX-OS's thresholds are static. The dynamic limit of the model, alpha times what is free, settles at
    alpha S / (1 + alpha n) when all n lossless buffers of the switch want more than their share of the S bytes that
    guarantees and headroom leave; that is the share written, so all buffers together fit. The headroom above the
    pause threshold is the model's own xoff. All figures are multiples of the ASIC's cell.
    """
    used = _headrooms(switch)
    count = len(used) * len(switch.qos.lossless)
    shared = max(0, spare_bytes(switch))
    cell = max(1, switch.model.buffers.cell_bytes)
    return {p.name: _pause(p.headroom, shared, count, cell) for p in switch.qos.profiles}


def spare_bytes(switch: Switch) -> int:
    """What the guarantees and headroom of all ports leave of the lossless pool; negative when they do not fit."""
    if switch.qos.pools is None:
        return 0
    pool = switch.qos.pools.ingress_lossless_bytes
    if not switch.model.buffers.pools.size_includes_headroom:
        pool += switch.qos.pools.headroom_bytes
    taken = sum(_guaranteed(h) + h.xoff_bytes for h in _headrooms(switch))
    return pool - taken * len(switch.qos.lossless)


def _headrooms(switch: Switch) -> list[Headroom]:
    profiles = {profile.name: profile.headroom for profile in switch.qos.profiles}
    return [profiles[port.profile] for port in switch.ports if port.profile]


def _guaranteed(headroom: Headroom) -> int:
    """Bytes a class owns below its pause threshold: tables give its size with headroom, or without."""
    extra = headroom.size_bytes - headroom.xoff_bytes
    return extra if extra > 0 else headroom.size_bytes


def _pause(headroom: Headroom, shared: int, count: int, cell: int) -> Pause:
    exponent = headroom.dynamic_th
    numerator, denominator = (1 << exponent, 1) if exponent >= 0 else (1, 1 << -exponent)
    share = shared * numerator // (denominator + count * numerator)
    pause = max(1, (_guaranteed(headroom) + share) // cell, -(-headroom.xon_bytes // cell)) * cell
    resume = headroom.xon_bytes
    if headroom.xon_offset_bytes is not None:
        resume = max(resume, pause - headroom.xon_offset_bytes)
    return Pause(pause + -(-headroom.xoff_bytes // cell) * cell, pause, resume // cell * cell)


def roomiest(qos: SwitchQos) -> PortProfile | None:
    """The port profile with the most headroom; None without a lossless class."""
    return max(qos.profiles, key=lambda profile: profile.headroom.xoff_bytes, default=None)
