"""One arena for all tests of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.arena import Arena

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    folder: Path = tmp_path_factory.mktemp("arena")
    return Arena(folder)
