from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import fabricc  # noqa: F401 - a fixture
from tests.operate.push.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals of one test are none of another's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    found.direct = True
    yield found
    found.stop()
