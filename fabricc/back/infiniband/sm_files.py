"""The files that a subnet manager reads, and the expected topology as `ibnetdiscover` prints one."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import template_environment
from fabricc.base.values import dataclass
from fabricc.catalog.rates import generation_at
from fabricc.fabric import infiniband
from fabricc.fabric.infiniband import DEFAULT_PKEY, guid_text
from fabricc.fabric.naming import PLANE_LETTERS
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.infiniband_wiring import Subnet


_NODE = re.compile(
    r'(Switch|Ca)\s+(\d{1,9}) "([SH]-[0-9a-f]{16})"\s+# "([^"]*)"(?:.* lid (\d{1,9}) lmc \d+)?'
)
_END = re.compile(
    r'\[(\d{1,9})\](?:\(([0-9a-f]+)\))?\s+"([SH]-[0-9a-f]{16})"\[(\d{1,9})\](?:\(([0-9a-f]+)\))?\s+#'
    r'(?: lid (\d{1,9}) lmc \d+)? "([^"]*)" lid (\d{1,9}) (\dx\w+)'
)
_GUID_LINE = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid)=0x[0-9a-f]+(\([0-9a-f]+\))?")


def topology_records(
    switches: Iterable[infiniband.Switch], ports: Iterable[infiniband.HostPort]
) -> Iterator[str]:
    """Yield the records, switches first, with both ends of every cable and the planned LIDs."""
    for switch in switches:
        own = f"{switch.guid:016x}"
        yield f"switchguid=0x{own}({own})\n"
        yield f'Switch\t{switch.ports} "S-{own}"\t\t# "{switch.name}" enhanced port 0 lid {switch.lid} lmc 0\n'
        for end in switch.ends:
            there = f"{end.peer_guid:016x}"
            peer = f'"H-{there}"[1]({there})' if end.to_host else f'"S-{there}"[{end.peer_port}]'
            yield f'[{end.port}]\t{peer}\t\t# "{end.peer}" lid {end.peer_lid} {end.word}\n'
        yield "\n"
    for port in ports:
        own = f"{port.guid:016x}"
        yield f'caguid=0x{own}\nCa\t1 "H-{own}"\t\t# "{port.description}"\n'
        peer = f'"S-{port.switch_guid:016x}"[{port.switch_port}]'
        yield f'[1]({own})\t{peer}\t\t# lid {port.lid} lmc 0 "{port.switch}" lid {port.switch_lid} {port.word}\n\n'


@dataclass(slots=True)
class Node:
    """A node as read: `id` is `S-…` or `H-…`; `ends` maps a port to (peer's id, peer's port, link word).

    Attributes:
        lid: of the switch, or of the adapter's port; 0 when none is stated.
        line: where it stands, from 1.
        port_guids: of an adapter, its ports' GUIDs by port.
    """

    id: str
    name: str
    is_switch: bool
    ports: int
    lid: int
    line: int
    ends: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    port_guids: dict[int, int] = field(default_factory=dict)

    @property
    def guid(self) -> int:
        """The GUID in its id; of an adapter with one port, that of the port."""
        return int(self.id[2:], 16)


@dataclass(frozen=True, slots=True)
class ReadTopology:
    """The content of a text: nodes by id, and lines that were not understood."""

    nodes: Mapping[str, Node]
    unknown: tuple[tuple[int, str], ...]

    def switches(self) -> Iterator[Node]:
        """Yield the switches, in the order of the text."""
        return (node for node in self.nodes.values() if node.is_switch)

    def adapters(self) -> Iterator[Node]:
        """Yield the adapters, in the order of the text."""
        return (node for node in self.nodes.values() if not node.is_switch)


def read_topology(text: str) -> ReadTopology:
    """Read what `topology_records` wrote, or what `ibnetdiscover` printed."""
    nodes: dict[str, Node] = {}
    unknown: list[tuple[int, str]] = []
    current: Node | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        if match := _NODE.match(line):
            kind, ports, node_id, name, lid = match.groups()
            if node_id in nodes:
                unknown.append((number, line))
                continue
            current = Node(node_id, name, kind == "Switch", int(ports), int(lid or 0), number)
            nodes[node_id] = current
        elif current is not None and (match := _END.match(line)):
            port, port_guid, peer, peer_port, _, lid, _, _, word = match.groups()
            current.ends[int(port)] = (peer, int(peer_port), word)
            if port_guid and not current.is_switch:
                current.port_guids[int(port)] = int(port_guid, 16)
            if lid:
                current.lid = int(lid)
        elif not _GUID_LINE.fullmatch(line):
            unknown.append((number, line))
    return ReadTopology(nodes, tuple(unknown))


CONF = "etc/opensm/opensm.conf"
PARTITIONS = "etc/opensm/partitions.conf"
ROOTS = "etc/opensm/root-guids.conf"
COMPUTE = "etc/opensm/compute-guids.conf"
NAMES = "etc/opensm/node-name-map"
POLICY = "etc/opensm/qos-policy.conf"
LIDS = "var/cache/opensm/guid2lid"
TOPOLOGY = "topology.net"

FASTEST_RATE = 21
"""Highest rate code for multicast groups: opensm 3.3.23 drops all partitions at 23 (800 Gb/s) as not realizable."""
_MTU_4096 = 5  # IBTA code of the MTU (volume 1, PathRecord)
_OPERATIONAL = {1: 1, 2: 2, 4: 3, 8: 4}  # data VLs -> code of PortInfo:OperationalVLs
_LEVELS = 16
_MOST_WEIGHT = 255
_STRICT_WEIGHT = 64  # units of 64 bytes: one packet of 4096 a turn among strict classes


def subnet_folder(number: int) -> str:
    """Return the folder of a subnet in the tree."""
    return f"subnets/{PLANE_LETTERS[number]}"


def sm_files(subnet: Subnet) -> Iterator[tuple[str, str]]:
    """Path below the subnet's folder and text of every file."""
    ib = subnet.ib
    switches, ports = list(subnet.switches()), list(subnet.host_ports())
    title = f"subnet {PLANE_LETTERS[subnet.number]} of {ib.wiring.cluster}"
    view = {
        "subnet": title,
        "prefix": guid_text(infiniband.subnet_prefix(ib.wiring.number, subnet.number)),
        "reason": ib.engine.reason[0].upper() + ib.engine.reason[1:] + ".",
        "engines": ",".join(ib.engine.names),
        "qos": vl_arbitration(ib.classes) if len(ib.classes) > 1 else None,
    }
    templates = template_environment("infiniband")
    yield CONF, templates.get_template("opensm.conf.j2").render(view)
    yield PARTITIONS, _render_partitions(ib, ports)
    yield ROOTS, _guid_list(switch.guid for switch in root_switches(switches))
    yield COMPUTE, _guid_list(port.guid for port in ports)
    yield NAMES, "".join(f'{guid_text(switch.guid)} "{switch.name}"\n' for switch in switches)
    if len(ib.classes) > 1:
        yield POLICY, templates.get_template("qos-policy.conf.j2").render(_render_policy(ib, title))
    yield LIDS, _render_guid2lid(switches, ports)
    yield TOPOLOGY, "".join(topology_records(switches, ports))


def required_subnet_files(subnets: int, classes: int) -> Iterator[str]:
    """Yield the path of every file of the subnet managers of a fabric with these numbers of subnets and classes."""
    files = (CONF, PARTITIONS, ROOTS, COMPUTE, NAMES, *((POLICY,) if classes > 1 else ()), LIDS, TOPOLOGY)
    yield from (f"{subnet_folder(number)}/{file}" for number in range(subnets) for file in files)


def root_switches(switches: Iterable[infiniband.Switch]) -> Iterator[infiniband.Switch]:
    """Yield the switches of the topmost tier."""
    found = list(switches)
    top = next(tier for tier in reversed(TierName) if any(each.tier is tier for each in found))
    return (each for each in found if each.tier is top)


def vl_arbitration(classes: tuple[infiniband.ServiceClass, ...]) -> Mapping[str, object]:
    """Return the settings of virtual lanes for these classes; the class at index i has VL i.

    Strict classes are in the high-priority table, whose limit of 255 lets them pass before all others as long as
    they have packets (IBTA volume 1, 7.6.9.2); weights of the others are in units of 64 bytes. Service levels
    without a class go with the default class, so that an application that requests one is not cut off.
    """
    lanes = next(count for count in _OPERATIONAL if count >= len(classes))
    default = default_lane(classes)
    by_level = {each.sl: lane for lane, each in enumerate(classes)}
    strict = [lane for lane, each in enumerate(classes) if each.strict]
    weights = {
        lane: max(1, each.weight_percent * _MOST_WEIGHT // 100)
        for lane, each in enumerate(classes)
        if not each.strict
    }
    return {
        "op_vls": _OPERATIONAL[lanes],
        "max_vls": lanes,
        "high_limit": _MOST_WEIGHT if strict else 0,
        "high": ",".join(f"{lane}:{_STRICT_WEIGHT}" for lane in strict) or "0:0",
        "low": ",".join(f"{lane}:{weight}" for lane, weight in weights.items()),
        "sl2vl": ",".join(str(by_level.get(level, default)) for level in range(_LEVELS)),
    }


def default_lane(classes: tuple[infiniband.ServiceClass, ...]) -> int:
    """Return the virtual lane of the class named `default`, or of the lowest level that is not strict."""
    named = [lane for lane, each in enumerate(classes) if each.name == "default"]
    return (named or [lane for lane, each in enumerate(classes) if not each.strict])[0]


def _render_policy(ib: infiniband.InfinibandFabric, title: str) -> Mapping[str, object]:
    return {
        "subnet": title,
        "classes": [
            {
                "name": each.name,
                "sl": each.sl,
                "vl": lane,
                "service": "before all others" if each.strict else f"{each.weight_percent} % of what is left",
            }
            for lane, each in enumerate(ib.classes)
        ],
        "pkeys": [(f"0x{p.pkey:04x}", p.sl) for p in ib.partitions if p.sl is not None],
        "default_sl": ib.classes[default_lane(ib.classes)].sl,
    }


def _render_partitions(ib: infiniband.InfinibandFabric, ports: list[infiniband.HostPort]) -> str:
    """Return the partitions; tenants are full members of their own partition only.

    Each member is on its own line: opensm 3.3.23 reads lines in pieces and breaks a GUID that spans two.
    """
    by_host: dict[str, list[infiniband.HostPort]] = {}
    for port in ports:
        by_host.setdefault(port.host, []).append(port)
    generation = generation_at(min((port.gbps for port in ports), default=0))
    rate = f",rate={min(generation.rate_4x, FASTEST_RATE)}" if generation else ""
    group = f",ipoib,mtu={_MTU_4096}{rate}" if ib.ipoib else ""
    members = "ALL=limited,SELF=full" if ib.partitions else "ALL=full"
    lines = [f"Default=0x{DEFAULT_PKEY:04x}{group}:{members};"]
    for tenant in ib.partitions:
        guids = ",".join(
            f"\n  {guid_text(port.guid)}"
            for host in tenant.hosts
            for port in by_host.get(host, ())
            if tenant.has_rail(host, port.rail)
        )
        level = f",sl={tenant.sl}" if group and tenant.sl is not None else ""
        lines.append(f"{tenant.name}=0x{tenant.pkey | 0x8000:04x}{group}{level},defmember=full:{guids};")
    return "\n".join(lines) + "\n"


def _guid_list(guids: Iterable[int]) -> str:
    return "".join(f"{guid_text(guid)}\n" for guid in guids)


def _render_guid2lid(switches: list[infiniband.Switch], ports: list[infiniband.HostPort]) -> str:
    lids = sorted([(each.lid, each.guid) for each in switches] + [(each.lid, each.guid) for each in ports])
    return "".join(f"{guid_text(guid)} 0x{lid:04x} 0x{lid:04x}\n\n" for lid, guid in lids)
