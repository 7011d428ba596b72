"""How SONiC's updater takes a change: it refuses it, and the switch reloads, or it shuts and opens ports."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic.config_db import FILE, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
"""Tables that it changes only on SKUs that it knows -> fields, and operations on them (its validators)."""
PROFILE_NAMES = "202505"
"""Before, thresholds of the profile AZURE_LOSSLESS alone, which fabricc does not write, may be replaced."""
FREE_MARKING = FIXED_POOLS = "202511"
"""From then on it does not restrict WRED_PROFILE, and changes no BUFFER_POOL."""
SHUT_FOR = frozenset({
    "BUFFER_PG", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_QUEUE", "PORT_QOS_MAP",
    "QUEUE",
})  # fmt: skip
"""Tables for whose rows it shuts a port in use and opens it again (`RequiredValueIdentifier`, patch_sorter.py)."""


@cache
def _known() -> Mapping[str, Mapping[str, list[str]]]:
    found: Mapping[str, Mapping[str, list[str]]] = json.loads(TABLE.read_text("utf-8"))
    return found


def knows(hwsku: str, release: str) -> bool:
    """Whether the updater of a release knows a hardware SKU."""
    sku = hwsku.lower()
    equal, within = (
        [one.lower() for since, names in _known()[how].items() if since <= release for one in names]
        for how in ("equal", "within")
    )
    return sku in equal or any(one in sku for one in within)


def refused(old: Mapping[str, Any], new: Mapping[str, Any], release: str) -> str:
    """The first table whose change the updater refuses; "" for none."""
    hwsku = str(new.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", ""))
    known = knows(hwsku, release)
    for table, (fields, operations) in LIMITED.items():
        if table == "WRED_PROFILE" and release >= FREE_MARKING:
            continue
        named = table == "WRED_PROFILE" and release < PROFILE_NAMES
        if named or (table == "BUFFER_POOL" and release >= FIXED_POOLS):
            fields = frozenset()
        for key, here, there in _changes(old, new, table):
            operation = "add" if here is None else "remove" if there is None else "replace"
            before, after = here or {}, there or {}
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            fitting = all(name in fields or f"{key}/{name}" in fields for name in changed)
            if not known or operation not in operations or not fitting:
                return table
    return ""


def shut_ports(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Ports that are in use before and after, which the updater shuts and opens again."""
    up = {
        port
        for port, row in old.get("PORT", {}).items()
        if row.get("admin_status") == "up" == new.get("PORT", {}).get(port, {}).get("admin_status")
    }
    return sorted(
        {key.partition("|")[0] for table in SHUT_FOR for key, _, _ in _changes(old, new, table)} & up
    )


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], table: str
) -> Iterator[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Key and rows, before and after, of what differs in a table."""
    here, there = old.get(table, {}), new.get(table, {})
    for key in sorted(here.keys() | there.keys()):
        if here.get(key) != there.get(key):
            yield key, here.get(key), there.get(key)


def application(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the switch reloads when it goes from some files to others, and why; "" where nothing is interrupted.

    Raises:
        ValueError: a file is not JSON.
    """
    if FILE not in before or FILE not in after:
        return False, ""
    old, new = parsed(before[FILE]), parsed(after[FILE])
    release = str(new.get("VERSIONS", {}).get("DATABASE", {}).get("VERSION", "")).removeprefix("version_")[:6]
    if table := refused(old, new, release):
        return True, f"SONiC's updater refuses this change of {table}: `config reload` restarts all services"
    if ports := shut_ports(old, new):
        return (
            False,
            f"SONiC's updater shuts and opens {', '.join(ports[:3])}{' and more' if ports[3:] else ''}",
        )
    return False, ""
