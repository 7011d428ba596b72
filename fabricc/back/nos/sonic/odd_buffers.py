"""Find rows of buffers that drop lossless packets, hold none, or contradict others."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic.odd_rows import (
    OddRow,
    expand_numbers,
    odd_field,
    odd_lack,
    table_rows,
    target_name,
    whole_field,
)
from fabricc.back.nos.sonic.words import expand_range
from fabricc.base.documents.document import clip
from fabricc.base.numbers import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.sonic.odd_rows import Rows

_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
_SIDES = {"BUFFER_PG": ("egress", "ingress"), "BUFFER_QUEUE": ("ingress", "egress")}
"""Table -> the type of pool that its buffers cannot be in, and their own; a pool of their name has a wrong type."""
_ZERO = "zero_profile"
_SHARES = 10
"""The largest exponent of a dynamic threshold that a platform has, of either sign."""
_SMALLEST_POOL = 1 << 16
"""Bytes of a pool that no switch has; the smallest of all platforms is above a million."""
_PACKET = 9216
"""The largest packet in bytes that ports of a fabric accept."""


def find_odd_buffers(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield profiles and pools that hold nothing, or that the rows which use them make useless."""
    pools, profiles = table_rows(tables, "BUFFER_POOL"), table_rows(tables, "BUFFER_PROFILE")
    if not pools and profiles and "PORT" in tables and "DEVICE_METADATA" in tables:
        key, row = next(iter(profiles.items()))
        yield odd_field("BUFFER_PROFILE", key, row, "pool", "no row of BUFFER_POOL has this name")
    if not pools or not profiles:
        return
    for key, row in profiles.items():
        pool = target_name(row.get("pool"))
        if pool and pool not in pools:
            yield odd_field("BUFFER_PROFILE", key, row, "pool", "no row of BUFFER_POOL has this name")
        if "dynamic_th" not in row and "static_th" not in row and row.get("headroom_type") != "dynamic":
            effect = "it has no limit, without which no profile is created (SAI, saibuffer.h)"
            yield odd_lack("BUFFER_PROFILE", key, "dynamic_th", effect)
        share = whole_number(str(row.get("dynamic_th", "0")).removeprefix("-"))
        if share is not None and share > _SHARES:
            yield odd_field(
                "BUFFER_PROFILE", key, row, "dynamic_th", "no switch has such a share of the buffer"
            )
        limit = whole_field(row, "static_th")
        if "xoff" in row and limit is not None and limit < _PACKET:
            yield odd_field("BUFFER_PROFILE", key, row, "static_th", "it pauses before one packet is in it")
        if "pool" not in row and row.get("headroom_type") != "dynamic":
            yield odd_lack("BUFFER_PROFILE", key, "pool", "no profile is created (SAI, saibuffer.h)")
    for table, (side, own) in _SIDES.items():
        for name in dict.fromkeys(
            target_name(row.get("profile")) for row in table_rows(tables, table).values()
        ):
            row = profiles.get(name, {})
            pool = target_name(row.get("pool"))
            if pools.get(pool, {}).get("type") == side and not pool.startswith(own):
                yield odd_field(
                    "BUFFER_PROFILE", name, row, "pool", f"{table} gets no buffer: it is of the {side}"
                )
    for key, row in pools.items():
        if key.startswith("egress_") and row.get("type") not in (None, "egress", "both"):
            yield odd_field("BUFFER_POOL", key, row, "type", "no queue has a buffer in it")
    yield from _odd_uses(tables, pools, profiles)


def _odd_uses(tables: Mapping[str, Any], pools: Rows, profiles: Rows) -> Iterator[OddRow]:
    """Yield profiles that ports in use cannot have, and reservations that no pool has room for."""
    bound, ports = table_rows(tables, "PORT_QOS_MAP"), table_rows(tables, "PORT")
    up = {name for name, row in ports.items() if row.get("admin_status") == "up"}
    paused = {
        name: set(filter(None, str(row.get("pfc_enable", "")).split(","))) for name, row in bound.items()
    }
    entered = {
        str(each) for row in table_rows(tables, "TC_TO_PRIORITY_GROUP_MAP").values() for each in row.values()
    }
    reserved = Counter[str]()
    bare: dict[str, tuple[str, frozenset[str]]] = {}
    covered: dict[str, set[str]] = {}
    needed: dict[str, set[str]] = {}
    queued: dict[str, dict[bool, str]] = {}
    for table in ("BUFFER_PG", "BUFFER_QUEUE"):
        for key, row in table_rows(tables, table).items():
            names, _, numbers = key.rpartition("|")
            used = expand_numbers(numbers)
            profile = target_name(row.get("profile"))
            for name in names.split(","):
                mine = paused.get(name, set()) & used
                reserved[profile] += len(used)
                pool = target_name(profiles.get(profile, {}).get("pool"))
                if table == "BUFFER_QUEUE" and mine:
                    needed.setdefault(name, set()).add(pool)
                if table == "BUFFER_QUEUE" and name in up:
                    queued.setdefault(pool, {}).setdefault(bool(mine), profile)
                yield from _odd_use(table, key, row, profiles, name in up, bool(mine))
                if table == "BUFFER_QUEUE" and "lossless" in profile and used - paused.get(name, used):
                    bare.setdefault(name, (key, used))
                if table == "BUFFER_QUEUE" and "lossless" in profile:
                    covered.setdefault(name, set()).update(used)
                wasted = (
                    paused.get(name) and not mine and used & entered and "xoff" in profiles.get(profile, {})
                )
                if table == "BUFFER_PG" and wasted:
                    yield odd_field(
                        table, key, row, "profile", "a group without PFC has headroom, and fills the pool"
                    )
    idle = [key for key, row in pools.items() if row.get("type") == "egress" and key not in queued]
    for users in queued.values():
        if idle and len(users) > 1 and users[True] != users[False]:
            effect = f"queues with PFC share it with others, and {idle[0]} has no queue"
            yield odd_field("BUFFER_PROFILE", users[True], profiles.get(users[True], {}), "pool", effect)
    for name, (key, used) in bare.items():
        text = (
            "BUFFER_QUEUE|{} has a profile for PFC that the port lacks, so packets of the class are dropped"
        )
        if paused[name] and paused[name] <= covered[name] and used.isdisjoint(paused[name]):
            yield OddRow(text.format(key), "BUFFER_QUEUE", key, "profile")
        else:
            own = "pfc_enable" if "pfc_enable" in bound[name] else ""
            yield OddRow(text.format(name), "PORT_QOS_MAP", name, own)
    for table in _LISTS:
        for key, row in table_rows(tables, table).items():
            listed = [target_name(each) for each in str(row.get("profile_list", "")).split(",")]
            missing = [each for each in listed if each and each not in profiles]
            has = {target_name(profiles.get(each, {}).get("pool")) for each in listed}
            if missing:
                yield odd_field(
                    table, key, row, "profile_list", f"the port has a profile {clip(missing[0])} of nothing"
                )
            elif key in up and any(each.endswith(_ZERO) for each in listed):
                yield odd_field(table, key, row, "profile_list", "a port in use gets no buffer")
            elif table == _LISTS[1] and (lacking := needed.get(key, set()) - has - {""}):
                effect = f"its queues of PFC get nothing of the pool {min(lacking)}"
                yield odd_field(table, key, row, "profile_list", effect)
    for key, row in profiles.items():
        pool = target_name(row.get("pool"))
        size, room = whole_field(row, "size"), whole_field(pools.get(pool, {}), "size")
        if size and room and size * reserved[key] > room > _SMALLEST_POOL:
            at, of = ("BUFFER_POOL", pool) if size <= _PACKET else ("BUFFER_PROFILE", key)
            effect = f"the {reserved[key]} uses of {key} reserve more than the pool has"
            yield odd_field(at, of, table_rows(tables, at)[of], "size", effect)
    for key, row in pools.items():
        if 0 < (whole_field(row, "size") or 0) <= _SMALLEST_POOL:
            yield odd_field("BUFFER_POOL", key, row, "size", "it holds a few packets of all ports")


def _odd_use(
    table: str, key: str, row: Mapping[str, Any], profiles: Rows, up: bool, lossless: bool
) -> Iterator[OddRow]:
    """Yield a use of a profile that keeps packets out of a group or queue, or that trims them."""
    profile = target_name(row.get("profile"))
    if profile not in profiles and profile != "NULL" and table == "BUFFER_QUEUE":
        yield odd_field(table, key, row, "profile", "no row of BUFFER_PROFILE has this name")
        return
    stated = profiles.get(profile, {})
    if up and profile.endswith(_ZERO):
        yield odd_field(table, key, row, "profile", "a port in use gets no buffer there")
    elif table == "BUFFER_QUEUE" and lossless and stated.get("packet_discard_action") == "trim":
        effect = "packets of queues with PFC are cut"
        yield odd_field("BUFFER_PROFILE", profile, stated, "packet_discard_action", effect)
    elif table == "BUFFER_QUEUE" and lossless and "lossy" in profile:
        yield odd_field(table, key, row, "profile", "packets of a queue with PFC are dropped there")


_LOSSLESS = re.compile(r"egress_lossless\w*")


def find_odd_pools(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield pools and queues that are too small for what is lossless, and ports without the length of a cable."""
    model = table_rows(tables, "DEVICE_METADATA").get("localhost", {"buffer_model": "unknown"})
    stated = model.get("buffer_model", "traditional") == "traditional"
    pools = table_rows(tables, "BUFFER_POOL")
    for key, row in pools.items() if stated and "DEFAULT_LOSSLESS_BUFFER_PARAMETER" not in tables else ():
        if row.keys().isdisjoint(("size", "percentage")):
            yield odd_lack("BUFFER_POOL", key, "size", "the pool is not created (SAI, saibuffer.h)")
    for key, row in table_rows(tables, "BUFFER_PROFILE").items():
        limit = whole_number(str(row.get("static_th", "")))
        size = whole_number(str(pools.get(target_name(row.get("pool")), {}).get("size", "")))
        if _LOSSLESS.fullmatch(key) and limit is not None and size and 2 * limit < size:
            effect = "its queues drop long before the priority groups pause"
            yield odd_field("BUFFER_PROFILE", key, row, "static_th", effect)
    lengths, ports = table_rows(tables, "CABLE_LENGTH"), table_rows(tables, "PORT")
    known = {port for row in lengths.values() for port in row}
    for port, row in table_rows(tables, "PORT_QOS_MAP").items() if known else ():
        if row.get("pfc_enable") and port not in known and ports.get(port, {}).get("admin_status") == "up":
            effect = "buffermgrd makes no headroom for its PFC"
            yield odd_lack("CABLE_LENGTH", next(iter(lengths)), port, effect)
    yield from _odd_headroom(tables)
    yield from _odd_groups(tables)


def _odd_groups(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield groups with headroom for more than the priorities with PFC: the pools have no room for it (buffermgr)."""
    paused = {port: row.get("pfc_enable") for port, row in table_rows(tables, "PORT_QOS_MAP").items()}
    profiles = table_rows(tables, "BUFFER_PROFILE")
    for key, row in table_rows(tables, "BUFFER_PG").items():
        ports, _, numbers = key.rpartition("|")
        lossless = {*str(paused.get(ports.split(",")[0]) or "").split(",")} - {""}
        name = target_name(row.get("profile"))
        idle = [str(group) for group in expand_range(numbers) if str(group) not in lossless]
        if (
            lossless
            and len(idle) >= len(lossless) + _SPARE
            and ("xoff" in profiles.get(name, ()) or _FOR.fullmatch(name))
        ):
            effect = f"groups {idle[0]} to {idle[-1]} hold headroom that nothing pauses for"
            yield odd_field("BUFFER_PG", key, row, "profile", effect)._replace(field="")
            return


_SPARE = 2


_FOR = re.compile(r"pg_lossless_(\d+)_(\d+m)_profile")


def _odd_headroom(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield profiles for another speed or cable than those of the port, which buffermgrd replaces (buffermgr.cpp)."""
    ports = table_rows(tables, "PORT")
    cables = {
        port: str(length)
        for row in table_rows(tables, "CABLE_LENGTH").values()
        for port, length in row.items()
    }
    uses: list[tuple[str, str, tuple[str, str], tuple[str, str]]] = []
    for key, row in table_rows(tables, "BUFFER_PG").items():
        match = _FOR.fullmatch(target_name(row.get("profile")))
        for name in key.partition("|")[0].split(",") if match else ():
            own = str(ports.get(name, {}).get("speed", "")), cables.get(name, "")
            if match and all(own) and ports[name].get("admin_status") == "up":
                uses.append((key, name, own, (match[1], match[2])))
    fitting = {own for _, _, own, wanted in uses if own == wanted}
    made = table_rows(tables, "BUFFER_PROFILE")
    for key, name, own, wanted in uses:
        effect = f"buffermgrd replaces the profile for {int(wanted[0]) // 1000} Gb/s and {wanted[1]}"
        known = own in fitting or f"pg_lossless_{own[0]}_{own[1]}_profile" in made
        if own != wanted and not known and own[0] == wanted[0]:
            cable = next(each for each, row in table_rows(tables, "CABLE_LENGTH").items() if name in row)
            yield odd_field("CABLE_LENGTH", cable, tables["CABLE_LENGTH"][cable], name, effect)
        elif own != wanted and not known and own[1] == wanted[1]:
            yield odd_field("PORT", name, ports[name], "speed", effect)
        elif own != wanted:
            row = tables["BUFFER_PG"][key]
            effect = f"buffermgrd replaces it: {name} has {int(own[0]) // 1000} Gb/s and {own[1]}"
            yield odd_field("BUFFER_PG", key, row, "profile", effect)
