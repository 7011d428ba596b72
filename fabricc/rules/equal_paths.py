"""Find limits of equal paths below the links to the next tier, and above what the system installs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import installs_one_path_by_default, installs_one_route, most_paths
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key
from fabricc.facts.statement import session_path
from fabricc.proof.invariants.rules import RULES as INVARIANTS
from fabricc.proof.invariants.view import as_int
from fabricc.rules.findings import finding_at
from fabricc.rules.routing import HEIGHT
from fabricc.rules.rule import BGP, Input, SwitchRule
from fabricc.rules.sessions import (
    external_sessions,
    sessions_to_switches,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions


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
            *(["bgp/multipath_relax"] if unrelated else []),
            "bgp/multipath_ibgp",
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


def _preferred_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a policy that prefers or prepends the routes of some sessions with an AS alone: others are idle."""
    tilting = statement.once(_tilting_maps, lambda: _tilting_maps(statement))
    if not tilting:
        return
    external = {key for key, _ in external_sessions(statement)}
    alike: dict[object, list[tuple[Key, Mapping[str, Value]]]] = {}
    for key, values in sessions_to_switches(statement, sessions):
        if key in external and isinstance(values.get("remote_asn"), int):
            alike.setdefault(values["remote_asn"], []).append((key, values))
    for number, members in alike.items():
        for way in ("import", "export"):
            effects = {key: tilting.get(str(values.get(way)), ("", ""))[0] for key, values in members}
            if len(set(effects.values())) < _TWO:
                continue
            odd = next(key for key, effect in effects.items() if effect)
            name = str(statement.sessions[odd][way])
            message = (
                f"{statement.name}: {name} ({effects[odd]}) is for {odd[1]} and not for each neighbor of AS {number}: "
                "some of the equal paths are idle"
            )
            rule, remedy = INVARIANTS[9], "Treat the routes of all links to the next tier alike."
            paths = (session_path(odd, way), tilting[name][1])
            yield finding_at(rule.code, statement.device, paths, message, rule.slug, Severity.WARNING, remedy)


def _tilting_maps(statement: Statement) -> dict[str, tuple[str, str]]:
    """Return route map -> the preference, weight or path that its first clause sets for every route, and its fact."""
    first: dict[str, tuple[str, str]] = {}
    for path, value in statement.facts_below("route_map[").items():
        name = first_key(path)
        if name not in first:
            match = _TILT.fullmatch(str(value))
            first[name] = (match[1], path) if match else ("", path)
    return {name: stored for name, stored in first.items() if stored[0]}


_TILT = re.compile(r"permit (?:set )?((?:local_preference|weight|as-path prepend) .*)")
_TWO = 2


_ONE = re.compile(r"1|(?:ipv[46] \d+, )*ipv[46] 1(?:, ipv[46] \d+)*")


def _equal_links(statement: Statement, sessions: Sessions) -> dict[str, int]:
    """Return family -> number of equal paths: all uplinks, the links to one switch, or sessions without an address."""
    here = HEIGHT.get(statement.place.tier, 0)
    links: dict[tuple[str, str], set[str]] = {}
    joined = [key for key, _ in sessions_to_switches(statement, sessions)]
    for key, values in external_sessions(statement):
        near = sessions.near.get(key, "")
        far = statement.fars.get(near)
        there = HEIGHT.get(far.tier, 0) if far is not None and far.known else 0
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

    Invariant 9 reads one number for all families, and skips switches that accept AS path loops or have no known links.
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
        alone = looped or not (statement.fars or "unnumbered" in statement.port_leaves)
        limits = dict.fromkeys(others, int(stated) if alone else _COUNTED) | limits
    return limits


_FAMILIES = frozenset({"ipv4", "ipv6"})


_COUNTED = 64
"""Stands for a limit that invariant 9 compares itself."""


RULES = (
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP, Input.TIER), _one_path),
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP,), _too_many_paths),
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP,), _preferred_sessions),
)
