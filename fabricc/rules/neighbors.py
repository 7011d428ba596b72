"""Compare some switches of a fabric with each other: both ends of their links and sessions, and what is their own.

The functions of `audit` for whole folders do the work.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.device import End
from fabricc.rules.links import Votes, end_findings, ends_of, side_of
from fabricc.rules.session_pairs import Meeting, session_findings
from fabricc.rules.sessions import sessions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

_COMPARED_ON_EVERY_LINK = frozenset((
    "link mtu", "link speed_gbps", "link pfc", "link fec", "link addresses", "session AS", "session families",
    "session timers", "session BFD", "session one end", "session address",
))  # fmt: skip
"""Groups of findings about what `planned_links.py` compares on every link of a planned fabric."""


def compare_neighbors(statements: Mapping[str, Statement]) -> Iterator[Finding]:
    """Yield what the ends of links and sessions between planned switches disagree on.

    Differences that the comparison of all links of the fabric reports are left out, and so are notes.

    Args:
        statements: switch -> its statement; links and sessions that lead to other devices are ignored.
    """
    for each in (*_compare_sessions(statements), *_compare_links(statements)):
        if each.group not in _COMPARED_ON_EVERY_LINK and each.severity is not Severity.NOTE:
            yield each


def _compare_sessions(statements: Mapping[str, Statement]) -> Iterator[Finding]:
    fars = {name: each.fars for name, each in statements.items()}
    sessions = {name: sessions_of(each) for name, each in statements.items()}
    meeting = Meeting(sessions, dict.fromkeys(statements, ""), fars)
    meeting.match_sessions()
    return session_findings(meeting, {name: each.device for name, each in statements.items()})


def _compare_links(statements: Mapping[str, Statement]) -> Iterator[Finding]:
    devices = {name: each.device for name, each in statements.items()}
    tiers = {name: each.place.tier for name, each in statements.items()}
    ends, votes = {name: ends_of(each) for name, each in statements.items()}, Votes()
    for name, each in statements.items():
        votes.add(each.place.tier, each.fars, ends[name])
    for name, each in statements.items():
        for port, far in each.fars.items():
            here = End(name, port)
            if far.end.device not in statements or not here < far.end:
                continue
            a = side_of(here, far.end, devices, ends, tiers)
            b = side_of(far.end, here, devices, ends, tiers)
            if a is not None and b is not None:
                yield from end_findings(a, b, votes)


def neighbor_signature(statement: Statement, sessions: Sessions) -> bytes:
    """Return a digest that is equal for switches whose ends of links and sessions differ in coordinates alone."""
    said = {each._replace(asn=None, remote=None, source=each.source[:0]) for each in sessions.said.values()}
    sourced = any(each.source for each in sessions.said.values())
    ends = set(ends_of(statement).values.values())
    texts = [statement.place.tier, sourced, *sorted(map(repr, said)), *sorted(map(repr, ends))]
    return blake2b("\n".join(map(str, texts)).encode(), digest_size=8).digest()
