"""Invariant 11 over the whole fabric: no cycle of buffers that wait for each other, in any state of the fabric.

Under PFC a packet holds a buffer at the end of one link while it waits for one at the end of the next. A deadlock needs
a cycle of such waits, so the fabric is free of deadlock when links can be put in an order that all traffic follows
(Dally and Seitz 1987; for PFC: Guo et al., SIGCOMM 2016, section 4.2). The nodes here are channels, all links from
switches of one class to switches of another; an edge means that traffic of some route can go from the one to the other.
`announce` supplies every edge that policy permits, in any state after any failure. Priorities are not
distinguished: without a cycle over all of them together there is none in any of them, also where a map were wrong.

Links to hosts are omitted: nothing depends on one from a host, and a host forwards nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.proof.invariants.announce import Channel, Kind


def find_cycle(dependencies: Mapping[Channel, set[Channel]]) -> list[Channel]:
    """Return a cycle of channels, each depending on the next and the last on the first; empty without one.

    A topological sort (Kahn): channels on which no other remaining channel depends are removed until none is left; a
    remainder contains a cycle. Time is linear in channels and dependencies.
    """
    waiting: dict[Channel, int] = {}
    for source, targets in dependencies.items():
        waiting.setdefault(source, 0)
        for target in targets:
            waiting[target] = waiting.get(target, 0) + 1
    ready = deque(sorted(channel for channel, count in waiting.items() if count == 0))
    while ready:
        channel = ready.popleft()
        del waiting[channel]
        for target in dependencies.get(channel, ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return _walk_backwards({c: sorted(t for t in dependencies.get(c, ()) if t in waiting) for c in waiting})


def _walk_backwards(left: Mapping[Channel, list[Channel]]) -> list[Channel]:
    """Return a cycle among channels that each have a predecessor in `left`, by walking backwards."""
    if not left:
        return []
    before: dict[Channel, Channel] = {}
    for source in sorted(left, reverse=True):
        for target in left[source]:
            before[target] = source
    path: list[Channel] = []
    at = min(before)
    while at not in path:
        path.append(at)
        at = before[at]
    return path[path.index(at) :][::-1]


def cycle_devices(kinds: list[Kind], channels: list[Channel]) -> list[str]:
    """Return the devices on a cycle of channels, the first one again at the end.

    Consecutive channels share a class; if a class occurs several times, each occurrence uses another member. A circle
    of two classes goes round twice, since no link leads back over itself.
    """
    channels = channels * 2 if len(channels) == 2 else channels
    passed: dict[int, int] = {}
    names = []
    for kind, _ in channels:
        at = passed.get(kind, 0)
        passed[kind] = at + 1
        names.append(kinds[kind].names[at % len(kinds[kind].names)])
    return [*names, names[0]]
