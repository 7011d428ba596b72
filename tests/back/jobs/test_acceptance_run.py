"""A host does its part of a round with arguments that the real perftest takes, in the lossless class."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.back.jobs.fabrics import fabric, files, import_script, write_tree

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.model import Host

PLAN = json.loads(files("rails")["acceptance/plan.json"])
ROUNDS = {entry["kind"]: entry["round"] for entry in reversed(PLAN["rounds"])}
PERFTEST = """#!/usr/bin/env python3
# Stands in for perftest, which needs RDMA devices: servers end when their client has come; clients report.
import json, pathlib, socket, sys
port = int(sys.argv[sys.argv.index("-p") + 1])
report = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--out_json_file=")]
if report:
    with socket.socket() as s:
        s.settimeout(5)
        if s.connect_ex(("127.0.0.1", port)):
            sys.exit("Couldn't connect to it")
    pathlib.Path(report[0]).write_text(json.dumps({"results": {"BW_average": 391.5, "t_typical": 3.1}}))
else:
    with socket.create_server(("127.0.0.1", port)) as s:
        s.settimeout(20)
        s.accept()
"""


def host_at(place: int) -> Host:
    built = fabric("rails")
    return built.host(list(built.host_ids())[place])


def make_sysfs(folder: Path, host: Host) -> Path:
    """The devices of a host as the kernel shows them: v1 and v2 entries, link-local and planned."""
    for port in host.ports:
        base = folder / "class/infiniband" / port.rdma / "ports/1"
        for part in ("gids", "gid_attrs/types", "hw_counters"):
            (base / part).mkdir(parents=True)
        assert port.ipv4
        octets = [int(octet) for octet in port.ipv4.partition("/")[0].split(".")]
        mapped = "0000:0000:0000:0000:0000:ffff:{:02x}{:02x}:{:02x}{:02x}".format(*octets)
        link_local = "fe80:0000:0000:0000:0000:0000:0000:0001"
        rows = [
            (link_local, "IB/RoCE v1"),
            (link_local, "RoCE v2"),
            (mapped, "IB/RoCE v1"),
            (mapped, "RoCE v2"),
        ]
        for index, (gid, kind) in enumerate(rows):
            (base / "gids" / str(index)).write_text(gid + "\n")
            (base / "gid_attrs/types" / str(index)).write_text(kind + "\n")
        (base / "hw_counters/out_of_sequence").write_text("4\n")
    return folder


def start(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        [sys.executable, str(tree / "acceptance/run.py"), *options],
        cwd=tree, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree("rails", tmp_path)


@pytest.mark.parametrize("kind", ["tor", "spine", "latency", "incast", "load"])
def test_the_calls_name_the_class_and_the_devices(tree: Path, kind: str) -> None:
    host = host_at(0)
    calls = start(tree, str(ROUNDS[kind]), "--host", host.name, "--print").stdout.splitlines()
    assert calls
    assert all("--tclass=106" in call for call in calls)
    assert {call.split()[2] for call in calls} <= {port.rdma for port in host.ports}
    servers = [call for call in calls if "--out_json" not in call]
    ports = [call.split()[call.split().index("-p") + 1] for call in servers]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("kind", ["tor", "spine", "latency", "incast", "load"])
def test_clients_and_servers_meet(tree: Path, kind: str) -> None:
    """Each client's device, port and peer has one server, with the same traffic and on the peer's own device."""
    run, pairs = import_script(tree, "run"), import_script(tree, "pairs")
    entry = next(entry for entry in PLAN["rounds"] if entry["kind"] == kind)
    clients, servers = [], []
    for host in [name for unit in PLAN["units"] for name in unit["hosts"]]:
        waiting, calling = run.calls_of(PLAN, entry, host, tree, lambda _: 3)
        servers += [(host, call[call.index("-p") + 1]) for _, _, call in waiting]
        clients += [(call[-1], call[call.index("-p") + 1]) for _, _, call in calling]
    assert len(set(servers)) == len(servers)
    assert sorted(clients) == sorted(servers)
    assert len(clients) == len(list(pairs.pairs(PLAN, entry)))


@pytest.mark.skipif(not shutil.which("ib_write_bw"), reason="perftest is not installed")
@pytest.mark.parametrize("kind", ["spine", "latency"])
def test_the_real_perftest_takes_the_arguments(tree: Path, kind: str) -> None:
    """Without a device it stops after parsing them; it rejects unknown ones."""
    calls = start(tree, str(ROUNDS[kind]), "--host", host_at(0).name, "--print").stdout.splitlines()
    for call in (calls[0], calls[-1]):
        words = ["no-such-device" if word.startswith("mlx5_") else word for word in call.split()]
        words = ["3" if word == "GID" else word for word in words]
        done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=30, check=False)
        output = done.stdout + done.stderr
        assert "unrecognized option" not in output
        assert "Parser function exited with Error" not in output
        assert "Unable to find the Infiniband/RoCE device" in output
    refused = subprocess.run([*words, "--no-such-option"], capture_output=True, text=True, check=False)
    assert "unrecognized option" in refused.stdout + refused.stderr


def test_a_round_is_run_and_written(tree: Path) -> None:
    """The host talks to itself here: its peers' names are all this machine."""
    host = host_at(0)
    plan = json.loads(json.dumps(PLAN))
    plan["shape"]["rails"] = 2
    plan["units"] = [{"name": "u", "pod": "", "kind": 0, "hosts": [host.name, "peer"]}]
    (tree / "acceptance/plan.json").write_text(json.dumps(plan))
    (tree / "bin").mkdir()
    for name in ("ib_write_bw", "ib_write_lat"):
        (tree / "bin" / name).write_text(PERFTEST)
        (tree / "bin" / name).chmod(0o755)
    sysfs = str(make_sysfs(tree / "sys", host))
    done = start(tree, "1", "--host", host.name, "--sysfs", sysfs)
    assert done.returncode == 0, done.stderr
    written = json.loads((tree / f"results/1-{host.name}.json").read_text())
    assert [(r["sender"], r["receiver"]) for r in written["results"]] == [
        ([host.name, port.name], ["peer", port.name]) for port in host.ports[:2]
    ]
    assert {result["value"] for result in written["results"]} == {391.5}
    assert written["counters"]["rail0"]["out_of_sequence"] == 0


def test_a_port_without_its_planned_address_is_reported(tree: Path) -> None:
    host = host_at(0)
    sysfs = make_sysfs(tree / "sys", host)
    entry = sysfs / "class/infiniband" / host.ports[3].rdma / "ports/1/gids/3"
    entry.write_text("0000:0000:0000:0000:0000:ffff:c000:0201\n")
    done = start(tree, "1", "--host", host.name, "--sysfs", str(sysfs))
    assert done.returncode == 1
    assert f"{host.ports[3].rdma} has no RoCE v2 address" in done.stderr


def test_the_tree_stays_as_built(tree: Path) -> None:
    """A build would remark on files that are not its own."""
    before = sorted((tree / "acceptance").iterdir())
    start(tree, "1", "--host", host_at(0).name, "--print")
    assert sorted((tree / "acceptance").iterdir()) == before


def test_strangers_and_unknown_rounds_are_refused(tree: Path) -> None:
    assert start(tree, "1", "--host", "stranger").returncode == 2
    assert start(tree, "99", "--host", host_at(0).name).returncode == 2


@pytest.mark.parametrize(
    ("lines", "files", "read"),
    [
        (["tx_prio3_pause: 7"], {"packet_seq_err": 2}, {"tx_prio3_pause": 7, "packet_seq_err": 2}),
        (
            ["tx_pfc_ena_frames_pri3: 7", "rx_fcs_err_frames: 1", "tx_bytes_pri3: 9", "tx_packets_pri3: 1"],
            {"oos_drop_count": 5, "seq_err_naks_rcvd": 2, "to_retransmits": 3},
            {"tx_prio3_pause": 7, "rx_crc_errors_phy": 1, "out_of_sequence": 5, "packet_seq_err": 2}
            | {"local_ack_timeout_err": 3, "tx_prio3_bytes": 9},
        ),
        (
            ["tx_priority_3_xoff.nic: 7", "rx_crc_errors.nic: 1"],
            {"cnpSent": 4},
            {"tx_prio3_pause": 7, "rx_crc_errors_phy": 1, "np_cnp_sent": 4},
        ),
        (
            ["frames_tx_pripause: 7", "frames_rx_bad_fcs: 1", "frames_tx_pri_3: 9", "octets_tx_ok: 1"],
            {"resp_rx_outouf_seq": 5, "req_rx_pkt_seq_err": 2, "tx_rdma_ack_timeout": 3},
            {"tx_prio_pause": 7, "rx_crc_errors_phy": 1, "out_of_sequence": 5, "packet_seq_err": 2}
            | {"local_ack_timeout_err": 3, "tx_prio3_frames": 9},
        ),
    ],
    ids=["mlx5", "bnxt", "ice", "ionic"],
)
def test_counters_are_read_by_the_names_of_every_driver(
    tmp_path: Path, lines: list[str], files: dict[str, int], read: dict[str, int]
) -> None:
    """The names are those of each driver in Linux, and of RCCL's table of counters for bnxt_re and ionic."""
    tree = write_tree("rails", tmp_path)
    folder = tmp_path / "sys/class/infiniband/mlx5_r0/ports/1/hw_counters"
    folder.mkdir(parents=True)
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n")
    (tmp_path / "ethtool").write_text("#!/bin/sh\n" + "".join(f"echo '     {line}'\n" for line in lines))
    (tmp_path / "ethtool").chmod(0o755)
    call = "import json, sys, run; print(json.dumps(run.read_counters(sys.argv[1], 'mlx5_r0', 'rail0')))"
    done = subprocess.run(
        [sys.executable, "-c", call, str(tmp_path / "sys")],
        cwd=tree / "acceptance", capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert json.loads(done.stdout) == read


def test_a_counter_that_started_anew_rose_from_zero(tree: Path) -> None:
    run = import_script(tree, "run")
    assert (run.rise(5, 9), run.rise(9, 5), run.rise(0, 0)) == (4, 5, 0)
