"""Check what makes a class lossless on one device, without any plan: PFC, marking, watchdog, map, other pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.audit.frame import PORT
from fabricc.audit.rules.ends import marks, queue_of
from fabricc.audit.rules.sheet import told
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.proof.invariants.view import CODE_POINTS, as_int, priorities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

UNGUARDED, CLASSED, PAUSED = "FAB9606", "FAB9607", "FAB9608"
_OFF = ("off", "none", "false", "0")


def port_findings(sheet: Sheet) -> Iterator[Finding]:
    """Report PFC without watchdog or marking, pauses for all traffic next to PFC, and priorities without a mapping."""
    if sheet.once(port_findings, lambda: any(True for _ in _port_findings(sheet))):
        yield from _port_findings(sheet)


def _port_findings(sheet: Sheet) -> Iterator[Finding]:
    lossless = {port: found for port, says in sheet.ports.items() if (found := priorities(says.get("pfc")))}
    if not lossless:
        return
    guarded = {port for port in lossless if sheet.ports[port].get("watchdog") == "true"}
    if left := [port for port in lossless if port not in guarded]:
        text = f"{_ports(left)}: PFC without a watchdog: one stuck receiver can stop the fabric"
        remedy = "Turn the PFC watchdog on for every port with PFC."
        yield _told(
            sheet, UNGUARDED, left[0], ("watchdog", "pfc"), text, "no watchdog", Severity.WARNING, remedy
        )
    unmarked: dict[int, list[str]] = {}
    for port, found in lossless.items():
        for priority in found:
            queue = queue_of(sheet, priority)
            if not marks(sheet, port, queue):
                unmarked.setdefault(queue, []).append(port)
    for queue, ports in sorted(unmarked.items()):
        text = (
            f"{_ports(ports)}: PFC and no ECN on queue {queue}: senders slow down only when they are paused"
        )
        remedy = "Mark the queue from below the point at which the port pauses."
        yield _told(sheet, UNGUARDED, ports[0], ("pfc",), text, "no ECN", Severity.WARNING, remedy)
    yield from _fill_levels(sheet, lossless)
    both = [port for port in lossless if str(sheet.ports[port].get("flow_control", "off")) not in _OFF]
    if both:
        text = f"{_ports(both)}: global pause (IEEE 802.3x) beside PFC: one link can use only one"
        yield _told(
            sheet, PAUSED, both[0], ("flow_control",), text, "802.3x", Severity.WARNING, "Turn it off."
        )
    yield from _unused(sheet, lossless)


def _fill_levels(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Marking that ends before it begins, where its thresholds are shares of the buffer."""
    wrong: dict[tuple[int, int, int], list[str]] = {}
    for port, found in lossless.items():
        for queue in {queue_of(sheet, priority) for priority in found}:
            path = f"queue[{queue}]/ecn_{{}}_fill_percent"
            low, high = (as_int(sheet.ports[port].get(path.format(end))) for end in ("min", "max"))
            if low is not None and high is not None and low >= high:
                wrong.setdefault((queue, low, high), []).append(port)
    for (queue, low, high), ports in wrong.items():
        text = (
            f"{_ports(ports)}: queue {queue} marks from {low} % of its buffer to {high} %, which is no more"
        )
        leaves = (f"queue[{queue}]/ecn_min_fill_percent",)
        yield _told(sheet, UNGUARDED, ports[0], leaves, text, "marking", Severity.ERROR, "Swap the two.")


def _unused(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report priorities with PFC that no code point leads to."""
    classes = classes_of(sheet)
    if not classes:
        return
    groups = {group_of(sheet, each) for each in set(classes.values())}
    for priority in sorted({each for found in lossless.values() for each in found}):
        if priority_group(sheet, priority) in groups or queue_of(sheet, priority) in _queues(sheet, classes):
            continue
        port = next(port for port, found in lossless.items() if priority in found)
        text = (
            f"PFC for priority {priority}, which no code point is mapped to: what it is for is not protected"
        )
        remedy = "Map the code points of the lossless traffic to this class, or turn its PFC off."
        paths = tuple(f"qos/dscp[{dscp}]/traffic_class" for dscp in classes)
        yield told(
            CLASSED, sheet.device, (f"{PORT}{port}]/pfc", *paths), f"{sheet.name}: {text}", "PFC of no class",
            Severity.WARNING, remedy,
        )  # fmt: skip


def classes_of(sheet: Sheet) -> dict[int, int]:
    """Return code point -> traffic class, as far as the files state it."""
    return sheet.once(classes_of, lambda: _classes_of(sheet))


def _classes_of(sheet: Sheet) -> dict[int, int]:
    said = ((dscp, as_int(sheet.rest.get(f"qos/dscp[{dscp}]/traffic_class"))) for dscp in range(CODE_POINTS))
    return {dscp: found for dscp, found in said if found is not None}


def group_of(sheet: Sheet, traffic_class: int) -> int:
    """Return the priority group of a class; its own number if the files do not state it."""
    stated = as_int(sheet.rest.get(f"qos/traffic_class[{traffic_class}]/priority_group"))
    return traffic_class if stated is None else stated


def priority_group(sheet: Sheet, priority: int) -> int:
    """Priority group that sends pauses of a priority."""
    stated = as_int(sheet.rest.get(f"qos/pfc_priority[{priority}]/priority_group"))
    return priority if stated is None else stated


def _queues(sheet: Sheet, classes: dict[int, int]) -> set[int]:
    found = set()
    for each in set(classes.values()):
        stated = as_int(sheet.rest.get(f"qos/traffic_class[{each}]/queue"))
        found.add(each if stated is None else stated)
    return found


def rdma_findings(sheet: Sheet, dscp: int, said_by: str) -> Iterator[Finding]:
    """RDMA's code point leads into a class with PFC on every port to another device that has any PFC."""
    classes = classes_of(sheet)
    if dscp not in classes:
        return
    group, queue = group_of(sheet, classes[dscp]), _queues(sheet, {dscp: classes[dscp]})
    bare = []
    for port, says in sheet.ports.items():
        found = priorities(says.get("pfc"))
        if found and not any(
            priority_group(sheet, each) == group or queue_of(sheet, each) in queue for each in found
        ):
            bare.append(port)
    if bare:
        message = (
            f"{sheet.name}: DSCP {dscp}, RDMA's ({said_by}), is in class {classes[dscp]}, which {_ports(bare)} "
            f"{'does' if len(bare) == 1 else 'do'} not protect by PFC: RDMA drops there"
        )
        remedy = "Map it to the class that has PFC, on every device alike."
        yield told(
            CLASSED, sheet.device, f"qos/dscp[{dscp}]/traffic_class", message, "RDMA lossy", Severity.ERROR, remedy
        )  # fmt: skip


def protected(sheet: Sheet) -> frozenset[int] | None:
    """Return the code points that PFC protects on every port of the device with PFC; None without such ports."""
    return sheet.once(protected, lambda: _protected(sheet))


def _protected(sheet: Sheet) -> frozenset[int] | None:
    kinds = {found for says in sheet.ports.values() if (found := priorities(says.get("pfc")))}
    if not kinds:
        return None
    classes = classes_of(sheet)
    groups = [{priority_group(sheet, each) for each in kind} for kind in kinds]
    return frozenset(
        d for d, each in classes.items() if all(group_of(sheet, each) in kind for kind in groups)
    )


def _ports(ports: list[str]) -> str:
    return join_words(ports, 2)


def _told(
    sheet: Sheet,
    code: str,
    port: str,
    leaves: tuple[str, ...],
    text: str,
    group: str,
    severity: Severity,
    remedy: str,
) -> Finding:
    paths = tuple(f"{PORT}{port}]/{leaf}" for leaf in leaves)
    return told(code, sheet.device, paths, f"{sheet.name} {text}", group, severity, remedy)
