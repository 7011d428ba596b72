"""Account of the rules by topic: where they ran and what they found, so that no finding means something."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.proof.invariants.rules import RULES as INVARIANTS
from fabricc.rules import registry
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.rules.answers import Answers
    from fabricc.rules.inputs import Answer

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
}  # fmt: skip


class Account(NamedTuple):
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


ACCOUNT = ("rules, by topic", "asked of", "in part of", "findings", "not checked: mostly")
"""Heads of the columns of `account_rows`."""


def account_rows(accounts: Iterable[Account]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each topic: on how many switches its rules ran, and on how many one could not."""
    for one in accounts:
        yield one.topic, f"{one.asked:,}", f"{one.open:,}", f"{one.findings:,}", one.why


def accounts_by_topic(accounts: Iterable[Account]) -> dict[str, dict[str, object]]:
    """Return topic -> account as an object of JSON."""
    return {
        one.topic: {key: value for key, value in one._asdict().items() if key != "topic"} for one in accounts
    }


def account_topics(answers: Mapping[Answers, int], codes: Mapping[str, int]) -> list[Account]:
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
        asked = left = 0
        whys: Counter[str] = Counter()
        for every, times in answers.items():
            some = _about(topic, every)
            asked += times * any(answer.proved for answer in some)
            left += times * any(answer.proved is False for answer in some)
            whys.update(dict.fromkeys((answer.why for answer in some if answer.proved is False), times))
        why = next((why for why, _ in whys.most_common(1)), "")
        if asked or left or findings[topic]:
            titles = tuple(INVARIANTS[number].title for number in numbers)
            found.append(Account(topic, titles, asked, left, findings[topic], why))
    return found


@lru_cache(maxsize=1024)
def unchecked_topics(answers: Answers) -> tuple[tuple[str, str], ...]:
    """Return the topics of which a rule was not answered on a switch, and the first input that is missing."""
    reasons = (
        (topic, next((answer.why for answer in _about(topic, answers) if answer.proved is False), ""))
        for topic in _INVARIANTS
    )
    return tuple((topic, why) for topic, why in reasons if why)


def _about(topic: str, answers: Answers) -> list[Answer]:
    """Return the answers of the invariants and of the other rules about a topic."""
    numbers = _INVARIANTS[topic]
    return [
        *(answer for number, answer in answers.invariants if number in numbers),
        *(answer for about, answer in answers.rules if about == topic),
    ]
