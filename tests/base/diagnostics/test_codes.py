"""Every code that the package uses has a title, and every title belongs to a code that it uses."""

from __future__ import annotations

import re
from pathlib import Path

import fabricc
from fabricc.base.diagnostics import TITLES

PACKAGE = Path(fabricc.__file__).parent


def codes_in_use() -> dict[str, str]:
    """Code -> a file that names it."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {code: path.name for path in files for code in re.findall(r"FAB[0-9]{4}", path.read_text("utf-8"))}


def test_every_code_used_has_a_title() -> None:
    assert {code: file for code, file in codes_in_use().items() if code not in TITLES} == {}


def test_every_title_is_of_a_code_used() -> None:
    assert TITLES.keys() - codes_in_use().keys() == set()


def test_each_code_has_one_line_in_order_and_a_title_of_its_own() -> None:
    lines = (PACKAGE / "base/diagnostics/codes.txt").read_text("utf-8").splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == sorted(TITLES)
    titles = {(code[:5], title) for code, title in TITLES.items()}
    assert len(titles) == len(TITLES)
