"""Settings of a host that work against RDMA or each other are found at their lines; those of a build are not."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.back import hosts as host_files
from fabricc.compiler.compiled import compile_spec
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, Kind, Place, Statement, Tier, read_statement
from fabricc.rules.host_settings import SETTING
from fabricc.rules.registry import run_host_rules
from tests import segmented
from tests.audit.faults.fabric import SYSTEMS, hosts_of, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NETPLAN, NCCL, SCRIPT = "etc/netplan/60-fabricc.yaml", "etc/nccl.conf", "usr/local/sbin/fabricc-roce"
LIMITS, UDEV, UNIT = (
    "etc/security/limits.d/90-rdma.conf", "etc/udev/rules.d/70-fabricc-roce.rules",
    "etc/systemd/system/fabricc-roce@.service",
)  # fmt: skip
NAMES, LINK, MODULES, SERVICES = (
    "etc/udev/rules.d/60-rdma-persistent-naming.rules", "etc/systemd/network/10-fabricc-rail0.link",
    "etc/modules-load.d/fabricc.conf", "etc/systemd/system.conf.d/90-fabricc.conf",
)  # fmt: skip
HOST = "gpu001-01"
FAULTS = [
    (NETPLAN, r"mtu: 9000", "mtu: 1500"),
    (NETPLAN, r"mtu: 9000", "mtuu: 9000"),
    (NCCL, r"NCCL_IB_HCA", "NCCL_IB_HAC"),
    (UNIT, r"BindsTo", "BindTo"),
    (LIMITS, r"memlock", "memlok"),
    (NETPLAN, r"dhcp4: false", "dhcp4: true"),
    (NETPLAN, r"accept-ra: false", "accept-ra: true"),
    (NETPLAN, r'- to: "10.0.0.0/10"', '- to: "10.0.0.0/27"'),
    (NETPLAN, r'- from: "10\.0\.0\.', '- from: "10.0.7.'),
    (SCRIPT, r"^TRUST=dscp", "TRUST=pcp"),
    (SCRIPT, r"\b48,6\b", "48,3"),
    (SCRIPT, r"^ECN_PRIORITIES='3'", "ECN_PRIORITIES=''"),
    (SCRIPT, r"^CNP_DSCP=48(?=\nCNP)", "CNP_DSCP=46"),
    (SCRIPT, r"^CNP_DSCP=48(?=\nLINK)", "CNP_DSCP=46"),
    (SCRIPT, r"^CNP_PRIORITY=6", "CNP_PRIORITY=0"),
    (SCRIPT, r"^CNP_802P_PRIO=6", "CNP_802P_PRIO=0"),
    (SCRIPT, r"^PRIORITY_TO_TC=0,1,2,3", "PRIORITY_TO_TC=0,1,2,0"),
    (SCRIPT, r"^TC_WEIGHT=10,0,0,90", "TC_WEIGHT=90,0,0,10"),
    (SCRIPT, r"^READ_REQUEST_BYTES=4096", "READ_REQUEST_BYTES=128"),
    (SCRIPT, r"^LINK_TYPE=2", "LINK_TYPE=1"),
    (SCRIPT, r"^STRICT_RATE_LIMIT=0", "STRICT_RATE_LIMIT=1"),
    (SCRIPT, r"^TRANSPORT=rocev2", "TRANSPORT=rocev1"),
    (SCRIPT, r"^PFC=.*", "PFC=0,0,0,1,1,0,0,0"),
    (SCRIPT, r" 26,3\b", ""),
    (SCRIPT, r"^PRIORITY_TO_TC=.*", "PRIORITY_TO_TC=0,1,2,3,4,5,6"),
    (SCRIPT, r"^TC_WEIGHT=.*", "TC_WEIGHT=10,0,0,50,0,0,0,0"),
    (SCRIPT, r"^TC_SCHEDULER=.*", "TC_SCHEDULER=ets,ets,ets,ets,ets,ets,ets,ets"),
    (SCRIPT, r"^READ_REQUEST_BYTES=4096", "READ_REQUEST_BYTES=4000"),
    (SCRIPT, r"rpg_gd=11", "rpg_gd=99"),
    (SCRIPT, r"rpg_gd=", "rp_ggd="),
    (SCRIPT, r"rpg_min_dec_fac=50", "rpg_min_dec_fac=100"),
    (SCRIPT, r"(mlx5_r0 )cable_m=[0-9]+", r"\1cable_m=0"),
    (UNIT, r"Type=oneshot", "Type=simple"),
    (UDEV, r"fabricc-roce@%k", "other@%k"),
    (NETPLAN, r"priority: 1000", "priority: 40000"),
    (NETPLAN, r'- "10.0.0.1/31"', '- "10.0.0.129/31"'),
    (NETPLAN, r'- to: "10.0.0.0/10"\n( +via: .*\n) +table: 100', r'- to: "0.0.0.0/0"\n\1'),
    (SERVICES, r"infinity", "64M"),
    (NCCL, r"CROSS_NIC=\d", "CROSS_NIC=3"),
    (NCCL, r"PER_CONNECTION=\d+", "PER_CONNECTION=500"),
    (NCCL, r"SOCKET_IFNAME=.*", "SOCKET_IFNAME==rail0"),
    (NCCL, r"SOCKET_IFNAME=.*", "SOCKET_IFNAME=lo"),
    (NCCL, r"mlx5_r7:1", "mlx5_r7:2"),
    (NCCL, r"\Z", "NCCL_IB_RETRY_CNT=0\n"),
    (SCRIPT, r"^ROCE_CC_PRIO_MASK=8", "ROCE_CC_PRIO_MASK=0"),
    (SCRIPT, r"mlx5_r1\b", "mlx5_r0"),
    (NCCL, r"^NCCL_IB_FIFO_TC=194", "NCCL_IB_FIFO_TC=0"),
    (NCCL, r",mlx5_r7:1", ""),
    (NCCL, r"mlx5_r7:1", "mlx5_x:1"),
    (NCCL, r"HCA==.*", "HCA=^mlx5_r0"),
    (NCCL, r"^NCCL_IB_TC=", "NCCL_IB_TCC="),
    (NCCL, r"AF_INET$", "AF_INET6"),
    (NCCL, r"RANGE=.*", "RANGE=192.168.0.0/16"),
    (NCCL, r"TIMEOUT=22", "TIMEOUT=5"),
    (NCCL, r"VERSION_NUM=2", "VERSION_NUM=1"),
    (NCCL, r"\Z", "NCCL_IB_DISABLE=1\n"),
    (NCCL, r"\Z", "NCCL_NET=Socket\n"),
    (NCCL, r"\Z", "NCCL_IB_GID_INDEX=0\n"),
    (LIMITS, r"^\* soft memlock unlimited", "* soft memlock 64"),
    (UDEV, r"\|rail7", ""),
    (UDEV, r'KERNEL=="rail0[^"]*"', 'KERNEL=="ens*"'),
    (UNIT, r"^ExecStart=.*", "ExecStart=/bin/true"),
    (NETPLAN, r'via: "10.0.0.0"', 'via: "10.0.0.1"'),
    (NETPLAN, r'from: "10.0.0.1/32"', 'from: "10.0.0.1/0"'),
    (NETPLAN, r'from: "10.0.0.1/32"', 'from: "10.0.0.1/33"'),
    (NETPLAN, r'to: "10.0.0.0/10"', 'to: "10.0.0.0/100"'),
    (NETPLAN, r"^ +routes:", "      rotues:"),
    (NETPLAN, r"^ +ethernets:", "  etehrnets:"),
    (SCRIPT, r"^TRANSPORT=", "TRNASPORT="),
    (SCRIPT, r"^PRIORITY_TO_TC=0,1,2", "PRIORITY_TO_TC=0,1,20"),
    (SCRIPT, r"\b26,3\b", "26,30"),
    (LIMITS, r"^\* soft", "* sotf"),
    (LIMITS, r"^\* soft memlock unlimited", "* soft memlock unilmited"),
    (NCCL, r"RANGE=.*", "RANGE=10.0.0.0/100"),
]
REFUSED = [
    (r"version: 2", "version: 3"),
    (r'- to: "10.0.0.0/10"\n +via', "- via"),
    (r'- from: "10.0.0.1/32"\n +table', "- table"),
    (r'- "10.0.0.1/31"', '- "10.0.0.1/310"'),
    (r'via: "10.0.0.0"', 'via: "10.0.0.999"'),
    (r"priority: 1000", "priority: x"),
    (r"table: 100", "table: x"),
    (r"mtu: 9000", "mtu: x"),
    (r"renderer: networkd", "renderer: netwrokd"),
    (r"optional: true", "optional: maybe"),
    (r"link-local: \[\]", "link-local: [ipv5]"),
]
"""Faults for which netplan takes none of its files."""
BY_PCI_ADDRESS = [
    (SCRIPT, r"(mlx5_r0 .*)port=1", r"\1port=2"),
    (SCRIPT, r"mlx5_r0\b", "mlx5_x9"),
    (NAMES, r"(.*KERNELS==\")([^\"]+)(.*mlx5_r0.*\n.*KERNELS==\")([^\"]+)", r"\1\4\3\4"),
    (NAMES, r"NAME_FIXED mlx5_r0", "NAME_FALLBACK"),
    (LINK, r"RxFlowControl=no", "RxFlowControl=yes"),
    (LINK, r"MTUBytes=9000", "MTUBytes=1500"),
    (LINK, r"Name=rail0", "Name=rail9"),
]
"""Faults of hosts whose PCI addresses are known."""
ELSEWHERE = [
    (NETPLAN, r" +routes:\n(?: +(?:- to|via|table): .*\n)+", "", "reaches its own subnet alone"),
    (NETPLAN, r" +addresses:\n +- .*\n", "", "no address"),
    (NETPLAN, r"table: 10\d", "table: 100", "replaces the other"),
    (NETPLAN, r'via: "10\.0', 'via: "10.9', "not in its subnet"),
    (NETPLAN, r"table: 100\n +r", "table: 7\n      r", "no rule"),
    (NETPLAN, r"[\s\S]+", "", "no address"),
    (SCRIPT, r"[\s\S]+", "", "no file has"),
    (NETPLAN, r'(/32"\n +table: )100', r"\g<1>101", "by another port"),
    (LIMITS, r"[\s\S]+", "", "belongs to its other files"),
    (NCCL, r"[\s\S]+", "", "belongs to its other files"),
    (MODULES, r"^rdma_ucm\n", "", "nothing loads the module rdma_ucm"),
    (UNIT, r"[\s\S]+", "", "no file has"),
    (SCRIPT, r"^TC_SCHEDULER=.*", "TC_SCHEDULER=ets,ets,ets,strict,ets,ets,strict,ets", "starve"),
    (SCRIPT, r"^TC_SCHEDULER=.*", "TC_SCHEDULER=ets,ets,ets,ets,ets,ets,ets,ets", "no share"),
    (SCRIPT, r"^TRANSPORT=.*\n", "", "TRANSPORT is not set"),
    (NETPLAN, r' +via: "10.0.0.0"\n', "", "without a next hop"),
    (LIMITS, r"^\* soft memlock unlimited\n", "", "no other"),
]
"""Faults that are reported near their lines: a statement of several lines, or one that is absent."""


SOUND = [
    (NETPLAN, r'- from: "10.0.0.1/32"(\n.*\n.*)', r'- from: "10.0.0.1/32"\1\n        - to: "10.9.0.0/16"\1'),
    (NCCL, r"HCA==.*", "HCA=mlx5"),
    (NCCL, r"HCA==.*", f"HCA={','.join(f'mlx5_r{rail}' for rail in range(8))}"),
    (NCCL, r"RANGE=.*", "RANGE=::/0"),
    (NCCL, r"HCA==.*([\s\S]*)RANGE=.*", r"HCA==mlx5_r0:1\1QUIET=1"),
    (LIMITS, r"\Z", "nobody soft memlock 64\n"),
    (
        NETPLAN,
        r" +routes:\n +- .*\n +via: (.*)\n +table.*\n +routing-policy:\n(?: {8}.*\n)+",
        r"      gateway4: \1\n",
    ),
]
"""Settings that other hosts than those of a build have."""


@pytest.mark.parametrize(("file", "pattern", "text"), SOUND)
def test_sound_settings_of_other_hosts_have_no_finding(file: str, pattern: str, text: str) -> None:
    assert list(run_host_rules(read_host(altered(file, pattern, text)))) == []


def read_host(texts: dict[str, str]) -> Statement:
    paths = {file: f"{HOST}/{file}" for file in texts}
    device = Device(HOST, Kind.HOST, "host", texts, paths, Contents(host_files.read(texts)))
    return read_statement(device, Place(Tier.HOST), {})


def altered(file: str, pattern: str, text: str, texts: Mapping[str, str] | None = None) -> dict[str, str]:
    texts = dict(texts or next(iter(hosts_of("eos").values())))
    found = re.sub(pattern, text, texts.pop(file), flags=re.MULTILINE)
    return {**texts, file: found} if found else texts


@pytest.mark.parametrize("system", SYSTEMS)
def test_hosts_of_a_build_have_no_finding(system: str) -> None:
    texts = next(iter(hosts_of(system).values()))
    assert list(run_host_rules(read_host(dict(texts)))) == []


def test_a_route_for_the_other_segment_and_the_own_subnet_suffice() -> None:
    fabric = segmented.compile_segmented("frr").fabric
    texts = host_files.render(fabric.host(next(iter(fabric.host_ids()))))
    assert list(run_host_rules(read_host(dict(texts)))) == []


@pytest.mark.parametrize(("file", "pattern", "text"), FAULTS)
def test_a_fault_is_found_at_its_line(file: str, pattern: str, text: str) -> None:
    before = hosts_of("eos")
    old = next(iter(before.values()))[file].split("\n")
    texts = altered(file, pattern, text)
    found = [each for each in run_host_rules(read_host(texts)) if each.file == f"{HOST}/{file}"]
    lines = texts[file].split("\n")
    assert any(lines[each.line - 1] not in old for each in found), found
    assert SETTING in {each.code for each in found}


@pytest.mark.parametrize(("pattern", "text"), REFUSED)
def test_values_that_netplan_refuses_are_found(pattern: str, text: str, tmp_path: Path) -> None:
    test_a_fault_is_found_at_its_line(NETPLAN, pattern, text)
    texts = altered(NETPLAN, pattern, text)
    assert any("netplan refuses" in each.message for each in run_host_rules(read_host(texts)))
    if not shutil.which("netplan"):
        pytest.skip("netplan is not installed: found, not judged")
    file = tmp_path / NETPLAN
    file.parent.mkdir(parents=True)
    file.write_text(texts[NETPLAN])
    file.chmod(0o600)
    assert subprocess.run(["netplan", "generate", "--root-dir", str(tmp_path)], check=False).returncode != 0


@pytest.mark.parametrize(("file", "pattern", "text"), BY_PCI_ADDRESS)
def test_a_fault_of_a_function_is_found_at_its_line(
    file: str, pattern: str, text: str, tmp_path: Path
) -> None:
    old = texts_of(spec_of("eos").replace("dgx-b200", "dgx-h100"), tmp_path)
    assert list(run_host_rules(read_host(old))) == []
    texts = altered(file, pattern, text, old)
    found = [each for each in run_host_rules(read_host(texts)) if each.file == f"{HOST}/{file}"]
    lines = texts[file].split("\n")
    assert any(lines[each.line - 1] not in old[file].split("\n") for each in found), found
    del texts[NAMES]
    assert any("belongs to its other files" in each.message for each in run_host_rules(read_host(texts)))


def texts_of(spec: str, folder: Path) -> dict[str, str]:
    """Return the texts of the first host of a spec."""
    (folder / "cluster.yaml").write_text(spec)
    fabric = compile_spec(folder / "cluster.yaml").fabric
    return dict(host_files.render(fabric.host(next(iter(fabric.host_ids())))))


def test_files_of_a_kind_that_no_build_writes_are_read() -> None:
    """A module that is barred, and a port whose address and MTU systemd-networkd has."""
    texts = dict(next(iter(hosts_of("eos").values())))
    texts["etc/modprobe.d/x.conf"] = "# of another tool\nblacklist mlx5_ib\nblacklist irdma\n"
    texts["etc/systemd/network/rail0.network"] = (
        "[Match]\nName=rail0\n[Link]\nMTUBytes=1500\n[Network]\nAddress=10.0.0.1/31\nDHCP=yes\n"
        "[Route]\nDestination=10.0.0.0/10\nGateway=10.0.0.0\nTable=100\n"
        "[RoutingPolicyRule]\nFrom=10.0.0.1\nTable=7\nPriority=1000\n"
    )
    del texts[NETPLAN]
    found = {(each.file.partition("/")[2], each.line) for each in run_host_rules(read_host(texts))}
    assert ("etc/modprobe.d/x.conf", 2) in found
    assert ("etc/modprobe.d/x.conf", 3) not in found
    assert {("etc/systemd/network/rail0.network", line) for line in (4, 7, 14)} <= found


NETWORK = "etc/systemd/network/%s.network"


def networks_of(text: str) -> dict[str, str]:
    """Return one .network file for each rail of a netplan file, as networkd's own syntax spells it."""
    blocks = re.findall(r"^    (rail\d+):\n((?: {6}.*\n)+)", text, re.MULTILINE)
    found = {}
    for port, block in blocks:
        value = dict(re.findall(r'(addresses:\s+-|via|from|to|table|priority|mtu): *"?([^"\n]+)', block))
        address = re.findall(r'addresses:\n +- "([^"]+)"', block)[0]
        found[NETWORK % port] = (
            f"[Match]\nName = {port}\n[Link]\nMTUBytes = 9K\n[Network]\nDHCP = ipv6\nDHCP = no\nAddress = {address}\n"
            f"Address = 172.16.0.{port[-1]}/32\nIPv6AcceptRA=0\n[RoutingPolicyRule]\nPriority={value['priority']}\n"
            f"Table={value['table']}\nFrom={value['from']}\n[RoutingPolicyRule]\nTable=99\nTo=10.9.0.0/16\n"
            f"[Route]\nTable={value['table']}\nGateway={value['via']}\nDestination={value['to']}\n"
            f"[Route]\nMetric=5\nTable={value['table']}\nGateway={value['via']}\n"
        )
    return found


def test_files_of_networkd_in_other_forms_have_no_finding() -> None:
    """Keys in another order, spaces, suffixes of sizes, several addresses, and rules that name no source."""
    texts = dict(next(iter(hosts_of("eos").values())))
    texts |= networks_of(texts.pop(NETPLAN))
    texts[NETWORK % "other"] = "[Match]\nName=ens* rail9\n[Network]\nDHCP=yes\nAddress=10.0.0.1/8\n"
    assert [each.message for each in run_host_rules(read_host(texts)) if NETPLAN not in each.message] == []
    facts = host_files.read(texts).facts
    assert (facts["interface[rail0]/mtu"], facts["interface[rail0]/dhcp4"]) == (9216, "false")
    assert str(facts["interface[rail0]/ipv4"]).endswith(",172.16.0.0/32")
    assert "interface[rail0]/route[10.0.0.0/10]" in facts
    assert not any("ens" in path or "rail9" in path for path in facts)


@pytest.mark.parametrize(
    "text",
    [
        "[Route]\nTable=\nGateway=\n", "[RoutingPolicyRule]\nTable=\nFrom=10.0.0.1\n",
        "[Network]\nGateway=\nAddress=\n", "[Link]\nMTUBytes=\n", "[Route]\nGateway=_dhcp4\n",
        "[", "[]\n=\n", "[Match]\nName=\n",
    ],
)  # fmt: skip
def test_values_that_are_empty_end_nothing(text: str) -> None:
    texts = dict(next(iter(hosts_of("eos").values())))
    texts[NETWORK % "rail0"] = f"[Match]\nName=rail0\n{text}"
    list(run_host_rules(read_host(texts)))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("TC_SCHEDULER=.*", "TC_SCHEDULER="), ("TC_WEIGHT=.*", "TC_WEIGHT=x,x"), ("^'$", "")],
)
def test_a_damaged_script_ends_nothing(pattern: str, text: str) -> None:
    assert list(run_host_rules(read_host(altered(SCRIPT, pattern, text))))


def test_a_rule_about_the_second_address_of_a_rail_is_sound() -> None:
    texts = altered(
        NETPLAN, r'^( +)- "(10\.0\.0\.1/31)"\n([\s\S]*?)( +)- from: (.*)\n( +table.*\n)( +priority.*\n)',
        r'\1- "\2"\n\1- "10.77.0.1/32"\n\3\4- from: \5\n\6\7\4- from: "10.77.0.1/32"\n\6\7',
    )  # fmt: skip
    assert "10.77.0.1" in texts[NETPLAN]
    assert list(run_host_rules(read_host(texts))) == []


@pytest.mark.parametrize(
    ("line", "barred"),
    [("blacklist ib_core", False), ("install ib_core /bin/false", True), ("blacklist rdma_ucm", True)],
)
def test_a_blacklist_bars_no_module_that_another_one_loads(line: str, barred: bool) -> None:
    texts = {**next(iter(hosts_of("eos").values())), "etc/modprobe.d/x.conf": line}
    assert bool(list(run_host_rules(read_host(texts)))) == barred


def test_rails_of_one_subnet_need_settings_of_the_kernel() -> None:
    fabric = segmented.compile_segmented("frr").fabric
    texts = host_files.render(fabric.host(next(iter(fabric.host_ids()))))
    file = "etc/sysctl.d/90-fabricc.conf"
    texts[file] = texts[file].replace("arp_ignore = 1", "arp_ignore = 0", 1)
    assert [each.line for each in run_host_rules(read_host(dict(texts)))] == [
        1 + texts[file].split("\n").index(
            next(line for line in texts[file].split("\n") if line.endswith("arp_ignore = 0"))
        )
    ]  # fmt: skip
    for settings in (
        "-net.ipv4.conf.{0}.arp_ignore = 1\nnet/ipv4/conf/{0}/arp_announce = 2\n",
        "net.ipv4.conf.*.arp_ignore=1\nnet.ipv4.conf.all.arp_announce=2\n",
        "net.ipv4.conf.default.arp_ignore=1\nnet.ipv4.conf.default.arp_announce=2\n",
        "net.ipv6.conf.all.disable_ipv6 = 1\nnet.ipv6.conf.{0}.disable_ipv6 = 0\nnet.ipv4.conf.all.arp_ignore=1\n"
        "net.ipv4.conf.all.arp_announce=1\n",
    ):
        texts[file] = "".join(settings.format(f"rail{rail}") for rail in range(8))
        assert list(run_host_rules(read_host(dict(texts)))) == [], settings
    del texts[file]
    assert any("answers for that one" in each.message for each in run_host_rules(read_host(dict(texts))))


def test_settings_of_network_manager_that_leave_a_rail_down_are_found(tmp_path: Path) -> None:
    texts = texts_of(spec_of("eos").replace("wiring: rack", "wiring: rack, os: rhel-9", 1), tmp_path)
    assert list(run_host_rules(read_host(texts))) == []
    name = next(each for each in texts if each.endswith("rail0.nmconnection"))
    for pattern, other in (
        ("autoconnect=true", "autoconnect=false"), ("method=manual", "method=auto"),
        ("priority 1000", "priority 40000"), ("options=table=100", "options=table=7"),
    ):  # fmt: skip
        changed = {**texts, name: texts[name].replace(pattern, other, 1)}
        lines = changed[name].split("\n")
        found = [each for each in run_host_rules(read_host(changed)) if each.file.endswith(name)]
        assert any(other in lines[each.line - 1] for each in found), (pattern, found)


@pytest.mark.parametrize(("file", "pattern", "text", "words"), ELSEWHERE)
def test_a_fault_of_several_lines_is_found(file: str, pattern: str, text: str, words: str) -> None:
    found = [each.message for each in run_host_rules(read_host(altered(file, pattern, text)))]
    assert any(words in each for each in found), found
