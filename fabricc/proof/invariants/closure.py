"""Invariant 20 on one switch: every name that its files use is defined, and every port is in use or shut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.proof.invariants.rules import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.invariants.view import SwitchView


def closure_breaches(seen: SwitchView) -> Iterator[Breach]:
    """References without a definition, and ports that are neither planned nor shut."""
    told: set[str] = set()
    for neighbour, attributes in seen.neighbours.items():
        for leaf in ("import", "export"):
            name = attributes.get(leaf)
            if name is not None and name not in seen.maps and str(name) not in told:
                told.add(str(name))
                message = f"route map {name} of neighbour {neighbour} does not exist"
                yield Breach(20, message, f"bgp/neighbor[{neighbour}]/{leaf}")
    connected = seen.facts.get("bgp/redistribute_connected")
    if connected not in (None, "unfiltered") and connected not in seen.maps:
        yield Breach(20, f"route map {connected} does not exist", "bgp/redistribute_connected")
    for name, clauses in seen.maps.items():
        for sequence, clause in clauses.items():
            yield from _check_references(seen, name, sequence, clause)
    planned = {port.name: port for port in seen.switch.ports}
    for name in seen.enabled:
        port = planned.get(name)
        if port is None or port.peer is None:
            yield Breach(20, f"{name} serves nothing and is not shut", f"interface[{name}]/enabled")


def _check_references(seen: SwitchView, name: str, sequence: int, clause: str) -> Iterator[Breach]:
    words = clause.split()
    for keyword, known in (("prefix_list", seen.lists), ("community_list", seen.communities)):
        if keyword in words[:-1] and (named := words[words.index(keyword) + 1]) not in known:
            message = f"route map {name} {sequence} matches {keyword.replace('_', ' ')} {named}, which does not exist"
            yield Breach(20, message, f"route_map[{name}]/{sequence}")
