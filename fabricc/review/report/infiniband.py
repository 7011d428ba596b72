"""What a report says of an InfiniBand fabric alone: subnets, service levels, partitions and IP over InfiniBand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.infiniband.tables import class_rows, partition_rows
from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.rates import generation_at
from fabricc.fabric.infiniband.identity import MOST_LIDS
from fabricc.review.report.values import Section, Table
from fabricc.review.report.wording import times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.infiniband.model import InfinibandFabric
    from fabricc.review.report.values import Row


def subnets(ib: InfinibandFabric, where: str) -> Section:
    """The section on subnets: LIDs, rates and routing; `where` names the file with every LID and GUID."""
    wiring = ib.wiring
    top = ib.lids.top(wiring.shape, max(wiring.units) + 1)
    lids: list[Row] = [
        ("spines", ib.lids.spine),
        ("units", ib.lids.unit),
        ("highest in use", top),
        ("most there can be", MOST_LIDS),
    ]
    if wiring.shape.cores:
        lids.insert(0, ("cores", 1))
    parts: tuple[Table, ...] = (
        Table(
            "lids", "LIDs of each subnet", ("of", "from"), tuple(lids), note=f"Every LID and GUID: {where}."
        ),
        Table(
            "rates", "Rates", ("port, Gb/s", "generation", "lanes", "coding", "data, Gb/s"), tuple(_rates(ib))
        ),
        Table(
            "routing", "Routing", ("engines", "why"), ((", then ".join(ib.engine.names), ib.engine.reason),)
        ),
    )
    if ib.ipoib:
        size = f"{ib.ipoib.subnets} subnets of /{32 - ib.ipoib.bits}"
        row = (str(ib.ipoib.pool), size, ib.ipoib.mode, ib.ipoib.mtu)
        parts = (
            *parts,
            Table("ipoib", "IP over InfiniBand", ("pool", "split into", "mode", "MTU"), (row,), codes=(0,)),
        )
    lead = f"{plural(ib.planes, 'subnet')}; a subnet manager computes every route."
    return Section("subnets", "Subnets", lead, parts)


def levels(ib: InfinibandFabric) -> Section:
    """The section on service levels and partitions."""
    rows = tuple(
        (str(name), sl, lane, "strict" if strict else "by weight", weight)
        for name, sl, lane, strict, weight in class_rows(ib)
    )
    parts = [Table("classes", "Service levels", ("class", "SL", "VL", "served", "weight, %"), _cells(rows))]
    if ib.partitions:
        tenants = tuple((name, key, hosts, level) for name, key, hosts, level, _ in partition_rows(ib))
        parts.append(
            Table("partitions", "Partitions", ("tenant", "P_Key", "hosts", "SL"), _cells(tenants), codes=(1,))
        )
    lead = "Link credits keep every class lossless; no buffer needs thresholds."
    return Section("classes", "Service levels", lead, tuple(parts))


def _cells(rows: tuple[tuple[object, ...], ...]) -> tuple[Row, ...]:
    return tuple(tuple(cell if isinstance(cell, int | float) else str(cell) for cell in row) for row in rows)


def _rates(ib: InfinibandFabric) -> Iterator[Row]:
    used = sorted(
        {(slot.speed_gbps, slot.lanes) for layout in ib.wiring.tor_layouts for slot in layout.slots}
    )
    for speed, lanes in used:
        if generation := generation_at(speed, lanes):
            signal = times(lanes, f"{float(generation.lane_signal_gbps):g} {generation.modulation}")
            coding = ", ".join(generation.encodings)
            yield speed, generation.name, signal, coding, float(round(generation.data_gbps(lanes), 2))
