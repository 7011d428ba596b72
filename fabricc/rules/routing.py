"""Find sessions whose policies lose routes: none where a system requires one, or one that denies or filters nothing."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos import route_blocks
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
from fabricc.proof.invariants.policy import DENYING
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at, line_with
from fabricc.rules.rule import POLICY as TOPIC
from fabricc.rules.rule import FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    carries_evpn,
    external_sessions,
    has_policy,
    is_open_list,
    open_sessions,
    sessions_to_switches,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions


POLICY = "FAB9664"
_REQUIRED = "bgp/requires_policy"
_CONNECTED = "bgp/redistribute_connected"
HEIGHT = {Tier.TOR: 1, Tier.SPINE: 2, Tier.CORE: 3}
_MAP = "route_map["
_SHUTDOWN = "65535:0"
"""The community of a switch that is drained (RFC 8326)."""


def _without_policy(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a system which requires policies exchanges nothing over sessions without one (RFC 8212)."""
    required = (statement.facts_below(start) for start in route_blocks.MISSING_POLICY)
    settings = [path for found in required for path, value in found.items() if value != "accept"]
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
            and (not general or "ipv" in str(values["families"]) or "address-family all" in general)
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


def requirement_of(statement: Statement, sessions: Sessions) -> str:
    """Return whether a switch requires policies, as text, else the path of a session with a switch without one."""
    stated = statement.rest.get(_REQUIRED)
    if stated is not None or statement.expected.planned:
        return str(stated or "")
    external = {key for key, _ in external_sessions(statement)}
    joined = (each for each in sessions_to_switches(statement, sessions) if each[0] in external)
    bare = (key for key, values in joined if not all(has_policy(values, way) for way in ("import", "export")))
    key = next(bare, None) if statement.fars else None
    return (
        session_path(key, "remote_asn" if "remote_asn" in statement.sessions[key] else "remote_kind")
        if key
        else ""
    )


def _unstated_requirements(fabric: Switches) -> Iterator[Report]:
    """Report sessions without a policy where a switch requires one by default and others of its system do not."""
    off = {each.system: name for name, each in fabric.summaries.items() if each.requirement == "false"}
    for name, summary in fabric.summaries.items() if off else ():
        path = summary.requirement
        if path not in ("", "false", "true") and summary.system in off:
            why = f"(RFC 8212), and {off[summary.system]} states that it requires none"
            message = f"{name} exchanges no route over sessions without a policy {why}"
            remedy = "Set policies on the sessions, or switch the requirement off."
            yield Report(POLICY, name, (path,), message, "no policy", Severity.WARNING, remedy)


def _idle_maps(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch that puts all or no connected routes into BGP, and has a route map for them that nothing uses."""
    value = statement.rest.get(_CONNECTED)
    open_ = value == "unfiltered" or not any(map(statement.facts_below, _ENTERING))
    maps = {first_key(path) for path in statement.facts_below(_MAP)} if open_ else set[str]()
    if not maps or "bgp/asn" not in statement.rest:
        return
    own = (_MAP, f"structure/{_MAP}")
    stated = [str(each) for path, each in statement.rest.items() if not path.startswith(own)]
    ends = (*statement.sessions.values(), *statement.ports.values())
    stated += [str(each) for values in ends for each in values.values()]
    stated += [text for *_, text in statement.device.unknown]
    idle = maps.difference(*(re.split(r"[\s,]+", text) for text in stated))
    name = min(idle, default="")
    if len(idle) == 1 and _FILTERING.search(str(statement.facts_below(f"{_MAP}{name}]/"))):
        what = "puts all connected routes into BGP" if value else "puts no route into BGP"
        message = f"{statement.name} {what}, and nothing uses the route map {name}"
        remedy = f"Redistribute connected routes by {name}, or remove it."
        paths = (_CONNECTED, "bgp/asn")
        yield finding_at(POLICY, statement.device, paths, message, "idle map", Severity.WARNING, remedy)


_ENTERING = ("bgp/network[", "bgp/aggregate[", "bgp/redistribute", "bgp/setting[redistribute", "bgp/static")
_FILTERING = re.compile(r"\bmatch (?:interface|(?:.* )?prefix_list)\b")


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
        texts = ["deny" if _denies_by_open_list(statement, text) else text for text in texts]
        usual = [text for text in texts if not any(mark in text for mark in marks)]  # no switch is drained
        if permits_none(system, usual or texts, absent):
            found.add(name)
    return found


def _denies_by_open_list(statement: Statement, clause: str) -> bool:
    """Return whether a clause denies what a list permits, and that is everything."""
    words = clause.split()
    return (
        words[:2] in (["deny", "prefix_list"], ["deny", "as_path_list"])
        and len(words) == _LISTED
        and (is_open_list(statement, words[2]))
    )


_LISTED = 3
"""Words of a clause with one list."""


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
        if far is None or not far.known or far.tier not in HEIGHT or not _carries_unicast(values):
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


RULES = (
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _without_policy),
    SwitchRule(POLICY, TOPIC, (Input.BGP, Input.LINKS), _unfiltered_sessions),
    SwitchRule(POLICY, TOPIC, (Input.BGP, Input.LINKS), _closed_sessions),
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _without_communities),
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _idle_maps),
    FabricRule(POLICY, TOPIC, (Input.BGP, Input.LINKS), _unstated_requirements),
)
