"""Ways out: which ports a link can have, what switches make of it, and that nothing of the fabric moves."""

from __future__ import annotations

from typing import Any

from fabricc.fabric.model import Direction, Switch
from tests.front.planning.support import fabric_of, make_document, planned

LINK = {
    "at": "spine01a",
    "port": "swp64",
    "speed_gbps": 400,
    "local": "192.0.2.0/31",
    "peer": "core-1",
    "peer_port": "et-0/0/1",
}


def with_links(
    *links: dict[str, Any], party: dict[str, Any] | None = None, **sections: Any
) -> dict[str, Any]:
    """A spec whose spines keep four ports, with a party that has these links."""
    known: dict[str, Any] = {"spines": {"reserved_ports": 4, "count": 32}, **sections}
    known.setdefault("gpus", {"hosts": 32})
    return make_document(**known, external={"core": {"asn": 64999, "links": list(links), **(party or {})}})


def switch_of(text: dict[str, Any], name: str) -> Switch:
    fabric = fabric_of(text)
    return next(fabric.switch(at) for at in fabric.switch_ids() if fabric.name(at) == name)


def find_refusals(text: dict[str, Any]) -> list[str]:
    return [
        f"{d.code} {d.message} | {d.help}" for d in planned(text).diagnostics if d.code.startswith("FAB308")
    ]


def test_an_external_port_is_lossy_and_marks_what_arrives() -> None:
    port = next(p for p in switch_of(with_links(LINK), "spine01a").ports if p.name == "swp64")
    assert (port.direction, port.enabled, port.profile, port.trusted) == (
        Direction.EXTERNAL,
        True,
        None,
        False,
    )
    assert (port.ipv4, port.peer and port.peer.device, port.speed_gbps) == ("192.0.2.0/31", "core-1", 400)


def test_external_link_is_lossless_on_request() -> None:
    switch = switch_of(with_links({**LINK, "length_m": 300}, party={"lossless": True}), "spine01a")
    port = next(p for p in switch.ports if p.name == "swp64")
    profile = next(p for p in switch.qos.profiles if p.name == port.profile)
    assert port.trusted
    assert (profile.speed_gbps, profile.cable_m) == (400, 300)


def test_nothing_of_the_fabric_moves() -> None:
    before, after = (
        fabric_of(make_document(gpus={"hosts": 32}, spines={"reserved_ports": 4, "count": 32})),
        fabric_of(with_links(LINK)),
    )
    assert list(before.cables()) == list(after.cables())
    for old, new in zip(before.switch_ids(), after.switch_ids(), strict=True):
        was, now = before.switch(old), after.switch(new)
        pairs = list(zip(was.ports, now.ports, strict=False))
        assert [(a, b) for a, b in pairs if a != b and b.direction is not Direction.EXTERNAL] == []
        assert was.bgp.sessions == now.bgp.sessions[: len(was.bgp.sessions)]
        assert (was.bgp.asn, was.loopback4, was.management) == (now.bgp.asn, now.loopback4, now.management)


def test_a_cage_is_split_for_a_slower_link_and_every_port_keeps_its_place() -> None:
    plain = switch_of(with_links(LINK), "spine01a")
    slow = switch_of(with_links({**LINK, "port": "swp63s1", "speed_gbps": 100, "at": "spine01a"}), "spine01a")
    assert [p.name for p in plain.ports][:62] == [p.name for p in slow.ports][:62]
    split = [p for p in slow.ports if p.cage == 63]
    assert {p.speed_gbps for p in split} == {100}
    assert [p.name for p in split if p.direction is Direction.EXTERNAL] == ["swp63s1"]
    assert len(split) == split[0].children > 1


def test_a_port_that_the_plan_may_need_is_refused_with_free_ones() -> None:
    assert find_refusals(with_links({**LINK, "port": "swp1"}))[0].startswith(
        "FAB3081 port swp1 of spine01a leads to su001-tor1a | Of 8 ports free for 400G there: "
    )
    assert (
        "is kept for a link of the plan, as the fabric grows"
        in find_refusals(with_links({**LINK, "port": "swp50"}))[0]
    )
    free = find_refusals(with_links({**LINK, "port": "swp50"}))[0].rpartition(": ")[2].rstrip(".").split(", ")
    assert find_refusals(with_links({**LINK, "port": free[0]})) == [
        "FAB3084 external.core is reached over 1 switch alone | If it fails, the party is "
        "unreachable: add a link at a second one."
    ]


def test_without_a_free_port_the_remedy_is_to_keep_some() -> None:
    full = with_links(LINK, spines={"count": 32})
    assert find_refusals(full)[0] == (
        "FAB3081 port swp64 of spine01a is kept for a link of the plan, as the fabric grows | No port is free there; "
        "with `spines: {reserved_ports: 1}` there is swp64."
    )
    assert find_refusals(with_links(LINK, spines={"count": 32, "reserved_ports": 1}))[0].startswith("FAB3084")


def test_unknown_switches_and_ports_of_external_links_are_rejected() -> None:
    assert find_refusals(with_links({**LINK, "at": "spine39a"}))[0].startswith(
        "FAB3080 no switch is named 'spine39a' | Did you mean "
    )
    assert find_refusals(with_links({**LINK, "port": "swp99"}))[0].startswith(
        "FAB3081 port swp99 of spine01a does not exist"
    )
    assert find_refusals(with_links({**LINK, "speed_gbps": 1600}))[0].startswith(
        "FAB3082 NVIDIA SN5400 has no port of 1600G | It has ports of "
    )
    second = {**LINK, "local": "192.0.2.2/31"}
    assert find_refusals(with_links(LINK, second))[0] == (
        "FAB3081 port swp64 of spine01a leads to core-1 already | Every link needs its own port."
    )


def test_two_links_do_not_end_at_one_far_port() -> None:
    again = {**LINK, "at": "spine02a", "local": "192.0.2.2/31"}
    (problem,) = [each for each in planned(with_links(LINK, again)).diagnostics if each.code == "FAB3181"]
    assert problem.message == "port et-0/0/1 of core-1 leads to swp64 of spine01a already"
    assert planned(with_links(LINK, {**again, "peer_port": "et-0/0/2"})).fabric is not None


def test_a_plane_without_a_way_out_is_reported() -> None:
    text = with_links(LINK, planes=2, gpus={"hosts": 8, "hosts_per_unit": 4}, spines={"reserved_ports": 4})
    assert [each for each in find_refusals(text) if each.startswith("FAB3083")] == [
        "FAB3083 external.core has no link in 1 plane of 2: b | NIC ports of that plane cannot reach it: "
        "add a link at one of its switches."
    ]


def test_hosts_reach_accepted_prefixes_over_the_fabric_but_not_the_default_route() -> None:
    fabric = fabric_of(with_links(LINK, party={"accept": ["0.0.0.0/0", "198.51.100.0/24"]}))
    host = fabric.host(next(iter(fabric.host_ids())))
    assert (host.fabric_prefixes4, host.outside4) == (("10.0.0.0/10",), ("198.51.100.0/24",))


def test_a_switch_takes_more_prefixes_from_where_the_outside_lies() -> None:
    plain, out = (
        fabric_of(make_document(gpus={"hosts": 32})),
        fabric_of(with_links(LINK, party={"maximum_prefixes": 300})),
    )
    limits = [f.switch(next(iter(f.switch_ids()))).bgp.groups[0].maximum_prefixes for f in (plain, out)]
    assert limits[1] >= limits[0] + 300


def test_a_link_at_a_core_is_a_way_out_of_the_planes_of_all_rails() -> None:
    """Cores join the rails; without them a link at one rail's spine leaves the others without a way out."""
    boxes = {"cores": {"model": "sn5400", "nos": "frr", "reserved_ports": 4}}
    spines = {"rails": 1, "units_per_pod": 2, "oversubscription": 2, "reserved_ports": 4}
    gpus = {"hosts": 16, "hosts_per_unit": 4}
    joined = with_links({**LINK, "at": "core01a"}, spines=spines, gpus=gpus, **boxes)
    assert not [each for each in find_refusals(joined) if each.startswith("FAB3083")]
    apart = with_links(LINK, spines={"reserved_ports": 4}, gpus={**gpus, "wiring": "rail-only"})
    (reported,) = [each for each in find_refusals(apart) if each.startswith("FAB3083")]
    assert "no link in 7 planes of 8" in reported
