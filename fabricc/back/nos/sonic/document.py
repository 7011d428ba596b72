"""`config_db.json` as text: a writer of its fixed depth, and the line numbers of what is in it."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, "str | list[str]"]
"""Fields of one row; every scalar is text, as Redis holds it."""
Table = dict[str, Row]
Tables = dict[str, Table]

FILE = "config_db.json"


def write(tables: Mapping[str, Mapping[str, Mapping[str, str | list[str]]]]) -> str:
    """The text, indented by four like `config save` writes it; empty tables are left out.

    A row shared by many keys is formatted once. About four times faster than `json.dumps(indent=4)` on 3.11.
    """
    bodies: dict[int, str] = {}
    texts: list[str] = []
    for table, rows in tables.items():
        if not rows:
            continue
        lines: list[str] = []
        for key, row in rows.items():
            body = bodies.get(id(row))
            if body is None:
                body = bodies[id(row)] = _row(row)
            lines.append(f"        {quoted(key)}: {body}")
        texts.append(f"    {quoted(table)}: {{\n" + ",\n".join(lines) + "\n    }")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def _row(row: Mapping[str, str | list[str]]) -> str:
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


Places = dict[str, dict[str, dict[str, int]]]
"""Table -> row -> field -> line; the line of a row or table is that of its field or row ``."""


class Lines:
    """Where tables, rows and fields stand in a text.

    Exact for the four-space layout that the device and fabricc write, also when edited; in any other layout a place is
    that of the table's first mention.
    """

    __slots__ = ("_places", "_text")

    def __init__(self, text: str, parsed: Any = None) -> None:
        """Index `text`, quicker when `parsed` is what it says as JSON."""
        lines = text.split("\n")
        self._text = text
        self._places = _counted(lines, parsed) or _searched(lines)

    def of(self, table: str, row: str = "", field: str = "") -> int:
        """The line of a field, else of its row, else of its table, from 1."""
        rows = self._places.get(table)
        if rows is None:
            return 1 + self._text.count("\n", 0, max(self._text.find(f'"{table}"'), 0))
        fields = rows.get(row) or rows[""]
        return fields.get(field) or fields[""]


def _counted(lines: list[str], parsed: Any) -> Places | None:
    """Places counted from the values, each table and row verified; None when the layout is another."""
    places: Places = {}
    number = 1
    for table, rows in parsed.items() if isinstance(parsed, dict) else ():
        number += 1
        if number > len(lines) or lines[number - 1] != f'    "{table}": {{' or not isinstance(rows, dict):
            return None
        found = places[table] = {"": {"": number}}
        for key, row in rows.items():
            number += 1
            if number > len(lines) or not lines[number - 1].startswith(f'        "{key}": {{'):
                return None
            fields = found[key] = {"": number}
            for field, value in row.items():
                number += 1
                fields[field] = number
                if isinstance(value, list):
                    number += len(value) + 1
            number += bool(row)
        number += 1
    return places


def _searched(lines: list[str]) -> Places:
    """Places told by the indent of each line."""
    fields: dict[str, int] = {}
    rows: dict[str, dict[str, int]] = {}
    places: Places = {}
    for number, line in enumerate(lines, 1):
        parts = line.split('"', 2)
        if len(parts) < 3 or not parts[2].startswith(": "):
            continue
        indent = len(parts[0])
        if indent == 12:
            fields[parts[1]] = number
        elif indent == 8:
            rows[parts[1]] = fields = {"": number}
        elif indent == 4:
            fields = {"": number}
            places[parts[1]] = rows = {"": fields}
    return places
