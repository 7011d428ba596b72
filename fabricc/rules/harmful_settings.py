"""Find settings of one switch that by themselves keep its sessions, its routes or its kernel from working."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import harmful_settings
from fabricc.back.nos.harmful_settings import Harm, Scale
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.statement import Tier, session_path
from fabricc.rules.access import UNSAFE
from fabricc.rules.announcements import LOOPS, POINTLESS
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE, STILL
from fabricc.rules.routing import TIMERS
from fabricc.rules.rule import BGP, OTHER, Input, SwitchRule
from fabricc.rules.sessions import UPPER, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions

_CODES = {
    "timers": TIMERS, "sessions": IDLE, "avoided": IDLE, "routes": POINTLESS, "loops": LOOPS, "kernel": STILL,
    "unsafe": UNSAFE,
}  # fmt: skip
"""Kind of a harm -> code."""
_REMEDY = "Remove the setting, or set the value that the other switches have."


def _scale_of(statement: Statement, sessions: Sessions) -> Scale:
    """Return what the settings of a switch have to be enough for."""
    upper = statement.place.tier in UPPER
    if upper:
        below = {far.end.device for far in statement.fars.values() if far.tier is Tier.TOR}
        prefixes = len(below)
    else:
        own = ("bgp/aggregate[", "bgp/network[")
        prefixes = sum(len(statement.facts_below(each)) for each in own) + ("loopback/ipv4" in statement.rest)
    holds = [hold for each in sessions.stated.values() if isinstance(hold := each.timers[1], int) and hold]
    return Scale(
        len(sessions.stated),
        len(statement.addresses),
        prefixes,
        min(holds, default=None),
        upper and prefixes > 1,
    )


def _harmful_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report settings of sessions over links to other switches, each with all sessions that have it."""
    leaves = statement.once(
        _harmful_sessions,
        lambda: frozenset(filter(harmful_settings.may_harm_session, statement.session_leaves)),
    )
    if not leaves:
        return
    scale = _scale_of(statement, sessions)
    found: dict[tuple[str, Harm], list[Key]] = {}
    for key, values in sessions_to_switches(statement, sessions):
        for leaf, value in values.items():
            if leaf in leaves and (harm := harmful_settings.harm_of_session(leaf, value, scale)):
                found.setdefault((leaf, harm), []).append(key)
    for (leaf, harm), keys in found.items():
        who = join_words([neighbor for _, neighbor in keys], 2)
        message = f"{statement.name}: the session with {who} {harm.effect}"
        paths = session_path(keys[0], leaf)
        yield finding_at(
            _CODES[harm.kind], statement.device, paths, message, f"harmful {leaf}", Severity.WARNING, _REMEDY
        )


def _harmful_processes(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report settings of the process, the daemons and the kernel."""
    stated = [each for begins in harmful_settings.ABOUT for each in statement.facts_below(begins).items()]
    settings = [(path, value) for path, value in stated if harmful_settings.may_harm_switch(path)]
    if settings:
        scale = _scale_of(statement, sessions)
        for path, value in settings:
            harm = harmful_settings.harm_of_switch(path, value, scale)
            port = harmful_settings.port_of_kernel(path)
            if harm and (port in ("", "default") or port in statement.addresses):
                message = f"{statement.name}: {harm.effect}"
                yield finding_at(
                    _CODES[harm.kind],
                    statement.device,
                    path,
                    message,
                    f"harmful {path}",
                    Severity.WARNING,
                    _REMEDY,
                )


RULES = (
    SwitchRule(IDLE, BGP, (Input.BGP, Input.LINKS), _harmful_sessions),
    SwitchRule(STILL, OTHER, (Input.LINKS,), _harmful_processes),
)
