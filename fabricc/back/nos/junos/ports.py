"""Port names of Junos."""

from __future__ import annotations

from fabricc.back.nos.ports import PortKind, Spelling

PORT, BUNDLE, MANAGEMENT, VIRTUAL = PortKind.PORT, PortKind.BUNDLE, PortKind.MANAGEMENT, PortKind.VIRTUAL

PORTS = Spelling(
    {
        "et": PORT, "xe": PORT, "ge": PORT, "mge": PORT, "fe": PORT, "ae": BUNDLE, "reth": BUNDLE, "em": MANAGEMENT,
        "fxp": MANAGEMENT, "me": MANAGEMENT, "vme": MANAGEMENT, "lo": VIRTUAL, "irb": VIRTUAL, "vlan": VIRTUAL,
        "vtep": VIRTUAL, "st": VIRTUAL, "gr": VIRTUAL, "ip": VIRTUAL, "lt": VIRTUAL, "fti": VIRTUAL,
    },
    {"re0:mgmt-0": MANAGEMENT, "re1:mgmt-0": MANAGEMENT, "irb": VIRTUAL, "vme": MANAGEMENT},
    same="0",
)  # fmt: skip
