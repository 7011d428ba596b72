"""Inventories, edited and compared."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.review.diff.inputs import open_inputs
from fabricc.review.diff.run import compare_sides
from tests.review.diff.forge import Forge, git

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.review.diff.model import Review

INVENTORIES = Path(__file__).parents[3] / "inventories"
Edit = tuple[str, str]


class Bench:
    """Copies of an inventory and their comparison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spec(self, inventory: str, side: str, *edits: Edit, more: str = "", lock: bool = True) -> Path:
        """A copy with texts replaced, each of which must be there, and lines appended."""
        folder = self.folder / side
        shutil.copytree(INVENTORIES / inventory, folder)
        path = folder / "cluster.yaml"
        text = path.read_text("utf-8")
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text + more, "utf-8")
        if not lock:
            (folder / "fabricc.lock").unlink()
        return path

    def review(self, inventory: str, *edits: Edit, more: str = "") -> Review:
        """Return what the edits do to the inventory."""
        return compare_specs(self.spec(inventory, "base"), self.spec(inventory, "head", *edits, more=more))


def compare_specs(base: Path, head: Path) -> Review:
    with open_inputs(base, head, None, None) as sides:
        return compare_sides(sides.base, sides.head, sides.context, 1)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def fabricc(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = run([*arguments])
        streams = capsys.readouterr()
        return status, streams.out, streams.err

    return call


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what `init` and `build` write for eight hosts, committed and pushed."""
    folder = tmp_path_factory.mktemp("forge")
    author = folder / "author"
    assert run(["init", str(author)]) == 0
    spec = author / "cluster.yaml"
    text = spec.read_text("utf-8")
    for many, few in (
        ("hosts: 64\n", "hosts: 8\n"),
        ("capacity: 128 ", "capacity: 32 "),
        ("_unit: 32 ", "_unit: 4 "),
    ):
        assert many in text
        text = text.replace(many, few)
    spec.write_text(text, "utf-8")
    assert run(["build", str(author / "cluster.yaml"), "-o", str(author / "build")]) == 0
    git(folder, "init", "-q", "--bare", "-b", "main", str(folder / "bare.git"))
    git(folder, "init", "-q", "-b", "main", str(author))
    git(author, "remote", "add", "origin", "../bare.git")
    git(author, "add", "-A")
    git(author, "commit", "-qm", "start")
    git(author, "push", "-q", "origin", "main")
    git(author, "checkout", "-qb", "topic")
    return folder


@pytest.fixture
def forge(started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forge:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("author", "bare.git"):
        shutil.copytree(started / name, tmp_path / name, symlinks=True)
    found = Forge(tmp_path)
    found.checkout()
    return found
