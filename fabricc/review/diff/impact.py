"""Rate a changed fact as the vocabulary declares it for the operating system that it is applied to."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.review.diff.model import Impact, Verdict

if TYPE_CHECKING:
    from fabricc.fabric.vocabulary import Row, Vocabulary

UNUSED = "interface[unused]"
_ADDRESS = re.compile(r"/(ipv[46]|secondary\[|gateway\[)")
"""Addresses that a switch answers itself, on an interface without a cable too, such as a loopback or a VLAN."""
_RESETS = (Impact.SESSION_RESET, Impact.RELOAD)


@cache
def vocabulary_of(nos: str) -> Vocabulary:
    """Return the facts of devices of a NOS (`host` for hosts)."""
    return hosts.vocabulary() if nos == "host" else back_ends.load_vocabulary(nos)


def row_of(subject: str, nos: str) -> Row:
    """Return what is declared of a subject: a fact whose port stands by its role, and whose neighbor is a session."""
    return vocabulary_of(nos).row(subject.replace("session[", "bgp/neighbor[", 1))


def is_access(subject: str, nos: str) -> bool:
    """Return whether a fact decides who can log in or change the device, or from where."""
    return "access" in row_of(subject, nos).tags


@lru_cache(1 << 14)
def judge_statement(subject: str, direction: str, nos: str) -> Verdict:
    """Return the impact of a statement on a NOS (`host` for hosts); see `effects.py` for directions."""
    declared = row_of(subject, nos).impact
    role = subject.partition("[")[2].partition("]")[0]
    name = declared.get(direction) or declared.get(role) or declared["else"]
    if subject.startswith(UNUSED) and nos != "host":
        name = "own address" if direction == "+" and _ADDRESS.match(subject, len(UNUSED)) else "idle"
    found = vocabulary_of(nos).impacts[name]
    impact = Impact[found.impact.upper().replace("-", "_")]
    return Verdict(impact, found.why, found.source, found.down or impact in _RESETS, found.beyond)
