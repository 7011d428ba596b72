"""Specs small enough for a lab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.lab.steady import Network

if TYPE_CHECKING:
    from fabricc.operate.lab.lab_fabric import LabFabric

INVENTORIES = [
    spec
    for spec in sorted(Path(__file__).parents[3].joinpath("inventories").glob("*/cluster.yaml"))
    if not {"fabric: infiniband", "networks:", "evpn:"} & {*spec.read_text().splitlines()}
]
"""Every inventory of one routed network of Ethernet: a lab of namespaces has no InfiniBand and no segments."""
SPECS = [
    pytest.param(
        spec, id=spec.parent.name, marks=[pytest.mark.slow] * (spec.parent.name == "hpn-dual-plane-pod")
    )
    for spec in INVENTORIES
]
"""The same as parameters, the one that takes longest in the long run."""

TWO_TIERS = """\
cluster: {cluster}
gpus: {{model: lab-host, hosts: {hosts}, hosts_per_unit: 2}}
tors: {{model: linux-16x100, nos: frr, uplinks: 2}}
spines: {{model: linux-16x100, nos: frr, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
{more}
accept:
  - {{code: FAB5201, reason: a lab has no queues}}
  - {{code: FAB5202, reason: a lab has no queues}}
"""
ONE_TOR = """\
cluster: lone
gpus: {model: lab-host, hosts: 2, hosts_per_unit: 2, rails_per_tor: 0}
tors: {model: linux-16x100, nos: frr}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
accept:
  - {code: FAB5201, reason: a lab has no queues}
  - {code: FAB5202, reason: a lab has no queues}
"""
THREE_TIERS = """\
cluster: tall
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 1}
tors: {model: linux-16x100, nos: frr, uplinks: 2}
spines: {model: linux-16x100, nos: frr, count: 2, uplinks: 2, units_per_pod: 2}
cores: {model: linux-16x100, nos: frr}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
accept:
  - {code: FAB5201, reason: a lab has no queues}
  - {code: FAB5202, reason: a lab has no queues}
"""


def write(folder: Path, text: str) -> Path:
    """A spec in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "cluster.yaml"
    spec.write_text(text)
    return spec


def two_tiers(folder: Path, hosts: int = 4, cluster: str = "small", more: str = "") -> Path:
    """Two units of two hosts, four ToRs, two spines; more hosts on request."""
    return write(folder, TWO_TIERS.format(cluster=cluster, hosts=hosts, more=more))


def source(spec: Path, units: int | None = None) -> LabFabric:
    """A spec planned for the lab."""
    return read_source(spec, units, "8.4")


def network(spec: Path, units: int | None = None) -> Network:
    """Return its devices, without a lab behind them."""
    return Network.of(None, source(spec, units).fabric)  # type: ignore[arg-type]
