"""The tables and fields of `config_db.json` that the reader understands, and the values that fabricc always gives."""

from __future__ import annotations

from collections.abc import Mapping

from fabricc.back.nos.sonic.qos import (
    EGRESS_LOSSY_POOL,
    EGRESS_POOL,
    INGRESS_POOL,
    MAP,
)
from fabricc.back.nos.sonic.tables import CONVENTIONS, HASH_FIELDS
from fabricc.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Default:
    """A value that a field has when it is absent; any other changes the switch."""

    value: str


Expected = Mapping[str, "str | tuple[str, ...] | Default | None"]
"""Field -> the only value that leaves a switch as planned and that each row must state, or the default; None where
the value becomes a fact or does not matter."""


def _any(*fields: str) -> Expected:
    return dict.fromkeys(fields)


FIELDS: Mapping[str, Expected] = {
    "DEVICE_METADATA": {
        **_any(
            "hostname", "hwsku", "platform", "type", "bgp_asn", "bgp_router_id", "mac", "timezone", "region"
        ),
        **_any("cloudtype", "deployment_id", "resource_type", "rack_mgmt_map", "cluster", "location_type"),
        **CONVENTIONS,
        **_any("default_bgp_status", "yang_config_validation"),
        "create_only_config_db_buffers": None,
        "nexthop_group": Default("disabled"),
    },
    "MGMT_PORT": {"alias": "eth0", "admin_status": "up", **_any("description", "speed", "mtu")},
    "MGMT_INTERFACE": {"gwaddr": None},
    "MGMT_VRF_CONFIG": {"mgmtVrfEnabled": "true"},
    "NTP": {
        "admin_state": "enabled",
        "src_intf": "eth0",
        "vrf": "mgmt",
        **_any("authentication", "dhcp", "server_role"),
    },
    "NTP_SERVER": {
        "association_type": "server",
        "admin_state": Default("enabled"),
        "resolve_as": None,
        **_any("iburst", "version", "trusted"),
    },
    "DNS_NAMESERVER": {},
    "SYSLOG_SERVER": {"port": "514", "protocol": "udp", "vrf": "mgmt", **_any("severity", "source")},
    "TACPLUS": {"auth_type": Default("pap"), **_any("passkey", "timeout", "src_intf")},
    "TACPLUS_SERVER": {"vrf": "mgmt", "tcp_port": Default("49"), **_any("priority", "timeout", "auth_type")},
    "AAA": _any("login", "failthrough", "fallback", "debug", "trace"),
    "SNMP": _any("Location", "Contact"),
    "SNMP_COMMUNITY": {"TYPE": "RO"},
    "SNMP_AGENT_ADDRESS_CONFIG": {},
    "GNMI": _any(
        "ca_crt", "server_crt", "server_key", "client_auth", "log_level", "port", "save_on_set", "user_auth"
    ),
    "LLDP": _any("hello_time", "multiplier", "system_name", "system_description"),
    "ACL_TABLE": {"type": "CTRLPLANE", "stage": Default("ingress"), **_any("policy_desc", "services")},
    "ACL_RULE": _any("ETHER_TYPE", "L4_DST_PORT", "PACKET_ACTION", "PRIORITY", "SRC_IP"),
    "LOOPBACK_INTERFACE": {"NULL": Default("NULL"), "admin_status": Default("up")},
    "BREAKOUT_CFG": _any("brkout_mode"),
    "PORT": {
        **_any(
            "admin_status",
            "alias",
            "autoneg",
            "description",
            "fec",
            "index",
            "lanes",
            "mtu",
            "speed",
            "subport",
        ),
        **_any("tpid", "dhcp_rate_limit", "interface_type", "media_type", "role"),
        "pfc_asym": Default("off"),
        "link_training": Default("off"),
        "adv_speeds": Default("all"),
        "adv_interface_types": Default("all"),
    },
    "INTERFACE": {"NULL": Default("NULL"), "ipv6_use_link_local_only": None},
    "SCHEDULER": _any("type", "weight"),
    "WRED_PROFILE": {
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        **_any("green_drop_probability", "green_max_threshold", "green_min_threshold"),
    },
    "PORT_QOS_MAP": {
        "dscp_to_tc_map": MAP,
        **{
            field: Default(MAP)
            for field in ("tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map", "pfc_to_pg_map")
        },
        **_any("pfc_enable", "pfcwd_sw_enable"),
    },
    "QUEUE": _any("scheduler", "wred_profile"),
    "BUFFER_POOL": _any("mode", "size", "type", "xoff"),
    "BUFFER_PROFILE": {
        **_any("dynamic_th", "static_th", "pool", "size", "xoff", "xon", "xon_offset"),
        "packet_discard_action": None,
    },
    "BUFFER_PG": _any("profile"),
    "BUFFER_QUEUE": _any("profile"),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": _any("profile_list"),
    "BUFFER_PORT_EGRESS_PROFILE_LIST": _any("profile_list"),
    "PFC_WD": _any("action", "detection_time", "restoration_time", "POLL_INTERVAL", "pfc_stat_history"),
    "SWITCH_TRIMMING": _any("size", "dscp_value", "queue_index"),
    "FLEX_COUNTER_TABLE": _any(
        "BULK_CHUNK_SIZE",
        "BULK_CHUNK_SIZE_PER_PREFIX",
        "FLEX_COUNTER_DELAY_STATUS",
        "FLEX_COUNTER_STATUS",
        "POLL_INTERVAL",
    ),
    "SYSTEM_DEFAULTS": _any("status"),
    "SWITCH_HASH": {"ecmp_hash": HASH_FIELDS, **_any("lag_hash", "lag_hash_algorithm")},
}

ALLOWED: Mapping[str, Mapping[str, str | tuple[str, ...] | None]] = {
    table: {field: want.value if isinstance(want, Default) else want for field, want in fields.items()}
    for table, fields in FIELDS.items()
}
"""The one value, or None for any, that each known field may have."""

STATED: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    table: {field: value for field, value in fields.items() if isinstance(value, str | tuple)}
    for table, fields in FIELDS.items()
}
"""The fields that each row of a table must state."""

ROWS = {
    "DEVICE_METADATA": "localhost",
    "MGMT_PORT": "eth0",
    "MGMT_VRF_CONFIG": "vrf_global",
    "PORT_QOS_MAP": "global",
    "SWITCH_HASH": "GLOBAL",
}
"""Rows without which a switch is not as planned, whatever else it is."""

MAPS = frozenset(
    {
        "DSCP_TO_TC_MAP",
        "TC_TO_QUEUE_MAP",
        "TC_TO_PRIORITY_GROUP_MAP",
        "MAP_PFC_PRIORITY_TO_QUEUE",
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
        "CABLE_LENGTH",
    }
)
"""Tables whose fields are numbers or ports; only the row `AZURE` is bound."""

POOL_TYPES = {INGRESS_POOL: "ingress", EGRESS_POOL: "egress", EGRESS_LOSSY_POOL: "egress"}

IGNORED = frozenset(
    {
        "ASIC_SENSORS",
        "AUTO_TECHSUPPORT",
        "AUTO_TECHSUPPORT_FEATURE",
        "BANNER_MESSAGE",
        "BGP_DEVICE_GLOBAL",
        "CONSOLE_SWITCH",
        "COPP_GROUP",
        "COPP_TRAP",
        "CRM",
        "DEBUG_COUNTER",
        "DEBUG_DROP_MONITOR",
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
        "DEVICE_NEIGHBOR",
        "DEVICE_NEIGHBOR_METADATA",
        "DNS_OPTIONS",
        "FEATURE",
        "FIPS",
        "GNMI_CLIENT_CERT",
        "GRPCCLIENT",
        "HEARTBEAT",
        "KDUMP",
        "KUBERNETES_MASTER",
        "LDAP",
        "LDAP_SERVER",
        "LLDP_PORT",
        "LOGGER",
        "LOSSLESS_TRAFFIC_PATTERN",
        "MEMORY_STATISTICS",
        "MGMT_RATE",
        "NTP_KEY",
        "PASSW_HARDENING",
        "RADIUS",
        "RADIUS_SERVER",
        "RESTAPI",
        "SERIAL_CONSOLE",
        "SFLOW",
        "SNMP_USER",
        "SSH_SERVER",
        "SYSLOG_CONFIG",
        "SYSLOG_CONFIG_FEATURE",
        "TELEMETRY",
        "VERSIONS",
        "XCVRD_LOG",
    }
)
"""Tables of a running device that neither forward a packet nor steer one: what `init_cfg.json` and operators add."""
