"""Port names of SONiC."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "ethernet": PORT, "etp": PORT, "portchannel": BUNDLE, "eth": MANAGEMENT, "mgmt": MANAGEMENT,
        "loopback": VIRTUAL, "vlan": VIRTUAL, "vxlan": VIRTUAL, "vnet": VIRTUAL, "bridge": VIRTUAL,
    },
    {"lo": VIRTUAL, "docker0": VIRTUAL},
)  # fmt: skip
