"""`fabricc import netbox`: tables of identities that a build takes, of lists as the API of a NetBox gives them."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from tests.cli.conftest import Fabricc, Ran

SPEC = {
    "cluster": "zone",
    "gpus": {"model": "dgx-h100", "hosts": 16, "hosts_per_unit": 8},
    "tors": {"model": "7060x6-64pe", "nos": "eos"},
    "spines": {"model": "7060x6-64pe", "nos": "eos", "count": 2},
    "priorities": {
        "rdma": {"dscp": 26, "lossless": True},
        "cnp": {"dscp": 48, "strict": True},
        "default": {},
    },
    "addressing": {"family": "ipv4"},
}
ROLES = {"tor": "gpu-leaf", "spine": "gpu-spine"}


def run_import(fabricc: Fabricc, *words: object) -> Ran:
    return fabricc("import", "netbox", *map(str, words))


def write_dump(folder: Path, **more: Any) -> Path:
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(SPEC | more))
    return path


def device(name: str, role: str, index: int) -> dict[str, Any]:
    return {
        "id": index, "name": name, "role": {"id": 1, "name": role.title(), "slug": role},
        "device_type": {"id": 1, "model": "X", "u_height": 1.0}, "rack": {"id": 3, "name": f"r{index:02d}"},
        "position": 40.0, "primary_ip4": {"id": 9, "address": f"172.16.100.{index}/16"},
        "custom_fields": {"asn": 4_210_000_000 + index},
    }  # fmt: skip


def address_record(text: str, name: str, interface: str, role: str | None = None) -> dict[str, Any]:
    return {
        "address": text, "role": {"value": role, "label": role} if role else None,
        "assigned_object_type": "dcim.interface",
        "assigned_object": {"name": interface, "device": {"name": name}},
    }  # fmt: skip


def end_record(name: str, interface: str) -> list[dict[str, Any]]:
    return [{"object_type": "dcim.interface", "object": {"name": interface, "device": {"name": name}}}]


def export(folder: Path, fabric: Fabric) -> dict[str, str]:
    """Write a NetBox export of the fabric with its own names; return computed name -> that name."""
    named = {
        fabric.name(at): f"dc1-{at.tier.value}-{number}" for number, at in enumerate(fabric.switch_ids(), 1)
    }
    devices = [device(named[fabric.name(at)], ROLES[at.tier.value], number)
               for number, at in enumerate(fabric.switch_ids(), 1)]  # fmt: skip
    devices += [device("pdu-1", "pdu", 99), device("su001-host01", "gpu-server", 98)]
    loopbacks = [address_record(f"10.128.77.{number}/32", name, "Loopback0", "loopback")
                 for number, name in enumerate(named.values(), 1)]  # fmt: skip
    cables, links = [], []
    spine_cables = [cable for cable in fabric.cables() if cable.kind == "spine"]
    for number, cable in enumerate(spine_cables):
        a, b = (named[cable.a_device], cable.a_port), (named[cable.b_device], cable.b_port)
        cables.append({"a_terminations": end_record(*a), "b_terminations": end_record(*b)})
        links += [
            address_record(f"192.0.2.{2 * number % 256 + 1}/31", *a),
            address_record(f"192.0.2.{2 * number % 256}/31", *b),
        ]
        if number == 3:
            break
    folder.mkdir()
    for name, items in (("devices", devices), ("ip-addresses", loopbacks + links), ("cables", cables)):
        (folder / f"{name}.json").write_text(
            json.dumps({"count": len(items), "next": None, "results": items})
        )
    return named


def test_an_export_becomes_tables_that_a_plan_takes(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    plain = compile_spec(spec).fabric
    named = export(tmp_path / "export", plain)
    ran = run_import(fabricc, tmp_path / "export", "--spec", spec)
    assert ran.status == 0, ran.err
    rows = {row["device"]: row for row in csv.DictReader((tmp_path / "devices.csv").open())}
    assert rows["spine02a"] == {
        "device": "spine02a", "name": named["spine02a"], "asn": str(4_210_000_000 + len(named)),
        "loopback4": f"10.128.77.{len(named)}", "loopback6": "", "management": f"172.16.100.{len(named)}",
        "rack": f"r{len(named):02d}", "unit": "40", "height": "1",
    }  # fmt: skip
    assert rows["su001-host01"]["rack"] == "r98"
    assert rows["su001-host01"]["management"] == ""
    found = compile_spec(write_dump(tmp_path, identities={"devices": "devices.csv", "links": "links.csv"}))
    assert found.sound, [each.message for each in found.diagnostics]
    assert {found.fabric.name(at) for at in found.fabric.switch_ids()} == set(named.values())
    ports = [port for at in list(found.fabric.switch_ids())[-2:] for port in found.fabric.switch(at).ports]
    assert sum((port.ipv4 or "").startswith("192.0.2.") for port in ports) == 4


LABELS = {
    "devices": (
        "Name",
        "Status",
        "Role",
        "Rack",
        "Position",
        "U Height",
        "IP Address",
        "IPv4 Address",
        "asn",
    ),
    "ip-addresses": ("IP Address", "VRF", "Status", "Role", "Interface", "Parent"),
    "cables": ("ID", "Termination A", "Termination B", "Device A", "Device B"),
}
"""Labels of NetBox's own tables (v4.6: dcim/tables/devices.py and cables.py, ipam/tables/ip.py)."""


def as_csv(folder: Path, delimiter: str = ",") -> Path:
    """The tables that a NetBox exports of the lists of a folder, under the names that it proposes."""
    lists = {name: json.loads((folder / f"{name}.json").read_text())["results"] for name in LABELS}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in LABELS}
    for each in lists["devices"]:
        main, role = each["primary_ip4"]["address"], each["role"]["slug"].replace("-", " ").title()
        place = (
            f"{each['rack']['name']} (F-{each['id']})",
            f"{each['position']:g}",
            f"{each['device_type']['u_height']:g}",
        )
        rows["devices"].append(
            (each["name"], "Active", role, *place, main, main, each["custom_fields"]["asn"])
        )
    for each in lists["ip-addresses"]:
        on, role = each["assigned_object"], (each["role"] or {"label": ""})["label"].title()
        rows["ip-addresses"].append(
            (each["address"], "", "Active", role, f"{on['name']} (up, 1)", f"{on['device']['name']} (A-17)")
        )
    for number, each in enumerate(lists["cables"]):
        (a,), (b,) = each["a_terminations"], each["b_terminations"]
        ends = (
            a["object"]["name"],
            b["object"]["name"],
            a["object"]["device"]["name"],
            b["object"]["device"]["name"],
        )
        rows["cables"].append((number, *ends))
    found = folder.with_name("csv")
    found.mkdir()
    for name, table in rows.items():
        file = found / f"netbox_{name.replace('ip-addresses', 'IP addresses')}.csv"
        with file.open("w", encoding="utf-8-sig", newline="") as out:
            csv.writer(out, delimiter=delimiter).writerows([LABELS[name], *table])
    racks = "".join(f"{each['rack']['name']},F-{each['id']},42U\n" for each in lists["devices"])
    (found / "netbox_racks.csv").write_text("Name,Facility ID,Height\n" + racks)
    return found


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_csv_tables_import_like_api_lists(tmp_path: Path, fabricc: Fabricc, delimiter: str) -> None:
    spec = write_dump(tmp_path)
    export(tmp_path / "export", compile_spec(spec).fabric)
    reported = []
    for name, folder in (("a", tmp_path / "export"), ("b", as_csv(tmp_path / "export", delimiter))):
        ran = run_import(fabricc, folder, "--spec", spec, "-o", tmp_path / name)
        assert ran.status == 0, ran.err
        reported.append(ran.err.replace(f"/{name}/", "/"))
        tables = [(tmp_path / name / f"{each}.csv").read_text() for each in ("devices", "links")]
        assert [table.count("\n") for table in tables] == [
            sum(1 for _ in compile_spec(spec).fabric.switch_ids()) + 2,
            5,
        ]
        reported += tables
    assert reported[:3] == reported[3:]


def test_interfaces_stand_in_for_addresses_and_cables(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    cable = next(each for each in compile_spec(spec).fabric.cables() if each.kind == "spine")
    near, far = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
    (tmp_path / "netbox_devices.csv").write_text(f"Name,Role\n{near[0]},Leaf\n{far[0]},Spine\n")
    rows = [
        f'{port},{device},"192.0.2.{number}/31,2001:db8::{number}/127",{peer} > {peer_port}'
        for number, ((device, port), (peer, peer_port)) in enumerate(((near, far), (far, near)))
    ]
    rows.append(f'Ethernet50/1,{near[0]},,"{far[0]} > Ethernet50/1, {far[0]} > Ethernet51/1"')
    (tmp_path / "netbox_interfaces.csv").write_text(
        "\n".join(["Name,Device,IP Addresses,Link Peers", *rows]) + "\n"
    )
    reported = run_import(fabricc, tmp_path, "--spec", spec).err
    assert "not in the plan" not in reported
    assert "not in the NetBox" in reported
    (row,) = csv.DictReader((tmp_path / "links.csv").open())
    assert (row["a_ipv4"], row["b_ipv4"], row["b_ipv6"]) == ("192.0.2.0", "192.0.2.1", "2001:db8::1")


def test_columns_and_lists_that_are_not_there_are_reported(tmp_path: Path, fabricc: Fabricc) -> None:
    """The current view of NetBox's defaults shows neither positions of devices nor whose an address is."""
    spec = write_dump(tmp_path)
    here = tmp_path / "export"
    here.mkdir()
    (here / "netbox_devices.csv").write_text("Name,Status,Rack,Role,IP Address\nspine01a,Active,r1,Spine,\n")
    (here / "netbox_IP addresses.csv").write_text(
        "IP Address,VRF,Status,Role\n10.0.0.1/32,Global,Active,Loopback\n"
    )
    reported = run_import(fabricc, here, "--spec", spec).err
    assert "FAB3270: netbox_devices.csv has no column 'position'" in reported
    assert "FAB3270: netbox_IP addresses.csv has no column 'parent', 'interface'" in reported
    assert "FAB3271: there is no list of cables" in reported
    (here / "netbox_devices.csv").write_text("Nom,Statut\nspine01a,Actif\n")
    ran = run_import(fabricc, here, "--spec", spec)
    assert "FAB2149" in ran.err
    assert ran.status == 1


def test_tables_do_not_take_the_place_of_the_export(tmp_path: Path, fabricc: Fabricc) -> None:
    table = "Name,Role,Rack,Position,IP Address\nspine01a,Spine,r1,4,\n"
    (tmp_path / "devices.csv").write_text(table)
    for path in (tmp_path, tmp_path / "devices.csv"):
        ran = run_import(fabricc, path, "--spec", write_dump(tmp_path))
        assert ran.status == 2
        assert "name another folder with -o" in ran.err
    assert (tmp_path / "devices.csv").read_text() == table
    assert (
        run_import(fabricc, tmp_path, "--spec", tmp_path / "cluster.yaml", "-o", tmp_path / "given").status
        == 0
    )


def test_import_reports_rows_without_a_place(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    export(tmp_path / "export", compile_spec(spec).fabric)
    cables = json.loads((tmp_path / "export/cables.json").read_text())["results"]
    cables[0]["a_terminations"][0]["object"]["name"] = "Ethernet99/1"
    (tmp_path / "export/cables.json").write_text(json.dumps(cables))
    reported = run_import(fabricc, tmp_path / "export", "--spec", spec).err
    assert "FAB2150: 1 device of role 'pdu' without a place" in reported
    assert "FAB2151: 1 cable not in the plan: " in reported
    assert "Ethernet99/1" in reported


@pytest.mark.parametrize("name", ["devices", "ip-addresses", "cables"])
@pytest.mark.parametrize(
    "page",
    [
        {"count": 99, "next": "http://x/?offset=50", "previous": None},
        {"count": 99, "next": None},
        {"next": "http://x/?offset=50"},
        {"next": None, "previous": "http://x/"},
    ],
)
def test_one_page_of_a_list_is_refused(
    tmp_path: Path, fabricc: Fabricc, name: str, page: dict[str, Any]
) -> None:
    lists = {each: [] for each in ("devices", "ip-addresses", "cables")}
    lists["devices"] = [device("su001-tor1a", "gpu-leaf", 1)]
    whole = lists[name]
    for several in (True, False):
        found = {**lists, name: page | {"results": whole}}
        for each, value in found.items():
            (tmp_path / f"{each}.json").write_text(json.dumps(value))
        (tmp_path / "one.json").write_text(json.dumps(found))
        path = tmp_path / "one.json" if several else tmp_path
        ran = run_import(fabricc, path, "--spec", write_dump(tmp_path))
        assert ran.status == 1
        assert f"FAB2149: the list of {name} is one page" in ran.err
        assert not (tmp_path / "links.csv").exists()


def test_names_have_no_case_and_no_domain(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    names = ["su001-tor2a", "su001-tor1a", "spine02a", "spine01a"]
    odd = [name.upper() if number % 2 else f"{name}.dc1.example.com" for number, name in enumerate(names)]
    devices = [device(name, "box", number) for number, name in enumerate(odd, 1)]
    (tmp_path / "one.json").write_text(json.dumps({"devices": devices}))
    ran = run_import(fabricc, tmp_path / "one.json", "--spec", spec)
    assert ran.status == 0, ran.err
    rows = {row["device"]: row for row in csv.DictReader((tmp_path / "devices.csv").open())}
    assert {name: row["name"] for name, row in rows.items()} == dict.fromkeys(names, "")
    assert [rows[name]["management"] for name in names] == [f"172.16.100.{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    "names", [("box-1", "Box-1"), ("su001-tor1a.dc1", "su001-tor1a.dc2"), ("SU001-TOR1A", "su001-tor1a")]
)
def test_devices_of_one_name_are_refused(tmp_path: Path, fabricc: Fabricc, names: tuple[str, str]) -> None:
    devices = [device(name, "gpu-leaf", number) for number, name in enumerate(names, 1)]
    (tmp_path / "one.json").write_text(json.dumps({"devices": devices}))
    ran = run_import(fabricc, tmp_path / "one.json", "--spec", write_dump(tmp_path))
    assert ran.status == 1
    assert "FAB2156: 2 devices have the name" in ran.err
    assert not (tmp_path / "devices.csv").exists()


@pytest.mark.parametrize("text", ["10.128.0.300/32", "10.128.0.1/33", "10.128.0.1 255.255.255.255", "tor1"])
def test_an_address_that_cannot_be_read_is_no_computed_one(
    tmp_path: Path, fabricc: Fabricc, text: str
) -> None:
    found = {
        "devices": [device("su001-tor1a", "gpu-leaf", 1)],
        "ip-addresses": [
            address_record(text, "su001-tor1a", "Loopback0", "loopback"),
            address_record(text, "camera-7", "eth0"),
        ],
    }
    (tmp_path / "one.json").write_text(json.dumps(found))
    ran = run_import(fabricc, tmp_path / "one.json", "--spec", write_dump(tmp_path))
    assert ran.status == 1
    assert f"FAB2147: '{text}' of su001-tor1a Loopback0 is not an address" in ran.err
    assert "camera-7" not in ran.err
    assert not (tmp_path / "devices.csv").exists()


def test_a_primary_address_that_is_not_used_is_reported(tmp_path: Path, fabricc: Fabricc) -> None:
    names = ("su001-tor1a", "su001-tor2a", "su001-tor3a")
    inside, outside, loopback = (device(name, "gpu-leaf", number) for number, name in enumerate(names, 1))
    outside["primary_ip4"] = {"id": 9, "address": "192.0.2.7/24"}
    loopback["primary_ip4"] = {"id": 9, "address": "10.128.0.9/32"}
    own = address_record("10.128.0.9/32", names[2], "Loopback0", "loopback")
    (tmp_path / "one.json").write_text(
        json.dumps({"devices": [inside, outside, loopback], "ip-addresses": [own]})
    )
    ran = run_import(fabricc, tmp_path / "one.json", "--spec", write_dump(tmp_path))
    assert (
        "1 primary address outside of the management pool (172.16.0.0/16): 192.0.2.7 of su001-tor2a"
        in ran.err
    )
    assert ran.err.count("primary address") == 1


def test_a_device_without_a_name_is_reported(tmp_path: Path, fabricc: Fabricc) -> None:
    devices = [device("su001-tor1a", "gpu-leaf", 1), {**device("", "gpu-leaf", 2), "name": None}]
    (tmp_path / "one.json").write_text(json.dumps({"devices": devices}))
    ran = run_import(fabricc, tmp_path / "one.json", "--spec", write_dump(tmp_path))
    assert ran.status == 0
    assert "FAB2150: 1 device without a name" in ran.err


def test_import_maps_a_role_to_a_tier(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    (tmp_path / "one.json").write_text(json.dumps({"devices": [device("box-1", "gpu-a", 1)]}))
    reported = run_import(fabricc, tmp_path / "one.json", "--spec", spec).err
    assert "role 'gpu-a'" in reported
    run_import(fabricc, tmp_path / "one.json", "--spec", spec, "--role", "gpu-a=spine")
    assert "spine01a,box-1," in (tmp_path / "devices.csv").read_text()
    assert run_import(fabricc, tmp_path / "one.json", "--role", "gpu-a=leaf").status == 2


def test_a_file_alone_is_of_devices(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = write_dump(tmp_path)
    found = [device("box-1", "spine", 1)]
    for name, value in (
        ("devices.json", {"results": found}),
        ("all.json", found),
        ("x.json", {"devices": found}),
    ):
        (tmp_path / name).write_text(json.dumps(value))
        assert run_import(fabricc, tmp_path / name, "--spec", spec, "-o", tmp_path / "given").status == 0
        assert "spine01a,box-1," in (tmp_path / "given/devices.csv").read_text()
        (tmp_path / "given/devices.csv").unlink()


def test_import_rejects_files_that_are_no_export(tmp_path: Path, fabricc: Fabricc) -> None:
    for text in (
        "",
        "[",
        "[]",
        "{}",
        '{"devices": 3}',
        '{"devices": {"results": [3, {"name": []}]}}',
        "[" * 100_000,
    ):
        (tmp_path / "one.json").write_text(text)
        ran = run_import(fabricc, tmp_path / "one.json", "--spec", write_dump(tmp_path))
        assert "Traceback" not in ran.err
        assert ran.status in (0, 1)
    for raw in (
        b"",
        b'Name,Role\n"',
        b"\xff",
        b"Name\n" + b"x" * 200_000,
        b"\0,Name\nx",
        b"Name,Name\nx",
        b"Name\n\n,,,\n",
    ):
        (tmp_path / "one_devices.csv").write_bytes(raw)
        (tmp_path / "netbox_devices.csv").write_bytes(raw)
        for path in (tmp_path / "netbox_devices.csv", tmp_path / "one_devices.csv", tmp_path):
            ran = run_import(fabricc, path, "--spec", write_dump(tmp_path), "-o", tmp_path / "given")
            assert "Traceback" not in ran.err
            assert ran.status in (0, 1)
    (tmp_path / "netbox_devices.csv").unlink()
    (tmp_path / "one.json").write_text("{")
    assert "FAB2149" in run_import(fabricc, tmp_path / "one.json").err


@pytest.mark.parametrize("known", ["", "10.0.0.0/8,10.9.0.0/16,10.9.1.0/24,10.9.1.0/31,10.9.2.0/24"])
def test_rail_subnets_that_stand_become_blocks_of_tors(tmp_path: Path, fabricc: Fabricc, known: str) -> None:
    """The ToR's end of a link suffices; prefixes of the IPAM define the length of the blocks."""
    spec = write_dump(tmp_path)
    fabric = compile_spec(spec).fabric
    cables = [each for each in fabric.cables() if each.kind == "host" and each.b_device == "su001-tor1a"]
    addresses = [
        address_record(f"10.9.1.{2 * number}/31", cable.b_device, cable.b_port)
        for number, cable in enumerate(reversed(cables))
    ]
    lists = {
        "devices": [device("su001-tor1a", "gpu-leaf", 1)],
        "ip-addresses": addresses,
        "prefixes": [{"prefix": text} for text in known.split(",") if text],
    }
    (tmp_path / "one.json").write_text(json.dumps(lists))
    run_import(fabricc, tmp_path / "one.json", "--spec", spec)
    (row,) = csv.DictReader((tmp_path / "devices.csv").open())
    assert row["hosts4"] == ("10.9.1.0/24" if known else "10.9.1.0/28")
    links = list(csv.DictReader((tmp_path / "links.csv").open()))
    assert [(each["a_ipv4"], each["b_ipv4"]) for each in links][1] == ("10.9.1.13", "10.9.1.12")
    found = compile_spec(write_dump(tmp_path, identities={"devices": "devices.csv", "links": "links.csv"}))
    assert found.sound, [each.message for each in found.diagnostics]
    assert found.fabric.switch(next(iter(found.fabric.switch_ids()))).bgp.aggregates == (row["hosts4"],)


def test_one_table_places_hosts_switches_and_border_leaves_under_the_names_it_gives(
    tmp_path: Path, fabricc: Fabricc
) -> None:
    leaves = {"tors": SPEC["tors"] | {"border": 2}, "spines": SPEC["spines"] | {"reserved_ports": 8}}
    table = (
        "device,name,rack,unit,height\nsu001-tor1a,leaf-1,r1,40,\nborder01a,exit-1,r1,42,\nspine01a,,r2,1,2\n"
    )
    (tmp_path / "devices.csv").write_text(
        table + "su001-host01,,r1,1,8\nsu001-host02,,r1,9,8\nspine02a,,,,\n"
    )
    spec = write_dump(tmp_path, identities={"devices": "devices.csv"}, **leaves)
    words = ("--places", tmp_path / "devices.csv", "--elevations", tmp_path / "racks.csv", "--labels")
    ran = fabricc("plan", *map(str, (spec, *words, tmp_path / "labels.csv")))
    assert ran.status == 0, ran.err
    assert "FAB3143" in ran.err
    rows = [line.split(",")[:3] for line in (tmp_path / "racks.csv").read_text().splitlines()]
    assert rows[1:4] == [["r1", "42", "exit-1"], ["r1", "41", ""], ["r1", "40", "leaf-1"]]
    assert [row[:2] for row in rows if row[2] == "su001-host02"] == [
        ["r1", str(unit)] for unit in range(16, 8, -1)
    ]
    assert rows[-2:] == [["r2", "2", "spine01a"], ["r2", "1", "spine01a"]]
    labels = (tmp_path / "labels.csv").read_text()
    assert "r1 U42 exit-1 " in labels
    assert "r1 U1 su001-host01 " in labels
