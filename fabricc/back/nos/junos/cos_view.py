"""The class-of-service part of the view: forwarding classes, one set of profiles per port profile, attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import (
    CLASSIFIER,
    LAYER_2_HEADER_BYTES,
    Detection,
    FillLevels,
    SharedBuffer,
    class_name,
    code_point,
    detection,
    fill_levels,
    queue_bytes,
    shared_buffer,
    shares,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile, TrafficClass

LOSSY = "LOSSY"


@dataclass(frozen=True, slots=True)
class ClassView:
    """One forwarding class and the code points classified into it; `pfc_priority` is None when it may drop."""

    name: str
    queue: int
    pfc_priority: int | None
    code_points: list[str]


@dataclass(frozen=True, slots=True)
class DropProfileView:
    """One marking curve: 0 % at the lower fill level, `percent` at the upper one."""

    name: str
    levels: FillLevels
    percent: int


@dataclass(frozen=True, slots=True)
class FlowControlView:
    """PFC of one lossless class: pause received for `priority` (3 bits) stops `queue`."""

    priority: str
    queue: int


@dataclass(frozen=True, slots=True)
class CongestionView:
    """One `congestion-notification-profile`."""

    name: str
    code_points: list[str]
    mru: int
    xon_cells: int | None
    cable_m: int
    outputs: list[FlowControlView]


@dataclass(frozen=True, slots=True)
class AttachmentView:
    """What an interface uses; `congestion` is None without a lossless class."""

    interface: str
    congestion: str | None
    scheduler_map: str


@dataclass(frozen=True, slots=True)
class SchedulerMapView:
    """One `scheduler-map`: (forwarding class, scheduler)."""

    name: str
    entries: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SchedulerView:
    """One scheduler; `percent` is None for strict priority without a cap, `drop_profile` where nothing is marked."""

    name: str
    strict: bool
    percent: int | None
    drop_profile: str | None


@dataclass(frozen=True, slots=True)
class CosView:
    """Everything of `class-of-service`."""

    classifier: str
    classes: list[ClassView]
    drop_profiles: list[DropProfileView]
    shared_buffer: SharedBuffer | None
    congestion: list[CongestionView]
    watchdog: Detection | None
    watchdog_action: str
    attachments: list[AttachmentView]
    scheduler_maps: list[SchedulerMapView]
    schedulers: list[SchedulerView]


def cos_view(switch: Switch) -> CosView:
    """The class of service of one switch."""
    qos = switch.qos
    used = [port for port in switch.ports if port.direction is not Direction.UNUSED]
    maps = [_scheduler_map(p, qos.classes) for p in qos.profiles]
    if any(port.profile is None for port in used):
        maps.append(_scheduler_map(None, qos.classes))
    watchdog = qos.watchdog
    return CosView(
        classifier=CLASSIFIER,
        classes=[_class(c) for c in qos.classes],
        drop_profiles=_drop_profiles(switch),
        shared_buffer=shared_buffer(switch),
        congestion=_congestion(switch),
        watchdog=detection(watchdog) if watchdog else None,
        watchdog_action=watchdog.action if watchdog else "",
        attachments=[
            AttachmentView(
                port.name,
                _congestion_name(port.profile) if port.profile else None,
                _map_name(port.profile),
            )
            for port in used
        ],
        scheduler_maps=maps,
        schedulers=_schedulers(switch, {name for scheduler_map in maps for _, name in scheduler_map.entries}),
    )


def received_bytes(switch: Switch) -> dict[str, int]:
    """Per port profile, the largest frame that its ports receive: what Junos sizes headroom for."""
    found: dict[str, int] = {}
    for port in switch.ports:
        if port.profile:
            size = port.mtu + LAYER_2_HEADER_BYTES
            found[port.profile] = max(size, found.get(port.profile, 0))
    return found


def xon_cells(profile: PortProfile, cell_bytes: int) -> int | None:
    """The distance of xon in buffer cells, as Junos counts it; None where the platform table has none."""
    offset = profile.headroom.xon_offset_bytes
    return None if offset is None else max(1, offset // cell_bytes)


def _class(traffic_class: TrafficClass) -> ClassView:
    return ClassView(
        class_name(traffic_class),
        traffic_class.priority,
        traffic_class.priority if traffic_class.lossless else None,
        [code_point(dscp) for dscp in traffic_class.dscps],
    )


def _drop_profiles(switch: Switch) -> list[DropProfileView]:
    if not any(c.ecn for c in switch.qos.classes):
        return []
    whole = queue_bytes(switch)
    return [
        DropProfileView(_drop_name(p), fill_levels(p.ecn, whole), p.ecn.max_percent)
        for p in switch.qos.profiles
        if p.ecn
    ]


def _congestion(switch: Switch) -> list[CongestionView]:
    lossless = switch.qos.lossless
    received = received_bytes(switch)
    cell_bytes = switch.model.buffers.cell_bytes
    return [
        CongestionView(
            name=_congestion_name(profile.name),
            code_points=[code_point(dscp) for c in lossless for dscp in c.dscps],
            mru=received.get(profile.name, 0),
            xon_cells=xon_cells(profile, cell_bytes),
            cable_m=profile.headroom.cable_m,
            outputs=[FlowControlView(code_point(c.priority, 3), c.priority) for c in lossless],
        )
        for profile in switch.qos.profiles
    ]


def _scheduler_map(profile: PortProfile | None, classes: tuple[TrafficClass, ...]) -> SchedulerMapView:
    entries = [(class_name(c), _scheduler_name(c, profile)) for c in classes]
    return SchedulerMapView(_map_name(profile.name if profile else None), entries)


def _schedulers(switch: Switch, used: set[str]) -> list[SchedulerView]:
    found: dict[str, SchedulerView] = {}
    percent = shares(switch)
    for traffic_class in switch.qos.classes:
        for profile in (*switch.qos.profiles, None):
            name = _scheduler_name(traffic_class, profile)
            marked = _drop_name(profile) if profile and traffic_class.ecn and profile.ecn else None
            if name in used:
                share = percent.get(traffic_class.name)
                found.setdefault(name, SchedulerView(name, traffic_class.strict, share, marked))
    return list(found.values())


def _scheduler_name(traffic_class: TrafficClass, profile: PortProfile | None) -> str:
    name = f"S-{traffic_class.name.upper()}"
    return f"{name}-{profile.name.upper()}" if profile and traffic_class.ecn and profile.ecn else name


def _congestion_name(profile: str) -> str:
    return f"PFC-{profile.upper()}"


def _map_name(profile: str | None) -> str:
    return f"SM-{profile.upper() if profile else LOSSY}"


def _drop_name(profile: PortProfile) -> str:
    return f"ECN-{profile.name.upper()}"
