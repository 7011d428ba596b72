"""Compare the state of a switch with the plan: ports, BGP sessions and routes."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.operate.verify.model import Aspect, Found, make_finding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.verify.widths import Widths


_wrong_session = partial(make_finding, Aspect.BGP)


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
            findings.append(_wrong_session(switch.name, "FAB9211", message, port_down=session.port))
        elif not peer.get("is_up"):
            state = "is down" if peer.get("is_enabled", True) else "is shut down"
            findings.append(
                _wrong_session(switch.name, "FAB9211", f"{where} {state}", port_down=session.port)
            )
        elif peer.get("remote_as", session.remote_asn) != session.remote_asn:
            message = f"{where} is with AS {peer['remote_as']}, planned is {session.remote_asn}"
            findings.append(_wrong_session(switch.name, "FAB9211", message))
    for key in sorted(peers.keys() - planned):
        up = "up" if peers[key].get("is_up") else "down"
        findings.append(_wrong_session(switch.name, "FAB9212", f"the session to {key} ({up}) is not planned"))
    return findings, len(planned)


def _neighbor_key(name: str) -> str:
    """Return a neighbor as facts name it: an address in canonical form, or the port of a link-local one."""
    address, _, port = name.partition("%")
    with suppress(ValueError):
        parsed = ip_address(address)
        return port if port and parsed.is_link_local else str(parsed)
    return name


_SHOWN = 2
_NO_ROUTER = (
    "Look for its routes in `show bgp l2vpn evpn`; if they are there, reset the sessions of this switch."
)


def compare_routes(
    device: str, at: SwitchId, widths: Widths, told: Mapping[str, int]
) -> tuple[list[Found], int]:
    """Return one finding for each class of prefixes and width, and the number of prefixes compared."""
    expected = widths.expected(at)
    groups: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for prefix, width in expected.items():
        kind = widths.kind(at, prefix)
        totals[kind] += 1
        if (is_now := told.get(prefix, 0)) != width:
            groups[kind, width, is_now].append(prefix)
    findings = []
    for (kind, width, is_now), prefixes in groups.items():
        count = f"{len(prefixes)} of {totals[kind]} {kind}"
        if is_now:
            have = "has" if len(prefixes) == 1 else "have"
            hops = "next hop" if is_now == 1 else "next hops"
            message = f"{count} {have} {is_now} {hops}, planned {width}: {join_words(prefixes, _SHOWN)}"
            findings.append(make_finding(Aspect.ROUTES, device, "FAB9221", message))
        else:
            are = "is" if len(prefixes) == 1 else "are"
            message = f"{count} {are} not reached: {join_words(prefixes, _SHOWN)}"
            findings.append(make_finding(Aspect.ROUTES, device, "FAB9222", message))
    if extra := sorted(told.keys() - expected.keys() - widths.owners.keys()):
        message = (
            f"{len(extra)} BGP route{'s' if len(extra) > 1 else ''} that the plan does not have: "
            f"{join_words(extra, _SHOWN)}"
        )
        findings.append(make_finding(Aspect.ROUTES, device, "FAB9223", message, severity=Severity.WARNING))
    return findings, len(expected)


def plan_peers(switches: Iterable[Switch]) -> dict[str, dict[str, str]]:
    """Return for the VNI of each tenant the ToRs that have ports in use in its VRF: VTEP address -> name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for switch in switches:
        if switch.tenants and switch.tenants.source:
            used = {port.vrf for port in switch.ports if port.enabled}
            for tenant in switch.tenants.tenants:
                if tenant.name in used:
                    found[str(tenant.vni)][switch.tenants.source] = switch.name
    return found


def compare_peers(
    switch: Switch,
    peers: Mapping[str, Mapping[str, str]],
    reached: Collection[str],
    told: Mapping[str, Mapping[str, str]],
) -> tuple[list[Found], int]:
    """Compare the VTEPs that a ToR has a router MAC of, in each VRF of a tenant, with those of the plan.

    Without the router MAC of a peer, packets of its routes are dropped, although the routes are there.

    Args:
        switch: as planned.
        peers: see `plan_peers`.
        reached: prefixes that it has routes to by the plan.
        told: VNI -> VTEP -> router MAC.
    """
    findings, count = [], 0
    for tenant in switch.tenants.tenants if switch.tenants else ():
        known = peers.get(str(tenant.vni), {})
        wanted = {vtep: name for vtep, name in known.items() if f"{vtep}/32" in reached}
        has = told.get(str(tenant.vni), {})
        count += len(wanted)
        where = f"tenant {tenant.name} (VNI {tenant.vni})"
        if lost := sorted(f"{name} ({vtep})" for vtep, name in wanted.items() if not has.get(vtep)):
            message = (
                f"{where} has no router MAC of {join_words(lost, _SHOWN)}: packets to its hosts are dropped"
            )
            findings.append(make_finding(Aspect.TENANTS, switch.name, "FAB9224", message, remedy=_NO_ROUTER))
        if extra := sorted(has.keys() - known.keys()):
            message = (
                f"{where} routes to {join_words(extra, _SHOWN)}, which the plan does not have in this tenant"
            )
            findings.append(make_finding(Aspect.TENANTS, switch.name, "FAB9225", message))
    return findings, count


LAYER_2_BYTES = 22
"""Bytes that an operating system may add to an IP MTU: Ethernet header (14), VLAN tag (4), checksum (4)."""
_MBIT = 1000
_wrong_port = partial(make_finding, Aspect.INTERFACES)
_ERRORS = ("rx_errors", "tx_errors")


def compare_ports(
    switch: Switch, told: Mapping[str, Any], counters: Mapping[str, Any] | None, errors: int
) -> tuple[list[Found], int]:
    """Return the findings and the number of ports that were compared.

    `counters` is None when the driver has none; fewer `errors` of a port since they were last cleared are not worth a
    word.
    """
    findings: list[Found] = []
    planned = [port for port in switch.ports if port.peer]
    for port in planned:
        one = told.get(port.name)
        if one is None:
            message = f"there is no port {port.name}"
            findings.append(_wrong_port(switch.name, "FAB9231", message, port_down=port.name))
            continue
        findings += _compare_port(switch.name, port, one)
        counted = (counters or {}).get(port.name, {})
        bad = sum(max(0, int(counted.get(kind, 0))) for kind in _ERRORS)
        if bad > errors:
            message = f"port {port.name} counts {bad} errors"
            remedy = "Clean or change transceivers and cable; lost frames cost a whole collective."
            findings.append(
                _wrong_port(switch.name, "FAB9234", message, remedy=remedy, severity=Severity.WARNING)
            )
    return findings, len(planned)


def _compare_port(device: str, port: Port, one: Mapping[str, Any]) -> Iterator[Found]:
    far = f"{port.peer.device} {port.peer.port}" if port.peer else ""
    if bool(one.get("is_enabled")) != port.enabled:
        state = "is shut, planned is in use" if port.enabled else "is in use, planned is shut"
        down = port.name if port.enabled else ""
        yield _wrong_port(device, "FAB9231", f"port {port.name} to {far} {state}", port_down=down)
        return
    if not port.enabled:
        return
    if not one.get("is_up"):
        yield _wrong_port(device, "FAB9231", f"port {port.name} to {far} is down", port_down=port.name)
        return
    speed = float(one.get("speed", -1))
    if speed > 0 and round(speed) != port.speed_gbps * _MBIT:
        message = f"port {port.name} runs at {speed / _MBIT:g} Gb/s, planned {port.speed_gbps}"
        yield _wrong_port(device, "FAB9232", message)
    mtu = int(one.get("mtu", -1))
    if mtu > 0 and not port.mtu <= mtu <= port.mtu + LAYER_2_BYTES:
        yield _wrong_port(device, "FAB9233", f"port {port.name} has MTU {mtu}, planned {port.mtu}")
