"""A scalable unit of NVL72 racks has its published sizes, and every rack is one NVLink domain in all that jobs read.

NVIDIA, DGX SuperPOD reference architecture for GB200: 8 racks a scalable unit, of 18 compute trays and 72 GPUs each.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from fabricc.back.jobs.files import job_files
from fabricc.compiler.compiled import compile_spec

SPEC = Path(__file__).parents[2] / "inventories" / "gb200-nvl72-su" / "cluster.yaml"
RACKS = [f"a{number:02d}" for number in range(1, 9)]


def test_a_scalable_unit_is_eight_racks_of_72_gpus_with_a_400g_port_each() -> None:
    fabric = compile_spec(SPEC).fabric
    assert fabric is not None
    gpus: Counter[str] = Counter()
    for at in fabric.host_ids():
        host = fabric.host(at)
        assert [port.speed_gbps for port in host.ports] == [400] * host.model.gpus
        gpus[host.domain] += host.model.gpus
    assert gpus == dict.fromkeys(RACKS, 72)
    assert fabric.counts()["host_cables"] == fabric.counts()["gpus"] == 576


def test_slurm_launchers_and_kubernetes_have_eight_domains_of_eighteen_trays() -> None:
    fabric = compile_spec(SPEC).fabric
    assert fabric is not None
    files = job_files(fabric)
    *blocks, sizes = files["jobs/slurm/topology-block.conf"].splitlines()
    assert blocks == [f"BlockName={rack} Nodes={rack}-host[01-18]" for rack in RACKS]
    assert sizes == "BlockSizes=18"
    rows = csv.DictReader(files["jobs/hosts.csv"].splitlines())
    assert [row["nvlink_domain"] for row in rows] == [rack for rack in RACKS for _ in range(18)]
    labels = files["jobs/kubernetes/label-nodes.sh"]
    assert [labels.count(f"fabricc/nvlink-domain={rack} ") for rack in RACKS] == [1] * 8
