"""Tables of the plan of an InfiniBand fabric: cabling workbook, LIDs and GUIDs, partitions, service levels, summary."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.infiniband.sm_files import TOPOLOGY, Node, ReadTopology, read_topology
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.files import Folder, read
from fabricc.base.foreign.formats import csv_text
from fabricc.base.values import dataclass
from fabricc.fabric import links
from fabricc.fabric.infiniband import MOST_LIDS, InfinibandFabric, guid_text, is_placeholder
from fabricc.fabric.infiniband_wiring import Subnet, ports_by_name, speed_word
from fabricc.fabric.shape import Slot, TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


_MANAGED = re.compile(r"MF0;([^:]+):")
"""Pattern of the description of a managed switch: `MF0;<host name>:<model>/U1`."""
_AGGREGATION = "Aggregation Node"
"""Description of the adapters inside switches for in-network reduction (SHARP), which have no cable."""


class End(NamedTuple):
    """One end of a cable: the device's planned name, else its own node description, and the port."""

    device: str
    port: int

    def __str__(self) -> str:
        return f"{self.device} port {self.port}"


class Difference(NamedTuple):
    """One deviation from the plan.

    Attributes:
        code: `FAB633…`.
        device: the device that it is listed under.
        found: whether `line` refers to the discovered topology, not to the expected one.
        line: line number; 0 if there is none.
    """

    code: str
    device: str
    message: str
    found: bool
    line: int


@dataclass(frozen=True, slots=True)
class _Cables:
    """One side of the comparison.

    Attributes:
        peers: end -> the other end; each cable occurs twice.
        words: lanes and rate by end.
        lines: of each device.
    """

    peers: Mapping[End, End]
    words: Mapping[End, str]
    lines: Mapping[str, int]


def names_of(planned: ReadTopology, found: ReadTopology) -> Mapping[str, str]:
    """Return discovered node ID -> planned name, matched by the GUID of node or port, else by node description."""
    by_guid = {node.guid: node.name for node in planned.nodes.values()}
    known = set(by_guid.values())
    names: dict[str, str] = {}
    for node in found.nodes.values():
        guids = (node.guid, *node.port_guids.values())
        name = next((by_guid[guid] for guid in guids if guid in by_guid), None)
        if name is not None:
            names[node.id] = name
    taken = set(names.values())
    for node in found.nodes.values():
        name = _node_name(node)
        if node.id not in names and name in known and name not in taken:
            names[node.id] = name
            taken.add(name)
    return names


def compare_topologies(planned: ReadTopology, found: ReadTopology) -> Iterator[Difference]:
    """Yield every difference in the order of the expected topology; nothing if the cabling is as planned."""
    names = names_of(planned, found)
    wanted = _map_cables(planned, {node.id: node.name for node in planned.nodes.values()})
    there = _map_cables(
        found,
        {
            **{node.id: f"{_node_name(node)} ({guid_text(node.guid)})" for node in found.nodes.values()},
            **names,
        },
    )
    yield from _compare_devices(wanted, there)
    yield from _other_guids(planned, found, names)
    yield from _compare_links(wanted, there)


def _node_name(node: Node) -> str:
    match = _MANAGED.match(node.name)
    return match[1] if match else node.name


def _map_cables(topology: ReadTopology, names: Mapping[str, str]) -> _Cables:
    inner = {node.id for node in topology.adapters() if _AGGREGATION in node.name}
    peers: dict[End, End] = {}
    words: dict[End, str] = {}
    for node in topology.nodes.values():
        for port, (peer, peer_port, word) in node.ends.items():
            if node.id not in inner and peer not in inner:
                end = End(names[node.id], port)
                peers[end], words[end] = End(names.get(peer, peer), peer_port), word
    lines = {names[node.id]: node.line for node in topology.nodes.values() if node.id not in inner}
    return _Cables(peers, words, lines)


def _compare_devices(planned: _Cables, found: _Cables) -> Iterator[Difference]:
    for name, line in planned.lines.items():
        if name not in found.lines:
            yield Difference("FAB6330", name, f"{name} was not found", False, line)
    for name, line in found.lines.items():
        if name not in planned.lines:
            at = next((str(peer) for end, peer in found.peers.items() if end.device == name), "nothing")
            yield Difference("FAB6331", name, f"{name} is not planned; it is cabled to {at}", True, line)


def _other_guids(
    planned: ReadTopology, found: ReadTopology, names: Mapping[str, str]
) -> Iterator[Difference]:
    """Yield devices with a planned name but another GUID: they get no planned LID."""
    guids = {node.name: node.guid for node in planned.nodes.values()}
    for node_id, name in names.items():
        node, guid = found.nodes[node_id], guids[name]
        if guid not in (node.guid, *node.port_guids.values()) and not is_placeholder(guid):
            own = guid_text(next(iter(node.port_guids.values()), node.guid))
            message = f"{name} has GUID {own}; the plan has {guid_text(guid)}"
            yield Difference("FAB6334", name, message, True, node.line)


def _compare_links(planned: _Cables, found: _Cables) -> Iterator[Difference]:
    reported: set[End] = set()
    misplaced: set[frozenset[End]] = set()
    for end, peer in planned.peers.items():
        if end in reported or not {end.device, peer.device} <= found.lines.keys():
            continue
        reported |= {end, peer}
        if found.peers.get(end) == peer:
            if found.words[end] != planned.words[end]:
                message = f"{end} to {peer} runs at {found.words[end]}; planned is {planned.words[end]}"
                yield Difference("FAB6333", end.device, message, True, found.lines[end.device])
            continue
        swap = _find_swap(planned, found, end) or _find_swap(planned, found, peer)
        if swap is None:
            yield from _report_moved(planned, found, end, peer, misplaced)
            continue
        one, other, first, second = swap
        reported |= set(swap)
        message = (
            f"swapped: {one} is cabled to {second} and {other} to {first}; "
            f"planned is {one} to {first} and {other} to {second}"
        )
        yield Difference("FAB6332", one.device, message, True, found.lines[one.device])
    for end, peer in found.peers.items():
        between_planned = {end.device, peer.device} <= planned.lines.keys()
        if between_planned and end < peer and not {end, peer} & planned.peers.keys():
            message = f"{end} to {peer} is not planned"
            yield Difference("FAB6331", end.device, message, True, found.lines[end.device])


def _find_swap(planned: _Cables, found: _Cables, one: End) -> tuple[End, End, End, End] | None:
    """Return `one`, the other end whose cable was exchanged with its own, and the planned peer of each."""
    first, second = planned.peers[one], found.peers.get(one)
    other = planned.peers.get(second) if second is not None else None
    if second is None or other is None or found.peers.get(other) != first:
        return None
    return one, other, first, second


def _report_moved(
    planned: _Cables, found: _Cables, end: End, peer: End, reported: set[frozenset[End]]
) -> Iterator[Difference]:
    """Report a planned cable that is not in place: moved (each moved cable once) or missing."""
    elsewhere = [(at, far) for at in (end, peer) if (far := found.peers.get(at)) is not None]
    fresh = [(at, far) for at, far in elsewhere if frozenset((at, far)) not in reported]
    if not fresh and len(elsewhere) < len((end, peer)):
        yield Difference(
            "FAB6330", end.device, f"no link from {end} to {peer}", False, planned.lines[end.device]
        )
    for at, far in fresh:
        reported.add(frozenset((at, far)))
        message = f"{at} is cabled to {far}; planned is {peer if at == end else end}"
        yield Difference("FAB6332", at.device, message, True, found.lines[at.device])


MAX_BYTES = 256 * 1024 * 1024
_MOST_LISTED = 200
"""The number of differences of one code that are listed; the others are counted."""
_HOW = "Write it with `ibnetdiscover --node-name-map /etc/opensm/node-name-map > FILE`."
_REMEDIES = {
    "FAB6330": "Plug the cable in, or see why the link is down: `ibstat`, `mlxlink`.",
    "FAB6331": "Take it out, or plan it.",
    "FAB6332": "Move the cables to the ports of plan/cabling.csv, and look again.",
    "FAB6333": "Reseat or replace the cable, and check the speeds that both ends support.",
    "FAB6334": "Correct the file of `infiniband.guids`, and build again: LIDs and partitions follow the GUID.",
}


def compare_files(tree: Path, files: Sequence[Path]) -> list[Diagnostic]:
    """Return the differences between the subnets of a tree and the discovered ones.

    Args:
        tree: a built tree.
        files: output of `ibnetdiscover`, one file per subnet; each is compared with the subnet with which it shares
            most devices.
    """
    expected = {}
    for path in sorted(tree.glob(f"subnets/*/{TOPOLOGY}")):
        with suppress(OSError), Folder(tree) as folder:
            text = folder.read(path.relative_to(tree).as_posix(), limit=MAX_BYTES)
            expected[path] = read_topology(text.decode(errors="replace"))
    if not expected:
        message = f"{tree} has no InfiniBand subnet to compare with"
        help_ = "Cables of Ethernet are compared by `fabricc verify`."
        return [Diagnostic("FAB6335", Severity.ERROR, message, None, help_)]
    return [each for file in files for each in _file_differences(expected, file)]


def _file_differences(expected: dict[Path, ReadTopology], file: Path) -> Iterator[Diagnostic]:
    try:
        found = read_topology(read(file, limit=MAX_BYTES).decode(errors="replace"))
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        yield Diagnostic("FAB6335", Severity.ERROR, message, None, _HOW)
        return
    shared = {path: len(names_of(planned, found)) for path, planned in expected.items()}
    subnet = max(shared, key=lambda path: shared[path])
    if not shared[subnet]:
        message = "no device of the plan is in this file, neither by GUID nor by name"
        yield Diagnostic("FAB6335", Severity.ERROR, message, Position(str(file), 1, 1), _HOW)
        return
    different = list(compare_topologies(expected[subnet], found))
    yield from _diagnostics_of(different, file, subnet)
    if not different:
        links = sum(len(node.ends) for node in expected[subnet].nodes.values()) // 2
        message = f"{file} is as planned: {shared[subnet]:,} devices, {links:,} links"
        yield Diagnostic("FAB6336", Severity.NOTE, message, Position(str(file), 1, 1))


def _diagnostics_of(different: Iterable[Difference], file: Path, subnet: Path) -> Iterator[Diagnostic]:
    seen: Counter[str] = Counter()
    for each in different:
        seen[each.code] += 1
        if seen[each.code] <= _MOST_LISTED:
            at = Position(str(file if each.found else subnet), max(1, each.line), 1)
            yield finding_of(each, at)
    for code, number in seen.items():
        if number > _MOST_LISTED:
            message = f"{number - _MOST_LISTED:,} more of this kind"
            yield Diagnostic(code, _code_severity(code), message, Position(str(file), 1, 1))


def finding_of(different: Difference, at: Position | None) -> Diagnostic:
    """Return the finding of a difference, with its remedy."""
    code = different.code
    return Diagnostic(code, _code_severity(code), different.message, at, _REMEDIES[code])


def _code_severity(code: str) -> Severity:
    """Return the severity; a link at another rate still works."""
    return Severity.WARNING if code == "FAB6333" else Severity.ERROR


CABLING = (
    "kind", "a_device", "a_port", "a_number", "b_device", "b_port", "b_number", "link", "gbps", "medium", "length_m",
)  # fmt: skip
LIDS = ("name", "kind", "subnet", "guid", "known", "lid")
PARTITIONS = ("name", "pkey", "hosts", "sl", "members")
CLASSES = ("class", "sl", "vl", "strict", "weight_percent")

Row = tuple[object, ...]


def plan_files(ib: InfinibandFabric, assumptions: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Name and text of every file of the plan."""
    yield "cabling.csv", csv_text(chain([CABLING], cabling_rows(ib)))
    yield "lids.csv", csv_text(chain([LIDS], lid_rows(ib)))
    yield "partitions.csv", csv_text(chain([PARTITIONS], partition_rows(ib)))
    yield "classes.csv", csv_text(chain([CLASSES], class_rows(ib)))
    yield "fabric.json", json.dumps(fabric_summary(ib, assumptions), indent=2, sort_keys=True) + "\n"


def cabling_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Yield one row per cable, lower end first: ports as printed, and as the subnet manager counts them."""
    wiring = ib.wiring
    ports: dict[str, dict[str, tuple[int, Slot]]] = {}
    by_key: dict[str, dict[str, tuple[int, Slot]]] = {}
    for at in wiring.switch_ids():
        key = links.layout_key(wiring, at)
        if key not in by_key:
            by_key[key] = ports_by_name(wiring, at)
        ports[wiring.name(at)] = by_key[key]
    for c in wiring.cables():
        a = 1 if c.kind == "host" else ports[c.a_device][c.a_port][0]
        b, used = ports[c.b_device][c.b_port]
        word = speed_word(c.speed_gbps, used.lanes)
        yield (
            c.kind, c.a_device, c.a_port, a, c.b_device, c.b_port, b, word, c.speed_gbps, c.medium, c.length_m,
        )  # fmt: skip


def lid_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Every port that has a LID, by subnet; `known` is no where the GUID is a placeholder."""
    for number in range(ib.subnets):
        subnet = Subnet(ib, number)
        for switch in subnet.switches():
            known = "no" if is_placeholder(switch.guid) else "yes"
            yield switch.name, switch.tier.value, number + 1, guid_text(switch.guid), known, switch.lid
        for port in subnet.host_ports():
            known = "yes" if port.real_guid else "no"
            yield port.label, "host", number + 1, guid_text(port.guid), known, port.lid


def partition_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Yield the tenants."""
    for each in ib.partitions:
        level = "" if each.sl is None else each.sl
        yield each.name, f"0x{each.pkey | 0x8000:04x}", len(each.hosts), level, " ".join(each.members())


def class_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Classes with service level and virtual lane."""
    for lane, each in enumerate(ib.classes):
        yield each.name, each.sl, lane, each.strict, each.weight_percent


_PLAIN = (bool, int, float, str, list, NoneType)
"""Types that JSON contains unchanged."""


def fabric_summary(ib: InfinibandFabric, assumptions: Mapping[str, object]) -> dict[str, object]:
    """Return the content of `plan/fabric.json`."""
    wiring = ib.wiring
    leaf = wiring.tiers[TierName.TOR]
    top = max(lid for _, _, _, _, _, lid in lid_rows(ib) if isinstance(lid, int))
    return {
        "assumptions": {path: v if isinstance(v, _PLAIN) else str(v) for path, v in assumptions.items()},
        "cluster": wiring.cluster,
        "counts": ib.counts(),
        "fabric": "infiniband",
        "generation": str(leaf.model.nos[leaf.nos]["generation"]),
        "ipoib": {"pool": str(ib.ipoib.pool), "mode": ib.ipoib.mode, "mtu": ib.ipoib.mtu}
        if ib.ipoib
        else None,
        "lids": {
            "spines_from": ib.lids.spine,
            "units_from": ib.lids.unit,
            "highest": top,
            "limit": MOST_LIDS,
        },
        **({"moved": moved} if (moved := wiring.moves.list_stated()) else {}),
        "partitions": {each.name: each.pkey for each in ib.partitions},
        **({"racks": wiring.rack_hosts()} if wiring.racks else {}),
        "routing": {"engines": list(ib.engine.names), "reason": ib.engine.reason},
        "shape": wiring.figures(),
        "tiers": {tier.value: plan.model.name for tier, plan in wiring.tiers.items()},
    }
