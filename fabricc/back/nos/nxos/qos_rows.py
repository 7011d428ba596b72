"""Read back quality of service of NX-OS: rows of maps and policies, and their switch-wide values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos import qos, words
from fabricc.back.nos.nxos.active_policies import (
    DEFAULT_CLASS,
    SETTING_OF,
    classification_policy,
    faulty_queues,
    match_kinds,
    misplaced_policies,
    paused_groups,
    undefined_policies,
    unfilled_pauses,
)
from fabricc.back.nos.nxos.foreign.switching import OWN
from fabricc.back.reading import Block, Entry, Fact, Keep, Scope, Silent, Topic, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Document, Row, StoredValue, Types
    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]

_BYTES = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_DSCPS = {
    "default": 0, "ef": 46, **{f"cs{n}": 8 * n for n in range(1, 8)},
    **{f"af{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
}  # fmt: skip
_PRECEDENCES = {
    name: number
    for number, name in enumerate(
        ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
    )
}


def _parse_numbers(count: int, names: Mapping[str, int], text: str) -> tuple[int, ...] | None:
    """Numbers from 0 on, of which there are so many, ranges and names of them."""
    found = rows.parse_numbers(",".join(str(names.get(each, each)) for each in text.split(",")))
    return found if found and max(found) < count else None


def _weighted_marking(
    low: int, low_unit: int, high: int, high_unit: int, percent: int, weight: int
) -> Mapping[str, Value]:
    return {**_marking_values(low, low_unit, high, high_unit, percent), f"{SETTING_OF}weight": weight}


def _marking_kind(rest: str) -> Mapping[str, Value]:
    """Marking by what the platform has for a word, or by packets or time."""
    return {"ecn" if "ecn" in rest.split() else f"{SETTING_OF}random-detect": " ".join(rest.split())}


def _marking_values(low: int, low_unit: int, high: int, high_unit: int, percent: int) -> Mapping[str, Value]:
    return {"ecn_min_bytes": low * low_unit, "ecn_max_bytes": high * high_unit, "ecn_max_percent": percent}


_FOUR_QUEUES = {
    f"{prefix}{group or '-default'}": group for prefix in ("c-out-q", "c-nq") for group in range(4)
}  # fmt: skip
"""The classes of switches with four queues."""
TYPES: Types = {
    "code points": partial(_parse_numbers, 64, _DSCPS),
    "priorities": partial(_parse_numbers, 8, {}),
    "precedences": partial(_parse_numbers, 8, _PRECEDENCES),
    "network class": words.queue_classes(words.NETWORK_QOS),
    "egress class": words.queue_classes(words.OUTPUT),
    "ingress class": words.queue_classes(words.INPUT),
    "bytes": _BYTES,
}
_PFC = "priority-flow-control"
_HARDWARE = {
    "hardware profile": ("tcam", "portmode", "front", "svi-and-si", "unicast", "route", "ipv6", "lpm", "module",
    "dlb-port", "latency", "mode"),
    "hardware access-list": ("tcam", "update", "resource", "lou", "allow", "team"),
    "hardware": ("tcam", "rate-limiter", "capacity", "module", "vxlan", "multicast", "flow-table", "led"),
    "system": ("nve", "vlan reserve", "acl", "interface", "login", "memory-thresholds", "module"),
}  # fmt: skip
"""Settings of ports and tables that do not concern buffers."""
_CLASS_ROWS: Sequence[Row] = (
    Entry("match [ip|ipv6] dscp <code points>", "dscps"),
    Entry("match cos <priorities>", "priorities"),
    Entry("match [ip|ipv6] precedence <precedences>", "precedences"),
    Entry("match <access-group|protocol|packet|mpls|ip|source-address|destination-address|any|vlan> <rest>",
          "others", "{1} {2}"),
    Silent("description <rest>"),
)  # fmt: skip
_GROUPED: Sequence[Row] = (
    Keep("match qos-group <0-7>", "group"),
    Entry("match cos <priorities>", "priorities"),
    Entry("match <protocol|queue> <rest>", "others", "{1} {2}"),
    Silent("description <rest>"),
)
_MARKED: Sequence[Row] = (
    Keep("set qos-group <0-7>", "group"),
    Keep("set dscp <0-63>", "dscp"),
    Keep("set dscp <code points>", "dscp", lambda points: points[0] if len(points) == 1 else None),
    *(Keep(f"{head} <rest>", f"{SETTING_OF}{head}") for head in (
        "police", "set cos", "set precedence", "set discard-class", "set vlan", "set ip", "dpp", "trust")),
    Silent("description <rest>"),
)  # fmt: skip
_THRESHOLDS = (
    "random-detect minimum-threshold <integer> <bytes> maximum-threshold <integer> <bytes>"
    " drop-probability <integer>"
)
_SHARED: Sequence[Row] = (
    Keep("priority level <integer>", "share", "level {2}"),
    Keep("priority", "share", "level 1"),
    Keep("bandwidth remaining percent <0-100>", "share", "percent {2}"),
    Keep("bandwidth percent <0-100>", "share", "bandwidth {2}"),
    Keep(f"{_THRESHOLDS} weight 0 ecn", _marking_values),
    Keep(f"{_THRESHOLDS} weight <1-15> ecn", _weighted_marking),
    Keep("random-detect <rest>", _marking_kind),
    *(Keep(f"{head} <rest>", f"{SETTING_OF}{head}") for head in (
        "queue-limit", "shape", "bandwidth", "congestion-control", "afd", "set", "police", "fabric-bandwidth")),
    Silent("no (priority|bandwidth|random-detect|queue-limit|shape|afd|pause) [<rest>]"),
)  # fmt: skip
_PAUSED: Sequence[Row] = (
    Keep("pause buffer-size <integer> pause-threshold <integer> resume-threshold <integer>", "pause", "{2} {3} {4}"),
    Keep("pause buffer-size <integer>", "setting of pause buffer-size"),
    Keep("pause <priority-group|pfc-cos> <rest>", "setting of pause", "{2} {3}"),
)  # fmt: skip
_NETWORK: Sequence[Row] = (
    Keep("mtu <576-9216>", "mtu"),
    Entry("pause [no-drop] pfc-cos <priorities>", "pauses"),
    Entry("pause pfc-cos <priorities> receive", "pauses"),
    Keep("pause buffer-size <integer> pause-threshold <integer> resume-threshold <integer> pfc-cos <priorities>",
        lambda size, stop, resume, priorities: {
            "pause": f"{size} {stop} {resume}", "paused": ",".join(map(str, priorities))}),
    Keep("pause no-drop", "no-drop"),
    Keep("pause drop", "setting of pause", "drop"),
    *(Keep(f"{head} <rest>", f"{SETTING_OF}{head}") for head in ("pause buffer-size", "congestion-control",
        "queue-limit", "set", "dpp", "match")),
    Keep("multicast-optimize", "setting of multicast-optimize"),
    Silent("no (pause|congestion-control|multicast-optimize|queue-limit|set) [<rest>]"),
)  # fmt: skip
_STATISTICS = "[no-stats]"
_PORT: Sequence[Row] = (
    *(Keep(f"service-policy {kind}<word> {_STATISTICS}", OWN + f"service_policy[{name}]", "{1}") for kind, name in (
        ("type qos output ", "qos output"), ("output ", "qos output"), ("type pbr input ", "pbr input"))),
    Keep("service-policy input <word> [no-stats]", "qos input", "{1}"),
    Keep("service-policy type qos input <word> no-stats", "qos input", "{1}"),
    *(Keep(f"service-policy type queuing {way} <word> no-stats", f"queuing {way}", "{1}") for way in ("input",
        "output")),
    Keep(f"{_PFC} mode on send-tlv", {"pfc": "on", OWN + "qos_setting[send PFC TLV]": "on"}),
    Keep(f"{_PFC} mode auto send-tlv", {"pfc": "auto", OWN + "qos_setting[send PFC TLV]": "on"}),
    Silent(f"no {_PFC} [<rest>]"),
    Keep(f"{_PFC} watch-dog-interval off", "watchdog", "off"),
    Keep(f"{_PFC} watch-dog-interval on interface-multiplier <integer>",
         {"watchdog": "on", OWN + "qos_setting[watchdog multiplier]": "{1}"}),
    *(
        Keep(f"{head} <rest>", OWN + f"qos_setting[{head}]", "{1}")
        for head in ("congestion-control", "queue-limit", "qos", "dcbx", "lldp dcbx", "untagged",
            "hardware qos", "random-detect", "ecn")
    ),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *(row for kind in ("", "(match-any|match-all) ") for form in ("", "type qos ")
      for row in words.defined_part(f"class-map {form}{kind}<word>", "class map", _CLASS_ROWS)),
    *(Block(f"class-map type {kind} {match}<word>", f"{kind} map", _GROUPED)
      for kind in ("queuing", "network-qos") for match in ("", "(match-any|match-all) ")),
    *(row for form in ("", "type qos ", "type qos match-first ")
      for row in words.defined_part(f"policy-map {form}<word>", "qos", (
        *words.defined_part("class <word>", "class", _MARKED, once=True),
        *words.defined_part("class type qos <word>", "class", _MARKED, once=True),
        Silent("description <rest>"),
    ))),
    *words.defined_part("policy-map type network-qos [match-any] <word>", "network-qos", (
        *words.defined_part("class type network-qos <network class>", "class", _NETWORK, once=True),
        *words.defined_part("class type network-qos <word>", "named class", _NETWORK, once=True),
        Silent("description <rest>"),
    )),
    *words.defined_part("policy-map type queuing [match-any] <word>", "queuing", (
        *words.defined_part("class type queuing <egress class>", "egress", _SHARED, once=True),
        *words.defined_part("class type queuing <ingress class>", "ingress", _PAUSED, once=True),
        *words.defined_part("class type queuing <word>", "named class", (*_SHARED, *_PAUSED), once=True),
        Silent("description <rest>"),
    )),
    Block("system qos", "system qos", (
        Keep(f"service-policy type network-qos <word> {_STATISTICS}", "network-qos"),
        Keep(f"service-policy type queuing input <word> {_STATISTICS}", "queuing input"),
        Keep(f"service-policy type queuing output <word> {_STATISTICS}", "queuing output"),
        Keep(f"service-policy [type qos] input <word> {_STATISTICS}", "qos input"),
        Keep("service-policy type qos output <word>", "qos output"),
        Silent("[no] (fex|statistics|shutdown) <rest>"),
    )),
    *words.interface_blocks(_PORT),
    Fact("copp profile <word>", "platform/copp"),
    Keep(f"{_PFC} watch-dog-interval on", "watchdog"),
    Silent(f"[no] {_PFC} watch-dog-interval off"),
    Keep(f"{_PFC} watch-dog interval <integer>", "watchdog interval"),
    Keep(f"{_PFC} watch-dog shutdown-multiplier <integer>", "watchdog shutdown"),
    Keep(f"{_PFC} auto-restore multiplier <integer>", "watchdog restore"),
    *(
        Fact(f"{head} <rest>", f"qos/setting[{head}]", "{0}")
        for head in (f"{_PFC} fixed-restore", f"{_PFC} override-interface", f"{_PFC} recover",
            "congestion-control", "random-detect")
    ),
    *(
        Fact(f"{head} <word> <rest>", f"qos/setting[{head} {{0}}]", "{1}")
        for head in ("hardware qos", "hardware profile pfc", "hardware profile buffer", "hardware profile qos",
            "hardware buffer", "qos", "hardware random-detect",
                     "hardware queue-limit", "wrr-queue")
    ),
    *(
        row
        for head in ("hardware profile", "hardware access-list", "hardware", "system")
        for name in _HARDWARE[head]
        for row in (
            Fact(f"{head} {name} <rest>", f"platform/setting[{name} {{0}}]", "on"),
            Silent(f"no {head} {name} [<rest>]"),
        )
    ),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the switch-wide values of the active policies, the watchdog, and the existing policies."""
    _name_groups(document)
    put, maps = document.put, document.scope.each("class map")
    policy = document.scope.each("qos").get(classification_policy(document))
    if policy is not None:
        stored = {name: scope.values.get("group") for name, scope in policy.each("class").items()}
        groups = {name: group for name, group in stored.items() if group}
        default = groups.get(DEFAULT_CLASS, (0, policy.line))
        found = dict.fromkeys(range(64) if "dscp" in match_kinds(document, policy) else (), default)
        for name, (group, _) in reversed(groups.items()):
            if name in maps:
                found |= {int(dscp): (group, line) for dscp, (_, line) in _code_points(maps[name]).items()}
                for priority, (_, line) in maps[name].table("priorities").items():
                    put(f"qos/priority[{priority}]/traffic_class", group, line)
        first = dict(groups.values())
        for dscp, (group, line) in found.items():
            put(f"qos/dscp[{dscp}]/traffic_class", group, line)
            put(f"qos/traffic_class[{group}]/queue", group, first.get(group, line))
        for block in policy.each("class").values():
            for what, leaf in (("set dscp", "dscp"), ("police", f"{SETTING_OF}police")):
                if leaf in block.values and "group" in block.values:
                    put(f"qos/setting[{what} of qos-group {block.values['group'][0]}]", *block.values[leaf])
    for priority, paused in paused_groups(document).items():
        put(f"qos/pfc_priority[{priority}]/queue", *paused)
        put(f"qos/pfc_priority[{priority}]/priority_group", *paused)
        put(f"qos/traffic_class[{paused[0]}]/priority_group", *paused)
    for name, line in undefined_policies(document):
        put(f"unread[service-policy {name}]", "no policy of its type has this name", line)
    for name, why, line in misplaced_policies(document):
        put(f"unread[service-policy {name}]", why, line)
    for subject, why, line in (*unfilled_pauses(document), *faulty_queues(document)):
        put(f"unread[{subject}]", why, line)
    _state_watchdog(document)
    _state_parts(document)


def _code_points(listed: Scope) -> Mapping[Value, StoredValue]:
    """Return the code points of a class map; a precedence is eight of them."""
    wide: dict[Value, StoredValue] = {
        8 * int(precedence) + low: stored
        for precedence, stored in listed.table("precedences").items()
        for low in range(8)
    }
    return {**wide, **listed.table("dscps")}


def _name_groups(document: Document) -> None:
    """Put classes by other names than those of eight queues among the others, by their groups."""
    for kind in ("network-qos", "queuing"):
        maps = document.scope.each(f"{kind} map")
        for policy in document.scope.each(kind).values():
            for name, block in policy.each("named class").items():
                known = 0 if name == DEFAULT_CLASS else _FOUR_QUEUES.get(str(name))
                stored = maps[name].values.get("group") if name in maps else None
                group = known if stored is None else int(stored[0])
                if group is None:
                    document.reject(block.line)
                    continue
                block.values["called"] = (str(name), block.line)
                place = (
                    "class" if kind == "network-qos" else "ingress" if "pause" in block.values else "egress"
                )
                policy.scopes.setdefault(place, {}).setdefault(group, block)


def _state_watchdog(document: Document) -> None:
    """State the timers in milliseconds, figures that a device hides at their defaults; nothing where it is off."""
    values = document.scope.values
    if "watchdog" not in values:
        return
    _, on = values["watchdog"]
    interval, line = values.get("watchdog interval", (qos.DEFAULT_WATCHDOG_INTERVAL_MS, on))
    document.put("watchdog/poll_ms", interval, line)
    for leaf, name, default in (
        ("detect", "shutdown", qos.DEFAULT_SHUTDOWN),
        ("restore", "restore", qos.DEFAULT_RESTORE),
    ):
        multiple, line = values.get(f"watchdog {name}", (default, on))
        document.put(f"watchdog/{leaf}_ms", int(interval) * int(multiple), line)
    document.put("watchdog/action", "drop", on)


def _state_parts(document: Document) -> None:
    """State the existing maps and policies, and the statements of each of their classes."""
    put, scope = document.put, document.scope
    for kind, stored in scope.each("system qos").get("", Scope(0)).values.items():
        put(
            "qos/setting[service-policy input]" if kind == "qos input" else f"structure/system_qos/{kind}",
            *stored,
        )
    for name, listed in scope.each("class map").items():
        words.state_part(document, f"class_map[{name}]", listed)
        if dscps := listed.table("dscps"):
            line = max(line for _, line in dscps.values())
            put(f"structure/class_map[{name}]/dscps", words.format_ranges(map(int, dscps)), line)
        for value, line in listed.table("others").values():
            put(f"qos/setting[class {name}]", value, line)
    for name, policy in scope.each("qos").items():
        words.state_part(document, f"policy_map[qos {name}]", policy)
        for used, block in policy.each("class").items():
            if used not in scope.each("class map") and used != DEFAULT_CLASS:
                document.reject(block.line)
            _state_settings(document, f"{name} {used}", block)
    for kind, classes, prefix in (
        ("network-qos", "class", words.NETWORK_QOS),
        ("queuing", "egress", words.OUTPUT),
        ("queuing", "ingress", words.INPUT),
    ):
        for name, policy in scope.each(kind).items():
            words.state_part(document, f"policy_map[{kind} {name}]", policy)
            for group, block in policy.each(classes).items():
                called, _ = block.values.get("called", (words.queue_name(int(str(group)), prefix), 0))
                path = f"policy_map[{kind} {name}]/{called}"
                _state_settings(document, f"{name} {called}", block)
                words.state_part(document, path, block, "mtu", "share", "pause")
                document.put_set(f"structure/{path}/pfc-cos", block.table("pauses"))
    for name, policy in scope.each("queuing").items():
        if queues_ := policy.each("egress"):
            given = {
                int(str(queue)): block.values.get("share", ("", 0))[0] for queue, block in queues_.items()
            }
            put(f"platform/queuing[{name}]/idle", qos.idle_queues(given), policy.line)


def _state_settings(document: Document, name: str, block: Scope) -> None:
    """State the other values of a policy's class."""
    for leaf, stored in block.values.items():
        if leaf.startswith(SETTING_OF):
            document.put(f"qos/setting[{name} {leaf.removeprefix(SETTING_OF)}]", *stored)


TOPIC = Topic(ROWS, finish)
