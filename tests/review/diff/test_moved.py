"""The review of devices that were renamed, or that are another box at an old place."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.cli import diff
from fabricc.compiler.driver import build_tree
from fabricc.review.diff import markdown, review_json
from fabricc.review.diff.model import Impact, SpecChange
from fabricc.review.diff.wording import drain_steps, find_renamed_racks, verdict_line
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from fabricc.review.diff.model import Review
    from tests.review.diff.conftest import Bench

SCHEMA = Path(__file__).parents[3] / "schemas" / "diff.schema.json"
LAB = "lab-smallest"


def review_text(review: Review) -> str:
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(review_json.as_json(review))
    assert str(markdown.render(review, markdown.FORGES["github"]))
    return "\n".join(str(line) for line in diff.review_lines(review))


@pytest.mark.parametrize(
    ("inventory", "old", "new", "devices"),
    [
        (LAB, "spine02a", "spine-east", 1),
        (LAB, "su002", "hall2", 4),
        (LAB, "su001-host01", "gpu-a", 1),
        (LAB, "su001-tor2a", "leaf-2", 1),
    ],
)
def test_a_renamed_device_is_compared_with_itself(
    bench: Bench, inventory: str, old: str, new: str, devices: int
) -> None:
    review = bench.review(inventory, more=f"moved: {{{old}: {new}}}\n")
    assert (review.added.count, review.removed.count, review.renumbering.total) == (0, 0, 0)
    assert len(review.renamed) == devices
    assert all(was.replace(old, new) == now for was, now in review.renamed)
    assert review.impact <= Impact.HITLESS
    assert review.risk == "low"
    assert review.sessions == review.gpus_affected == 0
    assert "renamed" in verdict_line(review)
    assert f"{old}" in review_text(review)


def test_diff_of_trees_reports_a_rename_once(bench: Bench, tmp_path: Path) -> None:
    base, head = bench.spec(LAB, "base"), bench.spec(LAB, "head", more="moved: {spine02a: spine-east}\n")
    for side in (base, head):
        assert build_tree(side, side.parent / "out", jobs=1)[0].exit_status == 0
    trees = [side.parent / "out" / "lab-smallest" for side in (base, head)]
    review = compare_specs(*trees)
    assert review.renamed == (("spine02a", "spine-east"),)
    finding = Diagnostic(
        "FAB2113", Severity.WARNING, "no such line", Position("a.cfg", 3), "Remove the line."
    )
    lines = [line.text for line in diff.review_lines(replace(review, findings=(finding,)))]
    assert {"warning FAB2113: no such line  a.cfg:3", "  help: Remove the line."} <= {*lines}
    assert review.impact <= Impact.HITLESS
    later = bench.folder / "later"
    shutil.copytree(head.parent, later)
    spec = later / "cluster.yaml"
    spec.write_text(spec.read_text().replace("moved: {spine02a: spine-east}\n", ""))
    assert not compare_specs(head, spec).differs


def test_a_replaced_host_is_drained_swapped_and_brought_up(bench: Bench) -> None:
    review = bench.review(LAB, more="replaced: {su001-host02: {by: su001-host02b, serial: SN7}}\n")
    (box,) = review.replaced
    assert (box.former, box.name, box.kind, box.serial) == ("su001-host02", "su001-host02b", "host", "SN7")
    assert review.renumbering.total == review.added.count == review.removed.count == 0
    assert review.risk == "high"
    assert review.drain_hosts == ("su001-host02b",)
    (step,) = [step for step in drain_steps(review) if step.startswith("Replace")]
    assert "serial SN7" in step
    assert "hosts/su001-host02b" in step
    assert "1 device replaced" in verdict_line(review)
    assert "su001-host02 → su001-host02b" in review_text(review)


def test_a_box_of_the_same_name_is_another_by_its_serial_number(bench: Bench) -> None:
    base = bench.spec(LAB, "base")
    head = bench.spec(LAB, "head", more="replaced: {spine01a: {serial: SN8}}\n")
    review = compare_specs(base, head)
    assert [(box.former, box.name) for box in review.replaced] == [("spine01a", "spine01a")]
    assert review.groups == ()
    again = bench.spec(LAB, "again", more="replaced: {spine01a: {serial: SN8}}\n")
    assert not compare_specs(head, again).differs


def test_the_host_to_drain_is_the_one_that_runs(bench: Bench) -> None:
    review = bench.review(LAB, more="replaced: {su001-host02: {by: gpu-new}}\n")
    assert any(step.startswith("Drain jobs") and "su001-host02." in step for step in drain_steps(review))


@pytest.mark.parametrize(
    ("gone", "joined", "found"),
    [
        (["gpus.racks.a07 4"], ["gpus.racks.row2-a07 4"], [("a07", "row2-a07")]),
        (["gpus.groups.x.racks.a07 4"], ["gpus.groups.x.racks.b 4"], [("a07", "b")]),
        (["gpus.racks.a07 4"], ["gpus.racks.b 5"], []),
        (["gpus.racks.a07 4"], ["networks.storage.racks.b 4"], []),
        (["gpus.racks.a07 4"], ["gpus.racks.b 4", "gpus.racks.c 4"], []),
        (["gpus.racks.a07 4", "gpus.racks.a08 4"], ["gpus.racks.b 4"], []),
        (["spines.count 4"], ["spines.rails 4"], []),
    ],
)
def test_a_rack_that_may_have_another_name_is_proposed(
    gone: list[str], joined: list[str], found: list[tuple[str, str]]
) -> None:
    changes = [SpecChange(path, value, None, None) for path, value in map(str.split, gone)]
    changes += [SpecChange(path, None, value, None) for path, value in map(str.split, joined)]
    assert find_renamed_racks(changes) == found
