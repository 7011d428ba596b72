"""The apply script of InfiniBand hosts, run on a private copy of a host with the real netplan and systemd-networkd."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.infiniband.host_files import HostFiles, mode_of
from fabricc.fabric.infiniband_wiring import expand_hosts
from tests.back.hosts.test_apply import (
    NETWORKMANAGER,
    RHEL,
    WORLD,
    needs_networkd,
    needs_networkmanager,
    stages_of,
)
from tests.back.hosts.test_peers import can_isolate
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

UBUNTU = 'ID=ubuntu\nVERSION_ID="24.04"'
SYSTEMS = {"rhel-9": RHEL, "ubuntu-24.04": UBUNTU}
WHOLE = (
    WORLD
    + """
stage before sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply" --firmware
timeout -k 1 120 /lib/systemd/systemd-networkd > /run/log 2>&1 & networkd=$!
trap 'kill "$networkd"' EXIT
await
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
stage modes stat -c '%a %n' /etc/netplan/60-fabricc-ipoib.yaml /usr/local/sbin/fabricc-ib
ip address del 10.0.0.1/13 dev ib0
echo Ethernet > "$folder/sys/class/infiniband/mlx5_r2/ports/1/link_layer"
echo connected > "$folder/sys/class/net/ib3/mode"
rm -r "$folder/sys/class/infiniband/mlx5_r4"
setpci -s 0000:18:00.0 CAP_EXP+08.w=2000:7000
rm /etc/security/limits.d/90-rdma.conf
stage drift sh "$folder/tree/apply" --check
stage repair sh "$folder/tree/apply"
"""
)
BARE = (
    WORLD
    + """
stage before sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply" --firmware
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
"""
)


def make_adapter(root: Path, rdma: str, ipoib: str, lid: int) -> None:
    """An adapter below a bridge, as the kernel shows it."""
    values = {
        "link_layer": "InfiniBand",
        "state": "4: ACTIVE",
        "rate": "400 Gb/sec (4X NDR)",
        "lid": f"{lid:#x}",
    }
    port = root / f"sys/class/infiniband/{rdma}/ports/1"
    (port / "pkeys").mkdir(parents=True)
    for file, value in {**values, "pkeys/0": "0x7fff", "pkeys/1": "0x8010"}.items():
        (port / file).write_text(f"{value}\n")
    net = root / f"sys/class/net/{ipoib}"
    net.mkdir(parents=True)
    (net / "mode").write_text("datagram\n")
    below = root / "sys/devices/pci0000:15/0000:17:00.0/0000:18:00.0"
    below.mkdir(parents=True, exist_ok=True)
    bridge = root / "sys/bus/pci/devices/0000:17:00.0"
    bridge.mkdir(parents=True, exist_ok=True)
    (bridge / "class").write_text("0x060400\n")
    (root / f"sys/class/infiniband/{rdma}/device").symlink_to(below)


def run_stages(script: str, root: Path, system: str, **more: Any) -> dict[str, str]:
    gpus = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, "os": system}
    ib = plan_subnets(make_document(gpus=gpus, **more))
    host = next(iter(expand_hosts(ib)))
    for port in host.ports:
        make_adapter(root, port.rdma, port.name, port.lid)
    files = dict(HostFiles(ib).render(host))
    return stages_of(script, root, files, mode_of, SYSTEMS[system], [port.name for port in host.ports])


PARTITIONS = (
    WORLD
    + """
mkdir -p /etc/systemd/network
cp "$folder"/tree/etc/systemd/network/60-fabricc-ib0* /etc/systemd/network/
SYSTEMD_LOG_LEVEL=debug timeout -k 1 60 /lib/systemd/systemd-networkd > /run/log 2>&1 & networkd=$!
trap 'kill "$networkd"' EXIT
tries=0
until grep -q "Requested stacked netdev" /run/log || [ $tries -ge 40 ]; do sleep 0.25; tries=$((tries + 1)); done
stage log cat /run/log
"""
)
CONNECTIONS = (
    NETWORKMANAGER.partition("stage before")[0]
    + """
stage apply sh "$folder/tree/apply"
stage show nmcli -f infiniband,ipv4.addresses,connection.interface-name connection show fabricc-ib0.8010
"""
)


@pytest.mark.slow
@needs_networkd
def test_networkd_reads_the_files_of_partitions_up_to_what_the_kernel_makes(tmp_path: Path) -> None:
    """The port stands in for an adapter: making the interface of a partition needs the kernel's ib_ipoib."""
    seen = run_stages(PARTITIONS, tmp_path, "ubuntu-24.04", priorities=CLASSES, infiniband=TENANTS)
    assert 'ib0.8010: loaded "ipoib"' in seen["log"]
    assert "ib0: Requested stacked netdev 'ib0.8010'" in seen["log"]
    complaints = [line for line in seen["log"].splitlines() if "60-fabricc" in line and "gnoring" in line]
    assert [line for line in complaints if "Unknown section 'IPoIB'" not in line] == []


@pytest.mark.slow
@needs_networkmanager
def test_networkmanager_loads_the_connections_and_needs_an_adapter(tmp_path: Path) -> None:
    seen = run_stages(CONNECTIONS, tmp_path, "rhel-9", priorities=CLASSES, infiniband=TENANTS)
    shown = dict(line.split(maxsplit=1) for line in seen["show"].splitlines() if ":" in line)
    assert shown["infiniband.transport-mode:"] == "datagram"
    assert shown["infiniband.p-key:"] == "0x8010"
    assert shown["infiniband.parent:"] == "ib0"
    assert shown["ipv4.addresses:"] == "10.0.0.1/13"
    assert "Parent interface ib0 must be an InfiniBand interface" in seen["apply"]
    assert seen["apply"].endswith("status 3\n")


def test_an_adapter_whose_interface_has_another_name_is_reported(tmp_path: Path) -> None:
    """udev gives no name that another interface has, so after a boot two may have each other's (systemd.link(5))."""
    ib = plan_subnets(make_document())
    host = next(iter(expand_hosts(ib)))
    port = host.ports[0]
    make_adapter(tmp_path, port.rdma, "ib0", port.lid)
    interfaces = tmp_path / f"sys/class/infiniband/{port.rdma}/device/net"
    for name, kind in (("ib1", "32"), ("ib1.8010", "32"), ("eth0", "1")):
        (interfaces / name).mkdir(parents=True)
        (interfaces / name / "type").write_text(f"{kind}\n")
    script = tmp_path / "fabricc-ib"
    script.write_text(dict(HostFiles(ib).render(host))["usr/local/sbin/fabricc-ib"])
    found = []
    for name in ("ib1", "ib0"):
        (interfaces / "ib1").rename(interfaces / name)
        done = subprocess.run(
            ["sh", str(script), "--check", port.rdma], capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": os.environ["PATH"], "SYSFS": str(tmp_path / "sys")},
        )  # fmt: skip
        found.append([line for line in done.stdout.splitlines() if "interface" in line])
    assert found == [[f"{port.rdma}: its interface is ib1, planned ib0"], []]


def test_adapters_that_have_each_others_name_get_their_own(tmp_path: Path) -> None:
    """Real links, which one after the other gets its name; a name that a card outside the plan has stays there."""
    ib = plan_subnets(make_document())
    host = next(iter(expand_hosts(ib)))
    script = tmp_path / "fabricc-ib"
    script.write_text(dict(HostFiles(ib).render(host))["usr/local/sbin/fabricc-ib"])
    sysfs = tmp_path / "sys/class"
    cards = (host.ports[0].rdma, "ib1", 0), (host.ports[1].rdma, "ib0", 1), (host.ports[2].rdma, "ib9", 2)
    for rdma, name, index in (*cards, ("mlx5_other", "ib2", 3)):
        port = sysfs / "infiniband" / rdma / "ports/1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text("InfiniBand\n")
        card = tmp_path / f"sys/devices/0000:{index:02x}:00.0"
        (card / "infiniband" / rdma).mkdir(parents=True)
        (port.parent.parent / "device").symlink_to(card)
        link = sysfs / "net" / name
        link.mkdir(parents=True)
        for file, value in (("type", "32"), ("mode", "datagram"), ("ifindex", str(index + 10))):
            (link / file).write_text(f"{value}\n")
        (link / "device").symlink_to(card)
        (card / "net" / name).mkdir(parents=True)
        (card / "net" / name / "type").write_text("32\n")
    tool = tmp_path / "ip"  # sysfs shows the new name
    tool.write_text(
        '#!/bin/sh\n/sbin/ip "$@" || exit\ncase $4 in name) ;; *) exit ;; esac\n'
        'for folder in "$SYSFS"/devices/*/net "$SYSFS"/class/net; do\n'
        '    [ ! -e "$folder/$3" ] || mv "$folder/$3" "$folder/$5"\ndone\n'
    )
    tool.chmod(0o755)
    lines = [f"ip link add {name} type veth" for _, name, _ in (*cards, ("", "ib2", 3))]
    lines += ["/sbin/ip -o link show ib0 | grep -o 'link/ether [^ ]*'"]
    lines += [f"sh {script} {rdma}" for rdma, _, _ in cards]
    lines += ["/sbin/ip -o link show ib1 | grep -o 'link/ether [^ ]*'"]
    lines += [f"sh {script} --check {rdma} | grep interface || :" for rdma, _, _ in cards]
    done = subprocess.run(
        ["unshare", "-n", "sh", "-ec", "\n".join(lines)], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "SYSFS": str(tmp_path / "sys"), "RUN_FOLDER": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, *found = [line for line in done.stdout.splitlines() if "configured" not in line]
    assert found == [before, f"{host.ports[2].rdma}: its interface is ib9, planned ib2"]
    assert sorted(path.name for path in (sysfs / "net").iterdir()) == ["ib0", "ib1", "ib2", "ib9"]


@needs_networkd
@pytest.mark.slow
def test_apply_configures_a_host_and_reads_it_back(tmp_path: Path) -> None:
    seen = run_stages(WHOLE, tmp_path, "ubuntu-24.04")
    assert "differs: ib0: no address 10.0.0.1/13\n" in seen["before"]
    assert "differs: mlx5_r0: PCIe read request (code) is 2, planned 5\n" in seen["before"]
    assert "differs: mlx5_r0: PCIe access control of 0000:17:00.0 is 001d, planned 0000\n" in seen["before"]
    assert "differs: /etc/security/limits.d/90-rdma.conf\n" in seen["before"]
    assert seen["before"].endswith("status 1\n")
    assert "status" not in seen["apply"]
    assert "changed: mlx5_r0: configured\n" in seen["apply"]
    assert seen["check"].endswith("as planned\n"), seen["check"]
    assert "nothing to change\n" in seen["again"]
    assert [line.split()[0] for line in seen["modes"].splitlines()] == ["600", "755"]
    for line in (
        "ib0: no address 10.0.0.1/13",
        "mlx5_r2: link layer is Ethernet, planned InfiniBand",
        "mlx5_r3: mode of ib3 is connected, planned datagram",
        "there is no InfiniBand device mlx5_r4 (its name takes a reboot)",
        "mlx5_r0: PCIe read request (code) is 2, planned 5",
        "/etc/security/limits.d/90-rdma.conf",
    ):
        assert f"differs: {line}\n" in seen["drift"]
    assert seen["drift"].endswith("status 1\n")
    assert "changed: /etc/security/limits.d/90-rdma.conf\n" in seen["repair"]
    assert "differs: mlx5_r2: link layer is Ethernet" in seen["repair"]
    assert "mode of ib3" not in seen["repair"]
    assert seen["repair"].endswith("status 3\n")


@pytest.mark.slow
def test_a_host_without_ip_over_infiniband_is_looked_at_too(tmp_path: Path) -> None:
    seen = run_stages(BARE, tmp_path, "rhel-9", infiniband={"ipoib": False})
    assert "differs: mlx5_r7: PCIe read request (code) is 2, planned 5\n" in seen["before"]
    assert "status" not in seen["apply"]
    assert seen["check"].endswith("as planned\n")
    assert "nothing to change\n" in seen["again"]


@pytest.mark.slow
def test_a_host_of_a_tenant_waits_for_networkd_to_make_its_interfaces(tmp_path: Path) -> None:
    script = BARE + "\nls /etc/systemd/network > /run/listed\nstage listed cat /run/listed\n"
    seen = run_stages(script, tmp_path, "ubuntu-24.04", priorities=CLASSES, infiniband=TENANTS)
    assert "note: systemd is not running here" in seen["apply"]
    assert "60-fabricc-ib0.8010.netdev" in seen["listed"]
    assert "differs: there is no port ib0.8010" in seen["check"]


@pytest.mark.slow
def test_links_that_the_subnet_manager_has_not_brought_up_are_notes(tmp_path: Path) -> None:
    script = (
        WORLD
        + """
ports="$folder/sys/class/infiniband"
sh "$folder/tree/apply" --firmware > /dev/null 2>&1 || true
echo '1: DOWN' > "$ports/mlx5_r0/ports/1/state"
echo '200 Gb/sec (4X HDR)' > "$ports/mlx5_r1/ports/1/rate"
echo 0x1 > "$ports/mlx5_r2/ports/1/lid"
echo 0x7fff > "$ports/mlx5_r3/ports/1/pkeys/1"
stage check sh "$folder/tree/apply" --check
"""
    )
    tenants = {**TENANTS, "ipoib": False}
    seen = run_stages(script, tmp_path, "rhel-9", priorities=CLASSES, infiniband=tenants)
    for line in (
        "mlx5_r0: the link is 1: DOWN",
        "mlx5_r1: the link runs at 200 Gb/s, planned 400",
        "mlx5_r2: the LID is 1, planned 12",
        "mlx5_r3: the port has no P_Key 0x8010",
    ):
        assert line in seen["check"]
    assert seen["check"].endswith("as planned\n")
