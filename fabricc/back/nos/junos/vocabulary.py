"""How Junos spells speeds, thresholds, timers and classes; shared by what writes its text and what reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import Ecn, TrafficClass, Watchdog
    from fabricc.fabric.routing import PrefixRule

MANAGEMENT_INSTANCE = "mgmt_junos"
EVOLVED, CLASSIC = "evo", "classic"
# The out-of-band port: Junos OS Evolved names it by routing engine, classic QFX switches have em0.
MANAGEMENT_INTERFACES = {EVOLVED: "re0:mgmt-0", CLASSIC: "em0"}

# Enumeration of `interfaces speed` in Juniper's YANG 24.4R1, as far as it concerns et- ports.
SPEEDS = {speed: f"{speed}g" for speed in (10, 25, 40, 50, 100, 200, 400, 800)}
SPEED_OF = {word: speed for speed, word in SPEEDS.items()}

LAYER_2_HEADER_BYTES = 14  # a physical interface's `mtu` counts the Ethernet header, a family's does not
MAXIMUM_MTU = 9216 - LAYER_2_HEADER_BYTES

# `chassis maximum-ecmp`, an enumeration (Juniper YANG 24.4R1): 16, then steps of 32 up to 512.
MAXIMUM_ECMP = (16, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512)

MAXIMUM_PRIORITY = 7
# `dynamic-threshold` 0 to 10 stands for alpha 1/128 to 8, so 7 is alpha 1 (Juniper, QFX shared buffers).
ALPHA_OFFSET = 7
ALPHA_RANGE = (-7, 3)
POLL_RANGE_MS = (100, 1000)
DETECTION_RANGE = (2, 10)
RECOVERY_RANGE_MS = (200, 10_000)
BFD_INTERVAL_RANGE_MS = (1, 255_000)
BFD_MULTIPLIER_RANGE = (1, 255)
# Router advertisements, by which neighbours find each other on unnumbered links: Junos's own are up to 600 s apart
# (RFC 4861). FRR's BGP takes 10 s for the same purpose, and 3 s is the least there is.
RA_MAX_S, RA_MIN_S = 10, 3
HOLD_PER_KEEPALIVE = 3

# One seed per tier, so that a tier does not repeat the choice of the one below: odd and far apart.
HASH_SEEDS = (2_654_435_769, 1_013_904_223, 3_668_339_987)

# One hop away is who sends with the largest TTL and is received with it (RFC 5082); `ttl 255` of a BGP group.
ONE_HOP_TTL = 255
FILTERS = {"inet": "PROTECT", "inet6": "PROTECT-V6"}
NEXT_HEADER = {"inet": "protocol", "inet6": "next-header"}
TTL_WORDS = {"inet": "ttl", "inet6": "hop-limit"}
LOGIN_PORTS = ("ssh", "830")  # 830: NETCONF over SSH (RFC 6242)
QUERY_PORT = "snmp"

# Who authenticates by TACACS+ and has no account gets the rights of the account `remote` (Juniper, user access guide).
TEMPLATE_USER = "remote"
TEMPLATE_CLASS = "read-only"
AUTHENTICATION_ORDER = ("tacplus", "password")
ACCOUNTED = ("login", "change-log", "interactive-commands")
CERTIFICATE = "GNMI"  # name in the device's PKI store, which replacing the configuration leaves alone

DEFAULT_LLDP_S = 30
DEFAULT_LLDP_MULTIPLIER = 4
DEFAULT_LLDP_DELAY_S = 2

DYNAMIC = {Spreading.FLOWLET: "flowlet", Spreading.PACKET: "per-packet"}

LOAD_BALANCING_POLICY = "PFE-LB"
CLASSIFIER = "DSCP"
SUMMARY_TERM = "SUMMARY-ONLY"
AGGREGATES_TERM = "AGGREGATES"
BGP_TERM = "BGP"
DEFAULT_TERM = "DEFAULT"
DYNAMIC_NEIGHBOR = "UNNUMBERED"
KEY_STATEMENTS = {
    "ssh-ed25519": "ssh-ed25519",
    "ssh-rsa": "ssh-rsa",
    "ecdsa-sha2-nistp256": "ssh-ecdsa",
    "ecdsa-sha2-nistp384": "ssh-ecdsa",
    "ecdsa-sha2-nistp521": "ssh-ecdsa",
}
# RFC 1997 and RFC 8326 values that Junos also knows by name.
COMMUNITY_OF = {
    "graceful-shutdown": "65535:0",
    "no-export": "65535:65281",
    "no-advertise": "65535:65282",
    "no-export-subconfed": "65535:65283",
}

_PLAIN = re.compile(r"[A-Za-z0-9._/:@%+*-]+")


def quoted(text: str) -> str:
    """Text as one word of a configuration: in quotes where it is more than a plain word."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def settings(switch: Switch) -> Mapping[str, Any]:
    """The catalog's Junos settings of the switch's model."""
    return switch.model.nos["junos"]


def flavour(switch: Switch) -> str:
    """`evo` or `classic`: where breakouts are said and what the management port is called."""
    return str(settings(switch).get("flavour", EVOLVED))


def maximum_ecmp(paths: int) -> int:
    """The smallest group size that Junos offers for so many paths; the largest when none suffices."""
    return next((step for step in MAXIMUM_ECMP if step >= paths), MAXIMUM_ECMP[-1])


def lldp_delay_s(interval_s: int) -> int | None:
    """`transmit-delay` of LLDP in seconds, at most a quarter of the interval (IEEE 802.1AB-2005, txDelay).

    None where Junos's own 2 s fit.
    """
    return None if interval_s >= 4 * DEFAULT_LLDP_DELAY_S else max(1, interval_s // 4)


def fec(port: Port) -> str | None:
    """`rs` for 25 Gb/s lanes, where IEEE 802.3 clause 91 is a choice; faster lanes have RS-544 anyway."""
    return "rs" if port.lanes > 1 and port.speed_gbps == 25 * port.lanes else None


def class_name(traffic_class: TrafficClass) -> str:
    """The forwarding class of a traffic class; the prefix keeps clear of Junos's own names."""
    return f"FC-{traffic_class.name.upper()}"


def code_point(number: int, bits: int = 6) -> str:
    """A DSCP (6 bits) or 802.1p priority (3 bits) as Junos writes code points."""
    return f"{number:0{bits}b}"


@dataclass(frozen=True, slots=True)
class Detection:
    """Watchdog timers as Junos holds them: detection counts polls."""

    poll_ms: int
    polls: int
    recovery_ms: int

    @property
    def detect_ms(self) -> int:
        """Time to detection, milliseconds."""
        return self.poll_ms * self.polls


def detection(watchdog: Watchdog) -> Detection:
    """The timers that Junos can hold: detection in whole polls, rounded up, and at least two."""
    polls = max(DETECTION_RANGE[0], -(-watchdog.detect_ms // watchdog.poll_ms))
    return Detection(watchdog.poll_ms, polls, watchdog.restore_ms)


def buffer_monitor(switch: Switch) -> bool:
    """Whether the switch is to count how full its buffers are: where it can, and something is lossless."""
    return bool(switch.qos.profiles) and bool(settings(switch).get("buffer_monitor", False))


def bfd_interval_ms(switch: Switch) -> int | None:
    """The interval of BFD in milliseconds, never below the platform's least; None without BFD."""
    asked = switch.bgp.bfd_interval_ms
    return None if asked is None else max(asked, int(settings(switch).get("bfd_least_ms", asked)))


def shares(switch: Switch) -> dict[str, int]:
    """Percent of a port that each class is given; of strict ones at most, and then the others share the rest.

    A strict class without a cap has none. All together stay within 100 %.
    """
    cap = int(settings(switch).get("cnp_percent", 0))
    capped = {c.name: cap for c in switch.qos.classes if cap and c.cnp and c.strict}
    left = 100 - sum(capped.values())
    weighted = {c.name: c.weight_percent for c in switch.qos.classes if not c.strict}
    return capped | {name: max(1, weight * left // 100) if weight else 0 for name, weight in weighted.items()}


@dataclass(frozen=True, slots=True)
class FillLevels:
    """Marking thresholds in whole percent of the queue's buffer."""

    low: int
    high: int


def fill_levels(ecn: Ecn, whole_bytes: int) -> FillLevels:
    """ECN thresholds as `fill-level` percentages of a queue that may hold `whole_bytes`.

    The upper one is rounded down, so that marking still comes before pause, the lower one to the nearest. The lower
    one is at least 1, because 0 would mark from the first packet, and the upper one is larger than it.
    """
    whole = max(1, whole_bytes)
    low = min(max(1, (200 * ecn.min_bytes + whole) // (2 * whole)), 99)
    high = min(100 * ecn.max_bytes // whole, 100)
    return FillLevels(min(low, max(1, high - 1)), max(high, 2))


def queue_bytes(switch: Switch) -> int:
    """What one lossless queue may hold when all of them are equally full: its share of the egress lossless pool.

    Junos measures fill levels against a queue's buffer, which is dynamic; this is what is left of it under the load for
    which the thresholds are planned.
    """
    queues = sum(port.profile is not None for port in switch.ports) * len(switch.qos.lossless)
    return switch.qos.pools.egress_lossless_bytes // queues if switch.qos.pools and queues else 0


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """Split of the shared buffer in percent, and the threshold of its lossless part.

    `dedicated` is what is used of the dedicated buffer at (ingress, egress), in percent; None where Junos's own stays.
    """

    lossless: int
    headroom: int
    lossy: int
    dynamic_threshold: int
    dedicated: tuple[int, int] | None


def shared_buffer(switch: Switch) -> SharedBuffer | None:
    """The catalog's split; None where it has none or no class is lossless.

    The threshold belongs to the whole switch, so the smallest that any port profile asks for is taken: it pauses
    earliest and is safe for all.
    """
    split = settings(switch)
    if "lossless_percent" not in split or not switch.qos.profiles:
        return None
    low, high = ALPHA_RANGE
    exponent = min(high, max(low, min(p.headroom.dynamic_th for p in switch.qos.profiles)))
    return SharedBuffer(
        int(split["lossless_percent"]),
        int(split["headroom_percent"]),
        int(split["lossy_percent"]),
        exponent + ALPHA_OFFSET,
        (int(split["dedicated_ingress_percent"]), int(split["dedicated_egress_percent"]))
        if "dedicated_ingress_percent" in split
        else None,
    )


def rule_lengths(rule: PrefixRule) -> tuple[int | None, int | None]:
    """(ge, le) as Junos holds a rule: a lower bound always has an upper one."""
    if rule.ge is not None and rule.le is None:
        return rule.ge, 128 if ":" in rule.prefix else 32
    return rule.ge, rule.le


def match_words(rule: PrefixRule) -> str:
    """The words after the prefix of a route filter."""
    ge, le = rule_lengths(rule)
    if le is None:
        return "exact"
    return f"upto /{le}" if ge is None else f"prefix-length-range /{ge}-/{le}"
