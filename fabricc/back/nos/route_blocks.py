"""Settings that keep BGP routes out of a switch, and which ones policies of VRFs let in and out."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set

    from fabricc.fabric.facts import Value

_DISTANCE = re.compile(r"bgp/setting\[(?:ipv[46] )?distance(?: bgp)?\]")
_TABLE_MAP = re.compile(r"bgp/setting\[(?:ipv[46] table-map|ipv?6? (?:protocol|nht(?: bgp)?) route-map)\]")
_PROFILE = re.compile(r"bfd/setting\[(?:profile (\S+) )?(?:shutdown|passive-mode)\]")
_PEER = re.compile(r"bfd/setting\[peer (\S+)(?: .*)? shutdown\]")
_DEFINED = re.compile(r"structure/bfd_profile\[.*\]")
_USED = re.compile(r"structure/bgp_group\[.*\]/bfd_profile")
_UNREACHABLE = "255"
"""The distance of a route that is never installed (FRR, zebra/zebra.h: DISTANCE_INFINITY)."""
_ANNOUNCED_IF = re.compile(r"setting\[(?:ipv[46] )?advertise-map\]")
_SHUT_BY_DEFAULT = "bgp/setting[default shutdown]"
_NO_CAPABILITIES = "setting[dont-capability-negotiate]"
AVOIDED = ("graceful-shutdown", "65535:0", "blackhole", "65535:666")
"""Communities by which the receivers of a route avoid it, or drop its packets (RFC 8326, RFC 7999)."""


HIDING = ("no-advertise", "65535:65282", "no-export", "65535:65281", "local-AS", "local-as", "65535:65283")
"""Communities by which the receivers of a route keep it to themselves, or to their own AS (RFC 1997)."""
_UNINSTALLED = re.compile(r"\bset (?:table \d+|distance 255|next-hop (?:discard|reject)|no-install-to-fib)\b")
"""What a clause sets so that no route that it permits is in the table of the switch, or leads anywhere.

Sources: FRR user guide, "Route Maps"; Junos routing policies user guide, "Actions in Routing Policy Terms".
"""


def uninstalling_words(clause: str) -> str:
    """Return what a clause sets by which no route that it permits is installed, "" for nothing."""
    match = _UNINSTALLED.search(clause)
    return match[0] if match else ""


_FROM_LOOPBACK = "platform/setting[default-address-selection]"


def sends_from_loopback(facts: Mapping[str, Value]) -> bool:
    """Return whether packets of sessions come from the loopback where no source is stated (Junos CLI reference)."""
    return facts.get(_FROM_LOOPBACK) == "true"


_FALLS_THROUGH = ("junos",)
"""Systems whose policies leave a route that no term decides about to the next policy, and last to a default."""
_NEXT = " continue"
"""Ends a clause that leaves the decision to the next one (`then next term`, and a term without an action)."""
_CONDITION = re.compile(r"\bmatch (family|protocol) (\S+)")


_DENIES_ALL = re.compile(r"deny(?: (?:add_community|local_preference) \S+)*")


def permits_none(system: str, clauses: Iterable[str], absent: Set[str]) -> bool:
    """Return whether a policy denies every route: each clause before one without conditions denies, or never applies.

    Args:
        system: of the switch.
        clauses: of the policy, in their order.
        absent: families, and sources of routes, of which no route comes to the policy.
    """
    falls_through, closed = system in _FALLS_THROUGH, False
    for clause in clauses:
        closed = closed or not falls_through
        if _DENIES_ALL.fullmatch(clause):
            return True
        if clause.startswith("deny") or (falls_through and clause.endswith(_NEXT)):
            continue
        if not any(absent >= {*words.split(",")} for _, words in _CONDITION.findall(clause)):
            return False
    return closed


_ELSEWHERE = frozenset({"direct", "static", "aggregate", "ospf", "ospf2", "ospf3", "isis", "rip", "ripng"})
"""Sources of routes other than BGP, in words of Junos."""
_OF_PROTOCOL = {"ospf": ("ospf", "ospf2", "ospf3"), "isis": ("isis",), "rip": ("rip", "ripng")}
_OF_FAMILY = (("ipv4", "inet"), ("ipv6", "inet6"))


def absent_routes(families: str, facts: Iterable[str], direction: str) -> frozenset[str]:
    """Return families and sources of routes, in words of Junos, of which no route comes to a policy of sessions.

    Args:
        families: those that the sessions of the switch carry.
        facts: paths of its facts, which show the protocols that it runs.
        direction: `import` or `export`.
    """
    if "evpn" in families or "vpn" in families:
        return frozenset()
    absent = {word for family, word in _OF_FAMILY if family not in families}
    if direction == "import":
        return _ELSEWHERE.union(absent)
    sections = {path.partition("[")[0] for path in facts}
    absent |= {"static"} - ({"static"} if any(each.endswith("static_route") for each in sections) else set())
    for protocol, words in _OF_PROTOCOL.items():
        if not any(protocol in section for section in sections):
            absent.update(words)
    return frozenset(absent)


def accepts_by_default(system: str) -> bool:
    """Return whether a system accepts the routes of BGP that no clause of a policy decides about."""
    return system in _FALLS_THROUGH


def denying_names(chain: str, denying: Collection[str]) -> list[str]:
    """Return the policies by which a chain or an expression of policies denies every route."""
    words = [word for word in chain.split() if word not in ("(", ")")]
    named = [word for word in words if word in denying]
    if "||" in words:
        return named if len(named) == len([word for word in words if word[0] not in "&|!"]) else []
    return named if "&&" in words else [word for word in words[:1] if word in denying]


def installs_none(path: str, value: Value) -> bool:
    """Return whether a fact states the distance of external routes that no route with it is installed."""
    return _DISTANCE.fullmatch(path) is not None and str(value).split()[:1] == [_UNREACHABLE]


_FILTERING = re.compile(r"bgp/setting\[ipv[46] table-map (\S+)\]")


def filtering_map(path: str, value: Value) -> str:
    """Return the map without whose permission no route of BGP is installed; NX-OS names it in the path."""
    match = _FILTERING.fullmatch(path)
    return match[1] if match and value == "filter" else str(value) if installing_map(path) else ""


def installing_map(path: str) -> bool:
    """Return whether a fact names the map which decides about the routes of BGP that are installed."""
    return _TABLE_MAP.fullmatch(path) is not None


def shuts_detection(path: str, parts: Mapping[str, Value]) -> bool:
    """Return whether a fact states that BFD is shut, or a profile that is in use (FRR user guide, "BFD").

    Args:
        path: of the fact.
        parts: facts about the profiles and the groups that use them. The only profile is in use in any case.
    """
    return path.endswith("shutdown]") and _is_of_used_profile(path, parts)


def _is_of_used_profile(path: str, parts: Mapping[str, Value]) -> bool:
    match = _PROFILE.fullmatch(path)
    if match is None or match[1] is None or sum(map(bool, map(_DEFINED.fullmatch, parts))) == 1:
        return match is not None
    return any(_USED.fullmatch(part) and value == match[1] for part, value in parts.items())


def peer_without_detection(path: str, value: Value) -> str:
    """Return the neighbor for which a fact states that BFD is shut, "" for any other fact."""
    match = _PEER.fullmatch(path)
    return match[1] if match and value != "false" else ""


def fact_of_waiting(facts: Mapping[str, Value]) -> str:
    """Return the fact by which the BFD of all sessions waits for the other end (`passive-mode` of FRR), "" if none."""
    found = [path for path, value in facts.items() if path.startswith(_BFD) and value != "false"]
    waiting = [path for path in found if path.endswith(" passive-mode]")]
    if not waiting:
        return ""
    parts = {path: value for path, value in facts.items() if path.startswith("structure/b")}
    return next((path for path in waiting if _is_of_used_profile(path, parts)), "")


_BFD = "bfd/setting["


def fact_that_shuts(facts: Mapping[str, Value]) -> str:
    """Return the fact that shuts sessions which state nothing else (`bgp default shutdown` of FRR), "" if none."""
    return _SHUT_BY_DEFAULT if facts.get(_SHUT_BY_DEFAULT) == "true" else ""


def fact_without_capabilities(values: Iterable[str]) -> str:
    """Return the fact of a session by which it offers no capabilities, and so no AS number of 32 bits; "" if none."""
    return _NO_CAPABILITIES if _NO_CAPABILITIES in values else ""


def maps_of_condition(leaf: str, value: Value) -> tuple[str, ...]:
    """Return the maps of a conditional announcement, `OWN exist-map OTHERS` of FRR."""
    words = str(value).split() if _ANNOUNCED_IF.fullmatch(leaf) else []
    return tuple(words[::2])


GATEWAY_MACS = ("setting[virtual-gateway-v4-mac]", "setting[ip vrr mac-address]")
"""Leaves of an interface of a VLAN whose virtual gateway has a MAC address of its own (Junos, NVUE)."""
_MEMBERS = "community_list["


def targets_of_policy(
    facts_below: Callable[[str], Mapping[str, Value]], name: str, way: str
) -> tuple[frozenset[str], str]:
    """Return the route targets that a policy of a VRF imports or sets, and the path of the first of them."""
    found: dict[str, str] = {}
    for path, value in facts_below(f"route_map[{name}]/").items():
        words = str(value).split()
        if words[0] == "permit" and way == "export" and "add_community" in words:
            found |= {
                each: path for each in words[words.index("add_community") + 1 :] if each.startswith(_TARGET)
            }
        elif words[0] == "permit" and "community_list" in words:
            listed = f"{_MEMBERS}{words[words.index('community_list') + 1]}]"
            members = str(facts_below(_MEMBERS).get(listed, "")).split(", ")
            found |= {each: listed for each in members if each.startswith(_TARGET)}
    return frozenset(found), next(iter(found.values()), "")


_TARGET = "target:"


_MISSING = re.compile(
    r"(?:bgp/)?setting\[(?:bgp )?missing-policy (?:.* )?direction (in|out) action (deny|deny-in-out)\]"
    r"|bgp/setting\[defaults ebgp no-policy (receive|advertise)\]"
)
_DIRECTIONS = {"import": ("in", "receive"), "export": ("out", "advertise")}
MISSING_POLICY = ("bgp/setting[bgp missing-policy ", "bgp/setting[defaults ebgp no-policy ")
"""What the facts begin with by which sessions of EOS and Junos without a policy exchange nothing."""


def requires_policy(paths: Iterable[str], direction: str) -> str:
    """Return the fact by which sessions without a policy in a direction exchange nothing there, "" for none."""
    for path in paths:
        match = _MISSING.fullmatch(path) if "-policy " in path else None
        if match and ((match[1] or match[3]) in _DIRECTIONS[direction] or "-in-" in (match[2] or "")):
            return path
    return ""


_MARTIANS = re.compile(r"routing/setting\[martians (\S+)\]")


def refused_blocks(facts: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield the path of a fact by which no route of a block is accepted, and the block (Junos, `martians`)."""
    for path, value in facts.items():
        match = _MARTIANS.fullmatch(path)
        if match and str(value).split(" ")[0] in ("orlonger", "longer"):
            yield path, match[1]


ADDS, MATCHES, DELETES, IDLE = "adds", "matches", "deletes", "has no use of"
_COMMUNITIES = re.compile(r"community_list\[([^\]]+)\]")


def tags_of(lists: Mapping[str, Value], clauses: Mapping[str, Value]) -> tuple[tuple[str, str, str], ...]:
    """Return what policies do with each community that has a list: verb, members, and path of the clause or list.

    Args:
        lists: the facts about lists of communities.
        clauses: those about clauses of policies.
    """
    named = {
        match[1]: (str(value), path)
        for path, value in lists.items()
        if (match := _COMMUNITIES.fullmatch(path))
    }
    found, used = list[tuple[str, str, str]](), set[str]()
    for path, value in clauses.items() if named else ():
        for before, word in pairwise(str(value).split()):
            text = named.get(word, (word, ""))[0]
            if word in named or before == "add_community":
                used.add(text)
            if before == "add_community":
                found.append((ADDS, text, path))
            elif word in named and before in ("community_list", "delete"):
                found.append((DELETES if before == "delete" else MATCHES, text, path))
    found += [(IDLE, text, path) for text, path in named.values() if text not in used]
    return tuple(found)
