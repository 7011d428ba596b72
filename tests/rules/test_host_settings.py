"""Settings of a host that work against RDMA or each other are found at their lines; those of a build are not."""

from __future__ import annotations

import re

import pytest

from fabricc.back import hosts as host_files
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, Kind, Place, Statement, Tier, read_statement
from fabricc.rules.host_settings import SETTING
from fabricc.rules.registry import run_host_rules
from tests import segmented
from tests.audit.faults.fabric import SYSTEMS, hosts_of

NETPLAN, NCCL, SCRIPT = "etc/netplan/60-fabricc.yaml", "etc/nccl.conf", "usr/local/sbin/fabricc-roce"
LIMITS, UDEV, UNIT = (
    "etc/security/limits.d/90-rdma.conf", "etc/udev/rules.d/70-fabricc-roce.rules",
    "etc/systemd/system/fabricc-roce@.service",
)  # fmt: skip
HOST = "gpu001-01"
FAULTS = [
    (NETPLAN, r"mtu: 9000", "mtu: 1500"),
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
]
ELSEWHERE = [
    (NETPLAN, r" +routes:\n(?: +(?:- to|via|table): .*\n)+", "", "reaches its own subnet alone"),
    (NETPLAN, r" +addresses:\n +- .*\n", "", "no address"),
    (NETPLAN, r"table: 10\d", "table: 100", "replaces the other"),
    (NETPLAN, r'via: "10\.0', 'via: "10.9', "not in its subnet"),
    (NETPLAN, r"table: 100\n +r", "table: 7\n      r", "no rule"),
    (NETPLAN, r"[\s\S]+", "", "no address"),
    (SCRIPT, r"[\s\S]+", "", "no file has"),
    (UNIT, r"[\s\S]+", "", "no file has"),
    (SCRIPT, r"^TC_SCHEDULER=.*", "TC_SCHEDULER=ets,ets,ets,strict,ets,ets,strict,ets", "starve"),
    (SCRIPT, r"^TC_SCHEDULER=.*", "TC_SCHEDULER=ets,ets,ets,ets,ets,ets,ets,ets", "no share"),
]
"""Faults that are reported near their lines: a statement of several lines, or one that is absent."""


SOUND = [
    (NCCL, r"HCA==.*", "HCA=mlx5"),
    (NCCL, r"HCA==.*", f"HCA={','.join(f'mlx5_r{rail}' for rail in range(8))}"),
    (NCCL, r"RANGE=.*", "RANGE=::/0"),
    (NCCL, r"RANGE=.*", "RANGE=10.0.0.0/99"),
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


def altered(file: str, pattern: str, text: str) -> dict[str, str]:
    texts = dict(next(iter(hosts_of("eos").values())))
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


@pytest.mark.parametrize(("file", "pattern", "text", "words"), ELSEWHERE)
def test_a_fault_of_several_lines_is_found(file: str, pattern: str, text: str, words: str) -> None:
    found = [each.message for each in run_host_rules(read_host(altered(file, pattern, text)))]
    assert any(words in each for each in found), found
