"""A netlab topology: the plan in netlab's own words, which renders configurations of its own from it.

Devices, cables, addresses, AS numbers, BFD and MTU are the plan's; policy, queues and host routing are not netlab's
to express, and stay in the emitted files. netlab names the ports of most devices itself, so a cable is given by the
place of its ports in panel order. Attributes as in netlab's documentation of nodes, links and the BGP module
(netlab.tools), tried with networklab from PyPI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.fabric.management import management_prefix
from fabricc.fabric.model import Direction, HostPort, Port, Switch
from fabricc.operate.lab.export.devices import HOST_IMAGE, Emulated, Topology, as_yaml

if TYPE_CHECKING:
    from fabricc.operate.lab.predict import End

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
    document["nodes"] = {name: _switch_node(found) for name, found in topology.switches.items()}
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


def _switch_node(found: Emulated) -> dict[str, Any]:
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
