"""Whatever is altered in a rendered configuration, checking it names the line: a word, a missing line, two swapped."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.nxos import FILE, NXOS
from fabricc.proof.compare import compare
from tests.back.nos.mutation import change_each_word
from tests.back.nos.nxos.variants import variant

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts

MUTATED = ["cloudscale/settings", "cloudscale/dual-unnumbered", "silicon-one/drained", "cloudscale/lossy"]


def is_equivalent(line: str, index: int) -> bool:
    """Return whether another word there means the same to a device.

    Rules of an access list, a prefix list and a community list follow the order of their sequence numbers, and the
    hash of a password is the device's own: it salts it anew.
    """
    words = line.split()
    if words[1:2] in (["permit"], ["deny"]):
        return index == 0
    password = words[0] == "username" and words[2] == "password" and index in (3, 4)
    return password or (index > 0 and words[index - 1] == "seq")


def find_named_lines(switch_facts: Facts, text: str) -> set[int]:
    """The lines that checking the text names; 0 stands for a finding without a line."""
    reading = NXOS.read({FILE: text})
    lines = {mismatch.line for mismatch in compare(switch_facts, reading)}
    return lines | {number for _, number, _ in reading.unknown}


def format_share(named: int, of: int, what: str) -> str:
    """A count that pytest shows when run with `-rP`."""
    return f"{what}: {named} of {of} named, {100 * named / of:.2f} %"


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MUTATED)
@pytest.mark.spread
def test_a_changed_word_is_found_on_its_line(name: str, step: int) -> None:
    switch = variant(name)
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    survivors, elsewhere, meaningful = [], [], 0
    for at, index, changed in change_each_word(text)[::step]:
        if is_equivalent(lines[at], index):
            continue
        meaningful += 1
        found = find_named_lines(planned, changed)
        if not found:
            survivors.append((lines[at], index))
        elif at + 1 not in found:
            elsewhere.append((lines[at], index))
    print(format_share(meaningful - len(survivors) - len(elsewhere), meaningful, name))
    assert survivors == []
    assert elsewhere == []


def block_of(lines: list[str], at: int) -> range:
    """The lines, from 0, of the top-level block that a line is in; just its own where it stands alone."""
    first = next(i for i in range(at, -1, -1) if not lines[i].startswith(" "))
    last = next(i for i in range(at + 1, len(lines)) if not lines[i].startswith(" "))
    return range(first, last)


# NX-OS's defaults: without the line the meaning is the same. `set qos-group 0` and `shutdown` of a routed port are
# defaults, names are looked up by default, and a multiplier of one is the default. That a port advertises
# itself is a line to type that no device prints, so its absence means nothing.
DEFAULTS = {
    "ip domain-lookup", "set qos-group 0", "shutdown", "priority-flow-control watch-dog shutdown-multiplier 1",
    "no ipv6 nd suppress-ra",
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATED)
@pytest.mark.spread
def test_a_missing_line_is_found_in_its_block(name: str) -> None:
    switch = variant(name)
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    survivors, elsewhere, deleted = set(), [], 0
    for at, line in enumerate(lines):
        if not line or line.strip() in DEFAULTS:
            continue
        deleted += 1
        found = find_named_lines(planned, "\n".join([*lines[:at], *lines[at + 1 :]]))
        block = block_of(lines, at)
        if not found:
            survivors.add(line.strip())
        elif len(block) > 1 and not any(number in block or number - 1 in block for number in found):
            elsewhere.append(line)
    print(format_share(deleted - len(survivors) - len(elsewhere), deleted, name))
    assert survivors == set()
    assert elsewhere == []


@pytest.mark.parametrize("name", MUTATED)
def test_two_lines_in_each_other_s_place_are_found(name: str) -> None:
    """Order matters: a line and its parent, and servers in the order of use."""
    switch = variant(name)
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    survivors, swapped = [], 0
    for at, (one, two) in enumerate(pairwise(lines)):
        deeper = len(two) - len(two.lstrip()) > len(one) - len(one.lstrip())
        requested = one.strip().startswith("server ") and two.strip().startswith("server ")
        if one and two and (deeper or requested):
            swapped += 1
            found = find_named_lines(planned, "\n".join([*lines[:at], two, one, *lines[at + 2 :]]))
            if not found & {at + 1, at + 2}:
                survivors.append((one, two, found))
    print(format_share(swapped - len(survivors), swapped, name))
    assert survivors == []
    assert swapped > 30
