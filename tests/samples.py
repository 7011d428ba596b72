"""Small devices made by hand, for tests of one back end that need no planner.

Two ToRs, a spine and a host of a numbered, an unnumbered and a dual-stack fabric. Figures are examples.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address
from typing import Any

from fabricc.catalog.model import (
    Breakout,
    Buffers,
    CageGroup,
    HeadroomRow,
    HostModel,
    NicModel,
    Pools,
    SwitchModel,
)
from fabricc.fabric.model import (
    Account,
    Direction,
    Host,
    HostPort,
    LoginServers,
    Management,
    NtpKey,
    Peer,
    Port,
    Snmp,
    SnmpTraps,
    SnmpUser,
    Switch,
    SyslogTls,
)
from fabricc.fabric.qos import BufferPools, Ecn, Headroom, PortProfile, SwitchQos, TrafficClass, Watchdog
from fabricc.fabric.routing import (
    OPTIONS,
    Bgp,
    Clause,
    CommunityList,
    LoadBalancing,
    PeerGroup,
    PrefixList,
    PrefixRule,
    RouteMap,
    Session,
    Spreading,
    Transport,
)
from fabricc.fabric.shape import TierName

BREAKOUTS = (Breakout(1, 800, 8), Breakout(2, 400, 4), Breakout(4, 200, 2))


def switch_model(asic_family: str = "spectrum4", **nos: dict[str, Any]) -> SwitchModel:
    """A small four-cage switch; `nos` are the settings per NOS."""
    rows = (
        HeadroomRow(400, 5, 250880, 19456, 231424, 0),
        HeadroomRow(400, 40, 303104, 19456, 283648, 0),
        HeadroomRow(800, 40, 410624, 38912, 362496, 0),
    )
    return SwitchModel(
        name="sample",
        title="Sample 4x800G",
        vendor="sample",
        asic="Sample-1",
        asic_family=asic_family,
        chassis=False,
        cages=(CageGroup(1, 4, 8, BREAKOUTS), CageGroup(5, 1, 1, (Breakout(1, 25, 1),), fabric=False)),
        ecmp_max_paths=128,
        forwarding_latency_ns=800,
        buffers=Buffers(
            total_bytes=168_000_000,
            cell_bytes=192,
            rows=rows,
            formula=None,
            pools=Pools(52_161_690, 0, 158_229_504, None, False, False),
            max_lossless_classes=2,
        ),
        nos=nos,
    )


CLASSES = (
    TrafficClass(
        "default", 0, tuple(d for d in range(64) if d not in (26, 48)), 0, False, False, 10, False, False
    ),
    TrafficClass("rdma", 3, (26,), 26, True, False, 90, True, False),
    TrafficClass("cnp", 6, (48,), 48, False, True, 0, False, True),
)

PROFILES = (
    PortProfile(
        "400g-40m",
        400,
        40,
        Headroom(40, 303104, 19456, 283648, None, 0, "table"),
        Ecn(512_000, 2_048_000, 20),
    ),
    PortProfile(
        "400g-5m", 400, 5, Headroom(5, 250880, 19456, 231424, None, 0, "table"), Ecn(256_000, 1_024_000, 20)
    ),
)

BGP_SETTINGS: dict[str, Any] = {
    "keepalive_s": 3,
    "hold_s": 9,
    "bfd_interval_ms": 300,
    "bfd_multiplier": 3,
    **dict.fromkeys(OPTIONS, False),
}
QOS = SwitchQos(
    classes=CLASSES,
    profiles=PROFILES,
    watchdog=Watchdog(200, 400, 200, "drop"),
    pools=BufferPools(52_161_690, 0, 158_229_504, None, False),
)

MANAGEMENT = Management(
    address="172.16.0.11/16",
    gateway="172.16.0.1",
    ntp=("172.16.0.2",),
    dns=("172.16.0.3",),
    syslog=("172.16.0.4",),
    users=(Account("netops", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample"),),
)

V4_LISTS = (
    PrefixList("OWN-V4", 4, (PrefixRule("10.0.0.0/26"), PrefixRule("10.128.0.1/32"))),
    PrefixList("FABRIC-V4", 4, (PrefixRule("10.0.0.0/10", 26, 26), PrefixRule("10.128.0.0/12", 32, 32))),
    PrefixList("CONNECTED-V4", 4, (PrefixRule("10.0.0.0/26", 31, 31), PrefixRule("10.128.0.1/32"))),
)
V6_LISTS = (
    PrefixList("OWN-V6", 6, (PrefixRule("fd00::/122"), PrefixRule("fd00:2::1/128"))),
    PrefixList("FABRIC-V6", 6, (PrefixRule("fd00::/32", 122, 122), PrefixRule("fd00:2::/32", 128, 128))),
    PrefixList("CONNECTED-V6", 6, (PrefixRule("fd00::/122", 127, 127), PrefixRule("fd00:2::1/128"))),
)


def _v6_address(network: str, offset: int) -> str:
    """The canonical text (RFC 5952) of the address at an offset in a network."""
    return str(IPv6Address(network) + offset)


def _make_maps(ipv6: bool, drained: bool) -> tuple[RouteMap, ...]:
    families = (4, 6) if ipv6 else (4,)
    gshut = "65535:0" if drained else None
    inward: list[Clause] = []
    outward: list[Clause] = []
    connected: list[Clause] = []
    for i, family in enumerate(families):
        at = 100 * i
        inward.append(Clause(at + 10, True, f"FABRIC-V{family}", family, "GRACEFUL-SHUTDOWN", 0))
        inward.append(Clause(at + 20, True, f"FABRIC-V{family}", family))
        outward.append(Clause(at + 10, True, f"OWN-V{family}", family, add_community=gshut))
        connected.append(Clause(at + 10, True, f"CONNECTED-V{family}", family))
    return (
        RouteMap("FROM-UPSTREAM", tuple(inward)),
        RouteMap("TO-UPSTREAM", tuple(outward)),
        RouteMap("CONNECTED", tuple(connected)),
    )


def tor(
    names: tuple[str, ...] = ("p1", "p2", "p3", "p4", "p5", "p6"),
    *,
    model: SwitchModel | None = None,
    nos: str = "frr",
    release: str = "",
    unnumbered: bool = False,
    dual: bool = False,
    drained: bool = False,
    lossless: bool = True,
) -> Switch:
    """A ToR: host ports on cages 1 and 2 (2x400G each; the last child reserved), uplinks on cages 3 and 4.

    `names` are the port names of 1/1, 1/2, 2/1, 2/2, 3 (as 1x800G, but used at 400G here: 3/1) and 4/1; cages
    3 and 4 are 2x400G of which the second child is not listed, to keep the sample small.
    """
    cages = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1))
    ports: list[Port] = []
    sessions: list[Session] = []
    for index, ((cage, child), name) in enumerate(zip(cages, names, strict=True)):
        if index < 3:
            ports.append(
                Port(
                    name,
                    cage,
                    child,
                    2,
                    4,
                    400,
                    Direction.HOST,
                    True,
                    9100,
                    Peer(f"su001-host0{index + 1}", "rail0"),
                    5,
                    "dac",
                    ipv4=f"10.0.0.{2 * index}/31",
                    ipv6=f"{_v6_address('fd00::', 2 * index)}/127" if dual else None,
                    profile="400g-5m" if lossless else None,
                )
            )
        elif index == 3:
            ports.append(Port(name, cage, child, 2, 4, 400, Direction.UNUSED, False, 9100, reserved=True))
        else:
            link = index - 4
            ports.append(
                Port(
                    name,
                    cage,
                    child,
                    2,
                    4,
                    400,
                    Direction.UP,
                    True,
                    9100,
                    Peer(f"spine0{link + 1}a", "p1"),
                    40,
                    "smf",
                    ipv4=None if unnumbered else f"10.64.0.{2 * link + 1}/31",
                    ipv6=f"{_v6_address('fd00:1::', 2 * link + 1)}/127" if dual and not unnumbered else None,
                    unnumbered=unnumbered,
                    profile="400g-40m" if lossless else None,
                )
            )
            peer = f"spine0{link + 1}a"
            if unnumbered:
                sessions.append(
                    Session("UPSTREAM", Transport.UNNUMBERED, name, peer, 4_200_001_000, None, None)
                )
            else:
                sessions.append(
                    Session(
                        "UPSTREAM",
                        Transport.IPV4,
                        name,
                        peer,
                        4_200_001_000,
                        f"10.64.0.{2 * link + 1}",
                        f"10.64.0.{2 * link}",
                    )
                )
                if dual:
                    sessions.append(
                        Session(
                            "UPSTREAM",
                            Transport.IPV6,
                            name,
                            peer,
                            4_200_001_000,
                            _v6_address("fd00:1::", 2 * link + 1),
                            _v6_address("fd00:1::", 2 * link),
                        )
                    )
    bgp = Bgp(
        **BGP_SETTINGS,
        asn=4_200_100_000,
        router_id="10.128.0.1",
        maximum_paths=64,
        multipath_relax=True,
        ipv4=True,
        ipv6=dual,
        redistribute_map="CONNECTED",
        aggregates=("10.0.0.0/26", "fd00::/122") if dual else ("10.0.0.0/26",),
        groups=(PeerGroup("UPSTREAM", "FROM-UPSTREAM", "TO-UPSTREAM", 1024),),
        sessions=tuple(sessions),
        prefix_lists=V4_LISTS + (V6_LISTS if dual else ()),
        community_lists=(CommunityList("GRACEFUL-SHUTDOWN", "65535:0"),),
        route_maps=_make_maps(dual, drained),
    )
    qos = (
        QOS
        if lossless
        else replace(
            QOS,
            classes=(replace(CLASSES[0], dscps=tuple(range(64)), weight_percent=100),),
            profiles=(),
            watchdog=None,
            pools=None,
        )
    )
    return Switch(
        name="su001-tor1a",
        cluster="sample",
        tier=TierName.TOR,
        plane=0,
        pod=None,
        unit=0,
        model=model or switch_model(),
        nos=nos,
        release=release,
        loopback4="10.128.0.1",
        loopback6="fd00:2::1" if dual else None,
        drained=drained,
        management=MANAGEMENT,
        ports=tuple(ports),
        bgp=bgp,
        qos=qos,
    )


CX7 = NicModel("connectx-7", "NVIDIA ConnectX-7", "nvidia", "mlx5_core", "mlx5", ())


def with_settings(switch: Switch, mode: Spreading = Spreading.FLOWLET) -> Switch:
    """Return the switch with every setting that a spec may have, except a flowlet pause of its own."""
    management = replace(
        switch.management,
        access=("172.16.9.0/24", "172.16.8.0/24"),
        tacacs=LoginServers(("172.16.0.6", "172.16.0.5"), "FABRICC-SECRET-tacacs"),
        snmp=Snmp(
            "FABRICC-SECRET-snmp",
            "hall-3",
            "netops@example.net",
            (SnmpUser("monitor", "FABRICC-SECRET-snmp-auth", "FABRICC-SECRET-snmp-priv"),),
            SnmpTraps(("172.16.0.7", "fd00:16::7"), "monitor"),
        ),
        gnmi_port=9339,
        lldp_interval_s=10,
        banner="Authorized use only.",
        ntp_key=NtpKey(1, "md5", "FABRICC-SECRET-ntp"),
        syslog_tls=SyslogTls("syslog-ca", 6514),
        users=tuple(replace(user, password="FABRICC-SECRET-hash") for user in switch.management.users),
    )
    return replace(
        switch,
        management=management,
        load_balancing=LoadBalancing(mode, queue_pairs=True),
        bgp=replace(switch.bgp, **dict.fromkeys(OPTIONS, True)),
    )


def with_radius(switch: Switch) -> Switch:
    """Return the switch with RADIUS servers and access networks."""
    servers = LoginServers(("172.16.0.6", "fd00::5"), "FABRICC-SECRET-radius")
    management = replace(switch.management, access=("172.16.9.0/24",), radius=servers)
    return replace(switch, management=management)


HOST_MODEL = HostModel(
    name="sample-host",
    title="Sample 2-rail host",
    vendor="sample",
    gpus=2,
    rails=2,
    nic=CX7,
    ports_per_nic=1,
    port_gbps=400,
    pci=("0000:18:00.0", "0000:40:00.0"),
    management_interface="eno1",
)


def host(*, dual: bool = False, isolated: bool = False) -> Host:
    """A host of two rails."""
    ports = tuple(
        HostPort(
            name=f"rail{rail}",
            rail=rail,
            nic_port=0,
            rdma=f"mlx5_r{rail}",
            pci=HOST_MODEL.pci[rail],
            speed_gbps=400,
            mtu=9000,
            cable_m=5,
            medium="dac",
            peer=Peer(f"su001-tor{rail + 1}a", "p1"),
            ipv4=f"10.{rail}.0.1/31",
            gateway4=f"10.{rail}.0.0",
            ipv6=f"{_v6_address('fd00::', (rail << 64) + 1)}/127" if dual else None,
            gateway6=_v6_address("fd00::", rail << 64) if dual else None,
            table=100 + rail,
        )
        for rail in range(2)
    )
    return Host(
        name="su001-host01",
        cluster="sample",
        model=HOST_MODEL,
        unit=0,
        slot=0,
        rail_isolated=isolated,
        ports=ports,
        classes=CLASSES,
        fabric_prefixes4=("10.0.0.0/10",),
        fabric_prefixes6=("fd00::/32",) if dual else (),
        recommended_qps=4,
        socket_interface="eno1",
    )
