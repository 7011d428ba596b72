"""Real netplan, networkd, udev, systemd and kernel take the files and do what was meant."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import interfaces, netplan, qos, render
from tests.back.hosts import test_script
from tests.back.hosts.variants import VARIANTS

if TYPE_CHECKING:
    from fabricc.fabric.model import Host

NETWORKD = Path("/lib/systemd/systemd-networkd")


@cache
def can_isolate() -> bool:
    """Return whether this user may make network and mount namespaces with a /sys and /run of their own."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("ip"):
        return False
    trial = (
        "mount -t tmpfs none /run && mount -t sysfs -o ro none /sys"
        " && ip link add name rail0 type veth peer name prail0"
    )
    done = subprocess.run(["unshare", "-n", "-m", "sh", "-c", trial], capture_output=True, check=False)
    return done.returncode == 0


needs_namespaces = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")
needs_netplan = pytest.mark.skipif(not shutil.which("netplan"), reason="netplan is not installed")


def run_isolated(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in network and mount namespaces of its own, with an empty /run and its own /sys."""
    mounts = "set -e; mount -t tmpfs none /run; mount -t sysfs -o ro none /sys; ip link set lo up\n"
    return subprocess.run(
        ["unshare", "-n", "-m", "sh", "-c", mounts + script, "sh", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def generate_netplan(root: Path, variant: str) -> subprocess.CompletedProcess[str]:
    file = root / netplan.FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render(VARIANTS[variant])[netplan.FILE])
    file.chmod(0o600)
    return subprocess.run(
        ["netplan", "generate", "--root-dir", str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


WITH_NETPLAN = {
    render(host)[netplan.FILE]: name
    for name, host in reversed(VARIANTS.items())
    if not host.os.startswith("rhel")
}
"""The first variant of each text, most of them having the same."""


@needs_netplan
@pytest.mark.parametrize("variant", [*reversed(WITH_NETPLAN.values())])
@pytest.mark.spread
def test_netplan_takes_the_file_without_a_word(tmp_path: Path, variant: str) -> None:
    done = generate_netplan(tmp_path, variant)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    units = list((tmp_path / "run/systemd/network").glob("*.network"))
    assert len(units) == len(VARIANTS[variant].ports)


@needs_netplan
def test_interfaces_of_networkmanager_stay_with_it(tmp_path: Path) -> None:
    """Ubuntu Desktop has one renderer for all files; the rails' file must not give another to the management port."""
    for name, text in (
        ("01-network-manager-all.yaml", "  renderer: NetworkManager\n"),
        ("50-cloud-init.yaml", "  ethernets:\n    eno1: {dhcp4: true}\n"),
    ):
        file = tmp_path / "etc/netplan" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"network:\n  version: 2\n{text}")
        file.chmod(0o600)
    assert generate_netplan(tmp_path, "dual-stack").returncode == 0
    assert (tmp_path / "run/NetworkManager/conf.d/10-globally-managed-devices.conf").exists()
    assert (tmp_path / "run/NetworkManager/system-connections/netplan-eno1.nmconnection").exists()
    units = {file.name for file in (tmp_path / "run/systemd/network").glob("*.network")}
    assert units == {"10-netplan-rail0.network", "10-netplan-rail1.network"}


APPLY = """
units=$1 rules=$2; shift 2
for port in "$@"; do
    ip link add "$port" type veth peer name "p$port"
    ip link set "p$port" up
done
mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
cp "$units"/*.network /run/systemd/network/
timeout -k 1 20 /lib/systemd/systemd-networkd > /run/log 2>&1 & networkd=$!
tries=0
until [ "$( (ip rule; ip -6 rule) | grep -c 'lookup 1[0-9][0-9]')" -ge "$rules" ] || [ $tries -ge 100 ]; do
    sleep 0.1; tries=$((tries + 1))
done
sleep 0.3
ip -j address; ip -j rule; ip -j -6 rule; ip -j route show table all; ip -j -6 route show table all
while read -r source destination; do
    ip -o route get "$destination" from "$source" | sed 's/^/route: /'
done < "$units/questions"
kill "$networkd"
wait "$networkd" || true
sed 's/^/networkd: /' /run/log
"""


@needs_netplan
@needs_namespaces
@pytest.mark.skipif(not NETWORKD.exists(), reason="systemd-networkd is not installed")
@pytest.mark.parametrize("variant", ["eight-rails", "dual-stack", "dual-port", "ipv6-only"])
@pytest.mark.spread
def test_networkd_sends_each_source_by_its_own_rail(tmp_path: Path, variant: str) -> None:
    host = VARIANTS[variant]
    generate_netplan(tmp_path, variant)
    units = tmp_path / "run/systemd/network"
    questions = []
    for port in host.ports:
        if port.ipv4:
            questions.append((port.ipv4.partition("/")[0], "10.9.9.9", port.name))
        if port.ipv6:
            questions.append((port.ipv6.partition("/")[0], "fd00:0:ffff::9", port.name))
    (units / "questions").write_text("".join(f"{source} {to}\n" for source, to, _ in questions))
    done = run_isolated(APPLY, str(units), str(len(questions)), *[port.name for port in host.ports])
    complaints = re.findall(r"networkd: .*(?:ignoring|Unknown|Invalid|Failed|Could not set).*", done.stdout)
    assert complaints == []
    assert "networkd: rail" in done.stdout
    routes = [line for line in done.stdout.splitlines() if line.startswith("route: ")]
    assert [re.findall(r" dev (\S+)", line)[0] for line in routes] == [name for _, _, name in questions]
    assert all(f"table {port.table}" in done.stdout for port in host.ports)
    addresses, rules4, rules6, routes4, routes6 = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")
    ]
    links = {link["ifname"]: link for link in addresses}
    for port in host.ports:
        link = links[port.name]
        assert link["mtu"] == port.mtu
        have = {f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"]}
        assert len(have) == sum(address is not None for address in (port.ipv4, port.ipv6))
        assert not any(address.startswith(("fe80", "169.254")) for address in have)
    wanted = {(1000 + port.table - 100, str(port.table)) for port in host.ports}
    for rules, family in ((rules4, "ipv4"), (rules6, "ipv6")):
        if any(getattr(port, family) for port in host.ports):
            assert wanted <= {(rule["priority"], rule["table"]) for rule in rules}
    assert not [route for route in routes4 + routes6 if route["dst"] == "default"]


def in_one_subnet(host: Host) -> Host:
    """Return the host with all its rails in one segment, as with EVPN."""
    ports = tuple(
        replace(each, ipv4=f"10.0.0.{each.rail + 2}/24", gateway4="10.0.0.1", ipv6=None)
        for each in host.ports
    )
    return replace(host, ports=ports)


@needs_namespaces
@pytest.mark.skipif(not shutil.which("sysctl"), reason="sysctl is not installed")
def test_kernel_settings_are_those_of_ports_that_share_a_subnet(tmp_path: Path) -> None:
    assert not [path for path in render(VARIANTS["eight-rails"]) if "sysctl" in path]
    text = render(in_one_subnet(VARIANTS["plain"]))[interfaces.SYSCTL]
    assert not re.search(r"conf\.(all|default)\.", text)
    (tmp_path / "settings").write_text(text)
    ports = "for name in rail0 rail1; do ip link add $name type veth peer name p$name; done\n"
    done = run_isolated(
        ports + 'sysctl -p "$1"; sysctl -n net.ipv4.conf.all.arp_ignore', str(tmp_path / "settings")
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "net.ipv4.conf.rail1.arp_ignore = 1" in done.stdout
    assert done.stdout.endswith("\n0\n")


LOOKUP = """
for number in 0 1; do
    ip link add "rail$number" type veth peer name "p$number"
    ip link set "p$number" up
    ip link set "rail$number" up
    ip -6 address add "fd00:0:0:$number::1/127" dev "rail$number" nodad
    ip -6 route add fd00::/32 via "fd00:0:0:$number::" dev "rail$number" table "10$number"
    ip -6 rule add from "fd00:0:0:$number::1" lookup "10$number" priority "100$number"
done
ip address add 10.0.0.1/31 dev rail0
ip address add 10.1.0.1/31 dev rail1
ip route add 10.0.0.0/10 via 10.0.0.0 dev rail0 table 100
ip rule add from 10.0.0.1 lookup 100 priority 1000
for number in 0 1; do
    sh "$1" --check "rail$number" | sed 's/^/before: /' || true
    sh "$1" "rail$number"
    sh "$1" --check "rail$number"
done
sh "$1" rail0
echo "v4: $(ip -o route get 10.1.0.1 from 10.0.0.1 oif rail0)"
echo "v6: $(ip -o route get fd00:0:0:1::1 from fd00::1 oif rail0)"
echo "own: $(ip -o route get fd00::1 from fd00::1 oif rail0)"
echo "socket: $(ip -o route get fd00:0:0:1::1 from fd00::1)"
echo "other: $(ip -o route get fd00:0:9::1 from fd00:0:0:1::1 oif rail1)"
ip -6 rule
"""


@pytest.mark.slow
@needs_namespaces
def test_rdma_between_rails_of_a_host_leaves_by_the_rail_over_ipv6_too(tmp_path: Path) -> None:
    """The lookup is that of a queue pair: source and device given (NVIDIA/nccl issue 1405)."""
    for name in ("rail0", "rail1"):
        test_script.port(tmp_path, name, f"mlx5_{name.replace('rail', 'r')}")
    test_script.make_tools(tmp_path)
    script = tmp_path / "fabricc-roce"
    host = VARIANTS["dual-stack"]
    script.write_text(render(host)[qos.SCRIPT])
    settings = "export PATH=$2/bin:$PATH SYSFS=$2/sys STATE=$2/state RECORD=$2/record\n"
    done = run_isolated(settings + LOOKUP, str(script), str(tmp_path))
    assert done.returncode == 0, done.stderr
    seen = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert "before: rail0: first table of RDMA over IPv6 is local, planned own" in done.stdout
    assert " via 10.0.0.0 dev rail0 table 100 " in seen["v4"]
    assert " via fd00:: dev rail0 table 100 " in seen["v6"]
    assert "local fd00::1 " in seen["own"]
    assert "local fd00:0:0:1::1 " in seen["socket"]
    assert " via fd00:0:0:1:: dev rail1 table 101 " in seen["other"]
    assert done.stdout.count("from all lookup local") == 1


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    files = render(VARIANTS["plain"])
    script = tmp_path / "fabricc-roce"
    script.write_text(files[qos.SCRIPT])
    script.chmod(0o755)
    unit = tmp_path / "fabricc-roce@rail0.service"
    unit.write_text(files[qos.UNIT].replace(f"/{qos.SCRIPT}", str(script)))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "fabricc" in line] == []


UDEV = """
mkdir -p /run/udev/rules.d /run/udev/data
mount -t tmpfs none /etc/systemd/network
mount -t tmpfs none /etc/udev/rules.d
mount -o remount,rw /sys
cp "$1"/*.link /etc/systemd/network/
cp "$1"/*.rules /etc/udev/rules.d/
ip link add eth8 type veth peer name sw8
udevadm test --action=add /sys/class/net/eth8 2>&1
echo "=== port"
ip link add eth7 type veth peer name sw7
udevadm test --action=add /sys/class/net/eth7 2>&1
echo "named: $(ip -br link)"
echo "=== move"
udevadm test --action=move /sys/class/net/rail0 2>&1
"""


@needs_namespaces
@pytest.mark.skipif(not shutil.which("udevadm"), reason="udevadm is not installed")
def test_udev_names_a_port_and_starts_its_unit(tmp_path: Path) -> None:
    """In switchdev mode the representor of a virtual function has the PCI path of the port, and keeps another name."""
    for name, text in render(VARIANTS["plain"]).items():
        if name.endswith((".link", ".rules")):
            # A veth has neither PCI path nor port name: match both by their names, everything else stays as rendered.
            own = text.replace("Path=pci-0000:18:00.0", "OriginalName=eth[78]")
            own = own.replace('ATTR{phys_port_name}=="*pf[0-9]*"', 'KERNEL=="eth8"')
            (tmp_path / Path(name).name).write_text(own)
    done = run_isolated(UDEV, str(tmp_path))
    representor, _, port = done.stdout.partition("=== port")
    added, _, moved = port.partition("=== move")
    assert "FABRICC_REPRESENTOR=1" in representor
    assert "rail0" not in representor.replace("10-fabricc-rail0.link", "")
    complaints = [
        line
        for line in done.stdout.splitlines()
        if re.search(r"10-fabricc|60-rdma|70-fabricc", line)
        and re.search(r"[Ii]nvalid|Unknown|[Ff]ailed", line)
    ]
    assert complaints == []
    assert "ID_NET_NAME=rail0" in added
    assert re.search(r"named: (.*\n)*rail0@", added)
    assert "SYSTEMD_WANTS=fabricc-roce@rail0.service" in moved
