"""Fabrics without spines, and with spines for each rail or group of rails: counts, both ends of links, refusals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from tests.front.planning.support import fabric_of, make_document, planned, spec_of

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId

BOX = {"model": "sn5600", "nos": "frr"}


LONE = make_document(gpus={"hosts": 8, "hosts_per_unit": 8, "rails_per_tor": 0}, spines=None)
PAIR = make_document(
    gpus={"model": "hgx-2x200", "hosts": 8, "hosts_per_unit": 8, "rails_per_tor": 0}, tors=BOX, spines=None
)
RAIL_ONLY = make_document(gpus={"hosts": 64, "hosts_per_unit": 64, "wiring": "rail-only"}, spines=None)
RAIL_PLANES = make_document(gpus={"hosts": 64, "hosts_per_unit": 16, "wiring": "rail-only"})
RAILS_AND_PORTS = make_document(
    gpus={"model": "hgx-2x200", "hosts": 48, "hosts_per_unit": 16, "wiring": "rail-only"}, planes=2,
    tors=BOX | {"uplink_gbps": 400}, spines=BOX,
)  # fmt: skip
DUAL_TORS = RAILS_AND_PORTS | {"planes": 1}
SETS = make_document(gpus={"hosts": 64, "hosts_per_unit": 16}, spines={"rails": 4})
JOINED = make_document(
    gpus={"hosts": 64, "hosts_per_unit": 16}, spines={"rails": 2, "units_per_pod": 2},
    cores={"model": "sn5400", "nos": "frr"},
)  # fmt: skip
SHAPES = {
    "lone": LONE, "pair": PAIR, "rail-only": RAIL_ONLY, "rail planes": RAIL_PLANES, "dual ToRs": DUAL_TORS,
    "rails and ports": RAILS_AND_PORTS, "sets": SETS, "joined": JOINED,
}  # fmt: skip


def find_parts(fabric: Fabric) -> dict[tuple[SwitchId, ...], set[SwitchId]]:
    """The parts of a fabric that cables join: the ToRs of each -> all its switches."""
    by_name = {fabric.name(at): at for at in fabric.switch_ids()}
    left, parts = set(by_name), {}
    while left:
        waiting, part = [left.pop()], set()
        while waiting:
            name = waiting.pop()
            part.add(by_name[name])
            peers = {
                link.peer for link in links.switch_links(fabric, by_name[name]) if link.direction != "host"
            }
            waiting += peers & left
            left -= peers
        tors = tuple(sorted((at for at in part if at.tier is TierName.TOR), key=fabric.name))
        parts[tors] = part
    return parts


@pytest.mark.parametrize(
    ("name", "tors", "spines", "cores", "parts"),
    [
        ("lone", 1, 0, 0, 1), ("pair", 2, 0, 0, 2), ("rail-only", 8, 0, 0, 8), ("rail planes", 32, 8, 0, 8),
        ("dual ToRs", 48, 8, 0, 8), ("rails and ports", 48, 16, 0, 16), ("sets", 32, 8, 0, 2),
        ("joined", 32, 16, 8, 1),
    ],
)  # fmt: skip
def test_counts_and_what_is_joined(name: str, tors: int, spines: int, cores: int, parts: int) -> None:
    """Cables join as many parts as there are planes that never meet, and each has a ToR for every unit."""
    fabric = fabric_of(SHAPES[name])
    counts = fabric.counts()
    assert (counts["tors"], counts["spines"], counts["cores"]) == (tors, spines, cores)
    found = find_parts(fabric)
    assert len(found) == parts
    assert {len(of) for of in found} == {tors // parts}
    hosts = [fabric.host(at) for at in fabric.host_ids()]
    assert {host.planes for host in hosts} == {parts}
    plane_of = {fabric.name(at): number for number, part in enumerate(found.values()) for at in part}
    for host in hosts:
        met = {(port.plane, plane_of[port.peer.device]) for port in host.ports}
        assert len(met) == len({plane for plane, _ in met}) == len({part for _, part in met})


@pytest.mark.parametrize("name", SHAPES)
def test_both_ends_of_every_link_agree(name: str) -> None:
    fabric = fabric_of(SHAPES[name])
    ends = {}
    for at in fabric.switch_ids():
        ports = links.port_names(fabric, at)
        for link in links.switch_links(fabric, at):
            if link.direction != "host":
                here = (fabric.name(at), ports[link.slot])
                assert here not in ends
                ends[here] = (link.peer, link.peer_port, link.local4, link.remote4)
    for here, (peer, port, local, remote) in ends.items():
        assert ends[peer, port] == (*here, remote, local)
    counts = fabric.counts()
    assert len(ends) == 2 * (counts["spine_cables"] + counts["core_cables"])


@pytest.mark.parametrize("name", ["lone", "pair", "rail-only"])
def test_without_spines_tors_have_no_uplinks_sessions_or_link_addresses(name: str) -> None:
    fabric = fabric_of(SHAPES[name])
    assert fabric.addresses.links4 is None
    assert TierName.SPINE not in fabric.tiers
    for at in fabric.switch_ids():
        tor = fabric.switch(at)
        assert (tor.bgp.sessions, tor.bgp.groups) == ((), ())
        assert {port.direction for port in tor.ports} <= {Direction.HOST, Direction.UNUSED}
        assert tor.bgp.aggregates


@pytest.mark.parametrize(
    ("name", "apart"),
    [("lone", False), ("pair", False), ("rail-only", True), ("rail planes", True), ("sets", True), ("joined", False)],
)  # fmt: skip
def test_hosts_know_whether_rails_meet(name: str, apart: bool) -> None:
    fabric = fabric_of(SHAPES[name])
    assert {fabric.host(at).rail_isolated for at in fabric.host_ids()} == {apart}


def test_without_spines_hosts_queue_pairs_are_at_least_one() -> None:
    fabric = fabric_of(LONE)
    assert fabric.host(next(fabric.host_ids())).recommended_qps == 1


def only_problem(text: dict[str, Any], code: str) -> str:
    """The help of the only problem, which has this code."""
    (problem,) = planned(text).diagnostics
    assert (problem.code, problem.severity) == (code, "error")
    assert re.search(r"\d", problem.message)
    return problem.help


def test_rails_that_nothing_joins_are_refused_unless_requested() -> None:
    islands = make_document(gpus={"hosts": 4, "hosts_per_unit": 4}, spines=None)
    help_ = only_problem(islands, "FAB3052")
    assert "`gpus.wiring: rail-only`" in help_
    assert "`gpus.rails_per_tor: 0`" in help_
    for remedy in ({"wiring": "rail-only"}, {"rails_per_tor": 0}):
        assert fabric_of(make_document(gpus={"hosts": 4, "hosts_per_unit": 4, **remedy}, spines=None))
    full = make_document(gpus={"hosts": 16, "hosts_per_unit": 16}, spines=None)
    assert "rails_per_tor" not in only_problem(full, "FAB3052")
    assert (
        planned(
            make_document(gpus={"hosts": 16, "hosts_per_unit": 16, "rails_per_tor": 0}, spines=None)
        ).fabric
        is None
    )


@pytest.mark.parametrize(("hosts", "per_unit"), [(64, 32), (128, 64), (96, 32)])
def test_units_that_nothing_joins_are_refused_with_spines_that_do(hosts: int, per_unit: int) -> None:
    gpus = {"hosts": hosts, "hosts_per_unit": per_unit, "wiring": "rail-only"}
    help_ = only_problem(make_document(gpus=gpus, spines=None), "FAB3054")
    if found := re.search(r"`gpus\.hosts_per_unit: (\d+)` puts", help_):
        assert fabric_of(make_document(gpus={**gpus, "hosts_per_unit": int(found[1])}, spines=None))
    else:
        assert hosts > 64
    sizes = re.search(
        r"(?:`gpus\.hosts_per_unit: (\d+)` and )?`spines: {model: (\S+), .*}` joins (\d+) units by (\d+) ",
        help_,
    )
    assert sizes
    joined = fabric_of(
        make_document(gpus={**gpus, "hosts_per_unit": int(sizes[1] or per_unit)}, spines={"model": sizes[2]})
    )
    assert (len(joined.units), joined.shape.spines) == (int(sizes[3]), int(sizes[4]))


@pytest.mark.parametrize(
    ("rails", "per_tor", "fits"), [(3, 1, "1, 2, 4, 8"), (1, 2, "2, 4, 8"), (6, 2, "2, 4, 8")]
)
def test_sets_of_rails_that_do_not_come_out_even_are_refused(rails: int, per_tor: int, fits: str) -> None:
    gpus = {"hosts": 32, "hosts_per_unit": 16, "rails_per_tor": per_tor}
    assert fits in only_problem(make_document(gpus=gpus, spines={"rails": rails}), "FAB3053")
    for number in fits.split(", "):
        assert fabric_of(make_document(gpus=gpus, spines={"rails": int(number)}))


def test_too_many_tors_for_one_mesh_may_be_one_mesh_for_each_rail() -> None:
    box = {"model": "sn5600"}
    gpus = {"model": "dgx-b300", "hosts": 512, "hosts_per_unit": 32}
    (problem,) = planned(make_document(gpus=gpus, tors=box, spines=box)).diagnostics
    sizes = re.search(r"`gpus.wiring: rail-only` fits: per rail (\d+) ToRs and (\d+) spines", problem.help)
    assert sizes
    counts = fabric_of(make_document(gpus={**gpus, "wiring": "rail-only"}, tors=box, spines=box)).counts()
    assert (counts["tors"], counts["spines"]) == (8 * int(sizes[1]), 8 * int(sizes[2]))


def test_a_pool_of_links_that_nothing_uses_overlaps_nothing_and_is_not_assumed() -> None:
    spec = spec_of(LONE | {"addressing": {"hosts": "10.192.0.0/11"}})
    assert (
        not {"addressing.links", "addressing.fabric_links", "tors.oversubscription"} & spec.assumptions.keys()
    )


def test_a_sole_spine_of_each_rail_is_reported_with_what_two_cost() -> None:
    found = planned(make_document(gpus={"hosts": 16, "hosts_per_unit": 8, "wiring": "rail-only"})).diagnostics
    (reported,) = [each for each in found if each.code == "FAB3028"]
    assert "8 sets" in reported.message
    assert "takes 8 " in reported.help


def test_a_mesh_that_does_not_fit_leads_away_from_the_pinned_number_of_spines() -> None:
    box = {"model": "sn5600", "nos": "frr"}
    gpus = {"model": "dgx-h100", "hosts": 512, "hosts_per_unit": 8}
    help_ = only_problem(make_document(gpus=gpus, tors=box, spines={**box, "count": 1}), "FAB3009")
    assert help_.endswith("Leave `spines.count` out with any of these.")


@pytest.mark.parametrize(("hosts", "named"), [(1, True), (4, False)])
def test_planes_are_named_for_a_tor_with_ports_enough(hosts: int, named: bool) -> None:
    """A rail of four hosts needs four ports of 100G, and the switch has two, besides ports of 1G and 25G."""
    box = {"model": "as4630-54te", "nos": "frr"}
    gpus = {"model": "dgx-h100", "hosts": hosts, "hosts_per_unit": hosts}
    help_ = only_problem(make_document(gpus=gpus, tors=box, spines=box), "FAB3006")
    assert ("`planes: 4`" in help_) is named


@pytest.mark.parametrize("spines", [{"model": "7808r4", "nos": "frr"}, None])
def test_remedies_name_no_more_hosts_of_a_unit_than_a_spec_can_state(spines: dict[str, str] | None) -> None:
    gpus = {"model": "hgx-b300-8x100", "hosts": 4096, "hosts_per_unit": 16, "wiring": "rail-only"}
    text = make_document(gpus=gpus, tors={"model": "7808r4", "nos": "frr"}, spines=spines)
    text |= {"planes": 2} if spines else {}
    help_ = only_problem(text, "FAB3009" if spines else "FAB3054")
    sizes = [int(size) for size in re.findall(r"`gpus\.hosts_per_unit: (\d+)`", help_)]
    assert sizes
    for size in sizes:
        spec_of(make_document(gpus={**gpus, "hosts_per_unit": size}))
    if most := re.search(r"The most hosts of one unit is (\d+)", help_):
        spec_of(make_document(gpus={**gpus, "hosts_per_unit": int(most[1])}))


def test_rails_are_not_separated_a_second_time() -> None:
    box = {"model": "7060x6-64pe", "nos": "frr"}
    gpus = {"model": "gb200-nvl72", "hosts": 64, "hosts_per_unit": 2}
    help_ = only_problem(make_document(gpus=gpus, tors=box, spines={**box, "rails": 4}), "FAB3009")
    assert "rail-only" not in help_  # FAB3051
