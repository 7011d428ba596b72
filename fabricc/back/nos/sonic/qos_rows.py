"""Read back the lossless policy of SONiC: rows of tables, and their combined statements about ports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic import qos, reclaim
from fabricc.back.nos.sonic.buffers import has_table, state_groups, state_lists, state_pools, state_queues
from fabricc.back.nos.sonic.config_db import (
    demand_row,
    fields_of,
    flat_table,
    kept_fields,
    key_line,
    line_of,
    profile_bindings,
    put_field,
    report_strange,
    require_fields,
    rows_of,
    state_fields,
    table_block,
    table_scope,
    value_of,
)
from fabricc.back.nos.sonic.words import MAP, expand_range, parse_number
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Scope, Silent, Topic
from fabricc.back.reading import Row as PatternRow
from fabricc.fabric.facts import Value, format_boolean
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_TRIMMING = {"size": "size_bytes", "dscp_value": "dscp", "queue_index": "queue"}
_WRED = {
    "green_min_threshold": "ecn_min_bytes",
    "green_max_threshold": "ecn_max_bytes",
    "green_drop_probability": "ecn_max_percent",
}
_PROFILE = ("dynamic_th", "static_th", "pool", "size", "xoff", "xon", "xon_offset", "packet_discard_action")
_STATED = {"WRED_PROFILE": {"ecn": "ecn_all", "wred_green_enable": "true"}}
_COLORS = (
    "wred_yellow_enable", "yellow_min_threshold", "yellow_max_threshold", "yellow_drop_probability",
    "wred_red_enable", "red_min_threshold", "red_max_threshold", "red_drop_probability",
)  # fmt: skip
"""Of packets that a policer has colored, which no fabric has."""
_MARKING = frozenset({"ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"})
"""Modes of `ecn` in which what no policer has colored is marked; in others it is dropped."""
_SHAPED = ("cbs", "cir", "meter_type", "pbs", "pir", "priority")
_OTHER_MAPS = (
    "DOT1P_TO_TC_MAP", "DSCP_TO_FC_MAP", "EXP_TO_FC_MAP", "MPLS_TC_TO_TC_MAP", "TC_TO_DOT1P_MAP",
    "TC_TO_DSCP_MAP",
)  # fmt: skip
_OTHER_BINDINGS = (
    "dot1p_to_tc_map", "dscp_to_fc_map", "exp_to_fc_map", "mpls_tc_to_tc_map", "scheduler", "tc_to_dot1p_map",
    "tc_to_dscp_map",
)  # fmt: skip
_GROUP_MAPS = ("tc_to_pg_map", "pfc_to_queue_map", "pfc_to_pg_map")
_BINDING = {
    "DSCP_TO_TC_MAP": "dscp_to_tc_map", "TC_TO_QUEUE_MAP": "tc_to_queue_map",
    "TC_TO_PRIORITY_GROUP_MAP": "tc_to_pg_map", "MAP_PFC_PRIORITY_TO_QUEUE": "pfc_to_queue_map",
    qos.PFC_GROUPS: "pfc_to_pg_map",
}  # fmt: skip
"""Table of maps -> field by which a port has one of them."""


_TABLE_OF = {field: table for table, field in _BINDING.items()}


def _map_row(name: str, fields: PatternRow, *bound: PatternRow) -> PatternRow:
    """Return a table whose fields are numbers or ports; fabricc binds its row `AZURE`, and those of `bound`."""
    others = Block("<word>", "row", (Entry("<word> <word>", "map"),))
    return Block(name, name, (Block(MAP, "map", (fields,)), *bound, others))


_MAPS = ("TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_PRIORITY_GROUP_MAP", qos.PFC_GROUPS)


def _to_meters(text: str) -> Value:
    return parse_number(text.removesuffix("m"))


TYPES = {"metres": _to_meters}

ROWS: tuple[PatternRow, ...] = (
    _map_row("DSCP_TO_TC_MAP",
        Fact("<word> <number>", "qos/dscp[{0}]/traffic_class"),
        Block(qos.UNTRUSTED, "untrusted", (Entry("<word> <number>", "map"),)),
    ),
    *(_map_row(name, Entry("<word> <number>", "map")) for name in _MAPS),
    _map_row("CABLE_LENGTH", Entry("<word> <metres>", "map")),
    table_block("SCHEDULER", *kept_fields("type", "weight", *_SHAPED)),
    table_block("WRED_PROFILE",
        *kept_fields(*_STATED["WRED_PROFILE"]),
        *(Keep(f"{field} <number>", leaf) for field, leaf in _WRED.items()),
        *kept_fields(*_COLORS),
    ),
    table_block("PORT_QOS_MAP",
        *kept_fields("dscp_to_tc_map", "pfc_enable", "pfcwd_sw_enable", "tc_to_queue_map", *_GROUP_MAPS,
            *_OTHER_BINDINGS),
    ),
    *(_map_row(name, Entry("<word> <number>", "map")) for name in _OTHER_MAPS),
    table_block("QUEUE", *kept_fields("scheduler", "wred_profile")),
    table_block("BUFFER_POOL", *kept_fields("mode", "percentage", "size", "type", "xoff")),
    table_block("BUFFER_PROFILE", *kept_fields(*_PROFILE, "headroom_type", "mode")),
    *(flat_table(name) for name in ("BUFFER_PG", "BUFFER_QUEUE", *qos.PROFILE_LISTS)),
    table_block("PFC_WD",
        *(Keep(f"{field} <number>", field) for field in (*qos.WATCHDOG, "POLL_INTERVAL")),
        Silent("pfc_stat_history <word>"),
    ),
    table_block("SWITCH_TRIMMING", *(Keep(f"{field} <number>", leaf) for field, leaf in _TRIMMING.items())),
    table_block("FLEX_COUNTER_TABLE",
        *kept_fields("FLEX_COUNTER_STATUS"),
        Silent("(BULK_CHUNK_SIZE|BULK_CHUNK_SIZE_PER_PREFIX|FLEX_COUNTER_DELAY_STATUS|POLL_INTERVAL) <word>"),
    ),
)  # fmt: skip


def finish(document: Document) -> None:
    """State queues and buffers of every port, and list what contradicts the rest of them."""
    require_fields(document, _STATED)
    demand_row(document, "PORT_QOS_MAP", "global")
    pfc = _finish_maps(document)
    _finish_queues(document, pfc)
    state_pools(document)
    bound = _finish_bindings(document)
    group = str(qos.lossy_group(map(int, pfc)))
    zero = reclaim.zero_profiles(
        qos.INGRESS_POOL, qos.EGRESS_POOL, qos.lossy_pool(rows_of(document, "BUFFER_POOL"))
    )
    groups, queues = profile_bindings(document, "BUFFER_PG"), profile_bindings(document, "BUFFER_QUEUE")
    shut = reclaim.read_reclaimed(document, groups, bound, zero, group)
    lengths = _map_of(document, "CABLE_LENGTH")
    state_groups(document, groups, bound, shut, group, lengths)
    state_queues(document, queues, bound, shut, pfc)
    state_lists(document, bound, shut)
    _finish_trimming(document, queues, bound)
    for name, stored in lengths.items():
        document.put(f"interface[{name}]/headroom/cable_m", *stored)
    _finish_watchdog(document, {name: priorities for name, priorities in bound.items() if priorities})
    put_field(document, "counter[ecn_marks]", "FLEX_COUNTER_TABLE", qos.MARKS_GROUP, "FLEX_COUNTER_STATUS")


def _map_of(document: Document, name: str) -> Mapping[str, tuple[Value, int]]:
    """Return the fields of the row of a map that is bound; where none has fabricc's name, of that of most ports."""
    bound = table_scope(document, name).scopes.get("map", {}).get("")
    if bound is None and (rows := rows_of(document, name)):
        ports = rows_of(document, "PORT_QOS_MAP").values() if name in _BINDING else ()
        used = Counter(value_of(port, _BINDING[name]) for port in ports)
        entries = rows[max(rows, key=lambda row: used[row])].table("map")
        return {str(field): (_to_meters(str(value)), line) for field, (value, line) in entries.items()}
    return bound.table("map") if bound else {}  # type: ignore[return-value]


def _put_map(document: Document, path: str, table: Mapping[Any, tuple[Value, int]], line: int) -> None:
    """State a whole map as text."""
    if table:
        text = ",".join(f"{field}:{value}" for field, (value, _) in table.items())
        document.put(path, text, line or next(iter(table.values()))[1])


def _finish_maps(document: Document) -> list[str]:
    """State the maps; the priorities that PFC pauses."""
    for name in ("DSCP_TO_TC_MAP", *_MAPS, "CABLE_LENGTH", *_OTHER_MAPS):
        for key, row in rows_of(document, name).items():
            report_strange(document, row.line, f"{name}|{key}: no port uses this map")
            _put_map(document, f"qos/map[{name} {key}]", row.table("map"), row.line)
        if name in _OTHER_MAPS:
            _put_map(document, f"qos/map[{name} {MAP}]", _map_of(document, name), 0)
    for field, stored in _map_of(document, "DSCP_TO_TC_MAP").items():
        document.put(f"qos/dscp[{field}]/traffic_class", *stored)
    queues = _map_of(document, "TC_TO_QUEUE_MAP")
    paused = _map_of(document, "MAP_PFC_PRIORITY_TO_QUEUE")
    for kind, fields in (("traffic_class", queues), ("pfc_priority", paused)):
        for field, stored in fields.items():
            document.put(f"qos/{kind}[{field}]/queue", *stored)
    known = {str(priority) for priority in qos.QUEUES}
    pfc = [field for field in paused if field in known]
    lossy = qos.lossy_group(map(int, pfc))
    groups = _map_of(document, "TC_TO_PRIORITY_GROUP_MAP")
    for kind, fields in (("traffic_class", groups), ("pfc_priority", _map_of(document, qos.PFC_GROUPS))):
        for field, (group, line) in fields.items():
            if field in pfc or group != lossy:
                document.put(f"qos/{kind}[{field}]/priority_group", group, line)
    bound = table_scope(document, "TC_TO_PRIORITY_GROUP_MAP").scopes.get("map", {}).get("")
    for field in queues.keys() - groups.keys() if groups else ():
        line = bound.line if bound else next(iter(groups.values()))[1]
        report_strange(
            document, line, f"TC_TO_PRIORITY_GROUP_MAP{f'|{MAP}' if bound else ''} without {field}"
        )
    for name, field in _BINDING.items():
        own = table_scope(document, name).scopes.get("map", {}).get("")
        direct = name == "DSCP_TO_TC_MAP" and any(
            path.startswith("qos/dscp[") for path in document.reading.facts
        )
        if own is not None and not own.table("map") and not direct:
            document.put(f"unread[{field} {MAP}]", f"{name}|{MAP} is empty", own.line)
    return pfc


def _finish_queues(document: Document, pfc: Iterable[str]) -> None:
    paused = _map_of(document, "MAP_PFC_PRIORITY_TO_QUEUE")
    stopped = {str(paused[each][0]) for each in pfc if each in paused}
    schedulers = {
        name: (
            _scheduler_text(row),
            line_of(row, next((each for each in _SHAPED if each in row.values), _shares_field(row))),
        )
        for name, row in rows_of(document, "SCHEDULER").items()
    }
    queues = rows_of(document, "QUEUE")
    uses = Counter((key.rpartition("|")[2], value_of(row, "scheduler")) for key, row in queues.items())
    usual = {queue: name for (queue, name), _ in reversed(uses.most_common())}
    profiles = rows_of(document, "WRED_PROFILE")
    marking = {name: _marking_facts(row) for name, row in profiles.items()}
    speeds = {name: value_of(row, "speed_gbps") for name, row in rows_of(document, "PORT").items()}
    marked = Counter((_queue_kind(key, speeds), value_of(row, "wred_profile")) for key, row in queues.items())
    usual_marking = {kind: name for (kind, name), _ in reversed(marked.most_common())}
    for name, row in profiles.items():
        state_fields(document, f"qos/wred[{name}]/setting", row, *_COLORS)
    for key, row in queues.items():
        name, _, numbers = key.rpartition("|")
        paths, wred = port_paths(name), value_of(row, "wred_profile")
        if wred and wred not in marking and expand_range(numbers):
            text = f"QUEUE|{key} wred_profile: {wred} is missing"
            report_strange(document, line_of(row, "wred_profile"), text)
            document.put(paths[f"qos_setting[queue {numbers} marking]"], f"missing {wred}", row.line)
            _state_missing(document, "wred_profile", wred, "WRED_PROFILE", line_of(row, "wred_profile"))
        for queue in expand_range(numbers):
            if not wred and str(queue) in stopped:  # the place of the marking that it lacks
                unmarked = paths[f"queue[{queue}]/ecn_min_bytes"]
                document.reading.lines[unmarked] = document.file, line_of(row, "scheduler")
            if "scheduler" in row.values:
                scheduler, line = row.values["scheduler"]
                if scheduler not in schedulers:
                    _state_missing(document, "scheduler", str(scheduler), "SCHEDULER", line)
                value, defined = schedulers.get(str(scheduler), (f"missing {scheduler}", line))
                place = (
                    defined if scheduler == usual[numbers] else line
                )  # of a port that differs, the reference
                document.put(paths[f"queue[{queue}]/scheduler"], value, place)
            for leaf, figure, line in marking.get(wred, ()):
                marks = leaf != "drop_min_bytes"
                place = line if marks else _unmarked_line(profiles[wred])
                if wred != usual_marking[_queue_kind(key, speeds)]:
                    place = line_of(row, "wred_profile")
                document.put(paths[f"queue[{queue}]/{leaf}"], figure, place)
                if not marks:  # the line by which it does not mark
                    document.reading.lines[paths[f"queue[{queue}]/ecn_min_bytes"]] = document.file, place
    _place_missing_queues(document, queues)


def _queue_kind(key: str, speeds: Mapping[str, str]) -> tuple[str, str]:
    """Return the numbers of a row of QUEUE and the speed of its port: such rows have one profile."""
    name, _, numbers = key.rpartition("|")
    return numbers, speeds.get(name, "")


def _place_missing_queues(document: Document, queues: Mapping[str, Scope]) -> None:
    """Place what a port lacks of a queue that others have at the port's own rows, not at the definitions of others."""
    own: dict[str, list[tuple[int, Scope]]] = {}
    for key, row in queues.items():
        name, _, numbers = key.rpartition("|")
        own.setdefault(name, []).extend((queue, row) for queue in expand_range(numbers))
    every = {queue for found in own.values() for queue, _ in found}
    for name, found in own.items():
        for queue in every - {queue for queue, row in found if row.values} if found else ():
            line = min(found, key=lambda each: abs(each[0] - queue))[1].line
            for leaf in ("scheduler", *_WRED.values()):
                document.reading.lines.setdefault(
                    port_paths(name)[f"queue[{queue}]/{leaf}"], (document.file, line)
                )


def _state_missing(document: Document, field: str, name: str, table: str, line: int) -> None:
    """State once that a field names a row that its table does not have.

    A file without the table is a part of one, unless it has the tables of the device and of its ports.
    """
    path = f"unread[{field} {name}]"
    whole = all(has_table(document, each) for each in ("DEVICE_METADATA", "PORT"))
    if path not in document.reading.facts and (whole or has_table(document, table)):
        document.put(path, f"{table} has no such row", line)


def _marking_facts(row: Scope) -> list[tuple[str, Value, int]]:
    """Return the queue facts of a profile: start and maximum of marking, or dropping if it does not mark."""
    marks = (
        value_of(row, "ecn", "ecn_none") in _MARKING and value_of(row, "wred_green_enable", "false") == "true"
    )
    leaves = [leaf for leaf in _WRED.values() if leaf in row.values]
    return [(leaf if marks else leaf.replace("ecn_", "drop_"), *row.values[leaf]) for leaf in leaves]


def _unmarked_line(row: Scope) -> int:
    """Return the line by which a profile does not mark: its mode, or that packets without a color are left out."""
    return line_of(row, "wred_green_enable" if value_of(row, "ecn", "ecn_none") in _MARKING else "ecn")


def _shares_field(row: Scope) -> str:
    """Return the field that decides the share of a scheduler: its weight, or its type where that has none."""
    return "weight" if value_of(row, "type") in ("DWRR", "WRR") and "weight" in row.values else "type"


def _scheduler_text(row: Scope) -> str:
    shaped = "".join(f" {field} {value_of(row, field)}" for field in _SHAPED if field in row.values)
    if value_of(row, "type") == "STRICT":
        return f"strict{shaped}"
    return f"{value_of(row, 'type').lower()} {value_of(row, 'weight')}{shaped}"


def _finish_bindings(document: Document) -> dict[str, str]:
    """State trust and PFC of every port; the PFC priorities of each bound port, empty where it has none."""
    bound: dict[str, str] = {}
    mellanox = [name for name in qos.MELLANOX_TABLES if has_table(document, name)]
    for name in qos.MELLANOX_TABLES if mellanox else ():
        if name not in mellanox:
            report_strange(document, 1, f"table {name} is missing")
    wanted = ("tc_to_queue_map", *(_GROUP_MAPS if mellanox else _GROUP_MAPS[:-1]))
    trusts = {MAP: "dscp", qos.UNTRUSTED: _untrusted_kind(document)}
    for name, row in rows_of(document, "PORT_QOS_MAP").items():
        stored = value_of(row, "dscp_to_tc_map")
        if stored not in trusts or (name == "global" and stored != MAP):
            wrong = f"dscp_to_tc_map: {stored}" if stored else f"without dscp_to_tc_map {MAP}"
            report_strange(document, line_of(row, "dscp_to_tc_map"), f"PORT_QOS_MAP|{name} {wrong}")
        _put_bindings(document, name, row)
        if name == "global":
            continue
        if stored in trusts:
            document.put(f"interface[{name}]/trust", trusts[stored], line_of(row, "dscp_to_tc_map"))
        bound[name] = value_of(row, "pfc_enable")
        if "pfc_enable" in row.values:
            document.put(f"interface[{name}]/pfc", *row.values["pfc_enable"])
        for field in wanted if bound[name] else wanted[:1]:
            if value_of(row, field) != MAP:
                report_strange(document, row.line, f"PORT_QOS_MAP|{name} without {field} {MAP}")
    return bound


def _put_bindings(document: Document, port: str, row: Scope) -> None:
    """State the maps of a port other than those with fabricc's name; its trust follows from the map's field."""
    path = "qos/setting" if port == "global" else f"interface[{port}]/qos_setting"
    for field in ("dscp_to_tc_map", "tc_to_queue_map", *_GROUP_MAPS, *_OTHER_BINDINGS):
        stored, line = row.values.get(field, (MAP, 0))
        if stored not in (MAP, qos.UNTRUSTED) or (line and field in _OTHER_BINDINGS):
            document.put(f"{path}[{field}]", str(stored), line)
            table = _TABLE_OF.get(field)
            if table and stored not in (MAP, qos.UNTRUSTED) and stored not in rows_of(document, table):
                _state_missing(document, field, str(stored), table, line)
        elif line and field in _TABLE_OF and "map" not in table_scope(document, _TABLE_OF[field]).scopes:
            bound = {value_of(each, field) for each in rows_of(document, "PORT_QOS_MAP").values()} - {""}
            spare = [each.line for each in rows_of(document, _TABLE_OF[field]).values() if bound == {MAP}]
            _state_missing(document, field, MAP, _TABLE_OF[field], next(iter(spare), line))
    stored = value_of(row, "dscp_to_tc_map", MAP)
    if port != "global" and stored not in (MAP, qos.UNTRUSTED):
        kept = _keeps_lossless_classes(document, stored, value_of(row, "pfc_enable"))
        trust = "dscp" if kept else "other-map"
        document.put(f"{path.removesuffix('qos_setting')}trust", trust, line_of(row, "dscp_to_tc_map"))


def _keeps_lossless_classes(document: Document, name: str, priorities: str) -> bool:
    """Return whether another map of code points leads into the lossless classes too, as far as it is stated."""
    found = rows_of(document, "DSCP_TO_TC_MAP").get(name)
    if found is None:
        return True
    facts = document.reading.facts
    usual = {(str(dscp), str(facts.get(f"qos/dscp[{dscp}]/traffic_class"))) for dscp in range(64)}
    mine = {(str(dscp), str(value)) for dscp, (value, _) in found.table("map").items()}
    return all(
        any(pair[1] == priority for pair in usual & mine)
        for priority in priorities.split(",")
        if any(pair[1] == priority for pair in usual)
    )


def _untrusted_kind(document: Document) -> str:
    """Return what ports of that map trust: nothing, where all code points go where most do, to the default class."""
    found = table_scope(document, "DSCP_TO_TC_MAP").scopes.get("untrusted", {}).get("")
    classes = [value for value, _ in found.table("map").values()] if found else []
    read = document.reading.facts
    every = Counter(read.get(f"qos/dscp[{dscp}]/traffic_class") for dscp in range(64))
    usual = every.most_common(1)[0][0]
    return "none" if len(classes) == 64 and set(classes) == {usual} else "something"


def _finish_trimming(document: Document, found: reclaim.Bindings, bound: Mapping[str, str]) -> None:
    """State what trimming leaves of packets, and the queues it serves, which must be the same on all ports."""
    trimmed: dict[str, set[int]] = {name: set() for name in bound}
    place = 0
    for name, numbers, profile, line in found:
        if profile == qos.TRIM_QUEUE_PROFILE:
            place = place or key_line(document, f"{name}|{numbers}", line)
            trimmed.setdefault(name, set()).update(expand_range(numbers))
    requested = rows_of(document, "SWITCH_TRIMMING").get("GLOBAL", Scope(1))
    if not requested.values and not any(trimmed.values()):
        return
    for leaf in _TRIMMING.values():
        document.put(f"trimming/{leaf}", *requested.values.get(leaf, ("missing", requested.line)))
    first = min(trimmed, default="")
    everywhere = trimmed.get(first, set())
    line = place or table_scope(document, "BUFFER_QUEUE").line
    document.put("trimming/queues", ",".join(map(str, sorted(everywhere))), line)
    for name, queues in trimmed.items():
        if queues != everywhere:
            report_strange(document, line, f"BUFFER_QUEUE|{name}: other queues are trimmed than of {first}")


def _finish_watchdog(document: Document, guarded: Mapping[str, str]) -> None:
    rows, bindings = dict(rows_of(document, "PFC_WD")), rows_of(document, "PORT_QOS_MAP")
    rows.pop("GLOBAL", None)
    put_field(document, "watchdog/poll_ms", "PFC_WD", "GLOBAL", "POLL_INTERVAL")
    # the watchdog had no field of its own (sonic-swss 2010, qosorch.cpp: pfcwd_sw_enable)
    version = rows_of(document, "VERSIONS").get("DATABASE")
    old = version is not None and value_of(version, "VERSION").startswith("version_1_")
    usual = Counter(str(fields_of(row)) for row in rows.values())
    reference = max(rows.values(), key=lambda row: usual[str(fields_of(row))], default=None)
    for name, priorities in guarded.items():
        row = rows.get(name)
        watched = value_of(bindings[name], "pfcwd_sw_enable", priorities if old else "") == priorities
        value: Value = format_boolean(row is not None and watched)
        if row and reference and fields_of(row) != fields_of(reference):
            value = ", ".join(f"{field} {setting}" for field, setting in sorted(fields_of(row).items()))
        enabled = "pfcwd_sw_enable" if "pfcwd_sw_enable" in bindings[name].values else "pfc_enable"
        line = line_of(bindings[name], enabled)
        if row and reference and watched:
            odd = (each for each in row.values if value_of(row, each) != value_of(reference, each))
            line = line_of(row, next(odd, ""))
        elif reference and watched:  # only the row is missing
            line = table_scope(document, "PFC_WD").line
        document.put(f"interface[{name}]/watchdog", value, line)
    for name, row in rows.items():
        if name not in guarded:
            report_strange(document, row.line, f"PFC_WD|{name}: no PFC on this port")
    for field, leaf in qos.WATCHDOG.items() if reference else ():
        if reference and field in reference.values:
            document.put(f"watchdog/{leaf}", *reference.values[field])


TOPIC = Topic(ROWS, finish)
