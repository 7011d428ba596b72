"""The NIC script, run by a real shell with recording tools, does what the contract defines and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricc.back.hosts import qos, render, services
from fabricc.catalog.model import CARD_MODE
from tests.back.hosts.variants import VARIANTS

TOOLS = Path(__file__).with_name("nic_tools.py")
WRITTEN = (
    "class/net/{net}/ecn/roce_np/cnp_dscp",
    "class/net/{net}/ecn/roce_np/cnp_802p_prio",
    "class/net/{net}/ecn/roce_rp/rpg_ai_rate",
    "class/infiniband/{rdma}/tc/1/traffic_class",
    "kernel/config/rdma_cm/{rdma}/ports/1/default_roce_mode",
    "kernel/config/rdma_cm/{rdma}/ports/1/default_roce_tos",
)


def make_machine(root: Path, net: str, rdma: str) -> None:
    """A /sys with one port, and the NIC's tools."""
    port(root, net, rdma)
    make_tools(root)


def port(root: Path, net: str, rdma: str, pci: str = "0000:18:00.0") -> None:
    """One port of a NIC below a bridge, as the vendor's driver shows it."""
    for file in WRITTEN:
        path = root / "sys" / file.format(net=net, rdma=rdma)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for side in ("np", "rp"):
        enable = root / f"sys/class/net/{net}/ecn/roce_{side}/enable"
        enable.mkdir(parents=True)
        for priority in range(8):
            (enable / str(priority)).write_text("0\n")
    devices = root / "sys/bus/pci/devices"
    for address, kind in (("0000:17:00.0", "0x060400"), (pci, "0x020000")):
        (devices / address).mkdir(parents=True, exist_ok=True)
        (devices / address / "class").write_text(kind + "\n")
    below = root / f"sys/devices/pci0000:15/0000:17:00.0/{pci}"
    below.mkdir(parents=True, exist_ok=True)
    (root / f"sys/class/net/{net}/device").symlink_to(below)
    (root / f"sys/class/net/{net}/ifindex").write_text("4\n")


def make_tools(root: Path) -> None:
    """The tools of every family, in a folder of their own."""
    (root / "bin").mkdir()
    text = f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(TOOLS.parent)!r})\nimport {TOOLS.stem}\n"
    for tool in ("mlnx_qos", "ethtool", "setpci", "mlxconfig", "mlxreg", "dcb", "devlink", "nicctl"):
        (root / "bin" / tool).write_text(text)
        (root / "bin" / tool).chmod(0o755)


def run(root: Path, variant: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = root / "fabricc-roce"
    script.write_text(render(VARIANTS[variant])[qos.SCRIPT])
    env = {
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
        "SYSFS": str(root / "sys"),
        "RECORD": str(root / "record"),
        "STATE": str(root / "state"),
        "RUN_FOLDER": str(root),
        "DRIVER": VARIANTS[variant].nic.driver,
        **environment,
    }
    return subprocess.run(
        ["sh", str(script), *arguments], env=env, capture_output=True, text=True, timeout=240, check=False
    )


def recorded_calls(root: Path) -> list[str]:
    return (root / "record").read_text().splitlines()


def read_setting(root: Path, file: str) -> str:
    return (root / "sys" / file).read_text().strip()


PCI = ["setpci -s 0000:18:00.0 CAP_EXP+08.w=5000:7000", "setpci -s 0000:17:00.0 ECAP_ACS+6.w=0000"]


def test_commands_and_settings_are_the_contract(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail1", "mlx5_r1")
    done = run(tmp_path, "plain", "rail1")
    assert (done.returncode, done.stderr) == (0, "")
    pairs = " ".join(f"--dscp2prio=set,{d},{ {26: 3, 48: 6}.get(d, 0) }" for d in range(64))
    assert recorded_calls(tmp_path) == [
        "mlnx_qos -i rail1 -d os",
        "mlnx_qos -i rail1 --trust=dscp",
        f"mlnx_qos -i rail1 {pairs}",
        "mlnx_qos -i rail1 -p 0,1,2,3,4,5,6,7 -s ets,ets,ets,ets,ets,ets,strict,ets -t 10,0,0,90,0,0,0,0",
        "mlnx_qos -i rail1 --pfc=0,0,0,1,0,0,0,0",
        "mlnx_qos -i rail1 --cable_len=5",
        "ethtool -A rail1 autoneg off rx off tx off",
        *PCI,
    ]
    net, rdma = "class/net/rail1/ecn", "class/infiniband/mlx5_r1"
    for side in ("np", "rp"):
        enabled = [read_setting(tmp_path, f"{net}/roce_{side}/enable/{p}") for p in range(8)]
        assert enabled == ["0", "0", "0", "1", "0", "0", "0", "0"]
    assert read_setting(tmp_path, f"{net}/roce_np/cnp_dscp") == "48"
    assert read_setting(tmp_path, f"{net}/roce_np/cnp_802p_prio") == "6"
    assert read_setting(tmp_path, f"{rdma}/tc/1/traffic_class") == "106"
    port = "kernel/config/rdma_cm/mlx5_r1/ports/1"
    assert read_setting(tmp_path, f"{port}/default_roce_mode") == "RoCE v2"
    assert read_setting(tmp_path, f"{port}/default_roce_tos") == "106"


def test_a_second_run_touches_nothing(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "plain", "rail0").stdout == "rail0: configured\n"
    once = recorded_calls(tmp_path)
    again = run(tmp_path, "plain", "rail0")
    assert (again.returncode, again.stdout, recorded_calls(tmp_path)) == (0, "", once)


def test_another_class_of_connections_leaves_the_nic_alone(tmp_path: Path) -> None:
    """Setting PFC anew empties buffers."""
    make_machine(tmp_path, "rail0", "mlx5_r0")
    run(tmp_path, "plain", "rail0")
    once = recorded_calls(tmp_path)
    (tmp_path / "sys/kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_tos").write_text("0\n")
    run(tmp_path, "plain", "rail0")
    assert recorded_calls(tmp_path) == once
    assert run(tmp_path, "plain", "--check", "rail0").returncode == 0


def test_pause_that_no_tool_shows_is_not_called_as_planned(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    run(tmp_path, "plain", "rail0")
    (tmp_path / "bin/ethtool").unlink()
    done = run(tmp_path, "plain", "--check", "rail0", PATH=f"{tmp_path / 'bin'}:/usr/bin")
    assert (done.returncode, done.stdout) == (
        4, "not looked at: rail0: 802.3x pause, for want of ethtool\n"
    )  # fmt: skip


def test_another_read_request_leaves_classes_and_pfc_alone(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    run(tmp_path, "plain", "rail0")
    once = recorded_calls(tmp_path)
    subprocess.run([tmp_path / "bin/setpci", "-s", "0000:18:00.0", "CAP_EXP+08.w=2910"], check=True,
        env={"STATE": str(tmp_path / "state"), "RECORD": str(tmp_path / "other")})  # fmt: skip
    assert run(tmp_path, "plain", "rail0").stdout == "rail0: configured\n"
    assert recorded_calls(tmp_path) == once + PCI


def test_a_kernel_locked_by_secure_boot_keeps_the_other_settings(tmp_path: Path) -> None:
    """It refuses writes to PCIe configuration (kernel_lockdown(7)); setpci of pciutils then only prints a warning."""
    make_machine(tmp_path, "rail0", "mlx5_r0")
    lock = tmp_path / "sys/kernel/security/lockdown"
    lock.parent.mkdir()
    lock.write_text("none [integrity] confidentiality\n")
    assert run(tmp_path, "plain", "rail0").stdout == "rail0: configured\n"
    once = recorded_calls(tmp_path)
    assert not [call for call in once if "setpci" in call]
    assert read_setting(tmp_path, "kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_tos") == "106"
    again = run(tmp_path, "plain", "rail0")
    assert (again.stdout, recorded_calls(tmp_path)) == ("", once)
    checked = run(tmp_path, "plain", "--check", "rail0")
    assert checked.returncode == 1
    assert "PCIe read request (code) is 2, planned 5" in checked.stdout
    assert "Secure Boot locks the kernel" in checked.stderr


def test_a_refused_setting_fails_the_unit(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    (tmp_path / "bin/setpci").write_text("#!/bin/sh\nexit 3\n")
    assert run(tmp_path, "plain", "rail0").returncode == 3


@pytest.mark.spread
@pytest.mark.parametrize("variant", ["plain", "two-lossless", "lossy", "thor2", "e810", "e810-iwarp"])
def test_a_check_is_clean_after_a_run_and_writes_nothing(tmp_path: Path, variant: str) -> None:
    rdma = VARIANTS[variant].ports[0].rdma
    make_machine(tmp_path, "rail0", rdma)
    cc = tmp_path / f"sys/kernel/config/bnxt_re/{rdma}/ports/1/cc"
    cc.mkdir(parents=True)
    for name in ("ecn_marking", "ecn_enable", "cc_mode", "cnp_prio", "cnp_dscp", "roce_prio", "roce_dscp"):
        (cc / name).write_text("0")
    switch = tmp_path / f"sys/kernel/config/irdma/{rdma}/roce_dcqcn_enable"
    switch.parent.mkdir(parents=True)
    switch.write_text("0\n")
    before = run(tmp_path, variant, "--check", "rail0")
    assert before.returncode == 1
    assert not (tmp_path / "record").exists()
    done = run(tmp_path, variant, "rail0")
    assert (done.returncode, done.stdout) == (0, "rail0: configured\n"), done.stderr
    if variant == "plain":
        assert run(tmp_path, variant, "--firmware", "rail0").returncode == 0
    elif variant in ("two-lossless", "lossy"):
        run(tmp_path, variant, "--firmware", "rail0")
    once = recorded_calls(tmp_path)
    after = run(tmp_path, variant, "--check", "rail0")
    assert (after.returncode, after.stdout) == (0, "")
    assert run(tmp_path, variant, "rail0").stdout == ""
    assert recorded_calls(tmp_path) == once


DRIFTS = {
    "mlnx_qos -i rail0 --pfc=0,0,0,0,1,0,0,0": "rail0: PFC is 0,0,0,0,1,0,0,0, planned 0,0,0,1,0,0,0,0",
    "mlnx_qos -i rail0 --trust=pcp": "rail0: trust is pcp, planned dscp",
    "mlnx_qos -i rail0 --cable_len=7": "rail0: cable length is 7, planned 5",
    "mlnx_qos -i rail0 -r 0,0,0,10,0,0,0,0": "rail0: rate limits is 3:10.0Gbps, planned ",
    "mlnx_qos -i rail0 --dscp2prio=set,24,3": "rail0: DSCP map is ",
    "setpci -s 0000:18:00.0 CAP_EXP+08.w=2000:7000": "rail0: PCIe read request (code) is 2, planned 5",
    "setpci -s 0000:17:00.0 ECAP_ACS+6.w=001d": "rail0: PCIe access control of 0000:17:00.0 is 001d, planned 0000",
    "mlxconfig -y -d x set LINK_TYPE_P1=1": "rail0: LINK_TYPE_P1 is 1, planned 2",
}


@pytest.mark.slow
def test_script_names_and_restores_changed_settings(tmp_path: Path) -> None:
    """One change after the other, on one host."""
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "connectx-7", "rail0").returncode == 0
    assert run(tmp_path, "connectx-7", "--firmware", "rail0").returncode == 0
    environment = {"STATE": str(tmp_path / "state"), "RECORD": str(tmp_path / "other")}
    for change, reported in DRIFTS.items():
        tool, *arguments = change.split()
        subprocess.run([tmp_path / "bin" / tool, *arguments], env=os.environ | environment, check=True)
        checked = run(tmp_path, "connectx-7", "--check", "rail0")
        assert checked.returncode == 1, change
        assert checked.stdout.startswith(reported)
        run(tmp_path, "connectx-7", *["--firmware"] * (tool == "mlxconfig"), "rail0")
    assert run(tmp_path, "connectx-7", "--check", "rail0").returncode == 0


def test_a_connectx_places_packets_in_any_order_where_switches_spread_them(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0a", "mlx5_r0a")
    assert run(tmp_path, "spread", "--firmware", "rail0a").returncode == 0
    (kept,) = recorded_calls(tmp_path)
    assert "ROCE_ADAPTIVE_ROUTING_EN=1" in kept.split()
    assert run(tmp_path, "spread", "rail0a").returncode == 0
    forced = "mlxreg -d 0000:18:00.0 --yes --reg_name ROCE_ACCL --set adaptive_routing_forced_en=0x1"
    assert forced in recorded_calls(tmp_path)
    assert run(tmp_path, "spread", "--check", "rail0a").returncode == 0
    state = {"STATE": str(tmp_path / "state"), "RECORD": str(tmp_path / "other")}
    undo = [tmp_path / "bin/mlxreg", *forced.replace("0x1", "0x0").split()[1:]]
    subprocess.run(undo, env=os.environ | state, check=True)
    assert "adaptive routing is 0, planned 1" in run(tmp_path, "spread", "--check", "rail0a").stdout


def test_firmware_follows_the_contract(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "connectx-7", "--firmware", "rail0").returncode == 0
    assert recorded_calls(tmp_path) == [
        "mlxconfig -y -d 0000:18:00.0 set CNP_802P_PRIO_P1=6 CNP_DSCP_P1=48 LINK_TYPE_P1=2 ROCE_CC_PRIO_MASK_P1=8"
    ]


def test_broadcom_has_three_classes_and_one_lossless_priority(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    cc = tmp_path / "sys/kernel/config/bnxt_re/bnxt_re_r0/ports/1/cc"
    cc.mkdir(parents=True)
    for name in ("ecn_enable", "cnp_prio", "cnp_dscp", "roce_prio", "roce_dscp"):
        (cc / name).write_text("")
    assert run(tmp_path, "thor2", "rail0").returncode == 0
    assert recorded_calls(tmp_path)[:4] == [
        "dcb ets set dev rail0 tc-tsa 0:ets 1:ets 2:strict tc-bw 0:10 1:90 prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:2 7:0",
        "dcb pfc set dev rail0 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off delay 5",
        "dcb app flush dev rail0 dscp-prio",
        "dcb app add dev rail0 dscp-prio 26:3 48:6",
    ]
    assert "dcb app add dev rail0 dgram-port-prio 4791:3" in recorded_calls(tmp_path)
    values = {
        name: int((cc / name).read_text(), 16) for name in ("cnp_prio", "cnp_dscp", "roce_prio", "roce_dscp")
    }
    assert values == {"cnp_prio": 6, "cnp_dscp": 48, "roce_prio": 3, "roce_dscp": 26}
    assert read_setting(tmp_path, "kernel/config/rdma_cm/bnxt_re_r0/ports/1/default_roce_tos") == "104"


@pytest.mark.slow
def test_broadcom_settings_that_end_with_a_reloaded_driver_are_written_again(tmp_path: Path) -> None:
    """Its folder in configfs ends with the RDMA device, while the port and its classes stay."""
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    cc = tmp_path / "sys/kernel/config/bnxt_re/bnxt_re_r0"
    cc.parent.mkdir(parents=True)
    mkdir = tmp_path / "bin/mkdir"  # configfs adds what is below
    mkdir.write_text('#!/bin/sh\nfor last; do :; done\nexec /bin/mkdir -p "$last/ports/1/cc"\n')
    mkdir.chmod(0o755)
    assert run(tmp_path, "thor2", "rail0").returncode == 0
    shutil.rmtree(cc)
    assert run(tmp_path, "thor2", "--check", "rail0").returncode == 4
    assert not cc.exists()
    assert run(tmp_path, "thor2", "rail0").stdout == "rail0: configured\n"
    assert cc.is_dir()


def test_broadcom_firmware_with_profiles_takes_classes_from_dcb(tmp_path: Path) -> None:
    """The driver refuses priorities and code points in its folder then, as bnxt_setupcc.sh of Broadcom knows."""
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    cc = tmp_path / "sys/kernel/config/bnxt_re/bnxt_re_r0/ports/1/cc"
    cc.mkdir(parents=True)
    (cc / "ecn_enable").write_text("")
    for name in ("cnp_prio", "cnp_dscp", "roce_prio", "roce_dscp"):
        (cc / name).mkdir()  # which cannot be written
    info = tmp_path / "sys/kernel/debug/bnxt_re/bnxt_re_r0/info"
    info.parent.mkdir(parents=True)
    info.write_text("\tcmdq_full_dbg_cnt : 0\n\tfw_service_prof_type_sup : 1\n")
    done = run(tmp_path, "thor2", "rail0")
    assert (done.returncode, done.stderr) == (0, "")
    assert (cc / "ecn_enable").read_text() == "0x1"
    assert "dcb app add dev rail0 dscp-prio 26:3 48:6" in recorded_calls(tmp_path)
    assert run(tmp_path, "thor2", "--check", "rail0").stdout == ""


def test_broadcom_firmware_without_profiles_is_reported(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    info = tmp_path / "sys/kernel/debug/bnxt_re/bnxt_re_r0/info"
    info.parent.mkdir(parents=True)
    info.write_text("\tfw_service_prof_type_sup : 0\n")
    (tmp_path / "sys/kernel/config/bnxt_re/bnxt_re_r0/ports/1/cc").mkdir(parents=True)
    assert run(tmp_path, "thor2", "rail0").returncode == 0
    checked = run(tmp_path, "thor2", "--check", "rail0")
    assert (checked.returncode, "no service profiles" in checked.stdout) == (4, True)


@pytest.mark.parametrize(
    ("variant", "offer", "lack"),
    [
        ("thor2", {"ETS_CAP": "2"}, "number of traffic classes of the firmware is 2, planned 3"),
        ("thor2", {"PFC_CAP": "0", "ETS_CAP": "3"}, ""),
        ("e830", {"ETS_CAP": "4"}, "number of traffic classes of the firmware is 4, planned 8"),
        (
            "thor",
            {"ETS_CAP": "2", "PFC_CAP": "1"},
            "number of traffic classes of the firmware is 2, planned 3",
        ),
        ("two-lossless-dcb", {"PFC_CAP": "1"}, "number of lossless classes of the firmware is 1, planned 2"),
    ],
)
@pytest.mark.spread
def test_a_firmware_that_offers_less_is_named_before_the_driver_refuses(
    tmp_path: Path, variant: str, offer: dict[str, str], lack: str
) -> None:
    """The driver reports what its firmware offers (bnxt_dcb.c, `ets_cap` and `pfc_cap`) and nothing when it refuses."""
    variant, without_mlnx_qos = variant.removesuffix("-dcb"), variant.endswith("-dcb")
    make_machine(tmp_path, "rail0", VARIANTS[variant].ports[0].rdma)
    if without_mlnx_qos:
        (tmp_path / "bin/mlnx_qos").unlink()
    done = run(tmp_path, variant, "rail0", **offer)
    assert (done.returncode, lack in done.stderr) == (5 if lack else 0, True)
    assert lack in run(tmp_path, variant, "--check", "rail0", **offer).stdout


def test_broadcom_ports_with_eight_classes_get_all_of_them(tmp_path: Path) -> None:
    """As bnxt_setupcc.sh does where three are refused."""
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    assert run(tmp_path, "thor2", "rail0", CLASSES="8").stdout == "rail0: configured\n"
    (taken,) = (call for call in recorded_calls(tmp_path) if call.startswith("dcb ets"))
    assert " 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict tc-bw 0:" in taken
    assert run(tmp_path, "thor2", "--check", "rail0", CLASSES="8").stdout.count("scheduling") == 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["thor2", "e810"])
def test_the_drivers_of_the_kernel_have_no_congestion_folder(tmp_path: Path, variant: str) -> None:
    """Makers' own drivers alone have one in configfs; the settings after it are still made."""
    rdma = VARIANTS[variant].ports[0].rdma
    make_machine(tmp_path, "rail0", rdma)
    done = run(tmp_path, variant, "rail0")
    assert (done.returncode, done.stdout) == (0, "rail0: configured\n")
    assert PCI[0] in recorded_calls(tmp_path)
    assert read_setting(tmp_path, f"kernel/config/rdma_cm/{rdma}/ports/1/default_roce_tos") == "104"
    checked = run(tmp_path, variant, "--check", "rail0")
    assert checked.returncode == 4, checked.stdout
    assert [line.partition(": rail0: ")[0] for line in checked.stdout.splitlines()] == ["not looked at"]


def test_broadcom_firmware_that_runs_dcbx_is_named_before_it_refuses(tmp_path: Path) -> None:
    """The driver then refuses every setting of dcb with nothing but `Invalid argument` (bnxt_dcb.c)."""
    make_machine(tmp_path, "rail0", "bnxt_re_r0")
    done = run(tmp_path, "thor2", "rail0", DCBX="lld-managed ieee")
    assert (done.returncode, (tmp_path / "record").exists()) == (5, False)
    assert "its firmware runs DCBX" in done.stderr
    checked = run(tmp_path, "thor2", "--check", "rail0", DCBX="lld-managed ieee")
    assert "rail0: DCBX is in the firmware, planned in the host" in checked.stdout


@pytest.mark.slow
def test_congestion_control_of_intel_is_turned_on_in_a_folder_of_the_device(tmp_path: Path) -> None:
    """The driver starts with it off and shows its switch only in a folder that somebody makes (README of irdma)."""
    make_machine(tmp_path, "rail0", "irdma_r0")
    switches = tmp_path / "sys/kernel/config/irdma"
    checked = run(tmp_path, "e810", "--check", "rail0")
    assert f"not looked at: rail0: DCQCN: this driver has no {switches}" in checked.stdout
    switches.mkdir(parents=True)
    assert run(tmp_path, "e810", "rail0").returncode == 0
    assert (switches / "irdma_r0/roce_dcqcn_enable").read_text() == "1\n"
    assert run(tmp_path, "e810", "--check", "rail0").returncode == 0
    (switches / "irdma_r0/roce_dcqcn_enable").write_text("0\n")
    assert "DCQCN is 0, planned 1" in run(tmp_path, "e810", "--check", "rail0").stdout


@pytest.mark.parametrize(("variant", "on"), [("e810", "enable_roce"), ("e810-iwarp", "enable_iwarp")])
def test_intel_nics_have_their_protocol_set(tmp_path: Path, variant: str, on: str) -> None:
    make_machine(tmp_path, "rail0", "irdma_r0")
    assert run(tmp_path, variant, "rail0").returncode == 0
    calls = recorded_calls(tmp_path)
    assert calls[0] == "ethtool --set-priv-flags rail0 fw-lldp-agent off"
    assert calls[1] == "ethtool -A rail0 rx off tx off"  # its driver refuses this when PFC is on
    assert calls[3] == f"devlink dev param set pci/0000:18:00.0 name {on} value true cmode runtime"
    tos = read_setting(tmp_path, "kernel/config/rdma_cm/irdma_r0/ports/1/default_roce_tos")
    assert tos == ("104" if variant == "e810" else "")  # TCP is ordinary traffic
    entries = next(call for call in calls if call.startswith("dcb app add")).split()[6:]
    assert "26:3" not in entries  # that is where the NIC puts it already
    assert {"24:0", "25:0", "27:0"} <= set(entries)


@pytest.mark.slow
def test_an_event_of_a_pollara_port_configures_this_port_alone(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "ionic_r0")
    assert run(tmp_path, "pollara", "rail0").returncode == 0
    calls = recorded_calls(tmp_path)
    qos, port = "nicctl update qos", "-p 04908170-1"
    assert calls[:2] == [
        f"nicctl update port {port} --pause-type pfc --rx-pause enable --tx-pause enable",
        f"{qos} --classification-type dscp -b 0000:17:00.0",
    ]
    assert f"{qos} dscp-to-priority {port} --dscp 0-25,27-47,49-63 --priority 0" in calls
    assert f"{qos} dscp-to-priority {port} --dscp 26 --priority 3" in calls
    # A card has one priority that does not drop, and an earlier one, as of a vendor's image, must end first.
    words = [call.removeprefix(f"{qos} ").split()[0] for call in calls]
    changes = [word for word in words if word in ("pfc", "dscp-to-priority")]
    assert changes == ["pfc"] * 7 + ["dscp-to-priority"] * 3 + ["pfc"]
    enabled = f"{qos} pfc {port} --priority 3 --no-drop enable"
    assert [call for call in calls if "--no-drop enable" in call] == [enabled]
    assert f"{qos} scheduling {port} --priority 0,3,6 --dwrr 10,90,0 --rate-limit 0,0,10" in calls
    assert not any(call.startswith("ethtool -A") for call in calls)  # which would end PFC
    assert not any("--all" in call or "04908170-2" in call for call in calls)
    dcqcn = next(call for call in calls if call.startswith("nicctl update dcqcn"))
    assert dcqcn.startswith("nicctl update dcqcn -r ionic_r0 -i 1 --ai-rate 160 ")
    assert dcqcn.endswith("--cnp-dscp 48")
    assert f"{qos} dscp-to-purpose --dscp 46 --purpose none -b 0000:17:00.0" in calls
    assert (run(tmp_path, "pollara", "rail0").stdout, recorded_calls(tmp_path)) == ("", calls)
    old = {"OLD_NICCTL": "1"}  # which shows no state, so that a stamp says what the device has
    assert (run(tmp_path, "pollara", "rail0", **old).stdout, recorded_calls(tmp_path)) == ("", calls)
    (tmp_path / "sys/class/net/rail0/ifindex").write_text("9\n")  # a reset of the NIC makes a new device
    assert run(tmp_path, "pollara", "rail0", **old).stdout == "rail0: configured\n"


POLLARA = {
    "nicctl update qos pfc -p 04908170-1 --priority 0 --no-drop enable": "rail0: PFC is 3,0, planned 3",
    "nicctl update qos dscp-to-priority -p 04908170-1 --dscp 26 --priority 0": "rail0: DSCP map is 0,0",
    "nicctl update qos scheduling -p 04908170-1 --priority 0,3 --dwrr 50,50 --rate-limit 0,0": (
        "rail0: scheduling is 0:50 3:50"
    ),
    "nicctl update dcqcn -r ionic_r0 -i 1 --cnp-dscp 46": "rail0: DCQCN cnp-dscp is 46, planned 48",
    "nicctl update port -p 04908170-1 --pause-type link": "rail0: kind of pause is LINK disabled disabled, planned PFC",
}


@pytest.mark.slow
def test_script_repairs_changed_settings_on_a_pollara(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "ionic_r0")
    assert run(tmp_path, "pollara", "rail0").returncode == 0
    checked = run(tmp_path, "pollara", "--check", "rail0")
    assert (checked.returncode, checked.stdout) == (0, "")
    environment = {"STATE": str(tmp_path / "state"), "RECORD": str(tmp_path / "other")}
    for change, reported in POLLARA.items():
        tool, *arguments = change.split()
        subprocess.run([tmp_path / "bin" / tool, *arguments], env=os.environ | environment, check=True)
        assert run(tmp_path, "pollara", "--check", "rail0").stdout.startswith(reported)
        assert run(tmp_path, "pollara", "rail0").stdout == "rail0: configured\n"
    assert run(tmp_path, "pollara", "--check", "rail0").returncode == 0


def test_a_pollara_whose_priorities_are_off_already_is_configured(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "ionic_r0")
    done = run(tmp_path, "pollara", "rail0", OFF_ALREADY="1")
    assert (done.returncode, done.stdout) == (0, "rail0: configured\n")
    assert "PFC of priority 0 was off already, or stays on" in done.stderr
    assert [call for call in recorded_calls(tmp_path) if "scheduling" in call]


def test_a_pollara_check_does_not_pass_for_what_it_cannot_read(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "ionic_r0")
    old = {"OLD_NICCTL": "1"}
    before = run(tmp_path, "pollara", "--check", "rail0", **old)
    assert before.returncode == 1
    assert (
        "rail0: state of its settings is not written since the device appeared, planned written"
        in before.stdout
    )
    assert run(tmp_path, "pollara", "rail0", **old).returncode == 0
    checked = run(tmp_path, "pollara", "--check", "rail0", **old)
    assert (checked.returncode, checked.stdout.startswith("not looked at: rail0: classes, PFC")) == (4, True)


def test_a_pollara_whose_card_is_not_found_is_left_alone(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "ionic_r0")
    device = tmp_path / "sys/class/net/rail0/device"
    device.unlink()
    (tmp_path / "sys/devices/pci0000:99/0000:99:00.0").mkdir(parents=True)
    device.symlink_to(tmp_path / "sys/devices/pci0000:99/0000:99:00.0")
    done = run(tmp_path, "pollara", "rail0")
    assert done.returncode == 1
    assert "nothing is configured" in done.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.slow
def test_a_connectx_without_mlnx_qos_is_set_with_dcb(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    (tmp_path / "bin/mlnx_qos").unlink()
    shutil.rmtree(tmp_path / "sys/class/net/rail0/ecn")
    done = run(tmp_path, "connectx-7", "rail0")
    assert (done.returncode, done.stdout) == (0, "rail0: configured\n"), done.stderr
    calls = recorded_calls(tmp_path)
    assert calls[0] == "dcb dcbx set dev rail0 host cee ieee"
    assert "dcb pfc set dev rail0 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off delay 5" in calls
    entries = next(call for call in calls if call.startswith("dcb app add")).split()[6:]
    assert len(entries) == 64
    assert {"24:0", "26:3", "48:6"} <= set(entries)
    assert run(tmp_path, "connectx-7", "--firmware", "rail0").returncode == 0
    assert run(tmp_path, "connectx-7", "--check", "rail0").returncode == 0
    assert run(tmp_path, "connectx-7", "rail0").stdout == ""


def test_a_nic_without_a_link_type_keeps_the_other_settings(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    lacks = {"LACKS": "LINK_TYPE_P1"}
    assert run(tmp_path, "connectx-7", "rail0", **lacks).returncode == 0
    assert run(tmp_path, "connectx-7", "--firmware", "rail0", **lacks).returncode == 0
    assert recorded_calls(tmp_path)[-1].endswith(
        " set CNP_802P_PRIO_P1=6 CNP_DSCP_P1=48 ROCE_CC_PRIO_MASK_P1=8"
    )
    assert run(tmp_path, "connectx-7", "--check", "rail0", **lacks).returncode == 0


def test_a_setting_that_the_firmware_lacks_does_not_stop_the_others(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    lacks = {"LACKS": "CNP_DSCP_P1"}
    done = run(tmp_path, "connectx-7", "--firmware", "rail0", **lacks)
    assert (done.returncode, "CNP_DSCP_P1: this NIC or its firmware has no such setting" in done.stdout) == (
        0,
        True,
    )
    assert recorded_calls(tmp_path) == [
        "mlxconfig -y -d 0000:18:00.0 set CNP_802P_PRIO_P1=6 LINK_TYPE_P1=2 ROCE_CC_PRIO_MASK_P1=8"
    ]
    assert run(tmp_path, "connectx-7", "rail0").returncode == 0
    checked = run(tmp_path, "connectx-7", "--check", "rail0", **lacks)
    assert (checked.returncode, checked.stdout.count("not looked at")) == (4, 1)


def test_a_nic_that_mlxconfig_cannot_open_is_no_nic_without_a_link_type(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "connectx-7", "rail0").returncode == 0
    checked = run(tmp_path, "connectx-7", "--check", "rail0", LACKS="ALL")
    assert (checked.returncode, "mlxconfig cannot read 0000:18:00.0" in checked.stdout) == (4, True)
    assert run(tmp_path, "connectx-7", "--firmware", "rail0", LACKS="ALL").returncode == 1


def test_a_bluefield_in_dpu_mode_is_reported_and_not_configured(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    state = {"STATE": str(tmp_path / "state"), "RECORD": str(tmp_path / "other")}
    dpu = [tmp_path / "bin/mlxconfig", "-y", "-d", "x", "set", "INTERNAL_CPU_OFFLOAD_ENGINE=0"]
    subprocess.run(dpu, env=os.environ | state, check=True)
    done = run(tmp_path, "bluefield-3", "rail0")
    assert (done.returncode, "DPU mode" in done.stderr) == (5, True)
    assert not (tmp_path / "record").exists()
    checked = run(tmp_path, "bluefield-3", "--check", "rail0")
    assert "rail0: INTERNAL_CPU_OFFLOAD_ENGINE is 0, planned 1\n" in checked.stdout
    assert run(tmp_path, "bluefield-3", "--firmware", "rail0").returncode == 0
    assert run(tmp_path, "bluefield-3", "rail0").returncode == 0


def test_a_card_stays_in_dpu_mode_where_the_spec_states_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = VARIANTS["bluefield-3"]
    kept = tuple((dict(host.nic.firmware) | {CARD_MODE: 0}).items())
    host = replace(host, model=replace(host.model, nic=replace(host.nic, firmware=kept)))
    monkeypatch.setitem(VARIANTS, "bluefield-3", host)
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "bluefield-3", "--firmware", "rail0").returncode == 0
    assert run(tmp_path, "bluefield-3", "rail0").returncode == 0
    calls = recorded_calls(tmp_path)
    assert [call for call in calls if call.startswith("mlxconfig") and f"{CARD_MODE}=0" in call]
    assert not [call for call in calls if call.startswith(("mlnx_qos", "dcb", "ethtool"))]
    checked = run(tmp_path, "bluefield-3", "--check", "rail0")
    assert (checked.returncode, "its own system sets them" in checked.stdout) == (4, True)


def test_access_control_stays_where_the_spec_leaves_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = replace(VARIANTS["connectx-7"], leave_out=("access-control", "rdma_ucm"))
    monkeypatch.setitem(VARIANTS, "connectx-7", host)
    make_machine(tmp_path, "rail0", "mlx5_r0")
    for words in (["rail0"], ["--firmware", "rail0"], ["--check", "rail0"]):
        assert run(tmp_path, "connectx-7", *words).returncode == 0
    assert not [call for call in recorded_calls(tmp_path) if "ACS" in call]


TOPOLOGIES = {
    "direct-nic": ("0x15b3", "0x2100"),
    "grace": ("0x10de", "0x22b1"),
    "vera": ("0x10de", "0x2f96"),
}


@pytest.mark.spread
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_access_control_that_a_platform_needs_is_left_to_the_kernel(tmp_path: Path, topology: str) -> None:
    """Without these bits a Direct NIC cannot reach its GPU (rdma-core, kernel-boot/rdma_topo)."""
    make_machine(tmp_path, "rail0", "mlx5_r0")
    function = tmp_path / "sys/bus/pci/devices/0009:03:00.0"
    function.mkdir()
    for file, text in zip(("vendor", "device"), TOPOLOGIES[topology], strict=True):
        (function / file).write_text(text + "\n")
    for words in (["--firmware", "rail0"], ["rail0"]):
        assert run(tmp_path, "connectx-8", *words).returncode == 0
    assert not [call for call in recorded_calls(tmp_path) if "ACS" in call]
    unseen = run(tmp_path, "connectx-8", "--check", "rail0")
    assert (unseen.returncode, "for want of rdma_topo" in unseen.stdout) == (4, True)
    tool = tmp_path / "bin/rdma_topo"
    tool.write_text("#!/bin/sh\nprintf 'OK\\tx\\nFAIL\\tACS for bridge 1 != 2\\n'\nexit 100\n")
    tool.chmod(0o755)
    wrong = run(tmp_path, "connectx-8", "--check", "rail0")
    assert wrong.returncode == 1
    assert (
        "rail0: PCIe access control is wrong (ACS for bridge 1 != 2), planned that of rdma_topo"
        in wrong.stdout
    )
    assert run(tmp_path, "connectx-8", "rail0").stdout == ""  # a run cannot change it, and touches nothing
    tool.write_text("#!/bin/sh\nexit 0\n")
    assert run(tmp_path, "connectx-8", "--check", "rail0").returncode == 0


def test_access_control_stays_where_the_operator_leaves_it_out(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    (tmp_path / "leave-out").write_text("access-control\n")
    leaves = {"LEAVE_OUT": str(tmp_path / "leave-out")}
    assert run(tmp_path, "connectx-7", "rail0", **leaves).returncode == 0
    assert run(tmp_path, "connectx-7", "--firmware", "rail0", **leaves).returncode == 0
    assert not [call for call in recorded_calls(tmp_path) if "ACS" in call]
    assert run(tmp_path, "connectx-7", "--check", "rail0", **leaves).returncode == 0
    assert "access control" in run(tmp_path, "connectx-7", "--check", "rail0").stdout


def test_the_tool_of_mstflint_does_for_mlxconfig(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    (tmp_path / "bin/mlxconfig").rename(tmp_path / "bin/mstconfig")
    assert run(tmp_path, "connectx-7", "rail0").returncode == 0
    assert "LINK_TYPE_P1 is 1, planned 2" in run(tmp_path, "connectx-7", "--check", "rail0").stdout
    assert run(tmp_path, "connectx-7", "--firmware", "rail0").returncode == 0
    assert recorded_calls(tmp_path)[-1].startswith("mstconfig -y -d 0000:18:00.0 set ")
    assert run(tmp_path, "connectx-7", "--check", "rail0").returncode == 0


def test_check_without_mlxconfig_lists_unread_settings(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    (tmp_path / "bin/mlxconfig").unlink()
    assert run(tmp_path, "connectx-7", "rail0").returncode == 0
    checked = run(tmp_path, "connectx-7", "--check", "rail0")
    assert checked.returncode == 4
    assert (
        "not looked at: rail0: the settings that the NIC keeps, for want of mlxconfig or mstconfig\n"
        in checked.stdout
    )


@pytest.mark.skipif(not shutil.which("dcb"), reason="dcb (iproute2) is not installed")
def test_the_real_dcb_takes_the_code_points_and_finds_no_such_nic() -> None:
    good = ["dcb", "app", "add", "dev", "lo", "dscp-prio", "26:3", "48:6"]
    done = subprocess.run(good, capture_output=True, text=True, check=False)
    assert "Operation not supported" in done.stderr
    bad = subprocess.run([*good[:-1], "64:6"], capture_output=True, text=True, check=False)
    assert "Operation not supported" not in bad.stderr


def test_two_lossless_classes_share_pfc(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "two-lossless", "rail0").returncode == 0
    commands = recorded_calls(tmp_path)
    assert "mlnx_qos -i rail0 --pfc=0,0,0,1,1,0,0,0" in commands
    assert any(command.endswith("-t 10,0,0,60,30,0,0,0") for command in commands)


def test_a_lossy_fabric_turns_pfc_off_and_sets_no_traffic_class(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    assert run(tmp_path, "lossy", "rail0").returncode == 0
    assert "mlnx_qos -i rail0 --pfc=0,0,0,0,0,0,0,0" in recorded_calls(tmp_path)
    assert not any("cable_len" in call for call in recorded_calls(tmp_path))
    assert read_setting(tmp_path, "class/infiniband/mlx5_r0/tc/1/traffic_class") == ""


def test_inbox_driver_is_reported_and_is_no_failure(tmp_path: Path) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    shutil.rmtree(tmp_path / "sys/class/net/rail0/ecn")
    shutil.rmtree(tmp_path / "sys/class/infiniband/mlx5_r0/tc")
    done = run(tmp_path, "plain", "rail0")
    assert done.returncode == 0
    assert "inbox driver" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["rail9"], ["eno1"]])
def test_other_interfaces_are_refused_untouched(tmp_path: Path, arguments: list[str]) -> None:
    make_machine(tmp_path, "rail0", "mlx5_r0")
    done = run(tmp_path, "plain", *arguments)
    assert done.returncode == 2
    assert "rail0 rail1" in done.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.parametrize("variant", [name for name, host in VARIANTS.items() if qos.SCRIPT in render(host)])
def test_shells_take_the_script(variant: str) -> None:
    for script in (qos.SCRIPT, services.APPLY):
        shells_take(render(VARIANTS[variant])[script])


def shells_take(text: str) -> None:
    checkers = [["sh", "-n"]]
    if shutil.which("bash"):
        checkers.append(["bash", "--posix", "-n"])
    for checker in checkers:
        done = subprocess.run(
            [*checker, "/dev/stdin"], input=text, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), checker


@pytest.mark.spread
@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("variant", ["lossy", "dual-port", "thor2", "pollara", "e810", "rhel-9"])
@pytest.mark.parametrize("script", [qos.SCRIPT, services.APPLY])
def test_shellcheck_reports_nothing(variant: str, script: str) -> None:
    text = render(VARIANTS[variant])[script]
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "--format=gcc", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
