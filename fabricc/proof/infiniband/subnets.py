"""Prove the files of a subnet and of its hosts: they match the plan and the rules of any sound subnet.

Addresses, modes and names of a host are read back from whichever files its system takes.
"""

from __future__ import annotations

import configparser
import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.hosts.nccl import FILES
from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.services import MODULES, RDMA_MODULES
from fabricc.back.hosts.words import network_path
from fabricc.back.infiniband import host_files, sm_files
from fabricc.back.infiniband.reading import ReadSubnet, read_subnet
from fabricc.back.reading.tree import find_node
from fabricc.back.reading.yaml_lines import yaml_tree
from fabricc.base.documents.document import clip
from fabricc.base.numbers import is_number
from fabricc.fabric import infiniband
from fabricc.fabric.infiniband import DEFAULT_PKEY, guid_text
from fabricc.proof import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.infiniband_wiring import Subnet

_ENGINES = {"ftree", "updn", "minhop"}


def prove_subnet(subnet: Subnet, files: Mapping[str, str]) -> Iterator[Finding]:
    """Yield every problem in the files of a subnet; nothing when they are proved."""
    read = read_subnet(files)
    for odd in read.unknown:
        yield Finding("FAB6301", odd.text, odd.file, odd.line)
    yield from _as_planned(subnet, read)
    yield from check_cables(read.topology)
    yield from _check_lids(read)
    yield from _check_lists(read)
    yield from _check_tree(read.topology)
    yield from _check_partitions(subnet, read)
    yield from _check_conf(subnet, read)


def _as_planned(subnet: Subnet, read: ReadSubnet) -> Iterator[Finding]:
    """Topology, LIDs and names against the plan, node by node."""
    file, nodes = sm_files.TOPOLOGY, read.topology.nodes
    planned: set[str] = set()
    for switch in subnet.switches():
        node_id = f"S-{switch.guid:016x}"
        planned.add(node_id)
        ends = {
            end.port: (f"{'H' if end.to_host else 'S'}-{end.peer_guid:016x}", end.peer_port, end.word)
            for end in switch.ends
        }
        yield from _check_node(nodes.get(node_id), switch.name, switch.lid, ends)
        if read.names.get(guid_text(switch.guid)) != switch.name:
            message = f"{switch.name} has another name, or none"
            yield Finding("FAB6302", message, sm_files.NAMES)
    for port in subnet.host_ports():
        node_id = f"H-{port.guid:016x}"
        planned.add(node_id)
        end = {1: (f"S-{port.switch_guid:016x}", port.switch_port, port.word)}
        yield from _check_node(nodes.get(node_id), port.description, port.lid, end)
    for node_id in nodes.keys() - planned:
        yield Finding("FAB6302", f"{nodes[node_id].name} is not planned", file, nodes[node_id].line)


def _check_node(
    node: sm_files.Node | None, name: str, lid: int, ends: Mapping[int, tuple[str, int, str]]
) -> Iterator[Finding]:
    file = sm_files.TOPOLOGY
    if node is None:
        yield Finding("FAB6302", f"{name} is missing", file)
        return
    if (node.name, node.lid) != (name, lid):
        yield Finding(
            "FAB6302", f"{node.name} with LID {node.lid} is planned as {name}, {lid}", file, node.line
        )
    for port in sorted(node.ends.keys() | ends.keys()):
        if node.ends.get(port) != ends.get(port):
            yield Finding("FAB6302", f"{name} port {port} is not cabled as planned", file, node.line)


def check_cables(topology: sm_files.ReadTopology) -> Iterator[Finding]:
    """Report FAB6303 unless both ends of every cable exist and agree, on ports that the switch has."""
    file, nodes = sm_files.TOPOLOGY, topology.nodes
    for node in nodes.values():
        for port, (peer_id, peer_port, word) in node.ends.items():
            peer = nodes.get(peer_id)
            back = peer.ends.get(peer_port) if peer else None
            if back != (node.id, port, word):
                yield Finding("FAB6303", f"{node.name} port {port}: the other end disagrees", file, node.line)
            if not 1 <= port <= node.ports:
                yield Finding("FAB6303", f"{node.name} has no port {port}", file, node.line)


def _check_lids(read: ReadSubnet) -> Iterator[Finding]:
    """Report FAB6304 unless every port has its own unicast LID, the same in both files."""
    file, owners = sm_files.LIDS, Counter(read.lids.values())
    nodes = {guid_text(node.guid): node for node in read.topology.nodes.values()}
    for guid, lid in read.lids.items():
        name = nodes[guid].name if guid in nodes else guid
        if not 1 <= lid <= infiniband.MOST_LIDS:
            yield Finding("FAB6304", f"{name}: {lid} is not an unicast LID", file)
        if owners[lid] > 1:
            yield Finding("FAB6304", f"{name} shares LID {lid}", file)
        if guid not in nodes:
            yield Finding("FAB6304", f"{guid} has a LID but is not in the topology", file)
        elif nodes[guid].lid != lid:
            yield Finding("FAB6304", f"{name} has LID {nodes[guid].lid} in the topology and {lid} here", file)
    for guid in nodes.keys() - read.lids.keys():
        yield Finding("FAB6304", f"{nodes[guid].name} has no LID", file)


def adapter_distances(topology: sm_files.ReadTopology) -> dict[str, int]:
    """Return node id -> hops to the nearest adapter (0 for an adapter, 1 for a leaf), from the cables alone."""
    distance = {node.id: 0 for node in topology.adapters()}
    edge = list(distance)
    while edge:
        reached = []
        for node_id in edge:
            for peer_id, _, _ in topology.nodes[node_id].ends.values():
                if peer_id in topology.nodes and peer_id not in distance:
                    distance[peer_id] = distance[node_id] + 1
                    reached.append(peer_id)
        edge = reached
    return distance


def top_switches(topology: sm_files.ReadTopology) -> set[str]:
    """Return the ids of the switches farthest from all adapters: the top of the tree."""
    distance = adapter_distances(topology)
    most = max(distance.values(), default=0)
    return {node_id for node_id, far in distance.items() if far == most}


def _check_lists(read: ReadSubnet) -> Iterator[Finding]:
    """Report FAB6305 unless roots are exactly the topmost switches and compute ports exactly the adapters' ports."""
    top = {f"0x{node_id[2:]}" for node_id in top_switches(read.topology)}
    adapters = {guid_text(node.guid) for node in read.topology.adapters()}
    for file, listed, wanted, what in (
        (sm_files.ROOTS, read.roots, top, "a switch of the topmost tier"),
        (sm_files.COMPUTE, read.compute, adapters, "a host port"),
    ):
        for guid in sorted(listed.keys() - wanted):
            yield Finding("FAB6305", f"{guid} is not {what}", file, listed[guid])
        for guid in sorted(wanted - listed.keys()):
            yield Finding("FAB6305", f"{guid} is {what} and not listed", file)


def _check_tree(topology: sm_files.ReadTopology) -> Iterator[Finding]:
    """Report FAB6308 unless every leaf has as many links to each switch above it (the divisor rule)."""
    for node in topology.switches():
        to = Counter(peer for peer, _, _ in node.ends.values() if peer.startswith("S-"))
        is_leaf = any(peer.startswith("H-") for peer, _, _ in node.ends.values())
        if is_leaf and len(set(to.values())) > 1:
            least, most = min(to.values()), max(to.values())
            message = f"{node.name} has {least} links to some switches above and {most} to others"
            yield Finding("FAB6308", message, sm_files.TOPOLOGY, node.line)


def _planned_members(subnet: Subnet) -> dict[int, set[str]]:
    """Return P_Key (low 15 bits) -> GUIDs of the ports that are its full members in the plan."""
    ports: dict[str, list[infiniband.HostPort]] = {}
    for port in subnet.host_ports():
        ports.setdefault(port.host, []).append(port)
    return {
        each.pkey: {
            guid_text(port.guid)
            for host in each.hosts
            for port in ports.get(host, ())
            if each.has_rail(host, port.rail)
        }
        for each in subnet.ib.partitions
    }


def _check_partitions(subnet: Subnet, read: ReadSubnet) -> Iterator[Finding]:
    """Report FAB6306 unless P_Keys are unique, the default exists, members exist, and tenants are as planned."""
    file = sm_files.PARTITIONS
    keys = Counter(each.pkey & DEFAULT_PKEY for each in read.partitions)
    adapters = {guid_text(node.guid) for node in read.topology.adapters()}
    planned = _planned_members(subnet)
    default = [each for each in read.partitions if each.pkey & DEFAULT_PKEY == DEFAULT_PKEY]
    if not default:
        yield Finding(
            "FAB6306", "the default partition is missing: every host would be a limited member", file
        )
    for each in read.partitions:
        key = each.pkey & DEFAULT_PKEY
        if keys[key] > 1:
            yield Finding("FAB6306", f"P_Key 0x{key:04x} appears twice: {each.name}", file, each.line)
        for member in each.members:
            if member.startswith("0x") and member not in adapters:
                yield Finding("FAB6306", f"{each.name}: no host port has GUID {member}", file, each.line)
        if key == DEFAULT_PKEY:
            if bool(planned) == ("ALL" in each.full):
                message = (
                    "hosts must be limited members of the default partition exactly when there are tenants"
                )
                yield Finding("FAB6306", message, file, each.line)
        elif each.full != planned.get(key, set()):
            yield Finding("FAB6306", f"{each.name} has other members than planned", file, each.line)
    for key in planned.keys() - {each.pkey & DEFAULT_PKEY for each in read.partitions}:
        yield Finding("FAB6306", f"P_Key 0x{key:04x} is planned and missing", file)


def _check_conf(subnet: Subnet, read: ReadSubnet) -> Iterator[Finding]:
    """Report FAB6307 for opensm.conf, FAB6309 for service levels."""
    file, conf, ib = sm_files.CONF, read.conf, subnet.ib
    wanted = {
        "subnet_prefix": guid_text(infiniband.subnet_prefix(ib.wiring.number, subnet.number)),
        "routing_engine": ",".join(ib.engine.names),
        "root_guid_file": f"/{sm_files.ROOTS}",
        "cn_guid_file": f"/{sm_files.COMPUTE}",
        "partition_config_file": f"/{sm_files.PARTITIONS}",
        "node_name_map_name": f"/{sm_files.NAMES}",
        "honor_guid2lid_file": "TRUE",
        "lmc": "0",
        "qos": "TRUE" if len(ib.classes) > 1 else "FALSE",
    }
    for key, value in wanted.items():
        if conf.get(key) != value:
            yield Finding("FAB6307", f"{key} is {conf.get(key, 'not set')}, planned is {value}", file)
    if not set(conf.get("routing_engine", "").split(",")) <= _ENGINES:
        yield Finding("FAB6307", "opensm uses minhop in place of an unknown routing engine", file)
    if len(ib.classes) > 1:
        yield from _check_levels(ib, read)


def _check_levels(ib: infiniband.InfinibandFabric, read: ReadSubnet) -> Iterator[Finding]:
    conf, file = read.conf, sm_files.CONF
    lanes = conf.get("qos_sl2vl", "").split(",")
    most = int(conf.get("qos_max_vls", "0"))
    if len(lanes) != 16 or not all(is_number(lane) and int(lane) < most for lane in lanes):
        yield Finding("FAB6309", "qos_sl2vl does not give each of 16 service levels a lane in use", file)
        return
    high, low = (_lane_weights(conf.get(f"qos_vlarb_{table}", "")) for table in ("high", "low"))
    for lane, each in enumerate(ib.classes):
        if lanes[each.sl] != str(lane):
            yield Finding("FAB6309", f"class {each.name}: SL {each.sl} is not on VL {lane}", file)
        if not (high if each.strict else low).get(str(lane), 0):
            yield Finding("FAB6309", f"class {each.name}: VL {lane} is never served", file)
    planned: dict[int | None, int] = {each.pkey: each.sl for each in ib.partitions if each.sl is not None}
    planned[None] = ib.classes[sm_files.default_lane(ib.classes)].sl
    if read.levels != planned:
        yield Finding("FAB6309", "service levels by P_Key are not those planned", sm_files.POLICY)


def _lane_weights(text: str) -> dict[str, int]:
    """Return lane -> weight of an arbitration table."""
    pairs = (entry.partition(":") for entry in text.split(",") if entry)
    return {lane: int(weight) for lane, _, weight in pairs if is_number(weight)}


Interface = tuple[str | None, str | None, int | None, int | None]
"""Address, mode, MTU and P_Key of an interface, None where the files do not state it."""

_ADAPTER = re.compile(
    r"^(\S+)\) port=\d+ gbps=(\d+) lid=(\d+) ipoib=\S* ipoib_mode=\S* pkeys=(\S*) ;;$", re.MULTILINE
)
_RENAME = re.compile(r'SUBSYSTEM=="infiniband", .*NAME_FIXED (\S+)"')


def prove_host(
    ib: infiniband.InfinibandFabric,
    host: infiniband.Host,
    files: Mapping[str, str],
    tenants: Sequence[infiniband.Partition] = (),
) -> Iterator[Finding]:
    """FAB6310 for everything in a host's files that is not as planned; `tenants`: the host's partitions by name."""
    if not host.network:
        yield from _check_collectives(ib, host, files)
    yield from _check_system(ib, host, files, tenants)
    rules = network_path(host_files.RULES, host)
    named = set(_RENAME.findall(files.get(rules, "")))
    wanted_names = {port.rdma for port in host.ports if port.real_guid or port.pci}
    if named != wanted_names:
        yield Finding("FAB6310", "RDMA devices are not named as planned", rules)
    if ib.ipoib is not None:
        yield from _check_ipoib(ib.ipoib, host, files, tenants)


def _check_collectives(
    ib: infiniband.InfinibandFabric, host: infiniband.Host, files: Mapping[str, str]
) -> Iterator[Finding]:
    """Report settings of the collective library that are not those of the rails."""
    file = next((path for path in FILES if path in files), host_files.NCCL)
    nccl = dict(line.split("=", 1) for line in _split_words(files.get(file, "")))
    level = str(host_files.rdma_class(ib.classes).sl)
    devices = f"={host_files.rdma_ports(host)}"
    for key, wanted in (("NCCL_IB_HCA", devices), ("NCCL_IB_SL", level)):
        if nccl.get(key) != wanted:
            yield Finding("FAB6310", f"{key} is {nccl.get(key)}, planned is {wanted}", file)


def _check_system(
    ib: infiniband.InfinibandFabric,
    host: infiniband.Host,
    files: Mapping[str, str],
    tenants: Sequence[infiniband.Partition],
) -> Iterator[Finding]:
    """Report limits, modules and adapters that differ from the plan, and edited fixed texts."""
    modules = {*RDMA_MODULES, *GPUS[host.model.gpu_vendor].modules} - {*host.leave_out}
    wanted = {"ib_ipoib"} if ib.ipoib else set[str]()
    file = MODULES
    if host.rails_elsewhere:
        file = network_path(MODULES, host)
    else:
        wanted |= modules
    listed = {line for line in files.get(file, "").splitlines() if not line.startswith("#")}
    if listed != wanted:
        yield Finding("FAB6310", f"modules are {', '.join(sorted(listed))}, planned otherwise", file)
    path_of_script = network_path(host_files.SCRIPT, host)
    script = files.get(path_of_script, "")
    rows = [tuple(row) for row in _ADAPTER.findall(script)]
    planned = [
        (
            port.rdma,
            str(port.gbps),
            str(port.lid),
            ",".join(f"0x{key:04x}" for key in _keys_of(port, tenants)),
        )
        for port in host.ports
    ]
    if rows != planned:
        yield Finding("FAB6310", "adapters are not those of the plan", path_of_script)
    for path, text in host_files.system_files(host, ib.ipoib, tenants):
        if files.get(path) != text:
            yield Finding("FAB6310", "the text is not the one that fabricc writes for this host", path)


def _keys_of(port: infiniband.HostPort, tenants: Sequence[infiniband.Partition]) -> list[int]:
    """Return the P_Keys of a port, with full membership."""
    return [tenant.pkey | 0x8000 for tenant in tenants if tenant.has_rail(port.host, port.rail)]


def _check_ipoib(
    ipoib: infiniband.IpoibPlan,
    host: infiniband.Host,
    files: Mapping[str, str],
    tenants: Sequence[infiniband.Partition],
) -> Iterator[Finding]:
    try:
        found = dict(_read_interfaces(files))
    except (
        configparser.Error,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # KeyError: a section or a key is missing
        yield Finding("FAB6310", f"a file of IPoIB cannot be read: {error}", "")
        return
    for port in host.ports:
        name, pkey = port.name, None
        if own := host_files.tenants_of(port, tenants):
            name, pkey = host_files.child_interface(port, own[0]), own[0].pkey | 0x8000
            if found.get(port.name, (None,))[0] is not None:
                message = (
                    f"{port.name} has an address in the default partition, of which it is a limited member"
                )
                yield Finding("FAB6310", message, "")
        wanted = (port.address, ipoib.mode, ipoib.mtu, pkey)
        if found.get(name) != wanted:
            yield Finding("FAB6310", f"{name} is not configured as planned: {found.get(name)}", "")


def _read_interfaces(files: Mapping[str, str]) -> Iterator[tuple[str, Interface]]:
    """Yield every interface with its settings from netplan, keyfiles or files of networkd."""
    for path, text in files.items():
        if path.startswith("etc/netplan/"):
            yield from _read_netplan(text)
        if path.startswith(f"{host_files.CONNECTIONS}/"):
            entry = _parse_sections(text)
            ib = entry["infiniband"]
            pkey = ib.get("p-key")
            yield (
                entry["connection"]["interface-name"],
                (
                    entry["ipv4"].get("address1"),
                    ib.get("transport-mode"),
                    int(ib["mtu"]),
                    int(pkey) if pkey else None,
                ),
            )
    yield from _read_networkd({p: t for p, t in files.items() if p.startswith(f"{host_files.NETWORKD}/")})


def _read_netplan(text: str) -> Iterator[tuple[str, Interface]]:
    tree = yaml_tree(text)
    for line, _ in tree.faults:
        raise ValueError(f"line {line} of the netplan file")
    ports = find_node(tree.nodes, "network", "ethernets")
    for port in (ports.children or ()) if ports else ():
        settings = {
            node.key[0]: words[-1]
            for node in port.children or ()
            if node.key
            and (words := [*node.key[1:], *(word for child in node.children or () for word in child.key)])
        }
        mode, mtu = str(settings.get("infiniband-mode")), int(settings.get("mtu", 0))
        yield " ".join(port.key), (settings.get("addresses"), mode, mtu, None)


def _read_networkd(files: Mapping[str, str]) -> Iterator[tuple[str, Interface]]:
    keys: dict[str, tuple[str, int]] = {}
    networks: dict[str, configparser.ConfigParser] = {}
    for path, text in files.items():
        entry = _parse_sections(text)
        if path.endswith(".netdev"):
            keys[entry["NetDev"]["Name"]] = (
                entry["IPoIB"]["Mode"],
                _partition_key(entry["IPoIB"]["PartitionKey"]),
            )
        else:
            networks[entry["Match"]["Name"]] = entry
    for name, entry in networks.items():
        mode, pkey = keys.get(name, (entry.get("IPoIB", "Mode", fallback=None), None))
        address = entry.get("Network", "Address", fallback=None)
        yield name, (address, mode, int(entry["Link"]["MTUBytes"]), pkey)


def _partition_key(text: str) -> int:
    """Return a partition key of 16 bits; raise ValueError for other text."""
    if re.fullmatch("0x[0-9A-Fa-f]{1,4}", text) is None:
        raise ValueError(f"{clip(text, 40)!r} is not a partition key")
    return int(text, 16)


def _parse_sections(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def _split_words(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if "=" in line and not line.startswith("#"))
