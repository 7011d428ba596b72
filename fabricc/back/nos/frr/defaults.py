"""Values that FRR takes, and does not print, when its configuration is silent; and its names for communities.

Sources: FRR 8.4.4 as built by Debian, `show running-config` after loading each value explicitly; and the user guide's
chapters on profiles, BGP and BFD (docs.frrouting.org).
"""

from __future__ import annotations

DATACENTER_TIMERS = (3, 9)  # keepalive and hold, seconds, under `frr defaults datacenter`
TRADITIONAL_TIMERS = (60, 180)
BFD_INTERVAL_MS = 300  # transmit and receive
BFD_MULTIPLIER = 3
BFD_PROFILE = "FABRIC"
MULTIPATH_LIMIT = 256  # `--enable-multipath` of the Debian and FRR project packages
TTL_SECURITY_HOPS = 1  # of a neighbour on the same cable
NEXT_HOP_GROUPS = {
    "no zebra nexthop kernel enable": "zebra/kernel_next_hop_groups",
    "no fpm use-next-hop-groups": "zebra/fpm_next_hop_groups",
}
"""Lines that keep zebra from naming next-hop groups to the kernel or over FPM, which it does by default -> the fact."""
LOG_LEVEL = "informational"  # of the frr.conf that the packages of Debian and of the FRR project come with
RA_INTERVAL_S = 10  # what bgpd itself asks of zebra for an unnumbered neighbour

_COMMUNITIES = {
    "65535:0": "graceful-shutdown",
    "65535:1": "accept-own",
    "65535:2": "route-filter-translated-v4",
    "65535:3": "route-filter-v4",
    "65535:4": "route-filter-translated-v6",
    "65535:5": "route-filter-v6",
    "65535:6": "llgr-stale",
    "65535:7": "no-llgr",
    "65535:8": "accept-own-nexthop",
    "65535:666": "blackhole",
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-AS",
    "65535:65284": "no-peer",
}
_NUMBERS = {name: number for number, name in _COMMUNITIES.items()}


def community_name(number: str) -> str:
    """`65535:0` as FRR prints it, `graceful-shutdown`; a community without a name stays as it is."""
    return _COMMUNITIES.get(number, number)


def community_number(name: str) -> str:
    """The inverse of `community_name`."""
    return _NUMBERS.get(name, name)


def any_prefix(family: int) -> str:
    """What FRR prints as `any` in a prefix list of that family."""
    return "::/0 le 128" if family == 6 else "0.0.0.0/0 le 32"
