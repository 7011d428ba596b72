"""Rendered text reads back to exactly the planned facts, and every changed token is noticed."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.frr import FRR, read_frr_conf, render_frr_conf
from fabricc.fabric.facts import Facts, Reading
from fabricc.fabric.routing import CommunityList, PrefixList, PrefixRule
from tests.back.nos.frr.variants import SPINES, VARIANTS, sample
from tests.effort import scale_examples

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

GOLDEN = Path(__file__).parent / "golden"
EVERY = {**VARIANTS, **{f"spine-{name}": switch for name, switch in SPINES.items()}}


def find_differences(read: Facts, planned: Facts) -> dict[str, tuple[object, object]]:
    return {
        path: (read.get(path), planned.get(path))
        for path in sorted({*read, *planned})
        if read.get(path) != planned.get(path)
    }


@pytest.mark.parametrize("name", EVERY)
def test_the_files_state_exactly_the_planned_facts(name: str) -> None:
    reading = FRR.read(FRR.render(EVERY[name]))
    assert find_differences(reading.facts, FRR.planned(EVERY[name])) == {}
    assert reading.unknown == []
    assert reading.lines.keys() == reading.facts.keys()


@pytest.mark.parametrize("name", ["numbered", "dual-unnumbered", "drained", "settings"])
def test_the_text_is_the_golden_one(name: str) -> None:
    files = FRR.render(VARIANTS[name])
    folder = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text)
    assert files == {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_every_file_ends_in_one_newline() -> None:
    for file, text in FRR.render(VARIANTS["dual"]).items():
        assert text.endswith("\n"), file
        assert not text.endswith("\n\n"), file


@st.composite
def draw_rules4(draw: st.DrawFn) -> PrefixRule:
    length = draw(st.integers(0, 31))
    network = draw(st.integers(0, 2**length - 1)) << (32 - length)
    ge, le = draw(st.sampled_from([(None, None), (length + 1, None), (None, 32), (length + 1, 32)]))
    return PrefixRule(f"{ipaddress.IPv4Address(network)}/{length}", ge, le)


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    switch = sample(
        unnumbered=draw(st.booleans()),
        dual=draw(st.booleans()),
        drained=draw(st.booleans()),
        lossless=draw(st.booleans()),
    )
    keepalive = draw(st.integers(1, 60))
    community = f"{draw(st.integers(0, 65535))}:{draw(st.integers(0, 65535))}"
    extra = PrefixList("EXTRA", 4, tuple(draw(st.lists(draw_rules4(), max_size=4, unique=True))))
    bgp = replace(
        switch.bgp,
        keepalive_s=keepalive,
        hold_s=3 * keepalive,
        maximum_paths=draw(st.integers(1, 256)),
        multipath_relax=draw(st.booleans()),
        bfd_interval_ms=draw(st.none() | st.integers(50, 1000)),
        bfd_multiplier=draw(st.integers(2, 10)),
        prefix_lists=(*switch.bgp.prefix_lists, extra),
        community_lists=(*switch.bgp.community_lists, CommunityList("EXTRA", community)),
        sessions=switch.bgp.sessions[: draw(st.integers(0, 4))],
    )
    ports = tuple(replace(port, mtu=draw(st.integers(1500, 9216))) for port in switch.ports)
    return replace(switch, bgp=bgp, ports=ports[: draw(st.integers(1, len(ports)))])


@settings(max_examples=scale_examples(60), deadline=None)
@given(draw_switches())
def test_any_switch_reads_back_to_its_plan(switch: Switch) -> None:
    reading = FRR.read(FRR.render(switch))
    assert find_differences(reading.facts, FRR.planned(switch)) == {}
    assert reading.unknown == []


def test_a_platform_that_holds_addresses_elsewhere_gets_advertisements_only() -> None:
    switch = VARIANTS["dual-unnumbered"]
    text = render_frr_conf(
        switch, router_interfaces=False, hostname=False, extra_head=("fpm address 127.0.0.1",)
    )
    reading = Reading()
    read_frr_conf(text, "frr.conf", reading)
    assert reading.unknown == []
    uplinks = {port.name for port in switch.ports if port.unnumbered}
    stated = {path for path in reading.facts if path.startswith(("interface[", "system/", "loopback/"))}
    assert stated == {f"interface[{name}]/unnumbered" for name in uplinks}
    assert "hostname" not in text


def test_a_build_for_more_paths_states_its_limit_by_silence() -> None:
    switch = replace(VARIANTS["numbered"], bgp=replace(VARIANTS["numbered"].bgp, maximum_paths=514))
    text = render_frr_conf(switch, multipath_limit=514)
    reading = Reading()
    read_frr_conf(text, "frr.conf", reading, multipath_limit=514)
    assert "maximum-paths" not in text
    assert reading.facts["bgp/maximum_paths"] == 514


def mutable_switch() -> Switch:
    """Every kind of line, with no value that FRR has as its default."""
    switch = sample(dual=True, drained=True)
    bgp = replace(
        switch.bgp, keepalive_s=5, hold_s=15, bfd_interval_ms=100, bfd_multiplier=4, maximum_paths=32
    )
    uplink = switch.ports[-1].name
    ports = tuple(
        replace(port, ipv4=None, ipv6=None, unnumbered=True) if port.name == uplink else port
        for port in switch.ports
    )
    return replace(switch, bgp=bgp, ports=ports)


INERT = re.compile(r"exit|!.*|#.*|MAX_FDS=.*|[a-z]+_options=.*")
SEQUENCE = re.compile(r"(?<=seq )\d+")


def names_line(reading: Reading, intact: Reading, file: str, number: int) -> bool:
    """Return whether the changed line is pointed at: as unknown, or by a fact of its file that differs."""
    if any((f, n) == (file, number) for f, n, _ in reading.unknown):
        return True
    paths = find_differences(reading.facts, intact.facts)
    if "system/hostname" in paths:  # two files state it, and the fact has room for one line
        return file in ("frr.conf", "hostname")
    return any(file in (*reading.lines.get(path, ())[:1], *intact.lines.get(path, ())[:1]) for path in paths)


@pytest.mark.slow
def test_changing_any_token_of_any_line_is_noticed() -> None:
    files = FRR.render(mutable_switch())
    intact = FRR.read(files)
    assert find_differences(intact.facts, FRR.planned(mutable_switch())) == {}
    tried = 0
    missed = []
    for file, text in files.items():
        lines = text.splitlines()
        for index, line in enumerate(lines):
            if INERT.fullmatch(line.strip()):
                continue
            for token in re.finditer(r"[\w.:/-]+", SEQUENCE.sub(lambda m: "~" * len(m[0]), line)):
                word = token[0]
                last = word[-1]
                changed = word[:-1] + (
                    str((int(last) + 1) % 10) if last.isdecimal() else "z" if last != "z" else "y"
                )
                mutant = line[: token.start()] + changed + line[token.end() :]
                altered = "\n".join([*lines[:index], mutant, *lines[index + 1 :]]) + "\n"
                tried += 1
                if not names_line(FRR.read({**files, file: altered}), intact, file, index + 1):
                    missed.append(f"{file}:{index + 1}: {mutant}")
    assert missed == []
    assert tried > 300


# Each of these may go without changing what the switch does.
REDUNDANT = (
    r"service integrated-vtysh-config",
    r"frr defaults datacenter",  # the timers of this switch are explicit
    r"hostname .*",  # stated by the file `hostname` too, and the other way round
    r"ipv6 nd ra-interval 10",
    r"bgp ebgp-requires-policy",  # each neighbor has a policy both ways, else a fact is missing
    r"neighbor UPSTREAM-V[46] bfd",  # `bfd profile` turns BFD on
    r"address-family ipv6 unicast|bfd",
    r"address-family ipv4 unicast",  # its lines may stand in the process, as old releases have them
    r"exit-address-family",
    r"vtysh_enable=yes",
    r"\[Time\]",
    r"auto swp2s1",  # a port that is shut anyway
    r"su001-tor1a",
)


def test_removing_any_line_is_noticed() -> None:
    switch = mutable_switch()
    files, planned = FRR.render(switch), FRR.planned(switch)
    missed = []
    for file, text in files.items():
        lines = text.splitlines()
        for index, line in enumerate(lines):
            bare = line.strip()
            if not bare or INERT.fullmatch(bare) or any(re.fullmatch(kind, bare) for kind in REDUNDANT):
                continue
            reading = FRR.read({**files, file: "\n".join([*lines[:index], *lines[index + 1 :]]) + "\n"})
            if not find_differences(reading.facts, planned) and not reading.unknown:
                missed.append(f"{file}:{index + 1}: {line}")
    assert missed == []


@pytest.mark.slow
@settings(max_examples=scale_examples(60), deadline=None)
@given(st.data())
def test_no_text_is_too_broken_to_read(data: st.DataObject) -> None:
    lines = [line for text in FRR.render(VARIANTS["drained"]).values() for line in text.splitlines()]
    pieces = (
        st.sampled_from(lines)
        | st.text(max_size=30)
        | st.sampled_from(["exit", "end", "neighbor", "seq 9" * 99])
    )
    text = "\n".join(data.draw(st.lists(pieces, max_size=40)))
    for file in FRR.render(VARIANTS["drained"]):
        reading = FRR.read({file: text})
        assert reading.facts.keys() <= reading.lines.keys()


def test_a_policy_that_only_one_family_has_is_distinguished() -> None:
    switch = VARIANTS["dual-unnumbered"]
    files = FRR.render(switch)
    head, _, tail = files["frr.conf"].rpartition("  neighbor UPSTREAM route-map TO-UPSTREAM out\n")
    reading = FRR.read({**files, "frr.conf": head + tail})
    uplinks = [port.name for port in switch.ports if port.unnumbered]
    assert find_differences(reading.facts, FRR.planned(switch)) == {
        f"bgp/neighbor[{name}]/export": ("ipv4 TO-UPSTREAM, ipv6 none", "TO-UPSTREAM") for name in uplinks
    }


def test_an_address_family_that_is_not_known_ends_alone() -> None:
    """`exit-address-family` leaves the family and not the process, whose other families follow."""
    switch = VARIANTS["dual"]
    files = FRR.render(switch)
    flows = (" address-family ipv4 flowspec\n", "  local-install swp1\n", " exit-address-family\n !\n")
    head, tail, rest = files["frr.conf"].partition(" address-family ipv4 unicast\n")
    reading = FRR.read({**files, "frr.conf": head + "".join(flows) + tail + rest})
    assert find_differences(reading.facts, FRR.planned(switch)) == {}
    assert [text for _, _, text in reading.unknown] == [line.strip() for line in flows[:2]]


def test_process_without_required_policies_is_read() -> None:
    files = FRR.render(VARIANTS["numbered"])
    line = " bgp ebgp-requires-policy\n"
    reading = FRR.read({**files, "frr.conf": files["frr.conf"].replace(line, f" no{line}")})
    assert find_differences(reading.facts, FRR.planned(VARIANTS["numbered"])) == {
        "bgp/requires_policy": ("false", "true")
    }
    assert reading.unknown == []


def test_an_address_next_to_the_planned_one_is_noticed() -> None:
    switch = VARIANTS["numbered"]
    files = FRR.render(switch)
    name = switch.ports[0].name
    text = files["frr.conf"].replace(
        " ip address 10.0.0.0/31\n", " ip address 10.0.0.0/31\n ip address 10.9.9.0/31\n"
    )
    reading = FRR.read({**files, "frr.conf": text})
    assert find_differences(reading.facts, FRR.planned(switch)) == {
        f"interface[{name}]/secondary[10.9.9.0/31]": ("10.9.9.0/31", None)
    }


def test_a_file_of_an_unknown_name_is_listed() -> None:
    assert FRR.read({"motd": "hello\n"}).unknown == [("motd", 1, "an unknown file for this system")]
