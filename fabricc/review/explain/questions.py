"""Explain what the user named: a code, an address, a prefix, an ASN, a device, a port, or some of their facts.

A prefix is a pool, the aggregate of a ToR, or a link with both its ends.
"""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.base.documents.document import clip
from fabricc.fabric import links
from fabricc.fabric.facts import congestion_facts, setting_facts, switch_facts
from fabricc.fabric.model import Host
from fabricc.fabric.shape import DeviceId, HostId
from fabricc.review.explain import coordinates, formulas, pools
from fabricc.review.explain import origins as value_origins
from fabricc.review.explain.addresses import explain_address
from fabricc.review.explain.asns import explain_asn
from fabricc.review.explain.devices import explain_device, explain_facts, explain_port
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.groups import explain_group, explain_party, group_names, party_of
from fabricc.review.explain.model import Explanation, SubjectError, single_explanation
from fabricc.review.explain.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric

    Network = IPv4Network | IPv6Network

_ASN = re.compile(r"(?:AS)?([0-9]{1,10})", re.IGNORECASE)
_NEAR = 3


def subject_of(plan: value_origins.PlanSources, at: DeviceId) -> Subject:
    """Return the switch or host at some coordinates, with its facts."""
    if isinstance(at, HostId):
        host = plan.fabric.host(at)
        facts = hosts.planned(host)
        return Subject(plan, at, host, facts, facts)
    switch = plan.fabric.switch(at)
    waist = {**switch_facts(switch), **setting_facts(switch), **congestion_facts(switch.qos)}
    return Subject(plan, at, switch, back_ends.load(switch.nos).planned(switch), waist)


def explain_name(plan: value_origins.PlanSources, name: str, words: Sequence[str] = ()) -> Explanation:
    """Explain a name: an address, a prefix, an ASN, a device, `DEVICE:PORT`, an outside party, a group of hosts.

    `words` choose facts of the device or port, or of the one that has the address or ASN.

    Raises:
        SubjectError: FAB9270, nothing has that name; FAB9274, the device states no such fact.
    """
    named = _explain_number(plan, name)
    if named is not None and not words:
        return named
    device, _, port = name.partition(":")
    if named is not None:
        owner = dict(named.details)
        device, port = owner.get("device", ""), owner.get("port", "")
    at = plan.fabric.find(device) or plan.fabric.find(plan.fabric.moves.present(device))
    if at is None and not words and (party := party_of(plan.fabric, name)) is not None:
        return explain_party(plan, party)
    if at is None and not words and (group := explain_group(plan, name)) is not None:
        return group
    if at is None:
        raise _not_found(plan, name) if named is None else _no_device(named)
    subject = subject_of(plan, at)
    rest = list(words)
    if not port and rest and rest[0] in subject.ports:
        port = rest.pop(0)
    if port and port not in subject.ports:
        raise _no_port(subject, port)
    explainer = Explainer(plan)
    if rest:
        return explain_facts(explainer, subject, port, " ".join(rest))
    return explain_port(explainer, subject, port) if port else explain_device(explainer, subject)


def has_name(fabric: Fabric, name: str) -> bool:
    """Return whether a fabric has an address or prefix (also external), an ASN in its block, a device or a port."""
    with suppress(ValueError):
        network = ip_network(name, strict=False)
        return any(network.subnet_of(block) for block in _blocks(fabric) if block.version == network.version)  # type: ignore[arg-type]
    if number := _ASN.fullmatch(name):
        asn, block = int(number[1]), fabric.routing.asns
        given = any(own.asn == asn for own in fabric.given.switches.values())
        return given or block.first <= asn <= block.last
    device, _, port = name.partition(":")
    at = fabric.find(device)
    if fabric.network and isinstance(at, HostId) and (port or device in fabric.guests):
        return re.fullmatch(rf"{fabric.network}\d+[a-z]?", port) is not None
    known = at is not None or bool(fabric.moves.present(device))
    return known or party_of(fabric, name) is not None


def _blocks(fabric: Fabric) -> Iterator[IPv4Network | IPv6Network]:
    links = (link for outsider in fabric.external.outsiders for link in outsider.links)
    ends = (end for link in links for end in (link.ipv4, link.ipv6) if end is not None)
    segments = fabric.evpn.segments if fabric.evpn else ()
    subnets = (subnet for each in segments for subnet in (each.subnet4, each.subnet6) if subnet is not None)
    blocks = (*fabric.addresses.pools().values(), *subnets, *ends)
    return (ip_network(str(block), strict=False) for block in blocks)


def _explain_number(plan: value_origins.PlanSources, name: str) -> Explanation | None:
    """Explain an address, a prefix or an ASN; None for anything else."""
    number = _ASN.fullmatch(name)
    if number is not None and plan.fabric.find(name) is None:
        return explain_asn(plan, int(number[1]))
    with suppress(ValueError):
        return explain_prefix(plan, name) if "/" in name else explain_address(plan, name)
    return None


def _no_device(named: Explanation) -> SubjectError:
    message = f"{named.subject} ({named.title}) is not one device's, so there are no settings of it"
    return SubjectError("FAB9274", message, "Name a device, or DEVICE:PORT.")


def _not_found(plan: value_origins.PlanSources, name: str) -> SubjectError:
    device = name.partition(":")[0]
    names = list(_known_names(plan))
    inside = [each for each in names if device and device in each][:_NEAR]
    near = inside or get_close_matches(device, names, _NEAR)
    hint = f"Give an address, a prefix, an ASN, or a device such as {next(_known_names(plan))}."
    if near:
        hint = f"Near: {', '.join(near)}."
    message = f"'{clip(name)}' is not an address, ASN, device, unit, tenant or class of {plan.fabric.cluster}"
    return SubjectError("FAB9270", message, hint)


def _known_names(plan: value_origins.PlanSources) -> Iterator[str]:
    fabric = plan.fabric
    yield from (fabric.name(at) for at in fabric.switch_ids())
    for unit in fabric.units.values():
        yield from unit.hosts.values()
    yield from (party.name for party in fabric.external.outsiders)
    yield from group_names(fabric)


def _no_port(subject: Subject, port: str) -> SubjectError:
    names = list(subject.ports)
    near = get_close_matches(port, names, _NEAR) or names[:_NEAR]
    kind = "host" if isinstance(subject.device, Host) else "switch"
    message = f"{kind} {subject.device.name} has no port '{clip(port)}'"
    return SubjectError("FAB9270", message, f"It has, for example: {', '.join(near)}.")


def explain_prefix(plan: value_origins.PlanSources, text: str) -> Explanation:
    """Explain a prefix: a pool, a ToR's aggregate, a link or an address; otherwise its first and last address.

    Raises:
        ValueError: it is no prefix.
    """
    network = ip_network(text, strict=False)
    if network.num_addresses <= 2:
        address = text.partition("/")[0]
        return explain_address(plan, address)
    fabric, first = plan.fabric, int(network.network_address)
    for found in pools.list_pools(fabric):
        same = found.pool.version == network.version
        if same and (found.pool.first, found.pool.length) == (first, network.prefixlen):
            return _explain_pool(plan, network, found)
        inside = pools.offset_in(found.pool, network.network_address) is not None
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


def _explain_pool(
    plan: value_origins.PlanSources, network: Network, found: pools.ContainingPool
) -> Explanation:
    rules = {
        "hosts": pools.HOST_RULE,
        "links": pools.LINK_RULE,
        "loopbacks": pools.LOOPBACK_RULE,
        "management": pools.management_rule(plan.fabric, found),
    }
    details = (("addresses", f"{network.num_addresses:,}"), ("key", found.key))
    title, origins = f"the {found.name} pool", plan.all_of([found.key])
    return single_explanation(
        "prefix", str(network), title, details, rules[found.name], origins, name="pool", docs=pools.DOCS
    )


def _explain_aggregate(
    plan: value_origins.PlanSources, network: Network, found: pools.ContainingPool, place: coordinates.Place
) -> Explanation:
    fabric, tor = plan.fabric, place.switch
    served = next(((slots, rails) for unit, slots, rails in links.served_slots(fabric, tor)
                   if unit.coordinate == place.host_unit), ([], range(0)))  # fmt: skip
    used = len(served[0]) * len(served[1])
    details = (
        ("device", fabric.name(tor)),
        ("holds", f"{used} host links, room for {fabric.strides.host * fabric.strides.rail}"),
        ("coordinates", value_origins.coordinates_text(place._replace(slot=-1, rail=-1))),
    )
    given = formulas.given_block(fabric, tor, place.host_unit, network.version)
    pins = (
        *value_origins.stride_origins(plan, "host", "rail", "unit", "nic_port"),
        *value_origins.identity_origins(plan, place.host_unit),
    )
    origins = (*plan.all_of([found.key]), *pins)
    if given:
        origins = value_origins.given_origins(plan, tor, f"hosts{network.version}")
    steps, title = (
        formulas.aggregate_formulas(fabric, tor, place.host_unit, found.pool),
        f"aggregate of {fabric.name(tor)}",
    )
    return single_explanation(
        "prefix",
        str(network),
        title,
        details,
        pools.AGGREGATE_RULE,
        origins,
        steps,
        name="aggregate",
        docs=pools.DOCS,
    )


def _explain_part(plan: value_origins.PlanSources, network: Network) -> Explanation:
    """Explain a prefix that the plan does not have, by the addresses at both of its ends."""
    ends = [explain_address(plan, str(address)) for address in (network[0], network[-1])]
    inside = [
        f"{each.name} {each.pool}"
        for each in pools.list_pools(plan.fabric)
        if each.pool.version == network.version
        and network.overlaps(ip_network(str(each.pool)))
    ]  # fmt: skip
    details = (
        ("pools", ", ".join(inside) or "none"),
        ("first", f"{network[0]}: {ends[0].title}"),
        ("last", f"{network[-1]}: {ends[1].title}"),
    )
    return Explanation("prefix", str(network), "no prefix of the plan", details, ())
