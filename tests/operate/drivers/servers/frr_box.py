"""Linux routers with FRR, sshd and lldpd of Debian, each in namespaces of its own, cabled swp1 to swp1."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.operate.lab import kernel
from tests.operate.drivers.servers.device import Device

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "a läb pässword"
PROGRAMS = {
    "sshd": "openssh-server",
    "vtysh": "frr",
    "unshare": "util-linux",
    "ip": "iproute2",
    "setpriv": "util-linux",
}
_BOOT = """
set -eu
hostname "$1"; cd "$2"
for at in frr ssh network sysctl.d; do mkdir -p "/etc/$at"; mount --bind "etc/$at" "/etc/$at"; done
for at in hostname shadow; do mount --bind "etc/$at" "/etc/$at"; done
mount --bind log /var/log
mount --bind vartmp /var/tmp
mount --bind "$2/box" /srv
mount -t tmpfs -o size=16m tmpfs /run
mkdir -p /run/frr /run/sshd /run/lldpd /run/napalm; chown frr:frr /run/frr
sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
for daemon in zebra staticd bfdd bgpd; do "/usr/lib/frr/$daemon" -d -A 127.0.0.1 --limit-fds 1024; done
vtysh -b
/usr/sbin/sshd -f /etc/ssh/sshd_config  # returns before it listens on port 22
for _ in $(seq 200); do grep -q " 0100007F:0016 00000000:0000 0A " /proc/net/tcp && break; sleep 0.05; done
if [ -x /usr/sbin/lldpd ]; then chown _lldpd:_lldpd /run/lldpd
  # In its own file: lldpcli beside the one that lldpd starts itself may leave it paused for good.
  printf "configure lldp %s\\n" "portidsubtype ifname" "tx-interval 1" > /run/lldp.conf
  lldpd -O /run/lldp.conf; fi
touch /srv/ready
while :; do sleep 1000000 & wait $!; done
"""
_SSHD = """ListenAddress 127.0.0.1:22
HostKey /etc/ssh/host_key
PidFile none
UsePAM no
PermitRootLogin yes
PasswordAuthentication yes
StrictModes no
LogLevel ERROR
"""


@dataclass(frozen=True, slots=True)
class Box:
    """A running router.

    Attributes:
        device: how a driver reaches it, from inside `namespace`.
        process: its process 1, as this machine numbers it.
        own: a folder that the box sees as `/srv`.
    """

    device: Device
    namespace: str
    process: int
    own: Path

    def run(self, *words: str) -> str:
        """Output of a command on the box, past the driver."""
        enter = ["nsenter", "-t", str(self.process), "-m", "-u", "-p", "-n"]
        return subprocess.run([*enter, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def find_missing() -> list[str]:
    """Return what a box needs and this machine lacks."""
    root = [] if os.geteuid() == 0 else ["root"]
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/lib/frr"
    return root + sorted({package for name, package in PROGRAMS.items() if not shutil.which(name, path=path)})


def box_configuration(name: str, number: int, other: int) -> str:
    """A `frr.conf` as `show running-config` prints it: one BGP session over swp1, four static routes announced."""
    networks = "".join(f"  network 10.{number}.{at}.0/24\n" for at in range(4))
    routes = "".join(f"ip route 10.{number}.{at}.0/24 blackhole\n" for at in range(4))
    return (
        f"frr defaults datacenter\nhostname {name}\nservice integrated-vtysh-config\n!\n{routes}!\n"
        f"interface swp1\n description to box {other}\n ip address 192.0.2.{number}/24\nexit\n!\n"
        f"router bgp {65000 + number}\n neighbor 192.0.2.{other} remote-as {65000 + other}\n"
        f" neighbor 192.0.2.{other} description peer {other}\n"
        f" !\n address-family ipv4 unicast\n{networks} exit-address-family\nexit\n!\n"
    )


@contextlib.contextmanager
def frr_boxes(folder: Path, count: int = 2) -> Iterator[list[Box]]:
    """Boot one router, or two that peer with each other."""
    names = [f"drv{os.getpid()}-{number}" for number in range(1, count + 1)]
    processes: list[subprocess.Popen[bytes]] = []
    kernel.ip_batch(f"netns add {name}" for name in names)
    try:
        peer = f"netns {names[-1]}" if count > 1 else f"netns {names[0]}"
        far = "swp1" if count > 1 else "swp2"
        kernel.ip_batch([f"link add name swp1 netns {names[0]} type veth peer name {far} {peer}"])
        kernel.ip_batches({name: ["link set lo up", "link set swp1 up"] for name in names})
        for number, name in enumerate(names, 1):
            home = _furnish_home(folder / name, f"box{number}", number)
            log = (home / "log" / "boot.log").open("wb")
            words = ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", name]
            words += ["unshare", "-m", "-u", "-p", "-f", "--kill-child", "--mount-proc"]
            words += ["sh", "-c", _BOOT, "boot", f"box{number}", str(home)]
            processes.append(subprocess.Popen(words, stdout=log, stderr=log))
            log.close()
        yield [_wait(folder / name, name, process) for name, process in zip(names, processes, strict=True)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        kernel.ip_batch((f"netns del {name}" for name in names), force=True)


def _furnish_home(home: Path, name: str, number: int) -> Path:
    owner = pwd.getpwnam("frr")
    for below in ("etc/frr", "etc/ssh", "etc/network", "etc/sysctl.d", "log", "vartmp", "box"):
        (home / below).mkdir(parents=True)
    for below in ("etc/frr", "log", "vartmp"):
        os.chown(home / below, owner.pw_uid, owner.pw_gid)
    main = home / "etc" / "frr" / "frr.conf"
    main.write_text(box_configuration(name, number, 3 - number))
    (home / "etc" / "frr" / "vtysh.conf").write_text("service integrated-vtysh-config\n")
    os.chown(main, owner.pw_uid, owner.pw_gid)
    main.chmod(0o640)
    (home / "etc" / "hostname").write_text(f"{name}\n")
    made = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=PASSWORD, text=True, capture_output=True, check=True
    ).stdout.strip()
    (home / "etc" / "shadow").write_text(f"root:{made}:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n")
    (home / "etc" / "ssh" / "sshd_config").write_text(_SSHD)
    key = home / "etc" / "ssh" / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    kind, text = Path(f"{key}.pub").read_text().split()[:2]
    (home / "known_hosts").write_text(f"127.0.0.1 {kind} {text}\n")
    return home


def _wait(home: Path, namespace: str, process: subprocess.Popen[bytes]) -> Box:
    limit = time.monotonic() + 60
    while not (home / "box" / "ready").exists():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError(f"{namespace} does not boot: {(home / 'log' / 'boot.log').read_text()[-500:]}")
        time.sleep(0.05)
    options = {
        "alt_key_file": str(home / "known_hosts"),
        "system_host_keys": False,
        "private_dir": "/run/napalm",
    }
    device = Device("frr", "127.0.0.1", "root", PASSWORD, options)
    holder = process.pid
    below = kernel.child_processes(holder)
    return Box(device, namespace, below[0] if below else holder, home / "box")
