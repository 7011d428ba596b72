"""Verify the subnets of InfiniBand from this machine: their cables, LIDs and partitions, read by in-band queries."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.infiniband.cabling import compare_topologies, finding_of, names_of
from fabricc.back.infiniband.reading import ReadSubnet, read_subnet
from fabricc.back.infiniband.sm_files import TOPOLOGY, Node, ReadTopology, read_topology
from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.foreign.shell import run_program
from fabricc.base.values import replace
from fabricc.fabric.infiniband import DEFAULT_PKEY, guid_text
from fabricc.operate.verify.model import Aspect, Deviation, Report, make_finding
from fabricc.proof.tree import DeviceFiles, open_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


ASPECTS = (Aspect.CABLING, Aspect.TENANTS, Aspect.INTERFACES)
"""What a subnet has of the aspects: its cables, partitions, and the LID and rate of each port."""
_FOLDER = "subnets/"
_RATE = "FAB6333"
_CA = re.compile(r"CA '([^']+)'")
_PORT = re.compile(r"\s+Port (\d+):")
_VALUE = re.compile(r"\s+(State|Port GUID|Link layer): (\S+)")
_LAYERS = ("InfiniBand", "IB")
_PKEYS = re.compile(r"^\s*\d+:((?: 0x[0-9a-f]{4})+)", re.MULTILINE)
_PACKAGES = "On Debian or Ubuntu: `sudo apt-get install infiniband-diags`."
_WHERE = "Run `fabricc verify` as root on a host or a subnet manager with a port in each subnet."
_DISCOVERY_S = 600
_QUERY_S = 30
_AT_ONCE = 4


class SubnetError(FindingsError):
    """A subnet, or a program that reads it, does not answer."""

    @property
    def status(self) -> int:
        """3: it could not be read."""
        return 3


class LocalPort(NamedTuple):
    """An active InfiniBand port of this machine, with its GUID."""

    adapter: str
    port: str
    guid: int


class _Subnet(NamedTuple):
    """One subnet of the tree, and the subnet that was found."""

    name: str
    planned: ReadSubnet
    found: ReadTopology
    at: LocalPort
    names: Mapping[str, str]


class _Comparison(NamedTuple):
    """The result for one aspect of a subnet.

    Attributes:
        counts: device -> how many things were compared.
        wrong: what differs.
        unread: device -> why it could not be read.
    """

    counts: dict[str, int]
    wrong: list[Deviation]
    unread: Mapping[str, Diagnostic] = MappingProxyType({})


def has_subnets(tree: Path) -> bool:
    """Return whether a built tree is of InfiniBand.

    Raises:
        TreeError: it is no built tree.
    """
    folder, _, manifest = open_tree(tree)
    folder.close()
    return any(path.startswith(_FOLDER) for path in manifest.files)


def verify_subnets(
    tree: Path,
    aspects: Sequence[Aspect] = ASPECTS,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Compare the subnets that this machine has a port in with those of a tree; nothing is changed in them.

    Args:
        tree: what `build` wrote.
        aspects: what to compare.
        progress: called with a phase, how many are done, and of how many.

    Raises:
        FindingsError: FAB6010 and others, the tree is not as built.
        SubnetError: FAB8002, programs are missing; FAB9207, this machine has no InfiniBand port.
    """
    planned = _read_subnets(tree)
    chosen = tuple(aspect for aspect in ASPECTS if aspect in aspects)
    ports = _local_ports()
    found: list[_Subnet] = []
    for number, port in enumerate(ports):
        progress("reading subnets", number, len(ports))
        if any(port.guid in node.port_guids.values() for each in found for node in each.found.adapters()):
            continue
        topology = read_topology(_ask("ibnetdiscover", port))
        shared = {name: names_of(each.topology, topology) for name, each in planned.items()}
        name = max(shared, key=lambda each: len(shared[each]))
        if shared[name] and name not in [each.name for each in found]:
            found.append(_Subnet(name, planned[name], topology, port, shared[name]))
    compared: dict[Aspect, dict[str, int]] = {aspect: {} for aspect in chosen}
    deviations: list[Deviation] = []
    missing = [name for name in planned if name not in [each.name for each in found]]
    unread = {f"subnet {name}": (_unread(name),) for name in missing}
    for each in found:
        for aspect in chosen:
            result = _COMPARE[aspect](tree, each)
            compared[aspect] |= result.counts
            deviations += result.wrong
            unread |= {name: (finding,) for name, finding in result.unread.items()}
    places = {aspect: number for number, aspect in enumerate(chosen)}
    return Report(
        tree=str(tree),
        aspects=chosen,
        compared=compared,
        unread=unread,
        unanswered={},
        found=tuple(sorted(deviations, key=lambda each: places[each.aspect])),
        noun="devices" if found else "subnets",
        remarks=(
            "routes and service levels are not compared: `fabricc check --sim` proves those of the files",
        ),
    )


def _read_subnets(tree: Path) -> dict[str, ReadSubnet]:
    """Return the subnets of a tree by their letters, from files that the manifest vouches for."""
    opened, _, manifest = open_tree(tree)
    opened.close()
    read = DeviceFiles.of(tree, manifest)
    found, wrong = {}, list[Diagnostic]()
    for folder in sorted(
        {"/".join(path.split("/")[:2]) for path in manifest.files if path.startswith(_FOLDER)}
    ):
        files, altered = read.read_verified(folder)
        found[folder.removeprefix(_FOLDER)] = read_subnet(files)
        wrong += altered
    if wrong:
        raise FindingsError.of(wrong)
    return found


def _local_ports() -> list[LocalPort]:
    """Return the active InfiniBand ports of this machine."""
    ports: list[LocalPort] = []
    adapter = number = state = guid = ""
    for line in _run(["ibstat"], _QUERY_S).splitlines():
        if match := _CA.match(line):
            adapter = match[1]
        elif match := _PORT.match(line):
            number, state, guid = match[1], "", ""
        elif match := _VALUE.match(line):
            if match[1] == "State":
                state = match[2]
            elif match[1] == "Port GUID":
                guid = match[2]
            elif state == "Active" and match[2] in _LAYERS:
                ports.append(LocalPort(adapter, number, int(guid or "0", 16)))
    if not ports:
        message = "this machine has no active InfiniBand port"
        raise SubnetError("FAB9207", message, _WHERE)
    return ports


def _ask(program: str, port: LocalPort, *words: str, limit_s: float = _DISCOVERY_S) -> str:
    return _run([program, "-C", port.adapter, "-P", port.port, *words], limit_s)


def _run(command: Sequence[str], limit_s: float) -> str:
    """Return the output of a program.

    Raises:
        SubnetError: FAB8002, it is not installed; FAB9207, it fails or does not end.
    """
    try:
        done = run_program(command, limit_s)
    except FileNotFoundError:
        raise SubnetError("FAB8002", f"not installed: {command[0]}", _PACKAGES) from None
    except (OSError, TimeoutError) as error:
        raise SubnetError("FAB9207", f"{command[0]} fails: {error}", _WHERE) from None
    if done.status:
        words = (done.error.strip() or done.output.strip()).splitlines()
        raise SubnetError("FAB9207", f"{command[0]} fails: {(words or ['no output'])[-1][:120]}", _WHERE)
    return done.output


def _unread(name: str) -> Diagnostic:
    message = f"no port of this machine is in subnet {name}"
    return Diagnostic("FAB9207", Severity.ERROR, message, None, _WHERE)


def _differences(tree: Path, subnet: _Subnet) -> Iterator[tuple[bool, str, Diagnostic]]:
    """Yield whether a difference is one of rate, its device, and its finding."""
    file = str(tree / _FOLDER / subnet.name / TOPOLOGY)
    for each in compare_topologies(subnet.planned.topology, subnet.found):
        at = None if each.found else Position(file, max(1, each.line), 1)
        yield each.code == _RATE, each.device, finding_of(each, at)


def _compare_cables(tree: Path, subnet: _Subnet) -> _Comparison:
    counts = {node.name: len(node.ends) for node in subnet.planned.topology.nodes.values()}
    wrong = [Deviation(Aspect.CABLING, at, one) for rate, at, one in _differences(tree, subnet) if not rate]
    return _Comparison(counts, wrong)


def _compare_ports(tree: Path, subnet: _Subnet) -> _Comparison:
    """Compare the rate of links, and the LID of each device that was found."""
    wrong = [Deviation(Aspect.INTERFACES, at, one) for rate, at, one in _differences(tree, subnet) if rate]
    counts: dict[str, int] = {}
    for name, node, found in _pairs(subnet):
        counts[name] = len(node.ends) + 1
        if found.lid != node.lid:
            message = f"has LID {found.lid}; planned is {node.lid}"
            remedy = "Copy `var/cache/opensm/guid2lid` to the subnet manager and restart it."
            wrong.append(make_finding(Aspect.INTERFACES, name, "FAB9235", message, remedy=remedy))
    return _Comparison(counts, wrong)


def _pairs(subnet: _Subnet) -> Iterator[tuple[str, Node, Node]]:
    """Yield the name of each planned device that was found, as planned and as found."""
    nodes = {node.name: node for node in subnet.planned.topology.nodes.values()}
    for node_id, name in subnet.names.items():
        yield name, nodes[name], subnet.found.nodes[node_id]


def _compare_partitions(_tree: Path, subnet: _Subnet) -> _Comparison:
    """Compare the P_Keys of each adapter with the partitions of the tree, besides that of the default one."""
    adapters = [pair for pair in _pairs(subnet) if not pair[1].is_switch and pair[2].lid]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tables = list(pool.map(lambda pair: _pkeys_of(subnet.at, pair[2].lid), adapters))
    counts: dict[str, int] = {}
    wrong, unread = list[Deviation](), dict[str, Diagnostic]()
    for (name, node, _), table in zip(adapters, tables, strict=True):
        if isinstance(table, Diagnostic):
            unread[name] = replace(table, message=f"{name}: {table.message}")
            continue
        counts[name] = 1
        wanted = _planned_pkeys(subnet.planned, guid_text(node.guid))
        if table != wanted:
            message = f"has P_Keys {_pkey_words(table)}; planned are {_pkey_words(wanted)}"
            remedy = "Copy `etc/opensm/partitions.conf` to the subnet manager, and restart it."
            wrong.append(make_finding(Aspect.TENANTS, name, "FAB9226", message, remedy=remedy))
    return _Comparison(counts, wrong, unread)


def _planned_pkeys(planned: ReadSubnet, guid: str) -> frozenset[int]:
    return frozenset(
        (each.pkey & DEFAULT_PKEY) | (0 if each.members[guid] == "limited" else 0x8000)
        for each in planned.partitions
        if guid in each.members and each.pkey & DEFAULT_PKEY != DEFAULT_PKEY
    )


def _pkeys_of(at: LocalPort, lid: int) -> frozenset[int] | Diagnostic:
    """Return the P_Keys that a port has, without those of the default partition; or why it cannot be read."""
    try:
        text = _ask("smpquery", at, "pkeys", str(lid), limit_s=_QUERY_S)
    except SubnetError as error:
        return error.diagnostic
    keys = {int(word, 16) for row in _PKEYS.findall(text) for word in row.split()}
    return frozenset(key for key in keys if key & DEFAULT_PKEY not in (0, DEFAULT_PKEY))


def _pkey_words(keys: frozenset[int]) -> str:
    return ", ".join(f"0x{key:04x}" for key in sorted(keys)) or "none"


_COMPARE: Mapping[Aspect, Callable[[Path, _Subnet], _Comparison]] = {
    Aspect.CABLING: _compare_cables,
    Aspect.TENANTS: _compare_partitions,
    Aspect.INTERFACES: _compare_ports,
}
