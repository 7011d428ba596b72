"""Find settings by which a switch, a port, a session or a log server that is configured stays without its purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import idle_settings as settings
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.statement import session_path
from fabricc.proof.compare import Finding
from fabricc.rules.access import MISSING
from fabricc.rules.findings import finding_at, line_of
from fabricc.rules.forwarding import IDLE
from fabricc.rules.rule import BGP, INTERFACES, OTHER, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions

_LOG = "management/syslog"


def _idle_switches(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch that is left in maintenance, or whose routes of BGP are never used."""
    device, remedy = statement.device, "End the maintenance, and remove the setting."
    for path, value in statement.facts_below("bgp/").items():
        if effect := settings.describe_idle_switch(path, value):
            message = f"{statement.name} {effect}"
            yield finding_at(IDLE, device, path, message, "idle switch", Severity.WARNING, remedy)
    for file, line, text in device.unknown:
        if effect := settings.describe_idle_line(text):
            place = device.paths.get(file, file)
            message = f"{statement.name} {effect}"
            yield Finding(IDLE, message, place, line, "idle switch", Severity.WARNING, remedy)


def _looped_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a link or an address that return their packets to themselves."""
    found = {
        port: leaf
        for port, values in statement.ports.items()
        for leaf, value in values.items()
        if settings.is_looped(leaf, value) and (port in statement.fars or port in statement.addresses)
    }
    if found:
        message = f"{statement.name} {join_words([*found], 2)}: in loopback, so nothing leaves by it"
        path = next(f"{PORT}{port}]/{leaf}" for port, leaf in found.items())
        remedy = "Remove the loopback, which is for tests."
        yield finding_at(IDLE, statement.device, path, message, "port in loopback", Severity.WARNING, remedy)


def _late_announcements(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links that hold routes back for longer than any system does by default."""
    found: dict[int, list[tuple[tuple[str, str], str]]] = {}
    for key, values in statement.sessions.items():
        for leaf, value in values.items() if sessions.near.get(key) else ():
            if seconds := settings.announcement_delay(leaf, value):
                found.setdefault(seconds, []).append((key, leaf))
    for seconds, places in found.items():
        who = join_words([key[1] for key, _ in places], 2)
        message = f"{statement.name}: {who} get new routes, and the end of old ones, after {seconds} s"
        path = session_path(*places[0])
        remedy = "Announce routes at once."
        yield finding_at(IDLE, statement.device, path, message, "late routes", Severity.WARNING, remedy)


def _quiet_logs(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report log servers that get no message of a failed link or session."""
    device = statement.device
    message = f"{statement.name}: its log server gets nothing, or only messages of the gravest levels"
    remedy, group = "Send messages from the level `notice` or `informational` on.", "quiet log"
    if _LOG not in statement.rest:
        return
    for path in (_LOG, *statement.facts_below("platform/syslog[")):
        if settings.quiets_log(path, statement.rest.get(path, ""), line_of(device, path)):
            yield finding_at(MISSING, device, path, message, group, Severity.WARNING, remedy)
            return
    for file, line, text in device.unknown:
        if settings.quiets_all_logs(text):
            place = device.paths.get(file, file)
            yield Finding(MISSING, message, place, line, group, Severity.WARNING, remedy)
            return


RULES = (
    SwitchRule(IDLE, BGP, (), _idle_switches),
    SwitchRule(IDLE, INTERFACES, (Input.LINKS,), _looped_ports, shared=True),
    SwitchRule(IDLE, BGP, (Input.BGP,), _late_announcements),
    SwitchRule(MISSING, OTHER, (), _quiet_logs),
)
