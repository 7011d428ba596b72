"""Find links between switches over which no route comes: sessions that are shut, and links without a protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.device import Tier
from fabricc.facts.frame import PORT
from fabricc.facts.statement import session_path
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import BGP, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

IDLE = "FAB9675"
_SWITCHES = (Tier.TOR, Tier.SPINE, Tier.CORE)
_SHUT = (("enabled", "false"), ("enabled/also[false]", "true"))
"""Facts of a port that is shut; files of one system can contradict each other."""
_ROUTED = ("ipv4", "ipv6", "unnumbered")
_PROTOCOLS = ("ospf", "isis", "eigrp", "rip[", "rip/", "mpls", "vrf[")
_LEFT = "bgp/setting[graceful-shutdown"
"""What the settings begin with by which neighbors avoid a switch that is about to be shut."""


def _shut_sessions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions over links to known switches that are shut."""
    shut = [
        key
        for key, said in sessions.said.items()
        if not said.enabled and _leads_to_switch(statement, sessions.near.get(key, ""))
    ]
    if shut:
        who = join_words([neighbor for _, neighbor in shut], 2)
        more = "" if len(shut) < len(sessions.said) else ", all that it has"
        message = f"{statement.name}: the sessions with {who} are shut{more}, so their links are unused"
        remedy = "Enable the sessions, or shut the ports of the links too."
        path = session_path(shut[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut session", Severity.WARNING, remedy)


def _shut_overlay(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch whose sessions between loopbacks with EVPN are all shut."""
    overlay = [
        key
        for key, said in sessions.said.items()
        if not sessions.near.get(key, "") and "evpn" in str(said.families).split(",")
    ]
    if overlay and not any(sessions.said[key].enabled for key in overlay):
        who = join_words([neighbor for _, neighbor in overlay], 2)
        message = (
            f"{statement.name}: the sessions with {who} are shut, all that carry EVPN: no VTEP is learned"
        )
        remedy = "Enable the sessions between loopbacks, or remove them."
        path = session_path(overlay[0], "enabled")
        yield finding_at(IDLE, statement.device, path, message, "shut overlay", Severity.WARNING, remedy)


def _leads_to_switch(statement: Statement, port: str) -> bool:
    far = statement.fars.get(port)
    return far is not None and far.known and far.tier in _SWITCHES


def _shut_links(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report ports to known switches that are shut although a session leads over them."""
    used = {sessions.near.get(key, "") for key, said in sessions.said.items() if said.enabled}
    shut = [
        port
        for port in statement.fars
        if _leads_to_switch(statement, port)
        and _is_shut(statement, port)
        and used.intersection(statement.chain(port))
    ]
    if shut:
        message = (
            f"{statement.name} {join_words(shut, 2)}: shut, and sessions with other switches lead over it"
        )
        remedy = "Enable the ports, or shut the sessions too."
        path = f"{PORT}{shut[0]}]/enabled"
        yield finding_at(IDLE, statement.device, path, message, "shut link", Severity.WARNING, remedy)


def _is_shut(statement: Statement, port: str) -> bool:
    return any(statement.of(port, leaf) == value for leaf, value in _SHUT)


def _silent_links(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a switch with addresses on links to switches, and neither a session, nor an IGP, nor a static route."""
    if sessions.said or sessions.listens or any(statement.link_state_paths()):
        return
    if any("static_route[" in path or any(word in path for word in _PROTOCOLS) for path in statement.rest):
        return
    if any(any(word in leaf for word in _PROTOCOLS) for says in statement.ports.values() for leaf in says):
        return
    if "bgp/asn" in statement.rest and not any(path.startswith("route_map[") for path in statement.rest):
        return  # the file that has the sessions may be missing
    links = [
        port
        for port in statement.fars
        if _leads_to_switch(statement, port)
        and any(statement.of(port, leaf) is not None for leaf in _ROUTED)
        and statement.of(port, "enabled") != "false"
        and statement.of(port, "vrf") is None
    ]
    if links:
        message = f"{statement.name} has addresses on links to switches ({join_words(links, 2)}), no routing protocol"
        remedy = "Run BGP on the links between switches."
        paths = ("platform/routing", f"{PORT}{links[0]}]/ipv4", f"{PORT}{links[0]}]/description")
        yield finding_at(IDLE, statement.device, paths, message, "no routing", Severity.WARNING, remedy)


def _graceful_shutdown(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a switch in graceful shutdown (RFC 8326)."""
    for path, value in statement.rest.items():
        if path.startswith(_LEFT) and value not in ("off", "false", "receiver"):
            message = f"{statement.name} is in graceful shutdown: its neighbors avoid it as long as they can"
            remedy = "End the maintenance, and remove the setting."
            yield finding_at(
                IDLE, statement.device, path, message, "graceful shutdown", Severity.WARNING, remedy
            )


RULES = (
    SwitchRule(IDLE, BGP, (Input.LINKS,), _shut_sessions),
    SwitchRule(IDLE, BGP, (), _shut_overlay),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _shut_links),
    SwitchRule(IDLE, BGP, (Input.LINKS,), _silent_links),
    SwitchRule(IDLE, BGP, (), _graceful_shutdown),
)
