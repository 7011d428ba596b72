"""Each release gets the fields its models know, and what it lacks is refused with the source."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.nos.sonic import SONIC
from fabricc.nos.sonic.release import CAPABILITIES, RELEASES, Capability
from tests.nos.sonic.variants import VARIANTS

NAMES = [name for name in VARIANTS if name != "trimming"]


@pytest.mark.parametrize("release", SONIC.releases)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_rendered_for_a_release_reads_back_as_planned(release: str, name: str) -> None:
    switch = replace(VARIANTS[name], release=release)
    reading = SONIC.read(SONIC.render(switch))
    assert reading.unknown == []
    assert reading.facts == SONIC.planned(switch)


@pytest.mark.parametrize("release", SONIC.releases)
def test_no_field_is_written_that_the_release_does_not_know(release: str) -> None:
    tables = json.loads(SONIC.render(replace(VARIANTS["settings"], release=release))["config_db.json"])
    for table, fields in RELEASES[release].absent.items():
        assert tables[table]
        assert not any(fields & row.keys() for row in tables[table].values())
    assert tables["VERSIONS"]["DATABASE"]["VERSION"] == RELEASES[release].schema


@pytest.mark.parametrize("release", SONIC.releases)
def test_a_file_says_of_which_release_it_is(release: str) -> None:
    assert RELEASES[release].schema.split("_")[:2] == ["version", release]


def test_a_field_that_the_release_knows_is_missed() -> None:
    rendered = SONIC.render(replace(VARIANTS["numbered"], release="202405"))
    tables = json.loads(rendered["config_db.json"])
    tables["VERSIONS"]["DATABASE"]["VERSION"] = "version_202411_01"
    unknown = SONIC.read({**rendered, "config_db.json": json.dumps(tables, indent=4)}).unknown
    assert [text for _, _, text in unknown] == [
        "DEVICE_METADATA|localhost without suppress-fib-pending disabled"
    ]


def test_the_image_s_own_lines_of_zebra_are_stated() -> None:
    heads = {
        release: SONIC.render(replace(VARIANTS["numbered"], release=release))["frr.conf"].split("\n!\n")[0]
        for release in SONIC.releases
    }
    assert {r for r, head in heads.items() if "no fpm use-next-hop-groups" in head} == {*RELEASES} - {
        "202311"
    }
    assert {r for r, head in heads.items() if "no zebra nexthop kernel" in head} == {*RELEASES} - {"202511"}


@pytest.mark.parametrize("entry", CAPABILITIES, ids=lambda each: f"{each.feature} {each.words}"[:60])
def test_every_entry_has_a_source_and_a_known_release(entry: Capability) -> None:
    assert len(entry.source) > 10
    assert entry.words
    assert entry.since is None or entry.since in RELEASES
    assert bool(entry.code) == bool(entry.remedy)
    assert entry.code or entry.since == SONIC.releases[0]


@pytest.mark.parametrize("release", SONIC.releases)
def test_balancing_beyond_the_hash_is_refused_by_every_release(release: str) -> None:
    balancing = LoadBalancing(Spreading.FLOWLET, queue_pairs=True, flowlet_idle_us=64)
    switch = replace(VARIANTS["numbered"], release=release, load_balancing=balancing)
    gaps = [gap for gap in SONIC.gaps(switch) if gap.code == "FAB5324"]
    assert len(gaps) == 3
    assert all(gap.fatal and release in gap.reason for gap in gaps)


def test_bfd_that_the_access_lists_drop_is_told() -> None:
    guarded = VARIANTS["settings"]
    assert "FAB5326" in {gap.code for gap in SONIC.gaps(guarded)}
    without = replace(guarded, bgp=replace(guarded.bgp, bfd_interval_ms=None))
    assert "FAB5326" not in {gap.code for gap in SONIC.gaps(without)}


def test_an_lldp_interval_of_one_s_own_is_told_to_have_no_reader() -> None:
    found = {gap.code: gap for gap in SONIC.gaps(VARIANTS["settings"])}
    assert not found["FAB5325"].fatal
    assert "FAB5325" not in {gap.code for gap in SONIC.gaps(VARIANTS["numbered"])}
