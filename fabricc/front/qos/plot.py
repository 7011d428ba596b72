"""Thresholds against buffer occupancy as a picture: one panel per kind of lossless port, as SVG text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import escape_html
from fabricc.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fabricc.fabric.qos import Ecn, PortProfile
    from fabricc.front.qos.worksheet import Row

WIDTH, PANEL_HEIGHT, HEADER_HEIGHT = 960, 268, 74
_LEFT, _RIGHT = 64, 32
_TOP, _DEPTH = 106, 110  # of the plotting area within a panel
_SPAN = WIDTH - _LEFT - _RIGHT
_MOST_TICKS = 8
_INK, _FAINT, _FREE, _MARK, _FULL, _PAUSE, _ROOM = (
    "#1f2933", "#8a96a3", "#e6f2ea", "#f2b134", "#f7dca0", "#c0392b", "#f0c4bd",
)  # fmt: skip

_RISE, _PAPER = "#a86d00", "#ffffff"
THEME = {
    "ink": _INK, "faint": _FAINT, "free": _FREE, "mark": _MARK, "full": _FULL, "pause": _PAUSE, "room": _ROOM,
    "rise": _RISE, "paper": _PAPER,
}  # fmt: skip
"""Colours by name; a page that holds a panel sets them by custom properties, `--plot-ink` and so on."""
_SUBTITLE = "Marking probability against occupancy of a lossless queue, all queues as full"


@dataclass(frozen=True, slots=True)
class Panel:
    """The content of one picture, bytes.

    Attributes:
        title: where such ports are.
        ecn: None where nothing is marked.
        pause_bytes: occupancy at which the ingress pauses, with every lossless queue as full.
        headroom_bytes: what still arrives after that, xoff of one priority group.
        bdp_bytes: bandwidth-delay product of the longest path.
    """

    title: str
    ecn: Ecn | None
    pause_bytes: int
    headroom_bytes: int
    bdp_bytes: int


def panel_of(title: str, profile: PortProfile, rows: Iterable[Row]) -> Panel:
    """Return the panel of a profile and its worksheet."""
    limit, xoff = ("pause point", profile.headroom.xoff_bytes) if profile.headroom else ("drop point", 0)
    steps = {row.label: int(row.value) for row in rows if row.label in (limit, "BDP")}
    return Panel(title, profile.ecn, steps[limit], xoff, steps["BDP"])


def draw_svg(title: str, panels: Sequence[Panel]) -> str:
    """Return the picture of these panels, one below the other, each with its own scale."""
    height = HEADER_HEIGHT + PANEL_HEIGHT * len(panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _draw_text(_LEFT, 32, title, size=18, weight="bold"),
        _draw_text(_LEFT, 54, _SUBTITLE, fill=_FAINT),
    ]
    for index, panel in enumerate(panels):
        lines.append(f'<g transform="translate(0 {HEADER_HEIGHT + index * PANEL_HEIGHT})">')
        lines += _draw_panel(panel)
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def panel_svg(panel: Panel, key: str) -> str:
    """Return one panel, without its title, for an HTML page under the identifier `key`."""
    body = "\n".join(_draw_panel(replace(panel, title="")))
    for name, color in THEME.items():
        body = body.replace(f'"{color}"', f'"var(--plot-{name}, {color})"')
    return (
        f'<svg class="plot" viewBox="0 28 {WIDTH} {PANEL_HEIGHT - 28}" role="img" aria-labelledby="{key}-title">'
        f'<title id="{key}-title">{escape_html(panel.title)}</title>\n{body}\n</svg>'
    )


def axis_ticks(most: int) -> list[int]:
    """Round numbers from 0 to `most`, in steps of 1, 2 or 5 times a power of ten, eight steps at most."""
    steps = (factor * 10**power for power in count() for factor in (1, 2, 5))
    step = next(step for step in steps if most // step <= _MOST_TICKS)
    return list(range(0, most + 1, step))


def size_text(value: int) -> str:
    """Return bytes for people, in decimal units: `850 KB`, `1.5 MB`."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g} MB"
    return f"{value / 1000:.3g} kB" if value >= 1000 else f"{value} B"


def _draw_panel(panel: Panel) -> Iterator[str]:
    end = panel.pause_bytes + panel.headroom_bytes
    most = max(1, end, panel.bdp_bytes) * 104 // 100
    base = _TOP + _DEPTH

    def x(value: int) -> float:
        return round(_LEFT + _SPAN * value / most, 1)

    yield _draw_text(_LEFT, 24, panel.title, size=15, weight="bold")
    yield _draw_band(x(0), x(panel.pause_bytes), _FREE)
    yield _draw_band(x(panel.pause_bytes), x(end), _ROOM)
    if panel.ecn is not None:
        yield from _draw_curve(panel.ecn, x(panel.pause_bytes), x)
    yield f'<path d="M{_LEFT} {_TOP}V{base}H{WIDTH - _RIGHT}" fill="none" stroke="{_INK}"/>'
    for percent in (0, 50, 100):
        y = base - _DEPTH * percent // 100
        yield f'<path d="M{_LEFT - 4} {y}h4" stroke="{_INK}"/>'
        yield _draw_text(_LEFT - 8, y + 4, f"{percent} %", anchor="end", size=11, fill=_FAINT)
    for tick in axis_ticks(most):
        yield f'<path d="M{x(tick)} {base}v5" stroke="{_INK}"/>'
        yield _draw_text(
            x(tick), base + 19, size_text(tick) if tick else "0", anchor="middle", size=11, fill=_FAINT
        )
    yield from _draw_labels(panel, x(panel.bdp_bytes), x)


def _draw_curve(ecn: Ecn, stop: float, x: Callable[[int], float]) -> Iterator[str]:
    """Yield the probability: none below Kmin, rising to Pmax at Kmax, all packets above."""
    low, high = x(ecn.min_bytes), x(ecn.max_bytes)
    base = _TOP + _DEPTH
    rise = round(base - _DEPTH * ecn.max_percent / 100, 1)
    yield f'<path d="M{low} {base}L{high} {rise}V{base}Z" fill="{_MARK}" fill-opacity="0.75"/>'
    yield _draw_band(high, stop, _FULL)
    line = f"M{_LEFT} {base}H{low}L{high} {rise}V{_TOP}H{stop}"
    yield f'<path d="{line}" fill="none" stroke="{_RISE}" stroke-width="2"/>'


def _draw_labels(panel: Panel, bdp: float, x: Callable[[int], float]) -> Iterator[str]:
    """Vertical lines with their names, one row each so that near ones stay legible."""
    named: list[tuple[float, str, str]] = [(bdp, f"BDP {size_text(panel.bdp_bytes)}", _FAINT)]
    if panel.ecn is not None:
        low, high, percent = panel.ecn.min_bytes, panel.ecn.max_bytes, panel.ecn.max_percent
        named.append((x(low), f"Kmin {size_text(low)}", _RISE))
        named.append((x(high), f"Kmax {size_text(high)}, Pmax {percent} %", _RISE))
    pause = f"pause point {size_text(panel.pause_bytes)}, headroom (xoff) {size_text(panel.headroom_bytes)}"
    named.append((x(panel.pause_bytes), pause, _PAUSE))
    for row, (at, _, color) in enumerate(named):
        dash = ' stroke-dasharray="4 3"' if row == 0 else ""
        line = f"M{at} {_label_y(row) - 9}V{_TOP + _DEPTH}"
        yield f'<path d="{line}" stroke="{color}" stroke-width="1.5"{dash}/>'
    for row, (at, text, color) in enumerate(named):
        late = at > _LEFT + 0.55 * _SPAN
        place, anchor = (at - 6, "end") if late else (at + 6, "start")
        yield _draw_text(place, _label_y(row), text, anchor=anchor, fill=color)


def _label_y(row: int) -> int:
    return 44 + 16 * row


def _draw_band(start: float, right: float, color: str) -> str:
    width = round(max(0.0, right - start), 1)
    return f'<rect x="{start}" y="{_TOP}" width="{width}" height="{_DEPTH}" fill="{color}"/>'


def _draw_text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    anchor: str = "start",
    fill: str = _INK,
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}" stroke="{_PAPER}" stroke-width="3" paint-order="stroke">{escape_html(text)}</text>'
    )
