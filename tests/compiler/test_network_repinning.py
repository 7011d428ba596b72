"""`--repin` by name reaches the pins of a further network, and leaves those of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc import compile_spec
from fabricc.base.diagnostics import Severity
from tests.compiler.test_hosts_of_networks import HEAD, STORAGE
from tests.compiler.test_networks import compile_text, find_codes

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

BEFORE = STORAGE[: STORAGE.index("    groups")]
"""Storage of GPU hosts alone; with the nodes, the ToR of a rack has twice as many cages for hosts."""


@pytest.fixture
def outgrown(tmp_path: Path) -> Compiled:
    few = compile_text(tmp_path, HEAD + BEFORE)
    few.lock_path.write_text(few.lock_text)
    found = compile_text(tmp_path, HEAD + STORAGE)
    assert find_codes(found) == ["FAB3020"]
    return found


@pytest.mark.parametrize(
    "keys",
    [("network storage stride tor_up_cage",), ("network storage tor_up_cage",), ("network storage",), ()],
)
def test_a_pin_of_a_network_is_repinned_by_name(outgrown: Compiled, keys: tuple[str, ...]) -> None:
    found = compile_spec(outgrown.path, repin=keys)
    assert find_codes(found) == []
    before, after = ({*text.splitlines()} for text in (outgrown.lock_path.read_text(), found.lock_text))
    changed = {line.rpartition(" ")[0] for line in before - after}
    assert changed == {"network storage stride tor_up_cage"}
    reported = [each.message for each in found.diagnostics if each.code == "FAB3037"]
    assert len(reported) == 1
    assert reported[0].startswith("storage: --repin changes tor_up_cage")


def test_insufficient_repin_names_the_sufficient_pins(outgrown: Compiled) -> None:
    found = compile_spec(outgrown.path, repin=["network storage stride rail"])
    (refused,) = [each for each in found.diagnostics if each.code == "FAB3035"]
    words = [word.split('"')[0] for word in refused.help.split('--repin="')[1:]]
    assert words == ["network storage stride tor_up_cage", "network storage"]
    for word in words:
        assert find_codes(compile_spec(outgrown.path, repin=[word])) == []


@pytest.mark.parametrize(
    ("key", "reported"),
    [
        ("network storage stride tor_up", "storage: the lock has no pin 'tor_up'"),
        ("network storage unit gpus/su001", "storage: 'unit gpus/su001' is the place of a unit"),
        ("network vault stride rail", "the lock has no network 'vault'"),
    ],
)
def test_names_that_are_no_pins_are_refused(outgrown: Compiled, key: str, reported: str) -> None:
    found = compile_spec(outgrown.path, repin=[key])
    assert [each.message.startswith(reported) for each in found.diagnostics if each.code == "FAB3036"] == [
        True
    ]
    assert not found.sound


def test_a_pin_of_the_rails_leaves_those_of_networks(outgrown: Compiled) -> None:
    found = compile_spec(outgrown.path, repin=["unit"])
    assert find_codes(found) == ["FAB3020"]
    reported = [each for each in found.diagnostics if each.code == "FAB3038"]
    assert [each.severity for each in reported] == [Severity.NOTE]
