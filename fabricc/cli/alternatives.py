"""`fabricc plan --alternatives`: other shapes for the same hosts as a table or JSON, and one of them as a spec."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError
from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.catalog.figures import Draw, total_draw
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import Catalog, Power
from fabricc.cli import output
from fabricc.compiler.compiled import Compiled, plan_buildable
from fabricc.compiler.plan.naming import Naming
from fabricc.compiler.result import exit_status
from fabricc.front.planning import alternatives
from fabricc.front.planning.topology.models import UnfitError
from fabricc.front.spec.canonical import edit_text
from fabricc.front.spec.document import format_path
from fabricc.front.spec.load import read_spec
from fabricc.paperwork.bill import Prices, link_parts, read_prices
from fabricc.review.report.failures import hardest_single, least_bandwidth, single_failures
from fabricc.review.report.values import format_ratio
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

TAKEN = ("shape", "switches", "of each tier", "model", "hosts of a unit", "planes", "ratio")
GIVEN = (
    "shape", "optics", "cables", "idle ports", "GPUs cut", "bandwidth left", "room, hosts", "kW", "known",
    "price",
)  # fmt: skip


class AlternativesRequest(NamedTuple):
    """The request: the file with prices, and the number of a shape with the file to write it into."""

    prices: Path | None
    write: tuple[int, Path] | None


class Row(NamedTuple):
    """A shape that is shown: its number, 0 for that of the spec where it is none of the best, and what betters it."""

    number: int
    shape: alternatives.Candidate
    fabric: Fabric
    price: Fraction | None
    bettered_by: int = 0

    @property
    def own(self) -> bool:
        """Return whether it is that of the spec."""
        return self.shape.fabric is not None


def show_shapes(compiled: Compiled, request: AlternativesRequest, format_: str) -> int:
    """Print the shapes, and write the requested one.

    Raises:
        click.BadParameter: no shape has this number.
        FindingsError: FAB3163, the changes cannot be made in the text of the spec.
        EmitError: the file cannot be written.
    """
    spec, findings = compiled.loaded, list(compiled.diagnostics)
    if spec is None or spec.infiniband is not None:
        output.print_findings(findings, format_, compiled.sources)
        return exit_status(findings)
    folder = compiled.path.parent
    catalog, _ = load_catalog([folder / name for name in spec.catalog_files], folder=folder)
    prices = read_prices(request.prices, catalog) if request.prices else None
    planner = partial(plan_buildable, folder=folder, catalog=catalog)
    text, found = compiled.sources[str(compiled.path)], alternatives.Alternatives((), 0, 0)
    rows: tuple[Row, ...] = ()
    findings += prices.findings if prices else ()
    if prices is None or not exit_status(prices.findings):
        own = None
        if compiled.planned is not None and not alternatives.is_uniformly_wired(compiled.planned.attachments):
            help_ = "Change the spec by hand, or list the shapes of a spec that has only hosts with GPUs."
            message = "no other shapes are listed for `beside` hosts, or hosts on fewer ToRs than a unit has"
            findings.append(spec.warning("FAB3164", message, "gpus", help=help_))
        elif compiled.planned is not None:
            own = alternatives.own_shape(spec, compiled.planned)
        try:
            others = alternatives.list_candidates(spec, catalog, Naming(), prices.known if prices else ())
            sized = [*([own] if own else ()), *others]
        except UnfitError:  # among the findings already
            sized = []
        found = alternatives.find_alternatives(sized, planner, Naming(), prices.of if prices else None)
        findings += prices.missing_prices(each.candidate for each in found.best) if prices else ()
        rows = _shape_rows(found, own, prices)
    wrote: Path | None = None  # before any output: it may fail
    if request.write is not None and exit_status(prices.findings if prices else ()) == 0:
        number, wrote = request.write
        if not 1 <= number <= len(found.best):
            raise click.BadParameter(f"there are shapes 1 to {len(found.best)}", param_hint="--write")
        write_file(wrote, write_shape(text, found.best[number - 1], planner).encode())
    if format_ == "json":
        output.print_document(_render_json(rows, found, catalog, findings))
    else:
        output.print_findings(findings, "text", compiled.sources)
        output.print_parts(_show_parts(spec.cluster, rows, found, priced=prices is not None))
    if wrote is not None:
        output.err(str(wrote))
    return exit_status(findings)


def write_shape(
    text: str, shape: alternatives.Alternative, planner: Callable[[ClusterSpec], Fabric | None]
) -> str:
    """Return the text of the spec with the requested shape, read and planned again.

    Raises:
        FindingsError: FAB3163, the result is not that shape.
    """
    changed = edit_text(text, shape.candidate.spec.file, shape.candidate.changes)
    spec = read_spec(changed.encode(), shape.candidate.spec.file).spec
    fabric = planner(spec) if spec else None
    if fabric is None or (fabric.shape, fabric.counts()) != (shape.fabric.shape, shape.fabric.counts()):
        keys = ", ".join(f"`{format_path(path)}: {value}`" for path, value in shape.candidate.changes.items())
        message = "this shape cannot be written: other keys depend on those that change"
        raise FindingsError("FAB3163", message, f"Write it by hand: {keys}.")
    return changed


def _shape_rows(
    found: alternatives.Alternatives, own: alternatives.Candidate | None, prices: Prices | None
) -> tuple[Row, ...]:
    """Return the shapes in their order; that of the spec last if it is not among the best."""

    def price(shape: alternatives.Candidate) -> Fraction | None:
        return prices.of(shape) if prices else None

    rows = [
        Row(at, each.candidate, each.fabric, price(each.candidate)) for at, each in enumerate(found.best, 1)
    ]
    if own is not None and own.fabric is not None and not any(row.own for row in rows):
        mine, fabric = own.measure(price(own)), own.fabric
        better = (row.number for row in rows if alternatives.is_better(row.shape.measure(row.price), mine))
        rows.append(Row(0, alternatives.add_external_links(own, fabric), fabric, price(own), next(better, 0)))
    return tuple(rows)


def _power_draw(shape: alternatives.Candidate) -> Draw:
    """Return the power of switches, optics and cables; unknown for optics that the catalog lacks."""
    boxes = [
        (shape.models.switches[tier].power or Power(), count)
        for tier, count in shape.figures.switches.items()
    ]
    parts = [(item, count) for item, count in link_parts(shape).items() if item.power is not None]
    modules = sum(count for item, count in parts if item.item == "transceiver")
    lacking = (Power(), shape.figures.optics + shape.figures.outside.optics - modules)
    return total_draw([*boxes, *((item.power, count) for item, count in parts if item.power), lacking])


def _show_parts(
    cluster: str, rows: Sequence[Row], found: alternatives.Alternatives, *, priced: bool
) -> Iterator[Part]:
    if not rows:
        yield Line("No shape to show.")
        return
    cells = [_row_cells(row) for row in rows]
    given = len(GIVEN) if priced else len(GIVEN) - 1
    yield Table(f"{cluster}: shapes for the same hosts", TAKEN, [each[: len(TAKEN)] for each in cells])
    sides = [(each[0], *each[len(TAKEN) :]) for each in cells]
    yield Table("What they need, and what they leave", GIVEN[:given], [each[:given] for each in sides])
    message = f"Not listed: {plural(found.bettered, 'shape')} that one of these betters"
    yield Line(f"{message}, and {found.unpriced} with a switch without a price." if priced else f"{message}.")
    yield Line("kW is the most that switches, optics and cables draw, as far as that is known of")
    yield Line("them. Hosts are not in it, and no shape is judged by it.")


def _row_cells(row: Row) -> tuple[str, ...]:
    figures, fabric, draw = row.shape.figures, row.fabric, _power_draw(row.shape)
    name = f"{row.number or ''}{' ' if row.number else ''}{'spec' if row.own else ''}"
    name += f", bettered by {row.bettered_by}" if row.bettered_by else ""
    models = dict.fromkeys(each.model.name for each in fabric.tiers.values())
    return (
        name, f"{figures.boxes:,}", " + ".join(f"{count:,}" for count in figures.switches.values()), ", ".join(models),
        f"{fabric.shape.hosts_per_unit:,}", f"{fabric.shape.planes}", format_ratio(figures.ratio),
        f"{figures.optics + figures.outside.optics:,}", f"{figures.cables + figures.outside.links:,}",
        f"{figures.idle:,}", f"{figures.cut:,}", format_share(least_bandwidth(fabric)), f"{figures.room:,}",
        f"{draw.maximum_w / 1000:,.1f}" if draw.maximum_of else "-", f"{draw.maximum_of:,}/{draw.devices:,}",
        "-" if row.price is None else f"{float(row.price):,.0f}",
    )  # fmt: skip


def _render_json(
    rows: Sequence[Row], found: alternatives.Alternatives, catalog: Catalog, diagnostics: Sequence[Diagnostic]
) -> Rendered:
    findings = [dataclasses.asdict(each) for each in diagnostics]
    shapes = [_shape_document(row, catalog) for row in rows]
    rest = {"bettered": found.bettered, "unpriced": found.unpriced, "findings": findings}
    return json_document({"alternatives": shapes, **rest}, sort_keys=True)


def _shape_document(row: Row, catalog: Catalog) -> dict[str, object]:
    figures, shape = row.shape.figures, row.fabric.shape
    lost = single_failures(row.fabric, hashed=False)
    hardest, left = hardest_single(lost), min((each.bisection for each in lost if each.device), default=1)
    out = {"external": figures.outside.links} if figures.outside.links else {}
    return {
        "number": row.number,
        "spec": row.own,
        "bettered_by": row.bettered_by or None,
        "changes": {format_path(path): value for path, value in row.shape.changes.items()},
        "tiers": [
            {
                "tier": tier.value, "switches": figures.switches[tier], "model": each.model.name,
                "nos": f"{each.nos} {each.release}".strip(),
                "same_ports": alternatives.find_equal_models(each.model, catalog),
            }
            for tier, each in row.fabric.tiers.items()
        ],
        "hosts_per_unit": shape.hosts_per_unit,
        "planes": shape.planes,
        "ratio": float(figures.ratio),
        "switches": figures.boxes,
        "optics": figures.optics + figures.outside.optics,
        "cables": {kind: ends.links for kind, ends in figures.ends.items()} | out,
        "idle_ports": figures.idle,
        "hardest_failure": hardest and hardest.part,
        "gpus_cut": figures.cut,
        "bandwidth_left": float(left),
        "room_hosts": figures.room,
        "power": _power_draw(row.shape)._asdict(),
        "price": None if row.price is None else float(row.price),
    }  # fmt: skip
