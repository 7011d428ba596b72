"""Judge a simulated subnet: logs, LIDs, routes through the installed tables, loops, partitions, a lost link."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.infiniband.sm_files import CONF, PARTITIONS, Node, ReadTopology, default_lane, read_topology
from fabricc.base.values import dataclass
from fabricc.fabric.infiniband import DEFAULT_PKEY, InfinibandFabric
from fabricc.proof import Finding
from fabricc.proof.infiniband.subnets import adapter_distances

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.proof.infiniband.sim.processes import SimulatedSubnet


_SWITCH = re.compile(r"Unicast lids .*guid 0x([0-9a-f]{16})")
_ENTRY = re.compile(r"0x([0-9a-f]{4}) (\d{3}) [:#]")
_NO_PORT = 255
_SHOWN = 5

Tables = dict[str, "array[int]"]
"""Switch id -> output port by LID; 255 where there is none."""


def read_tables(lines: Iterable[str], top: int) -> Tables:
    """Forwarding tables from the lines that `dump_lfts` or opensm itself wrote, up to LID `top`."""
    tables: Tables = {}
    current = array("B")
    for line in lines:
        if line.startswith("0x"):
            if (match := _ENTRY.match(line)) and (lid := int(match[1], 16)) <= top:
                current[lid] = min(_NO_PORT, int(match[2]))
        elif match := _SWITCH.match(line):
            current = tables.setdefault(f"S-{match[1]}", array("B", [_NO_PORT]) * (top + 1))
    return tables


@dataclass(slots=True)
class Walk:
    """The result of walking every route from every leaf to every adapter.

    Attributes:
        routes: how many were walked.
        lost: routes that do not arrive, a few of them in words; `lost_count`: how many there are.
        turns: places where a route that went down goes up again, which is how credit loops begin.
        loads: uplink (leaf, port) -> routes that leave a leaf by it.
    """

    routes: int = 0
    lost: list[str] = field(default_factory=list)
    lost_count: int = 0
    turns: list[str] = field(default_factory=list)
    loads: Counter[tuple[str, int]] = field(default_factory=Counter)

    def record_lost(self, what: str) -> None:
        """Record a route that does not arrive."""
        self.lost_count += 1
        if len(self.lost) < _SHOWN:
            self.lost.append(what)


def walk_routes(
    topology: ReadTopology, tables: Tables, cut: frozenset[tuple[str, int]] = frozenset()
) -> Walk:
    """Walk every route; `cut` are the ends (node id, port) of unplugged links."""
    rank, found = adapter_distances(topology), Walk()
    links = {
        node.id: {port: peer for port, (peer, _, _) in node.ends.items() if (node.id, port) not in cut}
        for node in topology.switches()
    }
    leaves = sorted(node_id for node_id, level in rank.items() if level == 1)
    for adapter in topology.adapters():
        _walk_to(adapter.id, adapter.lid, topology, tables, links, rank, leaves, found)
    return found


def _walk_to(
    target: str,
    lid: int,
    topology: ReadTopology,
    tables: Tables,
    links: Mapping[str, Mapping[int, str]],
    rank: Mapping[str, int],
    leaves: list[str],
    found: Walk,
) -> None:
    """Walk from every leaf to one adapter; a switch that was passed once is not passed again."""
    arrives: dict[str, bool] = {}
    for leaf in leaves:
        found.routes += 1
        passed: list[str] = []
        at, came_down, done = leaf, False, False
        while True:
            if at in arrives and not came_down:
                done = arrives[at]
                break
            if at in passed:  # a circle: whoever is come down to again went up from here
                if came_down:
                    _record_turn(found, topology, at, target)
                break
            passed.append(at)
            port = tables[at][lid] if at in tables else _NO_PORT
            following = links[at].get(port)
            if at == leaf and following is not None and following != target:
                found.loads[leaf, port] += 1
            if following is None or following == target:
                done = following == target
                break
            if not following.startswith("S-"):
                break
            down = rank[following] < rank[at]
            if came_down and not down:
                _record_turn(found, topology, at, target)
            at, came_down = following, down
        arrives |= dict.fromkeys(passed, done)
        if not done:
            found.record_lost(f"from {topology.nodes[leaf].name} to {topology.nodes[target].name}")


def _record_turn(found: Walk, topology: ReadTopology, at: str, target: str) -> None:
    if len(found.turns) < _SHOWN:
        found.turns.append(f"at {topology.nodes[at].name} towards {topology.nodes[target].name}")


_PRINTED = re.compile(r".*(?:Unrecognized token|Invalid Cached Option|PARSE ERROR|Error in QoS).*")
_LOGGED = re.compile(r".*(?: ERR |not a fat-tree|LMC > 0|No valid roots|retrying with default config).*")
_ENGINE = re.compile(r"(\w+) tables configured on all switches")
_PKEY = re.compile(r"pkey\.+0x([0-9A-Fa-f]{4})")
_LEVEL = re.compile(r"\bsl\.+0x([0-9A-Fa-f]+)")
_TELLING = 5
READ_BY_MADS = 250_000
"""Table entries up to which they are read from the simulated switches; beyond, opensm's own dump is read."""
CHECKED_BY_IBDM = 2_600
"""Adapters up to which ibdmchk looks for credit loops: its time grows with the square of their number."""
TENANTS = 8


class Subject(NamedTuple):
    """A running subnet, what was emitted for it, and what was planned."""

    ib: InfinibandFabric
    topology: ReadTopology
    running: SimulatedSubnet


def report_messages(running: SimulatedSubnet) -> Iterator[Finding]:
    """Report FAB6321: messages of opensm about its configuration and its fabric, which do not stop it."""
    found = [
        *_PRINTED.findall(running.read_output()),
        *(line for line in _LOGGED.findall(running.log()) if "no_fallback" not in line),
    ]
    for line in found[:_TELLING]:
        yield Finding("FAB6321", line.strip()[:240], CONF)


def check_engine(subject: Subject) -> Iterator[Finding]:
    """Report FAB6322 if the engine that made the tables is not the first planned one."""
    wanted = subject.ib.engine.names[0]
    used = _ENGINE.findall(subject.running.log())
    if not used or set(used) != {wanted}:
        yield Finding("FAB6322", f"planned is {wanted}, used {', '.join(sorted(set(used))) or 'none'}", CONF)


def check_lids(subject: Subject) -> Iterator[Finding]:
    """Report FAB6323 if a port that answers has another LID than planned; a separate program reads the subnet."""
    answered = read_topology(subject.running.run_tool("ibnetdiscover"))
    found = {node.name: node.lid for node in answered.nodes.values()}
    reported = 0
    for node in subject.topology.nodes.values():
        if found.get(node.name) != node.lid and (reported := reported + 1) <= _TELLING:
            yield Finding("FAB6323", f"{node.name}: planned {node.lid}, found {found.get(node.name)}", "")
    extra = found.keys() - {node.name for node in subject.topology.nodes.values()}
    if extra:
        yield Finding("FAB6323", f"{len(extra)} nodes that were not planned: {min(extra)}", "")


def walk_tables(subject: Subject, cut: frozenset[tuple[str, int]] = frozenset()) -> Walk:
    """Walk every route through the tables that are installed now."""
    topology = subject.topology
    top = max(node.lid for node in topology.nodes.values())
    switches = sum(1 for _ in topology.switches())
    if switches * top <= READ_BY_MADS:
        tables = read_tables(subject.running.run_tool("dump_lfts", "-a").splitlines(), top)
    else:
        with (subject.running.folder / "dump" / "opensm-lfts.dump").open(encoding="utf-8") as lines:
            tables = read_tables(lines, top)
    return walk_routes(topology, tables, cut)


def check_routes(result: Walk, code: str = "FAB6324") -> Iterator[Finding]:
    """Report FAB6324 (or the given code) for routes that do not arrive, FAB6325 for turns from down to up."""
    if result.lost_count:
        yield Finding(
            code, f"{result.lost_count:,} of {result.routes:,} routes, such as {result.lost[0]}", ""
        )
    if result.turns:
        yield Finding("FAB6325", f"a route goes down and up again {result.turns[0]}", "")


def check_loops(subject: Subject) -> Iterator[Finding]:
    """Report FAB6325 if ibdmchk finds a credit loop or a dead end; it runs only where it ends in reasonable time."""
    dump = subject.running.folder / "dump"
    output = subject.running.run_tool(
        "ibdmchk", "-s", str(dump / "opensm-subnet.lst"), "-f", str(dump / "opensm.fdbs"),
        "-m", str(dump / "opensm.mcfdbs"), timeout_s=1800,
    )  # fmt: skip
    if "no credit loops found" not in output or "-E-" in output:
        wrong = [line for line in output.splitlines() if "-E-" in line or "loop" in line]
        yield Finding("FAB6325", f"ibdmchk: {(wrong or ['no verdict'])[0][:200]}", "")


def trace_packet(subject: Subject, first: Node, last: Node) -> Iterator[Finding]:
    """Report FAB6324 if a packet from one adapter does not reach another through the simulated switches."""
    output = subject.running.run_tool("ibtracert", str(first.lid), str(last.lid))
    if f"lid {last.lid}-{last.lid}" not in output.strip().rpartition("\n")[2]:
        yield Finding("FAB6324", f"ibtracert from {first.name} to {last.name}: {output.strip()[-160:]}", "")


def check_partitions(subject: Subject) -> Iterator[Finding]:
    """Report FAB6326 and FAB6328: paths exist between members of one tenant only, with its service level."""
    ports: dict[str, Node] = {}
    for node in subject.topology.adapters():
        ports.setdefault(node.name.partition(" ")[0], node)
    divided = {host for each in subject.ib.partitions for host in each.rails}
    own = next(node for node in reversed(list(subject.topology.adapters())))
    manager = own.name.partition(" ")[0]
    ib = subject.ib
    default = ib.classes[default_lane(ib.classes)].sl
    requested = [
        [host for host in each.hosts if host != manager and host not in divided]
        for each in ib.partitions[:TENANTS]
    ]
    if not ib.partitions:
        pair = [host for host in ports if host != manager][:2]
        if len(pair) == 2:
            yield from _check_joined(subject, ports, pair, DEFAULT_PKEY, default)
    for tenant, members in zip(ib.partitions, requested, strict=False):
        if len(members) > 1:
            level = default if tenant.sl is None else tenant.sl
            yield from _check_joined(subject, ports, [members[0], members[-1]], tenant.pkey, level)
    for index, (tenant, members) in enumerate(zip(ib.partitions, requested, strict=False)):
        for other in requested[index + 1 :]:
            apart = [host for host in other if host not in tenant.hosts]
            if members and apart and not _have_common_tenant(ib, members[0], apart[0]):
                yield from _check_separated(subject, ports, members[0], apart[0])


def _have_common_tenant(ib: InfinibandFabric, one: str, other: str) -> bool:
    return any(one in each.hosts and other in each.hosts for each in ib.partitions)


def _check_joined(
    subject: Subject, ports: dict[str, Node], pair: list[str], pkey: int, level: int
) -> Iterator[Finding]:
    record = _path_record(subject, ports[pair[0]], ports[pair[1]], pkey | 0x8000)
    key, sl = _PKEY.search(record), _LEVEL.search(record)
    if key is None or int(key[1], 16) & DEFAULT_PKEY != pkey:
        message = f"{pair[0]} and {pair[1]} have no path in partition 0x{pkey:04x}"
        yield Finding("FAB6326", message, PARTITIONS)
    elif sl is None or int(sl[1], 16) != level:
        given = sl[1] if sl else "none"
        message = f"{pair[0]} to {pair[1]}: service level {given}, planned is {level}"
        yield Finding("FAB6328", message, CONF)


def _check_separated(subject: Subject, ports: dict[str, Node], one: str, other: str) -> Iterator[Finding]:
    if _PKEY.search(_path_record(subject, ports[one], ports[other])):
        yield Finding("FAB6326", f"{one} has a path to {other}, which is of another tenant", PARTITIONS)


def _path_record(subject: Subject, one: Node, other: Node, pkey: int | None = None) -> str:
    """Return the path record between two ports, in any shared partition or in the requested one."""
    requested = [] if pkey is None else ["--pkey", f"0x{pkey:04x}"]
    lids_ = ("--slid", str(one.lid), "--dlid", str(other.lid))
    return subject.running.run_tool("saquery", "PR", *lids_, *requested)
