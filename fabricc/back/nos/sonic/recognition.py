"""SONiC texts that people collect: `config_db.json`, FRR's, `show version`, LLDP; see `back.nos.collected`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import collected
from fabricc.back.nos.frr import recognition as frr

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMENTS = "!"
NAMES = frozenset(("config_db", "running-config", *frr.NAMES))
FILE = "config_db.json"
_TABLE = re.compile(
    r'"(?:[A-Z][A-Z0-9]*_[A-Z0-9_]+|PORT|VLAN|INTERFACE|LOOPBACK|FEATURE|QUEUE|SCHEDULER)"\s*:\s*\{'
)
_VERSION = {
    "release": re.compile(r"^[^\S\n]*SONiC Software Version: *(?:SONiC\.)?(\S+)", re.MULTILINE),
    "box": re.compile(r"^[^\S\n]*HwSKU: *(\S+)", re.MULTILINE),
    "platform": re.compile(r"^[^\S\n]*Platform: *(\S+)", re.MULTILINE),
}


def takes(path: str, text: str) -> collected.FileMatch | None:
    """Recognize `config_db.json` by its tables, and FRR's text, which is SONiC's if the tables exist too."""
    if text.lstrip()[:1] == "{":
        return collected.FileMatch(FILE, 100) if _TABLE.search(text[:65536]) else None
    match = frr.takes(path, text)
    routing = match is not None and match.file in (frr.FILE, *frr.DAEMON_FILES)
    return collected.FileMatch(match.file, max(1, match.weight - 1)) if match and routing else None


def identity(files: Mapping[str, str]) -> collected.Identity:
    """Return the identity in `DEVICE_METADATA` and `VERSIONS`; the names of products are the SKU and the platform."""
    tables = collected.parse_json(files.get(FILE, ""))
    metadata = _table_row(tables, "DEVICE_METADATA", "localhost")
    sku, platform = (str(metadata.get(key) or "") for key in ("hwsku", "platform"))
    return collected.Identity(
        str(metadata.get("hostname") or ""), sku or platform, "", tuple(filter(None, (sku, platform)))
    )


def _table_row(tables: Any, table: str, key: str) -> Mapping[str, Any]:
    rows = tables.get(table) if isinstance(tables, dict) else None
    row = rows.get(key) if isinstance(rows, dict) else None
    return row if isinstance(row, dict) else {}


def output(text: str) -> collected.Output | None:
    """Read `show version`, `show lldp table` and the output of lldpd."""
    found, neighbors = collected.match_patterns(text, _VERSION), collected.parse_lldpd(text)
    if "release" not in found and not neighbors:
        return None
    sku, platform = found.get("box", ""), found.get("platform", "")
    products = tuple(filter(None, (sku, platform)))
    release = found.get("release", "")
    return collected.Output(collected.Identity("", sku or platform, release, products), neighbors)


port = collected.in_full
products = collected.own_name
