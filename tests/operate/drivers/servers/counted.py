"""Counters and alarms of a device; each server reports them in the form of its system."""

from __future__ import annotations

from dataclasses import dataclass, field

Counts = dict[str, dict[int, int]]
"""Port -> priority, which is the queue -> count."""


@dataclass(slots=True)
class Counted:
    """A test changes it while the server runs.

    Attributes:
        ports: reported ports, with zero counts unless set below.
        marked: packets with congestion experienced.
        storms: that the PFC watchdog detected.
        dropped: packets dropped from queues.
        alarms: part -> its problem.
        routes: BGP prefix -> next hops.
        refused: commands, or beginnings of them, that this platform does not have.
    """

    ports: tuple[str, ...] = ()
    pfc_rx: Counts = field(default_factory=dict)
    pfc_tx: Counts = field(default_factory=dict)
    marked: Counts = field(default_factory=dict)
    storms: Counts = field(default_factory=dict)
    dropped: Counts = field(default_factory=dict)
    alarms: dict[str, str] = field(default_factory=dict)
    routes: dict[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def of(self, what: str, port: str, priority: int) -> int:
        """Return one count, 0 if none is set."""
        counts: Counts = getattr(self, what)
        return counts.get(port, {}).get(priority, 0)

    def all(self, what: str, port: str) -> int:
        """A count of all priorities."""
        counts: Counts = getattr(self, what)
        return sum(counts.get(port, {}).values())

    def refuses(self, command: str) -> bool:
        """Return whether the platform does not have a command."""
        return command.startswith(self.refused) if self.refused else False
