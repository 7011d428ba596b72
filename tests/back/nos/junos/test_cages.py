"""Cages of classic switches: names by speed, the speed of groups of four, splits."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.junos import FILE, JUNOS, cages
from fabricc.catalog.load import load_catalog
from fabricc.fabric.model import Direction
from tests.back.nos.junos.variants import variant
from tests.samples import tor

if TYPE_CHECKING:
    from fabricc.fabric.model import Port, Switch

MODEL = load_catalog()[0].switches["qfx5120-48y"]


def classic_switch(*speeds: int, used: int = 99) -> Switch:
    """Return a QFX5120-48Y with one whole port in each cage from 0; ports from `used` on are unused."""
    sample = tor(nos="junos", model=MODEL, release="24.4")
    unused = next(port for port in sample.ports if port.direction is Direction.UNUSED)
    linked = next(port for port in sample.ports if port.direction is not Direction.UNUSED)
    ports = []
    for cage, speed in enumerate(speeds):
        base: Port = linked if cage < used else unused
        name = back_ends.port_name_at_speed(back_ends.load("junos"), MODEL, cage, 1, 1, speed)
        lanes = 1 if cage < 48 else 4
        ports.append(replace(base, name=name, cage=cage, children=1, lanes=lanes, speed_gbps=speed))
    return replace(sample, ports=tuple(ports))


def chassis_text(switch: Switch) -> str:
    text = JUNOS.render(switch)[FILE]
    return " ".join(re.search(r"^chassis \{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)[1].split())  # type: ignore[index]


def assert_reads_back(switch: Switch) -> None:
    """Compare all facts but those of QoS profiles, which the sample has for ports that are not there."""
    found = JUNOS.read(JUNOS.render(switch)).facts
    planned = JUNOS.planned(switch)
    assert {
        path: value for path, value in found.items() if not path.startswith("qos/setting[unused")
    } == planned


@pytest.mark.parametrize(
    ("cage", "children", "speed", "name"),
    [(0, 1, 10, "xe-0/0/0"), (0, 1, 25, "et-0/0/0"), (48, 1, 100, "et-0/0/48"), (48, 4, 25, "et-0/0/48:3"),
     (48, 4, 10, "xe-0/0/48:3"), (0, 1, 1, "ge-0/0/0")],
)  # fmt: skip
def test_a_classic_switch_names_a_port_after_its_speed(
    cage: int, children: int, speed: int, name: str
) -> None:
    assert (
        back_ends.port_name_at_speed(back_ends.load("junos"), MODEL, cage, children, children, speed) == name
    )


def test_junos_evolved_uses_one_port_prefix() -> None:
    model = load_catalog()[0].switches["qfx5130-32cd"]
    assert back_ends.port_name_at_speed(back_ends.load("junos"), model, 0, 1, 4, 10) == "et-0/0/0:0"


def test_the_first_port_of_four_sets_the_speed_of_all_and_ten_is_the_default() -> None:
    switch = classic_switch(*[25] * 8, *[10] * 4)
    speeds = re.findall(r"port (\d+) \{ speed (\S+); \}", chassis_text(switch))
    assert speeds == [("0", "25g"), ("4", "25g")]
    assert " speed 25g;" not in JUNOS.render(switch)[FILE].partition("interfaces {")[2]


def test_speeds_of_a_group_read_back_as_planned() -> None:
    switch = classic_switch(*[25] * 8, *[10] * 4, used=10)
    reading = JUNOS.read(JUNOS.render(switch))
    assert_reads_back(switch)
    assert reading.facts["interface[et-0/0/7]/speed_gbps"] == 25
    assert reading.facts["interface[xe-0/0/8]/speed_gbps"] == 10


def test_an_unused_port_is_shut_under_the_name_that_its_group_gives_it_too() -> None:
    switch = classic_switch(10, 25, 25, 25, used=1)
    assert cages.other_names(switch) == {f"et-0/0/{cage}": f"xe-0/0/{cage}" for cage in (1, 2, 3)}
    text = JUNOS.render(switch)[FILE]
    assert "    xe-0/0/3 {\n        disable;\n    }\n" in text
    assert_reads_back(switch)


def test_two_speeds_in_a_group_are_an_error_that_names_the_cages() -> None:
    gaps = [gap for gap in JUNOS.gaps(classic_switch(25, 25, 25, 10)) if gap.code == "FAB5526"]
    assert [(gap.feature, gap.fatal) for gap in gaps] == [("10G and 25G in cages 0 to 3", True)]
    for fine in (classic_switch(25, 25, 25, 10, used=3), classic_switch(*[25] * 4, *[10] * 4)):
        assert "FAB5526" not in {gap.code for gap in JUNOS.gaps(fine)}


def test_a_cage_is_split_by_its_channel_speed_where_there_is_one() -> None:
    switch = variant("classic-numbered")
    ports = tuple(replace(port, speed_gbps=50) for port in switch.ports)
    switch = replace(switch, ports=ports)
    assert "port 1 { channel-speed 50g; }" in chassis_text(switch)
    assert "number-of-sub-ports" not in chassis_text(switch)
    assert_reads_back(switch)


def test_published_statements_of_classic_switches_are_read() -> None:
    text = """
chassis { fpc 0 { pic 0 {
    port 4 { speed 25g; } port 27 { channel-speed 25g; } port 48 { speed 100g; } port 49 { channel-speed 50g; }
} } }
interfaces {
    xe-0/0/0 { unit 0 { family inet; } }
    et-0/0/7 { unit 0 { family inet; } }
    et-0/0/27:3 { unit 0 { family inet; } }
    et-0/0/48 { unit 0 { family inet; } }
}
"""
    reading = JUNOS.read({FILE: text})
    assert not reading.unknown
    speeds = {"xe-0/0/0": 10, "et-0/0/7": 25, "et-0/0/27:3": 25, "et-0/0/48": 100}
    for port, speed in speeds.items():
        assert reading.facts[f"interface[{port}]/speed_gbps"] == speed
    assert reading.facts["platform/sub_ports[et-0/0/27]"] == 4
    assert reading.facts["platform/sub_ports[et-0/0/49]"] == 2
