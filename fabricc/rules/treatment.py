"""Find settings by which packets of a lossless class starve others, or lose their class on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos import qos_defaults
from fabricc.back.nos.harmful_settings import (
    odd_loss_priorities,
    policed_classes,
    rewritten_classes,
    small_classes,
)
from fabricc.back.nos.qos_defaults import RDMA_DSCP
from fabricc.back.nos.unread_lines import find_references
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key
from fabricc.proof.invariants.view import CODE_POINTS, as_int
from fabricc.rules import classes as traffic_classes
from fabricc.rules.findings import finding_at
from fabricc.rules.protection import BUFFER, HOP, ROCE_4096, SHORT, SLOW, UNCLASSIFIED
from fabricc.rules.rule import BUFFERS, CLASSIFICATION, ECN, PFC, Input, SwitchRule
from fabricc.rules.undefined_names import UNREAD, find_twin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

_NOTIFICATIONS = 48
"""Code point of congestion notifications that NICs have by default (mlnx_qos, `cnp_dscp`)."""
_OWN_PACKETS = "7"
"""Queue by which packets of the switch itself leave, whatever their code point (sonic-swss portsorch.cpp)."""


def _strict_rdma(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues with PFC that have strict priority without a cap: they starve the other queues."""
    found: dict[int, list[str]] = {}
    for port, priorities in traffic_classes.lossless_ports(statement).items():
        values = statement.ports[port]
        for queue in {traffic_classes.queue_of(statement, each) for each in priorities}:
            start = f"queue[{queue}]/"
            capped = any(f"{start}{leaf}" in values for leaf in ("strict_percent", "shaping_percent"))
            weighted = any(
                leaf.startswith("queue[") and leaf.endswith("]/scheduler") and str(value).startswith("dwrr")
                for leaf, value in values.items()
            )
            if values.get(f"{start}scheduler") == "strict" and weighted and not capped:
                found.setdefault(queue, []).append(port)
    for queue, ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {queue}, which has PFC, is strict and has no cap: it "
            "starves the other queues"
        )
        remedy = "Give RDMA's queue a weight, and strict priority to notifications alone."
        path = f"{PORT}{ports[0]}]/queue[{queue}]/scheduler"
        yield finding_at(
            SLOW, statement.device, path, message, "strict RDMA", Severity.WARNING, remedy, word="strict"
        )


def _uncapped_queues(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report strict queues without a cap on ports with PFC, where the vendor advises one."""
    if not qos_defaults.needs_cap(statement.device.system):
        return
    found: dict[str, list[str]] = {}
    for port, priorities in traffic_classes.lossless_ports(statement).items():
        values = statement.ports[port]
        lossless = {traffic_classes.queue_of(statement, each) for each in priorities}
        for leaf, value in values.items():
            if value == "strict" and leaf.endswith("]/scheduler") and as_int(first_key(leaf)) not in lossless:
                start = leaf.removesuffix("scheduler")
                if all((as_int(values.get(start + cap)) or _WHOLE) >= _WHOLE for cap in _CAPS[:2]) and (
                    start + _CAPS[2] not in values
                ):
                    found.setdefault(start, []).append(port)
    for start, ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: queue {first_key(start)} is strict and has no cap: it can "
            "starve the queue of RDMA"
        )
        remedy = "Give the strict queue a shaping rate or a transmit rate of some percent."
        paths = [f"{PORT}{ports[0]}]/{start}{leaf}" for leaf in (*_CAPS, "scheduler")]
        yield finding_at(SLOW, statement.device, paths, message, "no cap", Severity.WARNING, remedy)


def _reclassified(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report filters that lead what arrives at ports with PFC into a class without it."""
    if "access_list_in" not in statement.port_leaves:
        return
    found: dict[str, list[str]] = {}
    for port in traffic_classes.lossless_ports(statement):
        path = qos_defaults.LOSSY_FILTER.format(statement.of(port, "access_list_in"))
        if path in statement.rest:
            found.setdefault(path, []).append(port)
    for path, ports in found.items():
        message = (
            f"{statement.name} {join_words(ports, 2)}: a filter gives RDMA the {statement.rest[path]}, which PFC "
            "does not protect: RDMA drops"
        )
        remedy = "Remove the action from the filter, or name the lossless class."
        yield finding_at(
            UNCLASSIFIED, statement.device, path, message, "lossy filter", Severity.WARNING, remedy
        )


_CAPS = ("strict_percent", "shaping_percent", "setting[shape rate]")
_WHOLE = 100


def _moved_rdma(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that RDMA's usual code point is led out of a lossless class into which no line leads any other."""
    mapped = traffic_classes.classes_of(statement)
    lossless = {each for found in traffic_classes.lossless_ports(statement).values() for each in found}
    groups = {traffic_classes.priority_group(statement, each) for each in lossless}
    own = mapped.get(RDMA_DSCP)
    places = {dscp: statement.lines.get(f"qos/dscp[{dscp}]/traffic_class") for dscp in mapped}
    inside = {dscp for dscp, each in mapped.items() if traffic_classes.group_of(statement, each) in groups}
    whole = {
        None,
        *(places[dscp] for dscp in mapped.keys() - inside - {RDMA_DSCP}),
    }  # defaults, or of a profile
    if (
        own is None
        or RDMA_DSCP >> 3 not in lossless
        or RDMA_DSCP in inside
        or any(places[dscp] not in whole for dscp in inside)
    ):
        return
    path = f"qos/dscp[{RDMA_DSCP}]/traffic_class"
    message = f"{statement.name}: DSCP {RDMA_DSCP}, RDMA's by default, is in class {own}, which has no PFC: RDMA drops"
    remedy = "Map it to the class that has PFC."
    yield finding_at(UNCLASSIFIED, statement.device, path, message, "moved RDMA", Severity.WARNING, remedy)


def _stopped_pausing(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a statement by which no port pauses, and marking of RDMA's queue on a switch without any PFC."""
    path = qos_defaults.stops_all_pausing(statement.rest)
    if path and statement.fars:
        message = f"{statement.name}: PFC is off on all ports: RDMA drops here"
        remedy = "Remove the statement."
        yield finding_at(HOP, statement.device, path, message, "PFC off", Severity.WARNING, remedy)
    if statement.expected.planned or "pfc" in statement.port_leaves:
        return
    mapped = traffic_classes.classes_of(statement)
    own = mapped.get(RDMA_DSCP)
    alike = [
        dscp
        for dscp, each in mapped.items()
        if each == own and f"qos/dscp[{dscp}]/traffic_class" in statement.lines
    ]
    if own is None or own == mapped.get(0) or not alike or any(dscp >> 3 != RDMA_DSCP >> 3 for dscp in alike):
        return  # a class of several kinds of traffic is for TCP
    (queue,) = traffic_classes.queues_of(statement, {RDMA_DSCP: own})
    marking = [port for port in statement.fars if traffic_classes.marks_packets(statement, port, queue)]
    if marking:
        message = (
            f"{statement.name} {join_words(marking, 2)}: RDMA (DSCP {RDMA_DSCP}) is in queue {queue}, which marks "
            "packets, and no port has PFC: RDMA drops"
        )
        remedy = "Enable PFC for the priority of the class, or accept that RDMA sends again what is lost."
        paths = [f"qos/dscp[{RDMA_DSCP}]/traffic_class", f"{PORT}{marking[0]}]/queue[{queue}]/ecn_min_bytes"]
        yield finding_at(HOP, statement.device, paths, message, "no PFC", Severity.WARNING, remedy)


def _rewritten(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lossless classes whose packets leave with a code point of another class."""
    mapped = traffic_classes.classes_of(statement)
    lossless = {each for found in traffic_classes.lossless_ports(statement).values() for each in found}
    groups = {traffic_classes.priority_group(statement, each) for each in lossless}
    for path, number, dscp in rewritten_classes(statement.rest):
        if traffic_classes.group_of(statement, number) in groups and mapped.get(dscp) != number:
            message = (
                f"{statement.name}: packets of class {number}, which has PFC, leave with DSCP {dscp}, which is of "
                "another class: the next switch does not protect them"
            )
            remedy = "Keep the code point, or set one of the same class."
            yield finding_at(
                UNCLASSIFIED, statement.device, path, message, "other code point", Severity.WARNING, remedy
            )
    for path, number, size in small_classes(statement.rest, ROCE_4096):
        if number in lossless:
            message = f"{statement.name}: class {number}, which has PFC, drops packets above {size:,} bytes"
            remedy = f"Let the class have an MTU of {ROCE_4096:,} bytes or more."
            yield finding_at(SHORT, statement.device, path, message, "small class", Severity.WARNING, remedy)
    for path, number in policed_classes(statement.rest):
        if traffic_classes.group_of(statement, number) in groups:
            message = f"{statement.name}: a policer drops packets of class {number}, which has PFC"
            remedy = "Remove the policer, or apply it to classes that may drop packets."
            yield finding_at(SLOW, statement.device, path, message, "policed RDMA", Severity.WARNING, remedy)
    for path, dscp, priority in odd_loss_priorities(statement.rest):
        if (
            dscp in mapped
            and traffic_classes.group_of(statement, mapped[dscp]) in groups
            and priority != "low"
        ):
            message = (
                f"{statement.name}: DSCP {dscp}, whose class has PFC, gets the loss priority {priority}: the "
                "marking of the class does not reach it"
            )
            remedy = "Use the lowest loss priority for lossless classes."
            yield finding_at(
                UNCLASSIFIED, statement.device, path, message, "loss priority", Severity.WARNING, remedy
            )


def _idle_strict_queues(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report classes with a queue of strict priority to which no code point leads, where all are mapped."""
    mapped = traffic_classes.classes_of(statement)
    if len(mapped) < CODE_POINTS:
        return
    strict = {
        first_key(leaf)
        for port in traffic_classes.lossless_ports(statement)
        for leaf, value in statement.ports[port].items()
        if leaf.endswith("]/scheduler") and value == "strict"
    }
    for path, queue in statement.facts_below("qos/traffic_class[").items():
        number = first_key(path)
        if (
            path.endswith("/queue")
            and str(queue) in strict - {_OWN_PACKETS}
            and not (is_number(number) and int(number) in mapped.values())
        ):
            message = (
                f"{statement.name}: queue {queue} is strict, and no code point leads to its class {number}"
            )
            remedy = f"Map the code point of notifications ({_NOTIFICATIONS} by default) to the class."
            paths = (f"qos/dscp[{_NOTIFICATIONS}]/traffic_class", path)
            yield finding_at(
                UNCLASSIFIED, statement.device, paths, message, "idle strict queue", Severity.WARNING, remedy
            )


_UNUSED = "qos/setting[unused "


def _misnamed_definitions(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report definitions of classes that nothing uses, next to an undefined name that is nearly the same."""
    unused = statement.facts_below(_UNUSED)
    lines = statement.device.unknown if unused else ()
    used = [name for *_, text in lines for _, name in find_references(text)]
    names = {path: outer_key(path).rpartition(" ")[2] for path in unused}
    for path, name in names.items():
        if other := find_twin(name, [each for each in used if each not in names.values()]):
            message = f"{statement.name}: nothing uses {name}, and {other} is not defined"
            remedy = "Give both one name."
            yield finding_at(
                UNREAD, statement.device, path, message, f"misnamed {name}", Severity.WARNING, remedy
            )


_IN_USE = ("ipv4", "ipv6", "switchport", "unnumbered")


def _bare_ports_of_hosts(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports without PFC whose description names a host that has PFC at another port of that kind and speed."""
    bare = statement.once(_ports_without, lambda: _ports_without(statement))
    lossless = traffic_classes.lossless_ports(statement) if bare else {}
    hosts = {_host_of(statement, port) for port in lossless} - {("", None)}
    if odd := [port for port in bare if _host_of(statement, port) in hosts]:
        message = (
            f"{statement.name} {join_words(odd, 2)}: no PFC, which another port of its host has: RDMA drops"
        )
        remedy = "Enable PFC on all ports to hosts that run RDMA."
        paths = [f"{PORT}{odd[0]}]/{leaf}" for leaf in ("pfc", "mtu", "description")]
        yield finding_at(HOP, statement.device, paths, message, "host without PFC", Severity.WARNING, remedy)


def _ports_without(statement: Statement) -> list[str]:
    """Return the ports in use, but for links to other devices that are known, that have no PFC."""
    covered = {each for port in traffic_classes.lossless_ports(statement) for each in statement.chain(port)}
    return [
        port
        for port in (statement.open_ports() if covered else ())
        if covered.isdisjoint(statement.chain(port))
        and any(leaf in statement.ports[port] for leaf in _IN_USE)
    ]


_NUMBERED = re.compile(r"[0-9]")


def _host_of(statement: Statement, port: str) -> tuple[str, Value | None]:
    """Return a description without the number of the NIC, `host01 rail` of `host01 rail0`, and the speed."""
    host, _, rail = str(statement.of(port, "description") or "").rpartition(" ")
    named = host and rail and _NUMBERED.search(host)
    return (f"{host} {rail.rstrip('0123456789')}", statement.of(port, "speed_gbps")) if named else ("", None)


def _small_pools(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a pool of lossless traffic with next to nothing of the buffer (NVUE)."""
    percent = as_int(statement.rest.get(_LOSSLESS_POOL))
    if percent is not None and percent < _LEAST_PERCENT and traffic_classes.lossless_ports(statement):
        message = f"{statement.name}: lossless traffic has {percent} % of the buffer"
        remedy = "Give it most of the buffer: ports pause when the pool is full."
        yield finding_at(
            BUFFER, statement.device, _LOSSLESS_POOL, message, "lossless pool", Severity.WARNING, remedy
        )


_LOSSLESS_POOL, _LEAST_PERCENT = "pool/lossless_percent", 10


def _one_way_pauses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report ports that pause and do not honor pauses, or the reverse: packets are lost at one of the ends."""
    ports = [port for port, values in statement.ports.items() if _ONE_WAY in values]
    if _ONE_WAY in statement.port_leaves and ports:
        message = (
            f"{statement.name} {join_words(ports, 2)}: PFC in one direction alone: RDMA drops at one end"
        )
        remedy, path = "Enable sending and receiving of pauses.", f"{PORT}{ports[0]}]/{_ONE_WAY}"
        yield finding_at(HOP, statement.device, path, message, "one way", Severity.WARNING, remedy)


_ONE_WAY = "qos_setting[pfc one way]"
_LONGEST = 10_000_000
"""Bytes of headroom of one port that no buffer on the chip of a switch has room for."""
_IN_FIBER = 10
"""Nanoseconds of the way of light through a meter, there and back."""


def _absurd_cables(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lengths of cables by which the system sizes headroom, and which no port can have."""
    if "headroom/cable_m" not in statement.port_leaves:
        return
    found: dict[int, list[str]] = {}
    for port in traffic_classes.lossless_ports(statement):
        length = as_int(statement.ports[port].get("headroom/cable_m"))
        speed = as_int(statement.of(port, "speed_gbps")) or _SLOWEST
        if length is not None and (length == 0 or length * _IN_FIBER * speed > 8 * _LONGEST):
            found.setdefault(length, []).append(port)
    for length, ports in found.items():
        effect = (
            "no packet that arrives after a pause has room"
            if not length
            else "no switch has the headroom for it"
        )
        message = f"{statement.name} {join_words(ports, 2)}: a cable of {plural(length, 'meter')}: {effect}"
        remedy, path = "State the length of the cable.", f"{PORT}{ports[0]}]/headroom/cable_m"
        yield finding_at(BUFFER, statement.device, path, message, "cable", Severity.WARNING, remedy)


_SLOWEST = 100
"""Gb/s of a port that states no speed."""


def _reversed_marking(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report queues without PFC that mark no packet: from above where marking ends, or with a probability of 0."""
    every = statement.facts_below("qos/queue[")
    if not every and not any("]/ecn_m" in leaf for leaf in statement.port_leaves):
        return
    lossless, found = traffic_classes.lossless_ports(statement), dict[tuple[str, str], list[str]]()
    settings = {port: values for port, values in statement.ports.items() if port not in lossless}
    for port, values in {"all ports": every, **settings}.items():
        for leaf in values:
            if leaf.endswith("/ecn_max_percent") and as_int(values[leaf]) == 0:
                found.setdefault((leaf, "marks at most 0 %"), []).append(port)
            if leaf.endswith(_FROM):
                first, last = as_int(values[leaf]), as_int(values.get(leaf.removesuffix(_FROM) + _TO))
                if first is not None and last is not None and first > last:
                    words = f"marks from {first:,} to {last:,} bytes, so nothing"
                    found.setdefault((leaf, words), []).append(port)
    for (leaf, words), ports in found.items():
        message = f"{statement.name} {join_words(ports, 2)}: queue {first_key(leaf)} {words}"
        remedy = "Set the lower threshold below the upper one, and a probability."
        path = leaf if leaf in every else f"{PORT}{ports[0]}]/{leaf}"
        yield finding_at(SLOW, statement.device, path, message, "marking", Severity.WARNING, remedy)


_FROM, _TO = "/ecn_min_bytes", "/ecn_max_bytes"


RULES = (
    SwitchRule(UNREAD, CLASSIFICATION, (), _misnamed_definitions),
    SwitchRule(HOP, PFC, (Input.PFC,), _bare_ports_of_hosts),
    SwitchRule(SLOW, PFC, (Input.PFC,), _strict_rdma, shared=True),
    SwitchRule(SLOW, PFC, (Input.PFC,), _uncapped_queues, shared=True),
    SwitchRule(UNCLASSIFIED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _moved_rdma, shared=True),
    SwitchRule(HOP, CLASSIFICATION, (Input.LINKS, Input.CLASSES), _stopped_pausing),
    SwitchRule(UNCLASSIFIED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _reclassified, shared=True),
    SwitchRule(UNCLASSIFIED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _rewritten, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _absurd_cables, shared=True),
    SwitchRule(SLOW, ECN, (), _reversed_marking, shared=True),
    SwitchRule(HOP, CLASSIFICATION, (Input.CLASSES,), _one_way_pauses, shared=True),
    SwitchRule(BUFFER, BUFFERS, (Input.PFC,), _small_pools, shared=True),
    SwitchRule(UNCLASSIFIED, CLASSIFICATION, (Input.PFC, Input.CLASSES), _idle_strict_queues, shared=True),
)
