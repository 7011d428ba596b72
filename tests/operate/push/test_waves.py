"""Waves keep what they promise, whatever the fabric and whatever changes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricc.fabric.shape import TierName
from fabricc.operate.change.order import (
    WHOLE,
    CapacityModel,
    Member,
    ShareError,
    Wave,
    compute_waves,
)
from fabricc.operate.change.order_text import list_wave_notes
from fabricc.operate.change.resources import Effect, build_capacity_model, find_largest_keep
from fabricc.operate.devices.login import devices_by_name
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.plan_waves import plan_waves
from tests.effort import scale_examples
from tests.fabric.capacity.test_capacity import fabric_of


@dataclass(frozen=True)
class Clos:
    """Units of ToRs, spines above them, and what changes."""

    units: int
    groups: int
    sides: int
    spines: int
    parallel: int
    changing: frozenset[str]
    disruptive: frozenset[str]
    breaking: frozenset[tuple[str, str]]

    @property
    def tors(self) -> list[str]:
        return [
            f"u{u}t{g}{s}" for u in range(self.units) for g in range(self.groups) for s in range(self.sides)
        ]

    @property
    def uppers(self) -> list[str]:
        return [f"s{at}" for at in range(self.spines)]

    def plant(self) -> CapacityModel:
        members = {}
        for name in self.uppers:
            below = dict.fromkeys(self.tors, self.parallel)
            members[name] = Member(name, 1, "x", name in self.disruptive, "", {"spines": 1}, below)
        for name in self.tors:
            redundancy = name[:-1] if self.sides > 1 else ""
            carries = {f"rail {name.partition('t')[2][0]}": 4}
            members[name] = Member(name, 0, "x", name in self.disruptive, redundancy, carries)
        totals = {f"rail {g}": 4 * self.units * self.sides for g in range(self.groups)} | {
            "spines": self.spines
        }
        totals |= dict.fromkeys(self.tors, self.spines * self.parallel)
        chosen = {name: member for name, member in members.items() if name in self.changing}
        return CapacityModel(chosen, totals, dict.fromkeys(self.tors, 0), self.breaking)

    def uplinks(self, tor: str, out: frozenset[str], new: frozenset[str]) -> Fraction:
        """By counting links one by one: the share of a ToR's links that are up."""
        up = sum(
            1
            for spine in self.uppers
            for _ in range(self.parallel)
            if spine not in out and not ((tor, spine) in self.breaking and (tor in new) != (spine in new))
        )
        return Fraction(up, self.spines * self.parallel)

    def pairs(self, new: frozenset[str]) -> list[Fraction]:
        """By trying every pair of ToRs: the share of spines to which both have a link that is up."""
        down = {
            tor: {s for s in self.uppers if (tor, s) in self.breaking and (tor in new) != (s in new)}
            for tor in self.tors
        }
        return [
            1 - Fraction(len(down[one] | down[other]), self.spines)
            for one, other in combinations(self.tors, 2)
            if {s for t, s in self.breaking if t == one} & {s for t, s in self.breaking if t == other}
        ]

    def shares(self, out: frozenset[str], new: frozenset[str]) -> list[Fraction]:
        found = [self.uplinks(tor, out, new) for tor in self.tors if tor not in out]
        found.append(Fraction(sum(spine not in out for spine in self.uppers), self.spines))
        for group in range(self.groups):
            serving = [tor for tor in self.tors if tor.partition("t")[2][0] == str(group)]
            found.append(Fraction(sum(tor not in out for tor in serving), len(serving)))
        return found


@st.composite
def draw_fabrics(draw: st.DrawFn) -> Clos:
    units, groups, sides = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    spines, parallel = draw(st.integers(1, 8)), draw(st.integers(1, 2))
    blank = Clos(units, groups, sides, spines, parallel, frozenset(), frozenset(), frozenset())
    names = [*blank.tors, *blank.uppers]
    changing = draw(st.one_of(st.just(set(names)), st.sets(st.sampled_from(names))))
    disruptive = draw(st.one_of(st.just(changing), st.sets(st.sampled_from(names)))) & changing
    links = [
        (tor, spine) for tor in blank.tors for spine in blank.uppers if {tor, spine} <= changing & disruptive
    ]
    breaking = draw(st.sets(st.sampled_from(links))) if links and draw(st.booleans()) else set()
    whole = draw(st.booleans())
    return Clos(
        units, groups, sides, spines, parallel, frozenset(changing), frozenset(disruptive),
        frozenset(links if whole and breaking else breaking),
    )  # fmt: skip


def walk_waves(clos: Clos, waves: list[Wave]) -> list[tuple[Wave, frozenset[str], frozenset[str]]]:
    """Each wave with what changed before it and after it."""
    new: frozenset[str] = frozenset()
    found = []
    for wave in waves:
        found.append((wave, new, new | set(wave.members)))
        new |= set(wave.members)
    return found


def kept_or_refused(plant: CapacityModel, keep: Fraction) -> list[Wave] | ShareError:
    try:
        return compute_waves(plant, keep)
    except ShareError as refusal:
        return refusal


def half_broken() -> Clos:
    """A ToR that loses as many links by its change as it gets back: what it is left with counts all the same."""
    blank = Clos(3, 1, 2, 8, 1, frozenset(), frozenset(), frozenset())
    names = frozenset([*blank.tors, *blank.uppers])
    return Clos(3, 1, 2, 8, 1, names, names, frozenset(("u0t00", f"s{n}") for n in range(4)))


@settings(deadline=None, max_examples=scale_examples(300))
@example(half_broken(), Fraction(3, 4))
@given(draw_fabrics(), st.sampled_from([Fraction(n, 20) for n in (0, 5, 10, 12, 15, 18, 20)]))
def test_every_device_changes_once_and_every_part_keeps_its_share(clos: Clos, keep: Fraction) -> None:
    plant = clos.plant()
    waves = kept_or_refused(plant, keep)
    if isinstance(waves, ShareError):
        assert waves.member in clos.disruptive, "a change that traffic does not notice may always go alone"
        return
    counts = Counter(name for wave in waves for name in wave.members)
    assert counts == dict.fromkeys(clos.changing, 1)
    for wave, before, after in walk_waves(clos, waves):
        out = frozenset(wave.members) & clos.disruptive
        during = clos.shares(out, before)
        assert min(during) >= keep, (wave, during)
        assert min([*clos.shares(frozenset(), after), *clos.pairs(after)]) >= keep, wave
        if len(wave.members) > 1:
            assert min(clos.shares(frozenset(wave.members), before)) >= keep, "even if all of the wave failed"
        later = [clos.uplinks(t, frozenset(), after) for t in clos.tors]
        assert wave.kept == min([*during, *later, *clos.pairs(after)])


@settings(deadline=None)
@given(draw_fabrics())
def test_no_wave_has_two_of_one_redundancy_set_or_both_ends_of_a_link(clos: Clos) -> None:
    plant = clos.plant()
    for wave in compute_waves(plant, Fraction(0)):
        sets = [plant.members[name].redundancy for name in wave.members if plant.members[name].redundancy]
        assert len(sets) == len(set(sets))
        assert len({plant.members[name].tier for name in wave.members}) == 1


@settings(deadline=None)
@given(draw_fabrics())
def test_the_first_of_each_tier_goes_alone(clos: Clos) -> None:
    plant = clos.plant()
    seen = set()
    for wave in compute_waves(plant, Fraction(0)):
        tier = plant.members[wave.members[0]].tier
        assert wave.canary == (tier not in seen)
        assert not wave.canary or len(wave.members) == 1
        seen.add(tier)


@settings(deadline=None, max_examples=scale_examples(60))
@given(draw_fabrics())
def test_a_refusal_names_the_largest_share_and_the_waves_that_it_allows(clos: Clos) -> None:
    plant = clos.plant()
    best = find_largest_keep(plant)
    if best is None or best == 1:
        return
    with pytest.raises(ShareError):
        compute_waves(plant, best + Fraction(1, 10_000))
    with pytest.raises(PushRefusedError) as refused:
        plan_waves(plant, Fraction(1), None)
    error, *notes = refused.value.diagnostics
    option = re.search(r"--keep ([\d.]+)% is the most", error.help)
    assert option is not None
    waves = plan_waves(plant, Fraction(option[1]) / 100, None)
    assert notes == list(list_wave_notes("FAB9121", waves))


def both_ends(tors: int, spines: int) -> Clos:
    """Three ToRs and four spines, of which some change at both ends of the links between them."""
    blank = Clos(3, 1, 1, 4, 1, frozenset(), frozenset(), frozenset())
    lower, upper = blank.tors[:tors], blank.uppers[:spines]
    names = frozenset([*lower, *upper])
    return Clos(3, 1, 1, 4, 1, names, names, frozenset(product(lower, upper)))


def test_no_order_lets_two_tors_meet_while_every_link_changes_at_both_ends() -> None:
    clos = both_ends(2, 4)
    with pytest.raises(ShareError) as refusal:
        compute_waves(clos.plant(), Fraction(1, 20))
    assert refusal.value.best == 0
    assert find_largest_keep(clos.plant()) is None
    assert 0 in [wave.kept for wave in compute_waves(clos.plant(), Fraction(0))]


def test_a_change_of_both_ends_of_every_link_of_one_tor_goes_half_of_the_spines_first() -> None:
    waves = [wave.members for wave in compute_waves(both_ends(1, 4).plant(), Fraction(1, 2))]
    assert waves == [("s0",), ("s1",), ("u0t00",), ("s2", "s3")]


def test_the_links_of_one_spine_change_at_both_ends_and_the_others_are_kept() -> None:
    waves = compute_waves(both_ends(3, 1).plant(), Fraction(1, 2))
    assert [wave.members for wave in waves] == [("s0",), ("u0t00",), ("u1t00",), ("u2t00",)]
    assert next(wave.kept for wave in waves) == Fraction(3, 4)


def test_a_wave_is_no_larger_than_requested() -> None:
    names = frozenset(f"s{at}" for at in range(8))
    clos = Clos(1, 1, 1, 8, 1, names, names, frozenset())
    assert [len(wave.members) for wave in compute_waves(clos.plant(), Fraction(1, 2), 3)] == [1, 3, 3, 1]


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 2))
def test_drained_tors_change_at_both_ends_of_every_link_while_the_others_keep_theirs(
    spines: int, drained: int, parallel: int
) -> None:
    blank = Clos(8, 1, 1, spines, parallel, frozenset(), frozenset(), frozenset())
    out = frozenset(blank.tors[:drained])
    names = out.union(blank.uppers)
    clos = Clos(8, 1, 1, spines, parallel, names, names, frozenset(product(out, blank.uppers)))
    keep = min(1 - Fraction(1, spines), Fraction(1, 2))
    waves = compute_waves(replace(clos.plant(), drained=out), keep)
    assert Counter(name for wave in waves for name in wave.members) == dict.fromkeys(names, 1)
    for wave, before, after in walk_waves(clos, waves):
        gone = frozenset(wave.members)
        rest = [clos.uplinks(tor, gone, before) for tor in blank.tors if tor not in out]
        assert min([*rest, wave.kept]) >= keep, wave
        assert min(clos.uplinks(tor, frozenset(), after) for tor in out) >= Fraction(1, 3)


@pytest.mark.parametrize(("ports", "kept", "cut"), [(2, Fraction(1, 2), ()), (1, WHOLE, ("hosts",))])
def test_a_wave_is_rated_alike_whatever_share_is_requested(
    ports: int, kept: Fraction, cut: tuple[str, ...]
) -> None:
    """Hosts that no order can spare are not left out of the printed share; those without a port are listed."""
    members = {
        name: Member(name, 0, "x", disruptive=True, carries={"hosts": 1}) for name in ("a", "b")[:ports]
    }
    plant = CapacityModel(members, {"hosts": ports}, alone={"hosts": 1 - Fraction(1, ports)})
    for keep in (Fraction(3, 4), Fraction(1, 2)):
        waves = compute_waves(plant, keep)
        assert [(each.kept, each.cut) for each in waves] == [(kept, cut)] * ports


def test_a_wave_takes_ports_of_one_plane() -> None:
    """Two hosts, of which one lost its port of one plane and the other that of the other, have no path."""
    members = {
        f"rack{rack}{side}": Member(
            f"rack{rack}{side}", 0, "x", disruptive=True, redundancy=f"rack{rack}",
            carries={f"plane {side}": 1, f"hosts {rack}": 1}, side=side,
        )
        for rack, side in product(range(8), "ab")
    }  # fmt: skip
    totals = {"plane a": 8, "plane b": 8, **{f"hosts {rack}": 2 for rack in range(8)}}
    alone = {f"hosts {rack}": Fraction(1, 2) for rack in range(8)}
    waves = compute_waves(CapacityModel(members, totals, alone=alone), Fraction(3, 4))
    assert [len({name[-1] for name in wave.members}) for wave in waves] == [1] * len(waves)
    assert max(len(wave.members) for wave in waves) == 2


@pytest.mark.parametrize("keep", [Fraction(1, 4), Fraction(1, 2)])
def test_units_keep_a_rail_in_common_where_nothing_joins_rails(keep: Fraction) -> None:
    """Hosts of different units reach each other on rails alone whose ToRs of both units are in service."""
    fabric = fabric_of("rails apart")
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effects = {name: Effect.unknown(device) for name, device in devices_by_name(fabric).items()}
    tors = {name: at for name, at in places.items() if at.tier is TierName.TOR}
    rails = {at.unit: {each.plane for each in tors.values() if each.unit == at.unit} for at in tors.values()}
    for wave in compute_waves(build_capacity_model(fabric, places, effects), keep):
        out = {(tors[name].unit, tors[name].plane) for name in wave.members if name in tors}
        left = [{plane for plane in planes if (unit, plane) not in out} for unit, planes in rails.items()]
        assert all(one & other for one, other in combinations(left, 2) if one and other), wave
