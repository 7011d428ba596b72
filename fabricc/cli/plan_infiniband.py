"""`fabricc plan` of an InfiniBand spec: tables on screen, as JSON or as CSV files."""

from __future__ import annotations

import dataclasses
from itertools import chain, starmap
from typing import TYPE_CHECKING

import click

from fabricc.back.infiniband.cabling import class_rows, fabric_summary, partition_rows, plan_files
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Rendered, Table
from fabricc.catalog.rates import generation_at
from fabricc.cli import bill, growth, output
from fabricc.compiler.plan.host_facts import host_facts
from fabricc.compiler.result import exit_status
from fabricc.fabric.infiniband import MOST_LIDS, InfinibandFabric
from fabricc.front.planning.infiniband.plan import list_rooms
from fabricc.front.planning.topology.layout import report_full
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

    _Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]


def show_plan(
    compiled: Compiled,
    format_: str,
    csv_folder: Path | None,
    bill_request: bill.BillRequest | None,
    refused: Sequence[str],
) -> int:
    """Show the plan of an InfiniBand spec and return the exit status.

    Args:
        compiled: the spec, with its subnets.
        format_: `text` or `json`.
        csv_folder: folder for the tables, or None.
        bill_request: requested bills, labels and places, or None.
        refused: the requested options that only Ethernet has.

    Raises:
        click.UsageError: there are such options; or the folder cannot be written.
    """
    ib, spec = compiled.infiniband, compiled.spec
    if ib is None:
        raise ValueError("not an InfiniBand fabric")
    if refused:
        places = " Write the table of places yourself for --places." if "--propose-places" in refused else ""
        raise click.UsageError(f"only Ethernet has {' and '.join(refused)}.{places}")
    pinned = compiled.lock_before is not None
    found = (*compiled.diagnostics, *report_full(spec, ib.wiring, list_rooms(ib), pinned=pinned))
    bought = bill.list_parts(bill_request, [("", spec, ib.wiring)], "infiniband") if bill_request else None
    found = (*found, *bought.findings) if bought else found
    written = []  # before any output: it may fail
    if csv_folder is not None:
        make_folder(csv_folder)
        files = [(name, text) for name, text in plan_files(ib, spec.assumptions) if name.endswith(".csv")]
        for name, text in files:
            write_file(csv_folder / name, text.encode())
        names = [name for name, _ in files]
        written.append(f"{csv_folder}: {', '.join(names)}")
    if bill_request is not None and bought is not None:
        written += bill.write_files(bill_request, bought)
    if format_ == "json":
        output.print_document(_render_json(ib, compiled, found))
    else:
        output.print_findings(found, "text", compiled.sources)
        output.print_parts(
            starmap(Table, chain(growth.repinned_tables(compiled), _plan_tables(ib, compiled)))
        )
    output.err(*written)
    return exit_status(found)


def _render_json(ib: InfinibandFabric, compiled: Compiled, found: Iterable[object]) -> Rendered:
    assumptions = compiled.spec.assumptions
    whole = {
        "plan": fabric_summary(ib, assumptions),
        "findings": [dataclasses.asdict(each) for each in found],  # type: ignore[call-overload]
        "host_facts": [fact._asdict() for fact in host_facts(ib.wiring, compiled.spec)],
        "power": {what: draw._asdict() for what, draw in growth.power_by_tier(ib.wiring).items()},
    } | growth.growth_summary(compiled, list_rooms(ib))
    return json_document(whole, sort_keys=True)


def _plan_tables(ib: InfinibandFabric, compiled: Compiled) -> Iterator[_Table]:
    """Yield every table: title, column names, rows."""
    wiring, counts = ib.wiring, ib.counts()
    hosts, subnets = plural(counts["hosts"], "host"), plural(ib.subnets, "subnet")
    tiers = [(t.value, counts[f"{t.value}s"], p.model.title) for t, p in wiring.tiers.items()]
    title = f"{wiring.cluster}: {counts['gpus']:,} GPUs in {hosts}, {subnets}"
    yield title, ("tier", "switches", "model"), tiers
    yield growth.cable_table(counts, wiring.cable_kinds)
    yield growth.power_table(wiring)
    shape = wiring.shape
    top = ib.lids.top(shape, max(wiring.units) + 1)
    lids = [("cores", 1), ("spines", ib.lids.spine), ("units", ib.lids.unit), ("highest in use", top)]
    yield f"LIDs of each subnet, {MOST_LIDS:,} at most", ("of", "from"), lids
    used = sorted({(s.speed_gbps, s.lanes) for layout in wiring.tor_layouts for s in layout.slots})
    rates = [
        (speed, g.name, f"{lanes} x {float(g.lane_signal_gbps):g} {g.modulation}", ", ".join(g.encodings),
         float(round(g.data_gbps(lanes), 2)))
        for speed, lanes in used
        if (g := generation_at(speed, lanes))
    ]  # fmt: skip
    yield "Rates", ("port", "generation", "Gb/s signalled", "coding", "Gb/s of data"), rates
    yield "Routing", ("engines", "why"), [(", then ".join(ib.engine.names), ib.engine.reason)]
    yield "Service levels", ("class", "SL", "VL", "strict", "weight %"), list(class_rows(ib))
    if ib.partitions:
        rows = [(name, key, number, level) for name, key, number, level, _ in partition_rows(ib)]
        yield "Partitions", ("tenant", "P_Key", "hosts", "SL"), [tuple(map(str, row)) for row in rows]
    if ib.ipoib:
        size = f"{ib.ipoib.subnets} subnets of /{32 - ib.ipoib.bits}"
        row = (str(ib.ipoib.pool), size, ib.ipoib.mode, ib.ipoib.mtu)
        yield "IPoIB", ("pool", "split into", "mode", "MTU"), [row]
    yield growth.room_table(list_rooms(ib))
    yield growth.assumed_table(compiled.spec)
    yield from growth.host_facts_tables(wiring, compiled.spec)
