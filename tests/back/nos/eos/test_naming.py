"""Ports are named after cage and first lane, with the slot on a chassis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricc.back.nos.eos import EOS
from fabricc.catalog.model import CageGroup
from tests.samples import BREAKOUTS, switch_model

FIXED = switch_model(eos={"family": "trident", "port": "Ethernet{cage}/{lane}"})
CHASSIS = replace(
    switch_model(
        eos={"family": "sand", "port": "Ethernet{slot}/{cage}/{lane}", "cages_per_slot": 36, "first_slot": 3}
    ),
    chassis=True,
    cages=(CageGroup(1, 288, 8, BREAKOUTS),),
)


@pytest.mark.parametrize(
    ("cage", "child", "children", "name"),
    [
        (1, 1, 1, "Ethernet1/1"),
        (4, 2, 2, "Ethernet4/5"),
        (2, 3, 4, "Ethernet2/5"),
        (2, 8, 8, "Ethernet2/8"),
        (5, 1, 1, "Ethernet5"),
    ],
)
def test_a_fixed_switch_names_cage_and_first_lane(cage: int, child: int, children: int, name: str) -> None:
    assert EOS.port_name(FIXED, cage, child, children) == name


@pytest.mark.parametrize(
    ("cage", "child", "children", "name"),
    [(1, 1, 1, "Ethernet3/1/1"), (36, 2, 2, "Ethernet3/36/5"), (37, 1, 2, "Ethernet4/1/1")],
)
def test_a_chassis_names_the_slot_too(cage: int, child: int, children: int, name: str) -> None:
    assert EOS.port_name(CHASSIS, cage, child, children) == name


@pytest.mark.parametrize(
    ("cage", "child", "children"), [(6, 1, 1), (0, 1, 1), (1, 3, 2), (1, 0, 1), (1, 1, 16)]
)
def test_a_port_that_cannot_be_is_refused(cage: int, child: int, children: int) -> None:
    with pytest.raises(ValueError, match="cage"):
        EOS.port_name(FIXED, cage, child, children)


def test_names_are_unique_on_a_switch() -> None:
    names = [EOS.port_name(CHASSIS, cage, child, 2) for cage in range(1, 289) for child in (1, 2)]
    assert len(set(names)) == len(names)


def test_a_model_without_settings_is_not_supported() -> None:
    assert EOS.supports(FIXED)
    assert not EOS.supports(switch_model())
