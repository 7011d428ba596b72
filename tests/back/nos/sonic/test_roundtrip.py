"""The content of the SONiC files, read back, equals the switch; and a change of any field is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.sonic import SONIC
from fabricc.fabric.facts import switch_facts
from fabricc.fabric.qos import BufferPools, Ecn, Headroom, Watchdog
from tests import samples
from tests.back.nos.sonic.variants import BROADCOM, MELLANOX, VARIANTS, tor
from tests.effort import scale_examples

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

IRRELEVANT = [("NTP_SERVER", "iburst"), ("VERSIONS", "VERSION")]
"""Fields whose value steers neither packets nor routes: the reader does not report them."""


ODD_SIZES = ("reserve more than the pool has", "holds a few packets of all ports")
"""What drawn sizes do, which no plan has."""
FILES = {name: SONIC.render(switch) for name, switch in VARIANTS.items()}
PLANNED = {name: SONIC.planned(switch) for name, switch in VARIANTS.items()}


def assert_reads_back(switch: Switch) -> None:
    reading = SONIC.read(SONIC.render(switch))
    sound = [each for each in reading.unknown if not each[2].endswith(ODD_SIZES)]
    assert sound == []
    assert reading.facts == SONIC.planned(switch)
    marks = {
        path for path in reading.lines if path.endswith("/ecn_min_bytes")
    }  # the places of those not stated, too
    assert reading.lines.keys() - marks == reading.facts.keys() - marks


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_read_back(name: str) -> None:
    assert_reads_back(VARIANTS[name])


def test_planned_facts_leave_out_accounts_alone() -> None:
    switch = VARIANTS["dual"]
    assert switch_facts(switch).keys() - SONIC.planned(switch).keys() == {"user[netops]/ssh_key"}
    planned = SONIC.planned(switch)
    assert all(planned[path] == value for path, value in switch_facts(switch).items() if path in planned)


KILOBYTES = st.integers(1, 400_000).map(lambda kb: kb * 1024)


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    vendor = draw(st.sampled_from([MELLANOX, BROADCOM]))
    switch = tor(
        vendor, dual=draw(st.booleans()), unnumbered=draw(st.booleans()), drained=draw(st.booleans())
    )
    lossless = draw(st.sets(st.sampled_from([0, 3, 4, 6]), min_size=1, max_size=2))
    classes = tuple(
        replace(c, priority=p, name=f"class-{p}", lossless=p in lossless, strict=p == 6, ecn=p in lossless)
        for p, c in zip((0, 3, 4, 6), (*samples.CLASSES, samples.CLASSES[1]), strict=True)
    )
    dscps = draw(st.permutations(range(64)))
    classes = tuple(
        replace(c, dscps=tuple(sorted(dscps[16 * i : 16 * i + 16])), weight_percent=draw(st.integers(1, 100)))
        for i, c in enumerate(classes)
    )
    classes = tuple(replace(c, weight_percent=0) if c.strict else c for c in classes)
    profiles = tuple(
        replace(
            profile,
            headroom=Headroom(
                profile.cable_m,
                draw(KILOBYTES),
                draw(KILOBYTES),
                draw(KILOBYTES),
                draw(st.none() | KILOBYTES),
                draw(st.integers(-8, 7)),
                "drawn",
            ),
            ecn=draw(st.none() | st.builds(Ecn, KILOBYTES, KILOBYTES, st.integers(1, 100))),
        )
        for profile in switch.qos.profiles
    )
    pools = BufferPools(
        draw(KILOBYTES),
        draw(st.just(0) | KILOBYTES),
        draw(KILOBYTES),
        draw(st.none() | KILOBYTES),
        draw(st.booleans()),
    )
    watchdog = draw(
        st.none() | st.builds(Watchdog, *[st.integers(100, 1000)] * 3, st.sampled_from(["drop", "forward"]))
    )
    used = draw(st.sets(st.sampled_from([p.name for p in switch.ports])))
    ports = tuple(
        replace(
            port,
            mtu=draw(st.integers(1280, 9216)),
            medium=draw(st.sampled_from([None, "dac", "smf"])),
            profile=port.profile if port.name in used else None,
        )
        for port in switch.ports
    )
    qos = replace(switch.qos, classes=classes, profiles=profiles, pools=pools, watchdog=watchdog)
    return replace(switch, ports=ports, qos=qos)


@settings(max_examples=scale_examples(60), deadline=None)
@given(draw_switches())
def test_any_switch_reads_back(switch: Switch) -> None:
    assert_reads_back(switch)


def is_noticed(name: str, tables: dict[str, Any]) -> bool:
    files = {**FILES[name], "config_db.json": json.dumps(tables, indent=4)}
    reading = SONIC.read(files)
    return bool(reading.unknown) or reading.facts != PLANNED[name]


def _alter_value(value: Any) -> Any:
    if isinstance(value, list):
        return value[1:]
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    return str(int(value) + 1) if value.isdecimal() else f"{value}x"


EVERY = [False, pytest.param(True, marks=pytest.mark.slow)]


def sample_rows(rows: dict[str, dict[str, Any]], every: bool) -> list[str]:
    """One row of each set of fields, or every row of a table."""
    return list(rows) if every else list({tuple(row): key for key, row in rows.items()}.values())


@pytest.mark.slow
@pytest.mark.parametrize("every", EVERY, ids=["one of a kind", "every row"])
@pytest.mark.parametrize("name", ["dual", "unnumbered", "broadcom"])
def test_a_change_of_any_field_is_noticed(name: str, every: bool) -> None:
    tables = json.loads(SONIC.render(VARIANTS[name])["config_db.json"])
    unnoticed = []
    for table, rows in tables.items():
        for key in sample_rows(rows, every):
            row = rows[key]
            for field, value in list(row.items()):
                row[field] = _alter_value(value)
                if not is_noticed(name, tables):
                    unnoticed.append((table, field))
                row[field] = value
    assert sorted(set(unnoticed)) == IRRELEVANT


@pytest.mark.slow
@pytest.mark.parametrize("every", EVERY, ids=["one of a kind", "every row"])
@pytest.mark.parametrize("name", ["dual", "unnumbered", "broadcom"])
def test_a_missing_field_is_noticed(name: str, every: bool) -> None:
    """A port without `admin_status` is down, as the unused ones are; the severity has a default."""
    tables = json.loads(SONIC.render(VARIANTS[name])["config_db.json"])
    unnoticed = []
    for table, rows in tables.items():
        for key in sample_rows(rows, every):
            row = rows[key]
            for field in row:
                rows[key] = {other: value for other, value in row.items() if other != field}
                if row[field] != "down" and not is_noticed(name, tables):
                    unnoticed.append((table, field))
            rows[key] = row
    assert sorted(set(unnoticed)) == sorted([*IRRELEVANT, ("SYSLOG_SERVER", "severity")])


@pytest.mark.parametrize("every", EVERY, ids=["one of a kind", "every row"])
@pytest.mark.parametrize("name", ["dual", "unnumbered", "broadcom"])
@pytest.mark.spread
def test_a_missing_row_or_table_is_noticed(name: str, every: bool) -> None:
    tables = json.loads(SONIC.render(VARIANTS[name])["config_db.json"])
    unnoticed = []
    for table, rows in list(tables.items()):
        for gone in (*([key] for key in sample_rows(rows, every)), list(rows)):
            left = {key: row for key, row in rows.items() if key not in gone}
            changed = {t: left if t == table else r for t, r in tables.items() if left or t != table}
            if not is_noticed(name, changed):
                unnoticed.append((table, *gone))
    assert sorted(set(unnoticed)) == [("VERSIONS", "DATABASE")]


def test_the_fact_named_is_the_one_changed() -> None:
    switch = VARIANTS["numbered"]
    files = SONIC.render(switch)
    planned = SONIC.planned(switch)
    lines = files["config_db.json"].splitlines()
    for old, new, path in (
        ('"xoff": "283648"', '"xoff": "283649"', "interface[Ethernet16]/headroom/xoff_bytes"),
        ('"26": "3"', '"26": "0"', "qos/dscp[26]/traffic_class"),
        ('"weight": "90"', '"weight": "80"', "interface[Ethernet0]/queue[3]/scheduler"),
        ('"detection_time": "200"', '"detection_time": "300"', "interface[Ethernet0]/watchdog"),
        ('"brkout_mode": "2x400G', '"brkout_mode": "4x400G', "breakout[Ethernet0]"),
        ('"hostname": "su001-tor1a"', '"hostname": "tor"', "system/hostname"),
    ):
        number = next(i for i, line in enumerate(lines) if old in line)
        text = "\n".join([*lines[:number], lines[number].replace(old, new), *lines[number + 1 :]])
        reading = SONIC.read({**files, "config_db.json": text})
        changed = {p for p in planned.keys() | reading.facts.keys() if planned.get(p) != reading.facts.get(p)}
        assert path in changed
        if path.startswith(("qos", "breakout", "interface[Ethernet16]/headroom")):
            assert reading.lines[path] == ("config_db.json", number + 1)
