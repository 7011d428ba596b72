"""Waves of whole inventories."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from fabricc.base.order import group_pairs
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.fabric import Fabric
from fabricc.operate.devices.device import devices_by_name
from fabricc.operate.push.built_tree import RefusedError
from fabricc.operate.push.impact import Effect
from fabricc.operate.push.plant import build_capacity_model
from fabricc.operate.push.run import require_partners
from fabricc.operate.push.waves import compute_waves
from tests.review.report.specs import MIXED_SPEEDS, front_of

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
    with pytest.raises(RefusedError, match="which backs it up, does not answer"):
        require_partners(found)
    require_partners(build_capacity_model(fabric, places, {partner: Effect.unknown(known[partner])}))


def test_a_spine_that_does_not_answer_counts_as_lost(tmp_path: Path) -> None:
    fabric = front_of(tmp_path, MIXED_SPEEDS).fabric
    assert fabric is not None
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effects = {"spine01a": Effect.unknown(devices_by_name(fabric)["spine01a"])}
    (alone,) = compute_waves(build_capacity_model(fabric, places, effects), Fraction(0))
    (beside,) = compute_waves(build_capacity_model(fabric, places, effects, ("spine02a",)), Fraction(0))
    assert beside.kept == 2 * alone.kept - 1
