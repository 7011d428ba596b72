"""The launch files are sound shell, put ranks in the fabric's order, and detect sockets instead of RDMA in a log."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.back.jobs.fabrics import files, write_tree

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [line.split()[0] for line in files("rails")["jobs/hostfile"].splitlines()]
SHELL = [name for name in files("rails") if name.endswith(".sh")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree("rails", tmp_path)


def run(tree: Path, *call: str, host: str = NAMES[2], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a launch file as on this host; the programs it starts are stand-ins that print their arguments."""
    stand_ins = tree / "bin"
    stand_ins.mkdir(exist_ok=True)
    for name in ("torchrun", "ray", "vllm", "docker"):
        (stand_ins / name).write_text('#!/bin/sh\necho "$(basename "$0")"\nprintf "%s\\n" "$@"\n')
        (stand_ins / name).chmod(0o755)
    for interface in ("eno1", "eno3"):
        (tree / "sys/class/net" / interface).mkdir(parents=True, exist_ok=True)
    settings = {
        **os.environ,
        "PATH": f"{stand_ins}:{os.environ['PATH']}",
        "FABRICC_HOST": host,
        "NCCL_CONF_FILE": str(tree / "jobs/nccl.conf"),
        "VLLM_HOST_IP": "192.0.2.7",
        "SYSFS": str(tree / "sys"),
        **environment,
    }
    call = (str(tree / "jobs/launch" / call[0]), *call[1:])
    return subprocess.run(call, capture_output=True, text=True, env=settings, timeout=60, check=False)


@pytest.mark.parametrize("name", SHELL)
def test_the_shell_is_sound(tree: Path, name: str) -> None:
    subprocess.run(["bash", "-n", tree / name], check=True)
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        ["shellcheck", "-x", tree / name], cwd=(tree / name).parent, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_torchrun_is_told_the_static_order(tree: Path) -> None:
    """torchrun itself is not installed here: its options are those of torch.distributed.run."""
    done = run(tree, "torchrun.sh", "train.py", "--epochs", "3")
    assert done.stdout.split() == [
        "torchrun", "--nnodes", "32", "--nproc-per-node", "8", "--node-rank", "2", "--master-addr", NAMES[0],
        "--master-port", "29500", "train.py", "--epochs", "3",
    ]  # fmt: skip


def test_a_job_on_some_hosts_counts_within_them(tree: Path) -> None:
    part = tree / "part"
    part.write_text(f"{NAMES[4]} slots=8\n# a comment\n\n{NAMES[2]} slots=4\n")
    done = run(tree, "torchrun.sh", "x", FABRICC_HOSTFILE=str(part))
    assert done.stdout.split()[1:9] == [
        "--nnodes", "2", "--nproc-per-node", "4", "--node-rank", "1", "--master-addr", NAMES[4],
    ]  # fmt: skip


def test_a_host_outside_the_job_is_refused(tree: Path) -> None:
    done = run(tree, "torchrun.sh", "x", host="stranger")
    assert (done.returncode, done.stdout) == (2, "")
    assert "stranger is not in" in done.stderr


def test_tensorflow_gets_every_worker_in_order(tree: Path) -> None:
    stated = json.loads(run(tree, "tensorflow.sh").stdout)
    assert stated == {
        "cluster": {"worker": [f"{name}:2222" for name in NAMES]},
        "task": {"type": "worker", "index": 2},
    }
    passed = run(tree, "tensorflow.sh", "sh", "-c", 'printf %s "$TF_CONFIG $GLOO_SOCKET_IFNAME"').stdout
    assert passed == f"{json.dumps(stated)} eno3"


def test_mxnet_meets_at_the_first_host(tree: Path) -> None:
    said = run(tree, "mxnet.sh", "worker", "env").stdout.splitlines()
    assert {line for line in said if line.startswith("DMLC_")} == {
        "DMLC_ROLE=worker", f"DMLC_PS_ROOT_URI={NAMES[0]}", "DMLC_PS_ROOT_PORT=9091", "DMLC_NUM_WORKER=32",
        "DMLC_NUM_SERVER=32", "DMLC_INTERFACE=eno3",
    }  # fmt: skip
    assert run(tree, "mxnet.sh", "boss", "env").returncode == 2


def test_ray_joins_the_first_host_and_names_its_unit(tree: Path) -> None:
    head = run(tree, "ray.sh", host=NAMES[0]).stdout.splitlines()
    worker = run(tree, "ray.sh", host=NAMES[9]).stdout.splitlines()
    assert head[:4] == ["ray", "start", "--head", "--port=6379"]
    assert worker[:3] == ["ray", "start", f"--address={NAMES[0]}:6379"]
    assert "--node-ip-address=192.0.2.7" in worker
    (resources,) = [line for line in worker if line.startswith("--resources=")]
    assert json.loads(resources.removeprefix("--resources=")) == {"unit_su002": 8}


def with_ip(tree: Path, *answers: str) -> dict[str, str]:
    """Put a stand-in for `ip` on the path that prints an answer to every call, and none to further ones."""
    (tree / "bin").mkdir(exist_ok=True)
    cases = "".join(
        f"  *{call!r}*) echo {answer!r} ;;\n"
        for call, answer in zip(answers[::2], answers[1::2], strict=True)
    )
    (tree / "bin/ip").write_text(f'#!/bin/bash\ncase "$*" in\n{cases}esac\n')
    (tree / "bin/ip").chmod(0o755)
    return {"VLLM_HOST_IP": ""}


@pytest.mark.parametrize("script", ["ray.sh", "vllm.sh"])
def test_the_address_of_a_host_is_that_of_its_socket_interface(tree: Path, script: str) -> None:
    """The name of the host is 127.0.1.1 on Debian and Ubuntu."""
    told = with_ip(
        tree, "-4 addr show dev eno3", "2: eno3    inet 192.0.2.9/24 brd 192.0.2.255 scope global eno3"
    )
    (tree / "bin/ray").write_text('#!/bin/sh\necho "$VLLM_HOST_IP" "$@"\n')
    (tree / "bin/vllm").write_text('#!/bin/sh\necho "$VLLM_HOST_IP" "$@"\n')
    for name in ("ray", "vllm"):
        (tree / "bin" / name).chmod(0o755)
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, **told, "PATH": path, "SYSFS": str(tree / "sys"), "FABRICC_HOST": NAMES[0]}
    (tree / "sys/class/net/eno3").mkdir(parents=True)
    environment["NCCL_CONF_FILE"] = str(tree / "jobs/nccl.conf")
    done = subprocess.run(
        [tree / "jobs/launch" / script, "model"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.startswith("192.0.2.9 "), done.stderr
    assert ("--node-ip-address=192.0.2.9" in done.stdout) == (script == "ray.sh")


@pytest.mark.parametrize("address", ["127.0.1.1", "::1", ""])
def test_no_host_joins_ray_by_loopback_or_without_an_address(tree: Path, address: str) -> None:
    done = run(tree, "ray.sh", **with_ip(tree) | {"VLLM_HOST_IP": address})
    assert (done.returncode, done.stdout) == (2, "")
    assert "socket_interface in the spec" in done.stderr


def test_an_interface_that_the_host_lacks_is_named_with_the_key(tree: Path) -> None:
    done = run(tree, "torchrun.sh", "train.py", SYSFS=str(tree / "nowhere"))
    assert (done.returncode, "no eno3" in done.stderr, "socket_interface" in done.stderr) == (2, True, True)


def test_vllm_is_tensor_parallel_inside_hosts_and_pipeline_parallel_across(tree: Path) -> None:
    said = run(tree, "vllm.sh", "model", host=NAMES[0]).stdout.split()
    assert said == [
        "vllm", "serve", "model", "--tensor-parallel-size", "8", "--pipeline-parallel-size", "32",
        "--distributed-executor-backend", "ray",
    ]  # fmt: skip


def test_containers_get_devices_and_memory_and_no_privilege(tree: Path) -> None:
    said = run(
        tree, "container.sh", "image", "run", CONTAINER_OPTIONS="--name x", GPU_VENDOR="nvidia"
    ).stdout.splitlines()
    assert said[-4:] == ["--name", "x", "image", "run"]
    assert "--privileged" not in said
    assert said[said.index("--device") + 1] == "/dev/infiniband"
    assert said[said.index("--cap-add") + 1] == "IPC_LOCK"
    assert "memlock=-1:-1" in said


def test_containers_of_amd_hosts_get_its_devices_and_settings(tree: Path) -> None:
    said = run(tree, "container.sh", "image", GPU_VENDOR="amd").stdout.splitlines()
    assert "--gpus" not in said
    assert [said[at + 1] for at, word in enumerate(said) if word == "--device"][:2] == [
        "/dev/kfd",
        "/dev/dri",
    ]
    assert any(word.endswith(":/etc/rccl.conf:ro") for word in said)
    assert "--gpus" in run(tree, "container.sh", "image", GPU_VENDOR="nvidia").stdout.splitlines()


MPIRUN = pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HERE = {**ROOT, "SYSFS": "/sys"}


def mapped(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stdout + done.stderr
    if "--display-map" in said and "deprecated" in said and "Data for node" not in said:
        pytest.skip("this Open MPI prints its map in another form")
    return said


@MPIRUN
def test_open_mpi_maps_ranks_in_host_order(tree: Path) -> None:
    (tree / "part").write_text("".join(files("rails")["jobs/hostfile"].splitlines(keepends=True)[6:10]))
    options = {"MPIRUN_OPTIONS": "--do-not-launch --display-map", "FABRICC_HOSTFILE": str(tree / "part")}
    said = mapped(run(tree, "mpirun.sh", "true", **options, **HERE))
    assert re.findall(r"Data for node: (\S+)\s.*Num procs: (\d+)", said) == [
        (name, "8") for name in NAMES[6:10]
    ]
    assert re.findall(r"Process rank: (\d+)", said) == [str(rank) for rank in range(32)]


@MPIRUN
def test_open_mpi_connects_over_the_socket_interface_alone(tree: Path) -> None:
    """Open MPI itself lists its parameters and their sources."""
    (tree / "here").write_text("localhost slots=1\n")
    for name in ("nccl.conf", "rccl.conf"):
        (tree / "jobs" / name).write_text("NCCL_SOCKET_IFNAME==lo\n")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), SYSFS="/sys", **ROOT)
    values = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert values["OMPI_MCA_oob_tcp_if_include"] == values["OMPI_MCA_btl_tcp_if_include"] == "lo"
    assert values["PRTE_MCA_prte_if_include"] == "lo"


@MPIRUN
def test_open_mpi_gives_every_rank_the_settings_of_ucx(tree: Path) -> None:
    (tree / "here").write_text("localhost slots=1\n")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), **HERE)
    assert "none of eno3" in done.stderr
    wanted = {
        line for name in ("ucx.conf", "nvshmem.env") for line in files("rails")[f"jobs/{name}"].splitlines()
    }
    assert wanted <= set(done.stdout.splitlines()), done.stderr


@MPIRUN
def test_open_mpi_reads_the_rank_file(tree: Path) -> None:
    """Cores of other hosts are unknown to it before it starts there, so this is about one core of this machine."""
    (tree / "here").write_text("localhost slots=1\n")
    ranks = run(tree, "rankfile.sh", FABRICC_HOSTFILE=str(tree / "here")).stdout
    (tree / "ranks").write_text(ranks)
    done = subprocess.run(
        ["mpirun", "--display-map", "--hostfile", tree / "here", "-rf", tree / "ranks", "-np", "1", "true"],
        capture_output=True, text=True, env={**os.environ, **ROOT}, timeout=60, check=False,
    )  # fmt: skip
    assert re.findall(r"Process rank: (\d+) Bound: socket \d+\[core 0", mapped(done)) == ["0"]
    assert run(tree, "rankfile.sh").stdout.splitlines()[8:10] == [
        f"rank 8={NAMES[1]} slot=0", f"rank 9={NAMES[1]} slot=1",
    ]  # fmt: skip


DIRECT = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
PROXIED = "h0:1:2 [0] NCCL INFO Channel 01/0 : 6[6] -> 8[0] [send] via NET/IB/0(7)/GDRDMA\n"
COPIED = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3\n"
SOCKET = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0\n"
USING = (
    "h0:1:2 [0] NCCL INFO NET/IB : Using " + " ".join(f"[{r}]mlx5_r{r}:1/RoCE" for r in range(8)) + " [RO]\n"
)


@pytest.mark.parametrize(
    ("log", "status", "word"),
    [
        (USING + DIRECT + PROXIED, 0, "2 with GDRDMA"),
        (USING + DIRECT + COPIED, 1, "nvidia_peermem"),
        (USING + DIRECT + SOCKET, 1, "FAULT: NET/Socket"),
        (USING.replace("[7]mlx5_r7:1/RoCE ", "") + DIRECT, 1, "FAULT: mlx5_r7:1"),
        (USING, 2, "no connection between hosts"),
        # A plugin of NVIDIA's containers, with and without GPU memory, and shared buffers of a proxy.
        (DIRECT.replace("IB/0", "IBext_v8/0"), 0, "(IBext_v8)"),
        (DIRECT.replace("IB/0", "IBext_v8/0") + DIRECT.replace("IB/0", "IBext_v10/1"), 0, "2 with GDRDMA"),
        (DIRECT.replace("IB/0", "IBext/0(3)").replace("GDRDMA", "GDRDMA/Shared"), 0, "(IBext)"),
        (COPIED.replace("IB/3", "IBext/0"), 1, "nvidia_peermem"),
        (COPIED.replace("IB/3", "IB/3/Shared"), 1, "nvidia_peermem"),
        (USING.replace("NET/IB", "NET/IBext_v8").replace("[7]mlx5_r7:1/RoCE ", "") + DIRECT, 1, "mlx5_r7:1"),
        # Lines as seen without a device, and GPU memory by PCIe as NCCL 2.26 and later write it.
        (DIRECT.replace("/0/", "/"), 0, "1 with GDRDMA"),
        (SOCKET.replace("/0", ""), 1, "FAULT: NET/Socket"),
        (DIRECT.replace("GDRDMA", "GDRDMA(PCI)"), 0, "1 with GDRDMA"),
        (DIRECT.replace("IB/0", "AWS Libfabric/0"), 0, "(AWS Libfabric)"),
        (SOCKET.replace("Socket", "FastSocket"), 1, "FAULT: NET/Socket"),
        # NCCL sets up sockets in addition to RDMA, and uses RDMA.
        ("NCCL INFO NET/Socket : Using [0]eno3:10.0.0.1<0>\n" + DIRECT, 0, "0 over sockets"),
        ("NCCL INFO Using network Socket\n", 1, "FAULT: NET/Socket"),
        ("NCCL INFO NET/IB : No device found.\n", 1, "no RDMA device"),
        ("NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM\n", 2, "no connection between hosts"),
        ("step 1 loss 2.3\n", 2, "no line of NCCL"),
        ("", 2, "no line of NCCL"),
    ],
)
def test_the_log_check_tells_rdma_from_sockets(tree: Path, log: str, status: int, word: str) -> None:
    (tree / "log").write_text(log)
    done = run(tree, "check-nccl-log.sh", str(tree / "log"))
    assert done.returncode == status
    assert word in done.stdout


HOSTS = ("gpu-a", "gpu-b")


def foreign(
    version: str, network: str, suffix: str, *more: str, prefix: str = "", channel: str = "Channel 00/0"
) -> str:
    """A log of two hosts as a job elsewhere writes it: version, devices, then a connection in each direction."""
    lines = [f"NCCL version {version}", *more]
    lines += [f"{channel} : {n}[{n}] -> {1 - n}[0] [send] via {network}{suffix}" for n in (0, 1)]
    lines += [f"{channel} : {1 - n}[0] -> {n}[{n}] [receive] via {network}{suffix}" for n in (0, 1)]
    return "".join(
        f"{prefix}{host}:41{n}:52{n} [0] {'' if line.startswith('misc/') else 'NCCL INFO '}{line}\n"
        for n, host in enumerate(HOSTS)
        for line in lines
    )


IB = "NET/IB : Using [0]mlx5_r0:1/IB [RO]; OOB eno3:10.0.0.1<0>"
ROCE = "NET/IB : Using [0]mlx5_r0:1/RoCE [RO]; OOB eno3:10.0.0.1<0>"
JOINED = "NET/IB : Using [0]={[0] mlx5_r1:1/RoCE, [1] mlx5_r0:1/RoCE} [RO]; OOB bond0:10.0.0.1<0>"
OFI = "NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)"
FOREIGN = {
    "2.18 RoCE": (foreign("2.18.5+cuda12.0", "NET/IB/0", "/GDRDMA", ROCE, "Using network IB"), 0),
    "2.19 sockets without a device": (
        foreign("2.19.3+cuda12.3", "NET/Socket/0", "", "NET/IB : No device found.", "Using network Socket"),
        1,
    ),
    "2.19 EFA, through the host": (
        foreign("2.19.4+cuda12.2", "NET/AWS Libfabric/0", "", OFI, prefix="[1,0]<stdout>:"),
        1,
    ),
    "2.19 EFA": (foreign("2.19.4+cuda12.2", "NET/AWS Libfabric/3", "/GDRDMA", OFI, channel="Channel 03"), 0),
    "2.21 plugin of the maker's containers": (
        foreign("2.21.5+cuda12.4", "NET/IBext_v8/5(2)", "/GDRDMA", ROCE, "Using network IBext_v8"),
        0,
    ),
    "2.21 the same, too far from the GPU": (
        foreign("2.21.5+cuda12.4", "NET/IBext_v8/1", "", ROCE, "Using network IBext_v8"),
        1,
    ),
    "2.22 announced and then failed": (
        foreign("2.22.3+cuda12.6", "NET/IBext_v8/7", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_modify_qp failed with error No such device\n",
        1,
    ),
    "2.24 a peer that went away": (
        foreign("2.24.3+cuda12.8", "NET/IB/2", "/GDRDMA", ROCE)
        + "gpu-b:411:521 [0] transport/net_ib.cc:2290 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<5> with "
        "status=12 opcode=1 len=0 vendor err 129 (Send)\n",
        1,
    ),
    "2.26 GPU memory by PCIe": (foreign("2.26.2+cuda12.2", "NET/IB/1", "/GDRDMA(PCI)", IB), 0),
    "2.27 SHARP": (foreign("2.27.5+cuda12.9", "COLLNET/SHARP/0", "/GDRDMA", IB), 0),
    "2.27 one direction copied": (
        foreign("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", IB)
        + foreign("2.27.5+cuda12.9", "NET/IB/0", "", IB),
        1,
    ),
    "2.28 virtual devices, shared buffers": (
        foreign(
            "2.28.3+cuda13.0",
            "NET/IB/8",
            "/GDRDMA/Shared",
            ROCE,
            "NET/IB : Made virtual device [8] name=mlx5_r0+mlx5_r1",
        ),
        0,
    ),
    "2.30 flush": (foreign("2.30.1+cuda13.1", "NET/IB/0", "/GDRDMA/flush=None", IB), 0),
    "2.31 EFA by name of its own": (
        foreign("2.31.2+cuda13.3", "NET/Libfabric/0", "/GDRDMA/flush=None", OFI),
        0,
    ),
    "RCCL 2.22": (foreign("2.22.3+hip6.4", "NET/IB/0", "/GDRDMA/Shared", ROCE), 0),
    "2.21 two ports joined in one device": (
        foreign("2.21.5+cuda12.4", "NET/IBext_v8/0", "/GDRDMA", JOINED, "Using network IBext_v8"),
        0,
    ),
    "2.27 names of communicators behind the connection": (
        foreign("2.27.5+cuda12.9", "NET/UCX/0", "/GDRDMA comm 0x22fcfb0 nRanks 02", ROCE),
        0,
    ),
    "2.27 sockets below Ray": (
        foreign(
            "2.27.3+cuda12.9",
            "NET/Socket/0",
            " comm 0x2083dd50 nRanks 02",
            prefix="(EngineCore_DP0 pid=742) (RayWorkerWrapper pid=927) ",
        ),
        1,
    ),
    "2.18 memory that a plugin cannot register": (
        foreign("2.18.3+cuda12.2", "NET/AWS Libfabric/7", "/GDRDMA/Shared", OFI)
        + "gpu-a:410:520 [3] register_mr_buffers:647 NCCL WARN NET/OFI Unable to register memory (type = 2)\n",
        1,
    ),
    "2.21 a peer that closed its connection": (
        foreign("2.21.5+cuda12.4", "NET/IBext_v8/1", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] socket.c:446 NCCL WARN socketProgress: Connection closed by remote peer gpu-b<4>\n",
        1,
    ),
    "2.30 a second job of the file falls back": (
        foreign("2.30.7+cuda13.0", "NET/IB/0", "/GDRDMA", ROCE, "Using network IB")
        + foreign("2.30.7+cuda13.0", "P2P/CUMEM", "", "NET/IB : No device found.", "Using network Socket"),
        1,
    ),
    "RCCL without libibverbs": (
        foreign("2.20.5+hip6.2", "P2P/IPC", "", "Failed to open libibverbs.so[.1]", "Using network Socket"),
        1,
    ),
    "RCCL with the plugin of a Pollara": (
        foreign("2.27.7+hip7.1", "NET/IB-CAST/0", "/GDRDMA/flush=Always", ROCE),
        0,
    ),
    "cut off within a line": (
        foreign("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0/GD",
        0,
    ),
    "one host": (foreign("2.27.5+cuda12.9", "P2P/CUMEM/read", "", IB), 2),
    "warnings alone": ("gpu-a:1:2 [0] init.cc:1 NCCL WARN NUMA auto balancing is enabled\n", 2),
}
"""Name -> a log in the format of public ones, and the verdict."""


@pytest.mark.parametrize("name", FOREIGN)
def test_the_verdict_of_a_foreign_log(tree: Path, name: str) -> None:
    log, status = FOREIGN[name]
    (tree / "log").write_text(log)
    settings = tree / "one.conf"
    settings.write_text("NCCL_IB_HCA==mlx5_r0:1\n")
    done = run(tree, "check-nccl-log.sh", str(tree / "log"), NCCL_CONF_FILE=str(settings))
    assert done.returncode == status, done.stdout


def test_a_log_without_evidence_does_not_pass_beside_one_with(tree: Path) -> None:
    (tree / "good").write_text(USING + DIRECT)
    (tree / "empty").write_text("")
    assert run(tree, "check-nccl-log.sh", str(tree / "good")).returncode == 0
    done = run(tree, "check-nccl-log.sh", str(tree / "good"), str(tree / "empty"))
    assert (done.returncode, str(tree / "empty") in done.stdout) == (2, True)
    assert run(tree, "check-nccl-log.sh", str(tree / "absent")).returncode == 2


def test_the_log_check_names_the_host_that_lacks_a_device(tree: Path) -> None:
    whole, half = USING, USING.replace("h0:", "h1:").replace("[7]mlx5_r7:1/RoCE ", "")
    (tree / "log").write_text(whole + half + DIRECT)
    done = run(tree, "check-nccl-log.sh", str(tree / "log"))
    assert (done.returncode, done.stdout.count("FAULT")) == (1, 1)
    assert "FAULT: mlx5_r7:1 is in " in done.stdout
    assert done.stdout.rstrip().endswith("did not use it on h1")


def test_half_a_line_of_one_log_is_not_read_with_the_next_log(tree: Path) -> None:
    (tree / "a").write_text(
        USING + DIRECT + "h0:1:2 [0] NCCL INFO Channel 01/0 : 7[7] -> 8[0] [send] via NET/IB/0"
    )
    (tree / "b").write_text(DIRECT)
    done = run(tree, "check-nccl-log.sh", str(tree / "a"), str(tree / "b"))
    assert (done.returncode, "connections: 2 with GDRDMA, 0 through" in done.stdout) == (0, True)


def test_the_log_check_knows_devices_with_rail_and_plane(tree: Path, tmp_path: Path) -> None:
    settings = tmp_path / "planes.conf"
    settings.write_text("NCCL_IB_HCA==mlx5_r0a:1:0:0,mlx5_r0b:1:0:1\n")
    (tree / "old").write_text("NCCL INFO NET/IB : Using [0]mlx5_r0a:1/RoCE [1]mlx5_r0b:1/RoCE\n" + DIRECT)
    (tree / "new").write_text(
        "NCCL INFO NET/IB : Using [0]mlx5_r0a:1:0:0/RoCE [1]mlx5_r0b:1:0:1/RoCE\n" + DIRECT
    )
    (tree / "half").write_text("NCCL INFO NET/IB : Using [0]mlx5_r0a:1:0:0/RoCE\n" + DIRECT)
    for log, status in (("old", 0), ("new", 0), ("half", 1)):
        done = run(tree, "check-nccl-log.sh", str(tree / log), NCCL_CONF_FILE=str(settings))
        assert done.returncode == status, done.stdout


def test_the_gid_index_is_that_of_the_fabric_address(tree: Path) -> None:
    port = tree / "sys/class/infiniband/mlx5_r0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs/types").mkdir(parents=True)
    link_local, planned = "fe80:0000:0000:0000:0000:0000:0000:0001", "0000:0000:0000:0000:0000:ffff:0a00:0001"
    rows = [
        (link_local, "IB/RoCE v1"),
        (link_local, "RoCE v2"),
        (planned, "IB/RoCE v1"),
        (planned, "RoCE v2"),
    ]
    for index, (gid, kind) in enumerate(rows):
        (port / f"gids/{index}").write_text(f"{gid}\n")
        (port / f"gid_attrs/types/{index}").write_text(f"{kind}\n")
    found = run(tree, "gid-index.sh", "mlx5_r0", "10.0.0.1", SYSFS=str(tree / "sys"))
    assert found.stdout == "3\n"
    assert run(tree, "gid-index.sh", "mlx5_r0", "10.0.0.3", SYSFS=str(tree / "sys")).returncode == 1
    assert run(tree, "gid-index.sh", "mlx5_r0", "fe80::1", SYSFS=str(tree / "sys")).stdout == "1\n"


def test_a_device_that_is_not_there_is_named(tree: Path) -> None:
    done = run(tree, "gid-index.sh", "mlx5_r9", "10.0.0.1", SYSFS=str(tree / "sys"))
    assert (done.returncode, "no RDMA device mlx5_r9" in done.stderr) == (1, True)


def test_missing_settings_are_named_with_their_remedy(tree: Path) -> None:
    done = run(tree, "torchrun.sh", "train.py", NCCL_CONF_FILE="/nonexistent/nccl.conf")
    assert done.returncode == 2
    assert "/nonexistent/nccl.conf" in done.stderr
    assert "NCCL_CONF_FILE" in done.stderr
