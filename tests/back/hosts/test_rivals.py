"""Other files that want a rail: the planned one wins, or `apply` names the other, before and after the next boot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.test_apply import RHEL, WORLD, needs_networkd, needs_networkmanager, stages
from tests.back.hosts.test_apply_faults import TOOL, UBUNTU
from tests.back.hosts.test_boots import BOOT, differences
from tests.back.hosts.test_peers import namespaces

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not namespaces(), reason="no root, or namespaces are not allowed here"),
    pytest.mark.slow,
]

CONNECTIONS = "/etc/NetworkManager/system-connections"
NETWORKMANAGER = (
    WORLD
    + TOOL
    + """
mkdir /var/lib/NetworkManager
rm -f /etc/NetworkManager/conf.d/*
cat > /etc/NetworkManager/NetworkManager.conf << 'CONF'
[main]
plugins=keyfile
no-auto-default=interface-name:p*
CONF
printf '[device]\\nmatch-device=interface-name:p*\\nmanaged=0\\n' > /etc/NetworkManager/conf.d/10-peers.conf
write() {
    cat > "$1"
    chmod 600 "$1"
}
dbus-daemon --system --nofork --nopidfile > /run/bus.log 2>&1 & bus=$!
tries=0
until [ -S /run/dbus/system_bus_socket ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
start() {
    for number in $(ip -o link | cut -d: -f1); do
        printf 'I:1\\nE:ID_NET_DRIVER=veth\\n' > "/run/udev/data/n$number"
    done
    NetworkManager --no-daemon --log-level=WARN > /run/nm.log 2>&1 & manager=$!
    tries=0
    until nmcli -t general status >/dev/null 2>&1 || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    sleep 2
}
trap 'kill "$manager" "$bus"' EXIT
boot() {
    kill "$manager"
    wait "$manager" || true
    for port in rail0 rail1; do
        ip link del "$port"
        ip link add "$port" type veth peer name "p$port"
        ip link set "p$port" up
    done
    rm -rf /run/NetworkManager
    mkdir /run/NetworkManager
    start
    sleep 3
    for port in rail0 rail1; do sh /usr/local/sbin/fabricc-roce "$port" > /dev/null; done
}
"""
)
RUNS = """
start
stage apply sh "$folder/tree/apply"
stage again sh "$folder/tree/apply"
boot
stage booted sh "$folder/tree/apply" --check
"""
PROFILE = """[connection]
id=other
uuid=11111111-1111-4111-8111-111111111111
type=ethernet
multi-connect=3
autoconnect-priority={priority}
{name}
[ipv4]
method=disabled
[ipv6]
method=disabled
"""


def networkmanager(root: Path, path: str, text: str) -> dict[str, str]:
    """What the stages print where a file of another tool is there from the beginning."""
    return stages(
        f"{NETWORKMANAGER}\nwrite {path} << 'TEXT'\n{text}\nTEXT\n{RUNS}", root, "rhel-9-dual-stack", RHEL
    )


@needs_networkmanager
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{CONNECTIONS}/all.nmconnection", PROFILE.format(priority=120, name="")),
        (
            "/etc/NetworkManager/conf.d/10-cni.conf",
            "[device-cni]\nmatch-device=interface-name:rail*\nmanaged=0",
        ),
        ("/etc/NetworkManager/conf.d/80-x.conf", "[device-x]\nignore-carrier=no"),
        (
            "/etc/NetworkManager/conf.d/95-x.conf",
            "[device-x]\nmatch-device=interface-name:docker*\nmanaged=0",
        ),
        ("/run/none", ""),
    ],
    ids=["profile", "unmanaged", "carrier", "docker", "own-connection-of-networkmanager"],
)
def test_the_planned_connection_wins(tmp_path: Path, path: str, text: str) -> None:
    seen = networkmanager(tmp_path, path, text)
    assert seen["booted"].endswith("as planned\n"), seen["booted"]
    assert differences(seen["apply"]) == []
    assert "nothing to change" in seen["again"]


@needs_networkmanager
@pytest.mark.parametrize(
    ("path", "text", "reported"),
    [
        (f"{CONNECTIONS}/all.nmconnection", PROFILE.format(priority=999, name=""),
         f"rail0: {CONNECTIONS}/all.nmconnection has autoconnect-priority 999 too, and NetworkManager may take it"),
        (f"{CONNECTIONS}/mine.nmconnection", PROFILE.format(priority=0, name="interface-name=rail0"),
         f"{CONNECTIONS}/mine.nmconnection names rail0"),
        ("/etc/NetworkManager/conf.d/10-cni.conf", "[keyfile]\nunmanaged-devices+=interface-name:rail*",
         "rail0: NetworkManager leaves it alone (unmanaged); see /etc/NetworkManager/conf.d/10-cni.conf"),
        ("/etc/NetworkManager/conf.d/95-x.conf", "[device-x]\nmatch-device=interface-name:r*\nignore-carrier=no",
         "rail0: /etc/NetworkManager/conf.d/95-x.conf comes after 90-fabricc.conf and sets ignore-carrier=no"),
    ],
    ids=["equal-profile", "named-profile", "unmanaged", "carrier"],
)  # fmt: skip
def test_another_file_is_named_in_every_run(tmp_path: Path, path: str, text: str, reported: str) -> None:
    seen = networkmanager(tmp_path, path, text)
    for stage in ("apply", "again", "booted"):
        assert [line for line in differences(seen[stage]) if line.startswith(reported)], seen[stage]


LINKS = "/etc/systemd/network"


@needs_networkd
@pytest.mark.parametrize(
    ("path", "text", "reported"),
    [
        (f"{LINKS}/05-cni.network", "[Match]\nKind=veth\n[Link]\nUnmanaged=yes",
         f"rail0: networkd leaves it alone (unmanaged); see {LINKS}/05-cni.network"),
        (f"{LINKS}/05-cni.network", "[Match]\nKind=veth\n[Network]\nDHCP=no",
         f"rail0: networkd uses {LINKS}/05-cni.network and not the planned file"),
        (f"{LINKS}/10-netplan-rail0.network.d/x.conf", "[Link]\nMTUBytes=1500",
         f"{LINKS}/10-netplan-rail0.network.d/x.conf names rail0"),
        ("/etc/netplan/70-bridge.yaml",
         "network: {version: 2, ethernets: {rail0: {}}, bridges: {br0: {interfaces: [rail0]}}}",
         "rail0 is part of br0, which takes its addresses"),
    ],
    ids=["unmanaged", "earlier", "addition", "bridge"],
)  # fmt: skip
def test_another_file_of_networkd_is_named_in_every_run(
    tmp_path: Path, path: str, text: str, reported: str
) -> None:
    runs = """
stage apply sh "$folder/tree/apply"
stage again sh "$folder/tree/apply"
boot none
check booted
"""
    write = f"mkdir -p $(dirname {path})\ncat > {path} << 'TEXT'\n{text}\nTEXT\nchmod 600 /etc/netplan/* || true\n"
    seen = stages(BOOT + write + runs, tmp_path, "dual-stack", UBUNTU)
    for stage in ("apply", "again", "booted"):
        assert [line for line in differences(seen[stage]) if line.startswith(reported)], seen[stage]
