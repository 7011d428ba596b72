"""Cables that are moved in a lab: what is pulled and plugged, and what is refused; without a kernel behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import growth, kernel, state
from fabricc.operate.lab.growth import Row
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.operate.lab.state import Cable
    from fabricc.operate.lab.steady import Network

HEAD = (
    "round,device,port,far_device,far_port,new_device,new_port,new_far_device,new_far_port,least_links_left\n"
)
Ran = list[tuple[str | None, str]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    found: Ran = []

    def batch(lines: Iterable[str], namespace: str | None = None, *, force: bool = False) -> None:
        found.extend((namespace, line) for line in lines)

    def batches(wanted: Mapping[str, Iterable[str]]) -> None:
        for namespace, lines in wanted.items():
            batch(lines, namespace)

    monkeypatch.setattr(kernel, "ip_batch", batch)
    monkeypatch.setattr(kernel, "ip_batches", batches)
    return found


@pytest.fixture
def network(tmp_path: Path) -> Network:
    """The lab of a plan in which two cables of a spine are plugged into each other's ports."""
    found = specs.network(specs.two_tiers(tmp_path / "spec"))
    planned = state.cable_ends(found.fabric.cables())
    one, other = cross_cables(planned)
    cables = tuple(
        {one: cross_cable(one, other), other: cross_cable(other, one)}.get(each, each) for each in planned
    )
    record = state.Record(
        cluster="small", prefix="small-1", spec="cluster.yaml", origin="", units=None, switches=(), hosts=(),
        cables=cables, overlay=(), differences=(), frr="8.4.4",
    )  # fmt: skip
    return replace(found, lab=Lab(tmp_path, record))


def cross_cables(cables: Iterable[Cable]) -> tuple[Cable, Cable]:
    one, other, *_ = sorted(cable for cable in cables if cable[2] == "spine01a")
    return one, other


def cross_cable(cable: Cable, other: Cable) -> Cable:
    return (*cable[:2], *other[2:])


def crossed_rows(network: Network, *rounds: int) -> list[Row]:
    pair = cross_cables(state.cable_ends(network.fabric.cables()))
    return [
        Row(number, cross_cable(one, other), one)
        for number, one, other in zip(rounds, pair, pair[::-1], strict=True)
    ]


def test_all_cables_of_a_round_are_pulled_before_one_is_plugged(network: Network, ran: Ran) -> None:
    assert len(network.unplugged_cables()) == 2
    after = growth.recable_lab(network, crossed_rows(network, 1, 1))
    assert not after.unplugged_cables()
    assert state.load_record(network.lab.folder) == after.lab.record
    plugged = [at for at, (_, line) in enumerate(ran) if "peer name swp" in line]
    dark = [at for at, (_, line) in enumerate(ran) if "peer name d" in line]
    assert len(plugged) == 2
    assert len(dark) == 4, "no port is without an interface"
    assert max(dark) < min(plugged)
    output = len(ran)
    assert growth.recable_lab(after, crossed_rows(network, 1, 1)) == after
    assert not [line for _, line in ran[output:] if "link" in line], "what is done costs nothing"


def test_a_port_comes_up_as_the_plan_has_it(network: Network, ran: Ran) -> None:
    growth.recable_lab(network, crossed_rows(network, 1, 1))
    last = max(at for at, (_, line) in enumerate(ran) if "peer name swp" in line)
    assert ("small-1.spine01a", "link set swp2 mtu 9100") in ran[last:]
    assert ("small-1.spine01a", "link set swp2 up") in ran[last:]


def test_a_round_too_early_is_refused_and_changes_nothing(network: Network, ran: Ran) -> None:
    with pytest.raises(LabError, match="has another") as refused:
        growth.recable_lab(network, crossed_rows(network, 1, 2))
    assert refused.value.diagnostic.code == "FAB9481"
    assert ran == []


def test_a_cable_that_the_plan_has_not_is_refused(network: Network, ran: Ran) -> None:
    with pytest.raises(LabError, match="has no cable from su001-tor1a:swp16 to spine01a:swp16"):
        growth.recable_lab(network, [Row(1, None, ("su001-tor1a", "swp16", "spine01a", "swp16"))])
    assert ran == []


def test_a_worksheet_is_read_and_what_is_none_is_reported(tmp_path: Path) -> None:
    sheet = tmp_path / "recabling.csv"
    sheet.write_text(HEAD + "1,a,p1,b,q1,a,p1,c,q2,0.50\n2,,,,,a,p2,c,q3,0.50\n2,a,p3,b,q2,,,,,0.50\n")
    assert growth.read_worksheet(sheet) == [
        Row(1, ("a", "p1", "b", "q1"), ("a", "p1", "c", "q2")),
        Row(2, None, ("a", "p2", "c", "q3")),
        Row(2, ("a", "p3", "b", "q2"), None),
    ]
    for text in ("port\n1\n", f"{HEAD}one,,,,,,,,,\n", f"{HEAD}1,a\n"):
        sheet.write_text(text)
        with pytest.raises(LabError, match="is not a worksheet of cables") as refused:
            growth.read_worksheet(sheet)
        assert refused.value.diagnostic.code == "FAB9480"


def test_a_spec_that_moves_cables_leaves_them_to_the_worksheet() -> None:
    old = (("a", "p1", "b", "q1"), ("a", "p2", "b", "q2"))
    new = [("a", "p1", "b", "q1"), ("a", "p2", "c", "q1"), ("d", "p1", "c", "q2")]
    assert growth._move_cables(old, new) == (*old, ("d", "p1", "c", "q2"))
