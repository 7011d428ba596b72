"""The tables of `config_db.json` that make a switch lossless: maps, schedulers, marking, buffers, watchdog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.reclaim import reclaim, zero_profiles
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.back.nos.sonic.document import Row, Table, Tables
    from fabricc.back.nos.sonic.platform import Platform
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import BufferPools, Ecn, PortProfile, SwitchQos, Trimming

MAP = "AZURE"
"""SONiC's stock name for its maps and its cable table, which its own tools expect."""

INGRESS_POOL = "ingress_lossless_pool"
EGRESS_POOL = "egress_lossless_pool"
EGRESS_LOSSY_POOL = "egress_lossy_pool"
LOSSY_PG_PROFILE = "ingress_lossy_profile"
INGRESS_PORT_PROFILE = "ingress_lossless_profile"
LOSSLESS_QUEUE_PROFILE = "egress_lossless_profile"
LOSSY_QUEUE_PROFILE = "egress_lossy_profile"
TRIM_QUEUE_PROFILE = "q_lossy_trim_profile"
EGRESS_PROFILES = f"{LOSSLESS_QUEUE_PROFILE},{LOSSY_QUEUE_PROFILE}"

LOSSY_DYNAMIC_TH = "3"
LOSSLESS_DYNAMIC_TH = "7"
"""Exponents of alpha in the stock buffer templates: lossy traffic up to 8 x the free buffer, lossless queues 128 x."""

QUEUES = range(8)


def qos_tables(switch: Switch, platform: Platform) -> Tables:
    """QoS, buffer and watchdog tables; those of lossless traffic only when the switch has pools for it."""
    qos = switch.qos
    used = [port for port in switch.ports if port.direction is not Direction.UNUSED]
    lossless = [c.priority for c in qos.lossless]
    profiles = {profile.name: profile for profile in qos.profiles}
    guarded = [port for port in used if port.profile] if lossless else []
    tables: Tables = _maps(qos, platform)
    tables["SCHEDULER"] = {
        c.name: {"type": "STRICT"} if c.strict else {"type": "DWRR", "weight": str(c.weight_percent)}
        for c in qos.classes
    }
    marked = {profile.name: _wred(profile.ecn) for profile in qos.profiles if profile.ecn}
    if guarded and marked and any(c.ecn for c in qos.classes):
        tables["WRED_PROFILE"] = marked
    tables["PORT_QOS_MAP"] = _bindings(used, bool(guarded), lossless, qos.watchdog is not None, platform)
    tables["QUEUE"] = _queues(used, qos, bool(lossless))
    if qos.pools:
        tables.update(_pools(qos.pools, profiles.values(), platform))
        trimmed = qos.trimming.queues if qos.trimming else ()
        tables.update(_buffers(used, lossless, trimmed, profiles, platform))
        if platform.mellanox:
            lossy_pool = EGRESS_POOL if qos.pools.egress_lossy_bytes is None else EGRESS_LOSSY_POOL
            reclaim(
                tables,
                shut_ports(switch, platform),
                zero_profiles(INGRESS_POOL, EGRESS_POOL, lossy_pool),
                group=str(lossy_group(lossless)),
                lossless_queues=ranges(lossless),
                lossy_queues=ranges([queue for queue in QUEUES if queue not in lossless]),
            )
        if qos.trimming:
            trim: Row = {**tables["BUFFER_PROFILE"][LOSSY_QUEUE_PROFILE], "packet_discard_action": "trim"}
            tables["BUFFER_PROFILE"][TRIM_QUEUE_PROFILE] = dict(sorted(trim.items()))
            tables["SWITCH_TRIMMING"] = {"GLOBAL": _trimming(qos.trimming)}
    if qos.watchdog:
        row: Row = {
            "action": qos.watchdog.action,
            "detection_time": str(qos.watchdog.detect_ms),
            "restoration_time": str(qos.watchdog.restore_ms),
        }
        tables["PFC_WD"] = {"GLOBAL": {"POLL_INTERVAL": str(qos.watchdog.poll_ms)}}
        tables["PFC_WD"].update((port.name, row) for port in guarded)
    return tables


def shut_ports(switch: Switch, platform: Platform) -> list[str]:
    """The ports that serve nothing and are shut: unused ones and those outside of the fabric cages."""
    unused = [port.name for port in switch.ports if port.direction is Direction.UNUSED and not port.enabled]
    return [*unused, *(service["name"] for service in platform.service_ports)]


def _maps(qos: SwitchQos, platform: Platform) -> Tables:
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
            tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {MAP: same}
    return tables


def lossy_group(lossless: Iterable[int]) -> int:
    """The priority group that all lossy classes share: the lowest that is not lossless (0 when all are)."""
    taken = set(lossless)
    return next((group for group in QUEUES if group not in taken), 0)


def _wred(ecn: Ecn) -> Row:
    return {
        "ecn": "ecn_all",
        "green_drop_probability": str(ecn.max_percent),
        "green_max_threshold": str(ecn.max_bytes),
        "green_min_threshold": str(ecn.min_bytes),
        "wred_green_enable": "true",
    }


def _bindings(
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
    return rows


def _queues(used: Sequence[Port], qos: SwitchQos, lossless: bool) -> Table:
    shared: dict[tuple[str | None, int], Row] = {}
    for profile in (None, *qos.profiles):
        for c in qos.classes:
            row: Row = {"scheduler": c.name}
            if profile and profile.ecn and lossless and c.ecn:
                row["wred_profile"] = profile.name
            shared[profile.name if profile else None, c.priority] = row
    priorities = [c.priority for c in qos.classes]
    return {f"{port.name}|{p}": shared[port.profile, p] for port in used for p in priorities}


def _pools(pools: BufferPools, profiles: Iterable[PortProfile], platform: Platform) -> Tables:
    ingress: Row = {"mode": "dynamic", "size": str(pools.ingress_lossless_bytes), "type": "ingress"}
    if pools.headroom_bytes:
        ingress["xoff"] = str(pools.headroom_bytes)
    static = pools.egress_lossless_static if pools.egress_pool_static is None else pools.egress_pool_static
    mode = "static" if static else "dynamic"
    egress: Row = {"mode": mode, "size": str(pools.egress_lossless_bytes), "type": "egress"}
    limit = (
        {"static_th": str(pools.egress_lossless_limit_bytes or pools.egress_lossless_bytes)}
        if pools.egress_lossless_static
        else {"dynamic_th": LOSSLESS_DYNAMIC_TH}
    )
    rows: Table = {INGRESS_POOL: ingress, EGRESS_POOL: egress}
    lossy_pool = EGRESS_POOL
    if pools.egress_lossy_bytes is not None:
        lossy_pool = EGRESS_LOSSY_POOL
        rows[lossy_pool] = {"mode": "dynamic", "size": str(pools.egress_lossy_bytes), "type": "egress"}
    lossy_group = (
        {"dynamic_th": LOSSY_DYNAMIC_TH}
        if pools.lossy_ingress_limit_bytes is None
        else {"static_th": str(pools.lossy_ingress_limit_bytes)}
    )
    named: Table = {LOSSY_PG_PROFILE: {**lossy_group, "pool": INGRESS_POOL, "size": "0"}}
    if platform.mellanox:
        named[INGRESS_PORT_PROFILE] = {"dynamic_th": LOSSLESS_DYNAMIC_TH, "pool": INGRESS_POOL, "size": "0"}
    named[LOSSLESS_QUEUE_PROFILE] = {**limit, "pool": EGRESS_POOL, "size": "0"}
    named[LOSSY_QUEUE_PROFILE] = {
        "dynamic_th": lossy_exponent(pools),
        "pool": lossy_pool,
        "size": str(pools.lossy_egress_bytes),
    }
    named.update((pg_profile_name(profile), _pg_profile(profile)) for profile in profiles)
    return {"BUFFER_POOL": rows, "BUFFER_PROFILE": named}


def lossy_exponent(pools: BufferPools) -> str:
    """Exponent of alpha of lossy queues: the platform's, else that of the stock templates for Spectrum."""
    return LOSSY_DYNAMIC_TH if pools.lossy_egress_alpha is None else str(pools.lossy_egress_alpha)


def _trimming(trimming: Trimming) -> Row:
    """One code point and queue for all ports ("symmetric" in the design doc/packet_trimming of the SONiC project)."""
    return {
        "dscp_value": str(trimming.dscp),
        "queue_index": str(trimming.queue),
        "size": str(trimming.size_bytes),
    }


def pg_profile_name(profile: PortProfile) -> str:
    """The name buffermgrd (traditional model) would give the profile, so that it takes ours and makes none itself."""
    return f"pg_lossless_{profile.speed_gbps * 1000}_{profile.headroom.cable_m}m_profile"


def _pg_profile(profile: PortProfile) -> Row:
    headroom = profile.headroom
    row: Row = {
        "dynamic_th": str(headroom.dynamic_th),
        "pool": INGRESS_POOL,
        "size": str(headroom.size_bytes),
        "xoff": str(headroom.xoff_bytes),
        "xon": str(headroom.xon_bytes),
    }
    if headroom.xon_offset_bytes is not None:
        row["xon_offset"] = str(headroom.xon_offset_bytes)
    return row


def _buffers(
    used: Sequence[Port],
    lossless: Sequence[int],
    trimmed: Sequence[int],
    profiles: dict[str, PortProfile],
    platform: Platform,
) -> Tables:
    groups: Table = {}
    queues: Table = {}
    cables: Row = {}
    lossy_key = str(lossy_group(lossless))
    lossless_keys = ranges(lossless)
    lossy_keys = ranges([queue for queue in QUEUES if queue not in lossless and queue not in trimmed])
    every_key = ranges([queue for queue in QUEUES if queue not in trimmed])
    trim_keys = ranges(trimmed)
    lossy_pg: Row = {"profile": LOSSY_PG_PROFILE}
    lossless_pg: Table = {p.name: {"profile": pg_profile_name(p)} for p in profiles.values()}
    lossy_queue: Row = {"profile": LOSSY_QUEUE_PROFILE}
    lossless_queue: Row = {"profile": LOSSLESS_QUEUE_PROFILE}
    trim_queue: Row = {"profile": TRIM_QUEUE_PROFILE}
    for port in used:
        name, profile = port.name, port.profile
        groups[f"{name}|{lossy_key}"] = lossy_pg
        if profile:
            cables[name] = f"{profiles[profile].headroom.cable_m}m"
            for key in lossless_keys:
                groups[f"{name}|{key}"] = lossless_pg[profile]
                queues[f"{name}|{key}"] = lossless_queue
        for key in lossy_keys if profile else every_key:
            queues[f"{name}|{key}"] = lossy_queue
        for key in trim_keys:
            queues[f"{name}|{key}"] = trim_queue
    tables: Tables = {"BUFFER_PG": groups, "BUFFER_QUEUE": queues}
    if platform.mellanox:
        ingress: Row = {"profile_list": INGRESS_PORT_PROFILE}
        egress: Row = {"profile_list": EGRESS_PROFILES}
        tables["BUFFER_PORT_INGRESS_PROFILE_LIST"] = {port.name: ingress for port in used}
        tables["BUFFER_PORT_EGRESS_PROFILE_LIST"] = {port.name: egress for port in used}
    tables["CABLE_LENGTH"] = {MAP: cables} if cables else {}
    return tables


def ranges(numbers: Sequence[int]) -> list[str]:
    """Ascending numbers as SONiC's keys write them: `[3, 4, 6]` is `3-4` and `6`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
