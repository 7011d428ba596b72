"""The routing of a switch as the waist states it: sessions, policy, and how equal-cost paths share traffic."""

from __future__ import annotations

from enum import StrEnum

from fabricc.base.values import dataclass


class Spreading(StrEnum):
    """The unit that keeps its path through equal-cost links: a flow, a burst of it, or nothing.

    CLUSTER: ToRs deal out the RoCE flows of their hosts over the uplinks in turn.
    """

    HASH = "hash"
    FLOWLET = "flowlet"
    PACKET = "packet"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Settings for moving a flow from a loaded link without a pause (reactive path rebalancing).

    Attributes:
        probability: chance of a move, in 255ths.
        quality_delta: by how many bands of quality, 0 to 7, the other link has to be better.
    """

    probability: int
    quality_delta: int


@dataclass(frozen=True, slots=True)
class LoadBalancing:
    """Load sharing over equal-cost paths; addresses, protocol and ports are always hashed.

    Attributes:
        queue_pairs: hash the destination queue pair of the RoCE transport header too.
        flowlet_idle_us: pause that ends a flowlet; None for the platform's own.
        global_paths: weigh the load of the next switch's links too, which it reports in BGP.
        reassignment: when a flow moves without a pause; None for never.
    """

    mode: Spreading = Spreading.HASH
    queue_pairs: bool = False
    flowlet_idle_us: int | None = None
    global_paths: bool = False
    reassignment: Reassignment | None = None


class Transport(StrEnum):
    """The transport of a BGP session."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    UNNUMBERED = "unnumbered"


@dataclass(frozen=True, slots=True)
class PeerGroup:
    """Settings shared by the sessions in one direction, `UPSTREAM` or `DOWNSTREAM`, or with one outside party.

    Attributes:
        maximum_prefixes: per address family; more from one neighbor takes the session down.
        password: a reference to a secret (TCP MD5, RFC 2385); None without.
        evpn: (import, export) route maps of EVPN routes; None where the sessions carry none. Their number has no limit:
            whoever sends frames with many addresses would end the sessions of his ToR.
    """

    name: str
    import_map: str
    export_map: str
    maximum_prefixes: int
    password: str | None = None
    evpn: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One eBGP session (single hop). IPv4 and IPv6 transport have one family, unnumbered has all.

    Attributes:
        port: "" between loopbacks.
        local, remote: addresses without prefix length; None when unnumbered.
        label: what it is described by where the spec has words of its own; "" for the far device.
    """

    group: str
    transport: Transport
    port: str
    peer: str
    remote_asn: int
    local: str | None
    remote: str | None
    label: str = ""

    @property
    def description(self) -> str:
        """Text for the session's description."""
        return self.label or self.peer

    @property
    def carries_evpn(self) -> bool:
        """Return whether EVPN routes, where its group has any, go over it: one session of a link suffices."""
        return self.transport is not Transport.IPV6


@dataclass(frozen=True, slots=True)
class StaticRoute:
    """A route that no protocol learns: by next hops of equal cost, ascending, or without one to nowhere."""

    prefix: str
    via: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrefixRule:
    """Permits `prefix`, or its more specifics of a length from `ge` to `le`."""

    prefix: str
    ge: int | None = None
    le: int | None = None


@dataclass(frozen=True, slots=True)
class PrefixList:
    """A named list of permitted prefixes of one family (4 or 6); whatever it does not permit, it denies."""

    name: str
    family: int
    rules: tuple[PrefixRule, ...]


@dataclass(frozen=True, slots=True)
class CommunityList:
    """A named list that matches routes carrying the one standard community (RFC 1997) `community`."""

    name: str
    community: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One step of a route map; conditions are ANDed, the first clause that matches decides.

    Attributes:
        prefix_list, community_list: names to match, or None.
        local_preference: value to set, or None.
        add_community: community to add to those present, or None.
    """

    sequence: int
    permit: bool
    prefix_list: str | None = None
    family: int | None = None
    community_list: str | None = None
    local_preference: int | None = None
    add_community: str | None = None


@dataclass(frozen=True, slots=True)
class RouteMap:
    """A named list of clauses; a route that none matches is denied."""

    name: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class BgpSettings:
    """BGP settings of the spec that every switch has unchanged.

    The defaults are the schema's.

    Attributes:
        keepalive_s, hold_s: timers of a session.
        bfd_interval_ms: BFD transmit and receive interval; None without BFD.
        bfd_multiplier: lost packets until down.
        ttl_security: accept sessions only from one hop away (GTSM, RFC 5082).
    """

    keepalive_s: int
    hold_s: int
    bfd_interval_ms: int | None
    bfd_multiplier: int
    ttl_security: bool


OPTIONS = {"ttl_security": "BGP TTL security"}
"""Those of `BgpSettings` that not every NOS has, off unless a spec enables them -> the setting in words."""


@dataclass(frozen=True, slots=True)
class Bgp(BgpSettings):
    """One BGP process.

    Attributes:
        maximum_paths: equal-cost next hops to install.
        multipath_relax: accept equal-length paths whose AS_PATHs differ.
        ipv4, ipv6: address families carried.
        redistribute_map: route map for connected routes taken into BGP.
        aggregates: prefixes announced in place of their more specifics, only where no other device has these.
        static_map: route map for static routes taken into BGP; None where none are.
        evpn_transit: passes EVPN routes of others on: keeps their next hops, and those that it imports nowhere.
        overlay: sessions between loopbacks for EVPN routes, one with each neighboring switch; empty where the sessions
            of links carry these.
    """

    asn: int
    router_id: str
    maximum_paths: int
    multipath_relax: bool
    ipv4: bool
    ipv6: bool
    redistribute_map: str
    aggregates: tuple[str, ...]
    groups: tuple[PeerGroup, ...]
    sessions: tuple[Session, ...]
    prefix_lists: tuple[PrefixList, ...]
    community_lists: tuple[CommunityList, ...]
    route_maps: tuple[RouteMap, ...]
    static_map: str | None = None
    evpn_transit: bool = False
    overlay: tuple[Session, ...] = ()

    @property
    def every_session(self) -> tuple[Session, ...]:
        """Return the sessions of links, then those between loopbacks."""
        return (*self.sessions, *self.overlay)

    @property
    def evpn_sessions(self) -> tuple[tuple[Session, PeerGroup], ...]:
        """The sessions that carry EVPN routes, each with its group."""
        groups = {group.name: group for group in self.groups if group.evpn}
        return tuple(
            (each, groups[each.group])
            for each in self.overlay or self.sessions
            if each.group in groups and each.carries_evpn
        )

    @property
    def families(self) -> tuple[str, ...]:
        """The address families carried, as facts name them."""
        return tuple(name for name, on in (("ipv4", self.ipv4), ("ipv6", self.ipv6)) if on)

    def list_carried_families(self, transport: Transport) -> tuple[str, ...]:
        """Return the address families that sessions over a transport carry."""
        return self.families if transport is Transport.UNNUMBERED else (transport.value,)

    @property
    def groups_in_use(self) -> list[tuple[PeerGroup, Transport]]:
        """The peer groups with each transport that any session of theirs has."""
        used = {(session.group, session.transport) for session in self.sessions}
        return [(group, each) for group in self.groups for each in Transport if (group.name, each) in used]
