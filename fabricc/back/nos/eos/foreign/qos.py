"""Foreign quality of service on EOS: statements that our policies never use, and syntax of other releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos.words import default_rows, setting_rows, stored_rows
from fabricc.back.reading import Block, Entry, Fact, Keep, Row, Silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Value

_SETTING = "qos_setting["
REPORTED = (_SETTING, "service_policy[")
"""Prefixes of values of a profile that are facts of its ports unchanged."""
_MARKS = "random-detect ecn minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
_UNITS = ("segments", "milliseconds", "microseconds")
_OF_QUEUE = (
    "random-detect drop <rest>", "random-detect ecn <rest>", "random-detect <rest>", "shape rate <rest>",
    "bandwidth guaranteed <rest>", "buffer <rest>", "drop-precedence <rest>", "latency <rest>", "scheduler <rest>",
    "bandwidth percent <rest>", "bandwidth <rest>", "cos <rest>", "name <rest>",
)  # fmt: skip


def of_queue(number: object, name: str) -> str:
    """Return the path of a value of a queue below its port."""
    return (
        f"{_SETTING}queue {number} {name.removeprefix(_SETTING)}"
        if name.startswith(_SETTING)
        else f"queue[{number}]/{name}"
    )


def _classes_of_cos(points: tuple[int, ...], traffic_class: int) -> dict[str, Value]:
    """Traffic classes of 802.1p priorities."""
    return {f"qos/priority[{cos}]/traffic_class": traffic_class for cos in points}


def _byte_thresholds(low: int, low_unit: int, high: int, high_unit: int) -> dict[str, Value]:
    """Return thresholds in bytes, if no line states the marking probability at the upper one."""
    return {"ecn_min_bytes": low * low_unit, "ecn_max_bytes": high * high_unit}


def _weighted_thresholds(low: int, low_unit: int, high: int, high_unit: int, weight: int) -> dict[str, Value]:
    return {**_byte_thresholds(low, low_unit, high, high_unit), f"{_SETTING}weight]": weight}


def _weighted_marking(
    low: int, low_unit: int, high: int, high_unit: int, percent: int, weight: int
) -> dict[str, Value]:
    return {**_weighted_thresholds(low, low_unit, high, high_unit, weight), "ecn_max_percent": percent}


def _delays(low: int, unit: str, rest: str) -> dict[str, Value] | None:
    """Return marking from thresholds in units that are no bytes; None for another unit."""
    return {"ecn": f"from {low} {unit} to {rest}"} if unit in _UNITS else None


QUEUE: Sequence[Row] = (
    Keep(f"{_MARKS} [weight 0]", _byte_thresholds),
    Keep(f"{_MARKS} weight <1-15>", _weighted_thresholds),
    Keep(f"{_MARKS} max-mark-probability <integer> weight <1-15>", _weighted_marking),
    Keep("random-detect ecn minimum-threshold <integer> <word> maximum-threshold <rest>", _delays),
    *stored_rows("qos_setting", 2, ("no random-detect ecn", "no random-detect ecn minimum-threshold")),
    Silent("no (random-detect|shape|bandwidth|priority) <rest>"),
    *stored_rows("qos_setting", 2, _OF_QUEUE),
)
"""Of a queue of a profile."""
_COMMON: Sequence[Row] = (
    Keep("qos trust cos", "trust", "cos"),
    Keep("priority-flow-control mode on", "pfc"),
    Entry("priority-flow-control priority <0-7> drop", "drop"),
    Keep("(no|default) priority-flow-control [on]", "pfc off"),
    Keep("priority-flow-control off", "pfc off"),
    Keep("(no|default) priority-flow-control mode [on]", "pfc off"),
    Entry("(no|default) priority-flow-control priority <0-7> [no-drop]", "not paused"),
    *stored_rows("qos_setting", 1, (
        "qos cos <rest>", "qos dscp <rest>", "shape rate <rest>", "dcbx mode <rest>", "dcbx <word> <rest>",
        "priority-flow-control pause watchdog ...", "qos random-detect <rest>", "qos rewrite <rest>",
    )),
    *default_rows((
        "priority-flow-control pause watchdog", "priority-flow-control pause watchdog <rest>", "dcbx mode",
        "shape rate", "qos cos", "qos dscp", "flowcontrol <rest>",
    )),
    Silent("default qos trust"),
    Block("mc-tx-queue <integer>", "", (
        *stored_rows("qos_setting", 2, (*_OF_QUEUE, "priority <rest>", "no priority"), "mc-tx-queue {1}"),
        *default_rows(("random-detect <rest>", "shape <rest>", "bandwidth <rest>")),
    )),
)  # fmt: skip
PROFILE: Sequence[Row] = (*_COMMON, Keep("service-policy type qos input <word>", "service_policy[qos input]"))
"""Of a profile of ports."""
PORT_ROWS: Sequence[Row] = (
    *_COMMON,
    Keep("qos trust dscp", "trust", "dscp"),
    Keep("no qos trust", "trust", "none"),
    Keep("priority-flow-control on", "pfc"),
    Keep("priority-flow-control pause watchdog", "watchdog"),
    Entry("priority-flow-control priority <0-7> no-drop", "no_drop"),
    Entry("flowcontrol <send|receive> (on|desired)", "flow_control"),
    Silent("flowcontrol (send|receive) off"),
)  # fmt: skip
"""Of an interface."""

_ACTIONS = (
    "set <word> <rest>", "police <rest>", "drop", "redirect <rest>", "set traffic class <rest>", "count <rest>",
    "count", "log", "bandwidth <rest>", "shape <rest>", "priority <rest>", "no-drop", "set drop-precedence <rest>",
    "set traffic-class <rest>", "police <word> <rest>", "exceed-action <rest>", "conform-action <rest>",
    "set nexthop <rest>", "set nexthop-group <rest>",
)  # fmt: skip
_MATCHES = ("match <rest>", "description <rest>", "<integer> match <rest>")


def _policy_rows(label: str, outer: int) -> tuple[Row, ...]:
    """Classes of a policy map, behind so many captures."""
    about = f"policy-map {label} class {{{outer}}}"
    rows = setting_rows("qos/setting", outer + 1, _ACTIONS, about)
    return (
        Block("class <word>", "", rows),
        Block("class built-in <word>", "", rows),
        Block("<integer> class <word>", "", setting_rows(
            "qos/setting", outer + 2, _ACTIONS, f"policy-map {label} class {{{outer + 1}}}"
        )),
        *setting_rows("qos/setting", outer, ("counters <rest>", "<integer> match <rest>"), f"policy-map {label}"),
    )  # fmt: skip


DEFAULT: Sequence[Row] = setting_rows("qos/setting", 1, _ACTIONS, "policy-map {0} class class-default")
"""Of the class of all other packets."""
POLICY: Sequence[Row] = _policy_rows("{0}", 1)
"""Of a policy map that classifies."""
BUFFERS: Sequence[Row] = stored_rows("qos_setting", 1, (
    "egress <word> <word> <word> <rest>", "ingress <word> <rest>", "ingress priority-group <word> <rest>",
))  # fmt: skip
"""Of a buffer profile."""


ROWS: Sequence[Row] = (
    Fact("qos map cos <numbers> to traffic-class <0-7>", _classes_of_cos),
    Fact("qos map cos <integer>... to traffic-class <0-7>", _classes_of_cos),
    *setting_rows("qos/setting", 0, (
        "qos map exp <word> to <rest>", "qos map traffic-class <word> to <cos|dscp|exp|mc-tx-queue> <rest>",
        "qos map <word> <word> to <rest>", "qos rewrite <rest>", "qos random-detect <rest>", "qos trust <rest>",
        "qos ecn <rest>", "qos <tx-queue|uc-tx-queue|mc-tx-queue> <rest>", "priority-flow-control <rest>",
        "priority-flow-control pause watchdog <rest>", "qos policer <rest>", "qos scheduling <rest>",
        "priority-flow-control pause watchdog default <rest>", "qos map traffic-class <word> <rest>",
        "qos buffer <rest>",
    )),
    Block("qos scheduling", "", setting_rows("qos/setting", 0, ("<rest>",), "qos scheduling")),
    Block("class-map (type qos|type quality-of-service) match-any <word>", "", setting_rows(
        "qos/setting", 1, _MATCHES, "class-map {0}"
    )),
    Block("class-map type <word> match-any <word>", "", setting_rows("qos/setting", 2, _MATCHES, "class-map {1}")),
    Block("class-map type <word> match-all <word>", "", setting_rows("qos/setting", 2, _MATCHES, "class-map {1}")),
    Block("class-map match-any <word>", "", setting_rows("qos/setting", 1, _MATCHES, "class-map {0}")),
    Block("policy-map type qos <word>", "", POLICY),
    Block("policy-map type <word> <word>", "", _policy_rows("{1}", 2)),
    Block("policy-map type <word> shared <word>", "", _policy_rows("{1}", 2)),
    Block("policy-map <word>", "", _policy_rows("{0}", 1)),
    *default_rows(("qos rewrite <rest>", "priority-flow-control all <rest>", "qos random-detect <rest>",
        "qos map <rest>")),
)  # fmt: skip
