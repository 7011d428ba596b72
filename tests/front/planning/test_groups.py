"""Hosts without GPUs, in their own units or sharing ToRs: no ToR and no port more than they need."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.fabric.model import Direction
from fabricc.front.planning.topology.attachments import attach_groups
from fabricc.front.planning.topology.models import models_of
from fabricc.front.planning.topology.units import capacity_units
from fabricc.front.spec.lock import EMPTY_LOCK
from tests.effort import scale_examples
from tests.front.planning.support import CATALOG, fabric_of, make_document, planned, spec_of
from tests.front.planning.test_growth import find_identity

COMPUTE = {"name": "compute", "model": "dgx-h100", "hosts": 32, "hosts_per_unit": 16}
NODES = {"storage-2x400": 2, "storage-2x200": 2, "cpu-2x100": 2, "cpu-1x100": 1}


def mixed_spec(
    *groups: dict[str, Any], compute: dict[str, Any] | None = None, **sections: Any
) -> dict[str, Any]:
    """A spec of a group with GPUs, and others."""
    listed = [compute or COMPUTE, *groups]
    gpus = {"model": None, "hosts": None, "hosts_per_unit": None, "groups": listed} | sections.pop("gpus", {})
    return make_document(gpus=gpus, **sections)


def node_group(model: str = "storage-2x400", **words: Any) -> dict[str, Any]:
    return {"name": "storage", "model": model, "hosts": 12, "hosts_per_unit": 8, **words}


ROOM = {"gpus": {"capacity": 96}}


@pytest.mark.parametrize(("capacity", "expected"), [(128, 4), (129, 5), (160, 5), (161, 6), (512, 16)])
def test_capacity_is_rounded_up_to_units(capacity: int, expected: int) -> None:
    assert units_for(make_document(gpus={"capacity": capacity})) == expected


def test_growth_is_counted_in_units_of_the_smallest_group_with_gpus() -> None:
    wide = {"name": "wide", "model": "dgx-h100", "hosts": 5, "hosts_per_unit": 32}
    assert units_for(mixed_spec(wide, gpus={"capacity": 64})) == 3
    assert units_for(mixed_spec(wide, gpus={"capacity": 65})) == 4
    assert (
        units_for(
            mixed_spec(node_group(hosts=2), node_group(hosts=2, beside="compute") | {"name": "b"}, **ROOM)
        )
        == 5
    )


def units_for(text: dict[str, Any]) -> int:
    spec = spec_of(text)
    models = models_of(spec, CATALOG)
    return capacity_units(spec, models.hosts, attach_groups(spec, models))


@pytest.mark.parametrize("model", NODES)
def test_every_tor_has_hosts_and_every_host_all_its_ports(model: str) -> None:
    fabric = fabric_of(mixed_spec(node_group(model), **ROOM))
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        if switch.unit is not None:
            assert any(port.direction is Direction.HOST for port in switch.ports), switch.name
    hosts = [fabric.host(at) for at in fabric.host_ids()]
    without = [host for host in hosts if not host.model.gpus]
    assert [len(host.ports) for host in without] == [NODES[model]] * 12
    assert fabric.counts()["hosts_without_gpus"] == 12
    assert fabric.counts()["gpus"] == 256


def test_hosts_of_two_ports_fill_one_unit_pair_by_pair() -> None:
    fabric = fabric_of(mixed_spec(node_group(), **ROOM))
    assert [fabric.name(tor) for tor in fabric.tor_ids(2)] == [f"su003-tor{n}a" for n in (1, 2, 3, 4)]
    assert fabric.counts()["units"] == 3
    first, ninth = (fabric.host(at) for at in fabric.host_ids() if at.unit == 2 and at.slot in (0, 8))
    assert [port.peer.device for port in first.ports] == ["su003-tor1a", "su003-tor2a"]
    assert [port.peer.device for port in ninth.ports] == ["su003-tor3a", "su003-tor4a"]
    assert [port.ipv4 for port in first.ports] != [port.ipv4 for port in ninth.ports]


def test_two_ports_are_one_rail_on_the_pair_of_a_dual_tor_fabric_and_over_two_planes() -> None:
    compute = {**COMPUTE, "model": "hgx-2x200"}
    for planes in (1, 2):
        fabric = fabric_of(mixed_spec(node_group("storage-2x200"), compute=compute, planes=planes, **ROOM))
        host = fabric.host(next(at for at in fabric.host_ids() if at.unit == 2))
        assert [(p.name, p.peer.device) for p in host.ports] == [
            ("rail0a", "su003-tor1a"),
            ("rail0b", "su003-tor1b"),
        ]


def test_a_port_of_400g_is_split_over_two_planes_where_the_nic_can() -> None:
    compute = {**COMPUTE, "model": "hgx-2x200"}
    fabric = fabric_of(
        mixed_spec(node_group("storage-2x400", nic="connectx-7"), compute=compute, planes=2, **ROOM)
    )
    host = fabric.host(next(at for at in fabric.host_ids() if at.unit == 2))
    assert {port.speed_gbps for port in host.ports} == {400}
    refused = planned(mixed_spec(node_group("cpu-1x100"), compute=compute, planes=2, **ROOM))
    assert refused.fabric is None
    assert [d.code for d in refused.diagnostics] == ["FAB3002"]


def test_a_port_knows_its_nic_where_ports_of_one_nic_are_two_rails() -> None:
    fabric = fabric_of(mixed_spec(node_group("storage-2x200"), **ROOM))
    host = fabric.host(next(at for at in fabric.host_ids() if at.unit == 2))
    assert [(port.rail, port.nic_port, port.on_nic) for port in host.ports] == [(0, 0, 0), (1, 0, 1)]


@pytest.mark.parametrize("model", NODES)
def test_shared_host_groups_use_existing_tors_and_no_spine_ports(model: str) -> None:
    alone, both = fabric_of(mixed_spec()), fabric_of(mixed_spec(node_group(model, beside="compute")))
    assert both.counts()["tors"] == alone.counts()["tors"]
    assert both.shape.units_per_pod >= 2
    guests = [at for at in both.host_ids() if both.units[at.unit].beside is not None]
    assert len(guests) == 12
    hosts = [both.host(at) for at in guests]
    assert hosts[0].name == "su001-storage01"
    tors = [port.peer.device for host in hosts[:8] for port in host.ports]
    assert max(map(tors.count, tors)) - min(map(tors.count, tors)) == 0
    ends = {
        (port.peer.device, port.peer.port): (host.name, port.name) for host in hosts for port in host.ports
    }
    seen = {
        (switch.name, port.name): (port.peer.device, port.peer.port)
        for switch in map(both.switch, both.switch_ids())
        for port in switch.ports
        if port.peer and port.direction is Direction.HOST
    }
    assert ends.items() <= seen.items()


def test_tor_announces_addresses_of_shared_host_groups() -> None:
    fabric = fabric_of(mixed_spec(node_group("storage-2x400", beside="compute", hosts=4, hosts_per_unit=4)))
    tors = {fabric.name(at): fabric.switch(at) for at in fabric.switch_ids()}
    assert len(tors["su001-tor1a"].bgp.aggregates) == 2
    fewer = fabric_of(mixed_spec(node_group("storage-2x400", beside="compute", hosts=1, hosts_per_unit=4)))
    some = {fewer.name(at): len(fewer.switch(at).bgp.aggregates) for at in fewer.switch_ids()}
    assert [some[f"su001-tor{number}a"] for number in (1, 2, 3)] == [2, 2, 1]
    assert len(tors["su002-tor1a"].bgp.aggregates) == 1
    everything = [prefix for tor in tors.values() for prefix in tor.bgp.aggregates]
    assert len(everything) == len(set(everything))


def test_oversubscription_counts_shared_host_groups() -> None:
    alone = fabric_of(mixed_spec()).uplinks(0)
    assert alone == 16
    both = fabric_of(mixed_spec(node_group("storage-2x400", beside="compute", hosts=16, hosts_per_unit=16)))
    assert both.uplinks(0) * 400 >= (16 + 4) * 400
    own = fabric_of(mixed_spec(node_group("storage-2x200", hosts=8)))
    assert own.tor_links[1] < own.tor_links[0]


LATE = {
    "own": node_group(),
    "own, one port": node_group("cpu-1x100"),
    "beside": node_group(beside="compute", hosts=8),
    "beside, named": node_group(beside="compute", hosts=["nas1", "nas2", "nas3"]),
    "beside, slower": node_group("cpu-2x100", beside="compute", hosts=3, hosts_per_unit=2),
}


@pytest.mark.parametrize("late", LATE.values(), ids=LATE.keys())
def test_a_group_that_comes_late_or_grows_renumbers_nothing(late: dict[str, Any]) -> None:
    ratio = {"tors": {"oversubscription": 1.5}, "gpus": {"capacity": 96}}
    lock, known = EMPTY_LOCK, {}
    more = {
        **late,
        "hosts": [*late["hosts"], "nas4"] if isinstance(late["hosts"], list) else late["hosts"] + 1,
    }
    login = {"name": "login", "model": "cpu-2x100", "hosts": 2, "hosts_per_unit": 1, "beside": "compute"}
    for groups in ((), (late,), (more,), (more, login)):
        plan = planned(mixed_spec(*groups, **ratio), lock)
        assert plan.fabric is not None, [f"{d.code} {d.message}" for d in plan.diagnostics]
        found = find_identity(plan.fabric)
        aggregates = {name: value for name, value in known.items() if name.endswith(" aggregates")}
        assert all(set(value) <= set(found[name]) for name, value in aggregates.items())
        assert {k: v for k, v in known.items() if k not in aggregates}.items() <= found.items()
        lock, known = plan.lock, found
    assert planned(mixed_spec(more, login, **ratio), lock).lock == lock


RACKS = {"name": "compute", "model": "dgx-h100", "hosts": 8, "hosts_per_rack": 4}
TWO_PORTS = {**COMPUTE, "model": "hgx-2x200"}
FAST: dict[str, Any] = {"model": "sn5600", "oversubscription": 2}
HALF = {"oversubscription": 2}
PODS: dict[str, Any] = {"model": "sn5600", "units_per_pod": 4, "oversubscription": 2}
BASES = {
    "rails": mixed_spec(gpus={"capacity": 96}, tors=HALF),
    "pairs": mixed_spec(compute=TWO_PORTS, gpus={"capacity": 64}, tors=FAST),
    "planes": mixed_spec(
        compute=TWO_PORTS, gpus={"capacity": 96}, planes=2, tors=FAST | {"uplink_gbps": 400}
    ),
    "racks": mixed_spec(compute=RACKS, gpus={"wiring": "rack", "capacity": 64}, tors=FAST),
    "pods": mixed_spec(
        gpus={"capacity": 128}, tors=FAST, spines=PODS, cores={"model": "sn5600", "nos": "frr"}
    ),
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES.keys())
def test_base_of_growth_tests_can_be_planned(base: dict[str, Any]) -> None:
    assert planned(base).fabric is not None


SOUND = {
    "FAB3002",
    "FAB3007",
    "FAB3009",
    "FAB3010",
    "FAB3011",
    "FAB3012",
    "FAB3020",
    "FAB3072",
    "FAB3073",
    "FAB3074",
}
"""Groups that outgrow the lock or the switches are refused, and no others."""

JOINS = st.tuples(
    st.sampled_from(sorted(NODES)), st.integers(1, 9), st.integers(1, 8), st.booleans(), st.booleans()
)


@settings(max_examples=scale_examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(base=st.sampled_from(sorted(BASES)), steps=st.lists(JOINS | st.integers(0, 3), min_size=1, max_size=5))
def test_growth_of_mixed_fabrics_changes_nothing_that_exists(base: str, steps: list[Any]) -> None:
    spec, lock, known = deepcopy(BASES[base]), EMPTY_LOCK, {}
    groups, per = spec["gpus"]["groups"], "hosts_per_rack" if base == "racks" else "hosts_per_unit"
    for step in (None, *steps):
        if isinstance(step, int):
            group = groups[step % len(groups)]
            group["hosts"] = (
                [*group["hosts"], f"late{len(known)}"]
                if isinstance(group["hosts"], list)
                else group["hosts"] + 3
            )
        elif step is not None:
            model, hosts, each, beside, named = step
            name = f"group{len(groups)}"
            listed = [f"{name}-{number}" for number in range(hosts)] if named else hosts
            groups.append(
                {"name": name, "model": model, "hosts": listed, per: each}
                | ({"beside": "compute"} if beside else {})
            )
        plan = planned(spec, lock)
        spec["gpus"].pop("capacity", None)
        if plan.fabric is None:
            assert {d.code for d in plan.diagnostics if d.severity == "error"} <= SOUND, plan.diagnostics
            return
        fabric, found = plan.fabric, find_identity(plan.fabric)
        for name, value in known.items():
            assert set(value) <= set(found[name]) if name.endswith(" aggregates") else found[name] == value, (
                name
            )
        ends = [
            end for row in fabric.cables() for end in ((row.a_device, row.a_port), (row.b_device, row.b_port))
        ]
        assert len(ends) == len(set(ends))
        assert len(ends) == 2 * sum(
            value for name, value in fabric.counts().items() if name.endswith("_cables")
        )
        below = {row.b_device for row in fabric.cables() if row.kind == "host"}
        assert below == {fabric.name(at) for at in fabric.switch_ids() if at.unit >= 0}
        lock, known = plan.lock, found


REFUSED = {
    "FAB3070": mixed_spec(node_group("storage-2x400", rails_per_tor=1), gpus={"wiring": "rack"}, compute={
        "name": "compute", "model": "dgx-h100", "hosts": 8, "hosts_per_rack": 4}),
    "FAB3072": mixed_spec(node_group("storage-2x400", beside="compute", hosts=2, hosts_per_unit=256)),
    "FAB3073": mixed_spec(node_group("storage-2x400", beside="compute", hosts=2, hosts_per_unit=128)),
    "FAB3074": mixed_spec(node_group(beside="compute", hosts=17)),
    "FAB3076": mixed_spec(node_group(), gpus={"wiring": "rail-only"}),
}  # fmt: skip
REFUSED["FAB3070"]["gpus"]["groups"][1]["hosts_per_rack"] = REFUSED["FAB3070"]["gpus"]["groups"][1].pop(
    "hosts_per_unit"
)


@pytest.mark.parametrize("code", REFUSED)
def test_impossible_groups_are_rejected_with_a_working_remedy(code: str) -> None:
    text = REFUSED[code]
    (found,) = (d for d in planned(text).diagnostics if d.severity.value == "error")
    assert found.code == code
    storage = text["gpus"]["groups"][1]
    for key in ("hosts_per_unit", "rails_per_tor"):
        if f"`{key}: " in found.help:
            storage[key] = int(found.help.partition(f"`{key}: ")[2].partition("`")[0])
            assert planned(text).fabric is not None


def test_pins_of_shared_host_groups_can_be_repinned() -> None:
    late = {"name": "late", "model": "cpu-2x100", "hosts": 4, "hosts_per_unit": 4, "beside": "compute"}
    first = planned(
        mixed_spec(node_group(beside="compute", hosts=8), tors=HALF), planned(mixed_spec(tors=HALF)).lock
    )
    both = planned(mixed_spec(node_group(beside="compute", hosts=8), late, tors=HALF), first.lock)
    assert both.lock.strides.keys() - first.lock.strides.keys() == {"beside_cage/late"}
    assert both.lock.strides["beside_cage/storage"] > both.lock.strides["tor_up_cage"]
    fresh = planned(mixed_spec(node_group(beside="compute", hosts=8), late, tors=HALF))
    assert fresh.lock.strides["beside_cage/storage"] < fresh.lock.strides["tor_up_cage"]
    for name in both.lock.strides:
        rest = {other: value for other, value in both.lock.strides.items() if other != name}
        again = planned(
            mixed_spec(node_group(beside="compute", hosts=8), late, tors=HALF),
            replace(both.lock, strides=rest),
        )
        assert again.fabric is not None, name
        assert rest.items() <= again.lock.strides.items(), name


def test_hosts_with_gpus_that_come_after_others_are_refused_with_a_lock_of_these() -> None:
    cpu = {"name": "login", "model": "cpu-2x100", "hosts": 4, "hosts_per_unit": 4}
    lock = planned(mixed_spec(compute=cpu)).lock
    refused = planned(mixed_spec(COMPUTE, compute=cpu), lock)
    assert [d.code for d in refused.diagnostics] == ["FAB3071"]
    assert planned(mixed_spec(COMPUTE, compute=cpu)).fabric is not None


@pytest.mark.parametrize("length", range(16, 28))
def test_a_pool_holds_the_units_of_all_groups_or_is_refused(length: int) -> None:
    """As many numbers as there are units, of one group or of two, and the requested pool holds them."""
    groups = [{"name": name, "model": "dgx-h100", "hosts": 3, "hosts_per_unit": 1} for name in ("one", "two")]
    addressing = {"hosts": f"10.0.0.0/{length}"}
    several = mixed_spec(groups[1], compute=groups[0], addressing=addressing)
    whole = make_document(gpus={"model": "dgx-h100", "hosts": 6, "hosts_per_unit": 1}, addressing=addressing)
    for text in (several, whole):
        found = planned(text)
        if found.fabric is None:
            (wrong,) = found.diagnostics
            assert wrong.code == "FAB3017"
            wider = deepcopy(text) | {
                "addressing": {"hosts": f"10.0.0.0/{wrong.help.partition('/')[2].split()[0]}"}
            }
            assert planned(wider).fabric is not None
        else:
            assert found.fabric.strides.unit >= found.fabric.present == 6
    assert (planned(several).fabric is None) == (planned(whole).fabric is None)
