"""Find ports that cannot work as they are configured: too many lanes, in loopback, not forwarding, in another VRF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, harmful_settings
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Statement, Tier
from fabricc.proof.invariants.view import as_int
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE
from fabricc.rules.incomplete import MANY_PARTS, count_parts
from fabricc.rules.rule import ADDRESSES, INTERFACES, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

_MOST_LANES, _FASTEST_LANE_GBPS = 8, 200
"""Of any cage and any lane that IEEE 802.3 defines (802.3dj)."""


def _narrow_parts(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report cages that are split into parts with more lanes than they have, or with too few for the speed."""
    found = statement.facts_below("breakout[")
    speeds: dict[str, int] = {}
    for port, values in statement.ports.items() if found else ():
        if (split := defaults.splitting_fact(statement.device.system, port)) is not None:
            speeds[split[0]] = max(speeds.get(split[0], 0), as_int(values.get("speed_gbps")) or 0)
    for path, value in found.items():
        lanes, parts = as_int(statement.rest.get(f"{path}/lanes")), count_parts(value)
        if not path.endswith("]") or not lanes or not 0 < parts < MANY_PARTS:
            continue
        cage = first_key(path)
        if parts * lanes > _MOST_LANES:
            what, at = f"{parts} parts of {lanes} lanes, a cage has at most {_MOST_LANES}", path
        elif (fastest := speeds.get(path, 0)) > lanes * _FASTEST_LANE_GBPS:
            what, at = f"{fastest} Gb/s over {lanes} lane: no lane is so fast", f"{path}/lanes"
        else:
            continue
        message, remedy = f"{statement.name} {cage}: {what}", "Correct the number of parts or of lanes."
        yield finding_at(IDLE, statement.device, at, message, "lanes", Severity.WARNING, remedy)


def _ports_without_forwarding(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with addresses that forward no packets."""
    found = {
        port: f"{PORT}{port}]/{leaf}"
        for port, values in statement.ports.items()
        if "ipv4" in values
        for leaf, value in values.items()
        if defaults.forwards_nothing(leaf, value)
    }
    if found:
        message = (
            f"{statement.name} {join_words([*found], 2)}: the port drops every packet that it should forward"
        )
        path, remedy = next(iter(found.values())), "Let the port forward IPv4."
        yield finding_at(IDLE, statement.device, path, message, "no forwarding", Severity.WARNING, remedy)


def _looped_ports(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports with a link or an address that return their packets to themselves."""
    found = {
        port: leaf
        for port, values in statement.ports.items()
        for leaf, value in values.items()
        if harmful_settings.is_looped(leaf, value) and (port in statement.fars or port in statement.addresses)
    }
    if found:
        message = f"{statement.name} {join_words([*found], 2)}: in loopback, so nothing leaves by it"
        path = next(f"{PORT}{port}]/{leaf}" for port, leaf in found.items())
        remedy = "Remove the loopback, which is for tests."
        yield finding_at(IDLE, statement.device, path, message, "port in loopback", Severity.WARNING, remedy)


_LOOPBACK_VRF = "interface[lo]/vrf"
_LOOPBACKS = ("lo", "lo0", "loopback0")


def _lost_loopback(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a loopback in a VRF that has neither a link to another switch nor a session."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier is not Tier.HOST]
    if not links and not sessions.stated:
        return
    stated = {port: statement.of(port, "vrf") for port in statement.ports if port.lower() in _LOOPBACKS}
    if (vrf := statement.rest.get(_LOOPBACK_VRF)) is not None:
        stated["lo"] = vrf
    for port, vrf in stated.items():
        if (
            vrf
            and all(statement.of(link, "vrf") != vrf for link in links)
            and not any(key[0] == vrf for key in sessions.stated)
        ):
            message = f"{statement.name} {port}: in the VRF {vrf}, which has no link to another switch and no session"
            remedy, path = "Leave the loopback in the VRF of the links.", f"{PORT}{port}]/vrf"
            yield finding_at(IDLE, statement.device, path, message, "loopback", Severity.WARNING, remedy)


RULES = (
    SwitchRule(IDLE, INTERFACES, (), _narrow_parts),
    SwitchRule(IDLE, INTERFACES, (), _ports_without_forwarding, shared=True),
    SwitchRule(IDLE, INTERFACES, (Input.LINKS,), _looped_ports, shared=True),
    SwitchRule(IDLE, ADDRESSES, (), _lost_loopback),
)
