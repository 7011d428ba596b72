"""The limits of every NOS are in one table each, whose rows have sources; their releases have one order."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import pytest

import fabricc.back.nos
from fabricc.back.hosts.limits import LIMITS as HOST_LIMITS
from fabricc.back.nos import load
from fabricc.back.nos.limits import Limit, Range, System
from fabricc.base.diagnostics import TITLES
from fabricc.catalog.support import release_numbers
from tests.samples import tor, with_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

NAMES = ("cumulus", "eos", "frr", "junos", "nxos", "sonic")
TABLES: dict[str, Any] = {name: import_module(f"fabricc.back.nos.{name}.limits") for name in NAMES}
ROWS = [(name, row) for name in NAMES for row in TABLES[name].LIMITS]
PORTS = ("p1", "p2", "p3", "p4", "p5", "p6")


def first_releases(row: Limit) -> set[str]:
    since = row.since if isinstance(row.since, dict) else {"": row.since}
    return {release for release in since.values() if release is not None}


@pytest.mark.parametrize("name", NAMES)
def test_each_back_end_has_the_same_names(name: str) -> None:
    table, back_end = TABLES[name], load(name)
    assert tuple(table.RELEASES) == back_end.releases
    assert back_end.default_release == table.DEFAULT_RELEASE
    assert all(callable(function) for function in (table.has, table.gaps))


@pytest.mark.parametrize("name", NAMES)
def test_releases_ascend(name: str) -> None:
    numbers = [release_numbers(release) for release in TABLES[name].RELEASES]
    assert numbers == sorted(set(numbers))


def test_mappings_of_yaml_in_texts_are_no_fields() -> None:
    texts = [
        (row.code, text)
        for row in (*(row for _, row in ROWS), *HOST_LIMITS)
        for text in (row.feature, row.reason, row.remedy)
    ]
    broken = [
        (code, text)
        for code, text in texts
        for _, name, form, _ in Formatter().parse(text)
        if name is not None and (not name.strip() or (form or "").startswith(" "))
    ]
    assert broken == []


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda each: each if isinstance(each, str) else each.code)
def test_every_limit_has_a_reason_and_a_source(name: str, row: Limit) -> None:
    assert row.title()
    assert row.reason or len(row.source) > 10
    if row.code:
        assert row.code in TITLES
        assert row.remedy or name == "junos"
    else:
        assert row.source
        assert first_releases(row)


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda each: each if isinstance(each, str) else each.code)
def test_newest_release_supports_features_of_earlier_releases(name: str, row: Limit) -> None:
    newest = max(map(release_numbers, TABLES[name].RELEASES))
    assert all(release_numbers(release) <= newest for release in first_releases(row))


def test_no_other_place_words_the_gaps_of_a_nos() -> None:
    root = Path(fabricc.back.nos.__file__).parent
    words = re.compile(r'"FAB(5[1-5]|563|567|568|57|9045)[0-9]*"')
    found = {str(p.relative_to(root)) for p in root.rglob("*.py") if words.search(p.read_text())}
    assert found == {f"{name}/limits.py" for name in NAMES}


@pytest.mark.parametrize("name", ["cumulus", "frr", "junos", "nxos"])
def test_ssh_that_gpu_hosts_reach_is_a_warning(name: str) -> None:
    """EOS answers in the management VRF alone; SONiC drops SSH from ports of the front, before 202505 it warns too."""
    (row,) = (row for row in TABLES[name].LIMITS if row.code == "FAB5843")
    switch = tor(PORTS)
    listed = replace(switch, management=replace(switch.management, access=("172.16.9.0/24",)))
    assert [row.requests(each) for each in (switch, listed)] == [True, False]
    assert "`management.access`" in row.remedy
    assert not row.fatal


def test_releases_are_ordered_by_their_numbers() -> None:
    limit = Limit("FAB5900", feature="x", requested=lambda _: True, reason="r", remedy="m", since="5.10")
    system = System("s", ("5.9", "5.10", "5.11"), "5.11", (limit,))
    assert [system.has(release, limit) for release in ("5.9", "5.10", "5.11", "", "6.0")] == [
        False,
        True,
        True,
        True,
        True,
    ]
    sample = tor(PORTS)
    assert [gap.feature for gap in system.gaps(replace(sample, release="5.9"))] == ["x"]
    assert system.gaps(replace(sample, release="5.10")) == []


def test_a_release_is_added_by_one_row() -> None:
    limit = Limit("FAB5900", feature="x", requested=lambda _: True, reason="not in {release}", since="3")
    for releases, reported in ((("1", "2"), ["not in 2"]), (("1", "2", "3"), [])):
        system = System("s", releases, releases[-1], (limit,))
        assert [gap.reason for gap in system.gaps(replace(tor(PORTS), release=""))] == reported


def test_families_begin_with_releases_of_their_own() -> None:
    limit = Limit(since={"old": None, "new": "2"})
    for family, had in (("old", False), ("new", True)):
        system = System("s", ("1", "2"), "2", (limit,), family=lambda _, family=family: family)
        assert system.has(tor(PORTS), limit) is had


def each_thing(switch: Switch) -> Iterator[dict[str, Any]]:
    yield from ({"name": port.name, "figure": port.cage} for port in switch.ports)


def test_adjacent_limits_of_one_item_are_merged() -> None:
    low = Limit(
        "L",
        feature="{name} {figure}",
        requested=each_thing,
        allowed={"figure": Range(2)},
        reason="{allowed[figure].low}",
    )
    odd = Limit("O", feature="{name}", requested=each_thing, reason="whole")
    system = System("s", ("1",), "1", (low, odd))
    gaps = system.gaps(replace(tor(PORTS), release=""))
    small = [port.name for port in tor(PORTS).ports if port.cage < 2]
    assert [gap.code for gap in gaps if gap.feature.split()[0] in small] == ["L", "O"] * len(small)
    assert {gap.reason for gap in gaps if gap.code == "L"} == {"2"}


def test_conditional_limit_is_reported_only_with_its_condition() -> None:
    having = Limit(since="2")
    note = Limit("N", feature="x", requested=lambda _: True, reason="r", where=having)
    system = System("s", ("1", "2"), "2", (note,))
    assert [len(system.gaps(replace(tor(PORTS), release=release))) for release in ("1", "2")] == [0, 1]


def test_the_table_in_the_docs_works() -> None:
    page = (Path(__file__).parents[3] / "docs" / "add-a-nos.md").read_text()
    stated: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], stated)
    switch = with_settings(tor(PORTS))
    many = replace(switch, release="2023", bgp=replace(switch.bgp, maximum_paths=65, ttl_security=True))
    assert [(gap.feature, gap.fatal) for gap in stated["gaps"](many)] == [
        ("65 equal-cost paths", True),
        ("BGP TTL security", True),
        ("SNMP", False),
    ]
    assert [stated["has"](release, stated["TTL_SECURITY"]) for release in ("2023", "2024")] == [False, True]


def test_range_includes_both_ends_and_unset_values() -> None:
    assert [figure in Range(1, 3) for figure in (0, 1, 3, 4, None)] == [False, True, True, False, True]
    assert f"{Range(1, 3)}" == "1 to 3"
