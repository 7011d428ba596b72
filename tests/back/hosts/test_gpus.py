"""Hosts get the modules, settings and resources of their own GPUs' maker, and hosts of NVIDIA what they always had."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.back.hosts import planned, read, render
from fabricc.back.jobs.files import job_files
from fabricc.back.jobs.settings import mori_settings, nvshmem_settings
from fabricc.catalog.library import MODELS
from fabricc.catalog.load import load_catalog
from fabricc.proof.invariants.contract import host_breaches, host_contracts
from tests.back.hosts.variants import VARIANTS, with_amd, with_nic
from tests.front.planning.support import make_document
from tests.front.planning.support import planned as planned_spec

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.model import Host

NIC_NAMES = ("connectx-7", "thor2", "pollara")
MODULES = "etc/modules-load.d/fabricc.conf"


def setting_lines(text: str) -> set[str]:
    return {line for line in text.splitlines() if line and line[0] != "#"}


def job_tree(vendor: str) -> dict[str, str]:
    spec: dict[str, Any] = make_document(gpus={"hosts": 8, "hosts_per_unit": 4})
    built = planned_spec(spec).fabric
    assert built is not None
    models = tuple(replace(model, gpu_vendor=vendor) for model in built.host_models)
    return job_files(replace(built, host_models=models))


@pytest.mark.parametrize("nic", NIC_NAMES)
def test_a_host_with_amd_gpus_has_nothing_of_nvidias(nic: str) -> None:
    host = with_amd(with_nic(nic))
    files = render(host)
    assert setting_lines(files[MODULES]) == {"ib_umad", "rdma_cm", "rdma_ucm"}
    assert not [path for path, text in files.items() if "nvidia" in text.lower() and path != "apply"]
    assert "etc/nccl.conf" not in files
    assert "NCCL_DMABUF_ENABLE=1" in files["etc/rccl.conf"].splitlines()
    reading = read(files)
    assert (reading.facts, reading.unknown) == (planned(host), [])


def test_host_model_without_a_vendor_has_nvidia_gpus() -> None:
    files = render(VARIANTS["plain"])
    assert setting_lines(files[MODULES]) == {"ib_umad", "rdma_cm", "rdma_ucm", "nvidia_peermem"}
    assert "etc/rccl.conf" not in files
    assert "DMABUF" not in files["etc/nccl.conf"]
    hosts = {name: model for name, model in load_catalog([])[0].hosts.items() if model.gpus}
    texts = {name: (MODELS / "hosts" / f"{name}.yaml").read_text("utf-8") for name in hosts}
    stating = {name for name, text in texts.items() if re.search(r"\n    (?:gpu_vendor|extends):", text)}
    assert {name for name, model in hosts.items() if model.gpu_vendor != "nvidia"} <= stating


@pytest.mark.parametrize("nic", NIC_NAMES)
def test_a_host_without_gpus_has_rdma_and_its_qos_and_nothing_of_gpus(nic: str) -> None:
    host = with_nic(nic)
    host = replace(host, model=replace(host.model, gpus=0, gpu_vendor="none"))
    files = render(host)
    assert setting_lines(files[MODULES]) == {"ib_umad", "rdma_cm", "rdma_ucm"}
    assert not {"etc/nccl.conf", "etc/rccl.conf"} & files.keys()
    assert "usr/local/sbin/fabricc-roce" in files
    reading = read(files)
    assert (reading.facts, reading.unknown) == (planned(host), [])
    assert not [path for path in reading.facts if path.startswith("nccl/")]


@pytest.mark.parametrize("lossless", [True, False])
def test_rdma_of_a_host_uses_the_class_of_its_group(lossless: bool) -> None:
    host = with_nic("connectx-7")
    second = replace(
        host.classes[1], name="storage", priority=4, dscps=(34,), data_dscp=34, lossless=lossless
    )
    host = replace(host, classes=(*host.classes, second))
    script = "usr/local/sbin/fabricc-roce"
    usual, other = render(host), render(replace(host, rdma_class="storage"))
    assert f"ROCE_TOS={26 << 2 | 2}" in usual[script].splitlines()
    assert f"ROCE_TOS={34 << 2 | 2}" in other[script].splitlines()
    assert f"NCCL_IB_TC={34 << 2 | 2}" in other["etc/nccl.conf"].splitlines()
    host = replace(host, rdma_class="storage")
    reading = read(other)
    assert (reading.facts, reading.unknown) == (planned(host), [])
    assert not list(host_breaches(host, reading, host_contracts(host, reading)))


def test_the_catalog_has_hosts_without_gpus() -> None:
    models = {name: model for name, model in load_catalog([])[0].hosts.items() if not model.gpus}
    assert {"storage-2x200", "storage-2x400", "cpu-2x100", "cpu-1x100"} <= models.keys()
    assert {model.gpu_vendor for model in models.values()} == {"none"}


@pytest.mark.parametrize("host", [VARIANTS["plain"], VARIANTS["isolated"]], ids=["paths", "isolated"])
def test_rccl_uses_pxn_only_where_nothing_else_joins_rails(host: Host) -> None:
    reported = "NCCL_PXN_DISABLE=0" in render(with_amd(host))["etc/rccl.conf"].splitlines()
    assert reported == host.rail_isolated
    assert "NCCL_PXN_DISABLE=0" in render(host)["etc/nccl.conf"].splitlines()


def test_one_sided_libraries_follow_the_gpus() -> None:
    assert (
        mori_settings(with_amd(VARIANTS["plain"]))
        == "MORI_RDMA_TC=106\nMORI_IO_TC=106\nMORI_SOCKET_IFNAME=eno1\n"
    )
    assert (
        mori_settings(with_amd(VARIANTS["lossy"]))
        == mori_settings(with_amd(VARIANTS["e810-iwarp"]))
        == nvshmem_settings(VARIANTS["lossy"])
        == ""
    )
    assert "jobs/mori.env" in job_tree("amd")
    assert "jobs/nvshmem.env" not in job_tree("amd")
    assert "jobs/mori.env" not in job_tree("nvidia")


@pytest.mark.parametrize(("vendor", "resource", "path"), [
    ("amd", "amd.com/gpu", "/etc/rccl.conf"), ("nvidia", "nvidia.com/gpu", "/etc/nccl.conf"),
])  # fmt: skip
def test_pod_requests_the_gpus_of_its_host(vendor: str, resource: str, path: str) -> None:
    pod = yaml.safe_load(job_tree(vendor)["jobs/kubernetes/pod.yaml"])
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"] == {resource: "8", "rdma/rails": "1"}
    assert container["volumeMounts"][0]["mountPath"] == path


def test_catalog_file_sets_the_gpu_vendor(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(
        "sources: {sheet: our procurement sheet}\nhosts:\n"
        "  ours: {extends: hgx-8gpu, gpu_vendor: amd, nic: {value: thor2, source: sheet}}\n"
        "  heirs: {extends: ours}\n"
    )
    catalog, diagnostics = load_catalog([file])
    assert not diagnostics
    assert catalog.hosts["ours"].gpu_vendor == catalog.hosts["heirs"].gpu_vendor == "amd"
    file.write_text("sources: {}\nhosts:\n  ours: {extends: hgx-8gpu, gpu_vendor: AMD}\n")
    assert [found.code for found in load_catalog([file])[1]] == ["FAB2103"]
