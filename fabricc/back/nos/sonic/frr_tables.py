"""Read the routing tables of SONiC that replace `frr.conf`: those of bgpcfgd and of frrcfgd.

bgpcfgd (src/sonic-bgpcfgd) has neighbors by address and takes the rest from its templates. frrcfgd
(src/sonic-frr-mgmt-framework) has tables for all of FRR, keyed by routing instance, neighbor and address family.
Where `docker_routing_config_mode` begins with `split`, `frr.conf` is the device's own and no table is read.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.config_db import report_strange, rows_of, state_fields, table_block, value_of
from fabricc.back.nos.sonic.tenants import is_tenant_design
from fabricc.back.nos.sonic.words import parse_number
from fabricc.back.reading import Document, Keep, Scope, Silent, StoredValue, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Value, format_boolean
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_NEIGHBORS = ("BGP_NEIGHBOR", "BGP_INTERNAL_NEIGHBOR", "BGP_VOQ_CHASSIS_NEIGHBOR", "BGP_MONITORS")
_SESSION = {
    "asn": "remote_asn", "local_asn": "local_asn", "name": "description", "description": "description",
    "keepalive": "keepalive_s", "holdtime": "hold_s", "hold_time": "hold_s", "ebgp_multihop_ttl": "multihop",
}  # fmt: skip
"""Fields of a neighbor -> leaves of its facts."""
_SESSION_SETTINGS = (
    "auth_password_ref", "bfd_check_ctrl_plane_failure", "capability_dynamic", "conn_retry",
    "disable_ebgp_connected_route_check", "dont_negotiate_capability", "enforce_first_as", "enforce_multihop",
    "local_addr_v6", "local_as_no_prepend", "local_as_replace_as", "min_adv_interval", "override_capability",
    "passive_mode", "peer_port", "peer_range", "shutdown_message", "solo_peer", "strict_capability_match",
    "ttl_security_hops",
)  # fmt: skip
_FAMILY_JOINT = {
    "route_map_in": "import", "route_map_out": "export", "prefix_list_in": "prefix_list_in",
    "prefix_list_out": "prefix_list_out", "filter_list_in": "filter_in", "filter_list_out": "filter_out",
    "max_prefix_limit": "maximum_prefixes", "allow_as_in": "allow_as_in", "default_rmap": "default_originate",
}  # fmt: skip
"""Fields of a neighbor's address family whose value is the fact's."""
_OF_EVPN = (("evpn", "import"), ("evpn", "export"))
"""Families and leaves whose facts are those of EVPN."""
_FAMILY_FLAGS = {
    "rrclient": "reflector_client", "nhself": "next_hop_self", "unchanged_nexthop": "next_hop_unchanged",
    "as_override": "as_override",
    "remove_private_as_enabled": "remove_private", "send_default_route": "default_originate",
}  # fmt: skip
"""Boolean fields with the value `true`."""
_LISTED = ("reflector_client", "next_hop_self", "next_hop_unchanged", "as_override")
"""Facts whose value is the families that have the field."""
_FAMILY_SETTINGS = (
    "addpath_tx_all_paths", "addpath_tx_bestpath_per_as", "allow_as_origin", "cap_orf",
    "max_prefix_restart_interval", "max_prefix_warning_only", "max_prefix_warning_threshold", "nexthop_self_force",
    "remove_private_as_all", "replace_private_as", "route_server_client", "rrserver", "send_community",
    "soft_reconfiguration_in", "unchanged_as_path", "unchanged_med", "unsuppress_map_name", "weight",
)  # fmt: skip
_GLOBALS = {
    "local_asn": "asn", "router_id": "router_id", "keepalive": "keepalive_s", "holdtime": "hold_s",
    "rr_cluster_id": "cluster_id", "confed_id": "confederation",
}  # fmt: skip
_GLOBAL_SETTINGS = (
    "always_compare_med", "bestpath_med_confed", "coalesce_time", "compare_confed_as_path", "confed_peers",
    "default_ipv4_unicast", "default_local_preference", "default_show_hostname", "default_shutdown",
    "deterministic_med", "disable_ebgp_connected_rt_check", "external_compare_router_id",
    "fast_external_failover", "graceful_restart_enable", "graceful_shutdown", "gr_preserve_fw_state",
    "gr_restart_time", "gr_stale_routes_time", "ignore_as_path_length", "load_balance_mp_relax",
    "log_nbr_state_changes", "max_dynamic_neighbors", "max_med_time", "med_missing_as_worst",
    "network_import_check", "read_quanta", "route_map_process_delay", "rr_allow_out_policy",
    "rr_clnt_to_clnt_reflection", "write_quanta",
)  # fmt: skip
_AF_SETTINGS = (
    "advertise-default-gw", "advertise-svi-ip", "advertise_ipv4_unicast",
    "advertise_ipv6_unicast", "autort", "dad-enabled", "dad-freeze", "dad-max-moves", "dad-time",
    "default_originate_ipv4", "default_originate_ipv6", "ebgp_route_distance", "export-rts",
    "ibgp_equal_cluster_length",
    "ibgp_route_distance", "import-rts", "import_vrf", "import_vrf_route_map", "local_route_distance",
    "route_download_filter", "route-distinguisher", "route_flap_dampen", "table-map",
)  # fmt: skip
_OF_VRF = {"route-distinguisher": "distinguisher", "import-rts": "import", "export-rts": "export"}
"""Fields of the EVPN of a VRF -> leaves of its facts."""
_MATCHES = (
    "match_as_path", "match_community", "match_ext_community", "match_interface", "match_ipv6_next_hop_set",
    "match_ipv6_prefix_set", "match_local_pref", "match_med", "match_neighbor", "match_next_hop_set", "match_origin",
    "match_prefix_set", "match_protocol", "match_src_vrf", "match_tag", "call_route_map", "set_asn", "set_asn_list",
    "set_community_inline", "set_community_ref", "set_ext_community_inline", "set_ext_community_ref",
    "set_ipv6_next_hop_global", "set_ipv6_next_hop_prefer_global", "set_local_pref", "set_med", "set_metric",
    "set_metric_action", "set_next_hop", "set_origin", "set_repeat_asn", "set_src", "set_tag",
)  # fmt: skip
_CLAUSE = {
    "match_prefix_set": "prefix_list", "match_ipv6_prefix_set": "prefix_list", "match_community": "community_list",
    "set_local_pref": "local_preference", "match_as_path": "match as-path", "match_tag": "match tag",
    "match_interface": "match interface", "match_protocol": "match source-protocol", "call_route_map": "call",
    "set_community_inline": "set community", "set_asn_list": "set as-path prepend", "set_origin": "set origin",
    "set_med": "set metric", "set_next_hop": "set ip next-hop", "set_src": "set src", "set_tag": "set tag",
}  # fmt: skip
"""Fields of a clause -> the words of its fact; those of the fabric's own facts have an underscore and come first."""
_FAMILIES = {"ipv4_unicast": "ipv4", "ipv6_unicast": "ipv6", "l2vpn_evpn": "evpn"}
_DEFAULT = "default"


def _any_fields(*fields: str) -> tuple[PatternRow, ...]:
    """Fields that are text or a list."""
    return tuple(row for f in fields for row in (Keep(f"{f} <word>", f), Keep(f"{f} @ <word>", f)))


_PEER = (
    *_SESSION, *_SESSION_SETTINGS, "nhopself", "rrclient", "admin_status", "local_addr", "bfd", "peer_group_name",
    "peer_type", "auth_password", "capability_ext_nexthop", "ebgp_multihop",
)  # fmt: skip
_PEER_FAMILY = (*_FAMILY_JOINT, *_FAMILY_FLAGS, *_FAMILY_SETTINGS, "admin_status")

ROWS: tuple[PatternRow, ...] = (
    *(table_block(name, *_any_fields(*dict.fromkeys(_PEER)), Silent("v6only <word>")) for name in (*_NEIGHBORS,
        "BGP_PEER_GROUP")),
    *(table_block(name, *_any_fields(*dict.fromkeys(_PEER_FAMILY))) for name in ("BGP_NEIGHBOR_AF",
        "BGP_PEER_GROUP_AF")),
    table_block("BGP_PEER_RANGE", *_any_fields("name", "src_address", "ip_range", "peer_asn")),
    table_block("BGP_GLOBALS", *_any_fields(*_GLOBALS, *_GLOBAL_SETTINGS, "ebgp_requires_policy")),
    table_block("BGP_GLOBALS_AF", *_any_fields("max_ebgp_paths", "max_ibgp_paths", "advertise-all-vni", *_AF_SETTINGS)),
    table_block("BGP_GLOBALS_AF_NETWORK", *_any_fields("policy", "backdoor")),
    table_block("BGP_GLOBALS_AF_AGGREGATE_ADDR", *_any_fields("as_set", "summary_only", "policy")),
    table_block("BGP_GLOBALS_LISTEN_PREFIX", *_any_fields("peer_group")),
    table_block("BGP_GLOBALS_EVPN_VNI", *_any_fields("advertise-default-gw", "route-distinguisher", "import-rts",
        "export-rts")),
    table_block("BGP_GLOBALS_EVPN_RT", *_any_fields("route-target-type")),
    table_block("BGP_GLOBALS_EVPN_VNI_RT", *_any_fields("route-target-type")),
    table_block("ROUTE_REDISTRIBUTE", *_any_fields("route_map", "metric")),
    table_block("ROUTE_MAP_SET"),
    table_block("ROUTE_MAP", *_any_fields("route_operation", *_MATCHES)),
    table_block("PREFIX_SET", *_any_fields("mode")),
    table_block("PREFIX_LIST", *_any_fields("mode", "action", "prefix", "ge", "le")),
    table_block("BGP_AGGREGATE_ADDRESS", *_any_fields(
        "as-set", "as_set", "bbr-required", "summary-only", "summary_only", "aggregate-address-prefix-list",
        "contributing-address-prefix-list",
    )),
    table_block("BGP_ALLOWED_PREFIXES", *_any_fields("default_action", "prefixes_v4", "prefixes_v6")),
    table_block("PREFIX", *_any_fields("action")),
    *(
        table_block(name, *_any_fields("set_type", "match_action", "action", "community_member", "as_path_set_member"))
        for name in ("COMMUNITY_SET", "EXTENDED_COMMUNITY_SET", "AS_PATH_SET")
    ),
    table_block("BFD_PEER_SINGLE_HOP", *_any_fields("detect-multiplier", "receive-interval", "transmission-interval")),
    table_block("OSPFV2_ROUTER", *_any_fields("router-id", "auto-cost-reference-bandwidth",
        "passive-interface-default", "enable")),
    table_block("OSPFV2_ROUTER_AREA", *_any_fields("stub", "stub-no-summary", "authentication", "import-list",
        "export-list")),
    table_block("OSPFV2_ROUTER_AREA_NETWORK"),
    table_block("OSPFV2_ROUTER_PASSIVE_INTERFACE", *_any_fields("non-passive")),
    table_block("OSPFV2_ROUTER_DISTRIBUTE_ROUTE", *_any_fields("route-map", "metric", "metric-type", "access-list")),
    table_block("OSPFV2_INTERFACE", *_any_fields(
        "area-id", "bfd-enable", "cost", "dead-interval", "hello-interval", "mtu-ignore", "network-type", "priority",
    )),
)  # fmt: skip

_TABLES = tuple(row.pattern for row in ROWS)


def finish(document: Document) -> None:
    """State the facts of the tables, unless the device routes by a separate file."""
    metadata = rows_of(document, "DEVICE_METADATA").get("localhost")
    if metadata and value_of(metadata, _MODE).startswith("split"):
        for name in _TABLES:
            for key, row in rows_of(document, name).items():
                report_strange(document, row.line, f"{name}|{key}: frr.conf is the device's own")
        return
    for key, row in rows_of(document, "BGP_GLOBALS").items():
        _put_leaves(document, f"{_vrf_prefix(key)}bgp/", row, _GLOBALS)
        document.put_kept(f"{_vrf_prefix(key)}bgp/multipath_relax", row.values, "load_balance_mp_relax")
        state_fields(document, f"{_vrf_prefix(key)}bgp/setting", row, *_GLOBAL_SETTINGS)
        document.put_kept(f"{_vrf_prefix(key)}bgp/requires_policy", row.values, "ebgp_requires_policy")
    for name, row in rows_of(document, "VRF").items() if is_tenant_design(document) else ():
        _put_leaves(document, f"evpn/vrf[{name}]/", row, {"vni": "vni"})
    _finish_families(document)
    _finish_sessions(document)
    _finish_policy(document)
    _finish_ospf(document)


def state_unread(document: Document) -> None:
    """State that nothing reads the neighbors, where the device's own `frr.conf` counts and there is none."""
    metadata, neighbors = (
        rows_of(document, "DEVICE_METADATA").get("localhost"),
        rows_of(document, "BGP_NEIGHBOR"),
    )
    mode = value_of(metadata, _MODE) if metadata else ""
    if metadata and mode.startswith("split") and any("asn" in row.values for row in neighbors.values()):
        why = f"{_MODE} is {mode}, so FRR reads frr.conf alone"
        document.put("unread[BGP_NEIGHBOR]", why, metadata.values[_MODE][1])


_MODE = "docker_routing_config_mode"


def _vrf_prefix(vrf: str) -> str:
    return "" if vrf in (_DEFAULT, "") else f"vrf[{vrf}]/"


def _put_leaves(document: Document, prefix: str, row: Scope, leaves: Mapping[str, str]) -> None:
    """State fields under the names of facts, numbers as such."""
    for field, leaf in leaves.items():
        if field in row.values:
            value, line = row.values[field]
            document.put(prefix + leaf, parse_number(str(value)), line)


def _key_parts(key: str, count: int) -> list[str]:
    """Split a key into parts; the last part may contain `|`, missing parts are empty."""
    parts = key.split("|", count - 1)
    return parts + [""] * (count - len(parts))


def _finish_families(document: Document) -> None:
    for key, row in rows_of(document, "BGP_GLOBALS_AF").items():
        vrf, name = _key_parts(key, 2)
        family, prefix = _FAMILIES.get(name, name), _vrf_prefix(vrf)
        _put_leaves(document, f"{prefix}bgp/", row, {
            "max_ebgp_paths": "maximum_paths", "max_ibgp_paths": "multipath_ibgp",
        })  # fmt: skip
        path = f"{prefix}evpn/setting" if family == "evpn" else f"{prefix}bgp/setting"
        state_fields(
            document, path, row, *(each for each in _AF_SETTINGS if not prefix or each not in _OF_VRF)
        )
        if prefix:
            _put_leaves(document, prefix, row, _OF_VRF)
        for words in ("ipv4 unicast", "ipv6 unicast"):
            field = f"advertise_{words.replace(' ', '_')}"
            if prefix and value_of(row, field) == "true":
                document.put(f"{prefix}evpn/setting[advertise {words}]", "true", row.values[field][1])
        if family == "evpn" and value_of(row, "advertise-all-vni") == "true":
            document.put(f"{prefix}evpn/advertises_all", "true", row.values["advertise-all-vni"][1])
    for table_name, leaf in (
        ("BGP_GLOBALS_AF_NETWORK", "network"),
        ("BGP_GLOBALS_AF_AGGREGATE_ADDR", "aggregate"),
    ):
        for key, row in rows_of(document, table_name).items():
            vrf, _, announced = _key_parts(key, 3)
            value = value_of(row, "policy", "all")
            if leaf == "aggregate":
                summary = value_of(row, "summary_only") == "true"
                value = "summary-only" if summary else "with its more specifics"
            document.put(f"{_vrf_prefix(vrf)}bgp/{leaf}[{announced}]", value, row.line)
    for key, row in rows_of(document, "BGP_AGGREGATE_ADDRESS").items():
        prefix = next((part for part in key.split("|") if "/" in part), key)
        summary = "true" in (value_of(row, "summary-only"), value_of(row, "summary_only"))
        document.put(
            f"bgp/aggregate[{prefix}]", "summary-only" if summary else "with its more specifics", row.line
        )
    for key, row in rows_of(document, "BGP_ALLOWED_PREFIXES").items():
        state_fields(document, f"table[BGP_ALLOWED_PREFIXES|{key}]/setting", row, *row.values)
    for key, row in rows_of(document, "ROUTE_REDISTRIBUTE").items():
        vrf, protocol, _, family = _key_parts(key, 4)
        path = f"{_vrf_prefix(vrf)}bgp/redistribute"
        path += f"_{protocol}" if protocol in ("connected", "static") else f"[{protocol}]"
        name = value_of(row, "route_map", "unfiltered" if "[" not in path[len(_vrf_prefix(vrf)) :] else "all")
        known = document.reading.facts.get(path, name)
        document.put(path, name if known == name else f"{known}, {family} {name}", row.line)
    for key, row in rows_of(document, "BGP_GLOBALS_EVPN_VNI").items():
        *_, vni = _key_parts(key, 3)
        _put_leaves(document, f"evpn/vni[{vni}]/", row, {"route-distinguisher": "distinguisher"})
        state_fields(
            document, f"evpn/vni[{vni}]/setting", row, "advertise-default-gw", "import-rts", "export-rts"
        )
    for name in ("BGP_GLOBALS_EVPN_RT", "BGP_GLOBALS_EVPN_VNI_RT"):
        for key, row in rows_of(document, name).items():
            vrf, _, rest = _key_parts(key, 3)
            document.put(
                f"{_vrf_prefix(vrf)}evpn/setting[{rest}]",
                value_of(row, "route-target-type", "both"),
                row.line,
            )


_OF_SPEAKERS = "FROM_BGP_SPEAKER"
"""The policy of the template for ranges, which announces nothing (dockers/docker-fpm-frr, bgpd/templates/dynamic)."""


def _finish_sessions(document: Document) -> None:
    groups = {key: row.values for key, row in rows_of(document, "BGP_PEER_GROUP").items()}
    families: dict[str, dict[str, Mapping[str, StoredValue]]] = defaultdict(dict)
    for name in ("BGP_PEER_GROUP_AF", "BGP_NEIGHBOR_AF"):
        for key, row in rows_of(document, name).items():
            owner, _, family = key.rpartition("|")
            families[owner][family] = row.values
    for table_name in _NEIGHBORS:
        for key, row in rows_of(document, table_name).items():
            vrf, _, peer = key.rpartition("|")
            group_name = value_of(row, "peer_group_name")
            group = f"{vrf}|{group_name}" if vrf else group_name
            stored = {**groups.get(group, {}), **row.values}
            grouped = families[group] if group_name else {}
            by_family = {
                family: {**grouped.get(family, {}), **families[key].get(family, {})}
                for family in (*grouped, *families[key])
            }
            document.put_all(
                (f"{_vrf_prefix(vrf)}bgp/neighbor[{peer}]/{leaf}", value, line or row.line)
                for leaf, value, line in (*_session_facts(peer, stored), *_family_facts(by_family))
            )
            overlay = by_family.get("l2vpn_evpn", {}) if _vrf_prefix(vrf) == "" else {}
            for field, leaf in _FAMILY_JOINT.items():
                if ("evpn", leaf) in _OF_EVPN:
                    document.put_kept(f"evpn/neighbor[{peer}]/{leaf}", overlay, field)
    for name, row in rows_of(document, "BGP_PEER_RANGE").items():
        ranges, line = row.values.get("ip_range", ("", row.line))
        for seen in filter(None, str(ranges).split(",")):
            document.put(f"bgp/listen[{seen}]", name, line)
            state_fields(document, f"bgp/listen[{seen}]/setting", row, "src_address", "peer_asn")
            document.put(f"bgp/listen[{seen}]/setting[import]", _OF_SPEAKERS, line)
    for key, row in rows_of(document, "BGP_GLOBALS_LISTEN_PREFIX").items():
        vrf, seen = _key_parts(key, 2)
        document.put(f"{_vrf_prefix(vrf)}bgp/listen[{seen}]", value_of(row, "peer_group"), row.line)


def _session_facts(peer: str, values: Mapping[str, StoredValue]) -> Iterator[tuple[str, Value, int]]:
    """Yield the facts of a neighbor, including those of its peer group: (leaf, value, line)."""
    for field, leaf in _SESSION.items():
        if field in values:
            value, line = values[field]
            yield leaf, value if leaf == "description" else parse_number(str(value)), line
    flags = {"admin_status": "enabled", "bfd": "bfd", "capability_ext_nexthop": "extended_next_hop"}
    for field, leaf in flags.items():
        if field in values:
            value, line = values[field]
            yield leaf, format_boolean(str(value).lower() in ("up", "true")), line
    if "peer_type" in values:
        value, line = values["peer_type"]
        yield "remote_kind", str(value), line
    if "auth_password" in values:
        yield "secret", "set", values["auth_password"][1]
    if "local_addr" in values:
        yield "update_source", *values["local_addr"]
    own = "ipv6" if ":" in peer else "ipv4"
    for field, leaf in (("rrclient", "reflector_client"), ("nhopself", "next_hop_self")):
        if values.get(field, ("0",))[0] in ("1", "true"):
            yield leaf, own, values[field][1]
    for field in _SESSION_SETTINGS:
        if field in values:
            yield f"setting[{field}]", str(values[field][0]), values[field][1]


def _family_facts(by_family: Mapping[str, Mapping[str, StoredValue]]) -> Iterator[tuple[str, Value, int]]:
    """Yield the facts of a neighbor's address families: (leaf, value, line)."""
    active = {
        _FAMILIES.get(name, name): stored
        for name, stored in by_family.items()
        if str(stored.get("admin_status", ("true",))[0]).lower() in ("true", "up")
    }
    off = [
        stored["admin_status"][1]
        for name, stored in by_family.items()
        if _FAMILIES.get(name, name) not in active
    ]
    if by_family:
        yield "families", ",".join(active), off[0] if off else 0
    leaves: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for family, stored in active.items():
        for field, leaf in _FAMILY_JOINT.items():
            if field in stored and (family, leaf) not in _OF_EVPN:
                leaves[leaf].append((family, str(stored[field][0]), stored[field][1]))
        for field, leaf in _FAMILY_FLAGS.items():
            if str(stored.get(field, ("",))[0]).lower() in ("true", "1"):
                value = family if leaf in _LISTED else "true"
                leaves[leaf].append((family, value, stored[field][1]))
        for field in _FAMILY_SETTINGS:
            if field in stored:
                yield f"setting[{family} {field}]", str(stored[field][0]), stored[field][1]
    for leaf, found in leaves.items():
        values = [value for _, value, _ in found]
        if leaf in _LISTED:
            yield leaf, ",".join(values), found[0][2]
        elif len(set(values)) == 1 and {*active} - {"evpn"} <= {family for family, _, _ in found}:
            yield leaf, parse_number(values[0]), found[0][2]
        else:
            yield leaf, ", ".join(f"{family} {value}" for family, value, _ in found), found[0][2]


def _finish_policy(document: Document) -> None:
    for key, row in rows_of(document, "ROUTE_MAP").items():
        name, sequence = _key_parts(key, 2)
        action = value_of(row, "route_operation", "permit")
        words = sorted((_CLAUSE.get(field, field), str(value)) for field, (value, _) in row.values.items())
        first = [each for each in _CLAUSE.values() if "_" in each]
        words.sort(key=lambda each: first.index(each[0]) if each[0] in first else len(first))
        lines = [f"{word} {value}" for word, value in words if word != "route_operation"]
        document.put(f"route_map[{name}]/{sequence}", " ".join([action, *lines]), row.line)
    entries: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for key, row in rows_of(document, "PREFIX").items():
        name, place, prefix, bounds = _prefix_rule(key)
        rule = prefix + ("" if bounds in ("", "exact") else f" {bounds}")
        text = rule if value_of(row, "action", "permit") == "permit" else f"deny {rule}"
        entries[name].append((place, text, row.line))
    for key, row in rows_of(document, "PREFIX_LIST").items():
        name, number_of = _key_parts(key, 2)
        if "prefix" in row.values:
            bounds = "".join(f" {word} {value_of(row, word)}" for word in ("ge", "le") if word in row.values)
            rule = value_of(row, "prefix") + bounds
            text = rule if value_of(row, "action", "permit") == "permit" else f"deny {rule}"
            entries[name].append((int(number_of) if is_number(number_of) else 0, text, row.line))
    for name, rules in entries.items():
        for at, (_, text, line) in enumerate(sorted(rules)):
            document.put(f"prefix_list[{name}]/{at}", text, line)
    for table_name, before in (("COMMUNITY_SET", ""), ("EXTENDED_COMMUNITY_SET", "extended ")):
        for name, row in rows_of(document, table_name).items():
            document.put(f"community_list[{before}{name}]", value_of(row, "community_member"), row.line)
    for name, row in rows_of(document, "AS_PATH_SET").items():
        for at, member in enumerate(filter(None, value_of(row, "as_path_set_member").split(","))):
            document.put(
                f"as_path_list[{name}]/{at}", f"{value_of(row, 'action', 'permit')} {member}", row.line
            )


def _prefix_rule(key: str) -> tuple[str, int, str, str]:
    """Name, place, prefix and bounds of a rule's key: `SET|10|10.0.0.0/8|24..32`, or without the place."""
    parts = key.split("|")
    numbered = len(parts) > 3 and is_number(parts[1])
    name, prefix, bounds = parts[0], *([*parts, "", ""][2 if numbered else 1 :][:2])
    low, dots, high = bounds.partition("..")
    if dots:
        own = prefix.rpartition("/")[2]
        bounds = " ".join([f"ge {low}"] * (low != own) + [f"le {high}"])
    return name, int(parts[1]) if numbered else 0, prefix, bounds


def _finish_ospf(document: Document) -> None:
    for vrf, row in rows_of(document, "OSPFV2_ROUTER").items():
        prefix = f"{_vrf_prefix(vrf)}ospf[default]/"
        document.put_kept(f"{prefix}router_id", row.values, "router-id")
        if value_of(row, "passive-interface-default") == "true":
            document.put(f"{prefix}passive", "default", row.line)
        state_fields(document, f"{prefix}setting", row, "auto-cost-reference-bandwidth", "enable")
    for key, row in rows_of(document, "OSPFV2_ROUTER_AREA").items():
        vrf, area = _key_parts(key, 2)
        text = " ".join(f"{field} {value}" for field, (value, _) in row.values.items())
        document.put(f"{_vrf_prefix(vrf)}ospf[default]/area[{area}]", text or "normal", row.line)
    for key, row in rows_of(document, "OSPFV2_ROUTER_AREA_NETWORK").items():
        vrf, area, network = _key_parts(key, 3)
        document.put(f"{_vrf_prefix(vrf)}ospf[default]/network[{network}]", area, row.line)
    for key, row in rows_of(document, "OSPFV2_ROUTER_DISTRIBUTE_ROUTE").items():
        vrf, protocol, _ = _key_parts(key, 3)
        name = value_of(row, "route-map", "all")
        document.put(f"{_vrf_prefix(vrf)}ospf[default]/redistribute[{protocol}]", name, row.line)
    for key, row in rows_of(document, "OSPFV2_ROUTER_PASSIVE_INTERFACE").items():
        vrf, interface, _ = _key_parts(key, 3)
        leaf = "active" if value_of(row, "non-passive") == "true" else "passive"
        path = f"{_vrf_prefix(vrf)}ospf[default]/{leaf}"
        known = str(document.reading.facts.get(path, ""))
        document.put(path, ",".join(sorted(filter(None, (*known.split(","), interface)))), row.line)
    for key, row in rows_of(document, "OSPFV2_INTERFACE").items():
        paths = port_paths(key.partition("|")[0])
        for field, leaf in (("area-id", "ospf_area"), ("network-type", "ospf_network")):
            document.put_kept(paths[leaf], row.values, field)
        _put_leaves(document, paths.prefix, row, {"cost": "ospf_cost"})
        settings = ("bfd-enable", "dead-interval", "hello-interval", "mtu-ignore", "priority")
        state_fields(document, f"{paths.prefix}ospf_setting", row, *settings)


TOPIC = Topic(ROWS, finish)
