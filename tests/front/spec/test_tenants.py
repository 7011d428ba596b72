"""Allowed content of `tenants`: names and ranges of hosts, GPUs, and the sections that exclude tenants."""

from __future__ import annotations

import pytest

from tests.front.spec.samples import SHORT, format_findings, load


def find_messages(section: str, more: str = "", short: str = SHORT) -> list[str]:
    """Return the findings, without their places."""
    return [each.partition(" ")[2] for each in format_findings(f"{short}{more}tenants: {section}\n")]


def test_ranges_of_hosts_and_gpus_are_written_out() -> None:
    spec = load(
        f"{SHORT}tenants:\n  acme: {{hosts: [su001-host08..11, su002-host01], gpus: [0-2, 5]}}\n"
        "  globex: {racks: [su003], reach: [storage]}\n"
    ).spec
    assert spec is not None
    acme, globex = spec.tenants
    assert acme.hosts == ("su001-host08", "su001-host09", "su001-host10", "su001-host11", "su002-host01")
    assert (acme.gpus, acme.racks, acme.reach) == ((0, 1, 2, 5), (), ())
    assert (globex.hosts, globex.racks, globex.gpus, globex.reach) == ((), ("su003",), None, ("storage",))


def test_gpus_of_single_hosts_are_beside_whole_ones() -> None:
    spec = load(
        f"{SHORT}tenants:\n  acme: {{hosts: [su001-host01..03], gpus: {{su001-host02: [0-3], su001-host03: [7]}}}}\n"
    ).spec
    assert spec is not None
    acme = spec.tenants[0]
    assert acme.gpus is None
    assert acme.parts == {"su001-host02": (0, 1, 2, 3), "su001-host03": (7,)}


WRONG = {
    "{acme: {hosts: [su001-host01], gpus: {su001-host02: [0]}}}": "FAB3316 tenants.acme.gpus: su001-host02 is none of "
    "the hosts of acme | Name it in `hosts` too.",
    "{acme: {hosts: [su001-host01], gpus: {su001-host01: [3-1]}}}": "FAB3316 tenants.acme.gpus.su001-host01[0]: 3-1 "
    "does not ascend | Write for example `0-3`.",
    "{acme: {hosts: [su001-host01], vni: 0}}": "FAB1005 tenants.acme.vni cannot be 0 | It ranges from 1 to "
    "16777214; the nearest that fits is 1.",
    "{acme: {hosts: [su001-host01], route_target: '70000:1'}}": "FAB1006 tenants.acme.route_target cannot be "
    "'70000:1': it must be an AS number of 16 bits, a colon, and a number below 4,290,000,000 | For "
    "example: 65000:5010",
    "{acme: {}}": "FAB3313 tenants.acme has neither hosts nor racks | Write `hosts: […]` or `racks: […]`.",
    "{acme: {hosts: [su001-host16..03]}}": "FAB3313 tenants.acme.hosts[0]: su001-host16..03 does not ascend from a "
    "number | Write for example `su001-host01..16`.",
    "{acme: {hosts: [gpu..16]}}": "FAB3313 tenants.acme.hosts[0]: gpu..16 does not ascend from a number | Write for "
    "example `su001-host01..16`.",
    "{acme: {hosts: [su001-host01], gpus: [3-1]}}": "FAB3316 tenants.acme.gpus[0]: 3-1 does not ascend | Write for "
    "example `0-3`.",
    "{acme: {racks: [su001], gpus: [0]}}": "FAB3316 tenants.acme lists GPUs but no hosts | Name the hosts that have "
    "them, as `hosts`.",
    "{default: {hosts: [su001-host01]}}": "FAB1006 the name 'default' in tenants is not 1 to 12 lower-case letters, "
    "digits and inner hyphens, a letter first, and no name that systems have for their own | For example: tenants",
}


@pytest.mark.parametrize("section", WRONG)
def test_a_tenant_that_cannot_be_is_a_finding(section: str) -> None:
    assert WRONG[section] in find_messages(section)


ONE = "{acme: {hosts: [su001-host01]}}"
BESIDE = {
    "addressing: {family: ipv6}\n": "FAB3301 VTEPs send VXLAN over IPv4, and the fabric is IPv6 only | Write "
    "`addressing: {family: dual}`, or ipv4.",
    "evpn: {segments: {a: {vlan: 110, subnet: 10.20.0.0/16}}}\n": "FAB3320 hosts are in segments already, and a port "
    "can be in only one VRF | Keep `evpn` for a front end, in `networks`, or remove one of the two sections.",
}


@pytest.mark.parametrize("more", BESIDE)
def test_a_section_that_tenants_do_not_go_with_is_a_finding(more: str) -> None:
    assert BESIDE[more] in find_messages(ONE, more)


def test_packets_of_hosts_fit_the_fabric_inside_vxlan() -> None:
    narrow = SHORT.replace("switch: 9100", "switch: 9049")
    assert find_messages(ONE, short=narrow) == [
        "FAB3304 hosts send packets of 9000 bytes, and with 50 of VXLAN around them links between switches hold 8999 | "
        "Write `mtu: {switch: 9050}`, or `host: 8999` or less."
    ]
    assert find_messages(ONE, short=SHORT.replace("switch: 9100", "switch: 9050")) == []
