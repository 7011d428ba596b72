"""Define the inputs of rules: facts that a rule needs before it can prove anything about a switch."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fabricc.facts.device import Tier
from fabricc.rules.classes import classes_of, lossless_ports

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions


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
    """Whether a rule was answered on one switch: True, False for want of an input, None where it does not apply."""

    proved: bool | None
    why: str = ""


def answer_of(inputs: Iterable[Input], statement: Statement, sessions: Sessions) -> Answer:
    """Return whether a switch has the inputs of a rule, and the first that is missing."""
    missing = [each for each in inputs if not _has_input(each, statement, sessions)]
    absent = next((each for each in missing if each in _ABSENT), None)
    if absent is not None:
        return Answer(None, absent.value)
    return Answer(False, missing[0].value) if missing else Answer(True)


def _has_input(wanted: Input, statement: Statement, sessions: Sessions) -> bool:
    if wanted is Input.LINKS:
        return bool(statement.fars)
    if wanted is Input.TIER:
        return statement.place.tier is not Tier.OTHER
    if wanted is Input.CLASSES:
        return bool(classes_of(statement))
    if wanted is Input.HASH_SEED:
        return any("hash_seed" in path for path in statement.rest)
    if wanted is Input.BGP:
        return sessions.speaks
    return bool(lossless_ports(statement))
