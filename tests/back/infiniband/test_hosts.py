"""Hosts: IPoIB by operating system, names by GUID or PCI address, NCCL; real tools accept the files."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.infiniband import host_files
from fabricc.back.infiniband.host_files import HostFiles, tenants_by_host
from fabricc.back.infiniband.job_files import job_files
from fabricc.fabric.infiniband_wiring import expand_hosts
from fabricc.proof.infiniband.subnets import prove_host
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets
from tests.wrecks import draw_damaged, draw_texts

if TYPE_CHECKING:
    from fabricc.fabric.infiniband import Host, InfinibandFabric

NETPLAN = next(
    (p for p in ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate") if Path(p).exists()), None
)
SYSTEMS = ("ubuntu-24.04", "rhel-9")


def make_spec(system: str, **more: Any) -> dict[str, Any]:
    return make_document(gpus={"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, "os": system}, **more)


def first_host(ib: InfinibandFabric) -> tuple[Host, dict[str, str]]:
    host = next(iter(expand_hosts(ib)))
    return host, dict(HostFiles(ib).render(host))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("tenants", [False, True])
def test_every_host_is_proved(system: str, tenants: bool) -> None:
    more = {"priorities": CLASSES, "infiniband": TENANTS} if tenants else {}
    ib = plan_subnets(make_spec(system, **more))
    renderer, members = HostFiles(ib), tenants_by_host(ib)
    for host in expand_hosts(ib):
        files = dict(renderer.render(host))
        assert list(prove_host(ib, host, files, members.get(host.name, ()))) == []


@pytest.mark.parametrize(
    ("system", "path", "old", "new"),
    [
        ("ubuntu-24.04", host_files.NETPLAN, "mtu: 4092", "mtu: 2044"),
        ("ubuntu-24.04", host_files.NETPLAN, "10.0.0.1/13", "10.0.0.9/13"),
        ("ubuntu-24.04", host_files.NETPLAN, "datagram", "connected"),
        ("rhel-9", host_files.keyfile_of("ib0"), "datagram", "connected"),
        ("ubuntu-24.04", host_files.SCRIPT, "LINK_TYPE=1", "LINK_TYPE=2"),
        ("ubuntu-24.04", host_files.SCRIPT, "lid=17 ", "lid=16 "),
        ("ubuntu-24.04", host_files.SCRIPT, "READ_REQUEST_BYTES=4096", "READ_REQUEST_BYTES=512"),
        ("rhel-9", "etc/modules-load.d/fabricc.conf", "rdma_ucm\n", ""),
        (
            "rhel-9",
            "etc/security/limits.d/90-rdma.conf",
            "root hard memlock unlimited",
            "root hard memlock 64",
        ),
        ("rhel-9", "apply", "end 3", "end 0"),
        ("ubuntu-24.04", host_files.NCCL, "mlx5_r7", "mlx5_7"),
        ("ubuntu-24.04", host_files.NCCL, "NCCL_IB_SL=0", "NCCL_IB_SL=4"),
        ("ubuntu-24.04", host_files.RULES, "NAME_FIXED mlx5_r3", "NAME_FIXED mlx5_3"),
    ],
)
def test_a_planted_fault_is_found(system: str, path: str, old: str, new: str) -> None:
    ib = plan_subnets(make_spec(system))
    host, files = first_host(ib)
    assert old in files[path]
    files[path] = files[path].replace(old, new, 1)
    assert {finding.code for finding in prove_host(ib, host, files)} == {"FAB6310"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_address_of_a_tenants_host_is_in_its_partition(system: str) -> None:
    """Hosts are limited members of the default partition: an address there would reach nobody."""
    _, files = first_host(plan_subnets(make_spec(system, priorities=CLASSES, infiniband=TENANTS)))
    holders = {path.rsplit("/", 1)[1] for path, text in files.items() if "10.0.0.1/13" in text}
    assert len(holders) == 1
    assert "ib0.8010" in holders.pop()
    assert "NCCL_IB_PKEY=1\n" in files[host_files.NCCL]
    assert "NCCL_IB_SL=1\n" in files[host_files.NCCL]


def test_nccl_has_no_gid_index_and_no_traffic_class() -> None:
    _, files = first_host(plan_subnets(make_document()))
    assert "GID_INDEX" not in files[host_files.NCCL]
    assert "NCCL_IB_TC" not in files[host_files.NCCL]


def test_names_are_by_guid_once_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "guids.yaml").write_text("su001-host01/rail0: 0x0c42a10300abcde0\n")
    _, files = first_host(plan_subnets(make_document(infiniband={"guids": "guids.yaml"}), folder=tmp_path))
    rules = files[host_files.RULES]
    assert 'ATTR{node_guid}=="0c42:a103:00ab:cde0"' in rules
    assert 'ATTR{address}=="*:0c:42:a1:03:00:ab:cd:e0"' in rules
    assert 'KERNELS=="0000:40:00.0"' in rules


def test_without_ipoib_there_are_no_interfaces() -> None:
    _, files = first_host(plan_subnets(make_document(infiniband={"ipoib": False})))
    assert not [path for path in files if path.startswith(("etc/netplan", "etc/systemd/network"))]
    assert "ib_ipoib" not in files["etc/modules-load.d/fabricc.conf"]
    assert 'SUBSYSTEM=="net"' not in files[host_files.RULES]


def test_netplan_accepts_the_file_in_datagram_mode(tmp_path: Path) -> None:
    if NETPLAN is None:
        pytest.skip("netplan is not installed")
    _, files = first_host(plan_subnets(make_document()))
    target = tmp_path / host_files.NETPLAN
    target.parent.mkdir(parents=True)
    target.write_text(files[host_files.NETPLAN])
    target.chmod(0o600)
    done = subprocess.run([NETPLAN, "--root-dir", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    network = next((tmp_path / "run" / "systemd" / "network").glob("*ib0.network")).read_text()
    assert "[IPoIB]\nMode=datagram" in network
    assert "Address=10.0.0.1/13" in network


@pytest.mark.parametrize("tenants", [False, True])
def test_networkmanager_reads_the_keyfiles_without_losing_a_word(tenants: bool) -> None:
    if not shutil.which("nmcli"):
        pytest.skip("nmcli is not installed")
    more = {"priorities": CLASSES, "infiniband": TENANTS} if tenants else {}
    _, files = first_host(plan_subnets(make_spec("rhel-9", **more)))
    keyfiles = {path: text for path, text in files.items() if path.startswith(host_files.CONNECTIONS)}
    assert len(keyfiles) == (16 if tenants else 8)
    for path, text in sorted(keyfiles.items())[:2]:
        command = ["nmcli", "--offline", "connection", "modify", "connection.autoconnect-slaves", "1"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, (path, done.stderr)
        kept = {line for line in done.stdout.splitlines() if "=" in line}
        lost = {line for line in text.splitlines() if "=" in line} - kept
        assert lost <= {"autoconnect=true"}, path


FABRICS = [plan_subnets(make_spec(system, priorities=CLASSES, infiniband=TENANTS)) for system in SYSTEMS]


@pytest.mark.parametrize("ib", FABRICS, ids=SYSTEMS)
@given(st.data())
def test_no_damage_of_a_file_makes_the_proof_raise(ib: InfinibandFabric, data: st.DataObject) -> None:
    host, files = first_host(ib)
    path = data.draw(st.sampled_from(sorted(files)))
    files[path] = data.draw(draw_damaged(files[path]) | draw_texts(files[path].split()))
    assert {finding.code for finding in prove_host(ib, host, files)} <= {"FAB6310"}


@pytest.mark.parametrize("section", ["infiniband", "connection", "ipv4"])
def test_a_keyfile_without_a_section_is_a_finding(section: str) -> None:
    host, files = first_host(plan_subnets(make_spec("rhel-9")))
    path = host_files.keyfile_of("ib0")
    files[path] = files[path].replace(f"[{section}]", "[other]")
    assert [found.code for found in prove_host(plan_subnets(make_spec("rhel-9")), host, files)][:1] == [
        "FAB6310"
    ]


def test_a_host_with_amd_gpus_has_the_file_that_rccl_reads() -> None:
    ib = plan_subnets(make_spec("ubuntu-24.04"))
    models = tuple(replace(model, gpu_vendor="amd") for model in ib.wiring.host_models)
    amd = replace(ib, wiring=replace(ib.wiring, host_models=models))
    host, files = first_host(amd)
    assert host_files.NCCL not in files
    assert "NCCL_DMABUF_ENABLE=1" in files["etc/rccl.conf"].splitlines()
    assert "NCCL_IB_TC" not in files["etc/rccl.conf"]
    assert list(prove_host(amd, host, files)) == []
    files["etc/rccl.conf"] = files["etc/rccl.conf"].replace("NCCL_IB_SL=0", "NCCL_IB_SL=4")
    assert [found.code for found in prove_host(amd, host, files)] == ["FAB6310"]
    assert "NCCL_DMABUF_ENABLE=1" in job_files(amd)["jobs/rccl.conf"].splitlines()
