"""Find packet filters on links of the fabric that drop BGP, BFD or RoCE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.audit.model import Tier
from fabricc.audit.rules.sheet import told
from fabricc.back.nos.packet_filters import dropped_services
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sessions import Sessions
    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

BLOCKED = "FAB9662"
_LIST = "access_list["
_WAYS = ("access_list_in", "access_list_out")


def filter_findings(sheet: Sheet, sessions: Sessions) -> Iterator[Finding]:
    """Report each filter on ports to other devices that drops what the port has to carry."""
    bound = _bound(sheet)
    if not bound:
        return
    rules = _rules(sheet)
    over = {port for port in sessions.near.values() if port}
    detecting = {sessions.near[key] for key, said in sessions.said.items() if said.bfd == "true"}
    for name, ports in bound.items():
        for service, number in dropped_services(
            [text for _, text in rules.get(name, [])], sheet.device.system
        ):
            carried = {"BGP": over, "BFD": detecting}.get(service)
            hit = [port for port in ports if carried is None or carried.intersection(sheet.chain(port))]
            if not hit:
                continue
            which = f"rule {number + 1}" if number >= 0 else "the end"
            message = f"{sheet.name} {join_words(hit, 2)}: {which} of the filter {name} drops {service}"
            path = rules[name][number][0]
            remedy = f"Permit {service} on links between switches, or take the filter off these ports."
            yield told(BLOCKED, sheet.device, path, message, f"filter {service}", remedy=remedy)


def _bound(sheet: Sheet) -> dict[str, list[str]]:
    """Return the filters of ports that lead to other switches -> these ports."""
    bound: dict[str, list[str]] = {}
    for port, far in sheet.fars.items():
        if far.tier is Tier.HOST or not far.known or sheet.of(port, "enabled") == "false":
            continue
        for way in _WAYS:
            for name in str(sheet.of(port, way) or "").replace(",", " ").split():
                ports = bound.setdefault(name, [])
                if port not in ports:
                    ports.append(port)
    return bound


def _rules(sheet: Sheet) -> dict[str, list[tuple[str, str]]]:
    """Return the paths and texts of the rules of each filter, in their order."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for path, value in sheet.rest.items():
        if path.startswith(_LIST):
            name, _, leaf = path[len(_LIST) :].partition("]/")
            if is_number(leaf):
                found.setdefault(name, []).append((int(leaf), path, str(value)))
    return {name: [(path, text) for _, path, text in sorted(rules)] for name, rules in found.items()}
