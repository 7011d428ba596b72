"""Find AS numbers that are accepted, replaced or removed, so that no loop is detected (RFC 4271, 9.1.2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos import harmful_settings
from fabricc.base.diagnostics import Severity
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.proof.compare import Finding
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    UNSET,
    UPPER,
    Key,
    Sessions,
    carries_evpn,
    external_sessions,
    is_address,
    sessions_to_switches,
)
from fabricc.rules.summary import OWN_AS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.records import Summary
    from fabricc.rules.sessions import Sessions


LOOPS = "FAB9663"


_ACCEPTING = ("allow_as_in", "setting[evpn allow_as_in]")


def _upper_loops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report that a spine or core accepts routes which have its own AS number in their path already."""
    if statement.place.tier not in UPPER:
        return
    open_ = [
        (key, leaf)
        for key, values in external_sessions(statement)
        if (leaf := next((each for each in _ACCEPTING if values.get(each) not in (None, 0, "0")), ""))
        and (_leads_down(statement, sessions, key) or carries_evpn(sessions, key))
    ]
    paths = [session_path(key, leaf) for key, leaf in open_] or [OWN_AS]
    if not open_ and OWN_AS not in statement.rest:
        return
    message = (
        f"{statement.name} accepts routes with its own AS number in the path: a route that came down from this tier "
        "goes up again, and loops are not detected"
    )
    remedy = "Remove it from the sessions of spines and cores; only ToRs that share one AS number need it."
    yield finding_at(LOOPS, statement.device, paths[0], message, "own AS accepted", Severity.WARNING, remedy)


def _hidden_loops(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report AS numbers that a switch takes out of paths to others of the fabric, which have numbers of their own."""
    upper = statement.place.tier in UPPER
    if statement.session_leaves.isdisjoint(_HIDING):
        return
    external = {key for key, _ in external_sessions(statement)}
    joined = {
        key: stated
        for key, stated in sessions_to_switches(statement, sessions)
        if key in external and (not upper or _leads_down(statement, sessions, key))
    }
    if upper and share_numbers(statement, sessions, joined):
        return  # switches that share a number get each other's routes by this alone
    for key, stated in joined.items():
        private = _is_private(sessions.stated[key].asn) and (upper or _has_private_number(stated))
        leaves = _HIDING if private else _OVERRIDES
        if leaf := next((each for each in leaves if stated.get(each) not in UNSET), None):
            what = "replaces AS numbers" if "as_override" in leaf else "removes private AS numbers"
            where = "lower" if upper else "other"
            message = (
                f"{statement.name} {what} in the paths to {where} switches, which have numbers of their own: "
                "no loop is detected"
            )
            remedy = "Remove it; only switches that share an AS number need it."
            path = session_path(key, leaf)
            yield finding_at(LOOPS, statement.device, path, message, "hidden loop", Severity.WARNING, remedy)
            return


_OVERRIDES = ("as_override", "setting[evpn as_override]")
"""Leaves by which a switch replaces the neighbor's number, whether it is private or not."""
_HIDING = (*_OVERRIDES, "remove_private", "setting[evpn remove_private]")


def _has_private_number(values: Mapping[str, Value]) -> bool:
    """Return whether the neighbor has an AS number for private use, or any but the own one."""
    return _is_private(values.get("remote_asn")) or values.get("remote_kind") == "external"


def share_numbers(
    statement: Statement, sessions: Sessions, stated: Mapping[Key, Mapping[str, Value]]
) -> bool:
    """Return whether several of the switches that sessions lead to have one AS number."""
    owners: dict[object, set[str]] = {}
    for key, values in stated.items():
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is not None and "remote_asn" in values:
            owners.setdefault(values.get("remote_asn"), set()).add(far.end.device)
    return any(len(names) > 1 for names in owners.values())


def _is_private(asn: Value | None) -> bool:
    """Return whether an AS number is one for private use (RFC 6996)."""
    return isinstance(asn, int) and (64512 <= asn <= 65534 or 4200000000 <= asn <= 4294967294)


def _leads_down(statement: Statement, sessions: Sessions, key: Key) -> bool:
    far = statement.fars.get(sessions.near.get(key, ""))
    if not statement.fars:  # sessions over bare ports of a spine lead to lower switches
        return not is_address(key[1])
    return far is not None and far.tier in (Tier.TOR, Tier.SPINE)


def _tor_loops(fabric: Switches) -> Iterator[Report]:
    """Report ToRs that accept their own AS number, which no other switch has, and such switches without a tier.

    One without a tier has no session with an address of an unknown device, through which its own routes may come by
    intention.
    """
    numbers = Counter(summary.asn for summary in fabric.summaries.values())
    for name, summary in fabric.summaries.items():
        placed = summary.tier is Tier.TOR
        if (
            (placed or (summary.tier is Tier.OTHER and not fabric.planned and not _has_outside(summary)))
            and summary.loops
            and summary.asn is not None
            and numbers[summary.asn] == 1
            and len(numbers) > 1
        ):
            message = (
                f"{name} accepts routes with AS {summary.asn} in the path, which no other switch has: a loop"
            )
            remedy = "Remove it; only switches that share an AS number need it."
            yield Report(LOOPS, name, (summary.loops,), message, "own AS accepted", Severity.WARNING, remedy)


def _has_outside(summary: Summary) -> bool:
    return any(is_address(each.key[1]) for each in summary.outer)


def _shortened_paths(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report policies of sessions with other switches that take AS numbers out of paths."""
    clauses = statement.once(_shortening_clauses, lambda: _shortening_clauses(statement))
    if not clauses:
        return
    stated = sessions_to_switches(statement, sessions)
    shared = statement.place.tier in UPPER and share_numbers(statement, sessions, dict(stated))
    leaves = ("import",) if shared else ("import", "export")
    used = {str(values.get(leaf)) for _, values in stated for leaf in leaves}
    for path in clauses:
        if first_key(path) in used:
            action = harmful_settings.shortening_action(str(statement.rest.get(path)))
            message = (
                f"{statement.name}: `{action}` in {first_key(path)} hides paths: no switch detects a loop"
            )
            remedy = "Leave the AS numbers in the paths between switches."
            yield finding_at(
                LOOPS,
                statement.device,
                path,
                message,
                "short paths",
                Severity.WARNING,
                remedy,
                word="as-path",
            )


def _shortening_clauses(statement: Statement) -> list[str]:
    """Return the clauses of policies that take AS numbers out of paths."""
    stated = statement.facts_below("route_map[").items()
    return [path for path, value in stated if harmful_settings.shortening_action(str(value))]


RULES = (
    SwitchRule(LOOPS, POLICY, (Input.TIER,), _upper_loops),
    FabricRule(LOOPS, POLICY, (Input.TIER,), _tor_loops),
    SwitchRule(LOOPS, POLICY, (Input.TIER, Input.LINKS), _hidden_loops),
    SwitchRule(LOOPS, POLICY, (Input.BGP, Input.LINKS), _shortened_paths),
)
