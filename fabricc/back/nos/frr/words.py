"""Words of FRR on Linux, and the default values that it does not print.

Sources: FRR 8.4.4 as built by Debian, `show running-config` after loading each value explicitly; and the user guide's
chapters on profiles, BGP and BFD (docs.frrouting.org).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel

MANAGEMENT_INTERFACE = "eth0"
DATACENTER_TIMERS = (3, 9)  # keepalive and hold, seconds, under `frr defaults datacenter`
TRADITIONAL_TIMERS = (60, 180)
BFD_INTERVAL_MS = 300  # transmit and receive
BFD_MULTIPLIER = 3
BFD_PROFILE = "FABRIC"
FIRST_TABLE = 1001
"""First routing table of VRFs in ifupdown2; a VRF has that of its VLAN from here on, up to 4700 of 5000."""
MULTIPATH_LIMIT = 256  # `--enable-multipath` of the Debian and FRR project packages
RA_INTERVAL_S = 10  # the value that bgpd itself requests from zebra for an unnumbered neighbor

COMMUNITY_NAMES = {
    "65535:0": "graceful-shutdown", "65535:1": "accept-own", "65535:2": "route-filter-translated-v4",
    "65535:3": "route-filter-v4", "65535:4": "route-filter-translated-v6", "65535:5": "route-filter-v6",
    "65535:6": "llgr-stale", "65535:7": "no-llgr", "65535:8": "accept-own-nexthop", "65535:666": "blackhole",
    "65535:65281": "no-export", "65535:65282": "no-advertise", "65535:65283": "local-AS",
    "65535:65284": "no-peer",
}  # fmt: skip
COMMUNITY_OF = {name: number for number, name in COMMUNITY_NAMES.items()}
ANY = {"ip": "0.0.0.0/0 le 32", "ipv6": "::/0 le 128"}
"""What FRR prints as `any` in a prefix list of that family."""


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """`swp3` for a whole cage, `swp3s0`, `swp3s1` for its children, as switchdev drivers name them."""
    pattern = str(model.nos.get("frr", {}).get("port", "swp{cage}"))
    whole = pattern.format(cage=cage)
    return whole if children == 1 else f"{whole}s{child - 1}"
