"""Turns a switch into the plain objects that the Junos templates print: every choice is made here, none there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.bgp_view import BgpView, bgp_view
from fabricc.back.nos.junos.cos_view import CosView, cos_view
from fabricc.back.nos.junos.naming import parent_name
from fabricc.back.nos.junos.policy_view import PolicyView, policy_view
from fabricc.back.nos.junos.protection_view import ProtectionView, protection_view
from fabricc.back.nos.junos.vocabulary import (
    ACCOUNTED,
    AUTHENTICATION_ORDER,
    CERTIFICATE,
    DEFAULT_LLDP_S,
    DYNAMIC,
    EVOLVED,
    HASH_SEEDS,
    KEY_STATEMENTS,
    LAYER_2_HEADER_BYTES,
    LOAD_BALANCING_POLICY,
    MANAGEMENT_INSTANCE,
    MANAGEMENT_INTERFACES,
    TEMPLATE_CLASS,
    TEMPLATE_USER,
    buffer_monitor,
    fec,
    flavour,
    lldp_delay_s,
    maximum_ecmp,
    quoted,
)
from fabricc.base.values import dataclass
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.fabric.model import Account, Management, Port, Snmp, Switch, Tacacs


@dataclass(frozen=True, slots=True)
class UserView:
    """A login account; `statement` names the kind of its key, `key` is quoted."""

    name: str
    statement: str
    key: str


@dataclass(frozen=True, slots=True)
class SnmpView:
    """Read-only SNMP; texts are quoted, None where there is none."""

    community: str
    location: str | None
    contact: str | None


@dataclass(frozen=True, slots=True)
class ManagementView:
    """The out-of-band side and the services on it.

    Attributes:
        root: whose key satisfies `root-authentication`; None without users.
        template_user: account whose rights TACACS+ users get that have none of their own; None without TACACS+.
        accounted: the events that TACACS+ servers are told of.
        certificate: name of the certificate that gNMI shows.
        lldp_s, lldp_delay_s: None at Junos's defaults.
    """

    instance: str
    interface: str
    family: str
    address: str
    default: str
    gateway: str
    ipv6: bool
    ntp: list[str]
    dns: list[str]
    syslog: list[str]
    users: list[UserView]
    root: UserView | None
    tacacs: Tacacs | None
    authentication_order: list[str]
    template_user: str | None
    template_class: str
    accounted: list[str]
    snmp: SnmpView | None
    gnmi_port: int | None
    certificate: str
    lldp_s: int | None
    lldp_delay_s: int | None


@dataclass(frozen=True, slots=True)
class FamilyView:
    """`family inet` or `inet6` of a unit; `address` is None on a link without one."""

    name: str
    mtu: int
    address: str | None


@dataclass(frozen=True, slots=True)
class InterfaceView:
    """One et- interface, or a split cage, which has nothing but its split."""

    name: str
    description: str | None
    disable: bool
    sub_ports: int | None
    speed: str | None
    mtu: int | None
    fec: str | None
    families: list[FamilyView]


@dataclass(frozen=True, slots=True)
class LoopbackFamilyView:
    """A family of `lo0`: the address with its length, and the filter of what reaches the switch itself."""

    name: str
    filter: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class BalancingView:
    """How ECMP spreads: the tier's seed; the mode of dynamic load balancing, and its pause in microseconds."""

    seed: int
    dynamic: str | None
    idle_us: int | None


@dataclass(frozen=True, slots=True)
class ChassisPortView:
    """A split cage of a classic switch: `chassis fpc 0 pic 0 port N`."""

    number: str
    sub_ports: int
    speed: str


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `juniper.conf.j2` prints."""

    name: str
    management: ManagementView
    maximum_ecmp: int
    buffer_monitor: bool
    chassis_ports: list[ChassisPortView]
    interfaces: list[InterfaceView]
    loopback: list[LoopbackFamilyView]
    protection: ProtectionView
    balancing: BalancingView
    load_balancing: str
    policy: PolicyView
    cos: CosView
    bgp: BgpView


def switch_view(switch: Switch) -> SwitchView:
    """The view of one switch."""
    evolved = flavour(switch) == EVOLVED
    protection = protection_view(switch)
    return SwitchView(
        name=switch.name,
        management=_management(switch),
        maximum_ecmp=maximum_ecmp(switch.bgp.maximum_paths),
        buffer_monitor=buffer_monitor(switch),
        chassis_ports=[] if evolved else _chassis_ports(switch),
        interfaces=_interfaces(switch, evolved),
        loopback=_loopback(switch, protection),
        protection=protection,
        balancing=BalancingView(
            seed=HASH_SEEDS[switch.tier_index],
            dynamic=DYNAMIC.get(switch.load_balancing.mode),
            idle_us=switch.load_balancing.flowlet_idle_us,
        ),
        load_balancing=LOAD_BALANCING_POLICY,
        policy=policy_view(switch.bgp),
        cos=cos_view(switch),
        bgp=bgp_view(switch),
    )


def _loopback(switch: Switch, protection: ProtectionView) -> list[LoopbackFamilyView]:
    addresses = {
        "inet": f"{switch.loopback4}/32" if switch.loopback4 else None,
        "inet6": f"{switch.loopback6}/128" if switch.loopback6 else None,
    }
    return [
        LoopbackFamilyView(family, protection.loopback.get(family), address)
        for family, address in addresses.items()
        if address or family in protection.loopback
    ]


def _management(switch: Switch) -> ManagementView:
    management: Management = switch.management
    ipv6 = ":" in management.address
    users = [_user(user) for user in management.users]
    return ManagementView(
        instance=MANAGEMENT_INSTANCE,
        interface=MANAGEMENT_INTERFACES[flavour(switch)],
        family="inet6" if ipv6 else "inet",
        address=management.address,
        default="::/0" if ipv6 else "0.0.0.0/0",
        gateway=management.gateway,
        ipv6=ipv6,
        ntp=list(management.ntp),
        dns=list(management.dns),
        syslog=list(management.syslog),
        users=users,
        root=users[0] if users else None,
        tacacs=management.tacacs,
        authentication_order=list(AUTHENTICATION_ORDER),
        template_user=TEMPLATE_USER if management.tacacs else None,
        template_class=TEMPLATE_CLASS,
        accounted=list(ACCOUNTED),
        snmp=_snmp(management.snmp) if management.snmp else None,
        gnmi_port=management.gnmi_port,
        certificate=CERTIFICATE,
        lldp_s=management.lldp_interval_s if management.lldp_interval_s != DEFAULT_LLDP_S else None,
        lldp_delay_s=lldp_delay_s(management.lldp_interval_s),
    )


def _snmp(snmp: Snmp) -> SnmpView:
    location, contact = (quoted(text) if text else None for text in (snmp.location, snmp.contact))
    return SnmpView(snmp.community, location, contact)


def _user(user: Account) -> UserView:
    """`gaps` reports a kind of key that Junos does not take."""
    kind = user.ssh_key.partition(" ")[0]
    return UserView(user.name, KEY_STATEMENTS.get(kind, kind), quoted(user.ssh_key))


def _chassis_ports(switch: Switch) -> list[ChassisPortView]:
    split = {parent_name(p.name): p for p in switch.ports if p.children > 1}
    return [
        ChassisPortView(name.rpartition("/")[2], port.children, f"{port.speed_gbps}g")
        for name, port in split.items()
    ]


def _interfaces(switch: Switch, evolved: bool) -> list[InterfaceView]:
    found: list[InterfaceView] = []
    parents: set[str] = set()
    for port in switch.ports:
        parent = parent_name(port.name)
        if evolved and port.children > 1 and parent not in parents:
            parents.add(parent)
            speed = f"{port.speed_gbps}g"
            found.append(InterfaceView(parent, None, False, port.children, speed, None, None, []))
        found.append(_interface(port))
    return found


def _interface(port: Port) -> InterfaceView:
    used = port.direction is not Direction.UNUSED
    families = []
    if used and (port.ipv4 or port.unnumbered):
        families.append(FamilyView("inet", port.mtu, port.ipv4))
    if used and (port.ipv6 or port.unnumbered):
        families.append(FamilyView("inet6", port.mtu, port.ipv6))
    encoding = fec(port) if used else None
    return InterfaceView(
        name=port.name,
        description=quoted(port.description),
        disable=not port.enabled,
        sub_ports=None,
        speed=f"{port.speed_gbps}g" if port.children == 1 else None,
        mtu=port.mtu + LAYER_2_HEADER_BYTES if used else None,
        fec="fec91" if encoding else None,
        families=families,
    )
