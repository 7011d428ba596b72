"""Read neighbors from lldpd output on any system: text, `keyvalue` and JSON of `lldpctl` and `lldpcli`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.answers import find_neighbors, leaf_text, parse_json, values_under
from fabricc.back.nos.collected import SeenNeighbor, parse_details, parse_table

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        for port, told in [(name, interface)] if isinstance(name, str) else list(interface.items()):
            for chassis, far_port in _parse_ends(told):
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
    said: dict[str, dict[str, str]] = {}
    at: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _KEY.match(line.strip())) and match.lastgroup:
            said.setdefault(match["port"], {})[match.lastgroup] = match[match.lastgroup]
            at.setdefault(match["port"], number)
    return tuple(
        SeenNeighbor(port, told.get("device") or told.get("chassis", ""), told.get("far_port", ""), at[port])
        for port, told in said.items()
    )
