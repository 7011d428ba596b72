"""Compare BGP sessions: the planned ones are Established with the planned AS, and there is no other."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from fabricc.operate.verify.model import Aspect, Found, make_finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.model import Switch
_wrong = partial(make_finding, Aspect.BGP)


def compare_sessions(switch: Switch, told: Mapping[str, Any]) -> tuple[list[Found], int]:
    """Return the findings and the number of sessions that were compared."""
    peers = {_neighbor_key(name): peer for name, peer in told.get("global", {}).get("peers", {}).items()}
    lit = {port.name for port in switch.ports if port.enabled}
    findings: list[Found] = []
    planned = set()
    for session in switch.bgp.sessions:
        key = _neighbor_key(session.remote or session.port)
        planned.add(key)
        if session.port not in lit:
            continue
        where = f"the session to {session.peer} ({key})"
        peer = peers.get(key)
        if peer is None:
            message = f"{where} is not configured"
            findings.append(_wrong(switch.name, "FAB9211", message, port_down=session.port))
        elif not peer.get("is_up"):
            state = "is down" if peer.get("is_enabled", True) else "is shut down"
            findings.append(_wrong(switch.name, "FAB9211", f"{where} {state}", port_down=session.port))
        elif peer.get("remote_as", session.remote_asn) != session.remote_asn:
            message = f"{where} is with AS {peer['remote_as']}, planned is {session.remote_asn}"
            findings.append(_wrong(switch.name, "FAB9211", message))
    for key in sorted(peers.keys() - planned):
        up = "up" if peers[key].get("is_up") else "down"
        findings.append(_wrong(switch.name, "FAB9212", f"the session to {key} ({up}) is not planned"))
    return findings, len(planned)


def _neighbor_key(name: str) -> str:
    """Return a neighbor as facts name it: an address in canonical form, or the port of a link-local one."""
    address, _, port = name.partition("%")
    with suppress(ValueError):
        parsed = ip_address(address)
        return port if port and parsed.is_link_local else str(parsed)
    return name
