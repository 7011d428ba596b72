"""The apply script reports the state that a host has, and a step that fails does not keep a host off its fabric."""

from __future__ import annotations

import re
from shutil import which
from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.test_apply import RHEL, WORLD, needs_networkd, run_stages
from tests.back.hosts.test_peers import can_isolate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

UBUNTU = 'ID=ubuntu\nVERSION_ID="24.04"'
TOOL = """
tool() {
    cat > "$folder/bin/$1"
    chmod 755 "$folder/bin/$1"
}
for name in systemctl udevadm update-initramfs dracut; do
    printf '#!/bin/sh\\nexit 0\\n' | tool "$name"
done
mac=$(cat /sys/class/net/rail1/address)
"""
RUNNING = (
    WORLD
    + TOOL
    + """
mkdir -p /run/systemd/system
# netplan writes the files; networkd, which it reloads through systemd, is started here with them.
tool netplan << 'NETPLAN'
#!/bin/sh
[ "$1" = apply ] || exec /usr/sbin/netplan "$@"
/usr/sbin/netplan generate
sed -i s/^PermanentMACAddress/MACAddress/ /run/systemd/network/*.network # a veth has no permanent address
[ ! -e /run/networkd.pid ] || kill "$(cat /run/networkd.pid)"
timeout -k 1 120 /lib/systemd/systemd-networkd > /run/log 2>&1 < /dev/null &
echo $! > /run/networkd.pid
NETPLAN
trap '[ ! -e /run/networkd.pid ] || kill "$(cat /run/networkd.pid)"' EXIT
"""
)


def run(script: str, root: Path, variant: str = "ubuntu-24.04", release: str = UBUNTU) -> dict[str, str]:
    return run_stages(script, root, variant, release)


@pytest.mark.slow
@needs_networkd
def test_a_module_that_does_not_load_keeps_no_host_off_its_fabric(tmp_path: Path) -> None:
    script = """
printf '#!/bin/sh\\necho "modprobe: Invalid argument" >&2\\nexit 1\\n' | tool modprobe
printf '#!/bin/sh\\nexit 0\\n' | tool modinfo
stage apply sh "$folder/tree/apply"
stage again sh "$folder/tree/apply"
mkdir -p /etc/fabricc
printf 'nvidia_peermem\nib_umad\nrdma_cm\nrdma_ucm\n' > /etc/fabricc/leave-out
sh "$folder/tree/apply" --firmware >/dev/null || true
stage without sh "$folder/tree/apply"
"""
    seen = run(RUNNING + script, tmp_path)
    assert "nothing to change\n" in seen["without"]
    assert "status" not in seen["without"]
    assert "failed: module nvidia_peermem (status 1)\n" in seen["apply"]
    assert "changed: rail0: configured\n" in seen["apply"]
    assert "changed: network\n" in seen["apply"]
    assert "no address" not in seen["again"]
    assert "differs: module nvidia_peermem is not loaded\n" in seen["again"]
    assert seen["again"].endswith("status 3\n")


@needs_networkd
@pytest.mark.slow
def test_a_missing_port_is_a_difference_once_its_name_was_installed(tmp_path: Path) -> None:
    script = """
ip link del rail1
stage apply sh "$folder/tree/apply"
stage again sh "$folder/tree/apply"
stage check sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + script, tmp_path)
    assert "note: there is no port rail1 until the next boot, which names it\n" in seen["apply"]
    assert "status" not in seen["apply"]
    assert "differs: there is no port rail1 (a new name takes a reboot)" in seen["again"]
    assert "nothing to change" not in seen["again"]
    assert seen["again"].endswith("status 3\n")
    assert seen["check"].endswith("status 1\n")


@needs_networkd
@pytest.mark.slow
def test_check_reports_settings_that_another_tool_added(tmp_path: Path) -> None:
    script = """
sh "$folder/tree/apply" > /dev/null 2>&1 || true
ip address add 192.0.2.7/24 dev rail0
ip route add default via 10.1.0.0 dev rail1 metric 500
ip rule add from 10.0.0.1 lookup 101 priority 90
ip link add link rail1 name above type macvlan mode bridge
ip address add 10.1.9.1/16 dev above
ip address add 198.51.100.1/24 dev above
mkdir -p /etc/fabricc
printf 'access-control  # guests use the cards\\r\\nacs\\n' > /etc/fabricc/leave-out
stage check sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply"
"""
    seen = run(RUNNING + script, tmp_path)
    lines = (
        "rail0: address 192.0.2.7/24 is not planned",
        "rail1: above above it has 10.1.9.1/16 of the fabric, whose GID RDMA may use; remove it",
        "rail1: a default route leaves by it",
        "rail0: packets from 10.0.0.1 to 10.0.0.0 take another way: ",
        "/etc/fabricc/leave-out: nothing is called acs",
    )
    for stage, status in (("check", "status 1\n"), ("apply", "status 3\n")):
        assert [line for line in lines if f"differs: {line}" not in seen[stage]] == []
        assert seen[stage].endswith(status)
    assert "PCIe access control" not in seen["check"]
    assert "changed: network" not in seen["apply"]


@pytest.mark.slow
@needs_networkd
def test_a_rule_of_another_tool_is_seen_for_both_families(tmp_path: Path) -> None:
    script = """
printf '100 rail0\\n101 photos\\n' >> /etc/iproute2/rt_tables # names that `ip rule` prints
sh "$folder/tree/apply" > /dev/null 2>&1 || true
stage clean sh "$folder/tree/apply" --check
ip rule add from all lookup 101 priority 90
ip -6 rule add from all lookup 101 priority 90
ip -6 address add fd00::1/127 dev prail0 nodad
ip -6 address del fd00::1/127 dev rail0
ip -6 address add fd00::1/127 dev rail0
sleep 2
stage check sh "$folder/tree/apply" --check
"""
    seen = run(RUNNING + script, tmp_path, "dual-stack")
    assert seen["clean"].rstrip().endswith("as planned"), seen["clean"]
    assert "differs: rail0: another device of the link has fd00::1/127, and the kernel " in seen["check"]
    for source in ("10.0.0.1", "fd00::1"):
        assert f"differs: rail0: packets from {source} to " in seen["check"]


@needs_networkd
@pytest.mark.slow
def test_a_name_that_another_link_file_gives_is_reported_with_the_file(tmp_path: Path) -> None:
    script = """
sed -i 's/^Path=.*/Path=pci-0000:18:00.0/' "$folder/tree/etc/systemd/network/10-fabricc-rail1.link"
sh "$folder/tree/apply" > /dev/null 2>&1 || true
ip link set rail1 down
ip link set rail1 name ens5
printf '#!/bin/sh\\necho ID_NET_LINK_FILE=/etc/systemd/network/05-names.link\\n' | tool udevadm
mkdir -p /run/pci/0000:18:00.0/net/ens5
sed -i "s,/sys/bus/pci/devices,/run/pci," "$folder/tree/apply"
stage check sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path)
    expected = (
        "card 0000:18:00.0 is ens5 by /etc/systemd/network/05-names.link, which comes before the planned file"
    )
    assert f"differs: there is no port rail1 ({expected}; remove it)" in seen["check"]


@needs_networkd
def test_a_card_with_one_port_of_two_planned_is_named(tmp_path: Path) -> None:
    script = """
sed -i 's/^Path=.*/Path=pci-0000:18:00.1/' "$folder/tree/etc/systemd/network/10-fabricc-rail1.link"
ip link del rail1
mkdir -p /run/pci/0000:18:00.0
sed -i "s,/sys/bus/pci/devices,/run/pci," "$folder/tree/apply"
stage check sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path)
    assert "no port rail1 (card 0000:18:00 has fewer ports, and none at 0000:18:00.1; split" in seen["check"]


@needs_networkd
@pytest.mark.slow
def test_a_tool_that_fails_is_no_state_as_planned(tmp_path: Path) -> None:
    script = """
sh "$folder/tree/apply" --firmware > /dev/null 2>&1 || true
stage clean sh "$folder/tree/apply" --check
printf '#!/bin/sh\\nexit 1\\n' | tool mlnx_qos
stage check sh "$folder/tree/apply" --check
"""
    seen = run(RUNNING + script, tmp_path)
    assert seen["clean"].endswith("as planned\n")
    assert "differs: rail0: its NIC cannot be read (fabricc-roce --check fails)" in seen["check"]
    assert seen["check"].endswith("status 1\n")


@needs_networkd
@pytest.mark.slow
def test_a_second_run_leaves_the_network_alone_where_rings_wait_for_a_boot(tmp_path: Path) -> None:
    seen = run(
        RUNNING + 'stage apply sh "$folder/tree/apply"\nstage again sh "$folder/tree/apply"\n',
        tmp_path,
        "thor2",
    )
    assert "changed: network\n" in seen["apply"]
    assert "differs: rail0: RX ring is 8192, planned 2047 (a reboot sets it)" in seen["again"]
    assert "changed" not in seen["again"]


@needs_networkd
@pytest.mark.slow
def test_a_host_whose_cards_the_catalog_does_not_place_is_looked_at(tmp_path: Path) -> None:
    script = """
rm "$folder"/tree/etc/systemd/network/*.link
stage before sh "$folder/tree/apply" --check
stage apply sh "$folder/tree/apply"
ip link del rail1
stage check sh "$folder/tree/apply" --check
"""
    seen = run(RUNNING + script, tmp_path)
    assert "differs: rail0: no address 10.0.0.1/31\n" in seen["before"]
    assert "a step failed" not in seen["before"]
    assert "changed: network\n" in seen["apply"]
    assert "there is no port rail1 (the plan has no PCI address for it)" in seen["check"]


@pytest.mark.slow
@needs_networkd
def test_a_port_that_another_netplan_file_has_is_reported(tmp_path: Path) -> None:
    script = """
printf 'network:\\n  version: 2\\n  ethernets:\\n    enp64s0np0:\\n      match: {macaddress: "%s"}\\n' "$mac" \\
    > /etc/netplan/50-cloud-init.yaml
printf '      dhcp4: true\\n' >> /etc/netplan/50-cloud-init.yaml
chmod 600 /etc/netplan/*
stage apply sh "$folder/tree/apply"
stage check sh "$folder/tree/apply" --check
"""
    seen = run(RUNNING + script, tmp_path)
    for stage in ("apply", "check"):
        assert (
            "differs: /etc/netplan/50-cloud-init.yaml names rail1, its MAC address or its card" in seen[stage]
        )
        assert (
            "differs: rail1: networkd uses /run/systemd/network/10-netplan-enp64s0np0.network" in seen[stage]
        )
        assert "names rail0" not in seen[stage]
    assert seen["apply"].endswith("status 3\n")
    assert seen["check"].endswith("status 1\n")


OTHERS = {
    "/etc/NetworkManager/system-connections/wired.nmconnection": "[connection]\\ninterface-name=rail1\\n",
    "/etc/sysconfig/network-scripts/ifcfg-ens1": "HWADDR=$mac\\n",
    "/etc/systemd/network/05-mine.link": "[Match]\\nPath=pci-0000:40:00.0\\n[Link]\\nName=mine\\n",
    "/run/udev/rules.d/70-persistent-net.rules": 'ATTR{address}=="$mac", NAME="eth5"\\n',
    "/etc/network/interfaces": "iface rail1 inet dhcp\\n",
}


@pytest.mark.spread
@pytest.mark.parametrize("file", OTHERS)
def test_other_files_that_name_a_port_are_reported(tmp_path: Path, file: str) -> None:
    text = OTHERS[file].replace('"', '\\"')
    script = f"""
card=$(sed -n 's/^Path=pci-//p' "$folder/tree/etc/systemd/network/10-fabricc-rail1.link")
mkdir -p "$(dirname {file})" /run/etc/network/interfaces.d
printf "# rail0\\n{text}" | sed "s/0000:40:00.0/$card/" > {file}
stage check sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path, "rhel-9", RHEL)
    assert f"differs: {file} names rail1, its MAC address or its card as well" in seen["check"]
    assert f"{file} names rail0" not in seen["check"]


@pytest.mark.slow
def test_rules_of_the_sriov_operator_are_no_files_for_a_port(tmp_path: Path) -> None:
    """They keep NetworkManager off virtual functions and the planned name on the port (sriov-network-operator)."""
    script = """
card=$(sed -n 's/^Path=pci-//p' "$folder/tree/etc/systemd/network/10-fabricc-rail1.link")
cd /etc/udev/rules.d
printf 'SUBSYSTEM=="net", ATTRS{device}=="0x101e", IMPORT{program}="/etc/udev/disable-nm-sriov.sh $env{INTERFACE} %s"' \
    "$card" > "10-nm-disable-$card.rules"
printf 'SUBSYSTEM=="net", ACTION=="add", DRIVERS=="?*", KERNELS=="%s", NAME="rail1"' "$card" > "10-pf-name-$card.rules"
echo 4 > "$folder/sys/class/net/rail1/device/sriov_numvfs"
stage check sh "$folder/tree/apply" --check
sed -i s/rail1/ens1/ "10-pf-name-$card.rules"
stage renamed sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path, "rhel-9", RHEL)
    assert "names rail1" not in seen["check"]
    assert "note: rail1 has 4 virtual functions: pods of sriov.yaml get its address" in seen["check"]
    assert re.search(r"differs: /etc/udev/rules.d/10-pf-name-\S+ names rail1", seen["renamed"])
    assert "10-nm-disable" not in seen["renamed"]


@pytest.mark.slow
def test_a_missing_interface_for_sockets_is_a_note(tmp_path: Path) -> None:
    """NCCL finds no interface then, and ends; AMD's library reads rccl.conf."""
    script = """
mv "$folder/tree/etc/nccl.conf" "$folder/tree/etc/rccl.conf"
stage absent sh "$folder/tree/apply" --check
ip link add eno1 type veth peer name peno1
stage bare sh "$folder/tree/apply" --check
ip address add 192.0.2.5/24 dev eno1
stage present sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path, "rhel-9", RHEL)
    assert (
        "note: this host has no eno1, on which jobs open their sockets: write socket_interface"
        in seen["absent"]
    )
    assert "note: eno1 has no address, and jobs open their sockets there" in seen["bare"]
    assert "jobs open their sockets" not in seen["present"]


@pytest.mark.slow
def test_translated_addresses_and_devices_without_a_library_are_notes(tmp_path: Path) -> None:
    """NVIDIA's page of GPUDirect RDMA, section IOMMUs: they must be off or pass addresses through."""
    script = """
printf '#!/bin/sh\n[ $1 = -m ] && echo x86_64 || echo su001-host01\n' | tool uname
for port in rail0 rail1; do
    mkdir -p "$folder/sys/class/net/$port/device/iommu_group"
    echo DMA-FQ > "$folder/sys/class/net/$port/device/iommu_group/type"
done
stage none sh "$folder/tree/apply" --check
mkdir -p "$folder/sys/bus/pci/devices/0000:1b:00.0"
cd "$folder/sys/bus/pci/devices/0000:1b:00.0" && echo 0x10de > vendor && echo 0x030200 > class
stage both sh "$folder/tree/apply" --check
echo identity > "$folder/sys/class/net/rail0/device/iommu_group/type"
mkdir -p "$folder/sys/class/net/rail0/device/infiniband/mlx5_r0" "$folder/sys/class/net/rail1/device/infiniband/mlx5_r1"
printf '#!/bin/sh\n[ "$2" = mlx5_r0 ]\n' | tool ibv_devinfo
stage one sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path, "rhel-9", RHEL)
    assert "IOMMU" not in seen["none"]
    assert (
        "note: the IOMMU translates addresses of rail0 rail1: for GPUDirect RDMA boot with iommu=pt"
        in seen["both"]
    )
    assert "the IOMMU translates addresses of rail1:" in seen["one"]
    assert "note: libibverbs opens no mlx5_r1 of rail1, so jobs find no RDMA" in seen["one"]
    assert "opens no mlx5_r0" not in seen["one"]


@pytest.mark.slow
@needs_networkd
def test_firmware_settings_come_before_those_that_need_them(tmp_path: Path) -> None:
    """A card in DPU mode refuses the others, and one run must be enough to write the mode."""
    script = """
mlxconfig -y -d x set INTERNAL_CPU_OFFLOAD_ENGINE=0
: > "$RECORD"
stage apply sh "$folder/tree/apply" --firmware
stage record cat "$RECORD"
"""
    seen = run(WORLD + TOOL + script, tmp_path, "bluefield-3")
    assert "mlxconfig -y -d 0000:18:00.0 set" in seen["record"]
    assert "INTERNAL_CPU_OFFLOAD_ENGINE=1" in seen["record"]


@pytest.mark.slow
@needs_networkd
def test_a_card_that_keeps_no_settings_gets_the_others(tmp_path: Path) -> None:
    """As with Secure Boot, which locks the kernel: mlxconfig cannot open the card."""
    script = """
mkdir -p "$folder/sys/kernel/security"
echo 'none [integrity] confidentiality' > "$folder/sys/kernel/security/lockdown"
export LACKS=ALL
stage apply sh "$folder/tree/apply" --firmware
"""
    seen = run(WORLD + TOOL + script, tmp_path, "connectx-7")
    assert "failed: NIC settings of rail0 (status 1)" in seen["apply"]
    assert "rail0: Secure Boot locks the kernel, which may keep mlxconfig from the card" in seen["apply"]
    assert "changed: rail0: configured" in seen["apply"]
    assert seen["apply"].endswith("status 3\n")


@needs_networkd
@pytest.mark.slow
def test_a_port_of_another_link_type_is_reported(tmp_path: Path) -> None:
    script = """
ip link del rail1
ip tuntap add dev rail1 mode tun
stage check sh "$folder/tree/apply" --check
"""
    seen = run(WORLD + TOOL + script, tmp_path)
    assert "differs: rail1 is a port of another link type; see LINK_TYPE of its NIC" in seen["check"]
    assert "rail0 is a port" not in seen["check"]


@pytest.mark.slow
@needs_networkd
def test_a_step_that_failed_stays_open(tmp_path: Path) -> None:
    script = """
printf '#!/bin/sh\\nexit 7\\n' | tool update-initramfs
stage apply sh "$folder/tree/apply" --firmware
stage check sh "$folder/tree/apply" --check
stage again sh "$folder/tree/apply"
printf '#!/bin/sh\\necho rebuilt\\n' | tool update-initramfs
stage repaired sh "$folder/tree/apply"
stage clean sh "$folder/tree/apply" --check
"""
    seen = run(RUNNING + script, tmp_path)
    assert "changed: network\n" in seen["apply"]
    assert "failed: rebuild of the initramfs (status 7)\n" in seen["apply"]
    assert "differs: an earlier run left a step open: initramfs\n" in seen["check"]
    assert "failed: rebuild of the initramfs (status 7)\n" in seen["again"]
    assert seen["again"].endswith("status 3\n")
    assert "rebuilt\n" in seen["repaired"]
    assert "changed: rebuild of the initramfs\n" in seen["repaired"]
    assert "nothing to change" not in seen["repaired"]
    assert "status" not in seen["repaired"]
    assert seen["clean"].endswith("as planned\n")


@pytest.mark.slow
@needs_networkd
def test_a_file_that_netplan_refuses_is_not_installed(tmp_path: Path) -> None:
    script = """
printf 'network:\\n  version: 2\\n  ethernets:\\n    eno1: {addresses: [10.9.9.9/99]}\\n' > /etc/netplan/90-mine.yaml
stage apply sh "$folder/tree/apply"
stage files ls /etc/netplan
"""
    seen = run(WORLD + script, tmp_path)
    assert "failed: installation of the network files" in seen["apply"]
    assert "changed: rail0: configured\n" in seen["apply"]  # the NICs do not wait for it
    assert seen["apply"].endswith("status 3\n")
    assert "60-fabricc.yaml" not in seen["files"]


@pytest.mark.slow
@needs_networkd
def test_the_previous_network_file_comes_back_when_netplan_fails(tmp_path: Path) -> None:
    script = """
printf '# earlier\\nnetwork:\\n  version: 2\\n' > /etc/netplan/60-fabricc.yaml
printf '#!/bin/sh\\n[ "$1" != apply ] || { echo "Error" >&2; exit 78; }\\nexit 0\\n' | tool netplan
stage apply sh "$folder/tree/apply"
stage file cat /etc/netplan/60-fabricc.yaml
"""
    seen = run(RUNNING + script, tmp_path)
    assert "failed: activation of the network" in seen["apply"]
    assert "restored: /etc/netplan/60-fabricc.yaml\n" in seen["apply"]
    assert seen["file"].startswith("# earlier\n")
    assert seen["apply"].endswith("status 3\n")


@pytest.mark.slow
@pytest.mark.skipif(which("nft") is None, reason="nft is not installed")
def test_a_firewall_that_jobs_cannot_pass_is_a_note(tmp_path: Path) -> None:
    check = 'sh -c "sh \\"$folder/tree/apply\\" --check 2>&1 >/dev/null"'
    script = f"""
set +e
stage open {check}
nft add table inet filter
nft add chain inet filter input '{{ type filter hook input priority 0; policy drop; }}'
stage closed {check}
nft add rule inet filter input iifname '"rail*"' accept
stage rails {check}
printf '#!/bin/sh\\ncase $1 in --get-zone*) echo trusted ;; --get-default*) echo public ;; esac\\n' | tool firewall-cmd
stage trusted {check}
"""
    seen = run_stages(WORLD + TOOL + script, tmp_path, "connectx-7", UBUNTU)
    reported = {name: re.findall(r"note: (\S+) .* guards (\w+):", text) for name, text in seen.items()}
    assert reported["open"] == reported["trusted"] == []
    assert reported["closed"] == [("nftables", name) for name in ("rail0", "rail1", "eno1")]
    assert reported["rails"] == [("nftables", "eno1")]
