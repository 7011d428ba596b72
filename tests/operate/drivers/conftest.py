"""Devices that the tests of one module share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab import kernel
from tests.operate.drivers.servers.frr_box import find_missing, frr_boxes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.operate.drivers.servers.frr_box import Box


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Box]]:
    if lacking := find_missing():
        pytest.skip(f"a router with FRR and sshd needs {', '.join(lacking)}")
    with frr_boxes(tmp_path_factory.mktemp("boxes")) as both, kernel.inside_namespace(both[0].namespace):
        yield both
