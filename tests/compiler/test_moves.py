"""Things that moved, were replaced or retired keep their places, or give them back, and nobody else notices."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import Compiled, compile_spec

if TYPE_CHECKING:
    from pathlib import Path

RACKS = {
    "gpus": {
        "model": "grand-teton", "wiring": "rack", "hosts_per_rack": 2, "capacity": 12,
        "racks": {"a01": ["a01-h1", "a01-h2"], "a02": 2, "a03": ["a03-h1"], "a04": 2},
    },
    "tors": {"model": "7060dx5-64s", "nos": "eos"},
    "spines": {"model": "7060dx5-64s", "nos": "eos", "count": 2},
}  # fmt: skip
COUNTED = {
    "gpus": {"model": "dgx-h100", "hosts": 16, "hosts_per_unit": 8},
    "tors": {"model": "7060x6-64pe", "nos": "eos"},
    "spines": {"model": "7060x6-64pe", "nos": "eos", "count": 2},
}


SPINES = {"model": "7060x6-64pe", "nos": "eos", "count": 4}


def spec_file(folder: Path, base: dict[str, Any], **more: Any) -> Path:
    spec = {
        "cluster": "zone",
        **json.loads(json.dumps(base)),
        "priorities": {
            "rdma": {"dscp": 26, "lossless": True},
            "cnp": {"dscp": 48, "strict": True},
            "default": {},
        },
        "addressing": {"family": "ipv4"},
        "accept": [{"code": "FAB5513", "reason": "accounts are of no concern here"}],
        **more,
    }
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(spec, indent=1))
    return path


def build_spec(folder: Path, base: dict[str, Any], **more: Any) -> Compiled:
    """Planned, with its lock written."""
    compiled = compile_spec(spec_file(folder, base, **more))
    assert compiled.sound, find_errors(compiled)
    compiled.lock_path.write_text(compiled.lock_text)
    return compiled


def find_refusals(folder: Path, base: dict[str, Any], **more: Any) -> list[str]:
    return find_errors(compile_spec(spec_file(folder, base, **more)))


def find_errors(compiled: Compiled) -> list[str]:
    return [
        f"{d.code} {d.position.line if d.position else 0} {d.message}"
        for d in compiled.diagnostics
        if d.severity is Severity.ERROR
    ]


def device_texts(compiled: Compiled, renamed: dict[str, str] | None = None) -> dict[str, str]:
    """Every device's files as one text, names put in the place of former ones."""
    found = {}
    for device in (*compiled.switches(), *compiled.hosts()):
        name, text = device.name, json.dumps(compiled.files(device), sort_keys=True)
        for new, old in (renamed or {}).items():
            name = name.replace(new, old)
            text = text.replace(new, old)
        found[name] = text
    return found


def with_rack(old: str, new: str) -> dict[str, Any]:
    racks = {new if rack == old else rack: hosts for rack, hosts in RACKS["gpus"]["racks"].items()}  # type: ignore[attr-defined]
    return {**RACKS, "gpus": {**RACKS["gpus"], "racks": racks}}


def test_a_renamed_rack_keeps_its_numbers_and_its_line(tmp_path: Path) -> None:
    before = build_spec(tmp_path, RACKS)
    after = build_spec(tmp_path, with_rack("a02", "b-late"), moved={"a02": "b-late"})
    assert "unit gpus/b-late 1\n" in after.lock_text
    assert "gpus/a02" not in after.lock_text
    assert after.fabric.moves.renamed == {
        "b-late-tor1a": "a02-tor1a", "b-late-host01": "a02-host01", "b-late-host02": "a02-host02",
    }  # fmt: skip
    assert device_texts(after, {"b-late": "a02"}) == device_texts(before)


@pytest.mark.parametrize("kept", [True, False])
def test_an_entry_may_stay_or_go_once_it_is_built(tmp_path: Path, kept: bool) -> None:
    build_spec(tmp_path, RACKS)
    first = build_spec(tmp_path, with_rack("a02", "b-late"), moved={"a02": "b-late"})
    again = build_spec(tmp_path, with_rack("a02", "b-late"), **({"moved": {"a02": "b-late"}} if kept else {}))
    assert again.lock_text == first.lock_text
    assert device_texts(again) == device_texts(first)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [("spine02a", "spine-east"), ("su001-tor3a", "leaf-3"), ("su002-host07", "gpu-b07"), ("su002", "hall2")],
)
@pytest.mark.spread
def test_a_computed_name_gives_way_to_another(tmp_path: Path, old: str, new: str, kept: bool) -> None:
    before = build_spec(tmp_path, COUNTED)
    moved = build_spec(tmp_path, COUNTED, moved={old: new})
    assert f"name {old} {new}\n" in moved.lock_text
    assert device_texts(moved, {new: old}) == device_texts(before)
    assert all(former.startswith(old) for former in moved.fabric.moves.renamed.values())
    assert all(name.startswith(new) for name in moved.fabric.moves.renamed)
    later = build_spec(tmp_path, COUNTED, **({"moved": {old: new}} if kept else {}))
    assert later.lock_text == moved.lock_text
    assert device_texts(later) == device_texts(moved)
    back = build_spec(tmp_path, COUNTED, moved={new: old})
    assert device_texts(back) == device_texts(before)
    assert back.lock_text == before.lock_text


def test_names_within_a_unit_follow_its_own(tmp_path: Path) -> None:
    build_spec(tmp_path, COUNTED)
    build_spec(tmp_path, COUNTED, moved={"su002-tor1a": "leaf-x", "su002-host03": "gpu-x"})
    after = build_spec(tmp_path, COUNTED, moved={"su002": "hall2"})
    assert {"name hall2-host03 gpu-x", "name hall2-tor1a leaf-x", "name su002 hall2"} <= set(
        after.lock_text.splitlines()
    )
    assert after.fabric.find("leaf-x") is not None
    assert "leaf-x" not in after.fabric.moves.renamed


def test_a_group_a_network_and_a_host_in_all_of_it_move(tmp_path: Path) -> None:
    tier = {"model": "sn5600", "nos": "sonic-202505"}
    groups = [
        {"name": "compute", "model": "dgx-h100", "hosts": [f"c{i}" for i in range(8)], "hosts_per_unit": 4},
        {"name": "login", "model": "cpu-2x100", "hosts": 2, "hosts_per_unit": 1, "beside": "compute"},
    ]
    base = {"gpus": {"groups": groups}, "tors": tier, "spines": tier}
    network = {"tors": tier, "spines": tier, "ports": "storage"}
    before = build_spec(tmp_path, base, networks={"storage": network})
    groups[1]["name"], groups[0]["hosts"][0] = "access", "z0"  # type: ignore[index]
    moved = {"storage": "nas", "login": "access", "c0": "z0", "storage-spine01a": "nas-east"}
    after = build_spec(tmp_path, base, networks={"nas": network}, moved=moved)
    numbers = [[line.split()[-1] for line in compiled.lock_text.splitlines()] for compiled in (before, after)]
    assert sorted(numbers[0]) == sorted(n for n in numbers[1] if n != "nas-east")
    storage, nas = before.networks["storage"].fabric, after.networks["nas"].fabric
    assert [nas.switch(at).loopback4 for at in nas.switch_ids()] == [
        storage.switch(at).loopback4 for at in storage.switch_ids()
    ]
    assert after.fabric.moves.renamed["su001-access01"] == "su001-login01"
    assert nas.moves.renamed["nas-east"] == "storage-spine01a"
    assert nas.moves.renamed["nas-su001-tor1a"] == "storage-su001-tor1a"
    assert [nas.host(at).ports[0].ipv4 for at in nas.host_ids()] == [
        storage.host(at).ports[0].ipv4 for at in storage.host_ids()
    ]


def test_a_counted_unit_moves_in_a_network_with_hosts_of_its_own(tmp_path: Path) -> None:
    tier = {"model": "sn5600", "nos": "sonic-202505"}
    base = {
        "gpus": {"model": "dgx-h100", "hosts": 16, "hosts_per_unit": 8},
        "tors": tier,
        "spines": tier,
    }
    store = {"name": "store", "model": "storage-2x400", "hosts": 4, "hosts_per_unit": 4}
    networks = {"storage": {"tors": tier, "spines": tier, "groups": [store]}}
    before = build_spec(tmp_path, base, networks=networks).networks["storage"].fabric
    after = build_spec(tmp_path, base, networks=networks, moved={"su001": "hall1"}).networks["storage"].fabric
    assert [after.switch(at).loopback4 for at in after.switch_ids()] == [
        before.switch(at).loopback4 for at in before.switch_ids()
    ]
    assert "storage-hall1-tor1a" in {after.name(at) for at in after.switch_ids()}


def test_a_replaced_host_keeps_its_place(tmp_path: Path) -> None:
    before = build_spec(tmp_path, COUNTED)
    replaced = {"su001-host07": {"by": "su001-host07b", "serial": "X1"}, "spine01a": {"serial": "S2"}}
    after = build_spec(tmp_path, COUNTED, replaced=replaced)
    assert device_texts(after, {"su001-host07b": "su001-host07"}) == device_texts(before)
    assert after.fabric.moves.replaced == {
        "su001-host07b": ("su001-host07", "X1"),
        "spine01a": ("spine01a", "S2"),
    }
    assert not after.fabric.moves.renamed
    assert device_texts(build_spec(tmp_path, COUNTED)) == device_texts(after)


def test_retired_racks_free_their_place_and_removed_racks_do_not(tmp_path: Path) -> None:
    before = build_spec(tmp_path, RACKS)
    left = {**RACKS, "gpus": {**RACKS["gpus"], "racks": {**RACKS["gpus"]["racks"]}}}  # type: ignore[dict-item]
    racks = left["gpus"]["racks"]
    del racks["a02"]
    racks["new1"] = 2
    held = compile_spec(spec_file(tmp_path, left))
    assert "unit gpus/new1 4\n" in held.lock_text
    given = build_spec(tmp_path, left, retired=["a02"])
    assert "unit gpus/new1 1\n" in given.lock_text
    assert device_texts(given, {"new1": "a02"}) == device_texts(before)
    racks["a03"] = ["fresh"]
    again = build_spec(tmp_path, left, retired=["a02", "a03-h1"])
    assert "host fresh 2 0\n" in again.lock_text


def counted_spec(hosts: int) -> dict[str, Any]:
    gpus = {**COUNTED["gpus"], "hosts": hosts, "capacity": 40}  # type: ignore[dict-item]
    return {**COUNTED, "gpus": gpus, "spines": SPINES}


def test_a_counted_unit_that_retired_leaves_a_place_and_no_other_is_renumbered(tmp_path: Path) -> None:
    before = build_spec(tmp_path, counted_spec(28))
    after = build_spec(tmp_path, counted_spec(20), retired=["su002"])
    assert [unit.name for unit in after.fabric.units.values()] == ["su001", "su003", "su004"]
    assert [len(unit.hosts) for unit in after.fabric.units.values()] == [8, 8, 4]
    texts_before, texts_after = device_texts(before), device_texts(after)
    assert texts_after.keys() == {name for name in texts_before if not name.startswith("su002-")}
    changed = {name for name, text in texts_after.items() if text != texts_before[name]}
    assert changed == {f"spine0{n}a" for n in range(1, 5)}, "which have no links to it any more"
    assert device_texts(build_spec(tmp_path, counted_spec(20))) == texts_after, "the entry may go"


@pytest.mark.parametrize(("output", "next_one"), [(["su002"], "su005"), ([], "su002")])
def test_the_place_of_a_counted_unit_is_for_the_next_once_the_entry_is_gone(
    tmp_path: Path, output: list[str], next_one: str
) -> None:
    before = build_spec(tmp_path, counted_spec(32))
    build_spec(tmp_path, counted_spec(24), retired=["su002"])
    grown = build_spec(tmp_path, counted_spec(32), **({"retired": output} if output else {}))
    assert {unit.name for unit in grown.fabric.units.values()} == {"su001", "su003", "su004", next_one}
    then, now = device_texts(before), device_texts(grown)
    hosts = [name for name in then if "host" in name and not name.startswith("su002")]
    assert {name: now[name] for name in hosts} == {name: then[name] for name in hosts}


def test_a_unit_of_one_of_several_counted_groups_retires(tmp_path: Path) -> None:
    own = {"hosts_per_unit": 8, "model": "dgx-h100"}
    groups = [{"name": name, "hosts": hosts, **own} for name, hosts in (("a", 24), ("b", 16))]
    several = {**COUNTED, "gpus": {"capacity": 40, "groups": groups}, "spines": SPINES}
    before = build_spec(tmp_path, several)
    groups[0]["hosts"] = 16
    after = build_spec(tmp_path, several, moved={"su003": "hall3"}, retired=["su002"])
    assert "unit a/0 0\nunit a/1 2\nunit b/0 3\nunit b/1 4\n" in after.lock_text
    gone = {name for name in device_texts(before) if name.startswith("su002-")}
    assert device_texts(after, {"hall3": "su003"}).keys() == device_texts(before).keys() - gone
    groups[1]["hosts"] = 8
    again = build_spec(tmp_path, several, retired=["hall3", "su004"])
    assert [unit.name for unit in again.fabric.units.values()] == ["su001", "su002", "su005"], (
        "a place of before"
    )


@pytest.mark.parametrize(
    ("sections", "reported"),
    [
        ({"moved": {"spine01a": "x", "x": "y"}}, "FAB3400"),
        ({"moved": {"a": "b", "b": "a"}}, "FAB3400"),
        ({"moved": {"a": "c", "b": "c"}}, "FAB3400"),
        ({"moved": {"a": "b"}, "retired": ["a"]}, "FAB3405"),
        ({"moved": {"a01": "x"}}, "FAB3401"),
        ({"moved": {"a01": "a02"}}, "FAB3401"),
        ({"moved": {"spine01a": "a01-h1"}}, "FAB3401"),
        ({"moved": {"spine01a": "spine02a"}}, "FAB3409"),
        ({"moved": {"spine09a": "spine-x"}}, "FAB3402 .*'spine09a', nor 'spine-x'"),
        ({"replaced": {"a01": {"by": "a02"}}}, "FAB3401"),
        ({"retired": ["a01"]}, "FAB3406"),
    ],
)  # fmt: skip
def test_impossible_moves_are_rejected_at_their_line(tmp_path: Path, sections: Any, reported: str) -> None:
    build_spec(tmp_path, RACKS)
    found = find_refusals(tmp_path, RACKS, **sections)
    assert any(re.match(reported, each) for each in found), found


def test_slips_are_reported_with_what_left(tmp_path: Path) -> None:
    build_spec(tmp_path, RACKS)
    found = compile_spec(spec_file(tmp_path, with_rack("a02", "b02"), moved={"a20": "b02"}))
    (slip,) = [d for d in found.diagnostics if d.severity is Severity.ERROR]
    assert slip.code == "FAB3404"
    assert "a02" in slip.help
    build_spec(tmp_path, with_rack("a02", "b02"))
    assert [w[:7] for w in find_refusals(tmp_path, with_rack("a02", "b02"), retired=["a2"])] == ["FAB3407"]
    assert [w[:7] for w in find_refusals(tmp_path, with_rack("a02", "b02"), moved={"a02": "b02"})] == [
        "FAB3403"
    ]


def test_management_switches_keep_their_numbers_with_the_rack_that_moved(tmp_path: Path) -> None:
    management = {
        "network": "172.20.0.0/16",
        "networks": [
            {"network": "172.21.0.0/24", "tier": "oob"},
            {"network": "172.22.0.0/20", "tier": "host"},
        ],
        "switches": {"model": "sn2201", "nos": "cumulus"},
    }
    before = build_spec(tmp_path, RACKS, management=management)
    after = build_spec(tmp_path, with_rack("a02", "z02"), management=management, moved={"a02": "z02"})
    assert "switch oob-a02-1 " in before.lock_text
    lines = before.lock_text.replace("a02", "z02").splitlines()
    assert sorted(after.lock_text.splitlines()) == sorted(lines)


def test_counted_hosts_keep_their_slots_when_listed_in_another_order(tmp_path: Path) -> None:
    before = build_spec(tmp_path, COUNTED)
    old = [f"su00{unit}-host{slot:02d}" for unit in (1, 2) for slot in range(1, 9)]
    moved = {name: f"gpu-{number:02d}" for number, name in enumerate(old) if number % 3}
    listed = [moved.get(name, name) for name in reversed(old)]
    gpus = {**COUNTED["gpus"], "hosts": listed}  # type: ignore[dict-item]
    after = build_spec(tmp_path, {**COUNTED, "gpus": gpus}, moved=moved)
    assert device_texts(after, {new: name for name, new in moved.items()}) == device_texts(before)
    assert after.fabric.moves.renamed == {new: name for name, new in moved.items()}
    assert device_texts(build_spec(tmp_path, {**COUNTED, "gpus": gpus})) == device_texts(after)


def test_counted_racks_keep_their_place_when_they_are_listed(tmp_path: Path) -> None:
    gpus = {"model": "grand-teton", "wiring": "rack", "hosts_per_rack": 2, "capacity": 12, "racks": 4}
    before = build_spec(tmp_path, {**RACKS, "gpus": gpus})
    racks = {"zrack": 2, "rack002": ["xhost-one", "xhost-two"], "brack": 2, "rack004": 2}
    moved = {
        "rack001": "zrack",
        "rack003": "brack",
        "rack002-host02": "xhost-two",
        "rack002-host01": "xhost-one",
    }
    after = build_spec(tmp_path, {**RACKS, "gpus": {**gpus, "racks": racks}}, moved=moved)
    assert device_texts(after, {new: name for name, new in moved.items()}) == device_texts(before)


def test_renamed_switch_of_a_table_keeps_its_identity(tmp_path: Path) -> None:
    table = tmp_path / "devices.csv"
    table.write_text("device,name\nspine02a,spine-a\n")
    before = build_spec(tmp_path, COUNTED, identities={"devices": "devices.csv"})
    table.write_text("device,name\nspine02a,spine-b\n")
    sections = {"identities": {"devices": "devices.csv"}, "moved": {"spine-a": "spine-b"}}
    after = build_spec(tmp_path, COUNTED, **sections)
    assert after.lock_text == before.lock_text
    assert after.fabric.moves.renamed == {"spine-b": "spine-a"}
    assert device_texts(after, {"spine-b": "spine-a"}) == device_texts(before)
    table.write_text("device,name\nspine02a,spine-a\n")
    (found,) = find_refusals(tmp_path, COUNTED, **sections)
    assert found.startswith("FAB3401")


def test_a_subnet_renames_what_its_spec_lists_and_nothing_else(tmp_path: Path) -> None:
    base = {
        "cluster": "zone", "fabric": "infiniband",
        "gpus": {"model": "dgx-h100", "hosts": ["a", "b", "c", "d"], "hosts_per_unit": 2},
        "tors": {"model": "qm9700"}, "spines": {"model": "qm9700"}, "priorities": {"default": {}},
    }  # fmt: skip
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(base))
    before = compile_spec(path)
    assert before.sound, find_errors(before)
    before.lock_path.write_text(before.lock_text)
    path.write_text(
        json.dumps({**base, "gpus": {**base["gpus"], "hosts": ["d", "b", "c", "z"]}, "moved": {"a": "z"}})  # type: ignore[dict-item]
    )
    after = compile_spec(path)
    assert after.sound, find_errors(after)
    assert sorted(after.lock_text.splitlines()) == sorted(
        before.lock_text.replace("host a ", "host z ").splitlines()
    )
    path.write_text(json.dumps({**base, "moved": {"spine01a": "x"}}))
    assert [each[:7] for each in find_errors(compile_spec(path))] == ["FAB3414"]


def test_links_out_keep_their_numbers_with_the_switch_and_the_party_that_moved(tmp_path: Path) -> None:
    def external(party: str, *switches: str) -> dict[str, Any]:
        links = [
            {
                "at": at,
                "port": "Ethernet64/1",
                "speed_gbps": 400,
                "peer": f"core-{number}",
                "peer_port": "et-0/0/1",
            }
            for number, at in enumerate(switches)
        ]
        return {party: {"asn": 64999, "network": "192.0.2.0/24", "links": links}}

    base = {**COUNTED, "spines": {**COUNTED["spines"], "reserved_ports": 8}}  # type: ignore[dict-item]
    before = build_spec(tmp_path, base, external=external("dc", "spine01a", "spine02a"))
    assert "link dc/spine02a/ethernet64/1 1\n" in before.lock_text
    moved = {"dc": "wan", "spine02a": "spine-east"}
    after = build_spec(tmp_path, base, external=external("wan", "spine-east", "spine01a"), moved=moved)
    assert "link wan/spine-east/ethernet64/1 1\n" in after.lock_text
    assert "link wan/spine01a/ethernet64/1 0\n" in after.lock_text
    assert after.fabric.moves.parties == {"wan": "dc"}


def test_an_entry_may_stay_when_what_moved_left_since(tmp_path: Path) -> None:
    build_spec(tmp_path, RACKS)
    moved = {"a02": "b02", "a04-tor1a": "leaf-4", "a03-h1": "gpu-3"}
    racks = {**with_rack("a02", "b02")["gpus"]["racks"], "a03": ["gpu-3"]}
    build_spec(tmp_path, {**RACKS, "gpus": {**RACKS["gpus"], "racks": racks}}, moved=moved)  # type: ignore[dict-item]
    fewer = {"a01": racks["a01"]}
    build_spec(tmp_path, {**RACKS, "gpus": {**RACKS["gpus"], "racks": fewer}}, moved=moved)  # type: ignore[dict-item]
