"""Systems without a back end whose configurations look like those of one: they are rejected by name."""

from __future__ import annotations

import re

_SYSTEMS = (
    ("Dell OS10", r"^! Version 10\.\d|^trust dscp-map \S+$|^interface ethernet\d+/\d+/\d+(?::\d+)?\s*$"),
    (
        "the CLI of Enterprise SONiC (give its config_db.json)",
        r"^roce enable\b|^qos map dscp-tc \S|^ *qos-map dscp-tc \S",
    ),
    ("AsterNOS (give its config_db.json)", r"^interface ethernet \d+/\d+\s*$|^qos roce lossless\b"),
    (
        "Cisco IOS",
        r"^boot-start-marker|^service timestamps |^interface (?:Fast|Gigabit|TenGigabit)Ethernet\d+(?:/\d+)*\s*$",
    ),
)
"""Name -> lines that it prints and that no system with a back end has.

Sources: Dell SmartFabric OS10 user guide (trust maps), dellemc.enterprise_sonic (maps of code points), the AsterNOS
CX864E-N guide (RoCE), running configurations of Cisco IOS.
"""
_PATTERNS = tuple((name, re.compile(f"(?m:{lines})")) for name, lines in _SYSTEMS)


def other_system(text: str) -> str:
    """Return the system without a back end that printed a text; "" for none that is known."""
    return next((name for name, lines in _PATTERNS if lines.search(text)), "")
