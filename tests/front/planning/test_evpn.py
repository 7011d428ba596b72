"""Hosts in segments: which, by which addresses, and what does not hold them."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from tests.front.planning.support import fabric_of, make_document, planned

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

LOSSY = {"rdma": None, "cnp": None}
GROUPS = [
    {"name": "gpu", "model": "dgx-b200", "hosts": 12, "hosts_per_unit": 8},
    {"name": "cpu", "model": "dgx-b200", "hosts": 5, "hosts_per_unit": 8},
]
TWO = {
    "tenant-a": {"vlan": 110, "subnet": "10.20.0.0/20", "groups": ["gpu"]},
    "tenant-b": {"vlan": 120, "subnet": "10.21.0.0/16"},
}


def segmented_spec(
    segments: dict[str, Any], groups: list[dict[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    gpus = {"model": None, "hosts": None, "hosts_per_unit": None, "groups": groups or GROUPS, "capacity": 64}
    return make_document(gpus=gpus, priorities=LOSSY, evpn={"segments": segments}, **more)


def find_refusals(text: dict[str, Any]) -> list[str]:
    return [
        f"{d.code} {d.message} | {d.help}" for d in planned(text).diagnostics if d.severity is Severity.ERROR
    ]


def find_addresses(fabric: Fabric) -> dict[str, str]:
    """Host and port -> address with the prefix length."""
    hosts = map(fabric.host, fabric.host_ids())
    return {f"{host.name} {port.name}": str(port.ipv4) for host in hosts for port in host.ports}


def test_every_port_has_its_own_address_in_the_subnet_of_its_group() -> None:
    fabric = fabric_of(segmented_spec(TWO))
    found = find_addresses(fabric)
    assert len(set(found.values())) == len(found) == 17 * 8
    for host in map(fabric.host, fabric.host_ids()):
        group = fabric.units[host.unit].group
        subnet = ip_network(str(TWO["tenant-b" if group else "tenant-a"]["subnet"]))
        for port in host.ports:
            assert ip_interface(str(port.ipv4)).network == subnet
            assert port.gateway4 == str(subnet[1])
            assert int(ip_interface(str(port.ipv4))) - int(subnet[0]) >= 16
        assert host.fabric_prefixes4 == ("10.20.0.0/20", "10.21.0.0/16")


def test_a_group_that_comes_moves_no_address() -> None:
    first = planned(segmented_spec(TWO))
    assert first.fabric is not None
    more = [*GROUPS, {"name": "late", "model": "dgx-b200", "hosts": 9, "hosts_per_unit": 8}]
    third = {"tenant-c": {"vlan": 105, "subnet": "10.22.0.0/16", "groups": ["late"]}}
    after = planned(segmented_spec(TWO | third, more), first.lock)
    assert after.fabric is not None, after.diagnostics
    assert find_addresses(first.fabric).items() <= find_addresses(after.fabric).items()


def test_no_tor_announces_its_hosts() -> None:
    fabric = fabric_of(segmented_spec(TWO))
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        assert switch.bgp.aggregates == ()
        assert (switch.vtep is None) == (switch.tier_index > 0)


def test_a_subnet_that_is_too_small_is_reported_with_one_that_is_not() -> None:
    small = TWO | {"tenant-a": {"vlan": 110, "subnet": "10.20.0.0/26", "groups": ["gpu"]}}
    (message,) = find_refusals(segmented_spec(small))
    assert message == (
        "FAB3311 hosts of su002 have addresses up to the 500th of tenant-a, and 10.20.0.0/26 has 64 | "
        "A /23 holds them; addresses follow from units, so growth changes none."
    )
    assert (
        find_refusals(segmented_spec(TWO | {"tenant-a": {**TWO["tenant-a"], "subnet": "10.20.0.0/23"}})) == []
    )


def test_every_group_is_in_one_segment() -> None:
    twice = {name: {**each, "groups": ["gpu", "cpu"]} for name, each in TWO.items()}
    assert find_refusals(segmented_spec(twice))[0] == (
        "FAB3309 hosts of gpu are in tenant-a already: a port can be in only one segment | Name the group once."
    )
    assert find_refusals(segmented_spec({"tenant-a": TWO["tenant-a"]})) == [
        "FAB3309 no segment contains the hosts of cpu | None takes the other hosts: name `groups: [cpu]` in one."
    ]
    unknown = TWO | {"tenant-a": {**TWO["tenant-a"], "groups": ["gpus"]}}
    assert (
        find_refusals(segmented_spec(unknown))[0]
        == "FAB3309 no host group is named gpus | Groups are gpu, cpu."
    )


def test_planes_that_no_switch_joins_have_no_common_segment() -> None:
    found = find_refusals(
        make_document(
            gpus={"model": "hgx-2x200", "hosts": 16, "hosts_per_unit": 16}, planes=2, priorities=LOSSY,
            tors={"model": "sn5600", "uplink_gbps": 400}, spines={"model": "sn5600", "count": 4},
            evpn={"segments": {"a": {"vlan": 110, "subnet": "10.20.0.0/16"}}},
        )
    )  # fmt: skip
    assert [each.split(" |")[0] for each in found] == [
        "FAB3310 no switch joins the 2 planes, so a segment cannot span them"
    ]
