"""The folders that come with the code are found in a checkout and in a wheel, the wheel's own first."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from fabricc.base import installation

if TYPE_CHECKING:
    from pathlib import Path

INSIDE = {"templates": "eos/running-config.j2", "schemas": "cluster.schema.json", "docs": "check.md"}


@pytest.mark.parametrize("name", INSIDE)
def test_a_checkout_has_it_next_to_the_package(name: str) -> None:
    assert installation.data_folder(name) == installation.PACKAGE.parent / name
    assert (installation.data_folder(name) / INSIDE[name]).is_file()


@pytest.mark.parametrize("name", INSIDE)
def test_a_wheel_carries_it_where_it_is_looked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((installation.PACKAGE.parent / "pyproject.toml").read_text())
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (tmp_path / carried[name]).mkdir(parents=True)
    (tmp_path / name).mkdir()  # folders next to an installed package are not ours
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "fabricc")
    assert installation.data_folder(name) == tmp_path / carried[name]


def test_incomplete_installation_names_the_missing_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "fabricc")
    with pytest.raises(FileNotFoundError, match="no templates next to or inside fabricc"):
        installation.data_folder("templates")
