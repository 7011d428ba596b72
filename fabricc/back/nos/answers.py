"""Read answers of devices: JSON of any nesting by key names, NAPALM getters, and neighbors as lldpd prints them.

Systems without a back end whose configurations look like those of one are rejected by name.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.collected import Identity, Output, SeenNeighbor, clean_value, parse_details, parse_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


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


def find_neighbors(text: str, found: Iterable[tuple[str, str, str]]) -> tuple[SeenNeighbor, ...]:
    """Neighbors of JSON, as port, device and far port, at the line that first names the port."""
    made = []
    for port, device, far_port in found:
        at = text.find(json.dumps(port)) if port else -1
        if port and (device or far_port):
            made.append(SeenNeighbor(port, device, far_port, text.count("\n", 0, max(at, 0)) + 1))
    return tuple(made)


_SYSTEMS = (
    ("Dell OS10", r"^! Version 10\.\d|^trust dscp-map \S+$|^interface ethernet\d+/\d+/\d+(?::\d+)?\s*$"),
    (
        "the CLI of Enterprise SONiC (give its config_db.json)",
        r"^roce enable\b|^qos map dscp-tc \S|^ *qos-map dscp-tc \S",
    ),
    ("AsterNOS (give its config_db.json)", r"^interface ethernet \d+/\d+\s*$|^qos roce lossless\b"),
    (
        "Cisco IOS",
        r"^boot-start-marker|^service timestamps |^interface (?:Fast|Gigabit|TenGigabit)Ethernet\d+(?:/\d+)*\s*$",
    ),
)
"""Name -> lines that it prints and that no system with a back end has.

Sources: Dell SmartFabric OS10 user guide (trust maps), dellemc.enterprise_sonic (maps of code points), the AsterNOS
CX864E-N guide (RoCE), running configurations of Cisco IOS.
"""
_PATTERNS = tuple((name, re.compile(f"(?m:{lines})")) for name, lines in _SYSTEMS)


def other_system(text: str) -> str:
    """Return the system without a back end that printed a text; "" for none that is known."""
    return next((name for name, lines in _PATTERNS if lines.search(text)), "")


def read_getter(text: str, products: Callable[[str], tuple[str, ...]]) -> Output | None:
    """Read an answer; return None for any other text. `products`: maps the name of a box, as its system does."""
    if '"remote_system_name"' not in text and '"os_version"' not in text:
        return None
    answer = parse_json(text)
    if not isinstance(answer, dict):
        return None
    answer = answer.get("get_facts") or answer.get("get_lldp_neighbors_detail") or answer
    if isinstance(answer.get("os_version"), str):
        names = products(box) if (box := leaf_text(answer, "model")) else ()
        return Output(
            Identity(leaf_text(answer, "hostname"), box if names else "", answer["os_version"], names)
        )
    rows = [
        (
            port,
            leaf_text(far, "remote_system_name", "remote_chassis_id"),
            leaf_text(far, "remote_port", "remote_port_description"),
        )
        for port, seen in answer.items()
        for far in (seen if isinstance(seen, list) else ())
    ]
    return Output(neighbors=find_neighbors(text, rows))


_LINE = re.compile(
    r"Interface:\s+(?P<port>[^,\s]+), via: LLDP|SysName:\s+(?P<device>.+)|PortID:\s+(?:ifname|local) (?P<far_port>.+)"
    r"|ChassisID:\s+mac (?P<chassis>.+)"
)
_KEY = re.compile(
    r"lldp\.(?P<port>[^=]+?)\.(?:chassis\.name=(?P<device>.+)|chassis\.mac=(?P<chassis>.+)"
    r"|port\.(?:ifname|local)=(?P<far_port>.+))"
)
_SONIC_HEADER = re.compile(r"^LocalPort\s+RemoteDevice\s+RemotePortID")
_SONIC_ROW = re.compile(
    r"(?!Total )(?P<port>\S+) +(?P<device>\S+) +(?P<far_port>\S.*?)(?: {2,}[A-Z]+(?: {2,}.*)?)?\s*$"
)


def parse_lldpd(text: str) -> tuple[SeenNeighbor, ...]:
    """Return the neighbors in an output; empty for any other text."""
    if '"lldp"' in text:
        return find_neighbors(text, _of_json(parse_json(text)))
    if "via: LLDP" in text:
        return parse_details(text, _LINE)
    if "RemotePortID" in text:
        rows = parse_table(text, _SONIC_HEADER, _SONIC_ROW)
        return tuple(row for row in rows if row.port.strip("-") and ":" not in row.port)
    return _of_keys(text) if "lldp." in text else ()


def _of_json(answer: Any) -> Iterator[tuple[str, str, str]]:
    """Of `json` (names are keys, one interface is no list) and of `json0` (everything is a list)."""
    for interface in values_under(answer, "interface"):
        if not isinstance(interface, dict):
            continue
        name = interface.get("name")
        for port, fields in [(name, interface)] if isinstance(name, str) else list(interface.items()):
            for chassis, far_port in _parse_ends(fields):
                yield port, chassis, far_port


def _parse_ends(answer: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(answer, dict):
        return
    chassis, port = answer.get("chassis"), answer.get("port")
    chassis = chassis[0] if isinstance(chassis, list) and chassis else chassis
    port = port[0] if isinstance(port, list) and port else port
    if not isinstance(chassis, dict):
        return
    who = leaf_text(chassis, "name")
    if not who and "id" not in chassis and len(chassis) == 1:
        ((who, _),) = chassis.items()
    yield str(who) or leaf_text(chassis, "id"), leaf_text(port, "id") or leaf_text(port, "descr")


def _of_keys(text: str) -> tuple[SeenNeighbor, ...]:
    neighbors: dict[str, dict[str, str]] = {}
    at: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _KEY.match(line.strip())) and match.lastgroup:
            neighbors.setdefault(match["port"], {})[match.lastgroup] = match[match.lastgroup]
            at.setdefault(match["port"], number)
    return tuple(
        SeenNeighbor(
            port, fields.get("device") or fields.get("chassis", ""), fields.get("far_port", ""), at[port]
        )
        for port, fields in neighbors.items()
    )
