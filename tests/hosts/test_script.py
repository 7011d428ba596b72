"""The NIC script, run by a real shell against recording tools, does what the contract says and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.hosts import roce
from fabricc.hosts.ubuntu import render
from tests.hosts.variants import VARIANTS

if TYPE_CHECKING:
    from pathlib import Path

RECORDER = """#!/bin/sh
printf '%s' "${0##*/}" >> "$RECORD"
for word in "$@"; do printf ' %s' "$word" >> "$RECORD"; done
printf '\\n' >> "$RECORD"
exit ${STATUS_ETHTOOL:-0}
"""
WRITTEN = (
    "class/net/{net}/ecn/roce_np/cnp_dscp",
    "class/net/{net}/ecn/roce_np/cnp_802p_prio",
    "class/infiniband/{rdma}/tc/1/traffic_class",
    "kernel/config/rdma_cm/{rdma}/ports/1/default_roce_mode",
    "kernel/config/rdma_cm/{rdma}/ports/1/default_roce_tos",
)


def machine(root: Path, net: str, rdma: str) -> None:
    """A /sys with one port as the vendor's driver shows it, and recording tools."""
    for file in WRITTEN:
        path = root / "sys" / file.format(net=net, rdma=rdma)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for side in ("np", "rp"):
        enable = root / f"sys/class/net/{net}/ecn/roce_{side}/enable"
        enable.mkdir(parents=True)
        for priority in range(8):
            (enable / str(priority)).write_text("0\n")
    (root / "bin").mkdir()
    for tool in ("mlnx_qos", "ethtool", "modprobe"):
        script = RECORDER if tool == "ethtool" else RECORDER.replace("${STATUS_ETHTOOL:-0}", "0")
        (root / "bin" / tool).write_text(script)
        (root / "bin" / tool).chmod(0o755)


def run(root: Path, variant: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = root / "fabricc-roce"
    script.write_text(render(VARIANTS[variant])[roce.SCRIPT])
    env = {
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
        "SYSFS": str(root / "sys"),
        "RECORD": str(root / "record"),
        **environment,
    }
    return subprocess.run(
        ["sh", str(script), *arguments], env=env, capture_output=True, text=True, timeout=20, check=False
    )


def recorded(root: Path) -> list[str]:
    return (root / "record").read_text().splitlines()


def content(root: Path, file: str) -> str:
    return (root / "sys" / file).read_text().strip()


def test_commands_and_settings_are_the_contract(tmp_path: Path) -> None:
    machine(tmp_path, "rail1", "mlx5_r1")
    done = run(tmp_path, "plain", "rail1")
    assert (done.returncode, done.stderr) == (0, "")
    pairs = " ".join(f"--dscp2prio=set,{d},{ {26: 3, 48: 6}.get(d, 0) }" for d in range(64))
    assert recorded(tmp_path) == [
        "mlnx_qos -i rail1 -d os",
        "mlnx_qos -i rail1 --trust=dscp",
        f"mlnx_qos -i rail1 {pairs}",
        "mlnx_qos -i rail1 -p 0,1,2,3,4,5,6,7 -s ets,ets,ets,ets,ets,ets,strict,ets -t 10,0,0,90,0,0,0,0",
        "ethtool -A rail1 autoneg off rx off tx off",
        "mlnx_qos -i rail1 --pfc=0,0,0,1,0,0,0,0",
        "mlnx_qos -i rail1 --cable_len=5",
    ]
    net, rdma = "class/net/rail1/ecn", "class/infiniband/mlx5_r1"
    for side in ("np", "rp"):
        enabled = [content(tmp_path, f"{net}/roce_{side}/enable/{p}") for p in range(8)]
        assert enabled == ["0", "0", "0", "1", "0", "0", "0", "0"]
    assert content(tmp_path, f"{net}/roce_np/cnp_dscp") == "48"
    assert content(tmp_path, f"{net}/roce_np/cnp_802p_prio") == "6"
    assert content(tmp_path, f"{rdma}/tc/1/traffic_class") == "106"
    port = "kernel/config/rdma_cm/mlx5_r1/ports/1"
    assert content(tmp_path, f"{port}/default_roce_mode") == "RoCE v2"
    assert content(tmp_path, f"{port}/default_roce_tos") == "106"


def test_a_second_run_leaves_the_same_state(tmp_path: Path) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    run(tmp_path, "plain", "rail0")
    once = recorded(tmp_path)
    assert run(tmp_path, "plain", "rail0", STATUS_ETHTOOL="78").returncode == 0  # pause is off already
    assert recorded(tmp_path) == once * 2


def test_a_refused_setting_fails_the_unit(tmp_path: Path) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "plain", "rail0", STATUS_ETHTOOL="1").returncode != 0


def test_two_lossless_classes_share_pfc(tmp_path: Path) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "two-lossless", "rail0").returncode == 0
    commands = recorded(tmp_path)
    assert "mlnx_qos -i rail0 --pfc=0,0,0,1,1,0,0,0" in commands
    assert any(command.endswith("-t 10,0,0,60,30,0,0,0") for command in commands)


def test_a_lossy_fabric_turns_pfc_off_and_sets_no_traffic_class(tmp_path: Path) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "lossy", "rail0").returncode == 0
    assert recorded(tmp_path)[-1] == "mlnx_qos -i rail0 --pfc=0,0,0,0,0,0,0,0"
    assert content(tmp_path, "class/infiniband/mlx5_r0/tc/1/traffic_class") == ""


def test_the_inbox_driver_is_said_and_does_not_fail(tmp_path: Path) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    shutil.rmtree(tmp_path / "sys/class/net/rail0/ecn")
    shutil.rmtree(tmp_path / "sys/class/infiniband/mlx5_r0/tc")
    done = run(tmp_path, "plain", "rail0")
    assert done.returncode == 0
    assert "inbox driver" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["rail9"], ["eno1"]])
def test_other_interfaces_are_refused_untouched(tmp_path: Path, arguments: list[str]) -> None:
    machine(tmp_path, "rail0", "mlx5_r0")
    done = run(tmp_path, "plain", *arguments)
    assert done.returncode == 2
    assert "rail0 rail1" in done.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.parametrize("variant", [name for name, host in VARIANTS.items() if roce.SCRIPT in render(host)])
def test_shells_take_the_script(variant: str) -> None:
    text = render(VARIANTS[variant])[roce.SCRIPT]
    checkers = [["sh", "-n"]]
    if shutil.which("bash"):
        checkers.append(["bash", "--posix", "-n"])
    for checker in checkers:
        done = subprocess.run(
            [*checker, "/dev/stdin"], input=text, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), checker


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("variant", ["plain", "lossy", "dual-port"])
def test_shellcheck_has_nothing_to_say(variant: str) -> None:
    text = render(VARIANTS[variant])[roce.SCRIPT]
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "--format=gcc", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
