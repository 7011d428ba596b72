"""Export the lab as a topology of containerlab or netlab, for images of your own.

containerlab gets every device with its emitted files; its keys follow the documentation of topology files and nodes
(docs/manual/topo-def-file.md, nodes.md, network.md) and its JSON schema. netlab renders configurations of its own from
devices, cables, addresses, AS numbers, BFD and MTU of the plan; policy, queues and host routing stay in the emitted
files. netlab names the ports of most devices itself, so a cable refers to the place of its ports in panel order
(netlab.tools: nodes, links, the BGP module; tried with networklab from PyPI). An export replaces only an earlier one,
whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from fabricc.back.nos.emulation import EMULATIONS, Emulation
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.model import Direction, Host, HostPort, Port, Switch
from fabricc.fabric.out_of_band import management_prefix
from fabricc.operate.lab.blueprint import host_node, switch_node
from fabricc.operate.lab.kernel import IPV6
from fabricc.operate.lab.lab_fabric import plan_fabric
from fabricc.operate.lab.node import LabError, Node
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.manifest import Manifest
from fabricc.tree.stage import Stage
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.lab.predict import End


HOST_IMAGE = "ghcr.io/srl-labs/network-multitool"
"""The Linux image with iproute2 that containerlab's documentation uses for hosts."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A switch and what runs it; `ports`: its cabled ports -> the place of each in panel order, from 1."""

    switch: Switch
    emulation: Emulation
    ports: Mapping[str, int]

    @property
    def group(self) -> str:
        """Return what it shares kind and image with: NOS and release."""
        return f"{self.switch.nos}-{self.switch.release}"

    @property
    def image(self) -> str:
        """The image for its release."""
        return self.emulation.image.format(release=self.switch.release)


@dataclass(frozen=True, slots=True)
class Topology:
    """The contents of a topology file.

    Attributes:
        cables: the cabling plan, lower end first.
    """

    fabric: Fabric
    switches: Mapping[str, Emulated]
    hosts: tuple[Host, ...]
    cables: tuple[tuple[End, End], ...]

    def unverified(self) -> Iterator[str]:
        """Yield the assumptions about each NOS's image."""
        reported = set()
        for found in self.switches.values():
            if found.switch.nos not in reported:
                reported.add(found.switch.nos)
                yield from (f"{found.switch.nos}: {sentence}" for sentence in found.emulation.unverified)


def build_topology(fabric: Fabric) -> Topology:
    """Return the devices and cables of a fabric.

    Raises:
        LabError: FAB8018, a NOS has no emulation.
    """
    cables = tuple(((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in fabric.cables())
    used = group_pairs(end for cable in cables for end in cable)
    switches = {}
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        found = EMULATIONS.get(switch.nos)
        if found is None:
            raise LabError("FAB8018", f"{switch.name}: no image is known that runs {switch.nos}")
        cabled = {*used.get(switch.name, ())}
        places = {port.name: place for place, port in enumerate(switch.ports, 1) if port.name in cabled}
        switches[switch.name] = Emulated(switch, found, places)
    hosts = tuple(fabric.host(at) for at in fabric.host_ids())
    return Topology(fabric, switches, hosts, cables)


def as_yaml(document: Mapping[str, Any], head: Iterable[str]) -> str:
    """Return a document in the order of its keys, one line a device where it is short, below comment lines."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    comments = "".join(f"# {line}\n" for line in head)
    return comments + yaml.dump(
        document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
    )


_MACHINE_WIDE = ".neigh.default.gc_thresh"  # not a setting of a namespace: Docker could not write it


def render_containerlab(topology: Topology) -> dict[str, str]:
    """Return the files of the export: path -> text; `<cluster>.clab.yml` and a folder for each switch."""
    files: dict[str, str] = {}
    nodes: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for name, found in topology.switches.items():
        emitted = {**render_switch(found.switch), **_port_map(found)}
        files |= {f"{name}/{path}": text for path, text in emitted.items()}
        nodes[name] = _switch_node(found, groups.setdefault(found.group, _group_settings(found)))
    for host in topology.hosts:
        group = groups.setdefault("hosts", {"kind": "linux", "image": HOST_IMAGE})
        nodes[host.name] = {"group": "hosts", **_container_settings(host_node(host), group)}
    cluster = topology.fabric.cluster
    document = {
        "name": cluster,
        "mgmt": _management_network(topology),
        "topology": {
            "groups": groups,
            "nodes": nodes,
            "links": [
                {"endpoints": [format_endpoint(topology, end) for end in cable]} for cable in topology.cables
            ],
        },
    }
    head = [
        f"{cluster} for containerlab: containerlab deploy -t {cluster}.clab.yml",
        "Images are named once, under `groups`: put yours there.",
        *(f"Assumed: {sentence}." for sentence in topology.unverified()),
    ]
    return {f"{cluster}.clab.yml": as_yaml(document, head), **files}


def format_endpoint(topology: Topology, end: End) -> str:
    """Return one end of a cable as containerlab names it."""
    device, port = end
    if device in topology.switches:
        found = topology.switches[device]
        port = found.emulation.endpoint(found.ports[port], port)
    return f"{device}:{port}"


def _group_settings(found: Emulated) -> dict[str, Any]:
    group: dict[str, Any] = {"kind": found.emulation.kind, "image": found.image}
    return group | ({"env": dict(found.emulation.env)} if found.emulation.env else {})


def _switch_node(found: Emulated, group: dict[str, Any]) -> dict[str, Any]:
    switch, runs = found.switch, found.emulation
    address = switch.management.address.partition("/")[0]
    node: dict[str, Any] = {
        "group": found.group,
        "mgmt-ipv6" if ":" in address else "mgmt-ipv4": address,
        "labels": {"tier": switch.tier.value},
    }
    if runs.startup:
        node["startup-config"] = f"{switch.name}/{runs.startup}"
    if runs.binds:
        node["binds"] = [f"{switch.name}/{path}:{place}" for path, place in runs.binds.items()]
    if runs.namespace:
        node |= _container_settings(switch_node(switch, set(found.ports), managed=False), group)
    return node


def _container_settings(node: Node, group: dict[str, Any]) -> dict[str, Any]:
    """Kernel settings, and the commands that give a Linux container its addresses once its links exist.

    The settings of a group's first node are the group's; containerlab merges a node's own into them.
    """
    settings = {name: value for name, value in node.kernel.items() if _MACHINE_WIDE not in name}
    own = dict(settings.items() - group.setdefault("sysctls", settings).items())
    return {**({"sysctls": own} if own else {}), "exec": list(_ip_commands(node.commands))}


def _ip_commands(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield f"ip -6 {line.removeprefix(IPV6)}" if line.startswith(IPV6) else f"ip {line}"


def _port_map(found: Emulated) -> Mapping[str, str]:
    if found.emulation.port_map is None:
        return {}
    file, text = found.emulation.port_map
    ports = {found.emulation.endpoint(place, port): port for port, place in found.ports.items()}
    return {file: text(found.switch, ports)}


def _management_network(topology: Topology) -> dict[str, Any]:
    """Return one network of the container engine; around several subnets it has no gateway of any of them."""
    networks = topology.fabric.addresses.management
    around, gateway = management_prefix(networks), networks[0].gateway_of(0)
    family = "ipv6" if ":" in around else "ipv4"
    alone = len(networks) == networks[0].subnets == 1
    return {
        "network": f"{topology.fabric.cluster}-mgmt",
        f"{family}-subnet": around,
        **({f"{family}-gw": gateway} if alone else {}),
    }


_NODE_ID_SPARE = 16
_NAME = 16
"""Characters of a topology's name, at most (netsim/data/types.py)."""


def render_netlab(topology: Topology) -> dict[str, str]:
    """Return the files of the export: `topology.yml`."""
    fabric = topology.fabric
    count = len(topology.switches) + len(topology.hosts)
    document: dict[str, Any] = {
        "name": fabric.cluster[:_NAME],
        "provider": "clab",
        "defaults.const.MAX_NODE_ID": max(150, count + _NODE_ID_SPARE),
        "addressing": {"mgmt": _management_pool(topology)},
        "plugin": ["bgp.session"],  # it knows `bgp.bfd`
        "module": ["bgp", "bfd"] if fabric.routing.bfd_interval_ms else ["bgp"],
        "bgp": {"sessions": {family: ["ebgp"] for family in ("ipv4", "ipv6")}, "advertise_loopback": True},
    }
    if fabric.routing.bfd_interval_ms:
        document["bgp"]["bfd"] = True
        interval = fabric.routing.bfd_interval_ms
        document["bfd"] = {
            "min_tx": interval,
            "min_rx": interval,
            "multiplier": fabric.routing.bfd_multiplier,
        }
    document["nodes"] = {name: _netlab_node(found) for name, found in topology.switches.items()}
    document["nodes"] |= {host.name: _host_node() for host in topology.hosts}
    document["links"] = _list_links(topology)
    head = [
        f"{fabric.cluster} for netlab: netlab up",
        "netlab renders configurations of its own from this plan; the emitted ones run under containerlab.",
    ]
    return {"topology.yml": as_yaml(document, head)}


def _management_pool(topology: Topology) -> dict[str, Any]:
    pool = management_prefix(topology.fabric.addresses.management)
    return {"ipv6" if ":" in pool else "ipv4": pool}


def _netlab_node(found: Emulated) -> dict[str, Any]:
    switch = found.switch
    address = switch.management.address.partition("/")[0]
    loopback = {
        family: f"{own}/{bits}"
        for family, own, bits in (("ipv4", switch.loopback4, 32), ("ipv6", switch.loopback6, 128))
        if own
    }
    return {
        "device": found.emulation.device,
        "clab.image": found.image,
        "mgmt": {"ipv6" if ":" in address else "ipv4": address},
        "loopback": loopback,
        "bgp": _bgp_settings(switch),
    }


def _bgp_settings(switch: Switch) -> dict[str, Any]:
    own: dict[str, Any] = {"as": switch.bgp.asn, "router_id": switch.bgp.router_id}
    return own | ({"originate": list(switch.bgp.aggregates)} if switch.bgp.aggregates else {})


def _host_node() -> dict[str, Any]:
    return {"device": "linux", "module": [], "clab.image": HOST_IMAGE}


def _list_links(topology: Topology) -> list[dict[str, Any]]:
    ports = {
        (name, port.name): port for name, found in topology.switches.items() for port in found.switch.ports
    }
    hosts = {(host.name, port.name): port for host in topology.hosts for port in host.ports}
    return [_make_link(topology, lower, upper, ports, hosts) for lower, upper in topology.cables]


def _make_link(
    topology: Topology, lower: End, upper: End, ports: dict[End, Port], hosts: dict[End, HostPort]
) -> dict[str, Any]:
    above = ports[upper]
    link: dict[str, Any] = {}
    for end in (lower, upper):
        near: Port | HostPort = hosts[end] if end in hosts else ports[end]
        link[end[0]] = _link_end(topology, end, near)
    link["mtu"] = above.mtu
    if above.unnumbered:
        bgp = topology.switches[upper[0]].switch.bgp
        link |= {family: True for family, runs in (("ipv4", bgp.ipv4), ("ipv6", True)) if runs}
    if above.direction is Direction.HOST:
        link["bgp.advertise"] = False
    return link


def _link_end(topology: Topology, end: End, port: Port | HostPort) -> dict[str, Any]:
    device, name = end
    found = topology.switches.get(device)
    first = found.emulation.first_ifindex if found else None
    at: dict[str, Any] = {"ifname": name}
    if found and first is not None:
        at = {"ifindex": found.ports[name] - 1 + first}
    addresses = (("ipv4", port.ipv4), ("ipv6", port.ipv6))
    return at | {family: address for family, address in addresses if address}


FORMATS = {"containerlab": render_containerlab, "netlab": render_netlab}


@dataclass(frozen=True, slots=True)
class ExportedTopology:
    """The written topology: its file, its size, and remarks, a sentence each."""

    topology: Path
    nodes: int
    links: int
    notes: tuple[str, ...]


def export_topology(
    spec: Path,
    format_: str,
    out: Path,
    *,
    units: int | None = None,
    sample: bool = False,
    network: str | None = None,
) -> ExportedTopology:
    """Write the topology of a spec below `out`, in a tree named after the cluster and the format.

    Raises:
        UnsoundError: the spec does not plan.
        LabError: FAB8011, no such number of units; FAB8018, a NOS without an emulation.
        EmitError: it cannot be written.
    """
    fabric, differences = plan_fabric(spec, units, sample=sample, network=network)
    found = build_topology(fabric)
    files = FORMATS[format_](found)
    name = f"{fabric.cluster}-{format_}"
    with hold_lock(out / name):
        stage = Stage.open(out, name)
        try:
            written = [stage.put(path, text.encode()) for path, text in files.items()]
            sums = {file.path: file.sha256 for file in written}
            stage.commit(
                Manifest(name, __version__, spec.name, {}, sums), sum(file.changed for file in written)
            )
        except BaseException:
            stage.abandon()
            raise
    notes = (*differences, *(_list_assumptions(found) if format_ == "containerlab" else ()))
    nodes = len(found.switches) + len(found.hosts)
    return ExportedTopology(out / name / next(iter(files)), nodes, len(found.cables), notes)


def _list_assumptions(found: Topology) -> tuple[str, ...]:
    return tuple(f"assumed: {sentence}" for sentence in found.unverified())
