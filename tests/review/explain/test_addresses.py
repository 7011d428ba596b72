"""Whatever the fabric, an address is explained as that of the port that has it, and its formula gives it."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fabricc.review.explain.addresses import explain_address
from fabricc.review.explain.asns import explain_asn
from fabricc.review.explain.model import Source
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.pools import list_pools
from fabricc.review.explain.questions import explain_prefix
from tests.effort import scale_examples
from tests.front.planning.support import make_document, planned, spec_of
from tests.review.explain.support import assert_formulas_hold, known_of

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.review.explain.model import Explanation

Owner = tuple[str, str]

TWO_POD_CORES = {
    "gpus": {"model": "dgx-b200", "hosts": 24, "hosts_per_unit": 4},
    "spines": {"units_per_pod": 2},
    "cores": {"model": "sn5400", "nos": "frr"},
}


@st.composite
def draw_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Fabrics of one or two tiers above the ToRs, of each family, with pools and ASNs of their own."""
    per_unit = draw(st.sampled_from([2, 4, 7]))
    sections: dict[str, Any] = {
        "gpus": {
            "model": "dgx-b200",
            "hosts": draw(st.integers(1, 3 * per_unit)),
            "hosts_per_unit": per_unit,
        },
        "addressing": {"family": draw(st.sampled_from(["ipv4", "ipv6", "dual"]))},
        "routing": {"spine_asn": draw(st.sampled_from(["shared", "unique"]))},
        "planes": draw(st.sampled_from([1, 1, 2])),
    }
    if draw(st.booleans()):
        sections["addressing"]["hosts"] = "172.30.0.0/15"
        sections["routing"]["asn_base"] = 4_210_000_000
    if draw(st.booleans()):
        sections["gpus"]["wiring"] = "rack"
        sections["gpus"]["hosts_per_rack"] = sections["gpus"].pop("hosts_per_unit")
        sections["gpus"]["hosts_per_unit"] = None
    if draw(st.booleans()):
        sections["spines"] = {"units_per_pod": draw(st.sampled_from([1, 2]))}
        sections["cores"] = {"model": "sn5400", "nos": "frr"}
    elif draw(st.booleans()):
        sections["gpus"] = uneven_spec(per_unit)
    return make_document(**sections)


def uneven_spec(per_unit: int) -> dict[str, Any]:
    """Two host groups, of which one sends twice as much to a ToR."""
    groups = [
        {"name": name, "model": "dgx-b200", "hosts": 2 * size, "hosts_per_unit": size}
        for name, size in (("small", per_unit), ("large", 2 * per_unit))
    ]
    return {"groups": groups, "model": None, "hosts": None, "hosts_per_unit": None}


def plan_document(text: dict[str, Any]) -> PlanSources:
    """The plan of a document; one that cannot be planned is no example."""
    fabric = planned(text).fabric
    assume(fabric is not None)
    assert fabric is not None
    return PlanSources(spec_of(text), fabric, {})


def find_owners(fabric: Fabric) -> dict[str, Owner]:
    """Address -> device and port of everything that has one; the port of a loopback is `loopback`."""
    found: dict[str, Owner] = {}
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        found[switch.management.address.partition("/")[0]] = (switch.name, "management")
        for address in (switch.loopback4, switch.loopback6, switch.bgp.router_id):
            if address:
                found[address] = (switch.name, "loopback")
        for port in switch.ports:
            for address in (port.ipv4, port.ipv6):
                if address:
                    found[address.partition("/")[0]] = (switch.name, port.name)
    for host_at in fabric.host_ids():
        host = fabric.host(host_at)
        for rail in host.ports:
            for address in (rail.ipv4, rail.ipv6):
                if address:
                    found[address.partition("/")[0]] = (host.name, rail.name)
    return found


def detail_values(explanation: Explanation) -> dict[str, str]:
    return dict(explanation.details)


@settings(max_examples=scale_examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(draw_documents(), st.data())
def test_an_assigned_address_is_that_of_the_port_that_has_it(
    text: dict[str, Any], data: st.DataObject
) -> None:
    plan = plan_document(text)
    everyone = find_owners(plan.fabric)
    for address in data.draw(st.lists(st.sampled_from(sorted(everyone)), min_size=8, max_size=20)):
        device, port = everyone[address]
        explanation = explain_address(plan, address)
        reported = detail_values(explanation)
        assert reported["device"] == device
        assert reported.get("port", port) == port
        (statement,) = explanation.statements
        assert statement.value == address
        assert statement.formulas[-1].value == address
        assert_formulas_hold(statement)


@settings(max_examples=scale_examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(draw_documents(), st.data())
def test_unassigned_addresses_have_no_owner(text: dict[str, Any], data: st.DataObject) -> None:
    plan = plan_document(text)
    everyone = find_owners(plan.fabric)
    for found in list_pools(plan.fabric):
        for offset in data.draw(st.lists(st.integers(0, (1 << min(found.pool.bits, 40)) - 1), max_size=12)):
            address = found.pool.address(offset)
            assert ("device" in detail_values(explain_address(plan, address))) == (address in everyone)


@settings(max_examples=scale_examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(draw_documents(), st.data())
def test_an_asn_is_that_of_the_switches_that_have_it(text: dict[str, Any], data: st.DataObject) -> None:
    plan = plan_document(text)
    switches: dict[int, list[str]] = {}
    for at in plan.fabric.switch_ids():
        switch = plan.fabric.switch(at)
        switches.setdefault(switch.bgp.asn, []).append(switch.name)
    base = plan.fabric.routing.asn_base
    for asn in [*switches, *data.draw(st.lists(st.integers(base - 1, base + (1 << 20)), max_size=20))]:
        explanation = explain_asn(plan, asn)
        reported = detail_values(explanation)
        listed = reported.get("device") or reported.get("devices", "")
        if asn not in switches:
            assert not listed
            assert "not assigned" in explanation.title
            continue
        names = switches[asn]
        assert (
            listed.partition(" and ")[0].split(", ") == names[: listed.partition(" and ")[0].count(", ") + 1]
        )
        assert len(names) == 1 or str(len(names)) in explanation.title
        assert_formulas_hold(explanation.statements[0])
        assert int(explanation.statements[0].formulas[-1].value) == asn


@settings(max_examples=scale_examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(draw_documents(), st.data())
def test_an_aggregate_is_that_of_the_tor_that_announces_it(text: dict[str, Any], data: st.DataObject) -> None:
    plan = plan_document(text)
    tors = [at for unit in plan.fabric.units for at in plan.fabric.tor_ids(unit)]
    switch = plan.fabric.switch(data.draw(st.sampled_from(tors)))
    for aggregate in switch.bgp.aggregates:
        explanation = explain_prefix(plan, aggregate)
        assert detail_values(explanation)["device"] == switch.name
        assert_formulas_hold(explanation.statements[0])
        _, first, length = explanation.statements[0].formulas
        assert f"{first.value}/{length.value}" == aggregate


PLAN = known_of(make_document(**TWO_POD_CORES, management={"ntp": ["172.16.0.2"], "syslog": ["192.0.2.7"]}))


def test_an_address_in_no_pool_names_the_nearest() -> None:
    outside = explain_address(PLAN, "10.144.0.0")
    assert outside.title == "in no pool of the plan: not assigned"
    assert outside.details[0] == ("nearest pool", "loopbacks 10.128.0.0/12")


def test_unassigned_address_explains_the_missing_coordinate() -> None:
    explanation = explain_address(PLAN, "10.64.3.255")
    assert explanation.title == "not assigned"
    assert detail_values(explanation)["nobody's"]


def test_servers_and_the_gateway_are_known_by_the_key_that_names_them() -> None:
    titles = {
        "172.16.0.1": "default gateway of the management network",
        "172.16.0.2": "NTP server",
        "192.0.2.7": "syslog server",
        "172.16.0.9": "left free for gateways and servers",
    }
    assert {address: explain_address(PLAN, address).title for address in titles} == titles
    (origin,) = explain_address(PLAN, "192.0.2.7").statements[0].origins
    assert (origin.source, origin.key) == (Source.SPEC, "management.syslog")
    assert "syslog" in PLAN.snippet(origin.position)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prefix", "title"),
    [
        ("10.0.0.0/10", "the hosts pool"),
        ("10.64.0.0/10", "the links pool"),
        ("172.16.0.0/16", "the management pool"),
        ("0.0.0.0/0", "no prefix of the plan"),
        ("10.0.0.0/30", "no prefix of the plan"),
        ("10.0.0.0/31", "link of su001-tor1a swp1 to su001-host01 rail0"),
        ("10.0.0.1/32", "link of su001-host01 rail0 to su001-tor1a swp1"),
    ],
)
def test_a_prefix_is_named_for_what_it_is(prefix: str, title: str) -> None:
    assert explain_prefix(PLAN, prefix).title == title


def test_links_that_are_unnumbered_have_no_addresses() -> None:
    plan = known_of(make_document(addressing={"fabric_links": "unnumbered"}))
    explanation = explain_address(plan, "10.64.0.1")
    assert explanation.title == "not assigned"
    assert "unnumbered" in explanation.statements[0].rule


WIDE = known_of(make_document(**TWO_POD_CORES, addressing={"family": "dual", "link_prefix_length": 30}))


def test_links_of_a_30_are_explained_by_their_inner_two_addresses() -> None:
    """Each end is its port's and its formula gives it; the outer two are nobody's, and the /30 is the link."""
    everyone = find_owners(WIDE.fabric)
    pool = ip_network(str(WIDE.fabric.addresses.links4))
    ends = {address: owner for address, owner in everyone.items() if ip_address(address) in pool}
    assert len(ends) == 2 * len({ip_network(f"{address}/30", strict=False) for address in ends}) > 0
    for address, (device, port) in ends.items():
        explanation = explain_address(WIDE, address)
        reported, (statement,) = detail_values(explanation), explanation.statements
        link = ip_network(f"{address}/30", strict=False)
        assert (reported["device"], reported["port"], reported["prefix"]) == (device, port, str(link))
        assert statement.formulas[-1].value == address
        assert_formulas_hold(statement)
        (far,) = {str(each) for each in link.hosts()} - {address}
        assert reported["far end"] == f"{' '.join(everyone[far])}, {far}"
        assert {explain_address(WIDE, str(link[end])).title for end in (0, 3)} == {"not assigned"}
        assert explain_prefix(WIDE, str(link)).title == explain_address(WIDE, str(link[1])).title


def test_the_pools_partition_what_is_assigned() -> None:
    networks = [ip_network(str(found.pool)) for found in list_pools(PLAN.fabric)]
    for address in find_owners(PLAN.fabric):
        assert sum(ip_network(address).subnet_of(network) for network in networks) == 1  # type: ignore[arg-type]
