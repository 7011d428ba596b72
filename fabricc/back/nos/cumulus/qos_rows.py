"""Read back quality of service of NVUE: rows, and the settings that profiles give to their ports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import TRIMMING, Release, has
from fabricc.back.nos.cumulus.qos import BOTH_WAYS, EGRESS_ALPHA, LOSSLESS_POOL, LOSSY_POOL
from fabricc.back.nos.cumulus.roce import LOSSLESS
from fabricc.back.nos.cumulus.startup import (
    File,
    constant_rows,
    entry_part,
    fixed_text,
    nearest_line,
    node_part,
    scope_at,
    table_entries_at,
    table_part,
)
from fabricc.back.nos.cumulus.words import ALPHAS, GLOBAL
from fabricc.back.reading import Captured, Entry, Fact, Keep, Row, Scope, StoredValue
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value | None, int]
    """Rest of the path of a port's fact, its value (None if not stated), and its line or place."""

_TRUST = {"l3": "dscp"}
_RED = "red: disable"
_POOLS = {LOSSLESS_POOL: "lossless", "roce-lossless": "lossless", LOSSY_POOL: "lossy"}
_BESIDE_ROCE = {"roce", "pfc", "congestion-control", "pfc-watchdog"}
_THRESHOLDS = ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent")
_SMALL_BUFFER = 65536
"""Bytes with which a buffer is small at any pause point: a shorter headroom is its fault."""
_HEADROOM = ("headroom/cable_m", "headroom/size_bytes", "headroom/resume_distance_bytes")
TYPES: Mapping[str, Mapping[str, int | str]] = {
    "alpha": {word: exponent for exponent, word in ALPHAS.items()},
    "pool": _POOLS,
    "roce mode": {LOSSLESS: LOSSLESS},
}

PORT: Sequence[Row] = (
    Keep("qos mapping profile <word>", "mapping profile"),
    Keep("qos pfc profile <word>", "pfc profile"),
    Keep("qos congestion-control profile <word>", "marking profile"),
    Keep("qos pfc-watchdog state enable", "watchdog", "true"),
    Keep("qos pfc-watchdog state disable", "watchdog", "false"),
)
"""Of a port."""
TRIMMED = Entry("packet-trim egress-eligibility traffic-class <numbers>", "trimmed", "true")
"""Of a port, where the release trims."""

_QOS = node_part("qos",
    node_part("mapping",
        node_part(GLOBAL,
            Entry("dscp <numbers> switch-priority <integer>", "dscp"),
            Fact("port-default-sp <integer>", "qos/untagged/traffic_class"),
            Keep("trust <word>", "trust"),
        ),
        entry_part("<word>", Keep("port-default-sp <integer>", "class"), Keep("trust <word>", "trust")),
    ),
    node_part("egress-queue-mapping", node_part(GLOBAL,
        table_part("switch-priority", "<numbers>",
            Keep("traffic-class <integer>", "queue"),
            here=f"qos/mapped[{GLOBAL}]/priority[{{0}}]",
        ),
    )),
    node_part("egress-scheduler", node_part(GLOBAL,
        table_part("traffic-class", "<numbers>",
            Keep("mode <strict|dwrr>", "mode"),
            Keep("bw-percent <integer>", "percent"),
            here=f"qos/scheduled[{GLOBAL}]/queue[{{0}}]",
        ),
    )),
    node_part("congestion-control",
        node_part(GLOBAL, table_part("traffic-class", "<numbers>", Keep("ecn <word>", "ecn"),
            Keep("min-threshold <integer>", "ecn_min_bytes"), Keep("max-threshold <integer>", "ecn_max_bytes"),
            Keep("probability <integer>", "ecn_max_percent"))),
        entry_part("<word>", table_part("traffic-class", "<numbers>",
            Keep("ecn <word>", "ecn"),
            fixed_text(_RED),
            Keep("min-threshold <integer>", "ecn_min_bytes"),
            Keep("max-threshold <integer>", "ecn_max_bytes"),
            Keep("probability <integer>", "ecn_max_percent"),
        )),
    ),
    table_part("traffic-pool", "<pool>",
        Keep("memory-percent <integer>", "percent"),
        node_part("switch-priority", Entry("<numbers>", "priorities", "true")),
    ),
    node_part("advance-buffer-config", node_part(GLOBAL,
        node_part("egress-lossless-buffer", Keep("shared-alpha <word>", "alpha"), needed=True),
        node_part("ingress-lossless-buffer", Keep("shared-alpha <alpha>", "alpha")),
    )),
    table_part("pfc", "<word>",
        *constant_rows(BOTH_WAYS),
        Keep("(rx|tx) disable", "one way", "true"),
        Entry("switch-priority <numbers>", "priorities", "true"),
        Keep("cable-length <integer>", "headroom/cable_m"),
        Keep("port-buffer <integer>", "headroom/size_bytes"),
        Keep("xon-threshold <integer>", "headroom/resume_distance_bytes"),
        Keep("xoff-threshold <integer>", "pause"),
    ),
    node_part("roce", Keep("enable on", "on", "true"), Keep("state enabled", "on", "true"),
        Keep("mode <roce mode>", "mode")),
    node_part("pfc-watchdog", Keep("polling-interval <integer>", "poll_ms"), Keep("robustness <integer>", "polls")),
    needed=True,
)  # fmt: skip


def rows(release: Release) -> Sequence[Row]:
    """Return the policy below `qos`, and trimming."""
    if not has(release.name, TRIMMING):
        return (_QOS,)
    trim = node_part("packet-trim", fixed_text("state: enabled"), Fact("size <integer>", "trimming/size_bytes"),
        Fact("remark dscp <integer>", "trimming/dscp"), Keep("switch-priority <integer>", "priority"),
    )  # fmt: skip
    return _QOS, node_part("system", node_part("forwarding", trim))


class Policy(File):
    """The policy of a file, as ports are bound to it."""

    def __init__(self, file: File) -> None:
        super().__init__(file.document, file.release)
        self.qos = scope_at(self.root, "qos")
        self.pfc = table_entries_at(self.qos, "pfc")
        self.marking = dict(table_entries_at(self.qos, "congestion-control"))
        if marking := scope_at(self.qos, "congestion-control", GLOBAL):
            self.marking[GLOBAL] = marking
        self.queues = table_entries_at(self.qos, "egress-scheduler", GLOBAL, "traffic-class")
        self.bound: set[str] = set()
        self.roce = _is_roce_alone(self.qos)
        self._stated: dict[tuple[Value, Value], list[Stated]] = {}
        self._bindings: dict[str, list[tuple[int, str, int]]] = {}

    def port(self, name: str, port: Scope) -> None:
        """State the policy of a port: what it is bound to, else what is global."""
        paths = port_paths(name)
        for queue, (_, line) in port.table("trimmed").items():
            self.put(paths[f"trimmed/queue[{queue}]"], "true", line)
        if trimmed := port.table("trimmed"):
            self.agree("trimming/queues", _join_table(trimmed), _first_line(trimmed, port))
        if self.qos is None:
            self._bound_profile(port, "pfc", {})
            self._bound_profile(port, "marking", {})
            return
        pfc, marking = (
            self._bound_profile(port, "pfc", self.pfc),
            self._bound_profile(port, "marking", self.marking),
        )
        stated = self._stated.get((pfc, marking))
        if stated is None:
            stated = self._stated[pfc, marking] = [
                *self._common_statements(),
                *self._headroom_statements(pfc),
                *self._marking_statements(marking),
            ]
        facts, lines, file = self.facts, self.lines, self.document.file
        for leaf, value, line in stated:
            if value is not None:
                facts[paths[leaf]] = value
            lines[paths[leaf]] = (file, line)
        if "mapping profile" in port.values:
            self._state_mapping(name, port)
        if self.roce and "watchdog" in port.values:
            self.put(paths["watchdog"], *port.values["watchdog"])
        elif pfc:
            line = port.values["pfc profile"][1]
            if isinstance(speed := port.values.get("speed_gbps", (0, 0))[0], int) and speed:
                self._bindings.setdefault(pfc, []).append((speed, paths["headroom/xoff_bytes"], line))
            self.put(paths["watchdog"], *port.values.get("watchdog", ("false", line)))
        elif "watchdog" in port.values:
            self.reject(port.values["watchdog"][1])
        for number in self.queues if pfc and not marking else ():
            for leaf in _THRESHOLDS:
                lines[paths[f"queue[{number}]/{leaf}"]] = (file, port.line)

    def place_bindings(self) -> None:
        """Place the headroom of faster ports at the line that names the profile, if slower ports share it."""
        for bindings in self._bindings.values():
            slowest = min(speed for speed, _, _ in bindings)
            for speed, path, line in bindings:
                if speed > slowest and path in self.lines:
                    self.lines[path] = (self.document.file, line)

    def _state_mapping(self, name: str, port: Scope) -> None:
        """State a port with its own mapping; it trusts no field if all packets go to the default class."""
        word, line = port.values["mapping profile"]
        mapping, usual = (
            table_entries_at(self.qos, "mapping").get(word),
            scope_at(self.qos, "mapping", GLOBAL),
        )
        if mapping is None:
            self.reject(line)
            if word != GLOBAL and (path := f"unread[qos mapping profile {word}]") not in self.facts:
                self.put(path, "no profile has this name", line)
            self.missing(nearest_line(self.root, "qos", "mapping"), f"mapping {word} is missing")
            return
        classes = Counter(value for value, _ in usual.table("dscp").values()) if usual else Counter()
        default = classes.most_common(1)[0][0] if classes else None
        values = {key: value for key, (value, _) in mapping.values.items()}
        trust = "none" if values == {"trust": "port", "class": default} else "something"
        self.put(port_paths(name)["trust"], trust, line)

    def _bound_profile(self, port: Scope, kind: str, profiles: Mapping[Captured, Scope]) -> str:
        """Return the profile that a port names, if it is defined."""
        name, line = port.values.get(f"{kind} profile", ("", 0))
        if not line or name in profiles:
            self.bound.add(str(name))
            return str(name)
        feature = "pfc" if kind == "pfc" else "congestion-control"
        self.reject(line)
        if name != GLOBAL and (path := f"unread[qos {feature} profile {name}]") not in self.facts:
            self.put(path, "no profile has this name", line)
        self.missing(nearest_line(self.root, "qos", feature), f"{feature} profile {name} is missing")
        return ""

    def _common_statements(self) -> list[Stated]:
        """Return what every port has."""
        line = nearest_line(self.root, "qos", "mapping", GLOBAL)
        word, line = (scope_at(self.qos, "mapping", GLOBAL) or Scope(line)).values.get("trust", (None, line))
        stated: list[Stated] = [("trust", _TRUST.get(str(word), word), line)]
        for queue, scope in self.queues.items():
            mode, line = scope.values.get("mode", (None, scope.line))
            if mode == "dwrr":
                percent, line = scope.values.get("percent", (None, line))
                mode = percent and f"dwrr {percent}"
            stated.append((f"queue[{queue}]/scheduler", mode, line))
        return stated

    def _headroom_statements(self, name: str) -> list[Stated]:
        profile = self.pfc.get(name) if name else None
        if profile is None:
            return []
        none, values = (None, profile.line), profile.values
        stated: list[Stated] = [(leaf, *values.get(leaf, none)) for leaf in _HEADROOM]
        priorities = profile.table("priorities")
        names, first = _join_table(priorities) or None, _first_line(priorities, profile)
        if "one way" in values:
            one_way = values["one way"][1]
            stated += [("qos_setting[pfc one way]", names, one_way), ("pfc", None, one_way)]
        else:
            stated.append(("pfc", names, first))
        (size, _), (pause, line) = values.get("headroom/size_bytes", none), values.get("pause", none)
        xoff = None if size is None or pause is None else int(size) - int(pause)
        if xoff is not None and int(size or 0) < _SMALL_BUFFER:
            line = values["headroom/size_bytes"][1]
        stated.append(("headroom/xoff_bytes", xoff, line))
        place = ("advance-buffer-config", GLOBAL, "ingress-lossless-buffer")
        buffers = scope_at(self.qos, *place) or Scope(nearest_line(self.root, "qos", *place))
        stated.append(("headroom/dynamic_th", *buffers.values.get("alpha", (None, buffers.line))))
        alpha, line = self._egress_alpha()
        if alpha not in (None, EGRESS_ALPHA):
            stated += [(f"queue[{self._queue_of(each)}]/lossy_buffer", alpha, line) for each in priorities]
        return stated

    def _egress_alpha(self) -> tuple[Value | None, int]:
        """Return the share of the buffer that lossless queues may use, and its line."""
        place = ("advance-buffer-config", GLOBAL, "egress-lossless-buffer")
        scope = scope_at(self.qos, *place) or Scope(nearest_line(self.root, "qos", *place))
        return scope.values.get("alpha", (None, scope.line))

    def _queue_of(self, priority: Value) -> Value:
        """Return the queue of a priority; its own number if the file does not map it."""
        entries = table_entries_at(self.qos, "egress-queue-mapping", GLOBAL, "switch-priority")
        return entries[priority].values.get("queue", (priority, 0))[0] if priority in entries else priority

    def _marking_statements(self, name: str) -> list[Stated]:
        """Return the thresholds of the queues that a profile marks; those of other queues have no effect."""
        profile = self.marking.get(name) if name else None
        stated: list[Stated] = []
        for queue, scope in table_entries_at(profile, "traffic-class").items():
            ecn, line = scope.values.get("ecn", (None, scope.line))
            stated.append((f"queue[{queue}]/ecn", None, scope.line))
            early, at = scope.values.get(_RED, ("disable", 0))
            if early == "enable":
                stated.append((f"queue[{queue}]/lossy_buffer", "with RED", at))
            for leaf in _THRESHOLDS:
                value = scope.values.get(leaf, (None, scope.line)) if ecn == "enable" else (None, line)
                stated.append((f"queue[{queue}]/{leaf}", *value))
        return stated


def _join_table(table: Mapping[Value, StoredValue]) -> str:
    return ",".join(map(str, sorted(table)))


def _first_line(table: Mapping[Value, StoredValue], scope: Scope) -> int:
    return next((line for _, line in table.values()), scope.line)


def finish(policy: Policy) -> None:
    """State what is global; a profile to which no port is bound is nobody's and not known."""
    root, qos = policy.root, policy.qos
    if qos is None:
        return
    mapping = scope_at(qos, "mapping", GLOBAL)
    for dscp, stored in mapping.table("dscp").items() if mapping else ():
        policy.put(f"qos/dscp[{dscp}]/traffic_class", *stored)
    for priority, scope in table_entries_at(qos, "egress-queue-mapping", GLOBAL, "switch-priority").items():
        policy.state_stored(f"qos/traffic_class[{priority}]/queue", scope, "queue")
    _finish_roce(policy, qos)
    _finish_trimming(policy, root)
    _finish_pools(policy, qos)
    policy.place_bindings()
    _finish_pfc(policy)
    _finish_buffers(policy, qos)
    _finish_marking(policy)
    if watchdog := scope_at(qos, "pfc-watchdog"):
        poll_ms, at_poll = watchdog.values.get("poll_ms", (0, 0))
        polls, at_polls = watchdog.values.get("polls", (0, 0))
        if at_poll and at_polls:
            policy.put("watchdog/poll_ms", poll_ms, at_poll)
            policy.put("watchdog/detect_ms", int(poll_ms) * int(polls), at_polls)
            policy.put("watchdog/action", "drop", watchdog.line)
        else:
            policy.missing(watchdog.line, "polling-interval or robustness is missing")


def _is_roce_alone(qos: Scope | None) -> bool:
    """Return whether the RoCE profile is the whole policy, except for figures that a file may change."""
    profile = scope_at(qos, "roce")
    if qos is None or profile is None:
        return False
    return profile.values.keys() == {"on", "mode"} and qos.scopes.keys() <= _BESIDE_ROCE


def _finish_roce(policy: Policy, qos: Scope) -> None:
    """State the RoCE profile; one that is not the whole policy is no plan's."""
    for name, (value, line) in (scope_at(qos, "roce") or Scope(0)).values.items():
        if not policy.roce:
            policy.reject(line)
        elif name == "mode":
            policy.put("qos/roce", value, line)


def _finish_trimming(file: File, root: Scope) -> None:
    trim = scope_at(root, "system", "forwarding", "packet-trim")
    if trim and "priority" in trim.values:
        priority, line = trim.values["priority"]
        queue = file.facts.get(f"qos/traffic_class[{priority}]/queue", priority)
        file.put("trimming/queue", queue, line)


def _finish_pools(file: File, qos: Scope) -> None:
    for kind, pool in table_entries_at(qos, "traffic-pool").items():
        file.state_stored(f"pool/{kind}_percent", pool, "percent")
        inside = scope_at(pool, "switch-priority")
        priorities = inside.table("priorities") if inside else {}
        for priority, (_, line) in priorities.items():
            file.put(f"pool[{kind}]/priority[{priority}]", "true", line)
        if priorities:
            file.put(f"pool/{kind}_priorities", _join_table(priorities), _first_line(priorities, pool))


def _finish_pfc(policy: Policy) -> None:
    """State the values that all lossless classes share, on every port."""
    for name, profile in policy.pfc.items():
        if name not in policy.bound:
            policy.reject(profile.line)
            continue
        if name == GLOBAL:
            policy.missing(profile.line, "PFC on every port, the unused ones too")
        for priority, (_, line) in profile.table("priorities").items():
            policy.put(f"qos/traffic_class[{priority}]/priority_group", priority, line)
            queue = policy.facts.get(f"qos/traffic_class[{priority}]/queue", priority)
            policy.put(f"qos/pfc_priority[{priority}]/queue", queue, line)


def _finish_buffers(policy: Policy, qos: Scope) -> None:
    egress = scope_at(qos, "advance-buffer-config", GLOBAL, "egress-lossless-buffer")
    if egress is not None and "alpha" not in egress.values:
        policy.missing(egress.line, f"shared-alpha: {EGRESS_ALPHA} is missing")


def _finish_marking(policy: Policy) -> None:
    """State marking: the global profile names the queue that it does not mark, any other profile those it marks."""
    for name, profile in policy.marking.items():
        if name not in policy.bound and name != GLOBAL:
            policy.reject(profile.line)
            continue
        policy.near(profile.line, f"qos/marking[{name}]/queue")
        for queue, scope in table_entries_at(profile, "traffic-class").items():
            policy.put(f"qos/marking[{name}]/queue[{queue}]", "stated", scope.line)
            if name != GLOBAL:
                continue
            if "ecn" in scope.values or not policy.roce:
                policy.state_stored(f"qos/queue[{queue}]/ecn", scope, "ecn")
            if not policy.roce:  # no plan marks on every port
                for leaf in _THRESHOLDS:
                    if leaf in scope.values:
                        policy.reject(scope.values[leaf][1])
                        policy.put(f"qos/queue[{queue}]/{leaf}", *scope.values[leaf])
