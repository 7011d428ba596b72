"""`config_db.json` as text, and back: a writer of its fixed depth, the tree of tables, rows and fields, and their rows.

A list is marked as in the database itself: `@` and its items, joined by commas.
"""

from __future__ import annotations

import json
import re
from collections import deque
from functools import lru_cache
from itertools import chain, islice, repeat
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic.limits import RELEASES
from fabricc.back.reading import Block, Document, Keep, Node, Scope, Silent, Tree
from fabricc.back.reading import rows as pattern
from fabricc.fabric.facts import Reading, Unplanned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set


Row = dict[str, "str | list[str]"]
"""Fields of one row; every scalar is text, as Redis holds it."""
Table = dict[str, Row]
Tables = dict[str, Table]

FILE = "config_db.json"
IGNORED: Set[str] = {
    "ASIC_SENSORS", "AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE", "BGP_DEVICE_GLOBAL", "BMP", "CONSOLE_PORT",
    "CONSOLE_SWITCH", "COPP_GROUP", "COPP_TRAP", "CRM", "DEBUG_COUNTER", "DEBUG_COUNTER_DROP_REASON",
    "DEBUG_DROP_MONITOR", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA",
    "DNS_OPTIONS", "FEATURE", "FIPS", "FLOW_COUNTER_ROUTE_PATTERN", "GNMI_CLIENT_CERT", "GRPCCLIENT", "HEARTBEAT",
    "KDUMP", "KUBERNETES_MASTER", "LDAP", "LDAP_SERVER", "LLDP_PORT", "LOGGER", "LOSSLESS_TRAFFIC_PATTERN",
    "MEMORY_STATISTICS", "MGMT_RATE", "NTP_KEY", "PASSW_HARDENING", "RESTAPI", "SERIAL_CONSOLE", "SFLOW",
    "SFLOW_COLLECTOR", "SFLOW_SESSION", "SSH_SERVER", "STORMOND_CONFIG", "SUPPRESS_ASIC_SDK_HEALTH_EVENT",
    "SYSLOG_CONFIG", "SYSLOG_CONFIG_FEATURE", "TELEMETRY", "TELEMETRY_CLIENT", "XCVRD_LOG",
}  # fmt: skip
"""Tables of a running device that neither forward a packet nor steer one: what `init_cfg.json` and operators add."""
FLAT = {
    "BREAKOUT_CFG": "brkout_mode", "BUFFER_PG": "profile", "BUFFER_QUEUE": "profile",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list", "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
}  # fmt: skip
"""Tables of one field, hundreds of rows long -> the field; a row of it is one node, not two, at the field's line."""
OF_PORTS = frozenset({
    "BUFFER_PG", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_QUEUE", "PFC_WD",
    "PORT_QOS_MAP", "QUEUE",
})  # fmt: skip
"""Tables whose keys may name several ports: `Ethernet0,Ethernet4|3-4`."""
REFERRING = OF_PORTS | {"BUFFER_PROFILE"}
"""Tables whose values name rows of others.

Releases before 202205 write such a name as `[TABLE|row]`; their own migration (db_migrator.py) takes the brackets off.
"""
_REFERENCE = re.compile(r"\[[A-Z_]+\|([^\[\]|]+)\]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"(\s*+:)?')
"""A string of JSON, and the colon that makes a key of it."""
_ROW = "row"
_TEXT = frozenset((str,))
_NO_ROWS = Scope(1)


# --- writing ------------------------------------------------------------------------------------------


def write(tables: Mapping[str, Mapping[str, Mapping[str, str | list[str]]]]) -> str:
    """Return the text, indented by four like `config save` writes it; empty tables are left out.

    A row shared by many keys is formatted once. About four times faster than `json.dumps(indent=4)` on 3.11.
    """
    bodies: dict[int, str] = {}
    texts: list[str] = []
    for name, rows in tables.items():
        if not rows:
            continue
        lines: list[str] = []
        for key, row in rows.items():
            body = bodies.get(id(row))
            if body is None:
                body = bodies[id(row)] = _format_row(row)
            lines.append(f"        {quoted(key)}: {body}")
        texts.append(f"    {quoted(name)}: {{\n" + ",\n".join(lines) + "\n    }")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def _format_row(row: Mapping[str, str | list[str]]) -> str:
    if not row:
        return "{}"
    fields: list[str] = []
    for field, value in row.items():
        if isinstance(value, str):
            fields.append(f"            {quoted(field)}: {quoted(value)}")
        else:
            items = ",\n".join(f"                {quoted(item)}" for item in value)
            fields.append(f"            {quoted(field)}: [\n{items}\n            ]")
    return "{\n" + ",\n".join(fields) + "\n        }"


# --- the tree of a text -------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def parse_json(text: str) -> Any:
    """Parse the text as JSON; callers must not change the result.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text)


def table_tree(known_tables: Set[str], text: str) -> Tree:
    """Return a node for each table, row and field, without the tables of `IGNORED`.

    Lines are exact, unless an object has a key twice: then a place is that of the table's first mention.

    Args:
        known_tables: names of the tables that rows read; others are reported by name only.
        text: JSON, an object.
    """
    for lines in (_key_lines, _exact_key_lines):
        left = chain(lines(text), (0,), repeat(-1))
        found = _table_nodes(known_tables, text, left)
        if next(left) == 0:
            break
    else:
        found = _table_nodes(known_tables, text, None)
    if ": [\n" in text:
        _place_lone_items(found, text.split("\n"))
    if ",Ethernet" in text:
        for node in found.nodes:
            if node.key[0] in OF_PORTS and node.children:
                node.children = [each for child in node.children for each in _of_each_port(child)]
    return found


def _place_lone_items(tree: Tree, lines: Sequence[str]) -> None:
    """Give a list with one item the line of the item."""
    opening = {
        number
        for number, line in enumerate(lines[:-2], 1)
        if line.endswith("[") and lines[number + 1].strip().startswith("]")
    }
    for table in tree.nodes if opening else ():
        for row in table.children or ():
            for field in row.children or ():
                field.line += field.line in opening


def _of_each_port(node: Node) -> Iterator[Node]:
    """Yield a row for each of the ports that its key names."""
    ports, bar, rest = node.key[0].partition("|")
    for port in ports.split(","):
        each = Node((port + bar + rest, *node.key[1:]), node.line)
        each.children = node.children
        yield each


def _plain_names(table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with the names of other rows as releases from 202205 on write them."""
    if table not in REFERRING:
        return row
    return {
        field: _REFERENCE.sub(r"\1", value) if isinstance(value, str) else value
        for field, value in row.items()
    }


def _key_lines(text: str) -> list[int]:
    """Return the line of what looks like the end of a key, for each."""
    found = [number for number, line in enumerate(text.split("\n"), 1) if '":' in line]
    if len(found) == text.count('":'):
        return found
    return [number for number, line in enumerate(text.split("\n"), 1) for _ in range(line.count('":'))]


def _exact_key_lines(text: str) -> list[int]:
    """The line of each key, where blanks stand before a colon or values contain what looks like the end of a key."""
    found, line, at = [], 1, 0
    for string in _STRING.finditer(text):
        if string.group(1):
            line += text.count("\n", at, string.start())
            at = string.start()
            found.append(line)
    return found


def _table_nodes(known_tables: Set[str], text: str, lines: Iterator[int] | None) -> Tree:
    """Return the tree by the lines of all keys; without them by the table's."""
    nodes: list[Node] = []
    faults: list[tuple[int, str]] = []
    tables: Mapping[str, Any] = parse_json(text)
    referring = '"[' in text
    for name, rows in tables.items():
        at = next(lines) if lines else 1 + text.count("\n", 0, max(text.find(f'"{name}"'), 0))
        below = lines or repeat(at)
        if name in known_tables and isinstance(rows, dict):
            node = Node((name,), at)
            if referring:
                rows = {
                    key: _plain_names(name, row) if isinstance(row, dict) else row
                    for key, row in rows.items()
                }
            node.children = _row_nodes(name, rows, below, faults) or None
            nodes.append(node)
            continue
        _skip_lines(rows, below)
        if name in known_tables:
            faults.append((at, f"table {name} is not an object"))
        elif name not in IGNORED:
            faults.append((at, f"table {name}"))
    return Tree(nodes, faults)


def ignored_fields(text: str) -> list[tuple[str, int, str]]:
    """Return file, line and `TABLE|row field: value` of each field of the tables in `IGNORED` without a statement."""
    try:
        tables = parse_json(text) if text else {}
    except (ValueError, RecursionError):
        return []
    if not isinstance(tables, dict):  # the reader reports it
        return []
    found = []
    for name in sorted(IGNORED & tables.keys()):
        rows = tables[name]
        for key, row in rows.items() if isinstance(rows, dict) else [("", rows)]:
            fields = row.items() if isinstance(row, dict) and row else [("", row)]
            line = line_of_keys(text, name, key)
            found += [
                (FILE, line, f"{name}|{key} {field}: {value}")
                for field, value in fields
                if not (f"{name}|{key}|{field}" == _LLDP and value in _DISABLED)
            ]
    return found


def line_of_keys(text: str, *keys: str, item: str = "") -> int:
    """Return the line of the last of these keys, each below the one before, or of an item of its list."""
    at = 0
    for key in filter(None, keys):
        name = json.dumps(key)
        at = max(text.find(f"{name}:", at) if f"{name}:" in text else text.find(name, at), at)
    if item:
        at = max(text.find(json.dumps(item), at), at)
    return 1 + text.count("\n", 0, at)


_LLDP = "FEATURE|lldp|state"
_DISABLED = ("disabled", "always_disabled")


def state_lldp(text: str, reading: Reading) -> None:
    """State that lldpd does not run, or sends nothing; nothing is stated where it does, as by default."""
    for place, off in ((_LLDP, _DISABLED), ("LLDP|GLOBAL|enabled", ("false",))):  # sonic-lldp.yang
        keys = place.split("|")
        found: Any = parse_json(text)
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found in off:
            reading.put("lldp/enabled", "false", FILE, line_of_keys(text, *keys))


def _row_nodes(
    table: str, rows: Mapping[str, Any], lines: Iterator[int], faults: list[tuple[int, str]]
) -> list[Node]:
    nodes: list[Node] = []
    for key, row in rows.items():
        node = Node((key,), next(lines))
        if not isinstance(row, dict):
            faults.append((node.line, f"{table}|{key} is not an object"))
            _skip_lines(row, lines)
            continue
        if table in FLAT and len(row) == 1:
            ((field, value),) = row.items()
            if isinstance(value, str):
                nodes.append(Node((key, field, value), next(lines)))
                continue
        nodes.append(node)
        if _TEXT.issuperset(map(type, row.values())):
            node.children = list(map(Node, row.items(), lines)) or None
        else:
            node.children = _field_nodes(f"{table}|{key}", row, lines, faults)
    return nodes


def _field_nodes(
    name: str, row: Mapping[str, Any], lines: Iterator[int], faults: list[tuple[int, str]]
) -> list[Node]:
    """Return the fields of a row that are not all text."""
    nodes: list[Node] = []
    for field, value in row.items():
        line = next(lines)
        if isinstance(value, str):
            nodes.append(Node((field, value), line))
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            nodes.append(Node((field, "@", ",".join(value)), line))
        elif isinstance(value, int) and not isinstance(value, bool):  # the database holds it as text
            nodes.append(Node((field, str(value)), line))
        else:
            faults.append((line, f"{name} {field}: {json.dumps(value)} is not text"))
            _skip_lines(value, lines)
    return nodes


def _count_keys(value: object) -> int:
    """Return how many keys there are in a value, and below."""
    count, stack = 0, [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            count += len(each)
            stack += [member for member in each.values() if not isinstance(member, str)]
        elif isinstance(each, list):
            stack += each
    return count


def _skip_lines(value: object, lines: Iterator[int]) -> None:
    """Pass over the lines of the keys in a value."""
    deque(islice(lines, _count_keys(value)), maxlen=0)


def format_unknown(words: Sequence[str]) -> str:
    """Return the name of an unknown entry: `TABLE|row`, `TABLE|row field: value`."""
    row = "|".join(words[:2])
    return f"{row} {words[2]}: {words[-1]}" if len(words) > 2 else row


# --- rows and what they kept --------------------------------------------------------------------------


def table_block(name: str, *fields: pattern.Row) -> Block:
    """Return the rows of a table, each with the fields that are known of it."""
    return Block(name, name, (Block("<word>", _ROW, fields),))


def kept_fields(*fields: str) -> tuple[Keep, ...]:
    """Fields of any value, which is kept."""
    return tuple([Keep(f"{field} <word>", field) for field in fields])


def silent_fields(*fields: str) -> tuple[Silent, ...]:
    """Fields whose value does not matter."""
    return tuple([Silent(f"{field} <word>") for field in fields])


def flat_table(name: str) -> Block:
    """Return a table of one field: its value is kept under the row's key."""
    return Block(name, name, (Keep(f"<word> {FLAT[name]} <word>", "{0}", "{1}"),))


def flat_rows(document: Document, name: str) -> Mapping[str, tuple[str, int]]:
    """Return key -> value of the only field of a row, and its line."""
    return table_scope(document, name).values  # type: ignore[return-value]


def key_line(document: Document, key: str, line: int) -> int:
    """Return the line of the key of a row whose field is on a line."""
    lines, name = document.lines, quoted(key)
    return next((at for at in range(min(line, len(lines)), 0, -1) if name in lines[at - 1]), line)


def table_scope(document: Document, name: str) -> Scope:
    """Return the scope of a table, with its line; without rows where it is absent."""
    return document.scope.scopes.get(name, {}).get("", _NO_ROWS)


def rows_of(document: Document, name: str) -> Mapping[str, Scope]:
    """Return the rows of a table, with their lines and what they kept; none where it is absent."""
    return table_scope(document, name).scopes.get(_ROW, {})  # type: ignore[return-value]


def value_of(row: Scope, field: str, default: str = "") -> str:
    """Return the value of a field in a row."""
    stored = row.values.get(field)
    return default if stored is None else str(stored[0])


def line_of(row: Scope, field: str) -> int:
    """Return the line of a field, else that of its row."""
    stored = row.values.get(field)
    return row.line if stored is None else stored[1]


def put_field(document: Document, path: str, name: str, key: str, field: str) -> None:
    """State the value of a field, if a row has it."""
    row = rows_of(document, name).get(key)
    if row and field in row.values:
        document.put(path, *row.values[field])


def report_strange(document: Document, line: int, text: str) -> None:
    """List something that has no place in a planned configuration."""
    document.reading.unknown.append(Unplanned(document.file, line, text))


def state_fields(document: Document, prefix: str, row: Scope, *fields: str) -> None:
    """State the fields of a row as settings of their names."""
    for field in fields:
        if field in row.values:
            value, line = row.values[field]
            document.put(f"{prefix}[{field}]", str(value), line)


def schema_release(document: Document) -> str:
    """Return the release of a schema such as `version_202405_01`; empty where it is not known."""
    versions = rows_of(document, "VERSIONS").get("DATABASE", _NO_ROWS)
    name = value_of(versions, "VERSION").removeprefix("version_").partition("_")[0]
    return name if name in RELEASES else ""


def require_fields(document: Document, stated: Mapping[str, Mapping[str, str]]) -> None:
    """List the rows of tables that do not state each field with the value that leaves a switch as planned."""
    of = schema_release(document)
    absent = RELEASES[of].absent if of else {}
    for name, wanted in stated.items():
        for key, row in rows_of(document, name).items():
            for field, want in wanted.items():
                stored, line = row.values.get(field, (None, row.line))
                if stored is None and field not in absent.get(name, ()):
                    report_strange(document, line, f"{name}|{key} without {field} {want}")
                elif stored is not None and stored != want:
                    report_strange(document, line, f"{name}|{key} {field}: {stored}")
                    document.put(f"table[{name}|{key} {field}]", str(stored), line)


_REFUTED = re.compile(r"(\w+)\|(\S+) (?:\S+ is not stated|(\S+) is )")
"""A condition that does not hold, because a field has another value, or none."""


def find_condition(text: str, why: str) -> tuple[str, int] | None:
    """Return file and line of the field by which a condition does not hold, or of the row or the table that lacks it.

    None where no table states it.
    """
    match = _REFUTED.match(why)
    if match is None or f'"{match[1]}"' not in text:
        return None
    return FILE, line_of_keys(text, match[1], match[2], match[3] or "")


def demand_row(document: Document, name: str, key: str) -> None:
    """List a table without a row that every switch has."""
    if key not in rows_of(document, name):
        report_strange(document, table_scope(document, name).line, f"{name}|{key} is missing")


def profile_bindings(document: Document, name: str) -> list[tuple[str, str, str, int]]:
    """Yield port, numbers of the key, profile and line of each row of a table of buffer profiles."""
    found = []
    for key, (profile, line) in flat_rows(document, name).items():
        port, _, numbers = key.rpartition("|")
        found.append((port, numbers, profile, line))
    return found


def fields_of(row: Scope) -> Row:
    """Return the fields of a row."""
    return {field: str(stored) for field, (stored, _) in row.values.items()}


def demand_rows(document: Document, name: str, expected_rows: Table) -> None:
    """List the rows of a table that are not there with these fields alone."""
    found = rows_of(document, name)
    for key, expected in expected_rows.items():
        if key not in found or fields_of(found[key]) != expected:
            line = found[key].line if key in found else table_scope(document, name).line
            report_strange(document, line, f"{name}|{key} is not {expected}")
