"""Invariant 12: the maps of every box compose to one function from code point to PFC priority.

Two things happen to a code point on a box. Packets that arrive with it fill a priority group, which pauses the
sender for some priority (`pauses`); packets that leave with it wait in a queue, which a pause for some priority
stops (`stops`). A link is lossless in one direction when the receiver's `pauses` is the sender's `stops`, and in
both directions when that holds both ways. Both functions are composed from the maps in the emitted files, packed
into 128 bytes, and compared as such: when every box has `pauses` equal to `stops` and equal to everybody else's,
every link composes to the identity in both directions, and no pair of boxes has to be looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import join_words
from fabricc.base.values import dataclass
from fabricc.facts.paths import path_pattern
from fabricc.proof.invariants.rules import Breach, breach_finding
from fabricc.proof.invariants.view import CODE_POINTS, SwitchView, as_int, leads_out, parse_priorities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.facts import FileContents, Value
    from fabricc.fabric.model import Host
    from fabricc.proof.compare import Finding

NONE = 255
"""No PFC for the code point."""


def switch_contracts(seen: SwitchView) -> dict[bytes, str]:
    """Return the packed function of each kind of port -> a path for findings about it; empty without classes.

    It is a map of a class or priority to a queue or group of another number, else the priorities of the first port.
    """
    classes = seen.code_points()
    if classes is None:
        return {}
    kinds: dict[tuple[int, ...], str] = {}
    for link in seen.links:
        if link.enabled and link.pfc is not None and (link.pfc or not leads_out(link)):
            kinds.setdefault(link.pfc, link.path + "pfc")
    found = {_compose_functions(seen, classes, pfc): path for pfc, path in kinds.items()}
    if any(packed[:CODE_POINTS] != packed[CODE_POINTS:] for packed in found):
        moved = [path for path, value in seen.facts.items() if _moves(path, value)]
        return {packed: moved[0] if moved else path for packed, path in found.items()}
    return found


_MAPPED = path_pattern("qos/(?:traffic_class|pfc_priority)[#]/(?:queue|priority_group)")


def _moves(path: str, value: Value) -> bool:
    """Return whether a fact maps a class or a priority to a queue or group of another number."""
    return (match := _MAPPED.fullmatch(path)) is not None and str(value) != match[1]


def _compose_functions(seen: SwitchView, classes: tuple[int, ...], pfc: tuple[int, ...]) -> bytes:
    """Return `pauses` of every code point, then `stops`."""
    by_group, by_queue = {}, {}
    for priority in pfc:
        group = seen.number(f"qos/pfc_priority[{priority}]/priority_group")
        by_group[priority if group is None else group] = priority
        queue = seen.number(f"qos/pfc_priority[{priority}]/queue")
        by_queue[seen.queue(priority) if queue is None else queue] = priority
    groups = {c: seen.number(f"qos/traffic_class[{c}]/priority_group") for c in set(classes)}
    stated = any(group is not None for group in groups.values())
    pauses, stops = {}, {}
    for traffic_class, group in groups.items():
        arriving = group if stated else traffic_class
        pauses[traffic_class] = NONE if arriving is None else by_group.get(arriving, NONE)
        stops[traffic_class] = by_queue.get(seen.queue(traffic_class), NONE)
    return bytes([pauses[c] for c in classes] + [stops[c] for c in classes])


def contract_breaches(contracts: dict[bytes, str]) -> Iterator[Breach]:
    """On one box: what pauses the sender of a code point is what stops it here."""
    for packed, path in contracts.items():
        pauses, stops = packed[:CODE_POINTS], packed[CODE_POINTS:]
        if wrong := [d for d in range(CODE_POINTS) if pauses[d] != stops[d]]:
            dscp = wrong[0]
            message = (
                f"{_format_code_points(wrong)}: arriving traffic pauses {_format_priority(pauses[dscp])}, "
                f"leaving traffic is stopped by {_format_priority(stops[dscp])}"
            )
            yield Breach(12, message, path)


def host_contracts(host: Host, reading: FileContents) -> dict[bytes, str]:
    """Return the function of each kind of port of a host, as `switch_contracts`."""
    facts = reading.facts
    mapped = [as_int(facts.get(f"qos/dscp[{dscp}]/priority")) for dscp in range(CODE_POINTS)]
    if all(priority is None for priority in mapped):
        return {}
    classes = {p: as_int(facts.get(f"qos/priority[{p}]/traffic_class", p)) for p in range(8)}
    kinds: dict[tuple[int, ...], str] = {}
    for port in host.ports:
        path = f"interface[{port.name}]/pfc"
        kinds.setdefault(parse_priorities(facts.get(path)), path)
    found: dict[bytes, str] = {}
    for pfc, path in kinds.items():
        by_class = {classes.get(p): p for p in pfc}
        pauses = [NONE if p is None or p not in pfc else p for p in mapped]
        stops = [NONE if p is None else by_class.get(classes.get(p), NONE) for p in mapped]
        found[bytes(pauses + stops)] = path
    return found


def host_breaches(host: Host, reading: FileContents, contracts: dict[bytes, str]) -> Iterator[Breach]:
    """Yield what the host's senders use is what its map protects: RDMA, NCCL's traffic class, notifications."""
    yield from contract_breaches(contracts)
    facts = reading.facts
    lossless = any(c.lossless for c in host.classes if host.rdma_class in ("", c.name))
    for path in ("qos/rdma_dscp", "nccl/dscp"):
        dscp = as_int(facts.get(path))
        if not lossless or dscp is None:
            continue
        for packed in contracts:
            if dscp >= CODE_POINTS or packed[dscp] == NONE:
                yield Breach(12, f"{path} is {dscp}, a code point that the NIC sends without PFC", path)
    for one, other in (("nccl/dscp", "qos/rdma_dscp"), ("nccl/control_dscp", "qos/cnp_dscp")):
        mine, wanted = facts.get(one), facts.get(other)
        if mine is not None and wanted is not None and mine != wanted:
            yield Breach(12, f"{one} is {mine} and {other} is {wanted}", one)
    dscp, priority = as_int(facts.get("qos/cnp_dscp")), facts.get("qos/cnp_priority")
    if dscp is not None and priority is not None:
        mapped = facts.get(f"qos/dscp[{dscp}]/priority")
        if mapped is not None and mapped != priority:
            message = f"notifications leave in priority {priority}, the map puts DSCP {dscp} into {mapped}"
            yield Breach(12, message, "qos/cnp_priority")
        for packed in contracts:
            if dscp < CODE_POINTS and packed[dscp] != NONE:
                yield Breach(14, f"notifications (DSCP {dscp}) go out in a priority with PFC", "qos/cnp_dscp")


@dataclass(slots=True)
class Contracts:
    """The functions of all boxes, one count and one witness per distinct function: memory does not grow."""

    counts: Counter[bytes] = field(default_factory=Counter)
    witness: dict[bytes, tuple[str, str, int]] = field(default_factory=dict)

    def copy(self) -> Contracts:
        """Return a copy to add to."""
        return Contracts(self.counts.copy(), self.witness.copy())

    def add(self, device: str, functions: Iterable[tuple[bytes, str, int]]) -> None:
        """Add the functions of one device and their places."""
        for function, file, line in functions:
            self.counts[function] += 1
            mine = (device, file, line)
            self.witness[function] = min(self.witness.get(function, mine), mine)

    def findings(self) -> Iterator[Finding]:
        """Yield the functions that differ from those of most devices."""
        if len(self.counts) < 2:
            return
        fabric = max(self.counts, key=lambda f: (self.counts[f], f))
        for function in sorted(self.counts.keys() - {fabric}):
            device, file, line = self.witness[function]
            wrong = [d for d in range(CODE_POINTS) if function[d] != fabric[d]]
            wrong = wrong or [
                d for d in range(CODE_POINTS) if function[CODE_POINTS + d] != fabric[CODE_POINTS + d]
            ]
            others = f" (and {self.counts[function] - 1:,} more devices)" if self.counts[function] > 1 else ""
            message = (
                f"{device}{others}: {_format_code_points(wrong)} is in {_format_priority(function[wrong[0]])}, "
                f"elsewhere in {_format_priority(fabric[wrong[0]])}, so PFC does not protect it from end to end"
            )
            yield breach_finding(12, message, file, line)


def _format_code_points(dscps: Iterable[int]) -> str:
    return f"DSCP {join_words([str(dscp) for dscp in dscps], 4)}"


def _format_priority(value: int) -> str:
    return "no PFC priority" if value == NONE else f"PFC priority {value}"
