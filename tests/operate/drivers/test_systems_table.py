"""The table of docs/drivers.md about each system: a row for every driver, and a source in every cell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.operate.drivers import DRIVERS

DOCS = Path(__file__).parents[3] / "docs"
COLUMNS = [
    "system", "frame", "printed forms", "accounts", "confirm timer", "order of save and rollback",
    "state that survives a replace", "limits of a dry run",
]  # fmt: skip
NAMES = {
    "cumulus": "Cumulus",
    "eos": "EOS",
    "frr": "FRR",
    "junos": "Junos",
    "nxos": "NX-OS",
    "sonic": "SONiC",
}
LINK = re.compile(r"\]\(([^)]+)\)")
CODE = re.compile(r"`(operate/drivers/\w+\.py)`")
REFERENCE = re.compile(r"\[([^]]+)\](?!\()")


def read_section() -> str:
    text = (DOCS / "drivers.md").read_text(encoding="utf-8")
    return text.split("\n## What each system does\n")[1].split("\n## ")[0]


def read_rows() -> list[list[str]]:
    lines = [line for line in read_section().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert [cell.strip() for cell in cells[0]] == COLUMNS
    return cells[2:]


def find_definitions() -> dict[str, str]:
    return dict(re.findall(r"(?m)^\[([^]]+)\]: (\S+)", read_section()))


def cell_sources(cell: str) -> list[str]:
    """Return where the links of a cell lead, and the files of this repository that it names."""
    known = find_definitions()
    linked = [known[name] for name in REFERENCE.findall(cell) if name in known]
    return LINK.findall(cell) + linked + CODE.findall(cell)


def test_every_system_has_a_row() -> None:
    assert sorted(row[0] for row in read_rows()) == sorted(NAMES[nos] for nos in DRIVERS)
    assert {len(row) for row in read_rows()} == {len(COLUMNS)}


@pytest.mark.parametrize("system", NAMES.values())
def test_every_cell_has_a_source(system: str) -> None:
    (row,) = [row for row in read_rows() if row[0] == system]
    bare = [column for column, cell in zip(COLUMNS[1:], row[1:], strict=True) if not cell_sources(cell)]
    assert bare == []


def test_every_source_leads_somewhere() -> None:
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in (DOCS / "drivers.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    }
    for row in read_rows():
        for source in (one for cell in row for one in cell_sources(cell)):
            if source.startswith("#"):
                assert source[1:] in headings, source
            elif not source.startswith("https://"):
                folder = DOCS.parent / "fabricc" if source.endswith(".py") else DOCS
                assert (folder / source.partition("#")[0]).is_file(), source
    used = {name for row in read_rows() for cell in row for name in REFERENCE.findall(cell)}
    assert sorted(find_definitions().keys() - used) == []
