"""What is measured on a switch before and after its change, and what of it stops a push."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fabricc.devices.connection import Connection
    from fabricc.fabric.model import Switch

Measured = dict[str, Any]
"""`sessions`: neighbour -> [is up, prefixes received]; `errors`: port -> count; `widths`: prefix -> next hops.

A kind that the driver has no getter for is absent.
"""
PREFIXES_KEPT = 0.9
"""Share of the prefixes of before that a session must bring again: our judgement, growth brings more."""
_ERRORS = ("rx_errors", "tx_errors")
_SHOWN = 3


def measure(connection: Connection) -> Measured:
    """Everything the driver has a getter for.

    Raises:
        DeviceError: FAB9105, the device does not answer one.
    """
    found: Measured = {}
    if (neighbors := connection.getter("get_bgp_neighbors")) is not None:
        found["sessions"] = {
            key: [bool(peer.get("is_up")), _received(peer)]
            for key, peer in neighbors.get("global", {}).get("peers", {}).items()
        }
    if (counters := connection.getter("get_interfaces_counters")) is not None:
        found["errors"] = {
            port: total
            for port, counts in counters.items()
            if (total := sum(max(0, counts.get(kind, 0)) for kind in _ERRORS))
        }
    if (widths := connection.getter("get_ecmp_widths")) is not None:
        found["widths"] = dict(widths)
    return found


def _received(peer: Mapping[str, Any]) -> int:
    return sum(
        max(0, family.get("received_prefixes", 0)) for family in peer.get("address_family", {}).values()
    )


def complaints(
    switch: Switch,
    before: Measured,
    now: Measured,
    waiting: Collection[str],
    later: Collection[str],
    *,
    errors: int,
    widths: bool,
) -> list[str]:
    """What is worse than before, in words.

    Args:
        switch: as planned.
        before: measured before the change; `now`: after it.
        now: see `before`.
        waiting: peers with which links are down until they change too.
        later: switches that are yet to change: a session of which there was none before need not be up.
        errors: interface errors of a port that may come on top.
        widths: whether next hops must be as many as before.
    """
    found = _sessions(switch, before, now, waiting, later)
    old, new = before.get("errors", {}), now.get("errors", {})
    found += [
        f"{port} counts {count - old.get(port, 0)} more errors"
        for port, count in sorted(new.items())
        if count - old.get(port, 0) > errors
    ]
    if widths and not waiting and "widths" in before and "widths" in now:
        limit = switch.bgp.maximum_paths
        fewer = [
            f"{prefix} has {now['widths'].get(prefix, 0)} next hops, {width} before"
            for prefix, width in sorted(before["widths"].items())
            if now["widths"].get(prefix, 0) < min(width, limit)
        ]
        found += fewer[:_SHOWN]
    return found


def _sessions(
    switch: Switch, before: Measured, now: Measured, waiting: Collection[str], later: Collection[str]
) -> list[str]:
    old, new = before.get("sessions"), now.get("sessions")
    if old is None or new is None:
        return []
    found = []
    for session in switch.bgp.sessions:
        key = session.remote or session.port
        was_up, received = old.get(key, [None, 0])
        joins = was_up is None and session.peer in later
        if was_up is False or joins or session.peer in waiting:
            continue
        is_up, receives = new.get(key, [False, 0])
        if not is_up:
            found.append(f"the session to {session.peer} ({key}) is down")
        elif receives < received * PREFIXES_KEPT:
            found.append(f"{session.peer} ({key}) announces {receives} prefixes, {received} before")
    return found


def down_before(switch: Switch, measured: Measured) -> list[str]:
    """Planned sessions that the switch has and that are down already."""
    sessions = measured.get("sessions", {})
    return [
        f"{switch.name} to {session.peer}"
        for session in switch.bgp.sessions
        if sessions.get(session.remote or session.port, [True])[0] is False
    ]
