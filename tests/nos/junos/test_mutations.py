"""Altering any one word of a rendered configuration, or leaving out a statement, shows."""

from __future__ import annotations

import re

import pytest

from fabricc.nos.junos import FILE, JUNOS
from tests.nos.junos.variants import variant

NAMES = ["evo-dual", "evo-dual-unnumbered", "evo-drained", "classic-numbered", "evo-lossy"]
WORD = re.compile(r'"[^"]*"|[^\s{};\[\]"]+')

# Names of terms, groups and dynamic neighbours that nothing refers to are free.
FREE_NAMES = re.compile(r"term [A-Z]|group |dynamic-neighbor ")


def equivalent(line: str, start: int) -> bool:
    """Whether another word there says the same to a device."""
    return bool(FREE_NAMES.match(line.strip())) and start > len(line) - len(line.lstrip())


def mutated(word: str) -> str:
    """Another word of the same kind."""
    if re.fullmatch(r"[01]{6}|[01]{3}", word):
        return f"{(int(word, 2) ^ 1):0{len(word)}b}"
    if word.isdecimal():
        return str(int(word) + 1)
    number = re.search(r"\d+(?!.*\d)", word)
    if number:
        return f"{word[: number.start()]}{int(number[0]) + 1}{word[number.end() :]}"
    return word[:-1] + 'x"' if word.endswith('"') else word + "x"


def mutants(text: str) -> list[tuple[int, int, str]]:
    """(line, column, text) of every text that differs in one word."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        for word in WORD.finditer(line):
            changed = line[: word.start()] + mutated(word[0]) + line[word.end() :]
            found.append((at, word.start(), "\n".join([*lines[:at], changed, *lines[at + 1 :]])))
    return found


def shows(text: str, planned: object) -> bool:
    reading = JUNOS.read({FILE: text})
    return reading.facts != planned or bool(reading.unknown)


@pytest.mark.parametrize("name", NAMES)
def test_no_changed_word_survives(name: str) -> None:
    switch = variant(name)
    text = JUNOS.render(switch)[FILE]
    planned = JUNOS.planned(switch)
    lines = text.split("\n")
    every = mutants(text)
    survivors = [
        (lines[at].strip(), start)
        for at, start, changed in every
        if not shows(changed, planned) and not equivalent(lines[at], start)
    ]
    assert survivors == []
    free = [at for at, start, _ in every if equivalent(lines[at], start)]
    assert len(free) < len(every) / 50


def test_a_changed_value_shows_on_its_line() -> None:
    switch = variant("evo-dual")
    text = JUNOS.render(switch)[FILE]
    planned = JUNOS.planned(switch)
    lines = text.split("\n")
    values = re.compile(
        r"mtu|address|peer-as|description|hold-time|speed|cable-length|mru|exact|range|percent|host-name"
    )
    checked = 0
    for at, start, changed in mutants(text):
        line = lines[at]
        if not values.search(line) or start < line.rindex(" "):
            continue
        reading = JUNOS.read({FILE: changed})
        differing = {path for path, value in planned.items() if reading.facts.get(path) != value}
        places = {reading.lines[path][1] for path in differing if path in reading.lines}
        assert at + 1 in places | {number for _, number, _ in reading.unknown}, line
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("name", NAMES)
def test_no_missing_statement_goes_unnoticed(name: str) -> None:
    switch = variant(name)
    text = JUNOS.render(switch)[FILE]
    planned = JUNOS.planned(switch)
    lines = text.split("\n")
    survivors = set()
    for at, line in enumerate(lines):
        if line.strip().endswith(";") and not shows("\n".join([*lines[:at], *lines[at + 1 :]]), planned):
            survivors.add(re.sub(r"\d+", "N", line.strip()))
    # Junos's defaults (the MTU of a family is what the interface's leaves): leaving them out says the same.
    defaults = {"mtu N;", "multiplier N;"}
    assert survivors == defaults | (
        {"detection N;", "watchdog-action drop;"} if switch.qos.watchdog else set()
    )


def test_terms_in_another_order_show() -> None:
    switch = variant("evo-numbered")
    text = JUNOS.render(switch)[FILE]
    start = text.index("        term 10 {", text.index("policy-statement FROM-UPSTREAM"))
    middle = text.index("        term 20 {", start)
    end = text.index("        term DEFAULT {", middle)
    swapped = text[:start] + text[middle:end] + text[start:middle] + text[end:]
    reading = JUNOS.read({FILE: swapped})
    changed = {path for path, value in JUNOS.planned(switch).items() if reading.facts.get(path) != value}
    assert changed == {"platform/policy[FROM-UPSTREAM]"}
