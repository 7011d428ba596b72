"""A switch as NX-OS's templates print it: every word and every order decided here, no logic left to the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.bgp_view import BgpView, bgp_view
from fabricc.back.nos.nxos.lossless import pause_of
from fabricc.back.nos.nxos.naming import service_ports
from fabricc.back.nos.nxos.qos_view import CLASSIFY, QosView, input_policy, output_policy, qos_view
from fabricc.back.nos.nxos.services_view import DynamicView, ManagementView, dynamic_view, management_view
from fabricc.back.nos.nxos.vocabulary import (
    COPP_PROFILE,
    DEFAULT_MTU,
    FEATURES,
    RA_LIFETIME_S,
    RA_MAX_S,
    RA_MIN_S,
    SERVICE_DESCRIPTION,
    breakout,
    fec,
    load_sharing,
    ranges,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.nxos.lossless import Pause
    from fabricc.fabric.model import Port, Switch


@dataclass(frozen=True, slots=True)
class BreakoutView:
    """The cages that are split one way; `cages` is a list of ranges."""

    cages: str
    map: str


@dataclass(frozen=True, slots=True)
class PortView:
    """One Ethernet interface.

    Attributes:
        speed_mbps: None for a child, whose speed the breakout sets; `fec` is an NX-OS word or None.
        mtu: None at the default.
        layer3: whether the port has an address of any kind.
    """

    name: str
    description: str
    shutdown: bool
    pfc: bool
    watchdog: bool
    speed_mbps: int | None
    fec: str | None
    mtu: int | None
    classify: str | None
    queuing_in: str | None
    queuing_out: str | None
    layer3: bool
    ipv4: str | None
    ipv6: str | None
    unnumbered: bool


@dataclass(frozen=True, slots=True)
class AdvertisementView:
    """Router advertisements of unnumbered ports, seconds."""

    max_s: int
    min_s: int
    lifetime_s: int


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `running-config.j2` prints."""

    name: str
    features: list[str]
    copp_profile: str
    management: ManagementView
    load_sharing: str
    dynamic: DynamicView | None
    qos: QosView
    breakouts: list[BreakoutView]
    advertisements: AdvertisementView
    ports: list[PortView]
    loopback4: str | None
    loopback6: str | None
    bgp: BgpView


def switch_view(switch: Switch) -> SwitchView:
    """The view of one switch."""
    lossless = bool(switch.qos.lossless)
    watchdog = switch.qos.watchdog is not None
    return SwitchView(
        name=switch.name,
        features=features(switch),
        copp_profile=COPP_PROFILE,
        management=management_view(switch.management),
        load_sharing=load_sharing(switch),
        dynamic=dynamic_view(switch),
        qos=qos_view(switch),
        breakouts=_breakouts(switch),
        advertisements=AdvertisementView(RA_MAX_S, RA_MIN_S, RA_LIFETIME_S),
        ports=[
            *(_port(port, pause_of(switch, port), lossless, watchdog) for port in switch.ports),
            *(_service_port(name) for name in service_ports(switch.model)),
        ],
        loopback4=switch.loopback4,
        loopback6=switch.loopback6,
        bgp=bgp_view(switch.bgp),
    )


def _service_port(name: str) -> PortView:
    return PortView(
        name=name,
        description=SERVICE_DESCRIPTION,
        shutdown=True,
        pfc=False,
        watchdog=False,
        speed_mbps=None,
        fec=None,
        mtu=None,
        classify=None,
        queuing_in=None,
        queuing_out=None,
        layer3=False,
        ipv4=None,
        ipv6=None,
        unnumbered=False,
    )


def features(switch: Switch) -> list[str]:
    """The features that the configuration uses, in the order a device prints them."""
    idle = {
        "bfd": switch.bgp.bfd_interval_ms is None,
        "grpc": switch.management.gnmi_port is None,
        "openconfig": switch.management.gnmi_port is None,
        "tacacs+": switch.management.tacacs is None,
    }
    return [name for name in FEATURES if not idle.get(name, False)]


def _breakouts(switch: Switch) -> list[BreakoutView]:
    cages: dict[str, set[int]] = {}
    for port in switch.ports:
        if port.children > 1:
            word = breakout(port) or f"{port.speed_gbps}g-{port.children}x"
            cages.setdefault(word, set()).add(port.cage)
    ordered = sorted(cages.items(), key=lambda item: min(item[1]))
    return [BreakoutView(ranges(numbers), word) for word, numbers in ordered]


def _port(port: Port, pause: Pause | None, lossless: bool, watchdog: bool) -> PortView:
    used = port.direction is not Direction.UNUSED
    paused = used and lossless and port.profile is not None
    return PortView(
        name=port.name,
        description=port.description,
        shutdown=not port.enabled,
        pfc=paused,
        watchdog=paused and watchdog,
        speed_mbps=port.speed_gbps * 1000 if port.children == 1 else None,
        fec=fec(port) if used else None,
        mtu=port.mtu if used and port.mtu != DEFAULT_MTU else None,
        classify=CLASSIFY if used else None,
        queuing_in=input_policy(pause) if pause else None,
        queuing_out=output_policy(port.profile) if used else None,
        layer3=bool(port.ipv4 or port.ipv6 or port.unnumbered),
        ipv4=port.ipv4,
        ipv6=port.ipv6,
        unnumbered=port.unnumbered,
    )
