"""Uplinks on the first cages of the panel, and links between switches that have a /30 each."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import Any

import pytest

from fabricc.fabric.model import Direction, Switch
from fabricc.front.planning.topology.layout import list_rooms
from tests.front.planning.support import fabric_of, make_document, planned

FIRST = {"uplinks_first": True}
SMALL = {"hosts": 32, "hosts_per_unit": 8}


def used_cages(switch: Switch, *directions: Direction) -> set[int]:
    return {port.cage for port in switch.ports if port.direction in directions}


def find_switches(text: dict[str, Any]) -> dict[str, Switch]:
    fabric = fabric_of(text)
    return {fabric.name(at): fabric.switch(at) for at in fabric.switch_ids()}


def test_uplinks_are_on_the_first_cages_and_hosts_right_behind_them() -> None:
    found = find_switches(make_document(gpus=SMALL, tors={**FIRST, "uplinks": 4}, spines={"count": 4}))
    tor = found["su001-tor1a"]
    assert used_cages(tor, Direction.UP) == {1, 2, 3, 4}
    assert used_cages(tor, Direction.HOST) == set(range(5, 13))
    assert [port.cage for port in tor.ports] == sorted(port.cage for port in tor.ports)
    assert used_cages(found["spine01a"], Direction.DOWN) == set(range(1, 33))


def test_links_are_the_same_as_with_hosts_first() -> None:
    plain, first = (
        find_switches(make_document(gpus=SMALL, tors={**words, "uplinks": 4}, spines={"count": 4}))
        for words in ({}, FIRST)
    )
    for name, switch in plain.items():
        one, other = ([each.peer.device for each in box.ports if each.peer] for box in (switch, first[name]))
        assert sorted(one) == sorted(other)


def test_spines_have_links_to_cores_first() -> None:
    cores = {"model": "sn5400", "nos": "frr"}
    found = find_switches(
        make_document(gpus={"hosts": 300}, spines={**FIRST, "units_per_pod": 4}, cores=cores)
    )
    spine = found["pod1-spine01a"]
    up = used_cages(spine, Direction.UP)
    assert up == set(range(1, len(up) + 1))
    assert max(up) < min(used_cages(spine, Direction.DOWN))


def test_the_lock_keeps_where_hosts_begin_and_growth_moves_no_port() -> None:
    text = make_document(gpus=SMALL, tors={**FIRST, "uplinks": 4}, spines={"count": 4})
    before = planned(text)
    assert before.lock.strides["tor_down_cage"] == 4
    assert "tor_up_cage" not in before.lock.strides
    text["tors"]["uplinks"] = 8
    more = planned(text, before.lock)
    assert more.fabric is None
    assert "room for 4" in " ".join(each.message for each in more.diagnostics)
    assert before.fabric is not None
    (room,) = (each for each in list_rooms(before.fabric) if each.pin == "tor_down_cage")
    assert (room.used, room.room) == (4, 4)


@pytest.mark.parametrize("first", [False, True])
def test_cabled_uplinks_do_not_change_sides_in_silence(first: bool) -> None:
    text = make_document(gpus=SMALL, tors={"uplinks": 4, "uplinks_first": first}, spines={"count": 4})
    lock = planned(text).lock
    text["tors"]["uplinks_first"] = not first
    moved = planned(text, lock)
    assert moved.fabric is None
    assert [each.code for each in moved.diagnostics] == ["FAB3020"]
    assert "--repin" in moved.diagnostics[0].help


def test_hosts_that_outgrow_the_cages_behind_the_uplinks_are_reported() -> None:
    text = make_document(
        gpus={"hosts": 62, "hosts_per_unit": 31}, tors={**FIRST, "uplinks": 32}, spines={"count": 16}
    )
    lock = planned(text).lock
    text["gpus"] |= {"hosts": 80, "hosts_per_unit": 40}
    text["tors"]["uplinks"] = 16
    (reported,) = planned(text, lock).diagnostics
    assert reported.code == "FAB3020"
    assert "leaves 32; hosts need 40" in reported.message


def test_a_switch_of_another_model_has_its_uplinks_first_as_well() -> None:
    change = {"su001-tor1a": {"model": "sn5600"}}
    text = make_document(gpus=SMALL, tors={**FIRST, "uplinks": 4}, spines={"count": 4}, overrides=change)
    found = find_switches(text)["su001-tor1a"]
    assert max(used_cages(found, Direction.UP)) < min(used_cages(found, Direction.HOST))


def test_links_between_switches_have_the_inner_addresses_of_a_30_and_hosts_those_of_a_31() -> None:
    found = find_switches(
        make_document(gpus=SMALL, spines={"count": 4}, addressing={"link_prefix_length": 30})
    )
    ends: dict[str, list[str]] = {}
    for switch in found.values():
        for port in switch.ports:
            if port.ipv4 and port.direction in (Direction.UP, Direction.DOWN):
                address = ip_interface(port.ipv4)
                assert address.network.prefixlen == 30
                assert address.ip in list(address.network.hosts())
                ends.setdefault(str(address.network), []).append(switch.name)
            elif port.ipv4:
                assert port.ipv4.endswith("/31")
    assert all(len(each) == 2 for each in ends.values())
    port = next(port for port in found["spine01a"].ports if port.peer)
    assert port.ipv4 == "10.64.0.1/30"
    remotes = {session.remote for session in found["spine01a"].bgp.sessions}
    assert "10.64.0.2" in remotes


def test_a_pool_holds_half_as_many_links_of_a_30() -> None:
    text = make_document(gpus={"hosts": 8, "hosts_per_unit": 8}, tors={"uplinks": 4}, spines={"count": 4})
    pools = {"links": "10.64.0.0/25", "hosts": "10.0.0.0/20"}
    assert planned({**text, "addressing": pools}).fabric is not None
    wide = planned({**text, "addressing": {**pools, "link_prefix_length": 30}})
    assert wide.fabric is None
    assert "FAB3017" in {each.code for each in wide.diagnostics}
    assert planned(
        {**text, "addressing": {**pools, "links": "10.64.0.0/24", "link_prefix_length": 30}}
    ).fabric
