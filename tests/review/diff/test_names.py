from __future__ import annotations

import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics.wording import ranges
from fabricc.review.diff.phrases import fold_names


def expand_names(text: str) -> set[str]:
    """Every name of folded text."""
    found = set()
    for part in text.split(", "):
        pieces = re.split(r"\[(\d+)-(\d+)\]", part)
        fixed, ranges = pieces[::3], list(zip(pieces[1::3], pieces[2::3], strict=True))
        for numbers in product(*(range(int(a), int(b) + 1) for a, b in ranges)):
            widths = [len(a) for a, _ in ranges]
            texts = [f"{n:0{w}d}" for n, w in zip(numbers, widths, strict=True)]
            found.add("".join(a + b for a, b in zip(fixed, [*texts, ""], strict=True)))
    return found


def test_two_numbers_fold_to_one_pattern() -> None:
    names = [f"su{unit:03d}-tor{tor}a" for unit in range(1, 5) for tor in range(1, 9)]
    assert fold_names(names) == "su[001-004]-tor[1-8]a"


def test_fold_names_separates_planes_and_gaps() -> None:
    assert fold_names(["spine01a", "spine01b", "spine02a", "spine04a"]) == "spine[01-02]a, spine04a, spine01b"


def test_fold_names_counts_omitted_names() -> None:
    assert fold_names([f"n{2 * i}" for i in range(10)], 3) == "n0, n2, n4 and 7 more"


@given(st.sets(st.tuples(st.integers(1, 20), st.integers(1, 9)), min_size=1))
def test_folding_loses_and_invents_no_name(pairs: set[tuple[int, int]]) -> None:
    names = {f"rack{a:03d}-tor{b}a" for a, b in pairs}
    assert expand_names(fold_names(sorted(names), 1000)) == names


def test_numbers_are_listed_in_runs() -> None:
    assert ranges([7, 0, 1, 2]) == "0-2, 7"
