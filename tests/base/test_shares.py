"""Shares of capacity look the same everywhere, because one function formats them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.base.diagnostics.wording import format_share, format_share_option

ROOT = Path(__file__).parents[2]
OWNER = ROOT / "fabricc" / "base" / "diagnostics" / "wording.py"
PERCENT = re.compile(
    r"""
    :[.,0-9]*[fg]\}\s?%             # {share:.1f} %
    | :[.,0-9]*%\}                  # {share:.0%}
    | \*\s?100(?:\.0)?\)            # int(share * 100)
    | \b100\s?\*\s?float\(          # 100 * float(share)
    """,
    re.VERBOSE,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(1), "100 %"),
        (Fraction(15, 16), "93.75 %"),
        (Fraction(2, 3), "66.66 %"),
        (Fraction(7, 8), "87.5 %"),
        (Fraction(1, 2), "50 %"),
        (Fraction(0), "0 %"),
        (Fraction(999_999, 1_000_000), "over 99.99 %"),
        (Fraction(9999, 10_000), "99.99 %"),
        (Fraction(1, 1_000_000), "under 0.01 %"),
    ],
)
def test_a_share_is_rounded_down_and_a_part_is_neither_all_nor_nothing(share: Fraction, text: str) -> None:
    assert format_share(share) == text


@pytest.mark.parametrize("share", [Fraction(2, 3), Fraction(1, 7), Fraction(3, 4), Fraction(1), Fraction(0)])
def test_share_option_never_exceeds_the_share(share: Fraction) -> None:
    assert Fraction(format_share_option(share).rstrip("%")) / 100 <= share


def test_only_one_module_formats_shares() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "fabricc").rglob("*.py"))
        if path != OWNER
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PERCENT.search(line)
    ]
    assert found == []
    assert len(re.findall(r"^def format_share\b", OWNER.read_text("utf-8"), re.MULTILINE)) == 1
