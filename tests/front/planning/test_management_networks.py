"""Several out-of-band networks: each switch in one subnet with a gateway of its own, by tier and by units."""

from __future__ import annotations

import json
from copy import deepcopy
from ipaddress import IPv4Network, ip_address, ip_interface
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.fabric.out_of_band import management_prefix
from fabricc.front.spec.load import read_spec
from fabricc.operate.devices.login import devices_by_name
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.review.explain.addresses import explain_address
from fabricc.review.explain.origins import PlanSources
from tests.front.planning.support import fabric_of, make_document, planned, spec_of

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric

ROWS = [
    {"network": "172.20.0.0/22", "prefix_length": 24, "units": 2},
    {"tier": "spine", "network": "172.21.0.0/24", "gateway": "172.21.0.254"},
]


def with_networks(networks: list[dict[str, Any]], hosts: int = 128, **management: Any) -> dict[str, Any]:
    return make_document(gpus={"hosts": hosts}, management={"networks": networks, **management})


def list_findings(text: dict[str, Any]) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a document, as a spec or else in the plan."""
    return read_spec(json.dumps(text).encode(), "cluster.yaml").diagnostics or planned(text).diagnostics


def find_addresses(fabric: Fabric) -> dict[str, tuple[str, str]]:
    """Switch -> management address with prefix length, and gateway."""
    found = (fabric.switch(at) for at in fabric.switch_ids())
    return {each.name: (each.management.address, each.management.gateway) for each in found}


def test_units_share_subnets_and_each_subnet_has_its_gateway() -> None:
    found = find_addresses(fabric_of(with_networks(ROWS)))
    assert found["su001-tor1a"] == ("172.20.0.16/24", "172.20.0.1")
    assert found["su002-tor8a"] == ("172.20.0.31/24", "172.20.0.1")
    assert found["su003-tor1a"] == ("172.20.1.16/24", "172.20.1.1")
    assert found["spine01a"] == ("172.21.0.16/24", "172.21.0.254")


def test_a_gateway_has_the_same_place_in_every_subnet() -> None:
    rows = [{**ROWS[0], "gateway": "172.20.0.254"}, ROWS[1]]
    found = find_addresses(fabric_of(with_networks(rows)))
    assert found["su003-tor1a"] == ("172.20.1.16/24", "172.20.1.254")


def test_a_new_row_of_racks_has_a_subnet_and_all_before_keep_their_addresses() -> None:
    before = find_addresses(fabric_of(make_document(management={"network": "10.255.0.0/22"})))
    rows = [{"network": "172.20.0.0/24", "from": 5}]
    after = find_addresses(fabric_of(with_networks(rows, 192, network="10.255.0.0/22")))
    assert {name: after[name] for name in before} == before
    assert after["su005-tor1a"] == ("172.20.0.16/24", "172.20.0.1")


def test_a_network_of_several_subnets_may_be_widened() -> None:
    rows = [
        {**ROWS[0], "network": "172.20.0.0/23"},
        {**ROWS[1], "network": "172.21.0.0/24", "prefix_length": 25},
    ]
    rows[1]["gateway"] = "172.21.0.1"
    wider = [{**rows[0], "network": "172.20.0.0/21"}, {**rows[1], "network": "172.21.0.0/22"}]
    first = planned(with_networks(rows))
    assert first.fabric is not None
    assert find_addresses(fabric_of(with_networks(wider), first.lock)) == find_addresses(first.fabric)


@pytest.mark.parametrize(
    ("networks", "code", "message", "remedy"),
    [
        (
            [{**ROWS[0], "units": 31}],
            "FAB3018",
            "management.networks[0]: a subnet of /24 of 172.20.0.0/22 has 239 addresses for 248 ToRs",
            "Use as many subnets of /23, or larger.",
        ),
        (
            [{"network": "172.20.0.0/27"}],
            "FAB3018",
            "management.networks[0]: 172.20.0.0/27 has 15 addresses for 32 ToRs",
            "Use a /26, or larger.",
        ),
        (
            [ROWS[0], {**ROWS[1], "network": "172.21.0.0/28", "gateway": "172.21.0.14"}],
            "FAB3018",
            "management.networks[1]: 172.21.0.0/28 has 0 addresses for 16 numbers of spines by the strides of the plan",
            "Use a /26, or larger.",
        ),
        (
            [{**ROWS[0], "network": "172.20.0.0/24"}, ROWS[1]],
            "FAB3111",
            "16 switches are in no management network, su003-tor1a the first",
            "Add a network with `tier: tor, from: 3`, or give `network` for all that no other takes.",
        ),
        (
            [ROWS[0]],
            "FAB3111",
            "16 switches are in no management network, spine01a the first",
            "Add a network with `tier: spine`, or give `network` for all that no other takes.",
        ),
        (
            [*ROWS, {"network": "172.22.0.0/24", "from": 8}],
            "FAB2160",
            "management.networks[2] takes ToRs of units that management.networks[0] has",
            "Begin with `from: 9` or later, in the order of units.",
        ),
        (
            [{"network": "172.22.0.0/24"}, *ROWS],
            "FAB2160",
            "management.networks[1] takes ToRs of units that management.networks[0] has",
            "State in `units` how many units that one has.",
        ),
        (
            [*ROWS, {"tier": "spine", "network": "172.22.0.0/24"}],
            "FAB2160",
            "management.networks[2]: management.networks[1] has all spines",
            "Keep one network of spines, cut into subnets by `prefix_length` where it has to be.",
        ),
        (
            [{**ROWS[0], "prefix_length": 21}, ROWS[1]],
            "FAB2161",
            "management.networks[0]: 172.20.0.0/22 has no subnets of /21",
            "Write 22 or more, or leave it out for one subnet.",
        ),
        (
            [ROWS[0], {**ROWS[1], "units": 4}],
            "FAB2161",
            "management.networks[1]: spines are in no unit, so `units` has no effect",
            "Remove it.",
        ),
        (
            [{"network": "172.20.0.0/22", "prefix_length": 24}, ROWS[1]],
            "FAB2161",
            "management.networks[0]: no key states which units a /24 holds",
            "Add `units`: how many units' ToRs share a subnet.",
        ),
        (
            [{**ROWS[0], "gateway": "172.20.1.1"}, ROWS[1]],
            "FAB2036",
            "management.networks[0].gateway 172.20.1.1 is outside 172.20.0.0/24",
            "Write 172.20.0.1.",
        ),
    ],
)
def test_impossible_management_networks_are_rejected(
    networks: list[dict[str, Any]], code: str, message: str, remedy: str
) -> None:
    (wrong,) = list_findings(with_networks(networks))
    assert (wrong.code, wrong.message, wrong.help) == (code, message, remedy)


def test_a_remedy_builds() -> None:
    fabric_of(
        with_networks([{**ROWS[0], "network": "172.20.0.0/21", "prefix_length": 23, "units": 31}, ROWS[1]])
    )
    fabric_of(
        with_networks(
            [{"network": "172.20.0.0/26"}, {**ROWS[1], "network": "172.21.0.0/26", "gateway": "172.21.0.62"}]
        )
    )
    fabric_of(with_networks([ROWS[0], {"tier": "spine", "network": "172.22.0.0/24"}]))


@pytest.mark.parametrize(
    ("management", "other"),
    [
        (
            {"networks": [*ROWS, {"network": "172.21.0.128/25", "from": 9}]},
            "management.networks[1].network 172.21.0.0/24",
        ),
        ({"networks": ROWS, "network": "172.20.0.0/16"}, "management.networks[0].network 172.20.0.0/22"),
        ({"networks": [*ROWS, {"network": "10.64.0.0/24", "from": 9}]}, "addressing.links 10.64.0.0/10"),
    ],
)
def test_networks_overlap_nothing(management: dict[str, Any], other: str) -> None:
    (wrong,) = list_findings(make_document(management=management))
    assert wrong.code == "FAB2032"
    assert other in wrong.message


def test_a_server_has_the_address_of_no_switch_in_any_subnet() -> None:
    (wrong,) = planned(with_networks(ROWS, ntp=["172.20.1.17"])).diagnostics
    assert wrong.code == "FAB3025"
    assert wrong.message == "management.ntp[0] 172.20.1.17 is the management address of su003-tor2a"
    assert "172.20.1.1 to 172.20.1.15" in wrong.help
    fabric_of(with_networks(ROWS, ntp=["172.20.1.200", "172.20.1.2", "172.21.0.253"]))


def test_labs_and_logins_have_the_subnets() -> None:
    fabric = fabric_of(with_networks(ROWS))
    assert build_blueprint(fabric).gateways == ("172.20.0.1/24", "172.20.1.1/24", "172.21.0.254/24")
    assert {name: one.address for name, one in devices_by_name(fabric).items()} == {
        name: address.partition("/")[0] for name, (address, _) in find_addresses(fabric).items()
    }
    assert management_prefix(fabric.addresses.management) == "172.20.0.0/15"


def test_each_network_has_its_own_management_networks() -> None:
    storage = {key: {"model": "sn5400", "nos": "frr"} for key in ("tors", "spines")}
    text = with_networks(ROWS) | {"networks": {"storage": storage}}
    assert spec_of(text).networks["storage"].management.networks == ()
    assert str(spec_of(text).networks["storage"].management.network) == "172.17.0.0/16"
    text["networks"]["storage"] |= {"management": {"networks": [{"network": "172.23.0.0/24"}]}}
    assert [each.key for each in spec_of(text).networks["storage"].management.networks] == [
        "management.networks[0]"
    ]


def test_every_address_leads_back_to_its_switch_and_no_other() -> None:
    text = with_networks([{**ROWS[0], "from": 2}, {**ROWS[1]}], 160, network="10.255.0.0/22")
    fabric = fabric_of(text)
    plan = PlanSources(spec_of(text), fabric, {})
    mine = {address.partition("/")[0]: name for name, (address, _) in find_addresses(fabric).items()}
    assert len(mine) == len(list(fabric.switch_ids()))
    for network in fabric.addresses.management:
        for offset in range(1 << network.pool.bits):
            address = network.pool.address(offset)
            found = explain_address(plan, address)
            assert (found.title == f"management address of {mine.get(address)}") == (address in mine), address
    steps = explain_address(plan, "172.20.1.17").statements[0].formulas
    assert steps[0].numbers == "(3 - 1) // 2 * 256 + 16 + (3 - 1) % 2 * 8 + 1 * 1 + 0"


PODS = make_document(
    gpus={
        "model": "grand-teton", "racks": 24, "hosts_per_rack": 2, "wiring": "rack", "capacity": 160,
        "hosts": None, "hosts_per_unit": None,
    },
    spines={"units_per_pod": 16, "oversubscription": 2},
    cores={"model": "sn5400", "nos": "frr"},
)  # fmt: skip


@given(
    racks=st.integers(1, 50),
    more=st.integers(0, 30),
    length=st.integers(24, 26),
    units=st.integers(1, 30),
    first=st.integers(1, 20),
    gateway=st.sampled_from([1, 9, -2]),
    tiers=st.sets(st.sampled_from(["spine", "core"])),
    late=st.booleans(),
)
def test_addresses_are_disjoint_and_growth_renumbers_nothing(
    racks: int, more: int, length: int, units: int, first: int, gateway: int, tiers: set[str], late: bool
) -> None:
    at = f"172.30.0.{gateway % (1 << 32 - length)}"
    networks: list[dict[str, Any]] = [
        {"network": "172.30.0.0/18", "prefix_length": length, "units": units, "from": first, "gateway": at},
        *(
            {"network": f"172.31.{16 * i}.0/20", "prefix_length": length, "tier": t}
            for i, t in enumerate(sorted(tiers))
        ),
    ]
    spec = deepcopy(PODS)
    spec["gpus"]["racks"] = racks
    spec["management"] = {"networks": networks, "network": "192.168.0.0/18"}
    start = planned(spec)
    if start.fabric is None:
        assert {each.code for each in start.diagnostics} <= {"FAB3018"}
        return
    grown = deepcopy(spec)
    grown["gpus"]["racks"] = racks + more
    if late:  # a network for units that there are not yet
        grown["management"]["networks"].append({"network": "10.200.0.0/22", "from": 16384})
    after = planned(grown, start.lock).fabric
    assert after is not None
    small, large = find_addresses(start.fabric), find_addresses(after)
    assert {name: large[name] for name in small} == small
    everyone = [ip_interface(address) for address, _ in large.values()]
    assert len({each.ip for each in everyone}) == len(large)
    assert not {each.ip for each in everyone} & {ip_address(gateway) for _, gateway in large.values()}
    for (address, gateway_), mine in zip(large.values(), everyone, strict=True):
        assert isinstance(mine.network, IPv4Network)
        assert ip_address(gateway_) in mine.network, address
        assert mine.ip not in (mine.network.network_address, mine.network.broadcast_address)
    subnets = {each.network for each in everyone}
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))
