"""Links between two ToRs on every operating system: their text, how it reads back, and what is proved of it."""

from __future__ import annotations

import os
import re
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN, load
from fabricc.proof.invariants.rules import Ratio
from tests.paired import APART, RACKS, paired_fabric, paired_switches
from tests.proof.fabrics import Fault, change_files, find_breaches

GOLDEN = Path(__file__).parent / "golden" / "peer_links"
RATIOS = {1: Ratio(Fraction(1))}
"""Without spines a ToR declares no ratio."""


def diff_of_peer_links(nos: str) -> str:
    """Return what the links between two ToRs change in the files of the first one."""
    texts = [
        load(nos).render(paired_switches(nos, **words)[0]) for words in ({"peers": 0, "wiring": APART}, {})
    ]
    lines = []
    for file in sorted(texts[1]):
        old, new = (text[file].splitlines() for text in texts)
        lines += [line for line in unified_diff(old, new, file, file, "", "", n=1, lineterm="") if line]
    return (
        "\n".join(line if line.startswith(("+++", "---")) else re.sub("^@@.*", "@@", line) for line in lines)
        + "\n"
    )


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_the_text_is_the_golden_one(nos: str) -> None:
    golden, text = GOLDEN / f"{nos}-tor.diff", diff_of_peer_links(nos)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_the_files_state_exactly_the_planned_facts(nos: str) -> None:
    for each in paired_switches(nos):
        reading = load(nos).read(load(nos).render(each))
        assert reading.facts == load(nos).planned(each)
        assert reading.unknown == []


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"wiring": RACKS, "hosts": 4},
        {"family": "dual"},
        {"family": "ipv6", "links": "unnumbered"},
        {"more": "overrides: {su001-tor1a: {drain: true}}"},
    ],
    ids=["rails", "racks", "dual", "unnumbered", "drained"],
)
def test_the_files_break_no_invariant(nos: str, words: dict[str, object]) -> None:
    assert find_breaches(paired_fabric(nos, **words), Fault(), RATIOS) == []


FAULTS = [
    pytest.param(
        "su001-tor.a",
        r"OWN-V4 seq 5 permit \S+",
        "OWN-V4 seq 5 permit 0.0.0.0/0 le 32",
        "FAB6210",
        id="passed-on",
    ),
    pytest.param(
        "su001-tor1a", "route-map TO-PEER permit 20", "route-map TO-PEER deny 20", "FAB6209", id="no-routes"
    ),
    pytest.param("su001-tor1a", r"router bgp \d+", "router bgp 64999", "FAB6101", id="another-as"),
]


@pytest.mark.parametrize(("devices", "pattern", "into", "code"), FAULTS)
def test_a_fault_on_the_links_is_found(devices: str, pattern: str, into: str, code: str) -> None:
    found = find_breaches(paired_fabric("frr"), change_files(devices, (pattern, into)), RATIOS)
    assert code in {each.code for each in found}


def test_pfc_at_one_end_alone_is_found() -> None:
    tables = change_files("su001-tor2a", (r'"pfc_enable": "3"', '"pfc_enable": ""'))
    found = find_breaches(paired_fabric("sonic"), tables, RATIOS)
    assert any("PFC" in each.message and "su001-tor1a" in each.message for each in found)
