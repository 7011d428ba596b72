"""Messages of `lab` during its work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.operate.lab import lifecycle
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]


def test_progress_lines_are_printed_immediately_without_a_terminal(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def up(*_: object, progress: Callable[[str, int, int], None], **__: object) -> None:
        for done in range(3):
            progress("namespaces", done + 1, 3)
        progress("switches", 0, 6)
        progress("switches", 6, 6)
        raise LabError("FAB8010", "a switch does not boot")

    monkeypatch.setattr(lifecycle, "boot_lab", up)
    ran = fabricc("lab", "up", "cluster.yaml")
    assert ran.out == ""
    assert ran.err.splitlines()[:2] == ["starting 3 namespaces", "starting 6 switches"]
    assert "FAB8010" in ran.err
