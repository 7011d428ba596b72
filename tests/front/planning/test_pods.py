"""Pods of different numbers of units, and a last pod that is nearly empty."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.front.planning.support import fabric_of, make_document, planned
from tests.front.planning.test_growth import find_identity

CORES = {"model": "sn5400", "nos": "frr"}


def pods_of(units: int, pods: Any, **gpus: Any) -> dict[str, Any]:
    """Units of four hosts, in pods."""
    spines = {"units_per_pod": pods, "oversubscription": 2}
    gpus = {"hosts": 4 * units, "hosts_per_unit": 4, "wiring": "rail", **gpus}
    return make_document(gpus=gpus, spines=spines, cores=CORES)


def test_each_pod_has_the_units_that_the_spec_lists() -> None:
    fabric = fabric_of(pods_of(12, [3, 4, 2, 3]))
    pods = [coordinate // fabric.shape.units_per_pod for coordinate in fabric.units]
    assert [pods.count(pod) for pod in range(4)] == [3, 4, 2, 3]
    assert [unit.name for unit in fabric.units.values()][2:4] == ["su003", "su005"]
    assert fabric.counts()["spines"] == 4 * fabric.shape.spines
    assert fabric.counts()["tors"] == 12 * 8


def test_equal_pods_may_be_listed() -> None:
    assert find_identity(fabric_of(pods_of(8, [4, 4]))) == find_identity(fabric_of(pods_of(8, 4)))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_pods_that_grow_renumber_nothing(data: st.DataObject) -> None:
    """A pod takes the numbers that it left free, and further pods those after the last."""
    pods = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(lambda sizes: [*sizes, 4]))
    before = planned(pods_of(data.draw(st.integers(1, sum(pods))), pods, capacity=256))
    assert before.fabric is not None, before.diagnostics
    for _ in range(2):
        pods = [data.draw(st.integers(size, 4)) for size in pods] + data.draw(
            st.lists(st.integers(1, 4), max_size=1)
        )
        units = data.draw(st.integers(len(before.fabric.units), sum(pods)))
        after = planned(pods_of(units, pods), before.lock)
        assert after.fabric is not None, after.diagnostics
        old, new = find_identity(before.fabric), find_identity(after.fabric)
        assert {key: new.get(key) for key in old} == old
        before = after
        assert before.fabric is not None


def test_more_units_than_listed_are_refused_with_a_list_that_holds_them() -> None:
    (problem,) = planned(pods_of(12, [3, 4])).diagnostics
    assert problem.code == "FAB3058"
    found = re.search(r"`units_per_pod: \[(.*)\]` holds", problem.help)
    assert found
    more = [int(number) for number in found[1].split(", ")]
    assert more == [3, 4, 4, 1]
    assert len(fabric_of(pods_of(12, more)).units) == 12


@pytest.mark.parametrize("first", [pods_of(6, 3), pods_of(6, [3, 3])])
def test_larger_pods_than_the_lock_has_numbers_for_are_refused(first: dict[str, Any]) -> None:
    before = planned(first)
    (problem,) = planned(pods_of(8, [4, 4]), before.lock).diagnostics
    assert (problem.code, "units_per_pod to 3" in problem.message) == ("FAB3020", True)


def test_pods_are_not_resized_silently() -> None:
    before = planned(pods_of(8, 4))
    (problem,) = planned(pods_of(8, [3, 4, 4]), before.lock).diagnostics
    assert problem.code == "FAB3020"


@pytest.mark.parametrize(
    ("units", "ratio", "reported"), [(5, 1, "3 takes 8"), (8, 2, "4 takes 4"), (14, 4, "5 takes 8")]
)
def test_a_nearly_empty_last_pod_is_reported_with_the_number_that_takes_fewer_switches(
    units: int, ratio: int, reported: str
) -> None:
    gpus = {"hosts": 32 * units, "hosts_per_unit": 32}
    spec = make_document(gpus=gpus, spines={"oversubscription": ratio}, cores=CORES)
    result = planned(spec)
    assert result.fabric is not None
    (note,) = [d for d in result.diagnostics if d.code == "FAB3059"]
    found = re.search(r"`spines\.units_per_pod: (\d+)` takes (\d+) switches less", note.help)
    assert found
    assert f"{found[1]} takes {found[2]}" == reported
    spec["spines"]["units_per_pod"] = int(found[1])
    counts, other = result.fabric.counts(), fabric_of(spec).counts()
    assert counts["spines"] + counts["cores"] - other["spines"] - other["cores"] == int(found[2])


def test_uplinks_that_divide_badly_are_reported_with_the_number_that_takes_fewer_switches() -> None:
    box = {"model": "sn5600", "nos": "frr", "uplink_gbps": 400}
    spec = make_document(
        gpus={"hosts": 296, "hosts_per_unit": 37}, tors=box, spines={**box, "oversubscription": 2},
        cores={"model": "sn5600", "nos": "frr"},
    )  # fmt: skip
    result = planned(spec)
    assert result.fabric is not None
    (note,) = [d for d in result.diagnostics if d.code == "FAB3060"]
    found = re.search(r"`tors\.uplinks: (\d+)` takes (\d+) switches less", note.help)
    assert found
    spec["tors"] |= {"uplinks": int(found[1])}
    counts, other = result.fabric.counts(), fabric_of(spec).counts()
    assert counts["spines"] + counts["cores"] - other["spines"] - other["cores"] == int(found[2]) > 0
    assert not [d for d in planned(spec, result.lock).diagnostics if d.code == "FAB3060"]


def test_a_pod_too_large_for_the_pinned_spines_names_a_number_that_serves_it() -> None:
    def pod(count: int) -> dict[str, Any]:
        spec = pods_of(10, 5, hosts_per_unit=4)
        spec["spines"]["count"] = count
        return spec

    (refused,) = [each for each in planned(pod(2)).diagnostics if each.code == "FAB3010"]
    assert "the pinned spines do not serve a pod of 5 units with 4 uplinks" in refused.message
    served, most = re.findall(r"`spines.count: (\d+)`|has (\d+) units?\.", refused.help)
    assert planned(pod(int(served[0]))).fabric is not None
    smaller = pod(2)
    smaller["spines"]["units_per_pod"] = int(most[1])
    assert planned(smaller).fabric is not None


def apply_keys(spec: dict[str, Any], sentence: str) -> dict[str, Any]:
    """Return a copy of a spec with the keys that a remedy names."""
    changed = copy.deepcopy(spec)
    for section, key, number in re.findall(r"`(?:(\w+)\.)?(\w+): (\d+)`", sentence):
        (changed[section] if section else changed)[key] = int(number)
    return changed


SN5600 = {"model": "sn5600", "nos": "frr"}


@pytest.mark.parametrize(
    ("model", "per_unit", "pod", "box", "more"),
    [
        ("hgx-2x200", 4, 4, CORES, {}),
        ("hgx-2x200", 32, 64, SN5600, {"rails": 1}),
        ("dgx-h100", 32, 40, SN5600, {}),
        ("dgx-b300-2x400", 32, 24, SN5600, {"rails": 1}),
    ],
)
def test_a_pod_too_large_names_uplinks_and_planes_with_which_it_fits(
    model: str, per_unit: int, pod: int, box: dict[str, Any], more: dict[str, Any]
) -> None:
    gpus = {"model": model, "hosts": 2 * pod * per_unit, "hosts_per_unit": per_unit}
    spec = make_document(gpus=gpus, tors=box, spines={**box, "units_per_pod": pod, **more}, cores=box)
    (refused,) = [each for each in planned(spec).diagnostics if each.code == "FAB3010"]
    remedies = [each for each in refused.help.split(" a pod.") if "fits:" in each]
    assert len(remedies) == 2
    for remedy in remedies:
        fabric = fabric_of(apply_keys(spec, remedy))
        assert fabric.shape.units_per_pod == pod
        assert f"fits: {fabric.shape.planes} set" in remedy


def test_a_pod_that_no_other_key_serves_names_none() -> None:
    text = pods_of(1200, 600, hosts_per_unit=4)
    (refused,) = [each for each in planned(text).diagnostics if each.code == "FAB3010"]
    assert "fits" not in refused.help.partition("The largest")[0]


def test_a_wrong_number_of_cores_names_one_that_joins_the_pods() -> None:
    spines = {**SN5600, "units_per_pod": 4}
    gpus = {"model": "dgx-h100", "hosts": 512, "hosts_per_unit": 16}
    spec = make_document(gpus=gpus, tors=SN5600, spines=spines, cores={**SN5600, "count": 3})
    (refused,) = [each for each in planned(spec).diagnostics if each.code == "FAB3012"]
    assert refused.message.startswith("3 cores of NVIDIA SN5600 (64 ports) cannot join 8 pods")
    assert fabric_of(apply_keys(spec, refused.help)).counts()["cores"] == 32


def test_units_without_spines_are_counted_before_another_size_is_tried() -> None:
    gpus = {"model": "dgx-h100", "hosts": 32, "hosts_per_unit": 16, "wiring": "rack", "rails_per_tor": 0}
    (refused,) = planned(make_document(gpus=gpus, tors=SN5600, spines=None)).diagnostics
    assert refused.message.startswith("without spines 2 units are 2 islands")
    assert "`gpus.hosts_per_unit: 8` and `spines: {model: sn5600, nos: …}` joins 4 units" in refused.help
    assert "peer_links" not in refused.help


@pytest.mark.parametrize("count", [2, None])
def test_larger_pods_are_named_with_the_number_of_cores_that_joins_them(count: int | None) -> None:
    tors, spines = {"model": "9364d-gx2a", "nos": "frr"}, {"count": 8, "units_per_pod": 1}
    gpus = {"model": "dgx-b300", "hosts": 1024, "hosts_per_unit": 8}
    cores = {"model": "sn4700", "nos": "frr", **({"count": count} if count else {})}
    spec = make_document(gpus=gpus, tors=tors, spines={**tors, **spines}, cores=cores) | {"planes": 2}
    (refused,) = [each for each in planned(spec).diagnostics if each.code == "FAB3012"]
    assert "`spines.units_per_pod: 4` makes them fewer" in refused.help
    assert ("cores.count" in refused.help) is bool(count)
    assert fabric_of(apply_keys(spec, refused.help)).shape.units_per_pod == 4


def test_one_core_that_fits_is_named_in_the_singular() -> None:
    gpus = {"model": "dgx-b300", "hosts": 2, "hosts_per_unit": 1}
    spines = {**SN5600, "rails": 1, "units_per_pod": 1, "uplink_gbps": 400}
    tors = {**SN5600, "uplink_gbps": 400}
    spec = make_document(gpus=gpus, tors=tors, spines=spines, cores={**SN5600, "count": 2}) | {"planes": 4}
    (refused,) = [each for each in planned(spec).diagnostics if each.code == "FAB3012"]
    assert refused.message.endswith("join 2 pods of 8 sets of 1 spine with 1 uplink each")
    assert refused.help == "Per plane, 1 core fits, 1 x 1: `cores.count: 1`."
