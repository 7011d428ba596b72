"""Numbers in text that others wrote never end in an error of `int`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fabricc
from fabricc.back.nos.frr.foreign.igp import TYPES
from fabricc.base.numbers import is_number, natural_key, whole_number
from fabricc.catalog.support import release_numbers
from fabricc.fabric.vocabulary import Row
from fabricc.operate.devices.getter_types import KindError, accept_number
from fabricc.operate.drivers.lossless import sum_classes
from fabricc.review.diff.fact_impact import OUTSIDE, DeviceStates, change_direction

LONG = "9" * 5000
NOT_NUMBERS = ("", "²", "①", "٣", "-1", "+1", " 1", "1 ", "1_0", LONG, "1" * 19)


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_invalid_number_texts_are_rejected(text: str) -> None:
    assert not is_number(text)
    assert whole_number(text) is None


def test_the_longest_number_has_18_digits() -> None:
    assert whole_number("9" * 18) == 10**18 - 1
    assert whole_number("007") == 7


def test_names_with_many_digits_are_sorted() -> None:
    names = ["swp10", "swp2", f"swp{LONG}", f"swp1{LONG}", "swp0009", "swp11"]
    assert sorted(names, key=natural_key) == [
        "swp2",
        "swp0009",
        "swp10",
        "swp11",
        f"swp{LONG}",
        f"swp1{LONG}",
    ]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_numbers_of_devices(text: str) -> None:
    assert sum_classes({text: 5, "3": 2}, {3}) == 2
    assert TYPES["area"](text) is None
    entry = f"prefix_list[X{OUTSIDE}10.0.0.0]"
    row = Row("", "", "", None, {"leak": ""}, "", "", frozenset(), frozenset())
    assert change_direction(entry, f"10.0.0.0/{text}", "10.0.0.0/8 ge 9", DeviceStates({}, {}), row) == "-"


@pytest.mark.parametrize("value", ["--5", "-", "5-", "²", "٣", LONG, 10**20, float("inf"), float("nan")])
def test_a_count_of_a_device_that_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(KindError):
        accept_number(value, "here")


def test_counts_of_a_device() -> None:
    assert [accept_number(value, "here") for value in ("-5", "18446744073709551615", 7, None)] == [
        -5,
        2**64 - 1,
        7,
        -1,
    ]


def test_a_release_with_many_digits_is_ordered() -> None:
    assert release_numbers(f"4.{LONG}")[0] == 4


def test_digits_are_requested_in_one_place() -> None:
    source = Path(fabricc.__file__).parent
    asking = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"\.is(?:digit|decimal|numeric)\b", path.read_text("utf-8"))
    }
    assert asking == {"base/numbers.py", "base/documents/composer.py"}, "use fabricc.base.numbers.is_number"
