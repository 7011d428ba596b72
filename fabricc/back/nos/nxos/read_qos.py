"""Reads class maps, the three kinds of policies, what `system qos` applies, and the global watchdog."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.read_blocks import depth
from fabricc.back.nos.nxos.vocabulary import (
    DEFAULT_RESTORE,
    DEFAULT_SHUTDOWN,
    DEFAULT_WATCHDOG_INTERVAL_MS,
    INPUT,
    NETWORK_QOS,
    OUTPUT,
    expanded,
    group_of,
    queue_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]

_ECN = re.compile(
    r"random-detect minimum-threshold (\d+) (bytes|kbytes|mbytes) maximum-threshold (\d+) (bytes|kbytes|mbytes)"
    r" drop-probability (\d+) weight 0 ecn"
)
_PAUSE = re.compile(r"pause buffer-size (\d+) pause-threshold (\d+) resume-threshold (\d+)")
_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_FIGURES = ("watch-dog interval", "watch-dog shutdown-multiplier", "auto-restore multiplier")
_DSCP_NAMES = {
    "default": 0, "ef": 46, **{f"cs{n}": 8 * n for n in range(1, 8)},
    **{f"af{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
}  # fmt: skip


class ClassMapBlock:
    """`class-map type qos`: the code points of a class."""

    __slots__ = ("dscps", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.dscps: dict[int, int] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`match dscp LIST`, numbers, ranges or names."""
        if words[:2] != ["match", "dscp"] or len(words) != 3:
            return False
        text = ",".join(str(_DSCP_NAMES.get(part, part)) for part in words[2].split(","))
        numbers = expanded(text, 63)
        if numbers is None:
            return False
        self.dscps.update(dict.fromkeys(numbers, number))
        return True


class ClassifyBlock:
    """`policy-map type qos`: the line of each class and its qos-group, in order."""

    __slots__ = ("classes", "current", "groups", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.classes: dict[str, int] = {}
        self.current: str | None = None
        self.groups: dict[str, tuple[int, int]] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`class NAME`, and in it `set qos-group N`."""
        if depth(raw) == 1:
            known = words[0] == "class" and len(words) == 2
            self.current = words[1] if known else None
            if self.current:
                self.classes[self.current] = number
            return known
        if words[:2] == ["set", "qos-group"] and words[2:] and words[2] in "01234567" and len(words) == 3:
            if self.current is None or len(words[2]) != 1 or self.current in self.groups:
                return False
            self.groups[self.current] = (int(words[2]), number)
            return True
        return False

    def map(self, class_maps: dict[str, ClassMapBlock]) -> dict[int, tuple[int, int]]:
        """The qos-group of every code point and the line that names it; the first class that matches decides."""
        found: dict[int, tuple[int, int]] = {}
        for name, (group, _) in self.groups.items():
            if name in class_maps:
                for dscp, line in class_maps[name].dscps.items():
                    found.setdefault(dscp, (group, line))
        default = self.groups.get("class-default", (0, self.number))
        return {dscp: found.get(dscp, default) for dscp in range(64)}


class NetworkQosBlock:
    """`policy-map type network-qos`: MTU of each class and the priorities it is paused by."""

    __slots__ = ("classes", "current", "mtus", "number", "pauses")

    def __init__(self, number: int) -> None:
        self.number = number
        self.classes: dict[str, int] = {}
        self.current: int | None = None
        self.mtus: dict[int, tuple[int, int]] = {}
        self.pauses: dict[int, tuple[int, int]] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`class type network-qos c-8q-nqN`, and in it `mtu N` or `pause pfc-cos N`."""
        if depth(raw) == 1:
            known = words[:3] == ["class", "type", "network-qos"] and len(words) == 4
            self.current = group_of(words[3], NETWORK_QOS) if known else None
            if self.current is not None:
                self.classes[words[3]] = number
            return self.current is not None
        if self.current is None or not words[-1].isdecimal():
            return False
        if words[:-1] == ["mtu"] and self.current not in self.mtus:
            self.mtus[self.current] = (int(words[-1]), number)
        elif words[:-1] == ["pause", "pfc-cos"]:
            self.pauses[int(words[-1])] = (self.current, number)
        else:
            return False
        return True

    def said(self) -> Iterator[Stated]:
        """(class and what about it, value, line) of what the classes say."""
        for group, (mtu, line) in self.mtus.items():
            yield f"{queue_name(group, NETWORK_QOS)}/mtu", mtu, line
        for priority, (group, line) in self.pauses.items():
            yield f"{queue_name(group, NETWORK_QOS)}/pfc-cos", priority, line

    def paused(self) -> str:
        """The priorities that pause, comma-joined."""
        return ",".join(map(str, sorted(self.pauses)))


class Queue:
    """One queue of a queuing policy."""

    __slots__ = ("ecn", "level", "line", "pause", "percent")

    def __init__(self, line: int) -> None:
        self.line = line
        self.level: int | None = None
        self.percent: int | None = None
        self.ecn: tuple[int, int, int, int] | None = None
        self.pause: tuple[int, int, int, int] | None = None


class QueuingBlock:
    """`policy-map type queuing`: facts of every interface that uses it, stated once and copied."""

    __slots__ = ("classes", "ingress", "number", "queue", "queues")

    def __init__(self, number: int) -> None:
        self.number = number
        self.classes: dict[str, int] = {}
        self.queue: Queue | None = None
        self.queues: dict[int, Queue] = {}
        self.ingress: dict[int, Queue] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`class type queuing c-out-8q-qN` or `c-in-qN`, and in it what the queue does."""
        if depth(raw) == 1:
            self.queue = self._open(words, number)
            if self.queue is not None:
                self.classes[words[3]] = number
            return self.queue is not None
        queue = self.queue
        if queue is None:
            return False
        text = " ".join(words)
        shared = queue.level is not None or queue.percent is not None
        if words[:-1] == ["priority", "level"] and words[-1].isdecimal() and not shared:
            queue.level, queue.line = int(words[-1]), number
        elif words[:-1] == ["bandwidth", "remaining", "percent"] and words[-1].isdecimal() and not shared:
            queue.percent, queue.line = int(words[-1]), number
        elif ecn := _ECN.fullmatch(text):
            low, low_unit, high, high_unit, percent = ecn.groups()
            queue.ecn = (int(low) * _BYTES[low_unit], int(high) * _BYTES[high_unit], int(percent), number)
        elif (pause := _PAUSE.fullmatch(text)) and queue.pause is None:
            size, stop, resume = (int(figure) for figure in pause.groups())
            queue.pause = (size, stop, resume, number)
        else:
            return False
        return True

    def _open(self, words: list[str], number: int) -> Queue | None:
        if words[:3] != ["class", "type", "queuing"] or len(words) != 4 or words[3] in self.classes:
            return None
        if (group := group_of(words[3], OUTPUT)) is not None:
            return self.queues.setdefault(group, Queue(number))
        if (group := group_of(words[3], INPUT)) is not None:
            return self.ingress.setdefault(group, Queue(number))
        return None

    def said(self) -> Iterator[Stated]:
        """(class and what about it, value, line) of what the classes say of bandwidth and pausing."""
        for group, queue in self.queues.items():
            if queue.level is not None or queue.percent is not None:
                share = f"level {queue.level}" if queue.level is not None else f"percent {queue.percent}"
                yield f"{queue_name(group, OUTPUT)}/share", share, queue.line
        for group, queue in self.ingress.items():
            if queue.pause:
                *figures, line = queue.pause
                yield f"{queue_name(group, INPUT)}/pause", " ".join(map(str, figures)), line

    def idle(self) -> list[int]:
        """Egress queues that are given nothing; a queue without any word has a share that the device chooses."""
        return sorted(group for group, q in self.queues.items() if q.level is None and q.percent == 0)

    def stated_output(self) -> list[Stated]:
        """(rest of the path, value, line) of every fact it gives an interface as output policy."""
        facts: list[Stated] = []
        for group, queue in self.queues.items():
            prefix = f"queue[{group}]/"
            if queue.level is not None:
                facts.append((prefix + "scheduler", "strict", queue.line))
                facts.append((prefix + "level", queue.level, queue.line))
            elif queue.percent:
                facts.append((prefix + "scheduler", f"dwrr {queue.percent}", queue.line))
            if queue.ecn:
                low, high, percent, line = queue.ecn
                facts.append((prefix + "ecn_min_bytes", low, line))
                facts.append((prefix + "ecn_max_bytes", high, line))
                facts.append((prefix + "ecn_max_percent", percent, line))
        return facts

    def stated_input(self) -> list[Stated]:
        """(rest of the path, value, line) of every fact it gives an interface as input policy.

        The figures of several lossless queues are one fact when they agree, and a list when they do not.
        """
        groups = sorted(group for group, queue in self.ingress.items() if queue.pause)
        figures = [pause for group in groups if (pause := self.ingress[group].pause)]
        if not figures:
            return []
        line = figures[-1][3]

        def agreed(values: list[int]) -> Value:
            return values[0] if len(set(values)) == 1 else ",".join(map(str, values))

        return [
            ("headroom/queues", ",".join(map(str, groups)), line),
            ("headroom/xoff_bytes", agreed([size - stop for size, stop, _, _ in figures]), line),
            ("headroom/pause_bytes", agreed([stop for _, stop, _, _ in figures]), line),
            ("headroom/xon_bytes", agreed([resume for _, _, resume, _ in figures]), line),
        ]


class SystemQosBlock:
    """`system qos`: the policies in force on all ports."""

    __slots__ = ("applied",)

    def __init__(self) -> None:
        self.applied: dict[str, tuple[str, int]] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`service-policy type queuing input|output NAME` or `service-policy type network-qos NAME`."""
        if words[:2] != ["service-policy", "type"] or " ".join(words[2:-1]) not in (
            "network-qos", "queuing input", "queuing output",
        ):  # fmt: skip
            return False
        self.applied[" ".join(words[2:-1])] = (words[-1], number)
        return True

    def name(self, kind: str) -> str:
        """The policy applied, or an empty name."""
        return self.applied.get(kind, ("", 0))[0]


class WatchdogLines:
    """The global watchdog; multiples that a device hides are at their defaults."""

    __slots__ = ("figures", "on")

    def __init__(self) -> None:
        self.on = 0
        self.figures: dict[str, tuple[int, int]] = {}

    def line(self, words: list[str], number: int) -> bool:
        """`priority-flow-control watch-dog-interval on` or a figure of it."""
        if words[1:] == ["watch-dog-interval", "on"]:
            self.on = number
            return True
        key = " ".join(words[1:-1])
        if key not in _FIGURES or not words[-1].isdecimal():
            return False
        self.figures[key] = (int(words[-1]), number)
        return True

    def finish(self, put: Put) -> None:
        """State the timers in milliseconds; nothing when the watchdog is off."""
        if not self.on:
            return
        interval, line = self.figures.get("watch-dog interval", (DEFAULT_WATCHDOG_INTERVAL_MS, self.on))
        shutdown, at = self.figures.get("watch-dog shutdown-multiplier", (DEFAULT_SHUTDOWN, self.on))
        restore, until = self.figures.get("auto-restore multiplier", (DEFAULT_RESTORE, self.on))
        put("watchdog/poll_ms", interval, line)
        put("watchdog/detect_ms", interval * shutdown, at)
        put("watchdog/restore_ms", interval * restore, until)
        put("watchdog/action", "drop", self.on)
