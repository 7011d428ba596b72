"""Other files that want a rail: the planned one wins, or `apply` names the other, before and after the next boot."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.back.hosts.test_apply import RHEL, WORLD, needs_networkd, needs_networkmanager, run_stages
from tests.back.hosts.test_apply_faults import TOOL, UBUNTU
from tests.back.hosts.test_boots import BOOT, find_differences
from tests.back.hosts.test_peers import can_isolate

pytestmark = [
    pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here"),
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


def run_networkmanager(root: Path, path: str, text: str) -> dict[str, str]:
    """Return what the stages print where a file of another tool is there from the beginning."""
    return run_stages(
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
    seen = run_networkmanager(tmp_path, path, text)
    assert seen["booted"].endswith("as planned\n"), seen["booted"]
    assert find_differences(seen["apply"]) == []
    assert "nothing to change" in seen["again"]


@needs_networkmanager
def test_a_temporary_change_of_a_planned_connection_ends_with_the_next_run(tmp_path: Path) -> None:
    """It is in a file below /run, which hides the planned one."""
    script = """
start
sh "$folder/tree/apply" > /dev/null 2>&1 || true
nmcli connection modify --temporary fabricc-rail0 ipv4.routes ''
nmcli -w 20 device reapply rail0 > /dev/null
stage check sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply"
sleep 1
stage after sh "$folder/tree/apply" --check
"""
    seen = run_stages(NETWORKMANAGER + script, tmp_path, "rhel-10", RHEL.replace("9", "10"))
    assert "fabricc-rail0.nmconnection names rail0" in seen["check"]
    assert "fabricc-rail0.nmconnection is removed, which hid the planned one" in seen["apply"]
    assert find_differences(seen["after"]) == []


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
        ("/etc/NetworkManager/conf.d/20-x.conf", "[keyfile]\npath=/etc/other",
         "NetworkManager reads connections in /etc/other at its next start, not in /etc/NetworkManager/"),
    ],
    ids=["equal-profile", "named-profile", "unmanaged", "carrier", "folder"],
)  # fmt: skip
def test_another_file_is_named_in_every_run(tmp_path: Path, path: str, text: str, reported: str) -> None:
    seen = run_networkmanager(tmp_path, path, text)
    for stage in ("apply", "again", "booted"):
        assert [line for line in find_differences(seen[stage]) if line.startswith(reported)], seen[stage]


def can_make(kind: str) -> bool:
    """Return whether this kernel makes links of a kind."""
    return not subprocess.run(
        ["unshare", "-n", "ip", "link", "add", "one", "type", kind], capture_output=True, check=False
    ).returncode


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
        pytest.param(
            "/etc/netplan/70-bond.yaml",
            "network: {version: 2, ethernets: {rail0: {}}, bonds: {bond0: {interfaces: [rail0]}}}",
            "rail0 is part of bond0, which takes its addresses",
            marks=pytest.mark.skipif(
                not can_make("bond"), reason="this kernel makes no bonds; a bridge takes the same decision"
            ),
        ),
    ],
    ids=["unmanaged", "earlier", "addition", "bridge", "bond"],
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
    seen = run_stages(BOOT + write + runs, tmp_path, "dual-stack", UBUNTU)
    for stage in ("apply", "again", "booted"):
        assert [line for line in find_differences(seen[stage]) if line.startswith(reported)], seen[stage]


# networkd and NetworkManager beside each other, with the udev, D-Bus and netplan of a host. `systemctl` starts and
# stops them as systemd would.
BOTH = (
    WORLD
    + TOOL
    + """
rm "$folder/bin/udevadm"
mount -o remount,rw /sys
mkdir -p /var/lib/NetworkManager /run/systemd/system
rm -f /etc/NetworkManager/conf.d/* /etc/udev/rules.d/* /etc/systemd/network/*
: > /etc/udev/rules.d/85-nm-unmanaged.rules # which leaves every veth alone
printf '[main]\\nplugins=keyfile\\nno-auto-default=interface-name:p*\\n' > /etc/NetworkManager/NetworkManager.conf
printf '[device]\\nmatch-device=interface-name:p*\\nmanaged=0\\n' > /etc/NetworkManager/conf.d/10-peers.conf
tool systemctl << 'SYSTEMCTL'
#!/bin/sh
leave() {
    [ -e "/run/$1.pid" ] || return 0
    kill "$(cat "/run/$1.pid")" 2>/dev/null
    tries=0
    while kill -0 "$(cat "/run/$1.pid")" 2>/dev/null && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
    rm -f "/run/$1.pid"
}
begin() {
    ! kill -0 "$(cat "/run/$1.pid" 2>/dev/null)" 2>/dev/null || return 0
    daemon=/lib/systemd/systemd-networkd
    [ "$1" = systemd-networkd ] || daemon="NetworkManager --no-daemon --log-level=WARN"
    timeout -k 1 200 $daemon >> "/run/$1.log" 2>&1 < /dev/null &
    echo $! > "/run/$1.pid"
    sleep 1
}
for name in systemd-networkd NetworkManager; do
    case "$*" in
    *is-active*$name*) kill -0 "$(cat "/run/$name.pid" 2>/dev/null)" 2>/dev/null; exit $? ;;
    *restart*$name*) leave $name; begin $name ;;
    *stop*$name*) leave $name ;;
    *start*$name*) begin $name ;;
    esac
done
case "$*" in *is-active*) exit 3 ;; esac
SYSTEMCTL
dbus-daemon --system --nofork --nopidfile > /run/bus.log 2>&1 & bus=$!
tries=0
until [ -S /run/dbus/system_bus_socket ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
/lib/systemd/systemd-udevd > /run/udev.log 2>&1 & udev=$!
trap 'systemctl stop NetworkManager; systemctl stop systemd-networkd; kill "$bus" "$udev"' EXIT
sleep 0.5
begin() {
    udevadm control --reload
    udevadm trigger --action=add --attr-match=subsystem=net
    udevadm settle
    systemctl start systemd-networkd
    systemctl start NetworkManager
    sleep 3
}
flap() {
    ip link set prail0 down
    sleep 7 # NetworkManager waits for six seconds
    ip link set prail0 up
    sleep 3
}
boot() {
    systemctl stop NetworkManager
    systemctl stop systemd-networkd
    for port in rail0 rail1; do
        ip link del "$port"
        ip link add "$port" type veth peer name "p$port"
        ip link set "p$port" up
    done
    for priority in 1000 1001; do ip rule del priority $priority; done
    for priority in 1000 1001 1 1 2 2 3; do ip -6 rule del priority $priority 2>/dev/null || :; done
    ip -6 rule show | grep -q '^0:' || ip -6 rule add priority 0 lookup local protocol kernel
    rm -rf /run/systemd/network /run/systemd/netif /run/NetworkManager
    mkdir -p /run/NetworkManager /run/systemd/network
    mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
    chown -R systemd-network:systemd-network /run/systemd/netif
    /usr/sbin/netplan generate
    begin
    for port in rail0 rail1; do sh /usr/local/sbin/fabricc-roce "$port" > /dev/null; done
}
"""
)
BOTH_RUNS = """
netplan generate
begin
stage apply sh "$folder/tree/apply"
flap
stage flapped sh "$folder/tree/apply" --check
boot
stage booted sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
flap
stage last sh "$folder/tree/apply" --check
"""
needs_both = pytest.mark.skipif(
    not Path("/lib/systemd/systemd-udevd").exists(), reason="systemd-udevd is not installed"
)


def with_both(root: Path, variant: str, release: str, path: str, text: str) -> dict[str, str]:
    """Return what the stages print on a host on which both daemons run and a file of another tool is there."""
    script = f"{BOTH}\nmkdir -p {Path(path).parent}\ncat > {path} << 'TEXT'\n{text}\nTEXT\nchmod 600 {path}\n"
    if path.endswith(".network"):
        script += f"chmod 644 {path}\n"
    return run_stages(script + BOTH_RUNS, root, variant, release)


@needs_both
@needs_networkd
@needs_networkmanager
def test_networkmanager_leaves_the_rails_to_networkd_from_the_first_run(tmp_path: Path) -> None:
    everything = "network: {version: 2, renderer: NetworkManager}"
    seen = with_both(tmp_path, "dual-stack", UBUNTU, "/etc/netplan/01-network-manager-all.yaml", everything)
    assert find_differences(seen["apply"]) == []
    assert "nothing to change" in seen["again"]
    for stage in ("flapped", "booted", "last"):
        assert seen[stage].endswith("as planned\n"), seen[stage]


@needs_both
@needs_networkd
@needs_networkmanager
@pytest.mark.parametrize(
    ("variant", "release", "path", "text", "reported", "stages_of_it"),
    [
        ("dual-stack", UBUNTU, "/etc/NetworkManager/conf.d/99-x.conf",
         "[device-x]\nmatch-device=interface-name:rail*\nmanaged=1",
         "rail0: /etc/NetworkManager/conf.d/99-x.conf sets managed=1 for it", "apply flapped booted again last"),
        ("dual-stack", UBUNTU, "/etc/netplan/90-nm.yaml",
         'network: {version: 2, ethernets: {all: {match: {name: "r*"}, renderer: NetworkManager, dhcp4: true}}}',
         "rail0: netplan or a rule of udev gives it to NetworkManager", "booted again last"),
        ("rhel-9-dual-stack", RHEL, "/etc/systemd/network/20-all.network",
         "[Match]\nName=r*\n[Network]\nDHCP=yes",
         "rail0: systemd-networkd configures it as well, by /etc/systemd/network/20-all.network",
         "apply flapped booted again last"),
    ],
    ids=["managed", "netplan", "networkd"],
)  # fmt: skip
def test_the_other_daemon_is_named_and_the_rails_survive(
    tmp_path: Path, variant: str, release: str, path: str, text: str, reported: str, stages_of_it: str
) -> None:
    seen = with_both(tmp_path, variant, release, path, text)
    for stage in stages_of_it.split():
        assert [line for line in find_differences(seen[stage]) if line.startswith(reported)], seen[stage]
    for stage in ("flapped", "booted", "last"):
        assert "no address" not in seen[stage], seen[stage]
        assert "no route" not in seen[stage], seen[stage]
        assert "no rule" not in seen[stage], seen[stage]
