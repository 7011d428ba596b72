"""Suggest the catalog names closest to a mistyped name, or to one as a maker prints it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from fabricc.catalog.library import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_LENGTH = 64
"""Longer words are not compared: no catalog name comes near, and comparing costs the product of both lengths."""


def suggest_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the known names nearest to a mistyped one, best first, three at most.

    A name that contains the word, or is contained in it, counts as near (`7060x6` finds `7060x6-64pe`).
    """
    word = name.lower()
    if not word or len(word) > MAX_LENGTH:
        return ()
    known = sorted(names)
    near = get_close_matches(word, known, n=3, cutoff=0.7)
    parts = [other for other in known if len(word) >= 3 and (word in other or other in word)]
    return tuple(dict.fromkeys([*near, *parts]))[:3]


_LEAST_PRINTED = 5
"""Letters and digits of a name that is looked for in a part number; shorter ones are in too many of them."""


@cache
def list_built_in(section: str) -> tuple[str, ...]:
    """Return the names of the built-in models of a section, such as `switches`."""
    return tuple(sorted(path.stem for path in (MODELS / section).glob("*.yaml")))


def find_printed_name(printed: str, names: Iterable[str]) -> str:
    """Return the name that a maker's part number contains, such as `DCS-7060X6-64PE-F`; the longest, or ""."""
    if len(printed) > MAX_LENGTH:
        return ""
    text = _keep_letters_and_digits(printed)
    known = [(name, _keep_letters_and_digits(name)) for name in names]
    return max(
        (name for name, word in known if len(word) >= _LEAST_PRINTED and word in text), key=len, default=""
    )


def find_titled_name(word: str, titles: Mapping[str, str]) -> str:
    """Return the name of the only model whose title contains a word, such as the chip of a NIC; else ""."""
    text = _keep_letters_and_digits(word)
    found = [name for name, title in titles.items() if text in _keep_letters_and_digits(title)]
    return found[0] if len(found) == 1 and len(text) >= _LEAST_PRINTED else ""


def _keep_letters_and_digits(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


def suggestion_remedy(name: str, known: Iterable[str], otherwise: str = "", most: int = 3) -> str:
    """Return a remedy with the `most` nearest names; `otherwise` when none is similar."""
    near = get_close_matches(name, list(known), most)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a remedy such as "Did you mean `sn5600`?"; empty when nothing comes near."""
    near = suggest_names(name, names)
    return f"Did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else ""
