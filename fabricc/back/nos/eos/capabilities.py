"""Which EOS release has what on which family, with the source of every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos.marking import delay_us
from fabricc.back.nos.eos.vocabulary import SAND, TRIDENT, family
from fabricc.base.values import dataclass
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.fabric.model import Switch

RELEASES = ("4.30", "4.31", "4.32", "4.33", "4.34")
DEFAULT_RELEASE = "4.32"


@dataclass(frozen=True, slots=True)
class Capability:
    """Commands, and since when they exist.

    Attributes:
        code: of the gap where a release lacks them.
        feature: what they are for, as a gap calls it.
        commands: their words; empty where no document has any.
        first: by family, the first release with them; None where no release is known to have them.
        source: who says so, and what of it is assumed.
        remedy: what to do on a release without.
        asked: whether a switch needs them.
    """

    code: str
    feature: str
    commands: str
    first: Mapping[str, str | None]
    source: str
    remedy: str
    asked: Callable[[Switch], bool]


_OLDEST = {TRIDENT: RELEASES[0], SAND: RELEASES[0]}
_AVD = "Arista AVD 6.4, which names no first release: assumed for all of these"
_MANUAL = "EOS user manual 4.35.2F, IPv4"

HASH_SEED = Capability(
    "",
    "a hash seed per tier",
    "ip load-sharing trident SEED",
    {TRIDENT: RELEASES[0], SAND: None},
    f"{_MANUAL}: seeds 0 to 5 for `trident`, assumed for all of these releases; of the sand family it names "
    "`arad`, an older chip than the catalog's",
    "",
    lambda _: True,
)
FLOWLETS = Capability(
    "FAB5117",
    SETTINGS["load_balancing/mode"],
    "ip hardware fib load-balance distribution dynamic",
    {TRIDENT: "4.30", SAND: None},
    "Arista's list of new features of EOS 4.30.0F; documented for fixed switches of the trident family (AVD 6.4)",
    "use `mode: hash`",
    lambda switch: switch.load_balancing.mode is Spreading.FLOWLET,
)
PACKETS = Capability(
    "FAB5117",
    SETTINGS["load_balancing/mode"],
    "ip hardware fib load-balance distribution dynamic member-selection optimal always",
    {TRIDENT: "4.30", SAND: None},
    f"{_MANUAL}; that it came with dynamic load balancing is assumed",
    "use `mode: hash`",
    lambda switch: switch.load_balancing.mode is Spreading.PACKET,
)

PAUSE = Capability(
    "FAB5118",
    SETTINGS["load_balancing/flowlet_idle_us"],
    "ip hardware fib load-balance distribution dynamic inactivity-threshold … microseconds",
    {TRIDENT: RELEASES[0], SAND: None},
    "RoCE templates for 7060X6 (michaely-cb/cluster-cp, commit 5cd969f); release and range are in no public document",
    "leave `flowlet_idle_us` out",
    lambda switch: switch.load_balancing.flowlet_idle_us is not None,
)

CAPABILITIES = (
    HASH_SEED,
    FLOWLETS,
    PACKETS,
    PAUSE,
    Capability(
        "FAB5119",
        SETTINGS["load_balancing/queue_pairs"],
        "port-channel load-balance trident udf … / load-balance sand profile … fields udp … payload bytes",
        {TRIDENT: RELEASES[0], SAND: "4.33"},
        "Arista AVD 6.4: `load_balance.policies.sand_profiles.fields.udp` from EOS 4.33.1F; for `trident` it names no "
        "release, assumed for all of these",
        "use release 4.33 (4.33.1F or later), or leave `queue_pairs` out",
        lambda switch: switch.load_balancing.queue_pairs,
    ),
    Capability(
        "FAB5120",
        SETTINGS["trimming/"],
        "",
        {TRIDENT: None, SAND: None},
        "Arista's description of October 2025, newer than these releases, picks packets by an ingress traffic policy; "
        "its commands are in no public document",
        "leave it out, or use another NOS",
        lambda switch: switch.qos.trimming is not None,
    ),
    Capability(
        "FAB5120",
        SETTINGS["link_retry"],
        "",
        {TRIDENT: None, SAND: None},
        "no public document of EOS has it, nor has Arista AVD 6.4",
        "leave it out",
        lambda switch: switch.qos.link_retry,
    ),
    Capability(
        "",
        "BGP over unnumbered links",
        "neighbor interface … / next-hop address-family ipv6 originate",
        _OLDEST,
        _AVD,
        "",
        lambda switch: any(s.transport is Transport.UNNUMBERED for s in switch.bgp.sessions),
    ),
    Capability(
        "",
        SETTINGS["bgp/ttl_security"],
        "neighbor … ttl maximum-hops",
        _OLDEST,
        _AVD,
        "",
        lambda switch: switch.bgp.ttl_security,
    ),
    Capability(
        "",
        "a watchdog for PFC",
        "priority-flow-control pause watchdog",
        _OLDEST,
        "Arista's description of June 2022, older than these releases; commands from AVD 6.4",
        "",
        lambda switch: switch.qos.watchdog is not None,
    ),
    Capability(
        "FAB5677",
        "marking by delay",
        "random-detect ecn delay threshold … / random-detect ecn count",
        {TRIDENT: None, SAND: "4.33"},
        "RoCE templates for 7800R4C-36PE (michaely-cb/cluster-cp, commit 1206bbe); Arista's description of ECN by "
        "latency is of July 2024, so 4.33 is assumed",
        "use release 4.33 or later, or leave `ecn_delay` out of the catalog entry",
        lambda switch: any(delay_us(switch, profile) is not None for profile in switch.qos.profiles),
    ),
    Capability(
        "",
        "headroom and thresholds of lossless priority groups",
        "platform trident mmu queue profile",
        {TRIDENT: RELEASES[0], SAND: None},
        _AVD + "; `sand` sets its ingress buffers itself (FAB5107)",
        "",
        lambda switch: bool(switch.qos.lossless),
    ),
    Capability(
        "",
        SETTINGS["management/gnmi_port"],
        "management api gnmi",
        _OLDEST,
        _AVD,
        "",
        lambda switch: switch.management.gnmi_port is not None,
    ),
    Capability(
        "",
        "the source of syslog",
        "logging vrf … source-interface",
        _OLDEST,
        "Arista AVD 6.4: replaced by `local-interface` in EOS 4.35.1, later than these releases",
        "",
        lambda switch: bool(switch.management.syslog),
    ),
)


def has(switch: Switch, capability: Capability) -> bool:
    """Whether the switch's release has it on the switch's family; a switch without a release has the default."""
    first = capability.first[family(switch)]
    return first is not None and number(switch.release or DEFAULT_RELEASE) >= number(first)


def lacking(switch: Switch) -> Iterator[Capability]:
    """What the switch needs, its release does not have, and nothing else says."""
    return (c for c in CAPABILITIES if c.code and c.asked(switch) and not has(switch, c))


def number(release: str) -> tuple[int, ...]:
    """A release such as `4.32` as numbers, for comparing."""
    return tuple(int(part) for part in release.split("."))
