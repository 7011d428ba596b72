"""The picture of thresholds: well-formed, in order from left to right, and legible at every scale."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fabricc.fabric.qos import Ecn
from fabricc.front.qos import build_worksheet, switch_qos
from fabricc.front.qos.plot import PANEL_HEIGHT, WIDTH, Panel, axis_ticks, draw_svg, panel_of, size_text
from tests.front.qos.published import make_sn5600
from tests.samples import CLASSES

SVG = "{http://www.w3.org/2000/svg}"


def text_places(picture: str) -> dict[str, float]:
    """Every text -> where its line stands, from the left."""
    return {t.text or "": float(t.get("x", "")) for t in ElementTree.fromstring(picture).iter(f"{SVG}text")}


def test_a_panel_names_every_threshold() -> None:
    links = {(400, 40): 128}
    qos, _, _ = switch_qos(CLASSES, make_sn5600(), links, 9216, 7709)
    rows = build_worksheet(qos, make_sn5600(), links, 9216, 7709)["400g-40m"]
    picture = draw_svg("zone <a>", [panel_of("tor0: 400g-40m", qos.profiles[0], rows)])
    named = text_places(picture)
    assert {
        "zone <a>",
        "tor0: 400g-40m",
        "BDP 385 kB",
        "Kmin 385 kB",
        "Kmax 852 kB, Pmax 20 %",
        "pause point 865 kB, headroom (xoff) 284 kB",
    } <= named.keys()


def test_without_marks_only_pause_and_headroom_are_shown() -> None:
    named = text_places(draw_svg("pfc", [Panel("p", None, 2_000_000, 300_000, 500_000)]))
    assert not [text for text in named if text.startswith("K")]
    assert "pause point 2 MB, headroom (xoff) 300 kB" in named


@given(
    st.lists(
        st.tuples(st.integers(1, 10**8), st.integers(1, 10**8), st.integers(1, 10**8), st.integers(0, 10**8)),
        min_size=1,
        max_size=4,
    )
)
def test_every_picture_is_well_formed_and_nothing_leaves_it(cases: list[tuple[int, int, int, int]]) -> None:
    panels = [
        Panel("p", Ecn(min(low, high), max(low, high), 20), max(low, high) + over, room, low)
        for low, high, over, room in cases
    ]
    tree = ElementTree.fromstring(draw_svg("title", panels))
    assert int(tree.get("height", "")) >= PANEL_HEIGHT * len(panels)
    for element in tree.iter():
        if (x := element.get("x")) is not None:
            assert 0 <= float(x) + float(element.get("width") or 0) <= WIDTH


@given(st.integers(1, 10**12))
def test_ticks_are_few_and_even(most: int) -> None:
    marks = axis_ticks(most)
    assert marks[0] == 0
    assert 2 <= len(marks) <= 9
    assert marks[-1] <= most
    assert {b - a for a, b in pairwise(marks)} == {marks[1]}
    assert str(marks[1]).rstrip("0") in {"1", "2", "5"}


def test_sizes_for_people() -> None:
    assert [size_text(value) for value in (0, 999, 1000, 852_480, 1_541_760)] == [
        "0 B",
        "999 B",
        "1 kB",
        "852 kB",
        "1.54 MB",
    ]
