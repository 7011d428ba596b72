"""The out-of-band network of a cluster: management switches, their cables, and addresses of BMCs and DPUs."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from ipaddress import ip_interface
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc import compile_spec
from fabricc.base.diagnostics import Severity
from fabricc.compiler.load.lock_file import write_lock
from fabricc.compiler.recheck import check_tree
from fabricc.fabric.management import address_owners
from fabricc.fabric.out_of_band_cables import management_cables
from fabricc.paperwork.bill import label_rows
from fabricc.paperwork.materials import list_materials
from fabricc.paperwork.plan_tables import (
    OUT_OF_BAND_ADDRESS_FILE,
    OUT_OF_BAND_CABLING_FILE,
    out_of_band_tables,
)
from fabricc.paperwork.racks import device_titles, read_places
from fabricc.review.explain.addresses import explain_address
from tests.effort import scale_examples
from tests.review.explain.support import known_of_front

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

HOSTS = {"tier": "host", "network": "172.24.0.0/16"}
SWITCHES = {"tier": "oob", "network": "172.23.0.0/22"}
CATALOG = """\
hosts:
  with-dpus:
    extends: dgx-h100
    title: A host with two DPUs
    management: {bmc: 1, nic: 1, dpus: 2, assumed: true}
"""


def small_spec(**sections: Any) -> dict[str, Any]:
    """Two units of four hosts with two DPUs each, and management switches of 48 ports."""
    return {
        "cluster": "zone",
        "catalog": ["models.yaml"],
        "gpus": {"model": "with-dpus", "hosts": 8, "hosts_per_unit": 4},
        "tors": {"model": "sn5600", "nos": "sonic"},
        "spines": {"model": "sn5600", "nos": "sonic"},
        "management": {"networks": [HOSTS, SWITCHES], "switches": {"model": "sn2201", "to": ["dc-1"]}},
    } | sections


def managed_section(**switches: Any) -> dict[str, Any]:
    """The section of management with other words about its switches."""
    return {"networks": [HOSTS, SWITCHES], "switches": {"model": "sn2201", "to": ["dc-1"], **switches}}


def compile_text(folder: Path, text: Mapping[str, Any], **tables: str) -> Compiled:
    """The spec, compiled, whose lock is kept for the next one in the folder."""
    (folder / "models.yaml").write_text(CATALOG)
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(rows)
    (folder / "cluster.yaml").write_text(json.dumps(text))
    found = compile_spec(folder / "cluster.yaml", gaps=False)
    if found.sound:
        write_lock(found)
    return found


def fabric_of(folder: Path, text: Mapping[str, Any], **tables: str) -> Fabric:
    found = compile_text(folder, text, **tables)
    assert find_errors(found) == []
    return found.fabric


def find_errors(found: Compiled) -> list[str]:
    return [f"{d.code} {d.message} {d.help}" for d in found.diagnostics if d.severity is Severity.ERROR]


def find_refusal(folder: Path, text: Mapping[str, Any], **tables: str) -> str:
    """The one error of a spec: code, message, remedy."""
    (one,) = find_errors(compile_text(folder, text, **tables))
    return one


def find_addresses(fabric: Fabric) -> dict[tuple[str, str], str]:
    """Device and endpoint -> address with prefix length."""
    return {
        (each.device, each.endpoint): f"{each.place.address}/{each.place.network.length}"
        for each in address_owners(fabric)
    }


def far_ends(fabric: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """Device and port of the lower end of every management cable -> upper end."""
    return {(row.a_device, row.a_port): (row.b_device, row.b_port) for row, _, _ in management_cables(fabric)}


def test_bmcs_dpus_and_management_switches_have_addresses_by_their_place(tmp_path: Path) -> None:
    found = find_addresses(fabric_of(tmp_path, small_spec()))
    assert found["su001-host01", "eno3"] == "172.24.0.16/16"
    assert found["su001-host01", "bmc"] == "172.24.0.17/16"
    assert found["su001-host01", "dpu1-oob"] == "172.24.0.21/16"
    assert found["su001-host02", "bmc"] == "172.24.0.25/16"
    assert found["oob-su001-1", "management"] == "172.23.0.32/22"
    assert len(set(found.values())) == len(found) == 8 * 6 + 3


def test_every_management_port_has_one_cable_and_no_port_two(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path, small_spec(management=managed_section(aggregation={"model": "sn3700c"})))
    rows = [row for row, _, _ in management_cables(fabric)]
    of_hosts = Counter(row.a_port for row in rows if "host" in row.a_device)
    assert of_hosts == {"eno3": 8, "bmc": 8, "dpu0": 8, "dpu1": 8}
    carried = {row.a_device for row in rows if row.a_port == "management"}
    assert carried == {fabric.name(at) for at in fabric.switch_ids()}
    ends = [(row.b_device, row.b_port) for row in rows if row.b_port] + [
        (row.a_device, row.a_port) for row in rows
    ]
    assert len(set(ends)) == len(ends)
    uplinks = Counter((row.a_device, row.b_device) for row in rows if row.kind == "management-uplink")
    assert set(uplinks.values()) == {1}
    assert {far for _, far in uplinks} == {"oob-agg1", "oob-agg2"}
    assert {row.b_device for row in rows if row.kind == "management-external"} == {"dc-1"}


def test_racks_that_are_named_or_given_have_switches_and_the_rest_is_in_units_and_a_row(
    tmp_path: Path,
) -> None:
    gpus = {
        "model": "with-dpus",
        "racks": ["a01", "a02", "a03", "a04"],
        "hosts_per_rack": 2,
        "hosts_per_unit": 4,
    }
    rows = "device,rack,unit\nspine01a,B 07,40\nsu001-tor1a,a01,41\n"
    text = small_spec(gpus=gpus, identities={"devices": "devices.csv"})
    fabric = fabric_of(tmp_path, text, devices=rows)
    found = far_ends(fabric)
    hosts = [host for unit in fabric.units.values() for host in unit.hosts.values()]
    assert {found[host, "bmc"][0] for host in hosts} == {f"oob-a0{n}-1" for n in (1, 2, 3, 4)}
    assert found["spine01a", "management"] == ("oob-b-07-1", "48")
    assert found["su001-tor1a", "management"] == ("oob-a01-1", "48")
    assert found["su001-tor2a", "management"] == ("oob-su001-1", "48")
    assert far_ends(fabric_of(tmp_path, small_spec(gpus=gpus)))["spine01a", "management"][0] == "oob-spines-1"
    by_unit = far_ends(
        fabric_of(tmp_path, text | {"management": managed_section(per="unit", row="b07")}, devices=rows)
    )
    assert {found[0] for (_, port), found in by_unit.items() if port == "bmc"} == {
        "oob-su001-1",
        "oob-su002-1",
    }
    assert by_unit["spine01a", "management"][0] == "oob-b07-1"


def test_switches_of_further_networks_are_carried_too(tmp_path: Path) -> None:
    storage = {"tors": {"model": "sn4700", "nos": "sonic"}, "spines": {"model": "sn4700", "nos": "sonic"}}
    storage |= {"hosts_per_unit": 8, "priorities": {"default": {}}}
    fabric = fabric_of(tmp_path, small_spec(networks={"storage": storage}))
    found = far_ends(fabric)
    names = [each.name(at) for each in fabric.networks for at in each.switch_ids()]
    assert names
    assert all((name, "management") in found for name in names)
    assert found[names[0], "management"][0] == "oob-su001-1"
    refused = find_refusal(
        tmp_path,
        small_spec(networks={"storage": storage | {"management": {"switches": {"model": "sn2201"}}}}),
    )
    assert refused.startswith("FAB3210 storage: management.switches belongs to the part that all networks")


def test_tors_of_hosts_that_are_not_on_the_rails_stand_in_their_own_unit(tmp_path: Path) -> None:
    store = {"name": "store", "model": "storage-2x200", "hosts": 4, "hosts_per_unit": 4}
    storage = {"tors": {"model": "sn4700", "nos": "sonic"}, "spines": {"model": "sn4700", "nos": "sonic"}}
    storage |= {"hosts_per_unit": 8, "priorities": {"default": {}}, "groups": [store]}
    found = far_ends(fabric_of(tmp_path, small_spec(networks={"storage": storage})))
    assert found["storage-rack002-tor1a", "management"][0] == "oob-rack002-1"


def test_a_rack_has_as_many_switches_as_its_ports_need(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path, small_spec(gpus={"model": "with-dpus", "hosts": 32, "hosts_per_unit": 32}))
    used = Counter(end[0] for end in far_ends(fabric).values() if end[0].startswith("oob-su001"))
    assert used == {"oob-su001-1": 48, "oob-su001-2": 48, "oob-su001-3": 32 * 4 + 8 - 96}


def test_a_count_that_is_too_small_is_refused_with_one_that_suffices(tmp_path: Path) -> None:
    gpus = {"model": "with-dpus", "hosts": 32, "hosts_per_unit": 32}
    reported = find_refusal(tmp_path, small_spec(gpus=gpus, management=managed_section(count=2)))
    assert reported.startswith(
        "FAB3215 su001 has 136 management ports; 2 x NVIDIA SN2201 have 96 Write `count: 3`"
    )
    assert (
        find_errors(compile_text(tmp_path, small_spec(gpus=gpus, management=managed_section(count=3)))) == []
    )


def test_an_aggregation_that_is_too_small_is_refused_with_models_that_suffice(tmp_path: Path) -> None:
    text = small_spec(gpus={"model": "with-dpus", "hosts": 12, "hosts_per_unit": 4})
    reported = find_refusal(tmp_path, text | {"management": managed_section(aggregation={"model": "sn2201"})})
    assert reported.startswith(
        "FAB3216 2 uplinks of each NVIDIA SN2201 take 5 ports of each of 2 NVIDIA SN2201: they have"
    )
    offered = re.findall(r"[a-z0-9-]+", reported.partition("enough: ")[2])
    assert offered
    for model in offered:
        assert (
            find_errors(
                compile_text(tmp_path, text | {"management": managed_section(aggregation={"model": model})})
            )
            == []
        )
    count = re.search(r"`count: (\d+)` here and `uplinks: 2` above", reported)
    assert count
    for number, sound in ((int(count[1]), True), (int(count[1]) - 1, False)):
        more = managed_section(uplinks=2, aggregation={"model": "sn2201", "count": number})
        assert (find_errors(compile_text(tmp_path, text | {"management": more})) == []) is sound
    wide = find_refusal(tmp_path, text | {"management": managed_section(uplinks=5)})
    assert "has 4 uplink ports Write `uplinks: 4`." in wide
    assert find_errors(compile_text(tmp_path, text | {"management": managed_section(uplinks=4)})) == []


def test_a_model_without_slow_ports_is_refused_with_those_that_have(tmp_path: Path) -> None:
    reported = find_refusal(tmp_path, small_spec(management=managed_section(model="sn5600")))
    assert reported.startswith("FAB3214 NVIDIA SN5600 has no ports of 1G")
    assert "sn2201" in reported


def test_switches_that_nothing_joins_are_reported(tmp_path: Path) -> None:
    found = compile_text(tmp_path, small_spec(management=managed_section(to=[])))
    assert [d.code for d in found.diagnostics if d.code.startswith("FAB32")] == ["FAB3217"]


def test_a_name_that_a_host_has_is_refused(tmp_path: Path) -> None:
    gpus = {"model": "with-dpus", "hosts": ["oob-su001-1", "b"], "hosts_per_unit": 4}
    assert find_refusal(tmp_path, small_spec(gpus=gpus)).startswith(
        "FAB3218 a host has the name of a management switch"
    )


@pytest.mark.parametrize(
    ("networks", "reported"),
    [
        ([HOSTS], "FAB3213 3 management switches are in no network"),
        ([HOSTS | {"from": 2}, SWITCHES], "FAB3213 hosts of su001 are in no network with `tier: host`"),
        ([HOSTS | {"per_host": 4}, SWITCHES], "FAB3211 management.networks[0] keeps 4 addresses for a host"),
        (
            [HOSTS | {"network": "172.24.0.0/27"}, SWITCHES],
            "FAB3212 management.networks[0]: 172.24.0.0/27 has 15",
        ),
        (
            [HOSTS, SWITCHES | {"network": "172.23.0.0/27"}],
            "FAB3212 management.networks[1]: 172.23.0.0/27 has 15",
        ),
    ],
)
def test_networks_that_do_not_hold_all_are_refused_with_what_does(
    tmp_path: Path, networks: list[dict[str, Any]], reported: str
) -> None:
    management = {**managed_section(), "networks": networks}
    refused = find_refusal(tmp_path, small_spec(management=management))
    assert refused.startswith(reported)
    if length := re.search(r"Use a /(\d+)", refused):
        which = 0 if "networks[0]" in refused else 1
        wider = deepcopy(networks)
        wider[which]["network"] = wider[which]["network"].replace("/27", f"/{length[1]}")
        assert (
            find_errors(compile_text(tmp_path, small_spec(management=management | {"networks": wider}))) == []
        )
        wider[which]["network"] = wider[which]["network"].replace(f"/{length[1]}", f"/{int(length[1]) + 1}")
        assert "FAB3212" in find_refusal(tmp_path, small_spec(management=management | {"networks": wider}))


def test_units_share_subnets_with_a_gateway_each(tmp_path: Path) -> None:
    rows = [HOSTS | {"prefix_length": 25, "units": 1, "gateway": "172.24.0.126"}, SWITCHES]
    fabric = fabric_of(tmp_path, small_spec(management=managed_section() | {"networks": rows}))
    assert find_addresses(fabric)["su002-host01", "bmc"] == "172.24.0.145/25"
    table = dict(out_of_band_tables(fabric))[OUT_OF_BAND_ADDRESS_FILE]
    assert "su002-host01,bmc,172.24.0.145/25,172.24.0.254,computed" in table.splitlines()


GIVEN = """\
device,port,address
su001-host01,bmc,172.24.9.9
su001-host02,dpu0-oob,172.24.9.10
oob-su001-1,management,172.23.0.99
"""


def test_a_table_gives_addresses_and_the_rest_stays_computed(tmp_path: Path) -> None:
    before = find_addresses(fabric_of(tmp_path, small_spec()))
    text = small_spec(identities={"management": "bmcs.csv"})
    fabric = fabric_of(tmp_path, text, bmcs=GIVEN)
    after = find_addresses(fabric)
    changed = {key: after[key] for key in after if after[key] != before[key]}
    assert changed == {
        ("su001-host01", "bmc"): "172.24.9.9/16",
        ("su001-host02", "dpu0-oob"): "172.24.9.10/16",
        ("oob-su001-1", "management"): "172.23.0.99/22",
    }
    assert dict(out_of_band_tables(fabric))[OUT_OF_BAND_ADDRESS_FILE].count(",given\n") == 3


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        ("su001-host01,ilo,172.24.9.9", "FAB3121 nothing has a management address as 'su001-host01 ilo' It has eno3"),
        ("su001-host99,bmc,172.24.9.9", "FAB3121 nothing has a management address as 'su001-host99 bmc'"),
        ("su001-host01,bmc,172.25.0.9", "FAB3124 172.25.0.9 of su001-host01 bmc is not an address"),
        ("su001-host01,bmc,172.24.0.1", "FAB3124 172.24.0.1 of su001-host01 bmc is not an address"),
        ("su001-host01,bmc,x", "FAB2147 address 'x' is not an IPv4 address"),
        ("su001-host01,bmc,172.24.9.9\nsu001-host01,bmc,172.24.9.8", "FAB2148 su001-host01 bmc is defined in line 2"),
        ("su001-host01,bmc,172.24.9.9\nsu001-host02,bmc,172.24.9.9", "FAB3122 172.24.9.9 of su001-host01 bmc is that"),
        ("su001-host01,bmc,172.24.0.25", "FAB3123 172.24.0.25 of su001-host01 bmc is that of su001-host02"),
    ],
)  # fmt: skip
def test_management_table_with_invalid_rows_is_rejected(tmp_path: Path, rows: str, reported: str) -> None:
    text = small_spec(identities={"management": "bmcs.csv"})
    assert find_refusal(tmp_path, text, bmcs=f"device,port,address\n{rows}\n").startswith(reported)


def test_swapped_addresses_are_taken(tmp_path: Path) -> None:
    rows = "device,port,address\nsu001-host01,bmc,172.24.0.25\nsu001-host02,bmc,172.24.0.17\n"
    found = find_addresses(fabric_of(tmp_path, small_spec(identities={"management": "bmcs.csv"}), bmcs=rows))
    assert found["su001-host02", "bmc"] == "172.24.0.17/16"


def test_a_server_has_no_bmcs_address(tmp_path: Path) -> None:
    reported = find_refusal(tmp_path, small_spec(management={**managed_section(), "ntp": ["172.24.0.17"]}))
    assert reported.startswith("FAB3025 management.ntp[0] 172.24.0.17 is the address of su001-host01 bmc")


def test_management_switches_are_in_bill_labels_and_racks(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path, small_spec(management=managed_section(aggregation={"model": "sn3700c"})))
    found = list_materials(fabric)
    bill = {(item.item, item.role, item.title): number for item, number in found.bill.items()}
    assert bill["switch", "management", "NVIDIA SN2201"] == 3
    assert bill["switch", "management", "NVIDIA SN3700C"] == 2
    assert bill["transceiver", "management", "100GBASE-DR QSFP28"] == 2 * 6 + 2
    assert bill["fibre", "management-uplink", "smf lc to lc"] == 6
    assert bill["fibre", "management-external", "smf lc to lc"] == 2
    copper = sum(
        number for item, number in found.bill.items() if item.role == "management" and item.item == "cable"
    )
    assert copper == sum(1 for row, _, _ in management_cables(fabric) if row.kind == "management")
    labels = [row for row in label_rows(found, {}) if row[0] == "su001-host01 bmc"]
    assert [row[16:18] for row in labels] == [
        ("su001-host01 bmc", "to oob-su001-1 2"), ("oob-su001-1 2", "to su001-host01 bmc"),
    ]  # fmt: skip
    (tmp_path / "places.csv").write_text("device,rack,unit\noob-su001-1,a01,48\noob-agg1,b01,1\n")
    assert set(read_places(tmp_path / "places.csv", device_titles(fabric)).places) == {
        "oob-su001-1",
        "oob-agg1",
    }


@pytest.mark.parametrize(
    ("uplink", "bought"),
    [
        (
            {"medium": "smf", "length_m": 40},
            {("transceiver", "100GBASE-DR QSFP28"), ("fibre", "smf lc to lc")},
        ),
        ({"medium": "dac", "length_m": 2}, {("cable", "dac 1x100G qsfp28 to qsfp28")}),
    ],
)
def test_links_out_of_management_switches_are_on_the_bill(
    tmp_path: Path, uplink: dict[str, Any], bought: set[tuple[str, str]]
) -> None:
    fabric = fabric_of(tmp_path, small_spec(management=managed_section(uplink=uplink)))
    ways = [row for row, _, _ in management_cables(fabric) if row.kind == "management-external"]
    found = list_materials(fabric)
    switched = {
        (item.item, item.title): number
        for item, number in found.bill.items()
        if item.role in ("management", "management-external")
        and item.item != "switch"
        and not item.title.startswith("copper")
    }
    assert switched == dict.fromkeys(bought, len(ways))
    assert ways
    assert found.lacking == {}


def test_a_spec_without_the_words_has_no_tables(tmp_path: Path) -> None:
    found = compile_text(tmp_path, small_spec(management={}))
    assert dict(out_of_band_tables(found.fabric)) == {}
    assert "switch " not in found.lock_text


def test_a_build_writes_the_tables_and_keeps_the_numbers(tmp_path: Path) -> None:
    text = small_spec(management=managed_section(aggregation={"model": "sn3700c"}))
    assert compile_text(tmp_path, text).write(tmp_path / "out", jobs=1).exit_status == 0
    lines = (tmp_path / "out/zone/plan" / OUT_OF_BAND_CABLING_FILE).read_text().splitlines()
    assert "management,su001-host01,dpu1,oob-su001-1,4,1,copper,3" in lines
    assert "switch oob-su001-1 0\n" in (tmp_path / "fabricc.lock").read_text()


GROWTH = st.lists(
    st.sampled_from(["hosts", "units", "beside", "group", "count", "network"]), min_size=1, max_size=5
)


def grow_spec(text: dict[str, Any], step: str) -> dict[str, Any]:
    """The spec with more of something."""
    groups = {each["name"]: each for each in text["gpus"]["groups"]}
    if step == "hosts":
        groups["own"]["hosts"] += 1
    elif step == "units":
        groups["own"]["hosts"] += 5
    elif step == "beside":
        login = {"name": "login", "model": "cpu-1x100", "hosts": 1, "hosts_per_unit": 4, "beside": "own"}
        groups.setdefault("login", login)["hosts"] += 1
    elif step == "group":
        groups.setdefault("more", {"name": "more", "model": "dgx-h100", "hosts": 0, "hosts_per_unit": 4})
        groups["more"]["hosts"] += 3
    elif step == "count":
        text["management"]["switches"]["count"] = 2
    else:
        text["management"]["networks"][1]["network"] = "172.23.0.0/20"
    text["gpus"]["groups"] = list(groups.values())
    return text


@settings(max_examples=scale_examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=GROWTH)
def test_growth_renumbers_no_bmc_no_dpu_and_no_management_switch(steps: list[str]) -> None:
    gpus = {
        "capacity": 32,
        "groups": [{"name": "own", "model": "with-dpus", "hosts": 6, "hosts_per_unit": 4}],
    }
    text = small_spec(
        gpus=gpus,
        tors={"model": "sn5600", "nos": "sonic", "reserved_ports": 16},
        management=managed_section(aggregation={"model": "sn3700c"}),
    )
    with TemporaryDirectory() as name:
        first = fabric_of(Path(name), text)
        before, cabled = find_addresses(first), far_ends(first)
        for step in steps:
            found = compile_text(Path(name), text := grow_spec(deepcopy(text), step))
            assert find_errors(found) == []
            after = find_addresses(found.fabric)
            assert {key: ip_interface(after[key]).ip for key in before} == {
                key: ip_interface(each).ip for key, each in before.items()
            }
            assert len(set(after.values())) == len(after)
            joined = far_ends(found.fabric)
            assert {key: joined[key] for key in cabled} == cabled
            before, cabled = after, joined


def explained(found: Compiled, address: str) -> tuple[str, dict[str, str], list[str]]:
    """Return title, details, and places of inputs of the explanation of an address."""
    reported = explain_address(known_of_front(found), address)
    return reported.title, dict(reported.details), [each.key for each in reported.statements[0].origins]


def test_an_address_is_explained_as_whose_bmc_dpu_or_switch_it_is(tmp_path: Path) -> None:
    found = compile_text(tmp_path, small_spec(identities={"management": "bmcs.csv"}), bmcs=GIVEN)
    title, details, origins = explained(found, "172.24.0.29")
    assert (title, details["cable"]) == ("dpu1-oob of su001-host02", "dpu1 to oob-su001-1 8")
    assert origins == ["management.networks[0]", "stride host"]
    title, _, origins = explained(found, "172.23.0.33")
    assert (title, origins[-1]) == ("management switch oob-su002-1", "switch oob-su002-1")
    title, _, origins = explained(found, "172.24.9.10")
    assert (title, origins) == (
        "dpu0-oob of su001-host02",
        ["identities.management su001-host02 dpu0-oob"],
    )
    assert explained(found, "172.24.0.17")[0] == "not assigned"
    for each in address_owners(found.fabric):
        assert explained(found, each.place.address)[1]["device"] == each.device


@pytest.mark.slow
def test_two_equal_addresses_are_found_in_the_files_whoever_has_them(tmp_path: Path) -> None:
    found = compile_text(tmp_path, small_spec())
    assert found.write(tmp_path / "out", jobs=1).exit_status == 0
    tree = tmp_path / "out/zone"
    table = tree / "plan" / OUT_OF_BAND_ADDRESS_FILE
    sound = table.read_text()
    overlaps = [
        d for d in check_tree(tree, tmp_path / "cluster.yaml", jobs=1)[0].diagnostics if d.code == "FAB6206"
    ]
    assert overlaps == []
    for planted in (
        "172.24.0.17/16",
        found.fabric.switch(next(found.fabric.switch_ids())).management.address,
    ):
        table.write_text(sound.replace("172.24.0.25/16", planted))
        reported = [
            d
            for d in check_tree(tree, tmp_path / "cluster.yaml", jobs=1)[0].diagnostics
            if d.code == "FAB6206"
        ]
        assert len(reported) == 1
        assert planted.partition("/")[0] in reported[0].message
        assert "su001-host02 bmc" in reported[0].message


def test_the_proof_of_a_build_sees_two_equal_addresses(tmp_path: Path) -> None:
    found = compile_text(tmp_path, small_spec())
    assert [d for d in found.proof(jobs=1) if d.severity is Severity.ERROR] == []
    same = {("su001-host02", "bmc"): 17}
    wrong = replace(
        found, planned=replace(found.fabric, out_of_band=replace(found.fabric.out_of_band, given=same))
    )
    (reported,) = [d for d in wrong.proof(jobs=1) if d.severity is Severity.ERROR]
    assert (reported.code, "172.24.0.17" in reported.message) == ("FAB6206", True)


@pytest.mark.parametrize(
    ("model", "hosts", "ports", "switches"),
    [
        ("dgx-h100", 32, 1, 1),
        ("dgx-b200", 32, 1, 1),
        ("gb200-nvl72", 18, 3, 2),
        ("gb300-nvl72-2x400", 18, 3, 2),
    ],
)
def test_published_racks_have_as_many_management_switches(
    tmp_path: Path, model: str, hosts: int, ports: int, switches: int
) -> None:
    """An NVL72 rack has two SN2201 (DGX GB200 user guide, rack configuration)."""
    gpus = {"model": model, "racks": ["a01", "a02"], "hosts_per_rack": hosts, "hosts_per_unit": hosts}
    tors = {"model": "sn5600", "nos": "sonic"}
    fabric = fabric_of(tmp_path, small_spec(gpus=gpus, tors=tors, spines=tors))
    found = Counter(
        far for (device, _), far in far_ends(fabric).items() if "host" in device or "a0" in device
    )
    of_racks = {far for far, _ in found if far.startswith("oob-a0")}
    assert len(of_racks) == 2 * switches
    assert sum(number for (far, _), number in found.items() if far in of_racks) == 2 * hosts * ports
