"""Reads the quality-of-service blocks: QoS profiles, buffer profiles, the maps and the global watchdog."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.read_blocks import depth
from fabricc.back.nos.eos.vocabulary import ALPHA_OF, default_traffic_class

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]

_QUEUE_KEYWORDS = ("uc-tx-queue", "tx-queue")
_ECN = re.compile(
    r"random-detect ecn minimum-threshold (\d+) (bytes|kbytes|mbytes)"
    r" maximum-threshold (\d+) (bytes|kbytes|mbytes) max-mark-probability (\d+)(?: weight 0)?"
)
ECN_COUNTER = "random-detect ecn count"
_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_WEIGHT = re.compile(r"bandwidth percent (\d{1,3})")
_GUARANTEE = re.compile(r"bandwidth guaranteed (?:percent (\d{1,3})|(\d{1,12})(?: ([kmg]bps))?)")
_SECONDS = re.compile(r"\d{1,5}(?:\.\d{1,3})?")
ALL_GROUPS = "all"  # priority groups, where a threshold names none
_TIMERS = {"timeout": "detect_ms", "recovery-time": "restore_ms", "polling-interval": "poll_ms"}


class Queue:
    """One transmit queue of a profile; without `no priority` it is strict, EOS's default.

    Attributes:
        percent: its weight beside the others that are not strict.
        guaranteed: what it is served before all others, as (amount with its unit, line); None for nothing.
        count: line by which its marks are counted, 0 for none.
    """

    __slots__ = ("count", "ecn", "guaranteed", "line", "percent", "strict")

    def __init__(self, line: int) -> None:
        self.line = line
        self.strict = True
        self.percent = 0
        self.guaranteed: tuple[str, int] | None = None
        self.count = 0
        self.ecn: tuple[int, int, int, int] | None = None


class QosProfileBlock:
    """`qos profile NAME`: facts of every interface that uses it, stated once and copied."""

    __slots__ = ("enabled", "no_drop", "queue", "queues", "trust", "watchdog")

    def __init__(self) -> None:
        self.trust: int | None = None
        self.enabled: int | None = None
        self.watchdog: int | None = None
        self.no_drop: dict[int, int] = {}
        self.queues: dict[int, Queue] = {}
        self.queue: Queue | None = None

    @property
    def stopped(self) -> frozenset[int]:
        """Queues that PFC can stop, by the number of their priority."""
        return frozenset(self.no_drop) if self.enabled else frozenset()

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A line of the profile, or of the queue last named when it is indented deeper."""
        if depth(raw) > 1:
            return self.queue is not None and self._queue_line(self.queue, words, number)
        if len(words) == 2 and words[0] in _QUEUE_KEYWORDS and words[1].isdecimal():
            self.queue = self.queues.setdefault(int(words[1]), Queue(number))
            return True
        text = " ".join(words)
        if text == "qos trust dscp":
            self.trust = number
        elif text == "priority-flow-control on":
            self.enabled = number
        elif text == "priority-flow-control pause watchdog":
            self.watchdog = number
        elif words[:2] == ["priority-flow-control", "priority"] and words[3:] == ["no-drop"]:
            if not words[2].isdecimal():
                return False
            self.no_drop[int(words[2])] = number
        else:
            return False
        return True

    @staticmethod
    def _queue_line(queue: Queue, words: list[str], number: int) -> bool:
        text = " ".join(words)
        if weight := _WEIGHT.fullmatch(text):
            queue.percent, queue.line = int(weight[1]), number
        elif guarantee := _GUARANTEE.fullmatch(text):
            percent, rate, unit = guarantee.groups()
            queue.guaranteed = (f"{percent} percent" if percent else f"{rate} {unit or 'kbps'}", number)
        elif text == ECN_COUNTER:
            queue.count = number
        elif text in ("no priority", "priority strict"):
            queue.strict = words[0] == "priority"
            queue.line = number
        elif ecn := _ECN.fullmatch(text):
            low, low_unit, high, high_unit, percent = ecn.groups()
            queue.ecn = (int(low) * _BYTES[low_unit], int(high) * _BYTES[high_unit], int(percent), number)
        else:
            return False
        return True

    def stated(self) -> list[Stated]:
        """(rest of the path, value, line) of every fact it gives an interface."""
        facts: list[Stated] = []
        if self.trust:
            facts.append(("trust", "dscp", self.trust))
        if self.enabled and self.no_drop:
            priorities = sorted(self.no_drop)
            facts.append(("pfc", ",".join(map(str, priorities)), self.no_drop[priorities[-1]]))
            queues = [self.queues.get(priority) for priority in priorities]
            guards = self.watchdog is not None and all(q and q.guaranteed for q in queues)
            facts.append(("watchdog", "true" if guards else "false", self.watchdog or self.enabled))
        for index, queue in self.queues.items():
            scheduler = "strict" if queue.strict else f"dwrr {queue.percent}"
            facts.append((f"queue[{index}]/scheduler", scheduler, queue.line))
            if queue.guaranteed:
                facts.append((f"queue[{index}]/guaranteed", *queue.guaranteed))
            if queue.count:
                facts.append((f"queue[{index}]/ecn_count", "true", queue.count))
            if queue.ecn:
                low, high, percent, line = queue.ecn
                facts.append((f"queue[{index}]/ecn_min_bytes", low, line))
                facts.append((f"queue[{index}]/ecn_max_bytes", high, line))
                facts.append((f"queue[{index}]/ecn_max_percent", percent, line))
        return facts


class MmuProfileBlock:
    """`platform trident mmu queue profile NAME`: buffer facts of every interface it is applied to."""

    __slots__ = ("alpha", "facts", "groups")

    def __init__(self) -> None:
        self.facts: list[Stated] = []
        self.alpha: str | None = None
        self.groups: dict[str, int] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """Ingress threshold of all or of one priority group, headroom and resume; egress threshold per unicast queue.

        Sizes without a unit are bytes. A profile has one ingress threshold: a second one is of unknown meaning.
        """
        value = words[-1]
        head = words[:-1]
        if head[:1] == ["ingress"] and head[-1:] == ["threshold"] and value in ALPHA_OF:
            return self._threshold(head[1:-1], value, number)
        if head in (["ingress", "headroom", "bytes"], ["ingress", "headroom"]) and value.isdecimal():
            self.facts.append(("headroom/xoff_bytes", int(value), number))
        elif head == ["ingress", "resume"] and value.isdecimal():
            self.facts.append(("headroom/xon_bytes", int(value), number))
        elif head[:3] == ["egress", "unicast", "queue"] and head[4:] == ["threshold"] and value in ALPHA_OF:
            self.facts.append((f"queue[{head[3]}]/egress_dynamic_th", ALPHA_OF[value], number))
        else:
            return False
        return True

    def _threshold(self, group: list[str], alpha: str, number: int) -> bool:
        """`[priority-group N] threshold ALPHA`: of one priority group, or of all of them."""
        if group and (len(group) != 2 or group[0] != "priority-group" or not group[1].isdecimal()):
            return False
        if self.alpha not in (None, alpha):
            return False
        if self.alpha is None:
            self.facts.append(("headroom/dynamic_th", ALPHA_OF[alpha], number))
        self.alpha = alpha
        self.groups[group[1] if group else ALL_GROUPS] = number
        return True

    def stated(self) -> list[Stated]:
        """(rest of the path, value, line) of every fact it gives an interface."""
        if not self.groups:
            return self.facts
        groups = ",".join(sorted(self.groups))
        return [*self.facts, ("headroom/priority_groups", groups, max(self.groups.values()))]


class QosMaps:
    """The `qos map` lines and the global watchdog lines."""

    __slots__ = ("classes", "queues", "watchdog")

    def __init__(self) -> None:
        self.classes: dict[int, tuple[int, int]] = {}
        self.queues: dict[int, tuple[int, int]] = {}
        self.watchdog: dict[str, tuple[Value, int]] = {}

    def map_line(self, words: list[str], number: int) -> bool:
        """`qos map dscp D… to traffic-class T` or `qos map traffic-class T… to [uc-]tx-queue Q`."""
        if len(words) < 7 or words[-3] != "to" or words[1] != "map":
            return False
        numbers = [*words[3:-3], words[-1]]
        if not all(word.isdecimal() for word in numbers):
            return False
        kinds = (words[2], words[-2])
        if kinds == ("dscp", "traffic-class"):
            table = self.classes
        elif kinds[0] == "traffic-class" and kinds[1] in _QUEUE_KEYWORDS:
            table = self.queues
        else:
            return False
        target = (int(numbers[-1]), number)
        for word in numbers[:-1]:
            table[int(word)] = target
        return True

    def watchdog_line(self, words: list[str], number: int) -> bool:
        """`priority-flow-control pause watchdog default TIMER SECONDS` or `… action ACTION`."""
        if words[1:3] != ["pause", "watchdog"] or len(words) not in (5, 6):
            return False
        value = words[-1]
        if len(words) == 6 and words[3] == "default" and words[4] in _TIMERS and _SECONDS.fullmatch(value):
            self.watchdog[_TIMERS[words[4]]] = (int(Decimal(value) * 1000), number)
        elif len(words) == 5 and words[3] == "action" and value in ("drop", "errdisable", "notify-only"):
            self.watchdog["action"] = (value, number)
        else:
            return False
        return True

    def finish(self, put: Put) -> None:
        """State the maps in full: what no line says is EOS's default map, on no line."""
        classes = {dscp: (default_traffic_class(dscp), 0) for dscp in range(64)} | self.classes
        for dscp, (traffic_class, line) in classes.items():
            put(f"qos/dscp[{dscp}]/traffic_class", traffic_class, line)
        used = {traffic_class: (traffic_class, 0) for traffic_class, _ in classes.values()}
        for traffic_class, (queue, line) in (used | self.queues).items():
            put(f"qos/traffic_class[{traffic_class}]/queue", queue, line)
        for name, (value, line) in self.watchdog.items():
            put(f"watchdog/{name}", value, line)
