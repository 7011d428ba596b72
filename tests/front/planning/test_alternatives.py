"""Other shapes for the same hosts: closed forms are what the planner plans, and what is listed no other betters."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.front.planning import plan_fabric
from fabricc.front.planning.alternatives import find_alternatives, is_better, list_candidates, own_shape
from fabricc.front.planning.hosts import MEDIA, with_host_cable
from fabricc.front.spec.canonical import edit_text
from fabricc.front.spec.load import read_spec
from fabricc.front.spec.lock import EMPTY_LOCK
from fabricc.paperwork.materials import list_materials
from fabricc.review.report.failures import single_failures
from tests.front.planning.support import CATALOG, AnyNos, make_document, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.alternatives import Candidate
    from fabricc.front.spec.model import ClusterSpec

SHAPES: dict[str, dict[str, Any]] = {
    "one unit": {"gpus": {"hosts": 6, "hosts_per_unit": 8}},
    "a last unit in part": {"gpus": {"hosts": 50, "hosts_per_unit": 16}},
    "two ports to a NIC": {"gpus": {"model": "hgx-2x200", "hosts": 40, "hosts_per_unit": 16}},
    "room declared": {"gpus": {"hosts": 48, "hosts_per_unit": 16, "capacity": 200}},
    "three tiers": {"gpus": {"hosts": 72, "hosts_per_unit": 8}, "cores": {"model": "sn5400", "nos": "frr"}},
    "racks": {"gpus": {"wiring": "rack", "hosts": None, "hosts_per_unit": None, "racks": 9, "hosts_per_rack": 2}},
    "no spines": {"gpus": {"hosts": 4, "hosts_per_unit": 8, "rails_per_tor": 0}, "spines": None},
    "two groups": {
        "gpus": {"model": None, "hosts": None, "hosts_per_unit": None, "groups": [
            {"name": "old", "model": "dgx-a100", "hosts": 20, "hosts_per_unit": 8},
            {"name": "new", "model": "dgx-a100", "hosts": 9, "hosts_per_unit": 4},
        ]},
    },
    "border leaves": {"tors": {"border": 3}, "gpus": {"hosts": 40, "hosts_per_unit": 16}},
    "many border leaves": {"tors": {"border": 11}, "gpus": {"model": "hgx-2x200", "hosts": 40, "hosts_per_unit": 16}},
    "border leaves in pods": {
        "gpus": {"hosts": 72, "hosts_per_unit": 8}, "cores": {"model": "sn5400", "nos": "frr"},
        "tors": {"border": 2, "border_links": 1},
    },
    "border leaves beside two groups": {
        "gpus": {"model": None, "hosts": None, "hosts_per_unit": None, "groups": [
            {"name": "old", "model": "dgx-a100", "hosts": 20, "hosts_per_unit": 8},
            {"name": "new", "model": "dgx-a100", "hosts": 9, "hosts_per_unit": 4},
        ]},
        "tors": {"border": 2},
    },
    "counts pinned": {"tors": {"uplinks": 32}, "spines": {"count": 32}},
}  # fmt: skip
OTHERS = (
    "room declared",
    "many border leaves",
    "border leaves in pods",
    "border leaves beside two groups",
    "counts pinned",
)
"""Shapes that join what others have; for the long run."""
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in OTHERS)) for name in SHAPES]


def plan_spec(spec: ClusterSpec) -> Fabric | None:
    return plan_fabric(spec, CATALOG, EMPTY_LOCK, AnyNos()).fabric


def find_candidates(spec: ClusterSpec, text: dict[str, Any]) -> list[Candidate]:
    """Candidates of a few models, so that all of them can be planned."""
    few = replace(
        CATALOG, switches={name: CATALOG.switches[name] for name in ("sn5400", "sn5600", "sn4700", "7808r3")}
    )
    return list(list_candidates(spec, few, AnyNos()))


@cache
def planned(name: str) -> tuple[dict[str, Any], list[Candidate], Callable[[ClusterSpec], Fabric | None]]:
    """The text of a shape, its candidates, and a planner that has planned them already."""
    text = make_document(**SHAPES[name])
    pool = find_candidates(spec_of(text), text)
    fabrics = {id(each.spec): plan_spec(each.spec) for each in pool}
    return text, pool, lambda spec: fabrics[id(spec)] if id(spec) in fabrics else plan_spec(spec)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_listed_alternatives_equal_a_brute_force_search(name: str) -> None:
    _, pool, fabric_of = planned(name)
    listed = find_alternatives(pool, fabric_of, AnyNos())
    assert listed.best
    built = [each for each in pool if fabric_of(each.spec) is not None]
    assert_best(listed.best, built)
    assert len(listed.best) + listed.bettered <= len(pool)


def assert_best(listed: Any, built: list[Candidate]) -> None:
    """The listed measures are those of the candidates that no other of all, or of the spec's own models, betters."""

    def front(among: list[Candidate]) -> set[Any]:
        measures = {each.measure() for each in among}
        return {mine for mine in measures if not any(is_better(other, mine) for other in measures)}

    mine = [each for each in built if each.own]
    assert {each.candidate.measure() for each in listed} == front(built) | front(mine)


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [2, 3, 5])
def test_rejected_shape_hides_no_alternative(refuses: int) -> None:
    _, pool, fabric_of = planned("a last unit in part")

    def allowed(spec: ClusterSpec) -> bool:
        return (len(spec.tors.model) + spec.planes + spec.gpus.groups[0].hosts_per_unit) % refuses != 0

    picky: Callable[[ClusterSpec], Fabric | None] = lambda spec: fabric_of(spec) if allowed(spec) else None  # noqa: E731
    listed = find_alternatives(pool, picky, AnyNos())
    assert_best(listed.best, [each for each in pool if picky(each.spec) is not None])


@pytest.mark.spread
@pytest.mark.parametrize("name", NAMES)
def test_closed_forms_are_what_is_planned(name: str) -> None:
    _, pool, fabric_of = planned(name)
    for each in pool:
        if (fabric := fabric_of(each.spec)) is None:
            continue
        figures, counts = each.figures, fabric.counts()
        assert own_shape(each.spec, fabric).figures == figures
        assert {tier.value + "s": count for tier, count in figures.switches.items()} == {
            key: counts[key] for key in ("tors", "spines", "cores") if counts[key]
        }
        assert {kind: ends.links for kind, ends in figures.ends.items()} == {
            kind: counts[f"{kind}_cables"] for kind in ("host", "spine", "core") if counts[f"{kind}_cables"]
        }
        assert figures.cut == max(
            lost.gpus_cut for lost in single_failures(fabric, hashed=False) if lost.device
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_optics_and_idle_ports_are_those_of_the_devices(name: str) -> None:
    fibre = {"medium": "smf", "length_m": 40}
    text = make_document(**SHAPES[name], cables={"host": fibre, "spine": fibre, "core": fibre})
    for each in find_candidates(spec_of(text), text)[::9]:
        if (fabric := plan_spec(each.spec)) is None:
            continue
        idle = sum(not port.peer for at in fabric.switch_ids() for port in fabric.switch(at).ports)
        assert each.figures.idle == idle
        bought = list_materials(fabric)
        if not bought.lacking and not bought.torn:
            modules = sum(number for item, number in bought.bill.items() if item.item == "transceiver")
            assert each.figures.optics == modules


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one unit", "a last unit in part", "two ports to a NIC", "three tiers"])
def test_room_is_what_can_be_added_to_the_switches_above(name: str) -> None:
    _, pool, fabric_of = planned(name)
    for each in pool[::3]:
        if fabric_of(each.spec) is None or len(each.figures.switches) == 1:
            continue
        group = each.spec.gpus.groups[0]

        def with_hosts(hosts: int, each: Candidate = each, group: Any = group) -> Fabric | None:
            spec = replace(each.spec, gpus=replace(each.spec.gpus, groups=(replace(group, hosts=hosts),)))
            assert each.models.spine is not None
            counts = each.sized.shape
            pinned = {"links_per_spine": counts.links_per_spine}
            if counts.cores:
                pinned |= {"units_per_pod": counts.units_per_pod, "links_per_core": counts.links_per_core,
                           "spines_per_core_group": counts.spines_per_core_group}  # fmt: skip
            grown = replace(EMPTY_LOCK, strides=pinned)
            return plan_fabric(spec, CATALOG, grown, AnyNos()).fabric

        room = each.figures.room
        full = with_hosts(room)
        if full is None:  # pools are smaller than that
            continue
        assert full.shape.spines == each.sized.shape.spines
        assert full.shape.cores == each.sized.shape.cores
        assert with_hosts(room + 1) is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.spread
def test_a_shape_that_is_written_plans_as_it_is_listed(name: str) -> None:
    text, pool, fabric_of = planned(name)
    for each in find_alternatives(pool, fabric_of, AnyNos()).best:
        changed = edit_text(json.dumps(text, indent=1), "spec.yaml", each.candidate.changes)
        again = read_spec(changed.encode(), "spec.yaml")
        assert again.spec is not None, [d.message for d in again.diagnostics]
        fabric = plan_spec(again.spec)
        assert fabric is not None
        assert (fabric.shape, fabric.counts()) == (each.fabric.shape, each.fabric.counts())
        assert {tier: plan_.model.name for tier, plan_ in fabric.tiers.items()} == {
            tier: plan_.model.name for tier, plan_ in each.fabric.tiers.items()
        }


def test_the_host_cable_of_a_shape_is_the_one_of_its_plan() -> None:
    """A copper cable joins whole ports of 800G; where planes split them, only fibre does."""
    tier = {"model": "sn5600", "nos": "frr"}
    gpus = {"model": "dgx-b300", "hosts": 32, "hosts_per_unit": 16}
    spec = spec_of(make_document(gpus=gpus, tors=tier, spines=tier))
    own = plan_spec(spec)
    assert own is not None
    shapes = find_candidates(with_host_cable(spec, own.cable_kinds["host"]), {})
    planned = [
        (each.spec.cables.host, fabric) for each in shapes if (fabric := plan_spec(each.spec)) is not None
    ]
    assert planned
    assert all(cable == fabric.cable_kinds["host"] for cable, fabric in planned)
    assert len({cable.medium for cable, _ in planned}) > 1


def test_the_first_medium_is_the_default_of_the_schema() -> None:
    spec = spec_of(make_document())
    assert MEDIA[0] == spec.cables.host.medium
