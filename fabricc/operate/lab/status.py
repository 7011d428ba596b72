"""The state of each node of a lab in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.operate.lab import observe
from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.kernel import NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.operate.lab.running import Lab


def rows(lab: Lab) -> Iterator[tuple[str, str]]:
    """Each node's name, and what is to be said of it."""
    memory = lab.memory_kib()
    for switch in lab.record.switches:
        yield switch, _switch(lab, switch, memory[switch])
    for host in lab.record.hosts:
        yield host, "up" if (NAMESPACES / lab.record.namespace(host)).exists() else "gone"


def _switch(lab: Lab, switch: str, memory_kib: int) -> str:
    if lab.process(switch) is None:
        return "not running"
    if not lab.ready(switch):
        return "booting"
    try:
        sessions = observe.sessions(lab, switch)
    except LabError as error:
        return f"running; {error}"
    established = sum(sessions.values())
    return f"up, {established} of {len(sessions)} sessions Established, {memory_kib / 1024:.0f} MiB"
