"""Find routing settings of one switch that lose routes or let loops in: policies, own AS numbers, BFD."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import uses_one_path_unstated
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.device import Tier
from fabricc.facts.statement import session_path
from fabricc.proof.invariants.rules import RULES as INVARIANTS
from fabricc.rules.external_sessions import external_sessions, has_policy
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import SwitchRule
from fabricc.rules.topics import BGP
from fabricc.rules.topics import POLICY as TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

POLICY, UNUSED = "FAB9664", "FAB9665"
_HEIGHT = {Tier.TOR: 1, Tier.SPINE: 2, Tier.CORE: 3}
_DETECTED = ("ospf[", "isis[", "static_route[", "routing/", "vrf[")
"""What else than sessions of the default routing instance can use BFD."""


def _without_policy(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a system which requires policies exchanges nothing over sessions without one (RFC 8212)."""
    if statement.rest.get("bgp/requires_policy") != "true":
        return
    for direction, effect in (("import", "accepts no route"), ("export", "announces no route")):
        bare = [
            key
            for key, says in external_sessions(statement)
            if says.get("families", "") and not has_policy(says, direction)
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
            remedy = f"Set an {direction} policy on the session, or switch the requirement off."
            yield finding_at(
                POLICY, statement.device, paths, message, f"no {direction} policy", remedy=remedy
            )


def _unused_detection(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report timers of BFD on a switch no session of which uses BFD."""
    if "bfd/interval_ms" not in statement.rest or not statement.sessions:
        return
    if any(says.get("bfd") == "true" for says in statement.sessions.values()):
        return
    if any("bfd" in path for path in statement.rest if path.startswith(_DETECTED)):
        return
    if any("bfd" in leaf for says in statement.ports.values() for leaf in says):
        return  # a link-state protocol uses it there
    message = f"{statement.name} sets timers of BFD, and no BGP session uses BFD: failures are noticed by the hold time"
    remedy = "Enable BFD on the sessions of the fabric."
    yield finding_at(
        UNUSED, statement.device, "bfd/interval_ms", message, "BFD unused", Severity.WARNING, remedy
    )


def _one_path(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report several sessions to upper switches where the system, without a statement, uses one path (invariant 9)."""
    unstated = "bgp/maximum_paths" not in statement.rest and uses_one_path_unstated(statement.device.system)
    if not unstated and statement.rest.get("bgp/multipath_relax") != "none":
        return
    here = _HEIGHT.get(statement.place.tier, 0)
    families: Counter[str] = Counter()
    for key, says in external_sessions(statement):
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is not None and far.known and _HEIGHT.get(far.tier, 0) > here > 0:
            families.update(str(says.get("families", "")).split(","))
    del families[""]
    if families and max(families.values()) > 1:
        count = max(families.values())
        message = f"{statement.name} has {count} equal paths and uses one of them, the default of its system"
        paths = ("bgp/maximum_paths", "bgp/multipath_relax", "bgp/asn")
        rule = INVARIANTS[9]
        yield finding_at(
            rule.code, statement.device, paths, message, rule.slug, Severity.WARNING, rule.remedy
        )


RULES = (
    SwitchRule(POLICY, TOPIC, (Input.BGP,), _without_policy),
    SwitchRule(UNUSED, BGP, (Input.BGP,), _unused_detection),
    SwitchRule(INVARIANTS[9].code, BGP, (Input.BGP, Input.TIER), _one_path),
)
