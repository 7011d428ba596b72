"""Read cages, lanes, splits, names, pools and the lossless table of a SKU of SONiC from its files.

Ports come from `platform.json`, or else from the port table. Templates are searched for literals and never run.
"""

from __future__ import annotations

import json
import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.catalog.importing import draft
from fabricc.catalog.importing.draft import Cages, FoldedWords, Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


MOST_PORTS, MOST_RUNS = 2048, 16
MODE = re.compile(r"([1248])x(\d{1,7})(G?)(?:\[([\dG, ]*)\])?(?:\((\d{1,2})\))?")
"""A breakout mode: children, speed (Mb/s without the G), other speeds, lanes of all children."""
OWN_LABEL = "etp{cage}"
"""The label of ports whose own labels follow no rule of the catalog."""
_LABEL = re.compile(r"[A-Za-z0-9/:._-]{1,60}")
_NAME = re.compile(r"Ethernet(\d{1,5})")


class NoRuleError(ValueError):
    """A port table that the catalog's rules do not describe; the message contains the place."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cage as a table of SONiC has it: number in its name, lanes, label, index, Mb/s; mode -> labels of a split."""

    number: int
    lanes: tuple[int, ...]
    alias: str
    index: int
    speed: int
    modes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Panel:
    """The cages of a SKU in panel order.

    Attributes:
        source: the file that they are from.
        split: whether that file names splits.
        left_out: what the catalog cannot have: modes of unlike children, ports on the lanes of others.
        stated: numbers of the ports that the SKU's port table has; empty where it has none.
    """

    rows: tuple[Row, ...]
    runs: tuple[Cages, ...]
    source: str
    split: bool
    left_out: tuple[str, ...]
    stated: frozenset[int]


def read_cages(read: Callable[[str], str], sku: str, skus: Sequence[str]) -> Panel:
    """The cages that the platform, or else the SKU, states; splits into eight where one of all SKUs has as many ports.

    Raises:
        NoRuleError: there is no such table, or it is malformed.
    """
    table = _port_config(read(f"{sku}/port_config.ini"))
    stated = _parse_json(read("platform.json")).get("interfaces")
    split = isinstance(stated, dict) and bool(stated)
    every = _read_interfaces(dict(stated or {}), table) if split else table
    if not 0 < len(every) <= MOST_PORTS:
        raise NoRuleError("no port table")
    rows = _drop_conflicts(_without_doubles(every), table)
    most = max(read(f"{each}/port_config.ini").count("\nEthernet") for each in skus)
    uses = [_cage_uses(row, most // len(rows) >= 7) for row in rows]
    modes = sorted({mode for row in rows for mode in row.modes if not MODE.fullmatch(mode)})
    left_out = [f"the breakout mode {mode}" for mode in modes]
    left_out += [f"Ethernet{row.number}, whose lanes another port has," for row in every if row not in rows]
    runs = draft.in_runs(_share_uses([(len(row.lanes), use) for row, use in zip(rows, uses, strict=True)]))
    source = "platform.json" if split else "port_config.ini"
    stated_ports = frozenset(row.number for row in table)
    return Panel(tuple(rows), tuple(runs), source, split, tuple(left_out), stated_ports)


def _share_uses(cages: list[tuple[int, tuple[str, ...]]]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the same cages; where every second one has fewer uses, with those that all of their width have."""
    if len(list(groupby(cages))) <= MOST_RUNS:
        return cages
    common: dict[int, list[str]] = {}
    for lanes, uses in cages:
        common[lanes] = [use for use in common.get(lanes, uses) if use in uses]
    if not all(common.values()):
        raise NoRuleError(f"more than {MOST_RUNS} runs of unlike cages")
    return [(lanes, tuple(common[lanes])) for lanes, _ in cages]


def naming_rules(found: Panel) -> Raw:
    """Return the settings by which the catalog names ports, lanes and splits.

    Raises:
        NoRuleError: names or labels follow no such rule.
    """
    fabric = [run for run in found.runs if not run.service]
    count = sum(run.count for run in fabric)
    rows = found.rows[:count]
    service = [row for row in found.rows[count:] if row.number in found.stated or not found.stated]
    steps, aliases, modes, at = [], [], [], 0
    styles = set()
    for run in fabric:
        part = rows[at : at + run.count]
        steps.append(_name_steps(part, rows[at + run.count] if at + run.count < count else None))
        pattern, style = _label_pattern(part, at + 1) or (OWN_LABEL, "letters" if found.split else "")
        aliases.append(pattern)
        styles |= {style} - {""}
        modes.append(dict(_breakout_modes(part[0], run)) if found.split else {})
        at += run.count
    if len(styles) > 1:
        raise NoRuleError("runs of cages are labeled in different styles")
    if {row.index - place for place, row in enumerate(rows)} != {rows[0].index}:
        raise NoRuleError("the index of ports does not count cages")
    settings: Raw = {
        "port_step": _common_or_list(steps),
        "alias": _common_or_list(aliases),
        "alias_style": next(iter(styles), "plain"),
    }
    settings |= {"first_port": rows[0].number} if rows[0].number else {}
    settings |= {"first_index": rows[0].index} if rows[0].index != 1 else {}
    settings["lanes"] = _lane_layout(rows)
    settings["breakouts"] = _common_or_list(modes)
    if service:
        settings["service_ports"] = [
            {"name": f"Ethernet{row.number}", "lanes": list(row.lanes), "index": row.index, "speed": row.speed,
             "alias": row.alias if _LABEL.fullmatch(row.alias) else OWN_LABEL.format(cage=place)}
            for place, row in enumerate(service, start=count + 1)]  # fmt: skip
    return settings


def _common_or_list(values: list[Any]) -> Any:
    """Return what all runs share, or the list of what each has."""
    return values[0] if all(value == values[0] for value in values) else values


def _parse_json(text: str) -> Raw:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise NoRuleError("platform.json is no JSON") from None
    return value if isinstance(value, dict) else {}


def _parse_numbers(text: object) -> tuple[int, ...]:
    parts = str(text).replace(" ", "").split(",")
    return tuple(int(part) for part in parts) if all(re.fullmatch(r"\d{1,7}", part) for part in parts) else ()


def _port_config(text: str) -> list[Row]:
    """Return the rows of a port table; columns are named by its last comment."""
    names = ["name", "lanes", "alias", "index", "speed"]
    rows: list[Row] = []
    for line in text.splitlines():
        cells = line.split()
        if line.startswith("#"):
            names = line.lstrip("# ").split() if "lanes" in line else names
        elif cells and (name := _NAME.fullmatch(cells[0])):
            row = dict(zip(["name", *names[1:]], cells, strict=False))
            lanes = _parse_numbers(row.get("lanes", ""))
            index, speed = _parse_numbers(row.get("index", "")), _parse_numbers(row.get("speed", ""))
            if lanes:
                place, mbps = index[0] if index else len(rows) + 1, speed[0] if speed else 0
                rows.append(Row(int(name[1]), lanes, row.get("alias", cells[0]), place, mbps, {}))
    return rows


def _read_interfaces(stated: Raw, table: Sequence[Row]) -> list[Row]:
    """Return the cages of `platform.json`; speeds of cages without a split are those of the port table."""
    speeds = {row.number: row.speed for row in table}
    rows = []
    for key, value in stated.items():
        name = _NAME.fullmatch(key)
        if not name or not isinstance(value, dict):
            continue
        lanes, index = _parse_numbers(value.get("lanes", "")), _parse_numbers(value.get("index", ""))
        raw = value.get("breakout_modes")
        modes = {mode: _split_labels(labels) for mode, labels in raw.items()} if isinstance(raw, dict) else {}
        whole = next((labels for mode, labels in modes.items() if mode.startswith("1x") and labels), None)
        if not lanes or not index:
            raise NoRuleError(f"{key} of platform.json lacks lanes or index")
        if len(set(lanes)) < len(lanes):
            raise NoRuleError(f"{key} of platform.json has a lane twice")
        if whole is None:  # never whole: the ports of the port table that its lanes have
            rows += [row for row in table if set(row.lanes) <= set(lanes)]
            continue
        speed = (
            max((gbps for mode in modes for _, gbps, _ in _parse_mode(mode, len(lanes))), default=0) * 1000
        )
        number = int(name[1])
        rows.append(Row(number, lanes, whole[0], index[0], speeds.get(number) or speed, modes))
    return rows


def _by_lane(rows: Sequence[Row]) -> dict[int, Row]:
    """Return the widest port of each lane."""
    return {lane: row for row in sorted(rows, key=lambda row: len(row.lanes)) for lane in row.lanes}


def _without_doubles(rows: Sequence[Row]) -> list[Row]:
    """Return the rows by number, without ports on lanes that a wider one has."""
    owner = _by_lane(rows)
    return sorted((row for row in rows if owner[row.lanes[0]] is row), key=lambda row: row.number)


def _drop_conflicts(rows: list[Row], table: Sequence[Row]) -> list[Row]:
    """Return the rows without ports of one lane that the port table has on another.

    Raises:
        NoRuleError: a wider port has other lanes there.
    """
    owner = _by_lane(rows)
    strange = [row for row in _without_doubles(table) if not _fits_cage(row, owner)]
    if wide := [row for row in strange if len(row.lanes) > 1]:
        raise NoRuleError(
            f"lanes of Ethernet{wide[0].number} differ between platform.json and port_config.ini"
        )
    doubtful = {row.number for row in strange}
    return [row for row in rows if row.number not in doubtful]


def _fits_cage(row: Row, owner: Mapping[int, Row]) -> bool:
    """Return whether a port is the one cage that has its lanes, or a part of it."""
    cage = owner.get(row.lanes[0])
    if cage is None or not set(row.lanes) <= set(cage.lanes):
        return False
    return row.number == cage.number or len(row.lanes) < len(cage.lanes)


def _split_labels(labels: object) -> tuple[str, ...]:
    """Return the labels of a mode, a list or one text with commas."""
    found = labels if isinstance(labels, list) else str(labels).replace(" ", "").split(",")
    return tuple(map(str, found))


def _parse_mode(mode: str, lanes: int) -> Iterator[tuple[int, int, int]]:
    """Yield what a mode makes of a cage: children, Gb/s and lanes of each, its other speeds too."""
    found = MODE.fullmatch(mode)
    if not found:
        return
    children, taken = int(found[1]), int(found[5] or lanes)
    for text in (f"{found[2]}{found[3]}", *(found[4] or "").replace(" ", "").split(",")):
        gbps = int(text.removesuffix("G") or 0) if text.endswith("G") else int(text or 0) // 1000
        if gbps and taken // children:
            yield children, gbps, taken // children


def _cage_uses(row: Row, eight: bool) -> tuple[str, ...]:
    """Return the uses of a cage, fewest and fastest children first; slow ones of fast cages are left out."""
    if not row.modes:
        return (f"1x{max(row.speed // 1000, 1)}/{len(row.lanes)}",)
    found = {use for mode in row.modes for use in _parse_mode(mode, len(row.lanes))}
    top = max(gbps for _, gbps, _ in found)
    least = 100 if top >= 400 else 25 if top >= 100 else top
    kept: dict[tuple[int, int], int] = {}
    for children, gbps, lanes in sorted(found, key=lambda use: (use[0], -use[1], -use[2])):
        if gbps >= least and gbps != 40 and (children < 8 or eight):
            kept.setdefault((children, gbps), lanes)
    return tuple(f"{children}x{gbps}/{lanes}" for (children, gbps), lanes in kept.items())


def _breakout_modes(row: Row, run: Cages) -> Iterator[tuple[str, str]]:
    """`children`x`speed` -> mode, for every use of a run; the mode that names the speed first wins."""
    for use in run.breakouts:
        children, gbps = (int(part) for part in use.partition("/")[0].split("x"))
        fitting = [mode for mode in row.modes
                   if any(each[:2] == (children, gbps) for each in _parse_mode(mode, len(row.lanes)))]  # fmt: skip
        exact = [mode for mode in fitting if next(_parse_mode(mode, len(row.lanes)))[1] == gbps]
        yield f"{children}x{gbps}", (exact or fitting)[0]


def _name_steps(part: Sequence[Row], after: Row | None) -> int:
    """Return how far names advance from cage to cage of a run, and to the first of the next one."""
    following = [*part, after] if after else list(part)
    steps = {later.number - row.number for row, later in pairwise(following)}
    if len(steps) > 1:
        raise NoRuleError(f"names advance by {' and '.join(map(str, sorted(steps)))} within equal cages")
    return steps.pop() if steps else len(part[0].lanes)


def _label_pattern(part: Sequence[Row], first: int) -> tuple[str, str] | None:
    """The pattern of a run's labels, and the style of what follows for a part of a cage, empty where none is split.

    None where they follow no rule of the catalog.
    """
    pattern = _common_pattern([(cage, row.alias) for cage, row in enumerate(part, start=first)])
    row = part[0]
    split = next((labels for mode, labels in row.modes.items()
                  if mode.startswith(("2x", "4x")) and len(labels) > 1), None)  # fmt: skip
    if pattern is None:
        return None
    if split is None:
        return pattern, ""
    lanes = len(row.lanes)
    second = lanes // len(split) + 1
    stem = row.alias.removesuffix("1")
    if split[1] == f"{row.alias}b":
        return pattern, "letters"
    if split[1] == f"{row.alias}/2":
        return pattern, "plain"
    if split[1] == f"{row.alias}/{second}":
        return pattern, "lane"
    if stem != row.alias and pattern.endswith("1") and split[1] in (f"{stem}{second}", f"{stem}2"):
        return pattern[:-1] + ("{lane}" if split[1] == f"{stem}{second}" else "{child}"), "lane"
    return None


def _common_pattern(labels: Sequence[tuple[int, str]]) -> str | None:
    """Labels of cages as one pattern with `{cage}`; None where they do not count cages, or have other characters."""
    cage, label = labels[0]
    for found in re.finditer(r"\d+", label):
        if int(found[0]) != cage:
            continue
        before, after = label[: found.start()], label[found.end() :]
        if all(text == f"{before}{number}{after}" for number, text in labels) and _LABEL.fullmatch(label):
            return f"{before}{{cage}}{after}"
    return None


def _lane_layout(rows: Sequence[Row]) -> Raw | FoldedWords | list[list[int]]:
    every = [lane for row in rows for lane in row.lanes]
    width = len(rows[0].lanes)
    if every == list(range(every[0], every[0] + len(every))) and all(len(row.lanes) == width for row in rows):
        return {"first": every[0], "per_cage": width}
    if any(list(row.lanes) != list(range(row.lanes[0], row.lanes[0] + len(row.lanes))) for row in rows):
        return [list(row.lanes) for row in rows]
    ends = ((row.lanes[0], row.lanes[-1]) for row in rows)
    return FoldedWords(" ".join(str(low) if low == high else f"{low}-{high}" for low, high in ends))


COLUMNS = ["speed_gbps", "cable_m", "size_bytes", "xon_bytes", "xoff_bytes", "dynamic_th", "xon_offset_bytes"]
MOST_ROWS = 1024
_SET = re.compile(r"\{%-?\s*set\s+(\w+)\s*=\s*'(\d{1,15})'\s*-?%\}")
_OBJECT = re.compile(r'"(\w{1,64})"\s*:\s*\{([^{}]{0,1000})\}')
_PAIR = re.compile(r'"(\w{1,32})"\s*:\s*"([^"{}]{0,64})"')
_ROW = re.compile(
    r"(\d{1,9})\s+(\d{1,6})m\s+(\d{1,12})\s+(\d{1,12})\s+(\d{1,12})\s+(-?\d{1,2})(?:\s+(\d{1,12}))?\s*"
)


def read_lossless_table(read: Callable[[str], str]) -> Raw | None:
    """Return the lossless table of `pg_profile_lookup.ini`; None where the SKU has none."""
    lines = [line.strip() for line in read("pg_profile_lookup.ini").splitlines()]
    found = [match for line in lines if is_number(line[:1]) and (match := _ROW.fullmatch(line))]
    rows: dict[tuple[int, int], list[Any]] = {}
    for row in found[:MOST_ROWS]:
        mbps, *figures = (int(cell) for cell in row.groups()[:6])
        if mbps >= 1000:
            offset = int(row[7]) if row[7] else None
            rows[mbps // 1000, figures[0]] = [mbps // 1000, *figures, offset]
    return {"columns": COLUMNS, "rows": [rows[key] for key in sorted(rows)]} if rows else None


def read_pools(read: Callable[[str], str]) -> Raw | None:
    """Return the pools of `buffers_defaults_t1.j2` as the catalog has them; None where a size is not a literal."""
    text = read("buffers_defaults_t1.j2")
    given = {name: int(value) for name, value in _SET.findall(text)}
    objects = {name: dict(_PAIR.findall(body)) for name, body in _OBJECT.findall(text)}
    ingress, egress = objects.get("ingress_lossless_pool", {}), objects.get("egress_lossless_pool", {})
    if "ingress_lossless_pool_size" in given and "egress_lossless_pool_size" in given:
        return _figures_of_variables(given)
    if _profile_number(ingress, "size") and _profile_number(egress, "size"):
        return _figures_of_objects(objects, ingress, egress)
    return None


def buffer_figures(found: Raw) -> Raw:
    """Return the total buffer from the pools, unless it is a Spectrum's, and the pools."""
    known = {"total_bytes": found.pop("total_bytes", 0), "max_lossless_classes": 2}
    whole: Raw = {key: {"value": value, "source": "buffers"} for key, value in known.items() if value}
    return {**whole, "pools": {"source": "buffers", **found}}


def _figures_of_variables(variables: Raw) -> Raw:
    """Pools of a Spectrum, whose sizes are variables of the template."""
    return {
        "ingress_lossless_bytes": variables["ingress_lossless_pool_size"],
        "headroom_bytes": variables.get("ingress_lossless_pool_xoff", 0),
        "egress_lossless_bytes": variables["egress_lossless_pool_size"],
        "egress_lossy_bytes": variables.get("egress_lossy_pool_size"),
        "egress_lossless_static": False,
        "size_includes_headroom": False,
        "lossy_egress_alpha": 3,
    }


def _figures_of_objects(objects: Raw, ingress: Raw, egress: Raw) -> Raw:
    """Pools of other makers, written out in the template."""
    lossless = objects.get("egress_lossless_profile", {})
    lossy_in, lossy_out = objects.get("ingress_lossy_profile", {}), objects.get("egress_lossy_profile", {})
    size, xoff = _profile_number(ingress, "size") or 0, _profile_number(ingress, "xoff") or 0
    static = "static_th" in lossless
    total = max(_profile_number(egress, "size") or 0, _profile_number(lossless, "static_th") or 0)
    inside = size + xoff > total
    found: Raw = {
        "total_bytes": max(total, size),
        "ingress_lossless_bytes": size,
        "headroom_bytes": xoff,
        "egress_lossless_bytes": _profile_number(egress, "size"),
        "egress_lossy_bytes": _profile_number(objects.get("egress_lossy_pool", {}), "size"),
        "egress_lossless_static": static,
        "size_includes_headroom": inside,
    }
    if inside:
        found["accounting"] = {
            "assumed": True,
            "reason": f"size and xoff add up to {size + xoff:,} of {total:,} bytes, so xoff is read as part of size",
        }
    if (egress.get("mode") == "static") != static:
        found["egress_pool_static"] = egress.get("mode") == "static"
    for key, profile, word in (
        ("egress_lossless_limit_bytes", lossless, "static_th"),
        ("lossy_ingress_limit_bytes", lossy_in, "static_th"),
        ("lossy_egress_bytes", lossy_out, "size"),
        ("lossy_egress_alpha", lossy_out, "dynamic_th"),
    ):
        if (value := _profile_number(profile, word)) is not None:
            found[key] = value
    return found


def _profile_number(profile: Raw, key: str) -> int | None:
    text = profile.get(key, "")
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None
