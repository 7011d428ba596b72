"""The page of features equals the answers of the back ends; `UPDATE_GOLDEN=1` writes it again."""

from __future__ import annotations

import os

import pytest

from fabricc.cli.reference import FEATURES
from tests.back.nos.feature_table import make_table


@pytest.mark.slow
def test_the_table_of_features_is_true() -> None:
    text = FEATURES.read_text("utf-8")
    lead = text.partition("\n| ")[0]
    now = "\n".join([lead, *make_table()]) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        FEATURES.write_text(now, "utf-8")
    else:
        assert now == text
