"""Everything written for SONiC has a reader, and requirements of readers are proved on the device's facts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.back.nos.sonic.consumers import load_consumers
from fabricc.back.nos.sonic.limits import RELEASES
from tests import tenanted
from tests.back.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

EACH = [(name, release) for name in VARIANTS for release in RELEASES]


def render_variant(name: str, release: str) -> tuple[Switch, dict[str, str]]:
    switch = replace(VARIANTS[name], release=release)
    return switch, SONIC.render(switch)


def written_fields(files: dict[str, str]) -> Iterator[tuple[str, str, str | None]]:
    """Table, row and field of everything in `config_db.json`; without a field the row itself."""
    for table, rows in json.loads(files["config_db.json"]).items():
        for row, fields in rows.items():
            yield table, row, None
            for field in fields:
                yield table, row, field


@pytest.mark.parametrize(("name", "release"), EACH)
def test_every_field_that_is_written_has_a_reader_or_a_finding(name: str, release: str) -> None:
    switch, files = render_variant(name, release)
    gaps = {gap.code for gap in SONIC.gaps(switch)}
    if any(gap.fatal for gap in SONIC.gaps(switch)):
        pytest.skip("the release refuses it")
    for table, row, field in written_fields(files):
        reader = load_consumers().of(table, row, field, release)
        assert reader is not None, f"{table}|{row} {field or ''}"
        assert not reader.gap or reader.gap in gaps, f"{table}: {reader.gap} is not told"


@pytest.mark.parametrize(("name", "release"), EACH)
def test_every_line_of_frr_conf_has_a_reader_in_the_release(name: str, release: str) -> None:
    _, files = render_variant(name, release)
    for line in files["frr.conf"].splitlines():
        assert load_consumers().of_line(line).is_in(release), line


def test_every_reader_is_of_something_that_is_written() -> None:
    used = set()
    for name, release in EACH:
        _, files = render_variant(name, release)
        used |= {load_consumers().of(*one, release) for one in written_fields(files)}
        used |= {load_consumers().of_line(line) for line in files["frr.conf"].splitlines()}
    used |= {
        load_consumers().of(*one, switch.release)
        for switch in tenanted.switches("sonic")
        for one in written_fields(SONIC.render(switch))
    }
    assert [one for every in load_consumers().tables.values() for one in every if one not in used] == []


def test_every_reader_has_a_source_and_every_condition_a_use() -> None:
    known = load_consumers()
    every = [one for tables in (known.tables, known.found) for rows in tables.values() for one in rows]
    for one in every:
        assert bool(one.by) is bool(one.sources) is not bool(one.gap), one
        assert all(source.startswith("sonic-") and " " in source for source in one.sources)
        assert {one.since, one.until} <= {"", *RELEASES}
    used = {name for one in every for name in (*one.needs, *filter(None, [one.unless]))}
    assert used == set(known.conditions)
    assert not known.found.keys() & known.tables.keys()


def changed_facts(name: str, release: str = "202505", **rows: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The facts that differ from the plan when a device has these rows."""
    switch, files = render_variant(name, release)
    tables = json.loads(files["config_db.json"])
    for table, more in rows.items():
        for row, fields in more.items():
            tables.setdefault(table, {}).setdefault(row, {}).update(fields)
    planned = SONIC.planned(switch)
    facts = SONIC.read({**files, "config_db.json": json.dumps(tables, indent=4)}).facts
    return {path: value for path, value in facts.items() if planned.get(path) != value}


def test_a_device_that_has_all_services_on_differs_in_nothing() -> None:
    features = {name: {"state": "enabled"} for name in ("bgp", "snmp", "gnmi", "swss")}
    counters = {name: {"FLEX_COUNTER_STATUS": "enable"} for name in ("PFCWD", "QUEUE", "PORT")}
    assert changed_facts("settings", FEATURE=features, FLEX_COUNTER_TABLE=counters) == {}


@pytest.mark.parametrize(
    ("rows", "unread"),
    [
        (
            {"FEATURE": {"snmp": {"state": "disabled"}}},
            {"SNMP", "SNMP_COMMUNITY", "SNMP_USER", "SNMP_AGENT_ADDRESS_CONFIG"},
        ),
        ({"FEATURE": {"gnmi": {"state": "always_disabled"}}}, {"GNMI"}),
        (
            {"FEATURE": {"bgp": {"state": "disabled"}}},
            {"SYSTEM_DEFAULTS", "frr.conf for vtysh", "frr.conf for bfdd"},
        ),
        ({"FLEX_COUNTER_TABLE": {"PFCWD": {"FLEX_COUNTER_STATUS": "disable"}}}, {"PFC_WD"}),
        ({"FLEX_COUNTER_TABLE": {"QUEUE": {"FLEX_COUNTER_STATUS": "disable"}}}, {"FLEX_COUNTER_TABLE"}),
        (
            {"DEVICE_METADATA": {"localhost": {"docker_routing_config_mode": "separated"}}},
            {"frr.conf for vtysh", "frr.conf for bfdd"},
        ),
        (
            {"DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}}},
            {
                *("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH"),
                *("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"),
            },
        ),
        (
            {"MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "false"}}},
            {"NTP", "SYSLOG_SERVER", "TACPLUS_SERVER", "SNMP_AGENT_ADDRESS_CONFIG"},
        ),
    ],
)
def test_a_condition_that_does_not_hold_is_a_finding(
    rows: dict[str, dict[str, dict[str, str]]], unread: set[str]
) -> None:
    found = {
        path: why for path, why in changed_facts("settings", **rows).items() if path.startswith("unread[")
    }
    assert set(found) == {f"unread[{name}]" for name in unread}
    ((table, ((row, fields),)),) = ((table, tuple(more.items())) for table, more in rows.items())
    ((field, value),) = fields.items()
    assert all(f"{table}|{row} {field} is {value}" in str(why) for why in found.values())


def test_a_value_that_no_daemon_takes_is_a_finding_on_its_line() -> None:
    _, files = render_variant("settings", "202505")
    tables = json.loads(files["config_db.json"])
    port = next(iter(tables["PORT"]))
    tables["PORT"][port]["admin_status"] = "UP"
    tables["SWITCH_HASH"]["GLOBAL"]["ecmp_hash"][1] = "DSTIP"
    text = json.dumps(tables, indent=4)
    reading = SONIC.read({"config_db.json": text})
    for name, stated in ((f"PORT|{port} admin_status", '"UP"'), ("SWITCH_HASH|GLOBAL ecmp_hash", '"DSTIP"')):
        assert "is none of" in str(reading.facts[f"unread[{name}]"])
        assert stated in text.split("\n")[reading.lines[f"unread[{name}]"][1] - 1]


def test_the_watchdog_of_most_ports_is_the_usual_one() -> None:
    _, files = render_variant("settings", "202505")
    tables = json.loads(files["config_db.json"])
    first, second, *_ = (port for port in tables["PFC_WD"] if port != "GLOBAL")
    tables["PFC_WD"][first]["detection_time"] = "40000"
    facts = SONIC.read({"config_db.json": json.dumps(tables, indent=4)}).facts
    assert "detection_time 40000" in str(facts[f"interface[{first}]/watchdog"])
    assert facts[f"interface[{second}]/watchdog"] == "true"


def test_bfd_of_frr_without_a_bfdd_is_a_finding_on_its_line() -> None:
    _, files = render_variant("dual", "202505")
    tables = json.loads(files["config_db.json"])
    del tables["SYSTEM_DEFAULTS"]
    reading = SONIC.read({**files, "config_db.json": json.dumps(tables, indent=4)})
    assert reading.facts["unread[frr.conf for bfdd]"] == "SYSTEM_DEFAULTS|software_bfd status is not stated"
    file, line = reading.lines["unread[frr.conf for bfdd]"]
    assert file == "frr.conf"
    assert " bfd" in files["frr.conf"].splitlines()[line - 1]


def test_settings_that_an_older_release_ignores_are_findings() -> None:
    _, files = render_variant("trimming", "202505")
    older = files["config_db.json"].replace("version_202505_01", "version_202411_01")
    facts = SONIC.read({**files, "config_db.json": older}).facts
    assert {path: why for path, why in facts.items() if path.startswith("unread[")} == {
        f"unread[{table}]": "nothing in 202411 does"
        for table in ("SYSTEM_DEFAULTS", "FLEX_COUNTER_TABLE", "SWITCH_TRIMMING", "frr.conf for bfdd")
    }
