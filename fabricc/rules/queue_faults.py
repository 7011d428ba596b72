"""Find queues, maps and buffers of one switch that contradict each other: lossless traffic is lost or starved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos import qos_defaults
from fabricc.back.nos.contradictions import ASYMMETRIC, is_certain, read_contradiction
from fabricc.back.nos.service_defaults import fact_without_lldp
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.facts.statement import Statement, Tier
from fabricc.proof.compare import Finding
from fabricc.proof.invariants.view import CODE_POINTS, as_int, parse_priorities
from fabricc.rules.access import ISOLATED, MISSING, OPEN
from fabricc.rules.announcements import SILENT
from fabricc.rules.classes import classes_of, group_of, lossless_ports, priority_group, queue_of
from fabricc.rules.findings import finding_at
from fabricc.rules.forwarding import IDLE, LEFT
from fabricc.rules.lossless import CLASSED, UNGUARDED
from fabricc.rules.protection import BUFFER, ROCE_4096, SLOW, UNCLASSIFIED
from fabricc.rules.rule import BUFFERS, CLASSIFICATION, ECN, OTHER, PFC, Input, SwitchRule
from fabricc.rules.undefined_names import UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.rules.sessions import Sessions

_CODES = {
    "queue": UNCLASSIFIED, "addresses": UNREAD, "buffer": BUFFER, "list": BUFFER, "service": MISSING, "number": UNREAD,
    "hash": SLOW, "sessions": IDLE, "routes": SILENT, "login": OPEN, "shut": IDLE, "members": IDLE, "gateway": ISOLATED,
    "speed": SLOW, "addresses of loopback": SILENT, "access": OPEN, "watchdog": UNGUARDED, "marking": UNGUARDED,
    "queue map": UNCLASSIFIED,
}  # fmt: skip
"""Kind of a contradiction -> code."""


def _contradictions(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report what the tables of a switch leave out, each kind once; missing maps count on ports with PFC alone."""
    lossless = lossless_ports(statement)
    found: dict[tuple[str, str, str], list[tuple[str, str, int]]] = {}
    no_lldp = statement.lines.get(fact_without_lldp(statement.rest)) if statement.fars else None
    for file, line, text in statement.device.unknown:
        one = read_contradiction(text)
        if one is None or (file, line) == no_lldp:  # another rule reports the latter
            continue
        if not is_certain(one, statement.device.files.values()):
            continue
        bound = statement.ports.get(one.name, {}).get(f"qos_setting[{one.field}]")
        if one.kind == "queue" and (one.name not in lossless or bound is not None):
            continue
        if one.kind == "routes" and not _lacks_routes(statement):
            continue
        if one.field == "graceful-shutdown" and statement.facts_below(LEFT):
            continue  # the rule about the switch reports it
        if one.kind == "list" and one.name not in lossless:
            continue
        if one.kind == "members" and not any(name in statement.addresses for name in one.name.split()):
            continue
        if one.kind == "shut" and one.name not in statement.addresses:
            continue
        if one.kind == "gateway" and statement.rest.get("management/isolated") != "true":
            continue
        found.setdefault((one.kind, one.field, one.effect), []).append((one.name, file, line))
    for (kind, field, effect), places in found.items():
        names, file, line = [name for name, _, _ in places], *places[0][1:]
        what = join_words(names, 2)
        what = f"{what}: no {field}" if kind == "queue" else f"{field} {what}".strip()
        message = f"{statement.name} {what}: {effect}"
        path = statement.device.paths.get(file, file)
        remedy = "State what the message names, as on the other ports and switches."
        yield Finding(_CODES[kind], message, path, line, f"contradiction: {field}", Severity.WARNING, remedy)


_ENTERED = ("bgp/network[", "bgp/redistribute", "evpn/")


def _lacks_routes(statement: Statement) -> bool:
    """Return whether a ToR puts no subnet of its hosts into BGP by any other statement."""
    return statement.place.tier is Tier.TOR and not any(map(statement.facts_below, _ENTERED))


_STRICT = "strict"


def _starved_queues(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues with PFC that have a weight while the queue of unmarked traffic is strict, or no scheduler."""
    classes = classes_of(statement)
    starved: list[tuple[str, int]] = []
    bare: list[tuple[str, int]] = []
    for port, priorities in lossless_ports(statement).items():
        values = statement.ports[port]
        usual = as_int(statement.rest.get(f"qos/traffic_class[{classes.get(0)}]/queue"))
        rest = str(values.get(f"queue[{usual}]/scheduler", ""))
        for queue in {queue_of(statement, each) for each in priorities}:
            own = values.get(f"queue[{queue}]/scheduler")
            if queue == usual:
                continue
            if rest.startswith(_STRICT) and own is not None and not str(own).startswith(_STRICT):
                starved.append((port, queue))
            elif own is None and rest:
                bare.append((port, queue))
    mine = f"queue[{statement.rest.get(f'qos/traffic_class[{classes.get(0)}]/queue')}]/scheduler"
    moved = f"qos/traffic_class[{classes.get(0)}]/queue"
    shared = [
        path
        for path, queue in statement.facts_below("qos/traffic_class[").items()
        if path.endswith("]/queue") and queue == statement.rest.get(moved)
    ]
    for places, what, leaf in (
        (starved, "which has PFC, waits for the strict queue of unmarked traffic", mine),
        (bare, "which has PFC, has no scheduler, which other queues have", "queue[{}]/ecn_min_bytes"),
    ):
        if places:
            port, queue = places[0]
            ports = join_words([each for each, _ in places], 2)
            message = f"{statement.name} {ports}: queue {queue}, {what}"
            remedy = "Give both queues weights, and RDMA's the larger one."
            paths = [f"{PORT}{port}]/{leaf.format(queue)}", f"{PORT}{port}]/pfc"]
            if leaf == mine and len(shared) > 1:  # it shares the queue of a class that may be strict
                paths.insert(0, moved)
            yield finding_at(
                SLOW,
                statement.device,
                paths,
                message,
                "starved queue",
                Severity.WARNING,
                remedy,
                word="STRICT",
            )


def _odd_buffers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless buffers that cannot work: an empty pool, a wrong group, and pauses that never end."""
    lossless = lossless_ports(statement)
    if lossless and statement.rest.get("pool/ingress_lossless_bytes") == 0:
        message = (
            f"{statement.name}: the lossless pool has 0 bytes, {len(lossless):,} ports have PFC: RDMA drops"
        )
        path = "pool/ingress_lossless_bytes"
        remedy = "Give the pool the buffer of the switch."
        yield finding_at(BUFFER, statement.device, path, message, "empty pool", remedy=remedy)
    yield from _odd_shares(statement)
    share = as_int(statement.rest.get("pool/lossless_queue_alpha"))
    if lossless and share is not None and share < 0:
        message = f"{statement.name}: queues with PFC may hold 2^{share} of the free egress buffer: RDMA drops there"
        remedy = "Let lossless queues use the whole egress pool: pauses limit what they hold."
        path = "pool/lossless_queue_alpha"
        yield finding_at(BUFFER, statement.device, path, message, "small egress share", remedy=remedy)
    small: dict[str, list[str]] = {}
    for port, priorities in lossless.items():
        for queue in {queue_of(statement, each) for each in priorities}:
            leaf = f"queue[{queue}]/egress_dynamic_th"
            if (as_int(statement.ports[port].get(leaf)) or 0) < 0:
                small.setdefault(leaf, []).append(port)
    for leaf, ports in small.items():
        power = statement.ports[ports[0]][leaf]
        where = f"{statement.name} {join_words(ports, 2)}"
        message = f"{where}: queues with PFC may hold 2^{power} of the free egress buffer"
        remedy = "Let lossless queues use the whole egress pool: pauses limit what they hold."
        yield finding_at(
            BUFFER,
            statement.device,
            f"{PORT}{ports[0]}]/{leaf}",
            message,
            "small egress share",
            remedy=remedy,
        )
    wrong: dict[str, list[str]] = {}
    late: list[str] = []
    never: list[str] = []
    for port, priorities in lossless.items():
        values = statement.ports[port]
        groups = {f"priority_group[{priority_group(statement, each)}]/buffer_profile" for each in priorities}
        stated = [each for each in values if each.startswith("priority_group[")]
        if stated and groups.isdisjoint(stated) and "headroom/xoff_bytes" in values:
            wrong.setdefault(stated[0], []).append(port)
        xon, size, below, room = (as_int(values.get(f"headroom/{leaf}")) for leaf in _LEVELS)
        if xon and size and xon > max(size, room or 0):
            late.append(port)
        elif (xon is not None and xon < 0) or (below and size and room and below > size - room > 0):
            never.append(port)
    for leaf, ports in wrong.items():
        message = f"{statement.name} {join_words(ports, 2)}: PFC, and a buffer of another priority group: RDMA drops"
        remedy = "Give the priority group of PFC the lossless buffer."
        path = f"{PORT}{ports[0]}]/{leaf}"
        yield finding_at(BUFFER, statement.device, path, message, "other group", remedy=remedy)
    if late:
        message = (
            f"{statement.name} {join_words(late, 2)}: pauses end at a level above the size of the buffer"
        )
        remedy = "Set a level below the size of the buffer."
        path = f"{PORT}{late[0]}]/headroom/xon_bytes"
        yield finding_at(BUFFER, statement.device, path, message, "end of pauses", Severity.WARNING, remedy)
    if never:
        message = (
            f"{statement.name} {join_words(never, 2)}: pauses end at a level above the one where they begin"
        )
        remedy = "Set a level below the one at which the port pauses."
        paths = [f"{PORT}{never[0]}]/headroom/{leaf}" for leaf in ("resume_distance_bytes", "xon_bytes")]
        yield finding_at(BUFFER, statement.device, paths, message, "end of pauses", Severity.WARNING, remedy)


_LEVELS = ("xon_bytes", "size_bytes", "resume_distance_bytes", "xoff_bytes")
_UNTAGGED = "qos/untagged/traffic_class"
_SHARES = ("pool/lossless_percent", "pool/lossy_percent")
_WHOLE, _TENTH = 100, 10


def _odd_shares(statement: Statement) -> Iterator[Finding]:
    """Report shares of the buffer that leave PFC without a pool, or that are more than the whole buffer."""
    paused = sorted({each for found in lossless_ports(statement).values() for each in found})
    shares = {path: as_int(statement.rest.get(path)) for path in _SHARES}
    pooled = statement.rest.get("pool/lossless_priorities")
    remedy = "Give the lossless priorities a pool, and all pools together the whole buffer."
    if paused and shares[_SHARES[0]] == 0:
        message = f"{statement.name}: the lossless pool has 0 % of the buffer, and ports have PFC: RDMA drops"
        yield finding_at(BUFFER, statement.device, _SHARES[0], message, "empty pool", remedy=remedy)
    if paused and (share := shares[_SHARES[0]]) and share < _TENTH < (shares[_SHARES[1]] or 0):
        message = f"{statement.name}: the lossless pool has {share} % of the buffer, and the lossy one {_WHOLE - share}"
        yield finding_at(
            BUFFER, statement.device, _SHARES[0], message, "small pool", Severity.WARNING, remedy
        )
    if paused and qos_defaults.lacks_lossless_pool(statement.device.system, statement.rest):
        message = f"{statement.name}: priority {paused[0]} has PFC, and all of the buffer is lossy by default"
        port = next(iter(lossless_ports(statement)))
        paths = ("qos/setting[traffic-pool]", f"qos/pfc_priority[{paused[0]}]/queue", f"{PORT}{port}]/pfc")
        yield finding_at(BUFFER, statement.device, paths, message, "no pool", Severity.WARNING, remedy)
    if sum(filter(None, shares.values())) > _WHOLE:
        message = f"{statement.name}: its pools have {sum(filter(None, shares.values()))} % of the buffer"
        yield finding_at(
            BUFFER, statement.device, _SHARES[1], message, "shares of pools", Severity.WARNING, remedy
        )
    lossy = statement.rest.get("pool/lossy_priorities")
    if (
        lossy
        and pooled is None
        and (bare := [each for each in paused if each not in parse_priorities(lossy)])
    ):
        message = (
            f"{statement.name}: priority {bare[0]} has PFC and is in none of the pools that its file states"
        )
        yield finding_at(BUFFER, statement.device, _SHARES[1], message, "no pool", Severity.WARNING, remedy)
    if pooled and (left := [each for each in paused if each not in parse_priorities(pooled)]):
        message = f"{statement.name}: priority {left[0]} has PFC and is not in the lossless pool: RDMA drops"
        paths = ("pool/lossless_priorities", *_SHARES)
        yield finding_at(BUFFER, statement.device, paths, message, "other pool", remedy=remedy)


_PARTITIONS = (
    "pool/ingress_lossless_percent",
    "pool/ingress_lossless_headroom_percent",
    "pool/ingress_lossy_percent",
)
_AT_THE_EGRESS = "pool/egress_lossless_percent"
_TWENTIETH = 5


def _odd_partitions(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report partitions of a shared buffer that are not the whole of it, or too small for lossless traffic.

    Junos rejects partitions of the ingress that do not total 100 percent (Juniper, `buffer-partition (Ingress)`).
    """
    shares = [as_int(statement.rest.get(path)) for path in _PARTITIONS]
    lossless, headroom, _lossy = shares
    if not any(shares):
        return
    scarce = lossless is not None and lossless < _TENTH and bool(lossless or lossless_ports(statement))
    egress = as_int(statement.rest.get(_AT_THE_EGRESS))
    total = sum(filter(None, shares))
    odd = max(range(3), key=lambda at: shares[at] or 0) if total > _WHOLE else 1
    others = [as_int(statement.rest.get(path.replace("ingress", "egress"))) for path in _PARTITIONS]
    differing = [at for at in range(3) if others[at] is not None and others[at] != shares[at]]
    agreed = [at for at in range(3) if others[at] == shares[at]]
    if len(differing) == 1:  # the partition that the egress has otherwise
        odd = differing[0]
    elif agreed == [0, 2] and total - _WHOLE < (headroom or _WHOLE):
        odd = 1
    for wrong, at, why in (
        (scarce, _PARTITIONS[0], f"lossless traffic has {lossless} % of it"),
        (0 < (headroom or _WHOLE) < _TWENTIETH, _PARTITIONS[1], f"headroom has {headroom} % of it"),
        (total != _WHOLE, _PARTITIONS[odd], f"the partitions of the ingress have {total} % of it, not {_WHOLE} %"),
        (egress is not None and lossless is not None and egress < lossless, _AT_THE_EGRESS,
         f"lossless traffic has {egress} % of it at the egress and {lossless} % at the ingress, so that it drops"),
    ):  # fmt: skip
        if wrong:
            path = next(
                (f"{PORT}{port}]/{at}" for port in statement.ports if at in statement.ports[port]), at
            )
            message, remedy = (
                f"{statement.name}: of the shared buffer, {why}",
                "Share the whole buffer by the traffic.",
            )
            yield finding_at(BUFFER, statement.device, path, message, "partitions", Severity.WARNING, remedy)
            return


def _unmarked_traffic(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that packets without a code point are in a lossless class together with marked ones."""
    classes = classes_of(statement)
    mine = classes.get(0)
    if mine is None or len(set(classes.values())) == 1:
        return
    rest = as_int(statement.rest.get(_UNTAGGED))
    groups = {
        priority_group(statement, each) for found in lossless_ports(statement).values() for each in found
    }
    if rest is not None and rest != mine and group_of(statement, rest) in groups:
        message = f"{statement.name}: packets that no map classifies are in the lossless class {rest}: they pause RDMA"
        remedy = "Put them into a class without PFC."
        yield finding_at(CLASSED, statement.device, _UNTAGGED, message, "unmarked", Severity.WARNING, remedy)
    if group_of(statement, mine) not in groups:
        return
    others = [dscp for dscp in range(1, CODE_POINTS) if classes.get(dscp) == mine]
    if others:
        message = (
            f"{statement.name}: packets without a code point (DSCP 0) are in the lossless class {mine} with DSCP "
            f"{join_words(list(map(str, others)), 2)}: they pause RDMA"
        )
        remedy = "Map DSCP 0 to a class without PFC."
        path = "qos/dscp[0]/traffic_class"
        yield finding_at(CLASSED, statement.device, path, message, "unmarked", Severity.WARNING, remedy)


def _lost_points(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report code points in a class for which no queue is stated, while other classes have one."""
    classes = classes_of(statement)
    queued = {
        int(first_key(path))
        for path in statement.facts_below("qos/traffic_class[")
        if path.endswith("/queue")
    }
    lost = {dscp: each for dscp, each in classes.items() if each not in queued}
    if queued and lost and len(lost) < len(classes) and lossless_ports(statement):
        dscp, each = next(iter(lost.items()))
        message = f"{statement.name}: DSCP {join_words(list(map(str, lost)), 2)} is in class {each}, which has no queue"
        remedy = "Map the code point to a class with a queue, or give the class one."
        path = f"qos/dscp[{dscp}]/traffic_class"
        yield finding_at(CLASSED, statement.device, path, message, "no queue", Severity.WARNING, remedy)


_LONGEST_POLL_MS = 1000
_LONGEST_MS = 5000
"""The longest detection that SONiC accepts (sonic-pfcwd.yang: 100 to 5,000 ms); other systems detect in less."""


def _late_watchdog(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a PFC watchdog that waits for many seconds."""
    wait = as_int(statement.rest.get("watchdog/detect_ms"))
    if wait is not None and wait > _LONGEST_MS:
        message = (
            f"{statement.name}: the PFC watchdog waits {wait:,} ms, while one stuck receiver stops the fabric"
        )
        remedy = f"Detect within {_LONGEST_MS:,} ms."
        poll = as_int(statement.rest.get("watchdog/poll_ms")) or 0
        path = "watchdog/poll_ms" if poll > _LONGEST_POLL_MS else "watchdog/detect_ms"
        yield finding_at(
            UNGUARDED, statement.device, path, message, "late watchdog", Severity.WARNING, remedy
        )


def _remarked_classes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report priorities with PFC whose packets leave with a code point of a class without it."""
    classes = classes_of(statement)
    paused = {each for found in lossless_ports(statement).values() for each in found}
    for priority in sorted(paused):
        path = f"qos/remark[{priority}]"
        dscp = as_int(statement.rest.get(path))
        if dscp is not None and dscp in classes and group_of(statement, classes[dscp]) not in paused:
            message = (
                f"{statement.name}: packets of priority {priority}, which has PFC, leave with DSCP {dscp} of class "
                f"{classes[dscp]}: RDMA drops at the next hop"
            )
            remedy = "Remove the new code point, or use one of the lossless class."
            yield finding_at(CLASSED, statement.device, path, message, "remark", remedy=remedy)


def _asymmetric_pauses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports to other switches that obey pauses of priorities without PFC."""
    obeying = [
        port
        for port in lossless_ports(statement)
        if str(statement.ports[port].get(ASYMMETRIC)) == "on"
        and (far := statement.fars.get(port)) is not None
        and far.known
        and far.tier is not Tier.HOST
    ]
    if obeying:
        message = f"{statement.name} {join_words(obeying, 2)}: a pause of any priority stops its queue, to a switch too"
        remedy = "Use asymmetric PFC on ports to servers only."
        path = f"{PORT}{obeying[0]}]/{ASYMMETRIC}"
        yield finding_at(SLOW, statement.device, path, message, "asymmetric PFC", Severity.WARNING, remedy)


def _constant_marking(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless queues that mark every packet with less than one RDMA packet queued, as a wrong unit does."""
    early: dict[tuple[int, str], list[str]] = {}
    for port, priorities in lossless_ports(statement).items():
        for queue in {queue_of(statement, each) for each in priorities}:
            size = as_int(statement.ports[port].get(f"queue[{queue}]/ecn_max_bytes"))
            share = as_int(statement.ports[port].get(f"queue[{queue}]/ecn_max_fill_percent"))
            if size is not None and 0 < size < ROCE_4096:
                early.setdefault((queue, f"{size:,} bytes"), []).append(port)
            elif share is not None and share <= 1:
                early.setdefault((queue, f"{share} % of its buffer"), []).append(port)
    for (queue, level), ports in early.items():
        message = f"{statement.name} {join_words(ports, 2)}: queue {queue} marks every packet, from {level}"
        remedy = "Correct the threshold or its unit: marking ends above some tens of packets."
        paths = [f"{PORT}{ports[0]}]/queue[{queue}]/ecn_max_{leaf}" for leaf in ("bytes", "fill_percent")]
        yield finding_at(SLOW, statement.device, paths, message, "constant marking", Severity.WARNING, remedy)


RULES = (
    SwitchRule(UNCLASSIFIED, OTHER, (), _contradictions),
    SwitchRule(SLOW, PFC, (Input.PFC,), _starved_queues, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _odd_buffers, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _odd_partitions, shared=True),
    SwitchRule(CLASSED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _unmarked_traffic, shared=True),
    SwitchRule(CLASSED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _lost_points, shared=True),
    SwitchRule(UNGUARDED, PFC, (Input.PFC,), _late_watchdog, shared=True),
    SwitchRule(SLOW, PFC, (Input.PFC, Input.LINKS), _asymmetric_pauses),
    SwitchRule(CLASSED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _remarked_classes, shared=True),
    SwitchRule(SLOW, ECN, (Input.PFC,), _constant_marking, shared=True),
)
