"""Similar devices share a frame, from which the facts of each are restored unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.fabric.facts import Reading
from fabricc.fabric.shape import TierName
from fabricc.facts.frame import split_facts
from tests.audit import ours

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.facts.frame import Parts


def _read_tors(tmp_path: Path) -> tuple[list[Reading], list[Parts]]:
    path = tmp_path / "cluster.yaml"
    path.write_text(ours.spec_of("eos"))
    tors = [each for each in ours.switches_of(path) if each.tier is TierName.TOR]
    readings = [back_ends.load("eos").read(back_ends.load("eos").render(each)) for each in tors]
    return readings, [split_facts(each) for each in readings]


def test_similar_devices_share_one_frame_and_keep_their_own_facts(tmp_path: Path) -> None:
    readings, parts = _read_tors(tmp_path)
    assert len(parts) == 16
    assert len({id(each.frame) for each in parts}) == 1
    assert [list(each.facts().items()) for each in parts] == [list(each.facts.items()) for each in readings]
    assert len({tuple(each.values) for each in parts}) == len(parts)


def test_facts_are_sorted_by_what_they_are_about() -> None:
    facts = {
        "interface[Ethernet1]/mtu": 9100, "interface[Ethernet1]/secondary[10.0.0.9/24]": "true",
        "interface[Ethernet1]/ipv4": "10.0.0.1/31", "bgp/neighbor[10.0.0.0]/remote_asn": 7,
        "vrf[RED]/bgp/neighbor[10.0.0.0]/bfd": "true", "bgp/neighbor[Ethernet2]/bfd": "true",
        "bgp/aggregate[10.1.0.0/16]": "summary-only", "prefix_list[OWN]/0": "10.1.0.0/16", "odd": 1,
    }  # fmt: skip
    parts = split_facts(Reading(facts, {"odd": ("config", 4), "bgp/aggregate[10.1.0.0/16]": ("config", 0)}))
    assert parts.facts() == facts
    assert parts.ports() == {
        "Ethernet1": {"mtu": 9100, "secondary[10.0.0.9/24]": "true", "ipv4": "10.0.0.1/31"}
    }
    assert parts.sessions() == {
        ("", "10.0.0.0"): {"remote_asn": 7}, ("RED", "10.0.0.0"): {"bfd": "true"}, ("", "Ethernet2"): {"bfd": "true"}
    }  # fmt: skip
    rest = parts.rest()
    assert rest.facts == {
        "bgp/aggregate[10.1.0.0/16]": "summary-only", "prefix_list[OWN]/0": "10.1.0.0/16", "odd": 1
    }  # fmt: skip
    assert rest.lines == {"odd": ("config", 4)}


def test_a_setting_that_differs_is_another_frame(tmp_path: Path) -> None:
    (one, *_), (parts, *_) = _read_tors(tmp_path)
    path = next(path for path in one.facts if path.endswith("/mtu"))
    other = split_facts(Reading(one.facts | {path: 1500}, one.lines))
    assert other.frame is not parts.frame
    named = next(path for path in one.facts if path.endswith("/description"))
    assert split_facts(Reading(one.facts | {named: "to nobody"}, one.lines)).frame is parts.frame
