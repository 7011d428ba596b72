"""Faults on a host after `apply`, one after the other: each is reported with the right exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.test_apply import needs_networkd, run_stages
from tests.back.hosts.test_apply_faults import RUNNING, UBUNTU
from tests.back.hosts.test_peers import can_isolate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

# name -> (what breaks, what mends it, what is reported)
BREAKAGES = {
    "way": ("ip route add blackhole 10.0.0.0/11 table 100", "ip route del blackhole 10.0.0.0/11 table 100",
            "rail0: table 100 has a route to 10.0.0.0/11 that is not planned"),
    "forbidden": ("ip rule add from 10.1.0.1 prohibit priority 50", "ip rule del priority 50",
                  "rail1: packets from 10.1.0.1 to 10.0.0.0 have no way"),
    "mainfirst": ("ip route add 10.0.0.0/8 via 10.1.0.0 dev rail1; ip rule add lookup main priority 60",
                  "ip rule del priority 60; ip route del 10.0.0.0/8 dev rail1",
                  "rail0: packets from 10.0.0.1 to 10.1.0.0 take another way"),
    "prefix": ("ip address del 10.0.0.1/31 dev rail0; ip address add 10.0.0.1/24 dev rail0",
               "ip address del 10.0.0.1/24 dev rail0; ip address add 10.0.0.1/31 dev rail0;"
               " ip route add 10.0.0.0/10 via 10.0.0.0 dev rail0 table 100 proto static",
               "rail0: address 10.0.0.1/24 is not planned"),
    "second": ("ip address add 10.0.0.5/31 dev rail0", "ip address del 10.0.0.5/31 dev rail0",
               "rail0: address 10.0.0.5/31 is not planned"),
    "mtu": ("ip link set rail1 mtu 4200", "ip link set rail1 mtu 9000", "rail1: MTU is 4200, planned 9000"),
    "priority": ("ip rule del priority 1000; ip rule add from 10.0.0.1 lookup 100 priority 1002",
                 "ip rule del priority 1002; ip rule add from 10.0.0.1 lookup 100 priority 1000",
                 "rail0: no rule from 10.0.0.1 to table 100"),
    "table": ("ip rule del priority 1000; ip rule add from 10.0.0.1 lookup 1001 priority 1000",
              "ip rule del priority 1000; ip rule add from 10.0.0.1 lookup 100 priority 1000",
              "rail0: no rule from 10.0.0.1 to table 100"),
    "enslaved": ("ip link add br9 type bridge; ip link set rail1 master br9", "ip link del br9; netplan apply; sleep 2",
                 "rail1 is part of br9"),
    "pfc": ("mlnx_qos -i rail0 --pfc=0,0,0,1,1,0,0,0", "mlnx_qos -i rail0 --pfc=0,0,0,1,0,0,0,0",
            "rail0: PFC is 0,0,0,1,1,0,0,0, planned 0,0,0,1,0,0,0,0"),
    "trust": ("mlnx_qos -i rail1 --trust=pcp", "mlnx_qos -i rail1 --trust=dscp", "rail1: trust is pcp, planned dscp"),
    "dscp": ("mlnx_qos -i rail0 --dscp2prio=set,26,0", "mlnx_qos -i rail0 --dscp2prio=set,26,3",
             "rail0: DSCP map is "),
    "cable": ("mlnx_qos -i rail0 --cable_len=300", "mlnx_qos -i rail0 --cable_len=$cable",
              "rail0: cable length is 300"),
    "limit": ("mlnx_qos -i rail0 -r 0,0,0,5,0,0,0,0", "mlnx_qos -i rail0 -r 0,0,0,0,0,0,0,0", "rail0: rate limits is "),
    "ecn": ('echo 0 > "$SYSFS/class/net/rail0/ecn/roce_rp/enable/3"',
            'echo 1 > "$SYSFS/class/net/rail0/ecn/roce_rp/enable/3"', "rail0: roce_rp/enable/3 is 0, planned 1"),
    "tos": ('echo 0 > "$SYSFS/kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_tos"',
            'echo 106 > "$SYSFS/kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_tos"',
            "rail0: traffic class of connections is 0, planned 106"),
    "roce": ('echo "IB/RoCE v1" > "$SYSFS/kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_mode"',
             'echo "RoCE v2" > "$SYSFS/kernel/config/rdma_cm/mlx5_r0/ports/1/default_roce_mode"',
             "rail0: RoCE version is IB/RoCE v1, planned RoCE v2"),
    "access": ("setpci -s 0000:17:00.0 ECAP_ACS+6.w=001d", "setpci -s 0000:17:00.0 ECAP_ACS+6.w=0000",
               "rail0: PCIe access control of 0000:17:00.0 is 001d, planned 0000"),
    "firmware": ("mlxconfig -y -d 0000:18:00.0 set LINK_TYPE_P1=1", "mlxconfig -y -d 0000:18:00.0 set LINK_TYPE_P1=2",
                 "rail0: LINK_TYPE_P1 is 1, planned 2"),
    "rdmaname": ('mv "$SYSFS/class/infiniband/mlx5_r1" "$SYSFS/class/infiniband/mlx5_1"',
                 'mv "$SYSFS/class/infiniband/mlx5_1" "$SYSFS/class/infiniband/mlx5_r1"',
                 "rail1: RDMA device is not set, planned mlx5_r1"),
    "swapped": ("ip link set rail0 down; ip link set rail0 name away; ip link set rail1 down;"
                ' mv "$SYSFS/class/net/rail0/device" "$folder/one";'
                ' mv "$SYSFS/class/net/rail1/device" "$SYSFS/class/net/rail0/device";'
                ' mv "$folder/one" "$SYSFS/class/net/rail1/device"; ip link set away name rail0',
                'mv "$SYSFS/class/net/rail0/device" "$folder/one";'
                ' mv "$SYSFS/class/net/rail1/device" "$SYSFS/class/net/rail0/device";'
                ' mv "$folder/one" "$SYSFS/class/net/rail1/device"; ip link set rail0 up; ip link set rail1 up;'
                " netplan apply; sleep 2",
                "rail0 is the port of card 0000:40:00.0, planned 0000:18:00.0"),
    "link": ("printf '[Match]\\nPath=pci-0000:40:00.0\\n[Link]\\nName=ens9\\n'"
             " > /usr/local/lib/systemd/network/05-x.link", "rm /usr/local/lib/systemd/network/05-x.link",
             "/usr/local/lib/systemd/network/05-x.link names rail1, its MAC address or its card as well"),
    "dropin": ("mkdir -p /etc/systemd/system/fabricc-roce@rail0.service.d;"
               " printf '[Service]\\nExecStart=\\n' > /etc/systemd/system/fabricc-roce@rail0.service.d/x.conf",
               "rm -r /etc/systemd/system/fabricc-roce@rail0.service.d",
               "/etc/systemd/system/fabricc-roce@rail0.service.d/x.conf changes what fabricc-roce@.service does"),
    "memlock": ("printf '* hard memlock 64\\n' > /etc/security/limits.d/95-site.conf",
                "rm /etc/security/limits.d/95-site.conf",
                "/etc/security/limits.d/95-site.conf sets the locked memory of * to 64 after the planned file"),
    "services": ("printf '[Manager]\\nDefaultLimitMEMLOCK=8M\\n' > /etc/systemd/system.conf.d/99-site.conf",
                 "rm /etc/systemd/system.conf.d/99-site.conf",
                 "/etc/systemd/system.conf.d/99-site.conf sets DefaultLimitMEMLOCK to 8M after the planned file"),
    "blocked": ("printf 'blacklist ib-umad\\n' > /etc/modprobe.d/site.conf", "rm /etc/modprobe.d/site.conf",
                "/etc/modprobe.d/site.conf keeps module ib_umad from loading at boot"),
    "refused": ("printf 'install nvidia_peermem /bin/false\\n' > /etc/modprobe.d/site.conf",
                "rm /etc/modprobe.d/site.conf",
                "/etc/modprobe.d/site.conf keeps module nvidia_peermem from loading at boot"),
    "cmdline": ('echo "quiet modprobe.blacklist=floppy,rdma-ucm" > "$folder/line";'
                ' mount --bind "$folder/line" /proc/cmdline', "umount /proc/cmdline",
                "the kernel command line (modprobe.blacklist=floppy,rdma-ucm) keeps module rdma_ucm from loading"),
    "edited": ("sed -i s/CNP_DSCP=48/CNP_DSCP=46/ /usr/local/sbin/fabricc-roce",
               'cp "$folder/tree/usr/local/sbin/fabricc-roce" /usr/local/sbin/', "/usr/local/sbin/fabricc-roce"),
    "masked": ("mv /etc/systemd/system/fabricc-roce@.service /run/kept;"
               " ln -s /dev/null /etc/systemd/system/fabricc-roce@.service",
               "rm /etc/systemd/system/fabricc-roce@.service; mv /run/kept /etc/systemd/system/fabricc-roce@.service",
               "/etc/systemd/system/fabricc-roce@.service"),
    "readable": ("chmod 644 /etc/netplan/60-fabricc.yaml", "chmod 600 /etc/netplan/60-fabricc.yaml",
                 "/etc/netplan/60-fabricc.yaml"),
    "killed": ("mkdir -p /var/lib/fabricc/open; : > /var/lib/fabricc/open/network", "rm /var/lib/fabricc/open/network",
               "an earlier run left a step open: network"),
    "stale": (": > /etc/udev/rules.d/70-fabricc-roce-old.rules", "rm /etc/udev/rules.d/70-fabricc-roce-old.rules",
              "/etc/udev/rules.d/70-fabricc-roce-old.rules, which is not planned"),
    "noarp": ("ip link set rail0 arp off", "ip link set rail0 arp on", "rail0 resolves no addresses (arp off)"),
    "neighbor": ("ip neigh add 10.1.0.0 lladdr 02:00:00:00:00:99 dev rail1 nud permanent",
                 "ip neigh del 10.1.0.0 dev rail1",
                 "rail1: neighbor 10.1.0.0 is a permanent entry, and not resolved; remove it"),
    "named": ("ip rule add oif rail0 prohibit priority 40", "ip rule del priority 40",
              "rail0: RDMA from 10.0.0.1 to 10.0.0.0 takes another way: 10.0.0.0 from 10.0.0.1 dev rail0 "),
    "dispatcher": ("mkdir -p /etc/NetworkManager/dispatcher.d;"
                   "echo ip link set rail0 mtu 1500 > /etc/NetworkManager/dispatcher.d/50-site",
                   "rm /etc/NetworkManager/dispatcher.d/50-site",
                   "/etc/NetworkManager/dispatcher.d/50-site names rail0"),
    "cloud": ("mkdir -p /etc/cloud/cloud.cfg.d;"
              "echo 'network: {ethernets: {rail1: {dhcp4: true}}}' > /etc/cloud/cloud.cfg.d/90-site.cfg",
              "rm /etc/cloud/cloud.cfg.d/90-site.cfg", "/etc/cloud/cloud.cfg.d/90-site.cfg names rail1"),
    "nmstate": ("mkdir -p /etc/nmstate; echo 'interfaces: [{name: rail0}]' > /etc/nmstate/site.yml",
                "rm /etc/nmstate/site.yml", "/etc/nmstate/site.yml names rail0"),
    "tuned": ("mkdir -p /etc/tuned/site;"
              "printf '[net]\\ndevices_udev_regex=INTERFACE=rail1\\n' > /etc/tuned/site/tuned.conf",
              "rm /etc/tuned/site/tuned.conf", "/etc/tuned/site/tuned.conf names rail1"),
    "pattern": ("echo 'network: {version: 2, ethernets: {any: {match: {name: \"rail*\"}, dhcp4: true}}}'"
                " > /etc/netplan/55-site.yaml", "rm /etc/netplan/55-site.yaml",
                "rail0: networkd takes /run/systemd/network/10-netplan-any.network at the next boot"),
    "every": ("printf '[Match]\\nType=ether\\n[Network]\\nDHCP=yes\\n' > /etc/systemd/network/05-site.network",
              "rm /etc/systemd/network/05-site.network",
              "rail1: networkd takes /etc/systemd/network/05-site.network at the next boot"),
    "lifetime": ("ip address change 10.0.0.1/31 dev rail0 valid_lft 600 preferred_lft 300",
                 "ip address change 10.0.0.1/31 dev rail0 valid_lft forever preferred_lft forever",
                 "rail0: address 10.0.0.1/31 ends in "),
    "deaf": ("sysctl -qw net.ipv4.conf.rail0.arp_ignore=8", "sysctl -qw net.ipv4.conf.rail0.arp_ignore=0",
             "rail0 answers no ARP (net.ipv4.conf.rail0.arp_ignore is 8); set it to 0"),
    "deafhost": ("sysctl -qw net.ipv4.conf.all.arp_ignore=8", "sysctl -qw net.ipv4.conf.all.arp_ignore=0",
                 "rail1 answers no ARP (net.ipv4.conf.all.arp_ignore is 8); set it to 0"),
    "instance": ("ln -s /dev/null /etc/systemd/system/fabricc-roce@rail0.service",
                 "rm /etc/systemd/system/fabricc-roce@rail0.service",
                 "/etc/systemd/system/fabricc-roce@rail0.service stands in for fabricc-roce@.service on its port"),
    "daemon": ("ln -s /dev/null /etc/systemd/system/systemd-networkd.service",
               "rm /etc/systemd/system/systemd-networkd.service",
               "/etc/systemd/system/systemd-networkd.service is masked: no port has an address after the next boot"),
    "syntax": ("echo 'network: {version: 2, ethernets: {eno1: {dhcp: 4}}}' > /etc/netplan/90-site.yaml",
               "rm /etc/netplan/90-site.yaml", "rail1: netplan makes no file for it at the next boot; netplan "),
    "later": ("printf '[Match]\\nName=rail*\\n[Network]\\nDHCP=yes\\n' > /etc/systemd/network/05-site.network",
              "rm /etc/systemd/network/05-site.network",
              "rail0: networkd takes /etc/systemd/network/05-site.network at the next boot"),
}  # fmt: skip


@pytest.mark.slow
@needs_networkd
def test_each_breakage_is_a_difference_and_nothing_else_is(tmp_path: Path) -> None:
    script = """
mount -t tmpfs none /usr/local/lib
mkdir -p /usr/local/lib/systemd/network
mkdir -p /etc/modprobe.d /etc/security/limits.d
rm -rf /etc/modprobe.d/* /etc/security/limits.d/* /etc/systemd/system.conf.d/*
printf '100 rail0\\n101 photos\\n' >> /etc/iproute2/rt_tables # no breakage: `ip rule` prints these names
sh "$folder/tree/apply" --firmware > /dev/null 2>&1 || true
cable=$(mlnx_qos -i rail0 | sed -n 's/^Cable len: //p')
set +e
stage clean sh "$folder/tree/apply" --check
"""
    for name, (broken, mended, _) in BREAKAGES.items():
        script += f'{broken}\nstage {name} sh "$folder/tree/apply" --check\n{mended}\n'
    script += 'stage last sh "$folder/tree/apply" --check\n'
    seen = run_stages(RUNNING + script, tmp_path, "connectx-7", UBUNTU)
    for name in ("clean", "last"):
        assert seen[name].endswith("as planned\n"), seen[name]
    silent = [name for name, (_, _, line) in BREAKAGES.items() if f"differs: {line}" not in seen[name]]
    assert silent == [], "\n".join(f"{name}: {seen[name]}" for name in silent)
    assert [name for name in BREAKAGES if not seen[name].endswith("status 1\n")] == []


@pytest.mark.slow
@needs_networkd
def test_apply_reports_what_it_cannot_write_or_read(tmp_path: Path) -> None:
    script = """
sh "$folder/tree/apply" --firmware > /dev/null 2>&1 || true
echo '# other' >> /etc/udev/rules.d/70-fabricc-roce.rules
mount -o remount,bind,ro /etc
stage readonly sh "$folder/tree/apply"
stage looked sh "$folder/tree/apply" --check
mount -o remount,bind,rw /etc
mount -o remount,ro /var/lib
stage nostate sh "$folder/tree/apply"
mount -o remount,rw /var/lib
stage noscratch env TMPDIR=/nowhere sh "$folder/tree/apply" --check
# A label of another place, as SELinux has for a file that was moved there.
tool restorecon << 'RESTORECON'
#!/bin/sh
[ "$1" != -n ] || case $3 in *70-fabricc-roce.rules) echo "Would relabel $3" ;; esac
RESTORECON
stage label sh "$folder/tree/apply" --check
printf '#!/bin/sh\\nexit 0\\n' | tool restorecon
stage relabeled sh "$folder/tree/apply"
rm -r /run/systemd/system
stage nosystemd sh "$folder/tree/apply" --check
"""
    seen = run_stages(RUNNING + script, tmp_path, "ubuntu-24.04", UBUNTU)
    assert seen["readonly"].endswith("apply: a step failed, see above\nstatus 3\n")
    assert "differs: /etc/udev/rules.d/70-fabricc-roce.rules\n" in seen["looked"]
    assert seen["looked"].endswith("status 1\n")
    assert seen["nostate"].endswith("apply: a step failed, see above\nstatus 3\n")
    assert seen["noscratch"].endswith("apply: a step failed, see above\nstatus 3\n")
    line = "differs: /etc/udev/rules.d/70-fabricc-roce.rules, which has the SELinux label of another place\n"
    assert line in seen["label"]
    assert "changed: /etc/udev/rules.d/70-fabricc-roce.rules\n" in seen["relabeled"]
    assert "status" not in seen["relabeled"]
    assert seen["nosystemd"].endswith("as planned\n")


@pytest.mark.slow
@needs_networkd
def test_a_run_that_was_killed_is_finished_and_a_late_port_is_configured(tmp_path: Path) -> None:
    script = """
ip link set rail1 down
ip link set rail1 name later
mv "$folder/bin/netplan" "$folder/bin/real"
printf '#!/bin/sh\\n[ "$1" != apply ] || kill -9 "$PPID"\\nexec "$(dirname "$0")/real" "$@"\\n' | tool netplan
stage killed sh -c 'sh "$0" & wait $!' "$folder/tree/apply"
mv "$folder/bin/real" "$folder/bin/netplan"
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
ip link set later name rail1
ip link set rail1 up
stage late sh "$folder/tree/apply"
stage clean sh "$folder/tree/apply" --check
"""
    seen = run_stages(RUNNING + script, tmp_path, "ubuntu-24.04", UBUNTU)
    assert "status 137" in seen["killed"]
    assert "differs: an earlier run left a step open: network\n" in seen["check"]
    assert seen["check"].endswith("status 1\n")
    assert "changed: network\n" in seen["again"]
    assert "differs: there is no port rail1" in seen["again"]
    assert seen["again"].endswith("status 3\n")
    assert "changed: rail1: configured\n" in seen["late"]
    assert "status" not in seen["late"]
    assert seen["clean"].rstrip().endswith("as planned") or "not looked at" in seen["clean"]


@pytest.mark.slow
@needs_networkd
def test_a_network_that_takes_the_default_route_away_goes_back(tmp_path: Path) -> None:
    script = """
ip link add mgmt type veth peer name pmgmt
ip link set mgmt up
ip link set pmgmt up
ip address add 192.0.2.2/24 dev mgmt
ip route add default via 192.0.2.1 dev mgmt
ip -6 address add 2001:db8::2/64 dev mgmt nodad # this way out stays
ip -6 route add default via 2001:db8::1 dev mgmt
tool netplan << 'NETPLAN'
#!/bin/sh
[ "$1" = apply ] || exec /usr/sbin/netplan "$@"
if [ -e /etc/netplan/60-fabricc.yaml ]; then ip route del default; else ip route add default via 192.0.2.1 dev mgmt; fi
NETPLAN
stage apply sh "$folder/tree/apply"
stage route ip route show default
stage files ls /etc/netplan
stage check sh "$folder/tree/apply" --check
"""
    seen = run_stages(RUNNING + script, tmp_path, "ubuntu-24.04", UBUNTU)
    assert "netplan apply failed, or took the default route away\n" in seen["apply"]
    assert "restored: /etc/netplan/60-fabricc.yaml\n" in seen["apply"]
    assert seen["apply"].endswith("status 3\n")
    assert seen["route"].startswith("default via 192.0.2.1")
    assert "60-fabricc" not in seen["files"]
    assert "differs: /etc/netplan/60-fabricc.yaml\n" in seen["check"]
