"""Job files of InfiniBand fabrics: the hosts' own settings, Slurm's tree, tenants, and nothing of RoCE."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.back.infiniband.cabling import fabric_summary
from fabricc.back.infiniband.host_files import NCCL, HostFiles
from fabricc.back.infiniband.job_files import job_files
from fabricc.fabric.infiniband_wiring import expand_hosts
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets

if TYPE_CHECKING:
    from pathlib import Path


def parse_keys(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


def test_hosts_stand_in_topological_order_with_their_ranks() -> None:
    ib = plan_subnets(make_document())
    files, names = job_files(ib), [host.name for host in expand_hosts(ib)]
    assert files["jobs/hostfile"].splitlines() == [f"{name} slots=8" for name in names]
    rows = [line.split(",") for line in files["jobs/hosts.csv"].splitlines()[1:]]
    assert [(row[0], row[1], int(row[4])) for row in rows] == [
        (name, name.split("-")[0], 8 * place) for place, name in enumerate(names)
    ]


def test_libraries_have_the_settings_of_the_hosts_and_none_of_roce() -> None:
    ib = plan_subnets(make_document(priorities=CLASSES))
    files, host = job_files(ib), next(expand_hosts(ib))
    assert files["jobs/nccl.conf"] == files["jobs/rccl.conf"] == dict(HostFiles(ib).render(host))[NCCL]
    nccl, ucx = parse_keys(files["jobs/nccl.conf"]), parse_keys(files["jobs/ucx.conf"])
    assert nccl["NCCL_IB_HCA"] == f"={ucx['UCX_NET_DEVICES']}"
    shmem = parse_keys(files["jobs/nvshmem.env"])
    assert shmem["NVSHMEM_HCA_LIST"] == ucx["UCX_NET_DEVICES"]
    assert shmem["NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"] == nccl["NCCL_SOCKET_IFNAME"]
    assert nccl["NCCL_IB_SL"] == ucx["UCX_IB_SL"] == shmem["NVSHMEM_IB_SL"] == "1"
    everything = "".join(f"{path}\n{text}" for path, text in files.items() if "/launch/" not in path)
    assert not [word for word in ("NCCL_IB_TC", "GID_INDEX", "TRAFFIC_CLASS", "ROCE") if word in everything]
    assert "jobs/launch/gid-index.sh" not in files


def test_rails_are_those_of_ip_over_infiniband() -> None:
    lines = job_files(plan_subnets(make_document()))["jobs/rails.csv"].splitlines()
    assert lines[1] == "dgx-h100,0,0,ib0,mlx5_r0,400,0000:18:00.0"
    assert len(lines) == 1 + 8


def test_slurm_and_kubernetes_see_units_as_leaves() -> None:
    files = job_files(plan_subnets(make_document()))
    assert files["jobs/slurm/topology.conf"].splitlines() == [
        "SwitchName=su001 Nodes=su001-host[01-04]",
        "SwitchName=su002 Nodes=su002-host[01-04]",
        "SwitchName=spine Switches=su[001-002]",
    ]
    assert "leaf=su002" in files["jobs/kubernetes/label-nodes.sh"]


def test_hosts_of_one_tenant_have_its_key_and_others_none() -> None:
    everyone = job_files(plan_subnets(make_document(priorities=CLASSES, infiniband=TENANTS)))
    assert "NCCL_IB_PKEY=1" in everyone["jobs/nccl.conf"]
    some = {"partitions": {"tenant-a": {"pkey": 16, "units": ["su001"]}}}
    files = job_files(plan_subnets(make_document(infiniband=some)))
    settings = {path: "NCCL_IB_PKEY" in text for path, text in files.items() if path.startswith("jobs/nccl")}
    assert settings == {"jobs/nccl-dgx-h100-tenant.conf": True, "jobs/nccl-dgx-h100.conf": False}
    assert "jobs/ucx.conf" in files
    assert parse_keys(everyone["jobs/nvshmem.env"])["NVSHMEM_IB_PKEY_INDEX"] == "1"
    assert "NVSHMEM_IB_PKEY_INDEX=1" in files["jobs/nvshmem-dgx-h100-tenant.env"]
    assert "PKEY" not in files["jobs/nvshmem-dgx-h100.env"]


def test_the_files_of_a_partition_have_its_whole_hosts_alone() -> None:
    """A host that two partitions divide is in the files of neither."""
    tenants = {
        "acme": {"hosts": ["su001-host01..03"]},
        "globex": {"racks": ["su002"]},
        "shared": {"hosts": ["su001-host04"], "gpus": ["0-3"]},
        "rest": {"hosts": ["su001-host04"], "gpus": ["4-7"]},
    }
    gpus = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4}
    files = job_files(plan_subnets(make_document(gpus=gpus, tenants=tenants)))
    of_tenants = {path: text for path, text in files.items() if path.startswith("jobs/tenants/")}
    assert {path.split("/")[2] for path in of_tenants} == {"acme", "globex"}
    assert files["jobs/tenants/acme/hostfile"].split()[::2] == [f"su001-host0{at}" for at in (1, 2, 3)]
    assert "su002-host[01-04]" in files["jobs/tenants/globex/slurm/topology.conf"]
    foreign = {"acme": ("su002", "su001-host04", "globex"), "globex": ("su001", "acme")}
    for path, text in of_tenants.items():
        assert not [name for name in foreign[path.split("/")[2]] if name in text], path
    assert all("NCCL_IB_PKEY=1" in text for path, text in of_tenants.items() if path.endswith("/nccl.conf"))
    assert "jobs/tenants/acme/nccl.conf" in of_tenants


@pytest.mark.skipif(not shutil.which("ucx_info"), reason="UCX is not installed")
def test_ucx_takes_the_settings(tmp_path: Path) -> None:
    text = job_files(plan_subnets(make_document(priorities=CLASSES)))["jobs/ucx.conf"]
    (tmp_path / "ucx.conf").write_text(text)
    environment = {**os.environ, "UCX_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(["ucx_info", "-c"], env=environment, capture_output=True, text=True, check=True)
    seen = [line for line in done.stdout.splitlines() if line.startswith("UCX_")]
    assert f"UCX_NET_DEVICES={parse_keys(text)['UCX_NET_DEVICES']}" in seen
    levels = {line.split("=")[1] for line in seen if line.split("=")[0].endswith("_SL")}
    if not levels:
        pytest.skip("this UCX was built without RDMA transports")
    assert levels == {"1"}


def test_nvlink_domains_are_reported_as_on_ethernet() -> None:
    """GB300 with XDR: two racks of 18 trays behind each set of rail switches, four NICs of 800G a tray."""
    racks = ["a01", "a02", "a03", "a04"]
    spec = make_document(
        gpus={"model": "gb300-nvl72", "racks": racks, "hosts_per_rack": 18, "hosts_per_unit": 36},
        tors={"model": "q3400"},
        spines={"model": "q3400"},
    )
    ib = plan_subnets(spec)
    files = job_files(ib)
    assert fabric_summary(ib, {})["racks"] == {
        rack: [f"{rack}-host{n:02d}" for n in range(1, 19)] for rack in racks
    }
    blocks = [f"BlockName={rack} Nodes={rack}-host[01-18]" for rack in racks]
    assert files["jobs/slurm/topology-block.conf"].splitlines() == [*blocks, "BlockSizes=18"]
    for rack in racks:
        assert files[f"jobs/imex/{rack}.cfg"] == "".join(f"{rack}-host{n:02d}\n" for n in range(1, 19))
        assert f" fabricc/nvlink-domain={rack} " in files["jobs/kubernetes/label-nodes.sh"]
