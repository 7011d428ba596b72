"""Draw the topology as SVG: tiers as rows, switches as squares, links as lines where they are few, else bundles.

Colors come from the page's style by class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import escape_html
from fabricc.base.values import dataclass
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import TierName
from fabricc.review.report.scene import Pod, Scene, Unit, make_scene
from fabricc.review.report.values import Cable, Picture, shorten_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric

WIDTH = 1000
_GUTTER, _MARGIN, _GAP = 216, 8, 12
_PITCH = 16
_ELLIPSIS = 78
_TIER, _LINKS = 62, 104
_LINE = 17
_SQUARES = 32  # from the top of a strip
_MOST_LINES = 64


HEIGHT = 200
TORS = 12  # from the top of a unit to its squares
SQUARE = 12
LETTER = 7.2  # mean width of a letter at 13 px
COLORS = 4
_HOSTS, _BOX, _NAME = 124, 40, 184
_NARROWEST = 60  # of a host's box with its name


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of squares in a frame: its place, and the centers of the drawn squares, some or all of `count`."""

    x: float
    y: float
    width: float
    plane: int
    count: int
    squares: tuple[float, ...]

    @property
    def whole(self) -> bool:
        """Return whether every switch has its square."""
        return len(self.squares) == self.count


def draw_picture(fabric: Fabric, cables: Mapping[Cable, int]) -> Picture:
    """Return the picture of a fabric, with a description in words."""
    seen = make_scene(fabric, cables)
    top = _TIER + _LINKS if fabric.shape.cores else 0
    top += _TIER + _LINKS if fabric.shape.spines else 0
    height = _MARGIN + top + HEIGHT + (44 if fabric.shape.cores else 16)
    content = [*_left_column(fabric, seen), *_draw_fabric(fabric, seen)]
    title = f"Topology of {fabric.cluster}"
    text = svg_document("picture", WIDTH, height, title, " ".join(seen.words), content)
    caption = "Every square is a switch"
    if seen.left_out or any(pod and pod.left_out for pod in seen.pods):
        caption += "; what is left out is like what is drawn unless the table of units shows a difference"
    return Picture("topology-picture", text, caption + ".", seen.words)


def _left_column(fabric: Fabric, seen: Scene) -> Iterator[str]:
    """Yield the captions on the left: tiers in bold, the links between them below."""
    y = float(_MARGIN)
    if fabric.shape.cores:
        yield from _draw_label(y + 20, seen.tiers[TierName.CORE])
        yield from _draw_label(y + _TIER + 34, seen.links["core"], "link")
        y += _TIER + _LINKS
    if fabric.shape.spines:
        yield from _draw_label(y + 20, seen.tiers[TierName.SPINE])
        yield from _draw_label(y + _TIER + 34, seen.links["spine"], "link")
        y += _TIER + _LINKS
    yield from _draw_label(y + 18, seen.tiers[TierName.TOR])
    yield from _draw_label(y + 78, seen.links["host"], "link")
    yield from _draw_label(y + 152, seen.hosts)


def _draw_label(y: float, words: Sequence[str], style: str = "") -> Iterator[str]:
    most = int((_GUTTER - _MARGIN) / LETTER)
    for number, line in enumerate(each for each in words if each):
        kind = style or ("tier" if number == 0 else "small")
        yield draw_text(_MARGIN, y + number * _LINE, shorten_text(line, most), kind)


def _draw_fabric(fabric: Fabric, seen: Scene) -> Iterator[str]:
    shape = fabric.shape
    y = float(_MARGIN)
    cores: list[Strip] = []
    if shape.cores:
        cores = _plane_frames(_GUTTER, y, WIDTH - _MARGIN - _GUTTER, fabric.port_planes, shape.cores)
        yield from _draw_frames(cores)
        yield from _draw_switches(cores, "core", fabric.port_planes)
        y += _TIER + _LINKS
    for at, pod, width in _place_pods(seen.pods, _GUTTER, WIDTH - _MARGIN - _GUTTER):
        if pod is None:
            yield from _left_out(at, y + 90, width, seen.left_out, "pod")
            continue
        frame, inner = (_GAP if shape.cores else 0), width - (2 * _GAP if shape.cores else 0)
        if shape.cores:
            yield draw_rect(at, y - 10, width, _TIER + _LINKS + HEIGHT + 44, "pod", 6)
        spines = _plane_frames(at + frame, y, inner, len(fabric.planes), shape.spines) if shape.spines else []
        for strip in spines:
            above = [core for core in cores if core.plane == strip.plane % fabric.port_planes]
            yield from _between_strips(strip, above)
        yield from _draw_frames(spines)
        yield from _draw_pod(fabric, pod, at + frame, inner, spines, y + (_TIER + _LINKS if spines else 0))
        yield from _draw_switches(spines, "spine", len(fabric.planes))
        if shape.cores:
            units = sum(1 for each in pod.units if each) + pod.left_out
            words = f"pod {pod.number + 1}: {plural(units, 'unit')}"
            yield draw_text(at + width / 2, y + _TIER + _LINKS + HEIGHT + 22, words, "name", "middle")


def _place_pods(
    pods: Sequence[Pod | None], x: float, width: float
) -> Iterator[tuple[float, Pod | None, float]]:
    """Yield the place of each pod; the place of omitted pods is narrow."""
    gaps = sum(1 for pod in pods if pod is None)
    each = (width - gaps * _ELLIPSIS - (len(pods) - 1) * _GAP) / (len(pods) - gaps)
    for pod in pods:
        wide = _ELLIPSIS if pod is None else each
        yield x, pod, wide
        x += wide + _GAP


def _plane_frames(x: float, y: float, width: float, planes: int, count: int) -> list[Strip]:
    """Return the frames of all planes side by side."""
    each = (width - (planes - 1) * _GAP) / planes
    return [
        Strip(left, y, each, plane, count, _square_centers(left, each, count))
        for plane in range(planes)
        for left in (x + plane * (each + _GAP),)
    ]


def _square_centers(x: float, width: float, count: int) -> tuple[float, ...]:
    """Return centers of as many squares as fit, in the middle of the width."""
    drawn = min(count, max(1, int((width - 12) / _PITCH)))
    pitch = min(64.0, (width - 12) / drawn) if drawn == count else _PITCH
    begin = x + width / 2 - pitch * (drawn - 1) / 2
    return tuple(begin + pitch * number for number in range(drawn))


def _draw_frames(strips: Sequence[Strip]) -> Iterator[str]:
    """Yield the shapes below the links."""
    for strip in strips:
        yield draw_rect(strip.x, strip.y, strip.width, _TIER - 8, "strip", 4)


def _draw_switches(strips: Sequence[Strip], noun: str, planes: int) -> Iterator[str]:
    """Yield the shapes above the links: a square per switch and their number."""
    for strip in strips:
        words = plural(strip.count, noun)
        if planes > 1:
            letter = PLANE_LETTERS[strip.plane]
            words = f"{words}, plane {letter}" if strip.width > 130 else letter
        styles = [f"switch plane{strip.plane % COLORS}"] * len(strip.squares)
        row = draw_squares(strip.squares, strip.y + _SQUARES, strip.count, styles)
        label = draw_text(strip.x + strip.width / 2, strip.y + 20, words, "name", "middle")
        yield titled_group([*row, label], words)


def _between_strips(lower: Strip, uppers: Sequence[Strip]) -> Iterator[str]:
    """Yield the links of one plane's spines to its cores, as a bundle."""
    for upper in uppers:
        yield _draw_bundle(lower.x, lower.x + lower.width, lower.y, upper, lower.plane)


def _draw_bundle(start: float, right: float, low: float, upper: Strip, plane: int) -> str:
    """Return many links as one area from a row to the row above."""
    high = upper.y + _TIER - 8
    corners: list[Point] = [(start, low), (upper.x, high), (upper.x + upper.width, high), (right, low)]
    return draw_polygon(corners, f"bundle plane{plane % COLORS}")


def _draw_pod(
    fabric: Fabric, pod: Pod, x: float, width: float, spines: Sequence[Strip], y: float
) -> Iterator[str]:
    """Yield the units of a pod with their links up."""
    gaps = sum(1 for unit in pod.units if unit is None)
    shown = len(pod.units) - gaps
    dots = min(_ELLIPSIS, width / (shown + 1)) * gaps
    each = min(280.0, (width - dots - (len(pod.units) - 1) * _GAP) / shown)
    at = x + (width - each * shown - dots - (len(pod.units) - 1) * _GAP) / 2
    few = shown * fabric.shape.tors_per_unit * fabric.shape.spines <= _MOST_LINES
    for unit in pod.units:
        if unit is None:
            yield from _left_out(at, y + 70, dots, pod.left_out, "unit")
            at += dots + _GAP
            continue
        centres = _square_centers(at, each, unit.tors)
        yield draw_rect(at, y, each, HEIGHT - 4, "unit", 4)
        if few and len(centres) == unit.tors and all(strip.whole for strip in spines):
            yield from _single_links(len(fabric.planes), unit.links, centres, spines, y)
        else:
            for strip in spines:
                left, part = at + each * strip.plane / len(spines), each / len(spines)
                yield _draw_bundle(left, left + part, y, strip, strip.plane)
        yield unit_picture(fabric, unit, at, each, centres, y)
        at += each + _GAP


def _single_links(
    planes: int, parallel: int, centres: Sequence[float], spines: Sequence[Strip], y: float
) -> Iterator[str]:
    """Yield every link between a unit's ToRs and the spines of their planes; parallel ones as a thicker line."""
    width = "thick" if parallel > 1 else "thin"
    for strip in spines:
        pairs = [
            ((x, y + TORS), (spine, strip.y + _SQUARES + SQUARE))
            for number, x in enumerate(centres)
            if plane_of(number, centres, planes) == strip.plane
            for spine in strip.squares
        ]
        yield draw_lines(pairs, f"link {width} plane{strip.plane % COLORS}")


def _left_out(x: float, y: float, width: float, count: int, noun: str) -> Iterator[str]:
    yield draw_text(x + width / 2, y, "\N{MIDLINE HORIZONTAL ELLIPSIS}", "many", "middle")
    yield draw_text(x + width / 2, y + 22, f"{count:,} more", "small", "middle")
    yield draw_text(x + width / 2, y + 22 + _LINE, f"{noun}s" if count > 1 else noun, "small", "middle")


def draw_squares(centres: Sequence[float], y: float, count: int, styles: Sequence[str]) -> Iterator[str]:
    """Yield squares; if they represent more switches, three dots replace the middle one."""
    middle = len(centres) // 2 if len(centres) < count else -1
    for number, (x, style) in enumerate(zip(centres, styles, strict=True)):
        if number == middle:
            yield draw_text(x, y + 10, "\N{MIDLINE HORIZONTAL ELLIPSIS}", "dots", "middle")
        else:
            yield draw_rect(x - SQUARE / 2, y, SQUARE, SQUARE, style, 2)


def plane_of(number: int, centres: Sequence[float], planes: int) -> int:
    """Return the plane of a unit's ToR by its place in the row: plane by plane from the left."""
    return number * planes // len(centres)


def unit_picture(
    fabric: Fabric, unit: Unit, x: float, width: float, centres: Sequence[float], y: float
) -> str:
    """Return a unit with the squares of its ToRs at `centres`; its frame lies below the links and is drawn before."""
    boxes = _host_boxes(unit, x, width)
    styles = [
        f"switch plane{plane_of(at, centres, len(fabric.planes)) % COLORS}" for at in range(len(centres))
    ]
    most = max(4, int((width - 8) / LETTER))
    parts = [
        *_draw_links(boxes, centres, y, each=len(boxes) == len(unit.hosts) and len(centres) == unit.tors),
        *draw_squares(centres, y + TORS, unit.tors, styles),
        *_draw_hosts(unit, boxes, most, y),
        draw_text(x + width / 2, y + _NAME, shorten_text(unit.name, most), "name", "middle"),
    ]
    hosts, tors = plural(len(unit.hosts), "host"), plural(unit.tors, "ToR")
    return titled_group(parts, f"{unit.name}: {hosts}, {unit.gpus:,} GPUs, {tors}")


def _host_boxes(unit: Unit, x: float, width: float) -> list[tuple[float, float]]:
    """Return the left and right edge of every host, or of one box for all of them."""
    count = len(unit.hosts)
    each = (width - 16 - (count - 1) * 8) / count if count else 0
    if each < _NARROWEST:
        return [(x + 8, x + width - 8)]
    return [(x + 8 + number * (each + 8), x + 8 + number * (each + 8) + each) for number in range(count)]


def _draw_links(
    boxes: Sequence[tuple[float, float]], centres: Sequence[float], y: float, *, each: bool
) -> Iterator[str]:
    """Yield links between hosts and ToRs, each by itself or as a bundle."""
    top, bottom = y + TORS + SQUARE, y + _HOSTS
    if each:
        pairs = [(((left + right) / 2, bottom), (tor, top)) for left, right in boxes for tor in centres]
        yield draw_lines(pairs, "link thin host")
        return
    for left, right in boxes:
        ends: list[Point] = [(left, bottom), (centres[0] - 6, top), (centres[-1] + 6, top), (right, bottom)]
        yield draw_polygon(ends, "bundle host")


def _draw_hosts(unit: Unit, boxes: Sequence[tuple[float, float]], most: int, y: float) -> Iterator[str]:
    """Yield the boxes with the host's name without its unit, or with the numbers of hosts and GPUs."""
    single = len(boxes) == len(unit.hosts)
    for number, (left, right) in enumerate(boxes):
        middle = (left + right) / 2
        yield draw_rect(left, y + _HOSTS, right - left, _BOX, "host", 4)
        if single:
            name = unit.hosts[number].removeprefix(f"{unit.name}-")
            shown = shorten_text(name, int((right - left) / LETTER))
            yield draw_text(middle, y + _HOSTS + 24, shown, "small", "middle")
            continue
        for line, words in enumerate((plural(len(unit.hosts), "host"), f"{unit.gpus:,} GPUs")):
            yield draw_text(middle, y + _HOSTS + 17 + 16 * line, shorten_text(words, most), "small", "middle")


Point = tuple[float, float]


def format_number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def draw_rect(x: float, y: float, width: float, height: float, style: str, radius: float = 0) -> str:
    """Return a rectangle."""
    corners = f' rx="{format_number(radius)}"' if radius else ""
    size = f'width="{format_number(width)}" height="{format_number(height)}"'
    return f'<rect class="{style}" x="{format_number(x)}" y="{format_number(y)}" {size}{corners}/>'


def draw_text(x: float, y: float, content: str, style: str = "", anchor: str = "start") -> str:
    """Return a line of text; `content` is untrusted and gets escaped."""
    named = f' class="{style}"' if style else ""
    return (
        f'<text{named} x="{format_number(x)}" y="{format_number(y)}" '
        f'text-anchor="{anchor}">{escape_html(content)}</text>'
    )


def draw_polygon(points: Iterable[Point], style: str) -> str:
    """Return a filled area."""
    listed = " ".join(f"{format_number(x)},{format_number(y)}" for x, y in points)
    return f'<polygon class="{style}" points="{listed}"/>'


def draw_lines(pairs: Iterable[tuple[Point, Point]], style: str) -> str:
    """Return straight lines as one path."""
    path = "".join(
        f"M{format_number(ax)} {format_number(ay)}L{format_number(bx)} {format_number(by)}"
        for (ax, ay), (bx, by) in pairs
    )
    return f'<path class="{style}" d="{path}"/>' if path else ""


def titled_group(content: Sequence[str], title: str) -> str:
    """Return a group that shows its name under the pointer."""
    return f"<g><title>{escape_html(title)}</title>{''.join(content)}</g>"


def svg_document(
    key: str, width: float, height: float, title: str, words: str, content: Iterable[str]
) -> str:
    """Return the whole picture, with its name and a description for screen readers."""
    body = "\n".join(content)
    return (
        f'<svg class="topology" viewBox="0 0 {format_number(width)} {format_number(height)}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc">\n<title id="{key}-title">{escape_html(title)}</title>\n'
        f'<desc id="{key}-desc">{escape_html(words)}</desc>\n{body}\n</svg>'
    )
