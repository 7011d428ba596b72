"""The tables of `config_db.json` for one switch: identity, management, ports and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.limits import MARKS, has, release_of
from fabricc.back.nos.sonic.platform import Platform, lane_list
from fabricc.back.nos.sonic.qos import qos_tables
from fabricc.back.nos.sonic.routing import as_run
from fabricc.back.nos.sonic.services import service_tables
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.sonic.document import Row, Table, Tables
    from fabricc.back.nos.sonic.limits import Release
    from fabricc.fabric.model import Port, Switch

ROLES = ("ToRRouter", "LeafRouter", "SpineRouter")
"""`DEVICE_METADATA.type` of ToRs, spines and cores; orchagent derives the ECMP hash seed from it (0, 10, 25)."""

SERVICE_DESCRIPTION = "service port"
SERVICE_MTU = 9100
"""What the ports outside the fabric are given; they stay shut."""

HASH_FIELDS = ("SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT")

MARKS_GROUP = "WRED_ECN_QUEUE"
"""The counters of marking; the image enables those of queues and ports by itself, these never (init_cfg.json.j2)."""
SOFTWARE_BFD = "software_bfd"
"""The default that makes bgpcfgd start bfdd (bgpcfgd/main.py, managers_bfd.py)."""

CONVENTIONS = {
    "buffer_model": "traditional",
    "docker_routing_config_mode": "split-unified",
    "frr_mgmt_framework_config": "false",
    "synchronous_mode": "enable",
    "suppress-fib-pending": "disabled",
    "default_pfcwd_status": "disable",
}
"""Fields of `DEVICE_METADATA` that are the same on every switch: frr.conf and the buffer rows are fabricc's own."""


def config_db(switch: Switch) -> Tables:
    """Every table, in the order of the file; rows of ports in panel order."""
    platform = Platform.of(switch.model)
    release = release_of(switch)
    tables: Tables = {
        "DEVICE_METADATA": {"localhost": _metadata(switch, platform)},
        "VERSIONS": {"DATABASE": {"VERSION": release.schema}},
    }
    tables.update(_management(switch))
    tables.update(service_tables(switch.management))
    tables["LOOPBACK_INTERFACE"] = _loopback(switch)
    tables["BREAKOUT_CFG"] = {
        cage: {"brkout_mode": mode} for cage, mode in breakouts(switch, platform).items()
    }
    tables["PORT"] = _ports(switch, platform)
    tables["INTERFACE"] = _interfaces(switch)
    tables.update(qos_tables(switch, platform))
    tables["SWITCH_HASH"] = {"GLOBAL": {"ecmp_hash": list(HASH_FIELDS)}}
    if counts_marks(switch):
        tables["FLEX_COUNTER_TABLE"] = {MARKS_GROUP: {"FLEX_COUNTER_STATUS": "enable"}}
    if as_run(switch).bgp.bfd_interval_ms is not None:
        tables["SYSTEM_DEFAULTS"] = {SOFTWARE_BFD: {"status": "enabled"}}
    return {name: rows for name, rows in _known_fields(tables, release).items() if rows}


def _known_fields(tables: Tables, release: Release) -> Tables:
    """The tables without the fields that the release's models do not know."""
    kept = dict(tables)
    for table, fields in release.absent.items():
        rows = tables.get(table, {})
        kept[table] = {key: {f: v for f, v in row.items() if f not in fields} for key, row in rows.items()}
    return kept


def counts_marks(switch: Switch) -> bool:
    """Whether the switch is told to count the packets that it marks."""
    return bool(MARKS.things(switch)) and has(switch, MARKS)


def _metadata(switch: Switch, platform: Platform) -> Row:
    return {
        "hostname": switch.name,
        "hwsku": platform.hwsku,
        "platform": platform.platform,
        "type": ROLES[switch.tier_index],
        "bgp_asn": str(switch.bgp.asn),
        **CONVENTIONS,
    }


def _management(switch: Switch) -> Tables:
    management = switch.management
    return {
        "MGMT_PORT": {"eth0": {"alias": "eth0", "admin_status": "up"}},
        "MGMT_INTERFACE": {f"eth0|{management.address}": {"gwaddr": management.gateway}},
        "MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}},
        "NTP": {"global": {"admin_state": "enabled", "src_intf": "eth0", "vrf": "mgmt"}}
        if management.ntp
        else {},
        "NTP_SERVER": {
            server: {"association_type": "server", "iburst": "on", "resolve_as": server}
            for server in management.ntp
        },
        "DNS_NAMESERVER": {server: {} for server in management.dns},
        "SYSLOG_SERVER": {
            server: {"port": "514", "protocol": "udp", "severity": "notice", "vrf": "mgmt"}
            for server in management.syslog
        },
    }


def _loopback(switch: Switch) -> Table:
    rows: Table = {}
    if switch.loopback4 or switch.loopback6:
        rows["Loopback0"] = {}
    if switch.loopback4:
        rows[f"Loopback0|{switch.loopback4}/32"] = {}
    if switch.loopback6:
        rows[f"Loopback0|{switch.loopback6}/128"] = {}
    return rows


def breakouts(switch: Switch, platform: Platform) -> dict[str, str]:
    """Cage -> breakout mode, where the platform has such modes."""
    modes: dict[str, str] = {}
    for port in switch.ports:
        cage = platform.cage_name(port.cage)
        if cage not in modes and (mode := platform.breakout_mode(port.children, port.speed_gbps)):
            modes[cage] = mode
    return modes


def _ports(switch: Switch, platform: Platform) -> Table:
    rows: Table = {port.name: _port(port, platform) for port in switch.ports}
    for service in platform.service_ports:
        rows[service["name"]] = {
            "admin_status": "down",
            "alias": service["alias"],
            "description": SERVICE_DESCRIPTION,
            "index": str(service["index"]),
            "lanes": lane_list(service["lanes"]),
            "mtu": str(SERVICE_MTU),
            "speed": str(service["speed"]),
        }
    return rows


def _port(port: Port, platform: Platform) -> Row:
    row: Row = {
        "admin_status": "up" if port.enabled else "down",
        "alias": platform.port_alias(port),
        "autoneg": autoneg(port),
        "description": port.description,
        "fec": fec(port),
        "index": str(platform.port_index(port)),
        "lanes": platform.port_lanes(port),
        "mtu": str(port.mtu),
        "speed": str(port.speed_gbps * 1000),
    }
    if port.children > 1:
        row["subport"] = str(port.child)
    return row


def fec(port: Port) -> str:
    """Reed-Solomon from 25 Gb/s a lane up (IEEE 802.3 clauses 91, 119, 134, 161, 172), none below."""
    return "rs" if port.speed_gbps >= 25 * port.lanes else "none"


def autoneg(port: Port) -> str:
    """On for passive copper, whose PHYs train the link by clause 73 negotiation (IEEE 802.3 CR types); else off."""
    return "on" if port.medium == "dac" else "off"


def _interfaces(switch: Switch) -> Table:
    rows: Table = {}
    empty: Row = {}
    link_local: Row = {"ipv6_use_link_local_only": "enable"}
    for port in switch.ports:
        if port.direction is Direction.UNUSED or not (port.unnumbered or port.ipv4 or port.ipv6):
            continue
        rows[port.name] = link_local if port.unnumbered else empty
        if port.ipv4:
            rows[f"{port.name}|{port.ipv4}"] = empty
        if port.ipv6:
            rows[f"{port.name}|{port.ipv6}"] = empty
    return rows
