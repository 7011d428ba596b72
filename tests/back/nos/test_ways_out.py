"""Ways out on every operating system: what they add to its text, how it reads back, and what is proved of it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN, load
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.fabric.external import External
from fabricc.fabric.model import Direction
from fabricc.proof.invariants.rules import Ratio
from tests.outward import SPINE, TOR, outward_fabric, switch, switches
from tests.proof.fabrics import Fault, find_breaches

GOLDEN = Path(__file__).parent / "golden" / "ways_out"
RATIOS = {0: Ratio(Fraction(1))}
CASES = [(nos, name) for nos in sorted(BUILT_IN) for name in (TOR, SPINE)]
KEEPS_CODE_POINTS = {"cumulus", "frr", "junos", "sonic"}
"""Systems that put what arrives from outside into the default class, if at all, and cannot change its code point."""


def diff_of_ways_out(nos: str, name: str) -> str:
    """Return what the ways out of a switch change in its files."""
    built = outward_fabric(nos)
    at = next(at for at in built.switch_ids() if built.name(at) == name)
    texts = [load(nos).render(f.switch(at)) for f in (replace(built, external=External()), built)]
    lines = []
    for file in sorted(texts[1]):
        old, new = (text[file].splitlines() for text in texts)
        lines += [line for line in unified_diff(old, new, file, file, "", "", n=1, lineterm="") if line]
    return (
        "\n".join(line if line.startswith(("+++", "---")) else re.sub("^@@.*", "@@", line) for line in lines)
        + "\n"
    )


@pytest.mark.parametrize(("nos", "name"), CASES)
def test_the_text_is_the_golden_one(nos: str, name: str) -> None:
    golden, text = GOLDEN / f"{nos}-{'tor' if name == TOR else 'spine'}.diff", diff_of_ways_out(nos, name)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_the_files_state_exactly_the_planned_facts(nos: str) -> None:
    for each in switches(nos):
        reading = load(nos).read(load(nos).render(each))
        assert reading.facts == load(nos).planned(each)
        assert reading.unknown == []


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
@pytest.mark.parametrize("dual", [False, True])
def test_the_files_break_no_invariant(nos: str, dual: bool) -> None:
    assert find_breaches(outward_fabric(nos, dual=dual), Fault(), RATIOS) == []


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_system_reports_unsupported_external_marking(nos: str) -> None:
    for each in switches(nos):
        gaps = load(nos).gaps(each)
        assert list(find_unexpressed(each, load(nos), gaps)) == []
        output = {gap.code for gap in gaps if gap.feature == "marking of packets from outside"}
        wanted = {"frr": {"FAB5202"}}.get(nos, {"FAB5725"}) if nos in KEEPS_CODE_POINTS else set()
        assert output == wanted


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_no_password_stands_in_a_file(nos: str) -> None:
    text = "".join(load(nos).render(switch(nos, SPINE)).values())
    assert "FABRICC-SECRET-dc-core" in text


PAUSES = {
    "sonic": (r'"dscp_to_tc_map": "UNTRUSTED",', '"dscp_to_tc_map": "UNTRUSTED", "pfc_enable": "3",'),
    "eos": (
        r"(qos profile UNTRUSTED\n)",
        r"\1   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n",
    ),
    "nxos": (
        r"(interface Ethernet1/32\n(?:  .*\n)*?)  priority-flow-control mode off\n",
        r"\1  priority-flow-control mode on\n",
    ),
    "junos": (
        r"(        et-0/0/63 \{\n)(            scheduler.*\n.*\n) +forwarding-class FC-DEFAULT;\n",
        r"\1            congestion-notification-profile PFC-400G-40M;\n\2classifiers { dscp DSCP; }\n",
    ),
    "cumulus": (
        r"(          mapping:\n            profile: untrusted\n)",
        r"\1          pfc:\n            profile: roce-400g-40m\n",
    ),
}
TRUSTS = {
    "sonic": (r'("dscp_to_tc_map": )"UNTRUSTED"', r'\1"AZURE"'),
    "eos": (r"   no qos trust\n", "   qos trust dscp\n"),
    "nxos": (r"service-policy type qos input PM-UNTRUSTED", "service-policy type qos input PM-CLASSIFY"),
    "junos": (r"forwarding-class FC-DEFAULT;\n", "classifiers { dscp DSCP; }\n"),
    "cumulus": (
        r"          mapping:\n            profile: untrusted\n",
        "          pfc-watchdog:\n            state: disable\n",
    ),
}


def spine_fault(pattern: str, into: str) -> Fault:
    """A fault in the spine's text."""

    def edit(name: str, files: dict[str, str]) -> dict[str, str]:
        if name != SPINE:
            return files
        changed = {file: re.sub(pattern, into, text) for file, text in files.items()}
        assert changed != files, f"{pattern} is not in the files"
        return changed

    return Fault(edit=edit)


@pytest.mark.parametrize("nos", PAUSES)
def test_a_lossless_port_to_the_outside_is_caught(nos: str) -> None:
    port = next(p for p in switch(nos, SPINE).ports if p.direction is Direction.EXTERNAL)
    found = [
        f.message
        for f in find_breaches(outward_fabric(nos), spine_fault(*PAUSES[nos]), RATIOS)
        if f.code == "FAB6221"
    ]
    assert f"{SPINE}: {port.name} leads outside and is lossless, which the spec does not permit" in found


@pytest.mark.parametrize("nos", TRUSTS)
def test_a_trusted_port_to_the_outside_is_caught(nos: str) -> None:
    port = next(p for p in switch(nos, SPINE).ports if p.direction is Direction.EXTERNAL)
    found = [
        f.message
        for f in find_breaches(outward_fabric(nos), spine_fault(*TRUSTS[nos]), RATIOS)
        if f.code == "FAB6221"
    ]
    assert (
        f"{SPINE}: {port.name} leads outside and trusts the DSCP of its packets, which the spec does not permit"
        in found
    )
