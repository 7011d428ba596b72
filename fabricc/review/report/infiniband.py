"""Sections of a report that only InfiniBand has: subnets, service levels, partitions and IP over InfiniBand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.infiniband.tables import class_rows, partition_rows
from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.rates import generation_at
from fabricc.fabric.infiniband.model import MOST_LIDS
from fabricc.review.report.values import Section, Table
from fabricc.review.report.wording import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.infiniband.model import InfinibandFabric
    from fabricc.review.report.values import Row


def subnets_section(ib: InfinibandFabric, where: str) -> Section:
    """Return the section on subnets: LIDs, rates and routing; `where` names the file with every LID and GUID."""
    wiring = ib.wiring
    top = ib.lids.top(wiring.shape, max(wiring.units) + 1)
    lids: list[Row] = [("cores", 1)] if wiring.shape.cores else []
    lids += [("spines", ib.lids.spine), ("units", ib.lids.unit)]
    lids += [("highest in use", top), ("most there can be", MOST_LIDS)]
    rates = ("port, Gb/s", "generation", "lanes", "coding", "data, Gb/s")
    engines = (", then ".join(ib.engine.names), ib.engine.reason)
    note = f"Every LID and GUID: {where}."
    parts = [
        Table("lids", "LIDs of each subnet", ("of", "from"), tuple(lids), note=note),
        Table("rates", "Rates", rates, tuple(_rate_rows(ib))),
        Table("routing", "Routing", ("engines", "why"), (engines,)),
    ]
    if ib.ipoib:
        size = f"{ib.ipoib.subnets} subnets of /{32 - ib.ipoib.bits}"
        row = (str(ib.ipoib.pool), size, ib.ipoib.mode, ib.ipoib.mtu)
        head = ("pool", "split into", "mode", "MTU")
        parts.append(Table("ipoib", "IP over InfiniBand", head, (row,), codes=(0,)))
    lead = f"{plural(ib.planes, 'subnet')}; a subnet manager computes every route."
    return Section("subnets", "Subnets", lead, tuple(parts))


def levels_section(ib: InfinibandFabric) -> Section:
    """Return the section on service levels and partitions."""
    rows = tuple(
        (str(name), sl, lane, "strict" if strict else "by weight", weight)
        for name, sl, lane, strict, weight in class_rows(ib)
    )
    parts = [
        Table("classes", "Service levels", ("class", "SL", "VL", "served", "weight, %"), _make_rows(rows))
    ]
    if ib.partitions:
        tenants = tuple((name, key, hosts, level) for name, key, hosts, level, _ in partition_rows(ib))
        head = ("tenant", "P_Key", "hosts", "SL")
        parts.append(Table("partitions", "Partitions", head, _make_rows(tenants), codes=(1,)))
    lead = "Link credits keep every class lossless; no buffer needs thresholds."
    return Section("classes", "Service levels", lead, tuple(parts))


def _make_rows(rows: tuple[tuple[object, ...], ...]) -> tuple[Row, ...]:
    return tuple(tuple(cell if isinstance(cell, int | float) else str(cell) for cell in row) for row in rows)


def _rate_rows(ib: InfinibandFabric) -> Iterator[Row]:
    used = sorted(
        {(slot.speed_gbps, slot.lanes) for layout in ib.wiring.tor_layouts for slot in layout.slots}
    )
    for speed, lanes in used:
        if generation := generation_at(speed, lanes):
            signal = format_count(lanes, f"{float(generation.lane_signal_gbps):g} {generation.modulation}")
            coding = ", ".join(generation.encodings)
            yield speed, generation.name, signal, coding, float(round(generation.data_gbps(lanes), 2))
