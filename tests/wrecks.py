"""Texts that have broken readers before: fragments of YAML and INI, digits that are none, numbers without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

FRAGMENTS = (
    ": ", ":", "- ", "-", " ", "  ", "\t", "\r", "\n", "\0", "'", '"', "''", "{}", "[", "]", "{", "#", "=", ",", "|",
    "&a ", "*a", "? ", "! ", "%", "~", "null", "on", "0", "-1", "²", "٣", "9" * 25, "9" * 5000, "\ud800", "\x85",
    "\u2028", "\x1b[2J", "1-1023s0-1023x0-1023", "é",
)  # fmt: skip
"""`str.isdigit` takes the superscript for a digit, `int` does not, nor 5000 digits; the surrogate has no UTF-8."""


def draw_texts(words: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Any text, and text made of fragments and of words that a reader knows."""
    pieces = st.sampled_from([*FRAGMENTS, *words]) | st.text(
        st.characters(codec=None, categories=None), max_size=4
    )
    return st.lists(pieces, max_size=24).map("".join)


@st.composite
def draw_damaged(draw: st.DrawFn, text: str) -> str:
    """The text with up to four places cut, doubled or overwritten by a fragment."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        until = min(len(text), at + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from(FRAGMENTS) | st.just(text[at:until] * 2) | st.text(max_size=6))
        text = text[:at] + middle + text[until:]
    return text
