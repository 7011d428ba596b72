"""`confgraph` (PyPI), where it is installed, finds no reference to nothing in what is rendered."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.nxos import FILE, NXOS
from tests.back.nos.nxos.variants import VARIANTS, variant

if TYPE_CHECKING:
    from pathlib import Path

CONFGRAPH = shutil.which("confgraph")
pytestmark = pytest.mark.skipif(CONFGRAPH is None, reason="confgraph is not installed")
# What it misreads in 0.3.8: the type of a class for its name, and community lists with sequence numbers.
MISREAD = ("class_map 'type'", "community_list")


def dangling_names(text: str, folder: Path) -> list[str]:
    """Return its errors, without those it misreads."""
    assert CONFGRAPH is not None
    (folder / "device.cfg").write_text(text, encoding="utf-8")
    command = [CONFGRAPH, "map", "--os", "nxos", "--lint", "device.cfg"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "OS: nxos" in ran.stderr, ran.stderr
    errors = re.findall(r"\[ERROR\] (.*)", ran.stdout)
    return [error for error in errors if not any(word in error for word in MISREAD)]


@pytest.mark.parametrize("name", VARIANTS)
def test_no_reference_leads_nowhere(name: str, tmp_path: Path) -> None:
    assert dangling_names(NXOS.render(variant(name))[FILE], tmp_path) == []


@pytest.mark.parametrize(
    "line", ["  match ip address prefix-list FABRIC-V4\n", "      route-map FROM-UPSTREAM in\n"]
)
def test_a_reference_to_nothing_would_be_found(line: str, tmp_path: Path) -> None:
    text = NXOS.render(variant("cloudscale/numbered"))[FILE]
    assert line in text
    renamed = re.sub(r"(FABRIC-V4|FROM-UPSTREAM)", "NOTHING", line)
    assert dangling_names(text.replace(line, renamed), tmp_path)
