"""Rails of a host after a boot or another tool: they are as planned, or `apply` names the obstacle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.test_apply import needs_networkd, run_stages
from tests.back.hosts.test_apply_faults import RUNNING, UBUNTU
from tests.back.hosts.test_peers import can_isolate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here"),
    pytest.mark.slow,
    needs_networkd,
]

BOOT = (
    RUNNING
    + """
# New ports with other MAC addresses, the kernel's own rules, and the units that udev starts; `dark` has no link.
boot() {
    kill "$(cat /run/networkd.pid)"
    sleep 0.5
    for port in rail0 rail1; do
        ip link del "$port"
        ip link add "$port" type veth peer name "p$port"
        [ "$port" = "$1" ] || ip link set "p$port" up
    done
    ip rule flush
    ip rule add priority 32766 lookup main
    ip rule add priority 32767 lookup default
    rm -r /run/systemd/network /run/systemd/netif
    mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
    chown -R systemd-network:systemd-network /run/systemd/netif
    netplan apply
    sleep 2
    for port in rail0 rail1; do sh /usr/local/sbin/fabricc-roce "$port" > /dev/null; done
}
state() {
    ip -br address show rail0
    ip rule show priority 1000
    ip route show table 100
    ip -6 route show table 100
}
netplan_file() {
    cat > "/etc/netplan/$1"
    chmod 600 "/etc/netplan/$1"
}
check() {
    stage "$1" sh "$folder/tree/apply" --check
}
"""
)


def find_differences(text: str) -> list[str]:
    return [line.removeprefix("differs: ") for line in text.splitlines() if line.startswith("differs: ")]


def test_a_rail_without_a_link_at_boot_and_with_a_new_card_is_as_planned(tmp_path: Path) -> None:
    script = """
stage apply sh "$folder/tree/apply"
boot rail0
stage dark state
check unlit
ip link set prail0 up
sleep 2
stage lit state
check linked
netplan_file 70-cloud-init.yaml << 'EOF'
network:
  version: 2
  ethernets:
    rail1: {dhcp4: true}
EOF
boot none
check rewritten
"""
    seen = run_stages(BOOT + script, tmp_path, "dual-stack", UBUNTU)
    for stage in ("dark", "lit"):
        words = (
            "10.0.0.1/31",
            "fd00::1/127",
            "lookup 100",
            "10.0.0.0/10 via 10.0.0.0",
            "fd00::/32 via fd00::",
        )
        assert [word for word in words if word not in seen[stage]] == []
    assert "LOWERLAYERDOWN" in seen["dark"]
    assert "note: rail0 has no link\n" in seen["unlit"]
    assert seen["unlit"].endswith("as planned\n")
    assert seen["linked"].endswith("as planned\n")
    assert find_differences(seen["rewritten"]) == [
        "/etc/netplan/70-cloud-init.yaml names rail1, its MAC address or its card as well; remove the port there"
    ]


def test_routes_and_rules_of_others_are_reported_where_they_take_traffic_of_rails(tmp_path: Path) -> None:
    """A CNI's own rules and routes are none of ours, but for those that come before the planned ones."""
    script = """
stage apply sh "$folder/tree/apply"
ip rule add fwmark 0x200/0xf00 lookup 2004 priority 9
ip rule add lookup local priority 100
ip rule del priority 0
ip route add 10.244.1.0/24 via 10.1.0.0 dev rail1
sysctl -qw net.ipv4.conf.all.rp_filter=1
check beside
ip rule add from 10.0.0.0/8 lookup 5000 priority 50
ip route add 10.9.0.0/16 dev rail1 table 5000
ip route add 192.0.2.0/24 dev rail1 table 5000
ip route add unreachable 10.8.0.0/16 table 101
ip -6 route add fd00:0:9::/48 via fd00:: dev rail0 table 100
ip route add blackhole 10.7.0.0/16 table 5000
check before
stage apply sh "$folder/tree/apply"
"""
    seen = run_stages(BOOT + script, tmp_path, "dual-stack", UBUNTU)
    assert seen["beside"].endswith("as planned\n"), seen["beside"]
    found = [line.partition(": 10.9.0.0 from")[0] for line in find_differences(seen["before"])]
    assert sorted(found) == [
        "rail0: packets from 10.0.0.1 to 10.7.0.0 have no way",
        "rail0: packets from 10.0.0.1 to 10.9.0.0 take another way",
        "rail0: table 100 has a route to fd00:0:9::/48 that is not planned",
        "rail1: packets from 10.1.0.1 to 10.7.0.0 have no way",
        "rail1: table 101 has a route to 10.8.0.0/16 that is not planned",
    ]
    assert seen["apply"].endswith("status 3\n")


def test_a_netplan_file_of_all_interfaces_is_named_as_the_one_in_force(tmp_path: Path) -> None:
    script = """
netplan_file 50-cloud-init.yaml << 'EOF'
network:
  version: 2
  ethernets:
    all: {match: {name: "*"}, dhcp4: true}
EOF
stage apply sh "$folder/tree/apply"
"""
    seen = run_stages(BOOT + script, tmp_path, "ubuntu-24.04", UBUNTU)
    for port in ("rail0", "rail1"):
        used = f"differs: {port}: networkd uses /run/systemd/network/10-netplan-all.network and not the planned file"
        assert used in seen["apply"]
        assert f"differs: {port}: MTU is 1500, planned 9000" in seen["apply"]
    assert seen["apply"].endswith("status 3\n")
