"""Altering any one word of a `startup.yaml`, or leaving out any part of it, shows, and the place is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.check.compare import compare
from fabricc.nos.cumulus import CUMULUS
from tests.nos.cumulus.mutants import Mutant, deletions, mutants
from tests.nos.cumulus.variants import VARIANTS

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading

FILE = "startup.yaml"
CASES = [("dual", "5.14"), ("dual-unnumbered", "5.15"), ("whole-cages", "5.9")]
WITHOUT_MEANING = {
    ("rev-id: 1.0", "value"),
    ("full-name: cumulus,,,", "value"),
    ("hashed-password: '*'", "value"),  # no secret is compared
    ("fabricc:", "key"),  # the name of an SSH key
    ("'10':", "key"), ("'20':", "key"),  # numbers of rules give but an order
}  # fmt: skip
DEVICE_DEFAULTS = {
    ("link", "state:"), ("state", "up: {}"),  # a configured port is up
    ("ipv4-unicast", "enable: 'on'"), ("ipv4-unicast", "state: enabled"),  # a neighbour carries IPv4,
    ("address-family", "ipv6-unicast:"), ("ipv6-unicast", "enable: 'off'"),  # and IPv6 only when told
    ("header", "rev-id: 1.0"), ("cumulus", "full-name: cumulus,,,"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "release"), CASES)
def test_no_changed_word_goes_unnoticed(name: str, release: str) -> None:
    switch = replace(VARIANTS[name], release=release)
    planned = CUMULUS.planned(switch)
    found = list(mutants(CUMULUS.render(switch)[FILE]))
    survivors = [m for m in found if not noticed(CUMULUS.read({FILE: m.text}), planned)]
    patch = f"version: Cumulus Linux {release}.0"
    assert {(m.before, m.part) for m in survivors} <= WITHOUT_MEANING | {(patch, "value")}
    assert len(survivors) < len(found) * 0.025
    assert not [m for m in survivors if m.part == "key" and "route-map" in above(m.text, m.line)]


@pytest.mark.parametrize(("name", "release"), CASES)
def test_nothing_left_out_goes_unnoticed(name: str, release: str) -> None:
    switch = replace(VARIANTS[name], release=release)
    planned = CUMULUS.planned(switch)
    text = CUMULUS.render(switch)[FILE]
    survivors = [m for m in deletions(text) if not noticed(CUMULUS.read({FILE: m.text}), planned)]
    assert {(above(text, m.line)[0], m.before) for m in survivors} <= DEVICE_DEFAULTS


def noticed(reading: Reading, planned: dict[str, str | int]) -> bool:
    return bool(reading.unknown) or reading.facts != planned


@pytest.mark.parametrize(("name", "release"), CASES[:2])
def test_the_line_of_a_change_is_named(name: str, release: str) -> None:
    """A fact made of several lines, as a rule's is, is named by one of them, or by the key they hang on."""
    switch = replace(VARIANTS[name], release=release)
    planned = CUMULUS.planned(switch)
    exact, values = 0, 0
    for mutant in mutants(CUMULUS.render(switch)[FILE]):
        reading = CUMULUS.read({FILE: mutant.text})
        if mutant.part != "value" or not noticed(reading, planned):
            continue
        places = {mismatch.line for mismatch in compare(planned, reading)}
        places |= {line for _, line, _ in reading.unknown}
        values += 1
        exact += mutant.line in places
        assert places & kin(mutant), mutant.before
    assert exact > 0.85 * values


def depth_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def kin(mutant: Mutant) -> set[int]:
    """The altered line, those beside it, and the three keys it hangs on."""
    lines = mutant.text.split("\n")
    found = {mutant.line}
    depth = depth_of(lines[mutant.line - 1])
    for step in (-1, 1):
        at = mutant.line - 1 + step
        while 0 <= at < len(lines) and depth_of(lines[at]) >= depth:
            found.add(at + 1)
            at += step
    at, level = mutant.line - 1, depth
    for _ in range(3):
        while at > 0 and depth_of(lines[at]) >= level:
            at -= 1
        found.add(at + 1)
        level = depth_of(lines[at])
    return found


def above(text: str, line: int) -> list[str]:
    """The keys that a line hangs on."""
    lines, keys = text.split("\n"), []
    level = depth_of(lines[line - 1])
    for at in range(line - 1, -1, -1):
        if depth_of(lines[at]) < level:
            level = depth_of(lines[at])
            keys.append(lines[at].strip(" -:"))
    return keys


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("speed: 400G", "speed: 200G", "interface[swp1s0]/speed_gbps"),
        ("lanes-per-port: '4'", "lanes-per-port: '2'", "breakout[swp1]"),
        ("polling-interval: 200", "polling-interval: 300", "watchdog/poll_ms"),
        ("shared-alpha: alpha_1\n", "shared-alpha: alpha_1_2\n", "interface[swp1s0]/headroom/dynamic_th"),
        ("port-buffer: 250880", "port-buffer: 250881", "interface[swp1s0]/headroom/size_bytes"),
        ("cable-length: 5", "cable-length: 6", "interface[swp1s0]/headroom/cable_m"),
        ("autonomous-system: 4200100000", "autonomous-system: 65001", "bgp/asn"),
        ("hostname: su001-tor1a", "hostname: tor", "system/hostname"),
        ("min-rx-interval: 300", "min-rx-interval: 100", "bfd/interval_ms"),
    ],
)
def test_the_fact_named_is_the_one_changed(old: str, new: str, path: str) -> None:
    switch = VARIANTS["numbered"]
    text = CUMULUS.render(switch)[FILE]
    reading = CUMULUS.read({FILE: text.replace(old, new, 1)})
    assert reading.facts[path] != CUMULUS.planned(switch)[path]
    assert reading.lines[path] == (FILE, text[: text.index(old)].count("\n") + 1)
