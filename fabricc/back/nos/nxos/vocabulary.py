"""How NX-OS spells speeds, breakouts, queues, timers and communities; shared by what writes and what reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.qos import Watchdog

MANAGEMENT_VRF = "management"
MANAGEMENT_INTERFACE = "mgmt0"
SYSLOG_SEVERITY = 6
FEATURES = ("nxapi", "scp-server", "grpc", "openconfig", "tacacs+", "bgp", "lldp", "bfd")
"""In the order a device prints them; the first two are what NAPALM 5.2 needs to replace a configuration. Without
`openconfig` the gRPC agent knows Cisco's own paths alone (Cisco Network as Code, nxos.system.grpc)."""
COPP_PROFILE = "strict"

CLOUDSCALE = "cloudscale"
SILICON_ONE = "silicon-one"
MAXIMUM_PATHS = {CLOUDSCALE: 64, SILICON_ONE: 128}

ACCESS_LIST = "FABRICC-ACCESS"
ACCESS_LIST_V6 = "FABRICC-ACCESS-V6"
API_ACCESS_LIST = "FABRICC-API"
SERVER_GROUP = "FABRICC"
SNMP_ROLE = "network-operator"  # reads, and changes nothing
HTTPS_PORT = 443  # of the NX-API when nothing else is said
GRPC_PORT = 50051  # of the gRPC agent when no `grpc port` says another
GTSM_HOPS = 1

# `aaa` statements about the group of TACACS+ servers; local accounts answer when no server does.
AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization config-commands default": f"group {SERVER_GROUP} local",
    "authorization commands default": f"group {SERVER_GROUP} local",
    "accounting default": f"group {SERVER_GROUP}",
}

LLDP_HOLD = 4  # announcements that may be lost until a neighbour forgets, IEEE 802.1AB msgTxHold
LLDP_RANGE_S = (5, 63)  # `lldp holdtime` takes up to 255 s (Cisco Network as Code, NX-OS data model, lldp)
DEFAULT_LLDP_S = 30
DEFAULT_LLDP_HOLD_S = 120

DLB_MODES = {Spreading.FLOWLET: "flowlet", Spreading.PACKET: "per-packet"}
DLB_MODE_OF = {word: mode for mode, word in DLB_MODES.items()}
DEFAULT_DLB_MAC = "00:cc:cc:cc:cc:cc"

SPEEDS_GBPS = (10, 25, 40, 50, 100, 200, 400, 800)
# Cisco's object model (terraform-provider-nxos, imFpP.breakoutMap), as (children, Gb/s) -> word.
BREAKOUTS = {
    (children, gbps): f"{gbps}g-{children}x"
    for children, gbps in (
        (2, 10), (4, 10), (4, 25), (2, 50), (4, 50), (2, 100), (4, 100), (8, 100), (2, 200), (2, 400)
    )
}  # fmt: skip
BREAKOUT_OF = {word: key for key, word in BREAKOUTS.items()}

QUEUES = range(8)
MTU_RANGE = (576, 9216)
CLASS_MTU = 9216  # of `network-qos`: the largest, so that the interface's own MTU alone decides
# Up to this length a lossless class needs no `pause buffer-size`, since the platform's own buffers hold; beyond, the
# command is mandatory (Nexus 9000 QoS guide 10.5, priority flow control, guidelines and limitations).
DEFAULT_PAUSE_M = 100
PAUSE_BUFFER_RANGE = (5_000, 268_435_456)
BFD_INTERVAL_RANGE_MS = (50, 999)
BFD_MULTIPLIER_RANGE = (1, 50)
WATCHDOG_INTERVAL_RANGE_MS = (100, 1000)
MAXIMUM_SHUTDOWN = 10
MAXIMUM_RESTORE = 100

SERVICE_DESCRIPTION = "service port"
DEFAULT_MTU = 1500
DEFAULT_TIMERS_S = (60, 180)
# Router advertisements, by which neighbours find each other on unnumbered links: the shortest that NX-OS takes, and how
# long one holds. Its own are 600 s apart (Nexus 9000 unicast routing guide 9.3, BGP interface peering).
RA_MAX_S, RA_MIN_S, RA_LIFETIME_S = 4, 3, 10
DEFAULT_WATCHDOG_INTERVAL_MS = 100
DEFAULT_SHUTDOWN = 1
DEFAULT_RESTORE = 10

# Random seeds of the ECMP hash, one per tier: multiples of 2**32 divided by the golden ratio, far apart in all bits.
HASH_SEEDS = tuple(2_654_435_761 * tier % 2**32 for tier in (1, 2, 3))

FAMILY_SUFFIXES = {"ipv4": "-V4", "ipv6": "-V6"}
"""Of the names of route maps, where each family has its own."""

# RFC 1997 and RFC 8326 values that NX-OS takes by name; the last it prints as a number.
COMMUNITY_NAMES = {
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-AS",
}
COMMUNITY_OF = {name: value for value, name in COMMUNITY_NAMES.items()} | {"graceful-shutdown": "65535:0"}


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as the command line lists them: `0-7,9,11-63`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in runs)


def expanded(text: str, limit: int) -> list[int] | None:
    """The numbers of such a list; None when it is no list of numbers from 0 to `limit`."""
    numbers: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if len(part) > 9 or not low.isdecimal() or not (high.isdecimal() if dash else True):
            return None
        last = int(high) if dash else int(low)
        if not int(low) <= last <= limit:
            return None
        numbers.extend(range(int(low), last + 1))
    return numbers


def queue_name(group: int, prefix: str) -> str:
    """The class of a qos-group, such as `c-out-8q-q3`; group 0 is `c-out-8q-q-default`, there is no `q0`."""
    return f"{prefix}{group}" if group else f"{prefix}-default"


NETWORK_QOS = "c-8q-nq"
OUTPUT = "c-out-8q-q"
INPUT = "c-in-q"


def group_of(name: str, prefix: str) -> int | None:
    """The qos-group of a class name; None when it is not one."""
    if name == f"{prefix}-default":
        return 0
    digit = name.removeprefix(prefix)
    return int(digit) if name != digit and digit in ("1", "2", "3", "4", "5", "6", "7") else None


@dataclass(frozen=True, slots=True)
class Timers:
    """Watchdog timers as NX-OS holds them: a poll interval in milliseconds and two multiples of it."""

    interval_ms: int
    shutdown: int
    restore: int

    @property
    def detect_ms(self) -> int:
        """Time until a stuck queue is shut."""
        return self.interval_ms * self.shutdown

    @property
    def restore_ms(self) -> int:
        """Time without pause frames until a shut queue is restored."""
        return self.interval_ms * self.restore


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """The nearest timers NX-OS has, none shorter than asked.

    The interval is the one asked, from 100 ms to 1 s, and longer where the largest multiples are not enough.
    """
    low, high = WATCHDOG_INTERVAL_RANGE_MS
    interval = max(
        low,
        watchdog.poll_ms,
        -(-watchdog.detect_ms // MAXIMUM_SHUTDOWN),
        -(-watchdog.restore_ms // MAXIMUM_RESTORE),
    )
    interval = min(high, interval)
    return Timers(
        interval, max(1, -(-watchdog.detect_ms // interval)), max(1, -(-watchdog.restore_ms // interval))
    )


def fec(port: Port) -> str | None:
    """The Reed-Solomon code of a port's lanes; None below 25 Gb/s a lane.

    RS(528,514) at 25 Gb/s (IEEE 802.3 clauses 91 and 108), RS(544,514) above (clauses 119, 134 and 161).
    """
    if port.speed_gbps > 28 * port.lanes:
        return "kp-fec"
    return "rs-fec" if port.speed_gbps >= 25 * port.lanes else None


def breakout(port: Port) -> str | None:
    """The word for the split of a port's cage; None for a whole cage and where there is no word."""
    return BREAKOUTS.get((port.children, port.speed_gbps)) if port.children > 1 else None


def settings(switch: Switch) -> Mapping[str, Any]:
    """The catalog's NX-OS settings of the switch's model."""
    return switch.model.nos["nxos"]


def family(switch: Switch) -> str:
    """The ASIC family: `cloudscale` or `silicon-one`."""
    return str(settings(switch)["family"])


def load_sharing(switch: Switch) -> str:
    """The ECMP hash: addresses and ports, so that the UDP source port of each queue pair counts; a seed per tier."""
    seed = HASH_SEEDS[switch.tier_index]
    return f"source-destination port source-destination universal-id {seed}"
