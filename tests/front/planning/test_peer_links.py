"""Two ToRs that are joined without spines: counts, links, numbers that stay, and what is rejected."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.fabric.links import switch_links
from fabricc.fabric.model import Direction
from fabricc.front.spec.load import load_spec
from fabricc.front.spec.lock import EMPTY_LOCK
from tests.front.planning.support import fabric_of, make_document, planned
from tests.paired import APART, RACKS, RAILS, compile_paired, paired_fabric

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric

PAIR = {"hosts": 16, "hosts_per_unit": 16, "rails_per_tor": 4}


def pair_spec(**sections: Any) -> dict[str, Any]:
    """A spec of two ToRs with eight links between them."""
    gpus = {**PAIR, **sections.pop("gpus", {})}
    tors = {"model": "sn5600", "peer_links": 8, **sections.pop("tors", {})}
    return make_document(gpus=gpus, tors=tors, spines=None, **sections)


def list_reported(text: dict[str, Any]) -> list[Diagnostic]:
    """Return what is reported of a spec, or of its plan."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(json.dumps(text))
        loaded = load_spec(path)
    return [*loaded.diagnostics, *(planned(text).diagnostics if loaded.spec else ())]


def links_between(found: Fabric) -> dict[tuple[str, str], tuple[str, str]]:
    """The ends of the links between ToRs, from both."""
    ends = {}
    for at in found.switch_ids():
        names = [port.name for port in found.switch(at).ports]
        for link in switch_links(found, at):
            if link.direction is Direction.PEER:
                ends[found.name(at), names[link.slot]] = link.peer, link.peer_port
    return ends


SHAPES = [
    pytest.param({}, 2, 1, id="rails"),
    pytest.param({"gpus": {"hosts_per_unit": 8, "rails_per_tor": 0}}, 2, 1, id="racks"),
    pytest.param({"gpus": {"model": "dgx-b300-2x400"}, "planes": 2}, 4, 2, id="two-planes"),
    pytest.param({"gpus": {"model": "dgx-b300-2x400", "rails_per_tor": 0, "hosts": 8, "hosts_per_unit": 8}}, 2, 1,
                 id="two-ports"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "tors", "planes"), SHAPES)
def test_each_plane_has_two_tors_whose_links_meet(words: dict[str, Any], tors: int, planes: int) -> None:
    found = fabric_of(pair_spec(**words))
    counts = found.counts()
    assert (counts["tors"], counts["spines"], counts["peer_cables"]) == (tors, 0, 8 * planes)
    assert len(found.planes) == planes
    ends = links_between(found)
    assert len(ends) == 16 * planes
    assert all(ends[far] == near for near, far in ends.items())
    cables = [cable for cable in found.cables() if cable.kind == "peer"]
    assert len(cables) == 8 * planes
    assert {((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in cables} <= ends.items()
    assert all(cable.a_device < cable.b_device for cable in cables)


@pytest.mark.parametrize(("words", "tors", "planes"), SHAPES)
def test_each_link_has_a_subnet_and_both_tors_an_asn_of_their_own(
    words: dict[str, Any], tors: int, planes: int
) -> None:
    found = fabric_of(pair_spec(**words))
    seen = [found.switch(at) for at in found.switch_ids()]
    assert len({switch.bgp.asn for switch in seen}) == tors
    remotes = {switch.name: {each.remote_asn for each in switch.bgp.sessions} for switch in seen}
    own = {switch.name: switch.bgp.asn for switch in seen}
    peers = {near: far for (near, _), (far, _) in links_between(found).items()}
    assert {name: {own[peers[name]]} for name in own} == remotes
    addresses = [each.local for switch in seen for each in switch.bgp.sessions]
    assert len({*addresses}) == 16 * planes


def test_more_links_renumber_nothing() -> None:
    few = planned(pair_spec(tors={"peer_links": 4}))
    assert few.fabric is not None
    before = {(switch.name, port.name): (port.peer, port.ipv4) for at in few.fabric.switch_ids()
              for switch in [few.fabric.switch(at)] for port in switch.ports if port.peer}  # fmt: skip
    many = planned(pair_spec(tors={"peer_links": 16}), few.lock)
    assert many.fabric is not None
    after = {(switch.name, port.name): (port.peer, port.ipv4) for at in many.fabric.switch_ids()
             for switch in [many.fabric.switch(at)] for port in switch.ports if port.peer}  # fmt: skip
    assert before.items() < after.items()
    assert few.lock != EMPTY_LOCK
    assert many.lock == few.lock


def test_the_second_tor_has_the_lower_address_of_each_link() -> None:
    found = fabric_of(pair_spec())
    first, second = (found.switch(at) for at in found.switch_ids())
    pairs = [
        (a.ipv4, b.ipv4)
        for a, b in zip(
            (port for port in first.ports if port.direction is Direction.PEER),
            (port for port in second.ports if port.direction is Direction.PEER),
            strict=True,
        )
    ]
    offsets = [int(str(own).split("/")[0].rpartition(".")[2]) for own, _ in pairs]
    assert all(odd % 2 for odd in offsets), "the second ToR has the even address"
    assert all(late - early == 2 for early, late in pairwise(offsets))


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (pair_spec(gpus={"rails_per_tor": None}), "FAB3062", "rails_per_tor: 4"),
        (pair_spec(gpus={"hosts_per_unit": 4}), "FAB3062", "`spines`"),
        (
            pair_spec(gpus={"rails_per_tor": 0, "hosts": 4, "hosts_per_unit": 4}),
            "FAB3062",
            "rails_per_tor: 4",
        ),
        (pair_spec(gpus={"model": "hgx-2x200"}), "FAB3062", "planes: 2"),
        (pair_spec(gpus={"wiring": "rail-only"}), "FAB3051", "wiring: rail"),
        (pair_spec(tors={"peer_links": 64}), "FAB3007", "peer_links"),
        (pair_spec(gpus={"hosts": 32, "hosts_per_unit": 32}), "FAB3007", "hosts per unit that fits is"),
        (make_document(gpus=PAIR, tors={"model": "sn5600", "peer_links": 8}), "FAB3061", "`spines`"),
        (pair_spec(tors={"uplinks": 8}), "FAB3050", "`spines"),
        (make_document(gpus=PAIR, tors={"model": "sn5600"}, spines=None), "FAB3052", "tors.peer_links"),
        (
            pair_spec(gpus={"hosts_per_unit": 8, "rails_per_tor": 0}, tors={"peer_links": None}),
            "FAB3054",
            "tors.peer_links",
        ),
    ],
)
def test_invalid_peer_links_are_rejected_with_the_key_to_change(
    text: dict[str, Any], code: str, word: str
) -> None:
    found = {each.code: each.help for each in list_reported(text)}
    assert word in found.get(code, ""), found


def test_infiniband_leaves_have_links_between_them_too() -> None:
    text = pair_spec(fabric="infiniband", tors={"model": "qm9700", "nos": None})
    del text["priorities"]
    assert [each.code for each in list_reported(text) if each.code == "FAB5801"] == []


@pytest.mark.parametrize("wiring", [RAILS, RACKS])
def test_headroom_is_that_of_the_cable_between_them(wiring: str) -> None:
    more = "cables: {peer: {length_m: 100}}"
    found = paired_fabric("sonic", wiring=wiring, more=more)
    for at in found.switch_ids():
        switch = found.switch(at)
        lengths = {port.cable_m for port in switch.ports if port.direction is Direction.PEER}
        assert lengths == {100}
        profiles = {port.profile for port in switch.ports if port.direction is Direction.PEER}
        assert min(profile.cable_m for profile in switch.qos.profiles if profile.name in profiles) >= 100


def test_links_between_tors_are_as_long_as_those_to_spines_by_default() -> None:
    found = compile_paired("sonic", more="cables: {spine: {medium: smf, length_m: 70}}").spec
    assert found is not None
    assert (found.cables.peer.medium, found.cables.peer.length_m) == ("smf", 70)


def test_the_pool_of_links_is_in_use_and_overlaps_nothing() -> None:
    assert paired_fabric("sonic").addresses.links4 is not None
    assert paired_fabric("sonic", peers=0, wiring=APART).addresses.links4 is None
    inside = pair_spec(addressing={"links": "10.0.0.0/12"})
    assert [each.code for each in list_reported(inside)] == ["FAB2032"]
