"""Job files keep the topological order, and Slurm and Open MPI read in them what was meant."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.hosts.jobs import JobHost, hostlist, render_jobs

if TYPE_CHECKING:
    from pathlib import Path


def fabric(units: int, per_unit: int, pods: int = 0) -> list[JobHost]:
    return [
        JobHost(
            name=f"su{unit + 1:03d}-host{host + 1:02d}",
            model="dgx",
            gpus=8,
            unit=f"su{unit + 1:03d}",
            pod=f"pod{unit * pods // units + 1}" if pods else None,
            nccl="NCCL_IB_TC=106\n",
        )
        for unit in range(units)
        for host in range(per_unit)
    ]


def test_the_hostfile_keeps_the_order() -> None:
    lines = render_jobs(fabric(2, 2))["hostfile"].splitlines()
    assert lines == [
        f"{name} slots=8" for name in ("su001-host01", "su001-host02", "su002-host01", "su002-host02")
    ]


def test_slurm_sees_units_as_leaves_under_one_spine() -> None:
    assert render_jobs(fabric(2, 32))["topology.conf"] == (
        "SwitchName=su001 Nodes=su001-host[01-32]\n"
        "SwitchName=su002 Nodes=su002-host[01-32]\n"
        "SwitchName=spine Switches=su[001-002]\n"
    )


def test_slurm_sees_pods_under_one_core() -> None:
    text = render_jobs(fabric(4, 1, pods=2))["topology.conf"]
    assert text.splitlines()[4:] == [
        "SwitchName=pod1 Switches=su[001-002]",
        "SwitchName=pod2 Switches=su[003-004]",
        "SwitchName=core Switches=pod[1-2]",
    ]


def test_a_single_unit_needs_no_spine() -> None:
    assert render_jobs(fabric(1, 2))["topology.conf"] == "SwitchName=su001 Nodes=su001-host[01-02]\n"


def test_equal_settings_are_one_file() -> None:
    assert render_jobs(fabric(2, 2))["nccl.conf"] == "NCCL_IB_TC=106\n"


def test_different_settings_are_a_file_per_model() -> None:
    hosts = [
        JobHost("a1", "dgx", 8, "su1", None, "A\n"),
        JobHost("a2", "hgx", 8, "su1", None, "B\n"),
        JobHost("a3", "dgx", 8, "su1", None, "C\n"),
        JobHost("a4", "hgx", 8, "su1", None, "B\n"),
    ]
    files = render_jobs(hosts)
    texts = {name: text for name, text in files.items() if name.startswith("nccl")}
    assert texts == {"nccl-dgx.conf": "A\n", "nccl-dgx-2.conf": "C\n", "nccl-hgx.conf": "B\n"}


@pytest.mark.parametrize("name", ["a b", "a\nb", "a[1-2]", ""])
def test_a_name_cannot_inject_a_line(name: str) -> None:
    with pytest.raises(ValueError, match="not usable"):
        render_jobs([JobHost(name, "dgx", 8, "su1", None, "")])


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a01", "a02", "a03", "a07", "b1"], "a[01-03,07],b1"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10"], "n[09-10]"),
        (["n9", "n010"], "n[9,010]"),
        (["alpha", "beta", "beta"], "alpha,beta,beta"),
        (["n2", "n1"], "n[2,1]"),
        (["n1", "n1"], "n[1,1]"),
        (["7", "8"], "[7-8]"),
        ([], ""),
    ],
)
def test_hostlists_are_folded(names: list[str], text: str) -> None:
    assert hostlist(names) == text


def unfold(text: str) -> list[str]:
    names: list[str] = []
    for prefix, brackets in re.findall(r"([^,\[\]]*)(?:\[([^\]]*)\])?(?:,|$)", text):
        for span in brackets.split(",") if brackets else [""]:
            first, dash, last = span.partition("-")
            if dash:
                names += [f"{prefix}{n:0{len(first)}d}" for n in range(int(first), int(last) + 1)]
            elif prefix or span:
                names.append(prefix + span)
    return names


@given(st.lists(st.from_regex(r"[ab]{1,2}[0-9]{0,3}", fullmatch=True), max_size=12))
def test_unfolding_a_hostlist_gives_the_names_in_order(names: list[str]) -> None:
    assert unfold(hostlist(names)) == names


SLURM_CONF = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SelectType=select/cons_tres
TopologyPlugin=topology/tree
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes=ALL Default=YES
"""


FAULT = re.compile(r"fatal|WARNING|TOPOLOGY|lookup failure|no switch can reach|Multiple leaf")


def slurmctld_says(configuration: Path) -> list[str]:
    """What slurmctld prints until it runs, or until it ends without having run."""
    said: list[str] = []
    with subprocess.Popen(
        ["timeout", "-k", "1", "20", "slurmctld", "-D", "-c", "-f", str(configuration)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as daemon:
        assert daemon.stdout
        for line in daemon.stdout:
            said.append(line.rstrip())
            if "Running as primary controller" in line:
                break
        daemon.terminate()  # `timeout` passes it on
    return said


@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
@pytest.mark.parametrize("pods", [0, 2])
def test_slurmctld_builds_the_tree(tmp_path: Path, pods: int) -> None:
    hosts = fabric(4, 8, pods)
    (tmp_path / "state").mkdir()
    (tmp_path / "topology.conf").write_text(render_jobs(hosts)["topology.conf"])
    nodes = hostlist([host.name for host in hosts])
    port = 20000 + os.getpid() % 20000
    (tmp_path / "slurm.conf").write_text(SLURM_CONF.format(dir=tmp_path, port=port, nodes=nodes))
    said = slurmctld_says(tmp_path / "slurm.conf")
    assert said[-1].endswith("Running as primary controller")
    assert [line for line in said if FAULT.search(line)] == []


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
def test_open_mpi_maps_ranks_in_host_order(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text(render_jobs(fabric(2, 2))["hostfile"])
    done = subprocess.run(
        [
            "mpirun", "--allow-run-as-root", "--bind-to", "none", "--do-not-launch", "--display-map",
            "--hostfile", str(tmp_path / "hostfile"), "-np", "32", "true",
        ],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    if "--display-map" in said and "deprecated" in said and "Data for node" not in said:
        pytest.skip("this Open MPI prints its map in another form")
    nodes = re.findall(r"Data for node: (\S+)\s.*Num procs: (\d+)", said)
    assert nodes == [(name, "8") for name in ("su001-host01", "su001-host02", "su002-host01", "su002-host02")]
