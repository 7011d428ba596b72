"""Find ToRs that announce nothing of their own, and limits that the announcements of the others exceed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.device import Tier
from fabricc.proof.invariants.policy import Route
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.inputs import Input
from fabricc.rules.rule import POLICY, FabricRule, Report
from fabricc.rules.sessions import UPPER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.invariants.policy import Policy
    from fabricc.proof.invariants.prefixes import Block
    from fabricc.rules.rule import Switches

SILENT, LIMIT = "FAB9676", "FAB9677"


def _silent_tors(fabric: Switches) -> Iterator[Report]:
    """Report ToRs with ports to hosts and sessions to upper switches that put no route into BGP."""
    for name, summary in fabric.summaries.items():
        if not summary.silent or summary.tier is not Tier.TOR:
            continue
        prefix, path = summary.silent
        if _announces_connected(fabric.policy(name), prefix):
            continue
        message = f"{name} puts no route of its own into BGP: no other switch reaches its hosts ({prefix})"
        remedy = "Announce the prefix of the hosts, by an aggregate or by redistribution with a policy."
        paths = ("bgp/asn", "bgp/router_id", path)
        yield Report(SILENT, name, paths, message, "nothing announced", Severity.WARNING, remedy)


def _announces_connected(policy: Policy | None, prefix: str) -> bool:
    """Return whether an export policy takes connected routes by itself, as on Junos; True if it is not known."""
    block = parse_block(prefix)
    if policy is None or block is None:
        return True
    named = [stance.exports for stance in policy.stances if stance.exports in policy.maps]
    return any(policy.apply(name, Route(block, True, frozenset())) is not None for name in named)


def _small_limits(fabric: Switches) -> Iterator[Report]:
    """Report limits on sessions to upper switches below the number of ToRs whose prefixes come over them."""
    announcing = sum(1 for each in fabric.summaries.values() if each.tier is Tier.TOR and each.prefixes)
    small = [
        (name, summary.limit, announcing - bool(summary.prefixes))
        for name, summary in fabric.summaries.items()
        if summary.tier is Tier.TOR
        and summary.limit
        and summary.limit[0] < announcing - bool(summary.prefixes)
    ]
    if not small or _are_aggregated(fabric):
        return
    for name, (limit, path), others in small:
        message = (
            f"{name} ends a session at more than {limit:,} prefixes: {others:,} other ToRs announce one each"
        )
        remedy = "Raise the limit well above the number of prefixes of the fabric."
        yield Report(LIMIT, name, (path,), message, "limit of prefixes", Severity.ERROR, remedy)


def _are_aggregated(fabric: Switches) -> bool:
    """Return whether an upper switch announces a prefix that contains one of a ToR, and so may stand for many."""

    def blocks(upper: bool) -> set[Block]:
        texts = (
            text
            for each in fabric.summaries.values()
            if (each.tier in UPPER if upper else each.tier is Tier.TOR)
            for text in each.prefixes
        )
        return {block for text in texts if (block := parse_block(text))}

    below = blocks(upper=False)
    return any(above.covers(block) for above in blocks(upper=True) for block in below)


RULES = (
    FabricRule(SILENT, POLICY, (Input.BGP, Input.TIER), _silent_tors),
    FabricRule(LIMIT, POLICY, (Input.BGP, Input.TIER), _small_limits),
)
