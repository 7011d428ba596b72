"""Find what slows RDMA down on one switch: a small share of the link, late marking, a link without FEC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import hashes_addresses_alone, rate_limit
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.proof.invariants.view import as_int
from fabricc.rules.classes import lossless_ports, queue_of
from fabricc.rules.findings import finding_at
from fabricc.rules.inputs import Input
from fabricc.rules.protection import ROCE_4096
from fabricc.rules.rule import ECN, INTERFACES, OTHER, PFC, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

SLOW = "FAB9678"
_LATEST_US, _LATEST_PERCENT = 500, 80
"""Time that a port takes to send what is queued when marking begins, and share of the buffer: far above any advice."""
_FEC_GBPS = 200
"""Speed from which FEC is a part of the link (IEEE 802.3 clause 119)."""
_NO_FEC = ("off", "none", "disabled", "false")
_HALF = 50
"""Percent of a link that a limit has to leave to RDMA."""
_WEIGHTED = ("dwrr", "wrr")


def _small_shares(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues with PFC that get less than equal weights would give them, in favor of a queue that may drop.

    Vendor profiles for RoCE give its class at least as much as any other one: half of the link or more.
    """
    found: dict[tuple[int, int], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        weights = _weights(statement.ports[port])
        total = sum(weights.values())
        lossless = {queue_of(statement, each) for each in priorities}
        most = max((weight for queue, weight in weights.items() if queue not in lossless), default=0)
        for queue in lossless & weights.keys():
            if weights[queue] < most and weights[queue] * len(weights) < total:
                found.setdefault((queue, 100 * weights[queue] // total), []).append(port)
    for (queue, percent), ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {queue}, which has PFC, gets {percent} % of the link, "
            "less than with equal weights"
        )
        remedy = "Give RDMA's queue at least the weight of every queue that may drop packets."
        path = f"{PORT}{ports[0]}]/queue[{queue}]/scheduler"
        yield finding_at(SLOW, statement.device, path, message, "small share", Severity.WARNING, remedy)


def _weights(says: Mapping[str, Value]) -> dict[int, int]:
    """Return the weight of each queue of a port that has one."""
    found = {}
    for leaf, value in says.items():
        if leaf.startswith("queue[") and leaf.endswith("]/scheduler"):
            kind, _, weight = str(value).partition(" ")
            queue = leaf[len("queue[") : leaf.index("]")]
            if kind in _WEIGHTED and is_number(weight) and is_number(queue):
                found[int(queue)] = int(weight)
    return found


def _late_marking(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless queues that mark packets when senders are paused already."""
    late: dict[tuple[int, str], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        says = statement.ports[port]
        speed = as_int(statement.of(port, "speed_gbps"))
        for queue in {queue_of(statement, each) for each in priorities}:
            size = as_int(says.get(f"queue[{queue}]/ecn_min_bytes"))
            percent = as_int(says.get(f"queue[{queue}]/ecn_min_fill_percent"))
            if size is not None and speed and size * 8 > _LATEST_US * speed * 1000:
                late.setdefault((queue, f"{size:,} bytes"), []).append(port)
            elif percent is not None and percent > _LATEST_PERCENT:
                late.setdefault((queue, f"{percent} % of the buffer"), []).append(port)
    for (queue, level), ports in late.items():
        message = f"{statement.name} {join_words(ports, 2)}: queue {queue} marks from {level}, when senders are paused"
        remedy = "Mark the queue from below the point at which the port pauses."
        leaves = ("ecn_min_bytes", "ecn_min_fill_percent")
        paths = [f"{PORT}{ports[0]}]/queue[{queue}]/{leaf}" for leaf in leaves]
        yield finding_at(SLOW, statement.device, paths, message, "late marking", Severity.WARNING, remedy)


def _constant_marking(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless queues that mark every packet with less than one RDMA packet queued, as a wrong unit does."""
    early: dict[tuple[int, int], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        for queue in {queue_of(statement, each) for each in priorities}:
            size = as_int(statement.ports[port].get(f"queue[{queue}]/ecn_max_bytes"))
            if size is not None and 0 < size < ROCE_4096:
                early.setdefault((queue, size), []).append(port)
    for (queue, size), ports in early.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {queue} marks every packet, from {size:,} bytes"
        )
        remedy = "Correct the threshold or its unit: marking ends above some tens of packets."
        path = f"{PORT}{ports[0]}]/queue[{queue}]/ecn_max_bytes"
        yield finding_at(SLOW, statement.device, path, message, "constant marking", Severity.WARNING, remedy)


def _limited_rates(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports and queues with PFC that may send at less than half of the port's speed."""
    lossless = lossless_ports(statement)
    queues = {queue_of(statement, each) for priorities in lossless.values() for each in priorities}
    found: dict[tuple[int | None, str], list[str]] = {}
    paths: dict[tuple[int | None, str], str] = {}
    for port in lossless:
        speed = as_int(statement.of(port, "speed_gbps"))
        for leaf, value in statement.ports[port].items():
            limit = rate_limit(leaf, value, speed)
            if limit and limit.percent < _HALF and (limit.queue is None or limit.queue in queues):
                key = limit.queue, f"{limit.percent:.1f}".removesuffix(".0")
                found.setdefault(key, []).append(port)
                paths.setdefault(key, f"{PORT}{port}]/{leaf}")
    slowest = min((as_int(statement.of(port, "speed_gbps")) or 0 for port in lossless), default=0)
    for path, value in statement.rest.items() if lossless else ():
        limit = rate_limit(path, value, slowest or None)
        if limit and limit.percent < _HALF and limit.queue in queues:
            key = limit.queue, f"{limit.percent:.1f}".removesuffix(".0")
            found.setdefault(key, [])
            paths.setdefault(key, path)
    for (queue, percent), ports in found.items():
        where = f" {join_words(ports, 2)}" if ports else ""
        what = "a port with PFC" if queue is None else f"queue {queue}, which has PFC,"
        message = f"{statement.name}{where}: {what} may send at {percent} % of the link"
        remedy = "Remove the limit, or apply it to queues that may drop packets."
        yield finding_at(
            SLOW, statement.device, paths[queue, percent], message, "rate limit", Severity.WARNING, remedy
        )


def _no_correction(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports of 200 Gb/s and more on which FEC is off."""
    ports = [
        port
        for port, says in statement.ports.items()
        if str(says.get("fec")) in _NO_FEC
        and says.get("enabled") != "false"
        and (as_int(says.get("speed_gbps")) or 0) >= _FEC_GBPS
    ]
    if ports:
        message = f"{statement.name} {join_words(ports, 2)}: FEC is off, which links of {_FEC_GBPS} Gb/s and more need"
        remedy = "Enable RS-FEC on both ends."
        path = f"{PORT}{ports[0]}]/fec"
        yield finding_at(SLOW, statement.device, path, message, "no FEC", Severity.WARNING, remedy)


def _hash_of_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that all flows between two NICs take one of several equal paths."""
    for path, value in statement.rest.items():
        if hashes_addresses_alone(path, value):
            message = f"{statement.name} hashes addresses alone: all queue pairs of two NICs share one path"
            remedy = "Hash the UDP source port too, which differs between queue pairs (RoCEv2, annex A17)."
            yield finding_at(
                SLOW, statement.device, path, message, "hash of addresses", Severity.WARNING, remedy
            )
            return


RULES = (
    SwitchRule(SLOW, PFC, (Input.PFC,), _small_shares, shared=True),
    SwitchRule(SLOW, ECN, (Input.PFC,), _late_marking, shared=True),
    SwitchRule(SLOW, ECN, (Input.PFC,), _constant_marking, shared=True),
    SwitchRule(SLOW, PFC, (Input.PFC,), _limited_rates, shared=True),
    SwitchRule(SLOW, INTERFACES, (), _no_correction, shared=True),
    SwitchRule(SLOW, OTHER, (), _hash_of_addresses),
)
