"""The bill of materials, labels and costs by a user's price table, and findings about links without suitable parts."""

from __future__ import annotations

import csv
import io
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import KeyPath, conflict_in
from fabricc.base.foreign import files
from fabricc.catalog import optics
from fabricc.catalog.figures import Draw, total_draw
from fabricc.catalog.library import did_you_mean
from fabricc.front.spec.document import format_path
from fabricc.paperwork.materials import Item, Materials, MissingParts, of_kind, port_end
from fabricc.paperwork.racks import Place, device_place

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.catalog.model import Catalog
    from fabricc.front.planning.alternatives import Candidate
    from fabricc.front.spec.model import ClusterSpec

BILL = (
    "item", "for", "title", "vendor", "part_number", "length_m", "quantity", "spares", "total", "source", "typical_w",
    "maximum_w",
)  # fmt: skip
LABELS = (
    "cable", "end", "device", "port", "rack", "unit", "module", "module_part", "far_device", "far_port", "far_rack",
    "far_unit", "medium", "length_m", "cable_title", "cable_part", "line_1", "line_2", "line_3",
)  # fmt: skip
SPARED = ("transceiver", "fibre", "cable")
"""Items of which spares are bought; switches and hosts are the maker's to replace."""


def bill_rows(
    found: Materials, spares: Fraction, places: Mapping[str, Place] | None = None
) -> Iterator[tuple[object, ...]]:
    """Yield the lines of the bill, what is missing last, and what all of it draws; by rack where places are given.

    The share of spares is rounded up for each line. Power is that of the quantity, without spares.
    """
    order = ("switch", "host", *SPARED, "missing")
    for item, quantity in sorted(
        found.bill.items(), key=lambda line: (order.index(line[0].item), str(line[0]))
    ):
        spare = ceil(quantity * spares) if item.item in SPARED else 0
        yield (
            item.item, item.role, item.title, item.vendor, item.number, item.length_m, quantity, spare,
            quantity + spare, item.source, *_total_watts([(item, quantity)]),
        )  # fmt: skip
    yield from _power_rows(found, places or {})


def _power_rows(found: Materials, places: Mapping[str, Place]) -> Iterator[tuple[object, ...]]:
    """Yield the power of each rack, without cables between two racks that have fixed modules, then the total."""
    racks: dict[str, list[tuple[Item, int]]] = {}
    held = chain(found.devices.items(), ((plug.device, item) for plug, item in found.plugged.items()))
    for device, item in held:
        if place := places.get(device):
            racks.setdefault(place.rack, []).append((item, 1))
    for rack in sorted(racks):
        yield _power_row(rack, racks[rack])
    yield _power_row("all", found.bill.items())


def _power_row(where: str, items: Iterable[tuple[Item, int]]) -> tuple[object, ...]:
    items = list(items)
    total = power_of(items)
    return "power", where, total.words, "", "", "", total.devices, "", "", "", *_total_watts(items)


def power_of(items: Iterable[tuple[Item, int]]) -> Draw:
    """Return the power of a number of each of some parts."""
    return total_draw((item.power, count) for item, count in items if item.power is not None)


def _total_watts(items: Iterable[tuple[Item, int]]) -> tuple[object, object]:
    """Typical and maximum, W; empty where nothing is known."""
    total = power_of(items)
    return total.typical_w if total.typical_of else "", total.maximum_w if total.maximum_of else ""


def label_rows(found: Materials, places: Mapping[str, Place]) -> Iterator[tuple[object, ...]]:
    """Two labels for each link, the lower end first; a cable is called by its lower end, so that no name moves."""
    for row, modules, cable in found.joints:
        lower, upper = (row.a_device, row.a_port), (row.b_device, row.b_port)
        bought = (cable.title, cable.number) if cable else ("", "")
        for end, near, far, module in (("a", lower, upper, modules[0]), ("b", upper, lower, modules[1])):
            plugged = (module.title, module.number) if module else ("", "")
            here, there = device_place(places, near[0]), device_place(places, far[0])
            yield (
                " ".join(lower), end, *near, *here, *plugged, *far, *there, row.medium, row.length_m, *bought,
                _label_line(near, here), f"to {_label_line(far, there)}",
                    f"{row.medium} {row.length_m} m, {row.speed_gbps}G",
            )  # fmt: skip


def _label_line(port: tuple[str, str], place: tuple[str, int | str]) -> str:
    """Return `A01 U42 su001-tor1a Ethernet0`, without the place if it is unknown."""
    rack, unit = place
    return " ".join(filter(None, (f"{rack} U{unit}" if rack else "", *port)))


def material_findings(spec: ClusterSpec, found: Materials) -> Iterator[Diagnostic]:
    """Report links that nothing joins, cages that one module cannot serve, and parts without a number."""
    for lack, number in found.lacking.items():
        path = _cable_key(lack.kind)
        message = f"{format_path(path)}: {number:,} of {lack.medium}, {lack.metres} m: {_explain_lack(lack)}"
        yield spec.warning("FAB3140", message, *path, help=_suggest_media(lack))
    for kind, number in found.torn.items():
        path = _cable_key(kind)
        message = f"{format_path(path)}: {number:,} cages whose children need different modules"
        help_ = "Give the cables of one cage one medium and lengths that one module serves."
        yield spec.warning("FAB3141", message, *path, help=help_)
    for kind, titles in sorted(_titles_without_number(found).items()):
        path = _cable_key(kind)
        more = f" and {len(titles) - 2} more" if len(titles) > 2 else ""
        message = f"{format_path(path)}: no part number in the catalog: {'; '.join(titles[:2])}{more}"
        yield spec.note("FAB3144", message, *path, help=_suggest_numbered_media(found, kind))


def _titles_without_number(found: Materials) -> dict[str, list[str]]:
    """Return the titles of modules and cables without a maker's number, by the kind of their links, without fiber."""
    titles: dict[str, dict[str, None]] = {}
    for link in found.joints:
        for item in link.unnumbered:
            titles.setdefault(link.row.kind, {})[item.title] = None
    return {kind: list(of_kind) for kind, of_kind in titles.items()}


def _suggest_numbered_media(found: Materials, kind: str) -> str:
    """Return media of which both makers sell every part for each of these links; those of one length, if longer."""
    links = [link for link in found.unnumbered if link.kind == kind]
    media: Mapping[str, object] = optics.load_reaches()
    numbered = (
        [medium for medium in media if all(_is_numbered(link, medium) for link in links)] if links else []
    )
    if numbered:
        return f"Use `medium: {' or '.join(numbered)}`, which has numbers, or ask the makers of both ends."
    ends = "`gpus.model` and `tors.model`" if kind == "host" else "both ends"
    return f"No `medium` has numbers here: ask the makers of {ends}, and write the number on the bill."


def _is_numbered(link: MissingParts, medium: str) -> bool:
    """Return whether the makers of the two ends have numbers for parts of a medium that reach far enough."""
    if link.lower is None or link.upper is None:
        return False
    return any(
        optics.is_sold(fit, link.metres, link.lower, link.upper) for fit in _possible_fits(link, medium)
    )


def _cable_key(kind: str) -> KeyPath:
    """Return the key of the spec that holds the cables of a kind."""
    if kind.startswith("management"):
        return "management", "switches", "uplink"
    return ("external",) if kind == "external" else ("cables", kind)


def _possible_fits(missing: MissingParts, medium: str) -> Sequence[optics.Fit]:
    if missing.lower is None or missing.upper is None:
        return ()
    return optics.find_fits(missing.lower, missing.upper, medium, alone=missing.alone)


def _explain_lack(missing: MissingParts) -> str:
    if missing.lower is None or missing.upper is None:
        return "the catalog has no cage of this NIC at that speed"
    joined = f"{_describe_end(missing.lower)} and {_describe_end(missing.upper)}"
    if found := _possible_fits(missing, missing.medium):
        return f"between {joined} the catalog's reaches {max(map(optics.reach_of, found))} m"
    if _is_split_twice(missing):
        return f"{joined} are both split, which no such cable is"
    if missing.medium == "dac" and optics.lane_gbps(missing.lower.use) != optics.lane_gbps(missing.upper.use):
        return f"{joined} have lanes of different speed, which passive copper does not convert"
    return f"no part in the catalog joins {joined}"


def _is_split_twice(missing: MissingParts) -> bool:
    ends = (missing.lower, missing.upper)
    return not missing.alone and all(end is not None and end.use.children > 1 for end in ends)


def _describe_end(end: optics.End) -> str:
    return f"{end.use.children}x{end.use.speed_gbps}G in {end.form_factor} ({end.use.lanes} lanes each)"


def _suggest_media(missing: MissingParts) -> str:
    """Return other media that reach, or the longest length of this one, by the look-up of the catalog."""
    media: Mapping[str, object] = optics.load_reaches()
    others = [
        medium
        for medium in media
        if any(optics.reach_of(fit) >= missing.metres for fit in _possible_fits(missing, medium))
    ]
    longest = max(map(optics.reach_of, _possible_fits(missing, missing.medium)), default=0)
    ways = [f"{' or '.join(others)} of that length"] if others else []
    ways += [f"a {missing.medium} cable of {longest} m at the most"] if longest else []
    if ways:
        return f"Use {', or '.join(ways)}."
    if _is_split_twice(missing):
        return "Plan an optical shuffle panel between them, or fewer `planes`, or a switch whose ports are not split."
    models = "`gpus.model` or `tors.model`" if missing.kind == "host" else "`model` of its switches"
    return f"Take another {models} with ports that parts join, or add a maker's part to the bill."


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

    def missing_prices(self, shown: Iterable[Candidate]) -> Iterator[Diagnostic]:
        """Report FAB3162 for parts without a price."""
        parts = dict.fromkeys(item.number or item.title for each in shown for item in link_parts(each))
        without = [part for part in parts if part not in self.known]
        if without:
            more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
            message = f"without a price, and so not in that of any shape: {', '.join(without[:_SHOWN])}{more}"
            yield Diagnostic(
                "FAB3162", Severity.WARNING, message, Position(self.file, 1), "Add a line for each."
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
    near = optics.host_ends(models.hosts[0], own.ports_per_nic, own.gbps)
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
            name = item or "this line"
            message = f"{name} has no price: a number without a currency, 0 or more, in the second column"
            findings.append(_price_error(path, line, message))
        elif item in known:
            findings.append(_price_error(path, line, f"{item!a} has two prices", "Remove one of the lines."))
        else:
            known[item] = price
            if item not in names:
                message = f"the catalog has no model or part {item!a}, so its price counts nowhere"
                place = Position(str(path), line)
                findings.append(
                    Diagnostic("FAB3161", Severity.WARNING, message, place, did_you_mean(item, names))
                )
    return Prices(known, str(path), tuple(findings))


def _part_numbers() -> Iterator[str]:
    """Yield every part number in the catalog of optics and cables."""
    table = optics.load_optics()
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
