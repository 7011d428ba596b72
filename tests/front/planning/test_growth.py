"""Nothing renumbers: whatever a spec grows by, every address, ASN, port and name that was there stays."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.fabric.model import Direction
from tests.effort import scale_examples
from tests.front.planning.support import fabric_of, make_document, planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.fabric import Fabric

Identity = dict[str, object]


def find_identity(fabric: Fabric) -> Identity:
    """Everything that must not change: names, ASNs, addresses, and both ends of every cable."""
    found: Identity = {}
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        found[switch.name] = (switch.bgp.asn, switch.bgp.router_id, switch.loopback4, switch.loopback6)
        found[f"{switch.name} management"] = switch.management.address
        found[f"{switch.name} aggregates"] = switch.bgp.aggregates
        for port in switch.ports:
            if port.direction is not Direction.UNUSED:
                found[f"{switch.name} {port.name}"] = (port.ipv4, port.ipv6, port.peer, port.speed_gbps)
        for session in switch.bgp.sessions:
            found[f"{switch.name} {session.port} {session.transport}"] = (session.remote_asn, session.remote)
    for at_host in fabric.host_ids():
        host = fabric.host(at_host)
        for host_port in host.ports:
            found[f"{host.name} {host_port.name}"] = (
                host_port.ipv4, host_port.gateway4, host_port.ipv6, host_port.peer, host_port.table, host_port.rdma,
            )  # fmt: skip
    return found


def more_hosts(spec: dict[str, Any], amount: int) -> None:
    gpus = spec["gpus"]
    for section in gpus.get("groups", [gpus]):
        if "hosts" in section:
            section["hosts"] += amount


def more_racks(spec: dict[str, Any], amount: int) -> None:
    gpus = spec["gpus"]
    if isinstance(gpus.get("racks"), int):
        gpus["racks"] += amount
    elif "racks" in gpus:
        gpus["racks"] = [f"new{len(gpus['racks']) + i}" for i in range(amount)] + gpus["racks"]
    else:
        more_hosts(spec, amount * gpus.get("hosts_per_unit", 8))


def more_spines(spec: dict[str, Any], amount: int) -> None:
    if "count" in spec["spines"] and "cores" not in spec:
        spec["spines"]["count"] += amount


def more_priorities(spec: dict[str, Any], amount: int) -> None:
    for i in range(min(amount, 2)):
        spec["priorities"][f"extra{i}"] = {"dscp": 8 + 8 * i}


def another_group(spec: dict[str, Any], amount: int) -> None:
    gpus = spec["gpus"]
    if "racks" in gpus or gpus.get("wiring") == "rack" or "cores" in spec:
        return
    if "groups" not in gpus:
        first = {k: gpus.pop(k) for k in ("model", "hosts", "hosts_per_unit")}
        gpus["groups"] = [{"name": "gpus", **first}]
    gpus["groups"].append({**gpus["groups"][0], "name": f"late{len(gpus['groups'])}", "hosts": amount})


def faster_group(spec: dict[str, Any], amount: int) -> None:
    """As above, of hosts that send twice as much."""
    another_group(spec, amount)
    if "groups" in spec["gpus"] and spec["tors"]["model"] == "sn5600" and "planes" not in spec:
        spec["gpus"]["groups"][-1]["model"] = "dgx-b300"


def change_nothing(spec: dict[str, Any], amount: int) -> None:
    """Nothing: a step without growth must change nothing either."""


GROWTH: list[Callable[[dict[str, Any], int], None]] = [
    more_hosts, more_racks, more_spines, more_priorities, another_group, faster_group, change_nothing
]  # fmt: skip

RAIL = make_document(gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 32}, spines={"count": 4})
DUAL = make_document(gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 64}, addressing={"family": "dual"})
PLANES = make_document(
    gpus={"model": "hgx-2x200", "hosts": 24, "hosts_per_unit": 16, "capacity": 128},
    planes=2,
    tors={"model": "sn5600", "uplink_gbps": 400},
    spines={"model": "sn5600", "count": 4},
)
NAMED = make_document(
    gpus={
        "model": "grand-teton", "racks": ["a01", "a02", "b07"], "hosts_per_rack": 2, "wiring": "rack", "capacity": 32,
        "hosts": None, "hosts_per_unit": None,
    },
    spines={"count": 4},
)  # fmt: skip
MIXED = make_document(
    gpus={
        "groups": [
            {"name": "old", "model": "dgx-h100", "hosts": 10, "hosts_per_unit": 8},
            {"name": "new", "model": "dgx-b300", "hosts": 10, "hosts_per_unit": 8},
        ],
        "model": None, "hosts": None, "hosts_per_unit": None, "capacity": 64,
    },
    tors={"model": "sn5600", "uplink_gbps": 400, "oversubscription": 2}, spines={"model": "sn5600", "count": 4},
)  # fmt: skip
ZONES = make_document(
    gpus={
        "model": "grand-teton", "racks": 24, "hosts_per_rack": 2, "wiring": "rack", "capacity": 160,
        "hosts": None, "hosts_per_unit": None,
    },
    spines={"units_per_pod": 16, "oversubscription": 2},
    cores={"model": "sn5400", "nos": "frr"},
)  # fmt: skip
RAIL_ONLY = make_document(
    gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 64, "wiring": "rail-only"}, spines={"count": 4}
)
RAILS_AND_PORTS = make_document(
    gpus={"model": "hgx-2x200", "hosts": 24, "hosts_per_unit": 16, "capacity": 128, "wiring": "rail-only"},
    planes=2,
    tors={"model": "sn5600", "uplink_gbps": 400},
    spines={"model": "sn5600", "count": 4},
)
SETS = make_document(
    gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 256},
    spines={"rails": 2, "units_per_pod": 8, "oversubscription": 2},
    cores={"model": "sn5400", "nos": "frr"},
)

UPLINKS_FIRST = make_document(
    gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 64}, tors={"uplinks_first": True}, spines={"count": 8},
    addressing={"link_prefix_length": 30},
)  # fmt: skip
SEGMENTS = make_document(
    gpus={"hosts": 20, "hosts_per_unit": 8, "capacity": 32},
    spines={"count": 4},
    priorities={"rdma": None, "cnp": None},
    evpn={"segments": {"tenant-a": {"vlan": 110, "subnet": "10.16.0.0/12"}}},
)


@settings(max_examples=scale_examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    base=st.sampled_from(
        [RAIL, DUAL, PLANES, NAMED, MIXED, ZONES, RAIL_ONLY, RAILS_AND_PORTS, SETS, SEGMENTS, UPLINKS_FIRST]
    ),
    steps=st.lists(st.tuples(st.sampled_from(GROWTH), st.integers(1, 12)), min_size=1, max_size=4),
)
def test_growth_changes_nothing_that_exists(
    base: dict[str, Any], steps: list[tuple[Callable[[dict[str, Any], int], None], int]]
) -> None:
    spec = deepcopy(base)
    before = planned(spec)
    assert before.fabric is not None
    spec["gpus"].pop("capacity")  # the lock remembers what was dimensioned
    for grow, amount in steps:
        grow(spec, amount)
        after = planned(spec, before.lock)
        if after.fabric is None:
            refused = {d.code for d in after.diagnostics if d.severity == "error"}
            assert refused <= {"FAB3007", "FAB3009", "FAB3011", "FAB3012", "FAB3020"}, after.diagnostics
            return
        old, new = find_identity(before.fabric), find_identity(after.fabric)
        assert {key: new.get(key) for key in old} == old
        before = after


def test_a_removed_rack_keeps_its_numbers_from_the_next_one() -> None:
    first = planned(NAMED)
    spec = deepcopy(NAMED)
    spec["gpus"]["racks"] = ["a01", "b07", "c09"]
    second = planned(spec, first.lock)
    assert first.fabric is not None
    assert second.fabric is not None
    assert {u.name: u.coordinate for u in second.fabric.units.values()} == {"a01": 0, "b07": 2, "c09": 3}
    third = planned(NAMED, second.lock)
    assert third.fabric is not None
    assert find_identity(third.fabric) == find_identity(first.fabric)


def test_reordering_named_hosts_moves_none_of_them() -> None:
    names = [f"node{i}" for i in range(10)]
    spec = make_document(gpus={"hosts": names, "hosts_per_unit": 4})
    first = planned(spec)
    shuffled = planned(
        make_document(gpus={"hosts": ["extra", *reversed(names)], "hosts_per_unit": 4}), first.lock
    )
    assert first.fabric is not None
    assert shuffled.fabric is not None
    old, new = find_identity(first.fabric), find_identity(shuffled.fabric)
    assert {key: new.get(key) for key in old} == old
    assert shuffled.lock.hosts["extra"] == (2, 2)


def test_outgrowing_the_lock_is_refused_with_what_it_would_take() -> None:
    spec = make_document(gpus={"hosts": 64})
    first = planned(spec)
    grown = planned(make_document(gpus={"hosts": 256}), first.lock)
    assert grown.fabric is None
    (problem,) = grown.diagnostics
    assert problem.code == "FAB3011"
    assert "--repin" in problem.help
    assert "gpus.capacity" in problem.help
    assert fabric_of(make_document(gpus={"hosts": 256})).counts()["spines"] == 32


def test_a_count_that_only_the_lock_forbids_is_refused_with_the_pin() -> None:
    first = planned(make_document(gpus={"hosts": 64}, tors={"uplinks": 32}, spines={"count": 16}))
    (problem,) = planned(
        make_document(gpus={"hosts": 64}, tors={"uplinks": 32}, spines={"count": 8}), first.lock
    ).diagnostics
    assert problem.code == "FAB3008"
    assert "the lock pins 2 links to each spine" in problem.message
    assert "--repin" in problem.help


@pytest.mark.parametrize("base", [RAIL, DUAL, PLANES, NAMED, ZONES, RAIL_ONLY, SETS])
def test_a_pin_that_the_lock_lacks_is_chosen_and_the_others_stay(base: dict[str, Any]) -> None:
    first = planned(base)
    for name in first.lock.strides:
        rest = {other: value for other, value in first.lock.strides.items() if other != name}
        again = planned(base, replace(first.lock, strides=rest))
        assert again.fabric is not None
        assert rest.items() <= again.lock.strides.items(), name


def test_core_groups_are_not_resized_silently() -> None:
    first = planned(ZONES)
    odd = replace(first.lock, strides=dict(first.lock.strides) | {"spines_per_core_group": 5})
    (problem,) = planned(ZONES, odd).diagnostics
    assert (problem.code, "to 5, which does not divide the 8 spines" in problem.message) == ("FAB3020", True)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    gpus=st.sampled_from(
        [{"rails_per_tor": 0}, {"wiring": "rail-only"}, {"rails_per_tor": 4, "wiring": "rail-only"}]
    ),
    hosts=st.integers(1, 4),
    later=st.lists(st.integers(1, 27), min_size=1, max_size=3),
)
def test_spines_that_come_later_renumber_nothing(gpus: dict[str, Any], hosts: int, later: list[int]) -> None:
    """A unit without spines is filled, then gets spines of its own kind, then more units."""
    gpus = {"hosts_per_unit": 4, **gpus}
    first = make_document(gpus={**gpus, "hosts": hosts})
    spines = first.pop("spines")
    before = planned(first)
    assert before.fabric is not None
    for number in sorted(later):
        spec = make_document(gpus={**gpus, "hosts": hosts + number})
        if hosts + number <= 4:
            del spec["spines"]
        else:
            spec["spines"] = {**spines, "count": 4}
        after = planned(spec, before.lock)
        assert after.fabric is not None, after.diagnostics
        assert before.fabric is not None
        old, new = find_identity(before.fabric), find_identity(after.fabric)
        assert {key: new.get(key) for key in old} == old
        before = after


def test_a_rack_that_replaces_the_only_one_is_no_second_unit() -> None:
    spec = deepcopy(NAMED)
    del spec["spines"]
    spec["gpus"] |= {"racks": ["a01"]}
    del spec["gpus"]["capacity"]
    first = planned(spec)
    spec["gpus"]["racks"] = ["b02"]
    second = planned(spec, first.lock)
    assert second.fabric is not None, second.diagnostics
    assert [unit.coordinate for unit in second.fabric.units.values()] == [1]
