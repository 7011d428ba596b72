"""Tables of SONiC's CONFIG_DB: who owns their rows, and the steps in which the updater survives a replacement.

The back end imports it for plans and reviews. The SONiC driver imports it, and copies it to the switch: standard
library only, Python 3.9 or later. Sources are files of the branches 202305 to 202605 of sonic-buildimage,
sonic-utilities and sonic-swss.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]

KEPT_TABLES = frozenset({
    # files/build_templates/init_cfg.json.j2, and the tables that its features write.
    "AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE", "BGP_DEVICE_GLOBAL", "CRM", "FEATURE", "KDUMP", "LOGGER",
    "PASSW_HARDENING", "SYSLOG_CONFIG", "SYSLOG_CONFIG_FEATURE", "VERSIONS",
    # Operators' own: they neither forward a packet nor steer one, and fabricc has no setting for them.
    "ASIC_SENSORS", "BMP", "CONSOLE_PORT", "CONSOLE_SWITCH", "COPP_GROUP", "COPP_TRAP", "DEBUG_COUNTER",
    "DEBUG_COUNTER_DROP_REASON", "DEBUG_DROP_MONITOR", "DNS_OPTIONS", "FIPS", "FLOW_COUNTER_ROUTE_PATTERN",
    "GNMI_CLIENT_CERT", "GRPCCLIENT", "HEARTBEAT", "KUBERNETES_MASTER", "LDAP", "LDAP_SERVER", "LLDP_PORT",
    "MEMORY_STATISTICS", "MGMT_RATE", "NTP_KEY", "RESTAPI", "SERIAL_CONSOLE", "SFLOW", "SFLOW_COLLECTOR",
    "SFLOW_SESSION", "SSH_SERVER", "STORMOND_CONFIG", "SUPPRESS_ASIC_SDK_HEALTH_EVENT", "TELEMETRY",
    "TELEMETRY_CLIENT", "XCVRD_LOG",
})  # fmt: skip
"""Tables that a replacement leaves as the switch has them, unless the plan has rows of them."""
PORT_ROWS = ("LLDP_PORT", "SFLOW_SESSION")
"""Those with a row for each port; SONiC's models refuse one for a port that is not there."""
AGENT = ("SFLOW", "agent_id")
"""Table and field of the one that names an interface; its model accepts ports, bundles and the management port."""
INTERFACES = ("PORT", "PORTCHANNEL", "MGMT_PORT", "VLAN")
BANNER = "BANNER_MESSAGE"
"""The table whose rows stay, but disabled, where the plan has no banner: so the image has them (init_cfg.json.j2)."""
IMAGE_VERSION = "VERSIONS"
"""The table that a running switch has always right: db_migrator.py of its image wrote it."""
MERGED_TABLES = {
    "FLEX_COUNTER_TABLE": frozenset({"WRED_ECN_QUEUE"}),
    "SYSTEM_DEFAULTS": frozenset({"software_bfd"}),
}
"""Tables of the image in which fabricc has rows -> these rows; all others stay (init_cfg.json.j2)."""
KEPT_FIELDS = {
    "DEVICE_METADATA": frozenset({
        "mac", "timezone", "default_bgp_status", "region", "cloudtype", "deployment_id", "resource_type",
        "rack_mgmt_map", "cluster", "location_type", "yang_config_validation", "create_only_config_db_buffers",
    }),
    "NTP": frozenset({"authentication", "dhcp", "server_role"}),
    "NTP_SERVER": frozenset({"key"}),
}  # fmt: skip
"""Fields that stay in rows that fabricc writes: the image or the operator owns them."""
BUFFER_TABLES = ("BUFFER_PROFILE", "BUFFER_PG")
"""Tables that buffermgrd edits by itself (cfgmgr/buffermgr.cpp); the updater does not compare them either."""
UNCOMPARED = (*BUFFER_TABLES, "FLEX_COUNTER_TABLE")
"""Tables that daemons edit too, so that the updater does not compare them (`backend_tables` of change_applier.py)."""
SHUT_FOR = frozenset({
    "BUFFER_PG", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_QUEUE", "PORT_QOS_MAP",
    "QUEUE",
})  # fmt: skip
"""Tables for whose rows the updater shuts a port and opens it again (`RequiredValueIdentifier`, patch_sorter.py)."""
SMART_SWITCH = "SmartSwitch"
DPU_TABLES = ("DPU", "DPUS", "DPU_PORT", "MID_PLANE_BRIDGE", "REMOTE_DPU", "VDPU")
"""Tables of a switch with DPUs (config_samples.py of sonic-config-engine, sonic-smart-switch.yang)."""
CHASSIS_TYPES = frozenset({"chassis-packet", "dpu", "dummy-sup", "fabric", "voq"})
"""Values of `switch_type` other than `npu` (sonic-device_metadata.yang)."""
BY_PORT_FIELD = "CABLE_LENGTH"
"""The table whose fields, not rows, are those of ports."""
BGP_RESTARTS = (
    ("DEVICE_METADATA", "localhost", "docker_routing_config_mode"),
    ("DEVICE_METADATA", "localhost", "frr_mgmt_framework_config"),
    ("SYSTEM_DEFAULTS", "software_bfd", "status"),
)
"""Fields that the bgp container reads only when it starts (docker_init.sh, supervisord.conf.j2, managers_bfd.py)."""
DAEMON_FILES = ("bgpd.conf", "zebra.conf", "staticd.conf")
"""An operator's own files of FRR in the mode `split`; a start in `split-unified` deletes them (docker_init.sh)."""
ROW_S = 15
"""Seconds that a changed row may take: 1 port (17 rows) took 3 minutes, 6 ports 40 (sonic-buildimage issue 23945)."""
RELOAD_S = 900
"""Seconds that `config reload` and the start of the bgp container may take. Our judgment."""
COMMIT_S = 300
"""Seconds that a commit may take besides: the default of `commit_timeout`. Our judgment."""
STEP_ROWS = 24
"""Changed rows that one replacement has at most, unless one port has more.

The updater's sorting grows faster than the number of changes: one port of a growth has 17 (measured with the code of
202505: 4 ports took 32 s of CPU, 16 more than 134 s).
"""


def without_raw(tables: Tables) -> Tables:
    """Return the tables without `bgpraw`, which is FRR's text and no table (gu_common.py drops it too)."""
    return {name: rows for name, rows in tables.items() if name != "bgpraw"}


def require_tables(found: Any) -> Tables:
    """Return the tables of a CONFIG_DB that a switch printed, or of a file that it boots from.

    In it a field is a text or a list of texts. A file may have numbers and booleans, as factory presets have
    (`rrclient` in sonic-config-engine's config_samples.py): they are returned as the texts that CONFIG_DB has of them.

    Raises:
        ValueError: it has no tables, or a table is not a mapping of rows.
    """
    if not isinstance(found, dict) or not found:
        raise ValueError("it has no tables")
    tables: Tables = {}
    for name, rows in without_raw(found).items():
        if not name.isupper() or not isinstance(rows, dict):
            raise ValueError(f"{name[:40]!r} is not a table")
        tables[name] = {}
        for key, row in rows.items():
            if not isinstance(row, dict) or not all(
                isinstance(one, (str, list, int, float)) for one in row.values()
            ):
                raise ValueError(f"{name}|{key[:40]} is not a row")
            tables[name][key] = {
                field: str(one) if isinstance(one, (int, float)) else one for field, one in row.items()
            }
    return tables


def find_unsupported(running: Tables) -> str:
    """Return what a switch has that no plan contains, so that a replacement would cut it off; "" for nothing."""
    here = running.get("DEVICE_METADATA", {}).get("localhost", {})
    if here.get("switch_type") in CHASSIS_TYPES:
        return f"it is part of a chassis (switch_type {here['switch_type']})"
    if here.get("subtype") == SMART_SWITCH or any(name in running for name in DPU_TABLES):
        return "it has DPUs of its own (SmartSwitch), whose tables a replacement would remove"
    return ""


def takes_frr(tables: Tables) -> bool:
    """Return whether the bgp container starts from frr.conf; in other modes bgpcfgd configures FRR and deletes it."""
    here = tables.get("DEVICE_METADATA", {}).get("localhost")
    return here is None or here.get("docker_routing_config_mode") == "split-unified"


def needs_daemon_files(running: Tables, target: Tables) -> bool:
    """Return whether FRR is to start from an operator's own files again, which fabricc does not have."""
    old, new = (
        one.get("DEVICE_METADATA", {}).get("localhost", {}).get("docker_routing_config_mode")
        for one in (running, target)
    )
    return new == "split" != old


def merge(running: Tables, candidate: Tables) -> Tables:
    """Return the tables to run: the candidate, with the rows and fields of the running ones that stay."""
    target: Tables = {}
    for name in (*candidate, *(name for name in running if name not in candidate)):
        old, new = running.get(name, {}), candidate.get(name, {})
        if name in MERGED_TABLES:
            kept = {key: row for key, row in old.items() if key not in MERGED_TABLES[name]}
            rows = {**kept, **{key: {**old.get(key, {}), **row} for key, row in new.items()}}
        elif name == IMAGE_VERSION:
            rows = old or new
        elif name == BANNER:
            rows = new or {key: {**row, "state": "disabled"} for key, row in old.items()}
        elif name in KEPT_TABLES:
            rows = new or old
        else:
            fields = KEPT_FIELDS.get(name, frozenset())
            rows = {
                key: {**{field: value for field, value in old.get(key, {}).items() if field in fields}, **row}
                for key, row in new.items()
            }
        if rows:
            target[name] = copy.deepcopy(rows)
    _drop_dangling(running, target)
    return target


def _drop_dangling(running: Tables, target: Tables) -> None:
    """Remove what stays and names a port or another interface that goes."""
    gone = {key for name in INTERFACES for key in running.get(name, {}) if key not in target.get(name, {})}
    for name in PORT_ROWS:
        rows = {key: row for key, row in target.pop(name, {}).items() if key not in gone}
        if rows:
            target[name] = rows
    table, field = AGENT
    for row in target.get(table, {}).values():
        if row.get(field) in gone:
            del row[field]


def difference(running: Tables, target: Tables) -> tuple[Tables, Tables]:
    """Return the differing rows of both, each with its differing fields alone: what is shown to people."""
    old: Tables = {}
    new: Tables = {}
    for name, key in changed_rows(running, target):
        here, there = running.get(name, {}).get(key), target.get(name, {}).get(key)
        for row, other, found in ((here, there, old), (there, here, new)):
            if row is not None:
                shown = {field: value for field, value in row.items() if (other or {}).get(field) != value}
                found.setdefault(name, {})[key] = shown
    return old, new


def changed_rows(running: Tables, target: Tables) -> Iterator[tuple[str, str]]:
    """Yield table and key of each row that differs, is added or is removed."""
    for name in sorted(running.keys() | target.keys()):
        old, new = running.get(name, {}), target.get(name, {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                yield name, key


def restarts_bgp(running: Tables, target: Tables) -> bool:
    """Return whether a field changes that the bgp container reads only when it starts."""
    return any(
        running.get(table, {}).get(key, {}).get(field) != target.get(table, {}).get(key, {}).get(field)
        for table, key, field in BGP_RESTARTS
    )


# --- ports --------------------------------------------------------------------------------------------


def _is_up(tables: Tables, port: str) -> bool:
    return str(tables.get("PORT", {}).get(port, {}).get("admin_status", "down")) == "up"


def _ports(key: str, ports: Mapping[str, Any]) -> list[str]:
    """Return ports whose row this is; a key may name several: `Ethernet0,Ethernet4|3-4`."""
    return [port for port in key.partition("|")[0].split(",") if port in ports]


def _cable_lengths(tables: Tables) -> dict[str, str]:
    """Cable length by port."""
    return {port: str(value) for row in tables.get(BY_PORT_FIELD, {}).values() for port, value in row.items()}


def changed_ports(running: Tables, target: Tables) -> dict[str, int]:
    """Return the ports with a differing row, in any table, and how many of them each has."""
    known = {**running.get("PORT", {}), **target.get("PORT", {})}
    counts: dict[str, int] = {}
    for _, key in changed_rows(running, target):
        for port in _ports(key, known):
            counts[port] = counts.get(port, 0) + 1
    old, new = _cable_lengths(running), _cable_lengths(target)
    for port in sorted(old.keys() | new.keys()):
        if port in known and old.get(port) != new.get(port):
            counts[port] = counts.get(port, 0) + 1
    return counts


def shut_ports(running: Tables, target: Tables) -> list[str]:
    """Return the ports in use that are shut during the change: on their way down, or by the updater for a while."""
    known = running.get("PORT", {})
    shut = {
        port for name, key in changed_rows(running, target) if name in SHUT_FOR for port in _ports(key, known)
    }
    return sorted(
        port for port in known if _is_up(running, port) and (port in shut or not _is_up(target, port))
    )


def first_down(running: Tables, target: Tables) -> list[str]:
    """Return the ports that must be shut in a separate step.

    buffermgrd deletes the lossless group of a port that goes down, which the updater then does not find
    (JsonPatchConflict); so a port goes down first where it stays down, or where its groups or its speed change.
    """
    known = running.get("PORT", {})
    touched = {
        port
        for name, key in changed_rows(running, target)
        if name == "BUFFER_PG"
        for port in _ports(key, known)
    }
    return [
        port
        for port in sorted(known)
        if _is_up(running, port)
        and (
            not _is_up(target, port)
            or port in touched
            or known[port].get("speed") != target["PORT"][port].get("speed")
        )
    ]


def _groups(running: Tables, target: Tables, counts: Mapping[str, int]) -> list[list[str]]:
    """Changed ports in groups that share lanes, before or after: children of one cage change together."""
    owners: dict[str, list[str]] = {}
    groups: list[list[str]] = []
    for port in sorted(counts, key=lambda name: (len(name), name)):
        lanes = {
            lane.strip()
            for tables in (running, target)
            for lane in str(tables.get("PORT", {}).get(port, {}).get("lanes", "")).split(",")
            if lane.strip()
        }
        group: list[str] = [port]
        for lane in lanes:
            other = owners.get(lane)
            if other is not None and other is not group:
                group += [each for each in other if each not in group]
                groups = [each for each in groups if each is not other]
                owners = {one: group if owner is other else owner for one, owner in owners.items()}
            owners[lane] = group
        groups.append(group)
    return groups


def _exchange_rows(running: Tables, target: Tables, ports: Iterable[str]) -> Tables:
    """Return the running tables with all rows of some ports as the target has them."""
    chosen = set(ports)
    known = {**running.get("PORT", {}), **target.get("PORT", {})}
    found = copy.deepcopy(running)
    for name, key in changed_rows(running, target):
        if chosen.intersection(_ports(key, known)):
            _put(found, name, key, target.get(name, {}).get(key))
    lengths = target.get(BY_PORT_FIELD, {})
    for key in lengths.keys() | found.get(BY_PORT_FIELD, {}).keys():
        old, new = found.get(BY_PORT_FIELD, {}).get(key, {}), lengths.get(key, {})
        kept = {port: value for port, value in old.items() if port not in chosen}
        row = {**kept, **{port: value for port, value in new.items() if port in chosen}}
        _put(found, BY_PORT_FIELD, key, row or None)
    return found


def _put(tables: Tables, name: str, key: str, row: Row | None) -> None:
    """Set or remove a row; a table without rows goes with its last one."""
    rows = tables.setdefault(name, {})
    if row is None:
        rows.pop(key, None)
    else:
        rows[key] = copy.deepcopy(row)
    if not rows:
        del tables[name]


# --- steps --------------------------------------------------------------------------------------------


def steps(running: Tables, target: Tables) -> list[tuple[str, list[str]]]:
    """Return the steps of a replacement: kind (`down`, `shared`, `ports`, `rest`) and the ports that change in it."""
    found: list[tuple[str, list[str]]] = []
    if down := first_down(running, target):
        found.append(("down", down))
    counts = changed_ports(running, target)
    if sum(counts.values()) > STEP_ROWS:
        found.append(("shared", []))
        batch: list[str] = []
        rows = 0
        for group in _groups(running, target, counts):
            weight = sum(counts[port] for port in group)
            if batch and rows + weight > STEP_ROWS:
                found.append(("ports", batch))
                batch, rows = [], 0
            batch, rows = batch + group, rows + weight
        found.append(("ports", batch))
    if found or any(True for _ in changed_rows(running, target)):
        found.append(("rest", []))
    return found


def step_target(running: Tables, target: Tables, kind: str, ports: list[str]) -> Tables:
    """Return what the switch runs after a step, made from what it runs right before it."""
    if kind == "rest":
        return copy.deepcopy(target)
    if kind == "ports":
        return _exchange_rows(running, target, ports)
    found = copy.deepcopy(running)
    if kind == "down":
        for port in ports:
            if port in found.get("PORT", {}):
                found["PORT"][port]["admin_status"] = "down"
        return found
    known = {**running.get("PORT", {}), **target.get("PORT", {})}
    for name, key in changed_rows(running, target):
        row = target.get(name, {}).get(key)
        if row is not None and name not in ("PORT", BY_PORT_FIELD) and not _ports(key, known):
            _put(found, name, key, row)
    return found


def lost_buffers(running: Tables, target: Tables) -> Tables:
    """Return the rows of buffers of the target that the switch does not run: buffermgrd took them away."""
    return {
        name: rows
        for name in BUFFER_TABLES
        if (
            rows := {
                key: row for key, row in target.get(name, {}).items() if running.get(name, {}).get(key) != row
            }
        )
    }


def is_reached(running: Tables, target: Tables) -> bool:
    """Return whether `config replace` has nothing to do: all is as wanted but for buffers that buffermgrd took away."""
    if any(running.get(name, {}).keys() - target.get(name, {}).keys() for name in BUFFER_TABLES):
        return False
    old, new = (
        {name: rows for name, rows in tables.items() if name not in BUFFER_TABLES}
        for tables in (running, target)
    )
    return old == new


def comparable_tables(tables: Tables) -> Tables:
    """Return the tables that must be as wanted after a change."""
    return {name: rows for name, rows in tables.items() if name not in UNCOMPARED}
