"""Nothing renumbers in a whole cluster: GPUs, storage nodes, several networks and ways out, grown in any order."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from ipaddress import ip_interface, ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric import links
from fabricc.fabric.addresses import Pool
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId
from tests.effort import scale_examples
from tests.front.planning.test_growth import find_identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

BOX = {"model": "7060x6-64pe", "nos": "eos"}
ABOVE = {**BOX, "count": 4, "reserved_ports": 8}
NETWORK = {"hosts_per_unit": 16, "tors": BOX, "spines": ABOVE, "priorities": {"default": {}}}
ARCHIVE = {"name": "archive", "model": "archive-node", "hosts": 2, "hosts_per_unit": 8}
LOGIN = {"name": "login", "model": "storage-2x200", "hosts": 1, "hosts_per_unit": 6, "beside": "train"}
CATALOG = {
    "sources": {},
    "hosts": {
        "archive-node": {
            "extends": "storage-2x200",
            "networks": {
                "storage": {
                    "assumed": True, "reason": "for this test", "nic": "connectx-7", "nics": 2, "ports_per_nic": 1,
                    "port_gbps": 200,
                },
            },
        },
    },
}  # fmt: skip
WHOLE: dict[str, Any] = {
    "catalog": ["nodes.yaml"],
    "cluster": "whole",
    "gpus": {
        "capacity": 64,
        "groups": [
            {"name": "train", "model": "dgx-h100", "hosts": 12, "hosts_per_unit": 8},
            {"name": "store", "model": "storage-2x400", "hosts": 3, "hosts_per_unit": 8},
        ],
    },
    "tors": BOX,
    "spines": ABOVE,
    "networks": {"frontend": NETWORK},
}


def more(spec: dict[str, Any], group: int) -> None:
    spec["gpus"]["groups"][group]["hosts"] += 3


def network(spec: dict[str, Any]) -> None:
    spec["networks"].setdefault("storage", deepcopy(NETWORK))


def add_alone(spec: dict[str, Any], network: str, group: dict[str, Any], more: int) -> None:
    """More hosts of a network alone; the first bring their group."""
    groups = spec["networks"][network].setdefault("groups", [])
    found = next((each for each in groups if each["name"] == group["name"]), None)
    if found is None:
        groups.append(dict(group))
    else:
        found["hosts"] += more


def join_storage(spec: dict[str, Any]) -> None:
    """The archive's hosts are in the storage network as well, once both are there."""
    networks = spec["networks"]
    there = any(each["name"] == "archive" for each in networks["frontend"].get("groups", ()))
    if there and "storage" in networks:
        networks["storage"]["groups"] = [{"name": "archive", "hosts_per_unit": 8}]


def add_party_link(section: dict[str, Any], at: str, lowest: int) -> None:
    """One more link of a party, at the next spine that has none."""
    links = section.setdefault("external", {"dc": {"asn": 64999, "links": []}})["dc"]["links"]
    if len(links) < 4:
        number = len(links)
        links.append({
            "at": f"{at}spine0{number + 1}a", "port": "Ethernet64/1", "speed_gbps": 800, "peer": f"{at}core-{number}",
            "local": f"192.0.2.{lowest + 2 * number}/31", "peer_port": "e1",
        })  # fmt: skip


STEPS: dict[str, Callable[[dict[str, Any]], None]] = {
    "GPU hosts": lambda spec: more(spec, 0),
    "storage nodes": lambda spec: more(spec, 1),
    "a network": network,
    "archive nodes of the front end": lambda spec: add_alone(spec, "frontend", ARCHIVE, 3),
    "login nodes beside GPU hosts": lambda spec: add_alone(spec, "frontend", LOGIN, 1),
    "archive nodes join another network": join_storage,
    "a way out of the rails": lambda spec: add_party_link(spec, "", 0),
    "a way out of the front end": lambda spec: add_party_link(spec["networks"]["frontend"], "frontend-", 32),
}


def collect_everything(found: Compiled) -> dict[str, object]:
    parts = [found, *found.networks.values()]
    return {
        f"{part.fabric.network} {key}": value
        for part in parts
        for key, value in find_identity(part.fabric).items()
    }


def test_archive_nodes_come_to_be_in_two_networks() -> None:
    """Else the property below would hold of nothing."""
    spec = deepcopy(WHOLE)
    for step in ("archive nodes of the front end", "a network", "archive nodes join another network"):
        STEPS[step](spec)
    names = [[each["name"] for each in part["groups"]] for part in spec["networks"].values()]
    assert names == [["archive"], ["archive"]]


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6))
def test_growth_of_a_whole_cluster_changes_nothing_that_exists(steps: list[str]) -> None:
    spec, known = deepcopy(WHOLE), dict[str, object]()
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        for step in ("", *steps):
            if step:
                STEPS[step](spec)
            path.write_text(json.dumps(spec))
            Path(folder, "nodes.yaml").write_text(json.dumps(CATALOG))
            found = compile_spec(path, gaps=False)
            assert [each.message for each in found.diagnostics if each.severity is Severity.ERROR] == []
            grown = collect_everything(found)
            assert {key: grown.get(key) for key in known if not key.endswith("aggregates")} == {
                key: value for key, value in known.items() if not key.endswith("aggregates")
            }
            for key, value in known.items():
                if key.endswith("aggregates"):  # hosts of other groups add one
                    assert {*value} <= {*grown[key]}  # type: ignore[misc]
            found.lock_path.write_text(found.lock_text)
            known = grown


GIVEN = ("device", "asn", "loopback4", "management", "hosts4")
"""Columns of the tables of devices that are drawn."""


def draw_tables(
    draw: Callable[[st.SearchStrategy[Any]], Any], fabric: Fabric, folder: Path
) -> dict[str, str]:
    """Random tables of some switches and links of a fabric, near to what is computed for it and far from that."""
    switches = list(fabric.switch_ids())
    pools, bits = fabric.addresses, fabric.aggregate_bits()
    out_of_band = pools.management[-1].pool
    assert pools.hosts4 is not None
    rarely, moved = st.integers(0, 9), dict[str, int]()
    number, last = st.integers(0, 12), (1 << pools.hosts4.bits - bits) - 1
    lines = [",".join(GIVEN)]
    for order, at in enumerate(
        draw(st.lists(st.sampled_from(switches), unique=True, min_size=1, max_size=4))
    ):
        tor = at.tier == "tor"
        far, beyond = draw(rarely) < 9, 4 * order + draw(st.integers(0, 3))
        cells = (
            str(4_294_000_000 + 16 * fabric.number + beyond if far else links.switch_asn(fabric, at) + draw(number)),
            pools.loopbacks4.address((1 << pools.loopbacks4.bits - 2) - 1 - beyond if far else draw(number)),
            out_of_band.address((1 << out_of_band.bits - 1) - 2 - beyond if far else 16 + draw(number)),
            pools.hosts4.prefix((last - beyond if far else draw(number)) << bits, bits) if tor else "",
        )  # fmt: skip
        kept = [cell if draw(st.booleans()) else "" for cell in cells]
        lines.append(",".join((fabric.name(at), *kept)))
        if kept[-1]:
            moved[fabric.name(at)] = int(ip_network(kept[-1])[0]) - pools.hosts4.first
    given_already: set[int] = set()
    rows = ["a_device,a_port,b_device,b_port,a_ipv4,b_ipv4"]
    cables = [each for each in fabric.cables() if each.kind in ("host", "spine")]
    names = {fabric.name(at): at for at in switches}
    for cable in draw(st.lists(st.sampled_from(cables), unique=True, max_size=4)):
        if cable.kind == "host":
            at = names[cable.b_device]
            first = moved.get(cable.b_device, links.host_blocks(fabric, at, at.unit)[0])
            places = range(first, first + (1 << bits), 2)
            computed = links.host_blocks(fabric, at, at.unit)[0]
            used = {
                int(ip_interface(port.ipv4)) - pools.hosts4.first - computed + first & ~1
                for port in fabric.switch(at).ports
                if port.ipv4 and port.direction is Direction.HOST
            }
            free = [each for each in places if each not in used | given_already]
            chosen = draw(st.sampled_from(free if free and draw(rarely) < 9 else places))
            given_already.add(chosen)
            pair = pools.hosts4.pair(chosen)
        else:
            pair = Pool(0xC6120000, 15, 4).pair(2 * (len(rows) + 16 * fabric.number))  # RFC 2544
        rows.append(",".join((cable.a_device, cable.a_port, cable.b_device, cable.b_port, *pair)))
    for name, text in (("devices", lines), ("links", rows)):
        (folder / f"{fabric.network}{name}.csv").write_text("\n".join(text) + "\n")
    return {name: f"{fabric.network}{name}.csv" for name in ("devices", "links")}


@cache
def whole_alone() -> Compiled:
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.with_name("nodes.yaml").write_text(json.dumps(CATALOG))
        path.write_text(json.dumps(WHOLE))
        return compile_spec(path, gaps=False)


def find_errors(found: Compiled) -> set[str]:
    return {each.code for each in found.diagnostics if each.severity is Severity.ERROR}


@settings(max_examples=scale_examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
def test_growth_changes_nothing_where_tables_of_all_networks_give_a_part(
    data: st.DataObject, steps: list[str]
) -> None:
    """Colliding identities are refused, at first or with a new device, and never altered silently."""
    spec, known = deepcopy(WHOLE), dict[str, object]()
    plain = whole_alone()
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        Path(folder, "nodes.yaml").write_text(json.dumps(CATALOG))
        spec["identities"] = draw_tables(data.draw, plain.fabric, path.parent)
        frontend = plain.networks["frontend"].fabric
        spec["networks"]["frontend"] = NETWORK | {"identities": draw_tables(data.draw, frontend, path.parent)}
        for step in ("", *steps):
            if step:
                STEPS[step](spec)
            path.write_text(json.dumps(spec))
            found = compile_spec(path, gaps=False)
            if wrong := find_errors(found):
                assert wrong <= ({"FAB3123"} if step else {"FAB3122", "FAB3123", "FAB3124"})
                event(f"refused, {step or 'at once'}")
                return
            grown = collect_everything(found)
            kept = {key for key in known if not key.endswith("aggregates")}  # other groups add to these
            assert {key: grown.get(key) for key in kept} == {key: known[key] for key in kept}
            parts = [part.fabric for part in (found, *found.networks.values())]
            for of_all in (find_loopbacks, find_management, find_blocks, find_ends):
                values = [value for part in parts for value in of_all(part)]
                assert len(values) == len(set(values))
            found.lock_path.write_text(found.lock_text)
            known = grown
        event("grown")


def find_loopbacks(fabric: Fabric) -> list[str]:
    return [fabric.switch(at).loopback4 or "" for at in fabric.switch_ids()]


def find_management(fabric: Fabric) -> list[str]:
    return [fabric.switch(at).management.address for at in fabric.switch_ids()]


def find_blocks(fabric: Fabric) -> list[str]:
    return [each for at in fabric.switch_ids() for each in fabric.switch(at).bgp.aggregates]


def find_ends(fabric: Fabric) -> list[str]:
    """Addresses of ports of switches inside the fabric."""
    ports = [port for at in fabric.switch_ids() for port in fabric.switch(at).ports]
    return [port.ipv4 for port in ports if port.ipv4 and port.direction is not Direction.EXTERNAL]


def test_new_host_at_a_given_address_is_rejected_without_renumbering(tmp_path: Path) -> None:
    """The eleventh host's place in its ToR's block is another host's already; a line for it settles that."""
    plain, spec = whole_alone(), deepcopy(WHOLE)
    path = tmp_path / "cluster.yaml"
    path.with_name("nodes.yaml").write_text(json.dumps(CATALOG))
    cable = next(each for each in plain.fabric.cables() if each.b_device == "su002-tor1a")
    tor = plain.fabric.find("su002-tor1a")
    assert isinstance(tor, SwitchId)
    assert plain.fabric.addresses.hosts4
    first = links.host_blocks(plain.fabric, tor, tor.unit)[0]
    free = [plain.fabric.addresses.hosts4.pair(first + 2 * place) for place in range(8)]
    row = (cable.a_device, cable.a_port, cable.b_device, cable.b_port, *reversed(free[4]))
    head = "a_device,a_port,b_device,b_port,a_ipv4,b_ipv4"
    (tmp_path / "links.csv").write_text("\n".join([head, ",".join(row)]) + "\n")
    spec["identities"] = {"links": "links.csv"}
    path.write_text(json.dumps(spec))
    found = compile_spec(path, gaps=False)
    assert not find_errors(found), [each.message for each in found.diagnostics]
    found.lock_path.write_text(found.lock_text)
    more(spec, 0)
    path.write_text(json.dumps(spec))
    refused = compile_spec(path, gaps=False)
    (wrong,) = [each for each in refused.diagnostics if each.severity is Severity.ERROR]
    assert wrong.code == "FAB3123"
    assert wrong.message.endswith(f"are computed for su002-host05 {cable.a_port}")
    names = links.port_names(plain.fabric, tor)
    fifth = names[plain.fabric.tor_layouts[0].down[4]]
    row = ("su002-host05", cable.a_port, cable.b_device, fifth, *reversed(free[0]))
    with (tmp_path / "links.csv").open("a") as table:
        table.write(",".join(row) + "\n")
    grown = compile_spec(path, gaps=False)
    assert not find_errors(grown), [each.message for each in grown.diagnostics]
    known, now = collect_everything(found), collect_everything(grown)
    assert {key: now.get(key) for key in known} == known
