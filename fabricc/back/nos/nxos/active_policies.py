"""Policies in force of NX-OS: what interfaces classify by, pause, mark and schedule because of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.nxos import words
from fabricc.back.nos.nxos.foreign.switching import OWN
from fabricc.back.nos.nxos.qos import UNTRUSTED
from fabricc.back.reading import Captured, Document, Scope, StoredValue
from fabricc.fabric.facts import Value, format_boolean
from fabricc.fabric.vocabulary import UniformPorts, shared_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    Stated = tuple[str, Value, int]

DEFAULT_CLASS = "class-default"

SETTING_OF = "setting of "


class AppliedStatements(NamedTuple):
    """Statements that policies make about each interface that uses them, with their places."""

    facts: UniformPorts[Value]
    lines: Sequence[tuple[str, int]]
    shareless: Sequence[tuple[str, int]]
    """Queues that get classified packets and no bandwidth, each with the line of its share of 0."""


class Policies:
    """Statements of the policies of a document about its interfaces, computed once for each pair of policies."""

    def __init__(self, document: Document) -> None:
        self._file = document.file
        self._queuing = document.scope.each("queuing")
        self._classify = document.scope.each("qos")
        self._classification = classification_policy(document)
        self._system = _system_policies(document)
        self._groups = {
            block.values["group"][0]
            for policy in self._classify.values()
            for block in policy.each("class").values()
            if "group" in block.values
        }
        self._pauses = ",".join(map(str, sorted(paused_groups(document))))
        self._watches = "watchdog" in document.scope.values
        self._kinds = {name: match_kinds(document, policy) for name, policy in self._classify.items()}
        self._own_buffers = not any(
            "called" in block.values
            for policy in document.scope.each("network-qos").values()
            for block in policy.each("class").values()
        )
        self._mtu = _bridged_mtu(document)
        self._ecn = list(_marked_by_class(document))
        self._network = _network_policy(document).each("class")
        self._copied: dict[tuple[Value, Value], AppliedStatements] = {}

    def undefined(self, values: Mapping[str, StoredValue]) -> Iterator[StoredValue]:
        """Yield the policies that an interface names and the file does not define, but those of the system."""
        for kind, defined in (("qos input", self._classify), *((kind, self._queuing) for kind in _QUEUING)):
            name, line = values.get(kind, _NONE)
            if name and defined and name not in defined and not str(name).startswith("default"):
                yield name, line

    def of_port(self, port: str, values: Mapping[str, StoredValue]) -> list[Stated]:
        """Return (leaf, value, line) of what an interface with these values classifies by, and pauses."""
        stated: list[Stated] = []
        classify, at = values.get("qos input", _NONE)
        if not classify and "qos input" in self._system and port.startswith(_PHYSICAL):
            classify, at = self._system["qos input"], values["defined"][1]
        if classify == UNTRUSTED and classify in self._classify:
            stated += self._untrusted_facts(at)
        elif classify in self._classify:
            kinds = self._kinds[classify]
            trust = kinds if classify == self._classification else f"{kinds} {classify}"
            stated.append(("trust", trust, at))
        if self._mtu and "mtu" not in values and not values.keys().isdisjoint(_BRIDGED):
            stated.append(("layer2_mtu", *self._mtu))
        mode, line = values.get("pfc", _NONE)
        if mode != "on":
            return [*stated, ("qos_setting[priority-flow-control]", mode, line)] if mode else stated
        watched, at = values.get("watchdog", ("off", line))
        stated.append(("watchdog", format_boolean(watched == "on" and self._watches), at))
        if not self._pauses:
            stated.append(("qos_setting[priority-flow-control]", mode, line))
        else:
            stated.append(("pfc", self._pauses, line))
            copied = self.apply_policies(port, values)
            if self._own_buffers and copied and "headroom/queues" not in copied.facts.leaves:
                stated.append(("headroom/default_to_m", words.DEFAULT_PAUSE_M, line))
        return stated

    def _untrusted_facts(self, line: int) -> list[Stated]:
        """Return the values of a port under a policy that puts all packets into one group and code point."""
        own, usual = (
            self._classify.get(name, Scope(0)).each("class").get(DEFAULT_CLASS, Scope(0)).values
            for name in (UNTRUSTED, self._classification)
        )
        same = own.get("group", _NONE)[0] == usual.get("group", (0, 0))[0]
        return [
            ("trust", "none" if same else "something", line),
            *([("set_dscp", *own["dscp"])] if "dscp" in own else []),
        ]

    def apply_policies(self, port: str, values: Mapping[str, StoredValue]) -> AppliedStatements | None:
        """Return the effect of the queuing policies of an interface; the system's policies are the default."""
        if values.keys().isdisjoint(_APPLIED) or port.startswith(_VIRTUAL):
            return None
        egress, ingress = [values.get(kind, (self._system.get(kind, ""), 0))[0] for kind in _QUEUING]
        copied = self._copied.get((egress, ingress))
        if copied is None:
            none = Scope(0)
            stated = [
                *_egress_facts(self._queuing.get(egress, none)),
                *_ingress_facts(self._queuing.get(ingress, none).each("ingress") or self._network),
            ]
            stated += self._ecn
            facts = shared_facts(
                tuple([leaf for leaf, _, _ in stated]), tuple([value for _, value, _ in stated])
            )
            lines = [(self._file, line) for _, _, line in stated]
            shareless = [*self._shareless_queues(self._queuing.get(egress, none))]
            copied = AppliedStatements(facts, lines, shareless)
            self._copied[egress, ingress] = copied
        return copied

    def _shareless_queues(self, policy: Scope) -> Iterator[tuple[str, int]]:
        for queue, scope in policy.each("egress").items():
            share, line = scope.values.get("share", _NONE)
            if queue in self._groups and str(share).endswith(" 0"):
                yield f"queue[{queue}]/scheduler", line


_QUEUING = ("queuing output", "queuing input")

_VIRTUAL = ("Vlan", "loopback", "nve", "tunnel")

_PHYSICAL = ("Ethernet", "port-channel")

_BRIDGED = frozenset({"switchport", OWN + "switchport", OWN + "access_vlan"})

_APPLIED = ("qos input", *_QUEUING, "ipv4", "ipv6", "unnumbered", "pfc", OWN + "switchport")
"""Lines of an interface, one of which activates the policies of the system."""


def undefined_policies(document: Document) -> Iterator[StoredValue]:
    """Yield the policies that `system qos` names and the file, which defines others of their type, does not."""
    for kind, (name, line) in document.scope.each("system qos").get("", Scope(0)).values.items():
        defined = document.scope.each(_TYPES.get(kind, "queuing"))
        if defined and name not in defined and not str(name).startswith("default"):
            yield name, line


def misplaced_policies(document: Document) -> Iterator[tuple[Value, str, int]]:
    """Yield (policy, reason, line) of policies in force on the wrong side, or in place of one that pauses a class."""
    networks = document.scope.each("network-qos")
    bound = [*document.scope.each("system qos").get("", Scope(0)).values.items()]
    pausing = [str(other) for other, policy in networks.items() if _pauses(policy)]
    for kind, (name, line) in bound:
        drops = name in networks or _DROPPING.fullmatch(str(name))
        if kind == "qos output":
            yield name, _AS_THEY_ARRIVE, line
        elif kind == "network-qos" and drops and pausing and str(name) not in pausing:
            yield name, f"no class of it is `no-drop`, as in {pausing[0]}, which is not in force", line
    classified = any(kind == "qos input" for kind, _ in bound)
    for block in document.scope.each("interface").values():
        inward = classified or "qos input" in block.values
        bound += [(kind, stored) for kind, stored in block.values.items() if kind != _EGRESS or not inward]
    for kind, (name, line) in bound:
        if kind == _EGRESS:
            parts = document.scope.each("qos").get(name, Scope(0)).each("class").values()
            if any("group" in each.values for each in parts):
                yield name, _AS_THEY_ARRIVE, line
        policy = document.scope.each("queuing").get(name) if kind.startswith("queuing ") else None
        classes = [*policy.each("egress").values(), *policy.each("named class").values()] if policy else []
        pauses = any("pause" in each.values for each in classes)
        if kind == "queuing output" and pauses:
            yield name, "`pause` is for packets that arrive, so the policy is one for input", line
        elif kind == "queuing input" and not pauses and any("share" in each.values for each in classes):
            yield name, "`bandwidth` and `priority` are for packets that leave", line


_DROPPING = re.compile(r"default-nq(?:-8[eq])?-policy")
"""Network policies of the system itself, without a lossless class."""
_EGRESS = f"{OWN}service_policy[qos output]"
_AS_THEY_ARRIVE = "it classifies what leaves, and packets get their class as they arrive"


def _pauses(policy: Scope) -> bool:
    """Return whether a network policy has a lossless class."""
    return any(map(_is_paused, policy.each("class").values()))


def _is_paused(scope: Scope) -> bool:
    """Return whether a class of a network policy is lossless."""
    return bool(scope.table("pauses")) or not scope.values.keys().isdisjoint(("no-drop", "paused"))


_TYPES = {"qos input": "qos", "network-qos": "network-qos"}
"""How `system qos` names a policy -> its type; those for queuing have one for both directions."""


def unfilled_pauses(document: Document) -> Iterator[tuple[str, str, int]]:
    """Yield (subject, reason, line) of policies that put packets into a paused class, and are in force nowhere.

    Without a policy in force all packets are in the default class. The classes of a policy in force may lead to a group
    that the network policy does not have, in the place of the paused one.
    """
    classes = _network_policy(document).each("class")
    known = {int(str(group)): scope for group, scope in classes.items()}
    paused = {group for group, scope in known.items() if _is_paused(scope)}
    if not paused:
        return
    used = classification_policy(document)
    for name, policy in document.scope.each("qos").items():
        groups = [block.values["group"] for block in policy.each("class").values() if "group" in block.values]
        leads = any(int(str(group)) in paused for group, _ in groups)
        if leads and not used:
            yield f"policy-map type qos {name}", "no port and not `system qos` uses it", policy.line
        lost = [stored for stored in groups if int(str(stored[0])) not in known]
        if name == used and not leads and lost:
            yield f"set qos-group {lost[0][0]}", "the network policy pauses another group", lost[0][1]


_WHOLE, _LEAST_LIMIT, _LEAST_BPS = 100, 20_000, 100_000_000
"""Percent of all shares; bytes and bit/s below which a queue with PFC cannot carry RDMA."""
_BYTES = re.compile(r"bytes (\d+)(?: (?:bytes)?)?")
_MAXIMUM = re.compile(r".*\bmax (\d+) ([kmg]?)bps\b.*")
_UNITS = {"": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000}


def faulty_queues(document: Document) -> Iterator[tuple[str, str, int]]:
    """Yield (subject, reason, line) of what policies for queuing state about paused classes in vain."""
    paused = {group for group, _ in paused_groups(document).values()}
    ports = document.scope.each("interface").values()
    if not paused or not any(block.values.get("pfc", _NONE)[0] == "on" for block in ports):
        return
    used = {
        (kind, name)
        for block in (*ports, document.scope.each("system qos").get("", Scope(0)))
        for kind, (name, _) in block.values.items()
        if kind in _QUEUING
    }
    names = {name for _, name in used}
    for name, policy in document.scope.each("queuing").items():
        pausing = policy.each("ingress").items()
        if name not in names and any("pause" in block.values for _, block in pausing):
            yield f"policy-map type queuing {name}", "no port uses it, and it has the headroom", policy.line
        if ("queuing input", name) in used:
            egress = [*policy.each("egress").values(), *policy.each("named class").values()]
            if not any("pause" in block.values for _, block in pausing) and not any(
                "share" in e.values for e in egress
            ):
                yield f"policy-map type queuing {name}", "no class of it has `pause buffer-size`", policy.line
            for group, block in pausing:
                if "pause" in block.values and group not in paused:
                    why = f"the network policy does not pause qos-group {group}"
                    yield f"pause of {name}", why, block.values["pause"][1]
        if ("queuing output", name) in used:
            yield from _faulty_shares(str(name), policy, paused)


def _faulty_shares(name: str, policy: Scope, paused: Collection[object]) -> Iterator[tuple[str, str, int]]:
    """Yield the same of the shares, limits and marks of an output policy."""
    shares = [block.values["share"] for block in policy.each("egress").values() if "share" in block.values]
    figures = [
        (int(str(share).split()[1]), line) for share, line in shares if str(share).startswith("bandwidth")
    ]
    total = sum(figure for figure, _ in figures)
    if total > _WHOLE:
        line = max(figures)[1]
        yield f"bandwidth of {name}", f"all shares are {total} percent, more than there is", line
    for group, block in policy.each("egress").items():
        values = block.values
        percent, line = values.get("ecn_max_percent", (1, 0))
        if not 0 < int(percent) <= _WHOLE:
            yield f"random-detect of {name}", f"the probability of a mark is {percent} percent", line
        if group not in paused:
            continue
        limit, line = values.get(f"{SETTING_OF}queue-limit", _NONE)
        if (match := _BYTES.fullmatch(str(limit))) and int(match[1]) < _LEAST_LIMIT:
            yield f"pause no-drop of qos-group {group}", f"{name} drops above {match[1]} bytes", line
        elif match and int(match[1]) < int(values.get("ecn_min_bytes", _NONE)[0] or 0):
            yield f"random-detect of {name}", f"it drops above {match[1]} bytes, before it marks", line
        shape, line = values.get(f"{SETTING_OF}shape", _NONE)
        if (match := _MAXIMUM.fullmatch(str(shape))) and int(match[1]) * _UNITS[match[2]] < _LEAST_BPS:
            why = f"{name} sends no more than {match[1]} {match[2]}bit/s"
            yield f"bandwidth of qos-group {group}", why, line
        share, line = values.get("share", _NONE)
        if str(share) in ("bandwidth 0", "percent 0"):
            yield f"pause no-drop of qos-group {group}", f"{name} gives the class no bandwidth", line


def _bridged_mtu(document: Document) -> StoredValue | None:
    """Return the MTU of bridging ports without their own: that of the default class, if classes have their own names.

    Switches with such classes have it by class and not by interface (Nexus 5000 QoS guide 5.1(3)N2(1), MTU).
    """
    default = _network_policy(document).each("class").get(0, Scope(0)).values
    return default.get("mtu") if "called" in default else None


def _marked_by_class(document: Document) -> Iterator[Stated]:
    """Yield queues that the active network-qos policy marks, if no queuing policy states the thresholds."""
    for group, scope in _network_policy(document).each("class").items():
        control, line = scope.values.get(f"{SETTING_OF}congestion-control", _NONE)
        if "ecn" in str(control).split():
            yield f"queue[{group}]/ecn", control, line


def _system_policies(document: Document) -> Mapping[str, Value]:
    """Return the policies in force on all ports."""
    stored = document.scope.each("system qos").get("", Scope(0)).values
    return {kind: name for kind, (name, _) in stored.items()}


def _network_policy(document: Document) -> Scope:
    """Return the network-qos policy in force."""
    return document.scope.each("network-qos").get(_system_policies(document).get("network-qos"), Scope(0))


def paused_groups(document: Document) -> dict[Value, tuple[int, int]]:
    """Priority -> (qos-group, line) of what the network-qos policy in force pauses."""
    return {
        int(str(priority)): (int(str(group)), line)
        for group, scope in _network_policy(document).each("class").items()
        for priority, line in _paused_priorities(document, group, scope)
    }


def _paused_priorities(document: Document, group: Captured, scope: Scope) -> Iterator[tuple[Value, int]]:
    """Yield priorities that a network-qos class pauses: the stated ones, else those that lead to its frames."""
    stored = scope.table("pauses")
    for priority, (_, line) in stored.items():
        yield priority, line
    if "paused" in scope.values:
        figures, line = scope.values["paused"]
        yield from ((int(each), line) for each in str(figures).split(","))
    if stored or "no-drop" not in scope.values:
        return
    maps = document.scope.each("class map")
    for policy in document.scope.each("qos").values():
        for name, block in policy.each("class").items():
            if block.values.get("group", _NONE)[0] == group and name in maps:
                for priority in maps[name].table("priorities"):
                    yield priority, scope.values["no-drop"][1]


def match_kinds(document: Document, policy: Scope) -> str:
    """Return the criteria of a policy's classes, comma-joined; code points by default."""
    maps = document.scope.each("class map")
    used = [maps[name] for name in policy.each("class") if name in maps]
    points = any(each.table("dscps") or each.table("precedences") for each in used)
    found = [
        kind
        for kind, there in (
            ("dscp", points),
            ("cos", any(each.table("priorities") for each in used)),
            ("rules", any(each.table("others") for each in used)),
        )
        if there
    ]
    return ",".join(found) or "dscp"


def classification_policy(document: Document) -> Value:
    """Return the name of the policy by which interfaces classify packets; "" without one."""
    used = [block.values.get("qos input", ("", 0))[0] for block in document.scope.each("interface").values()]
    used.append(_system_policies(document).get("qos input", ""))
    known = document.scope.each("qos").keys() - {UNTRUSTED}
    return next((name for name in used if name in known), "")


def _egress_facts(policy: Scope) -> Iterator[Stated]:
    """(rest of the path, value, line) of what it gives an interface as output policy."""
    for queue, scope in policy.each("egress").items():
        values, prefix = scope.values, f"queue[{queue}]/"
        share, line = values.get("share", _NONE)
        kind, _, figure = str(share).partition(" ")
        if kind == "level":
            yield prefix + "scheduler", "strict", line
            yield prefix + "level", int(figure), line
        elif kind and figure != "0":
            yield prefix + "scheduler", f"dwrr {figure}", line
        for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent", "ecn"):
            if leaf in values:
                yield prefix + leaf, *values[leaf]


_NONE = ("", 0)


def _ingress_facts(classes: Mapping[Captured, Scope]) -> Iterator[Stated]:
    """(rest of the path, value, line) of what classes of an input or network policy give an interface.

    The figures of several lossless queues are one fact when they agree, and a list when they do not.
    """
    stored = {int(str(group)): scope.values.get("pause", _NONE) for group, scope in classes.items()}
    paused = {
        group: [int(each) for each in str(stored[group][0]).split()]
        for group in sorted(stored)
        if stored[group][1]
    }
    if not paused:
        return
    _, line = stored[max(paused)]

    def merge_values(values: list[int]) -> Value:
        return values[0] if len(set(values)) == 1 else ",".join(map(str, values))

    yield "headroom/queues", ",".join(map(str, paused)), line
    yield "headroom/xoff_bytes", merge_values([size - stop for size, stop, _ in paused.values()]), line
    yield "headroom/pause_bytes", merge_values([stop for _, stop, _ in paused.values()]), line
    yield "headroom/xon_bytes", merge_values([resume for _, _, resume in paused.values()]), line
