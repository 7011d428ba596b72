"""A folder that holds two files of one device: only the two files are reported, on every system."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.run import audit_fabric
from tests.review.diff.edits import SYSTEMS, built_tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spread
@pytest.mark.parametrize("nos", SYSTEMS)
def test_an_older_copy_of_a_switch_brings_one_finding(nos: str, tmp_path: Path) -> None:
    switches = tmp_path / "switches"
    shutil.copytree(built_tree(nos) / "switches", switches)
    before = {(each.code, each.message) for each in audit_fabric(tmp_path, jobs=1).findings}
    shutil.copytree(switches / "rack001-tor1a", switches / "rack001-tor1a.old")
    for path in (switches / "rack001-tor1a.old").iterdir():
        text = path.read_text("utf-8")
        path.write_text(re.sub(r"\b(42\d{8}|65\d{3})\b", "65499", text).replace("9100", "1500"), "utf-8")
    found = {(each.code, each.message) for each in audit_fabric(tmp_path, jobs=1).findings}
    assert [code for code, _ in found - before] == ["FAB9504"]
    assert before <= found
