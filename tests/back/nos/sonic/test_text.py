"""The rendered `config_db.json`: its layout, and what SONiC's YANG models do not see."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.back.nos.sonic.config_db import table_tree, write
from fabricc.back.reading.tree import Node
from tests.back.nos.sonic.variants import VARIANTS

GOLDEN = Path(__file__).parent / "golden"
EACH = pytest.mark.parametrize("name", VARIANTS)

Tables = dict[str, dict[str, dict[str, str]]]


def read_tables(name: str) -> Tables:
    parsed: Tables = json.loads(SONIC.render(VARIANTS[name])["config_db.json"])
    return parsed


@EACH
def test_text_is_the_golden_one(name: str) -> None:
    for file, text in SONIC.render(VARIANTS[name]).items():
        golden = GOLDEN / f"{name}.{file}"
        if os.environ.get("UPDATE_GOLDEN"):
            golden.write_text(text)
        assert text == golden.read_text()


@EACH
def test_layout_is_that_of_config_save(name: str) -> None:
    text = SONIC.render(VARIANTS[name])["config_db.json"]
    assert text == json.dumps(json.loads(text), indent=4) + "\n"


def test_writer_escapes_what_json_wants_escaped() -> None:
    rows = {"T": {'a"b': {"x\n": "\u20ac\\", "list": ["1", "2"]}, "empty": {}}, "NONE": {}}
    assert json.loads(write(rows)) == {"T": rows["T"]}


@EACH
def test_every_scalar_is_text(name: str) -> None:
    for rows in read_tables(name).values():
        assert rows, "apply-patch refuses empty tables"
        for row in rows.values():
            for value in row.values():
                assert isinstance(value, str) or all(isinstance(item, str) for item in value)


@EACH
@pytest.mark.parametrize("indent", [1, 4])
def test_lines_are_those_of_the_text(name: str, indent: int) -> None:
    text = json.dumps(json.loads(SONIC.render(VARIANTS[name])["config_db.json"]), indent=indent)
    split = text.splitlines()
    read = table_tree(json.loads(text).keys(), text)
    assert not read.faults
    every = [row for table in read.nodes for row in table.children or ()]
    rows = [row for row in every if len(row.key) == 1]
    fields = [field for row in every for field in row.children or ()]
    fields += [Node(row.key[1:], row.line) for row in every if len(row.key) > 1]
    reported = 0
    for depth, nodes in ((1, read.nodes), (2, rows), (3, fields)):
        for node in nodes:
            lone = node.key[1:2] == ("@",) and split[node.line - 2].endswith(
                "["
            )  # at the only item of a list
            assert split[node.line - 1 - lone].startswith(f'{" " * depth * indent}"{node.key[0]}":')
            reported += 1
    assert reported == text.count('": ') - sum(len(row.key) > 1 for row in every)


@pytest.mark.parametrize("value", ['to \\"x\\": y', "::/0", "::", ":"])
@pytest.mark.parametrize("colon", [":", " : "])
def test_lines_are_exact_where_a_value_looks_like_the_end_of_a_key(value: str, colon: str) -> None:
    text = (
        f'{{\n"PORT"{colon}{{\n"Ethernet0"{colon}{{\n"description"{colon}"{value}",\n"mtu"{colon}"9100"}}}}}}'
    )
    (table,) = table_tree({"PORT"}, text).nodes
    (row,) = table.children or ()
    fields = [(field.key[0], field.line) for field in row.children or ()]
    assert (table.line, row.line, fields) == (2, 3, [("description", 4), ("mtu", 5)])


def test_a_key_that_is_there_twice_leaves_the_line_of_the_table() -> None:
    text = '{\n"PORT": {\n"Ethernet0": {\n"mtu": "1500",\n"mtu": "9100"}}}'
    (table,) = table_tree({"PORT"}, text).nodes
    (row,) = table.children or ()
    assert [(each.key, each.line) for each in (row, *(row.children or ()))] == [
        (("Ethernet0",), 2),
        (("mtu", "9100"), 2),
    ]


@EACH
def test_lanes_are_used_once_and_carry_the_speed(name: str) -> None:
    ports = read_tables(name)["PORT"]
    lanes = [lane for row in ports.values() for lane in row["lanes"].split(",")]
    assert max(Counter(lanes).values()) == 1
    assert max(Counter(row["alias"] for row in ports.values()).values()) == 1
    for row in ports.values():
        per_lane = int(row["speed"]) / len(row["lanes"].split(","))
        assert per_lane in (25_000, 50_000, 100_000)
        assert row.get("fec", "rs") == "rs"


def test_names_are_first_lane_positions() -> None:
    for name, row in read_tables("numbered")["PORT"].items():
        assert name == f"Ethernet{row['lanes'].split(',')[0]}"


def test_breakout_modes_are_keys_of_the_platform() -> None:
    modes = {row["brkout_mode"] for row in read_tables("numbered")["BREAKOUT_CFG"].values()}
    assert modes == {"2x400G[200G,100G,50G,40G,25G,10G]"}
    assert "BREAKOUT_CFG" not in read_tables("broadcom")


@EACH
def test_group_and_queue_ranges_do_not_overlap(name: str) -> None:
    for table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
        seen: Counter[tuple[str, int]] = Counter()
        for key in read_tables(name).get(table, {}):
            port, _, numbers = key.partition("|")
            first, _, last = numbers.partition("-")
            seen.update((port, number) for number in range(int(first), int(last or first) + 1))
        assert all(count == 1 for count in seen.values())


@EACH
def test_profiles_have_exactly_one_threshold_and_mode_agrees(name: str) -> None:
    read = read_tables(name)
    for row in read.get("BUFFER_PROFILE", {}).values():
        assert ("dynamic_th" in row) != ("static_th" in row)
    if read.get("BUFFER_POOL", {}).get("egress_lossless_pool", {}).get("mode") == "static":
        profile = read["BUFFER_PROFILE"]["egress_lossless_profile"]
        assert profile["static_th"] == read["BUFFER_POOL"]["egress_lossless_pool"]["size"]


@EACH
def test_dscp_map_is_complete_and_weights_are_shares(name: str) -> None:
    read = read_tables(name)
    assert sorted(map(int, read["DSCP_TO_TC_MAP"]["AZURE"])) == list(range(64))
    assert sum(int(row["weight"]) for row in read["SCHEDULER"].values() if "weight" in row) == 100


@EACH
def test_paused_priorities_have_groups_queues_and_maps(name: str) -> None:
    read = read_tables(name)
    for port, row in read["PORT_QOS_MAP"].items():
        for priority in row.get("pfc_enable", "").split(",") if row.get("pfc_enable") else ():
            assert read["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"][priority] == priority
            assert read["TC_TO_QUEUE_MAP"]["AZURE"][priority] == priority
            assert read["BUFFER_PG"][f"{port}|{priority}"]["profile"].startswith("pg_lossless_")
            assert read["BUFFER_QUEUE"][f"{port}|{priority}"]["profile"] == "egress_lossless_profile"
            assert row["pfcwd_sw_enable"] == row["pfc_enable"]


def test_lossless_profile_is_the_one_buffermgrd_would_make() -> None:
    read = read_tables("numbered")
    for port, length in read["CABLE_LENGTH"]["AZURE"].items():
        speed = read["PORT"][port]["speed"]
        assert read["BUFFER_PG"][f"{port}|3"]["profile"] == f"pg_lossless_{speed}_{length}_profile"


def test_shared_headroom_only_where_the_platform_has_it() -> None:
    assert read_tables("broadcom")["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] == "29423360"
    assert "xoff" not in read_tables("numbered")["BUFFER_POOL"]["ingress_lossless_pool"]


def test_profile_lists_only_where_the_asic_wants_them() -> None:
    assert "BUFFER_PORT_EGRESS_PROFILE_LIST" in read_tables("numbered")
    assert "BUFFER_PORT_EGRESS_PROFILE_LIST" not in read_tables("broadcom")


def test_tiers_hash_differently() -> None:
    assert read_tables("numbered")["DEVICE_METADATA"]["localhost"]["type"] == "ToRRouter"
    assert read_tables("spine")["DEVICE_METADATA"]["localhost"]["type"] == "LeafRouter"


@EACH
def test_bgp_is_in_frr_conf_alone(name: str) -> None:
    assert not [table for table in read_tables(name) if table.startswith("BGP_")]
    assert read_tables(name)["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"


def test_unused_ports_are_shut_and_without_policy() -> None:
    read = read_tables("numbered")
    for port in ("Ethernet12", "Ethernet512"):
        assert read["PORT"][port]["admin_status"] == "down"
        assert port not in read["PORT_QOS_MAP"]
        assert port not in read["INTERFACE"]


def test_tacacs_rejection_is_final() -> None:
    aaa = read_tables("settings")["AAA"]
    assert aaa["authentication"] == {"login": "tacacs+,local"}
    assert "authorization" not in aaa, (
        "the servers would be asked for every command, also for those of `push`"
    )
    assert aaa["accounting"] == {"login": "tacacs+,local"}


def test_failthrough_on_a_device_is_a_difference() -> None:
    files = SONIC.render(VARIANTS["settings"])
    parsed = json.loads(files["config_db.json"])
    parsed["AAA"]["authentication"]["failthrough"] = "True"
    parsed["AAA"]["authorization"] = {"login": "tacacs+,local"}
    facts = SONIC.read({**files, "config_db.json": json.dumps(parsed, indent=4)}).facts
    planned = SONIC.planned(VARIANTS["settings"])
    assert {path for path in facts if facts[path] != planned.get(path)} == {
        "aaa[authentication]",
        "aaa[authorization]",
    }


def test_shut_ports_of_a_spectrum_hold_no_buffer_and_those_of_others_have_no_rows() -> None:
    spectrum, broadcom = read_tables("numbered"), read_tables("broadcom")
    shut = {name for name, row in spectrum["PORT"].items() if row.get("admin_status") != "up"}
    assert shut == {"Ethernet12", "Ethernet512"}
    assert spectrum["BUFFER_POOL"]["ingress_zero_pool"] == {"mode": "static", "size": "0", "type": "ingress"}
    for name in shut:
        queues = {
            key: row["profile"] for key, row in spectrum["BUFFER_QUEUE"].items() if key.startswith(f"{name}|")
        }
        assert spectrum["BUFFER_PG"][f"{name}|0"] == {"profile": "ingress_lossy_pg_zero_profile"}
        assert set(queues.values()) == {"egress_lossless_zero_profile", "egress_lossy_zero_profile"}
    assert not any("zero" in name for name in (*broadcom["BUFFER_POOL"], *broadcom["BUFFER_PROFILE"]))


def test_a_port_in_use_without_buffer_is_no_plan_of_ours() -> None:
    files = SONIC.render(VARIANTS["numbered"])
    planted = json.loads(files["config_db.json"])
    planted["BUFFER_PG"]["Ethernet0|0"]["profile"] = "ingress_lossy_pg_zero_profile"
    reading = SONIC.read({"config_db.json": json.dumps(planted)})
    assert any("a port in use holds no buffer" in words for _, _, words in reading.unknown)
    assert reading.facts["interface[Ethernet0]/reserved_buffer"] == "none"


def test_a_shut_port_holds_no_buffer_of_the_group_of_lossy_traffic() -> None:
    files = SONIC.render(VARIANTS["numbered"])
    for group in ("1", "0-1", "x"):
        text = files["config_db.json"].replace('"Ethernet12|0": {', f'"Ethernet12|{group}": {{', 1)
        at = text[: text.index(f'"Ethernet12|{group}"')].count("\n") + 1
        unknown = SONIC.read({"config_db.json": text}).unknown
        assert ("config_db.json", at, f"BUFFER_PG|Ethernet12|{group}: not the lossy group 0") in unknown
