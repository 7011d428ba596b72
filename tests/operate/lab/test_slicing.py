"""A part of a fabric is the fabric: whatever stays is named, addressed and cabled as in the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import demands
from fabricc.operate.lab.lab_fabric import sample_fabric
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.steady import prefix_classes
from tests.operate.lab import specs
from tests.operate.lab.specs import INVENTORIES

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric


def whole_fabric(spec: Path) -> Fabric:
    return specs.source(spec).fabric


def find_devices(fabric: Fabric) -> dict[str, object]:
    return {switch.name: switch for switch in (fabric.switch(at) for at in fabric.switch_ids())}


@pytest.mark.parametrize("spec", INVENTORIES, ids=lambda spec: spec.parent.name)
def test_sampled_devices_equal_those_of_the_whole_fabric(spec: Path) -> None:
    fabric = whole_fabric(spec)
    part = sample_fabric(fabric)
    for at in part.switch_ids():
        kept, full = part.switch(at), fabric.switch(at)
        assert (kept.name, kept.bgp.asn, kept.loopback4, kept.loopback6, kept.management) == (
            full.name, full.bgp.asn, full.loopback4, full.loopback6, full.management,
        )  # fmt: skip
        ports = {port.name: port for port in full.ports}
        assert [port for port in kept.ports if port.peer and port != ports[port.name]] == []
    names = {part.name(at) for at in part.switch_ids()} | {part.host(at).name for at in part.host_ids()}
    ends = [end for c in part.cables() for end in ((c.a_device, c.a_port), (c.b_device, c.b_port))]
    assert {device for device, _ in ends} == names, "nothing is left without a cable, and no cable leads away"
    assert len(ends) == len(set(ends))


@pytest.mark.parametrize("spec", INVENTORIES, ids=lambda spec: spec.parent.name)
def test_a_sample_has_every_plane_tier_and_prefix_class_and_two_ways(spec: Path) -> None:
    fabric = whole_fabric(spec)
    part = sample_fabric(fabric)
    assert part.shape.planes == fabric.shape.planes
    assert {unit.group for unit in part.units.values()} == {unit.group for unit in fabric.units.values()}
    kinds = [set(prefix_classes([f.switch(at) for at in f.kinds()]).values()) for f in (part, fabric)]
    assert kinds[0] == kinds[1]
    assert part.shape.spines >= min(2, fabric.shape.spines)
    assert min(part.shape.pods, 2) == min(fabric.shape.pods, 2)
    assert len(list(part.switch_ids())) <= 64


@pytest.mark.parametrize("spec", INVENTORIES, ids=lambda spec: spec.parent.name)
def test_a_sample_grows_with_its_units_and_never_exceeds_the_fabric(spec: Path) -> None:
    fabric = whole_fabric(spec)
    there = fabric.counts()["units"]
    for units in (1, 2, 3, there):
        if units <= there:
            assert sample_fabric(fabric, units).counts()["units"] == units
    with pytest.raises(LabError, match="units: the fabric has"):
        sample_fabric(fabric, there + 1)


def test_three_tiers_are_sampled_in_both_pods(tmp_path: Path) -> None:
    fabric = whole_fabric(specs.write(tmp_path, specs.THREE_TIERS))
    assert find_devices(sample_fabric(fabric)) == find_devices(fabric), "it is as small as can be"


def test_memory_decides_between_units_and_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = whole_fabric(next(path for path in INVENTORIES if path.parent.name == "meta-24k"))
    for mebibytes, words in ((2300, "--units 8 of 1536"), (600, "not even a sample fits")):
        monkeypatch.setattr(demands, "available_kib", lambda size=mebibytes: size * 1024)
        with pytest.raises(LabError) as refused:
            demands.require_room(fabric)
        assert words.lower() in refused.value.diagnostic.help.lower()


def test_a_unit_of_many_spines_is_refused_with_the_largest_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = whole_fabric(next(path for path in INVENTORIES if path.parent.name == "hpn-dual-plane-pod"))
    monkeypatch.setattr(demands, "available_kib", lambda: 2300 * 1024)
    with pytest.raises(LabError) as refused:
        demands.require_room(fabric)
    assert "--sample --units 3 of 15" in refused.value.diagnostic.help
