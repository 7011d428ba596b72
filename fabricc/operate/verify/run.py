"""Verify switches against the plan: several switches in parallel, then the cabling of all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache, partial
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.compiler.recheck import NO_SHARE
from fabricc.fabric.model import plan_peers
from fabricc.operate.devices.fanout import PATIENCE_S, for_each
from fabricc.operate.devices.identity import LOOK, shared_devices, shared_endpoints
from fabricc.operate.devices.secrets import secret_names_in
from fabricc.operate.drivers import lossless
from fabricc.operate.verify import neighbors
from fabricc.operate.verify.model import Aspect, Deviation, Report, make_finding
from fabricc.operate.verify.verify_switch import Answer, Question, verify_switch
from fabricc.operate.verify.widths import LARGEST_SOLVED, Widths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabricc.operate.devices.access import Access
    from fabricc.operate.push.built_tree import BuiltTree

ALL = tuple(one for one in Aspect if one is not Aspect.IDENTITY)


def verify(
    source: BuiltTree,
    access: Access,
    *,
    only: Sequence[str] = (),
    aspects: Sequence[Aspect] = ALL,
    parallel: int = 32,
    errors: int = 100,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Compare switches with the plan; nothing is changed on them.

    Args:
        source: the built tree and its fabric.
        access: the logins.
        only: switches to verify; empty for all.
        aspects: what to compare.
        parallel: maximum number of parallel connections.
        errors: interface errors per port up to which nothing is reported.
        progress: called with a phase, the number of finished switches, and the number of switches.

    Raises:
        PushRefusedError: FAB9127, a switch that the fabric does not have.
    """
    tenancy = source.fabric.tenancy
    absent = set() if tenancy and tenancy.tunnels else {Aspect.TENANTS}
    chosen = tuple(one for one in ALL if one in aspects and one not in absent)
    widths = Widths.of(source.fabric) if {Aspect.ROUTES, Aspect.TENANTS} & {*chosen} else None
    planned = (source.fabric.switch(at) for at in source.places.values() if Aspect.TENANTS in chosen)
    peers = plan_peers(planned)
    question = Question(source, access, chosen, errors, widths, peers)
    if Aspect.CONFIG in chosen:
        texts = (text for name in source.select_switches(only) for text in source.files(name).values())
        access.find_secrets({secret for text in texts for secret in secret_names_in(text)})
    act, report_progress = partial(verify_switch, question), partial(progress, "asking")
    answers = for_each(source.select_switches(only), act, parallel, report_progress, patience_s=PATIENCE_S)
    return _build_report(question, answers)


def _build_report(question: Question, answers: Mapping[str, Answer]) -> Report:
    _require_distinct(question, answers)
    wrong = any(answer.compared.get(Aspect.IDENTITY) for answer in answers.values())
    aspects = (Aspect.IDENTITY, *question.aspects) if wrong else tuple(question.aspects)
    compared: dict[Aspect, dict[str, int]] = {one: {} for one in aspects}
    unanswered: dict[Aspect, list[str]] = defaultdict(list)
    findings: list[Deviation] = []
    for name, answer in answers.items():
        findings += answer.found
        for aspect, count in answer.compared.items():
            compared[aspect][name] = count
        for aspect in answer.unanswered:
            unanswered[aspect].append(name)
    cabling = _compare_cabling(question.source, answers)
    findings += cabling.findings
    if Aspect.CABLING in compared:
        judged = Counter(end[0] for cable in cabling.planned for end in cable)
        compared[Aspect.CABLING] = {name: judged[name] for name in compared[Aspect.CABLING]}
    order = {aspect: at for at, aspect in enumerate(Aspect)}
    places = {name: at for at, name in enumerate(question.source.devices)}
    findings.sort(key=lambda one: (order[one.aspect], places.get(one.device, len(places))))
    return Report(
        tree=str(question.source.tree),
        aspects=aspects,
        compared=compared,
        unread={name: tuple(answer.failures) for name, answer in answers.items() if answer.failures},
        unanswered={aspect: tuple(names) for aspect, names in unanswered.items()},
        found=tuple(findings),
        moves=tuple(tuple(moves) for moves in cabling.moves),
        unknown_lines=sum(answer.unknown_lines for answer in answers.values()),
        remarks=tuple(_list_remarks(question, cabling, answers)),
        counters={name: answer.counters for name, answer in answers.items() if answer.counters is not None},
    )


def _require_distinct(question: Question, answers: Mapping[str, Answer]) -> None:
    """Report that one device answers for two names; this replaces the findings of the second name."""
    devices = {name: answer.device for name, answer in answers.items() if answer.device is not None}
    places = [question.source.devices[name] for name in devices]
    for first, second in (*shared_devices(devices), *shared_endpoints(question.access, places)):
        answer = answers[second]
        if answer.compared.get(Aspect.IDENTITY):
            continue
        message = f"the same device answers at the address of {first} ({devices[second].identity.words})"
        answer.found = [make_finding(Aspect.IDENTITY, second, "FAB9206", message, remedy=LOOK)]
        answer.compared, answer.lldp_view, answer.counters = {Aspect.IDENTITY: 1}, None, None


def _compare_cabling(source: BuiltTree, answers: Mapping[str, Answer]) -> neighbors.Cabling:
    requested = {name: answer.lldp_view for name, answer in answers.items() if answer.lldp_view is not None}

    @cache
    def names(system: str) -> Mapping[str, str] | None:
        """Return the port for each port name and alias of a planned switch."""
        if system not in source.places:
            return None
        switch = source.switch(system)
        planned = back_ends.load(switch.nos).planned(switch)
        aliases = {
            str(planned.get(f"interface[{port.name}]/alias", port.name)): port.name for port in switch.ports
        }
        return {**aliases, **{port.name: port.name for port in switch.ports}}

    return neighbors.compare_cabling(requested, names)


def _list_remarks(question: Question, cabling: neighbors.Cabling, answers: Mapping[str, Answer]) -> list[str]:
    found = [
        f"of the tree itself: {each.code} {each.message}"
        for each in question.source.remarks
        if each != NO_SHARE
    ]
    if Aspect.ROUTES in question.aspects and question.widths is None:
        found.append(
            "next hops are not compared: something is drained or shut on purpose, and the fabric has more than "
            f"{LARGEST_SOLVED} switches"
        )
    if cabling.silent:
        found.append(
            f"{cabling.silent} cables to hosts that send no LLDP are not compared; run lldpd on the hosts"
        )
    if untold := Counter(file for answer in answers.values() for file in answer.unreported):
        files = ", ".join(f"{file} ({count})" for file, count in sorted(untold.items()))
        found.append(f"files that switches do not have or do not report are not compared: {files}")
    devices = question.source.devices
    missing = [
        (devices[name].nos, lossless.list_missing_kinds(answer.counters))
        for name, answer in answers.items()
        if answer.counters is not None
    ]
    found += lossless.describe_gaps(missing, "compared")
    return found
