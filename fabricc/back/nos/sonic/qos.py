"""The lossless policy of SONiC: maps, schedulers, marking, buffer pools and profiles, trimming, watchdog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.sonic import reclaim
from fabricc.back.nos.sonic.limits import MARKS, has
from fabricc.back.nos.sonic.words import MAP, Platform, pg_profile_name
from fabricc.base.diagnostics.wording import split_ranges
from fabricc.fabric.facts import Facts, congestion_facts
from fabricc.fabric.model import Direction, Port, Switch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.back.nos.sonic.config_db import Row, Table, Tables
    from fabricc.fabric.qos import BufferPools, Ecn, Headroom, PortProfile, SwitchQos

INGRESS_POOL = "ingress_lossless_pool"
EGRESS_POOL = "egress_lossless_pool"
EGRESS_LOSSY_POOL = "egress_lossy_pool"
LOSSY_PG_PROFILE = "ingress_lossy_profile"
INGRESS_PORT_PROFILE = "ingress_lossless_profile"
LOSSLESS_QUEUE_PROFILE = "egress_lossless_profile"
LOSSY_QUEUE_PROFILE = "egress_lossy_profile"
TRIM_QUEUE_PROFILE = "q_lossy_trim_profile"
PROFILE_LISTS = {
    "BUFFER_PORT_INGRESS_PROFILE_LIST": INGRESS_PORT_PROFILE,
    "BUFFER_PORT_EGRESS_PROFILE_LIST": f"{LOSSLESS_QUEUE_PROFILE},{LOSSY_QUEUE_PROFILE}",
}
PFC_GROUPS = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"
MELLANOX_TABLES = (PFC_GROUPS, *PROFILE_LISTS)
"""Tables that are there together or not at all."""

LOSSY_DYNAMIC_TH = "3"
LOSSLESS_DYNAMIC_TH = "7"
"""Exponents of alpha in the stock buffer templates: lossy traffic up to 8 x the free buffer, lossless queues 128 x."""
UNTRUSTED = "UNTRUSTED"
"""The map that puts every code point into the default class."""
QUEUES = range(8)
MARKS_GROUP = "WRED_ECN_QUEUE"
"""The counters of marking; the image enables those of queues and ports by itself, these never (init_cfg.json.j2)."""

WATCHDOG = {"detection_time": "detect_ms", "restoration_time": "restore_ms", "action": "action"}
"""Fields of a row of `PFC_WD` -> what facts call them."""
INGRESS_PORT: Row = {"dynamic_th": LOSSLESS_DYNAMIC_TH, "pool": INGRESS_POOL, "size": "0"}
TRIMS: Row = {"packet_discard_action": "trim"}
"""Fields of the profile of trimmed queues in addition to those of lossy ones."""
SHARED = {
    LOSSY_PG_PROFILE: "pool/lossy_group",
    LOSSLESS_QUEUE_PROFILE: "pool/lossless_queue",
    LOSSY_QUEUE_PROFILE: "pool/lossy_queue",
}
"""Profiles that belong to no port -> prefixes of the paths of their facts."""
THRESHOLDS = {"dynamic_th": "alpha", "static_th": "limit_bytes"}

DEPARTURES = (
    Departure("interface[*]/set_dscp", LEFT_OUT, "what arrives keeps its code point (FAB5725)"),
    Departure("trimming/*", LEFT_OUT, "without a lossless class buffers are the image's (FAB5318)"),
    Departure("link_retry", LEFT_OUT, "no release has a model of it (FAB5320)"),
    Departure("watchdog/*", LEFT_OUT, "PFC_WD has rows of ports alone, and no port is lossless"),
)


# --- what SONiC makes of the Fabric's statements ------------------------------------------------------


def qos_tables(switch: Switch) -> Tables:
    """QoS, buffer and watchdog tables; those of lossless traffic only when the switch has pools for it."""
    qos, platform = switch.qos, Platform.of(switch.model)
    used = [port for port in switch.ports if port.direction is not Direction.UNUSED]
    lossless = [c.priority for c in qos.lossless]
    guarded = [port for port in used if port.profile] if lossless else []
    tables: Tables = _map_tables(qos, platform)
    if not all(port.trusted for port in used):
        default = str(qos.default.priority)
        tables["DSCP_TO_TC_MAP"][UNTRUSTED] = dict.fromkeys(tables["DSCP_TO_TC_MAP"][MAP], default)
    tables["SCHEDULER"] = {
        c.name: {"type": "STRICT"} if c.strict else {"type": "DWRR", "weight": str(c.weight_percent)}
        for c in qos.classes
    }
    bound = {port.profile for port in used}
    marked = {p.name: _wred_row(p.ecn) for p in qos.profiles if p.ecn}
    if qos.marked and any(name in bound for name in marked):
        tables["WRED_PROFILE"] = marked
    tables["PORT_QOS_MAP"] = _binding_table(used, bool(guarded), lossless, qos.watchdog is not None, platform)
    tables["QUEUE"] = _queue_table(used, qos)
    if qos.pools:
        tables |= _buffer_tables(switch, qos.pools, used, lossless, platform)
    if qos.watchdog:
        row: Row = {
            "action": qos.watchdog.action,
            "detection_time": str(qos.watchdog.detect_ms),
            "restoration_time": str(qos.watchdog.restore_ms),
        }
        tables["PFC_WD"] = {"GLOBAL": {"POLL_INTERVAL": str(qos.watchdog.poll_ms)}}
        tables["PFC_WD"].update((port.name, row) for port in guarded)
    return tables


def counter_tables(switch: Switch) -> Tables:
    """Return what makes the switch count the packets that it marks."""
    return (
        {"FLEX_COUNTER_TABLE": {MARKS_GROUP: {"FLEX_COUNTER_STATUS": "enable"}}}
        if _has_counts(switch)
        else {}
    )


def _has_counts(switch: Switch) -> bool:
    return bool(MARKS.things(switch)) and has(switch, MARKS)


def lossy_group(lossless: Iterable[int]) -> int:
    """Return the priority group that all lossy classes share: the lowest that is not lossless (0 when all are)."""
    taken = set(lossless)
    return next((group for group in QUEUES if group not in taken), 0)


def _shut_ports(switch: Switch, platform: Platform) -> list[str]:
    """Return the ports that serve nothing and are shut: unused ones and those outside of the fabric cages."""
    unused = [port.name for port in switch.ports if port.direction is Direction.UNUSED and not port.enabled]
    return [*unused, *(service["name"] for service in platform.service_ports)]


def _map_tables(qos: SwitchQos, platform: Platform) -> Tables:
    dscps = sorted((dscp, c.priority) for c in qos.classes for dscp in c.dscps)
    lossless = {c.priority for c in qos.lossless}
    tables: Tables = {
        "DSCP_TO_TC_MAP": {MAP: {str(dscp): str(priority) for dscp, priority in dscps}},
        "TC_TO_QUEUE_MAP": {MAP: {str(c.priority): str(c.priority) for c in qos.classes}},
    }
    if lossless:
        lossy = str(lossy_group(lossless))
        same: Row = {str(priority): str(priority) for priority in sorted(lossless)}
        tables["TC_TO_PRIORITY_GROUP_MAP"] = {
            MAP: {str(c.priority): str(c.priority) if c.lossless else lossy for c in qos.classes}
        }
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = {MAP: same}
        if platform.mellanox:
            tables[PFC_GROUPS] = {MAP: same}
    return tables


def _wred_row(ecn: Ecn) -> Row:
    return {
        "ecn": "ecn_all",
        "green_drop_probability": str(ecn.max_percent),
        "green_max_threshold": str(ecn.max_bytes),
        "green_min_threshold": str(ecn.min_bytes),
        "wred_green_enable": "true",
    }


def _binding_table(
    used: Sequence[Port], guard: bool, lossless: Sequence[int], watchdog: bool, platform: Platform
) -> Table:
    plain: Row = {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP}
    guarded = dict(plain)
    if guard:
        priorities = ",".join(map(str, lossless))
        guarded["tc_to_pg_map"] = guarded["pfc_to_queue_map"] = MAP
        if platform.mellanox:
            guarded["pfc_to_pg_map"] = MAP
        guarded["pfc_enable"] = priorities
        if watchdog:
            guarded["pfcwd_sw_enable"] = priorities
    rows: Table = {"global": {"dscp_to_tc_map": MAP}}
    rows.update((port.name, guarded if guard and port.profile else plain) for port in used)
    rows.update((port.name, {**plain, "dscp_to_tc_map": UNTRUSTED}) for port in used if not port.trusted)
    return rows


def _queue_table(used: Sequence[Port], qos: SwitchQos) -> Table:
    shared: dict[tuple[str | None, int], Row] = {}
    for profile in (None, *qos.profiles):
        for c in qos.classes:
            row: Row = {"scheduler": c.name}
            if profile and profile.ecn and c.ecn:
                row["wred_profile"] = profile.name
            shared[profile.name if profile else None, c.priority] = row
    priorities = [c.priority for c in qos.classes]
    return {f"{port.name}|{p}": shared[port.profile, p] for port in used for p in priorities}


def _pool_table(pools: BufferPools) -> Table:
    ingress: Row = {"mode": "dynamic", "size": str(pools.ingress_lossless_bytes), "type": "ingress"}
    if pools.headroom_bytes:
        ingress["xoff"] = str(pools.headroom_bytes)
    static = pools.egress_lossless_static if pools.egress_pool_static is None else pools.egress_pool_static
    mode = "static" if static else "dynamic"
    egress: Row = {"mode": mode, "size": str(pools.egress_lossless_bytes), "type": "egress"}
    rows: Table = {INGRESS_POOL: ingress, EGRESS_POOL: egress}
    if pools.egress_lossy_bytes is not None:
        rows[EGRESS_LOSSY_POOL] = {"mode": "dynamic", "size": str(pools.egress_lossy_bytes), "type": "egress"}
    return rows


def lossy_pool(pools: Mapping[str, object]) -> str:
    """Return the pool of lossy queues, of those that there are."""
    return EGRESS_LOSSY_POOL if EGRESS_LOSSY_POOL in pools else EGRESS_POOL


def _shared_profiles(pools: BufferPools) -> Table:
    """Return the profiles that belong to no port; lossy queues have the platform's alpha, else the stock templates'."""
    lossy, lossless = pools.lossy_ingress_limit_bytes, pools.egress_lossless_limit_bytes
    group = {"dynamic_th": LOSSY_DYNAMIC_TH} if lossy is None else {"static_th": str(lossy)}
    limit = {"dynamic_th": LOSSLESS_DYNAMIC_TH}
    if pools.egress_lossless_static:
        limit = {"static_th": str(lossless or pools.egress_lossless_bytes)}
    alpha = LOSSY_DYNAMIC_TH if pools.lossy_egress_alpha is None else str(pools.lossy_egress_alpha)
    pool, size = lossy_pool(_pool_table(pools)), str(pools.lossy_egress_bytes)
    return {
        LOSSY_PG_PROFILE: {**group, "pool": INGRESS_POOL, "size": "0"},
        LOSSLESS_QUEUE_PROFILE: {**limit, "pool": EGRESS_POOL, "size": "0"},
        LOSSY_QUEUE_PROFILE: {"dynamic_th": alpha, "pool": pool, "size": size},
    }


def _buffer_tables(
    switch: Switch, pools: BufferPools, used: Sequence[Port], lossless: Sequence[int], platform: Platform
) -> Tables:
    """Pools, profiles, and which of them each port, group and queue has."""
    qos = switch.qos
    shared = _shared_profiles(pools)
    named: Table = {LOSSY_PG_PROFILE: shared[LOSSY_PG_PROFILE]}
    if platform.mellanox:
        named[INGRESS_PORT_PROFILE] = INGRESS_PORT
    named |= shared
    named |= {pg_profile_name(profile): _pg_profile(headroom) for profile, headroom in qos.headrooms}
    trimmed = qos.trimming.queues if qos.trimming else ()
    groups, queues, cables = _bound_profiles(
        used, lossless, trimmed, {p.name: (p, h) for p, h in qos.headrooms}
    )
    tables: Tables = {
        "BUFFER_POOL": _pool_table(pools), "BUFFER_PROFILE": named, "BUFFER_PG": groups, "BUFFER_QUEUE": queues,
    }  # fmt: skip
    for name, profiles in PROFILE_LISTS.items() if platform.mellanox else ():
        row: Row = {"profile_list": profiles}
        tables[name] = {port.name: row for port in used}
    tables["CABLE_LENGTH"] = {MAP: cables} if cables else {}
    if platform.mellanox:
        reclaim.reclaim_buffers(
            tables,
            _shut_ports(switch, platform),
            reclaim.zero_profiles(INGRESS_POOL, EGRESS_POOL, lossy_pool(tables["BUFFER_POOL"])),
            group=str(lossy_group(lossless)),
            lossless_queues=split_ranges(lossless),
            lossy_queues=split_ranges([queue for queue in QUEUES if queue not in lossless]),
        )
    if qos.trimming:
        trim: Row = {**shared[LOSSY_QUEUE_PROFILE], **TRIMS}
        named[TRIM_QUEUE_PROFILE] = dict(sorted(trim.items()))
        # One code point and queue for all ports ("symmetric" in the design doc/packet_trimming of the SONiC project).
        tables["SWITCH_TRIMMING"] = {
            "GLOBAL": {
                "dscp_value": str(qos.trimming.dscp),
                "queue_index": str(qos.trimming.queue),
                "size": str(qos.trimming.size_bytes),
            }
        }
    return tables


def _pg_profile(headroom: Headroom) -> Row:
    row: Row = {
        "dynamic_th": str(headroom.dynamic_th), "pool": INGRESS_POOL, "size": str(headroom.size_bytes),
        "xoff": str(headroom.xoff_bytes), "xon": str(headroom.xon_bytes),
    }  # fmt: skip
    if headroom.xon_offset_bytes is not None:
        row["xon_offset"] = str(headroom.xon_offset_bytes)
    return row


def _bound_profiles(
    used: Sequence[Port],
    lossless: Sequence[int],
    trimmed: Sequence[int],
    profiles: Mapping[str, tuple[PortProfile, Headroom]],
) -> tuple[Table, Table, Row]:
    """Return the profiles of priority groups and of queues, and the length of each port's cable."""
    groups: Table = {}
    queues: Table = {}
    cables: Row = {}
    lossy_key = str(lossy_group(lossless))
    lossless_keys = split_ranges(lossless)
    lossy_keys = split_ranges([queue for queue in QUEUES if queue not in lossless and queue not in trimmed])
    every_key = split_ranges([queue for queue in QUEUES if queue not in trimmed])
    trim_keys = split_ranges(trimmed)
    lossy_pg: Row = {"profile": LOSSY_PG_PROFILE}
    lossless_pg: Table = {p.name: {"profile": pg_profile_name(p)} for p, _ in profiles.values()}
    lossy_queue: Row = {"profile": LOSSY_QUEUE_PROFILE}
    lossless_queue: Row = {"profile": LOSSLESS_QUEUE_PROFILE}
    trim_queue: Row = {"profile": TRIM_QUEUE_PROFILE}
    for port in used:
        name, profile = port.name, port.profile
        groups[f"{name}|{lossy_key}"] = lossy_pg
        if profile:
            cables[name] = f"{profiles[profile][1].cable_m}m"
            for key in lossless_keys:
                groups[f"{name}|{key}"] = lossless_pg[profile]
                queues[f"{name}|{key}"] = lossless_queue
        for key in lossy_keys if profile else every_key:
            queues[f"{name}|{key}"] = lossy_queue
        for key in trim_keys:
            queues[f"{name}|{key}"] = trim_queue
    return groups, queues, cables


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add further facts of SONiC about queues and buffers, and trimming if it has buffers."""
    qos, platform = switch.qos, Platform.of(switch.model)
    if platform.mellanox:
        for c in qos.lossless:
            facts[f"qos/pfc_priority[{c.priority}]/priority_group"] = c.priority
    if qos.pools:
        for name, pool in _pool_table(qos.pools).items():
            facts[f"pool/{name.removesuffix('_pool')}_mode"] = str(pool["mode"])
        for name, row in _shared_profiles(qos.pools).items():
            facts |= {
                f"{SHARED[name]}_{leaf}": int(str(row[field]))
                for field, leaf in THRESHOLDS.items()
                if field in row
            }
        facts["pool/lossy_queue_bytes"] = qos.pools.lossy_egress_bytes
        trimming = congestion_facts(qos)
        facts |= {path: value for path, value in trimming.items() if path.startswith("trimming/")}
        if platform.mellanox:
            facts |= {reclaim.FACT.format(name): "none" for name in _shut_ports(switch, platform)}
    if qos.watchdog and not any(port.profile for port in switch.ports):
        for fact in WATCHDOG.values():
            del facts[f"watchdog/{fact}"]
    if _has_counts(switch):
        facts["counter[ecn_marks]"] = "enable"
