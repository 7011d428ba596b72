"""Predictions for small networks agree with results computed by hand."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.operate.lab.scenarios import drained_network, list_failures
from tests.operate.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.lab.steady import Network

TOR, FAR_TOR, SPINE = "su001-tor1a", "su002-tor2a", "spine01a"


def small_network(tmp_path: Path, more: str = "") -> Network:
    return specs.network(specs.two_tiers(tmp_path, more=more))


def test_a_tor_reaches_every_other_over_all_its_spines(tmp_path: Path) -> None:
    widths = small_network(tmp_path).predict().widths
    assert Counter(widths[TOR].values()) == {2: 6, 1: 2}, (
        "three aggregates, three ToR loopbacks, two of spines"
    )
    assert Counter(widths[SPINE].values()) == {1: 8}, "four aggregates and four loopbacks, one link each"


def test_without_spines_a_host_link_and_the_tor_can_fail(tmp_path: Path) -> None:
    network = specs.network(specs.write(tmp_path, specs.ONE_TOR))
    assert [each.target for each in list_failures(network)] == [f"{TOR}:swp1", TOR]
    assert network.predict().widths[TOR] == {}


def test_a_dead_up_link_takes_one_path_at_both_ends_and_none_elsewhere(tmp_path: Path) -> None:
    net = small_network(tmp_path)
    tor = next(switch for switch in net.switches if switch.name == TOR)
    port = next(session.port for session in tor.bgp.sessions if session.peer == SPINE)
    before, after = net.predict(), net.predict(frozenset({(TOR, port)}))
    own = tor.bgp.aggregates[0]
    assert set(after.widths[TOR].values()) == {1}
    assert after.widths[FAR_TOR][own] == 1
    assert own not in after.widths[SPINE], "a spine has no way down and up again"
    others = {p: w for p, w in before.widths[FAR_TOR].items() if p != own and w == 2}
    kept = {p: w for p, w in after.widths[FAR_TOR].items() if p in others}
    assert sum(others.values()) - sum(kept.values()) == 1, (
        "only the loopback of that ToR loses a path besides"
    )
    assert sum(not up for sessions in after.sessions.values() for up in sessions.values()) == 2


def test_a_drained_spine_keeps_its_sessions_and_gives_up_its_traffic(tmp_path: Path) -> None:
    drained = drained_network(small_network(tmp_path), SPINE).predict()
    assert all(up for sessions in drained.sessions.values() for up in sessions.values())
    aggregates = [prefix for prefix in drained.widths[TOR] if prefix.endswith("/30")]
    assert {drained.widths[TOR][prefix] for prefix in aggregates} == {1}
    assert {drained.following[TOR][prefix] for prefix in aggregates} == {("spine02a",)}


def test_unnumbered_links_carry_both_families(tmp_path: Path) -> None:
    net = small_network(tmp_path, "addressing: {family: dual, fabric_links: unnumbered}")
    widths = net.predict().widths[TOR]
    assert Counter((":" in prefix, width) for prefix, width in widths.items()) == {
        (False, 2): 6, (False, 1): 2, (True, 2): 6, (True, 1): 2,
    }  # fmt: skip


def test_a_cut_host_link_cuts_that_rail_alone(tmp_path: Path) -> None:
    net = small_network(tmp_path)
    rails = net.rails()
    cut = net.predict(frozenset({(rails[0].node, rails[0].port)}))
    lost = [(a, b) for a in rails for b in rails if a.node != b.node and cut.hops(a, b) is None]
    assert lost
    assert all(rails[0] in pair for pair in lost)


def test_three_tiers_count_five_switches_between_pods_and_three_within(tmp_path: Path) -> None:
    net = specs.network(specs.write(tmp_path, specs.THREE_TIERS))
    prediction, rails = net.predict(), net.rails()
    hops = {(a.tor, b.tor): prediction.hops(a, b) for a in rails for b in rails if a.node != b.node}
    assert hops["su001-tor1a", "su002-tor1a"] == 3
    assert hops["su001-tor1a", "su003-tor1a"] == 5


def test_without_the_core_pods_part(tmp_path: Path) -> None:
    net = specs.network(specs.write(tmp_path, specs.THREE_TIERS))
    core = next(switch for switch in net.switches if switch.name == "core01a")
    prediction = net.predict(frozenset((core.name, port.name) for port in core.ports))
    rails = {rail.tor: rail for rail in net.rails()}
    assert prediction.hops(rails["su001-tor1a"], rails["su003-tor1a"]) is None
    assert prediction.hops(rails["su001-tor1a"], rails["su002-tor1a"]) == 3
