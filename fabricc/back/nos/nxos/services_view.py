"""The services part of the view: who may reach the switch, who vouches for users, and how paths are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import in_address_order, natural
from fabricc.back.nos.nxos.limits import DYNAMIC_LOAD_BALANCING, has
from fabricc.back.nos.nxos.vocabulary import (
    AAA,
    ACCESS_LIST,
    ACCESS_LIST_V6,
    API_ACCESS_LIST,
    DEFAULT_LLDP_HOLD_S,
    DEFAULT_LLDP_S,
    DLB_MODES,
    HTTPS_PORT,
    LLDP_HOLD,
    MANAGEMENT_INTERFACE,
    MANAGEMENT_VRF,
    SERVER_GROUP,
    SNMP_ROLE,
    SYSLOG_SEVERITY,
)
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Account, Management, Snmp, Switch, Tacacs

EVERYONE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class AccessListView:
    """One access list; `family` is `ip` or `ipv6`, the rules carry their sequence numbers."""

    family: str
    name: str
    rules: list[str]


@dataclass(frozen=True, slots=True)
class ManagementView:
    """The out-of-band side; servers ascending, but those of TACACS+ in the order in which they are asked.

    Attributes:
        access_list, access_list_v6, api_access_list: names of the lists that guard SSH and SNMP, and the interface;
            None where everyone may ask.
        aaa: (statement, methods) of each `aaa` line.
        lldp_s, lldp_hold_s: None at NX-OS's defaults.
    """

    vrf: str
    interface: str
    access_lists: list[AccessListView]
    access_list: str | None
    access_list_v6: str | None
    api_access_list: str | None
    tacacs: Tacacs | None
    server_group: str
    aaa: list[tuple[str, str]]
    snmp: Snmp | None
    snmp_role: str
    gnmi_port: int | None
    lldp_s: int | None
    lldp_hold_s: int | None
    address: str
    gateway: str
    ipv6: bool
    ntp: list[str]
    dns: list[str]
    syslog: list[str]
    severity: int
    users: list[Account]


@dataclass(frozen=True, slots=True)
class DynamicView:
    """Dynamic load balancing over the ports with BGP sessions; `aging_us` is None for the platform's own."""

    mode: str
    interfaces: str
    aging_us: int | None


def management_view(management: Management) -> ManagementView:
    """The view of the management side of a switch."""
    guarded = bool(management.access)
    interval = management.lldp_interval_s
    return ManagementView(
        vrf=MANAGEMENT_VRF,
        interface=MANAGEMENT_INTERFACE,
        access_lists=access_lists(management),
        access_list=ACCESS_LIST if guarded else None,
        access_list_v6=ACCESS_LIST_V6 if guarded else None,
        api_access_list=API_ACCESS_LIST if guarded else None,
        tacacs=management.tacacs,
        server_group=SERVER_GROUP,
        aaa=list(AAA.items()),
        snmp=management.snmp,
        snmp_role=SNMP_ROLE,
        gnmi_port=management.gnmi_port,
        lldp_s=None if interval == DEFAULT_LLDP_S else interval,
        lldp_hold_s=None if LLDP_HOLD * interval == DEFAULT_LLDP_HOLD_S else LLDP_HOLD * interval,
        address=management.address,
        gateway=management.gateway,
        ipv6=":" in management.address,
        ntp=in_address_order(management.ntp),
        dns=in_address_order(management.dns),
        syslog=in_address_order(management.syslog),
        severity=SYSLOG_SEVERITY,
        users=sorted(management.users, key=lambda user: natural(user.name)),
    )


def access_lists(management: Management) -> list[AccessListView]:
    """The lists behind `management.access`; none where everyone may ask.

    SSH and SNMP answer in every VRF, so lists of their own guard them, over IPv6 from everyone. The NX-API and the
    gRPC agent have no such list: that of the management interface guards their ports, and passes all other packets,
    the answers of servers among them.
    """
    if not management.access:
        return []
    networks = ["any" if net == EVERYONE else net for net in in_address_order(management.access)]
    ports = api_ports(management)
    return [
        _numbered("ip", ACCESS_LIST, (f"permit ip {network} any" for network in networks)),
        _numbered("ip", API_ACCESS_LIST, _api_rules(networks, ports)),
        _numbered("ipv6", ACCESS_LIST_V6, iter(["deny ipv6 any any"])),
    ]


def api_ports(management: Management) -> list[int]:
    """The TCP ports of the services that only the management interface's access list guards."""
    return [HTTPS_PORT] if management.gnmi_port is None else [HTTPS_PORT, management.gnmi_port]


def _api_rules(networks: list[str], ports: list[int]) -> Iterator[str]:
    for port in ports:
        yield from (f"permit tcp {network} any eq {port}" for network in networks)
    yield from (f"deny tcp any any eq {port}" for port in ports)
    yield "permit ip any any"


def _numbered(family: str, name: str, rules: Iterator[str]) -> AccessListView:
    return AccessListView(family, name, [f"{10 * n} {rule}" for n, rule in enumerate(rules, 1)])


def dynamic_view(switch: Switch) -> DynamicView | None:
    """Dynamic load balancing; None where flows are hashed and where the switch cannot but hash."""
    balancing = switch.load_balancing
    mode = DLB_MODES.get(balancing.mode)
    if mode is None or not has(switch, DYNAMIC_LOAD_BALANCING):
        return None
    return DynamicView(mode, ",".join(dynamic_interfaces(switch)), balancing.flowlet_idle_us)


def dynamic_interfaces(switch: Switch) -> list[str]:
    """The ports with BGP sessions, in panel order and as `dlb-interface` lists them."""
    routed = {session.port for session in switch.bgp.sessions}
    return [port.name.replace("Ethernet", "Eth") for port in switch.ports if port.name in routed]
