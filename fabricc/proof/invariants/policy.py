"""The routing policy of one switch as its files state it, free of its own addresses, and what it does to a route."""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.proof.invariants.prefixes import EVPN, Block, parse_block
from fabricc.proof.invariants.view import SwitchView, address_families, between_switches, leads_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.fabric.model import Switch

OWN = "own"
"""Stands in a prefix rule for a prefix that the switch itself originates."""
LEARNED = "learned"
"""Stands for routes that BGP learned from a neighbor."""
OTHER = "other"
_AND = " && "
"""Between the policies of a Junos expression: the second one is asked where the first one accepts."""
_MATCH = re.compile(r"\bmatch ([\w-]+)(?: ([^ ]+))?")
_PROTOCOLS = ("protocol", "source-protocol")
_EMPTY_PATHS = frozenset(("permit ^$", 'permit "^$"', "permit ()", 'permit "()"'))
"""AS paths of routes that the switch itself originates."""
DENYING = ("deny", "reject")
"""Words of a line by which a clause denies."""
STOPS = frozenset(("65535:65281", "65535:65282"))
"""NO_EXPORT and NO_ADVERTISE: a route that has one is not announced to another AS (RFC 1997)."""
COMMUNITY_WORDS = ("no-export", "no-advertise", *sorted(STOPS), "community")
"""Words of a line that gives a route such a community."""
_WELL_KNOWN = {
    "no-export": "65535:65281", "no-advertise": "65535:65282", **{each: each for each in STOPS},
}  # fmt: skip
_ENTERING = ("bgp/redistribute", "bgp/network[", "bgp/setting[redistribute", "bgp/static", "bgp/advertise")
"""Beginnings of facts by which addresses of the switch itself become routes of BGP."""
_FAMILIES = {"ipv4": 4, "ipv6": 6, "evpn": EVPN}
_ALL_EVPN = Block(EVPN, 0, 0)
_STANCE = ("families", "import", "export", "send_community")


class Route(NamedTuple):
    """A route on its way: its prefix, whether the switch in question originated it, and its communities."""

    prefix: Block
    own: bool
    communities: frozenset[str]


class NeighborPolicy(NamedTuple):
    """The policy of a switch for its neighbors in one direction; `sends` is whether communities are sent."""

    direction: str
    families: frozenset[int]
    imports: str
    exports: str
    sends: bool


class Clause(NamedTuple):
    """A step of a route map, and the line it stands on.

    Attributes:
        only: `OWN` if it matches routes of the switch itself alone, `LEARNED` if those of BGP alone, `OTHER` if by a
            condition that is not followed.
    """

    sequence: int
    permit: bool
    prefix_list: str
    community_list: str
    adds: str
    line: int
    only: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The prefixes that a switch accepts and announces.

    Attributes:
        name, file: a switch that has this policy, and where its lines are.
        lists: prefix list -> rules, those of own prefixes as `OWN`.
        originates: prefixes that the named switch puts into BGP.
        outward: prefixes of static routes that it puts into BGP, and the map by which; `discards`: those that it drops.
        vtep: whether other switches send VXLAN to its loopback.
        enters: whether something may put the loopback into BGP: a network, a redistribution, or what is not followed.
        list_lines: prefix list -> the lines of its rules; `aggregate_lines`: aggregate -> its line; `asn_line`:
            that of the own AS number.
    """

    tier: int
    plane: int
    pod: int
    drained: bool
    stances: tuple[NeighborPolicy, ...]
    maps: dict[str, tuple[Clause, ...]]
    lists: dict[str, tuple[str, ...]]
    communities: dict[str, str]
    originates: tuple[Block, ...]
    name: str
    file: str
    key: bytes = field(default=b"", compare=False)
    outward: tuple[Block, ...] = ()
    static_map: str = ""
    discards: tuple[Block, ...] = ()
    vtep: bool = False
    enters: bool = True
    list_lines: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False)
    aggregate_lines: dict[Block, int] = field(default_factory=dict, compare=False)
    asn_line: int = field(default=0, compare=False)

    def apply(self, name: str, route: Route) -> tuple[frozenset[str], Clause | None] | None:
        """Return communities of the route after a map and the clause that permitted it, or None if it is denied.

        A missing or undefined map permits everything: the proof then assumes too many routes, never too few.
        `A && B` is a policy expression of Junos, whose policies must all permit the route.
        """
        if _AND in name and name not in self.maps:
            taken: tuple[frozenset[str], Clause | None] = route.communities, None
            for part in name.split(_AND):
                if (result := self.apply(part, route._replace(communities=taken[0]))) is None:
                    return None
                taken = result[0], result[1] or taken[1]
            return taken
        if not name or name not in self.maps:
            return route.communities, None
        for clause in self.maps[name]:
            if self._matches(clause, route):
                if not clause.permit:
                    return None
                added = route.communities | set(clause.adds.split()) if clause.adds else route.communities
                return frozenset(added), clause
        return None

    def find_denial(self, name: str, route: Route) -> tuple[int, tuple[str, ...]]:
        """Return the line by which a map denies a route, and words of that line: a clause, or a list that lacks it."""
        denying = next((part for part in name.split(_AND) if self.apply(part, route) is None), name)
        clauses = self.maps.get(denying, ())
        clause = next((each for each in clauses if self._matches(each, route)), None)
        if clause is not None and (clause.prefix_list or clause.community_list or clause is not clauses[-1]):
            return clause.line, DENYING
        if clause is not None and len(clauses) == 1:
            return clause.line, DENYING
        of = (each.prefix_list for each in clauses if each.permit)
        lists = [each for each in of if self.is_of_family(each, route.prefix.family)]
        if lists:
            return self._line_of_rule(lists[-1], route), ()
        denials = [each for each in clauses if not each.permit and each.prefix_list]
        return (denials or list(clauses))[0].line if clauses else 1, DENYING

    def permits_another_block(self, name: str) -> bool:
        """Return whether a map permits a block whose subnets another list is about: the aggregate is the odd one."""
        blocks = {
            rule
            for clause in self.maps.get(name, ())
            for rule in self.lists.get(clause.prefix_list, ())
            if clause.permit and " " not in rule
        }
        subnets = {rule.split()[0] for rules in self.lists.values() for rule in rules if " ge " in rule}
        return not blocks.isdisjoint(subnets)

    def names_block(self, prefix: Block) -> bool:
        """Return whether a prefix list is about exactly this prefix."""
        named = {str(prefix), f"{OWN} {prefix.family} {prefix.length}"}
        return any(not named.isdisjoint(rules) for rules in self.lists.values())

    def _line_of_rule(self, name: str, route: Route) -> int:
        """Return the line of the rule that denies a route, else of that which permits its length, else of the first."""
        lines = self.list_lines.get(name, ())
        rules = self.lists[name]
        for rule, line in zip(rules, lines, strict=False):
            if rule.startswith("deny ") and _rule_matches(rule[5:], route.prefix, route.own):
                return line
        length = route.prefix.length
        for rule, line in zip(rules, lines, strict=False):
            if not rule.startswith("deny ") and _spans_length(rule, length):
                return line
        return next(iter(lines), 1)

    def is_of_family(self, name: str, family: int) -> bool:
        """Return whether all rules of a prefix list are of one family."""
        rules = [rule.removeprefix("deny ") for rule in self.lists.get(name, ())]
        return bool(rules) and all(
            int(rule.split()[1]) == family if rule.startswith(OWN) else (":" in rule) == (family == 6)
            for rule in rules
        )

    def wanted_length(self, name: str, prefix: Block) -> int | None:
        """Return the least length of routes inside a prefix that a map permits, None if it does not look at lengths."""
        for clause in self.maps.get(name, ()):
            for rule in self.lists.get(clause.prefix_list, ()) if clause.permit else ():
                words = rule.split()
                within = parse_block(words[0])
                if within and within.covers(prefix) and "ge" in words and is_number(words[-1]):
                    return int(words[words.index("ge") + 1])
        return None

    @property
    def followed(self) -> bool:
        """Return whether each map of a session matches by prefixes, communities and origin alone."""
        used = {
            part
            for stance in self.stances
            for name in (stance.imports, stance.exports)
            for part in name.split(_AND)
        }
        if any(" " in name and name not in self.maps for name in used):  # a chain, or another expression
            return False
        return all(clause.only != OTHER for name in used for clause in self.maps.get(name, ()))

    def _matches(self, clause: Clause, route: Route) -> bool:
        if (clause.only == OWN and not route.own) or (clause.only == LEARNED and route.own):
            return False
        if clause.only == OTHER and not clause.permit:
            return False
        if clause.prefix_list and clause.prefix_list in self.lists:
            for rule in self.lists[clause.prefix_list]:
                deny = rule.startswith("deny ")
                if _rule_matches(rule.removeprefix("deny "), route.prefix, route.own):
                    if deny:
                        return False
                    break
            else:
                return False
        elif clause.prefix_list:
            return False
        if not clause.community_list:
            return True
        entries = self.communities.get(clause.community_list, "").split(", ")
        for entry in entries:
            words = entry.removeprefix("deny ").split()
            if words and set(words) <= route.communities:
                return not entry.startswith("deny ")
        return False


def policy_of(seen: SwitchView, file: str) -> Policy:
    """Return the policy of a switch; `key` is equal for switches that treat every route in the same way."""
    switch = seen.switch
    loopbacks = [seen.facts.get(f"loopback/{family}") for family in ("ipv4", "ipv6")]
    texts = [*seen.aggregates, *(text for text in loopbacks if isinstance(text, str))]
    blocks = [mine for text in texts if (mine := parse_block(text))]
    own = frozenset(map(str, blocks))
    lists = {
        name: tuple(_without_own(rule, own) for rule in rules) for name, rules in sorted(seen.lists.items())
    }
    maps = {
        name: tuple(
            _parse_clause(
                seen.facts, sequence, clauses[sequence], seen.place(f"route_map[{name}]/{sequence}")[1]
            )
            for sequence in sorted(clauses)
        )
        for name, clauses in sorted(seen.maps.items())
    }
    routes, discards = _static_routes(seen)
    policy = Policy(
        switch.tier_index, switch.plane, _pod_number(switch), switch.drained, tuple(sorted(_find_stances(seen),
            key=repr)), maps,
        lists, dict(seen.communities), _originated_blocks(blocks, _announces_evpn(seen)), switch.name, file,
        outward=routes if "bgp/redistribute_static" in seen.facts else (),
        static_map=str(seen.facts.get("bgp/redistribute_static", "")), discards=discards, vtep="source" in seen.evpn,
        enters=any(path.startswith(_ENTERING) for path in seen.facts),
        list_lines={
            name: tuple(seen.place(f"prefix_list[{name}]/{at}")[1] for at in range(len(rules)))
            for name, rules in lists.items()
        },
        aggregate_lines={
            block: seen.place(f"bgp/aggregate[{text}]")[1] or seen.place(f"bgp/network[{text}]")[1]
            for text in seen.aggregates if (block := parse_block(text))
        },
        asn_line=seen.place("bgp/asn")[1],
    )  # fmt: skip
    return replace(policy, key=_policy_key(policy))


def policy_of_alike(first: Policy, switch: Switch, texts: Iterable[str], file: str, key: bytes) -> Policy:
    """The policy of a switch that is like the `first` but for coordinates, plane and pod; `policy_of` has the rest.

    Args:
        first: that of the other.
        switch: whose it is.
        texts: prefixes that it puts into BGP.
        file: where its lines are.
        key: b"" where it is not known.
    """
    blocks = [mine for text in texts if (mine := parse_block(text))]
    originates = _originated_blocks(blocks, _ALL_EVPN in first.originates)
    policy = replace(
        first,
        plane=switch.plane,
        pod=_pod_number(switch),
        name=switch.name,
        file=file,
        originates=originates,
        key=key,
    )
    return policy if key else replace(policy, key=_policy_key(policy))


def _pod_number(switch: Switch) -> int:
    return -1 if switch.pod is None else switch.pod


def _announces_evpn(seen: SwitchView) -> bool:
    """Return whether a VTEP announces EVPN routes over links; sessions between loopbacks take any path."""
    if "source" not in seen.evpn:
        return False
    return not any(
        neighbor not in seen.by_neighbor and "evpn" in address_families(attributes.get("families"))
        for neighbor, attributes in seen.neighbors.items()
    )


def _originated_blocks(blocks: Iterable[Block], evpn: bool) -> tuple[Block, ...]:
    return (*dict.fromkeys(blocks), *((_ALL_EVPN,) if evpn else ()))


def _policy_key(policy: Policy) -> bytes:
    """Return a key that is equal for policies that treat every route in the same way."""
    stances = [_stance_tuple(s) for s in policy.stances]
    head = (policy.tier, policy.plane, policy.pod, policy.drained, stances, len(policy.originates))
    maps = {name: [(*clause[:5], clause.only) for clause in clauses] for name, clauses in policy.maps.items()}
    outside = (policy.outward, policy.discards, policy.static_map)
    text = repr(
        (head, maps, policy.lists, sorted(policy.communities.items()))
        + (outside if policy.outward or policy.discards else ())
        + ((policy.vtep,) if policy.vtep else ())
        + (() if policy.enters else ("loopback kept",))
        + (("EVPN between loopbacks",) if policy.vtep and _ALL_EVPN not in policy.originates else ())
    )
    return blake2b(text.encode(), digest_size=16).digest()


def _static_routes(seen: SwitchView) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Prefixes of static routes that lead somewhere, and of those that lead nowhere."""
    found: dict[bool, list[Block]] = {True: [], False: []}
    for prefix, via in seen.routes.items():
        if mine := parse_block(prefix):
            found[via == "discard"].append(mine)
    return tuple(sorted(found[False])), tuple(sorted(found[True]))


def _find_stances(seen: SwitchView) -> set[NeighborPolicy]:
    ports = seen.by_neighbor
    sending = any("send_community" in attributes for attributes in seen.neighbors.values())
    alike: set[tuple[str, tuple[Value | None, ...]]] = set()
    for neighbor, attributes in seen.neighbors.items():
        link = ports.get(neighbor)
        if link is not None and (between_switches(link) or leads_out(link)):
            prefix = f"neighbor[{neighbor}]/"
            maps = [seen.evpn.get(prefix + leaf) for leaf in ("import", "export")]
            families, *others = map(attributes.get, _STANCE)
            if maps != [None, None]:
                families = ",".join(each for each in address_families(families) if each != "evpn")
            alike.add((link.port.direction.value, (families, *others)))
            if maps != [None, None]:
                alike.add((link.port.direction.value, ("evpn", *maps, attributes.get("send_community"))))
    return {
        NeighborPolicy(
            direction, frozenset(_FAMILIES.get(f, 6) for f in address_families(families) if f),
            "" if imports is None else str(imports), "" if exports is None else str(exports),
            not sending or sends == "true",
        )
        for direction, (families, imports, exports, sends) in alike
    }  # fmt: skip


def _stance_tuple(policy: NeighborPolicy) -> tuple[object, ...]:
    return (policy.direction, sorted(policy.families), *policy[2:])


def _parse_clause(facts: Mapping[str, Value], sequence: int, text: str, line: int) -> Clause:
    words = text.split()
    named = dict(pairwise(words))
    adds = " ".join(words[words.index("add_community") + 1 :]) if "add_community" in words else ""
    stops = {_WELL_KNOWN[word] for word in (*words, *adds.replace(",", " ").split()) if word in _WELL_KNOWN}
    adds = " ".join(dict.fromkeys((*adds.split(), *sorted(stops))))
    return Clause(
        sequence,
        words[0] == "permit",
        named.get("prefix_list", ""),
        named.get("community_list", ""),
        adds,
        line,
        _condition(facts, text),
    )


def _condition(facts: Mapping[str, Value], text: str) -> str:
    """Return the routes that the conditions of a clause match, without its prefix list and community list."""
    found = {_match_origin(facts, kind, value) for kind, value in _MATCH.findall(text)}
    return found.pop() if len(found) == 1 else OTHER if found else ""


def _match_origin(facts: Mapping[str, Value], kind: str, value: str) -> str:
    if kind in _PROTOCOLS and value == "bgp":
        return LEARNED
    if kind == "interface" or kind in _PROTOCOLS:
        return OWN
    entries = [str(each) for path, each in facts.items() if path.startswith(f"as_path_list[{value}]/")]
    return OWN if kind == "as-path" and entries and _EMPTY_PATHS.issuperset(entries) else OTHER


def _without_own(rule: str, own: frozenset[str]) -> str:
    prefix, _, rest = rule.removeprefix("deny ").partition(" ")
    mine = parse_block(prefix) if prefix in own else None
    if mine is None:
        return rule
    kind = f"{OWN} {mine.family} {mine.length}"
    return ("deny " if rule.startswith("deny ") else "") + f"{kind} {rest}".strip()


def _spans_length(rule: str, length: int) -> bool:
    """Return whether a rule is about prefixes of a length."""
    words = rule.split()
    base = int(words[2]) if words[0] == OWN else block.length if (block := parse_block(words[0])) else -1
    bounds = {word: int(words[at + 1]) for at, word in enumerate(words[:-1]) if word in ("ge", "le")}
    least = bounds.get("ge", base)
    return least <= length <= bounds.get("le", least if "ge" not in bounds else length)


@lru_cache(maxsize=65536)
def _rule_matches(rule: str, prefix: Block, own: bool) -> bool:
    """Return whether a prefix-list rule, `PREFIX [ge N] [le N]`, matches a prefix; other text matches none."""
    words = rule.split()
    mine = words[:1] == [OWN]
    covering = Block(int(words[1]), 0, int(words[2])) if mine else parse_block(words[0]) if words else None
    rest = words[3:] if mine else words[1:]
    if covering is None or not all(is_number(word) and len(word) < 4 for word in rest[1::2]):
        return False
    limits = dict(zip(rest[::2], rest[1::2], strict=False))
    low = int(limits.get("ge", covering.length))
    high = int(limits.get("le", covering.bits if "ge" in limits else covering.length))
    if not low <= prefix.length <= high:
        return False
    if mine:
        inside = (
            bool(limits) and covering.length < prefix.length < prefix.bits
        )  # a subnet of its own aggregate
        return own and covering.family == prefix.family and (covering.length == prefix.length or inside)
    return covering.covers(prefix)
