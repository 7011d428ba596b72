"""Remaining capacity of two ToRs that are joined without spines."""

from __future__ import annotations

from fractions import Fraction

from fabricc.fabric.capacity.hosts import count_cut_gpus, find_affected_hosts
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.operate.change.order import compute_waves
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.devices.login import devices_by_name
from fabricc.review.report.failures import single_failures
from tests.paired import RACKS, paired_fabric

WIRING = Wiring(paired_fabric("frr", peers=4))
FIRST, SECOND = "su001-tor1a", "su001-tor2a"
ENDS = [
    (FIRST, port) for port in WIRING.ports(FIRST) if (WIRING.far_end((FIRST, port)) or ("",))[0] == SECOND
]


def test_each_tor_is_above_the_other() -> None:
    assert WIRING.uplinks == {FIRST: {SECOND: 4}, SECOND: {FIRST: 4}}
    whole = Remainder(WIRING, Outage())
    assert whole.pair_links(FIRST, SECOND) == whole.pair_links(SECOND, FIRST) == 4
    assert [(part.links, part.of) for part in whole.parts.values()] == [(4, 4)]


def test_a_link_that_is_named_by_either_end_is_lost_once() -> None:
    near = ENDS[0]
    far = WIRING.far_end(near)
    assert far is not None
    for ends in ({near}, {far}, {near, far}):
        left = Remainder(WIRING, Outage(ends=frozenset(ends)))
        assert left.lost_links == 1
        assert left.pair_links(FIRST, SECOND) == left.pair_links(SECOND, FIRST) == 3
        assert {share.by_links for share in left.shares.values()} == {Fraction(3, 4)}


def test_a_lost_tor_takes_its_ports_and_leaves_the_other_one_in_service() -> None:
    left = Remainder(WIRING, Outage(gone=frozenset({SECOND})))
    assert left.lone_tors == frozenset()
    assert count_cut_gpus(left) == 8, "half of the GPUs of two hosts"
    assert left.lost_links == 8 + 4
    assert left.pair_links(FIRST, SECOND) == 0
    hosts = find_affected_hosts(Remainder(WIRING, Outage()), left)
    assert [host.ports for host in hosts] == [Fraction(1, 2)] * 2


def test_without_their_links_the_tors_still_join_their_own_hosts() -> None:
    left = Remainder(WIRING, Outage(ends=frozenset(ENDS)))
    assert count_cut_gpus(left) == 0
    assert {share.links for share in left.shares.values()} == {0}


def test_the_two_tors_are_never_changed_together() -> None:
    for words in ({}, {"wiring": RACKS, "hosts": 4}):
        built = paired_fabric("frr", **words)
        effects = {name: Effect.unknown(device) for name, device in devices_by_name(built).items()}
        places = {built.name(at): at for at in built.switch_ids()}
        waves = compute_waves(build_capacity_model(built, places, effects), Fraction(0))
        assert [len(wave.members) for wave in waves] == [1, 1]


def test_the_report_names_the_loss_of_one_of_their_links() -> None:
    parts = {each.part: each for each in single_failures(WIRING.fabric, hashed=True)}
    assert parts["Link between ToRs: cable, or transceiver at either end"].number == 4
    assert parts["ToR"].gpus_cut == 8
