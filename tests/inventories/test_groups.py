"""Hosts without GPUs and a storage class, lossless or not: every NOS builds them, proved from what it wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricc.base.diagnostics import Severity
from fabricc.compiler.driver import build_tree
from tests.back.nos.feature_table import KEY, MODELS

INVENTORIES = Path(__file__).parents[2] / "inventories"
ACCEPTED = [{"code": code, "reason": "routing is what is tried here"} for code in ("FAB5201", "FAB5202")]
WITHOUT_100G = ("eos", "junos")
"""Systems whose box here has no port of 100G."""
ONE_LOSSLESS = ("junos",)
"""Systems whose box here has not the headroom for two lossless classes; they are refused with numbers."""


def mixed_spec(nos: str, model: str, lossless: bool) -> dict[str, Any]:
    login = "storage-2x400" if nos in WITHOUT_100G else "cpu-2x100"
    return {
        "cluster": "mixed",
        "gpus": {
            "groups": [
                {"name": "compute", "model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
                {"name": "storage", "model": "storage-2x400", "hosts": 6, "hosts_per_unit": 4, "class": "storage"},
                {"name": "login", "model": login, "hosts": 2, "hosts_per_unit": 1, "beside": "compute"},
            ]
        },
        "tors": {"model": model, "nos": nos},
        "spines": {"model": model, "nos": nos},
        "priorities": {
            "rdma": {"dscp": 26, "lossless": True},
            "storage": {"dscp": 34, "lossless": lossless},
            "cnp": {"dscp": 48, "strict": True},
            "default": {},
        },
        "management": {"users": [{"name": "netops", "ssh_key": KEY}]},
        "accept": ACCEPTED if nos == "frr" else [],
    }  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize("lossless", [True, False], ids=["lossless", "lossy"])
@pytest.mark.parametrize(("nos", "model"), MODELS, ids=[nos for nos, _ in MODELS])
def test_every_nos_builds_and_proves_them(nos: str, model: str, lossless: bool, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(mixed_spec(nos, model, lossless)))
    result, _ = build_tree(path, tmp_path / "build")
    wrong = {each.code: each for each in result.diagnostics if each.severity is Severity.ERROR}
    if lossless and nos in ONE_LOSSLESS:
        assert wrong.keys() == {"FAB5510"}
        assert "fewer lossless classes" in wrong["FAB5510"].help
        return
    assert wrong == {}
    assert (result.counts["hosts"], result.counts["hosts_without_gpus"], result.counts["tors"]) == (16, 8, 20)
    tree = tmp_path / "build" / "mixed"
    storage, compute = (
        tree / "hosts" / name / "usr/local/sbin/fabricc-roce" for name in ("su003-host01", "su001-host01")
    )
    assert f"ROCE_TOS={34 << 2 | 2}" in storage.read_text().splitlines()
    assert f"ROCE_TOS={26 << 2 | 2}" in compute.read_text().splitlines()
    ranks = list(csv.DictReader((tree / "jobs" / "hosts.csv").open()))
    assert {row["model"] for row in ranks} == {"dgx-h100"}
    assert [int(row["first_rank"]) for row in ranks] == [8 * number for number in range(8)]
    cabled = list(csv.DictReader((tree / "plan" / "cabling.csv").open()))
    assert sum(row["kind"] == "host" for row in cabled) == 8 * 8 + 8 * 2


@pytest.mark.slow
def test_they_join_a_cluster_of_several_networks(tmp_path: Path) -> None:
    found = yaml.safe_load((INVENTORIES / "whole-cluster-256" / "cluster.yaml").read_text())
    gpus = found["gpus"]
    compute = {key: gpus.pop(key) for key in ("model", "hosts", "hosts_per_unit")}
    node = {"model": "storage-2x400"}
    gpus["groups"] = [
        {"name": "gpus", **compute},
        {"name": "store", "hosts": 6, "hosts_per_unit": 4, **node},
        {"name": "login", "hosts": 2, "hosts_per_unit": 1, "beside": "gpus", **node},
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(found))
    result, _ = build_tree(path, tmp_path / "build")
    assert [each.code for each in result.diagnostics if each.severity is Severity.ERROR] == []
    assert (result.counts["gpus"], result.counts["hosts_without_gpus"]) == (256, 8)
    tree = tmp_path / "build" / "whole-cluster-256"
    assert not (tree / "hosts" / "su003-host01" / "etc" / "nccl.conf").exists()
    assert (tree / "hosts" / "su001-login01" / "etc" / "netplan" / "60-fabricc.yaml").exists()
