"""Find packet filters on links of the fabric that drop BGP, BFD or RoCE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.packet_filters import dropped_services
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.device import Tier
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.rule import INTERFACES, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

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


RULES = (SwitchRule(BLOCKED, INTERFACES, (Input.LINKS,), _filter_findings),)
