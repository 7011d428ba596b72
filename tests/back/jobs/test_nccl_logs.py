"""The check of NCCL's logs: its verdict on lines of every release, of plugins and of logs that others published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.back.jobs.fabrics import write_tree
from tests.back.jobs.launching import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree("rails", tmp_path)


DIRECT = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
PROXIED = "h0:1:2 [0] NCCL INFO Channel 01/0 : 6[6] -> 8[0] [send] via NET/IB/0(7)/GDRDMA\n"
COPIED = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3\n"
SOCKET = "h0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0\n"
USING = (
    "h0:1:2 [0] NCCL INFO NET/IB : Using " + " ".join(f"[{r}]mlx5_r{r}:1/RoCE" for r in range(8)) + " [RO]\n"
)


@pytest.mark.spread
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
        # A plugin on some hosts only: nothing connects.
        (
            "a:1:2 [0] NCCL INFO Using network IB\nb:1:2 [0] NCCL INFO Using network IBext_v8\r\n",
            1,
            "networks (IB, IBext_v8)",
        ),
        (
            "a:1:2 [0] NCCL INFO Using network IB\nb:1:2 [0] NCCL INFO Using network IB\n",
            2,
            "no connection between",
        ),
        # NCCL sets up sockets in addition to RDMA, and uses RDMA.
        ("NCCL INFO NET/Socket : Using [0]eno3:10.0.0.1<0>\n" + DIRECT, 0, "0 over sockets"),
        ("NCCL INFO Using network Socket\n", 1, "FAULT: NET/Socket"),
        ("NCCL INFO NET/IB : No device found.\n", 1, "no RDMA device"),
        ("NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM\n", 2, "no connection between hosts"),
        ("the job asked for a path via NET/Socket/0\n" + USING + DIRECT, 0, "0 over sockets"),
        ("prompt: expect '[send] via NET/IB/0/GDRDMA' there\n" + USING, 2, "no connection between hosts"),
        (DIRECT.replace("IB/0", "GPUDirectTCPX_v7/0"), 1, "FAULT: NET/Socket"),
        (DIRECT.replace("IB/0", "FasTrak/0"), 1, "FAULT: NET/Socket"),
        ("step 1 loss 2.3\n", 2, "no line of NCCL"),
        ("", 2, "no line of NCCL"),
    ],
)
def test_log_check_distinguishes_rdma_from_sockets(tree: Path, log: str, status: int, word: str) -> None:
    (tree / "log").write_text(log)
    done = run(tree, "check-nccl-log.sh", str(tree / "log"))
    assert done.returncode == status
    assert word in done.stdout


HOSTS = ("gpu-a", "gpu-b")


def foreign_log(
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
    "2.18 RoCE": (foreign_log("2.18.5+cuda12.0", "NET/IB/0", "/GDRDMA", ROCE, "Using network IB"), 0),
    "2.19 sockets without a device": (
        foreign_log(
            "2.19.3+cuda12.3", "NET/Socket/0", "", "NET/IB : No device found.", "Using network Socket"
        ),
        1,
    ),
    "2.19 EFA, through the host": (
        foreign_log("2.19.4+cuda12.2", "NET/AWS Libfabric/0", "", OFI, prefix="[1,0]<stdout>:"),
        1,
    ),
    "2.19 EFA": (
        foreign_log("2.19.4+cuda12.2", "NET/AWS Libfabric/3", "/GDRDMA", OFI, channel="Channel 03"),
        0,
    ),
    "2.21 plugin of the maker's containers": (
        foreign_log("2.21.5+cuda12.4", "NET/IBext_v8/5(2)", "/GDRDMA", ROCE, "Using network IBext_v8"),
        0,
    ),
    "2.21 the same, too far from the GPU": (
        foreign_log("2.21.5+cuda12.4", "NET/IBext_v8/1", "", ROCE, "Using network IBext_v8"),
        1,
    ),
    "2.22 announced and then failed": (
        foreign_log("2.22.3+cuda12.6", "NET/IBext_v8/7", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_modify_qp failed with error No such device\n",
        1,
    ),
    "2.24 a peer that went away": (
        foreign_log("2.24.3+cuda12.8", "NET/IB/2", "/GDRDMA", ROCE)
        + "gpu-b:411:521 [0] transport/net_ib.cc:2290 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<5> with "
        "status=12 opcode=1 len=0 vendor err 129 (Send)\n",
        1,
    ),
    "2.26 GPU memory by PCIe": (foreign_log("2.26.2+cuda12.2", "NET/IB/1", "/GDRDMA(PCI)", IB), 0),
    "2.27 SHARP": (foreign_log("2.27.5+cuda12.9", "COLLNET/SHARP/0", "/GDRDMA", IB), 0),
    "2.27 one direction copied": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", IB)
        + foreign_log("2.27.5+cuda12.9", "NET/IB/0", "", IB),
        1,
    ),
    "2.28 virtual devices, shared buffers": (
        foreign_log(
            "2.28.3+cuda13.0",
            "NET/IB/8",
            "/GDRDMA/Shared",
            ROCE,
            "NET/IB : Made virtual device [8] name=mlx5_r0+mlx5_r1",
        ),
        0,
    ),
    "2.30 flush": (foreign_log("2.30.1+cuda13.1", "NET/IB/0", "/GDRDMA/flush=None", IB), 0),
    "2.31 EFA by name of its own": (
        foreign_log("2.31.2+cuda13.3", "NET/Libfabric/0", "/GDRDMA/flush=None", OFI),
        0,
    ),
    "2.30 without a helper for small copies": (
        foreign_log("2.30.4+cuda13.2", "NET/Libfabric/0", "/GDRDMA", OFI)
        + "gpu-a:410:520 [0] NCCL WARN NET/OFI Failed to initialize GDRCopy: Failed to open gdr handle\n",
        0,
    ),
    "2.32 connections of GPUs alone": (
        "gpu-a:410:520 [0] NCCL INFO NCCL version 2.32.3+cuda13.4\n"
        "gpu-a:410:520 [0] NCCL INFO Using network Libfabric\n"
        "gpu-a:410:520 [0] NCCL INFO devCommCreate: creating 33 contexts: 1 GIN connections with 33 contexts each\n",
        2,
    ),
    "RCCL 2.22": (foreign_log("2.22.3+hip6.4", "NET/IB/0", "/GDRDMA/Shared", ROCE), 0),
    "2.21 two ports joined in one device": (
        foreign_log("2.21.5+cuda12.4", "NET/IBext_v8/0", "/GDRDMA", JOINED, "Using network IBext_v8"),
        0,
    ),
    "2.27 names of communicators behind the connection": (
        foreign_log("2.27.5+cuda12.9", "NET/UCX/0", "/GDRDMA comm 0x22fcfb0 nRanks 02", ROCE),
        0,
    ),
    "2.27 sockets below Ray": (
        foreign_log(
            "2.27.3+cuda12.9",
            "NET/Socket/0",
            " comm 0x2083dd50 nRanks 02",
            prefix="(EngineCore_DP0 pid=742) (RayWorkerWrapper pid=927) ",
        ),
        1,
    ),
    "2.18 memory that a plugin cannot register": (
        foreign_log("2.18.3+cuda12.2", "NET/AWS Libfabric/7", "/GDRDMA/Shared", OFI)
        + "gpu-a:410:520 [3] register_mr_buffers:647 NCCL WARN NET/OFI Unable to register memory (type = 2)\n",
        1,
    ),
    "2.21 a peer that closed its connection": (
        foreign_log("2.21.5+cuda12.4", "NET/IBext_v8/1", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] socket.c:446 NCCL WARN socketProgress: Connection closed by remote peer gpu-b<4>\n",
        1,
    ),
    "2.30 a second job of the file falls back": (
        foreign_log("2.30.7+cuda13.0", "NET/IB/0", "/GDRDMA", ROCE, "Using network IB")
        + foreign_log(
            "2.30.7+cuda13.0", "P2P/CUMEM", "", "NET/IB : No device found.", "Using network Socket"
        ),
        1,
    ),
    "RCCL without libibverbs": (
        foreign_log(
            "2.20.5+hip6.2", "P2P/IPC", "", "Failed to open libibverbs.so[.1]", "Using network Socket"
        ),
        1,
    ),
    "RCCL with the plugin of a Pollara": (
        foreign_log("2.27.7+hip7.1", "NET/IB-CAST/0", "/GDRDMA/flush=Always", ROCE),
        0,
    ),
    "RCCL with UCX that cannot register memory": (
        foreign_log("2.18.6+hip5.7", "NET/UCX/0", "/GDRDMA comm 0x22fcfb0 nRanks 02", ROCE)
        + "gpu-a:410:520 [0] ucx_plugin.c:498 NCCL WARN Failed: UCX error ucx_plugin.c:498 '-5' Invalid parameter\n",
        1,
    ),
    "2.18 EFA without an address vector": (
        foreign_log("2.18.5+cuda12.2", "NET/AWS Libfabric/0", "/GDRDMA", OFI, prefix="[1,7]<stdout>:")
        + "[1,23]<stdout>:gpu-a:410:520 [7] create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, "
        "ERROR: Invalid argument\n",
        1,
    ),
    "RCCL without a setting of the kernel": (
        foreign_log("2.26.6+hip7.0", "NET/IB/0", "/GDRDMA", ROCE)
        + 'gpu-a:410:410 [0] init.cpp:122 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to '
        "system instablity or hang!\n",
        0,
    ),
    "cut off within a line": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0/GD",
        0,
    ),
    "2.24 a link that went away": (
        foreign_log("2.24.3+cuda12.8", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] transport/net_ib.cc:220 NCCL WARN NET/IB : mlx5_r0:1 Got async error event: port error\n",
        1,
    ),
    "2.24 a link that came back": (
        foreign_log("2.24.3+cuda12.8", "NET/IB/0", "/GDRDMA", ROCE)
        + "".join(
            f"gpu-a:410:520 [0] transport/net_ib.cc:220 NCCL WARN NET/IB : mlx5_r0:1 Got async error event: port {to}\n"
            for to in ("error", "active")
        ),
        0,
    ),
    "2.19 a subnet manager that started anew": (
        foreign_log("2.19.3+cuda12.3", "NET/IB/0", "/GDRDMA", IB)
        + "gpu-a:410:520 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : mlx5_r0:1 Got async event : client "
        "reregistration\n",
        0,
    ),
    "2.4 the interface of the bootstrap and no connection": (
        "gpu-a:20:289 [0] NCCL INFO NET/Socket : Using [0]ib0:192.0.2.1<0>\n"
        "gpu-a:20:289 [0] NCCL INFO NET/IB : Using [0]mlx5_r0:1/IB ; OOB ib0:192.0.2.1<0>\n"
        "NCCL version 2.4.7+cuda10.0\n",
        2,
    ),
    "2.19 a link that went away": (
        foreign_log("2.19.3+cuda12.3", "NET/IB/0", "/GDRDMA", IB)
        + "gpu-a:410:520 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : mlx5_r0:1 Got async event : port error\n",
        1,
    ),
    "2.19 a device that broke": (
        foreign_log("2.19.3+cuda12.3", "NET/IB/0", "/GDRDMA", IB)
        + "gpu-a:410:520 [0] transport/net_ib.cc:97 NCCL WARN NET/IB : mlx5_r0:1 Got async event : local catastrophic "
        "error\n",
        1,
    ),
    "2.27 EFA with times of a log service": (
        foreign_log(
            "2.27.7+cuda12.9",
            "NET/Libfabric/0",
            "/GDRDMA",
            OFI,
            prefix="  | 2025-05-16T16:40:02.222-07:00 | ",
        ),
        0,
    ),
    "2.27 a plugin by its long name": (
        foreign_log("2.27.5+cuda12.9", "NET/NCCL RDMA Plugin v8/0", "/GDRDMA", ROCE),
        0,
    ),
    "2.27 no device, and sockets": (
        foreign_log(
            "2.27.5+cuda12.9",
            "P2P/CUMEM",
            "",
            "NET/IB : No device found.",
            "NET/IB : Using [RO]; OOB eth0:192.0.2.1<0>",
            "Using network Socket",
        ),
        1,
    ),
    "2.28 an event that ends a queue pair": (
        foreign_log("2.28.9+cuda13.0", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] transport/net_ib.cc:154 NCCL WARN NET/IB : mlx5_3:1 async fatal event on QP (0x7d78): "
        "invalid request local work queue error\n",
        1,
    ),
    "2.18 a completion without its peer": (
        foreign_log("2.18.5+cuda12.2", "NET/IB/5", "/GDRDMA", ROCE, channel="Channel 01")
        + "gpu-a:410:520 [0] transport/net_ib.cc:818 NCCL WARN NET/IB : Got completion with error 4, opcode 8983, "
        "len 0, vendor err 81\n",
        1,
    ),
    "2.20 a connection that was given up": (
        foreign_log("2.20.5+cuda12.4", "NET/IBext_v8/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [7] socket.c:485 NCCL WARN socketStartConnect: Connect to 10.0.0.82<38455> failed : "
        "Software caused connection abort\n",
        1,
    ),
    "2.27 another network on the far side": (
        foreign_log("2.27.7+cuda13.0", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [2] misc/socket.cc:502 NCCL WARN socketFinalizeAccept: wrong type 4 != 3\n",
        1,
    ),
    "2.21 InfiniBand on one side alone": (
        foreign_log("2.21.5+cuda12.4", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] NCCL WARN NET/IB : Remote IB device is incompatible with the local "
        "[0]mlx5_0:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA\n",
        1,
    ),
    "2.30 a device that failed over": (
        foreign_log("2.30.7+cuda13.3", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] NCCL WARN NET/IB: Device 1 marked as failed. Initiating recovery? yes (send comm=0x7f, "
        "outstandingRecovery=1)\n",
        1,
    ),
    "2.30 resilience without a second device": (
        foreign_log("2.30.7+cuda13.3", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] NCCL WARN NET/IB: Resiliency is enabled on a recv communicator (comm=0x7f) with a single "
        "device. This does not make sense since there is no other device to fail over to.\n",
        0,
    ),
    "2.30 a kernel without the speed of a port": (
        foreign_log("2.30.7+cuda13.3", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:410:520 [0] misc/ibvwrap.cc:401 (wrap_ibv_query_port_speed) NCCL WARN Call to ibv_query_port_speed "
        "failed with error Protocol not supported errno 93\n",
        0,
    ),
    "2.27 a link that went away": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "0: [2026-02-11 16:02:37] gpu-a:29:30 [0] transport/net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got non-fatal "
        "async event: port error(10)\n",
        1,
    ),
    "2.27 a link that came back": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "".join(
            f"0: gpu-a:29:30 [0] net_ib.cc:253 NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: {event}\n"
            for event in ("port error(10)", "client reregistration(17)", "port active(9)")
        ),
        0,
    ),
    "2.27 a collective that hung": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "[rank9]:[E211 16:12:38.000000000 ProcessGroupNCCL.cpp:697] [Rank 9] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=20, OpType=ALLGATHER) ran for 600000 milliseconds before timing out.\n",
        1,
    ),
    "2.27 EFA, a peer that does not answer": (
        foreign_log("2.27.3+cuda12.9", "NET/Libfabric/0", "/GDRDMA", OFI)
        + "[rank0]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
        "prematurely.\n",
        1,
    ),
    "2.26 a cloud's own RDMA below Ray": (
        foreign_log(
            "2.26.6+cuda12.9", "NET/gIB/3", "/GDRDMA", prefix="(BenchmarkWorker pid=1876, ip=10.52.2.7) "
        ),
        0,
    ),
    "2.23 a shim that Ray prints once for several workers": (
        "NCCL INFO Channel 00/0 : 0[1] -> 1[1] [send] via NET/uninitialized_shim_v7/1/GDRDMA "
        "[repeated 15x across cluster]\n",
        0,
    ),
    "RCCL, one direction through the host": (
        foreign_log(
            "2.11.4+hip5.0", "NET/UCX/0", "/GDRDMA comm 0x2aaf44000c00 nRanks 08", channel="Channel 00"
        )
        + foreign_log("2.11.4+hip5.0", "NET/UCX/0", " comm 0x2aaf44000c00 nRanks 08", channel="Channel 00"),
        1,
    ),
    "two processes in one line": (
        foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE)
        + "gpu-a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0gpu-a:1:3 [1] NCCL INFO "
        "Channel 00/0 : 2[1] -> 3[1] [send] via NET/IB/1/GDRDMA\n",
        1,
    ),
    "bytes of no character, and a progress bar": (
        " 10%|\ufffd\x00\x1b[32m\u2588\u2588 | 1/10\r"
        + foreign_log("2.27.5+cuda12.9", "NET/IB/0", "/GDRDMA", ROCE),
        0,
    ),
    "a failure without anything else": (
        "gpu-a:1:2 [0] misc/ibvwrap.cc:203 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n",
        1,
    ),
    "one host": (foreign_log("2.27.5+cuda12.9", "P2P/CUMEM/read", "", IB), 2),
    "warnings alone": ("gpu-a:1:2 [0] init.cc:1 NCCL WARN NUMA auto balancing is enabled\n", 2),
}
"""Name -> a log in the format of public ones, and the verdict."""


@pytest.mark.spread
@pytest.mark.parametrize("name", FOREIGN)
def test_the_verdict_of_a_foreign_log(tree: Path, name: str) -> None:
    log, status = FOREIGN[name]
    (tree / "log").write_bytes(log.encode().replace("\ufffd".encode(), b"\xff"))
    settings = tree / "one.conf"
    settings.write_text("NCCL_IB_HCA==mlx5_r0:1\n")
    done = run(tree, "check-nccl-log.sh", str(tree / "log"), NCCL_CONF_FILE=str(settings))
    assert done.returncode == status, done.stdout


def test_a_log_without_evidence_does_not_pass_next_to_one_with(tree: Path) -> None:
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
