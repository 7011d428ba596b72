"""A prefix: a pool, the aggregate of a ToR, or what lies at both its ends."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.fabric import links
from fabricc.review.explain import coordinates, formulas
from fabricc.review.explain.addresses import explain_address
from fabricc.review.explain.given import given_origins
from fabricc.review.explain.model import Explanation, single_explanation
from fabricc.review.explain.origins import stride_origins
from fabricc.review.explain.places import coordinates_text, identity_origins
from fabricc.review.explain.pools import (
    AGGREGATE_RULE,
    DOCS,
    HOST_RULE,
    LINK_RULE,
    LOOPBACK_RULE,
    list_pools,
    management_rule,
    offset_in,
)

if TYPE_CHECKING:
    from fabricc.review.explain.coordinates import Place
    from fabricc.review.explain.origins import PlanSources
    from fabricc.review.explain.pools import Found

    Network = IPv4Network | IPv6Network


def explain_prefix(plan: PlanSources, text: str) -> Explanation:
    """What a prefix is: a pool, a ToR's aggregate, a link or an address; else what its first and last address are.

    Raises:
        ValueError: it is no prefix.
    """
    network = ip_network(text, strict=False)
    if network.num_addresses <= 2:
        address = text.partition("/")[0]
        return explain_address(plan, address)
    fabric, first = plan.fabric, int(network.network_address)
    for found in list_pools(fabric):
        same = found.pool.version == network.version
        if same and (found.pool.first, found.pool.length) == (first, network.prefixlen):
            return _explain_pool(plan, network, found)
        inside = offset_in(found.pool, network.network_address) is not None
        if inside and found.pool.wide and network.prefixlen == found.pool.link_length:
            return explain_address(plan, str(network[1]))
        whole = network.prefixlen == network.max_prefixlen - fabric.aggregate_bits()
        if inside and found.name == "hosts" and whole:
            offset, six = first - found.pool.first, found.pool.version == 6
            place = coordinates.host_address(fabric, offset, network.version)
            there = place.unit in fabric.units and place.switch in fabric.tor_ids(place.unit)
            if there and links.host_blocks(fabric, place.switch, place.host_unit)[six] == offset:
                return _explain_aggregate(plan, network, found, place)
    return _explain_part(plan, network)


def _explain_pool(plan: PlanSources, network: Network, found: Found) -> Explanation:
    rules = {
        "hosts": HOST_RULE,
        "links": LINK_RULE,
        "loopbacks": LOOPBACK_RULE,
        "management": management_rule(plan.fabric, found),
    }
    details = (("addresses", f"{network.num_addresses:,}"), ("key", found.key))
    title, origins = f"the {found.name} pool", plan.all_of([found.key])
    return single_explanation(
        "prefix", str(network), title, details, rules[found.name], origins, name="pool", docs=DOCS
    )


def _explain_aggregate(plan: PlanSources, network: Network, found: Found, place: Place) -> Explanation:
    fabric, tor = plan.fabric, place.switch
    served = next(((slots, rails) for unit, slots, rails in links.served_slots(fabric, tor)
                   if unit.coordinate == place.host_unit), ([], range(0)))  # fmt: skip
    used = len(served[0]) * len(served[1])
    details = (
        ("device", fabric.name(tor)),
        ("holds", f"{used} host links, room for {fabric.strides.host * fabric.strides.rail}"),
        ("coordinates", coordinates_text(place._replace(slot=-1, rail=-1))),
    )
    given = formulas.given_block(fabric, tor, place.host_unit, network.version)
    pins = (
        *stride_origins(plan, "host", "rail", "unit", "nic_port"),
        *identity_origins(plan, place.host_unit),
    )
    origins = (*plan.all_of([found.key]), *pins)
    if given:
        origins = given_origins(plan, tor, f"hosts{network.version}")
    steps, title = (
        formulas.aggregate_formulas(fabric, tor, place.host_unit, found.pool),
        f"aggregate of {fabric.name(tor)}",
    )
    return single_explanation(
        "prefix", str(network), title, details, AGGREGATE_RULE, origins, steps, name="aggregate", docs=DOCS
    )


def _explain_part(plan: PlanSources, network: Network) -> Explanation:
    """Explain a prefix that the plan does not have, by the addresses at both of its ends."""
    ends = [explain_address(plan, str(address)) for address in (network[0], network[-1])]
    inside = [
        f"{each.name} {each.pool}"
        for each in list_pools(plan.fabric)
        if each.pool.version == network.version
        and network.overlaps(ip_network(str(each.pool)))
    ]  # fmt: skip
    details = (
        ("pools", ", ".join(inside) or "none"),
        ("first", f"{network[0]}: {ends[0].title}"),
        ("last", f"{network[-1]}: {ends[1].title}"),
    )
    return Explanation("prefix", str(network), "no prefix of the plan", details, ())
