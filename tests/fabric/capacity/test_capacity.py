"""The capacity model equals what flows through the cables, and what evenly hashed traffic loads them with."""

from __future__ import annotations

import tempfile
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.capacity.hosts import count_cut_gpus, find_parted_hosts
from fabricc.fabric.capacity.remainder import Remainder, count_even_links, share_without
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.shape import TierName
from tests.effort import scale_examples
from tests.fabric.capacity.hashing import Hashing, even_capacity
from tests.review.report.flows import UNBOUND, Graph
from tests.review.report.specs import CORES, MIXED_SPEEDS, lab_spec, two_ports

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow


def three_tiers(hosts: int, spines: int, uplinks: int, more: str = "") -> str:
    """Pods of two units; `uplinks` of a spine, and settings of the cores."""
    pods = f", units_per_pod: 2, uplinks: {uplinks}"
    return lab_spec(hosts, 2, 4, spines, pods) + CORES.replace("{", f"{{{more}")


UNEQUAL_RACKS = """\
cluster: racks
gpus: {model: hgx-2x200, wiring: rack, hosts_per_rack: 4, racks: {a1: 4, a2: [h5, h6], b1: [h7, h8, h9], b2: [h10]}}
tors: {model: 7060x6-64pe, nos: eos, uplinks: 4, uplink_gbps: 400}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
PODS_OF_TWO_PLANES = """\
cluster: pods
gpus: {model: hgx-2x200, hosts: 4, hosts_per_unit: 1, wiring: rack}
planes: 2
tors: {model: 7060x6-64pe, nos: eos, uplinks: 4, uplink_gbps: 400}
spines: {model: 7060x6-64pe, nos: eos, count: 2, units_per_pod: 2, uplinks: 4}
cores: {model: 7060x6-64pe, nos: eos, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
STORAGE = """\
cluster: two-networks
gpus: {model: dgx-h100, hosts: 6, hosts_per_unit: 3}
tors: {model: sn5600, nos: sonic-202505}
spines: {model: sn5600, nos: sonic-202505, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
networks:
  storage:
    hosts_per_unit: 2
    tors: {model: sn5600, nos: sonic-202505, uplinks: 4}
    spines: {model: sn5600, nos: sonic-202505, count: 2}
    priorities: {nvme: {dscp: 34, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
    groups: [{name: store, model: storage-2x400, hosts: 3, class: nvme}]
"""
INFINIBAND = """\
cluster: subnets
fabric: infiniband
gpus: {model: dgx-a100, hosts: 4, hosts_per_unit: 2}
tors: {model: qm8700}
spines: {model: qm8700, count: 2}
"""
SHAPES = {
    "unequal racks": UNEQUAL_RACKS,
    "pods of two planes": PODS_OF_TWO_PLANES,
    "a storage network": STORAGE,
    "subnets of InfiniBand": INFINIBAND,
    "two spines": lab_spec(6, 2, 2, 2),
    "parallel links": lab_spec(6, 2, 4, 2),
    "oversubscribed": lab_spec(12, 4, 2, 2),
    "four spines by two links": lab_spec(6, 2, 8, 4),
    "rails apart": lab_spec(6, 2, 4, 2, ", rails: 1"),
    "two planes": two_ports(4, 2, 2, "rack"),
    "two ToRs of a host": two_ports(4, 2, 1, "rack"),
    "one rack": two_ports(2, 2, 1, "rack"),
    "two speeds": MIXED_SPEEDS,
    "one core": three_tiers(8, 2, 4),
    "parallel core links": three_tiers(8, 4, 4, "count: 2, "),
    "three pods": three_tiers(12, 4, 4, "count: 4, "),
    "pods of one ToR": lab_spec(6, 2, 4, 2, ", rails: 1, units_per_pod: 1, uplinks: 2") + CORES,
    "groups of cores": three_tiers(8, 4, 2, "count: 4, "),
}


@cache
def fabric_of(name: str) -> Fabric:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "cluster.yaml"
        spec.write_text(SHAPES[name])
        compiled = compile_spec(spec, gaps=False)
    if compiled.infiniband is not None:
        return compiled.infiniband.wiring
    return next(iter(compiled.networks.values()), compiled).fabric


@cache
def cables_of(name: str) -> tuple[CableRow, ...]:
    return tuple(fabric_of(name).cables())


@cache
def wiring_of(name: str) -> Wiring:
    return Wiring(fabric_of(name))


def live_cables(cables: Iterable[CableRow], outage: Outage) -> list[CableRow]:
    return [
        cable
        for cable in cables
        if not {cable.a_device, cable.b_device} & outage.gone
        and not {(cable.a_device, cable.a_port), (cable.b_device, cable.b_port)} & outage.ends
    ]


@st.composite
def draw_outages(draw: st.DrawFn) -> tuple[str, Outage]:
    """Lost links, named by either end, and lost switches and hosts."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    cables, wiring = cables_of(name), wiring_of(name)
    ends = [
        draw(st.sampled_from([(cable.a_device, cable.a_port), (cable.b_device, cable.b_port)]))
        for cable in draw(st.lists(st.sampled_from(cables), max_size=6))
    ]
    devices = [*wiring.switches, *wiring.hosts]
    uppers = [each for each, at in wiring.switches.items() if at.tier is not TierName.TOR]
    gone = draw(st.lists(st.sampled_from(devices), max_size=2)) + draw(
        st.lists(st.sampled_from(uppers), max_size=3)
    )
    return name, Outage(gone=frozenset(gone), ends=frozenset(ends))


def between_switches(cables: Iterable[CableRow]) -> Graph:
    """The links between switches, each with a capacity of one."""
    graph = Graph(())
    for cable in cables:
        if cable.kind != "host":
            for a, b in ((cable.a_device, cable.b_device), (cable.b_device, cable.a_device)):
                graph.gbps.setdefault(a, Counter())[b] += 1
    return graph


def unbound_beyond(graph: Graph, tor: str) -> Graph:
    """The graph in which only the links of one ToR limit the flow."""
    found = Graph(())
    for node, ends in graph.gbps.items():
        found.gbps[node] = ends if node == tor else Counter(dict.fromkeys(ends, UNBOUND))
    return found


@settings(deadline=None, max_examples=scale_examples(400))
@given(draw_outages())
def test_links_that_carry_are_the_flow_from_a_tor_to_all_others(drawn: tuple[str, Outage]) -> None:
    """Only the ToR's own links limit the flow: what lies beyond them is in service or not."""
    name, outage = drawn
    left, graph = Remainder(wiring_of(name), outage), between_switches(live_cables(cables_of(name), outage))
    tors = set(wiring_of(name).tors)
    for tor in sorted(tors - outage.gone):
        beyond = unbound_beyond(graph, tor)
        if tors - outage.gone == {tor}:
            continue  # nothing is left that it could lead to
        assert left.share(tor).links == beyond.flow([tor], tors - {tor}), tor


@settings(deadline=None, max_examples=scale_examples(400))
@given(draw_outages())
def test_pairs_of_tors_have_the_links_that_flow_between_them_through_spines(
    drawn: tuple[str, Outage],
) -> None:
    name, outage = drawn
    wiring = wiring_of(name)
    left, cables = Remainder(wiring, outage), live_cables(cables_of(name), outage)
    for one, other in combinations(sorted(wiring.tors.keys() - outage.gone), 2):
        places = [wiring.tors[tor] for tor in (one, other)]
        if len({(at.pod, at.plane) for at in places}) > 1:
            continue
        graph = between_switches(c for c in cables if c.kind == "spine" and c.a_device in (one, other))
        assert left.pair_links(one, other) == graph.flow([one], [other])


@settings(deadline=None, max_examples=scale_examples(400))
@given(draw_outages())
def test_hosts_without_a_path_are_those_that_reach_no_spine(drawn: tuple[str, Outage]) -> None:
    """A port has a path if its cable is up and something is above its ToR, in fabrics that have spines."""
    name, outage = drawn
    wiring, cables = wiring_of(name), live_cables(cables_of(name), outage)
    left = Remainder(wiring, outage)
    carrying = {tor for tor in wiring.tors if tor not in outage.gone and left.share(tor).links}
    up = {(c.a_device, c.a_port) for c in cables if c.kind == "host" and c.b_device in carrying}
    every = [c for c in cables_of(name) if c.kind == "host"]
    lost = {(c.a_device, c.a_port) for c in every} - up
    assert sum(map(len, left.lost_ports.values())) == len(lost)
    hosts = {wiring.fabric.units[at.unit].hosts[at.slot]: ports for at, ports in left.lost_ports.items()}
    for host, ports in hosts.items():
        assert len(ports) == sum(1 for device, _ in lost if device == host)
    assert left.lost_links == len(cables_of(name)) - len(cables)
    assert count_cut_gpus(left) <= wiring.fabric.counts()["gpus"]


@settings(deadline=None, max_examples=scale_examples(40))
@given(draw_outages(), st.data())
def test_hosts_without_a_plane_in_common_are_those_whose_ports_lead_to_other_planes(
    drawn: tuple[str, Outage], data: st.DataObject
) -> None:
    """Two NICs have a plane in common if a live cable of each leads to a ToR of it."""
    name, outage = drawn
    wiring, cables = wiring_of(name), cables_of(name)
    tors = data.draw(st.lists(st.sampled_from(sorted(wiring.tors)), max_size=4))
    outage = outage | Outage(gone=frozenset(tors))
    left = Remainder(wiring, outage)
    carrying = {tor for tor in wiring.tors if tor not in outage.gone and left.share(tor).links}
    whole = _planes_of_nics(name, cables, wiring.tors)
    now = _planes_of_nics(name, live_cables(cables, outage), carrying)
    expected = {
        frozenset({one[0], other[0]})
        for one, other in combinations(now, 2)
        if one[0] != other[0] and whole[one] & whole[other] and not now[one] & now[other]
    }
    found = {
        frozenset({one, other})
        for pair in find_parted_hosts(left)
        for one, other in product(pair.hosts, pair.others)
        if one != other
    }
    assert found == expected


@cache
def _rails_of_cables(name: str) -> dict[tuple[str, str], int]:
    """A host and its port -> the rail."""
    ends = [(cable.a_device, cable.a_port) for cable in cables_of(name) if cable.kind == "host"]
    return {end: nic.rail for end in ends if (nic := wiring_of(name).find_nic(end)) is not None}


def _planes_of_nics(
    name: str, cables: Iterable[CableRow], tors: Collection[str]
) -> dict[tuple[str, int], set[int]]:
    """Host and rail -> planes of its ports that lead to some ToRs."""
    found: dict[tuple[str, int], set[int]] = {}
    for cable in cables:
        if cable.kind == "host" and cable.b_device in tors:
            nic = cable.a_device, _rails_of_cables(name)[cable.a_device, cable.a_port]
            found.setdefault(nic, set()).add(wiring_of(name).tors[cable.b_device].plane)
    return found


@st.composite
def losses_of_a_tor(draw: st.DrawFn) -> tuple[str, str, Outage]:
    """Lost uplinks of one ToR, and lost spines of its pod and plane."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    wiring = wiring_of(name)
    tor = draw(st.sampled_from(sorted(wiring.tors)))
    uplinks = [(c.a_device, c.a_port) for c in cables_of(name) if c.a_device == tor and c.kind == "spine"]
    ends = draw(st.lists(st.sampled_from(uplinks), max_size=4))
    spines = draw(st.lists(st.sampled_from(sorted(wiring.uplinks[tor])), max_size=2))
    return name, tor, Outage(gone=frozenset(spines), ends=frozenset(ends))


@settings(deadline=None, max_examples=scale_examples(400))
@given(losses_of_a_tor())
def test_even_hashing_fills_the_narrowest_link_into_a_tor_first(drawn: tuple[str, str, Outage]) -> None:
    name, tor, outage = drawn
    wiring = wiring_of(name)
    left, hashing = Remainder(wiring, outage), Hashing(live_cables(cables_of(name), outage))
    at = wiring.tors[tor]
    same = [t for t, o in wiring.tors.items() if t != tor and (o.pod, o.plane) == (at.pod, at.plane)]
    joined = [t for t, o in wiring.tors.items() if wiring.fabric.shape.cores and o.pod != at.pod]
    found = [hashing.loads(source, tor) for source in (*same, *joined)]
    capacities = [
        even_capacity(loads, [(upper, tor) for upper in wiring.uplinks[tor]]) for loads in found if loads
    ]
    assert left.share(tor).even == min(capacities, default=0)


@st.composite
def losses_of_a_pod(draw: st.DrawFn) -> tuple[str, Outage]:
    """Lost links between spines of the first pod and cores, lost spines of that pod, and lost cores."""
    name = draw(st.sampled_from([name for name in sorted(SHAPES) if fabric_of(name).shape.cores]))
    wiring = wiring_of(name)
    spines = [each for each, at in wiring.switches.items() if at.tier is TierName.SPINE and at.pod == 0]
    cores = [each for each, at in wiring.switches.items() if at.tier is TierName.CORE]
    links = [(c.a_device, c.a_port) for c in cables_of(name) if c.a_device in spines]
    ends = draw(st.lists(st.sampled_from(links), max_size=3))
    gone = draw(st.lists(st.sampled_from(spines), max_size=2)) + draw(
        st.lists(st.sampled_from(cores), max_size=1)
    )
    return name, Outage(gone=frozenset(gone), ends=frozenset(ends))


_THREE_OF_SIXTEEN = frozenset(
    {("pod1-spine01a", "swp5"), ("pod1-spine02a", "swp7"), ("pod1-spine03a", "swp5")}
)
"""Links of three spines to two cores: each has other cores left, all together fill them evenly."""


@settings(deadline=None, max_examples=scale_examples(300))
@given(losses_of_a_pod())
@example(("parallel core links", Outage(ends=_THREE_OF_SIXTEEN)))
def test_even_hashing_fills_the_narrowest_link_between_a_pod_and_the_cores_first(
    drawn: tuple[str, Outage],
) -> None:
    name, outage = drawn
    wiring = wiring_of(name)
    left, hashing = Remainder(wiring, outage), Hashing(live_cables(cables_of(name), outage))
    inside = next(tor for tor, at in wiring.tors.items() if at.pod == 0)
    plane = wiring.tors[inside].plane
    outside = next(tor for tor, at in wiring.tors.items() if (at.pod, at.plane) == (1, plane))
    spines = [each for each, at in wiring.switches.items() if at.tier is TierName.SPINE]
    own = [each for each in spines if wiring.switches[each].pod == 0 and wiring.switches[each].plane == plane]
    pairs = [(lower, upper) for lower in own for upper in wiring.uplinks[lower]]
    share = left.parts[wiring.part(pairs[0][0])]
    out, back = hashing.loads(inside, outside), hashing.loads(outside, inside)
    if out is None or back is None:
        assert share.even == 0
        return
    down = [(upper, lower) for lower, upper in pairs]
    assert share.even == min(even_capacity(out, pairs), even_capacity(back, down))
    up = between_switches(c for c in live_cables(cables_of(name), outage) if c.kind == "core")
    assert share.links == sum(sum(up.gbps.get(spine, {}).values()) for spine in {lower for lower, _ in pairs})


def test_a_spine_that_leads_to_nothing_else_is_no_next_hop() -> None:
    wiring = wiring_of("two spines")
    tor, *others = wiring.tors
    spine = next(iter(wiring.uplinks[tor]))
    ends = frozenset(
        (c.a_device, c.a_port)
        for c in cables_of("two spines")
        if c.b_device == spine and c.a_device in others
    )
    left = Remainder(wiring, Outage(ends=ends))
    assert spine not in left.next_hops(tor)
    assert left.share(tor).links == 1


def test_the_only_tor_in_service_joins_its_hosts() -> None:
    """All hosts of a single rack reach each other through one of its two ToRs."""
    wiring = wiring_of("one rack")
    out, left = wiring.tors
    remainder = Remainder(wiring, Outage(gone=frozenset({out})))
    assert count_cut_gpus(remainder) == 0
    assert {*remainder.rails.values()} == {Fraction(1, 2)}
    assert remainder.share(left).links == 4


@pytest.mark.parametrize(
    ("counts", "even"), [([2, 2, 1], 3), ([2, 2, 0], 4), ([0, 0], 0), ([3, 4, 4, 4], 12), ([], 0)]
)
def test_the_narrowest_next_hop_limits_all(counts: list[int], even: int) -> None:
    assert count_even_links(counts) == even


def test_a_share_without_parts_is_what_the_others_are() -> None:
    assert share_without(4) == Fraction(3, 4)
    assert share_without(2, 3) == 0
    assert share_without(0) == 1
