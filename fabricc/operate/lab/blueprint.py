"""Convert a fabric into the parts of a lab: namespaces, VRFs, cables, addresses, and the files of each box.

Cables come from the cabling plan. Everything on a device is read back from the files that a build writes for it, so
that the lab runs the deployed configuration.

FRR takes the namespaces of its box for VRFs (`zebra --vrfwnetns`), so that a lab needs no VRF devices of the kernel.
The VXLAN device of a VRF is in the namespace of the VRF, and its outer packets are in that of the switch.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass, replace
from fabricc.compiler.render.switch_files import render_switch
from fabricc.facts.paths import path_pattern
from fabricc.operate.drivers.frr_agent import NAMESPACES
from fabricc.operate.lab import endpoints, kernel
from fabricc.operate.lab.kernel import IPV6
from fabricc.operate.lab.node import HOST_QUIET, LabError, LabVrf, Node
from fabricc.operate.lab.state import vrf_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import CableRow, Host, Switch
    from fabricc.operate.lab.predict import End
    from fabricc.operate.lab.running import Lab


DIFFERENCE = (
    "VRFs are network namespaces: lines of their ports name the VRF, and each VRF has a bridge of its own"
)
"""What a lab with tenants does differently from the files of a switch."""
NAMESPACE_OPTION = "-n"
"""Of zebra, and of mgmtd in releases that have it: VRFs are network namespaces."""
NAMESPACE_DAEMONS = ("zebra", "mgmtd")
TUNNEL_DEVICES = ("br", "vni")
"""First letters of the names of the devices that carry the VNI of a VRF."""
_VXLAN_PORT = 4789  # RFC 7348 section 5


_TABLE = path_pattern("structure/vrf[*]/table")


def read_vrfs(facts: Facts, used: Sequence[str]) -> tuple[LabVrf, ...]:
    """Return the VRFs of a switch from the facts of its files; `used` are its ports that have a cable."""
    ports: dict[str, list[str]] = {}
    for port in used:
        if vrf := facts.get(f"interface[{port}]/vrf"):
            ports.setdefault(str(vrf), []).append(port)
    tables = [match[1] for path in facts if (match := _TABLE.fullmatch(path))]
    names = [name for name in tables if "*" not in name]
    return tuple(_read_vrf(facts, name, tuple(ports.get(name, ()))) for name in names)


def _read_vrf(facts: Facts, name: str, ports: tuple[str, ...]) -> LabVrf:
    commands = ["link set lo up"]
    vni, tunnel = facts.get(f"structure/vrf[{name}]/vni"), ""
    if vni is not None:
        source = str(facts["loopback/ipv4"]).partition("/")[0]
        mac, mtu = facts[f"evpn/vrf[{name}]/router_mac"], facts[f"structure/vni[{vni}]/mtu"]
        device = f"vni{vni}"
        options = f"id {vni} local {source} dstport {_VXLAN_PORT} nolearning tos inherit"
        tunnel = f"name {device} mtu {mtu} type vxlan {options}"
        commands += [
            f"link add br{vni} address {mac} type bridge",
            f"link set br{vni} mtu {mtu} addrgenmode none up",
            f"link set {device} master br{vni} addrgenmode none up",
        ]
    lines = [line for port in ports for line in port_commands(facts, port)]
    return LabVrf(name, ports, tunnel, tuple(commands), tuple(lines))


def port_commands(facts: Facts, port: str) -> list[str]:
    """Return the `ip` commands that bring up a port as the switch's files state it."""
    commands = [f"link set {port} mtu {facts[f'interface[{port}]/mtu']}"]
    if facts[f"interface[{port}]/enabled"] == "true":
        commands.append(f"link set {port} up")
    return commands


_NOTICE_S = 20.0
"""Most seconds until zebra knows the devices of a new namespace."""


def add_vrfs(lab: Lab, tables: Iterable[tuple[Node, str]]) -> None:
    """Make the namespaces of VRFs of switches, without devices."""
    places = {lab.record.namespace(vrf_table(node.name, vrf)): node for node, vrf in tables}
    kernel.ip_batch(f"netns add {namespace}" for namespace in places)
    for namespace, node in places.items():
        kernel.write_sysctls(namespace, node.kernel)


def start_vrf(lab: Lab, node: Node, vrf: LabVrf) -> None:
    """Make the devices of a VRF. Outer packets of its VXLAN device stay in the namespace of its switch."""
    place = lab.record.namespace(vrf_table(node.name, vrf.name))
    if vrf.tunnel:
        kernel.ip_batch([f"link add netns {place} {vrf.tunnel}"], lab.record.namespace(node.name))
    kernel.ip_batch(vrf.commands, place)


def join_vrf(lab: Lab, node: Node, vrf: LabVrf, *, known: bool) -> None:
    """Give a running switch a VRF, without ports; a `known` one has its namespace.

    The VNI comes up only if zebra knows the devices of the namespace before it reads the lines of the VRF.

    Raises:
        LabError: FAB8009, its box does not get the namespace; FAB8010, zebra does not notice it.
    """
    if not known:
        add_vrfs(lab, [(node, vrf.name)])
    start_vrf(lab, node, vrf)
    if not known:
        _bind_vrf(lab, node.name, vrf.name)
    limit = time.monotonic() + _NOTICE_S
    while _tunnel_devices(lab, node.name, vrf.name) - _known_devices(lab, node.name, vrf.name):
        if time.monotonic() > limit:
            raise LabError("FAB8010", f"{node.name}: zebra does not notice VRF {vrf.name}")
        time.sleep(0.1)


def _tunnel_devices(lab: Lab, switch: str, vrf: str) -> set[str]:
    with kernel.inside_namespace(lab.record.namespace(vrf_table(switch, vrf))):
        return {name for _, name in socket.if_nameindex() if name.startswith(TUNNEL_DEVICES)}


def _known_devices(lab: Lab, switch: str, vrf: str) -> set[str]:
    try:
        return set(lab.query_daemon(switch, "zebra", f"show interface vrf {vrf} brief json"))
    except LabError:  # zebra does not know the VRF yet
        return set()


def _bind_vrf(lab: Lab, switch: str, vrf: str) -> None:
    """Show the namespace of a VRF to the running box of a switch."""
    target = f"{NAMESPACES}/{vrf}"
    command = f"mkdir -p {NAMESPACES} && : > {target} && mount --bind /proc/self/fd/0 {target}"
    with (kernel.NAMESPACES / lab.record.namespace(vrf_table(switch, vrf))).open("rb") as namespace:
        words = [*lab.entry(switch, privileged=True), "sh", "-c", command]
        ran = subprocess.run(words, stdin=namespace, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise LabError("FAB8009", f"{switch}: VRF {vrf}: {ran.stderr.strip()}")


def leave_vrf(lab: Lab, switch: str, vrf: str) -> None:
    """Remove the tunnel of a VRF that a switch no longer has: FRR removes no VRF whose VNI is up."""
    devices = _tunnel_devices(lab, switch, vrf)
    kernel.ip_batch((f"link del {name}" for name in devices), lab.record.namespace(vrf_table(switch, vrf)))


MANAGEMENT_PORT = "eth0"
_RULE = path_pattern("interface[*]/rule[*]")
_ROUTE = path_pattern("interface[*]/route[*]")
_KERNEL = path_pattern("(?:kernel|sysctl)[*]")
_RULE_NUMBER = path_pattern("management/rule[#]")
_SWITCH_QUIET = {name: value for name, value in HOST_QUIET.items() if "forward" not in name}


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The whole lab.

    Attributes:
        outside: the boxes of outside parties.
        cables: from the cabling plan, lower end first, and those that leave the fabric.
        gateways: addresses of the gateways of management networks, with prefix length.
    """

    cluster: str
    switches: tuple[Node, ...]
    hosts: tuple[Node, ...]
    cables: tuple[CableRow, ...]
    gateways: tuple[str, ...]
    outside: tuple[Node, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Switches, then hosts, then outside parties."""
        return self.switches + self.hosts + self.outside

    @property
    def booted(self) -> tuple[Node, ...]:
        """Return the nodes that run FRR."""
        return self.switches + tuple(node for node in self.outside if node.files)


def build_blueprint(fabric: Fabric) -> Blueprint:
    """Return the blueprint of a fabric whose switches all run FRR."""
    cables = (*fabric.cables(), *endpoints.outside_cables(fabric))
    used: dict[str, set[str]] = {}
    for cable in cables:
        used.setdefault(cable.a_device, set()).add(cable.a_port)
        used.setdefault(cable.b_device, set()).add(cable.b_port)
    switches = [fabric.switch(at) for at in fabric.switch_ids()]
    return Blueprint(
        cluster=fabric.cluster,
        switches=tuple(switch_node(switch, used.get(switch.name, set())) for switch in switches),
        hosts=tuple(host_node(fabric.host(at)) for at in fabric.host_ids()),
        cables=cables,
        gateways=tuple(dict.fromkeys(_gateway_prefix(switch) for switch in switches)),
        outside=tuple(endpoints.outside_nodes(fabric, switches)),
    )


def _gateway_prefix(switch: Switch) -> str:
    """Return the gateway of a switch's management subnet, with prefix length."""
    management = switch.management
    return f"{management.gateway}/{management.address.partition('/')[2]}"


def swap_cables(plan: Blueprint, first: End, second: End) -> Blueprint:
    """Return a blueprint with the far ends of two cables exchanged, as a technician may plug them.

    Raises:
        LabError: FAB8011, no cable of the plan ends there, or both ends are of one cable.
    """
    cables = list(plan.cables)
    one, other = (_cable_at(cables, end) for end in (first, second))
    if one == other:
        raise LabError("FAB8011", f"{first[0]}:{first[1]} and {second[0]}:{second[1]} are one cable")
    a, b = cables[one], cables[other]
    cables[one] = replace(a, b_device=b.b_device, b_port=b.b_port)
    cables[other] = replace(b, b_device=a.b_device, b_port=a.b_port)
    return replace(plan, cables=tuple(cables))


def _cable_at(cables: list[CableRow], end: End) -> int:
    for at, cable in enumerate(cables):
        if end in ((cable.a_device, cable.a_port), (cable.b_device, cable.b_port)):
            return at
    raise LabError("FAB8011", f"no cable ends at {end[0]}:{end[1]}")


def switch_node(switch: Switch, used: set[str], *, managed: bool = True) -> Node:
    """Return the node of a switch, from its own files.

    Of its ports only those that are `used` have an interface in the lab; its management port is the lab's to address if
    `managed`.
    """
    back_end = back_ends.load("frr")
    files = render_switch(switch)
    facts = back_end.read(files).facts
    commands = ["link set lo up"]
    commands += [
        f"addr add {_host_prefix(text)} dev lo" for text in _values_matching(facts, "loopback/ipv[46]")
    ]
    if managed:
        commands += _management_commands(facts)
    ports = sorted(used, key=natural_key)
    for port in ports:
        if f"interface[{port}]/vrf" not in facts:
            commands += port_commands(facts, port)
    return Node(
        switch.name,
        _kernel_settings(facts) | _SWITCH_QUIET,
        tuple(commands),
        files,
        switch.management.address.partition("/")[0],
        {port.name: port.speed_gbps for port in switch.ports if port.name in used},
        read_vrfs(facts, ports),
    )


def _management_commands(facts: Facts) -> Iterator[str]:
    address, gateway = str(facts["management/address"]), facts["management/gateway"]
    family = IPV6 if ":" in address else ""
    yield f"addr add {address} dev {MANAGEMENT_PORT}"
    yield f"link set {MANAGEMENT_PORT} up"
    yield f"route replace default via {gateway} dev {MANAGEMENT_PORT} table 100"
    yield f"{family}rule add pref 40000 {facts['management/rule']}"
    for path, rule in facts.items():
        if match := _RULE_NUMBER.fullmatch(path):
            yield f"{family}rule add pref {match[1]} {rule}"


def host_node(host: Host) -> Node:
    """Return a host's node, from its netplan file and kernel settings; NIC and RDMA settings have no effect here."""
    facts = host_files.read(host_files.render(host)).facts
    commands = ["link set lo up"]
    for port in host.ports:
        commands.append(f"link set {port.name} mtu {facts[f'interface[{port.name}]/mtu']}")
        commands += [
            f"addr add {address} dev {port.name}"
            for family in ("ipv4", "ipv6")
            for address in str(facts.get(f"interface[{port.name}]/{family}", "")).split(",")
            if address
        ]
        commands.append(f"link set {port.name} up")
    for path, value in facts.items():
        if found := _ROUTE.fullmatch(path):
            commands.append(f"route add {found[2]} {value} dev {found[1]}")
        elif found := _RULE.fullmatch(path):
            commands.append(f"{IPV6 if ':' in found[2] else ''}rule add from {found[2]} {value}")
    return Node(host.name, _kernel_settings(facts) | HOST_QUIET, tuple(commands), {})


def _host_prefix(text: str) -> str:
    return text if "/" in text else f"{text}/{128 if ':' in text else 32}"


def _values_matching(facts: Facts, pattern: str) -> Iterator[str]:
    for path, value in facts.items():
        if re.fullmatch(pattern, path):
            yield str(value)


def _kernel_settings(facts: Facts) -> dict[str, int]:
    """Return the kernel settings of a node; patterns are left out, since its new interfaces take `default`."""
    found = ((_KERNEL.fullmatch(path), value) for path, value in facts.items())
    return {match[1]: int(value) for match, value in found if match and "*" not in match[1]}
