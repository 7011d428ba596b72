"""Altering any one word of a rendered configuration, or leaving out a statement, shows, and on the line it is on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.junos import FILE, JUNOS
from fabricc.proof.compare import compare
from tests.back.nos.junos.variants import variant
from tests.back.nos.mutation import change_word

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts

NAMES = [
    "evo-settings", "classic-settings-unnumbered",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("evo-dual-unnumbered", "evo-drained", "evo-lossy")),
]  # fmt: skip
"""Both families with every setting; in the long run those with other words in few places."""
LABELS = ("trusted-ca-group FABRICC {", "target-address FABRICC-2 {")
"""Blocks whose names nothing else mentions."""
WORD = re.compile(r'"[^"]*"|[^\s{};\[\]"]+')


def mutate_word(word: str) -> str:
    """Another word of the same kind."""
    if re.fullmatch(r"[01]{6}|[01]{3}", word):
        return f"{(int(word, 2) ^ 1):0{len(word)}b}"
    if word.endswith('"') and not re.search(r"\d", word):
        return word[:-1] + 'x"'
    return change_word(word)


def make_mutants(text: str) -> list[tuple[int, int, str]]:
    """(line, column, text) of every text that differs in one word."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        for word in WORD.finditer(line):
            changed = line[: word.start()] + mutate_word(word[0]) + line[word.end() :]
            found.append((at, word.start(), "\n".join([*lines[:at], changed, *lines[at + 1 :]])))
    return found


def shows_change(text: str, planned: object) -> bool:
    reading = JUNOS.read({FILE: text})
    return reading.facts != planned or bool(reading.unknown)


def named_lines(text: str, planned: Facts) -> set[int]:
    """The lines that the findings about a text point at; empty when there are none."""
    reading = JUNOS.read({FILE: text})
    places = {mismatch.line for mismatch in compare(planned, reading)}
    return places | {number for _, number, _ in reading.unknown}


def end(lines: list[str], at: int) -> int:
    """Return where the statement that begins at a line ends: at its closing brace, or there."""
    indent = re.match(" *", lines[at])
    assert indent
    if not lines[at].endswith("{"):
        return at
    return next(i for i in range(at + 1, len(lines)) if lines[i] == indent[0] + "}")


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.spread
def test_no_changed_word_survives_and_its_line_is_named(name: str, step: int) -> None:
    switch = variant(name)
    text = JUNOS.render(switch)[FILE]
    planned = JUNOS.planned(switch)
    lines = text.split("\n")
    survivors, elsewhere = [], []
    for at, start, changed in make_mutants(text)[::step]:
        places = named_lines(changed, planned)
        line = lines[at].strip()
        if not places and not (line in LABELS and lines[at][start:].startswith("FABRICC")):
            survivors.append((line, start))
        elif places and not places & set(range(at + 1, end(lines, at) + 2)):
            elsewhere.append(line)
    assert survivors == []
    # Names that become those of a neighbor, such as the next cage: five in every sample, under 1 % of most.
    assert len(elsewhere) <= 5, elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_missing_statement_goes_unnoticed(name: str) -> None:
    switch = variant(name)
    text = JUNOS.render(switch)[FILE]
    planned = JUNOS.planned(switch)
    lines = text.split("\n")
    survivors = set()
    for at, line in enumerate(lines):
        if line.strip().endswith(";") and not shows_change(
            "\n".join([*lines[:at], *lines[at + 1 :]]), planned
        ):
            survivors.add(re.sub(r"\d+", "N", line.strip()))
    # Junos's defaults (the MTU of a family is that of the interface minus headers): without them the meaning is the
    # same.
    defaults = {"mtu N;", "multiplier N;"}
    assert survivors == defaults | (
        {"detection N;", "watchdog-action drop;"} if switch.qos.watchdog else set()
    )


@pytest.mark.parametrize(
    ("first", "second", "fact"),
    [
        ("            term ACCESS {", "            term LOGIN {", "management/access"),
        ("    tacplus-server 172.16.0.6 {", "    tacplus-server 172.16.0.5 {", "management/tacacs/servers"),
    ],
)
def test_blocks_in_another_order_show(first: str, second: str, fact: str) -> None:
    switch = variant("evo-settings")
    lines = JUNOS.render(switch)[FILE].split("\n")
    one, other = lines.index(first), lines.index(second)
    last = end(lines, other) + 1
    swapped = [*lines[:one], *lines[other:last], *lines[one:other], *lines[last:]]
    reading = JUNOS.read({FILE: "\n".join(swapped)})
    assert fact in {mismatch.path for mismatch in compare(JUNOS.planned(switch), reading)}


def test_methods_of_authentication_in_another_order_show() -> None:
    switch = variant("evo-settings")
    text = JUNOS.render(switch)[FILE].replace("[ tacplus password ]", "[ password tacplus ]")
    assert JUNOS.read({FILE: text}).facts != JUNOS.planned(switch)


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
