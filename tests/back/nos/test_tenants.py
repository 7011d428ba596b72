"""Tenants on the systems that support them: the text, its reading, and foreign configurations."""

from __future__ import annotations

import os
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN, load
from fabricc.compiler.render.overlays import find_unexpressed
from tests.tenanted import EXPRESSED, SPINE, TOR, fabric, switch, switches

GOLDEN = Path(__file__).parent / "golden" / "tenants"


def added_text(nos: str, *, spines: bool) -> str:
    """Return what tenants change in the files of a ToR."""
    built = fabric(nos, dual=True, spines=spines)
    at = next(iter(built.switch_ids()))
    texts = [load(nos).render(each.switch(at)) for each in (replace(built, tenancy=None), built)]
    lines = []
    for file in sorted(texts[1]):
        old, new = (text[file].splitlines() for text in texts)
        lines += [line for line in unified_diff(old, new, file, file, "", "", n=1, lineterm="") if line]
    return "\n".join("@@" if line.startswith("@@") else line for line in lines) + "\n"


@pytest.mark.parametrize(
    ("nos", "spines"), [*((nos, True) for nos in EXPRESSED), *((nos, False) for nos in EXPRESSED)]
)
def test_the_text_is_the_golden_one(nos: str, spines: bool) -> None:
    golden, text = GOLDEN / f"{nos}-{'tunnels' if spines else 'plain'}.diff", added_text(nos, spines=spines)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("nos", EXPRESSED)
def test_the_files_state_exactly_the_planned_facts(nos: str) -> None:
    for each in switches(nos):
        reading = load(nos).read(load(nos).render(each))
        assert reading.facts == load(nos).planned(each)
        assert reading.unknown == []
        if "evpn/route_targets" in reading.facts:
            assert reading.lines["evpn/route_targets"][1] > 0


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_every_system_writes_them_whole(nos: str) -> None:
    for each in (switch(nos, TOR), switch(nos, SPINE)):
        gaps = load(nos).gaps(each)
        assert [gap.code for gap in gaps if gap.code == "FAB3300"] == []
        assert list(find_unexpressed(each, load(nos), gaps)) == []


def test_junos_rejects_what_the_design_of_its_maker_does_not_have() -> None:
    """Sessions between loopbacks have another TTL, and older switches other lines; no spec can accept that."""
    spine = switch("junos", SPINE)
    secured = replace(spine, bgp=replace(spine.bgp, ttl_security=True))
    classic = {**spine.model.nos["junos"], "flavour": "classic"}
    older = replace(spine, model=replace(spine.model, nos={**spine.model.nos, "junos": classic}))
    for each in (secured, older):
        assert [gap.fatal for gap in load("junos").gaps(each) if gap.code == "FAB3300"] == [True]


@pytest.mark.parametrize("release", ["5.18", "5.19"])
def test_cumulus_needs_no_vlan_for_a_vrf_from_5_19_on(release: str) -> None:
    tor = replace(switch("cumulus", TOR), release=release)
    files = load("cumulus").render(tor)
    reading = load("cumulus").read(files)
    assert reading.facts == load("cumulus").planned(tor)
    assert reading.unknown == []
    (text,) = files.values()
    assert ("l3vxi:" in text) is (release == "5.19")
    assert ("l3-vni-vlan:" in text) is (release == "5.18")
