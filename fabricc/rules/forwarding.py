"""Find switches with routed ports that do not route packets, or drop those with another way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import checks_sources, forwards_nothing, routes_unstated
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.device import Tier
from fabricc.facts.frame import PORT
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import POLICY, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

STILL, STRICT = "FAB9682", "FAB9685"


def _does_not_route(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that a switch with links to others and addresses of a family does not forward packets of it."""
    families = {
        version
        for port in statement.fars
        for version in ("ipv4", "ipv6")
        if statement.of(port, version) is not None
    }
    for path, value in statement.rest.items():
        family = forwards_nothing(path, value)
        if family in families:
            message = f"{statement.name} does not route {family} packets between its links: traffic is lost"
            remedy = "Enable routing for the family."
            yield finding_at(STILL, statement.device, path, message, "no routing", Severity.ERROR, remedy)
    if "ipv4" in families and not routes_unstated(statement.device.system, statement.rest):
        message = f"{statement.name} does not state that it routes IPv4 packets, which its system does not by default"
        remedy = "Enable routing for the family."
        paths = ("bgp/asn", "system/hostname")
        yield finding_at(STILL, statement.device, paths, message, "no routing", Severity.ERROR, remedy)


def _checks_sources(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a strict check of sources on links between switches, which have several ways back to a source."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier is not Tier.HOST]
    if len(links) < 2:
        return
    found = {
        port: f"{PORT}{each}]/{leaf}"
        for port in links
        for each in statement.chain(port)
        for leaf, value in statement.ports.get(each, {}).items()
        if checks_sources(leaf, value)
    }
    whole = next((path for path, value in statement.rest.items() if checks_sources(path, value)), None)
    found |= {"all ports": whole} if whole else {}
    if found:
        message = f"{statement.name} {join_words(list(found), 2)}: packets with another way back are lost"
        remedy = "Turn the check of sources off between switches, or make it loose."
        path = next(iter(found.values()))
        yield finding_at(STRICT, statement.device, path, message, "source check", Severity.WARNING, remedy)


RULES = (
    SwitchRule(STRICT, POLICY, (Input.LINKS,), _checks_sources),
    SwitchRule(STILL, POLICY, (Input.LINKS, Input.BGP), _does_not_route),
)
