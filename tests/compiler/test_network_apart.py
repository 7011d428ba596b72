"""`network`: a network of hosts whose InfiniBand rails another spec describes shares no name with it."""

from __future__ import annotations

import csv
import re
from ipaddress import ip_address, ip_network
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.driver import build_tree
from fabricc.compiler.load.lock_file import second_lock
from fabricc.compiler.write.infiniband import prove_tree
from fabricc.fabric.addresses import Pool
from fabricc.front.spec.networks import free_numbers
from fabricc.tree.manifest import Manifest
from tests.compiler.test_marked_lossy import KEY, find_errors

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
IB_STORAGE = {
    "cluster": "parallel",
    "fabric": "infiniband",
    "network": {"name": "parallel", "number": 3, "ports": "storage", "wiring": "rail"},
    "gpus": {
        "groups": [
            {"name": "h100", "model": "dgx-h100", "hosts": 4, "hosts_per_unit": 4},
            {"name": "nodes", "model": "storage-2x400", "hosts": 2, "hosts_per_unit": 2},
        ]
    },
    "tors": {"model": "qm9700"},
    "spines": {"model": "qm9700"},
}
WORDS = re.compile(
    r"mlx5_[a-z0-9_]+|\b\d+\.\d+\.\d+\.\d+/\d+\b|\b(?:storage|frontend|parallel|rail|ib)\d+[ab]?\b"
)


def build(spec: dict[str, Any], folder: Path) -> tuple[Any, Path]:
    folder.mkdir(exist_ok=True)
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    build_tree(path, folder / "build")
    return compile_spec(path), folder / "build" / spec["cluster"]


def find_refusals(result: Any) -> list[Diagnostic]:
    return [each for each in result.diagnostics if each.severity is Severity.ERROR]


def refusal_codes(result: Any) -> list[str]:
    return [each.code for each in find_refusals(result)]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("apart")
    frontend = STORAGE | {
        "cluster": "front",
        "network": {"name": "frontend", "number": 2, "ports": "storage"},
    }
    found = {}
    for name, spec in (("rails", RAILS), ("store", STORAGE), ("front", frontend), ("parallel", IB_STORAGE)):
        result, found[name] = build(spec, folder / name)
        assert find_errors(result) == []
    return found


def host_files(tree: Path) -> dict[str, str]:
    """Path below `hosts` -> text, of what `apply` installs."""
    root = tree / "hosts"
    return {
        str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file() and p.name != "apply"
    }


@pytest.mark.slow
def test_the_hosts_have_the_same_names(trees: dict[str, Path]) -> None:
    hosts = {name: {each.name for each in (tree / "hosts").iterdir()} for name, tree in trees.items()}
    assert hosts["rails"] == hosts["store"] == hosts["front"] != set()
    assert hosts["rails"] < hosts["parallel"]


@pytest.mark.parametrize(("one", "other"), [*combinations(("rails", "store", "front", "parallel"), 2)])
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


def test_subnets_of_a_storage_network_share_no_identity_with_those_of_the_rails(
    trees: dict[str, Path],
) -> None:
    rails, storage = (trees[name] / "subnets/a/etc/opensm" for name in ("rails", "parallel"))
    identities = [
        {word for file in folder.iterdir() for word in re.findall(r"0x[0-9a-f]{16}", file.read_text())}
        for folder in (rails, storage)
    ]
    assert all(identities)
    assert not identities[0] & identities[1]
    assert "0xfe80000000000030" in identities[1]  # the prefix of the third network
    lids = csv.DictReader((trees["parallel"] / "plan/lids.csv").read_text().splitlines())
    names = {row["name"] for row in lids}
    assert {"parallel-spine01a", "su001-host01/parallel1", "su002-host02/parallel1"} <= names
    assert not (trees["parallel"] / "jobs").exists()


def test_storage_nodes_of_a_subnet_have_what_hosts_with_gpus_get_from_the_rails(
    trees: dict[str, Path],
) -> None:
    modules = {
        host.name: [path.name for path in (host / "etc/modules-load.d").iterdir()]
        for host in (trees["parallel"] / "hosts").iterdir()
    }
    assert modules.pop("su002-host01") == modules.pop("su002-host02") == ["fabricc.conf"]
    assert {*map(tuple, modules.values())} == {("fabricc-parallel.conf",)}


@pytest.mark.parametrize("text", ["0xfe80000000000030", "fabricc-ib-parallel", "mlx5_parallel1", "parallel0"])
@pytest.mark.spread
def test_a_changed_name_of_a_storage_network_is_found(text: str, tmp_path: Path) -> None:
    result, tree = build(IB_STORAGE, tmp_path)
    manifest = Manifest.parse((tree / "manifest.json").read_bytes())
    assert result.infiniband is not None
    places = [tree / "subnets/a/etc/opensm/opensm.conf", *(tree / "hosts/su001-host01").rglob("*")]
    having = [path for path in places if path.is_file() and text in path.read_text()]
    assert having
    for path in having:
        right = path.read_text()
        path.write_text(right.replace(text, text[:-1] + "7", 1))
        assert prove_tree(result.infiniband, tree, manifest), path
        path.write_text(right)
    assert prove_tree(result.infiniband, tree, manifest) == []


def test_storage_nodes_of_the_network_have_all_their_files(tmp_path: Path) -> None:
    groups = [
        {"name": "h100", **STORAGE["gpus"]},
        {"name": "nodes", "model": "storage-2x200", "hosts": 2, "hosts_per_unit": 2},
    ]
    result, tree = build(STORAGE | {"gpus": {"groups": groups}}, tmp_path)
    assert find_errors(result) == []
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


def test_ports_without_pci_addresses_are_reported_until_their_guids_are_known(tmp_path: Path) -> None:
    assert "FAB5601" in codes_of(IB_STORAGE, tmp_path)
    guids = {
        f"su00{1 + n // 4}-host0{1 + n % 4}/parallel{m}": f"0x506b4b03000000{n}{m}"
        for n in range(6)
        for m in (0, 1)
    }
    (tmp_path / "guids.yaml").write_text(yaml.safe_dump(guids))
    assert "FAB5601" not in codes_of(IB_STORAGE | {"infiniband": {"guids": "guids.yaml"}}, tmp_path)


def test_a_spec_of_one_network_has_no_further_ones(tmp_path: Path) -> None:
    assert "FAB2116" in codes_of(
        STORAGE | {"networks": {"frontend": {"tors": {"model": "sn5600", "nos": "cumulus-5.15"}}}}, tmp_path
    )


@pytest.mark.parametrize(("name", "too_long"), [("parallels", False), ("filesystem", True)])
def test_interfaces_of_partitions_have_at_most_fifteen_characters(
    name: str, too_long: bool, tmp_path: Path
) -> None:
    spec = IB_STORAGE | {
        "network": {"name": name, "ports": "storage", "wiring": "rail"},
        "infiniband": {"partitions": {"tenant": {"pkey": 16, "hosts": ["su001-host01"]}}},
    }
    assert ("FAB5819" in codes_of(spec, tmp_path)) == too_long


@pytest.mark.parametrize("number", range(1, 8))
def test_default_pools_of_ipoib_differ_by_network(number: int, tmp_path: Path) -> None:
    spec = IB_STORAGE | {"network": {"name": "storage", "number": number, "wiring": "rail"}}
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    pool = compile_spec(path).infiniband.ipoib.pool
    rails = Pool(int(ip_address("10.0.0.0")), 10, 4)
    assert pool.length == 12
    assert not rails.first <= pool.first < rails.first + (1 << rails.bits)
    others = [free_numbers(other, {})["addressing", "hosts"] for other in range(1, 8) if other != number]
    assert not [each for each in others if ip_network(each).overlaps(ip_network(str(pool)))]


def codes_of(spec: dict[str, Any], folder: Path) -> set[str]:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    return {each.code for each in compile_spec(path).diagnostics}


def test_the_refusal_with_infiniband_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    networks = {"storage": {"tors": {"model": "sn5600", "nos": "cumulus-5.15"}}}
    path.write_text(yaml.safe_dump(RAILS | {"networks": networks}))
    found = [each for each in compile_spec(path).diagnostics if each.code == "FAB2114"]
    assert "network: {name: NAME}" in found[0].help


def test_the_way_of_the_refusal_leads_to_two_specs_in_one_folder(tmp_path: Path) -> None:
    """With the name of the rails' cluster the spec would take the numbers of their lock (FAB3020)."""
    rails, storage = tmp_path / "cluster.yaml", tmp_path / "storage.yaml"
    rails.write_text(yaml.safe_dump(RAILS))
    switches = {"model": "sn5600", "nos": "cumulus-5.15"}
    apart = {"cluster": "apart", "network": {"name": "storage"}, "tors": switches, "spines": switches}
    storage.write_text(yaml.safe_dump({"gpus": RAILS["gpus"], **apart}))
    build_tree(rails, tmp_path / "build")
    (refused,) = find_errors(compile_spec(storage))
    assert "FAB2070" in refused
    assert "`fabricc lock --own SPEC`" in str([each.help for each in compile_spec(storage).diagnostics])
    (tmp_path / "storage.lock").write_text("version 1\n")
    assert find_errors(compile_spec(storage)) == []


@pytest.mark.parametrize("model", ["dgx-h100", "dgx-h200", "dgx-b200"])
def test_the_storage_fabric_of_a_superpod_has_the_published_counts(model: str, tmp_path: Path) -> None:
    """RA-11333 and RA-11334: two NDR ports of each of 127 nodes take eight leaves and four spines of 64 ports."""
    gpus = {"model": model, "hosts": 127, "hosts_per_unit": 16}
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump({**IB_STORAGE, "network": {"name": "storage"}, "gpus": gpus}))
    found = compile_spec(path, gaps=False).infiniband
    assert found is not None
    counts = found.wiring.counts()
    assert (counts["tors"], counts["spines"], counts["host_cables"], counts["spine_cables"]) == (
        8,
        4,
        254,
        256,
    )


def test_two_specs_of_one_cluster_share_neither_lock_nor_tree(tmp_path: Path) -> None:
    paths = {}
    for name, spec in (("rails", RAILS), ("storage", STORAGE)):
        paths[name] = tmp_path / f"{name}.yaml"
        paths[name].write_text(yaml.safe_dump(spec | {"cluster": "one"}))
    assert refusal_codes(build_tree(paths["rails"], tmp_path / "build")[0]) == []
    lock, before = (tmp_path / "fabricc.lock").read_text(), sorted((tmp_path / "build").rglob("*"))
    assert refusal_codes(build_tree(paths["storage"], tmp_path / "build")[0]) == ["FAB2070"]
    assert (tmp_path / "fabricc.lock").read_text() == lock
    second = second_lock(compile_spec(paths["storage"], lock_path=tmp_path / "storage.lock"))
    assert second
    assert second.code == "FAB2070"
    (tmp_path / "storage.lock").write_text(
        compile_spec(paths["storage"], lock_path=tmp_path / "new").lock_text
    )
    (refused,) = find_refusals(build_tree(paths["storage"], tmp_path / "build")[0])
    assert refused.code == "FAB2071"
    assert "rails.yaml" in refused.message
    assert sorted((tmp_path / "build").rglob("*")) == before
    assert refusal_codes(build_tree(paths["storage"], tmp_path / "other")[0]) == []
    assert "cluster one network storage\n" in (tmp_path / "storage.lock").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("network", [None, {"name": "frontend", "number": 1}])
def test_a_lock_of_another_network_is_refused(network: dict[str, Any] | None, tmp_path: Path) -> None:
    assert refusal_codes(build(STORAGE, tmp_path)[0]) == []
    lock = (tmp_path / "fabricc.lock").read_text()
    other = {key: value for key, value in (STORAGE | {"network": network}).items() if value}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(other))
    (refused,) = find_refusals(compile_spec(tmp_path / "cluster.yaml"))
    assert refused.code == "FAB2070"
    assert "network 'storage'" in refused.message
    line = "cluster store network frontend" if network else "cluster store"
    assert f"`{line}`" in refused.help
    (tmp_path / "fabricc.lock").write_text(lock.replace("cluster store network storage", line))
    assert "FAB2070" not in refusal_codes(compile_spec(tmp_path / "cluster.yaml"))


def test_a_fabric_of_the_other_kind_does_not_take_a_lock(tmp_path: Path) -> None:
    result, _ = build(RAILS, tmp_path)
    text = result.lock_text.replace("cluster rails\n", "cluster store network storage\n")
    (tmp_path / "fabricc.lock").write_text(text)
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(STORAGE))
    (refused,) = find_refusals(compile_spec(tmp_path / "cluster.yaml"))
    assert (refused.code, "InfiniBand" in refused.message) == ("FAB2070", True)


def test_a_lock_that_names_no_network_is_kept_until_a_number_changes(tmp_path: Path) -> None:
    """Those of earlier releases name none; another one of the same cluster has other numbers."""
    assert refusal_codes(build(STORAGE, tmp_path)[0]) == []
    path, lock = tmp_path / "cluster.yaml", tmp_path / "fabricc.lock"
    earlier = lock.read_text().replace("cluster store network storage", "cluster store")
    lock.write_text(earlier)
    compiled = compile_spec(path)
    assert (refusal_codes(compiled), compiled.lock_text) == ([], earlier)
    lock.write_text(earlier.replace("stride tor_up_cage 2\n", ""))
    (refused,) = find_refusals(compile_spec(path))
    assert (refused.code, refused.position and refused.position.line) == ("FAB2070", 4)
    assert "`cluster store network storage`" in refused.help


def test_a_network_of_infiniband_does_not_take_the_lock_of_the_rails(tmp_path: Path) -> None:
    assert refusal_codes(build(RAILS, tmp_path)[0]) == []
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(IB_STORAGE | {"cluster": "rails"}))
    assert "FAB2070" in refusal_codes(compile_spec(tmp_path / "cluster.yaml"))
