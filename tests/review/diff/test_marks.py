"""Code points that change their class: a loss, unless the spec states that no sender uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff.model import Impact
from tests.outward import MODELS, spec_text
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Review

MARKED = "{code: FAB5725, reason: the far end clears code points}"
RDMA = "rdma: {dscp: 26, lossless: true"


def review_class(folder: Path, nos: str, before: str, after: str) -> Review:
    """Return what becomes of a fabric whose class for RDMA changes."""
    paths = []
    for side, dscp in (("base", before), ("head", after)):
        path = folder / side / "cluster.yaml"
        path.parent.mkdir()
        text = spec_text(nos).replace("accept: [{", f"accept: [{MARKED}, {{")
        assert RDMA in text
        path.write_text(text.replace(RDMA, f"rdma: {{dscp: {dscp}, priority: 3, lossless: true"))
        paths.append(path)
    return compare_specs(paths[0], paths[1])


@pytest.mark.spread
@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("26", "[26, 34], sends: 26"),
        ("[26, 34], sends: 26", "[26, 34], sends: 34"),
        ("[26, 34], sends: 34", "34"),
        ("[26, 34], sends: 34", "[34, 40], sends: 34"),
    ],
)
def test_unsent_code_points_are_hitless(tmp_path: Path, nos: str, before: str, after: str) -> None:
    review = review_class(tmp_path, nos, before, after)
    assert review.differs
    assert (review.impact, review.gpus_affected) == (Impact.HITLESS, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("26", "34"),
        ("[26, 34]", "34"),
        ("[26, 34], sends: 26", "34"),
        ("[26, 34], sends: 34", "26"),
        ("[26, 34, 40], sends: 34", "[26, 40], sends: 26"),
    ],
)
@pytest.mark.spread
def test_sent_code_points_are_rated_as_traffic_loss(tmp_path: Path, before: str, after: str) -> None:
    review = review_class(tmp_path, "sonic", before, after)
    assert (review.impact, review.gpus_affected) == (Impact.TRAFFIC_LOSS, 16)
