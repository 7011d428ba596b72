"""The few shapes that the topology picture is drawn with, as SVG text; colors come from the page's style by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import escape_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    """Return a line of text; `content` may come from anyone."""
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
