"""One unit in the topology picture: its ToRs as squares, its hosts as boxes, the links between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.review.report import svg
from fabricc.review.report.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.scene import Unit
    from fabricc.review.report.svg import Point

HEIGHT = 200
TORS = 12  # from the top of a unit to its squares
SQUARE = 12
LETTER = 7.2  # mean width of a letter at 13 px
COLOURS = 4
_HOSTS, _BOX, _NAME = 124, 40, 184
_NARROWEST = 60  # of a host's box with its name


def squares(centres: Sequence[float], y: float, count: int, styles: Sequence[str]) -> Iterator[str]:
    """Squares; where they stand for more, three dots take the place of the middle one."""
    middle = len(centres) // 2 if len(centres) < count else -1
    for number, (x, style) in enumerate(zip(centres, styles, strict=True)):
        if number == middle:
            yield svg.text(x, y + 10, "\N{MIDLINE HORIZONTAL ELLIPSIS}", "dots", "middle")
        else:
            yield svg.rect(x - SQUARE / 2, y, SQUARE, SQUARE, style, 2)


def plane_of(number: int, centres: Sequence[float], planes: int) -> int:
    """The plane of a unit's ToR by its place in the row: plane by plane from the left."""
    return number * planes // len(centres)


def unit_picture(
    fabric: Fabric, unit: Unit, x: float, width: float, centres: Sequence[float], y: float
) -> str:
    """A unit with the squares of its ToRs at `centres`; its frame lies below the links and is drawn before."""
    boxes = _boxes(unit, x, width)
    styles = [
        f"switch plane{plane_of(at, centres, fabric.shape.planes) % COLOURS}" for at in range(len(centres))
    ]
    most = max(4, int((width - 8) / LETTER))
    parts = [
        *_links(boxes, centres, y, each=len(boxes) == len(unit.hosts) and len(centres) == unit.tors),
        *squares(centres, y + TORS, unit.tors, styles),
        *_hosts(unit, boxes, most, y),
        svg.text(x + width / 2, y + _NAME, shortened(unit.name, most), "name", "middle"),
    ]
    hosts, tors = plural(len(unit.hosts), "host"), plural(unit.tors, "ToR")
    return svg.titled(parts, f"{unit.name}: {hosts}, {unit.gpus:,} GPUs, {tors}")


def _boxes(unit: Unit, x: float, width: float) -> list[tuple[float, float]]:
    """Left and right edge of every host, or of one box for all of them."""
    count = len(unit.hosts)
    each = (width - 16 - (count - 1) * 8) / count if count else 0
    if each < _NARROWEST:
        return [(x + 8, x + width - 8)]
    return [(x + 8 + number * (each + 8), x + 8 + number * (each + 8) + each) for number in range(count)]


def _links(
    boxes: Sequence[tuple[float, float]], centres: Sequence[float], y: float, *, each: bool
) -> Iterator[str]:
    """Links between hosts and ToRs, each by itself or as a bundle."""
    top, bottom = y + TORS + SQUARE, y + _HOSTS
    if each:
        pairs = [(((left + right) / 2, bottom), (tor, top)) for left, right in boxes for tor in centres]
        yield svg.lines(pairs, "link thin host")
        return
    for left, right in boxes:
        ends: list[Point] = [(left, bottom), (centres[0] - 6, top), (centres[-1] + 6, top), (right, bottom)]
        yield svg.polygon(ends, "bundle host")


def _hosts(unit: Unit, boxes: Sequence[tuple[float, float]], most: int, y: float) -> Iterator[str]:
    """The boxes: a host's name in each, the unit's being left out of it, or how many hosts and GPUs there are."""
    single = len(boxes) == len(unit.hosts)
    for number, (left, right) in enumerate(boxes):
        middle = (left + right) / 2
        yield svg.rect(left, y + _HOSTS, right - left, _BOX, "host", 4)
        if single:
            name = unit.hosts[number].removeprefix(f"{unit.name}-")
            yield svg.text(
                middle, y + _HOSTS + 24, shortened(name, int((right - left) / LETTER)), "small", "middle"
            )
            continue
        for line, words in enumerate((plural(len(unit.hosts), "host"), f"{unit.gpus:,} GPUs")):
            yield svg.text(middle, y + _HOSTS + 17 + 16 * line, shortened(words, most), "small", "middle")
