"""Find sessions with unknown peers that take routes of the fabric, or announce them, without a limit."""

from __future__ import annotations

import re
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.back.nos.route_blocks import (
    accepts_by_default,
)
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Tier, session_path
from fabricc.proof.invariants.policy import Policy, Route
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.findings import finding_at
from fabricc.rules.harmful_settings import parse_network
from fabricc.rules.routing import POLICY as REFUSED
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    UPPER,
    external_sessions,
    has_policy,
    is_address,
    open_sessions,
    sessions_to_switches,
)
from fabricc.rules.static_routes import find_origins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.records import OuterSession, Summary
    from fabricc.rules.sessions import Sessions

OPEN = "FAB9684"


def _unknown_peers(fabric: Switches) -> Iterator[Report]:
    tors: list[Block] | None = None
    bare = {
        name
        for name, summary in fabric.summaries.items()
        if not all(map(is_address, summary.remote)) and not summary.joined
    }  # switches of a fabric without addresses, whose links are not known
    flat = all(each.tier is Tier.OTHER for each in fabric.summaries.values())  # all of one segment
    for name, summary in fabric.summaries.items():
        unknown = _strangers(fabric, summary)
        lone = (name in bare and len(bare) >= _SEVERAL) or (flat and summary.joined)
        placed = lone or summary.tier in (Tier.TOR, *UPPER)
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
                yield Report(REFUSED, name, paths, message, "unknown peer", Severity.WARNING, remedy, word)


def _inner_strangers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report the only session within the AS of a switch with others, if it leads elsewhere and has no policy."""
    external = {key for key, _ in external_sessions(statement)}
    inner = [(key, values) for key, values in open_sessions(statement) if not key[0] and key not in external]
    if len(inner) != 1 or not external or statement.has_link_state:
        return
    key, values = inner[0]
    bare = not any(has_policy(values, way) for way in ("import", "export"))
    leads = sessions.near.get(key) or not is_address(key[1]) or "update_source" in values
    if bare and not leads and (statement.fars or sessions_to_switches(statement, sessions)):
        message = (
            f"{statement.name} takes and announces every route, without a policy, on its session with {key[1]} of its "
            "own AS, which is in none of its subnets"
        )
        remedy = "Remove the session, or permit the intended prefixes on it, in both directions."
        path = session_path(key, "remote_asn")
        yield finding_at(REFUSED, statement.device, path, message, "unknown peer", Severity.WARNING, remedy)


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
    ports = [each for each in summary.outer if not is_address(each.key[1])] if summary.joined else []
    numbers = {str(each.asn) for each in fabric.summaries.values()} if ports else set[str]()
    unknown = [each for each in summary.outer if _is_unknown(fabric, each.key[1])]
    unknown += [each for each in ports if any(map(is_number, each.kinds)) and numbers.isdisjoint(each.kinds)]
    if not unknown:
        return []
    known = [each.kinds for each in summary.outer if each not in unknown]
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


_EVERYONE = ("bgp/listen[0.0.0.0/0]", "bgp/listen[::/0]")


def _open_listeners(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a switch accepts sessions from every address of a family."""
    for path in statement.rest:
        if path in _EVERYONE:
            message = f"{statement.name} accepts BGP sessions from every address: any host can announce routes to it"
            remedy = "Accept sessions from the addresses of the neighbors only."
            yield finding_at(OPEN, statement.device, path, message, "open sessions", Severity.WARNING, remedy)


def _open_ranges(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ranges outside of all subnets of a switch with sessions to others, of which it takes every route."""
    stated = statement.facts_below(_LISTEN)
    ranges = [path for path in stated if path.endswith("]") and "]/" not in path and path not in _EVERYONE]
    if not ranges or not sessions_to_switches(statement, sessions):
        return
    subnets = [
        net for texts in statement.addresses.values() for text in texts if (net := parse_network(text))
    ]
    for path in ranges:
        listed = parse_network(first_key(path))
        within = listed is None or any(
            each.version == listed.version and listed.subnet_of(each)  # type: ignore[arg-type]
            for each in subnets
        )
        guarded = any(each.startswith(f"{path}/") and _GUARD.search(each) for each in stated)
        if not within and not guarded:
            message = f"{statement.name} takes every route, without a policy, on sessions from {listed}"
            remedy = "Permit the intended prefixes on these sessions."
            yield finding_at(
                REFUSED, statement.device, path, message, "unknown peer", Severity.WARNING, remedy
            )


_LISTEN = "bgp/listen["


_GUARD = re.compile(r"\b(?:import|prefix_list_in|filter_in|distribute_in)\]|rcf in ")


RULES = (
    FabricRule(REFUSED, POLICY, (Input.TIER,), _unknown_peers),
    SwitchRule(REFUSED, POLICY, (Input.BGP,), _inner_strangers),
    SwitchRule(OPEN, POLICY, (Input.BGP,), _open_listeners),
    SwitchRule(REFUSED, POLICY, (Input.BGP,), _open_ranges),
)
