"""Altering any word of a rendered configuration, or leaving out a line, shows in the facts or as an unknown line."""

from __future__ import annotations

import re

import pytest

from fabricc.nos.nxos import FILE, NXOS
from tests.nos.nxos.variants import variant

MUTATED = ["cloudscale/dual", "cloudscale/dual-unnumbered", "silicon-one/drained", "cloudscale/lossy"]


def equivalent(line: str, index: int) -> bool:
    """Whether another word there says the same to a device.

    Rules of a prefix list and of a community list follow the order of their sequence numbers, and the hash of a
    password is the device's own: it salts it anew.
    """
    words = line.split()
    password = words[0] == "username" and words[2] == "password" and index in (3, 4)
    return password or (index > 0 and words[index - 1] == "seq")


def mutated(word: str) -> str:
    """Another word of the same kind."""
    if word.isdecimal():
        return str(int(word) + 1)
    number = re.search(r"\d+(?!.*\d)", word)
    if number:
        return f"{word[: number.start()]}{int(number[0]) + 1}{word[number.end() :]}"
    return word + "x"


def mutants(text: str) -> list[tuple[int, int, str]]:
    """(line, word, text) of every text that differs in one word."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        words = line.split()
        for index, word in enumerate(words):
            changed = indent + " ".join([*words[:index], mutated(word), *words[index + 1 :]])
            found.append((at, index, "\n".join([*lines[:at], changed, *lines[at + 1 :]])))
    return found


@pytest.mark.parametrize("name", MUTATED)
def test_no_changed_word_survives(name: str) -> None:
    switch = variant(name)
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    survivors = []
    for at, index, changed in mutants(text):
        reading = NXOS.read({FILE: changed})
        if reading.facts == planned and not reading.unknown and not equivalent(lines[at], index):
            survivors.append((lines[at], index))
    assert survivors == []


def test_a_changed_value_shows_on_its_line() -> None:
    switch = variant("cloudscale/dual")
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    values = re.compile(
        r"pause|random-detect|mtu|^  ip(v6)? address|remote-as|description|timers|qos-group|percent|watch-dog"
        r"|^ip.*prefix"
    )
    checked = 0
    for at, index, changed in mutants(text):
        line = lines[at]
        if index < len(line.split()) - 1 or not values.search(line):
            continue
        reading = NXOS.read({FILE: changed})
        differing = {path for path, value in planned.items() if reading.facts.get(path) != value}
        differing |= reading.facts.keys() - planned.keys()
        places = {reading.lines[path][1] for path in differing if path in reading.lines}
        assert at + 1 in places | {number for _, number, _ in reading.unknown}, line
        checked += 1
    assert checked > 70


@pytest.mark.parametrize("name", MUTATED)
def test_no_missing_line_goes_unnoticed(name: str) -> None:
    switch = variant(name)
    text = NXOS.render(switch)[FILE]
    planned = NXOS.planned(switch)
    lines = text.split("\n")
    survivors = set()
    for at, line in enumerate(lines):
        if not line:
            continue
        reading = NXOS.read({FILE: "\n".join([*lines[:at], *lines[at + 1 :]])})
        if reading.facts == planned and not reading.unknown:
            survivors.add(line.strip())
    # The policy of the system holds on a port that names none, and it is that of the longest cables.
    applied = {"PM-OUT-LOSSY"} if name.endswith("lossy") else {"PM-OUT-400G-40M"}
    # A multiplier of one is the default; without a lossless class there is no watchdog.
    watchdog = set() if name.endswith("lossy") else {"priority-flow-control watch-dog shutdown-multiplier 1"}
    assert survivors == watchdog | {f"service-policy type queuing output {policy}" for policy in applied} | {
        # NX-OS's defaults: leaving the line out says the same.
        "ip domain-lookup", "set qos-group 0", "shutdown",
    }  # fmt: skip
