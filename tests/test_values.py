"""Values behave as the standard library's frozen dataclasses do, and nobody changes one."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricc.values import dataclass

ROOT = Path(__file__).parents[1]


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


def test_a_value_equals_none_of_another_class() -> None:
    assert Lone("a") == Lone("a") != Lone("b")
    assert Lone("a") != Standard("a")
    assert hash(Lone("a")) == hash(("a",))


def built(folder: Path, frozen: str) -> dict[str, bytes]:
    folder.mkdir()
    spec = ROOT / "inventories/lab-smallest/cluster.yaml"
    (folder / "cluster.yaml").write_text(spec.read_text())
    environment = {**os.environ, "FABRICC_FROZEN": frozen, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "fabricc", "build", "cluster.yaml", "-o", "out"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    files = (path for path in sorted((folder / "out").glob("[!.]*/**/*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_build_with_frozen_values_is_the_same(tmp_path: Path) -> None:
    quick = built(tmp_path / "quick", "0")
    assert quick
    assert built(tmp_path / "frozen", "1") == quick
