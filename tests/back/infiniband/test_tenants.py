"""`tenants` on InfiniBand: partitions by the words of Ethernet, for whole hosts, racks and single GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.infiniband.cabling import partition_rows
from fabricc.back.infiniband.host_files import HostFiles, tenants_by_host
from fabricc.back.infiniband.sm_files import PARTITIONS
from fabricc.fabric.infiniband_wiring import Host, Subnet, expand_hosts
from fabricc.front.spec.lock import Lock
from fabricc.proof.infiniband.sim.processes import missing_programs
from fabricc.proof.infiniband.sim.run import simulate_subnet
from fabricc.proof.infiniband.subnets import prove_host, prove_subnet
from tests.back.infiniband.support import find_codes, make_document, plan_spec, plan_subnets, render_subnet

if TYPE_CHECKING:
    from fabricc.fabric.infiniband import InfinibandFabric

needs_opensm = pytest.mark.skipif(
    bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"
)
WISHES = {
    "acme": {"hosts": ["su001-host01..03"]},
    "globex": {"racks": ["su002"]},
    "shared": {"hosts": ["su001-host04"], "gpus": ["0-3"]},
    "rest": {"hosts": ["su001-host04"], "gpus": ["4-6"]},
}


def make_spec(system: str = "ubuntu-24.04", **tenants: Any) -> dict[str, Any]:
    gpus = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, "os": system}
    return make_document(gpus=gpus, tenants={**WISHES, **tenants})


def find_host(ib: InfinibandFabric, name: str) -> Host:
    return next(each for each in expand_hosts(ib) if each.name == name)


def files_of(ib: InfinibandFabric, name: str) -> dict[str, str]:
    return dict(HostFiles(ib).render(find_host(ib, name)))


def test_every_tenant_is_a_partition_of_its_ports() -> None:
    rows = {name: (pkey, members) for name, pkey, _, _, members in partition_rows(plan_subnets(make_spec()))}
    assert rows == {
        "acme": ("0x8001", "su001-host01 su001-host02 su001-host03"),
        "globex": ("0x8002", " ".join(f"su002-host0{number}" for number in range(1, 5))),
        "shared": ("0x8003", " ".join(f"su001-host04/rail{rail}" for rail in range(4))),
        "rest": ("0x8004", " ".join(f"su001-host04/rail{rail}" for rail in range(4, 7))),
    }


def test_a_tenant_keeps_its_key_when_others_come_and_go() -> None:
    first = plan_spec(make_spec())
    assert first.lock.tenants == {"acme": 1, "globex": 2, "shared": 3, "rest": 4}
    later = make_document(tenants={"new": {"hosts": ["su001-host01"]}, "globex": {"racks": ["su002"]}})
    second = plan_spec(later, Lock(strides=first.lock.strides, tenants=first.lock.tenants))
    assert second.fabric is not None
    assert {each.name: each.pkey for each in second.fabric.partitions} == {"new": 5, "globex": 2}


@pytest.mark.parametrize("system", ["ubuntu-24.04", "rhel-9"])
def test_a_divided_host_has_each_port_in_its_tenant(system: str) -> None:
    ib = plan_subnets(make_spec(system))
    files = files_of(ib, "su001-host04")
    keys = re.findall(r"^mlx5_r(\d)\).* pkeys=(\S*) ;;$", files["usr/local/sbin/fabricc-ib"], re.MULTILINE)
    assert [key for _, key in keys] == ["0x8003"] * 4 + ["0x8004"] * 3 + [""]
    children = {name for path in files for name in re.findall(r"fabricc-(ib\d\.\d+)\.", path)}
    assert children == {f"ib{n}.8003" for n in range(4)} | {f"ib{n}.8004" for n in range(4, 7)}
    assert "NCCL_IB_PKEY" not in files["etc/nccl.conf"]  # a port without a tenant has no second P_Key
    assert "NCCL_IB_PKEY=1\n" in files_of(ib, "su001-host01")["etc/nccl.conf"]
    tenants = tenants_by_host(ib)["su001-host04"]
    assert list(prove_host(ib, find_host(ib, "su001-host04"), files, tenants)) == []


@pytest.mark.parametrize("system", ["ubuntu-24.04", "rhel-9"])
def test_a_port_in_the_tenant_of_another_is_found(system: str) -> None:
    ib = plan_subnets(make_spec(system))
    files = files_of(ib, "su001-host04")
    tenants = tenants_by_host(ib)["su001-host04"]
    for path in [path for path in files if "ib0.8003" in path]:
        changed = {**files, path: re.sub(r"(p-key=|PartitionKey=)\S+", r"\g<1>0x8004", files[path])}
        if changed[path] != files[path]:
            assert list(prove_host(ib, find_host(ib, "su001-host04"), changed, tenants)), path


@pytest.mark.parametrize("rail", [0, 7])
def test_a_member_that_lacks_one_port_is_found(rail: int) -> None:
    ib = plan_subnets(make_spec())
    files = render_subnet(ib)
    assert list(prove_subnet(Subnet(ib, 0), files)) == []
    port = find_host(ib, "su001-host01").ports[rail]
    line = f"\n  0x{port.guid:016x}"
    assert line in files[PARTITIONS]
    text = files[PARTITIONS].replace(f"{line},", "").replace(line, "")
    reported = {each.code for each in prove_subnet(Subnet(ib, 0), {**files, PARTITIONS: text})}
    assert reported == {"FAB6306"}


def test_ports_of_no_tenant_are_reported() -> None:
    assert "FAB5625" in find_codes(make_spec())
    assert "FAB5625" not in find_codes(make_spec(rest={"hosts": ["su001-host04"], "gpus": ["4-7"]}))


@pytest.mark.parametrize(
    ("tenants", "code"),
    [
        ({"acme": {"hosts": ["su001-host09"]}}, "FAB3313"),
        ({"acme": {"racks": ["su001", "su003"]}}, "FAB3313"),
        ({"acme": {"racks": ["su001", "su002"]}}, "FAB3314"),
        ({"acme": {"hosts": ["su001-host01"], "gpus": [8]}}, "FAB3316"),
        ({"acme": {"hosts": ["su001-host01"], "reach": ["storage"]}}, "FAB5801"),
        ({"acme": {"hosts": ["su001-host01"], "vrf": "ACME"}}, "FAB5801"),
    ],
)
def test_impossible_partitions_are_rejected(tenants: dict[str, Any], code: str) -> None:
    assert code in find_codes(make_spec(**tenants))


def test_one_section_describes_partitions() -> None:
    both = make_spec() | {"infiniband": {"partitions": {"one": {"pkey": 5, "units": ["su001"]}}}}
    assert "FAB3320" in find_codes(both)


@needs_opensm
def test_opensm_isolates_the_tenants() -> None:
    ib = plan_subnets(make_spec(rest={"hosts": ["su001-host04"], "gpus": ["4-7"]}))
    report = simulate_subnet(ib, render_subnet(ib))
    assert report.findings == []
