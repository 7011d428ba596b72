"""Rails return as planned after a restart of their services and after a boot, also with an installer's file present."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.test_apply import (
    NETWORKMANAGER,
    RHEL,
    WORLD,
    needs_networkd,
    needs_networkmanager,
    run_stages,
)
from tests.back.hosts.test_flaps import UBUNTU, plain_lines
from tests.back.hosts.test_peers import can_isolate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

STATE = """
state() {
    ip -br address show rail0 scope global
    ip -br address show rail1 scope global
    ip rule show
    ip -6 rule show
    ip route show table 100
    ip -6 route show table 101
}
# What a boot leaves of the network: new ports without anything, and the kernel's own rules.
power_off() {
    for port in rail0 rail1; do
        ip link del "$port"
        ip link add "$port" type veth peer name "p$port"
        ip link set "p$port" up
    done
    ip rule flush # but for priority 0
    ip -6 rule flush
    ip rule add priority 32766 lookup main
    ip rule add priority 32767 lookup default
    [ -n "$(ip -6 rule show priority 0)" ] || ip -6 rule add priority 0 lookup local
    ip -6 rule add priority 32766 lookup main
}
# The units that udev starts for a port that appears.
units() {
    for port in rail0 rail1; do sh /usr/local/sbin/fabricc-roce "$port" >/dev/null; done
}
"""
NETWORKD = (
    WORLD
    + STATE
    + """
ip link add eno1 type veth peer name peno1
ip link set peno1 up
printf 'network:\\n  version: 2\\n  ethernets:\\n    eno1:\\n' > /etc/netplan/50-cloud-init.yaml
echo '      addresses: [192.0.2.5/24]' >> /etc/netplan/50-cloud-init.yaml
chmod 600 /etc/netplan/50-cloud-init.yaml
start() {
    timeout -k 1 120 /lib/systemd/systemd-networkd >> /run/log 2>&1 & networkd=$!
}
stop() {
    kill "$networkd"
    wait "$networkd" || true
}
stage apply sh "$folder/tree/apply"
start
trap 'kill "$networkd"' EXIT
await
stage check sh "$folder/tree/apply" --check
stage planned state
stop
start
sleep 3
stage restarted state
stop
power_off
rm -r /run/systemd/network /run/systemd/netif
mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
stage off state
netplan generate
rm -rf /run/systemd/system # which means a running systemd, and netplan makes it
start
sleep 2
units
await
stage booted state
stage installer ip -br address show eno1
stage last sh "$folder/tree/apply" --check
"""
)
MANAGED = (
    NETWORKMANAGER.partition("stage before")[0]
    + STATE
    + """
start() {
    NetworkManager --no-daemon --config=/run/nm.conf --log-level=WARN >> /run/nm.log 2>&1 & manager=$!
    tries=0
    until nmcli -t general status >/dev/null 2>&1 || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
}
stop() {
    kill "$manager"
    wait "$manager" || true
}
printf '[connection]\\nid=installer\\nuuid=6ec8d2a2-3f0b-4bd6-8d0f-4d6a2a9a7f10\\n' > /run/eno1
printf 'type=ethernet\\ninterface-name=eno1\\n' >> /run/eno1
printf '[ipv4]\\nmethod=manual\\naddress1=192.0.2.5/24\\n[ipv6]\\nmethod=disabled\\n' >> /run/eno1
install -m 600 /run/eno1 /etc/NetworkManager/system-connections/cloud-init-eno1.nmconnection
ip link add eno1 type veth peer name peno1
ip link set peno1 up
printf 'I:1\\nE:ID_NET_DRIVER=veth\\n' > "/run/udev/data/n$(cat /sys/class/net/eno1/ifindex)"
nmcli connection reload
stage apply sh "$folder/tree/apply"
await
stage check sh "$folder/tree/apply" --check
stage planned state
stop
start
sleep 4
stage restarted state
stop
power_off
for number in $(ip -o link | cut -d: -f1); do
    printf 'I:1\\nE:ID_NET_DRIVER=veth\\n' > "/run/udev/data/n$number"
done
stage off state
start
sleep 3
units
await
stage booted state
stage installer ip -br address show eno1
stage last sh "$folder/tree/apply" --check
"""
)


def settled_lines(state: str) -> list[str]:
    """Return the lines of a state without the far end of a link and NetworkManager's order of connections."""
    return sorted(re.sub(r"@\S+| metric \d+", "", line) for line in plain_lines(state))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "variant", "release"),
    [
        pytest.param(NETWORKD, "dual-stack", UBUNTU, marks=needs_networkd),
        pytest.param(MANAGED, "rhel-9-dual-stack", RHEL, marks=needs_networkmanager),
    ],
)
def test_rails_come_back_after_a_restart_and_a_boot(
    tmp_path: Path, script: str, variant: str, release: str
) -> None:
    seen = run_stages(script, tmp_path, variant, release)
    assert seen["check"].endswith("as planned\n"), seen["check"]
    for word in ("10.0.0.1/31", "fd00::1/127", "from 10.0.0.1 lookup 100", "oif rail0 lookup 100"):
        assert word in seen["planned"], word
    assert settled_lines(seen["restarted"]) == settled_lines(seen["planned"])
    assert "10.0.0.1" not in seen["off"]
    assert settled_lines(seen["booted"]) == settled_lines(seen["planned"])
    assert "192.0.2.5/24" in seen["installer"]
    assert seen["last"].endswith("as planned\n"), seen["last"]
