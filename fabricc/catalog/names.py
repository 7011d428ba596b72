"""Suggest the catalog names closest to a mistyped name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 64
"""Longer words are not compared: no catalog name comes near, and comparing costs the product of both lengths."""


def suggest_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """The known names nearest to a mistyped one, best first, three at most.

    A name that contains the word, or is contained in it, counts as near (`7060x6` finds `7060x6-64pe`).
    """
    word = name.lower()
    if not word or len(word) > MAX_LENGTH:
        return ()
    known = sorted(names)
    near = get_close_matches(word, known, n=3, cutoff=0.7)
    parts = [other for other in known if len(word) >= 3 and (word in other or other in word)]
    return tuple(dict.fromkeys([*near, *parts]))[:3]


def suggestion_remedy(name: str, known: Iterable[str], otherwise: str = "", most: int = 3) -> str:
    """Return a remedy with the `most` nearest names; `otherwise` when none is similar."""
    near = get_close_matches(name, list(known), most)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A remedy such as "Did you mean `sn5600`?"; empty when nothing comes near."""
    near = suggest_names(name, names)
    return f"Did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else ""
