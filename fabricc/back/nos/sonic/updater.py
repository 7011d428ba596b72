"""Apply a change to SONiC: by `config replace` in steps, or by `config reload` if its updater refuses it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.base import Application
from fabricc.back.nos.sonic.config_db import FILE, parse_json
from fabricc.base import sonic_tables
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.fabric.model import Direction, Switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


TABLE = Path(__file__).with_name("updater.json")
LIMITED: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "PFC_WD": (
        frozenset({"action", "detection_time", "restoration_time", "POLL_INTERVAL", "pfc_stat_history"}),
        frozenset({"add", "remove", "replace"}),
    ),
    "BUFFER_POOL": (
        frozenset({"ingress_lossless_pool/size", "ingress_lossless_pool/xoff", "egress_lossy_pool/size"}),
        frozenset({"replace"}),
    ),
    "BUFFER_PROFILE": (frozenset({"dynamic_th", "xoff"}), frozenset({"replace"})),
    "WRED_PROFILE": (
        frozenset({"green_drop_probability", "green_max_threshold", "green_min_threshold"}),
        frozenset({"replace"}),
    ),
}
"""Tables that the updater changes only on listed SKUs -> fields, and operations on them (its validators)."""
PROFILE_NAMES = "202505"
"""Before, thresholds of the profile AZURE_LOSSLESS alone, which fabricc does not write, may be replaced."""
FREE_MARKING = FIXED_POOLS = "202511"
"""From then on it does not restrict WRED_PROFILE, and changes no BUFFER_POOL."""
_VERSION = re.compile(r"version_(\d{6})_")


@cache
def _known_skus() -> Mapping[str, Mapping[str, list[str]]]:
    found: Mapping[str, Mapping[str, list[str]]] = json.loads(TABLE.read_text("utf-8"))
    return found


def supports_sku(hwsku: str, release: str) -> bool:
    """Return whether the updater of a release supports a hardware SKU."""
    sku = hwsku.lower()
    equal, within = (
        [one.lower() for since, names in _known_skus()[how].items() if since <= release for one in names]
        for how in ("equal", "within")
    )
    return sku in equal or any(one in sku for one in within)


def refused_table(old: Mapping[str, Any], new: Mapping[str, Any], release: str) -> str:
    """Return the first table whose change the updater refuses; "" for none."""
    hwsku = str(new.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", ""))
    known = supports_sku(hwsku, release)
    for table, (fields, operations) in LIMITED.items():
        if table == "WRED_PROFILE" and release >= FREE_MARKING:
            continue
        named = table == "WRED_PROFILE" and release < PROFILE_NAMES
        if named or (table == "BUFFER_POOL" and release >= FIXED_POOLS):
            fields = frozenset()
        for key, here, there in _row_changes(old, new, table):
            operation = "add" if here is None else "remove" if there is None else "replace"
            before, after = here or {}, there or {}
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            fitting = all(name in fields or f"{key}/{name}" in fields for name in changed)
            if not known or operation not in operations or not fitting:
                return table
    return ""


def _row_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], table: str
) -> Iterator[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Key and rows, before and after, of what differs in a table."""
    here, there = old.get(table, {}), new.get(table, {})
    for key in sorted(here.keys() | there.keys()):
        if here.get(key) != there.get(key):
            yield key, here.get(key), there.get(key)


def application(before: Mapping[str, str], after: Mapping[str, str]) -> Application:
    """Return how the driver brings a switch from some files to others; `before` may be what a switch runs.

    Raises:
        ValueError: a file is not a JSON object of tables.
    """
    if FILE not in before or FILE not in after:
        return Application()
    old, wanted = _parse_tables(before[FILE]), _parse_tables(after[FILE])
    new = sonic_tables.merge(old, wanted)
    rows = sum(1 for _ in sonic_tables.changed_rows(old, new))
    if not rows:
        return Application()
    if table := refused_table(old, new, _schema_release(old) or _schema_release(wanted)):
        return Application(
            way="config reload (access file: `reload: true`)",
            interrupts=f"SONiC's updater refuses this change of {table}, so all services restart",
            reloads=True,
            restarts_bgp=True,
            limit_s=sonic_tables.COMMIT_S + sonic_tables.RELOAD_S,
        )
    ports = tuple(
        port
        for port in sonic_tables.shut_ports(old, new)
        if new.get("PORT", {}).get(port, {}).get("admin_status") == "up"
    )
    restarts = sonic_tables.restarts_bgp(old, new)
    causes = [f"SONiC's updater shuts and opens {_join_ports(ports)}"] if ports else []
    causes += ["the bgp container restarts"] if restarts else []
    return Application(
        way=f"config replace in {plural(len(sonic_tables.steps(old, new)), 'step')}",
        interrupts="; ".join(causes),
        restarts_bgp=restarts,
        ports=ports,
        limit_s=sonic_tables.COMMIT_S + sonic_tables.ROW_S * rows,
    )


def typical_applications(
    switch: Switch, render: Callable[[Switch], Mapping[str, str]]
) -> Iterator[tuple[str, Application]]:
    """Yield what is often done to a switch, and how it is applied: a first push, and one more port in use.

    A factory-default CONFIG_DB has no table of buffers; its stock ports and services change nothing about the way.
    """
    files = render(switch)
    wanted = _parse_tables(files[FILE])
    stock = {name: wanted[name] for name in ("DEVICE_METADATA", "VERSIONS")}
    yield "first push", application({FILE: json.dumps(stock)}, files)
    for direction in (Direction.HOST, Direction.DOWN):
        port = next((port for port in switch.ports if port.direction is direction and port.enabled), None)
        if port is not None:
            closed = replace(
                port, direction=Direction.UNUSED, enabled=False, peer=None, profile=None, ipv4=None, ipv6=None,
                unnumbered=False,
            )  # fmt: skip
            ports = tuple(closed if each is port else each for each in switch.ports)
            yield "one more port in use", application(render(replace(switch, ports=ports)), files)
            return


def _join_ports(ports: tuple[str, ...]) -> str:
    return f"{', '.join(ports[:3])}{' and more' if ports[3:] else ''}"


def _parse_tables(text: str) -> sonic_tables.Tables:
    """Return the tables of a file.

    Raises:
        ValueError: it is not a JSON object of tables of rows of fields.
    """
    try:
        found = parse_json(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("not a JSON object of tables")
    tables: sonic_tables.Tables = sonic_tables.without_raw(found)
    for name, rows in tables.items():
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise ValueError(f"{name} is not a table of rows")
    return tables


def _schema_release(tables: sonic_tables.Tables) -> str:
    """Return the release of the schema; "" for one whose name has none."""
    version = str(tables.get("VERSIONS", {}).get("DATABASE", {}).get("VERSION", ""))
    found = _VERSION.match(version)
    return found[1] if found else ""
