"""Reads `config_db.json`, rendered or from a device, back to facts with the lines they stand on."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.isolation import state_isolation
from fabricc.back.nos.sonic.consumers import unread
from fabricc.back.nos.sonic.document import FILE, Lines
from fabricc.back.nos.sonic.known import ALLOWED, FIELDS, IGNORED, MAPS, ROWS, STATED
from fabricc.back.nos.sonic.limits import RELEASES
from fabricc.back.nos.sonic.qos import MAP
from fabricc.back.nos.sonic.tables import MARKS_GROUP, SOFTWARE_BFD
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.nos.sonic.document import Row, Table, Tables
    from fabricc.fabric.facts import Reading, Value

PORT_FACTS = frozenset({"alias", "autoneg", "description", "fec", "lanes"})
PORT_NUMBERS = frozenset({"index", "mtu", "subport"})
ENABLED = {"up": "true", "down": "false"}
_LEAK = re.compile(r"\b(import vrf|nexthop-vrf) mgmt\b")
METADATA_FACTS = ("hwsku", "platform", "type")


@dataclass(frozen=True, slots=True)
class Source:
    """The understood part of one `config_db.json`, where each thing stands in it, and what it states so far.

    Attributes:
        raw: the file as parsed, with what is not understood.
        release: of the file's schema; empty where it is not known.
    """

    tables: Tables
    lines: Lines
    reading: Reading
    raw: Mapping[str, Any]
    release: str = ""

    @property
    def absent(self) -> Mapping[str, frozenset[str]]:
        """Fields, by table, that the file's release does not have."""
        return RELEASES[self.release].absent if self.release else {}

    def rows(self, table: str) -> Table:
        """The rows of a table; none when it is absent."""
        return self.tables.get(table, {})

    def put(self, path: str, value: Value, table: str, row: str, field: str = "") -> None:
        """State a fact that a field, or a row, of the file gives."""
        self.reading.put(path, value, FILE, self.lines.of(table, row, field))

    def strange(self, text: str, table: str, row: str = "", field: str = "") -> None:
        """List something that has no place in a planned configuration."""
        self.reading.unknown.append((FILE, self.lines.of(table, row, field), text))

    def fields(self, table: str, row: str) -> Iterator[tuple[str, str]]:
        """The scalar fields of one row."""
        for field, value in self.rows(table).get(row, {}).items():
            if isinstance(value, str):
                yield field, value


def read_config_db(text: str, reading: Reading) -> Source:
    """Parse and check the file; everything not understood goes to `reading.unknown`.

    Never raises: text that is not JSON is one unknown line.
    """
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        reading.unknown.append((FILE, line, f"not JSON: {error}"))
        return Source({}, Lines(text), reading, {})
    raw = parsed if isinstance(parsed, dict) else {}
    source = Source({}, Lines(text, parsed), reading, raw, _release(_schema(parsed)))
    if not isinstance(parsed, dict):
        reading.unknown.append((FILE, 1, "not a JSON object of tables"))
        return source
    for table, rows in parsed.items():
        if table in IGNORED:
            continue
        if table not in FIELDS and table not in MAPS:
            source.strange(f"table {table}", table)
        elif not isinstance(rows, dict):
            source.strange(f"table {table} is not an object", table)
        else:
            source.tables[table] = {key: _row(source, table, key, row) for key, row in rows.items()}
    for table, key in ROWS.items():
        if key not in source.rows(table):
            source.strange(f"{table}|{key} is missing", table)
    return source


def _release(schema: str) -> str:
    """The release of a `VERSIONS` entry such as `version_202405_01`; empty where it is not known."""
    name = schema.removeprefix("version_").partition("_")[0]
    return name if name in RELEASES else ""


def _schema(parsed: Any) -> str:
    """The schema version that a file says it has; empty when it says none."""
    found = parsed
    for key in ("VERSIONS", "DATABASE", "VERSION"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def _row(source: Source, table: str, key: str, row: Any) -> Row:
    """The understood fields of a row."""
    if not isinstance(row, dict):
        source.strange(f"{table}|{key} is not an object", table, key)
        return {}
    if table in MAPS and key != MAP:
        source.strange(f"{table}|{key}: no port uses this map", table, key)
        return {}
    allowed = ALLOWED.get(table)
    understood: Row = {}
    for field, value in row.items():
        wanted = None if allowed is None else allowed.get(field, "")
        if isinstance(value, str):
            fits = wanted is None or value == wanted
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            fits = wanted is None or tuple(value) == wanted
        else:
            source.strange(f"{table}|{key} {field}: {json.dumps(value)} is not text", table, key, field)
            continue
        if fits:
            understood[field] = value
        else:
            source.strange(f"{table}|{key} {field}: {_shown(value)}", table, key, field)
    for field, stated in STATED[table].items() if table in STATED else ():
        if field not in row and field not in source.absent.get(table, ()):
            source.strange(f"{table}|{key} without {field} {_shown(stated)}", table, key)
    return understood


def _shown(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


@lru_cache(maxsize=8192)
def number(text: str) -> Value:
    """An integer as SONiC writes it, or the text itself when it is none."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else text


def read_consumers(source: Source) -> None:
    """State what the file says and nothing on its switch reads; no plan has such a fact."""
    whys: dict[str, list[str]] = {}
    for table, row, why in unread(source.raw, source.release):
        told = whys.setdefault(table, [])
        told.append(why)
        source.put(f"unread[{table}]", ", ".join(told), table, row)


def read_started(source: Source) -> None:
    """What the image does not start by itself."""
    for path, table, row, field in (
        ("counter[ecn_marks]", "FLEX_COUNTER_TABLE", MARKS_GROUP, "FLEX_COUNTER_STATUS"),
        ("daemon[bfdd]", "SYSTEM_DEFAULTS", SOFTWARE_BFD, "status"),
    ):
        if isinstance(value := source.rows(table).get(row, {}).get(field), str):
            source.put(path, value, table, row, field)


def read_system(source: Source) -> None:
    """Identity, management and loopbacks."""
    for field, value in source.fields("DEVICE_METADATA", "localhost"):
        if field == "hostname":
            source.put("system/hostname", value, "DEVICE_METADATA", "localhost", field)
        elif field == "bgp_asn":
            source.put("bgp/asn", number(value), "DEVICE_METADATA", "localhost", field)
        elif field in METADATA_FACTS:
            source.put(f"system/{field}", value, "DEVICE_METADATA", "localhost", field)
    for field in ("hostname", "bgp_asn"):
        if field not in source.rows("DEVICE_METADATA").get("localhost", {field: ""}):
            source.strange(f"DEVICE_METADATA|localhost without {field}", "DEVICE_METADATA", "localhost")
    for key, row in source.rows("MGMT_INTERFACE").items():
        interface, _, address = key.partition("|")
        if interface != "eth0" or not address:
            source.strange(f"MGMT_INTERFACE|{key}", "MGMT_INTERFACE", key)
            continue
        source.put("management/address", address, "MGMT_INTERFACE", key)
        if gateway := row.get("gwaddr"):
            source.put("management/gateway", _shown(gateway), "MGMT_INTERFACE", key, "gwaddr")
    for kind, table in (("ntp", "NTP_SERVER"), ("dns", "DNS_NAMESERVER"), ("syslog", "SYSLOG_SERVER")):
        if rows := source.rows(table):
            source.put(f"management/{kind}", ",".join(sorted(rows)), table, next(iter(rows)))
    for key, row in source.rows("NTP_SERVER").items():
        if row.get("resolve_as", key if "NTP_SERVER" in source.absent else None) != key:
            source.strange(
                f"NTP_SERVER|{key} resolve_as: {row.get('resolve_as')}", "NTP_SERVER", key, "resolve_as"
            )
    if source.rows("NTP_SERVER") and "global" not in source.rows("NTP"):
        source.strange("NTP|global is missing", "NTP")
    for key in source.rows("LOOPBACK_INTERFACE"):
        interface, _, address = key.partition("|")
        if interface != "Loopback0":
            source.strange(f"LOOPBACK_INTERFACE|{key}", "LOOPBACK_INTERFACE", key)
        elif address:
            _put_address(source, "loopback/", address, "LOOPBACK_INTERFACE", key)
            _need_parent(source, "LOOPBACK_INTERFACE", interface, key)


def read_isolation(source: Source) -> None:
    """The management port is in a VRF of its own, and routing imports nothing from it.

    Without it the kernel, which forwards, has the management network beside the fabric's routes, and only fpmsyncd's
    passing over routes of eth0 keeps it from the ASIC (sonic-swss, routesync.cpp).
    """
    if "management/address" not in source.reading.facts:
        return
    vrf = source.rows("MGMT_VRF_CONFIG").get("vrf_global", {})
    apart = vrf.get("mgmtVrfEnabled") == "true"
    line = source.lines.of("MGMT_VRF_CONFIG", "vrf_global", "mgmtVrfEnabled")
    place = (FILE, line) if apart else source.reading.lines["management/address"]
    state_isolation(source.reading, apart, place, _LEAK)


def _need_parent(source: Source, table: str, interface: str, key: str) -> None:
    """An address takes effect only where the interface has a row of its own."""
    if interface not in source.rows(table):
        source.strange(f"{table}|{interface} is missing", table, key)


def _put_address(source: Source, prefix: str, address: str, table: str, key: str) -> None:
    """State an address; a second one of the same family is no plan's."""
    path = prefix + ("ipv6" if ":" in address else "ipv4")
    if path in source.reading.facts:
        source.strange(f"{table}|{key}: a second address", table, key)
    else:
        source.put(path, address, table, key)


def read_ports(source: Source) -> None:
    """Ports, their breakouts and addresses."""
    for cage, row in source.rows("BREAKOUT_CFG").items():
        mode = row.get("brkout_mode", "")
        source.put(f"breakout[{cage}]", _shown(mode), "BREAKOUT_CFG", cage, "brkout_mode")
    for name, row in source.rows("PORT").items():
        prefix = f"interface[{name}]/"
        status = _shown(row.get("admin_status", "down"))
        source.put(prefix + "enabled", ENABLED.get(status, status), "PORT", name, "admin_status")
        for field, value in source.fields("PORT", name):
            if field in PORT_FACTS:
                source.put(prefix + field, value, "PORT", name, field)
            elif field in PORT_NUMBERS:
                source.put(prefix + field, number(value), "PORT", name, field)
            elif field == "speed":
                source.put(prefix + "speed_gbps", _gbps(value), "PORT", name, field)
    for key, row in source.rows("INTERFACE").items():
        name, _, address = key.partition("|")
        prefix = f"interface[{name}]/"
        if address:
            _put_address(source, prefix, address, "INTERFACE", key)
            _need_parent(source, "INTERFACE", name, key)
        elif "ipv6_use_link_local_only" in row:
            enabled = row["ipv6_use_link_local_only"] == "enable"
            source.put(prefix + "unnumbered", boolean(enabled), "INTERFACE", key, "ipv6_use_link_local_only")


def _gbps(mbps: str) -> Value:
    value = number(mbps)
    return value // 1000 if isinstance(value, int) and value % 1000 == 0 else f"{mbps} Mb/s"
