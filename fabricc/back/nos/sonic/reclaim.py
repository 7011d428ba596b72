"""Release the buffer of shut ports of a Spectrum by zero profiles, so that the pools can use it.

The design is SONiC's doc/qos/reclaim-reserved-buffer.md. In the static model, which fabricc writes, zero pool, profiles
and rows are CONFIG_DB's, as in `buffers_defaults_objects.j2` of every NVIDIA hwsku; without them the ASIC keeps its
reserves for ports that nobody uses, and pools sized for the others do not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.sonic import config_db

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.back.reading import Document

    Bindings = Sequence[tuple[str, str, str, int]]

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

_POOL: config_db.Row = {"mode": "static", "size": "0", "type": "ingress"}
_NOTHING = "-8"
"""Exponent that stands for an alpha of zero."""


def zero_profiles(ingress: str, egress: str, lossy: str) -> config_db.Table:
    """Return the profiles that give nothing, for pools of these names."""
    return {
        ZERO_GROUP: {"pool": ZERO_POOL, "size": "0", "static_th": "0"},
        ZERO_INGRESS: {"dynamic_th": _NOTHING, "pool": ingress, "size": "0"},
        ZERO_LOSSLESS: {"dynamic_th": _NOTHING, "pool": egress, "size": "0"},
        ZERO_LOSSY: {"dynamic_th": _NOTHING, "pool": lossy, "size": "0"},
    }


def reclaim_buffers(
    tables: config_db.Tables,
    ports: Iterable[str],
    profiles: config_db.Table,
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


def read_reclaimed(
    document: Document, groups: Bindings, bound: Mapping[str, str], profiles: config_db.Table, lossy: str
) -> frozenset[str]:
    """State which ports hold no buffer, and list what contradicts it: such a port serves nothing and is shut.

    Args:
        document: the tables.
        groups: profiles of priority groups.
        bound: the ports with QoS bindings.
        profiles: what `zero_profiles` gives for the pools in the tables.
        lossy: the priority group of lossy traffic.
    """
    ports = config_db.rows_of(document, "PORT")
    shut = {port: (numbers, line) for port, numbers, profile, line in groups if profile == ZERO_GROUP}
    for name, (numbers, line) in shut.items():
        text = f"BUFFER_PG|{name}|{numbers}"
        document.put(FACT.format(name), "none", line)
        if numbers != lossy:
            at = config_db.key_line(document, f"{name}|{numbers}", line)
            config_db.report_strange(document, at, f"{text}: not the lossy group {lossy}")
        if name in bound:
            config_db.report_strange(document, line, f"{text}: a port in use holds no buffer")
        if name in ports and config_db.value_of(ports[name], "enabled") == "true":
            config_db.report_strange(document, line, f"{text}: a port that is up holds no buffer")
    for listing, zero in ZERO_LISTS.items():
        rows = config_db.flat_rows(document, listing)
        for name in (each for each in shut if each not in rows):
            config_db.report_strange(
                document, config_db.table_scope(document, listing).line, f"{listing}|{name} is missing"
            )
        for name, (listed, line) in rows.items():
            if (listed == zero) != (name in shut):
                config_db.report_strange(document, line, f"{listing}|{name}: {listed}")
    if shut:
        config_db.demand_rows(document, "BUFFER_POOL", {ZERO_POOL: _POOL})
        config_db.demand_rows(document, "BUFFER_PROFILE", profiles)
    return frozenset(shut)
