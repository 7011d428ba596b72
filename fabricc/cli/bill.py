"""Write the tables of `fabricc plan` for buyers and installers: the bill of materials, labels and rack elevations."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity, worst_severity
from fabricc.base.foreign.formats import NoWorkbookError, build_workbook, csv_text
from fabricc.base.values import replace
from fabricc.paperwork.bill import BILL, LABELS, bill_rows, label_rows, material_findings
from fabricc.paperwork.materials import Materials, list_materials, merge_materials
from fabricc.paperwork.plan_tables import in_chunks
from fabricc.paperwork.racks import ELEVATION, Racks, device_titles, elevation_rows, read_places
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


class BillRequest(NamedTuple):
    """The request: files to write, the share of spares, and the table of places to read."""

    bom: Path | None
    labels: Path | None
    elevations: Path | None
    places: Path | None
    spares: Fraction


class BillResult(NamedTuple):
    """The parts of the fabric and their places, with the findings about both; `titles` are of its devices."""

    materials: Materials
    racks: Racks
    titles: Mapping[str, str]
    findings: tuple[Diagnostic, ...]


def list_parts(
    request: BillRequest, networks: Sequence[tuple[str, ClusterSpec, Fabric]], protocol: str
) -> BillResult:
    """Return the requested tables of all networks of the cluster.

    Args:
        request: the request.
        networks: prefix of findings, spec and fabric of each.
        protocol: `ethernet` or `infiniband`.

    Raises:
        click.UsageError: elevations without places.
    """
    if request.elevations is not None and request.places is None:
        raise click.UsageError("--elevations needs --places, a table with the place of each device.")
    found = [list_materials(fabric, protocol) for _, _, fabric in networks]
    findings = [
        replace(each, message=f"{label}{each.message}")
        for (label, spec, _), part in zip(networks, found, strict=True)
        for each in material_findings(spec, part)
    ]
    known = dict(chain.from_iterable(device_titles(fabric).items() for _, _, fabric in networks))
    racks = read_places(request.places, known) if request.places else Racks({}, ())
    return BillResult(merge_materials(found), racks, known, (*findings, *racks.findings))


def write_files(request: BillRequest, found: BillResult) -> list[str]:
    """Write the requested files and return their names; write none if the table of places is wrong.

    Raises:
        FindingsError: FAB0070, a workbook is requested, and no package that writes one is installed.
        EmitError: a file cannot be written.
    """
    if worst_severity(found.racks.findings) is Severity.ERROR:
        return []
    places = found.racks.places
    written = []
    if request.bom is not None:
        write_file(request.bom, _render_bill(found, request))
        written.append(str(request.bom))
    for file, head, rows in (
        (request.labels, LABELS, label_rows(found.materials, places)),
        (request.elevations, ELEVATION, elevation_rows(places, found.titles)),
    ):
        if file is not None:
            texts = chain([csv_text([head])], in_chunks(rows))
            write_file(file, (text.encode() for text in texts))
            written.append(str(file))
    return written


def _render_bill(found: BillResult, request: BillRequest) -> bytes:
    bill = [BILL, *bill_rows(found.materials, request.spares, found.racks.places)]
    if request.bom is None or request.bom.suffix == ".csv":
        return csv_text(bill).encode()
    try:
        places = found.racks.places
        sheets = [("Bill of materials", bill), ("Labels", [LABELS, *label_rows(found.materials, places)])]
        if places:
            sheets.append(("Racks", [ELEVATION, *elevation_rows(places, found.titles)]))
        return build_workbook(sheets)
    except NoWorkbookError:
        remedy = "Install it: `pip install 'fabricc[xlsx]'`, or write a .csv."
        raise FindingsError("FAB0070", "a .xlsx needs the Python package openpyxl", remedy) from None
