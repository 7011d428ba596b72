"""Make VRFs of the switches of a lab: their namespaces and devices, also on a switch that runs."""

from __future__ import annotations

import socket
import subprocess
import time
from typing import TYPE_CHECKING

from fabricc.operate.drivers.frr_agent import NAMESPACES
from fabricc.operate.lab import kernel
from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.state import vrf_table
from fabricc.operate.lab.vrfs import TUNNEL_DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.operate.lab.node import Node
    from fabricc.operate.lab.running import Lab
    from fabricc.operate.lab.vrfs import LabVrf

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
        return set(lab.ask(switch, "zebra", f"show interface vrf {vrf} brief json"))
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
