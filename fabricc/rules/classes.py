"""Traffic classes of a switch: code points, priority groups, queues, and marking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.proof.invariants.view import CODE_POINTS, as_int, parse_priorities

if TYPE_CHECKING:
    from fabricc.facts.statement import Statement

_MARKS = ("ecn_min_bytes", "ecn_max_bytes", "ecn_min_fill_percent", "ecn")


def lossless_ports(statement: Statement) -> dict[str, tuple[int, ...]]:
    """Return port with PFC -> its lossless priorities; callers must not modify the result."""
    return statement.once(lossless_ports, lambda: _lossless_ports(statement))


def _lossless_ports(statement: Statement) -> dict[str, tuple[int, ...]]:
    return {
        port: found
        for port, values in statement.ports.items()
        if (found := parse_priorities(values.get("pfc")))
    }


def classes_of(statement: Statement) -> dict[int, int]:
    """Return code point -> traffic class, as far as the files state it."""
    return statement.once(classes_of, lambda: _classes_of(statement))


def _classes_of(statement: Statement) -> dict[int, int]:
    mapped = (
        (dscp, as_int(statement.rest.get(f"qos/dscp[{dscp}]/traffic_class"))) for dscp in range(CODE_POINTS)
    )
    return {dscp: found for dscp, found in mapped if found is not None}


def group_of(statement: Statement, traffic_class: int) -> int:
    """Return the priority group of a class; its own number if the files do not state it."""
    stated = as_int(statement.rest.get(f"qos/traffic_class[{traffic_class}]/priority_group"))
    return traffic_class if stated is None else stated


def priority_group(statement: Statement, priority: int) -> int:
    """Return the priority group that sends pause frames of a priority."""
    stated = as_int(statement.rest.get(f"qos/pfc_priority[{priority}]/priority_group"))
    return priority if stated is None else stated


def queues_of(statement: Statement, classes: dict[int, int]) -> set[int]:
    """Return the queues of these classes."""
    found = set()
    for each in set(classes.values()):
        stated = as_int(statement.rest.get(f"qos/traffic_class[{each}]/queue"))
        found.add(each if stated is None else stated)
    return found


def queue_of(statement: Statement, priority: int) -> int:
    """Return the queue that a pause for a priority stops."""
    for path in (f"qos/pfc_priority[{priority}]/queue", f"qos/traffic_class[{priority}]/queue"):
        if isinstance(queue := statement.rest.get(path), int):
            return queue
    return priority


def marks_packets(statement: Statement, port: str, queue: int) -> bool:
    """Return whether a queue of a port marks packets, in whatever unit the threshold is stated."""
    values = statement.ports.get(statement.base(port), {})
    return any(f"queue[{queue}]/{leaf}" in values for leaf in _MARKS) or "ecn_delay_us" in values
