"""Find the daemon that reads a table of SONiC, and whether its conditions hold: `consumers.yaml`."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.reading.rows import word_variants
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.documents.document import clip
from fabricc.base.installation import load_package_yaml
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE = Path(__file__).with_name("consumers.yaml")
FRR_FILE = "frr.conf"
_OWN = "own frr.conf"
_RUNNING = "frr version "
"""A line of what FRR itself prints, near the top; a file that somebody wrote need not have it."""
_TOP = 400
_ROUTED = (
    "BGP_NEIGHBOR",
    "BGP_PEER_RANGE",
    "BGP_GLOBALS",
    "BGP_INTERNAL_NEIGHBOR",
    "BGP_VOQ_CHASSIS_NEIGHBOR",
)


@dataclass(frozen=True, slots=True)
class Consumer:
    """One reader of a table, or of lines of `frr.conf`.

    Attributes:
        table: its name; `frr.conf` for lines, which `lines` then matches whole.
        row: the only row that is read; empty for all.
        fields: those read; None for every one.
        by: daemon, manager, script or template; `sources`: repository and file, each.
        since, until: the first and last release, empty where open.
        needs: names of conditions; `unless`: one with which everything is read, in every release; empty for none.
        gap: code of the finding that nothing reads it; empty if something does.
    """

    table: str
    row: str
    fields: frozenset[str] | None
    lines: re.Pattern[str] | None
    by: str
    sources: tuple[str, ...]
    since: str
    until: str
    needs: tuple[str, ...]
    unless: str
    gap: str

    def is_in(self, release: str) -> bool:
        """Return whether it reads in a release; their names ascend as text does."""
        return self.since <= release and (not self.until or release <= self.until)

    def reads_field(self, row: str, field: str | None) -> bool:
        """Return whether it reads a field of a row; without a field, the row."""
        return self.row in ("", row) and (field is None or self.fields is None or field in self.fields)


@dataclass(frozen=True, slots=True)
class Condition:
    """A requirement of a consumer: a field with one of some values.

    Attributes:
        by_default: whether it holds where the field is not stated.
        asked: only rows with this value, or with it at the end of their key, need the condition; empty for all.
        beside: a table that also satisfies it; empty for none.
    """

    table: str
    row: str
    field: str
    holds: tuple[str, ...]
    by_default: bool
    source: str
    asked: str
    beside: str

    def is_needed(self, rows: object) -> bool:
        """Return whether some row needs the condition."""
        if not self.asked or not isinstance(rows, dict):
            return True
        return any(
            key.rpartition("|")[2] == self.asked or (isinstance(row, dict) and self.asked in row.values())
            for key, row in rows.items()
        )

    def explain_refuted(self, tables: Mapping[str, Any]) -> str:
        """Why it does not hold by the tables of a device; empty where it does."""
        if self.beside and tables.get(self.beside):
            return ""
        rows = tables.get(self.table)
        row = rows.get(self.row) if isinstance(rows, dict) else None
        value = row.get(self.field) if isinstance(row, dict) else None
        if self.by_default if value is None else value in self.holds:
            return ""
        return f"{self.table}|{self.row} {self.field} is {'not stated' if value is None else value}"


@dataclass(frozen=True, slots=True)
class Consumers:
    """Everything that is known of consumers, by table; `frr.conf` is one.

    Attributes:
        found: those of tables that fabricc does not write; `names`: further tables.
        values: table -> field -> all values that it can have.
        hwskus: the hardware that images of SONiC have files of.
    """

    conditions: Mapping[str, Condition]
    tables: Mapping[str, tuple[Consumer, ...]]
    found: Mapping[str, tuple[Consumer, ...]]
    values: Mapping[str, Mapping[str, list[str]]]
    names: frozenset[str]
    hwskus: frozenset[str]

    def of(self, table: str, row: str, field: str | None, release: str) -> Consumer | None:
        """Return the programs that read a field in a release."""
        found = (
            one for one in self.tables.get(table, ()) if one.is_in(release) and one.reads_field(row, field)
        )
        return next(found, None)

    def of_line(self, line: str) -> Consumer:
        """Return the program that reads a line of `frr.conf`."""
        return next(one for one in self.tables[FRR_FILE] if one.lines and one.lines.fullmatch(line))


@lru_cache(1)
def load_consumers() -> Consumers:
    """Return the file as values."""
    raw: dict[str, Any] = load_package_yaml(TABLE)
    conditions = {}
    for name, one in raw["conditions"].items():
        table, row, field = one["at"].split("|")
        conditions[name] = Condition(
            table, row, field, tuple(one["holds"]), one["by_default"], one["in"], one.get("asked", ""),
            one.get("beside", ""),
        )  # fmt: skip
    tables, found = (
        {name: tuple(_make_consumer(name, row) for row in rows) for name, rows in raw[kind].items()}
        for kind in ("tables", "found")
    )
    tables[FRR_FILE] = tuple(_make_consumer(FRR_FILE, row) for row in raw["frr"])
    names, hwskus = frozenset(raw["names"]), frozenset(raw["hwskus"].split())
    return Consumers(conditions, tables, found, raw["values"], names, hwskus)


def _make_consumer(table: str, raw: Mapping[str, Any]) -> Consumer:
    fields, sources = raw.get("fields", "any"), raw.get("in", [])
    return Consumer(
        table,
        raw.get("row", ""),
        None if fields == "any" else frozenset(fields),
        re.compile(raw["lines"]) if "lines" in raw else None,
        raw.get("by", ""),
        (sources,) if isinstance(sources, str) else tuple(sources),
        raw.get("since", ""),
        raw.get("until", ""),
        tuple(raw.get("needs", ())),
        raw.get("unless", ""),
        raw.get("gap", ""),
    )


def unread_tables(tables: Mapping[str, Any], release: str) -> Iterator[tuple[str, str, str]]:
    """Table, row of it or nothing, and why nothing reads it, for the tables of a device.

    Args:
        tables: `config_db.json` as parsed.
        release: of its schema; empty for one that is not known, whose releases are not compared.
    """
    known = load_consumers()
    for table, every in chain(known.tables.items(), known.found.items()):
        rows = tables.get(table)
        here = [one for one in every if isinstance(rows, dict) and rows and one.row in ("", *rows)]
        readers = [one for one in here if not release or one.is_in(release)]
        if here and not readers:
            yield table, here[0].row, f"nothing in {release} does"
        for why in {why: None for one in readers for why in refuted_conditions(one, tables)}:
            yield table, here[0].row, why


_STRANGE = re.compile(r"table (\w+)|(\w+)\|(\S+) (\S+): .*", re.DOTALL)
_SHORT = 4
"""Letters of the name of a table that may be another one with one letter exchanged, `ZTP` for `NTP`."""
_ALIKE = 0.86
"""How much of a misspelled name is right, at least, where more than a letter is wrong."""


def explain_misspelled(
    text: str, tables: Mapping[str, Any], fields: Mapping[str, frozenset[str]]
) -> tuple[str, str]:
    """Return the name of a strange entry that no daemon reads, and why: it resembles one that is not stated.

    Args:
        text: of the entry.
        tables: `config_db.json` as parsed.
        fields: table -> further fields that are known of it.
    """
    match = _STRANGE.fullmatch(text)
    if match is None:
        return "", ""
    whole, table, key, field = match.groups()
    near = _resembled(whole or table, field or "", fields.get(table or "", frozenset()))
    row = _rows(tables, table).get(key)
    stated = [*tables] if whole else [*row] if isinstance(row, dict) else []
    if near in ("", field, whole) or near in stated:
        return "", ""
    return whole or f"{table} {field}", f"no daemon reads it, it is {near}"


@lru_cache(1 << 10)
def _resembled(table: str, field: str, fields: frozenset[str]) -> str:
    """Return the field of a table, or without a field the table, that a name resembles; "" for none."""
    known = load_consumers()
    every = {**known.found, **known.tables}
    tables = {*every, *known.values, *known.names}
    named = {each for one in every.get(table, ()) for each in one.fields or ()}
    names = named | fields if field else tables
    folded = {each.casefold(): each for each in names}
    name = (field or table).casefold()
    if name in folded:
        return folded[name]
    one_letter = {*word_variants(name)} if field or len(name) > _SHORT else set()
    near = sorted(folded.keys() & one_letter) or get_close_matches(name, folded, 1, _ALIKE)
    longer = [each for each in folded if f"{each}_".startswith(f"{name}_") or name.startswith(f"{each}_")]
    near = near or (longer if field and len(longer) == 1 else [])
    return folded[near[0]] if near else ""


@lru_cache(1 << 8)
def nearest_hwsku(name: str) -> str:
    """Return the maker and model of which an unknown hardware has one letter exchanged or less; "" for none.

    Owners of switches add names of their own, which differ behind the model, in a digit of it, or by a letter more.
    """
    known = {"-".join(each.split("-")[:2]) for each in load_consumers().hwskus}
    own = "-".join(name.split("-")[:2])
    for other in () if own in known else sorted(known):
        same, tail = _common_length(own, other), _common_length(own[::-1], other[::-1])
        tail = min(tail, len(own) - same, len(other) - same)
        ours, theirs = own[same : len(own) - tail], other[same : len(other) - tail]
        digits = is_number(ours) and is_number(theirs)
        if len(ours) < 2 and len(theirs) < 2 and not digits and (theirs or tail):
            return other
    return ""


def _common_length(one: str, two: str) -> int:
    """Return with how many equal letters two texts begin."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )


_TEMPLATE = ("{", ":")
"""Characters of values that the image fills in, or that have an argument, such as `REDIRECT:Ethernet0`."""


def unknown_values(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield table, row, field, item of its list and why of values that no daemon takes; each once."""
    reported: set[tuple[str, str, str]] = set()
    for key, row in _rows(tables, "DEVICE_METADATA").items():
        name = str(row.get("hwsku") or "") if isinstance(row, dict) else ""
        if name and (near := nearest_hwsku(name)):
            yield "DEVICE_METADATA", key, "hwsku", "", f"no image has files of {clip(name)}, it is {near}"
    for table, fields in load_consumers().values.items():
        for key, row in _rows(tables, table).items():
            for field, stated in row.items() if isinstance(row, dict) else ():
                listed = isinstance(stated, list)
                for value in (
                    map(str, stated if listed else str(stated).split(",")) if field in fields else ()
                ):
                    if value in fields[field] or any(each in str(stated) for each in _TEMPLATE):
                        continue
                    if (table, field, value) not in reported:
                        reported.add((table, field, value))
                        why = f"{clip(value)} is none of {join_words(fields[field], 6)}"
                        yield table, key, field, value if listed else "", why


_PARTS = (
    *(
        (name, "PORT")
        for name in ("INTERFACE", "PORT_QOS_MAP", "PFC_WD", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE")
    ),
    ("ACL_RULE", "ACL_TABLE"), ("VLAN_MEMBER", "VLAN"), ("VLAN_INTERFACE", "VLAN"),
    ("PORTCHANNEL_MEMBER", "PORTCHANNEL"), ("PORTCHANNEL_INTERFACE", "PORTCHANNEL"),
    ("VXLAN_TUNNEL_MAP", "VXLAN_TUNNEL"),
)  # fmt: skip
"""Tables whose keys begin with those of another one."""
_WHOLE = ("PORT", "ACL_TABLE")
"""Tables that are not in each file of the other ones: a part of a configuration, or lists that a program makes."""
_BOUND = {
    "dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP",
    "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP", "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
}  # fmt: skip
"""Fields of PORT_QOS_MAP -> table of the maps that they name."""
_TOP_KEY = re.compile(r'^([ \t]*)"(\w+)"[ \t]*:', re.MULTILINE)


def lost_rows(tables: Mapping[str, Any], text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield tables, or the first of their rows, without effect: key, reason, and line where it is another one's."""
    for table, above in _PARTS:
        known = _rows(tables, above)
        for key in _rows(tables, table) if known or above not in _WHOLE else ():
            names = [
                each for each in key.partition("|")[0].split(",") if each[:3] == "Eth" or above != "PORT"
            ]
            if any(each not in known for each in names):
                yield table, key, f"{above} has no such row", 0
                break
    if any(name in tables for name in _BOUND.values()):
        for key, row in _rows(tables, "PORT_QOS_MAP").items():
            lost = [
                each
                for each in _BOUND
                if isinstance(row, dict) and each in row and _BOUND[each] not in tables
            ]
            if lost:
                yield "PORT_QOS_MAP", key, f"there is no table {_BOUND[lost[0]]} for its {lost[0]}", 0
                break
    indent = match[1] if (match := _TOP_KEY.search(text)) else ""
    places = [(match[2], match.start(2)) for match in _TOP_KEY.finditer(text) if match[1] == indent]
    for name, count in Counter(name for name, _ in places).items() if len(places) > len(tables) else ():
        if count > 1 and name in tables:
            first, *_, last = (text.count("\n", 0, at) + 1 for each, at in places if each == name)
            yield f"{name} at line {first}", "", "this one replaces it", last


def _rows(tables: Mapping[str, Any], name: str) -> Mapping[str, object]:
    rows = tables.get(name)
    return rows if isinstance(rows, dict) else {}


def refuted_conditions(consumer: Consumer, tables: Mapping[str, Any]) -> Iterator[str]:
    """Why a consumer does not read what it should, by the tables of a device."""
    needed = (load_consumers().conditions[name] for name in consumer.needs)
    rows = tables.get(consumer.table)
    yield from filter(None, (each.explain_refuted(tables) for each in needed if each.is_needed(rows)))


def unread_lines(text: str, tables: Mapping[str, Any], release: str) -> Iterator[tuple[int, str, str]]:
    """Line number, consumer and reason of what nothing reads in `frr.conf`; the first line of each consumer."""
    known = load_consumers()
    every = {one.by for one in known.tables[FRR_FILE]}
    runs = _is_generated(text, tables)
    reported: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if reported == every:
            return
        one = known.of_line(line.rstrip())
        if one.by in reported:
            continue
        reported.add(one.by)
        if one.unless and not known.conditions[one.unless].explain_refuted(tables):
            continue
        own = known.conditions[_OWN].explain_refuted(tables)
        whys = [why for why in refuted_conditions(one, tables) if why != own or not runs]
        if release and not one.is_in(release):
            whys.insert(0, f"nothing in {release} does")
        if whys:
            yield number, one.by, ", ".join(whys)


def _is_generated(text: str, tables: Mapping[str, Any]) -> bool:
    """Return whether this is what FRR runs, and the switch's tables or files for each daemon make it.

    Where the tables have no BGP and the routing mode is not `split`, nobody makes it again after the next start.
    """
    metadata = tables.get("DEVICE_METADATA")
    here = metadata.get("localhost") if isinstance(metadata, dict) else None
    mode = here.get("docker_routing_config_mode") if isinstance(here, dict) else None
    return _RUNNING in text[:_TOP] and (mode == "split" or any(tables.get(name) for name in _ROUTED))
