"""Routing policy of each tier: what a switch accepts from, and announces to, the tier above and below.

Filters stand in both directions (RFC 7938 section 5.2, RFC 7454); a switch takes nothing but host aggregates and
loopbacks, a ToR announces nothing but its own, to spines or to the only other ToR of its plane. A spine below cores
marks what comes from above and never sends it up again, so no path leads down and up whatever the ASN scheme. Routes
from outside are taken as the spec states them, marked, and carried by every switch; a ToR with a way out marks what
comes from above too, so that it sends up only what it has from outside itself. Outside parties get the aggregates of
ToRs and nothing else: no host routes, no links, and nothing that came from another of them. A route with the
graceful-shutdown community gets local preference 0 (RFC 8326), and a drained switch attaches that community to all it
announces.

EVPN routes have maps of their own by the same rule: a switch with others above it marks what comes from there and
never sends it up again. So a ToR announces what it has itself, whatever the ASN scheme.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.routing import Clause, CommunityList, PrefixList, PrefixRule, RouteMap
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Named = tuple[tuple[str, int], ...]
    """Name and family of prefix lists, which is all that maps contain of them."""

GRACEFUL_SHUTDOWN = "65535:0"
"""The well-known community GRACEFUL_SHUTDOWN (RFC 8326 section 5, IANA)."""
FROM_ABOVE = "65000:1"
"""Set by a spine on routes learned from a core; it stays on the spine and its ToRs. Also by a ToR with a way out."""
FROM_OUTSIDE = "65000:2"
"""Set on routes learned from outside parties, and on static routes to them; every switch keeps it."""


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """The policy objects of one switch and the names its BGP process uses."""

    prefix_lists: tuple[PrefixList, ...]
    community_lists: tuple[CommunityList, ...]
    route_maps: tuple[RouteMap, ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """The treatment of routes from outside the fabric.

    Attributes:
        accepted: per family, what there is from outside.
        from_below, to_above: whether it takes such routes from switches below, and sends them to switches above.
        parties: peer group and, per family, what is accepted, of each party that the switch has sessions with.
        static: per family, what leads to the others; empty without.
        aggregates: per family, the aggregates of ToRs, which parties get.
    """

    accepted: tuple[PrefixList, ...]
    from_below: bool
    to_above: bool
    parties: tuple[tuple[str, tuple[PrefixList, ...]], ...]
    static: tuple[PrefixList, ...]
    aggregates: tuple[PrefixList, ...]


INSIDE = Outside((), from_below=False, to_above=False, parties=(), static=(), aggregates=())
"""A fabric without a way out."""


def build_policy(
    tier: TierName,
    *,
    upstream: str,
    drained: bool,
    fabric: Sequence[PrefixList],
    connected: Sequence[PrefixList],
    own: Sequence[PrefixList],
    outside: Outside = INSIDE,
    evpn: bool = False,
) -> RoutePolicy:
    """Return the policy of a switch.

    Args:
        tier: its tier.
        upstream: the peer group of the switches above it, or of the other ToR where there are no spines; "" for none.
        drained: whether it announces everything for graceful shutdown.
        fabric: per family, the prefixes of the whole fabric.
        connected: per family, the connected routes it takes into BGP.
        own: per family, what a ToR announces; empty above.
        outside: what it does about routes from outside.
        evpn: whether its sessions carry EVPN routes.
    """
    communities, maps = _build_maps(
        tier,
        upstream,
        drained,
        _index_lists(fabric),
        _index_lists(connected),
        _index_lists(own),
        outside,
        evpn,
    )
    taken = [each for _, lists in outside.parties for each in lists]
    beyond = (*outside.accepted, *outside.static, *taken, *(outside.aggregates if outside.parties else ()))
    lists = sorted((*fabric, *connected, *own, *beyond), key=_NAME)
    return RoutePolicy(tuple(lists), communities, maps)


_NAME = attrgetter("name")


def _index_lists(lists: Sequence[PrefixList]) -> Named:
    return tuple([(each.name, each.family) for each in lists])


@lru_cache(maxsize=256)
def _build_maps(
    tier: TierName,
    upstream: str,
    drained: bool,
    fabric: Named,
    connected: Named,
    own: Named,
    outside: Outside,
    evpn: bool,
) -> tuple[tuple[CommunityList, ...], tuple[RouteMap, ...]]:
    """Community lists and route maps by the arguments of `policy`: those of switches of a tier are the same."""
    shut = GRACEFUL_SHUTDOWN if drained else None
    middle = bool(upstream) and (tier is TierName.SPINE or outside.to_above)
    accepted = _index_lists(outside.accepted)
    everything = (*fabric, *accepted)
    maps = [RouteMap("CONNECTED", tuple(_permit_rules(connected, 10)))]
    if upstream:
        maps.append(
            RouteMap(f"FROM-{upstream}", tuple(_import_rules(everything, FROM_ABOVE if middle else None)))
        )
        announced = _permit_rules((*(own or fabric), *(accepted if outside.to_above else ())), 20, shut)
        if middle:
            announced.insert(0, Clause(10, False, community_list="FROM-ABOVE"))
        maps.append(RouteMap(f"TO-{upstream}", tuple(announced)))
    if tier is not TierName.TOR:
        below = everything if outside.from_below else fabric
        maps.append(RouteMap("FROM-DOWNSTREAM", tuple(_import_rules(below, None))))
        maps.append(RouteMap("TO-DOWNSTREAM", tuple(_permit_rules(everything, 10, shut))))
    maps += _external_maps(outside, shut)
    if evpn:
        maps += _evpn_maps(upstream, tier is not TierName.TOR, shut)
    communities = [CommunityList("GRACEFUL-SHUTDOWN", GRACEFUL_SHUTDOWN)]
    if outside.parties:
        communities.insert(0, CommunityList("FROM-OUTSIDE", FROM_OUTSIDE))
    if middle or (evpn and upstream):
        communities.insert(0, CommunityList("FROM-ABOVE", FROM_ABOVE))
    return tuple(communities), tuple(sorted(maps, key=_NAME))


EVPN_MAPS = {
    direction: (f"EVPN-FROM-{direction}", f"EVPN-TO-{direction}")
    for direction in ("UPSTREAM", "DOWNSTREAM", "PEER")
}
"""Peer group -> its maps of EVPN routes, in and out."""


def _evpn_maps(upstream: str, below: bool, shut: str | None) -> Iterator[RouteMap]:
    """Yield the maps of EVPN routes of a switch that has others above (or in its tier), below, or both."""
    for direction, mark in ((upstream, FROM_ABOVE), ("DOWNSTREAM" if below else "", None)):
        if direction:
            imports, exports = EVPN_MAPS[direction]
            yield RouteMap(
                imports,
                (
                    Clause(
                        10, True, community_list="GRACEFUL-SHUTDOWN", local_preference=0, add_community=mark
                    ),
                    Clause(20, True, add_community=mark),
                ),
            )
            kept = (Clause(10, False, community_list="FROM-ABOVE"),) if mark else ()
            yield RouteMap(exports, (*kept, Clause(20, True, add_community=shut)))


def _external_maps(outside: Outside, shut: str | None) -> list[RouteMap]:
    """Return the maps of sessions with outside parties, and of static routes to others."""
    maps = [
        RouteMap(f"FROM-{group}", tuple(_import_rules(_index_lists(lists), FROM_OUTSIDE)))
        for group, lists in outside.parties
    ]
    if outside.parties:
        kept = Clause(10, False, community_list="FROM-OUTSIDE")
        maps.append(
            RouteMap("TO-EXTERNAL", (kept, *_permit_rules(_index_lists(outside.aggregates), 20, shut)))
        )
    if outside.static:
        maps.append(RouteMap("STATIC", tuple(_permit_rules(_index_lists(outside.static), 10, FROM_OUTSIDE))))
    return maps


def _import_rules(lists: Named, mark: str | None) -> list[Clause]:
    clauses: list[Clause] = []
    for at, (name, family) in enumerate(lists):
        shutting = Clause(100 * at + 10, True, name, family, "GRACEFUL-SHUTDOWN", 0, mark)
        clauses += [shutting, Clause(100 * at + 20, True, name, family, add_community=mark)]
    return clauses


def _permit_rules(lists: Named, first: int, community: str | None = None) -> list[Clause]:
    return [
        Clause(100 * at + first, True, name, family, add_community=community)
        for at, (name, family) in enumerate(lists)
    ]


def prefix_lists(name: str, rules: Sequence[tuple[int, PrefixRule]]) -> tuple[PrefixList, ...]:
    """Return one list per family that has rules: `NAME-V4`, `NAME-V6`."""
    found = []
    for family in (4, 6):
        chosen = tuple(rule for version, rule in rules if version == family)
        if chosen:
            found.append(PrefixList(f"{name}-V{family}", family, chosen))
    return tuple(found)
