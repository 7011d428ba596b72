"""Built trees compare like the specs that made them."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from fabricc.base.values import replace
from fabricc.compiler.driver import build_tree
from fabricc.proof.tree import TreeError, read_manifest
from fabricc.tree.manifest import NAME
from tests.outward import spec_text
from tests.review.diff.conftest import compare_specs
from tests.review.diff.edits import spec_with_services

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.review.diff.conftest import Bench


def slow_case(*values: str) -> ParameterSet:
    """A case that the ordinary run leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow)


EDITS = [
    slow_case("rack-zone-512", "{family: dual}", "{family: dual, hosts: 10.192.0.0/11}"),
    slow_case("superpod-b200-4su", "dscp: 26", "dscp: 34"),
    ("lab-smallest", "dscp: 26", "dscp: 34"),
]


def build_spec(spec: Path) -> Path:
    result, _ = build_tree(spec, spec.parent / "out", jobs=1)
    assert result.tree is not None
    return result.tree


@pytest.mark.parametrize(("inventory", "old", "new"), EDITS)
def test_diff_of_trees_equals_diff_of_specs(bench: Bench, inventory: str, old: str, new: str) -> None:
    base, head = bench.spec(inventory, "base"), bench.spec(inventory, "head", (old, new))
    of_specs, of_trees = compare_specs(base, head), compare_specs(build_spec(base), build_spec(head))
    assert of_trees.differs
    reported = [
        {(g.kind, g.devices, g.impact, g.gpus, g.sessions, g.lines, g.files) for g in review.groups}
        for review in (of_specs, of_trees)
    ]
    assert reported[0] == reported[1]
    assert of_trees.renumbering == of_specs.renumbering


@pytest.mark.slow
@pytest.mark.parametrize(
    "inventory",
    [slow_case("rack-zone-512"), slow_case("superpod-b200-4su"), "lab-smallest", "storage-zone"],
)
def test_a_tree_and_its_own_spec_do_not_differ(bench: Bench, inventory: str) -> None:
    spec = bench.spec(inventory, "base")
    tree = build_spec(spec)
    assert not compare_specs(tree, spec).differs
    assert not compare_specs(spec, tree).differs
    assert not compare_specs(tree, tree).differs


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["cumulus", "sonic"])
def test_a_longer_cable_of_one_switch_is_no_finding(nos: str, tmp_path: Path) -> None:
    """Its profiles have other names, and its pools other sizes, because of its cables."""
    text = spec_with_services(nos).replace("racks: 2", "racks: 6")
    trees = []
    for folder, more in (("base", ""), ("head", "overrides: {rack003-tor1a: {cable_m: 80}}\n")):
        spec = tmp_path / folder / "cluster.yaml"
        spec.parent.mkdir()
        spec.write_text(text.replace(', {code: FAB5201, reason: "a lab without PFC"}', "") + more)
        trees.append(build_spec(spec))
    review = compare_specs(*trees)
    assert "headroom/size_bytes" in str(review.groups) or "xoff" in str(review.groups)
    assert review.proof_findings == ()


def test_trees_with_ways_out_compare_like_specs(tmp_path: Path) -> None:
    specs = []
    for folder, device in (("base", "core-2"), ("head", "core-9")):
        specs.append(tmp_path / folder / "cluster.yaml")
        specs[-1].parent.mkdir()
        specs[-1].write_text(spec_text("frr").replace("peer: core-2", f"peer: {device}"))
    trees = [build_spec(spec) for spec in specs]
    assert not compare_specs(trees[0], specs[0]).differs
    of_specs, of_trees = compare_specs(*specs), compare_specs(*trees)
    reported = [
        {(g.kind, g.devices, g.impact, g.sessions, g.lines) for g in each.groups}
        for each in (of_specs, of_trees)
    ]
    assert reported[0] == reported[1]
    assert of_trees.differs


def test_a_new_switch_that_lacks_what_all_others_lack_is_no_new_finding(tmp_path: Path) -> None:
    """A warning that each older switch of its tier has comes with growth; a fault of its own is new."""
    text = spec_with_services("eos").replace("  ntp: [192.0.2.101, 192.0.2.102]\n", "")
    trees = []
    for folder, racks in (("base", 2), ("head", 3)):
        spec = tmp_path / folder / "cluster.yaml"
        spec.parent.mkdir()
        spec.write_text(text.replace("racks: 2", f"racks: {racks}"))
        trees.append(build_spec(spec))
    review = compare_specs(*trees)
    assert (review.risk, review.proof_findings, review.added.count) == ("low", (), 2)
    file = "switches/rack003-tor1a/running-config.cfg"
    config = (trees[1] / file).read_bytes().replace(b"\nend\n", b"\nno lldp run\nend\n")
    (trees[1] / file).write_bytes(config)
    manifest = read_manifest(trees[1])
    files = {**manifest.files, file: sha256(config).hexdigest()}
    (trees[1] / NAME).write_bytes(b"".join(replace(manifest, files=files).parts()))
    again = compare_specs(*trees)
    assert [each.message.split(":")[0] for each in again.proof_findings] == ["rack003-tor1a runs no LLDP"]
    assert again.risk == "medium"


@pytest.mark.slow
def test_only_hosts_with_gpus_count_in_trees_and_in_specs(bench: Bench) -> None:
    edit = ("dscp: 34", "dscp: 36")
    base, head = bench.spec("storage-zone", "base"), bench.spec("storage-zone", "head", edit)
    for review in (compare_specs(base, head), compare_specs(build_spec(base), build_spec(head))):
        assert (review.gpus_total, review.gpus_affected) == (128, 128)
        assert len(review.drain_hosts) == 16
        assert all("-host" in host and not host.startswith("su003") for host in review.drain_hosts)


def test_a_folder_that_is_no_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError) as raised:
        compare_specs(tmp_path, tmp_path)
    assert [d.code for d in raised.value.diagnostics] == ["FAB6013"]


OVERRIDES = """
overrides:
  spine01a: {nos: frr-%s}
"""


def test_trees_compare_a_switch_by_the_system_of_its_override(bench: Bench) -> None:
    base = bench.spec("lab-smallest", "base", more=OVERRIDES % "10.0")
    head = bench.spec("lab-smallest", "head", more=OVERRIDES % "8.4")
    of_specs, of_trees = compare_specs(base, head), compare_specs(build_spec(base), build_spec(head))
    reported = [
        {(g.kind, g.devices, g.impact, g.lines) for g in each.groups} for each in (of_specs, of_trees)
    ]
    assert reported[0] == reported[1]
    assert any("8.4" in str(group.lines) for group in of_trees.groups)


def test_a_tree_and_a_spec_with_overrides_do_not_differ(bench: Bench) -> None:
    spec = bench.spec("lab-smallest", "base", more=OVERRIDES % "8.4")
    tree = build_spec(spec)
    plan = json.loads((tree / "plan" / "fabric.json").read_text())
    assert plan["systems"] == {"spine01a": {"nos": "frr", "release": "8.4"}}
    assert not compare_specs(tree, spec).differs
    assert not compare_specs(spec, tree).differs


@pytest.mark.parametrize("nos", ["vax", 5, None])
def test_plan_with_an_unknown_system_is_rejected(bench: Bench, nos: object) -> None:
    tree = build_spec(bench.spec("lab-smallest", "base", more=OVERRIDES % "8.4"))
    place = tree / "plan" / "fabric.json"
    plan = json.loads(place.read_text())
    plan["systems"]["spine01a"]["nos"] = nos
    place.write_text(json.dumps(plan))
    manifest = json.loads((tree / "manifest.json").read_text())
    manifest["files"]["plan/fabric.json"] = sha256(place.read_bytes()).hexdigest()
    (tree / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(TreeError) as raised:
        compare_specs(tree, tree)
    assert [d.code for d in raised.value.diagnostics] == ["FAB9021"]
