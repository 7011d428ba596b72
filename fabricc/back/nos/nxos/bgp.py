"""BGP on NX-OS and its policy: peer templates per transport, neighbors, prefix lists, community lists, route maps."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import cli_dialect
from fabricc.back.nos.base import ROUNDED, Departure
from fabricc.back.nos.nxos import words
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, neighbor_key
from fabricc.fabric.routing import Bgp, Clause, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

    Stated = tuple[str, Value, int]

DEPARTURES = (
    Departure("bgp/neighbor[*]/families", ROUNDED, "a session over link-local addresses has both families"),
)

DEFAULT_TIMERS_S = (60, 180)
GTSM_HOPS = 1

# RFC 1997 and RFC 8326 values that NX-OS takes by name; the last it prints as a number.
COMMUNITY_NAMES = {"65535:65281": "no-export", "65535:65282": "no-advertise", "65535:65283": "local-AS"}
COMMUNITY_OF = {name: value for value, name in COMMUNITY_NAMES.items()} | {"graceful-shutdown": "65535:0"}

WORDS = {"ipv4": "ip", "ipv6": "ipv6"}
_FAMILIES = {Transport.IPV4: ("ipv4",), Transport.IPV6: ("ipv6",), Transport.UNNUMBERED: ("ipv4", "ipv6")}
"""Families of a session over link-local addresses: both, also if one has no routes."""


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


def process_families(bgp: Bgp) -> dict[str, bool]:
    """Return the process's families -> whether the fabric uses them; unnumbered sessions need both."""
    unnumbered = any(s.transport is Transport.UNNUMBERED for s in bgp.sessions)
    stated = {"ipv4": bgp.ipv4, "ipv6": bgp.ipv6}
    return {family: carried for family, carried in stated.items() if carried or unnumbered}


def map_name(bgp: Bgp, name: str, family: str) -> str:
    """Return the name of a route map in a family: a process with two families has separate maps.

    What a clause that matches IPv4 addresses does with an IPv6 route is not published, so none ever meets one.
    """
    return name + words.FAMILY_SUFFIXES[family] if len(process_families(bgp)) > 1 else name


def list_clauses(bgp: Bgp) -> Iterator[tuple[str, Clause]]:
    """(name of the map, clause) of all maps; a family that no clause is about is denied as a whole."""
    united = words.evpn_maps(bgp)
    for route_map in bgp.route_maps:
        apart = len(process_families(bgp)) > 1 and route_map.name not in united
        for family, carried in process_families(bgp).items() if apart else ():
            if route_map.name in (bgp.redistribute_map, bgp.static_map) and not carried:
                continue
            own = [c for c in route_map.clauses if c.prefix_list is None or _clause_family(c) == family]
            for clause in own or [Clause(10, False)]:
                yield map_name(bgp, route_map.name, family), clause
        if not apart:
            yield from ((route_map.name, clause) for clause in route_map.clauses)


def _clause_family(clause: Clause) -> str:
    return "ipv6" if clause.family == 6 else "ipv4"


@dataclass(frozen=True, slots=True)
class PolicyView:
    """The policies of one address family of a peer template."""

    name: str
    import_map: str
    export_map: str


@dataclass(frozen=True, slots=True)
class TemplateView:
    """One peer template: the sessions of one group and one transport, since families belong to it."""

    name: str
    families: list[PolicyView]
    maximum_prefixes: int
    password: str | None
    evpn: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class FamilyView:
    """One address family of the process; a map is None if the fabric has no such routes."""

    name: str
    redistribute_map: str | None
    static_map: str | None
    aggregates: list[str]


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at NX-OS's defaults, `ttl_hops` where the TTL is not checked.

    `unchanged`: the route maps that leave next hops of EVPN routes as they are.
    """

    process: Bgp
    static_routes: list[tuple[str, str, str]]
    timers: tuple[int, int] | None
    ttl_hops: int | None
    families: list[FamilyView]
    templates: list[TemplateView]
    neighbors: list[cli_dialect.NeighborView]
    prefix_lists: list[cli_dialect.PrefixListView]
    community_lists: list[cli_dialect.CommunityListView]
    clauses: list[cli_dialect.ClauseView]
    unchanged: frozenset[str]


def bgp_view(switch: Switch) -> BgpView:
    """Return the view of one BGP process, its policy, and the static routes."""
    bgp = switch.bgp
    timers = (bgp.keepalive_s, bgp.hold_s)
    return BgpView(
        process=bgp,
        static_routes=cli_dialect.static_lines(switch.static_routes, words.DISCARD),
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        ttl_hops=GTSM_HOPS if bgp.ttl_security else None,
        families=[
            FamilyView(
                family,
                map_name(bgp, bgp.redistribute_map, family) if carried else None,
                map_name(bgp, bgp.static_map, family) if carried and bgp.static_map else None,
                sorted((a for a in bgp.aggregates if (":" in a) == (family == "ipv6")), key=_prefix_order),
            )
            for family, carried in process_families(bgp).items()
        ],
        templates=[
            TemplateView(
                cli_dialect.group_name(group.name, transport),
                [
                    PolicyView(f, map_name(bgp, group.import_map, f), map_name(bgp, group.export_map, f))
                    for f in _FAMILIES[transport]
                ],
                group.maximum_prefixes,
                group.password,
                None if transport is Transport.IPV6 else group.evpn,
            )
            for group, transport in cli_dialect.groups_in_use(bgp)
        ],
        neighbors=[
            *map(
                cli_dialect.neighbor_view,
                (*cli_dialect.numbered_sessions(bgp), *cli_dialect.unnumbered_sessions(bgp)),
            )
        ],
        prefix_lists=cli_dialect.prefix_lists(bgp),
        community_lists=cli_dialect.community_lists(bgp, COMMUNITY_NAMES),
        clauses=[
            cli_dialect.clause_view(name, clause, COMMUNITY_NAMES)
            for name, clause in sorted(
                list_clauses(bgp), key=lambda c: (natural_key(c[0].lower()), c[1].sequence)
            )
        ],
        unchanged=frozenset(name for name in words.evpn_maps(bgp) if words.keeps_next_hop(bgp, name)),
    )


def _prefix_order(prefix: str) -> tuple[int, int]:
    network = ip_network(prefix, strict=False)
    return int(network.network_address), network.prefixlen


def community_word(community: str | None) -> str | None:
    """Return a community as a device prints it: by its name where it has one."""
    return COMMUNITY_NAMES.get(community, community) if community else None


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """State facts beyond the neutral ones: families, routes that templates send, lines of clauses."""
    bgp = switch.bgp
    words.state_defined(facts, "bgp", {"log-neighbor-changes": words.ONCE})
    for family, carried in process_families(bgp).items():
        facts[f"bgp/family[{family}]"] = "true"
        facts[f"bgp/family[{family}]/maximum_paths"] = bgp.maximum_paths
        for kind, name in (("connected", bgp.redistribute_map), ("static", bgp.static_map)):
            if carried and name:
                facts[f"bgp/family[{family}]/redistribute_{kind}"] = map_name(bgp, name, family)
    for session in bgp.sessions:
        neighbor = f"neighbor[{neighbor_key(session.transport, session.remote, session.port)}]"
        template = cli_dialect.group_name(session.group, session.transport)
        words.state_defined(facts, f"peer_template[{template}]")
        words.state_defined(facts, neighbor, {"template": template})
        facts[f"bgp/{neighbor}/send_community"] = "true"
        facts[f"bgp/{neighbor}/families"] = ",".join(_FAMILIES[session.transport])
        if bgp.ttl_security:
            facts[f"bgp/{neighbor}/ttl_security_hops"] = GTSM_HOPS
    for name, clause in list_clauses(bgp):
        stored = {
            "action": "permit" if clause.permit else "deny",
            "community_list": clause.community_list,
            f"{WORDS[_clause_family(clause)]} prefix-list": clause.prefix_list,
            "local_preference": clause.local_preference,
            "add_community": community_word(clause.add_community),
            "next_hop": "unchanged" if clause.permit and words.keeps_next_hop(bgp, name) else None,
        }
        lines = {LINES[about]: value for about, value in stored.items() if value is not None}
        facts |= {
            f"structure/route_map[{name}]/{clause.sequence}/{start}": form.format(value)
            for (start, form), value in lines.items()
        }


LINES = {
    "action": ("action", "{}"),
    "community_list": ("match community", "{}"),
    "ip prefix-list": ("match ip address", "prefix-list {}"),
    "ipv6 prefix-list": ("match ipv6 address", "prefix-list {}"),
    "local_preference": ("set local-preference", "{}"),
    "add_community": ("set community", "{} additive"),
    "next_hop": ("set ip next-hop", "{}"),
}
"""Setting of a clause -> the start of its line and the rest."""
