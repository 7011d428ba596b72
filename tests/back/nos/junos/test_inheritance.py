"""Groups and interface ranges: statements for several places, and the lines of their facts."""

from __future__ import annotations

import pytest

from fabricc.back.nos.junos import FILE, JUNOS

GROUPED = """\
groups {
    mtus {
        interfaces {
            <et-*> {
                mtu 9216;
                unit <*> {
                    family inet {
                        mtu 9000;
                    }
                }
            }
        }
        protocols {
            bgp {
                group <*> {
                    hold-time 30;
                }
            }
        }
    }
    never {
        system {
            host-name other;
        }
    }
}
apply-groups mtus;
interfaces {
    interface-range hosts {
        member et-0/0/3;
        member-range et-0/0/5 to et-0/0/6;
        description host;
        mtu 4000;
    }
    et-0/0/1 {
        unit 0 {
            family inet {
                address 10.0.0.1/31;
            }
        }
    }
    et-0/0/2 {
        apply-groups-except mtus;
        mtu 1600;
    }
    xe-0/0/9 {
        unit 0 {
            family inet {
                address 10.0.0.9/31;
            }
        }
    }
}
protocols {
    bgp {
        group UP {
            neighbor 10.0.0.0 {
                peer-as 65001;
            }
        }
    }
}
"""


def test_inherited_group_settings_point_to_the_group_line() -> None:
    reading = JUNOS.read({FILE: GROUPED})
    facts = reading.facts
    assert facts["interface[et-0/0/1]/physical_mtu"] == 9216
    assert facts["interface[et-0/0/1]/mtu"] == 9000
    assert reading.lines["interface[et-0/0/1]/mtu"] == (FILE, 8)
    assert facts["bgp/neighbor[10.0.0.0]/hold_s"] == 30
    assert facts["interface[xe-0/0/9]/mtu"] == 1500
    assert facts["interface[et-0/0/2]/physical_mtu"] == 1600


def test_interface_range_applies_to_members_and_overrides_groups() -> None:
    reading = JUNOS.read({FILE: GROUPED})
    for port in ("et-0/0/3", "et-0/0/5", "et-0/0/6"):
        assert reading.facts[f"interface[{port}]/physical_mtu"] == 4000
        assert reading.lines[f"interface[{port}]/physical_mtu"] == (FILE, 33)
    assert "interface[hosts]/physical_mtu" not in reading.facts


def test_a_group_that_is_not_applied_is_listed_and_of_no_effect() -> None:
    reading = JUNOS.read({FILE: GROUPED})
    assert reading.unknown == [(FILE, 23, "groups never system host-name other")]
    assert JUNOS.ignorable({FILE: GROUPED}, reading) == {(FILE, 23)}


def test_an_unknown_statement_of_a_group_is_reported_once() -> None:
    text = GROUPED.replace("                mtu 9216;", "                mut 9216;")
    reported = [text for _, line, text in JUNOS.read({FILE: text}).unknown if line == 5]
    assert reported == ["groups mtus interfaces <et-*> mut 9216"]


def test_groups_apply_groups_and_none_applies_itself() -> None:
    text = (
        "set groups A interfaces <*> unit 0 apply-groups B\nset groups A apply-groups A\n"
        "set groups B apply-groups A\nset groups B interfaces <*> unit <*> family inet address 10.0.0.1/31\n"
        "set apply-groups A\nset interfaces et-0/0/1 unit 0 description x\n"
    )
    reading = JUNOS.read({FILE: text})
    assert reading.facts["interface[et-0/0/1]/ipv4"] == "10.0.0.1/31"
    assert reading.lines["interface[et-0/0/1]/ipv4"] == (FILE, 4)


@pytest.mark.parametrize("output", ["mtu 1600", "disable"])
def test_statements_of_a_device_override_its_group(output: str) -> None:
    text = (
        "set groups A interfaces <*> mtu 9216\nset groups A interfaces <*> disable\nset apply-groups A\n"
        f"set interfaces et-0/0/1 {output}\n"
    )
    reading = JUNOS.read({FILE: text})
    assert reading.unknown == []
    own = {"mtu 1600": "physical_mtu", "disable": "enabled"}[output]
    assert reading.lines[f"interface[et-0/0/1]/{own}"] == (FILE, 4)


def test_terminal_prompts_are_ignored() -> None:
    text = "netops@leaf1> show configuration | no-more\nsystem {\n    host-name a;\n}\n\n{master:0}\n"
    reading = JUNOS.read({FILE: text})
    assert (reading.facts, reading.unknown) == ({"system/hostname": "a"}, [])
