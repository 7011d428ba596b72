"""`network`: an Ethernet network of hosts whose InfiniBand rails another spec describes shares no name with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.driver import build_tree
from tests.compiler.test_marked_lossy import KEY, errors

RAILS = {
    "cluster": "rails",
    "fabric": "infiniband",
    "gpus": {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 4},
    "tors": {"model": "qm9700"},
    "spines": {"model": "qm9700"},
}
STORAGE = {
    "cluster": "store",
    "network": {"name": "storage"},
    "gpus": {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 4},
    "tors": {"model": "sn5600", "nos": "cumulus-5.15"},
    "spines": {"model": "sn5600", "nos": "cumulus-5.15", "count": 2},
    "management": {"users": [{"name": "ops", "ssh_key": KEY}]},
}
WORDS = re.compile(r"mlx5_[a-z0-9_]+|\b\d+\.\d+\.\d+\.\d+/\d+\b|\b(?:storage|frontend|rail|ib)\d+[ab]?\b")


def build(spec: dict[str, Any], folder: Path) -> tuple[Any, Path]:
    folder.mkdir(exist_ok=True)
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    build_tree(path, folder / "build")
    return compile_spec(path), folder / "build" / spec["cluster"]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("apart")
    frontend = STORAGE | {
        "cluster": "front",
        "network": {"name": "frontend", "number": 2, "ports": "storage"},
    }
    found = {}
    for name, spec in (("rails", RAILS), ("store", STORAGE), ("front", frontend)):
        result, found[name] = build(spec, folder / name)
        assert errors(result) == []
    return found


def host_files(tree: Path) -> dict[str, str]:
    """Path below `hosts` -> text, of what `apply` installs."""
    root = tree / "hosts"
    return {
        str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file() and p.name != "apply"
    }


def test_the_hosts_have_the_same_names(trees: dict[str, Path]) -> None:
    hosts = {name: {each.name for each in (tree / "hosts").iterdir()} for name, tree in trees.items()}
    assert hosts["rails"] == hosts["store"] == hosts["front"] != set()


@pytest.mark.parametrize(("one", "other"), [("rails", "store"), ("rails", "front"), ("store", "front")])
def test_no_file_address_or_device_is_in_two_trees(one: str, other: str, trees: dict[str, Path]) -> None:
    mine, theirs = host_files(trees[one]), host_files(trees[other])
    assert mine
    assert not mine.keys() & theirs.keys()
    names = [{word for text in files.values() for word in WORDS.findall(text)} for files in (mine, theirs)]
    assert all(names)
    assert not names[0] & names[1]


def test_switches_have_the_name_of_the_network(trees: dict[str, Path]) -> None:
    assert {each.name.partition("-")[0] for each in (trees["store"] / "switches").iterdir()} == {"storage"}
    assert not (trees["store"] / "jobs").exists()


def test_storage_nodes_of_the_network_have_all_their_files(tmp_path: Path) -> None:
    groups = [
        {"name": "h100", **STORAGE["gpus"]},
        {"name": "nodes", "model": "storage-2x200", "hosts": 2, "hosts_per_unit": 2},
    ]
    result, tree = build(STORAGE | {"gpus": {"groups": groups}}, tmp_path)
    assert errors(result) == []
    shared = {each.parts[-4] for each in (tree / "hosts").rglob("etc/modules-load.d/fabricc.conf")}
    assert len(shared) == 2
    with_gpus = {each.name for each in (tree / "hosts").iterdir()} - shared
    assert len(with_gpus) == 4
    assert not [name for name in with_gpus if (tree / "hosts" / name / "etc/nccl.conf").exists()]


def test_a_model_without_such_ports_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(STORAGE | {"network": {"name": "backup"}}))
    found = [each for each in compile_spec(path).diagnostics if each.code == "FAB3104"]
    assert found
    assert "ports" in found[0].help


@pytest.mark.parametrize(
    "further",
    [
        {"networks": {"frontend": {"tors": {"model": "sn5600", "nos": "cumulus-5.15"}}}},
        {"fabric": "infiniband", "tors": {"model": "qm9700"}, "spines": {"model": "qm9700"}},
    ],
)
def test_one_network_is_of_ethernet_and_alone(further: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(STORAGE | further))
    assert "FAB2116" in {each.code for each in compile_spec(path).diagnostics}


def test_the_refusal_beside_infiniband_names_the_word(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    networks = {"storage": {"tors": {"model": "sn5600", "nos": "cumulus-5.15"}}}
    path.write_text(yaml.safe_dump(RAILS | {"networks": networks}))
    found = [each for each in compile_spec(path).diagnostics if each.code == "FAB2114"]
    assert "network: {name: NAME}" in found[0].help
