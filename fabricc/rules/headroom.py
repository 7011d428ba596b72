"""Find buffers of lossless traffic that drop it: without headroom, too small, in the wrong pool, or with odd pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import qos_defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.proof.invariants.view import as_int, parse_priorities
from fabricc.rules.classes import lossless_ports, priority_group, queue_of
from fabricc.rules.findings import finding_at
from fabricc.rules.protection import BUFFER, ROCE_4096, is_used, smallest_mtu
from fabricc.rules.rule import BUFFERS, Input, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

_COMPUTED = "NULL"
"""In the place of a buffer that the switch computes from speed and cable."""


def _report_buffers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report priorities with PFC whose buffer is a lossy one, has no headroom, or drops at the egress."""
    lossless = lossless_ports(statement)
    lossy: dict[str, list[str]] = {}
    dropping: dict[str, list[str]] = {}
    elsewhere: dict[int, list[str]] = {}
    bare: list[str] = []
    unsized: list[str] = []
    for port, found in lossless.items():
        values = statement.ports[port]
        for priority in found:
            leaf = f"priority_group[{priority_group(statement, priority)}]/buffer_profile"
            if values.get(leaf, _COMPUTED) != _COMPUTED and "headroom/xoff_bytes" not in values:
                lossy.setdefault(leaf, []).append(port)
            if (leaf := f"queue[{queue_of(statement, priority)}]/lossy_buffer") in values:
                dropping.setdefault(leaf, []).append(port)
            groups = parse_priorities(values.get("headroom/priority_groups"))
            if groups and priority_group(statement, priority) not in groups:
                elsewhere.setdefault(priority, []).append(port)
            elif groups and "headroom/xoff_bytes" not in values:
                unsized.append(port)
        stated = "pool/ingress_lossless_bytes" in statement.rest
        in_use = port in statement.fars or is_used(values)
        if (
            stated
            and in_use
            and not any(each.startswith(("headroom/", "priority_group[")) for each in values)
        ):
            bare.append(port)
    remedy = (
        "Give the priority of PFC a lossless buffer with headroom at the ingress, and no limit at the egress."
    )
    for leaf, ports in lossy.items():
        profile = statement.ports[ports[0]][leaf]
        message = (
            f"{statement.name} {join_words(ports, 2)}: PFC uses the buffer {profile}, which has no "
            f"headroom: RDMA drops"
        )
        yield finding_at(
            BUFFER, statement.device, f"{PORT}{ports[0]}]/{leaf}", message, "lossy buffer", remedy=remedy
        )
    for leaf, ports in dropping.items():
        profile = statement.ports[ports[0]][leaf]
        message = (
            f"{statement.name} {join_words(ports, 2)}: PFC, but its egress buffer {profile} drops: RDMA drops"
        )
        yield finding_at(
            BUFFER, statement.device, f"{PORT}{ports[0]}]/{leaf}", message, "lossy egress", remedy=remedy
        )
    for priority, ports in elsewhere.items():
        where = f"{statement.name} {join_words(ports, 2)}"
        message = f"{where}: PFC for priority {priority}, headroom for another: RDMA drops"
        path = f"{PORT}{ports[0]}]/headroom/priority_groups"
        yield finding_at(BUFFER, statement.device, path, message, "other headroom", remedy=remedy)
    if bare:
        message = (
            f"{statement.name} {join_words(bare, 2)}: PFC has neither a buffer nor a cable length, so "
            f"it has no headroom"
        )
        yield finding_at(
            BUFFER, statement.device, f"{PORT}{bare[0]}]/pfc", message, "no headroom", remedy=remedy
        )
    if unsized:
        message = (
            f"{statement.name} {join_words(unsized, 2)}: the buffer of PFC has a threshold and no headroom, so what "
            "arrives during a pause may drop"
        )
        path = f"{PORT}{unsized[0]}]/headroom/priority_groups"
        yield finding_at(
            BUFFER, statement.device, path, message, "no headroom", Severity.WARNING, remedy=remedy
        )
    yield from _report_pools(statement, lossless, remedy)


def _report_pools(
    statement: Statement, lossless: dict[str, tuple[int, ...]], remedy: str
) -> Iterator[Finding]:
    """Report shares of the buffer that leave a priority with PFC without headroom or in the lossy pool."""
    share = "pool/ingress_lossless_headroom_percent"
    if lossless and statement.rest.get(share) == 0:
        message = f"{statement.name} gives headroom 0 % of the buffer, and {len(lossless):,} ports have PFC: RDMA drops"
        yield finding_at(BUFFER, statement.device, share, message, "no headroom", remedy=remedy)
    if lossless and statement.rest.get("pool/lossless_share") == 0:
        message = (
            f"{statement.name}: lossless traffic may use 0 of the shared buffer, so that every burst pauses"
        )
        at = "pool/lossless_share"
        yield finding_at(BUFFER, statement.device, at, message, "no share", Severity.WARNING, remedy)
    mine = set(parse_priorities(statement.rest.get("pool/lossy_priorities")))
    paused = {each for found in lossless.values() for each in found}
    if grouped := [each for each in sorted(paused) if f"pool[lossy]/group[{each}]" in statement.rest]:
        message = (
            f"{statement.name}: priority {grouped[0]} has PFC and is in a lossy priority group: RDMA drops"
        )
        at = f"pool[lossy]/group[{grouped[0]}]"
        yield finding_at(BUFFER, statement.device, at, message, "lossy group", remedy=remedy)
    if wrong := sorted(paused & mine):
        message = (
            f"{statement.name}: priority {wrong[0]} has PFC and uses the lossy part of the buffer: RDMA drops"
        )
        paths = (f"pool[lossy]/priority[{wrong[0]}]", "pool/lossy_priorities")
        yield finding_at(BUFFER, statement.device, paths, message, "lossy pool", remedy=remedy)


def _short_headroom(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report headroom for smaller frames than those of RDMA, and a shared one below that of a single port.

    Other traffic may have larger frames: the lossless class carries RDMA, whose payload is 4,096 bytes at most.
    """
    small: dict[int, list[str]] = {}
    largest = 0
    for port in lossless_ports(statement):
        values = statement.ports[port]
        frame, mtu = as_int(values.get("headroom/mru_bytes")), smallest_mtu(values.get("mtu"))
        if frame and mtu and frame < min(mtu, ROCE_4096):
            small.setdefault(frame, []).append(port)
        largest = max(largest, as_int(values.get("headroom/xoff_bytes")) or 0)
    remedy = "Size headroom for the largest frame, the cable and every port that may pause at once."
    for frame, ports in small.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: headroom is for frames of {frame:,} bytes, and RDMA has "
            "larger ones: it drops"
        )
        path = f"{PORT}{ports[0]}]/headroom/mru_bytes"
        yield finding_at(BUFFER, statement.device, path, message, "small headroom", remedy=remedy)
    shared = as_int(statement.rest.get("pool/headroom_bytes"))
    limited = shared or (shared == 0 and qos_defaults.has_headroom_pool(statement.device.system))
    if shared is not None and limited and shared < largest:
        message = f"{statement.name}: all ports share {shared:,} bytes of headroom, one needs {largest:,}: RDMA drops"
        path = "pool/headroom_bytes"
        yield finding_at(BUFFER, statement.device, path, message, "small headroom", remedy=remedy)


def _tiny_buffers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues with PFC that have no buffer of their own, or hardly any share of the free one."""
    if not any(leaf.endswith((_TINY, _ALPHA)) for leaf in statement.port_leaves):
        return
    found: dict[str, list[str]] = {}
    small: list[str] = []
    for port, priorities in lossless_ports(statement).items():
        for queue in {queue_of(statement, each) for each in priorities}:
            if (leaf := f"queue[{queue}]/{_TINY}") in statement.ports[port]:
                found.setdefault(leaf, []).append(port)
        alpha = as_int(statement.ports[port].get(_ALPHA))
        if alpha is not None and alpha <= _LEAST_ALPHA:
            small.append(port)
    if small:
        message = (
            f"{statement.name} {join_words(small, 2)}: a lossless queue may hold a small part of the shared buffer, so "
            "that every burst pauses"
        )
        remedy = "Let it hold more of the free buffer."
        path = f"{PORT}{small[0]}]/{_ALPHA}"
        yield finding_at(BUFFER, statement.device, path, message, "small part", Severity.WARNING, remedy)
    for leaf, ports in found.items():
        message = f"{statement.name} {join_words(ports, 2)}: PFC, and {statement.ports[ports[0]][leaf]} of its queue"
        path = f"{PORT}{ports[0]}]/{leaf}"
        remedy = "Give the queue of RDMA a buffer."
        yield finding_at(BUFFER, statement.device, path, message, "tiny buffer", Severity.WARNING, remedy)


_TINY, _ALPHA = "setting[tiny buffer]", "headroom/dynamic_th"
_LEAST_ALPHA = -6
"""A port with PFC may then hold 1/64 of the free buffer, less than a burst."""


_PACKET = 1518
"""Bytes of an Ethernet frame of usual size (IEEE 802.3)."""


def _odd_pauses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report thresholds of pauses below one packet, and those that end a pause above where it begins."""
    if "headroom/pause_bytes" not in statement.port_leaves:
        return
    for leaf, words in (
        ("headroom/xon_bytes", "a pause ends at {1:,} bytes, above the {0:,} where it begins"),
        ("headroom/pause_bytes", "a pause begins at {0:,} bytes, before a queue holds one packet"),
    ):
        odd = {}
        for port, values in statement.ports.items():
            begin, end = (as_int(values.get(f"headroom/{each}_bytes")) for each in ("pause", "xon"))
            late = begin is not None and end is not None and end >= begin
            if late if leaf.endswith("xon_bytes") else begin is not None and 0 <= begin < _PACKET:
                odd[port] = words.format(begin, end)
        if odd:
            port, what = next(iter(odd.items()))
            message = f"{statement.name} {join_words([*odd], 2)}: {what}"
            remedy = "Set a threshold of several packets, and end the pause below it."
            path = f"{PORT}{port}]/{leaf}"
            yield finding_at(BUFFER, statement.device, path, message, "odd pause", Severity.WARNING, remedy)


RULES = (
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _report_buffers, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _odd_pauses, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _tiny_buffers, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _short_headroom, shared=True),
)
