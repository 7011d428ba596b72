"""Turns a switch into the plain objects that the EOS templates print: every choice is made here, none there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.order import in_address_order, natural
from fabricc.back.nos.eos.bgp_view import BgpView, bgp_view
from fabricc.back.nos.eos.limits import HASH_SEED, has
from fabricc.back.nos.eos.marking import delay_us, delay_words, step_us
from fabricc.back.nos.eos.naming import service_ports
from fabricc.back.nos.eos.vocabulary import (
    AAA,
    ACCESS_LIST,
    ALPHAS,
    CONTROL_PLANE_LIST,
    DEFAULT_LLDP_HOLD_S,
    DEFAULT_LLDP_S,
    DEFAULT_MTU,
    EGRESS_LOSSLESS_EXPONENT,
    GUARANTEED_PERCENT,
    HASH_SEEDS,
    LLDP_HOLD,
    LOCAL_AAA,
    MANAGEMENT_VRF,
    NOBODY_LIST,
    QUEUE_KEYWORD,
    QUEUE_PAIR_OFFSETS,
    QUEUE_PAIR_PROFILE,
    SERVER_GROUP,
    SERVICE_DESCRIPTION,
    SPEEDS,
    SSL_PROFILE,
    WATCHDOG_ACTIONS,
    alpha_exponent,
    control_plane,
    family,
    fec,
    is_trident,
    management_interface,
    roomiest,
    watchdog_timers,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.model import Account, Port, Snmp, Switch, Tacacs
    from fabricc.fabric.qos import Ecn, PortProfile, TrafficClass

LOSSY_PROFILE = "LOSSY"
UNUSED = Direction.UNUSED  # looking a member up costs more than what is done with it


@dataclass(frozen=True, slots=True)
class ManagementView:
    """The out-of-band side; servers in the order EOS prints them.

    Attributes:
        control_plane: rules of the list in front of the CPU; none where EOS's own serves.
        access_list: name of the list that guards the services; None where everyone may ask them.
        nobody_list: name of the list that keeps everyone out over IPv6; None where there is none to keep out.
        aaa: (statement, methods) of each `aaa` line.
        lldp_s, lldp_hold_s: None at EOS's defaults.
    """

    vrf: str
    interface: str
    access_list: str | None
    nobody_list: str | None
    access: list[str]
    aaa: list[tuple[str, str]]
    server_group: str
    tacacs: Tacacs | None
    snmp: Snmp | None
    gnmi_port: int | None
    ssl_profile: str
    control_plane_list: str
    control_plane: list[str]
    lldp_s: int | None
    lldp_hold_s: int | None
    address: str
    gateway: str
    ipv6: bool
    ntp: list[str]
    dns: list[str]
    syslog: list[str]
    users: list[Account]


class PortView(NamedTuple):
    """One Ethernet interface; `mtu` is None at the default, `speed`, `fec` and `ecn_delay` are EOS words.

    `ecn_delay` is None where nothing is marked, or by the bytes of a queue.
    """

    name: str
    description: str
    shutdown: bool
    ipv4: str | None
    ipv6: str | None
    unnumbered: bool
    mtu: int | None
    speed: str
    fec: bool
    qos_profile: str | None
    ecn_delay: str | None
    mmu_profile: str | None


class _Alike(NamedTuple):
    """What all ports of a kind have in common, the last fields of a `PortView`."""

    mtu: int | None
    speed: str
    fec: bool
    qos_profile: str | None
    ecn_delay: str | None
    mmu_profile: str | None


@dataclass(frozen=True, slots=True)
class QueueView:
    """One transmit queue of a QoS profile; `percent` is None for a strict queue, a guarantee where there is none."""

    number: int
    percent: int | None
    guaranteed_percent: int | None
    ecn: Ecn | None


@dataclass(frozen=True, slots=True)
class QosProfileView:
    """One `qos profile`; `no_drop` are its PFC priorities."""

    name: str
    no_drop: list[int]
    watchdog: bool
    queues: list[QueueView]


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
class WatchdogView:
    """The watchdog's timers in seconds and its action."""

    timeout: str
    recovery: str
    polling: str
    action: str


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `running-config.j2` prints.

    Attributes:
        traffic_classes: traffic class of each DSCP, as (dscp, traffic class), ascending.
        mmu_default: the buffer profile of ports that apply none, the one with the most headroom.
        hash_seed: the tier's, None where EOS has no word for it.
        dynamic, per_packet: whether dynamic load balancing is on, and judges each packet by itself.
        flowlet_idle_us: after how long a pause a flow may move; None for EOS's own.
        service_ports: names of the cages that are not for the fabric.
        queue_pair_fields: (Ethernet type, offset) of each byte hashed of the queue pair, trident family.
        queue_pair_profile: name of the hash profile that does so, sand family.
        headroom_pool_bytes: None where the platform keeps no shared headroom pool or EOS cannot set one.
    """

    name: str
    management: ManagementView
    queue: str
    traffic_classes: list[tuple[int, int]]
    queues: list[int]
    qos_profiles: list[QosProfileView]
    mmu_profiles: list[MmuProfileView]
    mmu_default: str | None
    watchdog: WatchdogView | None
    headroom_pool_bytes: int | None
    ports: list[PortView]
    service_ports: list[str]
    service_description: str
    loopback4: str | None
    loopback6: str | None
    unnumbered: bool
    ipv6: bool
    bgp: BgpView
    hash_seed: int | None
    dynamic: bool
    per_packet: bool
    flowlet_idle_us: int | None
    queue_pair_fields: list[tuple[str, int]]
    queue_pair_profile: str | None


def switch_view(switch: Switch) -> SwitchView:
    """The view of one switch."""
    qos = switch.qos
    trident = is_trident(switch)
    mmu_names = {p.name: _mmu_name(p) for p in qos.profiles} if trident else {}
    ports = _ports(switch, mmu_names)
    unnumbered = any(port.unnumbered for port in switch.ports)
    pool = qos.pools.headroom_bytes if trident and qos.pools else 0
    return SwitchView(
        name=switch.name,
        management=_management(switch, unnumbered or switch.bgp.ipv6),
        queue=QUEUE_KEYWORD[family(switch)],
        traffic_classes=sorted((dscp, c.priority) for c in qos.classes for dscp in c.dscps),
        queues=[c.priority for c in qos.classes],
        qos_profiles=_qos_profiles(switch),
        mmu_profiles=_mmu_profiles(switch) if trident else [],
        mmu_default=_mmu_name(default) if trident and (default := roomiest(qos)) else None,
        watchdog=_watchdog(switch),
        headroom_pool_bytes=pool or None,
        ports=ports,
        service_ports=service_ports(switch.model),
        service_description=SERVICE_DESCRIPTION,
        loopback4=switch.loopback4,
        loopback6=switch.loopback6,
        unnumbered=unnumbered,
        ipv6=unnumbered or switch.bgp.ipv6,
        bgp=bgp_view(switch.bgp),
        hash_seed=HASH_SEEDS[switch.tier_index] if has(switch, HASH_SEED) else None,
        dynamic=trident and switch.load_balancing.mode is not Spreading.HASH,
        per_packet=trident and switch.load_balancing.mode is Spreading.PACKET,
        flowlet_idle_us=switch.load_balancing.flowlet_idle_us if trident else None,
        queue_pair_fields=_queue_pair_fields(switch) if trident else [],
        queue_pair_profile=QUEUE_PAIR_PROFILE if switch.load_balancing.queue_pairs and not trident else None,
    )


def _queue_pair_fields(switch: Switch) -> list[tuple[str, int]]:
    if not switch.load_balancing.queue_pairs:
        return []
    types = [name for name, used in (("IPv4", switch.bgp.ipv4), ("IPv6", switch.bgp.ipv6)) if used]
    return [(name, offset) for name in types for offset in QUEUE_PAIR_OFFSETS]


def speed_word(port: Port) -> str:
    """The speed as EOS spells it; `gaps` reports a combination that has no spelling."""
    key = port.speed_gbps, port.lanes
    return SPEEDS[key] if key in SPEEDS else f"{key[0]}g-{key[1]}"


def _management(switch: Switch, ipv6: bool) -> ManagementView:
    management = switch.management
    lldp_s = management.lldp_interval_s
    hold_s = LLDP_HOLD * lldp_s
    return ManagementView(
        vrf=MANAGEMENT_VRF,
        interface=management_interface(switch),
        access_list=ACCESS_LIST if management.access else None,
        nobody_list=NOBODY_LIST if management.access and ipv6 else None,
        access=in_address_order(management.access),
        aaa=list((AAA if management.tacacs else LOCAL_AAA).items()),
        server_group=SERVER_GROUP,
        tacacs=management.tacacs,
        snmp=management.snmp,
        gnmi_port=management.gnmi_port,
        ssl_profile=SSL_PROFILE,
        control_plane_list=CONTROL_PLANE_LIST,
        control_plane=control_plane(management),
        lldp_s=None if lldp_s == DEFAULT_LLDP_S else lldp_s,
        lldp_hold_s=None if hold_s == DEFAULT_LLDP_HOLD_S else hold_s,
        address=management.address,
        gateway=management.gateway,
        ipv6=":" in management.address,
        ntp=in_address_order(management.ntp),
        dns=in_address_order(management.dns),
        syslog=in_address_order(management.syslog),
        users=sorted(management.users, key=lambda user: natural(user.name)),
    )


def _ports(switch: Switch, mmu_names: Mapping[str, str]) -> list[PortView]:
    kinds: dict[tuple[bool, int, int, int, str | None], _Alike] = {}
    delays = {p.name: delay_words(us) for p in switch.qos.profiles if (us := delay_us(switch, p)) is not None}
    views = []
    for port in switch.ports:
        kind = (port.direction is not UNUSED, port.mtu, port.speed_gbps, port.lanes, port.profile)
        alike = kinds.get(kind)
        if alike is None:
            alike = kinds[kind] = _alike(port, mmu_names, delays)
        own = (port.name, port.description, not port.enabled, port.ipv4, port.ipv6, port.unnumbered)
        views.append(PortView(*own, *alike))
    return views


def _alike(port: Port, mmu_names: Mapping[str, str], delays: Mapping[str, str]) -> _Alike:
    """Made once for each kind."""
    used = port.direction is not UNUSED
    return _Alike(
        port.mtu if used and port.mtu != DEFAULT_MTU else None,
        speed_word(port),
        used and fec(port) is not None,
        _qos_name(port.profile) if used else None,
        delays.get(port.profile or "") if used else None,
        mmu_names.get(port.profile or "") if used else None,
    )


@cache
def _qos_name(profile: str | None) -> str:
    return f"ROCE-{profile.upper()}" if profile else LOSSY_PROFILE


def _mmu_name(profile: PortProfile) -> str:
    return f"MMU-{profile.name.upper()}"


def _qos_profiles(switch: Switch) -> list[QosProfileView]:
    qos = switch.qos
    watchdog = qos.watchdog is not None
    by_bytes = step_us(switch) is None
    profiles = [
        QosProfileView(
            name=_qos_name(profile.name),
            no_drop=[c.priority for c in qos.lossless],
            watchdog=watchdog,
            queues=[_queue(c, profile, watchdog, by_bytes) for c in qos.classes],
        )
        for profile in qos.profiles
    ]
    if any(port.profile is None and port.direction is not UNUSED for port in switch.ports):
        queues = [_queue(c, None, watchdog, by_bytes) for c in qos.classes]
        profiles.append(QosProfileView(LOSSY_PROFILE, [], watchdog=False, queues=queues))
    return sorted(profiles, key=lambda profile: natural(profile.name))


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
    return sorted(profiles, key=lambda profile: natural(profile.name))


def _mmu_profile(profile: PortProfile, priorities: list[int]) -> MmuProfileView:
    headroom = profile.headroom
    return MmuProfileView(
        name=_mmu_name(profile),
        threshold=ALPHAS[alpha_exponent(headroom.dynamic_th)],
        headroom_bytes=headroom.xoff_bytes,
        resume_bytes=headroom.xon_bytes,
        no_drop=priorities,
        egress_threshold=ALPHAS[EGRESS_LOSSLESS_EXPONENT],
    )


def _watchdog(switch: Switch) -> WatchdogView | None:
    if switch.qos.watchdog is None:
        return None
    timers = watchdog_timers(switch.qos.watchdog)
    return WatchdogView(
        timeout=f"{timers.timeout_ms / 1000:.2f}",
        recovery=f"{timers.recovery_ms / 1000:.2f}",
        polling=f"{timers.polling_ms / 1000:.3f}",
        action=WATCHDOG_ACTIONS[switch.qos.watchdog.action],
    )
