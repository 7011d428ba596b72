"""A proposed place for every device: the table is one that `--places` reads without a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import FindingsError
from fabricc.compiler.compiled import compile_spec
from fabricc.paperwork.racks import RackLayout, device_titles, propose_places

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

RAILS = """\
cluster: lab
gpus: {model: dgx-h100, hosts: 10, hosts_per_unit: 8, socket_interface: eno3}
tors: {model: sn5600, nos: sonic-202505}
spines: {model: sn5600, nos: sonic-202505, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
RACKS = """\
cluster: lab
gpus: {model: dgx-h100, racks: [a1, a2], hosts_per_rack: 4, wiring: rack, socket_interface: eno3}
tors: {model: sn5600, nos: sonic-202505}
spines: {model: sn5600, nos: sonic-202505, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
management:
  network: 172.16.0.0/16
  networks: [{network: 172.20.0.0/24, tier: oob}]
  switches: {model: sn2201, aggregation: {model: sn3700c}}
networks:
  storage:
    tors: {model: sn4700, nos: sonic-202505}
    spines: {model: sn4700, nos: sonic-202505, count: 2}
    priorities: {default: {}}
"""


def plan_fabrics(folder: Path, text: str) -> list[Fabric]:
    path = folder / "cluster.yaml"
    path.write_text(text)
    fabric = compile_spec(path).fabric
    return [fabric, *fabric.networks]


@pytest.mark.parametrize("text", [RAILS, RACKS])
@pytest.mark.parametrize("layout", [RackLayout(), RackLayout(2, 10, 1, 42), RackLayout(1, 8, 3, 24)])
def test_every_device_has_its_own_place(tmp_path: Path, text: str, layout: RackLayout) -> None:
    fabrics = plan_fabrics(tmp_path, text)
    if text == RACKS and layout.units < 48:
        layout = layout._replace(hosts=4, units=48)
    places = propose_places(fabrics, layout)
    assert places.keys() == {name for fabric in fabrics for name in device_titles(fabric)}
    taken = [(place.rack, unit) for place in places.values() for unit in place.units]
    assert len(taken) == len(set(taken))
    assert {unit for _, unit in taken} <= set(range(1, layout.units + 1))


def test_racks_of_the_spec_hold_their_hosts_and_tors(tmp_path: Path) -> None:
    places = propose_places(plan_fabrics(tmp_path, RACKS), RackLayout())
    assert {places[f"a1-host0{number}"].rack for number in range(1, 5)} == {"a1"}
    tors = {name: place.rack for name, place in places.items() if name.startswith("a1-tor")}
    assert set(tors.values()) == {"a1"}
    assert places["oob-a1-1"].rack == "a1"
    assert places["spine01a"].rack == "spines"


def test_tors_of_a_unit_in_several_racks_stand_next_to_them(tmp_path: Path) -> None:
    places = propose_places(plan_fabrics(tmp_path, RAILS), RackLayout())
    assert [places[f"su001-host0{number}"].rack for number in (1, 4, 5)] == ["su001-1", "su001-1", "su001-2"]
    assert places["su001-tor1a"].rack == "su001-net"
    assert places["su002-tor1a"].rack == "su002", "two hosts of the second unit leave room"


def test_a_rack_that_is_too_low_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FindingsError, match="rack a1 has no 12 units for a1-host0"):
        propose_places(plan_fabrics(tmp_path, RACKS), RackLayout(4, 12, 2, 42))


def test_no_switch_height_fits_a_rack_that_is_lower(tmp_path: Path) -> None:
    with pytest.raises(FindingsError, match="no 50 units"):
        propose_places(plan_fabrics(tmp_path, RAILS), RackLayout(1, 1, 50, 8))
