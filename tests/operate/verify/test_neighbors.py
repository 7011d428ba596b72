"""LLDP announcements become cables, whatever names systems use for ports, and silence is no fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.operate.verify.neighbors import Cabling, LldpView, Neighbor, compare_cabling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.operate.verify.cable_moves import End

PLAN = {
    ("tor1", "p1"): ("spine1", "q1"),
    ("tor1", "p2"): ("spine2", "q1"),
    ("tor1", "h1"): ("host1", "rail0"),
    ("tor1", "h2"): ("host2", "rail0"),
    ("spine1", "q1"): ("tor1", "p1"),
    ("spine2", "q1"): ("tor1", "p2"),
}
SPARE = {"tor1": {"p1", "p2", "p3", "h1", "h2"}, "spine1": {"q1", "q2"}, "spine2": {"q1", "q2"}}
ALIASES = {"spine1": {"etp1": "q1", "etp2": "q2"}}


def compare_announced(
    heard: Mapping[str, Mapping[str, tuple[str, str, str]]], dark: frozenset[End] = frozenset()
) -> Cabling:
    requested = {
        device: LldpView(
            {port: peer for (own, port), peer in PLAN.items() if own == device},
            frozenset(port for name, port in dark if name == device),
            frozenset(SPARE[device]),
            {port: [Neighbor(*one)] for port, one in ports.items()},
        )
        for device, ports in heard.items()
    }
    return compare_cabling(requested, lambda system: ALIASES.get(system, {} if system in SPARE else None))


def move_words(cabling: Cabling) -> list[str]:
    return [move.words for moves in cabling.moves for move in moves]


def finding_codes(cabling: Cabling) -> list[str]:
    return [one.diagnostic.code for one in cabling.findings]


RIGHT = {
    "tor1": {"p1": ("spine1", "q1", ""), "p2": ("spine2.example.net", "q1", "")},
    "spine1": {"q1": ("tor1", "p1", "")},
    "spine2": {"q1": ("tor1", "p2", "")},
}


def test_lldp_names_ignore_case_and_duplicates() -> None:
    capitals = {**RIGHT, "tor1": {"p1": ("SPINE1", "q1", ""), "p2": ("Spine2.Example.NET", "q1", "")}}
    cabling = compare_announced({**capitals, "spine1": {"q1": ("TOR1", "p1", "")}})
    assert (move_words(cabling), finding_codes(cabling)) == ([], [])
    for name, port in (
        ("Spine1.", "Q1"),
        ("spine1.example.net.", "q1\0"),
        ("spine1 \0", " q1"),
        ("spine1", "Q1 "),
    ):
        padded = {**RIGHT, "tor1": {**RIGHT["tor1"], "p1": (name, port, "")}}
        assert finding_codes(compare_announced(padded)) == []
    long = compare_announced({**RIGHT, "tor1": {**RIGHT["tor1"], "p3": ("x" * 100_000, "y" * 100_000, "")}})
    assert max(len(one.diagnostic.message) for one in long.findings) < 400


def test_cabling_as_planned_has_no_finding_and_hosts_may_be_silent() -> None:
    cabling = compare_announced(RIGHT)
    assert (move_words(cabling), finding_codes(cabling), cabling.silent) == ([], [], 2)


def test_ports_are_known_by_alias_and_by_description() -> None:
    tor = {"p1": ("spine1", "etp1", "tor1 p1"), "p2": ("spine2", "locally assigned 7", "q1")}
    tor["h1"] = ("host1", "00:00:5e:00:53:02", "rail0")
    cabling = compare_announced({"tor1": tor})
    assert (move_words(cabling), finding_codes(cabling)) == ([], [])
    padded = compare_announced({"tor1": {**tor, "p1": ("spine1", "ETP1\0", "tor1 p1")}})
    assert (move_words(padded), finding_codes(padded)) == ([], [])
    assert cabling.silent == 1


def test_a_host_that_speaks_elsewhere_is_in_the_wrong_port() -> None:
    tor = {**RIGHT["tor1"], "h2": ("host1", "rail0", "")}
    cabling = compare_announced({**RIGHT, "tor1": tor})
    assert move_words(cabling) == [
        "move the cable in port h2 of tor1 to its port h1",
        "connect port rail0 of host2 and port h2 of tor1",
    ]
    assert finding_codes(cabling) == ["FAB9201", "FAB9201"]


def test_a_dark_cable_a_stranger_and_a_shut_port() -> None:
    tor = {"p1": ("spine1", "q1", ""), "p3": ("printer", "eth0", "")}
    cabling = compare_announced({**RIGHT, "tor1": tor, "spine2": {}})
    assert move_words(cabling) == [
        "connect port q1 of spine2 and port p2 of tor1",
        "remove the cable between port eth0 of printer and port p3 of tor1",
    ]
    assert sorted(finding_codes(cabling)) == ["FAB9202", "FAB9203"]
    dark = frozenset({("tor1", "p2"), ("spine2", "q1")})
    shut = compare_announced({**RIGHT, "tor1": {"p1": ("spine1", "q1", "")}, "spine2": {}}, dark)
    assert finding_codes(shut) == [], "who is shut on purpose hears nobody"


def test_a_cable_that_one_end_hears_is_there_with_a_doubt() -> None:
    cabling = compare_announced({**RIGHT, "spine2": {}})
    assert move_words(cabling) == []
    assert finding_codes(cabling) == ["FAB9204"]
    contradiction = compare_announced({**RIGHT, "spine2": {"q1": ("tor1", "p1", "")}})
    assert set(finding_codes(contradiction)) == {"FAB9204"}


def test_unread_switch_is_known_from_its_neighbors() -> None:
    crossed = {"p1": ("spine2", "q1", ""), "p2": ("spine1", "q1", "")}
    cabling = compare_announced({"tor1": crossed})
    assert move_words(cabling) == ["swap the cables in ports p1 and p2 of tor1"]
    assert finding_codes(cabling) == ["FAB9201", "FAB9201"]
