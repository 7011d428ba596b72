"""The sample ToR in every form, each with the spine that its first uplink leads to."""

from __future__ import annotations

import ipaddress
from dataclasses import replace

from fabricc.back.nos.frr import FRR
from fabricc.base.values import shared_attributes
from fabricc.fabric.model import Direction, Peer, Port, Switch
from fabricc.fabric.routing import (
    Bgp,
    BgpSettings,
    Clause,
    PeerGroup,
    PrefixList,
    PrefixRule,
    RouteMap,
    Session,
)
from fabricc.fabric.shape import TierName
from tests.samples import switch_model, tor, with_radius, with_settings

MODEL = switch_model(frr={"port": "swp{cage}"})
CHILDREN = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1))
NAMES = tuple(FRR.port_name(MODEL, cage, child, 2) for cage, child in CHILDREN)
SPINE_PORT = "swp1"


def canonical_address(address: str | None) -> str | None:
    """An address, with or without length, as RFC 5952 spells it."""
    if address is None:
        return None
    host, _, length = address.partition("/")
    return str(ipaddress.ip_address(host)) + (f"/{length}" if length else "")


def sample(
    *, unnumbered: bool = False, dual: bool = False, drained: bool = False, lossless: bool = True
) -> Switch:
    switch = tor(NAMES, model=MODEL, unnumbered=unnumbered, dual=dual, drained=drained, lossless=lossless)
    sessions = tuple(
        replace(s, local=canonical_address(s.local), remote=canonical_address(s.remote))
        for s in switch.bgp.sessions
    )
    return replace(
        switch,
        ports=tuple(replace(port, ipv6=canonical_address(port.ipv6)) for port in switch.ports),
        bgp=replace(switch.bgp, sessions=sessions),
    )


VARIANTS = {
    "numbered": sample(),
    "unnumbered": sample(unnumbered=True),
    "dual": sample(dual=True),
    "dual-unnumbered": sample(dual=True, unnumbered=True),
    "drained": sample(dual=True, drained=True),
    "settings": with_settings(sample(dual=True)),
    "radius": with_radius(sample()),
}


def make_spine(leaf: Switch) -> Switch:
    """The spine of the ToR's first uplink, with that one cable."""
    uplink = next(port for port in leaf.ports if port.direction is Direction.UP)
    dual = leaf.bgp.ipv6
    families = (4, 6) if dual else (4,)
    port = Port(
        name=SPINE_PORT,
        cage=1,
        child=1,
        children=1,
        lanes=4,
        speed_gbps=400,
        direction=Direction.DOWN,
        enabled=True,
        mtu=9100,
        peer=Peer(leaf.name, uplink.name),
        ipv4="10.64.0.0/31" if uplink.ipv4 else None,
        ipv6="fd00:1::/127" if uplink.ipv6 else None,
        unnumbered=uplink.unnumbered,
    )
    sessions = tuple(
        Session("DOWNSTREAM", s.transport, SPINE_PORT, leaf.name, leaf.bgp.asn, s.remote, s.local)
        for s in leaf.bgp.sessions
        if s.port == uplink.name
    )
    fabric = tuple(Clause(100 * i + 20, True, f"FABRIC-V{f}", f) for i, f in enumerate(families))
    drained = tuple(
        Clause(100 * i + 10, True, f"FABRIC-V{f}", f, "GRACEFUL-SHUTDOWN", 0) for i, f in enumerate(families)
    )
    own = tuple(Clause(100 * i + 10, True, f"CONNECTED-V{f}", f) for i, f in enumerate(families))
    lists = tuple(pl for pl in leaf.bgp.prefix_lists if pl.name.startswith("FABRIC"))
    lists += (PrefixList("CONNECTED-V4", 4, (PrefixRule("10.128.1.1/32"),)),)
    lists += (PrefixList("CONNECTED-V6", 6, (PrefixRule("fd00:2::101/128"),)),) if dual else ()
    bgp = Bgp(
        **shared_attributes(leaf.bgp, BgpSettings),
        asn=4_200_001_000,
        router_id="10.128.1.1",
        maximum_paths=64,
        multipath_relax=True,
        ipv4=True,
        ipv6=dual,
        redistribute_map="CONNECTED",
        aggregates=(),
        groups=(PeerGroup("DOWNSTREAM", "FROM-DOWNSTREAM", "TO-DOWNSTREAM", 256),),
        sessions=sessions,
        prefix_lists=lists,
        community_lists=leaf.bgp.community_lists,
        route_maps=(
            RouteMap("FROM-DOWNSTREAM", tuple(sorted(fabric + drained, key=lambda c: c.sequence))),
            RouteMap("TO-DOWNSTREAM", fabric),
            RouteMap("CONNECTED", own),
        ),
    )
    return replace(
        leaf,
        name="spine01a",
        tier=TierName.SPINE,
        unit=None,
        loopback4="10.128.1.1",
        loopback6="fd00:2::101" if dual else None,
        drained=False,
        ports=(port,),
        bgp=bgp,
    )


SPINES = {name: make_spine(leaf) for name, leaf in VARIANTS.items()}
