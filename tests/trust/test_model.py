"""The threat model names its proofs: each is there, and has tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text("utf-8")


def test_every_threat_names_tests_that_exist() -> None:
    rows = [line for line in PAGE.partition("## Where state lives")[0].split("\n") if line.startswith("| ")][
        2:
    ]
    assert len(rows) > 10
    for row in rows:
        paths = re.findall(r"`(tests/[\w/.]+)`", row.split("|")[-2])
        assert paths, f"no test shows: {row}"
        for path in paths:
            assert "def test_" in (ROOT / path).read_text("utf-8"), path


def test_files_that_the_page_names_exist() -> None:
    for path in re.findall(r"`(fabricc/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_the_page_is_found_from_where_people_begin() -> None:
    for page, link in (("README.md", "docs/security.md"), ("docs/architecture.md", "security.md")):
        assert f"]({link})" in (ROOT / page).read_text("utf-8"), page
    assert "](docs/security.md)" in (ROOT / "SECURITY.md").read_text("utf-8")
