"""Compute the BGP of one switch from coordinates: originated prefixes, policy and groups of peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import replace, shared_attributes
from fabricc.fabric import links
from fabricc.fabric.external import Exit, family_of
from fabricc.fabric.routing import Bgp, BgpSettings, PeerGroup, PrefixList, PrefixRule, Session, Transport
from fabricc.fabric.routing_policy import EVPN_MAPS, INSIDE, Outside, build_policy, prefix_lists
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.fabric.tenants import STATIC_MAP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.design import AddressPlan, Design


def expand_bgp(
    fabric: Design, at: SwitchId, sessions: tuple[Session, ...], drained: bool, exits: Mapping[str, Exit]
) -> Bgp:
    """Return the BGP of a switch, with its policy and its groups of peers."""
    plan, addresses = fabric.routing, fabric.addresses
    outside = _external_routing(fabric, at, exits, sessions) if fabric.external.outsiders else INSIDE
    connected: list[tuple[int, PrefixRule]] = []
    own: list[tuple[int, PrefixRule]] = []
    announced: list[str] = []  # by a ToR alone: no other path leads below it
    for version, full, aggregates, loopback in _originated_families(fabric, at):
        announced += aggregates
        connected += [(version, PrefixRule(each, full - 1, full - 1)) for each in aggregates]
        connected.append((version, PrefixRule(loopback)))
        own += [(version, PrefixRule(each)) for each in (*aggregates, loopback)]
    upstream = _name_upstream(fabric, at)
    rules = build_policy(
        at.tier,
        upstream=upstream,
        drained=drained,
        fabric=_fabric_lists(addresses, fabric.aggregate_bits(), not fabric.underlay_hosts),
        connected=prefix_lists("CONNECTED", connected),
        own=prefix_lists("OWN", own) if at.tier is TierName.TOR else (),
        outside=outside,
        evpn=fabric.overlay,
    )
    return Bgp(
        **shared_attributes(plan, BgpSettings),
        asn=links.switch_asn(fabric, at),
        router_id=loopback_address(fabric, at, addresses.loopbacks4),
        maximum_paths=plan.maximum_paths,
        multipath_relax=True,
        ipv4=addresses.hosts4 is not None,
        ipv6=addresses.hosts6 is not None,
        redistribute_map="CONNECTED",
        aggregates=tuple(announced),
        groups=tuple(_expand_groups(fabric, at, upstream, outside, exits)),
        sessions=sessions,
        prefix_lists=rules.prefix_lists,
        community_lists=rules.community_lists,
        route_maps=rules.route_maps,
        static_map=STATIC_MAP if outside.static and not fabric.tenancy else None,
        evpn_transit=fabric.overlay and at.tier is not TierName.TOR,
        overlay=_expand_overlay(fabric, at) if fabric.tenancy and fabric.tenancy.loopbacks else (),
    )


GROUPS = {links.UP: "UPSTREAM", links.DOWN: "DOWNSTREAM", links.PEER: "PEER"}
"""Direction of a link -> the peer group of its sessions."""


def _expand_overlay(fabric: Design, at: SwitchId) -> tuple[Session, ...]:
    """Return the sessions for EVPN routes with the loopbacks of all switches that a switch has links to."""
    pool = fabric.addresses.loopbacks4
    own = loopback_address(fabric, at, pool)
    return tuple(
        Session(GROUPS[way], Transport.IPV4, "", name, asn, own, loopback_address(fabric, far, pool))
        for name, (way, far, asn) in links.neighbors_of(fabric, at).items()
    )


def _expand_groups(
    fabric: Design, at: SwitchId, upstream: str, outside: Outside, exits: Mapping[str, Exit]
) -> list[PeerGroup]:
    """Return the groups of peers: below, above, and each party outside of the fabric."""
    plan, groups = fabric.routing, []
    if at.tier is not TierName.TOR:
        limit = plan.limit_from_tor if at.tier is TierName.SPINE else plan.limit_from_spine
        limit = _raise_limit(limit, outside.from_below, fabric)
        groups.append(PeerGroup("DOWNSTREAM", "FROM-DOWNSTREAM", "TO-DOWNSTREAM", limit))
    if upstream:
        limit = _raise_limit(plan.limit_from_above, bool(outside.accepted), fabric)
        groups.append(PeerGroup(upstream, f"FROM-{upstream}", f"TO-{upstream}", limit))
    if fabric.overlay:
        groups = [replace(group, evpn=EVPN_MAPS[group.name]) for group in groups]
    outsiders = {exit_.outsider.group: exit_.outsider for exit_ in exits.values()}
    for name, _ in outside.parties:
        party = outsiders[name]
        groups.append(PeerGroup(name, f"FROM-{name}", "TO-EXTERNAL", party.maximum_prefixes, party.password))
    return groups


def _name_upstream(fabric: Design, at: SwitchId) -> str:
    """Return the peer group of the switches through which a switch reaches the rest of the fabric; "" for none."""
    if at.tier is TierName.TOR and fabric.shape.peer_links:
        return "PEER"
    above = {TierName.TOR: fabric.shape.spines, TierName.SPINE: fabric.shape.cores}.get(at.tier, 0)
    return "UPSTREAM" if above else ""


def _raise_limit(limit: int, outside: bool, fabric: Design) -> int:
    """Return a limit of prefixes: the given one, or that of the plan with room for those from outside."""
    if fabric.routing.maximum_prefixes is not None:
        return fabric.routing.maximum_prefixes
    return 1 << (limit + fabric.external.most - 1).bit_length() if outside else limit


def _external_routing(
    fabric: Design, at: SwitchId, exits: Mapping[str, Exit], sessions: tuple[Session, ...]
) -> Outside:
    """Return how a switch handles external routes; it redistributes static ones to BGP where it has a session."""
    external, bits = fabric.external, fabric.aggregate_bits()
    tenancy = fabric.tenancy
    tiers = (TierName.TOR, TierName.SPINE, TierName.CORE)
    below = any(tier in external.tiers for tier in tiers[: tiers.index(at.tier)])
    parties: dict[str, tuple[PrefixList, ...]] = {}
    static: dict[tuple[int, PrefixRule], None] = {}
    for outsider in dict.fromkeys(exit_.outsider for exit_ in exits.values()):
        rules = [(family_of(rule.prefix), rule) for rule in outsider.accept]
        if outsider.asn is None:
            static |= dict.fromkeys(rules if sessions and (tenancy is None or tenancy.tunnels) else ())
        else:
            parties[outsider.group] = prefix_lists(f"ACCEPT-{outsider.name.upper()}", rules)
    if tenancy:  # in VRFs, whose routes no session of the underlay has
        return replace(INSIDE, static=prefix_lists(STATIC_MAP, tuple(static)))
    aggregates = [
        (family, PrefixRule(str(hosts), full - bits, full - bits))
        for family, full, hosts, _ in _address_families(fabric.addresses)
    ]
    return Outside(
        prefix_lists("OUTSIDE", external.accepted), below, below or bool(exits), tuple(parties.items()),
        prefix_lists(STATIC_MAP, tuple(static)), prefix_lists("AGGREGATES", aggregates),
    )  # fmt: skip


def _address_families(addresses: AddressPlan) -> Iterator[tuple[int, int, Pool, Pool]]:
    """(version, host length, host pool, loopback pool) of every family in use."""
    if addresses.hosts4:
        yield 4, 32, addresses.hosts4, addresses.loopbacks4
    if addresses.hosts6 and addresses.loopbacks6:
        yield 6, 128, addresses.hosts6, addresses.loopbacks6


def _fabric_lists(addresses: AddressPlan, bits: int, hidden: bool) -> tuple[PrefixList, ...]:
    """Return what all switches originate; `hidden`: hosts are in segments or VRFs of tenants, and no part of that."""
    rules = []
    for version, full, hosts, loopbacks in _address_families(addresses):
        if not hidden:
            rules.append((version, PrefixRule(str(hosts), full - bits, full - bits)))
        rules.append((version, PrefixRule(str(loopbacks), full, full)))
    return prefix_lists("FABRIC", rules)


def originated_prefixes(fabric: Design, at: SwitchId) -> Iterator[str]:
    """Yield the prefixes that a switch originates: a ToR's aggregates, and everyone's loopbacks."""
    for _, _, aggregates, loopback in _originated_families(fabric, at):
        yield from (*aggregates, loopback)


def _originated_families(fabric: Design, at: SwitchId) -> Iterator[tuple[int, int, tuple[str, ...], str]]:
    """(version, host length, aggregates of a ToR, prefix of the loopback) of every family in use."""
    for version, full, hosts, loopbacks in _address_families(fabric.addresses):
        aggregates = tuple(_host_aggregates(fabric, at, hosts)) if at.tier is TierName.TOR else ()
        yield version, full, aggregates, f"{loopback_address(fabric, at, loopbacks)}/{full}"


def _host_aggregates(fabric: Design, at: SwitchId, hosts: Pool) -> Iterator[str]:
    """Return the blocks of the host links of a ToR: one for its unit, and one for each unit of guests that it serves.

    None where hosts are in segments or VRFs of tenants: their subnets are not in the table that switches share.
    """
    if not fabric.underlay_hosts:
        return
    for unit, _, _ in links.served_slots(fabric, at):
        block = links.host_blocks(fabric, at, unit.coordinate)[hosts.version == 6]
        yield hosts.prefix(block, fabric.aggregate_bits())


def loopback_address(fabric: Design, at: SwitchId, pool: Pool) -> str:
    """Return the loopback of a switch from one of the pools of loopbacks."""
    return pool.address(links.loopback_offset(fabric, at, pool))
