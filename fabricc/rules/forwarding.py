"""Find switches with routed ports that do not route packets, or drop those with another way back.

Find packet filters on links of the fabric that drop BGP, BFD or RoCE.

Find switches that hash with the seed of the tier below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import checks_sources, forwards_nothing, routes_unstated
from fabricc.back.nos.packet_filters import dropped_services
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.statement import Tier
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import INTERFACES, OTHER, POLICY, FabricRule, Input, Report, SwitchRule
from fabricc.rules.sessions import UPPER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.rule import Switches
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
        remedy = "Disable the source check between switches, or make it loose."
        path = next(iter(found.values()))
        yield finding_at(STRICT, statement.device, path, message, "source check", Severity.WARNING, remedy)


BLOCKED = "FAB9662"
_LIST = "access_list["
_WAYS = ("access_list_in", "access_list_out")


def _filter_findings(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report each filter on ports to other devices that drops what the port has to carry."""
    bound = _bound_filters(statement)
    if not bound:
        return
    rules = _filter_rules(statement)
    over = {port for port in sessions.near.values() if port}
    detecting = {sessions.near[key] for key, said in sessions.said.items() if said.bfd == "true"}
    for name, ports in bound.items():
        for service, number in dropped_services(
            [text for _, text in rules.get(name, [])], statement.device.system
        ):
            carried = {"BGP": over, "BFD": detecting}.get(service)
            hit = [port for port in ports if carried is None or carried.intersection(statement.chain(port))]
            if not hit:
                continue
            which = f"rule {number + 1}" if number >= 0 else "the end"
            message = f"{statement.name} {join_words(hit, 2)}: {which} of the filter {name} drops {service}"
            path = rules[name][number][0]
            remedy = f"Permit {service} on links between switches, or take the filter off these ports."
            yield finding_at(BLOCKED, statement.device, path, message, f"filter {service}", remedy=remedy)


def _bound_filters(statement: Statement) -> dict[str, list[str]]:
    """Return the filters of ports that lead to other switches -> these ports."""
    bound: dict[str, list[str]] = {}
    for port, far in statement.fars.items():
        if far.tier is Tier.HOST or not far.known or statement.of(port, "enabled") == "false":
            continue
        for way in _WAYS:
            for name in str(statement.of(port, way) or "").replace(",", " ").split():
                ports = bound.setdefault(name, [])
                if port not in ports:
                    ports.append(port)
    return bound


def _filter_rules(statement: Statement) -> dict[str, list[tuple[str, str]]]:
    """Return the paths and texts of the rules of each filter, in their order."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for path, value in statement.rest.items():
        if path.startswith(_LIST):
            name, _, leaf = path[len(_LIST) :].partition("]/")
            if is_number(leaf):
                found.setdefault(name, []).append((int(leaf), path, str(value)))
    return {name: [(path, text) for _, path, text in sorted(rules)] for name, rules in found.items()}


SEEDS = "FAB9670"


def _hash_seeds(fabric: Switches) -> Iterator[Report]:
    used = {(each.tier, each.seed[1]) for each in fabric.summaries.values() if each.seed is not None}
    for name, summary in sorted(fabric.summaries.items()):
        if summary.tier not in UPPER or summary.seed is None:
            continue
        path, seed = summary.seed
        lower = Tier.TOR if summary.tier is Tier.SPINE else Tier.SPINE
        if (lower, seed) not in used:
            continue
        below = {
            other.seed[1]: each
            for each in sorted(fabric.linked(name))
            if (other := fabric.summaries.get(each)) and other.tier is lower and other.seed is not None
        }
        if seed in below:
            message = (
                f"{name} hashes with the seed {seed}, as {below[seed]} below it does: flows that one switch puts on a "
                "link are put on one link again"
            )
            remedy = "Give each tier a hash seed of its own."
            yield Report(SEEDS, name, (path,), message, "hash seed", Severity.WARNING, remedy)


RULES = (
    SwitchRule(STRICT, POLICY, (Input.LINKS,), _checks_sources),
    SwitchRule(STILL, POLICY, (Input.LINKS, Input.BGP), _does_not_route),
    SwitchRule(BLOCKED, INTERFACES, (Input.LINKS,), _filter_findings),
    FabricRule(SEEDS, OTHER, (Input.HASH_SEED,), _hash_seeds),
)
