"""Find sessions with devices that are not known, which may announce the fabric's own prefixes."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.device import Tier
from fabricc.facts.statement import session_path
from fabricc.proof.invariants.policy import Route
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.routing import POLICY
from fabricc.rules.rule import POLICY as TOPIC
from fabricc.rules.rule import FabricRule, Report, SwitchRule
from fabricc.rules.sessions import UPPER
from fabricc.rules.static_routes import find_origins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.policy import Policy
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.rule import Switches
    from fabricc.rules.sessions import Sessions
    from fabricc.rules.summary import OuterSession, Summary


OPEN = "FAB9684"
_EVERYONE = ("bgp/listen[0.0.0.0/0]", "bgp/listen[::/0]")


def _unknown_peers(fabric: Switches) -> Iterator[Report]:
    tors: list[Block] | None = None
    for name, summary in fabric.summaries.items():
        unknown = [each for each in summary.outer if _is_unknown(fabric, each.key[1])]
        if not unknown or summary.tier not in (Tier.TOR, *UPPER) or not _has_known_peer(fabric, summary):
            continue
        if tors is None:
            origins = (each for each in find_origins(fabric) if each.family == 4)
            tors = sorted(origins, key=lambda each: (each.length, each.first))
        for each in unknown:
            if what := _breach(each, fabric.policy(name), tors):
                key = each.key
                message = f"{name} {what} on its session with {key[1]}, which no known switch has"
                leaves = ("import", "remote_asn", "remote_kind", "families")
                paths = tuple(session_path(key, leaf) for leaf in leaves)
                remedy = "Permit the intended prefixes on this session, in both directions."
                yield Report(POLICY, name, paths, message, "unknown peer", Severity.WARNING, remedy)


def _open_listeners(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a switch accepts sessions from every address of a family."""
    for path in statement.rest:
        if path in _EVERYONE:
            message = f"{statement.name} accepts BGP sessions from every address: any host can announce routes to it"
            remedy = "Accept sessions from the addresses of the neighbors only."
            yield finding_at(OPEN, statement.device, path, message, "open sessions", Severity.WARNING, remedy)


RULES = (
    FabricRule(POLICY, TOPIC, (Input.TIER,), _unknown_peers),
    SwitchRule(OPEN, TOPIC, (Input.BGP,), _open_listeners),
)


def _breach(session: OuterSession, policy: Policy | None, tors: list[Block]) -> str:
    """Return what a session lets through; "" for nothing that is the fabric's."""
    if session.bare == ("import", "export"):
        return "takes and announces every route, without a policy"
    if session.bare:
        return f"{'takes' if 'import' in session.bare else 'announces'} every route, without a policy"
    if tors and _accepts_prefix(policy, session.imports, tors[0]):
        return f"takes {tors[0]} by {session.imports}, which is the fabric's,"
    return ""


def _has_known_peer(fabric: Switches, summary: Summary) -> bool:
    """Return whether some session of a switch leads to a known device."""
    return summary.joined or any(not _is_unknown(fabric, neighbor) for neighbor in summary.remote)


def _accepts_prefix(policy: Policy | None, imports: str, prefix: Block) -> bool:
    """Return whether a route map accepts a prefix that another switch announces."""
    if policy is None or imports not in policy.maps:
        return False
    return policy.apply(imports, Route(prefix, False, frozenset())) is not None


def _is_unknown(fabric: Switches, neighbor: str) -> bool:
    """Return whether no known device has the address of a neighbor."""
    try:
        ip_address(neighbor)
    except ValueError:
        return False
    return not fabric.owners(neighbor)
