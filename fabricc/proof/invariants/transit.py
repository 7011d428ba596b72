"""Invariant 11 over the whole fabric: no cycle of buffers that wait for each other, in any state of the fabric.

Digests of switches are joined to classes first, and what announcements can do is compared with what is allowed.

Under PFC a packet holds a buffer at the end of one link while it waits for one at the end of the next. A deadlock needs
a cycle of such waits, so the fabric is free of deadlock when links can be put in an order that all traffic follows
(Dally and Seitz 1987; for PFC: Guo et al., SIGCOMM 2016, section 4.2). The nodes here are channels, all links from
switches of one class to switches of another; an edge means that traffic of some route can go from the one to the other.
`announce` supplies every edge that policy permits, in any state after any failure. Priorities are not distinguished:
without a cycle over all of them together there is none in any of them, also where a map were wrong. Links to hosts are
omitted: nothing depends on one from a host, and a host forwards nothing.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.proof.invariants import outside
from fabricc.proof.invariants.clos import TIERS, SwitchDigest
from fabricc.proof.invariants.policy import COMMUNITY_WORDS, STOPS, NeighborPolicy, Policy, Route
from fabricc.proof.invariants.rules import breach_finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.prefixes import Block

_NAMED = 4


def kinds_of(switches: Sequence[SwitchDigest], policies: Mapping[bytes, Policy]) -> list[outside.Kind]:
    """Return the classes of switches in the order of their first members, with their neighbors."""
    index: dict[bytes, int] = {}
    kinds: list[outside.Kind] = []
    for s in switches:
        if s.policy not in index:
            index[s.policy] = len(kinds)
            kinds.append(outside.Kind(policies[s.policy]))
        kind = kinds[index[s.policy]]
        kind.members += 1
        kind.asns.add(s.asn)
        if len(kind.names) < _NAMED:
            kind.names.append(s.name)
    of = {s.name: index[s.policy] for s in switches}
    up: list[set[tuple[str, int]]] = [set() for _ in kinds]
    down: list[set[tuple[str, int]]] = [set() for _ in kinds]
    beside: list[set[tuple[str, int]]] = [set() for _ in kinds]
    for s in switches:  # those of a class have many neighbors in common
        up[index[s.policy]].update(s.above)
        down[index[s.policy]].update(s.below)
        beside[index[s.policy]].update(s.peers)
    for kind, above, below, peers in zip(kinds, up, down, beside, strict=True):
        kind.neighbors["up"].update(of[name] for name, _ in above if name in of)
        kind.neighbors["down"].update(of[name] for name, _ in below if name in of)
        kind.neighbors["peer"].update(of[name] for name, _ in peers if name in of)
    return kinds


def routing_findings(kinds: list[outside.Kind]) -> Iterator[Finding]:
    """Invariants 7, 9, 10, 11 and 21 of the routes that policy permits."""
    result = outside.follow_all(kinds)
    yield from outside.outside_findings(kinds, result)
    for valley in result.valleys.values():
        yield _valley_finding(kinds, valley)
    for kind, (prefix, own) in sorted(result.covering.items()):
        policy = kinds[kind].policy
        message = (
            f"{kinds[kind]} accept {prefix} from above, which covers their own {own}: traffic for a host that is gone "
            "turns round and goes up again"
        )
        yield breach_finding(10, message, policy.file, _import_line(policy))
    if channels := find_cycle(result.dependencies):
        path = " -> ".join(cycle_devices(kinds, channels))
        message = f"lossless buffers can wait for each other in a circle: {path}"
        policy = kinds[channels[0][0]].policy
        guilty = [v for v in result.valleys.values() if any(v.kind in channel for channel in channels)]
        file, line = _valley_place(kinds, guilty[0]) if guilty else (policy.file, 0)
        yield breach_finding(11, message, file, line)
    yield from _check_reach(kinds, result)


def _valley_finding(kinds: list[outside.Kind], valley: outside.Valley) -> Finding:
    kind = kinds[valley.kind]
    step = (
        f"{valley.exports} {valley.clause.sequence}" if valley.clause else valley.exports or "no export map"
    )
    message = (
        f"{kind} announce upwards routes from above ({step} permits {valley.prefix}): "
        f"traffic can come down to a {TIERS[kind.policy.tier]} and go up again"
    )
    if kind.neighbors["peer"]:
        message = (
            f"{kind} announce to the other ToR its own routes ({step} permits {valley.prefix}): "
            "traffic can turn round between them"
        )
    return breach_finding(10, message, *_valley_place(kinds, valley))


def _valley_place(kinds: list[outside.Kind], valley: outside.Valley) -> tuple[str, int]:
    return kinds[valley.kind].policy.file, valley.clause.line if valley.clause else 1


def _import_line(policy: Policy) -> int:
    """Line of the first step of what is taken from above, else from ToRs of the same tier."""
    for direction in ("up", "peer"):
        for stance in policy.stances:
            if stance.direction == direction and policy.maps.get(stance.imports):
                return policy.maps[stance.imports][0].line
    return policy.asn_line or 1


def _check_reach(kinds: list[outside.Kind], result: outside.Spread) -> Iterator[Finding]:
    """Check invariant 9: a ToR has the aggregates of every other ToR of its plane from every class above it.

    For a VTEP this includes its EVPN routes and the loopback that receives VXLAN.

    ToRs that have nothing above them are alone in their plane.
    """
    separate = outside.separate_networks(kinds)
    by_route: dict[tuple[int, int, int], set[object]] = {}
    for origin, holder, sender, prefix in result.holders:
        by_route.setdefault((origin, holder, sender), set()).add(prefix)
    tors = [at for at, kind in enumerate(kinds) if kind.policy.tier == 0]
    yield from _lost_loopbacks(kinds, result, tors, separate)
    for origin in tors:
        policy = kinds[origin].policy
        wanted = [p for p in policy.originates if p.length < p.bits or (policy.vtep and p.family == 4)]
        kept = _refusing_exports(policy, wanted)
        for prefix, (name, line, denying) in kept.items():
            message = f"{kinds[origin]} do not announce {prefix}: {name} does not permit it"
            yield breach_finding(9, message, policy.file, line)._replace(words=denying)
        wanted = [p for p in wanted if p not in kept]
        for holder in tors:
            if separate(origin, holder):
                continue
            if origin == holder and kinds[origin].members == 1:
                continue
            ways = kinds[holder].neighbors["up"] | kinds[holder].neighbors["peer"]
            if not ways:
                message = f"{kinds[holder]} have no way to {kinds[origin].policy.name} of the same plane"
                yield breach_finding(9, message, kinds[holder].policy.file, 0)
                continue
            for above in sorted(ways):
                have = by_route.get((origin, holder, above), set())
                lost = [p for p in wanted if p not in have or (origin, holder, above, p) in result.refused]
                if lost:
                    what = f"{lost[0]} of {kinds[origin].policy.name}"
                    if origin == holder:
                        what = f"routes of each other, such as {lost[0]},"
                    message = (
                        f"{kinds[holder]} do not get {what} over {kinds[above]}: "
                        "fewer equal paths than uplinks"
                    )
                    place = _find_stop(kinds, origin, above, holder, lost[0])
                    yield breach_finding(9, message, *place[:2])._replace(words=place.words)
                    break


class _Stop(NamedTuple):
    """The line that keeps a route from a switch, and words of it."""

    file: str
    line: int
    words: tuple[str, ...] = ()


def _find_stop(kinds: list[outside.Kind], origin: int, above: int, holder: int, prefix: Block) -> _Stop:
    """Return what keeps a route of one class of ToRs from another, on its way over a class above or to the other ToR.

    A way over several tiers is not followed: then it is the first import of the holder.
    """
    first, last = kinds[origin].policy, kinds[holder].policy
    if kinds[origin].label is not None and kinds[origin].label == kinds[holder].label:
        return _Stop(first.file, first.asn_line or 1)
    between = above != origin and above != holder
    steps = ("up", "down") if between else ("peer",)
    route = Route(prefix, True, frozenset())
    ways = ((first, kinds[above].policy), (kinds[above].policy, last)) if between else ((first, last),)
    for direction, (sender, receiver) in zip(steps, ways, strict=True):
        out, into = (
            _stance(each, way, prefix)
            for each, way in ((sender, direction), (receiver, outside.OPPOSITE[direction]))
        )
        if out is None or into is None:  # it has no session in that direction that exchanges the family
            silent = sender if out is None else receiver
            return _Stop(silent.file, silent.asn_line or 1)
        if (sent := sender.apply(out.exports, route)) is None:
            return _Stop(sender.file, *sender.find_denial(out.exports, route))
        if sent[1] is not None and not STOPS.isdisjoint(sent[0]) and between:
            return _Stop(sender.file, sent[1].line, COMMUNITY_WORDS)
        route = Route(prefix, False, sent[0] if out.sends else frozenset())
        if (taken := receiver.apply(into.imports, route)) is None:
            least = receiver.wanted_length(into.imports, prefix)
            odd = prefix in first.aggregate_lines and not first.names_block(prefix)
            if least is not None and prefix.length < least and odd:
                return _Stop(first.file, first.aggregate_lines[prefix])
            stop = _Stop(receiver.file, *receiver.find_denial(into.imports, route))
            longer = least is not None and prefix.length < least
            return stop._replace(words=(str(least),)) if longer else stop
        route = route._replace(communities=taken[0])
    return _Stop(last.file, _import_line(last))


def _stance(policy: Policy, direction: str, prefix: Block) -> NeighborPolicy | None:
    stances = (s for s in policy.stances if s.direction == direction and prefix.family in s.families)
    return next(stances, None)


def _refusing_exports(policy: Policy, prefixes: list[Block]) -> dict[Block, tuple[str, int, tuple[str, ...]]]:
    """Return own prefixes that exports keep from all switches, with the export, its line, and words of it.

    Where it permits another aggregate, or one of twice the size, the line is that of the aggregate.

    A switch without such an export, or without neighbors of the family, keeps nothing.
    """

    @cache
    def permits(name: str, prefix: Block) -> bool:
        return policy.apply(name, Route(prefix, True, frozenset())) is not None

    @cache
    def permits_an_aggregate(name: str, family: int) -> bool:
        aggregates = (p for p in policy.aggregate_lines if p.family == family)
        return any(permits(name, p) for p in aggregates) or policy.permits_another_block(name)

    found: dict[Block, tuple[str, int, tuple[str, ...]]] = {}
    for prefix in prefixes:
        names = [
            stance.exports
            for stance in policy.stances
            if stance.direction in ("up", "peer") and prefix.family in stance.families
        ]
        if not names or any(permits(name, prefix) for name in names):
            continue
        line = policy.aggregate_lines.get(prefix)
        half = prefix.length and permits(
            names[0], prefix.shorten(prefix.length - 1)
        )  # of what the list permits
        if line is not None and (half or permits_an_aggregate(names[0], prefix.family)):
            found[prefix] = names[0], line, ()
        else:
            found[prefix] = names[0], *policy.find_denial(names[0], Route(prefix, True, frozenset()))
    return found


def _lost_loopbacks(
    kinds: list[outside.Kind], result: outside.Spread, tors: list[int], separate: Callable[[int, int], bool]
) -> Iterator[Finding]:
    """Yield a breach for the loopbacks of ToRs that they announce and no other ToR of their network gets."""
    held = {prefix for _, holder, _, prefix in result.holders if holder in tors}
    for origin in tors:
        others = [at for at in tors if at != origin and not separate(origin, at)]
        others += [origin] if kinds[origin].members > 1 else []
        policy = kinds[origin].policy
        alone = [p for p in policy.originates if p.length == p.bits and not (policy.vtep and p.family == 4)]
        lost = [p for p in alone if p not in held]
        if lost and others and policy.enters and kinds[origin].neighbors["up"]:
            own = kinds[origin].policy
            message = f"no ToR gets {lost[0]} of {own.name}, which announces its loopback"
            stop = _find_stop(kinds, origin, min(kinds[origin].neighbors["up"]), others[0], lost[0])
            if (place := _refusing_exports(own, lost[:1]).get(lost[0])) is not None:
                message = (
                    f"{own.name} does not announce its loopback {lost[0]}: {place[0]} does not permit it"
                )
                stop = _Stop(own.file, *place[1:])
            yield breach_finding(9, message, stop.file, stop.line)._replace(words=stop.words)


def find_cycle(dependencies: Mapping[outside.Channel, set[outside.Channel]]) -> list[outside.Channel]:
    """Return a cycle of channels, each depending on the next and the last on the first; empty without one.

    A topological sort (Kahn): channels on which no other remaining channel depends are removed until none is left; a
    remainder contains a cycle. Time is linear in channels and dependencies.
    """
    waiting: dict[outside.Channel, int] = {}
    for source, targets in dependencies.items():
        waiting.setdefault(source, 0)
        for target in targets:
            waiting[target] = waiting.get(target, 0) + 1
    ready = deque(sorted(channel for channel, count in waiting.items() if count == 0))
    while ready:
        channel = ready.popleft()
        del waiting[channel]
        for target in dependencies.get(channel, ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return _walk_backwards({c: sorted(t for t in dependencies.get(c, ()) if t in waiting) for c in waiting})


def _walk_backwards(predecessors: Mapping[outside.Channel, list[outside.Channel]]) -> list[outside.Channel]:
    """Return a cycle among channels that each have a predecessor in `predecessors`, by walking backwards."""
    if not predecessors:
        return []
    before: dict[outside.Channel, outside.Channel] = {}
    for source in sorted(predecessors, reverse=True):
        for target in predecessors[source]:
            before[target] = source
    path: list[outside.Channel] = []
    at = min(before)
    while at not in path:
        path.append(at)
        at = before[at]
    return path[path.index(at) :][::-1]


def cycle_devices(kinds: list[outside.Kind], channels: list[outside.Channel]) -> list[str]:
    """Return the devices on a cycle of channels, the first one again at the end.

    Consecutive channels share a class; if a class occurs several times, each occurrence uses another member. A circle
    of two classes goes round twice, since no link leads back over itself.
    """
    channels = channels * 2 if len(channels) == 2 else channels
    passed: dict[int, int] = {}
    names = []
    for kind, _ in channels:
        at = passed.get(kind, 0)
        passed[kind] = at + 1
        names.append(kinds[kind].names[at % len(kinds[kind].names)])
    return [*names, names[0]]
