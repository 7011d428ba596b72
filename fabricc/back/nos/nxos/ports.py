"""Port names of NX-OS."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "ethernet": PORT, "port-channel": BUNDLE, "mgmt": MANAGEMENT, "loopback": VIRTUAL, "vlan": VIRTUAL,
        "nve": VIRTUAL, "tunnel": VIRTUAL, "breakout": VIRTUAL,
    },
    {},
    abbreviated=True,
)  # fmt: skip
