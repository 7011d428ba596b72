"""Every back end compiles and proves every way to address and route, two tiers and three."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import product
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.driver import build_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOXES = {"eos": "7060x6-64pe", "sonic": "sn5600", "frr": "linux-64x400"}
FAMILIES, LINKS = ("ipv4", "ipv6", "dual"), ("numbered", "unnumbered")
LAB = [{"code": code, "reason": "routing is what is tried here"} for code in ("FAB5201", "FAB5202")]


def each_way() -> Iterator[object]:
    """Every way; the ordinary run has every pair of values of any two."""
    for nos, family, links, cores in product(enumerate(BOXES), enumerate(FAMILIES), enumerate(LINKS), (0, 1)):
        tiers = "three tiers" if cores else "two tiers"
        odd = (nos[0] + family[0] + links[0] + cores) % 2
        yield pytest.param(
            nos[1], family[1], links[1], bool(cores), id=f"{nos[1]}-{family[1]}-{links[1]}-{tiers}",
            marks=[pytest.mark.slow] * odd,
        )  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(("nos", "family", "links", "cores"), [*each_way()])
def test_it_compiles_and_reads_back(nos: str, family: str, links: str, cores: bool, tmp_path: Path) -> None:
    box = {"model": BOXES[nos], "nos": nos, "uplink_gbps": 400}
    spec = {
        "cluster": "matrix",
        "gpus": {"model": "dgx-h100", "hosts": 9, "hosts_per_unit": 4},
        "tors": box,
        "spines": box if cores else {key: value for key, value in box.items() if key != "uplink_gbps"},
        "addressing": {"family": family, "fabric_links": links},
        "routing": {"spine_asn": "unique" if cores else "shared"},
        "overrides": {"su001-tor1a": {"drain": True}},
    }
    if cores:
        spec["spines"] = {**box, "units_per_pod": 2}
        spec["cores"] = {"model": BOXES[nos], "nos": nos}
    if nos == "frr":
        spec["accept"] = LAB
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(spec, indent=1))
    result, _ = build_tree(path, tmp_path / "build")
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR] == []
    files = sorted((tmp_path / "build" / "matrix" / "switches").glob("*/frr.conf"))
    if files and shutil.which("vtysh"):
        for file in (files[0], files[-1]):
            done = subprocess.run(
                ["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, timeout=60
            )
            assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("gpus", "spines", "subnets"),
    [
        ({"hosts": 4, "rails_per_tor": 0}, None, 1),
        ({"hosts": 4, "wiring": "rail-only"}, None, 8),
        ({"hosts": 8, "wiring": "rail-only"}, {"model": "qm9700"}, 8),
    ],
    ids=["one leaf", "rails without spines", "rails of their own"],
)
def test_every_plane_of_infiniband_is_a_subnet(
    gpus: dict[str, object], spines: dict[str, str] | None, subnets: int, tmp_path: Path
) -> None:
    spec: dict[str, object] = {
        "cluster": "matrix",
        "fabric": "infiniband",
        "gpus": {"model": "dgx-h100", "hosts_per_unit": 4, **gpus},
        "tors": {"model": "qm9700"},
    }
    if spines:
        spec["spines"] = spines
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(spec, indent=1))
    result, _ = build_tree(path, tmp_path / "build")
    assert [d.message for d in result.diagnostics if d.severity is Severity.ERROR] == []
    assert len(list((tmp_path / "build" / "matrix" / "subnets").iterdir())) == subnets
