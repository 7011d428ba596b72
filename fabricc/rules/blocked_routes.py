"""Find settings outside session policies that make a switch accept, announce or install no route.

These are lists of a session, distances, and maps of the process.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import route_blocks
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import Tier, policy_names, session_path, used_policies
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE, leads_to_switch
from fabricc.rules.idle_filters import POINTLESS
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import BGP, POLICY, Input, SwitchRule
from fabricc.rules.sessions import is_address, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions


_WAYS = {
    "in": ("prefix_list_in", "filter_in", "distribute_in"),
    "out": ("prefix_list_out", "filter_out", "distribute_out"),
}


_LISTS = {"prefix_list": "prefix list", "as_path_list": "list of AS paths", "access_list": "access list"}


_SHORT = 65535
"""The largest AS number of 16 bits."""


def _closed_lists(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report lists of sessions with other switches that permit no route: of others inwards, and none outwards."""
    joined = sessions_to_switches(statement, sessions)
    leaf = _passes_nothing_on(statement, len(joined))
    for way, leaves in _WAYS.items():
        closed: dict[str, list[Key]] = {}
        for key, values in joined:
            for each in leaves:
                if each in values and _permits_none(statement, str(values[each]), way, values, leaf):
                    closed.setdefault(each, []).append(key)
        for each, keys in closed.items():
            kind, name = _kind_and_name(str(statement.sessions[keys[0]][each]))
            who = join_words([neighbor for _, neighbor in keys], 2)
            effect = "accepts no route from" if way == "in" else "announces no route to"
            of = " of other switches" if way == "in" else ""
            message = f"{statement.name} {effect} {who}: the {_LISTS[kind]} {name} permits none{of}"
            remedy = "Permit the prefixes of the fabric in the list, or remove it from the sessions."
            path = session_path(keys[0], each)
            yield finding_at(
                REFUSED, statement.device, path, message, f"{each} permits none", Severity.WARNING, remedy
            )


def _passes_nothing_on(statement: Statement, joined: int) -> bool:
    """Return whether a switch has no routes of others to announce: it is a ToR, or all sessions lead to one switch."""
    fars = {far.end.device for far in statement.fars.values() if far.known}
    return statement.place.tier is Tier.TOR or (len(fars) == 1 and joined == len(statement.sessions))


def _own_imports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report imports from other switches that permit own prefixes alone, such as a policy of exports."""
    joined = sessions_to_switches(statement, sessions)
    for name in sorted(used_policies(joined, "import") - {"None"}):
        lists: dict[str, list[str]] = {}
        for path, value in statement.facts_below(f"route_map[{name}]/").items():
            words = str(value).split() if is_number(split_list_path(path, "route_map")[1]) else []
            if words[:2] == ["permit", "prefix_list"]:
                lists[path] = [words[2], *(word for word in words if word in ("community_list", "continue"))]
            elif words[:1] == ["permit"] and "community_list" not in words:
                lists.clear()
                break  # a clause without a list permits other prefixes
        usual = {path: listed[0] for path, listed in lists.items() if len(listed) == 1}
        own = {each for each in usual.values() if _permits_own(statement, each)}
        if usual and own >= set(usual.values()):
            keys = [key for key, values in joined if name in policy_names(values.get("import"))]
            who = join_words([neighbor for _, neighbor in keys], 2)
            message = (
                f"{statement.name}: {name} permits its own prefixes alone from {who}: it learns no route"
            )
            remedy = "Permit the prefixes of the fabric in the import, and the own ones in the export."
            others = any(listed[0] not in own for listed in lists.values())
            path = next(iter(usual)) if others else session_path(keys[0], "import")
            word = usual[path] if others else ""
            yield finding_at(
                REFUSED, statement.device, path, message, "own import", Severity.WARNING, remedy, word=word
            )


def _foreign_exports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report exports of a ToR that name prefixes or paths in each permitting clause, and none of the ToR."""
    announces = any(map(statement.facts_below, _ANNOUNCED))
    joined = sessions_to_switches(statement, sessions) if announces else []
    joined = joined if _passes_nothing_on(statement, len(joined)) else []
    exports = [(key, policy_names(values["export"])) for key, values in joined if "export" in values]
    for name in dict.fromkeys(each for _, names in exports for each in names):
        clauses = {
            path: str(value)
            for path, value in statement.facts_below(f"route_map[{name}]/").items()
            if is_number(split_list_path(path, "route_map")[1]) and str(value).startswith("permit")
        }
        if clauses and all(_keeps_own(statement, value) for value in clauses.values()):
            who = join_words([key[1] for key, names in exports if name in names], 2)
            message = f"{statement.name} announces no route of its own to {who}: {name} permits none of its prefixes"
            remedy = "Permit the prefixes of the switch in the policy."
            path = next(iter(clauses))
            yield finding_at(
                REFUSED, statement.device, path, message, "foreign export", Severity.WARNING, remedy
            )


_ANNOUNCED = ("bgp/network[", "bgp/aggregate[", "bgp/redistribute")


_NAMED = re.compile(
    r"permit (?:(?P<list>prefix_list) (?P<name>\S+)|match route-filter (?P<prefix>\S+) \S+"
    r"|match as-path (?P<path>\S+))(?: set .*)?"
)


def _keeps_own(statement: Statement, clause: str) -> bool:
    """Return whether a clause permits prefixes or paths alone that are none of the switch."""
    match = _NAMED.fullmatch(clause)
    if match is None:
        return False
    if match["path"]:
        entries = list_entries(statement, "as_path_list", match["path"])
        return (
            bool(entries) and not any(" " not in each for each in entries) and not _permits_path(entries, "")
        )
    texts = [match["prefix"]] if match["prefix"] else list_entries(statement, "prefix_list", match["name"])
    permitted = [text for text in texts if not text.startswith("deny")]
    return bool(texts) and not any(_meets_own(statement, text) for text in permitted)


def _permits_own(statement: Statement, name: str) -> bool:
    """Return whether a prefix list permits own prefixes alone."""
    permitted = [text for text in list_entries(statement, "prefix_list", name) if not text.startswith("deny")]
    return bool(permitted) and all(_is_own(statement, text) for text in permitted)


def _kind_and_name(value: str) -> tuple[str, str]:
    """Return kind and name of a list; a value without a kind names a prefix list."""
    kind, _, name = value.rpartition(" ")
    return (kind, name) if kind in _LISTS else ("prefix_list", value)


def _permits_none(
    statement: Statement, value: str, way: str, session: Mapping[str, Value], leaf: bool
) -> bool:
    """Return whether a list of a session permits no route; `way` is `in` or `out`, for which own prefixes count.

    A `leaf` passes no routes of others on.
    """
    kind, name = _kind_and_name(value)
    entries = list_entries(statement, kind, name)
    if not entries and kind == "prefix_list":  # `filter-list` of NX-OS names one of AS paths
        kind, entries = "as_path_list", list_entries(statement, "as_path_list", name)
    if not entries:
        return False
    if all(text.startswith("deny") for text in entries):
        return True
    if kind == "as_path_list":
        return way == "in" and refuses_paths(entries, session.get("remote_asn", session.get("remote_kind")))
    if kind == "access_list":
        return False
    permitted = [text for text in entries if not text.startswith("deny")]
    if way == "in":
        return all(_is_own(statement, text) for text in permitted)
    return not permitted or (leaf and not any(_meets_own(statement, text) for text in permitted))


def _is_own(statement: Statement, text: str) -> bool:
    """Return whether an entry permits no more than an aggregate of the switch and its parts, or its loopback.

    The parts of an aggregate are routes of others, except at a ToR, and so are those of a default route.
    """
    stated, _, longer = text.partition(" ")
    try:
        prefix = _parse_network(stated)
        aggregates, loopbacks = statement.remember(_own_networks, _own_networks)
    except ValueError:
        return False
    if longer and statement.place.tier is not Tier.TOR:
        aggregates = []
    return any(
        each.version == prefix.version and prefix.subnet_of(each)  # type: ignore[arg-type]
        for each in (*aggregates, *loopbacks)
        if each.prefixlen
    )


def _meets_own(statement: Statement, text: str) -> bool:
    """Return whether an entry may permit a prefix that the switch has or states."""
    try:
        stated = _parse_network(text.partition(" ")[0])
        mine = statement.remember(_meets_own, _all_own_networks)
    except ValueError:
        return True
    return any(each.version == stated.version and each.overlaps(stated) for each in mine)


def _all_own_networks(statement: Statement) -> list[IPv4Network | IPv6Network]:
    """Return the networks of all addresses of a switch, and those that it announces."""
    aggregates, loopbacks = _own_networks(statement)
    texts = [text for texts in statement.addresses.values() for text in texts]
    texts += [split_list_path(path, "bgp/network")[0] for path in statement.facts_below("bgp/network[")]
    texts += [split_list_path(path, "static_route")[0] for path in statement.facts_below("static_route[")]
    return [*aggregates, *loopbacks, *map(_parse_network, texts)]


@lru_cache(1 << 10)
def _parse_network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def _own_networks(
    statement: Statement,
) -> tuple[list[IPv4Network | IPv6Network], list[IPv4Network | IPv6Network]]:
    """Return the aggregates and the loopbacks of a switch; what a ToR announces by statement is as an aggregate."""
    ways = ("bgp/aggregate", "bgp/network") if statement.place.tier is Tier.TOR else ("bgp/aggregate",)
    aggregates = [split_list_path(path, way)[0] for way in ways for path in statement.facts_below(f"{way}[")]
    stated = (statement.rest.get(path) for path in ("loopback/ipv4", "loopback/ipv6"))
    loopbacks = [str(text) for text in stated if text is not None]
    return [*map(_parse_network, aggregates)], [*map(_parse_network, loopbacks)]


_NUMBER = re.compile(r"\d+")


def refuses_paths(entries: list[str], neighbor: Value | None) -> bool:
    """Return whether a list denies the path of the neighbor alone, and with each AS number that the list names.

    An external neighbor of an AS that is not stated may have each of these numbers, or any other.
    """
    if not isinstance(neighbor, int) and neighbor != "external":
        return False
    origins = dict.fromkeys(number for text in entries for number in _NUMBER.findall(text))
    near = [str(neighbor)] if isinstance(neighbor, int) else [_ANY_NUMBER, *origins]
    paths = [*near, *(f"{each} {origin}" for each in near for origin in origins)]
    return not any(_permits_path(entries, path) for path in paths)


_ANY_NUMBER = "4199999999"


_PLAIN = re.compile(r"\^?(?:[0-9_ ]|\.\*|\[0-9\][+*])*\$?")


_MOST_REPEATS = 4


_ORIGIN = re.compile(r" (?:any|egp|igp|incomplete)$")
"""The origin that an entry of EOS ends with."""


def _permits_path(entries: list[str], path: str) -> bool:
    """Return what the first entry decides that matches; `_` is a boundary (FRR user guide, "AS Path Access Lists").

    A form with other repetitions could take forever to match: what it decides is unknown, so that it permits.
    """
    for text in entries:
        action, _, quoted = text.partition(" ")
        form = _ORIGIN.sub("", quoted).strip('"')
        if not _PLAIN.fullmatch(form) or form.count("*") + form.count("+") > _MOST_REPEATS:
            return True
        if re.search(form.replace("_", r"(?:^|[ ,{}()]|$)"), path):
            return action == "permit"
    return False


def _uninstalled_routes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a distance, and maps of the process, with which no route of BGP is installed.

    A route reflector that forwards no packets may install none.
    """
    if any("reflector_client" in values for values in statement.sessions.values()):
        return
    for path, value in statement.facts_below("bgp/setting[").items():
        why, paths = "", [path]
        if route_blocks.installs_none(path, value):
            why = f"the distance {str(value).split()[0]} is that of an unreachable route"
        elif facts := denying_facts(statement, named := route_blocks.filtering_map(path, value)):
            why, paths = f"the map {named} permits none", facts
        if why:
            message = f"{statement.name} installs no route of BGP: {why}"
            remedy = "Remove the setting, or permit the prefixes of the fabric in it."
            yield finding_at(
                POINTLESS, statement.device, tuple(paths), message, "not installed", Severity.WARNING, remedy
            )


def denying_facts(statement: Statement, name: str) -> list[str]:
    """Return the facts by which all clauses of a route map deny, or permit by a list that does; [] if one permits."""
    found: list[str] = []
    for path, value in statement.facts_below(f"route_map[{name}]/").items():
        if is_number(split_list_path(path, "route_map")[1]):
            match = _NAMED.fullmatch(str(value))
            listed = (
                statement.facts_below(f"prefix_list[{match['name']}]/") if match and match["name"] else {}
            )
            if not all(str(each).startswith("deny") for each in listed.values() or [value]):
                return []
            found += [*listed, path]
    return found


_SOURCE = "bgp/source["


def _foreign_source(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a source address for learned routes that no port of the switch has."""
    for path, value in statement.facts_below(_SOURCE).items():
        address = str(value).split(" ", 1)[0]
        further = any(path.endswith(f"/also[{address}/32]") for path in statement.facts_below("loopback/"))
        if sessions.addresses and address not in sessions.addresses and not further:
            message = (
                f"{statement.name} sets the source {address} on routes of BGP, which is not one of its addresses: "
                "the kernel refuses them"
            )
            remedy = "Name the address of the loopback."
            yield finding_at(
                POINTLESS,
                statement.device,
                path,
                message,
                "foreign source",
                Severity.WARNING,
                remedy,
                word=address,
            )


def _unable_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions that never come up: shut by default, or without the capability of a large AS number."""
    shut = route_blocks.fact_that_shuts(statement.rest)
    if shut and (
        keys := [key for key, values in sessions_to_switches(statement, sessions) if "enabled" not in values]
    ):
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = f"{statement.name}: the sessions with {who} are shut, as sessions are by default here"
        remedy = "Remove the default, or enable the sessions."
        yield finding_at(IDLE, statement.device, shut, message, "shut session", Severity.WARNING, remedy)
    closed = [key for key, values in statement.sessions.items() if values.get("enabled") == "false"]
    by_link = (sessions.near.get(key, "") for key in closed)  # which `forwarding` reports
    if len(closed) == len(statement.sessions) > 1 and not any(leads_to_switch(statement, p) for p in by_link):
        who = f"each of its {len(closed)} sessions is shut"
        message = f"{statement.name}: {who}, so it has no route of others"
        remedy, path = "Enable the sessions.", session_path(closed[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut session", Severity.WARNING, remedy)
    lone = [key for key in closed if not key[0] and not is_address(key[1]) and not statement.fars]
    if lone and len(closed) < len(statement.sessions):
        who = join_words([neighbor for _, neighbor in lone], 2)
        message = f"{statement.name}: shut session with {who}: no path there is used"
        remedy, path = "Enable the session.", session_path(lone[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut session", Severity.WARNING, remedy)
    bare = [
        (key, leaf)
        for key, values in sessions_to_switches(statement, sessions)
        if (leaf := route_blocks.fact_without_capabilities(values))
        and ((sessions.stated[key].asn or 0) > _SHORT or _needs_capabilities(sessions, key))
    ]
    if bare:
        who = join_words([neighbor for (_, neighbor), _ in bare], 2)
        message = (
            f"{statement.name}: the session with {who} offers no capabilities, and so no AS number above {_SHORT}, no "
            "family but IPv4 and no next hop of IPv6: it is never up, or carries nothing"
        )
        remedy = "Let the session negotiate capabilities (RFC 5492)."
        paths = session_path(*bare[0])
        yield finding_at(IDLE, statement.device, paths, message, "no capabilities", Severity.WARNING, remedy)


def _needs_capabilities(sessions: Sessions, key: Key) -> bool:
    """Return whether routes of a session have another family than IPv4, or next hops of another one (RFC 8950)."""
    return not is_address(key[1]) or str(sessions.stated[key].families) != "ipv4"


def permits_nothing(statement: Statement, name: str) -> bool:
    """Return whether a policy that another one calls decides on every route, and permits none."""
    for path, value in statement.facts_below(f"route_map[{name}]/").items():
        words = str(value).split()
        if is_number(split_list_path(path, "route_map")[1]):
            if words[0] == "permit" and "continue" not in words:
                return False
            if words == ["deny"]:
                return True
    return False


def list_entries(statement: Statement, kind: str, name: str) -> list[str]:
    """Return the entries of a list in their order."""
    facts = statement.facts_below(f"{kind}[{name}]/").items()
    return [str(text) for path, text in facts if is_number(split_list_path(path, kind)[1])]


RULES = (
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _closed_lists),
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _own_imports),
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _foreign_exports),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _uninstalled_routes),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _foreign_source),
    SwitchRule(IDLE, BGP, (Input.BGP, Input.LINKS), _unable_sessions),
)
