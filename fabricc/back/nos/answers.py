"""Read answers of devices in JSON of any nesting: values and neighbors by key names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.collected import Seen, clean_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def parse_json(text: str) -> Any:
    """Parse a text as JSON; return None for any other text."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def values_under(value: Any, name: str) -> Iterator[Any]:
    """Yield every value of that name, however deep; a list of values is each of them."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += reversed(each)
        elif isinstance(each, dict):
            if name in each:
                yield from each[name] if isinstance(each[name], list) else (each[name],)
            waiting += [below for key, below in reversed(each.items()) if key != name]


def leaf_text(value: Any, *names: str) -> str:
    """Return the text of the first of these keys that has one, also inside `value`, `data` and lists."""
    for name in names:
        found = value.get(name) if isinstance(value, dict) else None
        while isinstance(found, list | dict):
            found = (
                (found[0] if found else None)
                if isinstance(found, list)
                else found.get("value", found.get("data"))
            )
        if isinstance(found, str | int) and (text := clean_value(str(found))):
            return text
    return ""


def find_neighbors(text: str, found: Iterable[tuple[str, str, str]]) -> tuple[Seen, ...]:
    """Neighbors of JSON, as port, device and far port, at the line that first names the port."""
    made = []
    for port, device, far_port in found:
        at = text.find(json.dumps(port)) if port else -1
        if port and (device or far_port):
            made.append(Seen(port, device, far_port, text.count("\n", 0, max(at, 0)) + 1))
    return tuple(made)
