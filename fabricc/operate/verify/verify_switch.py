"""Verify one switch: call the getters of its driver, read-only, and compare the answers with the plan."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.failure import DeviceError
from fabricc.operate.devices.identity import LOOK, LOOK_OR_STATE, Answering, identify_device, identity_of
from fabricc.operate.push.reach import read_files
from fabricc.operate.verify import drift, lossless, operational_state
from fabricc.operate.verify.model import Aspect, Found, make_finding
from fabricc.operate.verify.neighbors import LldpView, read_lldp_view

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.model import Switch
    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.drivers.lossless import Counters
    from fabricc.operate.push.built_tree import BuiltTree
    from fabricc.operate.verify.widths import Widths


@dataclass(frozen=True, slots=True)
class Question:
    """The comparisons to make on every switch.

    Attributes:
        aspects: which aspects to compare.
        errors: number of interface errors of a port that is not reported.
        widths: planned next hops; None when they are not compared.
        peers: see `operational_state.plan_peers`.
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
    ears: LldpView | None = None
    compared: dict[Aspect, int] = field(default_factory=dict)
    unanswered: list[Aspect] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    unknown_lines: int = 0
    untold: tuple[str, ...] = ()
    counters: Counters | None = None
    device: Answering | None = None

    def take(self, aspect: Aspect, result: tuple[list[Found], int]) -> None:
        """Add the findings and the count of a comparison."""
        self.found += result[0]
        self.compared[aspect] = self.compared.get(aspect, 0) + result[1]

    def reject(self, name: str, wrong: str, remedy: str) -> None:
        """Report another device at the address of a switch; whatever was compared on it does not count."""
        message = f"another switch answers at this address: {wrong}"
        self.found = [make_finding(Aspect.IDENTITY, name, "FAB9205", message, remedy=remedy)]
        self.compared, self.unanswered = {Aspect.IDENTITY: 1}, []
        self.ears, self.counters = None, None


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
        device = identify_device(source.roster, name, live, read_files(live, ours), ours)
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

    def getter(aspect: Aspect, method: str, judge: Callable[[Any], tuple[list[Found], int]]) -> None:
        if (told := live.getter(method)) is None:
            answer.unanswered.append(aspect)
        else:
            answer.take(aspect, judge(told))

    def listen(told: Any) -> tuple[list[Found], int]:
        answer.ears = read_lldp_view(planned, told)
        return [], len(answer.ears.planned)

    def count() -> None:
        answer.counters = live.getter("get_lossless_counters") or {}
        answer.take(Aspect.QOS, lossless.compare_counters(planned, answer.counters))

    def reach(told: Any) -> tuple[list[Found], int]:
        assert question.widths is not None
        return operational_state.compare_routes(name, at, question.widths, told)

    def compare_tenants(told: Any) -> tuple[list[Found], int]:
        assert question.widths is not None
        return operational_state.compare_peers(planned, question.peers, question.widths.expected(at), told)

    def interfaces(told: Any) -> tuple[list[Found], int]:
        return operational_state.compare_ports(
            planned, told, live.getter("get_interfaces_counters"), question.errors
        )

    getters: tuple[tuple[Aspect, str, Callable[[Any], tuple[list[Found], int]]], ...] = (
        (Aspect.CABLING, "get_lldp_neighbors_detail", listen),
        (Aspect.BGP, "get_bgp_neighbors", partial(operational_state.compare_sessions, planned)),
        (Aspect.ROUTES, "get_ecmp_widths", reach),
        *(((Aspect.TENANTS, "get_router_macs", compare_tenants),) if planned.tenants else ()),
        (Aspect.INTERFACES, "get_interfaces", interfaces),
    )
    asked = set(aspects) - ({Aspect.ROUTES, Aspect.TENANTS} if question.widths is None else set())
    acts: list[Callable[[], None]] = [partial(getter, *one) for one in getters if one[0] in asked]
    if Aspect.QOS in aspects:
        acts.append(count)
    if Aspect.QOS in aspects or Aspect.CONFIG in aspects:
        acts.append(lambda: _compare_configuration(question, name, live, answer))
    return acts


def _compare_configuration(question: Question, name: str, live: Connection, answer: Answer) -> None:
    source, nos = question.source, question.source.devices[name].nos
    ours = source.files(name)
    seen = drift.compare_drift(name, nos, source.tree, ours, read_files(live, ours), question.aspects)
    if wrong := source.roster.namesake(name, identity_of({}, seen.facts)):
        answer.reject(name, wrong, LOOK_OR_STATE)
        return
    answer.found += seen.found
    for aspect, count in seen.counts.items():
        answer.take(aspect, ([], count))
    answer.unknown_lines, answer.untold = seen.unknown_lines, seen.untold
