"""The table in docs/settings.md equals the answers of the back ends."""

from __future__ import annotations

from pathlib import Path

from tests.back.nos.feature_table import table

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
BEGIN, END = "<!-- python -m tests.back.nos.feature_table -->\n", "<!-- end -->\n"


def test_the_table_of_features_is_true() -> None:
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written.strip().split("\n") == list(table()), (
        "put what `python -m tests.back.nos.feature_table` prints into docs/settings.md"
    )
