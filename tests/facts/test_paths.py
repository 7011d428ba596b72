"""Paths of facts are taken apart by one module."""

from __future__ import annotations

import pytest

from fabricc.facts import paths

CUTS = {
    "system/hostname": ("system/hostname", "", "", "", "system/hostname"),
    "bgp/aggregate[10.0.0.0/16]": ("bgp/aggregate", "10.0.0.0/16", "10.0.0.0/16", "", "bgp/aggregate[]"),
    "vrf[RED]/static_route[::/0]": ("vrf", "RED", "::/0", "static_route[::/0]", "vrf[]/static_route[]"),
    "interface[Ethernet1/1]/queue[3]/ecn": (
        "interface", "Ethernet1/1", "3", "queue[3]/ecn", "interface[]/queue[]/ecn",
    ),
}  # fmt: skip
"""Path -> its first word, first key, last key, leaf in its list, and the path without keys."""


@pytest.mark.parametrize("path", CUTS)
def test_a_path_has_parts(path: str) -> None:
    parts = paths.first_word, paths.first_key, paths.last_key, paths.list_leaf, paths.replace_keys
    assert tuple(part(path) for part in parts) == CUTS[path]


def test_a_list_path_has_a_name_with_and_without_a_leaf() -> None:
    assert paths.split_list_path("vrf[RED]/vni", "vrf") == ("RED", "vni")
    assert paths.split_list_path("community_list[DRAIN]", "community_list") == ("DRAIN", "")
    assert paths.last_leaf("interface[Ethernet1/1]/queue[3]/ecn") == "ecn"
    assert paths.outer_key("unread[vlan[5]/name]") == "vlan[5]/name"
    assert paths.replace_keys("a[1]/b[2]", "[*]", 1) == "a[*]/b[2]"


def test_a_pattern_captures_keys_and_numbers() -> None:
    match = paths.path_pattern("interface[*]/queue[#]/(ecn|pfc)").fullmatch(
        "interface[et-0/0/1]/queue[3]/pfc"
    )
    assert match
    assert match.groups() == ("et-0/0/1", "3", "pfc")
    assert paths.path_pattern("(?:vrf[_]/)?bgp/.*").fullmatch("vrf[RED]/bgp/asn")
    assert not paths.path_pattern("queue[#]").fullmatch("queue[all]")
