"""Altering any one word of a rendered configuration shows: in the facts, or as a line not known."""

from __future__ import annotations

import re

import pytest

from fabricc.back.nos.eos import EOS, FILE
from fabricc.back.nos.eos.qos_rows import default_traffic_class
from tests.back.nos.eos.variants import variant
from tests.back.nos.mutation import change_each_word


def is_equivalent(line: str, index: int) -> bool:
    """Return whether another word there means the same to a device.

    Rules of a list follow the order of the sequence numbers, the name of the one gRPC transport is free, and
    a code point that EOS's default map puts into the class written needs no line of its own.
    """
    words = line.split()
    if words[:3] == ["qos", "map", "dscp"]:
        return index == 3 and default_traffic_class(int(words[3])) == int(words[-1])
    if words[1] == "permit":
        return index == 0
    return (index == 1 and words[0] == "seq") or (index == 2 and words[0] == "transport")


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", ["trident-dual", "trident-dual-unnumbered", "sand-drained", "trident-settings", "sand-settings"]
)
@pytest.mark.spread
def test_no_changed_word_survives(name: str, step: int) -> None:
    switch = variant(name)
    text = EOS.render(switch)[FILE]
    planned = EOS.planned(switch)
    lines = text.split("\n")
    survivors = []
    for at, index, changed in change_each_word(text)[::step]:
        reading = EOS.read({FILE: changed})
        if reading.facts == planned and not reading.unknown and not is_equivalent(lines[at], index):
            survivors.append((lines[at], index))
    assert survivors == []


def test_a_changed_value_shows_on_its_line() -> None:
    switch = variant("trident-dual")
    text = EOS.render(switch)[FILE]
    planned = EOS.planned(switch)
    lines = text.split("\n")
    values = re.compile(
        r"\d+ bytes|mtu|^   ip(v6)? address|remote-as|description|timers|traffic-class \d|seq"
    )
    for at, index, changed in change_each_word(text):
        line = lines[at]
        if (
            index < len(line.split()) - 1
            or not values.search(line)
            or line.startswith("qos map traffic-class")
        ):
            continue
        reading = EOS.read({FILE: changed})
        differing = {path for path, _ in planned.items() ^ reading.facts.items()}
        places = {reading.lines[path][1] for path in differing if path in reading.lines}
        assert at + 1 in places | {number for _, number, _ in reading.unknown}, line


@pytest.mark.parametrize("name", ["trident-dual", "trident-unnumbered", "sand-numbered"])
@pytest.mark.spread
def test_no_missing_line_goes_unnoticed(name: str) -> None:
    switch = variant(name)
    text = EOS.render(switch)[FILE]
    planned = EOS.planned(switch)
    lines = text.split("\n")
    survivors = set()
    for at, line in enumerate(lines):
        if line.strip() in ("", "!"):
            continue
        reading = EOS.read({FILE: "\n".join([*lines[:at], *lines[at + 1 :]])})
        if reading.facts == planned and not reading.unknown:
            survivors.add(re.sub(r"\d+", "N", line.strip()))
    # In a fabric of IPv4 alone every neighbor is to be active in IPv4, as EOS has it by default.
    ipv4_only = {"no bgp default ipvN-unicast"} if "dual" not in name else set()
    # The ports of the longest cables use the default buffer profile.
    buffers = (
        {"platform trident mmu queue interface-profile MMU-NG-NM"} if name.startswith("trident") else set()
    )
    queue = "uc-tx-queue" if name.startswith("trident") else "tx-queue"
    assert survivors == ipv4_only | buffers | {
        # EOS's defaults: without the line the meaning is the same.
        "bgp asn notation asplain", "bgp bestpath as-path multipath-relax", "end", "no ip routing vrf MGMT",
        "priority strict", "protocol https", f"qos map traffic-class N to {queue} N",
        "qos map dscp N to traffic-class N",
        # Without consequence for what the facts of this vocabulary state.
        "no shutdown",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["trident-settings", "sand-settings"])
def test_no_missing_setting_goes_unnoticed(name: str) -> None:
    switch = variant(name)
    text = EOS.render(switch)[FILE]
    planned = EOS.planned(switch)
    lines = text.split("\n")
    about = re.compile(
        "lldp|snmp|tacacs|aaa|access|server|transport|port |permit|maximum-hops|load-balance|payload|fields"
    )
    survivors = []
    for at, line in enumerate(lines):
        reading = EOS.read({FILE: "\n".join([*lines[:at], *lines[at + 1 :]])})
        if about.search(line) and reading.facts == planned and not reading.unknown:
            survivors.append(line.strip())
    assert survivors == []
