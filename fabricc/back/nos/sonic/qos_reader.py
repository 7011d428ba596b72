"""Reads the lossless policy of a switch back from `config_db.json`: maps, queues, buffers and watchdog."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.nos.sonic.known import POOL_TYPES
from fabricc.back.nos.sonic.qos import (
    EGRESS_LOSSY_POOL,
    EGRESS_POOL,
    EGRESS_PROFILES,
    INGRESS_POOL,
    INGRESS_PORT_PROFILE,
    LOSSLESS_DYNAMIC_TH,
    LOSSLESS_QUEUE_PROFILE,
    LOSSY_PG_PROFILE,
    LOSSY_QUEUE_PROFILE,
    MAP,
    QUEUES,
    TRIM_QUEUE_PROFILE,
    lossy_group,
)
from fabricc.back.nos.sonic.reader import number
from fabricc.back.nos.sonic.reclaim import (
    ZERO_GROUP,
    ZERO_LOSSLESS,
    ZERO_POOL,
    ZERO_QUEUES,
    read_reclaimed,
    zero_profiles,
)
from fabricc.fabric.facts import boolean

if TYPE_CHECKING:
    from fabricc.back.nos.sonic.document import Row
    from fabricc.back.nos.sonic.reader import Source
    from fabricc.fabric.facts import Value

PROFILE_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
MELLANOX_TABLES = ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", *PROFILE_LISTS)
"""Tables that are there together or not at all."""
WRED_FACTS = {
    "green_min_threshold": "ecn_min_bytes",
    "green_max_threshold": "ecn_max_bytes",
    "green_drop_probability": "ecn_max_percent",
}
WATCHDOG_FIELDS = {"detection_time": "detect_ms", "restoration_time": "restore_ms", "action": "action"}

TRIMMING_FIELDS = {"size": "size_bytes", "dscp_value": "dscp", "queue_index": "queue"}


def read_qos(source: Source) -> None:
    """Everything about classes, queues and buffers."""
    _read_maps(source)
    _read_queues(source)
    _read_pools(source)
    bound = _read_bindings(source)
    lossy_pool = EGRESS_LOSSY_POOL if EGRESS_LOSSY_POOL in source.rows("BUFFER_POOL") else EGRESS_POOL
    lossy = str(lossy_group(map(int, _pfc_priorities(source))))
    shut = read_reclaimed(source, bound, zero_profiles(INGRESS_POOL, EGRESS_POOL, lossy_pool), lossy)
    _read_groups(source, bound, shut)
    _read_buffer_queues(source, bound, shut)
    _read_lists(source, bound, shut)
    _read_trimming(source, bound)
    for name, length in source.fields("CABLE_LENGTH", MAP):
        metres = number(length.removesuffix("m"))
        source.put(f"interface[{name}]/headroom/cable_m", metres, "CABLE_LENGTH", MAP, name)
    _read_watchdog(source, {name: priorities for name, priorities in bound.items() if priorities})


def _read_maps(source: Source) -> None:
    pfc = _pfc_priorities(source)
    for table, path in (
        ("DSCP_TO_TC_MAP", "qos/dscp[{}]/traffic_class"),
        ("TC_TO_QUEUE_MAP", "qos/traffic_class[{}]/queue"),
        ("MAP_PFC_PRIORITY_TO_QUEUE", "qos/pfc_priority[{}]/queue"),
    ):
        for field, value in source.fields(table, MAP):
            source.put(path.format(field), number(value), table, MAP, field)
    lossy = str(lossy_group(map(int, pfc)))
    for table, kind in (
        ("TC_TO_PRIORITY_GROUP_MAP", "traffic_class"),
        ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc_priority"),
    ):
        for field, group in source.fields(table, MAP):
            if field in pfc or group != lossy:
                source.put(f"qos/{kind}[{field}]/priority_group", number(group), table, MAP, field)

    if groups := dict(source.fields("TC_TO_PRIORITY_GROUP_MAP", MAP)):
        for traffic_class, _ in source.fields("TC_TO_QUEUE_MAP", MAP):
            if traffic_class not in groups:
                source.strange(
                    f"TC_TO_PRIORITY_GROUP_MAP|{MAP} without {traffic_class}", "TC_TO_PRIORITY_GROUP_MAP", MAP
                )


def _read_queues(source: Source) -> None:
    schedulers = {name: _scheduler(row) for name, row in source.rows("SCHEDULER").items()}
    marking = {
        name: [
            (WRED_FACTS[field], number(figure), field)
            for field, figure in source.fields("WRED_PROFILE", name)
            if field in WRED_FACTS
        ]
        for name in source.rows("WRED_PROFILE")
    }
    for key, row in source.rows("QUEUE").items():
        name, _, numbers = key.partition("|")
        scheduler, wred = row.get("scheduler"), row.get("wred_profile")
        for queue in expand(numbers):
            prefix = f"interface[{name}]/queue[{queue}]/"
            if isinstance(scheduler, str):
                value = schedulers.get(scheduler, f"missing {scheduler}")
                source.put(prefix + "scheduler", value, "QUEUE", key, "scheduler")
            if not isinstance(wred, str):
                continue
            if wred not in marking:
                source.strange(f"QUEUE|{key} wred_profile: {wred} is missing", "QUEUE", key, "wred_profile")
            for fact, figure, field in marking.get(wred, ()):
                source.put(prefix + fact, figure, "WRED_PROFILE", wred, field)


def _scheduler(row: Row) -> str:
    if row.get("type") == "STRICT":
        return "strict"
    return f"{str(row.get('type', '')).lower()} {row.get('weight', '')}"


def _read_pools(source: Source) -> None:
    pools = source.rows("BUFFER_POOL")
    for name, row in pools.items():
        if name == ZERO_POOL:
            continue
        if POOL_TYPES.get(name) != row.get("type"):
            source.strange(f"BUFFER_POOL|{name} type: {row.get('type')}", "BUFFER_POOL", name, "type")
            continue
        short = name.removesuffix("_pool")
        source.put(f"pool/{short}_bytes", number(str(row.get("size", ""))), "BUFFER_POOL", name, "size")
        source.put(f"pool/{short}_mode", str(row.get("mode", "")), "BUFFER_POOL", name, "mode")
        if name == INGRESS_POOL:
            headroom = number(str(row.get("xoff", "0")))
            source.put("pool/headroom_bytes", headroom, "BUFFER_POOL", name, "xoff")
    profiles = source.rows("BUFFER_PROFILE")
    if pools:
        _read_profiles(source, EGRESS_LOSSY_POOL in pools)
    for name, row in profiles.items():
        if "xoff" in row and row.get("pool") != INGRESS_POOL:
            source.strange(f"BUFFER_PROFILE|{name} pool: {row.get('pool')}", "BUFFER_PROFILE", name, "pool")


def _read_profiles(source: Source, lossy_pool: bool) -> None:
    """The profiles that do not depend on speed or cable: their thresholds, and that nothing else is in them."""
    profiles = source.rows("BUFFER_PROFILE")
    lossy = EGRESS_LOSSY_POOL if lossy_pool else EGRESS_POOL
    for name, fact, pool in (
        (LOSSY_PG_PROFILE, "lossy_group", INGRESS_POOL),
        (LOSSLESS_QUEUE_PROFILE, "lossless_queue", EGRESS_POOL),
        (LOSSY_QUEUE_PROFILE, "lossy_queue", lossy),
    ):
        row = profiles.get(name, {})
        for field, leaf in (("dynamic_th", "alpha"), ("static_th", "limit_bytes")):
            if isinstance(value := row.get(field), str):
                source.put(f"pool/{fact}_{leaf}", number(value), "BUFFER_PROFILE", name, field)
        if row.get("pool") != pool or len(row.keys() & {"dynamic_th", "static_th"}) != 1 or len(row) != 3:
            source.strange(
                f"BUFFER_PROFILE|{name} is no profile of {pool} with one threshold", "BUFFER_PROFILE", name
            )
        if name == LOSSY_QUEUE_PROFILE:
            size = number(str(row.get("size", "")))
            source.put("pool/lossy_queue_bytes", size, "BUFFER_PROFILE", name, "size")
        elif row.get("size") != "0":
            source.strange(f"BUFFER_PROFILE|{name} size: {row.get('size')}", "BUFFER_PROFILE", name, "size")
    for name, want in _copied_profiles(source).items():
        if profiles.get(name) != want:
            source.strange(f"BUFFER_PROFILE|{name} is not {want}", "BUFFER_PROFILE", name)


def _copied_profiles(source: Source) -> dict[str, Row]:
    """What the renderer makes of the profiles above where ports or trimming need it."""
    wanted: dict[str, Row] = {}
    profiles = source.rows("BUFFER_PROFILE")
    if PROFILE_LISTS[0] in source.tables:
        wanted[INGRESS_PORT_PROFILE] = {"dynamic_th": LOSSLESS_DYNAMIC_TH, "pool": INGRESS_POOL, "size": "0"}
    if "SWITCH_TRIMMING" in source.tables or TRIM_QUEUE_PROFILE in profiles:
        wanted[TRIM_QUEUE_PROFILE] = {
            **profiles.get(LOSSY_QUEUE_PROFILE, {}),
            "packet_discard_action": "trim",
        }
    return wanted


def _read_bindings(source: Source) -> dict[str, str]:
    """State trust and PFC of every port; answers the PFC priorities of each bound port, empty where it has none."""
    bound: dict[str, str] = {}
    group_maps = ["tc_to_pg_map", "pfc_to_queue_map"]
    if any(table in source.tables for table in MELLANOX_TABLES):
        group_maps.append("pfc_to_pg_map")
        for table in MELLANOX_TABLES:
            if table not in source.tables:
                source.strange(f"table {table} is missing", table)
    for name, row in source.rows("PORT_QOS_MAP").items():
        if name == "global":
            continue
        if "dscp_to_tc_map" in row:
            source.put(f"interface[{name}]/trust", "dscp", "PORT_QOS_MAP", name, "dscp_to_tc_map")
        priorities = row.get("pfc_enable")
        bound[name] = priorities if isinstance(priorities, str) else ""
        if bound[name]:
            source.put(f"interface[{name}]/pfc", bound[name], "PORT_QOS_MAP", name, "pfc_enable")
        for field in ("tc_to_queue_map", *(group_maps if bound[name] else ())):
            if field not in row:
                source.strange(f"PORT_QOS_MAP|{name} without {field} {MAP}", "PORT_QOS_MAP", name)
    return bound


def _read_groups(source: Source, bound: dict[str, str], shut: frozenset[str]) -> None:
    """State the headroom of every port; its lossless groups must be the priorities that PFC pauses."""
    lossless: dict[str, dict[int, str]] = {name: {} for name in bound}
    lossy: dict[str, list[str]] = {name: [] for name in bound}
    profiles = source.rows("BUFFER_PROFILE")
    for key, row in source.rows("BUFFER_PG").items():
        name, _, numbers = key.partition("|")
        profile = str(row.get("profile", ""))
        if profile == ZERO_GROUP and name in shut:
            continue
        if profile == LOSSY_PG_PROFILE:
            lossy.setdefault(name, []).append(numbers)
        elif "xoff" in profiles.get(profile, {}):
            lossless.setdefault(name, {}).update((group, profile) for group in expand(numbers))
            _put_headroom(source, f"interface[{name}]/headroom/", profiles[profile], profile)
        else:
            source.strange(f"BUFFER_PG|{key} profile: {profile}", "BUFFER_PG", key, "profile")
    if not source.rows("BUFFER_POOL"):
        return
    wanted_lossy = [str(lossy_group(map(int, _pfc_priorities(source))))]
    for name, groups in lossless.items():
        paused = bound.get(name, "")
        if not groups and paused and (profile := _reclaimed(source, name)):
            groups.update((int(group), profile) for group in paused.split(",") if group.isdecimal())
            _put_headroom(source, f"interface[{name}]/headroom/", profiles[profile], profile)
        if ",".join(map(str, sorted(groups))) != paused or len(set(groups.values())) > 1:
            source.strange(
                f"BUFFER_PG|{name}: the groups of one lossless profile are not PFC's {paused}", "BUFFER_PG"
            )
        if lossy.get(name) != wanted_lossy:
            source.strange(f"BUFFER_PG|{name}: the lossy group is not {wanted_lossy[0]} alone", "BUFFER_PG")


def _reclaimed(source: Source, port: str) -> str:
    """The profile that a port gets back when it is no longer shut.

    On Mellanox buffermgrd deletes the lossless groups of a port that is shut, if their profile has the name that it
    gives itself, and binds that profile anew later (`doSpeedUpdateTask` in sonic-swss `cfgmgr/buffermgr.cpp`).
    """
    row = source.rows("PORT").get(port, {})
    mellanox = any(table in source.tables for table in MELLANOX_TABLES)
    cable = source.rows("CABLE_LENGTH").get(MAP, {}).get(port)
    profile = f"pg_lossless_{row.get('speed')}_{cable}_profile"
    shut = row.get("admin_status", "down") == "down"
    return profile if mellanox and shut and profile in source.rows("BUFFER_PROFILE") else ""


def _pfc_priorities(source: Source) -> list[str]:
    priorities = {str(priority) for priority in QUEUES}
    return [field for field, _ in source.fields("MAP_PFC_PRIORITY_TO_QUEUE", MAP) if field in priorities]


def _put_headroom(source: Source, prefix: str, row: Row, profile: str) -> None:
    for field, fact in (
        ("xoff", "xoff_bytes"),
        ("xon", "xon_bytes"),
        ("size", "size_bytes"),
        ("xon_offset", "xon_offset_bytes"),
        ("dynamic_th", "dynamic_th"),
    ):
        if isinstance(value := row.get(field), str):
            source.put(prefix + fact, number(value), "BUFFER_PROFILE", profile, field)


def _read_buffer_queues(source: Source, bound: dict[str, str], shut: frozenset[str]) -> None:
    """The queues with a lossless buffer must be the priorities that PFC pauses, all others have a lossy one."""
    if not source.rows("BUFFER_POOL"):
        return
    queues: dict[str, dict[int, bool]] = {name: {} for name in bound}
    zero: dict[str, dict[int, bool]] = {name: {} for name in sorted(shut)}
    for key, row in source.rows("BUFFER_QUEUE").items():
        name, _, numbers = key.partition("|")
        profile = row.get("profile")
        if isinstance(profile, str) and profile in ZERO_QUEUES and name in shut:
            zero[name].update(dict.fromkeys(expand(numbers), profile == ZERO_LOSSLESS))
            continue
        if profile not in (LOSSLESS_QUEUE_PROFILE, LOSSY_QUEUE_PROFILE, TRIM_QUEUE_PROFILE):
            source.strange(f"BUFFER_QUEUE|{key} profile: {profile}", "BUFFER_QUEUE", key, "profile")
        for queue in expand(numbers):
            queues.setdefault(name, {})[queue] = profile == LOSSLESS_QUEUE_PROFILE
    wanted = {queue: str(queue) in _pfc_priorities(source) for queue in QUEUES}
    for name, kinds in zero.items():
        if kinds != wanted:
            source.strange(f"BUFFER_QUEUE|{name}: not every queue is without buffer", "BUFFER_QUEUE")
    for name, kinds in queues.items():
        paused = bound.get(name, "")
        if ",".join(str(queue) for queue in sorted(kinds) if kinds[queue]) != paused:
            source.strange(f"BUFFER_QUEUE|{name}: the lossless queues are not PFC's {paused}", "BUFFER_QUEUE")
        if sorted(kinds) != list(QUEUES):
            source.strange(f"BUFFER_QUEUE|{name}: not all of the eight queues", "BUFFER_QUEUE")


def _read_lists(source: Source, bound: dict[str, str], shut: frozenset[str]) -> None:
    """Every port in use has the profile lists that the renderer gives it."""
    for table, want in zip(PROFILE_LISTS, (INGRESS_PORT_PROFILE, EGRESS_PROFILES), strict=True):
        if table not in source.tables:
            continue
        for name in bound.keys() - source.rows(table).keys():
            source.strange(f"{table}|{name} is missing", table)
        for name, row in source.rows(table).items():
            if name not in shut and row.get("profile_list") != want:
                source.strange(f"{table}|{name} is not {want}", table, name, "profile_list")


def _read_trimming(source: Source, bound: dict[str, str]) -> None:
    """State what trimming leaves of packets, and the queues it serves, which must be the same on all ports."""
    trimmed: dict[str, set[int]] = {name: set() for name in bound}
    place = ""
    for key, row in source.rows("BUFFER_QUEUE").items():
        name, _, numbers = key.partition("|")
        if row.get("profile") == TRIM_QUEUE_PROFILE:
            place = place or key
            trimmed.setdefault(name, set()).update(expand(numbers))
    settings = {field for field, _ in source.fields("SWITCH_TRIMMING", "GLOBAL")}
    if not settings and not any(trimmed.values()):
        return
    for field, fact in TRIMMING_FIELDS.items():
        value = source.rows("SWITCH_TRIMMING").get("GLOBAL", {}).get(field, "missing")
        source.put(f"trimming/{fact}", number(str(value)), "SWITCH_TRIMMING", "GLOBAL", field)
    first = min(trimmed, default="")
    everywhere = trimmed.get(first, set())
    source.put("trimming/queues", ",".join(map(str, sorted(everywhere))), "BUFFER_QUEUE", place)
    for name, queues in trimmed.items():
        if queues != everywhere:
            source.strange(f"BUFFER_QUEUE|{name}: other queues are trimmed than of {first}", "BUFFER_QUEUE")


def _read_watchdog(source: Source, guarded: dict[str, str]) -> None:
    rows = source.rows("PFC_WD")
    poll = rows.get("GLOBAL", {}).get("POLL_INTERVAL")
    if isinstance(poll, str):
        source.put("watchdog/poll_ms", number(poll), "PFC_WD", "GLOBAL", "POLL_INTERVAL")
    reference = next((row for name, row in rows.items() if name != "GLOBAL"), None)
    for name, priorities in guarded.items():
        watched = source.rows("PORT_QOS_MAP")[name].get("pfcwd_sw_enable")
        row = rows.get(name)
        value: Value = boolean(row is not None and watched == priorities)
        if row is not None and row != reference:
            value = ", ".join(f"{field} {setting}" for field, setting in sorted(row.items()))
        table = "PORT_QOS_MAP" if row is None else "PFC_WD"
        source.put(f"interface[{name}]/watchdog", value, table, name)
    for name in rows:
        if name != "GLOBAL" and name not in guarded:
            source.strange(f"PFC_WD|{name}: no PFC on this port", "PFC_WD", name)
    if reference is not None:
        first = next(name for name in rows if name != "GLOBAL")
        for field, fact in WATCHDOG_FIELDS.items():
            if isinstance(setting := reference.get(field), str):
                source.put(f"watchdog/{fact}", number(setting), "PFC_WD", first, field)


@lru_cache(maxsize=256)
def expand(numbers: str) -> range:
    """The numbers of a key's last part, `3` or `3-4`; none when it is neither."""
    first, _, last = numbers.partition("-")
    low, high = number(first), number(last or first)
    if isinstance(low, int) and isinstance(high, int) and 0 <= low <= high < 64:
        return range(low, high + 1)
    return range(0)
