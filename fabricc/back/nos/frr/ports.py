"""Port names of FRR and the Linux below it."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "swp": PORT, "eth": PORT, "bond": BUNDLE, "mgmt": MANAGEMENT, "vlan": VIRTUAL, "vxlan": VIRTUAL, "vni": VIRTUAL,
        "peerlink": BUNDLE, "lo": VIRTUAL, "dummy": VIRTUAL,
    },
    {
        "lo": VIRTUAL, "bridge": VIRTUAL, "br_default": VIRTUAL, "peerlink": BUNDLE, "mgmt": MANAGEMENT,
        "eth0": MANAGEMENT,
    },
)  # fmt: skip
