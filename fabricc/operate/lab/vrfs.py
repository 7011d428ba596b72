"""Make VRFs of the switches of a lab, also while it runs: a network namespace for each, and its devices.

FRR takes the namespaces of its box for VRFs (`zebra --vrfwnetns`), so that a lab needs no VRF devices of the kernel.
The VXLAN device of a VRF is in the namespace of the VRF, and its outer packets are in that of the switch.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from fabricc.operate.drivers.frr_agent import NAMESPACES
from fabricc.operate.lab import kernel
from fabricc.operate.lab.node import LabError, LabVrf, Node
from fabricc.operate.lab.state import vrf_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.fabric.facts import Facts
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


def read_vrfs(facts: Facts, used: Sequence[str]) -> tuple[LabVrf, ...]:
    """Return the VRFs of a switch from the facts of its files; `used` are its ports that have a cable."""
    ports: dict[str, list[str]] = {}
    for port in used:
        if vrf := facts.get(f"interface[{port}]/vrf"):
            ports.setdefault(str(vrf), []).append(port)
    names = [match[1] for path in facts if (match := re.fullmatch(r"structure/vrf\[([^\]*]+)\]/table", path))]
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
