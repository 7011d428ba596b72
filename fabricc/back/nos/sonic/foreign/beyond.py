"""Tables of SONiC for foreign designs: VLANs, bundles, VRFs, overlays, access lists, neighbors, routes.

Field names are those of the YANG models of sonic-buildimage (src/sonic-yang-models/yang-models).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.config_db import (
    kept_fields,
    put_field,
    rows_of,
    silent_fields,
    state_fields,
    table_block,
    value_of,
)
from fabricc.back.nos.sonic.interfaces import ADDRESSED, put_addresses
from fabricc.back.nos.sonic.tenants import finish_tunnels, is_tenant_design, routed_vlans
from fabricc.back.nos.sonic.words import parse_number
from fabricc.back.reading import Document, Keep, Scope, Silent, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.fabric.facts import format_boolean, static_text
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set


ADDRESS_TABLES = ("PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE", "VOQ_INBAND_INTERFACE")
IGNORABLE_TABLES = frozenset({
    "AAA", "ASIC_SENSORS", "CLASSIFIER_TABLE", "COPP_GROUP", "COPP_TRAP", "COREDUMP", "DEBUG_COUNTER",
    "DEBUG_COUNTER_DROP_REASON", "DEVICE_METADATA", "DHCPV4_RELAY", "DHCP_SERVER", "DHCP_SERVER_IPV4",
    "DHCP_SERVER_IPV4_CUSTOMIZED_OPTIONS", "DHCP_SERVER_IPV4_PORT", "DHCP_SERVER_IPV4_RANGE", "DNS",
    "DNS_NAMESERVER", "DNS_SERVER", "DPU", "DPUS", "FLEX_COUNTER_TABLE", "FLEX_COUNTER_TRAP", "GNMI", "HARDWARE",
    "HIGH_FREQUENCY_TELEMETRY_GROUP", "HIGH_FREQUENCY_TELEMETRY_PROFILE", "LLDP", "MGMT_INTERFACE", "MGMT_PORT",
    "MGMT_VRF_CONFIG", "MID_PLANE_BRIDGE", "MIRROR_SESSION", "NTP", "NTP_SERVER", "POLICY_BINDING_TABLE",
    "POLICY_SECTIONS_TABLE", "POLICY_TABLE", "REMOTE_DPU", "SFLOW_COLLECTOR", "SFLOW_SESSION", "SNMP",
    "SNMP_AGENT_ADDRESS_CONFIG", "SNMP_COMMUNITY", "SUPPRESS_ASIC_SDK_HEALTH_EVENT", "SYSLOG_SERVER", "SYSTEM_PORT",
    "TACPLUS", "TACPLUS_SERVER", "TAM", "USER", "VERSIONS", "WARM_RESTART", "WARM_RESTART_ENABLE", "ZTP",
})  # fmt: skip
"""Tables without effect on forwarding or losslessness, whatever their fields; policies bind to the CPU only."""
RULE = (
    "CANDIDATE_IP", "DSCP", "DST_IP", "DST_IPV6", "EGRESS_INTERFACE", "ICMPV6_CODE", "ICMPV6_TYPE", "ICMP_CODE",
    "ICMP_TYPE", "INNER_ETHER_TYPE", "INNER_IP_PROTOCOL", "INNER_L4_DST_PORT", "INNER_L4_SRC_PORT", "INNER_SRC_IP",
    "IN_PORTS", "IP_PROTOCOL", "IP_TYPE", "L4_DST_PORT_RANGE", "L4_SRC_PORT", "L4_SRC_PORT_RANGE",
    "METADATA_ACTION", "MIRROR_ACTION", "MIRROR_EGRESS_ACTION", "MIRROR_INGRESS_ACTION", "NEXT_HEADER", "OUT_PORTS",
    "REDIRECT_ACTION", "SRC_IPV6", "TCP_FLAGS", "TUNNEL_VNI", "VLAN_ID",
)  # fmt: skip
"""Fields of `ACL_RULE` other than those of rules about the switch's own services."""
_ACTIONS = (
    "PACKET_ACTION", "MIRROR_ACTION", "MIRROR_INGRESS_ACTION", "MIRROR_EGRESS_ACTION", "REDIRECT_ACTION",
)  # fmt: skip


def _list_fields(*fields: str) -> tuple[PatternRow, ...]:
    """Fields that are a list, or text with commas."""
    return tuple(row for f in fields for row in (Keep(f"{f} @ <word>", f), Keep(f"{f} <word>", f)))


_PLAIN = ("ECMP_LOADSHARE_TABLE_IPV4", "ECMP_LOADSHARE_TABLE_IPV6", "NAT_GLOBAL")
_RELAYING = ("dhcp_relay_link_select", "dhcp_relay_src_intf", "dhcp_relay_vrf_select")

ROWS: tuple[PatternRow, ...] = (
    table_block(
        "VLAN",
        *kept_fields("vlanid", "admin_status", "description", "mtu", "alias", "mac", "host_ifname", "autostate"),
        *_list_fields("members", "dhcp_servers", "dhcpv6_servers"),
        *kept_fields(*_RELAYING),
    ),
    table_block("VLAN_MEMBER", *kept_fields("tagging_mode")),
    table_block(
        "PORTCHANNEL",
        *kept_fields("admin_status", "mtu", "description", "min_links", "fallback", "fast_rate", "lacp_key",
            "mode", "tpid"),
        *_list_fields("members"),
    ),
    table_block("PORTCHANNEL_MEMBER", Silent("NULL NULL")),
    *(table_block(name, *ADDRESSED, *kept_fields("inband_type", "vlan", "admin_status",
        "mtu")) for name in ADDRESS_TABLES),
    table_block("LOOPBACK", *kept_fields("admin_status")),
    table_block("VRF", *kept_fields("vni", "fallback"), Silent("enabled true"), Silent("NULL NULL")),
    table_block("VXLAN_TUNNEL", *kept_fields("src_ip", "dst_ip", "src_intf", "dscp", "qos-mode", "ttl_mode")),
    table_block("VXLAN_TUNNEL_MAP", *kept_fields("vlan", "vni")),
    table_block("VXLAN_EVPN_NVO", *kept_fields("source_vtep")),
    table_block("EVPN_NVO", *silent_fields("source_vtep")),
    table_block("SUPPRESS_VLAN_NEIGH", *kept_fields("suppress")),
    table_block("SAG_GLOBAL", *kept_fields("gwmac", "gateway_mac", "IPv4", "IPv6")),
    table_block("SAG", Keep("gwip @ <word>", "gwip"), *kept_fields("gwip")),
    table_block("DHCP_RELAY", *_list_fields("dhcp_servers", "dhcpv6_servers")),
    table_block("DEVICE_NEIGHBOR", *kept_fields("name", "port")),
    table_block("DEVICE_NEIGHBOR_METADATA", *kept_fields("hwsku", "type"),
          *silent_fields("cluster", "deployment_id", "lo_addr", "mgmt_addr")),
    table_block("STATIC_ROUTE", *kept_fields("nexthop", "ifname", "distance", "nexthop-vrf", "blackhole", "tag",
        "track"),
          *silent_fields("advertise", "bfd")),
    table_block("MCLAG_DOMAIN", *kept_fields("source_ip", "peer_ip", "peer_link", "mclag_system_mac"),
          *silent_fields("session_timeout", "keepalive_interval")),
    table_block("MCLAG_INTERFACE", *kept_fields("if_type")),
    table_block("MCLAG_UNIQUE_IP", *kept_fields("unique_ip")),
    table_block("STP", *kept_fields("mode", "priority"), *silent_fields("forward_delay", "hello_time", "max_age",
        "rootguard_timeout")),
    table_block("STP_PORT", *kept_fields("enabled", "bpdu_guard", "root_guard", "portfast", "edge_port", "link_type")),
    table_block("STP_VLAN", *silent_fields("enabled", "forward_delay", "hello_time", "max_age", "priority", "vlanid")),
    table_block("SRV6_MY_LOCATORS", *kept_fields("prefix", "block_len", "node_len", "func_len", "arg_len", "vrf")),
    table_block("SRV6_MY_SIDS", *kept_fields("action", "decap_dscp_mode", "decap_vrf")),
    table_block("SWITCH", *kept_fields("fdb_aging_time", "ecmp_hash_seed", "lag_hash_seed", "ecmp_hash_offset",
        "lag_hash_offset",
                          "ordered_ecmp")),
    *(table_block(name, Keep("<word> <word>", "{1}", "{2}")) for name in _PLAIN),
    table_block("PEER_SWITCH", *kept_fields("address_ipv4")),
    table_block("NEIGH", *kept_fields("neigh"), *silent_fields("family")),
    table_block("FDB", *kept_fields("port", "type")),
)  # fmt: skip


def finish(document: Document) -> None:
    """State bridging, bundles, routing instances, overlays and lists."""
    routed = frozenset(routed_vlans(document).values())
    _finish_vlans(document, routed)
    _finish_bundles(document)
    for name in ADDRESS_TABLES:
        put_addresses(document, name, routed)
        for key, row in rows_of(document, name).items():
            paths = port_paths(key.partition("|")[0])
            for field, leaf in (("vlan", "vlan_tag"), ("mtu", "mtu")):
                if field in row.values:
                    value, line = row.values[field]
                    document.put(paths[leaf], parse_number(str(value)), line)
            _put_status(document, key.partition("|")[0], row)
    for name, row in rows_of(document, "LOOPBACK").items():
        _put_status(document, name, row)
    _finish_overlays(document)
    _finish_access_lists(document)
    _finish_static(document)
    _finish_neighbors(document)
    _finish_pairs(document)
    for name in (*_PLAIN, "SWITCH", "NEIGH", "FDB"):
        for key, row in rows_of(document, name).items():
            state_fields(document, f"table[{name}|{key}]/setting", row, *row.values)


def _put_status(document: Document, interface: str, row: Scope) -> None:
    if "admin_status" in row.values:
        status, line = row.values["admin_status"]
        document.put(port_paths(interface)["enabled"], format_boolean(status == "up"), line)


def _put_text(document: Document, interface: str, row: Scope, *leaves: str) -> None:
    """State fields under their own names, numbers as such."""
    for leaf in leaves:
        if leaf in row.values:
            value, line = row.values[leaf]
            document.put(
                port_paths(interface)[leaf], parse_number(str(value)) if leaf == "mtu" else value, line
            )


def _finish_vlans(document: Document, routed: Set[str]) -> None:
    """State VLANs other than those that only carry the VNI of a VRF."""
    for name, row in rows_of(document, "VLAN").items():
        if name in routed:
            continue
        vlan = value_of(row, "vlanid", name.removeprefix("Vlan"))
        document.put(f"vlan[{vlan}]/name", *row.values.get("description", (name, row.line)))
        if "admin_status" in row.values:
            status, line = row.values["admin_status"]
            document.put(f"vlan[{vlan}]/enabled", format_boolean(status == "up"), line)
        document.put(f"interface[{name}]/kind", "vlan", row.line)
        _put_text(document, name, row, "mtu")
        _put_members(document, name, row)
        _put_relay(document, name, row)
        state_fields(document, f"interface[{name}]/setting", row, "mac", "autostate", *_RELAYING)
    for name, row in rows_of(document, "DHCP_RELAY").items():
        _put_relay(document, name, row)
    for name, row in rows_of(document, "SUPPRESS_VLAN_NEIGH").items():
        state_fields(document, f"interface[{name}]/setting", row, "suppress")
    tagged: dict[str, dict[str, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for key, row in rows_of(document, "VLAN_MEMBER").items():
        vlan, _, port = key.partition("|")
        tagged[port][value_of(row, "tagging_mode", "tagged")].append((vlan.removeprefix("Vlan"), row.line))
    for port, by_mode in tagged.items():
        paths, own, trunk = port_paths(port), by_mode.get("untagged", []), by_mode.get("tagged", [])
        trunk = trunk + by_mode.get("priority_tagged", [])
        line = (own or trunk or [("", 1)])[0][1]
        document.put(paths["switchport"], "trunk" if trunk else "access", line)
        for vlan, at in own:
            document.put(paths["native_vlan" if trunk else "access_vlan"], parse_number(vlan), at)
        if trunk:
            vlans = sorted((vlan for vlan, _ in trunk), key=lambda vlan: (len(vlan), vlan))
            document.put(paths["vlans"], ",".join(vlans), trunk[-1][1])


def _put_members(document: Document, name: str, row: Scope) -> None:
    """State the members listed in a row; old releases have them in addition to tables of members."""
    if "members" in row.values:
        members, line = row.values["members"]
        document.put(port_paths(name)["members"], ",".join(sorted(str(members).split(","))), line)


def _put_relay(document: Document, name: str, row: Scope) -> None:
    servers = [str(row.values[f][0]) for f in ("dhcp_servers", "dhcpv6_servers") if f in row.values]
    if servers:
        document.put(port_paths(name)["dhcp_relay"], ",".join(sorted(",".join(servers).split(","))), row.line)


def _finish_bundles(document: Document) -> None:
    members: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for key, row in rows_of(document, "PORTCHANNEL_MEMBER").items():
        bundle, _, port = key.partition("|")
        members[bundle].append((port, row.line))
        document.put(port_paths(port)["bundle"], bundle, row.line)
        document.put(port_paths(port)["bundle_mode"], "active", row.line)
    for name, row in rows_of(document, "PORTCHANNEL").items():
        paths = port_paths(name)
        document.put(paths["kind"], "bond", row.line)
        _put_status(document, name, row)
        _put_text(document, name, row, "mtu", "description")
        _put_members(document, name, row)
        settings = ("min_links", "fallback", "fast_rate", "lacp_key", "mode")
        state_fields(document, f"interface[{name}]/setting", row, *settings)
        if name in members:
            ports = sorted(port for port, _ in members[name])
            document.put(paths["members"], ",".join(ports), members[name][-1][1])


def _finish_overlays(document: Document) -> None:
    tenants = is_tenant_design(document)
    if tenants:
        finish_tunnels(document)
    for name, row in rows_of(document, "VRF").items():
        if value_of(row, "fallback") == "true":
            state_fields(document, f"vrf[{name}]/setting", row, "fallback")
        if tenants and "vni" in row.values:
            continue
        document.put(f"vrf[{name}]", "present", row.line)
        if "vni" in row.values:
            vni, line = row.values["vni"]
            document.put(f"vxlan/vrf[{name}]/vni", parse_number(str(vni)), line)
    for name, row in rows_of(document, "VXLAN_TUNNEL").items():
        for field, path in (("src_ip", "vxlan/source"), ("dst_ip", "vxlan/peers")):
            if not (tenants and field == "src_ip"):
                put_field(document, path, "VXLAN_TUNNEL", name, field)
        state_fields(document, "vxlan/setting", row, "src_intf", "dscp", "qos-mode", "ttl_mode")
    routed = routed_vlans(document).values()
    for row in rows_of(document, "VXLAN_TUNNEL_MAP").values():
        if {"vlan", "vni"} <= row.values.keys() and value_of(row, "vlan") not in routed:
            vlan, (vni, line) = value_of(row, "vlan").removeprefix("Vlan"), row.values["vni"]
            document.put(f"vxlan/vlan[{vlan}]/vni", parse_number(str(vni)), line)
    for row in rows_of(document, "SAG_GLOBAL").values():
        for field in ("gwmac", "gateway_mac"):
            document.put_kept("vxlan/setting[gateway MAC]", row.values, field)
    for key, row in rows_of(document, "SAG").items():
        gateways, line = row.values.get("gwip", ("", row.line))
        for address in filter(None, str(gateways).split(",")):
            document.put(port_paths(key.partition("|")[0])[f"gateway[{address}]"], address, line)
    for name, row in rows_of(document, "SRV6_MY_LOCATORS").items():
        put_field(document, f"srv6/locator[{name}]/prefix", "SRV6_MY_LOCATORS", name, "prefix")
        fields = ("block_len", "node_len", "func_len", "arg_len", "vrf")
        state_fields(document, f"srv6/locator[{name}]/setting", row, *fields)
    for key, row in rows_of(document, "SRV6_MY_SIDS").items():
        locator, _, sid = key.partition("|")
        text = [f"locator {locator}", *(f"{field} {value_of(row, field)}" for field in row.values)]
        document.put(f"srv6/sid[{sid}]", " ".join(text), row.line)


def _finish_access_lists(document: Document) -> None:
    """State lists that filter what is forwarded, with their rules from the one of highest priority on."""
    tables = {
        name: row
        for name, row in rows_of(document, "ACL_TABLE").items()
        if value_of(row, "type", "CTRLPLANE") != "CTRLPLANE"
    }
    bound: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, row in tables.items():
        ports, line = row.values.get("ports", ("", row.line))
        way = "out" if value_of(row, "stage", "ingress").lower() == "egress" else "in"
        document.put(f"access_list[{name}]/setting[type]", value_of(row, "type"), row.line)
        for port in filter(None, str(ports).split(",")):
            bound[port_paths(port)[f"access_list_{way}"]].append((name, line))
    for path, lists in bound.items():
        document.put(path, ",".join(sorted(name for name, _ in lists)), lists[-1][1])
    rules: dict[str, list[tuple[int, Scope]]] = defaultdict(list)
    for key, row in rows_of(document, "ACL_RULE").items():
        name = key.partition("|")[0]
        if name in tables:
            priority = parse_number(value_of(row, "PRIORITY", "0"))
            rules[name].append((-priority if isinstance(priority, int) else 0, row))
    for name, found in rules.items():
        for place, (_, row) in enumerate(sorted(found, key=lambda each: each[0])):
            actions = [
                ("redirect:" * (field == "REDIRECT_ACTION") + value_of(row, field).lower()).replace(
                    "redirect:", "redirect "
                )
                for field in _ACTIONS
                if field in row.values
            ]
            matches = [
                f"{field} {_TYPES.get(str(value), value) if field == 'ETHER_TYPE' else value}"
                for field, (value, _) in row.values.items()
                if field not in (*_ACTIONS, "PRIORITY")
            ]
            document.put(f"access_list[{name}]/{place}", " ".join([*actions, *matches]), row.line)


_TYPES = {"2048": "0x0800", "2054": "0x0806", "34525": "0x86DD"}
"""Types of frames as acl-loader writes them, and as others do (sonic-utilities, acl_loader/main.py)."""


def _finish_static(document: Document) -> None:
    for key, row in rows_of(document, "STATIC_ROUTE").items():
        vrf, bar, prefix = key.rpartition("|")
        path = f"vrf[{vrf}]/" if bar and vrf != "default" else ""
        columns = [
            value_of(row, field).split(",") for field in ("nexthop", "ifname", "distance", "nexthop-vrf")
        ]
        hops = list(_next_hops(columns))
        if "true" in value_of(row, "blackhole").split(",") or any("Null0" in each.split() for each in hops):
            hops = ["discard"]
        document.put(f"{path}static_route[{prefix}]", static_text(hops), row.line)


def _next_hops(columns: list[list[str]]) -> Iterable[str]:
    """Yield the next hops of a route, whose parts are lists side by side."""
    none = ("", "0", "0.0.0.0", "::", "default")
    for at in range(max(map(len, columns))):
        address, interface, distance, vrf = (column[at] if at < len(column) else "" for column in columns)
        words = [word for word in (address, interface) if word not in none]
        words += [f"distance {distance}"] if distance not in none else []
        words += [f"nexthop-vrf {vrf}"] if vrf not in none else []
        if words:
            yield " ".join(words)


def _finish_neighbors(document: Document) -> None:
    for port, row in rows_of(document, "DEVICE_NEIGHBOR").items():
        far = " ".join(filter(None, (value_of(row, "name"), value_of(row, "port"))))
        if far:
            document.put(port_paths(port)["expected_peer"], far, row.line)
    for name, row in rows_of(document, "DEVICE_NEIGHBOR_METADATA").items():
        kind = " ".join(filter(None, (value_of(row, "type"), value_of(row, "hwsku"))))
        if kind:
            document.put(f"expected_device[{name}]", kind, row.line)


_OF_PAIR: Mapping[str, str] = {
    "source_ip": "local", "peer_ip": "peer", "peer_link": "peer_link", "mclag_system_mac": "mac",
}  # fmt: skip


def _finish_pairs(document: Document) -> None:
    for name, row in rows_of(document, "MCLAG_DOMAIN").items():
        document.put("mlag/domain", name, row.line)
        for field, leaf in _OF_PAIR.items():
            put_field(document, f"mlag/{leaf}", "MCLAG_DOMAIN", name, field)
    for key, row in rows_of(document, "MCLAG_INTERFACE").items():
        domain, _, port = key.partition("|")
        document.put(port_paths(port)["mlag"], domain, row.line)
    for name in rows_of(document, "PEER_SWITCH"):
        put_field(document, "mlag/peer", "PEER_SWITCH", name, "address_ipv4")
    for row in rows_of(document, "STP").values():
        document.put_kept("spanning_tree/mode", row.values, "mode")
    for port, row in rows_of(document, "STP_PORT").items():
        text = ", ".join(f"{field} {value}" for field, (value, _) in row.values.items())
        document.put(port_paths(port)["spanning_tree"], text or "on", row.line)


TOPIC = Topic(ROWS, finish)
