"""Read back identity and services of SONiC: rows of tables, and contradictions to every plan."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic import control_plane
from fabricc.back.nos.sonic.config_db import (
    demand_row,
    kept_fields,
    line_of,
    put_field,
    report_strange,
    require_fields,
    rows_of,
    schema_release,
    silent_fields,
    state_fields,
    table_block,
    table_scope,
    value_of,
)
from fabricc.back.nos.sonic.foreign import beyond
from fabricc.back.nos.sonic.limits import RELEASES
from fabricc.back.nos.sonic.odd_rows import OddRow, odd_field, odd_lack, table_rows
from fabricc.back.nos.sonic.services import CONVENTIONS, HASH_FIELDS, IPV4
from fabricc.back.nos.sonic.words import CERTIFICATES, DEFAULT_LLDP_S, parse_number
from fabricc.back.reading import Document, Keep, Scope, Silent, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.base.documents.document import clip
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import SNMP_LEVEL, join_banner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SNMP_PROTOCOLS = {"SHA AES": SNMP_LEVEL}

_STATED = {
    "DEVICE_METADATA": CONVENTIONS,
    "NTP": {"admin_state": "enabled", "src_intf": "eth0", "vrf": "mgmt"},
    "NTP_SERVER": {"association_type": "server"},
    "SYSLOG_SERVER": {"port": "514", "protocol": "udp", "vrf": "mgmt"},
    "TACPLUS_SERVER": {"vrf": "mgmt"},
    "RADIUS_SERVER": {"vrf": "mgmt"},
    "SNMP_COMMUNITY": {"TYPE": "RO"},
    "SNMP_USER": {"SNMP_USER_PERMISSION": "RO"},
    "ACL_TABLE": {"type": "CTRLPLANE"},
    "SWITCH_HASH": {"ecmp_hash": ",".join(HASH_FIELDS)},
}

_SYSTEM = (
    "asic_id", "asic_name", "async_mode", "chassis_hostname", "chassis_serial_number", "default_config_profile",
    "dhcp_server", "downstream_subrole", "dpu_auto_recovery", "dual_tor", "max_cores", "max_system_ports",
    "orch_northbond_dash_zmq_enabled", "orch_northbond_route_zmq_enabled", "peer_switch", "qos_profile",
    "ring_thread_enabled", "sidecar", "slice_type", "storage_device", "subtype", "sub_role", "switch_id",
    "switch_type", "syslog_counter", "syslog_with_osversion", "tsa_enabled",
)  # fmt: skip

_SNMP_USER_FIELDS = (
    "SNMP_USER_TYPE", "SNMP_USER_AUTH_TYPE", "SNMP_USER_AUTH_PASSWORD", "SNMP_USER_ENCRYPTION_TYPE",
    "SNMP_USER_ENCRYPTION_PASSWORD",
)  # fmt: skip

_RULE = ("ETHER_TYPE", "L4_DST_PORT", "PACKET_ACTION", "PRIORITY", "SRC_IP")


def _stated_row(name: str, *others: PatternRow) -> PatternRow:
    return table_block(name, *kept_fields(*_STATED[name]), *others)


ROWS: tuple[PatternRow, ...] = (
    _stated_row("DEVICE_METADATA",
        *kept_fields("hostname", "hwsku", "platform", "type", *_SYSTEM),
        Silent("bgp_asn None"),
        Keep("bgp_asn <number>", "bgp_asn"),
        *silent_fields("bgp_router_id", "mac", "timezone", "region", "cloudtype", "deployment_id", "resource_type"),
        *silent_fields("rack_mgmt_map", "cluster", "location_type", "default_bgp_status", "yang_config_validation"),
        *silent_fields("create_only_config_db_buffers"),
        Silent("nexthop_group disabled"),
        *kept_fields("nexthop_group"),
    ),
    table_block("VERSIONS", *kept_fields("VERSION"), Silent("<word> <word>")),
    _stated_row("NTP", Keep("src_intf @ <word>", "src_intf"), *silent_fields("authentication", "dhcp", "server_role")),
    _stated_row("NTP_SERVER",
        *kept_fields("resolve_as"),
        Silent("admin_state enabled"),
        *silent_fields("iburst", "key", "version", "trusted"),
    ),
    table_block("BANNER_MESSAGE", *kept_fields("state", "login"), *silent_fields("motd", "logout")),
    table_block("DNS_NAMESERVER"),
    _stated_row("SYSLOG_SERVER", *silent_fields("severity", "source")),
    table_block("TACPLUS", Silent("auth_type pap"), *kept_fields("passkey"), *silent_fields("timeout", "src_intf")),
    _stated_row("TACPLUS_SERVER", Silent("tcp_port 49"), *kept_fields("priority"), *silent_fields("timeout",
        "auth_type")),
    table_block("RADIUS", Silent("auth_type pap"), *kept_fields("passkey"), *silent_fields("timeout", "retransmit",
        "src_ip", "nas_ip", "statistics")),
    _stated_row("RADIUS_SERVER", Silent("auth_port 1812"), *kept_fields("priority"), *silent_fields("timeout",
        "retransmit", "auth_type", "src_intf")),
    table_block("AAA", *kept_fields("login", "failthrough"), *silent_fields("fallback", "debug", "trace")),
    table_block("SNMP", *kept_fields("Location", "Contact")),
    _stated_row("SNMP_COMMUNITY"),
    _stated_row("SNMP_USER", *kept_fields(*_SNMP_USER_FIELDS)),
    table_block("SNMP_AGENT_ADDRESS_CONFIG"),
    table_block("GNMI",
        *kept_fields(*CERTIFICATES, "client_auth"),
        Keep("port <number>", "port"),
        *silent_fields("log_level", "save_on_set", "user_auth"),
    ),
    table_block("LLDP",
        *(Keep(f"{field} <number>", field) for field in ("hello_time", "multiplier")),
        *silent_fields("system_name", "system_description"),
    ),
    _stated_row("ACL_TABLE",
        *kept_fields("stage"), *silent_fields("policy_desc"),
        *(Keep(f"{field} @ <word>", field) for field in ("services", "ports")),
        *kept_fields("ports"),
    ),
    table_block("ACL_RULE", *kept_fields(*_RULE, *beyond.RULE)),
    table_block("SWITCH_HASH",
        Keep("ecmp_hash @ <word>", "ecmp_hash"),
        Silent("lag_hash @ <word>"),
        *silent_fields("lag_hash_algorithm"),
    ),
)  # fmt: skip


def finish(document: Document) -> None:
    """State identity and services, and list what is not as every plan has it."""
    require_fields(document, _STATED)
    demand_row(document, "DEVICE_METADATA", "localhost")
    demand_row(document, "SWITCH_HASH", "GLOBAL")
    _finish_identity(document)
    for kind, name in (("ntp", "NTP_SERVER"), ("dns", "DNS_NAMESERVER"), ("syslog", "SYSLOG_SERVER")):
        if servers := rows_of(document, name):
            first = next(iter(servers.values()))
            document.put(f"management/{kind}", ",".join(sorted(servers)), first.line)
    _finish_ntp(document)
    banner = rows_of(document, "BANNER_MESSAGE").get("global")
    if banner and value_of(banner, "state") == "enabled":
        document.put(
            "management/banner", join_banner(str(value_of(banner, "login"))), line_of(banner, "login")
        )
    _finish_logins(document)
    _finish_snmp(document)
    _finish_gnmi(document)
    lldp = rows_of(document, "LLDP").get("GLOBAL") or table_scope(document, "LLDP")
    document.put("lldp/interval_s", *lldp.values.get("hello_time", (DEFAULT_LLDP_S, lldp.line)))
    put_field(document, "lldp/hold_intervals", "LLDP", "GLOBAL", "multiplier")
    _finish_access(document)


def _finish_identity(document: Document) -> None:
    name, key = "DEVICE_METADATA", "localhost"
    put_field(document, "bgp/asn", name, key, "bgp_asn")
    for field in ("hostname", "hwsku", "platform", "type"):
        put_field(document, f"system/{field}", name, key, field)
    row = rows_of(document, name).get(key)
    if row:
        state_fields(document, "system/setting", row, *_SYSTEM, "nexthop_group")
    for field in ("hostname", "bgp_asn") if row else ():
        if row and field not in row.values:
            report_strange(document, row.line, f"{name}|{key} without {field}")


def _finish_ntp(document: Document) -> None:
    servers = rows_of(document, "NTP_SERVER")
    of = schema_release(document)
    needless = of != "" and "NTP_SERVER" in RELEASES[of].absent
    for key, row in servers.items():
        if value_of(row, "resolve_as", key if needless else "None") != key:
            text = f"NTP_SERVER|{key} resolve_as: {value_of(row, 'resolve_as', 'None')}"
            report_strange(document, line_of(row, "resolve_as"), text)
    if servers and "global" not in rows_of(document, "NTP"):
        report_strange(document, table_scope(document, "NTP").line, "NTP|global is missing")


def _finish_logins(document: Document) -> None:
    for protocol, table in (("tacacs", "TACPLUS"), ("radius", "RADIUS")):
        put_field(document, f"management/{protocol}/secret", table, "global", "passkey")
        if servers := rows_of(document, f"{table}_SERVER"):
            order = sorted(servers, key=lambda name: -_priority_rank(servers[name], "priority", "1"))
            line = line_of(servers[order[-1]], "priority")
            document.put(f"management/{protocol}/servers", ",".join(order), line)
    for kind, row in rows_of(document, "AAA").items():
        value = value_of(row, "login")
        if value_of(row, "failthrough") == "True":
            value += " failthrough"
        document.put(f"aaa[{kind}]", value, line_of(row, "login"))


def _finish_snmp(document: Document) -> None:
    put_field(document, "management/snmp/location", "SNMP", "LOCATION", "Location")
    put_field(document, "management/snmp/contact", "SNMP", "CONTACT", "Contact")
    communities = rows_of(document, "SNMP_COMMUNITY")
    if names := sorted(communities):
        document.put("management/snmp/secret", ",".join(names), communities[names[0]].line)
    for name, row in rows_of(document, "SNMP_USER").items():
        prefix = f"management/snmp/user[{name}]/"
        private = value_of(row, "SNMP_USER_TYPE") == "Priv"
        protocols = " ".join(value_of(row, f"SNMP_USER_{kind}_TYPE") for kind in ("AUTH", "ENCRYPTION"))
        level = SNMP_PROTOCOLS.get(protocols, protocols) if private else value_of(row, "SNMP_USER_TYPE")
        document.put(prefix + "level", level, line_of(row, "SNMP_USER_TYPE"))
        for kind, field in (("auth", "AUTH"), ("privacy", "ENCRYPTION")):
            put_field(document, f"{prefix}{kind}/secret", "SNMP_USER", name, f"SNMP_USER_{field}_PASSWORD")
    for key, row in rows_of(document, "SNMP_AGENT_ADDRESS_CONFIG").items():
        address, _, rest = key.partition("|")
        if rest == "161|mgmt":
            document.put("snmp/address", address, row.line)
        else:
            report_strange(document, row.line, f"SNMP_AGENT_ADDRESS_CONFIG|{key}")


def _finish_gnmi(document: Document) -> None:
    rows = rows_of(document, "GNMI")
    certificates, server = rows.get("certs"), rows.get("gnmi")
    if certificates and certificates.values:
        paths = [value_of(certificates, field) for field in CERTIFICATES]
        document.put("gnmi/certificates", ",".join(paths), certificates.line)
    put_field(document, "management/gnmi_port", "GNMI", "gnmi", "port")
    if server and (client := value_of(server, "client_auth", "not stated")) != "true":
        report_strange(document, line_of(server, "client_auth"), f"GNMI|gnmi client_auth: {client}")


def _finish_access(document: Document) -> None:
    """A service's networks are stated when all others are dropped after them, on the right port."""
    known = {
        name: row
        for name, row in rows_of(document, "ACL_TABLE").items()
        if value_of(row, "type", "CTRLPLANE") == "CTRLPLANE"
    }
    of_all = control_plane.lists_of(document)
    rules: dict[str, list[tuple[str, Scope]]] = {name: [] for name in known}
    for key, rule in rows_of(document, "ACL_RULE").items():
        name = key.partition("|")[0]
        if name in rules:
            rules[name].append((key, rule))
        elif name not in rows_of(document, "ACL_TABLE"):
            report_strange(document, rule.line, f"ACL_RULE|{key} of no table")
    for name, row in known.items():
        if (stage := value_of(row, "stage", "ingress")) != "ingress":
            report_strange(document, line_of(row, "stage"), f"ACL_TABLE|{name} stage: {stage}")
        if name in of_all:
            control_plane.read_list(document, name, row, rules[name])
            continue
        services = value_of(row, "services")
        for service in services.split(",") if services else ():
            value, line = _permitted_networks(document, rules[name], service)
            document.put(f"access[{service}]", value, line or row.line)
            if service == "SSH":
                document.put("management/access", value, line or row.line)


def _permitted_networks(document: Document, rules: list[tuple[str, Scope]], service: str) -> tuple[str, int]:
    """Return the networks, and the line that decides: of everyone, else of the first network, else of the drop."""
    port = document.reading.facts.get("management/gnmi_port") if service == "EXTERNAL_CLIENT" else None
    networks, dropped, everyone, first, refused = [], False, 0, 0, 0
    in_force = {
        value_of(rule, "PRIORITY"): key for key, rule in rules
    }  # the last of a priority replaces the others
    for key, rule in sorted(rules, key=lambda each: -_priority_rank(each[1], "PRIORITY", "0")):
        match = parse_number(value_of(rule, "L4_DST_PORT")) if "L4_DST_PORT" in rule.values else None
        source = next((each for each in ("SRC_IP", "SRC_IPV6") if each in rule.values), "")
        known = match == port and value_of(rule, "ETHER_TYPE") == IPV4 and source != "SRC_IPV6"
        action, applies = value_of(rule, "PACKET_ACTION"), in_force[value_of(rule, "PRIORITY")] == key
        if not known or not applies:
            report_strange(document, rule.line, f"ACL_RULE|{key}: not as planned")
        if not applies or dropped or not _priority_rank(rule, "PRIORITY", "0") or match not in (None, port):
            continue
        if action == "ACCEPT" and (source or "IN_PORTS" not in rule.values):
            networks.append(value_of(rule, source) if source else _EVERYONE)
            first = first or line_of(rule, source)
            if networks[-1] in (_EVERYONE, "::/0"):
                everyone = line_of(rule, source or "PACKET_ACTION")
        elif action == "DROP" and not source:
            dropped = True
            first = first or line_of(rule, "PRIORITY")
        elif action == "DROP":
            refused = refused or line_of(rule, "PACKET_ACTION")
    line = everyone or dropped * first
    text = ",".join(sorted(networks)) + ("" if dropped else ", and everyone else")
    return text, line if networks else refused or line


_EVERYONE = "0.0.0.0/0"


def _priority_rank(row: Scope, field: str, default: str) -> int:
    """Return a priority, the highest first; 0 for one that is no number, which `caclmgrd` cannot take."""
    text = value_of(row, field, default)
    return int(text) if is_number(text) else 0


# --- rows that defeat the rest ------------------------------------------------------------------------

_SERVERS = ("NTP", "SYSLOG_SERVER", "TACPLUS_SERVER", "RADIUS_SERVER")
_ALL = (".*", ".+", ".", "^")


def find_odd_services(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield services that do not run, or that send to nobody (rsyslog.conf.j2, chrony.conf.j2, ntp.conf.j2)."""
    isolated = (
        str(table_rows(tables, "MGMT_VRF_CONFIG").get("vrf_global", {}).get("mgmtVrfEnabled")) == "true"
    )
    for key, row in table_rows(tables, "MGMT_PORT").items():
        if row.get("admin_status") == "down":
            yield odd_field("MGMT_PORT", key, row, "admin_status", "nothing reaches its management")
    for name in _SERVERS:
        for key, row in table_rows(tables, name).items():
            vrf = str(row.get("vrf") or "default")
            if vrf not in ("default", "mgmt", *table_rows(tables, "VRF")) and name != "NTP":
                yield odd_field(name, key, row, "vrf", "no VRF has this name, and nothing reaches the server")
            if vrf == "mgmt" and not isolated and "MGMT_VRF_CONFIG" not in tables:
                yield odd_field(name, key, row, "vrf", "it is in a VRF that no row of MGMT_VRF_CONFIG makes")
            source = row.get("source") or table_rows(tables, name.removesuffix("_SERVER")).get("global", row)
            bound = bool(source) if isinstance(source, str) else "src_intf" in source
            apart = isolated and table_rows(tables, "NTP").get("global", {}).get("vrf") == "mgmt"
            if (
                apart
                and vrf == "default"
                and name != "NTP"
                and not bound
                and _is_near_management(tables, key)
            ):
                effect = "its packets leave by ports of the fabric"
                yield (
                    odd_field(name, key, row, "vrf", effect)
                    if "vrf" in row
                    else odd_lack(name, key, "vrf", effect)
                )
    yield from _odd_clocks(tables, isolated=isolated)
    yield from _odd_identity(tables)
    mine = _own_addresses(tables)
    for key, row in table_rows(tables, "SYSLOG_SERVER").items():
        source = _address(str(row.get("source", "")))
        if row.get("severity") == "none":
            yield odd_field("SYSLOG_SERVER", key, row, "severity", "nothing is logged there")
        if source is not None and mine and source not in mine:
            yield odd_field(
                "SYSLOG_SERVER", key, row, "source", "the messages leave from an address of nobody"
            )
        if row.get("filter") == "exclude" and row.get("filter_regex") in _ALL:
            yield odd_field("SYSLOG_SERVER", key, row, "filter_regex", "every message is excluded")


_ONLY = {
    "DEVICE_METADATA": "localhost", "MGMT_VRF_CONFIG": "vrf_global", "NTP": "global", "SWITCH_HASH": "GLOBAL",
    "SSH_SERVER": "POLICIES", "BGP_DEVICE_GLOBAL": "STATE",
}  # fmt: skip
"""Tables with one row that daemons read by its name."""
_HASHED = ("l4_src_port", "l4_dst_port")
"""Fields of ECMP_LOADSHARE_TABLE_IPV4 and _IPV6, behind the version, in which the flows of two hosts differ."""


def _odd_identity(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield a switch without its hardware, a management port without a gateway, and hashes without ports."""
    for key, row in table_rows(tables, "DEVICE_METADATA").items():
        if "hwsku" not in row and not row.keys().isdisjoint(("platform", "mac", "bgp_asn")):
            effect = "orchagent finds no files of its platform, and does not start"
            yield odd_lack("DEVICE_METADATA", key, "hwsku", effect)
        stated = [each.get("admin_status") for each in table_rows(tables, "BGP_NEIGHBOR").values()]
        if row.get("default_bgp_status") == "down" and stated and not any(stated):
            yield odd_field("DEVICE_METADATA", key, row, "default_bgp_status", "every session of BGP is shut")
    for name, only in _ONLY.items():
        for key in table_rows(tables, name) if only not in table_rows(tables, name) else ():
            yield OddRow(f"{name}|{key} is not {only}, so no daemon reads the row", name, key)
    ports = {key: row for key, row in table_rows(tables, "MGMT_INTERFACE").items() if "/" in key}
    for key, row in ports.items() if any("gwaddr" in row for row in ports.values()) else ():
        if "gwaddr" not in row:
            yield odd_lack("MGMT_INTERFACE", key, "gwaddr", "only its own network reaches the management")
    nearby = [
        (_network(name.partition("|")[2]), name)
        for table in tables
        if table.endswith("INTERFACE") and table != "MGMT_INTERFACE"
        for name in table_rows(tables, table)
        if "/" in name
    ]
    for key, row in ports.items():
        forced = row.get("forced_mgmt_routes") or ()
        for text in forced if isinstance(forced, list) else [forced]:
            route = _network(str(text))
            hit = next((name for own, name in nearby if own and route and own[0] in route), "")
            if hit:
                effect = f"packets of the switch for {hit.replace('|', ' ')} leave by its management port"
                yield odd_field("MGMT_INTERFACE", key, row, "forced_mgmt_routes", effect)._replace(
                    item=str(text)
                )
                break
    for version in ("ipv4", "ipv6"):
        name = f"ECMP_LOADSHARE_TABLE_{version.upper()}"
        for key, row in table_rows(tables, name).items():
            for field in (f"{version}_{each}" for each in _HASHED):
                effect = "all queue pairs of two NICs share one path"
                if field not in row:
                    yield odd_lack(name, key, field, effect)
                elif row[field] != "true":
                    yield odd_field(name, key, row, field, effect)


def _odd_clocks(tables: Mapping[str, Any], *, isolated: bool) -> Iterator[OddRow]:
    for key, row in table_rows(tables, "NTP").items():
        source = str(row.get("src_intf") or "")
        if isolated and row.get("vrf") == "default" and source == "eth0":
            yield odd_field(
                "NTP", key, row, "vrf", "its packets do not leave by eth0, which is in another VRF"
            )
        elif isolated and row.get("vrf") == "mgmt" and source and not source.startswith("eth"):
            yield odd_field(
                "NTP", key, row, "src_intf", "its packets leave from an address outside of their VRF"
            )
        ports = {
            each.partition("|")[0]
            for name in tables
            if name.endswith("INTERFACE")
            for each in table_rows(tables, name)
        }
        stated = row.get("src_intf")
        names = map(str, stated) if isinstance(stated, list) else source.split(";")
        lost = [each for each in names if each and not each.startswith("eth") and each not in ports]
        if ports and lost:
            yield odd_field("NTP", key, row, "src_intf", f"the switch has no {clip(lost[0])} to ask from")
    servers = table_rows(tables, "NTP_SERVER")
    off = [key for key, row in servers.items() if row.get("admin_state") == "disabled"]
    for key in off if len(off) == len(servers) else ():
        yield odd_field("NTP_SERVER", key, servers[key], "admin_state", "the clock follows no server")
    keys = table_rows(tables, "NTP_KEY")
    checked = table_rows(tables, "NTP").get("global", {}).get("authentication") == "enabled"
    for key, row in servers.items():
        if checked and row.get("key") and str(row["key"]) not in keys:
            yield odd_field(
                "NTP_SERVER", key, row, "key", "no row of NTP_KEY has it, and the clock does not follow"
            )
        other = str(row.get("resolve_as") or key)
        stated, used = _address(key), _address(other)
        if stated is not None and used is not None and stated != used:
            yield odd_field("NTP_SERVER", key, row, "resolve_as", "the clock follows another server")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, which texts write in several ways; None for anything else."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_near_management(tables: Mapping[str, Any], server: str) -> bool:
    """Return whether a server is in a network of the management port, or in the one of a server of the time."""
    address = _address(server)
    ports = [key.partition("|")[2] for key in table_rows(tables, "MGMT_INTERFACE")]
    clocks = [f"{key}/{64 if ':' in key else 24}" for key in table_rows(tables, "NTP_SERVER")]
    return address is not None and any(address in _network(each) for each in (*ports, *clocks))


def _network(text: str) -> IPv4Network | IPv6Network | tuple[()]:
    """Return the network of an address with a length; an empty one for anything else."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return ()


def _own_addresses(tables: Mapping[str, Any]) -> set[IPv4Address | IPv6Address]:
    """Return the addresses of all interfaces; none where the management port gets its own from a server."""
    if not table_rows(tables, "MGMT_INTERFACE"):
        return set()
    texts = (
        key.partition("|")[2].partition("/")[0]
        for name in tables
        if name.endswith("INTERFACE")
        for key in table_rows(tables, name)
    )
    return {address for text in texts if (address := _address(text)) is not None}


TOPIC = Topic(ROWS, finish)
