"""Find routing settings of one switch that lose routes or let loops in: policies, paths, and unknown peers.

A peer that is not known may announce the fabric's own prefixes.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.back.nos import route_blocks
from fabricc.back.nos.defaults import installs_one_path_by_default, installs_one_route, most_paths
from fabricc.back.nos.evpn_defaults import sends_route_targets
from fabricc.back.nos.route_blocks import (
    absent_routes,
    accepts_by_default,
    denying_names,
    maps_of_condition,
    permits_none,
)
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key, split_list_path
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.proof.invariants.policy import DENYING, Policy, Route
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.proof.invariants.rules import RULES as INVARIANTS
from fabricc.proof.invariants.view import as_int
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at, line_with
from fabricc.rules.rule import BGP, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.rule import POLICY as TOPIC
from fabricc.rules.sessions import (
    UPPER,
    carries_evpn,
    external_sessions,
    has_policy,
    is_address,
    open_sessions,
    sessions_to_switches,
)  # fmt: skip
from fabricc.rules.static_routes import find_origins

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.records import OuterSession, Summary
    from fabricc.rules.sessions import Key, Sessions

POLICY = "FAB9664"
_REQUIRED = "bgp/requires_policy"
_HEIGHT = {Tier.TOR: 1, Tier.SPINE: 2, Tier.CORE: 3}
_MAP = "route_map["
_SHUTDOWN = "65535:0"
"""The community of a switch that is drained (RFC 8326)."""


def _without_policy(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a system which requires policies exchanges nothing over sessions without one (RFC 8212)."""
    settings = statement.facts_below(route_blocks.MISSING_POLICY)
    always = statement.rest.get(_REQUIRED) == "true"
    if not always and not settings and not any("missing-policy" in each for each in statement.session_leaves):
        return
    for direction, effect in (("import", "accepts no route"), ("export", "announces no route")):
        general = route_blocks.requires_policy(settings, direction)
        bare = [
            key
            for key, values in external_sessions(statement)
            if values.get("families", "")
            and not has_policy(values, direction)
            and (always or general or route_blocks.requires_policy(values, direction))
        ]
        if bare:
            who = join_words([neighbor for _, neighbor in bare], 2)
            message = (
                f"{statement.name} {effect} from {who}"
                if direction == "import"
                else f"{statement.name} {effect} to {who}"
            )
            message += f": there is no {direction} policy, and the switch requires one (RFC 8212)"
            paths = tuple(session_path(bare[0], leaf) for leaf in ("families", "remote_asn", "remote_kind"))
            lines = statement.device.reading.lines
            if len(bare) == len(external_sessions(statement)) and lines.get(_REQUIRED) != lines.get(
                "bgp/asn"
            ):
                paths = (_REQUIRED, *paths)  # the requirement that no session fulfills is stated
            own = route_blocks.requires_policy(statement.sessions[bare[0]], direction)
            if not always:
                paths = (session_path(bare[0], own) if own else general, *paths)
            remedy = f"Set an {direction} policy on the session, or switch the requirement off."
            yield finding_at(
                POLICY, statement.device, paths, message, f"no {direction} policy", remedy=remedy
            )
        start = "evpn/neighbor["
        stated = statement.facts_below(start) if always else {}
        external = {neighbor for (vrf, neighbor), _ in external_sessions(statement) if not vrf}
        speaking = external.intersection(first_key(path) for path in stated)
        closed = sorted(each for each in speaking if f"{start}{each}]/{direction}" not in stated)
        if closed:
            message = (
                f"{statement.name} exchanges no route of EVPN with {join_words(closed, 2)}: there is no {direction} "
                "policy, and the switch requires one (RFC 8212)"
            )
            remedy = f"Set an {direction} policy for EVPN on the session."
            path = next(path for path in stated if path.startswith(f"{start}{closed[0]}]/"))
            yield finding_at(POLICY, statement.device, path, message, f"no {direction} policy", remedy=remedy)


def _closed_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions with known switches, or with EVPN, whose policy permits no route."""
    joined = {key for key, _ in sessions_to_switches(statement, sessions)}
    for direction, effect in (("import", "accepts no route from"), ("export", "announces no route to")):
        denying = _denying_maps(statement, direction)
        closed = []
        joined = {key for key, _ in sessions_to_switches(statement, sessions)}
        for key, values in open_sessions(statement) if denying else ():
            far = statement.fars.get(sessions.near.get(key, ""))
            known = key in joined or (far is not None and far.known and far.tier is not Tier.HOST)
            if direction == "export" and any(maps_of_condition(*each) for each in values.items()):
                continue  # which announces routes that the policy of the session leaves out
            own = (
                f"evpn/neighbor[{key[1]}]/{direction}"  # decides on routes of EVPN in place of the session's
            )
            paths = [own] if own in statement.rest else []
            if (known and _carries_unicast(values)) or not paths:
                paths.append(session_path(key, direction))
            if known or carries_evpn(sessions, key):
                named = ((path, statement.rest.get(path, values.get(direction))) for path in paths)
                hit = ((path, _denying_name(name, denying)) for path, name in named)
                closed += [(key[1], path, name) for path, name in hit if name][:1]
        linked = any(far.known for far in statement.fars.values()) or statement.place.tier is not Tier.OTHER
        if closed and (linked or {key for key, _, _ in closed} >= {neighbor for _, neighbor in joined}):
            who = join_words([neighbor for neighbor, _, _ in closed], 2)
            _, path, name = closed[0]
            message = f"{statement.name} {effect} {who}: the {direction} policy {name} permits none"
            remedy = "Permit the prefixes of the fabric in the policy, or shut the session."
            group, clauses = f"{direction} permits none", statement.facts_below(f"{_MAP}{name}]/")
            found = finding_at(
                POLICY, statement.device, [*clauses][:1] or path, message, group, Severity.WARNING, remedy
            )
            if place := next(filter(None, map(statement.lines.get, clauses)), None):
                found = found._replace(line=line_with(statement.device, *place, DENYING))
            yield found


_OF_FAMILY = re.compile(r"(?:ipv4|ipv6) (\S+)")


def _denying_name(value: Value | None, denying: set[str]) -> str:
    """Return the policy of a session that denies all, also if it is that of one family; "" for none."""
    parts = [match[1] if (match := _OF_FAMILY.fullmatch(each)) else each for each in str(value).split(", ")]
    return next((name for each in parts for name in denying_names(each, denying)), "")


def _denying_maps(statement: Statement, direction: str) -> set[str]:
    """Return the policies that deny every route of the switch's sessions in a direction."""
    clauses: dict[str, list[tuple[int, str]]] = {}
    for path, value in statement.facts_below(_MAP).items():
        name, number = split_list_path(path, "route_map")
        if is_number(number):
            clauses.setdefault(name, []).append((int(number), str(value)))
    if not clauses:
        return set()
    system, absent = statement.device.system, frozenset[str]()
    if accepts_by_default(system) and any(" match " in text for each in clauses.values() for _, text in each):
        carried = ",".join(str(values.get("families", "")) for values in statement.sessions.values())
        absent = absent_routes(carried, statement.rest, direction)
    lists = statement.facts_below("community_list[").items()
    marks = {f"community_list {first_key(path)}" for path, value in lists if value == _SHUTDOWN}
    found = set()
    for name, each in clauses.items():
        texts = [text for _, text in sorted(each)]
        usual = [text for text in texts if not any(mark in text for mark in marks)]  # no switch is drained
        if permits_none(system, usual or texts, absent):
            found.add(name)
    return found


def _unfiltered_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions with known switches that have no policy, on a system that then exchanges every route.

    The severity is `note` on a switch without PFC and without any policy: many networks are designed that way, and
    `warning` where three times as many sessions to the same tier have one.
    """
    if statement.rest.get(_REQUIRED) == "true":
        return
    bare: dict[str, list[Key]] = {}
    guarded, lacking = Counter[tuple[str, Tier]](), Counter[tuple[str, Tier]]()
    for key, values in external_sessions(statement):
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is None or not far.known or far.tier not in _HEIGHT or not _carries_unicast(values):
            continue
        missing = [way for way in ("import", "export") if not has_policy(values, way)]
        guarded.update((way, far.tier) for way in ("import", "export") if way not in missing)
        lacking.update((way, far.tier) for way in missing)
        if missing:
            bare.setdefault(" and no ".join(missing), []).append(key)
    severity = Severity.NOTE
    odd = any(guarded[each] >= _MOST * count for each, count in lacking.items())
    if bare and (odd or lossless_ports(statement) or _has_unused_policy(statement)):
        severity = Severity.WARNING
    for ways, keys in bare.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name} has no {ways} policy for {who}: one wrong announcement reaches every switch"
        )
        leaves = ("remote_asn", "remote_kind", "families", "description")
        paths = tuple(session_path(keys[0], leaf) for leaf in leaves)
        remedy = "Permit the intended prefixes on each session between switches, in both directions."
        yield finding_at(POLICY, statement.device, paths, message, f"no {ways} policy", severity, remedy)


_MOST = 3
"""How many sessions with a policy, for one without, show that the latter lost it."""


def _has_unused_policy(statement: Statement) -> bool:
    """Return whether a switch defines a route map that nothing uses, not even another route map."""
    defined = {first_key(path) for path in statement.facts_below(_MAP)}
    values = [*statement.rest.values()]
    for session in statement.sessions.values():
        values += session.values()
    return not defined <= {word for value in values for word in str(value).replace(",", " ").split()}


def _carries_unicast(values: Mapping[str, Value]) -> bool:
    """Return whether a session exchanges routes of the fabric itself, not those of an overlay alone."""
    families = str(values.get("families", "")).split(",")
    return "ipv4" in families or "ipv6" in families


def _without_communities(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions with EVPN that send no extended communities, which have the route targets."""
    bare = [
        key
        for key, values in statement.sessions.items()
        if not key[0] and "evpn" in _families_of(sessions, key) and not _sends_targets(statement, values)
    ]
    if bare:
        who = join_words([neighbor for _, neighbor in bare], 2)
        message = (
            f"{statement.name} sends no extended communities to {who}: EVPN routes lose their route targets"
        )
        remedy = "Send extended communities on every session that carries EVPN."
        paths = tuple(
            session_path(bare[0], leaf) for leaf in ("send_community", *_UNSENT, "families", "remote_asn")
        )
        yield finding_at(POLICY, statement.device, paths, message, "no communities", Severity.WARNING, remedy)


def _families_of(sessions: Sessions, key: Key) -> list[str]:
    return str(sessions.stated[key].families).split(",") if key in sessions.stated else []


_UNSENT = ("setting[evpn send_community]", "setting[evpn send-community extended]")
"""Leaves by which a session keeps the communities of EVPN routes, which it sends by default (FRR)."""


def _sends_targets(statement: Statement, values: Mapping[str, Value]) -> bool:
    """Return whether a session sends extended communities, as far as its settings of communities name them."""
    if any(values.get(leaf) in ("false", "off") for leaf in _UNSENT):
        return False
    stated = (
        f"{leaf} {value}"
        for leaf, value in values.items()
        if ("send_community" in leaf or "send-community" in leaf) and value not in ("false", "off")
    )
    return sends_route_targets(statement.device.system, stated)


def _one_path(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report parallel uplinks, or links to one switch, of which BGP uses only one (invariant 9)."""
    links = _equal_links(statement, sessions)
    limits = _path_limits(statement)
    unrelated = statement.rest.get("bgp/multipath_relax") == "none"
    alone = installs_one_route(statement.device.system, statement.rest)
    joined, system = sessions_to_switches(statement, sessions), statement.device.system
    for family, ports in sorted(links.items()):
        limit = limits.get(family)
        unstated = (
            limit is None
            and (statement.fars or joined)
            and installs_one_path_by_default(statement.device.system)
        )
        if ports < 2 or not (unstated or unrelated or limit == 1 or alone):
            continue
        why = "the number that it sets" if limit == 1 else "the default of its system"
        message = f"{statement.name} has {ports} equal paths and uses one of them, {why}"
        exported = statement.rest.get("routing/setting[forwarding-table export]")
        paths = (
            *([f"route_map[{exported}]/10"] if exported else []),
            "bgp/maximum_paths",
            f"bgp/family[{family}]/maximum_paths",
            "bgp/multipath_relax",
            "bgp/asn",
        )
        rule = INVARIANTS[9]
        yield finding_at(
            rule.code, statement.device, paths, message, rule.slug, Severity.WARNING, rule.remedy
        )
        return
    stated = str(statement.rest.get("bgp/maximum_paths"))
    one = _ONE.fullmatch(stated) if stated != "None" else not limits and installs_one_path_by_default(system)
    if not links and len(joined) > 1 and one:
        why = "the default of its system" if stated == "None" else "the number that it sets"
        message = f"{statement.name} has {len(joined)} sessions over ports and uses one path, {why}"
        rule, paths = INVARIANTS[9], ("bgp/maximum_paths", "bgp/asn")
        yield finding_at(
            rule.code, statement.device, paths, message, rule.slug, Severity.WARNING, rule.remedy
        )
    shared = Counter(
        values["remote_asn"] for _, values in joined if isinstance(values.get("remote_asn"), int)
    ).most_common(1)
    if (
        max(links.values(), default=0) < _TWO
        and one
        and stated != "None"
        and (number := next((n for n, count in shared if count > 1), None))
    ):
        message = f"{statement.name} has paths to AS {number} over several neighbors and uses one path"
        rule = INVARIANTS[9]
        yield finding_at(
            rule.code,
            statement.device,
            "bgp/maximum_paths",
            message,
            rule.slug,
            Severity.WARNING,
            rule.remedy,
        )
    for path, value in statement.facts_below("vrf[").items():
        if path.endswith("]/bgp/maximum_paths") and _ONE.fullmatch(str(value)):
            inner = [key for key in sessions.stated if key[0] == first_key(path)]
            if len(inner) > 1 or (stated != "None" and not _ONE.fullmatch(stated)):
                message = (
                    f"{statement.name} uses one path in the VRF {first_key(path)}, the number that it sets"
                )
                rule = INVARIANTS[9]
                yield finding_at(
                    rule.code, statement.device, path, message, rule.slug, Severity.WARNING, rule.remedy
                )


def _too_many_paths(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a number of paths that the system refuses, so that the line is not in effect."""
    most = most_paths(statement.device.system)
    stated = {**statement.facts_below("bgp/maximum_paths"), **statement.facts_below("bgp/family[")}
    for path, value in stated.items() if most else ():
        number = str(value).split(" ")[0] if path.endswith("maximum_paths") else ""
        if is_number(number) and int(number) > most:
            message = f"{statement.name}: {number} paths, and the system takes no more than {most}"
            rule, remedy = INVARIANTS[9], "Set a number that the system takes."
            yield finding_at(rule.code, statement.device, path, message, rule.slug, Severity.WARNING, remedy)


_TWO = 2
_ONE = re.compile(r"1|(?:ipv[46] \d+, )*ipv[46] 1(?:, ipv[46] \d+)*")


def _equal_links(statement: Statement, sessions: Sessions) -> dict[str, int]:
    """Return family -> number of equal paths: all uplinks, the links to one switch, or sessions without an address."""
    here = _HEIGHT.get(statement.place.tier, 0)
    links: dict[tuple[str, str], set[str]] = {}
    joined = [key for key, _ in sessions_to_switches(statement, sessions)]
    for key, values in external_sessions(statement):
        near = sessions.near.get(key, "")
        far = statement.fars.get(near)
        there = _HEIGHT.get(far.tier, 0) if far is not None and far.known else 0
        bare = far is None and key in joined
        if not bare and not (here and there):
            continue
        for family in _FAMILIES.intersection(str(values.get("families", "")).split(",")):
            end = "" if far is None or there > here else far.end.device
            links.setdefault((family, end), set()).add(near or key[1])
    most: dict[str, int] = {}
    for (family, _), ports in links.items():
        most[family] = max(most.get(family, 0), len(ports))
    return most


def _path_limits(statement: Statement) -> dict[str, int]:
    """Return family -> maximum number of equal paths, for families that invariant 9 does not check.

    Invariant 9 reads one number for all families, and skips switches that accept AS path loops.
    """
    stated = statement.rest.get("bgp/maximum_paths")
    families = {
        family: as_int(statement.rest.get(f"bgp/family[{family}]/maximum_paths")) for family in _FAMILIES
    }
    limits = {family: limit for family, limit in families.items() if limit is not None}
    if isinstance(stated, str):
        pairs = (part.split() for part in stated.split(","))
        limits |= {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and is_number(pair[1])}
    elif stated is not None:
        looped = any(
            values.get("allow_as_in") not in (None, 0, "0") for values in statement.sessions.values()
        )
        place = statement.lines.get("bgp/maximum_paths")
        inner = {statement.lines.get(f"bgp/family[{family}]/maximum_paths") for family in limits}
        others = limits if place and place in inner else _FAMILIES  # the number is that of a family
        limits = dict.fromkeys(others, int(stated) if looped else _COUNTED) | limits
    return limits


_FAMILIES = frozenset({"ipv4", "ipv6"})
_COUNTED = 64
"""Stands for a limit that invariant 9 compares itself."""


def _unknown_peers(fabric: Switches) -> Iterator[Report]:
    tors: list[Block] | None = None
    bare = {
        name
        for name, summary in fabric.summaries.items()
        if not all(map(is_address, summary.remote)) and not summary.joined
    }  # switches of a fabric without addresses, whose links are not known
    for name, summary in fabric.summaries.items():
        unknown = _strangers(fabric, summary)
        placed = summary.tier in (Tier.TOR, *UPPER) or (name in bare and len(bare) >= _SEVERAL)
        if not unknown or not placed or not _has_known_peer(fabric, summary):
            continue
        if tors is None:
            origins = (each for each in find_origins(fabric) if each.family == 4)
            tors = sorted(origins, key=lambda each: (each.length, each.first)) or _loopbacks(fabric)
        for each in unknown:
            if what := _breach(each, summary, fabric.policy(name), tors):
                key = each.key
                message = f"{name} {what} on its session with {key[1]}, which no known switch has"
                leaves = ("import", "remote_asn", "remote_kind", "families")
                paths = tuple(session_path(key, leaf) for leaf in leaves)
                remedy = "Permit the intended prefixes on this session, in both directions."
                word = key[1] if each.grouped else ""
                yield Report(POLICY, name, paths, message, "unknown peer", Severity.WARNING, remedy, word)


def _loopbacks(fabric: Switches) -> list[Block]:
    """Return the first two loopbacks of switches, which stand for the prefixes of a fabric without others."""
    stated = (text for each in fabric.summaries.values() for text in _own_addresses(each) if "." in text)
    return [block for text in islice(stated, 2) if (block := parse_block(text))]


def _own_addresses(summary: Summary) -> tuple[str, ...]:
    """Return the loopbacks of a switch, or its router identifier, which is one in nearly all designs."""
    return summary.loopbacks or (f"{summary.router_id}/32",)


def _breach(session: OuterSession, summary: Summary, policy: Policy | None, tors: list[Block]) -> str:
    """Return which of the fabric's routes a session lets through; "" for none."""
    if session.bare == ("import", "export"):
        return "takes and announces every route, without a policy"
    if session.bare:
        return f"{'takes' if 'import' in session.bare else 'announces'} every route, without a policy"
    theirs = next((each for each in tors if str(each) not in _own_addresses(summary)), None)
    if theirs and _accepts_prefix(policy, session.imports, theirs):
        return f"takes {theirs} by {session.imports}, which is the fabric's,"
    for verb, name in zip(("takes", "announces"), session.opened, strict=True):
        if name:
            return f"{verb} every route by {name}"
    clauses = policy.maps.get(session.imports, ()) if policy and accepts_by_default(summary.system) else ()
    if clauses and all(each.prefix_list or each.community_list or each.only for each in clauses):
        return f"takes every route that no term of {session.imports} rejects"
    return ""


def _strangers(fabric: Switches, summary: Summary) -> list[OuterSession]:
    """Return the sessions with unknown devices, without those that have no policy and are like one with a known device.

    The device of such a session is one of the fabric whose files are not here.
    """
    unknown = [each for each in summary.outer if _is_unknown(fabric, each.key[1])]
    if not unknown:
        return []
    known = [each.kinds for each in summary.outer if not _is_unknown(fabric, each.key[1])]
    return [
        each
        for each in unknown
        if not each.bare or not (each.alike or any(map(each.kinds.intersection, known)))
    ]


def _has_known_peer(fabric: Switches, summary: Summary) -> bool:
    """Return whether some session of a switch leads to a known device."""
    return summary.joined or any(not _is_unknown(fabric, neighbor) for neighbor in summary.remote)


def _accepts_prefix(policy: Policy | None, imports: str, prefix: Block) -> bool:
    """Return whether a route map accepts a prefix that another switch announces."""
    if policy is None or imports not in policy.maps:
        return False
    return policy.apply(imports, Route(prefix, False, frozenset())) is not None


_SEVERAL = 3
"""Switches that a folder has at least if their unnumbered sessions join them, and not others."""


def _is_unknown(fabric: Switches, neighbor: str) -> bool:
    """Return whether no known device has the address of a neighbor."""
    try:
        ip_address(neighbor)
    except ValueError:
        return False
    return not fabric.owners(neighbor)


RULES = (
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _without_policy),
    SwitchRule(POLICY, TOPIC, (Input.BGP, Input.LINKS), _unfiltered_sessions),
    SwitchRule(POLICY, TOPIC, (Input.BGP, Input.LINKS), _closed_sessions),
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _without_communities),
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP, Input.TIER), _one_path),
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP,), _too_many_paths),
    FabricRule(POLICY, TOPIC, (Input.TIER,), _unknown_peers),
)
