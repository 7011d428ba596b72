"""Altering any one word of a `startup.yaml`, or leaving out any part of it, shows, and the place is named."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.proof.compare import compare
from tests.back.nos.cumulus.mutants import Mutant, make_deletions, make_mutants
from tests.back.nos.cumulus.variants import VARIANTS, variant

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading

FILE = "startup.yaml"
SLOW = pytest.mark.slow
CASES = [
    pytest.param("whole-cages", "5.9", 3),
    pytest.param("settings", "5.14", 11),
    *(pytest.param(name, release, 1, marks=SLOW) for name, release in (
        ("whole-cages", "5.9"), ("settings", "5.14"), ("dual", "5.14"), ("dual-unnumbered", "5.15"),
        ("settings", "5.15"), ("settings", "5.11"))),
]  # fmt: skip
"""A sample, its release, and the distance of alterations: an odd number alters both keys and values."""
WITHOUT_MEANING = {
    ("rev-id: 1.0", "value"),
    ("full-name: cumulus,,,", "value"),
    ("hashed-password: '*'", "value"),  # no secret is compared
    ("fabricc:", "key"),  # the name of an SSH key
    ("'10':", "key"), ("'20':", "key"),  # numbers of rules give but an order
}  # fmt: skip
DEVICE_DEFAULTS = {
    ("link", "state:"), ("state", "up: {}"),  # a configured port is up
    ("ipv4-unicast", "enable: 'on'"), ("ipv4-unicast", "state: enabled"),  # a neighbor carries IPv4,
    ("address-family", "ipv6-unicast:"), ("ipv6-unicast", "enable: 'off'"),  # and IPv6 only when activated
    ("ipv6-unicast", "state: disabled"), ("lldp", "state: enabled"),  # LLDP runs unless it is disabled
    ("header", "rev-id: 1.0"), ("cumulus", "full-name: cumulus,,,"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "release", "step"), CASES)
def test_no_changed_word_goes_unnoticed(name: str, release: str, step: int) -> None:
    found = try_changes(name, release, step)
    survivors = [mutant for mutant, lines in found if not lines]
    patch = f"version: Cumulus Linux {release}.0"
    assert {(m.before, m.part) for m in survivors} <= WITHOUT_MEANING | {(patch, "value")}
    assert len(survivors) < len(found) * (0.025 if step == 1 else 0.04)
    text = CUMULUS.render(variant(name, release))[FILE]
    assert not [m for m in survivors if m.part == "key" and "route-map" in keys_above(text, m.line)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "release", "step"), CASES)
def test_nothing_left_out_goes_unnoticed(name: str, release: str, step: int) -> None:
    text = CUMULUS.render(variant(name, release))[FILE]
    lines = text.split("\n")
    survivors = [at for at, _, named_lines in left_out(name, release, step) if not named_lines]
    assert {(keys_above(text, at)[0], lines[at - 1].strip()) for at in survivors} <= DEVICE_DEFAULTS


@pytest.mark.spread
@pytest.mark.parametrize(("name", "release", "step"), CASES)
def test_the_line_of_a_change_is_named(name: str, release: str, step: int) -> None:
    """Of 100 changed keys and values, 99 are reported at their line, in addition to other findings."""
    noted = [(mutant, lines) for mutant, lines in try_changes(name, release, step) if lines]
    elsewhere = [(m.line, m.before, m.part) for m, lines in noted if m.line not in lines]
    assert len(elsewhere) <= 0.01 * len(noted), elsewhere


@pytest.mark.slow
@pytest.mark.parametrize(("name", "release", "step"), CASES)
def test_the_block_that_lacks_something_is_named(name: str, release: str, step: int) -> None:
    """A rule, a port or a profile that lacks a part is named by a line of its own, or by the key above it."""
    before = keys_of(CUMULUS.render(variant(name, release))[FILE])
    noted, elsewhere = 0, []
    for at, removed, lines in left_out(name, release, step):
        if not lines:
            continue
        noted += 1
        whole = block_keys(before[at - 1])
        after = [*before[: at - 1], *before[at - 1 + removed :]]
        places = {line for line in lines if line}
        if not any(
            after[line - 1][: len(whole)] == whole or after[line - 1] == whole[:-1] for line in places
        ):
            elsewhere.append("/".join(before[at - 1]))
    assert len(elsewhere) <= 0.03 * noted, elsewhere


@cache
def try_changes(name: str, release: str, step: int) -> list[tuple[Mutant, set[int]]]:
    """Every so many-th changed word, and the lines that findings name."""
    switch = variant(name, release)
    planned = CUMULUS.planned(switch)
    text = CUMULUS.render(switch)[FILE]
    return [
        (m._replace(text=""), named(CUMULUS.read({FILE: m.text}), planned))
        for m in islice(make_mutants(text), 0, None, step)
    ]


@cache
def left_out(name: str, release: str, step: int) -> list[tuple[int, int, set[int]]]:
    """Every so many-th part left out: its first line, how many lines it has, and the lines that findings name."""
    switch = variant(name, release)
    planned = CUMULUS.planned(switch)
    text = CUMULUS.render(switch)[FILE]
    total = text.count("\n")
    return [
        (m.line, total - m.text.count("\n"), named(CUMULUS.read({FILE: m.text}), planned))
        for m in islice(make_deletions(text), 0, None, step)
    ]


def test_the_order_of_login_methods_matters_where_it_is_a_list() -> None:
    switch = variant("settings", "5.15")
    text = CUMULUS.render(switch)[FILE]
    swapped = text.replace("- tacacs\n          - local", "- local\n          - tacacs")
    assert swapped != text
    lines = named(CUMULUS.read({FILE: swapped}), CUMULUS.planned(switch))
    at = swapped[: swapped.index("- local")].count("\n") + 1
    assert {at, at + 1} <= lines


def named(reading: Reading, planned: dict[str, str | int]) -> set[int]:
    """The lines that findings about a file name."""
    return {mismatch.line for mismatch in compare(planned, reading)} | {
        line for _, line, _ in reading.unknown
    }


def keys_of(text: str) -> list[tuple[str, ...]]:
    """Per line, its key and those it hangs on, outermost first."""
    held: list[tuple[int, str]] = []
    rows = []
    for line in text.split("\n"):
        while held and held[-1][0] >= depth_of(line):
            held.pop()
        held.append((depth_of(line), line.strip(" -").partition(": ")[0].rstrip(":")))
        rows.append(tuple(key for _, key in held))
    return rows


def block_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of what a line is part of: a port, a rule, a list, a peer group, a profile or a service."""
    root, *path = keys
    if not path:
        return keys
    depth = {"acl": 4, "vrf": 6, "qos": 3, "router": 6 if path[1:2] == ["policy"] else 3}.get(path[0], 2)
    if path[:2] == ["system", "aaa"]:
        depth = 4
    depth = min(depth, len(path) - 1)
    if path[-2:-1] == ["rule"] and depth == len(path) - 1:
        depth -= 1  # a rule is a part of its list
    return (root, *path[:depth])


def depth_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def keys_above(text: str, line: int) -> list[str]:
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
        ("lanes-per-port: '4'", "lanes-per-port: '2'", "breakout[swp1]/lanes"),
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
