"""Values behave as the standard library's frozen dataclasses do, and nobody changes one."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
import typing
from pathlib import Path
from typing import NamedTuple

import pytest

from fabricc.base.values import attribute_names, dataclass, replace

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    ports: tuple[int, ...] = ()
    noted: str = dataclasses.field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    name: str
    ports: tuple[int, ...] = ()
    noted: str = dataclasses.field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lone:
    name: str


@dataclass(slots=True)
class Tally:
    """Not frozen, with every kind of attribute that the product uses."""

    name: str
    seen: list[int] = dataclasses.field(default_factory=list)
    kept: dict[str, int] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    total: int = 0

    def __post_init__(self) -> None:
        self.total += len(self.seen)


@dataclass(frozen=True, slots=True)
class Longer(Quick):
    """Extends another one, repeats one of its attributes and has a name that constructors use."""

    ports: tuple[int, ...] = (1,)
    absent: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class StandardLonger(Standard):
    ports: tuple[int, ...] = (1,)
    absent: str | None = None


@dataclass(frozen=True)
class Open:
    """Without slots, a default stays an attribute of the class."""

    name: str = dataclasses.field(default="a", repr=False)
    kept: list[int] = dataclasses.field(default_factory=list)


class Place(NamedTuple):
    """Where it is."""

    row: int
    column: int = 1

    @property
    def shown(self) -> str:
        return f"{self.row}:{self.column}"


class StandardPlace(typing.NamedTuple):
    """Where it is."""

    row: int
    column: int = 1


PAIRS = [("a", (1,), "x"), ("a", (1,), "y"), ("a", (2,), "x"), ("b", (1,), "x")]


@pytest.mark.parametrize("one", PAIRS)
@pytest.mark.parametrize("other", PAIRS)
def test_equality_hash_and_text_are_the_standard_ones(
    one: tuple[str, tuple[int, ...], str], other: tuple[str, tuple[int, ...], str]
) -> None:
    assert (Quick(*one) == Quick(*other)) == (Standard(*one) == Standard(*other))
    assert hash(Quick(*one)) == hash(Standard(*one))
    assert repr(Quick(*one)).removeprefix("Quick") == repr(Standard(*one)).removeprefix("Standard")
    assert dataclasses.replace(Quick(*one), name="c") == Quick("c", one[1])
    assert [f.name for f in dataclasses.fields(Quick)] == [f.name for f in dataclasses.fields(Standard)]


def test_mutable_dataclass_behaves_like_the_standard_one() -> None:
    one, other = Tally("a"), Tally("a", seen=[1, 2], total=5)
    assert (one.name, one.seen, one.kept, one.total) == ("a", [], {}, 0)
    assert one.seen is not Tally("a").seen
    assert (other.seen, other.total) == ([1, 2], 7)
    assert dataclasses.replace(one, name="b").name == "b"
    assert one == Tally("a") != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Tally()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="kept"):
        Tally("a", kept={})  # type: ignore[call-arg]
    assert pickle.loads(pickle.dumps(other)) == other


def test_one_that_goes_on_from_another_is_as_the_standard_one() -> None:
    one, standard = Longer("a", noted="x"), StandardLonger("a", noted="x")
    assert repr(one).removeprefix("Longer") == repr(standard).removeprefix("StandardLonger")
    assert dataclasses.asdict(Longer("b", (2,), "y", "z")) == dataclasses.asdict(
        StandardLonger("b", (2,), "y", "z")
    )
    assert Longer.__match_args__ == StandardLonger.__match_args__
    assert Longer.__slots__ == StandardLonger.__slots__
    assert not hasattr(one, "__dict__")
    reported = [(f.name, f.type, f.default, f.compare) for f in dataclasses.fields(Longer)]
    assert reported == [(f.name, f.type, f.default, f.compare) for f in dataclasses.fields(StandardLonger)]
    assert one == Longer("a") != Quick("a", (1,))
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match=r"Longer.__init__\(\) got an unexpected keyword argument 'other'"):
        Longer("a", other=1)  # type: ignore[call-arg]


def test_one_without_slots_has_its_defaults() -> None:
    assert (Open.name, hasattr(Open, "kept")) == ("a", False)
    assert (Open().name, Open().kept, Open("b", [1]).kept) == ("a", [], [1])
    assert Open().kept is not Open().kept


@pytest.mark.parametrize(
    "value", [Quick("a", (1,), "x"), Standard("a", (1,), "x"), Longer("a"), Open("b", [2])]
)
def test_a_replaced_value_is_as_the_standard_one(value: typing.Any) -> None:
    assert replace(value, name="c") == dataclasses.replace(value, name="c")
    assert type(replace(value)) is type(value)
    assert attribute_names(type(value)) == tuple(field.name for field in dataclasses.fields(value))


def test_replace_resets_fields_without_init() -> None:
    tally = Tally("a")
    tally.kept["x"] = 1
    assert (replace(tally, total=3).kept, replace(tally, total=3).total) == ({}, 3)
    with pytest.raises(TypeError, match="kept"):
        replace(tally, kept={})
    assert attribute_names(int) == ()


def test_a_named_tuple_is_as_the_standard_one() -> None:
    one, standard = Place(3), StandardPlace(3)
    assert repr(one) == repr(standard).removeprefix("Standard")
    assert (one, hash(one), one.row, one.column, one.shown) == ((3, 1), hash(standard), 3, 1, "3:1")
    assert (one._asdict(), Place._fields, Place._field_defaults) == (
        standard._asdict(), StandardPlace._fields, StandardPlace._field_defaults
    )  # fmt: skip
    assert (Place._make([1, 2]), one._replace(column=4), Place(column=2, row=1)) == ((1, 2), (3, 4), (1, 2))
    assert (Place.__doc__, Place.__match_args__) == (StandardPlace.__doc__, StandardPlace.__match_args__)
    assert typing.get_type_hints(Place) == typing.get_type_hints(StandardPlace)
    assert isinstance(pickle.loads(pickle.dumps(one)), Place)
    assert (pickle.loads(pickle.dumps(one)), copy.copy(one)) == (one, one)
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]
    for wrong in (lambda: Place(), lambda: Place(1, 2, 3), lambda: Place(1, other=2)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            wrong()


def test_a_value_equals_none_of_another_class() -> None:
    assert Lone("a") == Lone("a") != Lone("b")
    assert Lone("a") != Standard("a")
    assert hash(Lone("a")) == hash(("a",))


def build_with(folder: Path, frozen: str) -> dict[str, bytes]:
    folder.mkdir()
    spec = ROOT / "inventories/lab-smallest/cluster.yaml"
    (folder / "cluster.yaml").write_text(spec.read_text())
    environment = {**os.environ, "FABRICC_FROZEN": frozen, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "fabricc", "build", "cluster.yaml", "-o", "out"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    files = (path for path in sorted((folder / "out").glob("[!.]*/**/*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_build_with_frozen_values_is_the_same(tmp_path: Path) -> None:
    quick = build_with(tmp_path / "quick", "0")
    assert quick
    assert build_with(tmp_path / "frozen", "1") == quick


def test_imports_survive_a_garbage_collection_at_any_moment() -> None:
    program = "import gc; gc.set_threshold(40); import fabricc.operate.push.start, fabricc.back.hosts"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
