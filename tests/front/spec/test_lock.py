"""The lock goes to text and back unchanged, merges line by line, and reports the result of a bad merge."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.front.spec.lock import EMPTY_LOCK, Lock, format_lock, lines_of, parse_lock, renew_lock

KEYS = st.from_regex(re.compile(r"[a-z0-9][a-z0-9_./-]{0,20}", re.ASCII), fullmatch=True)
NUMBERS = st.integers(0, 9_999_999_999)
LOCK = Lock({"unit": 64}, {"su001": 0, "h100/su002": 1}, {"gpu-b": (0, 1), "gpu-a": (0, 0)})
TEXT = format_lock(LOCK)


def distinct_values(values: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(KEYS, values).filter(lambda items: len(set(items.values())) == len(items))


@given(st.dictionaries(KEYS, NUMBERS), distinct_values(NUMBERS), distinct_values(st.tuples(NUMBERS, NUMBERS)))
def test_there_and_back(
    strides: dict[str, int], units: dict[str, int], hosts: dict[str, tuple[int, int]]
) -> None:
    lock = Lock(strides, units, hosts)
    text = format_lock(lock)
    assert parse_lock(text, "fabricc.lock") == (lock, ())
    backwards = Lock(*(dict(reversed(part.items())) for part in (strides, units, hosts)))
    assert format_lock(backwards) == text


@given(st.dictionaries(st.from_regex(r"\A[a-z]{2,10}\Z"), st.dictionaries(KEYS, NUMBERS), max_size=4))
def test_networks_there_and_back(strides: dict[str, dict[str, int]]) -> None:
    networks = {
        name: Lock(part, {f"{name}/0": 0}, {"gpu-a": (0, 0)}, number=number)
        for number, (name, part) in enumerate(strides.items(), 1)
    }
    lock = replace(LOCK, networks=networks)
    text = format_lock(lock)
    assert parse_lock(text, "fabricc.lock") == (lock, ())
    assert [line for line in text.splitlines() if not line.startswith("network ")] == TEXT.splitlines()
    for name in networks:
        part, _ = parse_lock(f"version 1\n{lines_of(text, name)}", "fabricc.lock")
        assert (part.strides, part.units, part.hosts) == (
            networks[name].strides,
            networks[name].units,
            networks[name].hosts,
        )


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["network storage 1", "network storage 2"], "FAB0033"),
        (["network storage 1", "network frontend 1"], "FAB0034"),
        (["network storage 1", "network storage unit a 0", "network storage unit b 0"], "FAB0034"),
        (["network storage 1", "network storage unit a 0", "network storage unit a 1"], "FAB0033"),
        (["network storage stride unit 8"], "FAB0030"),
        (["network storage 0"], "FAB0030"),
        (["network storage 64"], "FAB0030"),
        (["network storage 1", "network storage cluster zone"], "FAB0030"),
        (["network Storage 1"], "FAB0030"),
    ],
)
def test_a_bad_merge_of_networks_is_reported(lines: list[str], code: str) -> None:
    _, found = parse_lock(TEXT + "\n".join(lines) + "\n", "fabricc.lock")
    assert code in {each.code for each in found}
    assert all(each.position and each.help for each in found)


def test_the_text() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith("#")]
    assert TEXT.startswith("version 1\n# ")
    assert lines == [
        "version 1",
        "stride unit 64",
        "unit h100/su002 1",
        "unit su001 0",
        "host gpu-a 0 0",
        "host gpu-b 0 1",
    ]
    assert parse_lock(format_lock(EMPTY_LOCK), "fabricc.lock") == (EMPTY_LOCK, ())


def test_lock_names_its_cluster() -> None:
    text = renew_lock(LOCK, "zone-a", None)
    lock, found = parse_lock(text, "fabricc.lock", "zone-a")
    assert (lock, found) == (replace(LOCK, cluster="zone-a"), ())
    _, (refused,) = parse_lock(text, "fabricc.lock", "zone-b")
    assert refused.code == "FAB2070"
    assert "'zone-a'" in refused.message
    assert "'zone-b'" in refused.message
    assert refused.position
    assert text.splitlines()[refused.position.line - 1] == "cluster zone-a"


def test_a_lock_without_a_name_stays_as_it_is_until_a_number_is_added() -> None:
    assert parse_lock(TEXT, "fabricc.lock", "zone-a") == (LOCK, ())
    assert renew_lock(LOCK, "zone-a", TEXT) == TEXT
    grown = replace(LOCK, units={**LOCK.units, "su003": 2})
    assert set(renew_lock(grown, "zone-a", TEXT).splitlines()) == {
        *TEXT.splitlines(), "unit su003 2", "cluster zone-a"
    }  # fmt: skip


def list_findings(text: str) -> list[tuple[int, str, str]]:
    _, diagnostics = parse_lock(text, "fabricc.lock")
    return [(each.position.line if each.position else 0, each.code, each.message) for each in diagnostics]


def test_two_branches_that_both_added_a_host() -> None:
    number = len(TEXT.splitlines()) + 1
    assert list_findings(TEXT + "host gpu-c 0 1\n") == [
        (number, "FAB0034", f"host 'gpu-c' and host 'gpu-b' (line {number - 1}) share unit 0 slot 1")
    ]
    assert list_findings(TEXT + "unit su009 1\n") == [
        (number, "FAB0034", f"unit 'su009' and unit 'h100/su002' (line {number - 4}) share coordinate 1")
    ]


def test_a_conflict_left_in_keeps_the_items_of_both_sides() -> None:
    text = TEXT + "<<<<<<< HEAD\nhost gpu-c 0 2\n=======\nhost gpu-d 0 3\n>>>>>>> other\n"
    lock, diagnostics = parse_lock(text, "fabricc.lock")
    assert [each.code for each in diagnostics] == ["FAB0032"] * 3
    assert (lock.hosts["gpu-c"], lock.hosts["gpu-d"]) == ((0, 2), (0, 3))


def test_an_item_twice_keeps_the_first() -> None:
    lock, (diagnostic,) = parse_lock(TEXT + "host gpu-a 5 5\n", "fabricc.lock")
    assert diagnostic.code == "FAB0033"
    assert lock.hosts["gpu-a"] == (0, 0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "FAB0031"),
        ("host gpu-a 0 0\n", "FAB0031"),
        ("version 2\n", "FAB0031"),
        ("version 1\nhost ../x 0 0\n", "FAB0030"),
        ("version 1\nhost A 0 0\n", "FAB0030"),
        ("version 1\nhost a 0\n", "FAB0030"),
        ("version 1\nhost a 0 -1\n", "FAB0030"),
        ("version 1\nunit a 00\n", "FAB0030"),
        ("version 1\ntenant a 0\n", "FAB6040"),
        ("version 1\nunit a 99999999999\n", "FAB0030"),
        ("version 1\nunit a \u0661\n", "FAB0030"),
        ("version 1\n\0\x1b[2J\n", "FAB0030"),
    ],
)
def test_lines_that_no_lock_has(text: str, code: str) -> None:
    assert [each[1] for each in list_findings(text)] == [code]


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    lock, diagnostics = parse_lock(text, "fabricc.lock")
    assert diagnostics or parse_lock(format_lock(lock), "fabricc.lock") == (lock, ())


@pytest.mark.parametrize("key", ["", "A", "a b", "a\nhost b 0 0", "é", "-a", "a" * 129])
def test_a_key_that_would_break_a_line_is_never_written(key: str) -> None:
    with pytest.raises(ValueError):
        format_lock(Lock(strides={key: 1}))


@given(st.dictionaries(KEYS, KEYS))
def test_names_there_and_back(names: dict[str, str]) -> None:
    lock = replace(LOCK, names=names)
    assert parse_lock(format_lock(lock), "fabricc.lock") == (lock, ())
    twice = format_lock(replace(LOCK, names={"spine01a": "east"})) + "name spine01a west\n"
    assert list_findings(twice)[0][1] == "FAB0033"
