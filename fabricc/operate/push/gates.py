"""Measure a switch before and after its change, and find regressions and growth of counters that stop a push."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.numbers import group_pairs, is_number
from fabricc.base.values import replace
from fabricc.fabric.external import GROUP
from fabricc.operate.drivers import lossless as lossless_counters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fabricc.fabric.model import Switch
    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.push.options import Options

    Names = Collection[str]

GETTERS = ("get_lossless_counters", "get_interfaces_counters")
"""What `counters` calls."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_ERRORS = ("rx_errors", "tx_errors")
_RATES = (
    ((lossless_counters.PFC_RX, lossless_counters.PFC_TX), "PFC frames"),
    ((lossless_counters.ECN_MARKED,), "ECN marks"),
)


def read_counters(switch: Connection) -> dict[str, Any]:
    """Counters of now: `errors` and `lossless`, as `gates.Measurements` has them, and when they were read.

    `at` are seconds of a clock that nobody sets, of one start of this machine: `boot`.

    Raises:
        DeviceError: FAB9105, the device does not answer.
    """
    with switch.reading_ahead(*GETTERS):
        lossless: lossless_counters.Counters = switch.getter("get_lossless_counters") or {}
        at = time.monotonic()
        counters = switch.getter("get_interfaces_counters")
    found: dict[str, Any] = {"at": at, "boot": _read_boot(), "lossless": lossless}
    if counters is not None:
        found["errors"] = {
            port: total
            for port, counts in counters.items()
            if (total := sum(max(0, counts.get(kind, 0)) for kind in _ERRORS))
        }
    return found


@cache
def _read_boot() -> str:
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return ""


def find_lasting_errors(
    switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any], options: Options
) -> list[str]:
    """Return what no waiting cures: interface errors, storms, and packets dropped from lossless classes."""
    old = before.get("errors", {})
    more = ((port, count - old.get(port, 0)) for port, count in sorted(now.get("errors", {}).items()))
    found = [f"{port} counts {count} more errors" for port, count in more if count > options.errors]
    found += find_storms(switch, before, now)
    drops = (
        (port, count)
        for port, count in _compute_growth(switch, lossless_counters.DROPPED, before, now)
        if count > options.drops
    )
    return [*found, *(f"{port} dropped {count} packets of lossless classes" for port, count in drops)]


def find_storms(switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return ports on which the PFC watchdog has detected a storm since."""
    return [
        f"the PFC watchdog of {port} detected {count} storm{'s' if count > 1 else ''}"
        for port, count in _compute_growth(switch, lossless_counters.STORMS, before, now)
        if count
    ]


def find_congestion(
    switch: Switch, before: Mapping[str, Any], now: Mapping[str, Any], options: Options
) -> list[str]:
    """Return ports that pause, are paused, or mark more often than the options allow, on average since then."""
    if "at" not in before or before.get("boot") != now.get("boot"):
        return []
    seconds = max(1.0, now["at"] - before["at"])
    found = []
    for (kinds, what), limit in zip(_RATES, (options.pauses, options.marks), strict=True):
        sums = Counter[str]()
        for port, count in (each for kind in kinds for each in _compute_growth(switch, kind, before, now)):
            sums[port] += count
        found += [
            f"{port} counts {count / seconds:,.0f} {what} a second"
            for port, count in sums.items()
            if count > limit * seconds
        ]
    return found


def _compute_growth(
    switch: Switch, kind: str, before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    """Yield each port and the growth of a counter in both states; a count that fell was cleared and starts from 0.

    Dropped packets matter in lossless classes alone, everything else in every class.
    """
    old, new = (one.get("lossless", {}).get(kind) for one in (before, now))
    if old is None or new is None:
        return
    classes = {one.priority for one in switch.qos.lossless} if kind == lossless_counters.DROPPED else range(8)
    for port, counts in sorted(new.items()):
        was, is_now = (
            lossless_counters.sum_classes(old.get(port, {}), classes),
            lossless_counters.sum_classes(counts, classes),
        )
        yield port, is_now - was if is_now >= was else is_now


Measurements = dict[str, Any]
"""`sessions`: neighbor -> [is up, prefixes received]; `announced`: neighbor -> family -> prefixes sent.

`widths`: prefix -> next hops; `alarms`: a line each.

`router_macs`: VNI -> VTEP -> router MAC, of a VTEP of tenants.

`errors` (port -> count), `lossless` (as `operate.drivers.lossless` has them), `at` and `boot` are those of
`read_counters`. What the device does not state is absent.
"""
PREFIXES_KEPT = 0.9
"""Share of the prefixes of before that a session must bring again: our judgment, growth brings more."""
_SHOWN = 3
_PEERS = 2
HEALTH = ("get_alarms", *GETTERS)
"""What `measure_health` calls."""
_WORDS = {"sessions": "BGP sessions", "widths": "next hops", "errors": "interface errors", "alarms": "alarms"}


def list_getters(*, tunnels: bool) -> tuple[str, ...]:
    """Return the getters that `measure_switch` calls."""
    macs = ("get_router_macs",) if tunnels else ()
    return ("get_bgp_neighbors", "get_ecmp_widths", *macs, *HEALTH)


def measure_switch(connection: Connection, *, tunnels: bool = False) -> Measurements:
    """Everything that the device states; `tunnels`: whether it is a VTEP of tenants.

    Raises:
        DeviceError: FAB9105, the device does not answer one.
    """
    found: Measurements = {}
    with connection.reading_ahead(*list_getters(tunnels=tunnels)):
        if tunnels and (known := connection.getter("get_router_macs")) is not None:
            found["router_macs"] = known
        if (neighbors := connection.getter("get_bgp_neighbors")) is not None:
            peers = neighbors.get("global", {}).get("peers", {})
            found["sessions"] = {
                key: [bool(peer.get("is_up")), _count_prefixes(peer)] for key, peer in peers.items()
            }
            announced = {key: _read_announced(peer) for key, peer in peers.items()}
            found["announced"] = {key: counts for key, counts in announced.items() if counts}
        if (widths := connection.getter("get_ecmp_widths")) is not None:
            found["widths"] = widths
        return found | measure_health(connection)


def measure_health(connection: Connection) -> Measurements:
    """Alarms and counters alone.

    Raises:
        DeviceError: FAB9105, the device does not answer one.
    """
    with connection.reading_ahead(*HEALTH):
        alarms = connection.getter("get_alarms")
        return read_counters(connection) | ({} if alarms is None else {"alarms": alarms})


def _count_prefixes(peer: Mapping[str, Any]) -> int:
    families = peer.get("address_family", {}).values()
    return sum(max(0, family.get("received_prefixes", 0)) for family in families)


def _read_announced(peer: Mapping[str, Any]) -> dict[str, int]:
    """Return the prefixes that a session sends, by family; families whose number is not reported are absent."""
    families = peer.get("address_family", {}).items()
    return {name: sent for name, counts in families if (sent := counts.get("sent_prefixes", -1)) >= 0}


def find_regressions(
    switch: Switch,
    before: Measurements,
    now: Measurements,
    waiting: Names,
    later: Names,
    *,
    widths: bool,
    received: bool = True,
    leaving: Callable[[list[str]], Names] = lambda _: (),
    configured: Names | None = None,
) -> list[str]:
    """Describe everything that is worse than before and may still recover.

    Args:
        switch: as planned.
        before: measured before the change; `now`: after it.
        now: see `before`.
        waiting: peers with which links are down until they change too.
        later: switches that are yet to change: a session of which there was none before need not be up.
        widths: whether next hops must be as many as before.
        received: whether sessions must bring as many prefixes as before.
        leaving: of prefixes without next hops those that nobody is to have any more; by default all must stay.
        configured: neighbors of the wanted configuration, which in a rollback can lack sessions of the plan; by default
            all of the plan.
    """
    if configured is not None:
        kept, above = (
            tuple(one for one in some if (one.remote or one.port) in configured)
            for some in (switch.bgp.sessions, switch.bgp.overlay)
        )
        widths = widths and len(kept) == len(switch.bgp.sessions)
        switch = replace(switch, bgp=replace(switch.bgp, sessions=kept, overlay=above))
    found = _check_sessions(switch, before, now, waiting, later, received=received)
    found += find_new_alarms(before, now)
    found += [
        f"the device no longer states {what}"
        for what in list_unstated(now)
        if what not in list_unstated(before)
    ]
    if widths and not waiting and "widths" in before and "widths" in now:
        limit, routed, left = (
            switch.bgp.maximum_paths,
            _find_link_versions(switch),
            _count_leaving_hops(switch, before),
        )
        hops = {prefix: now["widths"].get(prefix, 0) for prefix in before["widths"]}
        fewer = {
            prefix: f"{prefix} has {hops[prefix]} next hops, {width} before"
            for prefix, width in sorted(before["widths"].items())
            if (version := _get_ip_version(prefix)) in routed
            and hops[prefix] < min(width, limit) - left[version]
        }
        gone = leaving([prefix for prefix in fewer if not hops[prefix]])
        found += [message for prefix, message in fewer.items() if prefix not in gone][:_SHOWN]
    return found


def _find_link_versions(switch: Switch) -> set[int]:
    """Return the IP versions that its links carry: routes of one that it leaves go with it."""
    ports = [port for port in switch.ports if port.peer]
    if any(port.unnumbered for port in ports):
        return {4, 6}
    families = ((4, "ipv4"), (6, "ipv6"))
    return {version for version, own in families if any(getattr(port, own) for port in ports)}


def _count_leaving_hops(switch: Switch, before: Measurements) -> Counter[int]:
    """IP version -> neighbors that were up and that the plan has no longer: next hops that leave with them."""
    planned = {session.remote or session.port for session in switch.bgp.every_session}
    gone = [key for key, (up, _) in before.get("sessions", {}).items() if up and key not in planned]
    numbered = Counter(_get_ip_version(key) for key in gone if is_number(key[:1]) or ":" in key)
    either = len(gone) - numbered.total()
    return Counter({version: numbered[version] + either for version in (4, 6)})


def _get_ip_version(address: str) -> int:
    return 6 if ":" in address else 4


def _check_sessions(
    switch: Switch, before: Measurements, now: Measurements, waiting: Names, later: Names, *, received: bool
) -> list[str]:
    old, new = before.get("sessions"), now.get("sessions")
    if old is None or new is None:
        return []
    found = []
    for session in switch.bgp.every_session:
        key = session.remote or session.port
        was_up, brought = old.get(key, [None, 0])
        joins = was_up is None and (session.peer in later or session.group.startswith(GROUP))
        if was_up is False or joins or session.peer in waiting:
            continue
        is_up, receives = new.get(key, [False, 0])
        if not is_up:
            found.append(f"the session to {session.peer} ({key}) is down")
        elif received and session.port and receives < brought * PREFIXES_KEPT:
            found.append(f"{session.peer} ({key}) announces {receives} prefixes, {brought} before")
    return found


def find_silent_sessions(
    switch: Switch, before: Measurements, now: Measurements, waiting: Names
) -> list[str]:
    """Describe the families in which sessions announced prefixes and announce none any more.

    By the plan, a switch announces its loopback to every switch that it has a link to, also while it is drained. What
    it announces to outside parties depends on others.

    Args:
        switch: as planned.
        before: measured before the change; `now`: after it.
        now: see `before`.
        waiting: peers with which links are down until they change too.
    """
    old, new, up = (
        one.get(key, {}) for one, key in ((before, "announced"), (now, "announced"), (now, "sessions"))
    )
    silent = group_pairs(
        (family, session.peer)
        for session in switch.bgp.sessions
        for key in [session.remote or session.port]
        for family in switch.bgp.list_carried_families(session.transport)
        if not session.group.startswith(GROUP) and session.peer not in waiting and up.get(key, [False])[0]
        if old.get(key, {}).get(family, 0) > 0 and new.get(key, {}).get(family) == 0
    )
    return [
        f"it announces no {family.replace('ip', 'IP')} prefix to {join_words(peers, _PEERS)} any more"
        for family, peers in silent.items()
    ]


def find_lost_peers(
    switch: Switch,
    peers: Mapping[str, Mapping[str, str]],
    before: Measurements,
    now: Measurements,
    later: Names,
) -> list[str]:
    """Describe the tenants that lack the router MAC of a ToR to which there is a route.

    A VRF that joins the switch needs all of its peers; one that it had needs those of before.

    Args:
        switch: as planned.
        peers: see `fabric.model.plan_peers`.
        before: measured before the change; `now`: after it.
        now: see `before`.
        later: switches that are yet to change.
    """
    old, new, routes = before.get("router_macs"), now.get("router_macs"), now.get("widths", {})
    if old is None or new is None or switch.tenants is None:
        return []
    found = []
    for tenant in switch.tenants.tenants:
        vni = str(tenant.vni)
        had, has = old.get(vni), new.get(vni, {})
        lost = [
            name
            for vtep, name in peers.get(vni, {}).items()
            if name not in later and f"{vtep}/32" in routes and not has.get(vtep)
            if had is None or had.get(vtep)
        ]
        if lost:
            names = join_words(lost, _SHOWN)
            found.append(f"tenant {tenant.name} has no router MAC of {names}: packets to it are dropped")
    return found


def report_pending_sessions(
    switch: Switch, before: Measurements, now: Measurements, unread: Collection[str]
) -> list[str]:
    """Report new sessions that are down and lead to switches that the push did not contact."""
    old, new = before.get("sessions", {}), now.get("sessions", {})
    names = [
        session.peer
        for session in switch.bgp.every_session
        for key in [session.remote or session.port]
        if session.peer in unread and key not in old and not new.get(key, [False])[0]
    ]
    words = plural(len(names), "new session")
    return [f"{words} down, such as to {names[0]}, which was not contacted"] if names else []


def find_new_alarms(before: Measurements, now: Measurements) -> list[str]:
    """Alarms that were not there before."""
    return [f"alarm: {one}" for one in now.get("alarms", ()) if one not in before.get("alarms", ())][:_SHOWN]


def list_unstated(measured: Measurements, *, lossless: bool = True) -> list[str]:
    """List measurements that the device does not report; with its `lossless` classes if it has any."""
    found = [what for key, what in _WORDS.items() if key not in measured]
    return found + (lossless_counters.list_missing_kinds(measured.get("lossless", {})) if lossless else [])


def list_down_sessions(switch: Switch, measured: Measurements) -> list[str]:
    """Planned sessions that the switch has and that are down already."""
    sessions = measured.get("sessions", {})
    return [
        f"{switch.name} to {session.peer}"
        for session in switch.bgp.every_session
        if sessions.get(session.remote or session.port, [True])[0] is False
    ]
