"""VRFs of a lab: a network namespace for each VRF of a switch.

FRR takes the namespaces of its box for VRFs (`zebra --vrfwnetns`), so that a lab needs no VRF devices of the kernel.
The VXLAN device of a VRF is in the namespace of the VRF, and its outer packets are in that of the switch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from fabricc.fabric.facts import Facts

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


@dataclass(frozen=True, slots=True)
class LabVrf:
    """A VRF of a switch.

    Attributes:
        ports: those to hosts that have a cable.
        tunnel: what `ip link add` makes as the VXLAN device; empty without one.
        commands: `ip` commands inside the namespace of the VRF, once the VXLAN device is there.
        port_lines: the same for the ports.
    """

    name: str
    ports: tuple[str, ...]
    tunnel: str
    commands: tuple[str, ...]
    port_lines: tuple[str, ...]

    def at_ports(self, ports: AbstractSet[str]) -> tuple[str, ...]:
        """Return the commands that name one of some ports."""
        return tuple(line for line in self.port_lines if ports & set(line.split()))


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
