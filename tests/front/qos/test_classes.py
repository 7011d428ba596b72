"""Traffic classes cover every code point once, and their weights add up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabricc.front.qos.classes import apportion_shares, traffic_classes
from fabricc.front.spec.model import Priority
from tests.samples import CLASSES

if TYPE_CHECKING:
    from fabricc.fabric.qos import TrafficClass


def make_priority(
    name: str,
    *dscps: int,
    lossless: bool = False,
    strict: bool = False,
    number: int | None = None,
    weight: int | None = None,
    ecn: bool | None = None,
) -> Priority:
    return Priority(name, dscps, lossless, strict, number, weight, ecn)


def by_name(*priorities: Priority) -> dict[str, TrafficClass]:
    return {c.name: c for c in traffic_classes(priorities)}


def find_weights(*priorities: Priority) -> dict[str, int]:
    return {name: c.weight_percent for name, c in by_name(*priorities).items()}


RDMA = make_priority("rdma", 26, lossless=True)
CNP = make_priority("cnp", 48, strict=True)


def test_rdma_and_cnp_make_the_usual_three_classes() -> None:
    assert traffic_classes((RDMA, CNP, make_priority("default"))) == CLASSES


def test_a_missing_default_class_is_added() -> None:
    assert traffic_classes((CNP, RDMA)) == CLASSES


def test_no_default_is_added_when_all_code_points_are_named() -> None:
    whole = [make_priority(f"class-{i}", *range(8 * i, 8 * i + 8)) for i in range(8)]
    assert [c.priority for c in traffic_classes(whole)] == list(range(8))


def test_the_added_default_takes_a_free_name_and_priority() -> None:
    classes = by_name(make_priority("default", 0, 1, lossless=True))
    assert classes["default"].priority == 0
    assert (classes["default-2"].priority, classes["default-2"].dscps) == (1, tuple(range(2, 64)))


def test_priority_and_sending_code_point_follow_the_first_one_listed() -> None:
    storage = by_name(make_priority("storage", 34, 10, lossless=True))["storage"]
    assert (storage.priority, storage.data_dscp, storage.dscps) == (4, 34, (10, 34))
    assert by_name(make_priority("storage", 34, number=5))["storage"].priority == 5


def test_ecn_follows_lossless_unless_stated() -> None:
    classes = by_name(
        RDMA, make_priority("bulk", 10, ecn=True), make_priority("raw", 34, lossless=True, ecn=False)
    )
    assert {name: c.ecn for name, c in classes.items()} == {
        "rdma": True,
        "bulk": True,
        "raw": False,
        "default": False,
    }


def test_cnp_is_the_strict_class_of_that_name_or_of_dscp_48() -> None:
    assert by_name(RDMA, make_priority("control", 48, strict=True))["control"].cnp
    assert not by_name(RDMA, make_priority("control", 48))["control"].cnp
    both = by_name(make_priority("control", 48, strict=True), make_priority("cnp", 46, strict=True))
    assert (both["control"].cnp, both["cnp"].cnp) == (False, True)


def test_weights_without_any_stated() -> None:
    assert find_weights(RDMA, CNP) == {"default": 10, "rdma": 90, "cnp": 0}
    two = find_weights(RDMA, make_priority("storage", 34, lossless=True))
    assert two == {"default": 10, "rdma": 45, "storage": 45}
    lossy = find_weights(RDMA, make_priority("bulk", 10))
    assert lossy == {"default": 5, "bulk": 5, "rdma": 90}
    assert find_weights(make_priority("default")) == {"default": 100}


def test_stated_weights_hold_and_the_rest_is_divided() -> None:
    assert find_weights(make_priority("rdma", 26, lossless=True, weight=60)) == {"default": 40, "rdma": 60}
    mixed = find_weights(make_priority("bulk", 10, weight=50), RDMA)
    assert mixed == {"default": 5, "bulk": 50, "rdma": 45}


def test_weights_stated_for_every_class_are_relative() -> None:
    assert find_weights(make_priority("rdma", 26, weight=60), make_priority("default", weight=30)) == {
        "default": 33,
        "rdma": 67,
    }


@pytest.mark.parametrize(
    ("priorities", "message"),
    [
        ((RDMA, make_priority("other", 26)), "DSCP 26 is in both 'rdma' and 'other'"),
        ((RDMA, make_priority("other", 27)), "'rdma' and 'other' share priority 3"),
        ((RDMA, make_priority("rdma", 8)), "two classes are named 'rdma'"),
        ((make_priority("a"), make_priority("b")), "no code points are left for 'a', 'b'"),
        ((make_priority("a", *range(64)), make_priority("b")), "no code points are left for 'b'"),
        ((make_priority("a", 64),), "DSCP 64"),
        ((make_priority("a", 8, number=8),), "priority 8"),
        ((make_priority("a", 8, weight=100),), "leave 0 percent for default"),
        ((make_priority("a", 8, weight=0),), "less than 1"),
        (
            tuple(make_priority(f"c{i}", 8 * i) for i in range(8)),
            "all eight priorities are taken",
        ),
    ],
)
def test_contradictions_are_refused(priorities: tuple[Priority, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        traffic_classes(priorities)


@st.composite
def draw_requests(draw: st.DrawFn) -> tuple[Priority, ...]:
    numbers = draw(st.lists(st.integers(0, 7), unique=True, max_size=7))
    wanted = [
        Priority(
            name=f"class-{number}",
            dscps=tuple(draw(st.lists(st.integers(8 * number, 8 * number + 7), unique=True, min_size=1))),
            lossless=draw(st.booleans()),
            strict=draw(st.booleans()),
            priority=None,
            weight_percent=draw(st.none() | st.integers(1, 12)),
            ecn=draw(st.none() | st.booleans()),
        )
        for number in numbers
    ]
    return tuple(wanted)


@given(draw_requests())
def test_every_code_point_is_in_one_class_and_weights_add_up(priorities: tuple[Priority, ...]) -> None:
    classes = traffic_classes(priorities)
    assert Counter(dscp for c in classes for dscp in c.dscps) == Counter(range(64))
    assert all(c.data_dscp in c.dscps for c in classes)
    numbers = [c.priority for c in classes]
    assert numbers == sorted(set(numbers))
    shared = [c.weight_percent for c in classes if not c.strict]
    assert sum(shared) == 100
    assert all(weight >= 1 for weight in shared)
    assert all(c.weight_percent == 0 for c in classes if c.strict)


@given(
    st.dictionaries(st.text(max_size=3), st.integers(1, 1000), min_size=1, max_size=8), st.integers(8, 200)
)
def test_apportioning_is_exact_and_near_to_proportion(shares: dict[str, int], total: int) -> None:
    parts = apportion_shares(shares, total)
    assert sum(parts.values()) == total
    assert min(parts.values()) >= 1
    exact = {name: total * share / sum(shares.values()) for name, share in shares.items()}
    assume(min(exact.values()) >= 1)
    assert all(abs(parts[name] - exact[name]) < 1 for name in shares)
