"""Invariants 7, 9, 10 and 21 over the whole fabric: how far announcements get, of the fabric's own and from outside.

Invariant 21, external links. On one switch: a port that leads outside is lossy and marks what arrives unless the spec
allows it, has a session or a static route, no session without the password that is planned, and no address of the
management network. Over the whole fabric: every prefix that an outside party can get in is followed through everything
that policy permits, as `follow_all` does with the fabric's own. It must reach every ToR of its plane, never go down and
up, and no other party. Of the fabric's own, parties get the aggregates, and nothing that is as long as an address.

Invariants 7, 9 and 10. Switches whose policy is the same but for their own addresses and AS number are one *class* (per
tier, plane and pod); an announcement of one member stands for those of all. From each class an announcement is followed
through everything that sessions, route maps, prefix lists, communities and AS-path loop detection permit, **whatever
path is best**.

Why that covers failures: a failure takes links, sessions and switches away. It adds no session and relaxes no filter,
so each route that a switch can hold after any set of failures, or while BGP converges, came along a walk whose every
step was permitted in the intact fabric. Those walks are what is followed here. If none of them goes down and then up,
no forwarding table can, in any state; the same holds for the buffer dependencies in `buffers`.

Loop detection is used only where it must work: an AS number that all members of a class share, or that of a class's
only member, stops a second visit. Members with AS numbers of their own may be visited again, as another member. The
work grows with the number of classes and the length of policies, not with the number of switches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from ipaddress import IPv4Network, IPv6Network, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.model import SECRET_PREFIX, Port, Switch
from fabricc.proof.invariants.clos import joined_planes
from fabricc.proof.invariants.policy import STOPS, Clause, NeighborPolicy, Policy, Route
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.proof.invariants.rules import Breach, breach_finding
from fabricc.proof.invariants.view import LinkPort, SwitchView, in_network, leads_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fabricc.proof.compare import Finding


def outward_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Invariants 6 and 21 as far as one switch's ports that lead outside show them."""
    for link in seen.links:
        if leads_out(link):
            yield from _check_classes(seen, link)
            yield from _check_reachable(seen, link)
            yield from _check_addresses(seen, link)


def _check_classes(seen: SwitchView, link: LinkPort) -> Iterator[Breach]:
    """Check that no outside party pauses the fabric or chooses a class, unless the spec allows it."""
    port, path = link.port, link.path
    if port.profile is None and (link.lossless.pfc or link.lossless.xoff):
        message = f"{port.name} leads outside and is lossless, which the spec does not permit"
        yield Breach(21, message, path + "pfc")
    if port.trusted:
        return
    trust, marks = seen.facts.get(path + "trust"), seen.number(path + "set_dscp")
    if trust == "dscp":
        message = (
            f"{port.name} leads outside and trusts the DSCP of its packets, which the spec does not permit"
        )
        yield Breach(21, message, path + "trust")
    classes = seen.code_points()
    if marks is None or classes is None or not 0 <= marks < len(classes):
        return
    if classes[marks] in {c.priority for c in seen.switch.qos.lossless}:
        yield Breach(
            21, f"{port.name} sets the DSCP of its packets to {marks}, which is lossless", path + "set_dscp"
        )


def _check_reachable(seen: SwitchView, link: LinkPort) -> Iterator[Breach]:
    """Check for a session or static route to the far end for every address, and the session's password reference."""
    if not link.enabled:
        return
    planned = {s.port: s.group for s in seen.switch.bgp.sessions}
    passwords = {group.name: group.password for group in seen.switch.bgp.groups}
    for family, text in (("ipv4", link.ipv4), ("ipv6", link.ipv6)):
        if text is None:
            continue
        network = ip_interface(text).network
        vrf = seen.vrf_of(link)
        sessions = [name for name in seen.neighbors if in_network(name, network)] if vrf is None else []
        routes = seen.routes if vrf is None else seen.routes_of(vrf)
        hops = [hop for via in routes.values() for hop in via.split(",")]
        used = sessions or any(in_network(hop, network) for hop in hops)
        if not used and _is_used(seen.switch, link.port, network):
            yield Breach(
                21,
                f"{link.port.name} leads to {link.port.description}, and no route uses it",
                link.path + family,
            )
        for name in sessions:
            secret = str(seen.neighbors[name].get("secret", ""))
            at = f"bgp/neighbor[{name}]/"
            if secret and not secret.startswith(SECRET_PREFIX):
                yield Breach(21, f"the password of the session with {name} is in the file", at + "secret")
            elif passwords.get(planned.get(link.port.name, "")) and not secret:
                yield Breach(21, f"the session with {name} has no password", at + "remote_asn")


def _is_used(switch: Switch, port: Port, network: IPv4Network | IPv6Network) -> bool:
    """Return whether the plan has a session or a static route over a network of a port: a party may use one family."""
    tenants = switch.tenants
    of_vrfs = [route for each in tenants.tenants for route in tenants.routes_of(each)] if tenants else []
    hops = [hop for route in (*switch.static_routes, *of_vrfs) for hop in route.via]
    hops += [each.remote for each in switch.bgp.sessions if each.port == port.name and each.remote]
    return any(in_network(hop, network) for hop in hops)


def _check_addresses(seen: SwitchView, link: LinkPort) -> Iterator[Breach]:
    """Check that the link is numbered, with addresses outside the out-of-band network."""
    management = parse_block(str(seen.facts.get("management/address", "")))
    for family, text in (("ipv4", link.ipv4), ("ipv6", link.ipv6)):
        mine = parse_block(text) if text else None
        if mine and management and (mine.covers(management) or management.covers(mine)):
            message = f"{link.port.name} has {text}, of the management network {management}"
            yield Breach(6, message, link.path + family)


def outside_findings(kinds: list[Kind], result: Spread) -> Iterator[Finding]:
    """Invariant 21 over the whole fabric; what is followed is added to `result`."""
    edges = [
        at for at, kind in enumerate(kinds) if any(s.direction == "external" for s in kind.policy.stances)
    ]
    static = [at for at, kind in enumerate(kinds) if kind.policy.outward]
    if not edges and not static:
        return
    own = [(at, prefix) for at, kind in enumerate(kinds) for prefix in kind.policy.originates]
    for at in dict.fromkeys((*edges, *static)):
        yield from _check_maps(kinds[at])
        yield from _check_accepted(kinds[at], own)
        yield from _check_internal_traffic(kinds[at], own)
    for prefix, starts in sorted(_find_entries(kinds).items()):
        held: set[State] = set()
        for start in starts:
            held |= follow_prefix(kinds, start, -1, prefix, result)
        yield from _check_reach(
            kinds, prefix, {start.kind for start in starts}, {state.kind for state in held}
        )
        for state in sorted(held, key=repr):
            if (stance := _stance_outside(kinds[state.kind], state, prefix)) is not None:
                message = f"announce {prefix}, which came from outside, to a party outside ({stance.exports})"
                yield _outside_finding(kinds[state.kind], message, stance.exports)
    for origin, prefix in own:
        yield from _check_announced(kinds, origin, prefix, edges, result)


def _check_maps(kind: Kind) -> Iterator[Finding]:
    for stance in kind.policy.stances:
        if stance.direction == "external":
            for name, what in ((stance.imports, "takes"), (stance.exports, "sends")):
                if name not in kind.policy.maps:
                    yield _outside_finding(
                        kind, f"have no route map on what a session with a party outside {what}", name
                    )
    if kind.policy.outward and kind.policy.static_map not in kind.policy.maps:
        yield _outside_finding(kind, "take static routes into BGP without a route map", "")


def _check_accepted(kind: Kind, own: list[tuple[int, Block]]) -> Iterator[Finding]:
    """Check that no outside party announces prefixes of the fabric."""
    policy = kind.policy
    for stance in policy.stances:
        if stance.direction != "external" or stance.imports not in policy.maps:
            continue
        for _, prefix in own:
            route = Route(prefix, False, frozenset())
            if prefix.family in stance.families and policy.apply(stance.imports, route) is not None:
                message = f"take {prefix} from outside ({stance.imports}), which is the fabric's"
                yield _outside_finding(kind, message, stance.imports)
                break


def _find_entries(kinds: list[Kind]) -> dict[Block, list[State]]:
    """Return every prefix that can enter, as far as lists name it, and the states that hold it first."""
    found: dict[Block, list[State]] = {}
    for at, kind in enumerate(kinds):
        policy = kind.policy
        for stance in policy.stances:
            if stance.direction == "external":
                for prefix in _listed_prefixes(policy, stance.imports):
                    _add_entry(found, at, policy, stance.imports, prefix)
        for prefix in policy.outward:
            _add_entry(found, at, policy, policy.static_map, prefix)
    return found


def _add_entry(found: dict[Block, list[State]], at: int, policy: Policy, name: str, prefix: Block) -> None:
    taken = policy.apply(name, Route(prefix, False, frozenset()))
    if taken is not None:
        found.setdefault(prefix, []).append(State(at, OUTSIDE, -1, taken[0], frozenset()))


def _listed_prefixes(policy: Policy, name: str) -> list[Block]:
    """Return the prefixes in the lists of a route map."""
    lists = [clause.prefix_list for clause in policy.maps.get(name, ()) if clause.permit]
    rules = [rule.split()[0] for each in dict.fromkeys(lists) for rule in policy.lists.get(each, ())]
    return [mine for text in dict.fromkeys(rules) if (mine := parse_block(text))]


def _check_internal_traffic(kind: Kind, own: list[tuple[int, Block]]) -> Iterator[Finding]:
    """Yield what is for an address of the fabric that nobody has is dropped at the edge, and discards stay there."""
    policy = kind.policy
    into = [
        p for s in policy.stances if s.direction == "external" for p in _listed_prefixes(policy, s.imports)
    ]
    for way in dict.fromkeys((*into, *policy.outward)):
        lost = next(
            (p for _, p in own if way.covers(p) and not any(d.covers(p) for d in policy.discards)), None
        )
        if lost is not None:
            message = f"have a route to {way} outside and none that drops the fabric's own: what is for {lost} leaves"
            yield _outside_finding(kind, f"{message} while it is gone", "")
            break
    if policy.static_map in policy.maps:
        for prefix in policy.discards:
            if policy.apply(policy.static_map, Route(prefix, False, frozenset())) is not None:
                yield _outside_finding(
                    kind, f"announce {prefix}, which they drop ({policy.static_map})", policy.static_map
                )


def _check_reach(kinds: list[Kind], prefix: Block, at: set[int], reached: set[int]) -> Iterator[Finding]:
    """Check that every ToR of a plane with a way to the prefix has it."""
    separate = separate_networks(kinds)
    for number, kind in enumerate(kinds):
        if kind.policy.tier == 0 and number not in reached and not all(separate(number, each) for each in at):
            yield _outside_finding(kind, f"do not get {prefix} from outside over any switch above", "")


def separate_networks(kinds: Sequence[Kind]) -> Callable[[int, int], bool]:
    """Return a function: whether two classes are in different planes, or in networks that no link joins.

    A network has ToRs with links upwards; ToRs without these are cut off, and still belong to their plane.
    """
    joined = joined_planes((kind.policy.tier, kind.policy.plane) for kind in kinds)
    part: list[int | None] = [None] * len(kinds)
    for start in range(len(kinds)):
        reached, waiting = set[int](), [start] if part[start] is None else []
        while waiting:
            if (each := waiting.pop()) not in reached:
                reached.add(each)
                waiting += [other for others in kinds[each].neighbors.values() for other in others]
        if any(kinds[each].policy.tier == 0 and kinds[each].neighbors["up"] for each in reached):
            for each in reached:
                part[each] = start

    def are_separate(one: int, two: int) -> bool:
        if joined(kinds[one].policy.plane) != joined(kinds[two].policy.plane):
            return True
        return part[one] is not None and part[two] is not None and part[one] != part[two]

    return are_separate


def _stance_outside(kind: Kind, state: State, prefix: Block) -> NeighborPolicy | None:
    """Return how a class announces a prefix that it holds to an outside party; None if it does not."""
    route = Route(prefix, state.learned == "self", state.communities)
    sends = (
        s for s in stances_outward(kind, prefix.family) if kind.policy.apply(s.exports, route) is not None
    )
    return next(sends, None)


def _check_announced(
    kinds: list[Kind], origin: int, prefix: Block, edges: list[int], result: Spread
) -> Iterator[Finding]:
    """Check that parties receive the aggregates, and nothing as long as an address."""
    alone = prefix.length == prefix.bits
    for state in sorted(follow_prefix(kinds, own_route(origin), origin, prefix, result), key=repr):
        if state.kind not in edges or not any(stances_outward(kinds[state.kind], prefix.family)):
            continue
        stance = _stance_outside(kinds[state.kind], state, prefix)
        if alone and stance is not None:
            message = (
                f"announce the address {prefix} of {kinds[origin].policy.name} outside ({stance.exports})"
            )
            yield _outside_finding(kinds[state.kind], message, stance.exports)
            return
        if not alone and stance is None:
            message = (
                f"do not announce {prefix} of {kinds[origin].policy.name} outside, so no answer comes back"
            )
            yield _outside_finding(kinds[state.kind], message, "")
            return


def _outside_finding(kind: Kind, message: str, name: str) -> Finding:
    policy = kind.policy
    clauses = policy.maps.get(name, ())
    return breach_finding(21, f"{kind} {message}", policy.file, clauses[0].line if clauses else 1)


SELF, BELOW, ABOVE, OUTSIDE = "self", "below", "above", "outside"
OPPOSITE = {"up": "down", "down": "up", "peer": "peer"}
_LEARNED = {"up": BELOW, "down": ABOVE, "peer": ABOVE}
"""Direction of the announcement -> where the receiver has it from; a switch of its own tier counts as one above it."""


@dataclass(slots=True)
class Kind:
    """A class of switches.

    Attributes:
        policy: that of the member first in order.
        members: number of members; `names`: the first few.
        asns: AS numbers of its members.
        neighbors: direction -> classes there.
        toward: direction and family -> its treatment of neighbors there, for the requested ones.
    """

    policy: Policy
    members: int = 0
    names: list[str] = field(default_factory=list)
    asns: set[int] = field(default_factory=set)
    neighbors: dict[str, set[int]] = field(default_factory=lambda: {each: set() for each in _LEARNED})
    toward: dict[tuple[str, int], list[NeighborPolicy]] = field(default_factory=dict)

    @property
    def label(self) -> int | None:
        """The AS number that stops a second visit, or None when members have their own."""
        return next(iter(self.asns)) if len(self.asns) == 1 else None

    def __str__(self) -> str:
        more = f" and {self.members - 1} more like it" if self.members > 1 else ""
        return self.policy.name + more


class State(NamedTuple):
    """A class that holds an announcement; `sender` is the class it came from, -1 for its own."""

    kind: int
    learned: str
    sender: int
    communities: frozenset[str]
    labels: frozenset[int]


class Valley(NamedTuple):
    """A class that passes up (or to its peer) what it learned from there; `clause` let it pass."""

    kind: int
    exports: str
    clause: Clause | None
    prefix: Block


Channel = tuple[int, int]
"""Links that lead from switches of one class to switches of another."""


@dataclass(slots=True)
class Spread:
    """The result of following every announcement.

    Attributes:
        dependencies: channel -> channels that its traffic can go on to.
        holders: (origin, holder, sender) that have the origin's prefixes; `refused`: those where one family or
            one kind of session did not get it.
        covering: classes that accept from above a route that covers their own prefixes.
    """

    dependencies: dict[Channel, set[Channel]] = field(default_factory=dict)
    valleys: dict[tuple[int, str, int], Valley] = field(default_factory=dict)
    holders: set[tuple[int, int, int, Block]] = field(default_factory=set)
    refused: set[tuple[int, int, int, Block]] = field(default_factory=set)
    covering: dict[int, tuple[Block, Block]] = field(default_factory=dict)


def follow_all(kinds: list[Kind]) -> Spread:
    """Follow the announcements of every class."""
    result = Spread()
    for origin, kind in enumerate(kinds):
        for prefix in kind.policy.originates:
            follow_prefix(kinds, own_route(origin), origin, prefix, result)
    return result


def own_route(kind: int) -> State:
    """Return a class that holds a prefix of its own."""
    return State(kind, SELF, -1, frozenset(), frozenset())


def follow_prefix(kinds: list[Kind], start: State, origin: int, prefix: Block, result: Spread) -> set[State]:
    """Return all states that can come to hold a prefix of state `start`; its origin is -1 if it is outside."""
    seen = {start}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if state.learned != SELF:
            result.holders.add((origin, state.kind, state.sender, prefix))
            if origin >= 0:
                _note_covering(kinds, state, origin, prefix, result)
        own = kinds[state.kind].label
        labels = state.labels if own is None else state.labels | {own}
        for direction, receivers in kinds[state.kind].neighbors.items():
            for receiver in receivers:
                if kinds[receiver].label in labels:
                    continue
                for after in _announce(kinds, state, labels, receiver, direction, origin, prefix, result):
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
    return seen


def _announce(
    kinds: list[Kind], state: State, labels: frozenset[int], receiver: int, direction: str, origin: int, prefix: Block,
    result: Spread,
) -> Iterator[State]:  # fmt: skip
    """Yield the states of `receiver` after an announcement by `state`; record dependencies and valleys."""
    sender, target = kinds[state.kind], kinds[receiver]
    route = Route(prefix, state.learned == SELF, state.communities)
    for out in _stances_toward(sender, direction, prefix.family):
        stopped = state.learned != SELF and not STOPS.isdisjoint(state.communities)
        sent = None if stopped else sender.policy.apply(out.exports, route)
        for into in _stances_toward(target, OPPOSITE[direction], prefix.family):
            taken = None
            if sent is not None:
                arrived = Route(prefix, False, sent[0] if out.sends else frozenset())
                taken = target.policy.apply(into.imports, arrived)
            if sent is None or taken is None:
                if (
                    direction != "peer" or state.learned != ABOVE
                ):  # of two switches, the other one has it already
                    result.refused.add((origin, receiver, state.kind, prefix))
                continue
            if state.learned != SELF:
                result.dependencies.setdefault((receiver, state.kind), set()).add((state.kind, state.sender))
            if state.learned == ABOVE and direction != "down":
                key = (state.kind, out.exports, sent[1].sequence if sent[1] else 0)
                result.valleys.setdefault(key, Valley(state.kind, out.exports, sent[1], prefix))
            yield State(receiver, _LEARNED[direction], state.kind, taken[0], labels)


def _stances_toward(kind: Kind, direction: str, family: int) -> list[NeighborPolicy]:
    found = kind.toward.get((direction, family))
    if found is None:
        found = [s for s in kind.policy.stances if s.direction == direction and family in s.families]
        kind.toward[direction, family] = found
    return found


def stances_outward(kind: Kind, family: int) -> list[NeighborPolicy]:
    """Return how a class treats its neighbors outside the fabric."""
    return _stances_toward(kind, "external", family)


def _note_covering(kinds: list[Kind], state: State, origin: int, prefix: Block, result: Spread) -> None:
    """A route from above that covers a switch's own prefix sends its traffic back up once that prefix is gone."""
    if state.learned != ABOVE or state.kind == origin:
        return
    for own in kinds[state.kind].policy.originates:
        if prefix.length < own.length and prefix.covers(own):
            result.covering.setdefault(state.kind, (prefix, own))
