"""Names of a megabyte, as somebody else's device may have them, cost linear time."""

from __future__ import annotations

import pytest

from fabricc.audit.adopt.groups import _name_stems


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a" * 1_000_000, []), ("a" * 999_999 + "7", ["a" * 999_999]), ("su1-gpu-07", ["gpu"])],
)
def test_the_stem_of_a_name_is_found_in_one_pass(name: str, expected: list[str]) -> None:
    assert _name_stems(name) == expected
