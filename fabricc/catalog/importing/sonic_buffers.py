"""Pools and lossless table of a SKU of SONiC. Templates are searched for literals and never run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.catalog.importing.draft import Raw

COLUMNS = ["speed_gbps", "cable_m", "size_bytes", "xon_bytes", "xoff_bytes", "dynamic_th", "xon_offset_bytes"]
MOST_ROWS = 1024
_SET = re.compile(r"\{%-?\s*set\s+(\w+)\s*=\s*'(\d{1,15})'\s*-?%\}")
_OBJECT = re.compile(r'"(\w{1,64})"\s*:\s*\{([^{}]{0,1000})\}')
_PAIR = re.compile(r'"(\w{1,32})"\s*:\s*"([^"{}]{0,64})"')
_ROW = re.compile(
    r"(\d{1,9})\s+(\d{1,6})m\s+(\d{1,12})\s+(\d{1,12})\s+(\d{1,12})\s+(-?\d{1,2})(?:\s+(\d{1,12}))?\s*"
)


def read_lossless_table(read: Callable[[str], str]) -> Raw | None:
    """Return the lossless table of `pg_profile_lookup.ini`; None where the SKU has none."""
    lines = [line.strip() for line in read("pg_profile_lookup.ini").splitlines()]
    found = [match for line in lines if is_number(line[:1]) and (match := _ROW.fullmatch(line))]
    rows: dict[tuple[int, int], list[Any]] = {}
    for row in found[:MOST_ROWS]:
        mbps, *figures = (int(cell) for cell in row.groups()[:6])
        if mbps >= 1000:
            offset = int(row[7]) if row[7] else None
            rows[mbps // 1000, figures[0]] = [mbps // 1000, *figures, offset]
    return {"columns": COLUMNS, "rows": [rows[key] for key in sorted(rows)]} if rows else None


def read_pools(read: Callable[[str], str]) -> Raw | None:
    """Return the pools of `buffers_defaults_t1.j2` as the catalog has them; None where a size is not a literal."""
    text = read("buffers_defaults_t1.j2")
    given = {name: int(value) for name, value in _SET.findall(text)}
    objects = {name: dict(_PAIR.findall(body)) for name, body in _OBJECT.findall(text)}
    ingress, egress = objects.get("ingress_lossless_pool", {}), objects.get("egress_lossless_pool", {})
    if "ingress_lossless_pool_size" in given and "egress_lossless_pool_size" in given:
        return _figures_of_variables(given)
    if _profile_number(ingress, "size") and _profile_number(egress, "size"):
        return _figures_of_objects(objects, ingress, egress)
    return None


def buffer_figures(found: Raw) -> Raw:
    """Return the total buffer from the pools, unless it is a Spectrum's, and the pools."""
    known = {"total_bytes": found.pop("total_bytes", 0), "max_lossless_classes": 2}
    whole: Raw = {key: {"value": value, "source": "buffers"} for key, value in known.items() if value}
    return {**whole, "pools": {"source": "buffers", **found}}


def _figures_of_variables(given: Raw) -> Raw:
    """Pools of a Spectrum, whose sizes are variables of the template."""
    return {
        "ingress_lossless_bytes": given["ingress_lossless_pool_size"],
        "headroom_bytes": given.get("ingress_lossless_pool_xoff", 0),
        "egress_lossless_bytes": given["egress_lossless_pool_size"],
        "egress_lossy_bytes": given.get("egress_lossy_pool_size"),
        "egress_lossless_static": False,
        "size_includes_headroom": False,
        "lossy_egress_alpha": 3,
    }


def _figures_of_objects(objects: Raw, ingress: Raw, egress: Raw) -> Raw:
    """Pools of other makers, written out in the template."""
    lossless = objects.get("egress_lossless_profile", {})
    lossy_in, lossy_out = objects.get("ingress_lossy_profile", {}), objects.get("egress_lossy_profile", {})
    size, xoff = _profile_number(ingress, "size") or 0, _profile_number(ingress, "xoff") or 0
    static = "static_th" in lossless
    total = max(_profile_number(egress, "size") or 0, _profile_number(lossless, "static_th") or 0)
    inside = size + xoff > total
    found: Raw = {
        "total_bytes": max(total, size),
        "ingress_lossless_bytes": size,
        "headroom_bytes": xoff,
        "egress_lossless_bytes": _profile_number(egress, "size"),
        "egress_lossy_bytes": _profile_number(objects.get("egress_lossy_pool", {}), "size"),
        "egress_lossless_static": static,
        "size_includes_headroom": inside,
    }
    if inside:
        found["accounting"] = {
            "assumed": True,
            "reason": f"size and xoff add up to {size + xoff:,} of {total:,} bytes, so xoff is read as part of size",
        }
    if (egress.get("mode") == "static") != static:
        found["egress_pool_static"] = egress.get("mode") == "static"
    for key, profile, word in (
        ("egress_lossless_limit_bytes", lossless, "static_th"),
        ("lossy_ingress_limit_bytes", lossy_in, "static_th"),
        ("lossy_egress_bytes", lossy_out, "size"),
        ("lossy_egress_alpha", lossy_out, "dynamic_th"),
    ):
        if (value := _profile_number(profile, word)) is not None:
            found[key] = value
    return found


def _profile_number(profile: Raw, key: str) -> int | None:
    text = profile.get(key, "")
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None
