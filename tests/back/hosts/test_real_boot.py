"""A whole boot: this machine's systemd as process 1 of a private copy of it starts udev, the network and our units."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricc.back.hosts import mode, render
from tests.back.hosts.test_apply import needs_networkd, needs_networkmanager
from tests.back.hosts.test_peers import can_isolate
from tests.back.hosts.test_script import TOOLS, port
from tests.back.hosts.variants import VARIANTS

SYSTEMD = Path("/lib/systemd/systemd")
pytestmark = [
    pytest.mark.skipif(
        not can_isolate() or not SYSTEMD.exists(), reason="no root, namespaces or systemd here"
    ),
    pytest.mark.slow,
]
RELEASES = {"ubuntu-24.04": 'ID=ubuntu\nVERSION_ID="24.04"', "rhel-9": 'ID="rhel"\nVERSION_ID="9.4"'}
# What differs from this machine is in memory and lasts for all boots. A boot ends with its scenario.
BOOTS = """
set -e
root=$1
shift
mount --make-rprivate /
mount -t tmpfs none "$root/up"
mkdir "$root/up/changes" "$root/up/work" "$root/up/root"
cp -a "$root/files/." "$root/up/changes/"
rm -rf "$root/up/changes/etc/NetworkManager/system-connections" "$root/up/changes/etc/netplan"
for boot in 0 1; do
    timeout -k 1 -s KILL 150 unshare -m -p -f -n -u -i -C --kill-child sh -c "$BOOT" sh "$root" "$@" < /dev/null || :
done
cat "$root"/up/changes/results/*
"""
BOOT = """
set -e
root=$1
shift
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/up/changes,workdir=$root/up/work" "$root/up/root"
for port in "$@"; do
    ip link add "$port" type veth peer name "p$port"
    ip link set "p$port" up
done
cd "$root/up/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
mkdir -p dev/pts dev/shm old
mount -t devpts devpts dev/pts
for node in null zero full random urandom tty; do
    : > "dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
ln -s /proc/self/fd dev/fd
: > dev/console
mount -t tmpfs run run
mount -t tmpfs tmp tmp
pivot_root . old
umount -l old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=scenario.target
"""
# Process 1 of a container hears of devices only when it reads its units again.
SCENARIO = """
boot=$(ls /results | wc -l)
exec > "/results/$boot" 2>&1
export PATH=/opt/fake/bin:$PATH
stage() {
    echo "=== $1$boot"
    shift
    "$@" 2>&1 || echo "status $?"
}
end() {
    sync
    systemctl --force --force poweroff
}
trap end EXIT
if [ "$boot" -eq 0 ]; then
    stage apply sh /tree/apply --firmware
    stage again sh /tree/apply
    exit
fi
systemctl daemon-reload
tries=0
until [ "$(systemctl is-active fabricc-roce@rail0 fabricc-roce@rail1 | sort -u)" = active ] || [ $tries -ge 80 ]; do
    sleep 0.5
    tries=$((tries + 1))
done
stage units systemctl is-active fabricc-roce@rail0 fabricc-roce@rail1
stage check sh /tree/apply --check
stage again sh /tree/apply
ip link set prail0 down
sleep 7
stage dark ip -br address show dev rail0
ip link set prail0 up
sleep 3
stage flapped sh /tree/apply --check
"""
UNITS = {
    "scenario.service": "[Service]\nType=oneshot\nTimeoutStartSec=140\nExecStart=/bin/sh /scenario\n",
    "scenario.target": "[Unit]\nRequires=basic.target dbus.socket {daemon}\nWants=scenario.service\n"
    "After=basic.target {daemon}\n",
}


def boot_twice(root: Path, variant: str, system: str, daemon: str) -> dict[str, str]:
    """Return what each stage of two boots prints, with the number of the boot in its name."""
    host = replace(VARIANTS[variant], os=system)
    files = root / "files"
    for path, text in render(host).items():
        file = files / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode(path))
    for each in host.ports:
        port(files / "opt/fake", each.name, each.rdma, each.pci)
    tools = files / "opt/fake/bin"
    tools.mkdir()
    tool = f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(TOOLS.parent)!r})\nimport {TOOLS.stem}\n"
    for name in ("mlnx_qos", "ethtool", "setpci", "mlxconfig"):
        (tools / name).write_text(tool)
    for name in ("update-initramfs", "dracut"):
        (tools / name).write_text("#!/bin/sh\n")
    for made in tools.iterdir():
        made.chmod(0o755)
    fake = {"SYSFS": "sys", "STATE": "state", "RECORD": "record"}
    environment = " ".join(f'"{key}=/opt/fake/{path}"' for key, path in fake.items())
    written = {
        "etc/systemd/system.conf.d/00-test.conf": "[Manager]\nDefaultEnvironment="
        f'"PATH=/opt/fake/bin:/usr/sbin:/usr/bin:/sbin:/bin" {environment}\n',
        "etc/os-release": RELEASES[system],
        "etc/hostname": f"{host.name}\n",
        "etc/NetworkManager/NetworkManager.conf": "[main]\nplugins=keyfile\nno-auto-default=interface-name:p*\n",
        "etc/NetworkManager/conf.d/10-peers.conf": "[device]\nmatch-device=interface-name:p*\nmanaged=0\n",
        "etc/udev/rules.d/85-nm-unmanaged.rules": "",
        "scenario": SCENARIO,
        **{f"etc/systemd/system/{name}": text.format(daemon=daemon) for name, text in UNITS.items()},
    }
    for name, text in written.items():
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(text)
    (files / "results").mkdir()
    (root / "up").mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", BOOTS, "sh", str(root), *[each.name for each in host.ports]],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "BOOT": BOOT},
        capture_output=True, text=True, timeout=330, check=False,
    )  # fmt: skip
    assert "=== " in done.stdout, done.stderr
    return dict(re.findall(r"=== (\w+)\n((?:(?!=== ).*\n)*)", done.stdout))


@pytest.mark.parametrize(
    ("system", "daemon"),
    [
        pytest.param("ubuntu-24.04", "systemd-networkd.service", marks=needs_networkd),
        pytest.param("rhel-9", "NetworkManager.service", marks=needs_networkmanager),
    ],
)
def test_rails_are_as_planned_after_a_boot_and_a_flap(tmp_path: Path, system: str, daemon: str) -> None:
    seen = boot_twice(tmp_path, "dual-stack", system, daemon)
    assert "differs" not in seen["apply0"], seen["apply0"]
    assert seen["units1"] == "active\nactive\n"
    for stage in ("again0", "again1"):
        assert "nothing to change\n" in seen[stage], seen[stage]
    for stage in ("check1", "flapped1"):
        assert "as planned" in seen[stage], seen[stage]
    assert {"10.0.0.1/31", "fd00::1/127"} <= {*seen["dark1"].split()}
