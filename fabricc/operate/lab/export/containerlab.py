"""A containerlab topology: every device under its emitted files, every cable of the plan.

Keys as in containerlab's documentation of topology files and nodes (docs/manual/topo-def-file.md, nodes.md,
network.md) and its JSON schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.management import management_prefix
from fabricc.operate.lab.blueprint import host_node, switch_node
from fabricc.operate.lab.export.devices import HOST_IMAGE, Emulated, Topology, as_yaml
from fabricc.operate.lab.kernel import IPV6

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.operate.lab.node import Node
    from fabricc.operate.lab.predict import End

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
