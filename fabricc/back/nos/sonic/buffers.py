"""Buffers of SONiC read back: pools, profiles, and what groups and queues of ports have of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.sonic import config_db, qos, reclaim
from fabricc.back.nos.sonic.words import expand_range, parse_number
from fabricc.back.reading import Document, Scope
from fabricc.base.numbers import is_number
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.fabric.facts import Value

    Lengths = Mapping[str, tuple[Value, int]]

_POOL_TYPES = {qos.INGRESS_POOL: "ingress", qos.EGRESS_POOL: "egress", qos.EGRESS_LOSSY_POOL: "egress"}

_HEADROOM = {
    "xoff": "xoff_bytes", "xon": "xon_bytes", "size": "size_bytes", "xon_offset": "xon_offset_bytes",
    "dynamic_th": "dynamic_th",
}  # fmt: skip


def _put_number(document: Document, path: str, row: Scope, field: str, default: str = "") -> None:
    """State a number of a row, at its line if there is one; nothing where it has none, nor what holds without."""
    if default or field in row.values:
        document.put(
            path, parse_number(config_db.value_of(row, field, default)), config_db.line_of(row, field)
        )


def state_pools(document: Document) -> None:
    """State pools and the profiles of buffers."""
    pools, profiles = (
        config_db.rows_of(document, "BUFFER_POOL"),
        config_db.rows_of(document, "BUFFER_PROFILE"),
    )
    for name, row in pools.items():
        if name == reclaim.ZERO_POOL:
            continue
        kind = config_db.value_of(row, "type", "None")
        if _POOL_TYPES.get(name) != kind:
            config_db.report_strange(
                document, config_db.line_of(row, "type"), f"BUFFER_POOL|{name} type: {kind}"
            )
            _put_buffer(document, f"buffer_pool[{name}]/", row)
            continue
        short = name.removesuffix("_pool")
        _put_number(document, f"pool/{short}_bytes", row, "size")
        document.put(f"pool/{short}_mode", config_db.value_of(row, "mode"), config_db.line_of(row, "mode"))
        if name == qos.INGRESS_POOL:
            _put_number(document, "pool/headroom_bytes", row, "xoff", "0")
    if pools:
        _finish_profiles(document)
    for name, row in profiles.items():
        pool = config_db.value_of(row, "pool", "None")
        if "xoff" in row.values and pool != qos.INGRESS_POOL:
            config_db.report_strange(
                document, config_db.line_of(row, "pool"), f"BUFFER_PROFILE|{name} pool: {pool}"
            )
            _put_buffer(document, f"buffer_profile[{name}]/", row)
        if "xoff" not in row.values and name not in _PLANNED_PROFILES:
            _put_buffer(document, f"buffer_profile[{name}]/", row)


_BUFFER_LEAVES = {
    "pool": "pool", "type": "type", "mode": "mode", "size": "size_bytes", "xoff": "xoff_bytes", "xon": "xon_bytes",
    "xon_offset": "xon_offset_bytes", "dynamic_th": "dynamic_th", "static_th": "static_th_bytes",
    "percentage": "percent", "headroom_type": "headroom_type", "packet_discard_action": "discard_action",
}  # fmt: skip

_PLANNED_PROFILES = frozenset({
    qos.LOSSY_PG_PROFILE, qos.INGRESS_PORT_PROFILE, qos.LOSSLESS_QUEUE_PROFILE, qos.LOSSY_QUEUE_PROFILE,
    qos.TRIM_QUEUE_PROFILE, reclaim.ZERO_GROUP, *reclaim.ZERO_QUEUES, *reclaim.ZERO_LISTS.values(),
})  # fmt: skip
"""Profiles whose facts have their own names, or profiles of planned switches without a fact."""


def _put_buffer(document: Document, prefix: str, row: Scope) -> None:
    """State a pool or profile that no planned switch has, as it stands."""
    for field, (value, line) in row.values.items():
        leaf = _BUFFER_LEAVES[field]
        text = leaf in ("pool", "type", "mode", "headroom_type", "discard_action")
        document.put(prefix + leaf, str(value) if text else parse_number(str(value)), line)


def _finish_profiles(document: Document) -> None:
    """The profiles that do not depend on speed or cable: their thresholds, and that nothing else is in them."""
    profiles, missing = (
        config_db.rows_of(document, "BUFFER_PROFILE"),
        config_db.table_scope(document, "BUFFER_PROFILE"),
    )
    lossy = qos.lossy_pool(config_db.rows_of(document, "BUFFER_POOL"))
    pools = {
        qos.LOSSY_PG_PROFILE: qos.INGRESS_POOL,
        qos.LOSSLESS_QUEUE_PROFILE: qos.EGRESS_POOL,
        qos.LOSSY_QUEUE_PROFILE: lossy,
    }
    for name, pool in pools.items():
        row = profiles.get(name, Scope(missing.line))
        for field, leaf in qos.THRESHOLDS.items():
            if field in row.values:
                _put_number(document, f"{qos.SHARED[name]}_{leaf}", row, field)
        one = len(row.values.keys() & qos.THRESHOLDS.keys()) == 1 and len(row.values) == 3
        if config_db.value_of(row, "pool") != pool or not one:
            text = f"BUFFER_PROFILE|{name} is not a profile of {pool} with one threshold"
            config_db.report_strange(document, row.line, text)
            _put_buffer(document, f"buffer_profile[{name}]/", row)
        size = config_db.value_of(row, "size", "None")
        if name == qos.LOSSY_QUEUE_PROFILE:
            _put_number(document, "pool/lossy_queue_bytes", row, "size")
        elif size != "0":
            config_db.report_strange(
                document, config_db.line_of(row, "size"), f"BUFFER_PROFILE|{name} size: {size}"
            )
    wanted: config_db.Table = {}
    if has_table(document, next(iter(qos.PROFILE_LISTS))):
        wanted[qos.INGRESS_PORT_PROFILE] = qos.INGRESS_PORT
    if has_table(document, "SWITCH_TRIMMING") or qos.TRIM_QUEUE_PROFILE in profiles:
        plain = profiles.get(qos.LOSSY_QUEUE_PROFILE)
        wanted[qos.TRIM_QUEUE_PROFILE] = {**(config_db.fields_of(plain) if plain else {}), **qos.TRIMS}
    config_db.demand_rows(document, "BUFFER_PROFILE", wanted)


def has_table(document: Document, name: str) -> bool:
    """Return whether the file has a table."""
    return name in document.scope.scopes


def state_groups(
    document: Document,
    found: reclaim.Bindings,
    bound: Mapping[str, str],
    shut: frozenset[str],
    lossy_key: str,
    lengths: Lengths,
) -> None:
    """State the headroom of every port; its lossless groups must be the priorities that PFC pauses."""
    lossless: dict[str, dict[int, str]] = {name: {} for name in bound}
    lossy: dict[str, list[str]] = {name: [] for name in bound}
    headrooms = {
        name: [(f"headroom/{leaf}", *_row_figure(row, field)) for field,
            leaf in _HEADROOM.items() if field in row.values]
        for name, row in config_db.rows_of(document, "BUFFER_PROFILE").items()
        if "xoff" in row.values
    }  # fmt: skip
    lines: dict[tuple[str, str], int] = {}
    for name, numbers, profile, line in found:
        lines |= {(name, str(group)): line for group in expand_range(numbers)}
        if profile == reclaim.ZERO_GROUP and name in shut:
            continue
        if profile == qos.LOSSY_PG_PROFILE:
            lossy.setdefault(name, []).append(numbers)
        elif profile in headrooms:
            lossless.setdefault(name, {}).update((group, profile) for group in expand_range(numbers))
            figures = headrooms[profile]
            if _is_of_another_speed(document, name, profile):  # the reference is wrong, not the profile
                figures = [(leaf, value, line) for leaf, value, _ in figures]
            elif at := _longer_cable(profile, lengths.get(name)):  # the length is, or the name
                figures = [(leaf, value, at) for leaf, value, _ in figures]
            _put_headroom(document, name, figures)
        else:
            config_db.report_strange(document, line, f"BUFFER_PG|{name}|{numbers} profile: {profile}")
            _put_profile(document, name, "priority_group", numbers, profile, line)
    if not config_db.rows_of(document, "BUFFER_POOL"):
        return
    line = config_db.table_scope(document, "BUFFER_PG").line
    for name, groups in lossless.items():
        paused = bound.get(name, "")
        if not groups and paused and (profile := _restored_profile(document, name, lengths)):
            groups.update((int(group), profile) for group in paused.split(",") if is_number(group))
            _put_headroom(document, name, headrooms.get(profile, ()))
        if ",".join(map(str, sorted(groups))) != paused or len(set(groups.values())) > 1:
            text = f"BUFFER_PG|{name}: the groups of one lossless profile are not PFC's {paused}"
            config_db.report_strange(document, line, text)
            for group, profile in groups.items():
                at = lines.get((name, str(group)), line)
                _put_profile(document, name, "priority_group", str(group), profile, at)
        if lossy.get(name) != [lossy_key]:
            config_db.report_strange(
                document, line, f"BUFFER_PG|{name}: the lossy group is not {lossy_key} alone"
            )
            for group in (each for numbers in lossy.get(name, ()) for each in expand_range(numbers)):
                at = lines.get((name, str(group)), line)
                _put_profile(document, name, "priority_group", str(group), qos.LOSSY_PG_PROFILE, at)


def _put_profile(document: Document, port: str, kind: str, numbers: str, profile: str, line: int) -> None:
    """State which profile of buffers groups or queues have, where a plan has another."""
    for each in expand_range(numbers):
        document.put(port_paths(port)[f"{kind}[{each}]/buffer_profile"], profile, line)


def _row_figure(row: Scope, field: str) -> tuple[Value, int]:
    value, line = row.values[field]
    return parse_number(str(value)), line


def _put_headroom(document: Document, port: str, figures: Iterable[tuple[str, Value, int]]) -> None:
    paths = port_paths(port)
    for leaf, value, line in figures:
        document.put(paths[leaf], value, line)


_PROFILE_SPEED = re.compile(r"pg_lossless_(\d+)000_")


def _is_of_another_speed(document: Document, port: str, profile: str) -> bool:
    """Return whether the name of a profile has another speed than the port."""
    match = _PROFILE_SPEED.match(profile)
    row = config_db.rows_of(document, "PORT").get(port)
    speed = row.values.get("speed_gbps", (0, 0))[0] if row else 0
    return match is not None and bool(speed) and match[1] != str(speed)


_PROFILE_LENGTH = re.compile(r"pg_lossless_\d+_(\d+)m_profile")


def _longer_cable(profile: str, length: tuple[Value, int] | None) -> int:
    """Return the line of a cable that is longer than the one in the name of its profile, 0 for any other."""
    match = _PROFILE_LENGTH.fullmatch(profile)
    if match is None or length is None or not isinstance(length[0], int):
        return 0
    return length[1] if length[0] > int(match[1]) else 0


def _restored_profile(document: Document, port: str, lengths: Lengths) -> str:
    """Return the profile that a port gets back when it is no longer shut.

    On Mellanox buffermgrd deletes the lossless groups of a port that is shut, if their profile has the name that it
    gives itself, and binds that profile anew later (`doSpeedUpdateTask` in sonic-swss `cfgmgr/buffermgr.cpp`).
    """
    row = config_db.rows_of(document, "PORT").get(port, Scope(1))
    speed = row.values.get("speed_gbps", (0, 0))[0]
    cable = lengths.get(port, (0, 0))[0]
    profile = f"pg_lossless_{speed}000_{cable}m_profile"
    mellanox = any(has_table(document, name) for name in qos.MELLANOX_TABLES)
    shut = config_db.value_of(row, "enabled", "false") == "false"
    return profile if mellanox and shut and profile in config_db.rows_of(document, "BUFFER_PROFILE") else ""


def state_queues(
    document: Document,
    found: reclaim.Bindings,
    bound: Mapping[str, str],
    shut: frozenset[str],
    pfc: Sequence[str],
) -> None:
    """The queues with a lossless buffer must be the priorities that PFC pauses, all others have a lossy one."""
    if not config_db.rows_of(document, "BUFFER_POOL"):
        return
    queues: dict[str, dict[int, str]] = {name: {} for name in bound}
    zero: dict[str, dict[int, bool]] = {name: {} for name in sorted(shut)}
    lines: dict[tuple[str, int], int] = {}
    for name, numbers, profile, line in found:
        lines |= {(name, queue): line for queue in expand_range(numbers)}
        if profile in reclaim.ZERO_QUEUES and name in shut:
            zero[name].update(dict.fromkeys(expand_range(numbers), profile == reclaim.ZERO_LOSSLESS))
            continue
        if profile not in (qos.LOSSLESS_QUEUE_PROFILE, qos.LOSSY_QUEUE_PROFILE, qos.TRIM_QUEUE_PROFILE):
            text = f"BUFFER_QUEUE|{name}|{numbers} profile: {profile}"
            config_db.report_strange(document, line, text)
            _put_profile(document, name, "queue", numbers, profile, line)
        queues.setdefault(name, {}).update(dict.fromkeys(expand_range(numbers), profile))
    wanted = {queue: str(queue) in pfc for queue in qos.QUEUES}
    line = config_db.table_scope(document, "BUFFER_QUEUE").line
    for name, kinds in zero.items():
        if kinds != wanted:
            config_db.report_strange(
                document, line, f"BUFFER_QUEUE|{name}: not every queue is without buffer"
            )
    for name, profiles in queues.items():
        paused = bound.get(name, "")
        lossless = [str(queue) for queue in sorted(profiles) if profiles[queue] == qos.LOSSLESS_QUEUE_PROFILE]
        if ",".join(lossless) != paused:
            own = {queue: lines.get((name, queue), line) for queue in profiles}
            _put_lossy_queues(document, name, profiles, paused, own)
            config_db.report_strange(
                document, line, f"BUFFER_QUEUE|{name}: the lossless queues are not PFC's {paused}"
            )
            bare = [each for each in paused.split(",") if is_number(each) and int(each) not in profiles]
            if bare and profiles:
                text = f"BUFFER_QUEUE|{name}: no row for queue {','.join(bare)}"
                config_db.report_strange(document, min(own.values()), text)
            for queue, profile in profiles.items():
                _put_profile(document, name, "queue", str(queue), profile, own[queue])
        if sorted(profiles) != list(qos.QUEUES):
            config_db.report_strange(document, line, f"BUFFER_QUEUE|{name}: not all of the eight queues")


def _put_lossy_queues(
    document: Document, port: str, profiles: Mapping[int, str], paused: str, lines: Mapping[int, int]
) -> None:
    """State which queues of priorities with PFC have a buffer of another pool than the lossless one."""
    known = config_db.rows_of(document, "BUFFER_PROFILE")
    for queue, profile in profiles.items():
        pool = config_db.value_of(known.get(profile, Scope(lines[queue])), "pool")
        if str(queue) in paused.split(",") and pool and qos.EGRESS_POOL not in pool:
            document.put(port_paths(port)[f"queue[{queue}]/lossy_buffer"], profile, lines[queue])


def state_lists(document: Document, bound: Mapping[str, str], shut: frozenset[str]) -> None:
    """Every port in use has the profile lists that the renderer gives it."""
    for listing, want in qos.PROFILE_LISTS.items():
        if not has_table(document, listing):
            continue
        listed = config_db.flat_rows(document, listing)
        for name in (each for each in bound if each not in listed):
            config_db.report_strange(
                document, config_db.table_scope(document, listing).line, f"{listing}|{name} is missing"
            )
        for name, (profiles, line) in listed.items():
            if name not in shut and profiles != want:
                config_db.report_strange(document, line, f"{listing}|{name} is not {want}")
                way = "ingress" if "INGRESS" in listing else "egress"
                document.put(port_paths(name)[f"qos_setting[{way} profiles]"], profiles, line)
