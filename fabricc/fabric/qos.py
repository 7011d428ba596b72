"""The lossless policy of a switch as the waist states it: classes, headroom, marking, watchdog, buffers."""

from __future__ import annotations

from functools import lru_cache

from fabricc.base.values import dataclass


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """One class, the same on every switch and NIC of the fabric.

    `priority` is at once traffic class, PFC and 802.1p priority, priority group and queue number; a NOS whose
    local numbers differ maps them itself.

    Attributes:
        dscps: code points classified into it, ascending; every code point belongs to exactly one class.
        data_dscp: the code point that senders of this class use.
        weight_percent: share of what strict classes leave; 0 for strict classes.
        cnp: True for the class that carries congestion notification packets.
        unsent: its code points that senders do not use according to the spec.
    """

    name: str
    priority: int
    dscps: tuple[int, ...]
    data_dscp: int
    lossless: bool
    strict: bool
    weight_percent: int
    ecn: bool
    cnp: bool
    unsent: tuple[int, ...] = ()


@lru_cache(maxsize=64)
def unsent_code_points(classes: tuple[TrafficClass, ...]) -> frozenset[int]:
    """Return the code points that senders do not use, and those of the default class except the one that it sends."""
    rest = max(classes, key=lambda c: len(c.dscps), default=None)
    if rest is None:
        return frozenset()
    unsent = {dscp for c in classes for dscp in c.unsent}
    return frozenset(unsent | {dscp for dscp in rest.dscps if dscp != rest.data_dscp})


@dataclass(frozen=True, slots=True)
class Headroom:
    """Buffers of one lossless priority group of a port, bytes; `source` names the table row or formula.

    `cable_m` is the length it was looked up with: the cable's own, rounded up to a listed one.
    """

    cable_m: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    xon_offset_bytes: int | None
    dynamic_th: int
    source: str


@dataclass(frozen=True, slots=True)
class Ecn:
    """WRED marking of one queue: probability rises from 0 at `min_bytes` to `max_percent` at `max_bytes`.

    Attributes:
        above_pause: whether the plan keeps thresholds above the pause point, with a finding (FAB4009, FAB4010).
    """

    min_bytes: int
    max_bytes: int
    max_percent: int
    above_pause: bool = False


@dataclass(frozen=True, slots=True)
class PortProfile:
    """Lossless settings and marking thresholds of all ports of one speed and cable class on one switch.

    Attributes:
        name: stable and unique on the switch, e.g. `400g-40m`; `400g` without a lossless class.
        cable_m: the length that the headroom was looked up with; the longest cable without a lossless class.
        headroom: None in a fabric without a lossless class, whose profiles only mark.
        ecn: None where nothing is marked and only PFC is left against congestion.
    """

    name: str
    speed_gbps: int
    cable_m: int
    headroom: Headroom | None
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """PFC watchdog timers in milliseconds; action is `drop` or `forward`."""

    detect_ms: int
    restore_ms: int
    poll_ms: int
    action: str


@dataclass(frozen=True, slots=True)
class BufferPools:
    """Shared-buffer pools of one switch in bytes (see `catalog.model.Pools`)."""

    ingress_lossless_bytes: int
    headroom_bytes: int
    egress_lossless_bytes: int
    egress_lossy_bytes: int | None
    egress_lossless_static: bool
    egress_pool_static: bool | None = None
    egress_lossless_limit_bytes: int | None = None
    lossy_ingress_limit_bytes: int | None = None
    lossy_egress_bytes: int = 0
    lossy_egress_alpha: int | None = None


@dataclass(frozen=True, slots=True)
class Trimming:
    """A packet that finds no room in its queue is truncated and forwarded, so that its receiver requests it at once.

    Attributes:
        size_bytes: what is left of the packet.
        dscp, queue: code point that the rest is given, and the queue that it leaves by.
        queues: the queues whose packets are cut, ascending.
    """

    size_bytes: int
    dscp: int
    queue: int
    queues: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VendorPolicy:
    """The lossless policy that one command of a system sets, as its maker documents it.

    Attributes:
        command: the command in the words of the system.
        classes: the only classes that there are, ascending by priority.
        ecn: thresholds of the lossless classes.
        cable_m: the cable length that the system sizes headroom for; planning raises it to the longest cable.
        source: the page that documents it.
    """

    command: str
    classes: tuple[TrafficClass, ...]
    ecn: Ecn
    cable_m: int
    source: str


@dataclass(frozen=True, slots=True)
class SwitchQos:
    """The lossless policy of one switch.

    Attributes:
        classes: ascending by priority.
        profiles: one per (speed, cable class) in use, ascending by name; without a lossless class one per speed, and
            none when no class is marked.
        watchdog, pools: None without a lossless class.
        trimming: None where packets without room are dropped.
        link_retry: frames lost on a link are sent again by its end (LLR of Ultra Ethernet 1.0).
        vendor: the system's own policy, which replaces the computed one; None for the computed one.
    """

    classes: tuple[TrafficClass, ...]
    profiles: tuple[PortProfile, ...]
    watchdog: Watchdog | None
    pools: BufferPools | None
    trimming: Trimming | None = None
    link_retry: bool = False
    vendor: VendorPolicy | None = None

    @property
    def default(self) -> TrafficClass:
        """The class of what nobody vouches for: the lossy one with most code points, those that no other names."""
        return max((c for c in self.classes if not c.lossless), key=lambda c: len(c.dscps))

    @property
    def headrooms(self) -> tuple[tuple[PortProfile, Headroom], ...]:
        """The profiles of lossless ports, each with its headroom."""
        return tuple((profile, profile.headroom) for profile in self.profiles if profile.headroom is not None)

    @property
    def marked(self) -> tuple[TrafficClass, ...]:
        """The classes that are marked by ECN."""
        return tuple(c for c in self.classes if c.ecn)

    @property
    def lossless(self) -> tuple[TrafficClass, ...]:
        """The classes protected by PFC."""
        return tuple(c for c in self.classes if c.lossless)
