"""Reads the profiles of class of service: drop profiles, schedulers, congestion notification."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.read_bgp import Shared
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from fabricc.back.nos.junos.tree import Node
    from fabricc.fabric.facts import Value

    Place = tuple[int, int]

_MARKING = ("drop-profile-map", "loss-priority", "any", "protocol", "any", "drop-profile")
# Defaults of `pfc-watchdog` (Juniper, PFC watchdog).
_DEFAULT_POLL_MS, _DEFAULT_POLLS, _DEFAULT_RECOVERY_MS, _DEFAULT_ACTION = 100, 2, 200, "drop"
_POINT_NUMBERS = {"mru": "mru_bytes", "xon": "xon_offset_cells"}


@dataclass(slots=True)
class Curve:
    """A marking curve of two points, percent, and the line of each part."""

    low: Place
    high: Place
    percent: Place


@dataclass(slots=True)
class Scheduler:
    """One scheduler; `marking` is None unless it marks instead of dropping."""

    strict: int = 0
    percent: Place | None = None
    marking: Curve | None = None

    def stated(self) -> Iterator[tuple[str, Value, int]]:
        """(rest of the path, value, line) of each fact of a queue that uses it."""
        if self.strict:
            yield "scheduler", "strict", self.strict
            if self.percent:
                yield "strict_percent", *self.percent
        elif self.percent:
            yield "scheduler", f"dwrr {self.percent[0]}", self.percent[1]
        if self.marking:
            yield "ecn_min_fill_percent", *self.marking.low
            yield "ecn_max_fill_percent", *self.marking.high
            yield "ecn_max_percent", *self.marking.percent


@dataclass(slots=True)
class Congestion:
    """One congestion-notification profile.

    Attributes:
        points: DSCP -> its `pfc` statement, of those that are to cause pause.
        outputs: PFC priority -> (queue, line).
        sizes: what headroom is sized by, as its facts are called.
        watchdog: line, or 0 without one.
    """

    points: dict[int, Node] = field(default_factory=dict)
    outputs: dict[int, Place] = field(default_factory=dict)
    sizes: dict[str, Shared] = field(default_factory=dict)
    watchdog: int = 0
    timers: dict[str, tuple[Value, int]] = field(default_factory=dict)

    def note(self, stopped: dict[int, Shared], watchdog: dict[str, Shared]) -> None:
        """Add its word to what all interfaces are to agree on."""
        for priority, queue in self.outputs.items():
            stopped.setdefault(priority, Shared()).note(*queue)
        for key, timer in self.timers.items():
            watchdog[key].note(*timer)


def _drop_profiles(cos: Node, used: Container[str]) -> dict[str, Curve]:
    """The curves in use that rise from 0 between two fill levels; others stay unknown."""
    found = {}
    for node in (node for node in cos.below("drop-profiles") if node.word in used):
        levels = list(node.below("interpolate", "fill-level"))
        chances = list(node.below("interpolate", "drop-probability"))
        points = [*levels, *chances]
        if len(levels) != 2 or len(chances) != 2 or not all(p.word.isdecimal() and p.ends for p in points):
            continue
        if int(chances[0].word[:9]) == 0:
            low, high, _, percent = ((int(point.word[:9]), point.take()) for point in points)
            found[node.word] = Curve(low, high, percent)
    return found


def schedulers(cos: Node, used: Container[str]) -> dict[str, Scheduler]:
    """Every scheduler in use; a curve counts only where congestion is notified instead of dropped."""
    nodes = [node for node in cos.below("schedulers") if node.word in used]
    curves = _drop_profiles(cos, {name.word for node in nodes for name in node.below(*_MARKING)})
    found = {}
    for node in nodes:
        scheduler = Scheduler(
            strict=node.flag("priority", "strict-high"), percent=node.number("transmit-rate", "percent")
        )
        name = node.reference(curves, *_MARKING)
        if node.flag("explicit-congestion-notification") and name:
            scheduler.marking = curves[name[0]]
        found[node.word] = scheduler
    return found


def congestion(node: Node) -> Congestion:
    """What one congestion-notification profile says."""
    found = Congestion()
    if length := node.number("input", "cable-length"):
        found.sizes["cable_m"] = Shared()
        found.sizes["cable_m"].note(*length)
    for point in node.below("input", "dscp", "code-point"):
        if len(point.word) != 6 or point.word.strip("01"):
            continue
        pfc = point.get("pfc")
        if pfc is None or not pfc.ends:
            continue
        found.points[int(point.word, 2)] = pfc
        for word, key in _POINT_NUMBERS.items():
            if size := point.number(word):
                found.sizes.setdefault(key, Shared()).note(*size)
    for point in node.below("output", "ieee-802.1", "code-point"):
        queue = point.number("flow-control-queue")
        if queue and len(point.word) == 3 and not point.word.strip("01"):
            found.outputs[int(point.word, 2)] = queue
    _watchdog(node, found)
    return found


def _watchdog(node: Node, found: Congestion) -> None:
    """Timers of a profile; what it leaves out is at Junos's default."""
    watchdog = node.get("pfc-watchdog")
    if watchdog is None:
        return
    line = watchdog.take() or watchdog.line
    poll = watchdog.number("poll-interval") or (_DEFAULT_POLL_MS, line)
    polls = watchdog.number("detection") or (_DEFAULT_POLLS, line)
    found.watchdog = poll[1]
    found.timers["poll_ms"] = poll
    found.timers["detect_ms"] = (poll[0] * polls[0], polls[1])
    found.timers["restore_ms"] = watchdog.number("recovery") or (_DEFAULT_RECOVERY_MS, line)
    found.timers["action"] = watchdog.value("watchdog-action") or (_DEFAULT_ACTION, line)
