"""Which FRR release on Linux has what, with the source of every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import Capability
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

RELEASES = ("8.4", "9.1", "10.0", "10.3")
DEFAULT_RELEASE = "10.0"


_LOADED = "loaded into FRR 8.4.4's own daemons by the tests; later releases by FRR's user guide 10.3"
_HASH = "Linux hashes addresses, protocol and ports of a flow and nothing else (ip-sysctl, fib_multipath_hash_fields)"
_ELSEWHERE = "leave it out, or use a NOS that programs the ASIC's load balancing"
_QUEUES = "no words for it in iproute2 6.1 (tc, dcb, devlink) and ethtool 6.1 of Debian 12, and FRR leaves queues alone"
CAPABILITIES = (
    Capability(
        "",
        "BGP over unnumbered links",
        "neighbor … interface, no ipv6 nd suppress-ra",
        RELEASES[0],
        _LOADED,
        "",
        lambda switch: any(s.transport is Transport.UNNUMBERED for s in switch.bgp.sessions),
    ),
    Capability(
        "",
        "BFD of BGP sessions",
        "bfd profile, neighbor … bfd profile",
        RELEASES[0],
        _LOADED,
        "",
        lambda switch: switch.bgp.bfd_interval_ms is not None,
    ),
    Capability(
        "",
        SETTINGS["bgp/ttl_security"],
        "neighbor … ttl-security hops 1",
        RELEASES[0],
        _LOADED,
        "",
        lambda switch: switch.bgp.ttl_security,
    ),
    Capability(
        "",
        "kernel next-hop groups that recover from a port flap",
        "",
        "9.1",
        "FRRouting pull request 13413; 8.4 is told not to use them (`no zebra nexthop kernel enable`)",
        "",
        lambda _: True,
    ),
    Capability(
        "",
        SETTINGS["management/access"],
        "nftables.conf",
        RELEASES[0],
        "nft of Debian 12, which the tests ask",
        "",
        lambda switch: bool(switch.management.access),
    ),
    Capability(
        "FAB5208",
        SETTINGS["load_balancing/mode"],
        "",
        None,
        _HASH,
        _ELSEWHERE,
        lambda switch: switch.load_balancing.mode is not Spreading.HASH,
    ),
    Capability(
        "FAB5208",
        SETTINGS["load_balancing/flowlet_idle_us"],
        "",
        None,
        _HASH,
        _ELSEWHERE,
        lambda switch: switch.load_balancing.flowlet_idle_us is not None,
    ),
    Capability(
        "FAB5208",
        SETTINGS["load_balancing/queue_pairs"],
        "",
        None,
        _HASH,
        _ELSEWHERE,
        lambda switch: switch.load_balancing.queue_pairs,
    ),
    Capability(
        "FAB5209",
        SETTINGS["trimming/"],
        "",
        None,
        _QUEUES,
        "leave it out, or use sonic or cumulus on a switch that trims",
        lambda switch: switch.qos.trimming is not None,
    ),
    Capability(
        "FAB5209",
        SETTINGS["link_retry"],
        "",
        None,
        _QUEUES,
        "leave it out",
        lambda switch: switch.qos.link_retry,
    ),
)


def lacking(switch: Switch) -> Iterator[Capability]:
    """What the switch needs and no release has: the known ones differ in nothing that stops a build."""
    return (c for c in CAPABILITIES if c.code and c.asked(switch))
