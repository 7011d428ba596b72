"""Plans as the command line prints them, and the report of the same spec, parsed."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from fabricc.cli.entry import run
from tests.review.report.reading import Page
from tests.review.report.specs import MIXED, SMALL, UNNUMBERED

ROOT = Path(__file__).parents[3]
INVENTORIES = ("lab-smallest", "superpod-b200-4su", "rack-zone-512")


def run_command(*arguments: str) -> tuple[int, str]:
    """Exit status and standard output of a command."""
    stream = TextIOWrapper(BytesIO(), "utf-8")
    with redirect_stdout(stream):
        status = run(list(arguments))
    stream.flush()
    return status, stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


@dataclass
class Planned:
    """One spec: its file, the output of `plan` as JSON and CSV, and its report."""

    spec: Path
    plan: dict[str, Any]
    html: str
    page: Page

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.spec.parent / "csv" / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))


def plan_report(folder: Path) -> Planned:
    spec = folder / "cluster.yaml"
    status, text = run_command("plan", str(spec), "--format", "json", "--qos", "--csv", str(folder / "csv"))
    assert status == 0
    status, html = run_command("report", str(spec), "-o", "-")
    assert status == 0
    return Planned(spec, json.loads(text), html, Page(html))


@pytest.fixture(scope="session", params=[*INVENTORIES, "mixed", "unnumbered", "cores", "two planes"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    folder = tmp_path_factory.mktemp("both") / "spec"
    if request.param in INVENTORIES:
        shutil.copytree(ROOT / "inventories" / request.param, folder)
    else:
        folder.mkdir()
        text = {**SMALL, "mixed": MIXED, "unnumbered": UNNUMBERED}[request.param]
        (folder / "cluster.yaml").write_text(text)
    return plan_report(folder)
