"""Texts of SONiC's tables, NVUE's file and FRR's options that show a fault by themselves, with its effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Contradiction(NamedTuple):
    """A fault that a text shows.

    Attributes:
        kind: of the setting, such as `queue`, `addresses` or `buffer`.
        name: the port or the row that has the fault; "" for that of the switch.
        field: the setting, in the system's words.
        effect: what follows.
    """

    kind: str
    name: str
    field: str
    effect: str


_EFFECTS = {
    "tc_to_queue_map": "every packet leaves by queue 0",
    "tc_to_pg_map": "no packet enters the priority group of its class",
    "pfc_to_queue_map": "a received pause stops no queue",
    "pfc_to_pg_map": "no priority group sends pauses",
}
"""Field of PORT_QOS_MAP -> what follows where a port has none (SAI, saiport.h: "Default no map", and of
`SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP` "i.e. all packets to queue 0").
"""
_MAPS = {
    "tc_to_queue_map": "TC_TO_QUEUE_MAP", "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
    "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
}  # fmt: skip
_UNBOUND = re.compile(r"PORT_QOS_MAP\|([^|]+) without (\w+) \S+")
_FORMS = (
    (
        "addresses",
        re.compile(r"(INTERFACE|LOOPBACK_INTERFACE)\|([^|]+) is missing"),
        "its addresses wait for the row that has none (sonic-swss, intfmgr.cpp)",
    ),
    (
        "buffer",
        re.compile(r"(BUFFER_PROFILE)\|(pg_lossless\S*) pool: (?!ingress_lossless_pool$)\S+"),
        "its headroom is not in the lossless pool",
    ),
    (
        "buffer",
        re.compile(r"(BUFFER_POOL)\|(ingress_lossless_pool) type: (?!ingress$|both$)\S+"),
        "no priority group has a buffer in it",
    ),
    (
        "list",
        re.compile(r"(BUFFER_PORT_(?:INGRESS|EGRESS)_PROFILE_LIST)\|(\S+) is missing"),
        "the port as a whole has no buffer profile, which other ports have (SAI, saiport.h)",
    ),
    (
        "list",
        re.compile(r"(BUFFER_QUEUE)\|(\S+): no row for queue \S+"),
        "no buffer profile for the queue of PFC, which other queues have (SAI, saiqueue.h)",
    ),
    ("service", re.compile(r"(NTP)\|(global) admin_state: disabled"), "the clock follows no server"),
    (
        "service",
        re.compile(r"(?:Time )?(RootDistanceMaxSec) ?= ?(0?\.0\d*|0)(?:ms|us|s)?"),
        "the clock accepts no server, whose distance is larger",
    ),
    ("service", re.compile(r"(\*\.\*) (stop|~)"), "no message reaches the lines after it, which send them"),
    (
        "service",
        re.compile(r"(configure lldp status) (rx-only|tx-only|disabled)"),
        "cables cannot be compared with the plan at both ends",
    ),
    (
        "service",
        re.compile(r"(configure system interface pattern) (?!.*(?:swp|\*))(\S+)"),
        "the links between switches have no LLDP",
    ),
    (
        "login",
        re.compile(r"(tcp dport (?:22|ssh)) (?:ip6? saddr .* )?(accept)"),
        "hosts may log in, over every port",
    ),
    (
        "login",
        re.compile(r"(iifname) \"?((?!eth0\"?|lo\"?|mgmt)[\w.*]+)\"? tcp dport (?:22|ssh) .*accept"),
        "logins are accepted there, not at the management port",
    ),
    (
        "shut",
        re.compile(r"(?:(?:pre|post)-)?(up) .*\bip link set (?:dev )?(\S+) down\b.*"),
        "a command takes the port down, each time that it comes up",
    ),
    (
        "members",
        re.compile(r"(bond-slaves|bridge-ports) (.+)"),
        "the addresses of members have no effect",
    ),
    (
        "gateway",
        re.compile(r"(gateway) (\S+)"),
        "packets of the fabric without a route leave by the management network",
    ),
    ("sessions", re.compile(r"(bgpd_options) = .*(-p 0)(?: .*)?"), "bgpd accepts no session"),
    (
        "sessions",
        re.compile(r"(bgpd_options) ?= ?.*((?:-p |--bgp_port[ =])(?!179\b)\d+).*"),
        "bgpd listens at a port to which no neighbor connects",
    ),
    (
        "sessions",
        re.compile(r"(bgpd_options) ?= ?.*((?:-l |--listenon[ =])(?:127\.|::1)\S*?)\"?(?: .*)?"),
        "bgpd listens for sessions where no neighbor is",
    ),
    ("sessions", re.compile(r"(bgpd_options) = .*(-n|--no_kernel)(?: .*)?"), "no route of BGP is installed"),
    (
        "hash",
        re.compile(r"(bgpd_options|zebra_options) ?= ?.*((?:-e|--ecmp)[ =][1-3])(?!\d).*"),
        "few of the equal paths are used",
    ),
    ("sessions", re.compile(r"(router bgp) (\d+ view \S+)"), "no route of a view is installed"),
    ("sessions", re.compile(r"(address-family) (ipv[46] multicast)"), "its routes forward no packet"),
    (
        "number",
        re.compile(r"BGP's (AS number) is (\d+) in config_db\.json"),
        "frr.conf states another one",
    ),
)


_ODD = re.compile(r"([A-Z0-9_]+)\|(\S+) (.+?), so (.+)", re.DOTALL)
"""A row of SONiC's tables with its effect (`odd_rows.py`)."""
_KINDS = {
    "PORT": "speed", "BREAKOUT_CFG": "number", "DEVICE_METADATA": "number", "FEATURE": "number",
    "LOOPBACK_INTERFACE": "addresses of loopback", "MGMT_PORT": "service", "NTP": "service", "NTP_SERVER": "service",
    "SYSLOG_SERVER": "service", "TACPLUS_SERVER": "service", "RADIUS_SERVER": "service", "AAA": "service",
    "ACL_TABLE": "access", "SSH_SERVER": "access", "SNMP_USER": "access", "TELEMETRY": "access",
    "GNMI": "access", "RESTAPI": "access", "SWITCH_HASH": "hash", "PFC_WD": "watchdog",
    "WRED_PROFILE": "marking", "QUEUE": "marking", "PORTCHANNEL": "sessions",
    "ACL_RULE": "queue map", "MAP_PFC_PRIORITY_TO_QUEUE": "queue map", "TC_TO_DSCP_MAP": "queue map",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "queue map", "TC_TO_PRIORITY_GROUP_MAP": "queue map", "PORT_QOS_MAP": "speed",
    "BGP_NEIGHBOR": "sessions", "BGP_INTERNAL_NEIGHBOR": "sessions", "BGP_PEER_RANGE": "sessions",
    "INTERFACE": "sessions", "VLAN_INTERFACE": "sessions",
    "VLAN": "number", "VLAN_MEMBER": "number", "BGP_ALLOWED_PREFIXES": "sessions",
    "PORTCHANNEL_INTERFACE": "sessions", "MGMT_INTERFACE": "service",
    "ECMP_LOADSHARE_TABLE_IPV4": "hash", "ECMP_LOADSHARE_TABLE_IPV6": "hash", "PORT_STORM_CONTROL": "speed",
}  # fmt: skip
_BUFFER = "buffer"
_NVUE = {
    "source-port: 'off'": Contradiction(
        "hash", "", "source-port", "equal paths are chosen without it, in which queue pairs differ"
    ),
    "graceful-shutdown: 'on'": Contradiction(
        "sessions", "", "graceful-shutdown", "its neighbors avoid it as long as they can"
    ),
    "connected routes are not redistributed": Contradiction(
        "routes", "", "redistribute connected", "no subnet of a host becomes a route of BGP"
    ),
}
"""Lines of NVUE that no plan has (Cumulus Linux user guide: "Equal Cost Multipath", "BGP")."""


_SWITCH = re.compile(r"(?:nv set [\w /.:-]* )?([a-z-]+):? ['\"]?(on|off)['\"]?")
"""The same as a command, or with other quotes."""


def read_contradiction(text: str) -> Contradiction | None:
    """Return the fault that a text shows, None for any other text."""
    if match := _UNBOUND.fullmatch(text):
        effect = _EFFECTS.get(match[2])
        return Contradiction("queue", match[1], match[2], effect) if effect else None
    if text in _NVUE:
        return _NVUE[text]
    if (match := _SWITCH.fullmatch(text)) and (found := _NVUE.get(f"{match[1]}: '{match[2]}'")):
        return found
    for kind, form, effect in _FORMS:
        if match := form.fullmatch(text):
            return Contradiction(kind, match[2], match[1], effect)
    if match := _ODD.fullmatch(text):
        kind = _KINDS.get(match[1], _BUFFER)
        return Contradiction(kind, match[2], match[1], f"{match[3]}, so {match[4]}")
    return None


ASYMMETRIC = "setting[pfc_asym]"
"""Setting of a port by which it obeys pauses of every priority (SONiC wiki, "Asymmetric PFC High Level Design")."""
_SCHEMA = re.compile(r'"VERSION": *"version_(?!1_0_)')


def is_certain(one: Contradiction, texts: Iterable[str]) -> bool:
    """Return whether the files of a switch are whole enough for a fault.

    Interfaces of older schemas get their rows from db_migrator.py of sonic-utilities; a file without the table of a map
    is a part of a configuration.
    """
    if one.kind == "addresses":
        return any(map(_SCHEMA.search, texts))
    if one.field == "address-family":
        return not any(f"{one.name.split()[0]} unicast" in text for text in texts)
    table = _MAPS.get(one.field)
    return table is None or any(f'"{table}"' in text for text in texts)
