"""Find policies of sessions that permit every route or strange ones, omit a loopback, or turn communities around."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos import route_blocks
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key, outer_key, split_list_path
from fabricc.facts.statement import Tier, used_policies
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.announcements import connected_maps
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at
from fabricc.rules.harmful_settings import parse_network
from fabricc.rules.idle_filters import POINTLESS
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import UPPER, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.sessions import Key, Sessions

_SHUTDOWN = "65535:0"
_MEANT = re.compile(r"graceful|gshut", re.IGNORECASE)
_PREFERENCE = 100
"""The local preference of a route that states none (all six systems)."""
_CHOSEN = frozenset({"tag", "community_list"})
"""Conditions by which an operator chooses routes to be dropped or avoided (RFC 5635)."""


def _unused_marks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a list of graceful shutdown that no clause matches, while imports from other switches have policies."""
    imports = [values for _, values in sessions_to_switches(statement, sessions) if "import" in values]
    clauses = [str(value).split() for value in statement.facts_below("route_map[").values()]
    for path, value in statement.facts_below("community_list[").items() if imports else ():
        name = split_list_path(path, "community_list")[0]
        if value == _SHUTDOWN and not any(name in words for words in clauses):
            message = f"{statement.name}: no clause matches {name}: no switch in graceful shutdown is noticed"
            remedy = "Match it in the import, with the local preference 0 (RFC 8326), or remove the list."
            yield finding_at(
                POINTLESS, statement.device, path, message, "graceful shutdown", Severity.WARNING, remedy
            )


def _turned_marks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies by which routes of a draining switch are preferred or not seen, and own routes are avoided."""
    joined = sessions_to_switches(statement, sessions)
    used = {way: used_policies(joined, way) for way in ("import", "export")}
    lists = {
        split_list_path(path, "community_list")[0]: (path, str(value))
        for path, value in statement.facts_below("community_list[").items()
        if path.endswith("]")
    }
    for path, value in statement.facts_below("route_map[").items():
        name, number = split_list_path(path, "route_map")
        words = str(value).split()
        if not is_number(number) or words[0] != "permit":
            continue
        if name in used["import"] and "community_list" in words:
            yield from _turned_import(statement, path, name, words, lists)
        added = _added_communities(words)
        hidden = next((each for each in added if each in route_blocks.HIDING), "")
        closed = hidden and _hides_everything(statement, name)
        kept = "it does not pass the routes of others on" if name in used["import"] else (
            "the switches above do not pass its routes on"
        )  # fmt: skip
        if closed and name in used["import" if statement.place.tier in UPPER else "export"]:
            message = f"{statement.name}: {name} sets {hidden}: {kept}"
            remedy = "Remove the community from the policy."
            yield finding_at(
                POINTLESS,
                statement.device,
                path,
                message,
                "hidden routes",
                Severity.WARNING,
                remedy,
                word=hidden,
            )
        if (
            name in used["export"]
            and _CHOSEN.isdisjoint(words)
            and len(words) > 1
            and (mark := next((e for e in added if e in route_blocks.AVOIDED), ""))
            and not (mark == _SHUTDOWN and _is_drained(statement, used["export"]))
        ):
            message = (
                f"{statement.name}: {name} marks its routes with {mark}: the receivers avoid or drop them"
            )
            remedy = "Remove the community from the policy."
            yield finding_at(
                POINTLESS, statement.device, path, message, "avoided routes", Severity.WARNING, remedy, word=mark
            )  # fmt: skip


def _hides_everything(statement: Statement, name: str) -> bool:
    """Return whether all that a policy permits has a community by which receivers keep it to themselves."""
    clauses = (str(value).split() for value in statement.facts_below(f"route_map[{name}]/").values())
    permits = [_added_communities(words) for words in clauses if words[0] == "permit"]
    hidden = all(not set(route_blocks.HIDING).isdisjoint(added) for added in permits)
    return hidden and statement.place.tier in (Tier.TOR, *UPPER)


def _is_drained(statement: Statement, exports: Collection[str]) -> bool:
    """Return whether a switch announces everything for graceful shutdown, as one that is drained (RFC 8326)."""
    permits = []
    for path, value in statement.facts_below("route_map[").items():
        name, number = split_list_path(path, "route_map")
        if name in exports and is_number(number) and str(value).startswith("permit"):
            permits.append(str(value).split())
    return all(_SHUTDOWN in _added_communities(words) for words in permits)


def _added_communities(words: list[str]) -> list[str]:
    """Return the communities that a clause adds, `set community A B` or `add_community A`."""
    for at, word in enumerate(words[:-1]):
        if word == "add_community" or (word == "community" and words[at - 1] == "set"):
            return words[at + 1 :]
    return []


def _turned_import(
    statement: Statement, path: str, name: str, words: list[str], lists: Mapping[str, tuple[str, str]]
) -> Iterator[Finding]:
    listed = words[words.index("community_list") + 1]
    list_path, members = lists.get(listed, ("", ""))
    preference = words[words.index("local_preference") + 1] if "local_preference" in words else ""
    marked = _SHUTDOWN in members.split(", ")
    if marked and words[-1] == listed:
        message = f"{statement.name}: {name} changes nothing of routes of a switch in graceful shutdown"
        remedy = "Set the local preference 0 (RFC 8326)."
        yield finding_at(
            POINTLESS, statement.device, path, message, "graceful shutdown", Severity.WARNING, remedy
        )
    if not members or not is_number(preference):
        return
    if marked and int(preference) >= _PREFERENCE:
        message = (
            f"{statement.name}: {name} gives routes of a switch in graceful shutdown the local preference "
            f"{preference}, which is not below that of others"
        )
        remedy = "Set the local preference 0 (RFC 8326)."
        paths = (f"{path}/local_preference", path)
        yield finding_at(
            POINTLESS, statement.device, paths, message, "graceful shutdown", Severity.WARNING, remedy,
            word="local-preference",
        )  # fmt: skip
    elif not marked and preference == "0" and _MEANT.search(listed):
        message = (
            f"{statement.name}: {listed} is {members}, and graceful shutdown is {_SHUTDOWN} (RFC 8326): no draining "
            "switch is noticed"
        )
        remedy = f"Permit {_SHUTDOWN} in the list."
        yield finding_at(
            POINTLESS, statement.device, list_path, message, "graceful shutdown", Severity.WARNING, remedy
        )


_TERMS, _DECISIONS = "platform/policy[", ("accept", "reject")


def _open_exports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report exports of a ToR that end without a decision: Junos announces what BGP learned elsewhere."""
    chosen = "bgp/redistribute_connected" in statement.rest and statement.place.tier is Tier.TOR
    terms = statement.facts_below(_TERMS) if chosen else {}
    joined = sessions_to_switches(statement, sessions) if terms else ()
    used = used_policies(joined, "export")
    for path, value in terms.items():
        name, last = outer_key(path), str(value).rpartition("; ")[2]
        numbered = statement.rest.get(f"route_map[{name}]/{last.partition(' ')[0]}")
        if name in used and last not in _DECISIONS and numbered not in ("permit", "deny"):
            message = (
                f"{statement.name}: {name} ends without a decision, and BGP of Junos announces all routes by default: "
                "other switches send traffic for each other through it"
            )
            remedy = "Reject everything else in the last term."
            paths = (f"structure/policy[{name}]/term[DEFAULT]", path)
            yield finding_at(
                POINTLESS, statement.device, paths, message, "open export", Severity.WARNING, remedy
            )


def _absent_loopbacks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a loopback that a list of the exports names by itself, and that nothing puts into BGP."""
    entering = connected_maps(statement)
    taken, whole = _listed_prefixes(statement, entering) if entering else ({}, False)
    if not (taken and whole) or len(statement.facts_below("bgp/redistribute")) > 1:
        return
    exports = used_policies(sessions_to_switches(statement, sessions), "export")
    named = _listed_prefixes(statement, exports)[0].values()
    for path in ("loopback/ipv4", "loopback/ipv6"):
        own = parse_network(str(statement.rest.get(path, "")).partition("/")[0])
        if own is None or str(own) not in named or f"bgp/network[{own}]" in statement.rest:
            continue
        if not any(_permits_address(text, own) for text in taken.values()):
            message = (
                f"{statement.name}: its exports permit the loopback {own}, which no policy puts into BGP"
            )
            remedy = "Permit it in the policy of connected routes."
            denied = [each for each, text in taken.items() if text == f"deny {own}"]
            paths = (*denied, *taken)
            yield finding_at(
                POINTLESS, statement.device, paths, message, "absent loopback", Severity.WARNING, remedy
            )


def _strange_networks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report announced prefixes to which the switch has no route: addresses that it lacks, and nets around its own."""
    stated = statement.facts_below("bgp/network[")
    unchecked = statement.rest.get("bgp/setting[network import-check]") == "false"  # meant to exist nowhere
    if unchecked or not stated or statement.has_link_state or not statement.facts_below("loopback/ip"):
        return
    texts = [str(value) for value in statement.facts_below("loopback/ip").values()]
    texts += [text for some in statement.addresses.values() for text in some]
    texts = [text for text in texts if parse_network(text)]
    led = {*map(str, map(parse_network, texts)), *map(str, statement.facts_below("srv6/locator[").values())}
    for begins in ("static_route", "bgp/aggregate"):
        led |= {split_list_path(path, begins)[0] for path in statement.facts_below(f"{begins}[")}
    for path in stated:
        net = parse_network(first_key(path))
        if net is None or str(net) in led or str(net.network_address) in sessions.addresses:
            continue
        lone = net.num_addresses == 1
        if not (lone or any(ip_interface(each) in net for each in texts)):
            continue
        what = "one of its addresses" if lone else "a subnet of its ports"
        message = f"{statement.name} announces {net}, which is not {what}, and to which it has no route"
        remedy = "Name the address of the loopback, or remove the line."
        yield finding_at(
            POINTLESS, statement.device, path, message, "strange network", Severity.WARNING, remedy
        )


def _denied_loopback(statement: Statement, clause: str) -> str:
    """Return the own loopback if a clause denies a list of nothing else, "" for any other clause; not of spines."""
    match = _DENIED.fullmatch(clause) if statement.place.tier not in UPPER else None
    entries = statement.facts_below(f"prefix_list[{match[1]}]/").values() if match else ()
    own = {str(statement.rest.get(path)) for path in ("loopback/ipv4", "loopback/ipv6")}
    return str(next(iter(entries))) if entries and own.issuperset(map(str, entries)) else ""


_DENIED = re.compile(r"deny prefix_list (\S+)")


def _rejected_loopbacks(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches that reject the loopback, which a clause of its own names."""
    maps = used_policies(sessions_to_switches(statement, sessions), "export")
    for path, value in statement.facts_below("route_map[").items() if maps else ():
        name, number = split_list_path(path, "route_map")
        match = _REJECTED.fullmatch(str(value))
        lost = match[1] if match else _denied_loopback(statement, str(value))
        if lost and name in maps and is_number(number):
            message = (
                f"{statement.name}: clause {name} {number} rejects the loopback {lost}: nobody reaches it"
            )
            remedy = "Permit the loopback in the clause."
            yield finding_at(
                POINTLESS,
                statement.device,
                path,
                message,
                "rejected loopback",
                Severity.WARNING,
                remedy,
                word="reject",
            )


_REJECTED = re.compile(
    r"(?:deny|permit(?=.* continue$)) match interface (lo\S*|[Ll]oopback\d+)(?: continue)?"
)
"""A clause about the loopback alone that denies its routes, or decides nothing about them."""


def _listed_prefixes(statement: Statement, maps: set[str]) -> tuple[dict[str, str], bool]:
    """Return the entries of the lists by which policies permit, and whether each of their clauses has a list."""
    found, whole = dict[str, str](), True
    for path, value in statement.facts_below("route_map[").items():
        words = str(value).split()
        if first_key(path) in maps and words[:1] == ["permit"]:
            whole = whole and words[1:2] == ["prefix_list"]
            name = words[words.index("prefix_list") + 1] if "prefix_list" in words else ""
            entries = statement.facts_below(f"prefix_list[{name}]/") if name else {}
            found |= {each: str(entry) for each, entry in entries.items() if "/" in str(entry)}
    return found, whole


def _permits_address(entry: str, own: IPv4Network | IPv6Network) -> bool:
    """Return whether an entry of a list permits the route to one address."""
    prefix, _, rest = entry.partition(" ")
    net, words = parse_network(prefix), rest.split()
    if net is None or net.version != own.version or own.network_address not in net:
        return False
    longest = (
        int(words[words.index("le") + 1])
        if "le" in words
        else own.prefixlen
        if "ge" in words
        else net.prefixlen
    )
    return longest >= own.prefixlen


def _open_policies(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions between switches with RDMA that permit every route, as if there were none."""
    open_maps = statement.once(_permitting_clauses, lambda: _permitting_clauses(statement))
    found: dict[tuple[str, str], list[Key]] = {}
    for key, values in sessions_to_switches(statement, sessions) if open_maps else ():
        for way in ("import", "export"):
            if str(values.get(way)) in open_maps and {"ipv4", "ipv6"} & {
                *str(values.get("families", "")).split(",")
            }:
                found.setdefault((way, str(values[way])), []).append(key)
    for (way, name), keys in found.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name}: the {way} policy {name} for {who} permits every route: one wrong announcement reaches "
            "every switch"
        )
        path = open_maps[name]
        remedy = "Permit the intended prefixes on each session between switches, in both directions."
        yield finding_at(REFUSED, statement.device, path, message, f"open {way}", Severity.WARNING, remedy)


def _permitting_clauses(statement: Statement) -> dict[str, str]:
    """Return policy -> its last clause, if that permits every route and none before denies any; none without RDMA."""
    clauses: dict[str, list[tuple[int, str, list[str]]]] = {}
    for path, value in statement.facts_below("route_map[").items() if lossless_ports(statement) else ():
        name, number = split_list_path(path, "route_map")
        if is_number(number):
            clauses.setdefault(name, []).append((int(number), path, str(value).split()))
    found = dict[str, str]()
    for name, each in clauses.items():
        for _, path, words in sorted(each):
            if words[0] != "permit" or "continue" in words:
                break
            if _CONDITIONS.isdisjoint(words):
                found |= (
                    {name: path} if path == max(each)[1] else {}
                )  # else the clauses behind it are reported
                break
    return found


_CONDITIONS = frozenset({
    "match", "prefix_list", "community_list", "as_path_list", "prefix-list", "call", "on-match",
})  # fmt: skip
"""Words of a clause that does not decide about every route."""


def _prefixes(texts: Iterable[str]) -> list[str]:
    """Return the prefixes of entries of lists without the lengths that they permit."""
    return [text.partition(" ")[0] for text in texts]


def _strange_imports(fabric: Switches) -> Iterator[Report]:
    """Report imports from upper switches that permit prefixes of no other switch of the folder alone."""
    named = {
        parse_block(each)
        for mine in fabric.summaries.values()
        for _, _, texts in mine.accepts
        for each in _prefixes(texts)
    }
    if fabric.planned or not named:
        return
    theirs: dict[str, set[Block]] = {}
    for name, summary in fabric.summaries.items():
        texts = (*summary.loopbacks, *summary.prefixes, *(prefix for prefix, _, _ in summary.routes))
        theirs[name] = {block for each in texts if (block := parse_block(each))}
        if mine := fabric.subnets().get(name):
            theirs[name] |= {each.block for each in mine.of(name)}
    led = any(each.leads_out for each in fabric.summaries.values())
    for name, summary in fabric.summaries.items():
        for policy, path, texts in summary.accepts:
            prefixes = _prefixes(texts)
            blocks = [block for each in prefixes if (block := parse_block(each))]
            others = (block for other, found in theirs.items() if other != name for block in found)
            if any(fabric.owners(each.partition("/")[0]) for each in prefixes):
                continue
            exact = {each for each, text in zip(blocks, texts, strict=False) if " " not in text}
            if any(not each.length for each in exact) and (
                led or any(each.outer for each in fabric.summaries.values())
            ):
                continue
            if len(blocks) == len(texts) and not any(
                each.family == other.family
                and (each == other if each in exact else each.covers(other) or other.covers(each))
                for other in others
                for each in blocks
            ):
                message = f"{name}: the import policy {policy} permits {prefixes[0]} alone, which no other switch has"
                remedy = "Permit the prefixes of the fabric in the policy."
                yield Report(REFUSED, name, (path,), message, "strange import", Severity.WARNING, remedy)


def _unreached_clauses(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches that permit every route before their other clauses."""
    joined = sessions_to_switches(statement, sessions)
    used = used_policies(joined, "import", "export")
    used |= connected_maps(statement) if joined else set()
    maps: dict[str, list[tuple[int, str]]] = {}
    for path, value in statement.facts_below("route_map[").items():
        name, place = split_list_path(path, "route_map")
        if name in used and is_number(place):
            maps.setdefault(name, []).append((int(place), str(value)))
    for name, clauses in maps.items():
        ordered = sorted(clauses)
        for at, (number, text) in enumerate(ordered):
            last = next((after for after, other in ordered[at + 1 :] if other != "permit"), None)
            if text == "permit" and last is not None:
                message = f"{statement.name}: clause {name} {number} permits every route: clause {last} is not reached"
                remedy = "Remove the clause, or move it behind the others."
                path = f"route_map[{name}]/{number}"
                yield finding_at(
                    POINTLESS, statement.device, path, message, "unreached", Severity.WARNING, remedy
                )
                break


def _unbound_lists(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies that permit every route on a switch that requires policies and has a prefix list without use."""
    if statement.rest.get("bgp/requires_policy") != "true":
        return
    lists = {first_key(path) for path in statement.facts_below("prefix_list[")}
    joined = sessions_to_switches(statement, sessions) if lists else []
    imports = used_policies(joined, "import", "export")
    imports |= connected_maps(statement) if joined else set()
    clauses = statement.facts_below("route_map[") if imports else {}
    bare = {path: first_key(path) for path, value in clauses.items() if value == "permit"}
    if not imports.intersection(bare.values()):
        return
    values = [value for path, value in statement.rest.items() if path[0] != "p"]
    values += [value for says in statement.sessions.values() for value in says.values()]
    unused = sorted(lists.difference(*(str(value).replace(",", " ").split() for value in values)))
    for path in bare if unused else ():
        name, number = split_list_path(path, "route_map")
        if name in imports and is_number(number):
            message = f"{statement.name}: {name} permits every route, and nothing uses {unused[0]}"
            remedy = "Match the list in the clause, or remove the list."
            yield finding_at(
                POINTLESS, statement.device, path, message, "unbound list", Severity.WARNING, remedy
            )


RULES = (
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _rejected_loopbacks),
    FabricRule(REFUSED, POLICY, (Input.TIER,), _strange_imports),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unreached_clauses),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unbound_lists),
    SwitchRule(REFUSED, POLICY, (Input.BGP, Input.LINKS), _open_policies),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _open_exports),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _absent_loopbacks),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _strange_networks),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _turned_marks),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unused_marks),
)
