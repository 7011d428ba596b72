"""Read a price table of the user and compute the cost of a shape."""

from __future__ import annotations

import csv
import io
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.catalog.library import did_you_mean
from fabricc.catalog.optics import host_ends, load_optics
from fabricc.paperwork.materials import of_kind, port_end

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.catalog.model import Catalog
    from fabricc.front.planning.alternatives import Candidate
    from fabricc.paperwork.materials import Item

ITEMS = ("item", "model", "part")
"""Accepted names of the first column."""
_LARGEST = 16 * 1024 * 1024
_SHOWN = 6


class Prices(NamedTuple):
    """Model or part number -> price, the file, and what is wrong with it."""

    known: Mapping[str, Fraction]
    file: str
    findings: tuple[Diagnostic, ...]

    def of(self, candidate: Candidate) -> Fraction | None:
        """Return the price of switches, optics and cables; other parts without a price count zero.

        None without a switch price.
        """
        switches = [(self.known.get(candidate.models.switches[tier].name), count)
                    for tier, count in candidate.figures.switches.items()]  # fmt: skip
        priced = [price * count for price, count in switches if price is not None]
        if len(priced) < len(switches):
            return None
        parts = (self.known.get(item.number, 0) * count for item, count in link_parts(candidate).items())
        return Fraction(sum(priced) + sum(parts))

    def lacking(self, shown: Iterable[Candidate]) -> Iterator[Diagnostic]:
        """Report FAB3162 for parts without a price."""
        parts = dict.fromkeys(item.number or item.title for each in shown for item in link_parts(each))
        without = [part for part in parts if part not in self.known]
        if without:
            more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
            told = f"without a price, and so not in that of any shape: {', '.join(without[:_SHOWN])}{more}"
            yield Diagnostic(
                "FAB3162", Severity.WARNING, told, Position(self.file, 1), "Add a line for each."
            )


def link_parts(candidate: Candidate) -> Counter[Item]:
    """Optics and cables of a shape; host links are those of the first host group."""
    shape, models, cables = candidate.sized, candidate.models, candidate.spec.cables
    tor, spine, core = shape.tor_layouts[0], shape.spine_layout, shape.core_layout
    found, counts = candidate.figures.ends, shape.shape
    in_order = [rail for cage in models.hosts[0].cages for rail in cage] == [*range(counts.rails)]
    rails = counts.rails_per_tor if in_order and counts.nic_ports == 1 else 1
    down = port_end(models.tor, tor.slots[tor.down[0]])
    own = candidate.attached[0]
    near = host_ends(models.hosts[0], own.ports_per_nic, own.gbps)
    bill = of_kind("host", near, (down,), cables.host, found["host"], rails)
    if models.spine is not None:
        ends = port_end(models.tor, tor.slots[tor.up[0]]), port_end(models.spine, spine.slots[spine.down[0]])
        bill += of_kind("spine", ends[:1], ends[1:], cables.spine, found["spine"], counts.links_per_spine)
    if counts.peer_links:
        end = (port_end(models.tor, tor.slots[tor.up[0]]),)
        bill += of_kind("peer", end, end, cables.peer, found["peer"], counts.peer_links)
    if models.spine is not None and models.core is not None and core is not None:
        ends = (
            port_end(models.spine, spine.slots[spine.up[0]]),
            port_end(models.core, core.slots[core.down[0]]),
        )
        bill += of_kind("core", ends[:1], ends[1:], cables.core, found["core"], counts.links_per_core)
    return bill


def read_prices(path: Path, catalog: Catalog) -> Prices:
    """Return the prices of a CSV file with the columns `item`, a model or part number of the catalog, and `price`."""
    try:
        text = files.read(path, limit=_LARGEST).decode("utf-8-sig")
        if (conflict := conflict_in(text, str(path))) is not None:
            return Prices({}, str(path), (conflict,))
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV in UTF-8"
        return Prices({}, str(path), (_price_error(path, 1, f"{path} cannot be read: {reason or error}"),))
    head = tuple(word.strip().lower() for word in rows[0]) if rows else ()
    if len(head) != 2 or head[0] not in ITEMS or head[1] != "price":
        return Prices({}, str(path), (_price_error(path, 1, "the first line is not item,price"),))
    names = {*catalog.switches, *catalog.hosts, *catalog.nics, *_part_numbers()}
    known: dict[str, Fraction] = {}
    findings: list[Diagnostic] = []
    for line, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        item, price = row[0].strip(), _parse_price(row)
        if price is None:
            told = f"{item or 'this line'} has no price: a number without a currency, 0 or more, in the second column"
            findings.append(_price_error(path, line, told))
        elif item in known:
            findings.append(_price_error(path, line, f"{item!a} has two prices", "Remove one of the lines."))
        else:
            known[item] = price
            if item not in names:
                told = f"the catalog has no model or part {item!a}, so its price counts nowhere"
                place = Position(str(path), line)
                findings.append(
                    Diagnostic("FAB3161", Severity.WARNING, told, place, did_you_mean(item, names))
                )
    return Prices(known, str(path), tuple(findings))


def _part_numbers() -> Iterator[str]:
    """Yield every part number in the catalog of optics and cables."""
    table = load_optics()
    sold = [*(each.parts for each in table.transceivers), *(each.parts for each in table.fibres)]
    for part in chain(*sold, *(each.parts for each in table.assemblies)):
        yield part.number
        yield from (number for _, number in part.lengths)


def _parse_price(row: list[str]) -> Fraction | None:
    try:
        found = Decimal(row[1].strip()) if len(row) == 2 and row[0].strip() and len(row[1]) < 32 else None
    except InvalidOperation:
        return None
    return Fraction(found) if found is not None and found.is_finite() and 0 <= found < 10**12 else None


def _price_error(path: Path, line: int, message: str, remedy: str = "") -> Diagnostic:
    return Diagnostic("FAB3160", Severity.ERROR, message, Position(str(path), line), remedy)
