"""Slurm reads in its files what the fabric is: a unit is a leaf, a node is under one leaf, the tree has one root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.jobs.files import job_files
from fabricc.back.jobs.roster import JobHost, Roster, list_hosts
from fabricc.back.jobs.slurm import compress_hostlist, slurm_files
from tests.back.jobs.fabrics import SPECS, fabric, files
from tests.front.planning.support import make_document, planned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric


def make_roster(units: int, per_unit: int, pods: int = 0, name: str = "") -> Roster:
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
    assert slurm_files(make_roster(2, 32))["topology.conf"] == (
        "SwitchName=su001 Nodes=su001-host[01-32]\n"
        "SwitchName=su002 Nodes=su002-host[01-32]\n"
        "SwitchName=spine Switches=su[001-002]\n"
    )


def test_slurm_sees_pods_under_one_core() -> None:
    text = slurm_files(make_roster(4, 1, pods=2))["topology.conf"]
    assert text.splitlines()[4:] == [
        "SwitchName=pod1 Switches=su[001-002]",
        "SwitchName=pod2 Switches=su[003-004]",
        "SwitchName=core Switches=pod[1-2]",
    ]


def test_a_single_unit_needs_no_spine() -> None:
    assert slurm_files(make_roster(1, 2))["topology.conf"] == "SwitchName=su001 Nodes=su001-host[01-02]\n"


def test_gres_conf_lists_the_gpus_of_every_node() -> None:
    assert slurm_files(make_roster(2, 2))["gres.conf"] == (
        "NodeName=su001-host[01-02] Name=gpu Count=8\nNodeName=su002-host[01-02] Name=gpu Count=8\n"
    )


def test_gres_conf_distinguishes_hosts_of_one_unit_by_their_gpus() -> None:
    roster = make_roster(1, 3)
    other = replace(roster.hosts[1], gpus=4)
    mixed = replace(roster, hosts=(roster.hosts[0], other, roster.hosts[2]))
    assert slurm_files(mixed)["gres.conf"] == (
        "NodeName=su001-host[01,03] Name=gpu Count=8\nNodeName=su001-host02 Name=gpu Count=4\n"
    )


@pytest.mark.parametrize("name", SPECS)
def test_both_formats_are_one_tree(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    stated, *others = yaml.safe_load(files(name)["jobs/slurm/topology.yaml"])
    assert [stated["topology"], *(each["topology"] for each in others)] in (["fabric"], ["fabric", "nvlink"])
    assert [each["cluster_default"] for each in (stated, *others)].count(True) == 1
    lines = [
        f"SwitchName={s['switch']} "
        + (f"Nodes={s['nodes']}" if "nodes" in s else f"Switches={s['children']}")
        for s in stated["tree"]["switches"]
    ]
    assert lines == files(name)["jobs/slurm/topology.conf"].splitlines()


def with_login_hosts(model: str = "dgx-b200") -> Fabric:
    racks = {"racks": {"a1": 4, "a2": 4}} if "nvl" in model else {"hosts": 16}
    groups = [
        {"name": "gpu", "model": model, "hosts_per_unit": 8, **racks},
        {"name": "login", "model": "cpu-2x100", "hosts": 1, "hosts_per_unit": 1, "beside": "gpu"},
        {"name": "cpu", "model": "cpu-2x100", "hosts": 2, "hosts_per_unit": 8},
    ]
    gpus = {"model": None, "hosts": None, "hosts_per_unit": None, "groups": groups}
    plan = planned(make_document(gpus=gpus))
    assert plan.fabric is not None, [d.message for d in plan.diagnostics]
    return plan.fabric


def test_hosts_without_gpus_are_in_the_tree() -> None:
    """Slurm allocates no node that the tree lacks."""
    files = job_files(with_login_hosts())
    assert files["jobs/slurm/topology.conf"] == (
        "SwitchName=su001 Nodes=su001-host[01-08],su001-login01\n"
        "SwitchName=su002 Nodes=su002-host[01-08]\n"
        "SwitchName=su003 Nodes=su003-host[01-02]\n"
        "SwitchName=spine Switches=su[001-003]\n"
    )
    assert files["jobs/slurm/gres.conf"].count("\n") == 2
    assert "login" not in files["jobs/hostfile"]


def test_hosts_without_gpus_are_a_leaf_beside_nvlink_domains() -> None:
    files = job_files(with_login_hosts("gb200-nvl72"))
    assert files["jobs/slurm/topology.conf"].splitlines()[:4] == [
        "SwitchName=su001-a1 Nodes=a1-host[01-04]",
        "SwitchName=su001-a2 Nodes=a2-host[01-04]",
        "SwitchName=su001-others Nodes=su001-login01",
        "SwitchName=su001 Switches=su001-a[1-2],su001-others",
    ]
    assert "login" not in files["jobs/slurm/topology-block.conf"]


DOMAINS = ["nvl72", "nvl72-racks", "nvl72-in-part"]


@pytest.mark.parametrize("name", DOMAINS)
def test_a_block_is_an_nvlink_domain(name: str) -> None:
    planned: dict[str, list[str]] = {}
    for at in fabric(name).host_ids():
        host = fabric(name).host(at)
        planned.setdefault(host.domain, []).append(host.name)
    planned.pop("", None)
    assert len(planned) > 1
    *rows, sizes = files(name)["jobs/slurm/topology-block.conf"].splitlines()
    matches = [re.fullmatch(r"BlockName=(\S+) Nodes=(\S+)", row) for row in rows]
    assert {match[1]: unfold_names(match[2]) for match in matches if match} == planned
    assert sizes == f"BlockSizes={min(map(len, planned.values()))}"


@pytest.mark.parametrize("name", DOMAINS)
def test_both_formats_have_the_same_blocks(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    _, stated = yaml.safe_load(files(name)["jobs/slurm/topology.yaml"])
    assert stated["cluster_default"] == (name != "nvl72-in-part"), (
        "hosts outside blocks are in the tree alone"
    )
    lines = [f"BlockName={b['block']} Nodes={b['nodes']}" for b in stated["block"]["blocks"]]
    lines.append(f"BlockSizes={','.join(map(str, stated['block']['block_sizes']))}")
    assert lines == files(name)["jobs/slurm/topology-block.conf"].splitlines()


@pytest.mark.parametrize("name", [name for name in SPECS if name not in DOMAINS])
def test_hosts_that_share_no_nvlink_make_no_blocks(name: str) -> None:
    assert "jobs/slurm/topology-block.conf" not in files(name)
    assert "block" not in files(name)["jobs/slurm/topology.yaml"]


def test_domains_are_the_leaves_below_a_unit_of_several() -> None:
    assert files("nvl72")["jobs/slurm/topology.conf"] == (
        "SwitchName=su001-a1 Nodes=a1-host[01-04]\n"
        "SwitchName=su001-a2 Nodes=a2-host[01-04]\n"
        "SwitchName=su001 Switches=su001-a[1-2]\n"
        "SwitchName=su002-a3 Nodes=a3-host[01-04]\n"
        "SwitchName=su002-a4 Nodes=a4-host[01-04]\n"
        "SwitchName=su002 Switches=su002-a[3-4]\n"
        "SwitchName=spine Switches=su[001-002]\n"
    )


def test_ranks_follow_nvlink_domains_instead_of_slots() -> None:
    """A tray added later has a slot after those of other racks, and ranks next to those of its own."""
    spec = deepcopy(SPECS["nvl72"])
    spec["gpus"] |= {"racks": {"a1": 3, "a2": 3}, "hosts_per_rack": None}
    first = planned(make_document(**spec))
    spec["gpus"]["racks"] = {"a1": 4, "a2": 3}
    fabric = planned(make_document(**spec), first.lock).fabric
    assert fabric is not None
    assert list(fabric.units[0].hosts.values())[-1] == "a1-host04"
    names = [line.split()[0] for line in job_files(fabric)["jobs/hostfile"].splitlines()]
    assert names == [*(f"a1-host0{n}" for n in range(1, 5)), *(f"a2-host0{n}" for n in range(1, 4))]


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
    assert compress_hostlist(names) == text


def unfold_names(text: str) -> list[str]:
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
    assert unfold_names(compress_hostlist(names)) == names


SLURM_CONF = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SelectType=select/cons_tres
TopologyPlugin=topology/{plugin}
GresTypes=gpu
{nodes}
PartitionName=all Nodes=ALL Default=YES
"""
FAULT = re.compile(
    r"fatal|WARNING|TOPOLOGY|lookup failure|no switch can reach|Multiple leaf|gres", re.IGNORECASE
)


@contextmanager
def started_slurmctld(configuration: Path) -> Iterator[list[str]]:
    """Run slurmctld; yield what it prints until it runs, or until it ends without having run."""
    lines: list[str] = []
    with subprocess.Popen(
        ["timeout", "-k", "1", "60", "slurmctld", "-D", "-c", "-f", str(configuration)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as daemon:
        assert daemon.stdout
        for line in daemon.stdout:
            lines.append(line.rstrip())
            if "Running as primary controller" in line:
                break
        yield lines
        daemon.terminate()  # `timeout` passes it on


def slurmctld_says(configuration: Path) -> list[str]:
    with started_slurmctld(configuration) as lines:
        return lines


def slurmctld_reads(name: str, file: str, folder: Path) -> list[str]:
    """Return the output of slurmctld for a fabric's `topology.conf` or `topology-block.conf`, and its `gres.conf`."""
    (folder / "state").mkdir()
    (folder / "topology.conf").write_text(files(name)[f"jobs/slurm/{file}"])
    (folder / "gres.conf").write_text(files(name)["jobs/slurm/gres.conf"])
    members = list_hosts(fabric(name), fabric(name).host).hosts
    nodes = [
        f"NodeName={compress_hostlist([host.name for host in each])} NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:{gpus}"
        for gpus, each in groupby(members, key=lambda host: host.gpus)
    ]
    plugin = "block" if "block" in file else "tree"
    port = 20000 + os.getpid() % 20000
    text = SLURM_CONF.format(dir=folder, port=port, plugin=plugin, nodes="\n".join(nodes))
    (folder / "slurm.conf").write_text(text)
    return slurmctld_says(folder / "slurm.conf")


NEEDS_SLURM = pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")


@NEEDS_SLURM
@pytest.mark.parametrize("name", ["rails", "pods", "nvl72", "nvl72-in-part"])
def test_slurmctld_builds_the_tree(tmp_path: Path, name: str) -> None:
    output = slurmctld_reads(name, "topology.conf", tmp_path)
    assert output[-1].endswith("Running as primary controller")
    assert [line for line in output if FAULT.search(line)] == []


@NEEDS_SLURM
@pytest.mark.skipif(not shutil.which("sbatch"), reason="sbatch is not installed")
def test_slurmctld_finds_nodes_for_jobs_without_gpus(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    fabric = with_login_hosts()
    (tmp_path / "topology.conf").write_text(job_files(fabric)["jobs/slurm/topology.conf"])
    names = [fabric.host(at).name for at in fabric.host_ids()]
    nodes = f"NodeName={compress_hostlist(names)} NodeAddr=127.0.0.1 CPUs=8 State=CLOUD"
    text = SLURM_CONF.format(dir=tmp_path, port=20000 + os.getpid() % 20000, plugin="tree", nodes=nodes)
    (tmp_path / "slurm.conf").write_text(
        text + "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=600\n"
    )
    with started_slurmctld(tmp_path / "slurm.conf") as lines:
        assert lines[-1].endswith("Running as primary controller")
        for wanted in ("su001-login01", "su003-host01,su003-host02"):
            job = [
                "sbatch",
                "--test-only",
                f"--nodelist={wanted}",
                f"--nodes={wanted.count(',') + 1}",
                "--wrap=true",
            ]
            requested = subprocess.run(
                job, env={**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}, capture_output=True,
                text=True, timeout=30, check=False,
            )  # fmt: skip
            assert (requested.returncode, "to start at" in requested.stderr) == (0, True)


@NEEDS_SLURM
@pytest.mark.parametrize("name", ["nvl72", "nvl72-racks"])
def test_slurmctld_builds_the_blocks(tmp_path: Path, name: str) -> None:
    output = slurmctld_reads(name, "topology-block.conf", tmp_path)
    if any("find the specified plugin name for topology/block" in line for line in output):
        pytest.skip("this Slurm has no topology/block, which 24.05 has")
    assert output[-1].endswith("Running as primary controller")
    assert [line for line in output if FAULT.search(line)] == []
