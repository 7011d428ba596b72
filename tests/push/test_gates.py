"""What stops a push, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.push.gates import complaints
from tests.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.model import Switch


@pytest.fixture
def spine(tmp_path: Path) -> Switch:
    fabric = specs.source(specs.two_tiers(tmp_path)).fabric
    return fabric.switch(next(at for at in fabric.switch_ids() if fabric.name(at) == "spine01a"))


def test_a_session_that_was_up_must_be_up_also_to_a_switch_that_changes_later(spine: Switch) -> None:
    first = spine.bgp.sessions[0]
    before = {"sessions": {session.remote: [True, 4] for session in spine.bgp.sessions}}
    now = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert complaints(spine, before, before, (), (), errors=0, widths=True) == []
    later = {first.peer}
    assert len(complaints(spine, before, now, (), later, errors=0, widths=True)) == 1
    assert complaints(spine, before, now, later, later, errors=0, widths=True) == [], (
        "both ends must agree first"
    )
    down = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert complaints(spine, down, down, (), (), errors=0, widths=True) == [], "it was down before"


def test_a_new_session_must_come_up_once_both_ends_have_it(spine: Switch) -> None:
    first, *others = spine.bgp.sessions
    before = {"sessions": {session.remote: [True, 4] for session in others}}
    now = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert complaints(spine, before, now, (), {first.peer}, errors=0, widths=True) == []
    assert len(complaints(spine, before, now, (), (), errors=0, widths=True)) == 1


def test_fewer_prefixes_fewer_next_hops_and_more_errors_are_told(spine: Switch) -> None:
    up = {session.remote: [True, 10] for session in spine.bgp.sessions}
    before = {"sessions": up, "widths": {"10.0.0.0/30": 2}, "errors": {}}
    few = {**up, spine.bgp.sessions[0].remote: [True, 8]}
    now = {"sessions": few, "widths": {"10.0.0.0/30": 1}, "errors": {"swp1": 7}}
    assert len(complaints(spine, before, now, (), (), errors=6, widths=True)) == 3
    assert len(complaints(spine, before, now, (), (), errors=7, widths=False)) == 1
