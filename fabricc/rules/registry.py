"""Register all rules, and run them on one switch, on one host, or on all switches of a fabric.

`check`, `audit` and `diff` call these functions and no rule by itself, so none of them can leave a rule out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.rules import (
    access,
    announcements,
    blocked_routes,
    detection,
    duplicates,
    equal_paths,
    filters,
    forwarding,
    harmful_settings,
    headroom,
    host_addresses,
    host_jobs,
    host_ports,
    host_settings,
    idle_filters,
    incomplete,
    loops,
    lossless,
    management,
    marks,
    missing_parts,
    neighbor_subnets,
    next_hops,
    outliers,
    overlaps,
    protection,
    queue_faults,
    routing,
    segments,
    static_routes,
    switch_pairs,
    tenants,
    treatment,
    undefined_names,
    unknown_peers,
    unmet_conditions,
    unread_lines,
)
from fabricc.rules.rule import Answer, FabricRule, HostRule, Report, Rule, Switches, SwitchRule, answer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

RULES: tuple[Rule, ...] = (
    *undefined_names.RULES,
    *unread_lines.RULES,
    *lossless.RULES,
    *protection.RULES,
    *headroom.RULES,
    *queue_faults.RULES,
    *routing.RULES,
    *unknown_peers.RULES,
    *equal_paths.RULES,
    *detection.RULES,
    *access.RULES,
    *static_routes.RULES,
    *announcements.RULES,
    *loops.RULES,
    *idle_filters.RULES,
    *blocked_routes.RULES,
    *unmet_conditions.RULES,
    *marks.RULES,
    *duplicates.RULES,
    *next_hops.RULES,
    *overlaps.RULES,
    *neighbor_subnets.RULES,
    *outliers.RULES,
    *forwarding.RULES,
    *filters.RULES,
    *host_ports.RULES,
    *host_settings.RULES,
    *host_addresses.RULES,
    *host_jobs.RULES,
    *harmful_settings.RULES,
    *incomplete.RULES,
    *management.RULES,
    *segments.RULES,
    *tenants.RULES,
    *missing_parts.RULES,
    *switch_pairs.RULES,
    *treatment.RULES,
)


def run_switch_rules(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Yield the findings of every rule about one switch."""
    for rule in RULES:
        if isinstance(rule, SwitchRule):
            yield from rule.findings(statement, sessions)


def run_host_rules(statement: Statement) -> Iterator[Finding]:
    """Yield the findings of every rule about one host."""
    for rule in RULES:
        if isinstance(rule, HostRule):
            yield from rule.find(statement)


def run_fabric_rules(switches: Switches) -> Iterator[Report]:
    """Yield the findings of every rule about several switches."""
    for rule in RULES:
        if isinstance(rule, FabricRule):
            yield from rule.find(switches)


def rule_answers(statement: Statement, sessions: Sessions) -> Iterator[tuple[str, Answer]]:
    """Yield the topic of every rule about switches, and whether a switch has the inputs of the rule."""
    for rule in RULES:
        if not isinstance(rule, HostRule):
            yield rule.topic, answer_of(rule.inputs, statement, sessions)
