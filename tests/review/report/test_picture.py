"""The topology picture: it shows what exists, nothing leaves the frame, and the words match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.review.report.picture import WIDTH, draw_picture
from fabricc.review.report.values import (
    count_cables,
    format_rate,
    format_ratio,
    format_span,
    shorten_text,
    switch_kinds,
)
from tests.review.report.specs import MIXED, MIXED_SPEEDS, SMALL, front_of
from tests.review.report.test_page import bench_spec

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

SPECS = {
    **SMALL,
    "mixed": MIXED,
    "speeds": MIXED_SPEEDS,
    "large": bench_spec(24_576),
    "largest": bench_spec(131_072),
}


@pytest.fixture(scope="module", params=SPECS)
def fabric(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    planned = front_of(tmp_path_factory.mktemp("spec"), SPECS[request.param]).fabric
    assert planned is not None
    return planned


def parse_picture(fabric: Fabric) -> ElementTree.Element:
    return ElementTree.fromstring(draw_picture(fabric, count_cables(switch_kinds(fabric))).svg)


def test_a_small_fabric_has_a_square_for_every_switch_and_a_large_one_no_more_than_fit(
    fabric: Fabric,
) -> None:
    counts = fabric.counts()
    switches = counts["tors"] + counts["spines"] + counts["cores"]
    squares = [rect for rect in parse_picture(fabric).iter("rect") if "switch" in rect.get("class", "")]
    assert len(squares) <= min(switches, 250)
    if switches <= 16:
        assert len(squares) == switches


def test_few_links_are_drawn_one_by_one(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, SMALL["single links"]).fabric
    assert fabric is not None
    paths = [p for p in parse_picture(fabric).iter("path") if "host" not in p.get("class", "")]
    assert sum(path.get("d", "").count("M") for path in paths) == fabric.counts()["spine_cables"]


def test_nothing_leaves_the_frame(fabric: Fabric) -> None:
    root = parse_picture(fabric)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert width == WIDTH
    for rect in root.iter("rect"):
        x, y, w, h = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= -3
        assert x + w <= width
        assert y + h <= height
        assert min(w, h) > 0
    for line in root.iter("text"):
        letters = len(line.text or "") * 7.5
        left = float(line.get("x", "")) - (letters / 2 if line.get("text-anchor") == "middle" else 0)
        assert left >= 0
        assert left + letters <= width + 4


def test_the_words_count_every_tier_and_every_kind_of_link(fabric: Fabric) -> None:
    shown = draw_picture(fabric, count_cables(switch_kinds(fabric)))
    text, counts = " ".join(shown.words), fabric.counts()
    for name, noun in (("hosts", "host"), ("tors", "ToR")):
        assert plural(counts[name], noun) in text
    for cable, count in count_cables(switch_kinds(fabric)).items():
        assert re.search(rf"{count:,} \S {cable.speed_gbps}G over {cable.medium}, {cable.length_m} m", text)
    root = ElementTree.fromstring(shown.svg)
    assert root.findtext("desc") == text
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "picture-title picture-desc"


def test_kinds_are_all_switches(fabric: Fabric) -> None:
    assert sum(kind.count for kind in switch_kinds(fabric)) == sum(1 for _ in fabric.switch_ids())
    assert count_cables(switch_kinds(fabric)).total() == sum(
        fabric.counts()[name] for name in ("host_cables", "spine_cables", "core_cables")
    )


def test_numbers_read_well() -> None:
    assert [format_rate(value) for value in (400, 12_800, 5_242_880)] == [
        "400 Gb/s",
        "12.8 Tb/s",
        "5.24 Pb/s",
    ]
    assert [format_share(share) for share in (1, 0.9999999, 0.5, 1e-9, 0)] == [
        "100 %", "over 99.99 %", "50 %", "under 0.01 %", "0 %",
    ]  # fmt: skip
    assert [format_ratio(value) for value in (1, 15, 16 / 15)] == ["1:1", "15:1", "1.07:1"]
    assert [plural(1, "class"), plural(2, "class"), plural(2048, "switch")] == [
        "1 class",
        "2 classes",
        "2,048 switches",
    ]
    assert shorten_text("a long name", 7) == "a long…"
    assert format_span(["a", "b", "c", "d"]) == "a … d"
