"""Slurm reads in its files what the fabric is: a unit is a leaf, a node is under one leaf, the tree has one root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.jobs.roster import JobHost, Roster, roster
from fabricc.back.jobs.slurm import hostlist, slurm_files
from tests.back.jobs.fabrics import SPECS, fabric, files

if TYPE_CHECKING:
    from pathlib import Path


def hosts(units: int, per_unit: int, pods: int = 0, name: str = "") -> Roster:
    found = tuple(
        JobHost(
            name=name or f"su{unit + 1:03d}-host{host + 1:02d}",
            unit=f"su{unit + 1:03d}",
            pod=f"pod{unit * pods // units + 1}" if pods else None,
            kind=0,
            model="dgx-b200",
            gpus=8,
            at=(unit, host),
        )
        for unit in range(units)
        for host in range(per_unit)
    )
    return Roster("test", found, (), 2)


def test_slurm_sees_units_as_leaves_under_one_spine() -> None:
    assert slurm_files(hosts(2, 32))["topology.conf"] == (
        "SwitchName=su001 Nodes=su001-host[01-32]\n"
        "SwitchName=su002 Nodes=su002-host[01-32]\n"
        "SwitchName=spine Switches=su[001-002]\n"
    )


def test_slurm_sees_pods_under_one_core() -> None:
    text = slurm_files(hosts(4, 1, pods=2))["topology.conf"]
    assert text.splitlines()[4:] == [
        "SwitchName=pod1 Switches=su[001-002]",
        "SwitchName=pod2 Switches=su[003-004]",
        "SwitchName=core Switches=pod[1-2]",
    ]


def test_a_single_unit_needs_no_spine() -> None:
    assert slurm_files(hosts(1, 2))["topology.conf"] == "SwitchName=su001 Nodes=su001-host[01-02]\n"


def test_every_node_says_its_gpus() -> None:
    assert slurm_files(hosts(2, 2))["gres.conf"] == (
        "NodeName=su001-host[01-02] Name=gpu Count=8\nNodeName=su002-host[01-02] Name=gpu Count=8\n"
    )


@pytest.mark.parametrize("name", SPECS)
def test_both_formats_are_one_tree(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    (stated,) = yaml.safe_load(files(name)["jobs/slurm/topology.yaml"])
    assert (stated["topology"], stated["cluster_default"]) == ("fabric", True)
    lines = [
        f"SwitchName={s['switch']} "
        + (f"Nodes={s['nodes']}" if "nodes" in s else f"Switches={s['children']}")
        for s in stated["tree"]["switches"]
    ]
    assert lines == files(name)["jobs/slurm/topology.conf"].splitlines()


@pytest.mark.parametrize("name", ["a b", "a\nb", "a[1-2]", ""])
def test_a_name_cannot_inject_a_line(name: str) -> None:
    bad = Roster("test", (JobHost(name, "su1", None, 0, "dgx-b200", 8, (0, 0)),), (), 2)
    with pytest.raises(ValueError, match="not usable"):
        slurm_files(bad)


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
GresTypes=gpu
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:{gpus}
PartitionName=all Nodes=ALL Default=YES
"""
FAULT = re.compile(
    r"fatal|WARNING|TOPOLOGY|lookup failure|no switch can reach|Multiple leaf|gres", re.IGNORECASE
)


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
@pytest.mark.parametrize("name", ["rails", "pods"])
def test_slurmctld_builds_the_tree(tmp_path: Path, name: str) -> None:
    (tmp_path / "state").mkdir()
    for file in ("topology.conf", "gres.conf"):
        (tmp_path / file).write_text(files(name)[f"jobs/slurm/{file}"])
    members = roster(fabric(name), fabric(name).host).hosts
    nodes, gpus = hostlist([host.name for host in members]), members[0].gpus
    port = 20000 + os.getpid() % 20000
    (tmp_path / "slurm.conf").write_text(SLURM_CONF.format(dir=tmp_path, port=port, nodes=nodes, gpus=gpus))
    said = slurmctld_says(tmp_path / "slurm.conf")
    assert said[-1].endswith("Running as primary controller")
    assert [line for line in said if FAULT.search(line)] == []
