"""Repinning changes the least that suffices: what growth did not outgrow keeps its number, and nothing more moves."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fabricc.front.planning import plan_fabric
from fabricc.front.planning.identity.repinning import (
    ChangedParts,
    RepinResult,
    compare_fabrics,
    find_repin,
    find_touched,
    minimal_sets,
)
from tests.effort import scale_examples
from tests.front.planning.support import CATALOG, AnyNos, make_document, planned, spec_of
from tests.front.planning.test_growth import GROWTH, ZONES, find_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning import Plan
    from fabricc.front.spec.lock import Lock

PLAIN = make_document(gpus={"hosts": 56, "hosts_per_unit": 8, "rails_per_tor": 4})
TIGHT = make_document(
    gpus={"hosts": 20, "hosts_per_unit": 5, "rails_per_tor": 2},
    addressing={"hosts": "10.0.0.0/21", "links": "10.1.0.0/20", "loopbacks": "10.2.0.0/24"},
    management={"network": "10.3.0.0/24"},
)
PLANES = make_document(
    gpus={"model": "hgx-2x200", "hosts": 24, "hosts_per_unit": 16},
    planes=2,
    tors={"model": "sn5600", "uplink_gbps": 400},
    spines={"model": "sn5600"},
)
PODS = deepcopy(ZONES)
PODS["gpus"] |= {"racks": 24, "capacity": 48}


def repin_spec(text: dict[str, Any], lock: Lock, *keys: str) -> tuple[Plan, RepinResult | None]:
    spec = spec_of(text)
    return find_repin(
        lock,
        keys,
        lambda pins: plan_fabric(spec, CATALOG, pins, AnyNos()),
        lambda after: find_touched(spec, CATALOG, lock, after.fabric),
    )


def change_spec(spec: dict[str, Any], **sections: Any) -> dict[str, Any]:
    text = deepcopy(spec)
    for name, section in sections.items():
        text[name] = {**text.get(name, {}), **section}
    return text


def find_moved(before: Fabric, after: Fabric) -> set[str]:
    """Return the names of everything that changed, by all that identifies devices, ports and cables."""
    old, new = find_identity(before), find_identity(after)
    return {key for key in old if new.get(key) != old[key]}


def test_one_pin_that_touches_nothing_is_all_that_changes() -> None:
    """56 hosts of 8 GPUs: the strides are as tight as an earlier build left them, and the spines outgrow theirs."""
    eight = change_spec(PLAIN, spines={"count": 8}, tors={"oversubscription": 4})
    first = planned(eight)
    lock = replace(first.lock, strides=dict(first.lock.strides) | {"spine": 8, "unit": 64})
    before = planned(eight, lock)
    assert before.fabric is not None
    more = change_spec(eight, spines={"count": 10})
    refused = planned(more, lock)
    assert refused.fabric is None
    assert "--repin" in refused.diagnostics[0].help
    after, found = repin_spec(more, lock)
    assert found is not None
    assert after.fabric is not None
    assert found.pins.keys() == {"spine"}
    assert found.touched == ChangedParts()
    assert find_moved(before.fabric, after.fabric) == set()
    afresh = planned(more)
    assert afresh.fabric is not None
    assert {
        name for name in find_moved(before.fabric, afresh.fabric) if "host" in name
    }  # what choosing all anew would touch


def test_spines_that_are_full_take_one_pin() -> None:
    first = planned(make_document(gpus={"hosts": 64}))
    after, found = repin_spec(make_document(gpus={"hosts": 256}), first.lock)
    assert found is not None
    assert found.pins == {"links_per_spine": (4, 1)}
    assert first.fabric is not None
    assert after.fabric is not None
    gone = find_moved(first.fabric, after.fabric)
    assert not any("host" in name for name in gone)
    assert found.touched.gpus == 512
    assert found.touched.hosts == 0


def test_repin_without_an_outgrown_pin_changes_nothing() -> None:
    first = planned(PLAIN)
    after, found = repin_spec(PLAIN, first.lock)
    assert (after.lock, found) == (first.lock, RepinResult({}, ChangedParts()))


def test_keys_change_those_pins_and_no_others() -> None:
    first = planned(make_document(gpus={"hosts": 64}))
    more = make_document(gpus={"hosts": 256})
    wanted, found = repin_spec(more, first.lock, "links_per_spine")
    assert found is not None
    assert wanted.lock == repin_spec(more, first.lock)[0].lock
    assert found.requested == ("links_per_spine",)
    _, short = repin_spec(more, first.lock, "unit", "spine")
    assert short is not None
    assert not short.enough
    assert short.pins == {"links_per_spine": (4, 1)}


def test_repin_of_an_impossible_spec_reports_its_errors() -> None:
    first = planned(make_document(gpus={"hosts": 64}))
    after, found = repin_spec(make_document(gpus={"hosts": 8192}), first.lock)
    assert found is None
    assert {d.code for d in after.diagnostics} == {"FAB3009"}


def test_pinned_core_groups_are_not_resized_silently() -> None:
    first = planned(PODS)
    pins = first.lock.strides
    assert pins["spines_per_core_group"] == 8
    odd = replace(first.lock, strides=dict(pins) | {"spines_per_core_group": 5})
    refused = planned(PODS, odd)
    (problem,) = refused.diagnostics
    assert (problem.code, "to 5, which does not divide the 8 spines" in problem.message) == ("FAB3020", True)
    after, found = repin_spec(PODS, odd)
    assert found is not None
    assert after.fabric is not None
    assert found.pins == {"spines_per_core_group": (5, 8)}


def wider_units(spec: dict[str, Any], amount: int) -> None:
    for group in spec["gpus"].get("groups", [spec["gpus"]]):
        for key in ("hosts_per_unit", "hosts_per_rack"):
            if key in group:
                group[key] += min(amount, 4)


def refine_spec(spec: dict[str, Any], amount: int) -> None:
    spec["tors"]["oversubscription"] = 1 + amount / 4


def coarser_pods(spec: dict[str, Any], amount: int) -> None:
    if "cores" in spec:
        spec["spines"]["oversubscription"] = 1 + amount / 4


CHANGES: list[Callable[[dict[str, Any], int], None]] = [*GROWTH, wider_units, refine_spec, coarser_pods]


def all_subsets(keys: Iterator[str] | set[str], most: int) -> Iterator[frozenset[str]]:
    ordered = sorted(keys)
    return map(frozenset, chain.from_iterable(combinations(ordered, size) for size in range(most + 1)))


@pytest.mark.slow
@settings(
    max_examples=scale_examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    base=st.sampled_from([PLAIN, TIGHT, PLANES, PODS]),
    steps=st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(1, 40)), min_size=1, max_size=3),
)
def test_the_least_repin_suffices_and_nothing_less_does(
    base: dict[str, Any], steps: list[tuple[Callable[[dict[str, Any], int], None], int]]
) -> None:
    text = deepcopy(base)
    first = planned(text)
    assert first.fabric is not None
    text["gpus"].pop("capacity", None)
    for change, amount in steps:
        change(text, amount)
    spec = spec_of(text)

    def without(keys: frozenset[str]) -> Plan:
        kept = {name: value for name, value in first.lock.strides.items() if name not in keys}
        return plan_fabric(spec, CATALOG, replace(first.lock, strides=kept), AnyNos())

    def works(keys: frozenset[str]) -> bool:
        pinned = first.lock.strides
        result = without(keys)
        stay = all(result.lock.strides.get(k, v) == v for k, v in pinned.items() if k not in keys)
        return result.fabric is not None and stay

    after, found = repin_spec(text, first.lock)
    if found is None:
        assert not works(frozenset(first.lock.strides))
        return
    assert after.fabric is not None
    pins = {name: value for name, value in after.lock.strides.items() if name in first.lock.strides}
    kept = {name: value for name, value in first.lock.strides.items() if name not in found.pins}
    assert {name: pins[name] for name in kept if name in pins} == {n: v for n, v in kept.items() if n in pins}
    least = frozenset(found.pins)
    assert works(least)
    sufficient = [keys for keys in all_subsets(set(first.lock.strides), 2) if works(keys)]
    assert not any(keys < least for keys in sufficient)
    for keys in sufficient:
        fabric = without(keys).fabric
        if fabric is not None and not any(other < keys for other in sufficient):
            assert found.touched.weight <= find_touched(spec, CATALOG, first.lock, fabric).weight, (
                found,
                keys,
            )
    again, settled = repin_spec(text, after.lock)
    assert settled is not None
    assert (again.lock, settled.pins) == (after.lock, {})


@given(
    conflicts=st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=4), max_size=5),
)
def test_minimal_sets_are_all_of_them(conflicts: list[frozenset[str]]) -> None:
    def hits(chosen: frozenset[str]) -> bool:
        return all(chosen & conflict for conflict in conflicts)

    every = [keys for keys in all_subsets(set("abcdef"), 6) if hits(keys)]
    least = {keys for keys in every if not any(other < keys for other in every)}
    found = minimal_sets("abcdef", hits)
    assert set(found) == least
    assert len(found) == len(least)


@pytest.mark.parametrize(
    "more",
    [
        change_spec(TIGHT, gpus={"hosts": 28, "hosts_per_unit": 9}),
        change_spec(TIGHT, gpus={"hosts": 48}),
        change_spec(PLAIN, gpus={"hosts": 250}),
        change_spec(PLANES, gpus={"hosts": 250}),
        change_spec(PODS, gpus={"racks": 200, "capacity": 400}),
    ],
)
def test_counted_changes_equal_a_comparison_of_all_devices(more: dict[str, Any]) -> None:
    """Counted by links and numbers; the reference compares whole devices of the two fabrics."""
    base = {"10.0.0.0/21": TIGHT, 2: PLANES}.get(
        more.get("addressing", {}).get("hosts", more.get("planes")), PLAIN
    )
    first = planned(PODS if "cores" in more else base)
    after, found = repin_spec(more, first.lock)
    assert found is not None
    assert found.pins
    assert first.fabric is not None
    assert after.fabric is not None
    counted = compare_fabrics(first.fabric, after.fabric)
    others = {key.split()[0] for key in find_moved(first.fabric, after.fabric)}
    hosts = {name for unit in first.fabric.units.values() for name in unit.hosts.values()}
    assert counted.hosts == len(others & hosts)
    assert counted.switches == len(others - hosts)
    assert counted.weight <= found.touched.weight
