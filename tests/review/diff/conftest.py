"""Inventories, edited and compared."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff.inputs import inputs
from fabricc.review.diff.run import review

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
        """What the edits do to the inventory."""
        return compared(self.spec(inventory, "base"), self.spec(inventory, "head", *edits, more=more))


def compared(base: Path, head: Path) -> Review:
    with inputs(base, head, None, None) as sides:
        return review(sides.base, sides.head, sides.context, 1)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def fabricc(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    from fabricc.cli.entry import run

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = run([*arguments])
        streams = capsys.readouterr()
        return status, streams.out, streams.err

    return call
