"""Define rules: code, topic, required inputs, and the function that reports violations.

An input is what a rule must have before it can prove anything about a switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.facts.statement import Statement, Tier
from fabricc.rules.classes import classes_of, lossless_ports

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Severity
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.policy import Policy
    from fabricc.rules.records import Subnets, Summary
    from fabricc.rules.sessions import Sessions

INTERFACES, ADDRESSES, BGP, POLICY, PFC, ECN, BUFFERS, CLASSIFICATION, HOSTS, OTHER = TOPICS = (
    "interfaces", "addresses", "BGP", "policy", "PFC", "ECN", "buffers", "classification", "hosts", "other",
)  # fmt: skip
"""Topics of statements, rules and findings."""


class SwitchRule(NamedTuple):
    """A rule about one switch; switches that differ in coordinates alone get the same answer.

    Attributes:
        shared: whether the answer depends on nothing that is the switch's own, such as its addresses and its text.
    """

    code: str
    topic: str
    inputs: tuple[Input, ...]
    find: Callable[[Statement, Sessions], Iterator[Finding]]
    shared: bool = False

    def findings(self, statement: Statement, sessions: Sessions) -> Iterator[Finding]:
        """Yield what breaks the rule; switches that share a frame and are in order are looked at once."""
        if self.shared and not statement.once(
            self.find, lambda: any(True for _ in self.find(statement, sessions))
        ):
            return
        yield from self.find(statement, sessions)


class Report(NamedTuple):
    """A finding about a switch of a fabric, before its file and line are known.

    Attributes:
        paths: facts to point at; the first that the switch states counts.
        group: findings of one code and group are printed together.
        word: a word of the exact line, where several lines make the fact.
    """

    code: str
    device: str
    paths: tuple[str, ...]
    message: str
    group: str
    severity: Severity
    remedy: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches of a fabric, as rules about several of them need these.

    Attributes:
        summaries: switch -> what it states that is compared with others.
        linked: returns the devices at the other ends of the links of a switch.
        owners: returns the devices that have an address.
        policy: returns the routing policy of a switch, None where its sessions are not known.
        planned: whether a plan states them: what no switch of it has is not wanted.
        subnets: returns device -> the subnets of its ports; none with a plan, whose blocks invariant 6 compares.
    """

    summaries: Mapping[str, Summary]
    linked: Callable[[str], Iterable[str]]
    owners: Callable[[str], Sequence[str]]
    policy: Callable[[str], Policy | None]
    planned: bool = False
    subnets: Callable[[], Mapping[str, Subnets]] = dict

    def reachable(self, names: set[str]) -> set[str]:
        """Return some devices and those that links join to them."""
        found, waiting = set(names), list(names)
        while waiting:
            new = set(self.linked(waiting.pop())) - found
            found |= new
            waiting += new
        return found


class FabricRule(NamedTuple):
    """A rule about what several switches state."""

    code: str
    topic: str
    inputs: tuple[Input, ...]
    find: Callable[[Switches], Iterator[Report]]


class HostRule(NamedTuple):
    """A rule about one host; hosts that differ in coordinates alone get the same answer."""

    code: str
    topic: str
    find: Callable[[Statement], Iterator[Finding]]


Rule = SwitchRule | FabricRule | HostRule


class Input(Enum):
    """An input; its value names the missing part if a switch lacks it."""

    LINKS = "no link of it is known"
    TIER = "its tier is not known"
    CLASSES = "its files do not map code points to classes"
    HASH_SEED = "its files state no hash seed"
    PFC = "no port has PFC"
    BGP = "no BGP"


_ABSENT = (Input.PFC, Input.BGP)
"""Inputs without which a rule does not apply: nothing is left open."""


class Answer(NamedTuple):
    """The answer of a rule on one switch: True, False for want of an input, None where it does not apply."""

    proved: bool | None
    why: str = ""


def answer_of(inputs: Iterable[Input], statement: Statement, sessions: Sessions) -> Answer:
    """Return whether a switch has the inputs of a rule, and the first that is missing."""
    missing = [each for each in inputs if not _has_input(each, statement, sessions)]
    absent = next((each for each in missing if each in _ABSENT), None)
    if absent is not None:
        return Answer(None, absent.value)
    return Answer(False, missing[0].value) if missing else Answer(True)


def _has_input(kind: Input, statement: Statement, sessions: Sessions) -> bool:
    if kind is Input.LINKS:
        return bool(statement.fars)
    if kind is Input.TIER:
        return statement.place.tier is not Tier.OTHER
    if kind is Input.CLASSES:
        return bool(classes_of(statement))
    if kind is Input.HASH_SEED:
        return any("hash_seed" in path or path == "system/type" for path in statement.rest)
    if kind is Input.BGP:
        return sessions.runs_bgp
    return bool(lossless_ports(statement))
