"""Explanations of InfiniBand: LIDs, GUIDs, P_Keys, addresses, devices, ports, groups and lines of files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.infiniband.cabling import plan_files
from fabricc.base.diagnostics import FindingsError
from fabricc.compiler.compiled import compile_spec
from fabricc.interface import build
from fabricc.review.explain.answer import answer_question, of_any
from tests.back.infiniband.support import CLASSES, TENANTS, make_document
from tests.review.explain.support import assert_formulas_hold

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled

BOX = {"model": "qm9700"}
SHAPES: dict[str, dict[str, Any]] = {
    "two tiers": make_document("dgx-h100", 4, 2, priorities=CLASSES, infiniband=TENANTS),
    "cores": make_document("dgx-h100", 4, 2, spines={**BOX, "units_per_pod": 1}, cores=BOX),
    "planes": make_document("dgx-h100", 4, 2, planes=2),
    "tenants": make_document("dgx-h100", 4, 2, tenants={"acme": {"hosts": ["su001-host01"]}}),
    "storage": make_document("dgx-h100", 4, 2, network={"name": "storage"}),
}


def compiled_of(words: dict[str, Any], folder: Path) -> Compiled:
    spec = folder / "cluster.yaml"
    spec.write_text(json.dumps(words, indent=1))
    compiled = compile_spec(spec)
    assert compiled.infiniband is not None, compiled.diagnostics
    return compiled


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built fabric of two tiers, next to its spec."""
    folder = tmp_path_factory.mktemp("explained")
    compiled_of(SHAPES["two tiers"], folder)
    built = build(folder / "cluster.yaml", folder / "build").tree
    assert built is not None
    return built


@pytest.mark.parametrize("shape", SHAPES)
def test_every_lid_and_guid_of_the_plan_is_explained_by_its_formula(shape: str, tmp_path: Path) -> None:
    compiled = compiled_of(SHAPES[shape], tmp_path)
    assert compiled.infiniband is not None
    rows = list(csv.DictReader(io.StringIO(dict(plan_files(compiled.infiniband, {}))["lids.csv"])))
    for row in rows[::3]:
        device, _, port = row["name"].partition("/")
        found = of_any(compiled, f"{device}:{port}" if port else device, ())
        lid, guid = (
            found.statements[:2] if port or found.statements[0].name == "LID" else found.statements[1:3]
        )
        assert (lid.value, guid.value.partition(",")[0]) == (row["lid"], row["guid"])
        assert_formulas_hold(lid)
        assert row["name"] in of_any(compiled, row["lid"], ()).title
        assert row["name"] in of_any(compiled, row["guid"], ()).title


@pytest.mark.parametrize("shape", SHAPES)
def test_every_host_has_its_addresses_explained(shape: str, tmp_path: Path) -> None:
    compiled = compiled_of(SHAPES[shape], tmp_path)
    name = next(iter(next(iter(compiled.infiniband.wiring.units.values())).hosts.values()))  # type: ignore[union-attr]
    details = dict(of_any(compiled, name, ()).details)
    ports = [label for label in details if label.startswith(("rail", "storage"))]
    assert ports
    for label in ports:
        address = details[label].partition(",")[0].partition("/")[0]
        found = of_any(compiled, address, ())
        assert dict(found.details)["port"] == label
        assert_formulas_hold(found.statements[0])


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("su001-tor1a", "device", "rail lost"),
        ("spine01a", "device", "of plane a is left"),
        ("su001-host01", "device", "tenant-a"),
        ("su001-tor1a:1/1", "port", "su001-host01 rail0"),
        ("su001-tor1a:1", "port", "su001-host01 rail0"),
        ("su001-host01:rail1", "port", "mlx5_r1"),
        ("su001-host01:ib1", "port", "mlx5_r1"),
        ("su001-host01:mlx5_r1", "port", "su001-tor2a"),
        ("0x8010", "tenant", "su001-host01"),
        ("tenant-b", "tenant", "0x8011"),
        ("rdma", "class", "virtual lane"),
        ("su001", "unit", "su001-tor1a"),
    ],
)
def test_what_a_fabric_has_is_explained_by_name(tree: Path, name: str, kind: str, words: str) -> None:
    found = answer_question(str(tree), [name]).explanation
    assert found.kind == kind
    assert words in repr(found)


@pytest.mark.parametrize(
    "file", ["subnets/a/etc/opensm/opensm.conf", "subnets/a/etc/opensm/partitions.conf",
             "subnets/a/var/cache/opensm/guid2lid", "hosts/su001-host01/etc/nccl.conf"],
)  # fmt: skip
@pytest.mark.spread
def test_every_line_of_a_file_is_explained_and_an_edited_one_is_reported(tree: Path, file: str) -> None:
    path = tree / file
    lines = path.read_text().splitlines()
    for number in range(1, len(lines) + 1, 3):
        answer = answer_question(f"{path}:{number}")
        assert (answer.explanation.kind, answer.findings) == ("line", ())
        assert "does not write this line" not in repr(answer.explanation)
    text = path.read_text()
    try:
        path.write_text(text + "WITHOUT MEANING\n")
        answer = answer_question(f"{path}:{len(lines) + 1}")
    finally:
        path.write_text(text)
    assert [each.code for each in answer.findings] == ["FAB6010"]
    assert "the line is unknown" in repr(answer.explanation)


def test_facts_of_files_are_chosen_by_their_names(tree: Path) -> None:
    found = answer_question(str(tree), ["su001-host01", "nccl/ib_sl"]).explanation
    assert [(each.name, each.value) for each in found.statements] == [("nccl/ib_sl", "1")]
    assert found.statements[0].origins
    of_port = answer_question(str(tree), ["su001-host01", "rail1", "lid"]).explanation
    assert [each.name for each in of_port.statements] == ["interface[rail1]/lid"]
    assert "lid[spine01a]" in repr(answer_question(str(tree), ["spine01a", "lid"]).explanation)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["AS65001"], "FAB9273"), (["nobody"], "FAB9270"), (["su001-tor1a:99"], "FAB9270"),
        (["su001-host01:rail9"], "FAB9270"), (["49000"], "FAB9270"), (["09000"], "FAB9270"),
        (["0x02fab40000ffff00"], "FAB9270"), (["203.0.113.7"], "FAB9270"), (["su001-host01", "watchdog"], "FAB9274"),
    ],
)  # fmt: skip
def test_what_a_fabric_has_not_is_refused(tree: Path, words: list[str], code: str) -> None:
    with pytest.raises(FindingsError) as refused:
        answer_question(str(tree), words)
    assert [each.code for each in refused.value.diagnostics] == [code]


def test_lines_of_the_spec_and_of_the_lock_are_explained(tree: Path) -> None:
    lock = tree.parents[1] / "fabricc.lock"
    number = next(n for n, line in enumerate(lock.read_text().splitlines(), 1) if "lid_unit" in line)
    assert answer_question(f"{lock}:{number}").explanation.statements[0].name == "stride lid_unit"
    spec = tree.parents[1] / "cluster.yaml"
    number = next(n for n, line in enumerate(spec.read_text().splitlines(), 1) if '"pkey": 16' in line)
    (statement,) = answer_question(f"{spec}:{number}").explanation.statements
    assert statement.name == "infiniband.partitions.tenant-a.pkey"
