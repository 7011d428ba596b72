"""Find filters of routes without effect: clauses that nothing meets, those that permit all, communities without use."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, route_blocks
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key, split_list_path
from fabricc.facts.statement import Statement, session_path, used_policies
from fabricc.proof.compare import Finding
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    UNSET,
    Sessions,
    sessions_to_switches,
)
from fabricc.rules.undefined_names import DEFINED, FUNCTION, UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.rules.records import Summary
    from fabricc.rules.sessions import Sessions


POINTLESS = "FAB9695"


_MATCHES = ("prefix_list", "community_list", "as_path_list")


def _pointless_filters(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report maps of sessions with other switches whose last clause permits all that their filters leave out."""
    maps: dict[str, dict[int, tuple[str, str]]] = {}
    for path, value in statement.facts_below("route_map[").items():
        name, number = split_list_path(path, "route_map")
        if is_number(number):
            maps.setdefault(name, {})[int(number)] = (path, str(value))
    used = [
        (key, str(stated[leaf]))
        for key, stated in sessions_to_switches(statement, sessions)
        for leaf in ("import", "export")
        if leaf in stated
    ]
    for name in dict.fromkeys(name for _, name in used if name in maps):
        clauses = [maps[name][number] for number in sorted(maps[name])]
        end = str(statement.rest.get(f"platform/policy[{name}]", "")).endswith("; accept")
        last = (f"platform/policy[{name}]", "permit") if end else clauses.pop()
        if last[1] != "permit":
            continue
        filters = []
        for path, text in clauses[::-1]:
            action, *words = text.split()
            if action != "permit" or not words or any(word not in _MATCHES for word in words[::2]):
                break
            filters.append(path)
        if filters:
            clause = filters[-1].rpartition("/")[2]
            message = (
                f"{statement.name}: {name} ends with a clause that permits every route: the filter of clause {clause} "
                "has no effect"
            )
            remedy = "Remove the last clause, or the filter."
            terms = [*statement.facts_below(f"structure/policy[{name}]/term[")] if end else []
            paths, word = (*terms[-1:], last[0]), "accept" if end else ""
            yield finding_at(
                POINTLESS, statement.device, paths, message, "filter", Severity.WARNING, remedy, word=word
            )


def _unsent_communities(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions with other switches whose import reads communities, and which send none."""
    unsent = ("false",) if defaults.sends_communities_unstated(statement.device.system) else UNSET
    read = {
        first_key(path)
        for path, value in statement.facts_below("route_map[").items()
        if " community_list " in f" {value} "
    }
    keys = [
        key
        for key, stated in sessions_to_switches(statement, sessions)
        if stated.get("import") in read and stated.get("send_community") in unsent
    ]
    if keys:
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = (
            f"{statement.name}: the sessions with {who} match communities and send none: a mark of a switch, such as "
            "graceful shutdown, does not arrive"
        )
        remedy = "Send communities on the sessions between switches."
        others = [leaf for leaf in statement.sessions[keys[0]] if "send-community" in leaf]
        leaves = ("send_community", *others, "import", "remote_asn")
        paths = tuple(session_path(keys[0], leaf) for leaf in leaves)
        yield finding_at(POINTLESS, statement.device, paths, message, "communities", Severity.WARNING, remedy)


_EVERYTHING = re.compile(r"(?:0\.0\.0\.0/0|::/0)(?: ge 0)? le (?:32|128)")


def _open_lists(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report imports from other switches whose prefix list permits every prefix."""
    joined = sessions_to_switches(statement, sessions)
    imports = used_policies(joined, "import")
    entries = statement.facts_below("prefix_list[")
    exceptions = {path.partition("/")[0] for path, value in entries.items() if str(value).startswith("deny")}
    lists = {
        path: first_key(path)
        for path, value in entries.items()
        if path.partition("/")[0] not in exceptions and _EVERYTHING.fullmatch(str(value))
    }
    first = _first_lists(statement) if lists else {}
    for (_, neighbor), stated in joined if lists else ():
        first[f"the session with {neighbor}"] = [str(stated.get("prefix_list_in"))]
        imports.add(f"the session with {neighbor}")
    for path, name in lists.items():
        used = [each for each, names in first.items() if name in names]
        if hit := next((each for each in used if each in imports), ""):
            message = f"{statement.name}: {name}, by which {hit} permits routes of other switches, permits all prefixes"
            remedy = "Name the blocks of the fabric in the list."
            yield finding_at(
                POINTLESS, statement.device, path, message, "open list", Severity.WARNING, remedy
            )


_CONDITIONS = frozenset({"match", "community_list", "as_path_list"})


def _first_lists(statement: Statement) -> dict[str, list[str]]:
    """Return map -> prefix lists of its clauses before the first that denies, which have no other condition."""
    found: dict[str, list[str]] = {}
    closed: set[str] = set()
    clauses = {
        split_list_path(path, "route_map"): str(value).split()
        for path, value in statement.facts_below("route_map[").items()
    }
    for name, number in sorted(filter(lambda key: is_number(key[1]), clauses), key=lambda key: int(key[1])):
        words = clauses[name, number]
        if words[0] != "permit":
            closed.add(name)
        elif name not in closed and "prefix_list" in words and _CONDITIONS.isdisjoint(words):
            found.setdefault(name, []).append(words[words.index("prefix_list") + 1])
    return found


def _closed_functions(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report functions of EOS at sessions that return false for every route."""
    used = {match[1] for leaf in statement.session_leaves if (match := FUNCTION.fullmatch(leaf))}
    for file, text in statement.device.files.items() if used else ():
        for match in _CLOSED.finditer(text):
            if match[1] in used:
                message = f"{statement.name}: the function {match[1]} of its sessions lets no route pass"
                line = text.count("\n", 0, match.start(2)) + 1
                place = statement.device.paths.get(file, file)
                remedy = "Return true for the routes of the fabric."
                yield Finding(UNREAD, message, place, line, "closed function", Severity.WARNING, remedy)


_CLOSED = re.compile(r"\bfunction\s+(\w+)\s*\([^)]*\)\s*\{\s*(return\s+false\s*;)\s*\}")


def _idle_clauses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report clauses that match a community list which only denies, so that they never apply."""
    lists = statement.facts_below("community_list[")
    closed = {
        DEFINED.sub(r"\2", path): path
        for path, value in lists.items()
        if value and all(entry.startswith("deny ") for entry in str(value).split(", "))
    }
    for path, value in statement.facts_below("route_map[").items() if closed else ():
        for word, name in pairwise(str(value).split()):
            if word == "community_list" and (list_path := closed.pop(name, "")):
                where = " ".join(split_list_path(path, "route_map"))
                message = (
                    f"{statement.name}: clause {where} has no effect: the community list {name} only denies"
                )
                remedy = "Permit the communities in the list, or remove the clause."
                yield finding_at(
                    UNREAD, statement.device, list_path, message, "idle clause", Severity.WARNING, remedy
                )


def _may_be_one(one: Summary, other: Summary) -> bool:
    """Return whether two files may be alternative ones of one device, which has one AS number."""
    return one.asn is not None and one.asn == other.asn and one.tier is other.tier


def _lost_tags(fabric: Switches) -> Iterator[Report]:
    """Report communities that a switch defines without use, or deletes, while another switch matches or adds them."""
    if fabric.planned:
        return
    by: dict[tuple[str, str], list[str]] = {}
    for name, summary in fabric.summaries.items():
        for verb, members, _ in summary.tags:
            by.setdefault((verb, members), []).append(name)
    for name, summary in fabric.summaries.items():
        for verb, members, path in summary.tags:
            deletes = verb == route_blocks.DELETES
            matching, adding = (
                [
                    each
                    for each in by.get((each_verb, members), ())
                    if each != name and not _may_be_one(summary, fabric.summaries[each])
                ]
                for each_verb in (route_blocks.MATCHES, route_blocks.ADDS)
            )
            if deletes:  # what another tier adds, this one may remove
                adding = [each for each in adding if fabric.summaries[each].tier is not summary.tier]
            if (deletes and matching and not adding) or (verb == route_blocks.IDLE and (matching or adding)):
                whose = f"{matching[0]} matches" if matching else f"{adding[0]} adds to routes"
                message = (
                    f"{name} {verb} the community {members}, which {whose}: routes go where they should not"
                )
                remedy = "Add the community to the routes, or match it, as the other switches do."
                group, word = f"lost community {members}", "delete" if deletes else ""
                yield Report(POINTLESS, name, (path,), message, group, Severity.WARNING, remedy, word)


RULES = (
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _pointless_filters),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unsent_communities),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _open_lists),
    SwitchRule(UNREAD, POLICY, (), _idle_clauses),
    SwitchRule(UNREAD, POLICY, (), _closed_functions),
    FabricRule(POINTLESS, POLICY, (Input.TIER,), _lost_tags),
)
