"""Port names of EOS."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "ethernet": PORT, "unconnectedethernet": PORT, "port-channel": BUNDLE, "management": MANAGEMENT,
        "loopback": VIRTUAL, "vlan": VIRTUAL, "vxlan": VIRTUAL, "tunnel": VIRTUAL, "dps": VIRTUAL,
        "recirc-channel": VIRTUAL,
    },
    {"cpu": VIRTUAL, "defaults": VIRTUAL},
    abbreviated=True,
)  # fmt: skip
