"""Determine which rules have their inputs on a switch, and count the rules that ran, so that silence is a result."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric.model import NO_CAGE, Direction, Switch
from fabricc.proof.invariants.policy import Policy, policy_of
from fabricc.proof.invariants.rules import RULES as INVARIANTS
from fabricc.proof.invariants.segments import with_tenants
from fabricc.proof.invariants.view import SwitchView, between_switches, make_view, parse_priorities
from fabricc.rules import registry
from fabricc.rules.classes import classes_of
from fabricc.rules.registry import rule_answers
from fabricc.rules.rule import (
    ADDRESSES,
    BGP,
    BUFFERS,
    CLASSIFICATION,
    ECN,
    INTERFACES,
    OTHER,
    PFC,
    POLICY,
    Answer,
    Input,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import FileContents
    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions

NEEDS_PLAN = {
    3: "only a plan states how many devices there are",
    4: "only a plan states the intended ratio",
    5: "planes and rails follow from the links themselves",
    21: "only a plan states the accepted and announced prefixes",
}
"""Invariant -> why it is not evaluated for a fabric without a plan."""
_UNFOLLOWED = frozenset(("allow_as_in", "as_override"))
"""Statements of a session by which loop detection lets a route visit an AS number again."""


class Answers(NamedTuple):
    """Record which rules were answered on a switch: invariants by number, the other rules by topic."""

    invariants: tuple[tuple[int, Answer], ...]
    rules: tuple[tuple[str, Answer], ...]


def planned_answers(
    switch: Switch, reading: FileContents, statement: Statement, sessions: Sessions
) -> Answers:
    """Return whether each rule was answered on a planned switch, by what its files state."""
    seen = make_view(switch, reading)
    cnp = next((each.data_dscp for each in switch.qos.classes if each.cnp), None)
    routed = why_routes_are_unknown(seen, policy_of(seen, switch.name))
    return answer_rules(seen, statement, sessions, known=True, cnp=cnp, routed=routed)


def why_routes_are_unknown(seen: SwitchView, policy: Policy) -> str:
    """Return why announcements of a switch cannot be followed; "" if they can."""
    if why := _why_sessions_are_unknown(seen):
        return why
    return "" if policy.followed else "a policy matches by conditions that are not followed"


def _why_sessions_are_unknown(seen: SwitchView) -> str:
    facts = seen.facts
    between = [link for link in seen.links if link.enabled and between_switches(link)]
    if not between:
        return "it has no link to another switch that is known"
    asn = facts.get("bgp/asn")
    if asn is None:
        return "its links run without BGP in the default routing instance"
    over = {link.port.name for key, link in seen.by_neighbor.items() if key in seen.neighbors}
    if any(link.port.name not in over for link in between):
        return "not every link between switches has a session"
    if "bgp/allow_as_in" in facts:
        return "loop detection is off"
    for key, values in seen.neighbors.items():
        if key not in seen.by_neighbor:
            continue
        if values.get("remote_asn") == asn or not _UNFOLLOWED.isdisjoint(values):
            return "its sessions are of one AS, or loop detection is off"
        if str(values.get("local_asn", asn)) != str(asn):
            return "it has another AS number in its sessions, which paths may hold in place of its own"
    return ""


def answer_rules(
    seen: SwitchView, statement: Statement, sessions: Sessions, *, known: bool, cnp: int | None, routed: str
) -> Answers:
    """Return whether each rule was answered on a switch.

    Args:
        seen: its facts, sorted for the invariants.
        statement: its facts, for the other rules.
        sessions: its sessions.
        known: whether the catalog has its model.
        cnp: the code point of congestion notifications; None if it is not known.
        routed: why its announcements cannot be followed; "" if they can.
    """
    invariants = _answer_invariants(seen, statement, sessions, known=known, cnp=cnp, routed=routed)
    return Answers(tuple(invariants.items()), tuple(rule_answers(statement, sessions)))


def _answer_invariants(
    seen: SwitchView,
    statement: Statement,
    sessions: Sessions,
    *,
    known: bool,
    cnp: int | None,
    routed: str,
) -> dict[int, Answer]:
    yes, away = Answer(True), Answer(None)
    lossless = any(parse_priorities(values.get("pfc")) for values in statement.ports.values())
    kinds = [kind for kind, _ in seen.kinds() if kind.pfc]
    classes = classes_of(statement)
    links = bool(seen.links)
    unknown_links = Answer(False, "no link of it is known")
    no_pfc = Answer(None, "no port has PFC")
    answers = dict.fromkeys(NEEDS_PLAN, away)
    placed = known and links and all(link.port.cage != NO_CAGE for link in seen.links)
    answers[1] = yes if placed else Answer(False, "model, or names of its ports, not known")
    up = any(link.port.direction is Direction.UP for link in seen.links)
    answers[2] = yes if up else Answer(None, "nothing above it") if links else unknown_links
    answers[6] = yes if sessions.addresses else Answer(False, "it has no addresses")
    answers[7] = yes if "bgp/asn" in seen.facts else Answer(None, "no BGP")
    answers[8] = yes if sessions.stated else Answer(None, "no BGP session")
    for number in (9, 10, 11):
        bgp = "bgp/asn" in seen.facts
        answers[number] = Answer(None, "no BGP") if not bgp else Answer(False, routed) if routed else yes
    if not lossless:
        for number in (12, 13, 14, 15, 16, 17, 18):
            answers[number] = no_pfc
    else:
        answers[12] = yes if classes else Answer(False, "its files do not map code points to classes")
        answers[13] = yes if kinds else unknown_links
        answers[14] = yes if cnp in classes else Answer(False, "the code point of notifications is not known")
        stated = any(kind.xoff for kind in kinds)
        answers[15] = yes if stated else Answer(False, "its files state no headroom in bytes")
        pools = known and seen.number("pool/ingress_lossless_bytes") is not None
        answers[16] = (
            yes if pools else Answer(False, "its files state no pools in bytes, or its model is not known")
        )
        marked = pools and any(kind.markings for kind in kinds)
        answers[17] = yes if marked else Answer(False, "marking or pools are not stated in bytes")
        guarded = any(kind.watchdog is not None for kind in kinds)
        answers[18] = yes if guarded else Answer(False, "its files have no watchdog")
    mtus = links and all(link.mtu is not None for link in seen.links)
    answers[19] = yes if mtus else Answer(False, "not every link states its MTU") if links else unknown_links
    answers[20] = yes
    segments = any(path.startswith(("evpn/segment[", "vxlan/")) for path in statement.rest)
    answers[22] = (
        yes
        if seen.evpn
        else Answer(False, "its segments are stated without EVPN")
        if segments
        else Answer(None, "no segments")
    )
    answers[23] = yes if with_tenants(seen) else Answer(None, "no VRFs of tenants")
    return answers


_INVARIANTS = {
    INTERFACES: (1, 2, 19), ADDRESSES: (6,), BGP: (7, 8, 9), POLICY: (10, 11, 20), PFC: (13, 18), ECN: (17,),
    BUFFERS: (15, 16), CLASSIFICATION: (12, 14), OTHER: (22, 23),
}  # fmt: skip
"""Topic -> invariants about it; those that only a plan answers are of none."""
_CODES = {
    **{INVARIANTS[number].code: topic for topic, numbers in _INVARIANTS.items() for number in numbers},
    **{rule.code: rule.topic for rule in registry.RULES},
    "FAB9600": INTERFACES, "FAB9601": BGP, "FAB9602": ADDRESSES, "FAB9603": INTERFACES, "FAB9604": ADDRESSES,
    "FAB9609": INTERFACES, "FAB9610": OTHER, "FAB9611": OTHER, "FAB9511": OTHER, "FAB9621": OTHER,
    "FAB9696": OTHER,
}  # fmt: skip


class TopicResult(NamedTuple):
    """The results of the rules about one topic.

    Attributes:
        rules: titles of the invariants.
        asked: switches on which one of them has an answer, good or bad; `open`: those without one, mostly because of
            `why`.
        findings: number of findings on the topic, including comparisons of devices.
    """

    topic: str
    rules: tuple[str, ...]
    asked: int
    open: int
    findings: int
    why: str


ACCOUNT = ("rules, by topic", "checked on", "in part of", "findings", "not checked: mostly")
"""Heads of the columns of `account_rows`."""


def account_rows(accounts: Iterable[TopicResult]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each topic: on how many switches its rules ran, and on how many one could not."""
    for one in accounts:
        yield one.topic, f"{one.asked:,}", f"{one.open:,}", f"{one.findings:,}", one.why


def accounts_by_topic(accounts: Iterable[TopicResult]) -> dict[str, dict[str, object]]:
    """Return topic -> account as an object of JSON."""
    return {
        one.topic: {key: value for key, value in one._asdict().items() if key != "topic"} for one in accounts
    }


def account_topics(answers: Mapping[Answers, int], codes: Mapping[str, int]) -> list[TopicResult]:
    """Return an account of each topic that applies to a switch or has a finding.

    Args:
        answers: whether each rule was answered -> how many switches.
        codes: code -> number of findings.
    """
    findings: Counter[str | None] = Counter()
    for code, number in codes.items():
        findings[_CODES.get(code)] += number
    found = []
    for topic, numbers in _INVARIANTS.items():
        requested = left = 0
        whys: Counter[str] = Counter()
        for every, times in answers.items():
            some = _about(topic, every)
            requested += times * any(answer.proved for answer in some)
            left += times * any(answer.proved is False for answer in some)
            whys.update(dict.fromkeys((answer.why for answer in some if answer.proved is False), times))
        why = next((why for why, _ in whys.most_common(1)), "")
        if requested or left or findings[topic]:
            titles = tuple(INVARIANTS[number].title for number in numbers)
            found.append(TopicResult(topic, titles, requested, left, findings[topic], why))
    return found


_SUBJECTS = {
    BGP: Input.BGP.value, POLICY: Input.BGP.value,
    **dict.fromkeys((PFC, ECN, BUFFERS, CLASSIFICATION), Input.PFC.value),
}  # fmt: skip
"""Topic -> the answer of its rules on a switch that lacks their subject, whose other settings prove nothing."""


@lru_cache(maxsize=1024)
def unchecked_topics(answers: Answers) -> tuple[tuple[str, str], ...]:
    """Return the topics of which a rule was not answered on a switch, and the first input that is missing."""
    found = []
    for topic in _INVARIANTS:
        whys = [answer.why for answer in _about(topic, answers) if answer.proved is False]
        lacking = Answer(None, _SUBJECTS.get(topic, ""))
        if not whys and any(about == topic and answer == lacking for about, answer in answers.rules):
            whys.append(lacking.why)
        if whys:
            found.append((topic, whys[0]))
    return tuple(found)


def _about(topic: str, answers: Answers) -> list[Answer]:
    """Return the answers of the invariants and of the other rules about a topic."""
    numbers = _INVARIANTS[topic]
    return [
        *(answer for number, answer in answers.invariants if number in numbers),
        *(answer for about, answer in answers.rules if about == topic),
    ]
