"""Find BGP that does not run, and sessions that notice a dead neighbor late or not at all, or end too early."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, harmful_settings, route_blocks
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.facts.frame import PORT
from fabricc.facts.paths import outer_key
from fabricc.facts.statement import Tier, session_path
from fabricc.proof.invariants.view import as_int
from fabricc.rules.classes import lossless_ports
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import BGP, Input, SwitchRule
from fabricc.rules.sessions import external_sessions, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Key, Sessions

UNUSED, TIMERS, STOPPED = "FAB9665", "FAB9694", "FAB9060"
_DETECTED = ("ospf[", "isis[", "static_route[", "routing/", "vrf[")
"""Facts whose presence means that BFD may serve something else than BGP in the default routing instance."""
_FABRIC_TIERS = (Tier.TOR, Tier.SPINE, Tier.CORE)
_KEEPALIVES = 3
"""Keepalives within a hold time (RFC 4271 section 10)."""
_FASTEST = "bfd/multiplier"


def _stopped_processes(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report BGP that does not run; an error where sessions with switches depend on it."""
    stated = (statement.facts_below(each) for each in ("unread[", "bgp/setting[shutdown]", "vrf["))
    for path, why in ((path, why) for facts in stated for path, why in facts.items()):
        if not defaults.stops_bgp(path, why):
            continue
        process, is_unread = path.removesuffix("/setting[shutdown]"), path.startswith("unread[")
        lost = 0 if path.startswith("vrf[") else len(sessions_to_switches(statement, sessions))
        tail = f", so {plural(lost, 'session')} with switches of the fabric cannot come up" if lost else ""
        what = (
            f"{outer_key(path)} has no effect: {why}"
            if is_unread
            else f"{process} has no effect: its process is shut down"
        )
        remedy = "Start BGP, or remove its settings."
        severity = Severity.ERROR if lost else Severity.WARNING
        yield finding_at(
            STOPPED,
            statement.device,
            path,
            f"{statement.name}: {what}{tail}",
            f"stopped: {process}",
            severity,
            remedy,
        )


def _unused_detection(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch with sessions to known switches, or with timers of BFD, none of whose sessions uses BFD.

    The severity is `note` on a switch without RDMA and without BFD timers: a link failure ends a session anyway.
    """
    of_ports = [
        (
            f"{PORT}{port}]/{leaf}",
            harmful_settings.detection_of_port(leaf, value) is not None and not statement.has_link_state,
        )
        for port, values in statement.ports.items()
        for leaf, value in values.items()
        if "bfd" in leaf
    ]
    timed = "bfd/interval_ms" in statement.rest or any(is_timer for _, is_timer in of_ports)
    joined = [
        key
        for key, _ in external_sessions(statement)
        if (far := statement.fars.get(sessions.near.get(key, ""))) and far.known and far.tier in _FABRIC_TIERS
    ]
    if statement.expected.undetected or not statement.sessions or not (timed or joined):
        return
    if any(values.get("bfd") == "true" for values in statement.sessions.values()):
        yield from _partly_detected(statement, sessions, joined)
        return
    if any("bfd" in path for path in statement.rest if path.startswith(_DETECTED)):
        return
    if not all(is_timer for _, is_timer in of_ports):
        return  # a link-state protocol uses it there
    timers = " sets timers of BFD, and" if timed else ":"
    message = (
        f"{statement.name}{timers} no BGP session uses BFD: silent failures are noticed by the hold time"
    )
    leaves = ("remote_asn", "remote_kind", "families")
    first = [session_path(joined[0], leaf) for leaf in ("bfd", *leaves)] if joined else []
    lines = statement.device.reading.lines
    stated = first[:1] if first and lines.get(first[0]) != lines.get("bgp/asn") else []
    paths = (*stated, "bfd/interval_ms", *(path for path, _ in of_ports[:1]), *first[1:])
    remedy = "Enable BFD on the sessions of the fabric."
    severity = Severity.WARNING if timed or lossless_ports(statement) else Severity.NOTE
    yield finding_at(UNUSED, statement.device, paths, message, "BFD on no session", severity, remedy)


def _partly_detected(statement: Statement, sessions: Sessions, joined: list[Key]) -> Iterator[Finding]:
    """Report sessions without BFD over links on which a session of another family uses it."""
    ports = {
        sessions.near.get(key) for key, values in external_sessions(statement) if values.get("bfd") == "true"
    }
    bare = [
        key
        for key in joined
        if statement.sessions[key].get("bfd") != "true" and sessions.near.get(key) in ports
    ]
    if bare:
        who = join_words([neighbor for _, neighbor in bare], 2)
        message = f"{statement.name}: the session with {who} uses no BFD, others over the same link do"
        paths = tuple(
            session_path(bare[0], leaf) for leaf in ("bfd", "remote_asn", "remote_kind", "families")
        )
        remedy = "Enable BFD on all sessions of the fabric."
        yield finding_at(UNUSED, statement.device, paths, message, "BFD unused", Severity.WARNING, remedy)


def _wrong_timers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions whose hold time never ends, or ends before keepalives arrive."""
    endless: list[Key] = []
    watched: list[Key] = []
    short: list[Key] = []
    for key, session in sessions.stated.items():
        keepalive, hold = map(as_int, session.timers)
        if hold == 0 and session.enabled:
            (watched if session.bfd == "true" else endless).append(key)
        elif hold and keepalive and hold < _KEEPALIVES * keepalive:
            short.append(key)
    for keys, what, remedy in (
        (endless, "has hold time 0 and no BFD: it never notices that the neighbor is gone", "Set a hold time."),
        (watched, "has hold time 0: BFD shows that the neighbor is there, not that its BGP still runs",
         "Set a hold time."),
        (short, "has a hold time below three keepalives: it ends while the neighbor is there",
         "Set a hold time of at least three keepalives (RFC 4271 section 10)."),
    ):  # fmt: skip
        if keys:
            who = join_words([neighbor for _, neighbor in keys], 2)
            paths = (
                *(session_path(keys[0], leaf) for leaf in ("hold_s", "keepalive_s")),
                "bgp/hold_s",
                "bgp/keepalive_s",
            )
            message = f"{statement.name}: the session with {who} {what}"
            yield finding_at(
                TIMERS, statement.device, paths, message, "session timers", Severity.WARNING, remedy
            )


def _shut_detection(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that BFD is shut on a switch whose sessions use it."""
    if any(values.get("bfd") == "true" for values in statement.sessions.values()):
        profiles = statement.facts_below("structure/")
        for path in statement.facts_below("bfd/setting["):
            if route_blocks.shuts_detection(path, profiles):
                message = (
                    f"{statement.name}: BFD is shut, so silent failures are noticed by the hold time alone"
                )
                remedy = "Enable BFD, or remove it from the sessions."
                yield finding_at(
                    UNUSED, statement.device, path, message, "BFD shut", Severity.WARNING, remedy
                )


def _shut_peers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report BFD that is shut for neighbors whose sessions use it."""
    using = {neighbor for (_, neighbor), values in statement.sessions.items() if values.get("bfd") == "true"}
    for path, value in statement.facts_below("bfd/setting[").items():
        peer = route_blocks.peer_without_detection(path, value)
        if peer in using:
            message = (
                f"{statement.name}: BFD with {peer} is shut, so the hold time alone shows silent failures"
            )
            remedy = "Enable BFD, or remove it from the session."
            yield finding_at(UNUSED, statement.device, path, message, "BFD shut", Severity.WARNING, remedy)


def _hasty_detection(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that BFD ends sessions after one lost packet."""
    used = any(values.get("bfd") == "true" for values in statement.sessions.values())
    if used and statement.rest.get(_FASTEST) == 1:
        message = f"{statement.name}: BFD ends a session after one lost packet"
        remedy = "Detect after three lost packets (RFC 5880: the detection time multiplier)."
        yield finding_at(
            UNUSED, statement.device, _FASTEST, message, "BFD multiplier", Severity.WARNING, remedy
        )


def _slow_ports(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ports on which BFD notices a failure after BGP's hold time."""
    found = {}
    detections = statement.once(_detections_of_ports, lambda: _detections_of_ports(statement))
    for key, session in sessions.stated.items() if detections else ():
        port, hold = sessions.near.get(key, ""), session.timers[1]
        if session.bfd == "true" and isinstance(hold, int) and hold:
            for leaf, detection in detections.get(port, ()):
                if detection >= hold * 1000:
                    found[port] = leaf, detection, hold
    if found:
        port, (leaf, detection, hold) = next(iter(found.items()))
        where = f"{statement.name} {join_words([*found], 2)}"
        message = f"{where}: BFD detects after {detection:,} ms, BGP holds for {hold} s already"
        remedy = "Let BFD notice failures within a second."
        path = f"{PORT}{port}]/{leaf}"
        yield finding_at(TIMERS, statement.device, path, message, "slow BFD", Severity.WARNING, remedy)


def _detections_of_ports(statement: Statement) -> dict[str, list[tuple[str, int]]]:
    """Return port -> the facts by which BFD of the port notices a failure, and after how many milliseconds."""
    found: dict[str, list[tuple[str, int]]] = {}
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            if detection := harmful_settings.detection_of_port(leaf, value):
                found.setdefault(port, []).append((leaf, detection))
    return found


_INTERVAL = "bfd/interval_ms"
_SHORTEST_MS = 50
"""The least interval that switches offer for BFD in hardware; CPUs miss packets of shorter ones."""
_LOST = 3


def _odd_intervals(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report intervals of BFD that no switch keeps up with, and those that detect nothing before BGP does."""
    stated = statement.facts_below(_INTERVAL)
    holds = [
        hold for each in sessions.stated.values() if each.bfd == "true" and (hold := as_int(each.timers[1]))
    ]
    for path, value in stated.items():
        slowest = max(map(int, _NUMBERS.findall(str(value))), default=0) if path.endswith("]") else 0
        why = ""
        if isinstance(value, int) and 0 < value < _SHORTEST_MS:
            why = f"{value} ms, which no CPU keeps up with: sessions end without a failure"
        elif holds and slowest * _LOST >= min(holds) * 1000:
            why = f"{slowest} ms, so it detects no failure before the hold time of {min(holds)} s does"
        if why and not (path == _INTERVAL and len(stated) > 1):
            message, remedy = (
                f"{statement.name} sends BFD every {why}",
                "Use an interval from 50 to 1,000 ms.",
            )
            yield finding_at(
                TIMERS, statement.device, path, message, f"BFD interval {value}", Severity.WARNING, remedy
            )


_NUMBERS = re.compile(r"\d+")


RULES = (
    SwitchRule(STOPPED, BGP, (), _stopped_processes),
    SwitchRule(TIMERS, BGP, (Input.BGP,), _odd_intervals),
    SwitchRule(UNUSED, BGP, (Input.BGP,), _unused_detection),
    SwitchRule(TIMERS, BGP, (Input.BGP,), _wrong_timers),
    SwitchRule(UNUSED, BGP, (Input.BGP,), _shut_detection),
    SwitchRule(UNUSED, BGP, (Input.BGP,), _shut_peers),
    SwitchRule(UNUSED, BGP, (Input.BGP,), _hasty_detection),
    SwitchRule(TIMERS, BGP, (Input.BGP,), _slow_ports),
)
