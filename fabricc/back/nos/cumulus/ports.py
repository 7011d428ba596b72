"""Port names of Cumulus Linux."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "swp": PORT, "bond": BUNDLE, "eth": MANAGEMENT, "mgmt": MANAGEMENT, "vlan": VIRTUAL, "vxlan": VIRTUAL,
        "vni": VIRTUAL, "peerlink": BUNDLE, "lo": VIRTUAL, "dummy": VIRTUAL,
    },
    {"lo": VIRTUAL, "bridge": VIRTUAL, "br_default": VIRTUAL, "peerlink": BUNDLE, "mgmt": MANAGEMENT},
)  # fmt: skip
