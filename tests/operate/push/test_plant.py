"""Waves of whole inventories, and what they take from hosts."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.base.diagnostics.wording import format_share
from fabricc.base.numbers import group_pairs
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.fabric import Fabric
from fabricc.fabric.links import switch_links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId
from fabricc.operate.change.order import Wave, compute_waves
from fabricc.operate.change.order_text import describe_wave
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.devices.login import devices_by_name
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.plan_waves import plan_waves, require_partners
from fabricc.review.diff.figures import fabric_figures
from fabricc.review.report.failures import single_failures
from tests.review.report.specs import CORES, MIXED_SPEEDS, front_of, lab_spec

INVENTORIES = Path(__file__).parents[3] / "inventories"


@pytest.mark.parametrize("inventory", ["superpod-b200-4su", "hpn-dual-plane-pod", "rack-zone-512"])
def test_every_switch_of_an_inventory_can_be_exchanged_at_half_its_capacity(inventory: str) -> None:
    fabric = compile_spec(INVENTORIES / inventory / "cluster.yaml", gaps=False).fabric
    assert isinstance(fabric, Fabric)
    known = devices_by_name(fabric)
    effects = {name: Effect.unknown(device) for name, device in known.items()}
    found = build_capacity_model(fabric, {fabric.name(at): at for at in fabric.switch_ids()}, effects)
    waves = compute_waves(found, Fraction(1, 2))
    assert sorted(name for wave in waves for name in wave.members) == sorted(known)
    assert min(wave.kept for wave in waves) >= Fraction(1, 2)
    sides = fabric.shape.nic_ports
    for wave in waves:
        sets = {found.members[name].redundancy for name in wave.members}
        assert len(sets) == len(wave.members) or sides == 1 or sets == {""}
    assert {one.address for one in known.values()} == {
        fabric.switch(at).management.address.partition("/")[0] for at in fabric.switch_ids()
    }


def test_a_spine_takes_from_each_tor_its_own_share(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, MIXED_SPEEDS).fabric
    assert fabric is not None
    effects = {"spine01a": Effect.unknown(devices_by_name(fabric)["spine01a"])}
    found = build_capacity_model(fabric, {fabric.name(at): at for at in fabric.switch_ids()}, effects)
    assert found.members["spine01a"].below == {"a1-tor1a": 4, "a2-tor1a": 4, "b1-tor1a": 8, "b2-tor1a": 8}
    assert {tor: found.totals[tor] for tor in ("a1-tor1a", "b1-tor1a")} == {"a1-tor1a": 32, "b1-tor1a": 64}


def test_links_that_the_spec_shuts_are_no_capacity(tmp_path: Path) -> None:
    fabric = front_of(tmp_path / "before", MIXED_SPEEDS).fabric
    assert fabric is not None
    rows = ""
    for at, direction in ((fabric.find("b1-tor1a"), Direction.UP), (fabric.find("spine01a"), Direction.DOWN)):
        assert isinstance(at, SwitchId)
        switch = fabric.switch(at)
        names = [port.name for port in switch.ports if port.direction is direction][:2]
        ports = ", ".join(f"{name}: {{shutdown: true}}" for name in names)
        rows += f"  {switch.name}: {{ports: {{{ports}}}}}\n"
    fabric = front_of(tmp_path / "after", f"{MIXED_SPEEDS}overrides:\n{rows}").fabric
    assert fabric is not None
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effects = {name: Effect.unknown(device) for name, device in devices_by_name(fabric).items()}
    found = build_capacity_model(fabric, places, effects)
    counted: Counter[tuple[str, str]] = Counter()
    for lower, at in places.items():
        for link in switch_links(fabric, at):
            if link.direction is Direction.UP and not link.shutdown:
                counted[lower, link.peer] += 1
    below = {(low, name): count for name, one in found.members.items() for low, count in one.below.items()}
    assert below == counted
    uplinks: Counter[str] = Counter()
    for lower, at in places.items():
        uplinks[lower] += sum(link.direction is Direction.UP for link in switch_links(fabric, at))
    uplinks = +uplinks
    assert {name: found.totals[name] for name in found.tiers} == uplinks


def test_a_switch_of_each_tier_is_a_canary() -> None:
    fabric = compile_spec(INVENTORIES / "hpn-dual-plane-pod" / "cluster.yaml", gaps=False).fabric
    assert isinstance(fabric, Fabric)
    effects = {name: Effect.unknown(device) for name, device in devices_by_name(fabric).items()}
    waves = compute_waves(
        build_capacity_model(fabric, {fabric.name(at): at for at in fabric.switch_ids()}, effects),
        Fraction(1, 2),
    )
    assert [len(wave.members) for wave in waves if wave.canary] == [1, 1, 1]


def test_the_partner_of_a_switch_that_does_not_answer_stays_in_service() -> None:
    fabric = compile_spec(INVENTORIES / "hpn-dual-plane-pod" / "cluster.yaml", gaps=False).fabric
    assert isinstance(fabric, Fabric)
    known, places = devices_by_name(fabric), {fabric.name(at): at for at in fabric.switch_ids()}
    whole = build_capacity_model(
        fabric, places, {name: Effect.unknown(device) for name, device in known.items()}
    )
    sets = group_pairs(
        (member.redundancy, name) for name, member in whole.members.items() if member.redundancy
    )
    absent, partner = next(iter(sets.values()))[:2]
    found = build_capacity_model(fabric, places, {partner: Effect.unknown(known[partner])}, (absent,))
    half = Fraction(1, 2)
    with pytest.raises(PushRefusedError, match="which backs it up, does not answer"):
        require_partners(found, half, None)
    require_partners(
        build_capacity_model(fabric, places, {partner: Effect.unknown(known[partner])}), half, None
    )
    every = {name: Effect.unknown(device) for name, device in known.items() if name != absent}
    with pytest.raises(PushRefusedError) as refusal:
        require_partners(build_capacity_model(fabric, places, every, (absent,)), half, None)
    first, *notes = refusal.value.diagnostics
    assert f"leave {partner}, " in first.help
    assert "more out (--only)" in first.help
    model = build_capacity_model(fabric, places, every, (absent,))
    parting = {name for name, member in model.members.items() if not model.common.isdisjoint(member.carries)}
    assert parting, (
        "a dead ToR leaves its hosts one plane, without which others have none in common with them"
    )
    rest = {name: effect for name, effect in every.items() if name != partner and name not in parting}
    waves = compute_waves(build_capacity_model(fabric, places, rest, (absent,)), half)
    assert notes[0].message == f"wave {describe_wave(1, waves[0], 4)}"
    assert len(notes) == min(len(waves), 12) + (len(waves) > 12)


def test_a_spine_that_does_not_answer_counts_as_lost(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, MIXED_SPEEDS).fabric
    assert fabric is not None
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effects = {"spine01a": Effect.unknown(devices_by_name(fabric)["spine01a"])}
    (alone,) = compute_waves(build_capacity_model(fabric, places, effects), Fraction(0))
    (beside,) = compute_waves(build_capacity_model(fabric, places, effects, ("spine02a",)), Fraction(0))
    assert beside.kept == 2 * alone.kept - 1


SMALL = """\
cluster: small
gpus: {model: dgx-h100, hosts: 64, hosts_per_unit: 32}
tors: {model: sn5600, nos: cumulus-5.14, uplinks: 16}
spines: {model: sn5600, nos: cumulus-5.14, count: 4}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""


def waves_of(fabric: Fabric, keep: Fraction) -> list[Wave]:
    effects = {name: Effect.unknown(device) for name, device in devices_by_name(fabric).items()}
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    return plan_waves(build_capacity_model(fabric, places, effects), keep, None)


def test_a_wave_leaves_each_host_the_share_of_its_ports(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, SMALL).fabric
    waves = waves_of(fabric, Fraction(1, 2))
    of_unit = [Counter(name.partition("-")[0] for name in wave.members if "-tor" in name) for wave in waves]
    assert max(max(counts.values(), default=0) for counts in of_unit) == 4, "of eight ToRs, one for each rail"
    assert all(wave.drained == wave.members for wave in waves)
    assert not any(wave.cut for wave in waves)


def test_hosts_with_one_tor_lose_all_ports_one_tor_at_a_time_and_are_named(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, MIXED_SPEEDS).fabric
    waves = [wave for wave in waves_of(fabric, Fraction(1, 2)) if "tor" in wave.members[0]]
    assert {each for wave in waves for each in wave.cut} == {
        f"the hosts of {unit}" for unit in ("a1", "a2", "b1", "b2")
    }


def test_a_refusal_lists_the_waves_that_would_work(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, SMALL).fabric
    with pytest.raises(PushRefusedError, match="no order keeps 75 %") as refusal:
        waves_of(fabric, Fraction(3, 4))
    first, *notes = refusal.value.diagnostics
    assert "--keep 50%" in first.help
    (keep,) = re.findall(r"--keep (\d+)%", first.help)
    waves = waves_of(fabric, Fraction(int(keep), 100))
    assert [note.message for note in notes] == [
        f"wave {describe_wave(number, wave, 4)}" for number, wave in enumerate(waves, 1)
    ]


def test_all_verbs_report_the_same_share_for_one_lost_spine(tmp_path: Path) -> None:
    """The first wave of a push takes one spine; maintain, report and diff report what its loss leaves."""
    fabric = front_of(tmp_path, SMALL).fabric
    wiring = Wiring(fabric)
    left = Remainder(wiring, Outage(gone=frozenset({"spine01a"})))
    wave = waves_of(fabric, Fraction(1, 2))[0]
    assert wave.members == ("spine01a",)
    row = next(each for each in single_failures(fabric, hashed=True) if each.part == "Spine")
    figures = fabric_figures(fabric)
    assert {
        format_share(wave.kept),
        format_share(left.share("su001-tor1a").capacity),
        format_share(left.parts["plane a"].capacity),
        format_share(row.kept),
        figures["uplinks left when one spine fails"],
    } == {"75 %"}


def test_report_and_maintain_name_both_shares_for_one_lost_uplink(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, SMALL).fabric
    row = next(each for each in single_failures(fabric, hashed=True) if each.part.startswith("ToR uplink"))
    wiring = Wiring(fabric)
    port = wiring.ports("su001-tor1a")[-1]
    left = Remainder(wiring, Outage(ends=frozenset({("su001-tor1a", port)})))
    share = left.share("su001-tor1a")
    assert (row.kept, row.evenly) == (share.by_links, share.capacity) == (Fraction(15, 16), Fraction(3, 4))
    assert share.text == "93.75 % of the links, 75 % if hashed evenly"


def test_spines_of_one_group_of_cores_do_not_change_together(tmp_path: Path) -> None:
    cores = CORES.replace("{", "{count: 4, ")
    fabric = front_of(tmp_path, lab_spec(8, 2, 4, 4, ", units_per_pod: 2, uplinks: 2") + cores).fabric
    wiring = Wiring(fabric)
    for wave in waves_of(fabric, Fraction(1, 4)):
        left = Remainder(wiring, Outage(gone=frozenset(wave.members)))
        if "spine" in wave.members[0]:
            assert wave.kept == min(share.capacity for share in left.shares.values() if share.even)
