"""Reads routing policy: filter lists, communities, and policy statements term by term."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import COMMUNITY_OF
from fabricc.base.values import dataclass
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Container

    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.tree import Node

    Place = tuple[str, int]

_RANGE = re.compile(r"/(\d{1,3})-/(\d{1,3})")
_UPTO = re.compile(r"/(\d{1,3})")
_PROTOCOLS = {"aggregate", "bgp", "direct", "static"}
_ACTIONS = (("accept",), ("reject",), ("next", "policy"))


@dataclass(slots=True)
class Policies:
    """What BGP needs to know of the policy.

    Attributes:
        as_lists: AS lists by name; whoever uses one reads it.
        prefix_lists: names of the filter lists.
        communities: members of each community, comma-joined.
        load_balancing: by name, the statement of each policy that does nothing but spread flows over all paths.
        suppressing: names of policies that hold back the routes an aggregate stands for.
    """

    as_lists: dict[str, Node] = field(default_factory=dict)
    load_balancing: dict[str, Node] = field(default_factory=dict)
    prefix_lists: set[str] = field(default_factory=set)
    communities: dict[str, str] = field(default_factory=dict)
    suppressing: set[str] = field(default_factory=set)


def read_policy(root: Node, put: Put) -> Policies:
    """State the facts of `policy-options`."""
    policies = Policies()
    for node in root.below("policy-options", "route-filter-list"):
        policies.prefix_lists.add(node.word)
        _filter_list(node, put)
    for node in root.below("policy-options", "community"):
        members = node.values("members")
        if members:
            value = ",".join(COMMUNITY_OF.get(member, member) for member, _ in members)
            policies.communities[node.word] = value
            put(f"community_list[{node.word}]", value, members[-1][1])
    for node in root.below("policy-options", "as-list"):
        policies.as_lists[node.word] = node
    for node in root.below("policy-options", "policy-statement"):
        if balancing := node.get("then", "load-balance", "per-packet"):
            policies.load_balancing[node.word] = balancing
        else:
            _statement(node, policies, put)
    return policies


def _filter_list(node: Node, put: Put) -> None:
    count = 0
    for prefix in node.children.values():
        for kind in prefix.children.values():
            for text, line in _lengths(prefix, kind):
                put(f"prefix_list[{node.word}]/{count}", f"{prefix.word}{text}", line)
                count += 1


def _lengths(prefix: Node, kind: Node) -> list[tuple[str, int]]:
    """The lengths of one filter as facts spell them, for each way the prefix is matched."""
    longest = 128 if ":" in prefix.word else 32
    if kind.word == "exact" and (line := kind.take()):
        return [("", line)]
    if kind.word == "orlonger" and (line := kind.take()):
        return [(f" le {longest}", line)]
    found = []
    for node in kind.children.values():
        span, upto = _RANGE.fullmatch(node.word), _UPTO.fullmatch(node.word)
        if kind.word == "prefix-length-range" and span and (line := node.take()):
            found.append((f" ge {span[1]} le {span[2]}", line))
        elif kind.word == "upto" and upto and (line := node.take()):
            found.append((f" le {upto[1]}", line))
    return found


def _statement(node: Node, policies: Policies, put: Put) -> None:
    summaries = []
    first = 0
    for term in node.below("term"):
        action, line = _action(term)
        protocols = [p.word for p in term.below("from", "protocol") if p.word in _PROTOCOLS and p.take()]
        summary = " ".join([*protocols, action])
        if term.flag("from", "aggregate-contributor"):
            summary = f"aggregate-contributor {summary}"
            if action == "reject":
                policies.suppressing.add(node.word)
        if term.word.isdecimal():
            _clause(f"route_map[{node.word}]/{term.word}", term, action, line, policies, put)
            summary = f"{term.word} {summary}"
        else:
            put(f"structure/policy[{node.word}]/term[{term.word}]", "true", term.line)
        summaries.append(summary)
        first = first or line
    if summaries:
        put(f"platform/policy[{node.word}]", "; ".join(summaries), first)


def _action(term: Node) -> tuple[str, int]:
    """The flow action of a term and its line; a term without one passes routes to the next term."""
    for words in _ACTIONS:
        if line := term.flag("then", *words):
            return " ".join(words), line
    return "next term", term.line


def _clause(path: str, term: Node, action: str, line: int, policies: Policies, put: Put) -> None:
    prefix_list = _name(term, policies.prefix_lists, "from", "route-filter-list")
    community = _name(term, policies.communities, "from", "community")
    preference = term.number("then", "local-preference")
    added = term.reference(policies.communities, "then", "community", "add")
    if preference:
        put(f"platform/{path}/local_preference", *preference)
    clause = Clause(
        int(term.word[:9]),
        action != "reject",
        prefix_list=prefix_list[0] if prefix_list else None,
        community_list=community[0] if community else None,
        local_preference=preference[0] if preference else None,
        add_community=policies.communities[added[0]] if added else None,
    )
    said = [place[1] for place in (prefix_list, community, preference, added) if place]
    put(path, clause_text(clause), max([line, *said]))


def _name(term: Node, known: Container[str], *words: str) -> Place | None:
    """The one name after these words; several are all matched by a device, so they stay unknown, as does a stranger."""
    names = [node.word for node in term.below(*words)]
    return term.reference(known, *words) if len(names) == 1 else None
