"""The reader takes whatever a device, or an editor, makes of `config_db.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.nos.sonic import SONIC
from fabricc.operate.devices.running import find_differences
from tests.back.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterable

RENDERED = SONIC.render(VARIANTS["dual"])
PLANNED = SONIC.planned(VARIANTS["dual"])


@pytest.mark.parametrize("indent", [None, 1, 2, 8])
def test_layout_does_not_change_the_facts(indent: int | None) -> None:
    text = json.dumps(json.loads(RENDERED["config_db.json"]), indent=indent, sort_keys=True)
    reading = SONIC.read({**RENDERED, "config_db.json": text})
    assert reading.facts == PLANNED
    assert reading.unknown == []


def test_tables_added_by_a_running_device_are_no_difference() -> None:
    tables = json.loads(RENDERED["config_db.json"])
    tables["FEATURE"] = {"bgp": {"state": "enabled"}}
    tables["CRM"] = {"Config": {"polling_interval": "300"}}
    tables["DEVICE_METADATA"]["localhost"] |= {"mac": "00:11:22:33:44:55", "timezone": "Etc/UTC"}
    tables["PORT"]["Ethernet0"]["tpid"] = "0x8100"
    tables["INTERFACE"]["Ethernet0"] = {"NULL": "NULL"}
    reading = SONIC.read({**RENDERED, "config_db.json": json.dumps(tables, indent=4)})
    assert reading.facts == PLANNED
    assert reading.unknown == []


@pytest.mark.parametrize(
    ("table", "key", "row"),
    [
        ("BGP_NEIGHBOR", "10.64.0.0", {"asn": "65000"}),
        ("ACL_RULE", "DENY|1", {"PACKET_ACTION": "DROP"}),
        ("INTERFACE", "Ethernet0|10.9.9.9/31", {}),
        ("PORT_QOS_MAP", "Ethernet8", {"dscp_to_tc_map": "OTHER"}),
        ("DSCP_TO_TC_MAP", "OTHER", {"0": "1"}),
        ("PORT", "Ethernet0", {"lanes": [7]}),
        ("QUEUE", "Ethernet0|3", {"scheduler": "rdma", "wred_profile": "ghost"}),
        ("BUFFER_PG", "Ethernet0|4", {"profile": "pg_lossless_400000_5m_profile"}),
        ("BUFFER_QUEUE", "Ethernet0|0-2", {"profile": "egress_lossless_profile"}),
        ("PFC_WD", "Ethernet12", {"action": "drop"}),
        ("LOOPBACK_INTERFACE", "Loopback1", {}),
    ],
)
def test_unplanned_settings_are_listed_with_their_lines(table: str, key: str, row: dict[str, object]) -> None:
    tables = json.loads(RENDERED["config_db.json"])
    tables.setdefault(table, {})[key] = row
    text = json.dumps(tables, indent=4)
    unknown = SONIC.read({**RENDERED, "config_db.json": text}).unknown
    assert unknown
    for file, line, _ in unknown:
        assert file == "config_db.json"
        assert 1 <= line <= text.count("\n") + 1


@pytest.mark.parametrize("priorities", [map(str, range(8)), ["9" * 5000, "\u0663", "3-4", "3-"]])
def test_odd_pfc_priorities_are_facts_of_their_own(priorities: Iterable[str]) -> None:
    tables = json.loads(RENDERED["config_db.json"])
    tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"] = row = dict.fromkeys(priorities, "3")
    facts = SONIC.read({**RENDERED, "config_db.json": json.dumps(tables)}).facts
    assert {f"qos/pfc_priority[{priority}]/queue" for priority in row} <= facts.keys()


def test_files_that_disagree_are_listed() -> None:
    frr = RENDERED["frr.conf"].replace("router bgp 4200100000", "router bgp 4200100001")
    assert SONIC.read({**RENDERED, "frr.conf": frr}).unknown


def test_one_file_alone_gives_its_facts() -> None:
    alone = SONIC.read({"config_db.json": RENDERED["config_db.json"]})
    assert alone.facts["interface[Ethernet0]/mtu"] == 9100
    assert alone.unknown == []
    assert SONIC.read({"frr.conf": RENDERED["frr.conf"]}).unknown == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TABLES = sorted(json.loads(RENDERED["config_db.json"]))


@given(st.dictionaries(st.sampled_from(TABLES), JSON | st.dictionaries(st.text(), JSON, max_size=3)))
def test_no_json_makes_it_fail(tables: dict[str, object]) -> None:
    SONIC.read({"config_db.json": json.dumps(tables)})


@st.composite
def draw_damaged(draw: st.DrawFn) -> str:
    """The rendered tables with a few values replaced by anything."""
    tables = json.loads(RENDERED["config_db.json"])
    for _ in range(draw(st.integers(1, 4))):
        rows = tables[draw(st.sampled_from(TABLES))]
        key = draw(st.sampled_from(sorted(rows)) | st.text())
        row = rows.get(key)
        if isinstance(row, dict) and row and draw(st.booleans()):
            row[draw(st.sampled_from(sorted(row)))] = draw(JSON)
        else:
            rows[key] = draw(JSON)
    return json.dumps(tables)


def test_list_of_buffer_profiles_is_reported() -> None:
    tables = json.loads(SONIC.render(VARIANTS["dual"])["config_db.json"])
    tables["BUFFER_QUEUE"]["Ethernet0|0"] = {"profile": ["a", "b"]}
    reading = SONIC.read({"config_db.json": json.dumps(tables)})
    assert any("BUFFER_QUEUE|Ethernet0|0 profile" in text for _, _, text in reading.unknown)


def test_a_queue_without_a_number_is_of_no_port() -> None:
    tables = json.loads(RENDERED["config_db.json"])
    tables["QUEUE"]["Ethernet0|x"] = {}
    assert SONIC.read({"config_db.json": json.dumps(tables)}).facts


@given(draw_damaged())
def test_no_damage_makes_it_fail(text: str) -> None:
    SONIC.read({"config_db.json": text})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"PORT": ' + "[" * 100_000, '{"PORT": ' + "9" * 5000 + "}"]
)
def test_text_that_is_no_config_is_one_unknown_line(text: str) -> None:
    assert SONIC.read({"config_db.json": text}).unknown


def shut_port(name: str, port: str = "Ethernet0") -> dict[str, str]:
    """The files of a switch on which an operator shut a port, and buffermgrd took back its lossless group."""
    files = SONIC.render(VARIANTS[name])
    tables = json.loads(files["config_db.json"])
    tables["PORT"][port]["admin_status"] = "down"
    del tables["BUFFER_PG"][f"{port}|3"]
    return {**files, "config_db.json": json.dumps(tables, indent=4)}


def test_a_group_that_buffermgrd_took_back_from_a_shut_port_is_no_difference() -> None:
    files = shut_port("dual")
    assert [one.path for one in find_differences("sonic", files, RENDERED)] == [
        "interface[Ethernet0]/enabled"
    ]
    assert SONIC.read(files).unknown == []


def test_other_vendors_take_no_groups_back() -> None:
    files = shut_port("broadcom")
    assert any("not PFC's" in text for _, _, text in SONIC.read(files).unknown)


def test_a_missing_group_of_a_port_that_is_up_is_a_difference() -> None:
    files = shut_port("dual")
    up = files["config_db.json"].replace('"admin_status": "down"', '"admin_status": "up"', 1)
    paths = {one.path for one in find_differences("sonic", {**files, "config_db.json": up}, RENDERED)}
    assert "interface[Ethernet0]/headroom/xoff_bytes" in paths


def test_a_row_of_a_profile_may_have_unknown_fields_or_none() -> None:
    tables = json.loads(RENDERED["config_db.json"])
    tables["BUFFER_QUEUE"]["Ethernet0|3"]["color"] = "red"
    tables["BUFFER_PG"]["Ethernet0|5"] = {}
    text = json.dumps(tables, indent=4)
    lines = text.split("\n")
    reading = SONIC.read({**RENDERED, "config_db.json": text})
    assert reading.facts == PLANNED
    assert reading.unknown == [
        ("config_db.json", 1 + lines.index('        "Ethernet0|5": {}'), "BUFFER_PG|Ethernet0|5"),
        (
            "config_db.json",
            1 + lines.index('            "color": "red"'),
            "BUFFER_QUEUE|Ethernet0|3 color: red",
        ),
    ]


def test_the_container_of_lldpd_is_read_and_other_rows_that_images_bring_are_listed() -> None:
    text = json.dumps({"FEATURE": {"lldp": {"state": "disabled"}, "telnet": {"state": "enabled"}}}, indent=4)
    reading = SONIC.read({"config_db.json": text})
    assert reading.facts["lldp/enabled"] == "false"
    assert reading.lines["lldp/enabled"] == ("config_db.json", 4)
    assert SONIC.ignored({"config_db.json": text}) == [("config_db.json", 6, "FEATURE|telnet state: enabled")]


@pytest.mark.parametrize("text", ["21474848", "[1]", '"x"', "null", "true"])
def test_a_file_that_is_no_object_of_tables_has_no_skipped_fields(text: str) -> None:
    assert SONIC.ignored({"config_db.json": text}) == []
    assert SONIC.read({"config_db.json": text}).unknown
