"""The launch files are sound shell and put ranks in the fabric's order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import PurePath
from typing import TYPE_CHECKING

import pytest

from tests.back.jobs.fabrics import files, write_tree
from tests.back.jobs.launching import NAMES, run

if TYPE_CHECKING:
    from pathlib import Path

SHELL = [name for name in files("rails") if name.endswith(".sh")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree("rails", tmp_path)


@pytest.mark.parametrize("name", SHELL)
@pytest.mark.spread
def test_the_shell_is_sound(tree: Path, name: str) -> None:
    subprocess.run(["bash", "-n", tree / name], check=True)
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(
        ["shellcheck", "-x", tree / name], cwd=(tree / name).parent, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_torchrun_has_the_static_order(tree: Path) -> None:
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
    output = run(tree, "mxnet.sh", "worker", "env").stdout.splitlines()
    assert {line for line in output if line.startswith("DMLC_")} == {
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


@pytest.mark.parametrize(("version", "status"), [("2.48.0", 2), ("2.49.2", 0), ("3.0.0", 0)])
def test_a_release_of_ray_without_ipv6_is_named(tree: Path, version: str, status: int) -> None:
    ray = tree / "old/ray"
    ray.parent.mkdir()
    ray.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "ray, version {version}" || echo "$@"\n')
    ray.chmod(0o755)
    path = f"{tree / 'old'}:{os.environ['PATH']}"
    for address, expected in (("2001:db8::7", status), ("192.0.2.7", 0)):
        done = run(tree, "ray.sh", VLLM_HOST_IP=address, PATH=path)
        assert done.returncode == expected, done.stderr
        assert ("before 2.49" in done.stderr) == bool(expected)


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
    reported = with_ip(
        tree, "-4 addr show dev eno3", "2: eno3    inet 192.0.2.9/24 brd 192.0.2.255 scope global eno3"
    )
    (tree / "bin/ray").write_text('#!/bin/sh\necho "$VLLM_HOST_IP" "$@"\n')
    (tree / "bin/vllm").write_text('#!/bin/sh\necho "$VLLM_HOST_IP" "$@"\n')
    for name in ("ray", "vllm"):
        (tree / "bin" / name).chmod(0o755)
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    environment = {
        **os.environ,
        **reported,
        "PATH": path,
        "SYSFS": str(tree / "sys"),
        "FABRICC_HOST": NAMES[0],
    }
    (tree / "sys/class/net/eno3").mkdir(parents=True)
    environment["NCCL_CONF_FILE"] = str(tree / "jobs/nccl.conf")
    done = subprocess.run(
        [tree / "jobs/launch" / script, "model"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.startswith("192.0.2.9 "), done.stderr
    assert ("--node-ip-address=192.0.2.9" in done.stdout) == (script == "ray.sh")


def test_the_address_of_a_host_is_one_that_stays(tree: Path) -> None:
    """Privacy addresses change each day, and the kernel lists them first."""
    lines = [
        f"2: eno3 inet6 2001:db8::{at}/64 scope global {state} dynamic"
        for at, state in (
            ("dead", "temporary"),
            ("beef", "deprecated"),
            ("cafe", "tentative"),
            ("7", "mngtmpaddr"),
        )
    ]
    reported = with_ip(tree, "-6 addr show dev eno3", "\n".join(lines))
    (tree / "bin/ip").write_text((tree / "bin/ip").read_text().replace("\\n", "\n"))
    done = run(tree, "ray.sh", host=NAMES[9], **reported)
    assert "--node-ip-address=2001:db8::7" in done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("address", ["127.0.1.1", "::1", ""])
def test_no_host_joins_ray_by_loopback_or_without_an_address(tree: Path, address: str) -> None:
    done = run(tree, "ray.sh", **with_ip(tree) | {"VLLM_HOST_IP": address})
    assert (done.returncode, done.stdout) == (2, "")
    assert "socket_interface in the spec" in done.stderr


@pytest.mark.parametrize("known", [True, False])
def test_a_host_without_a_route_to_the_others_is_named(tree: Path, known: bool) -> None:
    """Neither a name that nobody knows nor a network that is unreachable ends the script in silence."""
    own = with_ip(tree)
    (tree / "bin/ip").write_text("#!/bin/sh\nexit 2\n")
    (tree / "bin/getent").write_text(f"#!/bin/sh\n{'echo 192.0.2.1 STREAM' if known else 'exit 2'}\n")
    (tree / "bin/getent").chmod(0o755)
    (tree / "nccl.conf").write_text("NCCL_IB_TC=106\n")
    done = run(tree, "ray.sh", **own, NCCL_CONF_FILE=str(tree / "nccl.conf"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "on its route to other hosts" in done.stderr


def in_launcher_pod(tree: Path) -> dict[str, str]:
    """Open MPI 5 that prints its arguments, and the host file of the MPI operator."""
    mpirun = tree / "five/mpirun"
    mpirun.parent.mkdir()
    mpirun.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.7" || echo "$PRTE_MCA_prte_if_include $*"\n'
    )
    mpirun.chmod(0o755)
    (tree / "pods").write_text("job-worker-0.job.default.svc slots=8\n")
    return {"PATH": f"{mpirun.parent}:{os.environ['PATH']}", "FABRICC_HOSTFILE": str(tree / "pods")}


def test_mpirun_needs_no_settings_on_the_host_that_starts_the_job(tree: Path) -> None:
    """A login host has none, nor has a launcher pod of Kubeflow's MPI operator, whose host file is its own."""
    own = in_launcher_pod(tree)
    done = run(tree, "mpirun.sh", "./app", NCCL_CONF_FILE=str(tree / "missing"), **own)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"eno3 --hostfile {tree / 'pods'} -np 8 ")


def test_ranks_in_pods_get_the_interface_and_the_devices_of_pods(tree: Path) -> None:
    """Host files of the MPI operator have pods, whose sessions of sshd do not have the variables of pod.yaml.

    A pod has eth0, and the device of a virtual function has another name than that of the port.
    """
    (tree / "jobs/ucx-dgx-h100.conf").write_text("UCX_NET_DEVICES=mlx5_r0:1\nUCX_IB_TRAFFIC_CLASS=106\n")
    (tree / "jobs/ucx.conf").unlink()
    (tree / "jobs/nvshmem.env").write_text(
        "NVSHMEM_HCA_LIST=mlx5_r0:1\nNVSHMEM_IB_TRAFFIC_CLASS=106\nNVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME==eno3\n"
    )
    (tree / "jobs/mori.env").write_text("MORI_SOCKET_IFNAME=eno3\n")
    own = {
        **in_launcher_pod(tree), "FABRICC_MODEL": "dgx-h100", "SYSFS": str(tree / "nowhere"),
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    }  # fmt: skip
    done = run(tree, "mpirun.sh", "./app", **own)
    words = done.stdout.split()
    assert [words[at + 1] for at, word in enumerate(words) if word == "-x"] == [
        "UCX_IB_TRAFFIC_CLASS=106", "NVSHMEM_IB_TRAFFIC_CLASS=106", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME==eth0",
        "MORI_SOCKET_IFNAME=eth0",
    ]  # fmt: skip


def test_an_interface_that_the_host_lacks_is_named_with_the_key(tree: Path) -> None:
    done = run(tree, "torchrun.sh", "train.py", SYSFS=str(tree / "nowhere"))
    assert (done.returncode, "no eno3" in done.stderr, "socket_interface" in done.stderr) == (2, True, True)


def test_vllm_is_tensor_parallel_inside_hosts_and_pipeline_parallel_across(tree: Path) -> None:
    output = run(tree, "vllm.sh", "model", host=NAMES[0]).stdout.split()
    assert output == [
        "vllm", "serve", "model", "--tensor-parallel-size", "8", "--pipeline-parallel-size", "32",
        "--distributed-executor-backend", "ray",
    ]  # fmt: skip


def test_containers_get_devices_and_memory_and_no_privilege(tree: Path) -> None:
    output = run(
        tree, "container.sh", "image", "run", CONTAINER_OPTIONS="--name x", GPU_VENDOR="nvidia"
    ).stdout.splitlines()
    assert output[-4:] == ["--name", "x", "image", "run"]
    assert "--privileged" not in output
    assert output[output.index("--device") + 1] == "/dev/infiniband"
    assert output[output.index("--cap-add") + 1] == "IPC_LOCK"
    assert "memlock=-1:-1" in output


def test_containers_get_the_interface_for_sockets_of_other_libraries(tree: Path) -> None:
    """Gloo and NVSHMEM read no nccl.conf, and take a loopback address or a rail where nothing names another."""
    (tree / "jobs/nvshmem-dgx-h100.env").write_text("NVSHMEM_HCA_LIST=mlx5_r0:1\n")
    kinds = (tree / "jobs/hosts.csv").read_text()
    (tree / "jobs/hosts.csv").write_text(re.sub(r"(?m),[^,\n]*$", ",dgx-h100", kinds))
    output = run(tree, "container.sh", "image", GPU_VENDOR="nvidia").stdout.splitlines()
    assert [output[at + 1] for at, word in enumerate(output) if word == "--env"] == [
        "GLOO_SOCKET_IFNAME=eno3"
    ]
    given = [PurePath(output[at + 1]).name for at, word in enumerate(output) if word == "--env-file"]
    assert given == ["nvshmem.env", "nvshmem-dgx-h100.env"]
    other = run(tree, "container.sh", "image", GPU_VENDOR="nvidia", host="gpu99").stdout.splitlines()
    assert other.count("--env-file") == 1


def test_podman_gets_gpus_and_devices_in_its_own_words(tree: Path) -> None:
    """RHEL has podman alone, whose `--gpus` brings no device, and SELinux."""
    podman = tree / "tools/podman"
    podman.parent.mkdir()
    podman.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    podman.chmod(0o755)
    output = run(
        tree, "container.sh", "image", GPU_VENDOR="nvidia", CONTAINER_TOOL=str(podman)
    ).stdout.splitlines()
    assert [output[at + 1] for at, word in enumerate(output) if word == "--device"] == [
        "nvidia.com/gpu=all",
        "/dev/infiniband",
    ]
    assert output[-3:] == ["--security-opt", "label=disable", "image"]
    assert "--gpus" not in output
    for name in ("bash", "env"):
        (podman.parent / name).symlink_to(shutil.which(name) or name)
    alone = run(tree, "container.sh", "image", GPU_VENDOR="nvidia", PATH=str(podman.parent))
    assert "nvidia.com/gpu=all" in alone.stdout


def test_no_container_starts_without_settings(tree: Path) -> None:
    """docker would make a folder of the name."""
    done = run(tree, "container.sh", "image", GPU_VENDOR="nvidia", NCCL_CONF_FILE=str(tree / "absent"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent: copy the settings there" in done.stderr


def test_containers_of_amd_hosts_get_its_devices_and_settings(tree: Path) -> None:
    output = run(tree, "container.sh", "image", GPU_VENDOR="amd").stdout.splitlines()
    assert "--gpus" not in output
    assert [output[at + 1] for at, word in enumerate(output) if word == "--device"][:2] == [
        "/dev/kfd",
        "/dev/dri",
    ]
    assert any(word.endswith(":/etc/rccl.conf:ro") for word in output)
    assert "--gpus" in run(tree, "container.sh", "image", GPU_VENDOR="nvidia").stdout.splitlines()


MPIRUN = pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HERE = {**ROOT, "SYSFS": "/sys"}


def mapped_hosts(done: subprocess.CompletedProcess[str]) -> str:
    output = done.stdout + done.stderr
    if "--display-map" in output and "deprecated" in output and "Data for node" not in output:
        pytest.skip("this Open MPI prints its map in another form")
    return output


@MPIRUN
def test_open_mpi_maps_ranks_in_host_order(tree: Path) -> None:
    (tree / "part").write_text("".join(files("rails")["jobs/hostfile"].splitlines(keepends=True)[6:10]))
    options = {"MPIRUN_OPTIONS": "--do-not-launch --display-map", "FABRICC_HOSTFILE": str(tree / "part")}
    output = mapped_hosts(run(tree, "mpirun.sh", "true", **options, **HERE))
    assert re.findall(r"Data for node: (\S+)\s.*Num procs: (\d+)", output) == [
        (name, "8") for name in NAMES[6:10]
    ]
    assert re.findall(r"Process rank: (\d+)", output) == [str(rank) for rank in range(32)]


@MPIRUN
def test_open_mpi_connects_over_the_socket_interface_alone(tree: Path) -> None:
    """Open MPI itself lists its parameters and their sources."""
    (tree / "here").write_text("localhost slots=1\n")
    for name in ("nccl.conf", "rccl.conf"):
        (tree / "jobs" / name).write_text("NCCL_SOCKET_IFNAME==lo\n")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), SYSFS="/sys", **ROOT)
    values = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert values["OMPI_MCA_oob_tcp_if_include"] == values["OMPI_MCA_btl_tcp_if_include"] == "lo"
    assert "PRTE_MCA_prte_if_include" not in values


def test_open_mpi_5_gets_no_deprecated_parameter(tree: Path) -> None:
    """Its mpirun warns of `oob_tcp_if_include` (seen with 5.0.7)."""
    (tree / "here").write_text("localhost slots=1\n")
    mpirun = tree / "five/mpirun"
    mpirun.parent.mkdir()
    mpirun.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.7" || { env; echo "$@"; }\n'
    )
    mpirun.chmod(0o755)
    path = f"{tree / 'five'}:{os.environ['PATH']}"
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), PATH=path)
    assert "PRTE_MCA_prte_if_include=eno3\n" in done.stdout
    assert "oob_tcp" not in done.stdout


@MPIRUN
def test_open_mpi_leaves_the_rails_out_where_the_interface_has_another_name(tree: Path) -> None:
    (tree / "here").write_text("localhost slots = 1\n")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), **HERE)
    values = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    rails = ",".join(f"rail{rail}" for rail in range(8))
    assert values["OMPI_MCA_oob_tcp_if_exclude"] == rails
    assert values["OMPI_MCA_btl_tcp_if_exclude"] == f"127.0.0.0/8,{rails}"
    assert "OMPI_MCA_oob_tcp_if_include" not in values


@MPIRUN
def test_open_mpi_takes_the_settings_of_the_kind_of_the_jobs_hosts(tree: Path) -> None:
    (tree / "here").write_text("localhost slots=1\n")
    rows = (tree / "jobs/hosts.csv").read_text().splitlines()
    model = rows[1].split(",")[5]
    rows += [",".join(["localhost", *rows[1].split(",")[1:]])]
    (tree / "jobs/hosts.csv").write_text("\n".join(rows) + "\n")
    ucx = (tree / "jobs/ucx.conf").rename(tree / f"jobs/ucx-{model}.conf")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), **HERE)
    assert set(ucx.read_text().splitlines()) <= set(done.stdout.splitlines())
    ucx.rename(tree / "jobs/ucx-other.conf")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), **HERE)
    assert "UCX_NET_DEVICES" not in done.stdout
    assert f"no ucx.conf for all hosts of this job ({model}): ranks get none" in done.stderr


@pytest.mark.parametrize("line", ["su001-host01", "su001-host01:8", "su001-host01 max_slots=8"])
def test_a_host_without_its_number_of_gpus_is_named(tree: Path, line: str) -> None:
    (tree / "part").write_text(f"{line}\n")
    done = run(tree, "torchrun.sh", "train.py", FABRICC_HOSTFILE=str(tree / "part"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "gives no number of GPUs for su001-host01" in done.stderr


@MPIRUN
def test_open_mpi_gives_every_rank_the_settings_of_ucx(tree: Path) -> None:
    (tree / "here").write_text("localhost slots=1\n")
    done = run(tree, "mpirun.sh", "env", FABRICC_HOSTFILE=str(tree / "here"), **HERE)
    assert "none of eno3: Open MPI uses all interfaces but the rails" in done.stderr
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
    assert re.findall(r"Process rank: (\d+) Bound: socket \d+\[core 0", mapped_hosts(done)) == ["0"]
    assert run(tree, "rankfile.sh").stdout.splitlines()[8:10] == [
        f"rank 8={NAMES[1]} slot=0", f"rank 9={NAMES[1]} slot=1",
    ]  # fmt: skip


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
