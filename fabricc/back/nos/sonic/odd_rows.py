"""Find rows of `config_db.json` that defeat what the rest of it is for, whatever the plan is.

A text names table, row and field, and what follows: `TABLE|row field: value, so EFFECT`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back.nos.sonic.words import expand_range
from fabricc.base.documents.document import clip
from fabricc.base.numbers import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Rows = Mapping[str, Mapping[str, Any]]


class OddRow(NamedTuple):
    """A row that is odd: its text, and the field at which the fault is, "" for the whole row, and item of a list."""

    text: str
    table: str
    key: str
    field: str = ""
    item: str = ""


def find_odd_rows(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield the rows that contradict others, or that turn off what a fabric needs."""
    for find in (_odd_ports, _odd_system, _odd_treatment):
        yield from find(tables)


def table_rows(tables: Mapping[str, Any], name: str) -> Rows:
    """Return the rows of a table."""
    rows = tables.get(name)
    return {key: row for key, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def whole_field(row: Mapping[str, Any], field: str) -> int | None:
    """Return the whole number of a field; None where it has none."""
    return whole_number(str(row.get(field, "")))


def odd_field(table: str, key: str, row: Mapping[str, Any], field: str, effect: str) -> OddRow:
    """Return that a field has a value with an effect."""
    value = row.get(field)
    shown = clip(",".join(map(str, value)) if isinstance(value, list) else str(value))
    item = str(value[0]) if isinstance(value, list) and value else ""
    return OddRow(f"{table}|{key} {field}: {shown}, so {effect}", table, key, field, item)


def odd_lack(table: str, key: str, field: str, effect: str) -> OddRow:
    """Return that a row without a field has an effect."""
    return OddRow(f"{table}|{key} without {field}, so {effect}", table, key)


# --- ports and the switch itself ----------------------------------------------------------------------

_PER_LANE = 200_000
"""The fastest lane that there is, in Mb/s (IEEE 802.3dj)."""
_FIRE_CODE = 50_000
"""The fastest ports with the Fire code, `fc` of sonic-port.yang, in Mb/s (IEEE 802.3, clause 74)."""
_NAME = re.compile(r"Ethernet(\d{1,9})")
_MODE = re.compile(r"(?:^|\+)(\d{1,9})x")
_SPEEDS = re.compile(r"(\d{1,9})G")


def _odd_ports(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    aliases: dict[str, str] = {}
    ports = table_rows(tables, "PORT")
    for name, row in ports.items():
        alias = str(row.get("alias", ""))
        if alias and aliases.setdefault(alias, name) != name:
            effect = "neighbors and commands take the two ports for one"
            yield OddRow(
                f"PORT|{name} alias: {clip(alias)} of {aliases[alias]}, so {effect}", "PORT", name, "alias"
            )
        speed = whole_field(row, "speed")
        if row.get("admin_status") != "up" or speed is None:
            continue
        lanes = [each for each in str(row.get("lanes", "")).split(",") if each]
        if not lanes and any(
            "lanes" in each for each in ports.values()
        ):  # not of a file that adds to another
            yield odd_lack("PORT", name, "lanes", "the port is not created (sonic-port.yang: mandatory)")
        if lanes and speed > _PER_LANE * len(lanes):
            yield odd_field("PORT", name, row, "lanes", f"no lane carries its share of {speed // 1000} Gb/s")
        if row.get("fec") == "fc" and speed > _FIRE_CODE:
            yield odd_field("PORT", name, row, "fec", f"no link of {speed // 1000} Gb/s comes up")
        advertised = str(row.get("adv_speeds") or "all")
        if row.get("autoneg") == "on" and advertised != "all" and str(speed) not in advertised.split(","):
            yield odd_field(
                "PORT", name, row, "adv_speeds", f"the link does not get its {speed // 1000} Gb/s"
            )
    yield from _odd_cages(tables, ports)
    yield from _odd_places(tables, ports)
    members = members_of(tables)
    for name, row in table_rows(tables, "PORTCHANNEL").items():
        if 0 < len(members.get(name, ())) < (whole_field(row, "min_links") or 0):
            effect = f"its {len(members[name])} ports never bring it up (teamd, min_ports)"
            yield odd_field("PORTCHANNEL", name, row, "min_links", effect)


def members_of(tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return bundle -> its ports."""
    found: dict[str, list[str]] = {}
    for key in table_rows(tables, "PORTCHANNEL_MEMBER"):
        bundle, _, port = key.partition("|")
        found.setdefault(bundle, []).append(port)
    return found


def _odd_cages(tables: Mapping[str, Any], ports: Rows) -> Iterator[OddRow]:
    """Yield cages that are split into more ports than their mode has (sonic-utilities, config_mgmt.py)."""
    modes = table_rows(tables, "BREAKOUT_CFG")
    cages = {int(match[1]): key for key in modes if (match := _NAME.fullmatch(key)) is not None}
    places = sorted(cages)
    found = Counter[int]()
    for name in ports:
        match = _NAME.fullmatch(name)
        below = bisect_right(places, int(match[1])) if match else 0
        if below:
            first = places[below - 1]
            if str(ports[name].get("index")) == str(ports.get(cages[first], {}).get("index")):
                found[first] += 1
    for place, key in cages.items():
        row = modes[key]
        allowed = sum(map(int, _MODE.findall(str(row.get("brkout_mode", "")))))
        if allowed and found[place] > allowed:
            effect = f"only {allowed} of the {found[place]} ports exist after the next change of the mode"
            yield odd_field("BREAKOUT_CFG", key, row, "brkout_mode", effect)
        speeds = set(_SPEEDS.findall(str(row.get("brkout_mode", ""))))
        speed = whole_field(ports.get(key, {}), "speed")
        if speeds and speed and str(speed // 1000) not in speeds:
            yield odd_field("BREAKOUT_CFG", key, row, "brkout_mode", f"it has no {speed // 1000} Gb/s")


_MOST = 2
"""Ports that may be the odd ones; where more differ, the platform counts its cages in another way."""


def _odd_places(tables: Mapping[str, Any], ports: Rows) -> Iterator[OddRow]:
    """Yield ports with the index or the part of another cage than that of their lanes (xcvrd: index, subport)."""
    cages = sorted(int(m[1]) for key in table_rows(tables, "BREAKOUT_CFG") if (m := _NAME.fullmatch(key)))
    width = min((after - at for at, after in pairwise(cages)), default=0)
    numbers = sorted((int(m[1]), name) for name in ports if (m := _NAME.fullmatch(name)))
    places = ((number, name, bisect_right(cages, number)) for number, name in numbers)
    cage_of = {name: cage for number, name, cage in places if cage and number < cages[cage - 1] + width}
    shifts = {name: (whole_field(ports[name], "index") or 0) - cage for name, cage in cage_of.items()}
    usual = Counter(shifts.values()).most_common(1)
    odd = [name for name, shift in shifts.items() if shift != usual[0][0]]
    for name in odd if len(odd) <= min(_MOST, len(shifts) // 4) else ():
        yield odd_field("PORT", name, ports[name], "index", "xcvrd configures the module of another port")
    inside: dict[int, list[str]] = {}
    for name, cage in cage_of.items():
        inside.setdefault(cage, []).append(name)
    for names in inside.values():
        stated = [whole_field(ports[name], "subport") for name in names]
        wrong = [at for at, part in enumerate(stated, 1) if part != at]
        if len(wrong) == 1 and len(names) > 1:
            name = names[wrong[0] - 1]
            yield odd_field(
                "PORT", name, ports[name], "subport", "xcvrd configures other lanes of its module"
            )


_MODEL = re.compile(r"x86_64-[a-z]+_[a-z]*?(\d{4,})(?!\w*_sup\b)(?:\w*_(\w{6,}))?")
"""The number in the name of a platform, and its last word; a supervisor has the number of its series alone."""
_OFF = ("disabled", "always_disabled")
_CONTAINERS = {
    "swss": "nothing programs ports, routes and queues",
    "syncd": "nothing programs the ASIC",
    "teamd": "no port channel comes up",
    "pmon": "nothing configures the transceivers",
    "lldp": "no cable can be compared with the plan",
}
"""Containers that every switch of a fabric needs (sonic-buildimage, init_cfg.json.j2), and what follows."""


_LENGTH = re.compile(r"\d+m")


def _odd_system(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    for key, row in table_rows(tables, "DEVICE_METADATA").items():
        if row.get("switch_type") == "voq" and "SYSTEM_PORT" not in tables:
            effect = "orchagent waits for the system ports of a chassis"
            yield odd_field("DEVICE_METADATA", key, row, "switch_type", effect)
        model = _MODEL.match(str(row.get("platform", "")))
        sku = str(row.get("hwsku", "")).lower()
        if model and sku and not any(each in sku for each in model.groups() if each):
            effect = f"the image has no files of it for the platform {clip(str(row['platform']))}"
            yield odd_field("DEVICE_METADATA", key, row, "hwsku", effect)
    bound = table_rows(tables, "PORT_QOS_MAP")
    for key, row in table_rows(tables, "CABLE_LENGTH").items():
        for port, length in row.items():
            if not _LENGTH.fullmatch(str(length)):
                yield odd_field("CABLE_LENGTH", key, row, port, "buffermgrd finds no headroom for it")
            elif length == "0m" and bound.get(port, {}).get("pfc_enable"):
                yield odd_field("CABLE_LENGTH", key, row, port, "buffermgrd makes no headroom for its PFC")
    for key, row in table_rows(tables, "FEATURE").items():
        needed = "PORTCHANNEL" if key == "teamd" else "PORT"
        if key in _CONTAINERS and row.get("state") in _OFF and table_rows(tables, needed):
            yield odd_field("FEATURE", key, row, "state", _CONTAINERS[key])
    for key, row in table_rows(tables, "LOOPBACK_INTERFACE").items():
        if key == "Loopback0" and str(row.get("vrf_name") or "default") != "default":
            effect = "the default VRF has no loopback to announce"
            yield odd_field("LOOPBACK_INTERFACE", key, row, "vrf_name", effect)
        elif key == "Loopback0" and not any(
            each.startswith("Loopback0|") for each in tables["LOOPBACK_INTERFACE"]
        ):
            yield odd_lack(
                "LOOPBACK_INTERFACE", key, "an address", "the switch has no address that outlasts a link"
            )


# --- classes, queues and marking ----------------------------------------------------------------------

_WHOLE = 100
"""The largest weight of a scheduler (sonic-scheduler.yang)."""
_OUTER = ("SRC_IP", "DST_IP", "L4_SRC_PORT", "L4_DST_PORT")


def _odd_treatment(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    for key, row in table_rows(tables, "SWITCH_HASH").items():
        fields = row.get("ecmp_hash")
        if row.get("ecmp_hash_algorithm") == "RANDOM":
            yield odd_field(
                "SWITCH_HASH", key, row, "ecmp_hash_algorithm", "packets of one flow are reordered"
            )
        names = {str(each) for each in fields} if isinstance(fields, list) else set()
        if any(each.startswith("INNER_") for each in names) and names.isdisjoint(_OUTER):
            effect = "packets without a tunnel, such as those of RoCE, take one path"
            yield odd_field("SWITCH_HASH", key, row, "ecmp_hash", effect)
    for key, row in table_rows(tables, "SCHEDULER").items():
        if "weight" in row and not 0 < (whole_field(row, "weight") or 0) <= _WHOLE:
            yield odd_field("SCHEDULER", key, row, "weight", f"no queue gets it: it is 1 to {_WHOLE}")
    for key, row in table_rows(tables, "PFC_WD").items():
        if row.get("BIG_RED_SWITCH") == "enable":
            yield odd_field("PFC_WD", key, row, "BIG_RED_SWITCH", "every lossless queue is stopped")
        if key != "GLOBAL" and "detection_time" in row and not whole_field(row, "restoration_time"):
            yield odd_lack("PFC_WD", key, "restoration_time", "a queue that it stops stays stopped")
    largest = max(
        (whole_field(row, "size") or 0 for row in table_rows(tables, "BUFFER_POOL").values()), default=0
    )
    for key, row in table_rows(tables, "WRED_PROFILE").items():
        if 0 < largest < (whole_field(row, "green_max_threshold") or 0):
            yield odd_field("WRED_PROFILE", key, row, "green_max_threshold", "no pool ever holds as much")
        if str(row.get("wred_green_enable")) == "true" and row.get("ecn") not in (None, "ecn_none"):
            for field in ("green_min_threshold", "green_max_threshold"):
                if field not in row:
                    yield odd_lack("WRED_PROFILE", key, field, "it has the threshold 0 (SAI, saiwred.h)")
    yield from _odd_bindings(tables)
    yield from _odd_classes(tables)


_PAUSING = {
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "a received pause stops no queue"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "no priority group sends pauses of it"),
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "its packets enter another group than the one that pauses"),
}
"""Field of PORT_QOS_MAP -> table of its maps, and what follows where the map lacks a priority with PFC."""


def _odd_bindings(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield maps that write another code point than a class has, and ports that are slower than their links."""
    rewritten = table_rows(tables, "TC_TO_DSCP_MAP")
    classes = table_rows(tables, "DSCP_TO_TC_MAP")
    schedulers, ports = table_rows(tables, "SCHEDULER"), table_rows(tables, "PORT")
    pausing = {table: table_rows(tables, table) for table, _ in _PAUSING.values()}
    wrong: set[tuple[str, str]] = set()
    for key, row in table_rows(tables, "PORT_QOS_MAP").items():
        for priority in filter(None, str(row.get("pfc_enable", "")).split(",")):
            for field, (table, effect) in _PAUSING.items():
                name = target_name(row.get(field))
                own = pausing[table].get(name, {})
                if own and priority not in own and (table, priority) not in wrong:
                    wrong.add((table, priority))
                    text = f"{table}|{name} without {priority}, which has PFC, so {effect}"
                    yield OddRow(text, table, name, next(iter(own)))
        name = target_name(row.get("tc_to_dscp_map"))
        points = classes.get(target_name(row.get("dscp_to_tc_map")), {})
        for priority in filter(None, str(row.get("pfc_enable", "")).split(",")):
            mine = {dscp for dscp, each in points.items() if str(each) == priority}
            written = str(rewritten.get(name, {}).get(priority, ""))
            if written and mine and written not in mine and (name, priority) not in wrong:
                wrong.add((name, priority))
                effect = f"packets of class {priority} lose the code point by which others know it"
                yield odd_field("TC_TO_DSCP_MAP", name, rewritten[name], priority, effect)
        speed = whole_field(ports.get(key, {}), "speed")
        shaper = schedulers.get(target_name(row.get("scheduler")), {})
        rate = whole_field(shaper, "pir")
        if speed and rate and shaper.get("meter_type", "packets") == "bytes" and rate * 8 < speed * 1_000_000:
            effect = "the port sends less than its link carries"
            yield odd_field("PORT_QOS_MAP", key, row, "scheduler", effect)


_GROUPS = (
    ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
    ("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
)
_QUEUES = (("tc_to_queue_map", "TC_TO_QUEUE_MAP"), ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"))
_UNTAGGED = "packets without a VLAN tag are of no class, and RDMA does not reach its own"


def _odd_classes(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield maps by which a class with PFC is not in the group that pauses, or its queue not the one that marks."""
    maps = {field: table_rows(tables, table) for field, table in (*_GROUPS, *_QUEUES)}
    profiles, members = table_rows(tables, "WRED_PROFILE"), members_of(tables)
    tagged = {
        key.partition("|")[2]
        for key, row in table_rows(tables, "VLAN_MEMBER").items()
        if row.get("tagging_mode") == "tagged" or "VLAN_SUB_INTERFACE" in tables
    }
    tagged |= {port for bundle in tagged & members.keys() for port in members[bundle]}
    marking: dict[str, dict[str, tuple[str, Mapping[str, Any]]]] = {}
    for key, row in table_rows(tables, "QUEUE").items():
        names, _, numbers = key.rpartition("|")
        if profiles.get(target_name(row.get("wred_profile")), {}).get("ecn", "ecn_none") != "ecn_none":
            for name in names.split(","):
                marking.setdefault(name, {}).update((each, (key, row)) for each in expand_numbers(numbers))
    wrong: set[tuple[str, str]] = set()
    for port, row in table_rows(tables, "PORT_QOS_MAP").items():
        priorities = [each for each in str(row.get("pfc_enable", "")).split(",") if each]
        if priorities and "dot1p_to_tc_map" in row and "dscp_to_tc_map" not in row and port not in tagged:
            yield odd_field("PORT_QOS_MAP", port, row, "dot1p_to_tc_map", _UNTAGGED)
        queues: set[str] = set()
        for priority in priorities:
            stated = {
                field: str(rows.get(target_name(row.get(field)), {}).get(priority, priority))
                for field, rows in maps.items()
            }
            if stated["tc_to_pg_map"] != stated["pfc_to_pg_map"]:
                field, table = next(each for each in _GROUPS if stated[each[0]] != priority)
                name = target_name(row.get(field))
                if (table, priority) not in wrong:
                    wrong.add((table, priority))
                    effect = "its packets enter another group than the one that pauses"
                    yield odd_field(table, name, maps[field][name], priority, effect)
            if stated["tc_to_queue_map"] == stated["pfc_to_queue_map"]:
                queues.add(stated["pfc_to_queue_map"])
        mine = marking.get(port, {})
        for queue, (key, other) in mine.items() if queues - mine.keys() else ():
            if queue not in {*queues, *priorities}:
                effect = "a queue without PFC marks, and one with PFC does not"
                yield odd_field("QUEUE", key, other, "wred_profile", effect)


def target_name(value: object) -> str:
    """Return the name of a row that a field names, in the form of older releases too: `[TABLE|row]`."""
    text = str(value or "")
    return text[1:-1].rpartition("|")[2] if text.startswith("[") else text


@lru_cache(1 << 8)
def expand_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a range of queues or groups, such as `3-4`, as texts."""
    return frozenset(map(str, expand_range(text)))
