"""Collective libraries and launchers get the settings of hosts and switches, once and in topological order."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import nccl
from fabricc.back.hosts.nics import nic_qos
from fabricc.back.jobs.files import job_files
from fabricc.back.jobs.roster import list_hosts
from fabricc.back.jobs.settings import mori_settings, settings_files, ucx_settings
from fabricc.fabric.fabric import MOST, queue_pairs
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.hosts.variants import VARIANTS
from tests.back.jobs.fabrics import SPECS, fabric, files
from tests.front.planning.support import make_document, planned

if TYPE_CHECKING:
    from pathlib import Path


def parse_keys(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_hostfile_keeps_units_and_slots_in_order() -> None:
    built = fabric("rails")
    names = [unit.hosts[slot] for unit in built.units.values() for slot in sorted(unit.hosts)]
    assert files("rails")["jobs/hostfile"].splitlines() == [f"{name} slots=8" for name in names]


@pytest.mark.parametrize("name", SPECS)
def test_ranks_are_counted_through(name: str) -> None:
    rows = [line.split(",") for line in files(name)["jobs/hosts.csv"].splitlines()[1:]]
    first = [int(row[4]) for row in rows]
    gpus = {host.name: host.model.gpus for host in map(fabric(name).host, fabric(name).host_ids())}
    assert first == [0, *accumulate(gpus[row[0]] for row in rows[:-1])]


@pytest.mark.parametrize("name", SPECS)
def test_hosts_table_lists_nvlink_domains(name: str) -> None:
    planned = {host.name: host.domain for host in map(fabric(name).host, fabric(name).host_ids())}
    rows = list(csv.DictReader(files(name)["jobs/hosts.csv"].splitlines()))
    assert {row["host"]: row.get("nvlink_domain", "") for row in rows} == planned
    assert ("nvlink_domain" in rows[0]) == any(planned.values())


@pytest.mark.parametrize("name", SPECS)
def test_every_library_uses_the_lossless_class_and_the_real_devices(name: str) -> None:
    built = fabric(name)
    host = built.host(next(iter(built.host_ids())))
    dscp = nic_qos(host.classes).rdma_dscp
    nccl, ucx = parse_keys(files(name)["jobs/nccl.conf"]), parse_keys(files(name)["jobs/ucx.conf"])
    devices = ",".join(f"{port.rdma}:1" for port in host.ports)
    placed = ",".join(f"{port.rdma}:1:{port.rail}:{port.plane}" for port in host.ports)
    assert nccl["NCCL_IB_HCA"] == f"={devices if host.planes == 1 else placed}"
    assert ucx["UCX_NET_DEVICES"] == devices
    assert files(name)["jobs/rccl.conf"] == files(name)["jobs/nccl.conf"]
    stated = {nccl.get("NCCL_IB_TC"), ucx.get("UCX_IB_TRAFFIC_CLASS")}
    assert {None if tc is None else int(tc) >> 2 for tc in stated} == {dscp}
    assert "NCCL_IB_SL" not in nccl
    assert (
        nccl["NCCL_IB_QPS_PER_CONNECTION"]
        == ucx["UCX_IB_NUM_PATHS"]
        == str(queue_pairs(built.paths(0), built.load_balancing))
    )


def test_pxn_matters_where_rails_have_their_own_tors() -> None:
    assert parse_keys(files("rails")["jobs/nccl.conf"])["NCCL_PXN_DISABLE"] == "0"
    assert "NCCL_PXN_DISABLE" not in parse_keys(files("racks")["jobs/nccl.conf"])


@pytest.mark.parametrize("name", SPECS)
def test_more_queue_pairs_than_paths_are_never_advised(name: str) -> None:
    paths = fabric(name).paths(0)
    for mode in (Spreading.HASH, Spreading.FLOWLET):
        assert queue_pairs(paths, LoadBalancing(mode)) == min(MOST, paths)
    assert paths >= fabric(name).uplinks(0)


def test_one_queue_pair_is_enough_where_switches_spread_packets() -> None:
    assert queue_pairs(fabric("rails").paths(0), LoadBalancing(Spreading.PACKET)) == 1


def test_libraries_use_sockets_where_rdma_runs_over_tcp() -> None:
    host = VARIANTS["e810-iwarp"]
    assert parse_keys(nccl.render_text(host)) == {"NCCL_SOCKET_IFNAME": "=eno1", "NCCL_IB_DISABLE": "1"}
    assert parse_keys(ucx_settings(host)) == {"UCX_NET_DEVICES": "eno1", "UCX_TLS": "^ib"}


def test_kinds_of_hosts_that_differ_have_files_of_their_own() -> None:
    hosts = list_hosts(fabric("rails"), fabric("rails").host)
    kind = hosts.kinds[0]
    port = replace(kind.ports[0], rdma="mlx5_x0")
    other = replace(kind, ports=(port, *kind.ports[1:]), model=replace(kind.model, name="other"))
    again = replace(kind, recommended_qps=2)
    texts = settings_files(replace(hosts, kinds=(kind, other, again, kind)))
    assert sorted(name for name in texts if name.startswith("nccl")) == [
        "nccl-dgx-b200-2.conf", "nccl-dgx-b200.conf", "nccl-other.conf",
    ]  # fmt: skip
    assert "mlx5_x0" in texts["nccl-other.conf"]


@pytest.mark.skipif(not shutil.which("ucx_info"), reason="UCX is not installed")
def test_ucx_takes_the_settings_for_all_its_rdma_transports(tmp_path: Path) -> None:
    (tmp_path / "ucx.conf").write_text(files("rails")["jobs/ucx.conf"])
    environment = {**os.environ, "UCX_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(["ucx_info", "-c"], env=environment, capture_output=True, text=True, check=True)
    seen = parse_keys(
        "\n".join(line for line in done.stdout.splitlines() if line.startswith("UCX_") and "=" in line)
    )
    wanted = parse_keys(files("rails")["jobs/ucx.conf"])
    assert seen["UCX_NET_DEVICES"] == wanted["UCX_NET_DEVICES"]
    classes = {value for key, value in seen.items() if key.endswith("_TRAFFIC_CLASS")}
    if not classes:
        pytest.skip("this UCX was built without RDMA transports")
    assert classes == {wanted["UCX_IB_TRAFFIC_CLASS"]}
    assert {value for key, value in seen.items() if key.endswith("_NUM_PATHS")} == {
        wanted["UCX_IB_NUM_PATHS"]
    }


def test_nccl_splits_data_and_notice_where_switches_spread_packets() -> None:
    hashed = nccl.render_text(VARIANTS["dual-port"])
    spread = nccl.render_text(replace(VARIANTS["dual-port"], spreads_packets=True, recommended_qps=1))
    assert "NCCL_IB_ADAPTIVE_ROUTING" not in hashed
    assert parse_keys(spread)["NCCL_IB_ADAPTIVE_ROUTING"] == "1"
    assert "NCCL_IB_ADAPTIVE_ROUTING" not in nccl.render_text(
        replace(VARIANTS["e810-iwarp"], spreads_packets=True)
    )


def test_packet_spreading_sets_nccl_adaptive_routing() -> None:
    built = planned(
        make_document(gpus={"hosts": 8, "hosts_per_unit": 4}, load_balancing={"mode": "packet"})
    ).fabric
    assert built is not None
    assert parse_keys(job_files(built)["jobs/nccl.conf"])["NCCL_IB_ADAPTIVE_ROUTING"] == "1"
    assert "NCCL_IB_ADAPTIVE_ROUTING" not in files("rails")["jobs/nccl.conf"]


def test_nccl_settings_name_rail_and_plane_where_planes_never_meet() -> None:
    two_planes = replace(VARIANTS["dual-port"], planes=2)
    assert parse_keys(nccl.render_text(VARIANTS["dual-port"]))["NCCL_IB_HCA"].startswith(
        "=mlx5_r0a:1,mlx5_r0b:1,"
    )
    devices = parse_keys(nccl.render_text(two_planes))["NCCL_IB_HCA"].removeprefix("=").split(",")
    reported = [(port.rdma, "1", str(port.rail), str(port.nic_port)) for port in two_planes.ports]
    assert [tuple(device.split(":")) for device in devices] == reported


@pytest.mark.parametrize("name", SPECS)
def test_one_sided_libraries_send_in_the_lossless_class(name: str) -> None:
    built = files(name)
    if name == "lossy":
        assert "jobs/nvshmem.env" not in built
        return
    reported = parse_keys(built["jobs/nvshmem.env"])
    assert reported["NVSHMEM_IB_TRAFFIC_CLASS"] == parse_keys(built["jobs/nccl.conf"])["NCCL_IB_TC"]
    assert reported["NVSHMEM_IB_ADDR_FAMILY"] == parse_keys(built["jobs/nccl.conf"])["NCCL_IB_ADDR_FAMILY"]
    assert reported["NVSHMEM_HCA_LIST"] == parse_keys(built["jobs/ucx.conf"])["UCX_NET_DEVICES"]
    assert (
        reported["NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"]
        == parse_keys(built["jobs/nccl.conf"])["NCCL_SOCKET_IFNAME"]
    )
    assert "jobs/mori.env" not in built


def test_one_sided_libraries_of_amd_open_sockets_where_rccl_does() -> None:
    amd = replace(VARIANTS["pollara"], socket_interface="eno7")
    assert parse_keys(mori_settings(amd))["MORI_SOCKET_IFNAME"] == "eno7"
    assert parse_keys(nccl.render_text(amd))["NCCL_SOCKET_IFNAME"] == "=eno7"
    assert "MORI_SOCKET_IFNAME" not in parse_keys(mori_settings(replace(amd, socket_interface="")))


def test_no_settings_for_one_sided_libraries_where_rdma_runs_over_tcp() -> None:
    hosts = replace(list_hosts(fabric("rails"), fabric("rails").host), kinds=(VARIANTS["e810-iwarp"],))
    assert not [name for name in settings_files(hosts) if name.endswith(".env")]
