"""Segments on the systems that support them: the text, its reading, and foreign configurations."""

from __future__ import annotations

import os
from dataclasses import replace
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN, load
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.proof.invariants.rules import Ratio
from tests.proof.fabrics import Fault, find_breaches
from tests.segmented import EXPRESSED, SPINE, TOR, segmented_fabric, segmented_switch, segmented_switches

GOLDEN = Path(__file__).parent / "golden" / "segments"
RATIOS = {0: Ratio(Fraction(1))}
PASSED_ON = {"cumulus", "nxos", "sonic"}
"""Systems without segments whose switches between ToRs pass EVPN routes on."""


def diff_of_segments(nos: str, name: str) -> str:
    """Return what segments change in the files of a switch, whose ports to hosts are routed without."""
    built = segmented_fabric(nos, dual=True)
    at = next(at for at in built.switch_ids() if built.name(at) == name)
    texts = [load(nos).render(each.switch(at)) for each in (replace(built, evpn=None), built)]
    lines = []
    for file in sorted(texts[1]):
        old, new = (text[file].splitlines() for text in texts)
        lines += [line for line in unified_diff(old, new, file, file, "", "", n=1, lineterm="") if line]
    return "\n".join("@@" if line.startswith("@@") else line for line in lines) + "\n"


@pytest.mark.parametrize(("nos", "name"), [(nos, name) for nos in EXPRESSED for name in (TOR, SPINE)])
def test_the_text_is_the_golden_one(nos: str, name: str) -> None:
    golden, text = GOLDEN / f"{nos}-{'tor' if name == TOR else 'spine'}.diff", diff_of_segments(nos, name)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("nos", EXPRESSED)
@pytest.mark.parametrize("links", ["numbered", "unnumbered"])
def test_the_files_state_exactly_the_planned_facts(nos: str, links: str) -> None:
    for each in [
        *segmented_switches(nos),
        *(segmented_switch(nos, name, links=links) for name in (TOR, SPINE)),
    ]:
        reading = load(nos).read(load(nos).render(each))
        assert reading.facts == load(nos).planned(each)
        assert reading.unknown == []


@pytest.mark.parametrize("nos", EXPRESSED)
@pytest.mark.parametrize("dual", [False, True])
def test_the_files_break_no_invariant(nos: str, dual: bool) -> None:
    assert find_breaches(segmented_fabric(nos, dual=dual), Fault(), RATIOS) == []


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
@pytest.mark.parametrize("name", [TOR, SPINE])
def test_system_without_segments_reports_a_gap(nos: str, name: str) -> None:
    each = segmented_switch(nos, name)
    gaps = load(nos).gaps(each)
    assert list(find_unexpressed(each, load(nos), gaps)) == []
    reported = {gap.code for gap in gaps if gap.feature == "EVPN-VXLAN" and gap.fatal}
    has = nos in EXPRESSED or (nos in PASSED_ON and name == SPINE)
    assert reported == (set() if has else {"FAB5830"})


@pytest.mark.parametrize("nos", sorted(PASSED_ON))
def test_a_switch_between_tors_reads_back_to_its_plan(nos: str) -> None:
    each = segmented_switch(nos, SPINE)
    reading = load(nos).read(load(nos).render(each))
    assert reading.facts == load(nos).planned(each)
    assert {path for path in reading.facts if path.startswith("evpn/")}
