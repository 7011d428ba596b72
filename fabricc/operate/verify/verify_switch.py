"""Verify one switch: call the getters of its driver, read-only, and compare ports, sessions, routes and files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.connection import Connection, open_connection
from fabricc.operate.devices.identity import LOOK, LOOK_OR_STATE, Answering, identify_device, identity_of
from fabricc.operate.drivers.lossless import DROPPED, KINDS, PFC_RX, PFC_TX, STORMS, Counters, sum_classes
from fabricc.operate.push.reach import read_files
from fabricc.operate.verify.drift import compare_drift
from fabricc.operate.verify.model import Aspect, Deviation, make_finding
from fabricc.operate.verify.neighbors import LldpView, read_lldp_view

if TYPE_CHECKING:
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.devices.access import Access
    from fabricc.operate.push.built_tree import BuiltTree
    from fabricc.operate.verify.widths import Widths


@dataclass(frozen=True, slots=True)
class Question:
    """The comparisons to make on every switch.

    Attributes:
        aspects: which aspects to compare.
        errors: interface errors per port up to which nothing is reported.
        widths: planned next hops; None when they are not compared.
        peers: see `fabric.model.plan_peers`.
    """

    source: BuiltTree
    access: Access
    aspects: Collection[Aspect]
    errors: int
    widths: Widths | None
    peers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Answer:
    """The result for one switch, reduced to the differences.

    Attributes:
        failures: why the switch, or an aspect of it, could not be read.
        ears: its LLDP neighbors, for the comparison of the whole cabling.
        compared: aspect -> how many things were compared.
        unanswered: aspects for which its driver has no getter.
        unknown_lines: number of lines of its running configuration that no reader knows.
        untold: files of the tree that its driver does not return.
        counters: its counters of lossless classes; None when they were not read.
        device: the device that answers; None when its identity was not read.
    """

    failures: list[Diagnostic] = field(default_factory=list)
    lldp_view: LldpView | None = None
    compared: dict[Aspect, int] = field(default_factory=dict)
    unanswered: list[Aspect] = field(default_factory=list)
    found: list[Deviation] = field(default_factory=list)
    unknown_lines: int = 0
    unreported: tuple[str, ...] = ()
    counters: Counters | None = None
    device: Answering | None = None

    def add_result(self, aspect: Aspect, result: tuple[list[Deviation], int]) -> None:
        """Add the findings and the count of a comparison."""
        self.found += result[0]
        self.compared[aspect] = self.compared.get(aspect, 0) + result[1]

    def reject(self, name: str, wrong: str, remedy: str) -> None:
        """Report another device at the address of a switch; whatever was compared on it does not count."""
        message = f"another switch answers at this address: {wrong}"
        self.found = [make_finding(Aspect.IDENTITY, name, "FAB9205", message, remedy=remedy)]
        self.compared, self.unanswered = {Aspect.IDENTITY: 1}, []
        self.lldp_view, self.counters = None, None


def verify_switch(question: Question, name: str) -> Answer:
    """Compare one switch with the plan. A failure is part of the answer; the other aspects are still compared."""
    answer = Answer()
    try:
        with open_connection(question.source.devices[name], question.access) as live:
            if not _is_expected_switch(question, name, live, answer):
                return answer
            for act in _build_comparisons(question, question.source.switch(name), live, answer):
                try:
                    act()
                except DeviceError as error:
                    answer.failures.append(error.diagnostic)
                if live.silent:
                    break
    except DeviceError as error:
        answer.failures.append(error.diagnostic)
    return answer


def _is_expected_switch(question: Question, name: str, live: Connection, answer: Answer) -> bool:
    """Return whether a device may be the switch that the plan has at its address. Another device is not compared.

    The running configuration is read where the hostname proves nothing.

    Raises:
        DeviceError: FAB9105, it does not answer.
    """
    source, ours = question.source, question.source.files(name)
    device = identify_device(source.roster, name, live, {}, ours)
    wrong = device.wrong
    if not device.proved and not wrong:
        found = read_files(source.devices[name].nos, live, ours)
        device = identify_device(source.roster, name, live, found, ours)
        wrong = device.wrong
        wrong = wrong or ("" if device.proved else source.roster.foreign(device.identity))
    answer.device = device
    if wrong:
        answer.reject(name, wrong, LOOK)
    return not wrong


def _build_comparisons(
    question: Question, planned: Switch, live: Connection, answer: Answer
) -> list[Callable[[], None]]:
    """Return the comparisons to run; each one can fail without affecting the others."""
    aspects = question.aspects
    name, at = planned.name, question.source.places[planned.name]

    def getter(aspect: Aspect, method: str, judge: Callable[[Any], tuple[list[Deviation], int]]) -> None:
        if (reported := live.getter(method)) is None:
            answer.unanswered.append(aspect)
        else:
            answer.add_result(aspect, judge(reported))

    def listen(answered: Any) -> tuple[list[Deviation], int]:
        answer.lldp_view = read_lldp_view(planned, answered)
        return [], len(answer.lldp_view.planned)

    def count() -> None:
        answer.counters = live.getter("get_lossless_counters") or {}
        answer.add_result(Aspect.QOS, compare_counters(planned, answer.counters))

    def reach(answer: Any) -> tuple[list[Deviation], int]:
        assert question.widths is not None
        return compare_routes(name, at, question.widths, answer)

    def compare_tenants(answer: Any) -> tuple[list[Deviation], int]:
        assert question.widths is not None
        return compare_peers(planned, question.peers, question.widths.count_next_hops(at), answer)

    def interfaces(answer: Any) -> tuple[list[Deviation], int]:
        return compare_ports(planned, answer, live.getter("get_interfaces_counters"), question.errors)

    getters: tuple[tuple[Aspect, str, Callable[[Any], tuple[list[Deviation], int]]], ...] = (
        (Aspect.CABLING, "get_lldp_neighbors_detail", listen),
        (Aspect.BGP, "get_bgp_neighbors", partial(compare_sessions, planned)),
        (Aspect.ROUTES, "get_ecmp_widths", reach),
        *(((Aspect.TENANTS, "get_router_macs", compare_tenants),) if planned.tenants else ()),
        (Aspect.INTERFACES, "get_interfaces", interfaces),
    )
    requested = set(aspects) - ({Aspect.ROUTES, Aspect.TENANTS} if question.widths is None else set())
    acts: list[Callable[[], None]] = [partial(getter, *one) for one in getters if one[0] in requested]
    if Aspect.QOS in aspects:
        acts.append(count)
    if Aspect.QOS in aspects or Aspect.CONFIG in aspects:
        acts.append(lambda: _compare_configuration(question, name, live, answer))
    return acts


def _compare_configuration(question: Question, name: str, live: Connection, answer: Answer) -> None:
    source, nos = question.source, question.source.devices[name].nos
    ours = source.files(name)
    theirs = {file: question.access.hide_secrets(text) for file, text in read_files(nos, live, ours).items()}
    seen = compare_drift(name, nos, source.tree, ours, theirs, question.aspects, question.access.secret_names)
    if wrong := source.roster.namesake(name, identity_of({}, seen.facts)):
        answer.reject(name, wrong, LOOK_OR_STATE)
        return
    answer.found += seen.found
    for aspect, count in seen.counts.items():
        answer.add_result(aspect, ([], count))
    answer.unknown_lines, answer.unreported = seen.unknown_lines, seen.unreported


_wrong_session = partial(make_finding, Aspect.BGP)


def compare_sessions(switch: Switch, answer: Mapping[str, Any]) -> tuple[list[Deviation], int]:
    """Return the findings and the number of sessions that were compared."""
    peers = {_neighbor_key(name): peer for name, peer in answer.get("global", {}).get("peers", {}).items()}
    lit = {port.name for port in switch.ports if port.enabled}
    findings: list[Deviation] = []
    planned = set()
    for session in switch.bgp.every_session:
        key = _neighbor_key(session.remote or session.port)
        planned.add(key)
        if session.port and session.port not in lit:
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
    device: str, at: SwitchId, widths: Widths, answer: Mapping[str, int]
) -> tuple[list[Deviation], int]:
    """Return one finding for each class of prefixes and width, and the number of prefixes compared."""
    expected = widths.count_next_hops(at)
    groups: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for prefix, width in expected.items():
        kind = widths.kind(at, prefix)
        totals[kind] += 1
        if (is_now := answer.get(prefix, 0)) != width:
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
    if extra := sorted(answer.keys() - expected.keys() - widths.owners.keys()):
        message = (
            f"{len(extra)} BGP route{'s' if len(extra) > 1 else ''} that the plan does not have: "
            f"{join_words(extra, _SHOWN)}"
        )
        findings.append(make_finding(Aspect.ROUTES, device, "FAB9223", message, severity=Severity.WARNING))
    return findings, len(expected)


def compare_peers(
    switch: Switch,
    peers: Mapping[str, Mapping[str, str]],
    reached: Collection[str],
    answer: Mapping[str, Mapping[str, str]],
) -> tuple[list[Deviation], int]:
    """Compare the VTEPs that a ToR has a router MAC of, in each VRF of a tenant, with those of the plan.

    Without the router MAC of a peer, packets of its routes are dropped, although the routes are there.

    Args:
        switch: as planned.
        peers: see `fabric.model.plan_peers`.
        reached: prefixes that it has routes to by the plan.
        answer: VNI -> VTEP -> router MAC.
    """
    findings, count = [], 0
    for tenant in switch.tenants.tenants if switch.tenants else ():
        known = peers.get(str(tenant.vni), {})
        wanted = {vtep: name for vtep, name in known.items() if f"{vtep}/32" in reached}
        has = answer.get(str(tenant.vni), {})
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
    switch: Switch, answer: Mapping[str, Any], counters: Mapping[str, Any] | None, errors: int
) -> tuple[list[Deviation], int]:
    """Return the findings and the number of ports that were compared.

    `counters` is None when the driver has none; fewer `errors` of a port since they were last cleared are not worth a
    word.
    """
    findings: list[Deviation] = []
    planned = [port for port in switch.ports if port.peer]
    for port in planned:
        one = answer.get(port.name)
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


def _compare_port(device: str, port: Port, one: Mapping[str, Any]) -> Iterator[Deviation]:
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


def compare_counters(switch: Switch, counters: Counters) -> tuple[list[Deviation], int]:
    """Return the findings and the number of ports that were compared."""
    ports = [port.name for port in switch.ports if port.peer and port.enabled]
    findings = [
        one
        for port in ports
        for one in (*_find_pauses(switch, port, counters), *_find_losses(switch, port, counters))
    ]
    counted = {port for kind in KINDS for port in counters.get(kind, {})}
    return findings, sum(1 for port in ports if port in counted)


def _find_pauses(switch: Switch, port: str, counters: Counters) -> Iterator[Deviation]:
    """Report PFC frames of priorities that are not lossless here: one end of the link has another policy."""
    lossless = {one.priority for one in switch.qos.lossless}
    for kind, verb in ((PFC_RX, "was sent"), (PFC_TX, "sent")):
        counts = counters.get(kind, {}).get(port, {})
        numbered = {int(n): count for n, count in counts.items() if count and is_number(n)}
        if wrong := {n: count for n, count in numbered.items() if n not in lossless}:
            words = ", ".join(f"{count} for priority {n}" for n, count in sorted(wrong.items()))
            message = f"port {port} {verb} PFC frames of classes that are not lossless: {words}"
            remedy = "See the QoS facts of both ends of the link."
            yield make_finding(Aspect.QOS, switch.name, "FAB9241", message, remedy=remedy)


def _find_losses(switch: Switch, port: str, counters: Counters) -> Iterator[Deviation]:
    if count := sum(counters.get(STORMS, {}).get(port, {}).values()):
        message = f"the PFC watchdog of port {port} detected {count} storm{'s' if count > 1 else ''}"
        remedy = "Find the source of the pauses at the far end of the link: a host, or a switch behind it."
        yield _make_warning(switch, "FAB9242", message, remedy)
    lossless = {one.priority for one in switch.qos.lossless}
    if count := sum_classes(counters.get(DROPPED, {}).get(port, {}), lossless):
        message = f"port {port} dropped {count} packets of lossless classes"
        remedy = "Check headroom and cable length of the link, and the counters of the watchdog."
        yield _make_warning(switch, "FAB9243", message, remedy)


def _make_warning(switch: Switch, code: str, message: str, remedy: str) -> Deviation:
    return make_finding(Aspect.QOS, switch.name, code, message, remedy=remedy, severity=Severity.WARNING)


def sum_counters(counters: Mapping[str, Counters]) -> Iterator[tuple[str, list[int | None]]]:
    """Switch -> the sum of each kind over its ports, None for what it does not state; those that count most first."""

    def total(one: Counters, kind: str) -> int | None:
        return sum(sum(counts.values()) for counts in one[kind].values()) if kind in one else None

    sums = {name: [total(one, kind) for kind in KINDS] for name, one in counters.items()}
    yield from sorted(sums.items(), key=lambda item: [-(one or 0) for one in reversed(item[1])])
