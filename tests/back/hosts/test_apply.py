"""The apply script, run on a private copy of a host with the real NetworkManager or systemd-networkd."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import mode, render
from tests.back.hosts.test_peers import NETWORKD, can_isolate
from tests.back.hosts.test_script import make_tools, port
from tests.back.hosts.variants import LOSSY, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fabricc.fabric.model import Host

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")
needs_networkmanager = pytest.mark.skipif(
    not all(map(shutil.which, ("NetworkManager", "nmcli", "dbus-daemon"))),
    reason="NetworkManager is not installed",
)
needs_networkd = pytest.mark.skipif(
    not NETWORKD.exists() or not shutil.which("netplan"), reason="netplan or networkd is not installed"
)

WORLD = """
set -e
folder=$1 release=$2; shift 2
mount -t tmpfs none /run
mkdir -p /run/etc /run/dbus /run/NetworkManager /run/udev/data /run/systemd/netif/links /run/systemd/netif/leases
mkdir -p /run/systemd/network /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif 2>/dev/null || true
cp -a /etc/. /run/etc/ || true  # a test beside this one may take its own away meanwhile
mount --bind /run/etc /etc
mount -t tmpfs none /usr/local/sbin
mount -t tmpfs none /var/lib
mount -t sysfs -o ro none /sys
rm -f /etc/os-release /etc/NetworkManager/system-connections/* /etc/netplan/*
printf '%s\\n' "$release" > /etc/os-release
echo su001-host01 > /etc/hostname
printf su001-host01 > /proc/sys/kernel/hostname
ip link set lo up
for port in "$@"; do
    ip link add "$port" type veth peer name "p$port"
    ip link set "p$port" up
done
export PATH="$folder/bin:$PATH" STATE="$folder/state" RECORD="$folder/record" SYSFS="$folder/sys"
stage() {
    echo "=== $1"
    shift
    "$@" 2>&1 || echo "status $?"
}
await() {
    tries=0
    until sh "$folder/tree/apply" --check >/dev/null 2>&1 || [ $tries -ge 20 ]; do
        sleep 0.25
        tries=$((tries + 1))
    done
}
"""
NETWORKMANAGER = (
    WORLD
    + """
mkdir /var/lib/NetworkManager
for number in $(ip -o link | cut -d: -f1); do
    printf 'I:1\\nE:ID_NET_DRIVER=veth\\n' > "/run/udev/data/n$number"
done
printf '[main]\\nplugins=keyfile\\nno-auto-default=*\\n[keyfile]\\n' > /run/nm.conf
echo 'unmanaged-devices=interface-name:prail*;interface-name:pstorage*' >> /run/nm.conf
dbus-daemon --system --nofork --nopidfile > /run/bus.log 2>&1 & bus=$!
tries=0
until [ -S /run/dbus/system_bus_socket ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
NetworkManager --no-daemon --config=/run/nm.conf --log-level=WARN > /run/nm.log 2>&1 & manager=$!
trap 'kill "$manager" "$bus"' EXIT
tries=0
until nmcli -t general status >/dev/null 2>&1 || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
stage before sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply" --firmware
await
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
stage modes stat -c '%a %n' /etc/NetworkManager/system-connections/fabricc-rail0.nmconnection
stage kernel sh -c 'ip rule; ip route get 10.9.9.9 from 10.0.0.1; ip route get 10.9.9.9 from 10.1.0.1'
ip rule del priority 1001
ip link set rail1 mtu 1500
touch /etc/systemd/network/10-fabricc-rail9.link
stage drift sh "$folder/tree/apply" --check
stage repair sh "$folder/tree/apply"
await
stage repaired sh "$folder/tree/apply" --check
stage log cat /run/nm.log
"""
)
NETPLAN = (
    WORLD
    + """
stage before sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply" --firmware
timeout -k 1 120 /lib/systemd/systemd-networkd > /run/log 2>&1 & networkd=$!
trap 'kill "$networkd"' EXIT
await
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
stage modes stat -c '%a %n' /etc/netplan/60-fabricc.yaml
ip address del 10.0.0.1/31 dev rail0
stage drift sh "$folder/tree/apply" --check
"""
)


def run_stages(
    script: str, root: Path, variant: str, release: str, name: str = "su001-host01", *, storage: bool = False
) -> dict[str, str]:
    """Return the output of each stage, with `status N` unless it is 0; `storage`: a host of two networks."""
    host = replace(VARIANTS[variant], name=name)
    parts = [replace(host, beside=("storage",)), storage_part(host)] if storage else [host]
    files = {path: text for part in parts for path, text in render(part).items()}
    for rail in [each for part in parts for each in part.ports]:
        port(root, rail.name, rail.rdma, rail.pci or "0000:18:00.0")
    return stages_of(script, root, files, mode, release, [p.name for part in parts for p in part.ports])


def stages_of(
    script: str,
    root: Path,
    files: Mapping[str, str],
    mode_of: Callable[[str], int],
    release: str,
    ports: Sequence[str],
) -> dict[str, str]:
    """Return what each stage prints on a copy of this machine with these files, and links of these names."""
    for path, text in files.items():
        file = root / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode_of(path))
    make_tools(root)
    done = subprocess.run(
        ["unshare", "-n", "-m", "-u", "sh", "-c", script, "sh", str(root), release, *ports],
        capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert "=== " in done.stdout, done.stderr
    found = re.findall(r"=== (\w+)\n((?:(?!=== ).*\n)*)", done.stdout)
    return {
        stage: "".join(line + "\n" for line in text.splitlines() if "run-parts" not in line)
        for stage, text in found
    }


def storage_part(host: Host) -> Host:
    """The part of a host in a storage network: lossy, with two ports."""
    ports = tuple(
        replace(
            each, name=f"storage{each.rail}", rdma=f"mlx5_storage{each.rail}", pci=f"0000:{each.rail + 1:02x}:00.1",
            ipv4=f"10.208.{each.rail}.1/31", gateway4=f"10.208.{each.rail}.0", ipv6=None, gateway6=None,
            table=1100 + each.rail, metric=100 + each.rail,
        )
        for each in host.ports
    )  # fmt: skip
    prefixes = ("10.208.0.0/13",)
    return replace(
        host, ports=ports, classes=LOSSY, fabric_prefixes4=prefixes, fabric_prefixes6=(), network="storage", guest=True
    )  # fmt: skip


SEEN = """
stage kernel sh -c 'ip rule; ip route get 10.208.9.9; ip route get 10.208.9.9 from 10.208.1.1'
stage scripts ls /usr/local/sbin
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "variant", "release"),
    [
        pytest.param(NETWORKMANAGER, "rhel-9", 'ID="rhel"\nVERSION_ID="9.4"', marks=needs_networkmanager),
        pytest.param(NETPLAN, "ubuntu-24.04", 'ID=ubuntu\nVERSION_ID="24.04"', marks=needs_networkd),
    ],
)
def test_apply_configures_a_host_for_both_of_its_networks(
    tmp_path: Path, script: str, variant: str, release: str
) -> None:
    seen = run_stages(script + SEEN, tmp_path, variant, release, storage=True)
    assert "differs: storage0: no address 10.208.0.1/31\n" in seen["before"]
    assert "differs: rail0: PFC is 0,0,0,0,0,0,0,0, planned 0,0,0,1,0,0,0,0\n" in seen["before"]
    assert "storage0: PFC is" not in seen["before"]  # lossy, as a NIC begins
    assert "status" not in seen["apply"]
    assert "changed: storage0: configured\n" in seen["apply"]
    assert seen["check"].endswith("as planned\n")
    assert "nothing to change\n" in seen["again"]
    assert seen["scripts"].split() == ["fabricc-roce", "fabricc-roce-storage"]
    assert "from 10.208.0.1 lookup 1100" in seen["kernel"]
    routes = re.findall(r"^10\.208\.9\.9.* dev (\S+)", seen["kernel"], re.M)
    assert routes == ["storage0", "storage1"]  # the lowest metric, and by the source address


RHEL = 'ID="rhel"\nVERSION_ID="9.4"'


@pytest.mark.slow
@needs_networkmanager
@pytest.mark.parametrize("variant", ["rhel-9-dual-stack"])
def test_apply_makes_networkmanager_match_its_keyfiles(tmp_path: Path, variant: str) -> None:
    seen = run_stages(NETWORKMANAGER, tmp_path, variant, RHEL)
    assert "differs: rail0: no address 10.0.0.1/31\n" in seen["before"]
    assert "differs: rail0: PFC is 0,0,0,0,0,0,0,0, planned 0,0,0,1,0,0,0,0\n" in seen["before"]
    assert seen["before"].endswith("status 1\n")
    assert "status" not in seen["apply"]
    assert "changed: connection of rail0\n" in seen["apply"]
    assert "changed: rail0: configured\n" in seen["apply"]
    assert seen["check"].endswith("as planned\n")
    assert "nothing to change\n" in seen["again"]
    assert "changed" not in seen["again"]
    assert seen["modes"].startswith("600 ")
    assert "from 10.0.0.1 lookup 100" in seen["kernel"]
    assert re.findall(r"^10\.9\.9\.9.* dev (\S+)", seen["kernel"], re.M) == ["rail0", "rail1"]
    wanted = [
        "differs: rail1: MTU is 1500, planned 9000",
        "differs: rail1: no rule from 10.1.0.1 to table 101",
        "differs: /etc/systemd/network/10-fabricc-rail9.link, which is not planned",
    ]
    assert sorted(line for line in seen["drift"].splitlines() if line.startswith("differs")) == sorted(wanted)
    assert "changed: connection of rail1\n" in seen["repair"]
    assert "connection of rail0" not in seen["repair"]
    assert seen["repaired"].endswith("as planned\n")
    assert not re.search(r"keyfile|invalid|unknown", seen["log"])


@needs_networkd
@pytest.mark.parametrize("variant", ["ubuntu-22.04", "ubuntu-24.04"])
@pytest.mark.slow
def test_networkd_files_are_those_of_netplan(tmp_path: Path, variant: str) -> None:
    seen = run_stages(
        NETPLAN, tmp_path, variant, f'ID=ubuntu\nVERSION_ID="{variant.removeprefix("ubuntu-")}"'
    )
    assert "differs: rail1: no rule from 10.1.0.1 to table 101\n" in seen["before"]
    assert "status" not in seen["apply"]
    assert seen["check"].endswith("as planned\n")
    assert "nothing to change\n" in seen["again"]
    assert seen["modes"].startswith("600 ")
    assert "differs: rail0: no address 10.0.0.1/31\n" in seen["drift"]
    assert seen["drift"].endswith("status 1\n")


REFUSED = WORLD + '\nstage apply sh "$folder/tree/apply"\nstage written ls /usr/local/sbin /etc/nccl.conf\n'


@pytest.mark.parametrize(
    ("release", "name", "reason"),
    [
        ('ID=ubuntu\nVERSION_ID="24.04"', "su001-host01", "these files are for rhel-9"),
        ('ID="rhel"\nVERSION_ID="8.10"', "su001-host01", "these files are for rhel-9"),
        ('ID="rhel"\nVERSION_ID="10.1"', "su001-host01", "these files are for rhel-9"),
        ('ID="sles"\nVERSION_ID="15.7"\nID_LIKE="suse"', "su001-host01", "these files are for rhel-9"),
        (RHEL, "su001-host02", "these files are for su001-host02, this is su001-host01"),
    ],
)
def test_another_host_or_system_is_refused_untouched(
    tmp_path: Path, release: str, name: str, reason: str
) -> None:
    seen = run_stages(REFUSED, tmp_path, "rhel-9", release, name)
    assert reason in seen["apply"]
    assert seen["apply"].endswith("status 2\n")
    assert "fabricc-roce" not in seen["written"]


@pytest.mark.skipif(not shutil.which("nmcli"), reason="nmcli is not installed")
@pytest.mark.parametrize("variant", ["rhel-9-dual-stack", "rhel-9-ipv6-only"])
def test_nothing_of_a_keyfile_is_lost_on_its_own_parser(variant: str) -> None:
    # It drops what it does not know without a word, so what it writes again must be what it was given.
    for path, text in render(VARIANTS[variant]).items():
        if path.endswith(".nmconnection"):
            done = subprocess.run(
                ["nmcli", "--offline", "connection", "modify", "connection.autoconnect", "yes"],
                input=text, capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
            assert parse_settings(done.stdout) == parse_settings(text) - {
                ("connection", "autoconnect=true")
            }  # its default


def parse_settings(text: str) -> set[tuple[str, str]]:
    section, found = "", set()
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.add((section, line))
    return found
