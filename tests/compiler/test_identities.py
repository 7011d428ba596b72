"""Identities from tables of the spec, through everything that a build and the verbs after it do with them."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.jobs.roster import list_hosts, port_addresses
from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.operate.devices.login import devices_by_name
from fabricc.paperwork.racks import Place, device_titles, read_places
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.questions import explain_name

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.explain.model import Explanation

NOSES = {
    "sonic": ("sn5600", "sonic-202505"), "eos": ("7060x6-64pe", "eos"), "cumulus": ("sn5600", "cumulus"),
    "nxos": ("9364e-sg2", "nxos"), "junos": ("qfx5240-64od", "junos"),
}  # fmt: skip
DEVICES = """device,name,asn,loopback4,management,rack,unit
su001-tor1a,leaf-r07-u42,65010,10.128.200.7,172.16.200.7,r07,42
spine02a,spine-east,,10.128.200.8,,,
"""
LINKS = """a_device,a_port,b_device,b_port,a_ipv4,b_ipv4
{up},192.0.2.1,192.0.2.0
"""


def compile_identities(folder: Path, nos: str = "eos", **more: Any) -> Compiled:
    model, system = NOSES[nos]
    tier = {"model": model, "nos": system}
    spec = {
        "cluster": "zone",
        "gpus": {"model": "dgx-h100", "hosts": 16, "hosts_per_unit": 8},
        "tors": tier,
        "spines": tier | {"count": 2},
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
    return compile_spec(path)


def with_tables(folder: Path, nos: str = "eos") -> Compiled:
    plain = compile_identities(folder, nos)
    cable = next(
        each for each in plain.fabric.cables() if each.kind == "spine" and each.a_device == "su001-tor1a"
    )
    up = ",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port))
    (folder / "devices.csv").write_text(DEVICES)
    (folder / "links.csv").write_text(LINKS.format(up=up))
    found = compile_identities(folder, nos, identities={"devices": "devices.csv", "links": "links.csv"})
    assert found.sound, [each.message for each in found.diagnostics]
    return found


@pytest.mark.parametrize("nos", NOSES)
@pytest.mark.spread
def test_files_with_given_identities_are_proved_on_every_system(tmp_path: Path, nos: str) -> None:
    found = with_tables(tmp_path, nos)
    assert [each.message for each in found.proof(jobs=1) if each.severity is Severity.ERROR] == []
    text = "\n".join(found.files(found.device("leaf-r07-u42")).values())
    assert all(word in text for word in ("65010", "10.128.200.7", "172.16.200.7", "192.0.2.1", "spine-east"))


def test_access_goes_to_the_given_address(tmp_path: Path) -> None:
    devices = devices_by_name(with_tables(tmp_path).fabric)
    assert devices["leaf-r07-u42"].address == "172.16.200.7"
    assert "su001-tor1a" not in devices


def explain_device(found: Compiled, name: str, *words: str) -> Explanation:
    known = PlanSources(found.spec, found.fabric, found.sources, str(found.lock_path), found.lock_text)
    return explain_name(known, name, words)


@pytest.mark.parametrize(("name", "title", "line"), [
    ("AS65010", "ASN of leaf-r07-u42", DEVICES.splitlines()[1]),
    ("10.128.200.7", "loopback of leaf-r07-u42", DEVICES.splitlines()[1]),
    ("10.128.200.8", "loopback of spine-east", DEVICES.splitlines()[2]),
    ("172.16.200.7", "management address of leaf-r07-u42", DEVICES.splitlines()[1]),
])  # fmt: skip
def test_explain_names_the_line_that_gives_a_value(tmp_path: Path, name: str, title: str, line: str) -> None:
    found = explain_device(with_tables(tmp_path), name)
    assert found.title == title
    (origin,) = found.statements[0].origins
    assert origin.snippet == line
    assert origin.position is not None
    assert origin.position.file.endswith("devices.csv")


def test_explain_knows_given_links_and_unused_computed_addresses(tmp_path: Path) -> None:
    before = compile_identities(tmp_path).fabric.switch(
        next(compile_identities(tmp_path).fabric.switch_ids())
    )
    found = with_tables(tmp_path)
    assert explain_device(found, "192.0.2.1").title.startswith("link of leaf-r07-u42 ")
    up = next(session for session in before.bgp.sessions)
    for gone in (str(before.loopback4), before.management.address.partition("/")[0], str(up.local)):
        assert explain_device(found, gone).title == "not assigned"
    assert explain_device(found, f"AS{before.bgp.asn}").title == "not assigned"


def test_explain_marks_given_values_of_a_device(tmp_path: Path) -> None:
    found = explain_device(with_tables(tmp_path), "leaf-r07-u42")
    assert ("given name", "identities.devices, line 2; computed: su001-tor1a") in found.details
    by_fact = {each.name: each for each in found.statements}
    for fact, column in (
        ("bgp/asn", "asn"),
        ("system/hostname", "name"),
        ("loopback/ipv4", "loopback4"),
        ("management/address", "management"),
    ):
        (origin,) = by_fact[fact].origins
        assert origin.key == f"identities.devices su001-tor1a {column}"
        assert not by_fact[fact].formulas


def test_a_changed_table_is_another_input_of_the_build(tmp_path: Path) -> None:
    first = manifest_inputs(with_tables(tmp_path))
    assert {"devices.csv", "links.csv"} <= first.keys()
    (tmp_path / "devices.csv").write_text(DEVICES.replace("65010", "65011"))
    again = manifest_inputs(
        compile_identities(tmp_path, identities={"devices": "devices.csv", "links": "links.csv"})
    )
    assert first["devices.csv"] != again["devices.csv"]
    assert first["spec"] != again["spec"]


def test_a_table_that_is_not_there_is_reported_at_the_key_that_names_it(tmp_path: Path) -> None:
    found = compile_identities(tmp_path, identities={"devices": "none.csv"})
    (wrong,) = [each for each in found.diagnostics if each.code == "FAB2145"]
    assert wrong.position is not None
    assert wrong.position.file.endswith("cluster.yaml")


def test_the_table_of_devices_places_them_in_racks_by_their_given_names(tmp_path: Path) -> None:
    found = with_tables(tmp_path)
    racks = read_places(tmp_path / "devices.csv", device_titles(found.fabric))
    assert racks.places == {"leaf-r07-u42": Place("r07", 42, 1)}
    assert {each.code for each in racks.findings} == {"FAB3143"}


def test_two_networks_share_no_given_name(tmp_path: Path) -> None:
    (tmp_path / "devices.csv").write_text("device,name\nspine01a,storage-spine01a\n")
    tier = {"model": "sn4700", "nos": "sonic"}
    storage = {
        "tors": tier | {"oversubscription": 2.0},
        "spines": tier | {"count": 2},
        "priorities": {"default": {}},
    }
    found = compile_identities(tmp_path, identities={"devices": "devices.csv"}, networks={"storage": storage})
    (wrong,) = [each for each in found.diagnostics if each.code == "FAB3101"]
    assert wrong.message == (
        "a switch of another network has the name of a switch of network 'storage': 'storage-spine01a'"
    )


def test_a_given_link_keeps_out_of_the_pools_of_another_network(tmp_path: Path) -> None:
    plain = compile_identities(tmp_path).fabric
    cable = next(each for each in plain.cables() if each.kind == "spine")
    up = ",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port))
    (tmp_path / "links.csv").write_text(
        f"a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n{up},10.200.0.0,10.200.0.1\n"
    )
    tier = {"model": "sn4700", "nos": "sonic"}
    storage = {
        "tors": tier | {"oversubscription": 2.0},
        "spines": tier | {"count": 2},
        "priorities": {"default": {}},
    }
    found = compile_identities(tmp_path, identities={"links": "links.csv"}, networks={"storage": storage})
    (wrong,) = [each for each in found.diagnostics if each.code == "FAB3123"]
    assert wrong.message.endswith("10.200.0.0 belongs to network 'storage'")


@pytest.mark.parametrize("nos", NOSES)
@pytest.mark.spread
def test_a_build_with_given_blocks_and_addresses_of_hosts_is_proved(tmp_path: Path, nos: str) -> None:
    """Switches, hosts and jobs agree about them, by what is read back from their files."""
    plain = compile_identities(tmp_path, nos)
    cable = next(each for each in plain.fabric.cables() if each.b_device == "su001-tor1a")
    ends = ",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port))
    (tmp_path / "devices.csv").write_text(
        "device,hosts4\nsu001-tor1a,10.40.7.0/24\nsu001-tor2a,10.40.9.0/24\n"
    )
    (tmp_path / "links.csv").write_text(
        f"a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n{ends},10.40.7.201,10.40.7.200\n"
    )
    found = compile_identities(tmp_path, nos, identities={"devices": "devices.csv", "links": "links.csv"})
    assert found.sound, [each.message for each in found.diagnostics]
    host = found.fabric.host(next(iter(found.fabric.host_ids())))
    assert (host.ports[0].ipv4, host.ports[1].ipv4) == ("10.40.7.201/31", "10.40.9.1/31")
    rails = {
        rail: next(port_addresses(found.fabric, list_hosts(found.fabric, found.fabric.host), rail, 0))
        for rail in (0, 1)
    }
    assert {rail: each.address for rail, each in rails.items()} == {0: "10.40.7.201", 1: "10.40.9.1"}
    assert rails[0].gateway == "10.40.7.200"
    assert not [each.message for each in found.proof(jobs=1) if each.severity is Severity.ERROR]


def test_explain_knows_given_blocks_and_host_links(tmp_path: Path) -> None:
    plain = compile_identities(tmp_path)
    cable = next(each for each in plain.fabric.cables() if each.b_device == "su001-tor1a")
    before = plain.fabric.host(next(iter(plain.fabric.host_ids()))).ports[1].ipv4
    ends = ",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port))
    (tmp_path / "devices.csv").write_text(
        "device,hosts4\nsu001-tor1a,10.40.7.0/27\nsu001-tor2a,10.40.9.0/27\n"
    )
    (tmp_path / "links.csv").write_text(
        f"a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n{ends},10.40.7.31,10.40.7.30\n"
    )
    found = compile_identities(tmp_path, identities={"devices": "devices.csv", "links": "links.csv"})
    assert found.sound, [each.message for each in found.diagnostics]
    link = explain_device(found, "10.40.7.31")
    assert link.title == f"link of {cable.a_device} {cable.a_port} to su001-tor1a {cable.b_port}"
    assert link.statements[0].origins[0].key == "identities.links"
    inside = explain_device(found, "10.40.9.1")
    assert inside.title.startswith("link of su001-host01 rail1 to su001-tor2a ")
    assert "identities.devices su001-tor2a hosts4" in {each.key for each in inside.statements[0].origins}
    assert explain_device(found, "10.40.9.0/27").title == "aggregate of su001-tor2a"
    assert [each.key for each in explain_device(found, "10.40.9.0/27").statements[0].origins] == [
        "identities.devices su001-tor2a hosts4"
    ]
    assert before is not None
    for gone in (before.partition("/")[0], "10.40.7.1"):
        assert explain_device(found, gone).title == "not assigned"
    facts = {each.name: each for each in explain_device(found, "su001-tor2a").statements}
    aggregate = next(each for name, each in facts.items() if "aggregate" in name)
    assert [each.key for each in aggregate.origins] == ["identities.devices su001-tor2a hosts4"]


@pytest.mark.parametrize(("line", "reported", "remedy", "mended"), [
    ("spine01a,r1,5,2", "takes unit 6 of rack r1 that su001-tor1a takes", "Unit 4 is free, with those above it to 5.",
     "spine01a,r1,4,2"),
    ("spine01a,r1,6,1", "takes unit 6 of rack r1 that su001-tor1a takes", "Unit 5 is free.", "spine01a,r1,5,1"),
    ("spine01a,r1,1,100", "takes unit 6 of rack r1 that su001-tor1a takes", "The rack is full: name another.",
     "spine01a,r2,1,100"),
])  # fmt: skip
def test_two_devices_in_one_unit_are_refused_with_units_that_are_free(
    tmp_path: Path, line: str, reported: str, remedy: str, mended: str
) -> None:
    known = device_titles(compile_identities(tmp_path).fabric)
    table, first = (
        tmp_path / "devices.csv",
        "device,rack,unit,height\nsu001-tor1a,r1,6,1\nsu001-host01,r1,7,8\n",
    )
    table.write_text(first + line + "\n")
    (wrong,) = read_places(table, known).findings
    assert (wrong.code, wrong.position and wrong.position.line) == ("FAB3142", 4)
    assert reported in wrong.message
    assert wrong.help == remedy
    table.write_text(first + mended + "\n")
    assert {each.code for each in read_places(table, known).findings} == {"FAB3143"}


def test_free_units_that_remedies_name_are_free_for_all_of_them(tmp_path: Path) -> None:
    known = device_titles(compile_identities(tmp_path).fabric)
    head = "device,rack,unit\nsu001-tor1a,r1,6\n"
    table = tmp_path / "devices.csv"
    table.write_text(head + "spine01a,r1,6\nspine02a,r1,6\nsu001-tor2a,r1,5\n")
    assert [each.help for each in read_places(table, known).findings] == [
        "Unit 7 is free.",
        "Unit 4 is free.",
    ]
    table.write_text(head + "spine01a,r1,7\nspine02a,r1,4\nsu001-tor2a,r1,5\n")
    assert {each.code for each in read_places(table, known).findings} == {"FAB3143"}


def test_a_network_has_tables_of_its_own_for_everything_that_they_give(tmp_path: Path) -> None:
    """Its devices, blocks and links, in its own pools; explain names the line of its table."""
    tier = {"model": "7060x6-64pe", "nos": "eos"}
    front = {"tors": tier, "spines": tier | {"count": 2}, "priorities": {"default": {}}}
    plain = compile_identities(tmp_path, networks={"storage": front})
    fabric = plain.networks["storage"].fabric
    tor, spine = fabric.name(next(iter(fabric.switch_ids()))), "storage-spine01a"
    cables = {each.kind: each for each in fabric.cables()}
    host, up = cables["host"], cables["spine"]
    pools = fabric.addresses
    assert pools.hosts4
    block = pools.hosts4.prefix(
        (1 << pools.hosts4.bits) - (1 << fabric.aggregate_bits()), fabric.aggregate_bits()
    )
    loopback = pools.loopbacks4.address(1000)
    (tmp_path / "storage.csv").write_text(
        f"device,name,asn,loopback4,management,hosts4\n{tor},store-1,4294000001,{loopback},172.17.99.9,{block}\n"
        f"{spine},store-2,4294000002,,,\n"
    )
    at = next(each for each in fabric.switch_ids() if fabric.name(each) == host.b_device)
    served = block if host.b_device == tor else fabric.switch(at).bgp.aggregates[0]
    last = int(ip_network(served)[-1]) - 1 - pools.hosts4.first
    free = pools.hosts4.pair(last)
    rows = ["a_device,a_port,b_device,b_port,a_ipv4,b_ipv4"]
    rows += [
        ",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port, *pair))
        for cable, pair in ((host, free), (up, ("192.0.2.1", "192.0.2.0")))
    ]
    (tmp_path / "links.csv").write_text("\n".join(rows) + "\n")
    tables = {"identities": {"devices": "storage.csv", "links": "links.csv"}}
    found = compile_identities(tmp_path, networks={"storage": front | tables})
    assert {each.code for each in found.diagnostics if each.severity is Severity.ERROR} <= {"FAB5513"}
    assert found.fabric == replace(plain.fabric, networks=found.fabric.networks)
    storage = found.networks["storage"]
    own = storage.fabric.switch(next(iter(storage.fabric.switch_ids())))
    assert (own.name, own.bgp.asn, own.loopback4, own.bgp.aggregates) == (
        "store-1",
        4294000001,
        loopback,
        (block,),
    )
    assert own.management.address.startswith("172.17.99.9/")
    for asking, title in (
        ("AS4294000001", "ASN of store-1"), (loopback, "loopback of store-1"), (block, "aggregate of store-1"),
        ("172.17.99.9", "management address of store-1"), ("192.0.2.1", "link of "),
        (free[0], f"link of {host.a_device}"),
    ):  # fmt: skip
        answer = explain_device(storage, asking)
        assert answer.title.startswith(title)
        assert any(
            each.position and each.position.file.endswith(".csv") for each in answer.statements[0].origins
        ), asking
