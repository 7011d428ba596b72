"""Numbers and lists of names as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

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
