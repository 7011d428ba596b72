"""Read back quality of service of EOS: rows, and the settings that profiles give to their interfaces."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.eos.foreign import qos as foreign_qos
from fabricc.back.nos.eos.qos import ALL_GROUPS, UNITS_US, can_wait
from fabricc.back.nos.eos.words import (
    ALPHA_OF,
    LARGEST_POOL_BYTES,
)
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Scope, Silent, StoredValue, Topic
from fabricc.fabric.facts import Value, format_boolean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Stated = tuple[str, Value, int]

_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_SECONDS = re.compile(r"\d{1,5}(?:\.\d{1,3})?")
_AMOUNT = re.compile(r"[1-9][0-9]{0,8}")
_WATCHDOG = "priority-flow-control pause watchdog"


def _to_milliseconds(seconds: str) -> int | None:
    return int(Decimal(seconds) * 1000) if _SECONDS.fullmatch(seconds) and seconds.isascii() else None


def to_microseconds(amount: str, unit: str) -> int | None:
    """Return the threshold in microseconds; None where it is not one."""
    return int(amount) * UNITS_US[unit] if unit in UNITS_US and _AMOUNT.fullmatch(amount) else None


def _marking_values(low: int, low_unit: int, high: int, high_unit: int, percent: int) -> Mapping[str, Value]:
    return {"ecn_min_bytes": low * low_unit, "ecn_max_bytes": high * high_unit, "ecn_max_percent": percent}


TYPES: Mapping[str, Mapping[str, int] | Mapping[str, str]] = {
    "alpha": ALPHA_OF,
    "bytes": _BYTES,
    "delay unit": {unit: unit for unit in UNITS_US},
}

DELAY_ROWS = (
    Keep("random-detect ecn delay threshold <word> <delay unit>", "ecn_delay_us", to_microseconds),
    Keep("random-detect ecn count", "ecn_count"),
)
"""Of an interface: what marks all its queues, and what counts that."""

QUEUE = (
    Keep("priority strict", "strict", "true"),
    Keep("no priority", "strict", "false"),
    Keep("bandwidth percent <1-100>", "percent"),
    Keep("bandwidth guaranteed percent <1-100>", "guaranteed", "{2} percent"),
    Keep("bandwidth guaranteed <integer>", "guaranteed", "{2} kbps"),
    Keep("bandwidth guaranteed <integer> <kbps|mbps|gbps>", "guaranteed", "{2} {3}"),
    Keep("random-detect ecn minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
         " max-mark-probability <integer> [weight 0]", _marking_values),
    Keep("random-detect ecn count", "ecn_count"),
    Silent("no (bandwidth percent|bandwidth guaranteed|shape rate)"),
    Silent("no random-detect (drop|ecn count)"),
    Silent("no priority-flow-control priority <0-7>"),
)  # fmt: skip

ROWS: Sequence[Row] = (
    Block("qos profile <word>", "qos profile", (
        Keep("qos trust dscp", "trust", "dscp"),
        Keep("no qos trust", "trust", "none"),
        Keep("priority-flow-control on", "pfc"),
        Keep("priority-flow-control pause watchdog", "watchdog"),
        Entry("priority-flow-control priority <0-7> no-drop", "no_drop"),
        Block("(tx-queue|uc-tx-queue) <integer>", "queue", (*QUEUE, *foreign_qos.QUEUE)),
        *foreign_qos.PROFILE,
    )),
    Block("policy-map type quality-of-service <word>", "policy map", (
        Block("class class-default", "", (Keep("set dscp <0-63>", "dscp"), Keep("set traffic-class <0-7>", "class"))),
        Block("class class-default", "", foreign_qos.DEFAULT),
        *foreign_qos.POLICY,
    )),
    Block("platform trident mmu queue profile <word>", "mmu profile", (
        Keep("ingress headroom [bytes] <integer>", "headroom/xoff_bytes"),
        Keep("ingress resume <integer>", "headroom/xon_bytes"),
        Entry("ingress priority-group <0-7> threshold <alpha>", "thresholds"),
        Keep("ingress threshold <alpha>", "threshold"),
        Keep("egress unicast queue <0-7> threshold <alpha>", "queue[{1}]/egress_dynamic_th"),
        *foreign_qos.BUFFERS,
    )),
    Keep("platform trident mmu queue profile <word> apply", "mmu profile"),
    Fact("platform trident mmu headroom-pool limit bytes <integer>", "pool/headroom_bytes"),
    Entry("qos map dscp <0-63>... to traffic-class <0-7>", "traffic classes"),
    Entry("qos map dscp <0-63>... to traffic-class <0-7> drop-precedence <0-2>", "traffic classes",
        lambda _dscp, traffic_class, _precedence: traffic_class),
    Entry("qos map traffic-class <0-7>... to (tx-queue|uc-tx-queue) <0-7>", "queues"),
    Entry("qos map traffic-class <0-7>... to (priority-group|priority) <0-7>", "groups"),
    Fact(f"{_WATCHDOG} default timeout <word>", "watchdog/detect_ms", _to_milliseconds),
    Fact(f"{_WATCHDOG} default recovery-time <word>", "watchdog/restore_ms", _to_milliseconds),
    Fact(f"{_WATCHDOG} default polling-interval <word>", "watchdog/poll_ms", _to_milliseconds),
    Fact(f"{_WATCHDOG} action <drop|errdisable|notify-only>", "watchdog/action"),
    Fact("hardware counter feature ecn out", "platform/ecn_counters", "true"),
    *foreign_qos.ROWS,
)  # fmt: skip


class Profiles(NamedTuple):
    """Statements of the QoS profile and the buffer profile of an interface.

    Attributes:
        stated: rest of the path, value, line.
        waiting: queues that marking by delay concerns.
    """

    stated: tuple[Stated, ...]
    waiting: tuple[int, ...]


def profiles_of(document: Document, qos: Value | None, mmu: Value | None) -> Profiles:
    """State the profiles of an interface; with PFC and no profile, the default buffer profile."""
    stated: list[Stated] = []
    waiting: tuple[int, ...] = ()
    profile = document.scope.each("qos profile").get(qos)
    if profile is not None:
        stated += _of_profile(profile)
        stopped = profile.table("no_drop") if is_pausing(profile) else {}
        if mmu is None and stopped:
            mmu = default_mmu(document)
        waiting = tuple(
            [
                number
                for number, queue in profile.each("queue").items()
                if isinstance(number, int) and can_wait(strict=_is_strict(queue), stopped=number in stopped)
            ]
        )
    buffers = document.scope.each("mmu profile").get(mmu)
    return Profiles((*stated, *(_of_buffers(buffers) if buffers is not None else ())), waiting)


def marked_code_point(document: Document, policy: StoredValue) -> StoredValue | None:
    """The code point that a policy map gives all that arrives; None where it does not put it into the default class."""
    found = document.scope.each("policy map").get(policy[0])
    values = found.values if found is not None else {}
    classes = Counter(value for value, _ in document.scope.table("traffic classes").values())
    usual = classes.most_common(1)[0][0] if classes else None
    if values.get("class", (None, 0))[0] != usual or "dscp" not in values:
        return None
    return values["dscp"]


OF_PORTS = frozenset({"pfc", "watchdog", "pfc off"})
"""Statements of a port about pausing; its paused priorities are a table."""


def put_lost_pausing(document: Document, port: str, block: Scope, profile: Value | None) -> None:
    """State that PFC of a port has no effect, as one of its two lines is missing on the port and in its profile."""
    applied = document.scope.each("qos profile").get(profile, Scope(0))
    for name, part, other in ((port, block, applied), (f"profile {profile}", applied, Scope(0))):
        paused = part.table("no_drop")
        if paused and not is_pausing(part) and not is_pausing(other):
            line = part.values.get("pfc off", ("", 0))[1] or max(line for _, line in paused.values())
            document.put(
                f"unread[no-drop priorities of {name}]", "`priority-flow-control on` is missing", line
            )
        elif is_pausing(part) and not paused and not other.table("no_drop"):
            others = (*part.table("not paused").values(), *part.table("drop").values())
            line = max(line for _, line in others or [part.values["pfc"]])
            document.put(f"unread[PFC of {name}]", "no priority is `no-drop`", line)


def is_pausing(part: Scope) -> bool:
    """Return whether a port or a profile has PFC on, by the later one of two lines."""
    off = part.values.get("pfc off", ("", 0))[1]
    return "pfc" in part.values and part.values["pfc"][1] > off


def of_port(port: Scope) -> Iterator[Stated]:
    """Return the statements of a port about pausing without a profile."""
    no_drop, values = port.table("no_drop"), port.values
    if is_pausing(port) and no_drop:
        line = max(line for _, line in no_drop.values())
        yield "pfc", ",".join(map(str, sorted(no_drop))), line
        yield "watchdog", format_boolean("watchdog" in values), values.get("watchdog", values["pfc"])[1]
    for number, queue in port.each("queue").items():
        yield from _of_queue(number, queue, only_stated=True)


def default_mmu(document: Document) -> str | None:
    """Return the buffer profile of interfaces that name none."""
    stored = document.scope.values.get("mmu profile")
    return str(stored[0]) if stored else None


def _is_strict(queue: Scope) -> bool:
    """Return whether a queue is strict, which is EOS's default."""
    return queue.values.get("strict", ("true", 0))[0] == "true"


def _of_profile(profile: Scope) -> list[Stated]:
    values, no_drop, queues = profile.values, profile.table("no_drop"), profile.each("queue")
    stated: list[Stated] = [("trust", *values["trust"])] if "trust" in values else []
    if is_pausing(profile) and no_drop:
        priorities = sorted(no_drop)
        guards = "watchdog" in values and all(
            p in queues and "guaranteed" in queues[p].values for p in priorities
        )
        stated.append(("pfc", ",".join(map(str, priorities)), no_drop[priorities[-1]][1]))
        stated.append(("watchdog", format_boolean(guards), values.get("watchdog", values["pfc"])[1]))
    elif is_pausing(profile) and (dropped := profile.table("drop")):
        stated.append(("pfc", "", max(line for _, line in dropped.values())))
    for number, queue in queues.items():
        stated += _of_queue(number, queue)
    stated += [(name, *stored) for name, stored in values.items() if name.startswith(foreign_qos.REPORTED)]
    return stated


def _of_queue(number: object, queue: Scope, *, only_stated: bool = False) -> Iterator[Stated]:
    """Yield the statements of a queue about its port; with `only_stated`, its scheduler only if a line states one."""
    stored = [queue.values[name][1] for name in ("strict", "percent") if name in queue.values]
    weight = queue.values.get("percent", (0, 0))[0]
    if not only_stated or "percent" in queue.values or queue.values.get("strict", ("", 0))[0] == "true":
        scheduler = "strict" if _is_strict(queue) else f"dwrr {weight}"
        yield f"queue[{number}]/scheduler", scheduler, max(stored, default=queue.line)
    for name, (value, line) in queue.values.items():
        if name not in ("strict", "percent"):
            yield foreign_qos.of_queue(number, name), value, line


def _of_buffers(profile: Scope) -> list[Stated]:
    stated: list[Stated] = [
        (name, value, line) for name, (value, line) in profile.values.items() if name != "threshold"
    ]
    groups = _ingress_thresholds(profile)
    if groups:
        first, *_ = groups.values()
        stated.append(("headroom/dynamic_th", *first))
        names = ",".join(sorted(map(str, groups)))
        stated.append(("headroom/priority_groups", names, max(line for _, line in groups.values())))
    return stated


def _ingress_thresholds(profile: Scope) -> Mapping[Value, StoredValue]:
    """Ingress thresholds by priority group, in the order of their lines."""
    groups = dict(profile.table("thresholds"))
    if "threshold" in profile.values:
        groups[ALL_GROUPS] = profile.values["threshold"]
    return dict(sorted(groups.items(), key=lambda group: group[1][1]))


def default_traffic_class(dscp: int) -> int:
    """The traffic class EOS gives a code point that no `qos map` names: its class selector, 0 and 1 swapped."""
    selector = dscp >> 3
    return 1 - selector if selector < 2 else selector


def finish(document: Document) -> None:
    """State the maps in full, with EOS's defaults where no line exists, and list contradicting thresholds."""
    classes: dict[Value, StoredValue] = {dscp: (default_traffic_class(dscp), 0) for dscp in range(64)}
    classes |= document.scope.table("traffic classes")
    for dscp, stored in classes.items():
        document.put(f"qos/dscp[{dscp}]/traffic_class", *stored)
    queues: dict[Value, StoredValue] = {
        traffic_class: (traffic_class, 0) for traffic_class, _ in classes.values()
    }
    for traffic_class, stored in (queues | document.scope.table("queues")).items():
        document.put(f"qos/traffic_class[{traffic_class}]/queue", *stored)
    for traffic_class, (group, line) in document.scope.table("groups").items():
        if group != traffic_class:
            document.put(f"qos/traffic_class[{traffic_class}]/priority_group", group, line)
    pool = document.reading.facts.get("pool/headroom_bytes")
    if isinstance(pool, int) and pool > LARGEST_POOL_BYTES:
        why = "no switch has so large a packet buffer"
        document.put("unread[headroom pool]", why, document.reading.lines["pool/headroom_bytes"][1])
    for profile in document.scope.each("mmu profile").values():
        groups = list(_ingress_thresholds(profile).values())
        for value, line in groups[1:]:
            if value != groups[0][0]:
                document.reject(line)
    named_default = document.scope.values.get("mmu profile")
    default = document.scope.each("mmu profile").get(named_default[0]) if named_default else None
    if named_default and default is not None and "headroom/xoff_bytes" in default.values:
        value, _ = default.values["headroom/xoff_bytes"]
        document.put("platform/default_headroom_bytes", value, named_default[1])


TOPIC = Topic(ROWS, finish)
