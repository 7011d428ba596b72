"""Interfaces of SONiC: ports and their breakouts, addresses, the loopback, and the management port in its VRF."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.management import state_isolation
from fabricc.back.nos.sonic.config_db import (
    Row,
    Table,
    Tables,
    demand_row,
    flat_rows,
    flat_table,
    kept_fields,
    line_of,
    put_field,
    report_strange,
    require_fields,
    rows_of,
    silent_fields,
    state_fields,
    table_block,
    table_scope,
    value_of,
)
from fabricc.back.nos.sonic.odd_rows import members_of, odd_field, odd_lack, table_rows
from fabricc.back.nos.sonic.words import Platform, lane_list
from fabricc.back.reading import Document, Keep, Scope, Silent, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.base.numbers import is_number, whole_number
from fabricc.fabric.facts import Facts, Reading, Value, format_boolean
from fabricc.fabric.model import Direction, Management, Port, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from fabricc.back.nos.sonic.odd_rows import OddRow


SERVICE_DESCRIPTION = "service port"
SERVICE_MTU = 9100
"""Settings of the ports outside the fabric; they stay shut."""
LOOPBACK = "Loopback0"


# --- what SONiC makes of the Fabric's statements ------------------------------------------------------


def management_tables(management: Management) -> Tables:
    """Return the management port, its address and its VRF."""
    return {
        "MGMT_PORT": {"eth0": {"alias": "eth0", "admin_status": "up"}},
        "MGMT_INTERFACE": {f"eth0|{management.address}": {"gwaddr": management.gateway}},
        "MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}},
    }


def interface_tables(switch: Switch) -> Tables:
    """Return the loopback, and ports in panel order with breakouts and addresses."""
    platform = Platform.of(switch.model)
    return {
        "LOOPBACK_INTERFACE": _loopback_table(switch),
        "BREAKOUT_CFG": {
            cage: {"brkout_mode": mode} for cage, mode in list_breakouts(switch, platform).items()
        },
        "PORT": {
            **{port.name: _port_row(port, platform) for port in switch.ports},
            **_service_ports(platform),
        },
        "INTERFACE": _address_table(switch),
    }


def list_breakouts(switch: Switch, platform: Platform) -> dict[str, str]:
    """Cage -> breakout mode, where the platform has such modes."""
    modes: dict[str, str] = {}
    for port in switch.ports:
        cage = platform.cage_name(port.cage)
        if cage in modes:
            continue
        if mode := platform.breakout_mode(port.cage, port.children, port.speed_gbps):
            modes[cage] = mode
    return modes


def _loopback_table(switch: Switch) -> Table:
    addresses = [f"{switch.loopback4}/32"] if switch.loopback4 else []
    addresses += [f"{switch.loopback6}/128"] if switch.loopback6 else []
    rows: Table = {LOOPBACK: {}} if addresses else {}
    return {**rows, **{f"{LOOPBACK}|{address}": {} for address in addresses}}


def _port_row(port: Port, platform: Platform) -> Row:
    row: Row = {
        "admin_status": "up" if port.enabled else "down",
        "alias": platform.port_alias(port), "autoneg": port_autoneg(port), "description": port.description,
        "fec": port_fec(port),
        "index": str(platform.port_index(port)),
        "lanes": platform.port_lanes(port), "mtu": str(port.mtu), "speed": str(port.speed_gbps * 1000),
    }  # fmt: skip
    if port.children > 1:
        row["subport"] = str(port.child)
    return row


def port_fec(port: Port) -> str:
    """Reed-Solomon from 25 Gb/s a lane up (IEEE 802.3 clauses 91, 119, 134, 161, 172), none below."""
    return "rs" if port.speed_gbps >= 25 * port.lanes else "none"


def port_autoneg(port: Port) -> str:
    """On for passive copper, whose PHYs train the link by clause 73 negotiation (IEEE 802.3 CR types); else off."""
    return "on" if port.medium == "dac" else "off"


def _service_ports(platform: Platform) -> Table:
    """Return the ports outside the fabric cages, shut."""
    return {
        service["name"]: {
            "admin_status": "down",
            "alias": service["alias"],
            "description": SERVICE_DESCRIPTION,
            "index": str(service["index"]),
            "lanes": lane_list(service["lanes"]),
            "mtu": str(SERVICE_MTU),
            "speed": str(service["speed"]),
        }
        for service in platform.service_ports
    }


def _address_table(switch: Switch) -> Table:
    rows: Table = {}
    empty: Row = {}
    link_local: Row = {"ipv6_use_link_local_only": "enable"}
    for port in switch.ports:
        addresses = [address for address in (port.ipv4, port.ipv6) if address]
        if port.direction is Direction.UNUSED or not (port.unnumbered or addresses):
            continue
        row = link_local if port.unnumbered else empty
        rows[port.name] = {**row, "vrf_name": port.vrf} if port.vrf else row
        for address in addresses:
            rows[f"{port.name}|{address}"] = empty
    return rows


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add further facts of SONiC about ports: a wrong lane, label, mode or error correction cuts a link."""
    platform = Platform.of(switch.model)
    for port in switch.ports:
        paths = port_paths(port.name)
        facts[paths["alias"]] = platform.port_alias(port)
        facts[paths["autoneg"]] = port_autoneg(port)
        facts[paths["fec"]] = port_fec(port)
        facts[paths["index"]] = platform.port_index(port)
        facts[paths["lanes"]] = platform.port_lanes(port)
        facts[paths["mtu"]] = port.mtu
        if port.children > 1:
            facts[paths["subport"]] = port.child
    for name, row in _service_ports(platform).items():
        paths = port_paths(name)
        facts[paths["enabled"]] = format_boolean(False)
        facts[paths["speed_gbps"]] = int(str(row["speed"])) // 1000
        facts |= {paths[field]: str(row[field]) for field in ("alias", "description", "lanes")}
        facts |= {paths[field]: int(str(row[field])) for field in ("index", "mtu")}
    facts |= {f"breakout[{cage}]": mode for cage, mode in list_breakouts(switch, platform).items()}


# --- and back -----------------------------------------------------------------------------------------

_STATED = {
    "MGMT_PORT": {"alias": "eth0", "admin_status": "up"},
    "MGMT_VRF_CONFIG": {"mgmtVrfEnabled": "true"},
}
_LEAK = re.compile(r"\b(import vrf|nexthop-vrf) mgmt\b")


def _to_gbps(mbps: str) -> Value:
    whole = is_number(mbps) and mbps.endswith("000")
    return int(mbps) // 1000 if whole else f"{mbps} Mb/s"


TYPES = {"status": lambda status: {"up": "true", "down": "false"}.get(status, status), "mbps": _to_gbps}

_FORCED = (Keep("forced_mgmt_routes @ <word>", "forced"), Keep("forced_mgmt_routes <word>", "forced"))
_SWITCHED = ("link_training", "override_unreliable_los", "pfc_asym")
_FURTHER = (
    "adv_interface_types", "adv_speeds", "delay_measurement", "fast_linkup", "laser_freq", "macsec", "mode",
    "mux_cable", "pt_interface_id", "pt_timestamp_template", "tx_power", "unreliable_los", "wred_profile",
)  # fmt: skip
_OF_INTERFACE = (
    "grat_arp", "loopback_action", "mac_addr", "mpls", "nat_zone", "proxy_arp", "secondary", "static_anycast_gateway",
)  # fmt: skip
ADDRESSED: tuple[PatternRow, ...] = (
    Silent("NULL NULL"),
    *silent_fields("family", "scope"),
    *kept_fields("ipv6_use_link_local_only", "vrf_name", *_OF_INTERFACE),
)
"""Fields of tables of interfaces with addresses."""

ROWS: tuple[PatternRow, ...] = (
    table_block("MGMT_PORT", *kept_fields(*_STATED["MGMT_PORT"]), *silent_fields("autoneg", "description",
        "speed", "mtu")),
    table_block("MGMT_INTERFACE", *kept_fields("gwaddr"), *_FORCED),
    table_block("MGMT_VRF_CONFIG", *kept_fields(*_STATED["MGMT_VRF_CONFIG"])),
    table_block("LOOPBACK_INTERFACE", *ADDRESSED, *kept_fields("admin_status")),
    flat_table("BREAKOUT_CFG"),
    table_block("PORT",
        Keep("admin_status <status>", "enabled"),
        *kept_fields("alias", "autoneg", "description", "fec", "lanes"),
        *(Keep(f"{field} <number>", field) for field in ("index", "mtu", "subport")),
        Keep("speed <mbps>", "speed_gbps"),
        *silent_fields("tpid", "dhcp_rate_limit", "interface_type", "media_type", "role", "valid_speeds",
            "parent_port"),
        *silent_fields("asic_port_name", "core_id", "core_port_id", "coreId", "corePortId", "num_voq", "numVoq"),
        *silent_fields("dom_polling", "subport_count", "system_port_id", "switch_id", "supported_speeds",
            "supported_fecs"),
        *(Silent(f"{field} off") for field in _SWITCHED),
        *(Silent(f"{field} all") for field in ("adv_speeds", "adv_interface_types")),
        *(Keep(f"{field} <word>", f"setting[{field}]") for field in (*_SWITCHED, *_FURTHER)),
        *(Keep(f"{field} @ <word>", f"setting[{field}]") for field in ("adv_speeds", "adv_interface_types")),
    ),
    table_block("INTERFACE", *ADDRESSED),
)  # fmt: skip


def finish(document: Document) -> None:
    """State ports and addresses, and list rows without a place among them."""
    require_fields(document, _STATED)
    demand_row(document, "MGMT_PORT", "eth0")
    demand_row(document, "MGMT_VRF_CONFIG", "vrf_global")
    managed = rows_of(document, "MGMT_INTERFACE")
    for key, row in sorted(managed.items(), key=lambda item: ":" in item[0]):  # IPv4 before IPv6
        interface, _, address = key.partition("|")
        if interface != "eth0" or not address:
            report_strange(document, row.line, f"MGMT_INTERFACE|{key}")
            continue
        if "management/address" in document.reading.facts:
            report_strange(document, row.line, f"MGMT_INTERFACE|{key}: a second address")
            document.put(f"interface[eth0]/secondary[{address}]", address, row.line)
            continue
        document.put("management/address", address, row.line)
        put_field(document, "management/gateway", "MGMT_INTERFACE", key, "gwaddr")
        document.put_kept("management/setting[forced_mgmt_routes]", row.values, "forced")
    for key, row in rows_of(document, "LOOPBACK_INTERFACE").items():
        interface, _, address = key.partition("|")
        if interface != LOOPBACK:
            report_strange(document, row.line, f"LOOPBACK_INTERFACE|{key}")
        elif address:
            _put_address(document, "loopback/", "LOOPBACK_INTERFACE", key, row.line)
        if value_of(row, "admin_status", "up") != "up":
            document.put(port_paths(interface)["enabled"], "false", line_of(row, "admin_status"))
    put_addresses(document, "LOOPBACK_INTERFACE", {LOOPBACK})
    for cage, stored in flat_rows(document, "BREAKOUT_CFG").items():
        document.put(f"breakout[{cage}]", *stored)
    file, facts, lines = document.file, document.reading.facts, document.reading.lines
    for name, row in rows_of(document, "PORT").items():
        paths = port_paths(name)
        for leaf, (value, line) in row.values.items():
            path = paths[leaf]
            facts[path], lines[path] = value, (file, line)
        if "enabled" not in row.values:
            document.put(paths["enabled"], "false", row.line)
    for key, row in rows_of(document, "INTERFACE").items():
        name, _, address = key.partition("|")
        if address:
            _put_address(document, port_paths(name).prefix, "INTERFACE", key, row.line)
        elif row.values:
            put_interface(document, name, row)


def put_interface(document: Document, name: str, row: Scope) -> None:
    """State the values of an interface with addresses."""
    paths = port_paths(name)
    if "ipv6_use_link_local_only" in row.values:
        word, line = row.values["ipv6_use_link_local_only"]
        document.put(paths["unnumbered"], format_boolean(word == "enable"), line)
    document.put_kept(paths["vrf"], row.values, "vrf_name")
    state_fields(document, f"interface[{name}]/setting", row, *_OF_INTERFACE)


def put_addresses(document: Document, name: str, but: Set[str] = frozenset()) -> None:
    """State the interfaces of a table and their addresses, all but some interfaces."""
    for key, row in rows_of(document, name).items():
        interface, _, address = key.partition("|")
        paths = port_paths(interface)
        if interface in but:
            continue
        if not address:
            put_interface(document, interface, row)
        elif paths[family := _address_family(address)] in document.reading.facts:
            document.put(paths[f"secondary[{address}]"], address, row.line)
        else:
            document.put(paths[family], address, row.line)


def _address_family(address: str) -> str:
    return "ipv6" if ":" in address else "ipv4"


def _put_address(document: Document, prefix: str, name: str, key: str, line: int) -> None:
    """State an address of a row's key, for an interface with its own row; without that row it has no effect.

    A second one of the same family is no plan's.
    """
    interface, _, address = key.partition("|")
    path = prefix + _address_family(address)
    if path in document.reading.facts:
        report_strange(document, line, f"{name}|{key}: a second address")
        document.put(f"interface[{interface}]/secondary[{address}]", address, line)
    else:
        document.put(path, address, line)
    if interface not in rows_of(document, name):
        report_strange(document, line, f"{name}|{interface} is missing")


def read_isolation(document: Document, reading: Reading) -> None:
    """State whether the management port is in its own VRF from which routing (in the other file) imports nothing.

    Without it the kernel, which forwards, has the management network among the fabric's routes, and only fpmsyncd,
    which skips routes of eth0, keeps it from the ASIC (sonic-swss, routesync.cpp).
    """
    if "management/address" not in reading.facts:
        return
    vrf = rows_of(document, "MGMT_VRF_CONFIG").get("vrf_global") or table_scope(document, "MGMT_VRF_CONFIG")
    apart = value_of(vrf, "mgmtVrfEnabled") == "true"
    place = reading.lines["management/address"]
    if vrf.line > 1:  # the table is there
        place = (document.file, line_of(vrf, "mgmtVrfEnabled"))
    state_isolation(reading, apart, place, _LEAK)


TOPIC = Topic(ROWS, finish)


_SPEEDS = frozenset({
    "10", "100", "1000", "2500", "5000", "10000", "20000", "25000", "40000", "50000", "56000", "100000", "200000",
    "400000", "800000", "1600000",
})  # fmt: skip
"""Speeds of Ethernet in Mb/s."""
_LEAST_KBPS = 64
"""A rate of broadcasts at which ARP of a few hosts gets through."""


_LARGEST_MTU = 9216
"""The largest MTU of a port (sonic-port.yang)."""


def find_odd_interfaces(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield ports with a speed that there is not, bundles unlike their ports, and rates that stop ARP."""
    ports, members = table_rows(tables, "PORT"), members_of(tables)
    for name, row in ports.items():
        if str(row.get("speed") or "10") not in _SPEEDS:
            yield odd_field(
                "PORT", name, row, "speed", "no port has this speed, and orchagent does not set it"
            )
        if (whole_number(str(row.get("mtu", ""))) or 0) > _LARGEST_MTU:
            yield odd_field("PORT", name, row, "mtu", f"no port takes it, above {_LARGEST_MTU}")
    for name, row in table_rows(tables, "PORTCHANNEL").items():
        own = [each for each in members.get(name, ()) if each in ports]
        shut = [each for each in own if ports[each].get("admin_status") == "down"]
        if own and len(shut) == len(own) and row.get("admin_status") != "down":
            effect = f"{name}, of which it is a part, never comes up"
            yield odd_field("PORT", shut[0], ports[shut[0]], "admin_status", effect)
        sizes = {str(ports[each].get("mtu", "")) for each in own}
        if "mtu" in row and len(sizes) == 1 and "" not in sizes and str(row["mtu"]) not in sizes:
            yield odd_field("PORTCHANNEL", name, row, "mtu", f"its ports do not keep their {min(sizes)}")
    for table in [name for name in tables if name.endswith("INTERFACE")]:
        for key, row in table_rows(tables, table).items():
            instance = str(row.get("vrf_name") or "default")
            if instance not in ("default", "mgmt", *table_rows(tables, "VRF")):
                yield odd_field(
                    table, key, row, "vrf_name", "no row of VRF makes it, and intfmgrd waits for it"
                )
    for name, row in table_rows(tables, "VLAN").items():
        if str(row.get("vlanid") or name[4:]) != name[4:]:
            yield odd_field("VLAN", name, row, "vlanid", f"it is not the {name[4:]} of its name")
    for key, row in table_rows(tables, "PORT_STORM_CONTROL").items():
        rate = whole_number(str(row.get("kbps", "")))
        if "broadcast" in key and rate is not None and rate < _LEAST_KBPS:
            yield odd_field("PORT_STORM_CONTROL", key, row, "kbps", "ARP and DHCP of its hosts are dropped")
    yield from _odd_members(tables)
    tunnels, vlans = table_rows(tables, "VXLAN_TUNNEL"), table_rows(tables, "VLAN")
    for key, row in tunnels.items():
        if "src_ip" not in row:
            yield odd_lack("VXLAN_TUNNEL", key, "src_ip", "vxlanmgrd makes no tunnel")
    for key, row in table_rows(tables, "VXLAN_EVPN_NVO").items():
        if row.get("source_vtep") not in tunnels:
            yield odd_field(
                "VXLAN_EVPN_NVO", key, row, "source_vtep", "no tunnel has this name, and EVPN none"
            )
    for key, row in table_rows(tables, "VXLAN_TUNNEL_MAP").items():
        if row.get("vlan") not in vlans:
            yield odd_field(
                "VXLAN_TUNNEL_MAP", key, row, "vlan", "no VLAN has this name, and the VNI no port"
            )


def _odd_members(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield a port of one VLAN that alone has it tagged: its host, as those of the other ports, sends no tags."""
    ways: dict[str, dict[str, str]] = {}
    count = Counter[str]()
    for key, row in table_rows(tables, "VLAN_MEMBER").items():
        vlan, _, port = key.partition("|")
        count[port] += 1
        if port.startswith("Ethernet"):
            ways.setdefault(vlan, {})[port] = str(row.get("tagging_mode"))
    for vlan, modes in ways.items():
        odd = [port for port, mode in modes.items() if mode == "tagged"]
        if len(odd) == 1 and count[odd[0]] == 1 and [*modes.values()].count("untagged") >= _ALIKE:
            key = f"{vlan}|{odd[0]}"
            effect = "its host, which sends no tags, is in no VLAN"
            yield odd_field("VLAN_MEMBER", key, tables["VLAN_MEMBER"][key], "tagging_mode", effect)


_ALIKE = 4
"""Ports of a VLAN without tags, from which a single other one is odd."""
