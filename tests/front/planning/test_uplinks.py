"""Uplinks follow what a ToR's own hosts send: the ratio of each group, links that stand where they would, growth."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fabricc.back.jobs.files import QUEUE_PAIRS, flows_to_cover, plan_rounds
from fabricc.back.jobs.roster import list_hosts
from fabricc.fabric.model import Direction
from fabricc.front.planning.topology.spread import PIN
from fabricc.front.spec.lock import Lock, format_lock
from fabricc.operate.verify.widths import Widths
from tests.effort import scale_examples
from tests.front.planning.support import fabric_of, make_document, planned
from tests.front.planning.test_growth import find_identity

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch


def make_group(name: str, model: str, hosts: int, per_unit: int) -> dict[str, Any]:
    return {"name": name, "model": model, "hosts": hosts, "hosts_per_unit": per_unit}


OLD, NEW = make_group("old", "dgx-h100", 64, 32), make_group("new", "dgx-b300", 64, 32)
RACKS = make_group("old", "dgx-h100", 8, 4), make_group("new", "dgx-b300", 8, 4)
"""16 and 32 uplinks of 800G; racks have one ToR each."""


def mixed_spec(*groups: dict[str, Any], wiring: str = "rail", **sections: Any) -> dict[str, Any]:
    """Host groups below switches of 64 ports of 800G, or 128 of 400G."""
    tiers = {tier: {"model": "sn5600", **sections.pop(tier, {})} for tier in ("tors", "spines")}
    gpus = {"groups": list(groups), "wiring": wiring, "model": None, "hosts": None, "hosts_per_unit": None}
    return make_document(gpus=gpus | sections.pop("gpus", {}), **tiers, **sections)


def find_tors(fabric: Fabric) -> list[Switch]:
    return [fabric.switch(at) for unit in fabric.units for at in fabric.tor_ids(unit)]


def sum_gbps(switch: Switch, *ways: Direction) -> int:
    return sum(port.speed_gbps for port in switch.ports if port.direction in ways)


def count_above(switch: Switch) -> dict[str, int]:
    """Spine -> links to it."""
    found: dict[str, int] = {}
    for port in switch.ports:
        if port.direction is Direction.UP and port.peer:
            found[port.peer.device] = found.get(port.peer.device, 0) + 1
    return found


def as_if_alike(fabric: Fabric) -> Fabric:
    """The same with the busiest group's links at every ToR."""
    return replace(fabric, tor_links=(fabric.shape.links_per_spine,) * len(fabric.tor_links))


def test_hosts_of_400g_and_800g_have_each_the_uplinks_of_their_own_ratio() -> None:
    fabric = fabric_of(mixed_spec(OLD, NEW))
    for tor in find_tors(fabric):
        new = fabric.units[tor.unit or 0].group == 1
        assert sum_gbps(tor, Direction.HOST) == sum_gbps(tor, Direction.UP) == (25_600 if new else 12_800)
        assert set(count_above(tor).values()) == {2 if new else 1}
    assert fabric.counts()["spine_cables"] == 16 * 16 + 16 * 32
    assert as_if_alike(fabric).counts()["spine_cables"] == 32 * 32


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0])
def test_the_ratio_is_kept_by_the_fewest_whole_links(ratio: float) -> None:
    fabric = fabric_of(mixed_spec(OLD, NEW, tors={"oversubscription": ratio}))
    spines = fabric.shape.spines
    for tor in find_tors(fabric):
        down, up = sum_gbps(tor, Direction.HOST), sum_gbps(tor, Direction.UP)
        assert down <= Fraction(str(ratio)) * up
        fewer = up - spines * fabric.shape.uplink_gbps
        if fabric.units[tor.unit or 0].group == 0:
            assert down > Fraction(str(ratio)) * fewer


def test_pinned_uplinks_are_those_of_every_tor() -> None:
    fabric = fabric_of(mixed_spec(OLD, NEW, tors={"uplinks": 32}))
    assert {sum(count_above(tor).values()) for tor in find_tors(fabric)} == {32}


def test_the_ratio_of_a_group_holds_with_a_spine_lost_where_that_is_requested() -> None:
    """Racks of two hosts need 8 uplinks, one to each of 8 spines; with a spine lost these are 7."""
    pair = make_group("small", "dgx-h100", 4, 2), make_group("large", "dgx-h100", 6, 3)
    assert fabric_of(mixed_spec(*pair, wiring="rack", spines={"count": 8})).tor_links == (1, 2)
    fabric = fabric_of(mixed_spec(*pair, wiring="rack", tors={"n_minus_1": True}, spines={"count": 8}))
    assert fabric.tor_links == (2, 2)
    for tor in find_tors(fabric):
        lost = max(count_above(tor).values()) * fabric.shape.uplink_gbps
        assert sum_gbps(tor, Direction.HOST) <= sum_gbps(tor, Direction.UP) - lost


def test_uplinks_that_divide_badly_are_reported() -> None:
    odd = make_group("odd", "dgx-h100", 18, 18)
    plan = planned(mixed_spec(odd, make_group("new", "dgx-b300", 32, 32), spines={"count": 8}))
    assert plan.fabric is not None
    assert plan.fabric.tor_links == (2, 4)
    (note,) = [each for each in plan.diagnostics if each.code == "FAB3030"]
    assert note.severity == "note"
    assert "host group odd needs 9 uplinks and gets 16: 2 links to each of 8 spines" in note.message
    assert not [each for each in planned(mixed_spec(OLD, NEW)).diagnostics if each.code == "FAB3030"]


def test_buffers_are_made_for_the_positions_so_that_no_link_that_comes_or_goes_takes_a_reload() -> None:
    own, pinned = (fabric_of(mixed_spec(OLD, NEW, tors=more)) for more in ({}, {"uplinks": 32}))
    assert own.counts()["spine_cables"] < pinned.counts()["spine_cables"]
    assert own.qos == pinned.qos
    assert own.profiles == pinned.profiles


@st.composite
def draw_mixtures(draw: st.DrawFn) -> dict[str, Any]:
    """Racks of one to three host groups; few enough switches to expand each."""
    groups = [
        make_group(name, draw(st.sampled_from(["dgx-h100", "dgx-b300"])), draw(st.integers(1, 8)), per_unit)
        for name, per_unit in draw(
            st.dictionaries(st.sampled_from("abc"), st.integers(1, 4), min_size=1)
        ).items()
    ]
    planes = draw(st.sampled_from([1, 1, 2])) if all(g["model"] == "dgx-b300" for g in groups) else 1
    return mixed_spec(
        *groups, wiring="rack", planes=planes,
        tors={"oversubscription": draw(st.sampled_from([0.8, 1.0, 1.5, 2.0])),
              "uplink_gbps": draw(st.sampled_from([400, 800]))},
        spines=draw(st.sampled_from([{}, {"count": 2}, {"count": 3}, {"count": 8}])),
    )  # fmt: skip


@settings(max_examples=scale_examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=draw_mixtures())
def test_any_mix_keeps_its_ratio_and_moves_nothing(spec: dict[str, Any]) -> None:
    plan = planned(spec)
    assume(plan.fabric is not None)
    fabric = plan.fabric
    assert fabric is not None
    limit = Fraction(str(spec["tors"]["oversubscription"]))
    for tor in find_tors(fabric):
        layout = fabric.tor_layouts[fabric.units[tor.unit or 0].group]
        whole = sum(layout.slots[slot].speed_gbps for slot in layout.down)
        assert whole <= limit * sum_gbps(tor, Direction.UP)
        assert len(count_above(tor)) == fabric.shape.spines
        assert len(set(count_above(tor).values())) == 1
    switches = [fabric.switch(at) for at in fabric.switch_ids()]
    ends = {
        (switch.name, port.name): (port.peer.device, port.peer.port)
        for switch in switches
        for port in switch.ports
        if port.peer and port.direction in (Direction.UP, Direction.DOWN)
    }
    assert all(ends[far] == near for near, far in ends.items())
    assert len(ends) == 2 * fabric.counts()["spine_cables"]
    alike, own = find_identity(as_if_alike(fabric)), find_identity(fabric)
    assert own.items() <= alike.items()
    again = planned(spec, plan.lock)
    assert again.fabric is not None
    assert again.lock == plan.lock
    assert find_identity(again.fabric) == own


@pytest.mark.parametrize("cores", [False, True])
def test_next_hops_are_those_that_the_policy_leads_to(cores: bool) -> None:
    from fabricc.operate.lab.predict import predict_network

    above_them: dict[str, Any] = {"cores": {"model": "sn5600", "nos": "frr"}} if cores else {}
    racks = make_group("old", "dgx-h100", 6, 2), make_group("new", "dgx-b300", 6, 2)
    pods = {"units_per_pod": 3} if cores else {}
    fabric = fabric_of(mixed_spec(*racks, wiring="rack", spines={"count": 4, **pods}, **above_them))
    assert fabric.tor_links == (2, 4)
    widths = Widths.of(fabric)
    assert widths is not None
    predicted = predict_network(fabric.switch(at) for at in fabric.switch_ids()).widths
    for at in fabric.switch_ids():
        assert widths.count_next_hops(at) == predicted[fabric.name(at)]


def test_the_acceptance_test_covers_the_uplinks_of_every_tor() -> None:
    fabric = fabric_of(mixed_spec(make_group("old", "dgx-h100", 8, 4), make_group("new", "dgx-b300", 8, 4)))
    through = [
        entry for entry in plan_rounds(fabric, list_hosts(fabric, fabric.host)) if entry["kind"] == "spine"
    ]
    sent = len(through) * through[0]["hosts"] * QUEUE_PAIRS
    for index in range(2):
        assert sent >= flows_to_cover(fabric.uplinks(index), fabric.counts()["spine_cables"])


def without_pin(lock: Lock) -> Lock:
    """The lock as it was before groups had their own links."""
    return replace(lock, strides={name: value for name, value in lock.strides.items() if name != PIN})


def test_a_lock_of_before_loses_cables_and_nothing_else() -> None:
    plan = planned(mixed_spec(OLD, NEW))
    assert plan.fabric is not None
    before = as_if_alike(plan.fabric)
    after = fabric_of(mixed_spec(OLD, NEW), without_pin(plan.lock))
    assert after.tor_links == (1, 2)
    old, new = find_identity(before), find_identity(after)
    gone = old.keys() - new.keys()
    assert {key: old[key] for key in new} == new
    lost = 16 * 16
    assert len(gone) == 2 * lost * 2  # a port and a session at both ends of each
    units = {fabric_tor.name for fabric_tor in find_tors(after) if (fabric_tor.unit or 0) < 2}
    assert all(key.split()[0] in units or key.startswith("spine") for key in gone)


def test_lock_of_uniform_hosts_has_no_uplink_pin() -> None:
    for spec in (
        mixed_spec(OLD),
        mixed_spec(OLD, make_group("more", "dgx-h100", 64, 32)),
        mixed_spec(OLD, NEW, tors={"uplinks": 32}),
    ):
        assert PIN not in format_lock(planned(spec).lock)
    assert f"stride {PIN} 16" in format_lock(planned(mixed_spec(OLD, NEW)).lock)


def grow_spec(before: dict[str, Any], after: dict[str, Any]) -> tuple[Fabric, Fabric]:
    first = planned(before)
    assert first.fabric is not None
    return first.fabric, fabric_of(after, first.lock)


def test_a_group_that_becomes_faster_gets_links_next_to_those_it_has() -> None:
    before = mixed_spec(*RACKS, make_group("mid", "dgx-h100", 8, 4), wiring="rack")
    after = deepcopy(before)
    after["gpus"]["groups"][2]["model"] = "dgx-b300"
    was, now = grow_spec(before, after)
    parallel = was.shape.links_per_spine
    assert was.tor_links == (parallel // 2, parallel, parallel // 2)
    assert now.tor_links == (parallel // 2, parallel, parallel)
    old, new = find_identity(was), find_identity(now)
    changed = {key.split()[0] for key, value in old.items() if new.get(key) != value}
    own = {tor.name for tor in find_tors(was) if was.units[tor.unit or 0].group == 2}
    hosts = {host for unit in was.units.values() if unit.group == 2 for host in unit.hosts.values()}
    assert changed <= own | hosts  # their host ports have another speed
    ups = {f"{tor.name} {p.name}" for tor in find_tors(was) for p in tor.ports if p.direction is Direction.UP}
    assert {key: new.get(key) for key in ups} == {key: old[key] for key in ups}


@pytest.mark.parametrize("first", [RACKS[:1], (RACKS[0], make_group("less", "dgx-h100", 4, 2))])
def test_a_faster_group_that_joins_takes_no_link_from_those_that_are_there(
    first: tuple[dict[str, Any], ...],
) -> None:
    """Room was left on the ToRs for the hosts that come."""
    before = mixed_spec(*first, wiring="rack", tors={"reserved_ports": 32}, spines={"count": 8})
    after = mixed_spec(*first, RACKS[1], wiring="rack", spines={"count": 16})
    was, now = grow_spec(before, after)
    assert now.shape.spines == 16
    old, new = find_identity(was), find_identity(now)
    assert {key: new.get(key) for key in old} == old
    lock = planned(after, planned(before).lock).lock
    assert find_identity(fabric_of(after, lock)) == new


def test_more_spines_take_no_link_from_slower_hosts() -> None:
    ratio = {"oversubscription": 2}
    few, more = (mixed_spec(*RACKS, wiring="rack", tors=ratio, spines={"count": count}) for count in (4, 8))
    was, now = grow_spec(few, more)
    assert was.tor_links == now.tor_links == (2, 4)
    old, new = find_identity(was), find_identity(now)
    assert {key: new.get(key) for key in old} == old
    (note,) = [each for each in planned(more, planned(few).lock).diagnostics if each.code == "FAB3030"]
    assert "host group old needs 8 uplinks and gets 16: 2 links to each of 8 spines" in note.message
    assert "cabled for 4 spines" in note.help
    fresh = fabric_of(more)
    assert fresh.tor_links == (1, 2)
