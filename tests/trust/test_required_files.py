"""A tree that lacks a file is rejected by each verb that reads trees, also if its manifest has no row for the file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.base.foreign.files import Folder
from fabricc.cli.entry import run
from fabricc.operate.push.built_tree import take_snapshot
from fabricc.proof.required_files import completeness_findings
from fabricc.proof.tree import TreeError
from fabricc.tree.manifest import NAME, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.trust.conftest import Clone

_INVENTORIES = Path(__file__).parents[2] / "inventories"


def kind_of(path: str) -> str:
    """Return a path without the name of its device and without numbers."""
    return re.sub(r"\d+", "N", re.sub(r"^(hosts|switches)/[^/]+/", r"\1/*/", path))


def drop_rows(tree: Path, *paths: str) -> Manifest:
    """Return the manifest of a tree without the rows of some files."""
    manifest = Manifest.parse((tree / NAME).read_bytes())
    return Manifest(
        manifest.cluster,
        manifest.version,
        manifest.spec,
        manifest.inputs,
        {each: digest for each, digest in manifest.files.items() if each not in paths},
    )


def remove(tree: Path, *paths: str) -> None:
    """Remove files and their rows in the manifest."""
    for path in paths:
        (tree / path).unlink()
        (tree / NAME).write_bytes(b"".join(drop_rows(tree, path).parts()))


def accepted_removals(tree: Path) -> set[str]:
    """Return the files of a tree that may be missing, on one device or on all of them, without a finding."""
    manifest = Manifest.parse((tree / NAME).read_bytes())
    groups = {path: {path} for path in each_kind(tree)}
    for path in manifest.files:
        groups.setdefault(f"all {re.sub('^(hosts|switches)/[^/]+/', '', path)}", set()).add(path)
    with Folder(tree) as folder:
        assert not [*completeness_findings(folder, manifest)]
        return {
            next(iter(paths))
            for paths in groups.values()
            if not [*completeness_findings(folder, drop_rows(tree, *paths))]
        }


def each_kind(tree: Path) -> Iterator[str]:
    """Yield one path of each kind of files."""
    seen: set[str] = set()
    for path in Manifest.parse((tree / NAME).read_bytes()).files:
        if kind_of(path) not in seen:
            seen.add(kind_of(path))
            yield path


SERVICES = (
    "management: {dns: [192.0.2.53], syslog: [192.0.2.14], access: [172.16.0.0/12], ntp: [192.0.2.123]}\n"
)
"""Each decides whether a switch of FRR has a file."""


@pytest.mark.parametrize(
    "name",
    [
        "lab-smallest",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "storage-zone",
                "tenant-front-end",
                "rack-zone-512",
                "whole-cluster-256",
                "gb200-nvl72-su",
            )
        ),
    ],
)
def test_every_kind_of_file_is_required_by_the_plan(tmp_path: Path, name: str) -> None:
    shutil.copytree(_INVENTORIES / name, tmp_path / name)
    spec = tmp_path / name / "cluster.yaml"
    spec.write_text(f"{spec.read_text()}{SERVICES if name == 'lab-smallest' else ''}")
    assert run(["build", str(spec), "-o", str(tmp_path / "out")]) == 0
    tree = next(path for path in (tmp_path / "out").iterdir() if (path / NAME).is_file())
    assert accepted_removals(tree) == set()


INFINIBAND = """\
cluster: {name}
fabric: infiniband
gpus: {{model: dgx-h100, hosts: 4, hosts_per_unit: 2, os: {system}}}
tors: {{model: qm9700, uplinks: 2}}
spines: {{model: qm9700, count: 2}}
infiniband:
  partitions:
    a: {{pkey: 17, units: [su001]}}
    b: {{pkey: 18, units: [su001, su002]}}
"""
ROCE = """\
cluster: {name}
gpus: {{model: {model}, hosts: 4, hosts_per_unit: 2, os: rhel-9}}
tors: {{model: sn5600, nos: sonic, uplinks: 2}}
spines: {{model: sn5600, nos: sonic, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  default: {{}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        INFINIBAND.format(name="ubuntu", system="ubuntu-24.04"),
        INFINIBAND.format(name="rhel", system="rhel-9"),
        INFINIBAND.format(name="plain", system="rhel-9").partition("infiniband:\n  part")[0],
        ROCE.format(name="nvidia", model="dgx-h100"),
        ROCE.format(name="amd", model="mi325x-pollara"),
    ],
    ids=["infiniband-ubuntu", "infiniband-rhel", "infiniband-plain", "roce-nvidia", "roce-amd"],
)
def test_files_that_all_hosts_of_a_kind_lack_are_required(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.yaml").write_text(text)
    assert run(["build", str(tmp_path / "cluster.yaml"), "-o", str(tmp_path / "out")]) == 0
    assert (
        accepted_removals(next(path for path in (tmp_path / "out").iterdir() if (path / NAME).is_file()))
        == set()
    )


def test_files_that_depend_on_the_models_of_nics_and_gpus_are_required(clone: Clone) -> None:
    for path in ("jobs/nvshmem.env", "jobs/kubernetes/nic-configuration.yaml"):
        other = clone.top / "other"
        shutil.copytree(clone.tree, other)
        remove(other, path)
        status, printed = clone.reading("diff", str(other), str(other))
        assert status == 1
        assert f"{path} is a part of every such tree" in printed
        shutil.rmtree(other)


@pytest.mark.parametrize(
    "path",
    ["switches/spine01a/daemons", "hosts/su001-host01/etc/nccl.conf", "plan/classes.csv", "jobs/hosts.csv"],
)
@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)], ids=["older", "newer", "both"])
@pytest.mark.spread
def test_diff_rejects_trees_that_lack_a_file_and_its_row(
    clone: Clone, path: str, sides: tuple[int, ...]
) -> None:
    other = clone.top / "other" / "lab"
    shutil.copytree(clone.tree, other)
    pair = (clone.tree, other)
    for side in sides:
        remove(pair[side], path)
    status, printed = clone.reading("diff", *map(str, pair))
    assert status == 1
    assert "FAB6011" in printed
    assert path in printed
    assert "no device changes" not in printed
    checked, report = clone.reading("check", str(pair[sides[0]]), "--spec", "cluster.yaml")
    assert checked == 1
    assert path.split("/")[-1] in report or "FAB6001" in report


@pytest.mark.parametrize(
    "prefix",
    ["switches/", "hosts/", "switches/spine01a/", "hosts/su001-host01/", "plan/", "jobs/", "acceptance/"],
)
@pytest.mark.spread
def test_whole_folders_are_missed_by_check_diff_and_push(clone: Clone, prefix: str) -> None:
    files = Manifest.parse((clone.tree / NAME).read_bytes()).files
    remove(clone.tree, *(path for path in files if path.startswith(prefix)))
    for words in (
        ("diff", str(clone.tree), str(clone.tree)),
        ("check", str(clone.tree), "--spec", "cluster.yaml"),
    ):
        status, printed = clone.reading(*words)
        assert status == 1, words
        assert "FAB6011" in printed
    with pytest.raises(TreeError) as caught:
        take_snapshot(clone.tree)
    assert {each.code for each in caught.value.diagnostics} == {"FAB6011"}


def test_check_knows_the_files_that_only_the_spec_names(clone: Clone) -> None:
    remove(clone.tree, "jobs/nvshmem.env")
    status, printed = clone.reading("check", str(clone.tree), "--spec", "cluster.yaml")
    assert status == 1
    assert "jobs/nvshmem.env" in printed


def test_push_and_verify_reject_a_tree_without_a_file_of_its_plan(clone: Clone) -> None:
    remove(clone.tree, "hosts/su001-host01/apply")
    for words in (("push", "--plan"), ("verify",)):
        status, printed = clone.fabricc(words[0], str(clone.tree), "--spec", "cluster.yaml", *words[1:])
        assert status in (1, 2), words
        assert "FAB6011" in printed
        assert "FAB9120" in printed


@pytest.mark.parametrize(
    ("path", "whole", "part"),
    [
        ("plan/cabling.csv", r"(?s)(host,\S+?host01,).*", r"\1"),
        ("plan/cabling.csv", r"^kind", "nothing"),
        ("plan/cabling.csv", r"(?s).*", ""),
        ("plan/fabric.json", r'"nos": "frr"', '"nos": ["frr"]'),
        ("jobs/hosts.csv", r"(?s)\n.*", "\nx"),
    ],
)
def test_a_damaged_table_is_a_finding(clone: Clone, path: str, whole: str, part: str) -> None:
    text = (clone.tree / path).read_text()
    damaged = re.sub(whole, part, text, count=1)
    assert damaged != text
    (clone.tree / path).write_text(damaged)
    status, printed = clone.fabricc("check", str(clone.tree), "--spec", "cluster.yaml")
    assert status == 1
    assert f"{path} was changed after the build wrote it" in printed


def test_explain_reports_what_the_tree_lacks(clone: Clone) -> None:
    remove(clone.tree, "switches/spine01a/daemons")
    status, printed = clone.fabricc("explain", f"{clone.tree}/switches/spine01a/frr.conf:3")
    assert status == 0
    assert "switches/spine01a/daemons" in printed


def test_a_tree_of_another_version_is_compared_with_its_own_plan(clone: Clone) -> None:
    """The lists of names are those of this version, so an older tree may lack a table, but no device."""
    manifest = clone.tree / NAME
    manifest.write_text(manifest.read_text().replace('"version": "', '"version": "0.0.1-', 1))
    remove(clone.tree, "plan/worksheet.json", "jobs/ucx.conf")
    assert clone.reading("diff", str(clone.tree), str(clone.tree))[0] == 0
    remove(clone.tree, "switches/spine01a/daemons")
    status, printed = clone.reading("diff", str(clone.tree), str(clone.tree))
    assert status == 1
    assert "switches/spine01a/daemons" in printed
