"""The few shapes that the topology picture is drawn with, as SVG text; colours come from the page's style by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import escape_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Point = tuple[float, float]


def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def rect(x: float, y: float, width: float, height: float, style: str, radius: float = 0) -> str:
    """Return a rectangle."""
    corners = f' rx="{number(radius)}"' if radius else ""
    size = f'width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{style}" x="{number(x)}" y="{number(y)}" {size}{corners}/>'


def text(x: float, y: float, content: str, style: str = "", anchor: str = "start") -> str:
    """Return a line of text; `content` may come from anyone."""
    named = f' class="{style}"' if style else ""
    return (
        f'<text{named} x="{number(x)}" y="{number(y)}" text-anchor="{anchor}">{escape_html(content)}</text>'
    )


def polygon(points: Iterable[Point], style: str) -> str:
    """Return a filled area."""
    listed = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polygon class="{style}" points="{listed}"/>'


def lines(pairs: Iterable[tuple[Point, Point]], style: str) -> str:
    """Return straight lines as one path."""
    path = "".join(f"M{number(ax)} {number(ay)}L{number(bx)} {number(by)}" for (ax, ay), (bx, by) in pairs)
    return f'<path class="{style}" d="{path}"/>' if path else ""


def titled(content: Sequence[str], title: str) -> str:
    """Return a group that shows its name under the pointer."""
    return f"<g><title>{escape_html(title)}</title>{''.join(content)}</g>"


def document(key: str, width: float, height: float, title: str, words: str, content: Iterable[str]) -> str:
    """Return the whole picture, with its name and a description for screen readers."""
    body = "\n".join(content)
    return (
        f'<svg class="topology" viewBox="0 0 {number(width)} {number(height)}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc">\n<title id="{key}-title">{escape_html(title)}</title>\n'
        f'<desc id="{key}-desc">{escape_html(words)}</desc>\n{body}\n</svg>'
    )
