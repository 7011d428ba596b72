"""Statements of planned devices, and comparisons of some switches: both ends of links and sessions, and unique values.

Links and tiers come from the plan, everything else from their files. The functions of `audit` for whole folders do the
comparison.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.fabric.facts import FileContents, Reading
from fabricc.fabric.model import Direction, Host, Port, Switch
from fabricc.fabric.shape import TierName
from fabricc.facts.frame import Contents
from fabricc.facts.statement import (
    HOST,
    Device,
    End,
    Expectation,
    Kind,
    LinkPeer,
    Place,
    Tier,
    read_statement,
)
from fabricc.rules.links import end_findings, ends_of, side_of
from fabricc.rules.records import Votes
from fabricc.rules.session_pairs import SessionTable, session_findings
from fabricc.rules.sessions import Sessions, sessions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.records import Summary

_TIERS = {TierName.TOR: Tier.TOR, TierName.SPINE: Tier.SPINE, TierName.CORE: Tier.CORE}
_ABOVE = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}
_BELOW = {Tier.SPINE: Tier.TOR, Tier.CORE: Tier.SPINE}


def planned_statement(
    switch: Switch, reading: FileContents, files: Mapping[str, str], folder: str = ""
) -> Statement:
    """Return the statement of a planned switch.

    Args:
        switch: the plan.
        reading: the facts of its files, or the planned facts.
        files: its files, named as its back end names them.
        folder: of its files; findings name them below it.
    """
    tier, model = _TIERS[switch.tier], switch.model.name
    device = Device(
        switch.name, Kind.SWITCH, switch.nos, files, _below(folder, files), _contents(reading), model, model,
        switch.release,
    )  # fmt: skip
    place = Place(tier, switch.unit, switch.plane, switch.pod)
    unmarked = frozenset(each.priority for each in switch.qos.lossless if not each.ecn)
    expected = Expectation(
        unmarked,
        unguarded=switch.qos.watchdog is None,
        undetected=not _configures_bfd(switch),
        nics_mapped=True,
        planned=True,
    )
    fars = {port.name: _far(port, tier) for port in switch.ports if port.peer}
    return read_statement(device, place, fars, expected)


def planned_host(host: Host, reading: FileContents, files: Mapping[str, str], folder: str = "") -> Statement:
    """Return the statement of a planned host, or of its part in one network; arguments as of `planned_statement`."""
    device = Device(host.name, Kind.HOST, HOST, files, _below(folder, files), _contents(reading))
    fars = {
        port.name: LinkPeer(End(port.peer.device, port.peer.port), Tier.TOR, known=True)
        for port in host.ports
    }
    return read_statement(device, Place(Tier.HOST, host.unit), fars)


def _below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    return {file: f"{folder}/{file}" if folder else file for file in files}


def _contents(reading: FileContents) -> Contents:
    unknown = reading.unknown if isinstance(reading, Reading) else []
    return Contents(Reading(dict(reading.facts), dict(reading.lines), unknown))


def _configures_bfd(switch: Switch) -> bool:
    """Return whether the plan has BFD, and the release can express it: a gap of the release has its own finding."""
    if switch.bgp.bfd_interval_ms is None:
        return False
    planned = back_ends.load(switch.nos).planned(switch)
    return any(value == "true" for path, value in planned.items() if path.endswith("/bfd"))


def _far(port: Port, tier: Tier) -> LinkPeer:
    assert port.peer is not None
    end = End(port.peer.device, port.peer.port)
    if port.direction is Direction.EXTERNAL:
        return LinkPeer(end, Tier.OTHER, known=False, declared=True)
    if port.direction is Direction.HOST:
        return LinkPeer(end, Tier.HOST, known=True)
    if port.direction is Direction.PEER:
        return LinkPeer(end, tier, known=True)
    above = port.direction is Direction.UP
    return LinkPeer(end, (_ABOVE if above else _BELOW).get(tier, Tier.OTHER), known=True)


def is_common(summary: Summary) -> bool:
    """Return whether switches that differ in coordinates have one summary, except what `common_summary` sets."""
    return not (summary.routes or summary.unresolved or summary.outer or summary.loops)


def common_summary(summary: Summary, first: Switch, switch: Switch) -> Summary:
    """Return the summary of a switch that differs from another one, `first`, in coordinates alone."""
    known = {
        was: now
        for was, now in (
            (first.loopback4, switch.loopback4), (first.loopback6, switch.loopback6),
            (_vtep_address(first), _vtep_address(switch)),
        )
        if was and now
    }  # fmt: skip

    def moved(text: str, mark: str = ":") -> str:
        address, found, rest = text.partition(mark)
        return f"{known.get(address, address)}{found}{rest}"

    overlay = summary.overlay
    if overlay is not None:
        vrfs = tuple([vrf._replace(distinguisher=moved(vrf.distinguisher)) for vrf in overlay.vrfs])
        overlay = overlay._replace(vrfs=vrfs)
    return summary._replace(
        asn=switch.bgp.asn,
        router_id=switch.bgp.router_id,
        prefixes=switch.bgp.aggregates,
        overlay=overlay,
        distinguishers=tuple([(moved(value), path) for value, path in summary.distinguishers]),
        loopbacks=tuple([moved(text, "/") for text in summary.loopbacks]),
        vtep=known.get(summary.vtep, summary.vtep),
    )


def _vtep_address(switch: Switch) -> str | None:
    """Return the address that route distinguishers of a switch begin with."""
    return (switch.tenants and switch.tenants.source) or (switch.vtep and switch.vtep.source) or None


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
    meeting = SessionTable(sessions, dict.fromkeys(statements, ""), fars)
    meeting.match_sessions()
    return session_findings(meeting, {name: each.device for name, each in statements.items()})


def _compare_links(statements: Mapping[str, Statement]) -> Iterator[Finding]:
    devices = {name: each.device for name, each in statements.items()}
    tiers = {name: each.place.tier for name, each in statements.items()}
    ends, votes = {name: ends_of(each) for name, each in statements.items()}, Votes()
    for name, each in statements.items():
        votes.add(each.place.tier, each.fars, ends[name].values)
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
    sessions_without_asn = {
        each._replace(asn=None, remote=None, source=each.source[:0]) for each in sessions.stated.values()
    }
    sourced = any(each.source for each in sessions.stated.values())
    ends = set(ends_of(statement).values.values())
    texts = [
        statement.place.tier,
        sourced,
        *sorted(map(repr, sessions_without_asn)),
        *sorted(map(repr, ends)),
    ]
    return blake2b("\n".join(map(str, texts)).encode(), digest_size=8).digest()
