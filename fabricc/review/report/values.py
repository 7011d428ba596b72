"""Parts of the page before any HTML is written: tables, pictures, paragraphs, numbers and names for people.

Equal switches of a fabric are examined once and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import PortLayout, SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.neighbors import Link

Cell = str | int | float
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; the first cell of a row names it.

    Attributes:
        key: unique on the page; the target of links.
        codes: numbers of the columns whose text is code (names, prefixes), for a fixed-width font.
        right: numbers of columns aligned like numbers, although some cells are text.
        note: a sentence below; empty for none.
        folded: drawn so that a reader can fold it away.
        severity: the first column is the severity of the row.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    codes: tuple[int, ...] = ()
    note: str = ""
    right: tuple[int, ...] = ()
    folded: bool = False
    severity: bool = False
    kind: str = field(default="table", init=False)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether it is aligned as numbers are."""
        return tuple(
            at in self.right
            or (bool(self.rows) and all(isinstance(row[at], int | float) for row in self.rows))
            for at in range(len(self.columns))
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing: SVG text in which everything is escaped already, and the same in words."""

    key: str
    svg: str
    caption: str
    words: tuple[str, ...] = ()
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    text: str
    kind: str = field(default="prose", init=False)


Part = Table | Picture | Prose


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading that the navigation lists."""

    key: str
    title: str
    lead: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that the reader should see first, with what it counts and how it comes about."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page.

    Attributes:
        status: `error`, `warning` or `good`: how the findings leave the plan.
        verdict: the same in a sentence or two.
        identity: label and value of what the page was made from; values are code.
        subject: what the page is; `origin`: what all of it was made from, in words.
        signed: whether there are lines to sign on.
    """

    title: str
    summary: str
    status: str
    verdict: tuple[str, ...]
    figures: tuple[Figure, ...]
    identity: tuple[tuple[str, str], ...]
    sections: Sequence[Section]
    subject: str = "Fabric report"
    origin: str = "the spec, the lock and the catalog alone"
    signed: bool = True


_SHOWN = 3
NONE = "\N{EN DASH}"
"""The text of an empty cell."""
_TIMES = "\N{MULTIPLICATION SIGN}"


def format_count(count: int, what: str) -> str:
    """Return a number of things, as on bills: `1,024 x 400G` with the sign for multiplication."""
    return f"{count:,} {_TIMES} {what}"


def format_rate(gbps: Fraction | int) -> str:
    """Return a bandwidth in the shortest unit: `400 Gb/s`, `12.8 Tb/s`, `5.24 Pb/s`."""
    value, unit = float(gbps), "Gb/s"
    for larger in ("Tb/s", "Pb/s"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{_trim_number(value)} {unit}"


def format_ratio(value: Fraction | float) -> str:
    """Return an oversubscription: `1:1`, `1.07:1`, `15:1`."""
    return f"{_trim_number(float(value))}:1"


def format_span(names: Sequence[str]) -> str:
    """Return some names, or the first and the last of many in the order of the plan."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]}"


def shorten_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _trim_number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


class Cable(NamedTuple):
    """Cables of one article; `kind` is `host`, `spine` or `core`."""

    kind: str
    speed_gbps: int
    medium: str
    length_m: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Switches that have the same links: one of them, and how many there are."""

    at: SwitchId
    name: str
    layout: PortLayout
    links: tuple[Link, ...]
    count: int

    @property
    def tier(self) -> TierName:
        """Their tier."""
        return self.at.tier

    def cable(self, link: Link) -> Cable:
        """Return the cable of a link of theirs."""
        return Cable(link.kind, self.layout.slots[link.slot].speed_gbps, link.medium, link.cable_m)

    def gbps(self, *ways: Direction) -> int:
        """Return the bandwidth of the links in some directions."""
        slots = self.layout.slots
        return sum(slots[link.slot].speed_gbps for link in self.links if link.direction in ways)


def switch_kinds(fabric: Fabric) -> tuple[Kind, ...]:
    """Return every kind of switch, ToRs first; the numbers of all kinds add up to all switches.

    The kind of a ToR depends on its host groups and the slots with hosts, that of a spine on its links to the units of
    its pod. Switches
    that overrides change, and the ends of their cables, are kinds of their own.
    """
    touched = fabric.with_far_ends(fabric.changes.keys())
    pods: Counter[int] = Counter()
    for unit in fabric.places():
        for tor in fabric.tor_ids(unit.coordinate):
            pods[tor.pod] += fabric.tor_links[unit.group]
    counts: Counter[object] = Counter()
    samples: dict[object, SwitchId] = {}
    for at in fabric.switch_ids():
        key: object
        if touched and (name := fabric.name(at)) in touched:
            key = name
        elif at.tier is TierName.TOR:
            key = tuple((unit.group, *slots) for unit, slots, _ in links.served_slots(fabric, at))
        else:
            key = (at.tier, pods[at.pod]) if at.tier is TierName.SPINE else at.tier
        samples.setdefault(key, at)
        counts[key] += 1
    return tuple(
        Kind(
            at,
            fabric.name(at),
            links.port_layout(fabric, at),
            tuple(links.switch_links(fabric, at)),
            counts[key],
        )
        for key, at in samples.items()
    )


def count_cables(found: tuple[Kind, ...]) -> Counter[Cable]:
    """Count the cables of each kind; each is counted at its lower end, a host's at the ToR."""
    counted: Counter[Cable] = Counter()
    between: Counter[Cable] = Counter()  # ToRs, where both ends have the same role
    for kind in found:
        for link in kind.links:
            if link.direction is Direction.PEER:
                between[kind.cable(link)] += kind.count
            elif link.direction is not Direction.DOWN:
                counted[kind.cable(link)] += kind.count
    return counted + Counter({cable: ends // 2 for cable, ends in between.items()})


def host_port_gbps(fabric: Fabric, group: int) -> int:
    """Speed of the ports of a host group."""
    return fabric.attachments[group].gbps
