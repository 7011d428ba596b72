"""Texts of strangers cost time in proportion to their length. A test that does not end has found one that does not."""

from __future__ import annotations

import pytest

from fabricc.audit import coverage
from fabricc.audit.adopt import edits, order
from fabricc.audit.device import collected_systems
from fabricc.back import hosts
from fabricc.back.nos import collected, packet_filters
from fabricc.back.nos.junos import non_forwarding
from fabricc.back.nos.junos.foreign import instances
from fabricc.back.reading.tree import braces
from fabricc.compiler.render.switch_files import holds_secret
from fabricc.facts.paths import replace_keys

MANY = 100_000
_EOS, _NXOS = "Port  Neighbor Device ID  Neighbor Port ID\n", "Device ID   Local Intf\n"
_JUNOS = "Local Interface Parent Interface Chassis Id Port info System Name\n"


@pytest.mark.parametrize(
    ("text", "system"),
    [
        *(("\n" * MANY, system) for system in ("cumulus", "eos", "frr", "junos", "nxos", "sonic")),
        ("hostname" + "\n" * MANY, "cumulus"),
        (_EOS + "A1" * MANY, "eos"),
        (_EOS + "A1 a b" + " " * MANY + "!", "eos"),
        (_NXOS + "a Eth1 1 A b" + " " * MANY + "!", "nxos"),
        (_JUNOS + "a a aaaaaaaaaaaa b" + " " * MANY + "!", "junos"),
        ("JUNOS " + "[1" * MANY, "junos"),
        ("JUNOS [1\n" * (MANY // 10), "junos"),
        ("build " + "1" * MANY, "cumulus"),
    ],
    ids=range(14),
)
def test_an_output_is_read_in_one_pass(text: str, system: str) -> None:
    found = collected_systems()[system].output(text)
    assert found is None or not (found.neighbors or found.identity.name)


def test_tables_and_paths_are_matched_in_one_pass() -> None:
    assert not collected.parse_lldpd("LocalPort RemoteDevice RemotePortID\na b c" + " " * MANY + '"')
    match = collected_systems()["cumulus"].takes("x", "auto a\niface b\n  c\nsource d\n" + "\n" * MANY)
    assert match is not None
    assert match.weight < 99  # a file of any system with ifupdown
    assert not edits._NUMBERED.fullmatch("a1" + "1" * MANY + " ")
    assert not order._CABLE_DESCRIPTION.fullmatch("a1" + "1" * MANY)
    assert replace_keys("a[b]" + "[" * MANY) == "a[]" + "[" * MANY
    assert not instances._DEFAULTS.fullmatch(":" * MANY)
    assert not packet_filters._ADDRESS.fullmatch(":" * MANY + "!")
    assert not braces('"' + '\\"' * (MANY // 4)).nodes
    assert list(non_forwarding.exec_lines('"' + '\\"' * MANY))
    assert not holds_secret("tacacs/" * MANY)
    assert holds_secret("tacacs-server host 192.0.2.1 key 7 x")
    assert len(coverage._generalize_line("a:" * MANY)) <= 120


def test_a_line_of_sysctl_is_matched_in_one_pass() -> None:
    file = "etc/sysctl.d/90-fabricc.conf"
    reading = hosts.read({file: f"net.a = 1\na{' ' * MANY}b\n"})
    assert reading.facts["sysctl[net.a]"] == 1


@pytest.mark.parametrize(
    ("text", "system", "expected"),
    [
        (f"{_EOS}Et1   su001-tor1a    Ethernet 2/1   120\n", "eos", ("Ethernet1", "su001-tor1a", "Ethernet 2/1")),
        (f"{_NXOS}spine01a  Eth1/1  120  BR  Ethernet 1/2\n", "nxos", ("Ethernet1/1", "spine01a", "Ethernet 1/2")),
        (f"{_JUNOS}et-0/0/0  -  aa:bb:cc:dd:ee:ff  port 1  tor1a  \n", "junos", ("et-0/0/0", "tor1a", "port 1")),
    ],
)  # fmt: skip
def test_rows_are_read(text: str, system: str, expected: tuple[str, str, str]) -> None:
    found = collected_systems()[system].output(text)
    assert found is not None
    assert [each[:3] for each in found.neighbors] == [expected]
