"""What shut ports of a Spectrum hold of its buffer: nothing, by zero profiles, so that the pools may count it.

The design is SONiC's doc/qos/reclaim-reserved-buffer.md. In the static model, which fabricc writes, zero pool, profiles
and rows are CONFIG_DB's, as in `buffers_defaults_objects.j2` of every NVIDIA hwsku; without them the ASIC keeps its
reserves for ports that nobody uses, and pools sized for the others do not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.back.nos.sonic.document import Row, Table, Tables
    from fabricc.back.nos.sonic.reader import Source

ZERO_POOL = "ingress_zero_pool"
ZERO_GROUP = "ingress_lossy_pg_zero_profile"
ZERO_INGRESS = "ingress_lossless_zero_profile"
ZERO_LOSSLESS = "egress_lossless_zero_profile"
ZERO_LOSSY = "egress_lossy_zero_profile"
ZERO_QUEUES = frozenset((ZERO_LOSSLESS, ZERO_LOSSY))
ZERO_LISTS = {
    "BUFFER_PORT_INGRESS_PROFILE_LIST": ZERO_INGRESS,
    "BUFFER_PORT_EGRESS_PROFILE_LIST": f"{ZERO_LOSSLESS},{ZERO_LOSSY}",
}
FACT = "interface[{}]/reserved_buffer"
"""Stated as `none` of each port that holds no buffer."""

_POOL: Row = {"mode": "static", "size": "0", "type": "ingress"}
_NOTHING = "-8"
"""Exponent that stands for an alpha of zero."""


def zero_profiles(ingress: str, egress: str, lossy: str) -> Table:
    """The profiles that give nothing, for pools of these names."""
    return {
        ZERO_GROUP: {"pool": ZERO_POOL, "size": "0", "static_th": "0"},
        ZERO_INGRESS: {"dynamic_th": _NOTHING, "pool": ingress, "size": "0"},
        ZERO_LOSSLESS: {"dynamic_th": _NOTHING, "pool": egress, "size": "0"},
        ZERO_LOSSY: {"dynamic_th": _NOTHING, "pool": lossy, "size": "0"},
    }


def reclaim(
    tables: Tables,
    ports: Iterable[str],
    profiles: Table,
    *,
    group: str,
    lossless_queues: Iterable[str],
    lossy_queues: Iterable[str],
) -> None:
    """Add zero pool, profiles and the rows of shut ports to buffer tables; nothing where no port is shut.

    Args:
        tables: the tables with the rows of the other ports, which are added to.
        ports: names of the shut ports.
        profiles: what `zero_profiles` gives for the pools in the tables.
        group: the priority group of lossy traffic.
        lossless_queues: queues of lossless classes, as keys write them.
        lossy_queues: all others, likewise.
    """
    shut = list(ports)
    if not shut:
        return
    tables["BUFFER_POOL"] = {ZERO_POOL: _POOL, **tables["BUFFER_POOL"]}
    tables["BUFFER_PROFILE"].update(profiles)
    queues = [(key, ZERO_LOSSLESS) for key in lossless_queues] + [(key, ZERO_LOSSY) for key in lossy_queues]
    for name in shut:
        tables["BUFFER_PG"][f"{name}|{group}"] = {"profile": ZERO_GROUP}
        for key, profile in queues:
            tables["BUFFER_QUEUE"][f"{name}|{key}"] = {"profile": profile}
        for table, profile in ZERO_LISTS.items():
            tables[table][name] = {"profile_list": profile}


def read_reclaimed(source: Source, bound: Mapping[str, str], profiles: Table, group: str) -> frozenset[str]:
    """State which ports hold no buffer, and list what contradicts it: such a port serves nothing and is shut.

    Args:
        source: the tables.
        bound: the ports with QoS bindings.
        profiles: what `zero_profiles` gives for the pools in the tables.
        group: the priority group of lossy traffic.
    """
    groups = {
        key.partition("|")[0]: key
        for key, row in source.rows("BUFFER_PG").items()
        if row.get("profile") == ZERO_GROUP
    }
    for name, key in groups.items():
        source.put(FACT.format(name), "none", "BUFFER_PG", key, "profile")
        if key != f"{name}|{group}":
            source.strange(f"BUFFER_PG|{key}: not the lossy group {group}", "BUFFER_PG", key)
        if name in bound:
            source.strange(f"BUFFER_PG|{key}: a port in use holds no buffer", "BUFFER_PG", key, "profile")
        if source.rows("PORT").get(name, {}).get("admin_status") == "up":
            source.strange(f"BUFFER_PG|{key}: a port that is up holds no buffer", "BUFFER_PG", key, "profile")
    for table, zero in ZERO_LISTS.items():
        for name in groups.keys() - source.rows(table).keys():
            source.strange(f"{table}|{name} is missing", table)
        for name, row in source.rows(table).items():
            if (row.get("profile_list") == zero) != (name in groups):
                source.strange(f"{table}|{name}: {row.get('profile_list')}", table, name, "profile_list")
    if groups:
        if source.rows("BUFFER_POOL").get(ZERO_POOL) != _POOL:
            source.strange(f"BUFFER_POOL|{ZERO_POOL} is not {_POOL}", "BUFFER_POOL", ZERO_POOL)
        for name, want in profiles.items():
            if source.rows("BUFFER_PROFILE").get(name) != want:
                source.strange(f"BUFFER_PROFILE|{name} is not {want}", "BUFFER_PROFILE", name)
    return frozenset(groups)
