"""Reviews of InfiniBand fabrics: subnets, hosts, cables and tenants, from specs, trees and revisions."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from fabricc.back.infiniband.device_reading import read_device, vocabulary
from fabricc.base.documents.schema import schema_path
from fabricc.cli.entry import run
from fabricc.compiler.compiled import compile_spec
from fabricc.interface import build
from fabricc.review.diff.model import Impact
from fabricc.review.diff.requested_review import review_change
from fabricc.review.diff.review_json import as_json
from tests.back.infiniband.support import CLASSES, TENANTS, make_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.review.diff.model import Review

    Spec = dict[str, Any]

BASE = make_document("dgx-h100", 4, 2, priorities=CLASSES, infiniband=TENANTS)
HOSTS = [f"su00{unit}-host0{host}" for unit in (1, 2) for host in (1, 2)]


def with_partition(spec: Spec, first: list[str], second: list[str]) -> None:
    spec["infiniband"]["partitions"] = {
        "tenant-a": {"pkey": 16, "hosts": first, "priority": "rdma"},
        "tenant-b": {"pkey": 17, "hosts": second},
    }


def grow_hosts(spec: Spec) -> None:
    spec["gpus"]["hosts"] = 6


def drop_partition(spec: Spec) -> None:
    spec["gpus"]["hosts"] = 2
    del spec["infiniband"]["partitions"]["tenant-b"]


CHANGES: dict[str, tuple[Callable[[Spec], object], str, Impact, int, str]] = {
    "a policy": (lambda s: s.update(policy={"forbid_removal": True}), "none", Impact.NONE, 0, ""),
    "weights of lanes": (
        lambda s: s["priorities"]["default"].update(weight_percent=40),
        "low", Impact.HITLESS, 0, "option qos vlarb low",
    ),
    "a routing engine": (
        lambda s: s["infiniband"].update(routing="updn"), "high", Impact.TRAFFIC_LOSS, 32, "routing engine",
    ),
    "a P_Key": (
        lambda s: s["infiniband"]["partitions"]["tenant-a"].update(pkey=20),
        "high", Impact.TRAFFIC_LOSS, 32, "P_Key of tenant-a",
    ),
    "a host in another tenant": (
        lambda s: with_partition(s, HOSTS[:1], HOSTS[1:]), "high", Impact.TRAFFIC_LOSS, 8, "members of partitions",
    ),
    "a class of a partition": (
        lambda s: s["infiniband"]["partitions"]["tenant-b"].update(priority="control"),
        "high", Impact.TRAFFIC_LOSS, 32, "service level",
    ),
    "no tenants": (
        lambda s: s["infiniband"].pop("partitions"),
        "high", Impact.TRAFFIC_LOSS, 32, "membership of ALL in the default partition",
    ),
    "the pool of IPoIB": (
        lambda s: s["infiniband"].update(ipoib={"pool": "10.64.0.0/10"}),
        "high", Impact.TRAFFIC_LOSS, 32, "address changes",
    ),
    "connected mode": (
        lambda s: s.update(
            infiniband={**TENANTS, "ipoib": {"mode": "connected"}},
            accept=[{"code": "FAB5806", "reason": "Old storage clients need large datagrams."}],
        ),
        "high", Impact.TRAFFIC_LOSS, 32, "mode of IP over InfiniBand",
    ),
    "longer cables": (
        lambda s: s.update(cables={"host": {"length_m": 7}}), "high", Impact.TRAFFIC_LOSS, 32, "cable length",
    ),
    "limits left to others": (
        lambda s: s["gpus"].update(leave_out=["locked-memory"]), "high", Impact.TRAFFIC_LOSS, 32, "limit",
    ),
    "another system of hosts": (
        lambda s: s["gpus"].update(os="rhel-9"), "high", Impact.TRAFFIC_LOSS, 32, "",
    ),
    "more hosts": (grow_hosts, "low", Impact.HITLESS, 0, "nodes that join"),
    "fewer hosts": (drop_partition, "high", Impact.TRAFFIC_LOSS, 0, "nodes that leave"),
}  # fmt: skip


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the spec, its lock and its tree."""
    folder = tmp_path_factory.mktemp("infiniband")
    spec = folder / "cluster.yaml"
    spec.write_text(json.dumps(BASE, indent=1))
    assert build(spec, folder / "build").tree is not None
    return folder


def change_spec(repo: Path, folder: Path, change: Callable[[Spec], object]) -> Path:
    words = copy.deepcopy(BASE)
    change(words)
    spec = folder / "cluster.yaml"
    spec.write_text(json.dumps(words, indent=1))
    shutil.copy(repo / "fabricc.lock", folder)
    return spec


def words_of(review: Review) -> str:
    return json.dumps(as_json(review))


@pytest.mark.spread
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_the_same_review_from_specs_and_from_trees(
    repo: Path, tmp_path: Path, name: str
) -> None:
    change, risk, impact, gpus, words = CHANGES[name]
    spec = change_spec(repo, tmp_path, change)
    review = review_change(repo / "cluster.yaml", spec)
    assert (review.risk, review.impact, review.gpus_affected) == (risk, impact, gpus)
    assert words in words_of(review)
    assert (review.groups == ()) == (risk == "none")
    tree = build(spec, tmp_path / "out").tree
    assert tree is not None
    of_trees = review_change(repo / "build" / "test", tree)
    assert [(g.devices, g.lines, g.files) for g in of_trees.groups] == [
        (g.devices, g.lines, g.files) for g in review.groups
    ]
    assert (of_trees.risk, of_trees.gpus_affected, of_trees.tenant_moves) == (risk, gpus, review.tenant_moves)
    assert review_change(tree, spec).groups == ()


def test_hosts_that_go_to_another_tenant_break_a_policy(repo: Path, tmp_path: Path) -> None:
    spec = change_spec(repo, tmp_path, lambda s: with_partition(s, HOSTS[:1], HOSTS[1:]))
    policy = tmp_path / "fabricc-policy.yaml"
    policy.write_text("forbid_tenant_moves: true\n")
    review = review_change(repo / "cluster.yaml", spec, policy=policy)
    assert review.tenant_moves == ("su001-host02 from tenant-a to tenant-b",)
    assert review.tenants == (
        "tenant tenant-a loses 8 ports of 1 host",
        "tenant tenant-b gains 8 ports of 1 host",
    )
    assert [each.code for each in review.violations] == ["FAB9048"]


def test_partitions_and_hosts_with_other_names_move_only_where_their_keys_change(
    repo: Path, tmp_path: Path
) -> None:
    """A rename hides no move, and is none."""

    def rename(spec: Spec, first: list[str], second: list[str]) -> None:
        with_partition(spec, first, second)
        own = spec["infiniband"]["partitions"]
        own["blue"] = own.pop("tenant-b")
        spec["gpus"]["hosts"] = [HOSTS[0], "moved", *HOSTS[2:]]
        spec["moved"] = {HOSTS[1]: "moved"}

    (listed := tmp_path / "listed").mkdir()
    base = change_spec(repo, listed, lambda s: s["gpus"].update(hosts=HOSTS))
    (listed / "fabricc.lock").write_text(compile_spec(base).lock_text)
    found = {}
    for name, first in (("renamed", [HOSTS[0], "moved"]), ("moved too", [HOSTS[0]])):
        second = [host for host in ("moved", *HOSTS[2:]) if host not in first]
        (folder := tmp_path / name).mkdir()
        spec = change_spec(repo, folder, lambda s, a=first, b=second: rename(s, a, b))  # type: ignore[misc]
        shutil.copy(listed / "fabricc.lock", folder)
        found[name] = review_change(base, spec)
        tree = build(spec, folder / "out").tree
        assert tree is not None
        assert review_change(base, tree).tenant_moves == found[name].tenant_moves
    assert (found["renamed"].tenant_moves, found["renamed"].tenants) == (
        (),
        ("tenant tenant-b becomes blue",),
    )
    assert found["moved too"].tenant_moves == ("moved from tenant-a to blue",)


def test_real_guids_in_place_of_placeholders_are_hitless_and_others_are_not(
    repo: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, guid in ((first, "0x506b4b0300a1b2c4"), (second, "0x506b4b0300a1b2c5")):
        folder.mkdir()
        (folder / "guids.yaml").write_text(f"su001-tor1a: {guid}\nsu001-host01/rail0: 0c42:a103:00ab:cde0\n")
        change_spec(repo, folder, lambda s: s["infiniband"].update(guids="guids.yaml"))
    specs = [each / "cluster.yaml" for each in (first, second)]
    assert review_change(repo / "cluster.yaml", specs[0]).risk == "low"
    review = review_change(specs[0], specs[1])
    assert (review.risk, review.spec_changes) == ("high", ())


@pytest.mark.parametrize(
    ("template", "line", "subject"),
    [
        ("opensm.conf.j2", "part_enforce off", "opensm/part_enforce"),
        ("opensm.conf.j2", "event_plugin_name notes", "opensm/event_plugin_name"),
        ("opensm.conf.j2", "babbling_port_policy TRUE", "opensm/babbling_port_policy"),
        ("opensm.conf.j2", "WITHOUT MEANING", "text"),
        ("nccl.conf.j2", "NCCL_IB_DISABLE=1", "nccl/ib_disable"),
        ("nccl.conf.j2", "export PATH=/tmp", "text"),
    ],
)  # fmt: skip
@pytest.mark.spread
def test_lines_of_own_templates_are_reviewed(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str, line: str, subject: str
) -> None:
    own = tmp_path / "templates" / "infiniband"
    own.mkdir(parents=True)
    text = (Path(__file__).parents[3] / "templates" / "infiniband" / template).read_text()
    text = text.replace("part_enforce both\n", "") if line.startswith("part_enforce") else text
    (own / template).write_text(f"{text}{line}\n")
    tree = repo / "build" / "test"
    assert (
        run(
            [
                "diff",
                str(tree),
                str(repo / "cluster.yaml"),
                "--templates",
                str(own.parent),
                "--format",
                "json",
            ]
        )
        == 0
    )
    review = json.loads(capsys.readouterr().out)
    subjects = {change["subject"] for group in review["groups"] for change in group["facts"]}
    assert subject in {each.partition(" ")[0] for each in subjects}, subjects
    assert review["risk"] == "high"
    if "part_enforce" in line or "plugin" in line or subject == "text":
        assert review["access_changes"]


@pytest.mark.parametrize("format_", ["text", "md", "json", "sarif", "github", "junit", "gitlab"])
def test_every_format_prints_the_review(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    spec = change_spec(repo, tmp_path, lambda s: with_partition(s, HOSTS[:1], HOSTS[1:]))
    arguments = ["diff", str(repo / "cluster.yaml"), str(spec), "--format", format_, "--detailed-exitcode"]
    assert run(arguments) == 2
    text = capsys.readouterr().out
    assert text
    if format_ == "json":
        jsonschema.validate(json.loads(text), json.loads(schema_path("diff").read_text("utf-8")))
    if format_ in ("text", "md"):
        assert "1 subnet, 1 host change" in text
        assert "no device changes" not in text
        assert "BGP" not in text
        assert "subnets with other files" in text
        assert "1 of 1" in text


def test_every_fact_of_a_tree_is_declared_and_every_line_is_read(repo: Path) -> None:
    words, tree = vocabulary(), repo / "build" / "test"
    for device in (*(tree / "subnets").iterdir(), *(tree / "hosts").iterdir()):
        files = {str(p.relative_to(device)): p.read_text() for p in device.rglob("*") if p.is_file()}
        reading = read_device(files)
        assert reading.unknown == []
        rows = {path: words.row(path) for path in reading.facts}
        undeclared = {path for path, row in rows.items() if not row.declared}
        assert {
            each for each in undeclared if not each.startswith(("opensm/", "interface[", "apply/"))
        } == set()
        for row in rows.values():
            assert set(row.impact.values()) <= words.impacts.keys()
            assert row.theme in words.themes
    schema = json.loads(schema_path("facts").read_text("utf-8"))
    text = (Path(read_device.__code__.co_filename).parent / "facts.yaml").read_text("utf-8")
    jsonschema.validate(yaml.safe_load(text), schema)


def test_ethernet_in_place_of_infiniband_is_no_small_change(repo: Path, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    box = {"model": "sn5600", "nos": "cumulus-5.15"}
    gpus = {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 2}
    spec.write_text(json.dumps({"cluster": "test", "gpus": gpus, "tors": box, "spines": box}))
    review = review_change(repo / "cluster.yaml", spec)
    assert (review.risk, review.gpus_affected) == ("high", 32)
    assert review_change(spec, repo / "cluster.yaml").risk == "high"


def test_storage_of_infiniband_is_compared(repo: Path, tmp_path: Path) -> None:
    words = {key: value for key, value in BASE.items() if key != "priorities"}
    words |= {"network": {"name": "storage"}, "cluster": "storage", "infiniband": {}}
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(json.dumps(words))
    second.write_text(json.dumps({**words, "infiniband": {"routing": "updn"}}))
    assert review_change(first, first).groups == ()
    review = review_change(first, second)
    assert (review.impact, review.risk) == (Impact.TRAFFIC_LOSS, "high")
