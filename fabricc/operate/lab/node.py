"""A device of a lab, described as text, and the exception of the lab."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

MANAGEMENT_NODE = "management"
"""The name of the namespace that switches' management ports lead to."""
HOST_QUIET = {
    "net.ipv4.ip_forward": 0,
    "net.ipv6.conf.default.accept_dad": 0,
    "net.ipv6.conf.all.accept_dad": 0,
    "net.ipv6.conf.default.router_solicitations": 0,
}
"""A namespace's own settings on top: no waiting for duplicate addresses, no forwarding by hosts."""


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


@dataclass(frozen=True, slots=True)
class Node:
    """One device of the lab.

    Attributes:
        kernel: kernel settings inside its namespace.
        commands: `ip` commands inside its namespace, in order, once its ports exist.
        files: what a switch boots from; empty for a host.
        management: address of a switch's management port.
        speeds: port -> planned Gb/s, of a switch.
        vrfs: VRFs of a switch; the namespace of each has its ports and its commands.
    """

    name: str
    kernel: Mapping[str, int]
    commands: tuple[str, ...]
    files: Mapping[str, str]
    management: str = ""
    speeds: Mapping[str, int] = field(default_factory=dict)
    vrfs: tuple[LabVrf, ...] = ()

    def at_ports(self, ports: AbstractSet[str]) -> tuple[str, ...]:
        """Return the commands that name one of some ports."""
        return tuple(line for line in self.commands if ports & set(line.split()))


class LabError(FindingsError):
    """The lab cannot go on."""

    @property
    def status(self) -> int:
        """The environment failed."""
        return 3
